"""Tables: CSV, and what CSV and Parquet share, the meaning of columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from ...base.inputs import number_of
from ..errors import DataError, UsageError
from . import sources
from .examples import Form, Rows, is_finite
from .sources import lines

#: Cells that are converted at a time.
CELLS = 1 << 18
DELIMITERS = ",;\t"


class Columns:
    """Which columns of a table are features, labels, ids.

    Parameters
    ----------
    name : str
        File.
    names : sequence of str or None
        Names of the columns, if there are any.
    count : int
        Number of columns.
    form : Form
        What the user has said.
    """

    def __init__(self, name: str, names: Sequence[str] | None, count: int, form: Form) -> None:
        self.name, self.names, self.count = name, names, count
        dropped = {self._place(one, "--drop") for one in form.drop}
        self.id = None if form.id is None else self._place(form.id, "--id")
        left = [k for k in range(count) if k not in dropped and k != self.id]
        self.target = self._target(form, left)
        self.features = [k for k in left if k != self.target]
        if form.n_features is not None and len(self.features) != form.n_features:
            raise DataError(name, f"expected {form.n_features} features. Got {len(self.features)}", 1)
        if not self.features:
            raise DataError(name, "the table has no column of features", 1)

    def _target(self, form: Form, left: list[int]) -> int | None:
        if form.target is not None:
            return None if form.target == "none" else self._place(form.target, "--target")
        if not left or (not form.labels and len(left) == form.n_features):
            return None
        return left[-1]

    def _place(self, column: str, option: str) -> int:
        """Number of a column from 0, given its name or its number from 1 (negative: from the end)."""
        if self.names is not None and column in self.names:
            return list(self.names).index(column)
        try:
            number = int(column)
        except ValueError:
            known = f"Its columns are {', '.join(self.names)}" if self.names else "It has no names; give a number"
            raise UsageError(f"{option} {column}: {self.name} has no such column. {known}.") from None
        if not 1 <= abs(number) <= self.count:
            raise UsageError(f"{option} {column}: {self.name} has {self.count} columns.")
        return number - 1 if number > 0 else self.count + number

    def feature_names(self) -> list[str] | None:
        return None if self.names is None else [self.names[k] for k in self.features]

    def cell(self, place: int) -> str:
        """Words for a column in messages."""
        return "" if self.names is None else f" ({self.names[place]})"


def read(stream: BufferedReader, name: str, form: Form) -> Iterator[Rows]:
    """Yield the rows of a CSV file, some at a time."""
    text = lines(stream, name)
    n_empty, first = 0, next(text, "")
    while first and not first.strip("\r\n"):
        n_empty, first = n_empty + 1, next(text, "")
    source = _Bounded(chain(repeat("\n", n_empty), [first], text), name)
    delimiter = form.delimiter or max(DELIMITERS, key=first.count)
    columns, pending, places = None, [], []
    for line, row in number_columns(source, delimiter, name):
        source.size = 0
        if columns is None:
            header = _is_header(row, name, form)
            columns = Columns(name, row if header else None, len(row), form)
            most = min(form.most_rows, max(1, CELLS // len(row)))
            if header:
                continue
        pending.append(row)
        places.append(line)
        if len(pending) >= most:
            yield _convert(pending, places, columns, form)
            pending, places = [], []
    if columns is not None and pending:
        yield _convert(pending, places, columns, form)


class _Bounded:
    """Lines of a row, which may be many if its cells have line breaks, but not without end.

    `size` counts characters; it is set to 0 when a row is complete.
    """

    def __init__(self, text: Iterator[str], name: str) -> None:
        self.text, self.name, self.size = text, name, 0

    def __iter__(self) -> _Bounded:
        return self

    def __next__(self) -> str:
        line = next(self.text)
        self.size += len(line)
        if self.size > sources.LONGEST:
            raise DataError(
                self.name, f"a row has more than {sources.LONGEST:,} characters, the largest length allowed"
            )
        return line


def number_columns(text: Iterable[str], delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line where a row begins and its cells. Empty lines are skipped."""
    csv.field_size_limit(sources.LONGEST)  # of the whole process; the default is 128 KiB
    table = csv.reader(text, delimiter=delimiter)
    while True:
        line = table.line_num + 1
        try:
            row = next(table, None)
        except csv.Error as error:
            raise DataError(name, str(error), line) from error
        if row is None:
            return
        if row:
            yield line, row


def _is_header(row: list[str], name: str, form: Form) -> bool:
    """Whether the first row has names: the user says so, or a cell of the features is not a number."""
    if form.header != "auto":
        return form.header == "yes"
    given = [one for one in (form.target, form.id, *form.drop) if one not in (None, "none")]
    if not all(map(_is_integer, given)):
        return True
    features = Columns(name, None, len(row), form).features
    return any(row[k].strip() and number_of(row[k]) is None for k in features)


def _convert(rows: list[list[str]], places: list[int], columns: Columns, form: Form) -> Rows:
    features = columns.features
    take: Any = itemgetter(*features) if len(features) > 1 else (lambda row: (row[features[0]],))
    try:
        with np.errstate(over="ignore"):
            cells = [take(row) for row in rows]
            X = np.array(cells, dtype=form.dtype)
    except (ValueError, IndexError) as error:
        raise _locate(rows, places, columns, form) or DataError(columns.name, str(error), places[0]) from error
    if not np.isfinite(X).all() or not all(map(_is_plain, cells)) or any(len(row) != columns.count for row in rows):
        raise _locate(rows, places, columns, form) or DataError(columns.name, "a number is not finite", places[0])
    labels = None if columns.target is None else [row[columns.target].strip() for row in rows]
    ids = None if columns.id is None else [row[columns.id] for row in rows]
    return Rows(X, labels, ids, columns.feature_names())


def _locate(rows: list[list[str]], places: list[int], columns: Columns, form: Form) -> DataError | None:
    """Error with the place of the first cell that is not valid."""
    for row, line in zip(rows, places, strict=True):
        if len(row) != columns.count:
            return DataError(columns.name, f"expected {columns.count} cells, as in the first row. Got {len(row)}", line)
        for k in columns.features:
            number = number_of(row[k])
            if number is None or not is_finite(number, form.dtype):
                message = f"a feature must be a finite number. Got {row[k][:40]!r}{columns.cell(k)}"
                return DataError(columns.name, message, line, k + 1)
    return None


def _is_plain(cells: Sequence[str]) -> bool:
    """Whether NumPy reads the cells of a row as `number_of` does."""
    text = "".join(cells)
    return "_" not in text and text.isascii()


def _is_integer(text: str | None) -> bool:
    return text is not None and text.lstrip("-").isdecimal()
