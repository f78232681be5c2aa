"""Forget rows in model files, so that no file holds them afterwards.

The order of steps makes a crash harmless: (1) a second name for the old file, (2) the new file replaces the first name,
(3) the old file is overwritten under its second name and removed. After a crash the model is the old or the new one, as
a whole. If the old file still exists under its second name, the next call overwrites it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..base.receipt import Receipt, hash_file
from ..base.types import Ids
from .checkpoint import Checkpoint
from .durable import PART, erase, sync_folder
from .fixed import parts_of
from .models import load, save

__all__ = ["forget_in_file"]


def forget_in_file(
    path: str | os.PathLike[str], ids: Ids, *, functions: Mapping[str, Callable[..., Any]] | None = None
) -> Receipt:
    """Forget rows of a model in a file, or in the folder of a :class:`Checkpoint`.

    When this returns, neither the file nor any temporary file beside it holds the rows. A crash leaves the old or the
    new model; call the function again to complete the work.

    Parameters
    ----------
    path : str or path-like
        File that :func:`save` has written, of a model fitted with ids, or folder of a checkpoint.
    ids : int, str, uuid.UUID or iterable of these
        Ids of the rows. All rows with one of these ids are removed.
    functions : dict of str to callable, default=None
        Functions by the name of their parameter, as in :func:`load`.

    Returns
    -------
    Receipt
        What was removed, which model is left, and the SHA-256 of the new file.

    See Also
    --------
    hingeline.Receipt : What a receipt holds, and how to verify it.

    Examples
    --------
    >>> import hingeline, tempfile, os
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = hingeline.SVC(gamma=0.5).fit(X, y, ids=range(150))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     hingeline.save(model, path)
    ...     receipt = hingeline.forget_in_file(path, [7, 42])
    ...     receipt.verify(hingeline.load(path))
    >>> receipt.rows, receipt.covers(7), receipt.covers(8)
    (2, True, False)
    """
    path = Path(path)
    if path.is_dir():
        with Checkpoint(path, every=None, functions=functions) as run:
            return run.forget(ids)
    path = Path(os.path.realpath(path))
    model = load(path, functions=functions)
    learner = parts_of(model)[-1]
    if not hasattr(learner, "forget"):
        getattr(learner, "forget")  # noqa: B009  raises the error that says why
    try:
        receipt = _forget(learner, ids)
    except KeyError:
        _erase_parts(path)  # what a crash has left
        raise
    old = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PART}")
    os.link(path, old)
    try:
        save(model, path)
    except BaseException:
        if os.path.samefile(path, old):
            old.unlink()
        raise
    _erase_parts(path)
    receipt.files = {path.name: hash_file(path)}
    return receipt


def _forget(model: Any, ids: Ids) -> Receipt:
    """Receipt of ``forget`` of any estimator that forgets."""
    streams = hasattr(model, "partial_fit")
    receipt: Receipt = model.forget(ids, receipt=True) if streams else model.forget(ids)
    return receipt


def _erase_parts(path: Path) -> None:
    """Overwrite files that were replaced, or were not completed, under the name of this one."""
    for part in path.parent.glob(f".{_literal(path.name)}.*{PART}"):
        erase(part)
    sync_folder(path.parent)


def _literal(name: str) -> str:
    """Pattern of glob for a name."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
