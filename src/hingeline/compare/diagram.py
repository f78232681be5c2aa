"""Critical-difference diagram. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from .._extras import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .ranks import Comparison, MethodRank, PostHoc

#: Heights in units of one line of text; the axis of ranks is at 0, lines go down.
LINE, FIRST_BAR, BAR_STEP = 1.0, 0.55, 0.42
DARK, GREY, RED = "#222222", "#9a9a9a", "#c0392b"


def groups(ranks: npt.NDArray[np.float64], distance: float) -> list[tuple[int, int]]:
    """First and last place of the maximal runs of sorted mean ranks that lie within the distance."""
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = int(np.searchsorted(ranks, ranks[first] + distance, side="left")) - 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def levels(spans: list[tuple[int, int]]) -> list[int]:
    """Smallest level for every span such that spans of one level share no place."""
    ends: list[int] = []
    found = []
    for first, last in spans:
        level = next((k for k, end in enumerate(ends) if end < first), len(ends))
        ends[level : level + 1] = [last]
        found.append(level)
    return found


def draw(result: Comparison, test: PostHoc, ax: Axes | None) -> Figure:
    """Draw the diagram; return the figure."""
    distance = result.critical_distance(test)
    rows = result.summary()
    ranks = np.array([row.mean_rank for row in rows])
    spans = groups(ranks, distance) if test == "nemenyi" else []
    stacked = levels(spans)
    top = FIRST_BAR + BAR_STEP * (max(stacked, default=-1) + 1) + 0.35
    height = top + LINE * ((len(rows) - 1) // 2) + 0.7
    if ax is None:
        ax = _make_axes(height)
    k = len(rows)
    margin = 0.18 * (k - 1)
    ax.set(xlim=(1 - margin, k + margin), ylim=(-height, 2.2))
    ax.set_axis_off()
    _axis(ax, k)
    _names(ax, rows, top, result.control if test == "bonferroni-dunn" else None)
    _distance(ax, distance, k)
    for (first, last), level in zip(spans, stacked, strict=True):
        y = -FIRST_BAR - BAR_STEP * level
        ax.plot([ranks[first], ranks[last]], [y, y], color=DARK, linewidth=4, solid_capstyle="round")
    if test == "bonferroni-dunn":
        _band(ax, next(row.mean_rank for row in rows if row.method == result.control), distance, k)
    return cast("Figure", ax.figure)


def file_formats() -> list[str]:
    """Endings of the files that a figure can be written to."""
    with optional("A figure"):
        from matplotlib.backend_bases import FigureCanvasBase

    return sorted(FigureCanvasBase.get_supported_filetypes())


def _make_axes(height: float) -> Axes:
    with optional("plot"):
        import matplotlib.pyplot as plt
    _, ax = plt.subplots(figsize=(7.5, 0.55 + 0.26 * (height + 2.2)), layout="constrained")
    return ax


def _axis(ax: Axes, k: int) -> None:
    ax.plot([1, k], [0, 0], color=DARK, linewidth=1.2)
    for rank in np.arange(1, k + 0.25, 0.5):
        whole = rank == round(rank)
        ax.plot([rank, rank], [0, 0.28 if whole else 0.15], color=DARK, linewidth=1.2)
        if whole:
            ax.text(rank, 0.36, f"{rank:g}", ha="center", va="bottom", color=DARK)


def _names(ax: Axes, rows: Sequence[MethodRank], top: float, bold: str | None) -> None:
    """The better half on the left, from top to bottom; the others on the right, from bottom to top."""
    k, half = len(rows), (len(rows) + 1) // 2
    for place, row in enumerate(rows):
        left = place < half
        y = -top - LINE * (place if left else k - 1 - place)
        end = 1 - 0.03 * (k - 1) if left else k + 0.03 * (k - 1)
        ax.plot([row.mean_rank, row.mean_rank, end], [0, y, y], color=GREY, linewidth=1, zorder=1)
        ax.plot(row.mean_rank, 0, "o", color=DARK, markersize=4, zorder=3)
        text = f"{row.method}  {row.mean_rank:.2f}" if left else f"{row.mean_rank:.2f}  {row.method}"
        weight = "bold" if row.method == bold else "normal"
        ax.text(end, y, f" {text} ", ha="right" if left else "left", va="center", color=DARK, weight=weight)


def _distance(ax: Axes, distance: float, k: int) -> None:
    """Length of the critical distance above the axis, from rank 1; it may be longer than the axis."""
    y = 1.5
    end = min(1 + distance, k)
    ax.plot([1, end], [y, y], color=RED, linewidth=1.5)
    for x in (1, end) if end == 1 + distance else (1,):
        ax.plot([x, x], [y - 0.12, y + 0.12], color=RED, linewidth=1.5)
    ax.text(1, y + 0.2, f"critical distance {distance:.3f}", ha="left", va="bottom", color=RED)


def _band(ax: Axes, centre: float, distance: float, k: int) -> None:
    low, high = max(1.0, centre - distance), min(float(k), centre + distance)
    ax.fill_between([low, high], -0.3, 0.3, color=GREY, alpha=0.45, linewidth=0, zorder=0)
