"""Looks that all figures share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

#: Colours that colour-blind readers can tell apart (Okabe and Ito).
BLACK, BLUE, RED, ORANGE = "#000000", "#0072B2", "#D55E00", "#E69F00"
GREEN, PINK, SKY = "#009E73", "#CC79A7", "#56B4E9"
plt.rcParams.update(
    {
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "grid.linewidth": 0.6,
        "savefig.dpi": 150,
    }
)

__all__ = ["BLACK", "BLUE", "GREEN", "ORANGE", "PINK", "RED", "SKY", "legend", "mark_empty", "plt", "save", "thousands"]


def thousands(value: float, _: int = 0) -> str:
    return f"{value / 1000:g}k" if value else "0"


def mark_empty(axis: Axes) -> None:
    """Write "not run" into a panel without data."""
    if not axis.lines and not axis.patches:
        axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center", va="center", color="grey")
        axis.set(xticks=[], yticks=[])


def legend(figure: Any, handles: Any, labels: Any, columns: int = 0, size: float = 8) -> None:
    """One legend for all panels, below them."""
    ncols = columns or len(handles)
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, frameon=False, fontsize=size)


def save(figures: Iterable[tuple[str, Any]], folder: Path) -> None:
    """Write each figure as NAME.png."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures:
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
        figure.savefig(folder / f"{name}.png")
        plt.close(figure)
