"""What a file is, by its content: what to do with models in other formats."""

from __future__ import annotations

import os
import re
from typing import BinaryIO

#: Words at the beginning of a model of LIBSVM.
LIBSVM_WORDS = (b"svm_type", b"kernel_type", b"nr_class", b"total_sv", b"rho", b"degree", b"gamma", b"coef0")
SEPARATORS = set(b",;\t")
#: Bytes at the beginning and the end from which a kind is recognised.
BEGINNING = 1 << 12
#: What to do with files of each kind where another one is wanted.
REMEDIES = {
    "hingeline": "a model of hingeline: read it with hingeline.load(path)",
    "libsvm": "a model in LIBSVM's text format: read it with hingeline.load_libsvm(path)",
    "pickle": "a pickle: if you trust whoever made it, read it with pickle.load or joblib.load in Python, and write it "
    "with hingeline.save(model, path)",
    "onnx": "an ONNX model, which onnxruntime runs. hingeline cannot read it: convert the original model again",
    "skops": "a file of skops: read it with skops.io.load(path, trusted=hingeline.TRUSTED_TYPES)",
    "data": "a data file in LIBSVM's format, not a model",
}
#: A pickle of protocol 2 to 5 or 0, or one that joblib has compressed by zlib.
PICKLE = re.compile(rb"\x80[\x02-\x05]|c[a-z_][\w.]*\n\w+\n|ZF|x[\x01\x5e\x9c\xda]")
#: First lines of a data file in LIBSVM's format.
DATA_LINE = re.compile(rb"[-+]?[0-9.eE+-]+(?:\s+\d+:[-+0-9.eE]+)+\s*$")


def kind_of_content(start: bytes, end: bytes = b"") -> str | None:
    """Kind of a file by its first and last bytes; None if it is not known.

    Returns
    -------
    {'hingeline', 'libsvm', 'pickle', 'onnx', 'skops', 'data'} or None
        'libsvm' is a model, 'data' a data file of LIBSVM.
    """
    line = (start.splitlines() or [b""])[0]
    words = line.split(None, 1)
    if words[:1] and words[0] in LIBSVM_WORDS and not SEPARATORS & set(line):
        return "libsvm"
    if start[8:9] == b"{":
        return "hingeline"
    if PICKLE.match(start):
        return "pickle"
    if start[:4] == b"PK\x03\x04" and b"schema.json" in end:  # among the names at the end of an archive
        return "skops"
    # The fields ir_version (1), and producer (2), version (8) or opset (8 as a message) of the message ModelProto
    if len(start) > 4 and start[0] == 0x08 and start[1] < 0x20 and start[2] in (0x12, 0x1A, 0x22, 0x28, 0x3A, 0x42):
        return "onnx"
    return "data" if DATA_LINE.match(line) else None


def read_ends(file: BinaryIO) -> tuple[bytes, bytes]:
    """First and last bytes of a file, which is then at its beginning; nothing of a pipe."""
    if not file.seekable():
        return b"", b""
    start = file.read(BEGINNING)
    file.seek(-min(BEGINNING, file.seek(0, os.SEEK_END)), os.SEEK_END)
    end = file.read(BEGINNING)
    file.seek(0)
    return start, end


def require_kind(start: bytes, end: bytes, wanted: str) -> None:
    """ValueError, which says what to do, for a file in a known format other than the one that is wanted."""
    kind = kind_of_content(start, end)
    if kind in REMEDIES and kind != wanted:
        raise ValueError(f"the file is {REMEDIES[kind]}")
