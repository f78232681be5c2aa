"""The page that shows everything."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from benchmarks.environment import machine
from benchmarks.papers.files import write_whole
from benchmarks.writing import machine_lines

from . import tables
from .claims import FAR, SAME_ERROR, SAME_FRACTION, TIE, claims_table
from .differences import DIFFERENCES, sizes
from .figures import write_figures
from .settings import FOLDS, LARGE, LEVEL, REPEATS, SETS
from .summary import NEARLY, Summary


def write_report(summary: Summary, folder: Path) -> Path:
    """Figures, tables, page."""
    write_figures(summary, folder)
    parts = [
        "# Keerthi, DeCoste 2005: ours and theirs",
        "A modified finite Newton method for fast solution of large scale linear SVMs, JMLR 6. Made by "
        "`make paper-keerthi2005`. C is the paper's: ½(|w|² + b²) + C/2 Σ ξ². In the place of SVM-light and BSVM there "
        "is LIBLINEAR, a solver made later for this very problem; the published times are of a machine of 2005. So "
        "ratios and shapes are compared, not seconds.",
        "## What was run",
        _what(summary),
        "## Claims of the paper",
        f"By limits of ours: ratios within {TIE} of 1 are a tie, CV errors within {SAME_ERROR} points and fractions "
        f"within {SAME_FRACTION} are equal, far fewer is less than {FAR:g} times. Ratios are time or passes of the "
        "other one over ours, or without over with.",
        claims_table(summary),
        "## β-seeding (Table 1)",
        "21 values of C, √2^k from k = -10 to 10. *The paper's* is our driver with its rules: without seeding from "
        "zero with both heuristics, with seeding from the solution before and without them, CG to ε = 10⁻⁶. *Ours*: "
        "`fit` for each C, and `finite_newton_path`, which does not tell its passes.",
        tables.seeding(summary),
        "## Heuristics (Table 3)",
        "C = 1, from zero, CG by the rules of the paper. Heuristic 1: at most 10 CG steps at first; heuristic 2: a "
        "round with ε = 0.01 before that with ε = 10⁻⁶.",
        tables.heuristics(summary),
        "## Training time and CV error (Tables 4 to 6)",
        f"Times from zero, the shortest of {REPEATS}. CV error of {FOLDS} folds, the lowest in bold (first of equals; "
        "the paper's are rounded). † LIBLINEAR ended at its limit of 300 iterations: -s 1 then goes on with -s 2, "
        "which is counted; -s 3 returns what it has, so that its time is too short.",
        "One published error of SVM-light on News20 (7.76 %) looks like a misprint; it is drawn at the edge.",
        "![Times and CV errors](tables.png)",
    ]
    for name in summary.shown("fit"):
        place = f"Table {LARGE[name]}. " if name in LARGE else ""
        parts += [f"### {place}{SETS[name].title}", tables.grid(summary, name)]
    parts += [
        "### How much faster",
        "Time of the other one over ours, as the paper does it: at C with nearly the lowest CV error of each method "
        f"(up to {100 * (NEARLY - 1):.0f} % more errors). *Cautious* is the fastest of theirs over the slowest of "
        "ours; *at the optima* each at its lowest CV error; *largest* at any such C.",
        tables.speedups(summary),
        "### How accurate",
        f"Squared hinge: LIBLINEAR has the largest -e (of 0.1, 0.01, ...) whose objective is within {LEVEL:g} of the "
        "optimum, ours `tol=1e-6`; *the paper's* goes on until the KKT violation is at most 0.001. "
        "Gap and violation are from the weights alone, with the multipliers of section 4.7; the gap of the hinge is "
        "from LIBLINEAR's own.",
        tables.accuracy(summary),
        "## Time against the number of examples (Figure 1)",
        "Each at its own C with the lowest CV error of that subset. Open symbols: published, from Tables 4 and 5.",
        "![Training time against examples](figure1.png)",
        tables.scaling(summary),
        "## Readings, and what is otherwise",
        sizes(summary),
        DIFFERENCES,
    ]
    path = folder / "report.md"
    write_whole(path, "\n\n".join(part for part in parts if part) + "\n")
    return path


def _what(summary: Summary) -> str:
    found = machine()
    found["versions"]["liblinear-official"] = version("liblinear-official") if find_spec("liblinear") else None
    threads = {result["threads"] for _, result in summary.results} or {1}
    builds = {result["build"] for _, result in summary.results if "build" in result}
    several = f"\n- **The runs were made with {len(builds)} builds of the core.**" if len(builds) > 1 else ""
    times = "\n- Seconds are processor time"
    return machine_lines(found, max(threads)) + times + several
