"""Landmarks of the Nystroem map: their choice, their kernel values, and the coordinates of the mapped space.

With landmarks l_1..l_m and K_mm = U diag(s) U^T, the map of x is ``z = U diag(s)^-1/2 U^T k`` with ``k_j = K(x, l_j)``.
Machines are trained in the coordinates ``B k`` with ``B = diag(s)^-1/2 U^T``, a rotation of z without the directions
whose eigenvalues are rounding errors. No row is ever mapped for that: with w the weights in these coordinates, outputs
are ``(B^T w) k``, gradients ``B`` times sums over k, and Hessians ``B H B^T`` with H a sum over k k^T.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from .. import _core
from .._registry import COMPUTED, MapKernelName, kernel_parameters
from ..base import wiped
from ..base.frame import Frame, choose_frame, warn_of_lost_digits

#: Smallest eigenvalue of the landmarks' kernel matrix in the map, as in scikit-learn.
CLIPPED = 1e-12
#: Eigenvalues below this share of the largest are left out in training. Hessians of kernel values have the squares of
#: the eigenvalues, and 1e-7 squared is what double precision resolves.
LEFT_OUT = 1e-7
#: Candidates per landmark for k-means++.
CANDIDATES = 10
#: Bytes of kernel values that are computed at a time for kernels outside the core.
BLOCK_BYTES = 64 << 20


# ---- kernel values ---------------------------------------------------------------------------------

#: A kernel of scikit-learn by its name, or as a function of two rows.
LandmarkMetric: TypeAlias = MapKernelName | Callable[..., float]


@dataclass(frozen=True)
class LandmarkKernel:
    """A kernel by the rules of :func:`sklearn.metrics.pairwise.pairwise_kernels`.

    Parameters
    ----------
    metric : str or callable
        Name of a kernel, or a function of two rows.
    params : dict
        Its parameters.
    frame : Frame or None, default=None
        Coordinates of rows in the core; None: those of the user.
    """

    metric: Any
    params: dict[str, Any]
    frame: Frame | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Parameters that the kernel takes."""
        known = kernel_parameters(self.metric) if isinstance(self.metric, str) else self.params
        return {name: value for name, value in self.params.items() if name in known}

    def in_core(self, n_features: int) -> _core.Kernel | None:
        """The kernel as the core computes it, or None if the core does not know it."""
        own = self._for_core(n_features)
        if own is None:
            return None
        name, gamma, coef0, degree = own
        return _core.Kernel(name, gamma if self.frame is None else self.frame.gamma(gamma), coef0, degree)

    def _for_core(self, n_features: int) -> tuple[str, float, float, int] | None:
        """Name, gamma, coef0 and degree, or None if the core does not know the kernel."""
        name = "poly" if self.metric == "polynomial" else self.metric
        if not isinstance(name, str) or name not in COMPUTED:
            return None
        own = self.options
        degree = own.get("degree", 3)
        if degree != int(degree) or degree > 2**31 - 1:
            return None
        gamma = 1.0 / n_features if own.get("gamma") is None else own["gamma"]
        return name, gamma, own.get("coef0", 1.0), int(degree)

    def in_frame(self, X: Any) -> LandmarkKernel:
        """The kernel with the frame that suits the rows X."""
        own = self._for_core(X.shape[1])
        return self if own is None else replace(self, frame=choose_frame(X, *own))

    def warn_of_lost_digits(self, X: Any) -> None:
        """Warn if rounding errors spoil kernel values in double on the rows X."""
        own = self._for_core(X.shape[1])
        if own is not None and own[0] == "rbf":
            warn_of_lost_digits(X, self.frame, own[1], np.float64)

    def place(self, X: Any) -> Any:
        """Rows as the core takes them."""
        return X if self.frame is None else self.frame.apply(X)

    def values(self, A: Any, B: Any, n_jobs: int | None) -> np.ndarray:
        """Kernel values between two sets of rows by scikit-learn."""
        from sklearn.metrics.pairwise import pairwise_kernels  # when needed: it imports much

        A, B = narrow(A), narrow(B)
        values: np.ndarray = pairwise_kernels(A, B, metric=self.metric, n_jobs=n_jobs, **self.options)
        if values.dtype.kind != "f" or not np.isfinite(values).all():
            raise ValueError(f"The kernel {self.metric!r} returned NaN, infinity or values that are not real numbers.")
        return values


class Landmarks:
    """Rows against which kernel values are computed, block by block.

    Parameters
    ----------
    kernel : LandmarkKernel
        Kernel.
    rows : {ndarray, csr_matrix}
        Landmarks.
    dtype : dtype
        Precision of kernel values from the core.
    """

    def __init__(self, kernel: LandmarkKernel, rows: Any, dtype: Any) -> None:
        self.kernel, self.rows = kernel, rows
        own = kernel.in_core(rows.shape[1])
        self.packed = None if own is None else _core.Packed(own, _core.Matrix(as_type(kernel.place(rows), dtype)))
        self.dtype = np.dtype(dtype if own is not None else np.float64)

    def values(self, X: Any, threads: int) -> np.ndarray:
        """Kernel values, one row for each row of X."""
        out = np.empty((X.shape[0], self.rows.shape[0]), dtype=self.dtype)
        if self.packed is not None:
            self.packed.values(_core.Matrix(self.kernel.place(X)), out, threads)
            return out
        for at in self._blocks(X):
            out[at] = self.kernel.values(_part(X, at), self.rows, threads)
        return out

    def products(self, X: Any, matrix: np.ndarray, threads: int) -> np.ndarray:
        """Kernel values times the transposed `matrix`, in blocks of rows."""
        out = np.empty((X.shape[0], len(matrix)), dtype=self.dtype)
        matrix = np.ascontiguousarray(matrix, dtype=self.dtype)
        if self.packed is not None:
            self.packed.map_rows(_core.Matrix(self.kernel.place(X)), matrix, out, threads)
            return out
        for at in self._blocks(X):
            out[at] = self.kernel.values(_part(X, at), self.rows, threads) @ matrix.T
        return out

    def coordinates(self, X: Any, B: np.ndarray, threads: int) -> np.ndarray:
        """Kernel values times the transposed B, in double."""
        out = np.empty((X.shape[0], len(B)))
        for at in self._blocks(X):
            np.matmul(self.values(_part(X, at), threads).astype(np.float64), B.T, out=out[at])
        return out

    def outputs(self, X: Any, coef: np.ndarray, intercept: np.ndarray, threads: int) -> np.ndarray:
        """Kernel values times `coef`, one line for each output, plus intercepts; in double."""
        if self.packed is None:
            return self.products(X, coef, threads) + intercept
        n = np.array([len(self.rows) if isinstance(self.rows, np.ndarray) else self.rows.shape[0]], dtype=np.int64)
        lines = _core.Lines(np.ascontiguousarray(coef), n, np.arange(len(coef))[np.newaxis], intercept)
        return self.packed.decide(lines, _core.Matrix(self.kernel.place(X)), threads)

    def take(self, which: slice) -> Landmarks:
        """Some of the landmarks."""
        return Landmarks(self.kernel, self.rows[which], self.dtype)

    def _blocks(self, X: Any) -> list[slice]:
        step = max(1, BLOCK_BYTES // (8 * self.rows.shape[0]))
        return [slice(at, at + step) for at in range(0, X.shape[0], step)]


def as_type(X: Any, dtype: Any) -> Any:
    """Rows in a precision, C-contiguous if dense."""
    return X.astype(dtype, copy=False) if sp.issparse(X) else np.ascontiguousarray(X, dtype=dtype)


def narrow(X: Any) -> Any:
    """CSR with 32-bit indices where these suffice: some kernels of scikit-learn take no others."""
    if not sp.issparse(X) or X.indices.dtype == np.int32 or max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        return X
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def single_suffices(kernel: LandmarkKernel, X: Any) -> bool:
    """Whether kernel values in single precision are good approximations. Raises if rows are too large."""
    own = kernel.in_core(X.shape[1])
    return own is not None and bool(_core.single_suffices(own, _core.Matrix(kernel.place(X))))


# ---- choice of landmarks, coordinates --------------------------------------------------------------


def draw_landmarks(
    n: int, count: int, rule: str, random: np.random.RandomState, codes: np.ndarray | None
) -> np.ndarray:
    """Numbers of the rows that become landmarks, or among which k-means++ chooses them.

    'uniform' draws the same rows as scikit-learn, 'balanced' the same number of each class in `codes`.
    """
    order = random.permutation(n)
    if rule == "balanced" and codes is not None:
        order = take_turns(order, codes, count)
    return order[: CANDIDATES * count if rule == "kmeans++" else count]


def take_turns(order: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """The rows of `order` such that the classes take turns, as long as they have rows; at least the first `count`."""
    own = codes[order]
    sizes = np.bincount(own)
    by_class = np.argsort(own.astype(np.min_scalar_type(len(sizes))), kind="stable")
    turn = np.empty(len(order), dtype=np.int64)
    turn[by_class] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    early = np.flatnonzero(turn < count)
    return order[early[np.argsort(turn[early], kind="stable")]]


def choose_far_apart(X: Any, count: int, random: np.random.RandomState) -> np.ndarray:
    """Numbers of rows, each drawn with a probability proportional to its squared distance from those drawn before."""
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(X, count, random_state=random)[1]


class Coordinates(NamedTuple):
    """Eigenvectors of the coordinates in training, and B: one line for each coordinate."""

    vectors: np.ndarray
    B: np.ndarray


class Spectrum(NamedTuple):
    """Eigenvalues of the landmarks' kernel matrix and their eigenvectors, in columns."""

    values: np.ndarray
    vectors: np.ndarray

    def normalization(self, dtype: Any) -> np.ndarray:
        """Inverse square root of the kernel matrix, without directions that a precision does not resolve."""
        size = np.abs(self.values)
        lost = max(float(np.finfo(dtype).eps), len(size) * float(np.finfo(np.float64).eps))
        kept = size > lost * size.max(initial=0.0)
        root = np.sign(self.values[kept]) / np.sqrt(np.maximum(size[kept], CLIPPED))
        own = self.vectors[:, kept]
        return np.asarray((own * root) @ own.T, dtype=dtype)

    def lead(self, count: int) -> Spectrum:
        """Spectrum of the kernel matrix of the first landmarks."""
        own = self.vectors[:count]
        return Spectrum(*eigh((own * self.values) @ own.T, check_finite=False))

    def coordinates(self) -> Coordinates:
        """Coordinates in training."""
        size = np.abs(self.values)
        kept = size > max(LEFT_OUT * size.max(initial=0.0), CLIPPED)
        if not kept.any():
            raise ValueError(
                "The kernel values between the landmarks are all zero. Change the kernel or its parameters."
            )
        own = np.ascontiguousarray(self.vectors[:, kept].T)
        return Coordinates(own, own * (np.sign(self.values[kept]) / np.sqrt(size[kept]))[:, np.newaxis])


def decompose(landmarks: Landmarks, threads: int) -> Spectrum:
    """Spectrum of the landmarks' kernel matrix, in double."""
    double = landmarks if landmarks.dtype == np.float64 else Landmarks(landmarks.kernel, landmarks.rows, np.float64)
    values = double.values(as_type(double.rows, np.float64), threads)
    return Spectrum(*eigh((values + values.T) / 2, check_finite=False))


def _part(X: Any, at: slice) -> Any:
    """Rows of a block. SciPy's slices of sparse rows are copies, which must not stay in free memory."""
    return wiped.take(X, np.arange(at.start, min(at.stop, X.shape[0]))) if sp.issparse(X) else X[at]
