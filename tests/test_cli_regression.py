"""Regression on the command line: ``train -s 3`` and ``-s 4``, ``predict``, ``report``, ``tune``, ``compare``."""

from pathlib import Path

import numpy as np
import pytest
import sklearn.svm
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score

import hingeline
from hingeline.cli.regression import TargetErrors

from .commands import command, svmlight, table  # noqa: F401

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
y = 20.0 + 3.0 * np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=90)
#: Number of svm-train, class, and options with the parameters they stand for.
TYPES = [
    ("3", "SVR", "", {}),
    ("3", "SVR", "-c 4 -p 0.5 -g 0.2 -e 1e-5", {"C": 4, "epsilon": 0.5, "gamma": 0.2, "tol": 1e-5}),
    ("3", "SVR", "-t 0 --epsilon 0 --C 2", {"kernel": "linear", "epsilon": 0, "C": 2}),
    ("4", "NuSVR", "", {}),
    ("4", "NuSVR", "-c 4 -n 0.3 -g auto -h 0", {"C": 4, "nu": 0.3, "gamma": "auto", "shrinking": False}),
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data").write_text(svmlight(X, y))
    Path("one.csv").write_text(table(X, y))
    Path("two.csv").write_text(table(X[:, :2], 2.0 * y))
    return tmp_path


def squared_correlation(a, b):
    return np.corrcoef(a, b)[0, 1] ** 2


# ---- train and predict --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "name", "options", "parameters"), TYPES)
def test_letters_give_the_model_of_scikit_learn(command, files, number, name, options, parameters):  # noqa: F811
    found = command.json("train", "-s", number, *options.split(), "data", "model")
    assert found["estimator"] == name and "classes" not in found
    model = hingeline.load("model")
    same = getattr(hingeline, name)(**parameters).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    theirs = getattr(sklearn.svm, name)(**parameters).fit(X, y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=0.02)


@pytest.mark.parametrize(("number", "name", "options", "parameters"), TYPES)
def test_lines_of_svm_predict(command, files, number, name, options, parameters):  # noqa: F811
    """LIBSVM reads the model, makes the same predictions, and prints the same lines."""
    svmutil = pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")
    command("train", "-q", "-s", number, *options.split(), "--format", "libsvm", "data", "model")
    ours = command("predict", "data", "model", "out")
    values, _, _ = svmutil.svm_predict(y.tolist(), X.tolist(), svmutil.svm_load_model("model"))
    assert command.capfd.readouterr().out == ours
    np.testing.assert_allclose(np.loadtxt("out"), values, rtol=1e-12)


def test_predictions(command, files):  # noqa: F811
    command("train", "-q", "-s", 3, "data", "model")
    predicted = hingeline.load("model").predict(X)
    assert list(map(float, command("predict", "data", "model").split())) == predicted.tolist()
    assert command.err.startswith("Mean squared error = ")
    found = command.json("predict", "one.csv", "model")
    assert found["rows"] == found["labelled"] == 90 and not {"correct", "accuracy"} & found.keys()
    np.testing.assert_allclose(found["mean_squared_error"], mean_squared_error(y, predicted), rtol=1e-12)
    np.testing.assert_allclose(found["squared_correlation"], squared_correlation(y, predicted), rtol=1e-9)
    Path("bare.csv").write_text("\n".join(",".join(map(repr, row)) for row in X.tolist()))
    assert command("predict", "bare.csv", "model", "out") == ""
    assert command.json("predict", "bare.csv", "model")["mean_squared_error"] is None
    Path("same.csv").write_text("1,2,3,5\n4,5,6,5\n")
    assert command.json("predict", "same.csv", "model")["squared_correlation"] is None


def test_cross_validation(command, files):  # noqa: F811
    folds = KFold(4, shuffle=True, random_state=3)
    predicted = cross_val_predict(hingeline.SVR(C=5), X, y, cv=folds)
    out = command("train", "-s", 3, "-c", 5, "-v", 4, "--seed", 3, "one.csv")
    assert out.splitlines() == [
        f"Cross Validation Mean squared error = {mean_squared_error(y, predicted):g}",
        f"Cross Validation Squared correlation coefficient = {squared_correlation(y, predicted):g}",
    ]
    assert not Path("one.csv.model").exists()
    found = command.json("train", "-s", 3, "-c", 5, "-v", 4, "--seed", 3, "one.csv")
    np.testing.assert_allclose(found["mean_squared_error"], mean_squared_error(y, predicted), rtol=1e-12)
    guide = (Path(__file__).parents[1] / "docs/guide/cli.md").read_text()
    assert not [key for key in found if f"`{key}`" not in guide]


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_errors_may_come_in_parts(offset):
    predicted, targets = y + offset, y + offset + rng.normal(size=90)
    errors = TargetErrors()
    for begin, end in [(0, 1), (1, 2), (2, 50), (50, 90)]:
        errors.add(predicted[begin:end], targets[begin:end])
    found = errors.result()
    assert errors.n == 90
    np.testing.assert_allclose(found["mean_squared_error"], mean_squared_error(targets, predicted), rtol=1e-7)
    np.testing.assert_allclose(
        found["squared_correlation"], squared_correlation(targets - offset, predicted - offset), rtol=1e-6
    )


def test_report(command, files):  # noqa: F811
    command("train", "-q", "-s", 4, "data", "model")
    lines = command("predict", "data", "model", "out")
    assert command("report", "model", "data").endswith(lines)
    found = command.json("report", "model", "data")
    assert "confusion" not in found and found["mean_squared_error"] > 0


def test_mistakes(command, files):  # noqa: F811
    Path("words.csv").write_text("1,2,3,x\n1,2,4,5\n")
    command("train", "-q", "-s", 3, "data", "model")
    for words, code, message in [
        ("train -s 3 words.csv", 65, "words.csv: a target must be a finite number. Got 'x'"),
        ("train -s 3 words.csv --target none", 65, "the file has no labels"),
        ("predict words.csv model", 65, "words.csv: a target must be a finite number. Got 'x'"),
        ("predict data model -b 1", 2, "-b 1: model has no probabilities. SVR does not fit them."),
        ("predict data model --scores", 2, "--scores: SVR has no decision values."),
        ("train -s 3 -n 0.5 data", 2, "SVR has no parameter 'nu'"),
        ("train -s 4 -p 0.5 data", 2, "NuSVR has no parameter 'epsilon'"),
        ("train -s 3 -p -1 data", 2, "The 'epsilon' parameter of SVR must be"),
        ("train -s 4 -n 2 data", 2, "The 'nu' parameter of NuSVR must be"),
        ("train -s 3 -b 1 data", 2, "SVR has no parameter 'probability'"),
        ("train -s 3 -w1 2 data", 2, "SVR has no class weights"),
        ("train -s 3 -v 91 data", 2, "-v must be 2 to 90, the number of rows. Got 91."),
        ("stream -s 3 data", 2, "-s must be 0 (LASVC) or 2 (IncrementalOneClassSVM). Got 3."),
        ("tune -s 2 data --grid nu=0.1,0.2", 2, "a one-class model needs labels that are all +1 or -1, and --scoring"),
        ("compare one.csv two.csv --method SVR --method SVC", 2, "give classifiers only, or regressors only"),
        ("compare one.csv two.csv --method OneClassSVM --method OneClassSVM(nu=0.1)", 2, "give classifiers only"),
    ]:
        command(*words.split(), code=code)
        assert message in command.err, (words, command.err)


# ---- searches and comparisons ---------------------------------------------------------------------------------


def test_tune(command, files):  # noqa: F811
    words = ("tune", "one.csv", "best", "-s", 3, "--grid", "C=1,10", "--grid", "epsilon=0.1,1", "-v", 3)
    folds, values = KFold(3, shuffle=True, random_state=0), {"C": [1, 10], "epsilon": [0.1, 1]}
    for options, scoring in [((), None), (("--scoring", "neg_mean_squared_error"), "neg_mean_squared_error")]:
        found = command.json(*words, *options)
        same = GridSearchCV(hingeline.SVR(), values, cv=folds, scoring=scoring).fit(X, y)
        np.testing.assert_allclose(found["best_score"], same.best_score_, rtol=1e-12)
        assert found["best_parameters"] == same.best_params_
    assert hingeline.load("best").C == same.best_params_["C"]


def test_tune_of_one_class_models(command, files):  # noqa: F811
    signs = np.where(np.abs(X).max(axis=1) < 1.5, 1, -1)
    Path("signs.csv").write_text(table(X, signs))
    words = ("-s", 2, "--grid", "nu=0.1,0.3,0.6", "-v", 3, "--scoring", "balanced_accuracy")
    found = command.json("tune", "signs.csv", *words)
    folds = KFold(3, shuffle=True, random_state=0)
    grid = GridSearchCV(hingeline.OneClassSVM(), {"nu": [0.1, 0.3, 0.6]}, cv=folds, scoring="balanced_accuracy")
    assert found["best_score"] == grid.fit(X, signs).best_score_


def test_compare(command, files):  # noqa: F811
    found = command.json("compare", "one.csv", "two.csv", "--method", "SVR(C=3)", "--method", "LinearSVR", "-v", 3)
    folds = KFold(3, shuffle=True, random_state=0)
    assert found["scores"][0][0] == cross_val_score(hingeline.SVR(C=3), X, y, cv=folds).mean()


@pytest.mark.parametrize("number", range(5))
def test_the_types_of_libsvm(command, files, number):  # noqa: F811
    """Each number of svm-train gives the type of that number in LIBSVM's text, which converts back."""
    Path("signs").write_text(svmlight(X, np.where(y > 20, 1, -1)))
    command("train", "-q", "-s", number, "--format", "libsvm", "signs", "text")
    types = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
    assert Path("text").read_text().startswith(f"svm_type {types[number]}\n")
    command("convert", "text", "again", "--to", "hingeline")
    assert command("predict", "signs", "again") == command("predict", "signs", "text")
