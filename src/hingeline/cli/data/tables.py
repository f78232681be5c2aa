"""Tables: CSV, and what CSV and Parquet share, the meaning of columns."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
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
#: Cells without a value, in lower case.
EMPTY = {"", "na", "n/a", "nan", "null", "none", "?"}


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
        named = {self._place(one, "--categories") for one in form.categories if one != "auto"}
        if named - {*self.features}:
            raise UsageError("--categories: the column is that of the labels or ids, or is dropped.")
        #: Columns whose cells are texts.
        self.words = named | {self.features[k] for k in form.words}

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

    def find_words(self, rows: Sequence[Sequence[Any]], is_word: Callable[[Any], bool | None]) -> None:
        """Add the columns that have texts and no number; `is_word` gives None for empty cells."""
        for k in self.features:
            found = {is_word(row[k]) for row in rows if k < len(row)} - {None}
            if found == {True}:
                self.words.add(k)

    def places_of_words(self) -> tuple[int, ...]:
        """Features whose values are texts, from 0."""
        return tuple(k for k, column in enumerate(self.features) if column in self.words)

    def remedy(self, place: int, *, empty: bool, form: Form) -> str:
        """What to do about a cell that is no number."""
        if not form.prepares:
            return ""
        column = self.names[place] if self.names is not None else str(place + 1)
        fill, words = "--missing median fills empty cells", f"--categories {column} takes texts as categories"
        return f". {fill if empty else words}; --drop {column} leaves the column out"

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
    columns, pending, places, auto = None, [], [], "auto" in form.categories
    table: Iterator[tuple[int, list[str]]] = number_columns(source, delimiter, name)
    while (found := next(table, None)) is not None:
        line, row = found
        source.size = 0
        if columns is None:
            header, table = _is_header(row, table, name, form)
            columns = Columns(name, row if header else None, len(row), form)
            most = min(form.most_rows, max(1, CELLS // len(row)))
            if header:
                continue
        pending.append(row)
        places.append(line)
        if len(pending) >= most:
            if auto:
                columns.find_words(pending, _is_word)
            yield _convert(pending, places, columns, form)
            pending, places, auto = [], [], False
    if columns is not None and pending:
        if auto:
            columns.find_words(pending, _is_word)
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


def _is_header(
    row: list[str], rest: Iterator[tuple[int, list[str]]], name: str, form: Form
) -> tuple[bool, Iterator[tuple[int, list[str]]]]:
    """Whether the first row has names, and the rows behind it.

    It has if the user says so, or if a cell of the features is not a number. With columns of texts that is a cell above
    a number or an empty cell, or every cell if there is no number below.
    """
    if form.header != "auto":
        return form.header == "yes", rest
    given = [one for one in (form.target, form.id, *form.drop, *form.categories) if one not in (None, "none", "auto")]
    if not all(map(_is_integer, given)):
        return True, rest
    columns = Columns(name, None, len(row), form)
    words = [k for k in columns.features if row[k].strip() and number_of(row[k]) is None]
    if not (form.categories or form.words):
        return bool(words), rest
    second = next(rest, None)
    if second is None:
        return False, rest
    below = second[1]
    numbers = [k for k in columns.features if k < len(below) and not _is_word(below[k])]
    header = any(k in words for k in numbers) or (not numbers and len(words) == len(columns.features))
    return header, chain([second], rest)


def _is_word(cell: str) -> bool | None:
    """Whether a cell is a text and no number; None if it is empty."""
    if cell.strip().lower() in EMPTY:
        return None
    return number_of(cell) is None


def _convert(rows: list[list[str]], places: list[int], columns: Columns, form: Form) -> Rows:
    labels = (
        None if columns.target is None else [row[columns.target].strip() for row in rows if len(row) > columns.target]
    )
    ids = None if columns.id is None else [row[columns.id] for row in rows if len(row) > columns.id]
    X = _mixed(rows, places, columns, form) if columns.words or form.missing else _plain(rows, places, columns, form)
    return Rows(X, labels, ids, columns.feature_names(), columns.places_of_words())


def _mixed(rows: list[list[str]], places: list[int], columns: Columns, form: Form) -> np.ndarray:
    """Features with empty cells, which are NaN, or with texts, in an array of objects."""
    if (error := _locate(rows, places, columns, form)) is not None:
        raise error
    X = np.empty((len(rows), len(columns.features)), dtype=object if columns.words else form.dtype)
    for k, column in enumerate(columns.features):
        cells = [row[column].strip() for row in rows]
        empty = [cell.lower() in EMPTY for cell in cells]
        if column in columns.words:
            X[:, k] = [np.nan if none else cell for none, cell in zip(empty, cells, strict=True)]
        else:
            X[:, k] = [np.nan if none else float(cell) for none, cell in zip(empty, cells, strict=True)]
    return X


def _plain(rows: list[list[str]], places: list[int], columns: Columns, form: Form) -> np.ndarray:
    """Features that are all numbers."""
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
    return X


def _locate(rows: list[list[str]], places: list[int], columns: Columns, form: Form) -> DataError | None:
    """Error with the place of the first cell that is not valid."""
    for row, line in zip(rows, places, strict=True):
        if len(row) != columns.count:
            return DataError(columns.name, f"expected {columns.count} cells, as in the first row. Got {len(row)}", line)
        for k in columns.features:
            empty = row[k].strip().lower() in EMPTY
            if k in columns.words or (empty and form.missing):
                continue
            number = number_of(row[k])
            if number is None or not is_finite(number, form.dtype):
                message = f"a feature must be a finite number. Got {row[k][:40]!r}{columns.cell(k)}"
                message += columns.remedy(k, empty=empty, form=form) if number is None or empty else ""
                return DataError(columns.name, message, line, k + 1)
    return None


def _is_plain(cells: Sequence[str]) -> bool:
    """Whether NumPy reads the cells of a row as `number_of` does."""
    text = "".join(cells)
    return "_" not in text and text.isascii()


def _is_integer(text: str | None) -> bool:
    return text is not None and text.lstrip("-").isdecimal()
