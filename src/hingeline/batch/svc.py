"""Soft-margin SVM, solved exactly: the drop-in for :class:`sklearn.svm.SVC`."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..base import params
from ..base.classifier import CLASSIFIER_RULES, KernelClassifier
from ..base.duration import Work
from ..base.fit import run, with_callbacks
from ..base.labels import choose_classes, multiply_weights, n_pairs, pairs, require_two
from ..base.platt import wants_probability
from ..base.retained import Retained, RetainsRows, read_ids, retain
from ..base.types import ClassWeight, Device, Gamma, Kernel, RandomState, RowIds, Rows
from ..base.warn import warn
from .card import open_card
from .engine import ENGINE_RULES, PENALTY, EngineEstimator, EngineTraining, keep_slopes
from .platt import SvcProbabilities, shuffle_pairs
from .resume import Solution, read_coefficients, set_solution
from .start import read_start, set_start

SVC_RULES = {
    **CLASSIFIER_RULES,
    **ENGINE_RULES,
    "probability": params.boolean() | params.one_of("deprecated"),
    "break_ties": params.boolean(),
}


class SvcTraining(EngineTraining):
    """One fit of a classifier.

    Parameters
    ----------
    estimator : PairsEstimator
        Estimator that is being fitted.
    X : object
        Checked rows, a matrix of kernel values, or samples for a callable kernel.
    codes : ndarray
        Class of each row.
    weights : ndarray
        Weight of each row.
    factor : float
        Factor on the weights, which makes them bounds of the coefficients.
    more : dict
        Other parameters of the machines.
    rows : ndarray, default=None
        X is a matrix of kernel values, and these are its rows that are trained on; None: all.
    """

    settings = (*EngineTraining.settings, "classes_", "class_weight_")
    requirement = "the samples must be separable, and they are not"

    def __init__(
        self,
        estimator: PairsEstimator,
        X: Any,
        codes: np.ndarray,
        weights: np.ndarray,
        factor: float,
        more: dict[str, float],
        rows: np.ndarray | None = None,
    ) -> None:
        super().__init__(estimator, X, estimator.classes_[codes], weights, factor, rows)
        self.codes = codes
        self.more = {"sigmoids_": np.empty((2, 0))}
        self.limits |= more
        self.core = _core.Svc(codes, self.bounds, len(estimator.classes_), single=self.single, **self.limits)
        self.card = open_card(self)

    @property
    def largest(self) -> int:
        return int(np.sort(np.bincount(self.codes[self.weights > 0]))[-2:].sum())

    def end(self, unfinished: str) -> None:
        keep_slopes(self, unfinished)
        est = self.estimator
        if not wants_probability(est) or unfinished == "interrupted":
            return
        rows, first, sizes = shuffle_pairs(self.codes, self.weights > 0, len(est.classes_), est.random_state)
        self.more["sigmoids_"] = _core.svc_sigmoids(
            self.values,
            self.bounds,
            rows,
            first,
            sizes,
            single_rows=self.single_rows,
            threads=self.threads,
            **self.limits,
        )


class PairsEstimator(RetainsRows, SvcProbabilities, EngineEstimator, KernelClassifier):
    """Base of the classifiers that the block solver trains: a machine for each pair of classes."""

    _scales_votes = False
    #: Class of a fit.
    _one_fit = SvcTraining

    # ---- training ------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Rows,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        dual_init: ClassifierMixin | None = None,
        ids: RowIds = None,
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
            Factors on the bounds of the coefficients. Samples whose weight is zero or negative are left out.
        dual_init : SVC or NuSVC, default=None
            Fitted estimator for the same samples and labels whose coefficients are the starting point, of hingeline
            or of scikit-learn. Its parameters may differ.
        ids : array-like of shape (n_samples,) or str, default=None
            Id of each sample, an integer, string or ``uuid.UUID``; several samples may have one id. 'index' takes the
            index of a DataFrame, another string its column of this name. With ids the samples are kept, for
            :meth:`forget` and :meth:`add`.

        Returns
        -------
        object
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, y, sample_weight, dual_init, ids)
        if self.verbose:
            self._print_machines()
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any, dual_init: Any, ids: Any) -> SvcTraining:
        start = read_start(self, dual_init)
        if self.probability != "deprecated":
            name = type(self).__name__
            warn(
                "The `probability` parameter was deprecated in scikit-learn 1.9 and will be removed in version 1.11. "
                f"Use `CalibratedClassifierCV({name}(), ensemble=False)` instead of `{name}(probability=True)`",
                FutureWarning,
            )
        X, names = read_ids(X, ids)
        X, self.classes_, codes = self._validate_fit(X, y)
        X = retain(self, X, self.classes_[codes], sample_weight, names)
        self._set_kernel(X)
        training = self._training(X, codes, sample_weight)
        set_start(training.core, start, codes, self.classes_, wanted=dual_init is not None)
        return training

    def _training(self, X: Any, codes: np.ndarray, sample_weight: Any, rows: np.ndarray | None = None) -> SvcTraining:
        self.class_weight_ = self._class_weights(self.classes_, np.bincount(codes))
        problem = self._problem(codes, self._sample_weights(sample_weight, codes))
        return self._one_fit(self, X, codes, *problem, rows=rows)

    def _validate_more(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        return self._validate_rows(X, y, reset=False)

    def _resume(self, before: Retained, kept: Retained, rows: np.ndarray) -> SvcTraining:
        classes = self.classes_
        sizes = read_coefficients(self, before.y)
        solution = Solution(self, before, sizes * self._terms(before.y, classes))
        self.classes_, codes = np.unique(kept.y, return_inverse=True)
        require_two(self.classes_)
        self._set_kernel(kept.X)
        training = self._training(kept.X, codes.astype(np.int64), kept.weight)
        if np.array_equal(classes, self.classes_):
            p = self._terms(kept.y, classes)
            beta, slopes = solution.move(kept.X, rows, p, (p != 0) & (training.bounds > 0))
            set_solution(training.core, np.abs(beta), slopes)
        return training

    @staticmethod
    def _terms(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Linear term of each row in the machines: the sign of its class, zero in those of other classes."""
        first = -1.0 if len(classes) == 2 else 1.0
        terms = np.zeros((n_pairs(len(classes)), len(y)))
        for machine, (i, j) in enumerate(zip(*pairs(len(classes)), strict=True)):
            terms[machine, y == classes[i]], terms[machine, y == classes[j]] = first, -first
        return terms

    def _problem(self, codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float, dict[str, float]]:
        """Weights in training (zero: left out), their factor in the bounds of the coefficients, and more parameters."""
        raise NotImplementedError

    # ---- decisions -----------------------------------------------------------------------------------

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


class SVC(PairsEstimator):
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
    device : {'cpu', 'cuda', 'auto'}, default='cpu'
        Where the model is trained. 'cuda' takes an NVIDIA card and needs CuPy, ``pip install "hingeline[cuda]"``;
        'auto' takes it where it is usable and the problem large. The model is the same either way.

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
        device: Device = "cpu",
    ) -> None:
        params.assign(self, locals())

    _work = Work(values=0.5, updates=1.5)
    _rules = {"C": PENALTY, **SVC_RULES}

    def _problem(self, codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float, dict[str, float]]:
        return multiply_weights(codes, self.class_weight_, weights), self.C, {}
