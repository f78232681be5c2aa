"""Training on a CUDA device: which fits go there, and the machines of one fit while they are there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._registry import COMPUTED
from ..cuda import Card, Kernel, Limits, Machine, Values, is_usable

#: Rows of the largest machine from which device='auto' takes the card. Measured: 32,561 rows (adult) take as long on an
#: H200 as on 16 cores, 80,000 rows a third of it.
AUTO_ROWS = 50_000


def open_card(training: Any) -> CardFit | None:
    """The machines of a training on a card; None if the processor trains them.

    Parameters
    ----------
    training : EngineTraining
        Training whose settings are complete but for its machines.
    """
    wanted = training.estimator.device
    if wanted == "cpu":
        return None
    obstacle = _find_obstacle(training)
    if wanted == "auto":
        large = training.largest >= AUTO_ROWS and training.estimator.kernel == "rbf" and training.rows is None
        if obstacle or not large or not is_usable():
            return None
    elif obstacle:
        raise ValueError(f"device='cuda' cannot train this: {obstacle}. Use device='cpu'.")
    return CardFit(training, Card())


def _find_obstacle(training: Any) -> str:
    """Why a problem cannot be solved on a card, as a part of a sentence; empty if it can."""
    if not np.isfinite(training.bounds).all():
        return "C is infinite"
    if callable(training.estimator.kernel):
        return "its kernel is a function; pass kernel='precomputed' and the kernel matrix to train with it"
    return ""


class CardFit:
    """The machines of one fit on a card, one after another.

    Parameters
    ----------
    training : EngineTraining
        Its training.
    device : Device
        The card.
    """

    def __init__(self, training: Any, device: Any) -> None:
        self.training, self.device = training, device
        self.values: Any = None
        self.begin()
        self._require_memory()

    def begin(self) -> None:
        """Forget the machines: the core has changed their problems."""
        self.machines: dict[int, Machine] = {}  # that have begun
        self.ended: set[int] = set()

    def _require_memory(self) -> None:
        """Raise MemoryError if the rows do not fit."""
        X = self.training.X
        shape = X.shape if self._from_rows() else (len(self.training.bounds),) * 2
        needed = math.prod(shape) * (X.dtype.itemsize + 4 if self._from_rows() else 8) + Machine.least_bytes(shape[0])
        free = self.device.free_bytes()
        if needed > free:
            raise MemoryError(
                f"device='cuda' needs {needed / 2**20:,.0f} MiB on the card for {shape[0]} x {shape[1]} values, and "
                f"{free / 2**20:,.0f} MiB are free. Train on fewer rows, end other programs on the card, or use "
                "device='cpu'."
            )

    def _from_rows(self) -> bool:
        """Whether kernel values are computed on the card."""
        return self.training.estimator.kernel in COMPUTED and self.training.rows is None

    def _make_values(self) -> Values:
        training, device = self.training, self.device
        est, X = training.estimator, training.X
        if self._from_rows():
            X = X if est._frame is None else est._frame.apply(X)
            gamma = est._gamma if est._frame is None else est._frame.gamma(est._gamma)
            kernel = Kernel(est.kernel, gamma, float(est.coef0), int(est.degree))
            return Values(device, device.to_device(X), kernel)
        if training.rows is not None:
            X = X[np.ix_(training.rows, training.rows)]
        return Values(device, device.to_device(X), Kernel("precomputed"))

    def learn(self, values: Any, threads: int, most: int) -> bool:
        """Make up to `most` outer steps of every machine; whether there are steps left. The core has the same method.

        `values` and `threads` are for the core, which gets solutions with few changes (see resume.py): there is little
        to do.
        """
        core = self.training.core
        for k in range(core.n_machines):
            if k in self.ended:
                continue
            if k not in self.machines:
                problem = core.problem(k)
                if problem["resumed"]:
                    return bool(core.learn(values, threads, most))
                if problem["reason"] not in ("running", "interrupted"):
                    self.ended.add(k)
                    continue
                self.machines[k] = self._begin(problem)
            self._run(k, most)
        if not self.machines:
            self.values = None
            self.device.release()
        return bool(self.machines)

    def _run(self, k: int, steps: int) -> None:
        """Make outer steps of a machine. The core always gets where it stands, also at Ctrl-C."""
        machine = self.machines[k]
        try:
            machine.run(steps)
        finally:
            self.training.core.adopt(k, **machine.standing())
        if machine.reason != "running":
            self.ended.add(k)
            del self.machines[k]

    def _begin(self, problem: dict[str, Any]) -> Machine:
        if self.values is None:
            self.values = self._make_values()
        training, n = self.training, len(problem["row"])
        most = training.limits["max_iter"]
        limits = Limits(
            training.limits["tol"], most if most >= 0 else max(10**7, 1000 * n), training.limits["shrinking"]
        )
        return Machine(self.device, self.values, problem, limits, single=training.single)
