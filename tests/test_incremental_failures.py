"""IncrementalSVC: calls that fail or are interrupted leave the model as it was; memory; threads."""

import contextlib
import pickle
import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hingeline import IncrementalOneClassSVM, IncrementalSVC

from .data import with_entry
from .exact import COMPUTED, KERNELS, Function, blobs, fingerprint, go_on, noisy, optimal, same_function

# ---- failures ------------------------------------------------------------------------------------------

BAD_CALLS = {
    "scale the features": lambda m, X, y: m.add(with_entry(X, 1e200), y),
    "ids": lambda m, X, y: m.add(X, y, ids=[1, 2]),
    "ids|hashable": lambda m, X, y: m.add(X, y, ids=[[k] for k in range(len(y))]),
    "'C'|\\bC\\b": lambda m, X, y: m.set_C(0.0),
    "(?i)\\bC\\b.*number": lambda m, X, y: m.set_C("2"),
    "\\bC\\b": lambda m, X, y: m.set_C(np.nan),
    "\\bCs?\\b": lambda m, X, y: m.c_path([1.0, -1.0]),
    "X has 2 features": lambda m, X, y: m.c_path([1.0], X=X[:, :2]),
    "features, but": lambda m, X, y: m.predict(X[:, :2]),
    "contains NaN": lambda m, X, y: m.decision_function(with_entry(X, np.nan)),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("match", BAD_CALLS)
def test_bad_calls_leave_no_trace(match, n_classes):
    X, y = noisy(40) if n_classes == 2 else blobs(40, d=3)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X[:20], y[:20])
    spared = IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X[:20], y[:20])
    before = fingerprint(model, X)
    with pytest.raises((ValueError, TypeError), match=match):
        BAD_CALLS[match](model, X[20:], y[20:])
    assert fingerprint(model, X) == before
    assert fingerprint(go_on(model, X[20:], y[20:]), X) == fingerprint(go_on(spared, X[20:], y[20:]), X)


def test_memory_limit():
    X, y = noisy(300, 5, flips=0.3)
    options = {"C": 100.0, "gamma": 2.0}
    unlimited = IncrementalSVC(**options).fit(X, y)
    needed = unlimited.memory_ / 2**20
    with pytest.raises(MemoryError, match="cache_size"):
        IncrementalSVC(cache_size=needed / 10, **options).fit(X, y)
    model, spared = (IncrementalSVC(cache_size=needed / 10, **options).fit(X[:20], y[:20]) for _ in range(2))
    before = fingerprint(model, X)
    with pytest.raises(MemoryError, match="cache_size"):
        model.add(X[20:], y[20:])
    assert fingerprint(model, X) == before
    for m in (model, spared):
        m.set_params(cache_size=10 * needed).add(X[20:], y[20:])
    assert fingerprint(model, X) == fingerprint(spared, X)
    same_function(model, unlimited, X, atol=1e-8)
    # Less than what is used already.
    before = fingerprint(model, X)
    model.set_params(cache_size=needed / 10)
    with pytest.raises(MemoryError, match="cache_size"):
        model.add(X[:5], y[:5])
    assert fingerprint(model, X) == before
    for m in (model.set_params(cache_size=10 * needed), spared):
        m.add(X[:5], y[:5])
    assert fingerprint(model, X) == fingerprint(spared, X)


@pytest.mark.parametrize("rows", [60, 100, 140])
def test_little_memory_gives_an_error_or_the_optimum(rows):
    """Never a wrong model: rows of the margin set must not go while others are computed."""
    for seed in range(6):
        X, y = noisy(250, 3, seed=seed)
        options = {"C": 0.65, **KERNELS["rbf"]}
        rng = np.random.default_rng(seed)
        model = IncrementalSVC(cache_size=rows * 512 * 8 / 2**20, **options)
        ids, finished = [], 0
        for part in np.array_split(np.arange(250), 4):
            try:
                ids += model.add(X[part], y[part])
                gone = rng.choice(ids, 20, replace=False).tolist()
                model.forget(gone)
                ids = [k for k in ids if k not in gone]
                model = pickle.loads(pickle.dumps(model))
                finished += 1
            except MemoryError as error:
                assert "cache_size" in str(error)
                break
            finally:
                if model.n_samples_:
                    optimal(model, X[model.ids_], y[model.ids_])
        assert rows < 140 or finished == 4


# ---- kernel functions ----------------------------------------------------------------------------------


class Mood(Exception):
    """What a kernel function raises."""


def raises(kind):
    def mood(values):
        raise kind("now")

    return mood


MOODS = {
    "raises": (raises(Mood), Mood),
    "NaN": (lambda values: np.full_like(values, np.nan), ValueError),
    "shape": (lambda values: values[:, :0], ValueError),
    "complex": (lambda values: values + 1j, ValueError),
}

OPERATIONS = {
    "forget": lambda m, X, y: m.forget([*range(0, 30, 2)]),
    "set_C": lambda m, X, y: m.set_C(0.02),
    "c_path": lambda m, X, y: m.c_path([0.02, 20.0], X=X),
    "leave_one_out": lambda m, X, y: m.leave_one_out(),
}


@pytest.mark.parametrize("mood", MOODS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_bad_kernel_leaves_no_trace(operation, mood):
    X, y = blobs(45, 2 if mood == "NaN" else 3)
    model = IncrementalSVC(C=2.0, kernel=Function()).fit(X[:30], y[:30])
    before = fingerprint(model, X)
    failed = 0
    for patience in (0, 1, 2, 5, 9, 14):
        spared = IncrementalSVC(C=2.0, kernel=Function()).fit(X[:30], y[:30])
        mood_, error = MOODS[mood]
        if model.kernel.fails(mood_, patience, error, lambda: OPERATIONS[operation](model, X, y)):  # noqa: B023
            failed += 1
            assert fingerprint(model, X) == before
            assert fingerprint(go_on(model, X, y), X) == fingerprint(go_on(spared, X, y), X)
        model = IncrementalSVC(C=2.0, kernel=Function()).fit(X[:30], y[:30])
    assert failed or operation != "c_path"


@pytest.mark.parametrize("operation", ["forget", "set_C", "c_path", "leave_one_out"])
def test_interrupted_changes_are_undone(operation):
    X, y = blobs(45)
    for patience in range(12):
        model = IncrementalSVC(C=2.0, kernel=Function()).fit(X[:30], y[:30])
        before, spared = fingerprint(model, X), IncrementalSVC(C=2.0, kernel=Function()).fit(X[:30], y[:30])
        call = lambda: OPERATIONS[operation](model, X, y)  # noqa: E731, B023
        if model.kernel.fails(raises(KeyboardInterrupt), patience, KeyboardInterrupt, call):
            assert fingerprint(model, X) == before
            assert fingerprint(go_on(model, X, y), X) == fingerprint(go_on(spared, X, y), X)


@pytest.mark.parametrize("scope", [{"window": 15}, {"window": 9, "window_scope": "class"}], ids=["all", "class"])
def test_ids_after_an_error_and_an_interrupt(scope):
    X, y = noisy(60)
    labels = [0, 1] if "window_scope" in scope else [0]
    y[:20:2], y[1:20:2] = 0, 1
    calls = {"left": 10**9, "error": ValueError}

    def kernel(A, B):
        calls["left"] -= 1
        if calls["left"] < 0:
            raise calls["error"]("stopped")
        return COMPUTED["linear"](A, B)

    model = IncrementalSVC(kernel=kernel, **scope).fit(X[:20], y[:20])
    raised, arrived = [], [*range(20)]  # which rows came
    for error in (ValueError, KeyboardInterrupt):
        for left in (3, 2, 1, 0):
            calls.update(left=left, error=error)
            try:
                model.add(X[20:40], y[20:40])
            except (ValueError, KeyboardInterrupt) as caught:
                raised.append(type(caught))
            calls["left"] = 10**9
            arrived += range(20, 20 + model.n_samples_seen_ - len(arrived))
            assert len(model.ids_) == model.n_samples_ == len(set(model.ids_)) == len(labels) * scope["window"]
            held = [arrived[number] for number in model.ids_]
            optimal(model, X[held], y[held], kernel="linear")
    assert {ValueError, KeyboardInterrupt} == set(raised)


def test_a_kernel_function_cannot_change_its_model():
    X, y = noisy(40)
    said = []

    def kernel(A, B):
        if not said and "model" in held:
            for change in (
                lambda: held["model"].add(X[:1], y[:1]),
                lambda: held["model"].forget(0),
                lambda: held["model"].set_C(3.0),
            ):
                with pytest.raises(RuntimeError, match="kernel function") as error:
                    change()
                said.append(str(error.value))
        return COMPUTED["linear"](A, B)

    held = {}
    model = IncrementalSVC(C=1.0, kernel=kernel).fit(X[:30], y[:30])
    held["model"] = model
    model.add(X[30:], y[30:])
    assert len(said) == 3 and model.n_samples_ == 40
    optimal(model, X, y, kernel="linear")


@pytest.mark.parametrize("name", ["fit", "partial_fit", "set_C", "set_nu", "forget"])
def test_a_kernel_function_cannot_change_its_model_during_fit(name):
    X, _ = noisy(40)
    refused = []

    def kernel(A, B):
        if name in held and not refused:
            with pytest.raises(RuntimeError, match="kernel function"):
                held[name]()
            refused.append(name)
        return COMPUTED["linear"](A, B)

    held = {}
    model = IncrementalOneClassSVM(nu=0.5, kernel=kernel).fit(X[:30])
    calls = {"fit": X, "partial_fit": X, "set_C": 3.0, "set_nu": 0.2, "forget": 0}
    held[name] = lambda: getattr(model, name)(calls[name])
    model.fit(X)
    assert refused and model.n_samples_ == 40 and model.nu == 0.5
    held.clear()
    model.partial_fit(X[:1]).set_nu(0.4)


class Once:
    """Linear kernel that returns nonsense while it is asked to."""

    spoil = None

    def __call__(self, A, B):
        values = COMPUTED["linear"](A, B)
        return values if self.spoil is None else self.spoil(values)


@pytest.mark.parametrize("spoil", [lambda K: 0.0 * K, lambda K: -K, lambda K: K + np.sin(1e6 * K)])
@pytest.mark.parametrize("options", [{"nu": 0.3}, {"nu": 0.3, "shape": "sphere"}, {"C": 0.2, "shape": "sphere"}])
def test_points_leave_whatever_the_kernel_has_returned(options, spoil):
    X, _ = noisy(40)
    kernel = Once()
    model = IncrementalOneClassSVM(kernel=kernel, **options).fit(X[:20])
    kernel.spoil = spoil
    with contextlib.suppress(RuntimeError):  # not positive semi-definite
        model.add(X[20:])
    kernel.spoil = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.forget(model.ids_[::3])
    model.forget(model.ids_)
    assert model.n_samples_ == 0
    fresh = IncrementalOneClassSVM(kernel=kernel, **options).fit(X)
    model.add(X)
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), atol=1e-8)


def test_forgetting_all_points_asks_for_no_kernel_value():
    X, y = noisy(40)
    kernel = Once()
    for model in (IncrementalSVC(kernel=kernel), IncrementalOneClassSVM(kernel=kernel, nu=0.3)):
        kernel.spoil = None
        model.fit(X, y)
        model = pickle.loads(pickle.dumps(model))  # without kernel rows
        model.kernel.spoil = lambda K: 1 / 0
        assert model.forget(model.ids_).n_samples_ == 0


# ---- threads -------------------------------------------------------------------------------------------


def test_threads_get_numbers_of_their_own():
    X, y = noisy(90)
    model = IncrementalSVC(**KERNELS["rbf"]).fit(X[:30], y[:30])
    threads = [
        threading.Thread(
            target=lambda part: [model.add(X[k : k + 1], y[k : k + 1]) for k in part], args=(range(a, a + 20),)
        )
        for a in (30, 50, 70)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.ids_.tolist() == list(range(90)) and model.n_samples_ == 90
    assert model.kkt_violation_ < 1e-9


@pytest.mark.parametrize("estimator", ["classifier", "plane", "sphere"])
def test_decisions_while_another_thread_learns(estimator):
    X, y = noisy(150)
    if estimator == "classifier":
        model = IncrementalSVC(**KERNELS["rbf"]).fit(X[:50], y[:50])
    else:
        model = IncrementalOneClassSVM(nu=0.3, shape=estimator, **KERNELS["rbf"]).fit(X[:50])
    done, seen = threading.Event(), []

    def read():
        while not done.is_set():
            seen.append(model.decision_function(X[:5]))

    reader = threading.Thread(target=read)
    reader.start()
    for k in range(50, 150):
        model.partial_fit(X[k : k + 1], y[k : k + 1])
        model.forget(k - 50)
    done.set()
    reader.join()
    assert seen and all(np.isfinite(values).all() for values in seen) and model.kkt_violation_ < 1e-9
