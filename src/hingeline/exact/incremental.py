"""Exact incremental and decremental SVM: add a point, forget a point, and the model is the batch optimum."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..base import params
from ..base.classifier import KernelClassifier
from ..base.fit import all_or_nothing, with_callbacks
from ..base.labels import require_two_weighted
from ..base.progress import progress as _progress
from ..base.rows import LARGEST
from .ensemble import INCREMENTAL_RULES, IncrementalEstimator, IncrementalMachines

#: Points whose leave-one-out values are computed between two reports of progress.
TOGETHER = 16


class IncrementalSVC(IncrementalEstimator, KernelClassifier):
    """Kernel SVM that learns and forgets exactly.

    After every call the model is the optimum of the soft-margin problem over the points it holds, the one that
    :class:`sklearn.svm.SVC` would find from scratch: points may be added (:meth:`add`, :meth:`partial_fit`), removed
    (:meth:`forget`), and C may change (:meth:`set_C`), in any order. With more than two classes there is one machine
    per class against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. After the first call it is changed by :meth:`set_C`.
    kernel : {'linear', 'poly', 'rbf'} or callable, default='rbf'
        A positive semi-definite kernel. A callable gets two sets of rows and returns the matrix of kernel values
        between them. For a matrix that exists already, give rows that hold their own number and a callable that looks
        values up.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf' and 'poly'; 'scale' is ``1 / (n_features * X.var())`` for X of the first call, 'auto' is
        ``1 / n_features``. A number leaves no trace of the first rows in the kernel.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly', not negative.
    class_weight : dict or 'balanced', default=None
        Factor on C for the samples of a class; 'balanced' only in :meth:`fit`.
    window : int, default=None
        Most points held; when another one comes, one goes by `window_rule` (several if the window has become smaller).
    window_rule : {'relevance', 'oldest'}, default='relevance'
        Which point goes: the one with the smallest coefficient (the smallest sum of absolute values over the
        machines; of several the one furthest beyond the margin), or the one that came first.
    memory_limit : float, default=1024
        Megabytes for kernel rows and inverses. Rows of the margin set must fit; other rows are kept as far as they do.
    n_jobs : int, default=None
        Threads; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels known so far.
    ids_ : list
        Ids of the points held, in the order in which they came.
    n_samples_, n_samples_seen_ : int
        Points held, and points that have come so far.
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, class after class; points are numbered as they come.
    support_vectors_ : {ndarray, sparse array} of shape (n_support, n_features)
        These rows.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Signed coefficients, a line per machine.
    intercept_ : ndarray of shape (n_machines,)
        Constants.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features, with a linear kernel only.
    n_iter_ : ndarray of shape (n_machines,)
        Minor steps: changes of direction on the way from optimum to optimum.
    n_margin_ : ndarray of shape (n_machines,)
        Points exactly on the margin.
    n_refinements_, n_corrections_, n_rebuilds_, n_restarts_ : ndarray of shape (n_machines,)
        How often the safety net was used: directions refined, coefficients corrected by a Newton step, inverses
        computed anew, machines learnt again from scratch.
    condition_ : ndarray of shape (n_machines,)
        Condition number of the margin system.
    memory_ : int
        Bytes of kernel rows and inverses.
    profile_ : dict
        Seconds spent on kernel values, sensitivities, gradients, searches, inverses and checks.
    bytes_touched_ : float
        Bytes of kernel rows that were read to find how gradients change.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    IncrementalOneClassSVM : The same for outliers.
    LASVC : Approximate, for streams that are too long to be held.

    Notes
    -----
    All arithmetic is in double precision. Time for a point that becomes a support vector grows with the number of
    points held times the size of the margin set; some ten thousand points are practical. All rows are stored in the
    model.

    References
    ----------
    P. Laskov, C. Gehl, S. Krueger, K.-R. Mueller, "Incremental support vector learning: analysis, implementation and
    applications", JMLR 7, 2006.

    G. Cauwenberghs, T. Poggio, "Incremental and decremental support vector machine learning", NIPS 13, 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hingeline import IncrementalSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = IncrementalSVC(C=10, gamma=2.0).fit(X[:150], y[:150])
    >>> ids = clf.add(X[150:], y[150:])
    >>> clf.forget(ids[:10]).n_samples_
    190
    >>> clf.kkt_violation() < 1e-9
    True

    Leave-one-out errors, exactly:

    >>> clf.leave_one_out().n_errors < 15
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        window: int | None = None,
        window_rule: str = "relevance",
        memory_limit: float = 1024,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.window = window
        self.window_rule = window_rule
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    _rules = {
        "C": params.real(above=0.0, most=LARGEST),
        **INCREMENTAL_RULES,
        "class_weight": params.one_of("balanced") | params.mapping() | params.nothing(),
    }

    # ---- learning ------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> IncrementalSVC:
        """Learn from training data, row after row.

        Ctrl-C ends training early and leaves the optimum of the rows learnt so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C.

        Returns
        -------
        IncrementalSVC
            The fitted estimator.
        """
        params.check(self, self._rules)
        with all_or_nothing(self) as keep:
            X, codes = self._validate_fit(X, y)
            weights = self._class_weights(codes)[codes] * self._sample_weights(sample_weight, X)
            require_two_weighted(codes, weights)
            self._require_bounds(weights, self.C)
            self._gamma = self._resolve_gamma(X)
            self._require_moderate(X)
            machines = self._machines(X)
            machines.know(self.classes_)
            self._fit_rows(machines, X, self.classes_[codes], codes, weights, keep)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> IncrementalSVC:
        """Add points, in the order given.

        An error leaves the model as it was. Ctrl-C leaves the optimum of the points learnt so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels. One that was not known before is accepted from then on.
        classes : array-like, default=None
            Labels that may come; needed in the first call, and enough if they are those that are known by then.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C.

        Returns
        -------
        IncrementalSVC
            The estimator.
        """
        if "_online" not in vars(self) and classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: the labels known by then; others may follow."
            )
        self._add(X, y, None, classes, sample_weight)
        return self

    def add(self, X: Any, y: Any, ids: Any = None, sample_weight: Any = None) -> list[Any]:
        """Add points, in the order given, and say under which ids they can be forgotten.

        An error leaves the model as it was. Ctrl-C leaves the optimum of the points learnt so far (see ``ids_``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels. One that was not known before is accepted from then on.
        ids : sequence of int or str, default=None
            One for each sample. Several samples may carry the same id, such as all rows of one person. None: samples
            are numbered as they come. Give ids for all samples of a model or for none.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C.

        Returns
        -------
        list
            The ids.
        """
        return self._add(X, y, ids, None, sample_weight)

    def _add(self, X: Any, y: Any, ids: Any, classes: Any, sample_weight: Any) -> list[Any]:
        params.check(self, self._rules)
        self._require_no_balance()
        with all_or_nothing(self) as keep:
            first = "_online" not in vars(self)
            X, y = self._validate_rows(X, y, reset=first)
            weights = self._sample_weights(sample_weight, X, all_zero=True) * self._weights_of(y)
            self._require_bounds(weights, self.C)
            if first:
                self._gamma = self._resolve_gamma(X)
            self._require_moderate(X)
            machines = self._machines(X) if first else self._ready_machines()
            machines.require_weights(self.class_weight, y)
            given = machines.named(ids, len(y))
            declared = machines.unknown(classes)
            if first and classes is not None and len(declared) < 2:
                raise ValueError(f"classes must have at least two labels. Got {declared.tolist()}.")
            coming = [declared, *(label for _, _, label in machines.parts(y, declared))]
            if not first and any(len(label) for label in coming):  # an error must bring the old machines back
                machines = copy.deepcopy(machines)
                self._configure(machines)
            for label in coming:
                machines.know(label)
            return self._add_rows(machines, X, machines.codes(y), weights, given, keep)

    def set_C(self, C: float) -> IncrementalSVC:
        """Follow the exact regularisation path to another C.

        An error or Ctrl-C leaves the model as it was.

        Parameters
        ----------
        C : float
            The new value; it also becomes the parameter of the estimator.

        Returns
        -------
        IncrementalSVC
            The estimator.
        """
        machines = self._ready_machines("C")
        self._require_C(C, machines)
        machines.bound(self._source(), float(C), 0.0, self._training_threads())
        self.C = machines.frozen["C"] = C
        return self

    # ---- questions -----------------------------------------------------------------------------------

    def c_path(self, Cs: Any, X: Any = None) -> Bunch:
        """Optima for several values of C, along the exact path; the model stays as it is.

        Parameters
        ----------
        Cs : array-like of shape (n_values,)
            Values of C; quickest in order.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples to decide on at each value.

        Returns
        -------
        Bunch
            ``C``; ``dual_coef`` of shape (n_values, n_machines, n_held), points in the order of ``ids_``;
            ``intercept``, ``n_support`` and ``n_margin`` of shape (n_values, n_machines); with X also ``decision`` of
            shape (n_values, n_samples) or (n_values, n_samples, n_classes).
        """
        machines = self._ready_machines()
        self._require_machines(machines)
        values = np.ascontiguousarray(np.atleast_1d(Cs), dtype=np.float64)
        if values.ndim != 1 or not len(values):
            raise ValueError(f"Cs must be a list of numbers. Got an array of shape {values.shape}.")
        for C in values.tolist():
            self._require_C(C, machines)
        rows = None if X is None else self._validate_predict(X)
        source = machines._source(self._source())
        coef, constant, margin = machines.model.path(
            source, values, machines.numbers_held(), threads=self._training_threads()
        )
        order = machines.sorted_machines()
        coef, constant, margin = coef[:, order], constant[:, order], margin[:, order]
        path = Bunch(C=values, dual_coef=coef, intercept=constant, n_support=(coef != 0).sum(axis=2), n_margin=margin)
        if rows is not None:
            held = machines.model.held()
            place = np.argsort(held["serial"])
            weights = _core.Weights(
                np.ascontiguousarray(coef.reshape(-1, coef.shape[2])),
                np.array([coef.shape[2]], dtype=np.int64),
                np.arange(constant.size)[np.newaxis],
                np.ascontiguousarray(constant.ravel()),
            )
            sums = np.tile(constant.ravel(), (rows.shape[0], 1))
            if len(place):
                sums = self._sums(rows, weights, machines.take(place))
            decision = sums.reshape(len(sums), *constant.shape).transpose(1, 0, 2)
            path["decision"] = decision[..., 0] if decision.shape[2] == 1 else decision
        return path

    def leave_one_out(self, progress: Any = None) -> Bunch:
        """Decide on each point held as the model without that point would, exactly.

        Each support vector is unlearnt in turn; other points are not missed. The model stays as it is.

        Parameters
        ----------
        progress : bool or callable, default=None
            A callable is told (done, total). True: a progress bar; None: one if a terminal looks on.

        Returns
        -------
        Bunch
            ``decision`` of shape (n_held,) or (n_held, n_classes), ``prediction`` of shape (n_held,), ``n_errors``, and
            ``ids``, in the order of ``ids_``.
        """
        machines = self._ready_machines()
        self._require_machines(machines)
        numbers = machines.numbers_held()
        order = machines.sorted_machines()
        source, threads = machines._source(self._source()), self._training_threads()
        values = np.empty((len(order), len(numbers)))
        quick = ~np.isin(numbers, self.support_)
        parts = [quick.nonzero()[0], *np.array_split(np.flatnonzero(~quick), max(1, (~quick).sum() // TOGETHER))]
        done = 0
        with _progress(progress, len(numbers), "leave-one-out") as tell:
            for part in parts:
                if len(part):
                    values[:, part] = machines.model.leave_one_out(source, numbers[part], threads=threads)[order]
                done += len(part)
                tell(done)
        machines._read = {}
        codes = machines.codes_held()
        decided = (values[0] > 0).astype(np.intp) if len(order) == 1 else values.argmax(axis=0)
        return Bunch(
            decision=values[0] if len(order) == 1 else np.ascontiguousarray(values.T),
            prediction=self.classes_[decided],
            n_errors=int((decided != codes).sum()),
            ids=self.ids_,
        )

    # ---- parts ---------------------------------------------------------------------------------------

    def _machines(self, X: Any) -> IncrementalMachines:
        machines = IncrementalMachines("classes", float(self.C), 0.0, self._frozen(), not sp.issparse(X))
        self._configure(machines)
        return machines

    def _frozen(self) -> dict[str, Any]:
        return {**super()._frozen(), "C": self.C}

    def _require_C(self, C: Any, machines: IncrementalMachines) -> None:
        rule = self._rules["C"]
        if not rule.accepts(C):
            raise ValueError(f"C must be {rule.words}. Got {C!r}.")
        self._require_bounds(machines.model.held()["weight"], C)

    def _require_bounds(self, weights: np.ndarray, C: float) -> None:
        if C * weights.max(initial=0.0) > LARGEST:
            raise ValueError(f"C times the weights must not exceed {LARGEST:g}; lower C or the weights.")

    def _require_machines(self, machines: IncrementalMachines) -> None:
        if not machines.machines:
            raise ValueError("Only one class has come so far; add points of another one first.")

    @property
    def _one_vs_rest(self) -> bool:
        return len(self.classes_) > 2

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        self._require_machines(self._online)
        return super()._validate_predict(X)
