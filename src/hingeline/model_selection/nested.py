"""Nested cross-validation: the score of a search, not of its winner."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils import Bunch, indexable

from .._sklearn import (
    check_method_params,
    constraints_of,
    judge_failures,
    n_samples,
    route_parameters,
    safe_indexing,
    scorers_of,
    validate_params,
)
from ..base.rows import require_sound_rows
from ..base.types import MatrixLike
from .course import Course, drive
from .evaluator import Evaluator
from .search import KernelSearchCV
from .shared import Cell, SearchData, drop_ineffective
from .space import default_param_grid
from .strategies import row_numbers, strata


class NestedResult(Bunch):
    """Result of :func:`nested_cross_validate`: a dictionary whose entries are also attributes."""

    def __repr__(self) -> str:
        lines = []
        for name in sorted(self):
            if name.startswith("test_"):
                scores = self[name]
                spread = f"{scores.mean():.4f} +- {scores.std():.4f}"
                lines.append(f"{name}: {spread} ({len(scores)} outer folds)")
        lines += [f"fold {k}: {params}" for k, params in enumerate(self["best_params"])]
        return "\n".join(lines)


#: Parameters that have the constraints of KernelSearchCV.
_COMMON = (
    *("estimator", "param_grid", "search", "scoring", "refit"),
    *("n_jobs", "error_score", "memory_limit", "checkpoint", "progress"),
)


@validate_params(
    {
        **{name: constraints_of(KernelSearchCV)[name] for name in _COMMON},
        "outer": constraints_of(GridSearchCV)["cv"],
        "inner": constraints_of(GridSearchCV)["cv"],
        "return_estimator": ["boolean"],
    },
    prefer_skip_nested_validation=False,
)
def nested_cross_validate(
    estimator: Any,
    X: MatrixLike,
    y: npt.ArrayLike,
    param_grid: Any = None,
    *,
    outer: Any = 5,
    inner: Any = 5,
    search: str = "grid",
    scoring: Any = None,
    refit: Any = True,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    n_jobs: int | None = None,
    error_score: Any = np.nan,
    memory_limit: float = 1000,
    checkpoint: Any = None,
    progress: Any = False,
    return_estimator: bool = False,
) -> NestedResult:
    """Score a search over parameters by nested cross-validation.

    In each outer fold the parameters are chosen by cross-validation on its training rows, and the estimator with these
    parameters is scored on its test rows. The result is that of ``cross_validate(KernelSearchCV(...))`` with the same
    splitters. All searches use the same kernel matrices, so the whole costs little more than training the machines.

    Parameters
    ----------
    estimator : estimator
        Kernel estimator; see :class:`KernelSearchCV`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Labels or targets.
    param_grid : dict or list of dict, default=None
        Values by parameter. None: :func:`default_param_grid` of the training rows of each outer fold.
    outer, inner : int, cross-validation generator or iterable, default=5
        Splits of the samples, and splits of the training rows of each of these, as ``cv`` in scikit-learn.
    search : {'grid', 'pattern', 'halving'}, default='grid'
        See :class:`KernelSearchCV`.
    scoring : str, callable, list, tuple or dict, default=None
        As in :class:`sklearn.model_selection.GridSearchCV`.
    refit : bool or str, default=True
        Name of the score that chooses the parameters, if there are several.
    groups : array-like of shape (n_samples,), default=None
        Groups for the splitters.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for training, and for scores that take them.
    n_jobs : int, default=None
        Threads, or workers of the active joblib backend.
    error_score : 'raise' or numeric, default=np.nan
        As in GridSearchCV.
    memory_limit : float, default=1000
        Megabytes for kernel values.
    checkpoint : str or path, default=None
        File to which each finished cell is written; see :class:`KernelSearchCV`.
    progress : bool or callable, default=False
        See :class:`KernelSearchCV`.
    return_estimator : bool, default=False
        Whether to fit and return the chosen estimator of each outer fold.

    Returns
    -------
    NestedResult
        Dictionary with

        - ``test_score``, or ``test_NAME`` for several scores: ndarray, a score of each outer fold;
        - ``best_params``, ``best_score``: lists of the chosen parameters and of their inner scores;
        - ``cv_results``: list of the results of the searches, as ``cv_results_`` of GridSearchCV;
        - ``indices``: dictionary of the 'train' and 'test' rows of the outer folds;
        - ``fit_time``, ``score_time``: ndarrays, seconds of all fits and scores of each outer fold;
        - ``estimator``: list of fitted estimators, if `return_estimator` is True.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import minmax_scale
    >>> from hingeline import SVC
    >>> from hingeline.model_selection import nested_cross_validate
    >>> X, y = load_wine(return_X_y=True)
    >>> result = nested_cross_validate(SVC(), minmax_scale(X), y)
    >>> bool(result.test_score.mean() > 0.95)
    True
    """
    X, y = indexable(require_sound_rows(X), y)
    judge = KernelSearchCV(
        estimator, {}, search=search, scoring=scoring, refit=refit, error_score=error_score, memory_limit=memory_limit
    )
    scorers, metric = scorers_of(judge)
    given = {"groups": groups, "sample_weight": sample_weight}
    params = check_method_params(X, params={name: value for name, value in given.items() if value is not None})
    routed = route_parameters(judge, params)
    problem = SearchData(
        clone(estimator),
        X,
        y,
        scorers,
        dict(routed.estimator.fit),
        dict(routed.scorer.score),
        error_score=error_score,
    )
    folds = _split(outer, problem, None, routed.splitter.split)
    courses = [
        _course(judge, param_grid, problem, train, _split(inner, problem, train, routed.splitter.split), metric)
        for train, _ in folds
    ]
    ways = {"n_jobs": n_jobs, "memory_limit": memory_limit, "checkpoint": checkpoint, "progress": progress}
    with Evaluator(problem, **ways) as evaluate:
        drive(courses, evaluate)
        chosen = [_judge(judge, course, metric) for course in courses]
        outs = evaluate(
            [
                Cell(best["best_params"], train, test, k)
                for k, (best, (train, test)) in enumerate(zip(chosen, folds, strict=True))
            ]
        )
    evaluate.storage()
    judge_failures(outs, error_score)
    result = _collect(folds, courses, chosen, outs)
    if return_estimator:
        result["estimator"] = [
            _fit(problem, best["best_params"], train) for best, (train, _) in zip(chosen, folds, strict=True)
        ]
    return result


def _split(cv: Any, problem: SearchData, rows: np.ndarray | None, params: dict[str, Any]) -> list[Any]:
    """Splits of some rows (None: all), as row numbers of all samples."""
    if rows is None:
        X, y = problem.X, problem.y
    else:
        X, y = safe_indexing(problem.X, rows), safe_indexing(problem.y, rows)
        params = check_method_params(problem.X, params=params, indices=rows)
    splitter = check_cv(cv, y, classifier=is_classifier(problem.estimator))
    splits = row_numbers(splitter.split(X, y, **params))
    return splits if rows is None else [(rows[train], rows[test]) for train, test in splits]


def _course(
    judge: KernelSearchCV, param_grid: Any, problem: SearchData, rows: np.ndarray, splits: list[Any], metric: Any
) -> Course:
    """The search of one outer fold."""
    y = safe_indexing(problem.y, rows)
    if param_grid is None:
        param_grid = default_param_grid(problem.estimator, safe_indexing(problem.X, rows), y)
    judge.param_grid_ = param_grid
    labels = strata(problem.estimator, problem.y, n_samples(problem.X))
    return Course(judge._strategy(splits, labels[rows]), splits, labels, metric)


def _judge(judge: KernelSearchCV, course: Course, metric: Any) -> dict[str, Any]:
    """Results of a search and its choice."""
    judge.n_splits_ = len(course.splits)
    results, metric = judge._results(course, metric)
    judge._choose(results, metric)
    best = {"cv_results": results, "best_params": judge.best_params_}
    return best if callable(judge.refit) else {**best, "best_score": judge.best_score_}


def _collect(folds: list[Any], courses: list[Course], chosen: list[Any], outs: list[Any]) -> NestedResult:
    first = outs[0]["test_scores"]
    if isinstance(first, dict):
        scores = {f"test_{name}": np.array([out["test_scores"][name] for out in outs]) for name in first}
    else:
        scores = {"test_score": np.array([out["test_scores"] for out in outs], dtype=float)}
    times = {
        name: np.array(
            [sum(one[name] for one in course.outs) + out[name] for course, out in zip(courses, outs, strict=True)]
        )
        for name in ("fit_time", "score_time")
    }
    return NestedResult(
        **scores,
        **times,
        best_params=[best["best_params"] for best in chosen],
        best_score=[best.get("best_score") for best in chosen],
        cv_results=[best["cv_results"] for best in chosen],
        indices={"train": [train for train, _ in folds], "test": [test for _, test in folds]},
    )


def _fit(problem: SearchData, params: dict[str, Any], rows: np.ndarray) -> Any:
    """The chosen estimator, fitted to the training rows of an outer fold."""
    chosen = clone(problem.estimator).set_params(**clone(drop_ineffective(problem.estimator, params), safe=False))
    own = check_method_params(problem.X, params=problem.fit_params, indices=rows)
    return chosen.fit(safe_indexing(problem.X, rows), safe_indexing(problem.y, rows), **own)
