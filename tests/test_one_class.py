"""IncrementalOneClassSVM: against OneClassSVM, a QP, the smallest ball and the twin; streams, windows, forgetting."""

import pickle
from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_outlier_detector
from sklearn.exceptions import NotFittedError
from sklearn.svm import OneClassSVM

from hingeline import IncrementalOneClassSVM

from .copies import COPIES
from .oracle.equality_qp import best_mu, equality_qp, kkt_violation, objective
from .oracle.naive_incremental import NaiveIncremental

GAMMA = 0.4
KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": GAMMA},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
}
COMPUTED = {
    "rbf": lambda A, B: np.exp(-GAMMA * ((A[:, None] - B) ** 2).sum(axis=2)),
    "linear": lambda A, B: A @ B.T,
    "poly": lambda A, B: (0.5 * A @ B.T + 1.0) ** 2,
}
SHAPES = ["plane", "sphere"]
MODEL = ("support_", "dual_coef_", "intercept_", "offset_", "n_support_", "n_margin_", "n_samples_", "n_samples_seen_")


def cloud(n, d=2, seed=0):
    """Two clusters off the origin, and strays."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + np.where(rng.random((n, 1)) < 0.6, 2.0, 4.0)
    return np.where(rng.random((n, 1)) < 0.1, 8.0 * rng.random((n, d)), X)


def fingerprint(model, X=None):
    """Everything that a model shows, to the bit."""
    parts = [np.ascontiguousarray(getattr(model, name)).tobytes() for name in MODEL]
    if X is not None:
        parts.append(model.decision_function(X).tobytes())
    return [*parts, repr(model.ids_), repr(model.C), repr(model.nu)]


def bound(model):
    """C of the weights that sum to one."""
    return 1 / (model.nu * model.n_samples_) if model.C is None else model.C


def weights_of(model, numbers):
    """Weights that sum to one, of the samples with these arrival numbers."""
    place = {number: k for k, number in enumerate(numbers)}
    a = np.zeros(len(numbers))
    a[[place[number] for number in model.support_.tolist()]] = model.dual_coef_[0]
    return a * bound(model) if model.shape == "plane" else a


def parts(model, X, kernel):
    """K, a, mu, p, C: the problem and the solution as the model shows it; X: the rows held, numbered by `ids_`."""
    K = COMPUTED[kernel](X, X)
    a, C = weights_of(model, model.ids_), bound(model)
    if model.shape == "plane":
        return K, a, -model.offset_ * C, np.zeros(len(K)), C
    return K, a, (-model.offset_ - a @ K @ a) / 2, K.diagonal() / 2, C


def optimal(model, X, kernel, atol=1e-9):
    """The conditions for an optimum, and that decision values are what they are said to be."""
    K, a, mu, p, C = parts(model, X, kernel)
    n = len(K)
    largest = np.abs(K).max()
    violation = kkt_violation(K, a, mu, np.zeros(n), np.full(n, C), p, 1.0, slack=1e-12)
    assert violation <= atol * max(1.0, C * largest)
    assert model.kkt_violation() <= atol * max(1.0, C * largest)
    distance = K.diagonal() - 2 * K @ a + a @ K @ a
    values = (K @ a + mu) / C if model.shape == "plane" else -model.offset_ - distance
    np.testing.assert_allclose(model.decision_function(X), values, rtol=0, atol=1e-11 * (1 + largest) / min(C, 1.0))


def determined(model):
    """Whether some weight is between its bounds, so that there is only one offset."""
    share = model.dual_coef_[0] if model.shape == "plane" else model.dual_coef_[0] / bound(model)
    return bool(np.any((share > 1e-9) & (share < 1 - 1e-9)))


def batch(X, nu, kernel):
    return OneClassSVM(nu=nu, tol=1e-11 if kernel == "rbf" else 1e-9, shrinking=False, **KERNELS[kernel]).fit(X)


# ---- by hand ---------------------------------------------------------------------------------------------------


def test_sphere_by_hand():
    # C = 1: the smallest ball.  0 and 2: centre 1, radius 1.  3 comes: 0 and 3, 1.5.  1 is inside.  0 goes: 1 and 3.
    model = IncrementalOneClassSVM(C=1.0, shape="sphere", kernel="linear")

    def check(weights, centre, radius):
        np.testing.assert_allclose(weights_of(model, model.ids_), weights, rtol=0, atol=1e-14)
        np.testing.assert_allclose(model.center_, [centre], rtol=0, atol=1e-14)
        assert model.radius_ == pytest.approx(radius, abs=1e-14)
        assert model.offset_ == pytest.approx(-(radius**2), abs=1e-14)

    assert model.add([[0.0]]) == [0]
    check([1.0], 0.0, 0.0)
    model.partial_fit([[2.0]])
    check([0.5, 0.5], 1.0, 1.0)
    model.partial_fit([[3.0], [1.0]])
    check([0.5, 0.0, 0.5, 0.0], 1.5, 1.5)
    np.testing.assert_allclose(model.decision_function([[0.0], [1.5], [4.0]]), [0.0, 2.25, -4.0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(model.score_samples([[0.0], [1.5], [4.0]]), [-2.25, 0.0, -6.25], rtol=0, atol=1e-14)
    assert model.predict([[1.5], [4.0]]).tolist() == [1, -1]
    assert model.forget(0) is model
    check([0.0, 0.5, 0.5], 2.0, 1.0)
    # C = 1/2: two of 2, 3, 1 share the weight; the centre stays in the middle, one of them may be outside.
    model.set_C(0.5)
    assert model.dual_coef_.sum() == pytest.approx(1.0) and (model.dual_coef_ <= 0.5).all()


def test_plane_by_hand():
    # Linear, nu = 1/2: w is the mean of the two points nearest to the origin along w.
    model = IncrementalOneClassSVM(nu=0.5, kernel="linear").fit([[1.0], [2.0], [3.0], [4.0]])
    np.testing.assert_allclose(np.sort(model.dual_coef_[0]), [1.0, 1.0], rtol=0, atol=1e-14)
    assert sorted(model.support_.tolist()) == [0, 1]
    # w = 3 in the scale of OneClassSVM; the border is anywhere between 2 and 3.
    assert 6.0 - 1e-12 <= model.offset_ <= 9.0 + 1e-12
    np.testing.assert_allclose(model.score_samples([[1.0], [5.0]]), [3.0, 15.0], rtol=0, atol=1e-12)


# ---- the plane is OneClassSVM ----------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.77])
@pytest.mark.parametrize("kernel", KERNELS)
def test_plane_is_one_class_svm_at_every_n(kernel, nu):
    X = cloud(50)
    model = IncrementalOneClassSVM(nu=nu, **KERNELS[kernel])
    K = COMPUTED[kernel](X, X)
    compared = 0
    for n in range(1, 51):
        model.partial_fit(X[n - 1 : n])
        optimal(model, X[:n], kernel)
        assert model.dual_coef_.sum() == pytest.approx(nu * n)
        assert model.dual_coef_.max() <= 1 + 1e-14 and model.dual_coef_.min() > 0
        if n % 3 and n > 5:
            continue
        a, mu = equality_qp(K[:n, :n], np.zeros(n), 0.0, 1 / (nu * n), 1.0)
        value = objective(K[:n, :n], np.zeros(n), a)
        assert objective(K[:n, :n], np.zeros(n), weights_of(model, range(n))) == pytest.approx(value, rel=1e-9)
        reference = batch(X[:n], nu, kernel)
        scale = max(1.0, np.abs(reference.score_samples(X)).max())
        np.testing.assert_allclose(model.score_samples(X), reference.score_samples(X), rtol=0, atol=1e-5 * scale)
        if determined(model):
            np.testing.assert_allclose(model.offset_, reference.offset_, rtol=0, atol=1e-5 * scale)
            assert -model.offset_ / (nu * n) == pytest.approx(mu, abs=1e-5 * max(1.0, abs(mu)))
            compared += 1
    assert compared > 8
    np.testing.assert_allclose(model.intercept_, [-model.offset_])


# ---- the sphere ------------------------------------------------------------------------------------------------


def smallest_ball(X):
    """Centre and radius, by trying the balls through two or three points of a plane."""
    best = None
    for size in (2, 3):
        for some in combinations(range(len(X)), size):
            P = X[list(some)]
            if size == 2:
                centre = P.mean(axis=0)
            else:
                A = 2 * (P[1:] - P[0])
                if abs(np.linalg.det(A)) < 1e-12:
                    continue
                centre = np.linalg.solve(A, (P[1:] ** 2).sum(axis=1) - (P[0] ** 2).sum())
            radius = np.sqrt(((P - centre) ** 2).sum(axis=1).max())
            if (best is None or radius < best[1]) and (
                ((X - centre) ** 2).sum(axis=1) <= radius**2 * (1 + 1e-12)
            ).all():
                best = centre, radius
    return best


@pytest.mark.parametrize("seed", range(3))
def test_linear_sphere_is_the_smallest_ball(seed):
    X = cloud(14, seed=seed)
    model = IncrementalOneClassSVM(C=1.0, shape="sphere", kernel="linear")
    for n in range(1, 15):
        model.partial_fit(X[n - 1 : n])
        if n == 1:
            continue
        centre, radius = smallest_ball(X[:n])
        np.testing.assert_allclose(model.center_, centre, rtol=0, atol=1e-9)
        assert model.radius_ == pytest.approx(radius, rel=1e-9)
        np.testing.assert_allclose(
            model.decision_function(X), radius**2 - ((X - centre) ** 2).sum(axis=1), rtol=0, atol=1e-8
        )
    for k in range(10):
        model.forget(k)
        centre, radius = smallest_ball(X[k + 1 :])
        np.testing.assert_allclose(model.center_, centre, rtol=0, atol=1e-9)
        assert model.radius_ == pytest.approx(radius, rel=1e-9)


@pytest.mark.parametrize("C", [0.05, 1 / 15, 0.07, 0.3, 1.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_sphere_is_the_qp_at_every_n(kernel, C):
    X = cloud(40)
    model = IncrementalOneClassSVM(C=C, shape="sphere", **KERNELS[kernel])
    K = COMPUTED[kernel](X, X)
    needed = int(np.ceil(1 / C - 1e-9))
    for n in range(1, 41):
        model.partial_fit(X[n - 1 : n])
        assert model.n_samples_ == n
        if n < needed:
            with pytest.raises(NotFittedError, match=str(needed)):
                model.predict(X)
            continue
        optimal(model, X[:n], kernel)
        assert model.dual_coef_.sum() == pytest.approx(1.0)
        if n % 5 and n != needed:
            continue
        part, p = K[:n, :n], K.diagonal()[:n] / 2
        a, _ = equality_qp(part, p, 0.0, C, 1.0)
        weights = weights_of(model, range(n))
        assert objective(part, p, weights) == pytest.approx(objective(part, p, a), rel=1e-8, abs=1e-9)
        square = weights @ part @ weights
        low, high = best_mu(part, p, np.zeros(n), np.full(n, C), weights)
        assert 2 * low + square - 1e-7 <= model.radius_**2 <= 2 * high + square + 1e-7
        assert -model.offset_ == pytest.approx(model.radius_**2)
        # Distances from the centre, in the space of the kernel.
        distance = K.diagonal() - 2 * K[:, :n] @ weights + square
        np.testing.assert_allclose(model.score_samples(X), -distance, rtol=0, atol=1e-9 * max(1.0, K.max()))
        np.testing.assert_allclose(
            model.decision_function(X), model.radius_**2 - distance, rtol=0, atol=1e-9 * max(1.0, K.max())
        )
        outside = model.decision_function(X[:n]) < -1e-8 * max(1.0, K.max())
        assert outside.sum() <= 1 / C + 1e-9
    if kernel == "linear":
        np.testing.assert_allclose(model.center_, weights_of(model, range(40)) @ X, rtol=0, atol=1e-12)
    else:
        assert not hasattr(model, "center_")


@pytest.mark.parametrize("C", [0.05, 0.3])
def test_sphere_is_the_plane_where_all_rows_have_one_length(C):
    X = cloud(40)
    plane, sphere = (IncrementalOneClassSVM(C=C, shape=shape, **KERNELS["rbf"]).fit(X) for shape in SHAPES)
    np.testing.assert_allclose(weights_of(plane, range(40)), weights_of(sphere, range(40)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(2 * C * plane.decision_function(X), sphere.decision_function(X), rtol=0, atol=1e-9)
    a = weights_of(sphere, range(40))
    rho = plane.offset_ * C
    assert sphere.radius_**2 == pytest.approx(1 - 2 * rho + a @ COMPUTED["rbf"](X, X) @ a, abs=1e-9)
    assert not hasattr(plane, "radius_") and not hasattr(plane, "center_")


# ---- nu and C --------------------------------------------------------------------------------------------------


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
        assert model.ids_ == [*range(n)] and model.n_samples_seen_ == n
        for call in (model.predict, model.decision_function, model.score_samples):
            with pytest.raises(NotFittedError, match="4"):
                call(X)
    model.forget(1)
    model.add(X[4:5]), model.add(X[5:6])
    held = [0, 2, 4, 5]
    assert model.ids_ == [0, 2, 3, 4]
    expected = IncrementalOneClassSVM(C=0.3, shape=shape, **KERNELS["rbf"]).fit(X[held])
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), rtol=0, atol=1e-9)
    copied = pickle.loads(pickle.dumps(IncrementalOneClassSVM(C=0.3, shape=shape, **KERNELS["rbf"]).fit(X[:2])))
    copied.partial_fit(X[[2, 3]])
    whole = IncrementalOneClassSVM(C=0.3, shape=shape, **KERNELS["rbf"]).fit(X[:4])
    np.testing.assert_allclose(copied.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("C", [0.3, 0.25, 1.0])
def test_down_to_too_few_points_and_up_again(shape, C):
    """Either the model refuses, and stays as it is, or it is not defined until there are enough points again."""
    X = cloud(12)
    needed = int(np.ceil(1 / C - 1e-9))
    model = IncrementalOneClassSVM(C=C, shape=shape, **KERNELS["rbf"]).fit(X[: needed + 2])
    model.forget([0]).forget([1])
    optimal(model, X[2 : needed + 2], "rbf")
    before = fingerprint(model, X)
    try:
        model.forget([2])
    except ValueError as refusal:
        assert "C" in str(refusal)
        assert fingerprint(model, X) == before
        model.add(X[10:11])
        model.forget([2])
    else:
        with pytest.raises(NotFittedError):
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
    before = fingerprint(model, X)
    try:
        model.set_C(0.05)
    except ValueError as refusal:
        assert "C" in str(refusal)
        assert fingerprint(model, X) == before and model.C == 0.5
    else:
        with pytest.raises(NotFittedError, match="20"):
            model.predict(X)
        model.set_C(0.5)
        np.testing.assert_allclose(weights_of(model, range(10)).sum(), 1.0)
    optimal(model, X, "rbf")


# ---- the twin, streams, windows --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_any_operation_is_the_twin(seed, shape):
    n = 50
    X = cloud(n, seed=seed)
    rng = np.random.default_rng(seed)
    C = 0.11
    model = IncrementalOneClassSVM(C=C, shape=shape, **KERNELS["rbf"])
    twin = getattr(NaiveIncremental, shape)(COMPUTED["rbf"](X, X), C)
    arrived, compared = [], 0
    for _ in range(130):
        away = [k for k in range(n) if k not in twin.held]
        chance = rng.random()
        if away and (chance < 0.6 or len(twin.held) < 12):
            k = int(rng.choice(away))
            arrived += [k]
            model.add(X[k : k + 1], ids=[f"row {k}"])
            twin.learn(k)
        elif chance < 0.9:
            k = int(rng.choice(twin.held))
            model.forget(f"row {k}")
            twin.unlearn(k)
        else:
            model.set_C(float(rng.uniform(0.1, 1.0)))
            twin.set_C(model.C)
        assert model.ids_ == [f"row {k}" for k in twin.held]
        if not twin.defined:
            continue
        a = np.zeros(n)
        a[[arrived[number] for number in model.support_]] = model.dual_coef_[0]
        a *= model.C if shape == "plane" else 1.0
        np.testing.assert_allclose(a, twin.a, rtol=0, atol=1e-9)
        if determined(model):
            expected = -twin.mu / model.C if shape == "plane" else -twin.radius2
            assert model.offset_ == pytest.approx(expected, abs=1e-8)
            compared += 1
    assert compared > 60


@settings(max_examples=20, deadline=None)
@given(
    cuts=st.sets(st.integers(1, 39), max_size=6),
    shape=st.sampled_from(SHAPES),
    kernel=st.sampled_from(sorted(KERNELS)),
    options=st.sampled_from([{"nu": 0.3}, {"C": 0.09}, {"nu": 0.2, "window": 11}]),
)
def test_any_chunks(cuts, shape, kernel, options):
    """The same optimum; not the same bits, since several points are learnt another way than one."""
    X = cloud(40)
    options = {**options, "shape": shape, **KERNELS[kernel]}
    whole = IncrementalOneClassSVM(**options).fit(X)
    model = IncrementalOneClassSVM(**options)
    for begin, end in pairwise([0, *sorted(cuts), 40]):
        model.partial_fit(X[begin:end])
    assert model.ids_ == whole.ids_
    scale = max(1.0, np.abs(whole.score_samples(X)).max())
    np.testing.assert_allclose(model.score_samples(X), whole.score_samples(X), rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("rule", ["oldest", "relevance"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_window_is_exact_at_every_step(kernel, shape, rule):
    X = cloud(60)
    model = IncrementalOneClassSVM(nu=0.25, window=14, window_rule=rule, shape=shape, **KERNELS[kernel])
    for n in range(1, 61):
        before = model.ids_ if n > 1 else []
        if n > 14:
            K, a, mu, p, _ = parts(model, X[before], kernel)
            slack = K @ a + mu - p
        model.partial_fit(X[n - 1 : n])
        held = model.ids_
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
        assert model.ids_ == [] and model.n_samples_ == 0
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


def as_csr(kind):
    def convert(X):
        X = sp.csr_array(X)
        return sp.csr_array((X.data, X.indices.astype(kind), X.indptr.astype(kind)), shape=X.shape)

    return convert


@pytest.mark.parametrize(
    "make", [np.asfortranarray, as_csr(np.int32), as_csr(np.int64)], ids=["fortran", "csr", "wide"]
)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_form_does_not_matter(kernel, shape, make):
    X = cloud(40, 4) * (np.random.default_rng(0).random((40, 4)) < 0.6)
    expected = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS[kernel]).fit(X).forget([3, 9])
    model = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS[kernel]).fit(make(X)).forget([3, 9])
    assert fingerprint(model, X) == fingerprint(expected, X)
    np.testing.assert_allclose(model.decision_function(make(X)), expected.decision_function(X), rtol=1e-13, atol=1e-12)
    single = X.astype(np.float32)
    model = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS[kernel]).fit(make(single))
    expected = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS[kernel]).fit(single.astype(np.float64))
    assert fingerprint(model, X) == fingerprint(expected, X)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("options", [{"nu": 0.3}, {"nu": 1.0}, {"nu": 0.01}, {"C": 0.2}], ids=str)
@pytest.mark.parametrize("few", [1, 3])
def test_equal_rows(few, options, kernel, shape):
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 0.0]])[:few]
    X = rows[np.arange(15) % few]
    model = IncrementalOneClassSVM(**options, shape=shape, **KERNELS[kernel])
    ready = 5 if "C" in options else 1
    for n in range(1, 16):
        model.partial_fit(X[n - 1 : n])
        if n >= ready:
            optimal(model, X[:n], kernel)
    for k in (0, 7, 14, 3, 8):
        model.forget(k)
        optimal(model, X[model.ids_], kernel)
    if few == 1 and shape == "sphere":
        assert model.radius_ < 1e-6


# ---- a good outlier detector -----------------------------------------------------------------------------------


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


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("options", [{"nu": 0.3}, {"C": 0.1}, {"nu": 0.3, "window": 20}], ids=str)
def test_save_and_resume(options, shape, copied):
    X = cloud(50)
    model = IncrementalOneClassSVM(**options, shape=shape, **KERNELS["rbf"]).fit(X[:30])
    model.forget(model.ids_[3:5])
    other = COPIES[copied](model)
    before = fingerprint(model, X)
    assert fingerprint(other, X) == before
    for m in (other, model):
        assert fingerprint(m, X) == before  # nothing is shared
        m.partial_fit(X[30:])
        m.forget(m.ids_[1])
        m.set_nu(0.4)
    assert fingerprint(other, X) == fingerprint(model, X)


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
        "memory_limit": 5.0,
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
        {"memory_limit": 0},
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


def with_entry(X, value):
    X = X.copy()
    X[1, 1] = value
    return X


BAD_CALLS = {
    "NaN": lambda m, X: m.add(with_entry(X, np.nan)),
    "infinity": lambda m, X: m.partial_fit(with_entry(X, np.inf)),
    "features": lambda m, X: m.add(X[:, :1]),
    "2D": lambda m, X: m.add(X[0]),
    "0 sample|minimum of 1": lambda m, X: m.add(X[:0]),
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
        lambda: model.kkt_violation(),
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
    with pytest.raises(MemoryError, match="memory_limit"):
        IncrementalOneClassSVM(memory_limit=1e-6, **options).fit(X)
    model = IncrementalOneClassSVM(memory_limit=10 * needed, **options).fit(X[:10])
    before = fingerprint(model, X)
    model.set_params(memory_limit=1e-6)
    with pytest.raises(MemoryError, match="memory_limit"):
        model.add(X[10:])
    assert fingerprint(model, X) == before


def test_a_function_is_a_kernel():
    X = cloud(40)
    for shape in SHAPES:
        model = IncrementalOneClassSVM(nu=0.3, shape=shape, kernel=COMPUTED["poly"]).fit(X).forget([2, 3])
        other = IncrementalOneClassSVM(nu=0.3, shape=shape, **KERNELS["poly"]).fit(X).forget([2, 3])
        scale = np.abs(other.score_samples(X)).max()
        np.testing.assert_allclose(model.score_samples(X), other.score_samples(X), rtol=0, atol=1e-9 * scale)
