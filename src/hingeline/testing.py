"""Checks for estimators that learn online.

:func:`check_online_estimator` does for ``partial_fit`` what :func:`sklearn.utils.estimator_checks.check_estimator` does
for ``fit``. Each check states one law: how a stream is cut into chunks does not matter, a copy made in the middle of a
stream goes on like the original, an error leaves the model unchanged, and so on. Which checks run depends on what the
estimator offers: class labels, ``sample_weight``, ``add`` and ``forget``, a callable kernel, ``cache_size``, a window.
"""

from __future__ import annotations

import _thread
import copy
import gc
import inspect
import io
import os
import pickle
import signal
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import SkipTest

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

__all__ = ["OnlineCheck", "check_online_estimator", "online_checks", "parametrize_with_online_checks"]

#: Relative difference allowed between two ways to the same optimum, for estimators that can forget.
EXACT_TOL = 1e-8
#: Rows of most streams here, and rows of their first part.
N_ROWS, N_FIRST = 70, 30


# ---- the battery -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnlineCheck:
    """One check: call it with an estimator. It raises AssertionError if the estimator breaks the law.

    Attributes
    ----------
    name : str
        Name of the check, with its case in brackets.
    function : callable
        Function that checks.
    case : tuple
        Further arguments of `function`.
    tol : float or None
        As in :func:`check_online_estimator`.
    attributes : tuple of str
        As in :func:`check_online_estimator`.
    """

    name: str
    function: Callable[..., None]
    case: tuple[Any, ...] = ()
    tol: float | None = None
    attributes: tuple[str, ...] = ()

    def __call__(self, estimator: Any) -> None:
        self.function(_Subject(estimator, self.tol, self.attributes), *self.case)


def check_online_estimator(
    estimator: Any,
    *,
    tol: float | None = None,
    attributes: Sequence[str] = (),
    expected_failed_checks: dict[str, str] | None = None,
) -> None:
    """Check that an estimator learns online as it should.

    Parameters
    ----------
    estimator : estimator
        Classifier or outlier detector with ``partial_fit``. It is cloned; ``gamma='scale'``, which depends on the first
        chunk, is replaced by a number.
    tol : float, default=None
        Largest difference of decision values, relative to the largest of them, between two ways to the same model, such
        as other chunks. 0: equal to the bit. None: 0, or 1e-8 for estimators that can ``forget``, which reach the same
        optimum with other rounding errors.
    attributes : sequence of str, default=()
        Fitted attributes that must agree to the bit wherever decision values must; ``'history_.step'`` names one column
        of a dict.
    expected_failed_checks : dict of str to str, default=None
        Checks that are left out, and the reason.

    Raises
    ------
    AssertionError
        If the estimator breaks one of the laws; a note has the name of the check.

    See Also
    --------
    parametrize_with_online_checks : The same as pytest parameters, one test per check.

    Examples
    --------
    >>> from hingeline import IncrementalOneClassSVM
    >>> from hingeline.testing import check_online_estimator
    >>> check_online_estimator(IncrementalOneClassSVM(nu=0.3), attributes=["support_", "dual_coef_"])
    """
    for check in online_checks(estimator, tol=tol, attributes=attributes):
        if check.name in (expected_failed_checks or {}):
            continue
        try:
            check(estimator)
        except SkipTest as reason:
            warnings.warn(f"{check.name} was skipped: {reason}", stacklevel=2)
        except Exception as error:
            error.add_note(f"in {check.name}")
            raise


def parametrize_with_online_checks(
    estimators: Iterable[Any],
    *,
    tol: float | None = None,
    attributes: Sequence[str] = (),
    expected_failed_checks: Callable[[Any], dict[str, str]] | None = None,
) -> Any:
    """Pytest decorator: one test per estimator and check.

    Parameters
    ----------
    estimators : iterable of estimators
        Estimators to check.
    tol, attributes : optional
        As in :func:`check_online_estimator`.
    expected_failed_checks : callable, default=None
        Returns, for an estimator, the checks that fail and the reasons. These tests are strict expected failures.

    Returns
    -------
    pytest.MarkDecorator
        Decorator of a function with the arguments ``estimator`` and ``check``.

    Examples
    --------
    >>> from hingeline import LASVC
    >>> from hingeline.testing import parametrize_with_online_checks
    >>> @parametrize_with_online_checks([LASVC(gamma=0.5)])
    ... def test_online(estimator, check):
    ...     check(estimator)
    """
    import pytest

    parameters = []
    for estimator in estimators:
        failures = expected_failed_checks(estimator) if expected_failed_checks else {}
        for check in online_checks(estimator, tol=tol, attributes=attributes):
            reason = failures.get(check.name)
            marks = pytest.mark.xfail(reason=reason, strict=True) if reason else ()
            parameters.append(
                pytest.param(estimator, check, marks=marks, id=f"{' '.join(repr(estimator).split())}-{check.name}")
            )
    return pytest.mark.parametrize(("estimator", "check"), parameters)


def online_checks(estimator: Any, *, tol: float | None = None, attributes: Sequence[str] = ()) -> Iterator[OnlineCheck]:
    """Checks that apply to an estimator.

    Parameters
    ----------
    estimator : estimator
        Classifier or outlier detector with ``partial_fit``.
    tol, attributes : optional
        As in :func:`check_online_estimator`.

    Yields
    ------
    OnlineCheck
        A check.
    """
    subject = _Subject(estimator, tol, tuple(attributes))
    for function, cases in _applicable(subject):
        for case in cases or ((),):
            name = function.__name__ + (f"[{case[0]}]" if case else "")
            yield OnlineCheck(name, function, case, tol, tuple(attributes))


def _applicable(subject: _Subject) -> Iterator[tuple[Callable[..., None], list[tuple[Any, ...]]]]:
    """Check functions and their cases, by what the estimator offers."""
    yield check_chunks, []
    yield check_fit_starts_again, []
    yield check_fit_goes_on, []
    yield check_clone_is_unfitted, []
    yield check_copies, [(kind,) for kind in COPIES]
    yield check_memory, []
    yield check_models_in_threads, []
    yield check_predictions_in_threads, []
    yield check_predictions_while_learning, []
    yield check_predict_is_pure, []
    yield check_data_are_copied, []
    yield check_interrupt_by_signal, []
    bad = {name: make for name, make in BAD_CHUNKS.items() if subject.labelled or name not in LABEL_CASES}
    bad = {name: make for name, make in bad.items() if subject.weighted or "weight" not in name}
    yield check_bad_chunk, [(name,) for name in bad]
    yield check_bad_first_chunk, [(name,) for name in bad if name not in LATER_CASES]
    if subject.labelled:
        yield check_new_labels, []
        yield check_declared_labels, []
        yield check_first_call, []
    windowless = subject.parameters.get("window") is None
    if subject.weighted:
        yield check_weight_one, []
        if windowless:  # a row of weight zero takes a place in a window
            yield check_weight_zero, []
        if subject.labelled and "class_weight" in subject.parameters:
            yield check_class_weight, []
    if subject.sparse:
        yield check_dense_and_sparse, []
    if "cache_size" in subject.parameters:
        yield check_cache_size, []
    if "n_jobs" in subject.parameters:
        yield check_n_jobs, []
    if "kernel" in subject.parameters:
        yield check_failing_kernel, [(name,) for name in KERNEL_FAILURES]
        yield check_interrupt, [(how,) for how in INTERRUPTS if subject.labelled or "label" not in how]
    if hasattr(subject.estimator, "forget"):
        yield check_forget, []
        yield check_unknown_ids, []
        if subject.weighted and windowless:
            yield check_weight_two, []
    if not windowless:
        yield check_window, []


# ---- the estimator and its streams -------------------------------------------------------------------


class _Subject:
    """Estimator under test, what it offers, and how to compare its models."""

    def __init__(self, estimator: Any, tol: float | None, attributes: tuple[str, ...]) -> None:
        self.estimator = estimator
        self.tol = (EXACT_TOL if hasattr(estimator, "forget") else 0.0) if tol is None else tol
        self.attributes = attributes
        self.parameters = estimator.get_params()
        self.labelled = is_classifier(estimator)
        self.weighted = "sample_weight" in inspect.signature(estimator.partial_fit).parameters
        self.sparse = bool(get_tags(estimator).input_tags.sparse)

    def new(self, **parameters: Any) -> Any:
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
        model: Any,
        X: Any,
        y: np.ndarray,
        cuts: Iterable[int] = (),
        *,
        weight: np.ndarray | None = None,
        classes: Any = None,
    ) -> Any:
        """Feed the chunks between `cuts` to ``partial_fit``."""
        ends = sorted({*cuts, X.shape[0]} - {0})
        for begin, end in pairwise([0, *ends]):
            arguments: dict[str, Any] = {}
            if self.labelled:
                arguments["y"] = y[begin:end]
                if begin == 0 and not _is_fitted(model):
                    arguments["classes"] = np.unique(y) if classes is None else classes
            if weight is not None and self.weighted:
                arguments["sample_weight"] = weight[begin:end]
            model.partial_fit(X[begin:end], **arguments)
        return model

    def fit(self, model: Any, X: Any, y: np.ndarray) -> Any:
        """Call ``fit``."""
        return model.fit(X, y) if self.labelled else model.fit(X)

    def weights(self, n: int) -> np.ndarray:
        """Return some weights, all positive; `learn` drops them if the estimator takes none."""
        return np.random.default_rng(0).choice([0.5, 1.0, 2.0], n)

    def assert_same(self, one: Any, other: Any, X: Any, tol: float = 0.0) -> None:
        """Two models are the same: predictions, and for tol=0 the attributes named by the caller."""
        for name in ("classes_", "ids_"):
            if hasattr(one, name):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        _assert_close(_values(one, X), _values(other, X), tol)
        for name in self.attributes if tol == 0 else ():
            np.testing.assert_equal(_attribute(other, name), _attribute(one, name), err_msg=name)


def _values(model: Any, X: Any) -> np.ndarray:
    """Decision values, or predictions where there are none."""
    values = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    assert np.isfinite(values).all(), "decision values are not finite"
    return np.asarray(values)


def _assert_close(one: np.ndarray, other: np.ndarray, tol: float) -> None:
    """Decision values agree to `tol` times the largest of them; tol=0: to the bit."""
    scale = max(1.0, float(np.abs(other).max(initial=0.0)))
    np.testing.assert_allclose(one, other, rtol=0, atol=tol * scale, err_msg="decision values")


def _attribute(model: Any, name: str) -> Any:
    """Attribute, or column of one that is a dict; times never agree."""
    name, _, column = name.partition(".")
    value = getattr(model, name)
    if column:
        return value[column]
    return {k: v for k, v in value.items() if k != "seconds"} if isinstance(value, dict) else value


def _is_fitted(model: Any) -> bool:
    return any(name.endswith("_") and not name.startswith("_") for name in vars(model))


def _saved(value: Any, path: str = "model", found: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything that pickle would save except times, as bytes by the path to it."""
    found = {} if found is None else found
    if "seconds" in path or path.endswith("['held']['real']"):
        return found
    if isinstance(value, np.ndarray) and value.dtype != object:
        found[path] = (value.dtype.str, value.shape, value.tobytes())
    elif sp.issparse(value):
        for name in ("data", "indices", "indptr"):
            _saved(getattr(value, name), f"{path}.{name}", found)
    elif isinstance(value, dict):
        names = all(isinstance(key, str) for key in value)  # the order of attributes means nothing
        found[path] = list(map(repr, sorted(value) if names else value))
        for key, item in value.items():
            _saved(item, f"{path}[{key!r}]", found)
    elif isinstance(value, list | tuple | np.ndarray):
        found[path] = len(value)
        for k, item in enumerate(value):
            _saved(item, f"{path}[{k}]", found)
    elif isinstance(value, str | bytes | int | float | complex | np.generic | set | frozenset | type(None) | type):
        found[path] = repr(value)
    elif inspect.isroutine(value):
        found[path] = getattr(value, "__qualname__", repr(value))
    else:
        found[path] = type(value).__qualname__
        _saved(value.__reduce_ex__(4)[1:3], path, found)
    return found


def _assert_unchanged(model: Any, before: dict[str, Any]) -> None:
    after = _saved(model)
    assert before.keys() == after.keys(), f"the saved state has other parts: {before.keys() ^ after.keys()}"
    changed = [name for name, value in after.items() if before[name] != value]
    assert not changed, f"changed: {changed[:5]}"


def _raises(call: Callable[[], Any], *errors: type[BaseException]) -> None:
    try:
        call()
    except errors:
        return
    raise AssertionError(f"none of {[error.__name__ for error in errors]} was raised")


# ---- chunks ------------------------------------------------------------------------------------------


def check_chunks(subject: _Subject) -> None:
    """How a stream is cut into chunks does not matter."""
    for n_classes in (2, 3):
        X, y = subject.data(n_classes=n_classes)
        weight = subject.weights(len(y))
        one = subject.learn(subject.new(), X, y, weight=weight)
        rng = np.random.default_rng(0)
        cuts = [range(1, len(y)), [1], [len(y) - 1], *(rng.integers(1, len(y), k) for k in (1, 3, 9))]
        for some in cuts:
            other = subject.learn(subject.new(), X, y, some, weight=weight)
            subject.assert_same(one, other, X, subject.tol)


def check_fit_starts_again(subject: _Subject) -> None:
    """``fit`` forgets the stream before it."""
    X, y = subject.data()
    model = subject.learn(subject.new(), X[:N_FIRST] + 1.0, y[:N_FIRST])
    subject.assert_same(subject.fit(model, X, y), subject.fit(subject.new(), X, y), X)


def check_fit_goes_on(subject: _Subject) -> None:
    """A stream may begin with ``fit``, which counts, and chunks do not matter after it."""
    X, y = subject.data()
    one, other = (subject.fit(subject.new(), X[:N_FIRST], y[:N_FIRST]) for _ in range(2))
    subject.learn(one, X[N_FIRST:], y[N_FIRST:])
    subject.learn(other, X[N_FIRST:], y[N_FIRST:], [1, 17])
    subject.assert_same(one, other, X, subject.tol)
    rest = subject.learn(subject.new(), X[N_FIRST:], y[N_FIRST:], classes=range(3))
    counts = np.abs(_values(rest, X) - _values(one, X)).max() > 1e-6
    assert counts or subject.parameters.get("window") is not None, "what fit has learnt does not count"


def check_new_labels(subject: _Subject) -> None:
    """Undeclared labels may come at any time, anywhere in the sort order and anywhere in a chunk."""
    X, y = subject.data(n_classes=4)
    order = np.argsort(y >= 2, kind="stable")
    known = 20
    order = np.concatenate([order[:known], np.sort(order[known:])])
    X, names = X[order], np.array(["m", "t", "c", "z"])[y[order]]
    first = [int(np.flatnonzero(names == label)[0]) for label in "cz"]
    model = subject.learn(subject.new(), X, names, classes=["m", "t"])
    assert model.classes_.tolist() == ["c", "m", "t", "z"], "classes_ must be sorted"
    assert set(model.predict(X)) <= {*"cmtz"}
    for cuts in (first, [at + 1 for at in first], [at - 1 for at in first], range(1, len(names))):
        other = subject.learn(subject.new(), X, names, cuts, classes=["m", "t"])
        subject.assert_same(model, other, X, subject.tol)
    before = subject.learn(subject.new(), X[:known], names[:known])
    assert before.classes_.tolist() == ["m", "t"]
    before.partial_fit(X[known:], names[known:], classes=["c", "m", "t", "z"])
    assert before.classes_.tolist() == ["c", "m", "t", "z"]
    _values(before, X)


def check_declared_labels(subject: _Subject) -> None:
    """A label that is declared need not come; others may be declared or come later."""
    X, y = subject.data(n_classes=2)
    model = subject.learn(subject.new(), X, y, [30], classes=[0, 1, 7])
    assert model.classes_.tolist() == [0, 1, 7]
    _values(model, X)
    other = pickle.loads(pickle.dumps(model))
    for one in (model, other):
        one.partial_fit(X[:20], y[:20] + 6)
    assert model.classes_.tolist() == [0, 1, 6, 7]
    subject.assert_same(model, other, X)


def check_first_call(subject: _Subject) -> None:
    """The first call needs two classes or more, of one type; a refused first call leaves the estimator unfitted."""
    X, y = subject.data(n_classes=2)
    model = subject.new()
    for classes in (None, [0], [0, 0], [0.0, 1.0, np.nan], [[0, 1], [2, 3]]):
        _raises(partial(model.partial_fit, X, y, classes=classes), ValueError)
        assert not _is_fitted(model), f"fitted after classes={classes}"
    _raises(partial(model.predict, X), NotFittedError)
    if "class_weight" in subject.parameters:
        for weights in ("balanced", {0: -1.0}, {"a": 1.0}):
            odd = subject.new(class_weight=weights)
            _raises(partial(odd.partial_fit, X, y, classes=[0, 1]), ValueError)
            assert not _is_fitted(odd), f"fitted after class_weight={weights}"


# ---- copies ------------------------------------------------------------------------------------------


def _through_joblib(model: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


#: Ways to copy a model.
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "oldest pickle": lambda model: pickle.loads(pickle.dumps(model, protocol=0)),
    "joblib": _through_joblib,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def _go_on(subject: _Subject, model: Any, X: Any, y: np.ndarray) -> Any:
    """Learn, and forget if possible."""
    subject.learn(model, X, y, [7])
    if hasattr(model, "forget"):
        model.forget([model.ids_[-3], model.ids_[-9]])
    return model


def check_copies(subject: _Subject, kind: str) -> None:
    """A copy made in the middle of a stream is equal, independent, and goes on like the original."""
    forms = [np.asarray, sp.csr_array] if subject.sparse else [np.asarray]
    for form in forms:
        X, y = subject.data()
        rows = form(X)
        model = subject.learn(subject.new(), rows[:N_FIRST], y[:N_FIRST], classes=range(3))
        before = _saved(model)
        other = COPIES[kind](COPIES[kind](model))
        _assert_unchanged(model, before)
        subject.assert_same(model, other, X)
        _go_on(subject, other, rows[N_FIRST:], y[N_FIRST:])
        _assert_unchanged(model, before)
        _go_on(subject, model, rows[N_FIRST:], y[N_FIRST:])
        subject.assert_same(model, other, X)
        subject.assert_same(COPIES[kind](other), other, X)


def check_clone_is_unfitted(subject: _Subject) -> None:
    """A clone of a fitted model has its parameters and nothing else."""
    X, y = subject.data()
    model = subject.learn(subject.new(), X, y)
    fresh = clone(model)
    assert vars(fresh).keys() == model.get_params().keys()
    _raises(partial(fresh.predict, X), NotFittedError)
    subject.assert_same(subject.learn(fresh, X, y), model, X)


# ---- threads -----------------------------------------------------------------------------------------


def _at_once(*jobs: Callable[[], Any]) -> list[Any]:
    """Results of functions that start together in threads of their own."""
    gate = threading.Barrier(len(jobs))

    def run(job: Callable[[], Any]) -> Any:
        gate.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def check_models_in_threads(subject: _Subject) -> None:
    """Two models may learn at the same time."""
    sets = [subject.data(seed=seed) for seed in (1, 2)]

    def learn(X: np.ndarray, y: np.ndarray) -> Any:
        return subject.learn(subject.new(), X, y, range(10, len(y), 10))

    together = _at_once(*(partial(learn, X, y) for X, y in sets))
    for (X, y), model in zip(sets, together, strict=True):
        subject.assert_same(learn(X, y), model, X)


def check_predictions_in_threads(subject: _Subject) -> None:
    """Several threads may predict with one model, also just after it was copied."""
    X, y = subject.data()
    model = subject.learn(subject.new(), X, y)
    expected = _values(model, X).tobytes()
    again = copy.deepcopy(model)
    assert _at_once(*[lambda: _values(again, X).tobytes()] * 4) == [expected] * 4


def check_predictions_while_learning(subject: _Subject) -> None:
    """One thread may predict while another one learns: values of one moment, and the same model at the end."""
    X, y = subject.data(n=300)
    cuts = range(60, 300, 20)
    alone = subject.learn(subject.new(), X, y, cuts)
    model = subject.learn(subject.new(), X[:60], y[:60], classes=np.unique(y))
    done, seen = threading.Event(), [_values(model, X[:5])]

    def predict() -> None:
        while not done.is_set():
            seen.append(_values(model, X[:5]))

    def learn() -> None:
        try:
            subject.learn(model, X[60:], y[60:], [at - 60 for at in cuts])
        finally:
            done.set()

    _at_once(predict, learn)
    subject.assert_same(alone, model, X)
    assert len({values.shape for values in seen}) == 1


# ---- interrupts --------------------------------------------------------------------------------------


class _Kernel:
    """Polynomial kernel whose bits do not depend on the shape of a block; it fails when it is told to."""

    def __init__(self) -> None:
        self.fail()

    def fail(self, failure: Callable[[np.ndarray], Any] | None = None, after: int = 0) -> None:
        """Apply `failure` to the values from a later call on; without arguments: never."""
        self.failure, self.left = failure, after

    def __call__(self, A: Any, B: Any) -> Any:
        A, B = (M.toarray() if sp.issparse(M) else M for M in (A, B))
        products = sum(np.multiply.outer(A[:, k], B[:, k]) for k in range(A.shape[1]))
        values = (0.1 * products + 1.0) ** 2
        self.left -= 1
        return values if self.failure is None or self.left >= 0 else self.failure(values)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Kernel, ()


def _raising(kind: type[BaseException]) -> Callable[[np.ndarray], Any]:
    def failure(values: np.ndarray) -> Any:
        raise kind("raised by the kernel")

    return failure


INTERRUPTS = ("fit", "first chunk", "later chunk", "later chunk with a new label")
#: Kernel calls before a kernel fails.
PATIENCE = (0, 1, 2, 4, 9)


def check_interrupt(subject: _Subject, how: str) -> None:
    """Ctrl-C in the middle leaves a usable model; that of the rows learnt so far if the estimator can forget."""
    X, y = subject.data(n=150)
    interrupted = 0
    for after in PATIENCE:
        model, labels, start = subject.new(kernel=_Kernel()), y, 0
        if how.startswith("later"):
            start = N_FIRST
            labels = np.where(np.arange(len(y)) > 90, 7, y) if how.endswith("label") else y
            subject.learn(model, X[:start], y[:start], classes=range(3))
        model.kernel.fail(_raising(KeyboardInterrupt), after)
        try:
            if how == "fit":
                subject.fit(model, X, y)
            else:
                subject.learn(model, X[start:], labels[start:], classes=range(3))
        except KeyboardInterrupt:
            interrupted += 1
        model.kernel.fail()
        _assert_usable(subject, model, X, labels)
    assert interrupted > 1, "KeyboardInterrupt did not reach the caller"


def _assert_usable(subject: _Subject, model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """A model after Ctrl-C predicts, can be saved, and learns on. One that has learnt nothing is as new."""
    n = getattr(model, "n_samples_seen_", None) if _is_fitted(model) else 0
    if n == 0:
        subject.assert_same(subject.learn(model, X, y), subject.learn(clone(model), X, y), X, subject.tol)
        return
    if hasattr(model, "forget"):
        classes = model.classes_ if subject.labelled else None
        expected = subject.learn(clone(model), X[:n], y[:n], classes=classes)
        if _needs_rows(expected, X):
            assert _needs_rows(model, X)
            subject.learn(expected, X, y)
            subject.learn(model, X, y)
        subject.assert_same(expected, model, X, subject.tol)
    _assert_goes_on(subject, model, X, y)


def _assert_goes_on(subject: _Subject, model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """A model predicts known labels, and it and its copy learn on alike."""
    if subject.labelled:
        assert set(model.predict(X)) <= set(model.classes_.tolist()) <= {*range(3), *y.tolist()}
    other = pickle.loads(pickle.dumps(model))
    subject.assert_same(model, other, X)
    for one in (model, other):
        subject.learn(one, X[:30], y[:30])
    subject.assert_same(model, other, X)


def _needs_rows(model: Any, X: np.ndarray) -> bool:
    """Whether a model is not defined by so few rows."""
    try:
        model.predict(X)
    except NotFittedError:
        return True
    return False


def check_interrupt_by_signal(subject: _Subject) -> None:
    """A signal in the middle of learning leaves a usable model."""
    if threading.current_thread() is not threading.main_thread():
        raise SkipTest("signals reach the main thread only")
    X, y = subject.data(n=200)
    model = subject.learn(subject.new(), X[:N_FIRST], y[:N_FIRST])
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.02, _thread.interrupt_main)
    left = 3
    try:
        timer.start()
        while left:
            subject.learn(model, X, y)
            left -= not timer.is_alive()
    except KeyboardInterrupt:
        pass
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)
    assert left, "KeyboardInterrupt did not reach the caller"
    _assert_goes_on(subject, model, X, y)


# ---- errors ------------------------------------------------------------------------------------------

KERNEL_FAILURES: dict[str, tuple[Callable[[np.ndarray], Any], tuple[type[BaseException], ...]]] = {
    "error": (_raising(ZeroDivisionError), (ZeroDivisionError,)),
    "exit": (_raising(SystemExit), (SystemExit,)),
    "NaN": (lambda values: values * np.nan, (ValueError,)),
    "shape": (lambda values: values[:, :-1], (ValueError,)),
    "text": (lambda values: np.full(values.shape, "x"), (ValueError, TypeError)),
    "complex": (lambda values: values + 1j, (ValueError, TypeError)),
}


def check_failing_kernel(subject: _Subject, case: str) -> None:
    """A kernel that fails leaves the model unchanged, or unfitted, and it learns on as if spared."""
    failure, errors = KERNEL_FAILURES[case]
    X, y = subject.data()
    first, rest = (X[:N_FIRST], y[:N_FIRST]), X[N_FIRST:]
    calls = {"fit": lambda model: subject.fit(model, X, y[::-1])}
    for k, labels in enumerate(_with_new_label(subject, y)):
        calls[f"chunk {k}"] = partial(subject.learn, X=rest, y=labels[N_FIRST:], classes=range(3))
    moments = [(False, 0), (False, 1), (True, 0), (True, 1), (True, 4), (True, 9)] if case == "error" else [(True, 1)]
    for call in calls.values():
        for fitted, after in moments:
            model, spared = (subject.new(kernel=_Kernel()) for _ in range(2))
            for one in (model, spared) if fitted else ():
                subject.learn(one, *first, classes=range(3))
            before = _saved(model)
            for _ in range(2):
                model.kernel.fail(failure, after)
                try:
                    call(model)
                except errors:
                    model.kernel.fail()
                    _assert_unchanged(model, before)
                else:
                    assert model.kernel.left >= 0, f"none of {errors} was raised"
                    break  # it took fewer calls of the kernel
            else:
                subject.assert_same(call(model), call(spared), X)


def _with_new_label(subject: _Subject, y: np.ndarray) -> list[np.ndarray]:
    """Labels of a stream: those known from the start, and with a new one in the second part."""
    return [y, np.where(np.arange(len(y)) > N_FIRST + 2, 7, y)] if subject.labelled else [y]


def _entry(value: float) -> Callable[[np.ndarray, np.ndarray], Any]:
    def spoil(X: np.ndarray, y: np.ndarray) -> Any:
        X = X.copy()
        X[7, 1] = value
        return X, y, {}

    return spoil


#: Chunks that must be refused: rows, labels and weights of a good chunk, changed.
BAD_CHUNKS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "NaN": _entry(np.nan),
    "infinity": _entry(-np.inf),
    "overflow": _entry(1e200),
    "features": lambda X, y: (X[:, :-1], y, {}),
    "one dimension": lambda X, y: (X[0], y, {}),
    "complex": lambda X, y: (X + 1j, y, {}),
    "text": lambda X, y: (np.full(X.shape, "x"), y, {}),
    "no rows": lambda X, y: (X[:0], y[:0], {}),
    "label columns": lambda X, y: (X, np.column_stack([y, y]), {}),
    "number of labels": lambda X, y: (X, y[:-1], {}),
    "continuous labels": lambda X, y: (X, y + 0.5, {}),
    "missing labels": lambda X, y: (X, np.where(np.arange(len(y)) == 7, np.nan, y), {}),
    "other labels": lambda X, y: (X, np.array([*"abcdefgh"])[y], {}),
    "negative weights": lambda X, y: (X, y, {"sample_weight": -np.ones(len(y))}),
    "missing weights": lambda X, y: (X, y, {"sample_weight": np.full(len(y), np.nan)}),
    "large weights": lambda X, y: (X, y, {"sample_weight": np.full(len(y), 1e120)}),
    "number of weights": lambda X, y: (X, y, {"sample_weight": np.ones(3)}),
}
#: Cases about labels, and cases that are fine as a first chunk.
LABEL_CASES = ("label columns", "number of labels", "continuous labels", "missing labels", "other labels")
LATER_CASES = ("features", "other labels")


def check_bad_chunk(subject: _Subject, case: str) -> None:
    """A chunk that must be refused leaves the model unchanged, and it learns on as if spared."""
    X, y = subject.data()
    for labels in _with_new_label(subject, y):
        model, spared = (subject.learn(subject.new(), X[:N_FIRST], y[:N_FIRST], classes=range(3)) for _ in range(2))
        before = _saved(model)
        rows, bad_labels, more = BAD_CHUNKS[case](X[N_FIRST:], labels[N_FIRST:])
        given = {"y": bad_labels, **more} if subject.labelled else more
        for method in ("partial_fit", "add"):
            if hasattr(model, method):
                _raises(partial(getattr(model, method), rows, **given), ValueError, TypeError)
                _assert_unchanged(model, before)
        for one in (model, spared):
            subject.learn(one, X[N_FIRST:], labels[N_FIRST:])
        subject.assert_same(model, spared, X)


def check_bad_first_chunk(subject: _Subject, case: str) -> None:
    """A first chunk that must be refused leaves the estimator unfitted, and a good one can follow."""
    X, y = subject.data()
    model = subject.new()
    rows, labels, given = BAD_CHUNKS[case](X, y)
    if subject.labelled:
        given = {"y": labels, "classes": range(3), **given}
    _raises(partial(model.partial_fit, rows, **given), ValueError, TypeError)
    assert not _is_fitted(model)
    _raises(partial(model.predict, X), NotFittedError)
    subject.assert_same(subject.learn(model, X, y), subject.learn(subject.new(), X, y), X)


# ---- predictions and memory --------------------------------------------------------------------------


def check_predict_is_pure(subject: _Subject) -> None:
    """Predictions change neither the model nor the rows, and come out the same every time and in any batch."""
    X, y = subject.data()
    model = subject.learn(subject.new(), X, y)
    before, rows = _saved(model), X.copy()
    expected = _values(model, rows)
    labels = model.predict(rows)
    for _ in range(2):
        np.testing.assert_array_equal(_values(model, rows), expected)
        np.testing.assert_array_equal(model.predict(rows), labels)
    one_by_one = np.concatenate([_values(model, rows[k : k + 1]) for k in range(len(rows))])
    _assert_close(one_by_one, expected, 1e-12)
    np.testing.assert_array_equal(rows, X)
    _assert_unchanged(model, before)


def check_data_are_copied(subject: _Subject) -> None:
    """What the caller does with the arrays after a call does not reach the model."""
    X, y = subject.data()
    given, labels, weight = X.copy(), y.copy(), subject.weights(len(y))
    model = subject.learn(subject.new(), given, labels, weight=weight)
    np.testing.assert_array_equal(given, X)
    before = _saved(model)
    given[:], labels[:], weight[:] = 0.0, 0, 0.0
    _assert_unchanged(model, before)
    expected = subject.learn(subject.new(), X, y, weight=subject.weights(len(y)))
    subject.assert_same(model, expected, X)


def check_memory(subject: _Subject) -> None:
    """Predictions, refused chunks and copies leave no memory behind, neither of Python nor of the process."""
    statm, megabytes = Path("/proc/self/statm"), 2**20
    X, y = subject.data(n=150, d=400)
    model = subject.learn(subject.new(), X, y)
    bad = {"y": y[:3]} if subject.labelled else {}

    def used() -> np.ndarray:
        gc.collect()
        resident = int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0
        return np.array([tracemalloc.get_traced_memory()[0], resident]) / megabytes

    def some_work(rounds: int) -> None:
        for _ in range(rounds):
            model.predict(X)
            _raises(lambda: model.partial_fit(X * np.nan, **bad), ValueError)
            copy.deepcopy(model)

    tracemalloc.start()
    try:
        some_work(4)
        before = used()
        some_work(20)
        grown = used() - before
    finally:
        tracemalloc.stop()
    limit = 10 * X.nbytes / megabytes
    assert (grown < limit).all(), f"memory of Python and of the process has grown by {grown} MB, more than {limit}"


# ---- weights -----------------------------------------------------------------------------------------


def check_weight_zero(subject: _Subject) -> None:
    """A sample of weight zero is left out."""
    X, y = subject.data()
    weight = np.where(np.arange(len(y)) % 4 == 3, 0.0, subject.weights(len(y)))
    on = weight > 0
    one = subject.learn(subject.new(), X, y, [30], weight=weight)
    other = subject.learn(subject.new(), X[on], y[on], [30 - int((~on[:30]).sum())], weight=weight[on])
    _assert_close(_values(one, X), _values(other, X), subject.tol)
    odd = np.where(on[:, np.newaxis], X, 9.0)
    subject.assert_same(subject.learn(subject.new(), odd, y, [30], weight=weight), one, X, subject.tol)
    before = _values(one, X)
    subject.learn(one, X, y, weight=np.zeros(len(y)))
    _assert_close(_values(one, X), before, subject.tol)


def check_weight_one(subject: _Subject) -> None:
    """Weights of one are no weights; other weights matter."""
    X, y = subject.data()
    one = subject.learn(subject.new(), X, y)
    subject.assert_same(one, subject.learn(subject.new(), X, y, weight=np.ones(len(y))), X)
    weighted = subject.learn(subject.new(), X, y, weight=0.01 + 0.99 * (y == 1))
    assert np.abs(_values(weighted, X) - _values(one, X)).max() > 1e-3, "weights do not matter"


def check_weight_two(subject: _Subject) -> None:
    """For exact estimators weight two is the row twice."""
    X, y = subject.data()
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    twice = np.r_[0 : len(y), 0 : len(y) : 3]
    one = subject.learn(subject.new(), X, y, weight=weight)
    other = subject.learn(subject.new(), X[twice], y[twice])
    _assert_close(_values(one, X), _values(other, X), subject.tol)


def check_class_weight(subject: _Subject) -> None:
    """``class_weight`` multiplies ``sample_weight``."""
    X, y = subject.data()
    names, by_class = np.array(["fig", "apple", "pear"])[y], {"fig": 2.0, "pear": 0.5}
    weight = subject.weights(len(y))
    product = weight * np.array([by_class.get(name, 1.0) for name in names.tolist()])
    one = subject.learn(subject.new(class_weight=by_class), X, names, [30], weight=weight)
    other = subject.learn(subject.new(class_weight=None), X, names, [30], weight=product)
    subject.assert_same(one, other, X)


# ---- forms and resources -----------------------------------------------------------------------------


def _wide(X: np.ndarray) -> Any:
    """CSR with indices of 64 bits."""
    rows = sp.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def check_dense_and_sparse(subject: _Subject) -> None:
    """Dense and sparse rows give the same model, also when the form changes between chunks."""
    forms = [sp.csr_matrix, sp.csr_array, _wide, np.asfortranarray, np.asarray, lambda X: X.tolist()]
    X, y = subject.data(d=20)
    parts = list(pairwise([*range(0, len(y), 15), len(y)]))
    cuts = [end for _, end in parts]
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        one = subject.learn(subject.new(), rows, y, cuts)
        for make in forms[:4]:
            other = subject.learn(subject.new(), make(rows), y, cuts)
            subject.assert_same(one, other, rows)
            _assert_close(_values(other, make(rows)), _values(one, rows), 1e-12)
        for first in range(3):
            other = subject.new()
            for k, (begin, end) in enumerate(parts):
                given = {"y": y[begin:end]} if subject.labelled else {}
                if subject.labelled and k == 0:
                    given["classes"] = np.unique(y)
                other.partial_fit(forms[(first + k) % len(forms)](rows[begin:end]), **given)
            subject.assert_same(one, other, rows)


def check_cache_size(subject: _Subject) -> None:
    """The size of the cache does not matter. Exact estimators need some memory, and differ by rounding."""
    X, y = subject.data(n=150)
    size = subject.parameters["cache_size"]
    one = subject.learn(subject.new(), X, y, [70])
    for factor in (0.05,) if subject.tol else (1e-7, 1e-4):
        other = subject.learn(subject.new(cache_size=factor * size), X, y, [70])
        subject.assert_same(one, other, X, subject.tol)


def check_n_jobs(subject: _Subject) -> None:
    """The number of threads does not matter."""
    X, y = subject.data(n=300, n_classes=4)
    one, two = (subject.learn(subject.new(n_jobs=n_jobs), X, y, [70]) for n_jobs in (1, 2))
    subject.assert_same(one, two, X)


# ---- forgetting --------------------------------------------------------------------------------------


def check_forget(subject: _Subject) -> None:
    """What is forgotten was never there."""
    X, y = subject.data()
    X = X + 0.01 * np.random.default_rng(1).standard_normal(X.shape)  # no two rows are equal
    labels = [y] if subject.labelled else []
    held = min(subject.parameters.get("window") or N_ROWS, N_ROWS) // 2
    model = subject.learn(subject.new(), X[:held], y[:held], classes=range(3))
    start = _values(model, X)
    ids = model.add(X[held : held + 10], *(part[held : held + 10] for part in labels))
    assert model.ids_[-10:].tolist() == ids
    assert model.forget(ids) is model
    assert len(model.ids_) == held
    _assert_close(_values(model, X), start, subject.tol)
    model.forget(model.ids_[:5])
    rest = subject.learn(subject.new(), X[5:held], y[5:held], classes=range(3))
    _assert_close(_values(model, X), _values(rest, X), subject.tol)
    model.forget(model.ids_)
    assert model.ids_.tolist() == []
    subject.learn(model, X[:held], y[:held])
    _assert_close(_values(model, X), start, subject.tol)


def check_unknown_ids(subject: _Subject) -> None:
    """An id that is not held raises KeyError, and nothing is forgotten."""
    X, y = subject.data()
    model = subject.new()
    _raises(partial(model.forget, 0), NotFittedError)
    subject.learn(model, X, y)
    before = _saved(model)
    known = model.ids_[-1]
    for ids in (10**6, "nobody", [known, 10**6]):
        _raises(partial(model.forget, ids), KeyError)
        _assert_unchanged(model, before)
    for ids in ([1.5], [None], [known, [1]], True):
        _raises(partial(model.forget, ids), KeyError, TypeError)
        _assert_unchanged(model, before)
    _assert_unchanged(model.forget([]), before)


def check_window(subject: _Subject) -> None:
    """A window bounds what is held and what is saved."""
    window = int(subject.parameters["window"])
    X, y = subject.data(n=6 * window)
    model = subject.new()
    sizes = []
    for begin in range(0, len(y), window):
        subject.learn(model, X[begin : begin + window], y[begin : begin + window], classes=range(3))
        assert model.n_samples_ == len(model.ids_) == window
        sizes.append(len(pickle.dumps(model)))
    assert model.n_samples_seen_ == len(y)
    assert sizes[-1] < 2 * sizes[0], f"sizes of the saved model: {sizes}"
