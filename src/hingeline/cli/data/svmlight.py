"""LIBSVM's data format: scikit-learn's reader for blocks of lines, and a slow one that finds the place of an error."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

import numpy as np

from ...base.inputs import number_of
from ..errors import DataError
from .examples import Form, Rows, is_finite
from .sources import blocks

#: Largest index of a feature, as in LIBSVM.
LARGEST_INDEX = 2**31 - 1
#: Cells for each value of kernel values at most; a large index must not ask for a large array.
SPARSEST = 16
TOKEN = re.compile(rb"[^ \t\n\r\x0b\x0c]+")


def read(stream: BufferedReader, name: str, form: Form) -> Iterator[Rows]:
    """Yield the rows of a file, some at a time; DataError names the line and the column of the first error."""
    for line, block in blocks(stream, name):
        if line == 1:
            block = block.removeprefix(codecs.BOM_UTF8)
        try:
            yield from _parse(block, form)
        except (ValueError, OverflowError) as reason:
            at, error = _locate(block, line, name, form, str(reason))
            yield from _parse(block[:at], form)  # the lines before the error
            raise error from reason


def _parse(block: bytes, form: Form) -> Iterator[Rows]:
    """Yield the rows of some lines, if there are any; ValueError or OverflowError if a line is not valid."""
    from sklearn.datasets import load_svmlight_file

    if not _has_rows(block):
        return
    if b"_" in block and any(first_error(line, form) for line in block.split(b"\n")):
        raise ValueError("a line is not valid")  # scikit-learn reads 1_5 as 15
    known = form.n_features if not form.ignore_extra else None
    n_columns = None if known is None else known + form.kernel_values
    X, y = load_svmlight_file(
        io.BytesIO(block), n_features=n_columns, zero_based=form.kernel_values, dtype=np.dtype(form.dtype)
    )
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError("a number is not finite")
    if form.ignore_extra and form.n_features is not None:
        X.resize((X.shape[0], form.n_features + form.kernel_values))
    yield Rows(_kernel_values(X) if form.kernel_values else _narrow_indices(X), y)


def _has_rows(block: bytes) -> bool:
    """Whether there is anything but white space and comments."""
    return any(line.partition(b"#")[0].strip() for line in block.splitlines())


def _kernel_values(X: Any) -> np.ndarray:
    """Dense rows without column 0, which holds their numbers."""
    if X.shape[0] * X.shape[1] > SPARSEST * X.nnz + (1 << 20):
        raise ValueError(f"rows of kernel values must be complete. Got {X.nnz} values for {X.shape[1]} columns")
    return X.toarray()[:, 1:]


def _narrow_indices(X: Any) -> Any:
    """Indices in 32 bits."""
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def _locate(block: bytes, first: int, name: str, form: Form, reason: str) -> tuple[int, DataError]:
    """Place of the first line of a block that is not valid, and the error."""
    at = 0
    for number, line in enumerate(block.split(b"\n"), first):
        found = first_error(line, form)
        if found is not None:
            return at, DataError(name, found[1], number, found[0])
        at += len(line) + 1
    return 0, DataError(name, reason, first)


def first_error(line: bytes, form: Form) -> tuple[int, str] | None:
    """Column and description of the first error of a line; None if there is none."""
    tokens = [(match.start() + 1, match.group()) for match in TOKEN.finditer(line.partition(b"#")[0])]
    if not tokens:
        return None
    column, label = tokens.pop(0)
    if not _is_finite(label):
        return column, f"the line must begin with a label, a finite number. Got {_show(label)}"
    if tokens and tokens[0][1].startswith(b"qid"):
        tokens.pop(0)
    least, last = (0, -1) if form.kernel_values else (1, 0)
    for column, token in tokens:
        index, colon, value = token.partition(b":")
        if not colon:
            return column, f"expected index:value. Got {_show(token)}"
        number = _integer(index)
        if number is None or not least <= number <= LARGEST_INDEX:
            return column, f"the index must be an integer >= {least} and <= {LARGEST_INDEX}. Got {_show(index)}"
        if number <= last:
            return column, f"indices must ascend. Got {number} after {last}"
        if form.n_features is not None and number > form.n_features and not form.ignore_extra:
            return column, f"the index must not exceed the number of features, {form.n_features}. Got {number}"
        if not _is_finite(value, form.dtype):
            return column + len(index) + 1, f"the value must be a finite number. Got {_show(value)}"
        last = number
    return None


def _is_finite(text: bytes, dtype: str = "float64") -> bool:
    number = number_of(text.decode("latin-1"))
    return number is not None and is_finite(number, dtype)


def _integer(text: bytes) -> int | None:
    try:
        return None if b"_" in text else int(text)
    except ValueError:
        return None


def _show(text: bytes) -> str:
    """Beginning of a token for a message."""
    short = text[:40].decode("utf-8", "backslashreplace")
    return repr(short + "..." if len(text) > 40 else short)
