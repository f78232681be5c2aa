"""Receipts of deletions: what was removed from a model, and which model was left.

A digest is the SHA-256 of everything that a saved model holds. It does not depend on where the model is: in memory, in
a pickle or in a model file.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import numpy as np
import scipy.sparse as sp

from .._sklearn import UNSAVED
from .ids import as_list, as_plain
from .state import lock_of
from .types import Id, Ids

__all__ = ["Receipt", "certificate", "digest", "feed", "hash_file", "make_receipt"]

#: Name and version of the format.
FORMAT, VERSION = "hingeline receipt", 1
#: Fields of a receipt.
FIELDS = ("model", "rows", "ids", "salt", "hashes", "time", "before", "after", "certificate", "files", "software")
#: Attributes that prove the optimum, without their underscore.
PROOF = ("kkt_violation", "duality_gap", "objective", "dual_objective", "stop_reason")
#: Bytes of the salt of a receipt.
SALT_BYTES = 16


class Receipt:
    """Record of a deletion, as plain data.

    It holds no id: each is hashed with a salt of this receipt, so that someone who knows the id can find it.

    Parameters
    ----------
    content : dict
        Fields of the receipt.

    Attributes
    ----------
    model : str
        Class of the model.
    rows : int
        Number of rows removed.
    ids : int
        Number of ids removed.
    salt, hashes : str, list of str
        Salt, and HMAC-SHA-256 of each id with it, in hexadecimal.
    time : str
        When, in UTC.
    before, after : str
        Digests of the model.
    certificate : dict
        What proves that the model is the optimum of the remaining rows: ``tol``, ``n_rows``, and for each machine its
        KKT violation, duality gap, objective and stop reason, as far as the estimator computes them.
    files : dict of str to str
        Files that were written instead of those with the rows, and their SHA-256.
    software : str
        Version of hingeline.
    """

    model: str
    rows: int
    ids: int
    salt: str
    hashes: list[str]
    time: str
    before: str
    after: str
    certificate: dict[str, Any]
    files: dict[str, str]
    software: str

    def __init__(self, content: Mapping[str, Any]) -> None:
        vars(self).update({name: content[name] for name in FIELDS})

    def __repr__(self) -> str:
        return f"Receipt(rows={self.rows}, time={self.time!r}, after={self.after[:12]!r}...)"

    # ---- text ----------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The receipt as a text in JSON."""
        content = {"format": FORMAT, "version": VERSION, **{name: vars(self)[name] for name in FIELDS}}
        return json.dumps({**content, "checksum": _checksum(content)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Receipt from a text that :meth:`to_json` has made; ValueError if it was altered."""
        try:
            content = json.loads(text)
        except ValueError as error:
            raise ValueError(f"the receipt is no JSON: {error}") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version") != VERSION:
            raise ValueError(f"the text is no receipt of hingeline, version {VERSION}")
        checksum = content.pop("checksum", None)
        if checksum != _checksum(content) or content.keys() != {"format", "version", *FIELDS}:
            raise ValueError("the receipt was altered: its checksum differs")
        return cls(content)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the receipt to a file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Receipt from a file; ValueError if it was altered."""
        return cls.from_json(Path(path).read_bytes())

    # ---- checks --------------------------------------------------------------------------------------

    def covers(self, ids: Ids) -> bool:
        """Whether all these ids were removed.

        Parameters
        ----------
        ids : int, str, uuid.UUID or iterable of these
            Ids.

        Returns
        -------
        bool
            Whether the receipt has the hashes of all.
        """
        return {_hash(self.salt, as_plain(name)) for name in as_list(ids)} <= set(self.hashes)

    def verify(self, model: Any) -> None:
        """Check that a model is the one that the deletion has left.

        Parameters
        ----------
        model : estimator
            Model, loaded from a file for example.

        Raises
        ------
        ValueError
            If it is another model, or the same one after any change. The message says what differs.
        """
        if type(model).__name__ != self.model:
            raise ValueError(f"the receipt is of a {self.model}; the model is a {type(model).__name__}")
        found = digest(model)
        if found != self.after:
            earlier = " It is the model before the deletion." if found == self.before else ""
            raise ValueError(
                f"the model differs from the one that the deletion has left: its digest is {found[:16]}..., the "
                f"receipt has {self.after[:16]}....{earlier}"
            )
        if certificate(model) != self.certificate:
            raise ValueError("the certificate of the receipt differs from that of the model")
        held = {_hash(self.salt, as_plain(name)) for name in np.asarray(getattr(model, "ids_", [])).tolist()}
        if held & set(self.hashes):
            raise ValueError(f"the model holds rows of {len(held & set(self.hashes))} ids that the receipt names")


def make_receipt(model: Any, ids: Iterable[Id], rows: int, before: str) -> Receipt:
    """Receipt of a deletion that has just been made, from the digest of the model before it."""
    salt = secrets.token_hex(SALT_BYTES)
    hashes = sorted(_hash(salt, name) for name in ids)  # sorted: their order says nothing
    return Receipt(
        {
            "model": type(model).__name__,
            "rows": rows,
            "ids": len(hashes),
            "salt": salt,
            "hashes": hashes,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "before": before,
            "after": digest(model),
            "certificate": certificate(model),
            "files": {},
            "software": version("hingeline"),
        }
    )


def certificate(model: Any) -> dict[str, Any]:
    """What proves that a model is an optimum, as plain numbers and strings."""
    found: dict[str, Any] = {"tol": float(model.tol)} if hasattr(model, "tol") else {}
    found["n_rows"] = len(model.ids_)
    for name in PROOF:
        value = getattr(model, f"{name}_", None)
        if value is not None:
            found[name] = np.atleast_1d(value).tolist()
    return found


def hash_file(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(model: Any) -> str:
    """SHA-256 of everything that a saved model holds: class, parameters, fitted attributes, rows, ids.

    Functions, such as a kernel, count by their presence only.
    """
    with lock_of(model):
        state = {name: value for name, value in model.__getstate__().items() if name not in UNSAVED}
    state.pop("_sklearn_version", None)
    sums = hashlib.sha256(type(model).__name__.encode())
    feed(sums, state)
    return sums.hexdigest()


def _hash(salt: str, name: Id) -> str:
    return hmac.new(bytes.fromhex(salt), f"{type(name).__name__}:{name}".encode(), "sha256").hexdigest()


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def feed(sums: Any, value: Any) -> None:
    """Add a value to a digest, with its type and length, so that different values give different bytes."""
    if isinstance(value, np.ndarray):
        return _feed_array(sums, value)
    if isinstance(value, np.str_):
        value = str(value)
    if isinstance(value, np.generic):
        return _feed_array(sums, np.asarray(value))
    if sp.issparse(value):
        return feed(sums, (type(value).__name__, value.shape, value.data, value.indices, value.indptr))
    if isinstance(value, list | tuple):
        sums.update(f"{type(value).__name__} {len(value)};".encode())
        for one in value:
            feed(sums, one)
        return None
    if isinstance(value, Mapping):
        sums.update(f"dict {len(value)};".encode())
        for key in sorted(value, key=repr):
            feed(sums, key)
            feed(sums, value[key])
        return None
    if isinstance(value, np.random.RandomState):
        return feed(sums, value.get_state(legacy=True))
    if value is None or isinstance(value, bool | int | float | str | UUID | np.dtype):
        text = str(value)
        sums.update(f"{type(value).__name__} {len(text)} {text};".encode("utf-8", "surrogatepass"))
        return None
    if callable(value):
        sums.update(b"function;")
        return None
    sums.update(f"object {type(value).__name__};".encode())
    if hasattr(value, "fingerprint"):  # kept rows, which are large and do not change
        sums.update(value.fingerprint())
        return None
    return feed(sums, value.__getstate__())


def _feed_array(sums: Any, array: np.ndarray) -> None:
    kind = array.dtype.newbyteorder("<")
    sums.update(f"array {kind.str} {array.shape};".encode())
    if kind.kind in "OU":
        items = array.ravel().tolist()
        if all(type(one) is str for one in items):
            feed(sums, np.array(list(map(len, items)), dtype=np.int64))
            sums.update("".join(items).encode("utf-8", "surrogatepass"))
            return None
        for one in items:
            feed(sums, one)
        return None
    sums.update(np.ascontiguousarray(array, dtype=kind).reshape(-1).view(np.uint8).data)
    return None
