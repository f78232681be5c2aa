"""Stochastic-gradient kernel machines: OL SVM, NORMA and Pegaz."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..base import params
from ..base.fit import run, with_callbacks
from ..base.kernel import KERNEL_RULES
from ..base.rows import LARGEST
from .ensemble import StreamEnsemble
from .stream import StreamClassifier, StreamTraining

#: Rules that can learn an intercept.
BIASED = ("olsvm", "olsvm-reg")


class KernelSGDClassifier(StreamClassifier):
    """Kernel classifier trained by stochastic gradients: OL SVM, NORMA or Pegaz.

    Examples are visited one by one in a fixed order, and a coefficient changes if the margin is violated. The number of
    steps is known in advance. A step without violation takes constant time; a step with a violation costs one column of
    the kernel matrix.

    =================  =======================================================================================
    `rule`             step, with step size ``eta`` that decreases with the number of steps t
    =================  =======================================================================================
    ``'olsvm'``        hinge loss without penalty, a perceptron with a margin. Fast; `C` is the size of the steps.
    ``'olsvm-reg'``    moves a coefficient towards `C` or 0, its bounds in the SVM without intercept.
    ``'norma'``        all coefficients shrink at every step: old samples lose influence.
    ``'pegaz'``        coefficients count violations. With ``learning_rate='inverse'`` it converges to the SVM without
                       intercept with penalty ``C / n_samples``.
    =================  =======================================================================================

    :meth:`partial_fit` learns from a stream and continues the count of steps. The model after any number of chunks has
    the same bits as the model after one call with all rows (for a numeric `gamma`). Results do not depend on `n_jobs`
    or `cache_size`.

    Parameters
    ----------
    rule : {'olsvm', 'olsvm-reg', 'norma', 'pegaz', 'norma-literal'}, default='olsvm'
        Algorithm. 'norma-literal' is List 1 of the paper as printed: the coefficient of the current sample does not
        shrink and is overwritten instead of increased. It differs from 'norma' after the first epoch.
    C : float, default=10.0
        Scale of the steps, and weight of the loss for rules with a penalty.
    n_epochs : int, default=5
        Passes over the data in :meth:`fit`, all in the same random order; :meth:`partial_fit` makes one pass.
    learning_rate : {'sqrt', 'inverse'}, default='sqrt'
        ``eta = C * sqrt(2 / t)``, as in the paper, or ``C / t``.
    decay_first : bool, default=False
        Whether 'norma' shrinks coefficients before it computes the margin. No effect on other rules. With
        ``learning_rate='inverse'`` 'norma' then equals 'pegaz'.
    fit_intercept : bool, default=False
        Whether to learn an intercept; 'olsvm' and 'olsvm-reg' only.
    average : bool, default=False
        Whether to predict with the mean of the coefficients over the last half of the steps of :meth:`fit` instead of
        the last coefficients. In a stream the mean is over the last 1/2 to 3/4 of all steps, after a `fit` up to 7/8.
    truncate : float, default=1e-12
        Every 1,024 steps, coefficients below `truncate` times the largest are dropped, which keeps 'norma' small. The
        error of decision values is at most ``truncated_`` times the largest kernel value (1 for 'rbf'), unless a margin
        that close to 1 changed a later step. Nothing is dropped if `average` is True.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets two sets of rows and returns the matrix of kernel values between them.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly' and 'sigmoid'. 'scale' is ``1 / (n_features * X.var())``, with a weighted variance
        if `sample_weight` is given; :meth:`partial_fit` uses X of its first call. 'auto' is ``1 / n_features``.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    class_weight : dict or 'balanced', default=None
        Factor on the steps for samples of a class; 'balanced' only in :meth:`fit`.
    cache_size : float, default=200
        Memory in MB for kernel columns.
    random_state : int, RandomState instance or None, default=None
        Order of the examples in :meth:`fit`.
    n_jobs : int, default=None
        Threads for training and prediction. None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all
        processors. Training uses one thread per machine.
    multi_class : {'ovo', 'ovr'}, default='ovo'
        One machine for each pair of classes, or for each class against the rest.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with more than two classes and ``multi_class='ovo'``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels known so far.
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, class after class. In :meth:`fit` they are rows of X; :meth:`partial_fit`
        continues to count.
    support_vectors_ : {ndarray, sparse array} of shape (n_support, n_features)
        Support vectors; empty with ``kernel='precomputed'``.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        Signed coefficients in LIBSVM's layout; one line per class with ``multi_class='ovr'`` and more than two classes.
    intercept_ : ndarray of shape (n_machines,)
        Intercepts.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features, with a linear kernel only.
    n_iter_ : ndarray of shape (n_machines,)
        Number of steps t.
    n_violations_ : ndarray of shape (n_machines,)
        Number of steps with a margin violation.
    truncated_ : ndarray of shape (n_machines,)
        Upper bound on the error of decision values caused by truncation, in units of the largest kernel value.
    n_samples_seen_ : int
        Number of samples seen so far.
    stop_reason_ : ndarray of str of shape (n_machines,)
        'pass' (all steps made), 'interrupted' (Ctrl-C) or 'stopped' (by a callback).
    admission_margin_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        ``y f(x)`` of the samples of the last call when they were first visited. With more than two classes: column k is
        the value of the machine for the class of the sample and class k, or of class k with ``multi_class='ovr'``. NaN
        if that machine has not visited the sample.
    n_kernel_evals_ : int
        Kernel values computed in training.
    history_ : dict of ndarray
        Columns 'machine', 'step', 'seconds', 'n_support', 'n_violations', 'kernel_evals'.
    decision_scale_ : ndarray of shape (n_machines,)
        Largest absolute decision value of each machine in training, to break ties between votes.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    LASVC : Online too; optimises its coefficients and has fewer support vectors.
    WorstViolatorSVC : Takes the worst violator instead of the next sample.
    sklearn.linear_model.SGDClassifier : Linear models.

    Notes
    -----
    The model stores its support vectors, which are rows of the training data.

    References
    ----------
    V. Kecman, G. Melki, "Fast online algorithms for support vector machines", IEEE SoutheastCon 2016.

    J. Kivinen, A. J. Smola, R. C. Williamson, "Online learning with kernels", IEEE Transactions on Signal Processing
    52(8), 2004.

    S. Shalev-Shwartz, Y. Singer, N. Srebro, "Pegasos: primal estimated sub-gradient solver for SVM", ICML 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hingeline import KernelSGDClassifier
    >>> X, y = make_moons(500, noise=0.15, random_state=0)
    >>> KernelSGDClassifier(gamma=2, random_state=0).fit(X, y).score(X, y) > 0.95
    True

    A stream, in two chunks:

    >>> clf = KernelSGDClassifier(rule='norma', C=10, gamma=2)
    >>> clf = clf.partial_fit(X[:200], y[:200], classes=[0, 1]).partial_fit(X[200:], y[200:])
    >>> clf.n_iter_.tolist()
    [500]
    """

    def __init__(
        self,
        *,
        rule: str = "olsvm",
        C: float = 10.0,
        n_epochs: int = 5,
        learning_rate: str = "sqrt",
        decay_first: bool = False,
        fit_intercept: bool = False,
        average: bool = False,
        truncate: float = 1e-12,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        cache_size: float = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        multi_class: str = "ovo",
        decision_function_shape: str = "ovr",
    ) -> None:
        self.rule = rule
        self.C = C
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.decay_first = decay_first
        self.fit_intercept = fit_intercept
        self.average = average
        self.truncate = truncate
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape

    _rules = {
        "rule": params.one_of("olsvm", "olsvm-reg", "norma", "norma-literal", "pegaz"),
        "C": params.real(least=1 / LARGEST, most=LARGEST),
        "n_epochs": params.integer(least=1),
        "learning_rate": params.one_of("sqrt", "inverse"),
        "decay_first": params.boolean(),
        "fit_intercept": params.boolean(),
        "average": params.boolean(),
        "truncate": params.real(least=0.0, below=1.0),
        **KERNEL_RULES,
        "class_weight": params.one_of("balanced") | params.mapping() | params.nothing(),
        "multi_class": params.one_of("ovo", "ovr"),
        "decision_function_shape": params.one_of("ovr", "ovo"),
    }

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSGDClassifier:
        """Learn from training data, in random order.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, float32 or float64 (kernel values are computed in the precision of X); with
            ``kernel='precomputed'`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the steps. Samples of weight zero are ignored.

        Returns
        -------
        KernelSGDClassifier
            The fitted estimator.
        """
        run(self, self._prepare, X, y, sample_weight)
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> SgdTraining:
        return SgdTraining(self, *self._validate_weighted(X, y, sample_weight))

    def _options(self) -> dict[str, Any]:
        """Options of the core."""
        if self.fit_intercept and self.rule not in BIASED:
            raise ValueError(f"fit_intercept=True needs rule='olsvm' or 'olsvm-reg'. Got rule={self.rule!r}.")
        return {
            "rule": self.rule,
            "C": float(self.C),
            "inverse": self.learning_rate == "inverse",
            "decay_first": bool(self.decay_first),
            "fit_intercept": bool(self.fit_intercept),
            "average": bool(self.average),
            "truncate": float(self.truncate),
            "cache_bytes": int(self.cache_size * 2**20),
        }

    def _ensemble(self, X: Any) -> StreamEnsemble:
        given_once = (self.multi_class == "ovr",)
        return StreamEnsemble("KernelSgd", given_once, self._options(), self._frozen(), X.dtype)

    def _frozen(self) -> dict[str, Any]:
        return {**super()._frozen(), "rule": self.rule, "average": self.average}

    def _boxes(self, weights: np.ndarray, dtype: Any) -> np.ndarray:
        """Factors on the steps."""
        largest = self.C * weights.max(initial=0.0)
        if largest > LARGEST:
            raise ValueError(
                f"C times the weights must not exceed {LARGEST:g}. Got {largest:g}; lower C or the weights."
            )
        return weights


class SgdTraining(StreamTraining):
    """One fit: epochs over the samples in one random order."""

    def __init__(self, estimator: KernelSGDClassifier, X: Any, codes: np.ndarray, weights: np.ndarray) -> None:
        super().__init__(estimator, estimator._ensemble(X), X)
        self.core = self.ensemble.core
        self.ensemble.know(estimator.classes_)
        self.y = estimator.classes_[codes]
        self.order = check_random_state(estimator.random_state).permutation(np.flatnonzero(weights)).astype(np.int64)
        self.in_order = np.full((len(self.order), len(estimator.classes_)), np.nan)
        self.core.begin(
            self.source,
            self.matrix,
            self.order,
            self.order,
            codes[self.order],
            weights[self.order],
            epochs=int(estimator.n_epochs),
        )
        self.n_steps = estimator.n_epochs * self.core.most_examples

    def advance(self, steps: int | None) -> bool:
        most = 2**62 if steps is None else steps
        return self.core.advance(self.source, most, margins=self.in_order, threads=self.threads)

    def end(self, unfinished: str) -> None:
        self.core.end()
        self.core.end_early(unfinished, len(self.y))
        self.margins = np.full((len(self.y), self.in_order.shape[1]), np.nan)
        self.margins[self.order] = self.in_order
