"""Artificial data sets."""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state


def _at_least(value: object, least: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, but is {value!r}")
    return int(value)


def make_chessboard(
    n_samples: int = 8000,
    *,
    n_squares: int = 4,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Draw the chessboard set: two classes that alternate over the unit square.

    Points are uniform on [0, 1) x [0, 1), which is divided into `n_squares` by `n_squares` equal squares. The square at
    the origin has label +1, and squares that share a side have opposite labels. The Bayes error is 0.

    Parameters
    ----------
    n_samples : int, default=8000
        Number of points, at least 1.
    n_squares : int, default=4
        Squares along each side, at least 2.
    random_state : int, RandomState instance or None, default=None
        Source of randomness; an int gives the same points in every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 2), float64
        Points.
    y : ndarray of shape (n_samples,), int64
        Labels, -1 or +1.

    Raises
    ------
    ValueError
        If `n_samples` or `n_squares` is not an integer or too small.

    Notes
    -----
    The number of points is that of [1]_. The paper does not give the number of squares; 4 x 4 is common in tests of
    SVMs.

    References
    ----------
    .. [1] V. Kecman and G. Melki, "Fast Online Algorithms for Support Vector Machines: Models and
       Experimental Studies", 2016.

    Examples
    --------
    >>> from hingeline.datasets import make_chessboard
    >>> X, y = make_chessboard(200, random_state=0)
    >>> X.shape
    (200, 2)
    >>> sorted(set(y.tolist()))
    [-1, 1]
    """
    n_samples = _at_least(n_samples, 1, "n_samples")
    n_squares = _at_least(n_squares, 2, "n_squares")
    X: npt.NDArray[np.float64] = check_random_state(random_state).uniform(size=(n_samples, 2))
    square = np.floor(n_squares * X).astype(np.int64)
    return X, 1 - 2 * (square.sum(axis=1) % 2)


def make_two_normals(
    n_samples: int = 15000,
    *,
    separation: float = 2.5631,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    r"""Draw two normally distributed classes in the plane.

    Both classes have the identity matrix as covariance. Their means lie on the first axis at ``-separation / 2`` (label
    -1) and ``separation / 2`` (label +1). The classes have equal size (class -1 has one point more if `n_samples` is
    odd), in random order.

    Parameters
    ----------
    n_samples : int, default=15000
        Number of points, at least 2.
    separation : float, default=2.5631
        Distance of the two means, in standard deviations; not negative. The Bayes error of the default is 10.0 %.
    random_state : int, RandomState instance or None, default=None
        Source of randomness; an int gives the same points in every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 2), float64
        Points.
    y : ndarray of shape (n_samples,), int64
        Labels, -1 or +1.

    Raises
    ------
    ValueError
        If `n_samples` is not an integer or too small, or if `separation` is negative or not a finite number.

    Notes
    -----
    The best possible rule is the sign of the first coordinate. Its error is :math:`\Phi(-s / 2)`, where `s` is
    `separation` and :math:`\Phi` the standard normal distribution function.

    The number of points is that of [1]_. The paper gives neither means nor covariances. Those used here are a choice of
    this library, so error rates cannot be compared with the paper.

    References
    ----------
    .. [1] V. Kecman and G. Melki, "Fast Online Algorithms for Support Vector Machines: Models and
       Experimental Studies", 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from hingeline.datasets import make_two_normals
    >>> X, y = make_two_normals(random_state=0)
    >>> X.shape
    (15000, 2)
    >>> print(f"{np.mean(np.sign(X[:, 0]) != y):.2f}")  # error of the best rule
    0.10
    """
    n_samples = _at_least(n_samples, 2, "n_samples")
    number = isinstance(separation, Real) and not isinstance(separation, bool)
    if not (number and 0 <= separation < math.inf):
        raise ValueError(f"separation must be finite and not negative, but is {separation!r}")
    random = check_random_state(random_state)
    y = np.ones(n_samples, dtype=np.int64)
    y[: (n_samples + 1) // 2] = -1
    random.shuffle(y)
    X: npt.NDArray[np.float64] = random.standard_normal(size=(n_samples, 2))
    X[:, 0] += 0.5 * float(separation) * y
    return X, y
