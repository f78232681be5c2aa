"""Pipelines that end with a kernel estimator: the steps before it are fitted once for each split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._sklearn import safe_indexing
from .shared import Cell, SearchData, SharedKernel, counterpart


def is_kernel_pipeline(estimator: Any) -> bool:
    """Whether an estimator is a pipeline that ends with an estimator whose kernel values can be shared."""
    return type(estimator) is Pipeline and len(estimator.steps) > 1 and counterpart(estimator.steps[-1][1]) is not None


class PipelineKernels:
    """Trains cells of a pipeline from kernel matrices of each split.

    Parameters
    ----------
    problem : SearchData
        Pipeline and data.
    limit : float
        Bytes that kernel values may take.
    threads : int
        Number of threads.
    """

    def __init__(self, problem: SearchData, limit: float, threads: int) -> None:
        if get_config()["enable_metadata_routing"] or problem.fit_params or problem.score_params:
            raise ValueError("parameters of fit are for the pipeline to distribute")
        self.problem, self.limit, self.threads = problem, limit, threads
        self.prefix = problem.estimator.steps[-1][0] + "__"
        self.y = np.asarray(problem.y)
        self.complaints: list[str] = []
        #: Size of the largest kernel matrix, if one exceeded the limit.
        self.too_large = 0
        self.in_matrix = False

    def work(self, cells: list[Cell], done: Callable[[Cell, dict[str, Any]], None]) -> list[Cell]:
        """Train cells, split by split; `done` gets each cell and its scores. Returns the cells that are left."""
        left: list[Cell] = []
        splits: dict[tuple[int, int], list[Cell]] = {}
        for cell in cells:
            if all(name.startswith(self.prefix) for name in cell.params):
                splits.setdefault((id(cell.train), id(cell.test)), []).append(cell)
            else:
                left.append(cell)
        for some in splits.values():
            left += self._split(some, done)
        return left

    def _split(self, cells: list[Cell], done: Callable[[Cell, dict[str, Any]], None]) -> list[Cell]:
        try:
            problem, train, test = self._transform(cells[0].train, cells[0].test)
            shared = SharedKernel(problem, self.limit, self.threads)
        except Exception:  # the fit of each cell reports it
            return cells
        given = {id(cell.params): _drop_parameters(self.prefix, cell.params) for cell in cells}
        pairs = [(Cell(given[id(cell.params)], train, test, cell.candidate), cell) for cell in cells]
        twins = {id(twin): cell for twin, cell in pairs}
        failed = shared.work([twin for twin, _ in pairs], lambda twin, out: done(twins[id(twin)], out))
        self.complaints += shared.complaints
        self.too_large = max(self.too_large, shared.too_large)
        self.in_matrix = self.in_matrix or shared.in_matrix
        return [twins[id(twin)] for twin in failed]

    def _transform(self, train: np.ndarray, test: np.ndarray) -> tuple[SearchData, np.ndarray, np.ndarray]:
        """The problem of the last step on one split: training rows first, then rows to score."""
        *_, (_, last) = self.problem.estimator.steps
        before = clone(self.problem.estimator[:-1])
        y = self.y[np.concatenate([train, test])]
        first = before.fit_transform(safe_indexing(self.problem.X, train), self.y[train])
        second = before.transform(safe_indexing(self.problem.X, test))
        X = sp.vstack([first, second], format="csr") if sp.issparse(first) else np.concatenate([first, second])
        rows = np.arange(len(y))
        return replace(self.problem, estimator=last, X=X, y=y), rows[: len(train)], rows[len(train) :]


def _drop_parameters(prefix: str, params: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in params.items()}
