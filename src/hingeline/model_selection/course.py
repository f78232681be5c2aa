"""One search in progress: a strategy, the splits it uses, and the results so far."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from .evaluator import Evaluator
from .shared import Cell
from .strategies import Strategy, share_of


class Course:
    """One search.

    Parameters
    ----------
    strategy : generator
        Yields the points to try.
    splits : list of (ndarray, ndarray)
        Rows to train on and rows to score.
    strata : ndarray
        Labels, for parts of the training rows.
    metric : str or None
        Score that guides the strategy, if there are several.
    context : object, default=None
        Context of the callbacks that the cells are tasks of.
    """

    def __init__(
        self, strategy: Strategy, splits: list[Any], strata: np.ndarray, metric: Any, context: Any = None
    ) -> None:
        self.strategy, self.splits, self.strata = strategy, splits, strata
        self.metric, self.context = metric, context
        self.candidates: list[dict[str, Any]] = []
        self.outs: list[dict[str, Any]] = []
        #: Further columns of the results.
        self.more: dict[str, list[Any]] = defaultdict(list)
        self.rounds = 0
        self._parts: dict[tuple[int, float], np.ndarray] = {}
        self.cells = self._cells(next(strategy))

    def _cells(self, points: list[Any]) -> list[Cell]:
        """Cells of the next points."""
        cells: list[Cell] = []
        for params, share in points:
            for k, (train, test) in enumerate(self.splits):
                rows = train if share == 1 else self._part(k, train, share)
                number = len(self.outs) + len(cells)
                context = self.context and self.context.subcontext(
                    task_name="candidate-split-evaluation", task_id=number
                )
                cells.append(Cell(params, rows, test, len(self.candidates), k, context))
            self.candidates.append(params)
            self.more["iter"].append(self.rounds)
            self.more["n_resources"].append(max((len(cell.train) for cell in cells[-len(self.splits) :]), default=0))
        return cells

    def _part(self, split: int, train: np.ndarray, share: float) -> np.ndarray:
        if (split, share) not in self._parts:
            self._parts[split, share] = share_of(train, self.strata, share)
        return self._parts[split, share]

    def advance(self, outs: list[dict[str, Any]]) -> None:
        """Take the results of the current cells and prepare the next ones; none are left at the end."""
        self.outs += outs
        found = (out["test_scores"] for out in outs)
        scores = [one.get(self.metric, np.nan) if isinstance(one, dict) else one for one in found]
        means = np.array(scores, dtype=float).reshape(-1, max(len(self.splits), 1)).mean(axis=1)
        self.rounds += 1
        try:
            self.cells = self._cells(self.strategy.send(means))
        except StopIteration:
            self.cells = []


def drive(courses: list[Course], evaluate: Evaluator) -> None:
    """Carry out searches together, so that cells with the same kernel share its matrix."""
    while cells := [cell for course in courses for cell in course.cells]:
        outs = iter(evaluate(cells))
        for course in courses:
            if course.cells:
                course.advance([next(outs) for _ in course.cells])
