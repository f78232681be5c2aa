"""Exit codes, and errors that end a command with a message instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

#: Exit codes; those from 65 are the codes of sysexits.h.
OK, FAILURE, USAGE, DATA, NO_INPUT, NO_OUTPUT = 0, 1, 2, 65, 66, 73
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143


class CommandError(Exception):
    """The command cannot be carried out."""

    code, kind = FAILURE, "failure"

    def details(self) -> dict[str, object]:
        """Content of the key ``error`` of the JSON output."""
        return {"kind": self.kind, "message": str(self)}


class UsageError(CommandError):
    """Arguments that do not fit together, or values out of range."""

    code, kind = USAGE, "usage"


class InputError(CommandError):
    """A file that cannot be opened."""

    code, kind = NO_INPUT, "input"


class OutputError(CommandError):
    """A file that cannot be written."""

    code, kind = NO_OUTPUT, "output"


@contextmanager
def translate_write_errors(name: object) -> Iterator[None]:
    """Turn errors of the disk while `name` is written into OutputError; BrokenPipeError stays."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {name}: {error.strerror or error}") from error


class DataError(CommandError):
    """Content of a file that is not valid.

    Parameters
    ----------
    name : str
        File.
    message : str
        What is wrong, and what is allowed.
    line, column : int, default=None
        Place, counted from 1. The column is that of a character in LIBSVM's format, that of a cell in tables.
    """

    code, kind = DATA, "data"

    def __init__(self, name: str, message: str, line: int | None = None, column: int | None = None) -> None:
        self.name, self.message, self.line, self.column = name, message, line, column
        place = "".join(f", {word} {n}" for word, n in (("line", line), ("column", column)) if n is not None)
        super().__init__(f"{name}{place}: {message}")

    def details(self) -> dict[str, object]:
        place = {"file": self.name, "line": self.line, "column": self.column}
        return {"kind": self.kind, "message": self.message, **place}
