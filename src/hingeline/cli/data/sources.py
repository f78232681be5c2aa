"""Bytes of data files: standard input, gzip, blocks of whole lines of bounded size."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

from ...base.inputs import BoundedGzip, Oversized
from ..errors import DataError, InputError

#: Bytes that are read at a time, and bytes of the longest line that is accepted.
BLOCK, LONGEST = 4 << 20, 64 << 20
#: Bytes from which a format is recognised.
BEGINNING = 1 << 13
GZIP = b"\x1f\x8b"


@contextmanager
def open_source(path: str) -> Iterator[io.BufferedReader]:
    """Open a file, or standard input for ``-``, for reading; gzip is recognised by content."""
    try:
        with _file(path) as file:
            stream = file if file.seekable() else _begin(file, name_of(path))
            zipped = stream.peek(2)[:2] == GZIP
            yield io.BufferedReader(BoundedGzip(stream)) if zipped else stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(name_of(path), f"damaged gzip file: {error}") from error
    except Oversized as error:
        raise DataError(name_of(path), str(error)) from error


def _file(path: str) -> AbstractContextManager[io.BufferedReader]:
    if path == "-":
        if sys.stdin is None:
            raise InputError("cannot read standard input: it is closed")
        return nullcontext(cast(io.BufferedReader, sys.stdin.buffer))
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _begin(stream: io.BufferedReader, name: str) -> io.BufferedReader:
    """Stream whose `peek` gives a whole line that is not empty, or BEGINNING bytes. A pipe may give a few at first."""
    start = b""
    while len(start) < BEGINNING and not any(line.partition(b"#")[0].strip() for line in start.split(b"\n")[:-1]):
        piece = read_some(stream, name, BEGINNING - len(start))
        if not piece:
            break
        start += piece
    return io.BufferedReader(_Again(start, stream), BEGINNING)


class _Again(io.RawIOBase):
    """Stream whose first bytes have been read already."""

    def __init__(self, start: bytes, stream: io.BufferedReader) -> None:
        self.start, self.stream = start, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.start[: len(buffer)] or self.stream.read1(len(buffer))
        self.start = self.start[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


def name_of(path: str) -> str:
    """Name of a file in messages."""
    return "standard input" if path == "-" else path


def size_of(path: str) -> int:
    """Bytes of a file; 0 if that is not known."""
    return 0 if path == "-" or not os.path.isfile(path) else os.path.getsize(path)


def position(stream: io.BufferedReader) -> int:
    """Bytes of the file that have been read, before they are unzipped."""
    return int(getattr(stream.raw, "fileobj", stream).tell())


def read_some(stream: io.BufferedReader, name: str, size: int = BLOCK) -> bytes:
    """Read what is there, at most `size` bytes; empty at the end. Waits only if nothing is there."""
    try:
        return bytes(stream.read1(size))
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error


def blocks(stream: io.BufferedReader, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the number of the first line and the bytes of some whole lines.

    Memory is bounded: a line above LONGEST bytes raises DataError.
    """
    line, pieces, size = 1, [], 0
    while piece := read_some(stream, name):
        cut = piece.rfind(b"\n") + 1
        if not cut:
            pieces.append(piece)
            size += len(piece)
            if size > LONGEST:
                raise DataError(name, f"the line has more than {LONGEST:,} bytes, the largest length allowed", line)
            continue
        block = b"".join([*pieces, piece[:cut]])
        yield line, block
        line += block.count(b"\n")
        pieces, size = [piece[cut:]], len(piece) - cut
    if size:
        yield line, b"".join(pieces)


def lines(stream: io.BufferedReader, name: str) -> Iterator[str]:
    """Yield the lines of a text in UTF-8, with their ends."""
    number = 1
    for first, block in blocks(stream, name):
        for number, line in enumerate(block.splitlines(keepends=True), first):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(name, f"byte {error.start + 1} is not UTF-8", number) from error
