"""Ctrl-C, and other signals, in long loops of the core. Calls would take many seconds; how quickly they end is not
measured, but models say whether training was cut short.

Ctrl-C in kernel functions and in short calls is in the battery, `hingeline.testing`.
"""

import pickle
import signal
from functools import cache, partial

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hingeline import (
    L2SVC,
    LASVC,
    SVC,
    IncrementalSVC,
    KernelSGDClassifier,
    WorstViolatorSVC,
)
from hingeline.testing.behaviour import COPIES

from .data import noisy
from .exact import fingerprint
from .private import read_state
from .signals import interrupt

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")


@cache
def noise(n=40_000, d=50, n_classes=2):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.integers(0, n_classes, n)


@cache
def easy(n):
    """Two classes that overlap little."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return rng.standard_normal((n, 2)) + 1.5 * np.where(y == 0, -1.0, 1.0)[:, None], y


def no_violations():
    return np.repeat([[1.0], [-1.0]], 500, axis=0), np.repeat([0, 1], 500)


def check_usable(model, X, y):
    """A model that was cut short: it says so, predicts known labels, and a copy of it is the same."""
    assert "interrupted" in model.stop_reason_
    assert "stopped" not in model.stop_reason_, "no callback has stopped anything"
    values = model.decision_function(X[:50])
    assert np.isfinite(values).all() and set(model.predict(X[:50])) <= set(y.tolist())
    again = pickle.loads(pickle.dumps(model))
    assert again.decision_function(X[:50]).tobytes() == values.tobytes()


# ---- fit -----------------------------------------------------------------------------------------------

BATCH = {
    "ollawv": (WorstViolatorSVC(), noise),
    "ollawv, 2 threads": (WorstViolatorSVC(n_jobs=2), noise),
    "ollawv, pairs": (WorstViolatorSVC(), lambda: noise(n_classes=4)),
    "ollawv, pairs, 2 threads": (WorstViolatorSVC(n_jobs=2), lambda: noise(n_classes=4)),
    "svc": (SVC(C=100.0), noise),
    "svc, no cache, 2 threads": (SVC(C=100.0, cache_size=1, n_jobs=2), noise),
    "svc, pairs": (SVC(C=100.0, n_jobs=2), lambda: noise(n_classes=4)),
    "svc, steps": (SVC(C=1e4, gamma=0.5, tol=1e-9), lambda: noise(3_000, 4)),
}
for name, machine in {"l2": L2SVC, "nnisda": partial(L2SVC, solver="nnisda")}.items():
    BATCH[f"{name}, columns"] = (machine(C=100.0), noise)
    BATCH[f"{name}, no cache"] = (machine(C=100.0, cache_size=1), noise)
    BATCH[f"{name}, steps"] = (machine(C=1e8, gamma=0.2, tol=1e-12), lambda: easy(5_000))
    BATCH[f"{name}, newton"] = (machine(C=1e3, gamma=3.0), lambda: noise(4_000, 2))
    BATCH[f"{name}, pairs"] = (machine(C=100.0, n_jobs=2), lambda: noise(n_classes=4))


@pytest.mark.parametrize("case", BATCH)
def test_interrupt_leaves_a_model(case):
    model, data = BATCH[case]
    X, y = data()
    model = COPIES["deepcopy"](model)
    interrupt(lambda: model.fit(X, y), after=0.1, learnt=lambda: hasattr(model, "n_iter_") and model.n_iter_.sum() > 0)
    assert np.ptp(model.decision_function(X[:50])) > 0
    check_usable(model, X, y)


#: Model, data and whether to interrupt `fit`, the first chunk or a later one.
STREAMS = {
    "lasvc": (LASVC(variant="full"), noise, "fit"),
    "lasvc, 2 threads": (LASVC(variant="full", n_jobs=2), noise, "fit"),
    "lasvc, steps": (LASVC(variant="g", C=1e4, gamma=1.0), lambda: noise(d=2), "fit"),
    "lasvc, pairs of steps": (LASVC(variant="lasvm", cache_size=1), noise, "fit"),
    "lasvc, classes": (LASVC(variant="g"), lambda: noise(n_classes=4), "fit"),
    "lasvc, finish": (LASVC(variant="full", C=1e6, tol=1e-14), lambda: noise(1_000, 3), "fit"),
    "lasvc, finish lasvm": (LASVC(variant="lasvm", C=1e6, tol=1e-14), lambda: noise(1_000, 3), "fit"),
    "lasvc, first chunk": (LASVC(variant="full"), noise, "first"),
    "lasvc, later chunk": (LASVC(variant="nc"), noise, "later"),
    "lasvc, later chunk, classes": (LASVC(variant="lasvm", n_jobs=2), lambda: noise(n_classes=3), "later"),
    "sgd, epochs": (KernelSGDClassifier(gamma=0.02), noise, "fit"),
    "sgd, one epoch": (
        KernelSGDClassifier(gamma=0.02, variant="norma", truncate=0, n_epochs=1, n_jobs=2),
        noise,
        "fit",
    ),
    "sgd, no violations": (KernelSGDClassifier(gamma=0.02, C=1e3, n_epochs=10**6), no_violations, "fit"),
    "sgd, average": (KernelSGDClassifier(gamma=0.02, variant="pegaz", average=True, cache_size=1), noise, "fit"),
    "sgd, classes": (
        KernelSGDClassifier(gamma=0.02, variant="olsvm_reg", multi_class="ovr", n_jobs=2),
        lambda: noise(n_classes=4),
        "fit",
    ),
    "sgd, first chunk": (KernelSGDClassifier(gamma=0.02), noise, "first"),
    "sgd, later chunk": (KernelSGDClassifier(gamma=0.02, variant="olsvm_reg", fit_intercept=True), noise, "later"),
    "sgd, later chunk, classes": (
        KernelSGDClassifier(gamma=0.02, variant="pegaz", n_jobs=2),
        lambda: noise(n_classes=3),
        "later",
    ),
}


@pytest.mark.parametrize("case", STREAMS)
def test_interrupt_leaves_a_stream(case):
    model, data, how = STREAMS[case]
    X, y = data()
    model, classes = COPIES["deepcopy"](model), np.unique(y)
    if how == "later":
        model.partial_fit(X[:200], y[:200], classes)
    begin = getattr(model, "n_samples_seen_", 0)
    interrupt(
        lambda: model.fit(X, y) if how == "fit" else model.partial_fit(X, y, classes),
        after=0.1,
        learnt=lambda: getattr(model, "n_samples_seen_", 0) > begin,
    )
    check_usable(model, X, y)
    assert len(model.admission_margin_) == len(y) >= model.n_samples_seen_ - 200
    model.partial_fit(X[:20], y[:20])
    assert np.isfinite(model.decision_function(X[:50])).all()


def test_interrupted_incremental_fit():
    X, y = noisy(2_000, 10, flips=0.4)
    model = IncrementalSVC(C=1000.0, gamma=0.05)
    interrupt(lambda: model.fit(X, y), learnt=lambda: getattr(model, "n_samples_seen_", 0) > 2)
    k = model.n_samples_seen_
    assert k < 2_000 and model.ids_.tolist() == [*range(k)]
    expected = IncrementalSVC(C=1000.0, gamma=0.05).partial_fit(X[:k], y[:k], [0, 1])
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), rtol=0, atol=1e-7)


def test_interrupted_incremental_calls_change_nothing():
    # Forgetting is too quick for a signal to come in time; test_incremental_failures.py has kernels that interrupt it.
    X, y = noisy(1_500, 10, flips=0.4)
    model = IncrementalSVC(C=1000.0, gamma=0.05).fit(X, y)
    before = fingerprint(model, X[:50])
    calls = {
        "set_C": lambda: model.set_C(1e-3),
        "c_path": lambda: model.c_path(np.geomspace(1e-3, 1e5, 200)),
        "leave_one_out": lambda: model.leave_one_out(),
    }
    for name, call in calls.items():
        interrupt(call, after=0.05)
        assert fingerprint(model, X[:50]) == before, name


# ---- decisions and other signals -----------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_decision(n_jobs):
    X, y = noise(4_000)
    model = WorstViolatorSVC(n_jobs=n_jobs).fit(X, y)
    before = read_state(model)
    expected = model.decision_function(X[:10])
    interrupt(lambda: model.decision_function(np.tile(X, (60, 1))), after=0.2)
    assert read_state(model) == before
    np.testing.assert_array_equal(model.decision_function(X[:10]), expected)


class Alarm(Exception):
    """What the signal handler of a test raises."""


def alarm(call, after=0.2):
    """Have a signal handler raise Alarm in the middle of a long call."""

    def ring(signum, frame):
        raise Alarm

    handler = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, after)
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@needs_timer
def test_an_exception_of_a_handler_leaves_no_model():
    X, y = noise()
    model = WorstViolatorSVC()
    alarm(lambda: model.fit(X, y))
    with pytest.raises(NotFittedError):
        model.predict(X[:5])


@needs_timer
@pytest.mark.parametrize("how", ["fit", "chunk"])
@pytest.mark.parametrize("model", [LASVC(variant="full", C=100.0, gamma=0.5), KernelSGDClassifier(gamma=0.5)])
def test_an_exception_of_a_handler_leaves_a_stream_unchanged(model, how):
    X, y = noise(d=20)
    model = COPIES["deepcopy"](model).partial_fit(X[:100], y[:100], [0, 1])
    before = read_state(model)
    alarm(lambda: model.fit(X, y) if how == "fit" else model.partial_fit(X, y))
    assert read_state(model) == before
