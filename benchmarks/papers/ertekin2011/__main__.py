"""Command line: makes the runs that are missing, then tables, figures and the report."""

from __future__ import annotations

from benchmarks.environment import fix_threads, threads_in_argv

if __name__ == "__main__":
    fix_threads(threads_in_argv())

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.papers.store import Store
from hingeline import datasets

from .report import write_report
from .runs import run
from .settings import FULL_MINUTES, METHODS, RUNS, SETS, Job, S, jobs
from .summary import Summary
from .usps_readings import readings

STORE = Path("out/paper-ertekin2011")
RESULTS = Path("benchmarks/results/ertekin2011")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.ertekin2011", description="Tables and figures of Ertekin, Bottou, Giles 2011."
    )
    parser.add_argument("--sets", type=_names(SETS), metavar="A,B", help=f"default all: {','.join(SETS)}")
    parser.add_argument("--methods", type=_names(METHODS), metavar="A,B", help=f"default all: {','.join(METHODS)}")
    parser.add_argument("--runs", type=int, help=f"default {RUNS}; fewer where they are slow, see the report")
    parser.add_argument("--minutes", type=float, default=FULL_MINUTES, help="for FULL SVM on a large set; default 20")
    parser.add_argument("--quick", action="store_true", help=f"1 run, small sets, report in {STORE / 'quick'}")
    parser.add_argument("--only-report", action="store_true", help="from the results that are there")
    parser.add_argument("--fresh", action="store_true", help="make the chosen runs again")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--store", type=Path, default=STORE, help=f"one file per run; default {STORE}")
    parser.add_argument("--output", type=Path, help=f"default {RESULTS}")
    args = parser.parse_args()
    small = [name for name, data in SETS.items() if not data.large]
    args.sets = args.sets or (small if args.quick else list(SETS))
    args.methods = args.methods or list(METHODS)
    args.runs = args.runs or (1 if args.quick else RUNS)
    args.output = args.output or (args.store / "quick" if args.quick else RESULTS)
    if args.threads < 1 or args.runs < 1 or not args.minutes > 0:
        parser.error("--threads and --runs must be at least 1, --minutes above 0")
    return args


def _names(known: dict[str, Any]) -> Any:
    def names(text: str) -> list[str]:
        found = [name.strip() for name in text.split(",") if name.strip()]
        wrong = [name for name in found if name not in known]
        if wrong or not found:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(wrong)}; there are {', '.join(known)}")
        return found

    return names


def describe(job: Job, result: dict[str, Any]) -> str:
    s = f", s = {job.s:g}" if job.method.has_ramp else ""
    early = "" if result["complete"] else f", ended after {result['n_seen']} examples"
    return (
        f"{job.set.title}, {job.method.title}{s}, seed {job.seed}: {100 * result['accuracy']:.2f} %, "
        f"{result['n_support']} support vectors, {result['seconds']:.3g} s{early}"
    )


def make(todo: list[Job], store: Store, args: argparse.Namespace) -> None:
    """Make runs; a set whose file is absent is left out."""
    console, absent = Console(), set()
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("runs", total=len(todo))
        for place, job in enumerate(todo, 1):
            if job.set.source in absent:
                continue
            bar.update(task, description=f"{job.set.title}, {job.method.title}")
            try:
                result = run(job, args.threads, args.minutes)
            except FileNotFoundError as error:
                absent.add(job.set.source)
                console.print(f"{job.set.title} is left out: {error}", markup=False, highlight=False, soft_wrap=True)
                continue
            store.put(job, result)
            bar.advance(task)
            line = f"[{place}/{len(todo)}] {describe(job, result)}"
            if not console.is_terminal:
                print(line, flush=True)
            elif job.s == S:
                bar.console.print(line, markup=False, highlight=False)


def main() -> int:
    args = parse()
    if not datasets.available() and not args.only_report:
        folder = os.environ.get("HINGELINE_DATA") or "../shared/data"
        print(
            f"Nothing to do: the folder {folder} has no data sets. This reproduction needs adult, mnist, banana, "
            "reuters and usps as .npz files; set the environment variable HINGELINE_DATA to the folder that holds them."
        )
        return 0
    store = Store(args.store)
    start = time.perf_counter()
    if not args.only_report:
        wanted = jobs(args.sets, args.methods, args.runs)
        todo = wanted if args.fresh else [job for job in wanted if store.get(job, args.minutes) is None]
        print(f"{len(wanted)} runs, {len(wanted) - len(todo)} of them done before.", flush=True)
        try:
            make(todo, store, args)
        except KeyboardInterrupt:
            print("\nInterrupted. What is done is kept: the same command goes on from here.")
            return 130
    has_usps = "usps" in datasets.available()
    found = readings(args.store, only_stored=args.only_report or not has_usps or "usps" not in args.sets)
    path = write_report(Summary(store, args.runs), found, args.output)
    print(f"Written: {path} with its tables and figures ({time.perf_counter() - start:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
