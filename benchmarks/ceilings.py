"""What the machine can do: matrix products, memory bandwidth, exp; and blocks of RBF kernel values beside products.

python -m benchmarks.ceilings [--quick] [--threads N] [--output DIR]
"""

from __future__ import annotations

from benchmarks.environment import command_line, fix_threads, machine, threads_in_argv

if __name__ == "__main__":
    fix_threads(threads_in_argv())

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks import writing
from benchmarks.core_access import rbf_columns

#: Shapes of products and RBF blocks: queries, base rows, features (784: mnist, 123: adult, 16: letter and pendigits).
QUERIES, BASE, FEATURES = 64, 20_000, (16, 123, 784)
#: Largest difference of a kernel value from the reference that passes; a check of the code, not of accuracy.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Sizes:
    base: int
    square: int
    stream: int  # elements of an array that fits no cache
    chunk: int  # elements of an array that fits L1 and L2
    repeats: int
    least_seconds: float  # of one timing


FULL = Sizes(base=BASE, square=4096, stream=32 << 20, chunk=8192, repeats=7, least_seconds=0.05)
QUICK = Sizes(base=500, square=128, stream=1 << 18, chunk=8192, repeats=3, least_seconds=0.001)


@dataclass(frozen=True)
class Ceiling:
    what: str
    unit: str
    median: float
    best: float


def measure(what: str, unit: str, work: float, call: Callable[[], object], sizes: Sizes) -> Ceiling:
    """Rate of `call`, which does `work` units."""
    call()
    start = time.perf_counter()
    call()
    calls = max(1, round(sizes.least_seconds / max(time.perf_counter() - start, 1e-9)))
    rates = []
    for _ in range(sizes.repeats):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        rates.append(work * calls / (time.perf_counter() - start))
    return Ceiling(what, unit, statistics.median(rates), max(rates))


def products(sizes: Sizes) -> Iterator[Ceiling]:
    random = np.random.default_rng(0)
    for name, dtype in (("sgemm", np.float32), ("dgemm", np.float64)):
        for d in FEATURES:
            base = random.standard_normal((sizes.base, d)).astype(dtype)
            queries = base[:QUERIES].copy()
            for left, right, shape in (
                (queries, base.T, f"{QUERIES} x {d} x {sizes.base}"),
                (base, queries.T, f"{sizes.base} x {d} x {QUERIES}"),
            ):
                yield product(f"{name} {shape}", left, right, sizes)
        square = random.standard_normal((sizes.square, sizes.square)).astype(dtype)
        yield product(f"{name} {sizes.square} x {sizes.square} x {sizes.square}", square, square, sizes)


def product(what: str, left: np.ndarray, right: np.ndarray, sizes: Sizes) -> Ceiling:
    out = np.empty((left.shape[0], right.shape[1]), dtype=left.dtype)
    work = 2e-9 * left.shape[0] * left.shape[1] * right.shape[1]
    return measure(what, "GFLOP/s", work, lambda: np.matmul(left, right, out=out), sizes)


def blocks(sizes: Sizes) -> Iterator[Ceiling]:
    """RBF kernel values of dense float32 rows, map included, in the operations of the product of the same shape.

    Goal: at least 75 % of the rate of sgemm 64 x d x n.
    """
    for d in FEATURES:
        X = np.random.default_rng(0).standard_normal((sizes.base, d), dtype=np.float32)
        gamma = 1 / (2 * d)  # squared distances are about 2 d: values about exp(-1)
        columns, ids, some = rbf_columns(X, gamma), np.arange(len(X)), np.arange(QUERIES)
        off = np.abs(columns(some, ids[:200]) - rbf_kernel(X[:QUERIES], X[:200], gamma=gamma)).max()
        if not off <= TOLERANCE:
            raise AssertionError(f"kernel values are off by {off:.2g}")
        work, what = 2e-9 * QUERIES * len(X) * d, f"RBF block {QUERIES} x {d} x {sizes.base}, new result"
        yield measure(what, "GFLOP/s", work, partial(columns, some, ids), sizes)


def sparse_blocks(sizes: Sizes) -> Iterator[Ceiling]:
    """RBF kernel values of CSR float32 rows, beside scikit-learn. Goal: at least three times its rate."""
    for d, density in ((123, 0.11), (8315, 0.005)):  # adult, reuters
        X = sparse.random(sizes.base, d, density, "csr", np.float32, random_state=0)
        columns, ids, some = rbf_columns(X, 1 / d), np.arange(sizes.base), np.arange(QUERIES)
        work, shape = 1e-9 * QUERIES * sizes.base, f"{QUERIES} x {d} x {sizes.base}, density {density}"
        yield measure(f"RBF block, CSR {shape}", "G values/s", work, partial(columns, some, ids), sizes)
        theirs = partial(rbf_kernel, X[:QUERIES], X, gamma=1 / d)
        yield measure(f"rbf_kernel of scikit-learn, CSR {shape}", "G values/s", work, theirs, sizes)


def in_slices(
    pool: ThreadPoolExecutor, threads: int, call: Callable[..., object], *arrays: np.ndarray
) -> Callable[[], list]:
    """`call` on equal parts of the arrays, one part per thread: numpy's own loops use one thread only."""
    parts = list(zip(*(np.array_split(a, threads) for a in arrays), strict=True))
    if threads == 1:
        return lambda: [call(*parts[0])]
    return lambda: list(pool.map(lambda part: call(*part), parts))


def bandwidth(sizes: Sizes, pool: ThreadPoolExecutor, threads: int) -> Iterator[Ceiling]:
    a, b, c = (np.ones(sizes.stream) for _ in range(3))
    gigabytes = 8e-9 * sizes.stream

    def add(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
        np.add(x, y, out=z)

    def update(x: np.ndarray, y: np.ndarray) -> None:
        np.add(x, y, out=x)

    for what, streams, call, arrays in (
        ("memory, c = a + b (3 streams counted)", 3, add, (a, b, c)),
        ("memory, a += b (3 streams)", 3, update, (c, b)),
        ("memory, read (dot of 2 arrays)", 2, np.dot, (a, b)),
    ):
        yield measure(what, "GB/s", streams * gigabytes, in_slices(pool, threads, call, *arrays), sizes)


def exponentials(sizes: Sizes, pool: ThreadPoolExecutor, threads: int) -> Iterator[Ceiling]:
    rounds = 16
    for dtype in (np.float32, np.float64):
        x = np.random.default_rng(0).uniform(-8, 0, sizes.chunk * threads).astype(dtype)
        out = np.empty_like(x)

        def run(part: np.ndarray, into: np.ndarray) -> None:
            for _ in range(rounds):
                np.exp(part, out=into)

        call = in_slices(pool, threads, run, x, out)
        yield measure(f"exp {np.dtype(dtype)}, in cache", "G/s", 1e-9 * rounds * x.size, call, sizes)


def main() -> None:
    args = command_line("ceilings", __doc__).parse_args()
    sizes = QUICK if args.quick else FULL
    with ThreadPoolExecutor(args.threads) as pool:
        found = [*products(sizes), *blocks(sizes), *sparse_blocks(sizes)]
        found += [*bandwidth(sizes, pool, args.threads), *exponentials(sizes, pool, args.threads)]
    info = machine()
    rows = [[c.what, writing.number(c.median), writing.number(c.best), c.unit] for c in found]
    text = writing.table(["what", "median", "best", "unit"], rows)
    print(f"{writing.machine_lines(info, args.threads)}\n\n{text}")
    result = {"machine": info, "threads": args.threads, "quick": args.quick, "ceilings": [asdict(c) for c in found]}
    writing.write(args.output, f"ceilings-{args.threads}t-{writing.stamp()}", result)


if __name__ == "__main__":
    main()
