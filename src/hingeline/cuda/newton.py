"""Newton steps on the free points of a working set, in double precision.

With F the free points, s their slopes and E the indicators of the groups, the step d maximises

    s'd - 1/2 d'(K_FF + ridge) d,   G'd = h

where the conditions G'd = h are first E'd = 0. With A = K_FF + ridge: d = A^-1 (s - G m), (G'A^-1 G) m = G'A^-1 s - h.
Points that would leave their box are held at their bounds by further conditions, with the same factor of A, until none
leaves; many of them are taken out of F, and A is factorised again. The way to this point is as long as the objective
rises, at most 1: sums and box hold. This is the step of the solver on the processor (docs/math/engine.md, "Newton
steps with clipping") with a ridge that adapts: where most points would leave the box, K_FF is so ill-conditioned that
the step says little, and with a larger ridge it goes in the directions of the large eigenvalues only. If that does not
help either (kernels of low rank, whose directions without curvature end at bounds), the step ends at the first bound
that it meets, that point is held there, and the next step follows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .values import DOUBLE

#: Added to the diagonal of K_FF, relative to it: the least, which exceeds the rounding errors of a factorisation of
#: tens of thousands of points in double, and the largest; a step with more is no better than steps of pairs.
RIDGE, LARGEST_RIDGE = 1e-9, 1e-2
#: Factor of the ridge after a step that failed, and ridges that one try goes through.
STEEPER, TRIES = 100.0, 3
#: Factorisations and rounds of one ridge: steps that have not settled then have a wrong set of free points.
MOST_FACTORS, MOST_ROUNDS = 4, 12
#: A step of which a larger part would leave the box in one round says little about the optimum.
LARGEST_PART = 0.5
#: Part of the points that are held by conditions; solving for more costs as much as a factorisation.
HELD_PART = 0.1
#: Free points and bounds of a walk: each bound costs a few products with a matrix of these points.
MOST_WALKING, MOST_BOUNDS = 2048, 256


class Part(NamedTuple):
    """A working set on the device, in double: positions of the second group begin at `split`."""

    rows: Any
    beta: Any
    v: Any
    lower: Any
    upper: Any
    e: float
    split: int


class Found(NamedTuple):
    """A step: coefficients and slopes after it, its length, the ridge and the number of factorisations."""

    beta: Any
    v: Any
    length: float
    ridge: float
    factors: int


def find_free(xp: Any, part: Part) -> Any:
    """Places of the points whose coefficient may rise and fall at one slope."""
    free = (part.beta < part.upper) & (part.beta > part.lower)
    if part.e > 0:
        free &= part.beta != 0
    return xp.nonzero(free)[0]


def try_step(device: Any, values: Any, part: Part, free: Any, ridge: float = RIDGE) -> Found | None:
    """Newton step on the free points; None if there is none that raises the objective.

    Parameters
    ----------
    device : Device
        Where the arrays are.
    values : Values
        Kernel values.
    part : Part
        Working set.
    free : ndarray of the device
        Places of the free points.
    ridge : float
        The ridge that is tried first, relative to the diagonal.
    """
    if len(free) < 2:
        return None
    system = _System(device, values.matrix(part.rows[free]), part, free)
    for _ in range(TRIES):
        move = system.solve(ridge)
        if move is not None:
            return _go(device, values, system, part, move, ridge)
        ridge *= STEEPER
        if ridge > LARGEST_RIDGE:
            break
    low_rank = not values.unit_diagonal
    move = system.walk() if low_rank and len(free) <= MOST_WALKING else None
    return None if move is None else _go(device, values, system, part, move, RIDGE)


def _go(device: Any, values: Any, system: _System, part: Part, move: Any, ridge: float) -> Found | None:
    """The way along a move, as long as the objective rises."""
    xp, free = device.xp, system.free
    ascent, curve = device.read(move @ system.slope, move @ (system.K @ move))
    if not ascent > 0:
        return None
    length = 1.0 if curve <= ascent else ascent / curve
    beta = part.beta.copy()
    moved = part.beta[free] + length * move
    beta[free] = xp.minimum(xp.maximum(moved, system.low), system.high)
    change = values.sums(part.rows, part.rows[free], length * move, DOUBLE)
    return Found(beta, part.v - change, length, ridge, system.factors)


def _box(xp: Any, part: Part, free: Any) -> tuple[Any, Any]:
    """Ends of the stretch on which the objective is smooth, for each free point."""
    low, high, beta = part.lower[free], part.upper[free], part.beta[free]
    if part.e > 0:
        low, high = xp.where(beta > 0, xp.maximum(low, 0.0), low), xp.where(beta < 0, xp.minimum(high, 0.0), high)
    return low, high


class _System:
    """The problem of the free points."""

    def __init__(self, device: Any, K: Any, part: Part, free: Any) -> None:
        xp = device.xp
        self.device, self.K, self.free = device, K, free
        beta = part.beta[free]
        self.slope = part.v[free] - part.e * xp.sign(beta)
        self.low, self.high = _box(xp, part, free)
        self.below, self.above = self.low - beta, self.high - beta
        second = free >= part.split
        groups = [~second, second] if _both(device, second) else [xp.ones(len(free), dtype=bool)]
        self.groups = xp.stack(groups, axis=1).astype(self.slope.dtype)
        self.factors = 0

    def solve(self, ridge: float) -> Any:
        """The move of all points; None if the set of free points is wrong for this ridge."""
        xp = self.device.xp
        move, inside = xp.zeros_like(self.slope), xp.arange(len(self.free))
        for _ in range(MOST_FACTORS):
            whole = len(inside) == len(self.free)
            A = self.K.copy() if whole else self.K[inside[:, None], inside[None, :]]
            places = xp.arange(len(inside))
            A[places, places] *= 1 + ridge
            self.factors += 1
            factor = self.device.factor(A)
            if factor is None:
                return None
            step, leaves = self._hold(factor, inside, move)
            if step is None:
                return None
            if leaves is None:
                move[inside] = step
                return move
            gone = inside[leaves]
            move[gone] = xp.where(step[leaves] < self.below[gone], self.below[gone], self.above[gone])
            inside = inside[~leaves]
            if len(inside) < 2:
                return None
        return None

    def walk(self) -> Any:
        """A move from bound to bound; None if there is none."""
        xp, device, n = self.device.xp, self.device, len(self.free)
        A = self.K.copy()
        A[xp.arange(n), xp.arange(n)] *= 1 + RIDGE
        self.factors += 1
        factor = device.factor(A)
        if factor is None:
            return None
        columns, held = device.solve_factored(factor, self.groups), xp.arange(0)
        move, is_held = xp.zeros_like(self.slope), xp.zeros(n, dtype=bool)
        for _ in range(min(MOST_BOUNDS, n - 2)):
            base = device.solve_factored(factor, (self.slope - self.K @ move)[:, None])[:, 0]
            M = xp.concatenate([self.groups.T @ columns, columns[held]])
            lack = xp.concatenate([self.groups.T @ base, base[held]])
            step = xp.where(is_held, 0.0, base - columns @ xp.linalg.solve(M, lack))
            far = xp.where(step > 0, self.above, self.below) - move
            reach = xp.where(step != 0, far / xp.where(step != 0, step, 1.0), xp.inf)
            first = xp.argmin(reach)
            length, finite = device.read(reach[first], xp.isfinite(step).all())
            if not finite:
                return None
            move = move + min(length, 1.0) * step
            if length >= 1:
                break
            new = first.reshape(1)
            move[new] = xp.where(step[new] > 0, self.above[new], self.below[new])
            unit = xp.zeros((n, 1))
            unit[new, 0] = 1.0
            held, is_held[new] = xp.concatenate([held, new]), True
            columns = xp.concatenate([columns, device.solve_factored(factor, unit)], axis=1)
        return move

    def _hold(self, factor: Any, inside: Any, move: Any) -> tuple[Any, Any]:
        """Step of the points inside, with as many held at their bounds as conditions allow.

        Returns the step and None, or the step and which points are to be taken out; None: too many would leave.
        """
        xp, device = self.device.xp, self.device
        n, E = len(inside), self.groups[inside]
        left = self.slope[inside]
        if n < len(self.free):
            left = left - (self.K @ move)[inside]
        found = device.solve_factored(factor, xp.concatenate([left[:, None], E], axis=1))
        base, columns = found[:, 0], found[:, 1:]
        absent = (E.sum(axis=0) == 0).astype(E.dtype)  # a group without unknowns has no multiplier
        held, bounds = xp.arange(0), -(self.groups.T @ move)
        below, above = self.below[inside], self.above[inside]
        is_held = xp.zeros(n, dtype=bool)
        for _ in range(MOST_ROUNDS):
            M = xp.concatenate([E.T @ columns, columns[held]])
            M[xp.arange(E.shape[1]), xp.arange(E.shape[1])] += absent
            lack = xp.concatenate([E.T @ base, base[held]]) - bounds
            step = base - columns @ xp.linalg.solve(M, lack)
            step[held] = bounds[E.shape[1] :]
            out = ((step < below) | (step > above)) & ~is_held
            leaving, finite = device.read(out.sum(), xp.isfinite(step).all())
            if not finite or leaving > LARGEST_PART * n:
                return None, None
            if leaving == 0:
                return step, None
            if len(held) + leaving > HELD_PART * n:
                return step, out | is_held
            new = xp.nonzero(out)[0]
            units = xp.zeros((n, len(new)))
            units[new, xp.arange(len(new))] = 1.0
            held, is_held[new] = xp.concatenate([held, new]), True
            bounds = xp.concatenate([bounds, xp.where(step[new] < below[new], below[new], above[new])])
            columns = xp.concatenate([columns, device.solve_factored(factor, units)], axis=1)
        return None, None


def _both(device: Any, second: Any) -> bool:
    """Whether there are free points of both groups."""
    count = device.read(second.sum())[0]
    return 0 < count < len(second)
