"""Models of batch and online classifiers, and what makes them equal."""

import numpy as np
import scipy.sparse as sp

from .data import blobs


def problem(n=90, d=5, n_classes=3, dtype=np.float64, seed=0):
    return blobs(n, n_classes, d, seed, dtype)


def fingerprint(model, X):
    """Everything that makes a model, to the bit."""
    arrays = [model.support_, model.n_support_, model.dual_coef_, model.intercept_, model.decision_scale_]
    return b"".join(np.ascontiguousarray(a).tobytes() for a in [*arrays, model.decision_function(X)])


def linear_function(A, B):
    """A kernel function that pickles."""
    return A @ B.T if isinstance(A, np.ndarray) else (A @ B.T).toarray()


MODELS = {
    "rbf": (np.asarray, {}),
    "linear sparse": (sp.csr_matrix, {"kernel": "linear"}),
    "precomputed": (lambda X: X @ X.T, {"kernel": "precomputed"}),
    "function": (np.asarray, {"kernel": linear_function}),
}
