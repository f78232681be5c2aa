"""LASVC step for step with the naive twin."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from hingeline import LASVC
from hingeline.online.lasvm import SOLVER_OPTIONS

from .data import noisy, plus_minus, some_weights
from .online import (
    LIVELY,
    ON_THE_EXPANSION,
    SOON,
    VARIANTS,
    WITHOUT_BIAS,
    Lookup,
    after_passes,
    coefficients,
    same,
    stream,
)
from .oracle.naive_lasvm import NaiveLasvm
from .private import kernel_matrix, machine_state


def twin_of(model, K, y, weights=None, kind=NaiveLasvm):
    """The twin with the parameters of a two-class model."""
    c = model.C * (np.ones(len(y)) if weights is None else weights)
    options = {**SOLVER_OPTIONS, **(model.solver_options or {})}
    period, left = options["clean_period"], options["max_non_sv"]
    if period is None:
        period, left = 256, 10**9
    return kind(
        K,
        plus_minus(y),
        c,
        variant=model.variant,
        C=model.C,
        s=model.s,
        tau=options["tau"],
        clean_period=period,
        max_non_sv=left,
        warm_sv=options["warm_sv"],
        bounded=options["reprocess"] == "bounded",
    )


def agree(model, twin, n):
    """A two-class model is in the state of the twin."""
    alpha = np.zeros(n)
    alpha[twin.ids] += twin.alpha
    np.testing.assert_array_equal(np.sort(model.support_), np.flatnonzero(alpha))
    np.testing.assert_allclose(coefficients(model, n), alpha, rtol=1e-9, atol=1e-9 * model.C)
    assert model.n_iter_.tolist() == [twin.n_steps]
    assert model.n_expansion_.tolist() == [twin.live.sum()]
    for name in ("admitted", "cleaned", "skipped"):
        assert model.ramp_counts_[name].tolist() == [getattr(twin, name).tolist()], name
    assert model.n_kernel_evals_ == twin.kernel_evals
    assert model.n_kernel_needed_ == twin.kernel_needed
    scale = np.abs(alpha).sum() + model.C
    np.testing.assert_allclose(model.duality_gap_, twin.gap, rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(model.dual_objective_, twin.dual, rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(model.intercept_, twin.b, rtol=1e-9, atol=1e-9)
    margins = np.full(n, np.nan)
    margins[list(twin.margins)] = list(twin.margins.values())
    return margins


KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 1.0},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 1.0},
}

SETTINGS = [
    {"C": 1.0},
    {"C": 5.0, "s": -0.5, "solver_options": SOON},
    {"C": 0.1, "s": 0.3, "solver_options": {"clean_period": 40, "max_non_sv": 0, "warm_sv": 0}},
    {"C": 100.0, "s": -1.0, "solver_options": {"clean_period": None, "warm_sv": 20}},
]
PAPER = {**LIVELY, "solver_options": {**SOON, "reprocess": "paper"}}


#: Kernel, setting, weighted: all settings with the RBF kernel, one with weights and with the other kernels, which
#: settings do not reach.
CASES = [
    *itertools.product(["rbf"], SETTINGS, [False]),
    ("rbf", SETTINGS[1], True),
    *itertools.product(["linear", "poly"], SETTINGS[1:2], [False]),
]


def streams():
    for reprocess, variant, (kernel, setting, weighted) in itertools.product(["bounded", "paper"], WITHOUT_BIAS, CASES):
        slow = setting is SETTINGS[-1] and reprocess == "bounded" and variant != "nc"
        if not slow:  # the twin needs seconds
            yield reprocess, variant, kernel, setting, weighted


@pytest.mark.parametrize("reprocess, variant, kernel, setting, weighted", [*streams()])
def test_stream_is_the_twin(reprocess, variant, kernel, setting, weighted):
    n = 270 if setting is SETTINGS[-1] else 150  # there the dead go after 256 visits
    X, y = noisy(n, 3, seed=1)
    weights = some_weights(n) if weighted else None
    setting = {**setting, "solver_options": {**setting.get("solver_options", {}), "reprocess": reprocess}}
    model = LASVC(variant=variant, **setting, **KERNELS[kernel])
    K = kernel_matrix(model, X)
    twin = twin_of(model, K, y, weights)
    stream(model, X, y, weights=weights)
    last = n - 1 if weights is None else np.flatnonzero(weights)[-1]
    twin.learn(range(last))
    target = twin.target
    margins = agree(model, twin.learn([last]), n)
    np.testing.assert_allclose(model.duality_gap_target_, target, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.admission_margin_, margins, rtol=1e-8, atol=1e-8)
    called = LASVC(variant=variant, **setting, kernel=Lookup(K))
    same(model, stream(called, np.arange(n)[:, None] / 1.0, y, [n // 2], weights))


class TieAware(NaiveLasvm):
    """Records whether one of its choices depended on rounding errors. After a pair of steps two gradients are equal up
    to rounding, so LASVM makes such choices often."""

    tie = False

    def chosen(self, can, order):
        if not len(can):
            return None
        order = order[can]
        at = int(np.argmin(order))
        rest = np.delete(order, at)
        self.tie |= len(rest) > 0 and rest.min() - order[at] < 1e-9 * (1 + abs(order[at]))
        return int(can[at])

    def lowest(self):
        return self.chosen(np.flatnonzero(self.live & (self.alpha > self.lo)), self.g)

    def highest(self):
        return self.chosen(np.flatnonzero(self.live & (self.alpha < self.hi)), -self.g)

    def take_over(self, model):
        """Become what a two-class model is."""
        state = machine_state(model)
        self.alpha, self.g, self.lo, self.hi = (state[key].copy() for key in ("alpha", "g", "lo", "hi"))
        self.ids, self.live, self.zone = state["id"].copy(), ~state["dead"], state["zone"]
        self.g[~self.live] = np.nan
        self.lo[~self.live] = self.hi[~self.live] = 0.0
        self.flagged = np.zeros(len(self.ids), dtype=bool)
        self.share, self.lag, self.c_now[self.ids] = state["share"], state["lag"], np.abs(state["box"])
        self.removed = dict(zip((-1, 1), state["removed"], strict=True))
        self.b, self.tie = model.intercept_[0], False


@pytest.mark.parametrize("kernel, setting, weighted", CASES)
def test_every_visit_is_the_twin(kernel, setting, weighted):
    # LASVM: from the same state to the same state, visit after visit, unless a choice hangs on rounding errors.
    n = 150
    X, y = noisy(n, 3, seed=1)
    weights = some_weights(n) if weighted else np.ones(n)
    model = LASVC(variant="lasvm", **setting, **KERNELS[kernel])
    twin = twin_of(model, kernel_matrix(model, X), y, weights, TieAware)
    compared = 0
    for k in range(n):
        if k:
            twin.take_over(model)
        model.partial_fit(X[k : k + 1], y[k : k + 1], [0, 1], sample_weight=weights[k : k + 1])
        twin.learn([k])
        if twin.tie:
            twin.n_steps, twin.kernel_needed = model.n_iter_[0], model.n_kernel_needed_
            twin.admitted, twin.cleaned, twin.skipped = (
                model.ramp_counts_[name][0].copy() for name in ("admitted", "cleaned", "skipped")
            )
            continue
        compared += 1
        agree(model, twin, n)
        if weights[k]:
            np.testing.assert_allclose(model.admission_margin_, twin.margins[k], rtol=1e-8, atol=1e-8)
    assert compared > 50


@pytest.mark.parametrize("finish", [False, True], ids=["", "finish"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("variant", WITHOUT_BIAS)
def test_epochs_are_the_twin(variant, weighted, finish):
    n, seed = 200, 3
    X, y = noisy(n, seed=2)
    weights = some_weights(n, 1) if weighted else np.ones(n)
    model = LASVC(variant=variant, **PAPER, n_epochs=3, tol=1e-5 if finish else None, random_state=seed)
    twin = twin_of(model, kernel_matrix(model, X), y, weights)
    model.fit(X, y, sample_weight=weights)
    rng = np.random.RandomState(seed)
    order = rng.permutation(np.flatnonzero(weights))
    for _ in range(3):
        twin.learn(order)
        order = rng.permutation(order)
    steps = twin.n_steps
    if finish:
        twin.finish(1e-5)
        # The dual that LASVC compares with is up to 256 steps old, so it may go on for longer.
        assert steps < twin.n_steps <= model.n_iter_[0]
        assert model.duality_gap_[0] <= 1e-5 * (model.dual_objective_[0] + model.duality_gap_[0])
        np.testing.assert_allclose(model.dual_objective_, twin.dual, rtol=1e-4)
    else:
        agree(model, twin.end(), n)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1.0, 300.0])
@pytest.mark.parametrize("variant", WITHOUT_BIAS)
def test_fits_by_the_default_rule_are_the_twin(variant, C):
    n, seed = 200, 3
    X, y = noisy(n, seed=2)
    options = {"variant": variant, "C": C, "gamma": 1.0, "solver_options": {"clean_period": 48}}
    model = LASVC(**options, random_state=seed).fit(X, y)
    twin = twin_of(model, kernel_matrix(model, X), y).learn(np.random.RandomState(seed).permutation(n))
    twin.settle_last()
    assert model.effective_C_[0] == C * twin.share < 300
    agree(model, twin.end(), n)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_finishing_on_the_expansion_is_the_twin(C, weighted):
    # LASVM: from the same state to the same state, step after step, unless a choice hangs on rounding errors.
    n = 150
    X, y = noisy(n, seed=2)
    weights = some_weights(n, 1) if weighted else np.ones(n)
    options = {"variant": "lasvm", "C": C, "gamma": 1.0, "random_state": 0}
    passed = before = after_passes(LASVC(**options, **ON_THE_EXPANSION), X, y, sample_weight=weights)
    K, compared = kernel_matrix(before, X), 0
    for steps in range(1, 41):
        twin = twin_of(before, K, y, weights, TieAware)
        twin.take_over(before)
        twin.finish(0.0, most=1)
        with pytest.warns(ConvergenceWarning, match="'max_iter'"):
            model = LASVC(**options, **ON_THE_EXPANSION, tol=0.0, max_iter=steps).fit(X, y, sample_weight=weights)
        assert model.n_iter_[0] - before.n_iter_[0] == 1
        assert model.n_kernel_evals_ == passed.n_kernel_evals_  # of the evicted examples nothing is computed
        before = model
        if twin.tie:
            continue
        compared += 1
        alpha = np.zeros(n)
        alpha[twin.ids] = twin.alpha
        np.testing.assert_allclose(coefficients(model, n), alpha, rtol=1e-9, atol=1e-9 * C)
        for name, value in (("intercept", twin.b), ("duality_gap", twin.gap), ("dual_objective", twin.dual)):
            np.testing.assert_allclose(getattr(model, f"{name}_"), value, rtol=1e-9, atol=1e-9, err_msg=name)
    assert compared > 10


@pytest.mark.parametrize("C", [1.0, 10.0])
def test_finishing_is_no_worse_than_as_printed(C):
    # The printed rule evicts while it finishes and stops by tau.
    n = 150
    X, y = noisy(n, seed=4)
    options = {"variant": "lasvm", "C": C, "gamma": 1.0, "random_state": 0}
    printed = twin_of(LASVC(**options), rbf_kernel(X, gamma=1.0), y, kind=TieAware)
    printed.take_over(after_passes(LASVC(**options), X, y))
    printed.finish_as_printed()
    model = LASVC(**options, **ON_THE_EXPANSION, tol=1e-9).fit(X, y)
    assert 0.99 * model.dual_objective_[0] < printed.dual <= model.dual_objective_[0]
    assert abs(len(model.support_) - printed.n_sv) <= 0.05 * n


def clusters(n, seed):
    """A kernel matrix of 0, 1/2 and 1, with twins in it: the steps are sums of powers of two, and ties are exact."""
    rng = np.random.default_rng(seed)
    point = rng.integers(0, max(2, 3 * n // 4), n)
    cluster = rng.integers(0, 3, n)[point]
    return 0.5 * (point[:, None] == point) + 0.5 * (cluster[:, None] == cluster)


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(VARIANTS),
    st.integers(0, 10**6),
    st.integers(2, 14),
    st.sampled_from([0.25, 1.0, 8.0]),
    st.sampled_from([-1.0, 0.0, 0.75]),
    st.integers(1, 9),
    st.integers(0, 3),
    st.integers(1, 3),
)
def test_ties_are_the_twin(variant, seed, n, C, s, period, left, epochs):
    K = clusters(n, seed)
    rng = np.random.default_rng(seed)
    y, weights = rng.integers(0, 2, n), rng.choice([0.0, 0.5, 1.0, 2.0], n)
    y[:2], weights[:2] = [0, 1], 1.0
    model = LASVC(
        variant=variant,
        C=C,
        s=s,
        solver_options={"clean_period": period, "max_non_sv": left, "warm_sv": 2, "reprocess": "paper"},
        kernel=Lookup(K),
        n_epochs=epochs,
        random_state=seed,
    ).fit(np.arange(n)[:, None] / 1.0, y, sample_weight=weights)
    twin = twin_of(model, K, y, weights)
    random = np.random.RandomState(seed)
    order = random.permutation(np.flatnonzero(weights))
    for _ in range(epochs):
        twin.learn(order)
        order = random.permutation(order)
        g = twin.g[twin.live]
        if not np.array_equal(np.rint(g * 2.0**40), g * 2.0**40):
            return  # from here on sums are rounded
    agree(model, twin.end(), n)
    np.testing.assert_array_equal(coefficients(model, n)[twin.ids[twin.live]], twin.alpha[twin.live])


@pytest.mark.parametrize("variant", VARIANTS)
def test_fit_then_partial_fit(variant):
    X, y = noisy(300, seed=14)
    options = {**PAPER, "variant": variant, "random_state": 0}
    model = LASVC(**options).fit(X[:200], y[:200])
    twin = twin_of(LASVC(**options), rbf_kernel(X, gamma=1.0), y)
    twin.learn(np.random.RandomState(0).permutation(200)).end()
    if variant != "lasvm":
        agree(model, twin, 300)
    other = copy.deepcopy(model).partial_fit(X[200:], y[200:])
    model.partial_fit(X[200:250], y[200:250]).partial_fit(X[250:], y[250:])
    same(model, other)
    if variant != "lasvm":
        agree(model, twin.learn(range(200, 300)), 300)
    assert model.n_samples_seen_ == 300
    again = LASVC(**options).fit(X[:200], y[:200])
    same(LASVC(**options).fit(X[:200], y[:200]), model.fit(X[:200], y[:200]))
    same(again, model)
