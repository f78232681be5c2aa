"""Text files in LIBSVM format as Dask arrays, read in blocks by scikit-learn's reader."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from ...base.progress import progress
from .partitions import compute, da, delayed

#: Number of columns of a block before the number of features is known.
ANY_FEATURES = 2**31 - 1
#: Arrays of a block, files in its folder of the cache.
ARRAYS = ("data", "indices", "indptr", "labels")


class Block(NamedTuple):
    """Lines of a file that begin in [offset, offset + length); length 0: all lines from offset."""

    path: str
    offset: int
    length: int
    stamp: int


def read_libsvm(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: npt.DTypeLike = np.float64,
    blocksize: int | str = "64MiB",
    cache: str | os.PathLike[str] | None = None,
    show_progress: bool | None = None,
) -> tuple[da.Array, da.Array]:
    """Read rows and labels from files in LIBSVM format, which may be larger than the memory.

    Parameters
    ----------
    path : str, path or list of them
        Files; a str may contain wildcards. A compressed file (.gz, .bz2) is one block.
    n_features : int, default=None
        Number of features. None: the files are read once to determine it.
    zero_based : bool or 'auto', default='auto'
        Whether features are numbered from 0. 'auto': from 1 if no file has a feature 0; the files are read once to
        determine this.
    dtype : dtype, default=float64
        Type of the entries of X: float64 or float32.
    blocksize : int or str, default='64MiB'
        Bytes of text in a block. Its rows take about as much memory.
    cache : path, default=None
        Folder for decoded blocks, which are memory-mapped when they are needed again, so that text is parsed once. A
        file that has changed is parsed again. Workers on other computers need a shared folder.
    show_progress : bool, default=None
        Whether to show a progress bar while features are counted. None: on a terminal.

    Returns
    -------
    X : dask array of shape (n_samples, n_features)
        Rows; each chunk is a CSR matrix.
    y : dask array of shape (n_samples,)
        Labels. Numbers of rows are unknown (nan) if the files were not read.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import dump_svmlight_file, load_iris
    >>> from hingeline import LinearSVC
    >>> from hingeline.linear.dask import read_libsvm
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = os.path.join(folder.name, "iris.txt")
    >>> dump_svmlight_file(*load_iris(return_X_y=True), file)
    >>> X, y = read_libsvm(file, blocksize="2kB")
    >>> X.shape, X.numblocks
    ((150, 4), (2, 1))
    >>> model = LinearSVC().fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> folder.cleanup()
    """
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto'. Got {zero_based!r}.")
    dtype = np.dtype(dtype)
    if dtype not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32. Got {dtype}.")
    blocks = _cut(_find_files(path), _parse_size(blocksize))
    folder = None if cache is None else os.path.abspath(os.fspath(cache))
    sizes: list[Any] = [np.nan] * len(blocks)
    if n_features is None or zero_based == "auto":
        looks: list[tuple[int, int, int]] = []
        step = 64
        with progress(show_progress, len(blocks), "reading") as tell:
            for at in range(0, len(blocks), step):
                looks += compute(*[delayed(_look)(block, dtype, folder) for block in blocks[at : at + step]])
                tell(len(looks))
        sizes = [rows for rows, _, _ in looks]
        if zero_based == "auto":
            zero_based = min(first for _, first, _ in looks) == 0
        most = max(last for _, _, last in looks) + int(zero_based)
        if n_features is not None and most > n_features:
            raise ValueError(f"n_features is {n_features}, but the files have {most} features. Increase n_features.")
        n_features = max(most, 1) if n_features is None else n_features
    first = 0 if zero_based else 1
    meta = sp.csr_matrix((0, 0), dtype=dtype)
    X, y = [], []
    for block, size in zip(blocks, sizes, strict=True):
        both = delayed(_decode, nout=2)(block, dtype, folder, int(n_features), first)
        X.append(da.from_delayed(both[0], shape=(size, int(n_features)), meta=meta))
        y.append(da.from_delayed(both[1], shape=(size,), dtype=np.float64))
    return (
        da.concatenate(X, axis=0, allow_unknown_chunksizes=True),
        da.concatenate(y, axis=0, allow_unknown_chunksizes=True),
    )


def _parse_size(size: int | str) -> int:
    from dask.utils import parse_bytes

    number = int(parse_bytes(size))
    if number < 1:
        raise ValueError(f"blocksize must be at least one byte. Got {size!r}.")
    return number


def _find_files(path: Any) -> list[str]:
    found = []
    for one in [path] if isinstance(path, str | os.PathLike) else path:
        name = os.fspath(one)
        matches = [name] if os.path.exists(name) else sorted(glob.glob(name))
        if not matches:
            raise FileNotFoundError(f"No such file: {name}")
        found += [os.path.abspath(match) for match in matches]
    if not found:
        raise ValueError("path must name at least one file.")
    return found


def _cut(files: list[str], blocksize: int) -> list[Block]:
    blocks = []
    for path in files:
        status = os.stat(path)
        if path.endswith((".gz", ".bz2")) or status.st_size <= blocksize:
            blocks.append(Block(path, 0, 0, status.st_mtime_ns))
            continue
        count = -(-status.st_size // blocksize)
        edges = [status.st_size * k // count for k in range(count + 1)]
        blocks += [Block(path, start, stop - start, status.st_mtime_ns) for start, stop in pairwise(edges)]
    return blocks


# ---- tasks -----------------------------------------------------------------------------------------


def _read(block: Block, dtype: np.dtype, folder: str | None) -> tuple[Any, np.ndarray]:
    """Rows, with features numbered as in the file, and labels; from the cache if possible."""
    if folder is None:
        return _parse(block, dtype)
    mark = hashlib.sha256(repr((tuple(block), dtype.str)).encode()).hexdigest()[:24]
    place = Path(folder) / mark
    if not place.is_dir():
        _store(place, *_parse(block, dtype))
    arrays = [np.load(place / f"{name}.npy", mmap_mode="r") for name in ARRAYS]
    data, indices, indptr, labels = arrays
    return sp.csr_matrix((data, indices, indptr), shape=(len(labels), ANY_FEATURES), copy=False), labels


def _parse(block: Block, dtype: np.dtype) -> tuple[Any, np.ndarray]:
    X, y = load_svmlight_file(
        block.path,
        n_features=ANY_FEATURES,
        dtype=dtype,
        zero_based=True,
        offset=block.offset,
        length=block.length if block.length else -1,
    )
    small = np.int32 if X.nnz < 2**31 else np.int64
    parts = (X.data, X.indices.astype(small, copy=False), X.indptr.astype(small, copy=False))
    return sp.csr_matrix(parts, shape=X.shape, copy=False), y


def _store(place: Path, X: Any, y: np.ndarray) -> None:
    """Write a block to a temporary folder, then rename it: an existing folder is always complete."""
    place.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}-"))
    try:
        for name, array in zip(ARRAYS, (X.data, X.indices, X.indptr, y), strict=True):
            np.save(work / f"{name}.npy", array)
        try:
            work.replace(place)
        except OSError:  # another task has stored the block
            if not place.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _look(block: Block, dtype: np.dtype, folder: str | None) -> tuple[int, int, int]:
    """Number of rows, smallest and largest feature number of a block."""
    X, y = _read(block, dtype, folder)
    first = int(X.indices.min(initial=ANY_FEATURES))
    return len(y), first, int(X.indices.max(initial=0))


def _decode(block: Block, dtype: np.dtype, folder: str | None, n_features: int, first: int) -> tuple[Any, np.ndarray]:
    """Rows and labels of a block whose features are numbered from `first`."""
    X, y = _read(block, dtype, folder)
    if X.nnz and not (first <= X.indices.min() and X.indices.max() - first < n_features):
        raise ValueError(
            f"n_features={n_features} with zero_based={first == 0} is too small for {block.path}, whose features are "
            f"numbered from {X.indices.min()} to {X.indices.max()}. Increase n_features."
        )
    indices = X.indices - first if first else X.indices
    return sp.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], n_features), copy=False), np.array(y)
