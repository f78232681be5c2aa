"""Soft-margin SVM, solved exactly: the drop-in for :class:`sklearn.svm.SVC`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._sklearn import n_samples
from ..base import params
from ..base.classifier import CLASSIFIER_RULES, KernelClassifier
from ..base.duration import Work
from ..base.fit import run, with_callbacks
from ..base.labels import choose_classes, multiply_weights, read_only
from ..base.platt import wants_probability
from ..base.rows import LARGEST
from ..base.types import ClassWeight, Gamma, Kernel, RandomState, Rows
from ..base.warn import warn
from .platt import SvcProbabilities, shuffle_pairs
from .start import read_start, set_start
from .training import BatchTraining

#: Fewer rows are solved in double precision from the start: there is nothing to gain.
SINGLE_ROWS = 1000
#: Smaller tolerances are beyond single precision.
SINGLE_TOL = 1e-6
#: Working sets assumed for the length of progress bars.
N_WORKING_SETS = 50

VERBOSE = params.boolean() | params.integer(least=0)


class SVC(SvcProbabilities, KernelClassifier):
    """C-support vector classification, a drop-in replacement of :class:`sklearn.svm.SVC`.

    The problem, the parameters, the stopping rule and the fitted attributes are those of scikit-learn. The solver is
    different: SMO on working sets of thousands of samples, with kernel values computed in blocks that are summed at
    once. On tens of thousands of samples it is many times faster, and its memory is bounded by `cache_size`.

    Multi-class problems are split one-vs-one. Results do not depend on ``n_jobs`` or ``cache_size``, to the bit.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of margin violations; infinity asks for a hard margin.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets X twice, in the form that X has, and returns the whole kernel matrix.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly' and 'sigmoid'. 'scale' is ``1 / (n_features * X.var())``, 'auto' is
        ``1 / n_features``. The variance does not depend on `sample_weight`, as in scikit-learn.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    shrinking : bool, default=True
        Whether samples that are far from the margin are left out of most steps. It has no influence on the optimum.
    probability : bool, default='deprecated'
        Whether to fit probabilities, by cross-validation with five folds. Deprecated as in scikit-learn 1.9: use
        :class:`sklearn.calibration.CalibratedClassifierCV`.
    tol : float, default=1e-3
        Largest violation of the optimality conditions at which training stops, in units of the margin. It holds in
        double precision.
    cache_size : float, default=200
        Memory in MB for kernel values.
    class_weight : dict or 'balanced', default=None
        Factors on C for classes.
    verbose : bool, default=False
        Whether to print a line for each pair of classes after training.
    max_iter : int, default=-1
        Limit of changes of pairs of coefficients for each pair of classes; -1 means 10 million, or 1000 times the
        number of samples of the two classes if that is more.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with more than two classes.
    break_ties : bool, default=False
        Whether :meth:`predict` breaks ties between votes by the decision values, which requires
        ``decision_function_shape='ovr'``. Otherwise the first class wins.
    random_state : int, RandomState instance or None, default=None
        Folds of ``probability=True``. Training itself is deterministic.
    warm_start : bool, default=False
        Whether the coefficients of the last fit are the starting point if the samples and labels are the same.
    n_jobs : int, default=None
        Threads for training and prediction. None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all
        processors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    class_weight_ : ndarray of shape (n_classes,)
        Factor on C of each class.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the training rows, class after class.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
        Support vectors; empty with a precomputed or callable kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : {ndarray, sparse matrix} of shape (n_classes - 1, n_support)
        Signed coefficients in LIBSVM's layout; sparse if X is sparse. Read-only.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts.
    coef_ : {ndarray, sparse matrix} of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features, with a linear kernel only. Read-only.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Changes of pairs of coefficients of each machine.
    fit_status_ : int
        0 if every machine reached `tol`, else 1.
    shape_fit_ : tuple of int
        Shape of the training data.
    stop_reason_ : ndarray of str of shape (n_classes * (n_classes - 1) / 2,)
        'tol', 'max_iter', 'precision' (rounding errors end the progress), 'unbounded' (C is infinite and the samples
        are not separable), 'interrupted' (Ctrl-C) or 'stopped' (by a callback).
    kkt_violation_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Violation of the optimality conditions at the end.
    dual_objective_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Dual objective of each machine.
    duality_gap_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Primal minus dual objective of each machine.
    n_kernel_evals_ : int
        Kernel values computed in training.
    history_ : dict of ndarray
        Columns 'machine', 'step' (working sets), 'seconds', 'n_support', 'kkt_violation', 'kernel_evals'.
    X_fit_ : object
        Training samples, with a callable kernel only.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    LASVC : Learns online, for streams and for approximate solutions.
    LinearSVC : Linear kernel on large data.

    Notes
    -----
    The model stores its support vectors, which are rows of the training data.

    References
    ----------
    C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", ACM Transactions on Intelligent Systems
    and Technology, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SVC(gamma=0.5).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.stop_reason_.tolist()
    ['tol', 'tol', 'tol']
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | Literal["deprecated"] = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: ClassWeight = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        random_state: RandomState = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())

    _work = Work(values=0.5, updates=1.5)
    _rules = {
        "C": params.real(above=0.0, most=LARGEST) | params.Rule(lambda v: v == math.inf, "infinity", Real),
        **CLASSIFIER_RULES,
        "shrinking": params.boolean(),
        "probability": params.boolean() | params.one_of("deprecated"),
        "tol": params.real(above=0.0),
        "verbose": VERBOSE,
        "max_iter": params.integer(least=-1),
        "break_ties": params.boolean(),
        "warm_start": params.boolean(),
    }

    _scales_votes = False
    _takes_negative_weights = True

    # ---- training ------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Rows,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        dual_init: ClassifierMixin | None = None,
    ) -> Self:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; with ``kernel='precomputed'`` the kernel matrix; with a callable kernel anything that the
            kernel takes.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C. Samples whose weight is zero or negative are left out.
        dual_init : SVC, default=None
            Fitted estimator for the same samples and labels whose coefficients are the starting point, of this class
            or of scikit-learn. Its C and kernel may differ.

        Returns
        -------
        SVC
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, y, sample_weight, dual_init)
        if self.verbose:
            for k, steps in enumerate(self.n_iter_):
                print(
                    f"[SVC] machine {k}: {steps} steps, {self.stop_reason_[k]}, "
                    f"violation {self.kkt_violation_[k]:.3g}, dual objective {self.dual_objective_[k]:.10g}"
                )
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any, dual_init: Any) -> SvcTraining:
        start = read_start(self, dual_init)
        if self.probability != "deprecated":
            warn(
                "The `probability` parameter was deprecated in scikit-learn 1.9 and will be removed in version 1.11. "
                "Use `CalibratedClassifierCV(SVC(), ensemble=False)` instead of `SVC(probability=True)`",
                FutureWarning,
            )
        X, self.classes_, codes = self._validate_fit(X, y)
        self._set_kernel(X)
        training = self._training(X, codes, sample_weight)
        set_start(training.core, start, codes, self.classes_, wanted=dual_init is not None)
        return training

    def _training(self, X: Any, codes: np.ndarray, sample_weight: Any, rows: np.ndarray | None = None) -> SvcTraining:
        self.class_weight_ = self._class_weights(self.classes_, np.bincount(codes))
        weights = multiply_weights(codes, self.class_weight_, self._sample_weights(sample_weight, codes))
        return SvcTraining(self, X, codes, weights, rows)

    #: A callable kernel computes all values before training, which therefore may use several threads.
    _training_threads = KernelClassifier._threads

    @staticmethod
    def _as_objects(X: Any, *, always: bool) -> Any:
        """Samples of any form are passed to a callable kernel as they are, as scikit-learn does."""
        return X

    # ---- decisions -----------------------------------------------------------------------------------

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        if not callable(self.kernel) and sp.issparse(X) and not sp.issparse(self.support_vectors_):
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        return super()._validate_predict(X)

    def _decide_in_blocks(
        self, X: Any, lines: _core.Lines, support: Any, votes: _core.Votes | None = None
    ) -> np.ndarray:
        """Decision values or votes by one call of the kernel function, for all training samples."""
        columns = np.ascontiguousarray(self.support_, dtype=np.int64)
        matrix = _core.Matrix(self._call_kernel(X, self.X_fit_))
        return _core.decide_gathered(lines, matrix, columns, self._threads(), votes=votes)

    def _votes(self, fitted: Any, *, labels: bool) -> _core.Votes:
        """Votes by scikit-learn's formula, which does not scale the decision values; labels by LIBSVM's."""
        sums = not labels or self.break_ties
        return _core.Votes(len(fitted.classes_), zero_for_first=sums, sums=sums, labels=labels)

    def predict(self, X: Rows) -> np.ndarray:
        """Class labels.

        Each pair of classes votes, as in LIBSVM. Among classes with equal votes the first wins, or with
        ``break_ties=True`` the one with the larger decision value.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return super().predict(X)

    def _choose_classes(self, decisions: np.ndarray, fitted: Any) -> np.ndarray:
        if len(fitted.classes_) == 2:
            return (decisions.ravel() >= 0).astype(np.intp)
        return choose_classes(decisions, self._votes(fitted, labels=True))

    @property
    def coef_(self) -> Any:
        """Weights of the features with a linear kernel, one row per machine; read-only, sparse if X was sparse."""
        dense = super().coef_
        if not sp.issparse(self.support_vectors_):
            return dense
        return read_only(type(self.support_vectors_)(dense))


def bound_coefficients(C: float, weights: np.ndarray) -> np.ndarray:
    """C times the weights of the samples; C may be infinite."""
    return np.multiply(C, weights, out=np.zeros(len(weights)), where=weights > 0)


class SvcTraining(BatchTraining):
    """One fit of SVC.

    Parameters
    ----------
    estimator : SVC
        Estimator that is being fitted.
    X : object
        Checked rows, a matrix of kernel values, or samples for a callable kernel.
    codes : ndarray
        Class of each row.
    weights : ndarray
        Factor on C of each row.
    rows : ndarray, default=None
        X is a matrix of kernel values, and these are its rows that are trained on; None: all.
    """

    n_steps = N_WORKING_SETS
    path = "C"
    calls_once = True

    def __init__(
        self, estimator: SVC, X: Any, codes: np.ndarray, weights: np.ndarray, rows: np.ndarray | None = None
    ) -> None:
        super().__init__(estimator, X, codes, rows=rows)
        self.codes, self.weights = codes, weights
        self.sigmoids = np.empty((2, 0))
        #: Least number of samples for kernel values in single precision.
        self.single_rows = SINGLE_ROWS if self.values.single and estimator.tol >= SINGLE_TOL else 2**62
        #: Parameters of the solver.
        self.limits: dict[str, Any] = {
            "tol": float(estimator.tol),
            "max_iter": min(int(estimator.max_iter), 2**62),
            "shrinking": bool(estimator.shrinking),
            "cache_bytes": self.cache_bytes,
        }
        #: Whether kernel values are in single precision at first.
        self.single = len(codes) >= self.single_rows
        self.core = _core.Svc(
            codes, bound_coefficients(estimator.C, weights), len(estimator.classes_), single=self.single, **self.limits
        )

    def _make_values(self) -> Any:
        est = self.estimator
        called = self.given and callable(est.kernel)
        matrix = _core.Matrix(est._call_kernel(self.X, self.X)) if called else est._matrix(self.X)
        given = self.given or self.rows is not None
        return _core.RowValues(_core.Source(matrix, self.rows) if given else _core.Source(est._kernel()), matrix)

    def follow(self, value: float) -> None:
        self.core.raise_bounds(bound_coefficients(value, self.weights), self.single)

    def solution(self) -> dict[str, Any]:
        found = self.core.solution()
        return super().solution() if found["unfinished"] else found

    def end(self, unfinished: str) -> None:
        est = self.estimator
        if not wants_probability(est) or unfinished == "interrupted":
            return
        rows, first, sizes = shuffle_pairs(self.codes, self.weights > 0, len(est.classes_), est.random_state)
        self.sigmoids = _core.svc_sigmoids(
            self.values,
            bound_coefficients(est.C, self.weights),
            rows,
            first,
            sizes,
            single_rows=self.single_rows,
            threads=self.threads,
            **self.limits,
        )

    def attributes(self, unfinished: str) -> dict[str, Any]:
        est, X = self.estimator, self.X
        found = super().attributes(unfinished)
        found["sigmoids_"] = self.sigmoids
        found["fit_status_"] = int((found["stop_reason_"] != "tol").any())
        found["shape_fit_"] = X.shape if hasattr(X, "shape") else (n_samples(X),)
        found["class_weight_"] = est.class_weight_
        if callable(est.kernel):
            found["X_fit_"] = X
        elif sp.issparse(X):
            found["dual_coef_"] = read_only(type(X)(found["dual_coef_"]))
        return found

    def complaints(self) -> Iterator[str]:
        """Machines that did not reach the tolerance."""
        est = self.estimator
        limited = est.stop_reason_ == "max_iter"
        if limited.any() and est.max_iter < 0:
            yield (
                f"{limited.sum()} of {len(limited)} machines stopped after {est.n_iter_[limited].max()} steps with a "
                f"violation of {est.kkt_violation_[limited].max():.3g}, tol={est.tol:g}: the problem is badly scaled. "
                "Scale the features, lower C, or set max_iter to a larger limit."
            )
        elif limited.any():
            yield (
                f"Solver terminated early (max_iter={est.max_iter}).  Consider pre-processing your data with "
                "StandardScaler or MinMaxScaler."
            )
        endless = est.stop_reason_ == "unbounded"
        if endless.any():
            yield (
                f"{endless.sum()} of {len(endless)} machines stopped because their objective grows without end: with "
                f"C={est.C:g} the samples must be separable, and they are not, or by a tiny margin only. Lower C."
            )
        late = est.stop_reason_ == "precision"
        if late.any():
            yield (
                f"{late.sum()} of {len(late)} machines stopped because rounding errors ended the progress before the "
                f"violation reached tol={est.tol:g}: it is {est.kkt_violation_[late].max():.3g}. Raise tol, scale the "
                "features, or lower C."
            )
