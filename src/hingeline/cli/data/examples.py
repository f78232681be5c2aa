"""Rows of data files, and their labels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ...base.inputs import number_of
from ..errors import DataError

Features: TypeAlias = np.ndarray | sp.csr_array
#: Labels as a file has them: numbers, or texts.
Labels: TypeAlias = np.ndarray | list[str]

#: Share of stored values from which rows of a LIBSVM file become a dense array.
DENSE = 0.5
#: Integers that floating-point numbers represent.
EXACT = 2.0**53
#: Labels that are numbers.
NUMBER = re.compile(r"\s*[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


@dataclass(frozen=True)
class Form:
    """What is known about a data file before it is read.

    Attributes
    ----------
    format : str
        'auto' or a name of a format.
    target : str or None
        Column of the labels in tables: name, number from 1 (negative: from the end), 'none', or None: the last one.
    header : str
        'auto', 'yes' or 'no': whether the first line of a table has names.
    delimiter : str or None
        Character between cells; None: recognised.
    drop : tuple of str
        Columns to ignore.
    id : str or None
        Column of the ids of the rows.
    n_features : int or None
        Number of features; None: that of the file.
    ignore_extra : bool
        Whether further features of a LIBSVM file are ignored. Otherwise they are an error.
    labels : bool
        Whether labels are required. Otherwise a table with `n_features` columns has none.
    kernel_values : bool
        Whether rows are kernel values, with their number as feature 0 in LIBSVM's format.
    dtype : str
        Type of the features.
    most_rows : int
        Number of rows that are read at a time, at most (LIBSVM's format: what is there).
    missing : bool
        Whether cells of features may be empty; they become NaN.
    categories : tuple of str
        Columns whose cells are texts, by name or number; 'auto': those without numbers among the first rows.
    words : frozenset of int
        The same for a model that is known: numbers of features, from 0.
    dense : bool
        Whether the rows of LIBSVM files become a dense array.
    prepares : bool
        Whether the command has the options --missing and --categories, which errors then name.
    """

    format: str = "auto"
    target: str | None = None
    header: str = "auto"
    delimiter: str | None = None
    drop: tuple[str, ...] = ()
    id: str | None = None
    n_features: int | None = None
    ignore_extra: bool = False
    labels: bool = True
    kernel_values: bool = False
    dtype: str = "float64"
    most_rows: int = 1 << 20
    missing: bool = False
    categories: tuple[str, ...] = ()
    words: frozenset[int] = frozenset()
    dense: bool = False
    prepares: bool = False


@dataclass(frozen=True)
class Rows:
    """Some rows of a file.

    Attributes
    ----------
    X : ndarray or CSR array
        Features.
    labels : ndarray or list of str or None
        Labels as they are in the file: numbers, or strings.
    ids : list of str or None
        Ids of the rows.
    names : sequence of str or None
        Names of the features.
    words : tuple of int
        Features whose values are texts; X then is an array of objects.
    """

    X: Features
    labels: Labels | None = None
    ids: list[str] | None = None
    names: Sequence[str] | None = field(default=None, compare=False)
    words: tuple[int, ...] = ()

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def part(self, begin: int, end: int) -> Rows:
        """Rows from `begin` to `end`."""
        ids = None if self.ids is None else self.ids[begin:end]
        labels = None if self.labels is None else self.labels[begin:end]
        return Rows(self.X[begin:end], labels, ids, self.names, self.words)

    def settle_layout(self) -> Rows:
        """Rows as a dense array if most values are stored."""
        if isinstance(self.X, np.ndarray) or self.X.nnz < DENSE * self.X.shape[0] * self.X.shape[1]:
            return self
        return self.make_dense()

    def make_dense(self) -> Rows:
        """Rows as a dense array."""
        return Rows(make_dense(self.X), self.labels, self.ids, self.names, self.words)


def join(parts: list[Rows]) -> Rows:
    """Several parts as one."""
    if len(parts) == 1:
        return parts[0]
    ids = None if parts[0].ids is None else [one for part in parts for one in part.ids or ()]
    return Rows(_stack([part.X for part in parts]), _join_labels(parts), ids, parts[0].names, parts[0].words)


def skip_rows(parts: Iterable[Rows], n: int, name: str) -> Iterator[Rows]:
    """Yield the rows behind the first `n`; DataError if there are fewer."""
    left = n
    for part in parts:
        skipped = min(left, len(part))
        left -= skipped
        yield part.part(skipped, len(part))
    if left:
        message = f"the model has learnt {n} examples, but the data have {n - left}. Give --no-skip if they come after"
        raise DataError(name, message)


def batches(parts: Iterable[Rows], size: int) -> Iterator[Rows]:
    """Yield the rows, `size` at a time; the last batch may be smaller."""
    pending: list[Rows] = []
    for part in parts:
        begin = 0
        while begin < len(part):
            end = begin + size - sum(map(len, pending))
            pending.append(part.part(begin, end))
            begin = end
            if begin <= len(part):
                yield join(pending)
                pending = []
    if pending:
        yield join(pending)


def make_dense(X: Features) -> np.ndarray:
    """Rows as a dense array."""
    return X if isinstance(X, np.ndarray) else X.toarray()


def _join_labels(parts: list[Rows]) -> Labels | None:
    if parts[0].labels is None:
        return None
    if isinstance(parts[0].labels, list):
        return [label for part in parts for label in part.labels or ()]
    return np.concatenate([part.labels for part in parts if part.labels is not None])


def _stack(parts: list[Features]) -> Features:
    if not sp.issparse(parts[0]):
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize((part.shape[0], width))
    return sp.vstack(parts, format="csr")


def convert_labels(labels: Labels) -> np.ndarray:
    """Labels as integers if all are, else as numbers if all are, else as strings: 01 and 1_0 are no numbers.

    Booleans are the integers 0 and 1.
    """
    if isinstance(labels, list):
        if not all(NUMBER.fullmatch(str(label)) for label in labels):
            return np.array(labels, dtype=str)
        try:
            return np.array([int(label) for label in labels], dtype=np.int64)
        except (ValueError, OverflowError):
            labels = np.array([float(label) for label in labels])
    labels = np.asarray(labels)
    if labels.dtype.kind == "b":
        return labels.astype(np.int64)
    if labels.dtype.kind == "f" and (labels == np.trunc(labels)).all() and (np.abs(labels) <= EXACT).all():
        return labels.astype(np.int64)
    return labels


def convert_targets(labels: Labels, name: str) -> np.ndarray:
    """Targets of a regression in double; DataError if one is not a finite number."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "biuf":
        values = labels.astype(np.float64)
    else:
        values = np.array([math.nan if number is None else number for number in map(_number, labels)])
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        found = f"Got {str(labels[bad[0]])[:40]!r} in row {bad[0] + 1:,}"
        raise DataError(name, f"a target must be a finite number. {found}, without the line of names")
    return values


def match_classes(labels: Labels, classes: np.ndarray, name: str) -> np.ndarray:
    """Labels in the type of known classes; DataError if there is one that has another type."""
    if classes.dtype.kind in "USO":
        return np.array([_text(label) for label in labels], dtype=str)
    numbers = convert_labels(labels)
    if numbers.dtype.kind not in "biuf" or (numbers.dtype.kind == "f" and classes.dtype.kind in "iu"):
        kinds = (convert_labels(labels[k : k + 1]).dtype.kind for k in range(len(labels)))
        other = next(k for k, kind in enumerate(kinds) if kind != classes.dtype.kind)
        raise DataError(name, f"labels must be of the type {classes.dtype}, as the first ones. Got {labels[other]}")
    return numbers.astype(classes.dtype)


def texts_like(labels: Labels, predicted: np.ndarray) -> list[str]:
    """Labels as the texts that predicted labels of the same value have."""
    if predicted.dtype.kind in "USO":
        return [_text(label) for label in labels]
    numbers = [_number(label) for label in labels]
    kind: Any = {"f": float, "b": bool}.get(predicted.dtype.kind, int)
    return [str(kind(x) if x is not None and x == kind(x) else label) for x, label in zip(numbers, labels, strict=True)]


def is_finite(number: float, dtype: str) -> bool:
    """Whether a number is finite in a floating-point type."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.dtype(dtype).type(number)))


def _text(label: object) -> str:
    if isinstance(label, float | np.floating) and float(label).is_integer():
        label = int(label)
    return str(label)


def _number(label: str | float) -> float | None:
    number = number_of(label) if isinstance(label, str) else float(label)
    return number if number is not None and math.isfinite(number) else None
