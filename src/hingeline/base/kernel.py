"""Kernel values: their parameters, where they come from, sums of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from . import params
from .rows import LARGEST, RowEstimator

#: Kernels that the core computes.
COMPUTED = ("linear", "poly", "rbf", "sigmoid")
#: Decision values of a kernel function are computed in blocks of about this many bytes.
CALLED_BLOCK_BYTES = 64 << 20

KERNEL_RULES = {
    "kernel": params.one_of(*COMPUTED, "precomputed") | params.function(),
    "gamma": params.one_of("scale", "auto") | params.real(least=0.0),
    "degree": params.integer(least=0),
    "coef0": params.real(),
    "cache_size": params.real(above=0.0, most=1e12),
    "n_jobs": params.jobs(),
}


class KernelEstimator(RowEstimator):
    """Base of all that has a kernel: kernel values, sums of them.

    A subclass has the constructor parameters ``kernel, gamma, degree, coef0, n_jobs`` and publishes ``support_,
    support_vectors_, dual_coef_, intercept_`` in LIBSVM's layout.
    """

    @property
    def _takes_sparse(self) -> bool:
        return self.kernel != "precomputed"

    def _check_rows(self, X: Any, y: Any = "no_validation", *, reset: bool, finite: bool = True) -> Any:
        """Checked X with rows in canonical order (and y, where given)."""
        checked = super()._check_rows(X, y, reset=reset, finite=finite)
        X = checked[0] if isinstance(checked, tuple) else checked
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return (X, checked[1]) if isinstance(checked, tuple) else X

    # ---- kernels -------------------------------------------------------------------------------------

    def _resolve_gamma(self, X: Any) -> float:
        """Number behind ``gamma``; scikit-learn's definition of 'scale' and 'auto'."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.kernel == "precomputed" or callable(self.kernel):
            return 0.0
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        variance = _variance(X)
        if not np.isfinite(variance):  # such rows are refused by the core, by name
            return 1.0
        if variance == 0 and self.kernel != "linear":
            warnings.warn(
                "All entries of X are equal, so gamma='scale' has no scale to go by; gamma=1.0 is used.",
                UserWarning,
                stacklevel=4,
            )
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0

    def _kernel(self) -> _core.Kernel:
        return _core.Kernel(self.kernel, self._gamma, float(self.coef0), int(self.degree))

    def _gram(self, X: Any, copy_bytes: int) -> _core.Gram:
        return _core.Gram(self._kernel(), _core.Matrix(X), copy_bytes)

    def _kernel_function(self, X: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """The user's kernel between rows of X given by their numbers."""

        def values(queries: np.ndarray, base: np.ndarray) -> np.ndarray:
            return self._call_kernel(X[queries], X[base])

        return values

    def _call_kernel(self, A: Any, B: Any) -> np.ndarray:
        values = np.asarray(self.kernel(A, B))
        if np.iscomplexobj(values):
            raise ValueError("The kernel function must return real numbers. Got complex ones.")
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"The kernel function must return an array of shape {(A.shape[0], B.shape[0])} for inputs with "
                f"{A.shape[0]} and {B.shape[0]} rows. Got shape {values.shape}."
            )
        values = np.ascontiguousarray(values, dtype=np.float64)
        if not (np.abs(values) <= LARGEST).all():
            raise ValueError(f"The kernel function returned NaN, infinity or values beyond {LARGEST:g}.")
        return values

    def _require_moderate(self, X: Any) -> None:
        """Refuse rows that are too large for the kernel, before any work."""
        if self.kernel in COMPUTED:
            self._gram(X, copy_bytes=0)

    def _training_threads(self) -> int:
        """A kernel function has Python's lock, and one thread."""
        return 1 if callable(self.kernel) else self._threads()

    # ---- outputs -------------------------------------------------------------------------------------

    def _fitted(self) -> Any:
        """What has been learnt, as it is now: an object with the fitted attributes."""
        return self

    def _outputs(self, X: Any, weights: _core.Weights, fitted: Any) -> np.ndarray:
        """Sums of kernel values with the support vectors, one column per machine."""
        if fitted.dual_coef_.shape[1] == 0:  # nothing has been learnt yet
            return np.tile(fitted.intercept_, (X.shape[0], 1))
        if self.kernel == "precomputed":
            columns = np.ascontiguousarray(fitted.support_, dtype=np.int64)
            return _core.decide_gathered(_core.Matrix(X), columns, weights, self._threads())
        return self._sums(X, weights, fitted.support_vectors_)

    def _sums(self, X: Any, weights: _core.Weights, rows: Any) -> np.ndarray:
        """Sums of kernel values with these rows, one column per output."""
        threads = self._threads()
        if not callable(self.kernel):
            # Support vectors with many zeros are worth a compressed copy: at most their own size.
            return _core.decide(self._gram(rows, copy_bytes=2**62), weights, _core.Matrix(X), threads)
        everything = np.arange(rows.shape[0], dtype=np.int64)
        block = max(1, CALLED_BLOCK_BYTES // (8 * max(rows.shape[0], 1)))
        parts = []
        for at in range(0, X.shape[0], block):
            values = self._call_kernel(X[at : at + block], rows)
            parts.append(_core.decide_gathered(_core.Matrix(values), everything, weights, threads))
        return np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _variance(X: Any) -> float:
    """Variance of all entries in double, without a copy of X and the same for every memory order."""
    size = X.shape[0] * X.shape[1]
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sum(block.sum() for block in _blocks(values)) / size
        squares = sum(np.square(block - mean).sum() for block in _blocks(values))
        return float((squares + (size - values.size) * mean**2) / size)


def _blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    """Pieces of about a million entries, row after row, in double."""
    step = max(1, (1 << 20) // (values.shape[1] if values.ndim == 2 else 1))
    for at in range(0, len(values), step):
        yield np.ascontiguousarray(values[at : at + step], dtype=np.float64)
