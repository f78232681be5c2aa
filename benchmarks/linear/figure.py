"""Accuracy against training time: maps with linear machines, and kernel machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.harness import Case
from benchmarks.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, mark_empty, plt

from .settings import KERNEL_SETS, SETS

#: Beginning of a label: colour and marker.
_LOOKS = {
    "hingeline": (BLUE, "o"),
    "SGDClassifier": (ORANGE, "s"),
    "sklearn LinearSVC": (RED, "D"),
    "WorstViolatorSVC": (SKY, "v"),
    "LASVC": (GREEN, "^"),
    "scikit-learn SVC": (BLACK, "x"),
    "scikit-learn-intelex SVC": (PINK, "+"),
}


def draw(results: list[tuple[Case, dict[str, Any]]], path: Path) -> bool:
    """Whether there was anything to draw."""
    chosen = [(case, result) for case, result in results if case.kind in ("nystroem", "exact") and result["rows"]]
    if not chosen:
        return False
    figure, axes = plt.subplots(1, len(KERNEL_SETS), figsize=(4.2 * len(KERNEL_SETS), 3.8))
    shown: dict[str, Any] = {}
    for axis, name in zip(axes, KERNEL_SETS, strict=True):
        for case, result in chosen:
            if case.name.split("-")[1] == name:
                for row in result["rows"]:
                    _point(axis, case, row, shown)
        axis.set(title=SETS[name].title, xscale="log", xlabel="training, seconds")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axis.xaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
        axis.xaxis.set_minor_formatter(NullFormatter())
        mark_empty(axis)
    axes[0].set_ylabel("test accuracy, %")
    figure.legend(
        shown.values(), shown.keys(), loc="lower center", ncols=-(-len(shown) // 2), frameon=False, fontsize=8
    )
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.savefig(path)
    plt.close(figure)
    return True


def _point(axis: Any, case: Case, row: dict[str, Any], shown: dict[str, Any]) -> None:
    label = max((key for key in _LOOKS if row["label"].startswith(key)), key=len)
    colour, marker = _LOOKS[label]
    large = case.options.get("components", 0) >= 1000
    time = next(iter(row["times"].values()))["median"]
    accuracy = next(value for key, value in row["facts"].items() if key.startswith("accuracy"))
    filled = colour if large or case.kind == "exact" else "none"
    (line,) = axis.plot([time], [accuracy], marker, color=colour, markerfacecolor=filled, markersize=6, linestyle="")
    if case.kind == "nystroem":
        label += f", Nystroem({case.options['components']})"
    shown.setdefault(label, line)
