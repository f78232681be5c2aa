"""IncrementalSVC: shapes, weights, classes, kernels, parameters, ids.

What all online estimators have in common is checked in test_online_estimators.py.
"""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hingeline import IncrementalSVC

from .data import FORMS, plus_minus, with_entry
from .exact import (
    COMPUTED,
    KERNELS,
    Function,
    batch,
    blobs,
    coefficients,
    determined,
    fingerprint,
    noisy,
    optimal,
    same_function,
    some_weights,
    stream,
)
from .oracle.equality_qp import classifier_box, equality_qp
from .watching import NO_CALLBACKS

# ---- the estimator -------------------------------------------------------------------------------------


def test_clone_knows_nothing():
    X, y = blobs(40)
    options = {
        "C": 2.0,
        "kernel": "poly",
        "gamma": 0.5,
        "degree": 2,
        "coef0": 1.0,
        "class_weight": {0: 2.0},
        "window": 10,
        "window_rule": "relevance",
        "window_scope": "class",
        "solver": "path",
        "probability": True,
        "cache_size": 5.0,
        "n_jobs": 2,
    }
    defaults = IncrementalSVC().get_params()
    assert defaults.keys() == options.keys() and all(defaults[name] != value for name, value in options.items())
    model = IncrementalSVC(**options).fit(X, y)
    assert vars(clone(model)) == options
    model.set_C(5.0)
    assert clone(model).C == 5.0
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_fit_forgets_everything():
    X, y = blobs(60)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"])
    model.add(X[30:35], y[30:35] + 5, ids=[*"abcde"])
    model.fit(X[:30], y[:30])
    assert fingerprint(model, X) == fingerprint(IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X[:30], y[:30]), X)
    assert model.ids_.tolist() == [*range(30)] and model.n_samples_seen_ == 30


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_shapes(n_classes, container):
    X, y = blobs(60, n_classes)
    model = IncrementalSVC(C=3.0, **KERNELS["rbf"]).fit(container(X), y)
    n_machines, n_support = (1 if n_classes == 2 else n_classes), len(model.support_)
    assert model.dual_coef_.shape == (n_machines, n_support)
    for name in ("intercept_", "n_margin_", "n_iter_", "condition_"):
        assert np.shape(getattr(model, name)) == (n_machines,), name
    assert (model.n_iter_ > 0).all() and (np.asarray(model.condition_) >= 1).all()
    assert model.n_support_.shape == (n_classes,) and model.n_support_.sum() == n_support
    assert (np.repeat(np.arange(n_classes), model.n_support_) == y[model.support_]).all()
    rows = model.support_vectors_
    assert ((rows.toarray() if sp.issparse(rows) else rows) == X[model.support_]).all()
    assert model.n_features_in_ == 4 and model.memory_ > 0
    for name in ("n_rebuilds_", "n_corrections_", "n_restarts_"):
        assert np.shape(getattr(model, name)) == (n_machines,) and (getattr(model, name) >= 0).all(), name
    free = (np.abs(model.dual_coef_) > 0) & (np.abs(model.dual_coef_) < 3.0)
    assert (free.sum(axis=1) <= model.n_margin_).all() and model.n_margin_.sum() > 0
    values = model.decision_function(X)
    assert values.shape == ((60,) if n_classes == 2 else (60, n_classes))
    if n_classes > 2:
        assert (model.predict(X) == model.classes_[values.argmax(axis=1)]).all()
    assert model.score(X, y) > 0.7
    assert not hasattr(model, "coef_")
    linear = IncrementalSVC(C=3.0, kernel="linear").fit(container(X), y)
    flat = X @ np.asarray(linear.coef_.toarray() if sp.issparse(linear.coef_) else linear.coef_).T + linear.intercept_
    np.testing.assert_allclose(linear.decision_function(X), flat.reshape(values.shape), rtol=0, atol=1e-10)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_single_precision_input(form):
    X, y = blobs(60)
    X = X.astype(np.float32)
    expected = IncrementalSVC(C=3.0, **KERNELS["rbf"]).fit(X.astype(np.float64), y)
    model = IncrementalSVC(C=3.0, **KERNELS["rbf"]).fit(FORMS[form](X), y)
    assert fingerprint(model, X.astype(np.float64)) == fingerprint(expected, X.astype(np.float64))
    assert model.decision_function(FORMS[form](X)).tobytes() == expected.decision_function(X).tobytes()
    assert model.decision_function(X).dtype == model.dual_coef_.dtype == np.float64


def test_gamma_is_that_of_the_first_chunk():
    X, y = noisy(60)
    model = IncrementalSVC().partial_fit(X[:20], y[:20], [0, 1]).partial_fit(X[20:] * 5, y[20:])
    gamma = 1 / (3 * X[:20].var())
    other = IncrementalSVC(gamma=gamma).partial_fit(X[:20], y[:20], [0, 1]).partial_fit(X[20:] * 5, y[20:])
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), rtol=0, atol=1e-9)


def test_labels_may_be_words():
    X, y = blobs(60)
    words = np.array(["pear", "apple", "fig"])[y]
    model = IncrementalSVC(C=3.0, **KERNELS["rbf"]).fit(X, words)
    assert model.classes_.tolist() == ["apple", "fig", "pear"]
    numbers = IncrementalSVC(C=3.0, **KERNELS["rbf"]).fit(X, y)
    assert (model.predict(X) == np.array(["pear", "apple", "fig"])[numbers.predict(X)]).all()
    assert model.score(X, words) == numbers.score(X, y) > 0.7


def test_swapping_labels_swaps_signs():
    X, y = noisy(60)
    one, other = (IncrementalSVC(C=3.0, **KERNELS["rbf"]).fit(X, labels) for labels in (y, 1 - y))
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(coefficients(one, range(60)), -coefficients(other, range(60)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.intercept_, -other.intercept_, rtol=0, atol=1e-12)
    assert (one.predict(X) == 1 - other.predict(X)).all()


def test_threads_change_nothing():
    X, y = blobs(150)
    one, two = (IncrementalSVC(C=2.0, n_jobs=n, **KERNELS["rbf"]).fit(X, y) for n in (1, 2))
    for model in (one, two):
        model.forget([*range(0, 60, 3)]).set_C(7.0)
    assert fingerprint(one, X) == fingerprint(two, X)
    assert one.leave_one_out().decision.tobytes() == two.leave_one_out().decision.tobytes()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_function_is_a_kernel(kernel):
    X, y = blobs(60)
    model = IncrementalSVC(C=3.0, kernel=Function(kernel)).fit(X, y)
    other = IncrementalSVC(C=3.0, **KERNELS[kernel]).fit(X, y)
    for m in (model, other):
        m.forget([1, 2]).set_C(1.0)
    same_function(model, other, X, atol=1e-9)


def test_precomputed_has_a_remedy():
    X, y = noisy(30)
    K = COMPUTED["rbf"](X, X)
    with pytest.raises(ValueError, match="kernel"):
        IncrementalSVC(kernel="precomputed").fit(K, y)
    rows = np.arange(30.0)[:, None]
    model = IncrementalSVC(kernel=lambda A, B: K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]).fit(rows, y)
    expected = IncrementalSVC(**KERNELS["rbf"]).fit(X, y)
    np.testing.assert_allclose(model.decision_function(rows), expected.decision_function(X), rtol=0, atol=1e-9)


def test_progress_of_a_fit():
    callback = pytest.importorskip("sklearn.callback", reason=NO_CALLBACKS)
    X, y = noisy(60)
    model = IncrementalSVC(**KERNELS["rbf"])
    model.set_callbacks(callback.ScoringMonitor(scoring="accuracy")).fit(X, y)
    same_function(model, IncrementalSVC(**KERNELS["rbf"]).fit(X, y), X, atol=1e-9)


# ---- weights -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_follow_C_and_forget(n_classes):
    X, y = noisy(60) if n_classes == 2 else blobs(60)
    weights = some_weights(60)
    model = IncrementalSVC(C=0.4, **KERNELS["rbf"]).fit(X, y, sample_weight=weights)
    model.forget([0, 3, 59]).set_C(4.0)
    kept = [k for k in range(60) if k not in (0, 3, 59)]
    optimal(model, X[kept], y[kept], weights[kept])
    if n_classes == 2:
        same_function(model, batch(X[kept], y[kept], 4.0, "rbf", weights[kept]), X, weights=weights)


def test_class_weight():
    X, y = noisy(60)
    given = {0: 0.5, 1: 3.0}
    model = IncrementalSVC(C=1.0, class_weight=given, **KERNELS["rbf"]).fit(X, y)
    same_function(model, batch(X, y, class_weight=given), X, weights=(0.5, 3.0))
    streamed = stream(IncrementalSVC(C=1.0, class_weight=given, **KERNELS["rbf"]), X, y, [10, 33])
    same_function(streamed, model, X, 1e-9, weights=(0.5, 3.0))
    weights = some_weights(60)
    model = IncrementalSVC(C=1.0, class_weight=given, **KERNELS["rbf"]).fit(X, y, sample_weight=weights)
    products = np.outer([0.5, 1.0, 3.0], [0.5, 3.0]).ravel()
    same_function(model, batch(X, y, weights=weights, class_weight=given), X, weights=products)
    few = np.r_[np.flatnonzero(y == 0)[:8], np.flatnonzero(y == 1)]
    balanced = IncrementalSVC(C=1.0, class_weight="balanced", **KERNELS["rbf"]).fit(X[few], y[few])
    same_function(balanced, batch(X[few], y[few], class_weight="balanced"), X)
    with pytest.raises(ValueError, match="class_weight"):
        IncrementalSVC(class_weight="balanced").partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match="class_weight"):
        IncrementalSVC(class_weight="balanced").add(X, y)


# ---- several classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [3, 5])
def test_each_class_against_the_rest_is_a_machine(n_classes, kernel):
    X, y = blobs(70, n_classes)
    model = IncrementalSVC(C=2.0, **KERNELS[kernel]).fit(X, y)
    assert determined(model).all()
    values = model.decision_function(X)
    K = COMPUTED[kernel](X, X)
    for k in range(n_classes):
        if kernel == "rbf":
            expected = batch(X, y == k, 2.0).decision_function(X)
        else:  # which would keep LIBSVM busy for a while
            sign = plus_minus(y, k)
            alpha, mu = equality_qp(K, sign, *classifier_box(sign, 2.0), 0.0)
            expected = K @ alpha + mu
        np.testing.assert_allclose(values[:, k], expected, rtol=0, atol=1e-5 * max(1.0, np.abs(expected).max()))
    assert (model.predict(X) == values.argmax(axis=1)).all()


def test_a_class_that_comes_later():
    X, y = blobs(80, 4)
    order = np.argsort(y, kind="stable")  # one class after the other
    X, y = X[order], y[order]
    expected = IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X, y)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"])
    for k in range(0, 80, 7):
        model.add(X[k : k + 7], y[k : k + 7])
        held = slice(0, min(k + 7, 80))
        if len(np.unique(y[held])) > 1:
            assert model.classes_.tolist() == np.unique(y[held]).tolist()
            optimal(model, X[held], y[held])
    same_function(model, expected, X, atol=1e-9)
    # A label that sorts before those that are known, after some have been forgotten, at another C.
    model.forget([0, 1, 79]).set_C(5.0)
    model.add(X[:3] + 1.0, [-1, -1, -1])
    held = np.r_[2:79]
    rest = IncrementalSVC(C=5.0, **KERNELS["rbf"]).fit(np.r_[X[held], X[:3] + 1.0], np.r_[y[held], [-1, -1, -1]])
    assert model.classes_.tolist() == rest.classes_.tolist() == [-1, 0, 1, 2, 3]
    same_function(model, rest, X, atol=1e-8)


def test_classes_that_never_come():
    X, y = noisy(40)
    model = IncrementalSVC(**KERNELS["rbf"]).partial_fit(X, y, classes=[0, 1, 2])
    values = model.decision_function(X)
    assert values.shape == (40, 3) and (values[:, 2] <= -1 + 1e-12).all()
    assert set(model.predict(X).tolist()) <= {0, 1}
    np.testing.assert_allclose(values[:, 1], batch(X, y).decision_function(X), rtol=0, atol=1e-6)
    np.testing.assert_allclose(values[:, 0], -values[:, 1], rtol=0, atol=1e-9)


def test_a_class_may_be_forgotten():
    X, y = blobs(60)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X, y)
    model.forget(np.flatnonzero(y == 1).tolist())
    assert model.classes_.tolist() == [0, 1, 2]
    optimal(model, X[y != 1], y[y != 1])
    assert 1 not in model.predict(X)
    model.add(X[y == 1], y[y == 1])
    same_function(model, IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X, y), X, atol=1e-8)


# ---- ids -----------------------------------------------------------------------------------------------


def test_ids_are_words_numbers_and_groups():
    X, y = noisy(30)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"])
    names = [f"person {k % 7}" for k in range(20)]
    assert model.add(X[:20], y[:20], ids=names) == names
    assert model.ids_.tolist() == names
    assert model.add(X[20:23], y[20:23], ids=(1000, "x", -1)) == [1000, "x", -1]
    assert model.add(X[23:26], y[23:26], ids=np.array([7, 8, 9])) == [7, 8, 9]
    model.forget("person 3")  # one id, not its letters
    gone = {3, 10, 17}
    assert model.ids_.tolist() == [*(n for k, n in enumerate(names) if k not in gone), 1000, "x", -1, 7, 8, 9]
    model.forget({"person 0", "x"}).forget(np.int64(7)).forget(np.array([8])).forget(iter([1000])).forget((9, -1))
    gone |= {0, 7, 14, 20, 21, 22, 23, 24, 25}
    kept = [k for k in range(26) if k not in gone]
    assert model.ids_.tolist() == [names[k] for k in kept]
    same_function(model, IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X[kept], y[kept]), X, atol=1e-9)
    # None is none; an id that was forgotten may come again; twice the same id in one call is once.
    before = fingerprint(model, X)
    assert fingerprint(model.forget([]), X) == before
    assert model.add(X[:1], y[:1], ids=["person 3"]) == ["person 3"] and model.ids_[-1] == "person 3"
    model.forget(["person 3", "person 3"])
    assert model.ids_.tolist() == [names[k] for k in kept]


@pytest.mark.parametrize(
    "ids",
    [None, [1, 2], "abc", [[k] for k in range(10)], [1.5] * 10, [None] * 10, [True] * 10, 7],
    ids=str,
)
def test_bad_ids_change_nothing(ids):
    X, y = noisy(30)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"])
    model.add(X[:20], y[:20], ids=[*range(20)])
    before = fingerprint(model, X)
    with pytest.raises((ValueError, TypeError), match="ids"):  # None: ids for all points or for none
        model.add(X[20:], y[20:], ids=ids)
    assert fingerprint(model, X) == before
    assert model.add(X[20:], y[20:], ids=[*"abcdefghij"]) == [*"abcdefghij"]
    numbered = IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X[:20], y[:20])
    before = fingerprint(numbered, X)
    with pytest.raises(ValueError, match="ids"):
        numbered.add(X[20:], y[20:], ids=[*"abcdefghij"])
    assert fingerprint(numbered, X) == before


@pytest.mark.parametrize(
    ("ids", "stranger"), [(99, "99"), ("nobody", "nobody"), ([1, 99], "99"), (["nobody", 2], "nobody"), ("1", "1")]
)
def test_unknown_ids_change_nothing(ids, stranger):
    X, y = noisy(40)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X, y)
    before = fingerprint(model, X)
    with pytest.raises(KeyError, match=stranger):
        model.forget(ids)
    assert fingerprint(model, X) == before
    with pytest.raises(KeyError, match="40"):
        model.forget([3, 3, 40])
    for nonsense in ([1, 2, None], [1.5], [[1]], True):
        with pytest.raises((KeyError, TypeError), match="id"):
            model.forget(nonsense)
    assert fingerprint(model, X) == before


def test_an_id_is_forgotten_once():
    X, y = noisy(20)
    model = IncrementalSVC(**KERNELS["rbf"]).fit(X, y).forget(5)
    with pytest.raises(KeyError, match="5"):
        model.forget(5)
    with pytest.raises(NotFittedError):
        IncrementalSVC().forget(5)


@pytest.mark.parametrize("ids", [b"\x01\x02", bytearray(b"\x01"), 1.0, [1.5], [None], [True]])
def test_ids_are_integers_strings_or_uuids(ids):
    X, y = noisy(20)
    model = IncrementalSVC(**KERNELS["rbf"]).fit(X, y)
    with pytest.raises(TypeError, match="integers, strings or UUIDs"):
        model.forget(ids)
    assert model.n_samples_ == 20
    for good in (np.array(5), np.int64(6), {7}, range(8, 10), iter([10])):
        model.forget(good)
    assert model.n_samples_ == 14


# ---- parameters ----------------------------------------------------------------------------------------

BAD_PARAMETERS = [
    {"C": 0.0},
    {"C": -1.0},
    {"C": np.inf},
    {"C": np.nan},
    {"C": "1"},
    {"C": None},
    {"C": True},
    {"kernel": "sigmoid"},
    {"kernel": "precomputed"},
    {"kernel": "cosine"},
    {"gamma": -1.0},
    {"gamma": "wide"},
    {"degree": -1},
    {"degree": 2.5},
    {"coef0": np.nan},
    {"class_weight": "uneven"},
    {"window": 1},
    {"window": 0},
    {"window": 2.0},
    {"window": "10"},
    {"window_rule": "newest"},
    {"window_scope": "each"},
    {"window_scope": None},
    {"cache_size": 0},
    {"cache_size": -1.0},
    {"cache_size": "all"},
    {"n_jobs": 0},
]


@pytest.mark.parametrize("options", BAD_PARAMETERS, ids=str)
def test_bad_parameters(options):
    X, y = noisy(30)
    (name,) = options
    for call in (lambda m: m.fit(X, y), lambda m: m.partial_fit(X, y, [0, 1]), lambda m: m.add(X, y)):
        with pytest.raises(ValueError, match=name):
            call(IncrementalSVC(**options))


@pytest.mark.parametrize("change", [{"kernel": "linear"}, {"gamma": 0.1}], ids=str)
def test_a_stream_keeps_its_kernel(change):
    X, y = noisy(40)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X[:20], y[:20])
    before = fingerprint(model)
    (name,) = change
    model.set_params(**change)
    with pytest.raises(ValueError, match=name):
        model.add(X[20:], y[20:])
    assert fingerprint(model) == before
    model.set_params(**KERNELS["rbf"]).add(X[20:], y[20:])
    same_function(model, IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X, y), X, atol=1e-9)


def test_parameters_that_were_set():
    X, y = noisy(40)
    model = IncrementalSVC(C=1.0, **KERNELS["linear"]).fit(X, y)
    model.set_params(C=5.0)
    with pytest.raises(ValueError, match="set_C"):
        model.add(X[:1], y[:1])
    same_function(model.set_C(5.0), IncrementalSVC(C=5.0, **KERNELS["linear"]).fit(X, y), X, atol=1e-9)
    model.set_params(kernel="rbf")
    with pytest.raises(AttributeError, match="kernel cannot change"):
        model.condition_  # noqa: B018
    model.set_params(kernel="linear")
    assert model.kkt_violation_ < 1e-9
    shallow = copy.copy(model)
    shallow.forget(3)
    assert model.n_samples_ == 40 and shallow.n_samples_ == 39


def test_the_first_call():
    X, y = noisy(40)
    with pytest.raises(ValueError, match="classes"):
        IncrementalSVC().partial_fit(X, y)
    model = IncrementalSVC()
    with pytest.raises(ValueError, match="NaN"):
        model.add(with_entry(X, np.nan), y)
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)
    for call in (lambda: model.set_C(2.0), lambda: model.leave_one_out(), lambda: model.c_path([1.0])):
        with pytest.raises(NotFittedError):
            call()
    for call in (lambda: model.kkt_violation_, lambda: model.forget(0)):
        with pytest.raises(NotFittedError):
            call()
    assert model.C == 1.0
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y, classes=[0])
    # After fit, partial_fit needs no classes and goes on.
    model = IncrementalSVC(**KERNELS["rbf"]).fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    same_function(model, IncrementalSVC(**KERNELS["rbf"]).fit(X, y), X, atol=1e-9)
