"""What the store holds, by kind, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.papers import frame

from .settings import FAMILIES, LARGE, SETS, SOLVERS

#: C counts as nearly optimal up to this multiple of the lowest CV error. The paper does not say what it takes.
NEARLY = 1.01


class Summary(frame.Summary):
    """What the stored runs say."""

    def shown(self, kind: str) -> list[str]:
        """Sets of the tables; where there are none of them, all."""
        names = self.names(kind, SETS)
        return [name for name in names if name in LARGE] or names

    def fits(self, name: str, solver: str, key: str = "seconds") -> list[float | None]:
        """A number of the fits along the grid of C."""
        found = {at["log2_C"]: r.get(key) for at, r in self.of("fit", name=name, solver=solver)}
        return [found.get(c) for c in SETS[name].grid]

    def errors(self, name: str, solver: str) -> list[float]:
        """CV error in percent along the grid of C: of ours, or of the hinge."""
        found = [r for _, r in self.of("cv", name=name, solver="s3" if SOLVERS[solver].hinge else "auto")]
        return _pooled(found)

    def apart(self, name: str, solver: str) -> float | None:
        """Largest difference, points, between the CV errors of ours and of another solver of the same problem."""
        ours, theirs = self.errors(name, "auto"), _pooled([r for _, r in self.of("cv", name=name, solver=solver)])
        return max((abs(a - b) for a, b in zip(ours, theirs, strict=False)), default=None)

    def best(self, name: str, solver: str, key: str = "seconds") -> float | None:
        """A number of the fit at the C with the lowest CV error."""
        place = lowest(self.errors(name, solver), self.fits(name, solver))
        return None if place is None else self.fits(name, solver, key)[place]

    def curve(self, family: str, solver: str, key: str = "seconds") -> list[tuple[int, float]]:
        """Rows and a number at the best C, for the subsets of a family."""
        names = FAMILIES[family]
        points = [(SETS[name].rows or 0, self.best(name, solver, key)) for name in names]
        return [(rows, value) for rows, value in points if value is not None]

    def slope(self, family: str, solver: str, key: str = "seconds") -> float | None:
        """Exponent of the number of rows, by least squares."""
        points = self.curve(family, solver, key)
        return frame.exponent(points) if len(points) > 2 else None


def _pooled(folds: list[dict[str, Any]]) -> list[float]:
    """Percent of wrong rows, over all folds."""
    rows = sum(fold["rows"] for fold in folds)
    return [100 * sum(wrong) / rows for wrong in zip(*(fold["wrong"] for fold in folds), strict=True)]


def lowest(errors: Sequence[float], values: Sequence[float | None]) -> int | None:
    """Place of the lowest error, the first one of several; only where there is a value."""
    places = [k for k, (_, value) in enumerate(zip(errors, values, strict=False)) if value is not None]
    return min(places, key=lambda k: errors[k], default=None)


@dataclass
class Speedup:
    """Time of another method over ours: fastest of theirs over slowest of ours, at the optima, the largest at equal C.

    Only C with nearly the lowest CV error of the method are looked at.
    """

    safe: float
    optimal: float
    largest: float


def speedup(
    ours: Sequence[float | None], our_errors: Sequence[float],
    theirs: Sequence[float | None], their_errors: Sequence[float],
) -> Speedup | None:  # fmt: skip
    here, there = _nearly(ours, our_errors), _nearly(theirs, their_errors)
    if not here or not there:
        return None
    at = lowest(our_errors, ours), lowest(their_errors, theirs)
    both = [there[k] / here[k] for k in here if k in there]
    safe = min(there.values()) / max(here.values())
    optimal = (theirs[at[1]] or 0.0) / (ours[at[0]] or 1.0) if at[0] is not None and at[1] is not None else 0.0
    return Speedup(safe, optimal, max([*both, optimal, safe]))


def _nearly(values: Sequence[float | None], errors: Sequence[float]) -> dict[int, float]:
    there = {k: value for k, (value, _) in enumerate(zip(values, errors, strict=False)) if value is not None}
    limit = NEARLY * min((errors[k] for k in there), default=0.0)
    return {k: value for k, value in there.items() if errors[k] <= limit}
