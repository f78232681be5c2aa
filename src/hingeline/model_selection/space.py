"""Search spaces that do not depend on the scale of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array

from .._registry import kernel_parameters, row_of
from ..base.regressor import check_targets
from ..base.rows import require_sound_rows
from .shared import counterpart

#: Rows that the distances are computed from, at most.
ROWS = 1000
#: gamma times the median squared distance, for C and for margins. Larger spaces do not score better: with few samples
#: the choice among many candidates is left to chance.
WIDTHS = {"C": (0.125, 0.5, 2.0, 8.0), "margin": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0), "nu": (0.125, 0.5, 2.0, 8.0)}
VALUES = {"C": (1.0, 10.0, 100.0), "margin": (0.1, 0.3, 1.0), "nu": (0.1, 0.3, 0.6)}
#: The same for regressors, C and epsilon in units of the standard deviation of the targets; nu of outlier detectors.
TARGET_VALUES = {"C": (1.0, 10.0, 100.0), "epsilon": (0.02, 0.1, 0.3), "nu": (0.2, 0.4, 0.8)}
OUTLIER_SHARES = (0.01, 0.05, 0.2)
#: C of linear estimators: a fit takes less time than a kernel matrix, and small values matter with many features.
#: epsilon in units of the standard deviation of the targets. Losses where C is chosen by the estimator itself.
LINEAR_VALUES, LINEAR_MARGINS = (0.01, 0.1, 1.0, 10.0, 100.0), (0.0, 0.1, 0.3)
LOSSES = ("squared_hinge", "huber")


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
    """Search space for an estimator.

    gamma is spread around the reciprocal of the median squared distance between samples, so the space does not depend
    on the units of the features (their relative scales do matter: scale them first). The others are C, or the margin of
    :class:`WorstViolatorSVC`, or nu; with ``SVR`` and ``LinearSVR`` also epsilon; with ``LinearSVCCV``, which chooses C
    itself, the loss. C and epsilon of regressors are multiples of the
    standard deviation of the targets; nu of ``NuSVC`` is a share of the largest one that is feasible.

    Parameters
    ----------
    estimator : estimator
        Classifier, regressor or outlier detector of this package, ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR`` or
        ``OneClassSVM`` of scikit-learn, or a pipeline that ends with one of them.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : array-like of shape (n_samples,), default=None
        Targets of regressors; labels for ``NuSVC`` and for the steps of a pipeline.

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
    ours = counterpart(estimator) or estimator
    row = row_of(type(ours))
    if row is None or not hasattr(ours, "predict"):
        raise ValueError(
            f"param_grid is needed for {type(estimator).__name__}: there is a default search space for the "
            "classifiers, regressors and outlier detectors of hingeline, and for SVC, NuSVC, SVR, NuSVR and "
            "OneClassSVM of scikit-learn."
        )
    known = ours.get_params()
    other = row.path or next(name for name in ("nu", "C", "loss") if name in known)
    grid = _linear_values(ours, other, y) if "kernel" not in known else _values(ours, other, y)
    if "gamma" in kernel_parameters(known.get("kernel")):
        scale = median_distance(X)
        grid["gamma"] = [width / scale for width in WIDTHS[other]]
    return grid


def _linear_values(estimator: Any, path: str, y: Any) -> dict[str, list[Any]]:
    """Values of the parameters of a linear estimator. LinearSVCCV chooses C itself."""
    if path == "loss":
        return {path: list(LOSSES)}
    if not is_regressor(estimator):
        return {path: list(LINEAR_VALUES)}
    unit = _unit(y)
    slope = unit if estimator.loss == "epsilon_insensitive" else 1.0  # C of the squared loss has no unit
    return {
        path: [value * slope for value in LINEAR_VALUES],
        "epsilon": [value * unit for value in LINEAR_MARGINS],
    }


def _unit(y: Any) -> float:
    """Standard deviation of targets; 1 if they are constant."""
    if y is None:
        raise ValueError("y is needed for the search space of a regressor: C and epsilon are in units of y.")
    return float(np.std(check_targets(y))) or 1.0


def _values(estimator: Any, path: str, y: Any) -> dict[str, list[Any]]:
    """Values of all parameters but those of the kernel."""
    if is_outlier_detector(estimator):
        return {path: list(OUTLIER_SHARES)}
    if is_regressor(estimator):
        unit = _unit(y)
        units = {"C": unit, "epsilon": unit, "nu": 1.0}
        own = [name for name in TARGET_VALUES if name in estimator.get_params()]
        return {name: [value * units[name] for value in TARGET_VALUES[name]] for name in own}
    most = 1.0
    if path == "nu" and y is not None:
        counts = np.unique(np.asarray(y), return_counts=True)[1]
        most = 2 * float(counts.min()) / float(counts.min() + counts.max())
    return {path: [value * most for value in VALUES[path]]}
