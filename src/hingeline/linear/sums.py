"""Sums over the rows of linear machines, which the driver of the finite Newton method asks for."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from .. import _core

#: Losses of the classifiers and of the regressors.
Loss: TypeAlias = Literal["squared_hinge", "huber", "hinge", "squared"]
TargetLoss: TypeAlias = Literal["epsilon_insensitive", "squared_epsilon_insensitive"]


class Clip(NamedTuple):
    """A loss, defined by its slope ``clip(margin - t f, low, high)``.

    A `folded` loss is that of regression: f is the output less the target, and t the sign that makes ``-t f`` positive.
    """

    margin: float
    low: float
    high: float
    folded: bool = False


class Shape(NamedTuple):
    """A loss of an estimator: half of a squared loss, or a loss with a kink, whose slopes are 0 and 1."""

    clip: Clip
    #: Whether it has curvature; otherwise it is the limit of smooth losses.
    curved: bool

    def widen(self, tau: float) -> Clip:
        """The loss with its kink smoothed over a width of 2 tau, times that width."""
        margin, _, _, folded = self.clip
        return Clip(margin if folded else margin + tau, 0.0, 2 * tau, folded)


#: Losses of the classifiers.
SHAPES = {
    "squared_hinge": Shape(Clip(1.0, 0.0, np.inf), True),
    "huber": Shape(Clip(1.0, 0.0, 2.0), True),
    "squared": Shape(Clip(1.0, -np.inf, np.inf), True),
    "hinge": Shape(Clip(1.0, 0.0, 1.0), False),
}
TARGET_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


def shape_of(loss: str, epsilon: float) -> Shape:
    """A loss by its name; `epsilon` is the width without loss of the losses for regression."""
    if loss in SHAPES:
        return SHAPES[loss]
    curved = loss.startswith("squared")
    return Shape(Clip(-epsilon, 0.0, np.inf if curved else 1.0, True), curved)


def loss_weight(loss: str) -> float:
    """Weight of a loss in the core, in units of C: the core halves the squared ones."""
    return 2.0 if shape_of(loss, 0.0).curved else 1.0


class Sums(NamedTuple):
    """Sums over the rows, one entry or line per machine."""

    #: Losses.
    loss: np.ndarray
    #: Terms of the dual without the square of the point that the multipliers make up; for regression slopes of the
    #: losses times residuals.
    dual: np.ndarray
    #: Squared residuals of the rows with curvature, and the number of these rows.
    squares: np.ndarray
    active: np.ndarray
    #: Losses of the hinge itself; for regression those of the loss with a kink.
    hinge: np.ndarray
    #: Gradients, without the penalty.
    gradient: np.ndarray

    @classmethod
    def fill(cls, value: float, n_machines: int, length: int) -> Sums:
        """The same value for all sums but gradients, which are zero."""
        return cls._make([*(np.full(n_machines, value) for _ in range(5)), np.zeros((n_machines, length))])

    def take(self, which: np.ndarray) -> Sums:
        """Sums of some of the machines."""
        return Sums(*(part[which] for part in self))

    def put(self, which: np.ndarray, found: Sums) -> None:
        """Replace the sums of some of the machines."""
        for mine, part in zip(self, found, strict=True):
            mine[which] = part


class Source(Protocol):
    """Where sums over the rows come from. Arrays have one line per machine of `which`.

    Implemented by :class:`MemorySource` (rows in memory), :class:`hingeline.linear.dask.rounds.PartitionSource`
    (partitions) and :class:`hingeline.linear.mapped.MappedSource` (either, in mapped coordinates).
    """

    @property
    def n_passes(self) -> float:
        """Passes over the rows so far; partial passes count by their share of the rows."""

    def set_clip(self, clip: Clip) -> None:
        """Change the loss."""

    def use_hessians(self, sketch: int, precise: bool) -> None:
        """Announce that Hessians will be asked for, from one row in `sketch`; `precise`: in double throughout."""

    def start(self, which: np.ndarray, points: np.ndarray) -> Sums:
        """Put machines at points; sums there."""

    def aim(self, which: np.ndarray, points: np.ndarray) -> Sums:
        """Set the targets of machines; sums there."""

    def slopes(self, which: np.ndarray, deltas: np.ndarray) -> np.ndarray:
        """First and second derivatives on the lines from the points to the targets."""

    def move(
        self, which: np.ndarray, deltas: np.ndarray, points: np.ndarray, hessians: list[np.ndarray | None]
    ) -> tuple[Sums, np.ndarray]:
        """Step by `deltas` towards the targets, which leads to `points`, and update `hessians` (None: not kept).

        The gradients returned are corrections of those interpolated between both ends of the lines. Returns also for
        each matrix whether it was computed from scratch.
        """

    def hessian(self, machine: int, matrix: np.ndarray) -> None:
        """Add the lower triangle of a machine's Hessian at the current point."""

    def curvature(self, which: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Multiply the machines' Hessians by directions."""

    def diagonal(self, machine: int) -> np.ndarray:
        """Diagonal of a machine's Hessian."""

    def violation(self, which: np.ndarray, points: np.ndarray, margin: float, curved: bool) -> np.ndarray:
        """Violations of the dual's optimality conditions; `points` are those that the multipliers make up.

        `margin` is that of the loss, and `curved` says whether the dual has the square of the multipliers.
        """

    def largest_output(self, machine: int) -> float:
        """Largest absolute decision value of a machine among the rows with a weight (at most one threshold)."""


class MemorySource(_core.LinearRows):
    """Rows in memory: a :class:`Source` that can also return one value per row (``pulls``, ``descend``)."""

    def start(self, which: np.ndarray, points: np.ndarray) -> Sums:
        return Sums(*super().start(which, points))

    def aim(self, which: np.ndarray, points: np.ndarray) -> Sums:
        return Sums(*super().aim(which, points))

    def move(
        self, which: np.ndarray, deltas: np.ndarray, points: np.ndarray, hessians: list[np.ndarray | None]
    ) -> tuple[Sums, np.ndarray]:
        sums, rebuilt = super().move(which, deltas, points, hessians)
        return Sums(*sums), rebuilt
