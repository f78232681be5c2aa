"""Table 2 and the tables of the studies."""

from __future__ import annotations

from benchmarks.writing import number, table

from . import published, settings
from .summary import Summary

TITLES = {
    "cancer-raw": "Breast cancer, raw",
    "cancer-scaled": "Breast cancer, scaled",
    "columns": "Columns from 1e-4 to 1e4",
    "singular values": "Singular values from 1e3 to 1e-3",
    "web-7-first": "Web-7",
    **{name: known.title for name, known in settings.SETS.items()},
}


def _title(name: str) -> str:
    base, comma, single = name.partition(", float32")
    return TITLES[base] + comma + single


def _power(log10_C: float) -> str:
    return f"{10.0**log10_C:g}"


def proximal(summary: Summary) -> str:
    """Table 2."""
    rows = [["Australian", *["-"] * 5, number(published.PROXIMAL["australian"])]]
    for at, found in summary.of("proximal"):
        s = found["seconds"]
        cells = [number(s["proximal"]), number(s["cg"]), f"{s['proximal'] / s['cg']:.2f}", f"{found['steps']:.1f}"]
        known = number(published.PROXIMAL.get(at["name"]))
        rows.append([_title(at["name"]), *cells, f"{s['gram'] / s['plain']:.2f}", known])
    header = ["", "proximal SVM, s", "LS-SVM-CG, s", "ratio", "CG steps", "`gram` / `plain`", "published ratio"]
    return table(header, rows)


def systems(summary: Summary) -> str:
    """CG against CGLS."""
    rows = []
    for at, found in summary.of("systems"):
        cells = [f"{max(found[key][what], 0.0):.0e}" for what in ("excess", "gap") for key in ("cg", "cgls")]
        rows.append([f"{_title(at['name'])}, C = {_power(at['log10_C'])}", *cells, found["cg"]["reason"]])
    names = ["`cg`", "CGLS"]
    header = ["", *(f"objective above the best: {name}" for name in names), *(f"gap: {name}" for name in names)]
    return table([*header, "stop of `cg`"], rows)


def starts(summary: Summary) -> str:
    """Passes from different starts."""
    ways = [*(f"part {part}" for part in settings.PARTS)]
    ways += ["all rows", "all rows, repeated", "optimal set", "optimal set, repeated"]
    rows = []
    for at, found in summary.of("starts"):
        title = f"{_title(at['name'])}, C = {_power(at['log10_C'])}"
        cells = [f"{found[way]['passes']:.0f}" for way in ("zero", *ways)]
        rows.append([title, *cells, *(f"{found[way]['above']:.2f}" for way in ways[2:4])])
    parts = [f"one row in {part} first" for part in settings.PARTS]
    guesses = ["equation 9", "equation 9, repeated", "optimal I", "optimal I, repeated"]
    return table(["passes", "zero", *parts, *guesses, "objective at the start", "at the start, repeated"], rows)


def violations(summary: Summary) -> str:
    """KKT violations with and without `kkt_tol`."""
    rows = []
    for at, found in summary.of("violation"):
        gap, kkt = found["gap"], found["kkt"]
        title = f"{_title(at['name'])}, `{at['solver']}`, C = {_power(at['log10_C'])}"
        cells = [f"{gap['violation']:.1e}", f"{kkt['violation']:.1e}", kkt["reason"]]
        cells += [f"{one['passes']:.0f}" for one in (gap, kkt)]
        rows.append([title, *cells, number(gap["seconds"]), number(kkt["seconds"])])
    kinds = [f"{what}, {rule}" for what in ("passes", "s") for rule in ("`tol` alone", "`kkt_tol`")]
    return table(["", "violation, `tol` alone", "violation, `kkt_tol`", "stop reason", *kinds], rows)


def rivals(summary: Summary) -> str:
    """Decomposition and dual coordinate descent beside the paper's method."""
    rows = []
    for name in (name for names in settings.FAMILIES.values() for name in names):
        paper = summary.one("rival", name=name, rival=settings.PAPER)
        for rival, title in settings.RIVALS.items():
            found = summary.one("rival", name=name, rival=rival)
            if found and paper:
                gap = "-" if found["gap"] is None else f"{found['gap']:.1e}"
                row = [f"{settings.SETS[name].title}: {title}", f"{found['rows']:,}", number(found["seconds"])]
                rows.append([*row, f"{found['seconds'] / paper['seconds']:.2f}", number(found["iterations"]), gap])
    return table(["", "rows", "s", "time / the paper's", "iterations", "duality gap"], rows)
