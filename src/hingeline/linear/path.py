"""Linear support vector machines for many values of C."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from ..base import params
from ..base.rows import LARGEST
from ..base.types import MatrixLike
from ..base.warn import warn
from .estimator import require_memory
from .finite_newton import LinearClassifier, LinearSVC
from .minimiser import Minima
from .training import explain_gaps, guard_sums

T = TypeVar("T", bound=LinearClassifier)


def linear_svc_path(
    X: MatrixLike,
    y: npt.ArrayLike,
    *,
    Cs: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    **parameters: Any,
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
    values = check_Cs(Cs)
    model = learner(**parameters)
    params.check(model, model._rules)
    found: list[list[Minima]] = [[] for _ in values]
    with guard_sums(X, name):
        X, _, problems = model._problems(X, y, sample_weight)
        for k, _, minimiser in model._walk(problems, values):
            found[k].append(minimiser.read(model._by_pairs))
    shared = {key: value for key, value in vars(model).items() if key.endswith("_")}
    models = []
    for C, parts in zip(values.tolist(), found, strict=True):
        own, minima = learner(**{**parameters, "C": C}), Minima.join(parts)
        fitted = model._fitted_attributes(minima.points, minima.attributes(own._loss_weight), minima.largest)
        own.__dict__.update(shared | fitted)
        models.append(own)
    for text in explain_gaps(model, models):
        warn(text, ConvergenceWarning)
    return models


def check_Cs(Cs: Any) -> np.ndarray:
    """Values of C as an array."""
    try:
        values = np.asarray(Cs, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if values.ndim != 1 or len(values) == 0 or not ((values >= 1 / LARGEST) & (values <= LARGEST)).all():
        raise ValueError(f"Cs must be a list of numbers >= {1 / LARGEST:g} and <= {LARGEST:g}. Got {Cs!r}.")
    return values
