"""How a model learns answers and takes them back: by exact forgetting, or by snapshots of earlier models."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..base.rows import require_sound_rows

__all__ = ["Forgetting", "Memory", "Snapshots", "check_pool", "is_fitted", "take"]

#: Label before and after a change, by row; None: no label.
Changes = Mapping[int, tuple[Any, Any]]


def take(pool: Any, rows: Any) -> Any:
    """Rows of the pool: of an array, a CSR matrix or a data frame."""
    return pool.iloc[rows] if hasattr(pool, "iloc") else pool[rows]


def is_fitted(estimator: Any) -> bool:
    """Whether the estimator has learnt anything."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


class Memory:
    """A model and the rows of a pool that it has learnt.

    Parameters
    ----------
    estimator : estimator
        Classifier with ``partial_fit``; ``add`` is used if no classes are declared.
    pool : {array, CSR matrix, data frame}
        Rows.
    classes : ndarray or None
        Labels that are declared in the first call.
    """

    def __init__(self, estimator: Any, pool: Any, classes: np.ndarray | None) -> None:
        self.estimator, self.pool, self.classes = estimator, pool, classes

    def update(self, changes: Changes) -> None:
        """Learn, change and forget labels. An error or Ctrl-C leaves the model as it was."""
        raise NotImplementedError

    def holds(self, rows: Mapping[int, Any], alone: bool) -> bool:
        """Whether the model may have learnt these rows, and no others if `alone`: a check of a model from a file."""
        n_seen = getattr(self.estimator, "n_samples_seen_", len(rows)) if is_fitted(self.estimator) else 0
        return n_seen == len(rows) if alone else n_seen >= len(rows)

    def _teach(self, estimator: Any, labels: Mapping[int, Any]) -> None:
        X, y = take(self.pool, np.array(list(labels), dtype=np.int64)), np.array(list(labels.values()))
        if is_fitted(estimator):
            estimator.partial_fit(X, y)
        elif self.classes is None:
            estimator.add(X, y)
        else:
            estimator.partial_fit(X, y, classes=self.classes)


class Forgetting(Memory):
    """Model that forgets exactly. Any answer can be taken back at any time."""

    def __init__(self, estimator: Any, pool: Any, classes: np.ndarray | None) -> None:
        super().__init__(estimator, pool, classes)
        self.ids: dict[int, int] = {}  # numbers of the points in the model, by row

    @staticmethod
    def suits(estimator: Any) -> bool:
        """Whether the estimator can forget any point: with a window points leave by themselves and do not return."""
        return hasattr(estimator, "forget") and getattr(estimator, "window", None) is None

    def update(self, changes: Changes) -> None:
        learnt = {row: new for row, (_, new) in changes.items() if new is not None}
        gone = [row for row, (old, _) in changes.items() if old is not None]
        first = self._n_seen()
        try:
            if learnt:
                self._teach(self.estimator, learnt)
            if gone:
                self.estimator.forget([self.ids[row] for row in gone])
        except BaseException:
            self._forget_from(first)
            raise
        for row in gone:
            del self.ids[row]
        self.ids.update(zip(learnt, range(first, first + len(learnt)), strict=True))

    def holds(self, rows: Mapping[int, Any], alone: bool) -> bool:
        held = set(self.estimator.ids_.tolist()) if is_fitted(self.estimator) else set()
        return rows.keys() == self.ids.keys() and held.issuperset(self.ids.values())

    def _n_seen(self) -> int:
        return getattr(self.estimator, "n_samples_seen_", 0)

    def _forget_from(self, first: int) -> None:
        """Remove the points that were learnt before an error or Ctrl-C."""
        extra = [] if self._n_seen() == first else [name for name in self.estimator.ids_.tolist() if name >= first]
        if extra:
            self.estimator.forget(extra)


class Snapshots(Memory):
    """Model that cannot forget. Copies of the last models allow to go back and to learn the later answers again.

    Parameters
    ----------
    estimator, pool, classes : object
        As in :class:`Memory`.
    most : int
        Number of copies.
    """

    def __init__(self, estimator: Any, pool: Any, classes: np.ndarray | None, most: int) -> None:
        super().__init__(estimator, pool, classes)
        self.chunks: list[dict[int, Any]] = []  # rows and labels of each call, in the order of the calls
        self.copies: deque[Any] = deque(maxlen=most)  # models before the last calls

    def update(self, changes: Changes) -> None:
        fresh = {row: new for row, (old, new) in changes.items() if old is None}
        others = {row: new for row, (old, new) in changes.items() if old is not None}
        start = self._chunk_of(others) if others else len(self.chunks)
        chunks = [{row: others.get(row, label) for row, label in chunk.items()} for chunk in self.chunks[start:]]
        chunks = [{row: label for row, label in chunk.items() if label is not None} for chunk in [*chunks, fresh]]
        chunks = [chunk for chunk in chunks if chunk]
        if others:
            estimator, copies = deepcopy(self._copy(start)), list(self.copies)[: start - len(self.chunks)]
        else:
            estimator, copies = self.estimator, list(self.copies)
        for chunk in chunks:
            before = deepcopy(estimator) if self.copies.maxlen else None
            copies.append(before)
            try:
                self._teach(estimator, chunk)
            except BaseException:
                if estimator is self.estimator and before is not None:
                    self.estimator = before
                raise
        self.estimator, self.chunks[start:] = estimator, chunks
        self.copies = deque(copies, maxlen=self.copies.maxlen)

    def _chunk_of(self, rows: Mapping[int, Any]) -> int:
        """First call that learnt one of the rows; there must be a copy of the model before it."""
        oldest = len(self.chunks) - len(self.copies)
        for k, chunk in enumerate(self.chunks[oldest:], oldest):
            if not rows.keys().isdisjoint(chunk):
                earlier = [row for row in rows if not any(row in later for later in self.chunks[k:])]
                break
        else:
            k, earlier = oldest, list(rows)
        if earlier:
            raise ValueError(
                f"{type(self.estimator).__name__} cannot forget: only the last {len(self.copies)} calls that taught it "
                f"can be taken back, and row {earlier[0]} was learnt before. Raise n_snapshots, or use IncrementalSVC "
                "without a window."
            )
        return k

    def _copy(self, chunk: int) -> Any:
        """Model before a call."""
        return self.copies[chunk - len(self.chunks)]


def check_pool(pool: Any) -> Any:
    """Pool whose rows can be taken by number: a data frame, a CSR matrix or an array."""
    require_sound_rows(pool, "pool")
    if not sp.issparse(pool) and not hasattr(pool, "iloc"):
        pool = np.asarray(pool)
    if pool.ndim != 2 or not pool.shape[0]:
        raise ValueError(f"pool must have shape (n_rows, n_features), with one row or more. Got {pool.shape}.")
    return pool.tocsr() if sp.issparse(pool) else pool
