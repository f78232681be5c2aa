"""Tests of hingeline.datasets.  Those named `shared` need the prepared files; they skip without."""

import os
import pickle
import zipfile
from http.client import IncompleteRead
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.special import ndtr

from hingeline import datasets

DENSE = np.array([[0, 200], [255, 7], [3, 4], [9, 9]], dtype=np.uint8)
LABELS = np.array([1, 2, 1, 2], dtype=np.uint8)

# [[0, 5, 0], [0, 0, 0], [1, 0, 2]]
CSR = {
    "data": np.array([5, 1, 2], dtype=np.uint8),
    "indices": np.array([1, 0, 2], dtype=np.uint16),
    "indptr": np.array([0, 1, 1, 3], dtype=np.int32),
    "shape": np.array([3, 3]),
    "y": np.array([-1, 1, 1], dtype=np.int8),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HINGELINE_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def offline(monkeypatch):
    """Count the calls of fetch_openml, each of which fails as it does without a network."""
    calls = []

    def fetch(**options):
        calls.append(options)
        raise URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return calls


def serve(monkeypatch, X, y):
    """Let fetch_openml answer with (X, y) and return the list of the options it was given."""
    calls = []

    def fetch(**options):
        calls.append(options)
        return X, y

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return calls


# ------------------------------------------------------------------------------------ Dataset


def test_split_properties():
    data = datasets.Dataset("toy", DENSE, LABELS, n_train=3)
    assert_array_equal(data.X_train, DENSE[:3])
    assert_array_equal(data.y_train, [1, 2, 1])
    assert_array_equal(data.X_test, [[9, 9]])
    assert_array_equal(data.y_test, [2])


@pytest.mark.parametrize("part", ["X_train", "y_train", "X_test", "y_test"])
def test_no_split(part):
    data = datasets.Dataset("toy", DENSE, LABELS)
    with pytest.raises(ValueError, match="'toy' has no published split"):
        getattr(data, part)


def test_dataset_is_frozen():
    data = datasets.Dataset("toy", DENSE, LABELS)
    with pytest.raises(AttributeError):
        data.n_train = 2


def test_dataset_repr():
    data = datasets.Dataset("toy", sparse.csr_matrix(DENSE), LABELS - 1, 3, ("a", "b"))
    expected = "Dataset('toy', 4 x 2, sparse uint8, train 3, test 1, 2 class names)"
    assert repr(data) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": DENSE[0]}, "X must have two dimensions"),
        ({"X": DENSE[:3]}, "X has 3 rows, but y has 4 entries"),
        ({"y": LABELS[:, None]}, "y must have one dimension"),
        ({"n_train": 0}, "n_train must lie between 1 and 3"),
        ({"n_train": 4}, "n_train must lie between 1 and 3"),
        ({"n_train": 2.5}, "n_train must lie between 1 and 3"),
        ({"class_names": ("a", "b")}, "positions in class_names, integers from 0 to 1"),
        ({"y": LABELS.astype(float) - 1, "class_names": ("a", "b")}, "positions in class_names"),
        ({"y": LABELS.astype(int) - 2, "class_names": ("a", "b")}, "positions in class_names"),
    ],
)
def test_dataset_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        datasets.Dataset(**{"name": "toy", "X": DENSE, "y": LABELS, **arguments})


# -------------------------------------------------------------------------------------- files


def test_dense_file(folder):
    np.savez(folder / "toy.npz", X=DENSE, y=LABELS)
    data = datasets.load("toy")
    assert isinstance(data, datasets.Dataset)
    assert data.name == "toy"
    assert data.n_train is None
    assert data.class_names is None
    assert data.X.dtype == np.float32
    assert_array_equal(data.X, [[0, 200], [255, 7], [3, 4], [9, 9]])
    # uint8 labels would wrap around in -y.
    assert data.y.dtype == np.int64
    assert_array_equal(data.y, [1, 2, 1, 2])


def test_sparse_file(folder):
    np.savez_compressed(folder / "toy.npz", **CSR)
    data = datasets.load("toy")
    assert isinstance(data.X, sparse.csr_matrix)
    assert data.X.dtype == np.float32
    assert data.X.indices.dtype == np.int32
    assert data.X.has_sorted_indices
    assert_array_equal(data.X.toarray(), [[0, 5, 0], [0, 0, 0], [1, 0, 2]])
    assert_array_equal(data.y, [-1, 1, 1])


def test_sparse_file_without_entries(folder):
    empty = np.zeros(0, dtype=np.uint8)
    zeros = np.zeros(4, dtype=np.int32)
    np.savez(folder / "toy.npz", **{**CSR, "data": empty, "indices": empty, "indptr": zeros})
    assert_array_equal(datasets.load("toy").X.toarray(), np.zeros((3, 3)))


def test_sparse_split(folder):
    np.savez(folder / "toy.npz", **CSR, n_train=1)
    data = datasets.load("toy")
    assert data.n_train == 1
    assert type(data.n_train) is int
    assert_array_equal(data.X_train.toarray(), [[0, 5, 0]])
    assert_array_equal(data.X_test.toarray(), [[0, 0, 0], [1, 0, 2]])
    assert_array_equal(data.y_test, [1, 1])


def test_class_names(folder):
    np.savez(folder / "toy.npz", X=DENSE, y=LABELS - 1, class_names=["cat", "dog"], n_train=3)
    data = datasets.load("toy", dtype=np.float64)
    assert data.class_names == ("cat", "dog")
    assert data.n_train == 3


def test_extra_arrays_are_ignored(folder):
    np.savez(folder / "toy.npz", X=DENSE, y=LABELS, age=np.arange(9))
    assert datasets.load("toy").X.shape == (4, 2)


def test_real_targets(folder):
    np.savez(folder / "toy.npz", X=DENSE, y=np.array([0.5, 1, 2, 3], dtype=np.float32))
    data = datasets.load("toy")
    assert data.y.dtype == np.float64
    assert_array_equal(data.y, [0.5, 1, 2, 3])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.float32, np.float32), ("float64", np.float64), (float, np.float64), (None, np.uint8)],
)
@pytest.mark.parametrize("arrays", [{"X": DENSE, "y": LABELS}, CSR], ids=["dense", "sparse"])
def test_dtype(folder, arrays, dtype, expected):
    np.savez(folder / "toy.npz", **arrays)
    assert datasets.load("toy", dtype=dtype).X.dtype == expected


@pytest.mark.parametrize("dtype", [np.int64, "uint8", np.float16, bool, object])
def test_dtype_refused(folder, dtype):
    np.savez(folder / "toy.npz", X=DENSE, y=LABELS)
    with pytest.raises(ValueError, match="dtype must be float32, float64 or None"):
        datasets.load("toy", dtype=dtype)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": DENSE}, "'y' is missing"),
        ({"y": LABELS}, "neither an array 'X' nor a CSR matrix"),
        ({"X": DENSE, "y": LABELS[:3]}, "X has 4 rows, but y has 3 entries"),
        ({"X": DENSE[0], "y": LABELS[:2]}, "X must have two dimensions"),
        ({"X": DENSE, "y": DENSE}, "y must have one dimension"),
        ({"X": DENSE.astype(complex), "y": LABELS}, "X must hold real numbers"),
        ({"X": DENSE.astype(str), "y": LABELS}, "X must hold real numbers"),
        ({"X": DENSE, "y": LABELS.astype(complex)}, "y must hold numbers or strings"),
        ({"X": DENSE, "y": LABELS, "n_train": 5}, "n_train must lie between"),
        ({"X": DENSE, "y": LABELS, "n_train": -1}, "n_train must lie between"),
        ({"X": DENSE, "y": LABELS, "n_train": 2.0}, "n_train must be one integer"),
        ({"X": DENSE, "y": LABELS, "n_train": [1, 2]}, "n_train must be one integer"),
        ({"X": DENSE, "y": LABELS, "class_names": ["a", "b"]}, "positions in class_names"),
        ({"X": DENSE, "y": LABELS, "class_names": [1, 2, 3]}, "array of strings"),
        ({"X": DENSE, "y": LABELS, "class_names": "abc"}, "array of strings"),
    ],
)
def test_malformed_dense(folder, arrays, message):
    np.savez(folder / "toy.npz", **arrays)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load("toy")
    assert str(folder / "toy.npz") in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.array([1, 0, 3])}, "indices must lie between 0 and 2"),
        ({"indices": np.array([1, -1, 2])}, "indices must lie between 0 and 2"),
        ({"indices": np.array([1, 2, 0])}, "ascend within each row"),
        ({"indices": np.array([1, 2, 2])}, "ascend within each row"),
        ({"indices": np.array([0, 2, 1]), "indptr": np.array([0, 0, 0, 3])}, "ascend within each"),
        ({"indices": np.array([1.0, 0.0, 2.0])}, "indices must be a one-dimensional array of int"),
        ({"indices": np.array([1, 0])}, "data has shape"),
        ({"data": np.ones((3, 1))}, "data has shape"),
        ({"data": np.ones(3, dtype=complex)}, "X must hold real numbers"),
        ({"indptr": np.array([0, 1, 3])}, "indptr has 3 entries, but 3 rows need 4"),
        ({"indptr": np.array([1, 1, 1, 3])}, "indptr must ascend from 0 to 3"),
        ({"indptr": np.array([0, 1, 1, 2])}, "indptr must ascend from 0 to 3"),
        ({"indptr": np.array([0, 1, 1, 4])}, "indptr must ascend from 0 to 3"),
        ({"indptr": np.array([0, 2, 1, 3], dtype=np.uint8)}, "indptr must ascend from 0 to 3"),
        ({"indptr": np.array([0, 9, 1, 3])}, "indptr must ascend from 0 to 3"),
        ({"indptr": np.array([[0, 1, 1, 3]])}, "indptr must be a one-dimensional array of int"),
        ({"shape": np.array([3])}, "shape must hold two integers"),
        ({"shape": np.array([3, -3])}, "shape must hold two integers"),
        ({"shape": np.array([3.0, 3.0])}, "shape must hold two integers"),
        ({"shape": np.array([3, 2])}, "indices must lie between 0 and 1"),
        ({"shape": np.array([4, 3])}, "indptr has 4 entries, but 4 rows need 5"),
        ({"y": np.array([1, -1])}, "X has 3 rows, but y has 2 entries"),
    ],
)
def test_malformed_sparse(folder, change, message):
    np.savez(folder / "toy.npz", **{**CSR, **change})
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load("toy")
    assert str(folder / "toy.npz") in str(caught.value)


def test_missing_sparse_array(folder):
    np.savez(folder / "toy.npz", **{key: CSR[key] for key in ("data", "indices", "shape", "y")})
    with pytest.raises(ValueError, match=r"toy\.npz .*missing: \['indptr'\]"):
        datasets.load("toy")


def test_ascending_check_spares_row_starts(folder):
    # Column indices fall back at each row start, the third row (empty) and the last one included.
    X = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]])
    matrix = sparse.csr_matrix(X)
    np.savez(
        folder / "toy.npz",
        data=matrix.data,
        indices=matrix.indices,
        indptr=matrix.indptr,
        shape=matrix.shape,
        y=np.arange(5),
    )
    assert_array_equal(datasets.load("toy").X.toarray(), X)


def test_not_an_archive(folder):
    (folder / "toy.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"toy\.npz is not a valid"):
        datasets.load("toy")
    (folder / "toy.npz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"toy\.npz is not a valid"):
        datasets.load("toy")
    with open(folder / "toy.npz", "wb") as stream:
        np.save(stream, DENSE)
    with pytest.raises(ValueError, match=r"toy\.npz .* not an npz archive"):
        datasets.load("toy")


def test_strings_without_bytes(folder):
    """Any number of them fits a small file."""
    with zipfile.ZipFile(folder / "toy.npz", "w") as archive:
        for name, array in {"X": DENSE, "y": LABELS}.items():
            with archive.open(f"{name}.npy", "w") as stream:
                np.save(stream, array)
        with archive.open("class_names.npy", "w") as stream:
            header = {"descr": "<U0", "fortran_order": False, "shape": (10**15,)}
            np.lib.format.write_array_header_1_0(stream, header)
    with pytest.raises(ValueError, match="entries of array 'class_names' have no bytes"):
        datasets.load("toy")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_archive(folder, save):
    save(folder / "good.npz", **CSR)
    content = (folder / "good.npz").read_bytes()
    (folder / "toy.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"toy\.npz is not a valid"):
        datasets.load("toy")
    # The last bytes of the first array; the archive has a checksum of them.
    end = content.index(b"PK\x03\x04", 4)
    damaged = content[: end - 9] + bytes(b ^ 0xFF for b in content[end - 9 : end]) + content[end:]
    (folder / "toy.npz").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"toy\.npz is not a valid"):
        datasets.load("toy")


class Trap:
    """Unpickling this object creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_nothing_is_unpickled(folder):
    trap = np.array([Trap(folder / "sprung")], dtype=object)
    np.savez(folder / "toy.npz", X=trap, y=LABELS)
    with pytest.raises(ValueError, match=r"toy\.npz is not a valid"):
        datasets.load("toy")
    (folder / "toy.npz").write_bytes(pickle.dumps(trap))
    with pytest.raises(ValueError, match=r"toy\.npz is not a valid"):
        datasets.load("toy")
    assert not (folder / "sprung").exists()


# ------------------------------------------------------------------------------ folder, names


@pytest.mark.parametrize("value", [None, ""])
def test_no_default_folder(tmp_path, monkeypatch, offline, value):
    """Without HINGELINE_DATA no file is looked for, wherever the process runs."""
    np.savez(tmp_path / "reuters.npz", X=DENSE, y=LABELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HINGELINE_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("HINGELINE_DATA", value)
    assert datasets.available() == []
    with pytest.raises(FileNotFoundError, match=r"HINGELINE_DATA is not set.*set the environment variable"):
        datasets.load("reuters")
    assert datasets.load("iris").X.shape == (150, 4)
    assert not offline


def test_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("HINGELINE_DATA", "~/sets")
    (tmp_path / "sets").mkdir()
    np.savez(tmp_path / "sets" / "toy.npz", X=DENSE, y=LABELS)
    assert datasets.available() == ["toy"]


def test_available(folder):
    for name in ("b_2", "a1", "Upper", "with-dash", "a.b"):
        np.savez(folder / f"{name}.npz", X=DENSE, y=LABELS)
    (folder / "load.py").write_text("")
    (folder / "subfolder.npz").mkdir()
    assert datasets.available() == ["a1", "b_2"]


def test_available_without_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HINGELINE_DATA", str(tmp_path / "absent"))
    assert datasets.available() == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../toy",
        "/toy",
        "a/b",
        "a\\b",
        "toy.npz",
        "Toy",
        "toy\n",
        "toy\0",
        "tóy",
        "t y",
        "..",
        "٣",
    ],
)
def test_hostile_names(folder, monkeypatch, offline, name):
    # The file that "../toy" or the absolute path would reach is there.
    np.savez(folder / "toy.npz", X=DENSE, y=LABELS)
    (folder / "inner").mkdir()
    monkeypatch.setenv("HINGELINE_DATA", str(folder / "inner"))
    with pytest.raises(ValueError, match="lower case letters, digits and '_'"):
        datasets.load(name)
    assert not offline


@pytest.mark.parametrize("name", [None, 3, b"iris", Path("iris")])
def test_name_of_wrong_type(folder, name):
    with pytest.raises(TypeError, match="name must be a string"):
        datasets.load(name)


def test_unknown_name(folder, offline):
    np.savez(folder / "mine.npz", X=DENSE, y=LABELS)
    with pytest.raises(ValueError, match=r"unknown data set 'nosuchset'.*adult.*mine.*wine"):
        datasets.load("nosuchset")
    assert not offline


def test_not_downloadable(folder, offline):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("reuters")
    message = str(caught.value)
    assert str(folder / "reuters.npz") in message
    assert "the set cannot be downloaded" in message
    assert "set the environment variable HINGELINE_DATA" in message
    assert not offline


# ------------------------------------------------------------------- scikit-learn and OpenML


@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [("iris", (150, 4), [50, 50, 50]), ("wine", (178, 13), [59, 71, 48])],
)
def test_shipped_with_sklearn(folder, offline, name, shape, sizes):
    data = datasets.load(name, download_if_missing=False)
    assert data.X.shape == shape
    assert data.X.dtype == np.float32
    assert_array_equal(np.unique(data.y), [1, 2, 3])
    assert_array_equal(np.bincount(data.y)[1:], sizes)
    assert data.n_train is None
    assert not offline


def test_file_comes_first(folder, offline):
    np.savez(folder / "iris.npz", X=DENSE, y=LABELS)
    np.savez(folder / "sonar.npz", X=DENSE, y=LABELS)
    assert datasets.load("iris").X.shape == (4, 2)
    assert datasets.load("sonar").X.shape == (4, 2)
    assert not offline


@pytest.mark.parametrize(
    "failure",
    [
        URLError("no route"),
        TimeoutError("no route"),
        IncompleteRead(b""),
        ValueError("md5 checksum does not match"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_failed_download(folder, monkeypatch, failure):
    def fetch(**options):
        raise failure

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    with pytest.raises(ConnectionError) as caught:
        datasets.load("letter")
    assert caught.value.__cause__ is failure
    message = str(caught.value)
    assert str(failure) in message
    assert "set the environment variable HINGELINE_DATA to a folder" in message
    assert "letter.npz" in message
    assert str(folder) in message
    assert "allow network access to openml.org" in message


def test_download_switched_off(folder, offline):
    with pytest.raises(FileNotFoundError, match="download_if_missing=False"):
        datasets.load("letter", download_if_missing=False)
    assert not offline


def toy_remote(monkeypatch, name="letter", **change):
    """Expect a set of 4 rows in place of the real one: our labels are 7 for "a", 5 for "b"."""
    expected = datasets.openml.Remote(77, (4, 2), float(DENSE.sum(dtype=int)), {7: 3, 5: 1})
    monkeypatch.setitem(datasets.openml.OPENML, name, expected._replace(**change))


def test_download(folder, monkeypatch):
    toy_remote(monkeypatch)
    calls = serve(monkeypatch, DENSE.astype(float), np.array(["a", "b", "a", "a"], dtype=object))
    data = datasets.load("letter")
    assert calls == [{"data_id": 77, "return_X_y": True, "as_frame": False, "parser": "liac-arff"}]
    assert data.name == "letter"
    assert data.X.dtype == np.float32
    assert_array_equal(data.X, DENSE)
    assert data.y.dtype == np.int64
    assert_array_equal(data.y, [7, 5, 7, 7])
    assert data.n_train is None
    assert datasets.load("letter", dtype=None).X.dtype == np.float64


@pytest.mark.parametrize("target", [["9", "10", "9", "9"], [9.0, 10.0, 9.0, 9.0], [-1, 1, -1, -1]])
def test_download_numeric_labels(folder, monkeypatch, target):
    # As strings "10" < "9", which would exchange the classes.
    toy_remote(monkeypatch)
    serve(monkeypatch, DENSE.astype(float), np.array(target))
    assert_array_equal(datasets.load("letter").y, [7, 5, 7, 7])


def test_download_in_published_order(folder, monkeypatch):
    y = np.array(["a", "b", "a", "a"])
    # CRC-32 of the int64 values 7, 5, 7, 7.
    toy_remote(monkeypatch, n_train=3, label_crc=0xBE804D2C)
    serve(monkeypatch, DENSE.astype(float), y)
    assert datasets.load("letter").n_train == 3
    serve(monkeypatch, DENSE[::-1].astype(float), y[::-1])
    assert datasets.load("letter").n_train is None


def test_download_negative_values(folder, monkeypatch):
    toy_remote(monkeypatch)
    X = DENSE * np.array([[1.0, -1.0]])
    serve(monkeypatch, X, np.array(["a", "b", "a", "a"]))
    assert_array_equal(datasets.load("letter").X, X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_download_adult_is_sparse(folder, monkeypatch, form):
    toy_remote(monkeypatch, name="adult")
    serve(monkeypatch, form(DENSE.astype(float)), np.array(["a", "b", "a", "a"]))
    data = datasets.load("adult")
    assert isinstance(data.X, sparse.csr_matrix)
    assert_array_equal(data.X.toarray(), DENSE)


def test_download_target_kept(folder, monkeypatch):
    toy_remote(monkeypatch, name="cpu_act", counts={})
    serve(monkeypatch, DENSE.astype(float), np.array([90.0, 0.0, 99.0, 7.0]))
    data = datasets.load("cpu_act")
    assert data.y.dtype == np.int64
    assert_array_equal(data.y, [90, 0, 99, 7])
    serve(monkeypatch, DENSE.astype(float), np.array([90.5, 0.0, 99.0, 7.0]))
    assert_array_equal(datasets.load("cpu_act").y, [90.5, 0, 99, 7])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (DENSE[:3], ["a", "b", "a"], r"its shape is \(3, 2\), not \(4, 2\)"),
        (DENSE + 1.0, ["a", "b", "a", "a"], "absolute values sum to 495, not 487"),
        (DENSE * np.nan, ["a", "b", "a", "a"], "absolute values sum to nan"),
        (DENSE, ["a", "b", "b", "a"], r"classes have \[2, 2\] rows, not \[3, 1\]"),
        (DENSE, ["b", "a", "b", "b"], r"classes have \[1, 3\] rows, not \[3, 1\]"),
        (DENSE, ["a", "b", "c", "a"], r"classes have \[2, 1, 1\] rows"),
        (DENSE, ["a", "b", "a"], "classes have"),
    ],
)
def test_download_of_another_set(folder, monkeypatch, X, y, message):
    toy_remote(monkeypatch)
    serve(monkeypatch, X, np.array(y))
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load("letter")
    assert "OpenML data set 77 is not the expected copy of 'letter'" in str(caught.value)
    assert "HINGELINE_DATA" in str(caught.value)


def test_tables_are_consistent():
    assert set(datasets.openml.OPENML) <= datasets.loading.KNOWN
    assert set(datasets.loading.SHIPPED) <= datasets.loading.KNOWN
    numbers = [remote.data_id for remote in datasets.openml.OPENML.values()]
    assert len(numbers) == len(set(numbers))
    for name, remote in datasets.openml.OPENML.items():
        assert sum(remote.counts.values()) in (remote.shape[0], 0), name
        assert (remote.n_train is None) == (remote.label_crc is None), name


# --------------------------------------------------------------------------------- generators


@pytest.mark.parametrize("make", [datasets.make_chessboard, datasets.make_two_normals])
def test_generator_conventions(make):
    X, y = make(500, random_state=3)
    assert X.shape == (500, 2)
    assert X.dtype == np.float64
    assert y.shape == (500,)
    assert y.dtype == np.int64
    assert set(y.tolist()) == {-1, 1}
    X_again, y_again = make(500, random_state=np.random.RandomState(3))
    assert_array_equal(X, X_again)
    assert_array_equal(y, y_again)
    X_other, _ = make(500, random_state=4)
    assert not np.any(X == X_other)
    with pytest.raises(TypeError):
        make(500, 4)


def test_generator_sizes():
    assert len(datasets.make_chessboard(random_state=0)[1]) == 8000
    assert len(datasets.make_two_normals(random_state=0)[1]) == 15000
    assert datasets.make_chessboard(1, random_state=0)[0].shape == (1, 2)
    assert set(datasets.make_two_normals(2, random_state=0)[1].tolist()) == {-1, 1}


@pytest.mark.parametrize("n_samples", [0, -5, 2.0, "8", None, True])
@pytest.mark.parametrize("make", [datasets.make_chessboard, datasets.make_two_normals])
def test_bad_n_samples(make, n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer of at least"):
        make(n_samples)


@pytest.mark.parametrize("n_squares", [1, 0, -4, 4.0, "4", None, True])
def test_bad_n_squares(n_squares):
    with pytest.raises(ValueError, match="n_squares must be an integer of at least 2"):
        datasets.make_chessboard(10, n_squares=n_squares)


@pytest.mark.parametrize("separation", [-1, np.nan, np.inf, "2", None, True])
def test_bad_separation(separation):
    with pytest.raises(ValueError, match="separation must be finite and not negative"):
        datasets.make_two_normals(10, separation=separation)


def test_numpy_integers_accepted():
    X, _ = datasets.make_chessboard(np.int32(30), n_squares=np.int64(3), random_state=0)
    assert_array_equal(X, datasets.make_chessboard(30, n_squares=3, random_state=0)[0])


@pytest.mark.parametrize("n_squares", [2, 3, 4, 8])
def test_chessboard_labels(n_squares):
    X, y = datasets.make_chessboard(4000, n_squares=n_squares, random_state=1)
    assert np.all((X >= 0) & (X < 1))
    assert np.all(X.min(axis=0) < 0.005)
    assert np.all(X.max(axis=0) > 0.995)
    # The sign of a product of sines changes at every line of the board.
    waves = np.sin(np.pi * n_squares * X[:, 0]) * np.sin(np.pi * n_squares * X[:, 1])
    assert_array_equal(y, np.sign(waves))


def test_chessboard_default_squares():
    X, y = datasets.make_chessboard(random_state=2)
    sizes, _, _ = np.histogram2d(X[:, 0], X[:, 1], bins=4, range=[[0, 1], [0, 1]])
    sums, _, _ = np.histogram2d(X[:, 0], X[:, 1], bins=4, range=[[0, 1], [0, 1]], weights=y)
    assert_array_equal(sums / sizes, 1.0 - 2.0 * (np.indices((4, 4)).sum(axis=0) % 2))
    # Uniform: 500 points are expected in each square, with a standard deviation of 22.
    assert np.all(np.abs(sizes - 500) < 100)


@pytest.mark.parametrize("separation", [0, 1.5, 4])
def test_two_normals_moments(separation):
    X, y = datasets.make_two_normals(40001, separation=separation, random_state=5)
    assert np.sum(y == -1) == 20001
    for label in (-1, 1):
        part = X[y == label]
        assert np.allclose(part.mean(axis=0), [label * separation / 2, 0], atol=0.04)
        assert np.allclose(np.cov(part.T), np.eye(2), atol=0.05)
    # In random order: the first half of the rows is a fair sample of the classes.
    assert abs(y[:20000].mean()) < 0.04
    error = np.mean(np.sign(X[:, 0]) != y)
    assert error == pytest.approx(ndtr(-separation / 2), abs=0.012)


def test_two_normals_documented_error():
    X, y = datasets.make_two_normals(200000, random_state=6)
    assert np.mean(np.sign(X[:, 0]) != y) == pytest.approx(0.1, abs=0.003)


# --------------------------------------------------------------------------- the shared files

SHARED = Path(os.environ.get("HINGELINE_DATA") or "absent").absolute()


@pytest.fixture
def shared(monkeypatch):
    if not SHARED.is_dir():
        pytest.skip(f"there is no data folder {SHARED}; set HINGELINE_DATA")
    monkeypatch.setenv("HINGELINE_DATA", str(SHARED))

    def path(name):
        if not (SHARED / f"{name}.npz").is_file():
            pytest.skip(f"there is no file {SHARED / name}.npz")
        return SHARED / f"{name}.npz"

    return path


def test_shared_adult(shared):
    shared("adult")
    data = datasets.load("adult")
    assert data.X.shape == (48842, 123)
    assert data.X.nnz == 677323
    assert data.X_train.shape == (32561, 123)
    assert np.sum(data.y_train == 1) == 7841
    assert np.sum(data.y_test == 1) == 3846
    assert set(data.y.tolist()) == {-1, 1}


def test_shared_reuters(shared):
    # Its column indices are stored as uint16.
    shared("reuters")
    data = datasets.load("reuters", dtype=np.float64)
    assert data.X_train.shape == (7770, 8315)
    assert data.X_test.shape == (3299, 8315)
    assert np.allclose(np.sqrt(data.X.multiply(data.X).sum(axis=1)), 1, atol=1e-5)


def test_shared_class_names(shared):
    shared("news20")
    data = datasets.load("news20")
    assert len(data.class_names) == 20
    assert data.class_names[0] == "alt.atheism"
    assert data.n_train == 11314


def test_shared_all_small_files_load(shared):
    small = [name for name in datasets.available() if shared(name).stat().st_size < 700_000]
    if not small:
        pytest.skip(f"there are no files in {SHARED}")
    for name in small:
        data = datasets.load(name)
        with np.load(SHARED / f"{name}.npz", allow_pickle=False) as stored:
            assert_array_equal(data.y, stored["y"])
            values = data.X.data if sparse.issparse(data.X) else data.X
            assert_array_equal(values, stored["data" if sparse.issparse(data.X) else "X"])


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_shared_equals_sklearn(shared, tmp_path, monkeypatch, name):
    shared(name)
    stored = datasets.load(name)
    monkeypatch.setenv("HINGELINE_DATA", str(tmp_path))
    shipped = datasets.load(name)
    assert_array_equal(stored.X, shipped.X)
    assert_array_equal(stored.y, shipped.y)


@pytest.mark.parametrize("name", sorted(datasets.openml.OPENML))
def test_shared_is_recognised_as_download(shared, tmp_path, monkeypatch, name):
    """A true copy of the set, served with labels of the right order, passes every check."""
    shared(name)
    stored = datasets.load(name, dtype=None)
    order = list(datasets.openml.OPENML[name].counts)
    target = stored.y if not order else np.array([f"class {order.index(v):02}" for v in stored.y])
    monkeypatch.setenv("HINGELINE_DATA", str(tmp_path))
    serve(monkeypatch, stored.X, target)
    fetched = datasets.load(name, dtype=None)
    assert_array_equal(fetched.y, stored.y)
    assert fetched.n_train == stored.n_train
    assert fetched.X.shape == stored.X.shape
