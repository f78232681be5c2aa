"""Streams, models and kernels for the tests of LASVC and KernelSGDClassifier."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hingeline import LASVC

#: Options that bring out every branch of LASVC: few support vectors before the ramp counts, cleaning soon and hard.
SOON = {"clean_period": 16, "max_non_sv": 3, "warm_sv": 5}
LIVELY = {"C": 5.0, "s": -0.5, "solver_options": SOON, "gamma": 1.0}
ON_THE_EXPANSION = {"solver_options": {"finish": "expansion"}}
VARIANTS = ["nc", "g", "i", "full", "lasvm"]
WITHOUT_BIAS = ["nc", "g", "i", "full"]
SGD_VARIANTS = ["olsvm", "olsvm_reg", "olsvm_reg_literal", "norma", "norma_literal", "pegaz"]
#: Variants of KernelSGDClassifier for which a margin of exactly 1 is no violation.
STRICT = ["olsvm", "olsvm_reg", "olsvm_reg_literal"]

#: What makes a model of either kind, and columns of its history.
COMMON = ("support_", "dual_coef_", "intercept_", "n_support_", "n_iter_", "classes_")
COUNTS = ("decision_scale_", "n_samples_seen_", "stop_reason_")
OF_LASVC = (
    "duality_gap_",
    "duality_gap_target_",
    "dual_objective_",
    "effective_C_",
    "n_expansion_",
    "n_kernel_evals_",
    "n_kernel_needed_",
)
OF_SGD = ("n_violations_", "truncated_")
HISTORY_OF_LASVC = (
    "machine",
    "step",
    "n_support",
    "n_expansion",
    "dual_objective",
    "duality_gap",
    "kernel_evals",
    "kernel_needed",
)
HISTORY_OF_SGD = ("machine", "step", "n_support", "n_violations")


def stream(model, X, y, cuts=(), weights=None, classes=None):
    """Feed chunks between `cuts` to partial_fit; `margins` gets those of all chunks."""
    margins, begin = [], 0
    for end in [*sorted(cuts), X.shape[0]]:
        if end == begin:
            continue
        weight = None if weights is None else weights[begin:end]
        names = np.unique(y) if classes is None else classes
        model.partial_fit(X[begin:end], y[begin:end], names if begin == 0 else None, sample_weight=weight)
        margins.append(model.admission_margin_)
        begin = end
    if len({m.shape[1:] for m in margins}) == 1:
        model.margins = np.concatenate(margins)
    return model


def after_passes(model, X, y, **weights):
    """A copy of an LASVC after the passes of a fit, before any step that follows them."""
    with pytest.warns(ConvergenceWarning, match="duality gap wanted"):
        return clone(model).set_params(tol=0.0, max_iter=0).fit(X, y, **weights)


def same(a, b, but=()):
    """Two models are the same to the bit, except for some attributes."""
    lasvc = isinstance(a, LASVC)
    for name in COMMON + COUNTS + (OF_LASVC if lasvc else OF_SGD):
        if name not in but:
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for key, counts in a.ramp_counts_.items() if lasvc else ():
        np.testing.assert_array_equal(counts, b.ramp_counts_[key], err_msg=key)
    for key in HISTORY_OF_LASVC if lasvc else HISTORY_OF_SGD:
        np.testing.assert_array_equal(a.history_[key], b.history_[key], err_msg=key)


def coefficients(model, n):
    """Signed coefficients of a two-class model by the numbers of the samples."""
    alpha = np.zeros(n)
    alpha[model.support_] = model.dual_coef_[0]
    return alpha


class Lookup:
    """Kernel values out of a matrix, for rows that are their own numbers."""

    def __init__(self, K):
        self.K = K

    def __call__(self, A, B):
        return self.K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]


class FailingKernel:
    """A linear kernel whose bits do not depend on the shape of a block; after some calls it raises an error."""

    def __init__(self):
        self.error, self.left = None, 0

    def __call__(self, A, B):
        self.left -= 1
        if self.error is not None and self.left < 0:
            raise self.error("raised by the kernel")
        return sum(A[:, [k]] * B[:, k] for k in range(A.shape[1]))

    def fail(self, error, after):
        self.error, self.left = error, after
