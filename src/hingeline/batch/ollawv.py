"""OLLAWV: on-line learning by worst violators."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .. import _core
from ..base import params
from ..base.classifier import KernelClassifier
from ..base.fit import all_or_nothing, run_in_slices, with_callbacks
from ..base.kernel import KERNEL_RULES
from ..base.labels import assemble, pairs
from ..base.rows import LARGEST


class WorstViolatorSVC(KernelClassifier):
    """Kernel classifier trained by OLLAWV, one worst violator at a time.

    Every step takes the training sample whose margin is worst, makes it a support vector with a coefficient that
    shrinks as one over the square root of the step, and never looks at it again. Training stops when all samples
    that are left have the margin. There is no quadratic programme to converge: the cost is one column of the kernel
    matrix for each support vector.

    Multi-class problems are split one-vs-one. Results do not depend on ``n_jobs`` or ``cache_size``, to the bit.

    Parameters
    ----------
    margin : float, default=0.1
        Margin that every sample outside the expansion has to reach, in units of `C`. Larger: more support
        vectors. Good values lie between 0.001 (sparsest) and 1.
    cap : float, default=1.0
        At most ``ceil(cap * n)`` steps for a class pair with n samples. The authors' program uses 0.5.
    bias : bool, default=True
        Whether to learn an intercept.
    C : float, default=1.0
        Scale of coefficients and decision values, for familiarity. It has **no influence on the classifier**:
        steps and margin both scale with it. Search over `margin` and `gamma` instead.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets two sets of rows and returns the matrix of kernel values between them; it is called on blocks
        of rows, never on the whole training set at once.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly' and 'sigmoid'; 'scale' is ``1 / (n_features * X.var())``, 'auto' is
        ``1 / n_features``.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    class_weight : dict or 'balanced', default=None
        Factor on the steps taken for samples of a class.
    cache_size : float, default=200
        Megabytes for kernel columns computed ahead and for a compressed copy of X where that speeds things up.
    random_state : int, RandomState instance or None, default=None
        None starts every class pair with its first sample, as the authors do; otherwise the first sample is drawn at
        random. The rest of the algorithm is deterministic.
    n_jobs : int, default=None
        Threads for training and prediction; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1
        all processors.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with more than two classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class.
    support_ : ndarray of shape (n_support,)
        Training rows that are support vectors, class after class.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
        These rows; empty with ``kernel='precomputed'``.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        Signed coefficients in LIBSVM's layout.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Constants.
    coef_ : ndarray of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features, with a linear kernel only.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Steps of each class pair.
    n_kernel_evals_ : int
        Kernel values computed in training.
    history_ : dict of ndarray
        Columns 'pair', 'step', 'seconds', 'n_support', 'violation' (worst margin), 'kernel_evals'.
    stop_reason_ : ndarray of str of shape (n_classes * (n_classes - 1) / 2,)
        'margin' (reached), 'cap', 'exhausted' (every sample is a support vector), 'interrupted' (Ctrl-C) or
        'stopped' (by a callback).
    decision_scale_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Largest decision value that each machine has seen in training; breaks ties between votes.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    sklearn.svm.SVC : The exact optimum of the soft-margin problem.

    Notes
    -----
    Support vectors are rows of the training data and are stored in the model.

    References
    ----------
    G. A. Melki, "Fast online training of L1 support vector machines", in "Novel support vector machines for diverse
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
        bias: bool = True,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        cache_size: float = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        decision_function_shape: str = "ovr",
    ) -> None:
        self.margin = margin
        self.cap = cap
        self.bias = bias
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.decision_function_shape = decision_function_shape

    _rules = {
        "margin": params.real(above=0.0, most=LARGEST),
        "cap": params.real(above=0.0, most=1.0),
        "bias": params.boolean(),
        "C": params.real(above=0.0, most=LARGEST),
        **KERNEL_RULES,
        "class_weight": params.one_of("balanced") | params.mapping() | params.nothing(),
        "decision_function_shape": params.one_of("ovr", "ovo"),
    }

    @with_callbacks
    def fit(self, X: Any, y: Any) -> WorstViolatorSVC:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, float32 or float64 (kernel values are computed in the precision of X); with
            ``kernel='precomputed'`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        WorstViolatorSVC
            The fitted estimator.
        """
        params.check(self, self._rules)
        with all_or_nothing(self) as keep:
            X, codes = self._validate_fit(X, y)
            self.class_weight_ = self._class_weights(codes)
            self._gamma = self._resolve_gamma(X)
            machine, advance = self._machine(X, codes)
            largest = int(np.sort(np.bincount(codes))[-2:].sum())
            try:
                run_in_slices(
                    self,
                    X,
                    self.classes_[codes],
                    advance=advance,
                    most_steps=math.ceil(self.cap * largest),
                    attributes=lambda: self._attributes(machine, X, codes),
                )
            except KeyboardInterrupt:
                self._publish(self._attributes(machine, X, codes, unfinished="interrupted"))
                keep()
                raise
            self._publish(self._attributes(machine, X, codes))
        self._warn_about_cap(machine)
        return self

    def _machine(self, X: Any, codes: np.ndarray) -> tuple[_core.Ollawv, Callable[[int | None], bool]]:
        """The class pairs, and a function that lets them learn."""
        n_classes, threads = len(self.classes_), self._threads()
        gram, cache_bytes = self._gram_within(X)
        machine = _core.Ollawv(
            codes,
            self.class_weight_,
            -1.0 if n_classes == 2 else 1.0,
            self._first_rows(codes, n_classes),
            C=float(self.C),
            margin=float(self.margin),
            cap=float(self.cap),
            bias=bool(self.bias),
            cache_bytes=cache_bytes,
        )
        return machine, self._advance(machine, X, gram, threads)

    def _first_rows(self, codes: np.ndarray, n_classes: int) -> np.ndarray:
        """Row that each class pair starts with."""
        first, second = pairs(n_classes)
        if self.random_state is None:
            lowest = np.array([np.argmax(codes == c) for c in range(n_classes)], dtype=np.int64)
            return np.minimum(lowest[first], lowest[second])
        rng = check_random_state(self.random_state)
        return np.array(
            [rng.choice(np.flatnonzero((codes == i) | (codes == j))) for i, j in zip(first, second, strict=True)],
            dtype=np.int64,
        )

    def _attributes(
        self, machine: _core.Ollawv, X: Any, codes: np.ndarray, unfinished: str = "stopped"
    ) -> dict[str, Any]:
        """Fitted attributes of the machine as it is now; `unfinished` is the reason of pairs that could go on."""
        results = [machine.result(k) for k in range(machine.n_pairs)]
        for result in results:
            result["code"] = codes[result["chosen"]]
        union = assemble(results, len(self.classes_))
        histories = [r["history"] for r in results]
        history = {key: np.concatenate([h[key] for h in histories]) for key in histories[0]}
        lengths = [len(h["step"]) for h in histories]
        return {
            "support_": union["support"],
            "n_support_": union["n_support"],
            "dual_coef_": union["dual_coef"],
            "support_vectors_": np.empty((0, 0)) if self.kernel == "precomputed" else X[union["support"]],
            "intercept_": np.array([r["intercept"] for r in results]),
            "decision_scale_": np.array([r["largest"] for r in results]),
            "n_iter_": np.array([len(r["chosen"]) for r in results], dtype=np.int32),
            "n_kernel_evals_": sum(int(r["kernel_evals"]) for r in results),
            "stop_reason_": np.array([r["reason"].replace("running", unfinished) for r in results]),
            "history_": {"pair": np.repeat(np.arange(len(results)), lengths), **history},
        }

    def _publish(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def _warn_about_cap(self, machine: _core.Ollawv) -> None:
        capped = np.flatnonzero(self.stop_reason_ == "cap")
        if not len(capped):
            return
        worst = min(machine.result(int(k))["violation"] for k in capped)
        warnings.warn(
            f"{len(capped)} of {len(self.stop_reason_)} class pairs used up cap={self.cap} before every sample had "
            f"the margin (worst {worst:.3g}, wanted {self.margin * self.C:.3g}). Raise cap, lower margin, or change "
            "gamma.",
            ConvergenceWarning,
            stacklevel=4,
        )
