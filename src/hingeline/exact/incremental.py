"""Exact incremental and decremental SVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..base import params
from ..base.classifier import KernelClassifier
from ..base.duration import Work
from ..base.fit import run, with_callbacks
from ..base.labels import choose_classes
from ..base.platt import PlattClassifier, apply_sigmoids, fit_sigmoid
from ..base.progress import progress as _progress
from ..base.rows import LARGEST
from ..base.state import exclusive, lock_of, reading_of, steady
from ..base.types import ClassWeight, Gamma, Id, Ids, KernelFunction, Progress, Rows
from .ensemble import ExactEnsemble
from .estimator import INCREMENTAL_RULES, IncrementalEstimator, PointsTraining
from .marks import Mark

#: Number of points whose leave-one-out values are computed between two progress reports.
TOGETHER = 16


class IncrementalSVC(IncrementalEstimator, PlattClassifier, KernelClassifier):
    """Kernel SVM that learns and forgets exactly.

    After every call the model is the optimum of the soft-margin problem over the points it holds: the optimum that
    :class:`sklearn.svm.SVC` finds from scratch. Points may be added (:meth:`add`, :meth:`partial_fit`), removed
    (:meth:`forget`), and C may change (:meth:`set_C`), in any order. With more than two classes there is one machine
    per class against the rest. Results do not depend on `n_jobs`; they may differ with `cache_size` and with the size
    of chunks, by rounding only.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. To change it in a fitted model call :meth:`set_C`.
    kernel : {'linear', 'poly', 'rbf'} or callable, default='rbf'
        Positive semi-definite kernel. A callable gets two sets of rows and returns the matrix of kernel values between
        them. Samples may then be anything, such as strings or graphs: it gets them as arrays of objects with one
        dimension. For a precomputed matrix use rows that hold their own number and a callable that looks up values.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf' and 'poly'. 'scale' is ``1 / (n_features * X.var())`` for X of the first call, with a
        weighted variance if `sample_weight` is given; 'auto' is ``1 / n_features``. Use a number if points must be
        forgotten: 'scale' depends on the first rows, and :meth:`forget` warns.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly', not negative.
    class_weight : dict or 'balanced', default=None
        Factor on C for the samples of a class; 'balanced' only in :meth:`fit`.
    window : int, default=None
        Maximum number of points held, of all or of each class (`window_scope`). When it is exceeded, points are removed
        by `window_rule`.
    window_rule : {'oldest', 'relevance'}, default='oldest'
        Point that is removed: the one that came first ('oldest'), or the one with the smallest coefficient, that is,
        the smallest sum of absolute values over the machines, and among equal ones the one furthest beyond the margin
        ('relevance').
    window_scope : {'all', 'class'}, default='all'
        What `window` counts: all points together, or the points of each class. With 'class' a point can only remove
        another one of its own class, so no class is lost and the model holds up to `window` points of each.
    solver : {'auto', 'path'}, default='auto'
        How points come and leave: whole sets of points change at a time, which takes few passes over the data ('auto'),
        or each point follows Algorithm 1 of the paper, one event after another ('path'). The optimum is the same.
        'path' is there to study the algorithm (`events_`); it takes several times as long. It may be set at any time.
    probability : bool, default=False
        Whether there is :meth:`predict_proba`. Its sigmoids are fitted to the leave-one-out decision values, at the
        first call after the model has changed. It may be set at any time.
    cache_size : float, default=1024
        Memory in MB for kernel rows and inverses. Rows of the margin set must fit; other rows are kept if they fit.
    n_jobs : int, default=None
        Threads. None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels known so far.
    ids_ : ndarray of shape (n_samples_,)
        Ids of the points held, in the order of their arrival.
    n_samples_, n_samples_seen_ : int
        Number of points held, and number of points seen so far.
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, class after class. Points are numbered in the order of their arrival.
    support_vectors_ : {ndarray, sparse array} of shape (n_support, n_features)
        Support vectors.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Signed coefficients, one line per machine.
    intercept_ : ndarray of shape (n_machines,)
        Intercepts.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features, with a linear kernel only.
    n_iter_ : ndarray of shape (n_machines,)
        Number of minor steps: changes of direction on the way between optima.
    events_ : ndarray of shape (n_events, 3)
        With ``solver='path'``: events of the last point that came or left (after :meth:`set_C`: of the whole path), in
        their order. Columns: machine, number of the point, set that it joined: 0 (coefficient zero), 1 (margin) or 2
        (coefficient at its bound). An event of the moving point itself is the last one of its machine.
    n_margin_ : ndarray of shape (n_machines,)
        Number of points exactly on the margin; 0 if the system of these points is singular.
    n_refinements_, n_corrections_, n_rebuilds_, n_restarts_ : ndarray of shape (n_machines,)
        Numerical repairs: directions refined, coefficients corrected by a Newton step, inverses recomputed, problems
        solved by an active-set method in extended precision because the path broke down.
    kkt_violation_ : float
        Largest KKT violation, in units of the decision function; computed from the rows at every access.
    condition_ : ndarray of shape (n_machines,)
        Condition number of the margin system; computed at every access. Infinite if the system is singular.
    memory_ : int
        Memory of kernel rows and inverses in bytes.
    profile_ : dict
        Seconds spent on kernel values, sensitivities, gradients, searches, inverses and checks.
    bytes_touched_ : float
        Bytes of kernel rows read to update the gradients.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    IncrementalOneClassSVM : Same method for outliers.
    LASVC : Approximate, for streams that are too long to be stored.

    Notes
    -----
    All arithmetic is in double precision. The time for a point that becomes a support vector is proportional to the
    number of points held times the size of the margin set; some ten thousand points are practical. The model stores all
    rows.

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
    >>> clf.kkt_violation_ < 1e-9
    True

    Leave-one-out errors, exactly:

    >>> clf.leave_one_out().n_errors < 15
    True

    Probabilities, calibrated by these values:

    >>> clf.set_params(probability=True).predict_proba(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Literal["linear", "poly", "rbf"] | KernelFunction = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        window: int | None = None,
        window_rule: Literal["oldest", "relevance"] = "oldest",
        window_scope: Literal["all", "class"] = "all",
        solver: Literal["auto", "path"] = "auto",
        probability: bool = False,
        cache_size: float = 1024,
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())

    _rules = {
        "C": params.real(above=0.0, most=LARGEST),
        **INCREMENTAL_RULES,
        "window_scope": params.one_of("all", "class"),
        "solver": params.one_of("auto", "path"),
        "class_weight": params.one_of("balanced") | params.mapping() | params.nothing(),
        "probability": params.boolean(),
    }

    @property
    def _work(self) -> Work:
        return Work(values=0.5, updates=0.0, cubic=0.008, most_held=self.window)

    # ---- learning ------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None, ids: Ids | None = None
    ) -> Self:
        """Learn the training data: all rows together, or one by one with a `window`.

        Ctrl-C ends training early and leaves the optimum of the rows learnt so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C.
        ids : sequence of int, str or uuid.UUID, default=None
            One id per sample, as in :meth:`add`.

        Returns
        -------
        IncrementalSVC
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, y, sample_weight, ids)
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any, ids: Any) -> PointsTraining:
        X, classes, codes, weights, given = self._validate_weighted(X, y, sample_weight)
        self._require_bounds(weights, self.C)
        self._set_kernel(X, given)
        self._require_moderate(X)
        ensemble = self._ensemble(X)
        ensemble.know(classes)
        names = ensemble.check_ids(ids, len(codes))
        return PointsTraining(self, ensemble, X, classes[codes], weights, names, None)

    def partial_fit(
        self,
        X: Rows,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        ids: Ids | None = None,
    ) -> Self:
        """Add points, in the order given.

        An error leaves the model as it was. Ctrl-C leaves the optimum of the points learnt so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels. One that was not known before is accepted from then on.
        classes : array-like, default=None
            Labels that may occur. Required on the first call; new labels may appear later.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C.
        ids : sequence of int, str or uuid.UUID, default=None
            One id per sample, as in :meth:`add`.

        Returns
        -------
        IncrementalSVC
            The estimator.
        """
        if "_model" not in vars(self) and classes is None:
            raise ValueError("Pass classes on the first call of partial_fit; new labels may appear later.")
        run(self, type(self)._prepare_points, X, y, ids, classes, sample_weight, callbacks=False)
        return self

    def add(
        self, X: Rows, y: npt.ArrayLike, ids: Ids | None = None, sample_weight: npt.ArrayLike | None = None
    ) -> list[Id]:
        """Add points, in the order given, and return their ids, with which they can be forgotten.

        An error leaves the model as it was. Ctrl-C leaves the optimum of the points learnt so far (see ``ids_``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels. One that was not known before is accepted from then on.
        ids : sequence of int, str or uuid.UUID, default=None
            One id per sample. Several samples may have the same id, such as all rows of one person. None: samples are
            numbered in the order of their arrival. Give ids for all samples of a model or for none.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C.

        Returns
        -------
        list
            Ids of the points.
        """
        return run(self, type(self)._prepare_points, X, y, ids, None, sample_weight, callbacks=False).ids

    def _prepare_points(self, X: Any, y: Any, ids: Any, classes: Any, sample_weight: Any) -> PointsTraining:
        self._require_no_balance()
        first = "_model" not in vars(self)
        X, y = self._validate_rows(X, y, reset=first)
        given = self._sample_weights(sample_weight, X, all_zero=True)
        weights = given * self._weights_of(y)
        self._require_bounds(weights, self.C)
        self._set_kernel_once(X, None if sample_weight is None else given, first=first)
        self._require_moderate(X)
        ensemble = self._ensemble(X) if first else self._resume()
        ensemble.require_weights(self.class_weight, y)
        names = ensemble.check_ids(ids, len(y))
        declared = ensemble.find_unknown(classes)
        if first and classes is not None and len(declared) < 2:
            raise ValueError(f"classes must have at least two labels. Got {declared.tolist()}.")
        return PointsTraining(self, ensemble, X, y, weights, names, classes)

    @exclusive
    def set_C(self, C: float) -> Self:
        """Follow the exact regularisation path to another C.

        An error or Ctrl-C leaves the model as it was.

        Parameters
        ----------
        C : float
            New value. The parameter `C` of the estimator is set to it.

        Returns
        -------
        IncrementalSVC
            The estimator.
        """
        ensemble = self._ready("C")
        self._require_C(C, ensemble)
        source, threads = self._points_source(ensemble), self._training_threads()
        ensemble.move(source, float(C), 0.0, threads, partial(self.__dict__.update, C=C))
        ensemble.warn()
        return self

    # ---- paths and leave-one-out ---------------------------------------------------------------------

    @steady
    def c_path(self, Cs: npt.ArrayLike, X: Rows | None = None) -> Bunch:
        """Optima for several values of C, along the exact path. The model does not change.

        Parameters
        ----------
        Cs : array-like of shape (n_values,)
            Values of C; fastest in ascending or descending order.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples whose decision values are computed at each C.

        Returns
        -------
        Bunch
            ``C``; ``dual_coef`` of shape (n_values, n_machines, n_held), points in the order of ``ids_``;
            ``intercept``, ``n_support`` and ``n_margin`` of shape (n_values, n_machines); with X also ``decision`` of
            shape (n_values, n_samples) or (n_values, n_samples, n_classes).
        """
        ensemble = self._ready()
        self._require_machines(ensemble)
        values = np.ascontiguousarray(np.atleast_1d(Cs), dtype=np.float64)
        if values.ndim != 1 or not len(values):
            raise ValueError(f"Cs must be a list of numbers. Got an array of shape {values.shape}.")
        for C in values.tolist():
            self._require_C(C, ensemble)
        rows = None if X is None else self._validate_predict(X)
        source, numbers = self._points_source(ensemble), ensemble.serials()
        path = Bunch(C=values, **ensemble.core.path(source, values, numbers, threads=self._training_threads()))
        ensemble.warn(visited=True)
        path["n_support"] = (path.dual_coef != 0).sum(axis=2)
        if rows is not None:
            points = ensemble.take(ensemble.points()["row"])
            decisions = self._decide_many(rows, points, path.dual_coef, path.intercept)
            path["decision"] = decisions[..., 0] if decisions.shape[2] == 1 else decisions
        return path

    def _decide_many(self, X: Any, points: Any, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Decision values [model, row, machine] of several models: coefficients of the points, and intercepts."""
        n_held, n_outputs = coef.shape[2], intercept.size
        sums = np.tile(intercept.ravel(), (X.shape[0], 1))
        if n_held:
            lines = _core.Lines(
                np.ascontiguousarray(coef.reshape(-1, n_held)),
                np.array([n_held], dtype=np.int64),
                np.arange(n_outputs)[np.newaxis],
                np.ascontiguousarray(intercept.ravel()),
            )
            if callable(self.kernel):
                sums = self._decide_in_blocks(X, lines, points)
            else:
                packed = _core.Packed(self._kernel(), self._matrix(points))
                sums = packed.decide(lines, self._matrix(X), self._threads())
        return sums.reshape(len(sums), *intercept.shape).transpose(1, 0, 2)

    @steady
    def leave_one_out(self, progress: Progress = None) -> Bunch:
        """Compute for each point held the decision of the exact model without that point.

        Each support vector is removed in turn; other points do not influence the model. The model does not change.

        Parameters
        ----------
        progress : bool or callable, default=None
            A callable gets (done, total). True: a progress bar. None: a progress bar if stderr is a terminal.

        Returns
        -------
        Bunch
            ``decision`` of shape (n_held,) or (n_held, n_classes), ``prediction`` of shape (n_held,), ``n_errors``, and
            ``ids``, in the order of ``ids_``.
        """
        ensemble = self._ready()
        self._require_machines(ensemble)
        numbers = ensemble.serials()
        source, threads = self._points_source(ensemble), self._training_threads()
        n_machines = ensemble.core.n_machines
        values = np.empty((n_machines, len(numbers)))
        quick = ~np.isin(numbers, self.support_)
        parts = [quick.nonzero()[0], *np.array_split(np.flatnonzero(~quick), max(1, (~quick).sum() // TOGETHER))]
        done = 0
        with _progress(progress, len(numbers), "leave-one-out") as tell:
            for part in parts:
                if len(part):
                    values[:, part] = ensemble.core.leave_one_out(source, numbers[part], threads=threads)
                    ensemble.warn(visited=True)
                done += len(part)
                tell(done)
        decided = (values[0] > 0).astype(np.intp) if n_machines == 1 else values.argmax(axis=0)
        return Bunch(
            decision=values[0] if n_machines == 1 else np.ascontiguousarray(values.T),
            prediction=self.classes_[decided],
            n_errors=int((decided != ensemble.points()["code"]).sum()),
            ids=self.ids_,
        )

    # ---- earlier models ------------------------------------------------------------------------------

    def _mark(self) -> Mark:
        """The current model without its rows, for :meth:`_predict_marked`."""
        fitted = self._snapshot()._read_fitted()
        return Mark(self._model, fitted.support_, fitted.dual_coef_, fitted.intercept_, fitted.classes_)

    @steady
    def _predict_marked(self, marks: Sequence[Mark], X: Any) -> list[np.ndarray | None]:
        """Labels that earlier models of this stream predict; None for a model of which a point was forgotten.

        Kernel values are computed once for all models.
        """
        X = self._validate_predict(X)
        own = [one for one in marks if one.ensemble is self._model]
        marked = np.unique(np.concatenate([one.support for one in own])) if own else np.empty(0, dtype=np.int64)
        serial = self._model.core.points()["serial"]
        numbers, rows, _ = np.intersect1d(serial, marked, assume_unique=True, return_indices=True)
        points, found = self._model.take(rows), dict[int, np.ndarray]()
        known = [(one, coef) for one in own if (coef := one.coefficients(numbers)) is not None]
        for _, alike in groupby(known, lambda pair: pair[1].shape):  # a new label brings new machines
            group, coef = zip(*alike, strict=True)
            decisions = self._decide_many(X, points, np.stack(coef), np.stack([one.intercept for one in group]))
            for one, values in zip(group, decisions, strict=True):
                found[id(one)] = one.classes[choose_classes(values, None)]
        return [found.get(id(one)) for one in marks]

    # ---- probabilities -------------------------------------------------------------------------------

    def _probabilities(self, X: Any) -> np.ndarray:
        state = self._snapshot()
        X = state._validate_predict(X)
        sigmoids = state._sigmoids()
        if fresh := sigmoids is None:
            with lock_of(self), reading_of(self):  # the model does not change until its sigmoids are known
                state = self._snapshot()
                X = state._validate_predict(X)
                sigmoids = self._fit_sigmoids()
        positive = apply_sigmoids(state._decide(X, state._read_fitted()), sigmoids)
        if fresh:  # nothing can fail any more
            state._model.keep_calibration(state._read_fitted()._counts, sigmoids)
        if positive.shape[1] == 1:
            return np.hstack([1.0 - positive, positive])
        return positive / positive.sum(axis=1, keepdims=True)

    def _sigmoids(self) -> np.ndarray | None:
        """Sigmoids of the machines, if they were fitted to the points held."""
        counts, sigmoids = self._model.calibration
        return sigmoids if counts == self._read_fitted()._counts else None

    def _fit_sigmoids(self) -> np.ndarray:
        """Fit a sigmoid for each machine. Points of weight zero do not take part."""
        ensemble = self._model
        values = self.leave_one_out(progress=False).decision.reshape(ensemble.core.n_rows, -1)
        held = ensemble.points()
        kept = held["weight"] > 0
        positive = [1] if values.shape[1] == 1 else range(values.shape[1])
        found = [fit_sigmoid(values[kept, m], held["code"][kept] == code) for m, code in enumerate(positive)]
        return np.array(found).T

    # ---- parts ---------------------------------------------------------------------------------------

    def _ensemble(self, X: Any) -> ExactEnsemble:
        ensemble = ExactEnsemble(
            "classes", float(self.C), 0.0, self._frozen_parameters(), not sp.issparse(X), self._frame
        )
        self._configure(ensemble)
        return ensemble

    @property
    def _by_path(self) -> bool:
        return self.solver == "path"

    @property
    def events_(self) -> np.ndarray:
        """Events of the last operation on the path."""
        check_is_fitted(self, "_model")
        found = self._model.core.events()
        return np.column_stack([found[name] for name in ("machine", "point", "set")]).astype(np.int64)

    @property
    def _window_by_class(self) -> bool:
        return self.window_scope == "class"

    def _frozen_parameters(self) -> dict[str, Any]:
        return {**super()._frozen_parameters(), "C": float(self.C)}

    def _require_C(self, C: Any, ensemble: ExactEnsemble) -> None:
        rule = self._rules["C"]
        if not rule.accepts(C):
            raise ValueError(f"C must be {rule.words}. Got {C!r}.")
        self._require_bounds(ensemble.core.points()["weight"], C)

    def _require_bounds(self, weights: np.ndarray, C: float) -> None:
        if C * weights.max(initial=0.0) > LARGEST:
            raise ValueError(
                f"C times the weights must not exceed {LARGEST:g}. Got {C * weights.max():g}; lower C or the weights."
            )

    def _require_machines(self, ensemble: ExactEnsemble) -> None:
        if "dual_coef_" not in vars(ensemble.read_fitted()):
            raise ValueError("The model has seen only one class; add points of another class first.")

    def _validate_predict(self, X: Any) -> Any:
        if "_model" not in vars(self):  # check_is_fitted takes long for one row
            check_is_fitted(self)
        self._require_machines(self._model)
        if not self._read_fitted()._n_held:
            raise NotFittedError("The model holds no points, because all were forgotten; add points first.")
        return super()._validate_predict(X)
