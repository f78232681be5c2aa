"""Checkpoints: a stream survives crashes at every moment, and what was forgotten does not come back."""

import errno
import json
import os
import random
import shutil
import signal
import struct
import sys
import time
import warnings
from functools import reduce
from itertools import count
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import hingeline
from hingeline import LASVC, SVC, Checkpoint, IncrementalOneClassSVM, IncrementalSVC, KernelSGDClassifier
from hingeline.files import durable
from hingeline.files.fixed import TRANSFORMERS
from hingeline.files.journal import Journal
from hingeline.files.log import line

from .interrupts import everywhere
from .power_loss import PowerLoss, power
from .private import bits, crash

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 3))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
MODELS = {
    "lasvc": LASVC(gamma=0.5),
    "sgd": KernelSGDClassifier(gamma=0.5),
    "points": IncrementalSVC(gamma=0.5),
    "window": IncrementalSVC(gamma=0.5, window=20),
    "one class": IncrementalOneClassSVM(gamma=0.5, window=20),
}


def chunk(k, size=7):
    return X[k * size : (k + 1) * size], y[k * size : (k + 1) * size]


def first(name):
    return {} if name == "one class" else {"classes": [0, 1]}


def learn(run, name, k, **keywords):
    rows, labels = chunk(k)
    run.learn(rows, None if name == "one class" else labels, **first(name), **keywords)


def uninterrupted(name, n_chunks):
    """States of a model that learns without a checkpoint, after each chunk."""
    model = clone(MODELS[name])
    states = [bits(model)]
    for k in range(n_chunks):
        rows, labels = chunk(k)
        model.partial_fit(rows, **first(name)) if name == "one class" else model.partial_fit(
            rows, labels, **first(name)
        )
        states.append(bits(model))
    return states


def content_of(folder):
    return b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize(
    ("name", "every"),
    [("lasvc", 1), ("lasvc", None), ("sgd", 20), ("points", 20), ("points", None), ("window", 1), ("one class", 20)],
)
def test_a_resumed_stream_has_the_same_bits(name, every, tmp_path):
    states = uninterrupted(name, 9)
    for k in range(9):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = Checkpoint(tmp_path, clone(MODELS[name]), every=every)
        assert bits(run.model) == states[k]
        learn(run, name, k, note={"chunk": k})
        crash(run) if k % 3 else run.close()
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == states[-1]
        assert run.note == {"chunk": 8}


def test_what_is_kept(tmp_path):
    with Checkpoint(tmp_path, LASVC(gamma=0.5), every=20) as run:
        for k in range(10):
            learn(run, "lasvc", k)
            names = sorted(path.name for path in tmp_path.iterdir())
            assert sum(name.startswith("model") for name in names) <= 2
            assert sum(name.startswith("journal") for name in names) <= 2
    assert isinstance(hingeline.load(max(tmp_path.glob("model*"))), LASVC)


@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "missing"])
def test_a_damaged_generation_falls_back(damage, tmp_path):
    states = uninterrupted("lasvc", 8)
    run = Checkpoint(tmp_path, LASVC(gamma=0.5), every=20)
    for k in range(8):
        learn(run, "lasvc", k)
    crash(run)
    newest = max(tmp_path.glob("model*"))
    content = newest.read_bytes()
    newest.write_bytes({"cut": content[:-9], "bit": content[:-9] + b"?" + content[-8:]}.get(damage, b""))
    if damage == "missing":
        newest.unlink()
        run = Checkpoint(tmp_path)
    else:
        with pytest.warns(UserWarning, match=r"model-0000000004\.safetensors: .* The generation before it"):
            run = Checkpoint(tmp_path)
    assert bits(run.model) == states[-1]
    learn(run, "lasvc", 8)
    crash(run)
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == uninterrupted("lasvc", 9)[-1]


def test_no_generation_is_left(tmp_path):
    Checkpoint(tmp_path, LASVC()).close()
    for path in tmp_path.glob("model*"):
        path.write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"no generation can be read: .*model-0000000001\.safetensors"):
        Checkpoint(tmp_path)


@pytest.mark.parametrize("lost", [1, 70, 200])
def test_a_torn_record_was_never_acknowledged(lost, tmp_path):
    states = uninterrupted("lasvc", 4)
    run = Checkpoint(tmp_path, LASVC(gamma=0.5))
    for k in range(4):
        learn(run, "lasvc", k)
    crash(run)
    journal = max(tmp_path.glob("journal*"))
    journal.write_bytes(journal.read_bytes()[:-lost])
    run = Checkpoint(tmp_path)
    assert bits(run.model) == states[3]
    learn(run, "lasvc", 3)
    crash(run)
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == states[4]


def crashed(folder, every=None, n_chunks=4):
    """Newest journal of a stream that has crashed, and the places where its records begin."""
    run, places = Checkpoint(folder, LASVC(gamma=0.5), every=every), []
    for k in range(n_chunks):
        learn(run, "lasvc", k)
        places.append(run._journal.length)
    crash(run)
    return max(folder.glob("journal*")), places


def flip(path, at, bit=0):
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


@pytest.mark.parametrize("record", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize("place", [0, 1, 7, 40, 63, 64, 400, -64, -8, -1])
def test_a_damaged_record_is_an_error(record, place, tmp_path):
    """Also the last one, and also in its length: it was acknowledged."""
    journal, places = crashed(tmp_path)
    begin, end = places[record : record + 2]
    flip(journal, begin + place if place >= 0 else end + place, bit=4)
    files = content_of(tmp_path)
    with pytest.raises(ValueError, match=rf"journal-0000000002\.log: the record at byte {begin} .* cut the file to"):
        Checkpoint(tmp_path)
    assert content_of(tmp_path) == files
    os.truncate(journal, begin)  # as the message says
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == uninterrupted("lasvc", 4)[record + 1]


def test_a_missing_journal_is_an_error(tmp_path):
    journal, _ = crashed(tmp_path)
    journal.unlink()
    with pytest.raises(ValueError, match=r"journal-0000000002\.log is missing"):
        Checkpoint(tmp_path)


def test_missing_generations_are_an_error(tmp_path):
    crashed(tmp_path)
    for path in tmp_path.glob("model*"):
        path.unlink()
    with pytest.raises(ValueError, match=r"journal-0000000002\.log belongs to a generation that is missing"):
        Checkpoint(tmp_path, LASVC(gamma=0.5))


@pytest.mark.parametrize("damage", ["cut", "without its last record", "missing", "swapped"])
def test_the_journal_before_a_damaged_generation_must_be_complete(damage, tmp_path):
    journal, _ = crashed(tmp_path, every=20, n_chunks=8)
    flip(max(tmp_path.glob("model*")), -9)
    before = sorted(tmp_path.glob("journal*"))[-2]
    if damage == "cut":
        os.truncate(before, before.stat().st_size - 64)
    elif damage == "without its last record":
        os.truncate(before, Journal(before).length)
    elif damage == "missing":
        before.unlink()
    else:
        shutil.copy(journal, before)
    message = {
        "cut": "cut off",
        "without its last record": "ends at byte",
        "missing": "is missing",
        "swapped": "is journal 4",
    }[damage]
    with pytest.warns(UserWarning, match="The generation before it"), pytest.raises(ValueError, match=message):
        Checkpoint(tmp_path)


def test_a_damaged_generation_with_samples_that_no_journal_holds(tmp_path):
    run = Checkpoint(tmp_path, LASVC(gamma=0.5))
    for k in range(3):
        learn(run, "lasvc", k)
    run.model.partial_fit(*chunk(3))  # without the checkpoint
    learn(run, "lasvc", 4)
    crash(run)
    flip(max(tmp_path.glob("model*")), -9)
    with (
        pytest.warns(UserWarning, match="The generation before it"),
        pytest.raises(ValueError, match="It had seen 28 samples; the generation before it and its journal give 21"),
    ):
        Checkpoint(tmp_path)


def test_records_with_other_fields(tmp_path):
    run = Checkpoint(tmp_path, LASVC(gamma=0.5))
    learn(run, "lasvc", 0)
    run._journal.add({"X": X[:2], "y": y[:2]})
    crash(run)
    with pytest.raises(ValueError, match="has other fields than those of learn"):
        Checkpoint(tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_may_predict_only(tmp_path):
    run = Checkpoint(tmp_path, clone(MODELS["points"]), every=30)
    learn(run, "points", 0)  # writes a generation
    learn(run, "points", 1)  # is in the journal only: close() writes a generation
    files = content_of(tmp_path)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            before = bits(run.model)
            for call in (lambda: learn(run, "points", 2), lambda: run.forget([1]), run.save):
                with pytest.raises(RuntimeError, match="a fork of it"):
                    call()
            run.model.predict(X)
            run.close()
            code = 0 if bits(run.model) == before else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert content_of(tmp_path) == files  # its close() has written no generation
    with pytest.raises(RuntimeError, match="in use by another Checkpoint"):
        Checkpoint(tmp_path)  # the child has not given back the lock
    learn(run, "points", 2)
    crash(run)
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == uninterrupted("points", 3)[-1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_does_not_keep_the_lock(tmp_path):
    run = Checkpoint(tmp_path, clone(MODELS["points"]))
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(send)
        os.read(receive, 1)  # until the parent closes the pipe
        os._exit(0)
    run.close()
    try:
        Checkpoint(tmp_path).close()
    finally:
        os.close(send)
        os.close(receive)
        os.waitpid(child, 0)


def test_an_error_changes_neither_model_nor_folder(tmp_path):
    run = Checkpoint(tmp_path, LASVC(gamma=0.5))
    learn(run, "lasvc", 0)
    learn(run, "lasvc", 1)
    before, files = bits(run.model), content_of(tmp_path)
    for rows, labels in ((np.full((2, 3), np.nan), [0, 1]), (X[:2, :2], [0, 1]), (X[:2], [0, 1, 1])):
        with pytest.raises(ValueError, match=r"NaN|features|inconsistent"):
            run.learn(rows, labels)
        assert content_of(tmp_path) == files
    with pytest.raises(TypeError, match=r"keywords\.sample_weight has type builtins\.set"):
        run.learn(X[:2], y[:2], sample_weight={1})
    with pytest.raises(ValueError, match="Out of range float"):
        run.learn(X[:2], y[:2], note=np.inf)
    with pytest.raises(TypeError, match="nested too deeply"):
        run.learn(X[:2], y[:2], note=reduce(lambda inner, _: [inner], range(50)))
    assert (bits(run.model), content_of(tmp_path)) == (before, files)
    run._journal.add({"X": X[:2, :2], "y": y[:2], "keywords": {}, "note": None})  # a crash before the error
    crash(run)
    with pytest.warns(UserWarning, match="the last record does not fit the model"):
        run = Checkpoint(tmp_path)
    assert bits(run.model) == before
    run.close()


def full_disk(monkeypatch, function="hingeline.files.checkpoint.write_atomically"):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(function, full)


def learn_and_open_again(run, states):
    """After a failure in the third chunk."""
    assert bits(run.model) == states[2]
    learn(run, "points", 2)
    crash(run)
    with Checkpoint(run.path) as again:
        assert bits(again.model) == states[3]


def test_a_full_disk(tmp_path, monkeypatch):
    states = uninterrupted("points", 3)
    run = Checkpoint(tmp_path, clone(MODELS["points"]))
    learn(run, "points", 0)
    learn(run, "points", 1)
    with monkeypatch.context() as patched:
        full_disk(patched, "os.fsync")
        with pytest.raises(OSError, match="no space left"):
            learn(run, "points", 2)
    learn_and_open_again(run, states)


def test_a_full_disk_at_the_first_chunk(tmp_path, monkeypatch):
    run = Checkpoint(tmp_path, clone(MODELS["points"]), every=1)
    with monkeypatch.context() as patched:
        full_disk(patched)
        with pytest.raises(OSError, match="no space left"):
            learn(run, "points", 0)
    assert not hasattr(run.model, "n_samples_seen_")
    learn(run, "points", 0)
    assert bits(run.model) == uninterrupted("points", 1)[1]
    run.close()


def test_a_full_disk_when_a_generation_is_due(tmp_path, monkeypatch):
    # The samples are in the journal: an error would make the caller learn them twice.
    states = uninterrupted("points", 3)
    run = Checkpoint(tmp_path, clone(MODELS["points"]), every=1)
    learn(run, "points", 0)
    with monkeypatch.context() as patched:
        full_disk(patched)
        with pytest.warns(RuntimeWarning, match="no generation was written"):
            learn(run, "points", 1)
        with pytest.raises(OSError, match="no space left"):
            learn(run, "points", 2)
    learn_and_open_again(run, states)


def test_changes_made_without_the_checkpoint(tmp_path):
    run = Checkpoint(tmp_path, IncrementalSVC(gamma=0.5))
    learn(run, "points", 0)
    run.model.partial_fit(*chunk(1))
    learn(run, "points", 2)
    run.model.set_C(3.0)
    learn(run, "points", 3)
    run.model.set_params(cache_size=5)
    learn(run, "points", 4)
    before = bits(run.model)
    crash(run)
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == before
        run.model.partial_fit(*chunk(5))
        before = bits(run.model)
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == before


def test_ctrl_c_in_a_chunk(tmp_path):
    """The model has learnt a part of the chunk; the next call writes it as a whole."""
    calls, limit = [], [np.inf]

    def kernel(A, B):
        calls.append(1)
        if len(calls) > limit[0]:
            raise KeyboardInterrupt
        return A @ B.T + (A @ B.T) ** 2

    run = Checkpoint(tmp_path, IncrementalSVC(kernel=kernel), functions={"kernel": kernel})
    learn(run, "points", 0)
    limit[0] = len(calls) + 3
    with pytest.raises(KeyboardInterrupt):
        run.learn(X[7:], y[7:])
    limit[0] = np.inf
    n = run.model.n_samples_seen_
    assert 7 < n < 200
    learn(run, "points", 5)
    before = bits(run.model)
    assert run.model.n_samples_seen_ == n + 7
    crash(run)
    with Checkpoint(tmp_path, functions={"kernel": kernel}) as run:
        assert bits(run.model) == before


CALLS = {
    "learn": lambda run: run.learn(*chunk(3)),
    "learn and write": lambda run: [run.learn(*chunk(k)) for k in (3, 4)],
    "forget": lambda run: run.forget([2, 15]),
    "save": lambda run: run.save(),
}


@pytest.mark.parametrize(
    ("name", "step"),
    [("learn", 40), *(pytest.param(name, 5, marks=pytest.mark.slow) for name in CALLS)],
)
def test_ctrl_c_anywhere(name, step, tmp_path):
    """The next calls, and a crash after them, find model and folder consistent."""
    number = count()

    def prepare():
        run = Checkpoint(tmp_path / str(next(number)), IncrementalSVC(gamma=0.5), every=25)
        for k in range(3):
            run.learn(*chunk(k), classes=[0, 1])
        return run

    def check(run):
        forgotten = {2, 15} - set(run.model.ids_)
        run.learn(*chunk(5))
        before = bits(run.model)
        crash(run)
        with Checkpoint(run.path) as again:
            if name == "forget" and not forgotten:  # perhaps completed now
                assert again.model.n_samples_ in (run.model.n_samples_, run.model.n_samples_ - 2)
            else:
                assert bits(again.model) == before
            if name == "forget" and forgotten:
                assert not held_in(run.path, X[[2, 15]])
        shutil.rmtree(run.path)

    everywhere(prepare, CALLS[name], check, step=step)


def test_kinds_of_samples(tmp_path):
    words = np.array(["no", "yes"], dtype=object)[y]
    run = Checkpoint(tmp_path, IncrementalSVC(gamma=0.5), every=None)
    frame = pd.DataFrame(X, columns=[*"abc"])
    run.learn(frame[:20], words[:20], classes=["no", "yes"], ids=[UUID(int=k) for k in range(20)])
    run.learn(frame[20:25], pd.Series(words[20:25]), ids=[*"abcde"], sample_weight=pd.Series([1, 2, 1, 2, 1.0]))
    run.learn(frame[25:30], words[25:30].tolist(), ids=range(5), sample_weight=[1, 2, 1, 2, 1])
    before = bits(run.model)
    crash(run)
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == before
        assert list(run.model.feature_names_in_) == [*"abc"]
        assert list(run.model.ids_[-5:]) == [*range(5)]


def test_sparse_samples(tmp_path):
    rows = sp.csr_array(np.where(X > 0, X, 0.0))
    run = Checkpoint(tmp_path, LASVC(gamma=0.5))
    for k in range(3):
        run.learn(rows[k * 9 : k * 9 + 9], y[k * 9 : k * 9 + 9], classes=[0, 1])
    run.learn(rows[30:40].tocoo(), y[30:40])
    before = bits(run.model)
    crash(run)
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == before


def test_arguments(tmp_path):
    with pytest.raises(ValueError, match="holds no model"):
        Checkpoint(tmp_path)
    for every in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="every must be"):
            Checkpoint(tmp_path, LASVC(), every=every)
    run = Checkpoint(tmp_path, LASVC(gamma=0.5))
    with pytest.raises(RuntimeError, match="in use by another Checkpoint"):
        Checkpoint(tmp_path)
    with pytest.raises(TypeError, match="LASVC cannot forget single points"):
        run.forget(1)
    run.close()
    run.close()
    with pytest.raises(ValueError, match="closed"):
        learn(run, "lasvc", 0)
    with pytest.raises(ValueError, match=r"holds a LASVC\. Got a KernelSGDClassifier"):
        Checkpoint(tmp_path, KernelSGDClassifier())
    with pytest.raises(ValueError, match=r"holds a LASVC\. Got a Pipeline of StandardScaler of LASVC"):
        Checkpoint(tmp_path, make_pipeline(StandardScaler().fit(X), LASVC()))
    with Checkpoint(tmp_path, LASVC(C=5)) as run:
        assert run.model.C == 1.0


def test_what_cannot_stream_is_refused_when_it_is_given(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(TypeError, match="SVC cannot learn from a stream: it has no partial_fit"):
        Checkpoint(path, SVC())
    with pytest.raises(TypeError, match="SVC cannot learn from a stream"):
        Checkpoint(path, make_pipeline(StandardScaler().fit(X), SVC()))
    with pytest.raises(TypeError, match=r"keeps pipelines of MaxAbsScaler.* Got a step of type PolynomialFeatures"):
        Checkpoint(path, make_pipeline(PolynomialFeatures().fit(X), LASVC()))
    with pytest.raises(ValueError, match="StandardScaler is not fitted"):
        Checkpoint(path, make_pipeline(StandardScaler(), LASVC()))
    assert not path.exists()


NUMERIC = [kind for name, kind in TRANSFORMERS.items() if name not in ("OneHotEncoder", "ColumnTransformer")]


@pytest.mark.parametrize("kind", NUMERIC)
def test_pipelines_of_fixed_scalers(kind, tmp_path):
    """The model is that of the scaled stream, after a crash too; forgetting reaches the files."""
    scaler, model = kind().fit(X[:50]), IncrementalSVC(gamma=0.5)
    alone = clone(model).partial_fit(scaler.transform(X[:40]), y[:40], classes=[0, 1])
    run = Checkpoint(tmp_path, make_pipeline(scaler, model), every=15)
    for k in range(4):
        part = slice(10 * k, 10 * k + 10)
        run.learn(X[part], y[part], classes=[0, 1])
    crash(run)
    run = Checkpoint(tmp_path)
    assert [*run.model.named_steps] == [kind.__name__.lower(), "incrementalsvc"]
    values = run.model.decision_function(X)
    np.testing.assert_allclose(values, alone.decision_function(scaler.transform(X)), atol=1e-9)
    assert held_in(tmp_path, scaler.transform(X[:40])[7])
    receipt = run.forget(7)
    assert not held_in(tmp_path, scaler.transform(X[:40])[7])
    receipt.verify(run.model[-1])
    assert sorted(receipt.files) == sorted(path.name for path in tmp_path.glob("model*"))
    crash(run)
    with Checkpoint(tmp_path, make_pipeline(scaler, model)) as run:
        receipt.verify(run.model[-1])


# ---- forgetting ----------------------------------------------------------------------------------------


def held_in(folder, rows):
    """Whether any entry of the rows is in the bytes of any file of a folder."""
    content = content_of(folder)
    return any(struct.pack("<d", value) in content for value in np.ravel(rows))


@pytest.mark.parametrize("name", ["points", "window", "one class"])
@pytest.mark.parametrize("every", [10, None])
def test_forgetting_reaches_the_files(name, every, tmp_path):
    with Checkpoint(tmp_path, clone(MODELS[name]).set_params(window=None), every=every) as run:
        for k in range(6):
            learn(run, name, k)
        assert held_in(tmp_path, X[40])
        run.forget([3, 40])
        assert not held_in(tmp_path, X[[3, 40]])
        assert held_in(tmp_path, X[41])
        generations = sorted(tmp_path.glob("model*"))
        assert len(generations) == 2  # the one before is a copy, not one that remembers
        assert "forget.json" not in os.listdir(tmp_path)
        learn(run, name, 6)
        run.model.forget(5)  # without the checkpoint: at the next call
        learn(run, name, 7)
        assert not held_in(tmp_path, X[[3, 5, 40]])
        with pytest.raises(KeyError, match="no point has the ids"):
            run.forget([7, 3])
        before = bits(run.model)
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == before
        assert not set(run.model.ids_) & {3, 5, 40}


def test_ids_of_a_generator(tmp_path):
    with Checkpoint(tmp_path, clone(MODELS["points"])) as run:
        learn(run, "points", 0)
        run.forget(number for number in (2, 4))
        assert list(run.model.ids_) == [0, 1, 3, 5, 6]


@pytest.mark.parametrize(
    "content",
    [b"", b"[1, 2]", b"null", b"7", b"{}", b"[" * 100_000, b"\xff", b'{"points": [1]}\n']
    + [line(value) for value in ({"points": 7}, {"points": [[1]]}, {"points": ["1"]}, {"other": [1]})]
    + [line({"points": [2]})[:-1], line({"points": [2]}) * 2],
)
def test_a_damaged_list_of_points_to_forget(content, tmp_path):
    run = Checkpoint(tmp_path, clone(MODELS["points"]))
    learn(run, "points", 0)
    crash(run)
    (tmp_path / "forget.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"forget\.json: .* forget the points again"):
        Checkpoint(tmp_path)
    (tmp_path / "forget.json").write_bytes(line({"points": [2, 99]}))
    with Checkpoint(tmp_path) as run:
        assert list(run.model.ids_) == [0, 1, 3, 4, 5, 6]


def test_points_to_forget_of_a_model_that_cannot(tmp_path):
    Checkpoint(tmp_path, LASVC(gamma=0.5)).close()
    (tmp_path / "forget.json").write_bytes(line({"points": [2]}))
    with pytest.raises(ValueError, match="does not belong to this model"):
        Checkpoint(tmp_path)


def test_a_damaged_generation_does_not_bring_points_back(tmp_path, monkeypatch):
    """A crash after the first copy of the new generation, and this copy is damaged: the older one holds the points."""
    folder, spare = tmp_path / "run", tmp_path / "spare"
    spare.mkdir()
    run = Checkpoint(folder, clone(MODELS["points"]))
    for k in range(3):
        learn(run, "points", k)
    with power(monkeypatch, 19, spare) as disk, pytest.raises(PowerLoss):
        run.forget([3, 15])
    assert disk.count == 19
    crash(run)
    newest = max(folder.glob("model*"))
    assert [hingeline.load(path).n_samples_ for path in sorted(folder.glob("model*"))[1:]] == [7, 19]
    assert held_in(folder, X[3])
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="The generation before it"):
        run = Checkpoint(folder)
    assert not {3, 15} & set(run.model.ids_)
    assert run.model.n_samples_ == 19
    assert not held_in(folder, X[[3, 15]])
    run.close()


def test_points_that_leave_the_window_leave_the_files(tmp_path):
    with Checkpoint(tmp_path, clone(MODELS["window"]), every=14) as run:
        for k in range(10):
            learn(run, "window", k)
        run.save()
        held = set(run.model.ids_)
        assert len(held) == 20
        assert not held_in(tmp_path, X[[k for k in range(70) if k not in held]])


def script(folder):
    """A stream with forgetting, as one list of steps: each returns what is acknowledged after it."""
    run = Checkpoint(folder, IncrementalSVC(gamma=0.5), every=10)
    yield run, 0, ()
    for k in range(4):
        run.learn(*chunk(k), classes=[0, 1])
        yield run, 7 * (k + 1), ()
    run.forget([1, 25])
    yield run, 28, (1, 25)
    run.learn(*chunk(4))
    yield run, 35, (1, 25)
    run.forget(30)
    yield run, 35, (1, 25, 30)
    run.learn(*chunk(5))
    yield run, 42, (1, 25, 30)
    run.close()


def script_states():
    """State for every number of samples and of forgotten points that a crash may leave."""
    model, states = IncrementalSVC(gamma=0.5), {}
    states[0, 0] = bits(model)
    for k in range(6):
        if k == 4:
            model.forget([1, 25])
            states[28, 2] = bits(model)
        if k == 5:
            model.forget(30)
            states[35, 3] = bits(model)
        model.partial_fit(*chunk(k), classes=[0, 1])
        states[7 * (k + 1), (0, 0, 0, 0, 2, 3)[k]] = bits(model)
    return states


def check_after_crash(folder, n, forgotten, states):
    """The folder holds what was acknowledged; forgetting that has begun is completed."""
    if not list(folder.glob("model*")):
        assert n == 0
        return
    wanted = folder / "forget.json"
    begun = 0 if not wanted.exists() else 3 if json.loads(wanted.read_text())["points"] == [30] else 2
    with Checkpoint(folder) as run:
        seen = run.model.n_samples_seen_ if hasattr(run.model, "n_samples_seen_") else 0
        gone = seen - (run.model.n_samples_ if seen else 0)
        assert n <= seen <= n + 7
        assert gone >= max(len(forgotten), begun)
        assert bits(run.model) == states[seen, gone]
        removed = X[[(1, 25, 30)[k] for k in range(gone)]]
        assert not held_in(folder, removed)


@pytest.mark.parametrize("step", [31, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("outcome", "begin"), [("lost", 0), ("kept", 11)])
def test_power_loss_at_any_system_call(outcome, begin, step, tmp_path, monkeypatch):
    states = script_states()
    for limit in count(begin if step > 1 else 0, step):
        folder, spare = tmp_path / f"run{limit}", tmp_path / f"spare{limit}"
        spare.mkdir()
        n, forgotten, run, over = 0, (), None, True
        with power(monkeypatch, limit, spare) as disk:
            try:
                for run, n, forgotten in script(folder):  # noqa: B007
                    pass
            except PowerLoss:
                over = False
        if over:
            break
        if run is not None and run._guard is not None:
            crash(run)
        if outcome == "lost":
            disk.lose()
        check_after_crash(folder, n, forgotten, states)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(spare)
    assert limit > 120


def killed_stream(folder, name, seed, most):
    """Kill a process that learns at a random moment. Returns the number of samples that it has acknowledged."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receive)
            run = Checkpoint(folder, clone(MODELS[name]), every=15)
            k = run.model.n_samples_seen_ // 7 if hasattr(run.model, "n_samples_seen_") else 0
            os.write(send, struct.pack("<q", 7 * k))
            for chunk_number in range(k, most):
                learn(run, name, chunk_number)
                os.write(send, struct.pack("<q", 7 * (chunk_number + 1)))
        finally:
            os._exit(0)
    os.close(send)
    choose, received = random.Random(seed), b""
    wanted = choose.choice([0, 0, 1, 2, 3, 5, 8])  # messages to wait for: the first one says that the folder is open
    while len(received) < 8 * wanted and (part := os.read(receive, 8)):
        received += part
    time.sleep(choose.choice([0.0, 0.001, 0.005, 0.03]) * choose.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(receive, 1 << 16):
        received += part
    os.close(receive)
    return struct.unpack("<q", received[-8:])[0] if received else 0


def kill_many(name, folder, times):
    """Kill and resume; when the stream ends, begin again."""
    most, known = 28, 0
    states = uninterrupted(name, most)
    for seed in range(times):
        known = max(known, killed_stream(folder, name, seed, most))
        if not list(folder.glob("model*")):
            assert known == 0
            continue
        run = Checkpoint(folder)
        seen = run.model.n_samples_seen_ if hasattr(run.model, "n_samples_seen_") else 0
        crash(run)
        assert seen in (known, known + 7)
        assert bits(run.model) == states[seen // 7]
        known = seen
        if seen == 7 * most:
            shutil.rmtree(folder)
            known = 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("name", ["lasvc", "window"])
def test_kill_9(name, tmp_path):
    kill_many(name, tmp_path / "run", 4)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("name", MODELS)
def test_kill_9_many_times(name, tmp_path):
    kill_many(name, tmp_path / "run", 200)


# ---- the lock -------------------------------------------------------------------------------------------


class FakeMsvcrt:
    """Locks of bytes as Windows has them: each belongs to the descriptor that took it."""

    LK_UNLCK, LK_LOCK, LK_NBLCK, LK_RLCK, LK_NBRLCK = range(5)

    def __init__(self):
        self.owners = {}

    def locking(self, descriptor, mode, count):
        file = os.fstat(descriptor)
        place = (file.st_dev, file.st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        assert count == 1
        if mode == self.LK_UNLCK:
            if self.owners.pop(place, None) != descriptor:
                raise PermissionError(errno.EACCES, "Permission denied")
        elif mode == self.LK_NBLCK:
            if place in self.owners:
                raise PermissionError(errno.EACCES, "Permission denied")
            self.owners[place] = descriptor
        else:
            raise AssertionError(f"mode {mode} waits")


def test_lock_on_windows(tmp_path, monkeypatch):
    """Without fcntl a byte is locked that no file reaches; another descriptor is refused, until the first is closed."""
    windows = FakeMsvcrt()
    monkeypatch.setattr(durable, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    run = Checkpoint(tmp_path, LASVC(gamma=0.5))
    ((_, _, place),) = windows.owners
    assert place == durable.LOCKED_BYTE and (tmp_path / "lock").stat().st_size == 0
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    with pytest.raises(RuntimeError, match="in use by another Checkpoint"):
        Checkpoint(tmp_path)
    assert not descriptors or len(os.listdir("/proc/self/fd")) == descriptors
    run.close()
    assert not windows.owners
    Checkpoint(tmp_path, LASVC(gamma=0.5)).close()


def test_a_locked_file_is_read_and_written_from_its_begin_on_windows(tmp_path, monkeypatch):
    monkeypatch.setattr(durable, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", FakeMsvcrt())
    (tmp_path / "journal").write_bytes(b"a line\n")
    descriptor = durable.lock_file(tmp_path / "journal", "")
    assert os.read(descriptor, 100) == b"a line\n"
    durable.unlock(descriptor, os.getpid())
