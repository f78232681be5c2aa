"""What the store holds, by set and method, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean, stdev
from typing import Any

from benchmarks.papers import frame
from hingeline.compare import Comparison, rank_methods

from .settings import FIRST, FOLDS, METHODS, OLLAWV, OPTIMUM, PUBLISHED, SECOND, SETS, SOLVERS


@dataclass(frozen=True)
class Row:
    """All outer folds of one method on one set: percent, percent, seconds, percent.

    `censored`: the seconds are a lower bound, those after which the solver of the paper was stopped.
    """

    accuracy: float
    deviation: float
    seconds: float
    support: float | None
    chosen: list[dict[str, Any]]
    censored: bool = False


#: Whether more is better.
HIGHER = {"accuracy": True, "seconds": False, "support": False}


class Summary(frame.Summary):
    """What the stored runs say."""

    @property
    def folds(self) -> int:
        return 2 if self.quick else FOLDS

    def row(self, name: str, method: str) -> Row | None:
        """None unless all outer folds are there. The optimum of NNISDA and MNSVM may be that of another solver."""
        optimum = self._rows.get((name, OPTIMUM))
        if method not in SOLVERS or (name, method) in self._rows or optimum is None:
            return self._rows.get((name, method))
        limited = self.one("limited", name=name, method=method)
        return replace(optimum, seconds=limited["seconds"], censored=True) if limited else None

    @cached_property
    def _rows(self) -> dict[tuple[str, str], Row]:
        folds: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for at, result in self.of("nested"):
            folds.setdefault((at["name"], at["method"]), []).append(result)
        return {key: _row(found) for key, found in folds.items() if len(found) == self.folds}

    def done(self, methods: Iterable[str]) -> list[str]:
        """Sets that have the results of all these methods."""
        return [name for name in SETS if all(self.row(name, method) for method in methods)]

    def values(self, what: str, methods: Sequence[str]) -> dict[str, dict[str, float]]:
        """Table of one quantity: title of the method -> set -> value."""
        names = self.done(methods)
        return {METHODS[m].title: {name: getattr(self.row(name, m), what) for name in names} for m in methods}

    def compared(self, what: str, methods: Sequence[str] = FIRST) -> Comparison | None:
        """Our ranks, with OLLAWV as control; None with fewer than two sets."""
        if len(self.done(methods)) < 2:
            return None
        control = METHODS[OLLAWV].title
        return rank_methods(self.values(what, methods), higher_is_better=HIGHER[what], control=control)


def _row(found: list[dict[str, Any]]) -> Row:
    accuracies = [100 * r["correct"] / r["rows"] for r in found]
    shares = [100 * r["n_support"] / r["n_train"] for r in found if "n_support" in r]
    seconds, support = sum(r["seconds"] for r in found), mean(shares) if shares else None
    return Row(mean(accuracies), stdev(accuracies), seconds, support, [r["chosen"] for r in found])


def printed(what: str, methods: Sequence[str] = FIRST) -> dict[str, dict[str, float]]:
    """The same table as printed in the chapter."""
    if methods == SECOND:
        columns = {n: [PUBLISHED["accuracy"][n][0], *PUBLISHED["others"][n]] for n in PUBLISHED["others"]}
    else:
        columns = PUBLISHED[what]
    return {METHODS[m].title: {name: row[k] for name, row in columns.items()} for k, m in enumerate(methods)}


def recomputed(what: str, methods: Sequence[str] = FIRST) -> Comparison:
    """Ranks of the printed table, computed again."""
    return rank_methods(printed(what, methods), higher_is_better=HIGHER[what], control=METHODS[OLLAWV].title)
