"""Journal of a search: each finished cell is appended to a file, so that an interrupted search can be resumed.

The first line identifies the data, the estimator and the versions; each further line is one cell. A line is JSON after
its checksum. A process that is killed leaves at most one incomplete line, at the end, which is dropped on resuming.
Other damaged lines are left out with a warning.
"""

from __future__ import annotations

import json
import os
import pickle
import warnings
import zlib
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn

from ..files.durable import locked, write_all

#: Seconds between two calls of fsync. Lines survive the end of the process in any case, fsync a power failure.
SYNC_EVERY = 1.0
FORMAT = 1


def fingerprint(*parts: Any) -> str:
    """Hash of data, estimators and parameters."""
    try:
        return str(joblib.hash(parts))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            "checkpoint needs an estimator, data, parameters and a scoring that can be pickled: give functions that "
            "are defined in a module instead of lambdas, or no checkpoint."
        ) from error


def versions() -> dict[str, str]:
    """Versions that scores may depend on."""
    return {
        "hingeline": version("hingeline"),
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


class Journal:
    """Append-only file of finished cells.

    Parameters
    ----------
    path : path-like
        File. It is created, or read if it exists.
    identity : str
        Fingerprint of the data, the estimator and the scoring.
    """

    def __init__(self, path: Any, identity: str) -> None:
        self.path = Path(path)
        self.cells: dict[str, dict[str, Any]] = {}
        self._lock, self._synced = Lock(), monotonic()
        message = f"checkpoint={str(path)!r} is in use by another search. Wait for its end or give another file name."
        self._file = locked(self.path, message)
        try:
            header = {"format": FORMAT, "identity": identity, "versions": versions()}
            length = self._read(header)
            os.ftruncate(self._file, length)
            os.lseek(self._file, length, os.SEEK_SET)
            if length == 0:
                self._append(header)
                os.fsync(self._file)
        except BaseException:
            os.close(self._file)
            raise

    def _read(self, header: dict[str, Any]) -> int:
        """Read the cells; returns the length of the complete lines in bytes."""
        data = self.path.read_bytes()
        if b"\n" not in data:
            if _encoded(header).startswith(data) or not data.strip(b"\0"):
                return 0  # a crash before the first line was complete
            raise self._foreign()
        lines = data.splitlines(keepends=True)
        if not lines[-1].endswith(b"\n"):
            lines.pop()
        first, *records = map(_decoded, lines)
        if first is None:
            raise self._foreign()
        self._require(first, header)
        self.cells |= {record["cell"]: record["out"] for record in records if record is not None}
        if damaged := records.count(None):
            warnings.warn(
                f"checkpoint={str(self.path)!r} has {damaged} damaged lines. Their cells are computed again.",
                UserWarning,
                stacklevel=2,
            )
        return sum(map(len, lines))

    def _foreign(self) -> ValueError:
        return ValueError(f"checkpoint={str(self.path)!r} is not a journal of a search. Give another file name.")

    def _require(self, found: dict[str, Any], wanted: dict[str, Any]) -> None:
        reasons = {
            "format": "by another version of hingeline",
            "versions": f"with other versions ({found.get('versions')}, now {wanted['versions']})",
            "identity": "for other data, another estimator or another scoring",
        }
        for name, reason in reasons.items():
            if found.get(name) != wanted[name]:
                raise ValueError(
                    f"checkpoint={str(self.path)!r} was written {reason}. Delete the file or give another name."
                )

    def add(self, cell: str, out: dict[str, Any]) -> None:
        """Append a finished cell."""
        with self._lock:
            self.cells[cell] = out
            self._append({"cell": cell, "out": out})
            if monotonic() - self._synced > SYNC_EVERY:
                os.fsync(self._file)
                self._synced = monotonic()

    def _append(self, record: dict[str, Any]) -> None:
        write_all(self._file, [_encoded(record)])

    def close(self) -> None:
        """Write everything to the disk and close the file."""
        os.fsync(self._file)
        os.close(self._file)


def _encoded(record: dict[str, Any]) -> bytes:
    """Line of a record."""
    line = json.dumps(record, default=_plain).encode()
    return b"%08x %s\n" % (zlib.crc32(line), line)


def _decoded(line: bytes) -> dict[str, Any] | None:
    """Record of a line; None if the line is damaged."""
    sum_, _, text = line.rstrip(b"\n").partition(b" ")
    try:
        if int(sum_, 16) != zlib.crc32(text):
            return None
        record = json.loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _plain(value: Any) -> Any:
    """Numbers of NumPy for JSON."""
    return value.item()
