"""Data files of the command line: formats, places of errors, bounded memory, conversions."""

import gzip
import io
import itertools
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hingeline
from hingeline.base import inputs
from hingeline.cli.data import all_rows, blocks_of, recognise, sources, tables
from hingeline.cli.data.examples import Form, Rows, batches, convert_labels, match_classes, texts_like
from hingeline.cli.data.svmlight import read
from hingeline.cli.errors import DataError

from .commands import command, svmlight, table  # noqa: F401
from .data import blobs

X, y = blobs(40)


def rows_of(content, form=Form()):  # noqa: B008
    """Labels and features of a text in LIBSVM's format."""
    stream = io.BufferedReader(io.BytesIO(content))
    parts = list(read(stream, "file", form))
    return [(label, row) for part in parts for label, row in zip(part.labels, part.X.toarray().tolist(), strict=True)]


# ---- LIBSVM's format --------------------------------------------------------------------------------------


def naive(content):
    """Place of the first error of a file in LIBSVM's format, character by character; None if there is none."""
    for number, line in enumerate(content.decode("latin-1").split("\n"), 1):
        line, column, words = line.split("#")[0], 1, []
        while line:
            if line[0] in " \t\r\x0b\x0c":
                line, column = line[1:], column + 1
                continue
            word = "".join(itertools.takewhile(lambda c: c not in " \t\r\x0b\x0c", line))
            words.append((column, word))
            line, column = line[len(word) :], column + len(word)
        if words and not is_finite(words[0][1]):
            return number, words[0][0]
        before = 0
        for column, word in words[1:]:
            index, _, value = word.partition(":")
            if ":" not in word or not is_index(index) or int(index) <= before:
                return number, column
            if not is_finite(value):
                return number, column + len(index) + 1
            before = int(index)
    return None


def is_finite(word):
    try:
        return word.isascii() and "_" not in word and float(word) - float(word) == 0
    except ValueError:
        return False


def is_index(word):
    try:
        return word.isascii() and "_" not in word and 1 <= int(word) < 2**31
    except ValueError:
        return False


good = st.builds(
    lambda label, values: f"{label} " + " ".join(f"{k}:{v!r}" for k, v in sorted(values.items())),
    st.integers(-3, 3),
    st.dictionaries(st.integers(1, 9), st.floats(-9, 9), max_size=4),
)
damage = st.text(alphabet="0123456789:.-+e #\tnaif\r_xé\0\n", max_size=3)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(good, min_size=1, max_size=6), st.data())
def test_the_place_of_an_error_is_that_of_a_naive_parser(lines, data):
    text = "\n".join(lines)
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(damage) + text[at + data.draw(st.integers(0, 2)) :]
    content = text.encode()
    expected = naive(content)
    try:
        rows_of(content)
        found = None
    except DataError as error:
        found = (error.line, error.column)
    assert found == expected, text


@pytest.mark.parametrize("line", ["1 1:nan", "1 1:1e999", "1 1:-inf", "1 1:1 2:infinity", "nan 1:1", "-1e999 1:1"])
def test_numbers_that_are_not_finite(line):
    with pytest.raises(DataError) as caught:
        rows_of(f"1 1:1\n{line}\n".encode())
    assert (caught.value.line, caught.value.column) == naive(f"1 1:1\n{line}\n".encode())


@pytest.mark.parametrize(
    ("line", "column"), [("1_0 1:1", 1), ("1 1:1_5", 5), ("1 1_0:1", 3), ("1 1:\u0663", 5), ("1 1:1 # a_b", None)]
)
def test_digits_are_not_grouped_and_are_those_of_ascii(line, column):
    content = f"1 1:1\n{line}\n".encode()
    if column is None:
        assert len(rows_of(content)) == 2
        return
    with pytest.raises(DataError) as caught:
        rows_of(content)
    assert (caught.value.line, caught.value.column) == (2, column)


def test_qid_comments_and_empty_lines():
    content = b"# head\n\n1 qid:3 2:5 # tail\r\n-1\n\n2.5 1:1"
    assert [label for label, _ in rows_of(content, Form(n_features=2))] == [1, -1, 2.5]
    assert [row for _, row in rows_of(content, Form(n_features=2))] == [[0, 5], [0, 0], [1, 0]]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_blocks_do_not_matter(size, monkeypatch):
    content = svmlight(X, y).encode()
    expected = rows_of(content, Form(n_features=6))
    monkeypatch.setattr(sources, "BLOCK", size)
    monkeypatch.setattr(sources.read_some, "__defaults__", (size,))
    assert rows_of(content, Form(n_features=6)) == expected
    with pytest.raises(DataError, match=r"file, line 41, column 3: expected index:value. Got 'x'"):
        rows_of(content + b"1 x\n", Form(n_features=6))


def test_a_long_line_is_refused_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(sources, "LONGEST", 1 << 20)
    monkeypatch.setattr(sources.read_some, "__defaults__", (1 << 16,))

    class Long(io.RawIOBase):
        left = 32 << 20

        def readable(self):
            return True

        def readinto(self, buffer):
            buffer[:] = b"1" * len(buffer)
            self.left -= len(buffer)
            return len(buffer) if self.left > 0 else 0

    tracemalloc.start()
    with pytest.raises(DataError, match=r"file, line 1: the line has more than 1,048,576 bytes"):
        list(sources.blocks(io.BufferedReader(Long()), "file"))
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_prediction_needs_the_memory_of_a_block(command, tmp_path, monkeypatch):  # noqa: F811
    """The same memory for a file of 64 kB and for one of 512 kB."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sources.read_some, "__defaults__", (1 << 14,))
    hingeline.save(hingeline.SVC(gamma=0.5).fit(X, y), "model")
    content = svmlight(X, y).encode()
    Path("data").write_bytes(content)
    command("predict", "data", "model", "out")  # imports what it needs
    peaks = []
    for size in (1 << 16, 1 << 19):
        Path("data").write_bytes(content * (size // len(content)))
        tracemalloc.start()
        assert command.json("predict", "data", "model", "out")["rows"] == 40 * (size // len(content))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_a_row_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(sources, "LONGEST", 1000)
    content = b"1,2,a\n" + b'"\n","\n",' * 200
    with pytest.raises(DataError, match="file: a row has more than 1,000 characters"):
        list(tables.read(io.BufferedReader(io.BytesIO(content)), "file", Form()))
    content = b"1,2,a\n" * 400
    assert sum(map(len, tables.read(io.BufferedReader(io.BytesIO(content)), "file", Form()))) == 400


def test_many_features_do_not_take_memory():
    (part,) = read(io.BufferedReader(io.BytesIO(b"1 2147483647:1\n")), "file", Form())
    assert part.X.shape == (1, 2**31 - 1) and part.X.nnz == 1


def test_lines_before_an_error_are_read():
    parts = read(io.BufferedReader(io.BytesIO(b"1 1:1\n2 1:1\n3 x\n4 1:1\n")), "file", Form())
    assert next(parts).labels.tolist() == [1, 2]
    with pytest.raises(DataError, match="file, line 3, column 3"):
        next(parts)


# ---- tables -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "form", "features", "labels"),
    [
        ("1,2,a\n3,4,b\n", {}, [[1, 2], [3, 4]], ["a", "b"]),
        ("u,v,w\n1,2,a\n3,4,b\n", {}, [[1, 2], [3, 4]], ["a", "b"]),
        ("u;v;w\n1;2;a\n\n3;4;b", {}, [[1, 2], [3, 4]], ["a", "b"]),
        ("w\tu\tv\na\t1\t2\n", {"target": "w"}, [[1, 2]], ["a"]),
        ("a,1,2\n", {"target": "1"}, [[1, 2]], ["a"]),
        ("1,a,2\n", {"target": "-2"}, [[1, 2]], ["a"]),
        ("1,2\n", {"target": "none"}, [[1, 2]], None),
        ("1,2\n", {"labels": False, "n_features": 2}, [[1, 2]], None),
        ("id,u,w\nx y,1,a\n", {"drop": ("id",)}, [[1]], ["a"]),
        ("7,1,a\n", {"drop": ("1",)}, [[1]], ["a"]),
        ("1,2,3\n4,5,6\n", {"header": "yes"}, [[4, 5]], ["6"]),
        ("\ufeff1,2,x\n", {}, [[1, 2]], ["x"]),
        ('"1","2","a, ""b""\nc"\n3,4,d\n', {}, [[1, 2], [3, 4]], ['a, "b"\nc', "d"]),
        ("1|2|a\n", {"delimiter": "|", "format": "csv"}, [[1, 2]], ["a"]),
    ],
)
def test_tables(tmp_path, text, form, features, labels):
    path = tmp_path / "table.csv"
    path.write_text(text)
    rows = all_rows(str(path), Form(**form))
    assert rows.X.tolist() == features and rows.labels == labels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,a\n3,x,b\n", "line 2, column 2: a feature must be a finite number. Got 'x'"),
        ("u,v,w\n1,2,a\n3,,b\n", r"line 3, column 2: a feature must be a finite number. Got '' \(v\)"),
        ("1,2,a\n3,inf,b\n", "line 2, column 2: .* Got 'inf'"),
        ("1,2,a\n3,1_5,b\n", "line 2, column 2: a feature must be a finite number. Got '1_5'"),
        ("1,2,a\n3,\u0663,b\n", "line 2, column 2: a feature must be a finite number. Got '\u0663'"),
        ("u,v,w\n1,\xa02,a\n", r"line 2, column 2: .* \(v\)"),
        ("1,2,a\n3,b\n", "line 2: expected 3 cells, as in the first row. Got 2"),
        ("1,2,a\n3,4,b,5\n", "line 2: expected 3 cells, as in the first row. Got 4"),
        ('1,2,"a\nb"\n\nz,1,c\n', "line 4, column 1: .* Got 'z'"),
        ("1,2,\udcff\n", "line 1: byte 5 is not UTF-8"),
        ("a\nb\n", "line 1: the table has no column of features"),
        ("1," + "2" * 200000 + ",a\n", "line 1, column 2: a feature must be a finite number. Got '2{40}'"),
    ],
)
def test_errors_in_tables(tmp_path, text, message):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=message):
        all_rows(str(path), Form(format="csv"))


def test_long_tables_come_in_parts(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(table(np.arange(100.0)[:, None], range(100)))
    parts = list(blocks_of(str(path), Form(most_rows=30)))
    assert [len(part) for part in parts] == [30, 30, 30, 10]
    assert [len(part) for part in batches(parts, 45)] == [45, 45, 10]
    assert np.concatenate([part.X[:, 0] for part in batches(parts, 7)]).tolist() == list(range(100))


# ---- labels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "+2", " 30 "], np.array([1, 2, 30])),
        (["1", "01"], np.array(["1", "01"])),
        (["11", "1_1"], np.array(["11", "1_1"])),
        (["1", "nan"], np.array(["1", "nan"])),
        (["1", "2.5"], np.array([1, 2.5])),
        (["1.0", "2"], np.array([1, 2])),
        (["1", "x"], np.array(["1", "x"])),
        (np.array([1.0, 2.0]), np.array([1, 2])),
        (np.array([1.5, 2.0]), np.array([1.5, 2.0])),
        (["9" * 30, "1"], np.array([1e30, 1.0])),
    ],
)
def test_types_of_labels(labels, expected):
    found = convert_labels(labels)
    assert found.dtype == expected.dtype and (found == expected).all()


def test_labels_of_known_classes():
    assert match_classes(["1", "2.0"], np.array([1, 2]), "f").tolist() == [1, 2]
    assert match_classes(np.array([1.0, 2.0]), np.array(["1", "2"]), "f").tolist() == ["1", "2"]
    for labels in (["1", "x"], ["1", "2.5"], np.array([1.5])):
        with pytest.raises(DataError, match="labels must be of the type int64"):
            match_classes(labels, np.array([1, 2]), "f")
    assert texts_like(["1.0", "x", "nan", "2.5"], np.array([1, 2])) == ["1", "x", "nan", "2.5"]
    assert texts_like([1, 2.5], np.array([1.5])) == ["1.0", "2.5"]


# ---- formats ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("beginning", "name", "kind"),
    [
        (b"1 1:2\n", "x", "libsvm"),
        (b"# c\n+1\n-1 qid:1 1:2\n", "x.txt", "libsvm"),
        (b"1\n", "x", "libsvm"),
        (b"1,2\n", "x", "csv"),
        (b"1;2\n", "-", "csv"),
        (b"anything", "x.CSV.gz", "csv"),
        (b"anything", "x.svm", "libsvm"),
        (b"PK\x03\x04", "x.csv", "npz"),
        (b"PAR1", "-", "parquet"),
        (b"", "x", None),
    ],
)
def test_formats_are_recognised(beginning, name, kind):
    assert recognise(beginning, name) == kind


NAMES = ["a.csv", "b.tsv", "c.svm", "d.npz", "e.parquet", "f.csv.gz", "g.libsvm.gz", "h.pq.gz", "i.csv"]


@pytest.mark.parametrize(("first", "second"), list(itertools.pairwise(NAMES)))
@pytest.mark.parametrize("sparse", [False, True])
def test_conversions_keep_all_bits(command, tmp_path, monkeypatch, first, second, sparse):  # noqa: F811
    if any(name.endswith((".parquet", ".pq.gz")) for name in (first, second)):
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    rows = sp.csr_array(X * (X > 1)) if sparse else X * np.pi
    parts = {name: getattr(rows, name) for name in ("data", "indices", "indptr", "shape")} if sparse else {"X": rows}
    np.savez("start.npz", y=y, **parts)
    to = {name: ["--to", "parquet"] if ".pq" in name else [] for name in (first, second)}
    command("convert", "start.npz", first, *to[first], "--n-features", 6)
    command("convert", first, second, *to[second], "--n-features", 6)
    found = command.json("convert", second, "end.npz", "--n-features", 6)
    assert {"kind": "data", "rows": 40, "features": 6, "format": "npz"}.items() <= found.items()
    end = all_rows("end.npz", Form())
    dense = end.X.toarray() if sp.issparse(end.X) else end.X
    np.testing.assert_array_equal(dense, rows.toarray() if sparse else rows)
    np.testing.assert_array_equal(end.labels, y)


def test_text_labels_and_names_are_kept(command, tmp_path, monkeypatch):  # noqa: F811
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("u,v,kind\n1,2,x\n3,4.5,y\n")
    command("convert", "a.csv", "b.parquet")
    assert command("convert", "b.parquet", "-", "--to", "csv") == "u,v,label\n1,2,x\n3,4.5,y\n"
    assert "2 rows" in command.err
    command("convert", "b.parquet", "c.npz")
    assert all_rows("c.npz", Form()).labels.tolist() == ["x", "y"]
    command("convert", "a.csv", "c.svm", code=65)
    assert "labels of LIBSVM's format are numbers. Got x" in command.err and not Path("c.svm").exists()
    assert command("convert", "a.csv", "-", "--to", "libsvm", "--target", "none", "--drop", "kind").splitlines() == [
        "0 1:1 2:2",
        "0 1:3 2:4.5",
    ]
    for words in (
        "a.csv c.xyz",
        "a.csv - --to npz",
        "a.csv c.npz --target none --drop kind",
        "a.csv - --to csv --json",
    ):
        command("convert", *words.split(), code=2)
    Path("d.parquet").write_bytes(Path("b.parquet").read_bytes()[:-20])
    command("convert", "d.parquet", "e.csv", code=65)
    command("train", "b.parquet", "m", "--target", "u", code=65)
    assert "b.parquet, line 1, column 3: a feature must be a finite number. Got type" in command.err


def test_a_large_index_does_not_take_memory(command, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("1 0:1 2000000000:1\n2 0:2 1:1\n")
    command("train", "-t", 4, "a", code=65)
    assert "rows of kernel values must be complete" in command.err
    Path("a").write_text("1 2000000000:1\n2 1:1\n")
    for words in ("train a", "tune a", "convert a b.csv"):
        command(*words.split(), code=65)
        assert "the largest index is 2,000,000,000, far beyond the number of values" in command.err
    Path("a").write_text("1 2000000:1\n2 1:1\n")
    command("convert", "a", "b.csv", code=2)
    assert "a table has at most 1,048,576 columns" in command.err
    command("convert", "a", "b.parquet", code=2)
    command("train", "a", "model")
    assert command.json("predict", "a", "model")["rows"] == 2


def test_models_are_converted(command, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    model = hingeline.SVC(gamma=0.5).fit(X, y)
    hingeline.save(model, "a.safetensors")
    assert command.json("convert", "a.safetensors", "b.model", "--to", "libsvm")["kind"] == "model"
    found = command.json("convert", "b.model", "c.safetensors", "--n-features", 6)
    assert (found["source_format"], found["format"], found["estimator"]) == ("libsvm", "hingeline", "SVC")
    np.testing.assert_array_equal(hingeline.load("c.safetensors").predict(X), model.predict(X))
    with hingeline.Checkpoint("run", hingeline.LASVC(gamma=0.5)) as run:
        run.learn(X, y, classes=[0, 1, 2])
    command("convert", "run", "d.safetensors")
    np.testing.assert_array_equal(hingeline.load("d.safetensors").predict(X), run.model.predict(X))
    command("convert", "a.safetensors", "e.model", code=2)
    command("convert", "a.safetensors", "e.model", "--to", "csv", code=2)
    assert "Give --to: hingeline, libsvm, onnx" in command.err


def test_models_are_converted_to_onnx(command, tmp_path):  # noqa: F811
    pytest.importorskip("skl2onnx")
    hingeline.save(hingeline.SVC(gamma=0.5).fit(X, y), tmp_path / "a")
    command("convert", tmp_path / "a", tmp_path / "b.onnx")
    assert b"label" in (tmp_path / "b.onnx").read_bytes()


@pytest.mark.parametrize("source", ["x.csv.gz", "x.npz.gz", "-"])
def test_gzip_files_that_unpack_to_too_much(command, tmp_path, monkeypatch, source):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inputs, "ALLOWANCE", 1 << 20)
    content = gzip.compress(b"1,2,a\n" * (1 << 21))  # deflate packs more than 200 of these bytes into one
    assert len(content) < 1 << 16
    Path(source).write_bytes(content) if source != "-" else None
    options = ["--input-format", source[2:5]] if source != "-" else []
    command("train", source, "model", *options, stdin=content if source == "-" else None, code=65)
    name = "standard input" if source == "-" else source
    assert f"{name}: the gzip file unpacks to more than" in command.err and "gunzip" in command.err
    assert not Path("model").exists()


def test_gzip_files_that_compress_well(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"1,2,a\n" * 300_000))
    assert sum(map(len, blocks_of(str(path), Form()))) == 300_000


def test_arrays_that_unpack_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "ALLOWANCE", 1 << 20)
    path, arrays = tmp_path / "x.npz", {"X": np.zeros((1_000_000, 1)), "y": np.zeros(1_000_000, dtype=np.uint8)}
    np.savez_compressed(path, **arrays)
    with pytest.raises(DataError, match=r"x.npz: .* its arrays unpack to 9,000,\d+ bytes.* numpy.savez"):
        all_rows(str(path), Form())
    (tmp_path / "y.npz.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(DataError, match="its arrays unpack to 9,000,"):
        all_rows(str(tmp_path / "y.npz.gz"), Form())
    np.savez(path, **arrays)
    assert len(all_rows(str(path), Form())) == 1_000_000


def test_arrays_whose_header_states_another_size(tmp_path):
    """Memory is not reserved for a shape that the file cannot hold."""
    path = tmp_path / "x.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("y.npy", header.getvalue())
    with pytest.raises(DataError, match="not a valid data set file"):
        all_rows(str(path), Form())


def test_gzip_and_standard_input(command, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    content = svmlight(X, y).encode()
    command("train", "-", "model", "-g", 0.5, stdin=gzip.compress(content))
    model = hingeline.load("model")
    same = hingeline.SVC(gamma=0.5).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    command("train", "-", "model", stdin=gzip.compress(content)[:-30], code=65)
    assert "standard input: damaged gzip file" in command.err
    archive = io.BytesIO()
    np.savez(archive, X=X, y=y)
    assert command.json("train", "-", "model", stdin=archive.getvalue())["rows"] == 40
    command("train", "-", "model", stdin=archive.getvalue()[:-50], code=65)
    command("train", "-", "model", "--input-format", "csv", stdin=b"1,2,a\n2,1,b\n")


def test_npz_files_are_checked(command, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    np.savez("nan.npz", X=[[np.nan], [1.0]], y=[0, 1])
    command("train", "nan.npz", code=65)
    np.savez("names.npz", X=[[0.0], [1.0]], y=[0, 1], class_names=["no", "yes"])
    command("train", "names.npz", "model")
    assert hingeline.load("model").classes_.tolist() == ["no", "yes"]
    np.savez("wide.npz", X=[[0.0, 1.0], [1.0, 1.0]], y=[0, 1])
    command("predict", "wide.npz", "model", code=65)
    assert "expected 1 features. Got 2" in command.err


def test_precision(command, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    Path("a").write_text(svmlight(X, y))
    command("train", "a", "model", "--dtype", "float32")
    assert hingeline.load("model").support_vectors_.dtype in (np.float32, np.float64)
    assert all_rows("a", Form(dtype="float32")).X.dtype == np.float32


def test_parts_of_rows():
    rows = Rows(X, list(map(str, y)), [str(k) for k in range(40)])
    assert rows.part(3, 5).ids == ["3", "4"] and rows.part(3, 5).labels == [str(y[3]), str(y[4])]
    (whole,) = batches([rows.part(0, 10), rows.part(10, 40)], 100)
    assert whole.ids == rows.ids and whole.labels == rows.labels


def test_a_byte_order_mark_is_no_label(tmp_path):
    path, mark = tmp_path / "marked", b"\xef\xbb\xbf"
    path.write_bytes(mark + b"1 1:2 2:3\r\n-1 1:3\r\n")
    assert all_rows(str(path), Form()).labels.tolist() == [1, -1]
    for line, text in ((1, mark + b"x 1:2\n"), (2, mark + b"1 1:2\n" + mark + b"1 1:3\n")):
        path.write_bytes(text)
        with pytest.raises(DataError, match=f"line {line}, column 1: the line must begin with a label"):
            all_rows(str(path), Form())
