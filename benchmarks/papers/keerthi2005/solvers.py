"""The only file that calls a solver. C is the paper's everywhere: that of LinearSVC and LIBLINEAR is half of it
for squared losses.

Times are CPU seconds: all solvers have one thread, and what else runs on the machine counts less.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import nan
from time import process_time
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as SklearnLinearSVC

from benchmarks import liblinear
from benchmarks.papers.frame import cpu_timed
from hingeline import LinearSVC, linear_svc_path

from .settings import RIVAL_EPOCHS, RIVAL_TOL

TOL = 1e-6
#: Megabytes for kernel rows of SMO.
CACHE_MB = 1000
#: Smallest tolerance of the paper's method.
LEAST = 1e-9


@dataclass
class Fitted:
    """`passes` over the rows, partial ones counted by their share (of LIBLINEAR: at most so many)."""

    w: np.ndarray
    b: float
    seconds: float
    passes: float
    iterations: int
    #: The solver ended at its limit of iterations.
    limit: bool = False
    #: What the solver certifies: objective of the dual, or None.
    dual: float | None = None
    #: What solver="auto" became.
    chosen: str | None = None
    #: Objectives at the start and at the end.
    first: float = nan
    objective: float = nan

    @property
    def plane(self) -> liblinear.Plane:
        return self.w, self.b


# ---- ours -------------------------------------------------------------------------------------------------


def fit(X: Any, y: np.ndarray, C: float, n_jobs: int, start: Fitted | None = None, **options: Any) -> Fitted:
    """One call of the estimator, from zero or from an earlier solution."""
    model = LinearSVC(C=C / 2, n_jobs=n_jobs, **{"tol": TOL, **options})
    begin = {} if start is None else {"coef_init": start.w[np.newaxis], "intercept_init": np.array([start.b])}
    _, seconds = cpu_timed(lambda: quietly(model.fit, X, y, **begin))
    return Fitted(
        model.coef_[0], float(model.intercept_[0]), seconds, float(model.n_passes_), model.n_iter_,
        limit=model.stop_reason_[0] == "max_iter", dual=float(model.objective_[0] - model.duality_gap_[0]),
        chosen=model.solver_, first=float(model.history_["objective"][0]), objective=float(model.objective_[0]),
    )  # fmt: skip


def quietly(call: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Call without warnings about convergence."""
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        call(*args, **options)


def rounds(
    X: Any, y: np.ndarray, C: float, n_jobs: int, stages: Iterable[dict[str, Any]], start: Fitted | None = None
) -> Fitted:
    """Calls one after the other, each from the solution before it; times and counts are sums."""
    seconds, passes, iterations, found = 0.0, 0.0, 0, start
    for options in stages:
        found = fit(X, y, C, n_jobs, found, **options)
        seconds, passes, iterations = seconds + found.seconds, passes + found.passes, iterations + found.iterations
    assert found is not None
    return replace(found, seconds=seconds, passes=passes, iterations=iterations)


def to_violation(X: Any, y: np.ndarray, C: float, n_jobs: int, tol: float, kkt: float) -> Fitted:
    """The paper's method; then calls with a tenth of the tolerance each until the KKT violation is at most `kkt`."""
    stages = [{"solver": "paper", "tol": tol}]
    found = rounds(X, y, C, n_jobs, stages)
    while liblinear.dual(X, y, found.plane, C)[0] > kkt and tol > LEAST:
        tol /= 10
        more = fit(X, y, C, n_jobs, found, solver="plain", tol=tol)
        seconds, passes = found.seconds + more.seconds, found.passes + more.passes
        found = replace(more, seconds=seconds, passes=passes, iterations=found.iterations + more.iterations)
    return found


def path(
    X: Any, y: np.ndarray, Cs: Sequence[float], n_jobs: int, solver: str = "auto"
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights and intercepts for each C, each from the solution before it; seconds."""
    halves = np.asarray(Cs) / 2
    found, seconds = cpu_timed(lambda: linear_svc_path(X, y, Cs=halves, solver=solver, tol=TOL, n_jobs=n_jobs))
    return np.vstack([model.coef_ for model in found]), np.concatenate([model.intercept_ for model in found]), seconds


# ---- methods of the supplement -----------------------------------------------------------------------


def rival(X: Any, y: np.ndarray, C: float, name: str) -> Fitted:
    """LIBSVM's SMO, or LIBLINEAR's dual coordinate descent until it converges, both as scikit-learn has them."""
    if name == "smo":
        model = SVC(C=C, kernel="linear", tol=RIVAL_TOL, cache_size=CACHE_MB)
    else:
        squared = name == "dual-squared"
        loss = "squared_hinge" if squared else "hinge"
        options = {"tol": RIVAL_TOL, "max_iter": RIVAL_EPOCHS, "dual": True, "random_state": 0}
        model = SklearnLinearSVC(C=C / 2 if squared else C, loss=loss, intercept_scaling=1.0, **options)
    _, seconds = cpu_timed(lambda: quietly(model.fit, X, y))
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    w, iterations = coef[0], int(np.max(model.n_iter_))
    dual = float(np.abs(model.dual_coef_).sum() - 0.5 * w @ w) if name == "smo" else None
    return Fitted(w, float(model.intercept_[0]), seconds, nan, iterations, dual=dual)


# ---- LIBLINEAR ---------------------------------------------------------------------------------------


class Liblinear(liblinear.Liblinear):
    """LIBLINEAR in CPU seconds."""

    def fit(self, C: float, s: int, e: float | None) -> Fitted:
        (w, b), seconds, said = self.train(C, s, e, process_time)
        passes, iterations, limit, dual = _read(said)
        return Fitted(w, b, seconds, passes, iterations, limit, dual)


def _read(log: str) -> tuple[float, int, bool, float | None]:
    """Passes, iterations, whether a limit was reached, and the value of the dual, from what LIBLINEAR prints.

    Coordinate descent: one pass an iteration, less what is shrunk. Newton: one pass a CG step over the active rows, and
    three an iteration for gradient, preconditioner and line search.
    """
    cycles = sum(int(n) for n in re.findall(r"#iter = (\d+)", log))
    newton = [int(n) for n in re.findall(r"CG +(\d+)", log)]
    value = re.search(r"Objective value = (\S+)", log)
    limit = "max number" in log or "line search fails" in log
    dual = -float(value[1]) if value and not newton else None
    return cycles + sum(newton) + 3.0 * len(newton), cycles + len(newton), limit, dual
