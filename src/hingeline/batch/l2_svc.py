"""The L2-SVM: squared hinge loss and penalised intercept, solved exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base import params
from ..base.classifier import CLASSIFIER_RULES, KernelClassifier
from ..base.duration import Work
from ..base.fit import run, with_callbacks
from ..base.labels import multiply_weights, require_two
from ..base.retained import Retained, RetainsRows, read_ids, retain
from ..base.rows import LARGEST
from ..base.types import ClassWeight, Gamma, Kernel, RowIds, Rows
from .resume import read_coefficients, set_solution
from .start import read_start, set_start
from .training import ClassTraining

#: Steps per sample assumed for the length of progress bars.
STEPS_PER_SAMPLE = 4
#: Limits of the core (algo/l2): rows whose kernel values are held, in 16 bits by working sets, as a triangle in single
#: precision by Newton's method; rows of a Cholesky factor, landmarks of the approximation of low rank.
HELD_ROWS, FACTORED_ROWS, LANDMARKS = 8192, 4096, 512
ADVICE = {
    "max_iter": "Raise max_iter or tol, scale the features, or lower C.",
    "precision": "Progress ended because of rounding errors: raise tol, scale the features, or lower C.",
    "indefinite": "The kernel is not positive semi-definite on these samples, so the problem has no optimum: change "
    "the kernel, or lower C.",
}


class L2SVC(RetainsRows, KernelClassifier):
    """Kernel classifier with squared hinge loss and penalised intercept, solved exactly (L2-SVM).

    Minimises ``1/2 (||w||**2 + b**2) + C/2 sum(max(0, 1 - y f(x))**2)``: the squared hinge loss with a penalised
    intercept. The solution is unique; `solver` chooses the way to it. Up to a factor the solution is the point of
    smallest norm in the convex hull of the training samples, each multiplied by its label.

    Multi-class problems are split one-vs-one, or solved all at once. Results do not depend on ``n_jobs`` or
    ``cache_size``, to the bit.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the squared errors; not comparable with C of :class:`sklearn.svm.SVC`.
    tol : float, default=1e-3
        Training stops when the largest KKT violation is at most `tol`, in units of the margin. The relative duality gap
        is then at most about ``2 * tol``. With ``solver='nnisda'`` margins of support vectors that are too large are
        violations, too.
    max_iter : int, default=-1
        Maximum number of steps for each machine; -1: no limit for 'auto', max(10,000,000, 1000 * n_samples) for the
        other solvers.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is penalised like the weights.
    solver : {'auto', 'min_norm', 'min_norm_mdm', 'nnisda'}, default='auto'
        All have the same solution, up to `tol`. 'auto' changes two coefficients at a time on working sets of up to
        8,192 samples, whose kernel values are held; with fewer than 512 samples, a callable kernel, or all classes at
        once, it makes the steps of 'min_norm'. It uses Newton's method where that is faster. The others make the steps
        of the papers only, for comparisons of solvers.

        'min_norm' (MNSVM by IMDM): each step moves weight to the sample with the largest KKT violation, from the
        support vector with the largest decrease of the norm. 'min_norm_mdm' (MDM): from the support vector with the
        largest margin; a step costs a little less, but there are more of them. 'nnisda': each step takes the sample
        with the largest KKT violation and sets its coefficient to the maximiser of the dual given the others.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets two sets of samples and returns the matrix of kernel values between them. It is called for
        blocks of samples, never for the whole training set. Samples may then be anything, such as strings or graphs: it
        gets them as arrays of objects with one dimension.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly' and 'sigmoid'. 'scale' is ``1 / (n_features * X.var())``, with a weighted variance
        if `sample_weight` is given; 'auto' is ``1 / n_features``.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    class_weight : dict or 'balanced', default=None
        Factor on C for the samples of a class.
    cache_size : float, default=200
        Memory in MB for kernel columns, and for a compressed copy of X if that is faster. Besides it a machine holds up
        to 150 MB with ``solver='auto'``, which do not depend on it.
    n_jobs : int, default=None
        Threads for class pairs and for prediction. None means 1 (unless in a :obj:`joblib.parallel_backend` context),
        -1 all processors.
    multi_class : {'ovo', 'all'}, default='ovo'
        With more than two classes: one machine for each pair of classes, or one machine for all classes, whose labels
        are the corners of a simplex ('all'; not with ``solver='nnisda'``).
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with more than two classes.
    warm_start : bool, default=False
        Whether :meth:`fit` starts from the last solution, if it has the same samples and labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the training rows, class after class.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
        Support vectors; empty with ``kernel='precomputed'``.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support) or (n_classes, n_support)
        Signed coefficients in LIBSVM's layout; with ``multi_class='all'`` and more than two classes one line per class.
    intercept_ : ndarray of shape (n_decisions,)
        Intercepts: sums of the signed coefficients, or zeros if `fit_intercept` is False.
    coef_ : ndarray of shape (n_decisions, n_features)
        Weights of the features, with a linear kernel only.
    n_iter_ : ndarray of shape (n_machines,)
        Steps of each machine.
    dual_objective_ : ndarray of shape (n_machines,)
        Dual objective of each machine.
    duality_gap_ : ndarray of shape (n_machines,)
        Primal objective minus dual objective, an upper bound of the distance from the optimum. A difference between
        -1e-12 times the dual objective and 0 is a rounding error and given as 0. NaN if training was interrupted before
        it was computed.
    kkt_violation_ : ndarray of shape (n_machines,)
        Largest KKT violation, in units of the margin. NaN if training was interrupted before it was computed.
    n_kernel_evals_ : int
        Kernel values computed in training.
    history_ : dict of ndarray
        Columns 'machine', 'step', 'seconds', 'n_support', 'kkt_violation', 'dual_objective', 'kernel_evals'.
    stop_reason_ : ndarray of str of shape (n_machines,)
        'tol' (tolerance reached), 'max_iter', 'precision' (no progress because of rounding errors), 'indefinite' (the
        kernel is not positive semi-definite), 'interrupted' (Ctrl-C) or 'stopped' (by a callback).
    decision_scale_ : ndarray of shape (n_decisions,)
        Largest absolute decision value of each machine in training, to break ties between votes.
    shape_fit_ : tuple of int
        Shape of X in fit.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    LinearSVC : Same problem with a linear kernel, for many samples.
    WorstViolatorSVC : One step per support vector, no optimisation problem to converge.
    sklearn.svm.SVC : Hinge loss, intercept not penalised.

    Notes
    -----
    The model stores its support vectors, which are rows of the training data.

    References
    ----------
    R. Strack, V. Kecman, "Minimal norm support vector machines for large classification tasks", ICMLA 2012.

    G. A. Melki, "Novel online SVM using worst-violators", chapter 1 of "Novel support vector machines for diverse
    learning paradigms", dissertation, Virginia Commonwealth University, 2018, where MNSVM and NNISDA are compared with
    OLLAWV.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import L2SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = L2SVC(C=10, gamma=0.5).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.stop_reason_.tolist()
    ['tol', 'tol', 'tol']
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        fit_intercept: bool = True,
        solver: Literal["auto", "min_norm", "min_norm_mdm", "nnisda"] = "auto",
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        cache_size: float = 200,
        n_jobs: int | None = None,
        multi_class: Literal["ovo", "all"] = "ovo",
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        warm_start: bool = False,
    ) -> None:
        params.assign(self, locals())

    _work = Work(values=1.0, updates=10.0)
    _rules = {
        "C": params.real(above=0.0, most=LARGEST),
        "tol": params.real(least=0.0),
        "max_iter": params.integer(least=-1),
        "fit_intercept": params.boolean(),
        "solver": params.one_of("auto", "min_norm", "min_norm_mdm", "nnisda"),
        **CLASSIFIER_RULES,
        "multi_class": params.one_of("ovo", "all"),
        "warm_start": params.boolean(),
    }

    @with_callbacks
    def fit(
        self,
        X: Rows,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        dual_init: KernelClassifier | None = None,
        ids: RowIds = None,
    ) -> Self:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, float32 or float64 (kernel values are computed in the precision of X); with
            ``kernel='precomputed'`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C. Samples of weight zero are left out.
        dual_init : L2SVC, default=None
            Fitted estimator for the same samples and labels whose coefficients are the starting point. Its solver, C
            and kernel may differ.
        ids : array-like of shape (n_samples,) or str, default=None
            Id of each sample, an integer, string or ``uuid.UUID``; several samples may have one id. 'index' takes the
            index of a DataFrame, another string its column of this name. With ids the samples are kept, for
            :meth:`forget` and :meth:`add`.

        Returns
        -------
        L2SVC
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, y, sample_weight, dual_init, ids)
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any, dual_init: Any, ids: Any) -> L2Training:
        start = read_start(self, dual_init)
        X, names = read_ids(X, ids)
        X, self.classes_, codes = self._validate_fit(X, y)
        X = retain(self, X, self.classes_[codes], sample_weight, names)
        given = None if sample_weight is None else self._sample_weights(sample_weight, X)
        self._set_kernel(X, given)
        self._require_moderate(X)
        training = self._training(X, codes, given)
        set_start(training.core, start, codes, self.classes_, wanted=dual_init is not None)
        return training

    def _validate_more(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        return self._validate_rows(X, y, reset=False)

    def _resume(self, before: Retained, kept: Retained, rows: np.ndarray) -> L2Training:
        classes = self.classes_
        sizes = read_coefficients(self, before.y)
        self.classes_, codes = np.unique(kept.y, return_inverse=True)
        require_two(self.classes_)
        self._set_kernel(kept.X, kept.weight)
        self._require_moderate(kept.X)
        training = self._training(kept.X, codes.astype(np.int64), kept.weight)
        if np.array_equal(classes, self.classes_):
            start = np.where(rows >= 0, sizes[:, rows], 0.0)
            set_solution(training.core, start, None)
        return training

    def _training(
        self, X: Any, codes: np.ndarray, sample_weight: np.ndarray | None, rows: np.ndarray | None = None
    ) -> L2Training:
        class_weight = self._class_weights(self.classes_, np.bincount(codes))
        weights = multiply_weights(codes, class_weight, self._sample_weights(sample_weight, codes))
        return L2Training(self, X, codes, weights, rows)

    def _work_bytes(self, n: int) -> int:
        """Most memory of a machine with n samples besides the cache: kernel values that Newton's method holds."""
        if self.solver != "auto":
            return 0
        held, factored = min(n, HELD_ROWS), min(n, FACTORED_ROWS)
        return 2 * held**2 + 4 * factored**2 + 8 * LANDMARKS * n


class L2Training(ClassTraining):
    """One fit of L2SVC; `weights` are factors on C."""

    def __init__(
        self, estimator: L2SVC, X: Any, codes: np.ndarray, weights: np.ndarray, rows: np.ndarray | None
    ) -> None:
        together = estimator.multi_class == "all"
        if together and estimator.solver == "nnisda":
            raise ValueError(
                "multi_class='all' is not available with solver='nnisda'. Use multi_class='ovo' or another solver."
            )
        penalties = estimator.C * weights
        some = penalties[weights > 0]
        if some.max() > LARGEST or some.min() < 1 / LARGEST:
            raise ValueError(
                f"C times the weights must lie between {1 / LARGEST:g} and {LARGEST:g}. Got {some.min():g} to "
                f"{some.max():g}; change C or the weights."
            )
        super().__init__(estimator, X, codes, rows=rows)
        n_classes = len(estimator.classes_)
        self.core = _core.L2Machines(
            estimator.solver,
            together and n_classes > 2,
            codes,
            penalties,
            n_classes,
            fit_intercept=bool(estimator.fit_intercept),
            tol=float(estimator.tol),
            max_iter=min(int(estimator.max_iter), 2**62),
            cache_bytes=self.cache_bytes,
        )
        self.n_steps = estimator.max_iter if estimator.max_iter >= 0 else STEPS_PER_SAMPLE * self.largest_pair

    def attributes(self, unfinished: str) -> dict[str, Any]:
        return {**super().attributes(unfinished), "shape_fit_": self.X.shape}

    def complaints(self) -> Iterator[str]:
        """Machines that did not reach the tolerance."""
        est = self.estimator
        for reason, advice in ADVICE.items():
            late = np.flatnonzero(est.stop_reason_ == reason)
            if len(late):
                yield (
                    f"{len(late)} of {len(est.stop_reason_)} machines stopped ({reason}) before the largest KKT "
                    f"violation reached tol={est.tol:g}: it is {est.kkt_violation_[late].max():.3g}. {advice}"
                    + (" solver='auto' needs fewer steps." if reason == "max_iter" and est.solver != "auto" else "")
                )
