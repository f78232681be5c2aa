"""From a case of settings.py to its contestants. To add a kind of case: a function here, and a job that measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.harness import Case, Contestant, Run

from .peers import EVERYBODY, L2, LASVM, PEERS
from .settings import FULL, QUICK, SETS

_JOBS = "benchmarks.against."


def contestants(case: Case, run: Run) -> Iterator[Contestant]:
    return _KINDS[case.kind](case.options, run)


def _model(
    job: str, peer: str, form: str, data: str, run: Run, label: str = "", threads: int = 0, **more: Any
) -> Contestant:
    known, threads = EVERYBODY[peer], threads or run.threads
    arguments = {"peer": peer, "form": form, "data": SETS[data], "sizes": QUICK if run.quick else FULL}
    label = label or f"{known.title}, {form} {known.forms[form]}"
    return Contestant(label, f"{_JOBS}models:{job}", {**arguments, "threads": threads, **more}, threads)


def _train(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for peer, known in PEERS.items():
        for form in [f for f in options["forms"] if f in known.forms] or list(known.forms)[:1]:
            yield _model("Train", peer, form, options["data"], run)


def _lasvm(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    """The family on CSR rows, peers in every form they take."""
    forms = [(peer, options["forms"][-1]) for peer in LASVM]
    forms += [(peer, f) for peer in list(PEERS)[1:] for f in options["forms"] if f in PEERS[peer].forms]
    for peer, form in forms:
        yield _model("Train", peer, form, options["data"], run)


def _l2(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for peer in (*L2, "scikit-learn"):
        yield _model("Train", peer, "dense", options["data"], run)


def _predict(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for peer in ("lasvm-finished", *list(PEERS)[1:]):
        if options["form"] in EVERYBODY[peer].forms:
            yield _model("Decide", peer, options["form"], options["data"], run, cache=run.cache)


def _threads(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for threads, label in ((2, "2 threads"), (1, "1 thread")):
        if options["task"] == "fit":
            yield _model("Train", "hingeline", "dense", options["data"], run, label, threads)
        else:
            yield _model("Decide", "lasvm-finished", "dense", options["data"], run, label, threads, cache=run.cache)


def _memory(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for data, form in options["data"]:
        for size in options["cache_sizes"]:
            yield _model("Memory", "hingeline", form, data, run, f"{data} {form}, cache_size={size}", cache_mb=size)


def _import(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    yield Contestant("import", f"{_JOBS}models:ImportTime", options, run.threads)


_KINDS: dict[str, Callable[[dict[str, Any], Run], Iterator[Contestant]]] = {
    "predict": _predict,
    "train": _train,
    "lasvm": _lasvm,
    "l2": _l2,
    "threads": _threads,
    "memory": _memory,
    "import": _import,
}
