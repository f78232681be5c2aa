"""What NNISDAClassifier and MinNormSVC have in common: one problem, one solution, the same laws."""

import copy
import pickle
import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import minmax_scale

from hingeline import FiniteNewtonSVC, MinNormSVC, NNISDAClassifier, WorstViolatorSVC

from .oracle.l2_svm import dual, k_hat, l2_svm, nonnegative, primal
from .private import kernel_matrix
from .watching import Recorder


def nnisda(**parameters):
    return NNISDAClassifier(**parameters)


def imdm(**parameters):
    return MinNormSVC(**parameters)


def mdm(**parameters):
    return MinNormSVC(step="mdm", **parameters)


each_machine = pytest.mark.parametrize("machine", [nnisda, imdm, mdm])


def noisy(n, d, seed, dtype=np.float64, flips=0.1, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    if n_classes > 2:
        y = np.argmax(X @ rng.standard_normal((d, n_classes)) + 0.5 * rng.standard_normal((n, n_classes)), axis=1)
        return X, y
    y = (X[:, 0] * X[:, -1] + 0.3 * X[:, 0] > 0) ^ (rng.random(n) < flips)
    return X, y.astype(int)


def signs(y):
    return np.where(y == 0, -1.0, 1.0)


def coefficients(clf, y):
    """Coefficients v >= 0 of a machine for two classes, by sample."""
    v = np.zeros(len(y))
    v[clf.support_] = clf.dual_coef_[0] * signs(y)[clf.support_]
    return v


def violation(K, y, v, C, bias=True, weight=None):
    """From scratch, in units of the margin."""
    r = 1 - k_hat(K, y, C, bias, weight) @ v
    return max(r.max(), -(r[v > 0].min()))


STATE = (
    "support_",
    "dual_coef_",
    "intercept_",
    "n_support_",
    "n_iter_",
    "dual_objective_",
    "duality_gap_",
    "kkt_violation_",
    "decision_scale_",
    "stop_reason_",
)


def same(a, b):
    """Two fitted models are the same to the bit."""
    for name in STATE:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


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


@each_machine
def test_newton_s_method_that_finds_nothing_finite(machine):
    # No function of the kernel separates these rows, which are multiples of one another to rounding.
    X = [
        [0.04515097201245933, 0.1564691292164515],
        [-0.3243571136135744, -1.124048339607677],
        [-0.5996368286005995, -2.078020654602068],
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = machine(C=1e100, kernel="linear").fit(X, [0, 1, 0])
    assert model.stop_reason_[0] == "precision" and np.isfinite(model.decision_function(X)).all()


def test_both_give_the_same_classifier():
    X, y = noisy(250, 4, seed=1)
    models = [machine(C=3.0, gamma=0.3, tol=1e-8).fit(X, y) for machine in (nnisda, imdm, mdm)]
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
    newton = FiniteNewtonSVC(C=C, loss="squared_hinge", fit_intercept=bias, tol=1e-14).fit(X, y)
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
    if "cache_size" in options and n_classes == 2:
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


def easy(n, seed=0):
    """Two clouds that overlap a little: most samples lie well beyond the margin."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.standard_normal((n, 2)) + 1.5 * signs(y)[:, None], y


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


@each_machine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"gamma": 1e-4, "C": 1000.0}], ids=["unscaled", "flat"])
def test_ill_conditioned_kernels_take_few_steps(machine, options, dtype):
    # Steps on one or two rows alone: millions.
    rng = np.random.default_rng(0)
    X = (30 * rng.normal(size=(600, 10))).astype(dtype)
    y = X[:, 0] + 15 * rng.normal(size=600) > 0
    clf = machine(**options).fit(X, y)
    assert clf.stop_reason_.tolist() == ["tol"]
    assert clf.n_iter_[0] < 40_000
    assert clf.kkt_violation_[0] <= 1e-3
    assert 0 <= clf.duality_gap_[0] < 3e-3 * clf.dual_objective_[0]


def test_all_classes_at_once_on_unscaled_features_take_few_steps():
    rng = np.random.default_rng(0)
    X = 30 * rng.normal(size=(600, 10))
    clf = MinNormSVC(kernel="linear", multi_class="all").fit(X, np.argmax(X[:, :3] + 9 * rng.normal(size=(600, 3)), 1))
    assert clf.stop_reason_.tolist() == ["tol"]
    assert clf.n_iter_[0] < 100_000
    assert 0 <= clf.duality_gap_[0] < 3e-3 * clf.dual_objective_[0]


@each_machine
@pytest.mark.parametrize("C", [8.0, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_very_different_size_end(machine, C, seed):
    # Q has elements from 1e-16 to 1e16, and rounding makes it indefinite. Without a bound some of these take more than
    # 8 million steps; steps alone end at a dual objective of 0.5.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) * 10.0 ** rng.uniform(-8, 8, (40, 1))
    y = rng.integers(0, 2, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = machine(C=C, kernel="linear").fit(X, y)
    assert clf.n_iter_[0] < 1_000_000
    rounding = np.finfo(float).eps * (X**2).sum(axis=1).max() * np.abs(clf.dual_coef_).sum()
    if clf.stop_reason_[0] != "tol":
        assert clf.stop_reason_[0] == "precision" and clf.kkt_violation_[0] <= rounding
    assert clf.kkt_violation_[0] <= 100
    assert clf.dual_objective_[0] > 0.2 * C * 40 / 2  # the optimum is above 0.8 of this


@pytest.mark.parametrize("machine, steps", [(imdm, 100_000), (mdm, 100_000)])
def test_newton_follows_when_steps_are_lost_in_rounding(machine, steps):
    # After the first run no step on two rows changes a coefficient, and the violation is 1e-2.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2)) * 10.0 ** rng.uniform(-8, 8, (40, 1))
    clf = machine(C=8.0, kernel="linear").fit(X, rng.integers(0, 2, 40))
    assert clf.stop_reason_.tolist() == ["tol"] and clf.kkt_violation_[0] <= 1e-3 and clf.n_iter_[0] < steps


@pytest.mark.parametrize("n, gamma", [(1300, 1e-3), (1300, 300.0)], ids=["low rank", "factor"])
def test_newton_on_many_rows_is_exact(n, gamma):
    # Kernel values of more than 1,024 rows are held in single precision; r is not.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    clf = NNISDAClassifier(C=1000.0, gamma=gamma, tol=1e-6).fit(X, y)
    assert clf.stop_reason_.tolist() == ["tol"] and clf.n_iter_[0] < 20_000
    K = rbf_kernel(X, gamma=gamma)
    assert violation(K, signs(y), coefficients(clf, y), 1000.0) <= 2e-6


# ---- starting from a guess -----------------------------------------------------------------------------


@each_machine
@pytest.mark.parametrize("source", [nnisda, imdm])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_starts_the_other(machine, source, n_classes):
    X, y = noisy(200, 3, seed=11, n_classes=n_classes)
    cold, guess = machine(C=5.0, gamma=0.4).fit(X, y), source(C=5.0, gamma=0.4, tol=1e-6).fit(X, y)
    warm = machine(C=5.0, gamma=0.4).fit(X, y, dual_init=guess)
    assert (warm.n_iter_ == 0).all() and (cold.n_iter_ > 50).all()
    np.testing.assert_allclose(warm.decision_function(X), guess.decision_function(X), atol=1e-5)
    assert (warm.kkt_violation_ <= 1e-3).all() and set(warm.stop_reason_) == {"tol"}


@each_machine
def test_a_path_of_penalties(machine):
    X, y = noisy(200, 3, seed=12)
    K = rbf_kernel(X, gamma=0.4)
    clf, steps = None, []
    for C in (1.0, 1.3, 1.7, 2.2):
        cold, clf = machine(C=C, gamma=0.4).fit(X, y), machine(C=C, gamma=0.4).fit(X, y, dual_init=clf)
        steps.append((clf.n_iter_[0], cold.n_iter_[0]))
        exact = l2_svm(K, signs(y), C)
        assert 0 <= exact.dual - clf.dual_objective_[0] < 3e-3 * exact.dual
    assert all(warm < 0.9 * cold for warm, cold in steps[1:]), steps


@each_machine
def test_warm_start(machine):
    X, y = noisy(150, 3, seed=13, n_classes=3)
    clf = machine(C=2.0, gamma=0.4, tol=1e-6, warm_start=True).fit(X, y)
    cold = machine(C=2.0, gamma=0.4, tol=1e-6).fit(X, y)
    same(clf, cold)
    clf.fit(X, y)
    assert (clf.n_iter_ <= 5).all()
    np.testing.assert_allclose(clf.decision_function(X), cold.decision_function(X), atol=1e-4)
    # Other samples, classes or labels: as if for the first time.
    for rows, labels in ((X[:-1], y[:-1]), (X, y + 1), (X, y[::-1])):
        clf.fit(X, y).fit(rows, labels)
        same(clf, machine(C=2.0, gamma=0.4, tol=1e-6).fit(rows, labels))


@each_machine
def test_any_guess_leads_to_the_optimum(machine):
    X, y = noisy(120, 3, seed=14)
    guess = machine(C=2.0, gamma=0.4).fit(X, y)
    exact = l2_svm(rbf_kernel(X, gamma=0.4), signs(y), 2.0)
    for values in (1e-8 * guess.dual_coef_, 1e8 * guess.dual_coef_, np.sign(guess.dual_coef_), 0 * guess.dual_coef_):
        odd = copy.deepcopy(guess)
        odd.dual_coef_ = values
        clf = machine(C=2.0, gamma=0.4, tol=1e-8).fit(X, y, dual_init=odd)
        np.testing.assert_allclose(clf.dual_objective_[0], exact.dual, rtol=1e-8)


@each_machine
def test_a_guess_that_does_not_fit(machine):
    X, y = noisy(60, 3, seed=15)
    guess = machine().fit(X, y)
    clf = machine()
    for rows, labels, match in (
        (X[1:], y[1:], "60 samples, X has 59"),
        (X, y + 1, "classes"),
        (X, 1 - y, "other labels"),
    ):
        with pytest.raises(ValueError, match=match):
            clf.fit(rows, labels, dual_init=guess)
    with pytest.raises(TypeError, match="WorstViolatorSVC"):
        clf.fit(X, y, dual_init=WorstViolatorSVC().fit(X, y))
    with pytest.raises(NotFittedError):
        clf.fit(X, y, dual_init=machine())
    assert not hasattr(clf, "dual_coef_")


# ---- several classes -----------------------------------------------------------------------------------


@each_machine
def test_pairs_are_machines_of_their_own(machine):
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X)
    clf = machine(C=4.0, gamma=0.5, decision_function_shape="ovo").fit(X, y)
    decisions = clf.decision_function(X)
    k = 0
    for i in range(3):
        for j in range(i + 1, 3):
            rows = (y == i) | (y == j)
            pair = machine(C=4.0, gamma=0.5).fit(X[rows], y[rows])
            np.testing.assert_allclose(decisions[:, k], -pair.decision_function(X), rtol=1e-10, atol=1e-12)
            for name in ("n_iter_", "dual_objective_", "duality_gap_", "stop_reason_"):
                np.testing.assert_array_equal(getattr(clf, name)[k : k + 1], getattr(pair, name))
            k += 1
    votes = np.zeros((len(X), 3))
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        votes[np.arange(len(X)), np.where(decisions[:, k] > 0, i, j)] += 1
    clear = votes.max(axis=1) == 2
    np.testing.assert_array_equal(clf.predict(X)[clear], votes.argmax(axis=1)[clear])
    np.testing.assert_array_equal(y[clf.support_], np.repeat([0, 1, 2], clf.n_support_))


@each_machine
def test_accuracy_on_real_sets(machine):
    for load, gamma, least in [(load_iris, 1.0, 0.97), (load_wine, 0.5, 0.99), (load_digits, 0.05, 0.995)]:
        X, y = load(return_X_y=True)
        assert machine(C=16, gamma=gamma).fit(minmax_scale(X), y).score(minmax_scale(X), y) >= least


# ---- ends ----------------------------------------------------------------------------------------------


@each_machine
def test_budget_of_steps(machine):
    X, y = noisy(600, 3, seed=16)
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*tol=0.001: it is .*Raise"):
        clf = machine(C=10.0, gamma=0.4, max_iter=100).fit(X, y)
    assert clf.n_iter_.tolist() == [100] and clf.stop_reason_.tolist() == ["max_iter"]
    assert clf.kkt_violation_[0] > 1e-3 and clf.duality_gap_[0] > 0
    with pytest.warns(ConvergenceWarning):
        none = machine(max_iter=0).fit(X, y)
    assert none.n_iter_.tolist() == [0] and np.isfinite(none.decision_function(X)).all()
    assert machine(C=10.0, gamma=0.4, max_iter=10**6).fit(X, y).stop_reason_.tolist() == ["tol"]


@each_machine
@pytest.mark.parametrize("n", [40, 700])
def test_rounding_errors_end_it(machine, n):
    X, y = easy(n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = machine(C=1.0, gamma=0.2, tol=0.0).fit(X, y)
    exact = l2_svm(rbf_kernel(X, gamma=0.2), signs(y), 1.0)
    np.testing.assert_allclose(clf.dual_objective_[0], exact.dual, rtol=1e-12)
    assert clf.stop_reason_[0] in ("precision", "tol")
    assert any("rounding errors" in str(w.message) for w in caught) == (clf.stop_reason_[0] == "precision")


def wave(A, B):
    return np.sin(7 * A @ B.T) - 0.3


@each_machine
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e6])
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "sigmoid", "gamma": 5.0, "coef0": -2.0},
        {"kernel": "poly", "degree": 3, "coef0": -1.0},
        {"kernel": "precomputed"},
        {"kernel": lambda A, B: -(A @ B.T) - 1},
        {"kernel": lambda A, B: 1e99 * wave(A, B)},
    ],
    ids=["sigmoid", "poly", "precomputed", "negative definite", "huge"],
)
def test_kernels_that_are_not_positive(machine, parameters, C, bias, n_jobs):
    """Training ends, and the values are finite."""
    X, y = noisy(60, 3, seed=17, n_classes=3)
    X = wave(X, X) if parameters["kernel"] == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = machine(C=C, fit_intercept=bias, n_jobs=n_jobs, max_iter=200_000, **parameters).fit(X, y)
    assert set(clf.stop_reason_) <= {"tol", "indefinite", "max_iter", "precision"}
    assert np.isfinite(clf.decision_function(X)).all()


@each_machine
def test_an_indefinite_kernel_is_found_out(machine):
    X, y = noisy(60, 3, seed=17)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        clf = machine(C=10.0, kernel="precomputed", fit_intercept=False).fit(-(X @ X.T), y)
    assert clf.stop_reason_.tolist() == ["indefinite"]
    # The bound that it broke: the dual of a machine that knows nothing is at most the primal's.
    assert clf.dual_objective_[0] <= 10.0 * 60 / 2


@each_machine
def test_two_samples(machine):
    # f = v (K(1, x) - K(-1, x)) without bias, linear: Q = [[2 + 1/C, ...]] is symmetric, so v is the same for both:
    # Q = [[1 + 1, 1], [1, 1 + 1]] with C = 1, Qv = 1: v = 1/3.
    clf = machine(kernel="linear", fit_intercept=False, tol=1e-12).fit([[1.0], [-1.0]], [1, 0])
    np.testing.assert_allclose(clf.dual_coef_, [[-1 / 3, 1 / 3]], rtol=1e-11)
    np.testing.assert_allclose(clf.coef_, [[2 / 3]], rtol=1e-11)
    np.testing.assert_allclose(clf.dual_objective_, [1 / 3], rtol=1e-11)
    # With bias Q_12 = 1 - 1 = 0, Q_11 = 1 + 1 + 1: v = 1/3 and the bias is zero.
    clf = machine(kernel="linear", tol=1e-12).fit([[1.0], [-1.0]], [1, 0])
    np.testing.assert_allclose(clf.dual_coef_, [[-1 / 3, 1 / 3]], rtol=1e-11)
    np.testing.assert_allclose(clf.intercept_, [0.0], atol=1e-11)


# ---- citizenship ---------------------------------------------------------------------------------------


@each_machine
@pytest.mark.parametrize("n", [200, 900])
def test_watching_changes_nothing(machine, n):
    X, y = easy(n)
    alone = machine(C=20.0, gamma=0.2).fit(X, y)
    watched = machine(C=20.0, gamma=0.2).set_callbacks(recorder := Recorder()).fit(X, y)
    same(alone, watched)
    assert sum(event == "end steps" for event in recorder.events) > 3
    for model in recorder.models[:-1]:
        assert np.isfinite(model.decision_function(X)).all()
    objective = [model.dual_objective_[0] for model in recorder.models]
    assert np.diff(objective).min() >= -1e-9, "it rises"
    gaps = [model.duality_gap_[0] for model in recorder.models]
    assert np.isfinite(gaps).all() and min(gaps) >= 0


@each_machine
def test_a_callback_stops(machine):
    X, y = noisy(300, 3, seed=18)
    clf = machine(C=10.0, gamma=0.4).set_callbacks(Recorder(stop_at=2)).fit(X, y)
    assert clf.stop_reason_.tolist() == ["stopped"]
    assert 0 < clf.n_iter_[0] < machine(C=10.0, gamma=0.4).fit(X, y).n_iter_[0]


@each_machine
def test_history(machine):
    X, y = noisy(600, 3, seed=19)
    clf = machine(C=10.0, gamma=0.4, tol=1e-5).fit(X, y)
    h = clf.history_
    assert set(h) == {"machine", "step", "seconds", "n_support", "kkt_violation", "dual_objective", "kernel_evals"}
    assert len({len(column) for column in h.values()}) == 1 and 3 < len(h["step"]) <= 257
    assert h["step"][-1] == clf.n_iter_[0] and h["n_support"][-1] == len(clf.support_)
    assert h["kernel_evals"][-1] == clf.n_kernel_evals_ and h["dual_objective"][-1] == clf.dual_objective_[0]
    for name in ("step", "seconds", "dual_objective", "kernel_evals"):
        assert (np.diff(h[name]) >= -1e-9).all(), name


@each_machine
def test_copies(machine):
    X, y = noisy(100, 3, seed=20, n_classes=3)
    clf = machine(gamma=0.4).fit(X, y)
    for twin in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        same(clf, twin)
        np.testing.assert_array_equal(clf.decision_function(X), twin.decision_function(X))
        assert (machine(gamma=0.4).fit(X, y, dual_init=twin).n_iter_ <= 5).all()


@each_machine
@pytest.mark.parametrize(
    "name, value",
    [
        ("C", 0.0),
        ("C", np.inf),
        ("C", "1"),
        ("tol", -1e-3),
        ("tol", None),
        ("max_iter", -2),
        ("max_iter", 1.5),
        ("fit_intercept", "yes"),
        ("kernel", "cubic"),
        ("gamma", -1.0),
        ("cache_size", 0.0),
        ("n_jobs", 0),
        ("class_weight", "even"),
        ("decision_function_shape", "all"),
        ("warm_start", 1),
    ],
)
def test_bad_parameters(machine, name, value):
    X, y = noisy(20, 2, seed=0)
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        machine(**{name: value}).fit(X, y)


@each_machine
def test_bad_data_leave_the_model_alone(machine):
    X, y = noisy(40, 2, seed=0)
    clf = machine(gamma=0.5).fit(X, y)
    before = pickle.dumps({name: getattr(clf, name) for name in STATE})
    for bad_X, bad_y, weight, match in (
        (X, np.zeros(40), None, "classes"),
        (np.full_like(X, np.nan), y, None, "NaN"),
        (X, y, np.full(40, -1.0), "[Nn]egative"),
        (X, y, np.zeros(40), "zero"),
        (X, y, np.full(40, 1e-101), "C times the weights"),
        (X[:30], y, None, "inconsistent"),
    ):
        with pytest.raises(ValueError, match=match):
            clf.fit(bad_X, bad_y, sample_weight=weight)
        assert pickle.dumps({name: getattr(clf, name) for name in STATE}) == before
    with pytest.raises(ValueError, match="C times the weights"):
        machine(C=1e90).fit(X, y, sample_weight=np.full(40, 1e50))
    with pytest.raises(ValueError, match="square"):
        machine(kernel="precomputed").fit(X, y)


@each_machine
def test_a_kernel_that_raises(machine):
    X, y = easy(700)
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(calls) > limit:
            raise ZeroDivisionError("mine")
        return A @ B.T + 1.0

    limit = 3
    clf = machine(C=10.0, kernel=kernel)
    with pytest.raises(ZeroDivisionError, match="mine"):
        clf.fit(X, y)
    assert not hasattr(clf, "dual_coef_")
    limit = 10**9
    calls.clear()
    clf.fit(X, y)
    assert max(calls) < len(X), "never the whole matrix at once"


# ---- Ctrl-C --------------------------------------------------------------------------------------------


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
        clf = MinNormSVC(C=1e14, gamma=1.0, max_iter=5000).fit(np.r_[X, X], np.repeat([0, 1], 30))
    assert clf.stop_reason_.tolist() != ["indefinite"]
    assert clf.n_iter_[0] > 0 and np.isfinite(clf.dual_coef_).all() and np.isfinite(clf.duality_gap_).all()


def test_the_gap_is_small_at_a_large_penalty():
    """The function that makes no errors bounds the objective where errors are dear."""
    X = np.random.default_rng(1).standard_normal((300, 2))
    clf = MinNormSVC(C=1e12, gamma=1.0, tol=1e-3).fit(X, (X[:, 0] > 0).astype(int))
    assert clf.stop_reason_.tolist() == ["tol"]
    assert 0 <= clf.duality_gap_[0] <= 2.1e-3 * clf.dual_objective_[0]


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
    clf = NNISDAClassifier(gamma=1.0).fit(X, y)
    with pytest.raises(ValueError, match="dual_init must have been fitted to the same samples and labels"):
        clf.fit(X, y % 2, dual_init=clf)
