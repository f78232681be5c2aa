"""ADWIN: a window over recent values that ends where their mean has changed.

Problem: values x_1, x_2, ... in [0, 1] arrive, here errors of predictions. Has their mean changed, and since when?
Symbols: W the window, n its length, v the variance of its values; W0 and W1 its older and newer part at a cut, n0 and
n1 their lengths, m0 and m1 their means; d the probability of a false alarm.

The window is cut where |m0 - m1| exceeds

    e = sqrt(2 v L / h) + 2 L / (3 h),    1 / h = 1 / (n0 - 4) + 1 / (n1 - 4),    L = ln(2 ln(n) / d),

and W0 is dropped (Bifet and Gavalda, Learning from Time-Changing Data with Adaptive Windowing, SDM 2007, section 3,
equation 3.1 in the form for large n). W is stored as buckets of 1, 2, 4, ... values, at most MOST of each size, so the
memory and the time of a check grow as log(n). Cuts are tried between buckets only.

We differ in three points. n0 and n1 are reduced by LEAST - 1 = 4, as in river: means of few errors are far from normal,
and would be cut too often. Only a mean that rises is an alarm: a loss that falls is that of a model that learns, and W0
is dropped in silence. Cuts are tried after every CLOCK values, as in the implementation of the authors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

#: Buckets of one size; the authors use 5. More make the place of a cut finer, and a check slower.
MOST = 5
#: Values between two checks, as in the authors' implementation: a check costs as much as 30 values without one.
CLOCK = 32
#: Values that each part of a cut has at least: the bound is meaningless for fewer.
LEAST = 5


class ADWIN:
    """Alarm for a mean that rises, with the length of the window since then.

    Parameters
    ----------
    delta : float, default=0.002
        Probability of a false alarm at a check, of values whose mean does not change.

    Attributes
    ----------
    width : int
        Number of the last values whose mean has not changed.
    mean : float
        Their mean; NaN before the first one.
    before : float
        Mean of the values that the last alarm has dropped; NaN before the first alarm.
    n_seen : int
        Number of all values.

    See Also
    --------
    hingeline.Checkpoint.restart : Begin again with a new model after an alarm.

    Examples
    --------
    >>> from hingeline.streams import ADWIN
    >>> alarm = ADWIN()
    >>> alarm.update([0, 0, 0, 1] * 500)
    False
    >>> alarm.update([0, 1] * 200)
    True
    >>> alarm.before, alarm.width <= 400
    (0.25, True)
    """

    def __init__(self, delta: float = 0.002) -> None:
        if isinstance(delta, bool) or not 0 < delta < 1:
            raise ValueError(f"delta must be a number between 0 and 1. Got {delta!r}.")
        self.delta = delta
        self.n_seen, self.before = 0, math.nan
        #: Sums of the buckets of 2^k values, oldest first, and the same for squares.
        self._levels: list[list[tuple[float, float]]] = [[]]
        self._recount()

    def update(self, values: Iterable[float]) -> bool:
        """Add values, in their order.

        Parameters
        ----------
        values : iterable of float in [0, 1]
            Errors, such as ``model.predict(X) != y``.

        Returns
        -------
        bool
            Whether the mean has risen at one of these values.
        """
        given = np.asarray(list(values), dtype=np.float64)
        if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
            raise ValueError("values must be numbers from 0 to 1, in one dimension.")
        risen = False
        for value in given.tolist():
            self._add(value)
            if self.n_seen % CLOCK == 0:
                risen |= self._shrink()
        return risen

    @property
    def mean(self) -> float:
        """Mean of the window."""
        return self._sum / self.width if self.width else math.nan

    def state(self) -> dict[str, Any]:
        """State as numbers, lists and dicts, for example for the note of a checkpoint: some hundred bytes of JSON."""
        before = None if math.isnan(self.before) else self.before
        sums, squares = ([[_short(bucket[k]) for bucket in level] for level in self._levels] for k in (0, 1))
        found = {"delta": self.delta, "n_seen": self.n_seen, "before": before, "sums": sums}
        return found if squares == sums else {**found, "squares": squares}  # errors are 0 and 1: both are equal

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ADWIN:
        """Detector with a state of :meth:`state`; it goes on to the same alarms."""
        found = cls(state["delta"])
        found.n_seen = state["n_seen"]
        found.before = math.nan if state["before"] is None else state["before"]
        levels = zip(state["sums"], state.get("squares", state["sums"]), strict=True)
        found._levels = [[(float(a), float(b)) for a, b in zip(*level, strict=True)] for level in levels]
        found._recount()
        return found

    def _recount(self) -> None:
        """Compute length and sums of the window from its buckets."""
        buckets = [(1 << k, *bucket) for k, level in enumerate(self._levels) for bucket in level]
        self.width = sum(size for size, _, _ in buckets)
        self._sum, self._squares = (math.fsum(bucket[k] for bucket in buckets) for k in (1, 2))

    def _add(self, value: float) -> None:
        """Put a value into a bucket of its own, and join the two oldest buckets of a size that has too many."""
        self.n_seen += 1
        self.width += 1
        self._sum += value
        self._squares += value * value
        self._levels[0].append((value, value * value))
        for k, level in enumerate(self._levels):
            if len(level) <= MOST:
                break
            (a, aa), (b, bb) = level[:2]
            del level[:2]
            if k + 1 == len(self._levels):
                self._levels.append([])
            self._levels[k + 1].append((a + b, aa + bb))

    def _shrink(self) -> bool:
        """Drop the oldest buckets while the mean differs from that of the rest. Returns whether the mean has risen."""
        risen = False
        while (cut := self._find_cut()) is not None:
            n_buckets, before, after = cut
            if after > before and not risen:
                risen, self.before = True, before
            for _ in range(n_buckets):
                while not self._levels[-1]:
                    self._levels.pop()
                del self._levels[-1][0]
            while len(self._levels) > 1 and not self._levels[-1]:
                self._levels.pop()
            self._recount()  # also removes rounding errors of the running sums
        return risen

    def _find_cut(self) -> tuple[int, float, float] | None:
        """Number of buckets before the first cut with a difference above the bound, and the means of both parts."""
        n = self.width
        if n < 2 * LEAST:
            return None
        variance = max(self._squares / n - (self._sum / n) ** 2, 0.0)
        log = math.log(2 * math.log(n) / self.delta)
        n0, sum0, count = 0, 0.0, 0
        for k in range(len(self._levels) - 1, -1, -1):
            for bucket, _ in self._levels[k]:
                n0, sum0, count = n0 + (1 << k), sum0 + bucket, count + 1
                n1 = n - n0
                if n1 < LEAST:
                    return None
                if n0 < LEAST:
                    continue
                inverse = 1 / (n0 - LEAST + 1) + 1 / (n1 - LEAST + 1)
                bound = math.sqrt(2 * variance * log * inverse) + 2 / 3 * log * inverse
                before, after = sum0 / n0, (self._sum - sum0) / n1
                if abs(before - after) > bound:
                    return count, before, after
        return None


def _short(value: float) -> float:
    """The same number as an integer if it is one, which takes less room in JSON."""
    return int(value) if value.is_integer() else value
