"""Content of files from elsewhere: numbers in texts, and compressed files of bounded size. Imports no library."""

from __future__ import annotations

import gzip
from typing import Any

#: Bytes that a compressed file may unpack to, for each of its own and in addition. Tables of numbers shrink to a half
#: to a thirtieth; deflate packs up to 1032 equal bytes into one.
RATIO, ALLOWANCE = 100, 64 << 20
#: Bytes that are unpacked at a time.
PIECE = 1 << 20


class Oversized(ValueError):
    """A compressed file that unpacks to more than is allowed for its size."""


def number_of(text: str) -> float | None:
    """Number that a text means, None if it means none.

    ``float`` also takes digits of other scripts and digits grouped by underscores: damage or a label, in a data file.
    """
    if "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None


def limit_of(packed: int) -> int:
    """Bytes that a compressed file of `packed` bytes may unpack to."""
    return RATIO * packed + ALLOWANCE


class BoundedGzip(gzip.GzipFile):
    """Gzip file that unpacks to a bounded multiple of what has been read of it; then reading raises Oversized.

    Parameters
    ----------
    stream : binary stream
        Compressed bytes.

    Attributes
    ----------
    packed : int
        Compressed bytes that have been read.
    """

    def __init__(self, stream: Any) -> None:
        self._counted = _Counted(stream)
        super().__init__(fileobj=self._counted, mode="rb")

    @property
    def packed(self) -> int:
        return self._counted.count

    def read(self, size: int | None = -1) -> bytes:
        """Read `size` bytes; all if it is negative or None."""
        if size is not None and size >= 0:
            return self._check_size(super().read(size))
        return b"".join(iter(lambda: self._check_size(super(BoundedGzip, self).read(PIECE)), b""))

    def read1(self, size: int = -1) -> bytes:
        """Read what one call of the stream gives, at most `size` bytes."""
        return self._check_size(super().read1(size))

    def _check_size(self, piece: bytes) -> bytes:
        limit = limit_of(self.packed)
        if self.tell() > limit:
            raise Oversized(
                f"the gzip file unpacks to more than {limit:,} bytes, the most for {self.packed:,} compressed bytes. "
                "Unpack it with gunzip if its content is right"
            )
        return piece


class _Counted:
    """Stream that counts the bytes that are read from it."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.count = stream, 0

    def read(self, size: int = -1) -> bytes:
        piece: bytes = self.stream.read(size)
        self.count += len(piece)
        return piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
