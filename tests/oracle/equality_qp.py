"""Batch reference for machines with a bias or with weights that sum to one: a QP in a box with one equation.

minimise 1/2 a'Ka - p'a  subject to  sum(a) = total,  lo <= a <= hi.  With the multiplier mu of the equation the
gradient is G = Ka - p + mu; at the optimum G >= 0 where a = lo, G = 0 between the bounds, G <= 0 where a = hi.

=============================  ==================================  =============  =====
machine                        box                                 p              total
=============================  ==================================  =============  =====
classifier (a has y's sign)    [0, C] for y = 1, [-C, 0] for -1    y              0
plane that leaves few outside  [0, C]                              0              1
ball that leaves few outside   [0, C]                              diag(K) / 2    1
=============================  ==================================  =============  =====
"""

import numpy as np


def classifier_box(y, c):
    """Bounds of the signed coefficients; c: one number or one for each example."""
    return np.minimum(0.0, c * y), np.maximum(0.0, c * y)


def objective(K, p, a):
    return float(a @ K @ a / 2 - p @ a)


def duality_gap(K, p, lo, hi, a, mu):
    """How far `objective` is above its minimum at most, if a satisfies the equation."""
    G = K @ a - p + mu
    return float(np.sum(a * G - np.minimum(lo * G, hi * G)))


def kkt_violation(K, a, mu, lo, hi, p, total, slack=1e-13):
    """Largest violation of the optimality conditions, in units of decision values; everything is computed here.

    A coefficient within `slack` times the width of its box counts as being at the bound.
    """
    a, lo, hi = np.asarray(a, dtype=np.float64), *np.broadcast_arrays(lo, hi)
    G = K @ a - p + mu
    near = slack * (hi - lo)
    at_lo, at_hi = a <= lo + near, a >= hi - near
    wrong = np.where(at_lo & at_hi, 0.0, np.where(at_lo, -G, np.where(at_hi, G, np.abs(G))))
    outside = np.maximum(lo - a, a - hi)
    return float(max(np.max(wrong, initial=0.0), np.max(outside, initial=0.0), abs(a.sum() - total)))


def best_mu(K, p, lo, hi, a):
    """The multipliers that fit a best, as an interval: (lowest, highest)."""
    r = p - K @ a
    near = 1e-7 * (hi - lo)
    can_fall, can_rise = a > lo + near, a < hi - near
    return float(np.max(r[can_rise], initial=-np.inf)), float(np.min(r[can_fall], initial=np.inf))


def equality_qp(K, p, lo, hi, total, tol=1e-12, max_iter=200):
    """(a, mu) to a relative duality gap of `tol`, by an interior-point method.

    mu is one of several possible numbers where no coefficient is between its bounds.
    """
    n = len(p)
    lo, hi = (np.broadcast_to(np.asarray(b, dtype=np.float64), n) for b in (lo, hi))
    for bound in (lo, hi):  # nothing to choose
        if abs(bound.sum() - total) <= 1e-14 * max(1.0, np.abs(bound).sum()):
            low, high = best_mu(K, p, lo, hi, bound)
            return bound.copy(), low if np.isfinite(low) else high
    if not lo.sum() < total < hi.sum():
        raise ValueError("no coefficients satisfy the equation within their bounds")
    alpha = lo.copy()
    free = np.flatnonzero(hi > lo)
    Q, low, high = K[np.ix_(free, free)], lo[free], hi[free]
    alpha[free] = 0.0
    r = p[free] - K[free] @ alpha
    rest = total - alpha.sum()
    a = low + (high - low) * (rest - low.sum()) / (high - low).sum()
    mu = 0.0
    u, v = np.ones(len(free)), np.ones(len(free))  # multipliers of the lower and the upper bound

    def newton(M, slope, missing, p, q, pu, qv):
        """Changes of a, mu, u, v that bring p u to pu and q v to qv, to first order; p, q: distances to the bounds."""
        step = np.linalg.solve(M, np.append(slope + pu / p - qv / q, missing))
        da = step[:-1]
        return da, step[-1], (pu - u * da) / p - u, (qv + v * da) / q - v

    def longest(*changes):
        """The share of a full step that keeps all of these positive."""
        return min(1.0, *(0.995 * np.min(-x[dx < 0] / dx[dx < 0], initial=np.inf) for x, dx in changes))

    for _ in range(max_iter):
        slope = r - Q @ a - mu
        missing = rest - a.sum()
        gap = np.sum(np.maximum(low * slope, high * slope) - a * slope)
        if gap <= tol * (1 + abs(objective(Q, r, a))) and abs(missing) <= 1e-13 * (1 + np.abs(a).sum()):
            alpha[free] = a
            return alpha, float(mu)
        p_, q_ = a - low, high - a
        M = np.block([[Q + np.diag(u / p_ + v / q_), np.ones((len(free), 1))], [np.ones(len(free)), np.zeros(1)]])
        da, dmu, du, dv = newton(M, slope, missing, p_, q_, 0.0, 0.0)
        step = longest((p_, da), (q_, -da), (u, du), (v, dv))
        before = p_ @ u + q_ @ v
        after = (p_ + step * da) @ (u + step * du) + (q_ - step * da) @ (v + step * dv)
        centre = (after / before) ** 3 * before / (2 * len(a))
        da, dmu, du, dv = newton(M, slope, missing, p_, q_, centre - da * du, centre + da * dv)
        step = longest((p_, da), (q_, -da), (u, du), (v, dv))
        a, mu, u, v = a + step * da, mu + step * dmu, u + step * du, v + step * dv
    raise ArithmeticError(f"no solution after {max_iter} iterations, gap {gap:.1e}")
