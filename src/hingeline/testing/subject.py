"""The estimator under test: what it offers, its streams, and how its models are compared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags

Samples: TypeAlias = np.ndarray | sp.csr_array
#: Relative difference allowed between two ways to the same optimum, for estimators that can forget.
EXACT_TOL = 1e-8
#: Rows of most streams here, and rows of their first part.
N_ROWS, N_FIRST = 70, 30


class Law(NamedTuple):
    """A check: whether it applies to an estimator, and the names of its cases ('' if there is only one)."""

    function: Callable[..., None]
    applies: Callable[[Subject], bool]
    cases: Callable[[Subject], Iterable[str]]


#: All checks.
LAWS: list[Law] = []


def law(
    applies: Callable[[Subject], bool] = lambda s: True, *, cases: Callable[[Subject], Iterable[str]] = lambda s: [""]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator that adds a check to `LAWS`."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        LAWS.append(Law(function, applies, cases))
        return function

    return add


class Subject:
    """Estimator under test, what it offers, and how to compare its models."""

    def __init__(self, estimator: BaseEstimator, tol: float | None, attributes: tuple[str, ...]) -> None:
        self.estimator = estimator
        self.forgets = hasattr(estimator, "forget")
        self.tol = (EXACT_TOL if self.forgets else 0.0) if tol is None else tol
        self.attributes = attributes
        self.parameters = estimator.get_params()
        self.window = self.parameters.get("window")
        self.labelled = is_classifier(estimator)
        self.weighted = "sample_weight" in inspect.signature(estimator.partial_fit).parameters
        self.sparse = bool(get_tags(estimator).input_tags.sparse)

    def new(self, **parameters: object) -> BaseEstimator:
        """Return an unfitted estimator."""
        model = clone(self.estimator)
        if self.parameters.get("gamma") == "scale":
            parameters = {"gamma": 0.3, **parameters}
        if "random_state" in self.parameters:
            parameters = {"random_state": 0, **parameters}
        return model.set_params(**parameters)

    def data(self, n: int = N_ROWS, n_classes: int = 3, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return overlapping classes; half of the entries are zero."""
        rng = np.random.default_rng(seed)
        y = rng.integers(0, n_classes, n)
        y[:n_classes] = np.arange(n_classes)
        centres = 1.5 * rng.standard_normal((n_classes, d))
        return (centres[y] + rng.standard_normal((n, d))) * (rng.random((n, d)) < 0.5), y

    def learn(
        self,
        model: BaseEstimator,
        X: Samples,
        y: np.ndarray,
        cuts: Iterable[int] = (),
        *,
        weight: np.ndarray | None = None,
        classes: npt.ArrayLike | None = None,
    ) -> BaseEstimator:
        """Feed the chunks between `cuts` to ``partial_fit``."""
        ends = sorted({*cuts, X.shape[0]} - {0})
        for begin, end in pairwise([0, *ends]):
            arguments: dict[str, npt.ArrayLike] = {}
            if self.labelled:
                arguments["y"] = y[begin:end]
                if begin == 0 and not is_fitted(model):
                    arguments["classes"] = np.unique(y) if classes is None else classes
            if weight is not None and self.weighted:
                arguments["sample_weight"] = weight[begin:end]
            model.partial_fit(X[begin:end], **arguments)
        return model

    def fit(self, model: BaseEstimator, X: Samples, y: np.ndarray) -> BaseEstimator:
        """Call ``fit``."""
        return model.fit(X, y) if self.labelled else model.fit(X)

    def weights(self, n: int) -> np.ndarray:
        """Return some weights, all positive; `learn` drops them if the estimator takes none."""
        return np.random.default_rng(0).choice([0.5, 1.0, 2.0], n)

    def assert_same(self, one: BaseEstimator, other: BaseEstimator, X: Samples, tol: float = 0.0) -> None:
        """Two models are the same: predictions, and for tol=0 the attributes named by the caller."""
        for name in ("classes_", "ids_"):
            if hasattr(one, name):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert_close(decision_values(one, X), decision_values(other, X), tol)
        for name in self.attributes if tol == 0 else ():
            np.testing.assert_equal(_attribute(other, name), _attribute(one, name), err_msg=name)


def decision_values(model: BaseEstimator, X: Samples) -> np.ndarray:
    """Decision values, or predictions where there are none."""
    values = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    if values.dtype.kind not in "biuf":  # labels that are texts
        values = np.searchsorted(model.classes_, values)
    assert np.isfinite(values).all(), "decision values are not finite"
    return np.asarray(values)


def assert_close(one: np.ndarray, other: np.ndarray, tol: float) -> None:
    """Decision values agree to `tol` times the largest of them; tol=0: to the bit."""
    scale = max(1.0, float(np.abs(other).max(initial=0.0)))
    np.testing.assert_allclose(one, other, rtol=0, atol=tol * scale, err_msg="decision values")


def _attribute(model: BaseEstimator, name: str) -> object:
    """Attribute, or column of one that is a dict; times never agree."""
    name, _, column = name.partition(".")
    value = getattr(model, name)
    if column:
        return value[column]
    return {k: v for k, v in value.items() if k != "seconds"} if isinstance(value, dict) else value


def is_fitted(model: BaseEstimator) -> bool:
    """Whether a model has fitted attributes."""
    return any(name.endswith("_") and not name.startswith("_") for name in vars(model))


def read_state(value: object, path: str = "model", found: dict[str, object] | None = None) -> dict[str, object]:
    """Everything that pickle would save except times, as bytes by the path to it."""
    found = {} if found is None else found
    if "seconds" in path or path.endswith("['held']['real']"):
        return found
    if isinstance(value, np.ndarray) and value.dtype != object:
        found[path] = (value.dtype.str, value.shape, value.tobytes())
    elif sp.issparse(value):
        for name in ("data", "indices", "indptr"):
            read_state(getattr(value, name), f"{path}.{name}", found)
    elif isinstance(value, dict):
        names = all(isinstance(key, str) for key in value)  # the order of attributes means nothing
        found[path] = list(map(repr, sorted(value) if names else value))
        for key, item in value.items():
            read_state(item, f"{path}[{key!r}]", found)
    elif isinstance(value, list | tuple | np.ndarray):
        found[path] = len(value)
        for k, item in enumerate(value):
            read_state(item, f"{path}[{k}]", found)
    elif isinstance(value, str | bytes | int | float | complex | np.generic | set | frozenset | type(None) | type):
        found[path] = repr(value)
    elif inspect.isroutine(value):
        found[path] = getattr(value, "__qualname__", repr(value))
    else:
        found[path] = type(value).__qualname__
        read_state(value.__reduce_ex__(4)[1:3], path, found)
    return found


def assert_unchanged(model: BaseEstimator, before: dict[str, object]) -> None:
    """What pickle would save is what it was `before`."""
    after = read_state(model)
    assert before.keys() == after.keys(), f"the saved state has other parts: {before.keys() ^ after.keys()}"
    changed = [name for name, value in after.items() if before[name] != value]
    assert not changed, f"changed: {changed[:5]}"


def raises(call: Callable[[], object], *errors: type[BaseException]) -> None:
    """A call raises one of several errors."""
    try:
        call()
    except errors:
        return
    raise AssertionError(f"none of {[error.__name__ for error in errors]} was raised")
