"""Linear support vector machines for many values of C."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..base import params
from ..base.rows import LARGEST
from .estimator import require_memory
from .finite_newton import FiniteNewtonSVC
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
    n_machines = sum(problem.n_machines for problem in problems)
    coefs = np.empty((len(values), n_machines, X.shape[1]))
    intercepts, gaps, objectives = np.empty((3, len(values), n_machines))
    n_iter = np.empty((len(values), n_machines), dtype=np.int64)
    reasons = np.empty((len(values), n_machines), dtype=object)
    with one_blas_thread(), explained(X, "finite_newton_path"):
        for k, of, minimiser in model._walk(problems, values):
            coefs[k, of], intercepts[k, of] = model._split(minimiser.points)
            n_iter[k, of] = minimiser.newton.n_iter
            gaps[k, of] = values[k] * minimiser.gap()
            objectives[k, of] = values[k] * minimiser.objective()
            reasons[k, of] = minimiser.reason
    for text in large_gaps(reasons.ravel(), gaps, objectives, model.tol, model.kkt_tol):
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    return FiniteNewtonPath(values, coefs, intercepts, n_iter, gaps)


def checked_Cs(Cs: Any) -> np.ndarray:
    """Values of C as an array."""
    try:
        values = np.asarray(Cs, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if values.ndim != 1 or len(values) == 0 or not ((values >= 1 / LARGEST) & (values <= LARGEST)).all():
        raise ValueError(f"Cs must be a list of numbers >= {1 / LARGEST:g} and <= {LARGEST:g}. Got {Cs!r}.")
    return values
