"""Kernels given by the user that fail, are indefinite or return odd values; fits that failed."""

import gc
import warnings
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from hingeline import LASVC, KernelSGDClassifier, WorstViolatorSVC

from .citizens import fingerprint
from .data import noise as problem
from .data import read_only, with_entry

REASONS = {"margin", "cap", "exhausted"}


def linear_kernel(A, B):
    return A @ B.T


# ---- kernels that are not positive ---------------------------------------------------------------------


def indefinite(A, B):
    return np.sin(7 * A @ B.T) - 0.3


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "sigmoid", "gamma": 5.0, "coef0": -2.0},
        {"kernel": "poly", "degree": 3, "coef0": -1.0},
        {"kernel": "precomputed"},
        {"kernel": indefinite},
        {"kernel": lambda A, B: -(A @ B.T) - 1},
    ],
    ids=["sigmoid", "poly", "precomputed", "function", "negative definite"],
)
def test_kernels_that_are_not_positive(parameters, n_jobs):
    """Training ends within its budget of steps and the values are finite."""
    X, y = problem(n_classes=3)
    X = indefinite(X, X) if parameters["kernel"] == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = WorstViolatorSVC(**parameters, n_jobs=n_jobs).fit(X, y)
    assert (model.n_iter_ <= len(y)).all()
    assert set(model.stop_reason_) <= REASONS
    assert np.isfinite(model.decision_function(X)).all()


NOT_POSITIVE = {
    "sigmoid": {"kernel": "sigmoid", "gamma": 5.0, "coef0": -2.0},
    "poly": {"kernel": "poly", "degree": 3, "coef0": -1.0},
    "precomputed": {"kernel": "precomputed"},
    "negative definite": {"kernel": lambda A, B: -(A @ B.T) - 1},
}


@pytest.mark.parametrize("variant", ["nc", "g", "i", "full", "lasvm"])
@pytest.mark.parametrize("parameters", NOT_POSITIVE.values(), ids=NOT_POSITIVE)
def test_lasvc_with_kernels_that_are_not_positive(parameters, variant):
    """Training ends, the values are finite, and no machine claims an optimum."""
    X, y = problem(n_classes=3)
    X = indefinite(X, X) if parameters["kernel"] == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LASVC(variant=variant, **parameters, tol=1e-3, max_iter=10_000, random_state=0).fit(X, y)
    assert set(model.stop_reason_) <= {"indefinite", "max_iter", "precision"}
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("variant", ["olsvm", "olsvm_reg", "olsvm_reg_literal", "norma", "norma_literal", "pegaz"])
@pytest.mark.parametrize("parameters", NOT_POSITIVE.values(), ids=NOT_POSITIVE)
def test_kernel_sgd_with_kernels_that_are_not_positive(parameters, variant):
    X, y = problem(n_classes=3)
    X = indefinite(X, X) if parameters["kernel"] == "precomputed" else X
    model = KernelSGDClassifier(variant=variant, **parameters, random_state=0).fit(X, y)
    assert set(model.stop_reason_) == {"pass"}
    assert np.isfinite(model.decision_function(X)).all()


# ---- kernels given by the user -------------------------------------------------------------------------


class MoodyKernel:
    """A linear kernel that raises while `broken`, from its third call on."""

    def __init__(self, error=None):
        self.error = error or ZeroDivisionError("the kernel's own")
        self.broken = False
        self.calls = 0

    def __call__(self, A, B):
        self.calls += 1
        if self.broken and self.calls > 2:
            raise self.error
        return A @ B.T

    def breaks(self):
        self.broken, self.calls = True, 0
        return self


@pytest.mark.parametrize("kind", [ZeroDivisionError, MemoryError, SystemExit])
def test_kernel_that_raises(kind):
    X, y = problem()
    error = kind("mine")
    kernel = MoodyKernel(error).breaks()
    with pytest.raises(kind, match="mine") as caught:
        WorstViolatorSVC(kernel=kernel).fit(X, y)
    assert caught.value is error
    kernel.broken = False
    model = WorstViolatorSVC(kernel=kernel).fit(X, y)
    kernel.breaks().calls = 9
    with pytest.raises(kind, match="mine") as caught:
        model.predict(X)
    assert caught.value is error


SPOILED = {
    "a column less": (lambda K: K[:, :-1], "shape"),
    "flat": (lambda K: K.ravel(), "shape"),
    "transposed": (lambda K: K.T, "shape"),
    "a number": (lambda K: 1.0, "shape"),
    "None": (lambda K: None, "shape"),
    "NaN": (lambda K: K * np.nan, "NaN"),
    "infinity": (lambda K: np.full(K.shape, -np.inf), "infinity"),
    "strings": (lambda K: np.full(K.shape, "x"), "convert string"),
    "complex": (lambda K: K + 1j, "[Cc]omplex|real"),
}


@pytest.mark.parametrize(("spoil", "match"), SPOILED.values(), ids=SPOILED)
def test_kernel_with_a_bad_result(spoil, match):
    X, y = problem()
    with pytest.raises((ValueError, TypeError), match=match):
        WorstViolatorSVC(kernel=lambda A, B: spoil(A @ B.T)).fit(X, y)
    model = WorstViolatorSVC(kernel=linear_kernel).fit(X, y)
    model.set_params(kernel=lambda A, B: spoil(A @ B.T))
    with pytest.raises((ValueError, TypeError), match=match):
        model.predict(X)


@pytest.mark.parametrize(
    "convert",
    [
        lambda K: K.astype(np.int64),
        lambda K: K.astype(np.float32),
        lambda K: K.astype(object),
        lambda K: K.tolist(),
        np.asfortranarray,
        read_only,
    ],
)
def test_kernel_with_an_odd_result(convert):
    """Of integers, so that every type holds the values exactly."""
    X, y = problem()
    X = np.rint(4 * X)
    model = WorstViolatorSVC(kernel=lambda A, B: convert(A @ B.T)).fit(X, y)
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC(kernel=linear_kernel).fit(X, y), X)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda K: K[:, :-1], ValueError, "square"),
        (lambda K: K[:-1], ValueError, "inconsistent|square"),
        (sp.csr_matrix, TypeError, "[Ss]parse"),
        (lambda K: with_entry(K, np.nan), ValueError, "NaN"),
    ],
)
def test_bad_kernel_matrix(change, error, match):
    X, y = problem()
    with pytest.raises(error, match=match):
        WorstViolatorSVC(kernel="precomputed").fit(change(X @ X.T), y)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda K: K[:, :-1], ValueError, "features"),
        (sp.csr_matrix, TypeError, "[Ss]parse"),
        (lambda K: with_entry(K, np.inf), ValueError, "infinity"),
    ],
)
def test_bad_kernel_matrix_at_predict(change, error, match):
    X, y = problem()
    model = WorstViolatorSVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(error, match=match):
        model.predict(change(X @ X.T))


# ---- after a fit that failed ---------------------------------------------------------------------------

FAILURES = {
    "NaN": lambda m, X, y: m.fit(with_entry(X, np.nan), y),
    "one class": lambda m, X, y: m.fit(X, np.zeros_like(y)),
    "continuous labels": lambda m, X, y: m.fit(X, y + 0.5),
    "class_weight": lambda m, X, y: m.set_params(class_weight={0: -1.0}).fit(X, y),
    "kernel raises": lambda m, X, y: (m.kernel.breaks(), m.fit(X, y)),
}


def fails(failure, model, X, y):
    with pytest.raises((ValueError, ZeroDivisionError)):
        FAILURES[failure](model, X, y)
    model.kernel.broken = False


@pytest.mark.parametrize("failure", FAILURES)
def test_failed_fit_is_no_fit(failure):
    X, y = problem()
    model = WorstViolatorSVC(kernel=MoodyKernel())
    fails(failure, model, X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("failure", FAILURES)
def test_failed_fit_mixes_nothing(failure):
    X, y = problem()
    wider, three = problem(d=9, n_classes=3, seed=1)
    model = WorstViolatorSVC(kernel=MoodyKernel()).fit(X, y)
    before = fingerprint(model, X)
    fails(failure, model, wider, three)
    assert fingerprint(model, X) == before
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("failure", FAILURES)
def test_fit_after_a_failed_fit(failure):
    X, y = problem()
    model = WorstViolatorSVC(kernel=MoodyKernel())
    fails(failure, model, *problem(d=9, n_classes=3, seed=1))
    model.set_params(class_weight=None).fit(X, y)
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC(kernel=linear_kernel).fit(X, y), X)


@pytest.mark.parametrize("learner", [WorstViolatorSVC, LASVC, KernelSGDClassifier])
def test_dropped_models_are_freed(learner):
    """The core holds the kernel function and the function its model: dropping both frees both, also after an error."""
    X, y = problem()
    kernel = MoodyKernel(ZeroDivisionError("mine"))
    kernel.model = learner(kernel=kernel).fit(X, y)
    kernel.breaks().calls = 2
    with pytest.raises(ZeroDivisionError):
        kernel.model.fit(X, y)
    dropped = [weakref.ref(kernel), weakref.ref(kernel.model)]
    del kernel
    gc.collect()
    assert [reference() for reference in dropped] == [None, None]
