"""Rows and labels as settings.py describes them. FileNotFoundError: there is no such data set."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.data import smoothed, stored
from benchmarks.stream import CODES, SERVICE

from .settings import ATTACKS, ROWS, TEST_ROWS

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def mnist(digit: int, n: int) -> Split:
    """The first n training rows of one random order; pixels / 255; the digit is 1, the others are -1."""
    source = stored("mnist")
    cut = source.n_train or 0
    chosen = np.random.default_rng(2006).permutation(cut)[:n]
    labels = np.where(source.y == digit, 1, -1)
    test = slice(cut, cut + TEST_ROWS)
    return source.X[chosen] / 255, labels[chosen], source.X[test] / 255, labels[test]


def usps(order: int, images: str = "smoothed") -> Split:
    """All rows in the given order, labels 0 to 9."""
    source = stored("usps")
    X = smoothed(source.X) if images == "smoothed" else source.X
    cut = source.n_train or 0
    chosen = np.random.default_rng(order).permutation(cut) if order else np.arange(cut)
    return X[chosen], source.y[chosen], X[cut:], source.y[cut:]


def kdd99(draw: int) -> Split:
    """Two disjoint draws from the training part, a tenth attacks (label 1, others -1), in random order.

    Numbers are standardised with the first draw; each name of a protocol, service or flag becomes a column of its own,
    so scaled that two rows with different names are 1 apart.
    """
    source = stored("kdd99")
    random = np.random.default_rng([2006, draw])
    y = np.where(source.y[: source.n_train] == 0, -1, 1)
    attacks, normal = (random.choice(np.flatnonzero(y == label), 2 * k, replace=False) for label, k in
                       ((1, ATTACKS), (-1, ROWS - ATTACKS)))  # fmt: skip
    parts = [
        random.permutation(np.r_[attacks[half::2], normal[half::2]]) for half in (0, 1)
    ]  # every second row of the draws
    names = (*CODES, SERVICE)
    numbers = [k for k in range(source.X.shape[1]) if k not in names]
    train = source.X[parts[0]][:, numbers]
    spread = train.std(axis=0)
    spread[spread == 0] = 1

    def features(rows: np.ndarray) -> np.ndarray:
        X = source.X[rows]
        flags = [X[:, [k]] == np.unique(source.X[: source.n_train, k]) for k in names]
        return np.hstack([(X[:, numbers] - train.mean(axis=0)) / spread, *(f / np.sqrt(2) for f in flags)])

    return features(parts[0]), y[parts[0]], features(parts[1]), y[parts[1]]
