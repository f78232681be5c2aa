"""FOO as in the pseudo-code of the paper, on a whole kernel matrix, in NumPy."""

import numpy as np


def naive_foo(K, y, *, C=1.0):
    """K: kernel matrix; y: labels +1 and -1. Returns coefficients in the order of the rows."""
    alpha = np.zeros(len(y))
    for i in range(len(y)):
        alpha[i] = C * y[i]  # the step of the paper, equation by equation
    return alpha
