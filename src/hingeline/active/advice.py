"""Advice when to stop asking: predictions that no longer change."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["Advice", "Watch", "kappa"]

#: Models whose predictions are kept.
KEPT = 1000


@dataclass(frozen=True)
class Advice:
    """Whether more answers are likely to change the model.

    Attributes
    ----------
    stop : bool
        Whether `agreement` is at least the required one, `expected_change` is at most 1 minus it, and the predictions
        for the watched rows are not all equal: a model that has hardly seen a rare class is stable, but not finished.
    reason : str
        The same in words.
    agreement : float
        Cohen's kappa between the predictions for the watched rows now and `window` answers ago; NaN while there are
        fewer answers.
    expected_change : float
        Share of the watched rows whose prediction the next `window` answers change, estimated by the last `window`
        answers. Rows that change several times count several times. NaN while there are fewer answers.
    surprise : float
        Share of the last `window` answers that differ from the prediction before the answer; NaN if there was none.
    inside_margin : float
        Share of the watched rows without label whose decision value is between -1 and 1; NaN with several classes. For
        an exact SVM, an answer to any other row changes nothing if it is the predicted label.
    """

    stop: bool
    reason: str
    agreement: float
    expected_change: float
    surprise: float
    inside_margin: float


class Watch:
    """Predictions of the last models for the same rows.

    Parameters
    ----------
    rows : ndarray
        Numbers of the rows in the pool.
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.seen: deque[tuple[int, int, np.ndarray]] = deque(maxlen=KEPT)  # events, labels, predictions
        self.marks: list[tuple[int, int, Any]] = []  # events, labels, and models whose predictions come later

    def note(self, n_events: int, n_labelled: int, predictions: np.ndarray) -> float | None:
        """Add the predictions of a new model. Returns the share that has changed; None for the first model."""
        before = self.seen[-1][2] if self.seen else None
        self.seen.append((n_events, n_labelled, predictions))
        return None if before is None else _share(before, predictions)

    def settle(self, found: Sequence[np.ndarray | None]) -> dict[int, float]:
        """Add the predictions of the marked models; None: not known. Returns changed shares by number of events."""
        seen, changed = self.seen.copy(), dict[int, float]()
        for (n_events, n_labelled, _), predictions in zip(self.marks, found, strict=True):
            if predictions is None:
                seen.clear()
                continue
            if seen:
                changed[n_events] = _share(seen[-1][2], predictions)
            seen.append((n_events, n_labelled, predictions))
        self.seen, self.marks = seen, []
        return changed

    def rewind(self, n_events: int) -> None:
        """Remove the predictions of models after so many events."""
        while self.seen and self.seen[-1][0] > n_events:
            self.seen.pop()
        self.marks = [mark for mark in self.marks if mark[0] <= n_events]

    @property
    def is_empty(self) -> bool:
        """Whether no model was noted yet."""
        return not self.seen and not self.marks

    @property
    def is_constant(self) -> bool:
        """Whether all rows have the same prediction."""
        return not self.seen or bool(np.all(self.seen[-1][2] == self.seen[-1][2][0]))

    def movement(self, window: int) -> tuple[float, float]:
        """Agreement with the model `window` labels ago, and the sum of the changes since; NaN if it is not known."""
        if not self.seen:
            return np.nan, np.nan
        goal = self.seen[-1][1] - window
        then = next((k for k in range(len(self.seen) - 1, -1, -1) if self.seen[k][1] <= goal), None)
        if then is None:
            return np.nan, np.nan
        models = [predictions for *_, predictions in list(self.seen)[then:]]
        moved = sum(_share(a, b) for a, b in pairwise(models))
        return kappa(models[0], models[-1]), moved


def _share(a: np.ndarray, b: np.ndarray) -> float:
    """Share of the labels that differ."""
    return float(np.mean(a != b))


def kappa(a: np.ndarray, b: np.ndarray) -> float:
    """Cohen's kappa of two sequences of labels; 1 if they are equal.

    Parameters
    ----------
    a, b : ndarray of shape (n,)
        Labels.

    Returns
    -------
    float
        Agreement, corrected for the agreement by chance.
    """
    same = float(np.mean(a == b)) if len(a) else 1.0
    if same == 1:
        return 1.0
    labels = np.unique(np.concatenate([a, b]))
    chance = sum(float(np.mean(a == label)) * float(np.mean(b == label)) for label in labels)
    return (same - chance) / (1 - chance) if chance < 1 else 0.0


def advise(watch: Watch, window: int, agreement: float, surprise: float, inside_margin: float) -> Advice:
    """Advice from the watched predictions."""
    found, moved = watch.movement(window)
    if np.isnan(found):
        stop, reason = False, f"there are fewer than {window} answers since the first model"
    elif watch.is_constant:
        stop, reason = False, "all watched rows have the same prediction"
    elif found < agreement:
        stop, reason = False, _still_changes(found, moved, window, agreement)
    elif moved > 1 - agreement:
        stop, reason = False, f"predictions go back and forth: {100 * moved:.2g} % changed in the last {window} answers"
    else:
        stop, reason = True, f"predictions are stable: {100 * moved:.2g} % changed in the last {window} answers"
    return Advice(stop, reason, found, moved, surprise, inside_margin)


def _still_changes(found: float, moved: float, window: int, agreement: float) -> str:
    """Reason to go on: the agreement with an earlier model is too small."""
    return (
        f"predictions still change: {100 * moved:.2g} % in the last {window} answers (agreement with the model before "
        f"them {found:.3f}, {agreement:g} is enough)"
    )


def share_inside(scores: Any) -> float:
    """Share of decision values between -1 and 1; NaN for several classes or no rows."""
    return float(np.mean(np.abs(scores) < 1)) if scores.ndim == 1 and len(scores) else np.nan
