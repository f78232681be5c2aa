"""The rows of linear machines, as the driver of the finite Newton method sees them: in memory, or anywhere."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import _core

#: Columns of the margins that a source returns.
LOSS, PULL, SQUARES, ACTIVE, HINGE = 0, 1, 3, 4, 5
#: One row in so many is taken for a first solution (the third heuristic of the paper), again and again, as long as so
#: many rows are left for each weight.
THIN, ROWS_PER_WEIGHT = 16, 16
#: Passes over so few entries are not worth saving.
FEW_ENTRIES = 500_000


class Clip(NamedTuple):
    """A loss by its slope ``clip(margin - t f, low, high)``."""

    margin: float
    low: float
    high: float


CLIPS = {
    "squared_hinge": Clip(1.0, 0.0, np.inf),
    "huber": Clip(1.0, 0.0, 2.0),
    "squared": Clip(1.0, -np.inf, np.inf),
}


class Source(Protocol):
    """What holds the rows. Arrays have one line per machine of `which`."""

    n_passes: float

    def set_clip(self, clip: Clip) -> None:
        """Change the loss."""

    def set_sketch(self, rows: int, precise: bool) -> None:
        """Take one row in so many for Hessians, and products in full precision or not."""

    def start(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Put machines at points: margins and gradients there."""

    def aim(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Aim machines at points: margins and gradients there."""

    def slopes(self, which: np.ndarray, deltas: np.ndarray) -> np.ndarray:
        """First and second derivatives on the way to the points aimed at."""

    def move(
        self, which: np.ndarray, deltas: np.ndarray, points: np.ndarray, hessians: list[Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Step: margins, and what to add to the interpolated gradient; the Hessians follow."""

    def hessian(self, machine: int, matrix: np.ndarray) -> None:
        """Add the lower triangle of a machine's Hessian at the point reached."""

    def curvature(self, which: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Multiply the machines' Hessians with directions."""

    def diagonal(self, machine: int) -> np.ndarray:
        """Diagonal of a machine's Hessian."""


class LocalRows:
    """Rows in memory, on `threads` threads."""

    def __init__(self, part: _core.LinearPart, n_rows: int, threads: int) -> None:
        self.part = part
        self.n_rows = n_rows
        self.threads = threads
        self.n_passes = 0.0
        self.active = 1.0
        self.sketch = 1

    def set_clip(self, clip: Clip) -> None:
        self.part.set_clip(*clip)

    def set_sketch(self, rows: int, precise: bool) -> None:
        self.sketch = rows
        self.part.set_sketch(rows, precise)

    def start(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.n_passes += 1
        margins, gradient, _ = self.part.start(which, points, self.threads)
        self.active = min(1.0, margins[:, ACTIVE].max() / self.n_rows)
        return margins, gradient

    def aim(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.n_passes += 1
        margins, gradient, _ = self.part.aim(which, points, self.threads)
        return margins, gradient

    def slopes(self, which: np.ndarray, deltas: np.ndarray) -> np.ndarray:
        return self.part.slopes(which, deltas, self.threads)

    def move(
        self, which: np.ndarray, deltas: np.ndarray, points: np.ndarray, hessians: list[Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        margins, correction, changed = self.part.move(which, deltas, points, hessians, self.threads)
        self.n_passes += changed.mean() / self.n_rows
        self.active = min(1.0, margins[:, ACTIVE].max() / self.n_rows)
        return margins, correction

    def hessian(self, machine: int, matrix: np.ndarray) -> None:
        self.n_passes += self.active / self.sketch
        self.part.hessian(machine, matrix, self.threads)

    def curvature(self, which: np.ndarray, directions: np.ndarray) -> np.ndarray:
        self.n_passes += self.active
        return self.part.curvature(which, directions, self.threads)

    def diagonal(self, machine: int) -> np.ndarray:
        self.n_passes += self.active
        return self.part.diagonal(machine)

    def violation(self, which: np.ndarray, points: np.ndarray, *, curved: bool) -> np.ndarray:
        """Violations of the dual's optimality conditions, given the points that the multipliers make up."""
        self.n_passes += 1
        return self.part.violation(which, points, 1.0, curved, self.threads)

    def pulls(self, machine: int) -> np.ndarray:
        """Slopes of the losses times weights and labels, one for each row."""
        return self.part.pulls(machine)

    def outputs(self, machine: int) -> np.ndarray:
        """Outputs of a machine for all rows, without its threshold."""
        return self.part.outputs(machine)


class LocalProblem:
    """Machines over rows in memory.

    Parameters
    ----------
    X : ndarray or CSR matrix
        Rows.
    weights : ndarray of shape (n_planes, n_rows)
        Signed weights: sample weight times label; unsigned with `codes`.
    plane_of : ndarray of shape (n_machines,)
        Line of `weights` that a machine has.
    thresholds, offset : int, float
        Thresholds per machine (0: no intercept), and what a threshold is multiplied with.
    codes : ndarray of int32, default=None
        Class of each row, for several thresholds.
    rows : ndarray of int64, default=None
        Rows to take.
    threads : int
        Threads.
    """

    def __init__(
        self,
        X: Any,
        weights: np.ndarray,
        plane_of: np.ndarray,
        *,
        thresholds: int,
        offset: float,
        threads: int,
        codes: np.ndarray | None = None,
        rows: np.ndarray | None = None,
    ) -> None:
        self.matrix = X if isinstance(X, _core.Matrix) else _core.Matrix(X)
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.plane_of = np.ascontiguousarray(plane_of, dtype=np.int64)
        self.thresholds = thresholds
        self.offset = float(offset)
        self.threads = threads
        self.codes = codes
        self.rows = rows
        self.n_rows = self.weights.shape[1]
        self.n_machines = len(self.plane_of)
        self.n_features = self.matrix.shape[1]
        self.length = self.n_features + thresholds

    def source(self, clip: Clip) -> LocalRows:
        """The rows with their machines at zero."""
        part = _core.LinearPart(
            self.matrix,
            self.weights,
            self.plane_of,
            thresholds=self.thresholds,
            offset=self.offset,
            clip=(clip.margin, clip.low, clip.high),
            rows=self.rows,
            codes=self.codes,
        )
        return LocalRows(part, self.n_rows, self.threads)

    def _like(self, weights: np.ndarray, plane_of: np.ndarray, rows: Any, codes: Any) -> LocalProblem:
        return LocalProblem(
            self.matrix,
            weights,
            plane_of,
            thresholds=self.thresholds,
            offset=self.offset,
            threads=self.threads,
            codes=codes,
            rows=rows,
        )

    def thinned(self) -> LocalProblem | None:
        """One row in `THIN`, or in fewer where that would leave too few; None where it always does."""
        thin = min(THIN, self.n_rows // (ROWS_PER_WEIGHT * self.length))
        if thin < 2 or self.n_rows * self.entries_per_row()[0] < FEW_ENTRIES:
            return None
        count = self.n_rows // thin
        places = np.arange(count) * thin + np.random.default_rng(0).integers(0, thin, size=count)
        codes = None if self.codes is None else self.codes[places]
        return self._like(
            self.weights[:, places], self.plane_of, places if self.rows is None else self.rows[places], codes
        )

    def with_planes(self, weights: np.ndarray) -> LocalProblem:
        """The same rows with other machines, one for each line of weights."""
        return self._like(weights, np.arange(len(weights)), self.rows, self.codes)

    def entries_per_row(self) -> tuple[float, bool]:
        """Entries of a row on the average, and whether rows are dense."""
        return self.matrix.entries / self.matrix.shape[0], self.matrix.is_dense
