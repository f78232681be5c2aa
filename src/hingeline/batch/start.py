"""Starting points of batch machines: coefficients of another fit to the same samples."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..base.labels import is_one_vs_rest, pairs

#: Fitted attributes that a warm start needs.
GUESS = ("shape_fit_", "classes_", "support_", "n_support_", "dual_coef_")


def guess_of(estimator: Any) -> Any:
    """Starting point of another fit, or None if the estimator is not fitted."""
    fitted = vars(estimator)
    return SimpleNamespace(**{name: getattr(estimator, name) for name in GUESS}) if "dual_coef_" in fitted else None


def mismatch(guess: Any, codes: np.ndarray, classes: np.ndarray, one_machine: bool) -> str:
    """Why a starting point does not fit a problem; empty if it does.

    Parameters
    ----------
    guess : object
        Starting point from `guess_of`.
    codes : ndarray
        Class of each row.
    classes : ndarray
        Labels.
    one_machine : bool
        Whether one machine separates all classes.

    Returns
    -------
    str
        Words that complete a sentence, or an empty string.
    """
    if guess.shape_fit_[0] != len(codes):
        return f"it was fitted to {guess.shape_fit_[0]} samples, X has {len(codes)}"
    if not np.array_equal(guess.classes_, classes):
        return "its classes differ"
    if not np.array_equal(codes[guess.support_], np.repeat(np.arange(len(classes)), guess.n_support_)):
        return "its support vectors have other labels"
    if len(classes) > 2 and is_one_vs_rest(guess) != one_machine:
        return "one has a machine for each pair of classes, the other one machine for all"
    return ""


def coefficients(guess: Any, codes: np.ndarray) -> list[np.ndarray]:
    """Absolute coefficients of every machine by sample."""
    n_classes = len(guess.classes_)
    code = codes[guess.support_]
    columns = np.arange(len(code))
    dense = guess.dual_coef_ if isinstance(guess.dual_coef_, np.ndarray) else guess.dual_coef_.toarray()
    sizes = np.abs(dense)
    if is_one_vs_rest(guess):
        values = [sizes[code, columns]]
    else:
        values = [
            np.where(code == i, sizes[j - 1], np.where(code == j, sizes[i], 0.0))
            for i, j in zip(*pairs(n_classes), strict=True)
        ]
    out = []
    for value in values:
        v = np.zeros(len(codes))
        v[guess.support_] = value
        out.append(v)
    return out
