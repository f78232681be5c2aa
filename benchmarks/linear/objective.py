"""Time to the same objective. The reference is certified: the objective is strongly convex with modulus 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.against.data import REPEATED
from benchmarks.harness import Busy, Sample
from benchmarks.liblinear import gradient_square, objective, slacks
from benchmarks.writing import write_whole

from .data import load
from .peers import SOLVERS
from .settings import EXCESS, PATIENCE, REFERENCE_TOLERANCES, TOLERANCES, Linear


def reference(data: Linear, C: float, path: Path) -> float:
    """Smallest objective of tight fits of LIBLINEAR -s 2; kept in a file."""
    split = load(data, "csr")
    X, y = split.X_train, split.y_train
    found: list[tuple[float, float]] = []
    solver = SOLVERS["liblinear -s 2"](X, y, C, 1)
    for tol in REFERENCE_TOLERANCES:
        seconds = solver.fit(tol)
        value = objective(X, y, solver.plane, C)
        found.append((value, gradient_square(X, y, solver.plane, C) / 2 / value))
        if found[-1][1] < EXCESS / 100 or seconds > PATIENCE:
            break
    best, above = min(found)
    write_whole(path, json.dumps({"objective": best, "at most above the minimum, relative": above}, indent=1) + "\n")
    return best


class ToObjective:
    """A fit at the loosest tolerance that reaches the reference, found before the first timing."""

    def __init__(self, solver: str, data: Linear, form: str, dtype: str, C: float, best: float, threads: int) -> None:
        self._best, self._C, self._repeated = best, C, data.source in REPEATED
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

    def _accuracy(self) -> float | None:
        """Percent of the test rows; None if these are rows of the training part."""
        if self._repeated:
            return None
        (w, b), split = self._solver.plane, self._split
        return 100 * float(np.mean(np.where(split.X_test @ w + b > 0, 1, -1) == split.y_test))

    def _sample(self, tol: float | None) -> Sample:
        with Busy() as busy:
            seconds = self._solver.fit(tol)
        split, (w, b), excess = self._split, self._solver.plane, self._excess()
        facts: dict[str, Any] = {
            "tolerance": f"{self._solver.tol if tol is None else tol:g}",
            "excess of the objective": excess,
            "reached": "yes" if excess <= EXCESS else "no",
            "accuracy, %": self._accuracy(),
            "threads busy": busy.threads,
            "support vectors": int(np.count_nonzero(slacks(split.X_train, split.y_train, (w, b)))),
        }
        if self._solver.remarks:
            facts["remarks"] = self._solver.remarks
        return Sample({"fit": [seconds]}, facts)

    def measure(self) -> dict[str, Sample]:
        found = {"": self._sample(self._tol)}
        return found | {", default tol": self._sample(None)} if self._default else found
