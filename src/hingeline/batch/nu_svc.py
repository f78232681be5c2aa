"""Nu-support vector classification, solved exactly: the drop-in for :class:`sklearn.svm.NuSVC`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from .._registry import kernel_parameters
from ..base import params
from ..base.duration import Work
from ..base.labels import pairs
from ..base.rows import clip_weights
from ..base.types import ClassWeight, Device, Gamma, Kernel, RandomState
from .engine import NU, remedies
from .svc import SVC_RULES, PairsEstimator, SvcTraining


class NuSvcTraining(SvcTraining):
    """One fit of a classifier; warns of margins that tol cannot tell from zero."""

    keeps_slopes = False  # published coefficients are divided by the margin

    def complaints(self) -> Iterator[str]:
        yield from super().complaints()
        est = self.estimator
        sums = np.bincount(self.codes, self.weights)
        first, second = pairs(len(sums))
        # At the optimum the margin before the division is b'Kb / sum |b|, and the dual objective is -b'Kb / 2.
        margins = -2 * est.dual_objective_ / (est.nu * (sums[first] + sums[second]))
        vague = margins <= np.maximum(est.kkt_violation_, np.finfo(float).tiny)
        if vague.any():
            wider = "raise gamma" if "gamma" in kernel_parameters(est.kernel) else ""
            yield (
                f"{vague.sum()} of {len(vague)} machines have a margin of {margins[vague].min():.3g}, not above "
                f"their KKT violation (tol={est.tol:g}), so their labels may depend on rounding errors: nu={est.nu:g} "
                "leaves hardly any margin, or the kernel values of the samples hardly differ. "
                f"{remedies('Raise nu', wider, 'scale the features')}"
            )


class NuSVC(PairsEstimator):
    """Nu-support vector classification, a drop-in replacement of :class:`sklearn.svm.NuSVC`.

    The problem, the parameters, the stopping rule and the fitted attributes are those of scikit-learn; the solver is
    that of :class:`SVC`. The optimum is that of SVC with a C that `nu` determines.

    Multi-class problems are split one-vs-one. Results do not depend on ``n_jobs`` or ``cache_size``, to the bit.

    Parameters
    ----------
    nu : float, default=0.5
        Share of samples, in (0, 1]: at most this share violates the margin, and at least this share are support
        vectors. For each pair of classes it can be at most twice the share of the smaller one.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets X twice, in the form that X has, and returns the whole kernel matrix.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly' and 'sigmoid', as in :class:`SVC`.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    shrinking : bool, default=True
        Whether samples that are far from the margin are left out of most steps. It has no influence on the optimum.
    probability : bool, default='deprecated'
        Whether to fit probabilities, by cross-validation with five folds. Deprecated as in scikit-learn 1.9: use
        :class:`sklearn.calibration.CalibratedClassifierCV`.
    tol : float, default=1e-3
        Largest violation of the optimality conditions at which training stops, in units of the decision values before
        they are divided by the margin, as in LIBSVM. It holds in double precision.
    cache_size : float, default=200
        Memory in MB for kernel values.
    class_weight : dict or 'balanced', default=None
        Published in ``class_weight_``. Training does not use it, as in scikit-learn, because the coefficients of both
        classes have the same sum; use `sample_weight`.
    verbose : bool, default=False
        Whether to print a line for each pair of classes after training.
    max_iter : int, default=-1
        Limit of changes of pairs of coefficients for each pair of classes; -1 means 10 million, or 1000 times the
        number of samples of the two classes if that is more.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with more than two classes.
    break_ties : bool, default=False
        Whether :meth:`predict` breaks ties between votes by the decision values, which requires
        ``decision_function_shape='ovr'``. Otherwise the first class wins.
    random_state : int, RandomState instance or None, default=None
        Folds of ``probability=True``. Training itself is deterministic.
    warm_start : bool, default=False
        Whether the coefficients of the last fit are the starting point if the samples and labels are the same.
    n_jobs : int, default=None
        Threads for training and prediction. None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all
        processors.
    device : {'cpu', 'cuda', 'auto'}, default='cpu'
        Where the model is trained. 'cuda' takes an NVIDIA card and needs CuPy, ``pip install "hingeline[cuda]"``;
        'auto' takes it where it is usable and the problem large. The model is the same either way.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class by `class_weight`.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the training rows, class after class.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_support, n_features)
        Support vectors; empty with a precomputed or callable kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : {ndarray, sparse matrix} of shape (n_classes - 1, n_support)
        Signed coefficients in LIBSVM's layout, divided by the margin; sparse if X is sparse. Read-only.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts.
    coef_ : {ndarray, sparse matrix} of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features, with a linear kernel only. Read-only.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Changes of pairs of coefficients of each machine.
    fit_status_ : int
        0 if every machine reached `tol`, else 1.
    shape_fit_ : tuple of int
        Shape of the training data.
    stop_reason_ : ndarray of str of shape (n_classes * (n_classes - 1) / 2,)
        'tol', 'max_iter', 'precision' (rounding errors end the progress), 'interrupted' (Ctrl-C) or 'stopped' (by a
        callback).
    kkt_violation_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Violation of the optimality conditions at the end, in units of `tol`.
    dual_objective_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Dual objective of each machine, of the coefficients before they are divided by the margin.
    duality_gap_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Primal minus dual objective of each machine.
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
    SVC : C is given instead of the share of support vectors.

    Notes
    -----
    The model stores its support vectors, which are rows of the training data.

    References
    ----------
    B. Schoelkopf, A. J. Smola, R. C. Williamson, P. L. Bartlett, "New support vector algorithms", Neural Computation
    12, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = NuSVC(nu=0.1, gamma=0.5).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | Literal["deprecated"] = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: ClassWeight = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        random_state: RandomState = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: Device = "cpu",
    ) -> None:
        params.assign(self, locals())

    _work = Work(values=0.5, updates=1.5, grows=False)
    _rules = {"nu": NU, **SVC_RULES}
    _one_fit = NuSvcTraining

    def _problem(self, codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float, dict[str, float]]:
        weights = clip_weights(weights)
        sums = np.bincount(codes, weights)
        least, most = sums.min(), sums.max()
        if self.nu * (least + most) / 2 > least:
            raise ValueError(
                f"specified nu is infeasible: nu must be at most {2 * least / (least + most):.6g}, twice the weight of "
                f"the smallest class divided by that of its pair with the largest one. Got {self.nu:g}. Lower nu, or "
                "give the smaller class more weight by sample_weight."
            )
        return weights, 1.0, {"nu": float(self.nu)}
