"""Laws of streams and of the models learnt from them: chunks, labels, weights, forgetting, copies, threads, memory."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from .subject import (
    N_FIRST,
    N_ROWS,
    Samples,
    Subject,
    assert_close,
    assert_unchanged,
    decision_values,
    is_fitted,
    law,
    raises,
    read_state,
)

T = TypeVar("T")


@law()
def check_chunks(subject: Subject) -> None:
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


@law()
def check_fit_starts_again(subject: Subject) -> None:
    """``fit`` forgets the stream before it."""
    X, y = subject.data()
    model = subject.learn(subject.new(), X[:N_FIRST] + 1.0, y[:N_FIRST])
    subject.assert_same(subject.fit(model, X, y), subject.fit(subject.new(), X, y), X)


@law()
def check_fit_goes_on(subject: Subject) -> None:
    """A stream may begin with ``fit``, which counts, and chunks do not matter after it."""
    X, y = subject.data()
    one, other = (subject.fit(subject.new(), X[:N_FIRST], y[:N_FIRST]) for _ in range(2))
    subject.learn(one, X[N_FIRST:], y[N_FIRST:])
    subject.learn(other, X[N_FIRST:], y[N_FIRST:], [1, 17])
    subject.assert_same(one, other, X, subject.tol)
    rest = subject.learn(subject.new(), X[N_FIRST:], y[N_FIRST:], classes=range(3))
    counts = np.abs(decision_values(rest, X) - decision_values(one, X)).max() > 1e-6
    assert counts or subject.window is not None, "what fit has learnt does not count"


@law(lambda s: s.labelled)
def check_new_labels(subject: Subject) -> None:
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
    decision_values(before, X)


@law(lambda s: s.labelled)
def check_declared_labels(subject: Subject) -> None:
    """A label that is declared need not come; others may be declared or come later."""
    X, y = subject.data(n_classes=2)
    model = subject.learn(subject.new(), X, y, [30], classes=[0, 1, 7])
    assert model.classes_.tolist() == [0, 1, 7]
    decision_values(model, X)
    other = pickle.loads(pickle.dumps(model))
    for one in (model, other):
        one.partial_fit(X[:20], y[:20] + 6)
    assert model.classes_.tolist() == [0, 1, 6, 7]
    subject.assert_same(model, other, X)


@law(lambda s: s.labelled)
def check_first_call(subject: Subject) -> None:
    """The first call needs two classes or more, of one type; a refused first call leaves the estimator unfitted."""
    X, y = subject.data(n_classes=2)
    model = subject.new()
    for classes in (None, [0], [0, 0], [0.0, 1.0, np.nan], [[0, 1], [2, 3]]):
        raises(partial(model.partial_fit, X, y, classes=classes), ValueError)
        assert not is_fitted(model), f"fitted after classes={classes}"
    raises(partial(model.predict, X), NotFittedError)
    if "class_weight" in subject.parameters:
        for weights in ("balanced", {0: -1.0}, {"a": 1.0}):
            odd = subject.new(class_weight=weights)
            raises(partial(odd.partial_fit, X, y, classes=[0, 1]), ValueError)
            assert not is_fitted(odd), f"fitted after class_weight={weights}"


@law(lambda s: s.weighted and s.window is None)
def check_weight_zero(subject: Subject) -> None:
    """A sample of weight zero is left out."""
    X, y = subject.data()
    weight = np.where(np.arange(len(y)) % 4 == 3, 0.0, subject.weights(len(y)))
    on = weight > 0
    one = subject.learn(subject.new(), X, y, [30], weight=weight)
    other = subject.learn(subject.new(), X[on], y[on], [30 - int((~on[:30]).sum())], weight=weight[on])
    assert_close(decision_values(one, X), decision_values(other, X), subject.tol)
    odd = np.where(on[:, np.newaxis], X, 9.0)
    subject.assert_same(subject.learn(subject.new(), odd, y, [30], weight=weight), one, X, subject.tol)
    before = decision_values(one, X)
    subject.learn(one, X, y, weight=np.zeros(len(y)))
    assert_close(decision_values(one, X), before, subject.tol)


@law(lambda s: s.weighted)
def check_weight_one(subject: Subject) -> None:
    """Weights of one are no weights; other weights matter."""
    X, y = subject.data()
    one = subject.learn(subject.new(), X, y)
    subject.assert_same(one, subject.learn(subject.new(), X, y, weight=np.ones(len(y))), X)
    weighted = subject.learn(subject.new(), X, y, weight=0.01 + 0.99 * (y == 1))
    assert np.abs(decision_values(weighted, X) - decision_values(one, X)).max() > 1e-3, "weights do not matter"


@law(lambda s: s.forgets and s.weighted and s.window is None)
def check_weight_two(subject: Subject) -> None:
    """For exact estimators weight two is the row twice."""
    X, y = subject.data()
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    twice = np.r_[0 : len(y), 0 : len(y) : 3]
    one = subject.learn(subject.new(), X, y, weight=weight)
    other = subject.learn(subject.new(), X[twice], y[twice])
    assert_close(decision_values(one, X), decision_values(other, X), subject.tol)


@law(lambda s: s.weighted and s.labelled and "class_weight" in s.parameters)
def check_class_weight(subject: Subject) -> None:
    """``class_weight`` multiplies ``sample_weight``."""
    X, y = subject.data()
    names, by_class = np.array(["fig", "apple", "pear"])[y], {"fig": 2.0, "pear": 0.5}
    weight = subject.weights(len(y))
    product = weight * np.array([by_class.get(name, 1.0) for name in names.tolist()])
    one = subject.learn(subject.new(class_weight=by_class), X, names, [30], weight=weight)
    other = subject.learn(subject.new(class_weight=None), X, names, [30], weight=product)
    subject.assert_same(one, other, X)


def _widen(X: np.ndarray) -> sp.csr_array:
    """CSR with indices of 64 bits."""
    rows = sp.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


@law(lambda s: s.sparse)
def check_dense_and_sparse(subject: Subject) -> None:
    """Dense and sparse rows give the same model, also when the form changes between chunks."""
    forms = [sp.csr_matrix, sp.csr_array, _widen, np.asfortranarray, np.asarray, lambda X: X.tolist()]
    X, y = subject.data(d=20)
    parts = list(pairwise([*range(0, len(y), 15), len(y)]))
    cuts = [end for _, end in parts]
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        one = subject.learn(subject.new(), rows, y, cuts)
        for make in forms[:4]:
            other = subject.learn(subject.new(), make(rows), y, cuts)
            subject.assert_same(one, other, rows)
            assert_close(decision_values(other, make(rows)), decision_values(one, rows), 1e-12)
        for first in range(3):
            other = subject.new()
            for k, (begin, end) in enumerate(parts):
                given = {"y": y[begin:end]} if subject.labelled else {}
                if subject.labelled and k == 0:
                    given["classes"] = np.unique(y)
                other.partial_fit(forms[(first + k) % len(forms)](rows[begin:end]), **given)
            subject.assert_same(one, other, rows)


@law(lambda s: s.forgets)
def check_forget(subject: Subject) -> None:
    """What is forgotten was never there."""
    X, y = subject.data()
    X = X + 0.01 * np.random.default_rng(1).standard_normal(X.shape)  # no two rows are equal
    labels = [y] if subject.labelled else []
    held = min(subject.window or N_ROWS, N_ROWS) // 2
    model = subject.learn(subject.new(), X[:held], y[:held], classes=range(3))
    start = decision_values(model, X)
    ids = model.add(X[held : held + 10], *(part[held : held + 10] for part in labels))
    assert list(model.ids_[-10:]) == list(ids)
    assert model.forget(ids) is model
    assert len(model.ids_) == held
    assert_close(decision_values(model, X), start, subject.tol)
    model.forget(model.ids_[:5])
    rest = subject.learn(subject.new(), X[5:held], y[5:held], classes=range(3))
    assert_close(decision_values(model, X), decision_values(rest, X), subject.tol)
    model.forget(model.ids_)
    assert len(model.ids_) == 0
    subject.learn(model, X[:held], y[:held])
    assert_close(decision_values(model, X), start, subject.tol)


@law(lambda s: s.forgets)
def check_unknown_ids(subject: Subject) -> None:
    """An id that is not held raises KeyError, and nothing is forgotten."""
    X, y = subject.data()
    model = subject.new()
    raises(partial(model.forget, 0), NotFittedError)
    subject.learn(model, X, y)
    before = read_state(model)
    known = model.ids_[-1]
    for ids in (10**6, "nobody", [known, 10**6]):
        raises(partial(model.forget, ids), KeyError)
        assert_unchanged(model, before)
    for ids in ([1.5], [None], [known, [1]], True):
        raises(partial(model.forget, ids), KeyError, TypeError)
        assert_unchanged(model, before)
    assert_unchanged(model.forget([]), before)


@law(lambda s: s.window is not None)
def check_window(subject: Subject) -> None:
    """A window bounds what is held and what is saved."""
    window, by_class = int(subject.window), subject.parameters.get("window_scope") == "class"
    chunk = window * (3 if by_class else 1)
    X, y = subject.data(n=6 * chunk)
    model = subject.new()
    sizes = []
    for begin in range(0, len(y), chunk):
        end = begin + chunk
        subject.learn(model, X[begin:end], y[begin:end], classes=range(3))
        allowed = np.minimum(np.bincount(y[:end] if by_class else 0 * y[:end]), window).sum()
        assert model.n_samples_ == len(model.ids_) == allowed
        sizes.append(len(pickle.dumps(model)))
    assert model.n_samples_seen_ == len(y)
    assert sizes[-1] < 2 * sizes[0], f"sizes of the saved model: {sizes}"


# ---- copies, threads, predictions, memory ------------------------------------------------------------


def _through_joblib(model: BaseEstimator) -> BaseEstimator:
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


#: Ways to copy a model.
COPIES: dict[str, Callable[[BaseEstimator], BaseEstimator]] = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "oldest pickle": lambda model: pickle.loads(pickle.dumps(model, protocol=0)),
    "joblib": _through_joblib,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def _go_on(subject: Subject, model: BaseEstimator, X: Samples, y: np.ndarray) -> BaseEstimator:
    """Learn, and forget if possible."""
    subject.learn(model, X, y, [7])
    if hasattr(model, "forget"):
        model.forget([model.ids_[-3], model.ids_[-9]])
    return model


@law(cases=lambda s: COPIES)
def check_copies(subject: Subject, kind: str) -> None:
    """A copy made in the middle of a stream is equal, independent, and goes on like the original."""
    forms = [np.asarray, sp.csr_array] if subject.sparse else [np.asarray]
    for form in forms:
        X, y = subject.data()
        rows = form(X)
        model = subject.learn(subject.new(), rows[:N_FIRST], y[:N_FIRST], classes=range(3))
        before = read_state(model)
        other = COPIES[kind](COPIES[kind](model))
        assert_unchanged(model, before)
        subject.assert_same(model, other, X)
        _go_on(subject, other, rows[N_FIRST:], y[N_FIRST:])
        assert_unchanged(model, before)
        _go_on(subject, model, rows[N_FIRST:], y[N_FIRST:])
        subject.assert_same(model, other, X)
        subject.assert_same(COPIES[kind](other), other, X)


@law()
def check_clone_is_unfitted(subject: Subject) -> None:
    """A clone of a fitted model has its parameters and nothing else."""
    X, y = subject.data()
    model = subject.learn(subject.new(), X, y)
    fresh = clone(model)
    assert vars(fresh).keys() == model.get_params().keys()
    raises(partial(fresh.predict, X), NotFittedError)
    subject.assert_same(subject.learn(fresh, X, y), model, X)


def at_once(*jobs: Callable[[], T]) -> list[T]:
    """Results of functions that start together in threads of their own."""
    gate = threading.Barrier(len(jobs))

    def run(job: Callable[[], T]) -> T:
        gate.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


@law()
def check_models_in_threads(subject: Subject) -> None:
    """Two models may learn at the same time."""
    sets = [subject.data(seed=seed) for seed in (1, 2)]

    def learn(X: np.ndarray, y: np.ndarray) -> BaseEstimator:
        return subject.learn(subject.new(), X, y, range(10, len(y), 10))

    together = at_once(*(partial(learn, X, y) for X, y in sets))
    for (X, y), model in zip(sets, together, strict=True):
        subject.assert_same(learn(X, y), model, X)


@law()
def check_predictions_in_threads(subject: Subject) -> None:
    """Several threads may predict with one model, also just after it was copied."""
    X, y = subject.data()
    model = subject.learn(subject.new(), X, y)
    expected = decision_values(model, X).tobytes()
    again = copy.deepcopy(model)
    assert at_once(*[lambda: decision_values(again, X).tobytes()] * 4) == [expected] * 4


@law()
def check_predictions_while_learning(subject: Subject) -> None:
    """One thread may predict while another one learns: values of one moment, and the same model at the end."""
    X, y = subject.data(n=300)
    cuts = range(60, 300, 20)
    alone = subject.learn(subject.new(), X, y, cuts)
    model = subject.learn(subject.new(), X[:60], y[:60], classes=np.unique(y))
    done, seen = threading.Event(), [decision_values(model, X[:5])]

    def predict() -> None:
        while not done.is_set():
            seen.append(decision_values(model, X[:5]))

    def learn() -> None:
        try:
            subject.learn(model, X[60:], y[60:], [at - 60 for at in cuts])
        finally:
            done.set()

    at_once(predict, learn)
    subject.assert_same(alone, model, X)
    assert len({values.shape for values in seen}) == 1


@law()
def check_predict_is_pure(subject: Subject) -> None:
    """Predictions change neither the model nor the rows, and come out the same every time and in any batch."""
    X, y = subject.data()
    model = subject.learn(subject.new(), X, y)
    before, rows = read_state(model), X.copy()
    expected = decision_values(model, rows)
    labels = model.predict(rows)
    for _ in range(2):
        np.testing.assert_array_equal(decision_values(model, rows), expected)
        np.testing.assert_array_equal(model.predict(rows), labels)
    one_by_one = np.concatenate([decision_values(model, rows[k : k + 1]) for k in range(len(rows))])
    assert_close(one_by_one, expected, 1e-12)
    np.testing.assert_array_equal(rows, X)
    assert_unchanged(model, before)


@law()
def check_data_are_copied(subject: Subject) -> None:
    """What the caller does with the arrays after a call does not reach the model."""
    X, y = subject.data()
    given, labels, weight = X.copy(), y.copy(), subject.weights(len(y))
    model = subject.learn(subject.new(), given, labels, weight=weight)
    np.testing.assert_array_equal(given, X)
    before = read_state(model)
    given[:], labels[:], weight[:] = 0.0, 0, 0.0
    assert_unchanged(model, before)
    expected = subject.learn(subject.new(), X, y, weight=subject.weights(len(y)))
    subject.assert_same(model, expected, X)


@law()
def check_memory(subject: Subject) -> None:
    """Predictions, refused chunks and copies leave no memory behind, neither of Python nor of the process."""
    statm, megabytes = Path("/proc/self/statm"), 2**20
    X, y = subject.data(n=150, d=400)
    model = subject.learn(subject.new(), X, y)
    bad = {"y": y[:3]} if subject.labelled else {}

    def _count_bytes() -> np.ndarray:
        gc.collect()
        resident = int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0
        return np.array([tracemalloc.get_traced_memory()[0], resident]) / megabytes

    def some_work(rounds: int) -> None:
        for _ in range(rounds):
            model.predict(X)
            raises(lambda: model.partial_fit(X * np.nan, **bad), ValueError)
            copy.deepcopy(model)

    tracemalloc.start()
    try:
        some_work(2)
        before = _count_bytes()
        some_work(12)
        grown = _count_bytes() - before
    finally:
        tracemalloc.stop()
    limit = 6 * X.nbytes / megabytes
    assert (grown < limit).all(), f"memory of Python and of the process has grown by {grown} MB, more than {limit}"


@law(lambda s: "cache_size" in s.parameters)
def check_cache_size(subject: Subject) -> None:
    """The size of the cache does not matter. Exact estimators need some memory, and differ by rounding."""
    X, y = subject.data(n=150)
    size = subject.parameters["cache_size"]
    one = subject.learn(subject.new(), X, y, [70])
    for factor in (0.05,) if subject.tol else (1e-7, 1e-4):
        other = subject.learn(subject.new(cache_size=factor * size), X, y, [70])
        subject.assert_same(one, other, X, subject.tol)


@law(lambda s: "n_jobs" in s.parameters)
def check_n_jobs(subject: Subject) -> None:
    """The number of threads does not matter."""
    X, y = subject.data(n=300, n_classes=4)
    one, two = (subject.learn(subject.new(n_jobs=n_jobs), X, y, [70]) for n_jobs in (1, 2))
    subject.assert_same(one, two, X)
