"""Data sets of settings.py: those of benchmarks.against, words of newsgroups, and an artificial one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.against.data import Split
from benchmarks.against.data import load as load_scaled
from benchmarks.against.settings import Data, Ours, Theirs
from benchmarks.harness import Unavailable
from hingeline import datasets

from .settings import DRAWN, POSITIVE_GROUPS, Drawn, Linear

#: Rows drawn at a time.
CHUNK = 50_000


def load(data: Linear, form: str, dtype: str = "float64") -> Split:
    """Training and test part, as published, with labels -1 and 1."""
    if data.source == "drawn":
        return draw(DRAWN, data.rows, form, dtype)
    # Widths and penalties of kernels are not used here.
    known = Data(data.source, data.scaling, Ours(1.0), Theirs(1.0, 1.0), positive=data.positive, rows=data.rows)
    split = load_scaled(known, "csr" if data.source == "news20" else form, "float64", published=True)
    if data.source == "news20":
        split = _weighted(split, form)
    X_train, X_test = (X.astype(dtype, copy=False) for X in (split.X_train, split.X_test))
    return Split(X_train, _signs(split.y_train), X_test, _signs(split.y_test))


def _signs(y: np.ndarray) -> np.ndarray:
    return np.where(y > 0, 1.0, -1.0)


def _weighted(split: Split, form: str) -> Split:
    """tf-idf of counts of words; half of the newsgroups against the other."""
    if form != "csr":
        raise Unavailable("news20 does not fit into memory as a dense array")
    weights = TfidfTransformer().fit(split.X_train)
    X_train, X_test = (sp.csr_matrix(weights.transform(X)) for X in (split.X_train, split.X_test))
    y_train, y_test = (np.where(np.isin(y, POSITIVE_GROUPS), 1, -1) for y in (split.y_train, split.y_test))
    return Split(X_train, y_train, X_test, y_test)


def draw(how: Drawn, rows: int | None, form: str, dtype: str) -> Split:
    """Sparse rows, each value present with the same probability; a linear teacher whose answers are noisy."""
    random = np.random.default_rng(0)
    n = min(how.rows, rows or how.rows)
    teacher = random.standard_normal(how.features)
    found: list[Any] = []
    for count in (n, n // 10):
        parts = []
        for start in range(0, count, CHUNK):
            shape = min(CHUNK, count - start), how.features
            parts.append(sp.csr_matrix(random.standard_normal(shape) * (random.random(shape) < how.density)))
        X = sp.csr_matrix(sp.vstack(parts, format="csr"))
        exact = X @ teacher
        answers = exact + how.noise * exact.std() * random.standard_normal(count)
        found += [(X if form == "csr" else X.toarray()).astype(dtype, copy=False), _signs(answers)]
    return Split(*found)


def ordered(source: str, classes: int | None, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes 0, 1, ... in their order; `classes`: a number is cut into that many of about equal size."""
    try:
        found = datasets.load(source, dtype=np.float64)
    except (OSError, ValueError) as error:
        raise Unavailable(f"data set {source} is not in $HINGELINE_DATA") from error
    y: Any = found.y
    if classes is not None:
        y = np.searchsorted(np.unique(np.quantile(y, np.arange(1, classes) / classes)), y, side="right")
    some = np.random.default_rng(0).permutation(len(y))[:rows]
    return np.asarray(found.X)[some], np.unique(y[some], return_inverse=True)[1]
