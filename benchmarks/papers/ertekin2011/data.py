"""Training and test parts as settings.py describes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.papers.data import smoothed, stored

from .settings import Set


@dataclass(frozen=True)
class Split:
    """Rows as they are stored, float64, scaled; labels -1 and 1."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    def as_ours(self, dense: bool) -> tuple[Any, Any]:
        """Training and test rows in float32."""
        return _single(self.X, dense), _single(self.X_test, dense)


def _single(X: Any, dense: bool) -> Any:
    X = X.toarray() if dense and sp.issparse(X) else X
    return X.astype(np.float32) if sp.issparse(X) else np.ascontiguousarray(X, dtype=np.float32)


@lru_cache(maxsize=1)
def split(data: Set, seed: int) -> Split:
    """The data of a run; the seed matters only where split or labels are random. FileNotFoundError: no such file."""
    source = stored(data.source)
    random = np.random.default_rng([2011, seed])
    y = source.y if data.positive is None else np.where(source.y == data.positive, 1, -1)
    if data.split is None:
        train, test = np.split(np.arange(len(y)), [source.n_train or len(y)])
    else:
        order = random.permutation(len(y))
        train, test = order[: data.split[0]], order[data.split[0] : sum(data.split)]
    images = smoothed(source.X) if data.images == "smoothed" else source.X
    X, X_test = (images[rows] * data.scale for rows in (train, test))
    y, y_test = y[train].copy(), y[test]
    if data.flips:
        wrong = random.choice(len(y), round(data.flips * len(y)), replace=False)
        y[wrong] = -y[wrong]
    return Split(X, y, X_test, y_test)
