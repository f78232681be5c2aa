"""The page of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.against.report import case_section
from benchmarks.against.settings import TIE
from benchmarks.against.worker import Child
from benchmarks.writing import machine_lines

from .settings import (
    CHOICE_ROWS,
    EPOCHS,
    EXCESS,
    FOLDS,
    INNER_FOLDS,
    ORDINAL_PENALTIES,
    PENALTIES,
    SLOW_PENALTIES,
    Case,
)

_EXPLANATION = f"""Times are medians of the repeats in seconds, smallest and largest in brackets; contestants take
turns, each in a process of its own. A ratio is the time of the row over the time of the first row: above 1, the first
row is faster. Between 1/{TIE} and {TIE} it is a tie. Accuracies are of the test rows.

- Same objective: 1/2 |w|² + 1/2 b² + C/2 sum max(0, 1 - y f(x))², computed anew in float64 for every contestant. All
  must come to 1 + {EXCESS:g} times the smallest value known (of a tight fit of LIBLINEAR -s 2, certified by strong
  convexity: the value is at most |gradient|²/2 above the minimum), each at the loosest tolerance of a geometric list
  that does. LIBLINEAR has half our C and the bias as a feature (-B 1); its time is that of `train` on rows in its own
  form, without the conversion. hingeline's and LinearSVC's is all of `fit`. *Support vectors* are rows with y f(x) < 1.
  Rows that did not reach the value (hingeline at its default tolerance may be one) are not comparable in time.
- Passes: a fit at default settings and `X @ w` of NumPy (dense) or SciPy (CSR) in turns in one process.
- Values of C: powers of the square root of 2 from 1/32 to 32, at the default tolerance and at 1e-6. *At most above
  the minimum* is |gradient|²/2 over the objective, computed anew, the largest of all values of C.
- Nystroem: landmarks are random, the same for all; rows go into the map dense. C is chosen for each method on its own
  among {PENALTIES[0]:g}, {PENALTIES[1]:g} .. {PENALTIES[-1]:g}, ascending until two values in a row are worse than the
  best, by accuracy on a quarter of at most {CHOICE_ROWS:,} training rows; this is not timed. SGDClassifier makes
  {EPOCHS} epochs (`tol=None`), with alpha = 1 / (C n); *averaged*: with `average=True`.
- Kernel machines: settings of `benchmarks.against`.
- Ordinal regression: {FOLDS}-fold cross-validation on standardised features; in each fold C (1 / alpha) is chosen
  among {ORDINAL_PENALTIES[0]:g} .. {ORDINAL_PENALTIES[-1]:g} by {INNER_FOLDS}-fold cross-validation inside, untimed.
  SVOR and REDSVM of skordinal choose in the first fold only and up to C = {SLOW_PENALTIES[-1]:g} (beyond it a fit takes
  minutes), and are left out where there are many rows. Time is that of one final fit."""


class Machine:
    """Describes the machine, with the packages that only this benchmark uses."""

    def measure(self) -> dict[str, Any]:
        from importlib.metadata import PackageNotFoundError, version

        from benchmarks.environment import machine

        found = machine()
        for name in ("liblinear-official", "mord", "skordinal"):
            try:
                found["versions"][name] = version(name)
            except PackageNotFoundError:
                found["versions"][name] = None
        return found


def describe_machine(threads: int) -> dict[str, Any]:
    with Child(".linear.page:Machine", {}, threads) as child:
        child.prepare()
        found: dict[str, Any] = child.measure()
        return found


def page(
    results: list[tuple[Case, dict[str, Any]]], machine: dict[str, Any], threads: int, quick: bool, figure: Path
) -> str:
    parts = ["# Finite Newton machines against linear peers", machine_lines(machine, threads), _EXPLANATION]
    if quick:
        parts.append("**Quick run on tiny data: it shows that everything works, its times mean nothing.**")
    try:
        from .figure import draw  # needs matplotlib

        if draw(results, figure):
            parts.append(f"![Accuracy against time of training]({figure.name})")
    except ImportError:
        parts.append("No figure: matplotlib is not installed.")
    for case, result in results:
        shown = {"name": case.name, "kind": case.kind, "title": case.title, "goal": case.goal}
        parts.append(case_section({**shown, **result}))
    return "\n\n".join(parts) + "\n"
