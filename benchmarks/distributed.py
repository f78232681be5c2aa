"""LinearSVC on a cluster of two processes: ten million rows, bounded memory, a worker that dies.

``python -m benchmarks.distributed`` writes a Markdown page and a JSON file. Rows are made from the numbers of their
partitions whenever they are needed, as if they were read from a disk; a last run keeps them in the workers' memory.
"""

from __future__ import annotations

from benchmarks import environment

if __name__ == "__main__":  # the workers inherit the environment
    environment.fix_threads(1)

import logging
import os
import signal
import sys
import threading
import time
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

from benchmarks import writing
from benchmarks.memory import reset_peak, resident
from hingeline import LinearSVC

FEATURES, WORKERS, LIMIT = 50, 2, "4GiB"
MODEL: dict[str, Any] = {"C": 0.005, "tol": 1e-6}
#: Partitions of the comparison with one process.
COMPARED = 4


def partition(number: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels from the number of a partition; one label in ten is noise."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((rows, FEATURES))
    score = X @ np.linspace(1, 0, FEATURES) + 0.5 + 2 * rng.standard_normal(rows)
    return X, np.where(rng.random(rows) < 0.1, rng.random(rows) < 0.5, score > 0).astype(np.int8)


def collection(count: int, rows: int) -> tuple[Any, Any]:
    """Dask arrays of so many partitions; nothing is computed."""
    both = [dask.delayed(partition, nout=2)(k, rows) for k in range(count)]
    X = [da.from_delayed(one[0], shape=(rows, FEATURES), dtype=np.float64) for one in both]
    y = [da.from_delayed(one[1], shape=(rows,), dtype=np.int8) for one in both]
    return da.concatenate(X), da.concatenate(y)


def fit(client: Client, X: Any, y: Any, kill_after: float | None = None) -> tuple[LinearSVC, dict[str, Any]]:
    """A model, and what it took."""
    killer = None
    if kill_after is not None:
        victim = sorted(client.run(os.getpid).values())[0]
        killer = threading.Timer(kill_after, os.kill, (victim, signal.SIGKILL))
        killer.start()
    client.run(reset_peak)
    reset_peak()
    start = time.perf_counter()
    model = LinearSVC(**MODEL).fit(X, y)
    seconds = time.perf_counter() - start
    found = {
        "rows": X.shape[0],
        "seconds": seconds,
        "passes": model.n_passes_,
        "iterations": int(model.n_iter_[0]),
        "relative gap": float(model.duality_gap_[0] / model.objective_[0]),
        "worker MiB": max(client.run(resident, "VmHWM").values()) / 2**20,
        "driver MiB": resident("VmHWM") / 2**20,
    }
    if killer is not None:
        killer.cancel()
        found["killed after s"] = kill_after if kill_after is not None and kill_after < seconds else None
    return model, found


def compare(rows: int) -> dict[str, float]:
    """The cluster and one process on the same few partitions."""
    X, y = collection(COMPARED, rows)
    ours = LinearSVC(**MODEL).fit(X, y)
    arrays = dask.compute(X, y, scheduler="sync")
    start = time.perf_counter()
    local = LinearSVC(**MODEL).fit(*arrays)
    return {
        "rows": X.shape[0],
        "largest difference of a weight": float(np.abs(ours.coef_ - local.coef_).max()),
        "largest weight": float(np.abs(local.coef_).max()),
        "difference of the objectives, relative": float(abs(ours.objective_[0] / local.objective_[0] - 1)),
        "seconds in one process": time.perf_counter() - start,
    }


def markdown(result: dict[str, Any]) -> str:
    """The page."""
    columns = {
        "time, s": "seconds",
        "passes": "passes",
        "Newton iterations": "iterations",
        "gap / objective": "relative gap",
        "worker, MiB": "worker MiB",
        "driver, MiB": "driver MiB",
    }
    rows = [[name, *(writing.number(run[key]) for key in columns.values())] for name, run in result["runs"].items()]
    same = result["compared"]
    gib = result["rows"] * FEATURES * 8 / 2**30
    options = ", ".join(f"{name}={value:g}" for name, value in MODEL.items())
    parts = [
        "# LinearSVC on a cluster of two processes",
        f"{result['rows']:,} rows, {FEATURES} features, float64 ({gib:.1f} GiB), in {result['partitions']} "
        f"partitions; `LocalCluster` of {WORKERS} processes with a thread each and `memory_limit='{LIMIT}'`; "
        f"`LinearSVC({options})`. Times include the first pass over the data. Memory: largest resident set of "
        "a worker, and of the driver process, which holds the sample. Passes: rounds over all partitions, the "
        "first pass being one, and the work on the sample by its share.",
        writing.machine_lines(result["machine"], 1),
        writing.table(["rows come from", *columns], rows),
        f"Weights of the run with a dead worker differ from those without by at most {result['after death']:.1e}.",
        f"Cluster against one process on the first {same['rows']:,} rows: weights differ by at most "
        f"{same['largest difference of a weight']:.1e} (the largest is {same['largest weight']:.2f}), objectives "
        f"by {same['difference of the objectives, relative']:.1e} of their value.",
    ]
    return "\n\n".join(parts)


def main() -> int:
    """Run, write, say where."""
    args = environment.command_line("distributed", __doc__).parse_args()
    partitions, rows = (8, 10_000) if args.quick else (100, 100_000)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    result: dict[str, Any] = {"machine": environment.machine(), "rows": partitions * rows, "partitions": partitions}
    result["runs"] = {}
    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, memory_limit=LIMIT, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        result["compared"] = compare(rows)
        print(result["compared"], flush=True)
        X, y = collection(partitions, rows)
        first, found = fit(client, X, y)
        result["runs"]["their numbers, each time"] = found
        print(found, flush=True)
        second, found = fit(client, X, y, kill_after=found["seconds"] / 2)
        result["runs"]["the same; a worker is killed halfway"] = found
        result["after death"] = float(np.abs(first.coef_ - second.coef_).max())
        print(found, result["after death"], flush=True)
        kept = X.persist()
        start = time.perf_counter()
        client.gather([client.submit(len, block) for block in client.futures_of(kept)])
        made = time.perf_counter() - start
        _, found = fit(client, kept, y)
        result["runs"]["the memory of the workers"] = found | {"seconds to make them": made}
        print(found, flush=True)
    writing.write(args.output, "distributed", result, markdown(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
