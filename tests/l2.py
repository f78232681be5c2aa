"""Estimators and problems of the L2-SVM tests."""

import numpy as np
import pytest

from hingeline import L2SVC

from .oracle.l2_svm import k_hat


def auto(**parameters):
    return L2SVC(**parameters)


def nnisda(**parameters):
    return L2SVC(solver="nnisda", **parameters)


def imdm(**parameters):
    return L2SVC(solver="min_norm", **parameters)


def mdm(**parameters):
    return L2SVC(solver="min_norm_mdm", **parameters)


each_machine = pytest.mark.parametrize("machine", [auto, imdm, mdm, nnisda])


def noisy(n, d, seed, dtype=np.float64, flips=0.1, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    if n_classes > 2:
        y = np.argmax(X @ rng.standard_normal((d, n_classes)) + 0.5 * rng.standard_normal((n, n_classes)), axis=1)
        return X, y
    y = (X[:, 0] * X[:, -1] + 0.3 * X[:, 0] > 0) ^ (rng.random(n) < flips)
    return X, y.astype(int)


def signs(y):
    return np.where(y == 0, -1.0, 1.0)


def coefficients(clf, y):
    """Coefficients v >= 0 of a machine for two classes, by sample."""
    v = np.zeros(len(y))
    v[clf.support_] = clf.dual_coef_[0] * signs(y)[clf.support_]
    return v


def violation(K, y, v, C, bias=True, weight=None):
    """From scratch, in units of the margin."""
    r = 1 - k_hat(K, y, C, bias, weight) @ v
    return max(r.max(), -(r[v > 0].min()))


STATE = (
    "support_",
    "dual_coef_",
    "intercept_",
    "n_support_",
    "n_iter_",
    "dual_objective_",
    "duality_gap_",
    "kkt_violation_",
    "decision_scale_",
    "stop_reason_",
)


def same(a, b):
    """Two fitted models are the same to the bit."""
    for name in STATE:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def easy(n, seed=0):
    """Two clouds that overlap a little: most samples lie well beyond the margin."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.standard_normal((n, 2)) + 1.5 * signs(y)[:, None], y
