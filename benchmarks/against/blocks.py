"""Jobs: blocks of kernel values. All contestants of a table take turns inside one process."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core_access import rbf_columns
from benchmarks.harness import Sample, take_turns

from .data import load
from .settings import QUERIES, Data

#: Largest difference of a kernel value from the reference that passes as correct; a check of the code, not of accuracy.
TOLERANCE = 1e-4


class _Blocks:
    def _start(self, calls: dict[str, Any], work: int, rounds: int) -> None:
        self._calls, self._work, self._rounds = calls, work, rounds
        # The allocator settles after a few blocks.
        take_turns(calls, 3)

    def measure(self) -> dict[str, Sample]:
        seconds = take_turns(self._calls, self._rounds)
        return {label: Sample({"block": times}, work=self._work) for label, times in seconds.items()}


class DenseBlock(_Blocks):
    """RBF block of dense float32 rows against the plain matrix product of the same shape."""

    def __init__(self, features: int, base: int, calls: int) -> None:
        X = np.random.default_rng(0).standard_normal((base, features), dtype=np.float32)
        # The squared distance of two rows is about 2 * features: values about exp(-1).
        gamma = 1 / (2 * features)
        columns = rbf_columns(X, gamma)
        ids, some = np.arange(base), np.arange(QUERIES)
        queries = X[:QUERIES].copy()
        wide = np.empty((QUERIES, base), dtype=np.float32)
        tall = np.empty((base, QUERIES), dtype=np.float32)
        ours = np.empty((QUERIES, base), dtype=np.float32)
        _check(columns(some, ids[:200]), queries, X[:200], gamma)
        self._start(
            {
                "hingeline, map included, into an array": lambda: columns(some, ids, ours),
                f"sgemm {QUERIES} x d @ d x n, into an array": lambda: np.matmul(queries, X.T, out=wide),
                f"sgemm n x d @ d x {QUERIES}, into an array": lambda: np.matmul(X, queries.T, out=tall),
                "hingeline, map included, new result": lambda: columns(some, ids),
                f"sgemm {QUERIES} x d @ d x n, new result": lambda: np.matmul(queries, X.T),
            },
            work=QUERIES * base,
            rounds=calls,
        )


class CsrBlock(_Blocks):
    """RBF block of CSR float32 rows against scikit-learn's rbf_kernel."""

    def __init__(self, data: Data, rows: int | None, calls: int) -> None:
        from sklearn.metrics.pairwise import rbf_kernel

        X = load(data, "csr", "float32", rows=rows, test_rows=1).X_train
        gamma = data.ours.gamma
        columns = rbf_columns(X, gamma)
        ids, some = np.arange(X.shape[0]), np.arange(QUERIES)
        queries = X[:QUERIES]
        _check(columns(some, ids[:200]), queries.toarray(), X[:200].toarray(), gamma)
        self._start(
            {
                "hingeline, new result included": lambda: columns(some, ids),
                "sklearn.metrics.pairwise.rbf_kernel": lambda: rbf_kernel(queries, X, gamma=gamma),
            },
            work=QUERIES * X.shape[0],
            rounds=calls,
        )


def _check(values: np.ndarray, queries: np.ndarray, base: np.ndarray, gamma: float) -> None:
    a, b = queries.astype(np.float64), base.astype(np.float64)
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    difference = float(np.abs(values - np.exp(-gamma * squares)).max())
    if not difference <= TOLERANCE:
        raise AssertionError(f"kernel values are off by {difference:.2g}")
