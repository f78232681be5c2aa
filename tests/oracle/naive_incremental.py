"""Exact incremental and decremental machines on a whole kernel matrix, in NumPy, one obvious line after the other.

All machines are the QP of `equality_qp`: minimise 1/2 a'Ka - p'a, sum(a) = total, in the box C [lower, upper].  A point
that is held is in one zone: MARGIN (between the bounds, gradient zero), LOW or HIGH (at a bound), or it is the DRIVER,
whose coefficient is being moved while those of the margin points keep all conditions of the others satisfied.

Nothing is updated: the margin system is solved and the gradient recomputed in each step.
"""

import numpy as np

LOW, HIGH, MARGIN, DRIVER, AWAY = "low", "high", "margin", "driver", "away"
EPS = 1e-10  # slopes below are none; gradients below are zero
DEPENDENT = 1e-11  # a margin point must stand out from the others by this much of the largest diagonal entry,
ROUNDING = 1e-14  # and by this much of what the terms of its distance from the others add up to


class Stuck(ArithmeticError):
    """More steps than any sequence without cycles needs."""


class NaiveIncremental:
    """K: kernel matrix of all points that may come, known by their numbers.

    `held`: numbers in order of arrival; `a`: coefficients; `mu`: multiplier of the equation, NaN while the machine is
    not `defined` (weights that cannot sum to one yet; all are at the upper bound then).
    """

    def __init__(self, K, p, lower, upper, total, C):
        self.K = np.asarray(K, dtype=np.float64)
        n = len(self.K)
        self.p = np.broadcast_to(np.asarray(p, dtype=np.float64), n)
        self.lower, self.upper = (np.broadcast_to(np.asarray(b, dtype=np.float64), n) for b in (lower, upper))
        self.total, self.C = float(total), float(C)
        self.held = []
        self.reset()

    @classmethod
    def classifier(cls, K, y, C=1.0, weights=1.0):
        """f(x) = sum a_i K(x_i, x) + mu, with the bounds C times the weights."""
        y = np.asarray(y, dtype=np.float64)
        return cls(K, y, np.minimum(0.0, weights * y), np.maximum(0.0, weights * y), 0.0, C)

    @classmethod
    def plane(cls, K, C):
        """rho = -mu; f(x) = sum a_i K(x_i, x) - rho."""
        return cls(K, 0.0, 0.0, 1.0, 1.0, C)

    @classmethod
    def sphere(cls, K, C):
        """R^2 = 2 mu + a'Ka; d^2(x) = K(x, x) - 2 sum a_i K(x_i, x) + a'Ka."""
        return cls(K, np.diag(K) / 2, 0.0, 1.0, 1.0, C)

    def reset(self):
        n = len(self.K)
        self.a, self.mu = np.zeros(n), 0.0 if self.total == 0 else np.nan
        self.zone = np.full(n, AWAY, dtype=object)
        self.margin, self.blocked, self.steps = [], set(), 0

    # ---- what the state amounts to ---------------------------------------------------------------------------

    @property
    def lo(self):
        return self.C * self.lower

    @property
    def hi(self):
        return self.C * self.upper

    @property
    def defined(self):
        return not np.isnan(self.mu)

    @property
    def G(self):
        return self.K @ self.a + self.mu - self.p

    @property
    def largest(self):
        """Largest diagonal entry: what is small is small beside it."""
        return max((self.K[k, k] for k in self.held), default=0.0)

    def room(self, points):
        """Most that the coefficients of these points can sum to."""
        return float(np.sum(self.hi[points]))

    @property
    def radius2(self):
        return 2 * self.mu + self.a @ self.K @ self.a

    # ---- the margin set --------------------------------------------------------------------------------------

    def solve(self, first, rest):
        """Answer of the margin system [[0, 1], [1, K_MM]] to a right-hand side."""
        m = len(self.margin)
        R = np.ones((m + 1, m + 1))
        R[0, 0] = 0.0
        R[1:, 1:] = self.K[np.ix_(self.margin, self.margin)]
        return np.linalg.solve(R, np.concatenate([[first], rest]))

    def enter(self, k):
        """Point k joins the margin, unless it depends on those that are there."""
        if self.margin:
            column = self.K[self.margin, k]
            answer = self.solve(1.0, column)
            distance2 = self.K[k, k] - answer[0] - column @ answer[1:]
            terms = (1 + np.abs(answer[1:]).sum()) ** 2
            if distance2 <= max(DEPENDENT, ROUNDING * terms) * self.largest:
                return False
        self.margin.append(k)
        self.zone[k] = MARGIN
        self.blocked.clear()
        return True

    def leave(self, k, zone):
        """Margin point k goes to the bound that it has hit."""
        self.margin.remove(k)
        self.zone[k] = zone
        self.a[k] = self.lo[k] if zone == LOW else self.hi[k]
        self.blocked.clear()

    # ---- moving ----------------------------------------------------------------------------------------------

    def slopes(self, pushed):
        """Slopes (of a, mu, G) when the coefficients move at the rates `pushed` and the margin gives way."""
        da = pushed.copy()
        dmu = 0.0
        if self.margin:
            dmu, *rest = -self.solve(pushed.sum(), self.K[self.margin] @ pushed)
            da[self.margin] = rest
        return da, dmu, self.K @ da + dmu

    def first_event(self, da, dG, dlo, dhi):
        """(length, point, what) of the first condition that would break; the bounds move at the rates dlo, dhi."""
        events = []
        for i in self.margin:
            if da[i] - dhi[i] > EPS:
                events.append(((self.hi[i] - self.a[i]) / (da[i] - dhi[i]), i, HIGH))
            if da[i] - dlo[i] < -EPS:
                events.append(((self.lo[i] - self.a[i]) / (da[i] - dlo[i]), i, LOW))
        if dG is not None:
            G, flat = self.G, EPS * self.largest
            for i in self.held:
                if i in self.blocked or self.lower[i] == self.upper[i]:
                    continue
                if (self.zone[i] == HIGH and dG[i] > flat) or (self.zone[i] == LOW and dG[i] < -flat):
                    events.append((-G[i] / dG[i], i, MARGIN))
        if not events:
            return np.inf, None, None
        length, i, what = min(events, key=lambda event: event[0])
        return max(0.0, length), i, what

    def migrate(self, i, what):
        if what != MARGIN:
            self.leave(i, what)
        elif not self.enter(i):
            self.blocked.add(i)

    def shift(self, sign, also=None):
        """No margin points: move mu until a point that can move against `sign` has gradient zero, or `also` has.

        Such a point joins the margin.  False if it was `also`.
        """
        G = self.G
        zone = HIGH if sign > 0 else LOW
        events = [
            (max(0.0, -sign * G[i]), i) for i in self.held if self.zone[i] == zone and self.lower[i] < self.upper[i]
        ]
        if also is not None:
            events.insert(0, (-sign * G[also], also))
        length, i = min(events, key=lambda event: event[0])
        self.mu += sign * length
        return i != also and self.enter(i)

    def count(self):
        self.steps += 1
        if self.steps > 50 * len(self.held) + 1000:
            raise Stuck

    # ---- the operations --------------------------------------------------------------------------------------

    def learn(self, *points):
        for k in points:
            self.safely(lambda k=k: self.take_in(k), [*self.held, k], self.C)
        return self

    def unlearn(self, *points):
        for k in points:
            self.safely(lambda k=k: self.let_go(k), [i for i in self.held if i != k], self.C)
        return self

    def set_C(self, C):
        self.safely(lambda: self.follow(float(C)), list(self.held), float(C))
        return self

    def safely(self, operation, held, C):
        """An operation, the corrections after it and, if it does not end, everything from the beginning."""
        self.steps = 0
        self.blocked.clear()
        try:
            operation()
        except (Stuck, np.linalg.LinAlgError):
            self.reset()
            self.held, self.C = [], C
            for k in held:
                self.steps = 0
                self.take_in(k)
        for _ in range(2):
            self.correct()

    def residual(self):
        """What the equations of the margin and of the sum leave."""
        return max(abs(self.a.sum() - self.total), np.max(np.abs(self.G[self.margin]), initial=0.0))

    def correct(self):
        """A Newton step on the margin, if it brings the equations nearer: away with what rounding has left."""
        if not self.margin:
            return
        before = self.residual(), self.a.copy(), self.mu
        answer = self.solve(self.a.sum() - self.total, self.G[self.margin])
        self.mu -= answer[0]
        self.a[self.margin] = np.clip(self.a[self.margin] - answer[1:], self.lo[self.margin], self.hi[self.margin])
        if not self.residual() < before[0]:
            _, self.a, self.mu = before

    def take_in(self, k):
        self.held.append(k)
        self.zone[k] = DRIVER
        if not self.defined:
            others = self.room(self.held[:-1])
            self.a[k] = self.hi[k]
            if others + self.hi[k] < self.total * (1 - 1e-12):
                self.zone[k] = HIGH
                return
            # Just enough: the newest has what is left, and mu makes every gradient nonpositive.
            if others + self.hi[k] > self.total * (1 + 1e-12):
                self.a[k] = self.total - others
            self.mu = np.min((self.p - self.K @ self.a)[self.held])
        self.drive_in(k)

    def drive_in(self, k):
        """Move a[k] until its own conditions hold, then file it."""
        sign = 1.0 if self.upper[k] > 0 else -1.0
        end = self.hi[k] if sign > 0 else self.lo[k]
        pushed = np.zeros(len(self.K))
        pushed[k] = sign
        still = np.zeros(len(self.K))
        while sign * self.G[k] < -EPS and self.a[k] != end:
            self.count()
            if not self.margin:
                if not self.shift(sign, also=k):
                    break
                continue
            da, dmu, dG = self.slopes(pushed)
            length, i, what = self.first_event(da, dG, still, still)
            if dG[k] * sign > EPS * self.largest and -self.G[k] / dG[k] <= length * (1 + 1e-12):
                length, what = -self.G[k] / dG[k], DRIVER
            what = self.travel(k, end, da, dmu, length, what)
            if what in (AWAY, DRIVER):
                break
            self.migrate(i, what)
        while True:
            if self.a[k] in (self.lo[k], self.hi[k]):
                self.zone[k] = LOW if self.a[k] == self.lo[k] else HIGH
                return
            if self.enter(k):
                return
            # It depends on the margin: the function stays the same until one of them is at a bound.
            self.count()
            da, dmu, _ = self.slopes(pushed)
            length, i, what = self.first_event(da, None, still, still)
            what = self.travel(k, end, da, dmu, length, what)
            if what != AWAY:
                self.leave(i, what)

    def travel(self, k, end, da, dmu, length, what):
        """Move by the length of an event, or until a[k] is at its end; returns what came first."""
        if abs(end - self.a[k]) <= length * (1 + 1e-12):
            length, what = abs(end - self.a[k]), AWAY
        self.a += length * da
        self.mu += length * dmu
        if what == AWAY:
            self.a[k] = end
        return what

    def let_go(self, k):
        others = [i for i in self.held if i != k]
        if self.defined and self.room(others) < self.total * (1 - 1e-12):
            self.forget_solution(others)
        elif not self.defined or self.a[k] == 0:
            if self.zone[k] == MARGIN:
                self.margin.remove(k)
        else:
            self.drive_out(k)
        self.held, self.a[k], self.zone[k] = others, 0.0, AWAY

    def forget_solution(self, held):
        """Too few points for weights that sum to one."""
        self.reset()
        self.a[held], self.zone[held] = self.hi[held], HIGH

    def drive_out(self, k):
        if self.zone[k] == MARGIN:
            self.margin.remove(k)
        self.zone[k] = DRIVER
        sign = -1.0 if self.a[k] > 0 else 1.0
        pushed = np.zeros(len(self.K))
        pushed[k] = sign
        still = np.zeros(len(self.K))
        while self.a[k] != 0:
            self.count()
            if not self.margin:
                if abs(self.a[k]) <= 1e-9 * (self.hi[k] - self.lo[k]):
                    break
                self.shift(sign)
                continue
            da, dmu, dG = self.slopes(pushed)
            length, i, what = self.first_event(da, dG, still, still)
            if abs(self.a[k]) <= length * (1 + 1e-12) + 1e-14 * self.C:
                length, what = abs(self.a[k]), AWAY
            self.a += length * da
            self.mu += length * dmu
            if what == AWAY:
                break
            self.migrate(i, what)
        self.a[k] = 0.0

    def follow(self, C):
        """All bounds move, and with them what is at a bound."""
        if self.total and C * np.sum(self.upper[self.held]) < self.total * (1 - 1e-12):
            self.C = C
            self.forget_solution(self.held)
            return
        if not self.defined:
            held, self.held, self.C = self.held, [], C
            self.reset()
            for k in held:
                self.take_in(k)
            return
        while self.C != C:
            self.count()
            sign = np.sign(C - self.C)
            dlo, dhi = sign * self.lower, sign * self.upper
            pushed = np.where(self.zone == HIGH, dhi, np.where(self.zone == LOW, dlo, 0.0))
            if not self.margin and abs(pushed.sum()) > 1e-9 * np.max(np.abs(pushed), initial=0.0):
                if sign < 0 and not np.any(self.zone == LOW):  # all weights are at C, 1 / n up to rounding
                    self.C = C
                    self.a = np.where(self.zone == HIGH, self.hi, 0.0)
                    return
                self.shift(np.sign(pushed.sum()))
                continue
            da, dmu, dG = self.slopes(pushed)
            length, i, what = self.first_event(da, dG, dlo, dhi)
            self.a += min(length, abs(C - self.C)) * da
            self.mu += min(length, abs(C - self.C)) * dmu
            done = abs(C - self.C) <= length
            self.C = C if done else self.C + sign * length
            self.a = np.where(self.zone == HIGH, self.hi, np.where(self.zone == LOW, self.lo, self.a))
            if not done:
                self.migrate(i, what)
