"""KernelSGDClassifier: against the naive twin, by hand, the laws of the rules and of streams, failures."""

import copy
import math
import pickle
import signal
import threading
import time
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from hingeline import KernelSGDClassifier
from hingeline.online.kernel_sgd import SgdMachines

from .copies import COPIES
from .oracle.naive_kernel_sgd import RATES, naive_kernel_sgd
from .oracle.qp import box_qp, primal_value, shifted_box
from .streams import BAD_CHUNKS, MOODS, MoodyKernel, blobs, noisy, plus_minus, raises, some_weights
from .watching import Recorder

RULES = ["olsvm", "olsvm-reg", "norma", "norma-literal", "pegaz"]
BIASED = ["olsvm", "olsvm-reg"]
STRETCH = 1024  # steps between truncations
MODEL = ("support_", "dual_coef_", "intercept_", "n_support_", "n_iter_", "n_violations_", "truncated_", "classes_")
COUNTS = ("decision_scale_", "n_samples_seen_", "stop_reason_")


def stream(model, X, y, cuts=(), weights=None, classes=None):
    """Feed chunks between `cuts` to partial_fit; their margins together."""
    margins, begin = [], 0
    for end in [*sorted(cuts), X.shape[0]]:
        if end == begin:
            continue
        weight = None if weights is None else weights[begin:end]
        names = np.unique(y) if classes is None else classes
        model.partial_fit(X[begin:end], y[begin:end], names if begin == 0 else None, sample_weight=weight)
        margins.append(model.admission_margin_)
        begin = end
    if len({m.shape[1:] for m in margins}) == 1:
        model.margins = np.concatenate(margins)
    return model


def same(a, b, names=MODEL + COUNTS):
    """Two models are the same to the bit."""
    for name in names:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for key in ("machine", "step", "n_support", "violations"):
        np.testing.assert_array_equal(a.history_[key], b.history_[key], err_msg=key)


def snapshot(model):
    """Everything that a model is, as bytes, but for a kernel that is a function."""
    parts = {**vars(model), **vars(model)["_online"].__getstate__()}
    return {name: pickle.dumps(value) for name, value in parts.items() if name not in ("kernel", "frozen", "_online")}


def coefficients(model, n):
    """Signed coefficients of a two-class model by the numbers of the samples."""
    alpha = np.zeros(n)
    alpha[model.support_] = model.dual_coef_[0]
    return alpha


class Lookup:
    """Kernel values out of a matrix, for rows that are their own numbers."""

    def __init__(self, K):
        self.K = K

    def __call__(self, A, B):
        return self.K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]


def kernel_matrix(model, X):
    """The very values that the core computes."""
    model = clone(model)
    model._gamma = model._resolve_gamma(X)
    everything = np.arange(len(X), dtype=np.int64)
    return model._gram(X, 0).columns(everything, everything).astype(np.float64)


def twin_rule(model):
    """Arguments of the twin: those of a model."""
    return {
        "rule": model.rule.removesuffix("-literal"),
        "literal": model.rule == "norma-literal",
        "C": model.C,
        "learning_rate": model.learning_rate,
        "decay_first": model.decay_first,
        "bias": model.bias,
    }


def variants(rule):
    """Bias and order of decay, as far as a rule knows them."""
    for bias, decay_first in product([False, True], repeat=2):
        if (not bias or rule in BIASED) and (not decay_first or rule == "norma"):
            yield {"bias": bias, "decay_first": decay_first}


# ---- by hand -------------------------------------------------------------------------------------------

LINE = np.array([[1.0], [-1.0], [0.5]]), np.array([1, 0, 0])  # x = 1, -1, 1/2; y = +1, -1, -1


def on_the_line(rule, **options):
    """Coefficients of one pass with the linear kernel, rate C/t and C = 2: eta = 2, 1, 2/3."""
    model = KernelSGDClassifier(rule=rule, C=2.0, learning_rate="inverse", kernel="linear", **options)
    model.partial_fit(*LINE, classes=[0, 1])
    return coefficients(model, 3).tolist(), model


def test_olsvm_by_hand():
    # t = 1: v = 0, a_0 = 2, f = 2 x.  t = 2: v = 2, nothing.  t = 3: v = -1, a_2 = -2/3.
    a, model = on_the_line("olsvm")
    assert a == [2.0, 0.0, -2 / 3]
    assert model.admission_margin_.tolist() == [0.0, 2.0, -1.0]
    assert (model.n_violations_.tolist(), model.n_iter_.tolist()) == ([2], [3])
    assert model.decision_scale_.tolist() == [2.0] and model.coef_.tolist() == [[2.0 - 1 / 3]]
    # With a bias: b = 2; t = 2: v = 2 - 2 = 0, a_1 = -1, b = 1; t = 3: f = 2 * .5 + .5 + 1.
    a, model = on_the_line("olsvm", bias=True)
    np.testing.assert_allclose(a, [2.0, -1.0, -2 / 3])
    assert model.admission_margin_.tolist() == [0.0, 0.0, -2.5]
    np.testing.assert_allclose(model.intercept_, [1 / 3])


def test_olsvm_reg_by_hand():
    # rho = 1, 1/2, 1/3.  t = 1: a_0 = C.  t = 2: v = 2 > 1, a_1 stays 0.  t = 3: v = -1, a_2 = (-2)/3.
    a, model = on_the_line("olsvm-reg")
    np.testing.assert_allclose(a, [2.0, 0.0, -2 / 3])
    assert model.n_violations_.tolist() == [2]


def test_norma_by_hand():
    # phi = 0, 1/2, 2/3.  t = 1: a_0 = 2.  t = 2: v = 2 > 1, a_0 = 1.  t = 3: v = -1/2, a_0 = 2/3, a_2 = -2/3.
    for rule in ("norma", "norma-literal"):
        a, model = on_the_line(rule)
        np.testing.assert_allclose(a, [2 / 3, 0.0, -2 / 3], rtol=1e-15)
        assert model.admission_margin_.tolist() == [0.0, 2.0, -0.5]
    # Decay first: at t = 2 f is x, v = 1 is a violation: a_0 = 1, a_1 = -1; t = 3: v = -(2/3) (1/2 + 1/2).
    a, model = on_the_line("norma", decay_first=True)
    np.testing.assert_allclose(a, [2 / 3, -2 / 3, -2 / 3], rtol=1e-15)
    np.testing.assert_allclose(model.admission_margin_, [0.0, 1.0, -2 / 3], rtol=1e-15)
    assert model.n_violations_.tolist() == [3]


def test_pegaz_by_hand():
    # Counts 1, -1 (as v = 1), -1; alpha = 2/3 of them.
    a, model = on_the_line("pegaz")
    np.testing.assert_allclose(a, [2 / 3, -2 / 3, -2 / 3], rtol=1e-15)
    np.testing.assert_allclose(model.admission_margin_, [0.0, 1.0, -2 / 3], rtol=1e-15)
    assert model.n_violations_.tolist() == [3]


def test_a_margin_of_one_by_hand():
    # No sample knows of the other, and f(x) = a. In two epochs, eta = 1, 1/2, 1/3, 1/4: the first sample has a = 1 and
    # then a margin of exactly 1, which is a violation for NORMA and Pegaz alone; the other has margins 0 and 1/2.
    K = np.eye(2)
    order = np.random.RandomState(0).permutation(2)
    steps = {
        "olsvm": ([1.0, 0.5 + 0.25], 3),
        "olsvm-reg": ([1.0, 0.5 + 0.25 * 0.5], 3),
        "pegaz": ([2 / 4, 2 / 4], 4),
    }
    for rule, (size, violations) in steps.items():
        model = KernelSGDClassifier(rule=rule, kernel="precomputed", learning_rate="inverse", n_epochs=2)
        model.set_params(random_state=0).fit(K, [0, 1])
        assert np.abs(coefficients(model, 2)[order]).tolist() == size, rule
        assert model.n_violations_.tolist() == [violations], rule
    # Counts 1, then v = (1/2) 1 and (1/3) 1: a margin of exactly 1 comes with C = 2 at t = 2.
    twice = KernelSGDClassifier(rule="norma", kernel="linear", C=2.0, learning_rate="inverse", decay_first=True)
    twice.partial_fit([[1.0], [1.0]], [1, 1], [0, 1])
    assert twice.admission_margin_.tolist() == [0.0, 1.0] and twice.n_violations_.tolist() == [2]
    late = KernelSGDClassifier(rule="norma", kernel="linear", C=1.0, learning_rate="inverse")
    late.partial_fit([[1.0], [1.0]], [1, 1], [0, 1])
    assert late.admission_margin_.tolist() == [0.0, 1.0] and late.n_violations_.tolist() == [2]


def test_the_first_sample_is_wiped():
    # phi = 0 at t = 1 and t = 2 with the rate of the paper.
    X = noisy(2, 3)[0]
    model = KernelSGDClassifier(rule="norma", gamma=1.0).partial_fit(X, [0, 1], [0, 1])
    assert model.support_.tolist() == [1] and model.dual_coef_.tolist() == [[1.0]]
    assert model.n_violations_.tolist() == [2]


# ---- step for step with the naive twin -----------------------------------------------------------------


def agree(model, twin, n):
    """A two-class model is what the twin is."""
    C = model.C
    np.testing.assert_allclose(coefficients(model, n), twin.coef, rtol=0, atol=1e-11 * C)
    np.testing.assert_allclose(model.intercept_, twin.b, rtol=0, atol=1e-11 * C)
    assert model.n_violations_.tolist() == [twin.violations]
    assert model.n_iter_.tolist() == [twin.steps]


@pytest.mark.parametrize("C", [0.3, 2.0, 50.0])
@pytest.mark.parametrize("learning_rate", list(RATES))
@pytest.mark.parametrize("rule", RULES)
def test_fit_is_the_twin(rule, learning_rate, C):
    n = 130
    X, y = noisy(n, 3, seed=1)
    label = plus_minus(y)
    K = kernel_matrix(KernelSGDClassifier(gamma=0.7), X)
    order = {weighted: np.random.RandomState(3).permutation(n) for weighted in (False, True)}
    weights = {False: np.ones(n), True: some_weights(n)}
    order[True] = np.random.RandomState(3).permutation(np.flatnonzero(weights[True]))
    for variant, average, n_epochs, weighted in product(variants(rule), [False, True], [1, 3], [False, True]):
        options = {"rule": rule, "learning_rate": learning_rate, "C": C, "n_epochs": n_epochs, "average": average}
        model = KernelSGDClassifier(**options, **variant, gamma=0.7, random_state=3, truncate=0)
        model.fit(X, y, sample_weight=weights[weighted] if weighted else None)
        twin = naive_kernel_sgd(
            K,
            label,
            n_epochs=n_epochs,
            average=average,
            weight=weights[weighted],
            order=order[weighted],
            **twin_rule(model),
        )
        agree(model, twin, n)
        scale = C * (1 + np.abs(twin.coef).sum() / C)
        np.testing.assert_allclose(model.decision_function(X), twin.outputs, rtol=0, atol=1e-12 * scale)
        # Whether a sample was a violation when it came for the first time is what its margin says.
        margins = model.admission_margin_[order[weighted]]
        hit = margins < 1 if rule in BIASED else margins <= 1
        near = np.abs(margins - 1) < 1e-9
        assert (hit | near).sum() >= sum(twin.violated[: len(margins)]) >= (hit & ~near).sum()
        assert np.isnan(model.admission_margin_[weights[weighted] == 0]).all()
        if rule == "olsvm-reg" and not average:
            size = label * coefficients(model, n)
            assert (size >= 0).all() and (size <= C * weights[weighted]).all()


def trajectory(model, K, y, order, start=0, state=None):
    """What the steps of a model leave, one after another: coefficients and intercept, by the twin."""
    for i in order:
        state = naive_kernel_sgd(K, y, order=[i], start=start, state=state, **twin_rule(model))
        start = state.steps
        yield state.coef.copy(), state.b, state


@pytest.mark.parametrize("learning_rate", list(RATES))
@pytest.mark.parametrize("rule", RULES)
def test_averages_of_a_stream(rule, learning_rate):
    # The mean over the steps behind the last power of two but one: a half to three quarters of all.
    n = 70
    X, y = noisy(n, 3, seed=2)
    for variant in variants(rule):
        model = KernelSGDClassifier(rule=rule, average=True, C=3.0, learning_rate=learning_rate, gamma=0.7, **variant)
        states = list(trajectory(model, kernel_matrix(model, X), plus_minus(y), range(n)))
        for t in range(1, n + 1):
            model.partial_fit(X[t - 1 : t], y[t - 1 : t], [0, 1])
            begin = 2 ** (t.bit_length() - 2) if t > 1 else 0
            mean = np.mean([coef for coef, _, _ in states[begin:t]], axis=0)
            np.testing.assert_allclose(coefficients(model, n), mean, rtol=0, atol=1e-12)
            np.testing.assert_allclose(model.intercept_, np.mean([b for _, b, _ in states[begin:t]]), atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_averages_from_fit_to_stream(rule):
    # The window of a fit gives way when two of the stream have begun, at 64 and 128.
    n, known = 170, 20
    X, y = noisy(n, 3, seed=3)
    model = KernelSGDClassifier(rule=rule, average=True, C=3.0, gamma=0.7, n_epochs=2, random_state=0)
    order = np.random.RandomState(0).permutation(known)
    steps = [*order, *order, *range(known, n)]
    states = list(trajectory(model, kernel_matrix(model, X), plus_minus(y), steps))
    model.fit(X[:known], y[:known])
    for t in range(40, len(steps) + 1):
        begin = 20 if t < 128 else 64
        mean = np.mean([coef for coef, _, _ in states[begin:t]], axis=0)
        np.testing.assert_allclose(coefficients(model, n), mean, rtol=0, atol=1e-12)
        if t < len(steps):
            model.partial_fit(X[t - 20 : t - 19], y[t - 20 : t - 19])


@pytest.mark.parametrize("average", [False, True], ids=["", "average"])
@pytest.mark.parametrize("rule", RULES)
def test_fit_then_partial_fit_is_the_twin(rule, average):
    n, known = 200, 120
    X, y = noisy(n, 3, seed=4)
    for variant in variants(rule):
        model = KernelSGDClassifier(rule=rule, C=2.0, gamma=0.7, n_epochs=2, random_state=0, **variant)
        K, label = kernel_matrix(model, X), plus_minus(y)
        if average:  # means only show; what goes on are the last coefficients
            model.set_params(average=True).fit(X[:known], y[:known])
        model.fit(X[:known], y[:known])
        order = np.random.RandomState(0).permutation(known)
        twin = naive_kernel_sgd(K, label, n_epochs=2, order=order, **twin_rule(model))
        if not average:
            agree(model, twin, n)
        other = copy.deepcopy(model)
        model.partial_fit(X[known:], y[known:])
        same(model, other.partial_fit(X[known:150], y[known:150]).partial_fit(X[150:], y[150:]))
        rest = naive_kernel_sgd(K, label, order=range(known, n), start=twin.steps, state=twin, **twin_rule(model))
        assert model.n_violations_[0] == twin.violations + rest.violations and model.n_iter_[0] == 320
        if not average:
            np.testing.assert_allclose(coefficients(model, n), rest.coef, rtol=0, atol=1e-11)


@pytest.mark.parametrize("average", [False, True], ids=["", "average"])
@pytest.mark.parametrize(("rule", "decay_first"), [("norma", False), ("norma", True), ("norma-literal", False)])
def test_a_scale_that_shrinks_for_long(rule, decay_first, average):
    # The product of the decays is about exp(-2 sqrt(2 T)): below 2^-256 after 4,000 steps, twice after 16,000.
    n, n_epochs, C = 50, 500, 10.0
    X, y = noisy(n, 3, seed=5)
    model = KernelSGDClassifier(rule=rule, decay_first=decay_first, average=average, C=C, gamma=0.7, truncate=0)
    model.set_params(n_epochs=n_epochs, random_state=1).fit(X, y)
    t = np.arange(3, n * n_epochs + 1)
    assert np.log2(1 - np.sqrt(2 / t)).sum() < -2 * 256
    order = np.random.RandomState(1).permutation(n)
    K = kernel_matrix(model, X)
    twin = naive_kernel_sgd(K, plus_minus(y), n_epochs=n_epochs, order=order, average=average, **twin_rule(model))
    agree(model, twin, n)
    np.testing.assert_allclose(coefficients(model, n), twin.coef, rtol=1e-9, atol=1e-100)


# ---- laws of the rules ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("C", [0.7, 2.0, 20.0, 200.0])
def test_norma_that_decays_first_is_pegaz(C, weighted):
    n = 150
    X, y = noisy(n, 3, seed=6)
    weights = some_weights(n) if weighted else None
    for n_epochs, average in [(1, False), (3, False), (10, False), (3, True)]:
        options = {"C": C, "learning_rate": "inverse", "gamma": 0.7, "random_state": 0, "n_epochs": n_epochs}
        norma, pegaz = (
            KernelSGDClassifier(rule=rule, decay_first=True, average=average, truncate=0, **options)
            for rule in ("norma", "pegaz")
        )
        norma.fit(X, y, sample_weight=weights), pegaz.fit(X, y, sample_weight=weights)
        difference = coefficients(norma, n) - coefficients(pegaz, n)
        assert np.abs(difference).max() <= 1e-15 * max(1.0, C)
        np.testing.assert_array_equal(norma.n_violations_, pegaz.n_violations_)
        # The order of the paper is another rule.
        paper = KernelSGDClassifier(rule="norma", average=average, truncate=0, **options)
        paper.fit(X, y, sample_weight=weights)
        if C == 20.0 and not weighted:
            assert np.abs(coefficients(paper, n) - coefficients(pegaz, n)).max() > 1e-4


def test_literal_norma_differs_from_the_second_epoch_on():
    X, y = noisy(100, 3, seed=7)
    options = {"C": 2.0, "gamma": 0.7, "learning_rate": "inverse", "random_state": 0, "truncate": 0}
    for n_epochs in (1, 2):
        norma, literal = (
            KernelSGDClassifier(rule=rule, n_epochs=n_epochs, **options).fit(X, y)
            for rule in ("norma", "norma-literal")
        )
        if n_epochs == 1:
            same(norma, literal)
        else:
            assert np.abs(coefficients(norma, 100) - coefficients(literal, 100)).max() > 1e-3


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("rule", ["pegaz", "norma"])
def test_pegaz_goes_to_the_qp(rule, weighted):
    n, C = 100, 20.0
    X, y = noisy(n, 3, seed=8)
    K, label = rbf_kernel(X, gamma=0.7), plus_minus(y)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, n) if weighted else np.ones(n)
    c = C * weights / n
    best = primal_value(K, label, box_qp(K, label, *shifted_box(label, c)), c)
    excess = []
    for n_epochs in (10, 100, 1000):
        model = KernelSGDClassifier(rule=rule, C=C, learning_rate="inverse", gamma=0.7, n_epochs=n_epochs, truncate=0)
        model.set_params(random_state=0).fit(X, y, sample_weight=weights)
        excess.append(primal_value(K, label, coefficients(model, n), c) / best - 1)
    assert excess[0] > excess[1] > excess[2] >= -1e-12 and excess[2] < 1e-4
    mean = model.set_params(average=True).fit(X, y, sample_weight=weights)
    assert -1e-12 <= primal_value(K, label, coefficients(mean, n), c) / best - 1 < 1e-4
    # With a sum of losses it is another problem.
    wrong = primal_value(K, label, box_qp(K, label, *shifted_box(label, C * weights)), c)
    assert wrong > 1.05 * best


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_olsvm_reg_goes_to_the_qp(weighted):
    n, C = 100, 2.0
    X, y = noisy(n, 3, seed=9)
    K, label = rbf_kernel(X, gamma=0.7), plus_minus(y)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], n) if weighted else np.ones(n)
    best = primal_value(K, label, box_qp(K, label, *shifted_box(label, C * weights)), C * weights)
    excess = []
    for n_epochs in (1, 20, 1000):
        model = KernelSGDClassifier(rule="olsvm-reg", C=C, gamma=0.7, n_epochs=n_epochs, random_state=0)
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
        model = KernelSGDClassifier(rule="olsvm-reg", C=C, gamma=0.7, n_epochs=7, bias=bias, random_state=seed)
        alpha = coefficients(model.fit(X, y, sample_weight=weights), n) * plus_minus(y)
        assert (alpha >= 0).all() and (alpha <= C * weights).all() and (alpha > 0.5 * C * weights).any()


@pytest.mark.parametrize("rule", RULES)
def test_steps_of_a_sample_have_its_sign(rule):
    X, y = noisy(200, 3, seed=10)
    model = KernelSGDClassifier(rule=rule, gamma=0.7, C=3.0, random_state=0).fit(X, y)
    assert (np.sign(model.dual_coef_[0]) == plus_minus(y[model.support_])).all()
    other = clone(model).fit(X, 1 - y)
    np.testing.assert_array_equal(coefficients(model, 200), -coefficients(other, 200))
    np.testing.assert_array_equal(model.admission_margin_, other.admission_margin_)


def test_decay_first_is_for_norma():
    X, y = noisy(150, 3)
    for rule in ("olsvm", "olsvm-reg", "pegaz"):
        models = [KernelSGDClassifier(rule=rule, decay_first=d, gamma=0.7, random_state=0) for d in (False, True)]
        same(*(model.fit(X, y) for model in models))


# ---- truncation ----------------------------------------------------------------------------------------


def dropping_twin(K, y, order, *, rule, C, n_epochs, learning_rate, truncate):
    """The twin in several epochs, with small coefficients dropped every 1,024 steps; outputs remember them.

    Coefficients, violations and what was dropped, as far as it would have shrunk.
    """
    a, o, dropped, violations = np.zeros(len(y)), np.zeros(len(y)), 0.0, 0
    for t in range(1, n_epochs * len(order) + 1):
        i = order[(t - 1) % len(order)]
        eta = RATES[learning_rate](C, t)
        last = RATES[learning_rate](C, t - 1) if t > 1 else 1.0
        if rule == "pegaz":  # o = eta K beta; what was dropped shrinks as all does
            a, o, dropped = a * (eta / last), o * (eta / last), dropped * (eta / last)
        hit = y[i] * o[i] < 1 if rule == "olsvm" else y[i] * o[i] <= 1
        if rule == "norma":
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
@pytest.mark.parametrize("rule", ["olsvm", "norma", "pegaz"])
def test_what_is_dropped_in_epochs(rule, learning_rate):
    n, truncate = 300, 0.2
    X, y = noisy(n, 3, seed=11)
    options = {"rule": rule, "C": 20.0, "learning_rate": learning_rate, "n_epochs": 15}
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
@pytest.mark.parametrize("rule", RULES)
def test_what_is_dropped_from_a_stream(rule, learning_rate):
    X, y = noisy(2 * STRETCH, 3, seed=12)
    queries = noisy(200, 3, seed=13)[0]
    options = {"rule": rule, "C": 5.0, "gamma": 0.7, "learning_rate": learning_rate}
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
        rule.removesuffix("-literal"), 1.0
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
    model = KernelSGDClassifier(rule="pegaz", C=1.0, gamma=0.7, truncate=0.5)
    stream(model, X, y, weights=weights)
    assert model.truncated_.tolist() == [0.0] and len(np.unique(np.abs(model.dual_coef_))) == 2
    model = KernelSGDClassifier(rule="pegaz", C=1.0, gamma=0.7, truncate=0.500001)
    assert stream(model, X, y, weights=weights).truncated_[0] > 0
    assert len(np.unique(np.abs(model.dual_coef_))) == 1


def test_truncation_keeps_norma_small():
    X, y = noisy(6000, 3, seed=14)
    queries = noisy(300, 3, seed=15)[0]
    options = {"rule": "norma", "C": 20.0, "gamma": 0.7}
    whole, model = (stream(KernelSGDClassifier(**options, truncate=t), X, y) for t in (0, 1e-12))
    assert len(model.support_) < 0.7 * len(whole.support_)
    assert 0 < model.truncated_[0] < 1e-9
    np.testing.assert_array_equal(whole.n_violations_, model.n_violations_)
    difference = np.abs(whole.decision_function(queries) - model.decision_function(queries)).max()
    assert difference <= model.truncated_[0] + 1e-13
    assert model._online.model.n_stored == len(model.support_)
    # Means need all coefficients.
    mean = stream(KernelSGDClassifier(**options, truncate=0.5, average=True), X[:3000], y[:3000])
    assert mean.truncated_.tolist() == [0.0]
    same(mean, stream(KernelSGDClassifier(**options, truncate=0, average=True), X[:3000], y[:3000]))


# ---- laws of streams -----------------------------------------------------------------------------------


def wide_indices(X):
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


FORMS = {"dense": np.asarray, "csr": sp.csr_matrix, "wide": wide_indices}


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(RULES),
    st.sampled_from(list(RATES)),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(list(FORMS)),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([(1, 200), (2, 200), (1, 1e-6), (2, 0.02)]),
    st.sampled_from([(2, "ovo"), (3, "ovo"), (4, "ovr"), (3, "ovr")]),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(1, 119), max_size=12),
    st.integers(0, 10**6),
)
def test_any_chunks(rule, rate, average, bias, decay_first, form, dtype, resources, kind, weighted, late, cuts, seed):
    n_classes, multi_class = kind
    X, y = blobs(120, n_classes, seed=seed, dtype=dtype)
    if late:  # two labels are known at first
        y[:2] = [1, 0]
        y[2:30] %= 2
    X = FORMS[form](X)
    weights = some_weights(120, seed) if weighted else None
    options = {"rule": rule, "learning_rate": rate, "average": average, "bias": bias and rule in BIASED, "gamma": 0.3}
    options |= {"decay_first": decay_first, "C": 5.0, "multi_class": multi_class}
    known = [0, 1] if late else range(n_classes)
    n_jobs, cache_size = resources
    one = stream(KernelSGDClassifier(**options), X, y, weights=weights, classes=known)
    cut = KernelSGDClassifier(**options, n_jobs=n_jobs, cache_size=cache_size)
    stream(cut, X, y, cuts, weights, classes=known)
    same(one, cut)
    assert one.decision_function(X).tobytes() == cut.decision_function(X).tobytes()
    if not late:
        np.testing.assert_array_equal(one.margins, cut.margins)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(RULES),
    st.booleans(),
    st.sampled_from([0, 1e-12, 1e-2, 0.3]),
    st.sampled_from([2, 3]),
    st.sampled_from([np.float32, np.float64]),
    st.lists(st.integers(1, 2599) | st.sampled_from([1023, 1024, 1025, 2047, 2048, 2049]), max_size=6),
    st.integers(0, 10**6),
)
def test_any_chunks_of_a_long_stream(rule, average, truncate, n_classes, dtype, cuts, seed):
    X, y = blobs(2600, n_classes, d=4, seed=seed, dtype=dtype)
    options = {"rule": rule, "average": average, "truncate": truncate, "gamma": 0.3, "C": 2.0}
    one, cut = KernelSGDClassifier(**options), KernelSGDClassifier(**options, cache_size=0.3)
    same(stream(one, X, y), stream(cut, X, y, cuts))
    np.testing.assert_array_equal(one.margins, cut.margins)


@pytest.mark.parametrize("rule", RULES)
def test_row_by_row(rule):
    X, y = blobs(150, 3)
    weights = some_weights(150)
    for average in (False, True):
        options = {"rule": rule, "average": average, "gamma": 0.3, "C": 3.0}
        one = stream(KernelSGDClassifier(**options), X, y, weights=weights)
        same(one, stream(KernelSGDClassifier(**options), X, y, range(1, 150), weights))


@pytest.mark.parametrize("rule", RULES)
def test_margins_are_those_of_the_model_before(rule):
    X, y = noisy(120, 3, seed=16)
    label = plus_minus(y)
    options = {"rule": rule, "gamma": 0.7, "C": 3.0, "bias": rule in BIASED}
    one = stream(KernelSGDClassifier(**options), X, y)
    model = KernelSGDClassifier(**options).partial_fit(X[:1], y[:1], [0, 1])
    scale = 0.0
    for k in range(1, 120):
        f = model.decision_function(X[k : k + 1])[0]
        if rule == "pegaz":  # with the rate of the step
            f *= np.sqrt(k / (k + 1))
        np.testing.assert_allclose(one.admission_margin_[k], label[k] * f, rtol=1e-10, atol=1e-12)
        scale = max(scale, abs(f))
        model.partial_fit(X[k : k + 1], y[k : k + 1])
        np.testing.assert_allclose(model.decision_scale_, scale, rtol=1e-10)
    assert one.admission_margin_[0] == 0.0 and one.admission_margin_.shape == (120,)


@pytest.mark.parametrize("rule", RULES)
def test_fit_is_a_stream_in_random_order(rule):
    n = 1500
    X, y = blobs(n, 3)
    weights = some_weights(n)
    for variant in variants(rule):
        for truncate in (0, 0.1):
            options = {"rule": rule, "gamma": 0.3, "C": 3.0, "truncate": truncate, "random_state": 7, **variant}
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


@pytest.mark.parametrize("rule", RULES)
def test_margins_of_epochs_are_those_of_the_first(rule):
    X, y = noisy(1300, 3, seed=17)
    options = {"rule": rule, "gamma": 0.7, "C": 3.0, "truncate": 0, "random_state": 0}
    one, three = (KernelSGDClassifier(**options, n_epochs=k).fit(X, y) for k in (1, 3))
    np.testing.assert_array_equal(one.admission_margin_, three.admission_margin_)
    assert three.decision_scale_ >= one.decision_scale_


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("rule", RULES)
def test_save_and_resume(rule, form, copied):
    X, y = blobs(160, 3)
    X = FORMS[form](X)
    for average in (False, True):
        options = {"rule": rule, "gamma": 0.3, "C": 3.0, "bias": rule in BIASED, "average": average}
        options |= {"multi_class": "ovr" if form == "csr" else "ovo"}
        one = stream(KernelSGDClassifier(**options), X, y)
        part = stream(KernelSGDClassifier(**options), X[:93], y[:93], classes=range(3))
        resumed = COPIES[copied](COPIES[copied](part))
        same(part, resumed)
        resumed.partial_fit(X[93:], y[93:])
        same(one, resumed)
        assert part.n_samples_seen_ == 93 and resumed.n_samples_seen_ == 160
        same(one, part.partial_fit(X[93:], y[93:]))
        assert resumed.history_["seconds"].tolist() == COPIES[copied](resumed).history_["seconds"].tolist()


@pytest.mark.parametrize("rule", ["norma", "pegaz"])
def test_save_and_resume_behind_a_truncation(rule):
    # The scale, what was dropped, and the place between two truncations.
    X, y = noisy(6000, 3, seed=18)
    weights = np.random.default_rng(0).choice([0.02, 0.5, 1.0], len(y))
    options = {"rule": rule, "gamma": 0.7, "C": 3.0, "truncate": 0.1}
    one = stream(KernelSGDClassifier(**options), X, y, weights=weights)
    part = stream(KernelSGDClassifier(**options), X[:4500], y[:4500], weights=weights[:4500])
    assert part.truncated_[0] > 0
    same(one, pickle.loads(pickle.dumps(part)).partial_fit(X[4500:], y[4500:], sample_weight=weights[4500:]))


@pytest.mark.parametrize("rule", RULES)
def test_clone_knows_nothing(rule):
    X, y = noisy(60, 3)
    model = stream(KernelSGDClassifier(rule=rule, gamma=1.0), X, y)
    fresh = clone(model)
    assert vars(fresh) == model.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    same(model, stream(fresh, X, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", ["fit", "epoch", "stream"])
@pytest.mark.parametrize("rule", RULES)
def test_form_does_not_matter(rule, how, dtype):
    X, y = blobs(150, 3, d=30, dtype=dtype)
    options = {"rule": rule, "gamma": 0.05, "C": 3.0, "random_state": 0, "n_epochs": 1 + (how == "fit")}

    def train(X):
        if how == "stream":
            return stream(KernelSGDClassifier(**options), X, y, [11, 80])
        return KernelSGDClassifier(**options).fit(X, y)

    dense = train(X)
    assert dense.support_vectors_.dtype == dtype
    for make in (sp.csr_matrix, sp.csr_array, wide_indices, np.asfortranarray):
        other = train(make(X))
        same(dense, other)
        assert dense.decision_function(X).tobytes() == other.decision_function(make(X)).tobytes()
        rows = other.support_vectors_
        assert ((rows.toarray() if sp.issparse(rows) else rows) == X[dense.support_]).all()


def test_form_may_change_between_chunks():
    X, y = blobs(150, 3, d=30)
    options = {"rule": "norma", "gamma": 0.05, "C": 3.0}
    one = stream(KernelSGDClassifier(**options), X, y)
    makers = [np.asarray, sp.csr_matrix, wide_indices, np.asfortranarray, lambda X: X.tolist()]
    for first in range(3):
        model = KernelSGDClassifier(**options)
        for k, begin in enumerate(range(0, 150, 30)):
            part = makers[(first + k) % len(makers)](X[begin : begin + 30])
            model.partial_fit(part, y[begin : begin + 30], range(3))
        same(one, model)
        assert sp.issparse(model.support_vectors_) == (first > 0)


def test_precision_is_that_of_the_first_chunk():
    X, y = noisy(100, 3, dtype=np.float32)
    one = stream(KernelSGDClassifier(gamma=1.0), X, y)
    model = KernelSGDClassifier(gamma=1.0).partial_fit(X[:40], y[:40], [0, 1])
    same(one, model.partial_fit(X[40:].astype(np.float64), y[40:]))
    assert model.support_vectors_.dtype == np.float32


@pytest.mark.parametrize("options", [{"cache_size": 1e-6}, {"cache_size": 0.05}, {"n_jobs": 2}, {"n_jobs": 3}], ids=str)
@pytest.mark.parametrize("rule", RULES)
def test_cache_and_threads_change_nothing(rule, options):
    X, y = blobs(500, 3, d=10, dtype=np.float32)
    for average, n_epochs in [(False, 1), (False, 3), (True, 3)]:
        common = {"rule": rule, "C": 3.0, "gamma": 0.1, "average": average, "n_epochs": n_epochs, "random_state": 0}
        reference, other = (KernelSGDClassifier(**common, **more).fit(X, y) for more in ({}, options))
        same(reference, other)
        np.testing.assert_array_equal(reference.admission_margin_, other.admission_margin_)
        np.testing.assert_array_equal(reference.decision_function(X), other.decision_function(X))
        if "cache_size" in options and n_epochs > 1:
            assert other.n_kernel_evals_ > reference.n_kernel_evals_
        if "n_jobs" in options:
            assert other.n_kernel_evals_ == reference.n_kernel_evals_


@pytest.mark.parametrize("slices", [1, 7, 99])
@pytest.mark.parametrize("n_epochs", [1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_slices_change_nothing(rule, n_epochs, slices, monkeypatch):
    X, y = blobs(1200, 2, d=3)
    monkeypatch.setattr("hingeline.base.fit.N_SLICES", slices)
    for average in (False, True):
        options = {"rule": rule, "n_epochs": n_epochs, "average": average, "gamma": 0.3, "C": 3.0, "random_state": 0}
        options |= {"truncate": 0.1, "bias": rule in BIASED}
        alone = KernelSGDClassifier(**options).fit(X, y)
        watched = KernelSGDClassifier(**options).set_callbacks(Recorder()).fit(X, y)
        same(alone, watched)
        np.testing.assert_array_equal(alone.admission_margin_, watched.admission_margin_)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_weight_zero_is_no_row(rule, n_classes):
    X, y = blobs(150, n_classes)
    weights = some_weights(150)
    on = np.flatnonzero(weights)
    options = {"rule": rule, "gamma": 0.3, "C": 3.0, "random_state": 0}
    one = stream(KernelSGDClassifier(**options), X, y, weights=weights)
    other = stream(KernelSGDClassifier(**options), X[on], y[on], weights=weights[on], classes=range(n_classes))
    np.testing.assert_array_equal(one.support_, on[other.support_])
    same(one, other, [name for name in MODEL + COUNTS if name not in ("support_", "n_samples_seen_")])
    assert np.isnan(one.admission_margin_[weights == 0]).all()
    assert one.n_samples_seen_ == 150
    # In fit whatever the row is.
    odd = X.copy()
    odd[weights == 0] = 99.0
    labels = np.where(weights == 0, (y + 1) % n_classes, y)
    fits = [KernelSGDClassifier(**options).fit(*data, sample_weight=weights) for data in [(X, y), (odd, labels)]]
    same(*fits)


def test_a_chunk_without_weight():
    X, y = noisy(60, 3)
    model = stream(KernelSGDClassifier(gamma=0.7), X, y)
    before = coefficients(model, 60)
    model.partial_fit(X, y, sample_weight=np.zeros(60))
    np.testing.assert_array_equal(coefficients(model, 60), before)
    assert np.isnan(model.admission_margin_).all() and model.n_samples_seen_ == 120
    assert model.n_iter_.tolist() == [60] and model.stop_reason_.tolist() == ["pass"]


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("rule", RULES)
def test_class_weight_is_sample_weight(rule, how):
    X, y = blobs(150, 3)
    names = np.array(["fig", "apple", "pear"])[y]
    by_class = {"fig": 2.0, "pear": 0.5}
    weights = np.array([by_class.get(name, 1.0) for name in names])
    options = {"rule": rule, "gamma": 0.3, "C": 3.0, "random_state": 0}
    one, other = KernelSGDClassifier(**options, class_weight=by_class), KernelSGDClassifier(**options)
    both = np.random.default_rng(0).uniform(0.5, 1.5, 150)
    if how == "fit":
        one.fit(X, names, sample_weight=both)
        other.fit(X, names, sample_weight=weights * both)
    else:
        stream(one, X, names, [50], both)
        stream(other, X, names, weights=weights * both)
    same(one, other)
    plain = clone(other)
    assert (plain.fit(X, names) if how == "fit" else stream(plain, X, names)).decision_scale_[0] != one.decision_scale_[
        0
    ]


def test_balanced():
    X, y = noisy(200, 3, seed=19)
    y[:90] = 1
    weights = 200 / (2 * np.bincount(y))
    same(
        KernelSGDClassifier(gamma=1.0, class_weight="balanced", random_state=0).fit(X, y),
        KernelSGDClassifier(gamma=1.0, class_weight=dict(enumerate(weights)), random_state=0).fit(X, y),
    )


def test_order_is_that_of_random_state():
    X, y = noisy(200, 3)
    fits = [KernelSGDClassifier(gamma=1.0, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    same(fits[0], fits[1])
    assert (coefficients(fits[0], 200) != coefficients(fits[2], 200)).any()
    same(fits[0], KernelSGDClassifier(gamma=1.0, random_state=np.random.RandomState(0)).fit(X, y))


# ---- kernels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_epochs", [1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_any_source_of_kernel_values(rule, n_epochs):
    X, y = blobs(150, 3)
    options = {"rule": rule, "C": 3.0, "n_epochs": n_epochs, "random_state": 0}
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


@pytest.mark.parametrize(
    "kernel", [{"kernel": "linear"}, {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}], ids=str
)
@pytest.mark.parametrize("rule", RULES)
def test_other_kernels_are_the_twin(rule, kernel):
    n = 120
    X, y = noisy(n, 3, seed=20)
    model = KernelSGDClassifier(rule=rule, C=0.5, n_epochs=2, random_state=0, truncate=0, **kernel).fit(X, y)
    order = np.random.RandomState(0).permutation(n)
    K = kernel_matrix(model, X)
    twin = naive_kernel_sgd(K, plus_minus(y), n_epochs=2, order=order, **twin_rule(model))
    np.testing.assert_allclose(coefficients(model, n), twin.coef, rtol=0, atol=1e-11)
    assert model.n_violations_.tolist() == [twin.violations]
    np.testing.assert_allclose(model.decision_function(X), K @ twin.coef, rtol=1e-9, atol=1e-9)
    if kernel["kernel"] == "linear":
        np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], model.decision_function(X), rtol=1e-9)


# ---- several classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("rule", RULES)
def test_pairs_are_binary_machines(rule, how):
    X, y = blobs(200, 4)
    options = {"rule": rule, "gamma": 0.3, "C": 3.0, "bias": rule in BIASED, "n_epochs": 2}
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
            twin = naive_kernel_sgd(K, label, n_epochs=2, order=place, **twin_rule(binary))
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
@pytest.mark.parametrize("rule", RULES)
def test_rest_machines_are_binary_machines(rule, how):
    X, y = blobs(200, 4)
    options = {"rule": rule, "gamma": 0.3, "C": 3.0, "bias": rule in BIASED, "random_state": 5, "n_epochs": 2}
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


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "ovo"), (2, "ovr"), (4, "ovo"), (4, "ovr")])
def test_shapes(n_classes, multi_class, form):
    X, y = blobs(120, n_classes)
    X = FORMS[form](X)
    model = KernelSGDClassifier(
        kernel="linear", multi_class=multi_class, decision_function_shape="ovo", bias=True, random_state=0
    ).fit(X, y)
    machines = 1 if n_classes == 2 else 6 if multi_class == "ovo" else 4
    lines = n_classes if multi_class == "ovr" and n_classes > 2 else n_classes - 1
    n_support = len(model.support_)
    assert model.dual_coef_.shape == (lines, n_support) and model.dual_coef_.dtype == np.float64
    assert model.n_support_.shape == (n_classes,) and model.n_support_.sum() == n_support
    assert model.support_vectors_.shape == (n_support, 6)
    assert model.coef_.shape == (machines, 6)
    for name in ("intercept_", "n_iter_", "n_violations_", "truncated_", "stop_reason_", "decision_scale_"):
        assert getattr(model, name).shape == (machines,), name
    assert model.n_iter_.dtype.kind == model.n_violations_.dtype.kind == "i"
    values = model.decision_function(X)
    assert values.shape == ((120,) if machines == 1 else (120, machines))
    np.testing.assert_allclose(values.reshape(120, -1), X @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-9)
    assert np.repeat(model.classes_, model.n_support_).tolist() == y[model.support_].tolist()
    if n_classes == 4:
        assert model.set_params(decision_function_shape="ovr").decision_function(X).shape == (120, 4)
        assert (model.predict(X) == model.decision_function(X).argmax(axis=1)).all()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("rule", RULES)
def test_a_class_that_comes_later(rule, multi_class):
    X, y = blobs(150, 4)
    names = np.array(["m", "t", "c", "z"])[y]  # 'c' sorts before those that are known, 'z' behind
    known = np.flatnonzero(y < 2)[:40]
    later = np.setdiff1d(np.arange(150), known)
    X, names = np.concatenate([X[known], X[later]]), np.concatenate([names[known], names[later]])
    for average in (False, True):
        options = {"rule": rule, "gamma": 0.3, "C": 3.0, "multi_class": multi_class, "average": average}
        options |= {"bias": rule in BIASED}
        first = {label: int(np.flatnonzero(names == label)[0]) for label in "cz"}
        assert min(first.values()) >= 40
        one = stream(KernelSGDClassifier(**options), X, names, classes=["m", "t"])
        assert one.classes_.tolist() == ["c", "m", "t", "z"]
        assert one.intercept_.shape == (6 if multi_class == "ovo" else 4,)
        for shift in (-1, 0, 1):
            cuts = sorted({at + shift for at in first.values()})
            same(one, stream(KernelSGDClassifier(**options), X, names, cuts, classes=["m", "t"]))
        same(one, stream(KernelSGDClassifier(**options), X, names, range(1, 150), classes=["m", "t"]))
        before = stream(KernelSGDClassifier(**options), X[:40], names[:40], classes=["m", "t"])
        assert before.classes_.tolist() == ["m", "t"] and before.decision_function(X).shape == (150,)
        assert (one.predict(X) == names).mean() > 0.4
        assert one.admission_margin_.shape == (150, 4)
        assert np.repeat(one.classes_, one.n_support_).tolist() == names[one.support_].tolist()


@pytest.mark.parametrize("average", [False, True], ids=["", "average"])
@pytest.mark.parametrize("rule", RULES)
def test_the_machine_of_the_other_class_is_mirrored(rule, average):
    # With two classes one machine; when a third comes the other class gets what it has learnt, turned round.
    X, y = blobs(120, 3)
    known = np.argsort(y == 2, kind="stable")
    X, y = X[known], y[known]
    count = int((y < 2).sum())
    options = {"rule": rule, "gamma": 0.3, "C": 3.0, "multi_class": "ovr", "bias": rule in BIASED, "average": average}
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


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_class_that_is_declared_and_never_comes(multi_class):
    X, y = blobs(100, 2)
    for average in (False, True):
        model = KernelSGDClassifier(gamma=0.3, C=5.0, multi_class=multi_class, average=average)
        stream(model, X, y, [30], classes=[0, 1, 7])
        assert model.classes_.tolist() == [0, 1, 7] and model.n_support_[2] == 0
        assert set(model.predict(X)) <= {0, 1, 7} and (model.predict(X) == y).mean() > 0.7
        again = pickle.loads(pickle.dumps(model))
        same(model.partial_fit(X, y + 6), again.partial_fit(X, y + 6))
        assert set(model.predict(X)) <= {0, 1, 6, 7}


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


@pytest.mark.parametrize("rule", RULES)
def test_one_class_only(rule):
    X, _ = noisy(80, 3)
    model = KernelSGDClassifier(rule=rule, gamma=1.0, C=5.0).partial_fit(X, np.ones(80), [0.0, 1.0])
    assert (model.predict(X) == 1).all()
    model.partial_fit(X + 3, np.zeros(80))
    assert (model.predict(np.vstack([X, X + 3])) == np.repeat([1, 0], 80)).mean() > 0.6


def test_new_classes_may_be_declared_later():
    X, y = blobs(100, 3)
    known = y < 2
    model = KernelSGDClassifier(gamma=0.3).partial_fit(X[known], y[known], [0, 1])
    model.partial_fit(X[~known], y[~known], classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2] and np.isfinite(model.decision_function(X)).all()


# ---- what is published ---------------------------------------------------------------------------------


def test_history():
    X, y = noisy(100, 3, seed=21)
    model = KernelSGDClassifier(gamma=0.7, n_epochs=200, C=3.0, random_state=0).fit(X, y)
    history = model.history_
    assert list(history) == ["machine", "step", "seconds", "n_support", "violations", "kernel_evals"]
    # Every 16 steps, then every 32 from step 8,192 on, every 64 from 16,384 on.
    assert history["step"].tolist() == list(range(64, 20_001, 64))
    assert (history["machine"] == 0).all() and history["machine"].dtype.kind == history["step"].dtype.kind == "i"
    for key in ("seconds", "violations", "kernel_evals"):
        assert (np.diff(history[key]) >= 0).all(), key
    assert history["kernel_evals"][-1] <= model.n_kernel_evals_
    short = clone(model).set_params(n_epochs=4).fit(X, y).history_
    assert short["step"].tolist() == list(range(16, 401, 16))
    one = clone(model).set_params(n_epochs=1, random_state=None)
    for k in (16, 32, 96):
        part = stream(clone(one), X[:k], y[:k])
        assert part.history_["violations"][-1] == part.n_violations_[0]
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
    assert np.isfinite(model.admission_margin_).sum() == 60 and model.n_samples_seen_ == 300
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


def test_accuracy():
    # Not a benchmark: a wrong sign, rate or margin falls far below these.
    X, y = make_moons(1500, noise=0.15, random_state=0)
    for rule, least in [("olsvm", 0.97), ("olsvm-reg", 0.97), ("norma", 0.94), ("pegaz", 0.95)]:
        rate = "inverse" if rule == "pegaz" else "sqrt"
        model = KernelSGDClassifier(rule=rule, C=1000.0 if rule == "pegaz" else 10.0, gamma=2.0, learning_rate=rate)
        model.set_params(random_state=0).fit(X[:1000], y[:1000])
        assert model.score(X[1000:], y[1000:]) >= least, rule


# ---- failures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new_class", [False, True], ids=["", "new class"])
@pytest.mark.parametrize("bad", BAD_CHUNKS)
@pytest.mark.parametrize("rule", RULES)
def test_a_bad_chunk_leaves_no_trace(rule, bad, new_class):
    X, y = blobs(120, 3)
    for average in (False, True):
        options = {"rule": rule, "gamma": 0.3, "C": 5.0, "average": average, "multi_class": "ovr"}
        model = stream(KernelSGDClassifier(**options), X[:60], y[:60] % 2, classes=[0, 1])
        before = snapshot(model)
        chunk = BAD_CHUNKS[bad](X[60:], y[60:] if new_class else y[60:] % 2)
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(chunk[0], chunk[1], **chunk[2])
        assert snapshot(model) == before
        whole = np.where(np.arange(120) < 60, y % 2, y)
        same(model.partial_fit(X[60:], y[60:]), stream(KernelSGDClassifier(**options), X, whole, classes=[0, 1]))


@pytest.mark.parametrize("new_class", [False, True], ids=["", "new class"])
@pytest.mark.parametrize("mood", MOODS)
@pytest.mark.parametrize("rule", RULES)
def test_a_bad_kernel_leaves_no_trace(rule, mood, new_class):
    X, y = blobs(150, 3)
    labels = np.where(np.arange(150) < 60, y % 2, y) if new_class else y % 2
    options = {"rule": rule, "C": 0.3, "average": rule == "olsvm"}
    one = stream(KernelSGDClassifier(kernel=MoodyKernel(), **options), X, labels, [60], classes=[0, 1])
    for patience in (0, 1, 3, 5):
        model = stream(KernelSGDClassifier(kernel=MoodyKernel(), **options), X[:60], labels[:60], classes=[0, 1])
        before = snapshot(model)
        for _ in range(2):
            model.kernel.sulk(MOODS[mood], patience)
            with pytest.raises((ZeroDivisionError, ValueError, TypeError, SystemExit)):
                model.partial_fit(X[60:], labels[60:])
            assert snapshot(model) == before
        model.kernel.mood = None
        same(one, model.partial_fit(X[60:], labels[60:]))


def test_a_first_chunk_that_fails_is_none():
    X, y = blobs(60, 2)
    model = KernelSGDClassifier(kernel=MoodyKernel())
    for learn in (lambda: model.partial_fit(X, y, [0, 1]), lambda: model.fit(X, y)):
        model.kernel.sulk(MOODS["raises"], 0)
        with pytest.raises(ZeroDivisionError):
            learn()
        assert vars(model) == model.get_params()
        with pytest.raises(NotFittedError):
            model.predict(X)
    model.kernel.mood = None
    model.partial_fit(X, y, [0, 1])
    assert model.n_samples_seen_ == 60
    before = snapshot(model)
    model.kernel.sulk(MOODS["NaN"], 2)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, 1 - y)
    assert snapshot(model) == before


@pytest.mark.parametrize(
    ("options", "arguments", "match"),
    [
        ({"kernel": "precomputed"}, {"classes": [0, 1]}, "partial_fit"),
        ({"class_weight": "balanced"}, {"classes": [0, 1]}, "balanced"),
        ({}, {}, "classes must be passed"),
        ({}, {"classes": [0]}, "at least two"),
        ({}, {"classes": [0, 0]}, "at least two"),
        ({"class_weight": {0: -1.0}}, {"classes": [0, 1]}, "class_weight"),
        ({"class_weight": {"1": 5.0}}, {"classes": [0, 1]}, "class_weight"),
        ({}, {"classes": [0.0, 1.0, np.nan]}, "NaN"),
        ({}, {"classes": [[0, 1], [2, 3]]}, "1d"),
    ],
)
def test_refused_by_the_first_partial_fit(options, arguments, match):
    model = KernelSGDClassifier(gamma=1.0, **options)
    with pytest.raises(AttributeError if "kernel" in options else ValueError, match=match):
        model.partial_fit(np.ones((3, 2)), [0, 0, 0], **arguments)
    assert vars(model) == model.get_params()


@pytest.mark.parametrize("rule", ["norma", "norma-literal", "pegaz"])
def test_no_bias_but_for_olsvm(rule):
    X, y = noisy(30, 3)
    model = KernelSGDClassifier(rule=rule, bias=True)
    for learn in (lambda: model.fit(X, y), lambda: model.partial_fit(X, y, [0, 1])):
        with pytest.raises(ValueError, match=f"bias=True needs rule='olsvm' or 'olsvm-reg'. Got rule='{rule}'"):
            learn()
        assert vars(model) == model.get_params()
    model.set_params(bias=False).partial_fit(X, y, [0, 1])
    before = snapshot(model)
    with pytest.raises(ValueError, match="bias=True needs"):
        model.set_params(bias=True).partial_fit(X, y)
    assert snapshot(model.set_params(bias=False)) == before


@pytest.mark.parametrize(
    "change",
    [
        *({"rule": "norma"}, {"average": True}, {"gamma": 2.0}, {"kernel": "linear"}, {"degree": 2}, {"coef0": 1.0}),
        {"multi_class": "ovr"},
    ],
    ids=str,
)
def test_a_stream_keeps_its_rule(change):
    X, y = noisy(60, 3)
    model = stream(KernelSGDClassifier(gamma=1.0), X, y)
    before = snapshot(model)
    (name,) = change
    with pytest.raises(ValueError, match=f"{name} cannot change"):
        model.set_params(**change).partial_fit(X, y)
    model.set_params(**KernelSGDClassifier(gamma=1.0).get_params())
    assert snapshot(model) == before


def test_what_may_change_in_a_stream():
    X, y = noisy(120, 3, seed=23)
    label = plus_minus(y)
    for rule in RULES:
        model = KernelSGDClassifier(rule=rule, gamma=0.7)
        K = kernel_matrix(model, X)
        model.partial_fit(X[:60], y[:60], [0, 1])
        twin = naive_kernel_sgd(K, label, order=range(60), **twin_rule(model))
        changes = {"C": 4.0, "learning_rate": "inverse", "bias": rule in BIASED, "decay_first": rule == "norma"}
        model.set_params(truncate=0, cache_size=1, n_jobs=2, class_weight={1: 2.0}, random_state=3, **changes)
        model.partial_fit(X[60:], y[60:])
        rest = naive_kernel_sgd(
            K, label, order=range(60, 120), start=60, state=twin, weight=1.0 + y, **twin_rule(model)
        )
        np.testing.assert_allclose(coefficients(model, 120), rest.coef, rtol=0, atol=1e-11)
        np.testing.assert_allclose(model.intercept_, rest.b, rtol=0, atol=1e-11)


@pytest.mark.parametrize("how", ["fit", "epoch", "stream"])
@pytest.mark.parametrize("C", [1e-100, 1e-30, 1e20, 1e40, 1e99])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", RULES)
def test_extreme_C(rule, dtype, C, how):
    X, y = noisy(60, 3, dtype=dtype)
    model = KernelSGDClassifier(rule=rule, C=C, gamma=0.7, random_state=0, n_epochs=1 + 2 * (how == "fit"), truncate=0)
    stream(model, X, y) if how == "stream" else model.fit(X, y)
    alpha = coefficients(model, 60)
    assert np.isfinite(alpha).all() and np.isfinite(model.intercept_).all()
    values = model.decision_function(X)
    assert np.isfinite(values).all()
    expected = kernel_matrix(model, X) @ alpha
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-4 * np.abs(alpha).sum())
    other = clone(model).set_params(C=2 * C)
    stream(other, X, y) if how == "stream" else other.fit(X, y)
    if C < 1 or rule == "norma":
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


def test_weights_of_one_class_only():
    X, y = blobs(60, 2)
    with pytest.raises(ValueError, match="sample_weight leaves fewer than two classes"):
        KernelSGDClassifier().fit(X, y, sample_weight=y.astype(float))
    X, y = blobs(60, 3)
    model = KernelSGDClassifier(gamma=1.0).fit(X, y, sample_weight=(y != 2) + 0.0)
    assert np.isfinite(model.decision_function(X)).all() and model.n_support_[2] == 0


# ---- Ctrl-C and other signals --------------------------------------------------------------------------


def check_usable(model, X, y):
    """A model after Ctrl-C: it predicts, its parts fit together, it can be saved and learn on."""
    model.kernel.mood = None
    values = model.decision_function(X)
    assert np.isfinite(values).all() and set(model.predict(X)) <= set(y.tolist())
    assert set(model.stop_reason_) <= {"interrupted", "pass"}, "no callback has stopped anything"
    assert (model.n_violations_ <= model.n_iter_).all()
    assert len(model.admission_margin_) == len(y)
    again = pickle.loads(pickle.dumps(model))
    same(model, again)
    for one in (again, model):
        one.partial_fit(X[:50], y[:50])
        assert np.isfinite(one.decision_function(X)).all()
    same(again, model)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("patience", [0, 1, 2, 4, 9])
@pytest.mark.parametrize("rule", RULES)
def test_interrupt_in_a_function(rule, patience, n_classes):
    X, y = blobs(300, n_classes)
    for how in ("fit", "epochs", "first chunk", "later chunk", "later chunk, new class"):
        model = KernelSGDClassifier(rule=rule, kernel=MoodyKernel(), C=0.1, random_state=0, average=patience == 2)
        model.set_params(n_epochs=1 if how == "fit" else 3)
        labels = y
        if how.startswith("later"):
            labels = y + (how.endswith("class") * (np.arange(300) > 200))
            model.partial_fit(X[:100], y[:100], range(n_classes))
        model.kernel.sulk(raises(KeyboardInterrupt), patience)
        with pytest.raises(KeyboardInterrupt):
            if how in ("fit", "epochs"):
                model.fit(X, y)
            else:
                model.partial_fit(X, labels, range(n_classes))
        check_usable(model, X, labels)


@pytest.mark.parametrize("rule", RULES)
def test_an_interrupted_model_is_that_of_the_steps_made(rule):
    X, y = blobs(300, 2)
    options = {"rule": rule, "C": 0.1, "random_state": 0}
    order = np.random.RandomState(0).permutation(300)
    for how in ("fit", "stream"):
        model = KernelSGDClassifier(kernel=MoodyKernel(), n_epochs=1, **options)
        model.kernel.sulk(raises(KeyboardInterrupt), 6)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y) if how == "fit" else model.partial_fit(X, y, [0, 1])
        rows = order if how == "fit" else np.arange(300)
        (steps,) = model.n_iter_
        assert 0 < steps < 300 and model.stop_reason_.tolist() == ["interrupted"]
        known = ~np.isnan(model.admission_margin_[rows])
        assert known.sum() == steps and known[:steps].all()
        part = KernelSGDClassifier(kernel=MoodyKernel(), **options).partial_fit(
            X[rows[:steps]], y[rows[:steps]], [0, 1]
        )
        expected = np.zeros(300)
        expected[rows[:steps]] = coefficients(part, steps)
        np.testing.assert_array_equal(coefficients(model, 300), expected)
        assert model.n_violations_ == part.n_violations_ and model.n_samples_seen_ == 300


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")
@pytest.mark.parametrize("how", ["fit", "stream"])
def test_a_signal_that_is_no_interrupt_leaves_no_trace(how):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30_000, 20)), rng.integers(0, 2, 30_000)
    model = KernelSGDClassifier(gamma=0.5).partial_fit(X[:100], y[:100], [0, 1])
    before = snapshot(model)

    def stop(*_):
        raise TimeoutError

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeoutError):
            model.fit(X, y) if how == "fit" else model.partial_fit(X, y)
            time.sleep(5)  # a machine so fast that it was done
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    if model.n_samples_seen_ == 100:
        assert snapshot(model) == before


def test_readers_wait_for_the_learner():
    X, y = noisy(6000, 5, seed=0, dtype=np.float32)
    alone = stream(KernelSGDClassifier(C=3.0, gamma=0.5), X, y)
    model = stream(KernelSGDClassifier(C=3.0, gamma=0.5), X[:500], y[:500])
    done, seen = threading.Event(), []

    def read():
        while not done.is_set():
            seen.append(model.decision_function(X[:5]))

    reader = threading.Thread(target=read)
    reader.start()
    model.partial_fit(X[500:], y[500:])
    done.set()
    reader.join()
    same(alone, model)
    assert seen and all(np.isfinite(values).all() for values in seen)


# ---- files ---------------------------------------------------------------------------------------------


def put(key, at, value):
    return lambda s: s[key].__setitem__(at, value)


def cut(key):
    return lambda s: s.__setitem__(key, s[key][:-1].copy())


def mean(position, value):
    """A part of the averages replaced."""

    def change(s):
        for k, one in enumerate(s["averages"]):
            parts = list(one)
            parts[position] = value(parts[position])
            s["averages"][k] = tuple(parts)

    return change


HOSTILE = {
    "class": put("whole", 0, -(2**40)),
    "far class": put("whole", 0, 2**61),
    "far other class": put("whole", 1, 2**61),
    "other class": put("whole", 1, -2),
    "same classes": lambda s: s["whole"].__setitem__(1, s["whole"][0]),
    "steps": put("whole", 2, -1),
    "violations": put("whole", 3, -1),
    "kernel values": put("whole", 4, -1),
    "notes": put("whole", 5, 0),
    "reason": put("whole", 6, 99),
    "whole": cut("whole"),
    "scale": put("real", 0, 0.0),
    "negative scale": put("real", 0, -1.0),
    "scale NaN": put("real", 0, np.nan),
    "bias": put("real", 1, np.inf),
    "scale of the averages": put("real", 2, 0.0),
    "dropped": put("real", 3, np.nan),
    "largest": put("real", 4, np.nan),
    "seconds": put("real", 5, np.inf),
    "real": cut("real"),
    "row": put("row", 0, 10**12),
    "negative row": put("row", 0, -1),
    "rows": cut("row"),
    "ids": cut("id"),
    "code": put("code", 0, 7),
    "negative code": put("code", 0, -1),
    "codes": cut("code"),
    "NaN": put("a", 0, np.nan),
    "infinity": put("a", -1, -np.inf),
    "coefficients": cut("a"),
    "trace": cut("trace"),
    "average short": mean(3, lambda held: held[:-1].copy()),
    "average NaN": mean(3, lambda held: held * np.nan),
    "average scale": mean(1, lambda _: math.inf),
    "average bias": mean(2, lambda _: math.nan),
    "average from": mean(0, lambda _: -5),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_files_are_refused(how):
    X, y = blobs(60, 2)
    state = stream(KernelSGDClassifier(gamma=1.0, average=True), X, y)._online.__getstate__()
    SgdMachines.__new__(SgdMachines).__setstate__(copy.deepcopy(state))
    for machine in state["states"]:
        HOSTILE[how](machine)
    with pytest.raises(ValueError, match="damaged"):
        SgdMachines.__new__(SgdMachines).__setstate__(state)


def test_files_of_another_kind_are_refused():
    X, y = blobs(60, 2)
    state = stream(KernelSGDClassifier(gamma=1.0, average=True), X, y)._online.__getstate__()
    for key in state["states"][0]:
        for value in (None, np.zeros(3, dtype=np.float32), "x", [1, 2]):
            odd = copy.deepcopy(state)
            odd["states"][0][key] = value
            with pytest.raises((ValueError, TypeError, RuntimeError)):
                SgdMachines.__new__(SgdMachines).__setstate__(odd)
        odd = copy.deepcopy(state)
        del odd["states"][0][key]
        with pytest.raises(KeyError):
            SgdMachines.__new__(SgdMachines).__setstate__(odd)


def test_a_file_without_rows_is_refused():
    X, y = blobs(60, 2)
    saved = KernelSGDClassifier(gamma=1.0).fit(X, y)._online.__getstate__()
    for rows in (None, saved["rows"][:-1]):
        with pytest.raises(ValueError, match="damaged"):
            SgdMachines.__new__(SgdMachines).__setstate__({**saved, "rows": rows})


def test_the_shape_is_that_of_the_fit():
    X, y = blobs(90, 3)
    model = KernelSGDClassifier(multi_class="ovr", gamma=1.0, random_state=0).fit(X, y)
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(multi_class="ovo").decision_function(X), before)


def test_a_model_keeps_only_its_rows():
    X, y = noisy(3000, 3, seed=24)
    model = KernelSGDClassifier(gamma=0.7, C=10.0, random_state=0).fit(X, y)
    assert len(model.support_) < 2000 and model._online.model.n_stored == len(model.support_)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    model.partial_fit(X[:500] + 0.01, y[:500])
    assert model._online.model.n_stored == len(model.support_)
