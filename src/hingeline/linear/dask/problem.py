"""Linear machines over Dask partitions: rows on a cluster, or on a disk that holds more than the memory.

``fit`` of :class:`~hingeline.LinearSVC` and :class:`~hingeline.OrdinalSVC` calls :func:`problem_of` for
Dask arrays and dataframes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ...base.labels import pairs
from ..layout import Layout
from ..rows import ROWS_PER_WEIGHT, Clip, Sample
from .partitions import Survey
from .rows import DaskRows, Rounds


class DaskProblem:
    """Machines over partitions: a :class:`~hingeline.linear.rows.Problem`.

    Parameters
    ----------
    survey : Survey
        Results of a first pass.
    layout : Layout
        Machines.
    places : ndarray of int
        Class of each of the survey's labels.
    threads : int
        Threads for the sample, which is solved in this process.
    """

    in_memory = False
    rows = None
    hessian_bytes = 64 << 20  # of one task
    setup_passes = 1.0  # the survey
    precise = False

    def __init__(self, survey: Survey, layout: Layout, places: np.ndarray, *, threads: int) -> None:
        self.survey, self.layout, self.places, self.threads = survey, layout, places, threads
        self.n_rows, self.entries_per_row, self.dense = survey.n_rows, survey.entries_per_row, survey.dense
        self.n_machines, self.n_features, self.length = layout.n_machines, layout.n_features, layout.length
        self.ordered = layout.kind == "ordinal"
        self.rounds = Rounds(survey.blocks, survey.kept, [places[place] for place in survey.places])

    def source(self, clip: Clip) -> DaskRows:
        """The rows, with all machines at zero."""
        return DaskRows(self.rounds, self.layout, clip)

    def samples(self, solver: str) -> list[Sample]:
        """Problems over the survey's sample of the rows; none if it is too small.

        Rounds are dear, so all solvers start from the sample, which is solved to its end.
        """
        X, found, weights = self._sample()
        if len(found) < ROWS_PER_WEIGHT * self.length:
            return []
        which = np.arange(self.n_machines)
        small = self.layout.problems(_core.Matrix(X), self.places[found], weights, which, self.threads)
        return [
            Sample(machines, problem, problem.n_rows / max(problem.n_rows, self._rows_of(machines)), "auto", None)
            for machines, problem in small
        ]

    def _sample(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows, indices into the survey's labels, weights."""
        return self.survey.sample()

    def _rows_of(self, machines: np.ndarray) -> int:
        """Number of rows that take part in a machine."""
        layout = self.layout
        if layout.kind != "pairs" or layout.n_classes == 2:
            return int(self.n_rows)
        counts = np.bincount(self.places, weights=self.survey.counts, minlength=layout.n_classes)
        return int(sum(counts[of[machines[0]]] for of in pairs(layout.n_classes)))


def problem_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> DaskProblem:
    """Survey the data, set ``classes_``, ``class_weight_`` and the like of the estimator, and make its machines."""
    survey = Survey(X, y, sample_weight)
    survey.describe(estimator)
    classes, places = estimator._encode(survey.labels)
    estimator._set_classes(classes, np.bincount(places, weights=survey.counts, minlength=len(classes)))
    return DaskProblem(survey, estimator._layout(survey.n_features), places, threads=estimator._threads())
