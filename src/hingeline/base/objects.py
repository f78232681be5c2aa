"""Samples of any kind for callable kernels: strings, graphs, sequences of different length.

They are passed on as arrays of objects with one dimension. The core holds a row with one number in place of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp


def as_objects(X: Any, *, always: bool = False) -> np.ndarray | None:
    """Samples that are not rows of numbers, as an array of objects with one dimension; None for rows of numbers.

    Parameters
    ----------
    X : object
        Samples. An array of objects with one dimension is returned as it is.
    always : bool, default=False
        Whether rows of numbers become objects too, as they may in a model of objects.

    Returns
    -------
    ndarray or None
        The objects.
    """
    if is_objects(X):
        return np.asarray(X)
    if isinstance(X, str | bytes) or sp.issparse(X) or not hasattr(X, "__len__"):
        return None
    if not always and _is_numeric(X):
        return None
    items = list(np.asarray(X) if hasattr(X, "__array__") else _items(X))
    found = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):  # an assignment of all would take equally long lists for rows
        found[k] = item
    return found


def is_objects(X: Any) -> bool:
    """Whether X is an array of objects with one dimension."""
    return isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1


def _items(X: Any) -> Iterable[Any]:
    """Items of a container that has at least a length and indices."""
    return X if hasattr(X, "__iter__") else (X[k] for k in range(len(X)))


def _is_numeric(X: Any) -> bool:
    """Whether the validation of rows of numbers is responsible for X, even if it refuses them."""
    if not hasattr(X, "__array__"):
        if not isinstance(X, list | tuple):
            return False
        if X and not isinstance(X[0], Number | np.ndarray | list | tuple):
            return False
        try:
            X = np.asarray(X)
        except ValueError:  # sequences of different length
            return False
    values = np.asarray(X)
    if values.dtype == object and values.ndim == 2:
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            return False
    return values.dtype.kind in "biufc" and values.ndim <= 2
