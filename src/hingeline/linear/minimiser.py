"""From problems to minima: samples, smoothing of the hinge, paths of penalties, choice of the solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from .newton import GapTest, HingeTest, KktTest, Newton
from .problem import MemoryRows, Problem, Sample
from .sums import SHAPES, MemorySource, shape_of
from .systems import THIN_ROWS, Conjugate, Exact, Solver, inner, power_of_two

#: Conjugate gradient steps of the first Newton system at most (heuristic 1 of the paper).
FIRST_CAP = 10
#: Repetitions of equation 9 of the paper.
GUESS_ROUNDS = 6
#: Widths of the smoothed hinge: factor from one to the next, first width from a good start, iterations for one width.
SHARPER, SEEDED_TAU, MOST_SHARPENING = 0.25, 0.25, 50
#: Rows that precondition systems which take many conjugate gradient steps.
MOST_LONG = 1000
#: If one width takes at most so many iterations, the next may be much smaller.
QUICK = 2
#: Nanoseconds, measured on one core with AVX-512: a pair of entries of a sparse row in the Hessian, of a dense one; an
#: entry of a sparse row in a conjugate gradient step, of a dense one; a multiplication in a Cholesky factorisation.
PAIR_NS, DENSE_PAIR_NS, ENTRY_NS, DENSE_ENTRY_NS, FACTOR_NS = 1.2, 0.07, 3.0, 0.5, 0.03
#: Iteration counts assumed by the cost model: Newton iterations, conjugate gradient steps.
TYPICAL_ITERATIONS, TYPICAL_STEPS = 8, 100
#: Number of products in a Hessian below which single precision does not pay.
FEW_PRODUCTS = 10_000_000
#: Rows per weight in a sketch of the Hessian, at least; one row in so many, at most.
SKETCHED_ROWS, MOST_SKETCHED = 1000, 4
#: A Hessian that costs this many passes is expensive: a thinner sketch of it preconditions conjugate gradients.
DEAR_HESSIAN, MOST_THIN = 25, 8


def choose_solver(problem: Problem) -> str:
    """The solver that is faster according to the costs above."""
    entries, dense = problem.entries_per_row, problem.dense
    length, rows = problem.length, problem.n_rows
    if problem.n_machines * 8 * length**2 > problem.rows.hessian_bytes:
        return "cg"
    pairs = rows * entries**2 / 2 * (DENSE_PAIR_NS if dense else PAIR_NS)
    factors = TYPICAL_ITERATIONS * length**3 / 3 * FACTOR_NS
    steps = TYPICAL_STEPS * rows * entries * (DENSE_ENTRY_NS if dense else ENTRY_NS)
    # Machines over the same rows share the passes of conjugate gradients, eight to a vector register.
    return "gram" if problem.n_machines * (pairs + factors) < (1 + problem.n_machines / 8) * steps else "cg"


def scale_guess(
    problem: Problem, coef: np.ndarray, lam: float, loss: str, some: np.ndarray | None = None, *, once: bool = False
) -> np.ndarray:
    """Starting points from guesses of w: the factor and the intercept that minimise the squared loss (equation 9).

    First over `some` rows, given by their numbers (None: all); then, in memory, if the loss is not squared itself and
    not with `once`, over the rows with a loss.
    """
    rows, which, d = problem.rows, np.arange(problem.n_machines), problem.n_features
    first = rows
    if some is not None:
        rows = cast(MemoryRows, rows)
        numbers = np.arange(rows.n_rows) if rows.numbers is None else rows.numbers
        first = replace(rows, weights=np.where(np.isin(numbers, some), rows.weights, 0.0))
    source = first.source(SHAPES["squared"].clip)
    ahead = np.zeros((problem.n_machines, problem.length))
    gradient = source.start(which, ahead).gradient
    ahead[:, :d] = coef
    turned = source.curvature(which, ahead)
    p11 = lam * (coef**2).sum(axis=1) + (turned[:, :d] * coef).sum(axis=1)
    q1 = -(gradient[:, :d] * coef).sum(axis=1)
    points = ahead * np.divide(q1, p11, out=np.zeros_like(q1), where=p11 > 0)[:, np.newaxis]
    if problem.length > d:  # there is an intercept
        unit = np.zeros_like(ahead)
        unit[:, d] = 1.0
        p12, p22, q2 = -turned[:, d], lam + source.curvature(which, unit)[:, d], gradient[:, d]
        det = p11 * p22 - p12**2
        good = det > 0
        points[good, :d] = coef[good] * ((p22 * q1 - p12 * q2)[good] / det[good])[:, np.newaxis]
        points[good, d] = -(p11 * q2 - p12 * q1)[good] / det[good]
    if loss != "squared" and isinstance(rows, MemoryRows) and not once:
        source = rows.source(SHAPES["squared"].clip)
        source.start(which, np.ascontiguousarray(np.where(np.arange(problem.length) < d, points, 0.0)))
        for k in range(problem.n_machines):
            gamma, b = _scale_again(rows, cast(MemorySource, source).pulls(k), points[k], lam, k)
            points[k, :d] *= gamma
            points[k, d:] = b
    return points


def _scale_again(
    rows: MemoryRows, pulls: np.ndarray, point: np.ndarray, lam: float, machine: int
) -> tuple[float, float]:
    """Factor and threshold of a machine by equation 9 for the rows active at the last ones (footnote 4 of the paper).

    `pulls` are those of the squared loss without threshold. The sets soon repeat or cycle; the best objective counts.
    """
    signed = rows.weights[machine]
    with_weight = signed != 0
    s, t = np.abs(signed[with_weight]), np.sign(signed[with_weight])
    z, d = t - pulls[with_weight] / s, rows.n_features
    e = -rows.offset if rows.thresholds else 0.0
    square = point[:d] @ point[:d]
    found = best = (1.0, float(point[d]) if rows.thresholds else 0.0)
    least = np.inf
    for _ in range(GUESS_ROUNDS):
        xi = np.maximum(1 - t * (found[0] * z + e * found[1]), 0.0)
        value = lam * (found[0] ** 2 * square + found[1] ** 2) + s @ xi**2
        if not value < least:
            break
        least, best = value, found
        own = np.where(xi > 0, s, 0.0)
        p11, p12, p22 = lam * square + own @ z**2, e * (own @ z), lam + e**2 * own.sum()
        q1, q2, det = own @ (t * z), e * (own @ t), p11 * p22 - p12**2
        if not det > 0:
            break
        found = (float((p22 * q1 - p12 * q2) / det), float((p11 * q2 - p12 * q1) / det))
    return best


class Minima(NamedTuple):
    """Results of machines, one entry or line each. Objectives and gaps are in units of the penalty."""

    points: np.ndarray
    #: Largest absolute outputs in training, or none.
    largest: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray
    reason: np.ndarray

    @classmethod
    def join(cls, parts: Iterable[Minima]) -> Minima:
        """Results of all machines from those of several minimisers."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def attributes(self, weight: float, unfinished: str = "") -> dict[str, np.ndarray]:
        """Fitted attributes; `unfinished` is the stop reason of machines that could go on."""
        reasons = self.reason.astype(str)
        return {
            "objective_": weight * self.objective,
            "duality_gap_": weight * self.gap,
            "n_iter_": self.n_iter,
            "stop_reason_": np.where(reasons == "running", unfinished or "running", reasons),
        }


def finish(stages: Iterable[Newton]) -> None:
    """Iterate stage after stage to its end."""
    for newton in stages:
        while newton.iterate():
            pass


class Minimiser:
    """From a problem to the minima of its machines.

    Parameters
    ----------
    problem : Problem
        Rows and machines.
    lam : float or ndarray of shape (n_machines,)
        Penalties.
    points : ndarray of shape (n_machines, length) or None
        Starting points; None: zero, or the minima over a sample of the rows.
    loss : str
        Loss of a classifier or of a regressor.
    tol : float
        Duality gap to reach, relative to the objective.
    max_iter : int
        Newton iterations of a machine.
    solver : {'auto', 'gram', 'cg'}
        Solver of Newton's systems.
    kkt_tol : float or None, default=None
        KKT violation to reach as well.
    many : bool, default=False
        Whether other penalties will follow: a Hessian of all rows is then worth its cost.
    epsilon : float, default=0.0
        Width without loss, for regression.
    """

    #: Newton's method for the penalty.
    _method: type[Newton] = Newton

    def __init__(
        self,
        problem: Problem,
        lam: float | np.ndarray,
        points: np.ndarray | None = None,
        *,
        loss: str,
        tol: float,
        max_iter: int,
        solver: str = "auto",
        kkt_tol: float | None = None,
        many: bool = False,
        epsilon: float = 0.0,
    ) -> None:
        self.problem = problem
        self.many = many
        self.loss, self.epsilon, self.shape = loss, epsilon, shape_of(loss, epsilon)
        self.tol = tol
        self.kkt_tol = kkt_tol
        self.max_iter = max_iter
        self.seeded = points is not None
        self.solver_name = choose_solver(problem) if solver == "auto" else solver
        self.true_lam = np.broadcast_to(np.asarray(lam, dtype=np.float64), (problem.n_machines,)).copy()
        start = np.zeros((problem.n_machines, problem.length)) if points is None else points
        self.tau = np.zeros(problem.n_machines)
        self.source = problem.source(self.shape.clip if self.shape.curved else self.shape.widen(problem.rows.scale))
        self.newton = self._method(self.source, self.true_lam, start)
        if not self.shape.curved:
            self.newton.measures = lambda: (self.objective(), self.gap())
        self.other_passes = problem.rows.setup_passes
        self._sample: tuple[Minimiser, Sample] | None = None  # while it is being solved
        self._trail: list[tuple[np.ndarray, np.ndarray]] = []
        self._last = self.true_lam.copy()  # penalties of the last minima
        self._solver: Solver | None = None

    # ---- results -------------------------------------------------------------------------------------

    @property
    def points(self) -> np.ndarray:
        """Current weights and thresholds."""
        return self.newton.points if self._sample is None else self._sample[1].restore(self._sample[0].points)

    @property
    def reason(self) -> np.ndarray:
        """Why machines stopped; 'running' for those that did not, also between two widths of the smoothed hinge."""
        reason = self.newton.reason.copy()
        if not self.shape.curved:
            met = np.flatnonzero((reason == "gap") | (reason == "kkt"))
            reason[met[~self._is_met(met)]] = "running"
        return reason

    def _is_met(self, which: np.ndarray) -> np.ndarray:
        """Whether machines have the gap and the violation wanted."""
        met = self.gap()[which] <= self.tol * self.objective()[which]
        if self.kkt_tol is not None and len(which):
            met &= self.violation(which) <= self.kkt_tol
        return met

    @property
    def n_passes(self) -> float:
        """Passes over the rows."""
        return self.source.n_passes + self.other_passes

    def read(self, by_pairs: bool) -> Minima:
        """Results at the current points; `by_pairs`: with the largest outputs."""
        largest = self.largest_outputs() if by_pairs else np.empty(0)
        return Minima(self.points.copy(), largest, self.objective(), self.gap(), self.newton.n_iter.copy(), self.reason)

    def largest_outputs(self) -> np.ndarray:
        """Largest absolute output of each machine over the rows."""
        return np.array([self.source.largest_output(machine) for machine in range(self.problem.n_machines)])

    def objective(self) -> np.ndarray:
        """Values of the objectives, times the penalty."""
        if self.shape.curved:
            return self.newton.value
        points = self.newton.points
        return 0.5 * self.true_lam * inner(points, points) + self.newton.sums.hinge

    def gap(self) -> np.ndarray:
        """Duality gaps, times the penalty."""
        if self.shape.curved:
            return self.newton.gap
        width = 2 * np.where(self.tau > 0, self.tau, 1.0)
        made = self.newton.sums.gradient / (width * self.true_lam)[:, None]
        if self.shape.clip.folded:  # by rows: the losses, and what the multipliers make of the residuals
            apart = self.newton.points + made
            gap = self.newton.sums.hinge - np.minimum(self.newton.sums.dual, 1e300) / width
            return np.maximum(gap + 0.5 * self.true_lam * inner(apart, apart), 0.0)
        dual = np.minimum(self.newton.sums.dual, 1e300) / width - 0.5 * self.true_lam * inner(made, made)
        return np.maximum(self.objective() - dual, 0.0)

    def multipliers(self, machine: int) -> np.ndarray:
        """Multipliers of the rows times labels, times the penalty."""
        self._set_clip_of(machine)
        pulls = cast(MemorySource, self.source).pulls(machine)
        if not self.shape.curved:
            pulls /= 2 * self.tau[machine]
        return pulls

    def violation(self, which: np.ndarray | None = None) -> np.ndarray:
        """Violations of the optimality conditions of the dual by the multipliers, one per machine (None: of all)."""
        newton = self.newton
        which = newton.all if which is None else which
        made = -newton.sums.gradient[which] / newton.lam[which, None]
        out = np.zeros(len(which))
        for tau in np.unique(self.tau[which]):
            own = self.tau[which] == tau
            self._set_clip_of(int(which[own][0]))
            out[own] = self.source.violation(which[own], made[own], self.shape.clip.margin, self.shape.curved)
        return out

    def _set_clip_of(self, machine: int) -> None:
        if not self.shape.curved:
            self.source.set_clip(self.shape.widen(self.tau[machine]))

    # ---- minimisation --------------------------------------------------------------------------------

    def mistrust_start(self) -> None:
        """The starting points were made up from guesses of another method."""

    def stages(self) -> Iterator[Newton]:
        """Minimise. Yields what is to be iterated to its end before the generator goes on."""
        if not self.seeded and not self._sketch()[1]:
            yield from self._solve_samples()
        solver = self._make_solver()
        if self.shape.curved:
            self.newton.put(self.newton.all, self.newton.points)
        yield from self._descend(solver)
        if not self.many:
            self._solver = None  # frees its matrices

    def settle(self) -> None:
        """After a stop between two iterations: measure machines that have not started, and record where all are."""
        if not np.isfinite(self.newton.sums.loss).all():
            points, self._sample = self.points.copy(), None
            if not self.shape.curved:
                self._put(self.newton.all, points, self.problem.rows.scale)
            else:
                self.newton.put(self.newton.all, points)
        self.newton.record(np.flatnonzero(self.reason == "running"))

    def walk(self, penalties: np.ndarray) -> Iterator[int]:
        """Minimise for each penalty, the largest first; yields the index of each when its minima are reached."""
        for n, place in enumerate(np.argsort(-penalties, kind="stable").tolist()):
            self.true_lam[:] = penalties[place]
            self.newton.lam[:] = penalties[place]
            finish(self.stages() if n == 0 else self._follow())
            self._last = self.true_lam.copy()
            yield place

    def _follow(self) -> Iterator[Newton]:
        """Minimise for the current penalties, starting from the minima for the last ones."""
        self.newton.n_iter[:] = 0
        self._extrapolate()
        self.tau[:] = 0
        self.seeded = True
        yield from self._descend(self._make_solver())

    def _extrapolate(self) -> None:
        """Extrapolate the last minima to the current penalty, in its logarithm, as far as that descends."""
        if not self._trail or (self._trail[-1][0] != np.log(self._last)).all():  # a penalty may occur again
            self._trail = [*self._trail[-2:], (np.log(self._last), self.newton.points.copy())]
        if (self._last == self.true_lam).any():
            return
        if len(self._trail) < 2 or self.solver_name != "cg" or not self.shape.curved:
            return
        at = np.log(self.true_lam)
        ahead = np.zeros_like(self.newton.points)
        for i, (own, points) in enumerate(self._trail):
            factor = np.ones(len(at))
            for j, (other, _) in enumerate(self._trail):
                if j != i:
                    factor *= (at - other) / (own - other)
            ahead += factor[:, None] * points
        self.newton.go(ahead - self.newton.points)

    def _descend(self, solver: Solver) -> Iterator[Newton]:
        if not self.shape.curved:
            yield from self._sharpen(solver)
            return
        self.newton.begin(self.newton.all, solver, self._test(), self.max_iter)
        yield self.newton

    def _test(self) -> GapTest:
        """The stopping rule."""
        return self._add_violation(GapTest(self.tol), self.kkt_tol)

    def _add_violation(self, test: GapTest, most: float | None) -> GapTest:
        """The test together with a limit of the KKT violation, if there is one."""
        return test if most is None else KktTest(test, most, self.violation, self.problem.n_machines)

    def _make_solver(self) -> Solver:
        """The solver; on a path the one of the last penalties."""
        if self._solver is None and self.solver_name == "gram":
            # A narrow hinge amplifies rounding errors of products; where products are few, double costs little.
            length, rows = self.problem.length, self.problem.n_rows
            precise = not self.shape.curved or rows * length**2 < FEW_PRODUCTS or self.problem.precise
            self._solver = Exact(self.source, self.problem.n_machines, length, *self._sketch(), precise=precise)
        elif self._solver is None:
            cap = None if self.seeded else FIRST_CAP
            smaller = min(self.problem.n_rows, self.problem.length)
            known = isinstance(self.problem.rows, MemoryRows) and self.problem.rows.has_features
            choose = self._choose_rows if known and self.problem.coordinates is None else None
            self._solver = Conjugate(self.source, smaller, cap=cap, choose_rows=choose)
        return self._solver

    def _choose_rows(self, machine: int) -> tuple[np.ndarray, Callable[[], Any], float]:
        """Rows with curvature of a machine, a function that returns the longest of them, and entries of a row."""
        rows = cast(MemoryRows, self.problem.rows)
        weights = np.abs(rows.weights[machine])
        pulls = np.abs(self.multipliers(machine))
        active = np.flatnonzero((pulls > 0) & (pulls < self.shape.clip.high * weights))
        return active, lambda: rows.longest(active, weights, MOST_LONG), rows.entries_per_row

    def _sketch(self) -> tuple[int, bool]:
        """One row in how many makes up the Hessian, and whether such a sketch only preconditions (it is thin)."""
        problem, rows_per_weight = self.problem, self.problem.n_rows // self.problem.length
        if not self.shape.curved or self.many or not problem.in_memory:
            return 1, False
        passes = problem.entries_per_row / 2
        passes *= DENSE_PAIR_NS / DENSE_ENTRY_NS if problem.dense else PAIR_NS / ENTRY_NS
        if rows_per_weight >= 2 * SKETCHED_ROWS:
            return power_of_two(min(rows_per_weight // SKETCHED_ROWS, MOST_SKETCHED)), False
        if passes >= DEAR_HESSIAN and rows_per_weight >= 2 * THIN_ROWS:
            most = MOST_THIN if passes >= 2 * DEAR_HESSIAN else MOST_THIN // 2
            return power_of_two(min(rows_per_weight // THIN_ROWS, most)), True
        return 1, False

    def _solve_samples(self) -> Iterator[Newton]:
        """Start from the minima over samples of the rows."""
        for sample in self.problem.samples(self.solver_name):
            first = type(self)(
                sample.problem,
                self.true_lam[sample.machines] * sample.share,
                loss=self.loss,
                epsilon=self.epsilon,
                tol=max(sample.tol, self.tol),
                max_iter=self.max_iter if sample.max_iter is None else min(sample.max_iter, self.max_iter),
                solver=sample.solver,
            )
            # If the sample has all machines its points are the best ones so far.
            self._sample = (first, sample) if len(sample.machines) == self.problem.n_machines else None
            yield from first.stages()
            self._sample = None
            self.newton.points[sample.machines] = sample.restore(first.points)
            self.other_passes += (sample.share if sample.cost is None else sample.cost) * first.n_passes
            # In partitions iterations are dear: the hinge begins with a narrower width.
            self.seeded = not self.problem.in_memory

    def _sharpen(self, solver: Solver) -> Iterator[Newton]:
        """The hinge as the limit of smooth losses of decreasing width, each started from the minimum of the last."""
        newton, which = self.newton, self.newton.all
        tau = self.problem.rows.scale * (SEEDED_TAU if self.seeded else 1.0)
        best = np.full(len(newton.points), np.inf)
        start = newton.points.copy()
        while len(which):
            kept, width, count = newton.points[which].copy(), self.tau[which].copy(), newton.n_iter[which].copy()
            self._put(which, start[which], tau, solver)
            first = self.gap()[which]
            left = self.max_iter - int(count.max())
            # At the minimum for one width the violation is up to the width.
            most = None if self.kkt_tol is None else max(self.kkt_tol, 2 * tau)
            test = self._add_violation(HingeTest(self.tol, tau, self.true_lam), most)
            newton.begin(which, solver, test, min(max(left, 0), MOST_SHARPENING))
            yield newton
            ended = newton.points[which].copy()
            # If rounding makes a smaller width worse, the earlier result is kept.
            vain = self.gap()[which] > first
            if vain.any():
                self._put(which[vain], start[which[vain]], tau, solver)
            gap = self.gap()[which]
            worse = (gap >= best[which]) & (newton.reason[which] != test.reason)
            for old in np.unique(width[worse]):
                back = worse & (width == old)
                self._put(which[back], kept[back], float(old), solver)
            newton.record(which[worse | vain])  # the last row of the history is the result
            wanted = self.tol * self.objective()[which]
            small = ~worse & self._is_met(which)
            late = ~small & (newton.n_iter[which] >= self.max_iter)
            newton.reason[which[worse]] = "precision"
            newton.reason[which[late]] = "max_iter"
            newton.reason[which[small]] = test.reason
            best[which] = np.minimum(gap, best[which])
            # While no row changes its piece, minimum and gap are linear in the width: the next start is extrapolated.
            on = ~small & ~worse & ~late
            if not on.any():
                return
            quick = (newton.n_iter[which] - count).max() <= QUICK
            enough = float((0.3 * wanted[on] / np.maximum(gap[on], 1e-300)).min())
            if self.kkt_tol is not None:
                enough = min(enough, 0.3 * self.kkt_tol / tau)
            fresh = tau * max(SHARPER**3 if quick else SHARPER, min(enough, SHARPER))
            known = width > 0
            slope = np.where(known, (fresh - tau) / (tau - np.where(known, width, 2 * tau)), 0.0)
            start[which] = ended + slope[:, None] * (ended - kept)
            which = which[on]
            tau = fresh

    def _put(self, which: np.ndarray, points: np.ndarray, tau: float, solver: Solver | None = None) -> None:
        """Put machines at points, with the hinge smoothed over this width."""
        self.source.set_clip(self.shape.widen(tau))
        self.newton.put(which, points, 2 * tau * self.true_lam[which])
        self.tau[which] = tau
        if solver is not None:
            solver.forget(which)
