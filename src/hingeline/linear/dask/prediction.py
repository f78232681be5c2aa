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


def _count_right(model: Any, X: Any, y: Any, sample_weight: Any, number: int) -> np.ndarray:
    n_rows = X.shape[0]
    if n_rows != len(y) or (sample_weight is not None and len(sample_weight) != n_rows):
        raise ValueError(f"X, y and sample_weight have different numbers of rows in partition {number}.")
    if n_rows == 0:
        return np.zeros(2)
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    right = model.predict(X) == np.asarray(y).reshape(n_rows)
    return np.array([weights[right].sum(), weights.sum()])


def compute_accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Share of the rows, by weight, that are predicted correctly, in one pass."""
    check_is_fitted(estimator)
    parts = Partitions(X, y=y, sample_weight=sample_weight)
    model = literal(_strip(estimator))
    tasks = [delayed(_count_right)(model, *part) for part in parts.each()]
    right, total = compute(tree(add_arrays, tasks))[0]
    return float(right / total) if total else float("nan")
