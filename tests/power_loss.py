"""A disk that loses power: every system call may be the last, and what was not flushed is lost.

Inside :func:`power` the functions of `os` that change files are counted. The call with a chosen number raises
:class:`PowerLoss`, and so does every call after it. Then :meth:`Disk.lose` undoes what was not flushed: bytes written
since the last fsync of a file, and names changed since the last fsync of their folder. Losing all of it and losing
nothing are the two extreme outcomes.
"""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

NAMES = ("open", "writev", "fsync", "ftruncate", "replace", "unlink")


class PowerLoss(BaseException):
    """The power was lost."""


class Disk:
    """Counts calls, and remembers what is not flushed yet."""

    def __init__(self, limit, spare):
        self.limit, self.count, self.spare = limit, 0, Path(spare)
        self.real = {name: getattr(os, name) for name in NAMES}
        self.paths = {}  # by descriptor
        self.flushed = {}  # bytes on disk, by path, of files with bytes that are not
        self.names = []  # changed names: path, and file with the content before, or None

    def step(self):
        if self.count >= self.limit:
            raise PowerLoss
        self.count += 1

    def _kept(self, path):
        """A copy of what a name stands for, or None if there is no such file."""
        if not os.path.exists(path):
            return None
        kept = self.spare / str(len(list(self.spare.iterdir())))
        try:
            os.link(path, kept)
        except OSError:
            shutil.copy(path, kept)
        return kept

    def open(self, path, flags, mode=0o777, **how):
        self.step()
        if flags & os.O_CREAT and not os.path.exists(path):
            self.names.append((os.fspath(path), None))
        descriptor = self.real["open"](path, flags, mode, **how)
        self.paths[descriptor] = os.fspath(path)
        return descriptor

    def writev(self, descriptor, pieces):
        path = self.paths[descriptor]
        if path not in self.flushed:
            self.flushed[path] = Path(path).read_bytes()
        try:
            self.step()
        except PowerLoss:
            self.real["writev"](descriptor, pieces[: len(pieces) // 2])
            raise
        return self.real["writev"](descriptor, pieces)

    def ftruncate(self, descriptor, length):
        self.step()
        path = self.paths[descriptor]
        self.flushed.setdefault(path, Path(path).read_bytes())
        self.real["ftruncate"](descriptor, length)

    def fsync(self, descriptor):
        self.step()
        self.real["fsync"](descriptor)
        path = self.paths[descriptor]
        if os.path.isdir(path):
            self.names = [one for one in self.names if os.path.dirname(one[0]) != path]
        self.flushed.pop(path, None)

    def replace(self, source, target):
        self.step()
        source, target = os.fspath(source), os.fspath(target)
        self.names.append((target, self._kept(target)))
        self.real["replace"](source, target)
        if source in self.flushed:
            self.flushed[target] = self.flushed.pop(source)

    def unlink(self, path, **how):
        self.step()
        self.names.append((os.fspath(path), self._kept(path)))
        self.real["unlink"](path, **how)

    def lose(self):
        """Undo what was not flushed."""
        for path, content in self.flushed.items():
            if os.path.exists(path):
                Path(path).write_bytes(content)
        for path, kept in reversed(self.names):
            if kept is not None:
                os.replace(kept, path)
            elif os.path.exists(path):
                os.unlink(path)


@contextmanager
def power(monkeypatch, limit, spare):
    """Power for a number of calls."""
    disk = Disk(limit, spare)
    with monkeypatch.context() as patched:
        for name in NAMES:
            patched.setattr(os, name, getattr(disk, name))
        yield disk
