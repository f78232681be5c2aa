"""Command line: makes the runs that are missing, then figures and the report."""

from __future__ import annotations

from benchmarks.environment import fix_threads, threads_in_argv

if __name__ == "__main__":
    fix_threads(threads_in_argv())

import argparse
import sys
import time
from pathlib import Path

from benchmarks.papers.store import Store

from .report import write_report
from .settings import KINDS, QUICK_SETS, SETS, Job, jobs
from .summary import Summary

STORE = Path("out/paper-kecman2016")
RESULTS = Path("benchmarks/results/kecman2016")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.kecman2016", description="Tables and figures of Kecman, Melki 2016."
    )
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), help="kinds of runs; default all")
    parser.add_argument("--sets", nargs="+", choices=SETS, help="default all")
    parser.add_argument("--quick", action="store_true", help=f"a few small runs, report in {STORE / 'quick'}")
    parser.add_argument("--only-report", action="store_true", help="from the results that are there")
    parser.add_argument("--fresh", action="store_true", help="make the chosen runs again")
    parser.add_argument("--load", default="", help="what else the machine did, in words for the report")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--store", type=Path, default=STORE, help=f"one file per run; default {STORE}")
    parser.add_argument("--output", type=Path, help=f"default {RESULTS}")
    args = parser.parse_args()
    args.everything = list(QUICK_SETS) if args.quick else list(SETS)
    args.sets = args.sets or args.everything
    args.output = args.output or (args.store / "quick" if args.quick else RESULTS)
    if args.threads < 1:
        parser.error("--threads must be at least 1")
    return args


def make(args: argparse.Namespace, store: Store, wanted: list[Job]) -> None:
    """Make the runs that are missing; a data set whose file is absent is left out."""
    from .runs import run

    todo = wanted if args.fresh else [job for job in wanted if store.get(job) is None]
    print(f"{len(wanted)} runs, {len(wanted) - len(todo)} of them done before.", flush=True)
    for place, job in enumerate(todo, 1):
        start = time.perf_counter()
        try:
            store.put(job, run(job, args.threads))
        except FileNotFoundError as error:
            print(f"{job.path} is left out: {error}", flush=True)
            continue
        print(f"[{place}/{len(todo)}] {job.path}: {time.perf_counter() - start:.1f} s", flush=True)


def summary(args: argparse.Namespace, store: Store) -> Summary:
    return Summary(store, jobs(list(KINDS), args.everything, args.quick), args.quick)


def main() -> int:
    args = parse()
    store = Store(args.store)
    if not args.only_report:
        try:
            make(args, store, jobs(args.only, args.sets, args.quick))
            if "large" in args.only:  # widths come from the cross-validation
                later = [job for job in summary(args, store).measurements() if job.at["name"] in args.sets]
                make(args, store, later)
        except KeyboardInterrupt:
            print("\nInterrupted. What is done is kept: the same command goes on from here.")
            return 130
    path = write_report(summary(args, store), args.output, args.load)
    print(f"Written: {path} with its figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
