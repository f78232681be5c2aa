"""Journal of a search: each finished cell is appended to a file, so that an interrupted search can be resumed.

The first line identifies the data, the estimator and the versions; each further line is one cell. A line is JSON with
its checksum (``files/log.py``). A process that is killed leaves at most one incomplete line, at the end, which is
dropped on resuming. Other damaged lines are left out with a warning.
"""

from __future__ import annotations

import os
import pickle
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn

from ..base.warn import warn
from ..files.durable import lock_file, unlock
from ..files.log import Damage, Log, line, next_line

#: Seconds between two calls of fsync. Lines survive the end of the process in any case, fsync a power failure.
SYNC_EVERY = 1.0
FORMAT = 2
#: First bytes of the line of a cell.
START = b'{"cell": '


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


class CellJournal:
    """Append-only file of finished cells.

    Parameters
    ----------
    path : path-like
        File. It is created, or read if it exists.
    identity : str
        Fingerprint of the data, the estimator and the scoring.
    train : bool, default=False
        Whether cells have scores of the training rows.
    names : tuple of str, default=None
        Names of several scores, in ascending order; empty for one score without a name. None: those of the first cell.

    Attributes
    ----------
    cells : dict of str to dict
        Results of the cells, by name.
    """

    def __init__(self, path: Any, identity: str, *, train: bool = False, names: tuple[str, ...] | None = None) -> None:
        self.path = Path(path)
        self.cells: dict[str, dict[str, Any]] = {}
        self._train, self._names = train, names
        self._lock, self._synced, self._process = Lock(), monotonic(), os.getpid()
        message = f"checkpoint={str(path)!r} is in use by another search. Wait for its end or give another file name."
        self._file = lock_file(self.path, message)
        self._log = Log(self.path, lambda content, at: next_line(content, at, START), self._file)
        try:
            header = {"format": FORMAT, "identity": identity, "versions": versions()}
            self._read(header)
            self._log.settle()
            if self._log.length == 0:
                self._log.append([line(header)])
        except BaseException:
            self.close()
            raise

    def _read(self, header: dict[str, Any]) -> None:
        """Read the cells. Damaged lines are left out with a warning: they can be computed again."""
        data = self.path.read_bytes()
        if b"\n" not in data and (line(header).startswith(data) or not data.strip(b"\0")):
            return  # a crash before the first line was complete
        damaged: list[Damage] = []
        lines = self._log.records(damaged=damaged)
        begin, first = next(lines, (1, {}))
        if begin != 0:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is not a journal of a search, or its first line is damaged. Delete the "
                "file or give another file name."
            )
        self._require(first, header)
        for begin, record in lines:
            self._keep(begin, record)
        if damaged:
            warn(f"checkpoint={str(self.path)!r} has {len(damaged)} damaged lines. Their cells are computed again.")

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

    def _keep(self, begin: int, record: dict[str, Any]) -> None:
        """Take over a cell; ValueError for a line with a right checksum that no search with this scoring writes."""
        name: Any = record.get("cell")
        out: Any = record.get("out")
        sound = record.keys() == {"cell", "out"} and isinstance(name, str) and isinstance(out, dict)
        if not sound or not _is_result(out, self._train) or not self._fits(out):
            raise ValueError(
                f"checkpoint={str(self.path)!r}: the line at byte {begin} is not the result of a cell of this search. "
                "Delete the file or give another name."
            )
        self.cells[name] = out

    def _fits(self, out: dict[str, Any]) -> bool:
        """Whether a result has the scores of this search: of its scorer if they are known, else of the first result."""
        if self._names is None:
            self._names = _names(out["test_scores"])
        return _names(out["test_scores"]) == self._names

    def add(self, cell: str, out: dict[str, Any]) -> None:
        """Append a finished cell."""
        with self._lock:
            if not self._fits(out):
                raise ValueError(
                    f"checkpoint={str(self.path)!r} has other scores than this search. Delete the file or give another "
                    "name."
                )
            late = monotonic() - self._synced > SYNC_EVERY
            self._append({"cell": cell, "out": out}, late)
            self.cells[cell] = out
            self._synced = monotonic() if late else self._synced

    def _append(self, record: dict[str, Any], sync: bool) -> None:
        self._log.append([line(record, _simplify)], sync=sync)

    def close(self) -> None:
        """Write everything to the disk and close the file."""
        os.fsync(self._file)
        unlock(self._file, self._process)


def _is_result(out: dict[str, Any], train: bool) -> bool:
    """Whether a dictionary has the fields that a search reads."""
    scores = [out.get(name) for name in ("test_scores", *(["train_scores"] if train else []))]
    numbers: list[Any] = [out.get(name) for name in ("fit_time", "score_time", "n_test_samples")]
    for one in scores:
        numbers += list(one.values()) or [None] if isinstance(one, dict) else [one]
    is_complete = "fit_error" in out and out["fit_error"] is None
    same = len({_names(one) for one in scores}) == 1
    return is_complete and same and all(map(_is_number, numbers))


def _is_number(value: Any) -> bool:
    """Whether a value is a number of a search; integers beyond this size, which JSON allows, may fit no double."""
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def _names(scores: Any) -> tuple[str, ...]:
    """Names of several scores in ascending order; none for one score."""
    return tuple(sorted(scores)) if isinstance(scores, dict) else ()


def _simplify(value: Any) -> Any:
    """Numbers of NumPy for JSON."""
    return value.item()
