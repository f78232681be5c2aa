"""The state of an estimator in threads: one change at a time, published at once.

Calls that change an estimator hold its lock and work on a draft, which other threads do not see. Publishing replaces
all fitted attributes in one step. Predictions work on a snapshot. Therefore a prediction sees one state, and an error
or Ctrl-C before publishing leaves the estimator as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["changes", "exclusive", "lock_of", "publish", "snapshot", "steady", "turn_of"]

E = TypeVar("E")
F = TypeVar("F", bound=Callable[..., Any])

_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_registry = RLock()  # re-entrant: garbage collection may run while it is held


def lock_of(owner: Any) -> Any:
    """Re-entrant lock of an object. It is not saved with the object."""
    lock = _locks.get(owner)
    if lock is None:
        with _registry:
            lock = _locks.setdefault(owner, RLock())
    return lock


def turn_of(estimator: Any) -> Any:
    """Lock of an estimator for a call that changes it; refuses a call made by a kernel function of that estimator."""
    lock = lock_of(estimator)
    if lock._is_owned():  # the lock itself knows: a flag could be left behind by Ctrl-C
        raise RuntimeError("a kernel function must not change the model that it is called for")
    return lock


def _after_fork() -> None:
    """A child of fork has one thread: no lock is held in it."""
    global _locks, _registry
    _locks, _registry = WeakKeyDictionary(), RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def exclusive(method: F) -> F:
    """Decorator of a method that changes an estimator, with its lock as :func:`turn_of` gives it."""

    @wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        with turn_of(self):
            return method(self, *args, **kwargs)

    return alone  # type: ignore[return-value]


def steady(method: F) -> F:
    """Decorator of a method that reads an estimator, which other threads must not change meanwhile."""

    @wraps(method)
    def reads(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(self):
            return method(self, *args, **kwargs)

    return reads  # type: ignore[return-value]


def snapshot(estimator: E) -> E:
    """Shallow copy of an estimator at one moment; other threads do not change its attributes."""
    copy = object.__new__(type(estimator))
    copy.__dict__.update(vars(estimator))  # one step under the GIL
    return copy


def changes(draft: Any, before: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a draft that are new or were replaced, given those that it had before."""
    return {name: value for name, value in vars(draft).items() if before.get(name, draft) is not value}


def publish(estimator: Any, draft: Any, before: dict[str, Any]) -> None:
    """Set all attributes that were changed in a draft on the estimator, in one step; then delete those it lacks."""
    vars(estimator).update(changes(draft, before))  # one step under the GIL
    for name in before.keys() - vars(draft).keys():
        delattr(estimator, name)
