"""Small problems, weights, and forms that rows can have."""

import numpy as np
import scipy.sparse as sp


def noisy(n, d=2, seed=0, flips=0.1, dtype=np.float64, slope=0.3):
    """Two classes with flipped labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X[:, 0] * X[:, -1] + slope * X[:, 0] > 0) ^ (rng.random(n) < flips)
    return X.astype(dtype), y.astype(int)


def blobs(n=90, n_classes=3, d=6, seed=0, dtype=np.float64):
    """Overlapping classes, half of the entries zero."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    centres = 1.5 * rng.standard_normal((n_classes, d))
    X = (centres[y] + rng.standard_normal((n, d))) * (rng.random((n, d)) < 0.5)
    return X.astype(dtype), y


def noise(n=70, d=6, n_classes=2, dtype=np.float64, seed=0):
    """Labels without a rule, half of the entries zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return X.astype(dtype), y


def some_weights(n, seed=0):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], n, p=[0.1, 0.3, 0.3, 0.3])


def plus_minus(y, label=1):
    return np.where(np.asarray(y) == label, 1.0, -1.0)


def with_entry(X, value):
    X = X.copy()
    X[3, 1] = value
    return X


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def wide_indices(X, container=sp.csr_matrix):
    X = container(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


FORMS = {"dense": np.asarray, "fortran": np.asfortranarray, "csr": sp.csr_matrix, "wide csr": wide_indices}
