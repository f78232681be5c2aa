"""Loading of data sets by name: from a file, from scikit-learn, or from OpenML."""

from __future__ import annotations

import os
import re
from http.client import HTTPException
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .files import Dataset, read
from .openml import OPENML, fetch, recognise

#: Environment variable that names the folder of the files.
ENVIRONMENT = "HINGELINE_DATA"
NAME = re.compile(r"[a-z0-9_]+")

# fmt: off
KNOWN = frozenset((
    "a1a", "abalone", "adult", "banana", "cancer", "cpu_act", "dermatology", "era", "esl", "eukaryotic", "glass",
    "heart", "ijcnn1", "iris", "kdd99", "letter", "lev", "mnist", "news20", "optdigits", "pendigits", "prokaryotic",
    "reuters", "satimage", "shuttle", "sonar", "swd", "teach", "usps", "vote", "vote435", "w3a", "w8a", "wine",
    "winequality_red", "winequality_white",
))
# fmt: on

#: Sets that scikit-learn ships, and its loaders. Their labels start at 0, ours at 1.
SHIPPED = {"iris": "load_iris", "wine": "load_wine"}


def _folder() -> Path | None:
    """Folder of the files, or None if the variable is not set or empty."""
    name = os.environ.get(ENVIRONMENT)
    return Path(name).expanduser() if name else None


def available() -> list[str]:
    """List the data sets in the data folder.

    Returns
    -------
    list of str
        Names of the files in the folder named by ``HINGELINE_DATA``, in sorted order. Empty if the variable is not set
        or the folder does not exist.

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
    folder = _folder()
    files = [] if folder is None else [path for path in folder.glob("*.npz") if path.is_file()]
    return sorted(path.stem for path in files if NAME.fullmatch(path.stem))


def load(name: str, *, dtype: npt.DTypeLike | None = np.float32, download_if_missing: bool = True) -> Dataset:
    """Load a data set by name.

    The set is read from ``NAME.npz`` in the folder named by the environment variable ``HINGELINE_DATA``. If the
    variable is not set or the file does not exist, ``iris`` and ``wine`` come from scikit-learn, and some other sets
    are downloaded from OpenML and cached by scikit-learn. A download is compared with the known size, class sizes and
    sum of absolute values of the set.

    Parameters
    ----------
    name : str
        Lower case letters, digits and underscores only, such as ``"adult"``.
    dtype : {float32, float64} or None, default=float32
        Type of the returned samples. None keeps the stored type, which may be as small as uint8, where sums overflow.
    download_if_missing : bool, default=True
        If False, never use the network.

    Returns
    -------
    Dataset
        Its `X` is a ``scipy.sparse.csr_matrix`` for sparse sets. Integer labels are int64, targets of other numeric
        type float64. `n_train` of a downloaded set is None unless its rows are in published order.

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
    A file holds the array `y` and either `X` (dense) or `data`, `indices`, `indptr` and `shape` (CSR, column indices in
    ascending order); optionally the integer `n_train` and the strings `class_names`. It is read without unpickling.

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
    if not NAME.fullmatch(name):
        raise ValueError(f"name must be of lower case letters, digits and '_', but is {name!r}")
    target = None if dtype is None else np.dtype(dtype)
    if target not in (None, np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32, float64 or None, but is {dtype!r}")

    folder = _folder()
    path = None if folder is None else folder / f"{name}.npz"
    if path is not None and path.is_file():
        found = read(path)
    elif name in SHIPPED:
        found = _load_shipped(name)
    elif name not in KNOWN:
        names = ", ".join(sorted(KNOWN.union(available())))
        unset = "" if folder else f" ({ENVIRONMENT}, which names the folder of other sets, is not set)"
        raise ValueError(f"unknown data set {name!r}; known are: {names}{unset}")
    elif name in OPENML and download_if_missing:
        found = _download(name, path)
    else:
        off = "downloading is switched off (download_if_missing=False)"
        reason = off if name in OPENML else "the set cannot be downloaded"
        raise FileNotFoundError(f"{_explain_missing(path)}, and {reason}; {_remedy(name)}")
    if target is None or found.X.dtype == target:
        return found
    return Dataset(name, found.X.astype(target), found.y, found.n_train, found.class_names)


def _explain_missing(path: Path | None) -> str:
    return f"{ENVIRONMENT} is not set" if path is None else f"there is no file {path}"


def _remedy(name: str) -> str:
    return f"set the environment variable {ENVIRONMENT} to a folder that holds {name}.npz"


def _load_shipped(name: str) -> Dataset:
    """The copy that scikit-learn ships."""
    from sklearn import datasets

    X, y = getattr(datasets, SHIPPED[name])(return_X_y=True)
    return Dataset(name, X, y.astype(np.int64) + 1)


def _download(name: str, path: Path | None) -> Dataset:
    """The copy of OpenML; `path` is where a file was expected."""
    number = OPENML[name].data_id
    try:
        X, target = fetch(name)
    except (OSError, HTTPException, ValueError) as error:
        # ValueError: a damaged transfer (checksum), or an error that the server itself reports.
        raise ConnectionError(
            f"data set {name!r} could not be downloaded from OpenML (number {number}): {error}. Either "
            f"{_remedy(name)} ({_explain_missing(path)}), or allow network access to openml.org"
        ) from error
    try:
        return recognise(name, X, target)
    except ValueError as error:
        raise ValueError(
            f"OpenML data set {number} is not the expected copy of {name!r}: {error}. To use a file instead, "
            f"{_remedy(name)}"
        ) from error
