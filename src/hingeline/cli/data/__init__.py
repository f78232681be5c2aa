"""Data files: LIBSVM's format, CSV, NPZ and Parquet, from files or standard input, also compressed by gzip."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from io import BufferedReader
from pathlib import PurePath

import scipy.sparse as sp

from ..errors import DataError, UsageError
from .examples import Form, Rows, join
from .sources import BEGINNING, name_of, open_source, position, size_of

__all__ = ["FORMATS", "Form", "Rows", "all_rows", "blocks_of", "recognise", "size_of"]

#: Formats by the ending of a file. Other files are recognised by their content.
ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".npz": "npz", ".parquet": "parquet", ".pq": "parquet",
    ".libsvm": "libsvm", ".svm": "libsvm", ".svmlight": "libsvm",
}  # fmt: skip
FORMATS = ("libsvm", "csv", "npz", "parquet")
MAGIC = {b"PK\x03\x04": "npz", b"PAR1": "parquet"}
#: Features of a LIBSVM file that are accepted for few values: a large index must not ask for much memory.
FEATURES = 1 << 24
#: A line of LIBSVM's format: a label, and pairs of an index and a value.
LIBSVM_LINE = re.compile(rb"[^\s,;:]+(?:\s+(?:\d+|qid):[^\s,;:]+)+\s*(?:#.*)?")


def blocks_of(path: str, form: Form, done: Callable[[int], None] | None = None) -> Generator[Rows, None, None]:
    """Yield the rows of a file, some at a time, within bounded memory (NPZ: the whole file).

    `done` gets the number of bytes of the file that have been read.
    """
    with open_source(path) as stream:
        name = name_of(path)
        kind = recognise(stream.peek(BEGINNING), path) if form.format == "auto" else form.format
        if kind is None:
            return
        _require_columns(kind, name, form)
        for rows in _reader(kind)(stream, name, form):
            yield rows.make_dense() if form.dense and form.n_features is not None else rows
            if done is not None and size_of(path):
                done(position(stream))


def all_rows(path: str, form: Form) -> Rows:
    """All rows of a file."""
    parts = [part for part in blocks_of(path, form) if len(part)]
    if not parts:
        raise DataError(name_of(path), "the file has no rows")
    rows = join(parts)
    width, most = rows.X.shape[1], 16 * getattr(rows.X, "nnz", 0) + FEATURES
    if form.n_features is None and sp.issparse(rows.X) and width > most:
        message = f"the largest index is {width:,}, far beyond the number of values. Give --n-features if it is right"
        raise DataError(name_of(path), message)
    return rows.make_dense() if form.dense else rows.settle_layout()


def recognise(beginning: bytes, path: str) -> str | None:
    """Format of a file, by content and name; None if it is empty."""
    if not beginning:
        return None
    for magic, kind in MAGIC.items():
        if beginning.startswith(magic):
            return kind
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    ending = next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")
    if ENDINGS.get(ending) in ("csv", "libsvm"):
        return ENDINGS[ending]
    if b"\0" in beginning:
        from ...files.kinds import REMEDIES, kind_of_content

        found = kind_of_content(beginning)
        what = f"the file is {REMEDIES[found]}" if found in REMEDIES else "unknown format"
        raise DataError(name_of(path), f"{what}. Data formats are {', '.join(FORMATS)}")
    lines = [line for line in beginning.splitlines() if line.partition(b"#")[0].strip()]
    if any(LIBSVM_LINE.match(line) for line in lines[:2]):
        return "libsvm"
    return "csv" if any(mark in line for line in lines[:1] for mark in (b",", b";", b"\t")) else "libsvm"


def _require_columns(kind: str, name: str, form: Form) -> None:
    """Refuse options of tables for files that have no columns."""
    given = {
        "--id": form.id,
        "--target": None if form.target == "none" else form.target,
        "--drop": form.drop,
        "--categories": form.categories,
    }
    options = [option for option, value in given.items() if value]
    if kind in ("libsvm", "npz") and options:
        raise UsageError(f"{options[0]}: {name} is in the format {kind}, which has no columns.")


def _reader(kind: str) -> Callable[[BufferedReader, str, Form], Iterator[Rows]]:
    if kind == "csv":
        from .tables import read
    elif kind == "libsvm":
        from .svmlight import read
    elif kind == "npz":
        from .arrays import read_npz as read
    else:
        from .arrays import read_parquet as read
    return read
