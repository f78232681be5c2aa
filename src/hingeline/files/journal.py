"""Journal of a stream: frames that are on disk before they are acknowledged.

The content of a frame is a file in the layout of safetensors. The first frame is the origin of the journal: its number,
the length of the journal before it, and the number of samples that the model had seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from . import layout
from .durable import write_atomically
from .log import Damage, Log, frame, next_frame
from .tree import Decoder, Encoder

#: What to do about damage. Nobody but the user knows whether the samples can be had again.
ADVICE = "Restore the file from a copy. To go on without this record and all later ones, cut the file to {at} bytes."


@dataclass(frozen=True)
class Origin:
    """State of a stream at the begin of a journal.

    Attributes
    ----------
    number : int
        Number of the journal and of the generation that it follows.
    previous : int
        Bytes of the journal before it that were acknowledged.
    seen : int or None
        Samples that the model had seen; None if it had not begun.
    """

    number: int
    previous: int
    seen: int | None


class Journal(Log):
    """File to which the samples of a stream are appended.

    Parameters
    ----------
    path : Path
        File, made by :meth:`create`. ValueError if it does not exist.

    Attributes
    ----------
    origin : Origin
        First record.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, next_frame)
        if not path.exists():
            raise ValueError(
                f"{path} is missing, with the samples learnt since this generation. Restore it from a copy."
            )
        _, values = next(self._values(torn=False), (0, {}))
        if values.keys() != {field.name for field in fields(Origin)} or not _is_origin(values):
            raise ValueError(f"{path} is no journal of a stream: its first record is missing or has other fields")
        self.origin = Origin(**values)

    @classmethod
    def create(cls, path: Path, origin: Origin) -> Journal:
        """Write a journal without samples, which is on disk when this returns."""
        write_atomically(path, frame(_pieces(asdict(origin)), 0))
        return cls(path)

    def add(self, values: Mapping[str, Any]) -> None:
        """Write a record, which is on disk when this returns. An error leaves the journal as it was."""
        self.append(frame(_pieces(values), self.length))

    def is_empty(self) -> bool:
        """Whether nothing follows the record that was read last."""
        return self.path.stat().st_size == self.length

    def samples(self, end: int | None) -> Iterator[tuple[int, bool, dict[str, Any]]]:
        """Yield for each record its begin, whether it is the last one, and its values.

        Parameters
        ----------
        end : int or None
            Byte before which all records were acknowledged, and after which none is read. None: the file may end with a
            torn record, which was never acknowledged.
        """
        size = self.path.stat().st_size if end is None else end
        if self.length < size:
            for at, values in self._values(torn=end is None):
                yield at, self.length == size, values
                if self.length >= size:
                    break
        if end is not None and self.length != end:
            raise ValueError(f"{self.path} ends at byte {self.length}, expected {end}. {_advice(self.length)}")

    def _values(self, *, torn: bool) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the begin and the values of each record; ValueError names a record that is damaged."""
        try:
            for at, content in self.records(torn=torn):
                yield at, _values(content)
        except ValueError as error:
            at = self.length if isinstance(error, Damage) else at
            raise ValueError(f"{self.path}: the record at byte {at} is damaged: {error}. {_advice(at)}") from error


def _advice(at: int) -> str:
    return ADVICE.format(at=at)


def _is_origin(values: Mapping[str, Any]) -> bool:
    numbers = (values["number"], values["previous"], 0 if values["seen"] is None else values["seen"])
    return all(type(number) is int and number >= 0 for number in numbers)


def _pieces(values: Mapping[str, Any]) -> list[Any]:
    """Bytes of a record, in pieces."""
    encoder = Encoder({})
    node = encoder.dictionary(values, "")
    return layout.pieces({"record": json.dumps(node)}, encoder.arrays)


def _values(content: memoryview) -> dict[str, Any]:
    """Values of a record."""
    texts, arrays = layout.read(content)
    decoder = Decoder(arrays, {}, {}, mapped=True)
    node = layout.parse(texts.get("record", "null"), len(content))
    decoder.require(isinstance(node, dict) and node.keys() == {"dict"}, "record", "expected a dictionary")
    return decoder(node, "")
