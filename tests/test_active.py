"""The active learner against a naive twin, and its laws: questions, undo, states, failures."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC as SklearnSVC

from hingeline import LASVC, IncrementalOneClassSVM, IncrementalSVC, KernelSGDClassifier
from hingeline.active import ActiveLearner, Rule, margin, near_boundary

X, Y = make_moons(200, noise=0.2, random_state=0)
X3, Y3 = make_blobs(150, centers=3, cluster_std=2.0, random_state=0)


def exact(**more):
    return IncrementalSVC(**{"C": 10.0, "gamma": 1.0} | more)


def lasvc(**more):
    return LASVC(**{"C": 10.0, "gamma": 1.0} | more)


MODELS = {
    "IncrementalSVC": exact,
    "window": lambda: exact(window=1000),
    "LASVC": lasvc,
    "KernelSGDClassifier": lambda: KernelSGDClassifier(gamma=1.0),
    "SGDClassifier": lambda: SGDClassifier(random_state=0),
    "GaussianNB": GaussianNB,
}


def started(model, pool=X, y=Y, first=10, **more):
    learner = ActiveLearner(model, pool=pool, **{"classes": np.unique(y), "random_state": 0} | more)
    learner.answer(np.arange(first), y[:first])
    return learner


def labelled(learner, n, y=Y):
    """Answer n questions."""
    for _ in range(n):
        rows = learner.ask()
        learner.answer(rows, y[rows])
    return learner


# ---- questions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["near_boundary", "largest_positive"])
def test_twin_that_fits_again_asks_the_same_questions(rule):
    learner = started(exact(), rule=rule)
    asked = list(range(10))
    for _ in range(30):
        twin = SklearnSVC(C=10.0, gamma=1.0, tol=1e-9).fit(X[asked], Y[asked])
        scores = twin.decision_function(X)
        rest = [row for row in range(len(X)) if row not in asked]
        expected = min(rest, key=lambda row: abs(scores[row]) if rule == "near_boundary" else -scores[row])
        rows = learner.ask()
        assert rows.tolist() == [expected]
        learner.answer(rows, Y[rows])
        asked.append(expected)
    assert list(learner.labels) == asked


def test_margin_of_three_classes():
    learner = started(exact(), X3, Y3, rule="margin")
    scores = np.sort(learner.estimator.decision_function(X3), axis=1)
    gap = scores[:, -1] - scores[:, -2]
    assert learner.ask(3).tolist() == sorted(range(10, 150), key=lambda row: gap[row])[:3]


@pytest.mark.parametrize("name", MODELS)
def test_every_stream_learner(name, monkeypatch):
    monkeypatch.setattr(type(MODELS[name]()), "fit", lambda *_: pytest.fail("fitted from the beginning"))
    learner = labelled(started(MODELS[name](), n_snapshots=2), 15)
    twin, order = MODELS[name](), list(learner.labels)
    twin.partial_fit(X[order[:10]], Y[order[:10]], classes=[0, 1])
    for row in order[10:]:
        twin.partial_fit(X[[row]], Y[[row]])
    assert learner.n_labelled == 25 and len(set(order)) == 25
    for method in ("decision_function", "predict_proba"):
        if hasattr(twin, method) and name != "SGDClassifier":
            assert (getattr(learner.estimator, method)(X) == getattr(twin, method)(X)).all()
    assert learner.scores().shape == (200,)


def test_questions_depend_on_answers_and_seed_only():
    learner = started(exact(), rule="small_pool")
    rows = learner.ask()
    assert (learner.ask() == rows).all()
    assert learner.ask(3).tolist() != rows.tolist() and len(learner.ask(3)) == 3
    event = learner.answer(rows, Y[rows])
    assert learner.ask().tolist() != rows.tolist()
    assert learner.undo() == event and (learner.ask() == rows).all()
    questions = {tuple(started(exact(), rule="random", random_state=seed).ask(3)) for seed in (0, 0, 1, 2)}
    assert len(questions) == 3


def test_each_question_has_its_own_draws():
    learner = started(exact(), rule="random")
    rows = [learner.skip(learner.ask()).rows[0] for _ in range(30)]
    assert len({row // 20 for row in rows}) > 6  # of ten


def test_rows_are_drawn_at_random_until_two_labels_are_known():
    learner = ActiveLearner(exact(), "near_boundary", pool=X, random_state=3)
    assert not learner.is_ready
    while not learner.is_ready:
        rows = learner.ask()
        event = learner.answer(rows, Y[rows])
        assert event.predicted == () and event.changed is None
    rows = learner.ask()
    assert rows.tolist() == [min(learner.open_rows, key=lambda row: abs(learner.scores()[row]))]
    first = ActiveLearner(exact(), Rule(near_boundary, ties="first"), pool=X, diversity=0.5)
    assert first.ask(3).tolist() == [0, 1, 2]


def test_a_fitted_estimator_goes_on():
    model = exact().fit(X[:50], Y[:50])
    learner = ActiveLearner(model, "near_boundary", pool=X[50:])
    before = model.decision_function(X)
    assert learner.is_ready
    labelled(learner, 3, Y[50:])
    assert model.n_samples_ == 53 and learner.estimator is model
    for _ in range(3):
        learner.undo()
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-9)


def test_small_pools_score_few_rows():
    class Counting(IncrementalSVC):
        scored = 0

        def decision_function(self, X):
            type(self).scored += len(X)
            return super().decision_function(X)

    pool = np.random.default_rng(0).normal(size=(100_000, 2))
    learner = ActiveLearner(Counting(gamma=1.0), "small_pool", pool=pool, classes=[0, 1])
    learner.answer([0, 1, 2, 3], [0, 1, 0, 1])
    learner.ask()
    assert Counting.scored == 59
    learner.skip(learner.ask())
    learner.ask(2)
    assert Counting.scored == 59 + 2 * 59


def test_ties():
    pool = np.repeat(X[:20], 5, axis=0)  # each row five times
    for ties, count in (("first", 1), ("random", 2)):
        asked = set()
        for seed in range(8):
            learner = ActiveLearner(exact(), Rule(near_boundary, ties=ties), pool=pool, random_state=seed)
            learner.answer(range(50), np.repeat(Y[:10], 5))
            asked.add(int(learner.ask()[0]))
        assert len({row // 5 for row in asked}) == 1 and len(asked) >= count
        assert ties == "random" or asked.pop() % 5 == 0


def test_equal_rows_are_not_asked_together():
    pool = np.vstack([X[:20], np.repeat(X[20:40], 3, axis=0)])
    called = exact(kernel=lambda A, B: np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2)))
    for model in (exact(), called, lasvc(kernel="poly", coef0=1.0), SGDClassifier(random_state=0)):
        alike = started(model, pool, Y, first=20).ask(5)
        differing = started(type(model)(**model.get_params()), pool, Y, first=20, diversity=0.7).ask(5)
        n_alike, n_differing = (len({tuple(row) for row in pool[rows]}) for rows in (alike, differing))
        assert n_alike < n_differing and (n_differing == 5 or model.get_params().get("kernel") != "rbf")
        assert (pool[differing[0]] == pool[alike[0]]).all()


def test_an_exhausted_pool():
    learner = ActiveLearner(exact(), pool=X[:12], n_watched=5)
    rows = learner.ask(10)
    learner.answer(rows, Y[rows])
    assert len(learner.ask(5)) == 2
    learner.skip(learner.ask(5))
    assert learner.ask().tolist() == [] and learner.n_open == 0


def test_sparse_rows_and_data_frames_ask_the_same():
    pools = X, sp.csr_array(X), sp.coo_array(X), pd.DataFrame(X, columns=["a", "b"])
    found = [list(labelled(started(exact(), pool, diversity=0.5), 5).labels) for pool in pools]
    assert all(rows == found[0] for rows in found)


def test_gamma_is_computed_from_the_pool():
    model = IncrementalSVC(C=10)
    labelled(started(model), 2)
    assert model.gamma == pytest.approx(1 / (2 * X.var()))


# ---- undo --------------------------------------------------------------------------------------------


def test_exact_undo_returns_to_the_beginning():
    learner = ActiveLearner(exact(), "near_boundary", pool=X)
    passed = []
    for _ in range(15):
        rows = learner.ask()
        passed.append((rows.tolist(), learner.scores(rows) if learner.is_ready else None))
        learner.answer(rows, Y[rows])
    for rows, scores in reversed(passed):
        assert list(learner.undo().rows) == rows == learner.ask().tolist()
        if scores is not None:
            np.testing.assert_allclose(learner.scores(rows), scores, atol=1e-9)
    assert learner.history == () and learner.counts == {} and learner.n_open == 200
    with pytest.raises(ValueError, match="nothing to undo"):
        learner.undo()


def test_undo_by_snapshots_gives_the_same_bits():
    learner = started(lasvc(), n_snapshots=3)
    passed = []
    for _ in range(5):
        passed.append(learner.scores())
        labelled(learner, 1)
    for scores in passed[:1:-1]:
        learner.undo()
        assert (learner.scores() == scores).all()
    state = learner.state()
    with pytest.raises(ValueError, match=r"LASVC cannot forget.*last 0 calls.*n_snapshots"):
        learner.undo()
    assert learner.state() == state


def test_relabel_with_snapshots_is_the_stream_with_the_right_label():
    learner = labelled(started(lasvc()), 6)
    order, y = list(learner.labels), Y.copy()
    y[order[12]] = 1 - y[order[12]]
    learner.relabel(order[12], int(y[order[12]]))
    twin = lasvc().partial_fit(X[order], y[order], classes=[0, 1])
    assert (learner.scores() == twin.decision_function(X)).all()
    learner.undo()
    twin = lasvc().partial_fit(X[order], Y[order], classes=[0, 1])
    assert (learner.scores() == twin.decision_function(X)).all()


KINDS = st.sampled_from(["answer", "ask", "relabel", "skip", "unsure", "reopen", "undo"])


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(["IncrementalSVC", "LASVC"]),
    st.lists(st.tuples(KINDS, st.sets(st.integers(0, 11), min_size=1, max_size=2)), max_size=14),
)
def test_any_sequence_of_events(name, sequence):
    """The twin keeps all its earlier states; its model is fitted to the labels that are left."""
    learner = ActiveLearner(MODELS[name](), pool=X[:14], classes=[0, 1], n_snapshots=100, n_watched=4)
    learner.answer([12, 13], [0, 1])
    past = [({12: 0, 13: 1}, {})]  # labels; other marks
    labels, marks = past[-1]
    for kind, rows in sequence:
        labels, marks = (dict(part) for part in past[-1])
        free = [row for row in sorted(rows) if row not in labels]
        given_ = {"answer": free, "relabel": [row for row in sorted(rows) if row in labels]}.get(kind, sorted(rows))
        if kind == "ask":
            given_ = learner.ask(2).tolist()
            assert all(row not in labels and row not in marks for row in given_)
            kind = "answer"
        if kind == "undo":
            if len(past) > 1:
                past.pop()
                learner.undo()
        elif given_:
            values = [(row + len(past)) % 2 for row in given_]
            getattr(learner, kind)(given_, *([values] if kind in ("answer", "relabel") else []))
            for row, value in zip(given_, values, strict=True):
                labels.pop(row, None)
                marks.pop(row, None)
                if kind in ("answer", "relabel"):
                    labels[row] = value
                elif kind != "reopen":
                    marks[row] = {"skip": "skipped"}.get(kind, kind)
            past.append((labels, marks))
        labels, marks = past[-1]
        assert learner.labels == labels and len(learner.history) == len(past)
        assert {row: learner.status_of(row) for row in marks} == marks
        assert learner.open_rows.tolist() == [row for row in range(14) if row not in labels and row not in marks]
    if name == "IncrementalSVC":
        rows = sorted(labels)
        assert learner.estimator.n_samples_ == len(rows)
        if len(set(labels.values())) == 2:
            twin = exact().fit(X[rows], [labels[row] for row in rows])
            np.testing.assert_allclose(learner.scores(), twin.decision_function(X[:14]), atol=1e-8)
    else:
        assert learner.estimator.n_samples_seen_ == len(labels)


def test_a_window_is_undone_by_snapshots():
    learner = started(exact(window=10), n_snapshots=2)
    before = learner.scores()
    labelled(learner, 1)
    assert learner.estimator.n_samples_ == 10
    learner.undo()
    assert (learner.scores() == before).all()


# ---- history and advice ------------------------------------------------------------------------------


def test_history():
    learner = started(exact())
    event = learner.answer([20, 21], [1, 0])
    assert (event.kind, event.rows, event.labels, event.n_labelled) == ("answer", (20, 21), (1, 0), 12)
    assert event.status_before == ("open", "open") and event.labels_before == (None, None)
    assert event.predicted == tuple(exact().fit(X[:10], Y[:10]).predict(X[20:22]))
    event = learner.relabel(20, 0)
    assert event.labels_before == (1,) and event.status_before == ("labelled",)
    assert learner.unsure([20, 30]).rows == (20, 30) and learner.skip(31).changed == 0
    assert [learner.status_of(row) for row in (20, 21, 30, 31, 32)] == [
        "unsure",
        "labelled",
        "unsure",
        "skipped",
        "open",
    ]
    assert learner.counts == {
        int(y): int(n) for y, n in zip(*np.unique(np.r_[Y[:10], 0], return_counts=True), strict=True)
    }
    assert [event.kind for event in learner.history] == ["answer", "answer", "relabel", "unsure", "skip"]


def changes(learner, n=30, y=Y, rows=X, look=lambda learner: None):
    """Answer, relabel and undo; returns the shares of predictions that changed, by the model itself."""
    found = []
    for k in range(n):
        before = learner.estimator.predict(rows)
        if k % 5 == 4:
            learner.relabel(10 + k - 1, int(y[10 + k]))
        else:
            learner.answer(10 + k, int(y[10 + k]))
        found.append(float(np.mean(learner.estimator.predict(rows) != before)))
        if k % 7 == 5:
            learner.undo()
            found.pop()
        look(learner)
    return found


@pytest.mark.parametrize("model", [exact, lasvc], ids=["exact", "online"])
@pytest.mark.parametrize(
    "look", [lambda learner: None, lambda learner: learner.advice(), lambda learner: learner.history]
)
def test_changed_is_the_share_of_predictions_that_changed(model, look):
    """It does not matter when the predictions of the watched rows are computed."""
    learner = started(model(), n_watched=200)
    expected = changes(learner, look=look)
    assert sum(expected) > 0
    np.testing.assert_allclose([event.changed for event in learner.history[-len(expected) :]], expected, atol=1e-12)


def test_changed_when_a_label_is_new():
    """The third class arrives while predictions of earlier models are still to be computed."""
    learner = started(exact(), X3, Y3 % 2, n_watched=len(X3))
    expected = []
    for row in range(10, 25):
        before = learner.estimator.predict(X3)
        learner.answer(row, int(Y3[row]))
        expected.append(np.mean(learner.estimator.predict(X3) != before))
    assert len(learner.estimator.classes_) == 3
    assert [event.changed for event in learner.history[-15:]] == expected


def test_predictions_are_computed_for_many_models_at_once(monkeypatch):
    learner = started(exact())
    learner.advice()
    asked = []
    real = IncrementalSVC._predict_marked
    monkeypatch.setattr(
        IncrementalSVC, "_predict_marked", lambda self, marks, rows: asked.append(len(marks)) or real(self, marks, rows)
    )
    labelled(learner, 45)
    assert asked == [20, 20]
    learner.advice()
    learner.advice()
    assert asked == [20, 20, 5]


def test_models_that_were_changed_elsewhere_are_not_compared():
    learner = labelled(started(exact()), 5)
    learner.estimator.forget(learner.estimator.support_.tolist()[:2])
    assert [event.changed for event in learner.history[-4:]] == [None] * 4
    learner.answer(190, int(Y[190]))
    assert learner.history[-1].changed is not None
    learner = labelled(started(exact()), 5)
    learner.estimator.fit(X[:50], Y[:50])
    assert [event.changed for event in learner.history[-4:]] == [None] * 4


def test_an_answer_is_compared_with_the_model_before_it():
    """The model before was changed elsewhere, and those before that are not known any more."""
    learner = labelled(started(exact(), n_watched=200), 5)
    learner.advice()
    labelled(learner, 8)
    learner.estimator.forget(learner.estimator.support_.tolist()[:5])
    learner.advice()
    before = learner.estimator.predict(X)
    labelled(learner, 1)
    assert learner.history[-1].changed == np.mean(learner.estimator.predict(X) != before)


def test_undo_of_an_event_that_has_forgotten():
    """Its model is still to be compared, and is not one of the history any more."""
    learner = labelled(started(exact(), n_watched=200), 12)
    before = learner.advice(window=10)
    learner.unsure(list(learner.labels)[:3])
    learner.undo()
    assert learner.advice(window=10) == before
    predicted = learner.estimator.predict(X)
    labelled(learner, 1)
    assert learner.history[-1].changed == np.mean(learner.estimator.predict(X) != predicted)


def test_a_copy_knows_what_is_still_to_be_compared():
    learner = labelled(started(exact()), 5)
    again = pickle.loads(pickle.dumps(learner))
    assert again._watch.marks and again.history == learner.history


def test_advice():
    y = (X3[:, 0] > X3[:, 0].mean()).astype(int)
    learner = started(exact(C=1000.0, gamma=0.01), X3, y, rule="near_boundary")
    first = learner.advice(window=10)
    assert not first.stop and "fewer than 10 answers" in first.reason and np.isnan(first.agreement)
    labelled(learner, 10, y)
    assert not learner.advice(window=10, agreement=0.9999).stop
    labelled(learner, 60, y)
    last = learner.advice(window=10)
    assert last.stop and last.agreement >= 0.99 and last.expected_change <= 0.01 and last.surprise <= 0.1
    rows = [row for row in learner._watch.rows if row not in learner.labels]
    assert last.inside_margin == np.mean(np.abs(learner.scores(rows)) < 1)
    wrong = [row for row in learner.open_rows.tolist() if y[row] == 1][:20]
    learner.answer(wrong, [0] * len(wrong))
    advice = learner.advice(window=10)
    assert not advice.stop and "still change" in advice.reason and advice.surprise > 0.5


def test_no_advice_to_stop_while_all_predictions_are_equal():
    y = np.zeros(200, dtype=int)
    y[0] = 1
    learner = labelled(started(exact(C=0.1), y=y), 30, y)
    advice = learner.advice(window=10)
    assert not advice.stop and advice.agreement == 1 and "same prediction" in advice.reason


def test_advice_after_undo_is_that_of_before():
    learner = labelled(started(exact()), 30)
    before = learner.advice(window=10)
    labelled(learner, 1)
    assert learner.advice(window=10) != before
    learner.undo()
    assert learner.advice(window=10) == before


# ---- states ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["IncrementalSVC", "LASVC"])
def test_a_saved_state_goes_on(name):
    learner = labelled(started(MODELS[name](), rule="small_pool"), 5)
    learner.skip(learner.ask())
    state, model = json.loads(json.dumps(learner.state())), pickle.loads(pickle.dumps(learner.estimator))
    again = ActiveLearner.from_state(state, model, "small_pool", pool=X, classes=[0, 1])
    other = pickle.loads(pickle.dumps(learner))
    assert again.history == learner.history and again.counts == learner.counts
    for one in (learner, again, other):
        labelled(one, 5)
        one.undo()
        labelled(one, 2)
    assert again.labels == learner.labels == other.labels
    assert (again.scores() == learner.scores()).all() and (other.scores() == learner.scores()).all()
    assert again.state() == learner.state()


def test_a_journal_is_replayed():
    learner, journal = started(exact(), rule="small_pool"), []
    for step in range(8):
        rows = learner.ask()
        if step == 3:
            learner.undo()
            journal.append({"kind": "undo"})
        else:
            event = learner.unsure(rows) if step == 5 else learner.answer(rows, Y[rows])
            journal.append(json.loads(json.dumps(asdict(event))))
    again = started(exact(), rule="small_pool")
    again.replay(journal)
    assert again.labels == learner.labels and again.ask().tolist() == learner.ask().tolist()
    with pytest.raises(ValueError, match="kind must be one of"):
        again.replay([{"kind": "state", "rows": [3]}])


def test_a_state_needs_its_model_and_its_pool():
    learner = labelled(started(exact()), 2)
    state = learner.state()
    for model in (exact(), exact().fit(X[:5], Y[:5])):
        with pytest.raises(ValueError, match="saved together with the state"):
            ActiveLearner.from_state(state, model, pool=X)
    other = labelled(started(lasvc()), 3).state()
    with pytest.raises(ValueError, match="saved together with the state"):
        ActiveLearner.from_state(other, lasvc().partial_fit(X[:12], Y[:12], classes=[0, 1]), pool=X)
    with pytest.raises(ValueError, match="pool must have 200 rows"):
        ActiveLearner.from_state(state, learner.estimator, pool=X[:50])
    with pytest.raises(ValueError, match="version"):
        ActiveLearner.from_state({**state, "version": 0}, learner.estimator, pool=X)


# ---- failures ----------------------------------------------------------------------------------------


class Failing:
    """Methods named in `fails` are interrupted, once each; `partial_fit` after it has learnt."""

    fails: list[str] = []

    def partial_fit(self, *args, **more):
        super().partial_fit(*args, **more)
        self.fail("partial_fit")
        return self

    @classmethod
    def fail(cls, name):
        if name in cls.fails:
            cls.fails.remove(name)
            raise KeyboardInterrupt


class FailingExact(Failing, IncrementalSVC):
    def forget(self, ids):
        self.fail("forget")
        return super().forget(ids)


class FailingLASVC(Failing, LASVC):
    pass


@pytest.mark.parametrize(
    "model, method", [(FailingExact, "partial_fit"), (FailingExact, "forget"), (FailingLASVC, "partial_fit")]
)
def test_an_interrupted_call_leaves_everything_as_it_was(model, method):
    learner = labelled(started(model(C=10.0, gamma=1.0)), 3)
    before, scores = learner.state(), learner.scores()
    calls = [lambda: learner.relabel(3, 1 - int(Y[3]))]
    calls += [learner.undo] if method == "forget" else [lambda: learner.answer([50, 51], [0, 1])]
    for call in calls:
        model.fails = [method]
        with pytest.raises(KeyboardInterrupt):
            call()
        assert not model.fails and learner.state() == before
        np.testing.assert_allclose(learner.scores(), scores, atol=1e-9)
    assert labelled(learner, 2).n_labelled == 15


def test_a_copy_that_fails_leaves_everything_as_it_was(monkeypatch):
    learner = labelled(started(lasvc()), 3)
    scores, before, model = learner.scores(), learner.state(), learner.estimator
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr("hingeline.active.memory.deepcopy", Mock(side_effect=MemoryError))
        learner.answer(150, 1)
    assert learner.estimator is model and learner.state() == before and (learner.scores() == scores).all()


def test_ctrl_c_after_learning_leaves_an_event_that_can_be_undone(monkeypatch):
    learner = labelled(started(exact()), 12)
    scores, advice = learner.scores(), learner.advice(window=5)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(learner, "_note", Mock(side_effect=KeyboardInterrupt))
        learner.answer(150, 1)
    assert learner.labels[150] == 1 and learner.history[-1].rows == (150,) and learner.history[-1].changed is None
    assert learner.history[-1].n_labelled == learner.n_labelled == learner.estimator.n_samples_ == 23
    learner.undo()
    np.testing.assert_allclose(learner.scores(), scores, atol=1e-9)
    assert learner.advice(window=5) == advice


def test_bad_arguments():
    for wrong in (IncrementalOneClassSVM(), SklearnSVC()):
        with pytest.raises(TypeError, match="classifier with partial_fit"):
            ActiveLearner(wrong, pool=X)
    with pytest.raises(ValueError, match="classes must be given"):
        ActiveLearner(lasvc(), pool=X)
    for pool in (X[0], X[:0]):
        with pytest.raises(ValueError, match="pool must have"):
            ActiveLearner(exact(), pool=pool)
    with pytest.raises(ValueError, match="diversity must be"):
        ActiveLearner(exact(), pool=X, diversity=2)
    for name, value in (("n_snapshots", -1), ("n_watched", 1.5)):
        with pytest.raises(ValueError, match=f"{name} must be an integer"):
            ActiveLearner(exact(), pool=X, **{name: value})
    learner = started(exact())
    before = learner.state()
    wrong = [
        (learner.answer, (3, 1), "Row 3 has one; use relabel"),
        (learner.relabel, (30, 1), "Row 30 has none; use answer"),
        (learner.answer, ([30, 31], [1]), "one entry per row"),
        (learner.answer, ([30, 30], [1, 1]), "A row occurs twice"),
        (learner.answer, (-1, 1), "from 0 to 199"),
        (learner.skip, (200,), "from 0 to 199"),
        (learner.skip, ([],), "Got none"),
        (learner.skip, (1.5,), "rows must be integers"),
        (learner.answer, (30, np.nan), "None or NaN"),
        (learner.answer, (30, None), "None or NaN"),
        (learner.answer, ([30, 31], [1, "b"]), "all numbers or all strings"),
        (learner.answer, (30, "b"), "dtype"),
        (learner.ask, (0,), "n must be an integer"),
    ]
    for call, arguments, text in wrong:
        with pytest.raises(ValueError, match=text):
            call(*arguments)
    assert learner.state() == before
    pairs = started(lasvc(decision_function_shape="ovo"), X3, Y3)
    with pytest.raises(ValueError, match="decision_function_shape must be 'ovr'"):
        pairs.ask()


def test_threads_answer_one_after_the_other():
    learner = started(exact(), n_watched=0)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda row: learner.answer(row, int(Y[row])), range(10, 40)))
    assert learner.n_labelled == learner.estimator.n_samples_ == 40
    np.testing.assert_allclose(
        learner.scores(), exact().fit(X[:40], Y[:40]).decision_function(X), atol=1e-8
    )  # fmt: skip
    assert margin(learner.scores()).shape == (200,)
