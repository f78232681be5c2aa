"""Data sets of the SVM literature: a loader for prepared files and two generators.

:func:`load` reads ``NAME.npz`` from the folder named by the environment variable
``HINGELINE_DATA`` (default: ``../shared/data``, relative to the working directory).  Where the file
is absent it falls back on scikit-learn's own copy or on OpenML, for the sets known to be there.
:func:`make_chessboard` and :func:`make_two_normals` draw the artificial sets of Kecman and Melki.
"""

from __future__ import annotations

import math
import os
import re
import zipfile
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

from .openml import OPENML as _OPENML
from .openml import Remote as _Remote

__all__ = ["Dataset", "available", "load", "make_chessboard", "make_two_normals"]

_ENVIRONMENT = "HINGELINE_DATA"
_DEFAULT_FOLDER = "../shared/data"
_NAME = re.compile(r"[a-z0-9_]+")

# fmt: off
_KNOWN = frozenset((
    "a1a", "abalone", "adult", "banana", "cancer", "cpu_act", "dermatology", "era", "esl",
    "eukaryotic", "glass", "heart", "ijcnn1", "iris", "kdd99", "letter", "lev", "mnist", "news20",
    "optdigits", "pendigits", "prokaryotic", "reuters", "satimage", "shuttle", "sonar", "swd",
    "teach", "usps", "vote", "vote435", "w3a", "w8a", "wine", "winequality_red",
    "winequality_white",
))
# fmt: on

# Sets that scikit-learn ships: name of its loader.  Its labels count from 0, ours from 1.
_SHIPPED = {"iris": "load_iris", "wine": "load_wine"}


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set: samples, labels and, where one was published, the split into two parts.

    Parameters
    ----------
    name : str
        Name of the set.
    X : ndarray or csr_matrix of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Labels, or target values of a regression set.
    n_train : int or None, default=None
        The first `n_train` rows are the published training part, the others the test part.
        ``None`` if no split was published (or its row order is not known).
    class_names : tuple of str or None, default=None
        Names of the classes.  If given, `y` holds positions in this tuple.

    Attributes
    ----------
    X_train, X_test : ndarray or csr_matrix
        The rows of `X` in the two parts.  Views of `X` if it is dense.
    y_train, y_test : ndarray
        The entries of `y` in the two parts.

    Raises
    ------
    ValueError
        If the parts do not fit together.  The four attributes above raise it where there is no
        published split.

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
    X: Any
    y: npt.NDArray[Any]
    n_train: int | None = None
    class_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if np.ndim(self.y) != 1:
            raise ValueError(f"y must have one dimension, but its shape is {np.shape(self.y)}")
        # len() is refused by sparse matrices, np.ndim() by some of their versions.
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
                f"data set {self.name!r} has no published split into training and test part; "
                "use X and y, for instance with sklearn.model_selection.train_test_split"
            )
        return self.n_train

    @property
    def X_train(self) -> Any:
        """Samples of the published training part."""
        return self.X[: self._split()]

    @property
    def y_train(self) -> npt.NDArray[Any]:
        """Labels of the published training part."""
        return self.y[: self._split()]

    @property
    def X_test(self) -> Any:
        """Samples of the published test part."""
        return self.X[self._split() :]

    @property
    def y_test(self) -> npt.NDArray[Any]:
        """Labels of the published test part."""
        return self.y[self._split() :]


def _folder() -> Path:
    # An empty variable counts as unset: it would otherwise mean the working directory.
    return Path(os.environ.get(_ENVIRONMENT) or _DEFAULT_FOLDER).expanduser()


def available() -> list[str]:
    """List the data sets that lie in the data folder.

    Returns
    -------
    list of str
        Names that :func:`load` can read without network access, in sorted order.  Empty if the
        folder named by ``HINGELINE_DATA`` (default ``../shared/data``) does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> from unittest import mock
    >>> import numpy as np
    >>> from hingeline.datasets import available
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(os.path.join(folder, "toy.npz"), X=np.eye(2), y=[-1, 1])
    ...     with mock.patch.dict(os.environ, HINGELINE_DATA=folder):
    ...         available()
    ['toy']
    """
    files = [path for path in _folder().glob("*.npz") if path.is_file()]
    return sorted(path.stem for path in files if _NAME.fullmatch(path.stem))


def load(
    name: str,
    *,
    dtype: npt.DTypeLike | None = np.float32,
    download_if_missing: bool = True,
) -> Dataset:
    """Load a data set by name.

    The set is read from ``NAME.npz`` in the folder named by the environment variable
    ``HINGELINE_DATA`` (default ``../shared/data``, relative to the working directory).  Without
    that file, ``iris`` and ``wine`` come from scikit-learn, and some other sets are downloaded
    from OpenML, where scikit-learn caches them.  A download is compared with the known size, class
    sizes and sum of absolute values of the set.

    Parameters
    ----------
    name : str
        Lower case letters, digits and underscores only, such as ``"adult"``.
    dtype : {float32, float64} or None, default=float32
        Type of the returned samples.  ``None`` keeps the stored type, which may be as small as
        uint8, where sums overflow.
    download_if_missing : bool, default=True
        If False, never use the network.

    Returns
    -------
    Dataset
        Its `X` is a ``scipy.sparse.csr_matrix`` for sparse sets.  Integer labels are int64, targets
        of other numeric type float64.  `n_train` of a downloaded set is ``None`` unless its rows
        were found to be in published order.

    Raises
    ------
    ValueError
        If the name is malformed or unknown, or if the file (or the download) is not a valid copy.
    FileNotFoundError
        If there is no file and the set cannot be, or must not be, downloaded.
    ConnectionError
        If the download fails.

    See Also
    --------
    available : Names of the sets in the folder.

    Notes
    -----
    A file holds the array `y` and either `X` (dense) or `data`, `indices`, `indptr` and `shape`
    (CSR, column indices in ascending order); optionally the integer `n_train` and the strings
    `class_names`.  It is read without unpickling anything.

    Examples
    --------
    >>> from hingeline.datasets import load
    >>> iris = load("iris")
    >>> iris
    Dataset('iris', 150 x 4, dense float32)
    >>> [int(label) for label in iris.y[::50]]
    [1, 2, 3]
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, but is {name!r}")
    if not _NAME.fullmatch(name):
        raise ValueError(f"name must be of lower case letters, digits and '_', but is {name!r}")
    target = None if dtype is None else np.dtype(dtype)
    if target not in (None, np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32, float64 or None, but is {dtype!r}")

    folder = _folder()
    path = folder / f"{name}.npz"
    if path.is_file():
        found = _read(path)
    elif name in _SHIPPED:
        found = _shipped(name)
    elif name not in _KNOWN:
        names = ", ".join(sorted(_KNOWN.union(available())))
        raise ValueError(f"unknown data set {name!r}; known are: {names}")
    elif name in _OPENML and download_if_missing:
        found = _download(name, folder)
    else:
        reason = (
            "downloading is switched off (download_if_missing=False)"
            if name in _OPENML
            else "the set cannot be downloaded"
        )
        raise FileNotFoundError(
            f"there is no file {path}, and {reason}; set the environment variable {_ENVIRONMENT} "
            f"to a folder that holds {name}.npz"
        )
    if target is None or found.X.dtype == target:
        return found
    return Dataset(name, found.X.astype(target), found.y, found.n_train, found.class_names)


def _labels(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Widen labels: negating or subtracting a stored uint8 would wrap around."""
    if y.dtype.kind in "biu":
        return y.astype(np.int64)
    return y.astype(np.float64) if y.dtype.kind == "f" else y


def _read(path: Path) -> Dataset:
    """Read and check one file; every defect of its content is a ValueError that names it."""
    wanted = ("X", "data", "indices", "indptr", "shape", "y", "n_train", "class_names")
    # A damaged archive can also send the reader to an impossible position (OSError); RuntimeError
    # stands for one that is encrypted or compressed in an unknown way.
    damage = (ValueError, EOFError, OSError, RuntimeError, zipfile.BadZipFile, zlib.error)
    arrays: dict[str, npt.NDArray[Any]] = {}
    with open(path, "rb") as stream:
        try:
            content = np.load(stream, allow_pickle=False)
            if not isinstance(content, np.lib.npyio.NpzFile):
                raise ValueError("it is not an npz archive")
            with content:
                for key in wanted:
                    if key in content:
                        arrays[key] = np.asarray(content[key])
            return _assemble(path.stem, arrays)
        except damage as error:
            raise ValueError(f"{path} is not a valid data set file: {error}") from error


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


def _csr(arrays: dict[str, npt.NDArray[Any]]) -> Any:
    """Build a CSR matrix from its arrays, none of which is trusted."""
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
    # Where a new row begins the column index may fall back.
    starts = indptr[1:-1]
    ascends[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    if not ascends.all():
        raise ValueError("indices must ascend within each row, without duplicates")

    index_type = np.int32 if max(columns, len(data)) <= np.iinfo(np.int32).max else np.int64
    parts = (data, indices.astype(index_type), indptr.astype(index_type))
    return sparse.csr_matrix(parts, shape=(rows, columns))


def _shipped(name: str) -> Dataset:
    from sklearn import datasets

    X, y = getattr(datasets, _SHIPPED[name])(return_X_y=True)
    return Dataset(name, X, y.astype(np.int64) + 1)


def _download(name: str, folder: Path) -> Dataset:
    from sklearn import datasets

    remote = _OPENML[name]
    try:
        # This parser needs no pandas.
        X, target = datasets.fetch_openml(
            data_id=remote.data_id,
            return_X_y=True,
            as_frame=False,
            parser="liac-arff",
        )
    except (OSError, HTTPException, ValueError) as error:
        # ValueError: a damaged transfer (checksum), or an error that the server itself reports.
        raise ConnectionError(
            f"data set {name!r} could not be downloaded from OpenML (number {remote.data_id}): "
            f"{error}. Either set the environment variable {_ENVIRONMENT} to a folder that holds "
            f"{name}.npz (looked in {folder}), or allow network access to openml.org"
        ) from error
    try:
        return _recognise(name, remote, X, np.asarray(target))
    except ValueError as error:
        raise ValueError(
            f"OpenML data set {remote.data_id} is not the expected copy of {name!r}: {error}. Set "
            f"the environment variable {_ENVIRONMENT} to a folder that holds {name}.npz"
        ) from error


def _recognise(name: str, remote: _Remote, X: Any, target: npt.NDArray[Any]) -> Dataset:
    """Translate the labels of a download and make sure that it is the set we mean."""
    if tuple(X.shape) != remote.shape:
        raise ValueError(f"its shape is {tuple(X.shape)}, not {remote.shape}")
    values = X.data if sparse.issparse(X) else X
    total = float(np.abs(values).sum(dtype=np.float64))
    if not math.isclose(total, remote.abs_sum, rel_tol=1e-4):
        raise ValueError(f"its absolute values sum to {total:.9g}, not {remote.abs_sum:.9g}")

    if remote.counts:
        y = _translate(target, remote.counts)
    else:
        y = target.astype(np.float64)
        if np.array_equal(y, np.rint(y)):
            y = y.astype(np.int64)

    if name == "adult":
        # A sparse set in our files; OpenML may serve either form.
        X = sparse.csr_matrix(X)
        X.sum_duplicates()
    n_train = None
    if remote.label_crc is not None and zlib.crc32(y.astype("<i8").tobytes()) == remote.label_crc:
        n_train = remote.n_train
    return Dataset(name, X, y, n_train)


def _translate(target: npt.NDArray[Any], counts: dict[int, int]) -> npt.NDArray[Any]:
    source, codes, sizes = np.unique(target.astype(str), return_inverse=True, return_counts=True)
    # Numbers are put in numeric order ("10" after "9"), all else in that of the characters.
    try:
        order = np.argsort(source.astype(np.float64), kind="stable")
    except ValueError:
        order = np.arange(len(source))
    found, expected = sizes[order].tolist(), list(counts.values())
    if found != expected:
        raise ValueError(f"its classes have {found} rows, not {expected}")
    labels = np.empty(len(source), dtype=np.int64)
    labels[order] = list(counts)
    return labels[codes]


def _at_least(value: object, least: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, but is {value!r}")
    return int(value)


def make_chessboard(
    n_samples: int = 8000,
    *,
    n_squares: int = 4,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Draw the chessboard set: two classes that alternate over the unit square.

    Points are uniform on [0, 1) x [0, 1), which is cut into `n_squares` by `n_squares` equal
    squares.  The square at the origin has label +1, and squares that share a side have opposite
    labels.  The classes do not overlap: the Bayes error is 0.

    Parameters
    ----------
    n_samples : int, default=8000
        Number of points, at least 1.
    n_squares : int, default=4
        Squares along each side, at least 2.
    random_state : int, RandomState instance or None, default=None
        Source of randomness; an int gives the same points in every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 2), float64
        Points.
    y : ndarray of shape (n_samples,), int64
        Labels, -1 or +1.

    Raises
    ------
    ValueError
        If `n_samples` or `n_squares` is not an integer or too small.

    Notes
    -----
    The number of points is that of [1]_.  The paper does not say how many squares its board has;
    4 x 4 is the board commonly used to test SVMs.

    References
    ----------
    .. [1] V. Kecman and G. Melki, "Fast Online Algorithms for Support Vector Machines: Models and
       Experimental Studies", 2016.

    Examples
    --------
    >>> from hingeline.datasets import make_chessboard
    >>> X, y = make_chessboard(200, random_state=0)
    >>> X.shape
    (200, 2)
    >>> sorted(set(y.tolist()))
    [-1, 1]
    """
    n_samples = _at_least(n_samples, 1, "n_samples")
    n_squares = _at_least(n_squares, 2, "n_squares")
    X: npt.NDArray[np.float64] = check_random_state(random_state).uniform(size=(n_samples, 2))
    square = np.floor(n_squares * X).astype(np.int64)
    return X, 1 - 2 * (square.sum(axis=1) % 2)


def make_two_normals(
    n_samples: int = 15000,
    *,
    separation: float = 2.5631,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    r"""Draw two normally distributed classes in the plane.

    Both classes have the identity matrix as covariance.  Their means lie on the first axis at
    ``-separation / 2`` (label -1) and ``separation / 2`` (label +1).  The classes are of equal size
    (class -1 has one point more if `n_samples` is odd), in random order.

    Parameters
    ----------
    n_samples : int, default=15000
        Number of points, at least 2.
    separation : float, default=2.5631
        Distance of the two means, in standard deviations; not negative.  The default makes the
        Bayes error 10.0 %.
    random_state : int, RandomState instance or None, default=None
        Source of randomness; an int gives the same points in every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 2), float64
        Points.
    y : ndarray of shape (n_samples,), int64
        Labels, -1 or +1.

    Raises
    ------
    ValueError
        If `n_samples` is not an integer or too small, or if `separation` is not a finite number
        or negative.

    Notes
    -----
    The best possible rule is the sign of the first coordinate.  Its error is
    :math:`\Phi(-s / 2)`, where `s` is `separation` and :math:`\Phi` the standard normal
    distribution function.

    The number of points is that of [1]_.  The paper gives neither means nor covariances, so the
    ones used here are a choice of this library and error rates cannot be compared with the
    paper's.

    References
    ----------
    .. [1] V. Kecman and G. Melki, "Fast Online Algorithms for Support Vector Machines: Models and
       Experimental Studies", 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from hingeline.datasets import make_two_normals
    >>> X, y = make_two_normals(random_state=0)
    >>> X.shape
    (15000, 2)
    >>> print(f"{np.mean(np.sign(X[:, 0]) != y):.2f}")  # error of the best rule
    0.10
    """
    n_samples = _at_least(n_samples, 2, "n_samples")
    number = isinstance(separation, Real) and not isinstance(separation, bool)
    if not (number and 0 <= separation < math.inf):
        raise ValueError(f"separation must be finite and not negative, but is {separation!r}")
    random = check_random_state(random_state)
    y = np.ones(n_samples, dtype=np.int64)
    y[: (n_samples + 1) // 2] = -1
    random.shuffle(y)
    X: npt.NDArray[np.float64] = random.standard_normal(size=(n_samples, 2))
    X[:, 0] += 0.5 * float(separation) * y
    return X, y
