"""Tables 1 and 3 to 6 (others: study_tables.py), and how accurate the solutions are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.writing import number, table

from . import data, published
from .settings import FAMILIES, HEURISTICS, LARGE, OURS, SEEDINGS, SETS, SOLVERS
from .study_tables import proximal, rivals, starts, systems, violations  # noqa: F401 (places of the template)
from .summary import Speedup, Summary, lowest, speedup

MISSING = "-"
#: m, n and the share of entries that are not zero, as published. Adult has 123 columns in every copy that we know.
PUBLISHED = {
    "adult": ("1605, 4781, 16,100, 32,561", "120", "0.21"),
    "w8a": ("2477, 7366, 24,692, 49,749", "300", "0.04"),
    "news20": ("19,996", "1,355,191", "0.000336"),
}


def ratio(a: float | None, b: float | None) -> str:
    return f"{a / b:.2f}" if a and b else MISSING


def seeding(summary: Summary) -> str:
    """Table 1."""
    rows = []
    for name in summary.names("seeding", SETS):
        theirs = [published.SEEDING[way].get(name) for way in SEEDINGS]
        if any(theirs):
            rows.append([f"{SETS[name].title}: published", *map(number, theirs), ratio(*theirs), *[MISSING] * 3])
        for solver in OURS:
            both = [summary.one("seeding", name=name, way=way, solver=solver) for way in SEEDINGS]
            if all(both):
                seconds = [found["seconds"] for found in both if found]
                passes = [sum(found["passes"]) or None for found in both if found]
                label = f"{SETS[name].title}: {SOLVERS[solver].title.partition(', τ')[0]}"
                counts = [f"{n:,.0f}" if n else MISSING for n in passes]
                cells = [*map(number, seconds), ratio(*seconds), *counts, ratio(*passes)]
                rows.append([label, *cells])
    titles = list(SEEDINGS.values())
    header = ["", *(f"{t}, s" for t in titles), "ratio", *(f"{t}, passes" for t in titles), "ratio"]
    return table(header, rows)


def heuristics(summary: Summary) -> str:
    """Table 3."""
    rows = []
    for name in summary.names("heuristics", SETS):
        runs = {variant: summary.one("heuristics", name=name, variant=variant) for variant in HEURISTICS}
        none = runs["none"]
        for variant, (title, _) in HEURISTICS.items():
            found = runs[variant]
            if found and none:
                theirs = published.HEURISTICS[variant].get(name)
                cells = [number(found["seconds"]), ratio(none["seconds"], found["seconds"])]
                cells += [f"{found['passes']:.1f}", ratio(none["passes"], found["passes"]), str(found["iterations"])]
                cells += [number(theirs), ratio(published.HEURISTICS["none"].get(name), theirs)]
                shares = f"{found['sv_fraction']:.3f}", number(published.SV_FRACTION.get(name))
                rows.append([f"{SETS[name].title}: {title}", *cells, *shares])
    header = ["", "s", "times faster", "passes", "times fewer", "iterations", "published s", "times faster"]
    return table([*header, "SV fraction", "published"], rows)


def grids(summary: Summary) -> str:
    """Tables 4 to 6."""
    parts = []
    for name in summary.shown("fit"):
        place = f"Table {LARGE[name]}. " if name in LARGE else ""
        parts += [f"### {place}{SETS[name].title}", grid(summary, name)]
    return "\n\n".join(parts)


def grid(summary: Summary, name: str) -> str:
    """One of Tables 4 to 6."""
    columns: list[tuple[str, Sequence[str]]] = []
    shown = [solver for solver in SOLVERS if any(summary.fits(name, solver))]
    for solver in shown:
        seconds, passes = summary.fits(name, solver), summary.fits(name, solver, "passes")
        ends = summary.fits(name, solver, "limit")
        marks = [f"{number(n and round(n))}{'†' if end else ''}" for n, end in zip(passes, ends, strict=True)]
        columns += [(f"{SOLVERS[solver].title}: s", [number(s) for s in seconds]), ("passes", marks)]
    for solver, title in (("auto", "squared hinge"), ("s3", "hinge")):
        columns.append((f"CV %, {title}", _errors(summary.errors(name, solver), SETS[name].grid)))
    for method, title in published.METHODS.items():
        columns.append((f"published {title}: s", [number(s) for s in published.seconds(name, method)]))
        columns.append(("CV %", _errors(published.errors(name, method), SETS[name].grid)))
    columns = [(title, cells) for title, cells in columns if cells]
    rows = [[f"{c:g}", *(cells[k] for _, cells in columns)] for k, c in enumerate(SETS[name].grid)]
    apart = {SOLVERS[solver].title: summary.apart(name, solver) for solver in ("s1", "s2")}
    told = " and ".join(f"{gap:.3f} points ({title})" for title, gap in apart.items() if gap is not None)
    note = f"\n\nCV errors of LIBLINEAR with the squared hinge differ from ours by at most {told}." if told else ""
    return table(["log2 C", *(title for title, _ in columns)], rows) + note if shown else "Not run."


def _errors(errors: Sequence[float], places: Sequence[float]) -> list[str]:
    """The lowest one in bold."""
    best = lowest(errors, places)
    return [f"**{e:.2f}**" if k == best else f"{e:.2f}" for k, e in enumerate(errors)]


def ours_against(summary: Summary, name: str, ours: str, theirs: str) -> Speedup | None:
    return speedup(
        summary.fits(name, ours), summary.errors(name, ours), summary.fits(name, theirs), summary.errors(name, theirs)
    )


def published_against(name: str, method: str) -> Speedup | None:
    return speedup(
        published.seconds(name, "mfn"), published.errors(name, "mfn"),
        published.seconds(name, method), published.errors(name, method),
    )  # fmt: skip


def speedups(summary: Summary) -> str:
    """Other methods over ours, at C with nearly the lowest CV error."""
    rows: list[list[str]] = []

    def add(title: str, found: Speedup | None) -> None:
        if found:
            rows.append([title, *(f"{x:.2f}" for x in (found.safe, found.optimal, found.largest))])

    for name in summary.shown("fit"):
        for method in ("light", "bsvm"):
            title = f"{SETS[name].title}, published: {published.METHODS[method]} / L2-SVM-MFN"
            add(title, published_against(name, method))
        for ours in OURS:
            for theirs in (solver for solver in SOLVERS if solver not in OURS):
                title = f"{SETS[name].title}: {SOLVERS[theirs].title} / {SOLVERS[ours].title}"
                add(title, ours_against(summary, name, ours, theirs))
    return table(["", "cautious", "at the optima", "largest"], rows)


def accuracy(summary: Summary) -> str:
    """What the solutions of the fits are worth."""
    rows = []
    for name in summary.shown("fit"):
        for solver, known in SOLVERS.items():
            found = [r for _, r in summary.of("fit", name=name, solver=solver)]
            if found:
                used = sorted({r["e"] for r in found if "e" in r})
                told = f"{used[0]:g} to {used[-1]:g}" if len(used) > 1 else f"{used[0]:g}" if used else MISSING
                cells = [_largest(found, key) for key in ("excess", "gap", "kkt")]
                iterations = [r["iterations"] for r in found]
                reached = f"{sum(r['limit'] for r in found)} of {len(found)}"
                span = f"{min(iterations)} to {max(iterations)}"
                rows.append([f"{SETS[name].title}: {known.title}", *cells, told, span, reached])
    header = ["largest of all C", "objective above the optimum", "duality gap", "KKT violation", "-e", "iterations"]
    return table([*header, "limit reached"], rows)


def _largest(found: list[dict[str, Any]], key: str) -> str:
    values = [r[key] for r in found if r.get(key) is not None]
    if not values:
        return MISSING
    return f"{max(0.0, *values):.1e}" if max(values) > 1e-12 else "< 1e-12"


def scaling(summary: Summary) -> str:
    """Figure 1 in numbers."""
    rows = []
    for family, names in FAMILIES.items():
        for solver, known in SOLVERS.items():
            times = [summary.best(name, solver) for name in names]
            passes = [summary.best(name, solver, "passes") for name in names]
            if any(times):
                slopes = [summary.slope(family, solver, key) for key in ("seconds", "passes")]
                cells = [f"{number(s)} s, {number(n and round(n))}" for s, n in zip(times, passes, strict=True)]
                rows.append([f"{family}: {known.title}", *cells, *map(number, slopes)])
    places = ["-1", "-4", "-7", "-8 or -9"]
    header = ["s and passes at the best C", *places, "exponent of m, s", "of the passes"]
    return table(header, rows)


def sizes(summary: Summary) -> str:
    """Rows, columns and sparsity."""
    rows = []
    for source, (m, n, s) in PUBLISHED.items():
        name = next((k for k in reversed(SETS) if SETS[k].source == source and k in summary.names("fit", SETS)), None)
        if name:
            X, y = data.load(name)
            share = X.nnz / (X.shape[0] * X.shape[1])
            ours = [f"{X.shape[0]:,}", f"{X.shape[1]:,}", f"{share:.3g}", f"{100 * (y > 0).mean():.1f} %"]
            rows.append([SETS[name].title, *ours, m, n, s])
    return table(["", "m", "n", "sparsity", "positive", "published m", "n", "sparsity"], rows)
