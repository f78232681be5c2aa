"""Labels and decision values of the kernel classifiers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from .. import _core
from . import params
from .fit import Training, run, with_callbacks
from .kernel import KERNEL_RULES, FeatureWeights
from .labels import (
    WeightedLabels,
    check_labels,
    choose_classes,
    is_by_pairs,
    is_one_vs_rest,
    multiply_weights,
    n_pairs,
    require_two,
    vote_scale,
)
from .rows import require_array, require_finite, require_labels
from .types import Rows

CLASSIFIER_RULES = {
    **KERNEL_RULES,
    "class_weight": params.one_of("balanced") | params.mapping() | params.nothing(),
    "decision_function_shape": params.one_of("ovr", "ovo"),
}


class KernelClassifier(WeightedLabels, ClassifierMixin, FeatureWeights):
    """Base of the kernel classifiers: labels and decision values.

    A subclass has the parameter ``decision_function_shape`` if it has machines for pairs of classes. It publishes
    ``n_support_, classes_, decision_scale_`` in addition.
    """

    _needed = (*FeatureWeights._needed, "n_support_", "classes_")
    #: Whether votes break ties by decision values in units of ``decision_scale_``.
    _scales_votes = True

    @with_callbacks
    def fit(self, X: Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, float32 or float64 (kernel values are computed in the precision of X); with
            ``kernel='precomputed'`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C, or on the steps of estimators that do not minimise a loss with C. Samples of weight zero are
            left out.

        Returns
        -------
        object
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, y, sample_weight)
        return self

    def _prepare(self, *data: Any) -> Training:
        """Checked and encoded data of `fit`."""
        raise NotImplementedError

    # ---- validation ----------------------------------------------------------------------------------

    def _validate_rows(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, np.ndarray]:
        """Checked X and labels. Rows and labels that need no conversion skip scikit-learn's validation."""
        if not reset and self._are_checked(X) and _are_labels(y) and len(X) == len(y):
            return X, y
        X, y = self._check_rows(X, y, reset=reset)
        if self.kernel == "precomputed":
            self._require_kernel_matrix(X)
        return X, check_labels(y)

    def _validate_fit(self, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Checked X, classes, and labels as codes into them."""
        X, y = self._validate_rows(X, y)
        classes, codes = np.unique(y, return_inverse=True)
        require_two(classes)
        return X, classes, np.ascontiguousarray(codes, dtype=np.int64)

    def _validate_weighted(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Any]:
        """Checked X, classes, codes, weights times class weights, and the weights without these if any are given."""
        X, classes, codes = self._validate_fit(X, y)
        given = self._sample_weights(sample_weight, X)
        weights = multiply_weights(codes, self._class_weights(classes, np.bincount(codes)), given)
        return X, classes, codes, weights, None if sample_weight is None else given

    def _require_no_balance(self) -> None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all labels at once; give a stream a dict, for example from "
                "sklearn.utils.class_weight.compute_class_weight."
            )

    def _weights_of(self, y: np.ndarray) -> np.ndarray:
        """Class weight of each sample of a stream."""
        if self.class_weight is None:
            return np.ones(len(y))
        self._check_class_weight()
        return np.array([self.class_weight.get(label, 1.0) for label in y.tolist()], dtype=np.float64)

    def _check_saved(self) -> None:
        own = vars(self)
        if "dual_coef_" not in own:
            return super()._check_saved()
        n_classes = require_labels(self)
        super()._check_saved()
        count = n_pairs(n_classes)
        if self._scales_votes and n_classes > 2 and not is_one_vs_rest(self):
            require_array(self, "decision_scale_", (count,))
        if np.size(own.get("sigmoids_", ())):
            require_array(self, "sigmoids_", (2, count))
        return None

    # ---- decisions -----------------------------------------------------------------------------------

    def _layout(self, fitted: Any) -> tuple[np.ndarray, np.ndarray | None]:
        n_classes, one_vs_rest = len(fitted.classes_), is_one_vs_rest(fitted)
        n_machines = n_classes if one_vs_rest else n_pairs(n_classes)
        if np.shape(fitted.intercept_) != (n_machines,):
            raise ValueError(f"intercept_ must have shape {(n_machines,)}. Got {np.shape(fitted.intercept_)}.")
        groups = np.ascontiguousarray(fitted.n_support_, dtype=np.int64)
        if one_vs_rest:
            return groups.sum(keepdims=True), np.arange(n_machines)[np.newaxis]
        return groups, None

    def decision_function(self, X: Rows) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_classes * (n_classes - 1) / 2)
            Two classes: positive for ``classes_[1]``. More: with ``decision_function_shape='ovo'`` one column for
            each pair (i, j), positive for class i; with ``'ovr'`` the votes of the pairs plus a term in (-1/3, 1/3)
            that grows with the sum of the decision values. With one machine per class against the rest: one column per
            class.
        """
        self = self._snapshot()
        X = self._validate_predict(X)
        fitted = self._read_fitted()
        if is_by_pairs(fitted) and self.decision_function_shape == "ovr":
            return self._decide(X, fitted, self._votes(fitted, labels=False))
        return self._shape_decisions(self._decide(X, fitted), fitted)

    def _shape_decisions(self, decisions: np.ndarray, fitted: Any) -> np.ndarray:
        """Decision values of the machines as `decision_function` returns them."""
        if len(fitted.classes_) == 2:
            return decisions.ravel()
        if is_one_vs_rest(fitted) or self.decision_function_shape == "ovo":
            return decisions
        return require_finite(self._votes(fitted, labels=False).count(decisions))

    def _votes(self, fitted: Any, *, labels: bool) -> _core.Votes:
        """How votes of the pairs are counted: scores of the classes, or with `labels` the class with most votes.

        Ties are broken by the sum of the decision values, each divided by the largest that its machine has seen.
        """
        return _core.Votes(len(fitted.classes_), scale=vote_scale(fitted.decision_scale_), labels=labels)

    def predict(self, X: Rows) -> np.ndarray:
        """Class labels.

        Each pair of classes votes. A tie goes to the class with the larger sum of decision values, each divided by the
        largest that its machine has seen in training, and then to the first class. With one machine per class against
        the rest the largest decision value wins.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        self = self._snapshot()
        X = self._validate_predict(X)
        fitted = self._read_fitted()
        if is_by_pairs(fitted):
            codes = self._decide(X, fitted, self._votes(fitted, labels=True))
        else:
            codes = self._choose_classes(self._decide(X, fitted), fitted)
        labels: np.ndarray = fitted.classes_[codes]
        return labels

    def _choose_classes(self, decisions: np.ndarray, fitted: Any) -> np.ndarray:
        """Index of the class of each row, from the decision values of the machines."""
        return choose_classes(decisions, self._votes(fitted, labels=True) if is_by_pairs(fitted) else None)


def _are_labels(y: Any) -> bool:
    """Whether y needs no check: integers or strings in one dimension."""
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iubU"
