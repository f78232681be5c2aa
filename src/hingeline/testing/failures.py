"""Laws of failures: Ctrl-C, kernels that fail, chunks that must be refused."""

from __future__ import annotations

import _thread
import pickle
import signal
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn
from unittest import SkipTest

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from .subject import (
    N_FIRST,
    Samples,
    Subject,
    assert_unchanged,
    is_fitted,
    law,
    raises,
    read_state,
)


class _Kernel:
    """Polynomial kernel whose bits do not depend on the shape of a block; it fails when it is told to."""

    def __init__(self) -> None:
        self.fail()

    def fail(self, failure: Callable[[np.ndarray], np.ndarray] | None = None, after: int = 0) -> None:
        """Apply `failure` to the values from a later call on; without arguments: never."""
        self.failure, self.left = failure, after

    def __call__(self, A: Samples, B: Samples) -> np.ndarray:
        left, right = (M if isinstance(M, np.ndarray) else M.toarray() for M in (A, B))
        products = np.asarray(sum(np.multiply.outer(left[:, k], right[:, k]) for k in range(A.shape[1])))
        values = (0.1 * products + 1.0) ** 2
        self.left -= 1
        return values if self.failure is None or self.left >= 0 else self.failure(values)

    def __reduce__(self) -> tuple[type[_Kernel], tuple[()]]:
        return _Kernel, ()


def _raise_in_kernel(kind: type[BaseException]) -> Callable[[np.ndarray], np.ndarray]:
    def failure(values: np.ndarray) -> NoReturn:
        raise kind("raised by the kernel")

    return failure


INTERRUPTS = ("fit", "first chunk", "later chunk", "later chunk with a new label")
#: Kernel calls before a kernel fails.
PATIENCE = (0, 1, 2, 4, 9)


@law(lambda s: "kernel" in s.parameters, cases=lambda s: INTERRUPTS if s.labelled else INTERRUPTS[:-1])
def check_interrupt(subject: Subject, how: str) -> None:
    """Ctrl-C in the middle leaves a usable model; that of the rows learnt so far if the estimator can forget."""
    X, y = subject.data(n=150)
    interrupted = 0
    for after in PATIENCE:
        model, labels, start = subject.new(kernel=_Kernel()), y, 0
        if how.startswith("later"):
            start = N_FIRST
            labels = np.where(np.arange(len(y)) > 90, 7, y) if how.endswith("label") else y
            subject.learn(model, X[:start], y[:start], classes=range(3))
        model.kernel.fail(_raise_in_kernel(KeyboardInterrupt), after)
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


def _assert_usable(subject: Subject, model: BaseEstimator, X: np.ndarray, y: np.ndarray) -> None:
    """A model after Ctrl-C predicts, can be saved, and learns on. One that has learnt nothing is as new."""
    n = getattr(model, "n_samples_seen_", None) if is_fitted(model) else 0
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


def _assert_goes_on(subject: Subject, model: BaseEstimator, X: np.ndarray, y: np.ndarray) -> None:
    """A model predicts known labels, and it and its copy learn on alike."""
    if subject.labelled:
        assert set(model.predict(X)) <= set(model.classes_.tolist()) <= {*range(3), *y.tolist()}
    other = pickle.loads(pickle.dumps(model))
    subject.assert_same(model, other, X)
    for one in (model, other):
        subject.learn(one, X[:30], y[:30])
    subject.assert_same(model, other, X)


def _needs_rows(model: BaseEstimator, X: np.ndarray) -> bool:
    """Whether a model is not defined by so few rows."""
    try:
        model.predict(X)
    except NotFittedError:
        return True
    return False


@law()
def check_interrupt_by_signal(subject: Subject) -> None:
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


KERNEL_FAILURES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[type[BaseException], ...]]] = {
    "error": (_raise_in_kernel(ZeroDivisionError), (ZeroDivisionError,)),
    "exit": (_raise_in_kernel(SystemExit), (SystemExit,)),
    "NaN": (lambda values: values * np.nan, (ValueError,)),
    "shape": (lambda values: values[:, :-1], (ValueError,)),
    "text": (lambda values: np.full(values.shape, "x"), (ValueError, TypeError)),
    "complex": (lambda values: values + 1j, (ValueError, TypeError)),
}


@law(lambda s: "kernel" in s.parameters, cases=lambda s: KERNEL_FAILURES)
def check_failing_kernel(subject: Subject, case: str) -> None:
    """A kernel that fails leaves the model unchanged, or unfitted, and it learns on as if spared."""
    failure, errors = KERNEL_FAILURES[case]
    X, y = subject.data()
    first, rest = (X[:N_FIRST], y[:N_FIRST]), X[N_FIRST:]
    calls = {"fit": lambda model: subject.fit(model, X, y[::-1])}
    for k, labels in enumerate(_add_new_label(subject, y)):
        calls[f"chunk {k}"] = partial(subject.learn, X=rest, y=labels[N_FIRST:], classes=range(3))
    moments = [(False, 0), (False, 1), (True, 0), (True, 1), (True, 4), (True, 9)] if case == "error" else [(True, 1)]
    for call in calls.values():
        for fitted, after in moments:
            model, spared = (subject.new(kernel=_Kernel()) for _ in range(2))
            for one in (model, spared) if fitted else ():
                subject.learn(one, *first, classes=range(3))
            before = read_state(model)
            for _ in range(2):
                model.kernel.fail(failure, after)
                try:
                    call(model)
                except errors:
                    model.kernel.fail()
                    assert_unchanged(model, before)
                else:
                    assert model.kernel.left >= 0, f"none of {errors} was raised"
                    break  # it took fewer calls of the kernel
            else:
                subject.assert_same(call(model), call(spared), X)


def _add_new_label(subject: Subject, y: np.ndarray) -> list[np.ndarray]:
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


def _make_bad_chunks(subject: Subject) -> list[str]:
    """Names of the cases that apply."""
    names = [name for name in BAD_CHUNKS if subject.labelled or name not in LABEL_CASES]
    return [name for name in names if subject.weighted or "weight" not in name]


@law(cases=_make_bad_chunks)
def check_bad_chunk(subject: Subject, case: str) -> None:
    """A chunk that must be refused leaves the model unchanged, and it learns on as if spared."""
    X, y = subject.data()
    for labels in _add_new_label(subject, y):
        model, spared = (subject.learn(subject.new(), X[:N_FIRST], y[:N_FIRST], classes=range(3)) for _ in range(2))
        before = read_state(model)
        rows, bad_labels, more = BAD_CHUNKS[case](X[N_FIRST:], labels[N_FIRST:])
        given = {"y": bad_labels, **more} if subject.labelled else more
        for method in ("partial_fit", "add"):
            if hasattr(model, method):
                raises(partial(getattr(model, method), rows, **given), ValueError, TypeError)
                assert_unchanged(model, before)
        for one in (model, spared):
            subject.learn(one, X[N_FIRST:], labels[N_FIRST:])
        subject.assert_same(model, spared, X)


@law(cases=lambda s: [name for name in _make_bad_chunks(s) if name not in LATER_CASES])
def check_bad_first_chunk(subject: Subject, case: str) -> None:
    """A first chunk that must be refused leaves the estimator unfitted, and a good one can follow."""
    X, y = subject.data()
    model = subject.new()
    rows, labels, given = BAD_CHUNKS[case](X, y)
    if subject.labelled:
        given = {"y": labels, "classes": range(3), **given}
    raises(partial(model.partial_fit, rows, **given), ValueError, TypeError)
    assert not is_fitted(model)
    raises(partial(model.predict, X), NotFittedError)
    subject.assert_same(subject.learn(model, X, y), subject.learn(subject.new(), X, y), X)
