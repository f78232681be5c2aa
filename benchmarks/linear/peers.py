"""Linear machines with one interface: a fit at a tolerance, and the plane that it found. C is that of hingeline."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from benchmarks.against.jobs import Unavailable, timed


def ours(name: str) -> Any:
    """A class or function of hingeline, or Unavailable where this build has none."""
    import hingeline

    try:
        return getattr(hingeline, name)
    except AttributeError as error:
        raise Unavailable(f"this build of hingeline has no {name}") from error


class Solver:
    """Binary machine with squared hinge loss; `fit` returns its own seconds, `plane` is (w, b) after it."""

    plane: tuple[np.ndarray, float]
    #: What the last fit had to say, and the tolerance that it had.
    remarks: str = ""
    tol: float | None = None

    def __init__(self, X: Any, y: np.ndarray, C: float, threads: int) -> None:
        self.X, self.y, self.C, self.threads = X, y, C, threads

    def fit(self, tol: float | None) -> float:
        """`tol` None: the default."""
        raise NotImplementedError


class FiniteNewton(Solver):
    """All of `fit`, with its checks of the input and what it computes for its attributes."""

    def __init__(self, X: Any, y: np.ndarray, C: float, threads: int) -> None:
        super().__init__(X, y, C, threads)
        self._kind = ours("FiniteNewtonSVC")

    def fit(self, tol: float | None) -> float:
        model = self._kind(C=self.C, n_jobs=self.threads, **({} if tol is None else {"tol": tol}))
        seconds, _ = timed(lambda: model.fit(self.X, self.y))
        self.plane, self.tol = (np.ravel(model.coef_), float(model.intercept_[0])), model.tol
        self.remarks = f"{int(np.max(model.n_iter_))} iterations, {model.n_passes_:.1f} passes, {model.solver_}"
        return seconds


class Liblinear(Solver):
    """Its own `train` on rows that are in its form already. Bias as a feature; C of LIBLINEAR is half of ours."""

    solver: ClassVar[int]

    def __init__(self, X: Any, y: np.ndarray, C: float, threads: int) -> None:
        super().__init__(X, y, C, threads)
        try:
            from liblinear import liblinear, liblinearutil
        except ImportError as error:
            raise Unavailable(f"liblinear-official is not installed ({error})") from error
        self._low, self._util = liblinear, liblinearutil
        self._problem = liblinear.problem(y, sp.csr_matrix(X, dtype=np.float64))
        self._problem.set_bias(1.0)

    def fit(self, tol: float | None) -> float:
        said: list[str] = []
        option = "" if tol is None else f" -e {tol!r}"
        parameter = self._low.parameter(f"-s {self.solver} -c {self.C / 2!r} -B 1{option}")
        parameter.print_func = self._low.PRINT_STRING_FUN(lambda text: said.append(text.decode()))
        seconds, model = timed(lambda: self._util.train(self._problem, parameter))
        w, b = model.get_decfun()
        sign = 1.0 if model.get_labels()[0] > 0 else -1.0
        self.plane = sign * np.array(w), sign * b
        self.remarks = "stopped at its limit of iterations, went on with -s 2" if "witching" in "".join(said) else ""
        return seconds


class LiblinearDual(Liblinear):
    solver = 1


class LiblinearPrimal(Liblinear):
    solver = 2


class LinearSvc(Solver):
    """scikit-learn's copy of LIBLINEAR, with its conversion of the rows."""

    dual: ClassVar[bool]

    def fit(self, tol: float | None) -> float:
        from sklearn.svm import LinearSVC

        option = {} if tol is None else {"tol": tol}
        model = LinearSVC(C=self.C / 2, dual=self.dual, max_iter=10_000, random_state=0, **option)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seconds, _ = timed(lambda: model.fit(self.X, self.y))
        self.plane = np.ravel(model.coef_), float(model.intercept_[0])
        self.remarks = ", ".join(sorted({w.category.__name__ for w in caught}))
        return seconds


class LinearSvcDual(LinearSvc):
    dual = True


class LinearSvcPrimal(LinearSvc):
    dual = False


SOLVERS: dict[str, type[Solver]] = {
    "hingeline": FiniteNewton,
    "liblinear -s 1": LiblinearDual,
    "liblinear -s 2": LiblinearPrimal,
    "LinearSVC dual": LinearSvcDual,
    "LinearSVC primal": LinearSvcPrimal,
}
