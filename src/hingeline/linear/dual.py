"""Dual coordinate descent: minima of linear machines with fewer rows than weights."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from .minimiser import Minimiser, choose_solver
from .problem import Problem
from .sums import MemorySource

#: Epochs of one iteration: between them callbacks are called.
SLICE = 10
#: Newton's method continues from the point reached after `MOST_EPOCHS`, or after `FEW_EPOCHS` if at the rate of the
#: last slice more than `MOST_EPOCHS` would be needed.
MOST_EPOCHS, FEW_EPOCHS = 200, 50
#: Factor on the tolerance of the gap if the KKT violation is too large.
STRICTER = 0.01


def prefers_dual(problem: Problem, points: np.ndarray | None, solver: str, max_iter: int, many: bool) -> bool:
    """Whether a problem is solved by dual coordinate descent.

    The start must be zero, as points have no multipliers; without an epoch (`max_iter` of 0) there are none either.
    'auto' takes it where rows are fewer than weights. The descent does not know the core's form of ordered classes.
    """
    if points is not None or many or max_iter == 0 or problem.rows.ordered or not problem.in_memory:
        return False
    if solver == "auto":
        return problem.n_rows < problem.length and choose_solver(problem) == "cg"
    return solver == "dual"


class Descent:
    """Dual coordinate descent of all machines of a minimiser.

    Iterated as :class:`~hingeline.linear.newton.Newton` is.
    """

    def __init__(self, minimiser: Minimiser) -> None:
        self.minimiser = minimiser
        self.points = np.zeros_like(minimiser.newton.points)
        n_machines = len(self.points)
        self.objective, self.gap, self.violation = (np.full(n_machines, np.inf) for _ in range(3))
        self.left = np.arange(n_machines)
        self.most = min(minimiser.max_iter, MOST_EPOCHS)
        self.tol = minimiser.tol  # smaller after gaps that leave a KKT violation that is too large
        self.began = time.perf_counter()

    def iterate(self) -> bool:
        """Make some epochs of the machines that have not reached the tolerance. False at the end."""
        m, newton, which = self.minimiser, self.minimiser.newton, self.left
        epochs = min(SLICE, self.most - int(newton.n_iter[which].max(initial=0)))
        if len(which) == 0 or epochs <= 0:
            return False
        points = self.points[which]
        source, lam = cast(MemorySource, m.source), float(m.true_lam[0])
        clip, curved = m.shape
        before = self.gap[which]
        found = source.descend(which, points, clip=clip, curved=curved, lam=lam, tol=self.tol, epochs=epochs)
        if not np.isfinite(found).all():
            raise FloatingPointError("numbers beyond the range of a double")
        # Only after the call: an interrupt must not leave the values of one point beside another point.
        self.points[which] = points
        newton.n_iter[which] = found[:, 0].astype(np.int64)
        self.objective[which], self.gap[which], self.violation[which] = found[:, 1:].T
        seconds = time.perf_counter() - self.began
        for machine in which.tolist():
            active = int(np.count_nonzero(source.descended_pulls(machine)))
            row = (int(newton.n_iter[machine]), seconds, self.objective[machine], self.gap[machine], active)
            newton.history.append((machine, *row))
        met = self._is_met(which)
        self.left = which[~met]
        if m.max_iter > MOST_EPOCHS and self._is_slow(self.left, before[~met]):
            self.most = int(newton.n_iter[self.left].max())
        return True

    def _is_slow(self, which: np.ndarray, before: np.ndarray) -> bool:
        """Whether machines would need too many epochs if gaps fell as from those one slice `before`."""
        epochs, gap = self.minimiser.newton.n_iter[which], self.gap[which]
        rate = np.minimum(gap / before, 0.999)
        wanted = self.tol * self.objective[which]
        slices = np.log(np.minimum(wanted / gap, 1.0)) / np.log(np.maximum(rate, 1e-3))
        return bool(((epochs >= FEW_EPOCHS) & (epochs + SLICE * slices > MOST_EPOCHS)).any())

    def _is_met(self, which: np.ndarray) -> np.ndarray:
        """Whether machines have the gap and the violation wanted; otherwise the next epochs go to a smaller gap."""
        m = self.minimiser
        met = self.gap[which] <= m.tol * self.objective[which]
        if m.kkt_tol is not None:
            met &= self.violation[which] <= m.kkt_tol
            if (self.gap[which] <= self.tol * self.objective[which])[~met].any():
                self.tol *= STRICTER
        return met


class DualMinimiser(Minimiser):
    """A minimiser that starts with dual coordinate descent, and continues with Newton's method if that takes long.

    `options` are those of :class:`~hingeline.linear.minimiser.Minimiser` without `solver`.
    """

    def __init__(self, problem: Problem, lam: float, **options: Any) -> None:
        super().__init__(problem, lam, solver="cg", **options)
        self.descent: Descent | None = Descent(self)
        self.solver_name = "dual"

    def stages(self) -> Iterator[Any]:
        """Minimise. Yields what is to be iterated to its end before the generator goes on."""
        descent = self.descent
        assert descent is not None
        yield descent
        self.newton.put(self.newton.all, descent.points)  # outputs of the rows
        if len(descent.left) and descent.most < self.max_iter:
            self.descent, self.solver_name, self.seeded = None, "cg", True
            self.newton.n_iter[:] = 0
            yield from super().stages()

    def settle(self) -> None:
        """After a stop: without an epoch there are no multipliers, and the slopes of the losses replace them."""
        if self.descent is not None and not self.newton.n_iter.any():
            self.descent = None
        if self.descent is None:
            super().settle()

    @property
    def points(self) -> np.ndarray:
        return super().points if self.descent is None else self.descent.points

    @property
    def reason(self) -> np.ndarray:
        if self.descent is None:
            return super().reason
        reason = np.full(len(self.points), "gap" if self.kkt_tol is None else "kkt", dtype=object)
        reason[self.descent.left] = "running"
        late = self.descent.left[self.newton.n_iter[self.descent.left] >= self.max_iter]
        reason[late] = "max_iter"
        return reason

    def objective(self) -> np.ndarray:
        return super().objective() if self.descent is None else self.descent.objective

    def gap(self) -> np.ndarray:
        return super().gap() if self.descent is None else self.descent.gap

    def multipliers(self, machine: int) -> np.ndarray:
        if self.descent is None:
            return super().multipliers(machine)
        return cast(MemorySource, self.source).descended_pulls(machine)

    def violation(self, which: np.ndarray | None = None) -> np.ndarray:
        if self.descent is None:
            return super().violation(which)
        return self.descent.violation if which is None else self.descent.violation[which]
