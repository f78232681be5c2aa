"""Figures 1, 2, 4, 5, 6, 7 and 8: one panel per data set, and a CSV of what each shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from benchmarks.plots import legend, mark_empty, plt, thousands
from benchmarks.writing import write_csv

from . import published
from .published import METRICS
from .settings import METHODS, S_GRID, SETS, Method, S, Set
from .summary import Summary
from .tables import write_tables

METRIC = {metric.key: metric for metric in METRICS}
#: Colour, and a line style and marker for print.
STYLE: dict[str, tuple[str, Any, str]] = {
    "full": ("#000000", "-", "s"),
    "g": ("#0072B2", "--", "^"),
    "nc": ("#D55E00", "-", "o"),
    "i": ("#E69F00", "-.", "D"),
    "lasvm": ("#009E73", ":", "v"),
    "lasvm-expansion": ("#8C510A", ":", "<"),
    "lasvm-finished": ("#66C2A5", ":", "v"),
    "libsvm": ("#CC79A7", "-", "X"),
}
#: Values of s that figure 5 has as numbers.
LABELLED = (0.9,)
CURVES = [method for method in METHODS.values() if method.has_curve]


def draw(summary: Summary, folder: Path) -> Iterator[tuple[str, Any]]:
    """All figures, with a CSV file of what each shows; and the tables as CSV files."""
    write_tables(summary, folder)
    yield "figure1", _figure_1(summary, folder / "figure1.csv")
    yield "figure2", _figure_2(summary, folder / "figure2.csv")
    yield "figure4", _curves(summary, folder / "figure4.csv", "prbep", "PRBEP on the test set, %")
    yield "figure5", _figure_5(summary, folder / "figure5.csv")
    yield "figure6", _curves(summary, folder / "figure6.csv", "n_support", "support vectors")
    yield "figure7", _curves(summary, folder / "figure7.csv", "kernel_needed", "kernel values, millions")
    yield "figure8", _figure_8(summary, folder / "figure8.csv")


# ---- figure 1 ----------------------------------------------------------------------------------------


def _figure_1(summary: Summary, path: Path) -> Any:
    """Duality gap of LASVM-G over the number of examples visited."""
    rows: list[Any] = []
    figure, axes = panels("duality gap per example", "training examples")
    lines = (("duality_gap", "gap", "-", "#0072B2"), ("duality_gap_target", "target, equation 8", ":", "#7F7F7F"))
    for data, axis in zip(SETS.values(), axes, strict=True):
        found = summary.one("gap", name=data.name)
        if found is not None:
            steps = found["step"]
            for key, _, style, colour in lines:
                per_example = [value / step for value, step in zip(found[key], steps, strict=True)]
                axis.plot(steps, per_example, ls=style, color=colour, lw=1.2)
            rows += [[data.title, *point] for point in zip(steps, *(found[key] for key, *_ in lines), strict=True)]
            axis.set_yscale("log")
        finish_panel(axis, data)
    write_csv(path, ("data set", "examples", "duality gap", "target"), rows)
    handles = [Line2D([], [], color=colour, ls=style, label=label) for _, label, style, colour in lines]
    add_legend(figure, [], handles)
    return figure


# ---- curves: figures 2, 4, 6 and 7 -------------------------------------------------------------------


def _curves(summary: Summary, path: Path, key: str, label: str) -> Any:
    metric, rows = METRIC[key], []
    figure, axes = panels(label, "training examples")
    for data, axis in zip(SETS.values(), axes, strict=True):
        ends: list[float] = []
        for method in CURVES:
            points = summary.curve(data, method, key)
            rows += _rows(data, method, key, points, metric.factor)
            if not points:
                continue
            line(axis, method, points, metric.factor)
            known = published.value(key, method.published, data.name)
            if known is not None:
                size = summary.runs(data, method)[0]["n_train"]
                axis.plot(1.04 * size, known, STYLE[method.name][2], mec=STYLE[method.name][0], mfc="none", ms=5)
                ends.append(known)
        if key == "prbep" and axis.lines:
            _cut_below(axis, summary, data, ends)
        elif axis.lines:
            axis.set_ylim(bottom=0)
        finish_panel(axis, data)
    write_csv(path, ("data set", "method", "examples", "runs", key, "sd"), rows)
    extra = [Line2D([], [], color="grey", marker="o", mfc="none", ls="none", label="published, end of training")]
    add_legend(figure, CURVES, extra)
    return figure


def _cut_below(axis: Axes, summary: Summary, data: Set, ends: list[float]) -> None:
    """PRBEP of the first models says little: the axis begins near the worst value after a tenth of the examples."""
    values = list(ends)
    for method in CURVES:
        points = summary.curve(data, method, "prbep")
        values += [100 * cell.mean for step, cell in points if step >= 0.1 * points[-1][0]]
    low, high = min(values), max(values)
    room = max(0.1 * (high - low), 0.2)
    axis.set_ylim(low - room, high + room)


def _figure_2(summary: Summary, path: Path) -> Any:
    """LASVM against LASVM-G on adult: test error and support vectors."""
    data, rows = SETS["adult"], []
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    shown = [METHODS["lasvm"], METHODS["g"]]
    for axis, key, factor, title in (
        (axes[0], "error", 100.0, "(a) test error, %"),
        (axes[1], "n_support", 1.0, "(b) support vectors"),
    ):
        late: list[float] = []
        for method in shown:
            points = summary.curve(data, method, "accuracy" if key == "error" else key)
            if key == "error":
                points = [(step, type(c)(1 - c.mean, c.sd, c.runs)) for step, c in points]
            rows += _rows(data, method, key, points, factor, named=True)
            if points:
                line(axis, method, points, factor, band=True)
                late += [factor * cell.mean for step, cell in points if step >= 0.05 * points[-1][0]]
        if key == "error" and late:  # the first models would take all the room
            room = 0.3 * (max(late) - min(late)) + 0.1
            axis.set_ylim(min(late) - room, max(late) + room)
        axis.set(title=title, xlabel="training examples")
        axis.xaxis.set_major_formatter(FuncFormatter(thousands))
    figure.suptitle(data.title)
    write_csv(path, ("data set", "method", "examples", "runs", "quantity", "value", "sd"), rows)
    add_legend(figure, shown, [])
    return figure


def _rows(data: Set, method: Method, key: str, points: list[Any], factor: float, named: bool = False) -> list[Any]:
    start = [data.title, method.title]
    return [
        [*start, step, c.runs, *([key] if named else []), factor * c.mean, None if c.sd is None else factor * c.sd]
        for step, c in points
    ]


# ---- figure 5 ----------------------------------------------------------------------------------------


def _figure_5(summary: Summary, path: Path) -> Any:
    rows: list[Any] = []
    figure, axes = panels("test error, % (log scale)", "support vectors")
    for data, axis in zip(SETS.values(), axes, strict=True):
        for method in METHODS.values():
            found = []
            for s in S_GRID if method.has_ramp else (S,):
                size, hit = (summary.cell(METRIC[key], data, method, s) for key in ("n_support", "accuracy"))
                if size is not None and hit is not None:
                    found.append((s, size.mean, 100 - hit.mean))
                    shown_s = s if method.has_ramp else None
                    rows.append([data.title, method.title, shown_s, hit.runs, size.mean, 100 - hit.mean, hit.sd])
            if found:
                _ramp(axis, method, found)
        if axis.lines:
            axis.set_yscale("log")
            axis.margins(x=0.1, y=0.12)
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
            axis.yaxis.set_minor_formatter(NullFormatter())
            axis.xaxis.set_major_locator(MaxNLocator(5))
        finish_panel(axis, data, short=False)
    header = ("data set", "method", "s", "runs", "support vectors", "test error %", "sd of the error")
    write_csv(path, header, rows)
    ring = Line2D([], [], color="grey", marker="o", ms=10, mfc="none", ls="none", label="s = -1")
    add_legend(figure, list(METHODS.values()), [ring], markers=True)
    return figure


def _ramp(axis: Axes, method: Method, found: list[tuple[float, float, float]]) -> None:
    colour, style, marker = STYLE[method.name]
    _, sizes, errors = zip(*found, strict=True)
    axis.plot(sizes, errors, marker=marker, ms=4.5 if method.has_ramp else 7, color=colour, lw=1.1, ls=style)
    for s, size, error in found:
        if method.has_ramp and s == S:
            axis.plot(size, error, "o", ms=10, mec=colour, mfc="none")
        if method.name == "nc" and s in LABELLED:
            axis.annotate(f"{s:g}", (size, error), (6, 2), textcoords="offset points", color=colour, fontsize=7)


# ---- figure 8 ----------------------------------------------------------------------------------------


def _figure_8(summary: Summary, path: Path) -> Any:
    metric, rows = METRIC["seconds"], []
    figure, axes = panels("training time, s (log scale)", "")
    for data, axis in zip(SETS.values(), axes, strict=True):
        for place, method in enumerate(METHODS.values()):
            known = published.value("seconds", method.published, data.name)
            ours = summary.cell(metric, data, method)
            if ours is None:
                continue
            axis.bar(place, ours.mean, 0.7, color=STYLE[method.name][0], yerr=ours.sd, error_kw={"lw": 0.8})
            if known is not None:
                axis.plot([place - 0.42, place + 0.42], [known, known], color="dimgrey", lw=1.8)
            rows.append([data.title, method.title, ours.runs, ours.mean, ours.sd, known])
        if axis.patches:
            axis.set_yscale("log")
        axis.set_xticks(range(len(METHODS)), [m.title for m in METHODS.values()], rotation=40, ha="right", fontsize=7)
        axis.grid(axis="x", visible=False)
        axis.set_title(data.title)
        mark_empty(axis)
    write_csv(path, ("data set", "method", "runs", "seconds", "sd", "published"), rows)
    extra = [Line2D([], [], color="dimgrey", lw=1.8, label="published (another machine)")]
    add_legend(figure, [], extra)
    return figure


# ---- panels, legends and lines ------------------------------------------------------------------------


def panels(y_label: str, x_label: str) -> tuple[Any, list[Axes]]:
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.8), layout="constrained")
    for axis in axes[:, 0]:
        axis.set_ylabel(y_label)
    for axis in axes[1]:
        axis.set_xlabel(x_label)
    return figure, list(axes.ravel())


def finish_panel(axis: Axes, data: Set, short: bool = True) -> None:
    axis.set_title(data.title)
    if short:
        axis.xaxis.set_major_formatter(FuncFormatter(thousands))
    mark_empty(axis)


def add_legend(figure: Any, methods: list[Method], extra: list[Any], markers: bool = False) -> None:
    """Methods by colour and line style, and what else there is to explain."""
    handles = []
    for method in methods:
        colour, style, marker = STYLE[method.name]
        style = style if method.has_curve and (method.has_ramp or not markers) else "none"
        handles.append(Line2D([], [], color=colour, ls=style, marker=marker if markers else "", label=method.title))
    shown = handles + extra
    legend(figure, shown, [handle.get_label() for handle in shown], columns=5 if len(shown) > 8 else 0)


def line(axis: Axes, method: Method, points: list[Any], factor: float, band: bool = False) -> None:
    """Mean over the runs and, if wanted, a band of one standard deviation."""
    colour, style, _ = STYLE[method.name]
    x = [step for step, _ in points]
    y = [factor * cell.mean for _, cell in points]
    axis.plot(x, y, ls=style, color=colour, lw=1.5)
    if band and all(cell.sd is not None for _, cell in points):
        low, high = ([v + sign * factor * cell.sd for v, (_, cell) in zip(y, points, strict=True)] for sign in (-1, 1))
        axis.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)
