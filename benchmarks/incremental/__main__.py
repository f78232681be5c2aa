"""Command line: measures the cases that are missing, in turns, and writes the page."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from contextlib import ExitStack
from datetime import date
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks.against.report import case_section
from benchmarks.against.worker import Child, ChildError
from benchmarks.papers.files import write_whole
from benchmarks.papers.store import Store
from benchmarks.writing import machine_lines

from .settings import FORGOTTEN, SAMPLED, TEST_ROWS, Case, cases

STORE = Path("out/incremental")
RESULTS = Path("benchmarks/results")

_EXPLANATION = f"""Times are medians of the repeats in seconds, smallest and largest in brackets; contestants take
turns, each in a process of its own. A ratio is the time of the row over the time of the first row: above 1, the first
row is faster. *Differ by* is the largest difference from the first row: of decision values on {TEST_ROWS:,} test rows
(leave-one-out: of the rows left out; stream: of the next 20 rows), and of coefficients (summed over equal rows, which
may share them in any way). *KKT violation* is that of the whole problem, from kernel values computed anew in float64.
SVC and OneClassSVM are scikit-learn's, SVC with `cache_size=1000`; they have one thread and train with float32 kernel
values, so that their violation can stay above `tol`. Accuracies are of the test rows.

- Forget: every repeat forgets {FORGOTTEN} other rows; SVC is fitted on what is left.
- Learn: one by one there is an exact solution after every row; at once is what `fit` does. *Floor* is the bytes of
  kernel rows that ours reads to find how gradients change, over the bandwidth of reads from memory measured in the same
  process. Rows that stay in a cache can be read faster than that.
- Stream: OneClassSVM is fitted at {SAMPLED} steps spread over the stream, and its time is the mean of these. The KKT
  conditions are checked after every row in a run of its own that is not timed.
- Add: the median of 200 rows added one at a time, with which the model then is
  described, and which are forgotten one at a time; SVC: one fit with one row more."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.incremental", description=__doc__)
    parser.add_argument("--case", nargs="+", metavar="NAME", help="names or patterns ('forget-*'); default all")
    parser.add_argument("--quick", action="store_true", help=f"tiny data, measures nothing; page in {STORE / 'quick'}")
    parser.add_argument("--list", action="store_true", help="names, titles and about how long each takes")
    parser.add_argument("--only-report", action="store_true", help="from the results that are there")
    parser.add_argument("--fresh", action="store_true", help="measure the chosen cases again")
    parser.add_argument("--output", type=Path, help=f"default {RESULTS}")
    args = parser.parse_args()
    args.output = args.output or (STORE / "quick" if args.quick else RESULTS)
    return args


def contestants(case: Case) -> dict[str, tuple[dict[str, Any], int]]:
    """Label: arguments and threads."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    peer = "OneClassSVM" if case.kind == "Stream" else "SVC"
    found: dict[str, tuple[dict[str, Any], int]] = {"hingeline, 1 thread": ({"threads": 1, "tol": None}, 1)}
    if cores > 1:
        found[f"hingeline, {cores} threads"] = {"threads": cores, "tol": None}, cores
    return found | {f"{peer}, tol = {tol:g}": ({"threads": 1, "tol": tol}, 1) for tol in case.limits}


def measure(case: Case) -> dict[str, Any]:
    """Rows of a table, as plain data."""
    samples: dict[str, list[Any]] = {}
    with ExitStack() as stack:
        running = {}
        for label, (arguments, threads) in contestants(case).items():
            # The name of the module is seen from benchmarks.against.
            job = f".incremental.jobs:{case.kind}"
            child = stack.enter_context(Child(job, {**case.options, **arguments}, threads))
            child.prepare()
            running[label] = child
        for repeat in range(case.most):
            for label in list(running)[:: -1 if repeat % 2 else 1]:
                if label.startswith("hingeline") or repeat < case.theirs:
                    samples.setdefault(label, []).append(running[label].measure())
    first = next(iter(running))
    for label, taken in samples.items():
        for repeat, sample in enumerate(taken):
            _compare(sample.facts, samples[first][repeat].facts, label == first)
    for taken in samples.values():
        for sample in taken:
            sample.facts = {key: value for key, value in sample.facts.items() if key[0] != "="}
    return {"rows": [_row(label, samples[label], samples[first]) for label in running]}


def _compare(facts: dict[str, Any], first: dict[str, Any], same: bool) -> None:
    for key in [key for key in facts if key[0] == "=" and key in first and not same]:
        facts[f"{key[1:]} differ by"] = max(abs(a - b) for a, b in zip(facts[key], first[key], strict=True))


def _row(label: str, taken: list[Any], first: list[Any]) -> dict[str, Any]:
    times = {}
    for name in taken[0].seconds:
        seconds, ours = ([s for sample in part for s in sample.seconds[name]] for part in (taken, first))
        median = statistics.median(seconds)
        ratio = median / statistics.median(ours)
        times[name] = {"median": median, "min": min(seconds), "max": max(seconds), "ratio": ratio, "all": seconds}
    facts = dict(taken[0].facts)
    for key, value in facts.items():
        if isinstance(value, float) and not key.startswith("accuracy"):
            worst = key.endswith("differ by") or key.startswith("KKT")
            facts[key] = (max if worst else statistics.median)(sample.facts[key] for sample in taken)
    return {"label": label, "times": times, "facts": facts}


def page(found: list[tuple[Case, dict[str, Any]]], quick: bool) -> str:
    with Child("jobs:Machine", {}, 1) as child:
        child.prepare()
        machine = child.measure()
    parts = ["# Exact incremental learning against fitting again", machine_lines(machine, 1), _EXPLANATION]
    if quick:
        parts.append("**Quick run on tiny data: it shows that everything works, its times mean nothing.**")
    for case, result in found:
        shown = {"name": case.name, "kind": case.kind, "title": case.title, "goal": case.goal, "notes": []}
        parts.append(case_section({**shown, "repeats": f"{case.most}, of scikit-learn {case.theirs}", **result}))
    return "\n\n".join(parts) + "\n"


def main() -> int:
    args = parse()
    everything = cases(args.quick)
    chosen = [case for case in everything if args.case is None or any(fnmatch(case.name, p) for p in args.case)]
    if args.list or not chosen:
        print("\n".join(f"{case.name}: {case.title} ({case.minutes:g} min)" for case in everything))
        return 0 if args.list else 2
    store = Store(STORE / "quick" if args.quick else STORE)
    for case in [] if args.only_report else chosen:
        if not args.fresh and store.get(case) is not None:
            continue
        print(f"{case.name}: {case.title}", flush=True)
        start = time.perf_counter()
        try:
            store.put(case, measure(case))
        except ChildError as error:
            print(f"{case.name}: {'skipped' if error.unavailable else 'FAILED'}: {error}", flush=True)
            continue
        except KeyboardInterrupt:
            print("\nInterrupted. What is done is kept: the same command goes on from here.")
            return 130
        print(f"{case.name}: {time.perf_counter() - start:.0f} s", flush=True)
    found = [(case, result) for case in everything if (result := store.get(case)) is not None]
    path = args.output / f"incremental-{date.today().isoformat()}.md"
    write_whole(path, page(found, args.quick))
    print(f"Written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
