"""Rows for streams, and what may go wrong in one: kernel functions with moods, and chunks that must be refused."""

import numpy as np


def noisy(n, d=2, seed=0, flips=0.1, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X[:, 0] * X[:, -1] + 0.3 * X[:, 0] > 0) ^ (rng.random(n) < flips)
    return X.astype(dtype), y.astype(int)


def blobs(n, n_classes=4, d=6, seed=0, dtype=np.float64):
    """Overlapping classes, half of the entries zero."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    centres = 1.5 * rng.standard_normal((n_classes, d))
    X = (centres[y] + rng.standard_normal((n, d))) * (rng.random((n, d)) < 0.5)
    return X.astype(dtype), y


def some_weights(n, seed=0):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], n, p=[0.1, 0.3, 0.3, 0.3])


def plus_minus(y):
    return np.where(y == 1, 1.0, -1.0)


class MoodyKernel:
    """A linear kernel that spoils its result while `mood` is set, after some good calls."""

    def __init__(self):
        self.mood, self.calls, self.patience = None, 0, 1

    def __call__(self, A, B):
        self.calls += 1
        K = sum(A[:, [k]] * B[:, k] for k in range(A.shape[1]))  # the same bits in every block, unlike A @ B.T
        return K if self.mood is None or self.calls <= self.patience else self.mood(K)

    def sulk(self, mood, patience):
        self.mood, self.calls, self.patience = mood, 0, patience


def raises(kind):
    def mood(K):
        raise kind("mine")  # a new one each time: the traceback of an old one would keep models alive

    return mood


MOODS = {
    "raises": raises(ZeroDivisionError),
    "NaN": lambda K: K * np.nan,
    "shape": lambda K: K[:, :-1],
    "text": lambda K: np.full(K.shape, "x"),
    "exit": raises(SystemExit),
}
BAD_CHUNKS = {
    "NaN": lambda X, y: (np.where(np.arange(len(y))[:, None] == 7, np.nan, X), y, {}),
    "features": lambda X, y: (X[:, :-1], y, {}),
    "labels": lambda X, y: (X, np.column_stack([y, y]), {}),
    "number of labels": lambda X, y: (X, y[:-1], {}),
    "continuous": lambda X, y: (X, y + 0.5, {}),
    "no rows": lambda X, y: (X[:0], y[:0], {}),
    "weights": lambda X, y: (X, y, {"sample_weight": -np.ones(len(y))}),
    "large weights": lambda X, y: (X, y, {"sample_weight": np.full(len(y), 1e100)}),
    "number of weights": lambda X, y: (X, y, {"sample_weight": np.ones(3)}),
    "too large": lambda X, y: (X * 1e200, y, {}),
    "mixed labels": lambda X, y: (X, np.array(["a", "b", "c"])[y], {}),
}
