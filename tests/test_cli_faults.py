"""Faults of use that the command line must survive: pipes, closed streams, full disks, odd tables and options."""

import errno
import gzip
import io
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import hingeline
from hingeline.cli import main as entry
from hingeline.cli.data import Form, blocks_of
from hingeline.cli.data.examples import convert_labels, texts_like
from hingeline.cli.models import kind_of
from hingeline.cli.predictions import Predictions

from .commands import command, svmlight, table  # noqa: F401
from .data import blobs, noisy

X, y = noisy(60)
X3, y3 = blobs()
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs devices and pipes of POSIX")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two").write_text(svmlight(X, y))
    Path("two.csv").write_text(table(X, y, ["a", "b", "label"]))
    Path("three").write_text(svmlight(X3, y3))
    return tmp_path


def fed(path, pieces):
    """Thread that writes pieces to a named pipe, one read of the other side for each."""

    def write():
        with open(path, "wb", buffering=0) as file:
            for piece in pieces:
                file.write(piece)

    os.mkfifo(path)
    thread = threading.Thread(target=write)
    thread.start()
    return thread


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# ---- pipes and standard streams ---------------------------------------------------------------------------


@POSIX
def test_a_named_pipe_loses_no_rows(command, files):  # noqa: F811
    text = table(np.arange(2000.0).reshape(-1, 2), np.arange(1000) % 2)
    thread = fed("pipe", [text.encode()])
    command("convert", "pipe", "copy.csv", "--to", "csv")
    thread.join()
    assert len(Path("copy.csv").read_text().splitlines()) == 1001
    command("train", "two.csv", "model")
    thread = fed("rows", [Path("two.csv").read_bytes()])
    assert command.json("predict", "rows", "model", "out")["rows"] == 60
    thread.join()
    assert kind_of("pipe") is None
    command("predict", "two.csv", "pipe", code=65)
    assert "pipe: a model must be a regular file" in command.err


class Slow(io.RawIOBase):
    """Pipe that gives one byte at a time."""

    def __init__(self, content):
        self.content = io.BytesIO(content)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self.content.readinto(memoryview(buffer)[:1])


@pytest.mark.parametrize("packed", [False, True])
def test_a_slow_pipe_is_recognised(monkeypatch, packed):
    text = b"\n\n11,12,1\n21,22,2\n"
    stream = io.BufferedReader(Slow(gzip.compress(text[:3]) + gzip.compress(text[3:]) if packed else text))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    (rows,) = blocks_of("-", Form())
    assert rows.X.tolist() == [[11, 12], [21, 22]] and rows.labels == ["1", "2"]


def test_closed_standard_streams(command, files, monkeypatch):  # noqa: F811
    command("train", "two", "model")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        for words in ("predict two model", "report model"):
            assert entry.main(words.split()) == 73
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", None)
        assert entry.main(["train", "-", "x.model"]) == 66
    assert not Path("x.model").exists()


@POSIX
def test_names_that_are_not_utf_8(files, monkeypatch):
    name = os.fsdecode(b"m\xff")
    with io.TextIOWrapper(io.FileIO("out", "w"), "utf-8", "strict") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        assert entry.main(["train", "two", name]) == 0
    assert b"m\\udcff: " in Path("out").read_bytes()


def test_standard_output_holds_no_models(command, files):  # noqa: F811
    command("train", "three", "model")
    text = command("convert", "model", "-", "--to", "libsvm")
    assert text.startswith("svm_type c_svc\n") and "-: SVC in the format libsvm" in command.err
    for words in (
        "convert model - --to hingeline",
        "convert model - --to libsvm --json",
        "train three -",
        "train three - --format libsvm",
        "tune three --table -",
        "tune three -",
        "stream three - --n-features 2",
        "compare two.csv --table -",
    ):
        command(*words.split(), code=2)
        assert "standard output" in command.err, words
    assert not Path("-").exists()


# ---- data -------------------------------------------------------------------------------------------------


def test_boolean_labels(command, files):  # noqa: F811
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"a": X[:, 0], "b": X[:, 1], "label": y == 1}
    parquet.write_table(arrow.table(columns), "bool.parquet")
    command("train", "bool.parquet", "model")
    assert command.json("predict", "bool.parquet", "model", "out")["accuracy"] > 0.8
    command("convert", "bool.parquet", "bool.svm")
    assert {line.split()[0] for line in Path("bool.svm").read_text().splitlines()} == {"0", "1"}


def test_boolean_labels_become_integers():
    assert convert_labels(np.array([True, False])).tolist() == [1, 0]
    assert convert_labels(np.array([True])).dtype == np.int64
    assert texts_like(np.array([True, False]), np.array([1, 0])) == ["1", "0"]
    assert texts_like(["1", "True", "2"], np.array([True, False])) == ["True", "True", "2"]


def test_columns_of_one_name_are_kept(command, files):  # noqa: F811
    pytest.importorskip("pyarrow")
    Path("same.csv").write_text("label,a,a,a_2,y\n1,2,3,4,0\n5,6,7,8,1\n")
    command("convert", "same.csv", "same.parquet")
    command("convert", "same.parquet", "back.csv")
    assert Path("back.csv").read_text() == "label,a,a_3,a_2,label\n1,2,3,4,0\n5,6,7,8,1\n"


def test_few_features_and_many_rows(command, files, monkeypatch):  # noqa: F811
    command("train", "three", "model")
    width = X3.shape[1]
    Path("narrow").write_text("0 1:1\n1 1:2\n")
    Path("wide").write_text("0 1:1 99:3\n1 1:2\n")
    command("predict", "narrow", "model", "expected")
    for name in ("narrow", "wide"):
        command("predict", name, "model", "out", "--extra-features", "ignore")
        assert Path("out").read_text() == Path("expected").read_text()
    command("predict", "three", "model", "whole")
    shapes = []
    predict = hingeline.SVC.predict
    monkeypatch.setattr(hingeline.SVC, "predict", lambda self, X: shapes.append(X.shape) or predict(self, X))
    monkeypatch.setattr("hingeline.cli.predict.CELLS", 20 * width)
    command("predict", "three", "model", "parts")
    assert max(shapes) == (20, width) and sum(n for n, _ in shapes) == 90
    assert Path("parts").read_text() == Path("whole").read_text()


@pytest.mark.parametrize("name", ["a.csv", "a.svm"])
def test_numbers_that_single_precision_cannot_hold(command, files, name):  # noqa: F811
    good, bad = ("1,2,0\n", "1e39,2,1\n") if name == "a.csv" else ("0 1:1\n", "1 1:1e39\n")
    Path(name).write_text(good * 41 + bad)
    command("train", name, "--dtype", "float32", code=65)
    assert f"{name}, line 42, column {1 if name == 'a.csv' else 5}: " in command.err and "overflow" not in command.err


def test_odd_tables(command, files):  # noqa: F811
    Path("empty.csv").write_text("\n\na;b;label\n1;2;0\n3;4;1\n")
    assert command.json("convert", "empty.csv", "out.svm")["features"] == 2
    Path("long.csv").write_text(f"1,2,{'x' * 200_000},0\n3,4,y,1\n")
    assert command.json("convert", "long.csv", "out.svm", "--drop", 3)["rows"] == 2
    Path("scores.csv").write_text(f"set,A,B\nx,1,{'x' * 200_000}\n")
    command("compare", "scores.csv", code=65)
    assert "a score must be a number" in command.err
    for head in ("gamma dose,rho,label", "gamma\trho\tlabel"):
        Path("gamma").write_text(f"{head}\n")
        assert kind_of("gamma") is None
    np.savez("nan.npz", X=X, y=np.where(y == 1, np.nan, 0.0))
    command("train", "nan.npz", code=65)
    assert "labels must be finite" in command.err


def test_options_of_tables_need_tables(command, files):  # noqa: F811
    for words, message in [
        ("stream two --n-features 2 --id name", "--id"),
        ("stream two --n-features 2 --target zz", "--target"),
        ("train two --drop 1", "--drop"),
        ("stream two.csv --id 1", "LASVC has no ids"),
    ]:
        command(*words.split(), code=2)
        assert message in command.err, (words, command.err)


# ---- options ----------------------------------------------------------------------------------------------


def test_numbers_of_options(command, files):  # noqa: F811
    for number in ("-1e-3", "-.5e-1"):
        command("train", "-t", "3", "-r", number, "two", "model")
        assert hingeline.load("model").coef0 == float(number)
    for words, message in [
        ("train two -v 2 --seed -1", "expected an integer from 0"),
        ("train two -v 2 --seed 4294967296", "expected an integer from 0"),
        ("tune two --seed x", "expected an integer from 0"),
        ("train two -j 0", "'n_jobs' parameter"),
        ("train two -j 3000000000", "'n_jobs' parameter"),
        ("predict two model -j 0", "'n_jobs' parameter"),
        ("predict two model -j 3000000000", "'n_jobs' parameter"),
    ]:
        command(*words.split(), code=2)
        assert message in command.err, (words, command.err)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("two.csv --estimator SVC", "LIBSVM's labels are 32-bit integers"),
        ("three --estimator NystroemSVC", "NystroemSVC"),
        ("three --estimator LinearSVC", "LinearSVC"),
        ("three --estimator LASVC --param multi_class=ovr", "pair of classes"),
        ("three --estimator IncrementalSVC", "pair of classes"),
        ("three --estimator IncrementalOneClassSVM --param shape=ball", "plane"),
    ],
)
def test_libsvm_models_are_checked_before_training(command, files, monkeypatch, words, message):  # noqa: F811
    Path("two.csv").write_text(table(X, np.array(["no", "yes"])[y]))
    monkeypatch.setattr("hingeline.cli.train.fit", lambda *_: pytest.fail("trained"))
    command("train", *words.split(), "--format", "libsvm", code=2)
    assert message in command.err


def test_comparisons_are_checked_before_reading(command, files, monkeypatch):  # noqa: F811
    monkeypatch.setattr("hingeline.cli.train.read_labelled", lambda *_: pytest.fail("read"))
    both = "--method SVC --method LinearSVC"
    for words, message in [
        (f"two three {both} --method SVC", "--method SVC is given twice"),
        ("two three --method SVC", "at least two methods"),
        (f"two {both}", "at least two data files"),
        (f"two ./two {both}", "is given twice"),
        (f"two three {both} --alpha 1.5", "alpha must be between"),
        (f"two three {both} --alpha nan", "alpha must be between"),
        (f"two three {both} --control LASVC", "--control"),
    ]:
        command("compare", *words.split(), code=2)
        assert message in command.err, (words, command.err)
    pytest.importorskip("matplotlib")
    command("compare", "two", "three", *both.split(), "--figure", "figure.xyz", code=2)
    assert "--figure figure.xyz: the ending must be one of" in command.err


def test_data_sets_of_one_name(command, files):  # noqa: F811
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "set").write_text(svmlight(X, y))
    methods = ("--method", "SVC", "--method", "LinearSVC")
    assert command.json("compare", "a/set", "b/set", *methods, "-v", 2)["datasets"] == ["a/set", "b/set"]


def test_an_empty_score_is_named(command, files):  # noqa: F811
    Path("scores.csv").write_text("set,A,B,C\nx,1,2,3\ny,,1,2\nz,3,4,5\n")
    command("compare", "scores.csv", code=65)
    assert "missing: A on" in command.err


def test_a_search_without_scores(command, files):  # noqa: F811
    command("tune", "three", "model", "--grid", "C=1,2", "-v", 2, "--scoring", "roc_auc", code=1)
    assert "no candidate has a score" in command.err and not Path("model").exists()


# ---- files that cannot be written -------------------------------------------------------------------------


def test_predictions_are_kept_until_there_are_data(command, files):  # noqa: F811
    Path("out").write_text("old\n")
    Path("bad").write_text("0 1:x\n")
    Path("empty").write_text("")
    for name, code in (("none", 66), ("bad", 65), ("empty", 65)):
        command("stream", name, "--predictions", "out", "--n-features", 2, code=code)
        assert Path("out").read_text() == "old\n"
    command("stream", "two", "--predictions", "out", "--n-features", 2)
    assert len(Path("out").read_text().splitlines()) == 60


@POSIX
def test_predictions_of_devices(command, files):  # noqa: F811
    command("stream", "two", "--predictions", "/dev/full", "--n-features", 2, code=73)
    assert "cannot write /dev/full: No space left" in command.err
    read, write = os.pipe()
    with Predictions(f"/dev/fd/{write}", 7, ["1"], None) as file:
        file.write(["0"])
    os.close(write)
    with open(read, "rb") as pipe:
        assert pipe.read() == b"0\n"


@pytest.mark.parametrize(
    ("place", "words", "name"),
    [
        ("hingeline.files.checkpoint.Journal.append", "stream two --n-features 2 --batch 20 --checkpoint run", "run"),
        ("hingeline.files.checkpoint.Checkpoint.close", "stream two --n-features 2 --checkpoint run", "run"),
        (
            "hingeline.model_selection.cells.CellJournal._append",
            "tune two --grid C=1,2 -v 2 --checkpoint cells",
            "cells",
        ),
    ],
)
def test_a_full_disk(command, files, monkeypatch, place, words, name):  # noqa: F811
    with monkeypatch.context() as patch:
        patch.setattr(place, no_space)
        command(*words.split(), code=73)
    assert f"{name}: No space left on device" in command.err


def test_folders_without_a_checkpoint(command, files, monkeypatch):  # noqa: F811
    Path("folder").mkdir()
    for words in ("report folder", "predict two folder", "convert folder out --to hingeline"):
        command(*words.split(), code=65)
        assert "folder: the folder holds no checkpoint" in command.err
    assert not list(Path("folder").iterdir())
    command("stream", "two", "--n-features", 2, "--checkpoint", "run")
    with monkeypatch.context() as patch:
        patch.setattr("hingeline.files.Checkpoint.__init__", no_space)
        command("report", "run", code=66)
    assert "cannot read run: No space left" in command.err


def test_ids_that_are_given_twice(command, files):  # noqa: F811
    command("stream", "two", "--estimator", "IncrementalSVC", "--n-features", 2, "--checkpoint", "run")
    found = command.json("stream", "--checkpoint", "run", "--forget", "3,3")
    assert found["forgotten"] == ["3"]
