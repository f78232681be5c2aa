"""Tables of published.toml by data set and method."""

from __future__ import annotations

from math import isnan

from benchmarks.papers.frame import published

_FOUND = published(__file__)
SEEDING, HEURISTICS, SV_FRACTION = _FOUND["seeding"], _FOUND["heuristics"], _FOUND["sv_fraction"]
PROXIMAL = _FOUND["proximal"]
#: Methods of Tables 4 to 6, in the order of their columns. The first two have the hinge loss.
METHODS = {"light": "SVM-light", "bsvm": "BSVM", "mfn": "L2-SVM-MFN"}
_RESULTS = {one["name"]: one["rows"] for one in _FOUND["results"]}


def seconds(name: str, method: str) -> list[float | None]:
    """Seconds along the grid of C; empty for a set without a table."""
    column = [row[2 * list(METHODS).index(method)] for row in _RESULTS.get(name, ())]
    return [None if isnan(value) else value for value in column]


def errors(name: str, method: str) -> list[float]:
    """CV error in percent along the grid of C."""
    return [row[2 * list(METHODS).index(method) + 1] for row in _RESULTS.get(name, ())]
