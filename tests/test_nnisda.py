"""NNISDA: against the naive twin, step for step. What the solvers of L2SVC have in common is in test_l2*.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from .l2 import coefficients, easy, nnisda, noisy, signs
from .oracle.l2_svm import dual, k_hat
from .oracle.naive_nnisda import naive_nnisda
from .private import nnisda_walk as walk


def test_three_steps_by_hand():
    # Linear kernel, points 2, 1, -1 with labels +1, +1, -1, C = 1, no bias: Q = [[5, 2, 2], [2, 2, 1], [2, 1, 2]].
    # r = 1, 1, 1: all tie, row 0 takes 1/5; r = 0, 3/5, 3/5: row 1 takes 3/10; r = -3/5, 0, 3/10: row 0 violates most,
    # and would take -3/25 of 1/5: v = 2/25.
    K = np.array([[4.0, 2, -2], [2, 1, -1], [-2, -1, 1]])
    path, result = walk(K, np.array([1, 1, 0]), fit_intercept=False, most=3)
    np.testing.assert_allclose(path, [[0.2, 0, 0], [0.2, 0.3, 0], [0.08, 0.3, 0]], rtol=1e-14)
    assert result["reason"] == "running"


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("n", [7, 60, 251])
def test_same_steps_as_the_naive_twin(n, C, bias):
    X, y = noisy(n, 3, seed=n)
    K = rbf_kernel(X, gamma=0.5)
    path, result = walk(K, y, C=C, fit_intercept=bias, most=400)
    twin = naive_nnisda(K, signs(y), C=C, fit_intercept=bias, max_iter=400)
    assert len(path) == result["steps"] == twin.steps
    for step in (1, 2, 3, 10, 100, len(path)):
        if step <= len(path):
            partial = naive_nnisda(K, signs(y), C=C, fit_intercept=bias, max_iter=step)
            np.testing.assert_allclose(path[step - 1], partial.v, rtol=1e-9, atol=1e-12 * C)
            np.testing.assert_array_equal(path[step - 1] > 0, partial.v > 0)
    gains = np.diff([dual(K, signs(y), v, C, bias) for v in path])
    assert (gains > -1e-12 * result["dual"]).all(), "the dual rises with every step"
    changed = (np.diff(path, axis=0) != 0).sum(axis=1)
    assert (changed == 1).all(), "one coefficient at a time"


def test_same_steps_with_weights():
    X, y = noisy(80, 3, seed=1)
    K = rbf_kernel(X, gamma=0.5)
    weight = 0.1 + np.random.default_rng(0).random(80)
    path, result = walk(K, y, C=3.0, weight=weight)
    twin = naive_nnisda(K, signs(y), C=3.0, weight=weight)
    assert result["steps"] == twin.steps
    np.testing.assert_allclose(path[-1], twin.v, rtol=1e-9, atol=1e-12)


def test_resting_rows_change_no_step_here():
    # No row that rests would have had its turn, so that the steps are those of the twin.
    X, y = easy(800)
    K = rbf_kernel(X, gamma=0.2)
    clf = nnisda(C=20.0, kernel="precomputed").fit(K, y)
    twin = naive_nnisda(K, signs(y), C=20.0)
    assert clf.n_iter_[0] == twin.steps > 500
    np.testing.assert_allclose(coefficients(clf, y), twin.v, rtol=1e-7, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.integers(1, 3), st.sampled_from([0.1, 2.0]), st.booleans(), st.integers(0, 2**31 - 1))
def test_grids_with_duplicates(n, d, C, bias, seed):
    # Integer grids bring exact ties and conflicting duplicates: of equal violators the lowest row, up to rounding.
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = rng.integers(0, 2, size=n)
    y[:2] = [0, 1]
    K = rbf_kernel(X, gamma=0.5)
    Q = k_hat(K, signs(y), C, bias)
    path, _ = walk(K, y, C=C, fit_intercept=bias, most=60)
    before = np.zeros(n)
    for v in path:
        r = 1 - Q @ before
        violation = np.where(before > 0, np.abs(r), np.maximum(0, r))
        (i,) = np.flatnonzero(v != before)
        assert violation[i] >= violation.max() - 1e-12
        assert i == np.flatnonzero(violation >= violation.max() - 1e-12)[0] or violation[i] != violation.max()
        np.testing.assert_allclose(v[i], max(0.0, before[i] + r[i] / Q[i, i]), rtol=1e-9, atol=1e-13)
        before = v


def test_the_first_of_equals():
    # All samples equal, labels in turn: the first tie is between both classes, the second between rows 1 and 3.
    path, _ = walk(np.ones((4, 4)), np.array([1, 0, 1, 0]), fit_intercept=False, most=3)
    assert [int(np.flatnonzero(v != w)[0]) for v, w in zip(path, [np.zeros(4), *path], strict=False)] == [0, 1, 2]
