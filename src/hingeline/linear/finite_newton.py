"""Linear support vector machines by the modified finite Newton method."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from ..base import params
from ..base.fit import all_or_nothing, with_callbacks
from ..base.labels import one_vs_rest_shape, pairs, require_two
from ..base.rows import LARGEST
from .estimator import (
    LINEAR_RULES,
    LinearEstimator,
    PartitionedClassifierMixin,
    by_partition,
    class_codes,
    explained,
    history,
    in_partitions,
    minimiser_of,
    one_blas_thread,
    require_memory,
    training_matrix,
    warn_of_gaps,
)
from .minimiser import Minimiser, scaled
from .rows import LocalProblem


class LinearClassifier(PartitionedClassifierMixin, LinearEstimator):
    """Base of the linear classifiers: from labels to machines, from weights to decisions."""

    # ---- machines ------------------------------------------------------------------------------------

    def _validate_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Checked X, labels as codes into ``classes_``, weights."""
        X, y = self._check_training_rows(X, y)
        classes, codes = class_codes(y)
        weights = self._sample_weights(sample_weight, X)
        require_two(classes)
        self.classes_ = classes
        if self.class_weight is not None:
            self.class_weight_ = self._class_weights(codes)
            weights = weights * self.class_weight_[codes]
        else:
            self.class_weight_ = np.ones(len(classes))
        return X, codes, weights

    @property
    def _by_pairs(self) -> bool:
        return self.multi_class == "ovo" and len(self.classes_) > 2

    def _problems(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[LocalProblem]:
        """One problem for all classes against the rest, or one for each pair of classes."""
        matrix, threads = training_matrix(X), self._threads()
        common: dict[str, Any] = {
            "thresholds": int(self.fit_intercept),
            "offset": self.intercept_scaling if self.fit_intercept else 1.0,
            "threads": threads,
        }
        if not self._by_pairs:
            positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
            planes = np.array([np.where(codes == c, weights, -weights) for c in positive])
            return [LocalProblem(matrix, planes, np.arange(len(planes)), **common)]
        problems = []
        for i, j in zip(*pairs(len(self.classes_)), strict=True):
            rows = np.flatnonzero((codes == i) | (codes == j))
            plane = np.where(codes[rows] == i, weights[rows], -weights[rows])
            problems.append(LocalProblem(matrix, plane[np.newaxis], np.zeros(1), rows=rows, **common))
        return problems

    def _points(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Weights and intercepts in the core's form."""
        if not self.fit_intercept:
            return np.array(coef, dtype=np.float64)
        return np.column_stack([coef, -np.asarray(intercept) / self.intercept_scaling]).astype(np.float64)

    def _weights(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``coef_`` and ``intercept_`` from the core's form."""
        if not self.fit_intercept:
            return points.copy(), np.zeros(len(points))
        return np.ascontiguousarray(points[:, :-1]), -self.intercept_scaling * points[:, -1]

    # ---- decisions -----------------------------------------------------------------------------------

    @by_partition
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples; of Dask's, the result is a Dask array.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_classes * (n_classes - 1) / 2)
            Two classes: positive for ``classes_[1]``. More: one column per class; for pairs of classes the votes with a
            tie-breaking term in (-1/3, 1/3), or with ``decision_function_shape='ovo'`` one column for each pair (i, j),
            positive for class i.
        """
        X = self._validate_predict(X)
        decisions = self._decisions(X)
        if len(self.classes_) == 2:
            return decisions.ravel()
        if self._by_pairs and self.decision_function_shape == "ovr":
            return one_vs_rest_shape(decisions, self.decision_scale_, len(self.classes_))
        return decisions

    def _decisions(self, X: Any) -> np.ndarray:
        values: np.ndarray = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return values

    @by_partition
    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples; of Dask's, the result is a Dask array.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        X = self._validate_predict(X)
        decisions = self._decisions(X)
        if len(self.classes_) == 2:
            return self.classes_[(decisions.ravel() > 0).astype(np.intp)]
        if self._by_pairs:
            decisions = one_vs_rest_shape(decisions, self.decision_scale_, len(self.classes_))
        return self.classes_[decisions.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


CLASSIFIER_RULES = {
    **LINEAR_RULES,
    "fit_intercept": params.boolean(),
    "intercept_scaling": params.real(above=0.0, most=1e50),
    "multi_class": params.one_of("ovr", "ovo"),
    "decision_function_shape": params.one_of("ovr", "ovo"),
}


class FiniteNewtonSVC(LinearClassifier):
    """Linear support vector classifier by the modified finite Newton method.

    Minimises ``|w|^2 / 2 + b'^2 / 2 + C sum_i s_i L(1 - t_i (w.x_i + b))`` with ``b = intercept_scaling * b'``. Few
    Newton iterations lead to the minimum itself, and the duality gap certifies how close it is. Made for many rows.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses. The squared losses carry a half: ``LinearSVC(loss='squared_hinge', C=C / 2)`` and
        ``LinearSVC(loss='hinge', C=C)`` have the same minimum.
    loss : {'squared_hinge', 'huber', 'hinge', 'squared'}, default='squared_hinge'
        With xi the shortfall of the margin: ``max(0, xi)^2 / 2``; the same up to xi = 2, then ``2 xi - 2``, so that
        wild samples pull less; ``max(0, xi)``; ``xi^2 / 2`` on both sides (least squares SVM).
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant feature that stands for the intercept; larger values leave the intercept freer.
    tol : float, default=1e-4
        Training stops when the duality gap is at most `tol` times the objective.
    max_iter : int, default=1000
        Newton iterations of a machine.
    class_weight : dict or 'balanced', default=None
        Factor on the weights of the samples of a class.
    multi_class : {'ovr', 'ovo'}, default='ovr'
        Each class against the rest, or each pair of classes.
    solver : {'auto', 'gram', 'cg'}, default='auto'
        How to solve Newton's systems: by Cholesky on the matrix of second moments, which follows the rows that change;
        by conjugate gradients on the rows themselves; or whichever should be faster. It does not change the result.
    warm_start : bool, default=False
        Start from the last result.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with pairs of classes.
    n_jobs : int, default=None
        Threads; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors. The result is the
        same, to the bit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features; one machine for two classes, otherwise one per class or pair.
    intercept_ : ndarray of shape (n_machines,)
        Intercepts.
    n_iter_ : ndarray of shape (n_machines,)
        Newton iterations.
    n_passes_ : float
        Passes over the rows, partial ones by their share; machines against the rest share theirs.
    objective_ : ndarray of shape (n_machines,)
        Values of the objectives.
    duality_gap_ : ndarray of shape (n_machines,)
        Upper bounds of their distance from the minimum.
    kkt_violation_ : ndarray of shape (n_machines,)
        Largest violation of the optimality conditions of the dual by the multipliers.
    support_ : ndarray of shape (n_support,)
        Training rows with a multiplier in any machine. This, ``dual_coef_`` and ``kkt_violation_`` are not computed for
        Dask's collections.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Multipliers times labels: ``coef_`` is ``dual_coef_ @ X[support_]`` up to the gap.
    solver_ : str
        Solver in use.
    stop_reason_ : ndarray of str of shape (n_machines,)
        'gap' (small enough), 'max_iter', 'precision' (rounding left no way down), 'interrupted' (Ctrl-C) or 'stopped'
        (by a callback).
    history_ : dict of ndarray
        Columns 'machine', 'iteration', 'seconds', 'objective', 'gap', 'n_active'. With ``loss='hinge'`` rows of
        one smooth loss after the other, with the hinge's own objective and gap.
    decision_scale_ : ndarray of shape (n_machines,)
        With pairs of classes: the largest decision value in training, to break ties between votes.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    sklearn.svm.LinearSVC : LIBLINEAR.
    FiniteNewtonSVCCV : The same with C chosen by cross-validation.
    FiniteNewtonOrdinal : Ordered classes.

    References
    ----------
    Keerthi and DeCoste, "A modified finite Newton method for fast solution of large scale linear SVMs", JMLR 6, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hingeline import FiniteNewtonSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), FiniteNewtonSVC(C=0.1)).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
        class_weight: Any = None,
        multi_class: str = "ovr",
        solver: str = "auto",
        warm_start: bool = False,
        decision_function_shape: str = "ovr",
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.solver = solver
        self.warm_start = warm_start
        self.decision_function_shape = decision_function_shape
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, coef_init: Any = None, intercept_init: Any = None
    ) -> FiniteNewtonSVC:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Training samples, float32 or float64; sums are in double, but for Hessians of float32 rows. Those of
            Dask stay where they are.
        y : array-like or dask array or series of shape (n_samples,)
            Labels.
        sample_weight : array-like or dask array or series of shape (n_samples,), default=None
            Weights of the samples.
        coef_init : array-like of shape (n_machines, n_features), default=None
            Guess of the weights to start from. Without `intercept_init` it is scaled, and an intercept added, so that
            they fit best (a guess from another method may have any length).
        intercept_init : array-like of shape (n_machines,), default=None
            Guess of the intercepts.

        Returns
        -------
        FiniteNewtonSVC
            The fitted estimator.
        """
        params.check(self, CLASSIFIER_RULES)
        before = self._previous()
        with all_or_nothing(self) as keep:
            problems: list[Any]
            if in_partitions(X):
                from .dask.rows import problem_of

                problems, labels = [problem_of(self, X, y, sample_weight)], y
            else:
                X, codes, weights = self._validate_fit(X, y, sample_weight)
                problems, labels = self._problems(X, codes, weights), self.classes_[codes]
            points = self._starting_points(X, problems, before, coef_init, intercept_init)
            minimisers = []
            for problem in problems:
                own = None if points is None else points[: problem.n_machines]
                points = None if points is None else points[problem.n_machines :]
                minimisers.append(self._minimiser(problem, own))
            self._train(minimisers, X, labels, keep)
        self._warn()
        return self

    def _minimiser(self, problem: Any, points: np.ndarray | None, **options: Any) -> Minimiser:
        lam = np.full(problem.n_machines, 1.0 / self.C)
        return minimiser_of(
            problem, lam, points, loss=self.loss, tol=self.tol, max_iter=self.max_iter, solver=self.solver, **options
        )

    def _previous(self) -> dict[str, Any]:
        """What a warm start needs of the last fit."""
        names = ("classes_", "coef_", "intercept_")
        return {name: getattr(self, name) for name in names} if self.warm_start and hasattr(self, "coef_") else {}

    def _starting_points(
        self, X: Any, problems: list[Any], before: dict[str, Any], coef_init: Any, intercept_init: Any
    ) -> np.ndarray | None:
        n_machines = sum(problem.n_machines for problem in problems)
        shape = (n_machines, X.shape[1])
        if coef_init is not None:
            coef = np.asarray(coef_init, dtype=np.float64)
            coef = coef.reshape(1, -1) if coef.ndim == 1 and n_machines == 1 else coef
            if coef.shape != shape or not np.isfinite(coef).all():
                raise ValueError(f"coef_init must hold finite numbers in shape {shape}. Got shape {coef.shape}.")
            if intercept_init is None:
                ends = np.cumsum([problem.n_machines for problem in problems])[:-1]
                guesses = zip(problems, np.split(coef, ends), strict=True)
                return np.concatenate([scaled(problem, own, 1.0 / self.C) for problem, own in guesses])
            intercept = np.atleast_1d(np.asarray(intercept_init, dtype=np.float64))
            if intercept.shape != (n_machines,) or not np.isfinite(intercept).all():
                raise ValueError(
                    f"intercept_init must hold finite numbers in shape {(n_machines,)}. Got shape {intercept.shape}."
                )
            return self._points(coef, intercept)
        if intercept_init is not None:
            raise ValueError("intercept_init needs coef_init as well.")
        if before and before["coef_"].shape == shape and np.array_equal(before["classes_"], self.classes_):
            return self._points(before["coef_"], before["intercept_"])
        return None

    def _attributes(self, minimisers: list[Minimiser], *, final: bool, unfinished: str = "running") -> dict[str, Any]:
        coef, intercept = self._weights(np.concatenate([m.points for m in minimisers]))
        reasons = np.concatenate([m.reason for m in minimisers]).astype(str)
        attributes = {
            "coef_": coef,
            "intercept_": intercept,
            "objective_": self.C * np.concatenate([m.objective() for m in minimisers]),
            "duality_gap_": self.C * np.concatenate([m.gap() for m in minimisers]),
            "n_iter_": np.concatenate([m.newton.n_iter for m in minimisers]).astype(np.int32),
            "stop_reason_": np.where(reasons == "running", unfinished, reasons),
            "solver_": minimisers[0].solver_name,
            "history_": history(minimisers, self.C),
        }
        if self._by_pairs:
            attributes["decision_scale_"] = np.array(
                [m.largest_output(machine) for m in minimisers for machine in range(m.problem.n_machines)]
            )
        if final and isinstance(minimisers[0].problem, LocalProblem):
            attributes |= self._dual(minimisers)
        attributes["n_passes_"] = float(sum(m.n_passes for m in minimisers))
        return attributes

    def _dual(self, minimisers: list[Minimiser]) -> dict[str, Any]:
        """Multipliers of the rows, and how well they satisfy the optimality conditions."""
        lines, places, violation = [], [], []
        for minimiser in minimisers:
            for machine in range(minimiser.problem.n_machines):
                pulls = minimiser.multipliers(machine)
                chosen = np.flatnonzero(pulls)
                rows = minimiser.problem.rows
                lines.append(self.C * pulls[chosen])
                places.append(chosen if rows is None else rows[chosen])
            violation.append(minimiser.violation())
        if len(lines) == 1:
            support, dual_coef = places[0], lines[0][np.newaxis]
        else:
            support = np.unique(np.concatenate(places))
            dual_coef = np.zeros((len(lines), len(support)))
            for line, values, rows in zip(dual_coef, lines, places, strict=True):
                line[np.searchsorted(support, rows)] = values
        return {
            "support_": support,
            "dual_coef_": dual_coef,
            "kkt_violation_": np.concatenate(violation),
        }


class FiniteNewtonPath(NamedTuple):
    """Results of :func:`finite_newton_path`, one line for each value of C in the order given."""

    Cs: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    n_iter: np.ndarray
    duality_gap: np.ndarray


def finite_newton_path(
    X: Any,
    y: Any,
    *,
    Cs: Sequence[float] | np.ndarray,
    sample_weight: Any = None,
    **parameters: Any,
) -> FiniteNewtonPath:
    """Fit :class:`FiniteNewtonSVC` for many values of C, each result being the start of the next.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : array-like of shape (n_samples,)
        Labels.
    Cs : array-like of shape (n_Cs,)
        Values of C, in any order.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.
    **parameters
        Other parameters of :class:`FiniteNewtonSVC`.

    Returns
    -------
    FiniteNewtonPath
        ``Cs``, ``coefs`` of shape (n_Cs, n_machines, n_features), ``intercepts``, ``n_iter`` and ``duality_gap`` of
        shape (n_Cs, n_machines).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import finite_newton_path
    >>> X, y = load_iris(return_X_y=True)
    >>> finite_newton_path(X, y > 0, Cs=np.logspace(-2, 2, 5)).coefs.shape
    (5, 1, 4)
    """
    require_memory(X, "finite_newton_path")
    values = _checked_Cs(Cs)
    model = FiniteNewtonSVC(**parameters)
    params.check(model, CLASSIFIER_RULES)
    X, codes, weights = model._validate_fit(X, y, sample_weight)
    problems = model._problems(X, codes, weights)
    n_machines = sum(problem.n_machines for problem in problems)
    coefs = np.empty((len(values), n_machines, X.shape[1]))
    intercepts, gaps, objectives = np.empty((3, len(values), n_machines))
    n_iter = np.empty((len(values), n_machines), dtype=np.int32)
    reasons = np.empty((len(values), n_machines), dtype=object)
    first = 0
    with one_blas_thread(), explained(X, "finite_newton_path"):
        for problem in problems:
            of = slice(first, first + problem.n_machines)
            minimiser = model._minimiser(problem, None, many=True)
            for k in minimiser.walk(1.0 / values):
                coefs[k, of], intercepts[k, of] = model._weights(minimiser.points)
                n_iter[k, of] = minimiser.newton.n_iter
                gaps[k, of] = values[k] * minimiser.gap()
                objectives[k, of] = values[k] * minimiser.objective()
                reasons[k, of] = minimiser.reason
            first += problem.n_machines
    warn_of_gaps(reasons.ravel(), gaps, objectives, model.tol, stacklevel=3)
    return FiniteNewtonPath(values, coefs, intercepts, n_iter, gaps)


def _checked_Cs(Cs: Any) -> np.ndarray:
    try:
        values = np.asarray(Cs, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if values.ndim != 1 or len(values) == 0 or not ((values >= 1 / LARGEST) & (values <= LARGEST)).all():
        raise ValueError(f"Cs must be a list of numbers >= {1 / LARGEST:g} and <= {LARGEST:g}. Got {Cs!r}.")
    return values


class FiniteNewtonSVCCV(LinearClassifier):
    """:class:`FiniteNewtonSVC` with C chosen by cross-validation.

    The folds are machines over the same rows, with weight zero for those held out: a pass over the rows serves all
    folds, and the results for one C are the start of the next.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C; an int asks for so many between 1e-4 and 1e4.
    cv : int, cross-validation generator or iterable, default=None
        Folds; None means 5, stratified.
    scoring : str or callable, default=None
        Score to be maximised; None means accuracy.
    refit : bool, default=True
        Whether to fit all rows with the best C; otherwise the mean of the folds' results is taken.
    loss, fit_intercept, intercept_scaling, tol, max_iter, class_weight, multi_class, solver : see FiniteNewtonSVC
        As in :class:`FiniteNewtonSVC`; ``class_weight='balanced'`` goes by all rows.
    decision_function_shape, n_jobs : see FiniteNewtonSVC
        As in :class:`FiniteNewtonSVC`.

    Attributes
    ----------
    Cs_ : ndarray of shape (n_Cs,)
        Values of C.
    C_ : float
        The best, the smallest of several.
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
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.solver = solver
        self.decision_function_shape = decision_function_shape
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FiniteNewtonSVCCV:
        """Choose C, and learn from all training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in training; scores do not know them.

        Returns
        -------
        FiniteNewtonSVCCV
            The fitted estimator.
        """
        params.check(self, {k: v for k, v in CLASSIFIER_RULES.items() if k not in ("C", "warm_start")})
        params.check(self, {"refit": params.boolean()})
        require_memory(X, type(self).__name__)
        if isinstance(self.Cs, Integral) and not isinstance(self.Cs, bool):
            if self.Cs < 1:
                raise ValueError(f"Cs must be at least 1. Got {self.Cs}.")
            values = np.logspace(-4, 4, int(self.Cs))
        else:
            values = _checked_Cs(self.Cs)
        from sklearn.model_selection import check_cv

        with all_or_nothing(self):
            X, codes, weights = self._validate_fit(X, y, sample_weight)
            labels = self.classes_[codes]
            folds = list(check_cv(self.cv, labels, classifier=True).split(X, labels))
            self.Cs_ = values
            with one_blas_thread(), explained(X, type(self).__name__):
                self.scores_, points, scales = self._scores(X, codes, weights, folds)
            means = self.scores_.mean(axis=0)
            if np.isnan(means).any():
                raise ValueError(f"scoring={self.scoring!r} returned NaN.")
            best = np.flatnonzero(means == means.max())
            at = best[values[best].argmin()]
            self.C_ = float(values[at])
            self.best_score_ = float(means[at])
            names = ["coef_", "intercept_", "n_iter_", "duality_gap_", "objective_"]
            for name in [*names, "decision_scale_"]:  # of an earlier fit
                self.__dict__.pop(name, None)
            if self.refit:
                model = self._model(self.C_).fit(X, labels, sample_weight)
                for name in names + ["decision_scale_"] * self._by_pairs:
                    setattr(self, name, getattr(model, name))
            else:
                self.coef_, self.intercept_ = self._weights(points[at].mean(axis=0))
                self.decision_scale_ = scales[at].mean(axis=0)
        return self

    def _model(self, C: float) -> FiniteNewtonSVC:
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in FiniteNewtonSVC().get_params(deep=False) if name in own}
        return FiniteNewtonSVC(C=C, **shared)

    def _scores(
        self, X: Any, codes: np.ndarray, weights: np.ndarray, folds: list[Any]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores of all folds and values of C, the points reached [C, fold, machine, weight], decision scales."""
        from sklearn.metrics import check_scoring

        values, scorer = self.Cs_, check_scoring(self._model(1.0), self.scoring)
        train = np.zeros((len(folds), len(codes)))
        for line, (rows, _) in zip(train, folds, strict=True):
            line[rows] = 1.0
        scores = np.empty((len(folds), len(values)))
        parts, scales = [], []
        for problem in self._problems(X, codes, weights):
            planes = problem.weights[problem.plane_of]
            rows = slice(None) if problem.rows is None else problem.rows
            all_planes = (train[:, np.newaxis, rows] * planes).reshape(-1, planes.shape[1])
            together = problem.with_planes(all_planes)
            minimiser = Minimiser(
                together,
                np.ones(together.n_machines),
                loss=self.loss,
                tol=self.tol,
                max_iter=self.max_iter,
                solver=self.solver,
                many=True,
            )
            points = np.empty((len(values), len(folds), len(planes), together.length))
            scale = np.empty(points.shape[:-1])
            for k in minimiser.walk(1.0 / values):
                points[k] = minimiser.points.reshape(points.shape[1:])
                for machine in range(together.n_machines):
                    fold, own = divmod(machine, len(planes))
                    scale[k, fold, own] = minimiser.largest_output(machine)
            parts.append(points)
            scales.append(scale)
        points, scale = np.concatenate(parts, axis=2), np.concatenate(scales, axis=2)
        for k, C in enumerate(values):
            for f, (_, test) in enumerate(folds):
                model = self._model(float(C))
                model.classes_, model.n_features_in_ = self.classes_, X.shape[1]
                model.coef_, model.intercept_ = self._weights(points[k, f])
                model.decision_scale_ = scale[k, f]
                scores[f, k] = scorer(model, X[test], self.classes_[codes[test]])
        return scores, points, scale
