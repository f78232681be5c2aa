"""Dask collections as lists of partitions that belong together, and a first pass over them.

Workers keep no hidden state: labels and weights that later rounds need are results of tasks like any other, which Dask
recomputes when they are lost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import column_or_1d, validate_data

from ..._extras import optional
from ...base.regressor import check_targets
from ...base.rows import WeightedSamples, flatten_column, require_sound_rows
from ..estimator import encode_classes
from ..problem import ROWS_PER_WEIGHT, THIN, scale_of

with optional("A Dask collection"):
    import dask
    import dask.array as da
    from dask.delayed import Delayed, delayed

#: Bytes that a sample of the rows may take in the client process.
SAMPLE_BYTES = 256 << 20
#: Number of results that one task adds up.
SPLIT_EVERY = 8


class Kept(NamedTuple):
    """Labels, as indices into those found in the partition, or targets, and weights of a partition."""

    codes: np.ndarray
    weights: np.ndarray | None


class Look(NamedTuple):
    """Result of the first pass over a partition."""

    n_rows: int
    n_features: int
    entries: int
    dense: bool
    found: np.ndarray
    counts: np.ndarray
    weight_sum: float
    magnitude: float  # sum of |target|, by weight
    sample: Any
    sample_codes: np.ndarray
    sample_weights: np.ndarray


# ---- tasks -----------------------------------------------------------------------------------------


def as_rows(block: Any) -> Any:
    """A partition as an array of numbers or as CSR."""
    return check_array(
        require_sound_rows(block),
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name="X",
    )


def stack_rows(parts: Sequence[Any]) -> Any:
    """Rows of several parts, dense only if all are."""
    return sp.vstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.concatenate(parts)


def _check_labels(block: Any, n_rows: int, number: int) -> np.ndarray:
    y: np.ndarray = column_or_1d(flatten_column(np.asarray(block)))
    if len(y) != n_rows:
        raise ValueError(f"y has {len(y)} rows in partition {number}, where X has {n_rows}.")
    if y.dtype.kind in "fO":
        assert_all_finite(y, input_name=f"y (partition {number})")
    return y


def _check_weights(block: Any, X: Any, number: int) -> np.ndarray | None:
    try:
        return None if block is None else WeightedSamples()._sample_weights(block, X, all_zero=True)
    except ValueError as error:
        raise ValueError(f"sample_weight in partition {number}: {error}") from None


def _encode(y: np.ndarray, targets: bool, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a partition and the index of each, in few bytes; with `targets` no labels, and the targets."""
    if targets:
        try:
            return np.zeros(0), check_targets(y)
        except ValueError as error:
            raise ValueError(f"y in partition {number}: {error}") from None
    found, codes = encode_classes(y) if len(y) else (y, np.zeros(0, dtype=np.int64))
    return found, codes.astype(np.min_scalar_type(max(len(found) - 1, 0)))


def look_at(
    X: Any, y: Any, sample_weight: Any, number: int, stride: int, most_bytes: float, targets: bool
) -> tuple[Kept, Look]:
    """Check a partition, encode its labels (check its `targets`), and sample its rows."""
    X = as_rows(X)
    n_rows = X.shape[0]
    y = _check_labels(y, n_rows, number)
    weights = _check_weights(sample_weight, X, number)
    sparse = sp.issparse(X)
    assert_all_finite(X.data if sparse else X, input_name=f"X (partition {number})")
    found, codes = _encode(y, targets, number)
    entries = int(X.nnz if sparse else X.size)
    row_bytes = (X.itemsize if not sparse else X.data.itemsize + X.indices.itemsize) * entries / max(n_rows, 1)
    stride = max(stride, int(np.ceil(row_bytes * n_rows / max(most_bytes, 1.0))))
    count = n_rows // stride if most_bytes else 0
    places = np.arange(count) * stride + np.random.default_rng(number).integers(0, stride, size=count)
    look = Look(
        n_rows=n_rows,
        n_features=X.shape[1],
        entries=entries,
        dense=not sparse,
        found=found,
        counts=np.zeros(0, dtype=np.int64) if targets else np.bincount(codes, minlength=len(found)),
        weight_sum=float(n_rows if weights is None else weights.sum()),
        magnitude=float((np.abs(codes) * (1.0 if weights is None else weights)).sum()) if targets else 0.0,
        sample=X[places],
        sample_codes=codes[places],
        sample_weights=np.ones(count) if weights is None else weights[places],
    )
    return Kept(codes, weights), look


# ---- collections -----------------------------------------------------------------------------------


@contextmanager
def quietly() -> Iterator[None]:
    """Silence the warning about large graphs: vectors are sent with the tasks on purpose."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        yield


def compute(*values: Delayed) -> tuple[Any, ...]:
    """Results, from the active client if there is one, otherwise from Dask's scheduler in this process."""
    with quietly():
        return dask.compute(*values, traverse=False)


def persist(*values: Delayed) -> tuple[Delayed, ...]:
    """Values that stay with the workers that computed them while references exist."""
    with quietly():
        return dask.persist(*values, traverse=False)


def literal(value: Any) -> Delayed:
    """One copy of a value for all tasks that use it."""
    return delayed(value, traverse=False, pure=False)


def add_arrays(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Sum of several arrays."""
    return reduce(np.add, parts)


def tree(function: Callable[[list[Any]], Any], values: Sequence[Delayed]) -> Delayed:
    """Reduce values a few at a time, in an order that depends on their number only."""
    level = list(values)
    while True:
        level = [delayed(function)(level[at : at + SPLIT_EVERY]) for at in range(0, len(level), SPLIT_EVERY)]
        if len(level) == 1:
            return level[0]


def _is_frame(collection: Any) -> bool:
    return hasattr(collection, "npartitions") and hasattr(collection, "to_delayed") and hasattr(collection, "_meta")


def _list_blocks(collection: Any, name: str) -> tuple[list[Delayed], list[int | None]]:
    """Partitions and their numbers of rows, None where these are not known."""
    if isinstance(collection, da.Array):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        sizes = [None if np.isnan(size) else int(size) for size in collection.chunks[0]]
        return collection.to_delayed().ravel().tolist(), sizes
    if _is_frame(collection):
        blocks = list(collection.to_delayed())
        return blocks, [None] * len(blocks)
    raise TypeError(
        f"{name} must be a Dask array or dataframe (or NumPy, beside a Dask X). Got {type(collection).__name__}."
    )


class Partitions:
    """X with labels and weights, partition by partition.

    Parameters
    ----------
    X : dask array or dataframe
        Rows; chunks of columns are joined.
    **others : dask array, dataframe or series, or array-like, or None
        One value per row of X, by the name of the argument.
    """

    def __init__(self, X: Any, **others: Any) -> None:
        if getattr(X, "ndim", 2) != 2:
            raise ValueError(f"X must have two dimensions. Got a Dask collection with {X.ndim}.")
        self.n_features = int(X.shape[1]) if not np.isnan(X.shape[1]) else -1
        if self.n_features < 0:
            raise ValueError("X must have a known number of features; give Dask its `meta` or `shape`.")
        self.names = X._meta if _is_frame(X) else None
        self.blocks, self.sizes = _list_blocks(X, "X")
        self.others = {name: self._align(name, value) for name, value in others.items()}

    def __len__(self) -> int:
        return len(self.blocks)

    def each(self) -> list[tuple[Any, ...]]:
        """Rows, other values, and number of every partition."""
        return list(zip(self.blocks, *self.others.values(), range(len(self)), strict=True))

    @property
    def known(self) -> bool:
        """Whether all numbers of rows are known."""
        return None not in self.sizes

    def _count_rows(self) -> None:
        """Count the rows with a pass over X, unless their numbers are known."""
        if not self.known:
            self.sizes = [shape[0] for shape in compute(*[delayed(np.shape)(block) for block in self.blocks])]

    def _require_total(self, name: str, rows: int) -> None:
        total = sum(size for size in self.sizes if size is not None)
        if rows != total:
            raise ValueError(f"X and {name} have different numbers of rows: {total} and {rows}.")

    def _align(self, name: str, value: Any) -> list[Any]:
        """Partitions of a value that go with those of X."""
        if value is None:
            return [None] * len(self)
        if not dask.is_dask_collection(value):
            array = column_or_1d(flatten_column(np.asarray(value), name))
            self._count_rows()
            self._require_total(name, len(array))
            return [literal(part) for part in np.split(array, np.cumsum([size or 0 for size in self.sizes])[:-1])]
        blocks, sizes = _list_blocks(value, name)
        if None not in sizes and isinstance(value, da.Array):
            if not self.known and len(blocks) != len(self):
                self._count_rows()
            if self.known:
                self._require_total(name, sum(size or 0 for size in sizes))
                if sizes != self.sizes:
                    blocks, sizes = _list_blocks(value.rechunk({0: tuple(self.sizes)}), name)
        if len(blocks) != len(self):
            raise ValueError(
                f"X has {len(self)} partitions and {name} has {len(blocks)}. Take both from the same collection, or "
                "let Dask count the rows so that they can be aligned: `compute_chunk_sizes()` of an array, "
                "`to_dask_array(lengths=True)` of a dataframe."
            )
        return blocks


class Survey:
    """The first pass: shapes, labels, and a sample of the rows.

    Parameters
    ----------
    X, y, sample_weight : dask collections
        As in ``fit``; y and weights may be NumPy arrays.
    targets : bool
        Whether y holds targets; there are no ``labels`` then.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any, *, targets: bool) -> None:
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        self.parts = parts = Partitions(X, y=y, sample_weight=sample_weight)
        stride = THIN
        if parts.known:  # with few rows per weight the sample is a larger share of them
            wanted = ROWS_PER_WEIGHT * (parts.n_features + 1)
            stride = min(sum(size or 0 for size in parts.sizes) // wanted, THIN)
        share = SAMPLE_BYTES / max(len(parts), 1) if stride > 1 else 0.0
        pairs = [delayed(look_at, nout=2)(*part, stride, share, targets) for part in parts.each()]
        both = persist(*[kept for kept, _ in pairs], *[look for _, look in pairs])
        looks: list[Look] = list(compute(*both[len(pairs) :]))
        self.n_features = parts.n_features
        self._check(looks)
        used = [number for number, look in enumerate(looks) if look.n_rows]  # partitions with rows
        self.looks = [looks[number] for number in used]
        self.blocks, self.kept = [parts.blocks[number] for number in used], [both[number] for number in used]
        self.n_rows = sum(look.n_rows for look in looks)
        self.dense = all(look.dense for look in self.looks)
        self.entries_per_row = sum(look.entries for look in looks) / self.n_rows
        magnitude = sum(look.magnitude for look in self.looks)
        self.targets, self.scale = targets, scale_of(magnitude, sum(look.weight_sum for look in self.looks))
        self.labels = np.unique(np.concatenate([look.found for look in self.looks]))
        self.places = [np.searchsorted(self.labels, look.found) for look in self.looks]
        self.counts = np.zeros(len(self.labels), dtype=np.int64)
        for look, place in zip(self.looks, self.places, strict=True):
            self.counts[place] += look.counts

    def _check(self, looks: list[Look]) -> None:
        shape = (sum(look.n_rows for look in looks), self.n_features)
        if 0 in shape:
            raise ValueError(f"X must have at least one row and one feature. Got 0 samples or features: shape {shape}.")
        for number, look in enumerate(looks):
            if look.n_rows and look.n_features != self.n_features:
                raise ValueError(f"X has {look.n_features} features in partition {number}, expected {self.n_features}.")
        if sum(look.weight_sum for look in looks) == 0:
            raise ValueError("sample_weight must not be zero for all rows.")

    def describe(self, estimator: Any) -> None:
        """Set the number of features of an estimator, and their names."""
        if self.parts.names is not None:
            validate_data(estimator, self.parts.names, skip_check_array=True)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        estimator.n_features_in_ = self.n_features

    def sample(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows, indices into ``labels`` (or targets), weights. Frees the samples: a second call returns no rows."""
        some = [(look, place) for look, place in zip(self.looks, self.places, strict=False) if len(look.sample_codes)]
        self.looks = []
        if not some:
            return np.zeros((0, self.n_features)), np.zeros(0, dtype=np.int64), np.zeros(0)
        codes = [look.sample_codes if self.targets else place[look.sample_codes] for look, place in some]
        return (
            stack_rows([look.sample for look, _ in some]),
            np.concatenate(codes),
            np.concatenate([look.sample_weights for look, _ in some]),
        )
