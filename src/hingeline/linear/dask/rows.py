"""Rows in Dask partitions: a source of sums over them, in as few rounds as possible.

A round sends the points of the machines (a few vectors) to every partition and adds up the results: losses and
gradients; for few features also Hessians. A task keeps no state between rounds: it is a function of its partition and
its arguments. So Dask may repeat it anywhere, and a worker that dies costs only the time to recompute its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from ... import _core
from ..layout import Layout
from ..rows import Clip, Source
from .partitions import Kept, add_arrays, as_rows, compute, delayed, literal, persist, tree

#: Steps on the lines to the targets at which a round takes the slopes of the losses. In between they are interpolated:
#: no interval is longer than its distance from zero, so a step to the zero of the interpolated slope cannot ascend.
GRID = np.concatenate([2.0 ** np.arange(-12, -3), np.arange(2, 17) / 16, [1.25, 1.5, 2, 3, 4, 6, 8, 12, 16]])
#: Further steps if the one wanted is shorter or longer than all these, relative to the shortest or longest known.
SHORTER, LONGER = 2.0 ** -np.arange(1, 33), 2.0 ** np.arange(1, 33)
#: Rows per block in products with dense partitions.
BLOCK_ROWS = 2048


def _codes_and_weights(kept: Kept, lookup: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    codes = lookup[kept.codes]
    return codes, np.ones(len(codes)) if kept.weights is None else kept.weights


# ---- tasks -----------------------------------------------------------------------------------------


class Sums(NamedTuple):
    """Results of a round, one line per machine."""

    margins: np.ndarray
    gradient: np.ndarray
    largest: np.ndarray
    hessians: np.ndarray | None = None
    slopes: np.ndarray | None = None
    diagonals: np.ndarray | None = None


def _add(parts: list[Sums]) -> Sums:
    """Sums of several partitions (of `largest`, the maximum)."""
    columns = dict(zip(Sums._fields, zip(*parts, strict=True), strict=True))
    largest = reduce(np.maximum, columns.pop("largest"))
    totals: dict[str, Any] = {k: None if v[0] is None else add_arrays(v) for k, v in columns.items()}
    return Sums(largest=largest, **totals)


@dataclass(frozen=True)
class Question:
    """Machines, their points and targets, and what to return about them."""

    layout: Layout
    clip: Clip
    which: np.ndarray
    points: np.ndarray
    targets: np.ndarray | None = None
    deltas: np.ndarray | None = None
    hessians: bool = False
    diagonals: bool = False
    #: Points that the multipliers make up, and whether the dual has the term of the curvature, for violations.
    made: np.ndarray | None = None
    curved: bool = False


def _answer(X: Any, kept: Kept, lookup: np.ndarray, ask: Question) -> Sums:
    """Sums over a partition: at the points, or at the targets with the way there."""
    layout, some = ask.layout, len(ask.which)
    shape = (some, layout.length, layout.length)
    out = Sums(
        np.zeros((some, 6)),
        np.zeros((some, layout.length)),
        np.zeros(some),
        np.zeros(shape) if ask.hessians else None,
        np.zeros(ask.deltas.shape) if ask.deltas is not None else None,
        np.zeros((some, layout.length)) if ask.diagonals else None,
    )
    codes, weights = _codes_and_weights(kept, lookup)
    X = as_rows(X)
    for places, problem in layout.problems(_core.Matrix(X), codes, weights, ask.which, threads=1):
        source, machines = problem.source(ask.clip), np.arange(len(places))
        if X.dtype == np.float32:
            source.use_hessians(1, True)  # sums of products in double
        points = np.ascontiguousarray(ask.points[places])
        margins, gradient = source.start(machines, points)
        if out.diagonals is not None:
            for k, place in enumerate(places):
                out.diagonals[place] = source.diagonal(k)
        if ask.targets is not None:
            targets = np.ascontiguousarray(ask.targets[places])
            margins, gradient = source.aim(machines, targets)
            if out.slopes is not None and ask.deltas is not None:
                for j, deltas in enumerate(ask.deltas.T):
                    out.slopes[places, j] = source.slopes(machines, np.ascontiguousarray(deltas[places]))[:, 0]
            if out.hessians is not None:
                _add_changes(source, machines, points, targets, out.hessians, places)
            elif layout.kind == "pairs":
                source.move(machines, np.ones(len(places)), targets, [None] * len(places))
        elif out.hessians is not None:
            for k, place in enumerate(places):
                source.hessian(k, out.hessians[place])
        out.margins[places] = margins
        out.gradient[places] = gradient
        if layout.kind == "pairs":
            out.largest[places] = [source.largest_output(machine) for machine in machines.tolist()]
    return out


def _add_changes(
    source: Source,
    machines: np.ndarray,
    points: np.ndarray,
    targets: np.ndarray,
    hessians: np.ndarray,
    places: np.ndarray,
) -> None:
    """Move to the targets, and add the changes of the Hessians.

    Where many rows change the source computes a Hessian from scratch instead; the change is then the difference of the
    Hessians at both ends.
    """
    length = points.shape[1]
    matrices = [np.zeros((length, length)) for _ in machines]
    _, _, rebuilt = source.move(machines, np.ones(len(machines)), targets, matrices)
    for k in np.flatnonzero(rebuilt == 0).tolist():
        hessians[places[k]] += matrices[k]
    scratch = np.flatnonzero(rebuilt)
    for sign, where in ((-1.0, points), (1.0, targets)) if len(scratch) else ():
        source.start(scratch, np.ascontiguousarray(where[scratch]))
        for k in scratch.tolist():
            matrices[k].fill(0.0)
            source.hessian(k, matrices[k])
            hessians[places[k]] += sign * matrices[k]


def _violations(X: Any, kept: Kept, lookup: np.ndarray, ask: Question) -> np.ndarray:
    """Violations of the dual's optimality conditions by the rows of a partition."""
    assert ask.made is not None
    out = np.zeros(len(ask.which))
    codes, weights = _codes_and_weights(kept, lookup)
    matrix = _core.Matrix(as_rows(X))
    for places, problem in ask.layout.problems(matrix, codes, weights, ask.which, threads=1):
        source, machines = problem.source(ask.clip), np.arange(len(places))
        source.start(machines, np.ascontiguousarray(ask.points[places]))
        out[places] = source.violation(machines, np.ascontiguousarray(ask.made[places]), ask.curved)
    return out


def _largest(parts: list[np.ndarray]) -> np.ndarray:
    return reduce(np.maximum, parts)


def _row_blocks(X: Any) -> Iterator[tuple[slice, Any]]:
    """A sparse partition in one block; a dense one in blocks that fit into the cache, in double."""
    if sp.issparse(X):
        yield slice(0, X.shape[0]), X
        return
    for at in range(0, len(X), BLOCK_ROWS):
        rows = slice(at, min(at + BLOCK_ROWS, len(X)))
        yield rows, np.asarray(X[rows], dtype=np.float64)


def _curved(X: Any, kept: Kept, lookup: np.ndarray, ask: Question) -> np.ndarray:
    """Where the losses of the machines have curvature, as bits: [machine, threshold, row]."""
    layout, X = ask.layout, as_rows(X)
    codes, _ = _codes_and_weights(kept, lookup)
    lines = max(layout.thresholds, 1) if layout.kind == "ordinal" else 1
    out = np.zeros((len(ask.which), lines, len(codes)), dtype=bool)
    w, b = ask.points[:, : layout.n_features], ask.points[:, layout.n_features :]
    for rows, block in _row_blocks(X):
        outputs = np.asarray(safe_sparse_dot(block, w.T, dense_output=True))
        for q, machine in enumerate(ask.which):
            signs = layout.signs(codes[rows], machine)
            shift = layout.offset * b[q][:, np.newaxis] if layout.thresholds else 0.0
            xi = ask.clip.margin - signs * (outputs[:, q] - shift)
            out[q, :, rows] = (xi > ask.clip.low) & (xi < ask.clip.high) & (signs != 0)
    return np.packbits(out, axis=2)


def _product(X: Any, kept: Kept, lookup: np.ndarray, bits: np.ndarray, layout: Layout, directions: Any) -> np.ndarray:
    """Products of the machines' Hessians with `directions`: places in `bits`, and one line for each."""
    X, d = as_rows(X), layout.n_features
    codes, weights = _codes_and_weights(kept, lookup)
    weights = weights * layout.class_weight[codes]
    places, p = directions
    curved = np.unpackbits(bits[places], axis=2, count=len(codes))
    out = np.zeros_like(p)
    for rows, block in _row_blocks(X):
        dots = np.asarray(safe_sparse_dot(block, p[:, :d].T, dense_output=True))
        factors = np.empty_like(dots)
        for q in range(len(p)):
            shift = layout.offset * p[q, d:, np.newaxis] if layout.thresholds else 0.0
            turned = curved[q][:, rows] * weights[rows] * (dots[:, q] - shift)
            factors[:, q] = turned.sum(axis=0)
            if layout.thresholds:
                out[q, d:] -= layout.offset * turned.sum(axis=1)
        out[:, :d] += np.asarray(safe_sparse_dot(block.T, factors, dense_output=True)).T
    return out


# ---- rounds ----------------------------------------------------------------------------------------


class Rounds:
    """Tasks for every partition.

    Parameters
    ----------
    blocks, kept : list of Delayed
        Rows of the partitions, and their labels and weights (:class:`Kept`).
    lookups : list of ndarray
        For each partition, the class of each of its labels.
    """

    def __init__(self, blocks: list[Any], kept: list[Any], lookups: list[np.ndarray]) -> None:
        self.blocks = blocks
        self.kept = kept
        self.lookups = lookups

    def each(self, task: Callable[..., Any], *more: Any) -> list[Any]:
        """A task for every partition."""
        return [
            delayed(task)(block, kept, lookup, *more)
            for block, kept, lookup in zip(self.blocks, self.kept, self.lookups, strict=True)
        ]

    def total(self, task: Callable[..., Any], add: Callable[[list[Any]], Any], ask: Question) -> Any:
        """One round: run a task on every partition and add up the results."""
        return compute(tree(add, self.each(task, literal(ask))))[0]

    def products(
        self, bits: list[Any], layout: Layout, directions: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, list[Any]]:
        """One round of products with Hessians; also the bits as values that stay with the partitions."""
        sent, directed = literal(layout), literal(directions)
        parts = [
            delayed(_product)(block, kept, lookup, bit, sent, directed)
            for block, kept, lookup, bit in zip(self.blocks, self.kept, self.lookups, bits, strict=True)
        ]
        *bits, total = persist(*bits, tree(add_arrays, parts))
        return compute(total)[0], bits


def _by_machine(which: np.ndarray, lines: np.ndarray | None) -> dict[int, np.ndarray]:
    return {} if lines is None else dict(zip(which.tolist(), lines, strict=True))


class DaskRows:
    """Rows in partitions: a :class:`~hingeline.linear.rows.Source`.

    It keeps the machines' points and the sums of the last round; a call that these answer takes no round. After
    :meth:`use_hessians` every round returns Hessians too, as Cholesky needs them.
    """

    def __init__(self, rounds: Rounds, layout: Layout, clip: Clip) -> None:
        self.rounds = rounds
        self.layout = layout
        self.clip = clip
        self.with_hessians = False
        self.n_passes = 0.0
        self.points = np.zeros((layout.n_machines, layout.length))
        self.targets = self.points.copy()
        self.here = self._empty()
        self.there = self._empty()
        self.lines: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.clip_here: list[Clip | None] = [None] * layout.n_machines
        self.curved: tuple[np.ndarray, list[Any]] | None = None
        self.hessians: dict[int, np.ndarray] = {}
        self.changes: dict[int, np.ndarray] = {}
        self.diagonals: dict[int, np.ndarray] = {}
        self.started = False

    def _empty(self) -> Sums:
        k, length = self.layout.n_machines, self.layout.length
        return Sums(np.zeros((k, 6)), np.zeros((k, length)), np.zeros(k))

    def _round(self, which: np.ndarray, **more: Any) -> Sums:
        ask = Question(self.layout, self.clip, which, self.points[which], **more)
        self.n_passes += 1
        return self.rounds.total(_answer, _add, ask)

    def _arrive(self, which: np.ndarray, sums: Sums) -> None:
        """Note that machines are at points with these sums."""
        for mine, found in zip(self.here[:3], sums[:3], strict=True):
            mine[which] = found
        for machine in which:
            self.clip_here[machine] = self.clip
        self.curved = None

    def set_clip(self, clip: Clip) -> None:
        """Change the loss."""
        if clip != self.clip:
            self.clip = clip
            self.curved = None
            self.hessians = {}

    def use_hessians(self, sketch: int, precise: bool) -> None:
        """Return Hessians with every round, of all rows and in double: a saved round is worth more than a sketch."""
        self.with_hessians = True

    def start(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Put machines at points; margins and gradients there. Takes no round if they are there already."""
        known = all(self.clip_here[machine] == self.clip for machine in which)
        if not (known and np.array_equal(self.points[which], points)):
            self.points[which] = points
            first = not (self.started or self.with_hessians)
            sums = self._round(which, hessians=self.with_hessians, diagonals=first)
            self.started = True
            self._arrive(which, sums)
            self.hessians |= _by_machine(which, sums.hessians)
            self.diagonals = _by_machine(which, sums.diagonals)
        return self.here.margins[which].copy(), self.here.gradient[which].copy()

    def aim(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Set the targets of machines; margins and gradients there. The round also returns slopes and Hessians."""
        self.targets[which] = points
        deltas = np.tile(GRID, (len(which), 1))
        sums = self._round(which, targets=points, deltas=deltas, hessians=self.with_hessians)
        for mine, found in zip(self.there[:3], sums[:3], strict=True):
            mine[which] = found
        self._know_slopes(which, deltas, sums.slopes)
        self.changes = _by_machine(which, sums.hessians)
        return sums.margins, sums.gradient

    def _know_slopes(self, which: np.ndarray, deltas: np.ndarray, slopes: Any, *, more: bool = False) -> None:
        for q, machine in enumerate(which.tolist()):
            old = self.lines[machine] if more else (np.zeros(0), np.zeros(0))
            x, first = np.unique(np.append(old[0], deltas[q]), return_index=True)
            self.lines[machine] = x, np.append(old[1], slopes[q])[first]

    def slopes(self, which: np.ndarray, deltas: np.ndarray) -> np.ndarray:
        """First and second derivatives on the lines, interpolated; a round if `deltas` lie outside the known range."""
        for _ in range(8):
            ends = np.array([self.lines[machine][0][[0, -1]] for machine in which.tolist()])
            outside = np.flatnonzero((deltas < ends[:, 0]) | (deltas > ends[:, 1]))
            if len(outside) == 0:
                break
            short = (deltas < ends[:, 0])[outside, np.newaxis]
            more = np.where(short, ends[outside, :1] * SHORTER, ends[outside, 1:] * LONGER)
            some = which[outside]
            sums = self._round(some, targets=self.targets[some], deltas=more)
            self._know_slopes(some, more, sums.slopes, more=True)
        out = np.empty((len(which), 2))
        for q, machine in enumerate(which.tolist()):
            x, slope = self.lines[machine]
            cell = int(np.clip(np.searchsorted(x, deltas[q], side="right") - 1, 0, len(x) - 2))
            out[q, 1] = (slope[cell + 1] - slope[cell]) / (x[cell + 1] - x[cell])
            out[q, 0] = slope[cell] + (deltas[q] - x[cell]) * out[q, 1]
        return out

    def move(
        self, which: np.ndarray, deltas: np.ndarray, points: np.ndarray, hessians: list[Any]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step towards the targets and update the Hessians; see Source. Full steps take no round."""
        share = deltas[:, np.newaxis]
        mean = (1 - share) * self.here.gradient[which] + share * self.there.gradient[which]
        full = deltas == 1.0
        other = np.flatnonzero(~full & (deltas != 0))
        if len(other):
            sums = self._round(which[other], targets=points[other], hessians=self.with_hessians)
            self.changes |= _by_machine(which[other], sums.hessians)
        for q in np.flatnonzero(deltas != 0):
            machine = int(which[q])
            if machine in self.hessians:
                self.hessians[machine] += self.changes[machine]
            if hessians[q] is not None:
                hessians[q] += self.changes[machine]
        self._arrive(which[full], Sums(*(of[which[full]] for of in self.there[:3])))
        if len(other):
            self._arrive(which[other], sums)
        self.points[which] = np.where((deltas != 0)[:, np.newaxis], points, self.points[which])
        return self.here.margins[which].copy(), self.here.gradient[which] - mean, np.zeros(len(which), dtype=np.uint8)

    def hessian(self, machine: int, matrix: np.ndarray) -> None:
        """Add the lower triangle of a machine's Hessian at the current point."""
        if machine not in self.hessians:
            which = np.arange(self.layout.n_machines)
            self.hessians = _by_machine(which, self._round(which, hessians=True).hessians)
        matrix += self.hessians[machine]

    def curvature(self, which: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Multiply the machines' Hessians by directions.

        The rows with curvature are found once for each point, and kept as bits with the partitions.
        """
        self.n_passes += 1
        if self.curved is None or not np.isin(which, self.curved[0]).all():
            ask = literal(Question(self.layout, self.clip, which, self.points[which]))
            self.curved = (which.copy(), self.rounds.each(_curved, ask))
        machines, bits = self.curved
        places = np.array([int(np.flatnonzero(machines == machine)[0]) for machine in which])
        total, bits = self.rounds.products(bits, self.layout, (places, np.ascontiguousarray(directions)))
        self.curved = machines, bits
        return total

    def diagonal(self, machine: int) -> np.ndarray:
        """Diagonal of a machine's Hessian; the first round returns those of all machines."""
        if machine not in self.diagonals:
            which = np.arange(self.layout.n_machines)
            self.diagonals = _by_machine(which, self._round(which, diagonals=True).diagonals)
        return self.diagonals.pop(machine)

    def violation(self, which: np.ndarray, points: np.ndarray, curved: bool) -> np.ndarray:
        """Violations of the dual's optimality conditions, in one round; `points` are those of the multipliers."""
        ask = Question(self.layout, self.clip, which, self.points[which], made=points, curved=curved)
        self.n_passes += 1
        return np.asarray(self.rounds.total(_violations, _largest, ask))

    def largest_output(self, machine: int) -> float:
        """Largest absolute decision value of the last round; only known for pairs of classes, which need it."""
        return float(self.here.largest[machine])
