"""The finite Newton method as published: Appendix A of Keerthi and DeCoste (2005), iterate for iterate.

One machine after the other, in double, with the rows as a NumPy array or a SciPy matrix. Names of steps and numbers of
equations are those of the paper. Misprints are corrected as docs/math/finite_newton.md says; section 6 (Huber, hinge)
and section 7 (ordered classes) are the same iterations with other sets of rows, and several columns of outputs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from .minimiser import FIRST_CAP, Minimiser
from .newton import Newton
from .problem import MemoryRows, is_mostly_zeros
from .sums import Clip

#: Solvers of this module; the second is without heuristics.
PUBLISHED = ("paper", "plain")
#: Tolerance of the first of two rounds (heuristic 2), and of the rounds for a smoothed hinge.
FIRST_ROUND, EPSILON = 1e-2, 1e-6
#: CGLS steps at most.
MOST_STEPS = 5000
#: Tolerance of the sets of rows (footnote 17), relative to the width of the quadratic piece if that is narrower than 1.
TOL = 1e-8
#: A rise of the objective, and a way to the next Newton point relative to the weights, that may come from rounding.
ROUNDING, SHORT = 1e-12, 1e-13
#: Iterations without a descent that end a run.
MOST_VAIN = 3
#: Smallest tolerance in the search for a KKT violation.
LEAST = 1e-16


class Lines:
    """Rows of a machine that have a weight, with labels: outputs have one column per threshold, at least one."""

    def __init__(self, rows: MemoryRows, machine: int) -> None:
        signed = rows.weights[machine]
        some = np.flatnonzero(signed)
        places = some if rows.numbers is None else rows.numbers[some]
        X = rows.X if len(places) == rows.X.shape[0] else rows.X[places]
        if not sp.issparse(X) and is_mostly_zeros(X):
            X = sp.csr_matrix(X)
        self.s = np.abs(signed[some])[:, np.newaxis]
        self.t = np.sign(signed[some])[:, np.newaxis]
        if rows.codes is not None:
            self.t = np.where(rows.codes[some][:, np.newaxis] > np.arange(rows.thresholds), 1.0, -1.0)
        self.matrix = Matrix(X.astype(np.float64, copy=False), rows.thresholds, rows.offset)


class Matrix:
    """Rows (x, -offset); the paper's X is that with the rows of the set I, and an offset of -1.

    `products` counts products with the matrix or its transpose, in entries read.
    """

    def __init__(self, A: Any, thresholds: int, offset: float) -> None:
        self.A, self.At, self.thresholds, self.offset = A, A.T, thresholds, offset
        self.entries = A.nnz if sp.issparse(A) else A.size

    def take(self, some: np.ndarray) -> Matrix:
        """Some of the rows, given by a mask."""
        return self if some.all() else Matrix(self.A[some], self.thresholds, self.offset)

    def outputs(self, p: np.ndarray) -> np.ndarray:
        """Outputs of a weight vector."""
        d = self.A.shape[1]
        return (self.A @ p[:d])[:, np.newaxis] - (self.offset * p[d:] if self.thresholds else 0.0)

    def pull(self, z: np.ndarray) -> np.ndarray:
        """Transpose times values of outputs."""
        weights = self.At @ z.sum(axis=1)
        return np.concatenate([weights, -self.offset * z.sum(axis=0)]) if self.thresholds else weights


class Step(NamedTuple):
    """What an iteration leads to."""

    beta: np.ndarray
    #: CGLS steps of the iteration.
    cgls_steps: int
    #: Products with all rows, in passes.
    passes: float
    #: Why the run ends here: 'residual', 'precision'; otherwise empty.
    end: str


def cgls(
    X: Matrix, root: np.ndarray, z: np.ndarray, beta: np.ndarray, lam: float, epsilon: float, most: int
) -> tuple[np.ndarray, int, bool]:
    """Algorithm CGLS: minimiser of lam/2 |beta|^2 + 1/2 |z(beta)|^2, where z is known at the start.

    Returns the minimiser, the number of steps, and whether equation 13 holds. `root` are the roots of the weights.
    """
    r = X.pull(root * z) - lam * beta
    p = r
    phi1 = phi2 = float(r @ r)
    if len(z) == 0:  # without rows a step leads to 0, and equation 13 asks for exactly that
        return np.zeros_like(beta), int(phi1 > 0.0), True
    for count in range(1, most + 1):
        if phi1 == 0.0:  # the step would be 0 / 0
            return beta, count - 1, True
        q = root * X.outputs(p)
        gamma = phi1 / (float(np.vdot(q, q)) + lam * phi2)
        beta = beta + gamma * p
        z = z - gamma * q
        r = X.pull(root * z) - lam * beta
        before, phi1 = phi1, float(r @ r)
        if phi1 <= epsilon**2 * float(np.vdot(z, z)):
            return beta, count, True
        if not np.isfinite(phi1):
            raise FloatingPointError("numbers beyond the range of a double")
        p = r + phi1 / before * p
        phi2 = float(p @ p)
    return beta, most, False


def search(lines: Lines, clip: Clip, lam: float, ends: tuple[Any, Any], outputs: tuple[Any, Any]) -> float:
    """Equations 14 to 18: the step to the minimum on the line between two ends, by its sorted breakpoints."""
    (beta, goal), (y, ahead) = ends, outputs
    s, t, _, low, high = lines.s, lines.t, *clip[:3]
    xi, xi1, du = clip.margin - t * y, clip.margin - t * ahead, t * (ahead - y)
    inside, beyond = (xi > low) & (xi < high), xi >= high
    direction = goal - beta
    square = -s * xi * du, -s * xi1 * du  # terms of l_i and r_i of a row on the quadratic piece
    first, last = (
        lam * float(end @ direction) + float(part[inside].sum()) for end, part in zip(ends, square, strict=True)
    )
    line = -s * high * du if high < np.inf else np.zeros_like(du)  # and on the line
    first, last = first + float(line[beyond].sum()), last + float(line[beyond].sum())
    steps, lefts, rights = [], [], []

    def cross(rows: np.ndarray, level: float, enter: float) -> None:
        """Rows that enter (1) or leave (-1) the quadratic piece, from 0 at `low`, from the line at `high`."""
        other = line[rows] if level == high else 0.0
        with np.errstate(over="ignore"):
            steps.append(np.maximum((xi[rows] - level) / du[rows], 0.0))
        lefts.append(enter * (square[0][rows] - other))
        rights.append(enter * (square[1][rows] - other))

    # Of equal steps the first counts: a row enters before it leaves.
    if high < np.inf:
        cross(beyond & (du > 0), high, 1.0)
    if low > -np.inf:
        cross(~inside & ~beyond & (du < 0), low, 1.0)
        cross((inside | beyond) & (du > 0), low, -1.0)
    if high < np.inf:
        cross(~beyond & (du < 0), high, -1.0)
    at = np.concatenate(steps) if steps else np.empty(0)
    if len(at) == 0:
        return -first / (last - first)
    order = np.argsort(at, kind="stable")
    at = at[order]
    ls = np.cumsum(np.concatenate([[first], np.concatenate(lefts)[order]]))
    rs = np.cumsum(np.concatenate([[last], np.concatenate(rights)[order]]))
    risen = np.flatnonzero(ls[:-1] + at * (rs - ls)[:-1] >= 0)
    j = int(risen[0]) if len(risen) else len(at)  # after the last breakpoint the slope is a line too
    return -float(ls[j]) / float(rs[j] - ls[j])


def iterations(
    lines: Lines, clip: Clip, lam: float, beta: np.ndarray, tolerances: Iterable[float], first: int
) -> Iterator[Step]:
    """Steps 2 to 8 of Appendix A from a point; `first` limits the CGLS steps of the first iteration."""
    s, t, X = lines.s, lines.t, lines.matrix
    margin, low, high, _ = clip
    slack = TOL * min(1.0, high - low)
    rounds = iter(tolerances)
    epsilon, most = next(rounds), first
    y = X.outputs(beta)

    def objective() -> float:
        xi = margin - t * y
        slope = np.clip(xi, low, high)
        found = 0.5 * lam * float(beta @ beta) + float((s * slope * (xi - 0.5 * slope)).sum())
        if not np.isfinite(found):
            raise FloatingPointError("numbers beyond the range of a double")
        return found

    value, vain, passes = objective(), 0, 1.0
    while True:
        # Step 3, with the shift of equation 23; step 4.
        xi = margin - t * y
        inside, beyond = (xi > low) & (xi < high), xi >= high
        some = inside.any(axis=1)
        active = X.take(some)
        root = np.where(inside, np.sqrt(s), 0.0)[some]
        shift = X.pull(np.where(beyond, s * t * high, 0.0)) / lam if beyond.any() else np.zeros_like(beta)
        goal, count, optimal = cgls(active, root, root * (t * xi)[some], beta - shift, lam, epsilon, most)
        goal = goal + shift
        passes += (1 + 2 * count) * active.entries / max(X.entries, 1) + 1 + bool(beyond.any())
        most = MOST_STEPS
        # Step 5.
        ahead = X.outputs(goal)
        xi1 = margin - t * ahead
        kept = (xi1 >= np.where(beyond, high, np.where(inside, low, -np.inf)) - slack).all()
        kept &= (xi1 <= np.where(beyond, np.inf, np.where(inside, high, low)) + slack).all()
        if optimal and kept:  # step 8
            tighter = next(rounds, None)
            if tighter is None:
                yield Step(goal, count, passes, "residual")
                return
            epsilon = tighter
            yield Step(beta, count, passes, "")
        elif np.abs(goal - beta).max() <= SHORT * np.abs(beta).max():
            yield Step(beta, count, passes, "precision")
            return
        else:  # steps 6 and 7
            last, step = beta, search(lines, clip, lam, (beta, goal), (y, ahead))
            beta, y = beta + step * (goal - beta), y + step * (ahead - y)
            before, value = value, objective()
            vain = 0 if value < before else vain + 1
            risen = value > before * (1 + ROUNDING)
            if risen or vain >= MOST_VAIN:
                yield Step(last if risen else beta, count, passes, "precision")
                return
            yield Step(beta, count, passes, "")
        passes = 0.0


class Published:
    """The published method for all machines of a minimiser; iterated as :class:`~hingeline.linear.newton.Newton` is."""

    def __init__(self, minimiser: PublishedMinimiser) -> None:
        self.minimiser, self.newton = minimiser, minimiser.newton
        self._steps = self._run()

    def iterate(self) -> bool:
        """One iteration of a machine. False at the end."""
        return next(self._steps, False)

    def _run(self) -> Iterator[bool]:
        for machine in self.newton.all.tolist():
            self.newton.reason[machine] = "running"
            self.newton.record(np.array([machine]))
            solve = self._solve if self.minimiser.shape.curved else self._sharpen
            self.newton.reason[machine] = yield from solve(machine, Lines(self.minimiser.rows, machine))

    def _solve(self, machine: int, lines: Lines) -> Generator[bool, None, str]:
        """Minimise a loss with curvature; why it ends."""
        m = self.minimiser
        lam = float(m.true_lam[machine])
        return (yield from self._reach(machine, lines, m.shape.clip, lam, m.rounds(m.tol), m.first, m.kkt_tol))

    def _reach(
        self, machine: int, lines: Lines, clip: Clip, lam: float, rounds: list[float], first: int, most: float | None
    ) -> Generator[bool, None, str]:
        """Iterations to a tolerance, and to smaller ones until the KKT violation is at most `most` (section 4.7)."""
        reason, epsilon = (yield from self._iterate(machine, lines, clip, lam, rounds, first)), rounds[-1]
        while reason == "residual" and most is not None:
            violation = float(self.minimiser.violation(np.array([machine]))[0])
            if violation <= most:
                return "kkt"
            epsilon *= min(0.1, 0.5 * most / violation)
            if epsilon < LEAST:
                return "precision"
            reason = yield from self._iterate(machine, lines, clip, lam, [epsilon], MOST_STEPS)
        return reason

    def _sharpen(self, machine: int, lines: Lines) -> Generator[bool, None, str]:
        """The hinge: widths 1, 1/2, 1/4, ..., each from the minimum of the one before; why it ends."""
        m, which, tau, best = self.minimiser, np.array([machine]), 1.0, np.inf
        kept, rounds, first = self.newton.points[machine].copy(), m.rounds(EPSILON), m.first
        while True:
            m._put(which, self.newton.points[which], tau)
            lam = 2 * tau * float(m.true_lam[machine])
            # At the minimum for one width the violation is up to the width.
            most = None if m.kkt_tol is None else max(m.kkt_tol, 2 * tau)
            yield from self._reach(machine, lines, m.shape.widen(tau), lam, rounds, first, most)
            gap = float(m.gap()[machine])
            if m._is_met(which).all():
                return "gap" if m.kkt_tol is None else "kkt"
            if gap >= best:  # by rounding: multipliers are differences of margins, divided by the width
                m._put(which, kept[np.newaxis], 2 * tau)
                self.newton.record(which)
                return "precision"
            if self.newton.n_iter[machine] >= m.max_iter:  # a new width without an iteration would not be recorded
                return "max_iter"
            kept, best, tau = self.newton.points[machine].copy(), gap, tau / 2
            rounds, first = [EPSILON], MOST_STEPS

    def _iterate(
        self, machine: int, lines: Lines, clip: Clip, lam: float, rounds: list[float], first: int
    ) -> Generator[bool, None, str]:
        """Iterations to the last of several tolerances; why they end."""
        m, newton, which = self.minimiser, self.newton, np.array([machine])
        steps = iterations(lines, clip, lam, newton.points[machine].copy(), rounds, first)
        while newton.n_iter[machine] < m.max_iter:
            step = next(steps)
            newton.put(which, step.beta[np.newaxis])
            newton.n_iter[machine] += 1
            m.other_passes += step.passes * len(lines.s) / m.problem.n_rows
            newton.record(which)
            yield True
            if step.end:
                return step.end
        return "max_iter"


class PublishedMinimiser(Minimiser):
    """From a problem in memory to the minima of its machines by the published method.

    Parameters are those of :class:`~hingeline.linear.minimiser.Minimiser`; `solver` is 'paper' or 'plain'.
    """

    @property
    def rows(self) -> MemoryRows:
        """The rows, which are in memory."""
        return cast(MemoryRows, self.problem.rows)

    @property
    def first(self) -> int:
        """CGLS steps of the first iteration at most (heuristic 1)."""
        return MOST_STEPS if self.seeded or self.solver_name == "plain" else FIRST_CAP

    def rounds(self, epsilon: float) -> list[float]:
        """Tolerances, one after the other (heuristic 2)."""
        two = not self.seeded and self.solver_name == "paper" and epsilon < FIRST_ROUND
        return [FIRST_ROUND, epsilon] if two else [epsilon]

    def mistrust_start(self) -> None:
        """Guesses do not rule out the heuristics."""
        self.seeded = False

    def stages(self) -> Iterator[Newton]:
        if self.shape.curved:
            self.newton.put(self.newton.all, self.newton.points)
        else:
            self._put(self.newton.all, self.newton.points, 1.0)
        yield cast(Newton, Published(self))

    def _follow(self) -> Iterator[Newton]:
        self.newton.n_iter[:] = 0
        self.seeded = True
        yield from self.stages()
