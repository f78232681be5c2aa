"""From a case to its contestants; the first one is what the others are compared with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.against import cases as against
from benchmarks.against.cases import Contestant, Run
from benchmarks.against.peers import LASVM, PEERS
from benchmarks.against.worker import Child, ChildError

from .settings import ORDINAL_METHODS, SLOW_METHODS, SLOW_SETS, Linear

#: Jobs are named as seen from benchmarks.against.
_HERE = ".linear."
#: Label: solver of peers.py. Those of scikit-learn convert rows to what LIBLINEAR wants inside their fit.
_LINEAR_PEERS = {
    "LIBLINEAR -s 1": "liblinear -s 1",
    "LIBLINEAR -s 2": "liblinear -s 2",
    "LinearSVC, dual": "LinearSVC dual",
    "LinearSVC, primal": "LinearSVC primal",
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
    ("LinearSVC", "float64"),
)


def _kept(cache: Path, name: str, *settings: Any) -> Path:
    return cache / f"{name}-{hashlib.sha256(repr(settings).encode()).hexdigest()[:12]}.json"


def _best(data: Linear, C: float, cache: Path) -> float:
    """Smallest objective known; computed once."""
    path = _kept(cache, f"reference-{data.source}", data, C)
    if path.exists():
        return float(json.loads(path.read_text(encoding="utf-8"))["objective"])
    with Child(f"{_HERE}objective:Reference", {"data": data, "C": C, "path": path}, 1) as child:
        child.prepare()
        return float(child.measure())


def _objective(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    data, C = options["data"], options["C"]
    try:
        best = _best(data, C, run.cache)
    except ChildError:
        best = float("nan")  # the contestants say why
    rows = [(f"hingeline, {form}", "hingeline", form) for form in data.forms]
    rows += [(label, solver, "csr") for label, solver in _LINEAR_PEERS.items()]
    for label, solver, form in rows:
        more = {"solver": solver, "data": data, "form": form, "dtype": "float64", "C": C, "best": best}
        arguments = {"label": label, **more, "threads": run.threads}
        yield Contestant(label, f"{_HERE}objective:ToObjective", arguments, run.threads)


def _passes(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for form, dtype in (("dense", "float64"), ("csr", "float64"), ("dense", "float32"), ("csr", "float32")):
        label = f"{form} {dtype}"
        arguments = {"label": label, "form": form, "dtype": dtype, "threads": run.threads, **options}
        yield Contestant(label, f"{_HERE}speed:Passes", arguments, run.threads)


def _path(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    form = options["data"].forms[0]
    for what, label in (("one", "one fit, C = 1"), ("path", "path"), ("cold", "a fit for each C")):
        label = f"{label}, {form}"
        arguments = {"label": label, "what": what, "form": form, "threads": run.threads, **options}
        yield Contestant(label, f"{_HERE}speed:Path", arguments, run.threads)


def _nystroem(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    for method, dtype in _MAPPED:
        label = f"{method}, {dtype}"
        path = _kept(run.cache, f"penalty-{options['data'].name}", method, dtype, options)
        arguments = {"label": label, "method": method, "dtype": dtype, "threads": run.threads, "path": path, **options}
        yield Contestant(label, f"{_HERE}nystroem:Mapped", arguments, run.threads)


def _exact(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    forms = {"hingeline": "dense", **dict.fromkeys(LASVM, "dense"), "scikit-learn": "csr"}
    for peer, kind in (LASVM | PEERS).items():
        if peer == "libsvm":
            continue  # as scikit-learn's
        form = forms.get(peer, "dense")
        label = "WorstViolatorSVC" if peer == "hingeline" else kind.title
        arguments = {"label": label, "peer": peer, "form": form, "sizes": run.sizes, "threads": run.threads, **options}
        yield Contestant(label, "models:Train", arguments, run.threads)


def _ordinal(options: dict[str, Any], run: Run) -> Iterator[Contestant]:
    methods = [(method, False) for method in ORDINAL_METHODS]
    methods += [(method, True) for method in SLOW_METHODS if options["source"] in SLOW_SETS]
    for method, once in methods:
        arguments = {"label": method, "method": method, "once": once, "threads": run.threads, **options}
        yield Contestant(method, f"{_HERE}ordinal:Ordinal", arguments, run.threads)


def register() -> None:
    """Make the kinds of cases known to the harness of benchmarks.against."""
    kinds = (_objective, _passes, _path, _nystroem, _exact, _ordinal)
    against._KINDS.update({kind.__name__.removeprefix("_"): kind for kind in kinds})
