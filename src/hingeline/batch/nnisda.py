"""NNISDA: coordinate ascent for the L2-SVM."""

from __future__ import annotations

from typing import Any

from ..base import params
from .l2 import L2Classifier


class NNISDAClassifier(L2Classifier):
    """Kernel classifier with squared hinge loss, trained one sample at a time (NNISDA).

    Minimises ``1/2 (||w||**2 + b**2) + C/2 sum(max(0, 1 - y f(x))**2)``: the squared hinge loss with a penalised
    intercept. The only constraint of its dual is that coefficients are not negative, so a step can change a single
    sample. Each step takes the sample with the largest KKT violation and sets its coefficient to the maximiser of the
    dual given the others. The solution is unique; :class:`MinNormSVC` has the same.

    Multi-class problems are split one-vs-one. Results do not depend on ``n_jobs`` or ``cache_size``, to the bit.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the squared errors; not comparable with C of :class:`sklearn.svm.SVC`.
    tol : float, default=1e-3
        Training stops when the largest KKT violation is at most `tol`, in units of the margin: ``y f(x)`` of a support
        vector differs from its target by at most `tol`.
    max_iter : int, default=-1
        Maximum number of steps for each class pair; -1: no limit.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is penalised like the weights.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets two sets of rows and returns the matrix of kernel values between them. It is called for blocks
        of rows, never for the whole training set.
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
        Memory in MB for kernel columns, and for a compressed copy of X if that is faster.
    n_jobs : int, default=None
        Threads for class pairs and for prediction. None means 1 (unless in a :obj:`joblib.parallel_backend` context),
        -1 all processors.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with more than two classes.
    newton : bool, default=True
        Whether to use Newton's method where it is faster: after a few steps with 4,096 samples or more,
        and between steps that make little progress. False: only the steps of the paper, for comparisons of solvers.
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
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        Signed coefficients in LIBSVM's layout.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts: sums of the signed coefficients, or zeros if `fit_intercept` is False.
    coef_ : ndarray of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features, with a linear kernel only.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Steps of each class pair.
    dual_objective_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Dual objective of each class pair.
    duality_gap_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Primal objective minus dual objective, an upper bound of the distance from the optimum. A difference between
        -1e-12 times the dual objective and 0 is a rounding error and given as 0. NaN if training was interrupted before
        it was computed.
    kkt_violation_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Largest KKT violation, in units of the margin. NaN if training was interrupted before it was computed.
    n_kernel_evals_ : int
        Kernel values computed in training.
    history_ : dict of ndarray
        Columns 'machine', 'step', 'seconds', 'n_support', 'kkt_violation', 'dual_objective', 'kernel_evals'.
    stop_reason_ : ndarray of str of shape (n_classes * (n_classes - 1) / 2,)
        'tol' (tolerance reached), 'max_iter', 'precision' (no progress because of rounding errors), 'indefinite' (the
        kernel is not positive semi-definite), 'interrupted' (Ctrl-C) or 'stopped' (by a callback).
    decision_scale_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Largest absolute decision value of each machine in training, to break ties between votes.
    shape_fit_ : tuple of int
        Shape of X in fit.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    MinNormSVC : Same solution by steps on two samples; usually fewer steps.
    LinearSVC : Same problem with a linear kernel, for many samples.
    WorstViolatorSVC : One step per support vector, no optimisation problem to converge.
    sklearn.svm.SVC : Hinge loss, intercept not penalised.

    Notes
    -----
    The model stores its support vectors, which are rows of the training data.

    References
    ----------
    G. A. Melki, "Novel online SVM using worst-violators", chapter 1 of "Novel support vector machines for diverse
    learning paradigms", dissertation, Virginia Commonwealth University, 2018, where it is compared with OLLAWV.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import NNISDAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = NNISDAClassifier(C=10, gamma=0.5).fit(X, y)
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
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        cache_size: float = 200,
        n_jobs: int | None = None,
        decision_function_shape: str = "ovr",
        newton: bool = True,
        warm_start: bool = False,
    ) -> None:
        params.assign(self, locals())

    def _rule(self) -> tuple[str, bool]:
        return "nnisda", False
