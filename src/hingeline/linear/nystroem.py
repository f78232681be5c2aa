"""Support vector machines on the features of the Nystroem map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite

from ..base import params
from ..base.kernel import entry_variance
from ..base.labels import read_only
from ..base.retained import Retained
from ..base.rows import require_array, require_finite, require_sound
from ..base.types import ClassWeight, Gamma, MatrixLike, RandomState
from .estimator import LINEAR_RULES, require_room
from .finite_newton import LinearClassifier
from .landmarks import LandmarkMetric
from .mapped import build_problems
from .minimiser import Minimiser
from .nystroem_map import MAP_RULES, Choice, NystroemMap
from .path import fit_path
from .sums import Loss
from .training import in_partitions, one_blas_thread

#: Rows per coordinate from which a sketch of the Hessian pays.
SKETCHED_ROWS = 200


class MappedMinimiser(Minimiser):
    """A minimiser whose Hessians have all rows unless these are very many.

    Few rows stay active at large C, and systems are ill-conditioned: a sketch would save little and cost many steps.
    """

    def _sketch(self) -> tuple[int, bool]:
        few = self.problem.n_rows < SKETCHED_ROWS * self.problem.length
        return (1, False) if few else super()._sketch()


class NystroemSVC(LinearClassifier):
    """Support vector classifier with an approximate kernel, for up to millions of samples.

    Minimises ``|w|^2 / 2 + b'^2 / 2 + C sum_i s_i L(1 - t_i (w.z_i + b))`` with ``b = intercept_scaling * b'``, where
    z_i are the features of :class:`NystroemMap`: the problem of :class:`LinearSVC` on these. The features
    themselves are never computed. Time and memory grow linearly with the number of samples.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, as in :class:`LinearSVC`.
    kernel : str or callable, default='rbf'
        Kernel, as in :class:`NystroemMap`.
    gamma : {'scale', 'auto'} or float, default='scale'
        Parameter of several kernels: ``1 / (n_features * X.var())``, ``1 / n_features``, or a number.
    coef0 : float, default=0.0
        Parameter of 'poly' and 'sigmoid'.
    degree : float, default=3
        Degree of 'poly'.
    kernel_params : dict, default=None
        Further parameters of the kernel.
    n_components : int, default=500
        Number of landmarks, the training samples that the map is made from; at most all samples. More are more
        accurate, and take more time.
    landmarks : {'balanced', 'uniform', 'kmeans++'}, default='balanced'
        How landmarks are chosen, as in :class:`NystroemMap`: by default the same number of each class. Samples of
        weight zero are never landmarks.
    loss : {'squared_hinge', 'huber', 'hinge', 'squared'}, default='squared_hinge'
        Loss, as in :class:`LinearSVC`.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant feature that represents the intercept.
    tol : float, default=1e-3
        Training stops when the duality gap is at most `tol` times the objective.
    max_iter : int, default=1000
        Newton iterations of a machine.
    class_weight : dict or 'balanced', default=None
        Factor on the weights of the samples of a class.
    solver : {'auto', 'gram', 'cg'}, default='auto'
        How to solve Newton's systems, as in :class:`LinearSVC`.
    cache_size : float, default=4096
        Memory for kernel values between samples and landmarks in MB. If they take more, they are computed again in each
        pass over the samples. With two classes and at least ``20 * n_components`` samples the results have the same
        bits, otherwise they are equal up to `tol`.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of landmarks. None gives the same choice in every fit.
    n_jobs : int, default=None
        Threads; None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all processors. The results have
        the same bits.

    Attributes
    ----------
    map_ : NystroemMap
        The map.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class.
    coef_ : ndarray of shape (n_machines, n_components)
        Weights of the features of the map; one machine for two classes, otherwise one for each class.
    intercept_ : ndarray of shape (n_machines,)
        Intercepts.
    landmark_coef_ : ndarray of shape (n_machines, n_components)
        Weights of the kernel values against the landmarks ``map_.components_``. Predictions use these.
    n_iter_ : ndarray of shape (n_machines,)
        Newton iterations.
    n_passes_ : float
        Passes over the rows; partial passes count by their share of the rows.
    objective_ : ndarray of shape (n_machines,)
        Primal objectives.
    duality_gap_ : ndarray of shape (n_machines,)
        Duality gaps: upper bounds of the distance of the objectives from their minima.
    solver_ : str
        Solver that was used.
    stop_reason_ : ndarray of str of shape (n_machines,)
        As in :class:`LinearSVC`.
    history_ : dict of ndarray
        As in :class:`LinearSVC`.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    SVC : The exact solution.
    nystroem_svc_path : Models for many values of C.

    Notes
    -----
    Kernel values are in single precision where that suffices for the kernel and the data.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from hingeline import NystroemSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NystroemSVC(C=10.0, n_components=200).fit(X, y)
    >>> round(model.score(X, y), 1)
    1.0
    """

    _rules = {
        **{name: rule for name, rule in LINEAR_RULES.items() if name != "warm_start"},
        **MAP_RULES,
        "gamma": params.one_of("scale", "auto") | params.real(least=0.0),
        "coef0": params.real(),
        "degree": params.real(least=1.0),
        "solver": params.one_of("auto", "gram", "cg"),
        "fit_intercept": params.boolean(),
        "intercept_scaling": params.real(above=0.0, most=1e50),
        "cache_size": params.real(least=0.0, most=1e12),
    }
    _needed = (*LinearClassifier._needed, "landmark_coef_", "map_")
    #: Fixed options of the linear classifiers.
    multi_class, decision_function_shape, warm_start = "ovr", "ovr", False

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: LandmarkMetric = "rbf",
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        degree: float = 3,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 500,
        landmarks: Choice = "balanced",
        loss: Loss = "squared_hinge",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        class_weight: ClassWeight = None,
        solver: Literal["auto", "gram", "cg"] = "auto",
        cache_size: float = 4096,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        params.assign(self, locals())

    # ---- from data to machines -----------------------------------------------------------------------

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, list[Any]]:
        if in_partitions(X):
            from .dask.fitting import build_mapped_problem

            return X, y, [build_mapped_problem(self, X, y, sample_weight)]
        X, codes, weights = self._validate_fit(X, y, sample_weight)
        assert_all_finite(X, input_name="X", estimator_name=type(self).__name__)
        some = np.flatnonzero(weights) if sample_weight is not None else None
        scaled = self.gamma == "scale" and not callable(self.kernel)
        variance = entry_variance(X, None if sample_weight is None else weights) if scaled else None
        self._new_map(variance, X.shape[1])
        attributes, found = self._find_landmarks(X, codes, some)
        self._set_map(attributes, found)
        landmarks = self.map_._landmarks(np.float32)
        layout = self._layout(landmarks.rows.shape[0])
        require_room(layout)
        limits = {"threads": self._threads(), "most_bytes": self.cache_size * 2**20}
        problems = build_problems(layout, X, codes, weights, landmarks, found, **limits)
        return X, self.classes_[codes], problems

    def _find_landmarks(self, X: Any, codes: np.ndarray, candidates: np.ndarray | None) -> tuple[dict[str, Any], Any]:
        """Fitted attributes of the map and the spectrum behind them. Landmarks of an earlier map stay; see `_stay`."""
        stay = self.__dict__.pop("_stay", None)
        return self.map_._find(X, codes, candidates) if stay is None else self.map_._refill(X, codes, candidates, stay)

    def _solution(self, before: Retained, rows: np.ndarray) -> Callable[[], np.ndarray]:
        """Projection of the present function to the span of the new landmarks.

        It has the values of the present function at the landmarks: with these in f, the point is ``B f``.
        """
        old = np.flatnonzero(rows >= 0)
        places = np.full(len(before), -1)
        places[rows[old]] = old
        #: Row of each landmark of the present map among the rows kept now, or -1.
        self._stay = places[self.map_.component_indices_]
        landmarks, coef, intercept = self.map_._landmarks(np.float64), self.landmark_coef_, self.intercept_

        def points() -> np.ndarray:
            values = landmarks.outputs(self.map_.components_, coef, np.zeros(len(coef)), self._threads())
            with one_blas_thread():
                return self._join(values.T @ self._coordinates.B.T, intercept)

        return points

    def _new_map(self, variance: float | None, n_features: int) -> None:
        """Set ``map_`` to an unfitted map with the parameters of this estimator; `variance` is for gamma='scale'."""
        own = {name: getattr(self, name) for name in ("kernel", "coef0", "degree", "kernel_params", "n_components")}
        own |= {"landmarks": self.landmarks, "random_state": self.random_state, "n_jobs": self.n_jobs}
        gamma = self.gamma
        if isinstance(gamma, str):
            spread = 1.0 if variance is None else variance
            gamma = 1.0 / (n_features * spread) if spread > 0 else 1.0
        own |= {"coef0": None, "degree": None} if callable(self.kernel) else {"gamma": float(gamma)}
        self.map_ = NystroemMap(**own)

    def _set_map(self, attributes: dict[str, Any], found: Any) -> None:
        """Set the fitted attributes of ``map_``, and the coordinates of the machines."""
        names = {name: vars(self)[name] for name in ("n_features_in_", "feature_names_in_") if name in vars(self)}
        self.map_.__dict__.update(attributes | names)
        self._coordinates = found.coordinates()

    def _minimiser(self, problem: Any, lam: float, points: np.ndarray | None, *, many: bool = False) -> Minimiser:
        options = {name: getattr(self, name) for name in ("loss", "tol", "max_iter")}
        solver = self.solver
        if solver == "auto":  # ill-conditioned systems: conjugate gradients only where Hessians do not fit
            solver = "gram" if 8 * problem.n_machines * problem.length**2 <= problem.rows.hessian_bytes else "cg"
        return MappedMinimiser(problem, lam, points, many=many, solver=solver, **options)

    def _check_weights(self, n_classes: int, width: int) -> None:
        require_sound(isinstance(self.map_, NystroemMap), "map_ must be a NystroemMap")
        params.check(self.map_, self.map_._rules)
        require_sound(self.map_.n_features_in_ == width, "map_ has another number of features")
        n_components = self.map_.components_.shape[0]
        super()._check_weights(n_classes, n_components)
        require_array(self, "landmark_coef_", self.coef_.shape)

    # ---- from machines to attributes -----------------------------------------------------------------

    def _split(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        coef, intercept = super()._split(points)
        return read_only(coef @ self._coordinates.vectors), intercept

    def _fitted_attributes(
        self, points: np.ndarray, attributes: dict[str, np.ndarray], scales: np.ndarray
    ) -> dict[str, Any]:
        coef, intercept = self._split(points)
        made = points[:, : len(self._coordinates.B)] @ self._coordinates.B
        return {"coef_": coef, "intercept_": intercept, "landmark_coef_": read_only(made), **attributes}

    def _decisions(self, X: Any) -> np.ndarray:
        with one_blas_thread():
            landmarks = self.map_._landmarks(np.float32)
            return require_finite(landmarks.outputs(X, self.landmark_coef_, self.intercept_, self._threads()))

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_coordinates", None)  # needed in training only
        return state


def nystroem_svc_path(
    X: MatrixLike,
    y: npt.ArrayLike,
    *,
    Cs: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    **parameters: Any,
) -> list[NystroemSVC]:
    """Fit :class:`NystroemSVC` for many values of C, each fit starting from the result of the last.

    The map, the kernel values and their Hessians are shared.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : array-like of shape (n_samples,)
        Labels.
    Cs : array-like of shape (n_Cs,)
        Values of C, in any order.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.
    **parameters
        Other parameters of :class:`NystroemSVC`.

    Returns
    -------
    list of NystroemSVC
        A fitted model for each value of C, in the order given. They share ``map_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hingeline import nystroem_svc_path
    >>> X, y = load_iris(return_X_y=True)
    >>> [round(model.score(X, y), 1) for model in nystroem_svc_path(X, y, Cs=[1.0, 10.0])]
    [1.0, 1.0]
    """
    return fit_path("nystroem_svc_path", NystroemSVC, parameters, X, y, Cs, sample_weight)
