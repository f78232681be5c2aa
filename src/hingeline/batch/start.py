"""Starting points of batch machines: coefficients of another fit to the same samples."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..base.labels import is_one_vs_rest, pairs

#: Fitted attributes that a warm start of any machine needs, and more that those of classes need.
GUESS = ("shape_fit_", "support_", "dual_coef_")
CLASSES = ("classes_", "n_support_")
#: Estimators that a starting point may come from, by scikit-learn's type of the estimator.
KINDS = {"classifier": "SVC, NuSVC or L2SVC", "regressor": "SVR or NuSVR", "outlier_detector": "OneClassSVM"}


def read_start(estimator: Any, dual_init: Any) -> SimpleNamespace | None:
    """Starting point of a fit, read before the fit changes any attribute.

    Parameters
    ----------
    estimator : estimator
        Estimator that is being fitted. With ``warm_start=True`` its last solution is the starting point, if it has one.
    dual_init : estimator or None
        Fitted estimator whose solution is the starting point instead.

    Returns
    -------
    SimpleNamespace or None
        The attributes `GUESS`, and those of `CLASSES` for a classifier; None: training starts from zero.
    """
    if dual_init is None:
        if not estimator.warm_start or "dual_coef_" not in vars(estimator):
            return None
        dual_init = estimator
    check_is_fitted(dual_init)
    task = str(get_tags(estimator).estimator_type)
    names = GUESS + (CLASSES if task == "classifier" else ())
    if get_tags(dual_init).estimator_type != task or not all(hasattr(dual_init, name) for name in names):
        raise TypeError(f"dual_init must be a fitted {KINDS[task]}. Got {type(dual_init).__name__}.")
    return SimpleNamespace(**{name: getattr(dual_init, name) for name in names})


def set_start(
    core: Any, start: SimpleNamespace | None, codes: np.ndarray, classes: np.ndarray, *, wanted: bool
) -> None:
    """Start machines from the coefficients of another fit.

    Parameters
    ----------
    core : object
        Machines of the core.
    start : SimpleNamespace or None
        Starting point from `read_start`.
    codes : ndarray
        Class of each row.
    classes : ndarray
        Labels.
    wanted : bool
        Whether a starting point that does not fit is an error. Otherwise it is ignored.
    """
    if start is None:
        return
    if obstacle := _find_obstacle(start, codes, classes, core.n_machines == 1):
        if wanted:
            raise ValueError(f"dual_init must have been fitted to the same samples and labels: {obstacle}.")
        return
    for machine, values in enumerate(coefficients(start, codes)):
        core.guess(machine, values)


def set_single_start(core: Any, start: SimpleNamespace | None, n: int, *, wanted: bool) -> None:
    """Start a machine over all `n` samples from the coefficients of another fit; see `set_start`."""
    if start is None:
        return
    if obstacle := _find_other_size(start, n):
        if wanted:
            raise ValueError(f"dual_init must have been fitted to the same samples: {obstacle}.")
        return
    values = np.zeros(n)
    values[start.support_] = to_dense(start.dual_coef_)[0]
    core.guess(0, values)


def _find_obstacle(start: SimpleNamespace, codes: np.ndarray, classes: np.ndarray, one_machine: bool) -> str:
    """Why a starting point does not fit a problem, as a part of a sentence; empty if it does."""
    if other := _find_other_size(start, len(codes)):
        return other
    if not np.array_equal(start.classes_, classes):
        return "its classes differ"
    if not np.array_equal(codes[start.support_], np.repeat(np.arange(len(classes)), start.n_support_)):
        return "its support vectors have other labels"
    if len(classes) > 2 and is_one_vs_rest(start) != one_machine:
        return "one has a machine for each pair of classes, the other one machine for all"
    return ""


def _find_other_size(start: SimpleNamespace, n: int) -> str:
    """That a starting point has another number of samples, as a part of a sentence; empty if it has not."""
    given = start.shape_fit_[0]
    return "" if given == n else f"it was fitted to {given} samples, X has {n}"


def to_dense(coefficients: Any) -> np.ndarray:
    """Coefficients of the support vectors as an array."""
    return coefficients if isinstance(coefficients, np.ndarray) else np.asarray(coefficients.toarray())


def coefficients(start: Any, codes: np.ndarray) -> list[np.ndarray]:
    """Absolute coefficients of every machine by sample."""
    n_classes = len(start.classes_)
    code = codes[start.support_]
    columns = np.arange(len(code))
    sizes = np.abs(to_dense(start.dual_coef_))
    if is_one_vs_rest(start):
        values = [sizes[code, columns]]
    else:
        values = [
            np.where(code == i, sizes[j - 1], np.where(code == j, sizes[i], 0.0))
            for i, j in zip(*pairs(n_classes), strict=True)
        ]
    found = np.zeros((len(values), len(codes)))
    found[:, start.support_] = values
    return list(found)
