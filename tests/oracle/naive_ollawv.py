"""OLLAWV as the pseudo-code says it, on a whole kernel matrix, in NumPy."""

import math
from dataclasses import dataclass, field

import numpy as np

RATES = {"sqrt": lambda t: 2 / math.sqrt(t), "inverse": lambda t: 1 / t}


@dataclass
class Result:
    chosen: list = field(default_factory=list)
    coef: list = field(default_factory=list)
    b: float = 0.0
    reason: str = ""
    violation: float = 0.0


def naive_ollawv(K, y, *, C=1.0, margin=0.1, cap=1.0, fit_intercept=True, first=0, weight=None, learning_rate="sqrt"):
    """K: kernel matrix; y: labels +1 and -1; weight: factor of each sample's step."""
    n = len(y)
    weight = np.ones(n) if weight is None else weight
    out = np.zeros(n)
    free = np.ones(n, dtype=bool)
    wv, v, t = first, 0.0, 0
    r = Result()
    while v < margin * C and t < math.ceil(cap * n):
        t += 1
        step = RATES[learning_rate](t) * C * weight[wv] * y[wv]
        b = step / n if fit_intercept else 0.0
        r.chosen.append(wv)
        r.coef.append(step)
        r.b += b
        free[wv] = False
        if not free.any():
            r.reason = "exhausted"
            return r
        out += step * K[:, wv] + b
        z = np.where(free, y * out, np.inf)
        wv = int(np.argmin(z))
        v = r.violation = z[wv]
    r.reason = "margin" if v >= margin * C else "cap"
    return r
