"""Linear support vector machines with C chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ..base import params
from ..base.fit import Training, run, with_callbacks
from ..base.retained import RefusesToForget
from ..base.types import ClassWeight
from .estimator import Column, Table, require_memory
from .finite_newton import CLASSIFIER_RULES, LinearClassifier, LinearSolver, LinearSVC
from .path import check_Cs
from .problem import MemoryRows, Problem
from .sums import Loss
from .training import guard_sums

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

#: Fitted attributes that come from the fit to all rows.
FITTED = ("coef_", "intercept_", "n_iter_", "duality_gap_", "objective_", "decision_scale_")


class Search(Training):
    """A search over values of C: one step per value and problem, then the scores and the fit to all rows.

    Parameters
    ----------
    estimator : LinearSVCCV
        The estimator; ``classes_`` is set.
    X : {ndarray, sparse matrix}
        Checked rows.
    codes : ndarray
        Class of each row.
    weights : ndarray
        Weights of the rows.
    sample_weight : array-like or None
        Weights as given by the user.
    """

    def __init__(self, estimator: Any, X: Any, codes: np.ndarray, weights: np.ndarray, sample_weight: Any) -> None:
        from sklearn.model_selection import check_cv

        self.estimator, self.X, self.y = estimator, X, estimator.classes_[codes]
        self.sample_weight = sample_weight
        self.values = estimator._choose_values()
        self.folds = list(check_cv(estimator.cv, self.y, classifier=True).split(X, self.y))
        problems = estimator._local_problems(X, codes, weights)
        n_machines = sum(problem.n_machines for problem in problems)
        #: Weight vectors [C, fold, machine, weight], largest outputs [C, fold, machine], and the last C.
        self.points = np.zeros((len(self.values), len(self.folds), n_machines, problems[0].length))
        self.scales = np.ones(self.points.shape[:-1])
        self.last = 0
        self.found: dict[str, Any] = {}
        self.n_steps = len(self.values) * len(problems) + 1
        self.steps = self._search(problems)

    def has_learned(self) -> bool:
        return bool(self.found)

    def advance(self, steps: int | None) -> bool:
        with guard_sums(self.X, type(self.estimator).__name__):
            for _ in self.steps if steps is None else islice(self.steps, steps):
                pass
        return not self.found

    def end(self, unfinished: str) -> None:
        """A search is only complete with all values of C: a callback cannot end it early."""
        self.advance(None)
        for name in FITTED:  # an earlier search may have had more of them
            vars(self.estimator).pop(name, None)

    def attributes(self, unfinished: str) -> dict[str, Any]:
        return self.found

    def snapshot(self) -> dict[str, Any]:
        """Means over the folds for the last C, or the result."""
        return {"classes_": self.estimator.classes_, **(self.found or self._average(self.last))}

    def _search(self, problems: list[Problem]) -> Iterator[None]:
        est, n_folds = self.estimator, len(self.folds)
        for k, of, minimiser in est._walk(self._add_folds(problems), self.values):
            own = slice(of.start // n_folds, of.stop // n_folds)
            self.points[k, :, own] = minimiser.points.reshape(n_folds, -1, self.points.shape[-1])
            self.scales[k, :, own] = minimiser.largest_outputs().reshape(n_folds, -1)
            self.last = k
            yield
        self.found = self._finish(est._score_folds(self.X, self.y, self.folds, self.values, self.points, self.scales))
        yield

    def _add_folds(self, problems: list[Problem]) -> list[Problem]:
        """Problems whose machines are those of all folds, with weight zero for the rows held out."""
        train = np.zeros((len(self.folds), len(self.y)))
        for line, (rows, _) in zip(train, self.folds, strict=True):
            line[rows] = 1.0
        together = []
        for problem in problems:
            rows = problem.rows
            assert isinstance(rows, MemoryRows)
            planes = train[:, np.newaxis, slice(None) if rows.numbers is None else rows.numbers] * rows.weights
            together.append(Problem(replace(rows, weights=planes.reshape(-1, rows.n_rows))))
        return together

    def _finish(self, scores: np.ndarray) -> dict[str, Any]:
        est, values, means = self.estimator, self.values, scores.mean(axis=0)
        if np.isnan(means).any():
            raise ValueError(f"scoring={est.scoring!r} returned NaN.")
        best = np.flatnonzero(means == means.max())
        at = best[values[best].argmin()]
        found = {"Cs_": values, "scores_": scores, "C_": float(values[at]), "best_score_": float(means[at])}
        if not est.refit:
            return found | self._average(at)
        model = est._make_model(found["C_"]).fit(self.X, self.y, self.sample_weight)
        return found | {name: getattr(model, name) for name in FITTED if hasattr(model, name)}

    def _average(self, at: int) -> dict[str, Any]:
        """Weights of the features, intercepts and largest outputs for one C: means over the folds."""
        coef, intercept = self.estimator._split(self.points[at].mean(axis=0))
        return {"coef_": coef, "intercept_": intercept, "decision_scale_": self.scales[at].mean(axis=0)}


class LinearSVCCV(RefusesToForget, LinearClassifier):
    """:class:`LinearSVC` with C chosen by cross-validation.

    The folds are machines over the same rows, with weight zero for the rows held out: a pass over the rows serves all
    folds, and the fits for one C start from the results for the last.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C; an int is the number of values between 1e-4 and 1e4, spaced evenly in the logarithm.
    cv : int, cross-validation generator or iterable, default=None
        Folds; None means 5, stratified.
    scoring : str or callable, default=None
        Score to maximise; None means accuracy.
    refit : bool, default=True
        Whether to fit all rows with the best C. Otherwise the weights are the means over the folds.
    loss, fit_intercept, intercept_scaling, tol, max_iter, class_weight, multi_class, solver : see LinearSVC
        As in :class:`LinearSVC`; ``class_weight='balanced'`` is computed from all rows.
    kkt_tol, decision_function_shape, n_jobs : see LinearSVC
        As in :class:`LinearSVC`.

    Attributes
    ----------
    Cs_ : ndarray of shape (n_Cs,)
        Values of C.
    C_ : float
        Best value of C; the smallest of several equally good ones.
    scores_ : ndarray of shape (n_folds, n_Cs)
        Scores of the folds.
    best_score_ : float
        Mean score with ``C_``.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (n_machines,)
        Intercepts.
    n_iter_, objective_, duality_gap_ : ndarray of shape (n_machines,)
        Of the fit with ``C_`` to all rows, as in :class:`LinearSVC`; with ``refit=True`` only.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    linear_svc_path : All values of C over all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from hingeline import LinearSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVCCV(Cs=5).fit(scale(X), y)
    >>> round(model.best_score_, 2)
    0.98
    """

    _rules = {
        **{name: rule for name, rule in CLASSIFIER_RULES.items() if name not in ("C", "warm_start")},
        "refit": params.boolean(),
    }

    def __init__(
        self,
        *,
        Cs: int | npt.ArrayLike = 10,
        cv: int | BaseCrossValidator | Iterable[Any] | None = None,
        scoring: str | Callable[..., float] | None = None,
        refit: bool = True,
        loss: Loss = "squared_hinge",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        kkt_tol: float | None = None,
        max_iter: int = 1000,
        class_weight: ClassWeight = None,
        multi_class: Literal["ovr", "ovo"] = "ovr",
        solver: LinearSolver = "auto",
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())

    @with_callbacks
    def fit(self, X: Table, y: Column, sample_weight: Column | None = None) -> Self:
        """Choose C, and learn from all training data. Ctrl-C leaves the estimator as it was.

        Callbacks are invoked after each value of C; they cannot end the search early.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in training. Not used for scoring.

        Returns
        -------
        LinearSVCCV
            The fitted estimator.
        """
        run(self, type(self)._prepare_search, X, y, sample_weight)
        return self

    def _prepare_search(self, X: Any, y: Any, sample_weight: Any) -> Search:
        require_memory(X, type(self).__name__)
        self._choose_values()  # raises before the rows are read
        X, codes, weights = self._validate_fit(X, y, sample_weight)
        return Search(self, X, codes, weights, sample_weight)

    def _choose_values(self) -> np.ndarray:
        """Values of C to compare."""
        if not isinstance(self.Cs, Integral) or isinstance(self.Cs, bool):
            return check_Cs(self.Cs)
        if self.Cs < 1:
            raise ValueError(f"Cs must be at least 1. Got {self.Cs}.")
        return np.logspace(-4, 4, int(self.Cs))

    def _make_model(self, C: float) -> LinearSVC:
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in LinearSVC().get_params(deep=False) if name in own}
        return LinearSVC(C=C, **shared)

    def _score_folds(
        self, X: Any, labels: np.ndarray, folds: list[Any], values: np.ndarray, points: np.ndarray, scales: np.ndarray
    ) -> np.ndarray:
        """Scores of all folds and values of C on the rows held out."""
        from sklearn.metrics import check_scoring

        scorer = check_scoring(self._make_model(1.0), self.scoring)
        scores = np.empty((len(folds), len(values)))
        for k, C in enumerate(values):
            model = self._make_model(float(C))
            model.classes_, model.n_features_in_ = self.classes_, X.shape[1]
            for f, (_, test) in enumerate(folds):
                model.coef_, model.intercept_ = self._split(points[k, f])
                model.decision_scale_ = scales[k, f]
                scores[f, k] = scorer(model, X[test], labels[test])
        return scores
