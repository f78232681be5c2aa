"""Frame of the papers' programs: jobs and their store, command line, report from a template.

``python -m benchmarks.papers KEY`` (or ``make paper-KEY``) runs the folder KEY of this package. Such a folder has only
what is specific to its paper:

- settings.py: every number of the reproduction, and ``jobs(quick)``, the list of runs;
- data.py: rows and labels; runs.py: ``warm_up()``, and one function for each kind of job, named after it;
- summary.py: ``Summary``, what the stored results say; ``later()`` lists jobs whose settings depend on other results;
- published.toml: the paper's own numbers;
- tables.py and claims.py: functions that return text; figures.py: ``draw(summary, folder)`` yields names and figures;
- template.md: the report, with places for constants and for the text that functions return for the summary (see
  ``benchmarks.writing.fill``); other .md files are templates of further pages, written under their own names.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import signal
import sys
import time
import tomllib
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.core_access import build
from benchmarks.environment import PACKAGES, command_line, fix_threads, machine, resumable
from benchmarks.store import Store, chosen
from benchmarks.writing import about_machine, fill, table, write_whole

#: Folders of the papers, and what --help says of them.
PAPERS = {
    "ertekin2011": "Tables and figures of Ertekin, Bottou, Giles 2011 (LASVC)",
    "laskov2006": "Figures of Laskov, Gehl, Krüger, Müller 2006 (IncrementalSVC)",
    "keerthi2005": "Tables and Figure 1 of Keerthi, DeCoste 2005 (LinearSVC)",
    "kecman2016": "Tables and figures of Kecman, Melki 2016 (KernelSGDClassifier)",
    "melki2018": "Tables and figures of Melki 2018 (WorstViolatorSVC), under nested cross-validation",
}
#: The store in the folder of a study. Beside the report: results of long runs, from which a study goes on with --kept.
RUNS = "runs.jsonl"
#: Ratios of times up to this are a tie.
TIE = 1.1


@dataclass(frozen=True)
class Job:
    """One run, stored as one line.

    `kind` names a function of runs.py and `at` holds its arguments; together they make its name. `how` are
    further arguments, `more` other settings that the result depends on. `package`: the one whose version matters.
    `large`: takes hours; made only with --large. `expected`: rough seconds; of several processes' runs the longest
    start first. `kept`: the result is also written beside the report, to the file RUNS.
    """

    kind: str
    at: dict[str, Any] = field(hash=False)
    package: str = "hingeline"
    how: dict[str, Any] = field(hash=False, default_factory=dict)
    more: dict[str, Any] = field(hash=False, default_factory=dict)
    large: bool = False
    expected: float = 0.0
    kept: bool = False

    @property
    def path(self) -> str:
        names = "_".join(f"{v:g}" if isinstance(v, float) else str(v) for v in self.at.values())
        return f"{self.kind}/{names}" if names else self.kind

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.at, **self.how, **self.more}


class Summary:
    """Results in the store that belong to the current settings; each paper derives its own."""

    def __init__(self, store: Store, jobs: list[Job], quick: bool) -> None:
        self.quick = quick
        self.results = self._stored(store, jobs)
        self.results += self._stored(store, self.later())

    @staticmethod
    def _stored(store: Store, jobs: list[Job]) -> list[tuple[Job, dict[str, Any]]]:
        return [(job, found) for job in jobs if (found := store.get(job)) is not None]

    def later(self) -> list[Job]:
        """Jobs whose settings depend on the results of others."""
        return []

    def of(self, kind: str, **at: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Arguments and result of every run of a kind with these arguments."""
        return [(j.at, r) for j, r in self.results if j.kind == kind and all(j.at[k] == v for k, v in at.items())]

    def one(self, kind: str, **at: Any) -> dict[str, Any] | None:
        return next((result for _, result in self.of(kind, **at)), None)

    def names(self, kind: str, everything: Iterable[str]) -> list[str]:
        """Data sets that have results of a kind, in the order of `everything`."""
        found = {at["name"] for at, _ in self.of(kind)}
        return [name for name in everything if name in found]

    @property
    def threads(self) -> int:
        return max((result["threads"] for _, result in self.results), default=1)

    @property
    def builds(self) -> dict[str, set[str]]:
        """Builds of the core that made the results, each with the kinds of runs it made."""
        return self._kinds_by(lambda result: [result["build"]] if "build" in result else [])

    @property
    def machines(self) -> dict[str, set[str]]:
        """Lines about the machines that made the results, each with the kinds of runs made there."""
        return self._kinds_by(lambda result: result.get("machine", ["- Processor: not recorded"]))

    def _kinds_by(self, keys: Callable[[dict[str, Any]], list[str]]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for job, result in self.results:
            for key in keys(result):
                found.setdefault(key, set()).add(job.kind)
        return found


# ---- the clock of all runs ------------------------------------------------------------------------------


def cpu_timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` returns, and the CPU seconds of this process."""
    start = time.process_time()
    done = work()
    return done, time.process_time() - start


# ---- pieces that tables and claims share --------------------------------------------------------------


def published(folder: str) -> dict[str, Any]:
    """Numbers of published.toml next to the file `folder` (a __file__)."""
    return tomllib.loads(Path(folder).with_name("published.toml").read_text(encoding="utf-8"))


def exponent(points: list[tuple[int, float]]) -> float:
    """Exponent p of y ~ n^p, by least squares."""
    import numpy as np

    n, y = np.log(np.array(points)).T
    return float(np.polyfit(n, y, 1)[0])


def yes(holds: bool) -> str:
    return "yes" if holds else "no"


def faster(*ratios: float) -> str:
    """Whether all ratios, as printed with two decimals, are above 1: yes, no, or tie within a factor TIE of 1."""
    smallest = round(min(ratios), 2)
    return "yes" if smallest > TIE else "tie" if smallest > 1 / TIE else "no"


Claim = tuple[str, ...]


def claims_table(summary: Any, *parts: Callable[[Any], Iterator[Claim]], known: bool = True) -> str:
    """What the paper says, what it published (if `known`), whether it holds here, and our numbers."""
    header = ["claim", *(["published"] if known else []), "holds here", "ours"]
    return table(header, [claim for part in parts for claim in part(summary)])


# ---- report -------------------------------------------------------------------------------------------


def what(summary: Summary) -> str:
    """The machines that made the runs, the versions there, and warnings that concern the times."""
    lines = [*summary.machines, f"- Threads: {summary.threads}, unless a row says otherwise"]
    lines.append(
        "- Seconds are CPU seconds. Other programs that share the machine slow a run only through caches and memory"
    )
    beside = max((result.get("processes", 1) for _, result in summary.results), default=1)
    if beside > 1:
        lines.append(f"- Up to {beside} runs side by side, each in a process of its own")
    processors = {line: kinds for line, kinds in summary.machines.items() if line.startswith("- Processor")}
    for title, made in (("machines", processors), ("builds of the core", summary.builds)):
        if len(made) > 1:
            kinds = "; ".join(f"{one.removeprefix('- ')}: {', '.join(sorted(kinds))}" for one, kinds in made.items())
            lines.append(f"- **Several {title} made the runs.** Kinds of runs by each: {kinds}")
    return "\n".join(lines)


def write_report(key: str, summary: Summary, folder: Path, note: str) -> Path:
    """Figures and the page."""
    from benchmarks.plots import save

    names = ("settings", "tables", "claims", "figures")
    modules = {name: _module(key, name) for name in names} | {"frame": sys.modules[__name__]}
    save(modules["figures"].draw(summary, folder), folder)
    kept = [(job, result) for job, result in summary.results if job.kept]
    if kept:
        Store(folder / RUNS).replace(kept)
    for template in sorted(Path(__file__).with_name(key).glob("*.md")):
        text = fill(template.read_text(encoding="utf-8"), modules, summary)
        if note:
            text = text.replace("\n\n## ", f"\n\n**{note}**\n\n## ", 1)
        write_whole(folder / ("report.md" if template.stem == "template" else template.name), text)
    return folder / "report.md"


# ---- command line -------------------------------------------------------------------------------------


def make(key: str, jobs: list[Job], store: Store, args: argparse.Namespace) -> list[Job]:
    """Make the chosen runs that are missing; return those that failed. Left out: data or package is absent."""
    wanted = [job for job in chosen(jobs, args.jobs) if args.large or not job.large]
    todo = wanted if args.fresh else [job for job in wanted if store.get(job) is None]
    print(f"{len(wanted)} runs, {len(wanted) - len(todo)} of them done before.", flush=True)
    if args.processes > 1:
        todo.sort(key=lambda job: -(store.get(job) or {}).get("wall", job.expected))
    outcomes = (_one_by_one if args.processes == 1 else _spread)(key, todo, args)
    failed = []
    packages = [package for package in dict.fromkeys(job.package for job in jobs) if package not in PACKAGES]
    about = {"threads": args.threads, "processes": args.processes, "machine": about_machine(machine(*packages))}
    for place, (job, outcome) in enumerate(outcomes, 1):
        if isinstance(outcome, str):
            print(f"[{place}/{len(todo)}] {job.path} {outcome}", flush=True)
            failed += [job] if outcome.startswith(FAILED) else []
        else:
            store.put(job, {**about, **({"build": build()} if job.package == "hingeline" else {}), **outcome})
            print(f"[{place}/{len(todo)}] {job.path}: {outcome['wall']:.1f} s", flush=True)
    return failed


FAILED = "failed: "
#: Result of a run, or why there is none.
Outcome = dict[str, Any] | str


def _attempt(runs: ModuleType, job: Job, threads: int) -> Outcome:
    start = time.perf_counter()
    try:
        version(job.package)
        result = getattr(runs, job.kind)(**job.at, **job.how, n_jobs=threads)
    except PackageNotFoundError:
        return f"is left out: {job.package} is not installed"
    except FileNotFoundError as error:
        return f"is left out: {error}"
    except Exception:
        return FAILED + traceback.format_exc()
    return {**result, "wall": time.perf_counter() - start}


def _one_by_one(key: str, todo: list[Job], args: argparse.Namespace) -> Iterator[tuple[Job, Outcome]]:
    if todo:
        runs = _module(key, "runs")
        runs.warm_up()
        yield from ((job, _attempt(runs, job, args.threads)) for job in todo)


def _spread(key: str, todo: list[Job], args: argparse.Namespace) -> Iterator[tuple[Job, Outcome]]:
    """Runs in several processes. A process that dies takes its run with it; another one takes its place."""
    context = multiprocessing.get_context("spawn")
    waiting = deque(todo)
    idle: list[Any] = []
    busy: dict[Any, Job] = {}
    workers = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < args.processes:
                if not idle:
                    ours, its = context.Pipe()
                    workers[ours] = context.Process(target=_work, args=(its, key, args.threads), daemon=True)
                    workers[ours].start()
                    its.close()
                    idle.append(ours)
                worker = idle.pop()
                busy[worker] = waiting.popleft()
                worker.send(busy[worker])
            for worker in wait(list(busy)):
                job = busy.pop(worker)
                try:
                    outcome = worker.recv()
                    idle.append(worker)
                except (EOFError, OSError):
                    workers[worker].join()
                    outcome = f"{FAILED}its process ended with exit code {workers[worker].exitcode}"
                yield job, outcome
    finally:
        for process in workers.values():
            process.terminate()


def _work(connection: Connection, key: str, threads: int) -> None:
    """Make one run after the other until the parent process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    runs = _module(key, "runs")
    runs.warm_up()
    with suppress(EOFError, BrokenPipeError):
        while True:
            connection.send(_attempt(runs, connection.recv(), threads))


def main() -> int:
    parser = command_line("papers", "Make the runs of a paper that are missing, then its figures and the report.")
    parser.add_argument("paper", choices=PAPERS, help="; ".join(f"{key}: {title}" for key, title in PAPERS.items()))
    parser.add_argument("--large", action="store_true", help="also the jobs that take hours")
    parser.add_argument("--note", default="", help="remark for the report, such as what else the machine did")
    parser.add_argument("--processes", type=int, default=1, help="runs side by side, each with --threads threads")
    parser.add_argument("--kept", action="store_true", help=f"make only runs that {RUNS} beside the report lacks")
    parser.add_argument("--store", type=Path, help="folder of the results; default out/paper-PAPER")
    args = resumable(parser)
    if args.processes < 1:
        parser.error("--processes must be at least 1")
    folder = args.store or Path(f"out/paper-{args.paper}")
    output = args.output or (folder / "quick" if args.quick else Path(f"benchmarks/results/{args.paper}"))
    fix_threads(args.threads)  # before the modules of the paper load numpy
    jobs = _module(args.paper, "settings").jobs(args.quick)
    store = Store(folder / RUNS, Store(output / RUNS) if args.kept else None)
    summarise = _module(args.paper, "summary").Summary
    if args.list:
        print("\n".join(job.path for job in jobs))
        return 0
    failed = []
    if not args.only_report:
        try:
            failed = make(args.paper, jobs, store, args)
            later = summarise(store, jobs, args.quick).later()
            if later:
                failed += make(args.paper, later, store, args)
        except KeyboardInterrupt:
            print("\nInterrupted. What is done is kept: the same command goes on from here.")
            return 130
    path = write_report(args.paper, summarise(store, jobs, args.quick), output, args.note)
    print(f"Written: {path} with its figures")
    if failed:
        print(f"Failed: {', '.join(job.path for job in failed)}")
    return 1 if failed else 0


def _module(key: str, name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.papers.{key}.{name}")
