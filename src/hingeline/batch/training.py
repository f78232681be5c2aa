"""One fit of batch machines: kernel values of X, machines of the core, fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..base.fit import Training
from ..base.labels import libsvm_layout, read_only


class BatchTraining(Training):
    """Machines over the rows of X. ``_prepare`` of the estimator sets `core` and `n_steps`.

    Parameters
    ----------
    estimator : KernelClassifier
        Estimator that is being fitted; ``classes_`` and ``_gamma`` are set.
    X : {ndarray, sparse matrix}
        Checked rows, or the kernel matrix.
    codes : ndarray
        Class of each row.
    weights : ndarray, default=None
        Weights of the rows; rows of weight zero are not counted in `largest_pair`.
    """

    core: Any

    def __init__(self, estimator: Any, X: Any, codes: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.estimator, self.X, self.y = estimator, X, estimator.classes_[codes]
        #: Bytes for kernel values.
        self.cache_bytes = int(estimator.cache_size * 2**20)
        self.values = self._make_values(_core.Matrix(X))
        #: Rows of the largest pair of classes.
        counted = codes if weights is None else codes[weights > 0]
        self.largest_pair = int(np.sort(np.bincount(counted))[-2:].sum())
        self.threads = estimator._training_threads()

    def _make_values(self, matrix: _core.Matrix) -> Any:
        """Kernel values of the rows. A compressed copy of the rows takes part of the bytes."""
        source = self.estimator._source(matrix, self.X.__getitem__)
        values = _core.Values(source, matrix, self.cache_bytes // 2)
        self.cache_bytes -= values.copy_bytes
        return values

    def advance(self, steps: int | None) -> bool:
        return self.core.learn(self.values, self.threads, 2**62 if steps is None else steps)

    def attributes(self, unfinished: str) -> dict[str, Any]:
        found = self.core.attributes(unfinished or "stopped")
        rows = found.pop("row")
        attributes = {f"{name}_": value for name, value in libsvm_layout(found).items()}
        precomputed = self.estimator.kernel == "precomputed"
        attributes["support_vectors_"] = read_only(np.empty((0, 0)) if precomputed else self.X[rows])
        return {**attributes, "classes_": self.estimator.classes_, "_gamma": self.estimator._gamma, "_cache": {}}
