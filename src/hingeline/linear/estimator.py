"""Shared by the linear estimators: validation, problems, training, attributes, Dask collections."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import _get_threadpool_controller
from sklearn.utils.validation import column_or_1d

from ..base import params
from ..base.fit import Training
from ..base.labels import WeightedLabels, require_two
from ..base.progress import progress
from ..base.rows import LARGEST, RowEstimator
from .layout import Layout
from .minimiser import Minimiser
from .newton import Newton
from .rows import Problem, training_matrix

#: Newton iterations assumed for the length of progress bars.
BAR_STEPS = 20

LINEAR_RULES = {
    "C": params.real(least=1 / LARGEST, most=LARGEST),
    "loss": params.one_of("squared_hinge", "huber", "hinge", "squared"),
    "tol": params.real(least=0.0, most=1.0),
    "max_iter": params.integer(least=0),
    "class_weight": params.one_of("balanced") | params.mapping() | params.nothing(),
    "solver": params.one_of("auto", "gram", "cg", "paper", "plain"),
    "warm_start": params.boolean(),
    "n_jobs": params.jobs(),
}


# ---- Dask collections ------------------------------------------------------------------------------


def in_partitions(X: Any) -> bool:
    """Whether X is a Dask collection. Does not import Dask."""
    return callable(getattr(X, "__dask_graph__", None))


def require_memory(X: Any, name: str) -> None:
    """Reject Dask collections where rows in memory are needed."""
    if in_partitions(X):
        raise TypeError(
            f"{name} needs X in memory. FiniteNewtonSVC takes Dask collections: fit it for each C with "
            "warm_start=True, or call X.compute() if the rows fit."
        )


def by_partition(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Let a method that takes rows take a Dask collection; the result is then a lazy Dask array."""

    @wraps(method)
    def call(self: Any, X: Any) -> Any:
        if not in_partitions(X):
            return method(self, X)
        from .dask.prediction import mapped

        return mapped(self, method.__name__, X)

    return call


class PartitionedClassifierMixin(ClassifierMixin):
    """scikit-learn's mixin, with a score for Dask collections."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
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
        from .dask.prediction import accuracy

        return accuracy(self, X, y, sample_weight)


# ---- numerics --------------------------------------------------------------------------------------


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: more would sum in another order, and idle BLAS threads slow down ours."""
    with _get_threadpool_controller().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def explained(X: Any, name: str) -> Iterator[None]:
    """Turn numbers that leave the range of a double into a ValueError about X."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except FloatingPointError:
        if not in_partitions(X):  # partitions were checked in the first pass
            assert_all_finite(X, input_name="X", estimator_name=name)
        raise ValueError(
            "X, sample_weight and C together leave the range of a double; scale the features (for example with "
            "sklearn.preprocessing.StandardScaler)."
        ) from None


def class_codes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes in ascending order, and the index of each label's class.

    Two classes, the common case, need no sorting of all labels.
    """
    y = column_or_1d(y, warn=True)
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


def warn_of_gaps(reasons: np.ndarray, gaps: Any, objectives: Any, tol: float, *, stacklevel: int) -> None:
    """Warn of machines that stopped early."""
    late = np.flatnonzero((reasons == "max_iter") | (reasons == "precision"))
    if not len(late):
        return
    gap = np.ravel(gaps)[late] / np.ravel(objectives)[late]
    advice = "Raise max_iter or tol." if (reasons == "max_iter").any() else "Scale the features, or raise tol."
    warnings.warn(
        f"{len(late)} of {len(reasons)} machines stopped ({', '.join(sorted(set(reasons[late])))}) before the "
        f"duality gap was below tol={tol:g} of the objective (largest {gap.max():.3g}). {advice}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


# ---- training --------------------------------------------------------------------------------------


class LinearTraining(Training):
    """Minimisers, one after the other, as one call that learns (see :mod:`hingeline.base.fit`).

    Parameters
    ----------
    estimator : LinearEstimator
        The estimator.
    X, y : array-like
        Checked training data, for callbacks.
    minimisers : list of Minimiser
        One per problem.
    show_progress : bool or None
        Whether to show a bar; None: on a terminal.
    """

    def __init__(
        self, estimator: LinearEstimator, X: Any, y: Any, minimisers: list[Minimiser], show_progress: bool | None
    ) -> None:
        self.estimator = estimator
        self.X, self.y = X, y
        self.minimisers = minimisers
        self.show_progress = show_progress
        self.n_steps = BAR_STEPS * len(minimisers)
        self.stages: Iterator[Newton] = chain.from_iterable(minimiser.stages() for minimiser in minimisers)
        self.stage: Newton | None = None
        self.farthest = 0.0  # largest gap shown, as in _show
        self.dual: dict[str, Any] = {}

    def advance(self, steps: int | None) -> bool:
        """Make at most `steps` Newton iterations (None: all). True if iterations are left."""
        with (
            one_blas_thread(),
            explained(self.X, type(self.estimator).__name__),
            progress(self.show_progress, 100, "fit") as tell,
        ):
            done = 0
            while steps is None or done < steps:
                if self.stage is not None and self.stage.iterate():
                    done += 1
                    self._show(tell)
                    continue
                self.stage = next(self.stages, None)
                if self.stage is None:
                    self.dual = self._dual()
                    return False
            return True

    def _show(self, tell: Callable[[int], None]) -> None:
        """Show the progress of the largest gap, on a logarithmic scale, once it is known."""
        if self.show_progress is False:
            return
        gap = np.concatenate([m.gap() / np.maximum(m.tol * m.objective(), 1e-300) for m in self.minimisers])
        if np.isfinite(gap).all():
            now = float(np.log(max(gap.max(), 1.0)))
            self.farthest = max(self.farthest, now)
            tell(int(100 * (1 - now / self.farthest)) if self.farthest > 0 else 100)

    def end(self, unfinished: str) -> None:
        """Multipliers after a stop by a callback; attributes of an earlier fit that this one may lack are removed."""
        if unfinished == "stopped":
            with one_blas_thread():
                self.dual = self._dual()
        for name in ("support_", "dual_coef_", "kkt_violation_", "decision_scale_"):
            self.estimator.__dict__.pop(name, None)

    def attributes(self, unfinished: str) -> dict[str, Any]:
        """Fitted attributes; `unfinished` is the stop reason of machines that could go on."""
        C, minimisers = self.estimator.C, self.minimisers
        reasons = np.concatenate([m.reason for m in minimisers]).astype(str)
        attributes = {
            "objective_": C * np.concatenate([m.objective() for m in minimisers]),
            "duality_gap_": C * np.concatenate([m.gap() for m in minimisers]),
            "n_iter_": np.concatenate([m.newton.n_iter for m in minimisers]).astype(np.int32),
            "stop_reason_": np.where(reasons == "running", unfinished or "running", reasons),
        }
        points = np.concatenate([m.points for m in minimisers])
        return self.estimator._fitted_attributes(points, attributes, minimisers) | {
            "solver_": minimisers[0].solver_name,
            "n_passes_": float(sum(m.n_passes for m in minimisers)),
            "history_": self._history(),
            **self.dual,
        }

    def warn(self) -> None:
        """Warn of machines that stopped early."""
        fitted = self.estimator
        reasons = np.atleast_1d(fitted.stop_reason_)
        warn_of_gaps(reasons, fitted.duality_gap_, fitted.objective_, fitted.tol, stacklevel=6)

    def _history(self) -> dict[str, np.ndarray]:
        """Columns of the record of iterations, in order of time within a problem."""
        rows, first = [], 0
        for minimiser in self.minimisers:
            rows += [(first + row[0], *row[1:]) for row in minimiser.newton.history]
            first += minimiser.problem.n_machines
        table = np.array(rows, dtype=np.float64).reshape(-1, 6).T
        table[3:5] *= self.estimator.C
        columns = dict(zip(("machine", "step", "seconds", "objective", "duality_gap", "n_active"), table, strict=True))
        return columns | {name: columns[name].astype(np.int64) for name in ("machine", "step", "n_active")}

    def _dual(self) -> dict[str, Any]:
        """Multipliers of the rows and their violation of the optimality conditions, where they are published."""
        if not (self.estimator._publishes_multipliers and all(m.problem.in_memory for m in self.minimisers)):
            return {}
        lines, places, violation = [], [], []
        for minimiser in self.minimisers:
            for machine in range(minimiser.problem.n_machines):
                pulls = minimiser.multipliers(machine)
                chosen = np.flatnonzero(pulls)
                rows = minimiser.problem.rows
                lines.append(self.estimator.C * pulls[chosen])
                places.append(chosen if rows is None else rows[chosen])
            violation.append(minimiser.violation())
        if len(lines) == 1:
            support, dual_coef = places[0], lines[0][np.newaxis]
        else:
            support = np.unique(np.concatenate(places))
            dual_coef = np.zeros((len(lines), len(support)))
            for line, values, rows in zip(dual_coef, lines, places, strict=True):
                line[np.searchsorted(support, rows)] = values
        return {"support_": support, "dual_coef_": dual_coef, "kkt_violation_": np.concatenate(violation)}


class LinearEstimator(WeightedLabels, RowEstimator):
    """Base of the estimators that a :class:`~hingeline.linear.minimiser.Minimiser` trains.

    A subclass says which machines its labels make (:meth:`_encode`, :meth:`_layout`) and what their weight vectors mean
    (:meth:`_fitted_attributes`, :meth:`_points`).
    """

    _rules: dict[str, params.Rule] = LINEAR_RULES
    #: Whether ``support_``, ``dual_coef_`` and ``kkt_violation_`` are attributes.
    _publishes_multipliers = False

    def _encode(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Classes in their order, and the index of each label's class."""
        return class_codes(y)

    def _layout(self, n_features: int) -> Layout:
        """The machines, given ``classes_`` and ``class_weight_``."""
        raise NotImplementedError

    def _fitted_attributes(
        self, points: np.ndarray, attributes: dict[str, np.ndarray], minimisers: list[Minimiser]
    ) -> dict[str, Any]:
        """Weights and thresholds as attributes, together with `attributes` of one value per machine."""
        raise NotImplementedError

    def _points(self) -> np.ndarray:
        """Weight vectors of the machines of the fitted model."""
        raise NotImplementedError

    # ---- from data to a training ---------------------------------------------------------------------

    def _prepare(self, X: Any, y: Any, sample_weight: Any, *guess: Any) -> LinearTraining:
        """Validate and encode; `guess` are the estimator's own arguments of fit that determine the start."""
        before = (self.classes_, self._points()) if self.warm_start and hasattr(self, "coef_") else None
        X, y, problems = self._problems(X, y, sample_weight)
        points = self._start(problems, *guess)
        shape = (sum(problem.n_machines for problem in problems), problems[0].length)
        if points is None and before and before[1].shape == shape and np.array_equal(before[0], self.classes_):
            points = before[1]
        minimisers = []
        for problem in problems:
            own = None if points is None else points[: problem.n_machines]
            points = None if points is None else points[problem.n_machines :]
            minimisers.append(self._minimiser(problem, 1.0 / self.C, own))
        bar = None if in_partitions(X) and not getattr(self, "_skl_callbacks", None) else False
        return LinearTraining(self, X, y, minimisers, bar)

    def _start(self, problems: list[Any]) -> np.ndarray | None:
        """Starting points from the arguments of fit."""
        return None

    def _minimiser(self, problem: Problem, lam: float, points: np.ndarray | None, *, many: bool = False) -> Minimiser:
        options = {name: getattr(self, name) for name in ("loss", "tol", "max_iter", "solver")}
        return Minimiser(problem, lam, points, many=many, **options)

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, list[Any]]:
        """Checked X and labels, and the problems of the machines."""
        if in_partitions(X):
            from .dask.problem import problem_of

            return X, y, [problem_of(self, X, y, sample_weight)]
        X, codes, weights = self._validate_fit(X, y, sample_weight)
        return X, self.classes_[codes], self._local_problems(X, codes, weights)

    def _validate_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Checked X, labels as indices into ``classes_``, weights of the samples."""
        # Infinity and NaN in X are detected during the first pass over the rows at no extra cost.
        X, y = self._check_rows(X, y, reset=True, finite=False)
        classes, codes = self._encode(y)
        weights = self._sample_weights(sample_weight, X)
        self._set_classes(classes, np.bincount(codes, minlength=len(classes)))
        return X, codes, weights

    def _local_problems(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[Any]:
        """One problem for all machines over the same rows: all classes against the rest, or one pair of classes."""
        layout = self._layout(X.shape[1])
        which = np.arange(layout.n_machines)
        return [p for _, p in layout.problems(training_matrix(X), codes, weights, which, self._threads())]

    def _set_classes(self, classes: np.ndarray, counts: np.ndarray) -> None:
        """Set ``classes_`` and, from the numbers of samples, ``class_weight_``: 0 for classes without samples."""
        require_two(classes)
        self.classes_ = classes
        self.class_weight_ = np.ones(len(classes))
        if self.class_weight is None:
            return
        self._check_class_weight()
        present = counts > 0
        self.class_weight_[~present] = 0.0
        if self.class_weight == "balanced":
            self.class_weight_[present] = counts.sum() / (present.sum() * counts[present])
        else:
            found = classes[present]
            self.class_weight_[present] = compute_class_weight(self.class_weight, classes=found, y=found)
