"""From labels to linear machines: one class against the rest, pairs of classes, ordered classes; and from targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..base.labels import pairs
from .problem import MemoryRows


@dataclass(frozen=True)
class Layout:
    """The machines of an estimator.

    Parameters
    ----------
    kind : {'rest', 'pairs', 'ordinal', 'targets'}
        A class against the rest, pairs of classes, one machine with several thresholds, or regression.
    n_classes, n_features : int
        Numbers of classes and features.
    thresholds, offset : int, float
        Thresholds per machine (0: no intercept), and the factor of a threshold in the outputs.
    class_weight : ndarray of shape (n_classes,)
        Weight of each class.
    """

    kind: str
    n_classes: int
    n_features: int
    thresholds: int
    offset: float
    class_weight: np.ndarray

    @property
    def n_machines(self) -> int:
        """Number of machines."""
        if self.kind in ("ordinal", "targets") or self.n_classes == 2:
            return 1
        return len(pairs(self.n_classes)[0]) if self.kind == "pairs" else self.n_classes

    @property
    def length(self) -> int:
        """Length of a machine's weight vector, thresholds included."""
        return self.n_features + self.thresholds

    def split(
        self, matrix: _core.Matrix, codes: np.ndarray, weights: np.ndarray, which: np.ndarray, threads: int
    ) -> Iterator[tuple[np.ndarray, MemoryRows]]:
        """Rows in memory for the machines `which`, by problems, each with the places in `which` of its machines.

        `codes` are the classes of the rows, or their targets.
        """
        everyone, common = np.arange(len(which)), (self.thresholds, self.offset, threads)
        if len(codes) == 0:
            return
        weights = self.weigh(codes, weights)
        if self.kind == "targets":
            yield everyone, MemoryRows(matrix, weights[np.newaxis], *common, targets=codes)
            return
        if self.kind == "ordinal":
            yield everyone, MemoryRows(matrix, weights[np.newaxis], *common, codes.astype(np.int32))
        elif self.kind == "pairs" and self.n_classes > 2:
            for q, machine in enumerate(which):
                signs = self.signs(codes, machine)
                rows = np.flatnonzero(signs)
                if len(rows):
                    yield everyone[q : q + 1], MemoryRows(matrix, (signs * weights)[:, rows], *common, numbers=rows)
        else:
            planes = np.concatenate([self.signs(codes, machine) for machine in which]) * weights
            yield everyone, MemoryRows(matrix, planes, *common)

    def weigh(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weights of rows times those of their classes."""
        return weights if self.kind == "targets" else weights * self.class_weight[codes]

    def signs(self, codes: np.ndarray, machine: int) -> np.ndarray:
        """Labels of the rows for a machine, one line per threshold; 0 where a row has no part. Targets have none."""
        if self.kind == "targets":
            return np.ones((1, len(codes)))
        if self.kind == "ordinal":
            return np.where(codes > np.arange(self.thresholds)[:, np.newaxis], 1.0, -1.0)
        if self.n_classes == 2:
            return np.where(codes == 1, 1.0, -1.0)[np.newaxis]
        if self.kind == "pairs":
            first, second = (of[machine] for of in pairs(self.n_classes))
            return ((codes == first).astype(np.float64) - (codes == second))[np.newaxis]
        return np.where(codes == machine, 1.0, -1.0)[np.newaxis]
