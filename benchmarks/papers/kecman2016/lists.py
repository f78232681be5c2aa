"""Lists 1, 2 and 3b of the paper in NumPy, as printed, on a whole kernel matrix; only i starts again at the first row.

Outputs are computed at every step by NORMA and Pegaz, kept by OL SVM.
"""

from __future__ import annotations

import numpy as np


def olsvm(K: np.ndarray, y: np.ndarray, C: float, epochs: int) -> np.ndarray:
    """Coefficients of List 3b."""
    alpha, o = np.zeros(len(y)), np.zeros(len(y))
    for t in range(1, epochs * len(y) + 1):
        i = (t - 1) % len(y)
        if y[i] * o[i] < 1:
            eta = C * (2 / t) ** 0.5
            o += eta * y[i] * K[i]
            alpha[i] += eta * y[i]
    return alpha


def norma(K: np.ndarray, y: np.ndarray, C: float, epochs: int) -> np.ndarray:
    """Coefficients of List 1: the one in turn does not shrink, and is overwritten."""
    alpha = np.zeros(len(y))
    for t in range(1, epochs * len(y) + 1):
        i = (t - 1) % len(y)
        eta = C * (2 / t) ** 0.5
        violated = y[i] * (K[i] @ alpha) <= 1
        own = alpha[i]
        alpha *= 1 - eta / C
        alpha[i] = eta * y[i] if violated else own
    return alpha


def pegaz(K: np.ndarray, y: np.ndarray, C: float, epochs: int) -> np.ndarray:
    """Coefficients of List 2."""
    beta = np.zeros(len(y))
    for t in range(1, epochs * len(y) + 1):
        i = (t - 1) % len(y)
        alpha = C * (2 / t) ** 0.5 * beta
        if y[i] * (K[i] @ alpha) <= 1:
            beta[i] += y[i]
    return C * (2 / t) ** 0.5 * beta


LISTS = {"olsvm": olsvm, "norma-literal": norma, "pegaz": pegaz}
