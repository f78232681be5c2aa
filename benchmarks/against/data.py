"""Data sets as settings.py describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import Unavailable
from hingeline import datasets

from .settings import Data

#: Sets whose test rows all occur in the training part with the same label, so that their accuracy says nothing about
#: unseen rows: 14,951 of 14,951 in w8a.
REPEATED = frozenset({"w8a"})


@dataclass(frozen=True)
class Split:
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray


def load(
    data: Data, form: str, dtype: str, rows: int | None = None, test_rows: int | None = None, published: bool = False
) -> Split:
    """Training and test part, scaled, in the wanted form ("dense" or "csr") and type.

    The training part of a set in REPEATED is split by `apart`, unless the `published` parts are wanted.
    """
    try:
        source = datasets.load(data.name, dtype=np.float64)
        X_train, X_test, y_train, y_test = source.X_train, source.X_test, source.y_train, source.y_test
    except (OSError, ValueError) as error:
        # Results are shown to others: the message of the error, which names a folder of this computer, is left out.
        raise Unavailable(f"data set {data.name} is not in $HINGELINE_DATA") from error
    if data.name in REPEATED and not published:
        train, test = apart(X_train)
        X_train, X_test, y_train, y_test = X_train[train], X_train[test], y_train[train], y_train[test]
    limits = [limit for limit in (data.rows, rows) if limit is not None]
    train, test = _sample(len(y_train), min(limits, default=None)), _sample(len(y_test), test_rows)
    X_train, X_test = _scaled(X_train[train], X_test[test], data.scaling)
    if data.positive is not None:
        y_train, y_test = (np.where(y == data.positive, 1, -1) for y in (y_train, y_test))
    return Split(_form(X_train, form, dtype), y_train[train], _form(X_test, form, dtype), y_test[test])


def apart(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of a training part and of a test part, a quarter of the distinct rows; equal rows stay together."""
    _, group = np.unique(_form(X, "dense", "float64"), axis=0, return_inverse=True)
    held_out = np.random.default_rng(0).random(group.max() + 1) < 0.25
    return np.flatnonzero(~held_out[group]), np.flatnonzero(held_out[group])


def _sample(n: int, limit: int | None) -> np.ndarray:
    if limit is None or limit >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).permutation(n)[:limit])


def _scaled(X_train: Any, X_test: Any, scaling: str) -> tuple[Any, Any]:
    if scaling == "none":
        return X_train, X_test
    if scaling == "255":
        return X_train / 255, X_test / 255
    if scaling != "unit":
        raise ValueError(f"unknown scaling {scaling!r}")
    low = X_train.min(axis=0)
    span = X_train.max(axis=0) - low
    span[span == 0] = 1
    return (X_train - low) / span, (X_test - low) / span


def _form(X: Any, form: str, dtype: str) -> Any:
    if form == "csr":
        return sp.csr_matrix(X, dtype=dtype)
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=dtype)


def nbytes(X: Any) -> int:
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes
