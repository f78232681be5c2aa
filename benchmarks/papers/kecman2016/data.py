"""Rows and labels (+1, -1) as settings.py describes them. FileNotFoundError: there is no such data set."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.data import fold as rows_of_fold
from benchmarks.papers.data import stored
from hingeline import datasets

from .settings import EUKARYOTIC, FOLDS, PROTOTASK, SEED, SETS

Split = tuple[Any, np.ndarray, Any, np.ndarray]


@lru_cache(maxsize=1)
def load(name: str, n: int | None, seed: int = SEED, separation: float | None = None) -> tuple[Any, np.ndarray]:
    """All rows, not scaled, float64. Another seed draws other points of the same kind."""
    if name == "chessboard":
        return datasets.make_chessboard(n or 0, random_state=seed)
    if name == "normals":
        return datasets.make_two_normals(
            n or 0, random_state=seed, **({"separation": separation} if separation else {})
        )
    source = stored(SETS[name].source)
    if name == "eukaryotic":
        positive = source.y == EUKARYOTIC
    elif name == "prototask":
        positive = source.y >= PROTOTASK
    else:
        positive = source.y == source.y.max()
    return source.X, np.where(positive, 1, -1)


def scaled(name: str) -> bool:
    """Whether features are standardised: neither unit rows of words nor points that we draw."""
    return SETS[name].n is None and name != "reuters"


def fold(name: str, n: int | None, place: int, **drawn: float) -> Split:
    """Training and test part of one fold, scaled with the mean and the spread of the training part."""
    X, y = load(name, n, **drawn)
    train, test = rows_of_fold(y, FOLDS, SEED, place)
    X_train, X_test = X[train], X[test]
    if scaled(name):
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    return X_train, y[train], X_test, y[test]
