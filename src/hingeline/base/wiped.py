"""Arrays whose memory is overwritten when it is released: rows that a model forgets do not stay in free memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .. import _core

__all__ = ["copy", "empty", "stack", "take"]


def empty(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> np.ndarray:
    """Array in C order, not initialised."""
    kind, shape = np.dtype(dtype), (shape,) if isinstance(shape, int) else shape
    if kind.hasobject:
        return np.empty(shape, dtype=kind)
    size = math.prod(shape)
    if size == 0:
        return np.empty(shape, dtype=kind)
    # SciPy copies arrays that have much fewer entries than the array that they are a view of.
    width = kind.itemsize if kind.itemsize in (4, 8) else 1
    values: Any = _core.wiped(size * kind.itemsize // width, width)
    found: np.ndarray = values.view(kind).reshape(shape)
    return found


def copy(values: Any) -> Any:
    """Copy of an array or CSR matrix."""
    if sp.issparse(values):
        return _csr(values, copy(values.data), copy(values.indices), copy(values.indptr), values.shape)
    out = empty(values.shape, values.dtype)
    out[...] = values
    return out


def take(values: Any, rows: np.ndarray) -> Any:
    """Some rows of an array or CSR matrix, by their numbers."""
    if not sp.issparse(values):
        out = empty((len(rows), *values.shape[1:]), values.dtype)
        return np.take(values, rows, axis=0, out=out, mode="clip")  # other modes use a buffer
    starts, sizes = values.indptr[rows], np.diff(values.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(values.indptr.dtype)
    places = np.repeat(starts - indptr[:-1], sizes) + np.arange(indptr[-1], dtype=indptr.dtype)
    return _csr(values, take(values.data, places), take(values.indices, places), indptr, (len(rows), values.shape[1]))


def stack(above: Any, below: Any) -> Any:
    """The rows of two arrays or CSR matrices, one behind the other, in the type of the first."""
    if not sp.issparse(above):
        out = empty((len(above) + len(below), *above.shape[1:]), above.dtype)
        out[: len(above)], out[len(above) :] = above, below
        return out
    below = sp.csr_array(below)
    indptr = np.concatenate([above.indptr, above.indptr[-1] + below.indptr[1:]]).astype(above.indptr.dtype)
    shape = (above.shape[0] + below.shape[0], above.shape[1])
    return _csr(above, stack(above.data, below.data), stack(above.indices, below.indices), indptr, shape)


def _csr(like: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> Any:
    """Matrix of the class of `like`, of these arrays and not of copies of them."""
    return type(like)((data, indices, indptr), shape=shape, copy=False)
