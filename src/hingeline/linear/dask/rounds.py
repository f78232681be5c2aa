"""Rows in Dask partitions: sums over them, in as few rounds as possible.

A round sends the points of the machines (a few vectors) to every partition and adds up the results: losses and
gradients; for few features also Hessians. A task keeps no state between rounds: it is a function of its partition and
its arguments. So Dask may repeat it anywhere, and a worker that dies costs only the time to recompute its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from ... import _core
from ...base.labels import pairs
from ..landmarks import LandmarkKernel, Landmarks
from ..layout import Layout
from ..problem import ROWS_PER_WEIGHT, Problem, Rows, Sample
from ..sums import Clip, MemorySource, Sums
from .partitions import Delayed, Kept, Survey, add_arrays, as_rows, compute, delayed, literal, persist, tree

#: Steps on the lines to the targets at which a round takes the slopes of the losses. In between they are interpolated:
#: no interval is longer than its distance from zero, so a step to the zero of the interpolated slope cannot ascend.
GRID = np.concatenate([2.0 ** np.arange(-12, -3), np.arange(2, 17) / 16, [1.25, 1.5, 2, 3, 4, 6, 8, 12, 16]])
#: Further steps if the one wanted is shorter or longer than all these, relative to the shortest or longest known.
SHORTER, LONGER = 2.0 ** -np.arange(1, 33), 2.0 ** np.arange(1, 33)
#: Classes of the labels found in a partition; None: it has targets.
Lookup: TypeAlias = "np.ndarray | None"
#: Rows per block in products with dense partitions.
BLOCK_ROWS = 2048


# ---- tasks -----------------------------------------------------------------------------------------


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
    #: Points that the multipliers make up, margin of the loss, and whether the dual has the term of the curvature, for
    #: violations.
    made: np.ndarray | None = None
    margin: float = 1.0
    curved: bool = False

    def split(self, X: Any, kept: Kept, lookup: Lookup) -> Iterator[tuple[np.ndarray, np.ndarray, MemorySource]]:
        """The rows of a partition, by problems: places of their machines in `which`, numbers of these, and sums."""
        codes, weights = _codes_and_weights(kept, lookup)
        for places, rows in self.layout.split(_core.Matrix(X), codes, weights, self.which, threads=1):
            yield places, np.arange(len(places)), rows.source(self.clip)


class Answer(NamedTuple):
    """Results of a round, one line per machine."""

    sums: Sums
    #: Largest absolute outputs.
    largest: np.ndarray
    hessians: np.ndarray | None = None
    slopes: np.ndarray | None = None
    diagonals: np.ndarray | None = None

    @classmethod
    def make(cls, n_machines: int, length: int, *more: np.ndarray | None) -> Answer:
        """Zeros, with other parts."""
        return cls(Sums.fill(0.0, n_machines, length), np.zeros(n_machines), *more)

    def take(self, which: np.ndarray) -> Answer:
        """Sums and outputs of some of the machines."""
        return Answer(self.sums.take(which), self.largest[which])

    def put(self, which: np.ndarray, found: Answer) -> None:
        """Replace the sums and outputs of some of the machines."""
        self.sums.put(which, found.sums)
        self.largest[which] = found.largest


def _add(parts: list[Answer]) -> Answer:
    """Sums of several partitions (of `largest`, the maximum)."""
    sums, largest, *others = zip(*parts, strict=True)
    totals = [None if values[0] is None else add_arrays(values) for values in others]
    return Answer(Sums(*map(add_arrays, zip(*sums, strict=True))), take_largest(largest), *totals)


def _compute_values(block: Any, kernel: LandmarkKernel, rows: Any, dtype: Any) -> np.ndarray:
    return Landmarks(kernel, rows, dtype).values(as_rows(block), 1)


def _codes_and_weights(kept: Kept, lookup: Lookup) -> tuple[np.ndarray, np.ndarray]:
    """Classes, or without `lookup` targets, and weights of a partition."""
    codes = kept.codes if lookup is None else lookup[kept.codes]
    return codes, np.ones(len(codes)) if kept.weights is None else kept.weights


def _answer(X: Any, kept: Kept, lookup: Lookup, ask: Question) -> Answer:
    """Sums over a partition: at the points, or at the targets with the way there."""
    some, length = ask.points.shape
    hessians = np.zeros((some, length, length)) if ask.hessians else None
    slopes = None if ask.deltas is None else np.zeros(ask.deltas.shape)
    out = Answer.make(some, length, hessians, slopes, np.zeros((some, length)) if ask.diagonals else None)
    X, by_pairs = as_rows(X), ask.layout.kind == "pairs"
    for places, machines, source in ask.split(X, kept, lookup):
        if X.dtype == np.float32:
            source.use_hessians(1, True)  # sums of products in double
        points = np.ascontiguousarray(ask.points[places])
        sums = source.start(machines, points)
        if out.diagonals is not None:
            out.diagonals[places] = [source.diagonal(machine) for machine in machines.tolist()]
        if ask.targets is not None:
            targets = np.ascontiguousarray(ask.targets[places])
            sums = source.aim(machines, targets)
            if slopes is not None and ask.deltas is not None:
                for j, deltas in enumerate(ask.deltas.T):
                    slopes[places, j] = source.slopes(machines, np.ascontiguousarray(deltas[places]))[:, 0]
            if hessians is not None:
                _add_changes(source, machines, points, targets, hessians, places)
            elif by_pairs:
                source.move(machines, np.ones(len(places)), targets, [None] * len(places))
        elif hessians is not None:
            for machine, place in zip(machines.tolist(), places, strict=True):
                source.hessian(machine, hessians[place])
        out.sums.put(places, sums)
        if by_pairs:
            out.largest[places] = [source.largest_output(machine) for machine in machines.tolist()]
    return out


def _add_changes(
    source: MemorySource,
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
    _, rebuilt = source.move(machines, np.ones(len(machines)), targets, [*matrices])
    for k in np.flatnonzero(rebuilt == 0).tolist():
        hessians[places[k]] += matrices[k]
    scratch = np.flatnonzero(rebuilt)
    for sign, where in ((-1.0, points), (1.0, targets)) if len(scratch) else ():
        source.start(scratch, np.ascontiguousarray(where[scratch]))
        for k in scratch.tolist():
            matrices[k].fill(0.0)
            source.hessian(k, matrices[k])
            hessians[places[k]] += sign * matrices[k]


def _violate(X: Any, kept: Kept, lookup: Lookup, ask: Question) -> np.ndarray:
    """Violations of the dual's optimality conditions by the rows of a partition."""
    assert ask.made is not None
    out = np.zeros(len(ask.which))
    for places, machines, source in ask.split(as_rows(X), kept, lookup):
        source.start(machines, np.ascontiguousarray(ask.points[places]))
        out[places] = source.violation(machines, np.ascontiguousarray(ask.made[places]), ask.margin, ask.curved)
    return out


def take_largest(parts: Any) -> np.ndarray:
    """Largest values of several arrays."""
    return reduce(np.maximum, parts)


def _split_blocks(X: Any) -> Iterator[tuple[slice, Any]]:
    """A sparse partition in one block; a dense one in blocks that fit into the cache, in double."""
    if sp.issparse(X):
        yield slice(0, X.shape[0]), X
        return
    for at in range(0, len(X), BLOCK_ROWS):
        rows = slice(at, min(at + BLOCK_ROWS, len(X)))
        yield rows, np.asarray(X[rows], dtype=np.float64)


def _find_curved(X: Any, kept: Kept, lookup: Lookup, ask: Question) -> np.ndarray:
    """Where the losses of the machines have curvature, as bits: [machine, threshold, row]."""
    layout, (codes, _) = ask.layout, _codes_and_weights(kept, lookup)
    lines = max(layout.thresholds, 1) if layout.kind == "ordinal" else 1
    out = np.zeros((len(ask.which), lines, len(codes)), dtype=bool)
    w, b = ask.points[:, : layout.n_features], ask.points[:, layout.n_features :]
    for rows, block in _split_blocks(as_rows(X)):
        outputs = np.asarray(safe_sparse_dot(block, w.T, dense_output=True))
        for q, machine in enumerate(ask.which):
            signs = layout.signs(codes[rows], machine)
            shift = layout.offset * b[q][:, np.newaxis] if layout.thresholds else 0.0
            values = outputs[:, q] - shift - (codes[rows] if layout.kind == "targets" else 0.0)
            xi = ask.clip.margin - (-np.abs(values) if ask.clip.folded else signs * values)
            out[q, :, rows] = (xi > ask.clip.low) & (xi < ask.clip.high) & (signs != 0)
    return np.packbits(out, axis=2)


def _multiply(X: Any, kept: Kept, lookup: Lookup, bits: np.ndarray, layout: Layout, directions: Any) -> np.ndarray:
    """Products of the machines' Hessians with `directions`: places in `bits`, and one line for each."""
    X, d = as_rows(X), layout.n_features
    codes, weights = _codes_and_weights(kept, lookup)
    weights = layout.weigh(codes, weights)
    places, p = directions
    curved = np.unpackbits(bits[places], axis=2, count=len(codes))
    out = np.zeros_like(p)
    for rows, block in _split_blocks(X):
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


class PartitionRows(Rows):
    """Rows in partitions.

    Parameters
    ----------
    survey : Survey
        Results of a first pass.
    layout : Layout
        Machines.
    places : ndarray of int
        Class of each of the survey's labels.
    threads : int
        Threads for the sample, which is solved in this process.
    landmarks : Landmarks, default=None
        The rows stand for their kernel values against these, which tasks compute.
    """

    in_memory = False
    hessian_bytes = 64 << 20  # of one task
    setup_passes = 1.0  # the survey

    def __init__(
        self, survey: Survey, layout: Layout, places: np.ndarray, threads: int, landmarks: Landmarks | None = None
    ) -> None:
        self.survey, self.layout, self.places, self.threads = survey, layout, places, threads
        self.n_rows, self.entries_per_row, self.dense = survey.n_rows, survey.entries_per_row, survey.dense
        self.n_machines, self.n_features = layout.n_machines, layout.n_features
        self.thresholds, self.ordered = layout.thresholds, layout.kind == "ordinal"
        self.blocks, self.scale = survey.blocks, survey.scale
        self.lookups = [None if survey.targets else places[place] for place in survey.places]
        self.landmarks = landmarks
        if landmarks is not None:
            self.entries_per_row, self.dense = float(layout.n_features), True
            kernel, rows = literal(landmarks.kernel), literal(landmarks.rows)
            self.blocks = [delayed(_compute_values)(block, kernel, rows, landmarks.dtype) for block in self.blocks]

    def source(self, clip: Clip) -> PartitionSource:
        return PartitionSource(self, clip)

    def samples(self, solver: str) -> list[Sample]:
        """Problems over the survey's sample of the rows; none if it is too small.

        Rounds are dear, so all solvers start from the sample, which is solved to its end.
        """
        X, found, weights = self.survey.sample()
        if len(found) < ROWS_PER_WEIGHT * self.length:
            return []
        X = X if self.landmarks is None else self.landmarks.values(X, self.threads)
        which = np.arange(self.n_machines)
        codes = found if self.survey.targets else self.places[found]
        small = self.layout.split(_core.Matrix(X), codes, weights, which, self.threads)
        return [
            Sample(machines, Problem(rows), rows.n_rows / max(rows.n_rows, self._count_rows(machines)), "auto", None)
            for machines, rows in small
        ]

    def _count_rows(self, machines: np.ndarray) -> int:
        """Number of rows that take part in a machine."""
        layout = self.layout
        if layout.kind != "pairs" or layout.n_classes == 2:
            return int(self.n_rows)
        counts = np.bincount(self.places, weights=self.survey.counts, minlength=layout.n_classes)
        return int(sum(counts[of[machines[0]]] for of in pairs(layout.n_classes)))

    # ---- rounds --------------------------------------------------------------------------------------

    def each(self, task: Callable[..., Any], *common: Delayed, bits: tuple[list[Any], ...] = ()) -> list[Delayed]:
        """A task for every partition."""
        parts = zip(self.blocks, self.survey.kept, self.lookups, *bits, strict=True)
        return [delayed(task)(*part, *common) for part in parts]

    def total(self, task: Callable[..., Any], add: Callable[[list[Any]], Any], ask: Question) -> Any:
        """One round: run a task on every partition and add up the results."""
        return compute(tree(add, self.each(task, literal(ask))))[0]

    def multiply(
        self, bits: list[Delayed], directions: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, list[Delayed]]:
        """One round of products with Hessians; also the bits as values that stay with the partitions."""
        parts = self.each(_multiply, literal(self.layout), literal(directions), bits=(bits,))
        *bits, total = persist(*bits, tree(add_arrays, parts))
        return compute(total)[0], bits


def _by_machine(which: np.ndarray, lines: np.ndarray | None) -> dict[int, np.ndarray]:
    return {} if lines is None else dict(zip(which.tolist(), lines, strict=True))


class PartitionSource:
    """Sums over rows in partitions: a :class:`~hingeline.linear.sums.Source`.

    It keeps the machines' points and the sums of the last round; a call that these answer takes no round. After
    :meth:`use_hessians` every round returns Hessians too, as Cholesky needs them.
    """

    def __init__(self, rows: PartitionRows, clip: Clip) -> None:
        n_machines, length = rows.n_machines, rows.length
        self.rows, self.clip = rows, clip
        self.with_hessians = self.started = False
        self.n_passes = 0.0
        self.points, self.targets = np.zeros((2, n_machines, length))
        self.here, self.there = Answer.make(n_machines, length), Answer.make(n_machines, length)
        self.lines: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.clip_here: list[Clip | None] = [None] * n_machines
        self.curved: tuple[np.ndarray, list[Delayed]] | None = None
        self.hessians: dict[int, np.ndarray] = {}
        self.changes: dict[int, np.ndarray] = {}
        self.diagonals: dict[int, np.ndarray] = {}

    def _ask(self, which: np.ndarray, **more: Any) -> Question:
        return Question(self.rows.layout, self.clip, which, self.points[which], **more)

    def _round(self, which: np.ndarray, **more: Any) -> Answer:
        self.n_passes += 1
        return self.rows.total(_answer, _add, self._ask(which, **more))

    def _arrive(self, which: np.ndarray, found: Answer) -> None:
        """Note that machines are at points with these sums."""
        self.here.put(which, found)
        for machine in which:
            self.clip_here[machine] = self.clip
        self.curved = None

    def set_clip(self, clip: Clip) -> None:
        if clip != self.clip:
            self.clip = clip
            self.curved = None
            self.hessians = {}

    def use_hessians(self, sketch: int, precise: bool) -> None:
        """Return Hessians with every round, of all rows and in double: a saved round is worth more than a sketch."""
        self.with_hessians = True

    def start(self, which: np.ndarray, points: np.ndarray) -> Sums:
        """Put machines at points; sums there. Takes no round if they are there already."""
        known = all(self.clip_here[machine] == self.clip for machine in which)
        if not (known and np.array_equal(self.points[which], points)):
            self.points[which] = points
            first = not (self.started or self.with_hessians)
            found = self._round(which, hessians=self.with_hessians, diagonals=first)
            self.started = True
            self._arrive(which, found)
            self.hessians |= _by_machine(which, found.hessians)
            self.diagonals = _by_machine(which, found.diagonals)
        return self.here.sums.take(which)

    def aim(self, which: np.ndarray, points: np.ndarray) -> Sums:
        """Set the targets of machines; sums there. The round also returns slopes and Hessians."""
        self.targets[which] = points
        deltas = np.tile(GRID, (len(which), 1))
        found = self._round(which, targets=points, deltas=deltas, hessians=self.with_hessians)
        self.there.put(which, found)
        self._know_slopes(which, deltas, found.slopes)
        self.changes = _by_machine(which, found.hessians)
        return found.sums

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
            found = self._round(some, targets=self.targets[some], deltas=more)
            self._know_slopes(some, more, found.slopes, more=True)
        out = np.empty((len(which), 2))
        for q, machine in enumerate(which.tolist()):
            x, slope = self.lines[machine]
            cell = int(np.clip(np.searchsorted(x, deltas[q], side="right") - 1, 0, len(x) - 2))
            out[q, 1] = (slope[cell + 1] - slope[cell]) / (x[cell + 1] - x[cell])
            out[q, 0] = slope[cell] + (deltas[q] - x[cell]) * out[q, 1]
        return out

    def move(
        self, which: np.ndarray, deltas: np.ndarray, points: np.ndarray, hessians: list[np.ndarray | None]
    ) -> tuple[Sums, np.ndarray]:
        """Step towards the targets and update the Hessians; see Source. Full steps take no round."""
        share = deltas[:, np.newaxis]
        mean = (1 - share) * self.here.sums.gradient[which] + share * self.there.sums.gradient[which]
        full = deltas == 1.0
        other = np.flatnonzero(~full & (deltas != 0))
        if len(other):
            found = self._round(which[other], targets=points[other], hessians=self.with_hessians)
            self.changes |= _by_machine(which[other], found.hessians)
        for q in np.flatnonzero(deltas != 0):
            machine, matrix = int(which[q]), hessians[q]
            if machine in self.hessians:
                self.hessians[machine] += self.changes[machine]
            if matrix is not None:
                matrix += self.changes[machine]
        self._arrive(which[full], self.there.take(which[full]))
        if len(other):
            self._arrive(which[other], found)
        self.points[which] = np.where((deltas != 0)[:, np.newaxis], points, self.points[which])
        sums = self.here.sums.take(which)
        return sums._replace(gradient=sums.gradient - mean), np.zeros(len(which), dtype=np.uint8)

    def hessian(self, machine: int, matrix: np.ndarray) -> None:
        if machine not in self.hessians:
            which = np.arange(self.rows.n_machines)
            self.hessians = _by_machine(which, self._round(which, hessians=True).hessians)
        matrix += self.hessians[machine]

    def curvature(self, which: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Multiply the machines' Hessians by directions.

        The rows with curvature are found once for each point, and kept as bits with the partitions.
        """
        self.n_passes += 1
        if self.curved is None or not np.isin(which, self.curved[0]).all():
            self.curved = which.copy(), self.rows.each(_find_curved, literal(self._ask(which)))
        machines, bits = self.curved
        places = np.array([int(np.flatnonzero(machines == machine)[0]) for machine in which])
        total, bits = self.rows.multiply(bits, (places, np.ascontiguousarray(directions)))
        self.curved = machines, bits
        return total

    def diagonal(self, machine: int) -> np.ndarray:
        """Diagonal of a machine's Hessian; the first round returns those of all machines."""
        if machine not in self.diagonals:
            which = np.arange(self.rows.n_machines)
            self.diagonals = _by_machine(which, self._round(which, diagonals=True).diagonals)
        return self.diagonals.pop(machine)

    def violation(self, which: np.ndarray, points: np.ndarray, margin: float, curved: bool) -> np.ndarray:
        """Violations of the dual's optimality conditions, in one round; `points` are those of the multipliers."""
        self.n_passes += 1
        return np.asarray(
            self.rows.total(_violate, take_largest, self._ask(which, made=points, margin=margin, curved=curved))
        )

    def largest_output(self, machine: int) -> float:
        """Largest absolute decision value of the last round; only known for pairs of classes, which need it."""
        return float(self.here.largest[machine])
