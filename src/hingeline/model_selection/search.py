"""KernelSearchCV: grid search at the price of a few kernel matrices."""

from __future__ import annotations

import time
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, LeaveOneOut, ParameterGrid, check_cv
from sklearn.utils import indexable

from .. import _sklearn
from ..base.rows import require_sound_rows
from ..base.types import MatrixLike
from .course import Course, drive
from .evaluator import Evaluator
from .shared import SearchData, drop_ineffective
from .space import default_param_grid
from .strategies import STRATEGIES, Strategy, halving, row_numbers, strata


@_sklearn.constrain(
    {
        "param_grid": [None],
        "cv": [_sklearn.StrOptions({"loo"})],
        "search": [_sklearn.StrOptions(set(STRATEGIES))],
        "memory_limit": [_sklearn.Interval(Real, 0, None, closed="neither")],
        "checkpoint": [str, PathLike, None],
        "progress": ["boolean", callable],
    }
)
class KernelSearchCV(GridSearchCV):
    """Search over the parameters of a kernel estimator by cross-validation: GridSearchCV with shared kernel values.

    It has the parameters, attributes and results of :class:`sklearn.model_selection.GridSearchCV`, and is faster for
    ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR`` and ``OneClassSVM`` (of this package or of scikit-learn),
    ``WorstViolatorSVC`` and ``L2SVC``: the dot products of the samples are computed once, the kernel matrix once for
    each kernel, and each split is a view of it. Margins of ``WorstViolatorSVC`` are points of one sequence of steps,
    which is made once. Machines of ``SVC`` and ``SVR`` in which no coefficient has reached C are not trained again for
    larger C. Other estimators are fitted as GridSearchCV does it.
    Pipelines that end with one of these are fast too if only parameters of the last step are searched: the steps
    before it are fitted once for each split.

    Scores of estimators of this package are those of separate fits, to the bit. Scores of the
    estimators of :mod:`sklearn.svm` come from those of this package with the same names, which solve the same problems
    to the same tolerance.

    Parameters
    ----------
    estimator : estimator
        Estimator whose parameters are searched. It is cloned, not fitted.
    param_grid : dict or list of dict, default=None
        Values by parameter. None: :func:`default_param_grid`. The parameter C may be given for ``WorstViolatorSVC``,
        which does not have it because it has no effect; then one fit serves all values.
    search : {'grid', 'pattern', 'halving'}, default='grid'
        All points of the grid; a pattern search on it, which tries neighbours of the best point; or successive
        halving, which tries all points on few training rows and the better ones on more.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV. Callables that get an estimator need a fit for each cell. ``OneClassSVM`` needs one, for
        example 'roc_auc', and labels in `y`, 1 for inliers and -1 for outliers; training does not use them.
    n_jobs : int, default=None
        Threads, or workers of the active joblib backend.
    refit : bool, str or callable, default=True
        As in GridSearchCV.
    cv : int, cross-validation generator, iterable or 'loo', default=None
        As in GridSearchCV. 'loo': leave-one-out. With ``SVC`` and the accuracy as score it is computed by removing the
        support vectors from one model, exactly (:class:`hingeline.IncrementalSVC`); gamma must be a number, and
        `class_weight` not 'balanced', which would change with the sample that is left out.
    verbose : int, default=0
        As in GridSearchCV. Cells that share kernel values print nothing.
    pre_dispatch : int or str, default='2*n_jobs'
        As in GridSearchCV.
    error_score : 'raise' or numeric, default=np.nan
        As in GridSearchCV.
    return_train_score : bool, default=False
        As in GridSearchCV.
    memory_limit : float, default=1000
        Megabytes for kernel values. If a kernel matrix does not fit, kernel values are computed for each split, in
        blocks, with a warning.
    checkpoint : str or path, default=None
        File to which each finished cell (a candidate on a split) is written. The search continues from it if it was
        interrupted.
    progress : bool or callable, default=False
        True: a progress bar with the remaining time (needs `rich`). A callable gets the numbers of finished cells and
        of all cells. Callbacks of scikit-learn (``set_callbacks``) work as in GridSearchCV.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        As in GridSearchCV. With ``search='halving'`` also 'iter' and 'n_resources' (training rows).
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, multimetric_ : object
        As in GridSearchCV.
    param_grid_ : dict or list of dict
        Grid that was searched.
    kernel_storage_ : {'matrix', 'rows', 'blocks', 'none'}
        'matrix': kernel values were kept in a matrix of all samples. 'rows': they were computed from the rows of each
        split, because that is faster (many samples with few features, ``SVC`` with 1,000 training rows or more).
        'blocks': the same, because a matrix would have exceeded `memory_limit`. 'none': each cell was fitted by itself.

    See Also
    --------
    nested_cross_validate : Score of the whole procedure, search included.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import WorstViolatorSVC
    >>> from hingeline.model_selection import KernelSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelSearchCV(WorstViolatorSVC()).fit(X, y)
    >>> bool(search.best_score_ > 0.95)
    True
    >>> search.predict(X[:2]).tolist()
    [0, 0]
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        search: str = "grid",
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        memory_limit: float = 1000,
        checkpoint: Any = None,
        progress: Any = False,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.search = search
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.progress = progress

    @_sklearn.fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: npt.ArrayLike | None = None, **params: Any) -> KernelSearchCV:
        """Search, then fit the best candidate to all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training samples; with ``kernel='precomputed'`` the kernel matrix.
        y : array-like of shape (n_samples,), default=None
            Labels or targets.
        **params : dict
            Parameters of ``fit`` of the estimator, of the scorer and of the splitter, such as `sample_weight` and
            `groups`, as in GridSearchCV.

        Returns
        -------
        KernelSearchCV
            The fitted search.
        """
        scorers, metric = _sklearn.scorers_of(self)
        X, y = indexable(require_sound_rows(X), y)
        params = _sklearn.check_method_params(X, params=params)
        routed = _sklearn.route_parameters(self, params)
        told = self._metadata(params)
        context = _sklearn.context_of(self, 1 + (self.refit is not False))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y, metadata=told)
        self.param_grid_ = default_param_grid(self.estimator, X, y) if self.param_grid is None else self.param_grid
        splits = self._splits(X, y, routed.splitter.split)
        problem = SearchData(
            clone(self.estimator),
            X,
            y,
            scorers,
            dict(routed.estimator.fit),
            dict(routed.scorer.score),
            self.return_train_score,
            self.error_score,
        )
        results, metric = self._search(problem, splits, metric, context)
        if self.refit or not self.multimetric_:
            self._choose(results, metric)
        if self.refit:
            self._refit(problem, context, told)
        several = _sklearn.scorers_in(scorers)
        self.scorer_ = scorers if several is None else several
        self.cv_results_ = results
        context.call_on_fit_task_end(estimator=self, X=X, y=y, metadata=told)
        return self

    @staticmethod
    def _metadata(params: dict[str, Any]) -> dict[str, Any] | None:
        weight = params.get("sample_weight")
        return None if weight is None else {"sample_weight": weight}

    def _splits(self, X: Any, y: Any, params: dict[str, Any]) -> list[tuple[Any, Any]]:
        cv = LeaveOneOut() if isinstance(self.cv, str) else self.cv
        splitter = check_cv(cv, y, classifier=is_classifier(self.estimator))
        self.n_splits_ = splitter.get_n_splits(X, y, **params)
        splits = row_numbers(splitter.split(X, y, **params))
        if len(splits) != self.n_splits_:
            raise ValueError(
                "cv.split and cv.get_n_splits return inconsistent results. "
                f"Expected {self.n_splits_} splits, got {len(splits)}"
            )
        return splits

    def _strategy(self, splits: list[Any], labels: np.ndarray) -> Strategy:
        if self.search == "halving":
            return halving(self.param_grid_, min(len(train) for train, _ in splits), len(np.unique(labels)))
        return STRATEGIES[self.search](self.param_grid_)

    def _search(self, problem: SearchData, splits: list[Any], metric: Any, context: Any) -> tuple[dict[str, Any], Any]:
        """Results of the search, and the name of the score that decides."""
        size = len(ParameterGrid(self.param_grid_)) * self.n_splits_
        if self.verbose > 0:
            print(
                f"Fitting {self.n_splits_} folds for each of {size // max(self.n_splits_, 1)} candidates, "
                f"totalling {size} fits"
            )
        most = size if self.search == "grid" else None
        task = context.subcontext(task_name="search", max_subtasks=most, sequential_subtasks=False)
        task.call_on_fit_task_begin(estimator=self)
        watched = task if _sklearn.callbacks_of(self) else None
        labels = strata(problem.estimator, problem.y, _sklearn.n_samples(problem.X))
        course = Course(self._strategy(splits, labels), splits, labels, metric, watched)
        evaluate = Evaluator(
            problem,
            n_jobs=self.n_jobs,
            memory_limit=self.memory_limit,
            checkpoint=self.checkpoint,
            progress=self.progress,
            verbose=self.verbose,
            pre_dispatch=self.pre_dispatch,
            leave_one_out=isinstance(self.cv, str),
            caller=self,
        )
        with evaluate:
            drive([course], evaluate)
        task.call_on_fit_task_end(estimator=self)
        self.kernel_storage_ = evaluate.storage()
        if not course.outs:
            raise ValueError("No fits were performed. Was the CV iterator empty? Were there no candidates?")
        return self._results(course, metric)

    def _results(self, course: Course, metric: Any) -> tuple[dict[str, Any], Any]:
        _sklearn.judge_failures(course.outs, self.error_score)
        if callable(self.scoring):
            _sklearn.insert_error_scores(course.outs, self.error_score)
        more = course.more if self.search == "halving" else None
        results = _sklearn.format_results(self, course.candidates, self.n_splits_, course.outs, more)
        first = course.outs[0]["test_scores"]
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            _sklearn.require_refit_score(self, first)
            metric = self.refit
        return results, metric

    def _choose(self, results: dict[str, Any], metric: Any) -> None:
        if self.search == "halving" and not callable(self.refit):
            self.best_index_ = _best_of_last_round(results, metric)
        else:
            self.best_index_ = _sklearn.best_index(self, metric, results)
        if not callable(self.refit):
            self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
        self.best_params_ = results["params"][self.best_index_]

    def _refit(self, problem: SearchData, context: Any, told: dict[str, Any] | None) -> None:
        chosen = drop_ineffective(self.estimator, self.best_params_)
        self.best_estimator_ = clone(problem.estimator).set_params(**clone(chosen, safe=False))
        task = context.subcontext(task_name="refit-with-best-params")
        with task.propagate_callback_context(self.best_estimator_):
            task.call_on_fit_task_begin(estimator=self, X=problem.X, y=problem.y, metadata=told)
            begin = time.time()
            data = (problem.X,) if problem.y is None else (problem.X, problem.y)
            self.best_estimator_.fit(*data, **problem.fit_params)
            self.refit_time_ = time.time() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        task.call_on_fit_task_end(estimator=self, X=problem.X, y=problem.y, metadata=told)


def _best_of_last_round(results: dict[str, Any], metric: Any) -> int:
    """Best candidate among those that were trained on all rows."""
    last = np.flatnonzero(results["iter"] == results["iter"].max())
    scores = np.nan_to_num(results[f"mean_test_{metric}"][last], nan=-np.inf)
    return int(last[scores.argmax()])
