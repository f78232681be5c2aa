"""Search spaces that do not depend on the scale of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array

from .._registry import kernel_parameters, phrase, row_of
from ..base.rows import require_sound_rows
from .shared import counterpart

#: Rows that the distances are computed from, at most.
ROWS = 1000
#: gamma times the median squared distance, for C and for margins. Larger spaces do not score better: with few samples
#: the choice among many candidates is left to chance.
WIDTHS = {"C": (0.125, 0.5, 2.0, 8.0), "margin": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)}
VALUES = {"C": (1.0, 10.0, 100.0), "margin": (0.1, 0.3, 1.0)}


def median_distance(X: Any, random_state: int = 0) -> float:
    """Median squared distance between rows that differ, from at most 1000 rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    random_state : int, default=0
        Seed of the choice of rows.

    Returns
    -------
    float
        Median; 1.0 if all rows are equal.
    """
    X = check_array(require_sound_rows(X), accept_sparse="csr", dtype=[np.float64, np.float32])
    rows = X
    if X.shape[0] > ROWS:
        rows = X[np.sort(np.random.default_rng(random_state).choice(X.shape[0], ROWS, replace=False))]
    dots = rows @ rows.T
    dots = np.asarray(dots.todense() if sp.issparse(dots) else dots, dtype=np.float64)
    norms = dots.diagonal()
    squares = (norms[:, np.newaxis] + norms - 2 * dots)[np.triu_indices(len(norms), 1)]
    positive = squares[squares > 1e-12 * norms.max(initial=0.0)]
    return float(np.median(positive)) if len(positive) else 1.0


def default_param_grid(estimator: Any, X: Any, y: Any = None) -> dict[str, list[Any]]:
    """Search space for a kernel classifier.

    gamma is spread around the reciprocal of the median squared distance between samples, so the space does not depend
    on the units of the features (their relative scales do matter: scale them first). The other parameter is C, or the
    margin of :class:`WorstViolatorSVC`.

    Parameters
    ----------
    estimator : estimator
        ``SVC`` of this package or of scikit-learn, ``WorstViolatorSVC`` or ``L2SVC``, or a pipeline that
        ends with one of them.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : array-like of shape (n_samples,), default=None
        Labels, for the steps of a pipeline.

    Returns
    -------
    dict of list
        Values by parameter, for ``param_grid``.

    Examples
    --------
    >>> import numpy as np
    >>> from hingeline import WorstViolatorSVC
    >>> from hingeline.model_selection import default_param_grid
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> grid = default_param_grid(WorstViolatorSVC(), X)
    >>> sorted(grid)
    ['gamma', 'margin']
    >>> finer = default_param_grid(WorstViolatorSVC(), X / 10)
    >>> bool(np.allclose(np.multiply(grid["gamma"], 100), finer["gamma"]))
    True
    """
    if isinstance(estimator, Pipeline):
        (name, last), before = estimator.steps[-1], clone(estimator[:-1])
        inner = default_param_grid(last, before.fit_transform(X, y) if len(before) else X)
        return {f"{name}__{parameter}": values for parameter, values in inner.items()}
    ours = counterpart(estimator)
    row = None if ours is None else row_of(type(ours))
    if row is None:
        raise ValueError(
            f"param_grid is needed for {type(estimator).__name__}: there is a default search space for "
            f"{phrase('path')} only."
        )
    other = row.path
    grid: dict[str, list[Any]] = {other: list(VALUES[other])}
    if "gamma" in kernel_parameters(ours.kernel):
        scale = median_distance(X)
        grid["gamma"] = [width / scale for width in WIDTHS[other]]
    return grid
