"""MNSVM by MDM or IMDM as the specification says it, on a whole kernel matrix, in NumPy.

minimise u'Qu, u >= 0, sum u = 1, with the Q of `l2_svm`.
"""

from dataclasses import dataclass, field

import numpy as np

from .l2_svm import k_hat


@dataclass
class Result:
    u: np.ndarray
    F: np.ndarray
    w2: float
    steps: int
    values: list = field(default_factory=list)  # w2 at the start and after every step


def naive_min_norm(
    K, y, *, C, epsilon=1e-3, fit_intercept=True, improved=False, weight=None, first=0, max_iter=None, codes=None
):
    """F = Qu, w2 = u'Qu.  improved: IMDM.  codes: classes 0..c-1 instead of y, all of them at once."""
    Q = k_hat(K, y, C, fit_intercept, weight, codes)
    u = np.zeros(len(Q))
    u[first] = 1.0
    F, w2, steps = Q[:, first].copy(), Q[first, first], 0
    values = [w2]
    while max_iter is None or steps < max_iter:
        v = np.argmin(F)
        if F[v] >= w2 * (1 - epsilon):
            break
        others = np.flatnonzero((u > 0) & (np.arange(len(u)) != v))
        fall = F[others] - F[v]
        curvature = Q[others, others] + Q[v, v] - 2 * Q[others, v]
        theta = np.minimum(fall / curvature, u[others])
        k = np.argmax(2 * theta * fall - theta**2 * curvature if improved else fall)
        p = others[k]
        u[v] += theta[k]
        u[p] = 0.0 if theta[k] == u[p] else u[p] - theta[k]
        F += theta[k] * (Q[:, v] - Q[:, p])
        w2 += -2 * theta[k] * fall[k] + theta[k] ** 2 * curvature[k]
        values.append(w2)
        steps += 1
    return Result(u, F, float(w2), steps, values)
