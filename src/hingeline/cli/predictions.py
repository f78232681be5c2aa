"""The file of predicted labels of a stream: one line for each example, also after a crash."""

from __future__ import annotations

import os
from typing import Any

from . import stdout
from .console import Console
from .errors import OutputError


class Predictions:
    """Output for predicted labels.

    Labels are written when the examples have been learnt. A crash in between loses lines; they are written when the
    stream is resumed.

    Parameters
    ----------
    path : str
        File, or ``-`` for standard output, where nothing can be repaired.
    n_learnt : int
        Number of examples that the model has learnt.
    last : list of str
        Labels that were predicted for the last of them.
    console : Console
        For warnings.
    """

    def __init__(self, path: str, n_learnt: int, last: list[str], console: Console) -> None:
        if path == "-":
            self.file: Any = None
            return
        try:
            self.file = open(path, "r+b" if n_learnt and os.path.exists(path) else "w+b")  # noqa: SIM115
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}") from error
        n_lines = self._cut(n_learnt)
        missing = n_learnt - n_lines
        if missing > len(last):
            console.warn(f"{path}: the predictions of {missing - len(last)} examples are missing; ? is written")
        self.write(([*["?"] * missing, *last])[-missing:] if missing else [])

    def _cut(self, most: int) -> int:
        """Remove what comes after `most` lines, or after the last complete line. Returns the number of lines."""
        n_lines = end = 0
        for line in self.file:
            if n_lines == most or not line.endswith(b"\n"):
                break
            n_lines += 1
            end += len(line)
        self.file.seek(end)
        self.file.truncate()
        return n_lines

    def write(self, labels: list[str]) -> None:
        """Write labels, one on each line; they have left the process when this returns."""
        text = "".join(f"{label}\n" for label in labels).encode()
        if self.file is None:
            stdout.write(text)
        else:
            self.file.write(text)
            self.file.flush()

    def __enter__(self) -> Predictions:
        return self

    def __exit__(self, *error: Any) -> None:
        if self.file is not None:
            self.file.close()
