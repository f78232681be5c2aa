"""Machines on the Nystroem map over Dask partitions. Tasks replace the rows of a partition by their kernel values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...base import params
from ..estimator import require_room
from ..landmarks import Landmarks, MappedProblem, drawn, far_apart
from .partitions import Kept, Survey, as_rows, compute, delayed, literal
from .problem import DaskProblem
from .rows import Rounds


def _codes_of(kept: Kept) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a partition, as indices into those found there, and the rows with a weight, as bits."""
    weighted = np.ones(len(kept.codes), dtype=bool) if kept.weights is None else kept.weights > 0
    return kept.codes, np.packbits(weighted)


def _some(block: Any, places: np.ndarray) -> Any:
    return as_rows(block)[places]


def _moments(block: Any, kept: Kept) -> np.ndarray:
    """Weighted number, sum and sum of squares of the entries of a partition."""
    X = as_rows(block)
    weights = np.ones(X.shape[0]) if kept.weights is None else kept.weights
    values = X.astype(np.float64)
    sums = np.asarray(values.sum(axis=1)).ravel()
    squares = np.asarray((values.multiply(values) if sp.issparse(X) else values**2).sum(axis=1)).ravel()
    return np.array([weights.sum() * X.shape[1], weights @ sums, weights @ squares])


def _values(block: Any, kernel: Any, rows: Any, dtype: Any) -> np.ndarray:
    return Landmarks(kernel, rows, dtype).values(as_rows(block), 1)


def _chosen_rows(survey: Survey, numbers: np.ndarray) -> Any:
    """Rows by their numbers among all rows, in the order of `numbers`, with one pass over the partitions."""
    ends = np.cumsum([look.n_rows for look in survey.looks])
    part = np.searchsorted(ends, numbers, side="right")
    first = np.concatenate([[0], ends[:-1]])[part]
    used = np.unique(part)
    found = compute(*[delayed(_some)(survey.blocks[p], (numbers - first)[part == p]) for p in used.tolist()])
    rows = sp.vstack(found, format="csr") if any(map(sp.issparse, found)) else np.concatenate(found)
    order = np.concatenate([np.flatnonzero(part == p) for p in used.tolist()])
    return rows[np.argsort(order)]


def _variance(survey: Survey) -> float:
    """Weighted variance of all entries."""
    size, total, squares = np.sum(
        compute(*[delayed(_moments)(*pair) for pair in zip(survey.blocks, survey.kept, strict=True)]), axis=0
    )
    return float(max(squares / size - (total / size) ** 2, 0.0))


def mapped_problem_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> MappedProblem:
    """Survey the data, set ``classes_``, ``map_`` and the like of a NystroemSVC, and make its machines.

    The landmarks are those that the same rows in memory have.
    """
    survey = Survey(X, y, sample_weight)
    survey.describe(estimator)
    classes, places = estimator._encode(survey.labels)
    estimator._set_classes(classes, np.bincount(places, weights=survey.counts, minlength=len(classes)))
    estimator._new_map(None if estimator.gamma != "scale" else _variance(survey), survey.n_features)
    random = params.generator(estimator.random_state)
    found = compute(*[delayed(_codes_of)(kept) for kept in survey.kept])
    codes = np.concatenate([places[place][own] for place, (own, _) in zip(survey.places, found, strict=True)])
    weighted = np.concatenate([np.unpackbits(bits, count=len(own)) for own, bits in found])
    candidates = np.flatnonzero(weighted)
    count = min(estimator.n_components, len(candidates))
    numbers = candidates[drawn(len(candidates), count, estimator.landmarks, random, codes[candidates])]
    rows = _chosen_rows(survey, numbers)
    if estimator.landmarks == "kmeans++":
        chosen = far_apart(rows, count, random)
        rows, numbers = rows[chosen], numbers[chosen]
    estimator._set_map(*estimator.map_._attributes(rows, numbers, rows))
    landmarks = estimator.map_._landmarks(np.float32)
    layout = estimator._layout(count)
    require_room(layout)
    problem = LandmarkProblem(survey, layout, places, threads=estimator._threads(), landmarks=landmarks)
    return MappedProblem(problem, estimator._coordinates[1])


class LandmarkProblem(DaskProblem):
    """Machines over vectors of kernel values of partitions, which tasks compute: a Problem."""

    dense = True

    def __init__(self, survey: Survey, layout: Any, places: np.ndarray, *, threads: int, landmarks: Landmarks) -> None:
        super().__init__(survey, layout, places, threads=threads)
        self.dense, self.entries_per_row = True, float(layout.n_features)
        self.thresholds = layout.thresholds
        self.landmarks = landmarks
        kernel, rows = literal(landmarks.kernel), literal(landmarks.rows)
        blocks = [delayed(_values)(block, kernel, rows, landmarks.dtype) for block in survey.blocks]
        self.rounds = Rounds(blocks, survey.kept, self.rounds.lookups)

    def _sample(self) -> tuple[Any, np.ndarray, np.ndarray]:
        X, found, weights = self.survey.sample()
        return self.landmarks.values(X, self.threads), found, weights
