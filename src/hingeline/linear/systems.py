"""Newton's systems of linear machines: by Cholesky, by conjugate gradients, or by both combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import daxpy
from sklearn.utils.extmath import safe_sparse_dot

from .sums import Source

if TYPE_CHECKING:
    from .newton import Newton

#: Conjugate gradient steps for one system: at most, and per row or weight, whichever are fewer. Without rounding errors
#: one step for each would do.
MOST_STEPS, STEPS_PER_ROW = 5000, 20
#: Residual of a Newton system, relative to the gradient, at which conjugate gradients stop: far from the minimum crude
#: solutions are enough (heuristic 2 of the paper reaches the same with two rounds).
FORCING = 0.1
#: Conjugate gradient steps for one system that are many.
MANY_STEPS = 40
#: Time for an entry of a dense matrix, relative to one of a sparse matrix, whose place is read too.
DENSE_ENTRY = 0.2
#: In place of a number of steps: the preconditioner of long rows does not pay for a machine.
NEVER = np.inf
#: A sketched Hessian must bring the gap down to `SKETCHED_FALL` of its value once the set of active rows has settled,
#: that is when it changes by at most the share `SETTLED`.
SKETCHED_FALL, SETTLED = 0.1, 0.01
#: If a crude solution leaves more than `POOR_FALL` of the gap, `forcing` is multiplied by `POOR_FORCING`.
POOR_FALL, POOR_FORCING = 0.5, 0.3
#: A Hessian that needs a larger shift, relative to its largest entry, to have a factor is computed again.
POOR_FACTOR = 1e-11
#: A thin sketch has at least `THIN_ROWS` rows for each weight, and is kept while the share `STALE` of the rows that had
#: curvature when it was made still has it.
THIN_ROWS, STALE = 4, 0.6


def find_factor(hessian: np.ndarray, shift: float) -> tuple[Any, float]:
    """Cholesky factor of hessian + shift I, from the lower triangle.

    The shift is raised until a factor exists in spite of rounding. The second value is the shift added, relative to the
    largest entry.
    """
    scale = float(np.diagonal(hessian).max(initial=0.0))
    for extra in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0):
        work = hessian.copy()
        work.flat[:: len(work) + 1] += shift + extra * scale
        try:
            # Rows of the lower triangle are columns of the upper one to LAPACK.
            return cho_factor(work.T, lower=False, overwrite_a=True, check_finite=False), extra
        except LinAlgError:
            continue
    raise FloatingPointError("the Hessian has no factor")


def solve_factored(factor: Any, right: np.ndarray) -> np.ndarray:
    """Solution of a system from its Cholesky factor."""
    return cho_solve(factor, right, check_finite=False)


def power_of_two(most: int) -> int:
    """Largest power of two not exceeding `most`."""
    return 1 << (most.bit_length() - 1)


def inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Inner products of lines."""
    return np.array([x @ y for x, y in zip(a, b, strict=True)])


def _add(factors: np.ndarray, lines: np.ndarray, to: np.ndarray) -> None:
    """Add multiples of lines in place; the vectors may be long."""
    for factor, line, sum_ in zip(factors, lines, to, strict=True):
        daxpy(line, sum_, a=factor)


class Solver:
    """What gives Newton's method its directions. Solvers that keep nothing inherit most of this."""

    def begin(self, newton: Newton, which: np.ndarray) -> None:
        """Compute what is not known at the current points."""

    def forget(self, which: np.ndarray) -> None:
        """Machines are about to leave their points without a step: nothing that depends on the point is kept."""

    def learn(self, newton: Newton, which: np.ndarray, before: np.ndarray) -> None:
        """After a step from points with the gaps `before`."""

    def list_hessians(self, which: np.ndarray) -> list[Any]:
        """Hessians to update with the rows, None for machines without."""
        return [None] * len(which)

    def directions(self, which: np.ndarray, lam: np.ndarray, gradient: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Directions of machines, for systems to be solved to a residual of `goal`."""
        raise NotImplementedError


class Exact(Solver):
    """Newton's systems by Cholesky. The Hessian is updated by the rows that change their piece of the loss.

    With many more rows than weights, one row in `sketch` determines the Hessian almost as well as all rows: the steps
    are slightly worse and much cheaper. The same holds for products in single precision; `precise` rules them out from
    the start. A `thin` sketch is too coarse for directions and preconditions conjugate gradients instead.
    """

    def __init__(
        self,
        source: Source,
        n_machines: int,
        length: int,
        sketch: int = 1,
        thin: bool = False,
        *,
        precise: bool = False,
    ) -> None:
        self.source = source
        self.sketch = sketch
        self.thin = thin
        self.precise = precise
        self.source.use_hessians(sketch, precise)
        self.hessians = [np.zeros((length, length)) for _ in range(n_machines)]
        self.known = np.zeros(n_machines, dtype=bool)
        self.active = np.zeros(n_machines)  # rows with curvature when a thin Hessian was made, or one step ago
        self.poor = np.zeros(n_machines, dtype=bool)
        self.factors: dict[int, tuple[float, Any]] = {}

    def begin(self, newton: Newton, which: np.ndarray) -> None:
        """Compute the Hessians that are not known at the current points."""
        if self.thin and not self.known[which].all():
            self._thicken(newton.sums.active[which].max())
        for machine in which[~self.known[which]].tolist():
            hessian = self.hessians[machine]
            hessian.fill(0.0)
            self.source.hessian(machine, hessian)
            if not (self.precise or np.isfinite(np.diagonal(hessian)).all()):
                self._take_all()  # the products exceed the range of single precision
                hessian.fill(0.0)
                self.source.hessian(machine, hessian)
            self.factors.pop(machine, None)
            self.known[machine] = True
            self.active[machine] = newton.sums.active[machine]

    def forget(self, which: np.ndarray) -> None:
        """Mark Hessians as unknown."""
        self.known[which] = False

    def learn(self, newton: Newton, which: np.ndarray, before: np.ndarray) -> None:
        """Recompute Hessians that have become bad.

        A thin sketch is kept until many rows have lost their curvature. Any other Hessian is updated with the rows; if
        it does not bring the gap down although hardly any row changes, all rows are used from then on, in full
        precision.
        """
        active = newton.sums.active[which]
        if self.thin:
            self.known[which] = active >= STALE * self.active[which]
        else:
            settled = np.abs(active - self.active[which]) <= SETTLED * active
            self.active[which] = active
            slow = newton.gap[which] > np.maximum(SKETCHED_FALL * before, newton.test.find_target(newton, which))
            if not self.precise and (settled & slow).any():
                self._take_all()
                self.known[:] = False
        # Rows added and removed many times may have cost the matrix its digits.
        if self.poor[which].any():
            if not self.thin:
                self._take_all()
            self.known[which[self.poor[which]]] = False
            self.poor[which] = False
        self.begin(newton, which)

    def _thicken(self, active: float) -> None:
        """Refine a thin sketch when few rows have curvature; drop it once every row is used."""
        sketch = min(self.sketch, power_of_two(max(1, int(active) // (THIN_ROWS * len(self.hessians[0])))))
        if sketch < self.sketch:
            self.sketch, self.thin = sketch, sketch > 1
            self.known[:] = False
            self.source.use_hessians(sketch, self.precise)

    def _take_all(self) -> None:
        """Use full precision and, unless the sketch is thin, all rows."""
        self.precise = True
        self.sketch = 1 if not self.thin else self.sketch
        self.source.use_hessians(self.sketch, True)

    def _factor_of(self, machine: int, penalty: float) -> Any:
        factor, extra = find_factor(self.hessians[machine], penalty)
        self.poor[machine] = extra > POOR_FACTOR
        return factor

    def list_hessians(self, which: np.ndarray) -> list[Any]:
        """The Hessians, unless they are thin."""
        return [None if self.thin else self.hessians[machine] for machine in which]

    def directions(self, which: np.ndarray, lam: np.ndarray, gradient: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Newton directions; with a thin sketch by preconditioned conjugate gradients, to a residual of `goal`."""
        if not self.thin:
            return np.array([solve_factored(self._factor_of(m, lam[i]), -gradient[i]) for i, m in enumerate(which)])
        for machine, penalty in zip(which.tolist(), lam.tolist(), strict=True):
            if self.factors.get(machine, (None, None))[0] != penalty:
                self.factors[machine] = penalty, self._factor_of(machine, penalty)

        def smooth(lines: np.ndarray, of: np.ndarray) -> np.ndarray:
            factors = [self.factors[machine][1] for machine in which[of].tolist()]
            return np.array([solve_factored(factor, line) for factor, line in zip(factors, lines, strict=True)])

        goal = np.maximum(goal, FORCING * np.sqrt(inner(gradient, gradient)))
        return conjugate_gradients(self.source, which, lam, gradient, goal, smooth, MOST_STEPS)[0]


class LongRows:
    """Preconditioner: a diagonal and the share of the longest rows in a Hessian, inverted by Woodbury's formula.

    Few long rows make a system ill-conditioned, such as long documents among counts of words. As without long rows, the
    share of the others in the diagonal counts by its root.

    Parameters
    ----------
    Z : {ndarray, sparse matrix} of shape (n_chosen, length)
        Rows, with the feature of the threshold and times the roots of their weights.
    active : ndarray
        Rows with curvature, of which `Z` are some.
    lam : float
        Penalty.
    diagonal : ndarray of shape (length,)
        Diagonal of the Hessian.
    entries : float
        Entries of a row on average.
    """

    def __init__(self, Z: Any, active: np.ndarray, lam: float, diagonal: np.ndarray, entries: float) -> None:
        self.active, self.lam = active, lam
        self.fresh = True  # no system was solved with it
        own_entries = Z.nnz if sp.issparse(Z) else Z.size
        #: Time of an application, in products of the Hessian and a vector.
        self.cost = (own_entries + 0.5 * DENSE_ENTRY * Z.shape[0] ** 2) / max(entries * len(active), 1.0)
        own = np.asarray((Z.multiply(Z) if sp.issparse(Z) else Z * Z).sum(axis=0)).ravel()
        self.root = (lam * (lam + np.maximum(diagonal - own, 0.0))) ** -0.25
        self.Z = Z @ sp.diags(self.root)
        products = safe_sparse_dot(self.Z, self.Z.T, dense_output=True).astype(np.float64)
        self.factor, _ = find_factor(products, 1.0)

    def is_stale(self, active: np.ndarray) -> bool:
        """Whether many of the rows with curvature have lost it, or others have got it."""
        return len(np.setxor1d(active, self.active, assume_unique=True)) > (1 - STALE) * len(self.active)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Apply the inverse."""
        right = self.root * right
        return self.root * (right - self.Z.T @ solve_factored(self.factor, self.Z @ right))


class Conjugate(Solver):
    """Newton's systems by conjugate gradients on the rows with curvature.

    The preconditioner is the square root of the Hessian's diagonal at the first point, half way between none and the
    diagonal itself. Of the three it is the fastest or nearly so, for text and for other rows. Machines for which a
    system took `MANY_STEPS` get another preconditioner, :class:`LongRows`, and lose it again if the
    first system with it takes longer than that one, for the same fall of the residual.

    Parameters
    ----------
    source : Source
        The rows.
    smaller : int
        Number of rows or of weights, whichever is smaller.
    cap : int or None
        Steps of the first system at most.
    choose_rows : callable, default=None
        Rows with curvature of a machine, a function that returns the longest of them, and the entries of a row on
        average; None: rows are not in memory.
    """

    def __init__(
        self,
        source: Source,
        smaller: int,
        *,
        cap: int | None,
        choose_rows: Callable[[int], tuple[np.ndarray, Callable[[], Any], float]] | None = None,
    ) -> None:
        self.source = source
        self.choose_rows = choose_rows
        #: Of machines for which a system took many steps without long rows: steps for a fall of its residual by e.
        self.slow: dict[int, float] = {}
        self.long_rows: dict[int, LongRows] = {}
        self.most = min(MOST_STEPS, 100 + STEPS_PER_ROW * smaller)
        self.cap = cap
        self.forcing = FORCING
        self.diagonal: dict[int, np.ndarray] = {}

    def begin(self, newton: Newton, which: np.ndarray) -> None:
        """Compute the diagonals, once."""
        for machine in which.tolist():
            if machine not in self.diagonal:
                self.diagonal[machine] = self.source.diagonal(machine)

    def learn(self, newton: Newton, which: np.ndarray, before: np.ndarray) -> None:
        """Solve systems more accurately if the last solutions have not reduced the gap enough."""
        if (newton.gap[which] > POOR_FALL * before).any():
            self.forcing *= POOR_FORCING

    def directions(self, which: np.ndarray, lam: np.ndarray, gradient: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Newton directions, to a residual of `goal` or `forcing` times the gradient, if that is larger."""
        goal = np.maximum(goal, self.forcing * np.sqrt(inner(gradient, gradient)))
        cap = self.most if self.cap is None else self.cap
        self.cap = None
        scale = 1.0 / np.sqrt(np.array([self.diagonal[m] + lam[i] for i, m in enumerate(which.tolist())]))
        long_rows = [self._long_rows_of(m, lam[i]) for i, m in enumerate(which.tolist())]

        def smooth(lines: np.ndarray, of: np.ndarray) -> np.ndarray:
            out = scale[of] * lines
            for line, right, i in zip(out, lines, of.tolist(), strict=True):
                if (own := long_rows[i]) is not None:
                    line[:] = own.solve(right)
            return out

        steps, counts = conjugate_gradients(self.source, which, lam, gradient, goal, smooth, cap)
        folds = np.log(np.maximum(np.sqrt(inner(gradient, gradient)) / goal, np.e))
        for i, (machine, count, own) in enumerate(zip(which.tolist(), counts.tolist(), long_rows, strict=True)):
            if own is None and count >= MANY_STEPS:
                self.slow.setdefault(machine, count / folds[i])
            elif own is not None and own.fresh and count * (1 + own.cost) > self.slow[machine] * folds[i]:
                self.slow[machine] = NEVER
                self.long_rows.pop(machine)
            elif own is not None:
                own.fresh = False
        return steps

    def _long_rows_of(self, machine: int, lam: float) -> LongRows | None:
        """The preconditioner of a machine whose systems take many steps."""
        if self.slow.get(machine, NEVER) == NEVER or self.choose_rows is None:
            return None
        known = self.long_rows.get(machine)
        active, choose, entries = self.choose_rows(machine)
        if known is None or known.lam != lam or known.is_stale(active):
            known = LongRows(choose(), active, lam, self.source.diagonal(machine), entries)
            self.long_rows[machine] = known
        return known


def conjugate_gradients(
    source: Source,
    which: np.ndarray,
    lam: np.ndarray,
    gradient: np.ndarray,
    goal: np.ndarray,
    smooth: Callable[[np.ndarray, np.ndarray], np.ndarray],
    cap: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve (H + lam) step = -gradient for several machines side by side; solutions and numbers of steps.

    Parameters
    ----------
    source : Source
        Multiplies by H.
    which : ndarray
        Machines.
    lam, gradient, goal : ndarray
        Penalties, gradients, norms of the residuals to reach.
    smooth : callable
        Preconditioner; called with lines and their places in `which`.
    cap : int
        Steps at most.
    """
    steps, counts = np.zeros_like(gradient), np.full(len(which), cap)
    left = np.arange(len(which))
    step, residual = steps, -gradient
    z = smooth(residual, left)
    p = z.copy()
    rho = inner(residual, z)
    for count in range(1, cap + 1):
        product = source.curvature(which[left], p)
        _add(lam, p, product)
        length = rho / inner(p, product)
        _add(length, p, step)
        _add(-length, product, residual)
        on = np.sqrt(inner(residual, residual)) > goal
        if not on.all():
            steps[left[~on]], counts[left[~on]] = step[~on], count
            left, lam, goal, rho = left[on], lam[on], goal[on], rho[on]
            step, residual, p = step[on], residual[on], p[on]
            if len(left) == 0:
                return steps, counts
        z = smooth(residual, left)
        fresh = inner(residual, z)
        p *= (fresh / rho)[:, None]
        p += z
        rho = fresh
    steps[left] = step
    return steps, counts
