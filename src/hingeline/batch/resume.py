"""Solutions of the block solver for other rows, from the present one.

The solver needs beta and v = p - K beta. Both are known for the rows of before. A row that is gone takes its column
with it: v += K[:, gone] beta[gone]. A row that comes has beta = 0, and v = p - K[row, support] beta. So one row costs
one column of kernel values, where v of a starting point costs as many as a fit. The solver then mends bounds and sums,
which the changes have broken (engine::resume), and verifies v near the margin before it stops.

This needs the same kernel as before. With ``gamma='scale'`` it changes with the rows, and beta is only a guess.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..base import wiped
from ..base.retained import Retained
from ..base.rows import require_finite
from .start import coefficients


class Solution:
    """Coefficients and slopes of machines, by row, for another set of rows.

    Parameters
    ----------
    estimator : EngineEstimator
        Estimator with the attributes of the fit to `before`.
    before : Retained
        Its rows.
    coefficients : ndarray of shape (n_machines, n_rows)
        Signed coefficients of the machines of the core.
    """

    def __init__(self, estimator: Any, before: Retained, coefficients: np.ndarray) -> None:
        self.estimator, self.before, self.beta = estimator, before, coefficients
        self.kernel = _kernel_of(estimator)

    def move(
        self, X: Any, rows: np.ndarray, p: np.ndarray, present: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Coefficients and slopes of the rows X; slopes are None if they are not known.

        Parameters
        ----------
        X : {ndarray, sparse matrix}
            Rows.
        rows : ndarray of int64
            Numbers of these rows among those of before; -1: new.
        p : ndarray of shape (n_machines, n_rows)
            Linear terms of the machines of the core.
        present : ndarray of bool of shape (n_machines, n_rows)
            Rows of each machine.
        """
        old = rows >= 0
        beta = np.zeros(p.shape)
        beta[:, old] = self.beta[:, rows[old]]
        known = self.before.slopes
        if known is None or len(known) != len(p) or _kernel_of(self.estimator) != self.kernel:
            return beta, None
        slopes = np.empty(p.shape)
        gone = np.ones(len(self.before), dtype=bool)
        gone[rows[old]] = False
        slopes[:, old] = known[:, rows[old]] + self._sums(X, old, gone)
        slopes[:, ~old] = p[:, ~old] - self._sums(X, ~old, np.ones(len(gone), dtype=bool))
        slopes[~present] = 0.0
        return beta, slopes

    def _sums(self, X: Any, queries: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Sums of kernel values times coefficients, for some rows of X and some rows of before, both as masks."""
        est = self.estimator
        places = np.flatnonzero(base & (self.beta != 0).any(axis=0))
        if not len(places) or not queries.any():
            return np.zeros((len(self.beta), int(queries.sum())))
        some = X if queries.all() else wiped.take(X, np.flatnonzero(queries))
        rows, coef = wiped.take(self.before.X, places), np.ascontiguousarray(self.beta[:, places])
        if callable(est.kernel):
            return coef @ est._call_kernel(some, rows).T
        machines = len(coef)
        lines = _core.Lines(coef, np.array([len(places)]), np.arange(machines)[np.newaxis], np.zeros(machines))
        packed = _core.Packed(est._kernel(), est._matrix(rows))
        return require_finite(packed.decide(lines, est._matrix(some), est._threads(), None)).T


def read_coefficients(fitted: Any, y: np.ndarray) -> np.ndarray:
    """Absolute coefficients of every machine by row, of a fitted classifier whose rows have the labels `y`."""
    codes = np.searchsorted(fitted.classes_, y)
    return np.array(coefficients(fitted, codes))


def set_solution(core: Any, beta: np.ndarray, slopes: np.ndarray | None) -> None:
    """Start machines from coefficients, and from slopes if they are known."""
    for machine, values in enumerate(beta):
        if slopes is None:
            core.guess(machine, values)
        else:
            core.resume(machine, values, np.ascontiguousarray(slopes[machine]))


def _kernel_of(estimator: Any) -> tuple[Any, ...]:
    return estimator.kernel, vars(estimator).get("_gamma"), estimator.coef0, estimator.degree
