"""Features of the examples of a pool: standardised numbers, indicators of categories, tf-idf of words, thumbnails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from ..base.inputs import number_of
from .pools import ImagePool, Pool, TablePool, TextPool
from .thumbnails import thumbnails

__all__ = ["Features", "features_of", "numbers_of"]

#: Largest number of categories of a column.
CATEGORIES = 50
#: Smallest mean number of words in the cells of a column of texts.
WORDS = 3
#: Number of features of texts.
HASHED = 2**18
#: Cells without value.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})


@dataclass(frozen=True)
class Features:
    """Feature vectors of the examples of a pool.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        The vectors.
    kernel : {'rbf', 'linear'}
        Kernel for them: linear for texts.
    plan : dict of str to str
        How each column is used: 'number', 'category', 'text' or 'not used'.
    """

    X: Any
    kernel: str
    plan: dict[str, str]


def features_of(pool: Pool) -> Features:
    """Features of a pool.

    Parameters
    ----------
    pool : Pool
        Pool.

    Returns
    -------
    Features
        Vectors, one per example.
    """
    if isinstance(pool, TextPool):
        return Features(_tfidf(pool.texts), "linear", {"text": "text"})
    if isinstance(pool, ImagePool):
        return Features(thumbnails(pool), "rbf", {"image": "thumbnail"})
    assert isinstance(pool, TablePool)
    return _of_table(pool)


def _of_table(pool: TablePool) -> Features:
    blocks: list[Any] = []
    plan: dict[str, str] = {}
    for name in pool.columns:
        plan[name], block = _of_column(pool.column(name))
        blocks += [] if block is None else [block]
    if not blocks:
        raise ValueError(
            f"no column to learn from: numbers, up to {CATEGORIES} different words, or texts of {WORDS} words or more."
        )
    if any(sp.issparse(block) for block in blocks):
        # Rows of each dense block get a mean norm of about 1, as the rows of texts have.
        scaled = [b if sp.issparse(b) else sp.csr_matrix(b / np.sqrt(b.shape[1])) for b in blocks]
        return Features(sp.hstack(scaled, format="csr"), "linear", plan)
    return Features(np.hstack(blocks), "rbf", plan)


def _of_column(cells: Sequence[str]) -> tuple[str, Any]:
    """How a column is used, and its features; None if it is not used."""
    missing = np.array([cell.strip().lower() in MISSING for cell in cells])
    if missing.all():
        return "not used", None
    numbers = _as_numbers(cells, missing)
    if numbers is not None:
        return ("not used", None) if _counts(numbers) else ("number", _standardise(numbers))
    different, codes = np.unique(np.array([cell.strip() for cell in cells], dtype=object), return_inverse=True)
    if len(different) == 1:
        return "not used", None
    many = len(different) > min(CATEGORIES, len(cells) // 2)  # few different sentences are categories
    if many and np.mean([len(cell.split()) for cell in cells]) >= WORDS:
        return "text", _tfidf(cells)
    if len(different) > CATEGORIES:
        return "not used", None
    return "category", np.eye(len(different))[codes]


def _as_numbers(cells: Sequence[str], missing: np.ndarray) -> np.ndarray | None:
    """Cells as numbers, NaN where the value is missing; None if any cell is something else."""
    found = [np.nan if gone else number_of(cell) for cell, gone in zip(cells, missing, strict=True)]
    if any(number is None for number in found):
        return None
    numbers = np.array(found, dtype=np.float64)
    return None if np.isinf(numbers).any() else numbers


def _counts(numbers: np.ndarray) -> bool:
    """Whether a column is constant or numbers the rows: there is nothing to learn from it."""
    steps = np.diff(numbers)
    known = numbers[~np.isnan(numbers)]
    return bool(known.min() == known.max() or (len(steps) > 1 and np.all(steps == 1)))


def _standardise(numbers: np.ndarray) -> np.ndarray:
    """Column with mean 0 and variance 1; missing values are the mean, and an indicator column tells where."""
    gone = np.isnan(numbers)
    scale = np.nanstd(numbers)
    values = np.where(gone, 0.0, (numbers - np.nanmean(numbers)) / (scale if scale > 0 else 1.0))
    return np.column_stack([values, gone] if gone.any() else [values])


def _tfidf(texts: Sequence[str]) -> Any:
    """Rows of unit length: tf-idf of words and pairs of words, hashed."""
    counts = HashingVectorizer(n_features=HASHED, ngram_range=(1, 2), alternate_sign=False, norm=None).transform(texts)
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts).tocsr()


def numbers_of(pool: Pool, model: Any, path: Path) -> np.ndarray:
    """Columns of numbers as they are, for a model that was fitted elsewhere.

    Parameters
    ----------
    pool : Pool
        Table. If the model has names of features, its columns are found by name.
    model : estimator
        Fitted model.
    path : Path
        File of the model, for messages.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        Features.
    """
    if not isinstance(pool, TablePool):
        raise ValueError(f"{path}: a model can be continued on a table only. {pool.name} holds {pool.kind}s.")
    columns = list(_number_columns(pool, getattr(model, "feature_names_in_", None)))
    if len(columns) != model.n_features_in_:
        raise ValueError(
            f"{path}: the model has {model.n_features_in_} features, {pool.name} has {len(columns)} columns of "
            "numbers. Leave out columns with --ignore."
        )
    return np.column_stack(columns)


def _number_columns(pool: TablePool, names: Any) -> Iterator[np.ndarray]:
    for name in pool.columns if names is None else names:
        cells = pool.column(name)
        numbers = _as_numbers(cells, np.zeros(len(cells), dtype=bool))
        if numbers is not None:
            yield numbers
        elif names is not None:
            raise ValueError(f"column {name!r} of {pool.name} must hold numbers, without missing values.")
