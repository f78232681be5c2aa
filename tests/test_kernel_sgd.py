"""KernelSGDClassifier: streams and epochs, kernels, several classes, what is published, failures.

What it shares with LASVC is in test_online_streams.py and test_online_estimators.py.
"""

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from hingeline import KernelSGDClassifier

from .data import blobs, noisy, plus_minus, some_weights
from .online import SGD_VARIANTS, FailingKernel, Lookup, coefficients, same, stream
from .oracle.naive_kernel_sgd import naive_kernel_sgd
from .private import kernel_matrix, read_state
from .test_kernel_sgd_twin import MEANS, switches, twin_arguments
from .watching import Recorder

# ---- streams and epochs --------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(SGD_VARIANTS),
    st.sampled_from(MEANS),
    st.booleans(),
    st.sampled_from([0, 1e-12, 1e-2, 0.3]),
    st.sampled_from([2, 3]),
    st.sampled_from([np.float32, np.float64]),
    st.lists(st.integers(1, 2599) | st.sampled_from([1023, 1024, 1025, 2047, 2048, 2049]), max_size=6),
    st.integers(0, 10**6),
)
def test_any_chunks_of_a_long_stream(variant, average, bias, truncate, n_classes, dtype, cuts, seed):
    X, y = blobs(2600, n_classes, d=4, seed=seed, dtype=dtype)
    options = {
        "variant": variant,
        "average": average,
        "fit_intercept": bias,
        "truncate": truncate,
        "gamma": 0.3,
        "C": 2.0,
    }
    one, cut = KernelSGDClassifier(**options), KernelSGDClassifier(**options, cache_size=0.3)
    same(stream(one, X, y), stream(cut, X, y, cuts))
    np.testing.assert_array_equal(one.margins, cut.margins)


@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_margins_are_those_of_the_model_before(variant):
    X, y = noisy(120, 3, seed=16)
    label = plus_minus(y)
    options = {"variant": variant, "gamma": 0.7, "C": 3.0, "fit_intercept": True}
    one = stream(KernelSGDClassifier(**options), X, y)
    model = KernelSGDClassifier(**options).partial_fit(X[:1], y[:1], [0, 1])
    scale = 0.0
    for k in range(1, 120):
        f = model.decision_function(X[k : k + 1])[0]
        if variant == "pegaz":  # with the rate of the step; the intercept does not change with it
            f = model.intercept_[0] + (f - model.intercept_[0]) * np.sqrt(k / (k + 1))
        np.testing.assert_allclose(one.admission_margin_[k], label[k] * f, rtol=1e-10, atol=1e-12)
        scale = max(scale, abs(f))
        model.partial_fit(X[k : k + 1], y[k : k + 1])
        np.testing.assert_allclose(model.decision_scale_, scale, rtol=1e-10)
    assert one.admission_margin_[0] == 0.0 and one.admission_margin_.shape == (120,)


@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_fit_is_a_stream_in_random_order(variant):
    n = 1500
    X, y = blobs(n, 3)
    weights = some_weights(n)
    for chosen in switches(variant):
        for truncate in (0, 0.1):
            options = {"variant": variant, "gamma": 0.3, "C": 3.0, "truncate": truncate, "random_state": 7, **chosen}
            model = KernelSGDClassifier(**options, n_epochs=1).fit(X, y, sample_weight=weights)
            order = np.random.RandomState(7).permutation(np.flatnonzero(weights))
            other = stream(KernelSGDClassifier(**options), X[order], y[order], [400], weights[order], classes=range(3))
            for name in ("intercept_", "n_support_", "n_iter_", "n_violations_", "truncated_", "decision_scale_"):
                np.testing.assert_array_equal(getattr(model, name), getattr(other, name), err_msg=name)
            by_sample = np.zeros((2, 2, n))
            by_sample[0][:, model.support_] = model.dual_coef_
            by_sample[1][:, order[other.support_]] = other.dual_coef_
            np.testing.assert_array_equal(*by_sample)
            np.testing.assert_array_equal(model.admission_margin_[order], other.margins)


@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_margins_of_epochs_are_those_of_the_first(variant):
    X, y = noisy(1300, 3, seed=17)
    options = {"variant": variant, "gamma": 0.7, "C": 3.0, "truncate": 0, "random_state": 0}
    one, three = (KernelSGDClassifier(**options, n_epochs=k).fit(X, y) for k in (1, 3))
    np.testing.assert_array_equal(one.admission_margin_, three.admission_margin_)
    assert three.decision_scale_ >= one.decision_scale_


@pytest.mark.parametrize("options", [{"cache_size": 1e-6}, {"cache_size": 0.05}, {"n_jobs": 2}, {"n_jobs": 3}], ids=str)
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_cache_and_threads_change_nothing(variant, options):
    X, y = blobs(500, 3, d=10, dtype=np.float32)
    for average, n_epochs in [(False, 1), (False, 3), (True, 3), ("all", 3)]:
        common = {
            "variant": variant,
            "C": 3.0,
            "gamma": 0.1,
            "average": average,
            "n_epochs": n_epochs,
            "random_state": 0,
        }
        reference, other = (KernelSGDClassifier(**common, **more).fit(X, y) for more in ({}, options))
        same(reference, other)
        np.testing.assert_array_equal(reference.admission_margin_, other.admission_margin_)
        np.testing.assert_array_equal(reference.decision_function(X), other.decision_function(X))
        if "cache_size" in options and n_epochs > 1:
            assert other.n_kernel_evals_ > reference.n_kernel_evals_
        if "n_jobs" in options:
            assert other.n_kernel_evals_ == reference.n_kernel_evals_


@pytest.mark.parametrize("n", [40, 1200, 1249])
@pytest.mark.parametrize("n_epochs", [1, 3])
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_slices_change_nothing(variant, n_epochs, n):
    # A callback cuts the epochs into 50 slices, or into as many as there are steps.
    X, y = blobs(n, 2, d=3)
    for average in MEANS:
        options = {
            "variant": variant,
            "n_epochs": n_epochs,
            "average": average,
            "gamma": 0.3,
            "C": 3.0,
            "random_state": 0,
        }
        options |= {"truncate": 0.1, "fit_intercept": True}
        alone = KernelSGDClassifier(**options).fit(X, y)
        watched = KernelSGDClassifier(**options).set_callbacks(Recorder()).fit(X, y)
        same(alone, watched)
        np.testing.assert_array_equal(alone.admission_margin_, watched.admission_margin_)


def test_a_model_keeps_only_its_rows():
    X, y = noisy(3000, 3, seed=24)
    X = np.hstack([X, np.zeros((3000, 97))])
    model = KernelSGDClassifier(gamma=0.7, C=10.0, random_state=0).fit(X, y)
    assert len(model.support_) < 2000 and len(pickle.dumps(model)) < 1.1 * model.support_vectors_.nbytes
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    model.partial_fit(X[:500] + 0.01, y[:500])
    assert len(pickle.dumps(model)) < 1.1 * model.support_vectors_.nbytes


# ---- kernels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_epochs", [1, 3])
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_any_source_of_kernel_values(variant, n_epochs):
    X, y = blobs(150, 3)
    options = {"variant": variant, "C": 3.0, "n_epochs": n_epochs, "random_state": 0}
    model = KernelSGDClassifier(gamma=0.3, **options).fit(X, y)
    K = kernel_matrix(model, X)
    precomputed = KernelSGDClassifier(kernel="precomputed", **options).fit(K, y)
    numbers = np.arange(150)[:, None] / 1.0
    called = KernelSGDClassifier(kernel=Lookup(K), **options).fit(numbers, y)
    same(model, precomputed), same(model, called)
    np.testing.assert_allclose(model.decision_function(X), precomputed.decision_function(K), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), called.decision_function(numbers), rtol=1e-12, atol=1e-12)
    assert precomputed.support_vectors_.size == 0
    streams = [
        stream(KernelSGDClassifier(**source, **options), rows, y, [70])
        for source, rows in [({"gamma": 0.3}, X), ({"kernel": Lookup(K)}, numbers)]
    ]
    same(*streams)


# ---- several classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_pairs_are_binary_machines(variant, how):
    X, y = blobs(200, 4)
    options = {"variant": variant, "gamma": 0.3, "C": 3.0, "fit_intercept": True, "n_epochs": 2}
    model = KernelSGDClassifier(**options, decision_function_shape="ovo", random_state=0)
    model.fit(X, y) if how == "fit" else stream(model, X, y)
    order = np.random.RandomState(0).permutation(200)
    begin = np.concatenate([[0], np.cumsum(model.n_support_)])
    values = model.decision_function(X)
    votes = np.zeros((200, 4))
    for k, (i, j) in enumerate(combinations(range(4), 2)):
        rows = np.flatnonzero((y == i) | (y == j))
        label = np.where(y[rows] == j, 1.0, -1.0)
        binary = KernelSGDClassifier(**options)
        if how == "fit":  # the order is that of all samples
            place = np.searchsorted(rows, order[np.isin(order, rows)])
            K = kernel_matrix(binary, X[rows])
            twin = naive_kernel_sgd(K, label, n_epochs=2, order=place, **twin_arguments(binary))
            a, b, count = twin.coef, twin.b, twin.violations
        else:
            stream(binary, X[rows], (label > 0).astype(int))
            a, b, count = coefficients(binary, len(rows)), binary.intercept_[0], binary.n_violations_[0]
            assert model.decision_scale_[k] == binary.decision_scale_[0]
            other = np.where(y[rows] == i, j, i)
            np.testing.assert_array_equal(model.admission_margin_[rows, other], binary.admission_margin_)
        line = np.zeros(200)
        for of, row in ((i, j - 1), (j, i)):
            of_class = slice(begin[of], begin[of + 1])
            line[model.support_[of_class]] = model.dual_coef_[row, of_class]
        expected = np.zeros(200)
        expected[rows] = -a
        np.testing.assert_allclose(line, expected, rtol=0, atol=1e-11 if how == "fit" else 0)
        np.testing.assert_allclose(model.intercept_[k], -b, rtol=0, atol=1e-11)
        assert model.n_violations_[k] == count
        assert model.n_iter_[k] == len(rows) * (2 if how == "fit" else 1)
        assert (model.history_["step"][model.history_["machine"] == k] <= model.n_iter_[k]).all()
        votes[np.arange(200), np.where(values[:, k] > 0, i, j)] += 1
    winners = votes == votes.max(axis=1, keepdims=True)
    assert winners[np.arange(200), model.predict(X)].all()
    alone = winners.sum(axis=1) == 1
    assert alone.sum() > 150 and (model.predict(X)[alone] == votes[alone].argmax(axis=1)).all()


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_rest_machines_are_binary_machines(variant, how):
    X, y = blobs(200, 4)
    options = {"variant": variant, "gamma": 0.3, "C": 3.0, "fit_intercept": True, "random_state": 5, "n_epochs": 2}
    model = KernelSGDClassifier(**options, multi_class="ovr")
    model.fit(X, y) if how == "fit" else stream(model, X, y)
    values = model.decision_function(X)
    assert values.shape == (200, 4) and model.dual_coef_.shape == (4, len(model.support_))
    for k in range(4):
        binary, label = KernelSGDClassifier(**options), (y == k).astype(int)
        binary.fit(X, label) if how == "fit" else stream(binary, X, label)
        line = np.zeros(200)
        line[model.support_] = model.dual_coef_[k]
        np.testing.assert_array_equal(line, coefficients(binary, 200))
        for name in ("intercept_", "n_iter_", "n_violations_", "decision_scale_"):
            assert getattr(model, name)[k] == getattr(binary, name)[0], name
        np.testing.assert_array_equal(model.admission_margin_[:, k], binary.admission_margin_)
        np.testing.assert_allclose(values[:, k], binary.decision_function(X), rtol=1e-9, atol=1e-12)
    assert (model.predict(X) == model.classes_[values.argmax(axis=1)]).all()


@pytest.mark.parametrize("average", MEANS)
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_the_machine_of_the_other_class_is_mirrored(variant, average):
    # With two classes one machine; when a third comes the other class gets what it has learnt, turned round.
    X, y = blobs(120, 3)
    known = np.argsort(y == 2, kind="stable")
    X, y = X[known], y[known]
    count = int((y < 2).sum())
    options = {
        "variant": variant,
        "gamma": 0.3,
        "C": 3.0,
        "multi_class": "ovr",
        "fit_intercept": True,
        "average": average,
    }
    model = stream(KernelSGDClassifier(**options), X[:count], y[:count])
    model.partial_fit(X[count:], y[count:])
    for k in range(2):  # as if that class had been told from the rest all the time
        alone = stream(KernelSGDClassifier(**options), X, (y == k).astype(int), classes=[0, 1])
        line = np.zeros(120)
        line[model.support_] = model.dual_coef_[k]
        np.testing.assert_array_equal(line, coefficients(alone, 120))
        assert model.intercept_[k] == alone.intercept_[0] and model.n_iter_[k] == alone.n_iter_[0]
        assert model.n_violations_[k] == alone.n_violations_[0]
    assert model.n_iter_[2] == 120 - count


def test_machines_that_have_seen_nothing():
    # Only class 0 so far: the machine of 1 against 2 has nothing to say.
    X, _ = noisy(30, 3)
    model = KernelSGDClassifier(gamma=0.7).partial_fit(X, np.zeros(30, dtype=int), [0, 1, 2])
    assert model.n_iter_.tolist() == [30, 30, 0] and np.isfinite(model.decision_function(X)).all()
    assert set(model.stop_reason_) <= {"pass", "interrupted", "stopped"}
    assert (model.predict(X) == 0).all()
    empty = KernelSGDClassifier(gamma=0.7).partial_fit(X[:2], [0, 1], [0, 1, 2], sample_weight=[0.0, 0.0])
    assert empty.n_iter_.tolist() == [0, 0, 0] and len(empty.support_) == 0
    assert np.isfinite(empty.decision_function(X)).all()
    assert set(empty.stop_reason_) <= {"pass", "interrupted", "stopped"}
    assert all(len(column) == 0 for column in empty.history_.values())
    same(empty, copy.deepcopy(empty))


# ---- what is published ---------------------------------------------------------------------------------


def test_history():
    X, y = noisy(100, 3, seed=21)
    model = KernelSGDClassifier(gamma=0.7, n_epochs=200, C=3.0, random_state=0).fit(X, y)
    history = model.history_
    assert list(history) == ["machine", "step", "seconds", "n_support", "n_violations", "kernel_evals"]
    # Every 16 steps, then every 32 from step 8,192 on, every 64 from 16,384 on.
    assert history["step"].tolist() == list(range(64, 20_001, 64))
    assert (history["machine"] == 0).all() and history["machine"].dtype.kind == history["step"].dtype.kind == "i"
    for key in ("seconds", "n_violations", "kernel_evals"):
        assert (np.diff(history[key]) >= 0).all(), key
    assert history["kernel_evals"][-1] <= model.n_kernel_evals_
    short = clone(model).set_params(n_epochs=4).fit(X, y).history_
    assert short["step"].tolist() == list(range(16, 401, 16))
    one = clone(model).set_params(n_epochs=1, random_state=None)
    for k in (16, 32, 96):
        part = stream(clone(one), X[:k], y[:k])
        assert part.history_["n_violations"][-1] == part.n_violations_[0]
        assert part.history_["n_support"][-1] == len(part.support_)
        assert part.history_["kernel_evals"][-1] == part.n_kernel_evals_
    several = KernelSGDClassifier(gamma=0.3, random_state=0).fit(*blobs(200, 3)).history_
    assert np.unique(several["machine"]).tolist() == [0, 1, 2]
    assert len({len(column) for column in several.values()}) == 1


def test_kernel_values_are_counted():
    # Row by row a row meets the expansion and nothing else.
    X, y = noisy(60, 3, seed=26)
    model, needed, held = KernelSGDClassifier(gamma=0.7), 0, 0
    for k in range(60):
        model.partial_fit(X[k : k + 1], y[k : k + 1], [0, 1])
        needed += held
        held = len(model.support_)
        assert model.n_kernel_evals_ == needed
    # In epochs a column for each sample that ever violates, as long as all fit; hardly any for nothing.
    model = KernelSGDClassifier(gamma=0.7, C=10.0, n_epochs=20, random_state=0).fit(*noisy(1000, 3, seed=27))
    assert model.n_kernel_evals_ % 1000 == 0
    assert len(model.support_) <= model.n_kernel_evals_ / 1000 <= 1.3 * len(model.support_)


def test_stop_reasons():
    X, y = noisy(300, 3, seed=22)
    assert KernelSGDClassifier(gamma=1.0).fit(X, y).stop_reason_.tolist() == ["pass"]
    assert stream(KernelSGDClassifier(gamma=1.0), X, y).stop_reason_.tolist() == ["pass"]
    model = KernelSGDClassifier(gamma=1.0, random_state=0).set_callbacks(Recorder(stop_at=2)).fit(X, y)
    assert model.stop_reason_.tolist() == ["stopped"] and model.n_iter_.tolist() == [60]
    assert np.isfinite(model.admission_margin_).sum() == 60 == model.n_samples_seen_
    order = np.random.RandomState(0).permutation(300)[:60]
    part = stream(KernelSGDClassifier(gamma=1.0), X[order], y[order])
    np.testing.assert_array_equal(np.sort(order[part.support_]), np.sort(model.support_))
    model.set_callbacks().partial_fit(X[:10], y[:10])
    assert model.stop_reason_.tolist() == ["pass"] and model.n_iter_.tolist() == [70]


def test_callbacks_see_models_and_all_steps():
    X, y = blobs(300, 4)
    for multi_class in ("ovo", "ovr"):
        model = KernelSGDClassifier(gamma=0.3, multi_class=multi_class, n_epochs=3, random_state=0)
        model.set_callbacks(recorder := Recorder()).fit(X, y)
        steps = np.array([seen.n_iter_.sum() for seen in recorder.models])
        assert (np.diff(steps) >= 0).all() and steps[-1] == model.n_iter_.sum()
        assert all(set(seen.predict(X[:20])) <= {0, 1, 2, 3} for seen in recorder.models)
        assert np.diff(steps, prepend=0).max() <= 0.1 * steps[-1], "one slice does most of the work"


# ---- failures and Ctrl-C -------------------------------------------------------------------------------


def test_a_state_with_options_of_another_version():
    model = KernelSGDClassifier(gamma=0.7).partial_fit(*noisy(30, 3), [0, 1])
    state = model._model.__getstate__()
    state["state"]["version"], state["options"] = 1, {**state["options"], "average": False}
    with pytest.raises(ValueError, match="has version 1; this hingeline reads version 2"):
        copy.copy(model._model).__setstate__(state)


@pytest.mark.parametrize(
    "change",
    [
        *({"variant": "norma"}, {"average": True}, {"average": "all"}, {"gamma": 2.0}, {"kernel": "linear"}),
        *({"degree": 2}, {"coef0": 1.0}, {"multi_class": "ovr"}),
    ],
    ids=str,
)
def test_a_stream_keeps_its_variant(change):
    X, y = noisy(60, 3)
    model = stream(KernelSGDClassifier(gamma=1.0), X, y)
    before = read_state(model)
    (name,) = change
    with pytest.raises(ValueError, match=f"{name} cannot change"):
        model.set_params(**change).partial_fit(X, y)
    model.set_params(**KernelSGDClassifier(gamma=1.0).get_params())
    assert read_state(model) == before


@pytest.mark.parametrize("how", ["fit", "epoch", "stream"])
@pytest.mark.parametrize("C", [1e-100, 1e-30, 1e20, 1e40, 1e99])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_extreme_C(variant, dtype, C, how):
    X, y = noisy(60, 3, dtype=dtype)
    model = KernelSGDClassifier(
        variant=variant, C=C, gamma=0.7, random_state=0, n_epochs=1 + 2 * (how == "fit"), truncate=0
    )
    stream(model, X, y) if how == "stream" else model.fit(X, y)
    alpha = coefficients(model, 60)
    assert np.isfinite(alpha).all() and np.isfinite(model.intercept_).all()
    values = model.decision_function(X)
    assert np.isfinite(values).all()
    expected = kernel_matrix(model, X) @ alpha
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-4 * np.abs(alpha).sum())
    other = clone(model).set_params(C=2 * C)
    stream(other, X, y) if how == "stream" else other.fit(X, y)
    if C < 1 or variant == "norma":
        np.testing.assert_allclose(coefficients(other, 60), 2 * alpha, rtol=1e-6, atol=0)


def test_products_that_leave_the_range():
    X, y = noisy(30, 3)
    for kernel, scale in [("linear", 1e60), ("poly", 1e45)]:
        with pytest.raises(ValueError, match=r"leaves the range of float64"):
            KernelSGDClassifier(kernel=kernel, gamma=1.0, C=1e90).fit(scale * X, y)
        with pytest.raises(ValueError, match=r"leaves the range of float64"):
            KernelSGDClassifier(kernel=kernel, gamma=1.0, C=1e90).partial_fit(scale * X, y, [0, 1])
    with pytest.raises(ValueError, match="C times the weights must not exceed"):
        KernelSGDClassifier(C=1e60).fit(X, y, sample_weight=np.full(30, 1e50))
    with pytest.raises(ValueError, match="'C' parameter"):
        KernelSGDClassifier(C=1e101).fit(X, y)


@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_an_interrupted_model_is_that_of_the_steps_made(variant):
    X, y = blobs(300, 2)
    options = {"variant": variant, "C": 0.1, "random_state": 0}
    order = np.random.RandomState(0).permutation(300)
    for how in ("fit", "stream"):
        model = KernelSGDClassifier(kernel=FailingKernel(), n_epochs=1, **options)
        model.kernel.fail(KeyboardInterrupt, 6)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y) if how == "fit" else model.partial_fit(X, y, [0, 1])
        rows = order if how == "fit" else np.arange(300)
        (steps,) = model.n_iter_
        assert 0 < steps < 300 and model.stop_reason_.tolist() == ["interrupted"]
        known = ~np.isnan(model.admission_margin_[rows])
        assert known.sum() == steps and known[:steps].all()
        part = KernelSGDClassifier(kernel=FailingKernel(), **options).partial_fit(
            X[rows[:steps]], y[rows[:steps]], [0, 1]
        )
        expected = np.zeros(300)
        expected[rows[:steps]] = coefficients(part, steps)
        np.testing.assert_array_equal(coefficients(model, 300), expected)
        assert model.n_violations_ == part.n_violations_ and model.n_samples_seen_ == steps
