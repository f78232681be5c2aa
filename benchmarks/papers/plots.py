"""Looks that the figures of all papers share."""

from __future__ import annotations

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

__all__ = ["BLACK", "BLUE", "GREEN", "ORANGE", "PINK", "RED", "SKY", "mark_empty", "plt", "thousands"]


def thousands(value: float, _: int) -> str:
    return f"{value / 1000:g}k" if value else "0"


def mark_empty(axis: Axes) -> None:
    if not axis.lines and not axis.patches:
        axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center", va="center", color="grey")
        axis.set(xticks=[], yticks=[])
