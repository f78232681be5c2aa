"""Newton's method for linear machines: directions, exact line search, stopping rules.

The rows are behind a :class:`~hingeline.linear.sums.Source`, which returns sums over them (C++:
``algo/finite_newton.hpp``). This module adds the terms of the penalty and decides.

Units. The core minimises ``Q = lam/2 |beta|^2 + sum_i s_i loss(xi_i)`` with ``lam = 1/(2C)``, or ``1/C`` for the
hinge (paper: Keerthi and DeCoste 2005, equation 2, where squared losses have a half). At any point with gradient g the
multipliers ``c_i``, the slopes of the losses there, are feasible for the dual, and the duality gap is exactly
``|g|^2 / (2 lam)``: it measures convergence.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from .sums import Source, Sums
from .systems import Solver, inner

#: Slope at the end of a line, relative to its beginning, below which the end is taken as the minimum.
FLAT = 1e-6
#: Longest step: a line that descends further does so by rounding.
LONGEST = 64.0
#: Precision of the step otherwise.
EXACT = 1e-10
#: Bound of the rounding error of a sum, relative to its terms.
ROUNDING = 1e-13


# ---- when to stop ----------------------------------------------------------------------------------


class GapTest:
    """Stopping rule: the duality gap is at most `tol` times the objective."""

    #: Stop reason of machines that meet the test.
    reason = "gap"

    def __init__(self, tol: float) -> None:
        self.tol = tol

    def find_target(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        """Duality gaps to reach."""
        return self.tol * newton.value[which]

    def is_met(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        """Whether machines meet the test."""
        return newton.gap[which] <= self.find_target(newton, which)

    def goal(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        """Norm of the residual to which Newton's systems are solved."""
        # Half of the norm that meets the test: the gradient after the step may be longer than the system's residual.
        return 0.5 * np.sqrt(2 * newton.lam[which] * self.find_target(newton, which))


class HingeTest(GapTest):
    """The gap of the smoothed hinge is at most a tenth of the gap of the hinge itself, or of the gap wanted."""

    def __init__(self, tol: float, tau: float, lam: np.ndarray) -> None:
        super().__init__(tol)
        self.tau, self.lam = tau, lam

    def find_target(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        value = 0.5 * self.lam[which] * inner(newton.points[which], newton.points[which])
        value += newton.sums.hinge[which]
        smooth = newton.value[which] / (2 * self.tau)
        return 0.1 * 2 * self.tau * np.maximum(self.tol * value, np.abs(smooth - value))


class KktTest(GapTest):
    """Another test is met, and the KKT violation is at most `most` (section 4.7 of the paper).

    The violation costs a pass, so it is computed only where the other test is met. If it is too large, Newton's systems
    are solved to a smaller residual from then on.

    Parameters
    ----------
    test : GapTest
        The other test.
    most : float
        Largest violation allowed.
    violation : callable
        Violations of machines at their current points.
    n_machines : int
        Number of machines.
    """

    reason = "kkt"

    def __init__(
        self, test: GapTest, most: float, violation: Callable[[np.ndarray], np.ndarray], n_machines: int
    ) -> None:
        super().__init__(test.tol)
        self.test, self.most, self.violation = test, most, violation
        self.longest = np.full(n_machines, np.inf)  # gradients that are expected to meet the test

    def find_target(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        return np.minimum(self.test.find_target(newton, which), self.longest[which] ** 2 / (2 * newton.lam[which]))

    def is_met(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        met = self.test.is_met(newton, which)
        if met.any():
            near = which[met]
            violation = self.violation(near)
            large = violation > self.most
            # The violation is at most max |x| |gradient| / lam: it falls in proportion to the gradient.
            norm = np.linalg.norm(newton.gradient[near[large]], axis=1)
            self.longest[near[large]] = norm * (self.most / violation[large])
            met[met] = ~large
        return met

    def goal(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        return np.minimum(self.test.goal(newton, which), 0.5 * self.longest[which])


# ---- the loop --------------------------------------------------------------------------------------


def _require_finite(sums: Sums) -> None:
    if not (np.isfinite(sums.loss).all() and np.isfinite(sums.gradient).all()):
        raise FloatingPointError("numbers beyond the range of a double")


class Newton:
    """Newton's method for several machines over the same rows, side by side.

    :meth:`begin` sets the stopping rule, then :meth:`iterate` is called until it returns False.

    Parameters
    ----------
    source : Source
        The rows.
    lam : ndarray of shape (n_machines,)
        Penalties.
    points : ndarray of shape (n_machines, length)
        Starting points.
    """

    def __init__(self, source: Source, lam: np.ndarray, points: np.ndarray) -> None:
        self.source = source
        self.lam = np.array(lam, dtype=np.float64)
        self.points = np.array(points, dtype=np.float64)
        n_machines = len(points)
        self.all = np.arange(n_machines)
        self.n_iter = np.zeros(n_machines, dtype=np.int64)
        self.reason = np.full(n_machines, "running", dtype=object)
        self.history: list[tuple[int, int, float, float, float, int]] = []
        self.began = time.perf_counter()
        #: Values and gaps to be recorded, where these are not the ones of the loss being minimised.
        self.measures: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None
        #: Bounds of the rounding errors in gradients that were interpolated between two ends of a line.
        self.rounding = np.zeros(n_machines)
        self.sums = Sums.fill(np.inf, *self.points.shape)  # at the points; unknown before the first pass

    def put(self, which: np.ndarray, points: np.ndarray, lam: np.ndarray | None = None) -> None:
        """Put machines at points, with other penalties if these are given."""
        sums = self.source.start(which, np.ascontiguousarray(points))
        _require_finite(sums)
        # Only after the pass: an interrupt must not leave the values of one point beside another point.
        self.points[which], self.rounding[which] = points, 0.0
        self.sums.put(which, sums)
        if lam is not None:
            self.lam[which] = lam

    @property
    def gradient(self) -> np.ndarray:
        """Gradients at the current points."""
        return self.lam[:, None] * self.points + self.sums.gradient

    @property
    def value(self) -> np.ndarray:
        """Values of the objectives."""
        return 0.5 * self.lam * inner(self.points, self.points) + self.sums.loss

    @property
    def gap(self) -> np.ndarray:
        """Duality gaps."""
        gradient = self.gradient
        return np.where(np.isfinite(self.sums.loss), inner(gradient, gradient) / (2 * self.lam), np.inf)

    # ---- iterations ----------------------------------------------------------------------------------

    def begin(self, which: np.ndarray, solver: Solver, test: GapTest, max_iter: int) -> None:
        """Iterate these machines from now on, until they meet the test. ``reason`` says why each of them stops."""
        self.reason[which] = "running"
        self.solver, self.test = solver, test
        self.last_iter = self.n_iter + max_iter
        self.begun = self.left = which

    def iterate(self) -> bool:
        """One Newton iteration of the machines that have not met the test; False if there are none."""
        which = self.left = self._drop_finished(self.left)
        if len(which) == 0:
            self.record(self._look_again(self.begun))
            return False
        points, gradient, gap = self.points[which], self.gradient[which], self.gap[which]
        self.solver.begin(self, which)
        direction = self.solver.directions(which, self.lam[which], gradient, self.test.goal(self, which))
        target = points + direction
        stuck = self._step(which, direction, target, self.solver.list_hessians(which))
        self.n_iter[which] += 1
        back = stuck & (self.gap[which] > gap)
        if back.any():
            self.put(which[back], points[back])
            self.solver.forget(which[back])
        self.solver.learn(self, which, gap)
        self.reason[which[stuck]] = np.where(self.test.is_met(self, which[stuck]), self.test.reason, "precision")
        self.record(which[stuck])
        self.left = which[~stuck]
        return True

    def go(self, direction: np.ndarray) -> None:
        """Move all machines to the minima along directions."""
        self._step(self.all, direction, self.points + direction, [None] * len(self.all))

    def _drop_finished(self, which: np.ndarray) -> np.ndarray:
        """Record the state of machines, and note which of them stop; the others."""
        met = self.test.is_met(self, which)
        if len(self._look_again(which[met])):
            met = self.test.is_met(self, which)
        self.record(which)
        self.reason[which[met]] = self.test.reason
        late = ~met & (self.n_iter[which] >= self.last_iter[which])
        self.reason[which[late]] = "max_iter"
        return which[~met & ~late]

    def _look_again(self, which: np.ndarray) -> np.ndarray:
        """Compute gradients with a pass at the points themselves where rounding may count; the machines it was for."""
        gradient = self.gradient[which]
        # A narrow hinge amplifies the rounding errors of outputs: it always needs the pass.
        counts = 1e-3 * np.sqrt(inner(gradient, gradient)) if self.measures is None else np.zeros(len(which))
        which = which[self.rounding[which] > counts]
        if len(which):
            self.put(which, self.points[which])
        return which

    def record(self, which: np.ndarray) -> None:
        """Add the current state of machines to the history."""
        if not len(which):
            return  # without measuring, which takes as long as a test of the stopping rule
        seconds = time.perf_counter() - self.began
        value, gap = (self.value, self.gap) if self.measures is None else self.measures()
        for k in which.tolist():
            row = (k, int(self.n_iter[k]), seconds, float(value[k]), float(gap[k]), int(self.sums.active[k]))
            self.history.append(row)

    # ---- steps ---------------------------------------------------------------------------------------

    def _step(
        self, which: np.ndarray, direction: np.ndarray, target: np.ndarray, hessians: list[np.ndarray | None]
    ) -> np.ndarray:
        """Move machines to the minima on the lines to their targets. Returns the machines that cannot move."""
        ahead = self.source.aim(which, target)
        _require_finite(ahead)
        data = ahead.gradient
        points, gradient = self.points[which], self.gradient[which]
        begin, end = self._slopes_at_ends(which, direction, target, data)
        deltas = self._minimise_on_lines(which, points, direction, begin, end)
        stuck = ~(begin < 0) | ~np.isfinite(end) | ~(deltas > 0)
        deltas[stuck] = 0.0
        fresh = np.where((deltas == 1.0)[:, None], target, points + deltas[:, None] * direction)
        before, gap = self.value[which], self.gap[which]
        sums, _ = self.source.move(which, deltas, fresh, hessians)
        mean = (1 - deltas)[:, None] * self.sums.gradient[which] + deltas[:, None] * data
        gradient_there = np.where((deltas == 1.0)[:, None], data, mean + sums.gradient)
        self.points[which] = fresh
        self.sums.put(which, sums._replace(gradient=gradient_there))
        ends = np.sqrt(inner(gradient, gradient)) + np.sqrt(inner(data, data))
        added = ROUNDING * ends * np.maximum(deltas, 1.0)
        self.rounding[which] = np.where(deltas == 1.0, 0.0, self.rounding[which] + added)
        value = self.value[which]
        return stuck | ~(value < before * (1 + 1e-12)) | ((value >= before) & (self.gap[which] >= gap))

    def _slopes_at_ends(
        self, which: np.ndarray, direction: np.ndarray, target: np.ndarray, data: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of the objectives at both ends of lines; `data` are the gradients of the losses at the targets."""
        end = inner(self.lam[which, None] * target + data, direction)
        return inner(self.gradient[which], direction), end

    def _minimise_on_lines(
        self, which: np.ndarray, points: np.ndarray, direction: np.ndarray, begin: np.ndarray, end: np.ndarray
    ) -> np.ndarray:
        """Step lengths: zeros of the slopes, rising and piecewise linear, by Newton's method within brackets."""
        lam = self.lam[which]
        along = lam * inner(points, direction)
        square = lam * inner(direction, direction)
        deltas = np.ones(len(which))
        low = np.zeros(len(which))
        high = np.where(end > 0, 1.0, np.inf)
        low[end < 0] = 1.0
        # Sums along the line have rounding errors of about those of the value: they cannot improve on such an end.
        exact = np.minimum(0.5 * np.abs(begin), np.finfo(np.float64).eps * self.value[which])
        flat = np.abs(end) <= np.maximum(FLAT * np.abs(begin), exact)
        left = np.flatnonzero(~flat & (begin < 0) & np.isfinite(end))
        # First guess inside: the zero of the slope if it were linear. Beyond the end: 1, and the slope's rise there.
        inside = left[end[left] > 0]
        deltas[inside] = begin[inside] / (begin[inside] - end[inside])
        for _ in range(100):
            if len(left) == 0:
                break
            slopes = self.source.slopes(which[left], deltas[left])
            first = along[left] + deltas[left] * square[left] + slopes[:, 0]
            second = square[left] + slopes[:, 1]
            low[left] = np.where(first < 0, deltas[left], low[left])
            high[left] = np.where(first > 0, deltas[left], high[left])
            guess = deltas[left] - first / second
            outside = ~((guess > low[left]) & (guess < high[left]))
            middle = np.where(np.isfinite(high[left]), 0.5 * (low[left] + high[left]), 2 * deltas[left])
            guess, middle = np.minimum(guess, LONGEST), np.minimum(middle, LONGEST)
            done = (np.abs(first) <= EXACT * np.abs(begin[left])) | (
                np.abs(guess - deltas[left]) <= 1e-15 * deltas[left]
            )
            done |= (deltas[left] == LONGEST) & (first < 0)
            deltas[left] = np.where(done, deltas[left], np.where(outside, middle, guess))
            left = left[~done]
        return deltas
