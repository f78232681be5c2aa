"""``hingeline tune``, ``compare``, ``report`` and ``datasets``."""

import csv
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import hingeline
from hingeline.compare import rank_methods

from .commands import command, svmlight, table  # noqa: F401
from .data import blobs, noisy

X, y = blobs()
X2, y2 = noisy(60)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("three").write_text(svmlight(X, y))
    Path("two.csv").write_text(table(X2, y2))
    return tmp_path


# ---- tune -------------------------------------------------------------------------------------------------


def test_tune(command, files):  # noqa: F811
    grid = ("--grid", "C=0.1,1,10", "--log2", "gamma=-4,0,2")
    out = command(
        "tune", "three", "model", *grid, "-v", 3, "--seed", 1, "--table", "table.csv", "--checkpoint", "cells"
    )
    dense = hingeline.SVC().fit(X, y)
    del dense
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    values = {"C": [0.1, 1, 10], "gamma": [1 / 16, 0.25, 1.0]}
    same = GridSearchCV(hingeline.SVC(), values, cv=folds).fit(sp.csr_array(X), y)
    assert out.splitlines()[-1].startswith(f"best of 9: {same.best_score_:.6f}  C={same.best_params_['C']:g} ")
    assert hingeline.load("model").C == same.best_params_["C"]
    rows = list(csv.DictReader(Path("table.csv").read_text().splitlines()))
    np.testing.assert_allclose([float(row["mean_test_score"]) for row in rows], same.cv_results_["mean_test_score"])
    assert [float(row["gamma"]) for row in rows] == [one["gamma"] for one in same.cv_results_["params"]]
    found = command.json("tune", "three", *grid, "-v", 3, "--seed", 1, "--checkpoint", "cells", "--search", "pattern")
    assert found["best_score"] <= same.best_score_ and len(found["candidates"]) <= 9
    guide = (Path(__file__).parents[1] / "docs/guide/cli.md").read_text()
    assert not [key for key in found if f"`{key}`" not in guide]


def test_tune_without_a_grid(command, files):  # noqa: F811
    found = command.json("tune", "two.csv", "--search", "halving", "-w1", 2, "--scoring", "balanced_accuracy", "-j", 1)
    assert set(found["best_parameters"]) == {"C", "gamma"}
    assert set(command.json("tune", "two.csv", "--estimator", "LASVC")["best_parameters"]) == {"C", "gamma"}
    assert set(command.json("tune", "two.csv", "--estimator", "LinearSVC")["best_parameters"]) == {"C"}


def test_mistakes_of_tune(command, files):  # noqa: F811
    for words, message in [
        ("--grid D=1", "SVC has no parameter 'D'"),
        ("--grid C=-1", "The 'C' parameter of SVC must be"),
        ("--log2 C=1,2", "expected FIRST,LAST,STEP"),
        ("--log2 C=1,2,0", "expected FIRST,LAST,STEP"),
        ("--log2 C=0,300,0.0001", "expected FIRST,LAST,STEP"),
        ("--log2 C=0,100,0.1 --log2 gamma=0,100,0.1", "more than 100,000 candidates"),
        ("-v 1", "-v must be 2 to 32, the rows of the most frequent label. Got 1."),
        ("-v 33", "-v must be 2 to 32"),
        ("--scoring nope", "scikit-learn has no score 'nope'"),
        ("--scoring acuracy", "Did you mean accuracy"),
        ("--grid C", "expected NAME=VALUE"),
    ]:
        command("tune", "two.csv", *words.split(), code=2)
        assert message in command.err, (words, command.err)
    Path("cells").write_text("something else\n")
    command("tune", "two.csv", "--checkpoint", "cells", "--grid", "C=1", code=2)
    assert "is not a journal of a search" in command.err


# ---- compare ----------------------------------------------------------------------------------------------


def test_compare_a_table(command, files):  # noqa: F811
    Path("scores.csv").write_text("set,A,B,C\niris,1,2,3\nwine,2,3,4\nglass,5,3,9\n")
    scores = {"A": [1, 2, 5], "B": [2, 3, 3], "C": [3, 4, 9]}
    assert command("compare", "scores.csv") == f"{rank_methods(scores)!r}\n"
    options = ("--lower-is-better", "--control", "B", "--alpha", 0.1, "--tie-correction")
    same = rank_methods(scores, higher_is_better=False, control="B", alpha=0.1, tie_correction=True)
    assert command("compare", "scores.csv", *options) == f"{same!r}\n"
    found = command.json(
        "compare", "-", *options, "--table", "out.csv", stdin=b"set;A;B;C\ns1;1;2;3\ns2;2;3;4\ns3;5;3;9\n"
    )
    assert found["methods"] == ["A", "B", "C"] and found["datasets"] == ["s1", "s2", "s3"]
    assert found["friedman"]["p_value"] == same.friedman.p_value
    assert Path("out.csv").read_text().splitlines()[1] == "s1,1.0,2.0,3.0"
    guide = (Path(__file__).parents[1] / "docs/guide/cli.md").read_text()
    assert not [key for key in found if f"`{key}`" not in guide]


def test_compare_methods_on_files(command, files):  # noqa: F811
    methods = ("--method", "SVC(C=2, gamma=0.1)", "--method", "LinearSVC")
    found = command.json("compare", "three", "two.csv", *methods, "-v", 3)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    assert found["datasets"] == ["three", "two.csv"] and found["methods"] == ["SVC(C=2, gamma=0.1)", "LinearSVC"]
    expected = cross_val_score(hingeline.SVC(C=2, gamma=0.1), X2, y2, cv=folds).mean()
    assert found["scores"][1][0] == expected


def test_the_figure(command, files):  # noqa: F811
    pytest.importorskip("matplotlib")
    Path("scores.csv").write_text("set,A,B\nx,1,2\ny,2,3\n")
    command("compare", "scores.csv", "--figure", "figure.png")
    assert Path("figure.png").read_bytes().startswith(b"\x89PNG")
    command("compare", "scores.csv", "--figure", "figure.xyz", code=2)


def test_mistakes_of_compare(command, files):  # noqa: F811
    for text, code, message in [
        ("s,A,B\ny,1,x\n", 65, "scores.csv, line 2, column 3: a score must be a number. Got 'x'"),
        ("s,A,B\ny,1,2\n\nz,3\n", 65, "scores.csv, line 4: expected 3 cells"),
        ("A,B\n", 65, "a table needs"),
        ("s,A\ny,1\nz,2\n", 65, "a table needs a column of names and two methods at least. Got 2 columns"),
        (
            "x1,x2,x3,label\n1,2,3,0\n4,5,6,1\n",
            65,
            "line 2, column 1: the first column must have the names of the data",
        ),
        (
            "kind,x1,x2\nrose,1,2\nrose,2,3\n",
            65,
            "line 3, column 1: the data set 'rose' has two lines. To compare methods",
        ),
        ("s,A,B\nx,1,\ny,1,2\n", 65, "a score in every cell; missing: B on x"),
        ("s,A,B\nx,1,2\n", 65, "at least two data sets"),
    ]:
        Path("scores.csv").write_text(text)
        command("compare", "scores.csv", code=code)
        assert message in command.err, (text, command.err)
    Path("scores.csv").write_text("set,A,B\nx,1,2\ny,2,3\n")
    for words, message in [
        ("scores.csv --control Z", "control must be one of"),
        ("scores.csv --alpha 2", "alpha must be between"),
        ("scores.csv --scale standard", "--scale, --missing and --categories are for data files: give --method, too."),
        ("scores.csv two.csv", "To cross-validate on data files give --method"),
        ("two.csv three --method SVC(", "is not of the form"),
        ("two.csv three --method SVC(3)", "is not of the form"),
        ("two.csv three --method SVC(D=3)", "SVC has no parameter 'D'"),
        ("two.csv three --method SVC(c=3)", "SVC has no parameter 'c'. Did you mean C?"),
        ("two.csv three --method SVC(C=-3)", "The 'C' parameter"),
        ("two.csv three --method SVC(C=open('x'))", "is not of the form"),
        ("two.csv three --method nonsense", "unknown estimator"),
    ]:
        command("compare", *words.split(), code=2)
        assert message in command.err, (words, command.err)


# ---- report -----------------------------------------------------------------------------------------------


def test_report(command, files):  # noqa: F811
    command("train", "three", "model", "-q")
    model = hingeline.load("model")
    out = command("report", "model", "three")
    assert f"model: SVC, format hingeline, {Path('model').stat().st_size:,} bytes" in out
    assert "checksums are right" in out and f"support vectors: {model.dual_coef_.shape[1]}" in out
    found = command.json("report", "model", "three")
    matrix = np.array(found["confusion"])
    predicted = model.predict(X)
    assert matrix.tolist() == [[int(((y == a) & (predicted == b)).sum()) for b in range(3)] for a in range(3)]
    assert found["accuracy"] == np.trace(matrix) / 90 and found["arrays"]["dual_coef_"][0] == "float64"
    guide = (Path(__file__).parents[1] / "docs/guide/cli.md").read_text()
    assert not [key for key in found if f"`{key}`" not in guide]
    hingeline.save_libsvm(model, "text")
    assert command.json("report", "text")["format"] == "libsvm"
    with hingeline.Checkpoint("run", hingeline.LASVC(gamma=1.0)) as run:
        run.learn(X, y, classes=[0, 1, 2])
    found = command.json("report", "run")
    assert (found["format"], found["examples"]) == ("checkpoint", 90)


def test_report_without_labels_and_with_others(command, files):  # noqa: F811
    command("train", "two.csv", "model", "-q")
    Path("bare.csv").write_text("1,2\n3,4\n")
    assert "2 rows without labels" in command("report", "model", "bare.csv")
    Path("other.csv").write_text("1,2,x\n3,4,0\n")
    found = command.json("report", "model", "other.csv")
    assert found["labels"] == ["0", "1", "x"]
    command("report", "two.csv", code=65)
    hingeline.save(hingeline.SVC(), "new")
    assert "SVC" in command("report", "new")
    command("report", "new", "two.csv", code=2)
    assert "cannot predict" in command.err


# ---- datasets ---------------------------------------------------------------------------------------------


def test_datasets(command, files, monkeypatch):  # noqa: F811
    monkeypatch.setenv("HINGELINE_DATA", str(files))
    np.savez("toy.npz", X=X, y=y, n_train=60, class_names=["u", "v", "w"])
    found = command.json("datasets")
    assert found["datasets"]["toy"] == "file" and found["datasets"]["iris"] == "scikit-learn"
    assert "not here: set HINGELINE_DATA" in command("datasets")
    out = command("datasets", "toy")
    assert "toy: 90 rows, 6 features" in out and "60 to train, 30 to test" in out and "3 labels: u: " in out
    found = command.json("datasets", "toy", "toy.csv", "--part", "test")
    assert found["written_rows"] == 30 and found["train_rows"] == 60
    lines = Path("toy.csv").read_text().splitlines()
    assert len(lines) == 31 and lines[1].rpartition(",")[2] == "uvw"[y[60]]
    command("datasets", "toy", "toy.svm", "--part", "train")
    assert command.json("report", *trained(command, "toy.svm"), "toy.svm")["rows"] == 60
    for words, code in [
        ("nonsense", 2), ("UPPER", 2), ("iris x.csv --part train", 2), ("toy x.xyz", 2), ("adult --no-download", 66),
        ("toy - --to csv --json", 2),
    ]:  # fmt: skip
        command("datasets", *words.split(), code=code)
    Path("bad.npz").write_bytes(b"PK")
    command("datasets", "bad", code=65)
    assert command("datasets", "iris", "-", "--to", "libsvm").count("\n") == 150


def trained(command, data):  # noqa: F811
    command("train", data, "model", "-q")
    return ("model",)


# ---- files of one command -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "train three three",
        "train three ./linked",
        "predict three model three",
        "predict three model model",
        "convert two.csv two.csv",
        "convert model ../{folder}/model --to libsvm",
        "tune three three",
        "tune three --table three",
        "tune three new --table ./new",
        "tune three --checkpoint three",
        "stream three three --n-features 2",
        "stream three --predictions three --n-features 2",
        "stream three new --predictions new --n-features 2",
        "compare two.csv --table two.csv",
        "compare two.csv --figure two.csv",
    ],
)
def test_no_output_replaces_an_input(command, files, words):  # noqa: F811
    Path("linked").symlink_to("three")
    hingeline.save(hingeline.LASVC(gamma=1.0).fit(X, y), "model")
    before = {path: path.read_bytes() for path in files.iterdir()}
    command(*words.format(folder=files.name).split(), code=2)
    assert "would replace" in command.err
    assert {path: path.read_bytes() for path in files.iterdir()} == before


def test_devices_may_be_input_and_output(command, files):  # noqa: F811
    hingeline.save(hingeline.LASVC(gamma=1.0).fit(X, y), "model")
    command("predict", "/dev/null", "model", "/dev/null")


def test_data_do_not_become_models(command, files):  # noqa: F811
    for words in ("out --to onnx", "out.onnx", "out.safetensors"):
        command("convert", "two.csv", *words.split(), code=2)
        assert "two.csv holds data, which cannot become " in command.err
    command("convert", "two.csv", "out", code=2)
    assert "Give --to: libsvm, csv" in command.err


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_report_prints_what_a_libsvm_file_holds(command, files, kernel):  # noqa: F811
    command("train", "three", "model", "--format", "libsvm", "-t", kernel, "-g", 0.5, "-c", 7, "-q")
    words = {line.split()[0] for line in Path("model").read_text().partition("\nSV\n")[0].splitlines()}
    found = command.json("report", "model")["parameters"]
    assert found.keys() == {"kernel", *(words & {"degree", "gamma", "coef0"})}
    assert "C=" not in command("report", "model")


def test_one_class_models_are_not_compared_with_other_labels(command, files):  # noqa: F811
    command("train", "-s", 2, "-g", 1, "three", "model", "-q")
    assert command("predict", "three", "model", "out") == ""
    found = command.json("predict", "three", "model")
    assert (found["rows"], found["labelled"], found["correct"], found["accuracy"]) == (90, 0, 0, None)
    assert "90 rows without labels +1 and -1" in command("report", "model", "three")
    Path("signs").write_text("+1 1:1 2:0\n-1 1:9 2:9\n")
    assert "Accuracy = " in command("predict", "signs", "model", "out")


# ---- forget, verify --------------------------------------------------------------------------------------


def test_forget_and_verify(command, tmp_path):  # noqa: F811
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    data, model, receipt = tmp_path / "data.csv", tmp_path / "model", tmp_path / "model.receipt"
    rows = [f"p{k // 2},{a!r},{b!r},{'yes' if a > 0 else 'no'}\n" for k, (a, b) in enumerate(X.tolist())]
    data.write_text("person,a,b,label\n" + "".join(rows))
    command("train", data, model, "--id", "person", "-g", 0.5)
    command("verify", receipt, model, code=66)
    found = command.json("forget", model, "--ids", "p3,p7")
    assert (found["rows"], found["ids"]) == (4, 2)
    assert command.json("verify", receipt, model, "--ids", "p3")["valid"]
    assert "4 rows removed" in command("verify", receipt, model)
    command("verify", receipt, model, "--ids", "p4", code=65)
    assert "does not name the id p4" in command.err
    command("forget", model, "--ids", "p3", code=65)
    assert "holds no row with the id p3" in command.err
    command("forget", model, "--ids", "p4", "--receipt", tmp_path / "second")
    command("verify", receipt, model, code=65)
    assert "differs from the one that the deletion has left" in command.err
    receipt.write_text(receipt.read_text().replace('"rows": 4', '"rows": 3'))
    command("verify", receipt, model, code=65)
    assert "was altered" in command.err
    command("train", data, model, "--estimator", "LASVC", "--id", "person", code=2)
    assert "LASVC cannot forget rows" in command.err
    command("train", data, model, "--drop", "person", "-g", 0.5)
    command("forget", model, "--ids", "p4", code=2)
    assert "train it with ids" in command.err


def test_forget_in_a_checkpoint(command, tmp_path):  # noqa: F811
    rng = np.random.default_rng(0)
    rows = [f"p{k},{a!r},{'yes' if a > 0 else 'no'}\n" for k, a in enumerate(rng.standard_normal(40).tolist())]
    data, run = tmp_path / "data.csv", tmp_path / "run"
    data.write_text("person,a,label\n" + "".join(rows))
    command(
        "stream",
        data,
        tmp_path / "model",
        "--checkpoint",
        run,
        "--estimator",
        "IncrementalSVC",
        "--id",
        "person",
        "-g",
        0.5,
    )
    secret = rows[3].split(",")[1]
    command("forget", run, "--ids", "p3")
    command("verify", tmp_path / "run.receipt", run, "--ids", "p3")
    import struct

    pattern = struct.pack("<d", float(secret))
    assert not any(pattern in path.read_bytes() for path in run.iterdir())
