"""The block solver on a device: the loop of `cpp/include/hingeline/algo/engine/solve.hpp` over arrays of the device.

Problem, symbols, stopping rule, active set and working sets are those of docs/math/engine.md. What differs, and why:

- Steps on a working set take most of the time and kernel values cost next to nothing. So working sets are large, and
  Newton steps on their free points come early: steps of pairs only have to find which points are free.
- Newton steps have their own kernel values in double. The working matrix is in 16 bits nearly always.
- v of points near the margin is always computed in double before the solver stops.

The loop is written against an array module: NumPy with the kernels compiled as C++ is the twin that the tests run.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from .newton import RIDGE, STEEPER, Part, find_free, try_step
from .source import TASK, Form
from .values import DOUBLE, FEWEST, SINGLE, Values

INFINITY = float("inf")
UINT16 = np.dtype(np.uint16)
COARSE, FINE = Form(UINT16, SINGLE, 3), Form(SINGLE, SINGLE, 2)
#: Matrices in single and in double precision of kernels without a unit diagonal.
SIGNED = {SINGLE: Form(SINGLE, SINGLE, 1), DOUBLE: Form(DOUBLE, DOUBLE, 1)}
SHIFTED = {SINGLE: FINE, DOUBLE: Form(DOUBLE, DOUBLE, 2)}
#: Sizes of working sets: those of the shapes of a launch (card.py).
SIZES = (4096, 8192, 16384, 32768, 40960, 49152, 65536)
#: Working sets are as large as this at first: a step on 4,096 points hardly takes less time.
USUAL = 8192
#: Share of the memory that the matrix of a working set may take, and that a Newton step may take.
MATRIX_SHARE, NEWTON_SHARE = 0.6, 0.3
#: Matrices of the size of that of the free points that a Newton step needs at once.
NEWTON_COPIES = 4
#: Changes of v in one launch, steps times points: less than a tenth of a second, within which Ctrl-C is answered.
CHANGES_AT_ONCE = 1 << 28
#: Random violators: fewer steps a point than the first number make the next working set larger, up to `WIDEST`, because
#: the rest of an outer step is then most of the time. More than the second make it smaller again.
LITTLE, MUCH, WIDEST = 0.5, 1.0, 32768
#: Outer steps without progress after which the precision is raised, then training ends.
PATIENCE = 20
#: Steps before the first Newton step at least, and the longest pause between two tries, in units of the shortest one.
FEWEST_STEPS, LONGEST_PAUSE = 1024, 64.0
#: Steps after which v is computed from beta again at the latest, or twenty for each point.
FEWEST_BETWEEN = 1 << 18
#: Part of the points up to which an active set pays.
LARGEST_ACTIVE = 0.6
#: Rounding errors of v in single precision, in units of v; larger ones are found by verification.
ROUNDING = 0.05


class Limits(NamedTuple):
    """Parameters of the solver: tolerance, limit of steps, whether to shrink."""

    tol: float
    most_steps: int
    shrinking: bool = True


class Look(NamedTuple):
    """Of each group: largest rise, smallest fall, number of free points and the mean of their slopes."""

    top: tuple[float, ...]
    bottom: tuple[float, ...]
    free: tuple[int, ...]
    mean: tuple[float, ...]

    @property
    def gap(self) -> float:
        return max(top - bottom for top, bottom in zip(self.top, self.bottom, strict=True))

    def middle(self, group: int) -> float:
        finite = [x for x in (self.top[group], self.bottom[group]) if np.isfinite(x)]
        return sum(finite) / len(finite) if finite else 0.0

    def level(self, group: int) -> float:
        return self.mean[group] if self.free[group] else self.middle(group)


class Machine:
    """One machine while it is trained on a device.

    Parameters
    ----------
    device : Device
        `Card`, or its twin.
    values : Values
        Kernel values of all rows.
    problem : dict
        Problem and starting point, from the core.
    limits : Limits
        Parameters.
    single : bool
        Whether to begin with kernel values in single precision.
    """

    def __init__(self, device: Any, values: Values, problem: dict[str, Any], limits: Limits, *, single: bool) -> None:
        xp = device.xp
        self.device, self.values, self.limits = device, values, limits
        self.row, self.p, self.lower, self.upper = (
            xp.asarray(problem[name]) for name in ("row", "p", "lower", "upper")
        )
        #: Coefficients and slopes are replaced, never changed in place: Ctrl-C finds those of the last outer step.
        self.beta, self.v = xp.asarray(problem["beta"]), xp.asarray(problem["v"])
        self.e, self.split, self.stale = float(problem["e"]), int(problem["split"]), bool(problem["stale"])
        self.n = len(problem["row"])
        self.single = single
        self.unit = 0.0
        self.active: Any = None  # positions whose v is up to date; None: all
        self.synced: Any = None
        self.synced_v: Any = None
        self.synced_dual = 0.0
        self.working = xp.zeros(self.n, dtype=bool)
        self.gap_at_sync = self.violation = self.best = INFINITY
        self.best_dual, self.waiting = -INFINITY, 0
        self.filling, self.length, self.width, self.ridge = True, 0.0, USUAL, RIDGE
        self.seen: tuple[Any, ...] = ()  # beta, v and active set of the last look, and the look
        self.outer = self.steps = self.newtons = self.evals = 0
        self.reason = "running"
        self.records: list[list[float]] = []
        self.seconds = 0.0

    @staticmethod
    def least_bytes(n: int) -> int:
        """Memory beside the rows: the arrays of the points, and the smallest matrix."""
        arrays = 25  # of eight bytes a point, in the largest expressions
        return 8 * arrays * n + SIZES[0] ** 2 * 8 + 8 * FEWEST

    # ---- driving -------------------------------------------------------------------------------------

    def run(self, most: int) -> bool:
        """Make up to `most` outer steps; whether there are steps left."""
        begin, before = time.perf_counter(), self.seconds
        evals_before = self.evals - self.values.evals  # other machines use the same values
        try:
            if self.stale:
                self._refresh()
            if self.unit == 0:
                self._measure()
            for done in range(most + 1):
                look = self._settle()
                if self.reason != "running" or done == most:
                    break
                self._step(look)
                self._note(before + time.perf_counter() - begin, evals_before)
        finally:
            self._note(before + time.perf_counter() - begin, evals_before)
        return self.reason == "running"

    def _note(self, seconds: float, evals_before: int) -> None:
        """Record where the machine stands."""
        self.seconds, self.evals = seconds, self.values.evals + evals_before
        support = self.device.read((self.beta != 0).sum())[0]
        violation = max(self.violation, 0.0) if np.isfinite(self.violation) else 0.0
        self.records.append([float(self.outer), self.seconds, support, violation, float(self.evals)])

    def standing(self) -> dict[str, Any]:
        """Arguments of `adopt` of the core."""
        to_host, nothing = self.device.to_host, np.empty(0)
        part = self.active is not None
        return {
            "beta": to_host(self.beta),
            "v": to_host(self.v),
            "active": to_host(self.active).astype(np.int64) if part else nothing.astype(np.int64),
            "synced": to_host(self.synced) if part else nothing,
            "synced_v": to_host(self.synced_v) if part else nothing,
            "synced_dual": self.synced_dual,
            "counts": (self.outer, self.steps, self.evals),
            "reason": self.reason,
            "records": self.records,
        }

    # ---- quantities ----------------------------------------------------------------------------------

    def _at(self, positions: Any) -> Any:
        return slice(None) if positions is None else positions

    def _slopes(self, positions: Any = None) -> tuple[Any, Any, Any, Any]:
        """Rise and fall of some positions, and whether they are up and low."""
        at, xp = self._at(positions), self.device.xp
        beta, v = self.beta[at], self.v[at]
        up, low = beta < self.upper[at], beta > self.lower[at]
        if self.e == 0:
            return v, v, up, low
        return xp.where(beta < 0, v + self.e, v - self.e), xp.where(beta > 0, v - self.e, v + self.e), up, low

    def _groups(self, positions: Any = None) -> list[slice]:
        """Places of the groups among some ascending positions."""
        if self.split >= self.n:
            return [slice(None)]
        if positions is None:
            return [slice(0, self.split), slice(self.split, None)]
        cut = int(self.device.read((positions < self.split).sum())[0])
        return [slice(0, cut), slice(cut, None)]

    def _free(self, up: Any, low: Any, positions: Any = None) -> Any:
        free = up & low
        return free & (self.beta[self._at(positions)] != 0) if self.e > 0 else free

    def _look(self) -> Look:
        state = self.beta, self.v, self.active
        if not self.seen or any(a is not b for a, b in zip(self.seen, state, strict=False)):
            self.seen = *state, self._find_look()
        return self.seen[3]

    def _find_look(self) -> Look:
        xp = self.device.xp
        rise, fall, up, low = self._slopes(self.active)
        free = self._free(up, low, self.active)
        slope = rise if self.e == 0 else xp.where(rise > fall, rise, xp.minimum(rise, fall))
        found = []
        for g in self._groups(self.active):
            if slice_is_empty(g, len(rise)):
                found += [-INFINITY, INFINITY, 0.0, 0.0]
                continue
            found += [
                xp.where(up[g], rise[g], -INFINITY).max(),
                xp.where(low[g], fall[g], INFINITY).min(),
                free[g].sum(),
                xp.where(free[g], slope[g], 0.0).sum(),
            ]
        numbers = self.device.read(*found)
        if len(numbers) == 4:
            numbers += [-INFINITY, INFINITY, 0.0, 0.0]
        top, bottom, count, total = (tuple(numbers[k::4]) for k in range(4))
        mean = tuple(s / c if c else 0.0 for s, c in zip(total, count, strict=True))
        return Look(top, bottom, tuple(map(int, count)), mean)

    def _by_group(self, first: float, second: float, positions: Any = None) -> Any:
        """One number, or one for each position if there are two groups."""
        if self.split >= self.n:
            return first
        xp = self.device.xp
        at = xp.arange(self.n) if positions is None else positions
        return xp.where(at < self.split, first, second)

    def _dual(self) -> float:
        """Dual objective; v of points that are not active is not up to date (see `dual_objective` in state.hpp)."""
        xp = self.device.xp
        if self.active is None:
            values = 0.5 * (self.beta * (self.p + self.v)).sum() - self.e * xp.abs(self.beta).sum()
            return float(self.device.read(values)[0])
        a = self.active
        moved = 0.5 * ((self.beta[a] - self.synced[a]) * (self.synced_v[a] + self.v[a])).sum()
        sizes = (xp.abs(self.beta[a]) - xp.abs(self.synced[a])).sum()
        return self.synced_dual + float(self.device.read(moved - self.e * sizes)[0])

    def _measure(self) -> None:
        """The unit of v: its standard deviation in the groups."""
        squares = sum(((self.v[g] - self.v[g].mean()) ** 2).sum() for g in self._groups() if len(self.v[g]))
        found = float(np.sqrt(self.device.read(squares)[0] / max(self.n, 1)))
        self.unit = found if found > 0 else 1.0

    # ---- sums ----------------------------------------------------------------------------------------

    @property
    def _dtype(self) -> np.dtype[Any]:
        return SINGLE if self.single else DOUBLE

    def _sums(self, positions: Any, changed: Any, change: Any, dtype: np.dtype[Any]) -> Any:
        rows = self.row if positions is None else self.row[positions]
        return self.values.sums(rows, self.row[changed], change, dtype)

    def _from_beta(self, positions: Any) -> Any:
        """Slopes of some positions from beta, in double."""
        support = self.device.xp.nonzero(self.beta)[0]
        return self.p[self._at(positions)] - self._sums(positions, support, self.beta[support], DOUBLE)

    def _refresh(self) -> None:
        self.v, self.active, self.stale = self._from_beta(None), None, False

    # ---- active set ----------------------------------------------------------------------------------

    def _settle(self) -> Look:
        """Decide whether to stop, synchronise or shrink before the next step."""
        tol, look = self.limits.tol, self._look()
        if self.active is not None:
            fall = 0.003 if 10 * len(self.active) < self.n else 0.03
            if look.gap > max(tol, fall * self.gap_at_sync):
                return look
            self._synchronise(look)
            look = self._look()
        self.gap_at_sync = self.violation = look.gap
        if self.violation <= tol:
            look = self._verify(look)
        if self.steps >= self.limits.most_steps:
            self.reason = "max_iter"
        elif self.violation <= tol:
            self.reason = "tol"
        else:
            self._watch()
            if self.limits.shrinking and self.active is None and self.outer >= 3 and self.n > USUAL:
                self._shrink(look)
        return look

    def _near(self, look: Look, band: float) -> Any:
        """Positions that are free or within a band of violating."""
        level = self._by_group(look.level(0), look.level(1))
        rise, fall, up, low = self._slopes()
        near = self._free(up, low) | (up & (rise > level - band)) | (low & (fall < level + band))
        return self.device.xp.nonzero(near)[0]

    def _shrink(self, look: Look) -> None:
        xp = self.device.xp
        level = self._by_group(look.level(0), look.level(1))
        rise, fall, up, low = self._slopes()
        above, below = rise - level, fall - level
        sizes = xp.where(above > 0, above, -below)[xp.where(above > 0, up, (below <= 0) & low)]
        band = 0.5 * self.unit
        if len(sizes):
            band = max(band, 0.5 * float(self.device.read(xp.sort(sizes)[int(0.9 * (len(sizes) - 1))])[0]))
        active = self._near(look, band)
        if len(active) < LARGEST_ACTIVE * self.n:
            self.synced_dual = self._dual()
            self.synced, self.synced_v, self.active = self.beta, self.v, active

    def _synchronise(self, look: Look) -> None:
        """Bring v outside the active set up to date where it may matter (docs/math/engine.md, "Synchronising less")."""
        xp, a = self.device.xp, self.active
        changed = xp.nonzero(self.beta != self.synced)[0]
        change = self.beta[changed] - self.synced[changed]
        outside = xp.ones(self.n, dtype=bool)
        outside[a] = False
        late = near = outside
        if self.values.unit_diagonal:
            square = ((self.beta[a] - self.synced[a]) * (self.synced_v[a] - self.v[a])).sum()
            reach = float(np.sqrt(max(self.device.read(square)[0], 0.0))) + ROUNDING * self.unit
            rise, fall, up, low = self._slopes()
            top, bottom = self._by_group(*look.top), self._by_group(*look.bottom)
            near = outside & ((up & (rise + reach > top)) | (low & (fall - reach < bottom)))
        n_near = int(self.device.read(near.sum())[0])
        few = 2 * n_near <= self.n - len(a)
        late = xp.nonzero(near if few else outside)[0]
        v = self.v.copy()
        v[late] -= self._sums(late, changed, change, self._dtype)
        if few:
            self.v, self.active = v, xp.sort(xp.concatenate([a, late]))
        else:
            self.v, self.active = v, None

    def _verify(self, look: Look) -> Look:
        """Compute v near the margin in double, and the violation from it."""
        band = ROUNDING * self.unit
        while True:
            near = self._near(look, band)
            v = self.v.copy()
            v[near] = self._from_beta(near)
            error = float(self.device.read(self.device.xp.abs(v - self.v).max())[0])
            self.v = v
            if len(near) == self.n or 8 * error <= band:
                break
            band = 16 * error
        look = self._look()
        self.violation = look.gap
        return look

    def _watch(self) -> None:
        """Note progress, of the violation or of the objective; without any, change to double, then give up."""
        dual = self._dual()
        higher = dual > self.best_dual + (1e-8 if self.single else 1e-13) * abs(self.best_dual)
        progress = self.violation < 0.9 * self.best or not np.isfinite(self.best_dual) or higher
        self.best, self.best_dual = min(self.best, self.violation), max(self.best_dual, dual)
        self.waiting = 0 if progress or self.filling else self.waiting + 1
        if self.waiting >= PATIENCE:
            self._raise_precision()

    def _raise_precision(self) -> None:
        self.waiting = 0
        self._refresh()
        if self.single:
            self.single, self.best, self.best_dual = False, INFINITY, -INFINITY
            return
        self.violation = self._look().gap
        self.reason = "tol" if self.violation <= self.limits.tol else "precision"

    # ---- working set ---------------------------------------------------------------------------------

    def _size(self, n_free: int, element: np.dtype[Any]) -> int:
        """Size of the working set: more than the free points, as far as the memory allows."""
        active = self.n if self.active is None else len(self.active)
        room = MATRIX_SHARE * self.device.free_bytes()
        largest = [q for q in SIZES if q * q * element.itemsize <= room and q <= self.device.most_points()]
        wanted = next((q for q in SIZES if q >= max(self.width, n_free + n_free // 5)), SIZES[-1])
        return min(active, wanted, largest[-1] if largest else SIZES[0])

    def _choose(self, look: Look, q: int) -> tuple[Any, bool]:
        """Working set of q positions, ascending, and whether its violators were drawn at random."""
        xp = self.device.xp
        positions = xp.arange(self.n) if self.active is None else self.active
        if q >= len(positions):
            return positions, False
        rise, fall, up, low = self._slopes(self.active)
        free = self._free(up, low, self.active)
        middle = self._by_group(look.middle(0), look.middle(1), positions)
        rise, fall = rise - middle, fall - middle
        taken = free
        if sum(look.free) > q - q // 10:  # those of the last working set first
            order = self._draw(positions) - self.working[positions]
            taken = xp.zeros(len(positions), dtype=bool)
            taken[self._first(free, order, q - q // 10)] = True
        taken[xp.argmax(xp.where(up, rise, -INFINITY))] = True
        taken[xp.argmin(xp.where(low, fall, INFINITY))] = True
        ups, lows = up & (rise > 0) & ~taken, low & (fall < 0) & ~taken
        n_taken, n_up, n_low = map(int, self.device.read(taken.sum(), ups.sum(), lows.sum()))
        room = q - n_taken
        random = n_up + n_low > 2 * room
        if not random:  # points that do not violate yet are welcome: some will
            first = up & ~((self.beta[positions] == 0) & (rise + fall < 0)) if self.e > 0 else up
            ups, lows = first & ~taken, ~first & low & ~taken
            n_up, n_low = map(int, self.device.read(ups.sum(), lows.sum()))
        order = self._draw(positions) if random else None
        from_low = min(n_low, max(room // 2, room - n_up))
        from_up = min(n_up, room - from_low)
        taken[self._first(ups, order if random else -rise, from_up)] = True
        taken[self._first(lows, order if random else fall, from_low)] = True
        return positions[taken], random

    def _draw(self, positions: Any) -> Any:
        """A random number in [0, 1) for each position: splitmix64 of its number and of the outer step."""
        z = positions.astype(np.uint64) + np.uint64((self.outer + 1) * 0x9E3779B97F4A7C15 % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        z ^= z >> np.uint64(31)
        return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def _first(self, among: Any, keys: Any, count: int) -> Any:
        """Places of the `count` smallest keys among some."""
        places = self.device.xp.nonzero(among)[0]
        if count >= len(places):
            return places
        return places[self.device.xp.argsort(keys[places])[: max(count, 0)]]

    # ---- one outer step ------------------------------------------------------------------------------

    def _step(self, look: Look) -> None:
        xp, n_free = self.device.xp, sum(look.free)
        coarse_error = COARSE.unit * self.length
        q = self._size(n_free, UINT16 if self.values.unit_diagonal else self._dtype)
        chosen, random = self._choose(look, q)
        whole = len(chosen) == self.n
        fraction = 0.0 if whole else 0.1 if random else 0.03
        tol = max(0.5 * self.limits.tol, fraction * look.gap)
        coarse = self.values.unit_diagonal and self.single and coarse_error <= (1.0 if random else 0.25) * tol
        form = COARSE if coarse else (SHIFTED if self.values.unit_diagonal else SIGNED)[self._dtype]
        inner = Inner(self, chosen, form, look)
        interrupt = None
        try:
            inner.solve(tol, self.limits.most_steps - self.steps, q, random=random)
        except KeyboardInterrupt as error:  # what the steps have reached is kept
            interrupt = error
            self.device.wait()
        steps = inner.steps
        beta, before = self.beta.copy(), self.beta[chosen]
        beta[chosen] = inner.beta
        moved = xp.nonzero(inner.beta != before)[0]
        change = inner.beta[moved] - before[moved]
        sums = self._sums(self.active, chosen[moved], change, self._dtype)
        v = self.v.copy()
        v[self._at(self.active)] -= sums
        self.length = float(np.sqrt(self.device.read((change * change).sum())[0]))
        self.working = xp.zeros(self.n, dtype=bool)
        self.working[chosen] = True
        self.beta, self.v = beta, v
        self.steps, self.outer, self.filling = self.steps + steps, self.outer + 1, random
        self.newtons += inner.newtons
        self._adapt_width(steps / len(chosen), random)
        self.violation = self._look().gap
        if interrupt is not None:
            raise interrupt
        if steps == 0 or len(moved) == 0:
            self._raise_precision()

    def _adapt_width(self, effort: float, random: bool) -> None:
        """Least size of the next working set, from the steps per point of the last one."""
        if not random or effort > MUCH:
            self.width = USUAL
        elif effort < LITTLE:
            self.width = min(2 * self.width, max(WIDEST, USUAL))


class Inner:
    """The problem on a working set: steps of pairs on the device, Newton steps between them."""

    def __init__(self, machine: Machine, chosen: Any, form: Form, look: Look) -> None:
        self.machine, self.form = machine, form
        self.device, self.xp = machine.device, machine.device.xp
        self.rows = machine.row[chosen]
        self.size = len(chosen)
        middle = machine._by_group(look.middle(0), look.middle(1), chosen)
        self.beta, self.v = machine.beta[chosen], (machine.v[chosen] - middle).astype(form.real)
        self.lower, self.upper = machine.lower[chosen], machine.upper[chosen]
        groups = machine._groups(chosen)
        self.split = groups[0].stop if len(groups) > 1 else self.size
        self.stride = -(-self.size // 64) * 64
        self.u = self.xp.empty((self.size, self.stride), dtype=form.element)
        machine.values.place(self.rows, form, machine._dtype, self.u, self.stride)
        self.diagonal = machine.values.working_diagonal(self.rows, form).astype(form.real)
        self.result = self.xp.zeros(3)
        self.steps = self.newtons = 0

    def solve(self, tol: float, most: int, q: int, *, random: bool) -> None:
        """Make steps until a tolerance is reached, with Newton steps where pairs of coefficients are slow.

        The steps between two tries cost at least as much as a try, twice as much after each failure.
        """
        limit = min(most, max(20 * q, FEWEST_BETWEEN))
        budget, pause = max(self.size // (1 if random else 4), FEWEST_STEPS), 1.0
        while self.steps < limit:
            made, gap, stuck = self._make_steps(tol, min(budget, limit - self.steps))
            if gap <= tol or stuck:
                break
            if made >= budget:
                success, cost = self._newton()
                self.steps += success
                pause = 1.0 if success else min(2 * pause, LONGEST_PAUSE)
                budget = int(pause * max(self.size // 8, cost))

    def _make_steps(self, tol: float, most: int) -> tuple[int, float, bool]:
        """Up to `most` steps, in launches that are short enough for Ctrl-C."""
        made, gap, stuck = 0, INFINITY, 0.0
        while made < most and gap > tol and not stuck:
            at_once = min(most - made, max(CHANGES_AT_ONCE // max(self.size, USUAL), 1))
            self._launch(tol, at_once)
            count, gap, stuck = self.device.read(self.result[0], self.result[1], self.result[2])
            made += int(count)
            self.steps += int(count)
            if count < at_once:
                break
        return made, gap, bool(stuck)

    def _launch(self, tol: float, most: int) -> None:
        task = np.zeros(1, dtype=TASK)
        for name in ("u", "diagonal", "lower", "upper", "beta", "v", "result"):
            task[name] = self.device.address(getattr(self, name))
        task["size"], task["stride"], task["split"], task["most"] = self.size, self.stride, self.split, most
        task["tol"], task["e"] = tol, self.machine.e
        self.device.solve(self.form, task)

    def _newton(self) -> tuple[bool, int]:
        """Try a Newton step; whether it was made, and its cost in steps of pairs."""
        machine = self.machine
        part = Part(self.rows, self.beta, self.v.astype(np.float64), self.lower, self.upper, machine.e, self.split)
        free = find_free(self.xp, part)
        room = NEWTON_SHARE * self.device.free_bytes()
        cost = newton_cost(len(free))
        if NEWTON_COPIES * 8 * len(free) ** 2 > room:
            return False, cost
        found = try_step(self.device, machine.values, part, free, machine.ridge)
        if found is None:
            machine.ridge = RIDGE
            return False, 2 * cost
        machine.ridge = max(RIDGE, found.ridge / STEEPER) if found.length == 1.0 else found.ridge
        self.beta, self.v = found.beta, found.v.astype(self.form.real)
        self.newtons += 1
        return True, cost * found.factors


def newton_cost(free: int) -> int:
    """Time of a factorisation on `free` points in steps of pairs, as measured on one card (H200)."""
    return int(800 + (free / 530.0) ** 3)


def slice_is_empty(part: slice, length: int) -> bool:
    """Whether a slice of an array of some length has no elements."""
    start, stop, _ = part.indices(length)
    return stop <= start
