"""KernelSGDClassifier by hand, and step for step with the naive twin."""

import copy
from itertools import product

import numpy as np
import pytest

from hingeline import KernelSGDClassifier

from .data import noisy, plus_minus, some_weights
from .online import SGD_VARIANTS, STRICT, coefficients, same
from .oracle.naive_kernel_sgd import RATES, naive_kernel_sgd
from .private import kernel_matrix


def twin_arguments(model):
    """Arguments of the twin: those of a model."""
    return {
        "variant": model.variant.removesuffix("_literal"),
        "literal": model.variant.endswith("_literal"),
        "C": model.C,
        "learning_rate": model.learning_rate,
        "decay_first": model.decay_first,
        "fit_intercept": model.fit_intercept,
    }


def switches(variant):
    """Intercept, and order of decay for NORMA."""
    for bias, decay_first in product([False, True], repeat=2):
        if not decay_first or variant == "norma":
            yield {"fit_intercept": bias, "decay_first": decay_first}


#: Values of `average`.
MEANS = [False, True, "all"]

# ---- by hand -------------------------------------------------------------------------------------------

LINE = np.array([[1.0], [-1.0], [0.5]]), np.array([1, 0, 0])  # x = 1, -1, 1/2; y = +1, -1, -1


def on_the_line(variant, **options):
    """Coefficients of one pass with the linear kernel, rate C/t and C = 2: eta = 2, 1, 2/3."""
    model = KernelSGDClassifier(variant=variant, C=2.0, learning_rate="inverse", kernel="linear", **options)
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
    a, model = on_the_line("olsvm", fit_intercept=True)
    np.testing.assert_allclose(a, [2.0, -1.0, -2 / 3])
    assert model.admission_margin_.tolist() == [0.0, 0.0, -2.5]
    np.testing.assert_allclose(model.intercept_, [1 / 3])


def test_olsvm_reg_literal_by_hand():
    # List 3a with the rate C sqrt(2/t): t = 1: rho = sqrt(2), a_0 = 2 sqrt(2).  t = 2: v = 2 sqrt(2) > 1, a_1 = 0.
    # t = 3: v = -sqrt(2), rho = sqrt(2/3).
    a = {}
    for variant in ("olsvm_reg", "olsvm_reg_literal"):
        model = KernelSGDClassifier(variant=variant, C=2.0, kernel="linear")
        a[variant] = coefficients(model.partial_fit(*LINE, classes=[0, 1]), 3)
    np.testing.assert_allclose(a["olsvm_reg"], [2.0, 0.0, -2 * np.sqrt(2 / 3)])
    np.testing.assert_allclose(a["olsvm_reg_literal"], [2 * np.sqrt(2), 0.0, -2 * np.sqrt(2 / 3)])


def test_olsvm_reg_by_hand():
    # rho = 1, 1/2, 1/3.  t = 1: a_0 = C.  t = 2: v = 2 > 1, a_1 stays 0.  t = 3: v = -1, a_2 = (-2)/3.
    a, model = on_the_line("olsvm_reg")
    np.testing.assert_allclose(a, [2.0, 0.0, -2 / 3])
    assert model.n_violations_.tolist() == [2]


def test_norma_by_hand():
    # phi = 0, 1/2, 2/3.  t = 1: a_0 = 2.  t = 2: v = 2 > 1, a_0 = 1.  t = 3: v = -1/2, a_0 = 2/3, a_2 = -2/3.
    for variant in ("norma", "norma_literal"):
        a, model = on_the_line(variant)
        np.testing.assert_allclose(a, [2 / 3, 0.0, -2 / 3], rtol=1e-15)
        assert model.admission_margin_.tolist() == [0.0, 2.0, -0.5]
    # Decay first: at t = 2 f is x, v = 1 is a violation: a_0 = 1, a_1 = -1; t = 3: v = -(2/3) (1/2 + 1/2).
    a, model = on_the_line("norma", decay_first=True)
    np.testing.assert_allclose(a, [2 / 3, -2 / 3, -2 / 3], rtol=1e-15)
    np.testing.assert_allclose(model.admission_margin_, [0.0, 1.0, -2 / 3], rtol=1e-15)
    assert model.n_violations_.tolist() == [3]


def test_intercepts_of_norma_and_pegaz_by_hand():
    # t = 1: b = 2, a_0 = 2. t = 2: v = -(-2 + 2) = 0, a_0 = 1, a_1 = -1, b = 1. t = 3: v = -(1/2 + 1/2 + 1) = -2;
    # all coefficients shrink by 2/3, a_2 = -2/3, and b = 1 - 2/3 does not shrink.
    for variant in ("norma", "norma_literal"):
        a, model = on_the_line(variant, fit_intercept=True)
        np.testing.assert_allclose(a, [2 / 3, -2 / 3, -2 / 3], rtol=1e-15)
        assert model.admission_margin_.tolist() == [0.0, 0.0, -2.0]
        np.testing.assert_allclose(model.intercept_, [1 / 3], rtol=1e-15)
    # The rate of the step counts before the margin: t = 2: v = -(-1 + 2); t = 3: v = -(2/3 + 1).
    for variant, first in (("norma", True), ("pegaz", False)):
        a, model = on_the_line(variant, fit_intercept=True, decay_first=first)
        np.testing.assert_allclose(a, [2 / 3, -2 / 3, -2 / 3], rtol=1e-15)
        np.testing.assert_allclose(model.admission_margin_, [0.0, -1.0, -5 / 3], rtol=1e-15)
        np.testing.assert_allclose(model.intercept_, [1 / 3], rtol=1e-15)


def test_means_over_all_steps_by_hand():
    # Coefficients of the first sample are 2, 2, 2, of the last 0, 0, -2/3.
    np.testing.assert_allclose(on_the_line("olsvm", average="all")[0], [2.0, 0.0, -2 / 9], rtol=1e-15)
    # Those of NORMA are 2, 1, 2/3 and 0, 0, -2/3; with an intercept also 0, -1, -2/3, and b is 2, 1, 1/3.
    np.testing.assert_allclose(on_the_line("norma", average="all")[0], [11 / 9, 0.0, -2 / 9], rtol=1e-15)
    a, model = on_the_line("norma", average="all", fit_intercept=True)
    np.testing.assert_allclose(a, [11 / 9, -5 / 9, -2 / 9], rtol=1e-15)
    np.testing.assert_allclose(model.intercept_, [10 / 9], rtol=1e-15)


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
        "olsvm_reg": ([1.0, 0.5 + 0.25 * 0.5], 3),
        "pegaz": ([2 / 4, 2 / 4], 4),
    }
    for variant, (size, violations) in steps.items():
        model = KernelSGDClassifier(variant=variant, C=1.0, kernel="precomputed", learning_rate="inverse", n_epochs=2)
        model.set_params(random_state=0).fit(K, [0, 1])
        assert np.abs(coefficients(model, 2)[order]).tolist() == size, variant
        assert model.n_violations_.tolist() == [violations], variant
    # Counts 1, then v = (1/2) 1 and (1/3) 1: a margin of exactly 1 comes with C = 2 at t = 2.
    twice = KernelSGDClassifier(variant="norma", kernel="linear", C=2.0, learning_rate="inverse", decay_first=True)
    twice.partial_fit([[1.0], [1.0]], [1, 1], [0, 1])
    assert twice.admission_margin_.tolist() == [0.0, 1.0] and twice.n_violations_.tolist() == [2]
    late = KernelSGDClassifier(variant="norma", kernel="linear", C=1.0, learning_rate="inverse")
    late.partial_fit([[1.0], [1.0]], [1, 1], [0, 1])
    assert late.admission_margin_.tolist() == [0.0, 1.0] and late.n_violations_.tolist() == [2]


def test_the_first_sample_is_wiped():
    # phi = 0 at t = 1 and t = 2 with the rate of the paper.
    X = noisy(2, 3)[0]
    model = KernelSGDClassifier(variant="norma", C=1.0, gamma=1.0).partial_fit(X, [0, 1], [0, 1])
    assert model.support_.tolist() == [1] and model.dual_coef_.tolist() == [[1.0]]
    assert model.n_violations_.tolist() == [2]


# ---- the twin ------------------------------------------------------------------------------------------


def agree(model, twin, n):
    """A two-class model is what the twin is."""
    C = model.C
    np.testing.assert_allclose(coefficients(model, n), twin.coef, rtol=0, atol=1e-11 * C)
    np.testing.assert_allclose(model.intercept_, twin.b, rtol=0, atol=1e-11 * C)
    assert model.n_violations_.tolist() == [twin.violations]
    assert model.n_iter_.tolist() == [twin.steps]


@pytest.mark.parametrize("C", [0.3, 2.0, 50.0])
@pytest.mark.parametrize("learning_rate", list(RATES))
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_fit_is_the_twin(variant, learning_rate, C):
    n = 130
    X, y = noisy(n, 3, seed=1)
    label = plus_minus(y)
    K = kernel_matrix(KernelSGDClassifier(gamma=0.7), X)
    order = {weighted: np.random.RandomState(3).permutation(n) for weighted in (False, True)}
    weights = {False: np.ones(n), True: some_weights(n)}
    order[True] = np.random.RandomState(3).permutation(np.flatnonzero(weights[True]))
    for chosen, average, n_epochs, weighted in product(switches(variant), MEANS, [1, 3], [False, True]):
        options = {"variant": variant, "learning_rate": learning_rate, "C": C, "n_epochs": n_epochs, "average": average}
        model = KernelSGDClassifier(**options, **chosen, gamma=0.7, random_state=3, truncate=0)
        model.fit(X, y, sample_weight=weights[weighted] if weighted else None)
        twin = naive_kernel_sgd(
            K,
            label,
            n_epochs=n_epochs,
            average=average,
            weight=weights[weighted],
            order=order[weighted],
            **twin_arguments(model),
        )
        agree(model, twin, n)
        scale = C * (1 + np.abs(twin.coef).sum() / C)
        np.testing.assert_allclose(model.decision_function(X), twin.outputs, rtol=0, atol=1e-12 * scale)
        # Whether a sample was a violation when it came for the first time is what its margin says.
        margins = model.admission_margin_[order[weighted]]
        hit = margins < 1 if variant in STRICT else margins <= 1
        near = np.abs(margins - 1) < 1e-9
        assert (hit | near).sum() >= sum(twin.violated[: len(margins)]) >= (hit & ~near).sum()
        assert np.isnan(model.admission_margin_[weights[weighted] == 0]).all()
        if variant == "olsvm_reg" and not average:
            size = label * coefficients(model, n)
            assert (size >= 0).all() and (size <= C * weights[weighted]).all()


def trajectory(model, K, y, order, start=0, state=None):
    """What the steps of a model leave, one after another: coefficients and intercept, by the twin."""
    for i in order:
        state = naive_kernel_sgd(K, y, order=[i], start=start, state=state, **twin_arguments(model))
        start = state.steps
        yield state.coef.copy(), state.b, state


@pytest.mark.parametrize("average", [True, "all"])
@pytest.mark.parametrize("learning_rate", list(RATES))
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_averages_of_a_stream(variant, learning_rate, average):
    # The mean over the steps behind the last power of two but one: a half to three quarters of all.
    n = 40
    X, y = noisy(n, 3, seed=2)
    for chosen in switches(variant):
        options = {"variant": variant, "average": average, "learning_rate": learning_rate, **chosen}
        model = KernelSGDClassifier(C=3.0, gamma=0.7, **options)
        states = list(trajectory(model, kernel_matrix(model, X), plus_minus(y), range(n)))
        for t in range(1, n + 1):
            model.partial_fit(X[t - 1 : t], y[t - 1 : t], [0, 1])
            begin = 2 ** (t.bit_length() - 2) if t > 1 and average != "all" else 0
            mean = np.mean([coef for coef, _, _ in states[begin:t]], axis=0)
            np.testing.assert_allclose(coefficients(model, n), mean, rtol=0, atol=1e-12)
            np.testing.assert_allclose(model.intercept_, np.mean([b for _, b, _ in states[begin:t]]), atol=1e-12)


@pytest.mark.parametrize("average", [True, "all"])
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_averages_from_fit_to_stream(variant, average):
    # The window of a fit gives way when two of the stream have begun, at 64 and 128.
    n, known = 170, 20
    X, y = noisy(n, 3, seed=3)
    model = KernelSGDClassifier(variant=variant, average=average, C=3.0, gamma=0.7, n_epochs=2, random_state=0)
    order = np.random.RandomState(0).permutation(known)
    steps = [*order, *order, *range(known, n)]
    states = list(trajectory(model, kernel_matrix(model, X), plus_minus(y), steps))
    model.fit(X[:known], y[:known])
    for t in range(40, len(steps) + 1):
        begin = 0 if average == "all" else 20 if t < 128 else 64
        mean = np.mean([coef for coef, _, _ in states[begin:t]], axis=0)
        np.testing.assert_allclose(coefficients(model, n), mean, rtol=0, atol=1e-12)
        if t < len(steps):
            model.partial_fit(X[t - 20 : t - 19], y[t - 20 : t - 19])


@pytest.mark.parametrize("average", [False, True], ids=["", "average"])
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_fit_then_partial_fit_is_the_twin(variant, average):
    n, known = 200, 120
    X, y = noisy(n, 3, seed=4)
    for chosen in switches(variant):
        model = KernelSGDClassifier(variant=variant, C=2.0, gamma=0.7, n_epochs=2, random_state=0, **chosen)
        K, label = kernel_matrix(model, X), plus_minus(y)
        if average:  # means only show; what goes on are the last coefficients
            model.set_params(average=True).fit(X[:known], y[:known])
        model.fit(X[:known], y[:known])
        order = np.random.RandomState(0).permutation(known)
        twin = naive_kernel_sgd(K, label, n_epochs=2, order=order, **twin_arguments(model))
        if not average:
            agree(model, twin, n)
        other = copy.deepcopy(model)
        model.partial_fit(X[known:], y[known:])
        same(model, other.partial_fit(X[known:150], y[known:150]).partial_fit(X[150:], y[150:]))
        rest = naive_kernel_sgd(K, label, order=range(known, n), start=twin.steps, state=twin, **twin_arguments(model))
        assert model.n_violations_[0] == twin.violations + rest.violations and model.n_iter_[0] == 320
        if not average:
            np.testing.assert_allclose(coefficients(model, n), rest.coef, rtol=0, atol=1e-11)


@pytest.mark.parametrize("average", MEANS)
@pytest.mark.parametrize(("variant", "decay_first"), [("norma", False), ("norma", True), ("norma_literal", False)])
def test_a_scale_that_shrinks_for_long(variant, decay_first, average):
    # The product of the decays is about exp(-2 sqrt(2 T)): below 2^-256 after 4,000 steps, twice after 16,000.
    n, n_epochs, C = 50, 500, 10.0
    X, y = noisy(n, 3, seed=5)
    model = KernelSGDClassifier(variant=variant, decay_first=decay_first, average=average, C=C, gamma=0.7, truncate=0)
    model.set_params(n_epochs=n_epochs, random_state=1).fit(X, y)
    t = np.arange(3, n * n_epochs + 1)
    assert np.log2(1 - np.sqrt(2 / t)).sum() < -2 * 256
    order = np.random.RandomState(1).permutation(n)
    K = kernel_matrix(model, X)
    twin = naive_kernel_sgd(K, plus_minus(y), n_epochs=n_epochs, order=order, average=average, **twin_arguments(model))
    agree(model, twin, n)
    np.testing.assert_allclose(coefficients(model, n), twin.coef, rtol=1e-9, atol=1e-100)


@pytest.mark.parametrize(
    "kernel", [{"kernel": "linear"}, {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}], ids=str
)
@pytest.mark.parametrize("variant", SGD_VARIANTS)
def test_other_kernels_are_the_twin(variant, kernel):
    n = 120
    X, y = noisy(n, 3, seed=20)
    model = KernelSGDClassifier(variant=variant, C=0.5, n_epochs=2, random_state=0, truncate=0, **kernel).fit(X, y)
    order = np.random.RandomState(0).permutation(n)
    K = kernel_matrix(model, X)
    twin = naive_kernel_sgd(K, plus_minus(y), n_epochs=2, order=order, **twin_arguments(model))
    np.testing.assert_allclose(coefficients(model, n), twin.coef, rtol=0, atol=1e-11)
    assert model.n_violations_.tolist() == [twin.violations]
    np.testing.assert_allclose(model.decision_function(X), K @ twin.coef, rtol=1e-9, atol=1e-9)
    if kernel["kernel"] == "linear":
        np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], model.decision_function(X), rtol=1e-9)


def test_what_may_change_in_a_stream():
    X, y = noisy(120, 3, seed=23)
    label = plus_minus(y)
    for variant in SGD_VARIANTS:
        model = KernelSGDClassifier(variant=variant, gamma=0.7)
        K = kernel_matrix(model, X)
        model.partial_fit(X[:60], y[:60], [0, 1])
        twin = naive_kernel_sgd(K, label, order=range(60), **twin_arguments(model))
        changes = {
            "C": 4.0,
            "learning_rate": "inverse",
            "fit_intercept": True,
            "decay_first": variant == "norma",
        }
        model.set_params(truncate=0, cache_size=1, n_jobs=2, class_weight={1: 2.0}, random_state=3, **changes)
        model.partial_fit(X[60:], y[60:])
        rest = naive_kernel_sgd(
            K, label, order=range(60, 120), start=60, state=twin, weight=1.0 + y, **twin_arguments(model)
        )
        np.testing.assert_allclose(coefficients(model, 120), rest.coef, rtol=0, atol=1e-11)
        np.testing.assert_allclose(model.intercept_, rest.b, rtol=0, atol=1e-11)
