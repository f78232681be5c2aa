"""Command line of the comparison of incremental learning with fitting again."""

import os
import sys
from collections.abc import Iterator

from benchmarks.harness import Case, Contestant, Program, Run, main

from . import settings


def contestants(case: Case, run: Run) -> Iterator[Contestant]:
    """Ours with one thread and with all cores, and scikit-learn at two tolerances."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    job = f"benchmarks.incremental.jobs:{case.kind}"
    for threads in sorted({1, cores}):
        label = f"hingeline, {threads} thread{'s' if threads > 1 else ''}"
        yield Contestant(label, job, {**case.options, "threads": threads, "tol": None}, threads)
    peer = "OneClassSVM" if case.kind == "Stream" else "SVC"
    for tol in settings.TOLERANCES:
        yield Contestant(f"{peer}, tol = {tol:g}", job, {**case.options, "threads": 1, "tol": tol}, 1, peer=True)


if __name__ == "__main__":
    sys.exit(main(Program("incremental", "Exact incremental learning against fitting again", settings, contestants)))
