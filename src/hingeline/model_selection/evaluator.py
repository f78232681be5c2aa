"""Evaluates cells: from the journal, from shared kernel matrices, or by a fit of each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from .._sklearn import callbacks_of, fit_and_score
from ..base.progress import progress as progress_of
from ..base.warn import warn
from .cells import CellJournal, fingerprint
from .loo import ExactLeaveOneOut
from .pipelines import PipelineKernels, is_kernel_pipeline
from .scores import needs_answers_only, score_names
from .shared import Cell, SearchData, SharedKernel, counterpart, drop_ineffective

#: Parameters of fit and of scorers that shared training knows.
KNOWN_PARAMS = {"sample_weight"}


def _has_succeeded(out: dict[str, Any]) -> bool:
    """Whether a cell was fitted and scored: what failed is tried again by the next search."""
    scores = out["test_scores"]
    values = list(scores.values()) if isinstance(scores, dict) else [scores]
    return out["fit_error"] is None and not np.isnan(np.asarray(values, dtype=float)).any()


class Evaluator:
    """Scores of cells.

    Parameters
    ----------
    problem : SearchData
        Estimator and data.
    n_jobs, pre_dispatch, verbose : object
        As in :class:`sklearn.model_selection.GridSearchCV`.
    memory_limit : float
        Megabytes that kernel values may take.
    checkpoint : path-like or None
        File of the journal.
    progress : bool or callable
        As in :func:`hingeline.base.progress.progress`.
    leave_one_out : bool, default=False
        Whether the splits leave out one sample each, so that exact leave-one-out may replace training.
    caller : estimator, default=None
        Search whose callbacks are invoked.
    """

    def __init__(
        self,
        problem: SearchData,
        *,
        n_jobs: Any,
        memory_limit: float,
        checkpoint: Any = None,
        progress: Any = False,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        leave_one_out: bool = False,
        caller: Any = None,
    ) -> None:
        self.problem, self.n_jobs, self.pre_dispatch = problem, n_jobs, pre_dispatch
        self.verbose, self.progress, self.caller = verbose, progress, caller
        self.memory_limit, self.leave_one_out = memory_limit, leave_one_out
        self.shared = self._share_kernels()
        self.journal = None
        if checkpoint is not None:
            train, names = problem.return_train_score, score_names(problem.scorer)
            self.journal = CellJournal(checkpoint, self._identity(), train=train, names=names)

    def _identity(self) -> str:
        p = self.problem
        return fingerprint(p.estimator, p.X, p.y, p.scorer, p.fit_params, p.score_params, p.return_train_score)

    def _share_kernels(self) -> SharedKernel | PipelineKernels | None:
        """Training from shared kernel values; None if the estimator or the scoring does not allow it."""
        p = self.problem
        suits = (
            (counterpart(p.estimator) is not None or is_kernel_pipeline(p.estimator))
            and not callbacks_of(p.estimator)
            and needs_answers_only(p.scorer)
            and KNOWN_PARAMS.issuperset(p.fit_params)
            and KNOWN_PARAMS.issuperset(p.score_params)
            and p.y is not None
            and hasattr(p.X, "shape")  # scikit-learn refuses other kernel matrices, and lists are small
        )
        if not suits:
            return None
        try:
            kind = PipelineKernels if is_kernel_pipeline(p.estimator) else SharedKernel
            return kind(p, self.memory_limit * 2**20, int(effective_n_jobs(self.n_jobs)))
        except Exception:  # the fit of each cell reports it
            return None

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *_: object) -> None:
        if self.journal is not None:
            self.journal.close()

    def __call__(self, cells: list[Cell]) -> list[dict[str, Any]]:
        """Scores and times of the cells, in the form of :func:`hingeline._sklearn.fit_and_score`."""
        outs: dict[int, dict[str, Any]] = {}
        names = self._names(cells)
        with progress_of(self.progress, len(cells), "search") as report:

            def finish(cell: Cell, out: dict[str, Any], *, known: bool = False) -> None:
                outs[id(cell)] = out
                if self.journal is not None and not known and _has_succeeded(out):
                    self.journal.add(names[id(cell)], out)
                report(len(outs))

            left = []
            for cell in cells:
                stored = self.journal and self.journal.cells.get(names[id(cell)])
                if stored:
                    self._watch(cell, partial(finish, cell, dict(stored), known=True))
                else:
                    left.append(cell)
            self._evaluate(left, finish)
        return [outs[id(cell)] for cell in cells]

    def _names(self, cells: list[Cell]) -> dict[int, str]:
        """Name of each cell in the journal."""
        if self.journal is None:
            return {}
        splits: dict[tuple[int, int], str] = {}
        out = {}
        for cell in cells:
            key = (id(cell.train), id(cell.test))
            if key not in splits:
                splits[key] = fingerprint(np.asarray(cell.train), np.asarray(cell.test))
            out[id(cell)] = fingerprint(cell.params, splits[key])
        return out

    def _evaluate(self, cells: list[Cell], done: Callable[..., None]) -> None:
        if self.shared is not None:
            n_before, before = len(cells), len(self.shared.complaints)

            def finish(cell: Cell, out: dict[str, Any]) -> None:
                self._watch(cell, partial(done, cell, out))

            if self.leave_one_out and isinstance(self.shared, SharedKernel):
                cells = ExactLeaveOneOut(self.shared).work(cells, finish)
            else:
                cells = self.shared.work(cells, finish)
            self._warn(self.shared.complaints[before:], n_before)
        for cell, out in zip(cells, self._fit(cells), strict=True):
            done(cell, out)

    def _watch(self, cell: Cell, work: Callable[[], None]) -> None:
        """Do the work as a task of the callbacks."""
        if cell.context is None:
            return work()
        cell.context.call_on_fit_task_begin(estimator=self.caller)
        work()
        cell.context.call_on_fit_task_end(estimator=self.caller)

    def storage(self) -> str:
        """How kernel values were kept: 'matrix', 'rows', 'blocks' (with a warning), or 'none'."""
        if self.shared is None:
            return "none"
        if not self.shared.too_large:
            return "matrix" if self.shared.in_matrix else "rows"
        warn(
            f"A kernel matrix takes {self.shared.too_large / 2**20:,.3g} MB, more than three quarters of "
            f"memory_limit={self.memory_limit:g}: kernel values are computed for each split, in blocks. Raise "
            "memory_limit if there is memory.",
        )
        return "blocks"

    def _warn(self, complaints: list[str], n_cells: int) -> None:
        if complaints:
            warn(
                f"{len(complaints)} warnings about {n_cells} fits of the search. The first: {complaints[0]}",
                ConvergenceWarning,
            )

    def _fit(self, cells: list[Cell]) -> Iterable[dict[str, Any]]:
        """Fit each cell by itself."""
        p = self.problem
        if not cells:
            return []
        n_splits = 1 + max(cell.split for cell in cells)
        n_candidates = 1 + max(cell.candidate for cell in cells)
        ways = {"return_as": "generator"} if self.journal is not None or self.progress else {}
        return Parallel(n_jobs=self.n_jobs, pre_dispatch=self.pre_dispatch, **ways)(
            delayed(fit_and_score)(
                clone(p.estimator),
                p.X,
                p.y,
                scorer=p.scorer,
                train=cell.train,
                test=cell.test,
                verbose=self.verbose,
                parameters=drop_ineffective(p.estimator, cell.params),
                fit_params=p.fit_params,
                score_params=p.score_params,
                return_train_score=p.return_train_score,
                return_n_test_samples=True,
                return_times=True,
                split_progress=(cell.split, n_splits),
                candidate_progress=(cell.candidate, n_candidates),
                error_score=p.error_score,
                caller=self.caller,
                callback_ctx=cell.context,
            )
            for cell in cells
        )
