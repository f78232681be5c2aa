"""The LASVM family on a whole kernel matrix, in NumPy, one obvious line after the other.

Variants: "lasvm" (with bias), "g" (LASVM-G), "nc" (LASVM-NC), "i" (LASVM-I), "full" (never forgets; no bias).
Entry p of `ids`, `alpha`, `g`, `lo`, `hi`, `live`, `flagged` and `zone` belongs to position p of the expansion.  A dead
entry (`live` false) holds a position and nothing else until the next CLEAN; its gradient is NaN so that using it shows.
"""

import math

import numpy as np

LEFT, RAMP, RIGHT = range(3)
VARIANTS = ("lasvm", "g", "nc", "i", "full")
SEEDS = 5  # most examples taken of one class while the other is still missing (variant "lasvm")


def sample_order(k):
    """Order of the examples in a sample: splitmix64."""
    mask = 2**64 - 1
    z = (k + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


class NaiveLasvm:
    """K: kernel matrix of all examples; y: labels +1 and -1; c: upper bound of each |alpha|, by default C.

    `margins` has, for each example, z = y f(x) when it was last inserted or skipped.  `gap` and `target` are those of
    the present state.
    """

    def __init__(
        self,
        K,
        y,
        c=None,
        *,
        variant,
        C=1.0,
        s=-1.0,
        tau=1e-3,
        clean_period=100,
        max_non_sv=100,
        warm_sv=0,
        bounded=False,
    ):
        assert variant in VARIANTS
        self.K = np.asarray(K, dtype=np.float64)
        self.y = np.asarray(y, dtype=np.float64)
        self.c = np.full(len(y), float(C)) if c is None else np.asarray(c, dtype=np.float64)
        self.variant, self.C, self.s, self.tau, self.bounded = variant, C, s, tau, bounded
        self.clean_period, self.max_non_sv, self.warm_sv = clean_period, max_non_sv, warm_sv
        self.ids = np.zeros(0, dtype=int)
        self.alpha, self.g, self.lo, self.hi = (np.zeros(0) for _ in range(4))
        self.live, self.flagged = (np.zeros(0, dtype=bool) for _ in range(2))
        self.zone = np.zeros(0, dtype=int)
        self.b = 0.0
        self.n_steps = self.visited = self.kernel_evals = self.kernel_needed = 0
        self.admitted, self.cleaned, self.skipped = (np.zeros(3, dtype=int) for _ in range(3))
        self.margins = {}
        self.partners = []
        self.share, self.lag = 1.0, 0.0
        self.labels, self.missing_at = [], None  # labels visited; examples visited when a label was last missing
        self.removed = {-1: 0.0, 1: 0.0}
        self.c_now = self.c.copy()  # with the weights of samples

    # ---- what the state amounts to ------------------------------------------------------------------------

    @property
    def n_sv(self):
        return int(np.count_nonzero(self.alpha))

    @property
    def dual(self):
        on = self.live
        return float(self.alpha[on] @ (self.y[self.ids[on]] + self.g[on])) / 2

    @property
    def gap(self):
        on = self.live
        slope = self.g[on] - self.b
        best = np.maximum(self.lo[on] * slope, self.hi[on] * slope)
        return float(np.sum(best - self.alpha[on] * slope))

    @property
    def target(self):
        sv = self.alpha != 0
        if not sv.any():
            return 0.0
        h = self.share * self.c_now[self.ids[sv]] * self.y[self.ids[sv]] * self.g[sv]
        return math.sqrt(max(0.0, np.sum(h**2) - np.sum(h) ** 2 / len(h)))

    @property
    def primal(self):
        return self.dual + self.gap

    @property
    def warm(self):
        """LASVM-I may filter."""
        return self.n_sv > self.warm_sv and len(set(self.y[self.ids[self.alpha != 0]])) == 2

    def position(self, k):
        """Where example k lives in the expansion, or None."""
        found = np.flatnonzero(self.live & (self.ids == k))
        return int(found[0]) if len(found) else None

    def grave(self, k):
        """Where example k lies that was buried since the last CLEAN, or None."""
        found = np.flatnonzero(~self.live & ~np.isnan(self.g) & (self.ids == k))
        return int(found[0]) if len(found) else None

    def output(self, k):
        """f(x_k) without the bias."""
        sv = self.alpha != 0
        return float(self.K[k, self.ids[sv]] @ self.alpha[sv])

    def lowest(self):
        """Position with the smallest g among those that can go down, or None."""
        can = np.flatnonzero(self.live & (self.alpha > self.lo))
        return int(can[np.argmin(self.g[can])]) if len(can) else None

    def highest(self):
        """Position with the largest g among those that can go up, or None."""
        can = np.flatnonzero(self.live & (self.alpha < self.hi))
        return int(can[np.argmax(self.g[can])]) if len(can) else None

    # ---- the expansion ------------------------------------------------------------------------------------

    def zone_of(self, z):
        return LEFT if z < self.s else RAMP if z <= 1 else RIGHT

    def append(self, k, z, *, live=True, flagged=False):
        self.c_now[k] = self.c[k]
        top = self.share * self.c[k] * self.y[k]
        shift = top if flagged else 0.0
        self.g = np.append(self.g, self.y[k] - self.output(k) if live else np.nan)
        self.ids = np.append(self.ids, k)
        self.alpha = np.append(self.alpha, 0.0)
        self.lo = np.append(self.lo, min(0.0, top) - shift if live else 0.0)
        self.hi = np.append(self.hi, max(0.0, top) - shift if live else 0.0)
        self.live = np.append(self.live, live)
        self.flagged = np.append(self.flagged, flagged)
        self.zone = np.append(self.zone, self.zone_of(z))

    def admit(self, k, z, *, flagged=False):
        self.kernel_needed += int(self.live.sum()) + 1
        self.admitted[self.zone_of(z)] += 1
        self.margins[k] = z
        self.append(k, z, flagged=flagged)

    def skip(self, k, z):
        self.skipped[self.zone_of(z)] += 1
        self.margins[k] = z

    def bury(self, p):
        """Position p, of a non-SV, is dead from now on."""
        self.cleaned[self.zone[p]] += 1
        self.live[p] = False

    def clean(self, m, *, last=False):
        """CLEAN: away with the dead and, where the variant forgets, with all but m of the non-SVs."""
        non_sv = np.flatnonzero(self.live & (self.alpha == 0))
        if self.in_run and not last and self.variant != "full":
            for side in (-1, 1):
                of_side = non_sv[self.y[self.ids[non_sv]] == side]
                for p in sorted(of_side, key=lambda p: sample_order(int(self.ids[p])))[10 * m :]:
                    self.removed[side] += self.c_now[self.ids[p]]
                    self.bury(p)
        elif self.variant in ("g", "nc", "i"):
            by_gradient = non_sv[np.argsort(np.abs(self.g[non_sv]), kind="stable")]
            for p in by_gradient[m:]:
                self.bury(p)
        n = int(self.live.sum())
        holes = np.flatnonzero(~self.live[:n])
        movers = n + np.flatnonzero(self.live[n:])
        source = np.arange(n)
        source[holes] = movers
        for name in ("ids", "alpha", "g", "lo", "hi", "live", "flagged", "zone"):
            setattr(self, name, getattr(self, name)[source])

    # ---- moves --------------------------------------------------------------------------------------------

    def step(self, t):
        """STEP: the best alpha at position t within its bounds, the others fixed."""
        bound = self.lo[t] if self.g[t] < 0 else self.hi[t]
        limit = bound - self.alpha[t]
        curvature = self.K[self.ids[t], self.ids[t]]
        if curvature < 1e-12:
            move = limit
        elif self.g[t] < 0:
            move = max(limit, self.g[t] / curvature)
        else:
            move = min(limit, self.g[t] / curvature)
        self.alpha[t] = bound if move == limit else self.alpha[t] + move
        self.g -= move * self.K[self.ids[t], self.ids]
        self.n_steps += move != 0

    def reprocess(self, tau):
        """REPROCESS without bias; False if no violation is above tau."""
        i, j = self.lowest(), self.highest()
        gi = 0.0 if i is None else min(self.g[i], 0.0)
        gj = 0.0 if j is None else max(self.g[j], 0.0)
        if gj - gi <= tau:
            return False
        t = i if gi + gj < 0 else j
        if not self.bounded:
            self.step(t)
            return True
        best, most, moves = None, 1.3 * self.gain(*self.cut([t], [self.g[t] / self.K[self.ids[t], self.ids[t]]])), None
        for p in self.partners:
            if p == t:
                continue
            some = [t, p]
            K = self.K[np.ix_(self.ids[some], self.ids[some])]
            tried = self.cut(some, self.solve(K, self.g[some]))
            if self.gain(*tried) > most:
                best, most, moves = p, self.gain(*tried), tried[1]
        self.partners = [*self.partners[-31:], t]
        if best is None:
            self.step(t)
            return True
        for p, move in zip((t, best), moves, strict=True):
            bound = self.lo[p] if move < 0 else self.hi[p]
            self.alpha[p] = bound if abs(move) >= abs(bound - self.alpha[p]) else self.alpha[p] + move
            self.g -= move * self.K[self.ids[p], self.ids]
        self.n_steps += 1
        return True

    @staticmethod
    def solve(K, g):
        """Moves of two coefficients to their joint maximum; far along their direction if the rows are dependent."""
        det = max(np.linalg.det(K), 1e-12 * K[0, 0] * K[1, 1])
        return np.array([K[1, 1] * g[0] - K[0, 1] * g[1], K[0, 0] * g[1] - K[0, 1] * g[0]]) / det

    def cut(self, positions, moves):
        """The moves, shortened to where the first of them reaches its bound."""
        rooms = np.where(np.asarray(moves) < 0, (self.alpha - self.lo)[positions], (self.hi - self.alpha)[positions])
        shares = [room / abs(move) if move else 1.0 for room, move in zip(rooms, moves, strict=True)]
        first = int(np.argmin(shares))
        if shares[first] >= 1:
            return positions, np.asarray(moves)
        short = shares[first] * np.asarray(moves)
        short[first] = math.copysign(rooms[first], short[first])
        return positions, short

    def gain(self, positions, moves):
        """Increase of the dual by the moves."""
        K = self.K[np.ix_(self.ids[positions], self.ids[positions])]
        return moves @ self.g[positions] - moves @ K @ moves / 2

    def pair(self, i, j, tau):
        """PAIR: position i goes up and j down by the same amount; False if their violation is not above tau."""
        if i is None or j is None or self.g[i] - self.g[j] <= tau:
            return False
        a, b = self.ids[i], self.ids[j]
        curvature = max(self.K[a, a] + self.K[b, b] - 2 * self.K[a, b], 1e-12)
        room_i, room_j = self.hi[i] - self.alpha[i], self.alpha[j] - self.lo[j]
        move = min((self.g[i] - self.g[j]) / curvature, room_i, room_j)
        self.alpha[i] = self.hi[i] if move == room_i else self.alpha[i] + move
        self.alpha[j] = self.lo[j] if move == room_j else self.alpha[j] - move
        self.g -= move * (self.K[a, self.ids] - self.K[b, self.ids])
        self.n_steps += move != 0
        return True

    def place_bias(self):
        """Set b halfway between the extreme gradients and return (gmax, gmin), or None if one is missing."""
        i, j = self.highest(), self.lowest()
        if i is None or j is None:
            return None
        self.b = (self.g[i] + self.g[j]) / 2
        return self.g[i], self.g[j]

    # ---- the drivers --------------------------------------------------------------------------------------

    def learn(self, order):
        """Visit the examples of `order`; examples without weight are passed over."""
        for k in map(int, order):
            if self.c[k] == 0:
                continue
            self.see(int(self.y[k]))
            self.visited += 1
            if self.position(k) is None and self.grave(k) is None:
                self.kernel_evals += len(self.ids) + 1
            if self.variant == "lasvm":
                self.visit_with_bias(k)
            else:
                self.visit_without_bias(k)
            self.note_lag()
            if self.variant != "full" and self.clean_period is not None and self.visited % self.clean_period == 0:
                self.clean(self.max_non_sv)
            if self.bounded and self.visited % self.clean_period == 0:
                self.adapt()
        return self

    # ---- the default rule: runs of one label, and bounds below C ---------------------------------------------

    @property
    def in_run(self):
        """A label has been missing, counting the example at hand as visited."""
        near = self.missing_at is not None and len(self.labels) - self.missing_at <= self.clean_period
        return self.bounded and near

    def see(self, label):
        """Note the label of the next example; the sample of the other label stands for the examples removed."""
        self.labels.append(label)
        seen = np.array(self.labels)
        others = np.flatnonzero(seen == -label)
        last = others[-1] + 1 if len(others) else 0
        if (len(others) / last if last else 1.0) * (len(seen) - last) >= 20:
            self.missing_at = len(seen)
        sample = np.flatnonzero(self.live & (self.alpha == 0))
        sample = sample[self.y[self.ids[sample]] == -label]
        own = self.c_now[self.ids[sample]].sum()
        if self.removed[-label] > 0 and own > 0:
            factor = 1 + self.removed[-label] / own
            self.c_now[self.ids[sample]] *= factor
            self.lo[sample] *= factor
            self.hi[sample] *= factor
            self.removed[-label] = 0.0

    def settle(self, ratio, most):
        """REPROCESS until the gap is at most `ratio` of the dual objective."""
        for count in range(most):
            if count % 16 == 0 and self.place_and_measure() <= ratio * self.dual:
                break
            if not self.next_step():
                break
        return self.place_and_measure() <= ratio * self.dual

    def next_step(self):
        return (
            self.pair(self.highest(), self.lowest(), self.tau) if self.variant == "lasvm" else self.reprocess(self.tau)
        )

    def place_and_measure(self):
        if self.variant == "lasvm":
            self.place_bias()
        return self.gap

    def set_share(self, share):
        """Bounds are `share` times those of C: coefficients are cut, or with a bias all shrink."""
        ratio = share / self.share
        self.lo, self.hi, self.share = self.lo * ratio, self.hi * ratio, share
        cut = np.clip(self.alpha, self.lo, self.hi)
        if self.variant == "lasvm":
            cut = self.alpha * min(ratio, 1.0)
            self.n_steps -= int(np.count_nonzero(cut != self.alpha))
        self.n_steps += int(np.count_nonzero(cut != self.alpha))
        self.g += self.K[np.ix_(self.ids, self.ids)] @ (self.alpha - cut)
        self.alpha = cut

    def note_lag(self):
        """A mean of gap / dual over the examples."""
        if self.bounded and self.visited % 16 == 0 and self.dual > 0:
            self.lag += (self.gap / self.dual - self.lag) / 8

    def lower_share(self, ratio):
        if ratio <= 0.5:
            return False
        self.set_share(self.share * 2.0 ** -min(max(math.ceil(math.log2(ratio / 0.5)), 1), 10))
        self.lag = min(self.lag, 0.5)
        return True

    def adapt(self):
        """The bounds are lowered where the steps do not keep up, and doubled where they do."""
        self.partners = []
        lowered = self.lower_share(self.lag)
        if self.share < 1 and self.lag <= 0.125:
            self.set_share(2 * self.share)
            self.lag *= 2
        self.settle(0.125, max(self.clean_period, int(self.live.sum())) if lowered else self.clean_period)

    def settle_last(self):
        """At the end of a fit."""
        if not self.bounded:
            return
        self.partners = []
        end = self.n_steps + 2 * self.visited
        while self.settle(0.01, end - self.n_steps) and 0 < self.n_lowered <= self.n_sv // 8:
            self.set_share(2 * self.share)
        for _ in range(2):
            if self.dual <= 0 or not self.lower_share(self.gap / self.dual):
                return
            self.settle(0.01, 2 * self.visited)

    @property
    def n_lowered(self):
        """Coefficients at bounds below those of C."""
        at = (self.alpha != 0) & ((self.alpha == self.lo) | (self.alpha == self.hi))
        return int(at.sum()) if self.share < 1 else 0

    def visit_without_bias(self, k):
        p = self.position(k)
        z = self.y[k] * self.output(k) if p is None else 1 - self.y[k] * self.g[p]
        if self.variant == "i" and self.warm and not self.in_run and (z > 1 or z < self.s):
            self.skip(k, z)
            if p is None:
                self.kernel_needed += self.n_sv
                self.append(k, z, live=False)
            return
        threshold = max(self.share * self.C, self.target)
        if p is None:
            p = len(self.ids)
            self.admit(
                k, z, flagged=self.variant == "nc" and z < self.s and self.n_sv > self.warm_sv and not self.in_run
            )
        self.partners = [p]
        self.step(p)
        before = self.dual
        for _ in range(8 if self.bounded else 10**9):
            if not (self.gap > threshold and self.reprocess(self.tau)):
                break
            before, gain = self.dual, self.dual - before
            if self.bounded and gain * self.live.sum() <= 1e-3 * self.dual:
                break

    def visit_with_bias(self, k):
        p = self.grave(k)
        if p is not None:  # back to life, where it lay
            z = 1 - self.y[k] * (self.g[p] - self.b)
            self.live[p], self.zone[p], self.margins[k] = True, self.zone_of(z), z
            self.admitted[self.zone[p]] += 1
            self.pair(*((p, self.lowest()) if self.y[k] > 0 else (self.highest(), p)), self.tau)
        elif self.position(k) is None:
            z = self.y[k] * (self.output(k) + self.b)
            label = self.y[self.ids[self.live]]
            if not self.bounded and np.sum(label == self.y[k]) >= SEEDS and not np.any(label == -self.y[k]):
                self.skip(k, z)
                self.kernel_needed += int(self.live.sum()) + 1
                self.append(k, z, live=False)
            else:
                p = len(self.ids)
                self.admit(k, z)
                if self.y[k] > 0:
                    self.pair(p, self.lowest(), self.tau)
                else:
                    self.pair(self.highest(), p, self.tau)
        self.pair(self.highest(), self.lowest(), self.tau)
        extremes = self.place_bias()
        if extremes is not None and not self.in_run:
            self.evict(extremes)

    def evict(self, extremes):
        """Bury the non-SVs beyond the extreme gradients."""
        gmax, gmin = extremes
        for p in np.flatnonzero(self.live & (self.alpha == 0)):
            if self.g[p] >= gmax if self.y[self.ids[p]] < 0 else self.g[p] <= gmin:
                self.bury(p)

    def finish(self, tol, most=math.inf):
        """Optimise over the expansion until the relative gap is at most tol or `most` steps are made, then `end`."""
        bias = self.variant == "lasvm"
        self.partners = []
        self.set_share(1.0)
        while True:
            if bias:
                self.place_bias()
            if self.n_steps >= most or self.gap <= tol * self.primal:
                break
            largest = self.K[self.ids[self.live], self.ids[self.live]].max()
            noise = 1e-14 * (1 + np.abs(self.alpha).sum() * largest)
            if not (self.pair(self.highest(), self.lowest(), noise) if bias else self.reprocess(noise)):
                break
        return self.end()

    def finish_as_printed(self):
        """FINISHING of LASVM: REPROCESS, which evicts, until no pair violates by more than tau."""
        while self.pair(self.highest(), self.lowest(), self.tau):
            self.evict(self.place_bias())
        return self.end()

    def end(self):
        """The last CLEAN of the variants that forget."""
        if self.variant in ("g", "nc", "i"):
            self.clean(0, last=True)
        return self


def naive_lasvm(K, y, order, c=None, *, finish=False, tol=1e-3, **params):
    """One machine, taught `order`, finished to `tol` or just ended."""
    machine = NaiveLasvm(K, y, c, **params).learn(order)
    return machine.finish(tol) if finish else machine.end()
