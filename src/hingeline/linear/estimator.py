"""Shared by the linear estimators: validation, labels, targets and weights, problems, Dask collections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from .._sklearn import callbacks_of
from ..base import params
from ..base.fit import run, with_callbacks
from ..base.labels import WeightedLabels, check_labels, label_column, require_two
from ..base.retained import Retained, RetainsRows, read_ids, retain
from ..base.rows import LARGEST, RowEstimator, require_labels
from ..base.state import snapshot
from ..base.types import MatrixLike, RowIds
from .dual import DualMinimiser, prefers_dual
from .l1 import SparseMinimiser
from .layout import Layout
from .minimiser import Minimiser
from .problem import Problem, make_matrix
from .published import PUBLISHED, PublishedMinimiser
from .sums import SHAPES, loss_weight
from .training import LinearTraining, in_partitions


class Collection(Protocol):
    """Dask array, dataframe or series."""

    def __dask_graph__(self) -> Any:
        """Tasks."""


#: Rows, or one value for each row: in memory, or in partitions.
Table: TypeAlias = "MatrixLike | Collection"
Column: TypeAlias = npt.ArrayLike | Collection
#: Rules of classifiers and regressors, and of classifiers.
COMMON_RULES = {
    "C": params.real(least=1 / LARGEST, most=LARGEST),
    "tol": params.real(least=0.0, most=1.0),
    "kkt_tol": params.real(least=0.0) | params.nothing(),
    "max_iter": params.integer(least=0),
    "warm_start": params.boolean(),
    "n_jobs": params.jobs(),
}
#: Rules of the parameters that estimators of scikit-learn's names have in common.
DROP_IN_RULES = {
    "fit_intercept": params.boolean(),
    "intercept_scaling": params.real(above=0.0, most=1e50),
    "dual": params.one_of("auto") | params.boolean(),
    "verbose": params.integer(least=0) | params.boolean(),
}
LINEAR_RULES = {
    **COMMON_RULES,
    "loss": params.one_of(*SHAPES),
    "class_weight": params.one_of("balanced") | params.mapping() | params.nothing(),
    "solver": params.one_of("auto", "gram", "cg", "paper", "plain"),
}


# ---- Dask collections ------------------------------------------------------------------------------


def require_memory(X: Any, name: str) -> None:
    """Reject Dask collections where rows in memory are needed."""
    if in_partitions(X):
        raise TypeError(
            f"{name} needs X in memory. LinearSVC takes Dask collections: fit it for each C with "
            "warm_start=True, or call X.compute() if the rows fit."
        )


def by_partition(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Let a method that takes rows take a Dask collection; the result is then a lazy Dask array."""

    @wraps(method)
    def call(self: Any, X: Any) -> Any:
        if not in_partitions(X):
            return method(snapshot(self), X)  # one state, while another thread learns
        from .dask.prediction import map_partitions

        return map_partitions(self, method.__name__, X)

    return call


#: Largest `coef_` in bytes. Training needs several arrays of its size.
LARGEST_COEF = 1 << 32


def require_room(layout: Layout) -> None:
    """Reject weights that do not fit in memory."""
    size = 8 * layout.n_machines * layout.length
    if size > LARGEST_COEF:
        raise ValueError(
            f"coef_ has {layout.n_machines} x {layout.n_features} weights and needs {size} bytes. At most "
            f"{LARGEST_COEF} bytes are allowed. Drop the columns of X without entries (X[:, numpy.unique(X.indices)]), "
            "or hash the features to fewer."
        )


# ---- labels ----------------------------------------------------------------------------------------


def encode_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes in ascending order, and the index of each label's class.

    Two classes, the common case, need no sorting of all labels.
    """
    y = label_column(y)
    classes = None
    if y.dtype.kind in "biuf" and len(y):
        others = y != y[0]
        at = int(others.argmax())
        if others[at]:
            second = y == y[at]
            if (second == others).all():
                classes = np.sort(y[[0, at]])
                codes = second if y[at] == classes[1] else ~second
    if classes is None:
        classes, codes = np.unique(y, return_inverse=True)
    # The check sorts its argument; with few classes their list is enough to decide.
    check_classification_targets(classes if len(classes) <= 20 else y)
    return classes, codes.astype(np.int64)


class LinearEstimator(RetainsRows, RowEstimator):
    """Base of the estimators that a :class:`~hingeline.linear.minimiser.Minimiser` trains, also on Dask collections.

    A subclass says which machines there are (:meth:`_problems`, :meth:`_layout`) and what their weight vectors mean
    (:meth:`_fitted_attributes`, :meth:`_points`).
    """

    _rules: dict[str, params.Rule]
    _needed: tuple[str, ...] = ("coef_",)
    #: Whether ``support_`` and ``dual_coef_``, and ``kkt_violation_`` also without `kkt_tol`, are attributes.
    _publishes_multipliers = False
    #: KKT violation to reach as well; a parameter of some estimators.
    kkt_tol: float | None = None
    #: Norm of the weights that is penalised; a parameter of some estimators.
    penalty: str = "l2"
    #: Width without loss; a parameter of the regressors.
    epsilon: float = 0.0
    #: Whether to show a progress bar; a parameter of some estimators.
    verbose: int = 0
    #: Whether y holds targets rather than labels.
    _regresses = False

    @with_callbacks
    def fit(self, X: Table, y: Column, sample_weight: Column | None = None, ids: RowIds = None) -> Self:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Training samples, float32 or float64. Sums are in double, except Hessians, which may be in single precision.
            Dask partitions stay where they are.
        y : array-like or dask array or series of shape (n_samples,)
            Labels of a classifier, targets of a regressor.
        sample_weight : array-like or dask array or series of shape (n_samples,), default=None
            Weights of the samples.
        ids : array-like of shape (n_samples,) or str, default=None
            Id of each sample, an integer, string or ``uuid.UUID``; several samples may have one id. 'index' takes the
            index of a DataFrame, another string its column of this name. With ids the samples are kept, for
            :meth:`forget` and :meth:`add`. Not for Dask collections.

        Returns
        -------
        object
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, y, sample_weight, ids)
        return self

    # ---- what subclasses say --------------------------------------------------------------------------

    def _layout(self, n_features: int) -> Layout:
        """The machines; of classifiers given ``classes_`` and ``class_weight_``."""
        raise NotImplementedError

    def _fitted_attributes(
        self, points: np.ndarray, attributes: dict[str, np.ndarray], scales: np.ndarray
    ) -> dict[str, Any]:
        """Weights and thresholds as attributes, together with `attributes` of one value per machine.

        `scales` are the largest absolute outputs of the machines in training, or empty if no machine has a pair.
        """
        raise NotImplementedError

    def _points(self) -> np.ndarray:
        """Weight vectors of the machines of the fitted model."""
        raise NotImplementedError

    # ---- from data to a training ---------------------------------------------------------------------

    @property
    def _by_pairs(self) -> bool:
        """Whether there is a machine for each pair of classes."""
        return False

    @property
    def _loss_weight(self) -> float:
        """Weight of the losses of the core."""
        return float(self.C) * loss_weight(self.loss)

    def _prepare(self, X: Any, y: Any, sample_weight: Any, ids: Any, *guess: Any) -> LinearTraining:
        """Validate and encode; `guess` are the estimator's own arguments of fit that determine the start."""
        before = (self._classes(), self._points()) if self.warm_start and hasattr(self, "coef_") else None
        X, names = read_ids(X, ids)
        if names is not None:
            require_memory(X, "ids")
        X, y, problems = self._problems(X, y, sample_weight)
        retain(self, X, y, sample_weight, names)
        points = self._start(problems, *guess)
        shape = (sum(problem.n_machines for problem in problems), problems[0].length)
        if points is None and before and before[1].shape == shape and np.array_equal(before[0], self._classes()):
            points = before[1]
        minimisers = self._minimisers(problems, points)
        if self._guesses(*guess):
            for minimiser in minimisers:
                minimiser.mistrust_start()
        bar = True if self.verbose else None if in_partitions(X) and not callbacks_of(self) else False
        return LinearTraining(self, X, y, minimisers, bar)

    def _minimisers(self, problems: list[Problem], points: np.ndarray | None) -> list[Minimiser]:
        """Minimisers that start from points, or from zero."""
        ends = np.cumsum([problem.n_machines for problem in problems])[:-1]
        starts = [None] * len(problems) if points is None else np.split(points, ends)
        lam = 1.0 / self._loss_weight
        return [self._minimiser(problem, lam, own) for problem, own in zip(problems, starts, strict=True)]

    def _resume(self, before: Retained, kept: Retained, rows: np.ndarray) -> LinearTraining:
        classes, names = self._classes(), vars(self).get("feature_names_in_")
        solution = self._solution(before, rows)
        X, y, problems = self._kept_problems(kept)
        if names is not None:
            self.feature_names_in_ = names
        same = np.array_equal(classes, self._classes())
        return LinearTraining(self, X, y, self._minimisers(problems, solution() if same else None), False)

    def _kept_problems(self, kept: Retained) -> tuple[Any, Any, list[Problem]]:
        """Kept rows, labels or targets, and problems."""
        return self._problems(kept.X, kept.y, kept.weight)

    def _solution(self, before: Retained, rows: np.ndarray) -> Callable[[], np.ndarray]:
        """Function that returns the present solution as points of the problems of the rows kept now."""
        points = self._points()
        return lambda: points

    def _classes(self) -> np.ndarray:
        """Labels of a classifier; none of a regressor."""
        return getattr(self, "classes_", np.empty(0))

    def _start(self, problems: list[Problem]) -> np.ndarray | None:
        """Starting points from the arguments of fit."""
        return None

    def _guesses(self, *guess: Any) -> bool:
        """Whether starting points are made up from the guesses given to fit."""
        return False

    def _minimiser(self, problem: Problem, lam: float, points: np.ndarray | None, *, many: bool = False) -> Minimiser:
        options = {name: getattr(self, name) for name in ("loss", "epsilon", "tol", "max_iter", "kkt_tol")}
        if self.penalty == "l1":
            return SparseMinimiser(problem, lam, points, many=many, solver=self.solver, **options)
        if prefers_dual(problem, points, self.solver, self.max_iter, many):
            return DualMinimiser(problem, lam, **options)
        if self.solver in PUBLISHED:
            return PublishedMinimiser(problem, lam, points, many=many, solver=self.solver, **options)
        solver = "cg" if self.solver == "dual" else self.solver
        return Minimiser(problem, lam, points, many=many, solver=solver, **options)

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, list[Problem]]:
        """Checked X and labels or targets, and the problems of the machines."""
        if in_partitions(X):
            if self.solver in PUBLISHED:
                raise ValueError(f"solver={self.solver!r} needs X in memory. Use 'cg' with Dask collections.")
            from .dask.fitting import build_problem

            return X, y, [build_problem(self, X, y, sample_weight)]
        X, codes, weights = self._validate_fit(X, y, sample_weight)
        return X, self._decode(codes), self._local_problems(X, codes, weights)

    def _validate_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Checked X, labels as indices into ``classes_`` or targets, weights of the samples."""
        raise NotImplementedError

    def _decode(self, codes: np.ndarray) -> np.ndarray:
        """Labels from indices; targets are themselves."""
        return codes

    def _local_problems(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[Problem]:
        """One problem for all machines over the same rows: all classes against the rest, or one pair of classes."""
        layout = self._layout(X.shape[1])
        require_room(layout)
        which = np.arange(layout.n_machines)
        split = layout.split(make_matrix(X), codes, weights, which, self._threads())
        return [Problem(replace(rows, X=X)) for _, rows in split]


class LabelEstimator(WeightedLabels, ClassifierMixin, LinearEstimator):
    """Base of the classifiers; a subclass may give its labels another order (:meth:`_encode`)."""

    _rules: dict[str, params.Rule] = LINEAR_RULES
    _needed: tuple[str, ...] = (*LinearEstimator._needed, "classes_")

    @by_partition
    def predict(self, X: Table) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples; Dask input returns a lazy Dask array.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        X = self._validate_predict(X)
        return self.classes_[self._choose(X)]

    def _choose(self, X: Any) -> np.ndarray:
        """Indices of the predicted classes, for checked rows."""
        raise NotImplementedError

    def score(self, X: Table, y: Column, sample_weight: Column | None = None) -> float:
        """Accuracy.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples.
        y : array-like or dask array or series of shape (n_samples,)
            Labels.
        sample_weight : array-like or dask array or series of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            Share of the samples, by weight, that are predicted correctly.
        """
        if not in_partitions(X):
            return float(super().score(X, y, sample_weight))
        from .dask.prediction import compute_accuracy

        return compute_accuracy(self, X, y, sample_weight)

    def _encode(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Classes in their order, and the index of each label's class."""
        return encode_classes(y)

    def _check_saved(self) -> None:
        super()._check_saved()
        if "coef_" in vars(self):
            self._check_weights(require_labels(self), self.n_features_in_)

    def _check_weights(self, n_classes: int, width: int) -> None:
        """Raise ValueError if weights that were saved do not fit together."""
        raise NotImplementedError

    def _validate_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Checked X, labels as indices into ``classes_``, weights of the samples."""
        # Infinity and NaN in X are detected during the first pass over the rows at no extra cost.
        X, y = self._check_rows(X, y, reset=True, finite=False)
        classes, codes = self._encode(y)
        weights = self._sample_weights(sample_weight, X)
        self._set_classes(classes, np.bincount(codes, minlength=len(classes)))
        return X, codes, weights

    def _decode(self, codes: np.ndarray) -> np.ndarray:
        return self.classes_[codes]

    def _validate_more(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, y = self._check_rows(X, y, reset=False)
        return X, check_labels(y)

    def _set_classes(self, classes: np.ndarray, counts: np.ndarray) -> None:
        """Set ``classes_`` and, from the numbers of samples, ``class_weight_``."""
        require_two(classes)
        self.classes_ = classes
        self.class_weight_ = self._class_weights(self.classes_, counts)
