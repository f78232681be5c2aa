"""Ensembles that learn from a stream, over shared rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..base.ensemble import Ensemble


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
    """

    _all: tuple[int, dict[str, Any]] | None = None  # version of the core, and all attributes at that time

    def __init__(
        self, name: str, given_once: tuple[Any, ...], options: dict[str, Any], frozen: Any, dtype: Any
    ) -> None:
        self.name, self.given_once, self.options = name, given_once, options
        super().__init__(self._new_core(), frozen)
        self.dtype = np.dtype(dtype)

    def configure(self, options: dict[str, Any], frozen: dict[str, Any]) -> None:
        """Set the options of the next call."""
        self.require_frozen(frozen)
        self.core.configure(**options)
        self.options = options

    def _is_sound(self, saved: dict[str, Any], rows: Any) -> bool:
        return super()._is_sound(saved, rows) and (rows is None or rows.dtype == self.dtype)

    def _attributes(self, *which: bool) -> dict[str, Any]:
        """Fitted attributes; without argument only those that decision values need, read after every change."""
        return {**super()._attributes(*which or (True,)), "classes_": self.classes}

    def attributes(self) -> dict[str, Any]:
        with self.lock:
            if self._all is None or self._all[0] != self.core.version:
                self._all = self.core.version, self._attributes(False)
            return self._all[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_all"}

    def admission_margin(self, margins: np.ndarray) -> np.ndarray:
        """Margins with one column per class in sorted order, or one column for two classes."""
        labels = self.labels[: self.core.n_classes]
        if len(labels) == 2:
            return np.where(np.isnan(margins[:, 0]), margins[:, 1], margins[:, 0])
        return margins[:, np.argsort(labels)]

    def _new_core(self) -> Any:
        core = getattr(_core, self.name)(*self.given_once)
        core.configure(**self.options)
        return core
