"""Time to the same objective. The reference is certified: the objective is strongly convex with modulus 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.against.jobs import Busy, Sample
from benchmarks.papers.files import write_whole

from .data import load
from .peers import SOLVERS, ours
from .settings import EXCESS, PATIENCE, REFERENCE_TOLERANCES, TOLERANCES, Linear


def losses(X: Any, y: np.ndarray, w: np.ndarray, b: float) -> np.ndarray:
    """max(0, 1 - y f(x)) in float64."""
    return np.maximum(0.0, 1.0 - y * (X @ w.astype(np.float64) + b))


def objective(X: Any, y: np.ndarray, plane: tuple[np.ndarray, float], C: float) -> float:
    """1/2 |w|^2 + 1/2 b^2 + C/2 sum max(0, 1 - y f(x))^2, in float64."""
    w, b = plane
    found = losses(X, y, w, b)
    return float(0.5 * (w @ w) + 0.5 * b * b + 0.5 * C * (found @ found))


def gradient_square(X: Any, y: np.ndarray, plane: tuple[np.ndarray, float], C: float) -> float:
    """Of the objective: it is at most half of this above its minimum."""
    w, b = plane
    pull = C * y * losses(X, y, w, b)
    return float(np.sum((w - X.T @ pull) ** 2) + (b - pull.sum()) ** 2)


class Reference:
    """Smallest objective of tight fits of LIBLINEAR -s 2; kept in a file."""

    def __init__(self, data: Linear, C: float, path: Path) -> None:
        self._data, self._C, self._path = data, C, path

    def measure(self) -> float:
        split = load(self._data, "csr")
        X, y = split.X_train, split.y_train
        best: tuple[float, float] | None = None
        solver = SOLVERS["liblinear -s 2"](X, y, self._C, 1)
        for tol in REFERENCE_TOLERANCES:
            seconds = solver.fit(tol)
            value = objective(X, y, solver.plane, self._C)
            above = gradient_square(X, y, solver.plane, self._C) / 2 / value
            if best is None or value < best[0]:
                best = value, above
            if above < EXCESS / 100 or seconds > PATIENCE:
                break
        assert best is not None
        result = {"objective": best[0], "at most above the minimum, relative": best[1]}
        write_whole(self._path, json.dumps(result, indent=1) + "\n")
        return best[0]


class ToObjective:
    """A fit at the loosest tolerance that reaches the reference, found before the first timing."""

    def __init__(
        self, label: str, solver: str, data: Linear, form: str, dtype: str, C: float, best: float, threads: int
    ) -> None:
        self._label, self._best, self._C = label, best, C
        if solver == "hingeline":
            ours("FiniteNewtonSVC")  # before data are loaded in vain
        split = load(data, form, dtype)
        self._split = split
        self._solver = SOLVERS[solver](split.X_train, split.y_train, C, threads)
        for self._tol in TOLERANCES:
            seconds = self._solver.fit(self._tol)
            if self._excess() <= EXCESS or seconds > PATIENCE:
                break
        self._default = solver == "hingeline"

    def _excess(self) -> float:
        split = self._split
        return objective(split.X_train, split.y_train, self._solver.plane, self._C) / self._best - 1

    def _sample(self, tol: float | None) -> Sample:
        with Busy() as busy:
            seconds = self._solver.fit(tol)
        split, (w, b), excess = self._split, self._solver.plane, self._excess()
        guess = np.where(split.X_test @ w + b > 0, 1, -1)
        facts: dict[str, Any] = {
            "tolerance": f"{self._solver.tol if tol is None else tol:g}",
            "excess of the objective": excess,
            "reached": "yes" if excess <= EXCESS else "no",
            "accuracy, %": 100 * float(np.mean(guess == split.y_test)),
            "threads busy": busy.threads,
            "support vectors": int(np.count_nonzero(losses(split.X_train, split.y_train, w, b))),
        }
        if self._solver.remarks:
            facts["remarks"] = self._solver.remarks
        return Sample({"fit": [seconds]}, facts)

    def measure(self) -> dict[str, Sample]:
        found = {self._label: self._sample(self._tol)}
        if self._default:
            found[f"{self._label}, default tol"] = self._sample(None)
        return found
