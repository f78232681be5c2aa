"""solver='path' of IncrementalSVC is Algorithm 1 of the paper, event for event."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from hingeline import IncrementalSVC

from .oracle.algorithm_1 import AlgorithmOne

NAMES = ("O", "S", "E")


def problem(seed):
    """Rows, labels, C and gamma: easy and noisy, small and large C."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 60)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + rng.choice([0.1, 0.5, 2.0]) * rng.normal(size=n) > 0, 1, -1)
    y[0], y[1] = 1, -1
    return X, y, float(rng.choice([0.1, 1.0, 10.0, 100.0])), float(rng.choice([0.05, 0.3, 1.0]))


def events_of(model):
    return [(int(point), NAMES[place]) for _, point, place in model.events_]


@pytest.mark.parametrize("seed", range(30))
def test_events_are_those_of_algorithm_1(seed):
    X, y, C, gamma = problem(seed)
    model = IncrementalSVC(C=C, gamma=gamma, solver="path")
    naive, count = AlgorithmOne(rbf_kernel(X, gamma=gamma), y, C), 0
    for k in range(len(y)):
        model.partial_fit(X[[k]], y[[k]], classes=[-1, 1])
        expected = naive.add(k)
        assert events_of(model) == expected, k
        count += len(expected)
    assert count > len(y) / 2
    coefficients = np.zeros(len(y))
    coefficients[model.support_] = np.abs(model.dual_coef_[0])
    np.testing.assert_allclose(coefficients, naive.a, atol=1e-8 * max(1, C))


def test_a_call_with_many_points_takes_them_one_by_one():
    X, y, C, gamma = problem(3)
    together = IncrementalSVC(C=C, gamma=gamma, solver="path").fit(X, y)
    apart = IncrementalSVC(C=C, gamma=gamma, solver="path")
    for k in range(len(y)):
        apart.partial_fit(X[[k]], y[[k]], classes=[-1, 1])
    assert together.n_iter_ == apart.n_iter_
    assert np.array_equal(together.events_, apart.events_)
    by_sets = IncrementalSVC(C=C, gamma=gamma).fit(X, y)
    assert np.all(by_sets.n_iter_ != together.n_iter_)
    np.testing.assert_allclose(by_sets.decision_function(X), together.decision_function(X), atol=1e-8)


def test_points_leave_along_the_path():
    X, y, C, gamma = problem(5)
    model = IncrementalSVC(C=C, gamma=gamma, solver="path").fit(X, y)
    before = model.decision_function(X)
    gone = model.support_[:3]
    model.forget(gone.tolist())
    rest = np.delete(np.arange(len(y)), gone)
    np.testing.assert_allclose(
        model.decision_function(X),
        IncrementalSVC(C=C, gamma=gamma).fit(X[rest], y[rest]).decision_function(X),
        atol=1e-7,
    )
    model.add(X[gone], y[gone])
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-7)
    assert model.kkt_violation_ < 1e-8


def test_leave_one_out_along_the_path_is_that_of_sets():
    X, y, C, gamma = problem(7)
    found = [IncrementalSVC(C=C, gamma=gamma, solver=s).fit(X, y).leave_one_out().decision for s in ("auto", "path")]
    np.testing.assert_allclose(*found, atol=1e-7)


def test_the_solver_may_change_between_calls():
    X, y, C, gamma = problem(9)
    model = IncrementalSVC(C=C, gamma=gamma).fit(X[:20], y[:20])
    model.set_params(solver="path").partial_fit(X[20:], y[20:])
    assert model.kkt_violation_ < 1e-8
    with pytest.raises(ValueError, match="must be one of 'auto', 'path'"):
        IncrementalSVC(solver="sets").fit(X, y)
