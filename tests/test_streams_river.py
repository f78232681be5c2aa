"""Adapters to river, against the installed package."""

import pickle

import numpy as np
import pytest

pytest.importorskip("river", reason="needs river")

import pandas as pd
from river import checks, compose, drift, evaluate, metrics, naive_bayes, preprocessing, stream, tree
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import cross_val_score

from hingeline import LASVC, SVC, IncrementalSVC, KernelSGDClassifier
from hingeline.streams import ADWIN
from hingeline.streams.river import FromRiverClassifier, ToRiverClassifier
from hingeline.testing import online_checks

X, Y = make_moons(200, noise=0.2, random_state=0)
NAMES = ["a", "b"]
SAMPLES = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
ESTIMATORS = [LASVC(gamma=1.0), KernelSGDClassifier(gamma=1.0, random_state=0), IncrementalSVC(gamma=1.0)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_learning_one_by_one_is_partial_fit(estimator):
    ours = ToRiverClassifier(estimator, classes=[0, 1])
    for x, y in zip(SAMPLES[:100], Y.tolist(), strict=False):
        ours.learn_one(x, y)
    ours.learn_many(pd.DataFrame(X[100:150], columns=NAMES), pd.Series(Y[100:150]))
    same = type(estimator)(**estimator.get_params())
    for row, y in zip(X[:100], Y, strict=False):
        same.partial_fit([row], [y], classes=[0, 1])
    same.partial_fit(X[100:150], Y[100:150])
    frame = pd.DataFrame(X[150:], columns=NAMES, index=range(7, 57))
    assert ours.predict_many(frame).tolist() == same.predict(X[150:]).tolist()
    assert ours.predict_many(frame).index.equals(frame.index)
    assert [ours.predict_one(x) for x in SAMPLES[150:]] == same.predict(X[150:]).tolist()
    assert not hasattr(estimator, "n_samples_seen_")  # it was cloned


def test_checks_of_river():
    """Those for estimators of a pickle and a clone included."""
    model = ToRiverClassifier(LASVC(gamma=1.0))
    failed = []
    for check in checks.yield_checks(model):
        try:
            check(model.clone())
        except Exception as error:
            failed.append((check.__name__, repr(error)))
    assert not failed, failed


def test_labels_appear_in_the_stream():
    ours = ToRiverClassifier(IncrementalSVC(gamma=1.0))
    assert ours.predict_one(SAMPLES[0]) is None
    for x in SAMPLES[:3]:
        ours.learn_one(x, "first")
    assert ours.model is None and ours.predict_one(SAMPLES[5]) == "first"
    ours.learn_one({"a": 5.0, "b": 5.0}, "second")
    ours.learn_one({"a": -5.0, "b": 5.0}, "third")
    assert ours.model.classes_.tolist() == ["first", "second", "third"] and ours.model.n_samples_seen_ == 5
    assert ours.predict_one({"a": -5.0, "b": 5.0}) == "third"


def test_features_that_come_and_go():
    ours = ToRiverClassifier(IncrementalSVC(gamma=1.0), classes=[0, 1])
    ours.learn_one({"a": 1, "b": 2}, 0)
    ours.learn_one({"b": 3, "other": 5}, 1)
    np.testing.assert_array_equal(ours.model.support_vectors_, [[1, 2], [0, 3]])


def test_probabilities():
    ours = ToRiverClassifier(IncrementalSVC(gamma=1.0, probability=True), classes=[0, 1])
    assert ours.predict_proba_one(SAMPLES[0]) == {0: 0.5, 1: 0.5}
    ours.learn_many(pd.DataFrame(X, columns=NAMES), pd.Series(Y))
    table = ours.predict_proba_many(pd.DataFrame(X[:5], columns=NAMES))
    np.testing.assert_allclose(table.to_numpy(), ours.model.predict_proba(X[:5]))
    assert ours.predict_proba_one(SAMPLES[0]) == pytest.approx(dict(table.iloc[0]))
    with pytest.raises(NotImplementedError, match="LASVC has no probabilities"):
        ToRiverClassifier(LASVC()).predict_proba_one(SAMPLES[0])


def test_only_streams():
    with pytest.raises(TypeError, match="SVC cannot learn from a stream"):
        ToRiverClassifier(SVC())


def test_in_a_pipeline_of_river():
    samples = list(stream.iter_sklearn_dataset(load_iris(), shuffle=True, seed=0))
    model = compose.Pipeline(preprocessing.StandardScaler(), ToRiverClassifier(LASVC(gamma=0.3, C=10)))
    score = evaluate.progressive_val_score(samples, model, metrics.Accuracy()).get()
    assert score > 0.85
    again = pickle.loads(pickle.dumps(model))
    assert [again.predict_one(x) for x, _ in samples] == [model.predict_one(x) for x, _ in samples]


# ---- from river -------------------------------------------------------------------------------------------


def test_a_classifier_of_river_learns_as_in_river():
    ours, theirs = FromRiverClassifier(tree.HoeffdingTreeClassifier(grace_period=20)), None
    ours.partial_fit(X[:30], Y[:30], classes=[0, 1]).partial_fit(X[30:], Y[30:])
    theirs = tree.HoeffdingTreeClassifier(grace_period=20)
    for row, y in zip(X.tolist(), Y.tolist(), strict=True):
        theirs.learn_one(dict(enumerate(row)), y)
    wanted = [theirs.predict_one(dict(enumerate(row))) for row in X.tolist()]
    assert ours.predict(X).tolist() == wanted and ours.n_samples_seen_ == 200
    assert ours.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(200))
    assert FromRiverClassifier(tree.HoeffdingTreeClassifier(grace_period=20)).fit(X, Y).predict(X).tolist() == wanted


def test_frames_name_the_features():
    frame = pd.DataFrame(X, columns=NAMES)
    only_a = compose.Select("a") | naive_bayes.GaussianNB()
    ours = FromRiverClassifier(only_a).fit(frame, np.array(["no", "yes"])[Y])
    assert ours.classes_.tolist() == ["no", "yes"]
    changed = frame.assign(b=0.0)
    assert ours.predict(frame).tolist() == ours.predict(changed).tolist()


def test_labels_may_appear_later():
    ours = FromRiverClassifier(naive_bayes.GaussianNB()).partial_fit(X, Y, classes=[0, 1])
    ours.partial_fit(X[:3] + 10, [2, 2, 2])
    assert ours.classes_.tolist() == [0, 1, 2] and ours.predict(X[:3] + 10).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="at least two labels"):
        FromRiverClassifier(naive_bayes.GaussianNB()).fit(X, np.zeros(200, dtype=int))


def test_an_error_changes_nothing():
    class Picky(naive_bayes.GaussianNB):
        def learn_one(self, x, y):
            super().learn_one(x, y)
            if x[0] > 50:
                raise ValueError("too large")

    ours = FromRiverClassifier(Picky()).fit(X, Y)
    before = ours.predict_proba(X)
    with pytest.raises(ValueError, match="too large"):
        ours.partial_fit([[1.0, 1.0], [99.0, 1.0]], [1, 1])
    np.testing.assert_array_equal(ours.predict_proba(X), before)
    assert ours.n_samples_seen_ == 200


LAWS = ("check_new_labels", "check_declared_labels", "check_first_call", "check_bad_chunk[NaN]")


@pytest.mark.parametrize("name", LAWS)
def test_laws_of_streams(name):
    model = FromRiverClassifier(naive_bayes.GaussianNB())
    (check,) = (one for one in online_checks(model) if one.name == name)
    check(model)


def test_cross_validation():
    assert cross_val_score(FromRiverClassifier(naive_bayes.GaussianNB()), X, Y).mean() > 0.8


# ---- drift ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_alarms_are_those_of_river(seed):
    """river drops one bucket at a time, ours all before the cut: alarms agree within two checks."""
    rng = np.random.default_rng(seed)
    errors = rng.random(6000) < np.repeat([0.1, 0.3], 3000)
    ours, theirs = ADWIN(), drift.ADWIN()
    found = [k for k, error in enumerate(errors) if ours.update([error])]
    wanted = []
    for k, error in enumerate(errors.astype(int).tolist()):
        theirs.update(error)
        wanted += [k] * theirs.drift_detected
    assert len(found) == len(wanted) == 1 and abs(found[0] - wanted[0]) <= 64
