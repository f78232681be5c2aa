"""Linear support vector machines for many values of C."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..base import params
from ..base.rows import LARGEST
from .estimator import require_memory
from .finite_newton import FiniteNewtonSVC, LinearClassifier
from .minimiser import Minimiser
from .training import explained, large_gaps, one_blas_thread


class FiniteNewtonPath(NamedTuple):
    """Results of :func:`finite_newton_path`, one line for each value of C, in the order given."""

    Cs: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    n_iter: np.ndarray
    duality_gap: np.ndarray


def finite_newton_path(
    X: Any,
    y: Any,
    *,
    Cs: Sequence[float] | np.ndarray,
    sample_weight: Any = None,
    **parameters: Any,
) -> FiniteNewtonPath:
    """Fit :class:`FiniteNewtonSVC` for many values of C, each fit starting from the result of the last.

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
        Other parameters of :class:`FiniteNewtonSVC`.

    Returns
    -------
    FiniteNewtonPath
        ``Cs``, ``coefs`` of shape (n_Cs, n_machines, n_features), ``intercepts``, ``n_iter`` and ``duality_gap`` of
        shape (n_Cs, n_machines).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import finite_newton_path
    >>> X, y = load_iris(return_X_y=True)
    >>> finite_newton_path(X, y > 0, Cs=np.logspace(-2, 2, 5)).coefs.shape
    (5, 1, 4)
    """
    require_memory(X, "finite_newton_path")
    values = checked_Cs(Cs)
    model = FiniteNewtonSVC(**parameters)
    params.check(model, model._rules)
    X, _, problems = model._problems(X, y, sample_weight)
    results = PathResults(values, problems)
    coefs = np.empty((*results.shape, X.shape[1]))
    intercepts = np.empty(results.shape)
    with one_blas_thread(), explained(X, "finite_newton_path"):
        for k, of, minimiser in model._walk(problems, values):
            coefs[k, of], intercepts[k, of] = model._split(minimiser.points)
            results.record(k, of, minimiser)
    for text in results.complaints(model):
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    return FiniteNewtonPath(values, coefs, intercepts, results.n_iter_, results.duality_gap_)


class PathResults:
    """Attributes of the machines for all values of C: arrays of shape (n_Cs, n_machines)."""

    def __init__(self, values: np.ndarray, problems: list[Any]) -> None:
        self.values = values
        self.shape = len(values), sum(problem.n_machines for problem in problems)
        self.objective_, self.duality_gap_ = np.empty((2, *self.shape))
        self.n_iter_ = np.empty(self.shape, dtype=np.int64)
        self.stop_reason_ = np.empty(self.shape, dtype=object)

    def record(self, k: int, of: slice, minimiser: Minimiser) -> None:
        """Record what a minimiser found for machines `of` and the value of C with index `k`."""
        self.n_iter_[k, of] = minimiser.newton.n_iter
        self.duality_gap_[k, of] = self.values[k] * minimiser.gap()
        self.objective_[k, of] = self.values[k] * minimiser.objective()
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
