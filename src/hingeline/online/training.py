"""One fit of online machines: passes over the data in pieces, then the end."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .. import _core
from .ensemble import CHUNK, OnlineMachines


class Training:
    """One fit: passes over the data in pieces, then the end."""

    def __init__(self, estimator: Any, machines: OnlineMachines, X: Any, codes: np.ndarray, boxes: np.ndarray) -> None:
        self.estimator = estimator
        self.machines = machines
        self.matrix = _core.Matrix(X)
        self.source = estimator._source(self.matrix)
        self.threads = estimator._training_threads()
        self.codes, self.boxes = codes, boxes
        self.margins = np.full((len(codes), len(machines.labels)), np.nan)
        self.random = check_random_state(estimator.random_state)
        self.order = self.random.permutation(np.flatnonzero(boxes))
        self.epoch = self.at = 0
        self.done = False

    def advance(self, steps: int | None) -> bool:
        """Visit so many examples (None: all); after the last one optimise, if that is wanted."""
        left = 2**62 if steps is None else steps
        while left > 0 and self.epoch < self.estimator.n_epochs:
            piece = self.order[self.at : self.at + min(left, CHUNK)]
            self._learn(piece, known=self.epoch > 0, evicts=True)
            self.at += len(piece)
            left -= len(piece)
            if self.at == len(self.order):
                self.epoch, self.at = self.epoch + 1, 0
                if self.epoch < self.estimator.n_epochs:
                    self.order = self.random.permutation(self.order)
        if self.epoch < self.estimator.n_epochs:
            return True
        if self.estimator.finish:
            self._finish()
        self.done = True
        return False

    def _examples(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        return rows, rows, self.codes[rows], self.boxes[rows]

    def _learn(self, rows: np.ndarray, *, known: bool, evicts: bool) -> None:
        margins = np.full((len(rows), len(self.machines.labels)), np.nan)
        how = {"threads": self.threads, "known": known, "evicts": evicts, "undo": False}
        try:
            self.machines.learn(self.source, self.matrix, *self._examples(rows), margins=margins, **how)
        finally:
            self.margins[rows] = np.where(np.isnan(margins), self.margins[rows], margins)

    def _finish(self) -> None:
        """Work the gap off: on what is held, and for LASVM also with what it has evicted."""
        whole = self.estimator.variant == "lasvm"
        tol = self.estimator.tol / 2 if whole else self.estimator.tol
        most = 2**62 if self.estimator.max_iter < 0 else int(self.estimator.max_iter)
        most -= int(self.machines.finish(self.source, tol, most, self.threads).max(initial=0))
        held = -1
        while whole:
            losses, rows = np.zeros(len(self.machines.machines)), []
            for at in range(0, len(self.order), CHUNK):
                piece = self.order[at : at + CHUNK]
                some, marked = self.machines.outside(
                    self.source, self.matrix, *self._examples(piece), threads=self.threads
                )
                losses += some
                rows.append(piece[marked])
            self.machines.outside_loss = losses[self.machines.sorted_machines()]
            now = self.machines.attributes()
            outside, before, held = np.concatenate(rows), held, int(now["n_expansion_"].sum())
            reached = now["gap_"] <= self.estimator.tol * (now["dual_"] + now["gap_"])
            if most <= 0 or not len(outside) or reached.all() or held == before:
                return
            self._learn(outside, known=True, evicts=False)
            most -= int(self.machines.finish(self.source, tol, most, self.threads).max(initial=0))

    def end(self, unfinished: str) -> OnlineMachines:
        """The machines as they stay, and why they did not come to their end."""
        self.machines.end(self.source)
        self.machines.n_seen = len(self.codes)
        self.machines.unfinished = unfinished
        return self.machines
