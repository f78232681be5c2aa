"""Means over runs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from benchmarks.papers.store import Store

from .published import Metric
from .settings import METHODS, S_GRID, SETS, Job, Method, S, Set, runs_of


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


class Summary:
    """All results that are in the store and belong to today's settings."""

    def __init__(self, store: Store, runs: int) -> None:
        self.runs = runs
        self._results: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
        for data in SETS.values():
            for method in METHODS.values():
                for s in S_GRID if method.has_ramp else (S,):
                    seeds = range(runs_of(data, method, s, runs))
                    found = [store.get(Job(data, method, seed, s)) for seed in seeds]
                    self._results[data.name, method.name, s] = [result for result in found if result is not None]

    def results(self, data: Set, method: Method, s: float = S) -> list[dict[str, Any]]:
        return self._results[data.name, method.name, s]

    def everything(self) -> list[dict[str, Any]]:
        return [result for results in self._results.values() for result in results]

    def has(self, data: Set) -> bool:
        return any(self.results(data, method) for method in METHODS.values())

    def cell(self, metric: Metric, data: Set, method: Method, s: float = S) -> Cell | None:
        """A cell of Table 3 or 4, in the unit of the table."""
        results = self.results(data, method, s)
        values = [metric.factor * r[metric.key] for r in results if metric.key in r]
        return cell_of(values, min((r["n_seen"] for r in results if not r["complete"]), default=None))

    def curve(self, data: Set, method: Method, key: str) -> list[tuple[int, Cell]]:
        """Checkpoints: examples, and the mean over the runs that came so far."""
        by_step: dict[int, list[float]] = {}
        for result in self.results(data, method):
            for point in result.get("curve", ()):
                by_step.setdefault(point["examples"], []).append(point[key])
        return [(step, cell_of(values)) for step, values in sorted(by_step.items())]  # type: ignore[misc]
