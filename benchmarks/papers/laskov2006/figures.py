"""Figures 1/3 (one), 4/5 (one), 8, 9 and 10."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from benchmarks.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, legend, mark_empty, plt, thousands

from .settings import ACTIVE_KERNELS, KERNELS, PROFILE_KERNELS, PROFILED, RULES, SCALING_KERNELS, SIZES, SOLVERS
from .settings import WINDOWS as W
from .summary import Summary

#: Parts of `profile_`, and what they stand for in the paper (lines of its Algorithm 1).
PARTS = {
    "kernel": ("kernel rows (lines 1, 3)", BLUE),
    "sensitivity": ("beta (line 3)", RED),
    "gradient": ("gamma and gradients (lines 3, 7)", ORANGE),
    "search": ("event search (line 4)", PINK),
    "inverse": ("inverse (line 17)", GREEN),
    "check": ("checks", SKY),
    "other": ("other", "#BBBBBB"),
}
SOLVER_TITLES: dict[Any, str] = {
    None: "one by one",
    **{s: f"SVC, tol = {s:g}" if isinstance(s, float) else "all at once (fit)" for s in SOLVERS},
}
WAY_STYLE = {
    "own": ("ten windows, by weight (the paper's)", RED, "o-"),
    "shared": ("one window for all classes, by weight", BLUE, "s--"),
    "oldest": ("the last rows", BLACK, "^:"),
}
CURVE_STYLE = {
    "anomaly detection": (BLACK, ":"),
    RULES[0]: (RED, "-"),
    RULES[1]: (ORANGE, "--"),
    "full SVM": (GREEN, "-."),
    "reduced SVM": (BLUE, (0, (5, 1))),
}
TRAIN_CURVES = ("anomaly detection", *RULES)


def number(x: float) -> str:
    """Two digits, and all of those before the point."""
    return f"{x:.2g}" if x < 10 else f"{x:.0f}"


def shares(at_size: dict[str, Any]) -> dict[str, float]:
    """Percent of the wall time by part."""
    parts, total = at_size["profile"], at_size["wall_seconds"]
    named = {part: 100 * parts.get(part, 0.0) / total for part in PARTS if part != "other"}
    return {**named, "other": max(0.0, 100 - sum(named.values()))}


def draw(summary: Summary, _: Path) -> Iterator[tuple[str, Any]]:
    yield "figure3", _profile(summary)
    yield "figure5", _scaling(summary)
    yield "figure8", _windows(summary)
    yield "figure9", _curves(summary, "train", TRAIN_CURVES)
    yield "figure10", _curves(summary, "test", tuple(CURVE_STYLE))


def _panels(kernels: tuple[str, ...], height: float, **more: Any) -> Any:
    figure, axes = plt.subplots(1, len(kernels), figsize=(10, height), layout="constrained", **more)
    for axis, kernel in zip(axes, kernels, strict=True):
        axis.set_title(KERNELS[kernel].title)
    return figure, axes


def _profile(summary: Summary) -> Any:
    figure, axes = _panels(PROFILE_KERNELS, 3.8, sharey=True)
    for axis, kernel in zip(axes, PROFILE_KERNELS, strict=True):
        bars = [summary.grown(kernel, n).get(PROFILED) for n in SIZES]
        for place, at_size in enumerate(bars):
            bottom = 0.0
            for part, share in (shares(at_size) if at_size else {}).items():
                axis.bar(place, share, 0.75, bottom=bottom, color=PARTS[part][1], edgecolor="white", linewidth=0.4)
                bottom += share
            if at_size:
                axis.text(place, 101, f"{number(at_size['seconds'])} s", ha="center", fontsize=6.5)
        axis.set_xticks(range(len(SIZES)), [thousands(n) for n in SIZES])
        axis.set(xlabel="training examples", ylim=(0, 108))
        axis.grid(axis="x", visible=False)
        mark_empty(axis)
    axes[0].set_ylabel("share of the time, %")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for _, colour in PARTS.values()]
    legend(figure, handles, [title for title, _ in PARTS.values()], columns=4)
    return figure


def _scaling(summary: Summary) -> Any:
    figure, axes = _panels(SCALING_KERNELS, 3.8, sharey=True)
    for axis, kernel in zip(axes, SCALING_KERNELS, strict=True):
        for (solver, title), colour in zip(SOLVER_TITLES.items(), (RED, ORANGE, BLUE), strict=True):
            for points in summary.times(kernel, solver).values():
                axis.plot(*zip(*points, strict=True), color=colour, lw=0.6, alpha=0.4)
            middle = summary.middle(kernel, solver)
            if middle:
                slope = summary.slope(kernel, solver)
                label = f"{title}: n^{slope:.2f}" if slope else title
                axis.plot(*zip(*middle, strict=True), "o-", ms=3.5, color=colour, lw=1.8, label=label)
        if axis.lines:
            axis.set(xscale="log", yscale="log", xlabel="training examples")
            axis.xaxis.set_minor_locator(NullLocator())
            axis.set_xticks(SIZES, [thousands(n) for n in SIZES])
            axis.legend(frameon=False, fontsize=7.5, loc="upper left")
        mark_empty(axis)
    axes[0].set_ylabel("training time, s")
    low, high = axes[0].get_ylim()
    axes[0].set_ylim(low, high * 12)  # room for the legends
    return figure


def _windows(summary: Summary) -> Any:
    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    places = [w or 2000 for w in W]
    for way, (title, colour, style) in WAY_STYLE.items():
        points = [(x, summary.errors(way, w)) for x, w in zip(places, W, strict=True)]
        points = [(x, errors) for x, errors in points if errors]
        if points:
            x = [x for x, _ in points]
            axis.plot(x, [mean(e) for _, e in points], style, color=colour, ms=4.5, label=title)
            axis.fill_between(
                x, [min(e) for _, e in points], [max(e) for _, e in points], color=colour, alpha=0.12, lw=0
            )
    if axis.lines:
        axis.set(xscale="log", yscale="log", xlabel="window, examples", ylabel="test error, % (log scale)")
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xticks(places, [str(w or "no limit") for w in W])
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_yticks([t for t in (4, 5, 6, 8, 10, 15, 20, 30, 50) if axis.get_ylim()[0] <= t <= axis.get_ylim()[1]])
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.legend(frameon=False)
    mark_empty(axis)
    return figure


def _curves(summary: Summary, part: str, methods: tuple[str, ...]) -> Any:
    """ROC of the first draw; below, its left end."""
    figure, axes = plt.subplots(2, len(ACTIVE_KERNELS), figsize=(10, 6.4), layout="constrained", sharey=True)
    for row, right in zip(axes, (1.0, 0.15), strict=True):
        for axis, kernel in zip(row, ACTIVE_KERNELS, strict=True):
            for method in methods:
                found = summary.curves(kernel, part, method)
                if found:
                    colour, style = CURVE_STYLE[method]
                    axis.plot(found[0]["false"], found[0]["true"], color=colour, ls=style, lw=1.5, label=method)
            axis.set(xlim=(-0.02 * right, right), ylim=(-0.02, 1.03))
            mark_empty(axis)
        row[0].set_ylabel("true positive rate")
    for axis, low, kernel in zip(*axes, ACTIVE_KERNELS, strict=True):
        axis.set_title(KERNELS[kernel].title)
        low.set_xlabel("false positive rate")
    if axes[0, 0].lines:
        handles, labels = axes[0, 0].get_legend_handles_labels()
        legend(figure, handles, labels)
    return figure
