"""One harness for all comparisons: a process for each contestant, repeats in turns, medians, results kept, a page.

A program (benchmarks.against, .linear, .incremental) lists cases, and for each case its contestants. A contestant is a
job in a process of its own: a class whose constructor prepares (untimed) and whose ``measure()`` returns a Sample, or
several by name. Modules of jobs are imported in the child only, whose number of threads is fixed before it loads numpy.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.environment import THREAD_VARIABLES, command_line, resumable
from benchmarks.store import Store, chosen
from benchmarks.writing import fill, machine_lines, number, table, write_whole

#: Ratios of times below this are called a tie: runs of one program on one machine differ by about 15 %.
TIE = 1.3
RESULTS = Path("benchmarks/results")
QUICK_NOTE = "**Quick run on tiny data: it shows that everything works, its times mean nothing.**"


# ---- what a job returns -------------------------------------------------------------------------------


class Unavailable(Exception):
    """Something that the comparison can do without is missing: a data set or a peer."""


@dataclass
class Sample:
    """Measurements of one row: seconds by name, and facts.

    A fact named "=..." is a list of numbers; the table shows how far it is from that of the first contestant.
    """

    seconds: dict[str, list[float]]
    facts: dict[str, Any] = field(default_factory=dict)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


class Busy:
    """Context manager: `threads` is the processor time spent inside over the wall time, that is, the threads at work.

    It shows that a program keeps to the number of threads it was given.
    """

    def __enter__(self) -> Busy:
        self._start = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        cpu, wall = self._start
        self.threads = round((time.process_time() - cpu) / (time.perf_counter() - wall), 2)


def take_turns(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each call, in turns, so that a disturbance of the machine affects all of them; results are dropped."""
    seconds: dict[str, list[float]] = {label: [] for label in calls}
    for _ in range(rounds):
        for label, call in calls.items():
            seconds[label].append(timed(call)[0])
    return seconds


# ---- processes ----------------------------------------------------------------------------------------


class Child:
    """A process that prepares a job ("module:Class") and measures it on request.

    The environment is set before the interpreter of the child starts, hence before numpy.
    """

    def __init__(self, job: str, arguments: dict[str, Any], threads: int) -> None:
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        before = dict(os.environ)
        os.environ.update({name: str(threads) for name in THREAD_VARIABLES})
        try:  # starts the process
            self._ready = self._pool.submit(_prepare, job, arguments)
        finally:
            os.environ.clear()
            os.environ.update(before)

    def __enter__(self) -> Child:
        """Wait until the job is ready."""
        try:
            self._ready.result()
        except BaseException:
            self._pool.shutdown()
            raise
        return self

    def measure(self) -> Any:
        return self._pool.submit(_measure).result()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is KeyboardInterrupt:  # do not wait for measurements to end
            for process in multiprocessing.active_children():
                process.terminate()
        self._pool.shutdown()


_job: Any = None  # of a child


def _prepare(job: str, arguments: dict[str, Any]) -> None:
    global _job
    # The parent handles Ctrl-C and ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _job = _named(job)(**arguments)


def _named(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _measure() -> Any:
    return _job.measure()


def ask(function: str, arguments: tuple[Any, ...], threads: int) -> Any:
    """Call a function ("module:name") in a process of its own."""
    with Child("benchmarks.harness:_Call", {"function": function, "arguments": arguments}, threads) as child:
        return child.measure()


class _Call:
    def __init__(self, function: str, arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments = _named(function), arguments

    def measure(self) -> Any:
        return self._function(*self._arguments)


# ---- cases --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One table of a page, stored as one line.

    `kind` says who takes part and `options` go there. `most_repeats` bounds --repeats where one repeat takes minutes,
    or where there is nothing to repeat; `peer_repeats` bounds it for contestants that are peers. `protocol` changes
    when cases are measured differently: results kept from before are then made again.
    """

    name: str
    kind: str
    title: str
    goal: str
    options: dict[str, Any] = field(default_factory=dict)
    most_repeats: int | None = None
    peer_repeats: int | None = None
    protocol: int = 1

    path = property(lambda self: self.name)
    package = "hingeline"

    def settings(self) -> dict[str, Any]:
        """What the result depends on."""
        kept = asdict(self)
        return {key: kept[key] for key in ("protocol", "name", "kind", "options", "most_repeats", "peer_repeats")}


@dataclass(frozen=True)
class Run:
    """Settings of the command line. `cache`: folder for what jobs keep from run to run."""

    threads: int
    quick: bool
    cache: Path


@dataclass(frozen=True)
class Contestant:
    """A row of the table, or several. The first contestant is what the others are compared with."""

    label: str
    job: str
    arguments: dict[str, Any]
    threads: int
    peer: bool = False


def run_case(case: Case, contestants: Iterable[Contestant], repeats: int) -> dict[str, Any]:
    """Result of a case as plain data: rows in the order of the contestants, and notes on what is missing."""
    repeats = min(repeats, case.most_repeats or repeats)
    result: dict[str, Any] = {"repeats": repeats, "notes": [], "failed": False}
    samples: dict[str, list[Sample]] = {}
    with ExitStack() as stack:
        running: dict[str, tuple[Child, int]] = {}
        for one in contestants:
            _say(f"{case.name}: prepare {one.label}")
            with _noted(result, one.label):
                child = stack.enter_context(Child(one.job, one.arguments, one.threads))
                running[one.label] = child, min(repeats, case.peer_repeats or repeats) if one.peer else repeats
        for repeat in range(repeats):
            # Every second time backwards: none is always the one that comes after the slowest.
            for label in list(running)[:: -1 if repeat % 2 else 1]:
                child, times = running[label]
                if repeat >= times:
                    continue
                _say(f"{case.name}: repeat {repeat + 1} of {times}, {label}")
                taken: Any = None
                with _noted(result, label):
                    taken = child.measure()
                if taken is None:
                    del running[label]
                    continue
                for name, sample in (taken if isinstance(taken, dict) else {"": taken}).items():
                    samples.setdefault(_row_label(label, name), []).append(sample)
    result["rows"] = _rows(samples)
    return result


def _row_label(label: str, name: str) -> str:
    """A name that begins with a comma is added to the label of the contestant; others replace it."""
    return label + name if not name or name.startswith(",") else name


@contextlib.contextmanager
def _noted(result: dict[str, Any], label: str) -> Iterator[None]:
    """Turn an error of a child into a note: skipped where only something optional is missing."""
    try:
        yield
    except Exception as error:
        missing = isinstance(error, Unavailable)
        if not missing:
            traceback.print_exc(file=sys.stderr)
        text = f"skipped: {error}" if missing else f"FAILED: {type(error).__name__}: {error}"
        _say(f"{label}, {text}")
        result["failed"] |= not missing
        known = next((note for note in result["notes"] if note["text"] == text), None)
        if known is None:
            result["notes"].append({"labels": [label], "text": text})
        else:
            known["labels"].append(label)


def _rows(samples: dict[str, list[Sample]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    first = next(iter(samples.values()), [])
    for label, taken in samples.items():
        times: dict[str, Any] = {}
        for name in taken[0].seconds:
            seconds = [second for sample in taken for second in sample.seconds[name]]
            median = statistics.median(seconds)
            ratio = median / (rows[0]["times"][name]["median"] if rows else median)
            times[name] = {"median": median, "min": min(seconds), "max": max(seconds), "ratio": ratio, "all": seconds}
        rows.append({"label": label, "times": times, "facts": _facts(taken, first)})
    return rows


def _facts(taken: list[Sample], first: list[Sample]) -> dict[str, Any]:
    """Facts of all repeats: of errors the largest, of other floats the median, of the rest the first.

    Memory is that of the first repeat too: it is measured in a fresh process.
    """
    told = [_compared(sample.facts, other.facts, taken is first) for sample, other in zip(taken, first, strict=False)]
    facts = dict(told[0])
    for key, value in facts.items():
        if isinstance(value, float) and "memory" not in key and not key.startswith("accuracy"):
            worst = key.endswith("differ by") or key.startswith("KKT")
            facts[key] = (max if worst else statistics.median)(one[key] for one in told)
    return facts


def _compared(facts: dict[str, Any], first: dict[str, Any], same: bool) -> dict[str, Any]:
    found = {key: value for key, value in facts.items() if key[0] != "="}
    for key in [key for key in facts if key[0] == "=" and key in first and not same]:
        found[f"{key[1:]} differ by"] = max(abs(a - b) for a, b in zip(facts[key], first[key], strict=True))
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- page ---------------------------------------------------------------------------------------------


def case_section(case: Case, result: dict[str, Any]) -> str:
    repeats = f"{result['repeats']}" + (f", of peers at most {case.peer_repeats}" if case.peer_repeats else "")
    parts = [f"## {case.title}", f"`{case.name}`, repeats: {repeats}. Goal: {case.goal}."]
    if result["rows"]:
        parts.append(_table(case, result["rows"]))
    if result["notes"]:
        parts.append("\n".join(f"- {'; '.join(note['labels'])}: {note['text']}" for note in result["notes"]))
    return "\n\n".join(parts)


def _table(case: Case, rows: list[dict[str, Any]]) -> str:
    names = list(rows[0]["times"])
    # The rows of the memory case are different problems: their times have no ratio.
    with_ratio = case.kind != "memory"
    facts = list(dict.fromkeys(key for row in rows for key in row["facts"]))
    header = [""]
    for name in names:
        header += [f"{name}, s", *(["ratio"] if with_ratio else [])]
    lines = []
    for i, row in enumerate(rows):
        line = [row["label"]]
        for name in names:
            time = row["times"][name]
            line.append(f"{number(time['median'])} ({number(time['min'])} .. {number(time['max'])})")
            if with_ratio:
                line.append("1" if i == 0 else _ratio(time["ratio"]))
        lines.append(line + [_fact(key, row["facts"].get(key)) for key in facts])
    return table(header + facts, lines)


def _fact(key: str, value: Any) -> str:
    return f"{value:.2f}" if key.startswith("accuracy") and value is not None else number(value)


def _ratio(ratio: float) -> str:
    return f"{number(ratio)}{' (tie)' if 1 / TIE < ratio < TIE else ''}"


# ---- command line -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A comparison. `settings` has `cases(quick)`; page.md of its folder begins the page, with constants filled in.

    `packages`: more of those whose versions matter. `figure`: draws results into a file, if there is anything to draw.
    """

    name: str
    title: str
    settings: ModuleType
    contestants: Callable[[Case, Run], Iterable[Contestant]]
    packages: tuple[str, ...] = ()
    figure: Callable[[list[tuple[Case, dict[str, Any]]], Path], bool] | None = None


def main(program: Program) -> int:
    parser = command_line(program.name, program.title)
    parser.add_argument("--repeats", type=int, help="default 5 (2 with --quick); some cases have fewer")
    args = resumable(parser)
    everything: list[Case] = program.settings.cases(args.quick)
    some = chosen(everything, args.jobs)
    if args.list or not some:
        print("\n".join(f"{case.name}: {case.title}" for case in everything))
        return 0 if args.list else 2
    folder = Path("out", program.name, "quick") if args.quick else Path("out", program.name)
    store, failed = Store(folder / f"{args.threads}-threads.jsonl"), False
    run = Run(args.threads, args.quick, folder / "cache")
    for case in [] if args.only_report else some:
        kept = store.get(case)
        # What was skipped may be there by now.
        if kept is not None and not kept["notes"] and not args.fresh:
            continue
        try:
            found = run_case(case, program.contestants(case, run), args.repeats or (2 if args.quick else 5))
        except KeyboardInterrupt:
            print("\nInterrupted. What is done is kept: the same command goes on from here.")
            return 130
        failed |= found["failed"]
        store.put(case, found)
        print(case_section(case, found), end="\n\n", flush=True)
    results = [(case, result) for case in everything if (result := store.get(case)) is not None]
    threads = f"-{args.threads}-threads" if args.threads > 1 else ""
    path = (
        args.output or (folder if args.quick else RESULTS)
    ) / f"{program.name}-{date.today().isoformat()}{threads}.md"
    write_whole(path, page(program, results, args.threads, args.quick, path.with_suffix(".png")))
    print(f"Written: {path}")
    return int(failed)


def page(program: Program, results: list[tuple[Case, dict[str, Any]]], threads: int, quick: bool, png: Path) -> str:
    """Title and explanation, the machine, the figure if there is one, and a section for each case."""
    template = Path(__file__).parent.joinpath(program.name, "page.md").read_text(encoding="utf-8")
    about = ask("benchmarks.environment:machine", program.packages, threads)
    title, _, text = fill(template, {"settings": program.settings, "harness": sys.modules[__name__]}).partition("\n\n")
    parts = [title, machine_lines(about, threads), text.rstrip()]
    if quick:
        parts.append(QUICK_NOTE)
    if program.figure is not None:
        png.parent.mkdir(parents=True, exist_ok=True)
        if program.figure(results, png):
            parts.append(f"![Results]({png.name})")
    return "\n\n".join([*parts, *(case_section(case, result) for case, result in results)]) + "\n"
