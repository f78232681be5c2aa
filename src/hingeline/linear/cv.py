"""Linear support vector machines with C chosen by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from ..base import params
from ..base.fit import Training, run
from .estimator import require_memory
from .finite_newton import CLASSIFIER_RULES, FiniteNewtonSVC, LinearClassifier
from .path import checked_Cs
from .training import explained, one_blas_thread


class Search(Training):
    """A search that is done: its results."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found

    def advance(self, steps: int | None) -> bool:
        """There is nothing left to do."""
        return False

    def attributes(self, unfinished: str) -> dict[str, Any]:
        """Fitted attributes."""
        return self.found


class FiniteNewtonSVCCV(LinearClassifier):
    """:class:`FiniteNewtonSVC` with C chosen by cross-validation.

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
    loss, fit_intercept, intercept_scaling, tol, max_iter, class_weight, multi_class, solver : see FiniteNewtonSVC
        As in :class:`FiniteNewtonSVC`; ``class_weight='balanced'`` is computed from all rows.
    decision_function_shape, n_jobs : see FiniteNewtonSVC
        As in :class:`FiniteNewtonSVC`.

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
        Of the fit with ``C_`` to all rows, as in :class:`FiniteNewtonSVC`; with ``refit=True`` only.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    finite_newton_path : All values of C over all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from hingeline import FiniteNewtonSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FiniteNewtonSVCCV(Cs=5).fit(scale(X), y)
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
        Cs: Any = 10,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
        class_weight: Any = None,
        multi_class: str = "ovr",
        solver: str = "auto",
        decision_function_shape: str = "ovr",
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FiniteNewtonSVCCV:
        """Choose C, and learn from all training data. Ctrl-C leaves the estimator as it was.

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
        FiniteNewtonSVCCV
            The fitted estimator.
        """
        run(self, self._search, X, y, sample_weight, callbacks=False)
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any) -> Search:
        """All of the work, so that an interrupted search changes nothing."""
        from sklearn.model_selection import check_cv

        require_memory(X, type(self).__name__)
        values = self._values()
        X, codes, weights = self._validate_fit(X, y, sample_weight)
        labels = self.classes_[codes]
        folds = list(check_cv(self.cv, labels, classifier=True).split(X, labels))
        with one_blas_thread(), explained(X, type(self).__name__):
            points, scales = self._fit_folds(X, codes, weights, folds, values)
            scores = self._scores(X, labels, folds, values, points, scales)
        means = scores.mean(axis=0)
        if np.isnan(means).any():
            raise ValueError(f"scoring={self.scoring!r} returned NaN.")
        best = np.flatnonzero(means == means.max())
        at = best[values[best].argmin()]
        found: dict[str, Any] = {
            "Cs_": values,
            "scores_": scores,
            "C_": float(values[at]),
            "best_score_": float(means[at]),
        }
        names = ["coef_", "intercept_", "n_iter_", "duality_gap_", "objective_", "decision_scale_"]
        for name in names:  # an earlier search may have had more of them
            self.__dict__.pop(name, None)
        if self.refit:
            model = self._model(found["C_"]).fit(X, labels, sample_weight)
            found |= {name: getattr(model, name) for name in names if hasattr(model, name)}
        else:
            found["coef_"], found["intercept_"] = self._split(points[at].mean(axis=0))
            found["decision_scale_"] = scales[at].mean(axis=0)
        return Search(found)

    def _values(self) -> np.ndarray:
        """Values of C to compare."""
        if not isinstance(self.Cs, Integral) or isinstance(self.Cs, bool):
            return checked_Cs(self.Cs)
        if self.Cs < 1:
            raise ValueError(f"Cs must be at least 1. Got {self.Cs}.")
        return np.logspace(-4, 4, int(self.Cs))

    def _model(self, C: float) -> FiniteNewtonSVC:
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in FiniteNewtonSVC().get_params(deep=False) if name in own}
        return FiniteNewtonSVC(C=C, **shared)

    def _fit_folds(
        self, X: Any, codes: np.ndarray, weights: np.ndarray, folds: list[Any], values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weight vectors [C, fold, machine, weight] and largest outputs [C, fold, machine]."""
        train = np.zeros((len(folds), len(codes)))
        for line, (rows, _) in zip(train, folds, strict=True):
            line[rows] = 1.0
        problems = self._local_problems(X, codes, weights)
        together = []
        for problem in problems:
            planes = train[:, np.newaxis, slice(None) if problem.rows is None else problem.rows] * problem.weights
            together.append(replace(problem, weights=planes.reshape(-1, problem.n_rows)))
        n_machines = sum(problem.n_machines for problem in problems)
        points = np.empty((len(values), len(folds), n_machines, problems[0].length))
        scales = np.empty(points.shape[:-1])
        for k, of, minimiser in self._walk(together, values):
            own = slice(of.start // len(folds), of.stop // len(folds))
            points[k, :, own] = minimiser.points.reshape(len(folds), -1, points.shape[-1])
            largest = [minimiser.source.largest_output(machine) for machine in range(of.stop - of.start)]
            scales[k, :, own] = np.reshape(largest, (len(folds), -1))
        return points, scales

    def _scores(
        self, X: Any, labels: np.ndarray, folds: list[Any], values: np.ndarray, points: np.ndarray, scales: np.ndarray
    ) -> np.ndarray:
        """Scores of all folds and values of C on the rows held out."""
        from sklearn.metrics import check_scoring

        scorer = check_scoring(self._model(1.0), self.scoring)
        scores = np.empty((len(folds), len(values)))
        for k, C in enumerate(values):
            model = self._model(float(C))
            model.classes_, model.n_features_in_ = self.classes_, X.shape[1]
            for f, (_, test) in enumerate(folds):
                model.coef_, model.intercept_ = self._split(points[k, f])
                model.decision_scale_ = scales[k, f]
                scores[f, k] = scorer(model, X[test], labels[test])
        return scores
