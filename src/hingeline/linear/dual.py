"""Dual coordinate descent: minima of linear machines with fewer rows than weights."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from .minimiser import Minimiser, choose_solver
from .problem import MemoryRows, Problem
from .sums import MemorySource
from .systems import find_factor, solve_factored

#: Passes over the rows, and epochs, of one iteration at most: between them callbacks are called. Epochs over few rows
#: are parts of a pass.
SLICE, SLICE_EPOCHS = 10, 50
#: A machine makes Newton steps on its free multipliers if it would need more than `MOST_PASSES` in all, or more epochs
#: than it may make, at the rate of the last slice: a factorisation of thousands of rows costs as much. This is judged
#: after `FEW_PASSES` or `FEW_EPOCHS`.
MOST_PASSES, FEW_PASSES, FEW_EPOCHS = 200, 50, 100
#: Epochs of a machine before Newton's method on the weights continues: half of `max_iter`, if that is more than this.
MANY_EPOCHS = 200
#: Multipliers of a Newton step at most, whose matrix then takes 128 MB, and Newton steps of a machine.
MOST_FREE, MOST_JUMPS = 4096, 30
#: Rounds of one Newton step: multipliers that meet a bound stay there, and the others go on.
MOST_ROUNDS = 10
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

    Iterated as :class:`~hingeline.linear.newton.Newton` is. Few long rows among many make the descent slow. Machines
    that would take too long make Newton steps on their free multipliers between the slices of the descent.
    """

    def __init__(self, minimiser: Minimiser) -> None:
        self.minimiser = minimiser
        self.points = np.zeros_like(minimiser.newton.points)
        n_machines = len(self.points)
        self.objective, self.gap, self.violation = (np.full(n_machines, np.inf) for _ in range(3))
        self.passes = np.zeros(n_machines)
        self.jumps = np.zeros(n_machines, dtype=np.int64)
        self.left = np.arange(n_machines)
        self.most = max_iter if (max_iter := minimiser.max_iter) <= MANY_EPOCHS else max(MANY_EPOCHS, max_iter // 2)
        self.gave_up = False
        self.tol = minimiser.tol  # smaller after gaps that leave a KKT violation that is too large
        self.began = time.perf_counter()

    def iterate(self) -> bool:
        """Make some epochs of the machines that have not reached the tolerance. False at the end."""
        m, newton = self.minimiser, self.minimiser.newton
        which = self.left[newton.n_iter[self.left] < self.most]
        if len(which) == 0 or self.gave_up:
            return False
        points, before = self.points[which], (self.gap[which], self.passes[which], newton.n_iter[which])
        source, lam = cast(MemorySource, m.source), float(m.true_lam[0])
        clip, curved = m.shape
        epochs = min(SLICE_EPOCHS, self.most - int(newton.n_iter[which].max()))
        found = source.descend(
            which, points, clip=clip, curved=curved, lam=lam, tol=self.tol, epochs=epochs, passes=SLICE
        )
        if not np.isfinite(found).all():
            raise FloatingPointError("numbers beyond the range of a double")
        # Only after the call: an interrupt must not leave the values of one point beside another point.
        self.points[which] = points
        newton.n_iter[which] = found[:, 0].astype(np.int64)
        self.objective[which], self.gap[which], self.violation[which] = found[:, 1:4].T
        self.passes[which] = found[:, 4] / m.problem.n_rows
        seconds = time.perf_counter() - self.began
        for machine in which.tolist():
            active = int(np.count_nonzero(source.descended_pulls(machine)))
            row = (int(newton.n_iter[machine]), seconds, self.objective[machine], self.gap[machine], active)
            newton.history.append((machine, *row))
        met = self._is_met(which)
        self.left = np.setdiff1d(self.left, which[met], assume_unique=True)
        slow = which[~met & self._are_slow(which, *before)]
        at_end = (newton.n_iter[self.left] >= self.most).any() and self.most < m.max_iter
        self.gave_up = at_end or not all(self._jump(machine) for machine in slow.tolist())
        return True

    def _are_slow(self, which: np.ndarray, gap: np.ndarray, passes: np.ndarray, epochs: np.ndarray) -> np.ndarray:
        """Whether machines would need too many passes or epochs if gaps fell as from those one slice before."""
        made = self.minimiser.newton.n_iter[which]
        some = (self.passes[which] >= FEW_PASSES) | (made >= FEW_EPOCHS)
        some &= self.gap[which] > self.tol * self.objective[which]
        rate = np.clip(np.divide(self.gap[which], gap, out=np.ones(len(which)), where=some), 1e-3, 0.999)
        left = np.divide(self.tol * self.objective[which], self.gap[which], out=np.ones(len(which)), where=some)
        slices = np.log(left, out=np.zeros(len(which)), where=left > 0) / np.log(rate)
        too_many = self.passes[which] + slices * (self.passes[which] - passes) > MOST_PASSES
        return some & (too_many | (made + slices * (made - epochs) > self.most))

    def _jump(self, machine: int) -> bool:
        """Newton step of a machine on its free multipliers, clipped to their bounds; False if these are too many."""
        m, source = self.minimiser, cast(MemorySource, self.minimiser.source)
        rows, lam, (clip, curved) = cast(MemoryRows, m.problem.rows), float(m.true_lam[0]), m.shape
        signed = rows.weights[machine]
        multipliers = np.divide(source.descended_pulls(machine), signed, out=np.zeros(len(signed)), where=signed != 0)
        sizes = np.abs(multipliers) if clip.folded else multipliers
        free = np.flatnonzero((signed != 0) & (sizes > clip.low) & (sizes < clip.high))
        if not 0 < len(free) <= MOST_FREE or self.jumps[machine] >= MOST_JUMPS or not rows.has_features:
            return False
        self.jumps[machine] += 1
        multipliers[free] = self._maximise(machine, free, multipliers[free])
        point = self.points[machine : machine + 1]
        source.put_multipliers(machine, multipliers, point, clip=clip, curved=curved, lam=lam)
        return True

    def _maximise(self, machine: int, free: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Free multipliers after a Newton step from `a`, repeated without those that have met a bound.

        With Z the free rows times t and the roots of their weights s, the dual is a quadratic in c = sqrt(s) a with the
        matrix ``Z Z' / lam + curved I``.
        """
        m = self.minimiser
        rows, lam, (clip, curved) = cast(MemoryRows, m.problem.rows), float(m.true_lam[0]), m.shape
        signed = rows.weights[machine][free]
        roots, t = np.sqrt(np.abs(signed)), np.sign(signed)
        side = np.sign(a) if clip.folded else np.ones(len(a))
        Z = rows.chosen(free, np.abs(signed))
        matrix = safe_sparse_dot(Z, Z.T, dense_output=True).astype(np.float64) * (t[:, np.newaxis] * t / lam)
        slopes = roots * (side * clip.margin - (a if curved else 0.0)) - t * (Z @ self.points[machine])
        if rows.targets is not None:
            slopes += roots * rows.targets[free]
        matrix.flat[:: len(matrix) + 1] += float(curved)
        inside = np.ones(len(a), dtype=bool)
        for _ in range(MOST_ROUNDS):
            some = np.flatnonzero(inside)
            step = np.zeros(len(a))
            step[some] = solve_factored(find_factor(matrix[np.ix_(some, some)], 0.0)[0], slopes[some]) / roots[some]
            end = side * np.clip(side * (a + step), clip.low, clip.high)
            along = roots * (end - a)
            if not slopes @ along > 0:  # the clipped step does not ascend: to the first bound
                rising = side * step > 0
                room = np.where(rising, clip.high - side * a, side * a - clip.low)
                share = np.divide(room, np.abs(step), out=np.ones(len(a)), where=step != 0)
                along = roots * step * min(1.0, float(share.min()))
            turned = matrix @ along
            rise, bend = slopes @ along, along @ turned
            length = rise / bend if bend > 1.8 * rise else 1.0  # the whole step ascends: it ends at the bounds
            # Clipped again, against rounding.
            a = side * np.clip(side * (a + length * along / roots), clip.low, clip.high)
            slopes -= length * turned
            before, inside = inside, inside & (side * a > clip.low) & (side * a < clip.high)
            if (length == 1.0 and (inside == before).all()) or not inside.any():
                break
        return a

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
        if descent.gave_up:
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
