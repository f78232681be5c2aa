"""Scores and similarities of rows, as a model sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._registry import COMPUTED, DEFINITE
from ..base.kernel import KernelEstimator
from ..base.types import MatrixLike

__all__ = ["scores_of", "similarity_of"]


def scores_of(estimator: Any, X: MatrixLike) -> np.ndarray:
    """Scores of rows: decision values, or probabilities if the estimator has no decision values.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier.
    X : {array, sparse matrix, data frame} of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        Two classes: positive for the second class. More: one column per class.
    """
    if hasattr(estimator, "decision_function"):
        if getattr(estimator, "decision_function_shape", "ovr") == "ovo" and len(estimator.classes_) > 2:
            raise ValueError(
                "decision_function_shape must be 'ovr', which gives one score per class. Got 'ovo'. Call "
                "estimator.set_params(decision_function_shape='ovr')."
            )
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    chances = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    return chances[:, 1] - chances[:, 0] if chances.shape[1] == 2 else chances


def similarity_of(estimator: Any, X: MatrixLike) -> np.ndarray:
    """Cosines between rows in the feature space of the estimator's kernel; without a kernel, of the rows themselves.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier.
    X : {array, sparse matrix, data frame} of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_rows, n_rows)
        Similarities in [-1, 1].
    """
    from sklearn.metrics.pairwise import cosine_similarity, pairwise_kernels  # takes long to import

    kernel = estimator.kernel if isinstance(estimator, KernelEstimator) else "linear"
    if kernel == "linear" or (kernel in COMPUTED and kernel not in DEFINITE):  # then it is no inner product
        return np.clip(cosine_similarity(X), -1, 1)
    if callable(kernel):
        values = np.asarray(kernel(X, X), dtype=np.float64)
    else:
        shape = {"gamma": estimator._gamma, "degree": estimator.degree, "coef0": estimator.coef0}
        values = pairwise_kernels(X, metric=kernel, filter_params=True, **shape)
    size = np.sqrt(np.maximum(np.diagonal(values), np.finfo(float).tiny))
    return np.clip(values / np.outer(size, size), -1, 1)
