"""Labelling: pools, features, the journal of answers, sessions and exports."""

import csv
import errno
import gzip
import io
import json
import os
import random
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import hingeline
from hingeline import LASVC, SVC, IncrementalSVC
from hingeline.base import inputs
from hingeline.cli.errors import CommandError
from hingeline.cli.main import main
from hingeline.files.log import line as with_checksum
from hingeline.labelling.answers import AnswerJournal
from hingeline.labelling.exports import _disarm
from hingeline.labelling.features import features_of, numbers_of
from hingeline.labelling.pools import ImagePool, TablePool, TextPool, read_pool
from hingeline.labelling.server import PageServer
from hingeline.labelling.session import Session

from .labelling import session, small_table, truth, write_csv
from .power_loss import PowerLoss, power

NAMES = ["a", "b"]


def answer(opened, n=1):
    for _ in range(n):
        state = opened.state()
        row = state["question"]["row"]
        opened.act({"action": "label", "turn": state["turn"], "row": row, "class": truth(state["question"])})


# ---- pools ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_csv(tmp_path, delimiter, ending):
    text = delimiter.join(["name", "text"]) + "\r\n" + delimiter.join(["1", '"two ""lines""\nhere"']) + "\r\n\r\n"
    path = tmp_path / f"x{ending}"
    content = b"\xef\xbb\xbf" + text.encode()
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    pool = read_pool(path)
    assert pool.columns == ["name", "text"] and pool.rows == [["1", 'two "lines"\nhere']]


def test_names_of_columns(tmp_path):
    path = write_csv(tmp_path / "x.csv", [["a", "", "a"], ["1", "2", "3"]])
    assert read_pool(path).columns == ["a", "column 2", "a (3)"]
    assert read_pool(path, header="no").columns == ["column 1", "column 2", "column 3"]
    path = write_csv(tmp_path / "y.csv", [["1", "x"], ["2", "y"]])
    assert len(read_pool(path)) == 2
    assert read_pool(path, header="yes").columns == ["1", "x"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n3\n", "line 3: 1 cells. The first line has 2"),
        (b"a,b\n1,2\n\xff,4\n", "line 3: not utf-8. Give the encoding with --encoding"),
        (b"a,b\n", "there are no examples"),
        (b"", "there are no examples"),
    ],
)
def test_csv_errors_name_file_and_line(tmp_path, content, words):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="x.csv.*" + words):
        read_pool(path)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=2, max_size=2),
        min_size=1,
    )
)
def test_csv_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "round.csv"
    write_csv(path, rows, ["first,", "second"])
    assert read_pool(path, header="yes").rows == rows


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"n": [1, None], "s": ["x", "<b>"], "list": [[1], []]})
    parquet.write_table(table, tmp_path / "x.parquet")
    pool = read_pool(tmp_path / "x.parquet")
    assert pool.columns == ["n", "s", "list"] and pool.cells(1) == ["", "<b>", "[]"]


def test_folder_of_texts(tmp_path):
    folder = tmp_path / "texts"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.txt").write_text("second text")
    (folder / "sub" / "a.TXT").write_bytes(b"caf\xe9 text")
    (folder / ".hidden.txt").write_text("hidden")
    pool = read_pool(folder)
    assert isinstance(pool, TextPool) and pool.names == ["b.txt", "sub/a.TXT"]
    assert pool.texts == ["second text", "caf\ufffd text"]
    assert read_pool(folder, encoding="latin-1").texts[1] == "café text"
    assert features_of(pool).kernel == "linear"


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_links_that_lead_out_of_the_folder_are_left_out(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "a.txt").write_text("text")
    (folder / "b.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "c.txt").symlink_to(folder / "a.txt")
    assert read_pool(folder).names == ["a.txt", "c.txt"]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_names_of_files_that_are_no_text(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    with pytest.raises(ValueError, match=r"not UTF-8\. Rename"):
        read_pool(tmp_path)


def make_images(folder, n=12):
    Image = pytest.importorskip("PIL.Image")
    folder.mkdir()
    draws = np.random.default_rng(0)
    for k in range(n):
        values = draws.integers(0, 120, (20, 30, 3)) + (100 if k % 2 else 0)
        Image.fromarray(values.astype(np.uint8)).save(folder / f"{k:02d}.{('png', 'jpg', 'gif', 'webp')[k % 4]}")
    return folder


def test_folder_of_images(tmp_path):
    pool = read_pool(make_images(tmp_path / "images"))
    assert isinstance(pool, ImagePool) and len(pool) == 12
    features = features_of(pool)
    assert features.X.shape == (12, 768) and features.kernel == "rbf"
    assert features.X[1::2].mean() > features.X[::2].mean() + 0.3
    assert pool.content_type(0) == "image/png" and pool.content_type(1) == "image/jpeg"


def test_images_are_served(tmp_path):
    from .labelling import served

    folder = make_images(tmp_path / "images")
    with served(folder, "--classes", "dark,light") as client:
        client.enter()
        row = client.state["question"]["row"]
        status, headers, body = client.get(client.state["question"]["image"])
        assert status == 200 and body == (folder / client.state["question"]["title"]).read_bytes()
        assert headers["Content-Type"].startswith("image/") and headers["X-Content-Type-Options"] == "nosniff"
        assert client.label(row % 2) == 200
        (folder / "00.png").unlink()
        assert client.get("image/0")[0] == 404


def test_damaged_images_are_named(tmp_path):
    folder = make_images(tmp_path / "images", 2)
    (folder / "x.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"x.png cannot be read as an image"):
        features_of(read_pool(folder))


@pytest.mark.parametrize(("names", "words"), [(["a.txt", "b.png"], "two folders"), (["a.svg"], "no files that end in")])
def test_folders_without_a_pool(tmp_path, names, words):
    for name in names:
        (tmp_path / name).write_text("x")
    with pytest.raises(ValueError, match=words):
        read_pool(tmp_path)


@pytest.mark.parametrize(("library", "name"), [("pyarrow", "x.parquet"), ("PIL", "images")])
def test_missing_libraries_are_named(tmp_path, monkeypatch, library, name):
    path = tmp_path / name
    if library == "PIL":
        make_images(path, 1)
    else:
        path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r'pip install "hingeline\[(label|parquet)\]"'):
        features_of(read_pool(path))


# ---- features -------------------------------------------------------------------------------------------


def table(**columns):
    return TablePool("x", list(columns), list(zip(*columns.values(), strict=True)))


def test_features_of_a_table():
    n = 60
    pool = table(
        id=[str(k) for k in range(n)],
        number=[str(k % 7) for k in range(n)],
        holes=["" if k % 10 == 0 else str(k % 5) for k in range(n)],
        same=["1"] * n,
        colour=[("red", "blue", "green")[k % 3] for k in range(n)],
        code=[f"x{k}" for k in range(n)],
        empty=[""] * n,
    )
    features = features_of(pool)
    assert features.plan == {
        "id": "not used", "number": "number", "holes": "number", "same": "not used", "colour": "category",
        "code": "not used", "empty": "not used",
    }  # fmt: skip
    assert features.kernel == "rbf" and features.X.shape == (n, 1 + 2 + 3)
    np.testing.assert_allclose(features.X[:, 0].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(features.X[:, 0].std(), 1)
    assert features.X[10, 1] == 0 and features.X[10, 2] == 1  # a missing value
    np.testing.assert_array_equal(features.X[:, 3:].sum(axis=1), 1)


def test_features_with_texts():
    texts = [f"a long text about {'cats' if k % 2 else 'dogs'} number {k}" for k in range(80)]
    features = features_of(table(text=texts, number=[str(k % 3) for k in range(80)]))
    assert features.kernel == "linear" and sp.issparse(features.X) and features.plan["text"] == "text"
    assert np.isfinite(features.X.data).all()


def test_few_different_sentences_are_categories():
    answers = ["yes, I agree", "no, I do not agree", "I cannot tell"]
    assert features_of(table(answer=[answers[k % 3] for k in range(30)])).plan == {"answer": "category"}


def test_a_table_without_features():
    with pytest.raises(ValueError, match="no column to learn from"):
        features_of(table(same=["1", "1"]))


def test_infinite_numbers_are_no_numbers():
    assert features_of(table(a=["inf", "1", "2"], b=["1", "2", "4"])).plan == {"a": "category", "b": "number"}


# ---- the journal ----------------------------------------------------------------------------------------


def records(path):
    journal = AnswerJournal(path)
    journal.close()
    return [{key: value for key, value in record.items() if key != "at"} for record in journal.records]


def test_a_torn_line_is_removed_wherever_it_breaks(tmp_path):
    path = tmp_path / "x.jsonl"
    journal = AnswerJournal(path)
    journal.append({"kind": "answer", "rows": [1], "labels": ["ja"]})
    journal.append({"kind": "undo"})
    journal.close()
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first + 1, len(whole)):
        path.write_bytes(whole[:end])
        assert [record["kind"] for record in records(path)] == ["answer"]
        assert path.read_bytes() == whole[:first]
    path.write_bytes(whole[:first] + bytes(100))
    assert len(records(path)) == 1
    path.write_bytes(whole)
    assert len(records(path)) == 2


@pytest.mark.parametrize("content", [b"a,b\n1,2", b"precious", b'{"x": 1}\n', b"[1]\n", b'"kind"\n', b"\xff"])
def test_other_files_are_not_changed(tmp_path, content):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="line 1: not a line of a journal"):
        AnswerJournal(path)
    assert path.read_bytes() == content


def test_damage_in_the_middle_is_reported(tmp_path):
    path = tmp_path / "x.jsonl"
    undo = with_checksum({"kind": "undo"})
    path.write_bytes(undo + undo[:12] + b"\n" + undo)
    with pytest.raises(ValueError, match="line 2"):
        AnswerJournal(path)


@pytest.mark.parametrize("number", [1, 2], ids=["first", "last"])
def test_a_changed_answer_is_reported(tmp_path, number):
    path = tmp_path / "x.jsonl"
    journal = AnswerJournal(path)
    for label in ("A", "B"):
        journal.append({"kind": "answer", "rows": [1], "labels": [label]})
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    for old, new in (
        (b'["A"]', b'["C"]'),
        (b'["B"]', b'["C"]'),
        (b"answer", b"answe\xff"),
        (b"}\n", b"}\r"),
        (b"crc", b"src"),
    ):
        damaged = [line.replace(old, new) if k == number else line for k, line in enumerate(lines, 1)]
        if damaged != lines:
            path.write_bytes(b"".join(damaged))
            with pytest.raises(ValueError, match=f"line {number}: .* Restore the file from a copy"):
                AnswerJournal(path)
            assert path.read_bytes() == b"".join(damaged)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_gives_no_answers(tmp_path):
    pool = small_table(tmp_path)
    with session(pool, "--classes", "no,yes", "--export", tmp_path / "labels.csv") as opened:
        answer(opened, 3)
        before = opened.learner.labels
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for call in (lambda: answer(opened, 1), opened.finish, lambda: opened.journal.append({"kind": "undo"})):
                    with pytest.raises(RuntimeError, match="a fork of it"):
                        call()
                opened.journal.close()
                code = 0 if opened.learner.labels == before else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not (tmp_path / "labels.csv").exists()
        with pytest.raises(RuntimeError, match="in use"):
            AnswerJournal(opened.journal.path)
        answer(opened, 2)
        before = opened.learner.labels
    with session(pool) as opened:
        assert opened.learner.labels == before


def test_power_failures_lose_no_acknowledged_answer(tmp_path, monkeypatch):
    """A loss of power at each system call, with and without the bytes that were not flushed."""
    for limit in range(40):
        for lose in (True, False):
            folder = tmp_path / f"{limit}-{lose}"
            (folder / "spare").mkdir(parents=True)
            path, done, journal = folder / "x.jsonl", 0, None
            with power(monkeypatch, limit, folder / "spare") as disk, suppress(PowerLoss):
                journal = AnswerJournal(path)
                while done < 5:
                    journal.append({"kind": "answer", "rows": [done]})
                    done += 1
            if journal is not None:
                journal.close()
            if lose:
                disk.lose()
            found = [record["rows"][0] for record in records(path)]
            assert found in (list(range(done)), list(range(done + 1)))
        if done == 5:
            break
    assert done == 5


# ---- sessions -------------------------------------------------------------------------------------------


def test_rows_may_be_added_to_the_pool(tmp_path):
    pool = small_table(tmp_path)
    with session(pool, "--classes", "no,yes") as opened:
        answer(opened, 5)
        labels = opened.learner.labels
    with open(pool, "a") as file:
        file.write("0.1,0.2,red,more\n")
    for n_rows in (41, 41):
        with session(pool) as opened:
            assert opened.learner.labels == labels and len(opened.pool) == n_rows
    assert [record["kind"] for record in records(tmp_path / "pool.answers.jsonl")].count("pool") == 2


@pytest.mark.parametrize(
    "change", [lambda text: text.replace("red", "pink"), lambda text: text.rsplit("\n", 2)[0] + "\n"]
)
def test_answers_of_another_pool_are_refused(tmp_path, change):
    pool = small_table(tmp_path)
    with session(pool, "--classes", "no,yes") as opened:
        answer(opened, 2)
    pool.write_text(change(pool.read_text()))
    with pytest.raises(CommandError, match="line 1: the answers belong to another pool"), session(pool):
        pass
    with session(pool, "--answers", tmp_path / "other.jsonl") as opened:  # the lock was given back
        assert opened.learner.n_labelled == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"kind": "answer", "rows": [99], "labels": ["no"]}', "from 0 to 39"),
        ('{"kind": "answer", "rows": [1]}', "'labels' is missing"),
        ('{"kind": "nonsense"}', "kind must be one of"),
        ('{"kind": "answer", "rows": [[]], "labels": ["no"]}', ""),
        ('{"kind": "answer", "rows": {"a": {}}, "labels": ["no"]}', ""),
        ('{"kind": "answer", "rows": [1e300], "labels": ["no"]}', ""),
        ('{"kind": "answer", "rows": [null], "labels": ["no"]}', ""),
        ('{"kind": "answer", "names": ["a"], "labels": ["no"]}', "the pool is a table"),
        ('{"kind": "classes", "classes": [[]]}', ""),
        ('{"kind": "pool", "version": 1}', "'n_rows' is missing"),
        ('{"kind": "pool", "version": 1, "n_rows": [], "pool": "table", "identity": 1, "name": 1}', ""),
        ('{"kind": "undo"}', "nothing to undo"),
        ('{"kind": "pool", "version": 2}', "version 2"),
    ],
)
def test_wrong_lines_of_a_journal_are_named(tmp_path, line, words):
    pool = small_table(tmp_path)
    (tmp_path / "pool.answers.jsonl").write_bytes(with_checksum(json.loads(line)))
    with pytest.raises(CommandError, match=f"line 1: .*{words}"), session(pool):
        pass


def test_known_labels_come_first_and_stay(tmp_path):
    rows = [[str(k % 5), str(k % 3), ("yes" if k % 5 > 2 else "no") if k < 10 else ""] for k in range(30)]
    pool = write_csv(tmp_path / "pool.csv", rows, ["a", "b", "label"])
    for n_answers in (0, 1):
        with session(pool, "--target", "label") as opened:
            state = opened.state()
            assert state["n_labelled"] == 10 + n_answers and state["n_open"] == 20 - n_answers
            assert sorted(known["name"] for known in state["classes"]) == ["no", "yes"]
            assert dict(state["question"]["fields"]).keys() == {"a", "b"}
            assert (state["last"] is None) == (n_answers == 0)
            opened.act({"action": "label", "turn": state["turn"], "row": state["question"]["row"], "class": 0})
    with session(pool, "--target", "label") as opened:
        for _ in range(2):
            opened.act({"action": "undo", "turn": opened.turn})
        with pytest.raises(ValueError, match="nothing to undo"):
            opened.act({"action": "undo", "turn": opened.turn})
        assert opened.learner.n_labelled == 10


def test_known_labels_are_checked_before_they_are_kept(tmp_path):
    pool = write_csv(tmp_path / "pool.csv", [["1", "x" * 101], ["2", ""], ["5", "y"]], ["a", "label"])
    with pytest.raises(CommandError, match="1 to 100 printable characters"), session(pool, "--target", "label"):
        pass
    assert [record["kind"] for record in records(tmp_path / "pool.answers.jsonl")] == ["pool"]


def test_a_start_that_failed_loses_no_known_labels(tmp_path):
    rows = [[str(k % 4), "xyz"[k % 3] if k < 6 else ""] for k in range(9)]
    pool = write_csv(tmp_path / "pool.csv", rows, ["a", "label"])
    with (
        pytest.raises(CommandError, match="--rule margin"),
        session(pool, "--target", "label", "--rule", "near_boundary"),
    ):
        pass
    with session(pool, "--target", "label") as opened:
        assert opened.learner.n_labelled == 6


def test_known_labels_of_a_model(tmp_path):
    X = np.random.default_rng(1).normal(size=(20, 1))
    hingeline.save(IncrementalSVC(gamma=1.0).fit(X, (X[:, 0] > 0).astype(int)), tmp_path / "m")
    pool = write_csv(tmp_path / "pool.csv", [["1.5", "1"], ["2", ""], ["-5", "0"]], ["a", "label"])
    with session(pool, "--target", "label", "--model", tmp_path / "m") as opened:
        assert opened.learner.labels == {0: 1, 2: 0} and opened.state()["question"]["row"] == 1


@pytest.mark.parametrize("model", [IncrementalSVC(gamma=1.0), LASVC(gamma=1.0)], ids=["exact", "online"])
def test_a_model_is_continued_and_not_changed(tmp_path, model):
    draws = np.random.default_rng(1)
    X = draws.normal(size=(60, 2))
    hingeline.save(clone(model).fit(X, (X[:, 0] > 0).astype(int)), tmp_path / "start.safetensors")
    before = (tmp_path / "start.safetensors").read_bytes()
    pool = small_table(tmp_path)
    words = (pool, "--model", tmp_path / "start.safetensors", "--ignore", "colour", "--ignore", "<b>note</b>")
    for _ in range(2):
        with session(*words) as opened:
            state = opened.state()
            assert [known["name"] for known in state["classes"]] == ["0", "1"] and state["fixed"]
            assert state["question"]["guess"] in (0, 1)
            answer(opened, 3)
            opened.finish()
            with pytest.raises(ValueError, match="classes"):
                opened.act({"action": "classes", "turn": opened.turn, "names": ["2"]})
    assert (tmp_path / "start.safetensors").read_bytes() == before
    assert hingeline.load(tmp_path / "pool.model.safetensors").n_samples_seen_ == 66


def test_models_that_do_not_fit_the_pool_are_refused(tmp_path):
    X = np.random.default_rng(1).normal(size=(20, 3))
    y = X[:, 0] > 0
    hingeline.save(IncrementalSVC(gamma=1.0).fit(X, y), tmp_path / "three")
    hingeline.save(SVC().fit(X, y), tmp_path / "batch")
    pool = small_table(tmp_path)
    with (
        pytest.raises(CommandError, match=r"the model has 3 features, pool\.csv has 2 columns"),
        session(pool, "--model", tmp_path / "three"),
    ):
        pass
    with (
        pytest.raises(CommandError, match="SVC is no fitted classifier with partial_fit"),
        session(pool, "--model", tmp_path / "batch"),
    ):
        pass


def test_features_of_a_model_are_found_by_name(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"weight": [0.0, 1.0, 2.0], "size": [1.0, 0.0, 3.0]})
    model = IncrementalSVC(gamma=1.0).fit(frame, [0, 1, 1])
    pool = read_pool(small_table(tmp_path))
    X = numbers_of(pool, model, tmp_path)
    assert X[:, 0].tolist() == list(map(float, pool.column("weight")))
    with pytest.raises(ValueError, match=r"column 'size' of .* must hold numbers"):
        numbers_of(table(weight=["1"], size=["x"]), model, tmp_path)


@pytest.mark.parametrize("option", ["--target", "--ignore"])
def test_unknown_columns_are_named(tmp_path, option):
    with (
        pytest.raises(CommandError, match=r"no column 'x'. It has 'size'"),
        session(small_table(tmp_path), option, "x"),
    ):
        pass


def test_the_model_is_saved_from_time_to_time(tmp_path, monkeypatch):
    monkeypatch.setattr("hingeline.labelling.session.SAVE_EVERY", 1)
    with session(small_table(tmp_path), "--classes", "no,yes", "--save-model", tmp_path / "m") as opened:
        answer(opened, 3)
        opened.finish()
        np.testing.assert_array_equal(
            hingeline.load(tmp_path / "m").decision_function(opened.learner.pool),
            opened.learner.estimator.decision_function(opened.learner.pool),
        )


def test_large_pools_are_asked_in_small_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("hingeline.cli.label.LARGE_POOL", 30)
    with session(small_table(tmp_path)) as opened:
        assert opened.learner.rule.candidates == 59
    with session(small_table(tmp_path), "--rule", "near_boundary") as opened:
        assert opened.learner.rule.candidates is None


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("missing.csv", 66, "cannot read missing.csv: No such file"),
        ("missing/pool.csv", 66, "cannot read missing/pool.csv: No such file"),
        ("empty.csv", 65, "empty.csv: there are no examples"),
        ("torn.csv.gz", 65, "torn.csv.gz: not a complete gzip file"),
        ("bomb.csv.gz", 65, "bomb.csv.gz: the gzip file unpacks to more than"),
        ("short.csv", 65, "short.csv, line 3: 1 cells"),
        ("numbered.csv", 65, "numbered.csv: no column to learn from"),
        ("pool.csv --answers other.txt", 65, "other.txt, line 1: not a line of a journal"),
        ("pool.csv --answers wrong.jsonl", 65, "wrong.jsonl, line 1: version 2"),
        ("pool.csv --model other.txt", 65, "other.txt: the file is neither a model"),
        ("pool.csv --model three", 65, "three: the model has 3 features, pool.csv has 2 columns of numbers"),
        ("pool.csv --model batch", 2, "batch: SVC is no fitted classifier with partial_fit"),
        ("pool.csv --model missing", 66, "cannot read missing"),
        ("pool.csv --model three --classes a,b", 2, "--classes and --model exclude one another"),
        ("pool.csv --export pool.csv", 2, "pool.csv would replace pool.csv"),
        ("pool.csv --export x --save-model x", 2, "x would replace x"),
        ("pool.csv --export no/labels.csv", 73, "cannot write no/labels.csv: the folder"),
        ("pool.csv --answers /dev/full", 73, "cannot write /dev/full: it is not a regular file"),
        ("pool.csv --rule x", 2, "rule must be one of"),
        ("pool.csv --rule near_boundary --classes a,b,c", 2, "The rule asks about two classes"),
        ("pool.csv --rule near_boundary --target size", 65, "pool.csv: There may be 2 classes"),
        ("pool.csv --C -1", 2, "The 'C' parameter of IncrementalSVC must be"),
        ("pool.csv --target x", 2, "pool.csv has no column 'x'"),
        ("texts --ignore x", 2, "texts is a folder"),
        ("pool.csv --encoding x", 2, "--encoding must be"),
        ("pool.csv --port 65536", 2, "expected an integer from 0 to 65535"),
        ("pool.csv --port {port}", 1, "port {port} cannot be used: Address already in use"),
    ],
)
def test_the_program_reports_errors_without_a_traceback(tmp_path, monkeypatch, capsys, words, code, message):
    monkeypatch.chdir(small_table(tmp_path).parent)
    Path("empty.csv").write_text("")
    Path("torn.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n")[:-9])
    Path("bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" * (1 << 22)))
    monkeypatch.setattr(inputs, "ALLOWANCE", 1 << 20)
    Path("short.csv").write_text("a,b\n1,2\n3\n")
    Path("numbered.csv").write_text("a\n1\n2\n3\n")
    Path("other.txt").write_text("precious\n")
    Path("wrong.jsonl").write_bytes(with_checksum({"kind": "pool", "version": 2}))
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("some words in a text")
    X = np.random.default_rng(1).normal(size=(20, 3))
    hingeline.save(IncrementalSVC(gamma=1.0).fit(X, X[:, 0] > 0), "three")
    hingeline.save(SVC().fit(X, X[:, 0] > 0), "batch")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["label", "--no-browser", "--json", *words.format(port=port).split()]) == code
    out, err = capsys.readouterr()
    assert "hingeline label: " in err and message.format(port=port) in err and "Traceback" not in err
    error = json.loads(out)["error"]
    kinds = {1: "failure", 2: "usage", 65: "data", 66: "input", 73: "output"}
    assert error["code"] == code and error["kind"] == kinds[code]
    if ", line " in message:
        assert error["line"] == int(message.split(", line ")[1].split(":")[0])


@pytest.mark.parametrize("failing", ["append", "finish"])
def test_a_full_disk_is_an_output_error(tmp_path, monkeypatch, capsys, failing):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    owner = {"append": AnswerJournal, "finish": Session}[failing]
    monkeypatch.setattr(owner, failing, full)
    monkeypatch.setattr(PageServer, "serve_forever", lambda *_, **__: None)
    assert main(["label", "--no-browser", "--classes", "a,b", str(small_table(tmp_path))]) == 73
    assert "cannot write" in capsys.readouterr().err


def killed_session(pool, seed):
    """Kill a process that answers, skips and undoes at a random moment. Returns the turns that it has acknowledged."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with session(pool, "--classes", "no,yes") as opened:
                while opened.state()["question"] is not None:
                    os.write(send, opened.turn.to_bytes(4, "little"))
                    act_somehow(opened)
        finally:
            os._exit(0)
    os.close(send)
    choose, received = random.Random(seed), b""
    wanted = choose.randrange(12)
    while len(received) < 4 * wanted and (part := os.read(receive, 4)):
        received += part
    time.sleep(0.01 * choose.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(receive, 1000):
        received += part
    os.close(receive)
    return int.from_bytes(received[-4:], "little")


def act_somehow(opened):
    """The next action of a fixed sequence: what is done depends on the turn only."""
    state = opened.state()
    row, turn = state["question"]["row"], state["turn"]
    action = "undo" if turn % 5 == 4 and state["last"] else "skip" if turn % 7 == 6 else "label"
    opened.act({"action": action, "turn": turn, "row": row, "class": truth(state["question"])})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
@pytest.mark.parametrize(("n_sessions", "n_kills"), [(1, 4), pytest.param(10, 20, marks=pytest.mark.slow)])
def test_kills_lose_no_acknowledged_answer(tmp_path, n_sessions, n_kills):
    """Resumed after each kill, the session is the one that was never interrupted."""
    for number in range(n_sessions):
        pool = small_table(tmp_path, 400, f"{number}.csv")
        with session(pool, "--classes", "no,yes", "--answers", tmp_path / f"whole-{number}.jsonl") as uninterrupted:
            for kill in range(n_kills):
                acknowledged = killed_session(pool, seed=1000 * number + kill)
                with session(pool) as resumed:
                    assert resumed.turn >= acknowledged
                    while uninterrupted.turn < resumed.turn:
                        act_somehow(uninterrupted)
                    assert resumed.state() == uninterrupted.state()
                    assert resumed.learner.history == uninterrupted.learner.history
        assert resumed.turn > n_kills


def test_columns_may_be_left_out_later(tmp_path):
    pool = small_table(tmp_path)
    with session(pool, "--classes", "no,yes") as opened:
        answer(opened, 3)
    with session(pool, "--ignore", "colour") as opened:
        assert opened.learner.n_labelled == 3 and "colour" not in opened.pool.columns


def test_files_may_be_added_anywhere(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for k in range(6):
        (folder / f"m{k}.txt").write_text(f"a text about number {k}")
    with session(folder, "--classes", "even,odd") as opened:
        for row in (4, 1, 2):
            opened.act({"action": "label", "turn": opened.turn, "row": row, "class": row % 2})
        opened.act({"action": "undo", "turn": opened.turn})
    (folder / "a.txt").write_text("a new text at the beginning")
    (folder / "m0.txt").unlink()
    (folder / "m5.txt").unlink()
    with session(folder) as opened:
        assert {opened.pool.names[row]: label for row, label in opened.learner.labels.items()} == {
            "m4.txt": "even",
            "m1.txt": "odd",
        }
    (folder / "m4.txt").unlink()
    with pytest.raises(CommandError, match=r"no file 'm4\.txt'"), session(folder):
        pass


def test_answers_to_a_table_are_not_for_a_folder(tmp_path):
    with session(small_table(tmp_path), "--answers", tmp_path / "x.jsonl"):
        pass
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("some words in a text")
    with (
        pytest.raises(CommandError, match="another pool"),
        session(tmp_path / "texts", "--answers", tmp_path / "x.jsonl"),
    ):
        pass


@pytest.mark.parametrize("rule", ["near_boundary", "largest_positive"])
def test_rules_for_two_classes(tmp_path, rule):
    with session(small_table(tmp_path), "--rule", rule, "--classes", "no,yes") as opened:
        with pytest.raises(ValueError, match=r"2 classes\. Got 3\. The rule asks about two classes"):
            opened.act({"action": "classes", "turn": opened.turn, "names": ["maybe"]})
        answer(opened, 6)
    with (
        pytest.raises(CommandError, match="two classes"),
        session(small_table(tmp_path), "--rule", rule, "--classes", "a"),
    ):
        pass


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--export", "missing/x.csv"], "cannot write missing/x.csv: the folder .* does not exist"),
        (["--save-model", "missing/x"], "cannot write missing/x: the folder"),
        (["--answers", "."], "cannot write .: it is not a regular file"),
        (["--model", "x", "--classes", "a,b"], "exclude one another"),
        (["--rule", "x"], "rule must be one of"),
        (["--gamma", "-1"], "gamma"),
        (["--classes", "a,\ud800"], "Names of classes"),
    ],
)
def test_wrong_arguments_are_refused_at_the_start(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=message), session(small_table(tmp_path), *words) as opened:
        answer(opened)


def test_the_use_of_the_columns_is_printed(tmp_path, capsys):
    with session(small_table(tmp_path)):
        assert "  number: size, weight\n  category: colour\n  not used: <b>note</b>\n" in capsys.readouterr().out


# ---- exports --------------------------------------------------------------------------------------------


def read_csv(content):
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_exports(tmp_path):
    rows = [[str(k), f"{k % 4}", "=1+1" if k == 3 else "-2.5"] for k in range(20)]
    pool = write_csv(tmp_path / "pool.csv", rows, ["a", "label", "formula"])
    with session(pool, "--classes", "@low,high", "--export", tmp_path / "out.json") as opened:
        for row in range(6):
            opened.act({"action": "label", "turn": opened.turn, "row": row, "class": row % 2})
        opened.act({"action": "unsure", "turn": opened.turn, "row": 10})
        labels = read_csv(opened.export("labels.csv"))
        assert [line["row"] for line in labels] == ["0", "1", "2", "3", "4", "5"]
        assert [line["given label"] for line in labels[:2]] == ["'@low", "high"]
        assert labels[3]["formula"] == "'=1+1" and labels[2]["formula"] == "-2.5" and labels[3]["label"] == "3"
        everything = json.loads(opened.export("labels.json"))
        assert everything["examples"][3] == {
            "row": 3, "status": "labelled", "label": "high", "content": {"a": "3", "label": "3", "formula": "=1+1"},
        }  # fmt: skip
        assert everything["examples"][6]["status"] == "unsure" and everything["examples"][6]["label"] is None
        predictions = read_csv(opened.export("predictions.csv"))
        assert len(predictions) == 20 and predictions[10]["status"] == "unsure" and predictions[11]["status"] == "open"
        expected = [_disarm(label) for label in opened.learner.estimator.predict(opened.learner.pool).tolist()]
        assert [line["predicted"] for line in predictions] == expected
        opened.finish()
        assert (tmp_path / "out.json").read_bytes() == opened.export("labels.json")


@pytest.mark.parametrize("cell", ["=1", "+A1", "-A1", "@x", "\tx", "\rx", "=cmd|' /C calc'!A0"])
def test_formulas_are_disarmed(cell):
    assert _disarm(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-1.5", "+3e4", "a=1", "", 3, -2.5, "'x"])
def test_other_cells_stay_as_they_are(cell):
    assert _disarm(cell) == cell


def test_the_limit_of_cells_of_other_programs_stays(tmp_path):
    before = csv.field_size_limit()
    read_pool(write_csv(tmp_path / "pool.csv", [["1", "x" * 200_000], ["2", "y"]], ["a", "text"]))
    assert csv.field_size_limit() == before
