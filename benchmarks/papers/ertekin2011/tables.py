"""Tables 1, 3 and 4: ours, published, difference; as Markdown and as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.papers.files import write_csv
from benchmarks.writing import table

from . import published
from .published import METRICS, MISPRINTS, TABLE_1, Metric
from .settings import METHODS, SETS, Set
from .summary import Cell, Summary, cell_of

MISSING = "\N{EN DASH}"
COMPARED = ("data set", "method", "runs", "ours", "sd", "published", "difference", "difference %", "note")


# ---- tables 3 and 4 ----------------------------------------------------------------------------------


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


def csv_rows(summary: Summary, number: int) -> list[list[Any]]:
    rows = []
    for metric in (m for m in METRICS if m.table == number):
        for data in SETS.values():
            for method in METHODS.values():
                known = published.value(metric.key, method.published, data.name)
                ours = summary.cell(metric, data, method)
                if known is None and ours is None:
                    continue
                note = f"trained on the first {ours.seen} examples" if ours and ours.seen else ""
                if (metric.key, method.published, data.name) in MISPRINTS:
                    meant = MISPRINTS[metric.key, method.published, data.name]
                    note = f"{note}; " * bool(note) + f"published looks like a misprint of {meant}"
                rows.append([metric.title, *compared(data.title, method.title, ours, known), note])
    return rows


def compared(data: str, method: str, ours: Cell | None, known: float | None) -> list[Any]:
    both = ours is not None and known is not None
    return [
        data,
        method,
        ours.runs if ours else 0,
        ours.mean if ours else None,
        ours.sd if ours else None,
        known,
        ours.mean - known if both else None,
        100 * (ours.mean / known - 1) if both and known else None,
    ]


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
        results = summary.results(data, method)
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
    write_csv(folder / "table1.csv", ("quantity", *COMPARED), table_1_rows(summary))
    for number in (3, 4):
        write_csv(folder / f"table{number}.csv", ("metric", *COMPARED), csv_rows(summary, number))
