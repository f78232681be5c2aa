"""Means over runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import mean, stdev
from typing import Any

from benchmarks.papers import frame

from .published import Metric
from .settings import Method, S, Set


@dataclass(frozen=True)
class Cell:
    """Mean and standard deviation over `runs` runs; `seen` examples where training ended early."""

    mean: float
    sd: float | None
    runs: int
    seen: int | None = None


def cell_of(values: list[float], seen: int | None = None) -> Cell | None:
    if not values:
        return None
    return Cell(mean(values), stdev(values) if len(values) > 1 else None, len(values), seen)


class Summary(frame.Summary):
    """What the stored runs say."""

    @cached_property
    def _results(self) -> dict[tuple[str, str, float], list[dict[str, Any]]]:
        found: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
        for at, result in self.of("train"):
            found.setdefault((at["name"], at["method"], at["s"]), []).append(result)
        return found

    def runs(self, data: Set, method: Method, s: float = S) -> list[dict[str, Any]]:
        return self._results.get((data.name, method.name, s), [])

    def cell(self, metric: Metric, data: Set, method: Method, s: float = S) -> Cell | None:
        """A cell of Table 3 or 4, in the unit of the table."""
        results = self.runs(data, method, s)
        values = [metric.factor * r[metric.key] for r in results if metric.key in r]
        return cell_of(values, min((r["n_seen"] for r in results if not r["complete"]), default=None))

    def curve(self, data: Set, method: Method, key: str) -> list[tuple[int, Cell]]:
        """Checkpoints: examples, and the mean over the runs that came so far."""
        by_step: dict[int, list[float]] = {}
        for result in self.runs(data, method):
            for point in result.get("curve", ()):
                by_step.setdefault(point["examples"], []).append(point[key])
        return [(step, cell_of(values)) for step, values in sorted(by_step.items())]  # type: ignore[misc]
