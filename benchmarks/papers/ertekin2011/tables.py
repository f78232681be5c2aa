"""Tables 1, 3 and 4: ours, published, difference; as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.writing import number, table, write_csv

from . import published
from .published import METRICS, MISPRINTS, TABLE_1, TABLES, Metric
from .settings import (
    METHODS,
    POOL_LABELS,
    POOL_SETS,
    POOLS,
    READING_CS,
    SETS,
    UNPUBLISHED,
    WARM_S,
    WARM_SETS,
    WARM_SV,
    Method,
    Set,
)
from .summary import Cell, Summary, cell_of

MISSING = "\N{EN DASH}"
#: Differences beyond these are listed: points of the table, or a fraction of the published number.
NOTABLE = {"accuracy": 0.5, "prbep": 1.0, "auc": 0.003, "g_mean": 1.0, "n_support": 0.1, "kernel_needed": 0.25}
COMPARED = ("data set", "method", "runs", "ours", "sd", "published", "difference", "difference %", "note")


# ---- tables 3 and 4 ----------------------------------------------------------------------------------


def blocks(summary: Summary, number: str) -> str:
    """All metrics of Table 3 or 4."""
    found = [metric for metric in METRICS if metric.table == int(number)]
    return "\n\n".join(f"### Table {number}. {metric.title}\n\n{block(summary, metric)}" for metric in found)


def block(summary: Summary, metric: Metric) -> str:
    """One metric: a line per method, a column per data set; in brackets what was published, and the difference."""
    rows = []
    for method in METHODS.values():
        row = [method.title]
        for data in SETS.values():
            known = published.value(metric.key, method.published, data.name)
            mark = "*" if (metric.key, method.published, data.name) in MISPRINTS else ""
            row.append(text(summary.cell(metric, data, method), known, metric.digits, metric.relative, mark))
        rows.append(row)
    return table(["", *(data.title for data in SETS.values())], rows)


def text(ours: Cell | None, known: float | None, digits: int, relative: bool, mark: str = "") -> str:
    """`90.31 ± 0.62 (89.97; +0.34)`; a dagger where training ended early, a star at what looks like a misprint."""
    if ours is None:
        return MISSING if known is None else f"{MISSING} ({_plain(known)}{mark})"
    shown = f"{ours.mean:.{digits}f}" + (f" ± {ours.sd:.{digits}f}" if ours.sd is not None else "")
    shown += "†" if ours.seen else ""
    if known is None:
        return shown
    return f"{shown} ({_plain(known)}{mark}; {difference(ours.mean, known, digits, relative)})"


def difference(ours: float, known: float, digits: int, relative: bool) -> str:
    """Ours less published; large factors as such, since -99.9 % says little."""
    if not relative or known == 0 or ours == 0:
        return f"{round(ours - known, digits) + 0.0:+.{digits}f}"
    ratio = ours / known
    if 0.2 < ratio < 5:
        return f"{round(100 * (ratio - 1)):+d} %"
    return f"1/{1 / ratio:.0f}" if ratio < 1 else f"x {ratio:.0f}"


def _plain(value: float) -> str:
    return f"{value:g}" if value < 1e5 else f"{value:.0f}"


def cells(summary: Summary) -> Iterator[tuple[Metric, Set, Method, Cell | None, float | None]]:
    """Ours and the published number, for everything that was run or published."""
    for metric, data, method in product(METRICS, SETS.values(), METHODS.values()):
        known = published.value(metric.key, method.published, data.name)
        ours = summary.cell(metric, data, method)
        if known is not None or ours is not None:
            yield metric, data, method, ours, known


def csv_rows(summary: Summary, place: int) -> list[list[Any]]:
    rows = []
    for metric, data, method, ours, known in cells(summary):
        if metric.table != place:
            continue
        note = f"trained on the first {ours.seen} examples" if ours and ours.seen else ""
        meant = MISPRINTS.get((metric.key, method.published, data.name))
        if meant is not None:
            note = f"{note}; " * bool(note) + f"published looks like a misprint of {meant}"
        rows.append([metric.title, *compared(data.title, method.title, ours, known), note])
    return rows


def compared(data: str, method: str, ours: Cell | None, known: float | None) -> list[Any]:
    if ours is None:
        return [data, method, 0, None, None, known, None, None]
    apart = None if known is None else ours.mean - known
    return [data, method, ours.runs, ours.mean, ours.sd, known, apart, 100 * (ours.mean / known - 1) if known else None]


# ---- table 1 -----------------------------------------------------------------------------------------


def _quantities(result: dict[str, Any]) -> dict[str, float]:
    """What Table 1 counts. L and R: left and right of the ramp when the example came."""
    ramp = result["ramp"]
    return {
        "# SV": result["n_support"],
        "# Non-SV": result["n_expansion"] - result["n_support"],
        "admitted": sum(ramp["admitted"]),
        "admitted L": ramp["admitted"][0],
        "admitted R": ramp["admitted"][2],
        "cleaned": sum(ramp["cleaned"]),
        "cleaned L": ramp["cleaned"][0],
        "cleaned R": ramp["cleaned"][2],
    }


def _table_1_cells(summary: Summary, data: Set) -> dict[str, dict[str, Cell | None]]:
    cells: dict[str, dict[str, Cell | None]] = {}
    for method in (METHODS[name] for name in ("full", "g", "nc")):
        results = summary.runs(data, method)
        counted = [_quantities(result) for result in results]
        seen = min((r["n_seen"] for r in results if not r["complete"]), default=None)
        names = ("# SV", "# Non-SV", "admitted", "admitted L", "admitted R", "cleaned", "cleaned L", "cleaned R")
        cells[method.title] = {name: cell_of([q[name] for q in counted], seen) for name in names}
    return cells


def table_1(summary: Summary) -> str:
    rows = []
    for method, cells in _table_1_cells(summary, SETS["adult"]).items():
        known = TABLE_1[method]
        rows.append([method, *(text(cell, known.get(name), 0, True) for name, cell in cells.items())])
    return table(["Adult", *cells], rows)


def table_1_rows(summary: Summary) -> list[list[Any]]:
    """All data sets; the paper has adult only."""
    rows = []
    for data in SETS.values():
        for method, cells in _table_1_cells(summary, data).items():
            for name, ours in cells.items():
                known = TABLE_1[method].get(name) if data.name == "adult" else None
                if ours is not None or known is not None:
                    rows.append([name, *compared(data.title, method, ours, known), ""])
    return rows


def write_tables(summary: Summary, folder: Path) -> None:
    """All tables as CSV files."""
    write_csv(folder / "table1.csv", ("quantity", *COMPARED), table_1_rows(summary))
    for place in (3, 4):
        write_csv(folder / f"table{place}.csv", ("metric", *COMPARED), csv_rows(summary, place))
    columns = ("digit", "images", "scaling", "split", "C", "n_support", "accuracy", "prbep", "auc", "g_mean")
    write_csv(folder / "usps_readings.csv", columns, [[row[c] for c in columns] for row in _readings(summary)])


# ---- what was run, and where it differs ---------------------------------------------------------------


def agreement(summary: Summary) -> str:
    """In how many runs the stream by `partial_fit` ended with the model of `fit`."""
    checked = [result["stream_agrees"] for _, result in summary.of("train") if "stream_agrees" in result]
    return f"{sum(checked)} of {len(checked)}"


def early(summary: Summary) -> str:
    """Runs whose time was up."""
    return "\n".join(
        f"- **† FULL SVM on {data.title} ended after {result['n_seen']:,} of {result['n_train']:,} examples: "
        f"its time ({result['minutes']:g} minutes) was up**"
        for data in SETS.values()
        for result in summary.runs(data, METHODS["full"])
        if not result["complete"]
    )


def sizes(summary: Summary) -> str:
    """Rows and settings of the data sets."""
    rows = []
    for data in SETS.values():
        found = [result for method in METHODS.values() for result in summary.runs(data, method)]
        ours = f"{found[0]['n_train']} / {found[0]['n_test']}" if found else MISSING
        theirs = "{} / {}".format(*data.published)
        scale = "1" if data.scale == 1 else f"1/{1 / data.scale:g}"
        rows.append([data.title, ours, theirs, f"{data.C:g}", f"{data.gamma:g}", scale])
    return table(["", "train / test, ours", "published", "C", "gamma", "features times"], rows)


def counts(summary: Summary) -> str:
    """Number of runs."""
    rows = []
    for method in METHODS.values():
        counts = [len(summary.runs(data, method)) for data in SETS.values()]
        rows.append([method.title, *(str(n) if n else MISSING for n in counts)])
    return table(["", *(data.title for data in SETS.values())], rows)


def notable(summary: Summary) -> str:
    """Cells that differ most from the published ones."""
    found = []
    for metric, data, method, ours, known in cells(summary):
        limit = NOTABLE.get(metric.key)
        if limit is None or known is None or ours is None:
            continue
        off = abs(ours.mean - known) / (known if metric.relative else 1)
        if off > limit:
            shown = f"{ours.mean:.{metric.digits}f}" + ("†" if ours.seen else "")
            change = difference(ours.mean, known, metric.digits, metric.relative)
            row = [metric.title, data.title, method.title, shown, number(known, 6)]
            found.append((off / limit, [*row, change]))
    limits = ", ".join(
        f"{m.title} {100 * NOTABLE[m.key]:g} %" if m.relative else f"{m.title} {NOTABLE[m.key]:g}"
        for m in METRICS
        if m.key in NOTABLE
    )
    rows = [row for _, row in sorted(found, key=lambda pair: -pair[0])]
    listed = table(["metric", "set", "method", "ours", "published", "difference"], rows) if rows else "None."
    return f"Cells that are off by more than these limits: {limits}. Times are left out.\n\n{listed}"


def warm_up(summary: Summary) -> str:
    """LASVM-I with and without a warm-up: accuracy of the mean and of the worst run, and support vectors."""
    rows = []
    for name, s in product(WARM_SETS, WARM_S):
        row = [f"{SETS[name].title}, s = {s:g}"]
        for warm_sv in WARM_SV:
            found = [result for _, result in summary.of("warm", name=name, s=s, warm_sv=warm_sv)]
            hits = [100 * result["accuracy"] for result in found]
            row += [f"{mean(hits):.2f}", f"{min(hits):.2f}"] if hits else [MISSING, MISSING]
            row.append(f"{mean(result['n_support'] for result in found):.0f}" if found else MISSING)
        rows.append(row)
    heads = [f"{what}, warm_sv={n}" for n in WARM_SV for what in ("accuracy, %", "worst run, %", "# SV")]
    return table(["", *heads], rows)


def pools(summary: Summary) -> str:
    """Section 8.1: accuracy by the number of labels, and how good the rows of small pools are."""
    rows = []
    for name, size in product(POOL_SETS, POOLS):
        found = [result for _, result in summary.of("pool", name=name, size=size)]
        row = [f"{SETS[name].title}, {'all rows' if size is None else f'{size} row' + 's' * (size > 1)}"]
        for k in range(len(POOL_LABELS)):
            cell = cell_of([100 * result["curve"][k]["accuracy"] for result in found])
            row.append(text(cell, None, 2, relative=False))
        best = cell_of([100 * result["among_best"] for result in found])
        times = cell_of([1000 * result["seconds_question"] for result in found])
        rows.append([*row, text(best, None, 1, relative=False), f"{times.mean:.2f}" if times else MISSING])
    heads = [f"accuracy, % ({n} labels)" for n in POOL_LABELS]
    return table(["", *heads, "among the best 5 %, %", "question, ms"], rows)


def usps_readings(summary: Summary) -> str:
    """The readings of digit 0, and what all of them tell."""
    readings = _readings(summary)
    if not readings:
        return ""
    known = {key: TABLES[key]["LIBSVM"]["usps"] for key in ("accuracy", "n_support")}
    sparse = [row for row in readings if abs(row["n_support"] / known["n_support"] - 1) <= 0.1]
    named = "; ".join(f"digit {row['digit']}, {_name(row)}: {100 * row['accuracy']:.2f} %" for row in sparse) or "none"
    words = (
        f"Readings of USPS, by LIBSVM: {len(readings)} were tried (usps_readings.csv). Within 10 % of the published "
        f"number of support vectors are: {named}. With so many tried that is weak evidence, and C = 1 is what Table 2 "
        "says; the tables above keep the first reading, which was chosen before. Those of digit 0:"
    )
    rows = [
        [_name(row), str(row["n_support"]), *(f"{100 * row[key]:.2f}" for key in ("accuracy", "prbep", "g_mean"))]
        for row in readings
        if row["digit"] == 0
    ]
    rows.append(["published", f"{known['n_support']:g}", f"{known['accuracy']:.2f}", MISSING, MISSING])
    return f"{words}\n\n{table(['', '# SV', 'accuracy, %', 'PRBEP, %', 'g-means, %'], rows)}"


def _readings(summary: Summary) -> list[dict[str, Any]]:
    stored = summary.one("usps_readings")
    return stored["rows"] if stored else []


def _name(row: dict[str, Any]) -> str:
    return f"{row['images']} images, {row['scaling']}, {row['split']} split, C = {row['C']}"


def unpublished(summary: Summary) -> str:
    """LASVM-NC on Adult by what the paper does not say."""
    rows = []
    for at, result in summary.of("unpublished"):
        row = [str(at[key]) for key in UNPUBLISHED]
        row += [f"{result['n_support']:,}", f"{100 * result['accuracy']:.2f}", f"{result['seconds']:.2f}"]
        rows.append([*row, f"{1e-6 * result['kernel_needed']:.0f}"])
    head = ["period of CLEAN", "m", "support vectors before the ramp", "# SV", "accuracy, %", "time, s"]
    return table([*head, "kernel values, millions"], sorted(rows, key=lambda row: int(row[3].replace(",", ""))))


def reading(summary: Summary) -> str:
    """USPS with smoothed images and random splits."""
    rows = []
    for name, C in ((name, C) for name, Cs in READING_CS.items() for C in Cs):
        for method in METHODS.values():
            found = [result for _, result in summary.of("reading", name=name, C=float(C), method=method.name)]
            row = [f"{SETS[name].title}, C = {C}: {method.title}"]
            for metric in METRICS[:2]:
                ours = cell_of([metric.factor * result[metric.key] for result in found])
                known = published.value(metric.key, method.published, name)
                row.append(text(ours, known, metric.digits, metric.relative))
            rows.append(row)
    return table(["", *(metric.title for metric in METRICS[:2])], rows)
