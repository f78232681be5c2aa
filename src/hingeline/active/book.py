"""What is known of the rows of a pool: status, labels, and the history of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["AFTER", "Book", "Event"]

OPEN, LABELLED, SKIPPED, UNSURE = range(4)
STATUS = ("open", "labelled", "skipped", "unsure")
#: Status of the rows after an event.
AFTER = {"answer": LABELLED, "relabel": LABELLED, "skip": SKIPPED, "unsure": UNSURE, "reopen": OPEN}


@dataclass(frozen=True)
class Event:
    """One entry of the history. All fields are plain Python objects, so that ``dataclasses.asdict`` can be saved.

    Attributes
    ----------
    kind : {'answer', 'relabel', 'skip', 'unsure', 'reopen'}
        What happened.
    rows : tuple of int
        Rows of the pool.
    labels : tuple
        Labels given; empty if none were given.
    status_before, labels_before : tuple
        Status and label (None: no label) of the rows before.
    predicted : tuple
        Labels predicted before the event; empty if there was no model.
    changed : float or None
        Share of the watched rows whose prediction the event has changed; None if it is not known. With an estimator
        that forgets exactly it is computed for several events at once: the event that a method returns has None, the
        same event in the history has the number.
    n_labelled : int
        Number of labelled rows after the event.
    """

    kind: str
    rows: tuple[int, ...]
    labels: tuple[Any, ...]
    status_before: tuple[str, ...]
    labels_before: tuple[Any, ...]
    predicted: tuple[Any, ...]
    changed: float | None
    n_labelled: int

    @classmethod
    def load(cls, saved: Mapping[str, Any]) -> Event:
        """Event from the dictionary that JSON gives back."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()}
        return cls(**fields)


class Book:
    """Status and labels of rows, and the events that led to them.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    """

    def __init__(self, n_rows: int) -> None:
        self.status = np.zeros(n_rows, dtype=np.int8)
        self.labels: dict[int, Any] = {}  # in the order of the answers
        self.counts: Counter[Any] = Counter()
        self.history: list[Event] = []

    def apply(self, event: Event) -> None:
        """Set status and labels as after the event, which becomes the last one of the history."""
        rows, labels = event.rows, event.labels or (None,) * len(event.rows)
        self._set(rows, [AFTER[event.kind]] * len(rows), labels)
        self.history.append(event)

    def take_back(self) -> None:
        """Set status and labels as before the last event, and remove it from the history."""
        event = self.history.pop()
        self._set(event.rows, [STATUS.index(name) for name in event.status_before], event.labels_before)

    def _set(self, rows: Sequence[int], status: Sequence[int], labels: Sequence[Any]) -> None:
        for row, label in zip(rows, labels, strict=True):
            old = self.labels.pop(row, None)
            if old is not None:
                self.counts[old] -= 1
            if label is not None:
                self.counts[label] += 1
                self.labels[row] = label
        self.status[list(rows)] = status

    def labels_of(self, rows: Sequence[int]) -> tuple[Any, ...]:
        """Labels of rows; None: no label."""
        return tuple(self.labels.get(row) for row in rows)

    def status_of(self, rows: Sequence[int]) -> tuple[str, ...]:
        """Names of the status of rows."""
        return tuple(STATUS[k] for k in self.status[list(rows)])

    @property
    def open_rows(self) -> np.ndarray:
        """Rows that may be asked, in ascending order."""
        return np.flatnonzero(self.status == OPEN)

    @property
    def has_two_classes(self) -> bool:
        """Whether rows of two classes or more are labelled."""
        return sum(count > 0 for count in self.counts.values()) > 1

    def check_rows(self, rows: Any) -> tuple[int, ...]:
        """Rows as different integers in the range of the pool, one or more."""
        found = np.atleast_1d(np.asarray(rows))
        if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
            raise ValueError(f"rows must be integers in one dimension. Got {rows!r}.")
        listed = found.tolist()
        wrong = [row for row in listed if not 0 <= row < len(self.status)]
        if wrong or len(set(listed)) < len(listed) or not listed:
            what = f"Got {wrong[0]}" if wrong else "Got none" if not listed else "A row occurs twice"
            raise ValueError(f"rows must be different rows of the pool, from 0 to {len(self.status) - 1}. {what}.")
        return tuple(listed)


def check_labels(labels: Any, count: int) -> tuple[Any, ...]:
    """Labels as Python objects, one for each of `count` rows."""
    listed = [labels] if np.ndim(labels) == 0 else list(labels)
    listed = [label.item() if isinstance(label, np.generic) else label for label in listed]
    if len(listed) != count:
        raise ValueError(f"labels must have one entry per row. Got {len(listed)} for {count} rows.")
    if any(label is None or label != label for label in listed):
        raise ValueError("labels must not be None or NaN. Use skip or unsure for rows without label.")
    if len({isinstance(label, str) for label in listed}) > 1:
        raise ValueError(f"labels must be all numbers or all strings. Got {listed[:5]!r}.")
    return tuple(listed)
