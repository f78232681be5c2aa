"""Model files: hingeline's own, LIBSVM's text, folders of checkpoints; recognised by content."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .errors import CommandError, DataError, InputError, OutputError, UsageError

#: Formats of model files that can be written.
FORMATS = ("hingeline", "libsvm", "onnx")
LIBSVM_WORDS = (b"svm_type", b"kernel_type", b"nr_class", b"total_sv", b"rho", b"degree", b"gamma", b"coef0")


def kind_of(path: str) -> str | None:
    """'hingeline', 'libsvm' or 'checkpoint'; None if the file is no model."""
    if os.path.isdir(path):
        return "checkpoint"
    try:
        with open(path, "rb") as file:
            start = file.read(64)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if start.split(None, 1)[:1] and start.split(None, 1)[0] in LIBSVM_WORDS:
        return "libsvm"
    return "hingeline" if start[8:9] == b"{" else None


def opened(path: str, n_features: int | None = None) -> Any:
    """Read a model from a file."""
    from ..files import Checkpoint, load, load_libsvm

    kind = kind_of(path)
    if kind is None:
        raise DataError(path, "the file is neither a model of hingeline nor one of LIBSVM")
    try:
        if kind == "checkpoint":
            with Checkpoint(path, every=None) as run:
                return run.model
        return load(path) if kind == "hingeline" else load_libsvm(path, n_features=n_features)
    except (ValueError, RuntimeError) as error:
        raise DataError(path, str(error).removeprefix(f"{path}: ")) from error


def require_file(path: str) -> None:
    """Refuse early what cannot be replaced by a file: it may take hours to train the model."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise OutputError(f"cannot write {path}: the folder {folder} does not exist")
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise OutputError(f"cannot write {path}: it is not a regular file")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"cannot write {path}: no permission to write to {folder}")


def require_other(inputs: Iterable[str | None], outputs: Iterable[str | None]) -> None:
    """Refuse outputs that would replace an input or one another."""
    taken = [path for path in inputs if path not in (None, "-")]
    for path in outputs:
        if path in (None, "-"):
            continue
        same = next((one for one in taken if _same_file(str(one), str(path))), None)
        if same is not None:
            raise UsageError(f"{path} would replace {same}, another file of this command. Give another name.")
        taken.append(path)


def _same_file(a: str, b: str) -> bool:
    """Whether two names are those of one regular file, or of one file that does not exist yet."""
    if os.path.exists(a) and os.path.exists(b):
        return os.path.isfile(a) and os.path.samefile(a, b)
    return os.path.realpath(a) == os.path.realpath(b)


def write(model: Any, path: str, kind: str) -> None:
    """Write a model to a file, which appears as a whole."""
    from ..files import save, save_libsvm

    require_file(path)
    try:
        if kind == "onnx":
            _write_onnx(model, path)
        else:
            (save if kind == "hingeline" else save_libsvm)(model, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"the model cannot be written in the format {kind}: {error}") from error


def _write_onnx(model: Any, path: str) -> None:
    from ..files.durable import write_atomically

    try:
        from ..onnx import export
    except ImportError as error:
        raise CommandError("ONNX models need onnx: pip install hingeline[onnx]") from error
    write_atomically(Path(path), [export(model).SerializeToString()])
