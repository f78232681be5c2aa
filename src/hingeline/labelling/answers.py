"""Journal of answers: lines of JSON with a checksum, each on disk before it is acknowledged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..files.durable import lock_file, sync_folder, unlock
from ..files.log import Damage, Log, line, next_line
from .errors import ContentError

__all__ = ["AnswerJournal"]

#: First bytes of a line.
START = b'{"kind": '


class AnswerJournal:
    """File to which answers are appended, locked for this process.

    A crash may leave an incomplete last line. It was never acknowledged, and opening the journal removes it. Any other
    line that is not as it was written raises ContentError.

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
        self._file = lock_file(path, f"{path} is in use by another labelling page. Close that page first.")
        self._process = os.getpid()
        self._log = Log(path, lambda content, at: next_line(content, at, START), self._file)
        try:
            self.records = self._read()
            self.dropped = self._log.length < path.stat().st_size
            self._log.settle()
            if is_new:
                sync_folder(path.resolve().parent)
        except BaseException:
            self.close()
            raise

    def _read(self) -> list[dict[str, Any]]:
        """Records of the complete lines."""
        records: list[dict[str, Any]] = []
        try:
            for _, record in self._log.records():
                if not isinstance(record.get("kind"), str):
                    raise Damage("it has no kind")
                records.append(record)
        except Damage as error:
            reason = f"not a line of a journal of answers, or damaged: {error}. Restore the file from a copy."
            raise ContentError(self.path, len(records) + 1, reason) from error
        return records

    def require_owner(self) -> None:
        """Raise RuntimeError in a process that was forked from the one that has opened the journal."""
        self._log.require_owner()

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a line, which is on disk when this returns. An error leaves the journal as it was."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self._log.append([line({**record, "at": at})])

    def close(self) -> None:
        """Close the file and give back the lock."""
        if self._file >= 0:
            unlock(self._file, self._process)
            self._file = -1
