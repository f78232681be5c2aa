"""Algorithm 1 of Laskov et al. 2006 as it is printed, with the corrections I1 to I5 of docs/math/incremental.md.

Weights are unsigned, H_ij = y_i y_j K_ij, g = H a - 1 + mu y. Examples are in S (margin), E (weight C), O (weight 0).
Nothing is updated recursively: the system (7) is solved and all gradients are computed anew in each step.
"""

import numpy as np

EPSILON = 1e-10
#: Steps that differ by less are equal.
TIE = 1e-12


class AlgorithmOne:
    """`K`: kernel matrix of all examples; `a`, `mu`: the solution; `S`, `E`, `O`: sets;
    `events`: (example, new set).
    """

    def __init__(self, K, y, C):
        self.H, self.y, self.C = np.outer(y, y) * K, np.asarray(y, dtype=float), C
        self.a, self.mu = np.zeros(len(y)), 0.0
        self.S, self.E, self.O = [], [], []
        self.events = []

    def gradients(self):
        return self.H @ self.a - 1 + self.mu * self.y

    def add(self, c):
        """Lines 1 to 18. Returns the events, the last one that of example c itself."""
        self.events = []
        g = self.gradients()
        if g[c] >= -EPSILON:
            self.O.append(c)
            return self.events
        while g[c] < -EPSILON and self.a[c] < self.C:
            if not self.S:
                k = self.shift(c, g)
                g = self.gradients()
                if k == c:
                    break
                self.move(k, self.S)
                continue
            beta, gamma = self.sensitivities(c)
            step, k, target = self.largest_increment(c, g, beta, gamma)
            self.a[c] += step  # line 6
            self.a[self.S] += beta[1:] * step  # line 7, corrected (I3)
            self.mu += beta[0] * step
            g = self.gradients()  # line 8
            if k == c:
                break
            if target is not self.S:
                self.a[k] = self.C if target is self.E else 0.0
            self.move(k, target)
        self.file(c)
        return self.events

    def sensitivities(self, c):
        """Equations 7 and 9."""
        y, S = self.y, self.S
        R = np.block([[np.zeros((1, 1)), y[S][None, :]], [y[S][:, None], self.H[np.ix_(S, S)]]])
        beta = -np.linalg.solve(R, np.concatenate([[y[c]], self.H[S, c]]))  # corrected (I2)
        gamma = np.column_stack([y, self.H[:, S]]) @ beta + self.H[:, c]
        return beta, gamma

    def largest_increment(self, c, g, beta, gamma):
        """Equations 10 to 14: step, example and the set it joins. Ties are left open: c, then the first."""
        own = [self.C - self.a[c]]  # (13)
        if gamma[c] > EPSILON:
            own.append(-g[c] / gamma[c])  # (12)
        steps = []
        for i, b in zip(self.S, beta[1:], strict=True):  # (10)
            if b > EPSILON:
                steps.append(((self.C - self.a[i]) / b, i, self.E))
            if b < -EPSILON:
                steps.append((-self.a[i] / b, i, self.O))
        steps += [(max(-g[i] / gamma[i], 0.0), i, self.S) for i in self.E if gamma[i] > EPSILON]  # (11)
        steps += [(max(-g[i] / gamma[i], 0.0), i, self.S) for i in self.O if gamma[i] < -EPSILON]
        step, k, target = min(steps, key=lambda found: found[:2], default=(np.inf, -1, None))
        return (min(own), c, None) if min(own) <= step * (1 + TIE) else (step, k, target)

    def shift(self, c, g):
        """4.1, corrected (I5): S is empty, so mu moves until a gradient is zero. Returns its example."""
        y = self.y
        candidates = [(-g[c], -1, c)]
        candidates += [(max(-g[i], 0.0), i, i) for i in self.E if y[i] * y[c] > 0]
        candidates += [(max(g[i], 0.0), i, i) for i in self.O if y[i] * y[c] < 0]
        step, _, k = min(candidates)
        self.mu += y[c] * step
        return k

    def move(self, k, target):
        """Lines 10 to 12."""
        for some in (self.S, self.E, self.O):
            if k in some:
                some.remove(k)
        target.append(k)
        self.events.append((k, self.name(target)))

    def file(self, c):
        """Line 15, corrected (I4)."""
        if abs(self.a[c] - self.C) <= 1e-12 * self.C:
            self.a[c] = self.C
        self.move(c, self.E if self.a[c] == self.C else self.S if self.a[c] > 0 else self.O)

    def name(self, some):
        return "O" if some is self.O else "S" if some is self.S else "E"
