"""Search spaces that do not depend on the scale of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from ..batch.ollawv import WorstViolatorSVC
from .shared import counterpart

#: Rows that the distances are computed from, at most.
ROWS = 1000
#: gamma times the median squared distance.
WIDTHS = tuple(2.0**k for k in range(-2, 6, 1))
MARGINS = (0.001, 0.01, 0.1, 0.3, 1.0)
PENALTIES = tuple(10.0**k for k in range(-1, 4))


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
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    rows = X
    if X.shape[0] > ROWS:
        rows = X[np.sort(np.random.default_rng(random_state).choice(X.shape[0], ROWS, replace=False))]
    dots = rows @ rows.T
    dots = np.asarray(dots.todense() if sp.issparse(dots) else dots, dtype=np.float64)
    norms = dots.diagonal()
    squares = (norms[:, np.newaxis] + norms - 2 * dots)[np.triu_indices(len(norms), 1)]
    positive = squares[squares > 1e-12 * norms.max(initial=0.0)]
    return float(np.median(positive)) if len(positive) else 1.0


def default_param_grid(estimator: Any, X: Any) -> dict[str, list[Any]]:
    """Search space for a kernel classifier.

    gamma is spread around the reciprocal of the median squared distance between samples, so the space does not depend
    on the units of the features (their relative scales do matter: scale them first). The other parameter is C, or the
    margin of :class:`WorstViolatorSVC`.

    Parameters
    ----------
    estimator : estimator
        ``SVC`` of this package or of scikit-learn, ``WorstViolatorSVC``, ``MinNormSVC`` or ``NNISDAClassifier``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.

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
    ours = counterpart(estimator)
    if ours is None:
        raise ValueError(
            f"param_grid is needed for {type(estimator).__name__}: there is a default search space for SVC, "
            "WorstViolatorSVC, MinNormSVC and NNISDAClassifier only."
        )
    grid: dict[str, list[Any]] = {}
    if isinstance(ours, WorstViolatorSVC):
        grid["margin"] = list(MARGINS)
    else:
        grid["C"] = list(PENALTIES)
    if ours.kernel in ("rbf", "poly", "sigmoid"):
        scale = median_distance(X)
        grid["gamma"] = [width / scale for width in WIDTHS]
    return grid
