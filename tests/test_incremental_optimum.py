"""IncrementalSVC by hand, against SVC, a QP and the naive twin, and on degenerate data."""

import numpy as np
import pytest

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
    noisy,
    optimal,
    same_function,
    some_weights,
)
from .oracle.equality_qp import best_mu, classifier_box, duality_gap, equality_qp, kkt_violation, objective
from .oracle.naive_incremental import NaiveIncremental

# ---- by hand -------------------------------------------------------------------------------------------


def test_four_points_by_hand():
    model = IncrementalSVC(C=1.0, kernel="linear")
    state = []

    def check(alpha, b, **others):
        np.testing.assert_allclose(coefficients(model, model.ids_)[0], alpha, rtol=0, atol=1e-14)
        np.testing.assert_allclose(model.intercept_, [b], rtol=0, atol=1e-14)
        assert model.kkt_violation_ < 1e-14
        for name, value in others.items():
            np.testing.assert_array_equal(getattr(model, name), value, err_msg=name)
        state.append(fingerprint(model))

    # One class: no coefficients, and the constant of that class.
    model.partial_fit([[1.0]], [1], classes=[0, 1])
    check([0.0], 1.0, n_margin_=[0], support_=[])
    # 1 and -1 on their margins: w = 2a = 1.
    model.partial_fit([[-1.0]], [0])
    check([0.5, -0.5], 0.0, n_margin_=[2], support_=[1, 0], n_support_=[1, 1])
    # 1/2 has f = 1/2.  Now it is 1/2 and -1: w = 4/3, b = 1/3; w = 3a/2, so a = 8/9.
    model.partial_fit([[0.5]], [1])
    check([0.0, -8 / 9, 8 / 9], 1 / 3, n_margin_=[2], support_=[1, 2])
    # 1/4 with the other label: 1/2 and 1/4 go to their bounds; w = 1 = 2a + 1/2 - 1/4 from 1 and -1.
    model.partial_fit([[0.25]], [0])
    check([0.375, -0.375, 1.0, -1.0], 0.0, n_margin_=[2], support_=[1, 3, 0, 2], n_support_=[2, 2])
    np.testing.assert_allclose(model.coef_, [[1.0]], rtol=0, atol=1e-14)
    assert model.ids_.tolist() == [0, 1, 2, 3] and model.n_samples_ == model.n_samples_seen_ == 4
    # And back.
    assert model.forget(3) is model
    check([0.0, -8 / 9, 8 / 9], 1 / 3)
    model.forget([2])
    check([0.5, -0.5], 0.0)
    assert model.ids_.tolist() == [0, 1] and model.n_samples_ == 2 and model.n_samples_seen_ == 4
    # What comes next has a new number: it is not the one that was forgotten.
    assert model.add([[0.5]], [1]) == [4]
    check([0.0, -8 / 9, 8 / 9], 1 / 3, support_=[1, 4])


def test_path_by_hand():
    # 1 and -1: w = 2 min(C, 1/2).  For C < 1/2 no point is on the margin and b may be anything in [2C - 1, 1 - 2C].
    model = IncrementalSVC(C=1.0, kernel="linear").fit([[1.0], [-1.0]], [1, 0])
    path = model.c_path([0.125, 0.5, 3.0], X=[[1.0], [0.0]])
    np.testing.assert_allclose(path.dual_coef[:, 0], [[0.125, -0.125], [0.5, -0.5], [0.5, -0.5]], rtol=0, atol=1e-15)
    assert path.n_support.tolist() == [[2], [2], [2]]
    assert path.n_margin[2].tolist() == [2]
    assert abs(path.intercept[0, 0]) <= 0.75 + 1e-15 and np.abs(path.intercept[2]).max() < 1e-15
    np.testing.assert_allclose(path.decision[2], [1.0, 0.0], rtol=0, atol=1e-15)


def test_leave_one_out_by_hand():
    # Without -1, or without 1, there is one class left: the constant of that class.  Without 3 nothing changes.
    model = IncrementalSVC(C=1.0, kernel="linear").fit([[1.0], [-1.0], [3.0]], [1, 0, 1])
    result = model.leave_one_out()
    # Without 1: 3 and -1 have w = 1/2, b = -1/2, so f(1) = 0, which is no vote for class 1.
    np.testing.assert_allclose(result.decision, [0.0, 1.0, 3.0], rtol=0, atol=1e-14)
    assert result.prediction[1:].tolist() == [1, 1]
    assert result.ids.tolist() == [0, 1, 2]
    assert result.n_errors == np.sum(result.prediction != [1, 0, 1])


# ---- the optimum ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_by_one_is_svc_and_the_qp(kernel, C, weighted):
    X, y = noisy(60)
    weights = some_weights(60) if weighted else np.ones(60)
    K, sign = COMPUTED[kernel](X, X), plus_minus(y)
    model = IncrementalSVC(C=C, **KERNELS[kernel])
    for n in range(1, 61):
        model.partial_fit(X[n - 1 : n], y[n - 1 : n], [0, 1], sample_weight=weights[n - 1 : n])
        (alpha,), (b,) = coefficients(model, range(n)), model.intercept_
        lo, hi = classifier_box(sign[:n], C * weights[:n])
        scale = max(1.0, C * K.diagonal().max())
        assert kkt_violation(K[:n, :n], alpha, b, lo, hi, sign[:n], 0.0) <= 1e-9 * scale
        assert model.kkt_violation_ <= 1e-9 * scale
        if n % 15:
            continue
        part = K[:n, :n], sign[:n]
        expected, mu = equality_qp(*part, lo, hi, 0.0)
        value = objective(*part, expected)
        assert objective(*part, alpha) == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert duality_gap(*part, lo, hi, alpha, b) <= 1e-9 * (1 + abs(value))
        reference = batch(X[:n], y[:n], C, kernel, weights[:n])
        same_function(model, reference, X, BATCH_PRECISION[kernel], weights)
        if determined(model, weights)[0]:
            values = K[:, :n] @ expected + mu
            np.testing.assert_allclose(
                model.decision_function(X), values, rtol=0, atol=1e-5 * max(1.0, np.abs(values).max())
            )
        if kernel == "rbf":  # the only kernel here whose coefficients are unique
            np.testing.assert_allclose(alpha, coefficients(reference, range(n))[0], rtol=0, atol=2e-6 * C)
            np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-4 * C)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("C", [0.3, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_any_operation_is_the_twin(seed, C, weighted):
    n = 60
    X, y = noisy(n, seed=seed)
    weights = some_weights(n) if weighted else np.ones(n)
    rng = np.random.default_rng(seed)
    model = IncrementalSVC(C=C, **KERNELS["rbf"])
    twin = NaiveIncremental.classifier(COMPUTED["rbf"](X, X), plus_minus(y), C, weights)
    arrived, compared = [], 0  # who came when
    for step in range(140):
        away = [k for k in range(n) if k not in twin.held]
        chance = rng.random()
        if away and (chance < 0.55 or len(twin.held) < 3):
            k = step if step < 2 else int(rng.choice(away))
            arrived += [k]
            model.add(X[k : k + 1], y[k : k + 1], ids=[f"row {k}"], sample_weight=weights[k : k + 1])
            twin.learn(k)
        elif chance < 0.9:
            k = int(rng.choice(twin.held))
            model.forget(f"row {k}")
            twin.unlearn(k)
        else:
            model.set_C(float(10 ** rng.uniform(-1, 2)))
            twin.set_C(model.C)
        if step == 0:
            continue
        assert model.ids_.tolist() == [f"row {k}" for k in twin.held]
        alpha = np.zeros(n)
        alpha[[arrived[number] for number in model.support_]] = model.dual_coef_[0]
        np.testing.assert_allclose(alpha, twin.a, rtol=0, atol=1e-9 * max(1.0, model.C))
        if determined(model, (0.5, 1.0, 3.0))[0]:
            np.testing.assert_allclose(model.intercept_[0], twin.mu, rtol=0, atol=1e-9 * max(1.0, model.C))
            compared += 1
    assert compared > 70


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_order_does_not_matter(n_classes, kernel):
    X, y = blobs(50, n_classes)
    K = COMPUTED[kernel](X, X)
    model = IncrementalSVC(C=2.0, **KERNELS[kernel]).fit(X, y)
    alpha = coefficients(model, range(50))
    by_class = np.argsort(y, kind="stable")
    for order in (np.random.default_rng(0).permutation(50), np.arange(50)[::-1], by_class):
        other = IncrementalSVC(C=2.0, **KERNELS[kernel]).fit(X[order], y[order])
        same_function(model, other, X, atol=1e-9)
        moved = np.empty_like(alpha)
        moved[:, order] = coefficients(other, range(50))
        if kernel == "rbf" and len(np.unique(X, axis=0)) == 50:
            np.testing.assert_allclose(moved, alpha, rtol=0, atol=1e-9)
        np.testing.assert_allclose(moved @ K, alpha @ K, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_forgotten_was_never_there(n_classes, kernel):
    X, y = blobs(60, n_classes, seed=1)
    X += 0.01 * np.random.default_rng(1).standard_normal(X.shape)  # no two rows are equal
    model = IncrementalSVC(C=2.0, **KERNELS[kernel]).fit(X[:40], y[:40])
    alpha, b = coefficients(model, range(40)), model.intercept_
    assert determined(model).all()
    ids = model.add(X[40:], y[40:])
    assert ids == [*range(40, 60)] and np.abs(model.intercept_ - b).max() > 1e-3
    model.forget(ids[::-1])
    assert model.ids_.tolist() == [*range(40)] and model.n_samples_seen_ == 60
    np.testing.assert_allclose(model.intercept_, b, rtol=0, atol=1e-9)
    if kernel == "rbf":
        np.testing.assert_allclose(coefficients(model, range(40)), alpha, rtol=0, atol=1e-9)
    # The first rows instead of the last, against a model that has never seen them.
    rest = IncrementalSVC(C=2.0, **KERNELS[kernel]).fit(X[10:40], y[10:40])
    model.forget(range(10))
    same_function(model, rest, X, atol=1e-9)
    optimal(model, X[10:40], y[10:40], kernel=kernel)


@pytest.mark.parametrize("C", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_large_C_is_a_hard_margin(kernel, C):
    X = noisy(60, 2, seed=1)[0]
    y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
    hard = IncrementalSVC(C=1e4, **KERNELS[kernel]).fit(X, y)
    assert np.abs(hard.dual_coef_).max() < 1e3  # C is out of reach
    model = IncrementalSVC(C=C, **KERNELS[kernel]).fit(X, y)
    values = hard.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), values, rtol=0, atol=1e-9 * np.abs(values).max())
    for m in (model, hard):
        m.forget([*range(0, 60, 7)]).set_C(m.C / 2)
        m.add(X[:60:7], y[:60:7])
    np.testing.assert_allclose(model.decision_function(X), values, rtol=0, atol=1e-9 * np.abs(values).max())


def test_small_weights_are_weights():
    X, y = noisy(40)
    small = IncrementalSVC(C=1e10, **KERNELS["rbf"]).fit(X, y, sample_weight=np.full(40, 1e-11))
    plain = IncrementalSVC(C=0.1, **KERNELS["rbf"]).fit(X, y)
    for k in range(0, 40, 3):
        small.forget(k)
        plain.forget(k)
        assert abs(small.dual_coef_.sum()) < 1e-9 and small.kkt_violation_ < 1e-9
    same_function(small, plain, X, atol=1e-8)


# ---- degenerate data -----------------------------------------------------------------------------------

DEGENERATE = {
    "all rows equal": lambda n: (np.ones((n, 2)), np.zeros(n) == 1),
    "all rows zero": lambda n: (np.zeros((n, 2)), np.arange(n) % 2),
    "equal rows, both labels": lambda n: (np.ones((n, 2)), np.arange(n) % 2),
    "equal rows, unequal numbers": lambda n: (np.ones((n, 2)), np.arange(n) % 3 == 0),
    "few rows, any label": lambda n: (
        np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])[np.arange(n) % 3],
        np.arange(n) % 2,
    ),
    "a constant column": lambda n: (np.c_[np.full(n, 3.0), noisy(n, 1)[0]], noisy(n, 1)[1]),
    "class after class": lambda n: (lambda X, y: (X[np.argsort(y)], np.sort(y)))(*noisy(n)),
    "last comes the other class": lambda n: (noisy(n)[0], np.arange(n) == n - 1),
    "one class": lambda n: (noisy(n)[0], np.zeros(n)),
    "tiny": lambda n: (1e-8 * noisy(n)[0], noisy(n)[1]),
    "large": lambda n: (1e3 * noisy(n)[0], noisy(n)[1]),
}


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data(case, kernel, C):
    n = 18
    X, y = DEGENERATE[case](n)
    y = y.astype(int)
    model = IncrementalSVC(C=C, **KERNELS[kernel])

    def check(places):
        """places: where the rows held are in X."""
        if not len(places):
            return
        K, sign = COMPUTED[kernel](X[places], X[places]), plus_minus(y[places])
        (a,), (mu,) = coefficients(model, model.ids_), model.intercept_
        # Decision values are sums of such terms.
        precision = 1e-9 + 1e-12 * np.max(np.abs(K) @ np.abs(a))
        assert kkt_violation(K, a, mu, *classifier_box(sign, model.C), sign, 0.0) <= precision
        low, high = best_mu(K, sign, *classifier_box(sign, model.C), a)
        assert low - precision <= mu <= high + precision

    for k in range(n):
        model.partial_fit(X[k : k + 1], y[k : k + 1], [0, 1])
        check(model.ids_)
    for factor in (3.0, 1.0):
        model.set_C(factor * C)
        check(model.ids_)
    for k in np.random.default_rng(0).permutation(n).tolist():
        model.forget(k)
        check(model.ids_)
    assert model.ids_.tolist() == [] and model.n_samples_ == 0 and model.n_samples_seen_ == n
    assert model.n_margin_.tolist() == [0] and model.support_.size == 0
    assert model.add(X, y) == [*range(n, 2 * n)]  # from nothing on
    check([*range(n)])


def test_one_class_only_is_a_constant():
    X, _ = noisy(10)
    model = IncrementalSVC(**KERNELS["rbf"]).partial_fit(X, np.ones(10, dtype=int), [0, 1])
    np.testing.assert_allclose(model.decision_function(X), 1.0, rtol=0, atol=1e-12)
    assert model.predict(X).tolist() == [1] * 10
    model.forget([*range(10)])
    model.partial_fit(X, np.zeros(10, dtype=int))
    assert (model.decision_function(X) <= -1 + 1e-12).all() and model.predict(X).tolist() == [0] * 10
    with pytest.raises(ValueError, match="class"):
        IncrementalSVC().fit(X, np.ones(10))
