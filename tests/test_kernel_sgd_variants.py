"""Laws of the variants of KernelSGDClassifier, and truncation."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from hingeline import KernelSGDClassifier

from .data import noisy, plus_minus, some_weights
from .online import SGD_VARIANTS, coefficients, same, stream
from .oracle.equality_qp import classifier_box, equality_qp
from .oracle.naive_kernel_sgd import RATES
from .oracle.qp import box_qp, primal_value, shifted_box
from .private import kernel_matrix

STRETCH = 1024  # steps between truncations

# ---- laws of the variants ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("C", [0.7, 2.0, 20.0, 200.0])
def test_norma_that_decays_first_is_pegaz(C, weighted):
    n = 150
    X, y = noisy(n, 3, seed=6)
    weights = some_weights(n) if weighted else None
    for n_epochs, average, bias in [
        (1, False, False),
        (3, False, False),
        (10, False, True),
        (3, True, False),
        (3, "all", True),
    ]:
        options = {"C": C, "learning_rate": "inverse", "gamma": 0.7, "random_state": 0, "n_epochs": n_epochs}
        options |= {"fit_intercept": bias}
        norma, pegaz = (
            KernelSGDClassifier(variant=variant, decay_first=True, average=average, truncate=0, **options)
            for variant in ("norma", "pegaz")
        )
        norma.fit(X, y, sample_weight=weights), pegaz.fit(X, y, sample_weight=weights)
        difference = coefficients(norma, n) - coefficients(pegaz, n)
        assert np.abs(difference).max() <= 1e-15 * max(1.0, C)
        np.testing.assert_array_equal(norma.intercept_, pegaz.intercept_)
        np.testing.assert_array_equal(norma.n_violations_, pegaz.n_violations_)
        # The order of the paper is another variant.
        paper = KernelSGDClassifier(variant="norma", average=average, truncate=0, **options)
        paper.fit(X, y, sample_weight=weights)
        if C == 20.0 and not weighted:
            assert np.abs(coefficients(paper, n) - coefficients(pegaz, n)).max() > 1e-4


def test_literal_norma_differs_from_the_second_epoch_on():
    X, y = noisy(100, 3, seed=7)
    options = {"C": 2.0, "gamma": 0.7, "learning_rate": "inverse", "random_state": 0, "truncate": 0}
    for n_epochs in (1, 2):
        norma, literal = (
            KernelSGDClassifier(variant=variant, n_epochs=n_epochs, **options).fit(X, y)
            for variant in ("norma", "norma_literal")
        )
        if n_epochs == 1:
            same(norma, literal)
        else:
            assert np.abs(coefficients(norma, 100) - coefficients(literal, 100)).max() > 1e-3


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("variant", ["pegaz", "norma"])
def test_pegaz_goes_to_the_qp(variant, weighted):
    n, C = 100, 20.0
    X, y = noisy(n, 3, seed=8)
    K, label = rbf_kernel(X, gamma=0.7), plus_minus(y)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, n) if weighted else np.ones(n)
    c = C * weights / n
    best = primal_value(K, label, box_qp(K, label, *shifted_box(label, c)), c)
    excess = []
    for n_epochs in (10, 100, 1000):
        model = KernelSGDClassifier(
            variant=variant, C=C, learning_rate="inverse", gamma=0.7, n_epochs=n_epochs, truncate=0
        )
        model.set_params(random_state=0).fit(X, y, sample_weight=weights)
        excess.append(primal_value(K, label, coefficients(model, n), c) / best - 1)
    assert excess[0] > excess[1] > excess[2] >= -1e-12 and excess[2] < 1e-4
    mean = model.set_params(average=True).fit(X, y, sample_weight=weights)
    assert -1e-12 <= primal_value(K, label, coefficients(mean, n), c) / best - 1 < 1e-4
    # With a sum of losses it is another problem.
    wrong = primal_value(K, label, box_qp(K, label, *shifted_box(label, C * weights)), c)
    assert wrong > 1.05 * best


@pytest.mark.parametrize("variant", ["pegaz", "norma"])
def test_pegaz_with_an_intercept_goes_to_the_qp(variant):
    n, C = 100, 20.0
    X, y = noisy(n, 3, seed=8)
    y[:30] = 1  # more of one class: the intercept matters
    K, label, c = rbf_kernel(X, gamma=0.7), plus_minus(y), C / n
    alpha, b = equality_qp(K, label, *classifier_box(label, c), 0.0)
    best = primal_value(K, label, alpha, c, b=b)
    excess = []
    for n_epochs in (10, 100, 1000):
        model = KernelSGDClassifier(
            variant=variant, C=C, learning_rate="inverse", gamma=0.7, n_epochs=n_epochs, truncate=0
        )
        model.set_params(random_state=0, fit_intercept=True, average=True).fit(X, y)
        excess.append(primal_value(K, label, coefficients(model, n), c, b=model.intercept_[0]) / best - 1)
    assert excess[0] > excess[1] > excess[2] >= -1e-12 and excess[2] < 3e-4
    np.testing.assert_allclose(model.intercept_, b, atol=1e-3)
    without = primal_value(K, label, box_qp(K, label, *shifted_box(label, c)), c)
    assert without > 1.02 * best


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_olsvm_reg_goes_to_the_qp(weighted):
    n, C = 100, 2.0
    X, y = noisy(n, 3, seed=9)
    K, label = rbf_kernel(X, gamma=0.7), plus_minus(y)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], n) if weighted else np.ones(n)
    best = primal_value(K, label, box_qp(K, label, *shifted_box(label, C * weights)), C * weights)
    excess = []
    for n_epochs in (1, 20, 1000):
        model = KernelSGDClassifier(variant="olsvm_reg", C=C, gamma=0.7, n_epochs=n_epochs, random_state=0)
        alpha = coefficients(model.fit(X, y, sample_weight=weights), n)
        excess.append(primal_value(K, label, alpha, C * weights) / best - 1)
    assert excess[0] > excess[1] > excess[2] >= -1e-12 and excess[2] < 2e-3


@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("C", [0.1, 1.3, 77.7])
def test_the_box_of_olsvm_reg_is_exact(C, bias):
    n = 150
    for seed in range(4):
        X, y = noisy(n, 3, seed=seed)
        weights = np.random.default_rng(seed).uniform(0.1, 3.0, n)
        model = KernelSGDClassifier(
            variant="olsvm_reg", C=C, gamma=0.7, n_epochs=7, fit_intercept=bias, random_state=seed
        )
        alpha = coefficients(model.fit(X, y, sample_weight=weights), n) * plus_minus(y)
        assert (alpha >= 0).all() and (alpha <= C * weights).all() and (alpha > 0.5 * C * weights).any()


@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_steps_of_a_sample_have_its_sign(variant):
    X, y = noisy(200, 3, seed=10)
    model = KernelSGDClassifier(variant=variant, gamma=0.7, C=3.0, random_state=0).fit(X, y)
    assert (np.sign(model.dual_coef_[0]) == plus_minus(y[model.support_])).all()
    other = clone(model).fit(X, 1 - y)
    np.testing.assert_array_equal(coefficients(model, 200), -coefficients(other, 200))
    np.testing.assert_array_equal(model.admission_margin_, other.admission_margin_)


def test_decay_first_is_for_norma():
    X, y = noisy(150, 3)
    for variant in ("olsvm", "olsvm_reg", "pegaz"):
        models = [KernelSGDClassifier(variant=variant, decay_first=d, gamma=0.7, random_state=0) for d in (False, True)]
        same(*(model.fit(X, y) for model in models))


def test_accuracy():
    # Not a benchmark: a wrong sign, rate or margin falls far below these.
    X, y = make_moons(1500, noise=0.15, random_state=0)
    for variant, least in [("olsvm", 0.97), ("olsvm_reg", 0.97), ("norma", 0.94), ("pegaz", 0.95)]:
        rate = "inverse" if variant == "pegaz" else "sqrt"
        model = KernelSGDClassifier(
            variant=variant, C=1000.0 if variant == "pegaz" else 10.0, gamma=2.0, learning_rate=rate
        )
        model.set_params(random_state=0).fit(X[:1000], y[:1000])
        assert model.score(X[1000:], y[1000:]) >= least, variant


# ---- truncation ----------------------------------------------------------------------------------------


def dropping_twin(K, y, order, *, variant, C, n_epochs, learning_rate, truncate):
    """The twin in several epochs, with small coefficients dropped every 1,024 steps; outputs remember them.

    Coefficients, violations and what was dropped, as far as it would have shrunk.
    """
    a, o, dropped, violations = np.zeros(len(y)), np.zeros(len(y)), 0.0, 0
    for t in range(1, n_epochs * len(order) + 1):
        i = order[(t - 1) % len(order)]
        eta = RATES[learning_rate](C, t)
        last = RATES[learning_rate](C, t - 1) if t > 1 else 1.0
        if variant == "pegaz":  # o = eta K beta; what was dropped shrinks as all does
            a, o, dropped = a * (eta / last), o * (eta / last), dropped * (eta / last)
        hit = y[i] * o[i] < 1 if variant == "olsvm" else y[i] * o[i] <= 1
        if variant == "norma":
            phi = max(0.0, 1 - eta / C)
            a, o, dropped = phi * a, phi * o, phi * dropped
        if hit:
            a[i] += eta * y[i]
            o += eta * y[i] * K[:, i]
            violations += 1
        if t % STRETCH == 0:
            small = np.abs(a) < truncate * np.abs(a).max()
            dropped += np.abs(a[small]).sum()
            a[small] = 0.0
    return a, violations, dropped


@pytest.mark.parametrize("learning_rate", list(RATES))
@pytest.mark.parametrize("variant", ["olsvm", "norma", "pegaz"])
def test_what_is_dropped_in_epochs(variant, learning_rate):
    n, truncate = 300, 0.2
    X, y = noisy(n, 3, seed=11)
    options = {"variant": variant, "C": 20.0, "learning_rate": learning_rate, "n_epochs": 15}
    model = KernelSGDClassifier(**options, gamma=0.7, truncate=truncate, random_state=0).fit(X, y)
    order = np.random.RandomState(0).permutation(n)
    a, violations, dropped = dropping_twin(kernel_matrix(model, X), plus_minus(y), order, truncate=truncate, **options)
    np.testing.assert_allclose(coefficients(model, n), a, rtol=0, atol=1e-11 * model.C)
    assert model.n_violations_.tolist() == [violations]
    np.testing.assert_allclose(model.truncated_, dropped, rtol=1e-9)
    assert dropped > 0
    whole = clone(model).set_params(truncate=0).fit(X, y)
    assert len(model.support_) < len(whole.support_) and whole.truncated_.tolist() == [0.0]


@pytest.mark.parametrize("learning_rate", list(RATES))
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_what_is_dropped_from_a_stream(variant, learning_rate):
    X, y = noisy(2 * STRETCH, 3, seed=12)
    queries = noisy(200, 3, seed=13)[0]
    options = {"variant": variant, "C": 5.0, "gamma": 0.7, "learning_rate": learning_rate}
    weights = np.random.default_rng(0).choice([0.02, 0.5, 1.0], len(y))  # Pegaz has coefficients of one size otherwise
    whole, model = (KernelSGDClassifier(**options, truncate=truncate) for truncate in (0, 0.1))
    for one in (whole, model):
        stream(one, X[: STRETCH - 1], y[: STRETCH - 1], weights=weights[: STRETCH - 1])
    np.testing.assert_array_equal(whole.dual_coef_, model.dual_coef_)
    assert model.truncated_.tolist() == [0.0]
    for one in (whole, model):
        one.partial_fit(
            X[STRETCH - 1 : STRETCH], y[STRETCH - 1 : STRETCH], sample_weight=weights[STRETCH - 1 : STRETCH]
        )
    before, after = (coefficients(one, STRETCH) for one in (whole, model))
    kept = np.abs(before) >= 0.1 * np.abs(before).max()
    np.testing.assert_array_equal(after, np.where(kept, before, 0.0))
    lost = np.abs(before[~kept]).sum()
    np.testing.assert_allclose(model.truncated_, lost, rtol=1e-12)
    difference = np.abs(whole.decision_function(queries) - model.decision_function(queries))
    assert difference.max() <= model.truncated_[0] * (1 + 1e-12)
    assert lost > 0 and len(model.support_) < len(whole.support_) and difference.max() > 0
    # The bound shrinks as the coefficients do.
    model.partial_fit(X[STRETCH:-1], y[STRETCH:-1], sample_weight=weights[STRETCH:-1])
    t = np.arange(STRETCH + 1, 2 * STRETCH)
    eta = [RATES[learning_rate](1.0, k) for k in (STRETCH, *t)]
    shrunk = {"norma": np.prod(1 - np.array(eta[1:])), "pegaz": eta[-1] / eta[0]}.get(
        variant.removesuffix("_literal"), 1.0
    )
    np.testing.assert_allclose(model.truncated_, lost * shrunk, rtol=1e-9)


def test_a_step_may_hang_on_what_was_dropped():
    # f(1) = 1 - 1e-7 + 2e-7; without the second term, which is dropped, the last sample is a violation.
    X = np.concatenate([[1.0, 1.0], np.full(STRETCH - 2, 2.0), [1.0]])[:, None]
    y, weights = np.ones(len(X), dtype=int), np.ones(len(X))
    weights[:2] = 1 - 1e-7, 4e-7
    options = {"C": 1.0, "learning_rate": "inverse", "kernel": "linear"}
    whole, model = (stream(KernelSGDClassifier(**options, truncate=t), X, y, (), weights, [0, 1]) for t in (0, 1e-6))
    assert (whole.n_violations_.tolist(), model.n_violations_.tolist()) == ([2], [3])
    np.testing.assert_allclose(model.truncated_, [2e-7])
    np.testing.assert_allclose(model.coef_ - whole.coef_, 1 / len(X) - 2e-7)


def test_just_as_large_is_large_enough():
    X, y = noisy(STRETCH, 3, seed=25)
    weights = np.where(np.arange(STRETCH) % 3 == 0, 0.5, 1.0)
    model = KernelSGDClassifier(variant="pegaz", C=1.0, gamma=0.7, truncate=0.5)
    stream(model, X, y, weights=weights)
    assert model.truncated_.tolist() == [0.0] and len(np.unique(np.abs(model.dual_coef_))) == 2
    model = KernelSGDClassifier(variant="pegaz", C=1.0, gamma=0.7, truncate=0.500001)
    assert stream(model, X, y, weights=weights).truncated_[0] > 0
    assert len(np.unique(np.abs(model.dual_coef_))) == 1


def test_truncation_keeps_norma_small():
    X, y = noisy(6000, 3, seed=14)
    queries = noisy(300, 3, seed=15)[0]
    options = {"variant": "norma", "C": 20.0, "gamma": 0.7}
    whole, model = (stream(KernelSGDClassifier(**options, truncate=t), X, y) for t in (0, 1e-12))
    assert len(model.support_) < 0.7 * len(whole.support_)
    assert 0 < model.truncated_[0] < 1e-9
    np.testing.assert_array_equal(whole.n_violations_, model.n_violations_)
    difference = np.abs(whole.decision_function(queries) - model.decision_function(queries)).max()
    assert difference <= model.truncated_[0] + 1e-13
    assert len(pickle.dumps(model)) < 0.8 * len(pickle.dumps(whole))
    # Means need all coefficients.
    mean = stream(KernelSGDClassifier(**options, truncate=0.5, average=True), X[:3000], y[:3000])
    assert mean.truncated_.tolist() == [0.0]
    same(mean, stream(KernelSGDClassifier(**options, truncate=0, average=True), X[:3000], y[:3000]))


@pytest.mark.parametrize("variant", ["norma", "pegaz"])
def test_save_and_resume_behind_a_truncation(variant):
    # The scale, what was dropped, and the place between two truncations.
    X, y = noisy(6000, 3, seed=18)
    weights = np.random.default_rng(0).choice([0.02, 0.5, 1.0], len(y))
    options = {"variant": variant, "gamma": 0.7, "C": 3.0, "truncate": 0.1}
    one = stream(KernelSGDClassifier(**options), X, y, weights=weights)
    part = stream(KernelSGDClassifier(**options), X[:4500], y[:4500], weights=weights[:4500])
    assert part.truncated_[0] > 0
    same(one, pickle.loads(pickle.dumps(part)).partial_fit(X[4500:], y[4500:], sample_weight=weights[4500:]))
