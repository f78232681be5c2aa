"""Contestants in turns: each fit in a process of its own with one thread, results stored as they come."""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.environment import THREAD_VARIABLES, machine
from benchmarks.store import Store, chosen
from benchmarks.writing import write_whole

Results = list[tuple["Job", dict[str, Any]]]


@dataclass(frozen=True)
class Job:
    """Runs that are compared: the contestants of one case, in turns."""

    kind: str
    name: str
    contestants: tuple[str, ...]
    task: dict[str, Any] = field(hash=False)
    package: str = "hingeline"

    @property
    def path(self) -> str:
        return f"{self.kind}-{self.name}"

    def settings(self) -> dict[str, Any]:
        return {"contestants": list(self.contestants), **self.task}


def resident_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_child(program: str, who: str, task: dict[str, Any], core: int | None) -> dict[str, Any]:
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    command = [sys.executable, "-m", f"benchmarks.{program}", "--child", json.dumps([who, task, core])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def run(program: str, job: Job, repeats: int, core: int | None) -> dict[str, Any]:
    """Runs of each contestant, in turns, on one core if it is given."""
    results: dict[str, Any] = {who: [] for who in job.contestants}
    for repeat in range(repeats):
        for who in job.contestants:
            task = job.task | {"check": job.task.get("check", False) and repeat == 0}
            results[who].append(in_child(program, who, task, core))
    return results


def run_side_by_side(program: str, todo: list[Job], store: Store, repeats: int, at_once: int) -> None:
    """Run the jobs; `at_once` at a time, each on a core of its own."""
    told = {key: value for key, value in machine().items() if key in ("cpu", "cores", "versions")}
    cores: SimpleQueue[int] = SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:at_once]:
        cores.put(core)

    def one(job: Job) -> None:
        core = cores.get() if at_once > 1 else None
        try:
            print(job.path, flush=True)
            store.put(job, run(program, job, repeats, core) | {"machine": told | {"at_once": at_once}})
        finally:
            if core is not None:
                cores.put(core)

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(one, todo))


def median(runs: list[dict[str, Any]], what: str = "cpu") -> float:
    return statistics.median(r[what] for r in runs)


def best(runs: list[dict[str, Any]], what: str) -> float:
    return float(min(r[what] for r in runs))


def made_on(done: list[tuple[Job, dict[str, Any]]]) -> str:
    """Processor and versions behind the results."""
    lines = set()
    for _, results in done:
        told = results["machine"]
        versions = ", ".join(f"{name} {number}" for name, number in told["versions"].items() if number)
        many = f"; {told['at_once']} jobs side by side" if told["at_once"] > 1 else ""
        lines.add(f"{told['cpu']}, {told['cores']} cores{many}; {versions}.")
    return "\n".join(sorted(lines))


def folder(program: str) -> Path:
    """Folder of the stored results and the page."""
    return Path(__file__).parent / "results" / program


def write_page(
    title: str, program: str, sections: dict[str, tuple[str, Callable[[Results], str]]], store: Store, every: list[Job]
) -> str:
    """The page: a section for each kind of job."""
    parts = [f"# {title}", f"Written by `python -m benchmarks.{program}`."]
    for kind, (heading, section) in sections.items():
        done = [(job, found) for job in every if job.kind == kind and (found := store.get(job))]
        parts += [f"## {heading}", *([made_on(done), section(done)] if done else ["Not run."])]
    return "\n\n".join(parts) + "\n"


def main(
    program: str,
    summary: str,
    jobs: Iterable[Job],
    quick: Callable[[Job], Job],
    measure: Callable[..., dict[str, Any]],
    page: Callable[[Store, list[Job]], str],
) -> None:
    """The command line of a benchmark.

    Parameters
    ----------
    program : str
        Name of its module.
    summary : str
        First line of its help.
    jobs : iterable of Job
        All jobs.
    quick : callable
        A job on tiny data for a job.
    measure : callable
        Makes one fit of a contestant: name, task, core.
    page : callable
        The page for the stored results.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{program}", description=summary)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="parts or patterns ('growth-*'); default all")
    parser.add_argument("--list", action="store_true", help="list the jobs")
    parser.add_argument("--fresh", action="store_true", help="make the chosen jobs again")
    parser.add_argument("--only-report", action="store_true", help="write the page from the stored results")
    parser.add_argument("--quick", action="store_true", help="tiny data: shows that it runs, measures nothing")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=1, help="jobs side by side, each on its own core (default 1)")
    parser.add_argument("--output", type=Path, default=folder(program))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(*json.loads(given.child))))
        return
    store, every = Store(given.output / "runs.jsonl"), [quick(job) if given.quick else job for job in jobs]
    asked = chosen(every, given.jobs)
    if given.list:
        print("\n".join(job.path for job in asked))
        return
    todo = [] if given.only_report else [job for job in asked if given.fresh or store.get(job) is None]
    run_side_by_side(program, todo, store, given.repeats, given.at_once)
    if todo:
        store.compact()
    write_whole(given.output / "README.md", page(store, every))
