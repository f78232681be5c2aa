"""Labels and decision values of the kernel classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .. import _core
from .kernel import KernelEstimator
from .labels import WeightedLabels, one_vs_rest_shape, pair_outputs, pairs, require_two
from .rows import LARGEST


class KernelClassifier(WeightedLabels, ClassifierMixin, KernelEstimator):
    """Base of the kernel classifiers: labels and decision values.

    A subclass has the parameter ``decision_function_shape`` where it has machines for pairs of classes, and publishes
    ``n_support_, classes_, decision_scale_`` as well.
    """

    # ---- validation ----------------------------------------------------------------------------------

    def _validate_rows(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, np.ndarray]:
        """Checked X and labels."""
        precomputed = self.kernel == "precomputed"
        X, y = self._check_rows(X, y, reset=reset)
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"kernel='precomputed' needs a square matrix of kernel values, X has shape {X.shape}.")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if precomputed and np.abs(X).max() > LARGEST:
            raise ValueError(f"Precomputed kernel values beyond {LARGEST:g} leave the range of a double; scale them.")
        return X, y

    def _validate_fit(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Checked X, and labels as codes into ``classes_``."""
        X, y = self._validate_rows(X, y)
        classes, codes = np.unique(y, return_inverse=True)
        require_two(classes)
        self.classes_ = classes
        return X, np.ascontiguousarray(codes, dtype=np.int64)

    def _gram_within(self, X: Any) -> tuple[_core.Gram | None, int]:
        """Kernel values of X, if they are to be computed, and the bytes that a copy of its rows leaves of the cache."""
        cache_bytes = int(self.cache_size * 2**20)
        if self.kernel == "precomputed" or callable(self.kernel):
            return None, cache_bytes
        gram = self._gram(X, copy_bytes=cache_bytes // 2)
        return gram, cache_bytes - gram.copy_bytes

    def _advance(self, machine: Any, X: Any, gram: Any, threads: int) -> Callable[[int | None], bool]:
        """A function that lets the core's machines learn for some steps (None: all), and says whether any are left."""

        def advance(steps: int | None) -> bool:
            limit = 2**62 if steps is None else steps
            if gram is not None:
                machine.learn(gram, threads, limit)
            elif callable(self.kernel):
                machine.learn_function(self._kernel_function(X), limit)
            else:
                machine.learn(_core.Matrix(X), threads, limit)
            return bool(machine.n_running)

        return advance

    def _require_no_balance(self) -> None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all labels at once; give a stream a dict, for example from "
                "sklearn.utils.class_weight.compute_class_weight."
            )

    def _weights_of(self, y: np.ndarray) -> np.ndarray:
        """Weights of the classes of samples in a stream."""
        if self.class_weight is None:
            return np.ones(len(y))
        self._check_class_weight()
        return np.array([self.class_weight.get(label, 1.0) for label in y.tolist()], dtype=np.float64)

    # ---- decisions -----------------------------------------------------------------------------------

    @property
    def _one_vs_rest(self) -> bool:
        """Whether there is a machine per class rather than per pair."""
        return False

    def _weights(self, fitted: Any) -> _core.Weights:
        n_classes = len(self.classes_)
        n_machines = n_classes if self._one_vs_rest else len(pairs(n_classes)[0])
        if np.shape(fitted.intercept_) != (n_machines,):
            raise ValueError(f"intercept_ must have shape {(n_machines,)}. Got {np.shape(fitted.intercept_)}.")
        groups = np.ascontiguousarray(fitted.n_support_, dtype=np.int64)
        return _core.Weights(
            np.ascontiguousarray(fitted.dual_coef_),
            groups.sum(keepdims=True) if self._one_vs_rest else groups,
            np.arange(n_machines)[np.newaxis] if self._one_vs_rest else pair_outputs(n_classes),
            np.ascontiguousarray(fitted.intercept_, dtype=np.float64),
        )

    def _pair_decisions(self, X: Any) -> np.ndarray:
        """Decision values of all machines, one column each."""
        fitted = self._fitted()
        return self._outputs(X, self._weights(fitted), fitted)

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_classes * (n_classes - 1) / 2)
            Two classes: positive for ``classes_[1]``. More: with ``decision_function_shape='ovo'`` one column for
            each pair (i, j), positive for class i; with ``'ovr'`` the votes of the pairs plus a tie-breaking term
            in (-1/3, 1/3). Machines that set each class against the rest give one column per class.
        """
        X = self._validate_predict(X)
        decisions = self._pair_decisions(X)
        if len(self.classes_) == 2:
            return decisions.ravel()
        if self._one_vs_rest or self.decision_function_shape == "ovo":
            return decisions
        return one_vs_rest_shape(decisions, self.decision_scale_, len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Each pair of classes votes; a tie goes to the class with the larger sum of decision values, each scaled by
        the largest that its machine has seen in training, and then to the first class. Where each class is set
        against the rest, the largest decision value wins.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        X = self._validate_predict(X)
        decisions = self._pair_decisions(X)
        if len(self.classes_) == 2:
            return self.classes_[(decisions.ravel() > 0).astype(np.intp)]
        if self._one_vs_rest:
            return self.classes_[decisions.argmax(axis=1)]
        votes = one_vs_rest_shape(decisions, self.decision_scale_, len(self.classes_))
        return self.classes_[votes.argmax(axis=1)]

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row per machine; only with a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'")
        check_is_fitted(self)
        if self._one_vs_rest:
            return self.dual_coef_ @ self.support_vectors_
        ends = np.cumsum(self.n_support_)
        of_class = [slice(end - count, end) for end, count in zip(ends, self.n_support_, strict=True)]
        rows = []
        for i, j in zip(*pairs(len(self.classes_)), strict=True):
            one = self.dual_coef_[j - 1, of_class[i]] @ self.support_vectors_[of_class[i]]
            other = self.dual_coef_[i, of_class[j]] @ self.support_vectors_[of_class[j]]
            rows.append(one + other)
        return np.vstack(rows)
