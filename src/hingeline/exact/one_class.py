"""Exact incremental one-class SVM and support vector data description."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import OutlierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._registry import KERNELS
from ..base import params
from ..base.duration import Work
from ..base.fit import run, with_callbacks
from ..base.rows import LARGEST, require_finite
from ..base.state import exclusive
from ..base.types import Gamma, Id, Ids, KernelFunction, Rows
from .ensemble import ExactEnsemble
from .estimator import INCREMENTAL_RULES, IncrementalEstimator, PointsTraining

#: Rows per call of a callable kernel when the diagonal is computed.
DIAGONAL_BLOCK = 64

#: Relative rounding error of scores that depends on how rows are grouped (callable kernels) or stored.
ROUNDING = 1e-15


class IncrementalOneClassSVM(OutlierMixin, IncrementalEstimator):
    """One-class SVM that learns and forgets exactly.

    After every call the model is the optimum over the points it holds. ``shape='plane'`` separates them from the origin
    and equals :class:`sklearn.svm.OneClassSVM`; ``shape='sphere'`` is the smallest sphere with at most a given share of
    them outside (support vector data description). For kernels with constant ``K(x, x)``, such as 'rbf', both have the
    same boundary.

    Parameters
    ----------
    nu : float, default=0.5
        Share of outliers, in (0, 1]: at most this share of the points lies outside, and at least this share are support
        vectors. It stays constant when points are added or removed.
    C : float, default=None
        Upper bound of the coefficients, whose sum is 1; used instead of `nu` if given. The model is defined as soon as
        it holds ``1 / C`` points.
    shape : {'plane', 'sphere'}, default='plane'
        Problem that is solved, see above.
    kernel : {'linear', 'poly', 'rbf'} or callable, default='rbf'
        Positive semi-definite kernel. A callable gets two sets of rows and returns the matrix of kernel values between
        them. Samples may then be anything, such as strings or graphs: it gets them as arrays of objects with one
        dimension.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf' and 'poly'. 'scale' is ``1 / (n_features * X.var())`` for X of the first call, 'auto' is
        ``1 / n_features``.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly', not negative.
    window : int, default=None
        Maximum number of points held. When it is exceeded, points are removed by `window_rule`.
    window_rule : {'oldest', 'relevance'}, default='oldest'
        Point that is removed: the one that came first ('oldest'), or the one with the smallest coefficient, among equal
        ones the innermost ('relevance').
    cache_size : float, default=1024
        Memory in MB for kernel rows and inverses. Rows of the margin set must fit; other rows are kept if they fit.
    n_jobs : int, default=None
        Threads. None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors.

    Attributes
    ----------
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``.
    radius_ : float
        Radius of the sphere; only with ``shape='sphere'``.
    center_ : ndarray of shape (n_features,)
        Centre of the sphere; only with ``shape='sphere'`` and a linear kernel.
    ids_ : ndarray of shape (n_samples_,)
        Ids of the points held, in the order of their arrival.
    n_samples_, n_samples_seen_ : int
        Number of points held, and number of points seen so far.
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors. Points are numbered in the order of their arrival.
    support_vectors_ : {ndarray, sparse array} of shape (n_support, n_features)
        Support vectors.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients: at most 1 each as in :class:`sklearn.svm.OneClassSVM` ('plane'), with sum 1 ('sphere').
    intercept_ : ndarray of shape (1,)
        Intercept of the decision function.
    n_iter_, n_margin_, n_refinements_, n_corrections_, n_rebuilds_, n_restarts_ : ndarray of shape (1,)
        As in :class:`IncrementalSVC`.
    kkt_violation_, condition_, memory_, profile_, bytes_touched_
        As in :class:`IncrementalSVC`.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    IncrementalSVC : Same method with labels.
    sklearn.svm.OneClassSVM : The batch problem.

    References
    ----------
    P. Laskov, C. Gehl, S. Krueger, K.-R. Mueller, "Incremental support vector learning: analysis, implementation and
    applications", JMLR 7, 2006.

    D. M. J. Tax, R. P. W. Duin, "Support vector data description", Machine Learning 54, 2004.

    Examples
    --------
    A window over a stream:

    >>> import numpy as np
    >>> from hingeline import IncrementalOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = IncrementalOneClassSVM(nu=0.1, gamma=0.5, window=100)
    >>> for row in X:
    ...     model = model.partial_fit([row])
    >>> model.n_samples_
    100
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float | None = None,
        shape: Literal["plane", "sphere"] = "plane",
        kernel: Literal["linear", "poly", "rbf"] | KernelFunction = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        window: int | None = None,
        window_rule: Literal["oldest", "relevance"] = "oldest",
        cache_size: float = 1024,
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())

    _rules = {
        "nu": params.real(least=1 / LARGEST, most=1.0),
        "C": params.real(least=1 / LARGEST, most=LARGEST) | params.nothing(),
        "shape": params.one_of("plane", "sphere"),
        **INCREMENTAL_RULES,
    }

    @property
    def _work(self) -> Work:
        return Work(values=0.5, updates=50.0, grows=False, most_held=self.window)

    # ---- learning ------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Rows, y: object = None, ids: Ids | None = None) -> Self:
        """Learn the training data: all rows together with `C`, one by one with `nu` or a `window`.

        Ctrl-C ends training early and leaves the optimum of the rows learnt so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : object
            Ignored.
        ids : sequence of int, str or uuid.UUID, default=None
            One id per sample, as in :meth:`add`.

        Returns
        -------
        IncrementalOneClassSVM
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, ids)
        return self

    def _prepare(self, X: Any, ids: Any) -> PointsTraining:
        X = self._check_rows(X, reset=True)
        self._set_kernel(X)
        ensemble = self._begin(X)
        return PointsTraining(self, ensemble, X, None, np.ones(X.shape[0]), ensemble.check_ids(ids, X.shape[0]), None)

    def partial_fit(self, X: Rows, y: object = None, ids: Ids | None = None) -> Self:
        """Add points, in the order given.

        An error leaves the model as it was. Ctrl-C leaves the optimum of the points learnt so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : object
            Ignored.
        ids : sequence of int, str or uuid.UUID, default=None
            One id per sample, as in :meth:`add`.

        Returns
        -------
        IncrementalOneClassSVM
            The estimator.
        """
        self.add(X, ids)
        return self

    def add(self, X: Rows, ids: Ids | None = None) -> list[Id]:
        """Add points, in the order given, and return their ids, with which they can be forgotten.

        An error leaves the model as it was. Ctrl-C leaves the optimum of the points learnt so far (see ``ids_``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        ids : sequence of int, str or uuid.UUID, default=None
            One id per sample; several samples may have the same id. None: samples are numbered in the order of their
            arrival. Give ids for all samples of a model or for none.

        Returns
        -------
        list
            Ids of the points.
        """
        return run(self, type(self)._prepare_points, X, ids, callbacks=False).ids

    def _prepare_points(self, X: Any, ids: Any) -> PointsTraining:
        first = "_model" not in vars(self)
        if first or not self._are_checked(X):
            X = self._check_rows(X, reset=first)
        self._set_kernel_once(X, None, first=first)
        ensemble = self._begin(X) if first else self._resume()
        self._require_moderate(X)
        return PointsTraining(self, ensemble, X, None, np.ones(X.shape[0]), ensemble.check_ids(ids, X.shape[0]), None)

    @exclusive
    def set_nu(self, nu: float) -> Self:
        """Follow the exact path to another nu. The parameter `nu` is set to it, and `C` to None.

        Parameters
        ----------
        nu : float
            New share.

        Returns
        -------
        IncrementalOneClassSVM
            The estimator.
        """
        return self._move("nu", nu, C=None, nu=nu)

    @exclusive
    def set_C(self, C: float) -> Self:
        """Follow the exact path to another C. The parameter `C` is set to it.

        Parameters
        ----------
        C : float
            New upper bound.

        Returns
        -------
        IncrementalOneClassSVM
            The estimator.
        """
        return self._move("C", C, C=C, nu=self.nu)

    def _move(self, name: str, value: float, **wanted: Any) -> Self:
        ensemble = self._ready("C", "nu")
        rule = params.real(least=1 / LARGEST, most=LARGEST) if name == "C" else self._rules["nu"]
        if not rule.accepts(value):
            raise ValueError(f"{name} must be {rule.words}. Got {value!r}.")
        source, threads = self._points_source(ensemble), self._training_threads()
        ensemble.move(source, *self._bounds(**wanted), threads, partial(self.__dict__.update, **wanted))
        ensemble.warn()
        return self

    # ---- decisions -----------------------------------------------------------------------------------

    def decision_function(self, X: Rows) -> np.ndarray:
        """Signed decision values, positive inside the boundary.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``score_samples(X) - offset_``: for 'sphere' the squared radius minus the squared distance to the centre.
        """
        self = self._snapshot()
        X = self._validate_predict(X)
        fitted = self._read_fitted()
        return require_finite(self._score_rows(X, fitted) - self._threshold(fitted))

    def score_samples(self, X: Rows) -> np.ndarray:
        """Scores: larger values are more similar to the points held.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``sum_i dual_coef_[i] K(x_i, x)`` ('plane'), or minus the squared distance to the centre ('sphere').
        """
        self = self._snapshot()
        return self._score_rows(self._validate_predict(X), self._read_fitted())

    def predict(self, X: Rows) -> np.ndarray:
        """+1 for inliers, -1 for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the support vectors."""
        return self._read_held()._scores.dual_coef_

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept of the decision function."""
        fitted = self._read_held()
        shift = self._compute_threshold(fitted) - self._threshold(fitted)
        return (
            2.0 * fitted.intercept_ if self._require_model().problem == "sphere" else fitted.intercept_ / fitted._scale
        ) + shift

    @property
    def offset_(self) -> float:
        """Threshold of `score_samples`."""
        return self._threshold(self._read_held())

    @property
    def radius_(self) -> float:
        """Radius of the sphere; only with ``shape='sphere'``."""
        if self._require_model().problem != "sphere":
            raise AttributeError("radius_ is only available with shape='sphere'")
        return float(np.sqrt(max(-self.offset_, 0.0)))

    @property
    def center_(self) -> np.ndarray:
        """Centre of the sphere; only with ``shape='sphere'`` and a linear kernel."""
        if self._require_model().problem != "sphere" or self.kernel != "linear":
            raise AttributeError("center_ is only available with shape='sphere' and kernel='linear'")
        return np.asarray(self.dual_coef_ @ self.support_vectors_).ravel()

    # ---- parts ---------------------------------------------------------------------------------------

    def _begin(self, X: Any) -> ExactEnsemble:
        if self.C is not None and self.window is not None and self.window * self.C < 1:
            raise ValueError(
                f"window * C must be at least 1; got window={self.window}, C={self.C:g}. Raise window to "
                f"{int(np.ceil(1 / self.C))}, raise C, or use nu."
            )
        self._require_moderate(X)
        bounds = self._bounds(C=self.C, nu=self.nu)
        ensemble = ExactEnsemble(self.shape, *bounds, self._frozen_parameters(), not sp.issparse(X), self._frame)
        self._configure(ensemble)
        return ensemble

    @staticmethod
    def _bounds(C: float | None, nu: float) -> tuple[float, float]:
        """C and nu in the form of the core."""
        return (1.0, float(nu)) if C is None else (float(C), 0.0)

    def _frozen_parameters(self) -> dict[str, Any]:
        C, nu = self._bounds(C=self.C, nu=self.nu)
        bounds = {"nu": nu or None, "C": None if nu else C}  # nu is not used if C is given
        return {**super()._frozen_parameters(), "shape": self.shape, **bounds}

    def _read_held(self) -> Any:
        self._require_model()  # raises if the estimator is not fitted
        return self._read_fitted()

    def _score_rows(self, X: Any, fitted: Any) -> np.ndarray:
        """Scores of checked rows."""
        sums = self._decide(X, fitted._scores).ravel()
        if self._model.problem == "plane":
            return sums
        return 2.0 * sums - self._diagonal(X) - fitted._square[0]

    def _compute_threshold(self, fitted: Any) -> float:
        """Threshold of the scores at the optimum, with rounding errors."""
        if self._require_model().problem == "plane":
            return -float(fitted.intercept_[0] / fitted._scale)
        return -max(2.0 * float(fitted.intercept_[0]) + float(fitted._square[0]), 0.0)

    def _threshold(self, fitted: Any) -> float:
        """Threshold of the scores, computed once per state.

        Points on the boundary count as inside. Rounding errors may put their scores below the threshold of the optimum;
        then the threshold is the smallest of these scores.
        """
        if "_offset" not in vars(fitted):
            offset = self._compute_threshold(fitted)
            if fitted._near is not None:
                # CSR, so that dense and sparse rows give the same threshold to the bit
                near = fitted._near if callable(self.kernel) else sp.csr_array(fitted._near)
                scores = self._score_rows(near, fitted)
                size = np.abs(scores).max() + (
                    0.0 if self._require_model().problem == "plane" else abs(fitted._square[0])
                )
                offset = min(offset, float(scores.min() - ROUNDING * size))
            fitted._offset = offset
        return fitted._offset

    def _diagonal(self, X: Any) -> np.ndarray:
        """K(x, x) of rows."""
        if callable(self.kernel):
            cuts = range(0, X.shape[0], DIAGONAL_BLOCK)
            blocks = [X[at : at + DIAGONAL_BLOCK] for at in cuts]
            return np.concatenate([np.diagonal(self._call_kernel(block, block)) for block in blocks])
        diagonal: Any = KERNELS[self.kernel].diagonal
        if not callable(diagonal):
            return np.full(X.shape[0], diagonal)
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        return np.asarray(diagonal(squares, self._gamma, self.coef0, self.degree))

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        ensemble = self._model
        if not ensemble.read_fitted()._ready:
            needed = 1.0 if self.C is None else np.ceil(1.0 / ensemble.core.C - 1e-12)
            raise NotFittedError(
                f"The model is defined by {needed:.0f} points or more; it holds {ensemble.core.n_rows}. Add points"
                + (", raise C, or use nu." if needed > 1 else ".")
            )
        return super()._validate_predict(X)
