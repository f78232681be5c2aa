"""Figures 1.1 and 1.3 to 1.9."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.plots import BLACK, BLUE, GREEN, ORANGE, RED, SKY, legend, mark_empty, plt

from . import data
from .settings import (
    FIRST,
    GRID_POINTS,
    METHODS,
    MNSVM,
    NNISDA,
    OLLAWV,
    PLANE,
    PUBLISHED,
    SEARCHED,
    SECOND,
    SEED,
    SETS,
    SVC_,
)
from .summary import Summary, recomputed

STYLE = {
    OLLAWV: (RED, "o"),
    NNISDA: (BLUE, "s"),
    MNSVM: (GREEN, "^"),
    SVC_: (BLACK, "x"),
    SEARCHED: (ORANGE, "v"),
}


def draw(summary: Summary, _: Path) -> Iterator[tuple[str, Any]]:
    yield "figure1_1", _boundaries(summary)
    yield "figure1_3", _distances(summary, "accuracy", FIRST)
    yield "figure1_4", _distances(summary, "seconds", FIRST)
    yield "figure1_5", _distances(summary, "support", FIRST)
    yield "figure1_6", _by_size(summary, "seconds", "processor time of the whole procedure, s")
    yield "figure1_7", _by_size(summary, "support", "support vectors, % of the training samples")
    yield "figure1_8", _distances(summary, "accuracy", SECOND)
    yield "figure1_9", _means(summary)


def _boundaries(summary: Summary) -> Any:
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    found = {at["n"]: result for at, result in summary.of("boundary")}
    x0, x1, y0, y1 = PLANE
    across, up = np.linspace(x0, x1, GRID_POINTS), np.linspace(y0, y1, GRID_POINTS)
    shape = (GRID_POINTS, GRID_POINTS)
    best = data.bayes_margin(np.column_stack([p.ravel() for p in np.meshgrid(across, up)])).reshape(shape)
    for axis, n in zip(axes, sorted(found), strict=False):
        X, y = data.two_normals(n, SEED)
        for label, colour, marker in ((-1, SKY, "o"), (1, ORANGE, "^")):
            axis.plot(*X[y == label].T, marker, color=colour, ms=3, alpha=0.5, ls="none")
        axis.contour(across, up, best, [0], colors=BLACK, linestyles="--", linewidths=1.5)
        for method in (OLLAWV, SVC_):
            values = np.reshape(found[n][method]["plane"], shape)
            axis.contour(across, up, values, [0], colors=RED if method == OLLAWV else BLUE, linewidths=1.6)
        axis.set(title=f"{n:,} points", xlim=(x0, x1), ylim=(y0, y1))
    for axis in axes:
        mark_empty(axis)
    lines = [plt.Line2D([], [], color=c, ls=s) for c, s in ((RED, "-"), (BLUE, "-"), (BLACK, "--"))]
    legend(figure, lines, ["OLLAWV", "SVC", "Bayes"], size=9)
    return figure


def _distances(summary: Summary, what: str, methods: Sequence[str]) -> Any:
    """Bonferroni-Dunn diagrams: the printed table with ranks computed again, and ours."""
    figure, axes = plt.subplots(2, 1, figsize=(7.5, 4.2 if len(methods) < 4 else 5.2), layout="constrained")
    ours = summary.compared(what, methods)
    known = recomputed(what, methods)
    known.plot("bonferroni-dunn", ax=axes[0])
    axes[0].set_title(f"published table, {len(known.datasets)} sets, ranks computed again", loc="left")
    if ours is None:
        mark_empty(axes[1])
    else:
        ours.plot("bonferroni-dunn", ax=axes[1])
        axes[1].set_title(f"ours, {len(ours.datasets)} sets", loc="left")
    return figure


def _by_size(summary: Summary, what: str, words: str) -> Any:
    """Against the number of samples: published and ours, on common axes."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharex=True, sharey=True, layout="constrained")
    for k, method in enumerate(FIRST):
        colour, marker = STYLE[method]
        known = sorted((PUBLISHED["sizes"][name][0], PUBLISHED[what][name][k]) for name in SETS)
        axes[0].plot(*zip(*known, strict=True), f"{marker}-", color=colour, ms=4, lw=1, label=METHODS[method].title)
    for method, (colour, marker) in STYLE.items():
        rows = [(PUBLISHED["sizes"][name][0], summary.row(name, method)) for name in SETS]
        points = sorted((n, getattr(row, what)) for n, row in rows if row is not None)
        if points:
            axes[1].plot(
                *zip(*points, strict=True), f"{marker}-", color=colour, ms=4, lw=1, label=METHODS[method].title
            )
    axes[0].set(xscale="log", yscale="log", ylabel=words, title="published")
    axes[1].set(title="ours")
    for axis in axes:
        axis.set_xlabel("samples")
        mark_empty(axis)
    handles, labels = axes[1].get_legend_handles_labels() if axes[1].lines else axes[0].get_legend_handles_labels()
    legend(figure, handles, labels, size=9)
    return figure


def _means(summary: Summary) -> Any:
    """Mean accuracies of Table 1.5; both over the sets that we have run."""
    figure, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
    names = summary.done(SECOND)
    ours = summary.values("accuracy", SECOND)
    for place, method in enumerate(SECOND):
        known = [(PUBLISHED["accuracy"][n][0], *PUBLISHED["others"][n])[place] for n in names]
        for shift, values, colour, label in (
            (-0.2, known, "#999999", "published"),
            (0.2, list(ours[METHODS[method].title].values()), RED, "ours"),
        ):
            if values:
                height = mean(values)
                axis.bar(place + shift, height, 0.38, color=colour, label=label if place == 0 else None)
                axis.text(place + shift, height + 0.3, f"{height:.1f}", ha="center", fontsize=8)
    if names:
        axis.set_xticks(range(len(SECOND)), [METHODS[m].title for m in SECOND])
        axis.set(ylabel="mean accuracy, %", ylim=(60, 100), title=f"mean over the same {len(names)} sets")
        axis.grid(axis="x", visible=False)
        axis.legend(frameon=False, ncols=2, loc="upper right")
    mark_empty(axis)
    return figure
