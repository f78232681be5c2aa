"""Problems of linear machines over Dask partitions: rows on a cluster, or on a disk that holds more than the memory.

``fit`` of the linear estimators calls :func:`build_problem` for Dask arrays and dataframes, that of
:class:`~hingeline.NystroemSVC` :func:`build_mapped_problem`. Tasks then replace the rows by their kernel values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...base import params
from ..estimator import LabelEstimator, require_room
from ..landmarks import choose_far_apart, draw_landmarks
from ..problem import Problem
from .partitions import Kept, Survey, as_rows, compute, delayed, stack_rows
from .rounds import PartitionRows

if TYPE_CHECKING:
    from ..estimator import LinearEstimator
    from ..nystroem import NystroemSVC


def _survey(estimator: LinearEstimator, X: Any, y: Any, sample_weight: Any) -> tuple[Survey, np.ndarray]:
    """Survey the data and set ``classes_``, ``class_weight_`` and the like; also the class of each label found."""
    survey = Survey(X, y, sample_weight, targets=estimator._regresses)
    survey.describe(estimator)
    if not isinstance(estimator, LabelEstimator):
        return survey, np.zeros(0, dtype=np.int64)
    classes, places = estimator._encode(survey.labels)
    estimator._set_classes(classes, np.bincount(places, weights=survey.counts, minlength=len(classes)))
    return survey, places


def build_problem(estimator: LinearEstimator, X: Any, y: Any, sample_weight: Any) -> Problem:
    """Survey the data, set ``classes_``, ``class_weight_`` and the like of the estimator, and make its machines."""
    survey, places = _survey(estimator, X, y, sample_weight)
    return Problem(PartitionRows(survey, estimator._layout(survey.n_features), places, estimator._threads()))


# ---- kernel values ---------------------------------------------------------------------------------


def _read_codes(kept: Kept) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a partition, as indices into those found there, and the rows with a weight, as bits."""
    weighted = np.ones(len(kept.codes), dtype=bool) if kept.weights is None else kept.weights > 0
    return kept.codes, np.packbits(weighted)


def _take(block: Any, places: np.ndarray) -> Any:
    return as_rows(block)[places]


def _sum_moments(block: Any, kept: Kept) -> np.ndarray:
    """Weighted number, sum and sum of squares of the entries of a partition."""
    X = as_rows(block)
    weights = np.ones(X.shape[0]) if kept.weights is None else kept.weights
    values = X.astype(np.float64)
    sums = np.asarray(values.sum(axis=1)).ravel()
    squares = np.asarray((values.multiply(values) if sp.issparse(X) else values**2).sum(axis=1)).ravel()
    return np.array([weights.sum() * X.shape[1], weights @ sums, weights @ squares])


def _take_rows(survey: Survey, numbers: np.ndarray) -> Any:
    """Rows by their numbers among all rows, in the order of `numbers`, with one pass over the partitions."""
    ends = np.cumsum([look.n_rows for look in survey.looks])
    part = np.searchsorted(ends, numbers, side="right")
    first = np.concatenate([[0], ends[:-1]])[part]
    used = np.unique(part)
    found = compute(*[delayed(_take)(survey.blocks[p], (numbers - first)[part == p]) for p in used.tolist()])
    order = np.concatenate([np.flatnonzero(part == p) for p in used.tolist()])
    return stack_rows(found)[np.argsort(order)]


def _compute_variance(survey: Survey) -> float:
    """Weighted variance of all entries."""
    moments = [delayed(_sum_moments)(*pair) for pair in zip(survey.blocks, survey.kept, strict=True)]
    size, total, squares = np.sum(compute(*moments), axis=0)
    return float(max(squares / size - (total / size) ** 2, 0.0))


def build_mapped_problem(estimator: NystroemSVC, X: Any, y: Any, sample_weight: Any) -> Problem:
    """Survey the data, set ``classes_``, ``map_`` and the like of the estimator, and make its machines.

    The landmarks are those that the same rows in memory have.
    """
    survey, places = _survey(estimator, X, y, sample_weight)
    estimator._new_map(None if estimator.gamma != "scale" else _compute_variance(survey), survey.n_features)
    random = params.generator(estimator.random_state)
    found = compute(*[delayed(_read_codes)(kept) for kept in survey.kept])
    codes = np.concatenate([places[place][own] for place, (own, _) in zip(survey.places, found, strict=True)])
    weighted = np.concatenate([np.unpackbits(bits, count=len(own)) for own, bits in found])
    candidates = np.flatnonzero(weighted)
    count = min(estimator.n_components, len(candidates))
    numbers = candidates[draw_landmarks(len(candidates), count, estimator.landmarks, random, codes[candidates])]
    rows = _take_rows(survey, numbers)
    if estimator.landmarks == "kmeans++":
        chosen = choose_far_apart(rows, count, random)
        rows, numbers = rows[chosen], numbers[chosen]
    estimator._set_map(*estimator.map_._attributes(rows, numbers, rows))
    layout = estimator._layout(count)
    require_room(layout)
    landmarks = estimator.map_._landmarks(np.float32)
    return Problem(PartitionRows(survey, layout, places, estimator._threads(), landmarks), estimator._coordinates.B)
