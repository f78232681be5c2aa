"""Frames: the coordinates in which the core computes kernel values.

Kernel values are computed from dot products and squared norms. Features of size 1e-20 underflow when they are squared
in single precision, features of size 1e20 overflow, and for the RBF kernel an offset that all rows share takes the
digits of the distances. A frame avoids all three: the core gets ``(X - origin) * unit`` instead of X, and
``gamma / unit**2`` instead of gamma, which leaves the kernel values unchanged.

- `unit` is a power of two, so it changes no digit of a row.
- `origin` is used for the RBF kernel only, the one kernel that does not change under translation. Each of its entries
  is an entry of X, the median of a sample of its column. The difference of numbers of similar size is exact.
- Rows in single precision are converted to double (`wide`) where single precision does not suffice.

Most data need no frame. They are passed to the core as they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._registry import COMPUTED
from .rows import LARGEST, blocks, require_sound
from .warn import warn

#: Largest binary exponent, in magnitude, of the largest entry of rows that need no unit: squares have twice as many.
EXPONENT = 30
#: Single precision suffices up to this product of gamma and a squared norm (polynomial kernels: kernel value); see
#: ``single_suffices`` in kernel/local.hpp.
SINGLE_BOUND = 1e4
#: An offset is removed beyond this product, for rows in double and in single precision. Kernel values keep five digits
#: in single precision up to the first one, which is enough for `SVC`. Learners that do not refine their steps in double
#: follow another path after smaller errors, hence the second one.
OFFSET_BOUND, SINGLE_OFFSET_BOUND = 256.0, 16.0
#: An error of this size in the exponent of an RBF kernel value matters, unless the exponent is so large that the value
#: is zero for all practical purposes.
EXPONENT_ERROR, VANISHED = 1e-2, 36.0
#: Rows from which medians are taken, and rows whose distances are compared with their rounding errors.
MEDIAN_ROWS, COMPARED_ROWS = 1001, 64
#: Largest gamma in a frame.
STEEPEST = 1e300


class Frame:
    """Coordinates of rows for the core.

    Parameters
    ----------
    origin : ndarray of shape (n_features,) or None
        Subtracted from each row.
    unit : float
        Power of two that the difference is multiplied by.
    wide : bool
        Whether rows are converted to double precision.
    """

    def __init__(self, origin: np.ndarray | None, unit: float, wide: bool) -> None:
        self.origin, self.unit, self.wide = origin, unit, wide

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        origin, unit = state.get("origin"), state.get("unit")
        sound = origin is None or (isinstance(origin, np.ndarray) and origin.ndim == 1 and origin.dtype.kind == "f")
        require_sound(sound and (origin is None or np.isfinite(origin).all()), "origin must be a vector of numbers")
        sound = isinstance(unit, float) and 0 < unit < np.inf and np.frexp(unit)[0] == 0.5
        require_sound(sound and isinstance(state.get("wide"), bool), "unit must be a power of two")

    def dtype(self, X: Any) -> np.dtype[Any]:
        """Precision of the rows X in this frame."""
        return np.dtype(np.float64) if self.wide else X.dtype

    def apply(self, X: Any) -> Any:
        """Rows in this frame. Sparse rows become dense if there is an origin."""
        if self.origin is not None and sp.issparse(X):
            X = X.toarray()
        X = X.astype(self.dtype(X), copy=False)
        with np.errstate(over="ignore", under="ignore"):  # the core rejects rows that are too large
            if self.origin is not None:
                X = X - self.origin
            return X if self.unit == 1 else X * self.unit

    def restore(self, X: Any) -> Any:
        """Rows as they were before `apply`."""
        with np.errstate(over="ignore", under="ignore"):
            X = X if self.unit == 1 else X * (1 / self.unit)
            return X if self.origin is None else X + self.origin

    def gamma(self, gamma: float) -> float:
        """Parameter gamma of the kernel in this frame."""
        return float(np.clip(gamma / self.unit / self.unit, -STEEPEST, STEEPEST))


def choose_frame(
    X: Any, kernel: Any, gamma: float, coef0: float, degree: float, largest: float | None = None
) -> Frame | None:
    """Frame for a kernel on rows X; None if they can be used as they are, or the core does not compute the kernel.

    Parameters
    ----------
    X : {ndarray, sparse matrix}
        Checked rows.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable
        Kernel.
    gamma, coef0, degree : float
        Its parameters.
    largest : float, default=None
        :func:`largest_entry` of X, if it is known: it takes two passes over the rows.

    Returns
    -------
    Frame or None
        The frame. None also for rows that are too large: the core rejects them and names the row.
    """
    if kernel not in COMPUTED:
        return None
    largest = largest_entry(X) if largest is None else largest
    if not 0 < largest <= LARGEST or _is_moderate(X, largest, kernel, gamma, coef0, degree):
        return None
    single = X.dtype == np.float32
    if kernel == "linear":
        return Frame(None, 1.0, True) if single else None
    frame = Frame(None, _unit(largest, X.dtype), False)
    extent = _extent(X, frame, gamma)
    if kernel == "rbf" and not sp.issparse(X) and extent > _offset_bound(X):
        frame.origin = _centre(X)
        if frame.origin is not None:  # differences from it may be far smaller
            frame.unit = _unit(max(np.abs(rows - frame.origin).max() for rows in blocks(X)), X.dtype)
            extent = _extent(X, frame, gamma)
    frame.wide = single and _bound(kernel, extent, coef0, degree) > SINGLE_BOUND
    return None if frame.origin is None and frame.unit == 1 and not frame.wide else frame


def _is_moderate(X: Any, largest: float, kernel: str, gamma: float, coef0: float, degree: float) -> bool:
    """Whether single precision suffices for rows with this largest entry, as it does for most data."""
    if abs(math.frexp(largest)[1]) > EXPONENT:
        return False
    most = _offset_bound(X) if kernel == "rbf" else SINGLE_BOUND
    return kernel == "linear" or _bound(kernel, abs(gamma) * X.shape[1] * largest**2, coef0, degree) <= most


def _offset_bound(X: Any) -> float:
    return SINGLE_OFFSET_BOUND if X.dtype == np.float32 else OFFSET_BOUND


def _unit(largest: float, dtype: Any) -> float:
    """Unit for rows with this largest entry; it is itself in the range of their precision."""
    exponent, widest = math.frexp(largest)[1], 120 if dtype == np.float32 else 1000
    return 2.0 ** -max(-widest, min(exponent, widest)) if abs(exponent) > EXPONENT else 1.0


def _extent(X: Any, frame: Frame, gamma: float) -> float:
    """Product of gamma and the largest squared norm of the rows in a frame."""
    return abs(frame.gamma(gamma)) * float(_norms(X, frame).max())


def largest_entry(X: Any) -> float:
    """Largest magnitude of an entry; NaN if there are NaNs."""
    values = X.data if sp.issparse(X) else X
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def warn_of_lost_digits(
    X: Any, frame: Frame | None, gamma: float, precision: Any = None, largest: float | None = None
) -> None:
    """Warn if rounding errors spoil the RBF kernel values of rows that are near one another.

    Parameters
    ----------
    X : {ndarray, sparse matrix}
        Rows.
    frame : Frame or None
        Frame in which the core computes kernel values.
    gamma : float
        Parameter of the kernel for X.
    precision : dtype, default=None
        Precision of kernel values; None: that of the rows in the frame.
    largest : float, default=None
        :func:`largest_entry` of X, if it is known.
    """
    rows, steepness = (X, gamma) if frame is None else (frame.apply(X), frame.gamma(gamma))
    if frame is not None or largest is None:
        largest = largest_entry(rows)
    if _loses_digits(rows, steepness, float(np.finfo(precision or rows.dtype).eps), largest):
        warn(
            "Rounding errors spoil the RBF kernel on these rows: entries of X are too large for their differences. "
            + ("Pass X as a dense array, s" if sp.issparse(X) else "S")
            + "ubtract an offset from the columns of X, or scale them.",
        )


def _loses_digits(X: Any, gamma: float, precision: float, largest: float) -> bool:
    """Whether rounding errors of squared norms change RBF kernel values of neighbouring rows in their frame.

    True if two rows of a sample are so near that their kernel value is not zero, and so large that the rounding error
    of their squared distance is visible in it. `precision` is the relative rounding error of kernel values, `largest`
    the magnitude of the largest entry.
    """
    rate = 8 * precision * abs(gamma)
    if not largest <= LARGEST or rate * X.shape[1] * largest**2 <= EXPONENT_ERROR / 2:
        return False
    rows = X[_spread(X.shape[0], COMPARED_ROWS)]
    if sp.issparse(rows):  # without empty columns; SciPy's indexing would allocate memory for each of them
        used, places = np.unique(rows.indices, return_inverse=True)
        rows = sp.csr_array((rows.data, places, rows.indptr), shape=(rows.shape[0], len(used))).toarray()
    rows = rows.astype(np.float64)
    norms = np.einsum("ij,ij->i", rows, rows)
    for i in range(1, len(rows)):
        distances = np.square(rows[:i] - rows[i]).sum(axis=1)
        near = (distances > 0) & (gamma * distances < VANISHED)
        if (near & (rate * (norms[:i] + norms[i]) > EXPONENT_ERROR)).any():
            return True
    return False


def _bound(kernel: str, extent: float, coef0: float, degree: float) -> float:
    """Size of the values whose errors, relative to their precision, must be small; as in ``single_suffices``."""
    inner = extent + abs(coef0)
    if kernel != "poly":
        return inner
    return math.inf if degree * math.log10(max(inner, 1.0)) > 300 else inner**degree


def _norms(X: Any, frame: Frame) -> np.ndarray:
    """Squared norms of the rows in a frame, in double."""
    wide = Frame(frame.origin, frame.unit, True)
    if sp.issparse(X):
        rows = wide.apply(X)
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.concatenate([np.einsum("ij,ij->i", rows, rows) for rows in map(wide.apply, blocks(X))])


def _centre(X: np.ndarray) -> np.ndarray | None:
    """Offset of each column; None if no column has one.

    A column has an offset if most of its entries are near one value, relative to the size of that value. Then the
    differences of these entries from it are exact, and `restore` returns the entries. Medians ignore a few entries of
    another size, such as zeros for missing ones.
    """
    sample = np.sort(X[_spread(len(X), MEDIAN_ROWS)], axis=0)
    origin: np.ndarray = sample[len(sample) // 2].copy()
    spread = np.median(np.abs(sample.astype(np.float64) - origin), axis=0)
    origin[spread > np.abs(origin) / 4] = 0
    return origin if origin.any() else None


def _spread(n: int, most: int) -> np.ndarray:
    """Numbers of at most `most` rows out of n, evenly spaced."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)
