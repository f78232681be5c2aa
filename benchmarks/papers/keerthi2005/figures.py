"""Figure 1, and Tables 4 to 6 as curves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.ticker import NullLocator

from benchmarks.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, legend, mark_empty, plt

from . import published
from .settings import FAMILIES, LARGE, SETS, SOLVERS
from .summary import Summary, lowest

STYLE = {
    "paper": (RED, "o-"),
    "cg": (ORANGE, "P-"),
    "auto": (SKY, "s-"),
    "s2": (BLUE, "^--"),
    "s1": (GREEN, "v--"),
    "s3": (PINK, "D:"),
}
PUBLISHED_STYLE = {"light": (BLACK, "D:"), "bsvm": ("#777777", "v:"), "mfn": (RED, "o-")}
#: One published error of SVM-light is 7.76 % among neighbours of 3.07 %: drawn at the edge.
TOP = {"news20": 3.6}
MEASURES = {"seconds": "training time, s", "passes": "passes over the rows"}


def draw(summary: Summary, _: Path) -> Iterator[tuple[str, Any]]:
    yield "figure1", _scaling(summary)
    yield "tables", _grids(summary)


def _scaling(summary: Summary) -> Any:
    """Time and passes against rows; open symbols: the published ends of the curves."""
    figure, axes = plt.subplots(2, 2, figsize=(9, 7.6), layout="constrained", sharey="row", sharex="col")
    for row, (key, label) in zip(axes, MEASURES.items(), strict=True):
        for axis, (family, names) in zip(row, FAMILIES.items(), strict=True):
            for solver, (colour, style) in STYLE.items():
                points = summary.curve(family, solver, key)
                if points:
                    slope = summary.slope(family, solver, key)
                    text = SOLVERS[solver].title + (f": m^{slope:.2f}" if slope is not None else "")
                    axis.plot(*zip(*points, strict=True), style, color=colour, ms=4.5, lw=1.5, label=text)
            if axis.lines:
                axis.legend(frameon=False, fontsize=7, loc="upper left")
                if key == "seconds":
                    _ends(axis, names[-1])
                axis.set(xscale="log", yscale="log")
                sizes = [SETS[name].rows or 0 for name in names]
                axis.xaxis.set_minor_locator(NullLocator())
                axis.set_xticks(sizes, [f"{n:,}" for n in sizes])
            mark_empty(axis)
        row[0].set_ylabel(label)
        low, high = row[0].get_ylim()
        if row[0].lines and key == "passes":
            row[0].set_ylim(low, high * 8)  # room for the legends
    for axis, low, family in zip(*axes, FAMILIES, strict=True):
        axis.set_title(family)
        low.set_xlabel("training examples m")
    return figure


def _ends(axis: Any, name: str) -> None:
    """Published times at the best C of each method; names that would overlap are one above the other."""
    ends = []
    for method, title in published.METHODS.items():
        seconds = published.seconds(name, method)
        place = lowest(published.errors(name, method), seconds)
        if place is not None and seconds[place]:
            ends.append((seconds[place] or 1.0, method, title))
    below = 0.0
    for value, method, title in sorted(ends):
        colour, style = PUBLISHED_STYLE[method]
        axis.plot(SETS[name].rows, value, style[0], color=colour, mfc="none", ms=7, ls="")
        below = max(value, 2.2 * below)
        axis.annotate(
            f"published: {title}", (SETS[name].rows or 0, below), (-9, 0), textcoords="offset points",
            ha="right", va="center", fontsize=7, color=colour,
        )  # fmt: skip


def _grids(summary: Summary) -> Any:
    """Times as published, our times, and the CV errors of both."""
    figure = plt.figure(figsize=(10.5, 10), layout="constrained")
    parts: Any = figure.subfigures(3, 1)
    labels = ("published time, s", "our machine: time, s", "CV error, %")
    for part, draw, label in zip(parts, (_published, _times, _errors), labels, strict=True):
        axes: Any = part.subplots(1, len(LARGE))
        for axis, (name, place) in zip(axes, LARGE.items(), strict=True):
            draw(summary, axis, name)
            axis.set(title=f"{SETS[name].title} (Table {place})", xlabel="log2 C")
            mark_empty(axis)
        axes[0].set_ylabel(label)
        handles = {text: line for axis in axes for line, text in zip(*axis.get_legend_handles_labels(), strict=True)}
        if handles:
            legend(part, list(handles.values()), list(handles), size=7.5)
    return figure


def _published(summary: Summary, axis: Any, name: str) -> None:
    for method, (colour, style) in PUBLISHED_STYLE.items():
        _line(axis, name, published.seconds(name, method), style, colour, f"published: {published.METHODS[method]}")
    axis.set_yscale("log")


def _times(summary: Summary, axis: Any, name: str) -> None:
    for solver, (colour, style) in STYLE.items():
        _line(axis, name, summary.fits(name, solver), style, colour, SOLVERS[solver].title)
    axis.set_yscale("log")


def _errors(summary: Summary, axis: Any, name: str) -> None:
    for method, (colour, style) in PUBLISHED_STYLE.items():
        errors = [min(e, TOP.get(name, e)) for e in published.errors(name, method)]
        _line(axis, name, errors, style, colour, f"published: {published.METHODS[method]}", hollow=True)
    for solver, title in (("auto", "ours, squared hinge"), ("s3", "LIBLINEAR -s 3, hinge")):
        colour, style = STYLE[solver]
        _line(axis, name, summary.errors(name, solver), style, colour, title)


def _line(axis: Any, name: str, values: Any, style: str, colour: str, label: str, hollow: bool = False) -> None:
    points = [(c, v) for c, v in zip(SETS[name].grid, values, strict=False) if v is not None]
    if points:
        fill = "none" if hollow else colour
        axis.plot(*zip(*points, strict=True), style, color=colour, mfc=fill, ms=4, lw=1.3, label=label)
