"""Landmarks of the Nystroem map: their choice, their kernel values, and linear machines in the mapped space.

With landmarks l_1..l_m and K_mm = U diag(s) U^T, the map of x is ``z = U diag(s)^-1/2 U^T k`` with ``k_j = K(x, l_j)``.
Machines are trained in the coordinates ``B k`` with ``B = diag(s)^-1/2 U^T``, a rotation of z without the directions
whose eigenvalues are rounding errors. No row is ever mapped for that: with w the weights in these coordinates, outputs
are ``(B^T w) k``, gradients ``B`` times sums over k, and Hessians ``B H B^T`` with H a sum over k k^T.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from .. import _core
from .._registry import COMPUTED, KERNELS
from ..base.frame import Frame, choose_frame
from .layout import Layout
from .rows import FEW_ENTRIES, Clip, LocalProblem, MultiplierSource, Sample

#: Smallest eigenvalue of the landmarks' kernel matrix in the map, as in scikit-learn.
CLIPPED = 1e-12
#: Eigenvalues below this share of the largest are left out in training. Hessians of kernel values have the squares of
#: the eigenvalues, and 1e-7 squared is what double precision resolves.
LEFT_OUT = 1e-7
#: Coordinates are computed for fewer rows than this times machines times landmarks: mapping a row costs as much as a
#: row and column of a Hessian, and a fit transforms about ten Hessians per machine, at the cost of two products each.
TRANSFORMS = 20
#: With fewer than `FEW_ROWS` rows for each landmark, a machine starts from its minimum over the first of the landmarks
#: (or over the coordinates with the largest eigenvalues): one in `COARSER`, at least `FEWEST`, to the accuracy
#: `COARSE_TOL`. With more rows a sample of them is cheaper.
FEW_ROWS, COARSER, FEWEST, COARSE_TOL = 100, 4, 20, 0.1
#: Candidates per landmark for k-means++.
CANDIDATES = 10
#: Bytes of kernel values that are computed at a time for kernels outside the core.
BLOCK_BYTES = 64 << 20


# ---- kernel values ---------------------------------------------------------------------------------

#: Kernels of scikit-learn and their parameters.
KERNEL_PARAMS = {row.name: row.parameters for row in KERNELS.values() if row.name != "precomputed"}


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
        own = {key: value for key, value in self.params.items() if key in KERNEL_PARAMS.get(self.metric, ())}
        degree = own.get("degree", 3)
        if not isinstance(name, str) or name not in COMPUTED or degree != int(degree) or degree > 2**31 - 1:
            return None
        gamma = 1.0 / n_features if own.get("gamma") is None else own["gamma"]
        return name, gamma, own.get("coef0", 1.0), int(degree)

    def in_frame(self, X: Any) -> LandmarkKernel:
        """The kernel with the frame that suits the rows X."""
        own = self._for_core(X.shape[1])
        return self if own is None else replace(self, frame=choose_frame(X, *own))

    def place(self, X: Any) -> Any:
        """Rows as the core takes them."""
        return X if self.frame is None else self.frame.apply(X)

    def values(self, A: Any, B: Any, n_jobs: int | None) -> np.ndarray:
        """Kernel values between two sets of rows by scikit-learn."""
        known = self.metric in KERNEL_PARAMS if isinstance(self.metric, str) else False
        options = (
            self.params if not known else {k: v for k, v in self.params.items() if k in KERNEL_PARAMS[self.metric]}
        )
        from sklearn.metrics.pairwise import pairwise_kernels  # when needed: it imports much

        A, B = narrow(A), narrow(B)
        values: np.ndarray = pairwise_kernels(A, B, metric=self.metric, n_jobs=n_jobs, **options)
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
            out[at] = self.kernel.values(X[at], self.rows, threads)
        return out

    def products(self, X: Any, matrix: np.ndarray, threads: int) -> np.ndarray:
        """Kernel values times the transposed `matrix`, in blocks of rows."""
        out = np.empty((X.shape[0], len(matrix)), dtype=self.dtype)
        matrix = np.ascontiguousarray(matrix, dtype=self.dtype)
        if self.packed is not None:
            self.packed.mapped(_core.Matrix(self.kernel.place(X)), matrix, out, threads)
            return out
        for at in self._blocks(X):
            out[at] = self.kernel.values(X[at], self.rows, threads) @ matrix.T
        return out

    def coordinates(self, X: Any, B: np.ndarray, threads: int) -> np.ndarray:
        """Kernel values times the transposed B, in double."""
        out = np.empty((X.shape[0], len(B)))
        for at in self._blocks(X):
            np.matmul(self.values(X[at], threads).astype(np.float64), B.T, out=out[at])
        return out

    def outputs(self, X: Any, coef: np.ndarray, intercept: np.ndarray, threads: int) -> np.ndarray:
        """Kernel values times `coef`, one line for each output, plus intercepts; in double."""
        if self.packed is None:
            return self.products(X, coef, threads) + intercept
        n = np.array([len(self.rows) if isinstance(self.rows, np.ndarray) else self.rows.shape[0]], dtype=np.int64)
        lines = _core.Lines(np.ascontiguousarray(coef), n, np.arange(len(coef))[np.newaxis], intercept)
        return self.packed.decide(lines, _core.Matrix(self.kernel.place(X)), threads)

    def _blocks(self, X: Any) -> list[slice]:
        step = max(1, BLOCK_BYTES // (8 * self.rows.shape[0]))
        return [slice(at, at + step) for at in range(0, X.shape[0], step)]


def as_type(X: Any, dtype: Any) -> Any:
    """Rows in a precision, C-contiguous if dense."""
    return X.astype(dtype) if sp.issparse(X) else np.ascontiguousarray(X, dtype=dtype)


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


def drawn(n: int, count: int, rule: str, random: np.random.RandomState, codes: np.ndarray | None) -> np.ndarray:
    """Numbers of the rows that become landmarks, or among which k-means++ chooses them.

    'uniform' draws the same rows as scikit-learn, 'balanced' the same number of each class in `codes`.
    """
    order = random.permutation(n)
    if rule == "balanced" and codes is not None:
        order = in_turns(order, codes, count)
    return order[: CANDIDATES * count if rule == "kmeans++" else count]


def in_turns(order: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """The rows of `order` such that the classes take turns, as long as they have rows; at least the first `count`."""
    own = codes[order]
    sizes = np.bincount(own)
    by_class = np.argsort(own.astype(np.min_scalar_type(len(sizes))), kind="stable")
    turn = np.empty(len(order), dtype=np.int64)
    turn[by_class] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    early = np.flatnonzero(turn < count)
    return order[early[np.argsort(turn[early], kind="stable")]]


def far_apart(X: Any, count: int, random: np.random.RandomState) -> np.ndarray:
    """Numbers of rows, each drawn with a probability proportional to its squared distance from those drawn before."""
    from sklearn.cluster import kmeans_plusplus

    numbers: np.ndarray = kmeans_plusplus(X, count, random_state=random)[1]
    return numbers


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

    def leading(self, count: int) -> Spectrum:
        """Spectrum of the kernel matrix of the first landmarks."""
        own = self.vectors[:count]
        return Spectrum(*eigh((own * self.values) @ own.T, check_finite=False))

    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvectors of the coordinates in training, and B: one line for each coordinate."""
        size = np.abs(self.values)
        kept = size > max(LEFT_OUT * size.max(initial=0.0), CLIPPED)
        if not kept.any():
            raise ValueError(
                "The kernel values between the landmarks are all zero. Change the kernel or its parameters."
            )
        own = np.ascontiguousarray(self.vectors[:, kept].T)
        return own, own * (np.sign(self.values[kept]) / np.sqrt(size[kept]))[:, np.newaxis]


def spectrum(landmarks: Landmarks, threads: int) -> Spectrum:
    """Spectrum of the landmarks' kernel matrix, in double."""
    double = landmarks if landmarks.dtype == np.float64 else Landmarks(landmarks.kernel, landmarks.rows, np.float64)
    values = double.values(as_type(double.rows, np.float64), threads)
    return Spectrum(*eigh((values + values.T) / 2, check_finite=False))


# ---- machines in the mapped space ------------------------------------------------------------------


def coarser(n_rows: int, width: int, solver: str) -> int:
    """Number of landmarks, or coordinates, of the problem that is solved first; 0 if there is none."""
    few = width // COARSER
    pays = n_rows < FEW_ROWS * width and n_rows * width >= FEW_ENTRIES
    return few if solver == "gram" and pays and few >= FEWEST else 0


@dataclass
class CoordinateProblem(LocalProblem):
    """Machines over rows in mapped coordinates, in ascending order of the eigenvalues.

    Parameters
    ----------
    values : ndarray
        The array behind `matrix`.
    """

    values: Any = None

    def samples(self, solver: str) -> list[Sample]:
        """The coordinates with the largest eigenvalues, or a sample of the rows where there are few coordinates."""
        r, count = self.n_features, coarser(self.n_rows, self.n_features, solver)
        if count == 0:
            return super().samples(solver)

        def lift(points: np.ndarray) -> np.ndarray:
            return np.concatenate([np.zeros((len(points), r - count)), points], axis=1)

        small = replace(self, matrix=_core.Matrix(self.values[:, r - count :]), values=self.values[:, r - count :])
        return [Sample(np.arange(self.n_machines), small, 1.0, solver, None, lift, count / r, COARSE_TOL)]


@dataclass
class StoredProblem(LocalProblem):
    """Machines over vectors of kernel values in memory.

    Parameters
    ----------
    values : ndarray
        The array behind `matrix`.
    """

    values: Any = None

    def leading(self, count: int) -> StoredProblem:
        """The machines over kernel values against the first landmarks only."""
        return replace(self, matrix=_core.Matrix(self.values[:, :count]), values=self.values[:, :count])


@dataclass
class StreamedProblem(LocalProblem):
    """Machines over vectors of kernel values that are computed in every pass.

    Parameters
    ----------
    X : {ndarray, sparse matrix}
        Rows behind `matrix`.
    landmarks : Landmarks
        Landmarks, with a kernel of the core.
    """

    X: Any = None
    landmarks: Any = None

    n_features = property(lambda self: self.landmarks.rows.shape[0])
    entries_per_row = property(lambda self: float(self.n_features))
    dense = property(lambda self: True)

    def source(self, clip: Clip) -> MultiplierSource:
        """The rows, with all machines at zero."""
        return self._source(clip, landmarks=self.landmarks.packed)

    def leading(self, count: int) -> StreamedProblem:
        """The machines over kernel values against the first landmarks only."""
        few = Landmarks(self.landmarks.kernel, self.landmarks.rows[:count], self.landmarks.dtype)
        return replace(self, landmarks=few)

    def samples(self, solver: str) -> list[Sample]:
        """Samples as vectors of kernel values in memory: a sixteenth of the rows is passed over many times."""
        return [sample._replace(problem=self._stored(sample.problem)) for sample in super().samples(solver)]

    def _stored(self, sample: LocalProblem) -> LocalProblem:
        matrix = _core.Matrix(self.landmarks.values(self.X[sample.rows], self.threads))
        return LocalProblem(matrix, sample.weights, sample.thresholds, sample.offset, sample.threads, sample.codes)


def problems_of(
    layout: Layout,
    X: Any,
    codes: np.ndarray,
    weights: np.ndarray,
    landmarks: Landmarks,
    found: Spectrum,
    *,
    threads: int,
    most_bytes: float,
) -> list[Any]:
    """Problems of all machines in the coordinates ``B k``.

    For few rows and many machines these are computed. Otherwise Hessians are transformed, and the kernel values are
    kept if they take at most `most_bytes`.
    """
    which, n, m = np.arange(layout.n_machines), X.shape[0], landmarks.rows.shape[0]
    common = (codes, weights, which, threads)
    B = found.coordinates()[1]
    if n < TRANSFORMS * layout.n_machines * m and 8 * n * len(B) <= most_bytes:
        values = landmarks.coordinates(X, B, threads)
        own = replace(layout, n_features=len(B)).problems(_core.Matrix(values), *common)
        return [CoordinateProblem(**vars(problem), values=values) for _, problem in own]
    size = n * m * landmarks.dtype.itemsize
    if size <= most_bytes:
        values = landmarks.values(X, threads)
        own = layout.problems(_core.Matrix(values), *common)
        bases: list[Any] = [StoredProblem(**vars(problem), values=values) for _, problem in own]
    elif landmarks.packed is not None:
        own = layout.problems(_core.Matrix(X), *common)
        bases = [StreamedProblem(**vars(problem), X=X, landmarks=landmarks) for _, problem in own]
    else:
        raise ValueError(
            f"cache_size is too small: the values of a kernel that is not computed by the core take "
            f"{size / 2**20:.0f} MB. Raise cache_size, or use 'rbf', 'poly', 'sigmoid' or 'linear'."
        )
    return [MappedProblem(base, B, found) for base in bases]


class MappedRows:
    """Rows in mapped coordinates: a :class:`~hingeline.linear.rows.MultiplierSource`.

    Parameters
    ----------
    inner : Source
        Rows as vectors of kernel values.
    coordinates : ndarray of shape (n_coordinates, n_landmarks)
        The matrix B of this module.
    """

    def __init__(self, inner: Any, coordinates: np.ndarray) -> None:
        self.inner = inner
        self.B = coordinates
        self.hessians: dict[int, np.ndarray] = {}

    @property
    def n_passes(self) -> float:
        """Passes over the rows so far."""
        return float(self.inner.n_passes)

    def _down(self, points: np.ndarray) -> np.ndarray:
        """Weights of kernel values from weights of coordinates; thresholds stay."""
        r = len(self.B)
        return np.ascontiguousarray(np.concatenate([points[:, :r] @ self.B, points[:, r:]], axis=1))

    def _up(self, sums: np.ndarray) -> np.ndarray:
        """Sums over coordinates from sums over kernel values."""
        m = self.B.shape[1]
        return np.concatenate([sums[:, :m] @ self.B.T, sums[:, m:]], axis=1)

    def _both(self, lower: np.ndarray) -> np.ndarray:
        """A Hessian in coordinates from the lower triangle of that of kernel values."""
        m, r = self.B.shape[1], len(self.B)
        full = np.tril(lower) + np.tril(lower, -1).T
        out = np.empty((r + len(lower) - m,) * 2)
        out[:r, :r] = self.B @ full[:m, :m] @ self.B.T
        out[r:, :r] = full[m:, :m] @ self.B.T
        out[:r, r:] = out[r:, :r].T
        out[r:, r:] = full[m:, m:]
        return out

    def set_clip(self, clip: Clip) -> None:
        """Change the loss."""
        self.inner.set_clip(clip)

    def use_hessians(self, sketch: int, precise: bool) -> None:
        """Hessians of kernel values are nearly singular: always in double."""
        self.inner.use_hessians(sketch, True)

    def start(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Put machines at points; margins and gradients there."""
        margins, gradient = self.inner.start(which, self._down(points))
        return margins, self._up(gradient)

    def aim(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Set the targets of machines; margins and gradients there."""
        margins, gradient = self.inner.aim(which, self._down(points))
        return margins, self._up(gradient)

    def slopes(self, which: np.ndarray, deltas: np.ndarray) -> np.ndarray:
        """First and second derivatives on the lines from the points to the targets."""
        slopes: np.ndarray = self.inner.slopes(which, deltas)
        return slopes

    def move(
        self, which: np.ndarray, deltas: np.ndarray, points: np.ndarray, hessians: list[Any]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step by `deltas` towards the targets, and update `hessians`."""
        own = [None if to is None else self.hessians[k] for k, to in zip(which.tolist(), hessians, strict=True)]
        margins, correction, rebuilt = self.inner.move(which, deltas, self._down(points), own)
        for lower, to in zip(own, hessians, strict=True):
            if lower is not None:
                to[...] = self._both(lower)
        return margins, self._up(correction), rebuilt

    def hessian(self, machine: int, matrix: np.ndarray) -> None:
        """Add a machine's Hessian at the current point."""
        length = len(matrix) - len(self.B) + self.B.shape[1]
        lower = self.hessians.setdefault(machine, np.empty((length, length)))
        lower.fill(0.0)
        self.inner.hessian(machine, lower)
        matrix += self._both(lower)

    def curvature(self, which: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Multiply the machines' Hessians by directions."""
        return self._up(self.inner.curvature(which, self._down(directions)))

    def diagonal(self, machine: int) -> np.ndarray:
        """Approximate diagonal of a machine's Hessian: as if its rows were distributed like the landmarks.

        The mean square of a coordinate over the landmarks is then its eigenvalue divided by their number.
        """
        squares: np.ndarray = self.inner.diagonal(machine)
        m, values = self.B.shape[1], 1.0 / (self.B**2).sum(axis=1)
        share = squares[:m].sum() / max(float((values**2).sum()), 1e-300)
        return np.concatenate([share * values, squares[m:]])

    def largest_output(self, machine: int) -> float:
        """Largest absolute decision value of a machine."""
        return float(self.inner.largest_output(machine))


@dataclass
class MappedProblem:
    """Machines in mapped coordinates: a :class:`~hingeline.linear.rows.Problem`.

    Parameters
    ----------
    base : Problem
        The same machines over vectors of kernel values.
    coordinates : ndarray of shape (n_coordinates, n_landmarks)
        The matrix B of this module.
    spectrum : Spectrum, default=None
        Spectrum of the landmarks, to start from fewer of them.
    """

    base: Any
    coordinates: np.ndarray
    spectrum: Spectrum | None = None

    dense, precise, ordered = True, True, False
    n_rows = property(lambda self: self.base.n_rows)
    n_machines = property(lambda self: self.base.n_machines)
    n_features = property(lambda self: len(self.coordinates))
    thresholds = property(lambda self: self.base.thresholds)
    length = property(lambda self: self.n_features + self.base.length - self.base.n_features)
    entries_per_row = property(lambda self: float(self.base.n_features))
    in_memory = property(lambda self: self.base.in_memory)
    hessian_bytes = property(lambda self: self.base.hessian_bytes)
    rows = property(lambda self: self.base.rows)
    setup_passes = property(lambda self: self.base.setup_passes)

    def source(self, clip: Clip) -> MappedRows:
        """The rows, with all machines at zero."""
        return MappedRows(self.base.source(clip), self.coordinates)

    def samples(self, solver: str) -> list[Sample]:
        """The machines over fewer landmarks, or samples of the rows whose minima are worth computing first."""
        count = coarser(self.n_rows, self.base.n_features, solver)
        if self.spectrum is not None and count:
            return [self._with_fewer(self.spectrum, count)]
        return [
            sample._replace(problem=MappedProblem(sample.problem, self.coordinates))
            for sample in self.base.samples(solver)
        ]

    def _with_fewer(self, spectrum: Spectrum, count: int) -> Sample:
        """The machines over the first landmarks, in coordinates of their own."""
        first = spectrum.leading(count)
        B = first.coordinates()[1]
        # The point with the same outputs, and for a positive kernel with the same norm: B K_mm = diag(s)^1/2 U^T.
        own = spectrum.coordinates()[0] / np.linalg.norm(self.coordinates, axis=1)[:, np.newaxis]
        turn = B @ own[:, :count].T

        def lift(points: np.ndarray) -> np.ndarray:
            return np.concatenate([points[:, : len(B)] @ turn, points[:, len(B) :]], axis=1)

        small = MappedProblem(self.base.leading(count), B, first)
        return Sample(
            np.arange(self.n_machines), small, 1.0, "gram", None, lift, count / self.base.n_features, COARSE_TOL
        )
