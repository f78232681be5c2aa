"""Several threads, and arrays that their owner changes later."""

import copy
import gc
import os
import signal
import sys
import threading
import weakref

import numpy as np
import pytest
from sklearn.utils.validation import check_is_fitted

from hingeline import (
    LASVC,
    IncrementalOneClassSVM,
    IncrementalSVC,
    KernelSGDClassifier,
    LinearSVC,
    NuSVC,
    NystroemSVC,
    WorstViolatorSVC,
)

from .citizens import MODELS, fingerprint, linear_function, problem
from .private import at_once, read_state


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kernel", ["rbf", linear_function], ids=["rbf", "function"])
def test_two_fits_at_once(kernel, n_jobs):
    sets = [problem(n=700, seed=seed) for seed in (1, 2)]

    def fit(X, y):
        return fingerprint(WorstViolatorSVC(kernel=kernel, n_jobs=n_jobs).fit(X, y), X)

    alone = [fit(X, y) for X, y in sets]
    assert alone[0] != alone[1]
    assert at_once(*(lambda X=X, y=y: fit(X, y) for X, y in sets)) == alone


def test_fit_away_from_the_main_thread():
    X, y = problem()
    (model,) = at_once(lambda: WorstViolatorSVC(n_jobs=2).fit(X, y))
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC().fit(X, y), X)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("learner", [WorstViolatorSVC, LASVC, KernelSGDClassifier])
def test_predict_is_pure_and_thread_safe(learner, kind):
    make, parameters = MODELS[kind]
    X, y = problem(n=300)
    X = make(X)
    model = learner(**parameters, n_jobs=2, random_state=0).fit(X, y)
    before, expected = read_state(model), fingerprint(model, X)
    again = copy.deepcopy(model)  # packed support vectors are built on demand: here by four at once
    assert at_once(*[lambda: fingerprint(again, X)] * 4) == [expected] * 4
    model.predict(X)
    assert read_state(model) == before

    def learn():
        return fingerprint(learner(**parameters, random_state=0).fit(X, y), X)

    assert at_once(learn, learn) == [expected] * 2


def test_model_does_not_alias_the_data():
    X, y = problem()
    model = WorstViolatorSVC().fit(X, y)
    queries = X.copy()
    expected = fingerprint(model, queries)
    X[:] = 0.0
    y[:] = 0
    assert fingerprint(model, queries) == expected


# ---- one model in several threads ----------------------------------------------------------------------

STREAMS = {
    "LASVC": LASVC(gamma=0.5),
    "KernelSGDClassifier": KernelSGDClassifier(gamma=0.5),
    "IncrementalSVC": IncrementalSVC(gamma=0.5),
}


@pytest.fixture
def many_switches():
    """Threads take turns every 10 microseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def three_classes(n=60, seed=0):
    random = np.random.RandomState(seed)
    y = np.arange(n) % 3
    return random.randn(n, 3) + y[:, np.newaxis], y


@pytest.mark.parametrize("name", STREAMS)
def test_no_chunk_is_lost(name, many_switches):
    """One thread adds known labels, one new ones; also as the first calls of a model."""
    X, y = three_classes()
    for first in [True] * 4 + [False] * 4:
        model = copy.deepcopy(STREAMS[name])
        if not first:
            model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1])
        expected = 0 if first else (y < 2).sum()

        def learn(classes, model=model):
            known = np.isin(y, classes)
            for at in (0, 10):
                model.partial_fit(X[known][at : at + 10], y[known][at : at + 10], classes=[0, 1])

        at_once(lambda: learn([0, 1]), lambda: learn([2]))
        assert model.n_samples_seen_ == expected + 40
        assert model.classes_.tolist() == [0, 1, 2] and len(model.n_support_) == 3
        model.predict(X)
        if name == "IncrementalSVC":
            assert sorted(model.ids_) == list(range(expected + 40))


def decisions(model, X):
    """Decision values to the bit."""
    return model.decision_function(X).tobytes()


def watched(model, X, steps, *, also=lambda model: None):
    """Decision values that a second thread sees while steps are made, and those of a twin between the steps."""
    twin = copy.deepcopy(model)
    allowed = {decisions(twin, X)}
    for step in steps:
        step(twin)
        allowed.add(decisions(twin, X))
    seen, done = set(), threading.Event()

    def look():
        while not done.is_set():
            seen.add(decisions(model, X))
            also(model)

    def change():
        try:
            for step in steps:
                step(model)
        finally:
            done.set()

    at_once(change, look)
    seen.add(decisions(model, X))
    return seen, allowed


@pytest.mark.parametrize("name", STREAMS)
def test_predictions_see_one_state(name, many_switches):
    X, y = three_classes(120)
    model = copy.deepcopy(STREAMS[name]).partial_fit(X[:12][y[:12] < 2], y[:12][y[:12] < 2], classes=[0, 1])
    steps = [lambda m, at=at: m.partial_fit(X[at : at + 4], y[at : at + 4]) for at in range(12, 120, 4)]
    if name == "IncrementalSVC":
        steps += [lambda m, i=i: m.forget([i]) for i in range(8)]
        steps += [lambda m, C=C: m.set_C(C) for C in (2.0, 9.0, 0.3)]
    seen, allowed = watched(model, X, steps)
    assert seen <= allowed and len(seen) > 1


@pytest.mark.parametrize("shape", ["plane", "sphere"])
def test_one_class_predictions_see_one_state(shape, many_switches):
    X, _ = three_classes(60)
    model = IncrementalOneClassSVM(gamma=0.5, nu=0.3, shape=shape).fit(X[:20])
    steps = [lambda m, at=at: m.partial_fit(X[at : at + 4]) for at in range(20, 60, 4)]
    steps += [lambda m, nu=nu: m.set_nu(nu) for nu in (0.5, 0.2)] + [lambda m, i=i: m.forget([i]) for i in range(5)]
    seen, allowed = watched(model, X, steps, also=lambda m: m.ids_)
    assert seen <= allowed and len(seen) > 1


@pytest.mark.parametrize(
    "model",
    [WorstViolatorSVC(), LASVC(random_state=0), IncrementalSVC(), LinearSVC(), NystroemSVC(n_components=20)],
    ids=lambda model: type(model).__name__,
)
def test_predictions_see_one_fit(model, many_switches):
    """Fits to other labels, which also change gamma='scale' and the number of machines."""
    sets = [three_classes(60), three_classes(90, seed=1), (three_classes(60)[0] * 3, np.arange(60) % 2)]
    steps = [lambda m, k=k: m.fit(*sets[k % 3]) for k in range(12)]
    seen, allowed = watched(copy.deepcopy(model).fit(*sets[0]), sets[0][0], steps)
    assert seen <= allowed and len(allowed) == 3


def test_ids_and_rows_agree_in_threads(many_switches):
    X, y = three_classes(90)
    model = IncrementalSVC(gamma=0.5).fit(X[:30], y[:30])

    def add():
        for at in range(30, 90, 5):
            model.add(X[at : at + 5], y[at : at + 5])

    def forget():
        for i in range(0, 30, 2):
            model.forget([i])
            assert i not in model.ids_

    at_once(add, forget, lambda: [model.leave_one_out() for _ in range(3)])
    assert sorted(model.ids_) == sorted({*range(90)} - {*range(0, 30, 2)})
    assert model.n_samples_ == 75 and model.kkt_violation_ < 1e-9


# ---- forks ---------------------------------------------------------------------------------------------


def in_child(call):
    """Exit status of a child process that calls `call`; -14 if it was still waiting after 20 seconds."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        status = 1
        try:
            status = call()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("predicted", [True, False])
def test_fork_while_another_thread_learns(name, predicted):
    """A child answers from the last state that was read, or raises RuntimeError; it does not wait for ever."""
    X, y = three_classes()
    inside, leave = threading.Event(), threading.Event()

    def kernel(A, B):
        if threading.current_thread() is not threading.main_thread():
            inside.set()
            leave.wait()
        return linear_function(A, B)

    model = copy.deepcopy(STREAMS[name]).set_params(kernel=kernel)
    model.partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    expected = model.predict(X) if predicted else None
    thread = threading.Thread(target=lambda: model.partial_fit(X[30:], y[30:]))
    thread.start()
    inside.wait()

    def child():
        if predicted:
            return 7 if np.array_equal(model.predict(X), expected) else 2
        try:
            model.predict(X)
        except RuntimeError as error:
            return 7 if "fork" in str(error) else 3
        return 4

    def learns():
        try:
            model.partial_fit(X[:3], y[:3])
        except RuntimeError as error:
            return 7 if "fork" in str(error) else 3
        return 4

    try:
        assert in_child(child) == 7
        assert in_child(learns) == 7
    finally:
        leave.set()
        thread.join()
    assert model.n_samples_seen_ == 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_models_work_in_children():
    X, y = three_classes()
    model = LASVC(gamma=0.5).partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    assert in_child(lambda: model.partial_fit(X[30:], y[30:]).n_samples_seen_) == 60


# ---- garbage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [WorstViolatorSVC, LASVC, KernelSGDClassifier, IncrementalSVC])
def test_garbage_collector_sees_through_the_core(learner):
    """An error refers to the training, this to the kernel function, and this to the error."""
    X, y = problem(n=40)

    def failed():
        errors = []

        def kernel(A, B):
            raise ValueError(f"trouble {len(errors)}")

        try:
            learner(kernel=kernel).fit(X, y)
        except ValueError as error:
            errors.append(error)
        assert errors
        return weakref.ref(kernel)

    gone = failed()
    gc.collect()
    assert gone() is None


def test_whether_a_model_is_fitted_while_another_thread_publishes(many_switches):
    """A loop over the attributes of the model would fail when one is added."""
    model = NuSVC(nu=0.3).fit(*problem())
    end = threading.Event()

    def publish():
        while not end.is_set():
            for k in range(300):
                setattr(model, f"more{k}_", k)
            for k in range(300):
                delattr(model, f"more{k}_")

    def ask():
        try:
            for _ in range(3000):
                check_is_fitted(model)
        finally:
            end.set()

    at_once(publish, ask)
