"""Numbers of published.toml by metric, method and data set."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.papers.frame import published

_ORDER = ("adult", "mnist", "banana", "reuters", "usps", "usps-n")


@dataclass(frozen=True)
class Metric:
    """A block of Table 3 or 4. `key`: in a result; `factor`: from a result to the unit of the table."""

    key: str
    title: str
    table: int
    digits: int
    factor: float = 1.0
    #: Differences are shown in percent of the published number rather than as they are.
    relative: bool = False


METRICS = (
    Metric("accuracy", "Accuracy, %", 3, 2, 100),
    Metric("n_support", "# SV", 3, 0, relative=True),
    Metric("seconds", "Training time, s", 3, 3, relative=True),
    Metric("prbep", "PRBEP, %", 4, 2, 100),
    Metric("auc", "AUC", 4, 4),
    Metric("g_mean", "G-means, %", 4, 2, 100),
    Metric("kernel_needed", "# Kernel values needed, millions", 4, 2, 1e-6, relative=True),
    Metric("kernel_evals", "# Kernel values computed, millions", 4, 2, 1e-6, relative=True),
)


def _by_set(rows: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {method: dict(zip(_ORDER, values, strict=True)) for method, values in rows.items()}


_FOUND = published(__file__)
TABLE_1: dict[str, dict[str, float]] = _FOUND["table_1"]
#: Metric, method, data set. The published count of kernel values is compared with both of ours.
TABLES = {m.key: _by_set(_FOUND["kernels" if m.key.startswith("kernel") else m.key]) for m in METRICS}

#: Cells that look like misprints (metric, method, data set) and what was probably meant. They are compared as printed.
MISPRINTS = {("accuracy", "FULL SVM", "usps-n"): 99.43, ("prbep", "LASVM", "usps-n"): 98.48}


def value(metric: str, method: str, data: str) -> float | None:
    """A published number; None where there is none."""
    return TABLES[metric].get(method, {}).get(data)
