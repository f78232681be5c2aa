"""Problems, kernels and conditions for an optimum, for the tests of IncrementalOneClassSVM."""

import numpy as np

from .exact import kernels
from .oracle.equality_qp import kkt_violation

KERNELS, COMPUTED = kernels(gamma=0.4)

SHAPES = ["plane", "sphere"]

MODEL = ("support_", "dual_coef_", "intercept_", "offset_", "n_support_", "n_margin_", "n_samples_", "n_samples_seen_")


def cloud(n, d=2, seed=0):
    """Two clusters off the origin, and strays."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + np.where(rng.random((n, 1)) < 0.6, 2.0, 4.0)
    return np.where(rng.random((n, 1)) < 0.1, 8.0 * rng.random((n, d)), X)


def fingerprint(model, X=None):
    """Everything that a model shows, to the bit."""
    parts = [np.ascontiguousarray(getattr(model, name)).tobytes() for name in MODEL]
    if X is not None:
        parts.append(model.decision_function(X).tobytes())
    return [*parts, repr(model.ids_.tolist()), repr(model.C), repr(model.nu)]


def bound(model):
    """C of the weights that sum to one."""
    return 1 / (model.nu * model.n_samples_) if model.C is None else model.C


def weights_of(model, numbers):
    """Weights that sum to one, of the samples with these arrival numbers."""
    place = {number: k for k, number in enumerate(numbers)}
    a = np.zeros(len(numbers))
    a[[place[number] for number in model.support_.tolist()]] = model.dual_coef_[0]
    return a * bound(model) if model.shape == "plane" else a


def parts(model, X, kernel):
    """K, a, mu, p, C: the problem and the solution as the model shows it; X: the rows held, numbered by `ids_`."""
    K = COMPUTED[kernel](X, X)
    a, C = weights_of(model, model.ids_), bound(model)
    if model.shape == "plane":
        return K, a, -model.offset_ * C, np.zeros(len(K)), C
    return K, a, (-model.offset_ - a @ K @ a) / 2, K.diagonal() / 2, C


def optimal(model, X, kernel, atol=1e-9):
    """The conditions for an optimum, and that decision values are what they are said to be."""
    K, a, mu, p, C = parts(model, X, kernel)
    n = len(K)
    largest = np.abs(K).max()
    violation = kkt_violation(K, a, mu, np.zeros(n), np.full(n, C), p, 1.0, slack=1e-12)
    assert violation <= atol * max(1.0, C * largest)
    assert model.kkt_violation_ <= atol * max(1.0, C * largest)
    distance = K.diagonal() - 2 * K @ a + a @ K @ a
    values = (K @ a + mu) / C if model.shape == "plane" else -model.offset_ - distance
    np.testing.assert_allclose(model.decision_function(X), values, rtol=0, atol=1e-11 * (1 + largest) / min(C, 1.0))


def determined(model):
    """Whether some weight is between its bounds, so that there is only one offset."""
    share = model.dual_coef_[0] if model.shape == "plane" else model.dual_coef_[0] / bound(model)
    return bool(np.any((share > 1e-9) & (share < 1 - 1e-9)))
