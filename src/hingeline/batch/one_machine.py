"""Estimators of the block solver with one machine over all rows: regression and one class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector

from .. import _core
from ..base.retained import Retained, RetainsRows, retain
from ..base.rows import clip_weights
from ..base.types import Id
from .card import open_card
from .engine import EngineEstimator, EngineTraining, keep_slopes
from .resume import Solution, set_solution
from .start import read_start, set_single_start, to_dense

#: Attributes that the core gives for each machine; these estimators publish those of the only one.
SCALARS = ("n_iter_", "stop_reason_", "kkt_violation_", "dual_objective_", "duality_gap_", "epsilon_")


class OneMachineEstimator(RetainsRows, EngineEstimator):
    """Base of the estimators with one machine over all rows. A subclass sets `_kind`, the name in the core."""

    _kind: str

    def _begin(
        self, X: Any, targets: np.ndarray, sample_weight: Any, dual_init: Any, names: list[Id] | None
    ) -> OneMachineTraining:
        """Training of checked rows, which are kept if they have names."""
        start = read_start(self, dual_init)  # before an attribute changes
        X = retain(self, X, targets, sample_weight, names)
        self._set_kernel(X)
        training = self._training(X, targets, sample_weight)
        set_single_start(training.core, start, len(targets), wanted=dual_init is not None)
        return training

    def _resume(self, before: Retained, kept: Retained, rows: np.ndarray) -> OneMachineTraining:
        coefficients = np.zeros((1, len(before)))
        coefficients[0, self.support_] = to_dense(self.dual_coef_)[0]
        solution = Solution(self, before, coefficients)
        self._set_kernel(kept.X)
        training = self._training(kept.X, kept.y, kept.weight)
        present = (training.bounds > 0)[np.newaxis]
        set_solution(training.core, *solution.move(kept.X, rows, kept.y[np.newaxis], present))
        return training

    def _training(
        self, X: Any, targets: np.ndarray, sample_weight: Any, rows: np.ndarray | None = None
    ) -> OneMachineTraining:
        weights = clip_weights(self._sample_weights(sample_weight, targets))
        return OneMachineTraining(self, X, targets, weights, *self._problem(weights), rows=rows)

    def _problem(self, weights: np.ndarray) -> tuple[float, dict[str, float]]:
        """Factor of the weights in the bounds of the coefficients, and more parameters of the core."""
        raise NotImplementedError


class OneMachineTraining(EngineTraining):
    """One fit of a machine over all rows.

    Parameters
    ----------
    estimator : OneMachineEstimator
        Estimator that is being fitted.
    X : object
        Checked rows, a matrix of kernel values, or samples for a callable kernel.
    targets : ndarray
        Targets of the rows, which one-class machines ignore.
    weights : ndarray
        Weight of each row.
    factor : float
        Factor on the weights, which makes them bounds of the coefficients.
    more : dict
        Other parameters of the machine.
    rows : ndarray, default=None
        X is a matrix of kernel values, and these are its rows that are trained on; None: all.
    """

    requirement = "a function must exist that differs from all targets by epsilon at most, and none does"

    def __init__(
        self,
        estimator: OneMachineEstimator,
        X: Any,
        targets: np.ndarray,
        weights: np.ndarray,
        factor: float,
        more: dict[str, float],
        rows: np.ndarray | None = None,
    ) -> None:
        seen = None if is_outlier_detector(estimator) else targets  # by callbacks
        super().__init__(estimator, X, seen, weights, factor, rows)
        self.limits |= more
        self.core = _core.OneMachine(estimator._kind, targets, self.bounds, single=self.single, **self.limits)
        self.card = open_card(self)

    def end(self, unfinished: str) -> None:
        keep_slopes(self, unfinished)

    def attributes(self, unfinished: str) -> dict[str, Any]:
        found = super().attributes(unfinished)
        return found | {name: found[name][0].item() for name in SCALARS if name in found}
