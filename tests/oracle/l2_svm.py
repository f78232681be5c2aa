"""The L2-SVM with penalised fit_intercept that NNISDA and the minimal-norm machine solve, exactly.

maximise 1'v - 1/2 v'Qv, v >= 0, by an active-set method: it takes no coordinate steps, solves for all free
coefficients at once, and the duality gap of what it returns is computed from scratch.  v is not signed: the function is
f(x) = sum v_i y_i (k(x_i, x) + 1), its fit_intercept b = sum v_i y_i.

weight: factors of C, above 0; leave examples without weight out.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Result:
    v: np.ndarray
    b: float
    primal: float
    dual: float


def k_hat(K, y, C, fit_intercept=True, weight=None, codes=None):
    """Kernel matrix of the problem without constraints but v >= 0.

    codes: classes 0..c-1 instead of y, all of them in one problem.
    """
    sign = np.outer(y, y) if codes is None else np.where(np.equal.outer(codes, codes), 1.0, -1 / np.max(codes))
    c = C * (np.ones(len(K)) if weight is None else weight)
    return sign * (K + fit_intercept) + np.diag(1 / c)


def nonnegative(Q, max_iter=10_000):
    """The v of the problem with matrix Q.

    All examples on the wrong side are exchanged at once, but one of them, the last, where that has not helped: this
    cannot cycle.
    """
    free = np.ones(len(Q), dtype=bool)
    fewest, patience = len(Q) + 1, 3
    for _ in range(max_iter):
        v = np.zeros(len(Q))
        v[free] = np.linalg.solve(Q[np.ix_(free, free)], np.ones(free.sum()))
        slack = 1e-14 * (1 + np.abs(Q) @ np.abs(v))
        wrong = np.flatnonzero(np.where(free, v < 0, 1 - Q @ v > slack))
        if len(wrong) == 0:
            return v
        if len(wrong) < fewest:
            fewest, patience = len(wrong), 3
        elif patience > 0:
            patience -= 1
        else:
            wrong = wrong[-1:]
        free[wrong] = ~free[wrong]
    raise ArithmeticError(f"no solution after {max_iter} exchanges")


def primal(K, y, v, C, fit_intercept=True, weight=None):
    """1/2 (|w|^2 + b^2) + 1/2 sum c_i xi_i^2 at the function of v."""
    c = C * (np.ones(len(y)) if weight is None else weight)
    f = (K + fit_intercept) @ (v * y)
    return float((v * y) @ f / 2 + c @ np.maximum(0, 1 - y * f) ** 2 / 2)


def dual(K, y, v, C, fit_intercept=True, weight=None):
    return float(v.sum() - v @ k_hat(K, y, C, fit_intercept, weight) @ v / 2)


def l2_svm(K, y, C, fit_intercept=True, weight=None, tol=1e-9):
    v = nonnegative(k_hat(K, y, C, fit_intercept, weight))
    top, bottom = primal(K, y, v, C, fit_intercept, weight), dual(K, y, v, C, fit_intercept, weight)
    if abs(top - bottom) > tol * top:
        raise ArithmeticError(f"a gap of {(top - bottom) / top:.1e} is left")
    return Result(v, float(v @ y) if fit_intercept else 0.0, top, bottom)
