"""Scores for unbalanced classes: the precision-recall break-even point and the g-mean.

Both go into :func:`sklearn.metrics.make_scorer`, :func:`prbep_score` with
``response_method="decision_function"``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target

__all__ = ["g_mean_score", "prbep_score"]


def _labels(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """`values` as one column of class labels."""
    column = column_or_1d(values)
    assert_all_finite(column, input_name=name)
    kind = type_of_target(column, input_name=name)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"{name} must hold class labels, one for each sample; got {kind} values.")
    return column


def prbep_score(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, pos_label: Any = None) -> float:
    """Precision-recall break-even point (PRBEP).

    With P positive samples, the P samples with the highest scores are predicted positive. Precision and recall are then
    equal, and their value is the score. Ties at the threshold are averaged over all choices, so the order of the
    samples does not matter.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, of two classes.
    y_score : array-like of shape (n_samples,)
        Scores; the higher, the more positive.
    pos_label : int, float, bool or str, default=None
        Positive class. None means 1 and is allowed if the labels are 0 and 1 or -1 and 1.

    Returns
    -------
    float
        Between 0 and 1; 1 if every positive sample scores higher than every negative one.

    Raises
    ------
    ValueError
        If there are more than two classes or no positive sample, if a score is not finite, or if `pos_label` is needed
        and not given.

    Examples
    --------
    >>> from hingeline.metrics import prbep_score
    >>> prbep_score([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5])
    0.5

    A positive and a negative sample share the second place:

    >>> prbep_score([1, 0, 1, 0, 0], [0.9, 0.7, 0.7, 0.6, 0.5])
    0.75

    As a scorer:

    >>> from sklearn.metrics import make_scorer
    >>> scorer = make_scorer(prbep_score, response_method="decision_function")
    """
    labels = _labels(y_true, "y_true")
    score = column_or_1d(y_score, dtype=np.float64)
    check_consistent_length(labels, score)
    assert_all_finite(score, input_name="y_score")
    classes = np.unique(labels)
    if len(classes) > 2:
        raise ValueError(f"y_true must have two classes; got {len(classes)}. Score each class against the others.")
    if pos_label is None:
        if not (np.isin(classes, [0, 1]).all() or np.isin(classes, [-1, 1]).all()):
            raise ValueError(f"pos_label must be given for the labels {classes.tolist()}.")
        pos_label = 1
    positive = labels == pos_label
    n_positive = np.count_nonzero(positive)
    if n_positive == 0:
        raise ValueError(f"y_true has no positive sample: pos_label is {pos_label!r}, labels are {classes.tolist()}.")
    cut = np.sort(score)[len(score) - n_positive]
    above, tied = score > cut, score == cut
    places = n_positive - np.count_nonzero(above)
    found = np.count_nonzero(positive & above) + places * np.mean(positive[tied])
    return float(found / n_positive)


def g_mean_score(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, pos_label: Any = None) -> float:
    """Geometric mean of the recalls of the classes (g-mean).

    For two classes this is the square root of sensitivity times specificity.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, of two classes or more.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    pos_label : int, float, bool or str, default=None
        If given, the score of this class against all others. It differs only if there are more than two classes.

    Returns
    -------
    float
        Between 0 and 1; 0 if no sample of some class is predicted correctly.

    Raises
    ------
    ValueError
        If `y_true` has one class only, or not the class `pos_label`.

    Examples
    --------
    >>> from hingeline.metrics import g_mean_score
    >>> g_mean_score([1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0])
    0.5
    """
    true, predicted = _labels(y_true, "y_true"), _labels(y_pred, "y_pred")
    check_consistent_length(true, predicted)
    classes = np.unique(true)
    if pos_label is not None:
        if not np.any(classes == pos_label):
            raise ValueError(f"y_true has no sample of class pos_label={pos_label!r}; it has {classes.tolist()}.")
        true, predicted = true == pos_label, predicted == pos_label
        classes = np.unique(true)
    if len(classes) < 2:
        raise ValueError("y_true must have at least two classes; it has one class only.")
    recalls = [np.mean(predicted[true == k] == k) for k in classes]
    return float(np.prod(recalls) ** (1 / len(recalls)))
