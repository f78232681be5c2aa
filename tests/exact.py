"""Problems, kernels and conditions for an optimum, for the tests of IncrementalSVC."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC

from . import data
from .data import plus_minus
from .oracle.equality_qp import classifier_box, kkt_violation


def kernels(gamma):
    """By name: parameters of an estimator, and the kernel as a function."""
    parameters = {
        "rbf": {"kernel": "rbf", "gamma": gamma},
        "linear": {"kernel": "linear"},
        "poly": {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
    }
    computed = {
        "rbf": lambda A, B: np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2)),
        "linear": lambda A, B: A @ B.T,
        "poly": lambda A, B: (0.5 * A @ B.T + 1.0) ** 2,
    }
    return parameters, computed


KERNELS, COMPUTED = kernels(gamma=0.7)

MODEL = ("support_", "dual_coef_", "intercept_", "n_support_", "n_margin_", "classes_", "n_samples_", "n_samples_seen_")


def noisy(n, d=3, seed=0, flips=0.1):
    X, y = data.noisy(n, d, seed, flips, slope=0.7)
    y[:2] = 0, 1
    return X, y


def blobs(n, n_classes=3, d=4, seed=0):
    return data.blobs(n, n_classes, d, seed)


def some_weights(n, seed=0):
    return np.random.default_rng(seed).choice([0.5, 1.0, 3.0], n)


def batch(X, y, C=1.0, kernel="rbf", weights=None, **options):
    """LIBSVM to the end of its precision, or of its patience: with few features it takes ever smaller steps."""
    tol = 1e-11 if kernel == "rbf" else 1e-6
    return SVC(C=C, tol=tol, shrinking=False, **KERNELS[kernel], **options).fit(X, y, sample_weight=weights)


#: What to expect of decision values of `batch`.
BATCH_PRECISION = {"rbf": 1e-6, "linear": 2e-3, "poly": 2e-3}


def coefficients(model, numbers):
    """Signed coefficients, one line per machine, of the samples with these arrival numbers."""
    place = {number: k for k, number in enumerate(numbers)}
    alpha = np.zeros((len(model.dual_coef_), len(numbers)))
    alpha[:, [place[number] for number in model.support_.tolist()]] = model.dual_coef_
    return alpha


def fingerprint(model, X=None):
    """Everything that a model shows, to the bit."""
    parts = [np.ascontiguousarray(getattr(model, name)).tobytes() for name in MODEL]
    if X is not None:
        parts.append(model.decision_function(X).tobytes())
    return [*parts, repr(model.ids_.tolist()), repr(model.C)]


def determined(model, weights=(1.0,)):
    """For each machine, whether some coefficient is between its bounds, so that there is only one constant."""
    share = np.abs(model.dual_coef_)[:, :, None] / (model.C * np.array([0.0, *weights]))[None, None].clip(1e-300)
    share[:, :, 0] = np.abs(model.dual_coef_) < 1e-9 * model.C
    return ~(np.abs(share - 1) < 1e-6).any(axis=2).all(axis=1)


def same_function(model, reference, X, atol=1e-6, weights=(1.0,)):
    """The decision values of two models agree, up to a constant where it is not determined.

    weights: those that the samples of the first model may have.
    """
    one, other = (m.decision_function(X).reshape(len(X), -1) for m in (model, reference))
    for column, sure in enumerate(determined(model, weights)):
        difference = one[:, column] - other[:, column]
        if not sure:
            difference = difference - difference.mean()
        np.testing.assert_allclose(difference, 0.0, rtol=0, atol=atol * max(1.0, np.abs(one).max()))


def optimal(model, X, y, weights=1.0, kernel="rbf", atol=1e-9):
    """The conditions for an optimum, from the arrays that the model shows; X, y: what it holds, numbered by `ids_`."""
    K = COMPUTED[kernel](X, X)
    classes = model.classes_.tolist()
    machines = classes[1:] if len(classes) == 2 else classes
    for label, a, mu in zip(machines, coefficients(model, model.ids_), model.intercept_, strict=True):
        sign = plus_minus(y, label)
        box = classifier_box(sign, model.C * weights)
        assert kkt_violation(K, a, mu, *box, sign, 0.0) <= atol * max(1.0, model.C * K.diagonal().max())


def stream(model, X, y, cuts=(), weights=None, classes=None):
    """Feed chunks between `cuts` to partial_fit."""
    ends = sorted({*cuts, X.shape[0]} - {0})
    for begin, end in pairwise([0, *ends]):
        weight = None if weights is None else weights[begin:end]
        names = np.unique(y) if classes is None else classes
        model.partial_fit(X[begin:end], y[begin:end], names if begin == 0 else None, sample_weight=weight)
    return model


def go_on(model, X, y):
    """Some of everything."""
    model.add(X[:10], y[:10])
    model.forget([model.ids_[-7], model.ids_[-3]])
    model.set_C(0.5)
    model.partial_fit(X[10:15], y[10:15])
    return model


class Function:
    """A kernel that is an object and pickles; after some calls it may do something else once."""

    def __init__(self, name="rbf"):
        self.name, self.patience, self.mood = name, None, None

    def fails(self, mood, patience, error, call):
        """Whether call() raises `error` when this has its `mood` after `patience` calls."""
        self.mood, self.patience = mood, patience
        try:
            call()
        except error:
            assert self.patience is None
            return True
        finally:
            self.mood = self.patience = None
        return False

    def __call__(self, A, B):
        values = COMPUTED[self.name](*(M.toarray() if sp.issparse(M) else M for M in (A, B)))
        if self.patience is not None:
            self.patience -= 1
            if self.patience < 0:
                self.patience = None
                return self.mood(values)
        return values
