"""Machines over one store of rows that learn from a stream; those of the LASVM family."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from .. import _core
from ..base.ensemble import Machines

#: Rows that `fit` hands to the core at a time; results do not depend on it.
CHUNK = 4096


class StreamMachines(Machines):
    """Machines that learn example by example.

    Parameters
    ----------
    options : dict
        Arguments of the core's machines.
    frozen : dict
        Parameters that cannot change from one call to the next; 'multi_class' ('ovo' or 'ovr') among them.
    dtype : dtype
        Precision of the rows.
    """

    #: The core's machines, and those of their options that are given only once.
    core: type
    given_once: tuple[str, ...] = ()

    def __init__(self, options: dict[str, Any], frozen: dict[str, Any], dtype: Any) -> None:
        super().__init__(self.core(**options), frozen, frozen["multi_class"])
        self.options = options
        self.dtype = np.dtype(dtype)
        self.unfinished = ""  # why the last call ended early

    def configure(self, options: dict[str, Any], frozen: dict[str, Any]) -> None:
        """Options of the next call."""
        self.require_frozen(frozen)
        self.model.configure(**{name: value for name, value in options.items() if name not in self.given_once})
        self.options = options

    # ---- learning ------------------------------------------------------------------------------------

    def learn(self, source: Any, X: _core.Matrix, *examples: np.ndarray, margins: np.ndarray, **how: Any) -> None:
        """Learn from rows of X: their numbers in X, their ids, codes and boxes, in their order.

        `margins` gets the margins at admission, one column per code. `how` are the keyword arguments of the core.
        """
        with self.lock:
            try:
                self.model.learn(self._source(source), X, *examples, margins=margins, **how)
            finally:
                self._read = {}

    # ---- results -------------------------------------------------------------------------------------

    def _common(self, machines: list[dict[str, Any]], union: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, Any]:
        """Attributes that machines of all kinds have."""
        histories = [machine["history"] for machine in machines]
        lengths = [len(history["step"]) for history in histories]
        history = {key: np.concatenate([h[key] for h in histories]) for key in histories[0]}
        return {
            "support_": union["support"],
            "n_support_": union["n_support"],
            "dual_coef_": union["dual_coef"],
            "support_vectors_": self.take(rows) if self.model.has_rows else np.empty((0, 0)),
            "intercept_": np.array([machine["intercept"] for machine in machines]) + 0.0,
            "decision_scale_": np.array([machine["largest"] for machine in machines]),
            "n_iter_": np.array([machine["steps"] for machine in machines]),
            "stop_reason_": np.array([self.unfinished or machine["reason"] for machine in machines]),
            "n_kernel_evals_": sum(int(machine["kernel_evals"]) for machine in machines),
            "n_samples_seen_": self.n_seen,
            "history_": {"machine": np.repeat(np.arange(len(machines)), lengths), **history},
        }

    # ---- files ---------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in ("model", "lock", "_read")}
        rows = self.take(np.arange(self.model.n_stored)) if self.model.has_rows else None
        return {**state, "states": self.model.states(), "rows": rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows, states = state.pop("rows"), state.pop("states")
        vars(self).update(state, _read={}, lock=RLock())
        if rows is None and self.frozen["kernel"] != "precomputed" and any(len(s["row"]) for s in states):
            raise ValueError("the saved state of a machine is damaged: it has no rows")
        self.model = self.core(**self.options)
        self.model.restore(states, None if rows is None else _core.Matrix(rows), len(self.labels))


class OnlineMachines(StreamMachines):
    """The LASVM family."""

    core = _core.Lasvm
    given_once = ("variant",)

    def __init__(self, options: dict[str, Any], frozen: dict[str, Any], dtype: Any) -> None:
        super().__init__(options, frozen, dtype)
        self.outside_loss: Any = 0.0  # of each machine, after finishing

    def learn(self, source: Any, X: _core.Matrix, *examples: np.ndarray, margins: np.ndarray, **how: Any) -> None:
        super().learn(source, X, *examples, margins=margins, **how)
        self.outside_loss = 0.0

    def finish(self, source: Any, tol: float, most: int, threads: int) -> np.ndarray:
        """Optimise what is held; steps of each machine."""
        try:
            return self.model.finish(self._source(source), tol, most, threads)
        finally:
            self._read = {}

    def outside(self, source: Any, X: _core.Matrix, *examples: np.ndarray, threads: int) -> tuple[np.ndarray, Any]:
        """Losses of examples that are not held, by machine, and which examples have one."""
        losses, marked = self.model.outside(self._source(source), X, *examples, threads=threads)
        return losses, marked.astype(bool)

    def end(self, source: Any) -> None:
        """Keep support vectors only, where the variant does so at the end of training, and no kernel values."""
        self.model.release()
        self.model.end(self._source(source))
        self.model.release()
        self._read = {}

    def _attributes(self) -> dict[str, Any]:
        machines, union, rows = self._results()

        def each(key: str) -> np.ndarray:
            return np.array([machine[key] for machine in machines])

        return {
            **self._common(machines, union, rows),
            "n_expansion_": each("n_expansion"),
            "gap_": each("gap") + self.outside_loss,
            "gap_target_": each("target"),
            "dual_": each("dual"),
            "ramp_counts_": {key: each(key) for key in ("admitted", "cleaned", "skipped")},
            "n_kernel_needed_": int(each("kernel_needed").sum()),
            "n_kernel_recomputed_": int(each("kernel_recomputed").sum()),
        }
