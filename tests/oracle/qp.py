"""Batch references for the LASVM family without bias: a box QP, primal and dual values, the ramp loss, CCCP.

The QP is solved by an interior-point method: it shares nothing with the coordinate steps it is to check, needs no
factor of K (which is often singular to working precision, where least squares on a Cholesky factor loses half the
digits), and its duality gap, computed from scratch, proves what it returns.
"""

import numpy as np


def dual_value(K, y, alpha):
    return float(alpha @ y - alpha @ K @ alpha / 2)


def primal_value(K, y, alpha, c, beta=0.0, b=0.0):
    """Half the squared norm, c times the hinge loss and beta (z - 1), at the function of `alpha` and `b`.

    c, beta: one number or one for each example.  The dual has the box of `shifted_box`.
    """
    f = K @ alpha
    z = y * (f + b)
    return float(alpha @ f / 2 + np.sum(c * np.maximum(0, 1 - z)) + np.sum(beta * (z - 1)))


def shifted_box(y, c, beta=0.0):
    """Bounds (lo, hi) of the signed coefficients."""
    return np.minimum(0, c * y) - beta * y, np.maximum(0, c * y) - beta * y


def box_qp(K, y, lo, hi, tol=1e-12, max_iter=200):
    """The alpha in [lo, hi] that maximises `dual_value`, to a relative duality gap of `tol`."""
    lo, hi = (np.broadcast_to(np.asarray(a, dtype=np.float64), len(y)) for a in (lo, hi))
    alpha = (lo + hi) / 2
    free = np.flatnonzero(hi > lo)
    Q, low, high = K[np.ix_(free, free)], lo[free], hi[free]
    r = y[free] - K[free] @ alpha + Q @ alpha[free]  # alpha is fixed where lo == hi
    a = alpha[free].copy()
    u, v = np.ones(len(free)), np.ones(len(free))  # multipliers of the lower and the upper bound

    def newton(M, slope, p, q, pu, qv):
        """Changes of a, u, v that bring p u to pu and q v to qv, to first order; p, q: distances to the bounds."""
        da = np.linalg.solve(M, slope + pu / p - qv / q)
        return da, (pu - u * da) / p - u, (qv + v * da) / q - v

    def longest(*changes):
        """The share of a full step that keeps all of these positive."""
        return min(1.0, *(0.995 * np.min(-x[dx < 0] / dx[dx < 0], initial=np.inf) for x, dx in changes))

    for _ in range(max_iter):
        slope = r - Q @ a
        gap = np.sum(np.maximum(low * slope, high * slope) - a * slope)
        if gap <= tol * (1 + abs(r @ a - a @ Q @ a / 2)):
            alpha[free] = a
            return alpha
        p, q = a - low, high - a
        M = Q + np.diag(u / p + v / q)
        da, du, dv = newton(M, slope, p, q, 0.0, 0.0)
        step = longest((p, da), (q, -da), (u, du), (v, dv))
        before = p @ u + q @ v
        after = (p + step * da) @ (u + step * du) + (q - step * da) @ (v + step * dv)
        mu = (after / before) ** 3 * before / (2 * len(a))
        da, du, dv = newton(M, slope, p, q, mu - da * du, mu + da * dv)
        step = longest((p, da), (q, -da), (u, du), (v, dv))
        a, u, v = a + step * da, u + step * du, v + step * dv
    raise ArithmeticError(f"no solution after {max_iter} iterations, gap {gap:.1e}")


def ramp_objective(K, y, alpha, C, s):
    """Half the squared norm and C times the ramp loss."""
    f = K @ alpha
    z = y * f
    return float(alpha @ f / 2 + C * np.sum(np.maximum(0, 1 - z) - np.maximum(0, s - z)))


def cccp(K, y, C, s, max_iter=50):
    """Minimise the ramp objective by a chain of box QPs, from the hinge loss on; returns (alpha, flagged, values)."""
    flagged = np.zeros(len(y), dtype=bool)
    values = []
    for _ in range(max_iter):
        alpha = box_qp(K, y, *shifted_box(y, C, C * flagged))
        values.append(ramp_objective(K, y, alpha, C, s))
        before, flagged = flagged, y * (K @ alpha) < s
        if np.array_equal(before, flagged):
            return alpha, flagged, values
    raise ArithmeticError("the flags did not settle")
