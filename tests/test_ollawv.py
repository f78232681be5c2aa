"""OLLAWV: against the naive twin, hand-worked, and the laws of the algorithm."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import minmax_scale

from hingeline import WorstViolatorSVC

from .data import noisy
from .oracle.naive_ollawv import naive_ollawv
from .private import kernel_matrix
from .private import ollawv_sequences as sequences

SETS = {
    "breast_cancer": (load_breast_cancer, 1.0),
    "iris": (load_iris, 1.0),
    "wine": (load_wine, 0.5),
    "digits": (load_digits, 0.05),
}


def real_set(name, dtype=np.float64):
    load, gamma = SETS[name]
    X, y = load(return_X_y=True)
    return minmax_scale(X).astype(dtype), y, gamma


def same(a, b):
    """Two fitted models are the same to the bit."""
    for name in ("support_", "dual_coef_", "intercept_", "n_support_", "n_iter_", "decision_scale_", "stop_reason_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_four_points_by_hand():
    # Linear kernel, points 3, 1, -1, -3 on a line, labels +1, +1, -1, -1, no bias, margin 0.5, C = 1.
    # Step 1 takes row 0 (y = +1): a = 2, f(x) = 2 * 3 x = 6 x, so y f = 6, 6, 18 >= 0.5 for the others: stop.
    X = np.array([[3.0], [1.0], [-1.0], [-3.0]])
    clf = WorstViolatorSVC(kernel="linear", margin=0.5, fit_intercept=False).fit(X, [1, 1, 0, 0])
    assert clf.support_.tolist() == [0] and clf.dual_coef_.tolist() == [[2.0]]
    assert clf.intercept_.tolist() == [0.0] and clf.stop_reason_.tolist() == ["margin"]
    np.testing.assert_allclose(clf.decision_function([[2.0], [-0.5]]), [12.0, -3.0])
    # Margin 7: rows 1 and 2 both have y f = 6 and the lower row 1 is taken with a = 2 / sqrt 2, adding sqrt 2 * x
    # to f: now y f = 6 + sqrt 2 = 7.41 for row 2 and 18 + 3 sqrt 2 for row 3: stop after two steps.
    clf = WorstViolatorSVC(kernel="linear", margin=7.0, fit_intercept=False).fit(X, [1, 1, 0, 0])
    assert clf.support_.tolist() == [0, 1]
    np.testing.assert_allclose(clf.dual_coef_, [[2.0, np.sqrt(2)]])
    # Steps 1, 1/2: f = 3 x, then 3.5 x.
    clf.set_params(margin=3.2, learning_rate="inverse").fit(X, [1, 1, 0, 0])
    assert clf.dual_coef_.tolist() == [[1.0, 0.5]] and clf.worst_margin_.tolist() == [3.5]


@pytest.mark.parametrize("learning_rate, margin", [("sqrt", 0.01), ("sqrt", 0.1), ("sqrt", 1.0), ("inverse", 0.1)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", list(SETS))
def test_same_sequence_as_the_naive_twin(name, bias, learning_rate, margin):
    X, y, gamma = real_set(name)
    X, y = X[y < 5], y[y < 5]  # ten pairs of the digits: the twin is slow
    options = {"margin": margin, "fit_intercept": bias, "learning_rate": learning_rate}
    clf = WorstViolatorSVC(gamma=gamma, **options)
    results = sequences(clf, X, y)
    classes = np.unique(y)
    k = 0
    for i, ci in enumerate(classes):
        for cj in classes[i + 1 :]:
            rows = np.flatnonzero((y == ci) | (y == cj))
            label = np.where(y[rows] == ci, 1.0, -1.0) * (-1 if len(classes) == 2 else 1)
            twin = naive_ollawv(rbf_kernel(X[rows], gamma=gamma), label, **options)
            assert results[k]["chosen"].tolist() == rows[twin.chosen].tolist()
            np.testing.assert_array_equal(results[k]["coef"], twin.coef)
            np.testing.assert_allclose(results[k]["intercept"], twin.b, rtol=1e-12, atol=1e-15)
            assert results[k]["reason"] == twin.reason
            k += 1


@pytest.mark.parametrize("n, d", [(400, 2), (700, 30), (500, 130)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_speculation_leaves_no_trace(n, d, dtype):
    # A noisy problem upsets the order of violators at every step; the twin gets the very kernel values.
    X, y = noisy(n, d, seed=d, dtype=dtype)
    clf = WorstViolatorSVC(gamma=1.0 / d, margin=0.3)
    (result,) = sequences(clf, X, y)
    K = kernel_matrix(clf, X)
    twin = naive_ollawv(K, np.where(y == 0, -1.0, 1.0), margin=0.3)
    assert len(twin.chosen) > 100
    assert result["chosen"].tolist() == twin.chosen


def test_class_weights_scale_the_steps():
    X, y = noisy(300, 3, seed=5)
    clf = WorstViolatorSVC(gamma=0.5, class_weight={0: 1.0, 1: 4.0})
    (result,) = sequences(clf, X, y)
    label = np.where(y == 0, -1.0, 1.0)
    twin = naive_ollawv(rbf_kernel(X, gamma=0.5), label, weight=np.where(y == 0, 1.0, 4.0))
    assert result["chosen"].tolist() == twin.chosen
    np.testing.assert_array_equal(result["coef"], twin.coef)
    heavier = (WorstViolatorSVC(gamma=0.5, class_weight={1: 50.0}).fit(X, y).predict(X) == 1).mean()
    assert heavier > (WorstViolatorSVC(gamma=0.5).fit(X, y).predict(X) == 1).mean()


@pytest.mark.parametrize("options", [{"cache_size": 0.001}, {"cache_size": 1}, {"n_jobs": 2}, {"n_jobs": 3}])
@pytest.mark.parametrize("name", ["breast_cancer", "digits"])
def test_cache_and_threads_change_nothing(name, options):
    X, y, gamma = real_set(name, np.float32)
    reference = WorstViolatorSVC(gamma=gamma).fit(X, y)
    other = WorstViolatorSVC(gamma=gamma, **options).fit(X, y)
    same(reference, other)
    np.testing.assert_array_equal(reference.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_problem_shared_by_threads(dtype):
    # Enough rows for three threads to get a share each.
    X, y = noisy(7000, 20, seed=2, dtype=dtype)
    one, two, three = (WorstViolatorSVC(gamma=0.05, margin=0.01, n_jobs=k).fit(X, y) for k in (1, 2, 3))
    same(one, two)
    same(one, three)
    assert one.n_kernel_evals_ == two.n_kernel_evals_ == three.n_kernel_evals_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("binary_features", [False, True])
def test_dense_equals_sparse(dtype, binary_features):
    rng = np.random.default_rng(0)
    X = sp.random(400, 60, density=0.1, random_state=0, format="csr", dtype=dtype)
    if binary_features:
        X.data[:] = 1.0
    y = (np.asarray(X.sum(axis=1)).ravel() + rng.standard_normal(400) > X.sum() / 400).astype(int)
    dense = WorstViolatorSVC(gamma=0.3).fit(X.toarray(), y)
    sparse = WorstViolatorSVC(gamma=0.3).fit(X, y)
    uncompressed = WorstViolatorSVC(gamma=0.3, cache_size=1e-4).fit(X.toarray(), y)
    same(dense, sparse)
    same(dense, uncompressed)
    np.testing.assert_array_equal(dense.decision_function(X), sparse.decision_function(X.toarray()))
    np.testing.assert_array_equal(dense.decision_function(X), dense.decision_function(X.toarray()))


def test_there_is_no_C_to_search_over():
    with pytest.raises(ValueError, match="Invalid parameter 'C'"):
        WorstViolatorSVC().set_params(C=2.0)


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**10])
def test_equal_weights_scale_the_decision_values(factor):
    """Steps are multiplied, and so is the margin to reach: the same samples are chosen."""
    X, y, gamma = real_set("breast_cancer")
    one = WorstViolatorSVC(gamma=gamma).fit(X, y)
    other = WorstViolatorSVC(gamma=gamma, margin=0.1 * factor).fit(X, y, sample_weight=np.full(len(y), factor))
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_array_equal(one.dual_coef_ * factor, other.dual_coef_)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_weights_are_factors_on_the_steps(kernel):
    X, y = noisy(200, 3, seed=3)
    weights = np.random.default_rng(0).choice([0.25, 1.0, 3.0], 200)
    K = rbf_kernel(X, gamma=0.5)
    clf = WorstViolatorSVC(kernel=kernel, gamma=0.5).fit(K if kernel == "precomputed" else X, y, weights)
    naive = naive_ollawv(K, np.where(y == 1, 1.0, -1.0), weight=weights)
    found = np.zeros(200)
    found[clf.support_] = clf.dual_coef_[0]
    np.testing.assert_allclose(found[naive.chosen], naive.coef, rtol=1e-12)
    assert len(clf.support_) == len(naive.chosen)
    np.testing.assert_allclose(clf.intercept_, naive.b, rtol=1e-12)


def test_samples_of_weight_zero_are_absent():
    X, y = noisy(200, 3, seed=4)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 200)
    weights[0] = 0.0
    some = np.flatnonzero(weights)
    clf = WorstViolatorSVC(gamma=0.5, cap=0.5).fit(X, y, weights)
    alone = WorstViolatorSVC(gamma=0.5, cap=0.5).fit(X[some], y[some], weights[some])
    np.testing.assert_array_equal(clf.support_, some[alone.support_])
    np.testing.assert_array_equal(clf.decision_function(X), alone.decision_function(X))
    with pytest.raises(ValueError, match=r"zero for all samples of the classes \[0\]"):
        WorstViolatorSVC().fit(X, y, y)


def test_swapping_labels_swaps_signs():
    X, y = noisy(300, 4, seed=1)
    one, other = WorstViolatorSVC(gamma=0.4).fit(X, y), WorstViolatorSVC(gamma=0.4).fit(X, 1 - y)
    np.testing.assert_array_equal(np.sort(one.support_), np.sort(other.support_))
    # Support vectors are summed class after class, so the sums run in another order.
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("learning_rate", ["sqrt", "inverse"])
@pytest.mark.parametrize("name", list(SETS))
def test_invariants_of_a_fit(name, learning_rate):
    X, y, gamma = real_set(name)
    clf = WorstViolatorSVC(gamma=gamma, margin=0.2, learning_rate=learning_rate, decision_function_shape="ovo").fit(
        X, y
    )
    n_classes = len(clf.classes_)
    assert (clf.n_iter_ > 0).all() and clf.n_support_.sum() == len(clf.support_) == clf.support_vectors_.shape[0]
    np.testing.assert_array_equal(y[clf.support_], np.repeat(clf.classes_, clf.n_support_))
    decisions = clf.decision_function(X).reshape(len(X), -1)
    k = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            sign = -1 if n_classes == 2 else 1
            rows = np.flatnonzero((y == clf.classes_[i]) | (y == clf.classes_[j]))
            label = np.where(y[rows] == clf.classes_[i], sign, -sign)
            # |a| = 2 / sqrt t or 1 / t for t = 1, 2, ...: sorted by size they are the whole sequence.
            line = np.zeros(len(X))
            line[clf.support_] = np.where(y[clf.support_] == clf.classes_[i], clf.dual_coef_[j - 1], clf.dual_coef_[i])
            a = line[rows]
            size = np.sort(np.abs(a[a != 0]))[::-1]
            t = np.arange(1, clf.n_iter_[k] + 1)
            np.testing.assert_allclose(size, 2 / np.sqrt(t) if learning_rate == "sqrt" else 1 / t, rtol=1e-14)
            assert (np.sign(a[a != 0]) == label[a != 0]).all()
            if clf.stop_reason_[k] == "margin":
                outside = label[a == 0] * decisions[rows[a == 0], k]
                assert outside.min() >= 0.2 - 1e-10
            k += 1


def test_outputs_are_kernel_expansion_plus_bias():
    X, y = noisy(200, 3, seed=8)
    clf = WorstViolatorSVC(kernel="poly", degree=2, gamma=0.5, coef0=1.0).fit(X, y)
    K = polynomial_kernel(X, clf.support_vectors_, degree=2, gamma=0.5, coef0=1.0)
    np.testing.assert_allclose(clf.decision_function(X), K @ clf.dual_coef_[0] + clf.intercept_[0], rtol=1e-10)


def test_cap_and_exhaustion():
    X, y = make_moons(200, noise=0.3, random_state=0)
    with pytest.warns(match="cap=0.05"):
        clf = WorstViolatorSVC(gamma=2.0, cap=0.05).fit(X, y)
    assert clf.n_iter_.tolist() == [10] and clf.stop_reason_.tolist() == ["cap"]
    # The identity as kernel: no step helps any other sample, so every one is taken.
    clf = WorstViolatorSVC(kernel="precomputed", fit_intercept=False).fit(np.eye(50), np.arange(50) % 2)
    assert clf.n_iter_.tolist() == [50] and clf.stop_reason_.tolist() == ["exhausted"]


def test_random_state_chooses_the_first_violator():
    X, y = noisy(200, 3, seed=4)
    first = WorstViolatorSVC(gamma=0.5, margin=1e-9, cap=1 / 200)
    assert _only_support(first, X, y) == 0
    drawn = {_only_support(first.set_params(random_state=s), X, y) for s in range(20)}
    assert len(drawn) > 10
    assert _only_support(first.set_params(random_state=3), X, y) == _only_support(first, X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def _only_support(clf, X, y):
    with pytest.warns(match="cap"):
        (row,) = clf.fit(X, y).support_
    return row


def test_precomputed_and_callable_equal_computed():
    X, y, gamma = real_set("wine")
    computed = WorstViolatorSVC(gamma=gamma).fit(X, y)
    K = kernel_matrix(computed, X)
    precomputed = WorstViolatorSVC(kernel="precomputed").fit(K, y)
    blocks = []

    def kernel(A, B):
        blocks.append((len(A), len(B)))
        return rbf_kernel(A, B, gamma=gamma)

    called = WorstViolatorSVC(kernel=kernel).fit(X, y)
    same(computed, precomputed)
    np.testing.assert_array_equal(computed.support_, called.support_)
    np.testing.assert_allclose(computed.decision_function(X), precomputed.decision_function(K), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(computed.decision_function(X), called.decision_function(X), rtol=1e-9, atol=1e-12)
    assert max(a * b for a, b in blocks) < len(X) ** 2, "never the whole matrix at once"


def test_far_from_every_support_vector_the_bias_decides():
    X, y, _ = real_set("iris")
    clf = WorstViolatorSVC(gamma=50.0, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X[:1] + 1e3)[0], clf.intercept_)


def test_accuracy_on_real_sets():
    # Not a benchmark: a subtly wrong sign, margin or vote falls far below these.
    for name, least in [("breast_cancer", 0.97), ("iris", 0.95), ("wine", 0.98), ("digits", 0.98)]:
        X, y, gamma = real_set(name)
        assert WorstViolatorSVC(gamma=gamma).fit(X, y).score(X, y) >= least, name


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 40),
    st.integers(1, 3),
    st.sampled_from([0.01, 0.3, 2.0]),
    st.booleans(),
    st.integers(0, 2**31 - 1),
)
def test_grids_with_duplicates(n, d, margin, bias, seed):
    # Integer grids bring exact ties and conflicting duplicates.
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = rng.integers(0, 2, size=n)
    y[:2] = [0, 1]
    (result,) = sequences(WorstViolatorSVC(gamma=0.5, margin=margin, fit_intercept=bias), X, y)
    K = rbf_kernel(X, gamma=0.5)
    twin = naive_ollawv(K, np.where(y == 0, -1.0, 1.0), margin=margin, fit_intercept=bias)
    # Kernel values differ in the last bit between the two, which may break an exact tie: compare up to there.
    agree = result["chosen"][: len(twin.chosen)] == np.array(twin.chosen)[: len(result["chosen"])]
    if not agree.all():
        at = int(np.argmin(agree))
        label = np.where(y == 0, -1.0, 1.0)
        out = K[:, twin.chosen[:at]] @ twin.coef[:at] + sum(twin.coef[:at]) / n * bias
        z = label * out
        assert abs(z[result["chosen"][at]] - z[twin.chosen[at]]) < 1e-12
    else:
        assert len(result["chosen"]) == len(twin.chosen)
