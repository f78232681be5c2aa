"""Files that are complete or absent after a crash, also of the operating system."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Ending of files that are not complete yet.
PART = ".part"


def write_atomically(path: Path, pieces: Iterable[Any]) -> None:
    """Write a file that appears under its name when all its bytes are on disk.

    A temporary file in the same folder is written, flushed to disk and renamed; then the folder is flushed. An error
    removes the temporary file and leaves an older file of that name as it was.

    Parameters
    ----------
    path : Path
        File. A symbolic link is followed. An existing file keeps its permissions.
    pieces : iterable of bytes-like
        Content.
    """
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PART}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        try:
            if path.exists() and hasattr(os, "fchmod"):
                os.fchmod(descriptor, path.stat().st_mode & 0o7777)
            for piece in pieces:
                write_all(descriptor, piece)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_all(descriptor: int, piece: Any) -> None:
    """Write all bytes of a piece: one call of the system may write a part only."""
    rest = memoryview(piece).cast("B") if memoryview(piece).nbytes else memoryview(b"")
    while rest.nbytes:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Flush the names of a folder to disk, where the system allows it."""
    if os.name == "nt":  # folders cannot be opened; the file system keeps its own journal of names
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
