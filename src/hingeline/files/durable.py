"""Files that are complete or absent after a crash, also of the operating system."""

from __future__ import annotations

import errno
import mmap
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows, which has msvcrt
    fcntl = None  # type: ignore[assignment]

#: Pieces that are written at a time; systems allow 1024 or more.
MANY = 1000
#: Ending of files that are not complete yet.
PART = ".part"
#: The byte that Windows locks. Other descriptors cannot read or write it, so it lies behind the end of the files that
#: are locked. The C library of Windows may keep 31 bits of the place only.
LOCKED_BYTE = 2**31 - 2


def write_atomically(path: Path, pieces: Iterable[Any]) -> None:
    """Write a file that appears under its name when all its bytes are on disk, as :func:`replacement` does.

    Parameters
    ----------
    path : Path
        File.
    pieces : iterable of bytes-like
        Content.
    """
    with replacement(path) as descriptor:
        write_all(descriptor, pieces)


@contextmanager
def replacement(path: Path) -> Iterator[int]:
    """Give the descriptor of a new file, which appears under its name when the block ends and all bytes are on disk.

    A temporary file in the same folder is written, flushed to disk and renamed; then the folder is flushed. An error
    removes the temporary file and leaves an older file of that name as it was.

    Parameters
    ----------
    path : Path
        File. A symbolic link is followed. An existing file keeps its permissions.
    """
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PART}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        try:
            if path.exists() and hasattr(os, "fchmod"):
                os.fchmod(descriptor, path.stat().st_mode & 0o7777)
            yield descriptor
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)  # Ctrl-C may come when it has been renamed
        raise
    sync_folder(path.parent)


def write_all(descriptor: int, pieces: Iterable[Any]) -> None:
    """Write all bytes of several pieces: one call of the system may write a part only."""
    rest = [memoryview(piece).cast("B") for piece in pieces if len(piece)]
    while rest:
        written = _write_some(descriptor, rest)
        while rest and written >= len(rest[0]):
            written -= len(rest.pop(0))
        if written:
            rest[0] = rest[0][written:]


def _write_some(descriptor: int, pieces: list[memoryview]) -> int:
    """Write the first pieces, or a part of them, and return the number of bytes."""
    if hasattr(os, "writev"):
        return os.writev(descriptor, pieces[:MANY])
    return os.write(descriptor, pieces[0])


def map_file(path: str | os.PathLike[str]) -> Any:
    """Content of a file, mapped into memory and read-only; ValueError if it is empty.

    Rows in it do not get into memory that the process writes to: forgetting must not leave copies.
    """
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise ValueError("the file is empty")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def lock_file(path: Path, message: str) -> int:
    """Descriptor of a file that this process has locked; RuntimeError with the message if another one has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            _lock_byte(descriptor, "LK_NBLCK")
    except OSError as error:
        os.close(descriptor)
        raise RuntimeError(message) from error
    return descriptor


def _lock_byte(descriptor: int, mode: str) -> None:
    """Lock or unlock :data:`LOCKED_BYTE` of a file on Windows; OSError if another descriptor has it.

    Parameters
    ----------
    descriptor : int
        Descriptor of the file. It stands at the begin of the file afterwards.
    mode : {'LK_NBLCK', 'LK_UNLCK'}
        What to do: a constant of the module msvcrt.
    """
    msvcrt: Any = import_module("msvcrt")  # type checkers on other systems do not know its functions
    os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, getattr(msvcrt, mode), 1)
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)


def unlock(descriptor: int, process: int) -> None:
    """Close a file that the process with the number `process` has locked, and give back its lock.

    A forked process shares the lock and must not give it back. Closing alone would leave it to such a process.
    """
    if os.getpid() == process:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        else:
            _lock_byte(descriptor, "LK_UNLCK")
    os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Flush the names of a folder to disk, where the system allows it."""
    if os.name == "nt":  # folders cannot be opened; the file system keeps its own journal of names
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(descriptor)


def erase(path: Path) -> None:
    """Overwrite a file with zeros, flush them to disk and remove the file.

    File systems that copy on write, snapshots, and drives that level wear may keep the old bytes elsewhere.
    """
    zeros = bytes(1 << 20)
    descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0))
    try:
        left = os.fstat(descriptor).st_size
        while left > 0:
            write_all(descriptor, [zeros[:left]])
            left -= len(zeros)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.unlink(path)
