"""One fit of batch machines: kernel values of X, machines of the core, fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..base import wiped
from ..base.fit import Training
from ..base.labels import libsvm_layout, read_only


class BatchTraining(Training):
    """Machines over the rows of X. A subclass sets `core` and `n_steps`.

    Parameters
    ----------
    estimator : KernelEstimator
        Estimator that is being fitted; the attributes `settings` are set.
    X : {ndarray, sparse matrix}
        Checked rows, or the kernel matrix.
    y : ndarray or None
        Labels or targets, as callbacks see them.
    rows : ndarray, default=None
        X is a matrix of kernel values, whatever the kernel is, and these are its rows and columns that are trained on.
        `y` belongs to these. None: all rows.
    """

    core: Any
    #: Trains the machines of the core elsewhere; None: the core does.
    card: Any = None
    #: Whether a callable kernel computes all values at once, and the model keeps X instead of support vectors.
    calls_once = False
    #: Attributes of the estimator that are set before training.
    settings: tuple[str, ...] = ("_gamma", "_frame")

    def __init__(self, estimator: Any, X: Any, y: np.ndarray | None, rows: np.ndarray | None = None) -> None:
        self.estimator, self.X, self.y, self.rows = estimator, X, y, rows
        #: Whether the model has no support vectors, because all kernel values are given.
        self.given = estimator.kernel == "precomputed" or (self.calls_once and callable(estimator.kernel))
        #: Bytes for kernel values.
        self.cache_bytes = int(estimator.cache_size * 2**20)
        self.values = self._make_values()
        self.threads = estimator._training_threads()

    def _make_values(self) -> Any:
        """Kernel values of the rows. A compressed copy of the rows takes part of the bytes."""
        matrix = self.estimator._matrix(self.X)
        source = self.estimator._source(matrix, self.X.__getitem__, self.rows)
        values = _core.Values(source, matrix, self.cache_bytes // 2)
        self.cache_bytes -= values.copy_bytes
        return values

    def advance(self, steps: int | None) -> bool:
        return (self.card or self.core).learn(self.values, self.threads, 2**62 if steps is None else steps)

    def follow(self, value: float) -> None:
        """Go on with a larger value of the parameter `path` in the registry, unless the estimator restarts.

        The result is that of training with this value from the start.
        """
        raise NotImplementedError

    def solution(self) -> dict[str, Any]:
        """What predictions need, as attributes of the core, and why machines stopped unless all of them finished."""
        return self.core.attributes("stopped")

    def attributes(self, unfinished: str) -> dict[str, Any]:
        found = self.core.attributes(unfinished or "stopped")
        rows = found.pop("row")
        attributes = {f"{name}_": value for name, value in libsvm_layout(found).items()}
        attributes["support_vectors_"] = read_only(np.empty((0, 0)) if self.given else wiped.take(self.X, rows))
        settings = {name: getattr(self.estimator, name) for name in self.settings}
        return {**attributes, **settings, "_cache": {}}


class ClassTraining(BatchTraining):
    """Machines of classes.

    ``_training(X, codes, sample_weight, rows)`` of an estimator whose ``classes_`` and ``_gamma`` are set returns one.

    Parameters
    ----------
    estimator : KernelClassifier
        Estimator that is being fitted.
    X : {ndarray, sparse matrix}
        Checked rows, or a matrix of kernel values.
    codes : ndarray
        Class of each row.
    weights : ndarray, default=None
        Weights of the rows; rows of weight zero are not counted in `largest_pair`.
    rows : ndarray, default=None
        Rows of the matrix, see :class:`BatchTraining`.
    """

    settings = (*BatchTraining.settings, "classes_")

    def __init__(
        self,
        estimator: Any,
        X: Any,
        codes: np.ndarray,
        weights: np.ndarray | None = None,
        rows: np.ndarray | None = None,
    ) -> None:
        super().__init__(estimator, X, estimator.classes_[codes], rows)
        #: Rows of the largest pair of classes.
        counted = codes if weights is None else codes[weights > 0]
        self.largest_pair = int(np.sort(np.bincount(counted))[-2:].sum())
