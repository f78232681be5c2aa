"""Options --scale, --missing and --categories: saved with the model, applied by predict; the hint without them."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

import hingeline
from hingeline import SVC, LinearSVC

from .commands import command, svmlight, table  # noqa: F401
from .data import noisy

X, y = noisy(80)
X = X * [1, 1000]
COLOURS = np.array(["red", "green", "blue"])[np.random.default_rng(1).integers(0, 3, 80)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("large.csv").write_text(table(X, y, ["a", "b", "label"]))
    Path("large").write_text(svmlight(X, y))
    lines = [f"{row[0]},{colour},{row[1]},{label}" for row, colour, label in zip(X.tolist(), COLOURS, y, strict=True)]
    lines[4] = lines[4].replace(COLOURS[4], "")
    lines[7] = "NA" + lines[7][lines[7].index(",") :]
    Path("mixed.csv").write_text("\n".join(["a,colour,b,label", *lines, ""]))
    return tmp_path


def mixed_rows():
    """Rows of mixed.csv as scikit-learn's users have them."""
    rows = np.array([[a, colour, b] for (a, b), colour in zip(X.tolist(), COLOURS, strict=True)], dtype=object)
    rows[4, 1] = rows[7, 0] = np.nan
    return rows


def mixed_model(scaler):
    numbers = make_pipeline(SimpleImputer(strategy="median"), scaler)
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(ColumnTransformer([("n", numbers, [0, 2]), ("w", words, [1])], sparse_threshold=0), SVC())


@pytest.mark.parametrize(("how", "scaler"), [("standard", StandardScaler()), ("minmax", MinMaxScaler())])
@pytest.mark.parametrize("data", ["large.csv", "large"])
def test_scaling_is_saved_with_the_model(command, files, how, scaler, data):  # noqa: F811
    found = command.json("train", data, "model", "--scale", how)
    assert found["scale"] == how and found["estimator"] == "SVC" and found["warnings"] == []
    wanted = make_pipeline(scaler, SVC()).fit(X, y)
    model = hingeline.load("model")
    np.testing.assert_allclose(model.decision_function(X), wanted.decision_function(X))
    command("predict", data, "model", "labels", "--scores")
    lines = [line.split() for line in Path("labels").read_text().splitlines()]
    np.testing.assert_allclose([float(line[1]) for line in lines], wanted.decision_function(X), rtol=1e-12)
    out = command("report", "model", data)
    assert "model: SVC, format hingeline" in out and f"preparation: {scaler!r}" in out and "Accuracy = " in out


@pytest.mark.parametrize("how", ["standard", "minmax"])
def test_zeros_of_sparse_rows_stay(command, files, how):  # noqa: F811
    rows = sp.random(80, 40, density=0.1, format="csr", random_state=0) * 50
    Path("sparse").write_text(svmlight(rows.toarray(), y))
    command("train", "sparse", "model", "--scale", how, "--n-features", 40)
    model = hingeline.load("model")
    assert sp.issparse(model[-1].support_vectors_)
    scaler = StandardScaler(with_mean=False) if how == "standard" else MaxAbsScaler()
    wanted = make_pipeline(scaler, SVC()).fit(rows, y)
    np.testing.assert_allclose(model.decision_function(rows), wanted.decision_function(rows))
    command("predict", "sparse", "model", "labels")
    assert Path("labels").read_text().split() == list(map(str, wanted.predict(rows).tolist()))


@pytest.mark.parametrize("lower", [-1, 0])
@pytest.mark.parametrize("data", ["large", "large.csv"])
def test_range_files_of_svm_scale(command, files, lower, data):  # noqa: F811
    """The formula of svm-scale: lower + (upper - lower) (value - min) / (max - min); constant features become 0."""
    Path("ranges").write_text(f"x\n{lower} 1\n1 -2.5 3\n2 -100 250.5\n")
    command("train", data, "model", "--scale", "ranges", "-e", 1e-9)
    scaled = lower + (1 - lower) * (X - [-2.5, -100]) / [5.5, 350.5]
    wanted = SVC(tol=1e-9).fit(scaled, y)
    values = hingeline.load("model").decision_function(X)
    np.testing.assert_allclose(values, wanted.decision_function(scaled), atol=1e-7)
    command("predict", data, "model", "labels")
    assert Path("labels").read_text().split() == list(map(str, wanted.predict(scaled).tolist()))
    Path("one").write_text("x\n0 1\n2 -100 250.5\n")
    command("train", data, "model", "--scale", "one", "-e", 1e-9)
    scaled = np.column_stack([np.zeros(80), (X[:, 1] + 100) / 350.5])
    values = hingeline.load("model").decision_function(X)
    np.testing.assert_allclose(values, SVC(tol=1e-9).fit(scaled, y).decision_function(scaled), atol=1e-7)


def test_range_files_that_cannot_be_used(command, files):  # noqa: F811
    for text, code, message in [
        (None, 66, "--scale ranges: cannot read the range file"),
        ("x\n", 65, "expected 2 numbers"),
        ("y\n0 1\n0 1\nx\n0 1\n", 2, "scales the labels"),
        ("0 1\n", 65, "ranges, line 1: a range file of svm-scale begins with a line x"),
        ("x\n1 0\n1 2 3\n", 65, "lower upper"),
        ("x\n0 1\n1 2\n", 65, "ranges, line 3: expected 3 numbers. Got '1 2'"),
        ("x\n0 1\n1 3 2\n", 65, "ranges, line 3: expected: index smallest largest"),
        ("x\n0 1\n9 2 3\n", 2, "the file has a feature 9, the data have 2"),
    ]:
        if text is not None:
            Path("ranges").write_text(text)
        command("train", "large.csv", "model", "--scale", "ranges", code=code)
        assert message in command.err, (text, command.err)
    command("train", "large.csv", "model", "--scale", "standart", code=66)
    assert "Give none, minmax, standard, or a file of svm-scale -s" in command.err


# ---- texts and missing values -----------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [("colour",), ("auto",), ("2",), ("-3",)])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_texts_and_empty_cells(command, files, columns, form):  # noqa: F811
    data = "mixed.csv"
    if form == "parquet":
        arrow = pytest.importorskip("pyarrow")
        from pyarrow.parquet import write_table

        a, words, b = (column.tolist() for column in mixed_rows().T)
        words = [None if word != word else word for word in words]
        a = [None if value != value else value for value in a]
        write_table(arrow.table({"a": a, "colour": words, "b": b, "label": y.tolist()}), "mixed.parquet")
        data = "mixed.parquet"
    options = [word for one in columns for word in ("--categories", one)]
    out = command("train", data, "model", "--scale", "standard", "--missing", "median", *options)
    assert out.startswith("column 'colour': 3 categories\n")
    wanted = mixed_model(StandardScaler()).fit(mixed_rows(), y)
    model = hingeline.load("model")
    np.testing.assert_allclose(model.decision_function(mixed_rows()), wanted.decision_function(mixed_rows()))
    command("predict", data, "model", "labels")
    assert Path("labels").read_text().split() == list(map(str, wanted.predict(mixed_rows()).tolist()))
    odd = mixed_rows()[:3]
    odd[:, 1], odd[1, 2] = ["violet", np.nan, "red"], np.nan
    Path("odd.csv").write_text("a,colour,b\n" + "".join(f"{a},{'' if w != w else w},{b}\n" for a, w, b in odd.tolist()))
    assert command("predict", "odd.csv", "model").split() == list(map(str, wanted.predict(odd).tolist()))


def test_errors_name_the_options(command, files):  # noqa: F811
    for words, message in [
        ("train mixed.csv", "line 2, column 2: a feature must be a finite number. Got"),
        ("train mixed.csv", f"Got {str(COLOURS[0])!r} (colour). --categories colour takes texts as categories"),
        (
            "train mixed.csv --drop colour",
            "line 9, column 1: a feature must be a finite number. Got 'NA' (a). --missing median",
        ),
        ("tune mixed.csv --categories auto", "--missing median fills empty cells"),
    ]:
        command(*words.split(), code=65)
        assert message in command.err, command.err
    command("train", "large.csv", "model")
    command("predict", "mixed.csv", "model", code=65)
    assert "--categories" not in command.err
    command("train", "large", "model", "--categories", "auto", code=2)
    assert "--categories: large is in the format libsvm, which has no columns" in command.err
    command("train", "mixed.csv", "model", "--categories", "label", code=2)
    assert "--categories: the column is that of the labels" in command.err
    command("train", "mixed.csv", "model", "--categories", "colours", code=2)
    assert "mixed.csv has no such column. Its columns are a, colour, b, label" in command.err
    Path("ids.csv").write_text("".join(f"p{k},{k % 7},{k % 2}\n" for k in range(1200)))
    command("train", "ids.csv", "model", "--categories", "1", code=2)
    assert "column 1 has 1,200 different texts; categories have 1,000 at most" in command.err


def test_texts_without_a_line_of_names(command, files):  # noqa: F811
    """The first row is data: it has numbers where the second has."""
    text = Path("mixed.csv").read_text().splitlines(keepends=True)[1:]
    Path("bare.csv").write_text("".join(text))
    assert command.json("train", "bare.csv", "model", "--categories", "auto", "--missing", "mean")["rows"] == 80
    assert command.json("train", "mixed.csv", "model", "--categories", "auto", "--missing", "mean")["rows"] == 80
    Path("words.csv").write_text(
        "colour,label\n" + "".join(f"{one},{label}\n" for one, label in zip(COLOURS, y, strict=True))
    )
    assert command.json("train", "words.csv", "model", "--categories", "auto")["rows"] == 80
    assert command("predict", "words.csv", "model").count("\n") == 80


def test_a_mistake_in_a_column_of_numbers_is_found(command, files):  # noqa: F811
    Path("typo.csv").write_text(Path("large.csv").read_text() + "1.5,oops,0\n")
    command("train", "typo.csv", "model", "--categories", "auto", code=65)
    assert "typo.csv, line 82, column 2: a feature must be a finite number. Got 'oops' (b)" in command.err


# ---- cross-validation, searches, comparisons, ids ---------------------------------------------------------


def test_folds_are_scaled_by_their_training_rows(command, files):  # noqa: F811
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    wanted = cross_val_score(make_pipeline(StandardScaler(), SVC()), X, y, cv=folds)
    found = command.json("train", "large.csv", "-v", 5, "--scale", "standard")
    assert found["accuracy"] == pytest.approx(wanted.mean())
    Path("other.csv").write_text(table(X[::-1], y[::-1]))
    methods = ("--method", "SVC", "--method", "LinearSVC", "--scale", "standard")
    found = command.json("compare", "large.csv", "other.csv", *methods)
    linear = cross_val_score(make_pipeline(StandardScaler(), LinearSVC()), X, y, cv=folds)
    assert found["scores"][0] == pytest.approx([wanted.mean(), linear.mean()])


def test_searches_name_the_parameters_of_the_estimator(command, files):  # noqa: F811
    words = ("tune", "large.csv", "best", "--scale", "standard", "--grid", "C=1,10", "--table", "scores.csv")
    found = command.json(*words)
    assert found["best_parameters"].keys() == {"C"} and len(found["candidates"]) == 2
    assert Path("scores.csv").read_text().startswith("C,mean_test_score")
    assert isinstance(hingeline.load("best")[0], StandardScaler)
    assert command.json("tune", "large.csv", "--scale", "minmax")["best_parameters"].keys() == {"C", "gamma"}
    found = command.json("tune", "mixed.csv", "best", "--missing", "mean", "--categories", "auto")
    assert found["candidates"] and hingeline.load("best").predict(mixed_rows()).shape == (80,)


def test_ids_need_a_fixed_preparation(command, files):  # noqa: F811
    people = [f"p{k},{line}" for k, line in enumerate(Path("large.csv").read_text().splitlines()[1:])]
    Path("people.csv").write_text("\n".join(["name,a,b,label", *people, ""]))
    command("train", "people.csv", "model", "--id", "name", "--scale", "standard", code=2)
    assert "would remember rows that are forgotten. Use --scale with a range file" in command.err
    Path("ranges").write_text("x\n-1 1\n1 -5 5\n2 -5000 5000\n")
    command("train", "people.csv", "model", "--id", "name", "--scale", "ranges")
    assert "removed 1 row; 79 left" in command("forget", "model", "--ids", "p3")
    assert "1 row removed" in command("verify", "model.receipt", "model", "--ids", "p3")


def test_formats_without_scaling_refuse_it(command, files):  # noqa: F811
    command("train", "large.csv", "model", "--scale", "standard", "--format", "libsvm", code=2)
    assert "LIBSVM's models hold no scaling" in command.err
    command("train", "large.csv", "model", "--scale", "standard")
    for to in ("libsvm", "onnx"):
        command("convert", "model", "out", "--to", to, code=2)
        assert "scaling" in command.err, command.err
    command("train", "large.csv", "model", "-t", 4, "--scale", "standard", code=2)
    assert "kernel values are not scaled" in command.err


def test_the_hint(command, files):  # noqa: F811
    command("train", "large.csv", "model")
    assert "large.csv: features are not scaled: feature 1 (a) has a range of" in command.err
    assert "Try --scale standard or --scale minmax; --scale none silences this hint" in command.err
    command("train", "large", "model")
    assert "features are not scaled" in command.err
    for words in (("--scale", "none"), ("--scale", "standard"), ("-q",)):
        command("train", "large.csv", "model", *words)
        assert command.err == ""
    Path("even.csv").write_text(table(X / [1, 1000], y))
    command("train", "even.csv", "model")
    assert command.err == ""
    Path("constant.csv").write_text(table(np.column_stack([X[:, 0], np.full(80, 7.0)]), y))
    command("train", "constant.csv", "model")
    assert command.err == ""
