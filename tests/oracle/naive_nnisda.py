"""NNISDA as the specification says it, on a whole kernel matrix, in NumPy: the worst violator, one after the other."""

from dataclasses import dataclass

import numpy as np

from .l2_svm import k_hat


@dataclass
class Result:
    v: np.ndarray
    r: np.ndarray
    steps: int


def naive_nnisda(K, y, *, C, epsilon=1e-3, fit_intercept=True, weight=None, max_iter=None):
    """The problem is that of `l2_svm`, r = 1 - Qv."""
    Q = k_hat(K, y, C, fit_intercept, weight)
    v, r, steps = np.zeros(len(y)), np.ones(len(y)), 0
    while max_iter is None or steps < max_iter:
        violation = np.where(v > 0, np.abs(r), np.maximum(0, r))
        i = np.argmax(violation)
        if violation[i] <= epsilon:
            break
        d = max(-v[i], r[i] / Q[i, i])
        v[i] = 0.0 if d == -v[i] else v[i] + d
        r -= d * Q[:, i]
        steps += 1
    return Result(v, r, steps)
