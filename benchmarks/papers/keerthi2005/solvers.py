"""The only file that calls a solver. C is the paper's everywhere: LIBLINEAR's is half of it for the squared hinge.

Times are processor time: all solvers have one thread, and what else runs on the machine counts less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from benchmarks import liblinear

TOL = 1e-6
#: ε of the last round.
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

    @property
    def plane(self) -> liblinear.Plane:
        return self.w, self.b


# ---- ours: the estimator -----------------------------------------------------------------------------


def estimator(X: Any, y: np.ndarray, C: float, n_jobs: int, solver: str = "auto") -> Fitted:
    """What a user gets."""
    from hingeline import FiniteNewtonSVC

    start = process_time()
    model = FiniteNewtonSVC(C=C, solver=solver, tol=TOL, n_jobs=n_jobs).fit(X, y)
    seconds = process_time() - start
    return Fitted(
        model.coef_[0], float(model.intercept_[0]), seconds, float(model.n_passes_), int(model.n_iter_[0]),
        limit=model.stop_reason_[0] == "max_iter", dual=float(model.objective_[0] - model.duality_gap_[0]),
        chosen=model.solver_,
    )  # fmt: skip


def path(
    X: Any, y: np.ndarray, Cs: Sequence[float], n_jobs: int, solver: str = "auto"
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights and intercepts for each C, each from the solution before it; seconds."""
    from hingeline import finite_newton_path

    start = process_time()
    found = finite_newton_path(X, y, Cs=np.asarray(Cs), solver=solver, tol=TOL, n_jobs=n_jobs)
    return found.coefs[:, 0], found.intercepts[:, 0], process_time() - start


# ---- ours: its driver, by the rules of the paper -----------------------------------------------------


class Paper:
    """CG with the heuristics of section 4.6, equation (13) to stop, and β-seeding. Private parts of the package."""

    def __init__(self, X: Any, y: np.ndarray, n_jobs: int) -> None:
        from hingeline.linear.rows import LocalProblem

        weights, planes = np.asarray(y, dtype=float)[np.newaxis], np.zeros(1, dtype=np.int64)
        self._problem = LocalProblem(X, weights, planes, thresholds=1, offset=1.0, threads=n_jobs)

    def _run(self, C: float, before: Any, first_cap: int | None, rounds: tuple[float, ...]) -> tuple[Any, float, int]:
        """From zero or from where an earlier one ended: what it is after it, passes, iterations."""
        from hingeline.linear.minimiser import Minimiser

        one = Minimiser(
            self._problem, np.array([1 / C]), None if before is None else before.points, loss="squared_hinge",
            tol=TOL, max_iter=1000, solver="cg", first_cap=first_cap, rounds=rounds,
        )  # fmt: skip
        one._use(0.0).diagonal[0] = np.full(one.points.shape[1], 1 - 1 / C)  # a preconditioner of ones: none
        if before is not None:
            one.source.active = before.source.active  # the rows that take part in the first steps
        for _ in one.run():
            pass
        return one, float(one.n_passes), int(one.newton.n_iter[0])

    def fit(self, C: float, first_cap: int | None, rounds: tuple[float, ...], kkt: float | None = None) -> Fitted:
        """From zero; with `kkt`, more rounds, each with a tenth of ε, until the KKT violation is no larger."""
        start, epsilon = process_time(), rounds[-1]
        one, passes, iterations = self._run(C, None, first_cap, rounds)
        while kkt is not None and one.violation()[0] > kkt and epsilon > LEAST:
            epsilon /= 10
            one, more, steps = self._run(C, one, None, (epsilon,))
            passes, iterations = passes + more, iterations + steps
        return _told(one, process_time() - start, passes, iterations)

    def along(self, Cs: Sequence[float], rounds: tuple[float, ...]) -> list[Fitted]:
        """β-seeding: each from the solution before it, without heuristics."""
        found, one = [], None
        for C in Cs:
            start = process_time()
            one, passes, iterations = self._run(C, one, None, rounds)
            found.append(_told(one, process_time() - start, passes, iterations))
        return found


def _told(one: Any, seconds: float, passes: float, iterations: int) -> Fitted:
    point = one.points[0]
    limit = one.newton.reason[0] == "max_iter"
    return Fitted(point[:-1].copy(), -float(point[-1]), seconds, passes, iterations, limit, chosen="cg")


# ---- LIBLINEAR ---------------------------------------------------------------------------------------


class Liblinear(liblinear.Liblinear):
    """LIBLINEAR in processor time."""

    def fit(self, C: float, s: int, e: float) -> Fitted:
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
