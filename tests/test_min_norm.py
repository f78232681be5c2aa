"""The minimal-norm machine: against the naive twin, its geometry, all classes at once.

What the solvers of L2SVC have in common is in test_l2.py and test_l2_use.py.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale

from hingeline import L2SVC

from .l2 import coefficients, noisy, same, signs
from .oracle.l2_svm import k_hat, l2_svm, nonnegative
from .oracle.naive_min_norm import naive_min_norm
from .private import min_norm_walk as walk

each_solver = pytest.mark.parametrize("solver", ["min_norm_mdm", "min_norm"])


def check_steps(path, Q, solver):
    """Every step is one that the rules allow; rounding errors may decide ties.

    Steps until there was a tie: the two rows of a step have equal values after it.
    """
    clear = None
    for t, (u, after) in enumerate(pairwise(path)):
        F = Q @ u
        v, p = (int(np.argmax(after - u)), int(np.argmin(after - u)))
        assert F[v] <= F.min() + 1e-12
        others = np.flatnonzero((u > 0) & (np.arange(len(u)) != v))
        fall, bend = F[others] - F[v], Q[others, others] + Q[v, v] - 2 * Q[others, v]
        theta = np.minimum(fall / bend, u[others])
        merit = 2 * theta * fall - theta**2 * bend if solver == "min_norm" else fall
        (k,) = np.flatnonzero(others == p)
        assert merit[k] >= merit.max() - 1e-12
        expected = u.copy()
        expected[v] += theta[k]
        expected[p] -= theta[k]
        np.testing.assert_allclose(after, expected, atol=1e-12)
        if clear is None and max((F < F.min() + 1e-10).sum(), (merit > merit.max() - 1e-10).sum()) > 1:
            clear = t
    return len(path) - 1 if clear is None else clear


@each_solver
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("n", [7, 60, 251])
def test_steps_of_the_naive_twin(n, C, bias, solver):
    X, y = noisy(n, 3, seed=n)
    K = rbf_kernel(X, gamma=0.5)
    Q = k_hat(K, signs(y), C, bias)
    path, result = walk(K, y, C=C, fit_intercept=bias, solver=solver, most=200)
    clear = check_steps(path, Q, solver)
    assert clear > (solver == "min_norm")
    twin = naive_min_norm(K, signs(y), C=C, fit_intercept=bias, improved=solver == "min_norm", max_iter=clear)
    assert twin.steps == clear
    np.testing.assert_allclose(path[clear], twin.u, rtol=1e-9, atol=1e-12)
    values = [u @ Q @ u for u in path]
    assert np.diff(values).max() < 1e-13 * values[0], "the norm falls with every step"
    for u in path:
        assert (u >= 0).all()
        np.testing.assert_allclose(u.sum(), 1.0, rtol=1e-13)
    np.testing.assert_allclose(result["dual"], 1 / (2 * values[-1]), rtol=1e-10)


@each_solver
def test_as_many_steps_as_the_twin(solver):
    X, y = noisy(100, 3, seed=3)
    K = rbf_kernel(X, gamma=0.5)
    clf = L2SVC(C=2.0, kernel="precomputed", solver=solver).fit(K, y)
    twin = naive_min_norm(K, signs(y), C=2.0, improved=solver == "min_norm")
    assert abs(clf.n_iter_[0] - twin.steps) <= 0.05 * twin.steps
    np.testing.assert_allclose(clf.dual_objective_[0], 1 / (2 * twin.w2), rtol=1e-4)


def test_two_steps_by_hand():
    # Linear kernel, points 2, 1, -1 with labels +1, +1, -1, C = 1, no bias: Q = [[5, 2, 2], [2, 2, 1], [2, 1, 2]].
    # u = e_0: F = 5, 2, 2, w2 = 5. Row 1 is the lowest: theta = 3 / (5 + 2 - 4) = 1, all of u_0: u = e_1.
    # F = 2, 2, 1, w2 = 2. Row 2: theta = 1 / (2 + 2 - 2) = 1/2: u = 0, 1/2, 1/2, F = 2, 3/2, 3/2, w2 = 3/2: done.
    K = np.array([[4.0, 2, -2], [2, 1, -1], [-2, -1, 1]])
    for solver in ("min_norm_mdm", "min_norm"):
        path, result = walk(K, np.array([1, 1, 0]), fit_intercept=False, solver=solver)
        np.testing.assert_allclose(path, [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]], rtol=1e-15)
        assert result["reason"] == "tol" and result["dual"] == pytest.approx(1 / 3)
        np.testing.assert_allclose(result["v"], [1 / 3, 1 / 3])


def test_the_better_partner_is_not_the_farthest():
    X, y = noisy(80, 2, seed=5)
    K = rbf_kernel(X, gamma=0.5)
    steps = {
        solver: L2SVC(C=50.0, gamma=0.5, solver=solver).fit(X, y).n_iter_[0] for solver in ("min_norm_mdm", "min_norm")
    }
    assert steps["min_norm"] < 0.7 * steps["min_norm_mdm"]
    paths = [walk(K, y, C=50.0, solver=solver, most=60)[0] for solver in ("min_norm_mdm", "min_norm")]
    assert not np.allclose(paths[0][-1], paths[1][-1], atol=1e-3)


@each_solver
def test_geometry(solver):
    X, y = noisy(150, 3, seed=2)
    K = rbf_kernel(X, gamma=0.4)
    exact = l2_svm(K, signs(y), 4.0)
    clf = L2SVC(C=4.0, gamma=0.4, tol=1e-9, solver=solver).fit(X, y)
    v = coefficients(clf, y)
    u = v / v.sum()
    F = k_hat(K, signs(y), 4.0) @ u
    w2 = u @ F
    np.testing.assert_allclose(F.min(), w2, rtol=1e-8)
    np.testing.assert_allclose(w2, 1 / exact.v.sum(), rtol=1e-7)
    np.testing.assert_allclose(clf.dual_objective_[0], 1 / (2 * w2), rtol=1e-9)
    # The machine of the hull is the other one times w2.
    other = L2SVC(solver="nnisda", C=4.0, gamma=0.4, tol=1e-9).fit(X, y)
    f_hull = (K + 1) @ (u * signs(y))
    np.testing.assert_allclose(f_hull, w2 * other.decision_function(X), atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 40),
    st.integers(1, 3),
    st.sampled_from([0.1, 2.0]),
    st.booleans(),
    st.sampled_from(["min_norm_mdm", "min_norm"]),
    st.integers(0, 2**31 - 1),
)
def test_grids_with_duplicates(n, d, C, bias, solver, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = rng.integers(0, 2, size=n)
    y[:2] = [0, 1]
    K = rbf_kernel(X, gamma=0.5)
    path, _ = walk(K, y, C=C, fit_intercept=bias, solver=solver, most=60)
    check_steps(path, k_hat(K, signs(y), C, bias), solver)


@each_solver
def test_of_equal_samples_the_first(solver):
    # Four equal samples, labels in turn: from row 0 all weight that moves goes to row 1, the lowest of its class.
    path, _ = walk(np.ones((4, 4)), np.array([1, 0, 1, 0]), fit_intercept=False, solver=solver, most=1)
    np.testing.assert_allclose(path[0], [1, 0, 0, 0])
    assert np.flatnonzero(path[1]).tolist() == [0, 1]


# ---- all classes at once -------------------------------------------------------------------------------


def four_classes(n=120):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    return rng.standard_normal((n, 3)) + 1.2 * np.eye(4, 3)[y], y


@each_solver
@pytest.mark.parametrize("bias", [True, False])
def test_all_at_once_is_the_twin(solver, bias):
    X, y = four_classes()
    K = rbf_kernel(X, gamma=0.5)
    Q = k_hat(K, None, 2.0, bias, None, y)
    path, _ = walk(K, y, C=2.0, fit_intercept=bias, solver=solver, most=200)
    clear = check_steps(path, Q, solver)
    assert clear > (solver == "min_norm")
    twin = naive_min_norm(K, None, C=2.0, fit_intercept=bias, improved=solver == "min_norm", codes=y, max_iter=clear)
    np.testing.assert_allclose(path[clear], twin.u, rtol=1e-9, atol=1e-12)


@each_solver
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", [True, False])
def test_all_at_once_is_optimal(solver, bias, weighted):
    X, y = four_classes()
    K = rbf_kernel(X, gamma=0.5)
    weight = 0.5 + np.random.default_rng(3).random(len(y)) if weighted else None
    Q = k_hat(K, None, 2.0, bias, weight, y)
    v = nonnegative(Q)
    clf = L2SVC(C=2.0, gamma=0.5, fit_intercept=bias, multi_class="all", solver=solver, tol=1e-9)
    clf.fit(X, y, sample_weight=weight)
    assert clf.dual_coef_.shape == (4, len(clf.support_)) and clf.n_iter_.shape == (1,)
    lines = np.where(np.arange(4)[:, None] == y, 1.0, -1 / 3) * v
    whole = np.zeros((4, len(y)))
    whole[:, clf.support_] = clf.dual_coef_
    np.testing.assert_allclose(whole, lines, atol=1e-6)
    np.testing.assert_allclose(clf.dual_objective_, [v.sum() - v @ Q @ v / 2], rtol=1e-8)
    assert 0 <= clf.duality_gap_[0] + 1e-9 < 1e-5
    np.testing.assert_allclose(clf.intercept_, lines.sum(axis=1) if bias else np.zeros(4), atol=1e-6)
    decisions = (K + bias) @ lines.T
    np.testing.assert_allclose(clf.decision_function(X), decisions, atol=1e-5)
    np.testing.assert_array_equal(clf.predict(X), decisions.argmax(axis=1))


def test_all_at_once_of_two_classes_is_the_pair():
    X, y = noisy(100, 3, seed=4)
    same(L2SVC(gamma=0.5, multi_class="all").fit(X, y), L2SVC(gamma=0.5).fit(X, y))


def test_all_at_once_on_real_sets():
    for load, gamma, least in [(load_wine, 0.5, 0.98), (load_digits, 0.05, 0.97)]:
        X, y = load(return_X_y=True)
        clf = L2SVC(C=16, gamma=gamma, multi_class="all").fit(minmax_scale(X), y)
        assert clf.score(minmax_scale(X), y) >= least
        tiny = L2SVC(C=16, gamma=gamma, multi_class="all", cache_size=0.05).fit(minmax_scale(X), y)
        same(clf, tiny)


def test_all_at_once_starts_where_another_ended():
    X, y = four_classes()
    guess = L2SVC(C=2.0, gamma=0.5, multi_class="all", tol=1e-6).fit(X, y)
    again = L2SVC(C=2.0, gamma=0.5, multi_class="all").fit(X, y, dual_init=guess)
    assert again.n_iter_.tolist() == [0]
    np.testing.assert_allclose(again.decision_function(X), guess.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="for all"):
        L2SVC().fit(X, y, dual_init=guess)
    with pytest.raises(ValueError, match="for all"):
        guess.fit(X, y, dual_init=L2SVC(solver="nnisda").fit(X, y))


def test_all_at_once_without_a_class_is_that_without_its_samples():
    X, y = four_classes()
    kept = y != 2
    weighted = L2SVC(gamma=0.5, multi_class="all").fit(X, y, sample_weight=kept.astype(float))
    without = L2SVC(gamma=0.5, multi_class="all").fit(X[kept], y[kept])
    np.testing.assert_array_equal(weighted.dual_coef_[[0, 1, 3]], without.dual_coef_)
    np.testing.assert_array_equal(weighted.predict(X), without.predict(X))


@pytest.mark.parametrize("name, value", [("solver", "smo"), ("multi_class", "ovr")])
def test_bad_parameters(name, value):
    X, y = noisy(20, 2, seed=0)
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        L2SVC(**{name: value}).fit(X, y)
