"""The problem of linear machines over the same rows: one class, with rows in memory or in partitions behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from .. import _core
from .sums import Clip, MemorySource, Source

if TYPE_CHECKING:
    from .landmarks import Landmarks

#: One row in `THIN` is used for a first solution (heuristic 3 of the paper), repeatedly, as long as at least
#: `ROWS_PER_WEIGHT` rows are left for each weight.
THIN, ROWS_PER_WEIGHT = 16, 16
#: A sample may be solved to its end only if it is at most this share of the rows; otherwise `FEW_ITERATIONS` do.
LARGE_SAMPLE, FEW_ITERATIONS = 0.05, 3
#: Entries below which a pass is too cheap for a sample to pay.
FEW_ENTRIES = 500_000
#: Dense rows with at most this share of nonzero entries are copied to CSR: a sparse entry costs five dense ones.
SPARSE_BREAK_EVEN = 0.2


class Sample(NamedTuple):
    """A problem over a sample of the rows or in fewer coordinates. Its minimum is the start for some machines."""

    machines: np.ndarray
    problem: Problem
    #: Rows of the sample divided by all rows of these machines.
    share: float
    #: Solver of Newton's systems, and Newton iterations at most (None: no other limit).
    solver: str
    max_iter: int | None
    #: Points of the full problem from points of this one; None: they are the same.
    lift: Callable[[np.ndarray], np.ndarray] | None = None
    #: Cost of a pass over the sample, as a share of a pass over all rows; None: `share`.
    cost: float | None = None
    #: Accuracy of the minimum.
    tol: float = 1e-3

    def restore(self, points: np.ndarray) -> np.ndarray:
        """Points of the full problem."""
        return points if self.lift is None else self.lift(points)


class Rows:
    """Rows with the labels and weights of their machines: the strategy of a :class:`Problem`."""

    n_rows: int
    n_machines: int
    n_features: int
    #: Thresholds per machine (0: no intercept).
    thresholds: int
    #: Whether classes are ordered: a row has a loss for each threshold.
    ordered: bool
    #: Mean number of entries of a row, and whether rows are dense.
    entries_per_row: float
    dense: bool
    #: Whether the rows are in memory. If so multipliers are published, and a sketch of the Hessian may pay; in
    #: partitions a worse step costs a round.
    in_memory: bool
    #: Bytes that the Hessians of all machines may take before solver='auto' means 'cg'.
    hessian_bytes: int
    #: Passes over the rows that were made to set up the problem.
    setup_passes: float
    #: Numbers of the rows that take part; None: all.
    numbers: np.ndarray | None = None
    #: Typical size of the outputs: 1 for labels, the mean magnitude of targets.
    scale = 1.0

    @property
    def length(self) -> int:
        """Length of a machine's weight vector, thresholds included."""
        return self.n_features + self.thresholds

    def source(self, clip: Clip) -> Source:
        """Sums over the rows, with all machines at zero."""
        raise NotImplementedError

    def samples(self, solver: str) -> list[Sample]:
        """Samples whose minima are worth computing before the problem is solved with `solver`."""
        raise NotImplementedError


@dataclass
class Problem:
    """Machines over the same rows.

    Parameters
    ----------
    rows : Rows
        Rows, labels and weights.
    coordinates : ndarray of shape (n_coordinates, n_features), default=None
        Machines are trained in these coordinates of the rows (see :mod:`hingeline.linear.mapped`); None: the rows' own.
    coarsen : callable, default=None
        The same machines in fewer coordinates, given the problem and the solver, if that is worth solving first.
    """

    rows: Rows
    coordinates: np.ndarray | None = None
    coarsen: Callable[[Problem, str], Sample | None] | None = None

    def __post_init__(self) -> None:
        rows, B = self.rows, self.coordinates
        self.n_machines, self.n_rows, self.in_memory = rows.n_machines, rows.n_rows, rows.in_memory
        self.n_features = rows.n_features if B is None else len(B)
        self.length = self.n_features + rows.thresholds
        # Rows in coordinates are dense, and their Hessians are always computed in double.
        self.precise = B is not None
        self.dense = rows.dense or B is not None
        self.entries_per_row = rows.entries_per_row if B is None else float(rows.n_features)

    def source(self, clip: Clip) -> Source:
        """Sums over the rows, with all machines at zero."""
        if self.coordinates is None:
            return self.rows.source(clip)
        from .mapped import MappedSource

        return MappedSource(self.rows.source(clip), self.coordinates)

    def samples(self, solver: str) -> list[Sample]:
        """Samples whose minima are worth computing before this problem is solved with `solver`."""
        coarse = None if self.coarsen is None else self.coarsen(self, solver)
        if coarse is not None:
            return [coarse]
        found = self.rows.samples(solver)
        if self.coordinates is None:
            return [one._replace(problem=replace(one.problem, coarsen=self.coarsen)) for one in found]
        return [one._replace(problem=Problem(one.problem.rows, self.coordinates)) for one in found]


# ---- rows in memory --------------------------------------------------------------------------------


def _is_mapped(X: Any) -> bool:
    """Whether X is a view of a memory-mapped file; there may be no room for a copy of it."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def scale_of(magnitudes: float, weights: float) -> float:
    """Mean magnitude of targets from two sums; 1 if there is none."""
    mean = magnitudes / weights if weights > 0 else 0.0
    return mean if mean > 0 else 1.0


def is_mostly_zeros(X: np.ndarray) -> bool:
    """Whether some of the rows suggest that a compressed copy is faster."""
    some = X[:: max(1, X.shape[0] // 512)]
    return bool(np.count_nonzero(some) <= SPARSE_BREAK_EVEN * some.size)


def make_matrix(X: Any) -> _core.Matrix:
    """The rows in the core's form: a CSR copy of dense rows that are mostly zeros."""
    matrix = _core.Matrix(X)
    if _is_mapped(X):
        return matrix
    if matrix.is_dense and is_mostly_zeros(X):
        return matrix.compressed(2 * SPARSE_BREAK_EVEN) or matrix
    return matrix


@dataclass
class MemoryRows(Rows):
    """Rows in memory.

    Parameters
    ----------
    matrix : Matrix
        Rows in the core's form.
    weights : ndarray of shape (n_machines, n_rows)
        Signed weights: sample weight times label; unsigned with `codes`.
    thresholds, offset : int, float
        Thresholds per machine (0: no intercept), and the factor of a threshold in the outputs.
    threads : int
        Threads.
    codes : ndarray of int32, default=None
        Class of each row, for several thresholds.
    numbers : ndarray of int64, default=None
        Rows that take part; None: all.
    X : {ndarray, sparse matrix}, default=None
        The rows behind `matrix`, for :meth:`columns`, `landmarks` and the L1 penalty.
    landmarks : Landmarks, default=None
        The rows stand for their kernel values against these, which are computed in every pass.
    targets : ndarray of float64, default=None
        Targets of regression; `weights` are unsigned then.
    """

    matrix: _core.Matrix
    weights: np.ndarray
    thresholds: int
    offset: float
    threads: int
    codes: np.ndarray | None = None
    numbers: np.ndarray | None = None
    X: Any = None
    landmarks: Landmarks | None = None
    targets: np.ndarray | None = None

    in_memory, hessian_bytes, setup_passes = True, 1 << 30, 0.0

    def __post_init__(self) -> None:
        self.n_machines, self.n_rows = self.weights.shape
        self.ordered = self.codes is not None
        self.n_features, self.dense = self.matrix.shape[1], self.matrix.is_dense
        self.entries_per_row = self.matrix.entries / self.matrix.shape[0]
        if self.targets is not None:
            self.scale = scale_of(np.abs(self.targets) @ self.weights[0], self.weights[0].sum())
        if self.landmarks is not None:
            self.n_features, self.dense = self.landmarks.rows.shape[0], True
            self.entries_per_row = float(self.n_features)

    def source(self, clip: Clip) -> MemorySource:
        return MemorySource(
            self.matrix,
            np.ascontiguousarray(self.weights),
            np.arange(self.n_machines),
            thresholds=self.thresholds,
            offset=self.offset,
            clip=clip,
            rows=self.numbers,
            codes=self.codes,
            targets=self.targets,
            landmarks=None if self.landmarks is None else self.landmarks.packed,
            threads=self.threads,
        )

    def columns(self, which: slice) -> MemoryRows:
        """The rows with some of their columns: of kernel values those against some of the landmarks."""
        if self.landmarks is not None:
            return replace(self, landmarks=self.landmarks.take(which))
        return replace(self, X=self.X[:, which], matrix=_core.Matrix(self.X[:, which]))

    @property
    def has_features(self) -> bool:
        """Whether rows are their features, and have one loss."""
        return self.X is not None and self.landmarks is None and not self.ordered

    def chosen(self, some: np.ndarray, weights: np.ndarray) -> Any:
        """Some rows, times the roots of their `weights`, with the feature of the threshold."""
        places = some if self.numbers is None else self.numbers[some]
        roots = np.sqrt(weights)[:, np.newaxis]
        chosen, offsets = self.X[places], np.full((len(some), self.thresholds), -self.offset)
        if sp.issparse(chosen):
            return sp.csr_matrix(sp.hstack([chosen, offsets])).multiply(roots).tocsr()
        return np.hstack([chosen, offsets]) * roots

    def longest(self, some: np.ndarray, weights: np.ndarray, most: int) -> Any:
        """The longest of some rows as `chosen` returns them; `weights` are those of all rows."""
        squares = row_norms(self.X, squared=True)
        places = some if self.numbers is None else self.numbers[some]
        longest = some[np.argsort(-weights[some] * squares[places], kind="stable")[:most]]
        return self.chosen(longest, weights[longest])

    def samples(self, solver: str) -> list[Sample]:
        """One row in `THIN`, or in fewer where that leaves too few; none where it always does, or for other solvers.

        Conjugate gradients start from zero: their first iterations are as cheap as a sample. Kernel values are kept for
        the sample, which is passed over many times.
        """
        thin = min(THIN, self.n_rows // (ROWS_PER_WEIGHT * self.length))
        if solver != "gram" or thin < 2 or self.n_rows * self.entries_per_row < FEW_ENTRIES:
            return []
        count = self.n_rows // thin
        places = np.arange(count) * thin + np.random.default_rng(0).integers(0, thin, size=count)
        codes = None if self.codes is None else self.codes[places]
        numbers = places if self.numbers is None else self.numbers[places]
        targets = None if self.targets is None else self.targets[places]
        small = replace(self, weights=self.weights[:, places], numbers=numbers, codes=codes, targets=targets)
        if self.landmarks is not None:
            values = self.landmarks.values(self.X[numbers], self.threads)
            small = replace(small, X=values, matrix=_core.Matrix(values), numbers=None, landmarks=None)
        share = small.n_rows / self.n_rows
        most = FEW_ITERATIONS if share > LARGE_SAMPLE else None
        return [Sample(np.arange(self.n_machines), Problem(small), share, "gram", most)]
