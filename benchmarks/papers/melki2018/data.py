"""Rows scaled to [0, 1] and labels, as settings.py describes them. FileNotFoundError: there is no such data set."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, minmax_scale

from benchmarks.papers.data import fold as rows_of_fold
from benchmarks.papers.data import stored

from .settings import COVARIANCES, FOLDS, MEANS, SEED, SETS

Split = tuple[Any, np.ndarray, Any, np.ndarray]


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Any, np.ndarray]:
    """All rows of a set. Features are scaled with all rows, as in the chapter: before the folds are made."""
    source = stored(SETS[name].source)
    X, y = source.X, source.y
    if name == "intrusion":
        return _intrusion(X), np.where(y == 0, 0, 1)
    # A sparse set has features of at least 0, and a 0 in each: division by the largest value is the same map.
    return (MaxAbsScaler().fit_transform(X) if sparse.issparse(X) else minmax_scale(X)), y


def _intrusion(X: np.ndarray) -> np.ndarray:
    """One column for each protocol, service and flag (columns 1 to 3), in float32."""
    words = OneHotEncoder(sparse_output=False, dtype=np.float32).fit_transform(X[:, 1:4])
    numbers = minmax_scale(np.delete(X, (1, 2, 3), axis=1).astype(np.float32))
    return np.hstack([numbers, words])


def fold(name: str, place: int) -> Split:
    """Training and test part of one outer fold."""
    X, y = load(name)
    train, test = rows_of_fold(y, FOLDS, SEED, place)
    return X[train], y[train], X[test], y[test]


def two_normals(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of Figure 1.1, half of each class."""
    draw = np.random.default_rng(seed)
    halves = [draw.multivariate_normal(m, c, n // 2) for m, c in zip(MEANS, COVARIANCES, strict=True)]
    return np.vstack(halves), np.repeat([-1, 1], n // 2)


def bayes_margin(X: np.ndarray) -> np.ndarray:
    """Log ratio of the densities of the two classes: the sign is the best possible prediction."""
    logs = []
    for mean, covariance in zip(MEANS, COVARIANCES, strict=True):
        d = X - np.array(mean)
        precision = np.linalg.inv(covariance)
        logs.append(-0.5 * np.einsum("ij,jk,ik->i", d, precision, d) - 0.5 * np.linalg.slogdet(covariance)[1])
    return np.asarray(logs[1] - logs[0])
