"""The state of an estimator in threads: one change at a time, published at once.

Calls that change an estimator hold its lock and work on a draft, which other threads do not see. Publishing replaces
all fitted attributes in one step. Predictions work on a snapshot. Therefore a prediction sees one state, and an error
or Ctrl-C before publishing leaves the estimator as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from threading import Lock, RLock
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["changes", "exclusive", "lock_of", "publish", "reading_of", "snapshot", "steady", "turn_of"]

E = TypeVar("E")
F = TypeVar("F", bound=Callable[..., Any])


class _Locks(NamedTuple):
    #: Held by calls that change an object or must see one state of it.
    lock: Any
    #: Held as well by calls that run code of the user, such as kernel functions: a call from there finds it locked.
    mark: Any


_locks: WeakKeyDictionary[Any, _Locks] = WeakKeyDictionary()
_guard = RLock()  # re-entrant: garbage collection may run while it is held


def _locks_of(owner: Any) -> _Locks:
    found = _locks.get(owner)
    if found is None:
        with _guard:
            found = _locks.setdefault(owner, _Locks(RLock(), Lock()))
    return found


def lock_of(owner: Any) -> Any:
    """Re-entrant lock of an object. It is not saved with the object."""
    return _locks_of(owner).lock


def turn_of(estimator: Any) -> Any:
    """Mark of a call that changes an estimator, to hold inside its lock: ``with lock_of(x), turn_of(x)``.

    Refuses a call made by a kernel function of that estimator. Both locks are taken and released by the interpreter, so
    Ctrl-C leaves none behind.
    """
    mark = _locks_of(estimator).mark
    if mark.locked():
        raise RuntimeError("a kernel function must not change the model that it is called for")
    return mark


def reading_of(estimator: Any) -> Any:
    """Mark of a call that reads an estimator, to hold inside its lock: kernel functions must not change it then."""
    mark = _locks_of(estimator).mark
    return nullcontext() if mark.locked() else mark


def _after_fork() -> None:
    """A child of fork has one thread: no lock is held in it."""
    global _locks, _guard
    _locks, _guard = WeakKeyDictionary(), RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def exclusive(method: F) -> F:
    """Decorator of a method that changes an estimator; see :func:`turn_of`."""

    @wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(self), turn_of(self):
            return method(self, *args, **kwargs)

    return alone  # type: ignore[return-value]


def steady(method: F) -> F:
    """Decorator of a method that reads an estimator, which nothing must change meanwhile; see :func:`reading_of`."""

    @wraps(method)
    def reads(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(self), reading_of(self):
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
