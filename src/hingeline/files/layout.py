"""The layout of safetensors: length of the header, header in JSON, arrays one after the other.

Reading checks all bounds before an array is made. The header may need memory of at most :data:`DENSITY` times the size
of the file; a denser one is refused before it is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any
from zlib import crc32

import numpy as np

#: Names of types in the header.
TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
    "BOOL": "?",
}
NAMES = {np.dtype(code): name for name, code in TYPES.items()}
#: Largest header in bytes, as in safetensors.
LARGEST_HEADER = 100_000_000
#: Bytes of memory per byte of the file that a header may need, and bytes that it may always need.
DENSITY, ALWAYS = 8, 1 << 20
#: Upper bounds of the memory of a dictionary, of a list and of another value in JSON.
DICT_BYTES, LIST_BYTES, VALUE_BYTES = 272, 72, 64
#: Name of the entry with texts.
METADATA = "__metadata__"
#: Texts of the metadata with checksums: of each array, and of all other texts.
ARRAY_SUMS, TEXT_SUM = "array_checksums", "checksum"
#: The data begin at a multiple of this number of bytes.
ALIGNMENT = 64


def parse(text: bytes | str, size: int) -> Any:
    """Value of a JSON text in a file of `size` bytes; ValueError if it is not valid or needs too much memory."""
    dicts, lists, values = (
        (text.count(b"{"), text.count(b"["), text.count(b","))
        if isinstance(text, bytes)
        else (text.count("{"), text.count("["), text.count(","))
    )
    if DICT_BYTES * dicts + LIST_BYTES * lists + VALUE_BYTES * values > DENSITY * size + ALWAYS:
        raise ValueError("the header is too dense: it would need much more memory than the file")
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("the header is nested too deeply") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("the header has a name twice")
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"the header has the value {word}, which is not JSON")


# ---- writing -----------------------------------------------------------------------------------------


def pieces(metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> list[Any]:
    """Bytes of a file, in pieces.

    Parameters
    ----------
    metadata : mapping of str to str
        Texts for the header; checksums are added.
    arrays : mapping of str to ndarray
        C-contiguous arrays of the types in :data:`TYPES`, by name.

    Returns
    -------
    list of bytes-like
        Header and arrays.
    """
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # each array is aligned to its items
    table, at, sums = {}, 0, {}
    for name in order:
        array = arrays[name]
        entry = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
        table[name] = entry
        sums[name] = _array_sum(name, entry, array)
    texts = {**metadata, ARRAY_SUMS: json.dumps(sums)}
    texts[TEXT_SUM] = _text_sum(texts)
    header = json.dumps({METADATA: texts, **table}, separators=(",", ":")).encode()
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    return [len(header).to_bytes(8, "little"), header, *(_bytes(arrays[name]) for name in order)]


def _bytes(array: np.ndarray) -> Any:
    """Memory of an array."""
    return array.reshape(-1).view(np.uint8).data


def _array_sum(name: str, entry: Mapping[str, Any], array: np.ndarray) -> int:
    """Checksum of an array, its name, type and shape."""
    return crc32(_bytes(array), crc32(json.dumps([name, entry["dtype"], entry["shape"]]).encode()))


def _text_sum(metadata: Mapping[str, str]) -> str:
    """Checksum of all texts."""
    return f"{crc32(json.dumps(sorted(metadata.items())).encode()):08x}"


# ---- reading -----------------------------------------------------------------------------------------


def read(content: Any) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Texts and arrays of a file; ValueError, which names the field, if it is damaged.

    Parameters
    ----------
    content : bytes-like
        The whole file. The arrays are views of it.

    Returns
    -------
    metadata : dict of str to str
        Texts of the header.
    arrays : dict of str to ndarray
        Arrays by name.
    """
    view = memoryview(content)
    header, begin = _header(view)
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise ValueError(f"{METADATA} must be a dictionary of strings")
    rest = dict(metadata)
    if TEXT_SUM not in rest:
        raise ValueError("the file is no model of hingeline")
    if rest.pop(TEXT_SUM) != _text_sum(rest):
        raise ValueError(f"the checksum of {METADATA} does not match; the file is damaged")
    sums = parse(metadata.get(ARRAY_SUMS, "{}"), len(view))
    if not isinstance(sums, dict) or sums.keys() != header.keys():
        raise ValueError(f"{ARRAY_SUMS} must name each array")
    _require_no_gaps(header, len(view) - begin)
    arrays = {}
    for name, entry in header.items():
        arrays[name] = _array(view, begin, name, entry)
        if sums[name] != _array_sum(name, entry, arrays[name]):
            raise ValueError(f"field {name!r}: the checksum does not match; the file is damaged")
    return metadata, arrays


def _header(view: memoryview) -> tuple[dict[str, Any], int]:
    """Header, and place of the first array."""
    size = len(view)
    length = int.from_bytes(view[:8], "little") if size >= 8 else 0
    if size < 8 or length > min(size - 8, LARGEST_HEADER):
        raise ValueError(f"the header would be longer than the file of {size} bytes")
    try:
        header = parse(bytes(view[8 : 8 + length]), size)
    except UnicodeDecodeError as error:
        raise ValueError("the header is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"the header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise ValueError("the header must be a dictionary")
    return header, 8 + length


def sizes(value: Any, count: int | None = None) -> bool:
    """Whether a value is a list of sizes, `count` of them if that is given."""
    fits = isinstance(value, list) and (len(value) <= 32 if count is None else len(value) == count)
    return fits and all(type(one) is int and 0 <= one < 2**62 for one in value)


def _require_no_gaps(table: Mapping[str, Any], length: int) -> None:
    """Require that the arrays fill the file, each byte once."""
    for name, entry in table.items():
        sound = isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "data_offsets"}
        if not sound or not sizes(entry["shape"]) or not sizes(entry["data_offsets"], 2):
            raise ValueError(f"field {name!r}: its entry in the header is damaged")
        if not isinstance(entry["dtype"], str) or entry["dtype"] not in TYPES:
            raise ValueError(f"field {name!r}: unknown type {entry['dtype']!r}")
        begin, end = entry["data_offsets"]
        if end - begin != prod(entry["shape"]) * np.dtype(TYPES[entry["dtype"]]).itemsize:
            raise ValueError(f"field {name!r}: its shape and its number of bytes differ")
    at = 0
    for begin, end, name in sorted((*entry["data_offsets"], name) for name, entry in table.items()):
        if begin != at:
            raise ValueError(f"field {name!r}: begins at byte {begin} of the data, expected at {at}")
        at = end
    if at != length:
        raise ValueError(f"the file has {length} bytes of data, expected {at}: it was cut off or extended")


def _array(view: memoryview, begin: int, name: str, entry: Mapping[str, Any]) -> np.ndarray:
    first, last = entry["data_offsets"]
    try:
        flat = np.frombuffer(view[begin + first : begin + last], dtype=TYPES[entry["dtype"]])
        return flat.reshape(entry["shape"])
    except ValueError as error:
        raise ValueError(f"field {name!r}: {error}") from error
