"""What the store holds, by kind, and means of it."""

from __future__ import annotations

from statistics import geometric_mean, mean, stdev
from typing import Any

import numpy as np

from benchmarks.papers import frame

from .settings import DRAWS, ORDERS, SIZES


class Summary(frame.Summary):
    """What the stored runs say."""

    def grown(self, kernel: str, n: int) -> dict[int, dict[str, Any]]:
        """By digit: ours at size n."""
        found = {at["digit"]: r["sizes"] for at, r in self.of("grow", kernel=kernel)}
        return {d: next(s for s in sizes if s["n"] == n) for d, sizes in found.items() if sizes[-1]["n"] >= n}

    def times(self, kernel: str, solver: Any) -> dict[int, list[tuple[int, float]]]:
        """By digit: sizes and seconds, of ours one by one (None) or of a solver of settings.py."""
        if solver is None:
            return {
                at["digit"]: [(s["n"], s["seconds"]) for s in r["sizes"]] for at, r in self.of("grow", kernel=kernel)
            }
        found: dict[int, list[tuple[int, float]]] = {}
        for at, r in self.of("batch", kernel=kernel, solver=solver):
            found.setdefault(at["digit"], []).append((at["n"], r["seconds"]))
        return {digit: sorted(points) for digit, points in found.items()}

    def middle(self, kernel: str, solver: Any) -> list[tuple[int, float]]:
        """Geometric mean over the digits, of the sizes that all digits have."""
        by_digit = [dict(points) for points in self.times(kernel, solver).values()]
        sizes = [n for n in SIZES if by_digit and all(n in points for points in by_digit)]
        return [(n, geometric_mean(points[n] for points in by_digit)) for n in sizes]

    def slope(self, kernel: str, solver: Any) -> float | None:
        points = self.middle(kernel, solver)
        return frame.exponent(points) if len(points) > 1 else None

    def designs(self, kernel: str, digit: int, n: int) -> dict[str, dict[str, Any]]:
        """By design: the run of Figures 6 and 7 at size n."""
        found = {at["design"]: r["sizes"] for at, r in self.of("design", kernel=kernel, digit=digit)}
        return {d: s for d, sizes in found.items() for s in sizes if s["n"] == n}

    def errors(self, way: str, window: int | None) -> list[float]:
        return [100 * r["error"] for _, r in self.of("window", way=way, window=window)][:ORDERS]

    def curves(self, kernel: str, part: str, method: str) -> list[dict[str, Any]]:
        """Draw after draw: the ROC curve and what goes with it."""
        return [r[part][method] for _, r in self.of("active", kernel=kernel)][:DRAWS]


def spread(values: list[float], digits: int = 2) -> str:
    """Mean, and standard deviation where there are several."""
    if not values:
        return "-"
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def hits(curve: dict[str, Any], false: float) -> float:
    """True positive rate at a false positive rate, percent."""
    return 100 * float(np.interp(false, curve["false"], curve["true"]))
