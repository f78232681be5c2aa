"""Ordinal regression by the modified finite Newton method."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.extmath import safe_sparse_dot

from ..base import params
from ..base.labels import read_only
from ..base.retained import Retained
from ..base.rows import require_array, require_finite
from ..base.types import ClassWeight
from ..base.warn import warn
from .estimator import LabelEstimator, Table, by_partition, encode_classes
from .layout import Layout
from .sums import Loss


class OrdinalSVC(LabelEstimator):
    """Linear classifier for ordered classes: one direction, and thresholds on it.

    Minimises ``(|w|^2 + |b|^2) / 2 + C sum_i s_i sum_r L(1 - t_ir (w.x_i - b_r))`` over weights w and thresholds
    b_1 <= b_2 <= ..., where t_ir is +1 if the class of sample i is above threshold r and -1 otherwise. Every sample
    contributes to every threshold, so that the thresholds are in order at the minimum.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, as in :class:`LinearSVC`.
    loss : {'squared_hinge', 'huber', 'hinge', 'squared'}, default='squared_hinge'
        As in :class:`LinearSVC`.
    classes : array-like, default=None
        Labels in their order. Labels without samples are allowed. None: the order of the categories if y is an ordered
        pandas Categorical, else ascending; strings are then in alphabetical order, with a warning.
    tol : float, default=1e-4
        Training stops when the duality gap is at most `tol` times the objective; for 'paper' and 'plain' see
        :class:`LinearSVC`.
    kkt_tol : float, default=None
        If given, training also goes on until ``kkt_violation_`` is at most `kkt_tol`, as in :class:`LinearSVC`.
    max_iter : int, default=1000
        Newton iterations.
    class_weight : dict or 'balanced', default=None
        Factor on the weights of the samples of a class.
    solver : {'auto', 'gram', 'cg', 'paper', 'plain'}, default='auto'
        As in :class:`LinearSVC`.
    warm_start : bool, default=False
        Whether to start from the last result.
    n_jobs : int, default=None
        Threads; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in their order.
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class; 0 for classes without samples if `class_weight` is given.
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds, ascending.
    objective_, duality_gap_ : float
        Primal objective, and an upper bound of its distance from the minimum.
    kkt_violation_ : float
        Largest KKT violation of the multipliers, one for each sample and threshold, in units of the margin. It is
        computed only with `kkt_tol`.
    n_iter_ : int
        Newton iterations.
    n_passes_ : float
        Passes over the rows.
    solver_ : str
        Solver that was used.
    stop_reason_ : str
        As in :class:`LinearSVC`.
    history_ : dict of ndarray
        Columns 'machine', 'step', 'seconds', 'objective', 'duality_gap', 'n_active', as in :class:`LinearSVC`.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    References
    ----------
    Keerthi and DeCoste, "A modified finite Newton method for fast solution of large scale linear SVMs", JMLR 6, 2005,
    section 7.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import numpy as np
    >>> from hingeline import OrdinalSVC
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grade = np.digitize(y, [100, 200])
    >>> model = OrdinalSVC(C=10).fit(X, grade)
    >>> bool(model.thresholds_[0] < model.thresholds_[1])
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: Loss = "squared_hinge",
        classes: npt.ArrayLike | None = None,
        tol: float = 1e-4,
        kkt_tol: float | None = None,
        max_iter: int = 1000,
        class_weight: ClassWeight = None,
        solver: Literal["auto", "gram", "cg", "paper", "plain"] = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, list[Any]]:
        self._categories = _ordered_categories(y)
        return super()._problems(X, y, sample_weight)

    def _kept_problems(self, kept: Retained) -> tuple[Any, Any, list[Any]]:
        return super()._problems(kept.X, kept.y, kept.weight)  # the order of the categories stays

    def _encode(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        found, codes = encode_classes(y)
        order = self._order(found)
        if order is None:
            return found, codes
        place = {label: k for k, label in enumerate(order.tolist())}
        missing = [label for label in found.tolist() if label not in place]
        if missing or len(place) < len(order):
            raise ValueError(
                f"classes must list every label of y once, in order. Got {order.tolist()!r}"
                + (f"; y also has {missing}." if missing else ", which repeats labels.")
            )
        return order, np.array([place[label] for label in found.tolist()], dtype=np.int64)[codes]

    def _order(self, found: np.ndarray) -> np.ndarray | None:
        """Labels in their order, given those that occur; None: ascending."""
        if self.classes is not None:
            order = np.asarray(self.classes)
            if order.ndim != 1:
                raise ValueError(f"classes must be a list of labels. Got {self.classes!r}.")
            return order
        if self._categories is not None:
            return self._categories
        if len(found) > 2 and found.dtype.kind in "OUS":
            warn(
                f"y has strings without an order; their alphabetical order is used: {found.tolist()}. Set classes to "
                "the labels in their order, or give y as an ordered pandas Categorical.",
            )
        return None

    def _layout(self, n_features: int) -> Layout:
        n_classes = len(self.classes_)
        return Layout("ordinal", n_classes, n_features, n_classes - 1, 1.0, self.class_weight_)

    def _points(self) -> np.ndarray:
        return np.concatenate([self.coef_, self.thresholds_])[np.newaxis]

    def _fitted_attributes(
        self, points: np.ndarray, attributes: dict[str, np.ndarray], scales: np.ndarray
    ) -> dict[str, Any]:
        d = self.n_features_in_
        return {
            "coef_": read_only(points[0, :d].copy()),
            # In order at the minimum; rounding may leave equal thresholds out of order.
            "thresholds_": np.maximum.accumulate(points[0, d:]),
            **{name: value[0].item() for name, value in attributes.items()},  # there is one machine
        }

    def _scores(self, X: Any) -> np.ndarray:
        return require_finite(np.asarray(safe_sparse_dot(X, self.coef_)).ravel())

    @by_partition
    def decision_function(self, X: Table) -> np.ndarray:
        """Distance of samples to the ends of the classes' intervals.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples; Dask input returns a lazy Dask array.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: distance from the threshold. More: for each class the distance to the nearer end of its
            interval, positive inside.
        """
        X = self._validate_predict(X)
        above = self._scores(X)[:, np.newaxis] - self.thresholds_
        if len(self.classes_) == 2:
            return above.ravel()
        ends = np.full((len(above), 1), np.inf)
        return np.minimum(np.hstack([ends, above]), np.hstack([-above, ends]))

    def _choose(self, X: Any) -> np.ndarray:
        return np.searchsorted(self.thresholds_, self._scores(X), side="left")

    def _check_weights(self, n_classes: int, width: int) -> None:
        require_array(self, "coef_", (width,))
        require_array(self, "thresholds_", (n_classes - 1,))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Accuracy is poor, as scikit-learn's checks measure it, on classes that do not lie in order along a direction.
        tags.classifier_tags.poor_score = True
        return tags


def _ordered_categories(y: Any) -> np.ndarray | None:
    """Categories of an ordered pandas Categorical or of a series of such a type, else None."""
    dtype: Any = getattr(y, "dtype", None)
    return np.asarray(dtype.categories) if getattr(dtype, "ordered", False) else None
