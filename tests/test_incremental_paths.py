"""IncrementalSVC: leaving one out, paths in C, windows."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hingeline import IncrementalSVC

from .data import plus_minus
from .exact import (
    BATCH_PRECISION,
    COMPUTED,
    KERNELS,
    batch,
    blobs,
    coefficients,
    determined,
    fingerprint,
    go_on,
    noisy,
    optimal,
    same_function,
    some_weights,
)
from .oracle.equality_qp import classifier_box, kkt_violation

# ---- leaving one out -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "C"), [("rbf", 3.0), ("linear", 0.5), ("poly", 0.1), ("rbf", 0.05)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leave_one_out_is_learning_again(n_classes, kernel, C):
    n = 80
    X, y = noisy(n, 2, seed=3) if n_classes == 2 else blobs(n, 3, seed=3)
    model = IncrementalSVC(C=C, **KERNELS[kernel]).fit(X, y)
    before, twin = fingerprint(model, X), IncrementalSVC(C=C, **KERNELS[kernel]).fit(X, y)
    result = model.leave_one_out()
    assert fingerprint(model, X) == before
    assert fingerprint(go_on(model, X, y), X) == fingerprint(go_on(twin, X, y), X)
    assert result.decision.shape == ((n,) if n_classes == 2 else (n, n_classes))
    expected = np.full((n, 1 if n_classes == 2 else n_classes), np.nan)
    for k in range(n):
        rest = np.arange(n) != k
        again = IncrementalSVC(C=C, **KERNELS[kernel]).fit(X[rest], y[rest])
        optimal(again, X[rest], y[rest], kernel=kernel)
        expected[k] = np.where(determined(again), again.decision_function(X[k : k + 1]), np.nan)
    known = ~np.isnan(expected)
    assert known.mean() > 0.5
    computed = result.decision.reshape(expected.shape)
    scale = max(1.0, np.abs(computed).max())
    np.testing.assert_allclose(computed[known], expected[known], rtol=0, atol=1e-8 * scale)
    clear = known.all(axis=1) & (np.abs(computed).min(axis=1) > 1e-6)
    labels = (computed[:, 0] > 0).astype(int) if n_classes == 2 else computed.argmax(axis=1)
    assert (result.prediction == labels)[clear].all()
    assert result.n_errors == np.sum(result.prediction != y) and isinstance(result.n_errors, int)
    assert result.ids.tolist() == [*range(n)]
    assert result.n_errors >= np.sum(model.classes_[labels] != y) - np.sum(~clear)


def test_leave_one_out_is_forgetting():
    X, y = blobs(40)
    weights = some_weights(40)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X, y, sample_weight=weights)
    model.forget([2, 3])
    result = model.leave_one_out()
    assert result.ids.tolist() == model.ids_.tolist()
    for k, number in enumerate(model.ids_):
        other = pickle.loads(pickle.dumps(model)).forget(number)
        if determined(other, (0.5, 1.0, 3.0)).all():
            expected = other.decision_function(X[number : number + 1])[0]
            np.testing.assert_allclose(result.decision[k], expected, rtol=0, atol=1e-9)


def test_leave_one_out_tells_how_far_it_is():
    X, y = noisy(50)
    model = IncrementalSVC(**KERNELS["rbf"]).fit(X, y)
    calls = []
    told = model.leave_one_out(progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (50, 50) and calls == sorted(calls)
    assert told.decision.tobytes() == model.leave_one_out().decision.tobytes()


# ---- paths ---------------------------------------------------------------------------------------------


def on_margin(K, a, mu, sign):
    """Which points have the margin one."""
    return np.abs(sign * (K @ a + mu) - 1) < 1e-7 * (1 + np.abs(a).sum() * K.diagonal().max())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_path_is_svc_at_each_C(kernel, n_classes):
    X, y = noisy(50) if n_classes == 2 else blobs(50)
    model = IncrementalSVC(C=1.0, **KERNELS[kernel]).fit(X, y)
    model.forget([4, 5])
    kept = [k for k in range(50) if k not in (4, 5)]
    before, twin = fingerprint(model, X), IncrementalSVC(C=1.0, **KERNELS[kernel]).fit(X, y).forget([4, 5])
    Cs = [1.0, 0.03, 0.3, 10.0, 2.0]
    path = model.c_path(Cs, X=X)
    assert fingerprint(model, X) == before and model.C == 1.0
    n_machines = 1 if n_classes == 2 else n_classes
    assert path.C.tolist() == Cs
    assert path.dual_coef.shape == (5, n_machines, 48)
    assert path.intercept.shape == path.n_support.shape == path.n_margin.shape == (5, n_machines)
    assert path.decision.shape == ((5, 50) if n_classes == 2 else (5, 50, n_classes))
    K, all_K = COMPUTED[kernel](X[kept], X[kept]), COMPUTED[kernel](X, X[kept])
    for k, C in enumerate(Cs):
        np.testing.assert_allclose(
            path.decision[k].reshape(50, -1),
            all_K @ path.dual_coef[k].T + path.intercept[k],
            rtol=0,
            atol=1e-10 * (1 + np.abs(path.dual_coef[k]).sum() * np.abs(all_K).max()),
        )
        for machine in range(n_machines):
            sign = plus_minus(y[kept], 1 if n_classes == 2 else machine)
            a, mu = path.dual_coef[k, machine], path.intercept[k, machine]
            box = classifier_box(sign, C)
            assert kkt_violation(K, a, mu, *box, sign, 0.0) <= 1e-9 * max(1.0, C * K.diagonal().max())
            assert path.n_support[k, machine] == np.count_nonzero(a)
            free = (a != 0) & (np.abs(a) < C * (1 - 1e-9))
            assert np.sum(free) <= path.n_margin[k, machine]
            if free.any():
                assert path.n_margin[k, machine] <= np.sum(on_margin(K, a, mu, sign))
            reference = batch(X[kept], sign, C, kernel)
            values = path.decision[k].reshape(50, -1)[:, machine]
            difference = values - reference.decision_function(X)
            if not free.any():
                difference = difference - difference.mean()
            atol = BATCH_PRECISION[kernel] * max(1.0, np.abs(values).max())
            np.testing.assert_allclose(difference, 0.0, rtol=0, atol=atol)
    assert not hasattr(model.c_path(Cs), "decision")
    assert fingerprint(go_on(model, X, y), X) == fingerprint(go_on(twin, X, y), X)


@pytest.mark.parametrize("kernel", KERNELS)
def test_there_and_back(kernel):
    X, y = noisy(60)
    model = IncrementalSVC(C=1.0, **KERNELS[kernel]).fit(X, y)
    assert determined(model)[0]
    values, alpha = model.decision_function(X), coefficients(model, range(60))
    for C in (2.0, 10.0, 100.0, 5.0, 0.5, 0.01, 1e-4):
        assert model.set_C(C) is model and model.C == C
        optimal(model, X, y, kernel=kernel)
        fresh = IncrementalSVC(C=C, **KERNELS[kernel]).fit(X, y)
        same_function(model, fresh, X, atol=1e-7)
    model.set_C(1.0)
    np.testing.assert_allclose(model.decision_function(X), values, rtol=0, atol=1e-9 * np.abs(values).max())
    if kernel == "rbf":
        np.testing.assert_allclose(coefficients(model, range(60)), alpha, rtol=0, atol=1e-9)
    unchanged = fingerprint(model, X)
    assert fingerprint(model.set_C(1.0), X) == unchanged


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_copy_follows_the_path(n_classes):
    X, y = blobs(60, n_classes)
    model = IncrementalSVC(C=3.0, **KERNELS["rbf"]).fit(X[:40], y[:40]).forget([3, 4])
    other = pickle.loads(pickle.dumps(model))
    go_on(other, X[40:], y[40:])
    assert fingerprint(go_on(model, X[40:], y[40:]), X) == fingerprint(other, X)


# ---- windows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["relevance", "oldest"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("window", [2, 15])
def test_window_is_a_loop(window, n_classes, rule):
    X, y = blobs(70, n_classes, seed=5)
    X += 0.1 * np.random.default_rng(5).standard_normal(X.shape)
    options = {"C": 2.0, **KERNELS["rbf"]}
    model = IncrementalSVC(window=window, window_rule=rule, **options)
    loop = IncrementalSVC(**options)
    classes = np.unique(y)
    for k in range(70):
        if k >= window:
            held = loop.ids_.tolist()
            values = loop.decision_function(X[held]).reshape(len(held), -1)
            signs = np.column_stack([plus_minus(y[held], c) for c in (classes[1:] if n_classes == 2 else classes)])
            slack = (signs * values - 1).sum(axis=1)
            relevance = np.abs(coefficients(loop, held)).sum(axis=0)
        model.partial_fit(X[k : k + 1], y[k : k + 1], classes if k == 0 else None)
        if k >= window:
            (gone,) = set(held) - set(model.ids_)
            at = held.index(gone)
            if rule == "oldest":
                assert at == 0
            else:  # rounding is no difference
                least = relevance <= relevance.min() + 1e-9
                assert at == np.flatnonzero(least & (slack >= slack[least].max() - 1e-9))[0]
            loop.forget(gone)
        loop.partial_fit(X[k : k + 1], y[k : k + 1], classes if k == 0 else None)
        assert model.ids_.tolist() == loop.ids_.tolist()
        assert model.n_samples_ == min(k + 1, window) and model.n_samples_seen_ == k + 1
        same_function(model, loop, X, atol=1e-9)
    held = model.ids_.tolist()
    optimal(model, X[held], y[held])
    whole = IncrementalSVC(window=window, window_rule=rule, **options).fit(X, y)
    assert whole.ids_.tolist() == model.ids_.tolist()
    same_function(whole, model, X, atol=1e-9)
    # Room again.
    model.forget(held[0])
    assert model.add(X[:1], y[:1]) == [70] and model.ids_.tolist() == [*held[1:], 70]


def held_by_class(arrived, window, numbers=()):
    """Naive twin of `window_scope='class'`, rule 'oldest': the numbers held after these labels, and those of before."""
    kept = {}
    for number, label in enumerate(arrived):
        if number not in numbers:
            kept.setdefault(label, []).append(number)
            kept[label] = kept[label][-window:]
    return sorted(number for numbers in kept.values() for number in numbers)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("window", [2, 7])
def test_windows_by_class_hold_the_last_points_of_each_class(window, n_classes, kernel):
    X, y = blobs(60, n_classes, seed=8)
    y[40:] = y[40]  # one class alone does not remove the others
    X = X + 0.1 * np.random.default_rng(8).standard_normal(X.shape)
    options = {"C": 2.0, **KERNELS[kernel]}
    scope = {"window": window, "window_scope": "class", **options}
    model = IncrementalSVC(**scope)
    for k in range(60):
        model.add(X[k : k + 1], y[k : k + 1])
        assert model.ids_.tolist() == held_by_class(y[: k + 1].tolist(), window)
        if k % 6 == 5:
            held = model.ids_
            optimal(model, X[held], y[held], kernel=kernel)
            same_function(model, IncrementalSVC(**options).fit(X[held], y[held]), X, atol=1e-8)
    assert np.bincount(y[model.ids_]).tolist() == [window] * n_classes
    whole = IncrementalSVC(**scope).fit(X, y)
    assert whole.ids_.tolist() == model.ids_.tolist()
    same_function(whole, model, X, atol=1e-8)
    # Room again in one class only.
    first = model.ids_[0]
    model.forget(first)
    model.add(X[first : first + 1], y[first : first + 1])
    assert model.n_samples_ == window * n_classes


def test_windows_by_class_and_relevance():
    X, y = blobs(70, 3, seed=5)
    X += 0.1 * np.random.default_rng(5).standard_normal(X.shape)
    classes, options = np.unique(y), {"C": 2.0, **KERNELS["rbf"]}
    model = IncrementalSVC(window=6, window_rule="relevance", window_scope="class", **options)
    loop = IncrementalSVC(**options)
    for k in range(70):
        same = [i for i in loop.ids_.tolist() if y[i] == y[k]] if k else []
        if len(same) == 6:
            held = loop.ids_.tolist()
            values = loop.decision_function(X[same])
            slack = (np.column_stack([plus_minus(y[same], c) for c in classes]) * values - 1).sum(axis=1)
            relevance = np.abs(coefficients(loop, held)).sum(axis=0)[np.isin(held, same)]
            least = relevance <= relevance.min() + 1e-9
            loop.forget(same[np.flatnonzero(least & (slack >= slack[least].max() - 1e-9))[0]])
        for one in (model, loop):
            one.partial_fit(X[k : k + 1], y[k : k + 1], classes if k == 0 else None)
        assert model.ids_.tolist() == loop.ids_.tolist()
        same_function(model, loop, X, atol=1e-9)
    assert np.bincount(y[model.ids_]).tolist() == [6, 6, 6]


def test_windows_by_class_after_other_settings():
    """Smaller windows, another scope, forgotten points, a saved state and calls that fail."""
    X, y = blobs(60, 3, seed=2)
    model = IncrementalSVC(C=2.0, **KERNELS["rbf"]).fit(X[:40], y[:40])
    model.forget([3, 4, 5]).set_params(window=4, window_scope="class")
    before = fingerprint(model, X)
    for call in (lambda: model.add(X[40:50, :1], y[40:50]), lambda: model.add(X[40:50] * np.nan, y[40:50])):
        with pytest.raises(ValueError):
            call()
        assert fingerprint(model, X) == before
    model.add(X[40:41], y[40:41])
    expected = held_by_class(y[:41].tolist(), 4, numbers=(3, 4, 5))
    assert model.ids_.tolist() == expected and len(expected) == 12
    optimal(model, X[expected], y[expected])
    other = pickle.loads(pickle.dumps(model))
    for one in (model, other):
        one.add(X[41:50], y[41:50])
    assert fingerprint(model, X) == fingerprint(other, X)
    assert model.ids_.tolist() == held_by_class(y[:50].tolist(), 4, numbers=(3, 4, 5))
    model.set_params(window_scope="all").add(X[50:51], y[50:51])
    assert model.ids_.tolist() == [47, 48, 49, 50]


def test_relevance_ties_go_by_slack_and_age():
    # Far from the margin with coefficient zero: 9 and another 9, which came later, then 5.
    model = IncrementalSVC(C=1.0, kernel="linear", window=5, window_rule="relevance")
    model.fit([[1.0], [-1.0], [9.0], [5.0], [9.0]], [1, 0, 1, 1, 1])
    for gone in (2, 4, 3):
        before = model.ids_
        model.add([[1.5]], [1])
        assert set(before) - set(model.ids_) == {gone}


def test_a_window_that_becomes_smaller():
    X, y = noisy(60)
    for rule in ("relevance", "oldest"):
        model = IncrementalSVC(C=2.0, window_rule=rule, **KERNELS["rbf"]).fit(X[:50], y[:50])
        model.set_params(window=12)
        model.add(X[50:51], y[50:51])
        assert model.n_samples_ == 12 and model.ids_[-1] == 50
        assert rule == "relevance" or model.ids_.tolist() == list(range(39, 51))
        optimal(model, X[model.ids_], y[model.ids_])
        before = fingerprint(model, X)
        model.set_params(window=5)
        with pytest.raises(ValueError, match="features"):
            model.add(X[51:52, :1], y[51:52])
        assert fingerprint(model, X) == before


@pytest.mark.parametrize("low", [1e-3, 1e-30, 5e-324])
@pytest.mark.parametrize("high", [1e6, 1e100])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_far_smaller_C(kernel, high, low):
    # Rounding errors of gradients at a large C are far above those of a small C.
    for seed in range(8):
        rng = np.random.RandomState(seed)
        X, y = rng.randn(20, 2), np.arange(20) % 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of the large C
            model = IncrementalSVC(C=high, kernel=kernel, gamma=0.5).fit(X, y)
        assert model.set_C(low).kkt_violation_ <= 1e-8
