"""Linear support vector regression by the modified finite Newton method."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from ..base import params
from ..base.labels import read_only
from ..base.regressor import WeightedTargets, check_targets
from ..base.rows import require_array, require_finite
from .estimator import COMMON_RULES, DROP_IN_RULES, Column, LinearEstimator, Table, by_partition
from .layout import Layout
from .sums import TARGET_LOSSES, TargetLoss
from .training import in_partitions


class LinearRegressor(WeightedTargets, LinearEstimator):
    """Base of the linear regressors: one machine, whose outputs are the predictions."""

    _needed = (*LinearEstimator._needed, "intercept_")
    _regresses = True

    def _validate_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        # Infinity and NaN in X are detected during the first pass over the rows at no extra cost.
        X, y = self._validate_targets(X, y, finite=False)
        return X, y, self._sample_weights(sample_weight, X)

    def _validate_more(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, y = self._check_rows(X, y, reset=False)
        return X, check_targets(y)

    def _layout(self, n_features: int) -> Layout:
        offset = float(self.intercept_scaling) if self.fit_intercept else 1.0
        return Layout("targets", 0, n_features, int(self.fit_intercept), offset, np.empty(0))

    def _points(self) -> np.ndarray:
        ends = [-self.intercept_ / self.intercept_scaling] if self.fit_intercept else []
        return np.concatenate([self.coef_, *ends])[np.newaxis]

    def _fitted_attributes(
        self, points: np.ndarray, attributes: dict[str, np.ndarray], scales: np.ndarray
    ) -> dict[str, Any]:
        d = points.shape[1] - int(self.fit_intercept)
        return {
            "coef_": read_only(points[0, :d].copy()),
            "intercept_": -self.intercept_scaling * points[0, d:] if self.fit_intercept else np.zeros(1),
            **{name: value[0].item() for name, value in attributes.items()},  # there is one machine
        }

    def _check_saved(self) -> None:
        super()._check_saved()
        if "coef_" in vars(self):
            require_array(self, "coef_", (self.n_features_in_,))
            require_array(self, "intercept_", (1,))

    @by_partition
    def predict(self, X: Table) -> np.ndarray:
        """Predicted targets.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples; Dask input returns a lazy Dask array.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        X = self._validate_predict(X)
        return require_finite(np.asarray(safe_sparse_dot(X, self.coef_)).ravel() + self.intercept_)

    def score(self, X: Table, y: Column, sample_weight: Column | None = None) -> float:
        """Coefficient of determination, R^2.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples.
        y : array-like or dask array or series of shape (n_samples,)
            Targets.
        sample_weight : array-like or dask array or series of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            1 for perfect predictions, 0 for those of the mean.
        """
        if not in_partitions(X):
            return float(super().score(X, y, sample_weight))
        from .dask.prediction import compute_determination

        return compute_determination(self, X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearSVR(LinearRegressor):
    """Linear support vector regression by the modified finite Newton method.

    Minimises ``|w|^2 / 2 + b'^2 / 2 + C sum_i s_i L(|y_i - w.x_i - b|)`` with ``b = intercept_scaling * b'``, the
    problem of :class:`sklearn.svm.LinearSVR`. The duality gap bounds the distance from the minimum.

    Parameters
    ----------
    epsilon : float, default=0.0
        Width without loss, in units of y.
    tol : float, default=1e-4
        Training stops when the duality gap is at most `tol` times the objective.
    C : float, default=1.0
        Weight of the losses, as in :class:`sklearn.svm.LinearSVR`.
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        With r the magnitude of the residual: ``max(0, r - epsilon)``, or its square, which is minimised faster.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant feature that represents the intercept; larger values penalise the intercept less.
    dual : 'auto' or bool, default='auto'
        Not used: `solver` chooses the method. Exists as in scikit-learn; no combination with `loss` is refused.
    verbose : int, default=0
        Whether to show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Not used: the result is deterministic. Exists as in scikit-learn.
    max_iter : int, default=1000
        Newton iterations, or epochs with ``solver='dual'``.
    kkt_tol : float, default=None
        If given, training also goes on until ``kkt_violation_`` is at most `kkt_tol`, in units of y.
    solver : {'auto', 'gram', 'cg', 'dual'}, default='auto'
        As in :class:`LinearSVC`.
    warm_start : bool, default=False
        Whether to start from the last result.
    n_jobs : int, default=None
        Threads; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors. The results have
        the same bits.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Intercept.
    n_iter_ : int
        Newton iterations, or epochs with ``solver_ == 'dual'``.
    n_passes_ : float
        Passes over the rows; partial passes count by their share of the rows.
    objective_ : float
        Primal objective.
    duality_gap_ : float
        Duality gap: an upper bound of the distance of the objective from its minimum.
    kkt_violation_ : float
        Largest KKT violation of the multipliers, in units of y. For Dask collections it is computed only with
        `kkt_tol`.
    support_ : ndarray of shape (n_support,)
        Training rows with a nonzero multiplier. This and ``dual_coef_`` are not computed for Dask collections.
    dual_coef_ : ndarray of shape (1, n_support)
        Multipliers, positive where the target is above the prediction: ``coef_`` is ``dual_coef_[0] @ X[support_]`` up
        to the gap.
    solver_ : str
        Solver that was used.
    stop_reason_ : str
        As in :class:`LinearSVC`.
    history_ : dict of ndarray
        As in :class:`LinearSVC`.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    sklearn.svm.LinearSVR : LIBLINEAR.
    LinearSVC : Classification.

    Notes
    -----
    ``loss='epsilon_insensitive'`` is minimised through a sequence of smooth losses, which takes several times as many
    iterations; the objective and the duality gap are those of the loss itself.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from hingeline import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=10.0, epsilon=5.0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.51
    """

    _rules = {
        **COMMON_RULES,
        **DROP_IN_RULES,
        "loss": params.one_of(*TARGET_LOSSES),
        "epsilon": params.real(least=0.0, most=1e100),
        "solver": params.one_of("auto", "gram", "cg", "dual"),
    }
    _publishes_multipliers = True

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: TargetLoss = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | Literal["auto"] = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        kkt_tol: float | None = None,
        solver: Literal["auto", "gram", "cg", "dual"] = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())
