"""One-class SVM, solved exactly: the drop-in for :class:`sklearn.svm.OneClassSVM`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin

from .._sklearn import n_samples
from ..base import params
from ..base.duration import Work
from ..base.fit import run, with_callbacks
from ..base.kernel import KERNEL_RULES
from ..base.retained import read_ids
from ..base.types import Device, Gamma, Kernel, RowIds, Rows
from .engine import ENGINE_RULES, NU
from .one_machine import OneMachineEstimator, OneMachineTraining


class OneClassSVM(OutlierMixin, OneMachineEstimator):
    """Outlier detection with a one-class SVM, a drop-in replacement of :class:`sklearn.svm.OneClassSVM`.

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
        Largest violation of the optimality conditions at which training stops, in units of the decision values. The
        coefficients have the sum ``nu * n_samples``, so decision values grow with the number of samples.
    nu : float, default=0.5
        Share of outliers, in (0, 1]: at most this share of the training samples lies outside, and at least this share
        are support vectors.
    shrinking : bool, default=True
        Whether samples that are far from the boundary are left out of most steps. It has no influence on the optimum.
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
    offset_ : ndarray of shape (1,)
        ``decision_function(X) = score_samples(X) - offset_``.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the training rows.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
        Support vectors; empty with a precomputed or callable kernel.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : {ndarray, sparse matrix} of shape (1, n_support)
        Coefficients, at most the weight of the sample each; sparse if X is sparse. Read-only.
    intercept_ : ndarray of shape (1,)
        ``-offset_``.
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
    IncrementalOneClassSVM : Learns and forgets single samples.
    SVC : Classification.

    Notes
    -----
    The model stores its support vectors, which are rows of the training data.

    References
    ----------
    B. Schoelkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson, "Estimating the support of a
    high-dimensional distribution", Neural Computation 13, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from hingeline import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = OneClassSVM(nu=0.1, gamma=0.5).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    >>> bool(np.mean(model.predict(X) < 0) <= 0.11)
    True
    """

    def __init__(
        self,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: Device = "cpu",
    ) -> None:
        params.assign(self, locals())

    _kind = "one_class"
    _work = Work(values=0.5, updates=0.5, grows=False)
    _rules = {**KERNEL_RULES, **ENGINE_RULES, "nu": NU}

    # ---- training ------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Rows,
        y: object = None,
        sample_weight: npt.ArrayLike | None = None,
        dual_init: OutlierMixin | None = None,
        ids: RowIds = None,
    ) -> Self:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; with ``kernel='precomputed'`` the kernel matrix; with a callable kernel anything that the
            kernel takes.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Bounds of the coefficients. Samples whose weight is zero or negative are left out.
        dual_init : OneClassSVM, default=None
            Fitted estimator for the same samples whose coefficients are the starting point, of hingeline or of
            scikit-learn. Its parameters may differ.
        ids : array-like of shape (n_samples,) or str, default=None
            Id of each sample, an integer, string or ``uuid.UUID``; several samples may have one id. 'index' takes the
            index of a DataFrame, another string its column of this name. With ids the samples are kept, for
            :meth:`forget` and :meth:`add`.

        Returns
        -------
        object
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, sample_weight, dual_init, ids)
        if self.verbose:
            self._print_machines()
        return self

    def _prepare(self, X: Any, sample_weight: Any, dual_init: Any, ids: Any) -> OneMachineTraining:
        X, names = read_ids(X, ids)
        X = self._check_rows(X, reset=True)
        if self.kernel == "precomputed":
            self._require_kernel_matrix(X)
        return self._begin(X, np.zeros(n_samples(X)), sample_weight, dual_init, names)

    def _validate_more(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X = self._check_rows(X, reset=False)
        return X, np.zeros(n_samples(X))

    def _problem(self, weights: np.ndarray) -> tuple[float, dict[str, float]]:
        return 1.0, {"total": float(self.nu * weights.sum())}

    # ---- decisions -----------------------------------------------------------------------------------

    @property
    def offset_(self) -> np.ndarray:
        """``decision_function(X) = score_samples(X) - offset_``."""
        if "intercept_" not in vars(self):
            raise AttributeError("offset_ exists after fit only")
        return -self.intercept_ + 0.0

    def decision_function(self, X: Rows) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive for inliers.
        """
        self = self._snapshot()
        return self._decide(self._validate_predict(X), self).ravel()

    def score_samples(self, X: Rows) -> np.ndarray:
        """Scores of samples: decision values without the offset.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger, the more a sample resembles the training samples.
        """
        self = self._snapshot()
        return self.decision_function(X) + self.offset_

    def predict(self, X: Rows) -> np.ndarray:
        """Whether samples are inliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            1 where the decision value is positive, -1 elsewhere, as in LIBSVM.
        """
        return self._judge(self.decision_function(X))

    @staticmethod
    def _judge(decisions: np.ndarray) -> np.ndarray:
        """Predictions from decision values."""
        return np.where(decisions > 0, 1, -1)
