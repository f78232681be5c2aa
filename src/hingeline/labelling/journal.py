"""Journal of answers: lines of JSON, each on disk before it is acknowledged."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..files.durable import locked, sync_folder, write_all
from .errors import ContentError

__all__ = ["AnswerJournal"]

#: First bytes of a line. A last line that begins otherwise is not removed: the file may be no journal.
START = b'{"kind": '


class AnswerJournal:
    """File to which answers are appended, locked for this process.

    A crash may leave an incomplete last line. It was never acknowledged, and opening the journal removes it. Any other
    line that cannot be read raises ContentError.

    Parameters
    ----------
    path : Path
        File; it is created if it does not exist.

    Attributes
    ----------
    records : list of dict
        What the file held when it was opened.
    dropped : bool
        Whether an incomplete last line was removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        is_new = not path.exists()
        self._file = locked(path, f"{path} is in use by another labelling page. Close that page first.")
        try:
            self.records, self._length, size = _read(path)
            self.dropped = self._length < size
            os.ftruncate(self._file, self._length)
            os.fsync(self._file)
            if is_new:
                sync_folder(path.resolve().parent)
        except BaseException:
            self.close()
            raise

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a line, which is on disk when this returns. An error leaves the journal as it was."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps({**record, "at": at}, ensure_ascii=False).encode() + b"\n"
        try:
            os.lseek(self._file, self._length, os.SEEK_SET)
            write_all(self._file, [line])
            os.fsync(self._file)
        except BaseException:
            os.ftruncate(self._file, self._length)
            raise
        self._length += len(line)

    def close(self) -> None:
        """Close the file and give back the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _read(path: Path) -> tuple[list[dict[str, Any]], int, int]:
    """Records of the complete lines, the length of these lines, and the length of the file."""
    content = path.read_bytes()
    records: list[dict[str, Any]] = []
    length = 0
    for number, line in enumerate(content.splitlines(keepends=True), 1):
        end = length + len(line)
        record = _record(line)
        if record is None:
            if end == len(content) and _is_torn(line):
                break
            raise ContentError(path, number, "not a line of a journal of answers. Repair it, or remove it.")
        records.append(record)
        length = end
    return records, length, len(content)


def _record(line: bytes) -> dict[str, Any] | None:
    """Record of a line; None if the line is incomplete or no record."""
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("kind"), str) else None


def _is_torn(line: bytes) -> bool:
    """Whether a line may be the beginning of a record, or zeros that a power failure has left."""
    return line.startswith(START) or START.startswith(line) or not line.strip(b"\0")
