"""Expected duration of kernel fits, and a warning before those that may take minutes.

The number of steps depends on how much the classes overlap, which is not known before the fit. The model below is that
of an average problem: on the same number of rows, fits to separable classes take a tenth of the time, and fits to
strongly overlapping classes with a large C several times as long. It was adjusted to fits of 2,000 to 30,000 rows.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._sklearn import HAVE_CALLBACKS
from .warn import warn

#: Estimated seconds from which a fit warns: fits to strongly overlapping classes then take about two minutes.
LONG = 40.0
#: Rows from which the duration is estimated, and rows of the block of kernel values that is measured.
MANY_ROWS, MEASURED_ROWS = 10_000, 256
#: Seconds to update one stored decision value in a step.
UPDATE_SECONDS = 1e-9
#: Values of C above this one do not make fits longer.
LARGEST_C = 1e4


class Work(NamedTuple):
    """Expected work of a fit with C = 1 to n samples, of which at most m are held at a time.

    Attributes
    ----------
    values : float
        Kernel values, as a multiple of n m.
    updates : float
        Updates of decision values in all steps, as a multiple of n m.
    cubic : float
        The same for work on an inverse matrix, as a multiple of n m².
    grows : bool
        Whether updates grow with C; then as its cube root.
    most_held : int or None
        Largest m; None: all samples are held.
    """

    values: float
    updates: float
    cubic: float = 0.0
    grows: bool = True
    most_held: int | None = None


def warn_of_long_fit(estimator: Any, X: Any) -> None:
    """Warn before a fit that may take minutes, and name faster ways.

    Parameters
    ----------
    estimator : estimator
        Estimator with checked parameters, and the expected work in ``_work``; if it is None, there is no estimate.
    X : {array-like, sparse matrix}
        Training samples, or the kernel matrix.
    """
    if estimator._work is None:
        return  # X may be a lazy collection
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n < MANY_ROWS or (seconds := estimate_seconds(estimator, X, n)) < LONG:
        return
    duration = f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:,.0f} minutes"
    warn(
        f"Fitting {type(estimator).__name__} to {n:,} rows may take minutes: about {duration} for an average problem, "
        "several times as long if classes overlap much and C is large. Faster: NystroemSVC, fewer rows, or n_jobs. "
        "Ctrl-C leaves a usable model"
        + ("; callbacks such as sklearn.callback.ProgressBar show the progress." if HAVE_CALLBACKS else ".")
    )


def estimate_seconds(estimator: Any, X: Any, n: int) -> float:
    """Expected seconds of a fit to n rows like those of X; 0 if the work of the estimator is not known."""
    work: Work | None = estimator._work
    if work is None:
        return 0.0
    held, value = min(n, work.most_held or n), 0.0
    if work.values and isinstance(estimator.kernel, str) and estimator.kernel != "precomputed":
        value = measure_value(estimator, X) / estimator._training_threads()  # steps depend on one another
    growth = min(max(estimator.C, 1.0), LARGEST_C) ** (1 / 3) if work.grows else 1.0
    update = UPDATE_SECONDS * growth * (work.updates + work.cubic * held)
    return float(n * held * (work.values * value + update))


def measure_value(estimator: Any, X: Any) -> float:
    """Seconds of one kernel value between rows of X, on one thread."""
    rows = X[:MEASURED_ROWS]
    rows = rows / max(abs(rows).max(), np.finfo(rows.dtype).tiny)  # in range
    kernel = _core.Kernel(estimator.kernel, 1.0 / X.shape[1], float(estimator.coef0), int(estimator.degree))
    n, zero = rows.shape[0], np.zeros((1, 1), dtype=np.int64)
    lines = _core.Lines(np.ones((1, n)), np.array([n], dtype=np.int64), zero, np.zeros(1))
    packed, queries = _core.Packed(kernel, _core.Matrix(rows)), _core.Matrix(rows)
    seconds = []
    for _ in range(3):  # the first call is slow, and other processes may interrupt one
        begin = perf_counter()
        packed.decide(lines, queries, 1)
        seconds.append(perf_counter() - begin)
    return float(min(seconds) / n**2)
