"""Predictions and scores of linear models on Dask collections."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._sklearn import forget_callbacks
from .partitions import Partitions, add_arrays, compute, da, delayed, literal, tree


def _strip(estimator: Any) -> Any:
    """A copy to send to the workers, without large attributes that prediction does not need."""
    model = copy.copy(estimator)
    forget_callbacks(model)
    for name in ("support_", "dual_coef_", "history_"):
        vars(model).pop(name, None)
    return model


def _call(model: Any, method: str, block: Any, like: np.ndarray) -> np.ndarray:
    if block.shape[0] == 0:
        return like[:0]
    return getattr(model, method)(block)


def map_partitions(estimator: Any, method: str, X: Any) -> Any:
    """Apply a method that takes rows to all partitions: a lazy Dask array."""
    check_is_fitted(estimator)
    parts = Partitions(X)
    model = _strip(estimator)
    plain = copy.copy(model)
    vars(plain).pop("feature_names_in_", None)
    if parts.n_features != model.n_features_in_:
        raise ValueError(
            f"X has {parts.n_features} features, but {type(model).__name__} is expecting {model.n_features_in_} "
            "features as input."
        )
    like = getattr(plain, method)(np.zeros((1, parts.n_features)))
    sent, example = literal(model), literal(like)
    blocks = [
        da.from_delayed(
            delayed(_call)(sent, method, block, example),
            shape=(np.nan if size is None else size, *like.shape[1:]),
            dtype=like.dtype,
        )
        for block, size in zip(parts.blocks, parts.sizes, strict=True)
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def _require_equal(X: Any, y: Any, sample_weight: Any, number: int) -> int:
    """Number of rows of a partition, which must be that of labels and weights."""
    n_rows = int(X.shape[0])
    if n_rows != len(y) or (sample_weight is not None and len(sample_weight) != n_rows):
        raise ValueError(f"X, y and sample_weight have different numbers of rows in partition {number}.")
    return n_rows


def _count_right(model: Any, X: Any, y: Any, sample_weight: Any, number: int) -> np.ndarray:
    n_rows = _require_equal(X, y, sample_weight, number)
    if n_rows == 0:
        return np.zeros(2)
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    right = model.predict(X) == np.asarray(y).reshape(n_rows)
    return np.array([weights[right].sum(), weights.sum()])


def _sum_squares(model: Any, X: Any, y: Any, sample_weight: Any, number: int) -> np.ndarray:
    """Weight, and by weight: sums of targets and of their squares, of squared errors."""
    _require_equal(X, y, sample_weight, number)
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64).reshape(len(y))
    errors = y - (model.predict(X) if len(y) else y)
    return np.array([weights.sum(), weights @ y, weights @ y**2, weights @ errors**2])


def compute_determination(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Coefficient of determination, in one pass."""
    total, linear, squares, errors = _sum_tasks(_sum_squares, estimator, X, y, sample_weight)
    spread = squares - linear**2 / total if total else float("nan")
    if spread <= 0:  # as r2_score: constant targets
        return 1.0 if errors == 0 else 0.0
    return float(1.0 - errors / spread)


def _sum_tasks(task: Any, estimator: Any, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
    """Sum of the results of a task over all partitions."""
    check_is_fitted(estimator)
    parts = Partitions(X, y=y, sample_weight=sample_weight)
    model = literal(_strip(estimator))
    return compute(tree(add_arrays, [delayed(task)(model, *part) for part in parts.each()]))[0]


def compute_accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Share of the rows, by weight, that are predicted correctly, in one pass."""
    right, total = _sum_tasks(_count_right, estimator, X, y, sample_weight)
    return float(right / total) if total else float("nan")
