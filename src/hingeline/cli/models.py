"""Model files: hingeline's own, LIBSVM's text, folders of checkpoints; recognised by content."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from .._registry import ESTIMATORS
from . import stdout
from .errors import DataError, InputError, OutputError, UsageError, translate_write_errors

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

#: Formats of model files that can be written.
FORMATS = ("hingeline", "libsvm", "onnx")
#: Kinds of files that hold a model, but not for this command.
FOREIGN = ("pickle", "onnx", "skops")


def kind_of(path: str) -> str | None:
    """'hingeline', 'libsvm', 'checkpoint', 'pickle', 'onnx' or 'skops'; None if the file is no model."""
    from ..files.kinds import kind_of_content, read_ends

    if os.path.isdir(path):
        return "checkpoint"
    if _is_special(path):  # bytes of a pipe can be read once only
        return None
    try:
        with open(path, "rb") as file:
            kind = kind_of_content(*read_ends(file))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    return None if kind == "data" else kind


def _is_special(path: str) -> bool:
    """Whether there is a pipe or a device of that name."""
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


def open_model(path: str, n_features: int | None = None, hint: str = "") -> BaseEstimator:
    """Read a model from a file. `hint` is added to the error for a file that is no model."""
    from ..files import Checkpoint, load, load_libsvm
    from ..files.kinds import REMEDIES

    kind = kind_of(path)
    if kind in FOREIGN:
        raise DataError(path, f"the file is {REMEDIES[str(kind)]}")
    if kind is None:
        regular = f"the file is neither a model of hingeline nor one of LIBSVM{hint}"
        raise DataError(path, "a model must be a regular file" if _is_special(path) else regular)
    if kind == "checkpoint" and not has_checkpoint(path):
        raise DataError(path, "the folder holds no checkpoint")
    try:
        if kind == "checkpoint":
            with Checkpoint(path, every=None) as run:
                return run.model
        return load(path) if kind == "hingeline" else load_libsvm(path, n_features=n_features)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RuntimeError) as error:
        raise DataError(path, str(error).removeprefix(f"{path}: ")) from error


def has_checkpoint(folder: str | None) -> bool:
    """Whether there is a checkpoint to go on from."""
    from ..files.checkpoint import GENERATION

    return folder is not None and any(Path(folder).glob(GENERATION.replace("{:010d}", "*")))


def require_file(path: str) -> None:
    """Refuse early what cannot be replaced by a file: it may take hours to train the model."""
    if path == "-":
        raise UsageError("this output cannot go to standard output. Give the name of a file instead of -.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise OutputError(f"cannot write {path}: the folder {folder} does not exist")
    if _is_special(path):
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


def require_outputs(inputs: Iterable[str | None], outputs: Iterable[str | None]) -> None:
    """Refuse output files that would replace another file of the command, or that cannot be written."""
    files = [path for path in outputs if path is not None]
    require_other(inputs, files)
    for path in files:
        require_file(path)


def _same_file(a: str, b: str) -> bool:
    """Whether two names are those of one regular file, or of one file that does not exist yet."""
    if os.path.exists(a) and os.path.exists(b):
        return os.path.isfile(a) and os.path.samefile(a, b)
    return os.path.realpath(a) == os.path.realpath(b)


def write(model: BaseEstimator, path: str, kind: str) -> None:
    """Write a model to a file, which appears as a whole. LIBSVM's text may go to standard output."""
    from ..files import save, save_libsvm
    from .estimators import learner_of

    if path == "-" and kind == "libsvm":
        with TemporaryDirectory() as folder:
            write(model, str(Path(folder, "model")), kind)
            stdout.write(Path(folder, "model").read_bytes())
        return
    require_file(path)
    if kind != "hingeline" and learner_of(model) is not model:
        other = "Scale the data files with svm-scale" if kind == "libsvm" else "Use skl2onnx in Python"
        raise UsageError(f"the format {kind} cannot hold the scaling before the model. {other}.")
    try:
        with translate_write_errors(path):
            if kind == "onnx":
                _write_onnx(model, path)
            else:
                (save if kind == "hingeline" else save_libsvm)(model, path)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the model cannot be written in the format {kind}: {error}") from error


def require_libsvm(model: BaseEstimator, classes: np.ndarray) -> None:
    """Refuse before the training a model that LIBSVM's text cannot hold."""
    name, message = type(model).__name__, None
    if not ESTIMATORS[name].libsvm:
        message = f"{name} has no support vectors, which LIBSVM's format is made of."
    elif getattr(model, "shape", "plane") != "plane":
        message = "LIBSVM's one-class SVM is a plane. Give --param shape=plane."
    elif len(classes) > 2 and (name == "IncrementalSVC" or getattr(model, "multi_class", "ovo") != "ovo"):
        message = f"{name} has a machine for each class; LIBSVM has one for each pair of classes. Use SVC."
    elif len(classes) and (classes.dtype.kind not in "iu" or abs(classes).max() >= 2**31):
        message = f"LIBSVM's labels are 32-bit integers. Got {classes[:5].tolist()}."
    if message is not None:
        raise UsageError(f"--format libsvm: {message}")


def _write_onnx(model: BaseEstimator, path: str) -> None:
    from ..files.durable import write_atomically
    from ..onnx import export

    write_atomically(Path(path), [export(model).SerializeToString()])
