"""Files that a command writes: they appear when they are complete."""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..files.durable import replacement, write_all
from .errors import translate_write_errors


@contextmanager
def file_writer(path: str) -> Iterator[Callable[[bytes], None]]:
    """Give a function that writes to a file, which appears when the block ends.

    A pipe or a device cannot be replaced by a file; it is written to as the pieces come.
    """
    with translate_write_errors(path):
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "wb", buffering=0) as file:
                yield lambda text: write_all(file.fileno(), [text])
        else:
            with replacement(Path(path)) as descriptor:
                yield lambda text: write_all(descriptor, [text])


def csv_text(rows: Iterable[Iterable[object]], delimiter: str = ",") -> bytes:
    """Lines of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", delimiter=delimiter).writerows(rows)
    return text.getvalue().encode()


def write_table(path: str, rows: Iterable[Iterable[object]]) -> None:
    """Write a whole CSV file."""
    write_file(Path(path), csv_text(rows))


def write_file(path: Path, content: bytes) -> None:
    """Write a whole file."""
    with file_writer(str(path)) as write:
        write(content)
