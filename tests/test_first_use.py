"""What a new user tries first: warnings that name the remedy, ids in pipelines, defaults that can be repeated."""

import functools
import pickle
import time
import timeit
import uuid
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hingeline import (
    LASVC,
    SVC,
    IncrementalOneClassSVM,
    IncrementalSVC,
    KernelSGDClassifier,
    LinearSVCCV,
    NystroemSVC,
    OrdinalSVC,
)
from hingeline.base import duration

from .estimators import CLASSIFIERS, KERNEL, STREAMS
from .signals import interrupt
from .watching import Recorder

X, Y = make_moons(120, noise=0.3, random_state=0)

# ---- gamma='scale' --------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", STREAMS)
def test_few_first_rows_settle_gamma_with_a_warning(learner):
    with pytest.warns(UserWarning, match=r"which has 1 rows: gamma=[\d.e+-]+ from now on. Set gamma to a number"):
        learner().partial_fit(X[:1], Y[:1], [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner().partial_fit(X[:50], Y[:50], [0, 1])
        learner(gamma=2.0).partial_fit(X[:1], Y[:1], [0, 1]).partial_fit(X[1:2], Y[1:2])
        learner(kernel="linear").partial_fit(X[:2], Y[:2], [0, 1])


def test_few_first_points_of_one_class():
    with pytest.warns(UserWarning, match="which has 3 rows"):
        IncrementalOneClassSVM().partial_fit(X[:3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IncrementalOneClassSVM().fit(X[:3])


@pytest.mark.parametrize("model", [IncrementalSVC(), IncrementalOneClassSVM()], ids=lambda m: type(m).__name__)
def test_forgetting_warns_once_of_scale(model):
    model = pickle.loads(pickle.dumps(model)).fit(X, Y)
    with pytest.warns(UserWarning, match=rf"the first call: gamma={model._gamma:.6g}. Forgetting") as caught:
        model.forget(0)
        model.forget(1)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type(model)(gamma=model._gamma).fit(X, Y).forget(0)


# ---- ids ------------------------------------------------------------------------------------------------


def test_ids_reach_the_estimator_through_a_pipeline():
    names = np.array([f"person {i // 2}" for i in range(len(X))])
    with sklearn.config_context(enable_metadata_routing=True):
        model = IncrementalSVC(gamma=2.0).set_fit_request(ids=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, Y, ids=names)
    model = pipeline[-1]
    np.testing.assert_array_equal(model.ids_, names)
    assert model.forget("person 3").n_samples_ == len(X) - 2


@pytest.mark.parametrize("kind", ["uuid", "int", "str", "mixed"])
def test_ids_of_fit_and_partial_fit(kind):
    ids = {
        "uuid": [uuid.UUID(int=i) for i in range(60)],
        "int": [*range(1000, 1060)],
        "str": [f"row {i}" for i in range(60)],
        "mixed": [uuid.UUID(int=0), *range(58), "x"],
    }[kind]
    svc = IncrementalSVC(gamma=2.0).fit(X[:40], Y[:40], ids=ids[:40]).partial_fit(X[40:60], Y[40:60], ids=ids[40:])
    one = IncrementalOneClassSVM(gamma=2.0).fit(X[:40], ids=ids[:40]).partial_fit(X[40:60], ids=ids[40:])
    for model in (svc, pickle.loads(pickle.dumps(one))):
        assert isinstance(model.ids_, np.ndarray) and model.ids_.tolist() == ids
        assert model.ids_.dtype == (np.int64 if kind == "int" else object)
        model.forget(model.ids_[5:10])
        model.forget(ids[0])
        assert model.ids_.tolist() == [*ids[1:5], *ids[10:]]
        assert model.forget(model.ids_).ids_.tolist() == []


def test_bad_ids_of_fit():
    with pytest.raises(ValueError, match="one entry per sample: got 3 for 120"):
        IncrementalSVC(gamma=2.0).fit(X, Y, ids=[1, 2, 3])
    with pytest.raises(TypeError, match="integers, strings or UUIDs"):
        IncrementalSVC(gamma=2.0).fit(X, Y, ids=np.linspace(0, 1, 120))


# ---- ordered classes ------------------------------------------------------------------------------------

GRADES = np.array(["low", "middle", "high"])


def graded():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((150, 3))
    return rows, GRADES[np.digitize(rows[:, 0], [-0.5, 0.5])]


def test_an_ordered_categorical_gives_the_order():
    pd = pytest.importorskip("pandas")
    rows, y = graded()
    expected = OrdinalSVC(classes=GRADES).fit(rows, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for form in (lambda c: c, pd.Series):
            model = OrdinalSVC().fit(rows, form(pd.Categorical(y, GRADES, ordered=True)))
            assert model.classes_.tolist() == GRADES.tolist()
            np.testing.assert_array_equal(model.coef_, expected.coef_)
        given = OrdinalSVC(classes=GRADES[::-1]).fit(rows, pd.Categorical(y, GRADES, ordered=True))
    assert given.classes_.tolist() == GRADES[::-1].tolist()
    with pytest.warns(UserWarning, match="alphabetical"):
        OrdinalSVC().fit(rows, pd.Series(pd.Categorical(y, GRADES)))


def test_strings_without_an_order_warn():
    rows, y = graded()
    with pytest.warns(UserWarning, match=r"alphabetical order is used: \['high', 'low', 'middle'\]. Set classes"):
        OrdinalSVC().fit(rows, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OrdinalSVC().fit(rows, y == "low")
        OrdinalSVC().fit(rows, np.where(y == "low", "no", "yes"))


# ---- repeated fits, attributes, kernels -----------------------------------------------------------------


@pytest.mark.parametrize("learner", KERNEL)
def test_two_fits_are_the_same(learner):
    one, two = (learner(gamma=2.0).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("learner", [LASVC, KernelSGDClassifier])
def test_no_random_state_means_zero(learner):
    one, two = (learner(gamma=2.0, random_state=state).fit(X, Y) for state in (None, 0))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_coef_is_read_only(learner):
    linear = {"kernel": "linear"} if learner in KERNEL else {}
    model = learner(**linear).fit(X, Y)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[..., 0] = 0


@pytest.mark.parametrize("learner", [*KERNEL, IncrementalOneClassSVM])
def test_kernels_may_return_sparse_matrices(learner):
    rows = sp.random(80, 10, 0.3, random_state=0, format="csr")
    y = np.arange(80) % 2
    model = learner(kernel=lambda A, B: A @ B.T).fit(rows, y)
    dense = learner(kernel=lambda A, B: (A @ B.T).toarray()).fit(rows, y)
    np.testing.assert_array_equal(model.decision_function(rows), dense.decision_function(rows))


# ---- LASVC: honest reasons, and how to go on after Ctrl-C -----------------------------------------------


@pytest.mark.parametrize("variant", ["full", "lasvm", "g"])
def test_an_indefinite_kernel_is_not_called_optimal(variant):
    options = {"variant": variant, "tol": 1e-3, "gamma": 1.0, "max_iter": 100_000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert LASVC(kernel="sigmoid", coef0=-1.0, **options).fit(X, Y).stop_reason_.tolist() == ["indefinite"]
        K = X @ np.diag([1.0, -1.0]) @ X.T
        assert LASVC(kernel="precomputed", **options).fit(K, Y).stop_reason_.tolist() == ["indefinite"]
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        LASVC(kernel="sigmoid", coef0=-1.0, **options).fit(X, Y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", ["full", "lasvm"])
def test_semi_definite_kernels_of_low_rank_reach_the_gap(variant, dtype):
    K = (X @ X.T).astype(dtype)  # rank 2
    model = LASVC(kernel="precomputed", variant=variant, tol=1e-3).fit(K, Y)
    assert model.stop_reason_.tolist() == ["gap"]
    flat = LASVC(kernel=lambda A, B: np.exp(-1e-6 * ((A[:, None] - B) ** 2).sum(2)), variant=variant, tol=1e-3)
    assert flat.fit(X.astype(dtype), Y).stop_reason_.tolist() == ["gap"]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "model", [LASVC(variant="g", gamma=0.02), KernelSGDClassifier(gamma=0.02)], ids=["lasvc", "sgd"]
)
def test_a_stream_goes_on_after_an_interrupt(model, n_classes):
    """The model is that of the samples that n_samples_seen_ counts, with all its machines."""
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((40_000, 50)), rng.integers(0, n_classes, 40_000)
    model = type(model)(**model.get_params()).partial_fit(rows[:100], y[:100], range(n_classes))
    interrupt(lambda: model.partial_fit(rows[100:], y[100:]), after=0.2)
    k = model.n_samples_seen_
    assert 100 <= k < 40_000
    known = np.isfinite(model.admission_margin_).reshape(len(rows) - 100, -1).any(axis=1)
    assert known[: k - 100].all() and not known[k - 100 :].any()
    model.partial_fit(rows[k : k + 50], y[k : k + 50])
    expected = type(model)(**model.get_params()).partial_fit(rows[: k + 50], y[: k + 50], range(n_classes))
    np.testing.assert_array_equal(model.decision_function(rows[:50]), expected.decision_function(rows[:50]))
    np.testing.assert_array_equal(model.support_, expected.support_)


@pytest.mark.parametrize("model", [LASVC(variant="full"), KernelSGDClassifier(n_epochs=1)], ids=["lasvc", "sgd"])
def test_a_fit_goes_on_after_an_interrupt(model):
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((40_000, 50)), rng.integers(0, 2, 40_000)
    interrupt(lambda: model.fit(rows, y), after=0.2, learnt=lambda: hasattr(model, "admission_margin_"))
    left = np.flatnonzero(np.isnan(model.admission_margin_))
    assert 0 < len(left) == 40_000 - model.n_samples_seen_
    model.partial_fit(rows[left[:50]], y[left[:50]])
    assert model.n_samples_seen_ == 40_050 - len(left)


# ---- progress and time ----------------------------------------------------------------------------------


def test_a_search_shows_its_progress():
    alone = LinearSVCCV(Cs=4, cv=3).fit(X, Y)
    model = LinearSVCCV(Cs=4, cv=3).set_callbacks(recorder := Recorder()).fit(X, Y)
    assert recorder.events == ["setup", "begin fit", *["begin steps", "end steps"] * 5, "end fit", "teardown"]
    assert [seen.predict(X).shape for seen in recorder.models] == [Y.shape] * len(recorder.models)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    np.testing.assert_array_equal(model.scores_, alone.scores_)
    whole = LinearSVCCV(Cs=4, cv=3).set_callbacks(Recorder(stop_at=2)).fit(X, Y)
    np.testing.assert_array_equal(whole.scores_, alone.scores_)


@pytest.mark.parametrize("learner", [*KERNEL, IncrementalOneClassSVM])
@pytest.mark.parametrize("container", [np.array, sp.csr_array])
def test_a_long_fit_is_announced(learner, container, monkeypatch):
    """The duration follows from the number of rows and the time of one kernel value, measured before the fit."""
    rows, labels, model = container(X), Y, learner(gamma=2.0)
    monkeypatch.setattr(duration, "MANY_ROWS", 100)
    monkeypatch.setattr(duration, "measure_value", lambda estimator, X: 0.1)
    words = rf"Fitting {learner.__name__} to 120 rows may take minutes: about \d+ minutes .* Faster: NystroemSVC"
    with pytest.warns(UserWarning, match=words) as caught:
        model.fit(rows, labels)
    assert len(caught) == 1
    monkeypatch.undo()
    monkeypatch.setattr(duration, "MANY_ROWS", 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(rows, labels)


def test_steps_count_when_kernel_values_cost_nothing(monkeypatch):
    K = rbf_kernel(X, gamma=2.0)
    monkeypatch.setattr(duration, "MANY_ROWS", 100)
    monkeypatch.setattr(duration, "UPDATE_SECONDS", 1.0)
    for model, rows in ((SVC(kernel="precomputed"), K), (LASVC(kernel=rbf_kernel), X), (SVC(kernel=rbf_kernel), X)):
        with pytest.warns(UserWarning, match="may take minutes"):
            model.fit(rows, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LASVC(gamma=2.0).partial_fit(X, Y, [0, 1])  # a stream has no end


def test_the_estimate_grows_as_fits_do():
    seconds = [duration.estimate_seconds(SVC(), X, n) for n in (10_000, 100_000, 1_000_000)]
    assert seconds[0] < 5 < duration.LONG < seconds[1] * 4 < seconds[2] / 20
    assert duration.estimate_seconds(SVC(C=100), X, 10_000) > 2 * seconds[0] < 10
    windows = [duration.estimate_seconds(IncrementalSVC(window=w), X, 100_000) for w in (1000, 10_000, None)]
    assert windows == sorted(windows)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_an_estimate_takes_less_than_a_hundredth_of_the_fit(form):
    model, rows = SVC(gamma=0.1), np.ones((20_000, 50))
    if form == "csr":
        columns = np.sort(np.random.default_rng(0).integers(0, 5000, rows.shape))
        rows = sp.csr_matrix((rows.ravel(), columns.ravel(), np.arange(0, rows.size + 1, 50)), shape=(20_000, 5000))
    call = functools.partial(duration.warn_of_long_fit, model, rows)
    seconds = min(timeit.repeat(call, timer=time.process_time, number=1, repeat=5))
    assert seconds < 0.05


def test_the_advice_of_the_announcement_works():
    assert cross_val_score(NystroemSVC(gamma=2.0, n_components=50), X, Y).mean() > 0.85


# ---- one row at a time ----------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [LASVC, KernelSGDClassifier])
@pytest.mark.parametrize("labels", [np.array([0, 1]), np.array(["a", "b"])], ids=["int", "str"])
def test_single_rows_are_learnt_as_chunks_are(learner, labels):
    y = labels[Y]
    one = learner(gamma=2.0).partial_fit(X[:60], y[:60], labels)
    for i in range(60, 120):
        one.predict(X[i : i + 1])
        one.partial_fit(X[i : i + 1], y[i : i + 1])
    whole = learner(gamma=2.0).partial_fit(X, y, labels)
    np.testing.assert_array_equal(one.decision_function(X), whole.decision_function(X))
    one.partial_fit(X[:1], np.array([max(y) * 2]))  # a new label
    assert len(one.classes_) == 3


@pytest.mark.parametrize("learner", [LASVC, KernelSGDClassifier])
def test_single_bad_rows_are_refused(learner):
    model = learner(gamma=2.0).partial_fit(X, Y, [0, 1])
    before = pickle.dumps(model.decision_function(X))
    for row, label, message in [
        (np.full((1, 2), np.nan), Y[:1], "NaN"),
        (np.full((1, 2), np.inf), Y[:1], "infinity"),
        (np.zeros((1, 3)), Y[:1], "features"),
        (X[:2], Y[:1], "inconsistent"),
        (X[:1], np.array([0.5]), "Unknown label type"),
        (X[:1], np.array([[0, 1]]), "1d array"),
        (X[0], Y[:1], "2D array"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(row, label)
        assert pickle.dumps(model.decision_function(X)) == before
