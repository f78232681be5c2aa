"""The Nystroem map: features whose inner products approximate a kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._registry import MapKernelName
from ..base import params, wiped
from ..base.fit import Training, run, with_callbacks
from ..base.frame import Frame
from ..base.retained import RefusesToForget
from ..base.rows import RowEstimator, require_array, require_sound
from ..base.state import snapshot
from ..base.types import MatrixLike, RandomState
from ..base.warn import warn
from .estimator import encode_classes
from .landmarks import (
    LandmarkKernel,
    LandmarkMetric,
    Landmarks,
    Spectrum,
    choose_far_apart,
    decompose,
    draw_landmarks,
    single_suffices,
)
from .training import one_blas_thread

#: Ways to choose the landmarks.
Choice: TypeAlias = Literal["uniform", "balanced", "kmeans++"]
MAP_RULES = {
    "kernel": params.one_of(*get_args(MapKernelName)) | params.function(),
    "gamma": params.real(least=0.0) | params.nothing(),
    "coef0": params.real() | params.nothing(),
    "degree": params.real(least=1.0) | params.nothing(),
    "kernel_params": params.mapping() | params.nothing(),
    "n_components": params.integer(least=1),
    "landmarks": params.one_of(*get_args(Choice)),
    "n_jobs": params.jobs(),
}


class MapTraining(Training):
    """Choice of the landmarks and their spectrum, in one step."""

    def __init__(self, estimator: NystroemMap, X: Any, codes: np.ndarray | None) -> None:
        self.estimator, self.X, self.codes = estimator, X, codes
        self.found: dict[str, Any] = {}

    def has_learned(self) -> bool:
        return bool(self.found)

    def advance(self, steps: int | None) -> bool:
        """Choose landmarks and decompose their kernel matrix."""
        self.found = self.estimator._find(self.X, self.codes, None)[0]
        return False

    def attributes(self, unfinished: str) -> dict[str, Any]:
        return self.found


class NystroemMap(RefusesToForget, ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowEstimator):
    """Approximate a kernel map using a subset of the training data.

    A replacement of :class:`sklearn.kernel_approximation.Nystroem` with the same parameters and attributes. Kernel
    values and their product with the normalization are computed block by block, on all cores.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        Kernel by the rules of :func:`sklearn.metrics.pairwise.pairwise_kernels`; a callable takes two rows. The core
        computes 'rbf', 'poly', 'sigmoid' and 'linear'; scikit-learn computes the others.
    gamma : float, default=None
        Parameter of several kernels; None means 1 / n_features.
    coef0 : float, default=None
        Parameter of 'poly' and 'sigmoid'; None means 1.
    degree : float, default=None
        Degree of 'poly'; None means 3.
    kernel_params : dict, default=None
        Further parameters of the kernel.
    n_components : int, default=100
        Number of features, and of training samples that the map is made from.
    landmarks : {'uniform', 'balanced', 'kmeans++'}, default='uniform'
        How these samples are chosen: at random, as in scikit-learn; at random with the same number of each class, which
        needs y; or far from one another, among ten random samples for each.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice. With an int and 'uniform' it is the choice of scikit-learn; None gives the same choice in
        every fit.
    n_jobs : int, default=None
        Threads; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors. The results have
        the same bits.

    Attributes
    ----------
    components_ : {ndarray, sparse matrix} of shape (n_components, n_features)
        Training samples that the map is made from.
    component_indices_ : ndarray of shape (n_components,)
        Their indices in the training data.
    normalization_ : ndarray of shape (n_components, n_components)
        Inverse square root of the kernel matrix of ``components_``. Directions with eigenvalues that the precision of
        the data does not resolve are zero, so repeated samples do no harm.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    NystroemSVC : Support vector classifier on these features, without computing them.

    References
    ----------
    Williams and Seeger, "Using the Nystroem method to speed up kernel machines", NIPS 13, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from hingeline import LinearSVC, NystroemMap
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(NystroemMap(gamma=0.001, n_components=200), LinearSVC())
    >>> round(model.fit(X, y).score(X, y), 1)
    1.0
    """

    _rules = MAP_RULES
    _needed = ("components_", "normalization_", "_single")
    #: Coordinates of rows in the core; None: those of the user.
    _frame: Frame | None = None

    def __init__(
        self,
        kernel: LandmarkMetric = "rbf",
        *,
        gamma: float | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        landmarks: Choice = "uniform",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())

    @with_callbacks
    def fit(self, X: MatrixLike, y: npt.ArrayLike | None = None) -> Self:
        """Choose samples and compute the normalization.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,), default=None
            Labels for ``landmarks='balanced'``, otherwise ignored.

        Returns
        -------
        NystroemMap
            The fitted map.
        """
        run(self, type(self)._prepare_map, X, y)
        return self

    def _prepare_map(self, X: Any, y: Any) -> MapTraining:
        self._kernel()  # raises before the rows are read
        codes = None
        if self.landmarks == "balanced":
            if y is None:
                raise ValueError("landmarks='balanced' needs the labels y in fit. Pass them, or use 'uniform'.")
            X, y = self._check_rows(X, y, reset=True)
            codes = encode_classes(y)[1]
        else:
            X = self._check_rows(X, reset=True)
        if self.n_components > X.shape[0]:
            warn(f"n_components={self.n_components} is more than the {X.shape[0]} samples; all samples are used.")
        return MapTraining(self, X, codes)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Map samples to features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Features, in the precision of X.
        """
        self.__dict__.setdefault("_cache", {})
        self = snapshot(self)
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        with one_blas_thread():
            Z = self._landmarks(X.dtype).products(X, self.normalization_, self._threads())
        if not np.isfinite(Z.sum()) and not np.isfinite(Z).all():  # the sum of finite values may overflow
            raise ValueError("Features leave the range of floating-point numbers. Scale X.")
        return Z.astype(X.dtype, copy=False)

    # ---- shared with NystroemSVC ---------------------------------------------------------------------

    def _kernel(self) -> LandmarkKernel:
        """Kernel and parameters by the rules of scikit-learn's Nystroem."""
        given = dict(self.kernel_params or {})
        own = {name: getattr(self, name) for name in ("gamma", "coef0", "degree") if getattr(self, name) is not None}
        if callable(self.kernel) and own:
            raise ValueError("gamma, coef0 and degree must be None with a callable kernel. Use kernel_params.")
        return LandmarkKernel(self.kernel, given | own)

    def _find(self, X: Any, codes: np.ndarray | None, candidates: np.ndarray | None) -> tuple[dict[str, Any], Spectrum]:
        """Fitted attributes, with landmarks out of the rows `candidates` (None: all), and the spectrum behind them.

        `codes` are the classes of the rows, for balanced landmarks.
        """
        random = params.generator(self.random_state)
        n = X.shape[0] if candidates is None else len(candidates)
        count = min(self.n_components, n)
        own = codes if codes is None or candidates is None else codes[candidates]
        chosen = draw_landmarks(n, count, self.landmarks, random, own)
        chosen = chosen if candidates is None else candidates[chosen]
        if self.landmarks == "kmeans++":
            chosen = chosen[choose_far_apart(X[chosen], count, random)]
        return self._attributes(wiped.take(X, chosen), chosen, X)

    def _refill(
        self, X: Any, codes: np.ndarray | None, candidates: np.ndarray | None, stay: np.ndarray
    ) -> tuple[dict[str, Any], Spectrum]:
        """As `_find`, with the landmarks `stay`: rows of X, or -1 for those to be replaced by other rows.

        Others are drawn as in `_find`, but not by k-means++, whose choices depend on one another.
        """
        free = np.arange(X.shape[0]) if candidates is None else candidates
        count = min(self.n_components, len(free))
        chosen = np.concatenate([stay, np.full(max(count - len(stay), 0), -1)])
        chosen[~np.isin(chosen, free)] = -1
        empty = np.flatnonzero(chosen < 0)[: count - int((chosen >= 0).sum())]
        free = np.setdiff1d(free, chosen)
        rule = "balanced" if self.landmarks == "balanced" else "uniform"
        own = None if codes is None else codes[free]
        drawn = draw_landmarks(len(free), len(empty), rule, params.generator(self.random_state), own)
        chosen[empty] = free[drawn]
        chosen = chosen[chosen >= 0]
        return self._attributes(wiped.take(X, chosen), chosen, X)

    def _attributes(self, components: Any, indices: np.ndarray, X: Any) -> tuple[dict[str, Any], Spectrum]:
        """Fitted attributes for given landmarks; X are the rows that decide on the precision of kernel values."""
        kernel = self._kernel().in_frame(X)
        single = single_suffices(kernel, X)
        if not single:
            kernel.warn_of_lost_digits(X)
        with one_blas_thread():
            found = decompose(Landmarks(kernel, components, np.float64), self._threads())
            normalization = found.normalization(np.float32 if X.dtype == np.float32 else np.float64)
        attributes = {
            "components_": components,
            "component_indices_": indices,
            "normalization_": normalization,
            "_single": single,
            "_frame": kernel.frame,
            "_n_features_out": components.shape[0],
            "_cache": {},
        }
        return attributes, found

    def _landmarks(self, dtype: Any) -> Landmarks:
        """Landmarks that give kernel values in a precision, or in double where single precision does not suffice."""
        dtype = np.dtype(dtype if self._single else np.float64)
        cache = self.__dict__.setdefault("_cache", {})
        kernel = replace(self._kernel(), frame=self._frame)
        kept = cache.get(dtype.char)
        if kept is None or kept.rows is not self.components_ or kept.kernel != kernel:
            kept = cache[dtype.char] = Landmarks(kernel, self.components_, dtype)
        return kept

    def _check_saved(self) -> None:
        super()._check_saved()
        if "components_" not in vars(self):
            return
        self._kernel()  # raises for other types
        rows = self.components_
        _core.Matrix(rows)  # raises for other types
        require_sound(rows.shape[1] == self.n_features_in_, "components_ has another number of features")
        require_array(self, "normalization_", (rows.shape[0], rows.shape[0]))
        require_sound(isinstance(self._single, bool | np.bool_), "_single must be a boolean")
        require_sound(isinstance(self._frame, Frame | None), "_frame must be a frame or None")

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_cache", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
