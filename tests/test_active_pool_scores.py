"""Scores of a whole pool that are updated after each answer: the same questions as from all scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from hingeline import IncrementalSVC
from hingeline.active import ActiveLearner, Rule, largest_positive, margin, near_boundary, pool_scores
from hingeline.active.pool_scores import PoolScores


def data(n_classes, n=300, copies=1, seed=0):
    X, y = make_blobs(n, centers=n_classes, n_features=3, cluster_std=4.0, random_state=seed)
    return np.repeat(X, copies, axis=0), np.repeat(y, copies)


def plainly(rule):
    """Rule with a utility that the learner does not know: it computes all scores."""
    return Rule(lambda scores: rule(scores))


def pair_of_learners(X, rule, *, C=5.0, classes=(0, 1), **how):
    """Learners that differ in the way scores are computed only."""
    make = lambda: IncrementalSVC(C=C, gamma=0.1)  # noqa: E731
    learners = [ActiveLearner(make(), r, pool=X, classes=classes, random_state=3, **how) for r in (rule, plainly(rule))]
    assert all(learner._pool_scores is None for learner in learners)
    return learners


def both(learners, act):
    one, other = (act(learner) for learner in learners)
    return one, other


def check_same_questions(learners, y, n_questions, n=1, act=None):
    for k in range(n_questions):
        one, other = both(learners, lambda learner: learner.ask(n))
        np.testing.assert_array_equal(one, other)
        both(learners, lambda learner, rows=one: learner.answer(rows, y[rows]))
        if act is not None:
            both(learners, lambda learner, k=k: act(learner, k))
    assert learners[0]._pool_scores is not None and learners[1]._pool_scores is None


def check_scores(learner):
    """The scores are those of decision_function within the bound, which is small."""
    scores, error = learner._pool_scores.current(learner.estimator)
    exact = learner.estimator.decision_function(learner.pool)
    assert np.abs(scores - exact).max() <= error < 1e-7


@pytest.mark.parametrize(("rule", "n_classes"), [(near_boundary, 2), (largest_positive, 2), (margin, 2), (margin, 3)])
def test_same_questions(rule, n_classes):
    X, y = data(n_classes)
    learners = pair_of_learners(X, rule, classes=range(n_classes))
    check_same_questions(learners, y, 50)
    check_scores(learners[0])


@pytest.mark.parametrize("how", [{}, {"diversity": 0.5}])
def test_same_batches(how):
    X, y = data(3, copies=2)
    learners = pair_of_learners(X, margin, classes=range(3), **how)
    check_same_questions(learners, y, 15, n=4)


def test_ties():
    """Equal rows have equal scores, and chance decides among them."""
    X, y = data(2, n=60, copies=5)
    learners = pair_of_learners(X, near_boundary)
    check_same_questions(learners, y, 40)


@pytest.mark.parametrize(("rule", "n_classes"), [(near_boundary, 2), (largest_positive, 2), (margin, 3)])
@pytest.mark.parametrize("n", [1, 4])
def test_errors_up_to_the_bound_change_no_question(monkeypatch, rule, n_classes, n):
    """The row that is asked looks worse by the whole bound, all others look better."""
    exact = PoolScores.current

    def misled(self, estimator):
        scores, _ = exact(self, estimator)
        toward = 1.0 if rule is largest_positive else -np.sign(scores)
        if n_classes > 2:
            toward = np.where(scores == scores.max(axis=1, keepdims=True), -1.0, 1.0)
        best = learners[1].ask(n)[-1]
        sign = np.where(np.arange(len(scores)) == best, -1.0, 1.0)
        return scores + 0.01 * toward * (sign if scores.ndim == 1 else sign[:, np.newaxis]), 0.01

    monkeypatch.setattr(PoolScores, "current", misled)
    X, y = data(n_classes)
    learners = pair_of_learners(X, rule, classes=range(n_classes))
    check_same_questions(learners, y, 20, n=n)


def test_answers_taken_back():
    def act(learner, k):
        if k % 3 == 1:
            learner.undo()
        if k % 7 == 5:
            rows = list(learner.labels)[:2]
            learner.relabel(rows, [1 - learner.labels[row] for row in rows])
        if k % 5 == 4:
            learner.skip([int(learner.open_rows[0])])

    X, y = data(2)
    learners = pair_of_learners(X, margin)
    check_same_questions(learners, y, 60, act=act)
    check_scores(learners[0])


def test_no_kernel_value_of_forgotten_points_is_kept():
    X, y = data(2)
    learner, _ = pair_of_learners(X, margin)
    for _ in range(30):
        rows = learner.ask()
        learner.answer(rows, y[rows])
    learner.ask()
    kept = learner._pool_scores
    gone = learner._memory.ids[learner.history[-1].rows[0]]
    assert gone in kept._numbers
    learner.undo()
    learner.ask()
    assert gone not in kept._numbers and len(kept._values) == len(kept._numbers) > 0
    np.testing.assert_array_equal(kept._place[kept._numbers], np.arange(len(kept._numbers)))


def test_changes_of_the_model_from_outside():
    X, y = data(2)
    first, extra = data(2, seed=1), data(2, seed=2)
    learners = [
        ActiveLearner(IncrementalSVC(C=0.1, gamma=0.1).fit(*first), rule, pool=X, random_state=3)
        for rule in (margin, plainly(margin))
    ]
    forgotten = []

    def act(learner, k):
        model = learner.estimator
        if k == 5:  # points at their bounds, whose kernel values were never needed
            if not forgotten:
                forgotten.extend(np.setdiff1d(model.support_, learner._pool_scores._numbers)[:20].tolist())
            model.forget(forgotten)
        if k == 10:
            model.set_C(0.5)
        if k == 15:
            model.add(extra[0][:40], extra[1][:40])

    check_same_questions(learners, y, 30, act=act)
    assert len(forgotten) == 20
    check_scores(learners[0])


def test_new_label():
    X, y = data(3)
    y = np.where(y == 2, 2, y)
    order = np.argsort(y == 2, kind="stable")
    X, y = X[order], y[order]
    make = lambda: IncrementalSVC(C=5.0, gamma=0.1)  # noqa: E731
    learners = [ActiveLearner(make(), r, pool=X, random_state=3) for r in (margin, plainly(margin))]
    known = np.arange(0, 40)
    both(learners, lambda learner: learner.answer(known, y[known]))
    both(learners, lambda learner: learner.ask())
    third = np.flatnonzero(y == 2)[:3]
    both(learners, lambda learner: learner.answer(third, y[third]))
    check_same_questions(learners, y, 20)
    check_scores(learners[0])


@pytest.mark.parametrize("most", [0, 5, 40])
def test_little_memory(monkeypatch, most):
    """Kernel values that do not fit are not kept; the questions are the same."""
    X, y = data(2)
    monkeypatch.setattr(pool_scores, "SHARE", (most + 0.5) * 8 * len(X) / 2**20 / 1024)
    learners = pair_of_learners(X, margin)
    check_same_questions(learners, y, 60)
    assert learners[0]._pool_scores._most == most
    assert len(learners[0]._pool_scores._values) <= most
    check_scores(learners[0])


def test_sums_are_renewed(monkeypatch):
    monkeypatch.setattr(pool_scores, "RENEW", 0.5)
    X, y = data(2)
    learners = pair_of_learners(X, margin)
    check_same_questions(learners, y, 30)
    kept = learners[0]._pool_scores
    assert kept._moved <= 0.5 * (1 + np.abs(kept._coef).sum())


def test_sparse_pool():
    X, y = data(2)
    learners = pair_of_learners(sp.csr_array(X), margin)
    check_same_questions(learners, y, 30)
    check_scores(learners[0])


def test_other_model():
    """A model that is fitted from the beginning is not the one of the sums."""
    X, y = data(2)
    model = IncrementalSVC(C=5.0, gamma=0.1).fit(X[:50], y[:50])
    learner = ActiveLearner(model, margin, pool=X)
    learner.ask()
    model.fit(X[100:180], y[100:180])
    learner.skip([0])
    assert learner.ask()[0] == learner.open_rows[np.abs(model.decision_function(X[learner.open_rows])).argmin()]


def test_kernels_that_are_not_bounded_compute_all_scores():
    X, y = data(2)
    learner = ActiveLearner(IncrementalSVC(kernel="poly", gamma=0.1, coef0=1.0), margin, pool=X, classes=[0, 1])
    for _ in range(10):
        rows = learner.ask()
        learner.answer(rows, y[rows])
    assert learner._pool_scores is None and not PoolScores.suits(learner.estimator)
