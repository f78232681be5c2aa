"""Help texts, usage lines, and twelve mistakes that new users make, with the whole message of each."""

import pickle
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from hingeline import _registry
from hingeline.base import params
from hingeline.cli.main import COMMANDS, _command_parser
from hingeline.cli.options import _LETTERS, normalise

from .commands import command, svmlight, table  # noqa: F401
from .data import noisy

X, y = noisy(40)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_plain_and_has_examples(command, name):  # noqa: F811
    text = command(name, "--help")
    assert "``" not in text and ":class:" not in text
    usage, rest = text.split("\n", 1)
    assert re.fullmatch(rf"usage: hingeline {name} [A-Z \[\].]+ \[OPTION ...\]", usage) and len(usage) < 80
    examples = rest[rest.index("examples:\n") :].splitlines()[1:]
    assert examples
    parser = _command_parser(name)
    for line in examples:
        words = shlex.split(line.rpartition("|")[2])
        assert words[:2] == ["hingeline", name]
        parser.parse_intermixed_args(normalise(words[2:]))
    assert command(name, "-h") == text


def test_the_letters_of_streams_are_those_of_their_estimators():
    learners = [_registry.class_of(row.name) for row in _registry.ESTIMATORS.values() if row.streams]
    for _, name, _, _, of_streams in _LETTERS:
        assert of_streams == any(name in params.defaults(learner) for learner in learners), name


def test_an_error_comes_after_one_line_of_usage(command):  # noqa: F811
    command("train", code=2)
    assert command.err.splitlines() == [
        "usage: hingeline train DATA [MODEL] [OPTION ...]",
        "hingeline train --help lists the options.",
        "hingeline train: the following arguments are required: DATA",
    ]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(table(X, y, ["a", "b", "label"]))
    Path("words.csv").write_text("a,colour,label\n1,red,0\n2,blue,1\n3,red,0\n")
    Path("gaps.csv").write_text("a,b,label\n1,,0\n2,3,1\n3,4,0\n")
    Path("targets.csv").write_text(table(X, X[:, 0] + 0.25, ["a", "b", "price"]))
    Path("once.csv").write_text(table(X, np.arange(40), ["a", "b", "label"]))
    Path("data.svm").write_text(svmlight(X, y))
    Path("model").write_text("never read")
    return tmp_path


#: Twelve mistakes: command, exit code, message.
MISTAKES = [
    ("trian data.csv", 2, "unknown command 'trian'. Did you mean train?"),
    ("train data.csv --gama 2", 2, "unrecognized arguments: --gama 2. Did you mean --gamma?"),
    (
        "train data.csv --estimator LinearSVM",
        2,
        "unknown estimator 'LinearSVM'. Did you mean LinearSVC? Known are SVC, NuSVC, SVR, NuSVR, OneClassSVM, LASVC, "
        "KernelSGDClassifier, NystroemSVC, IncrementalSVC, IncrementalOneClassSVM, WorstViolatorSVC, L2SVC, LinearSVC, "
        "LinearSVR, LinearSVCCV, OrdinalSVC.",
    ),
    (
        "train data.csv --param c=10",
        2,
        "SVC has no parameter 'c'. Did you mean C? It has C, kernel, degree, gamma, coef0, shrinking, probability, "
        "tol, cache_size, class_weight, verbose, max_iter, decision_function_shape, break_ties, random_state, "
        "warm_start, n_jobs, device.",
    ),
    (
        "train words.csv",
        65,
        "words.csv, line 2, column 2: a feature must be a finite number. Got 'red' (colour). --categories colour takes "
        "texts as categories; --drop colour leaves the column out",
    ),
    (
        "train gaps.csv",
        65,
        "gaps.csv, line 2, column 2: a feature must be a finite number. Got '' (b). --missing median fills empty "
        "cells; --drop b leaves the column out",
    ),
    (
        "train targets.csv",
        65,
        "targets.csv: labels must be classes. Got numbers such as {first}: for a regression give -s 3 (SVR) or "
        "--estimator LinearSVR",
    ),
    (
        "train once.csv -v 5",
        2,
        "-v 5: cross-validation needs two rows at least, of classes two rows of a label. Labels that are all different "
        "are targets of a regression: -s 3 (SVR) or --estimator LinearSVR.",
    ),
    (
        "compare data.csv",
        65,
        "data.csv, line 2, column 1: the first column must have the names of the data sets. Got {cell}. To compare "
        "methods on data files give two files and --method CLASS twice",
    ),
    (
        "predict model data.csv",
        65,
        "data.csv: the file is neither a model of hingeline nor one of LIBSVM. The data come first, then the model",
    ),
    ("stream data.svm", 2, "LIBSVM's format does not say how many features there are: give --n-features."),
    (
        "train data.csv --scale standart",
        66,
        "--scale standart: cannot read the range file: No such file or directory. Give none, minmax, standard, or a "
        "file of svm-scale -s.",
    ),
]


@pytest.mark.parametrize(("words", "code", "message"), MISTAKES, ids=[words for words, _, _ in MISTAKES])
def test_messages_of_common_mistakes(command, files, words, code, message):  # noqa: F811
    command(*words.split(), code=code)
    first = X[0, 0] + 0.25
    message = message.format(first=first, cell=repr(repr(float(X[0, 0])))) if "{" in message else message
    assert command.err.splitlines()[-1].partition(": ")[2] == message


@pytest.mark.parametrize(
    ("given", "meant"),
    [("SVM", "SVC"), ("linear-svm", "LinearSVC"), ("svr", "SVR"), ("lasvm", "LASVC"), ("LinearSVc", "LinearSVC")],
)
def test_names_of_estimators_that_are_meant(command, files, given, meant):  # noqa: F811
    command("train", "data.csv", "--estimator", given, code=2)
    assert f"Did you mean {meant}?" in command.err


def test_parameters_of_other_estimators(command, files):  # noqa: F811
    command("train", "data.csv", "-n", 0.5, code=2)
    assert "SVC has no parameter 'nu'. nu belongs to NuSVC, NuSVR and the one-class SVMs. It has C" in command.err
    command("tune", "data.csv", "--grid", "GAMMA=1,2", code=2)
    assert "SVC has no parameter 'GAMMA'. Did you mean gamma?" in command.err


def test_empty_labels_and_targets(command, files):  # noqa: F811
    Path("empty.csv").write_text("a,label\n1,x\n2,y\n3,\n")
    command("train", "empty.csv", "model", code=65)
    assert "empty.csv: the label of row 3, without the line of names, is empty. Remove rows" in command.err
    Path("empty.csv").write_text("a,price\n1,3\n2,\n3,4\n")
    command("train", "empty.csv", "model", "-s", 3, code=65)
    assert "a target must be a finite number. Got '' in row 2, without the line of names" in command.err


def test_models_of_other_libraries(command, files):  # noqa: F811
    Path("model.pkl").write_bytes(pickle.dumps({"a": 1}))
    for words in ("convert model.pkl out.csv", "predict data.csv model.pkl", "report model.pkl", "train model.pkl"):
        command(*words.split(), code=65)
        assert "the file is a pickle: if you trust whoever made it" in command.err
    command("convert", "data.svm", "data.model", "--to", "onnx", code=2)
    assert "holds data, which cannot become onnx" in command.err


def test_labels_that_look_like_targets(command, files):  # noqa: F811
    Path("many.csv").write_text(table(np.tile(X, (2, 1)), np.tile(np.arange(40), 2)))
    command("train", "many.csv", "model")
    assert "the labels are 40 different numbers. For a regression give -s 3 (SVR)." in command.err
    command("train", "many.csv", "model", "-s", 3)
    assert command.err == ""
