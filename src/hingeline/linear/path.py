"""Linear support vector machines for many values of C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..base import params
from ..base.rows import LARGEST
from ..base.warn import warn
from .estimator import LOSS_WEIGHTS, require_memory
from .finite_newton import LinearClassifier, LinearSVC
from .minimiser import Minimiser
from .training import explained, large_gaps, one_blas_thread

T = TypeVar("T", bound=LinearClassifier)


def linear_svc_path(
    X: Any, y: Any, *, Cs: Sequence[float] | np.ndarray, sample_weight: Any = None, **parameters: Any
) -> list[LinearSVC]:
    """Fit :class:`LinearSVC` for many values of C, each fit starting from the result of the last.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : array-like of shape (n_samples,)
        Labels.
    Cs : array-like of shape (n_Cs,)
        Values of C, in any order.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.
    **parameters
        Other parameters of :class:`LinearSVC`.

    Returns
    -------
    list of LinearSVC
        A fitted model for each value of C, in the order given; without ``history_``, ``kkt_violation_`` and
        multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import linear_svc_path
    >>> X, y = load_iris(return_X_y=True)
    >>> [model.C for model in linear_svc_path(X, y > 0, Cs=[0.1, 1.0, 10.0])]
    [0.1, 1.0, 10.0]
    """
    return fit_path("linear_svc_path", LinearSVC, parameters, X, y, Cs, sample_weight)


def fit_path(
    name: str, learner: type[T], parameters: dict[str, Any], X: Any, y: Any, Cs: Any, sample_weight: Any
) -> list[T]:
    """Fitted models of a class for each value of C; `name` is that of the public function."""
    require_memory(X, name)
    values = checked_Cs(Cs)
    model = learner(**parameters)
    params.check(model, model._rules)
    with one_blas_thread(), explained(X, name):
        X, _, problems = model._problems(X, y, sample_weight)
        results = PathResults(values * LOSS_WEIGHTS[model.loss], problems, model._by_pairs)
        for k, of, minimiser in model._walk(problems, values):
            results.record(k, of, minimiser)
    for text in results.complaints(model):
        warn(text, ConvergenceWarning)
    shared = {key: value for key, value in vars(model).items() if key.endswith("_")}
    models = []
    for k, C in enumerate(values):
        own = learner(**{**parameters, "C": float(C)})
        fitted = model._fitted_attributes(results.points[k], results.attributes(k), results.scales[k])
        own.__dict__.update(shared | fitted)
        models.append(own)
    return models


class PathResults:
    """Attributes of the machines for all values of C: arrays of shape (n_Cs, n_machines).

    Parameters
    ----------
    weights : ndarray of shape (n_Cs,)
        Weight of the losses of the core for each value of C.
    problems : list of Problem
        Problems of the machines.
    by_pairs : bool
        Whether the largest outputs are recorded.
    """

    def __init__(self, weights: np.ndarray, problems: list[Any], by_pairs: bool) -> None:
        self.weights = weights
        self.shape = len(weights), sum(problem.n_machines for problem in problems)
        self.points = np.empty((*self.shape, problems[0].length))
        self.scales = np.empty(self.shape if by_pairs else (len(weights), 0))
        self.objective_, self.duality_gap_ = np.empty((2, *self.shape))
        self.n_iter_ = np.empty(self.shape, dtype=np.int64)
        self.stop_reason_ = np.empty(self.shape, dtype=object)

    def record(self, k: int, of: slice, minimiser: Minimiser) -> None:
        """Record what a minimiser found for machines `of` and the value of C with index `k`."""
        self.n_iter_[k, of] = minimiser.newton.n_iter
        self.duality_gap_[k, of] = self.weights[k] * minimiser.gap()
        self.objective_[k, of] = self.weights[k] * minimiser.objective()
        self.points[k, of] = minimiser.points
        if self.scales.size:
            self.scales[k, of] = minimiser.largest_outputs()
        self.stop_reason_[k, of] = minimiser.reason

    def attributes(self, k: int) -> dict[str, np.ndarray]:
        """Fitted attributes of the model with the value of C with index `k`."""
        found = {"objective_": self.objective_[k], "duality_gap_": self.duality_gap_[k], "n_iter_": self.n_iter_[k]}
        return found | {"stop_reason_": self.stop_reason_[k].astype(str)}

    def complaints(self, model: LinearClassifier) -> Iterator[str]:
        """Texts of warnings about machines that stopped early."""
        return large_gaps(
            self.stop_reason_.ravel(), self.duality_gap_, self.objective_, model.tol, kkt_tol=model.kkt_tol
        )


def checked_Cs(Cs: Any) -> np.ndarray:
    """Values of C as an array."""
    try:
        values = np.asarray(Cs, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if values.ndim != 1 or len(values) == 0 or not ((values >= 1 / LARGEST) & (values <= LARGEST)).all():
        raise ValueError(f"Cs must be a list of numbers >= {1 / LARGEST:g} and <= {LARGEST:g}. Got {Cs!r}.")
    return values
