"""Files to which records are appended: the part that all journals share.

A journal is a sequence of records, each with a checksum. A record is a *frame* of bytes or a *line* of JSON.
Both tell three cases apart when they are read:

- complete, and the checksum is right;
- torn: the file ends before the record does. A crash leaves this, before the record was acknowledged;
- damaged: everything else. The record may have been acknowledged, so it is never dropped without a word.

A file that is cut off within or after its last record looks as after a crash. Nothing in the file tells them apart:
that would take a second flush to disk for each record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

from .durable import map_file, write_all

#: Frames, and the bytes in them, begin at multiples of this number of bytes.
HEAD = 64
#: Begin of the last 8 bytes of a frame; the checksum of the frame follows. Zeros there were never written.
MARK = b"END\n"
#: Name of the checksum in a line, and the bytes between the record and its eight digits.
SUM = "crc"
SUM_START, SUM_END = b', "' + SUM.encode() + b'": "', b'"}'


class Damage(ValueError):
    """A record that is complete, or claims to be, and is not what was written.

    Parameters
    ----------
    reason : str
        What is wrong.
    end : int, default=None
        Byte where the next record begins; None if that is not known.
    """

    def __init__(self, reason: str, end: int | None = None) -> None:
        super().__init__(reason)
        self.end = end


#: Content of a record and its end; None if the record is torn. Gets the content of the file and a place in it.
Scan = Callable[[Any, int], tuple[Any, int] | None]


class Log:
    """File to which the process that has opened it appends records.

    Parameters
    ----------
    path : Path
        File.
    scan : callable
        Reads one record: :func:`next_frame`, or a function that calls :func:`next_line`.
    descriptor : int, default=None
        Descriptor of the file. None: the file is opened for each change.

    Attributes
    ----------
    length : int
        End of the last record that was appended or read. The next one is written there.
    """

    def __init__(self, path: Path, scan: Scan, descriptor: int | None = None) -> None:
        self.path, self.length = path, 0
        self._scan, self._descriptor, self._process = scan, descriptor, os.getpid()

    def require_owner(self) -> None:
        """Raise RuntimeError in a process that was forked: parent and child would overwrite each other's records."""
        require_owner(self.path, self._process)

    @contextmanager
    def _open(self) -> Iterator[int]:
        self.require_owner()
        if self._descriptor is not None:
            yield self._descriptor
            return
        descriptor = os.open(self.path, os.O_WRONLY | getattr(os, "O_BINARY", 0))
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def append(self, pieces: Sequence[Any], *, sync: bool = True) -> None:
        """Write a record, which is on disk when this returns if `sync` is set. An error leaves the file as it was."""
        with self._open() as descriptor:
            try:
                os.lseek(descriptor, self.length, os.SEEK_SET)
                write_all(descriptor, pieces)
                if sync:
                    os.fsync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, self.length)
                raise
        self.length += sum(map(len, pieces))

    def cut(self, length: int) -> None:
        """Remove all bytes behind a place, on disk when this returns."""
        self.length = length
        if self.path.stat().st_size != length:
            self.settle()

    def settle(self) -> None:
        """Remove all bytes behind the last record. All records are on disk when this returns.

        A process that was killed may have left a complete record that is not on disk; who reads it relies on it.
        """
        with self._open() as descriptor:
            os.ftruncate(descriptor, self.length)
            os.fsync(descriptor)

    def records(self, *, torn: bool = True, damaged: list[Damage] | None = None) -> Iterator[tuple[int, Any]]:
        """Yield the begin and the content of each record from :attr:`length` on.

        Parameters
        ----------
        torn : bool, default=True
            Whether the file may end with a torn record, which is left out. Otherwise it is damage.
        damaged : list of Damage, default=None
            Damaged records are put into this list and left out. None: Damage is raised.
        """
        content = map_file(self.path) if self.path.stat().st_size else b""
        while self.length < len(content):
            at = self.length
            try:
                found = self._scan(content, at)
                if found is None and not torn:
                    raise Damage("the file is cut off")
            except Damage as error:
                if damaged is None:
                    raise
                damaged.append(error)
                if error.end is None:
                    return
                self.length = error.end
                continue
            if found is None:
                return
            record, self.length = found
            yield at, record


def require_owner(path: Path, process: int) -> None:
    """Raise RuntimeError if this process is not the one with the number `process`, which has opened `path`."""
    if os.getpid() != process:
        raise RuntimeError(
            f"{path} was opened by process {process}, and this is process {os.getpid()}, a fork of it. Only the "
            "process that has opened it may change it. Close it there, and open it here."
        )


# ---- frames ------------------------------------------------------------------------------------------


def frame(pieces: Sequence[Any], at: int) -> list[Any]:
    """Frame of a content, to be written at the byte `at`.

    A frame is a head, the content, zeros and an end, and fills multiples of :data:`HEAD` bytes. The head holds the
    length of the content (8 bytes) and, at its end, its own checksum; the end is :data:`MARK` and the checksum of
    content and zeros. The checksum of the head depends on `at`, so that a frame at another place is damage.
    """
    length = sum(map(len, pieces))
    pieces = [*pieces, b"\0" * (-(length + 8) % HEAD)]
    checksum = 0
    for piece in pieces:
        checksum = crc32(piece, checksum)
    return [_head(length, at), *pieces, MARK + checksum.to_bytes(4, "little")]


def _head(length: int, at: int) -> bytes:
    head = length.to_bytes(8, "little").ljust(HEAD - 4, b"\0")
    return head + crc32(head, crc32(at.to_bytes(8, "little"))).to_bytes(4, "little")


def next_frame(content: Any, at: int) -> tuple[memoryview, int] | None:
    """Content of the frame at a byte of a file, and the end of the frame; None if the frame is torn."""
    view = memoryview(content)[at:]
    length = int.from_bytes(view[:8], "little")
    if len(view) < HEAD:
        return None
    if view[:HEAD] != _head(length, at):
        if not any(view[:8]) and not bytes(view).strip(b"\0"):  # a file system that has lost power may leave zeros
            return None
        raise Damage("the checksum of its length does not match")
    end = HEAD + length + 8 + -(length + 8) % HEAD
    if end > len(view) or (end == len(view) and not any(view[end - 8 : end])):
        return None
    if view[end - 8 : end] != MARK + crc32(view[HEAD : end - 8]).to_bytes(4, "little"):
        raise Damage("its checksum does not match", at + end)
    return view[HEAD : HEAD + length], at + end


# ---- lines -------------------------------------------------------------------------------------------


def line(record: Mapping[str, Any], default: Callable[[Any], Any] | None = None) -> bytes:
    """Line of a record: JSON whose last field is the checksum of the bytes before it."""
    text = json.dumps(record, ensure_ascii=False, default=default).encode()[:-1]
    return text + SUM_START + b"%08x" % crc32(text) + SUM_END + b"\n"


def next_line(content: Any, at: int, start: bytes) -> tuple[dict[str, Any], int] | None:
    """Record of the line at a byte of a file, and the end of the line; None if the line is torn.

    Parameters
    ----------
    content : bytes or mmap
        The file.
    at : int
        Begin of the line.
    start : bytes
        Begin of each record. A last line without an end that begins otherwise is damage: the file may be no journal.
    """
    end = content.find(b"\n", at)
    if end >= 0:
        return _record(content[at:end], end + 1), end + 1
    rest = content[at:].rstrip(b"\0")  # a file system that has lost power may leave zeros
    if not (rest.startswith(start) or start.startswith(rest)):
        raise Damage("it is not complete, and does not begin as a record")
    try:
        _record(rest[:-1])
    except Damage:
        return None
    raise Damage("its last byte is wrong")


def _record(text: bytes, end: int | None = None) -> dict[str, Any]:
    """Record of a line without its last byte; Damage if it is not valid."""
    body, found, checksum = text.rpartition(SUM_START)
    if not found or checksum != b"%08x" % crc32(body) + SUM_END:
        raise Damage("its checksum is missing or does not match", end)
    try:
        record = json.loads(body + b"}")
    except (ValueError, RecursionError) as error:
        raise Damage(f"it is no JSON: {error}", end) from error
    if not isinstance(record, dict):
        raise Damage("it is no JSON object", end)
    return record
