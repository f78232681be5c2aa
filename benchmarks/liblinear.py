"""LIBLINEAR through its C interface, and the objective of linear SVMs. C multiplies half of the squared losses.

LIBLINEAR has no half in its squared hinge, so it gets C / 2, as LinearSVC does; the intercept is a feature of
value 1 (-B 1).
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

Plane = tuple[np.ndarray, float]


class Liblinear:
    """Rows in LIBLINEAR's form; the conversion is not part of the times. ImportError if it is not installed."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        from liblinear import liblinear as theirs

        self._theirs, self._width = theirs, X.shape[1]
        self._problem = theirs.problem(np.asarray(y, dtype=float), X, 1.0)
        self._printed: list[bytes] = []
        self._print = theirs.PRINT_STRING_FUN(self._printed.append)

    def train(
        self, C: float, s: int, e: float | None, clock: Callable[[], float] = perf_counter
    ) -> tuple[Plane, float, str]:
        """Solver `s` at tolerance `e` (None: its default): the plane, seconds, and what it printed."""
        option = "" if e is None else f" -e {e!r}"
        parameter = self._theirs.parameter(f"-s {s} -c {C if s == 3 else C / 2!r} -B 1{option}")
        self._theirs.liblinear.set_print_string_function(self._print)
        self._printed.clear()
        start = clock()
        trained = self._theirs.liblinear.train(self._problem, parameter)
        seconds = clock() - start
        model = self._theirs.toPyModel(trained)  # frees it
        w = model.label[0] * np.ctypeslib.as_array(model.w, (self._width + 1,))
        return (w[:-1].copy(), float(w[-1])), seconds, b"".join(self._printed).decode()


def slacks(X: Any, y: np.ndarray, plane: Plane) -> np.ndarray:
    """max(0, 1 - y f(x)) in float64."""
    w, b = plane
    return np.maximum(0.0, 1.0 - y * (X @ w.astype(np.float64) + b))


def objective(X: Any, y: np.ndarray, plane: Plane, C: float, hinge: bool = False) -> float:
    """1/2 |w|^2 + 1/2 b^2 + C/2 sum xi^2 (with `hinge`: + C sum xi) in float64, xi being the slacks."""
    w, b = plane
    xi = slacks(X, y, plane)
    return float(0.5 * (w @ w + b * b) + C * (xi.sum() if hinge else 0.5 * xi @ xi))


def gradient_square(X: Any, y: np.ndarray, plane: Plane, C: float) -> float:
    """|gradient|^2 of the squared hinge objective, which is at most half of this above its minimum."""
    w, b = plane
    pull = C * y * slacks(X, y, plane)
    return float(np.sum((w - X.T @ pull) ** 2) + (b - pull.sum()) ** 2)


def dual(X: Any, y: np.ndarray, plane: Plane, C: float) -> tuple[float, float]:
    """Largest KKT violation and dual objective of the multipliers C xi that belong to the weights (squared hinge)."""
    xi = slacks(X, y, plane)
    alpha = C * xi
    v, c = X.T @ (alpha * y), float(alpha @ y)
    g = y * (X @ v + c) + xi - 1.0
    violation = np.where(alpha > 0, np.abs(g), np.maximum(0.0, -g)).max()
    return float(violation), float(alpha.sum() - 0.5 * (v @ v + c * c) - 0.5 * C * xi @ xi)
