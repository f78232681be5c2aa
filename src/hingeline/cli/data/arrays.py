"""Data files of arrays: NPZ in the layout of hingeline.datasets, and Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator
from io import BufferedReader
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._extras import optional
from ..errors import DataError
from .examples import Form, Rows
from .tables import EMPTY, Columns

#: Rows of a Parquet file that are converted at a time.
BATCH = 1 << 16


def read_npz(stream: BufferedReader, name: str, form: Form) -> Iterator[Rows]:
    """Yield the rows of an NPZ file, which is held in memory, in blocks."""
    from ...datasets.files import read_content

    content = io.BytesIO(stream.read())
    packed = getattr(getattr(stream, "raw", None), "packed", None)  # of a stream that is unpacked on the way
    try:
        data = read_content(content, name, packed)
    except ValueError as error:
        raise DataError(name, str(error)) from error
    width = data.X.shape[1]
    if form.n_features is not None and width != form.n_features:
        raise DataError(name, f"expected {form.n_features} features. Got {width}")
    with np.errstate(over="ignore"):
        X = data.X.astype(form.dtype)
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values).all():
        raise DataError(name, "X must hold finite numbers")
    labels = data.y if data.class_names is None else np.array(data.class_names)[data.y]
    _require_finite(labels, name)
    step = min(form.most_rows, max(1, (1 << 20) // max(width, 1)))
    for begin in range(0, len(labels), step):
        part = X[begin : begin + step]
        yield Rows(sp.csr_array(part) if sp.issparse(part) else part, labels[begin : begin + step])


def read_parquet(stream: BufferedReader, name: str, form: Form) -> Iterator[Rows]:
    """Yield the rows of a Parquet file, some at a time."""
    parquet = pyarrow("pyarrow.parquet")
    source = stream if stream.seekable() else io.BytesIO(stream.read())
    try:
        file = parquet.ParquetFile(source)
        names = file.schema_arrow.names
        columns, row = Columns(name, names, len(names), form), 1
        if "auto" in form.categories:
            types = [file.schema_arrow.field(k).type for k in range(len(names))]
            columns.words |= {k for k in columns.features if _holds_words(types[k])}
        for batch in file.iter_batches(batch_size=min(BATCH, form.most_rows)):
            yield _convert(batch, columns, row, form)
            row += batch.num_rows
    except (OSError, pyarrow("pyarrow").ArrowException) as error:
        raise DataError(name, f"not a valid Parquet file: {error}") from error


def _convert(batch: Any, columns: Columns, first: int, form: Form) -> Rows:
    features = [(_words if k in columns.words else _numbers)(batch, k, columns, first, form) for k in columns.features]
    labels = None if columns.target is None else batch.column(columns.target).to_pylist()
    if labels is not None and not all(isinstance(label, str) for label in labels):
        labels = np.asarray(labels)
        if labels.dtype.kind not in "biuf":
            raise DataError(columns.name, "labels must be numbers or strings", first, (columns.target or 0) + 1)
        _require_finite(labels, columns.name)
    ids = None if columns.id is None else [str(one) for one in batch.column(columns.id).to_pylist()]
    return Rows(np.column_stack(features), labels, ids, columns.feature_names(), columns.places_of_words())


def _holds_words(kind: Any) -> bool:
    """Whether a type of Arrow is that of texts, also in a dictionary."""
    types = pyarrow("pyarrow").types
    inner = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner))


def _words(batch: Any, place: int, columns: Columns, first: int, form: Form) -> np.ndarray:
    """Column of texts; missing ones are NaN."""
    cells = ["" if cell is None else str(cell).strip() for cell in batch.column(place).to_pylist()]
    column = np.empty(len(cells), dtype=object)
    column[:] = [np.nan if cell.lower() in EMPTY else cell for cell in cells]
    return column


def _numbers(batch: Any, place: int, columns: Columns, first: int, form: Form) -> np.ndarray:
    """Column of features as numbers."""
    column = batch.column(place)
    try:
        with np.errstate(over="ignore"):
            values = column.to_numpy(zero_copy_only=False).astype(form.dtype)
    except (ValueError, TypeError) as error:
        message = f"a feature must be a finite number. Got type {column.type}{columns.cell(place)}"
        message += columns.remedy(place, empty=False, form=form)
        raise DataError(columns.name, message, first, place + 1) from error
    bad = np.flatnonzero(np.isinf(values) if form.missing else ~np.isfinite(values))
    if len(bad):
        message = f"a feature must be a finite number. Got {column[int(bad[0])]}{columns.cell(place)}"
        message += columns.remedy(place, empty=True, form=form) if np.isnan(values[bad[0]]) else ""
        raise DataError(columns.name, message, first + int(bad[0]), place + 1)
    return values


def _require_finite(labels: np.ndarray, name: str) -> None:
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError(name, "labels must be finite numbers")


def pyarrow(module: str) -> ModuleType:
    """Module of pyarrow; an error says how to install it."""
    from importlib import import_module

    with optional("A Parquet file"):
        return import_module(module)
