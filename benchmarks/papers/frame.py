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
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.core_access import build
from benchmarks.environment import PACKAGES, command_line, fix_threads, machine, resumable
from benchmarks.store import Store, chosen
from benchmarks.writing import fill, machine_lines, table, write_whole

#: Folders of the papers, and what --help says of them.
PAPERS = {
    "ertekin2011": "Tables and figures of Ertekin, Bottou, Giles 2011 (LASVC)",
    "laskov2006": "Figures of Laskov, Gehl, Krüger, Müller 2006 (IncrementalSVC)",
    "keerthi2005": "Tables and Figure 1 of Keerthi, DeCoste 2005 (FiniteNewtonSVC)",
    "kecman2016": "Tables and figures of Kecman, Melki 2016 (KernelSGDClassifier)",
    "melki2018": "Tables and figures of Melki 2018 (WorstViolatorSVC), under nested cross-validation",
}
#: Ratios of times up to this are a tie.
TIE = 1.1


@dataclass(frozen=True)
class Job:
    """One run, stored as one file.

    `kind` names a function of runs.py and `at` holds its arguments; together they make the path of the file. `how` are
    further arguments, `more` other settings that the result depends on. `package`: the one whose version matters.
    `large`: takes hours; made only with --large.
    """

    kind: str
    at: dict[str, Any] = field(hash=False)
    package: str = "hingeline"
    how: dict[str, Any] = field(hash=False, default_factory=dict)
    more: dict[str, Any] = field(hash=False, default_factory=dict)
    large: bool = False

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
        found: dict[str, set[str]] = {}
        for job, result in self.results:
            if "build" in result:
                found.setdefault(result["build"], set()).add(job.kind)
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
    """The machine, the versions, and warnings that concern the times."""
    several = ""
    if len(summary.builds) > 1:
        kinds = "; ".join(f"{build}: {', '.join(sorted(kinds))}" for build, kinds in summary.builds.items())
        several = f"\n- **Several builds of the core made the runs.** Kinds of runs by build: {kinds}"
    packages = dict.fromkeys(job.package for job, _ in summary.results if job.package not in PACKAGES)
    clock = (
        "\n- Seconds are CPU seconds. Other programs that share the machine slow a run only through caches and memory"
    )
    return machine_lines(machine(*packages), summary.threads) + clock + several


def write_report(key: str, summary: Summary, folder: Path, note: str) -> Path:
    """Figures and the page."""
    from benchmarks.plots import save

    names = ("settings", "tables", "claims", "figures")
    modules = {name: _module(key, name) for name in names} | {"frame": sys.modules[__name__]}
    save(modules["figures"].draw(summary, folder), folder)
    for template in sorted(Path(__file__).with_name(key).glob("*.md")):
        text = fill(template.read_text(encoding="utf-8"), modules, summary)
        if note:
            text = text.replace("\n\n## ", f"\n\n**{note}**\n\n## ", 1)
        write_whole(folder / ("report.md" if template.stem == "template" else template.name), text)
    return folder / "report.md"


# ---- command line -------------------------------------------------------------------------------------


def make(jobs: list[Job], runs: ModuleType, store: Store, args: argparse.Namespace) -> None:
    """Make the chosen runs that are missing; leave out those whose data or package is absent."""
    wanted = [job for job in chosen(jobs, args.jobs) if args.large or not job.large]
    todo = wanted if args.fresh else [job for job in wanted if store.get(job) is None]
    print(f"{len(wanted)} runs, {len(wanted) - len(todo)} of them done before.", flush=True)
    if todo:
        runs.warm_up()
    for place, job in enumerate(todo, 1):
        start = time.perf_counter()
        try:
            version(job.package)
            result = getattr(runs, job.kind)(**job.at, **job.how, n_jobs=args.threads)
        except PackageNotFoundError:
            print(f"{job.path} is left out: {job.package} is not installed", flush=True)
            continue
        except FileNotFoundError as error:
            print(f"{job.path} is left out: {error}", flush=True)
            continue
        about = {"threads": args.threads} | ({"build": build()} if job.package == "hingeline" else {})
        store.put(job, {**about, **result})
        print(f"[{place}/{len(todo)}] {job.path}: {time.perf_counter() - start:.1f} s", flush=True)


def main() -> int:
    parser = command_line("papers", "Make the runs of a paper that are missing, then its figures and the report.")
    parser.add_argument("paper", choices=PAPERS, help="; ".join(f"{key}: {title}" for key, title in PAPERS.items()))
    parser.add_argument("--large", action="store_true", help="also the jobs that take hours")
    parser.add_argument("--note", default="", help="remark for the report, such as what else the machine did")
    parser.add_argument("--store", type=Path, help="one file per run; default out/paper-PAPER")
    args = resumable(parser)
    folder = args.store or Path(f"out/paper-{args.paper}")
    output = args.output or (folder / "quick" if args.quick else Path(f"benchmarks/results/{args.paper}"))
    fix_threads(args.threads)  # before the modules of the paper load numpy
    jobs = _module(args.paper, "settings").jobs(args.quick)
    store, summarise = Store(folder), _module(args.paper, "summary").Summary
    if args.list:
        print("\n".join(job.path for job in jobs))
        return 0
    if not args.only_report:
        try:
            runs = _module(args.paper, "runs")
            make(jobs, runs, store, args)
            later = summarise(store, jobs, args.quick).later()
            if later:
                make(later, runs, store, args)
        except KeyboardInterrupt:
            print("\nInterrupted. What is done is kept: the same command goes on from here.")
            return 130
    path = write_report(args.paper, summarise(store, jobs, args.quick), output, args.note)
    print(f"Written: {path} with its figures")
    return 0


def _module(key: str, name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.papers.{key}.{name}")
