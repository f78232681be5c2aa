"""From a case of settings.py to its contestants. To add a kind of case: a function here, and a job that measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .peers import LASVM, PEERS
from .settings import SETS, Case, Sizes


@dataclass(frozen=True)
class Contestant:
    """A job in a process of its own: "module:Class" of this package and its arguments."""

    label: str
    job: str
    arguments: dict[str, Any]
    threads: int


@dataclass(frozen=True)
class Run:
    """What the command line says."""

    peers: tuple[str, ...]
    threads: int
    sizes: Sizes
    cache: Path


def contestants(case: Case, run: Run) -> list[Contestant]:
    """The first one is what the others are compared with."""
    return list(_KINDS[case.kind](case.options, run))


def _block(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    arguments = {"features": options["features"], "base": run.sizes.base, "calls": run.sizes.calls}
    yield Contestant("blocks", "blocks:DenseBlock", arguments, run.threads)


def _csr_block(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    arguments = {"data": SETS[options["data"]], "rows": run.sizes.rows, "calls": run.sizes.calls}
    yield Contestant("blocks", "blocks:CsrBlock", arguments, run.threads)


def _model(
    job: str, peer: str, form: str, data: str, run: Run, *, label: str = "", threads: int | None = None, **more: Any
) -> Contestant:
    kind = (PEERS | LASVM)[peer]
    label = label or f"{kind.title}, {form} {kind.forms[form]}"
    threads = threads or run.threads
    arguments = {"label": label, "peer": peer, "form": form, "data": SETS[data], "sizes": run.sizes, "threads": threads}
    return Contestant(label, f"models:{job}", arguments | more, threads)


def _train(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for peer in run.peers:
        able = PEERS[peer].forms
        for form in [f for f in options["forms"] if f in able] or list(able)[:1]:
            yield _model("Train", peer, form, options["data"], run)


def _lasvm(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    """The family on CSR rows, peers in every form they take."""
    forms = [(peer, options["forms"][-1]) for peer in LASVM]
    forms += [
        (peer, f) for peer in run.peers if peer != "hingeline" for f in options["forms"] if f in PEERS[peer].forms
    ]
    for peer, form in forms:
        yield _model("Train", peer, form, options["data"], run)


def _predict(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for peer in run.peers:
        if options["form"] in PEERS[peer].forms:
            yield _model("Decide", peer, options["form"], options["data"], run, cache=run.cache)


def _threads(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    fit = options["task"] == "fit"
    more = {} if fit else {"cache": run.cache}
    for threads, label in ((2, "2 threads"), (1, "1 thread")):
        job = "Train" if fit else "Decide"
        yield _model(job, "hingeline", "dense", options["data"], run, label=label, threads=threads, **more)


def _memory(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for data, form in options["data"]:
        for size in options["cache_sizes"]:
            label = f"{data} {form}, cache_size={size}"
            yield _model("Memory", "hingeline", form, data, run, label=label, cache_mb=size)


def _import(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    yield Contestant("import", "imports:ImportTime", options, run.threads)


_KINDS: dict[str, Callable[[dict[str, Any], Run], Iterator[Contestant]]] = {
    "block": _block,
    "csr-block": _csr_block,
    "predict": _predict,
    "train": _train,
    "lasvm": _lasvm,
    "threads": _threads,
    "memory": _memory,
    "import": _import,
}
