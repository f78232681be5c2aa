"""IncrementalOneClassSVM by hand, against OneClassSVM, a QP, the smallest ball and the naive twin."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.svm import OneClassSVM

from hingeline import IncrementalOneClassSVM

from .one_class import COMPUTED, KERNELS, SHAPES, cloud, determined, optimal, weights_of
from .oracle.equality_qp import best_mu, equality_qp, objective
from .oracle.naive_incremental import NaiveIncremental

# ---- by hand -------------------------------------------------------------------------------------------


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


# ---- the plane is OneClassSVM --------------------------------------------------------------------------


def batch(X, nu, kernel):
    return OneClassSVM(nu=nu, tol=1e-11 if kernel == "rbf" else 1e-9, shrinking=False, **KERNELS[kernel]).fit(X)


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


# ---- the sphere ----------------------------------------------------------------------------------------


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


# ---- the twin ------------------------------------------------------------------------------------------


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
        assert model.ids_.tolist() == [f"row {k}" for k in twin.held]
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
