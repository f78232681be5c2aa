"""Kernel matrices of all samples: dot products once, one map for each kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core

#: A kernel function: name, gamma, coef0, degree.
Key = tuple[str, float, float, int]


class Kernels:
    """Kernel matrices of the rows of X, as the core computes them: to the bit those of a fit to some of the rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix}
        Checked rows.
    order : ndarray
        Row of X at each place of the matrices.
    limit : float
        Bytes that all matrices held at a time may take.
    threads : int
        Threads that compute them.
    """

    def __init__(self, X: Any, order: np.ndarray, limit: float, threads: int) -> None:
        self.X, self.order, self.limit, self.threads = X, order, limit, threads
        self._dots: dict[Any, np.ndarray] = {}
        self._held: dict[tuple[Any, Key], np.ndarray] = {}

    def bytes(self, dtype: Any = None) -> int:
        """Size of one matrix."""
        return self.X.shape[0] ** 2 * np.dtype(dtype or self.X.dtype).itemsize

    def fit(self, *dtypes: Any) -> bool:
        """Whether a matrix of each type fits the limit."""
        return sum(self.bytes(dtype) for dtype in dtypes) <= self.limit

    def bytes_held(self) -> int:
        """Bytes of the matrices held."""
        return sum({id(matrix): matrix.nbytes for matrix in (*self._dots.values(), *self._held.values())}.values())

    def matrix(self, key: Key, dtype: Any) -> np.ndarray:
        """Kernel matrix in a precision. It is held until another kernel is asked for."""
        dtype = np.dtype(dtype)
        if any(held != key for _, held in self._held):
            self._held.clear()
        if (dtype, key) not in self._held:
            self._held[dtype, key] = self._compute(key, dtype)
        return self._held[dtype, key]

    def _compute(self, key: Key, dtype: np.dtype[Any]) -> np.ndarray:
        kernel, n = _core.Kernel(*key), self.X.shape[0]
        if dtype not in self._dots and self.bytes_held() + 2 * self.bytes(dtype) <= self.limit:
            self._dots[dtype] = self._products(_core.Kernel("linear"), dtype)
        if dtype not in self._dots:
            return self._products(kernel, dtype)
        if key[0] == "linear":
            return self._dots[dtype]
        out = np.empty((n, n), dtype)
        _core.map_dots(kernel, self._dots[dtype], out, self.threads)
        return out

    def _products(self, kernel: _core.Kernel, dtype: np.dtype[Any]) -> np.ndarray:
        rows = _core.Matrix(self.X[self.order].astype(dtype, copy=False))
        out = np.empty((self.X.shape[0], self.X.shape[0]), dtype)
        _core.Packed(kernel, rows).values(rows, out, self.threads)
        return out
