"""Command line: measures the cases that are missing, in turns, and writes the page."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import date
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks.against.cases import Run
from benchmarks.against.harness import run_case
from benchmarks.against.report import case_section
from benchmarks.against.settings import FULL, QUICK, QUICK_REPEATS
from benchmarks.papers.files import write_whole
from benchmarks.papers.store import Store

from .contestants import register
from .page import describe_machine, page
from .settings import PARTS, REPEATS, Case, cases

STORE = Path("out/linear")
RESULTS = Path("benchmarks/results")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=__doc__)
    parser.add_argument(
        "case", nargs="*", metavar="NAME", help=f"names, patterns ('path-*') or parts: {', '.join(PARTS)}; default all"
    )
    parser.add_argument("--repeats", type=int, help=f"default {REPEATS} ({QUICK_REPEATS} with --quick)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--all-cores", action="store_true", help="as many threads as there are cores")
    parser.add_argument("--quick", action="store_true", help=f"tiny data, measures nothing; page in {STORE / 'quick'}")
    parser.add_argument("--list", action="store_true", help="names and titles")
    parser.add_argument("--only-report", action="store_true", help="from the results that are there")
    parser.add_argument("--fresh", action="store_true", help="measure the chosen cases again")
    parser.add_argument("--output", type=Path, help=f"default {RESULTS}")
    args = parser.parse_args()
    if args.all_cores:
        args.threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    args.output = args.output or (STORE / "quick" if args.quick else RESULTS)
    return args


def chosen(everything: list[Case], patterns: list[str]) -> list[Case]:
    return [c for c in everything if not patterns or any(c.kind == p or fnmatch(c.name, p) for p in patterns)]


def main() -> int:
    args = parse()
    everything = cases(args.quick)
    some = chosen(everything, args.case)
    if args.list or not some:
        print("\n".join(f"{case.name}: {case.title}" for case in everything))
        return 0 if args.list else 2
    register()
    folder = STORE / "quick" if args.quick else STORE
    store = Store(folder / f"{args.threads}-threads")
    run = Run((), args.threads, QUICK if args.quick else FULL, folder / "cache")
    repeats = args.repeats or (QUICK_REPEATS if args.quick else REPEATS)
    failed = False
    for case in [] if args.only_report else some:
        kept = store.get(case)
        # What was skipped may be there by now.
        if kept is not None and not kept["notes"] and not args.fresh:
            continue
        found: dict[str, Any] = run_case(case, run, repeats)
        failed |= found["failed"]
        store.put(case, {key: found[key] for key in ("repeats", "rows", "notes")})
        print(case_section(found), end="\n\n", flush=True)
    results = [(case, result) for case in everything if (result := store.get(case)) is not None]
    name = f"linear-{date.today().isoformat()}" + (f"-{args.threads}-threads" if args.threads > 1 else "")
    text = page(results, describe_machine(args.threads), args.threads, args.quick, args.output / f"{name}.png")
    write_whole(args.output / f"{name}.md", text)
    print(f"Written: {args.output / name}.md")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
