"""Probabilities of SVC: sigmoids of cross-validated decision values, as in LIBSVM."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._sklearn import n_samples
from ..base.labels import pairs
from ..base.platt import PlattClassifier, apply_sigmoids, couple
from ..base.rows import row_blocks
from ..base.warn import warn

#: Matrices of pairs of classes that the coupling of one row takes.
COUPLED_ARRAYS = 5


class SvcProbabilities(PlattClassifier):
    """Probabilities of SVC; ``sigmoids_`` is empty after a fit with ``probability=False``."""

    sigmoids_: np.ndarray

    def _probabilities(self: Any, X: Any) -> np.ndarray:
        self = self._snapshot()
        X = self._validate_predict(X)
        if not self.sigmoids_.size:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        blocks = list(row_blocks(n_samples(X), COUPLED_ARRAYS * len(self.classes_) ** 2))
        if len(blocks) == 1:
            return self._couple(self._decide(X, self))
        return np.concatenate([self._couple(self._decide(X[some], self)) for some in blocks])

    def _couple(self: Any, decisions: np.ndarray) -> np.ndarray:
        """Probabilities of the classes from decision values."""
        n_classes = len(self.classes_)
        first = apply_sigmoids(-decisions if n_classes == 2 else decisions, self.sigmoids_)
        if n_classes == 2:
            return np.hstack([first, 1.0 - first])
        pairwise = np.zeros((len(decisions), n_classes, n_classes))
        i, j = pairs(n_classes)
        pairwise[:, i, j] = first
        pairwise[:, j, i] = 1.0 - first
        return couple(pairwise)

    @property
    def probA_(self) -> np.ndarray:
        """Slopes of the sigmoids of ``probability=True``; deprecated as in scikit-learn."""
        return self._read_deprecated("probA_", 0)

    @property
    def probB_(self) -> np.ndarray:
        """Offsets of the sigmoids of ``probability=True``; deprecated as in scikit-learn."""
        return self._read_deprecated("probB_", 1)

    def _read_deprecated(self, name: str, which: int) -> np.ndarray:
        warn(
            f"Attribute `{name}` was deprecated in scikit-learn 1.9 and will be removed in 1.11.",
            FutureWarning,
        )
        check_is_fitted(self)
        values: np.ndarray = self.sigmoids_[which]
        return values


def shuffle_pairs(
    codes: np.ndarray, kept: np.ndarray, n_classes: int, random_state: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples of all pairs of classes in random order, whose stretches are the folds of cross-validation.

    Parameters
    ----------
    codes : ndarray
        Class of each sample.
    kept : ndarray of bool
        Samples that take part.
    n_classes : int
        Number of classes.
    random_state : int, RandomState instance or None
        Order.

    Returns
    -------
    tuple of ndarray
        Samples of one pair after another, whether each belongs to the first class of its pair, and the sizes of the
        pairs.
    """
    rng = check_random_state(random_state)
    members = [np.flatnonzero((codes == k) & kept) for k in range(n_classes)]
    rows, first, sizes = [], [], []
    for i, j in zip(*pairs(n_classes), strict=True):
        both = np.concatenate((members[i], members[j]))
        both.sort()
        rows.append(both[rng.permutation(len(both))])
        first.append(codes[rows[-1]] == i)
        sizes.append(len(both))
    return np.concatenate(rows), np.concatenate(first), np.array(sizes, dtype=np.int64)
