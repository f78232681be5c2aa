"""Stochastic-gradient kernel machines: OL SVM, NORMA and Pegaz."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import _core
from ..base import params
from ..base.duration import Work
from ..base.rows import LARGEST
from ..base.types import ClassWeight, Gamma, Kernel, RandomState
from .ensemble import StreamEnsemble
from .stream import STREAM_RULES, FitTraining, StreamClassifier

#: Name in the core of each value of `average`.
MEANS = {False: "none", True: "half", "all": "all"}


class KernelSGDClassifier(StreamClassifier):
    """Kernel classifier trained by stochastic gradients: OL SVM, NORMA or Pegaz.

    Examples are visited one by one in a fixed order, and a coefficient changes if the margin is violated. The number of
    steps is known in advance. A step without violation takes constant time; a step with a violation costs one column of
    the kernel matrix.

    =================  =======================================================================================
    `variant`          step, with step size ``eta`` that decreases with the number of steps t
    =================  =======================================================================================
    ``'olsvm'``        hinge loss without penalty, a perceptron with a margin. Fast; `C` is the size of the steps.
    ``'olsvm_reg'``    moves a coefficient towards `C` or 0, its bounds in the SVM without intercept.
    ``'norma'``        all coefficients shrink at every step: old samples lose influence.
    ``'pegaz'``        coefficients count violations. With ``learning_rate='inverse'`` it converges to the SVM with
                       penalty ``C / n_samples``.
    =================  =======================================================================================

    :meth:`partial_fit` learns from a stream and continues the count of steps. The model after any number of chunks has
    the same bits as the model after one call with all rows (for a numeric `gamma`). Results do not depend on `n_jobs`
    or `cache_size`.

    Parameters
    ----------
    variant : {'olsvm', 'olsvm_reg', 'olsvm_reg_literal', 'norma', 'norma_literal', 'pegaz'}, default='olsvm'
        Algorithm. 'norma_literal' is List 1 of the paper as printed: the coefficient of the current sample does not
        shrink and is overwritten instead of increased. It differs from 'norma' after the first epoch.
        'olsvm_reg_literal' is List 3a as printed: its first step overshoots the bound C by a factor of sqrt(2), which
        'olsvm_reg' does not.
    C : float, default=10.0
        Scale of the steps, and weight of the loss for variants with a penalty.
    n_epochs : int, default=5
        Passes over the data in :meth:`fit`, all in the same random order; :meth:`partial_fit` makes one pass.
    learning_rate : {'sqrt', 'inverse'}, default='sqrt'
        ``eta = C * sqrt(2 / t)``, as in the paper, or ``C / t``.
    decay_first : bool, default=False
        Whether 'norma' shrinks coefficients before it computes the margin. No effect on other variants. With
        ``learning_rate='inverse'`` 'norma' then equals 'pegaz'.
    fit_intercept : bool, default=False
        Whether to learn an intercept. It changes by ``eta`` at every violation and has no penalty: it does not shrink
        with the coefficients of 'norma' and 'pegaz'. Use it with a linear kernel, together with `average`.
    average : bool or 'all', default=False
        Coefficients and intercept for prediction. False: the last ones. True: their mean over the last half of the
        steps of :meth:`fit`; in a stream over the last 1/2 to 3/4 of all steps, after a `fit` up to 7/8. 'all': their
        mean over all steps, of :meth:`fit` and :meth:`partial_fit`.
    truncate : float, default=1e-12
        Every 1,024 steps, coefficients below `truncate` times the largest are dropped, which keeps 'norma' small. The
        error of decision values is at most ``truncated_`` times the largest kernel value (1 for 'rbf'), unless a margin
        that close to 1 changed a later step. Nothing is dropped with `average`.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets two sets of rows and returns the matrix of kernel values between them. Samples may then be
        anything, such as strings or graphs: it gets them as arrays of objects with one dimension.
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
        Order of the examples in :meth:`fit`. None means 0: two fits give the same model.
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
        Number of samples learnt so far. After a :meth:`fit` that ended early: number of samples visited, whose
        ``admission_margin_`` is not NaN.
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

    >>> clf = KernelSGDClassifier(variant='norma', C=10, gamma=2)
    >>> clf = clf.partial_fit(X[:200], y[:200], classes=[0, 1]).partial_fit(X[200:], y[200:])
    >>> clf.n_iter_.tolist()
    [500]
    """

    def __init__(
        self,
        *,
        variant: Literal["olsvm", "olsvm_reg", "olsvm_reg_literal", "norma", "norma_literal", "pegaz"] = "olsvm",
        C: float = 10.0,
        n_epochs: int = 5,
        learning_rate: Literal["sqrt", "inverse"] = "sqrt",
        decay_first: bool = False,
        fit_intercept: bool = False,
        average: bool | Literal["all"] = False,
        truncate: float = 1e-12,
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        cache_size: float = 200,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
    ) -> None:
        params.assign(self, locals())

    _rules = {
        "variant": params.one_of("olsvm", "olsvm_reg", "olsvm_reg_literal", "norma", "norma_literal", "pegaz"),
        "C": params.real(least=1 / LARGEST, most=LARGEST),
        "n_epochs": params.integer(least=1),
        "learning_rate": params.one_of("sqrt", "inverse"),
        "decay_first": params.boolean(),
        "fit_intercept": params.boolean(),
        "average": params.boolean() | params.one_of("all"),
        "truncate": params.real(least=0.0, below=1.0),
        **STREAM_RULES,
    }

    @property
    def _work(self) -> Work:
        return Work(values=0.25, updates=0.8 * self.n_epochs, grows=False)

    def _training(self, X: Any, classes: np.ndarray, codes: np.ndarray, boxes: np.ndarray) -> SgdTraining:
        return SgdTraining(self, X, classes, codes, boxes)

    def _options(self) -> dict[str, Any]:
        """Options of the core."""
        return {
            "variant": self.variant,
            "C": float(self.C),
            "inverse": self.learning_rate == "inverse",
            "decay_first": bool(self.decay_first),
            "fit_intercept": bool(self.fit_intercept),
            "average": MEANS[self.average],
            "truncate": float(self.truncate),
            "cache_bytes": int(self.cache_size * 2**20),
        }

    def _ensemble(self, X: Any) -> StreamEnsemble:
        given_once = (self.multi_class == "ovr",)
        return StreamEnsemble(
            "KernelSgd", given_once, self._options(), self._frozen_parameters(), self._row_dtype(X), self._frame
        )

    def _frozen_parameters(self) -> dict[str, Any]:
        return {**super()._frozen_parameters(), "variant": self.variant, "average": self.average}

    def _describe_loss(self, count: int) -> str:
        return "KernelSGDClassifier forgets what does not come again. Shuffle the samples, or use LASVC."

    def _boxes(self, weights: np.ndarray, dtype: Any) -> np.ndarray:
        """Factors on the steps."""
        largest = self.C * weights.max(initial=0.0)
        if largest > LARGEST:
            raise ValueError(
                f"C times the weights must not exceed {LARGEST:g}. Got {largest:g}; lower C or the weights."
            )
        return weights


class SgdTraining(FitTraining):
    """One fit: epochs over the samples in one random order."""

    def __init__(
        self, estimator: KernelSGDClassifier, X: Any, classes: np.ndarray, codes: np.ndarray, weights: np.ndarray
    ) -> None:
        super().__init__(estimator, X, classes, codes)
        self.order = params.generator(estimator.random_state).permutation(np.flatnonzero(weights)).astype(np.int64)
        self.in_order = np.full((len(self.order), len(classes)), np.nan)
        chunk = _core.Chunk(self.matrix, self.order, self.order, codes[self.order], weights[self.order])
        self.core.begin(self.source, chunk, epochs=int(estimator.n_epochs))
        self.n_steps = estimator.n_epochs * self.core.most_examples

    def advance(self, steps: int | None) -> bool:
        most = 2**62 if steps is None else steps
        return self.core.advance(self.source, most, margins=self.in_order, threads=self.threads)

    def has_learned(self) -> bool:
        return bool(np.isfinite(self.in_order).any())

    def end(self, unfinished: str) -> None:
        self.core.end()
        self.margins = np.full((len(self.y), self.in_order.shape[1]), np.nan)
        self.margins[self.order] = self.in_order
        self.core.end_early(unfinished, self.n_seen(unfinished))
