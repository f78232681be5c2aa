"""Colours, panels and legends of the figures."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from benchmarks.plots import legend, mark_empty, plt, thousands

from .settings import Method, Set

#: Colour, and a line style and marker for print.
STYLE: dict[str, tuple[str, Any, str]] = {
    "full": ("#000000", "-", "s"),
    "g": ("#0072B2", "--", "^"),
    "nc": ("#D55E00", "-", "o"),
    "i": ("#E69F00", "-.", "D"),
    "lasvm": ("#009E73", ":", "v"),
    "lasvm-finished": ("#66C2A5", ":", "v"),
    "libsvm": ("#CC79A7", "-", "X"),
}


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
    legend(figure, handles + extra, [handle.get_label() for handle in handles + extra])


def line(axis: Axes, method: Method, points: list[Any], factor: float, band: bool = False) -> None:
    """Mean over the runs and, if wanted, a band of one standard deviation."""
    colour, style, _ = STYLE[method.name]
    x = [step for step, _ in points]
    y = [factor * cell.mean for _, cell in points]
    axis.plot(x, y, ls=style, color=colour, lw=1.5)
    if band and all(cell.sd is not None for _, cell in points):
        low, high = ([v + sign * factor * cell.sd for v, (_, cell) in zip(y, points, strict=True)] for sign in (-1, 1))
        axis.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)
