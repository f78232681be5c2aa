"""Rows and labels (+1, -1) as settings.py describes them. FileNotFoundError: there is no such data set."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import normalize, scale

from benchmarks.papers.data import fold as rows_of_fold
from benchmarks.papers.data import stored
from hingeline import datasets

from .settings import FOLDS, SEED, SETS

#: Of the 20 newsgroups: comp.*, misc.forsale, sci.*
POSITIVE = (*range(1, 7), *range(11, 15))


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Any, np.ndarray]:
    """CSR matrix in float64, and labels."""
    wanted = SETS[name]
    source = stored(wanted.source)
    if wanted.source == "news20":
        return _news20(source)
    X, y = source.X_train, np.where(source.y_train > 0, 1, -1)
    if wanted.rows is not None and wanted.rows < len(y):
        rows = np.sort(_order(y)[: wanted.rows])
        X, y = X[rows], y[rows]
    if len(y) != wanted.rows:
        raise ValueError(f"{wanted.title}: {len(y)} rows, expected {wanted.rows}")
    return X, y


@lru_cache(maxsize=1)
def study(name: str) -> tuple[Any, np.ndarray]:
    """Sets of the studies: those of the paper, breast cancer, and rows that are made to be ill-conditioned."""
    name, single, _ = name.partition(", float32")
    if name in SETS:
        return load(name)
    if name == "web-7-first":
        source = stored("w8a")
        return source.X_train[: SETS["web-7"].rows], np.where(source.y_train > 0, 1, -1)[: SETS["web-7"].rows]
    X, y = _cancer(name == "cancer-scaled") if name.startswith("cancer") else _ill_conditioned(name)
    return X.astype(np.float32) if single else X, y


def _cancer(scaled: bool) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X) if scaled else X, np.where(y > 0, 1, -1)


def _ill_conditioned(name: str) -> tuple[np.ndarray, np.ndarray]:
    """400 rows of 30 features: columns from 1e-4 to 1e4, or singular values from 1e3 to 1e-3."""
    random = np.random.default_rng(SEED)
    X = random.standard_normal((400, 30))
    y = np.where(X[:, 0] + random.standard_normal(400) > 0, 1, -1)
    if name == "columns":
        return X * np.geomspace(1e-4, 1e4, 30), y
    left, _, right = np.linalg.svd(X, full_matrices=False)
    return left * np.geomspace(1e3, 1e-3, 30) @ right, y


def _order(y: np.ndarray) -> np.ndarray:
    """A random order in which every prefix has the classes in about the same proportion."""
    random = np.random.default_rng(SEED)
    place = np.empty(len(y))
    for label in (-1, 1):
        rows = random.permutation(np.flatnonzero(y == label))
        place[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(place, kind="stable")


def _news20(source: datasets.Dataset) -> tuple[Any, np.ndarray]:
    """Words that occur once are left out, as in the paper; the others are there or not; rows of unit length."""
    X = source.X[:, np.asarray(source.X.sum(axis=0)).ravel() >= 2].tocsr()
    X.data[:] = 1.0
    return normalize(X), np.where(np.isin(source.y, POSITIVE), 1, -1)


def fold(name: str, place: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Training and test part of one fold."""
    X, y = load(name)
    train, test = rows_of_fold(y, FOLDS, SEED, place)
    return X[train], y[train], X[test], y[test]
