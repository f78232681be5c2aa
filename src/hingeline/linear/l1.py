"""The L1 penalty: a proximal Newton method on the same sums over the rows as the finite Newton method.

The core minimises ``Q = lam |beta|_1 + sum_i s_i loss(xi_i)`` with ``lam = 1/(2C)`` and half of the squared hinge. An
iteration minimises the penalty plus a quadratic model of the losses by coordinate descent (C++:
``algo/l1_descent.hpp``) and searches on the line to this minimum. Multipliers ``c_i``, the slopes of the losses, are
feasible for the dual

    max over c  sum_i s_i (c_i - c_i^2 / 2)   with   |sum_i s_i c_i t_i x_ij| <= lam for each feature j

after a multiplication by some factor; with the best one they give the duality gap.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from .. import _core
from .minimiser import Minimiser, choose_solver
from .newton import EXACT, FLAT, GapTest, Newton
from .problem import MemoryRows, Problem, is_mostly_zeros
from .sums import MemorySource
from .systems import Exact, Solver, find_factor, solve_factored

#: A model is minimised until its violation is at most this share of the violation at its beginning.
FORCING = 0.1
#: Sweeps of coordinate descent on a Hessian before a Newton step on the weights that are not zero.
SWEEPS = 20
#: Rounds of both for one model at most; sweeps over columns for one of the first models, and for another, at most.
MOST_ROUNDS, FIRST_SWEEPS, MOST_SWEEPS = 50, 10, 100
#: The first models of a machine, which are crude.
FIRST_MODELS = 4
#: Steps of a line search at most, and the slope at which it ends, relative to that at the beginning.
MOST_HALVINGS, CRUDE = 60, 0.1


def violations(gradient: np.ndarray, points: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """Subgradients of least norm: distances of the gradients of the losses from the subdifferential of the penalty."""
    lam = lam[:, None]
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - lam, 0.0)
    return np.where(points != 0, gradient + lam * np.sign(points), at_zero)


class ProximalNewton(Newton):
    """Newton's method with the L1 penalty."""

    @property
    def gradient(self) -> np.ndarray:
        """Subgradients of least norm at the current points."""
        return violations(self.sums.gradient, self.points, self.lam)

    @property
    def value(self) -> np.ndarray:
        return self.lam * np.abs(self.points).sum(axis=1) + self.sums.loss

    @property
    def factor(self) -> np.ndarray:
        """Factors that make the multipliers feasible for the dual, at most 1; the best ones."""
        squares = self.sums.squares
        best = self.sums.dual / np.where(squares > 0, squares, 1.0)
        largest = np.abs(self.sums.gradient).max(axis=1, initial=0.0)
        most = np.divide(self.lam, largest, out=np.ones_like(largest), where=largest > 0)
        return np.clip(np.minimum(best, most), 0.0, 1.0)

    @property
    def gap(self) -> np.ndarray:
        known = np.isfinite(self.sums.loss)
        factor = np.where(known, self.factor, 0.0)
        with np.errstate(invalid="ignore"):
            gap = np.maximum(self.value - factor * self.sums.dual + 0.5 * factor**2 * self.sums.squares, 0.0)
        return np.where(known, gap, np.inf)

    def _slopes_at_ends(
        self, which: np.ndarray, direction: np.ndarray, target: np.ndarray, data: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        points, lam = self.points[which], self.lam[which]
        begin = self._sum(self.sums.gradient[which], direction) + lam * self._rise(points, direction, 1.0)
        return begin, self._sum(data, direction) + lam * self._rise(target, direction, -1.0)

    @staticmethod
    def _sum(gradient: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", gradient, direction)

    @staticmethod
    def _rise(points: np.ndarray, direction: np.ndarray, side: float) -> np.ndarray:
        """Derivatives of the norms along directions, from the right (`side` 1) or from the left (-1)."""
        signs = np.where(points != 0, np.sign(points), side * np.sign(direction))
        return np.einsum("ij,ij->i", signs, direction)

    def _minimise_on_lines(
        self, which: np.ndarray, points: np.ndarray, direction: np.ndarray, begin: np.ndarray, end: np.ndarray
    ) -> np.ndarray:
        """Step lengths, at most 1, at which the slope is still negative or small: the slope rises, in jumps too."""
        lam, deltas = self.lam[which], np.ones(len(which))
        exact = np.minimum(0.5 * np.abs(begin), np.finfo(np.float64).eps * self.value[which])
        left = np.flatnonzero((end > np.maximum(FLAT * np.abs(begin), exact)) & (begin < 0))
        low, high = np.zeros(len(which)), np.ones(len(which))
        deltas[left] = np.clip(begin[left] / (begin[left] - end[left]), EXACT, 1.0)
        for _ in range(MOST_HALVINGS):
            if len(left) == 0:
                break
            first = self.source.slopes(which[left], deltas[left])[:, 0]
            at = points[left] + deltas[left, None] * direction[left]
            first = first + lam[left] * self._rise(at, direction[left], 1.0)
            low[left] = np.where(first <= 0, deltas[left], low[left])
            high[left] = np.where(first > 0, deltas[left], high[left])
            near = (first <= 0) & (first >= CRUDE * begin[left])
            near |= (low[left] > 0) & (high[left] - low[left] <= 1e-3 * high[left])
            deltas[left] = np.where(near, low[left], 0.5 * (low[left] + high[left]))
            left = left[~near]
        deltas[left] = low[left]
        return deltas


class SupportTest(GapTest):
    """The gap is small, and which weights are zero was decided by an iteration or is certain.

    A gap that is small at the start says little about weights that are about to leave zero.
    """

    def is_met(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        largest = np.abs(newton.gradient[which]).max(axis=1, initial=0.0)
        return super().is_met(newton, which) & ((newton.n_iter[which] > 0) | (largest <= self.tol * newton.lam[which]))


# ---- minima of models --------------------------------------------------------------------------------


class HessianDescent(Exact):
    """Minima of models by coordinate descent on Hessians, which are updated by the rows that change their piece."""

    def begin(self, newton: Newton, which: np.ndarray) -> None:
        super().begin(newton, which)
        self.newton = newton

    def directions(self, which: np.ndarray, lam: np.ndarray, gradient: np.ndarray, goal: np.ndarray) -> np.ndarray:
        points, slopes = self.newton.points[which], self.newton.sums.gradient[which]
        tol = FORCING * np.abs(gradient).max(axis=1, initial=0.0)
        rows = zip(which.tolist(), points, slopes, lam.tolist(), tol.tolist(), strict=True)
        return np.array([self._minimise(machine, *row) for machine, *row in rows]) - points

    def _minimise(self, machine: int, point: np.ndarray, gradient: np.ndarray, lam: float, tol: float) -> np.ndarray:
        """Minimum of a model: coordinate descent, and Newton steps on the weights that are not zero."""
        lower = np.tril(self.hessians[machine], -1)
        hessian = lower + lower.T
        hessian.flat[:: len(hessian) + 1] = np.diagonal(self.hessians[machine])
        for _ in range(MOST_ROUNDS):
            point, gradient, violation = _core.descend_hessian(
                hessian, gradient, point, lam=lam, tol=tol, sweeps=SWEEPS
            )
            if violation <= tol:
                break
            some = np.flatnonzero(point)
            factor, _ = find_factor(hessian[np.ix_(some, some)], 0.0)
            step = solve_factored(factor, -gradient[some] - lam * np.sign(point[some]))
            # A weight that would change its sign stops at zero, and the others with it.
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(step * point[some] < 0, -point[some] / step, np.inf)
            length = min(1.0, float(room.min(initial=np.inf)))
            point[some] = np.where(room <= length, 0.0, point[some] + length * step)
            gradient += hessian[:, some] @ (length * step)
        return point


class ColumnDescent(Solver):
    """Minima of models by coordinate descent on the columns of X, without Hessians."""

    def __init__(self, rows: MemoryRows, source: MemorySource) -> None:
        X = rows.X
        if not sp.issparse(X) and is_mostly_zeros(X):
            X = sp.csc_matrix(X)
        self.columns = _core.Matrix(sp.csc_matrix(X).T if sp.issparse(X) else np.ascontiguousarray(X.T))
        self.rows, self.source = rows, source
        self.passes = 0.0

    def begin(self, newton: Newton, which: np.ndarray) -> None:
        """Nothing is computed in advance."""
        self.newton = newton

    def directions(self, which: np.ndarray, lam: np.ndarray, gradient: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Steps to the minima of the models."""
        rows, points = self.rows, self.newton.points[which]
        out = np.empty_like(points)
        for i, machine in enumerate(which.tolist()):
            weights = np.where(self.source.pulls(machine) != 0, np.abs(rows.weights[machine]), 0.0)
            if rows.numbers is not None:
                some, weights = weights, np.zeros(rows.X.shape[0])
                weights[rows.numbers] = some
            out[i], entries = _core.descend_columns(
                self.columns,
                weights,
                self.newton.sums.gradient[machine],
                points[i],
                threshold=rows.thresholds > 0,
                offset=rows.offset,
                lam=lam[i],
                tol=FORCING * np.abs(gradient[i]).max(),
                sweeps=FIRST_SWEEPS if self.newton.n_iter[machine] < FIRST_MODELS else MOST_SWEEPS,
            )
            self.passes += entries / max(self.columns.entries, 1) / len(which)
        return out - points


class SparseMinimiser(Minimiser):
    """From a problem to the minima of its machines with the L1 penalty.

    Parameters are those of :class:`~hingeline.linear.minimiser.Minimiser`; `solver` is 'auto', 'gram' (models with
    Hessians) or 'columns' (models without, for rows in memory).
    """

    _method = ProximalNewton

    def __init__(self, problem: Problem, lam: Any, points: np.ndarray | None = None, **options: Any) -> None:
        if options.get("solver", "auto") == "auto":
            options["solver"] = "gram" if choose_solver(problem) == "gram" or not problem.in_memory else "columns"
        super().__init__(problem, lam, points, **options)

    @property
    def n_passes(self) -> float:
        return super().n_passes + getattr(self._solver, "passes", 0.0)

    def multipliers(self, machine: int) -> np.ndarray:
        return cast(ProximalNewton, self.newton).factor[machine] * super().multipliers(machine)

    def violation(self, which: np.ndarray | None = None) -> np.ndarray:
        """Largest violations of the optimality conditions, in units of the penalty."""
        which = self.newton.all if which is None else which
        return np.abs(self.newton.gradient[which]).max(axis=1, initial=0.0) / self.newton.lam[which]

    def _test(self) -> GapTest:
        return self._add_violation(SupportTest(self.tol), self.kkt_tol)

    def _make_solver(self) -> Any:
        if self._solver is None and self.solver_name == "gram":
            length = self.problem.length
            self._solver = HessianDescent(self.source, self.problem.n_machines, length, precise=True)
        elif self._solver is None:
            rows, source = cast(MemoryRows, self.problem.rows), cast(MemorySource, self.source)
            self._solver = ColumnDescent(rows, source)
        return self._solver

    def _sketch(self) -> tuple[int, bool]:
        """All rows: a feature may occur in few of them."""
        return 1, False
