"""OLLAWV: on-line learning by worst violators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from .. import _core
from ..base import params
from ..base.classifier import CLASSIFIER_RULES, KernelClassifier
from ..base.duration import Work
from ..base.labels import pairs
from ..base.retained import RefusesToForget
from ..base.rows import LARGEST
from ..base.types import ClassWeight, Gamma, Kernel, RandomState
from .training import ClassTraining


class WorstViolatorSVC(RefusesToForget, KernelClassifier):
    """Kernel classifier trained by OLLAWV, one worst violator at a time.

    Each step takes the training sample with the smallest margin and makes it a support vector. Its coefficient is
    proportional to ``1 / sqrt(step)`` (or ``1 / step``) and never changes again. Training stops when all other samples
    reach the margin. There is no optimisation problem to converge: the cost is one column of the kernel matrix per
    support vector.

    Multi-class problems are split one-vs-one. Results do not depend on ``n_jobs`` or ``cache_size``, to the bit.

    Parameters
    ----------
    margin : float, default=0.1
        Margin that every sample outside the expansion must reach. A larger margin gives more support vectors. Useful
        values lie between 0.001 (sparsest) and 1. There is no parameter C: it would multiply steps and margin alike,
        and change no prediction.
    cap : float, default=1.0
        Limit of ``ceil(cap * n)`` steps for a class pair with n samples. The program of the authors uses 0.5.
    learning_rate : {'sqrt', 'inverse'}, default='sqrt'
        Size of a step: ``2 / sqrt(t)`` in step t, as in the experiments of the chapter, or ``1 / t``. With 'inverse'
        late steps are small: use a smaller `margin`, such as 0.001, or most samples become support vectors.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
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
        Factor on the steps taken for samples of a class; 'balanced' counts samples, not their weights.
    cache_size : float, default=200
        Memory in MB for kernel columns computed ahead, and for a compressed copy of X if that is faster.
    random_state : int, RandomState instance or None, default=None
        None: every class pair starts with its first sample, as in the program of the authors. Otherwise the first
        sample is drawn at random. The rest of the algorithm is deterministic.
    n_jobs : int, default=None
        Threads for training and prediction. None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all
        processors.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with more than two classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the training rows, class after class.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
        Support vectors; empty with ``kernel='precomputed'``.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        Signed coefficients in LIBSVM's layout.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts.
    coef_ : ndarray of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features, with a linear kernel only.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Steps of each class pair.
    worst_margin_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Smallest margin of the samples outside the expansion of each class pair.
    n_kernel_evals_ : int
        Kernel values computed in training.
    history_ : dict of ndarray
        Columns 'machine', 'step', 'seconds', 'n_support', 'worst_margin', 'kernel_evals'.
    stop_reason_ : ndarray of str of shape (n_classes * (n_classes - 1) / 2,)
        'margin' (margin reached), 'cap', 'exhausted' (every sample is a support vector), 'interrupted' (Ctrl-C) or
        'stopped' (by a callback).
    decision_scale_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Largest absolute decision value of each machine in training, to break ties between votes.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    sklearn.svm.SVC : The exact optimum of the soft-margin problem.

    Notes
    -----
    `sample_weight` is a factor on the steps. A sample of weight 2 makes one step of double size; two equal samples may
    make two steps. The model stores its support vectors, which are rows of the training data.

    References
    ----------
    G. A. Melki, "Novel online SVM using worst-violators", chapter 1 of "Novel support vector machines for diverse
    learning paradigms", dissertation, Virginia Commonwealth University, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import WorstViolatorSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = WorstViolatorSVC(gamma=0.5).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.stop_reason_.tolist()
    ['margin', 'margin', 'margin']
    """

    def __init__(
        self,
        *,
        margin: float = 0.1,
        cap: float = 1.0,
        learning_rate: Literal["sqrt", "inverse"] = "sqrt",
        fit_intercept: bool = True,
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        cache_size: float = 200,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
    ) -> None:
        params.assign(self, locals())

    #: Parameters of other SVMs that this one does not have, because they would have no effect.
    _without_effect = ("C",)
    _work = Work(values=0.3, updates=2.0, grows=False)
    _rules = {
        "margin": params.real(above=0.0, most=LARGEST),
        "cap": params.real(above=0.0, most=1.0),
        "learning_rate": params.one_of("sqrt", "inverse"),
        "fit_intercept": params.boolean(),
        **CLASSIFIER_RULES,
    }

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> OllawvTraining:
        X, self.classes_, codes = self._validate_fit(X, y)
        given = None if sample_weight is None else self._sample_weights(sample_weight, X)
        self._set_kernel(X, given)
        return self._training(X, codes, given)

    def _training(
        self, X: Any, codes: np.ndarray, sample_weight: np.ndarray | None, rows: np.ndarray | None = None
    ) -> OllawvTraining:
        weights = self._sample_weights(sample_weight, codes)
        return OllawvTraining(self, X, codes, weights, weighted=sample_weight is not None, rows=rows)

    def _first_rows(self, codes: np.ndarray) -> np.ndarray:
        """Row that each class pair starts with."""
        n_classes = len(self.classes_)
        first, second = pairs(n_classes)
        if self.random_state is None:
            lowest = np.array([np.argmax(codes == c) for c in range(n_classes)], dtype=np.int64)
            return np.minimum(lowest[first], lowest[second])
        rng = check_random_state(self.random_state)
        return np.array(
            [rng.choice(np.flatnonzero((codes == i) | (codes == j))) for i, j in zip(first, second, strict=True)],
            dtype=np.int64,
        )


class OllawvTraining(ClassTraining):
    """One fit of WorstViolatorSVC."""

    def __init__(
        self,
        estimator: WorstViolatorSVC,
        X: Any,
        codes: np.ndarray,
        weights: np.ndarray,
        *,
        weighted: bool,
        rows: np.ndarray | None = None,
    ) -> None:
        classes = estimator.classes_
        absent = np.bincount(codes, weights=weights > 0) == 0
        if absent.any():
            labels = classes[absent].tolist()
            raise ValueError(f"sample_weight is zero for all samples of the classes {labels}; leave out their rows.")
        super().__init__(estimator, X, codes, weights, rows)
        estimator.class_weight_ = estimator._class_weights(classes, np.bincount(codes))
        self.core = _core.Ollawv(
            codes,
            estimator.class_weight_,
            estimator._first_rows(np.where(weights > 0, codes, -1)),
            weights if weighted else np.empty(0),
            C=1.0,
            margin=float(estimator.margin),
            cap=float(estimator.cap),
            fit_intercept=bool(estimator.fit_intercept),
            cache_bytes=self.cache_bytes,
            inverse=estimator.learning_rate == "inverse",
        )
        self.n_steps = math.ceil(estimator.cap * self.largest_pair)

    def follow(self, value: float) -> None:
        self.core.raise_margin(value)

    def complaints(self) -> Iterator[str]:
        """Class pairs that were stopped by the cap."""
        est = self.estimator
        capped = np.flatnonzero(est.stop_reason_ == "cap")
        if len(capped):
            worst = est.worst_margin_[capped].min()
            yield (
                f"{len(capped)} of {len(est.stop_reason_)} class pairs used up cap={est.cap} before every sample "
                f"reached the margin (smallest {worst:.3g}, wanted {est.margin:.3g}). Raise cap, lower margin, "
                "or change gamma."
            )
