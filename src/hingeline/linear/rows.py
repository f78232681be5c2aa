"""The rows of linear machines as the driver of the finite Newton method sees them: in memory, or in partitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import _core

#: Columns of the margins that a source returns.
LOSS, PULL, SQUARES, ACTIVE, HINGE = 0, 1, 3, 4, 5
#: One row in `THIN` is used for a first solution (heuristic 3 of the paper), repeatedly, as long as at least
#: `ROWS_PER_WEIGHT` rows are left for each weight.
THIN, ROWS_PER_WEIGHT = 16, 16
#: A sample may be solved to its end only if it is at most this share of the rows; otherwise `FEW_ITERATIONS` do.
LARGE_SAMPLE, FEW_ITERATIONS = 0.05, 3
#: Entries below which a pass is too cheap for a sample to pay.
FEW_ENTRIES = 500_000
#: Dense rows with at most this share of nonzero entries are copied to CSR: a sparse entry costs five dense ones.
SPARSE_BREAK_EVEN = 0.2


class Clip(NamedTuple):
    """A loss, defined by its slope ``clip(margin - t f, low, high)``."""

    margin: float
    low: float
    high: float


CLIPS = {
    "squared_hinge": Clip(1.0, 0.0, np.inf),
    "huber": Clip(1.0, 0.0, 2.0),
    "squared": Clip(1.0, -np.inf, np.inf),
}


class Source(Protocol):
    """Where sums over the rows come from. Arrays have one line per machine of `which`.

    Implemented by ``_core.LinearRows`` (rows in memory) and :class:`hingeline.linear.dask.rows.DaskRows` (partitions).
    """

    @property
    def n_passes(self) -> float:
        """Passes over the rows so far; partial passes count by their share of the rows."""

    def set_clip(self, clip: Clip) -> None:
        """Change the loss."""

    def use_hessians(self, sketch: int, precise: bool) -> None:
        """Announce that Hessians will be asked for, from one row in `sketch`; `precise`: in double throughout."""

    def start(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Put machines at points; margins and gradients there."""

    def aim(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Set the targets of machines; margins and gradients there."""

    def slopes(self, which: np.ndarray, deltas: np.ndarray) -> np.ndarray:
        """First and second derivatives on the lines from the points to the targets."""

    def move(
        self, which: np.ndarray, deltas: np.ndarray, points: np.ndarray, hessians: list[Any]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step by `deltas` towards the targets, which leads to `points`, and update `hessians` (None: not kept).

        Returns margins, corrections of the gradients interpolated between both ends of the lines, and for each matrix
        whether it was computed from scratch.
        """

    def hessian(self, machine: int, matrix: np.ndarray) -> None:
        """Add the lower triangle of a machine's Hessian at the current point."""

    def curvature(self, which: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Multiply the machines' Hessians by directions."""

    def diagonal(self, machine: int) -> np.ndarray:
        """Diagonal of a machine's Hessian."""

    def violation(self, which: np.ndarray, points: np.ndarray, curved: bool) -> np.ndarray:
        """Violations of the dual's optimality conditions; `points` are those that the multipliers make up."""

    def largest_output(self, machine: int) -> float:
        """Largest absolute decision value of a machine among the rows with a weight (at most one threshold)."""


class MultiplierSource(Source, Protocol):
    """A source that can also return one value per row."""

    def pulls(self, machine: int) -> np.ndarray:
        """Slopes of the losses times weights and labels, one for each row."""


class Sample(NamedTuple):
    """A problem over a sample of the rows or in fewer coordinates. Its minimum is the start for some machines."""

    machines: np.ndarray
    problem: Any
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


class Problem(Protocol):
    """Machines over the same rows."""

    n_rows: int
    n_machines: int
    n_features: int
    #: Thresholds per machine (0: no intercept), and length of its weight vector, thresholds included.
    thresholds: int
    length: int
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
    #: Numbers of the rows that take part; None: all.
    rows: np.ndarray | None
    #: Passes over the rows that were made to set up the problem.
    setup_passes: float
    #: Whether Hessians are always computed in double.
    precise: bool

    def source(self, clip: Clip) -> Any:
        """The rows, with all machines at zero (a :class:`Source`)."""

    def samples(self, solver: str) -> list[Sample]:
        """Samples whose minima are worth computing before this problem is solved with `solver`."""


def _is_mapped(X: Any) -> bool:
    """Whether X is a view of a memory-mapped file; there may be no room for a copy of it."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def training_matrix(X: Any) -> _core.Matrix:
    """The rows in the core's form: a CSR copy of dense rows that are mostly zeros."""
    matrix = _core.Matrix(X)
    if _is_mapped(X):
        return matrix
    some = X[:: max(1, X.shape[0] // 512)] if matrix.is_dense else X
    if matrix.is_dense and np.count_nonzero(some) <= SPARSE_BREAK_EVEN * some.size:
        return matrix.compressed(2 * SPARSE_BREAK_EVEN) or matrix
    return matrix


@dataclass
class LocalProblem:
    """Machines over rows in memory: a :class:`Problem`.

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
    rows : ndarray of int64, default=None
        Rows that take part; None: all.
    """

    matrix: _core.Matrix
    weights: np.ndarray
    thresholds: int
    offset: float
    threads: int
    codes: np.ndarray | None = None
    rows: np.ndarray | None = None

    in_memory = True
    hessian_bytes = 1 << 30
    setup_passes = 0.0
    precise = False

    ordered = property(lambda self: self.codes is not None)
    n_machines = property(lambda self: self.weights.shape[0])
    n_rows = property(lambda self: self.weights.shape[1])
    n_features = property(lambda self: self.matrix.shape[1])
    length = property(lambda self: self.n_features + self.thresholds)
    entries_per_row = property(lambda self: self.matrix.entries / self.matrix.shape[0])
    dense = property(lambda self: self.matrix.is_dense)

    def source(self, clip: Clip) -> MultiplierSource:
        """The rows, with all machines at zero."""
        return self._source(clip)

    def _source(self, clip: Clip, **more: Any) -> MultiplierSource:
        source: MultiplierSource = _core.LinearRows(
            self.matrix,
            np.ascontiguousarray(self.weights),
            np.arange(self.n_machines),
            thresholds=self.thresholds,
            offset=self.offset,
            clip=clip,
            rows=self.rows,
            codes=self.codes,
            threads=self.threads,
            **more,
        )
        return source

    def samples(self, solver: str) -> list[Sample]:
        """One row in `THIN`, or in fewer where that leaves too few; none where it always does, or for other solvers.

        Conjugate gradients start from zero: their first iterations are as cheap as a sample.
        """
        thin = min(THIN, self.n_rows // (ROWS_PER_WEIGHT * self.length))
        if solver != "gram" or thin < 2 or self.n_rows * self.entries_per_row < FEW_ENTRIES:
            return []
        count = self.n_rows // thin
        places = np.arange(count) * thin + np.random.default_rng(0).integers(0, thin, size=count)
        codes = None if self.codes is None else self.codes[places]
        rows = places if self.rows is None else self.rows[places]
        small = replace(self, weights=self.weights[:, places], rows=rows, codes=codes)
        share = small.n_rows / self.n_rows
        most = FEW_ITERATIONS if share > LARGE_SAMPLE else None
        return [Sample(np.arange(self.n_machines), small, share, "gram", most)]
