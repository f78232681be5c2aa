"""Orders in which the points of a parameter grid are tried.

A strategy is a generator. It yields lists of points, (parameters, share of the training rows), and gets their mean
scores; larger is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import ParameterGrid

Point = tuple[dict[str, Any], float]
Strategy = Generator[list[Point], np.ndarray, None]

#: Halving: the share of candidates that goes on, and the growth of the training rows.
FACTOR = 3
#: Halving: rows of each class, and rows in all, below which scores say little.
FEWEST_OF_CLASS, FEWEST_ROWS = 10, 100


def every_point(grid: Any) -> Strategy:
    """All points of the grid, on all training rows."""
    yield [(params, 1.0) for params in ParameterGrid(grid)]


def pattern(grid: Any) -> Strategy:
    """Pattern search on the grid.

    The search starts in the centre. It tries the neighbours at a distance of `step` along each axis and moves to the
    best one if it is better; otherwise `step` is halved, from a quarter of the longest axis down to 1.
    """
    if not isinstance(grid, Mapping):
        raise ValueError("search='pattern' needs one dictionary of parameters; a list of dictionaries has no axes.")
    names = sorted(grid)
    axes = [_order(name, grid[name]) for name in names]
    known: dict[tuple[int, ...], float] = {}

    def points(places: list[tuple[int, ...]]) -> list[Point]:
        return [({name: axis[i] for name, axis, i in zip(names, axes, place, strict=True)}, 1.0) for place in places]

    at = tuple(len(axis) // 2 for axis in axes)
    known[at] = float(np.nan_to_num((yield points([at])), nan=-np.inf)[0])
    step = max(1, max(map(len, axes)) // 4)
    while step > 0:
        near = [place for place in _star(at, step) if all(0 <= i < len(a) for i, a in zip(place, axes, strict=True))]
        new = [place for place in near if place not in known]
        if new:
            known.update(zip(new, np.nan_to_num((yield points(new)), nan=-np.inf).tolist(), strict=True))
        best = max(near, key=known.__getitem__, default=at)
        if known[best] > known[at]:
            at = best
        else:
            step //= 2


def _order(name: str, values: Any) -> list[Any]:
    values = list(values)
    try:
        return sorted(values)
    except TypeError as error:
        raise ValueError(f"search='pattern' needs values that can be sorted; {name} has {values}.") from error


def _star(at: tuple[int, ...], step: int) -> list[tuple[int, ...]]:
    """Neighbours along each axis."""
    return [(*at[:axis], at[axis] + move, *at[axis + 1 :]) for axis in range(len(at)) for move in (-step, step)]


def halving(grid: Any, n_rows: int, n_classes: int) -> Strategy:
    """Successive halving: all points on few training rows, the best third of them on three times as many, and so on."""
    points = list(ParameterGrid(grid))
    fewest = max(FEWEST_ROWS, FEWEST_OF_CLASS * n_classes)
    rounds = min(_power(len(points)), _power(n_rows / fewest))
    for k in range(rounds, -1, -1):
        scores = np.nan_to_num((yield [(params, float(FACTOR) ** -k) for params in points]), nan=-np.inf)
        if k:
            best = np.argsort(-scores, kind="stable")[: math.ceil(len(points) / FACTOR)]
            points = [points[i] for i in sorted(best)]


def _power(ratio: float) -> int:
    """Largest k >= 0 with FACTOR**k <= ratio."""
    k = 0
    while FACTOR ** (k + 1) <= ratio:
        k += 1
    return k


def row_numbers(splits: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Splits as arrays of row numbers; they may be given as lists or as masks."""

    def numbers(rows: Any) -> np.ndarray:
        rows = np.asarray(rows)
        return np.flatnonzero(rows) if rows.dtype == bool else rows

    return [(numbers(train), numbers(test)) for train, test in splits]


def strata(estimator: Any, y: Any, n: int) -> np.ndarray:
    """Labels of `n` samples; zeros unless the estimator is a classifier."""
    return np.asarray(y) if is_classifier(estimator) else np.zeros(n, dtype=int)


def share_of(train: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
    """Part of the training rows, with the same share of every label, in their order; the same part in every call."""
    if share == 1:
        return train
    order = np.random.default_rng(0).permutation(len(train))
    labels = y[train][order]
    kept = np.zeros(len(train), dtype=bool)
    for label in np.unique(labels):
        members = order[labels == label]
        kept[members[: math.ceil(share * len(members))]] = True
    return train[kept]


STRATEGIES: dict[str, Callable[..., Strategy]] = {"grid": every_point, "pattern": pattern, "halving": halving}
