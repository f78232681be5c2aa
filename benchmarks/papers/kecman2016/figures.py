"""Figures 1 and 2 (one), 3 and 4 (one), 5 to 8, and times over the grid of all sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullFormatter

from benchmarks.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, legend, mark_empty, plt

from .settings import METHODS, OL, OL_AVERAGE, SETS, SVC_, WAYS
from .summary import Cell, Place, Summary, error, spread

STYLE = {
    SVC_: (BLUE, "o-", 1.4),
    OL: (RED, "s-", 1.4),
    OL_AVERAGE: (ORANGE, "^:", 1.2),
    "norma-literal": (BLUE, "o-", 1.4),
    "norma": (SKY, "v:", 1.2),
    "pegaz": (GREEN, "^-", 1.4),
}
COLOURS = dict(zip(SETS, (BLACK, BLUE, SKY, GREEN, ORANGE, RED, PINK, "#777777"), strict=True))
MARKERS = dict(zip(SETS, "osv^DPX*", strict=True))


def draw(summary: Summary, _: Path) -> Iterator[tuple[str, Any]]:
    runs = (SVC_, OL, OL_AVERAGE)
    listed, ours = ({method: summary.online(way, method) for method in WAYS[way]} for way in WAYS)
    yield "figure1", _runs({m: summary.grid("normals", m) for m in runs}, "two normals")
    yield "figure3", _runs({m: summary.grid("reuters", m) for m in runs}, "reuters")
    yield "figure5", _runs(listed, "chessboard, the lists in NumPy")
    yield "figure7", _runs(ours, "chessboard, ours")
    yield "times", _times(summary)


def _runs(grids: dict[str, dict[Place, Cell]], title: str) -> Any:
    """Errors and times in the order of the paper: one C with all sigmas, then the next C."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    for method, grid in grids.items():
        if grid:
            colour, style, width = STYLE[method]
            x = range(1, len(grid) + 1)
            seconds = [cell["seconds"] / cell["folds"] for cell in grid.values()]
            for axis, values in zip(axes, ([error(c) for c in grid.values()], seconds), strict=True):
                axis.plot(x, values, style, color=colour, ms=3.2, lw=width, label=METHODS[method].title)
            ended = [(k, s) for k, s, c in zip(x, seconds, grid.values(), strict=True) if c.get("ended") and
                     method == SVC_]  # fmt: skip
            if ended:
                axes[1].plot(*zip(*ended, strict=True), "o", ms=8, mfc="none", color=BLACK, label="SVC at its limit")
    grid = next((g for g in grids.values() if g), {})
    Cs = list(dict.fromkeys(C for C, _ in grid))
    each = len(grid) // max(1, len(Cs))
    for axis, what in zip(axes, ("test error, %", "training time of a fit, s"), strict=True):
        axis.set_title(f"{title}: {'error' if axis is axes[0] else 'time'}")
        if axis.lines:
            for k in range(1, len(Cs)):
                axis.axvline(k * each + 0.5, color="grey", lw=0.5, alpha=0.6)
            axis.set_xticks([k * each + (each + 1) / 2 for k in range(len(Cs))], [_power(C) for C in Cs])
            axis.grid(axis="x", visible=False)
            axis.tick_params(axis="x", length=0)
            axis.set(xlabel="C; within each: sigma = 0.1, 1, 10, 100", ylabel=what, xlim=(0.3, len(grid) + 0.7))
        mark_empty(axis)
    if axes[1].lines:
        axes[1].set_yscale("log")
        axes[0].set_ylim(bottom=0)
        handles, labels = axes[1].get_legend_handles_labels()
        legend(figure, handles, labels, size=9)
    return figure


def _power(C: float) -> str:
    return f"$10^{{{round(np.log10(C))}}}$"


def _times(summary: Summary) -> Any:
    """Largest over smallest time of each set; time of OL SVM against violations."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    names = [name for name in summary.names("cv", SETS) if summary.grid(name, OL) and summary.grid(name, SVC_)]
    for place, name in enumerate(names):
        ol = summary.grid(name, OL)
        values = (spread(summary.grid(name, SVC_)), spread(ol), spread(ol, "violations"))
        for k, (value, colour) in enumerate(zip(values, (BLUE, RED, ORANGE), strict=True)):
            left.bar(place + 0.27 * (k - 1), value, 0.25, color=colour)
        cells = ol.values()
        points = [(c["violations"] / c["folds"], c["seconds"] / c["folds"]) for c in cells]
        right.plot(
            *zip(*points, strict=True), MARKERS[name], ms=4.5, alpha=0.7, color=COLOURS[name], label=SETS[name].title,
            ls="none",
        )  # fmt: skip
    if names:
        left.set_yscale("log")
        left.axhline(1, color=BLACK, lw=0.8)
        titles = [SETS[name].title.partition(",")[0] for name in names]
        left.set_xticks(range(len(names)), titles, rotation=35, ha="right")
        left.grid(axis="x", visible=False)
        left.set(title="over the grid: largest / smallest", ylabel="ratio (log scale)")
        left.yaxis.set_minor_formatter(NullFormatter())
        labels = ("time of SVC", "time of OL SVM", "violations of OL SVM")
        handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in (BLUE, RED, ORANGE)]
        low, high = left.get_ylim()
        left.set_ylim(low, high * 3)  # room for the legend
        left.legend(handles, labels, frameon=False, loc="upper left", ncols=1, fontsize=8)
        right.set(xscale="log", yscale="log", xlabel="violations in a fit", ylabel="training time of a fit, s")
        right.set_title("OL SVM: every cell of the grid")
        right.legend(frameon=False, fontsize=7.5, loc="upper left")
    mark_empty(left)
    mark_empty(right)
    return figure
