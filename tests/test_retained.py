"""Batch estimators that keep their rows: forget, add, receipts, files."""

import copy
import os
import pickle
import random
import signal
import time
import uuid

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hingeline
from hingeline import (
    LASVC,
    SVC,
    IncrementalSVC,
    KernelSGDClassifier,
    LinearSVC,
    LinearSVCCV,
    NystroemSVC,
    OrdinalSVC,
    Receipt,
    WorstViolatorSVC,
    forget_in_file,
)
from hingeline._registry import ESTIMATORS
from hingeline.base.receipt import digest

from .estimators import MODELS as ALL
from .retained import MODELS, play, problem, targets

KEEPING = [name for name, row in ESTIMATORS.items() if row.forgets == "to tol"]
SECRET = "a name to be forgotten"


def fitted(name, n=60, seed=0, form=np.asarray):
    """A model with ids, its rows and targets; row 11 has the id `SECRET`."""
    model = clone(ALL[name])
    X, values = problem(np.random.default_rng(seed), n)
    y = targets(model, values)
    names = [f"person {k}" for k in range(n)]
    names[11] = SECRET
    model.fit(*((form(X),) if y is None else (form(X), y)), ids=names)
    return model, X, y


# ---- the result ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_random_operations_give_the_models_of_fresh_fits(name):
    play(name, 12, seed=1, every=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_many_random_operations_give_the_models_of_fresh_fits(name):
    for seed in range(10):
        play(name, 35, seed=100 + seed)


def test_large_models_start_from_their_slopes():
    """In single precision, shrunk, with the slopes of before: the certificate and the decisions of a fresh fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=6000) > 0
    model = SVC(C=10.0, gamma=0.5).fit(X, y, ids=range(6000))
    assert model._kept.slopes is not None
    evals = model.n_kernel_evals_
    gone = np.union1d(model.support_[:5], rng.choice(6000, 20))
    model.forget(gone)
    assert model.n_kernel_evals_ < 0.7 * evals
    fresh = SVC(C=10.0, gamma=0.5).fit(np.delete(X, gone, axis=0), np.delete(y, gone))
    assert np.abs(model.decision_function(X) - fresh.decision_function(X)).max() < 0.01
    assert model.kkt_violation_[0] <= model.tol
    # v is what it says: p - K beta
    slopes = np.where(model._kept.y, 1.0, -1.0) - (model.decision_function(model._kept.X) - model.intercept_)
    np.testing.assert_allclose(model._kept.slopes[0], slopes, atol=1e-4)


@pytest.mark.parametrize("name", KEEPING)
def test_sparse_rows_give_the_models_of_dense_ones(name):
    dense, X, y = fitted(name)
    sparse, *_ = fitted(name, form=sp.csr_array)
    for model in (dense, sparse):
        model.forget([SECRET, "person 3"])
        model.add(*((X[:2],) if y is None else (X[:2], y[:2])), ids=["x", "y"])
    values = [(m.decision_function if hasattr(m, "decision_function") else m.predict)(X) for m in (dense, sparse)]
    np.testing.assert_allclose(*values, atol=0.01)
    assert sparse.ids_.tolist() == dense.ids_.tolist()


def test_a_class_can_leave_and_come():
    X, values = problem(np.random.default_rng(0), 60)
    y = np.digitize(values, [-0.6, 0.6])
    model = SVC(gamma=0.5).fit(X, y, ids=range(60))
    model.forget(np.flatnonzero(y == 2))
    assert model.classes_.tolist() == [0, 1]
    model.add(X[y == 2], y[y == 2], ids=np.flatnonzero(y == 2))
    order = model.ids_
    fresh = SVC(gamma=0.5).fit(X[order], y[order])
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), atol=0.01)


def test_categories_of_ordinal_labels_keep_their_order():
    X, values = problem(np.random.default_rng(0), 60)
    y = pd.Series(pd.Categorical(np.array(["low", "mid", "high"])[np.digitize(values, [-0.6, 0.6])], ordered=True))
    y = y.cat.reorder_categories(["low", "mid", "high"], ordered=True)
    model = OrdinalSVC().fit(X, y, ids=range(60))
    model.forget([1, 2, 3])
    assert model.classes_.tolist() == ["low", "mid", "high"]


def test_weights_stay_with_their_rows():
    X, values = problem(np.random.default_rng(0), 60)
    y, weight = values > 0, np.random.default_rng(1).uniform(0.5, 2.0, 60)
    model = SVC(gamma=0.5).fit(X, y, weight, ids=range(60))
    model.forget([0, 7])
    rest = model.ids_
    fresh = SVC(gamma=0.5).fit(X[rest], y[rest], weight[rest])
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), atol=0.01)
    with pytest.raises(ValueError, match="sample_weight must be given for all rows or for none"):
        model.add(X[:1], y[:1], ids=[0])


# ---- ids -------------------------------------------------------------------------------------------------


def test_ids_of_a_table():
    X, values = problem(np.random.default_rng(0), 40)
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"p{k // 2}" for k in range(40)])
    by_index = SVC().fit(frame, values > 0, ids="index")
    assert by_index.ids_.tolist() == frame.index.tolist() and by_index.feature_names_in_.tolist() == list("abc")
    assert by_index.forget("p3").rows == 2
    assert by_index.feature_names_in_.tolist() == list("abc")
    by_column = SVC().fit(frame.assign(person=range(40)), values > 0, ids="person")
    assert by_column.n_features_in_ == 3
    by_column.add(frame[:2].assign(person=[100, 101]), (values > 0)[:2], ids="person")
    assert by_column.ids_.tolist() == [*range(40), 100, 101]
    some = uuid.uuid4()
    assert SVC().fit(X, values > 0, ids=[some, *range(39)]).forget(some).rows == 1
    with pytest.raises(ValueError, match="ids must be 'index' or a column of X"):
        SVC().fit(frame, values > 0, ids="nobody")
    with pytest.raises(ValueError, match="needs a DataFrame"):
        SVC().fit(X, values > 0, ids="index")


@pytest.mark.parametrize("name", KEEPING)
def test_errors_change_nothing(name):
    model, X, y = fitted(name)
    before = digest(model)
    more = (X[:1],) if y is None else (X[:1], y[:1])
    with pytest.raises(KeyError, match="nobody"):
        model.forget(["person 3", "nobody"])
    with pytest.raises(ValueError, match="no row"):
        model.forget(model.ids_.tolist())
    with pytest.raises(ValueError, match="one entry per sample: got 2 for 1"):
        model.add(*more, ids=["a", "b"])
    with pytest.raises(ValueError, match="add needs ids"):
        model.add(*more)
    with pytest.raises(ValueError, match="NaN"):
        model.add(more[0] * np.nan, *more[1:], ids=["a"])
    assert digest(model) == before
    model.fit(*((X,) if y is None else (X, y)))
    with pytest.raises(ValueError, match=r"forget needs the rows of fit.*Call fit\(X, y, ids=...\)"):
        model.forget("person 3")
    assert not hasattr(model, "ids_")


def test_what_cannot_keep_rows_says_so():
    K = np.eye(4)
    with pytest.raises(ValueError, match="kernel='precomputed'"):
        SVC(kernel="precomputed").fit(K, [0, 1, 0, 1], ids=range(4))
    with pytest.raises(ValueError, match="X as an array"):
        SVC(kernel=lambda A, B: np.eye(len(A))).fit(["a", "b", "c"], [0, 1, 0], ids=range(3))


@pytest.mark.parametrize("learner", [LASVC, KernelSGDClassifier, WorstViolatorSVC, LinearSVCCV])
def test_history_dependent_estimators_say_why(learner):
    assert not hasattr(learner(), "forget") and not hasattr(learner(), "add")
    with pytest.raises(AttributeError, match=rf"{learner.__name__} cannot forget rows: .* Use "):
        learner().forget(3)


def test_interrupt_leaves_the_model_as_it_was(monkeypatch):
    model, X, _ = fitted("SVC")
    before = digest(model)

    def interrupt(self, steps):
        raise KeyboardInterrupt

    monkeypatch.setattr("hingeline.batch.training.BatchTraining.advance", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.forget(SECRET)
    assert digest(model) == before and len(model.predict(X)) == 60


def test_copies_do_not_share_changes():
    model, X, _ = fitted("SVC")
    other, deep = copy.copy(model), copy.deepcopy(model)
    expected = model.decision_function(X)
    model.forget(SECRET)
    for one in (other, deep):
        assert SECRET in one.ids_.tolist() and np.array_equal(one.decision_function(X), expected)
        one.forget(SECRET)
        assert np.array_equal(one.decision_function(X), model.decision_function(X))


def test_landmarks_of_deleted_rows_are_replaced():
    X, values = problem(np.random.default_rng(0), 200)
    model = NystroemSVC(n_components=20, gamma=0.5, random_state=0).fit(X, values > 0, ids=range(200))
    landmarks = model.map_.component_indices_
    gone = landmarks[:5]
    stay = X[landmarks[5:]]
    model.forget(gone)
    assert len(model.map_.components_) == 20
    assert np.array_equal(model.map_.components_[5:], stay)
    assert not (model.map_.components_[:, None] == X[gone]).all(axis=2).any()
    assert np.array_equal(model.map_.components_, X[model.ids_[model.map_.component_indices_]])
    fresh = NystroemSVC(n_components=20, gamma=0.5, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hingeline.linear.nystroem_map.draw_landmarks", lambda *_: model.map_.component_indices_)
        fresh.fit(X[model.ids_], (values > 0)[model.ids_])
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), atol=0.05)


# ---- bytes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("name", KEEPING)
def test_no_bytes_of_a_row_are_saved(name, form, tmp_path):
    model, X, _ = fitted(name, form=form)
    patterns = [value.tobytes() for value in X[11]]
    path = tmp_path / "model"

    def saved():
        hingeline.save(model, path)
        return pickle.dumps(model), path.read_bytes()

    assert all(pattern in dumped for pattern in [*patterns, SECRET.encode()] for dumped in saved())
    model.predict(X)
    model.forget(SECRET)
    assert not any(pattern in dumped for pattern in [*patterns, SECRET.encode()] for dumped in saved())


# ---- receipts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*KEEPING, "IncrementalSVC"])
def test_receipts_verify_the_model_that_is_left(name, tmp_path):
    model, _X, _y = fitted(name)
    earlier = copy.deepcopy(model)
    receipt = model.forget([SECRET, "person 3"], **({"receipt": True} if name == "IncrementalSVC" else {}))
    receipt.save(tmp_path / "receipt")
    hingeline.save(model, tmp_path / "model")
    read = Receipt.load(tmp_path / "receipt")
    for one in (model, pickle.loads(pickle.dumps(model)), hingeline.load(tmp_path / "model")):
        read.verify(one)
    assert (read.rows, read.ids, read.certificate["n_rows"]) == (2, 2, 58)
    assert read.covers(SECRET) and read.covers([SECRET, "person 3"]) and not read.covers("person 4")
    assert SECRET not in read.to_json()
    with pytest.raises(ValueError, match="the model before the deletion"):
        read.verify(earlier)
    with pytest.raises(ValueError, match="the receipt is of a"):
        read.verify(LASVC())


def alterations(state, path=()):
    """Places of numbers in a nested state, with a function that changes each."""
    for key, value in list(state.items()):
        if isinstance(value, dict):
            yield from alterations(value, (*path, key))
        elif isinstance(value, np.ndarray) and value.size and value.dtype.kind in "fiu":
            for place in {0, value.size // 2, value.size - 1}:
                yield (*path, key, place)
        elif isinstance(value, float | int):
            yield (*path, key)


def altered(value, place=None):
    if place is None:
        return not value if isinstance(value, bool) else value + 1
    out = value.copy()
    flat = out.reshape(-1)
    if out.dtype.kind == "f":
        flat[place] = np.nextafter(flat[place], np.inf)
    else:
        flat[place] ^= 1
    return out


@pytest.mark.parametrize("name", ["SVC", "LinearSVC", "NystroemSVC"])
def test_receipts_fail_on_any_altered_model(name):
    model, *_ = fitted(name)
    receipt = model.forget(SECRET)
    count = 0
    for place in alterations(vars(model)):
        if place[0] in ("_cache", "_coordinates"):  # not saved
            continue
        other = copy.copy(model)
        key = place[0]
        if len(place) == 1:
            vars(other)[key] = altered(vars(model)[key])
        elif len(place) == 2 and not isinstance(vars(model)[key], dict):
            vars(other)[key] = altered(vars(model)[key], place[1])
        else:
            vars(other)[key] = {**vars(model)[key], place[1]: altered(vars(model)[key][place[1]], *place[2:])}
        count += 1
        with pytest.raises(ValueError, match="differs"):
            receipt.verify(other)
    for field, value in vars(model._kept).items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fi":
            continue
        other = copy.copy(model)
        other._kept = copy.copy(model._kept)
        vars(other._kept)[field], other._kept._fingerprint = altered(value, 3), b""
        count += 1
        with pytest.raises(ValueError, match="differs"):
            receipt.verify(other)
    assert count > 25
    receipt.verify(model)


def test_altered_receipts_and_files_are_noticed(tmp_path):
    model, *_ = fitted("SVC")
    path = tmp_path / "model"
    hingeline.save(model, path)
    receipt = forget_in_file(path, SECRET)
    text = receipt.to_json().encode()
    rng = random.Random(0)
    for _ in range(200):
        place = rng.randrange(len(text) - 1)
        other = bytearray(text)
        other[place] ^= 1 << rng.randrange(7)
        if other[place : place + 1].isspace() and text[place : place + 1].isspace():
            continue
        with pytest.raises(ValueError, match=r"receipt|JSON"):
            Receipt.from_json(bytes(other))
    content = path.read_bytes()
    for place in rng.sample(range(len(content)), 200):
        other = bytearray(content)
        other[place] ^= 1 << rng.randrange(8)
        path.write_bytes(other)
        try:
            receipt.verify(hingeline.load(path))
        except ValueError:
            continue
        assert receipt.files[path.name] != hingeline.base.receipt.hash_file(path)


# ---- files -----------------------------------------------------------------------------------------------


def traces(folder, patterns):
    """Files of a folder that hold one of the patterns."""
    return [path.name for path in folder.iterdir() if any(pattern in path.read_bytes() for pattern in patterns)]


def test_no_file_holds_the_rows(tmp_path):
    model, X, _ = fitted("SVC")
    path, patterns = tmp_path / "model[1].x", [value.tobytes() for value in X[11]]
    hingeline.save(model, path)
    (tmp_path / ".model[1].x.0123.part").write_bytes(path.read_bytes())  # left by a crash
    link = tmp_path / "link"
    os.link(path, link)  # the old bytes, whatever their name
    assert len(traces(tmp_path, patterns)) == 3
    receipt = forget_in_file(path, SECRET)
    assert not traces(tmp_path, patterns) and {one.name for one in tmp_path.iterdir()} == {"model[1].x", "link"}
    receipt.verify(hingeline.load(path))
    with pytest.raises(AttributeError, match="LASVC cannot forget"):
        hingeline.save(LASVC(), path)
        forget_in_file(path, 3)


def forget_and_die(path, delay):
    """Start ``hingeline forget`` in a child and kill it after a while. Returns whether it had ended before."""
    child = os.fork()
    if child == 0:
        try:
            forget_in_file(path, SECRET)
            os._exit(0)
        finally:
            os._exit(99)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("n_kills", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_kill_in_the_middle_leaves_the_old_or_the_new_model(n_kills, tmp_path):
    model, X, _ = fitted("SVC")
    patterns = [value.tobytes() for value in X[11]]
    path, rng, ended = tmp_path / "model", random.Random(0), 0
    begin = time.perf_counter()
    hingeline.save(model, path)
    forget_in_file(path, SECRET)
    usual = time.perf_counter() - begin
    for _ in range(n_kills):
        hingeline.save(model, path)
        ended += forget_and_die(path, 1.2 * usual * rng.random())
        held = SECRET in hingeline.load(path).ids_.tolist()
        try:
            forget_in_file(path, SECRET)  # completes the work
        except KeyError:
            assert not held
        assert not traces(tmp_path, patterns) and len(list(tmp_path.iterdir())) == 1
    assert ended < n_kills


# ---- pipelines -------------------------------------------------------------------------------------------


def test_forgetting_in_a_pipeline():
    """With a fixed scaler the model forgets; a scaler of all rows is fitted again to the rest."""
    X, values = problem(np.random.default_rng(0), 80)
    y, gone = values > 0, [3, 17]
    rest = np.delete(np.arange(80), gone)
    pipe = make_pipeline(StandardScaler(), SVC(gamma=0.5)).fit(X, y, svc__ids=range(80))
    fixed = copy.deepcopy(pipe)
    fixed[-1].forget(gone)
    same = SVC(gamma=0.5).fit(pipe[0].transform(X[rest]), y[rest])
    np.testing.assert_allclose(fixed.decision_function(X), same.decision_function(pipe[0].transform(X)), atol=0.01)
    pipe.fit(X[rest], y[rest], svc__ids=rest)
    fresh = make_pipeline(StandardScaler(), SVC(gamma=0.5)).fit(X[rest], y[rest])
    assert np.array_equal(pipe.decision_function(X), fresh.decision_function(X))


def test_incremental_forget_returns_the_estimator_by_default():
    model = IncrementalSVC(gamma=0.5).fit(np.eye(6), [0, 1] * 3)
    assert model.forget(0) is model and isinstance(model.forget(1, receipt=True), Receipt)


def test_the_linear_estimators_refuse_ids_for_collections():
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="ids needs X in memory"):
        LinearSVC().fit(
            da.from_array(np.eye(4), chunks=2), da.from_array(np.array([0, 1, 0, 1]), chunks=2), ids=range(4)
        )


def test_warnings_of_a_fit_are_those_of_forgetting():
    X, values = problem(np.random.default_rng(0), 60)
    model = SVC(gamma=0.5, C=100.0, max_iter=50)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, values > 0, ids=range(60))
    with pytest.warns(ConvergenceWarning, match="terminated early"):
        model.set_params(max_iter=1).forget(int(model.support_[0]))
