"""Command line of the comparison."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks import writing

from . import report
from .cases import Run
from .harness import run_case
from .peers import PEERS
from .settings import CASES, FULL, QUICK, QUICK_REPEATS, SETS, Case
from .worker import Child


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description="hingeline against its peers")
    names = ", ".join(case.name for case in CASES)
    parser.add_argument("--case", nargs="+", metavar="NAME", help=f"names, patterns (train-*) or kinds: {names}")
    parser.add_argument("--peer", nargs="+", choices=list(PEERS), help="besides hingeline, which always runs")
    parser.add_argument("--repeats", type=int, help=f"default 5 ({QUICK_REPEATS} with --quick)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="tiny data: shows that it runs, measures nothing")
    parser.add_argument("--output", type=Path, default=Path("results"), help="default: results")
    args = parser.parse_args()
    args.cases = chosen(args.case)
    if not args.cases:
        parser.error(f"no such case; there are: {names}")
    if args.threads < 1 or (args.repeats is not None and args.repeats < 1):
        parser.error("--threads and --repeats must be at least 1")
    return args


def chosen(patterns: list[str] | None) -> list[Case]:
    if patterns is None:
        return list(CASES)
    return [case for case in CASES if any(case.kind == p or fnmatch(case.name, p) for p in patterns)]


def describe_machine(threads: int) -> dict[str, Any]:
    with Child("jobs:Machine", {}, threads) as child:
        child.prepare()
        return child.measure()


def main() -> int:
    args = parse()
    repeats = args.repeats or (QUICK_REPEATS if args.quick else 5)
    run = Run(
        peers=tuple(name for name in PEERS if name == "hingeline" or args.peer is None or name in args.peer),
        threads=args.threads,
        sizes=QUICK if args.quick else FULL,
        cache=args.output / ".cache",
    )
    result: dict[str, Any] = {
        "machine": describe_machine(args.threads),
        "threads": args.threads,
        "quick": args.quick,
        "sets": {name: asdict(data) for name, data in SETS.items()},
        "cases": [],
    }
    name = f"against-{'quick-' if args.quick else ''}{writing.stamp()}"
    for case in args.cases:
        found = run_case(case, run, repeats)
        result["cases"].append(found)
        print(report.case_section(found), end="\n\n", flush=True)
        # After every case, so that an interrupted run leaves what it has.
        writing.write(args.output, name, result, report.markdown(result))
    print(f"Written: {args.output / name}.md and .json")
    return int(any(case["failed"] for case in result["cases"]))


if __name__ == "__main__":
    sys.exit(main())
