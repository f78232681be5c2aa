"""Adapters to scikit-activeml, against the installed package."""

import numpy as np
import pytest

pytest.importorskip("skactiveml", reason="needs scikit-activeml")

from skactiveml.classifier import SklearnClassifier
from skactiveml.pool import EpistemicUncertaintySampling, QueryByCommittee, RandomSampling, UncertaintySampling
from sklearn.datasets import make_blobs, make_moons
from sklearn.naive_bayes import GaussianNB

from hingeline import LASVC, SVC, IncrementalSVC
from hingeline.active import ActiveLearner, Rule, near_boundary
from hingeline.active.scikit_activeml import RuleStrategy, StrategyRule

X, Y = make_moons(120, noise=0.2, random_state=0)
X3, Y3 = make_blobs(120, centers=3, cluster_std=2.0, random_state=0)


def answered(learner, y, n=6):
    learner.answer(np.arange(10), y[:10])
    for _ in range(n):
        rows = learner.ask()
        learner.answer(rows, y[rows])
    return learner


@pytest.mark.parametrize("probability", [False, True])
def test_uncertainty_sampling_is_margin_sampling(probability):
    names = np.array(["no", "yes"])[Y]
    rule = StrategyRule(UncertaintySampling(method="margin_sampling"))
    theirs = answered(ActiveLearner(IncrementalSVC(gamma=1.0, probability=probability), rule, pool=X), names)
    ours = answered(ActiveLearner(IncrementalSVC(gamma=1.0), "margin", pool=X), names)
    if not probability:  # the boundary of a sigmoid is not the one of the model
        assert theirs.labels == ours.labels
    assert theirs.n_labelled == 16 and theirs.undo().rows == tuple(theirs.ask())


def test_strategies_of_several_classes():
    for strategy, more in [
        (UncertaintySampling(method="entropy"), {}),
        (RandomSampling(), {}),
        (
            QueryByCommittee(),
            {"ensemble": [SklearnClassifier(GaussianNB(var_smoothing=v), classes=[0, 1, 2]) for v in (0.1, 1.0)]},
        ),
    ]:
        rule = StrategyRule(strategy, **more)
        learners = [ActiveLearner(LASVC(gamma=0.5), rule, pool=X3, classes=[0, 1, 2]) for _ in range(2)]
        assert answered(learners[0], Y3, 2).labels == answered(learners[1], Y3, 2).labels


def test_unsuitable_strategies_are_refused():
    with pytest.raises(TypeError, match="strategy must be"):
        StrategyRule(RuleStrategy)
    with pytest.raises(ValueError, match="missing_label"):
        StrategyRule(RandomSampling(missing_label=-1))
    assert StrategyRule(EpistemicUncertaintySampling()).arguments == {}


@pytest.mark.parametrize("fit_clf", [True, False])
def test_rule_as_strategy_asks_as_the_learner(fit_clf):
    learner = answered(ActiveLearner(IncrementalSVC(gamma=1.0), "near_boundary", pool=X), Y)
    y = np.full(len(X), np.nan)
    y[list(learner.labels)] = list(learner.labels.values())
    clf = SklearnClassifier(SVC(gamma=1.0, tol=1e-8) if fit_clf else learner.estimator, classes=[0, 1])
    strategy = RuleStrategy("near_boundary", random_state=0)
    rows, utilities = strategy.query(X, y, clf, fit_clf=fit_clf, batch_size=3, return_utilities=True)
    assert rows.tolist() == learner.ask(3).tolist()
    assert np.isnan(utilities[0]).tolist() == (~np.isnan(y)).tolist()
    np.testing.assert_allclose(utilities[0, rows], -np.abs(learner.scores(rows)), atol=1e-6)
    assert np.isnan(utilities[2, rows]).tolist() == [True, True, False]
    few = learner.open_rows[:20]
    by_number = strategy.query(X, y, clf, fit_clf=fit_clf, candidates=few)
    by_sample = strategy.query(X, y, clf, fit_clf=fit_clf, candidates=X[few])
    assert by_number.tolist() == few[by_sample].tolist()


def test_rule_as_strategy_draws_small_pools_and_breaks_ties():
    y, clf = np.where(np.arange(120) < 20, Y, np.nan), SklearnClassifier(SVC(gamma=1.0), classes=[0, 1])
    rows, utilities = RuleStrategy(Rule(near_boundary, candidates=7), random_state=1).query(
        X, y, clf, batch_size=2, return_utilities=True
    )
    assert np.isfinite(utilities[0]).sum() == 14 and len(rows) == 2
    asked = {int(RuleStrategy("random", random_state=seed).query(X, y, clf)[0]) for seed in range(20)}
    assert len(asked) > 10
    first = RuleStrategy(Rule(lambda scores: np.zeros(len(scores)), ties="first"))
    assert first.query(X, y, clf).tolist() == [20]


def test_rule_as_strategy_without_labels():
    clf = SklearnClassifier(SVC(gamma=1.0), classes=[0, 1])
    rows = {int(RuleStrategy(random_state=k).query(X, np.full(120, np.nan), clf)[0]) for k in range(10)}
    assert len(rows) > 5
