"""Probabilities from decision values: Platt's sigmoid for pairs of classes, and their coupling.

The sigmoid is fitted by Newton's method with backtracking (Lin, Lin and Weng, "A note on Platt's probabilistic outputs
for support vector machines", 2007). Probabilities of pairs are coupled by the second method of Wu, Lin and Weng,
"Probability estimates for multi-class classification by pairwise coupling", 2004. Both are what LIBSVM does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from .. import _core
from .types import Rows

#: Most rounds of the coupling over all classes; with more classes, their number.
N_SWEEPS = 100


def wants_probability(estimator: Any) -> bool:
    """Whether the parameter ``probability`` asks for probabilities; 'deprecated' is the default of SVC."""
    return bool(estimator.probability) and estimator.probability != "deprecated"


def _has_probability(estimator: Any) -> bool:
    if not wants_probability(estimator):
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class PlattClassifier:
    """Classifier with probabilities, from sigmoids of decision values.

    A subclass has the constructor parameter ``probability`` and implements `_probabilities`.
    """

    probability: Any

    def _probabilities(self, X: Any) -> np.ndarray:
        """Probabilities of the classes for rows that are not checked yet."""
        raise NotImplementedError

    @available_if(_has_probability)
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Probabilities of the classes, with ``probability=True`` only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, one column per class.
        """
        return self._probabilities(X)

    @available_if(_has_probability)
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of probabilities, one column per class.
        """
        logarithms: np.ndarray = np.log(self.predict_proba(X))
        return logarithms


def fit_sigmoid(decisions: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """Parameters A, B of the probability ``1 / (1 + exp(A f + B))`` of the positive class.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples,)
        Decision values of samples that were not used in training.
    positive : ndarray of bool of shape (n_samples,)
        Whether a sample belongs to the positive class.

    Returns
    -------
    tuple of float
        A and B.
    """
    slope, offset = _core.fit_sigmoid(np.ascontiguousarray(decisions, dtype=np.float64), np.ascontiguousarray(positive))
    return slope, offset


def apply_sigmoids(decisions: np.ndarray, sigmoids: np.ndarray) -> np.ndarray:
    """Probabilities of the positive classes.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_machines)
        Decision values.
    sigmoids : ndarray of shape (2, n_machines)
        Parameters A and B of each machine.

    Returns
    -------
    ndarray of shape (n_samples, n_machines)
        Probabilities, neither 0 nor 1.
    """
    A, B = sigmoids
    with np.errstate(over="ignore"):
        probabilities: np.ndarray = np.clip(1.0 / (1.0 + np.exp(A * decisions + B)), 1e-7, 1.0 - 1e-7)
    return probabilities


def coupling_tolerance(n_classes: int) -> float:
    """Largest violation of the optimality conditions at which the coupling ends."""
    return 0.005 / n_classes


def couple(pairwise: np.ndarray) -> np.ndarray:
    """Probabilities of the classes from those of pairs.

    Parameters
    ----------
    pairwise : ndarray of shape (n_samples, n_classes, n_classes)
        Entry [s, i, j] is the probability of class i given that the class is i or j; entries [s, j, i] are
        complementary.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Probabilities.
    """
    n, k = pairwise.shape[:2]
    off = ~np.eye(k, dtype=bool)
    transposed = pairwise.transpose(0, 2, 1)
    Q = np.where(off, -transposed * pairwise, 0.0)
    Q[:, np.arange(k), np.arange(k)] = np.where(off, transposed**2, 0.0).sum(axis=2)
    p = np.full((n, k), 1.0 / k)
    open_ = np.arange(n)
    for _ in range(max(N_SWEEPS, k)):
        q, x = Q[open_], p[open_]
        Qp = np.einsum("sij,sj->si", q, x)
        pQp = np.einsum("si,si->s", x, Qp)
        late = np.abs(Qp - pQp[:, np.newaxis]).max(axis=1) >= coupling_tolerance(k)
        open_, q, x, Qp, pQp = open_[late], q[late], x[late], Qp[late], pQp[late]
        if not len(open_):
            break
        for t in range(k):
            diff = (pQp - Qp[:, t]) / q[:, t, t]
            x[:, t] += diff
            scale = 1.0 + diff
            pQp = (pQp + diff * (diff * q[:, t, t] + 2.0 * Qp[:, t])) / scale**2
            Qp = (Qp + diff[:, np.newaxis] * q[:, t]) / scale[:, np.newaxis]
            x /= scale[:, np.newaxis]
        p[open_] = x
    return p
