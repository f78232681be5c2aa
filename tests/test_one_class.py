"""IncrementalOneClassSVM: conventions, nu and C, windows, forgetting, bad calls."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_outlier_detector
from sklearn.exceptions import NotFittedError

from hingeline import IncrementalOneClassSVM

from .data import with_entry
from .one_class import COMPUTED, KERNELS, SHAPES, bound, cloud, determined, fingerprint, optimal, parts, weights_of
from .oracle.equality_qp import best_mu

# ---- a good outlier detector ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_conventions(shape):
    X = cloud(50)
    model = IncrementalOneClassSVM(nu=0.2, shape=shape, **KERNELS["rbf"])
    assert is_outlier_detector(model)
    labels = model.fit_predict(X)
    assert set(labels.tolist()) == {-1, 1} and (labels == model.predict(X)).all()
    values = model.decision_function(X)
    assert values.shape == (50,) and (labels == np.where(values >= 0, 1, -1)).all()
    np.testing.assert_allclose(model.score_samples(X) - model.offset_, values, rtol=0, atol=1e-12)
    assert np.ndim(model.offset_) == 0
    assert model.fit(X, np.arange(50)) is model and (model.predict(X) == labels).all()  # y is ignored
    assert model.partial_fit(X[:1], y=[0]) is model and model.n_samples_ == 51
    assert model.support_vectors_.shape == (len(model.support_), 2)
    rows = np.r_[X, X[:1]]
    assert (model.support_vectors_ == rows[model.support_]).all()
    assert model.dual_coef_.shape == (1, len(model.support_)) and np.shape(model.intercept_) == (1,)
    assert np.shape(model.n_margin_) == (1,) and model.n_features_in_ == 2 and model.memory_ > 0
    assert np.asarray(model.condition_).ravel()[0] >= 1


def test_clone_knows_nothing():
    options = {
        "nu": 0.3,
        "C": 0.25,
        "shape": "sphere",
        "kernel": "poly",
        "gamma": 0.5,
        "degree": 2,
        "coef0": 1.0,
        "window": 10,
        "window_rule": "relevance",
        "cache_size": 5.0,
        "n_jobs": 2,
    }
    defaults = IncrementalOneClassSVM().get_params()
    assert defaults.keys() == options.keys() and all(defaults[name] != value for name, value in options.items())
    model = IncrementalOneClassSVM(**options).fit(cloud(20))
    assert vars(clone(model)) == options
    with pytest.raises(NotFittedError):
        clone(model).predict(cloud(20))


@pytest.mark.parametrize(
    "options",
    [
        {"nu": 0.0},
        {"nu": 1.5},
        {"nu": "half"},
        {"nu": np.nan},
        {"C": 0.0},
        {"C": -1.0},
        {"C": "1"},
        {"shape": "cube"},
        {"kernel": "sigmoid"},
        {"kernel": "precomputed"},
        {"window": 1},
        {"window_rule": "newest"},
        {"cache_size": 0},
        {"gamma": -1},
        {"degree": 1.5},
        {"n_jobs": 0},
    ],
    ids=str,
)
def test_bad_parameters(options):
    (name,) = options
    for call in ("fit", "partial_fit", "add"):
        with pytest.raises(ValueError, match=name):
            getattr(IncrementalOneClassSVM(**options), call)(cloud(10))


BAD_CALLS = {
    "ids": lambda m, X: m.add(X, ids=[1]),
    "no point|99": lambda m, X: m.forget([1, 99]),
    "nu": lambda m, X: m.set_nu(0.0),
    "\\bnu\\b": lambda m, X: m.set_nu("0.5"),
    "\\bC\\b": lambda m, X: m.set_C(-1.0),
    "C must": lambda m, X: m.set_C(None),
    "X has 1 feature": lambda m, X: m.predict(X[:, :1]),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("match", BAD_CALLS)
def test_bad_calls_leave_no_trace(match, shape):
    X = cloud(40)
    model = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS["rbf"]).fit(X[:30])
    spared = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS["rbf"]).fit(X[:30])
    before = fingerprint(model, X)
    with pytest.raises((ValueError, TypeError, KeyError), match=match):
        BAD_CALLS[match](model, X[30:])
    assert fingerprint(model, X) == before
    for m in (model, spared):
        m.partial_fit(X[30:]).forget([2, 31]).set_nu(0.1)
    assert fingerprint(model, X) == fingerprint(spared, X)


def test_before_anything_was_learnt():
    X = cloud(10)
    model = IncrementalOneClassSVM()
    for call in (
        lambda: model.predict(X),
        lambda: model.forget(0),
        lambda: model.set_C(0.5),
        lambda: model.set_nu(0.5),
        lambda: model.kkt_violation_,
    ):
        with pytest.raises(NotFittedError):
            call()
    with pytest.raises(ValueError, match="NaN"):
        model.add(with_entry(X, np.nan))
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.add(X) == [*range(10)]


def test_memory_limit():
    X = cloud(150)
    options = {"nu": 0.9, "gamma": 2.0}
    needed = IncrementalOneClassSVM(**options).fit(X).memory_ / 2**20
    with pytest.raises(MemoryError, match="cache_size"):
        IncrementalOneClassSVM(cache_size=1e-6, **options).fit(X)
    model = IncrementalOneClassSVM(cache_size=10 * needed, **options).fit(X[:10])
    before = fingerprint(model, X)
    model.set_params(cache_size=1e-6)
    with pytest.raises(MemoryError, match="cache_size"):
        model.add(X[10:])
    assert fingerprint(model, X) == before


def test_a_function_is_a_kernel():
    X = cloud(40)
    for shape in SHAPES:
        model = IncrementalOneClassSVM(nu=0.3, shape=shape, kernel=COMPUTED["poly"]).fit(X).forget([2, 3])
        other = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS["poly"]).fit(X).forget([2, 3])
        scale = np.abs(other.score_samples(X)).max()
        np.testing.assert_allclose(model.score_samples(X), other.score_samples(X), rtol=0, atol=1e-9 * scale)


# ---- nu and C ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_nu_is_the_share_of_outliers(kernel, shape):
    X = cloud(60)
    model = IncrementalOneClassSVM(nu=0.2, shape=shape, **KERNELS[kernel])
    for n in range(1, 61):
        model.partial_fit(X[n - 1 : n])
        optimal(model, X[:n], kernel)
    scale = max(1.0, np.abs(COMPUTED[kernel](X, X)).max())
    values = model.decision_function(X)
    assert np.sum(values < -1e-8 * scale) <= 0.2 * 60 <= len(model.support_)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_setting_nu_is_learning_with_it(kernel, shape):
    X = cloud(40)
    model = IncrementalOneClassSVM(nu=0.5, shape=shape, **KERNELS[kernel]).fit(X)
    start = model.score_samples(X)
    for nu in (0.1, 0.9, 0.03, 1.0, 0.25):
        assert model.set_nu(nu) is model and model.nu == nu and model.C is None
        optimal(model, X, kernel)
        fresh = IncrementalOneClassSVM(nu=nu, shape=shape, **KERNELS[kernel]).fit(X)
        scale = max(1.0, np.abs(fresh.score_samples(X)).max())
        np.testing.assert_allclose(model.score_samples(X), fresh.score_samples(X), rtol=0, atol=1e-8 * scale)
    model.set_nu(0.5)
    np.testing.assert_allclose(model.score_samples(X), start, rtol=0, atol=1e-9 * np.abs(start).max())
    # From nu to C and back.
    model.set_C(0.1)
    assert model.C == 0.1
    optimal(model, X, kernel)
    model.partial_fit(X[:3] + 0.5)
    fresh = IncrementalOneClassSVM(C=0.1, shape=shape, **KERNELS[kernel]).fit(np.r_[X, X[:3] + 0.5])
    scale = max(1.0, np.abs(fresh.score_samples(X)).max())
    np.testing.assert_allclose(model.score_samples(X), fresh.score_samples(X), rtol=0, atol=1e-8 * scale)
    model.set_nu(0.3)
    assert model.nu == 0.3 and model.C is None
    fresh = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS[kernel]).fit(np.r_[X, X[:3] + 0.5])
    np.testing.assert_allclose(model.score_samples(X), fresh.score_samples(X), rtol=0, atol=1e-8 * scale * 10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_nu_one_is_the_mean(kernel, shape):
    X = cloud(20)
    model = IncrementalOneClassSVM(nu=1.0, shape=shape, **KERNELS[kernel])
    for n in range(1, 21):
        model.partial_fit(X[n - 1 : n])
        np.testing.assert_allclose(weights_of(model, range(n)), 1 / n, rtol=1e-12)
        optimal(model, X[:n], kernel)
        assert np.isfinite(model.offset_)
    model.forget([3, 4])
    np.testing.assert_allclose(weights_of(model, model.ids_), 1 / 18, rtol=1e-12)
    optimal(model, X[model.ids_], kernel)


@pytest.mark.parametrize("shape", SHAPES)
def test_nu_tiny_lets_nobody_out(shape):
    X = cloud(40)
    model = IncrementalOneClassSVM(nu=1e-6, shape=shape, **KERNELS["rbf"])
    hard = IncrementalOneClassSVM(C=1.0, shape=shape, **KERNELS["rbf"])
    for n in range(1, 41):
        model.partial_fit(X[n - 1 : n]), hard.partial_fit(X[n - 1 : n])
        np.testing.assert_allclose(weights_of(model, range(n)), weights_of(hard, range(n)), rtol=0, atol=1e-9)
        assert (weights_of(model, range(n)) * (hard.decision_function(X[:n]) > 1e-7)).max() < 1e-9
        scaled = model.decision_function(X[:n]) * (bound(model) if shape == "plane" else 1.0)
        assert scaled.min() > -1e-9


@pytest.mark.parametrize("shape", SHAPES)
def test_fewer_points_than_the_bound_needs(shape):
    X = cloud(12)
    model = IncrementalOneClassSVM(C=0.3, shape=shape, **KERNELS["rbf"])
    for n in range(1, 4):
        assert model.add(X[n - 1 : n]) == [n - 1]
        assert model.ids_.tolist() == [*range(n)] and model.n_samples_seen_ == n
        for call in (model.predict, model.decision_function, model.score_samples):
            with pytest.raises(NotFittedError, match="4"):
                call(X)
    model.forget(1)
    model.add(X[4:5]), model.add(X[5:6])
    held = [0, 2, 4, 5]
    assert model.ids_.tolist() == [0, 2, 3, 4]
    expected = IncrementalOneClassSVM(C=0.3, shape=shape, **KERNELS["rbf"]).fit(X[held])
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), rtol=0, atol=1e-9)
    copied = pickle.loads(pickle.dumps(IncrementalOneClassSVM(C=0.3, shape=shape, **KERNELS["rbf"]).fit(X[:2])))
    copied.partial_fit(X[[2, 3]])
    whole = IncrementalOneClassSVM(C=0.3, shape=shape, **KERNELS["rbf"]).fit(X[:4])
    np.testing.assert_allclose(copied.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("C", [0.3, 0.25, 1.0])
def test_down_to_too_few_points_and_up_again(shape, C):
    """The model is not defined until there are enough points again."""
    X = cloud(12)
    needed = int(np.ceil(1 / C - 1e-9))
    model = IncrementalOneClassSVM(C=C, shape=shape, **KERNELS["rbf"]).fit(X[: needed + 2])
    model.forget([0]).forget([1])
    optimal(model, X[2 : needed + 2], "rbf")
    model.forget([2])
    with pytest.raises(NotFittedError, match=f"defined by {needed} points"):
        model.predict(X)
    model.add(X[10:11])
    held = [*range(3, needed + 2), 10]
    expected = IncrementalOneClassSVM(C=C, shape=shape, **KERNELS["rbf"]).fit(X[held])
    np.testing.assert_allclose(model.score_samples(X), expected.score_samples(X), rtol=0, atol=1e-9)
    K, p = COMPUTED["rbf"](X[held], X[held]), np.full(needed, 0.5 if shape == "sphere" else 0.0)
    a = np.zeros(needed)
    numbers = [*range(3, needed + 2), needed + 2]
    a[:] = weights_of(model, numbers)
    low, high = best_mu(K, p, np.zeros(needed), np.full(needed, C), a)
    mu = -model.offset_ * C if shape == "plane" else (-model.offset_ - a @ K @ a) / 2
    assert low - 1e-9 <= mu <= high + 1e-9


@pytest.mark.parametrize("shape", SHAPES)
def test_a_bound_that_asks_for_more_points(shape):
    X = cloud(10)
    model = IncrementalOneClassSVM(C=0.5, shape=shape, **KERNELS["rbf"]).fit(X)
    model.set_C(0.05)
    with pytest.raises(NotFittedError, match="20"):
        model.predict(X)
    model.set_C(0.5)
    np.testing.assert_allclose(weights_of(model, range(10)).sum(), 1.0)
    optimal(model, X, "rbf")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_copy_follows_the_path(shape):
    X = cloud(50)
    model = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS["rbf"]).fit(X[:30]).forget([3, 4])
    other = pickle.loads(pickle.dumps(model))
    for m in (other, model):
        m.partial_fit(X[30:])
        m.set_nu(0.4)
    assert fingerprint(other, X) == fingerprint(model, X)


# ---- windows and forgetting ----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["oldest", "relevance"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_window_is_exact_at_every_step(kernel, shape, rule):
    X = cloud(60)
    model = IncrementalOneClassSVM(nu=0.25, window=14, window_rule=rule, shape=shape, **KERNELS[kernel])
    for n in range(1, 61):
        before = model.ids_.tolist() if n > 1 else []
        if n > 14:
            K, a, mu, p, _ = parts(model, X[before], kernel)
            slack = K @ a + mu - p
        model.partial_fit(X[n - 1 : n])
        held = model.ids_.tolist()
        assert held[-1] == n - 1 and len(held) == min(n, 14) and held == sorted(held)
        if n > 14:
            (gone,) = set(before) - set(held)
            at = before.index(gone)
            if rule == "oldest":
                assert at == 0
            else:
                least = a <= a.min() + 1e-9
                assert least[at] and slack[at] >= slack[least].max() - 1e-9 * max(1.0, np.abs(K).max())
        optimal(model, X[held], kernel)
        if n % 10 == 0:
            fresh = IncrementalOneClassSVM(nu=0.25, shape=shape, **KERNELS[kernel]).fit(X[held])
            scale = max(1.0, np.abs(fresh.score_samples(X)).max())
            np.testing.assert_allclose(model.score_samples(X), fresh.score_samples(X), rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("options", [{"nu": 0.3}, {"C": 0.1}], ids=str)
def test_what_is_forgotten_was_never_there(options, kernel, shape):
    X = cloud(50)
    model = IncrementalOneClassSVM(**options, shape=shape, **KERNELS[kernel]).fit(X[:30])
    start = model.decision_function(X)
    scale = max(1.0, np.abs(start).max())
    ids = model.add(X[30:])
    assert ids == [*range(30, 50)] and np.abs(model.decision_function(X) - start).max() > 1e-3
    model.forget(ids)
    sure = determined(model)
    difference = model.decision_function(X) - start
    np.testing.assert_allclose(difference if sure else difference - difference.mean(), 0.0, rtol=0, atol=1e-9 * scale)
    model.forget(range(8))
    fresh = IncrementalOneClassSVM(**options, shape=shape, **KERNELS[kernel]).fit(X[8:30])
    np.testing.assert_allclose(model.score_samples(X), fresh.score_samples(X), rtol=0, atol=1e-8 * scale)
    optimal(model, X[8:30], kernel)
    if "nu" in options:  # down to one, and to none
        model.forget(range(8, 29))
        np.testing.assert_allclose(weights_of(model, [29]), [1.0])
        optimal(model, X[29:30], kernel)
        model.forget(29)
        assert model.ids_.tolist() == [] and model.n_samples_ == 0
        with pytest.raises(NotFittedError):
            model.predict(X)
        model.add(X[:10])
        fresh = IncrementalOneClassSVM(**options, shape=shape, **KERNELS[kernel]).fit(X[:10])
        np.testing.assert_allclose(model.score_samples(X), fresh.score_samples(X), rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("shape", SHAPES)
def test_order_does_not_matter(shape):
    X = cloud(40)
    model = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS["rbf"]).fit(X)
    assert determined(model)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(40)
        other = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS["rbf"]).fit(X[order])
        np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), rtol=0, atol=1e-9)
