"""The file of predicted labels of a stream: one line for each example, also after a crash."""

from __future__ import annotations

import os
from typing import Any

from ..files.durable import write_all
from . import stdout
from .console import Console
from .errors import translate_write_errors


class Predictions:
    """Output for predicted labels.

    Labels are written when the examples have been learnt. A crash in between loses lines; they are written when the
    stream is resumed.

    Parameters
    ----------
    path : str
        File, or ``-`` for standard output. Nothing can be repaired there, nor in a pipe or a device.
    n_learnt : int
        Number of examples that the model has learnt.
    last : list of str
        Labels that were predicted for the last of them.
    console : Console
        For warnings.
    """

    def __init__(self, path: str, n_learnt: int, last: list[str], console: Console) -> None:
        self.path = path
        self.file: Any = None
        if path == "-":
            return
        regular = os.path.isfile(path) or not os.path.exists(path)
        with translate_write_errors(self.path):
            n_lines = _cut(path, n_learnt) if n_learnt and os.path.isfile(path) else 0
            self.file = open(path, "ab" if n_lines else "wb", buffering=0)  # noqa: SIM115
        if not regular:
            return
        missing = n_learnt - n_lines
        if missing > len(last):
            console.warn(f"{path}: the predictions of {missing - len(last)} examples are missing; ? is written")
        self.write(([*["?"] * missing, *last])[-missing:] if missing else [])

    def write(self, labels: list[str]) -> None:
        """Write labels, one on each line; they have left the process when this returns."""
        text = "".join(f"{label}\n" for label in labels).encode()
        if self.file is None:
            stdout.write(text)
        else:
            with translate_write_errors(self.path):
                write_all(self.file.fileno(), [text])

    def __enter__(self) -> Predictions:
        return self

    def __exit__(self, *error: Any) -> None:
        if self.file is not None:
            self.file.close()


def _cut(path: str, most: int) -> int:
    """Remove what comes after `most` lines, or after the last complete line. Returns the number of lines."""
    n_lines = end = 0
    with open(path, "r+b") as file:
        for line in file:
            if n_lines == most or not line.endswith(b"\n"):
                break
            n_lines += 1
            end += len(line)
        file.truncate(end)
    return n_lines
