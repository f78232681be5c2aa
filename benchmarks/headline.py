"""The picture of README.md and of the start page: fit times beside scikit-learn, and forgetting beside training again.

    python -m benchmarks.headline            # writes docs/guide/img/headline*.png

Every number is read from the tables in benchmarks/results.
"""

from __future__ import annotations

from typing import Any

from .claims import RESULTS, ROOT, Section, cells, sections
from .plots import BLUE, RED, plt

#: Orange that is dark enough for text.
DARK_ORANGE = "#B36B00"
FOLDER = ROOT / "docs" / "guide" / "img"
#: Rows of the table "Changing the import", and their labels.
FITS = {
    "adult-1": "adult, C = 1\n32,561 x 123",
    "adult-100": "adult, C = 100\n32,561 x 123",
    "ijcnn1": "ijcnn1\n49,990 x 22",
    "letter": "letter, 26 classes\n16,000 x 16",
}
#: Contestants of the sections "forget-...": their rows, colour, marker and label, and where the label is written.
FORGETS = {
    "hingeline": (BLUE, "o", "IncrementalSVC.forget", (0.06, 2e-12)),
    "SVC, tol = 1e-06": (RED, "^", "scikit-learn SVC fitted again, tol = 1e-6", (0.0045, 6e-6)),
    "SVC, tol = 0.001": (DARK_ORANGE, "s", "scikit-learn SVC fitted again, tol = 1e-3", (0.0045, 4e-4)),
}
CASES = tuple(f"forget-{data}-{which}" for data in ("mnist-sharp", "mnist-flat", "adult-1", "adult-100")
              for which in ("any", "support"))  # fmt: skip


def tables(name: str) -> list[Section]:
    """Sections of a page of results."""
    return sections((RESULTS / name).read_text(encoding="utf-8"))


def draw_fits(ax: Any) -> None:
    """A line from our time to that of scikit-learn, and the ratio."""
    page = tables("svc/README.md")
    for place, case in enumerate(reversed(FITS)):
        ours, theirs = (
            cells(page, "Changing the import*", f"{case}, {who}", "CPU s")[0] for who in ("hingeline", "sklearn")
        )
        ax.plot([ours, theirs], [place, place], color="#c9ced6", linewidth=5, solid_capstyle="butt", zorder=1)
        ax.scatter([ours], [place], s=90, color=BLUE, zorder=2)
        ax.scatter([theirs], [place], s=90, color=DARK_ORANGE, zorder=2, marker="s")
        ax.text((ours * theirs) ** 0.5, place + 0.13, f"{theirs / ours:.2g} times", ha="center", weight="bold")
        ax.text(ours / 1.25, place, f"{ours:.1f} s", ha="right", va="center", color=BLUE, weight="bold")
        ax.text(theirs * 1.25, place, f"{theirs:.2g} s", ha="left", va="center", color=DARK_ORANGE, weight="bold")
    ax.set(xscale="log", xlim=(0.1, 190), ylim=(-0.5, len(FITS) - 0.4), xlabel="CPU seconds of fit, one thread")
    ax.set_yticks(range(len(FITS)), list(reversed(FITS.values())))
    ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    ax.set_title("Change the import: hingeline (blue), scikit-learn (orange)", loc="left", weight="bold")
    ax.grid(axis="y", visible=False)


def draw_forgetting(ax: Any) -> None:
    """Error of the result against time, one point per case."""
    page = tables("incremental-2026-11-15.md")
    for row, (colour, marker, label, place) in FORGETS.items():
        seconds = [cells(page, case, row, "forget, s")[0] for case in CASES]
        violation = [cells(page, case, row, "KKT violation")[0] for case in CASES]
        ax.scatter(seconds, violation, s=60, color=colour, marker=marker, edgecolors="white", linewidths=0.6)
        ax.text(*place, label, color=colour, va="center", weight="bold")
    ax.set(xscale="log", yscale="log", xlim=(0.003, 5), ylim=(1e-15, 0.1))
    ax.set(xlabel="seconds to forget 100 rows of 5,000, one thread", ylabel="violation of the KKT conditions")
    ax.set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
    ax.set_title("Forget rows: the exact model of the others", loc="left", weight="bold")


def main() -> None:
    """Draw the panels beside each other for README.md, and one above the other for the start page of the site."""
    for name, shape, size in (("headline", (1, 2), (11.5, 4.1)), ("headline_tall", (2, 1), (6.4, 6.6))):
        figure, axes = plt.subplots(*shape, figsize=size, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08, wspace=0.04)
        draw_fits(axes[0])
        draw_forgetting(axes[1])
        figure.savefig(FOLDER / f"{name}.png")
        print(f"{name}.png")


if __name__ == "__main__":
    main()
