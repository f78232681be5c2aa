"""LASVC: against the naive twin and batch solvers, the laws of streams, several classes, failures, noisy labels."""

import copy
import pickle
import signal
import threading
import time
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from hingeline import LASVC
from hingeline.online.ensemble import OnlineMachines

from .copies import COPIES
from .oracle.naive_lasvm import NaiveLasvm
from .oracle.qp import box_qp, dual_value, primal_value, shifted_box
from .streams import BAD_CHUNKS, MOODS, MoodyKernel, blobs, noisy, plus_minus, raises, some_weights

VARIANTS = ["nc", "g", "i", "full", "lasvm"]
WITHOUT_BIAS = ["nc", "g", "i", "full"]
#: Options that bring out every branch: few support vectors before the ramp counts, cleaning soon and hard.
LIVELY = {"C": 5.0, "s": -0.5, "clean_period": 16, "max_non_sv": 3, "warm_sv": 5, "gamma": 1.0}
MODEL = ("support_", "dual_coef_", "intercept_", "n_support_", "n_iter_", "gap_", "gap_target_", "dual_", "classes_")
COUNTS = ("n_expansion_", "decision_scale_", "n_kernel_evals_", "n_kernel_needed_", "n_samples_seen_", "stop_reason_")


def stream(model, X, y, cuts=(), weights=None, classes=None):
    """Feed chunks between `cuts` to partial_fit."""
    ends = [*sorted(cuts), X.shape[0]]
    begin = 0
    for end in ends:
        if end == begin:
            continue
        weight = None if weights is None else weights[begin:end]
        names = np.unique(y) if classes is None else classes
        model.partial_fit(X[begin:end], y[begin:end], names if begin == 0 else None, sample_weight=weight)
        begin = end
    return model


def same(a, b, names=MODEL + COUNTS):
    """Two models are the same to the bit."""
    for name in names:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for key, counts in a.ramp_counts_.items():
        np.testing.assert_array_equal(counts, b.ramp_counts_[key], err_msg=key)
    for key in ("machine", "step", "n_support", "n_expansion", "dual", "gap", "kernel_evals", "kernel_needed"):
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


# ---- step for step with the naive twin -----------------------------------------------------------------


def twin_of(model, K, y, weights=None, kind=NaiveLasvm):
    """The twin with the parameters of a two-class model."""
    c = model.C * (np.ones(len(y)) if weights is None else weights)
    period, left = (256, 10**9) if model.clean_period is None else (model.clean_period, model.max_non_sv)
    return kind(
        K,
        plus_minus(y),
        c,
        variant=model.variant,
        C=model.C,
        s=model.s,
        tau=model.tau,
        clean_period=period,
        max_non_sv=left,
        warm_sv=model.warm_sv,
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
    np.testing.assert_allclose(model.gap_, twin.gap, rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(model.dual_, twin.dual, rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(model.intercept_, twin.b, rtol=1e-9, atol=1e-9)
    margins = np.full(n, np.nan)
    margins[list(twin.margins)] = list(twin.margins.values())
    return margins


class Lookup:
    """Kernel values out of a matrix, for rows that are their own numbers."""

    def __init__(self, K):
        self.K = K

    def __call__(self, A, B):
        return self.K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]


KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 1.0},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 1.0},
}
SETTINGS = [
    {"C": 1.0},
    {"C": 5.0, "s": -0.5, "clean_period": 16, "max_non_sv": 3, "warm_sv": 5},
    {"C": 0.1, "s": 0.3, "clean_period": 40, "max_non_sv": 0, "warm_sv": 0},
    {"C": 100.0, "s": -1.0, "clean_period": None, "warm_sv": 20},
]


def kernel_matrix(model, X):
    """The very values that the core computes."""
    model._gamma = model._resolve_gamma(X)
    everything = np.arange(len(X), dtype=np.int64)
    K = model._gram(X, 0).columns(everything, everything)
    del model._gamma
    return K


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"C={s['C']}")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", WITHOUT_BIAS)
def test_stream_is_the_twin(variant, kernel, setting, weighted):
    n = 150
    if setting.get("clean_period", 1) is None:  # the dead go after 256 visits
        n = 300
        if kernel != "rbf":
            pytest.skip("the twin needs seconds")
    X, y = noisy(n, 3, seed=1)
    weights = some_weights(n) if weighted else None
    model = LASVC(variant=variant, **setting, **KERNELS[kernel])
    K = kernel_matrix(model, X)
    twin = twin_of(model, K, y, weights)
    stream(model, X, y, weights=weights)
    last = n - 1 if weights is None else np.flatnonzero(weights)[-1]
    twin.learn(range(last))
    target = twin.target
    margins = agree(model, twin.learn([last]), n)
    np.testing.assert_allclose(model.gap_target_, target, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.admission_margin_, margins, rtol=1e-8, atol=1e-8)
    called = LASVC(variant=variant, **setting, kernel=Lookup(K))
    same(model, stream(called, np.arange(n)[:, None] / 1.0, y, [n // 2], weights))


class TieAware(NaiveLasvm):
    """Knows whether one of its choices hung on rounding errors. After a pair of steps two gradients are equal but for
    these, so that LASVM makes such choices all the time."""

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
        (state,) = model._online.__getstate__()["states"]
        self.alpha, self.g, self.lo, self.hi = (state["lines"][k].copy() for k in range(4))
        self.ids, self.live, self.zone = state["id"].copy(), state["dead"] == 0, state["zone"].astype(int)
        self.g[~self.live] = np.nan
        self.lo[~self.live] = self.hi[~self.live] = 0.0
        self.flagged = np.zeros(len(self.ids), dtype=bool)
        self.b, self.tie = model.intercept_[0], False


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"C={s['C']}")
@pytest.mark.parametrize("kernel", KERNELS)
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
    model = LASVC(variant=variant, **LIVELY, n_epochs=3, finish=finish, tol=1e-5, random_state=seed)
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
        assert model.gap_[0] <= 1e-5 * (model.dual_[0] + model.gap_[0])
        np.testing.assert_allclose(model.dual_, twin.dual, rtol=1e-4)
    else:
        agree(model, twin.end(), n)


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
        clean_period=period,
        max_non_sv=left,
        warm_sv=2,
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


# ---- optima --------------------------------------------------------------------------------------------


def finished(variant, X, y, weights=None, **options):
    options = {"C": 1.0, "gamma": 1.0, "tol": 1e-10, "random_state": 0, **options}
    return LASVC(variant=variant, finish=True, **options).fit(X, y, sample_weight=weights)


def quantities(model, X, y, weights=None, beta=0.0):
    """Primal and dual of a two-class model from scratch."""
    K, label = rbf_kernel(X, gamma=model.gamma), plus_minus(y)
    alpha = coefficients(model, len(y))
    c = model.C * (np.ones(len(y)) if weights is None else weights)
    return primal_value(K, label, alpha, c, beta, model.intercept_[0]), dual_value(K, label, alpha)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("variant", ["full", "g"])
def test_finished_is_the_box_qp(variant, C, weighted):
    n = 150
    X, y = noisy(n, seed=4)
    weights = some_weights(n, 2) if weighted else np.ones(n)
    model = finished(variant, X, y, weights, C=C, clean_period=None)
    K, label = rbf_kernel(X, gamma=1.0), plus_minus(y)
    best = box_qp(K, label, *shifted_box(label, C * weights))
    assert model.dual_[0] == pytest.approx(dual_value(K, label, best), rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), K @ best, atol=2e-4)
    assert model.stop_reason_.tolist() == ["gap"] and (model.intercept_ == 0).all()
    primal, dual = quantities(model, X, y, weights)
    assert model.gap_[0] <= 1e-10 * primal
    # What 'g' has let go of at the end had no coefficient, but counts in the primal.
    assert primal - dual == pytest.approx(model.gap_[0] if variant == "full" else 0.0, abs=1e-9 * primal)


def test_finished_nc_is_the_qp_with_shifted_boxes():
    n = 200
    X, y = noisy(n, seed=15, flips=0.2)
    options = {"C": 5.0, "s": -0.5, "warm_sv": 5, "clean_period": None, "gamma": 1.0}
    online = LASVC(variant="nc", **options, random_state=0)
    K, label = rbf_kernel(X, gamma=1.0), plus_minus(y)
    order = np.random.RandomState(0).permutation(n)
    twin = twin_of(online, kernel_matrix(online, X), y).learn(order)
    beta = np.zeros(n)
    beta[twin.ids] = 5.0 * twin.flagged
    model = finished("nc", X, y, **options)
    best = box_qp(K, label, *shifted_box(label, 5.0, beta))
    alpha = coefficients(model, n)
    assert (beta > 0).sum() > 10 and (alpha[beta > 0] != 0).any()
    assert (label * alpha)[beta > 0].max() <= 0
    assert model.dual_[0] == pytest.approx(dual_value(K, label, best), rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), K @ best, atol=2e-4)
    primal, dual = quantities(model, X, y, beta=beta)
    assert primal - dual == pytest.approx(0.0, abs=1e-8 * primal)
    assert model.gap_[0] <= 1e-10 * primal


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
def test_finished_lasvm_is_svc(C, seed, weighted):
    n = 150
    X, y = noisy(n, seed=10 + seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, n) if weighted else np.ones(n)
    svc = SVC(C=C, gamma=1.0, tol=1e-9).fit(X, y, sample_weight=weights)
    model = finished("lasvm", X, y, weights, C=C, tol=1e-9, random_state=seed)
    K, label = rbf_kernel(X, gamma=1.0), plus_minus(y)
    assert model.dual_[0] == pytest.approx(dual_value(K, label, coefficients(svc, n)), rel=1e-8)
    np.testing.assert_allclose(model.intercept_, svc.intercept_, atol=1e-3)
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=2e-3)
    primal, dual = quantities(model, X, y, weights)
    assert model.gap_[0] == pytest.approx(primal - dual, abs=1e-10 * primal)
    assert model.gap_[0] <= 1e-9 * primal
    assert abs(model.dual_coef_.sum()) <= 1e-12 * np.abs(model.dual_coef_).sum()
    assert model.stop_reason_.tolist() == ["gap"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_gap_is_primal_minus_dual_of_what_is_held(variant):
    # Nothing is let go of, so that the support vectors' problem is the whole problem; in a stream and in fit.
    n = 120
    X, y = noisy(n, seed=6)
    options = {"C": 2.0, "gamma": 1.0, "clean_period": None, "warm_sv": 10**6}
    K, label = rbf_kernel(X, gamma=1.0), plus_minus(y)
    for stop in (1, 2, 50, 101, 119, 120):
        model = LASVC(variant=variant, **options)
        model.partial_fit(X[:stop], y[:stop], [0, 1])
        (state,) = model._online.__getstate__()["states"]
        held = state["id"][state["dead"] == 0]
        assert len(held) == model.n_expansion_[0]
        alpha = coefficients(model, n)[held]
        part = K[np.ix_(held, held)], label[held]
        dual = dual_value(*part, alpha)
        primal = primal_value(*part, alpha, 2.0, 0.0, model.intercept_[0])
        np.testing.assert_allclose(model.dual_, dual, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.gap_, primal - dual, rtol=1e-9, atol=1e-9 * primal)


@pytest.mark.parametrize("variant", VARIANTS)
def test_history_goes_up_in_finish(variant):
    X, y = noisy(300, seed=7)
    before = LASVC(variant=variant, C=10.0, gamma=1.0, random_state=0).fit(X, y)
    duals = [before.dual_[0]]
    for tol in (1e-1, 1e-2, 1e-3, 1e-5):
        model = finished(variant, X, y, C=10.0, tol=tol)
        history = model.history_
        assert set(history) == {
            *("machine", "step", "seconds", "n_support", "n_expansion", "dual", "gap", "target"),
            *("kernel_evals", "kernel_needed"),
        }
        assert len({len(column) for column in history.values()}) == 1
        assert (np.diff(history["seconds"]) >= 0).all()
        assert history["dual"][-1] == model.dual_[0]
        assert history["n_support"][-1] == len(model.support_)
        assert history["n_expansion"][-1] == model.n_expansion_[0]
        assert history["kernel_evals"][-1] == model.n_kernel_evals_
        in_finish = history["dual"][history["step"] >= 300]
        assert (np.diff(in_finish) >= -1e-12 * in_finish[-1]).all()
        duals.append(model.dual_[0])
    assert (np.diff(duals) >= -1e-10 * duals[-1]).all() and duals[-1] > duals[0]


def test_history_of_a_long_stream_stays_short():
    X, y = noisy(6000, seed=8)
    model = stream(LASVC(variant="i", C=0.3, gamma=1.0), X, y, cuts=[1000, 1001, 4711])
    step = model.history_["step"]
    assert 64 < len(step) <= 256 and step[-1] <= 6000 and step[0] <= 64
    assert (np.diff(step) > 0).all() and len(set(np.diff(step))) <= 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_max_iter(variant):
    X, y = noisy(300, seed=9)
    options = {"C": 10.0, "gamma": 1.0, "random_state": 0}
    before = LASVC(variant=variant, **options).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="duality gap wanted") as caught:
        model = LASVC(variant=variant, finish=True, tol=1e-9, max_iter=7, **options).fit(X, y)
    assert model.stop_reason_.tolist() == ["max_iter"]
    assert model.n_iter_ - before.n_iter_ == 7
    assert f"it is {model.gap_[0]:.3g}" in str(caught[0].message) and "'max_iter'" in str(caught[0].message)
    assert model.gap_[0] > 1e-9 * (model.gap_[0] + model.dual_[0])
    assert caught[0].filename == __file__


def test_stop_reasons():
    X, y = noisy(120, seed=10)
    assert LASVC(gamma=1.0).fit(X, y).stop_reason_.tolist() == ["pass"]
    assert stream(LASVC(gamma=1.0), X, y).stop_reason_.tolist() == ["pass"]
    assert finished("full", X, y, tol=1e-3).stop_reason_.tolist() == ["gap"]
    for variant in ("full", "lasvm"):
        with pytest.warns(ConvergenceWarning, match="'precision'"):
            model = finished(variant, X, y, tol=0.0)
        assert model.stop_reason_.tolist() == ["precision"]
        assert 0 <= model.gap_[0] < 1e-9 * model.dual_[0]


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("variant", VARIANTS)
def test_single_precision_has_an_end(variant, C):
    # The limit is for the case that it has none: many times the steps that are needed.
    X, y = noisy(300, 5, seed=0, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = finished(variant, X, y, C=C, gamma=0.1, tol=0.0, max_iter=3_000_000)
    assert model.stop_reason_.tolist() == ["precision"]
    assert abs(model.gap_[0]) < 1e-5 * model.dual_[0]
    wide = finished(variant, X.astype(np.float64), y, C=C, gamma=0.1, tol=1e-6)
    assert model.dual_[0] == pytest.approx(wide.dual_[0], rel=1e-2 if variant in ("nc", "i") else 1e-4)


def test_no_warning_where_the_gap_is_reached():
    X, y = noisy(120, seed=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for variant in VARIANTS:
            finished(variant, X, y, tol=1e-3)
            LASVC(variant=variant, gamma=1.0, tol=1e-12).fit(X, y)


# ---- laws of streams -----------------------------------------------------------------------------------

FORMS = {
    "dense": np.asarray,
    "csr": sp.csr_matrix,
    "csr_array": sp.csr_array,
}


def wide_indices(X):
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(VARIANTS),
    st.sampled_from(["dense", "csr"]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([1, 2]),
    st.sampled_from([200, 1e-6, 0.02]),
    st.sampled_from([1, 16, None]),
    st.sampled_from([2, 3]),
    st.lists(st.integers(1, 119), max_size=12),
    st.integers(0, 10**6),
)
def test_any_chunks(variant, form, dtype, n_jobs, cache_size, period, n_classes, cuts, seed):
    X, y = blobs(120, n_classes, seed=seed, dtype=dtype)
    X = FORMS[form](X)
    options = {**LIVELY, "gamma": 0.3, "clean_period": period, "variant": variant}
    one = stream(LASVC(**options), X, y)
    cut = stream(LASVC(**options, n_jobs=n_jobs, cache_size=cache_size), X, y, cuts)
    same(one, cut)
    assert one.decision_function(X).tobytes() == cut.decision_function(X).tobytes()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_row_by_row(variant, n_classes):
    X, y = blobs(150, n_classes)
    options = {**LIVELY, "gamma": 0.3, "variant": variant}
    weights = some_weights(150)
    one = stream(LASVC(**options), X, y, weights=weights)
    same(one, stream(LASVC(**options), X, y, range(1, 150), weights))
    margins = [
        stream(LASVC(**options), X[:k], y[:k], weights=weights[:k], classes=range(n_classes)).admission_margin_[-1]
        for k in (20, 77, 150)
    ]
    np.testing.assert_array_equal(margins, one.admission_margin_[[19, 76, 149]])


def test_margins_of_chunks_are_margins_of_the_whole():
    X, y = blobs(90, 3)
    one = stream(LASVC(gamma=0.3), X, y)
    cut = LASVC(gamma=0.3)
    parts = [cut.partial_fit(X[a:b], y[a:b], range(3)).admission_margin_ for a, b in [(0, 1), (1, 40), (40, 90)]]
    np.testing.assert_array_equal(np.concatenate(parts), one.admission_margin_)
    assert one.admission_margin_.shape == (90, 3)
    # A column for each class that a sample is told apart from: all but its own.
    np.testing.assert_array_equal(np.isnan(one.admission_margin_), y[:, None] == np.arange(3))


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_save_and_resume(variant, form, copied):
    X, y = blobs(160, 3)
    X = FORMS[form](X)
    options = {**LIVELY, "gamma": 0.3, "variant": variant, "multi_class": "ovr" if form == "csr" else "ovo"}
    one = stream(LASVC(**options), X, y)
    part = stream(LASVC(**options), X[:93], y[:93], classes=range(3))
    resumed = COPIES[copied](COPIES[copied](part))
    same(part, resumed)
    resumed.partial_fit(X[93:], y[93:])
    same(one, resumed)
    assert part.n_samples_seen_ == 93 and resumed.n_samples_seen_ == 160
    same(one, part.partial_fit(X[93:], y[93:]))


@pytest.mark.parametrize("variant", VARIANTS)
def test_clone_knows_nothing(variant):
    X, y = noisy(60)
    model = stream(LASVC(variant=variant, gamma=1.0), X, y)
    fresh = clone(model)
    assert vars(fresh) == model.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    same(model, stream(fresh, X, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_form_does_not_matter(variant, how, dtype):
    X, y = blobs(150, 3, d=30, dtype=dtype)
    options = {**LIVELY, "gamma": 0.05, "variant": variant, "random_state": 0}

    def train(X):
        if how == "fit":
            return LASVC(**options).fit(X, y)
        return stream(LASVC(**options), X, y, [11, 80])

    dense = train(X)
    assert dense.support_vectors_.dtype == dtype
    for make in (sp.csr_matrix, sp.csr_array, wide_indices, np.asfortranarray):
        other = train(make(X))
        same(dense, other)
        assert dense.decision_function(X).tobytes() == other.decision_function(make(X)).tobytes()
        rows = other.support_vectors_
        assert ((rows.toarray() if sp.issparse(rows) else rows) == X[dense.support_]).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_form_may_change_between_chunks(variant):
    X, y = blobs(150, 3, d=30)
    options = {**LIVELY, "gamma": 0.05, "variant": variant}
    one = stream(LASVC(**options), X, y)
    makers = [np.asarray, sp.csr_matrix, wide_indices, np.asfortranarray, lambda X: X.tolist()]
    for first in range(3):
        model = LASVC(**options)
        for k, begin in enumerate(range(0, 150, 30)):
            part = makers[(first + k) % len(makers)](X[begin : begin + 30])
            model.partial_fit(part, y[begin : begin + 30], range(3))
        same(one, model)
        assert sp.issparse(model.support_vectors_) == (first > 0)


def test_precision_is_that_of_the_first_chunk():
    X, y = noisy(100)
    X = X.astype(np.float32)
    one = stream(LASVC(gamma=1.0), X, y)
    model = LASVC(gamma=1.0).partial_fit(X[:40], y[:40], [0, 1]).partial_fit(X[40:].astype(np.float64), y[40:])
    same(one, model)
    assert model.support_vectors_.dtype == np.float32


@pytest.mark.parametrize("options", [{"cache_size": 1e-6}, {"cache_size": 0.05}, {"n_jobs": 2}, {"n_jobs": 3}])
@pytest.mark.parametrize("variant", VARIANTS)
def test_cache_and_threads_change_nothing(variant, options):
    X, y = blobs(500, 3, d=10, dtype=np.float32)
    common = {"variant": variant, "C": 3.0, "gamma": 0.1, "warm_sv": 20, "n_epochs": 2, "random_state": 0}
    finish = {"finish": True, "tol": 1e-4} if variant in ("full", "lasvm") else {}
    reference, other = (LASVC(**common, **finish, **more).fit(X, y) for more in ({}, options))
    same(reference, other)
    if "cache_size" in options:
        assert other.n_kernel_recomputed_ > 0 == reference.n_kernel_recomputed_
    np.testing.assert_array_equal(reference.decision_function(X), other.decision_function(X))


def test_threads_share_a_large_expansion():
    X, y = noisy(3000, 5, dtype=np.float32)
    options = {"variant": "full", "gamma": 0.3}
    one, two = (stream(LASVC(**options, n_jobs=k), X, y, [1500]) for k in (1, 2))
    same(one, two)


@pytest.mark.parametrize("variant", ["full", "lasvm"])
def test_swapping_labels_swaps_signs(variant):
    X, y = noisy(200, seed=11)
    one, other = (finished(variant, X, labels, C=3.0) for labels in (y, 1 - y))
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-3)
    assert one.dual_ == pytest.approx(other.dual_, rel=1e-8)


@pytest.mark.parametrize("how", ["fit", "stream"])
def test_without_a_ramp_nc_is_g(how):
    X, y = blobs(300, 3)
    options = {**LIVELY, "s": -1e9, "warm_sv": 0, "gamma": 0.3, "random_state": 0}
    models = [LASVC(variant=variant, **options) for variant in ("g", "nc")]
    for model in models:
        if how == "fit":
            model.fit(X, y)
        else:
            stream(model, X, y, [100])
    same(*models)
    assert (LASVC(variant="nc", **{**options, "s": 0.0}).fit(X, y).n_iter_ != models[0].n_iter_).any()


@pytest.mark.parametrize("variant", ["full", "lasvm"])
def test_weight_two_is_the_row_twice(variant):
    X, y = noisy(120, seed=12)
    weights = np.random.default_rng(0).integers(0, 3, 120).astype(float)
    rows = np.repeat(np.arange(120), weights.astype(int))
    one = finished(variant, X, y, weights, C=2.0, tol=1e-13)
    other = finished(variant, X[rows], y[rows], C=2.0, tol=1e-13)
    assert one.dual_ == pytest.approx(other.dual_, rel=1e-11)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_weight_zero_is_no_row(variant, n_classes):
    X, y = blobs(150, n_classes)
    weights = some_weights(150)
    on = np.flatnonzero(weights)
    options = {**LIVELY, "gamma": 0.3, "variant": variant}
    one = stream(LASVC(**options), X, y, weights=weights)
    other = stream(LASVC(**options), X[on], y[on], weights=weights[on])
    np.testing.assert_array_equal(one.support_, on[other.support_])
    same(one, other, [name for name in MODEL + COUNTS if name not in ("support_", "n_samples_seen_")])
    assert np.isnan(one.admission_margin_[weights == 0]).all()
    assert one.n_samples_seen_ == 150


@pytest.mark.parametrize("variant", VARIANTS)
def test_weight_zero_is_no_row_in_fit(variant):
    X, y = noisy(150)
    weights = some_weights(150)
    options = {**LIVELY, "variant": variant, "n_epochs": 2, "random_state": 0}
    one = LASVC(**options).fit(X, y, sample_weight=weights)
    other = X.copy()
    other[weights == 0] = 99.0  # whatever it is
    same(one, LASVC(**options).fit(other, np.where(weights == 0, 1 - y, y), sample_weight=weights))


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_class_weight_is_sample_weight(variant, how):
    X, y = blobs(150, 3)
    names = np.array(["fig", "apple", "pear"])[y]
    by_class = {"fig": 2.0, "pear": 0.5}
    weights = np.array([by_class.get(name, 1.0) for name in names])
    options = {**LIVELY, "gamma": 0.3, "variant": variant, "random_state": 0}
    one, other = LASVC(**options, class_weight=by_class), LASVC(**options)
    both = np.random.default_rng(0).uniform(0.5, 1.5, 150)
    if how == "fit":
        one.fit(X, names, sample_weight=both)
        other.fit(X, names, sample_weight=weights * both)
    else:
        stream(one, X, names, [50], both)
        stream(other, X, names, weights=weights * both)
    for name in MODEL[:1] + COUNTS:
        if not name.startswith("decision"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, rtol=1e-9, atol=1e-12)


def test_balanced():
    X, y = noisy(200, seed=13)
    y[:90] = 1
    weights = 200 / (2 * np.bincount(y))
    same(
        LASVC(gamma=1.0, class_weight="balanced", random_state=0).fit(X, y),
        LASVC(gamma=1.0, class_weight=dict(enumerate(weights)), random_state=0).fit(X, y),
    )


# ---- classes that come later ---------------------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_class_that_comes_later(variant, multi_class):
    X, y = blobs(150, 4)
    names = np.array(["m", "t", "c", "z"])[y]  # 'c' sorts before those that are known, 'z' behind
    known = np.flatnonzero(y < 2)[:40]
    later = np.setdiff1d(np.arange(150), known)
    X, names = np.concatenate([X[known], X[later]]), np.concatenate([names[known], names[later]])
    options = {**LIVELY, "gamma": 0.3, "variant": variant, "multi_class": multi_class}
    first = {label: int(np.flatnonzero(names == label)[0]) for label in "cz"}
    assert min(first.values()) >= 40
    one = stream(LASVC(**options), X, names, classes=["m", "t"])
    assert one.classes_.tolist() == ["c", "m", "t", "z"]
    assert one.intercept_.shape == (6 if multi_class == "ovo" else 4,)
    for shift in (-1, 0, 1):
        cuts = sorted({at + shift for at in first.values()})
        same(one, stream(LASVC(**options), X, names, cuts, classes=["m", "t"]))
    same(one, stream(LASVC(**options), X, names, range(1, 150), classes=["m", "t"]))
    before = stream(LASVC(**options), X[:40], names[:40], classes=["m", "t"])
    assert before.classes_.tolist() == ["m", "t"] and before.decision_function(X).shape == (150,)
    assert set(one.predict(X)) == {*"cmtz"} and (one.predict(X) == names).mean() > 0.5
    assert one.admission_margin_.shape == (150, 4)
    assert np.repeat(one.classes_, one.n_support_).tolist() == names[one.support_].tolist()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_class_that_is_declared_and_never_comes(multi_class):
    X, y = blobs(100, 2)
    model = stream(LASVC(gamma=0.3, multi_class=multi_class), X, y, [30], classes=[0, 1, 7])
    assert model.classes_.tolist() == [0, 1, 7] and model.n_support_[2] == 0
    assert set(model.predict(X)) <= {0, 1, 7} and (model.predict(X) == y).mean() > 0.7


@pytest.mark.parametrize("variant", VARIANTS)
def test_new_classes_may_be_declared_later(variant):
    X, y = blobs(100, 3)
    known = y < 2
    model = LASVC(gamma=0.3, variant=variant).partial_fit(X[known], y[known], [0, 1])
    model.partial_fit(X[~known], y[~known], classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_one_class_only(variant, multi_class):
    X, _ = noisy(80)
    model = LASVC(variant=variant, gamma=1.0, multi_class=multi_class).partial_fit(X, np.ones(80), [0.0, 1.0])
    assert np.isfinite(model.decision_function(X)).all() and np.isfinite(model.gap_).all()
    if variant == "lasvm":  # with a bias there is nothing to learn from one class
        assert len(model.support_) == 0 and model.n_expansion_[0] <= 5
    else:
        assert (model.predict(X) == 1).all()
    model.partial_fit(X + 3, np.zeros(80))
    assert (model.predict(np.vstack([X, X + 3])) == np.repeat([1, 0], 80)).mean() > 0.7


@pytest.mark.parametrize("variant", VARIANTS)
def test_fit_then_partial_fit(variant):
    X, y = noisy(300, seed=14)
    options = {**LIVELY, "variant": variant, "random_state": 0}
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


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_finish_then_partial_fit(variant, n_classes):
    X, y = blobs(200, n_classes)
    model = LASVC(variant=variant, gamma=0.3, C=2.0, finish=True, random_state=0).fit(X, y)
    model.partial_fit(X[:20] + 0.1, np.full(20, n_classes))
    assert len(model.gap_) == len(model.intercept_) == (n_classes + 1) * n_classes // 2
    assert np.isfinite(model.gap_).all() and (model.gap_ >= -1e-9).all()
    same(model, copy.deepcopy(model))


class Nobody:
    """A callback that watches."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        pass


@pytest.mark.parametrize("variant", VARIANTS)
def test_watching_changes_nothing(variant):
    # Epochs are cut into other calls, which must not show.
    X, y = noisy(330, seed=15)
    options = {**LIVELY, "variant": variant, "n_epochs": 3, "finish": True, "random_state": 0, "clean_period": 64}
    same(LASVC(**options).fit(X, y), LASVC(**options).set_callbacks(Nobody()).fit(X, y))


@pytest.mark.parametrize("period", [7, 64, None])
@pytest.mark.parametrize("variant", VARIANTS)
def test_epochs_in_any_pieces(variant, period, monkeypatch):
    X, y = blobs(330, 3)
    options = {**LIVELY, "gamma": 0.3, "variant": variant, "n_epochs": 3, "random_state": 0, "clean_period": period}
    one = LASVC(**options).fit(X, y)
    assert one.history_["step"].max() <= 3 * np.bincount(y)[np.argsort(np.bincount(y))[1:]].sum()
    for size in (1, 50):
        monkeypatch.setattr("hingeline.online.training.CHUNK", size)
        same(one, LASVC(**options).fit(X, y))


class Distance:
    """A kernel that is an object with a state."""

    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, A, B):
        return rbf_kernel(A, B, gamma=self.gamma)


def test_kernels_that_are_objects():
    X, y = blobs(120, 3)
    known = np.argsort(y >= 2, kind="stable")
    X, y = X[known], y[known]
    model = LASVC(kernel=Distance(0.3)).partial_fit(X[:30], y[:30], [0, 1])
    for begin in (30, 60, 90):  # a class comes on the way
        model.partial_fit(X[begin : begin + 30], y[begin : begin + 30])
    assert model.classes_.tolist() == [0, 1, 2]
    for copied in COPIES.values():
        copied(model).partial_fit(X, y)
    one = stream(LASVC(gamma=0.3), X, y, classes=[0, 1])
    np.testing.assert_allclose(model.decision_function(X), one.decision_function(X), atol=1e-6)


def test_order_is_that_of_random_state():
    X, y = noisy(200)
    fits = [LASVC(gamma=1.0, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    same(fits[0], fits[1])
    assert fits[0].n_iter_ != fits[2].n_iter_ or fits[0].dual_ != fits[2].dual_
    generator = np.random.RandomState(0)
    same(fits[0], LASVC(gamma=1.0, random_state=generator).fit(X, y))


# ---- several classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_pairs_are_binary_machines(variant):
    X, y = blobs(200, 4)
    options = {**LIVELY, "gamma": 0.3, "variant": variant}
    model = stream(LASVC(**options, decision_function_shape="ovo"), X, y)
    begin = np.concatenate([[0], np.cumsum(model.n_support_)])
    values = model.decision_function(X)
    for k, (i, j) in enumerate(combinations(range(4), 2)):
        rows = np.flatnonzero((y == i) | (y == j))
        binary = stream(LASVC(**options), X[rows], (y[rows] == j).astype(int))
        line = np.zeros(200)
        for label, row in ((i, j - 1), (j, i)):
            of_class = slice(begin[label], begin[label + 1])
            line[model.support_[of_class]] = model.dual_coef_[row, of_class]
        expected = np.zeros(200)
        expected[rows[binary.support_]] = -binary.dual_coef_[0]
        np.testing.assert_array_equal(line, expected)
        np.testing.assert_array_equal(model.intercept_[k], -binary.intercept_[0] + 0.0)
        for name in ("n_iter_", "gap_", "dual_", "gap_target_", "n_expansion_", "decision_scale_"):
            assert getattr(model, name)[k] == getattr(binary, name)[0], name
        for key, counts in model.ramp_counts_.items():
            np.testing.assert_array_equal(counts[k], binary.ramp_counts_[key][0])
        other = np.where(y[rows] == i, j, i)
        np.testing.assert_array_equal(model.admission_margin_[rows, other], binary.admission_margin_)
        np.testing.assert_allclose(values[:, k], -binary.decision_function(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_rest_machines_are_binary_machines(variant, how):
    X, y = blobs(200, 4)
    options = {**LIVELY, "gamma": 0.3, "variant": variant, "random_state": 5}
    model = LASVC(**options, multi_class="ovr")
    model.fit(X, y) if how == "fit" else stream(model, X, y)
    values = model.decision_function(X)
    for k in range(4):
        binary = LASVC(**options)
        label = (y == k).astype(int)
        binary.fit(X, label) if how == "fit" else stream(binary, X, label)
        line = np.zeros(200)
        line[model.support_] = model.dual_coef_[k]
        np.testing.assert_array_equal(line, coefficients(binary, 200))
        for name in ("intercept_", "n_iter_", "gap_", "n_expansion_"):
            assert getattr(model, name)[k] == getattr(binary, name)[0], name
        np.testing.assert_array_equal(model.admission_margin_[:, k], binary.admission_margin_)
        np.testing.assert_allclose(values[:, k], binary.decision_function(X), rtol=1e-9, atol=1e-12)
    assert (model.predict(X) == model.classes_[values.argmax(axis=1)]).all()


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "ovo"), (2, "ovr"), (4, "ovo"), (4, "ovr")])
def test_shapes(n_classes, multi_class, form):
    X, y = blobs(120, n_classes)
    X = FORMS[form](X)
    model = LASVC(kernel="linear", multi_class=multi_class, decision_function_shape="ovo", random_state=0).fit(X, y)
    machines = 1 if n_classes == 2 else 6 if multi_class == "ovo" else 4
    lines = n_classes if multi_class == "ovr" and n_classes > 2 else n_classes - 1
    n_support = len(model.support_)
    assert model.dual_coef_.shape == (lines, n_support) and model.dual_coef_.dtype == np.float64
    assert model.n_support_.shape == (n_classes,) and model.n_support_.sum() == n_support
    assert model.support_vectors_.shape == (n_support, 6)
    assert model.coef_.shape == (machines, 6)
    for name in ("intercept_", "n_iter_", "gap_", "gap_target_", "dual_", "stop_reason_", "decision_scale_"):
        assert getattr(model, name).shape == (machines,), name
    assert all(counts.shape == (machines, 3) for counts in model.ramp_counts_.values())
    values = model.decision_function(X)
    assert values.shape == ((120,) if machines == 1 else (120, machines))
    by_hand = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(values.reshape(120, -1), by_hand, rtol=1e-9, atol=1e-9)
    assert np.repeat(model.classes_, model.n_support_).tolist() == y[model.support_].tolist()
    if n_classes == 4:
        model.set_params(decision_function_shape="ovr")
        assert model.decision_function(X).shape == (120, 4)
        assert (model.predict(X) == model.decision_function(X).argmax(axis=1)).all()


def test_precomputed_is_computed():
    X, y = blobs(150, 3)
    options = {**LIVELY, "gamma": 0.3, "n_epochs": 2, "random_state": 0}
    for variant in VARIANTS:
        model = LASVC(variant=variant, **options).fit(X, y)
        K = kernel_matrix(LASVC(**options), X)
        other = LASVC(variant=variant, **{**options, "kernel": "precomputed"}).fit(K, y)
        same(model, other)
        np.testing.assert_allclose(model.decision_function(X), other.decision_function(K), rtol=1e-12, atol=1e-12)


# ---- failures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new_class", [False, True], ids=["", "new class"])
@pytest.mark.parametrize("bad", BAD_CHUNKS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_bad_chunk_leaves_no_trace(variant, bad, new_class):
    X, y = blobs(120, 3)
    options = {**LIVELY, "gamma": 0.3, "variant": variant}
    model = stream(LASVC(**options), X[:60], y[:60] % 2, classes=[0, 1])
    before = snapshot(model)
    chunk = BAD_CHUNKS[bad](X[60:], y[60:] if new_class else y[60:] % 2)
    with pytest.raises((ValueError, TypeError)):
        model.partial_fit(chunk[0], chunk[1], **chunk[2])
    assert snapshot(model) == before
    whole = np.where(np.arange(120) < 60, y % 2, y)
    same(model.partial_fit(X[60:], y[60:]), stream(LASVC(**options), X, whole, classes=[0, 1]))


@pytest.mark.parametrize("new_class", [False, True], ids=["", "new class"])
@pytest.mark.parametrize("mood", MOODS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_bad_kernel_leaves_no_trace(variant, mood, new_class):
    X, y = blobs(150, 3)
    labels = np.where(np.arange(150) < 60, y % 2, y) if new_class else y % 2
    options = {**LIVELY, "variant": variant, "kernel": MoodyKernel(), "clean_period": 8}
    one = stream(LASVC(**{**options, "kernel": MoodyKernel()}), X, labels, [60], classes=[0, 1])
    for patience in (0, 1, 3, 5):
        model = stream(LASVC(**options), X[:60], labels[:60], classes=[0, 1])
        before = snapshot(model)
        for _ in range(2):
            model.kernel.sulk(MOODS[mood], patience)
            with pytest.raises((ZeroDivisionError, ValueError, TypeError, SystemExit)):
                model.partial_fit(X[60:], labels[60:])
            assert snapshot(model) == before
        model.kernel.mood = None
        model.partial_fit(X[60:], labels[60:])
        np.testing.assert_array_equal(one.support_, model.support_)
        np.testing.assert_allclose(one.dual_coef_, model.dual_coef_, rtol=1e-7, atol=1e-9)


def test_a_first_chunk_that_fails_is_none():
    X, y = blobs(60, 2)
    model = LASVC(kernel=MoodyKernel())
    model.kernel.sulk(MOODS["raises"], 0)
    with pytest.raises(ZeroDivisionError):
        model.partial_fit(X, y, [0, 1])
    assert vars(model) == model.get_params()
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.kernel.mood = None
    model.partial_fit(X, y, [0, 1])
    assert model.n_samples_seen_ == 60


@pytest.mark.parametrize(
    ("options", "arguments", "match"),
    [
        ({"kernel": "precomputed"}, {"classes": [0, 1]}, "partial_fit"),
        ({"class_weight": "balanced"}, {"classes": [0, 1]}, "balanced"),
        ({}, {}, "classes must be passed"),
        ({}, {"classes": [0]}, "at least two"),
        ({}, {"classes": [0, 0]}, "at least two"),
        ({"class_weight": {0: -1.0}}, {"classes": [0, 1]}, "class_weight"),
    ],
)
def test_refused_by_the_first_partial_fit(options, arguments, match):
    model = LASVC(gamma=1.0, **options)
    with pytest.raises(AttributeError if "kernel" in options else ValueError, match=match):
        model.partial_fit(np.ones((3, 2)), [0, 0, 0], **arguments)
    assert vars(model) == model.get_params()


@pytest.mark.parametrize(
    "change",
    [{"variant": "g"}, {"gamma": 2.0}, {"kernel": "linear"}, {"degree": 2}, {"coef0": 1.0}, {"multi_class": "ovr"}],
    ids=str,
)
def test_a_stream_keeps_its_kernel(change):
    X, y = noisy(60)
    model = stream(LASVC(gamma=1.0), X, y)
    expected = model.decision_function(X)
    (name,) = change
    with pytest.raises(ValueError, match=f"{name} cannot change"):
        model.set_params(**change).partial_fit(X, y)
    model.set_params(**LASVC(gamma=1.0).get_params())
    np.testing.assert_array_equal(model.decision_function(X), expected)
    model.set_params(C=2.0, s=-0.2, tau=1e-2, clean_period=7, cache_size=1, n_jobs=2).partial_fit(X, y)
    assert model.n_samples_seen_ == 120 and np.abs(model.dual_coef_).max() > 1.0


# ---- Ctrl-C --------------------------------------------------------------------------------------------


def check_usable(model, X, y):
    """A model after Ctrl-C: it predicts, its parts fit together, it can be saved and learn on."""
    model.kernel.mood = None
    values = model.decision_function(X)
    assert np.isfinite(values).all() and set(model.predict(X)) <= set(y.tolist())
    assert set(model.stop_reason_) <= {"interrupted", "pass"}, "no callback has stopped anything"
    counts = model.ramp_counts_
    held = counts["admitted"].sum(axis=1) - counts["cleaned"].sum(axis=1)
    np.testing.assert_array_equal(held, model.n_expansion_)
    assert (model.gap_ >= -1e-9).all()
    assert len(model.admission_margin_) == len(y)
    again = pickle.loads(pickle.dumps(model))
    same(model, again)
    for one in (again, model):
        one.partial_fit(X[:50], y[:50])
        assert np.isfinite(one.decision_function(X)).all()
    same(again, model)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("patience", [0, 1, 2, 4, 9])
@pytest.mark.parametrize("variant", VARIANTS)
def test_interrupt_in_a_function(variant, patience, n_classes):
    X, y = blobs(300, n_classes)
    for how in ("fit", "first chunk", "later chunk", "later chunk, new class"):
        model = LASVC(**{**LIVELY, "variant": variant, "kernel": MoodyKernel(), "random_state": 0})
        labels = y
        if how.startswith("later"):
            labels = y + (how.endswith("class") * (np.arange(300) > 200))
            model.partial_fit(X[:100], y[:100], range(n_classes))
        model.kernel.sulk(raises(KeyboardInterrupt), patience)
        with pytest.raises(KeyboardInterrupt):
            if how == "fit":
                model.fit(X, y)
            else:
                model.partial_fit(X, labels, range(n_classes))
        check_usable(model, X, labels)


# ---- noisy labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_noisy_labels(seed):
    X, y = make_moons(3000, noise=0.15, random_state=seed)
    train, labels = X[:2000], y[:2000].copy()
    flipped = np.random.default_rng(seed).random(2000) < 0.1
    labels[flipped] = 1 - labels[flipped]
    options = {"C": 10.0, "gamma": 2.0, "random_state": seed}
    g, nc, i = (LASVC(variant=variant, **options).fit(train, labels) for variant in ("g", "nc", "i"))
    scores = [model.score(X[2000:], y[2000:]) for model in (g, nc, i)]
    assert min(scores) > 0.95 and min(scores[1:]) > scores[0] - 0.01
    assert len(nc.support_) < 0.6 * len(g.support_) and len(i.support_) < 0.6 * len(g.support_)
    # Few of the flipped ones get a vote against the others.
    assert flipped[nc.support_].sum() < 0.5 * flipped[g.support_].sum()
    assert i.n_kernel_needed_ < 0.7 * g.n_kernel_needed_
    assert i.ramp_counts_["skipped"][0, [0, 2]].sum() > 1000 and i.ramp_counts_["skipped"][0, 1] == 0


# ---- other threads, other signals, other files ---------------------------------------------------------


def test_readers_wait_for_the_learner():
    X, y = noisy(6000, 5, seed=0, dtype=np.float32)
    alone = LASVC(variant="g", C=10.0, gamma=0.5).partial_fit(X, y, [0, 1])
    model = LASVC(variant="g", C=10.0, gamma=0.5).partial_fit(X[:500], y[:500], [0, 1])
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


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")
def test_a_signal_that_is_no_interrupt_leaves_no_trace():
    X, y = noisy(4000, 5, seed=1)
    model = LASVC(variant="full", C=100.0, gamma=0.5).partial_fit(X[:100], y[:100], [0, 1])
    before = snapshot(model)

    def stop(*_):
        raise TimeoutError

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeoutError):
            model.partial_fit(X[100:], y[100:])
            time.sleep(5)  # a machine so fast that it was done
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    if model.n_samples_seen_ == 100:
        assert snapshot(model) == before


def test_margins_tell_what_was_learnt_before_an_interrupt():
    X, y = blobs(300, 2)
    model = LASVC(**{**LIVELY, "kernel": MoodyKernel()})
    model.kernel.sulk(raises(KeyboardInterrupt), 4)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y, [0, 1])
    known = ~np.isnan(model.admission_margin_)
    assert 0 < known.sum() < 300 and known[: known.sum()].all()
    counts = model.ramp_counts_
    assert counts["admitted"].sum() + counts["skipped"].sum() == known.sum()


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_of_one_class_only(variant):
    X, y = blobs(60, 2)
    with pytest.raises(ValueError, match="sample_weight leaves fewer than two classes"):
        LASVC(variant=variant, finish=True).fit(X, y, sample_weight=y.astype(float))
    X, y = blobs(60, 3)
    model = LASVC(variant=variant, finish=True, gamma=1.0).fit(X, y, sample_weight=(y != 2) + 0.0)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("C", [1e10, 1e14, 1e16])
@pytest.mark.parametrize("variant", ["g", "full", "lasvm"])
def test_tiny_features_come_to_an_end(variant, C):
    X, y = noisy(40, 3, seed=0)
    model = LASVC(variant=variant, kernel="linear", C=C, finish=True, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(1e-7 * X, y)
    assert np.isfinite(model.gap_).all() and np.isfinite(model.dual_coef_).all()


def test_products_that_leave_the_range():
    X = np.array([[1e-7], [-1e-7], [3e16], [-2e16]], dtype=np.float32)
    for C in (1e20, 1e30):
        with pytest.raises(ValueError, match=r"(?s)kernel value leaves the range of float32; scale"):
            LASVC(kernel="linear", C=C).fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="C times the weights must not exceed"):
        LASVC(C=1e31).fit(X[:2], [0, 1])


def damage(states, how):
    for state in states:
        how(state)


HOSTILE = {
    "class": lambda s: s["whole"].__setitem__(0, -(2**40)),
    "far class": lambda s: s["whole"].__setitem__(1, 2**61),
    "row": lambda s: s["row"].__setitem__(0, 10**12),
    "negative row": lambda s: s["row"].__setitem__(0, -1),
    "code": lambda s: s["code"].__setitem__(0, 7),
    "NaN": lambda s: s["lines"].__setitem__((1, 0), np.nan),
    "box": lambda s: s["lines"].__setitem__((0, 0), 1e9),
    "dead": lambda s: s["dead"].__setitem__(0, 3),
    "zone": lambda s: s["zone"].__setitem__(0, 9),
    "reason": lambda s: s["whole"].__setitem__(8, 99),
    "length": lambda s: s.__setitem__("id", s["id"][:-1]),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_files_are_refused(how):
    X, y = blobs(60, 2)
    state = LASVC(gamma=1.0).fit(X, y)._online.__getstate__()
    damage(state["states"], HOSTILE[how])
    with pytest.raises(ValueError, match="damaged"):
        OnlineMachines.__new__(OnlineMachines).__setstate__(state)


def test_a_file_without_rows_is_refused():
    X, y = blobs(60, 2)
    state = {**LASVC(gamma=1.0).fit(X, y)._online.__getstate__(), "rows": None}
    with pytest.raises(ValueError, match="damaged"):
        OnlineMachines.__new__(OnlineMachines).__setstate__(state)


def test_a_failed_chunk_leaves_the_gap():
    X, y = blobs(200, 2)
    model = LASVC(**{**LIVELY, "variant": "lasvm", "kernel": MoodyKernel(), "finish": True, "tol": 0.5}).fit(X, y)
    gap = model.gap_.copy()
    model.kernel.sulk(raises(ZeroDivisionError), 0)
    with pytest.raises(ZeroDivisionError):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.gap_, gap)


def test_classes_and_weights_are_checked():
    X, y = blobs(20, 2)
    with pytest.raises(ValueError, match="NaN"):
        LASVC().partial_fit(X, y, [0.0, 1.0, np.nan])
    with pytest.raises(ValueError, match="1d"):
        LASVC().partial_fit(X, y, [[0, 1], [2, 3]])
    with pytest.raises(ValueError, match="class_weight"):
        LASVC(class_weight={"1": 5.0}).partial_fit(X, y, [0, 1])


def test_the_shape_is_that_of_the_fit():
    X, y = blobs(90, 3)
    model = LASVC(multi_class="ovr", gamma=1.0, random_state=0).fit(X, y)
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(multi_class="ovo").decision_function(X), before)


def test_kernel_values_keep_to_their_memory():
    X, y = noisy(3000, 5, seed=2, dtype=np.float32)
    model = LASVC(variant="g", C=10.0, gamma=0.5, cache_size=1.0)
    for at in range(0, 3000, 500):
        model.partial_fit(X[at : at + 500], y[at : at + 500], [0, 1])
        assert model._online.model.kernel_bytes <= 2**20
    assert model.n_kernel_recomputed_ > 0
