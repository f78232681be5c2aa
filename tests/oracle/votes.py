"""Votes of pairs of classes as they were counted with NumPy: a loop over the pairs, and a matrix [pair, class]."""

from itertools import combinations

import numpy as np

LARGEST = 1e100


def scaled_votes(decisions, scale):
    """Scores of classes: votes, and the sums of scaled values mapped to (-1/3, 1/3)."""
    n_classes = classes_of(decisions)
    votes = np.zeros((len(decisions), n_classes))
    confidence = np.zeros_like(votes)
    with np.errstate(over="ignore"):
        scaled = np.clip(decisions / np.where(scale > 0, scale, 1.0), -LARGEST, LARGEST)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        wins = decisions[:, k] > 0
        votes[:, i] += wins
        votes[:, j] += ~wins
        confidence[:, i] += scaled[:, k]
        confidence[:, j] -= scaled[:, k]
    return votes + confidence / (3 * (np.abs(confidence) + 1))


def most_votes(decisions):
    """Class with most votes, as in LIBSVM: the first of several."""
    n_classes = classes_of(decisions)
    first, second = np.eye(n_classes)[np.array(list(combinations(range(n_classes), 2))).T]
    return (second.sum(axis=0) + (decisions > 0).astype(np.float64) @ (first - second)).argmax(axis=1)


def classes_of(decisions):
    """Number of classes that have so many pairs."""
    return int((1 + np.sqrt(1 + 8 * decisions.shape[1])) / 2)
