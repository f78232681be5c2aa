"""Support vector regression, solved exactly: the drop-ins for :class:`sklearn.svm.SVR` and NuSVR."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from ..base import params
from ..base.duration import Work
from ..base.fit import run, with_callbacks
from ..base.kernel import KERNEL_RULES
from ..base.regressor import WeightedTargets, check_targets
from ..base.retained import read_ids
from ..base.rows import LARGEST
from ..base.types import Device, Gamma, Kernel, RowIds, Rows
from .engine import ENGINE_RULES, NU, PENALTY
from .one_machine import OneMachineEstimator, OneMachineTraining


class KernelRegressor(WeightedTargets, OneMachineEstimator):
    """Base of the regressors that the block solver trains."""

    @with_callbacks
    def fit(
        self,
        X: Rows,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        dual_init: RegressorMixin | None = None,
        ids: RowIds = None,
    ) -> Self:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; with ``kernel='precomputed'`` the kernel matrix; with a callable kernel anything that the
            kernel takes.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C. Samples whose weight is zero or negative are left out.
        dual_init : SVR or NuSVR, default=None
            Fitted estimator for the same samples whose coefficients are the starting point, of hingeline or of
            scikit-learn. Its parameters and targets may differ.
        ids : array-like of shape (n_samples,) or str, default=None
            Id of each sample, an integer, string or ``uuid.UUID``; several samples may have one id. 'index' takes the
            index of a DataFrame, another string its column of this name. With ids the samples are kept, for
            :meth:`forget` and :meth:`add`.

        Returns
        -------
        object
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, y, sample_weight, dual_init, ids)
        if self.verbose:
            self._print_machines()
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any, dual_init: Any, ids: Any) -> OneMachineTraining:
        X, names = read_ids(X, ids)
        X, y = self._validate_targets(X, y)
        if self.kernel == "precomputed":
            self._require_kernel_matrix(X)
        return self._begin(X, y, sample_weight, dual_init, names)

    def _validate_more(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, y = self._check_rows(X, y, reset=False)
        return X, check_targets(y)

    def predict(self, X: Rows) -> np.ndarray:
        """Predicted targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        self = self._snapshot()
        return self._decide(self._validate_predict(X), self).ravel()


class SVR(KernelRegressor):
    """Epsilon-support vector regression, a drop-in replacement of :class:`sklearn.svm.SVR`.

    The problem, the parameters, the stopping rule and the fitted attributes are those of scikit-learn; the solver is
    that of :class:`SVC`. Results do not depend on ``n_jobs`` or ``cache_size``, to the bit.

    Parameters
    ----------
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets X twice, in the form that X has, and returns the whole kernel matrix.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly' and 'sigmoid', as in :class:`SVC`.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    tol : float, default=1e-3
        Largest violation of the optimality conditions at which training stops, in units of y. It holds in double
        precision. Scale it with the targets.
    C : float, default=1.0
        Weight of the losses; infinity asks for a function that differs from no target by more than `epsilon`.
    epsilon : float, default=0.1
        Difference from the target without loss, in units of y.
    shrinking : bool, default=True
        Whether samples whose coefficients are likely to stay are left out of most steps. It has no influence on the
        optimum.
    cache_size : float, default=200
        Memory in MB for kernel values.
    verbose : bool, default=False
        Whether to print a line after training.
    max_iter : int, default=-1
        Limit of changes of pairs of coefficients; -1 means 10 million, or 1000 times the number of samples if that is
        more.
    warm_start : bool, default=False
        Whether the coefficients of the last fit are the starting point if X has as many samples as then.
    n_jobs : int, default=None
        Threads for training and prediction. None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all
        processors.
    device : {'cpu', 'cuda', 'auto'}, default='cpu'
        Where the model is trained. 'cuda' takes an NVIDIA card and needs CuPy, ``pip install "hingeline[cuda]"``;
        'auto' takes it where it is usable and the problem large. The model is the same either way.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the training rows.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
        Support vectors; empty with a precomputed or callable kernel.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : {ndarray, sparse matrix} of shape (1, n_support)
        Coefficients, positive where the target is above the prediction; sparse if X is sparse. Read-only.
    intercept_ : ndarray of shape (1,)
        Intercept.
    coef_ : {ndarray, sparse matrix} of shape (1, n_features)
        Weights of the features, with a linear kernel only. Read-only.
    n_iter_ : int
        Changes of pairs of coefficients.
    fit_status_ : int
        0 if training reached `tol`, else 1.
    shape_fit_ : tuple of int
        Shape of the training data.
    stop_reason_ : str
        'tol', 'max_iter', 'precision' (rounding errors end the progress), 'unbounded' (C is infinite and no function
        fits), 'interrupted' (Ctrl-C) or 'stopped' (by a callback).
    kkt_violation_ : float
        Violation of the optimality conditions at the end.
    dual_objective_ : float
        Dual objective.
    duality_gap_ : float
        Primal minus dual objective.
    n_kernel_evals_ : int
        Kernel values computed in training.
    history_ : dict of ndarray
        As in :class:`SVC`.
    X_fit_ : object
        Training samples, with a callable kernel only.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    NuSVR : The share of support vectors is given instead of epsilon.
    LinearSVR : Linear kernel on large data.

    Notes
    -----
    The model stores its support vectors, which are rows of the training data.

    References
    ----------
    A. J. Smola, B. Schoelkopf, "A tutorial on support vector regression", Statistics and Computing 14, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hingeline import SVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SVR(C=100.0, epsilon=10.0, gamma=5.0).fit(X, y)
    >>> round(model.score(X, y), 1)
    0.5
    >>> model.stop_reason_
    'tol'
    """

    def __init__(
        self,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: Device = "cpu",
    ) -> None:
        params.assign(self, locals())

    _kind = "svr"
    _work = Work(values=0.5, updates=1.5)
    _rules = {**KERNEL_RULES, **ENGINE_RULES, "C": PENALTY, "epsilon": params.real(least=0.0, most=LARGEST)}

    def _problem(self, weights: np.ndarray) -> tuple[float, dict[str, float]]:
        return self.C, {"epsilon": float(self.epsilon)}


class NuSVR(KernelRegressor):
    """Nu-support vector regression, a drop-in replacement of :class:`sklearn.svm.NuSVR`.

    The problem, the parameters, the stopping rule and the fitted attributes are those of scikit-learn; the solver is
    that of :class:`SVC`. The optimum is that of :class:`SVR` with ``epsilon=epsilon_``, which `nu` determines. Results
    do not depend on ``n_jobs`` or ``cache_size``, to the bit.

    Parameters
    ----------
    nu : float, default=0.5
        Share of samples, in (0, 1]: at most this share differs from its target by more than ``epsilon_``, and at least
        this share are support vectors.
    C : float, default=1.0
        Weight of the losses.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets X twice, in the form that X has, and returns the whole kernel matrix.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly' and 'sigmoid', as in :class:`SVC`.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    shrinking : bool, default=True
        Whether samples whose coefficients are likely to stay are left out of most steps. It has no influence on the
        optimum.
    tol : float, default=1e-3
        Largest violation of the optimality conditions at which training stops, in units of y. It holds in double
        precision. Scale it with the targets.
    cache_size : float, default=200
        Memory in MB for kernel values.
    verbose : bool, default=False
        Whether to print a line after training.
    max_iter : int, default=-1
        Limit of changes of pairs of coefficients; -1 means 10 million, or 2000 times the number of samples if that is
        more.
    warm_start : bool, default=False
        Whether the coefficients of the last fit are the starting point if X has as many samples as then.
    n_jobs : int, default=None
        Threads for training and prediction. None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all
        processors.
    device : {'cpu', 'cuda', 'auto'}, default='cpu'
        Where the model is trained. 'cuda' takes an NVIDIA card and needs CuPy, ``pip install "hingeline[cuda]"``;
        'auto' takes it where it is usable and the problem large. The model is the same either way.

    Attributes
    ----------
    epsilon_ : float
        Difference from the target without loss.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the training rows.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
        Support vectors; empty with a precomputed or callable kernel.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : {ndarray, sparse matrix} of shape (1, n_support)
        Coefficients, positive where the target is above the prediction; sparse if X is sparse. Read-only.
    intercept_ : ndarray of shape (1,)
        Intercept.
    coef_ : {ndarray, sparse matrix} of shape (1, n_features)
        Weights of the features, with a linear kernel only. Read-only.
    n_iter_ : int
        Changes of pairs of coefficients.
    fit_status_ : int
        0 if training reached `tol`, else 1.
    shape_fit_ : tuple of int
        Shape of the training data.
    stop_reason_ : str
        'tol', 'max_iter', 'precision' (rounding errors end the progress), 'interrupted' (Ctrl-C) or 'stopped' (by a
        callback).
    kkt_violation_ : float
        Violation of the optimality conditions at the end.
    dual_objective_ : float
        Dual objective.
    duality_gap_ : float
        Primal minus dual objective.
    n_kernel_evals_ : int
        Kernel values computed in training.
    history_ : dict of ndarray
        As in :class:`SVC`.
    X_fit_ : object
        Training samples, with a callable kernel only.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    SVR : Epsilon is given instead of the share of support vectors.

    Notes
    -----
    The model stores its support vectors, which are rows of the training data.

    References
    ----------
    B. Schoelkopf, A. J. Smola, R. C. Williamson, P. L. Bartlett, "New support vector algorithms", Neural Computation
    12, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hingeline import NuSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NuSVR(C=100.0, nu=0.5, gamma=5.0).fit(X, y)
    >>> outside = abs(y - model.predict(X)) > model.epsilon_ + model.tol
    >>> bool(outside.mean() <= 0.5)
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: Device = "cpu",
    ) -> None:
        params.assign(self, locals())

    _kind = "nu_svr"
    _work = Work(values=0.5, updates=3.0)
    _rules = {**KERNEL_RULES, **ENGINE_RULES, "C": params.real(above=0.0, most=LARGEST), "nu": NU}

    def _problem(self, weights: np.ndarray) -> tuple[float, dict[str, float]]:
        return self.C, {"total": float(self.C * self.nu * weights.sum())}
