"""What the linear estimators share: labels of a million rows, a limit on threads, results of a minimiser."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import _get_threadpool_controller
from sklearn.utils.validation import column_or_1d

from .. import _core
from ..base import params
from ..base.fit import run_in_slices
from ..base.labels import WeightedLabels
from ..base.rows import LARGEST, RowEstimator
from .minimiser import Minimiser

#: Newton iterations that a progress bar reckons with.
BAR_STEPS = 20

LINEAR_RULES = {
    "C": params.real(least=1 / LARGEST, most=LARGEST),
    "loss": params.one_of("squared_hinge", "huber", "hinge", "squared"),
    "tol": params.real(least=0.0, most=1.0),
    "max_iter": params.integer(least=0),
    "class_weight": params.one_of("balanced") | params.mapping() | params.nothing(),
    "solver": params.one_of("auto", "gram", "cg"),
    "warm_start": params.boolean(),
    "n_jobs": params.jobs(),
}


def in_partitions(X: Any) -> bool:
    """Whether X is one of Dask's collections; Dask is not imported to find out."""
    return callable(getattr(X, "__dask_graph__", None))


def require_memory(X: Any, name: str) -> None:
    """Refuse Dask collections where only rows in memory will do."""
    if in_partitions(X):
        raise TypeError(
            f"{name} needs X in memory. FiniteNewtonSVC takes Dask collections: fit it for each C with "
            "warm_start=True, or call X.compute() if the rows fit."
        )


def by_partition(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Let a method that takes rows take those of a Dask collection, partition by partition; the result is lazy."""

    @wraps(method)
    def call(self: Any, X: Any) -> Any:
        if not in_partitions(X):
            return method(self, X)
        from .dask.rows import mapped

        return mapped(self, method.__name__, X)

    return call


class PartitionedClassifierMixin(ClassifierMixin):
    """scikit-learn's mixin, with a score for Dask's collections."""

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
            Share of the samples, by weight, that are predicted right.
        """
        if not in_partitions(X):
            return float(super().score(X, y, sample_weight))
        from .dask.rows import accuracy

        return accuracy(self, X, y, sample_weight)


def class_codes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes in ascending order, and the number of each label's class.

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
    # The check sorts what it gets; with few classes their list tells as much as all labels do.
    check_classification_targets(classes if len(classes) <= 20 else y)
    return classes, codes.astype(np.int64)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread for BLAS: more would sum in another order, and idle ones, which wait for work, slow down the rest."""
    with _get_threadpool_controller().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def explained(X: Any, name: str) -> Iterator[None]:
    """Say what is wrong with X when numbers have left the range of a double."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except FloatingPointError:
        if not in_partitions(X):  # partitions have been looked at
            assert_all_finite(X, input_name="X", estimator_name=name)
        raise ValueError(
            "X, sample_weight and C together leave the range of a double; scale the features (for example with "
            "sklearn.preprocessing.StandardScaler)."
        ) from None


#: Passes over sparse rows take some five times a dense row's time per entry.
SPARSE_BREAK_EVEN = 0.2


def _is_mapped(X: Any) -> bool:
    """Whether X is, or looks at, an array in a file, of which there may be no room for a copy."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def training_matrix(X: Any) -> _core.Matrix:
    """The rows as the core wants them: a compressed copy of dense ones that are mostly zeros."""
    matrix = _core.Matrix(X)
    if _is_mapped(X):
        return matrix
    some = X[:: max(1, X.shape[0] // 512)] if matrix.is_dense else X
    if matrix.is_dense and np.count_nonzero(some) <= SPARSE_BREAK_EVEN * some.size:
        return matrix.compressed(2 * SPARSE_BREAK_EVEN) or matrix
    return matrix


class LinearEstimator(WeightedLabels, RowEstimator):
    """Base of the estimators that a :class:`~hingeline._finite_newton.Minimiser` trains."""

    #: Fitted attributes of minimisers as they are now; `final` asks for those that take a pass as well.
    _attributes: Callable[..., dict[str, Any]]

    def _check_training_rows(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        """Checked X and y; infinity and NaN in X are found on the first pass over the rows, for nothing."""
        checked: tuple[Any, Any] = self._check_rows(X, y, reset=reset, finite=False)
        return checked

    def _minimise(self, minimisers: list[Minimiser], X: Any, y: Any) -> bool:
        """Run the minimisers one after another; says whether a callback asked to stop."""
        finished = False

        def steps() -> Iterator[None]:
            for minimiser in minimisers:
                yield from minimiser.run()

        work = steps()

        def advance(count: int | None) -> bool:
            nonlocal finished
            done = 0
            while count is None or done < count:
                if next(work, StopIteration) is StopIteration:
                    finished = True
                    return False
                done += 1
            return True

        with one_blas_thread(), explained(X, type(self).__name__):
            run_in_slices(
                self,
                X,
                y,
                advance=advance,
                most_steps=BAR_STEPS * len(minimisers),
                attributes=lambda: self._attributes(minimisers, final=False),
            )
        return not finished

    def _train(self, minimisers: list[Minimiser], X: Any, y: Any, keep: Any) -> None:
        """Minimise, and publish what has come out."""
        try:
            stopped = self._minimise(minimisers, X, y)
            with one_blas_thread():
                attributes = self._attributes(minimisers, final=True, unfinished="stopped" if stopped else "running")
        except KeyboardInterrupt:
            self._publish(self._attributes(minimisers, final=False, unfinished="interrupted"))
            keep()
            raise
        self._publish(attributes)

    def _publish(self, attributes: dict[str, Any]) -> None:
        for name in ("support_", "dual_coef_", "kkt_violation_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        for name, value in attributes.items():
            setattr(self, name, value)

    def _warn(self) -> None:
        warn_of_gaps(np.atleast_1d(self.stop_reason_), self.duality_gap_, self.objective_, self.tol, stacklevel=5)


def warn_of_gaps(reasons: np.ndarray, gaps: Any, objectives: Any, tol: float, *, stacklevel: int) -> None:
    """Say how many machines stopped early, and what to do about it."""
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


def minimiser_of(problem: Any, lam: np.ndarray, points: np.ndarray | None, **options: Any) -> Minimiser:
    """The minimiser that a problem asks for, or the usual one."""
    own = getattr(problem, "minimiser", None)
    return Minimiser(problem, lam, points, **options) if own is None else own(lam, points, **options)


def history(minimisers: list[Minimiser], scale: float) -> dict[str, np.ndarray]:
    """Columns of what happened, in order of time within a problem; objectives and gaps are multiplied by `scale`."""
    rows = []
    for first, minimiser in zip(np.cumsum([0] + [m.problem.n_machines for m in minimisers]), minimisers, strict=False):
        rows += [(first + row[0], *row[1:]) for row in minimiser.newton.history]
    names = ("machine", "iteration", "seconds", "objective", "gap", "n_active")
    kinds = (np.int64, np.int64, np.float64, np.float64, np.float64, np.int64)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    out: dict[str, Any] = {
        name: np.array(column, dtype=kind) for name, column, kind in zip(names, columns, kinds, strict=True)
    }
    for name in ("objective", "gap"):
        out[name] *= scale
    return out
