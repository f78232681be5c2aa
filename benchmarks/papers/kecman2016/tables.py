"""Tables of the report."""

from __future__ import annotations

from typing import Any

from benchmarks.writing import number, table

from . import data
from .settings import (
    DEGREE_CS,
    DEGREES,
    FASTER,
    GRID_METHODS,
    LARGE_METHODS,
    LARGE_SIGMAS,
    METHODS,
    OL,
    PUBLISHED,
    READINGS,
    SETS,
    SVC_,
    WAYS,
    WITHIN,
)
from .settings import rows as size_of
from .summary import Place, Summary, average, best, error, spread, total

#: What stands before the methods of each way.
WAY_TITLES = {"listed": "list in NumPy", "ours": "ours, C++"}


def readings(summary: Summary) -> str:
    """Average errors and times over the grids of the supplement, beside the published."""
    lines = []
    for name, (n, sigmas, _, _) in READINGS.items():
        svc, ol = ([r for _, r in summary.of("reading", name=name, method=m)] for m in (SVC_, OL))
        if svc and len(svc) == len(ol):
            smo, online, faster = PUBLISHED["results"][name]
            found = [mean_error(svc), mean_error(ol)]
            best = [f"{min(_cell_errors(results)):.2f}" for results in (svc, ol)]
            seconds = [sum(cell["seconds"] for result in results for cell in result["cells"]) for results in (svc, ol)]
            line = [f"{SETS[name].title}, {n:,} points, sigma {', '.join(map(str, sigmas))}"]
            line += [f"{smo:.2f}", f"{online:.2f}", *(f"{v:.2f}" for v in found), *best, f"{faster:.2f}"]
            lines.append([*line, f"{seconds[0] / seconds[1]:.2f}", str(len(svc))])
    head = ["average error %", "published: SMO", "OL SVM", "ours: SVC", "OL SVM", "lowest: SVC", "OL SVM"]
    return table([*head, "published: times as fast", "ours: times as fast", "folds"], lines)


def _cell_errors(results: list[dict[str, Any]]) -> list[float]:
    """Percent, by cell."""
    places = zip(*(result["cells"] for result in results), strict=True)
    return [100 * sum(c["wrong"] for c in cells) / sum(c["rows"] for c in cells) for cells in places]


def mean_error(results: list[dict[str, Any]]) -> float:
    errors = _cell_errors(results)
    return sum(errors) / len(errors)


def narrow(summary: Summary) -> str:
    """Figures 5 to 8 with small widths."""
    lines = []
    for way, methods in WAYS.items():
        first = summary.one("narrow", way=way, method=OL)
        for method in methods:
            found = summary.one("narrow", way=way, method=method)
            if first and found:
                seconds = [sum(cell["seconds"] for cell in result["cells"]) for result in (found, first)]
                errors = _cell_errors([found])
                line = [
                    f"{WAY_TITLES[way]}: {METHODS[method].title}",
                    f"{mean_error([found]):.2f}",
                    f"{min(errors):.2f}",
                ]
                line += [number(seconds[0]), f"{seconds[0] / seconds[1]:.2f}"]
                times = [cell["seconds"] for cell in found["cells"]]
                lines.append([*line, f"{max(times) / min(times):.1f}"])
    head = ["", "average error %", "lowest", "s, whole grid", "over OL SVM", "largest / smallest time of a fit"]
    return table(head, lines)


def degrees(summary: Summary) -> str:
    """Time of OL SVM by the degree of a polynomial kernel."""
    lines = []
    for degree in DEGREES:
        found = summary.one("degree", degree=degree)
        if found:
            for C, cell in zip(DEGREE_CS, found["cells"], strict=True):
                line = [f"degree {degree}, C = {C:g}", number(cell["seconds"]), f"{cell['violations']:,}"]
                lines.append([*line, f"{100 * cell['wrong'] / cell['rows']:.2f}"])
    return table(["chessboard, 3,993 points", "s", "violations", "error %"], lines)


def sizes(summary: Summary) -> str:
    """Table I."""
    lines = []
    for name in summary.names("cv", SETS):
        X, y = data.load(name, size_of(name, summary.quick))
        n, d = PUBLISHED["sizes"][name]
        how = "standardised" if data.scaled(name) else "rows of unit length" if name == "reuters" else "as drawn"
        share = f"{100 * (y > 0).mean():.1f}"
        lines.append([SETS[name].title, f"{n:,}", f"{d:,}", f"{X.shape[0]:,}", f"{X.shape[1]:,}", "2", share, how])
    header = ["", "published: samples", "features", "ours: samples", "features", "classes", "positive %", "scale"]
    return table(header, lines)


def errors(summary: Summary) -> str:
    """Table II: average error over the grid, and the lowest."""
    lines = []
    for name, grids in summary.whole():
        _, y = data.load(name, size_of(name, summary.quick))
        smo, online, _ = PUBLISHED["results"][name]
        constant = 100 * min((y > 0).mean(), (y < 0).mean())
        averages = [f"{average(grid):.2f}" for grid in grids]
        lowest = [f"{error(grid[best(grid)]):.2f}" for grid in grids]
        line = [SETS[name].title, f"{smo:.2f}", f"{online:.2f}", *averages, *lowest]
        lines.append([*line, f"{constant:.2f}", str(summary.folds)])
    titles = [METHODS[method].title for method in GRID_METHODS]
    header = ["error %", "published average: SMO", "OL SVM", f"average: {titles[0]}", *titles[1:]]
    header += [f"lowest: {titles[0]}", *titles[1:]]
    return table([*header, "one class", "folds"], lines)


def chosen(summary: Summary) -> str:
    """Where the lowest errors are."""
    lines = [[SETS[name].title, *(_at(best(grid)) for grid in grids)] for name, grids in summary.whole()]
    return table(["C and sigma of the lowest error", *(METHODS[m].title for m in GRID_METHODS)], lines)


def _at(place: Place) -> str:
    return f"{place[0]:g}, {place[1]:g}"


def speed(summary: Summary) -> str:
    """Table II: how many times as fast."""
    lines = []
    for name, (svc, ol, averaged) in summary.whole():
        seconds = [total(grid, "seconds") for grid in (svc, ol, averaged)]
        both = total(svc, "seconds", "predicting") / total(ol, "seconds", "predicting")
        at_best = svc[best(svc)]["seconds"] / ol[best(ol)]["seconds"]
        ended = total(svc, "ended"), sum(cell["folds"] for cell in svc.values())
        line = [SETS[name].title, *(number(s) for s in seconds), f"{PUBLISHED['results'][name][2]:.2f}"]
        line += [f"{seconds[0] / seconds[1]:.2f}", f"{both:.2f}", f"{at_best:.2f}"]
        lines.append([*line, "{:.0f} of {}".format(*ended)])
    header = ["", "SVC, s", "OL SVM, s", "averaged, s", "published: times as fast", "ours: times as fast"]
    header += ["with prediction", "at the lowest errors", "fits of SVC at the limit"]
    return table(header, lines)


def at_limit(summary: Summary) -> str:
    """Cells of SVC that ended at the limit of iterations."""
    lines = []
    for name in summary.names("cv", SETS):
        grid = summary.grid(name, SVC_)
        where = [f"({_at(place)})" for place, cell in grid.items() if cell["ended"]]
        if where:
            lines.append(f"- {SETS[name].title}: {', '.join(where)}")
    return "\n".join(lines) or "None."


def independence(summary: Summary) -> str:
    """Largest over smallest time in the grid."""
    lines = []
    for name, (svc, ol, _) in summary.whole():
        counts = [cell["violations"] / cell["folds"] for cell in ol.values()]
        steps = next(iter(ol.values()))
        shown = f"{min(counts):,.0f} to {max(counts):,.0f} of {steps['steps'] / steps['folds']:,.0f}"
        line = [SETS[name].title, _range(ol), f"{spread(ol):.1f}", f"{spread(ol, 'violations'):.1f}", shown]
        lines.append([*line, number(summary.correlation(name)), _range(svc), f"{spread(svc):.1f}"])
    header = ["", "OL SVM: s of a fit", "largest / smallest", "violations: largest / smallest", "violations of steps"]
    header += ["correlation", "SVC: s of a fit", "largest / smallest"]
    return table(header, lines)


def _range(grid: dict[Place, Any]) -> str:
    values = [cell["seconds"] / cell["folds"] for cell in grid.values()]
    return f"{number(min(values))} to {number(max(values))}"


def online(summary: Summary) -> str:
    """Figures 5 to 8 in numbers."""
    lines = []
    for way, methods in WAYS.items():
        first = summary.online(way, OL)
        for method in methods:
            grid = summary.online(way, method)
            if first and grid:
                seconds = total(grid, "seconds")
                place = best(grid)
                title = f"{'list in NumPy' if way == 'listed' else 'ours'}: {METHODS[method].title}"
                known = PUBLISHED["online"].get(method) if way == "listed" else None
                line = [title, f"{average(grid):.2f}", f"{error(grid[place]):.2f}", _at(place), number(seconds)]
                line += [f"{seconds / total(first, 'seconds'):.2f}", "-" if known is None else f"{known:g}"]
                lines.append([*line, f"{total(grid, 'n_support') / sum(c['folds'] for c in grid.values()):,.0f}"])
    header = ["", "average error %", "lowest", "at C, sigma", "s, whole grid", "over OL SVM", "published", "mean SVs"]
    return table(header, lines)


def reached(rows: list[dict[str, Any]]) -> set[str]:
    """Titles of those that are as fast and as good as wanted."""
    svc = next(row for row in rows if row["method"] == SVC_)
    enough = [r for r in rows if svc["seconds"] >= FASTER * r["seconds"] and error(r) <= error(svc) + WITHIN]
    return {_title(row) for row in enough}


def _title(row: dict[str, Any]) -> str:
    return METHODS[row["method"]].title + ("" if row["method"] == SVC_ else f", {row['precision']}")


def both(summary: Summary) -> str:
    """Which settings reach the target on all sets."""
    found = [reached(result["rows"]) for _, result in summary.of("large")]
    names = sorted(set.intersection(*found)) if found else []
    return f"Settings that reach the target on both sets: {'; '.join(names) or 'none'}."


def large_sections(summary: Summary) -> str:
    """A section for each set of the fits at the large C."""
    words = "Cross-validation († SVC at its limit of iterations in some fold):"
    parts = []
    for name in LARGE_SIGMAS:
        parts.append(f"### {SETS[name].title.capitalize()}, {size_of(name, summary.quick) or 0:,} points")
        parts += [large(summary, name), words, large_cv(summary, name)]
    return "\n\n".join(parts)


def large(summary: Summary, name: str) -> str:
    """One fit of each method at the large C."""
    found = [r["rows"] for _, r in summary.of("large", name=name)]
    if not found:
        return "Not run."
    svc = next(row for row in found[0] if row["method"] == SVC_)
    good = reached(found[0])
    lines = []
    for row in found[0]:
        title, faster = _title(row), svc["seconds"] / row["seconds"]
        met = "-" if row is svc else "yes" if title in good else "no"
        known = summary.by_sigma(name, row["method"])
        cells = [f"{row['sigma']:g}", f"{error(known[row['sigma']]):.2f}" if known else "-", f"{error(row):.2f}"]
        cells += [number(row["seconds"]), f"{min(row['tries']):.3g} to {max(row['tries']):.3g}", f"{faster:.1f}"]
        lines.append([title, *cells, f"{row['n_support']:,}", f"{row['steps']:,}", met])
    header = ["", "sigma", "CV error %", "test error %", "fit, s", "smallest to largest", "times as fast as SVC", "SVs"]
    return table([*header, "steps", "target"], lines)


def large_cv(summary: Summary, name: str) -> str:
    """CV error at the large C for every sigma."""
    grids = {method: summary.by_sigma(name, method) for method in LARGE_METHODS}
    widths = sorted({s for grid in grids.values() for s in grid})
    lines = []
    for method, grid in grids.items():
        if grid:
            marks = ["†" if grid[s]["ended"] and method == SVC_ else "" for s in widths]
            lines.append(
                [METHODS[method].title, *(f"{error(grid[s]):.2f}{m}" for s, m in zip(widths, marks, strict=True))]
            )
    return table(["CV error %", *(f"sigma = {s:g}" for s in widths)], lines)


def errata(summary: Summary) -> str:
    """NORMA beside Pegaz."""
    lines = []
    for _, result in summary.of("errata"):
        for pair in result["pairs"]:
            rate = "C/t" if pair["rate"] == "inverse" else "C√(2/t)"
            order = "before the test" if pair["decay_first"] else "after the test (printed)"
            apart, svs = f"{pair['apart']:.1e}", "{:,} and {:,}".format(*pair["n_support"])
            line = [f"η = {rate}, shrinks {order}", str(pair["epochs"]), f"{pair['C']:g}", apart]
            lines.append([*line, f"{100 * pair['unlike']:.1f}", svs])
    header = ["", "epochs", "C", "largest difference of coefficients", "predictions that differ, %", "SVs"]
    return table(header, lines)


def first_steps(summary: Summary) -> str:
    """What the first steps of List 1 do."""
    for _, result in summary.of("errata"):
        one, two = ([f"{abs(a):.3f}" for a in step] for step in result["first"])
        return (
            "The factor 1 - √(2/t) of List 1 is -0.414 at t = 1, 0 at t = 2 and 0.184 at t = 3. What is learnt "
            "from the first sample is lost immediately. Two rows, C = 1: sizes of the coefficients after step 1: "
            f"{one[0]}, after step 2: {two[0]} and {two[1]}. Ours has no factor below 0."
        )
    return ""
