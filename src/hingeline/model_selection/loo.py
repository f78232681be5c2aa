"""Exact leave-one-out of the soft-margin SVM: each support vector is removed from the trained model in turn.

Points that are not support vectors do not influence the model. :class:`IncrementalSVC` removes the others exactly, and
follows the optimum from one C to the next. With several classes there is a machine for each pair, as in ``SVC``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._registry import COMPUTED
from ..base.labels import pairs
from ..base.state import snapshot
from ..batch.svc import SVC
from ..exact.incremental import IncrementalSVC
from .shared import Cell, Run, SharedKernel

#: Margins above minus this are computed: their signs may be rounding errors.
NEAR_ZERO = 1e-6


class ExactLeaveOneOut:
    """Leave-one-out scores of ``SVC``.

    Parameters
    ----------
    shared : SharedKernel
        Estimator and data.
    """

    def __init__(self, shared: SharedKernel) -> None:
        self.shared = shared
        self.classes, codes = np.unique(shared.y, return_inverse=True)
        self.codes = codes.astype(np.int64)

    def suits(self, run: Run) -> bool:
        """Whether the scores of a run are those of leaving out one sample after another from one model."""
        estimator = run.estimator
        return (
            isinstance(estimator, SVC)
            and self.shared.accuracy
            and not self.shared.problem.return_train_score
            and run.key is not None
            and run.key[0] in COMPUTED
            and not (estimator.break_ties and len(self.classes) > 2)  # needs values, not only signs
            and estimator.class_weight != "balanced"  # the weights change when a sample is left out
            and np.isfinite(max(run.members))
            and np.bincount(self.codes).min() > 1
            and (self.shared.sample_weight is None or self.shared.sample_weight.min() > 0)
        )

    def work(self, cells: list[Cell], done: Callable[[Cell, dict[str, Any]], None]) -> list[Cell]:
        """Score cells, those of all splits together; by training if they do not suit. Returns the cells left."""
        runs, left = self.shared.runs(cells)
        others: list[Run] = []
        groups: dict[int, list[Run]] = {}
        for run in runs:
            if self.suits(run):
                groups.setdefault(id(run.estimator), []).append(run)
            else:
                others.append(run)
        with ThreadPoolExecutor(self.shared.threads) as pool:
            for group, scores in zip(groups.values(), pool.map(self._attempt, groups.values()), strict=True):
                if scores is None:
                    others += group
                    continue
                for cell, out in scores:
                    done(cell, out)
        return left + self.shared.evaluate(others, done)

    def _attempt(self, runs: list[Run]) -> list[tuple[Cell, dict[str, Any]]] | None:
        """Scores of the cells of runs that differ only in their splits; None after an error: training reports it."""
        try:
            return self._score(runs)
        except Exception:
            return None

    def _score(self, runs: list[Run]) -> list[tuple[Cell, dict[str, Any]]]:
        found = []
        estimator = snapshot(runs[0].estimator)
        estimator.classes_ = self.classes
        machines, weights = self._machines(runs[0]), self._weights(estimator)
        for C in sorted({value for run in runs for value in run.members}):
            begin = perf_counter()
            decisions = np.column_stack([self._decide(rows, machine, weights, C) for rows, machine in machines])
            right = (
                self.classes[estimator._choose_classes(decisions, SimpleNamespace(classes_=self.classes))]
                == self.shared.y
            )
            seconds = (perf_counter() - begin) / len(right)
            for run in runs:
                for cell in run.members.get(C, ()):
                    score = float(right[run.test[0]])
                    out = {"fit_error": None, "fit_time": seconds, "score_time": 0.0, "n_test_samples": 1}
                    found.append((cell, {**out, "test_scores": score}))
        return found

    def _machines(self, run: Run) -> list[tuple[np.ndarray, IncrementalSVC]]:
        """Rows of each pair of classes, and a machine for them that has learnt nothing yet."""
        assert run.key is not None
        key: Any = run.key  # of one of the kernels that `suits` has checked
        kernel, gamma, coef0, degree = key
        return [
            (
                np.flatnonzero((self.codes == i) | (self.codes == j)),
                IncrementalSVC(kernel=kernel, gamma=gamma, coef0=coef0, degree=degree, n_jobs=1),
            )
            for i, j in zip(*pairs(len(self.classes)), strict=True)
        ]

    def _weights(self, estimator: SVC) -> np.ndarray:
        """Factors on C, by sample."""
        weights = estimator._class_weights(self.classes, np.bincount(self.codes))[self.codes]
        given = self.shared.sample_weight
        return weights if given is None else weights * given

    def _decide(self, rows: np.ndarray, machine: IncrementalSVC, weights: np.ndarray, C: float) -> np.ndarray:
        """Decision values of a pair's machine: without the sample itself for its own samples."""
        X = self.shared.X
        if hasattr(machine, "classes_"):
            machine.set_C(C)
        else:
            machine.set_params(C=C).fit(X[rows], self.codes[rows], sample_weight=weights[rows])
        values = machine.decision_function(X)
        values[rows] = self._leave_out(machine, values[rows], self.codes[rows])
        return values if len(self.classes) == 2 else -values  # positive for the first class of the pair

    @staticmethod
    def _leave_out(machine: IncrementalSVC, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Values with the signs of the decision values without the sample itself.

        The margin of a sample does not grow while its coefficient falls to zero. So samples on the wrong side stay
        there, samples that are not support vectors keep their value, and only the others are removed.
        """
        margins = np.where(codes == codes.max(), values, -values)
        ensemble = machine._ready()
        numbers = ensemble.serials()
        open_ = np.flatnonzero(np.isin(numbers, machine.support_) & (margins > -NEAR_ZERO))
        if len(open_):
            source = machine._points_source(ensemble)
            values[open_] = ensemble.core.leave_one_out(source, numbers[open_], threads=1)[0]
        return values
