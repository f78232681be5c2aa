"""Writers of data files."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import PurePath
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import stdout
from ..errors import DataError, UsageError
from ..output import csv_text, file_writer
from . import ENDINGS, FORMATS, all_rows, blocks_of
from .examples import Form, Rows, convert_labels, make_dense
from .sources import name_of

#: Cells of a sparse matrix that are written as a table at a time.
CELLS = 1 << 20
#: Columns of a table at most. One large index in a LIBSVM file would make a table of billions of cells.
MOST_COLUMNS = 1 << 20


def write_rows(path: str, form: Form, output: str, to: str | None) -> tuple[int, int, str]:
    """Convert a data file. Returns the numbers of rows and features, and the format.

    LIBSVM's format is written row by row. The others need the number of features, so the data are held in memory.
    """
    to = format_of(output, to)
    if to != "libsvm":
        rows = all_rows(path, form)
        write(rows, output, to)
        return (*rows.X.shape, to)
    n, d = 0, 0
    with _writer(output) as put:
        for part in blocks_of(path, form):
            put(svmlight_lines(part, name_of(path)))
            n, d = n + len(part), max(d, part.X.shape[1])
    return n, d, to


def format_of(output: str, to: str | None) -> str:
    """Format of an output, by name unless it is given."""
    suffixes = [suffix.lower() for suffix in PurePath(output).suffixes if suffix.lower() != ".gz"]
    found = to or ENDINGS.get(suffixes[-1] if suffixes else "")
    if found not in FORMATS:
        raise UsageError(f"the format of {output} is not known. Give --to: {', '.join(FORMATS)}.")
    return found


def write(rows: Rows, output: str, to: str) -> None:
    """Write rows to a file; labels come last in tables."""
    if to in ("npz", "parquet") and output == "-":
        raise UsageError(f"{to} cannot be written to standard output.")
    with _writer(output) as put:
        if to == "npz":
            put(_npz(rows))
        elif to == "parquet":
            put(_parquet(rows))
        elif to == "csv":
            for text in _csv(rows, "\t" if ".tsv" in PurePath(output).suffixes else ","):
                put(text)
        else:
            put(svmlight_lines(rows, output))


@contextmanager
def _writer(output: str) -> Iterator[Callable[[bytes], Any]]:
    """Function that writes to a file, through gzip if its name says so, or to standard output."""
    if output == "-":
        yield stdout.write
        return
    with file_writer(output) as put:
        if not output.lower().endswith(".gz"):
            yield put
            return
        buffer = io.BytesIO()
        with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed:

            def write_packed(text: bytes) -> None:
                packed.write(text)
                put(buffer.getvalue())
                buffer.seek(0)
                buffer.truncate()

            yield write_packed
        put(buffer.getvalue())


def svmlight_lines(rows: Rows, name: str) -> bytes:
    """Rows in LIBSVM's format, with all digits. Rows without labels get the label 0."""
    X = sp.csr_array(rows.X)
    labels = _are_numbers(rows, name)
    indices, values, ends = (X.indices + 1).tolist(), list(map(_digits, X.data.tolist())), X.indptr.tolist()
    pairs = [f" {index}:{value}" for index, value in zip(indices, values, strict=True)]
    lines = (f"{label}{''.join(pairs[ends[k] : ends[k + 1]])}\n" for k, label in enumerate(labels))
    return "".join(lines).encode()


def _are_numbers(rows: Rows, name: str) -> list[str]:
    if rows.labels is None:
        return ["0"] * len(rows)
    labels = convert_labels(rows.labels)
    if labels.dtype.kind not in "biuf":
        raise DataError(name, f"labels of LIBSVM's format are numbers. Got {labels[0]!s:.40}")
    return list(map(_digits, labels.tolist()))


def _digits(value: float) -> str:
    """Shortest text that gives the same number when it is read."""
    text = repr(value)
    return text.removesuffix(".0")


def _names(rows: Rows) -> list[str]:
    """Names of the columns of features of a table."""
    if rows.X.shape[1] > MOST_COLUMNS:
        raise UsageError(f"a table has at most {MOST_COLUMNS:,} columns. The data have {rows.X.shape[1]:,} features.")
    return list(rows.names or [f"x{k}" for k in range(1, rows.X.shape[1] + 1)])


def _csv(rows: Rows, delimiter: str) -> Iterator[bytes]:
    """Pieces of a CSV file with a line of names."""
    labels = None if rows.labels is None else _texts_of(rows.labels)
    yield csv_text([_names(rows) + ([] if labels is None else ["label"])], delimiter)
    step = max(1, CELLS // max(rows.X.shape[1], 1))
    for begin in range(0, len(rows), step):
        X = rows.X[begin : begin + step]
        table = [list(map(_digits, row)) for row in make_dense(X).tolist()]
        if labels is not None:
            table = [[*row, label] for row, label in zip(table, labels[begin : begin + step], strict=True)]
        yield csv_text(table, delimiter)


def _texts_of(labels: Any) -> list[str]:
    return (
        list(labels)
        if isinstance(labels, list)
        else [_digits(one) if not isinstance(one, str) else one for one in convert_labels(labels).tolist()]
    )


def _npz(rows: Rows) -> bytes:
    if rows.labels is None:
        raise UsageError("an NPZ file needs labels.")
    arrays: dict[str, Any] = {"y": convert_labels(rows.labels)}
    X = rows.X
    if isinstance(X, np.ndarray):
        arrays["X"] = X
    else:
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def _parquet(rows: Rows) -> bytes:
    from .arrays import pyarrow

    arrow, parquet = pyarrow("pyarrow"), pyarrow("pyarrow.parquet")
    names = _names(rows)
    X = make_dense(rows.X)
    columns = [arrow.array(X[:, k]) for k in range(X.shape[1])]
    if rows.labels is not None:
        names.append("label")
        columns.append(arrow.array(convert_labels(rows.labels)))
    content = io.BytesIO()
    parquet.write_table(arrow.Table.from_arrays(columns, _require_different(names)), content)
    return content.getvalue()


def _require_different(names: list[str]) -> list[str]:
    """Names with a number behind those that occur before."""
    given, result = set(names), dict[str, None]()
    for name in names:
        numbered = (f"{name}_{k}" for k in count(2))
        new = name if name not in result else next(one for one in numbered if one not in given and one not in result)
        result[new] = None
    return list(result)
