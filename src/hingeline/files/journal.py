"""Journal of a stream: records that are on disk before they are acknowledged.

A record is the length of its content (8 bytes), the CRC-32 of its content (4 bytes), zeros, and the content, a file in
the layout of safetensors. Content and records begin at multiples of 64 bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from . import layout
from .durable import mapped_file, sync_folder, write_all
from .tree import Decoder, Encoder

#: Bytes before the content of a record.
HEAD = layout.ALIGNMENT


class Journal:
    """File to which records are appended.

    Parameters
    ----------
    path : Path
        File; it is created with the first record.

    Attributes
    ----------
    length : int
        End of the last record that was appended or read. The next one is written there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.length = 0

    def append(self, values: Mapping[str, Any]) -> None:
        """Write a record, which is on disk when this returns. An error leaves the journal as it was."""
        encoder = Encoder({})
        node = encoder.dictionary(values, "")
        pieces = layout.pieces({"record": json.dumps(node)}, encoder.arrays)
        length, checksum = 0, 0
        for piece in pieces:
            length, checksum = length + len(piece), crc32(piece, checksum)
        head = (length.to_bytes(8, "little") + checksum.to_bytes(4, "little")).ljust(HEAD, b"\0")
        pieces = [head, *pieces, b"\0" * (-length % HEAD)]
        is_new = not self.path.exists()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            os.lseek(descriptor, self.length, os.SEEK_SET)
            write_all(descriptor, pieces)
            os.fsync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, self.length)
            raise
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self.path.parent)
        self.length += sum(map(len, pieces))

    def cut(self, length: int) -> None:
        """Remove all bytes behind a place."""
        self.length = length
        if not self.path.exists() or self.path.stat().st_size == length:
            return
        descriptor = os.open(self.path, os.O_WRONLY | getattr(os, "O_BINARY", 0))
        try:
            os.ftruncate(descriptor, length)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def records(self, *, torn: bool) -> Iterator[tuple[bool, dict[str, Any]]]:
        """Yield for each record whether it is the last one, and its values.

        Parameters
        ----------
        torn : bool
            Whether the file may end with a record that is not complete, because it was never acknowledged. Other
            damage raises ValueError.
        """
        is_empty = not self.path.exists() or not self.path.stat().st_size
        content = memoryview(b"" if is_empty else mapped_file(self.path))
        while self.length < len(content):
            at = self.length
            begin = at + HEAD
            length, checksum = (int.from_bytes(content[at + a : at + b], "little") for a, b in ((0, 8), (8, 12)))
            end = begin + length + -length % HEAD
            if end > len(content) or crc32(content[begin : begin + length]) != checksum:
                if torn and end >= len(content):
                    return
                raise ValueError(f"{self.path}: the record at byte {at} is damaged")
            try:
                values = _values(content[begin : begin + length])
            except ValueError as error:
                raise ValueError(f"{self.path}: the record at byte {at} is damaged: {error}") from error
            self.length = end
            yield end == len(content), values


def _values(content: memoryview) -> dict[str, Any]:
    """Values of a record."""
    texts, arrays = layout.read(content)
    decoder = Decoder(arrays, {}, {}, mapped=True)
    node = layout.parse(texts.get("record", "null"), len(content))
    decoder.require(isinstance(node, dict) and node.keys() == {"dict"}, "record", "expected a dictionary")
    return decoder(node, "")
