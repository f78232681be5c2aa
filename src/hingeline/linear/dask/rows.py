"""Linear machines over Dask's partitions: rows on a cluster, or on a disk that holds more than the memory.

``fit``, ``predict``, ``decision_function`` and ``score`` of :class:`~hingeline.FiniteNewtonSVC` and
:class:`~hingeline.FiniteNewtonOrdinal` take Dask arrays and dataframes; this module is what they call. A user needs
only :func:`read_libsvm` from here.

A round sends the points of the machines (a few vectors) to every partition and adds up what comes back: losses and
gradients; for few features also matrices of second moments. A task has no memory of earlier rounds: it is a function of
its partition and of what it was sent. So Dask may repeat it anywhere, and a worker that dies costs only the time
to compute again what it had.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from ... import _core
from ...base.labels import pairs, require_two
from ...base.progress import progress
from ..estimator import class_codes
from ..minimiser import FIRST_TOL, Minimiser, cheaper_solver
from ..rows import ROWS_PER_WEIGHT, Clip, LocalProblem
from .partitions import Kept, Partitions, Survey, as_rows, compute, da, delayed, literal, persist, tree

#: Where a round takes the slopes of the losses on the way to the points aimed at. In between they are interpolated: no
#: interval is longer than its distance from zero, so a step to where the interpolated slope is zero cannot lead up.
GRID = np.concatenate([2.0 ** np.arange(-12, -3), np.arange(2, 17) / 16, [1.25, 1.5, 2, 3, 4, 6, 8, 12, 16]])
#: Where it takes them when the step is shorter than all these, or longer: relative to the shortest or longest so far.
SHORTER, LONGER = 2.0 ** -np.arange(1, 33), 2.0 ** np.arange(1, 33)
#: Bytes of Hessians that one task may return; beyond, `solver='auto'` means 'cg'.
TASK_HESSIAN_BYTES = 64 << 20
#: Rows at a time in products with dense partitions.
BLOCK_ROWS = 2048


# ---- machines of a partition -----------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """From labels to machines: 'rest' (a class against the rest), 'pairs' (of classes) or 'ordinal' (one machine)."""

    kind: str
    n_classes: int
    thresholds: int
    offset: float
    n_features: int
    class_weight: np.ndarray

    @property
    def n_machines(self) -> int:
        """Number of machines."""
        if self.kind == "ordinal" or self.n_classes == 2:
            return 1
        return len(pairs(self.n_classes)[0]) if self.kind == "pairs" else self.n_classes

    @property
    def length(self) -> int:
        """Weights of a machine, thresholds included."""
        return self.n_features + self.thresholds

    def planes(self, codes: np.ndarray, weights: np.ndarray, which: np.ndarray) -> Iterator[tuple[Any, Any, Any]]:
        """Places in `which`, signed weights of their machines, and the rows that these have (None: all)."""
        weights = weights * self.class_weight[codes]
        if self.kind == "ordinal":
            yield np.arange(len(which)), weights[np.newaxis], None
        elif self.kind == "pairs" and self.n_classes > 2:
            first, second = pairs(self.n_classes)
            for q, machine in enumerate(which):
                positive = codes == first[machine]
                rows = np.flatnonzero(positive | (codes == second[machine]))
                plane = np.where(positive[rows], weights[rows], -weights[rows])
                if len(rows):
                    yield np.array([q]), plane[np.newaxis], rows
        else:
            positive = [1] if self.n_classes == 2 else which
            yield np.arange(len(which)), np.array([np.where(codes == c, weights, -weights) for c in positive]), None

    def problems(
        self, X: Any, codes: np.ndarray, weights: np.ndarray, which: np.ndarray, threads: int
    ) -> Iterator[tuple[np.ndarray, LocalProblem]]:
        """Problems with the machines `which` over rows in memory, each with the places in `which` it stands for."""
        if len(codes) == 0:
            return
        matrix = _core.Matrix(X)
        for places, planes, rows in self.planes(codes, weights, which):
            yield (
                places,
                LocalProblem(
                    matrix,
                    planes,
                    np.arange(len(planes)),
                    thresholds=self.thresholds,
                    offset=self.offset,
                    threads=threads,
                    codes=codes.astype(np.int32) if self.kind == "ordinal" else None,
                    rows=rows,
                ),
            )


def _codes_and_weights(kept: Kept, lookup: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    codes = lookup[kept.codes]
    return codes, np.ones(len(codes)) if kept.weights is None else kept.weights


# ---- tasks -----------------------------------------------------------------------------------------


class Sums(NamedTuple):
    """What a round brings back, one line per machine."""

    margins: np.ndarray
    gradient: np.ndarray
    largest: np.ndarray
    hessians: np.ndarray | None = None
    slopes: np.ndarray | None = None
    diagonals: np.ndarray | None = None


def _add(parts: list[Sums]) -> Sums:
    """Sums of several partitions (of `largest`, the largest)."""

    def total(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        if arrays[0] is None:
            return None
        out = arrays[0].copy()
        for array in arrays[1:]:
            (np.maximum if name == "largest" else np.add)(out, array, out=out)
        return out

    return Sums(**{name: total(name) for name in Sums._fields})


def _add_arrays(parts: list[np.ndarray]) -> np.ndarray:
    out = parts[0].copy()
    for part in parts[1:]:
        out += part
    return out


@dataclass(frozen=True)
class Question:
    """Machines, where they are, where they aim, and what to tell."""

    layout: Layout
    clip: Clip
    which: np.ndarray
    points: np.ndarray
    targets: np.ndarray | None = None
    deltas: np.ndarray | None = None
    hessians: bool = False
    diagonals: bool = False


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
    for places, problem in layout.problems(X, codes, weights, ask.which, threads=1):
        part, machines = problem.source(ask.clip).part, np.arange(len(places))
        if X.dtype == np.float32:
            part.set_sketch(1, True)  # sums of products in double
        points = np.ascontiguousarray(ask.points[places])
        margins, gradient, _ = part.start(machines, points, 1)
        at = points
        if out.diagonals is not None:
            for machine, place in zip(machines, places, strict=True):
                out.diagonals[place] = part.diagonal(int(machine))
        if ask.targets is not None:
            at = np.ascontiguousarray(ask.targets[places])
            margins, gradient, _ = part.aim(machines, at, 1)
            if out.slopes is not None and ask.deltas is not None:
                for j, deltas in enumerate(ask.deltas.T):
                    out.slopes[places, j] = part.slopes(machines, np.ascontiguousarray(deltas[places]), 1)[:, 0]
            if out.hessians is not None:
                _add_changes(part, machines, points, at, out.hessians, places)
            elif layout.kind == "pairs":
                part.move(machines, np.ones(len(places)), at, [None] * len(places), 1)
        elif out.hessians is not None:
            for machine, place in zip(machines, places, strict=True):
                part.hessian(int(machine), out.hessians[place], 1)
        out.margins[places] = margins
        out.gradient[places] = gradient
        if layout.kind == "pairs":
            for machine, place in zip(machines, places, strict=True):
                outputs = part.outputs(int(machine))
                shift = layout.offset * at[machine, -1] if layout.thresholds else 0.0
                out.largest[place] = np.abs(outputs - shift).max()
    return out


def _add_changes(
    part: Any, machines: np.ndarray, points: np.ndarray, targets: np.ndarray, hessians: np.ndarray, places: np.ndarray
) -> None:
    """Move to the targets, and add what changes in the Hessians.

    Where many rows change, the part makes the matrix anew instead: zero, then all. NaN in a corner that no sum
    touches tells whether it has.
    """
    length = points.shape[1]
    matrices = [np.zeros((length, length)) for _ in machines]
    for matrix in matrices:
        matrix[0, -1] = np.nan
    part.move(machines, np.ones(len(machines)), targets, matrices, 1)
    anew = []
    for i, matrix in enumerate(matrices):
        if length == 1 or not np.isnan(matrix[0, -1]):
            anew.append(i)
            continue
        matrix[0, -1] = 0.0
        hessians[places[i]] += matrix
    for sign, where in ((-1.0, points), (1.0, targets)) if anew else ():
        part.start(np.array(anew), np.ascontiguousarray(where[anew]), 1)
        for i in anew:
            matrices[i].fill(0.0)
            part.hessian(i, matrices[i], 1)
            hessians[places[i]] += sign * matrices[i]


def _row_blocks(X: Any) -> Iterator[tuple[slice, Any]]:
    """A sparse partition as a whole; a dense one in blocks that stay in the cache, in double."""
    if sp.issparse(X):
        yield slice(0, X.shape[0]), X
        return
    for at in range(0, len(X), BLOCK_ROWS):
        rows = slice(at, min(at + BLOCK_ROWS, len(X)))
        yield rows, np.asarray(X[rows], dtype=np.float64)


def _signs(layout: Layout, codes: np.ndarray, machine: int) -> np.ndarray:
    """Labels of the rows for a machine, one line per threshold; 0 where a row has no part."""
    if layout.kind == "ordinal":
        return np.where(codes > np.arange(layout.thresholds)[:, np.newaxis], 1.0, -1.0)
    if layout.n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[np.newaxis]
    if layout.kind == "pairs":
        first, second = (of[machine] for of in pairs(layout.n_classes))
        return ((codes == first).astype(np.float64) - (codes == second))[np.newaxis]
    return np.where(codes == machine, 1.0, -1.0)[np.newaxis]


def _curved(X: Any, kept: Kept, lookup: np.ndarray, ask: Question) -> np.ndarray:
    """Where the losses of the machines have curvature, in bits: [machine, threshold, row]."""
    layout, X = ask.layout, as_rows(X)
    codes, _ = _codes_and_weights(kept, lookup)
    lines = max(layout.thresholds, 1) if layout.kind == "ordinal" else 1
    out = np.zeros((len(ask.which), lines, len(codes)), dtype=bool)
    w, b = ask.points[:, : layout.n_features], ask.points[:, layout.n_features :]
    for rows, block in _row_blocks(X):
        outputs = np.asarray(safe_sparse_dot(block, w.T, dense_output=True))
        for q, machine in enumerate(ask.which):
            signs = _signs(layout, codes[rows], int(machine))
            shift = layout.offset * b[q][:, np.newaxis] if layout.thresholds else 0.0
            xi = ask.clip.margin - signs * (outputs[:, q] - shift)
            out[q, :, rows] = (xi > ask.clip.low) & (xi < ask.clip.high) & (signs != 0)
    return np.packbits(out, axis=2)


def _product(X: Any, kept: Kept, lookup: np.ndarray, bits: np.ndarray, layout: Layout, directions: Any) -> np.ndarray:
    """Products of the machines' Hessians with directions (a dict by place in `bits`)."""
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


def _by_machine(which: np.ndarray, lines: np.ndarray | None) -> dict[int, np.ndarray]:
    return {} if lines is None else dict(zip(which.tolist(), lines, strict=True))


class DaskRows:
    """Rows in partitions: a source for :class:`~hingeline._finite_newton.Newton`.

    It knows where the machines are, and what the last round has told about there; a call that this answers takes no
    round. `with_hessians` says to bring Hessians along with every round, as Cholesky needs them.
    """

    def __init__(self, problem: DaskProblem, clip: Clip) -> None:
        self.problem = problem
        self.layout = layout = problem.layout
        self.clip = clip
        self.with_hessians = False
        self.n_passes = 0.0
        self.points = np.zeros((layout.n_machines, layout.length))
        self.targets = self.points.copy()
        self.here = self._nothing()
        self.there = self._nothing()
        self.lines: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.clip_here: list[Clip | None] = [None] * layout.n_machines
        self.curved: tuple[np.ndarray, list[Any]] | None = None
        self.hessians: dict[int, np.ndarray] = {}
        self.changes: dict[int, np.ndarray] = {}
        self.diagonals: dict[int, np.ndarray] = {}
        self.started = False

    def _nothing(self) -> Sums:
        k, length = self.layout.n_machines, self.layout.length
        return Sums(np.zeros((k, 6)), np.zeros((k, length)), np.zeros(k))

    def _round(self, which: np.ndarray, **more: Any) -> Sums:
        ask = Question(self.layout, self.clip, which, self.points[which], **more)
        self.n_passes += 1
        return self.problem.sums(_answer, _add, ask)

    def _arrive(self, which: np.ndarray, sums: Sums) -> None:
        """The machines are at points with these sums."""
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

    def set_sketch(self, *rows: Any) -> None:
        """All rows count in Hessians, in double: a round that is not needed saves more than a smaller sum would."""

    def start(self, which: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Put machines at points: margins and gradients there. No round where they are there already."""
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
        """Aim machines at points: margins and gradients there. Slopes on the way and Hessians come along."""
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
        """First and second derivatives on the way, interpolated; a round where there are none so near or far."""
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
    ) -> tuple[np.ndarray, np.ndarray]:
        """Step: margins, and what to add to the interpolated gradient; the Hessians follow. Full steps are known."""
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
        return self.here.margins[which].copy(), self.here.gradient[which] - mean

    def hessian(self, machine: int, matrix: np.ndarray) -> None:
        """Add the lower triangle of a machine's Hessian at the point reached."""
        if machine not in self.hessians:
            which = np.arange(self.layout.n_machines)
            self.hessians = _by_machine(which, self._round(which, hessians=True).hessians)
        matrix += self.hessians[machine]

    def curvature(self, which: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Multiply the machines' Hessians with directions.

        Which rows have curvature is found once for each point, and kept as bits where the partitions are.
        """
        self.n_passes += 1
        if self.curved is None or not np.isin(which, self.curved[0]).all():
            ask = literal(Question(self.layout, self.clip, which, self.points[which]))
            self.curved = (which.copy(), self.problem.each(_curved, ask))
        machines, bits = self.curved
        places = np.array([int(np.flatnonzero(machines == machine)[0]) for machine in which])
        total, self.curved = self.problem.products(bits, machines, (places, np.ascontiguousarray(directions)))
        return total

    def diagonal(self, machine: int) -> np.ndarray:
        """Diagonal of a machine's Hessian; all machines' come with the first round."""
        if machine not in self.diagonals:
            which = np.arange(self.layout.n_machines)
            self.diagonals = _by_machine(which, self._round(which, diagonals=True).diagonals)
        return self.diagonals.pop(machine)


class DaskProblem:
    """Machines over partitions.

    Parameters
    ----------
    survey : Survey
        What a first pass has found.
    layout : Layout
        Machines.
    places : ndarray of int
        Class of each of the survey's labels.
    threads : int
        Threads for the sample, which is solved in this process.
    watched : bool
        Whether callbacks show the progress.
    """

    rows = None

    def __init__(self, survey: Survey, layout: Layout, places: np.ndarray, *, threads: int, watched: bool) -> None:
        self.survey = survey
        self.layout = layout
        self.threads = threads
        self.watched = watched
        self.n_rows = survey.n_rows
        self.n_machines = layout.n_machines
        self.n_features = layout.n_features
        self.thresholds = layout.thresholds
        self.offset = layout.offset
        self.length = layout.length
        self.places = places
        used = [(i, place) for i, place in enumerate(survey.places) if place is not None]
        self.blocks = [survey.parts.blocks[i] for i, _ in used]
        self.kept = [survey.kept[i] for i, _ in used]
        self.lookups = [places[place] for _, place in used]

    def source(self, clip: Clip) -> DaskRows:
        """The rows with their machines at zero."""
        return DaskRows(self, clip)

    def minimiser(self, lam: np.ndarray, points: np.ndarray | None, **options: Any) -> DaskMinimiser:
        """What minimises this."""
        return DaskMinimiser(self, lam, points, **options)

    def entries_per_row(self) -> tuple[float, bool]:
        """Entries of a row on the average, and whether rows are dense."""
        return self.survey.entries_per_row, self.survey.dense

    def thinned(self) -> list[tuple[np.ndarray, LocalProblem]] | None:
        """Problems over a sample of the rows, with their machines; None where the sample is too small."""
        X, found, weights = self.survey.sample()
        if len(found) < ROWS_PER_WEIGHT * self.length:
            return None
        which = np.arange(self.n_machines)
        return list(self.layout.problems(X, self.places[found], weights, which, self.threads))

    def each(self, task: Callable[..., Any], *more: Any) -> list[Any]:
        """A task for every partition."""
        return [
            delayed(task)(block, kept, lookup, *more)
            for block, kept, lookup in zip(self.blocks, self.kept, self.lookups, strict=True)
        ]

    def sums(self, task: Callable[..., Any], add: Callable[[list[Any]], Any], ask: Question) -> Any:
        """A round: ask every partition, add up."""
        return compute(tree(add, self.each(task, literal(ask))))[0]

    def products(
        self, bits: list[Any], machines: np.ndarray, directions: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, tuple[np.ndarray, list[Any]]]:
        """A round of products with Hessians; the bits come back as values that stay with the partitions."""
        layout, sent = literal(self.layout), literal(directions)
        parts = [
            delayed(_product)(block, kept, lookup, bit, layout, sent)
            for block, kept, lookup, bit in zip(self.blocks, self.kept, self.lookups, bits, strict=True)
        ]
        *bits, total = persist(*bits, tree(_add_arrays, parts))
        return compute(total)[0], (machines, bits)


class DaskMinimiser(Minimiser):
    """The driver, with fewer rounds: it starts from a sample of the rows, whatever the solver."""

    def __init__(
        self, problem: DaskProblem, lam: np.ndarray, points: np.ndarray | None, *, solver: str, **options: Any
    ) -> None:
        if solver == "auto":
            large = 8 * problem.n_machines * problem.length**2 > TASK_HESSIAN_BYTES
            solver = "cg" if large else cheaper_solver(problem)
        super().__init__(problem, lam, points, solver=solver, **options)
        self.source.with_hessians = self.solver_name == "gram"
        self.more_passes = 1.0  # the survey

    def run(self) -> Iterator[None]:
        """Minimise; yields after each iteration. A bar shows how far the gap has come, where a terminal looks on."""
        with progress(False if self.problem.watched else None, 100, "fit") as tell:
            if not self.seeded:
                yield from self._start_from_sample()
            far = 0.0
            for _ in super().run():
                now = self._distance()
                far = max(far, now)
                tell(int(100 * (1 - now / far)) if far > 0 else 100)
                yield

    def largest_output(self, machine: int, rows: Any = slice(None)) -> float:
        """The largest decision value in training; known for pairs of classes, which need it."""
        return float(self.source.here.largest[machine])

    def _distance(self) -> float:
        """Logarithm of the worst gap, relative to the gap wanted."""
        with np.errstate(divide="ignore"):
            ratio = np.log(np.maximum(self.gap(), 1e-300) / np.maximum(self.tol * self.objective(), 1e-300))
        return float(np.clip(ratio.max(), 0.0, 1e3))

    def _start_from_sample(self) -> Iterator[None]:
        problems = self.problem.thinned()
        if problems is None:
            return
        for machines, small in problems:
            share = small.n_rows / max(small.n_rows, self._rows_of(machines))
            first = Minimiser(
                small,
                self.true_lam[machines] * share,
                loss=self.loss,
                tol=max(FIRST_TOL, self.tol),
                max_iter=self.max_iter,
                solver="auto",
            )
            yield from first.run()
            self.newton.points[machines] = first.points
            self.more_passes += share * first.n_passes
        self.seeded = True
        self.first_cap = None

    def _rows_of(self, machines: np.ndarray) -> int:
        """Rows that take part in a machine."""
        layout, counts = (
            self.problem.layout,
            np.bincount(
                self.problem.places, weights=self.problem.survey.counts, minlength=self.problem.layout.n_classes
            ),
        )
        if layout.kind != "pairs" or layout.n_classes == 2:
            return int(self.problem.n_rows)
        return int(sum(counts[of[machines[0]]] for of in pairs(layout.n_classes)))


# ---- what the estimators call ----------------------------------------------------------------------


def problem_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> DaskProblem:
    """Look at the data; ``classes_``, ``class_weight_`` and the like become attributes of the estimator."""
    ordinal = hasattr(estimator, "_ordered")
    survey = Survey(X, y, sample_weight)
    survey.describe(estimator)
    classes, places = estimator._ordered(survey.labels) if ordinal else class_codes(survey.labels)
    require_two(classes)
    estimator.classes_ = classes
    counts = np.bincount(places, weights=survey.counts, minlength=len(classes))
    weights = _class_weights(estimator, counts)
    if ordinal:
        kind, thresholds, offset = "ordinal", len(classes) - 1, 1.0
    else:
        estimator.class_weight_ = weights
        kind = "pairs" if estimator.multi_class == "ovo" and len(classes) > 2 else "rest"
        thresholds = int(estimator.fit_intercept)
        offset = float(estimator.intercept_scaling) if estimator.fit_intercept else 1.0
    return DaskProblem(
        survey,
        Layout(kind, len(classes), thresholds, offset, survey.n_features, weights),
        places,
        threads=estimator._threads(),
        watched=bool(getattr(estimator, "_skl_callbacks", None)),
    )


def _class_weights(estimator: Any, counts: np.ndarray) -> np.ndarray:
    """Weights of the classes, from the numbers of their samples."""
    if estimator.class_weight is None:
        return np.ones(len(counts))
    present = counts > 0
    weights = np.zeros(len(counts))
    if estimator.class_weight == "balanced":
        weights[present] = counts.sum() / (present.sum() * counts[present])
        return weights
    everything, estimator.classes_ = estimator.classes_, estimator.classes_[present]
    try:
        weights[present] = estimator._class_weights(np.arange(int(present.sum())))
    finally:
        estimator.classes_ = everything
    return weights


def _light(estimator: Any) -> Any:
    """A copy to send around: without what only training tells."""
    model = copy.copy(estimator)
    for name in ("support_", "dual_coef_", "history_", "_skl_callbacks"):
        vars(model).pop(name, None)
    return model


def _call(model: Any, method: str, block: Any, like: np.ndarray) -> np.ndarray:
    if block.shape[0] == 0:
        return like[:0]
    out: np.ndarray = getattr(model, method)(block)
    return out


def mapped(estimator: Any, method: str, X: Any) -> Any:
    """A method that takes rows, over all partitions: a Dask array, not yet computed."""
    check_is_fitted(estimator)
    parts = Partitions(X)
    model = _light(estimator)
    plain = copy.copy(model)
    vars(plain).pop("feature_names_in_", None)
    if parts.n_features != model.n_features_in_:
        raise ValueError(
            f"X has {parts.n_features} features, but {type(model).__name__} is expecting {model.n_features_in_} "
            "features as input."
        )
    like = getattr(plain, method)(np.zeros((1, parts.n_features)))
    sent, example = literal(model), literal(like)
    blocks = [
        da.from_delayed(
            delayed(_call)(sent, method, block, example),
            shape=(np.nan if size is None else size, *like.shape[1:]),
            dtype=like.dtype,
        )
        for block, size in zip(parts.blocks, parts.sizes, strict=True)
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def _right(model: Any, X: Any, y: Any, sample_weight: Any, number: int) -> np.ndarray:
    n_rows = X.shape[0]
    if n_rows != len(y) or (sample_weight is not None and len(sample_weight) != n_rows):
        raise ValueError(f"X, y and sample_weight have different numbers of rows in partition {number}.")
    if n_rows == 0:
        return np.zeros(2)
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    right = model.predict(X) == np.asarray(y).reshape(n_rows)
    return np.array([weights[right].sum(), weights.sum()])


def accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Share of the rows, by weight, that are predicted right: one pass."""
    check_is_fitted(estimator)
    parts = Partitions(X, y=y, sample_weight=sample_weight)
    model = literal(_light(estimator))
    tasks = [
        delayed(_right)(model, block, label, weight, number)
        for number, (block, label, weight) in enumerate(
            zip(parts.blocks, parts.others["y"], parts.others["sample_weight"], strict=True)
        )
    ]
    right, total = compute(tree(_add_arrays, tasks))[0]
    return float(right / total) if total else float("nan")
