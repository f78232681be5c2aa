"""Errors of files whose content is not valid."""

from __future__ import annotations

from pathlib import Path

__all__ = ["ContentError"]


class ContentError(ValueError):
    """A line of a file that is not valid.

    Parameters
    ----------
    path : Path
        File.
    line : int
        Number of the line, from 1.
    reason : str
        What is wrong, and what to do.
    """

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path}, line {line}: {reason}")
        self.line, self.reason = line, reason
