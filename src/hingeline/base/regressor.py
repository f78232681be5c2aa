"""Targets of the regressors, and weights of their samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite, column_or_1d

from .rows import LARGEST, WeightedSamples, flatten_column


def check_targets(y: Any) -> np.ndarray:
    """Targets of a regressor: one finite number for each sample, in double.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, 1)
        Targets; a column causes a ``DataConversionWarning``, as in scikit-learn.

    Returns
    -------
    ndarray of shape (n_samples,)
        Contiguous, float64; a view if `y` is such an array.
    """
    column = column_or_1d(flatten_column(y))
    try:
        targets = np.ascontiguousarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        kinds = sorted({type(value).__name__ for value in column.tolist()})
        raise ValueError(
            f"Unknown label type: y must hold numbers. Got {column.dtype} with values of type {' and '.join(kinds)}. "
            "Convert y with numpy.asarray(y, dtype=float), or use a classifier."
        ) from None
    assert_all_finite(targets, input_name="y")
    most = np.abs(targets).max(initial=0.0)
    if most > LARGEST:
        raise ValueError(f"y must not exceed {LARGEST:g} in magnitude. Got {most:g}. Scale the targets.")
    return targets


class WeightedTargets(WeightedSamples, RegressorMixin):
    """Targets, weights of samples, and the score of a regressor: the coefficient of determination.

    A subclass is derived from :class:`~hingeline.base.rows.RowEstimator` as well, which comes after this one.
    """

    def _validate_targets(self, X: Any, y: Any, *, finite: bool = True) -> tuple[Any, np.ndarray]:
        """Checked X (which may hold infinity and NaN unless `finite`) and targets."""
        X, y = self._check_rows(X, y, reset=True, finite=finite)
        return X, check_targets(y)
