"""The modified finite Newton method, driven from here: small systems, steps, when to stop.

The rows are somewhere else, behind a *source*: :class:`LocalRows` for arrays in memory, a cluster in
:mod:`hingeline.linear.dask`. A source returns sums over its rows at the points it is given (C++:
``algo/finite_newton.hpp``); this module adds the terms of the penalty and decides.

Units. The core minimises ``Q = lam/2 |beta|^2 + sum_i s_i loss(xi_i)`` with ``lam = 1/C`` (paper: Keerthi and
DeCoste 2005, equation 2). At any point with gradient g the multipliers ``c_i`` that the loss has there are feasible
for the dual, and the duality gap is exactly ``|g|^2 / (2 lam)``: that is the measure of convergence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from .rows import ACTIVE, CLIPS, HINGE, LOSS, PULL, SQUARES, Clip, Source
from .systems import FORCING, THIN_ROWS, Conjugate, Exact, inner, power_of_two

#: Slope at the end of the line, relative to its beginning, below which the end is as good as the minimum.
FLAT = 1e-6
#: Longest step: a line that goes down further than that does so by rounding.
LONGEST = 64.0
#: Precision of the step otherwise.
EXACT = 1e-10
#: Bound of the rounding of a sum, relative to its terms.
ROUNDING = 1e-13
#: Newton's first system need not be solved to more than this many conjugate gradient steps (heuristic 1 of the paper).
FIRST_CAP = 10
#: A first solution, from a sample, need not be better than this, nor take more iterations where the sample is more than
#: this part of the rows.
FIRST_TOL, FIRST_ITERATIONS, LARGE_SAMPLE = 1e-3, 3, 0.05
#: Widths of the smoothed hinge: each is this part of the one before; the first from a good start; iterations for one.
SHARPER, SEEDED_TAU, MOST_SHARPENING = 0.25, 0.25, 50
#: After so few iterations for one width the next may be much smaller.
QUICK = 2
#: Nanoseconds, measured on one core with AVX-512: a pair of entries of a sparse row in the Hessian, of a dense one; an
#: entry of a sparse row in a conjugate gradient step, of a dense one; a multiplication in a Cholesky factorisation.
PAIR_NS, DENSE_PAIR_NS, ENTRY_NS, DENSE_ENTRY_NS, FACTOR_NS = 1.2, 0.07, 3.0, 0.5, 0.03
#: Newton iterations and conjugate gradient steps to reckon with.
TYPICAL_ITERATIONS, TYPICAL_STEPS = 8, 100
#: Bytes that Hessians may take.
HESSIAN_BYTES = 1 << 30
#: Products in a Hessian that are not worth saving by single precision.
FEW_PRODUCTS = 10_000_000
#: Rows per weight in a sketch of the Hessian, at least; one row in so many, at most.
SKETCHED_ROWS, MOST_SKETCHED = 1000, 4
#: A Hessian that costs this many passes is dear: a thinner sketch of it does, with conjugate gradients beside it.
DEAR_HESSIAN, MOST_THIN = 25, 8


# ---- when to stop ----------------------------------------------------------------------------------


class Test(Protocol):
    """When a machine is good enough, and how well its Newton systems are to be solved."""

    def met(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        """Whether machines have got there."""

    def goal(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        """Norm of the gradient that is small enough."""


class GapTest:
    """The duality gap is below `tol` times the value of the objective."""

    def __init__(self, tol: float) -> None:
        self.tol = tol

    def met(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        return newton.gap[which] <= self.tol * newton.value[which]

    def goal(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        # A gradient of just that norm may turn out longer after the step: half of it is asked for.
        return 0.5 * np.sqrt(2 * newton.lam[which] * self.tol * newton.value[which])


class HingeTest:
    """The gap of the smoothed hinge is a tenth of the gap that the hinge itself still has, or may have."""

    def __init__(self, tol: float, tau: float, lam: np.ndarray) -> None:
        self.tol, self.tau, self.lam = tol, tau, lam

    def wanted(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        value = 0.5 * self.lam[which] * inner(newton.points[which], newton.points[which])
        value += newton.margins[which, HINGE]
        smooth = newton.value[which] / (2 * self.tau)
        return 0.1 * 2 * self.tau * np.maximum(self.tol * value, np.abs(smooth - value))

    def met(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        return newton.gap[which] <= self.wanted(newton, which)

    def goal(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        return 0.5 * np.sqrt(2 * newton.lam[which] * self.wanted(newton, which))


class ResidualTest:
    """The gradient is below `epsilon` times the residuals: equation 13 of the paper."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def met(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        return np.linalg.norm(newton.gradient[which], axis=1) <= self.goal(newton, which)

    def goal(self, newton: Newton, which: np.ndarray) -> np.ndarray:
        return self.epsilon * np.sqrt(newton.margins[which, SQUARES])


# ---- the loop --------------------------------------------------------------------------------------


def _require_finite(margins: np.ndarray, gradient: np.ndarray) -> None:
    if not (np.isfinite(margins[:, LOSS]).all() and np.isfinite(gradient).all()):
        raise FloatingPointError("numbers beyond the range of a double")


class Newton:
    """Several machines over the same rows, minimised side by side.

    Parameters
    ----------
    source : Source
        The rows.
    lam : ndarray of shape (n_machines,)
        Penalties.
    points : ndarray of shape (n_machines, length)
        Where to start.
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
        #: Values and gaps of another objective, where that is what counts.
        self.measures: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None
        #: Bounds of what rounding may have added to gradients that were put together from two ends of a line.
        self.rounding = np.zeros(n_machines)
        self.margins = np.full((n_machines, 6), np.inf)  # nothing is known before the first pass
        self.data_gradient = np.zeros_like(self.points)

    def put(self, which: np.ndarray, points: np.ndarray, lam: np.ndarray | None = None) -> None:
        """Put machines at points, with other penalties where these are given."""
        margins, gradient = self.source.start(which, np.ascontiguousarray(points))
        _require_finite(margins, gradient)
        # Not before the pass has come to its end: Ctrl-C must not leave values of one point beside another.
        self.points[which], self.margins[which], self.data_gradient[which] = points, margins, gradient
        self.rounding[which] = 0.0
        if lam is not None:
            self.lam[which] = lam

    @property
    def gradient(self) -> np.ndarray:
        """Gradients at the points reached."""
        return self.lam[:, None] * self.points + self.data_gradient

    @property
    def value(self) -> np.ndarray:
        """Values of the objectives."""
        return 0.5 * self.lam * inner(self.points, self.points) + self.margins[:, LOSS]

    @property
    def gap(self) -> np.ndarray:
        """Duality gaps."""
        gradient = self.gradient
        return np.where(np.isfinite(self.margins[:, LOSS]), inner(gradient, gradient) / (2 * self.lam), np.inf)

    def run(self, which: np.ndarray, solver: Exact | Conjugate, test: Test, max_iter: int) -> Iterator[None]:
        """Iterate these machines until they meet the test; yields after each iteration.

        ``reason`` says for each machine why it stopped.
        """
        self.reason[which] = "running"
        first, everyone = self.n_iter.copy(), which
        while True:
            met = test.met(self, which)
            if self._look_again(which[met]):
                met = test.met(self, which)
            self._record(which)
            self.reason[which[met]] = "gap"
            late = ~met & (self.n_iter[which] - first[which] >= max_iter)
            self.reason[which[late]] = "max_iter"
            which = which[~met & ~late]
            if len(which) == 0:
                self._look_again(everyone)
                return
            before = self.gap[which]
            solver.begin(self, which)
            stuck = self._iterate(solver, which, test.goal(self, which))
            solver.learn(self, which, before)
            self.reason[which[stuck]] = np.where(test.met(self, which[stuck]), "gap", "precision")
            which = which[~stuck]
            yield

    def _look_again(self, which: np.ndarray) -> bool:
        """A pass at the points themselves where rounding may count in a gradient; says whether there was one."""
        gradient = self.gradient[which]
        # A narrow hinge blows up what outputs have lost by rounding: it always needs the pass.
        counts = 1e-3 * np.sqrt(inner(gradient, gradient)) if self.measures is None else np.zeros(len(which))
        which = which[self.rounding[which] > counts]
        if len(which):
            self.put(which, self.points[which])
        return len(which) > 0

    def _record(self, which: np.ndarray) -> None:
        seconds = time.perf_counter() - self.began
        value, gap = (self.value, self.gap) if self.measures is None else self.measures()
        for machine in which:
            self.history.append(
                (
                    int(machine),
                    int(self.n_iter[machine]),
                    seconds,
                    float(value[machine]),
                    float(gap[machine]),
                    int(self.margins[machine, ACTIVE]),
                )
            )

    def _iterate(self, solver: Exact | Conjugate, which: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """One Newton iteration of these machines; says which could not move."""
        lam = self.lam[which]
        gradient = self.gradient[which]
        points, gap = self.points[which].copy(), self.gap[which]
        stuck = self.go(which, solver.directions(which, lam, gradient, goal), solver.following(which))
        self.n_iter[which] += 1
        back = stuck & (self.gap[which] > gap)
        if back.any():
            self.put(which[back], points[back])
            solver.forget(which[back])
        return stuck

    def go(self, which: np.ndarray, direction: np.ndarray, hessians: list[Any] | None = None) -> np.ndarray:
        """Machines to the minima along directions; says which could not move."""
        lam = self.lam[which]
        gradient = self.gradient[which]
        points = self.points[which]
        target = points + direction
        margins, data = self.source.aim(which, target)
        _require_finite(margins, data)
        end = inner(lam[:, None] * target + data, direction)
        begin = inner(gradient, direction)
        deltas = self._steps(which, points, direction, begin, end)
        stuck = ~(begin < 0) | ~np.isfinite(end) | ~(deltas > 0)
        deltas[stuck] = 0.0
        fresh = np.where((deltas == 1.0)[:, None], target, points + deltas[:, None] * direction)
        before, gap = self.value[which], self.gap[which]
        margins, correction = self.source.move(which, deltas, fresh, hessians or [None] * len(which))
        mean = (1 - deltas)[:, None] * self.data_gradient[which] + deltas[:, None] * data
        self.data_gradient[which] = np.where((deltas == 1.0)[:, None], data, mean + correction)
        self.points[which] = fresh
        self.margins[which] = margins
        ends = np.sqrt(inner(gradient, gradient)) + np.sqrt(inner(data, data))
        blown = ROUNDING * ends * np.maximum(deltas, 1.0)
        self.rounding[which] = np.where(deltas == 1.0, 0.0, self.rounding[which] + blown)
        value = self.value[which]
        return stuck | ~(value < before * (1 + 1e-12)) | ((value >= before) & (self.gap[which] >= gap))

    def _steps(
        self, which: np.ndarray, points: np.ndarray, direction: np.ndarray, begin: np.ndarray, end: np.ndarray
    ) -> np.ndarray:
        """Minimise on the lines: zeros of slopes that rise, piecewise linear, by Newton's method within brackets."""
        lam = self.lam[which]
        along = lam * inner(points, direction)
        square = lam * inner(direction, direction)
        deltas = np.ones(len(which))
        low = np.zeros(len(which))
        high = np.where(end > 0, 1.0, np.inf)
        low[end < 0] = 1.0
        left = np.flatnonzero((np.abs(end) > FLAT * np.abs(begin)) & (begin < 0) & np.isfinite(end))
        # A slope that were linear from end to end would be zero here; behind the end its rise there tells.
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


# ---- from problems to minima ------------------------------------------------------------------------


def cheaper_solver(problem: Any) -> str:
    """The solver that should be faster, by the costs above."""
    entries, dense = problem.entries_per_row()
    length, rows = problem.length, problem.n_rows
    if problem.n_machines * 8 * length**2 > HESSIAN_BYTES:
        return "cg"
    pairs = rows * entries**2 / 2 * (DENSE_PAIR_NS if dense else PAIR_NS)
    factors = TYPICAL_ITERATIONS * length**3 / 3 * FACTOR_NS
    steps = TYPICAL_STEPS * rows * entries * (DENSE_ENTRY_NS if dense else ENTRY_NS)
    # Machines over the same rows share the passes of conjugate gradients; eight fit into a register.
    return "gram" if problem.n_machines * (pairs + factors) < (1 + problem.n_machines / 8) * steps else "cg"


def scaled(problem: Any, coef: np.ndarray, lam: float) -> np.ndarray:
    """Guesses of w times the factor, and with the intercept, that minimise the squared loss over all rows."""
    source, which = problem.source(CLIPS["squared"]), np.arange(problem.n_machines)
    d = problem.n_features
    ahead = np.zeros((problem.n_machines, problem.length))
    _, gradient = source.start(which, ahead)
    ahead[:, :d] = coef
    turned = source.curvature(which, ahead)
    p11 = lam * (coef**2).sum(axis=1) + (turned[:, :d] * coef).sum(axis=1)
    q1 = -(gradient[:, :d] * coef).sum(axis=1)
    points = ahead * np.divide(q1, p11, out=np.zeros_like(q1), where=p11 > 0)[:, np.newaxis]
    if problem.thresholds:
        unit = np.zeros_like(ahead)
        unit[:, d] = 1.0
        p12, p22, q2 = -turned[:, d], lam + source.curvature(which, unit)[:, d], gradient[:, d]
        det = p11 * p22 - p12**2
        good = det > 0
        points[good, :d] = coef[good] * ((p22 * q1 - p12 * q2)[good] / det[good])[:, np.newaxis]
        points[good, d] = -(p11 * q2 - p12 * q1)[good] / det[good]
    return points


class Minimiser:
    """From a problem to the minima of its machines.

    Parameters
    ----------
    problem : LocalProblem or similar
        Rows and machines.
    lam : ndarray of shape (n_machines,)
        Penalties.
    points : ndarray of shape (n_machines, length) or None
        Where to start; None: at zero, by way of a sample of the rows.
    loss : str
        'squared_hinge', 'huber', 'squared' or 'hinge'.
    tol : float
        Duality gap wanted, relative to the objective.
    max_iter : int
        Newton iterations of a machine.
    solver : {'auto', 'gram', 'cg'}
        How to solve Newton's systems.
    first_cap : int or None
        Conjugate gradient steps of the first Newton system (heuristic 1 of the paper).
    rounds : tuple of float, default=None
        Instead of `tol`: rounds with these relative residuals (heuristic 2 of the paper), systems solved to the same.
    many : bool, default=False
        Whether other penalties will follow: a Hessian of all rows is then worth its price.
    """

    def __init__(
        self,
        problem: Any,
        lam: np.ndarray,
        points: np.ndarray | None = None,
        *,
        loss: str,
        tol: float,
        max_iter: int,
        solver: str = "auto",
        first_cap: int | None = FIRST_CAP,
        rounds: tuple[float, ...] | None = None,
        many: bool = False,
    ) -> None:
        self.problem = problem
        self.many = many
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.rounds = rounds
        self.seeded = points is not None
        self.solver_name = cheaper_solver(problem) if solver == "auto" else solver
        self.first_cap = None if self.seeded else first_cap
        self.true_lam = np.broadcast_to(np.asarray(lam, dtype=np.float64), (problem.n_machines,)).copy()
        start = np.zeros((problem.n_machines, problem.length)) if points is None else points
        self.tau = np.zeros(problem.n_machines)
        self.source: Any = problem.source(CLIPS.get(loss, Clip(2.0, 0.0, 2.0)))
        self.newton = Newton(self.source, self.true_lam, start)
        if loss == "hinge":
            self.newton.measures = lambda: (self.objective(), self.gap())
        self.more_passes = 0.0
        self._trail: list[tuple[np.ndarray, np.ndarray]] = []
        self._last = self.true_lam.copy()  # penalties of the minima reached last
        self._solver: Exact | Conjugate | None = None

    # ---- results -------------------------------------------------------------------------------------

    @property
    def points(self) -> np.ndarray:
        """Weights and thresholds reached."""
        return self.newton.points

    @property
    def reason(self) -> np.ndarray:
        """Why machines stopped; 'running' for those that did not, also where a smoother loss than the hinge is done."""
        reason = self.newton.reason.copy()
        if self.loss == "hinge":
            reason[(reason == "gap") & ~(self.gap() <= self.tol * self.objective())] = "running"
        return reason

    @property
    def n_passes(self) -> float:
        """Passes over the rows."""
        return self.source.n_passes + self.more_passes

    def objective(self) -> np.ndarray:
        """Values of the objectives, times lambda."""
        if self.loss != "hinge":
            return self.newton.value
        points = self.newton.points
        return 0.5 * self.true_lam * inner(points, points) + self.newton.margins[:, HINGE]

    def gap(self) -> np.ndarray:
        """Duality gaps, times lambda."""
        if self.loss != "hinge":
            return self.newton.gap
        width = 2 * np.where(self.tau > 0, self.tau, 1.0)
        made = self.newton.data_gradient / (width * self.true_lam)[:, None]
        dual = np.minimum(self.newton.margins[:, PULL], 1e300) / width - 0.5 * self.true_lam * inner(made, made)
        return np.maximum(self.objective() - dual, 0.0)

    def multipliers(self, machine: int) -> np.ndarray:
        """Multipliers of the rows times labels, times lambda."""
        self._set_clip_of(machine)
        pulls: np.ndarray = self.source.pulls(machine)
        if self.loss == "hinge":
            pulls /= 2 * self.tau[machine]
        return pulls

    def violation(self) -> np.ndarray:
        """Violations of the optimality conditions of the dual by the multipliers."""
        newton, hinge = self.newton, self.loss == "hinge"
        made = -newton.data_gradient / newton.lam[:, None]
        out = np.zeros(len(newton.points))
        for tau in np.unique(self.tau):
            which = np.flatnonzero(self.tau == tau)
            self._set_clip_of(int(which[0]))
            out[which] = self.source.violation(which, made[which], curved=not hinge)
        return out

    def largest_output(self, machine: int) -> float:
        """The largest decision value of the rows that have weight."""
        outputs = self.source.outputs(machine)
        if self.problem.thresholds:
            outputs -= self.problem.offset * self.points[machine, -1]
        weight = self.problem.weights[self.problem.plane_of[machine]]
        return float(np.abs(outputs[weight != 0]).max(initial=0.0))

    def _set_clip_of(self, machine: int) -> None:
        if self.loss == "hinge":
            tau = self.tau[machine]
            self.source.set_clip(Clip(1 + tau, 0.0, 2 * tau))

    # ---- the way there -------------------------------------------------------------------------------

    def run(self) -> Iterator[None]:
        """Minimise; yields after each iteration."""
        if not self.seeded and self.rounds is None and self.solver_name == "gram" and not self._sketch()[1]:
            small = self.problem.thinned()
            if small is not None:
                yield from self._seed(small)
        if self.loss != "hinge":
            self.newton.put(self.newton.all, self.newton.points)
        yield from self._descend()
        if not self.many:
            self._solver = None  # its matrices are of no more use

    def walk(self, penalties: np.ndarray) -> Iterator[int]:
        """Go from penalty to penalty, the largest first; yields the place of each when its minima are reached."""
        for n, place in enumerate(np.argsort(-penalties, kind="stable").tolist()):
            self.true_lam[:] = penalties[place]
            self.newton.lam[:] = penalties[place]
            for _ in self.run() if n == 0 else self._follow():
                pass
            self._last = self.true_lam.copy()
            yield place

    def _follow(self) -> Iterator[None]:
        """From the minima for the last penalties to those for the present ones."""
        self.newton.n_iter[:] = 0
        self._extrapolate()
        self.tau[:] = 0
        self.seeded = True
        yield from self._descend()

    def _extrapolate(self) -> None:
        """Go where the minima for the last penalties point to, as far as that leads down."""
        if not self._trail or (self._trail[-1][0] != np.log(self._last)).all():  # the same penalty may come again
            self._trail = [*self._trail[-2:], (np.log(self._last), self.newton.points.copy())]
        if (self._last == self.true_lam).any():
            return
        if len(self._trail) < 2 or self.solver_name == "gram" or self.loss == "hinge":
            return
        at = np.log(self.true_lam)
        ahead = np.zeros_like(self.newton.points)
        for i, (own, points) in enumerate(self._trail):
            factor = np.ones(len(at))
            for j, (other, _) in enumerate(self._trail):
                if j != i:
                    factor *= (at - other) / (own - other)
            ahead += factor[:, None] * points
        self.newton.go(self.newton.all, ahead - self.newton.points)

    def _descend(self) -> Iterator[None]:
        newton = self.newton
        if self.loss == "hinge":
            yield from self._sharpen()
        elif self.rounds is None:
            yield from newton.run(newton.all, self._use(FORCING), GapTest(self.tol), self.max_iter)
        else:
            for epsilon in self.rounds:
                yield from newton.run(newton.all, self._use(0.0), ResidualTest(epsilon), self.max_iter)

    def _use(self, forcing: float) -> Exact | Conjugate:
        """The solver, which knows what it has learnt in earlier rounds."""
        if self._solver is None:
            if self.solver_name == "gram":
                # A narrow hinge blows up what products have lost by rounding; where they are few they may take longer.
                length, rows = self.problem.length, self.problem.n_rows
                precise = self.loss == "hinge" or rows * length**2 < FEW_PRODUCTS
                self._solver = Exact(self.source, self.problem.n_machines, length, *self._sketch(), precise=precise)
            else:
                self._solver = Conjugate(self.source, cap=self.first_cap, forcing=forcing)
        return self._solver

    def _sketch(self) -> tuple[int, bool]:
        """One row in how many makes up the Hessian, and whether that is too thin to go without conjugate gradients."""
        rows_per_weight = self.problem.n_rows // self.problem.length
        entries, dense = self.problem.entries_per_row()
        passes = entries / 2 * (DENSE_PAIR_NS / DENSE_ENTRY_NS if dense else PAIR_NS / ENTRY_NS)
        if self.loss == "hinge" or self.many or not hasattr(self.source, "sketch"):
            return 1, False
        if rows_per_weight >= 2 * SKETCHED_ROWS:
            return power_of_two(min(rows_per_weight // SKETCHED_ROWS, MOST_SKETCHED)), False
        if passes >= DEAR_HESSIAN and rows_per_weight >= 2 * THIN_ROWS:
            most = MOST_THIN if passes >= 2 * DEAR_HESSIAN else MOST_THIN // 2
            return power_of_two(min(rows_per_weight // THIN_ROWS, most)), True
        return 1, False

    def _seed(self, small: Any) -> Iterator[None]:
        """Start from the minima over a sample of the rows."""
        share = small.n_rows / self.problem.n_rows
        first = Minimiser(
            small,
            self.true_lam * share,
            loss=self.loss,
            tol=max(FIRST_TOL, self.tol),
            max_iter=min(FIRST_ITERATIONS, self.max_iter) if share > LARGE_SAMPLE else self.max_iter,
            solver="gram",
        )
        for _ in first.run():
            self.newton.points = first.points.copy()
            yield
        self.newton.points = first.points.copy()
        self.more_passes += share * first.n_passes

    def _sharpen(self) -> Iterator[None]:
        """The hinge as the limit of smooth losses, each seeded by the one before."""
        newton, which, tau = self.newton, self.newton.all, SEEDED_TAU if self.seeded else 1.0
        solver = self._use(FORCING)
        best = np.full(len(newton.points), np.inf)
        start = newton.points.copy()
        while len(which):
            kept, width, count = newton.points[which].copy(), self.tau[which].copy(), newton.n_iter[which].copy()
            self._put(which, start[which], tau, solver)
            first = self.gap()[which]
            left = self.max_iter - int(count.max())
            test = HingeTest(self.tol, tau, self.true_lam)
            yield from newton.run(which, solver, test, min(max(left, 0), MOST_SHARPENING))
            ended = newton.points[which].copy()
            # Where rounding has the better of a small width an earlier result stands.
            vain = self.gap()[which] > first
            if vain.any():
                self._put(which[vain], start[which[vain]], tau, solver)
            gap = self.gap()[which]
            worse = (gap >= best[which]) & (newton.reason[which] != "gap")
            for old in np.unique(width[worse]):
                back = worse & (width == old)
                self._put(which[back], kept[back], float(old), solver)
            wanted = self.tol * self.objective()[which]
            small = ~worse & (gap <= wanted)
            late = ~small & (newton.n_iter[which] >= self.max_iter)
            newton.reason[which[worse]] = "precision"
            newton.reason[which[late]] = "max_iter"
            newton.reason[which[small]] = "gap"
            best[which] = np.minimum(gap, best[which])
            # As long as no row changes its side the minimum and the gap are linear in the width: so is the next start.
            on = ~small & ~worse & ~late
            if not on.any():
                return
            quick = (newton.n_iter[which] - count).max() <= QUICK
            enough = float((0.3 * wanted[on] / gap[on]).min())
            fresh = tau * max(SHARPER**3 if quick else SHARPER, min(enough, SHARPER))
            known = width > 0
            slope = np.where(known, (fresh - tau) / (tau - np.where(known, width, 2 * tau)), 0.0)
            start[which] = ended + slope[:, None] * (ended - kept)
            which = which[on]
            tau = fresh

    def _put(self, which: np.ndarray, points: np.ndarray, tau: float, solver: Exact | Conjugate) -> None:
        """Machines at points, with the hinge smoothed over this width."""
        self.source.set_clip(Clip(1 + tau, 0.0, 2 * tau))
        self.newton.put(which, points, 2 * tau * self.true_lam[which])
        self.tau[which] = tau
        solver.forget(which)
