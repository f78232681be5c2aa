"""What the solvers of L2SVC have in common: one problem, one solution, the same laws."""

import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from hingeline import L2SVC, LinearSVC

from .l2 import auto, coefficients, each_machine, easy, imdm, mdm, nnisda, noisy, same, signs, violation
from .oracle.l2_svm import dual, k_hat, l2_svm, nonnegative, primal
from .private import kernel_matrix

# ---- the solution --------------------------------------------------------------------------------------


@each_machine
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_the_optimum(machine, C, bias, kernel):
    X, y = noisy(120, 3, seed=int(C) + bias)
    K = rbf_kernel(X, gamma=0.4) if kernel == "rbf" else polynomial_kernel(X, degree=2, gamma=0.4, coef0=1.0)
    exact = l2_svm(K, signs(y), C, bias)
    clf = machine(C=C, fit_intercept=bias, tol=1e-9, kernel=kernel, gamma=0.4, degree=2, coef0=1.0).fit(X, y)
    assert clf.stop_reason_.tolist() == ["tol"] and clf.kkt_violation_[0] <= 1e-9
    v = coefficients(clf, y)
    assert (v >= 0).all()
    np.testing.assert_allclose(v, exact.v, atol=1e-6 * exact.v.max())
    np.testing.assert_allclose(clf.dual_objective_[0], exact.dual, rtol=1e-8)
    np.testing.assert_allclose(clf.dual_objective_[0], dual(K, signs(y), v, C, bias), rtol=1e-10)
    gap = primal(K, signs(y), v, C, bias) - dual(K, signs(y), v, C, bias)
    np.testing.assert_allclose(clf.duality_gap_[0], gap, rtol=1e-6, atol=1e-9 * exact.dual)
    np.testing.assert_allclose(clf.intercept_[0], exact.b, atol=1e-6 * exact.v.max())
    outputs = (K + bias) @ (v * signs(y))
    np.testing.assert_allclose(clf.decision_function(X), outputs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(clf.decision_scale_[0], np.abs(outputs).max(), rtol=1e-9)


@pytest.mark.parametrize("machine", [imdm, mdm, nnisda])
def test_only_the_steps_of_the_papers(machine):
    X, y = easy(4200, seed=1)
    ours, paper = (one(C=1.0, gamma=0.4).fit(X, y) for one in (auto, machine))
    assert ours.n_iter_[0] != paper.n_iter_[0] > len(paper.support_)
    assert paper.stop_reason_.tolist() == ["tol"]
    np.testing.assert_allclose(paper.dual_objective_, ours.dual_objective_, rtol=4e-3)


@each_machine
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
def test_tol_is_the_violation_that_is_left(machine, tol):
    X, y = noisy(200, 3, seed=3)
    K = rbf_kernel(X, gamma=0.4)
    clf = machine(C=5.0, tol=tol, gamma=0.4).fit(X, y)
    v = coefficients(clf, y)
    r = 1 - k_hat(K, signs(y), 5.0) @ v
    left = violation(K, signs(y), v, 5.0) if machine is nnisda else r.max()
    assert 0 < left <= tol
    np.testing.assert_allclose(clf.kkt_violation_[0], left, rtol=1e-6)
    # The gap is what the primal of these coefficients says, and it is small.
    gap = primal(K, signs(y), v, 5.0) - dual(K, signs(y), v, 5.0)
    np.testing.assert_allclose(clf.duality_gap_[0], gap, rtol=1e-6)
    assert 0 < gap < 3 * tol * clf.dual_objective_[0]


def test_newton_s_method_that_finds_nothing_finite():
    # No function of the kernel separates these rows, which are multiples of one another to rounding.
    X = [
        [0.04515097201245933, 0.1564691292164515],
        [-0.3243571136135744, -1.124048339607677],
        [-0.5996368286005995, -2.078020654602068],
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = L2SVC(C=1e100, kernel="linear").fit(X, [0, 1, 0])
    assert model.stop_reason_[0] == "precision" and np.isfinite(model.decision_function(X)).all()


def test_all_give_the_same_classifier():
    X, y = noisy(250, 4, seed=1)
    models = [machine(C=3.0, gamma=0.3, tol=1e-8).fit(X, y) for machine in (auto, imdm, mdm, nnisda)]
    grid = np.random.default_rng(0).standard_normal((500, 4))
    values = [clf.decision_function(grid) for clf in models]
    for other in values[1:]:
        np.testing.assert_allclose(values[0], other, atol=1e-6)
        np.testing.assert_array_equal(np.sign(values[0]), np.sign(other))


@each_machine
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.5, 5.0])
def test_linear_kernel_is_the_finite_newton_machine(machine, C, bias):
    X, y = noisy(150, 4, seed=2)
    clf = machine(C=C, fit_intercept=bias, kernel="linear", tol=1e-10).fit(X, y)
    # LinearSVC halves no loss.
    newton = LinearSVC(C=C / 2, loss="squared_hinge", fit_intercept=bias, tol=1e-14).fit(X, y)
    np.testing.assert_allclose(clf.coef_, newton.coef_, atol=1e-6)
    np.testing.assert_allclose(clf.intercept_, newton.intercept_, atol=1e-6)


@each_machine
def test_swapping_labels_swaps_signs(machine):
    X, y = noisy(200, 4, seed=1)
    one, other = machine(gamma=0.4, tol=1e-8).fit(X, y), machine(gamma=0.4, tol=1e-8).fit(X, 1 - y)
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-6)


# ---- weights -------------------------------------------------------------------------------------------


@each_machine
def test_weights_are_penalties(machine):
    X, y = noisy(120, 3, seed=4)
    weight = 0.2 + np.random.default_rng(1).random(120)
    exact = l2_svm(rbf_kernel(X, gamma=0.5), signs(y), 2.0, True, weight)
    clf = machine(C=2.0, gamma=0.5, tol=1e-9).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(coefficients(clf, y), exact.v, atol=1e-6)
    np.testing.assert_allclose(clf.dual_objective_[0], exact.dual, rtol=1e-8)


@each_machine
def test_a_sample_twice_is_a_sample_of_weight_two(machine):
    X, y = noisy(100, 3, seed=5)
    twice = np.arange(0, 100, 3)
    weight = np.ones(100)
    weight[twice] = 2.0
    weighted = machine(gamma=0.5, tol=1e-9).fit(X, y, sample_weight=weight)
    repeated = machine(gamma=0.5, tol=1e-9).fit(np.vstack([X, X[twice]]), np.concatenate([y, y[twice]]))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    unweighted = machine(gamma=0.5, tol=1e-9).fit(X, y)
    assert np.abs(weighted.decision_function(X) - unweighted.decision_function(X)).max() > 1e-2


@each_machine
def test_weight_zero_is_no_sample(machine):
    X, y = noisy(150, 3, seed=6, n_classes=3)
    weight = (np.arange(150) % 4 > 0).astype(float)
    kept = np.flatnonzero(weight)
    weighted, without = machine(gamma=0.5).fit(X, y, sample_weight=weight), machine(gamma=0.5).fit(X[kept], y[kept])
    np.testing.assert_array_equal(weighted.dual_coef_, without.dual_coef_)
    np.testing.assert_array_equal(weighted.support_, kept[without.support_])
    np.testing.assert_array_equal(weighted.decision_function(X), without.decision_function(X))


@each_machine
def test_a_class_without_weight(machine):
    X, y = noisy(150, 3, seed=6, n_classes=3)
    weight = (y != 1).astype(float)
    clf = machine(gamma=0.5).fit(X, y, sample_weight=weight)
    assert clf.n_support_[1] == 0 and clf.n_support_[0] > 0
    assert (clf.predict(X[y != 1]) == y[y != 1]).mean() > 0.8
    with pytest.raises(ValueError, match="fewer than two classes"):
        machine().fit(X, y, sample_weight=(y == 1).astype(float))


@each_machine
def test_class_weights(machine):
    X, y = noisy(150, 3, seed=7)
    by_class = machine(gamma=0.5, class_weight={1: 4.0}).fit(X, y)
    same(by_class, machine(gamma=0.5).fit(X, y, sample_weight=np.where(y == 1, 4.0, 1.0)))
    assert (by_class.predict(X) == 1).mean() > (machine(gamma=0.5).fit(X, y).predict(X) == 1).mean()


# ---- what changes nothing ------------------------------------------------------------------------------


@each_machine
@pytest.mark.parametrize("options", [{"cache_size": 1e-4}, {"cache_size": 0.2}, {"n_jobs": 2}, {"n_jobs": 3}])
@pytest.mark.parametrize("n, n_classes", [(900, 2), (400, 4)])
def test_cache_and_threads_change_nothing(machine, options, n, n_classes):
    X, y = noisy(n, 5, seed=8, dtype=np.float32, n_classes=n_classes)
    reference, other = machine(C=2.0, gamma=0.2).fit(X, y), machine(C=2.0, gamma=0.2, **options).fit(X, y)
    same(reference, other)
    np.testing.assert_array_equal(reference.decision_function(X), other.decision_function(X))
    if "cache_size" in options and n_classes == 2 and machine is not auto:  # working sets use no cache
        assert other.n_kernel_evals_ > reference.n_kernel_evals_, "columns were evicted"


@each_machine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("binary_features", [False, True])
def test_dense_equals_sparse(machine, dtype, binary_features):
    rng = np.random.default_rng(0)
    X = sp.random(200, 60, density=0.1, random_state=0, format="csr", dtype=dtype)
    if binary_features:
        X.data[:] = 1.0
    y = (np.asarray(X.sum(axis=1)).ravel() + rng.standard_normal(200) > X.sum() / 200).astype(int)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    dense = machine(gamma=0.3).fit(X.toarray(), y)
    for rows in (X, wide):
        sparse = machine(gamma=0.3).fit(rows, y)
        same(dense, sparse)
        np.testing.assert_array_equal(dense.decision_function(X), sparse.decision_function(X.toarray()))
    same(dense, machine(gamma=0.3, cache_size=1e-4).fit(X.toarray(), y))


@each_machine
def test_single_precision_is_close(machine):
    X, y = noisy(300, 4, seed=9, dtype=np.float32)
    single, double = machine(gamma=0.3, tol=1e-5).fit(X, y), machine(gamma=0.3, tol=1e-5).fit(X.astype(float), y)
    np.testing.assert_allclose(single.decision_function(X), double.decision_function(X.astype(float)), atol=1e-3)


@each_machine
def test_precomputed_and_callable_equal_computed(machine):
    X, y = noisy(150, 3, seed=10)
    computed = machine(gamma=0.4).fit(X, y)
    K = kernel_matrix(computed, X)
    precomputed = machine(kernel="precomputed").fit(K, y)
    called = machine(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.4)).fit(X, y)
    same(computed, precomputed)
    np.testing.assert_allclose(computed.decision_function(X), precomputed.decision_function(K), rtol=1e-12)
    np.testing.assert_allclose(computed.decision_function(X), called.decision_function(X), atol=1e-2)


# ---- rows that rest ------------------------------------------------------------------------------------


@cache
def easy_and_solved(n, gamma, C):
    X, y = easy(n)
    K = rbf_kernel(X, gamma=gamma)
    return X, y, K, l2_svm(K, signs(y), C)


@each_machine
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_resting_rows_are_looked_at_again(machine, tol):
    X, y, K, exact = easy_and_solved(1500, 0.2, 20.0)
    clf = machine(C=20.0, gamma=0.2, tol=tol).fit(X, y)
    assert clf.stop_reason_.tolist() == ["tol"]
    v = coefficients(clf, y)
    r = 1 - k_hat(K, signs(y), 20.0) @ v
    left = violation(K, signs(y), v, 20.0) if machine is nnisda else r.max()
    assert left <= tol
    # Newton's method may leave 1e-10: the oracle rounds K differently.
    np.testing.assert_allclose(clf.kkt_violation_[0], left, rtol=1e-4, atol=1e-12)
    assert -1e-9 * exact.dual <= exact.dual - clf.dual_objective_[0] < 3 * tol * exact.dual
    assert (r < -0.1).mean() > 0.5, "rows could rest"
    assert clf.n_iter_[0] > 250, "and did"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"gamma": 1e-4, "C": 1000.0}], ids=["unscaled", "flat"])
def test_ill_conditioned_kernels_take_few_steps(options, dtype):
    # Steps on one or two rows alone: millions. Those on working sets are cheap: Newton's method may come late.
    rng = np.random.default_rng(0)
    X = (30 * rng.normal(size=(600, 10))).astype(dtype)
    y = X[:, 0] + 15 * rng.normal(size=600) > 0
    clf = L2SVC(**options).fit(X, y)
    assert clf.stop_reason_.tolist() == ["tol"]
    assert clf.n_iter_[0] < 300_000
    assert clf.kkt_violation_[0] <= 1e-3
    assert 0 <= clf.duality_gap_[0] < 3e-3 * clf.dual_objective_[0]


def test_all_classes_at_once_on_unscaled_features_take_few_steps():
    rng = np.random.default_rng(0)
    X = 30 * rng.normal(size=(600, 10))
    clf = L2SVC(kernel="linear", multi_class="all").fit(X, np.argmax(X[:, :3] + 9 * rng.normal(size=(600, 3)), 1))
    assert clf.stop_reason_.tolist() == ["tol"]
    assert clf.n_iter_[0] < 100_000
    assert 0 <= clf.duality_gap_[0] < 3e-3 * clf.dual_objective_[0]


@pytest.mark.parametrize("C", [8.0, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_very_different_size_end(C, seed):
    # Q has elements from 1e-16 to 1e16, and rounding makes it indefinite. Without a bound some of these take more than
    # 8 million steps; steps alone end at a dual objective of 0.5.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) * 10.0 ** rng.uniform(-8, 8, (40, 1))
    y = rng.integers(0, 2, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = L2SVC(C=C, kernel="linear").fit(X, y)
    assert clf.n_iter_[0] < 1_000_000
    rounding = np.finfo(float).eps * (X**2).sum(axis=1).max() * np.abs(clf.dual_coef_).sum()
    if clf.stop_reason_[0] != "tol":
        assert clf.stop_reason_[0] == "precision" and clf.kkt_violation_[0] <= rounding
    assert violation(X @ X.T, signs(y), coefficients(clf, y), C) <= rounding
    assert clf.kkt_violation_[0] <= 100
    assert clf.dual_objective_[0] > 0.2 * C * 40 / 2  # the optimum is above 0.8 of this


def test_newton_follows_when_steps_are_lost_in_rounding():
    # After the first run no step on two rows changes a coefficient, and the violation is 1e-2.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2)) * 10.0 ** rng.uniform(-8, 8, (40, 1))
    clf = L2SVC(C=8.0, kernel="linear").fit(X, rng.integers(0, 2, 40))
    assert clf.stop_reason_.tolist() == ["tol"] and clf.kkt_violation_[0] <= 1e-3 and clf.n_iter_[0] < 100_000


@pytest.mark.parametrize("n, gamma", [(1300, 1e-3), (1300, 300.0)], ids=["low rank", "factor"])
def test_newton_on_many_rows_is_exact(n, gamma):
    # Kernel values of more than 1,024 rows are held in single precision; r is not.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    clf = L2SVC(C=1000.0, gamma=gamma, tol=1e-6).fit(X, y)
    assert clf.stop_reason_.tolist() == ["tol"] and clf.n_iter_[0] < 20_000
    K = rbf_kernel(X, gamma=gamma)
    assert violation(K, signs(y), coefficients(clf, y), 1000.0) <= 2e-6


# ---- rounding --------------------------------------------------------------------------------------------


def test_an_oracle_of_the_oracle():
    # Of the exact solver: two samples, as above.
    np.testing.assert_allclose(
        nonnegative(k_hat(np.array([[1.0, -1], [-1, 1]]), np.array([1.0, -1]), 1.0)), [1 / 3] * 2
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_not_called_indefinite(dtype):
    """Contradicting duplicates at a large C bring w2 down to nothing; the kernel is a kernel all the same."""
    X = np.random.default_rng(0).standard_normal((30, 3)).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = L2SVC(C=1e14, gamma=1.0, max_iter=5000).fit(np.r_[X, X], np.repeat([0, 1], 30))
    assert clf.stop_reason_.tolist() != ["indefinite"]
    assert clf.n_iter_[0] > 0 and np.isfinite(clf.dual_coef_).all() and np.isfinite(clf.duality_gap_).all()


def test_the_dual_objective_at_a_large_penalty():
    """Errors are dear there, and so is the published function; u / min F, which makes none, bounds the optimum."""
    X = np.random.default_rng(1).standard_normal((300, 2))
    y = (X[:, 0] > 0).astype(int)
    clf = L2SVC(C=1e12, gamma=1.0, tol=1e-3).fit(X, y)
    assert clf.stop_reason_.tolist() == ["tol"]
    assert clf.duality_gap_[0] > clf.dual_objective_[0]
    factor = 1 / (1 - clf.kkt_violation_[0])
    v = factor * np.abs(clf.dual_coef_[0])
    margins = factor * np.where(y == 1, 1, -1) * clf.decision_function(X)
    primal = v @ margins[clf.support_] / 2 + 1e12 * np.square(np.maximum(0, 1 - margins)).sum() / 2
    assert 0 <= primal - clf.dual_objective_[0] <= 2.1e-3 * clf.dual_objective_[0]


@pytest.mark.parametrize("machine", [nnisda, imdm], ids=lambda machine: machine.__name__)
def test_what_was_learnt_while_rows_rest_stays(machine):
    X = np.random.default_rng(2).standard_normal((1500, 2))
    y, left, seen = (X[:, 0] > 0).astype(int), [0], []

    def kernel(A, B):
        left[0] -= len(A)
        if left[0] < 0:
            raise KeyboardInterrupt
        return rbf_kernel(A, B, gamma=1.0)

    for most in (300, 600, 900):
        left[0] = most
        clf = machine(kernel=kernel, C=100.0, cache_size=0.25, tol=1e-6)
        with pytest.raises(KeyboardInterrupt):
            clf.fit(X, y)
        assert clf.dual_objective_[0] == clf.history_["dual_objective"][-1]
        assert np.isnan(clf.kkt_violation_[0]) or clf.kkt_violation_[0] > 0
        seen.append(clf.dual_objective_[0])
    assert seen == sorted(seen) and seen[0] < seen[-1]


def test_machines_that_did_not_begin_certify_nothing():
    X, y = noisy(400, 3, seed=0, n_classes=3)

    def kernel(A, B):
        raise KeyboardInterrupt

    for machine in (nnisda, imdm):
        clf = machine(kernel=kernel, C=2.0)
        with pytest.raises(KeyboardInterrupt):
            clf.fit(X, y)
        assert (clf.kkt_violation_ >= 1).all() and (clf.duality_gap_ > 0).all() and not clf.dual_coef_.any()


def test_a_fit_that_begins_with_itself_is_checked():
    X, y = noisy(120, 3, seed=0, n_classes=3)
    clf = L2SVC(gamma=1.0).fit(X, y)
    with pytest.raises(ValueError, match="dual_init must have been fitted to the same samples and labels"):
        clf.fit(X, y % 2, dual_init=clf)
