"""A data set and its file: the class, and a reader that trusts nothing in the file."""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..base.inputs import limit_of

Samples: TypeAlias = npt.NDArray[Any] | sparse.csr_matrix


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set: samples, labels and, if one was published, the split into training and test part.

    Parameters
    ----------
    name : str
        Name of the set.
    X : ndarray or csr_matrix of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Labels, or target values of a regression set.
    n_train : int or None, default=None
        The first `n_train` rows are the published training part, the others the test part. None if no split was
        published or the order of the rows is not known.
    class_names : tuple of str or None, default=None
        Names of the classes. If given, `y` holds positions in this tuple.

    Attributes
    ----------
    X_train, X_test : ndarray or csr_matrix
        Rows of `X` in the two parts; views if `X` is dense.
    y_train, y_test : ndarray
        Entries of `y` in the two parts.

    Raises
    ------
    ValueError
        If the arguments do not fit together. The four attributes above raise it if there is no published split.

    Examples
    --------
    >>> import numpy as np
    >>> from hingeline.datasets import Dataset
    >>> toy = Dataset("toy", np.eye(3), np.array([-1, 1, 1]), n_train=2)
    >>> toy
    Dataset('toy', 3 x 3, dense float64, train 2, test 1)
    >>> toy.y_test
    array([1])
    """

    name: str
    X: Samples
    y: npt.NDArray[Any]
    n_train: int | None = None
    class_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if np.ndim(self.y) != 1:
            raise ValueError(f"y must have one dimension, but its shape is {np.shape(self.y)}")
        # Sparse matrices do not support len(), and some versions of them do not support np.ndim().
        if len(self.X.shape) != 2:
            raise ValueError(f"X must have two dimensions, but its shape is {self.X.shape}")
        rows = self.X.shape[0]
        if rows != len(self.y):
            raise ValueError(f"X has {rows} rows, but y has {len(self.y)} entries")
        split, names = self.n_train, self.class_names
        if split is not None and not (isinstance(split, Integral) and 0 < split < rows):
            raise ValueError(f"n_train must lie between 1 and {rows - 1}, but is {split!r}")
        if names is not None:
            last = len(names) - 1
            if self.y.dtype.kind not in "iu" or np.any((self.y < 0) | (self.y > last)):
                raise ValueError(f"y must hold positions in class_names, integers from 0 to {last}")

    def __repr__(self) -> str:
        kind = "sparse" if sparse.issparse(self.X) else "dense"
        text = f"{self.X.shape[0]} x {self.X.shape[1]}, {kind} {self.X.dtype}"
        if self.n_train is not None:
            text += f", train {self.n_train}, test {self.X.shape[0] - self.n_train}"
        if self.class_names is not None:
            text += f", {len(self.class_names)} class names"
        return f"Dataset({self.name!r}, {text})"

    def _split(self) -> int:
        if self.n_train is None:
            raise ValueError(
                f"data set {self.name!r} has no published split into training and test part; use X and y, for "
                "instance with sklearn.model_selection.train_test_split"
            )
        return self.n_train

    @property
    def X_train(self) -> Samples:
        """Samples of the published training part."""
        return self.X[: self._split()]

    @property
    def y_train(self) -> npt.NDArray[Any]:
        """Labels of the published training part."""
        return self.y[: self._split()]

    @property
    def X_test(self) -> Samples:
        """Samples of the published test part."""
        return self.X[self._split() :]

    @property
    def y_test(self) -> npt.NDArray[Any]:
        """Labels of the published test part."""
        return self.y[self._split() :]


def _labels(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels as int64 or float64: differences of stored uint8 values would overflow."""
    if y.dtype.kind in "biu":
        return y.astype(np.int64)
    return y.astype(np.float64) if y.dtype.kind == "f" else y


def read(path: Path) -> Dataset:
    """Read and check one file; a defect of its content raises a ValueError that names it."""
    with open(path, "rb") as stream:
        try:
            return read_content(stream, path.stem)
        except ValueError as error:
            raise ValueError(f"{path} is {error}") from error


def read_content(stream: IO[bytes], name: str, packed: int | None = None) -> Dataset:
    """Read and check the content of a file; a defect raises ValueError.

    `packed` is the number of bytes that the file has on disk, if it was compressed as a whole.
    """
    wanted = ("X", "data", "indices", "indptr", "shape", "y", "n_train", "class_names")
    # OSError: a damaged archive asks for an impossible position. RuntimeError: the archive is encrypted or its
    # compression method is unknown.
    # MemoryError: the header of an array gives a shape that does not fit in memory.
    damage = (ValueError, EOFError, OSError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)
    arrays: dict[str, npt.NDArray[Any]] = {}
    try:
        content = np.load(stream, allow_pickle=False)
        if not isinstance(content, np.lib.npyio.NpzFile):
            raise ValueError("it is not an npz archive")
        with content:
            _require_moderate(content, stream.seek(0, os.SEEK_END) if packed is None else packed, wanted)
            for key in wanted:
                if key in content:
                    arrays[key] = np.asarray(content[key])
                    if not arrays[key].itemsize:  # any number of entries fits a small file
                        raise ValueError(f"the entries of array {key!r} have no bytes")
        return _assemble(name, arrays)
    except damage as error:
        raise ValueError(f"not a valid data set file: {error}") from error


def _require_moderate(content: Any, packed: int, wanted: tuple[str, ...]) -> None:
    """Refuse arrays that unpack to far more than the file. zipfile does not read beyond the sizes stated."""
    members = [member for member in content.zip.infolist() if member.filename.removesuffix(".npy") in wanted]
    size, limit = sum(member.file_size for member in members), limit_of(packed)
    if size > limit:
        raise ValueError(
            f"its arrays unpack to {size:,} bytes, more than {limit:,}, the most for {packed:,} compressed bytes. If "
            "they are right, write them with numpy.savez, or X as a CSR matrix"
        )


def _assemble(name: str, arrays: dict[str, npt.NDArray[Any]]) -> Dataset:
    if "y" not in arrays:
        raise ValueError("array 'y' is missing")
    if arrays["y"].dtype.kind not in "biufU":
        raise ValueError(f"y must hold numbers or strings, but its type is {arrays['y'].dtype}")
    X = arrays["X"] if "X" in arrays else _csr(arrays)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, but its type is {X.dtype}")

    n_train = None
    if "n_train" in arrays:
        if arrays["n_train"].size != 1 or arrays["n_train"].dtype.kind not in "iu":
            raise ValueError("n_train must be one integer")
        n_train = int(arrays["n_train"].item())
    class_names = None
    if "class_names" in arrays:
        if arrays["class_names"].ndim != 1 or arrays["class_names"].dtype.kind != "U":
            raise ValueError("class_names must be a one-dimensional array of strings")
        class_names = tuple(arrays["class_names"].tolist())
    return Dataset(name, X, _labels(arrays["y"]), n_train, class_names)


def _csr(arrays: dict[str, npt.NDArray[Any]]) -> sparse.csr_matrix:
    """CSR matrix from its arrays, all of which are checked."""
    missing = [key for key in ("data", "indices", "indptr", "shape") if key not in arrays]
    if missing:
        raise ValueError(f"there is neither an array 'X' nor a CSR matrix (missing: {missing})")
    data, indices, indptr, shape = (arrays[key] for key in ("data", "indices", "indptr", "shape"))
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or int(shape.min()) < 0:
        raise ValueError("shape must hold two integers that are not negative")
    rows, columns = (int(extent) for extent in shape)
    for key in ("indices", "indptr"):
        if arrays[key].ndim != 1 or arrays[key].dtype.kind not in "iu":
            raise ValueError(f"{key} must be a one-dimensional array of integers")
    if data.shape != indices.shape:
        raise ValueError(f"data has shape {data.shape}, but indices has shape {indices.shape}")
    if len(indptr) != rows + 1:
        raise ValueError(f"indptr has {len(indptr)} entries, but {rows} rows need {rows + 1}")
    if indptr[0] != 0 or indptr[-1] != len(data) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"indptr must ascend from 0 to {len(data)}, the number of entries")
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < columns:
        raise ValueError(f"indices must lie between 0 and {columns - 1}")
    ascends = indices[1:] > indices[:-1]
    # At the start of a row the column index may be smaller than the one before.
    starts = indptr[1:-1]
    ascends[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    if not ascends.all():
        raise ValueError("indices must ascend within each row, without duplicates")

    index_type = np.int32 if max(columns, len(data)) <= np.iinfo(np.int32).max else np.int64
    parts = (data, indices.astype(index_type), indptr.astype(index_type))
    return sparse.csr_matrix(parts, shape=(rows, columns))
