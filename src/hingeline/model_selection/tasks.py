"""What differs between classifiers, regressors and outlier detectors when a search trains and scores them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from .._sklearn import is_accuracy
from ..base.labels import require_two
from ..base.regressor import check_targets
from ..base.state import snapshot
from .scores import DecidedClasses, DecidedOutliers, DecidedTargets


class Task:
    """Samples of a search, what estimators of one type learn from them, and their answers.

    Parameters
    ----------
    estimator : estimator
        Estimator of this package.
    X : {array-like, sparse matrix}
        Samples, or the kernel matrix.
    y : array-like
        What scorers compare the answers with.

    Attributes
    ----------
    X : {ndarray, sparse matrix}
        Checked samples.
    y : ndarray
        Checked `y`.
    order : ndarray
        Sample at each place of the kernel matrices.
    largest : int
        Samples of the largest machine.
    """

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self.X, self.y = self._validate(snapshot(estimator), X, y)
        self.order = np.arange(len(self.y))
        self.largest = len(self.y)

    def _validate(self, estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        raise NotImplementedError

    def lesson(self, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """What machines learn for the samples `rows`, and attributes that the estimator has before training."""
        raise NotImplementedError

    def answer(self, estimator: Any, decisions: np.ndarray, fitted: Any) -> np.ndarray:
        """Predictions from decision values."""
        raise NotImplementedError

    def shape(self, estimator: Any, decisions: np.ndarray, fitted: Any) -> np.ndarray:
        """Decision values in the shape of ``decision_function``."""
        return decisions.ravel()

    def decided(self, fitted: Any, answers: np.ndarray, decisions: np.ndarray) -> BaseEstimator:
        """Estimator with these predictions and decision values, for scorers."""
        raise NotImplementedError

    def scores_accuracy(self, scorer: Any) -> bool:
        """Whether a scorer is the accuracy of the predictions."""
        return False


class Classification(Task):
    """Classes. Kernel matrices are ordered by class, so that the values of a pair of classes are neighbours."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        super().__init__(estimator, X, y)
        _, codes, counts = np.unique(self.y, return_inverse=True, return_counts=True)
        self.order = np.argsort(codes, kind="stable")
        self.largest = int(np.sort(counts)[-2:].sum())

    def _validate(self, estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        rows, labels = estimator._validate_rows(X, y)
        return rows, labels

    def lesson(self, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        classes, codes = np.unique(self.y[rows], return_inverse=True)
        require_two(classes)
        return np.ascontiguousarray(codes, dtype=np.int64), {"classes_": classes}

    def answer(self, estimator: Any, decisions: np.ndarray, fitted: Any) -> np.ndarray:
        labels: np.ndarray = fitted.classes_[estimator._choose_classes(decisions, fitted)]
        return labels

    def shape(self, estimator: Any, decisions: np.ndarray, fitted: Any) -> np.ndarray:
        shaped: np.ndarray = estimator._shape_decisions(decisions, fitted)
        return shaped

    def decided(self, fitted: Any, answers: np.ndarray, decisions: np.ndarray) -> BaseEstimator:
        return DecidedClasses(fitted.classes_, answers, decisions)

    def scores_accuracy(self, scorer: Any) -> bool:
        return is_accuracy(scorer)


class Regression(Task):
    """Targets."""

    def _validate(self, estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        rows, targets = estimator._check_rows(X, y, reset=True)
        return rows, check_targets(targets)

    def lesson(self, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        return self.y[rows], {}

    def answer(self, estimator: Any, decisions: np.ndarray, fitted: Any) -> np.ndarray:
        return decisions.ravel()

    def decided(self, fitted: Any, answers: np.ndarray, decisions: np.ndarray) -> BaseEstimator:
        return DecidedTargets(answers)


class OutlierDetection(Task):
    """Outliers; labels are for scorers only, which expect 1 for inliers and -1 for outliers."""

    def _validate(self, estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        return estimator._check_rows(X, reset=True), np.asarray(y)

    def lesson(self, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        return np.zeros(len(rows)), {}

    def answer(self, estimator: Any, decisions: np.ndarray, fitted: Any) -> np.ndarray:
        return estimator._judge(decisions.ravel())

    def decided(self, fitted: Any, answers: np.ndarray, decisions: np.ndarray) -> BaseEstimator:
        return DecidedOutliers(answers, decisions)


def task_of(estimator: Any, X: Any, y: Any) -> Task:
    """Task of an estimator of this package."""
    if is_classifier(estimator):
        return Classification(estimator, X, y)
    return (Regression if is_regressor(estimator) else OutlierDetection)(estimator, X, y)
