"""Earlier models of a stream: their coefficients, without rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .ensemble import ExactEnsemble


@dataclass(frozen=True)
class Mark:
    """Model at one moment. It keeps no rows, so that points which are forgotten do not survive in it.

    Attributes
    ----------
    ensemble : ExactEnsemble
        Ensemble whose points the numbers refer to.
    support : ndarray of shape (n_support,)
        Numbers of the support vectors.
    dual_coef : ndarray of shape (n_machines, n_support)
        Coefficients.
    intercept : ndarray of shape (n_machines,)
        Intercepts.
    classes : ndarray
        Labels, sorted.
    """

    ensemble: ExactEnsemble
    support: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray

    def coefficients(self, numbers: np.ndarray) -> np.ndarray | None:
        """Coefficients of the points with these numbers, in ascending order; None if a support vector is missing."""
        at = np.searchsorted(numbers, self.support)
        if not np.array_equal(numbers.take(at, mode="clip") if len(numbers) else numbers, self.support):
            return None
        coef = np.zeros((len(self.intercept), len(numbers)))
        coef[:, at] = self.dual_coef
        return coef
