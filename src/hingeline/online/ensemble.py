"""Ensembles that learn from a stream, over shared rows."""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

import numpy as np

from .. import _core
from ..base.ensemble import Ensemble
from ..base.frame import Frame

#: No margins.
NOTHING = np.empty((0, 0))


#: A label is missing from a stream after so many samples without it, times its share before. In random order that has
#: the probability e^-20. The core has the same number (algo/lasvm/runs.hpp).
RUN_SURPRISE = 20


class LabelRuns:
    """Which labels have been missing from a stream for too long to be in random order. Not saved with a model."""

    def __init__(self) -> None:
        self.n_samples = 0
        self.counts: Counter[Any] = Counter()
        self.last: dict[Any, int] = {}

    def after(self, y: np.ndarray) -> Self:
        """The runs after the labels of another chunk."""
        labels, runs = y.tolist(), type(self)()
        runs.counts = self.counts.copy()
        runs.counts.update(labels)
        runs.n_samples = self.n_samples + len(labels)
        runs.last = self.last | dict(zip(labels, range(self.n_samples + 1, runs.n_samples + 1), strict=True))
        return runs

    def missing(self) -> list[Any]:
        """Labels that the stream had and has no more."""
        return [
            label
            for label, last in self.last.items()
            if (self.n_samples - last) * self.counts[label] >= RUN_SURPRISE * last
        ]


class StreamEnsemble(Ensemble):
    """Ensemble of machines that learn example by example.

    Parameters
    ----------
    name : {'Lasvm', 'KernelSgd'}
        Name of the class in the core.
    given_once : tuple
        Arguments of its constructor, which cannot change.
    options : dict
        Options, which may change between calls.
    frozen : dict
        Parameters that cannot change between calls.
    dtype : dtype
        Precision of the rows.
    frame : Frame or None, default=None
        Coordinates of the rows.
    """

    #: Samples seen before the last chunk, margins before it, and the array for its own.
    margins: tuple[int, np.ndarray, np.ndarray]

    def __init__(
        self,
        name: str,
        given_once: tuple[Any, ...],
        options: dict[str, Any],
        frozen: Any,
        dtype: Any,
        frame: Frame | None = None,
    ) -> None:
        self.name, self.given_once, self.options = name, given_once, options
        super().__init__(self._new_core(), frozen, frame)
        self.core.configure(**options)
        self.dtype = np.dtype(dtype)
        self.margins = 0, NOTHING, NOTHING
        self.runs = LabelRuns()

    def configure(self, options: dict[str, Any], frozen: dict[str, Any]) -> None:
        """Set the options of the next call."""
        self.require_frozen(frozen)
        self.core.configure(**options)
        self.options = options

    def _is_sound(self, saved: dict[str, Any], rows: Any) -> bool:
        n_seen, margins, nothing = self.margins
        shape_is_right = margins.ndim == 2 and margins.dtype == np.float64 and margins.shape[1] == self.core.n_classes
        shape_is_right = shape_is_right and n_seen == self.core.n_seen and nothing.shape == NOTHING.shape
        return super()._is_sound(saved, rows) and shape_is_right and (rows is None or rows.dtype == self.dtype)

    def _attributes(self, *, brief: bool) -> dict[str, Any]:
        found = {**super()._attributes(brief=brief), "classes_": self.classes}
        return found if brief else {**found, "admission_margin_": self.admission_margin()}

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            state = {**super().__getstate__(), "margins": (self.core.n_seen, self.last_margins(), NOTHING)}
            del state["runs"]
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.runs = LabelRuns()

    def _configure_saved(self) -> None:
        self.core.configure(**self.options)

    # ---- margins -------------------------------------------------------------------------------------

    def expect(self, margins: np.ndarray) -> None:
        """Take the array to which the core is about to write the margins of a chunk."""
        self.margins = self.core.n_seen, self.last_margins(), margins

    def end_fit(self, margins: np.ndarray) -> None:
        """Take the margins of a fit."""
        self.drop_objects()
        self.margins = self.core.n_seen, margins, NOTHING

    def last_margins(self) -> np.ndarray:
        """Margins of the last chunk of which something was learnt, or of the fit.

        The counter of the core says whether the chunk at hand was learnt, so that an exception at any moment leaves
        margins and machines consistent.
        """
        n_before, before, now = self.margins
        learnt, n_classes = self.core.n_seen - n_before, self.core.n_classes
        margins = np.full((len(now if learnt > 0 else before), n_classes), np.nan)
        if learnt > 0:
            margins[:learnt] = now[:learnt, :n_classes]
        else:  # labels may have become known since then
            margins[:, : before.shape[1]] = before
        return margins

    def admission_margin(self) -> np.ndarray:
        """Margins with one column per class in sorted order, or one column for two classes."""
        labels, margins = self.labels[: self.core.n_classes], self.last_margins()
        if len(labels) == 2:
            return np.where(np.isnan(margins[:, 0]), margins[:, 1], margins[:, 0])
        return margins[:, np.argsort(labels)]

    def _new_core(self) -> Any:
        return getattr(_core, self.name)(*self.given_once)
