"""Adapters to river, both ways. This module needs the package river.

:class:`ToRiverClassifier` makes an estimator of hingeline a classifier of river, for its pipelines, metrics and
evaluation. :class:`FromRiverClassifier` makes a classifier of river an estimator with ``fit``, ``partial_fit`` and
``predict``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from .._extras import optional
from ..base.labels import label_column
from ..base.types import MatrixLike

with optional("hingeline.streams.river"):
    from river import base

__all__ = ["FromRiverClassifier", "ToRiverClassifier"]

#: Samples of the first label that are kept until there is a second one. A stream sorted by label needs more: give
#: `classes`.
KEPT = 1000


class ToRiverClassifier(base.MiniBatchClassifier):
    """Estimator with ``partial_fit`` as a classifier of river.

    The features are those of the first sample, in its order. A feature that is missing later is 0; one that the first
    sample does not have is ignored. Values must be numbers: put a ``OneHotEncoder`` of river before it. Labels may
    appear at any time. Without `classes` learning begins with the second label; until then the last 1000 samples are
    kept, and the only label is predicted.

    Parameters
    ----------
    estimator : estimator
        Classifier of hingeline that learns from streams, or any other with ``partial_fit``. It is cloned.
    classes : list, default=None
        Labels known from the beginning.

    Attributes
    ----------
    model : estimator or None
        The classifier that has learnt; None before.

    Examples
    --------
    >>> from river import evaluate, metrics, preprocessing, stream
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import IncrementalSVC
    >>> from hingeline.streams.river import ToRiverClassifier
    >>> samples = stream.iter_sklearn_dataset(load_iris(), shuffle=True, seed=0)
    >>> model = preprocessing.StandardScaler() | ToRiverClassifier(IncrementalSVC(gamma=0.3, C=10))
    >>> evaluate.progressive_val_score(samples, model, metrics.Accuracy()).get() > 0.85
    True
    """

    def __init__(self, estimator: Any, classes: list[Any] | None = None) -> None:
        if not hasattr(estimator, "partial_fit"):
            raise TypeError(f"{type(estimator).__name__} cannot learn from a stream: it has no partial_fit.")
        self.estimator, self.classes = estimator, classes
        self.model: Any = None
        self.features: list[Any] | None = None
        self._kept: list[tuple[list[float], Any]] = []

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from ..online.lasvm import LASVC

        yield {"estimator": LASVC(gamma=1.0)}

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn a sample.

        Parameters
        ----------
        x : dict
            Values by feature.
        y : object
            Label.
        """
        self._learn([self._row(x, first=True)], [y])

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame.

        Parameters
        ----------
        X : DataFrame
            Samples.
        y : Series
            Labels.
        """
        self._learn(self._rows(X, first=True), list(y))

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label of a sample; None if no label is known."""
        return next(iter(self._predict([self._row(x)])))

    def predict_many(self, X: Any) -> Any:
        """Predict the labels of a data frame."""
        return type(X.iloc[:, 0])(self._predict(self._rows(X)), index=X.index)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict probabilities by label, of an estimator with ``predict_proba``; else NotImplementedError."""
        self._require_probabilities()
        if self.model is None:
            return dict.fromkeys(self._labels(), 1.0 / max(1, len(self._labels())))
        return dict(zip(self.model.classes_.tolist(), self._probabilities([self._row(x)])[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Any:
        """Predict probabilities of the rows of a data frame, of an estimator with ``predict_proba``."""
        self._require_probabilities()
        labels = self._labels() if self.model is None else self.model.classes_.tolist()
        rows = self._rows(X)
        equal = np.full((len(rows), len(labels)), 1.0 / max(1, len(labels)))
        return type(X)(equal if self.model is None else self._probabilities(rows), index=X.index, columns=labels)

    def _require_probabilities(self) -> None:
        """The default of river for a classifier without probabilities."""
        if not hasattr(self.estimator if self.model is None else self.model, "predict_proba"):
            raise NotImplementedError(f"{type(self.estimator).__name__} has no probabilities.")

    def _probabilities(self, rows: list[list[float]]) -> np.ndarray:
        found: np.ndarray = self.model.predict_proba(np.array(rows))
        return found

    def _labels(self) -> list[Any]:
        """Labels known before the estimator has learnt."""
        return list(dict.fromkeys([*(self.classes or []), *(label for _, label in self._kept)]))

    def _row(self, x: dict[Any, Any], *, first: bool = False) -> list[float]:
        """Values in the order of the first sample."""
        if self.features is None and first:
            self.features = list(x)
        return [float(x.get(name, 0.0)) for name in self.features or ()]

    def _rows(self, X: Any, *, first: bool = False) -> list[list[float]]:
        return [self._row(x, first=first) for x in X.to_dict(orient="records")]

    def _learn(self, rows: list[list[float]], labels: list[Any]) -> None:
        if self.model is not None:
            self.model.partial_fit(np.array(rows), labels)
            return
        self._kept += zip(rows, labels, strict=True)
        if len(known := self._labels()) < 2:
            del self._kept[:-KEPT]
            return
        model = clone(self.estimator)
        model.partial_fit(np.array([row for row, _ in self._kept]), [label for _, label in self._kept], classes=known)
        self.model, self._kept = model, []

    def _predict(self, rows: list[list[float]]) -> list[Any]:
        if self.model is not None:
            found: list[Any] = self.model.predict(np.array(rows)).tolist()
            return found
        return [next(iter(self._labels()), None)] * len(rows)


class FromRiverClassifier(ClassifierMixin, BaseEstimator):
    """Classifier of river with the interface of scikit-learn.

    Samples are learnt one after another. Their features are named by the columns of a data frame, else by their numbers
    from 0. Labels may appear at any time.

    Parameters
    ----------
    model : river.base.Classifier
        Classifier or pipeline of river. It is cloned by ``fit`` and by the first ``partial_fit``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    model_ : river.base.Classifier
        The classifier that has learnt.
    n_samples_seen_ : int
        Number of samples learnt.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had names that are all strings.

    Examples
    --------
    >>> from river.naive_bayes import GaussianNB
    >>> from sklearn.datasets import load_iris
    >>> from hingeline.streams.river import FromRiverClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> FromRiverClassifier(GaussianNB()).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: MatrixLike, y: npt.ArrayLike) -> FromRiverClassifier:
        """Learn the samples, in their order, from the beginning.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        FromRiverClassifier
            The estimator.
        """
        return self._learn(X, y, y, first=True)

    def partial_fit(self, X: MatrixLike, y: npt.ArrayLike, classes: npt.ArrayLike | None = None) -> FromRiverClassifier:
        """Learn more samples, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like, default=None
            Labels; needed in the first call. Others may appear later.

        Returns
        -------
        FromRiverClassifier
            The estimator.
        """
        return self._learn(X, y, classes, first=not hasattr(self, "model_"))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        found = [self.model_.predict_one(x) for x in self._samples(X)]
        return np.array([self.classes_[0] if label is None else label for label in found], dtype=self.classes_.dtype)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict probabilities, as the classifier of river does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        check_is_fitted(self)
        rows = [self.model_.predict_proba_one(x) for x in self._samples(X)]
        return np.array([[float(row.get(label, 0.0)) for label in self.classes_.tolist()] for row in rows])

    def _samples(self, X: MatrixLike) -> list[dict[Any, Any]]:
        X = validate_data(self, X, reset=False)
        names = getattr(self, "feature_names_in_", np.arange(X.shape[1])).tolist()
        return [dict(zip(names, row, strict=True)) for row in X.tolist()]

    def _learn(self, X: MatrixLike, y: Any, classes: Any, *, first: bool) -> FromRiverClassifier:
        """Learn samples on a copy: an error leaves the estimator as it was."""
        draft = clone(self) if first else copy.copy(self)
        X_checked, labels = validate_data(draft, X, y, reset=first)
        declared = None if classes is None else label_column(classes, "classes")
        n_declared = 0 if declared is None else len(np.unique(declared))
        if first and n_declared < 2:
            raise ValueError(f"classes must have at least two labels, in the first call. Got {classes}.")
        parts = [labels, declared, None if first else self.classes_]
        draft.classes_ = _merge([part for part in parts if part is not None])
        draft.model_ = self.model.clone() if first else copy.deepcopy(self.model_)
        for x, label in zip(draft._samples(X), labels.tolist(), strict=True):
            draft.model_.learn_one(x, label)
        draft.n_samples_seen_ = len(X_checked) + (0 if first else self.n_samples_seen_)
        self.__dict__ = draft.__dict__
        return self


def _merge(parts: list[np.ndarray]) -> np.ndarray:
    """All labels, sorted; ValueError if numbers and texts are mixed, or if there is none."""
    for part in parts:
        check_classification_targets(part)
        assert_all_finite(part, input_name="classes")
    if len({part.dtype.kind in "biuf" for part in parts}) > 1:
        raise ValueError("labels must be numbers only, or strings only.")
    return np.unique(np.concatenate(parts))
