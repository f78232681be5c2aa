"""Scales and offsets: features times a power of two with gamma divided by its square, or plus a constant (RBF kernel).

Or a column of a constant up to 1e35 is added (RBF kernel).

The model of the moved rows gives the labels of the model of the original rows, except near ties, or nearly the same
values if it is a regressor, or it refuses the rows or warns. Rows are rounded first: the original rows are those that
the moved rows stand for exactly. Learners that stop before the optimum may follow another path after one rounding
error, so labels may differ as often as they do after a change of the original rows by rounding errors of the moved
ones.
"""

import warnings

import numpy as np
from sklearn.base import is_regressor

from hingeline.base.kernel import KernelEstimator
from hingeline.linear.nystroem import NystroemSVC

from .faults import require
from .subjects import SUBJECTS

TRIALS, LIMIT = 20_000, 60.0
#: Share of the rows, not near a tie, on which two models may differ.
DIFFERENT = 0.02
#: A decision is near a tie below this share of the largest one; values of regressors may differ by this share of their
#: range.
NEAR = 0.05
#: Models of disturbed rows.
TRIES = 20
KERNELS = ("rbf", "rbf", "poly", "sigmoid")


def cases():
    return [name for name, subject in SUBJECTS.items() if isinstance(subject.estimator, KernelEstimator | NystroemSVC)]


def rows(rng, n, dtype):
    d = int(rng.integers(1, 8))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    y = (np.sin(X[:, 0]) + X[:, -1] * X[:, 0] + 0.3 * rng.standard_normal(n) > 0).astype(int)
    y[:2] = 0, 1
    return X.astype(dtype), y


def as_targets(X, y):
    """Targets of regressors: the labels and a function of the rows."""
    return y + np.sin(X[:, 0].astype(np.float64))


def moved(rng, X, kernel, gamma):
    """Rows that are exact in the new coordinates, these rows moved, and gamma for both."""
    dtype = X.dtype.type
    if kernel == "rbf" and rng.random() < 0.5:
        offset = dtype(10.0 ** rng.uniform(0, 8) * rng.choice([-1, 1]))
        unit = dtype(64 * abs(offset) * np.finfo(dtype).eps)  # the moved rows keep some digits
        Z = X * np.maximum(unit, dtype(1)) + offset
        original = (Z.astype(np.float64) - float(offset)).astype(dtype)
        gamma = gamma / float(np.maximum(unit, dtype(1))) ** 2
        return original, Z, gamma, gamma
    if kernel == "rbf" and rng.random() < 0.3:
        columns = np.zeros((2, len(X), 1), dtype)
        columns[1] = 10.0 ** rng.uniform(0, 35)
        return np.hstack([X, columns[0]]), np.hstack([X, columns[1]]), gamma, gamma
    scale = 2.0 ** int(rng.integers(-100, 101))
    return X, X * dtype(scale), gamma, gamma / scale**2


def trial(case, rng, number):
    subject = SUBJECTS[case]
    dtype = rng.choice([np.float32, np.float64])
    X, y = rows(rng, int(rng.choice([60, 200] if subject.exact else [60, 300, 1200])), dtype)
    if is_regressor(subject.estimator):
        y = as_targets(X, y)
    kernel = str(rng.choice(KERNELS[:3] if subject.exact else KERNELS))
    A, B, gamma, other = moved(rng, X, kernel, 10.0 ** rng.uniform(-3, 0.5) / X.shape[1])
    parameters = {"kernel": kernel, "coef0": 1.0, "degree": int(rng.integers(1, 4))}
    known = subject.estimator.get_params()
    if "C" in known:
        parameters["C"] = 10.0 ** rng.uniform(-2, 2)
    if "random_state" in known:
        parameters["random_state"] = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = subject.new(gamma=gamma, **parameters).fit(A, y)
            twin = subject.new(gamma=other, **parameters).fit(B, y)
            share = count_differing(model, A, twin.predict(B))
        except ValueError as error:
            require(str(error).strip(), "ValueError without a message")
            return "refused"
    if caught:
        return "warned"
    if share > DIFFERENT:
        share -= most_changes(rng, subject.new(gamma=gamma, **parameters), model, A, y, B)
    require(share <= DIFFERENT, f"{share:.3f} of the values differ: {parameters}, {gamma:.3g}, {np.abs(B).max():.3g}")
    return "works"


def count_differing(model, A, found):
    """Share of predictions for A, by another model, that differ from those of a model."""
    expected = model.predict(A)
    if is_regressor(model):
        return float((np.abs(found - expected) > NEAR * np.ptp(expected) + model.tol).mean())
    decisions = model.decision_function(A)
    clear = np.abs(decisions) > NEAR * np.abs(decisions).max()
    return float((expected != found)[clear].mean()) if clear.any() else 0.0


def most_changes(rng, disturbed, model, A, y, B):
    """Largest share of predictions that change with an error of the rows A, of TRIES tries.

    The errors are rounding errors of the rows B, or up to 16 times as large: those of squared distances, relative to
    distances that are smaller than the rows.
    """
    size = np.finfo(A.dtype).eps * (np.abs(B).max() if np.abs(B).max() < 1e9 else np.abs(A).max())
    shares = []
    for number in range(TRIES):
        noise = (size * 2.0 ** (number % 5) * rng.standard_normal(A.shape)).astype(A.dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares.append(count_differing(model, A, disturbed.fit(A + noise, y).predict(A)))
    return max(shares)
