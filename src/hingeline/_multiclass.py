"""One-vs-one: which pair is which, from machines to LIBSVM's arrays, and from decision values to classes.

Pairs run in the order (0, 1), (0, 2), ..., (c-2, c-1). A positive value of machine (i, j) speaks for the first
class i; with two classes only, as everywhere in scikit-learn, a positive value speaks for ``classes_[1]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def pairs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """First and second class of every pair."""
    first, second = np.triu_indices(n_classes, k=1)
    return first, second


def pair_outputs(n_classes: int) -> np.ndarray:
    """Machine fed by line m of ``dual_coef_`` for the support vectors of class i, as an array [i, m].

    LIBSVM's layout: the support vectors of class i have one coefficient for each other class, in order.
    """
    number = np.zeros((n_classes, n_classes), dtype=np.int64)
    first, second = pairs(n_classes)
    number[first, second] = number[second, first] = np.arange(len(first))
    off_diagonal = ~np.eye(n_classes, dtype=bool)
    return number[off_diagonal].reshape(n_classes, n_classes - 1)


def assemble(
    machines: list[dict[str, Any]], codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Union of the machines' support vectors in LIBSVM's layout.

    Returns
    -------
    support : ndarray of shape (n_support,)
        Row numbers, class after class, ascending within a class.
    n_support : ndarray of shape (n_classes,)
        Support vectors of each class.
    dual_coef : ndarray of shape (n_classes - 1, n_support)
        Signed coefficients.
    """
    used = np.zeros(len(codes), dtype=bool)
    for machine in machines:
        used[machine["chosen"]] = True
    rows = np.flatnonzero(used)
    support = rows[np.argsort(codes[rows], kind="stable")]
    position = np.zeros(len(codes), dtype=np.intp)
    position[support] = np.arange(len(support))
    dual_coef = np.zeros((n_classes - 1, len(support)))
    for i, j, machine in zip(*pairs(n_classes), machines, strict=True):
        chosen = machine["chosen"]
        line = np.where(codes[chosen] == i, j - 1, i)
        dual_coef[line, position[chosen]] = machine["coef"]
    n_support = np.bincount(codes[support], minlength=n_classes).astype(np.int32)
    return support.astype(np.int32), n_support, dual_coef


def one_vs_rest_shape(decisions: np.ndarray, scale: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of the pairs, with ties broken by the sum of scaled decision values.

    The sum of the signed values, each divided by the largest value that its machine has seen, is squeezed into
    (-1/3, 1/3): it decides between classes with equal votes and never beats a vote.
    """
    first, second = pairs(n_classes)
    votes = np.zeros((decisions.shape[0], n_classes))
    confidence = np.zeros_like(votes)
    scaled = decisions / np.where(scale > 0, scale, 1.0)
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        wins = decisions[:, k] > 0
        votes[:, i] += wins
        votes[:, j] += ~wins
        confidence[:, i] += scaled[:, k]
        confidence[:, j] -= scaled[:, k]
    squeezed: np.ndarray = votes + confidence / (3 * (np.abs(confidence) + 1))
    return squeezed
