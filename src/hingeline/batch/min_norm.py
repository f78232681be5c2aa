"""MNSVM: the L2-SVM as a minimal-norm problem."""

from __future__ import annotations

from typing import Any

from ..base import params
from .l2 import L2_RULES, L2Classifier


class MinNormSVC(L2Classifier):
    """Kernel classifier with squared hinge loss, as the minimal-norm point of a convex hull (MNSVM).

    Minimises ``1/2 (||w||**2 + b**2) + C/2 sum(max(0, 1 - y f(x))**2)``: the squared hinge loss with a penalised
    intercept. Up to a factor its solution is the point of smallest norm in the convex hull of the training samples,
    each multiplied by its label. Each step moves weight from a support vector to the sample with the largest KKT
    violation. The solution is unique; :class:`NNISDAClassifier` has the same.

    Multi-class problems are split one-vs-one, or solved all at once. Results do not depend on ``n_jobs`` or
    ``cache_size``, to the bit.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the squared errors; not comparable with C of :class:`sklearn.svm.SVC`.
    tol : float, default=1e-3
        Training stops when the largest KKT violation is at most `tol`, in units of the margin. The relative duality gap
        is then at most about ``2 * tol``.
    max_iter : int, default=-1
        Maximum number of steps for each machine; -1: no limit.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is penalised like the weights.
    step : {'imdm', 'mdm'}, default='imdm'
        Support vector that a step takes weight from: the one with the largest decrease of the norm (IMDM), or the one
        with the largest margin (MDM). IMDM makes fewer steps, each of which costs a little more.
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
    multi_class : {'ovo', 'all'}, default='ovo'
        With more than two classes: one machine for each pair of classes, or one machine for all classes, whose labels
        are the corners of a simplex.
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
    NNISDAClassifier : Same solution by steps on one sample; usually more steps.
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
    learning paradigms", dissertation, Virginia Commonwealth University, 2018, where it is compared with OLLAWV.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import MinNormSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = MinNormSVC(C=10, gamma=0.5).fit(X, y)
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
        step: str = "imdm",
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        cache_size: float = 200,
        n_jobs: int | None = None,
        multi_class: str = "ovo",
        decision_function_shape: str = "ovr",
        newton: bool = True,
        warm_start: bool = False,
    ) -> None:
        params.assign(self, locals())

    _rules = {
        **L2_RULES,
        "step": params.one_of("imdm", "mdm"),
        "multi_class": params.one_of("ovo", "all"),
    }

    def _rule(self) -> tuple[str, bool]:
        return self.step, self.multi_class == "all" and len(self.classes_) > 2
