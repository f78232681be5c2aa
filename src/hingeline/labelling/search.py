"""Search for words in the examples of a pool."""

from __future__ import annotations

from collections.abc import Iterable

from .pools import Pool

__all__ = ["Finder"]


class Finder:
    """Texts of the examples in lower case, made when they are first needed.

    Parameters
    ----------
    pool : Pool
        Examples.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._texts: dict[int, str] = {}

    def matches(self, text: str, rows: Iterable[int]) -> list[int]:
        """Rows whose text contains all words."""
        words = text.casefold().split()
        return [row for row in rows if all(word in self._text(row) for word in words)]

    def _text(self, row: int) -> str:
        found = self._texts.get(row)
        if found is None:
            found = self._texts[row] = self.pool.words(row).casefold()
        return found
