"""The page that shows everything."""

from __future__ import annotations

from pathlib import Path

from benchmarks.environment import machine
from benchmarks.papers.files import write_whole
from benchmarks.writing import machine_lines

from . import tables
from .claims import SAME_ERROR, SAME_TIME, TIE, claims_table
from .differences import DIFFERENCES
from .figures import write_figures
from .settings import (
    CACHE_MB,
    ERRATA_N,
    FASTER,
    LARGE_SIGMAS,
    LIMIT,
    ONLINE_FOLDS,
    ONLINE_N,
    REPEATS,
    SETS,
    WITHIN,
    rows,
)
from .summary import Summary


def write_report(summary: Summary, folder: Path, load: str) -> Path:
    """Figures, tables, page."""
    write_figures(summary, folder)
    parts = [
        "# Kecman, Melki 2016: ours and theirs",
        "Fast online algorithms for support vector machines: models and experimental studies, IEEE SoutheastCon. Made "
        "by `make paper-kecman2016`. In the place of MATLAB's fitcsvm there is scikit-learn's SVC; OL SVM, NORMA and "
        "Pegaz are `KernelSGDClassifier`. gamma = 1/(2 sigma²).",
        "## What was run",
        _what(summary, load),
        "## Claims of the paper",
        f"By limits of ours: errors within {SAME_ERROR} points and times within a factor of {TIE} are a tie, and a "
        f"time does not depend on C and sigma if the longest is at most {SAME_TIME:g} times the shortest.",
        claims_table(summary),
        "## Data (Table I)",
        tables.sizes(summary),
        "## Errors and times over the grid (Table II)",
        "Nine C from 10⁻⁴ to 10⁴ times four sigma (0.1, 1, 10, 100), test parts of 5-fold cross-validation. *Average*: "
        "mean over the 36 cells, as published. *Lowest*: of the best cell of each method. *One class*: error of "
        "whoever always says the same.",
        tables.errors(summary),
        tables.chosen(summary),
        "Seconds of all fits of the grid, training alone unless said; SVC over OL SVM. *At the lowest errors*: one fit "
        "of each method at its own best cell.",
        tables.speed(summary),
        f"Cells (C, sigma) in which SVC ended at its limit of {LIMIT:,} iterations in some fold:",
        tables.at_limit(summary),
        "### In the order of the runs (Figures 1 to 4)",
        "![Two normals](figure1.png)",
        "![Reuters](figure3.png)",
        "## Does the time depend on C and sigma?",
        "A step without a violation costs next to nothing, one with a violation a kernel column: the number of steps "
        "is fixed, the number of violations is not. A fit of cancer, sonar or vote takes a millisecond, most of which "
        "is the call: that those times are alike says nothing.",
        "![Times over the grid](times.png)",
        tables.independence(summary),
        "## NORMA, Pegaz and OL SVM (Figures 5 to 8)",
        f"Chessboard, {ONLINE_N:,} points, {ONLINE_FOLDS} of 5 folds, the same grid, 5 epochs. Figures 5 "
        "and 6: the lists as printed, in NumPy.",
        "![The lists](figure5.png)",
        "Figures 7 and 8: outputs are kept by all of them.",
        "![Ours](figure7.png)",
        tables.online(summary),
        "## One fit at C = 10⁴",
        "sigma of each method by 5-fold cross-validation. Then all points are learnt, every method in turn, "
        f"{REPEATS} times (median), and as many new points are the test. *Target*: {FASTER:g} times as fast as SVC at "
        f"a test error at most {WITHIN} points above the better one. The table of claims names the fastest that "
        "reaches it, chosen in view of the test error: nobody knows beforehand which one that is.",
        tables.both(summary),
    ]
    for name in LARGE_SIGMAS:
        count = rows(name, summary.quick) or 0
        parts += [f"### {SETS[name].title.capitalize()}, {count:,} points", tables.large(summary, name)]
        parts += ["Cross-validation († SVC at its limit of iterations in some fold):", tables.large_cv(summary, name)]
    parts += [
        "## Is NORMA Pegaz?",
        f"Chessboard, {ERRATA_N:,} points, sigma = 0.1; the same order and the same step sizes. The paper says that "
        "one epoch of both is the same. Differences are shares of the largest coefficient; support vectors have at "
        "least 10⁻¹² C.",
        tables.errata(summary),
        _first(summary),
        "## Readings, and what is otherwise",
        DIFFERENCES.format(limit=LIMIT),
    ]
    path = folder / "report.md"
    write_whole(path, "\n\n".join(part for part in parts if part) + "\n")
    return path


def _first(summary: Summary) -> str:
    """What the first steps of List 1 do."""
    for _, result in summary.of("errata"):
        one, two = ([f"{abs(a):.3f}" for a in step] for step in result["first"])
        return (
            "The factor 1 - √(2/t) of List 1 is -0.414 at t = 1, 0 at t = 2 and 0.184 at t = 3. Whatever is learnt "
            "from the first sample is lost at once. Two rows, C = 1: sizes of the coefficients after step 1: "
            f"{one[0]}, after step 2: {two[0]} and {two[1]}. Ours has no factor below 0."
        )
    return ""


def _what(summary: Summary, load: str) -> str:
    threads = {result["threads"] for _, result in summary.results} or {1}
    builds = {result["build"] for job, result in summary.results if job.package == "hingeline"}
    lines = [
        machine_lines(machine(), max(threads)),
        f"- Seconds are processor time; float64 unless said, {CACHE_MB} MB for kernel columns of either program",
    ]
    if load:
        lines.append(f"- **{load}**")
    if len(builds) > 1:
        lines.append(f"- **The runs were made with {len(builds)} builds of the core.**")
    return "\n".join(lines)
