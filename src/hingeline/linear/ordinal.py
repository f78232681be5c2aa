"""Ordinal regression by the modified finite Newton method."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from ..base import params
from ..base.fit import all_or_nothing, with_callbacks
from ..base.labels import require_two
from .estimator import (
    LINEAR_RULES,
    LinearEstimator,
    PartitionedClassifierMixin,
    by_partition,
    class_codes,
    history,
    in_partitions,
    minimiser_of,
    training_matrix,
)
from .minimiser import Minimiser
from .rows import LocalProblem


class FiniteNewtonOrdinal(PartitionedClassifierMixin, LinearEstimator):
    """Linear classifier for ordered classes: one direction, and thresholds on it.

    Minimises ``(|w|^2 + |b|^2) / 2 + C sum_i s_i sum_r L(1 - t_ir (w.x_i - b_r))`` over weights w and thresholds
    b_1 <= b_2 <= ..., where t_ir is +1 if the class of sample i is above threshold r and -1 otherwise. Every sample has
    its say about every threshold, and at the minimum the thresholds are in order.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses.
    loss : {'squared_hinge', 'huber', 'hinge', 'squared'}, default='squared_hinge'
        As in :class:`FiniteNewtonSVC`.
    classes : array-like, default=None
        Labels in their order; None: ascending. Labels that no sample has are allowed.
    tol : float, default=1e-4
        Training stops when the duality gap is at most `tol` times the objective.
    max_iter : int, default=1000
        Newton iterations.
    class_weight : dict or 'balanced', default=None
        Factor on the weights of the samples of a class.
    solver : {'auto', 'gram', 'cg'}, default='auto'
        As in :class:`FiniteNewtonSVC`.
    warm_start : bool, default=False
        Start from the last result.
    n_jobs : int, default=None
        Threads; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in their order.
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds, ascending.
    objective_, duality_gap_ : float
        Value of the objective, and an upper bound of its distance from the minimum.
    n_iter_ : int
        Newton iterations.
    n_passes_ : float
        Passes over the rows.
    solver_ : str
        Solver in use.
    stop_reason_ : str
        'gap' (small enough), 'max_iter', 'precision', 'interrupted' or 'stopped'.
    history_ : dict of ndarray
        Columns 'machine', 'iteration', 'seconds', 'objective', 'gap', 'n_active'.
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
    >>> from hingeline import FiniteNewtonOrdinal
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grade = np.digitize(y, [100, 200])
    >>> model = FiniteNewtonOrdinal(C=10).fit(X, grade)
    >>> bool(model.thresholds_[0] < model.thresholds_[1])
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        classes: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        class_weight: Any = None,
        solver: str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.classes = classes
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.solver = solver
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FiniteNewtonOrdinal:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Training samples, float32 or float64; sums are in double, but for Hessians of float32 rows. Those of
            Dask stay where they are.
        y : array-like or dask array or series of shape (n_samples,)
            Labels.
        sample_weight : array-like or dask array or series of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        FiniteNewtonOrdinal
            The fitted estimator.
        """
        params.check(self, LINEAR_RULES)
        before = (self.classes_, self.coef_, self.thresholds_) if self.warm_start and hasattr(self, "coef_") else None
        with all_or_nothing(self) as keep:
            problem: Any
            if in_partitions(X):
                from .dask.rows import problem_of

                problem = problem_of(self, X, y, sample_weight)
            else:
                X, y, problem = self._problem(X, y, sample_weight)
            points = None
            if before is not None and len(before[1]) == X.shape[1] and np.array_equal(before[0], self.classes_):
                points = np.concatenate(before[1:])[np.newaxis]
            minimiser = minimiser_of(
                problem,
                np.array([1.0 / self.C]),
                points,
                loss=self.loss,
                tol=self.tol,
                max_iter=self.max_iter,
                solver=self.solver,
            )
            self._train([minimiser], X, y, keep)
        self._warn()
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, LocalProblem]:
        """Checked X and labels, and the machine over them."""
        X, y = self._check_training_rows(X, y)
        classes, codes = self._ordered(y)
        weights = self._sample_weights(sample_weight, X)
        require_two(classes)
        self.classes_ = classes
        if self.class_weight is not None:
            present = np.bincount(codes, minlength=len(classes)) > 0
            weights = weights * self._present_weights(codes, present)[codes]
        problem = LocalProblem(
            training_matrix(X),
            weights[np.newaxis],
            np.zeros(1),
            thresholds=len(classes) - 1,
            offset=1.0,
            threads=self._threads(),
            codes=codes.astype(np.int32),
        )
        return X, classes[codes], problem

    def _ordered(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Labels in their order, and the place of each sample's label among them."""
        found, codes = class_codes(y)
        if self.classes is None:
            return found, codes
        order = np.asarray(self.classes)
        if order.ndim != 1:
            raise ValueError(f"classes must be a list of labels. Got {self.classes!r}.")
        place = {label: k for k, label in enumerate(order.tolist())}
        missing = [label for label in found.tolist() if label not in place]
        if missing or len(place) < len(order):
            raise ValueError(
                f"classes must list every label of y once, in order. Got {self.classes!r}"
                + (f"; y also has {missing}." if missing else ", which repeats labels.")
            )
        return order, np.array([place[label] for label in found.tolist()], dtype=np.int64)[codes]

    def _present_weights(self, codes: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Weights of the classes; those without samples have none."""
        everything, self.classes_ = self.classes_, self.classes_[present]
        try:
            weights = np.zeros(len(everything))
            weights[present] = self._class_weights((np.cumsum(present) - 1)[codes])
        finally:
            self.classes_ = everything
        return weights

    def _attributes(self, minimisers: list[Minimiser], *, final: bool, unfinished: str = "running") -> dict[str, Any]:
        (minimiser,) = minimisers
        reason = str(minimiser.reason[0])
        d = minimiser.problem.n_features
        return {
            "coef_": minimiser.points[0, :d].copy(),
            # In order at the minimum; rounding may leave equal ones out of it.
            "thresholds_": np.maximum.accumulate(minimiser.points[0, d:]),
            "objective_": float(self.C * minimiser.objective()[0]),
            "duality_gap_": float(self.C * minimiser.gap()[0]),
            "n_iter_": int(minimiser.newton.n_iter[0]),
            "n_passes_": float(minimiser.n_passes),
            "stop_reason_": unfinished if reason == "running" else reason,
            "solver_": minimiser.solver_name,
            "history_": history(minimisers, self.C),
        }

    def _scores(self, X: Any) -> np.ndarray:
        return np.asarray(safe_sparse_dot(X, self.coef_)).ravel()

    @by_partition
    def decision_function(self, X: Any) -> np.ndarray:
        """How far inside a class's interval a sample lies.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples; of Dask's, the result is a Dask array.

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

    @by_partition
    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples; of Dask's, the result is a Dask array.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        X = self._validate_predict(X)
        return self.classes_[np.searchsorted(self.thresholds_, self._scores(X), side="left")]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
