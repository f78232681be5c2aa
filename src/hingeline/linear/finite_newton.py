"""Linear support vector machines by the modified finite Newton method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..base import params
from ..base.fit import run, with_callbacks
from ..base.labels import choose_classes, n_pairs, read_only, vote_scale
from ..base.rows import require_array, require_finite, require_sound, row_blocks
from ..base.types import ClassWeight, RandomState, RowIds
from .estimator import DROP_IN_RULES, LINEAR_RULES, Column, LabelEstimator, Table, by_partition
from .layout import Layout
from .minimiser import Minimiser, scale_guess
from .problem import Problem
from .published import PUBLISHED
from .sums import Loss, loss_weight
from .training import in_partitions

#: Solvers of the classifiers.
LinearSolver: TypeAlias = Literal["auto", "gram", "cg", "dual", "paper", "plain"]
CLASSIFIER_RULES = {
    **LINEAR_RULES,
    "solver": params.one_of(*get_args(LinearSolver)),
    "fit_intercept": params.boolean(),
    "intercept_scaling": params.real(above=0.0, most=1e50),
    "multi_class": params.Rule(
        ("ovr", "ovo").__contains__, "'ovr' or 'ovo' (for 'crammer_singer' use sklearn.svm.LinearSVC)", str
    ),
    "decision_function_shape": params.one_of("ovr", "ovo"),
}


def to_dense(coef: Any) -> np.ndarray:
    """Weights as an array, also those of a model after ``sparsify``."""
    return coef.toarray() if sp.issparse(coef) else coef


class LinearClassifier(LabelEstimator):
    """Base of the linear classifiers: from labels to machines, from weights to decisions."""

    _needed = (*LabelEstimator._needed, "intercept_")

    # ---- machines ------------------------------------------------------------------------------------

    @property
    def _by_pairs(self) -> bool:
        return self.multi_class == "ovo" and len(self.classes_) > 2

    def _layout(self, n_features: int) -> Layout:
        kind = "pairs" if self._by_pairs else "rest"
        offset = float(self.intercept_scaling) if self.fit_intercept else 1.0
        return Layout(kind, len(self.classes_), n_features, int(self.fit_intercept), offset, self.class_weight_)

    def _join(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Weight vectors in the core's form: the threshold is -intercept / intercept_scaling."""
        if not self.fit_intercept:
            return np.array(coef, dtype=np.float64)
        return np.column_stack([coef, -np.asarray(intercept) / self.intercept_scaling]).astype(np.float64)

    def _split(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``coef_``, read-only as in all estimators, and ``intercept_`` from the core's form."""
        if not self.fit_intercept:
            return read_only(points.copy()), np.zeros(len(points))
        return read_only(points[:, :-1].copy()), -self.intercept_scaling * points[:, -1]

    def _walk(self, problems: list[Problem], Cs: np.ndarray) -> Iterator[tuple[int, slice, Minimiser]]:
        """Minimise for all values of C; yields the index of C, the machines, and the minimiser at their minima."""
        weights = Cs * loss_weight(self.loss)
        first = 0
        for problem in problems:
            minimiser = self._minimiser(problem, 1.0, None, many=True)
            for k in minimiser.walk(1.0 / weights):
                yield k, slice(first, first + problem.n_machines), minimiser
            first += problem.n_machines

    def _check_weights(self, n_classes: int, width: int) -> None:
        n_machines = 1 if n_classes == 2 else n_pairs(n_classes) if self._by_pairs else n_classes
        if sp.issparse(self.coef_):
            require_sound(self.coef_.shape == (n_machines, width), f"coef_ must have shape {(n_machines, width)}")
        else:
            require_array(self, "coef_", (n_machines, width))
        require_array(self, "intercept_", (n_machines,))
        if self._by_pairs:
            require_array(self, "decision_scale_", (n_machines,))

    # ---- decisions -----------------------------------------------------------------------------------

    @by_partition
    def decision_function(self, X: Table) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Samples; Dask input returns a lazy Dask array.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_classes * (n_classes - 1) / 2)
            Two classes: positive for ``classes_[1]``. More: one column per class; for pairs of classes the votes plus a
            tie-breaking term in (-1/3, 1/3), or with ``decision_function_shape='ovo'`` one column for each pair (i, j),
            positive for class i.
        """
        X = self._validate_predict(X)
        if self._by_pairs and self.decision_function_shape == "ovr":
            return self._count_votes(X, labels=False)
        decisions = self._decisions(X)
        return decisions.ravel() if len(self.classes_) == 2 else decisions

    def _decisions(self, X: Any) -> np.ndarray:
        return require_finite(safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_)

    def _choose(self, X: Any) -> np.ndarray:
        return self._count_votes(X, labels=True) if self._by_pairs else choose_classes(self._decisions(X), None)

    def _count_votes(self, X: Any, *, labels: bool) -> np.ndarray:
        """Votes of the pairs for each class, or with `labels` the class with most, counted in blocks of rows."""
        votes = _core.Votes(len(self.classes_), scale=vote_scale(self.decision_scale_), labels=labels)
        blocks = row_blocks(X.shape[0], len(self.decision_scale_))
        return require_finite(np.concatenate([votes.count(self._decisions(X[some])) for some in blocks]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearSVC(LinearClassifier):
    """Linear support vector classifier by the modified finite Newton method.

    Minimises ``|w|^2 / 2 + b'^2 / 2 + C sum_i s_i L(1 - t_i (w.x_i + b))`` with ``b = intercept_scaling * b'``, the
    problem of :class:`sklearn.svm.LinearSVC`. Few Newton iterations reach the minimum, and the duality gap bounds the
    distance from it. Made for many rows.

    Parameters
    ----------
    penalty : {'l1', 'l2'}, default='l2'
        'l1' replaces the squares of the weights, and of ``b'``, by their absolute values: many weights are zero. For
        ``loss='squared_hinge'`` only.
    loss : {'squared_hinge', 'huber', 'hinge', 'squared'}, default='squared_hinge'
        With xi = 1 - t f(x): ``max(0, xi)^2``; the same up to xi = 2, then ``4 xi - 4``, so that outliers have less
        influence; ``max(0, xi)``; ``xi^2`` on both sides (least squares SVM).
    dual : 'auto' or bool, default='auto'
        Not used: `solver` chooses the method. Combinations with `penalty` and `loss` that scikit-learn does not support
        are refused here too.
    tol : float, default=1e-4
        Training stops when the duality gap is at most `tol` times the objective; for 'paper' and 'plain' see `solver`.
    C : float, default=1.0
        Weight of the losses, as in :class:`sklearn.svm.LinearSVC`.
    multi_class : {'ovr', 'ovo'}, default='ovr'
        Each class against the rest, or each pair of classes. 'crammer_singer' is refused:
        :class:`sklearn.svm.LinearSVC` has it.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant feature that represents the intercept; larger values penalise the intercept less.
    class_weight : dict or 'balanced', default=None
        Factor on the weights of the samples of a class.
    verbose : int, default=0
        Whether to show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Not used: the result is deterministic. Exists as in scikit-learn.
    max_iter : int, default=1000
        Newton iterations of a machine.
    kkt_tol : float, default=None
        If given, training also goes on until ``kkt_violation_`` is at most `kkt_tol`, which is a distance in units of
        the margin: 1e-3 is common for solvers of the dual.
    solver : {'auto', 'gram', 'cg', 'dual', 'columns', 'paper', 'plain'}, default='auto'
        How to solve Newton's systems. 'gram': Cholesky on the Hessian, which is updated by the rows that change. 'cg':
        preconditioned conjugate gradients on the rows. 'dual': coordinate descent on the dual, with Newton steps on the
        free multipliers where it is slow; for fewer rows than features. It starts from zero: with a warm start or Dask
        collections it means 'cg', as it does after many such steps or with very many free multipliers. 'auto': the
        one expected to be faster. These do not change the result by more than `tol`. 'paper': Appendix A of the paper,
        iterate for iterate, with one thread and X in memory: CGLS, line search by sorted breakpoints, both heuristics
        of section 4.6 unless there is a warm start, and a stop when the norm of the gradient is at most `tol` times the
        root of the sum of squared residuals (equation 13).
        'plain': the same without the heuristics. With ``penalty='l1'`` models of the losses are minimised by
        coordinate descent: on their Hessians ('gram'), or on the columns of X ('columns'); 'auto' chooses one of these.
    warm_start : bool, default=False
        Whether to start from the last result.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with pairs of classes.
    n_jobs : int, default=None
        Threads; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors. The results have
        the same bits.

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
    n_iter_ : int
        Newton iterations, or epochs with ``solver_ == 'dual'``, of the machine with most of them. ``history_`` has
        those of each machine.
    n_passes_ : float
        Passes over the rows; partial passes count by their share of the rows. Machines against the rest share passes.
    objective_ : ndarray of shape (n_machines,)
        Primal objectives.
    duality_gap_ : ndarray of shape (n_machines,)
        Duality gaps: upper bounds of the distance of the objectives from their minima.
    kkt_violation_ : ndarray of shape (n_machines,)
        Largest KKT violation of the multipliers, in units of the margin. For Dask collections it is computed only with
        `kkt_tol`. With ``penalty='l1'``: largest distance of the gradient of the losses from the subdifferential of the
        penalty.
    support_ : ndarray of shape (n_support,)
        Training rows with a nonzero multiplier in any machine. This and ``dual_coef_`` are not computed for Dask
        collections.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Multipliers times labels: ``coef_`` is ``dual_coef_ @ X[support_]`` up to the gap. With ``penalty='l1'`` the
        largest magnitude of ``dual_coef_ @ X[support_]`` is at most 1.
    solver_ : str
        Solver that was used.
    stop_reason_ : ndarray of str of shape (n_machines,)
        'gap' (the duality gap is small enough), 'residual' (the same by the rule of 'paper' and 'plain'), 'kkt' (one
        of the two, and the KKT violation is at most `kkt_tol`), 'max_iter',
        'precision' (no progress because of rounding), 'interrupted' (Ctrl-C) or 'stopped' (by a callback).
    history_ : dict of ndarray
        Columns 'machine', 'step' (Newton iteration), 'seconds', 'objective', 'duality_gap', 'n_active' (rows with
        curvature). With ``loss='hinge'`` one smooth loss follows the other, with the objective and gap of the hinge.
    decision_scale_ : ndarray of shape (n_machines,)
        With pairs of classes: largest absolute decision value in training, to break ties between votes.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    sklearn.svm.LinearSVC : LIBLINEAR.
    LinearSVCCV : C chosen by cross-validation.
    OrdinalSVC : Ordered classes.

    References
    ----------
    Keerthi and DeCoste, "A modified finite Newton method for fast solution of large scale linear SVMs", JMLR 6, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hingeline import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearSVC(C=0.1)).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    """

    coef_: Any
    _rules = {
        **CLASSIFIER_RULES,
        **DROP_IN_RULES,
        "penalty": params.one_of("l1", "l2"),
        "solver": params.one_of(*get_args(LinearSolver), "columns"),
    }
    _publishes_multipliers = True

    def __init__(
        self,
        penalty: Literal["l1", "l2"] = "l2",
        loss: Loss = "squared_hinge",
        *,
        dual: bool | Literal["auto"] = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: Literal["ovr", "ovo"] = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        verbose: int = 0,
        random_state: RandomState = None,
        max_iter: int = 1000,
        kkt_tol: float | None = None,
        solver: LinearSolver | Literal["columns"] = "auto",
        warm_start: bool = False,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())

    @with_callbacks
    def fit(
        self,
        X: Table,
        y: Column,
        sample_weight: Column | None = None,
        coef_init: npt.ArrayLike | None = None,
        intercept_init: npt.ArrayLike | None = None,
        support_init: npt.ArrayLike | None = None,
        ids: RowIds = None,
    ) -> Self:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array or dataframe} of shape (n_samples, n_features)
            Training samples, float32 or float64. Sums are in double, except Hessians, which may be in single precision.
            Dask partitions stay where they are.
        y : array-like or dask array or series of shape (n_samples,)
            Labels.
        sample_weight : array-like or dask array or series of shape (n_samples,), default=None
            Weights of the samples.
        coef_init : array-like of shape (n_machines, n_features), default=None
            Weights to start from. Without `intercept_init` they are scaled, and an intercept is added, to fit best: the
            length of a guess from another method does not matter. "Best" is by the squared hinge (Dask collections: by
            the squared loss over all rows; 'paper' and 'plain': over the rows of `support_init`).
        intercept_init : array-like of shape (n_machines,), default=None
            Intercepts to start from.
        support_init : array-like of shape (n_support,), default=None
            Training rows over which `coef_init` is first scaled, such as ``support_`` of an earlier fit; None means
            all. Not with `intercept_init`, which leaves nothing to scale, and not for Dask collections.
        ids : array-like of shape (n_samples,) or str, default=None
            Id of each sample, an integer, string or ``uuid.UUID``; several samples may have one id. 'index' takes the
            index of a DataFrame, another string its column of this name. With ids the samples are kept, for
            :meth:`forget` and :meth:`add`. Not for Dask collections.

        Returns
        -------
        LinearSVC
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, y, sample_weight, ids, coef_init, intercept_init, support_init)
        return self

    def sparsify(self) -> Self:
        """Convert ``coef_`` to a CSR matrix, which is smaller and faster if most weights are zero.

        Returns
        -------
        LinearSVC
            The fitted estimator.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Convert ``coef_`` to an array, as it is after ``fit``.

        Returns
        -------
        LinearSVC
            The fitted estimator.
        """
        check_is_fitted(self)
        self.coef_ = to_dense(self.coef_)
        return self

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, list[Problem]]:
        self._check_combination(in_partitions(X))
        return super()._problems(X, y, sample_weight)

    def _check_combination(self, partitions: bool) -> None:
        """Reject parameters that do not go together; with scikit-learn's words where it rejects them too."""
        sparse = self.penalty == "l1"
        unsupported = self.loss != "squared_hinge" or self.dual is True if sparse else self.dual is False
        if unsupported and (sparse or self.loss == "hinge"):
            raise ValueError(
                f"Unsupported set of arguments: penalty={self.penalty!r}, loss={self.loss!r}, dual={self.dual!r}. Set "
                + ("loss='squared_hinge' and dual='auto'." if sparse else "dual='auto'.")
            )
        if sparse and self.solver not in ("auto", "gram", "columns"):
            raise ValueError(f"solver={self.solver!r} has no penalty='l1'. Use 'auto', 'gram' or 'columns'.")
        if self.solver == "columns" and not sparse:
            raise ValueError("solver='columns' needs penalty='l1'. Use solver='auto'.")
        if self.solver == "columns" and partitions:
            raise ValueError("solver='columns' needs X in memory. Use 'auto' or 'gram' with Dask collections.")

    def _points(self) -> np.ndarray:
        return self._join(to_dense(self.coef_), self.intercept_)

    def _start(
        self,
        problems: list[Problem],
        coef_init: npt.ArrayLike | None = None,
        intercept_init: npt.ArrayLike | None = None,
        support_init: npt.ArrayLike | None = None,
    ) -> np.ndarray | None:
        if coef_init is None:
            if intercept_init is not None or support_init is not None:
                name = "intercept_init" if support_init is None else "support_init"
                raise ValueError(f"{name} needs coef_init as well.")
            return None
        n_machines = sum(problem.n_machines for problem in problems)
        shape = (n_machines, problems[0].n_features)
        coef = np.asarray(coef_init, dtype=np.float64)
        coef = coef.reshape(1, -1) if coef.ndim == 1 and n_machines == 1 else coef
        if coef.shape != shape or not np.isfinite(coef).all():
            raise ValueError(f"coef_init must hold finite numbers in shape {shape}. Got shape {coef.shape}.")
        if intercept_init is None:
            ends = np.cumsum([problem.n_machines for problem in problems])[:-1]
            guesses = zip(problems, np.split(coef, ends), strict=True)
            some, lam = self._check_support(support_init, problems), 1.0 / self._loss_weight
            once = self.solver in PUBLISHED
            return np.concatenate(
                [scale_guess(problem, own, lam, self.loss, some, once=once) for problem, own in guesses]
            )
        if support_init is not None:
            raise ValueError("support_init has no effect with intercept_init. Leave out one of them.")
        intercept = np.atleast_1d(np.asarray(intercept_init, dtype=np.float64))
        if intercept.shape != (n_machines,) or not np.isfinite(intercept).all():
            raise ValueError(
                f"intercept_init must hold finite numbers in shape {(n_machines,)}. Got shape {intercept.shape}."
            )
        return self._join(coef, intercept)

    def _check_support(self, support_init: npt.ArrayLike | None, problems: list[Problem]) -> np.ndarray | None:
        """Numbers of rows, checked."""
        if support_init is None:
            return None
        if not problems[0].in_memory:
            raise ValueError("support_init needs X in memory.")
        some = np.asarray(support_init)
        if some.dtype.kind not in "iu" or some.ndim != 1 or len(some) == 0 or some.min() < 0:
            raise ValueError("support_init must be a list of row numbers, at least one, and none negative.")
        return some

    def _guesses(self, *guess: Any) -> bool:
        return bool(guess) and guess[0] is not None and guess[1] is None

    def _fitted_attributes(
        self, points: np.ndarray, attributes: dict[str, np.ndarray], scales: np.ndarray
    ) -> dict[str, Any]:
        coef, intercept = self._split(points)
        fitted: dict[str, Any] = {"coef_": coef, "intercept_": intercept, **attributes}
        fitted["n_iter_"] = int(attributes["n_iter_"].max())
        return {**fitted, "decision_scale_": scales} if self._by_pairs else fitted
