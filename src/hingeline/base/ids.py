"""Ids of rows: integers, strings and UUIDs."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any
from uuid import UUID

import numpy as np

from .types import Id

__all__ = ["as_array", "as_list", "as_plain"]


def as_list(ids: Any) -> list[Any]:
    """Ids as a list, from one id or several."""
    if isinstance(ids, np.ndarray) and ids.ndim == 0:
        ids = ids.item()
    single = isinstance(ids, str | bytes | bytearray | Integral) or not isinstance(ids, Iterable)
    return [ids] if single else list(ids)


def as_plain(name: Any) -> Id:
    """Id as a Python int, str or UUID."""
    if isinstance(name, UUID):
        return name
    if isinstance(name, bool | np.bool_) or not isinstance(name, str | Integral):
        raise TypeError(f"ids must be integers, strings or UUIDs. Got {name!r}.")
    return str(name) if isinstance(name, str) else int(name)


def as_array(names: list[Id]) -> np.ndarray:
    """Ids as an array: int64 if all are integers in its range, else objects."""
    if all(isinstance(name, int) and -(2**63) <= name < 2**63 for name in names):
        return np.array(names, dtype=np.int64)
    out = np.empty(len(names), dtype=object)
    out[:] = names
    return out
