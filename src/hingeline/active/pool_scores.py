"""Decision values of fixed rows while a model learns and forgets points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

#: Points whose kernel values are computed together.
TOGETHER = 32
#: The sums are computed again when changes of coefficients add up to so many times the sum of the coefficients.
RENEW = 64.0
#: Share of `cache_size` for the kernel values that are kept.
SHARE = 0.25


class PoolScores:
    """Decision values of fixed rows for an IncrementalSVC with an RBF kernel, updated after each change of the model.

    A change adds kernel values of the points whose coefficients have changed. These values are kept, because the next
    change has most of its points among them. They use a quarter of `cache_size`; if that is not enough, the decision
    values are computed from all support vectors.

    Parameters
    ----------
    estimator : IncrementalSVC
        Model.
    X : {array, sparse matrix, data frame} of shape (n_rows, n_features)
        Rows. They must not change.
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        self.ensemble = estimator._model
        self.X = estimator._validate_predict(X)
        squares = self.X.multiply(self.X) if sp.issparse(self.X) else np.square(self.X)
        self._extent = estimator._gamma * float(np.max(squares.sum(axis=1)))
        self._most = int(SHARE * estimator.cache_size * 2**20 / (8 * self.X.shape[0]))
        self._compute(estimator._snapshot())

    @staticmethod
    def suits(estimator: Any) -> bool:
        """Whether the estimator tells which coefficients change, and has kernel values of at most 1."""
        return hasattr(estimator, "_mark") and estimator.kernel == "rbf"

    def belong_to(self, estimator: Any) -> bool:
        """Whether the sums were computed for this model: a fit from the beginning makes another one."""
        return estimator._model is self.ensemble

    def current(self, estimator: Any) -> tuple[np.ndarray, float]:
        """Decision values of the rows, and a bound on how far they are from those of ``decision_function``."""
        state = estimator._snapshot()
        if not self._update(state):
            self._compute(state)
        n_terms = self.X.shape[1] + self._coef.shape[1]
        mass = np.abs(self._coef).sum(axis=1).max() + self._moved
        error = 4 * np.finfo(float).eps * n_terms * (64 + 4 * self._extent) * mass
        values = self._sums + state._read_fitted().intercept_[:, np.newaxis]
        return (values[0] if len(values) == 1 else values.T), float(error)

    def _compute(self, state: Any) -> None:
        """Compute the sums from all support vectors."""
        fitted = state._read_fitted()
        self._sums = state._decide(self.X, fitted).T - fitted.intercept_[:, np.newaxis]
        self._coef = _by_number(fitted, self._n_seen())
        self._place = np.full(self._coef.shape[1], -1)  # row of the kernel values of a point, or -1
        self._numbers = np.empty(0, dtype=np.int64)  # points by row
        self._values = np.empty((0, self.X.shape[0]))
        self._n_gone, self._moved = self._n_seen() - self.ensemble.core.n_rows, 0.0

    def _n_seen(self) -> int:
        return int(self.ensemble.core.n_seen)

    def _update(self, state: Any) -> bool:
        """Add what has changed to the sums. False if they have to be computed from all support vectors."""
        fitted = state._read_fitted()
        n_seen = max(self._n_seen(), self._coef.shape[1])
        coef, old = _by_number(fitted, n_seen), self._coef
        if len(coef) != len(old):  # a label was new
            return False
        change = coef.copy()
        change[:, : old.shape[1]] -= old
        changed = np.flatnonzero(change.any(axis=0))
        self._place = np.append(self._place, np.full(n_seen - len(self._place), -1))
        if not self._hold(state, changed):
            return False
        weights = np.zeros((len(coef), len(self._numbers)))
        weights[:, self._place[changed]] = change[:, changed]
        self._sums += weights @ self._values[: len(self._numbers)]
        self._moved += float(np.abs(change).sum(axis=1).max())
        self._coef = coef
        n_gone = n_seen - self.ensemble.core.n_rows
        if n_gone != self._n_gone:  # no kernel value of a forgotten point is kept
            self._n_gone = n_gone
            self._keep(np.intersect1d(self._numbers, self.ensemble.core.points()["serial"], assume_unique=True))
        return self._moved <= RENEW * (1.0 + np.abs(coef).sum())

    def _hold(self, state: Any, points: np.ndarray) -> bool:
        """Compute the kernel values of these points that are not kept. False if they do not fit, or a row is gone."""
        missing = points[self._place[points] < 0]
        if len(self._numbers) + len(missing) > min(self._most, len(points) + len(points) // 2 + TOGETHER):
            self._keep(np.setdiff1d(points, missing, assume_unique=True))
        if len(points) > self._most:
            return False
        if not len(missing):
            return True
        with self.ensemble.lock:
            serial = self.ensemble.core.points()["serial"]
            numbers, rows, _ = np.intersect1d(serial, missing, assume_unique=True, return_indices=True)
            support = self.ensemble.take(rows)
        for at in range(0, len(numbers), TOGETHER):
            self._append(state, numbers[at : at + TOGETHER], support[at : at + TOGETHER])
        return len(numbers) == len(missing)

    def _append(self, state: Any, numbers: np.ndarray, support: Any) -> None:
        """Compute the kernel values of some points: decision values of models with one support vector each."""
        used, count = len(self._numbers), len(numbers)
        if used + count > len(self._values):
            longer = np.empty((min(max(2 * used, used + count), self._most), self.X.shape[0]))
            longer[:used] = self._values[:used]
            self._values = longer
        alone = np.eye(count)[:, np.newaxis]
        self._values[used : used + count] = state._decide_many(self.X, support, alone, np.zeros((count, 1)))[..., 0]
        self._place[numbers] = np.arange(used, used + count)
        self._numbers = np.append(self._numbers, numbers)

    def _keep(self, numbers: np.ndarray) -> None:
        """Drop the kernel values of all other points."""
        self._values = self._values[self._place[numbers]]
        self._place[self._numbers] = -1
        self._place[numbers] = np.arange(len(numbers))
        self._numbers = numbers


def _by_number(fitted: Any, n_seen: int) -> np.ndarray:
    """Coefficients of all points seen so far, by their number, in each machine."""
    coef = np.zeros((fitted.dual_coef_.shape[0], n_seen))
    coef[:, fitted.support_] = fitted.dual_coef_
    return coef
