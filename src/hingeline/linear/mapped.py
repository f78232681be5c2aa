"""Linear machines in the space of the Nystroem map (see :mod:`hingeline.linear.landmarks` for the coordinates)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import _core
from .landmarks import Landmarks, Spectrum
from .layout import Layout
from .problem import FEW_ENTRIES, MemoryRows, Problem, Sample
from .sums import Source, Sums

#: Coordinates are computed for fewer rows than this times machines times landmarks: mapping a row costs as much as a
#: row and column of a Hessian, and a fit transforms about ten Hessians per machine, at the cost of two products each.
TRANSFORMS = 20
#: With fewer than `FEW_ROWS` rows for each landmark, a machine starts from its minimum over the first of the landmarks
#: (or over the coordinates with the largest eigenvalues): one in `COARSER`, at least `FEWEST`, to the accuracy
#: `COARSE_TOL`. With more rows a sample of them is cheaper.
FEW_ROWS, COARSER, FEWEST, COARSE_TOL = 100, 4, 20, 0.1


# ---- problems --------------------------------------------------------------------------------------


def build_problems(
    layout: Layout,
    X: Any,
    codes: np.ndarray,
    weights: np.ndarray,
    landmarks: Landmarks,
    found: Spectrum,
    *,
    threads: int,
    most_bytes: float,
) -> list[Problem]:
    """Problems of all machines in the coordinates ``B k``.

    For few rows and many machines these are computed. Otherwise Hessians are transformed, and the kernel values are
    kept if they take at most `most_bytes`.
    """
    n, m = X.shape[0], landmarks.rows.shape[0]
    B = found.coordinates().B

    def split(values: Any, layout: Layout = layout) -> list[MemoryRows]:
        own = layout.split(_core.Matrix(values), codes, weights, np.arange(layout.n_machines), threads)
        return [replace(rows, X=values) for _, rows in own]

    if n < TRANSFORMS * layout.n_machines * m and 8 * n * len(B) <= most_bytes:
        values = landmarks.coordinates(X, B, threads)
        return [Problem(rows, coarsen=lead) for rows in split(values, replace(layout, n_features=len(B)))]
    size = n * m * landmarks.dtype.itemsize
    if size <= most_bytes:
        bases = split(landmarks.values(X, threads))
    elif landmarks.packed is not None:
        bases = [replace(rows, X=X, landmarks=landmarks) for rows in split(landmarks.kernel.place(X))]
    else:
        raise ValueError(
            f"cache_size is too small: the values of a kernel that is not computed by the core take "
            f"{size / 2**20:.0f} MB. Raise cache_size, or use 'rbf', 'poly', 'sigmoid' or 'linear'."
        )
    return [map_rows(rows, found) for rows in bases]


def map_rows(rows: MemoryRows, spectrum: Spectrum) -> Problem:
    """The machines over vectors of kernel values in mapped coordinates."""
    own = spectrum.coordinates()

    def coarsen(problem: Problem, solver: str) -> Sample | None:
        """The machines over the first landmarks, in coordinates of their own."""
        count = count_coarse(rows.n_rows, rows.n_features, solver)
        if not count:
            return None
        first = spectrum.lead(count)
        B = first.coordinates().B
        # The point with the same outputs, and for a positive kernel with the same norm: B K_mm = diag(s)^1/2 U^T.
        turn = B @ (own.vectors / np.linalg.norm(own.B, axis=1)[:, np.newaxis])[:, :count].T

        def lift(points: np.ndarray) -> np.ndarray:
            return np.concatenate([points[:, : len(B)] @ turn, points[:, len(B) :]], axis=1)

        small = map_rows(rows.columns(slice(count)), first)
        machines = np.arange(rows.n_machines)
        return Sample(machines, small, 1.0, "gram", None, lift, count / rows.n_features, COARSE_TOL)

    return Problem(rows, own.B, coarsen)


def lead(problem: Problem, solver: str) -> Sample | None:
    """The machines over the coordinates with the largest eigenvalues: the last ones."""
    rows, r = problem.rows, problem.n_features
    count = count_coarse(rows.n_rows, r, solver)
    if not count or not isinstance(rows, MemoryRows):
        return None

    def lift(points: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros((len(points), r - count)), points], axis=1)

    small = replace(problem, rows=rows.columns(slice(r - count, r)))
    return Sample(np.arange(rows.n_machines), small, 1.0, solver, None, lift, count / r, COARSE_TOL)


def count_coarse(n_rows: int, width: int, solver: str) -> int:
    """Number of landmarks, or coordinates, of the problem that is solved first; 0 if there is none."""
    few = width // COARSER
    pays = n_rows < FEW_ROWS * width and n_rows * width >= FEW_ENTRIES
    return few if solver == "gram" and pays and few >= FEWEST else 0


# ---- sums ------------------------------------------------------------------------------------------


class MappedSource:
    """Sums over rows in mapped coordinates, from sums over vectors of kernel values.

    Parameters
    ----------
    inner : Source
        Rows as vectors of kernel values.
    coordinates : ndarray of shape (n_coordinates, n_landmarks)
        The matrix B.
    """

    def __init__(self, inner: Source, coordinates: np.ndarray) -> None:
        self.inner = inner
        self.B = coordinates
        self.hessians: dict[int, np.ndarray] = {}
        # Unlike gradients and Hessians these do not depend on the coordinates.
        self.set_clip, self.slopes, self.largest_output = inner.set_clip, inner.slopes, inner.largest_output

    @property
    def n_passes(self) -> float:
        return self.inner.n_passes

    def _down(self, points: np.ndarray) -> np.ndarray:
        """Weights of kernel values from weights of coordinates; thresholds stay."""
        r = len(self.B)
        return np.ascontiguousarray(np.concatenate([points[:, :r] @ self.B, points[:, r:]], axis=1))

    def _up(self, lines: np.ndarray) -> np.ndarray:
        """Sums over coordinates from sums over kernel values."""
        m = self.B.shape[1]
        return np.concatenate([lines[:, :m] @ self.B.T, lines[:, m:]], axis=1)

    def _up_gradient(self, sums: Sums) -> Sums:
        return sums._replace(gradient=self._up(sums.gradient))

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

    def use_hessians(self, sketch: int, precise: bool) -> None:
        """Hessians of kernel values are nearly singular: always in double."""
        self.inner.use_hessians(sketch, True)

    def start(self, which: np.ndarray, points: np.ndarray) -> Sums:
        return self._up_gradient(self.inner.start(which, self._down(points)))

    def aim(self, which: np.ndarray, points: np.ndarray) -> Sums:
        return self._up_gradient(self.inner.aim(which, self._down(points)))

    def move(
        self, which: np.ndarray, deltas: np.ndarray, points: np.ndarray, hessians: list[np.ndarray | None]
    ) -> tuple[Sums, np.ndarray]:
        own = [None if to is None else self.hessians[k] for k, to in zip(which.tolist(), hessians, strict=True)]
        sums, rebuilt = self.inner.move(which, deltas, self._down(points), own)
        for lower, to in zip(own, hessians, strict=True):
            if lower is not None and to is not None:
                to[...] = self._both(lower)
        return self._up_gradient(sums), rebuilt

    def hessian(self, machine: int, matrix: np.ndarray) -> None:
        length = len(matrix) - len(self.B) + self.B.shape[1]
        lower = self.hessians.setdefault(machine, np.empty((length, length)))
        lower.fill(0.0)
        self.inner.hessian(machine, lower)
        matrix += self._both(lower)

    def curvature(self, which: np.ndarray, directions: np.ndarray) -> np.ndarray:
        return self._up(self.inner.curvature(which, self._down(directions)))

    def violation(self, which: np.ndarray, points: np.ndarray, margin: float, curved: bool) -> np.ndarray:
        return self.inner.violation(which, self._down(points), margin, curved)

    def diagonal(self, machine: int) -> np.ndarray:
        """Approximate diagonal of a machine's Hessian: as if its rows were distributed like the landmarks.

        The mean square of a coordinate over the landmarks is then its eigenvalue divided by their number.
        """
        squares = self.inner.diagonal(machine)
        m, values = self.B.shape[1], 1.0 / (self.B**2).sum(axis=1)
        share = squares[:m].sum() / max(float((values**2).sum()), 1e-300)
        return np.concatenate([share * values, squares[m:]])
