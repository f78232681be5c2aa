"""Compiled core of hingeline; see the estimators for documentation."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def isa() -> str:
    """Instruction set in use: 'avx512', 'avx2' or 'baseline'."""

class Matrix:
    """View of a dense or CSR matrix."""

    def __init__(self, x: object) -> None: ...

    @property
    def shape(self) -> tuple: ...

    @property
    def entries(self) -> int: ...

    def compressed(self, most: float) -> Matrix | None:
        """A CSR copy of dense rows of which at most this part differs from zero."""

    @property
    def is_dense(self) -> bool: ...

class Kernel:
    """Kernel function and its parameters."""

    def __init__(self, name: str, gamma: float = 1.0, coef0: float = 0.0, degree: int = 3) -> None: ...

class Source:
    """
    Where kernel values come from: a Kernel, a Matrix of them, or a function.
    """

    def __init__(self, from: object) -> None: ...

class Values:
    """Kernel values between the rows of a matrix."""

    def __init__(self, source: object, x: object, copy_bytes: int = 0) -> None: ...

    def columns(self, queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """K[queries][:, base]."""

    @property
    def copy_bytes(self) -> int: ...

class Lines:
    """Coefficients of support vectors in LIBSVM's layout."""

    def __init__(self, coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], group_sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], outputs: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Packed:
    """Support vectors laid out for prediction."""

    def __init__(self, kernel: Kernel, support: object) -> None: ...

    def decide(self, lines: Lines, x: Matrix, threads: int = 1) -> NDArray[numpy.float64]:
        """Decision values, one row per query."""

def decide_gathered(lines: Lines, k: Matrix, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 1) -> NDArray[numpy.float64]:
    """Decision values from kernel values that exist."""

class Ollawv:
    """Worst-violator learning of all class pairs."""

    def __init__(self, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], class_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, C: float, margin: float, cap: float, fit_intercept: bool, cache_bytes: int) -> None: ...

    def learn(self, values: Values, threads: int, most: int) -> bool:
        """Up to `most` steps of every machine; are there more?"""

    def attributes(self, unfinished: str) -> dict:
        """Fitted attributes by name."""

    @property
    def n_machines(self) -> int: ...

class L2Machines:
    """L2-SVM of all class pairs, or of all classes at once."""

    def __init__(self, rule: str, at_once: bool, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], penalties: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, *, fit_intercept: bool, tol: float, max_iter: int, cache_bytes: int) -> None: ...

    def guess(self, machine: int, v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Start values of a machine, by row."""

    def learn(self, values: Values, threads: int, most: int) -> bool:
        """Up to `most` steps of every machine; are there more?"""

    def attributes(self, unfinished: str) -> dict:
        """Fitted attributes by name."""

    @property
    def n_machines(self) -> int: ...

class Lasvm:
    """Machines of the LASVM family over shared rows."""

    def __init__(self, variant: str, one_vs_rest: bool) -> None: ...

    def configure(self, *, C: float, s: float, tau: float, period: int, most_non_sv: int, warm_support: int, cache_bytes: int) -> None:
        """Options of the next call."""

    def visit(self, source: Source, x: Matrix, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], boxes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int, known: bool, evicts: bool) -> None:
        """Learn from examples of a fit."""

    def outside(self, source: Source, x: Matrix, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], boxes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, threads: int) -> NDArray[numpy.int64]:
        """
        Add losses outside the expansion to the gaps; the examples with a loss.
        """

    def forget_outside(self) -> None: ...

    def finish(self, source: Source, tol: float, most: int, threads: int) -> int:
        """Optimise; the most steps made."""

    def end(self, source: Source) -> None: ...

    def reached(self, tol: float) -> bool:
        """
        Whether all duality gaps are at most this part of the primal objective.
        """

    @property
    def n_expansion(self) -> int: ...

    @property
    def kernel_bytes(self) -> int: ...

    def learn(self, source: Source, x: Matrix, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], boxes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, arrivals: Sequence[tuple[int, int]], margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """Learn from a chunk of a stream."""

    def add_class(self, place: int) -> None:
        """A label becomes known that sorts at `place`."""

    def take(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """Rows held: an array, or the arrays of a CSR matrix."""

    def attributes(self) -> dict: ...

    def save(self) -> dict: ...

    def restore(self, state: dict, rows: object | None) -> None:
        """Back to what `save` gave; `rows` are those held then."""

    def end_early(self, why: str, seen: int) -> None:
        """Why a fit ended early ('': it did not), and the samples given to it."""

    @property
    def n_seen(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def has_rows(self) -> bool: ...

class KernelSgd:
    """Machines that learn by stochastic gradients, over shared rows."""

    def __init__(self, one_vs_rest: bool) -> None: ...

    def configure(self, *, rule: str, C: float, inverse: bool, decay_first: bool, fit_intercept: bool, average: bool, truncate: float, cache_bytes: int) -> None:
        """Options of the next call."""

    def begin(self, source: Source, x: Matrix, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], boxes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, epochs: int) -> None:
        """Examples for `advance`."""

    def advance(self, source: Source, steps: int, *, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> bool:
        """So many steps of every machine; are there more?"""

    def end(self) -> None: ...

    @property
    def most_examples(self) -> int: ...

    def learn(self, source: Source, x: Matrix, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], boxes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, arrivals: Sequence[tuple[int, int]], margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """Learn from a chunk of a stream."""

    def add_class(self, place: int) -> None:
        """A label becomes known that sorts at `place`."""

    def take(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """Rows held: an array, or the arrays of a CSR matrix."""

    def attributes(self) -> dict: ...

    def save(self) -> dict: ...

    def restore(self, state: dict, rows: object | None) -> None:
        """Back to what `save` gave; `rows` are those held then."""

    def end_early(self, why: str, seen: int) -> None:
        """Why a fit ended early ('': it did not), and the samples given to it."""

    @property
    def n_seen(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def has_rows(self) -> bool: ...

class Incremental:
    """Exact incremental machines over shared points."""

    def __init__(self, problem: str, *, C: float, nu: float) -> None: ...

    def configure(self, *, window: int, oldest: bool, cache_bytes: int) -> None:
        """Options of the next call."""

    def add_class(self, place: int) -> None:
        """A label becomes known that sorts at `place`."""

    def learn(self, source: Source, x: Matrix, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], serials: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, arrivals: Sequence[tuple[int, int]], threads: int) -> None:
        """Learn from points in their order."""

    def evicted(self) -> NDArray[numpy.int64]:
        """Points that have gone since the last time this was asked."""

    def forget(self, source: Source, serials: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, threads: int) -> None: ...

    def bound(self, source: Source, *, C: float, nu: float, threads: int) -> None: ...

    def leave_one_out(self, source: Source, serials: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, threads: int) -> NDArray[numpy.float64]: ...

    def path(self, source: Source, Cs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], serials: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, threads: int) -> dict: ...

    def violation(self, source: Source, *, threads: int) -> float: ...

    def condition(self, source: Source, *, threads: int) -> NDArray[numpy.float64]: ...

    def attributes(self) -> dict: ...

    def points(self) -> dict: ...

    def take(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """Rows held: an array, or the arrays of a CSR matrix."""

    def take_dense(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """Rows held, as an array."""

    def save(self) -> dict: ...

    def restore(self, state: dict, rows: object | None) -> None:
        """Back to what `save` gave; `rows` are those held then."""

    @property
    def C(self) -> float: ...

    @property
    def last_serial(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    @property
    def n_machines(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def has_rows(self) -> bool: ...

    @property
    def memory(self) -> int: ...

class LinearRows:
    """
    Rows in memory with the state of their linear machines (hingeline.linear.rows.Source).
    """

    def __init__(self, matrix: object, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], plane_of: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, thresholds: int, offset: float, clip: tuple[float, float, float], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 1) -> None: ...

    @property
    def n_passes(self) -> float: ...

    def set_clip(self, clip: tuple[float, float, float]) -> None: ...

    def use_hessians(self, sketch: int, precise: bool) -> None: ...

    def start(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> tuple: ...

    def aim(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> tuple: ...

    def slopes(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], deltas: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

    def move(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], deltas: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], hessians: list) -> tuple: ...

    def hessian(self, machine: int, matrix: object) -> None: ...

    def curvature(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]: ...

    def diagonal(self, machine: int) -> NDArray[numpy.float64]: ...

    def violation(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], curved: bool) -> NDArray[numpy.float64]: ...

    def pulls(self, machine: int) -> NDArray[numpy.float64]: ...

    def largest_output(self, machine: int) -> float: ...
