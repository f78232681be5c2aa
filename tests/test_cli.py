"""``hingeline train`` and ``predict``, and what all commands share: exit codes, JSON, errors."""

import io
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import weakref
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

import hingeline
from hingeline._registry import estimators
from hingeline.cli import console
from hingeline.cli import main as entry
from hingeline.cli.main import COMMANDS

from .commands import command, svmlight, table  # noqa: F401
from .data import blobs, noisy
from .watching import needs_callbacks

X, y = noisy(80)
X3, y3 = blobs()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two").write_text(svmlight(X, 2 * y - 1))
    Path("three").write_text(svmlight(X3, y3))
    Path("two.csv").write_text(table(X, np.array(["no", "yes"])[y], ["a", "b", "answer"]))
    return tmp_path


# ---- train ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ("", {}),
        ("-t 0 -c 2", {"kernel": "linear", "C": 2}),
        ("-t 1 -d 2 -g 0.5 -r 0.5", {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 0.5}),
        ("-t 2 -g auto -e 1e-5 -m 10 -h 0", {"gamma": "auto", "tol": 1e-5, "cache_size": 10, "shrinking": False}),
        ("-s 0 -t 3 -g 0.1 -r -1", {"kernel": "sigmoid", "gamma": 0.1, "coef0": -1}),
        ("-w-1 2 -w1 0.5", {"class_weight": {-1: 2, 1: 0.5}}),
        ("--class-weight balanced", {"class_weight": "balanced"}),
        ("--kernel poly --degree 2 --gamma 0.3 --C 3", {"kernel": "poly", "degree": 2, "gamma": 0.3, "C": 3}),
        ("--coef0 1 --tol 0.1 --cache-size 1 --shrinking 1 --jobs 2", {"coef0": 1, "tol": 0.1, "n_jobs": 2}),
        ("--param C=3 --param gamma=auto", {"C": 3, "gamma": "auto"}),
    ],
)
def test_letters_give_the_model_of_scikit_learn(command, files, options, parameters):  # noqa: F811
    command("train", *options.split(), "two", "model")
    model = hingeline.load("model")
    same = hingeline.SVC(**parameters).fit(X, 2 * y - 1)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    if parameters.get("kernel") == "sigmoid" or "n_jobs" in parameters:
        return  # not convex, or not known there
    theirs = sklearn.svm.SVC(**parameters).fit(X, 2 * y - 1)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=0.02)


def test_the_model_is_named_after_the_data(command, files):  # noqa: F811
    Path("data").mkdir()
    Path("data/small").write_text(svmlight(X, y))
    out = command("train", "data/small")
    assert "80 rows, 2 features, 2 classes" in out and f"small.model: {os.path.getsize('small.model'):,} bytes" in out
    assert isinstance(hingeline.load("small.model"), hingeline.SVC)
    assert command("train", "-q", "two") == ""


def test_probabilities(command, files):  # noqa: F811
    command("train", "-b", 1, "two", "model")
    assert command.err == ""
    assert command("predict", "-b", 1, "two", "model", "out") == "Accuracy = 78.75% (63/80) (classification)\n"
    head, *lines = Path("out").read_text().splitlines()
    assert head == "labels -1 1"
    model = hingeline.load("model")
    expected = model.predict_proba(X)
    np.testing.assert_array_equal([list(map(float, line.split()[1:])) for line in lines], expected)
    command("train", "two", "other")
    command("predict", "-b", 1, "two", "other", code=2)
    assert "Train it with -b 1" in command.err


def test_cross_validation(command, files):  # noqa: F811
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    right = (cross_val_predict(hingeline.SVC(), X3, y3, cv=folds) == y3).sum()
    out = command("train", "-v", 4, "--seed", 3, "three")
    assert out == f"Cross Validation Accuracy = {100 * right / 90:.6g}% ({right}/90)\n"
    assert not Path("three.model").exists()
    found = command.json("train", "-v", 4, "--seed", 3, "three")
    assert (found["folds"], found["correct"], found["accuracy"]) == (4, right, right / 90)
    command("train", "-v", 1, "three", code=2)


@pytest.mark.parametrize("name", estimators("command_line"))
def test_every_estimator_trains_and_predicts(command, files, name):  # noqa: F811
    found = command.json("train", "--estimator", name, "two", "model")
    assert found["estimator"] == name and found["rows"] == 80
    model = hingeline.load("model")
    command("predict", "two", "model", "out", "-q")
    labels = list(map(float, Path("out").read_text().split()))
    np.testing.assert_array_equal(labels, model.predict(X))


def test_one_class(command, files):  # noqa: F811
    command("train", "-s", 2, "-n", 0.2, "-g", 1, "two", "model")
    model = hingeline.load("model")
    assert isinstance(model, hingeline.OneClassSVM) and model.nu == 0.2
    found = command.json("predict", "two", "model")
    assert found["correct"] == (model.predict(X) == 2 * y - 1).sum()
    folds = KFold(3, shuffle=True, random_state=0)
    right = (cross_val_predict(hingeline.OneClassSVM(), X, y, cv=folds) == 2 * y - 1).sum()
    assert (
        command("train", "-s", 2, "-v", 3, "two")
        == f"Cross Validation Accuracy = {100 * right / 80:.6g}% ({right}/80)\n"
    )
    command("train", "-s", 2, "-v", 3, "three", code=2)
    assert "labels that are all +1 or -1" in command.err
    command("train", "-s", 5, "two", code=2)
    assert "-s must be 0 (SVC) or 1 (NuSVC) or 2 (OneClassSVM) or 3 (SVR) or 4 (NuSVR). Got 5." in command.err


def test_libsvm_models_are_written_and_read(command, files):  # noqa: F811
    command("train", "--format", "libsvm", "three", "model")
    assert Path("model").read_text().startswith("svm_type c_svc")
    assert command.json("predict", "three", "model")["correct"] == (hingeline.SVC().fit(X3, y3).predict(X3) == y3).sum()
    command("train", "--format", "libsvm", "two.csv", "model", code=2)
    assert "integers" in command.err


def test_precomputed_kernels_have_libsvm_s_layout(command, files):  # noqa: F811
    K = X @ X.T
    numbered = np.column_stack([np.arange(1, 81), K])
    Path("kernel").write_text(re.sub(r" (\d+):", lambda one: f" {int(one[1]) - 1}:", svmlight(numbered, y)))
    command("train", "-t", 4, "kernel", "model")
    expected = hingeline.SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_array_equal(hingeline.load("model").dual_coef_, expected.dual_coef_)
    assert command.json("predict", "kernel", "model")["correct"] == (expected.predict(K) == y).sum()


def test_interrupted_training_keeps_the_model(command, files, monkeypatch):  # noqa: F811
    fit = hingeline.SVC.fit

    def interrupted(self, *data):
        fit(self, *data)
        raise KeyboardInterrupt

    monkeypatch.setattr(hingeline.SVC, "fit", interrupted)
    command("train", "two", "model", code=130)
    assert "usable" in command.err
    assert hingeline.load("model").n_features_in_ == 2

    def at_once(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(hingeline.SVC, "fit", at_once)
    command("train", "two", "other", code=130)
    assert not Path("other").exists()


# ---- predict ----------------------------------------------------------------------------------------------


def test_predictions_scores_and_output(command, files):  # noqa: F811
    command("train", "three", "model", "-q")
    model = hingeline.load("model")
    labels = list(map(str, model.predict(X3)))
    assert command("predict", "three", "model").split() == labels
    assert command.err.startswith("Accuracy = ")
    assert command("predict", "-", "model", "-", "-q", stdin=Path("three").read_bytes()).split() == labels
    assert command("predict", "three", "model", "out", "-j", 2).startswith("Accuracy = ")
    assert Path("out").read_text().split() == labels
    lines = command("predict", "three", "model", "--scores").splitlines()
    np.testing.assert_array_equal([list(map(float, line.split()[1:])) for line in lines], model.decision_function(X3))
    found = command.json("predict", "three", "model", "out2")
    assert found["rows"] == found["labelled"] == 90 and found["accuracy"] == found["correct"] / 90
    assert Path("out2").read_text().split() == labels
    command("predict", "three", "model", "-", "--json", code=2)


def test_sparse_models_predict_sparse_rows(command, files):  # noqa: F811
    rows = sp.random(60, 40, 0.1, random_state=0, format="csr")
    labels = np.arange(60) % 2
    Path("sparse").write_text(svmlight(rows.toarray(), labels))
    command("train", "sparse", "model", "--n-features", 50)
    model = hingeline.load("model")
    assert sp.issparse(model.support_vectors_) and model.n_features_in_ == 50
    assert command.json("predict", "sparse", "model")["rows"] == 60


def test_features_that_the_model_does_not_know(command, files):  # noqa: F811
    command("train", "two", "model", "-q")
    Path("more").write_text("1 1:1 2:1 3:1\n-1 1:-1\n")
    command("predict", "more", "model", code=65)
    assert "more, line 1, column 11: the index must not exceed the number of features, 2. Got 3" in command.err
    command("convert", "model", "text", "--to", "libsvm")
    command("predict", "more", "text", "--n-features", 3)
    found = command("predict", "more", "model", "--extra-features", "ignore")
    assert found.split() == list(map(str, hingeline.load("model").predict([[1, 1], [-1, 0]])))


def test_tables_with_and_without_labels(command, files):  # noqa: F811
    command("train", "two.csv", "model", "-q", "--target", "answer")
    labels = command("predict", "two.csv", "model").split()
    assert set(labels) == {"no", "yes"}
    assert command.json("predict", "two.csv", "model")["labelled"] == 80
    Path("bare.csv").write_text("\n".join(",".join(map(repr, row)) for row in X.tolist()))
    assert command("predict", "bare.csv", "model").split() == labels
    assert command.json("predict", "bare.csv", "model")["accuracy"] is None
    Path("wide.csv").write_text("1,2,3,4\n")
    command("predict", "wide.csv", "model", code=65)
    assert "expected 2 features. Got 3" in command.err


def test_numeric_labels_are_compared_as_numbers(command, files):  # noqa: F811
    Path("a").write_text("1.0,0,+1\n2,0,2\n1,0,1\n2,0,2\n")
    command("train", "a", "model", "-q")
    Path("b").write_text("1,0,1.0\n2,0,02\n1,0,x\n")
    assert command.json("predict", "b", "model")["correct"] == 2


# ---- errors, exit codes, JSON -------------------------------------------------------------------------------


def test_exit_codes(command, files, monkeypatch):  # noqa: F811
    Path("bad").write_text("1 1:1\n-1 1:x\n")
    Path("same").write_text("1 1:1\n1 1:2\n")
    Path("noise").write_bytes(b"\0\1\2")
    Path("empty").write_text("")
    for words, code, message in [
        ("train bad", 65, "bad, line 2, column 6: the value must be a finite number. Got 'x'"),
        ("train same", 65, "two or more different labels are needed. All are 1"),
        ("train noise", 65, "noise: unknown format"),
        ("train empty", 65, "empty: the file has no rows"),
        ("train none", 66, "cannot read none: No such file"),
        ("train .", 66, "cannot read .: Is a directory"),
        ("train two /no/model", 73, "the folder /no does not exist"),
        ("train two /dev/null", 73, "not a regular file"),
        ("train - ", 2, "give the name of the model file"),
        ("train two -c -1", 2, "The 'C' parameter of SVC must be"),
        ("train two --param D=1", 2, "SVC has no parameter 'D'"),
        ("train two --param D", 2, "expected NAME=VALUE"),
        ("train two -t 9", 2, "expected 0 to 4"),
        ("train two -g x", 2, "expected a number"),
        ("train two -b 2", 2, "expected 0 or 1"),
        ("train two -v 0", 2, "expected an integer >= 1"),
        ("train two -v 200", 2, "-v must be 2 to "),
        ("train two --delimiter ab", 2, "expected one character"),
        ("train two --estimator svc", 2, "Did you mean SVC?"),
        ("train two --estimator zzz", 2, "Known are SVC"),
        ("train two -w7 1", 2, "there is no such label. Labels are -1, 1"),
        ("train two -w1 x", 2, "must be a number"),
        ("train two -w1 2 -s 2", 2, "no class weights"),
        ("train two -n 0.5", 2, "SVC has no parameter 'nu'"),
        ("train two.csv --target z", 2, "two.csv has no such column. Its columns are a, b, answer"),
        ("predict two two", 65, "two: the file is neither a model of hingeline nor one of LIBSVM"),
        ("predict two none", 66, "cannot read none"),
        ("nonsense", 2, "unknown command 'nonsense'. Commands are train, predict"),
    ]:
        command(*words.split(), code=code)
        assert message in command.err, (words, command.err)
        assert "Traceback" not in command.err
    command("train", "bad", "--debug", code=65)
    assert "Traceback" in command.err
    monkeypatch.setattr("hingeline.cli.data.all_rows", lambda *_: 1 / 0)
    command("train", "two", code=1)
    assert "hingeline train: ZeroDivisionError: division by zero" in command.err


def test_errors_in_json(command, files):  # noqa: F811
    Path("bad").write_text("1 1:1\n-1 0:1\n")
    found = command.json("train", "bad", code=65)
    place = {"file": "bad", "line": 2, "column": 4}
    assert found["command"] == "train" and place.items() <= found["error"].items()
    assert found["error"]["kind"] == "data" and found["error"]["code"] == 65
    assert command.json("train", "none", code=66)["error"]["kind"] == "input"


def test_damaged_models_are_data_errors(command, files):  # noqa: F811
    command("train", "two", "model", "-q")
    Path("model").write_bytes(Path("model").read_bytes()[:-9])
    command("predict", "two", "model", code=65)
    assert command.err.count("model") == 1
    Path("text").write_text("svm_type c_svc\nnr_class 2\nSV\n")
    command("predict", "two", "text", code=65)


def test_json_keys_are_documented(command, files):  # noqa: F811
    guide = (Path(__file__).parents[1] / "docs/guide/cli.md").read_text()
    found = command.json("train", "two", "model") | command.json("predict", "two", "model")
    assert not [key for key in found if f"`{key}`" not in guide]


def test_warnings_are_lines(command, files):  # noqa: F811
    command("train", "two", "model", "--param", "max_iter=1")
    assert command.err.startswith("hingeline: warning: ") and command.err.count("\n") == 1
    assert len(command.json("train", "two", "model", "--param", "max_iter=1")["warnings"]) == 1


def test_infinity_in_json(command, files):  # noqa: F811
    assert command.json("train", "two", "model", "-c", "inf", "--param", "max_iter=10")["parameters"]["C"] is None


def test_help_of_all_commands(command):  # noqa: F811
    out = command("--help")
    for name in COMMANDS:
        assert f"\n    {name} " in out
        assert "usage: hingeline " + name in command(name, "--help")
        assert command(name, "-h") == command.out
    assert command("--version") == f"hingeline {hingeline.__version__}\n"
    command(code=2)
    assert "usage" in command.err


@needs_callbacks
def test_a_bar_on_a_terminal(command, files, monkeypatch):  # noqa: F811
    seen = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    class Bar:
        def __init__(self, total, label):
            self.label = label

        def __enter__(self):
            return lambda done: seen.append((self.label, done))

        def __exit__(self, *error):
            pass

    monkeypatch.setattr(console.Console, "bar", lambda self, total, label: Bar(total, label))
    command("train", "two", "model")
    assert seen and {label for label, _ in seen} == {"training"}
    same = hingeline.SVC().fit(X, 2 * y - 1)
    np.testing.assert_array_equal(hingeline.load("model").dual_coef_, same.dual_coef_)
    seen.clear()
    command("predict", "two", "model")
    assert seen == [("predicting", os.path.getsize("two"))]


# ---- processes --------------------------------------------------------------------------------------------


def environment():
    """Environment of processes that find the package from any folder."""
    return {**os.environ, "PYTHONPATH": str(Path(hingeline.__file__).parents[1])}


def test_help_is_quick(tmp_path):
    """``--help`` and ``--version`` do without scikit-learn and NumPy."""
    code = (
        "import sys; from hingeline.cli.main import main\n"
        "main(['--version']); main(['--help']); main(['train', '--help']); main(['stream', 'x', '--nonsense'])\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'hingeline._core'} & set(sys.modules)\n"
        "import hingeline\n"
        "assert not heavy and 'numpy' not in sys.modules, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment())


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_closed_pipe_and_sigterm(files):
    """``| head`` ends the command without a message; SIGTERM leaves no temporary file."""
    X, y = noisy(30)
    model = hingeline.SVC().fit(X, y)
    hingeline.save(model, "model")
    program = [sys.executable, "-m", "hingeline", "predict", "-", "model"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()}
    with subprocess.Popen(program, **pipes) as closed, subprocess.Popen([*program, "out"], **pipes) as ended:
        closed.stdout.close()
        closed.stdin.write(svmlight(X, y).encode())
        closed.stdin.close()
        ended.stdin.write(svmlight(X, y).encode())
        ended.stdin.flush()
        end = time.monotonic() + 60
        while not any(path.stat().st_size for path in files.glob(".out.*.part")) and time.monotonic() < end:
            time.sleep(0.01)  # now it waits for further rows
        ended.send_signal(signal.SIGTERM)
        assert closed.wait() == 141 and closed.stderr.read() == b""
        assert ended.wait() == 143
        assert sorted(path.name for path in files.iterdir()) == ["model", "three", "two", "two.csv"]


@pytest.mark.skipif(os.name == "nt", reason="needs pipes of POSIX")
@pytest.mark.parametrize("buffering", [0, -1])
def test_words_that_cannot_be_printed(monkeypatch, capsys, buffering):
    raw = io.FileIO("/dev/full", "w")
    stream = io.TextIOWrapper(raw if buffering == 0 else io.BufferedWriter(raw), write_through=buffering == 0)
    with monkeypatch.context() as patch, stream:
        patch.setattr(sys, "stdout", stream)
        assert entry.main(["--version"]) == 73
    assert "cannot write standard output: No space left" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="needs pipes of POSIX")
@pytest.mark.parametrize("buffering", [0, -1])
@pytest.mark.parametrize("words", ["predict three model --scores", "convert three - --to csv"])
def test_no_byte_of_standard_output_is_lost(files, monkeypatch, buffering, words):
    """PYTHONUNBUFFERED takes the buffer of standard output away: it must not end in the middle, with exit code 0."""
    assert entry.main(["train", "three", "model", "-q"]) == 0

    class Slow(io.FileIO):
        """The system writes a part of the bytes only."""

        def write(self, data):
            return super().write(bytes(data)[:1000])

    def output(path):
        raw = Slow(path, "w")
        return io.TextIOWrapper(raw if buffering == 0 else io.BufferedWriter(raw), write_through=buffering == 0)

    for path, code in (("out", 0), ("/dev/full", 73)):
        with monkeypatch.context() as patch, output(path) as stream:
            patch.setattr(sys, "stdout", stream)
            assert entry.main(words.split()) == code
            assert sys.stdout is stream
    lines = Path("out").read_text().splitlines()
    assert len(lines) == (90 if "predict" in words else 91) and os.path.getsize("out") > 2000
    read, write = os.pipe()
    os.close(read)
    with monkeypatch.context() as patch, output(write) as stream:
        patch.setattr(sys, "stdout", stream)
        assert entry.main(words.split()) == 141


def test_arguments_after_options(command, files):  # noqa: F811
    command("train", "two", "-c", 10, "late")
    assert hingeline.load("late").C == 10
    command("train", "-q", "two", "-w-1", 2, "weighted", "-g", 1)
    assert hingeline.load("weighted").class_weight == {-1: 2}
    command("predict", "two", "-q", "late", "--scores", "out")
    assert Path("out").exists()
    command("train", "two", "a", "-q", "b", code=2)
    assert (
        "unrecognized arguments: b" in command.err and "usage: hingeline train DATA [MODEL] [OPTION ...]" in command.err
    )
    command("predict", "two", code=2)
    assert "the following arguments are required: MODEL" in command.err
    Path("two").rename("-two")
    command("train", "-q", "--", "-two", "dashes")
    assert Path("dashes").exists()


def test_usage_errors_in_json(command, files):  # noqa: F811
    for words in ("train", "train two --nonsense", "train two -c x", "train two -s 9"):
        found = command.json(*words.split(), code=2)
        assert found["command"] == "train" and found["error"]["code"] == 2 and found["error"]["kind"] == "usage"
        assert found["error"]["message"] in command.err


def test_sigterm_is_not_lost(command, files, monkeypatch):  # noqa: F811
    """An exception in a callback of a weak reference is ignored; it comes again."""
    monkeypatch.setattr(entry, "AGAIN", 0.01)

    class Something:
        pass

    def fit(*_):
        thing = Something()
        kept = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGTERM))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "unraisablehook", lambda *_: None)
            del thing
        assert kept() is None
        time.sleep(30)

    monkeypatch.setattr(hingeline.SVC, "fit", fit)
    command("train", "two", "model", code=143)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


# ---- the package ------------------------------------------------------------------------------------------


def test_the_script():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"hingeline": f"{entry.main.__module__}:{entry.main.__name__}"}
