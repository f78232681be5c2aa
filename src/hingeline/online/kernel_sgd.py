"""Stochastic-gradient kernel machines: OL SVM, NORMA and Pegaz."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .. import _core
from ..base import params
from ..base.fit import all_or_nothing, run_in_slices, with_callbacks
from ..base.kernel import KERNEL_RULES
from ..base.labels import require_two_weighted
from ..base.rows import LARGEST
from .ensemble import StreamMachines
from .stream import StreamClassifier

#: Rules that know a bias.
BIASED = ("olsvm", "olsvm-reg")


class SgdMachines(StreamMachines):
    """Machines that learn by stochastic gradients."""

    core = _core.KernelSgd

    def begin(self, source: Any, X: _core.Matrix, *examples: np.ndarray, epochs: int) -> None:
        """Examples for :meth:`advance`: numbers of rows in X, ids, codes and weights."""
        self.model.begin(self._source(source), X, *examples, epochs=epochs)

    def most_examples(self, codes: np.ndarray) -> int:
        """Examples of the machine that has most of them."""
        return len(codes) if self.multi_class == "ovr" else int(np.sort(np.bincount(codes))[-2:].sum())

    def advance(self, source: Any, codes: np.ndarray, steps: int, **how: Any) -> bool:
        """So many steps of every machine; whether there are more."""
        with self.lock:
            try:
                more: bool = self.model.advance(self._source(source), codes, steps, **how)
                return more
            finally:
                self._read = {}

    def end(self) -> None:
        """Keep what the machines need."""
        self.model.end()
        self._read = {}

    def _attributes(self) -> dict[str, Any]:
        machines, union, rows = self._results()
        return {
            **self._common(machines, union, rows),
            "n_violations_": np.array([machine["violations"] for machine in machines]),
            "truncated_": np.array([machine["truncated"] for machine in machines]),
            "stop_reason_": np.array(
                [
                    "pass" if machine["reason"] == "pass" else self.unfinished or machine["reason"]
                    for machine in machines
                ]
            ),
        }


class KernelSGDClassifier(StreamClassifier):
    """Kernel classifier trained by stochastic gradients: OL SVM, NORMA or Pegaz.

    Examples are looked at one by one, in a fixed order, and a coefficient changes where the margin is violated. There
    is nothing to converge: the number of steps is known beforehand, a step without violation costs next to nothing, and
    one with a violation costs a column of the kernel matrix.

    =================  =======================================================================================
    `rule`             what it does with step size ``eta``, which shrinks with the number of steps t
    =================  =======================================================================================
    ``'olsvm'``        hinge loss alone, a perceptron with a margin. Fast; `C` only sets the size of steps.
    ``'olsvm-reg'``    moves a coefficient towards `C` or 0, which are where the SVM without bias has them.
    ``'norma'``        all coefficients shrink at every step: the model forgets.
    ``'pegaz'``        coefficients count violations. With ``learning_rate='inverse'``, in the limit, the SVM with
                       penalty ``C / n_samples``.
    =================  =======================================================================================

    :meth:`partial_fit` learns from a stream with a step counter that goes on: the model after any number of chunks
    equals, to the bit, the model after one call with all rows (for a numeric `gamma`). Results do not depend on
    `n_jobs` or `cache_size` either.

    Parameters
    ----------
    rule : {'olsvm', 'olsvm-reg', 'norma', 'pegaz', 'norma-literal'}, default='olsvm'
        Algorithm. 'norma-literal' is List 1 of the paper to the letter: the coefficient of the sample in turn does
        not shrink and is overwritten rather than added to. Later epochs differ.
    C : float, default=1.0
        Scale of the steps, and the weight of the loss where there is a penalty.
    n_epochs : int, default=5
        Passes over the data in :meth:`fit`, all in the same random order; :meth:`partial_fit` makes one.
    learning_rate : {'sqrt', 'inverse'}, default='sqrt'
        ``eta = C * sqrt(2 / t)``, as in the paper, or ``C / t``.
    decay_first : bool, default=False
        Whether 'norma' shrinks before it looks at the margin; of no effect on rules that do not shrink. With
        ``learning_rate='inverse'`` 'norma' is then 'pegaz'.
    bias : bool, default=False
        Whether to learn an intercept; 'olsvm' and 'olsvm-reg' only.
    average : bool, default=False
        Whether to predict with the mean of the coefficients over the last half of the steps of :meth:`fit` (in a
        stream: over the last half to three quarters of all steps, after a `fit` up to seven eighths) rather than with
        the last ones.
    truncate : float, default=1e-12
        Coefficients below this part of the largest are dropped every 1,024 steps, which keeps 'norma' small. What is
        dropped had a part in decision values of at most ``truncated_`` times the largest kernel value (1 for 'rbf');
        steps whose margin is that close to 1 may turn out differently. Not with `average`.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets two sets of rows and returns the matrix of kernel values between them.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly' and 'sigmoid'; 'scale' is ``1 / (n_features * X.var())``, 'auto' is
        ``1 / n_features``. :meth:`partial_fit` takes X of its first call for 'scale'.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    class_weight : dict or 'balanced', default=None
        Factor on the steps for samples of a class; 'balanced' only in :meth:`fit`.
    cache_size : float, default=200
        Megabytes for kernel columns.
    random_state : int, RandomState instance or None, default=None
        Order of the examples in :meth:`fit`.
    n_jobs : int, default=None
        Threads for training and prediction; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1
        all processors. Training uses one thread for each machine.
    multi_class : {'ovo', 'ovr'}, default='ovo'
        Machines for each pair of classes, or for each class against the rest.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with more than two classes and ``multi_class='ovo'``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels known so far.
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, class after class: rows of X in :meth:`fit`; in :meth:`partial_fit` samples
        are numbered on.
    support_vectors_ : {ndarray, sparse array} of shape (n_support, n_features)
        These rows; empty with ``kernel='precomputed'``.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        Signed coefficients in LIBSVM's layout; one line per class with ``multi_class='ovr'`` and more than two.
    intercept_ : ndarray of shape (n_machines,)
        Constants.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features, with a linear kernel only.
    n_iter_ : ndarray of shape (n_machines,)
        Steps, t.
    n_violations_ : ndarray of shape (n_machines,)
        Steps that found the margin violated.
    truncated_ : ndarray of shape (n_machines,)
        Sum of the absolute coefficients that were dropped, as far as they would have shrunk since: as long as no step
        hung on them, no decision value is off by more than this times the largest kernel value.
    n_samples_seen_ : int
        Samples given so far.
    stop_reason_ : ndarray of str of shape (n_machines,)
        'pass' (all steps made), 'interrupted' (Ctrl-C) or 'stopped' (by a callback).
    admission_margin_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        ``y f(x)`` of the samples of the last call when their turn first came. With more than two classes: in the
        machine that tells a sample from each class, or in the machine of each class with ``multi_class='ovr'``. NaN
        where a machine has not seen a sample.
    n_kernel_evals_ : int
        Kernel values computed in training.
    history_ : dict of ndarray
        Columns 'machine', 'step', 'seconds', 'n_support', 'violations', 'kernel_evals'.
    decision_scale_ : ndarray of shape (n_machines,)
        Largest decision value that each machine has seen in training; breaks ties between votes.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    LASVC : Online as well; optimises what it holds, and stays smaller.
    WorstViolatorSVC : Takes the worst violator instead of the next sample.
    sklearn.linear_model.SGDClassifier : Linear machines.

    Notes
    -----
    Support vectors are rows of the training data and are stored in the model.

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
        C: float = 1.0,
        n_epochs: int = 5,
        learning_rate: str = "sqrt",
        decay_first: bool = False,
        bias: bool = False,
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
        self.bias = bias
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
        "bias": params.boolean(),
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
            Factors on the steps. Samples of weight zero are left out.

        Returns
        -------
        KernelSGDClassifier
            The fitted estimator.
        """
        params.check(self, self._rules)
        with all_or_nothing(self) as keep:
            X, codes = self._validate_fit(X, y)
            weights = self._class_weights(codes)[codes] * self._sample_weights(sample_weight, X)
            require_two_weighted(codes, weights)
            weights = self._boxes(weights, X.dtype)
            self._gamma = self._resolve_gamma(X)
            self._require_moderate(X)
            machines = self._machines(X)
            machines.know(self.classes_)
            order = check_random_state(self.random_state).permutation(np.flatnonzero(weights)).astype(np.int64)
            matrix, of = _core.Matrix(X), codes[order]
            source, threads = self._source(matrix), self._training_threads()
            machines.begin(source, matrix, order, order, of, weights[order], epochs=int(self.n_epochs))
            machines.n_seen = len(codes)
            margins = np.full((len(order), len(machines.labels)), np.nan)

            more = True

            def advance(steps: int | None) -> bool:
                nonlocal more
                most = 2**62 if steps is None else steps
                more = machines.advance(source, of, most, margins=margins, threads=threads)
                return more

            def publish(unfinished: str) -> None:
                machines.end()
                machines.unfinished = unfinished
                everywhere = np.full((len(codes), margins.shape[1]), np.nan)
                everywhere[order] = margins
                self._publish(machines, everywhere)

            try:
                run_in_slices(
                    self,
                    X,
                    self.classes_[codes],
                    advance=advance,
                    most_steps=self.n_epochs * machines.most_examples(of),
                    attributes=lambda: {**machines.attributes(), "classes_": self.classes_, "_gamma": self._gamma},
                )
            except KeyboardInterrupt:
                publish("interrupted")
                keep()
                raise
            publish("stopped" if more else "")
        return self

    def _options(self) -> dict[str, Any]:
        """Arguments of the core's machines."""
        if self.bias and self.rule not in BIASED:
            raise ValueError(f"bias=True needs rule='olsvm' or 'olsvm-reg'. Got rule={self.rule!r}.")
        return {
            "rule": self.rule,
            "C": float(self.C),
            "inverse": self.learning_rate == "inverse",
            "decay_first": bool(self.decay_first),
            "bias": bool(self.bias),
            "average": bool(self.average),
            "truncate": float(self.truncate),
            "cache_bytes": int(self.cache_size * 2**20),
        }

    def _machines(self, X: Any) -> SgdMachines:
        """Machines that know nothing yet."""
        return SgdMachines(self._options(), self._frozen(), X.dtype)

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
