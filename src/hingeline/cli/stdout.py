"""Standard output: all bytes are written, or the command ends with the exit code of an error."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import OutputError


@contextmanager
def buffer() -> Iterator[None]:
    """Give standard output a buffer, which PYTHONUNBUFFERED takes from it.

    The system may write a part of the bytes only. Buffers write the rest; files without a buffer ignore it.
    """
    before = sys.stdout
    raw = getattr(before, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        try:
            yield
        finally:
            flush()
        return
    stream = io.BufferedWriter(raw)
    text = io.TextIOWrapper(stream, before.encoding, before.errors, line_buffering=True)
    sys.stdout = text
    try:
        yield
    finally:
        try:
            flush()
        finally:
            sys.stdout = before
            text.detach()
            stream.detach()


@contextmanager
def catch_errors() -> Iterator[None]:
    """Turn errors of standard output into OutputError; BrokenPipeError stays."""
    if sys.stdout is None:
        raise OutputError("cannot write standard output: it is closed")
    try:
        yield
    except BrokenPipeError:
        discard()
        raise
    except OSError as error:
        discard()
        raise OutputError(f"cannot write standard output: {error.strerror}") from error


def discard() -> None:
    """Let what is still to be written vanish: no further error when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def flush() -> None:
    """Let what was printed leave the process."""
    if sys.stdout is not None:
        with catch_errors():
            sys.stdout.flush()


def write(text: bytes) -> None:
    """Write bytes; they have left the process when this returns."""
    with catch_errors():
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()


def write_line(text: str) -> None:
    """Write a line; it has left the process when this returns. Bytes of file names may not be text."""
    with catch_errors():
        encoding = sys.stdout.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
