"""Scores from decision values, without a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin

from .._sklearn import response_methods, scorers_in


class DecidedClasses(ClassifierMixin, BaseEstimator):
    """Classifier whose answers for one set of samples are known. Scorers of scikit-learn take it for a fitted one.

    Parameters
    ----------
    classes : ndarray
        Labels.
    labels : ndarray
        Predicted label of each sample.
    decisions : ndarray
        Decision values of the samples, as ``decision_function`` returns them.
    """

    def __init__(self, classes: np.ndarray, labels: np.ndarray, decisions: np.ndarray) -> None:
        self.classes_, self.labels, self.decisions = classes, labels, decisions

    def predict(self, X: Any) -> np.ndarray:
        return self.labels

    def decision_function(self, X: Any) -> np.ndarray:
        return self.decisions


class DecidedTargets(RegressorMixin, BaseEstimator):
    """Regressor whose predictions for one set of samples are known."""

    def __init__(self, predictions: np.ndarray) -> None:
        self.predictions = predictions

    def predict(self, X: Any) -> np.ndarray:
        return self.predictions


class DecidedOutliers(OutlierMixin, BaseEstimator):
    """Outlier detector whose predictions and decision values for one set of samples are known."""

    def __init__(self, signs: np.ndarray, decisions: np.ndarray) -> None:
        self.signs, self.decisions = signs, decisions

    def predict(self, X: Any) -> np.ndarray:
        return self.signs

    def decision_function(self, X: Any) -> np.ndarray:
        return self.decisions


def score_names(scorer: Any) -> tuple[str, ...] | None:
    """Names of the scores of a scorer in ascending order, none for one score; None if only a call tells."""
    several = scorers_in(scorer)
    if several is not None:
        return tuple(sorted(several))
    return () if response_methods(scorer) else None


def needs_answers_only(scorer: Any) -> bool:
    """Whether a scorer uses nothing of an estimator but its predictions and decision values."""
    parts = scorers_in(scorer)
    if parts is not None:
        return all(map(needs_answers_only, parts.values()))
    return not {"predict", "decision_function"}.isdisjoint(response_methods(scorer))


def accuracy(labels: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> float:
    """Accuracy with the bits of :func:`sklearn.metrics.accuracy_score`."""
    right = labels == y
    if sample_weight is None and len(right):
        return float(np.count_nonzero(right) / len(right))
    return float(np.average(right, weights=sample_weight))
