"""From a case to its contestants; the first one is what the others are compared with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.against.peers import LASVM, PEERS
from benchmarks.against.settings import FULL, QUICK
from benchmarks.harness import Case, Contestant, Run, Unavailable, ask

from .settings import ORDINAL_METHODS, SLOW_METHODS, SLOW_SETS, Linear

_JOBS = "benchmarks.linear."
#: Label: solver of peers.py. Those of scikit-learn convert rows to what LIBLINEAR wants inside their fit.
_LINEAR_PEERS = {
    "LIBLINEAR -s 1": "liblinear -s 1",
    "LIBLINEAR -s 2": "liblinear -s 2",
    "sklearn LinearSVC, dual": "sklearn LinearSVC dual",
    "sklearn LinearSVC, primal": "sklearn LinearSVC primal",
}
_MAPPED = (
    ("hingeline", "float64"),
    ("hingeline", "float32"),
    ("hingeline, tol=0.1", "float64"),
    ("hingeline, tol=0.1", "float32"),
    ("SGDClassifier", "float64"),
    ("SGDClassifier", "float32"),
    ("SGDClassifier, averaged", "float64"),
    ("SGDClassifier, averaged", "float32"),
    ("sklearn LinearSVC", "float64"),
)


def _kept(cache: Path, name: str, *settings: Any) -> Path:
    return cache / f"{name}-{hashlib.sha256(repr(settings).encode()).hexdigest()[:12]}.json"


def _best(data: Linear, C: float, cache: Path) -> float:
    """Smallest objective known; computed once."""
    path = _kept(cache, f"reference-{data.source}", data, C)
    if path.exists():
        return float(json.loads(path.read_text(encoding="utf-8"))["objective"])
    return float(ask(f"{_JOBS}objective:reference", (data, C, path), 1))


def _objective(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    data, C = options["data"], options["C"]
    try:
        best = _best(data, C, run.cache)
    except Unavailable:
        best = float("nan")  # the contestants say why
    rows = [(f"hingeline, {form}", "hingeline", form) for form in data.forms]
    rows += [(label, solver, "csr") for label, solver in _LINEAR_PEERS.items()]
    for label, solver, form in rows:
        more = {"solver": solver, "data": data, "form": form, "dtype": "float64", "C": C, "best": best}
        yield _contestant(label, "objective:ToObjective", run, more)


def _passes(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for form, dtype in (("dense", "float64"), ("csr", "float64"), ("dense", "float32"), ("csr", "float32")):
        yield _contestant(f"{form} {dtype}", "speed:Passes", run, {"form": form, "dtype": dtype, **options})


def _path(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    form = options["data"].forms[0]
    for what, label in (("one", "one fit, C = 1"), ("path", "path"), ("cold", "a fit for each C")):
        yield _contestant(f"{label}, {form}", "speed:Path", run, {"what": what, "form": form, **options})


def _nystroem(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for method, dtype in _MAPPED:
        path = _kept(run.cache, f"penalty-{options['data'].name}", method, dtype, options)
        more = {"method": method, "dtype": dtype, "path": path, **options}
        yield _contestant(f"{method}, {dtype}", "nystroem:Mapped", run, more)


def _exact(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for peer, known in (LASVM | PEERS).items():
        form = "csr" if peer == "scikit-learn" else "dense"
        label = "WorstViolatorSVC" if peer == "hingeline" else known.title
        more = {"peer": peer, "form": form, "sizes": QUICK if run.quick else FULL, "threads": run.threads}
        yield Contestant(label, "benchmarks.against.models:Train", more | options, run.threads)


def _ordinal(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    methods = [(method, False) for method in ORDINAL_METHODS]
    methods += [(method, True) for method in SLOW_METHODS if options["source"] in SLOW_SETS]
    for method, once in methods:
        yield _contestant(method, "ordinal:Ordinal", run, {"method": method, "once": once, **options})


def _contestant(label: str, job: str, run: Run, arguments: dict[str, Any]) -> Contestant:
    return Contestant(label, _JOBS + job, {**arguments, "threads": run.threads}, run.threads)


_KINDS = {
    "objective": _objective,
    "passes": _passes,
    "path": _path,
    "nystroem": _nystroem,
    "exact": _exact,
    "ordinal": _ordinal,
}


def contestants(case: Case, run: Run) -> Iterator[Contestant]:
    return _KINDS[case.kind](case.options, run)
