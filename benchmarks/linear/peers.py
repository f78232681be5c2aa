"""Linear machines with one interface: a fit at a tolerance, and the plane that it found. C is that of
benchmarks.liblinear: LinearSVC gets C / 2.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm

from benchmarks.harness import Unavailable, timed
from benchmarks.liblinear import Liblinear, Plane
from hingeline import LinearSVC


class Solver:
    """Binary machine with squared hinge loss; `fit` returns its own seconds, `plane` is (w, b) after it."""

    plane: Plane
    #: What the last fit had to say, and the tolerance that it had.
    remarks: str = ""
    tol: float | None = None

    def __init__(self, X: Any, y: np.ndarray, C: float, threads: int) -> None:
        self.X, self.y, self.C, self.threads = X, y, C, threads

    def fit(self, tol: float | None) -> float:
        """`tol` None: the default."""
        raise NotImplementedError


class Hingeline(Solver):
    """All of `fit`, with its checks of the input and what it computes for its attributes."""

    def fit(self, tol: float | None) -> float:
        option: dict[str, Any] = {} if tol is None else {"tol": tol}
        model = LinearSVC(C=self.C / 2, n_jobs=self.threads, **option)
        seconds, _ = timed(lambda: model.fit(self.X, self.y))
        self.plane, self.tol = (np.ravel(model.coef_), float(model.intercept_[0])), model.tol
        self.remarks = f"{model.n_iter_} iterations, {model.n_passes_:.1f} passes, {model.solver_}"
        return seconds


class Original(Solver):
    """LIBLINEAR's own `train` on rows that are in its form already; `number` is its option -s."""

    def __init__(self, X: Any, y: np.ndarray, C: float, threads: int, number: int) -> None:
        super().__init__(X, y, C, threads)
        self._number = number
        try:
            self._rows = Liblinear(sp.csr_matrix(X, dtype=np.float64), y)
        except ImportError as error:
            raise Unavailable(f"liblinear-official is not installed ({error})") from error

    def fit(self, tol: float | None) -> float:
        self.plane, seconds, said = self._rows.train(self.C, self._number, tol)
        self.remarks = "stopped at its limit of iterations, went on with -s 2" if "witching" in said else ""
        return seconds


class ScikitLearn(Solver):
    """scikit-learn's copy of LIBLINEAR, with its conversion of the rows."""

    def __init__(self, X: Any, y: np.ndarray, C: float, threads: int, dual: bool) -> None:
        super().__init__(X, y, C, threads)
        self._dual = dual

    def fit(self, tol: float | None) -> float:
        option = {} if tol is None else {"tol": tol}
        model = svm.LinearSVC(C=self.C / 2, dual=self._dual, max_iter=10_000, random_state=0, **option)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seconds, _ = timed(lambda: model.fit(self.X, self.y))
        self.plane = np.ravel(model.coef_), float(model.intercept_[0])
        self.remarks = ", ".join(sorted({w.category.__name__ for w in caught}))
        return seconds


SOLVERS: dict[str, Callable[[Any, np.ndarray, float, int], Solver]] = {
    "hingeline": Hingeline,
    "liblinear -s 1": partial(Original, number=1),
    "liblinear -s 2": partial(Original, number=2),
    "sklearn LinearSVC dual": partial(ScikitLearn, dual=True),
    "sklearn LinearSVC primal": partial(ScikitLearn, dual=False),
}
