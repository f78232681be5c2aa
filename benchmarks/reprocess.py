"""Steps of LASVM-NC by the rule of the paper and by the default rule: their number, accuracy, support vectors.

    python -m benchmarks.reprocess [--quick]

Everything but the CPU seconds is the same on every machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean
from typing import Any

from benchmarks.environment import command_line, fix_threads, machine
from benchmarks.writing import machine_lines, number, table, write_stamped

RULES = ("paper", "bounded")


@dataclass(frozen=True)
class Problem:
    """Data set, parameters, number of runs; `name`: a set of the LASVM paper, or None for normal data."""

    title: str
    name: str | None
    C: float
    gamma: float
    runs: int = 1
    rows: int = 4000


PROBLEMS = (
    Problem("normal, 4,000 x 30, C = 10, gamma = 0.05", None, 10, 0.05),
    Problem("normal, 8,000 x 30, C = 10, gamma = 0.05", None, 10, 0.05, rows=8000),
    Problem("adult, C = 100, gamma = 0.005", "adult", 100, 0.005),
    Problem("banana, C = 10, gamma = 1", "banana", 10, 1, runs=3),
    Problem("usps with 10 % flips, C = 1, gamma = 2", "usps-n", 1, 2, runs=3),
)


def normal(rows: int) -> tuple[Any, ...]:
    """Standard normal rows; the label is the sign of the first feature plus half as much noise; as many test rows."""
    import numpy as np

    random = np.random.default_rng(0)
    X = random.normal(size=(2 * rows, 30))
    y = np.where(X[:, 0] + 0.5 * random.normal(size=2 * rows) > 0, 1, -1)
    return X[:rows], y[:rows], X[rows:], y[rows:]


def data(problem: Problem, run: int, quick: bool) -> tuple[Any, ...]:
    if problem.name is None:
        return normal(200 if quick else problem.rows)
    from benchmarks.papers.ertekin2011.data import split
    from benchmarks.papers.ertekin2011.settings import SETS

    known = SETS[problem.name]
    found = split(known, run)
    X, X_test = found.as_ours(known.dense)
    rows = slice(200 if quick else None)
    return X[rows], found.y[rows], X_test, found.y_test


def measure(problem: Problem, rule: str, quick: bool) -> list[str]:
    """A line of the table: means over the runs."""
    from hingeline import LASVC

    found = []
    for run in range(1 if quick else problem.runs):
        X, y, X_test, y_test = data(problem, run, quick)
        start = time.process_time()
        model = LASVC(C=problem.C, gamma=problem.gamma, random_state=run, n_jobs=1)
        model.set_params(solver_options={"reprocess": rule}).fit(X, y)
        seconds = time.process_time() - start
        steps, share = model.n_iter_[0] / len(y), problem.C / model.dual_objective_[0]
        found.append((steps, 100 * model.score(X_test, y_test), len(model.support_vectors_), 100 * share, seconds))
    steps, accuracy, support, share, seconds = map(mean, zip(*found, strict=True))
    shown = (number(steps), f"{accuracy:.2f}", f"{support:,.0f}", number(share, 2), number(seconds), str(len(found)))
    return [f"{problem.title}, {rule}", *shown]


def lines(quick: bool) -> Iterator[list[str]]:
    for problem in PROBLEMS:
        for rule in RULES:
            try:
                yield measure(problem, rule, quick)
            except FileNotFoundError as error:
                print(f"{problem.title} is left out: {error}", file=sys.stderr)


def main() -> int:
    args = command_line("reprocess", __doc__ or "").parse_args()
    fix_threads(args.threads)
    header = ["", "steps per example", "accuracy %", "support vectors", "C / dual objective, %", "fit, CPU s", "runs"]
    text = (
        "# Steps of LASVM-NC: the rule of the paper and the default\n\n"
        "`solver_options={'reprocess': 'paper'}` and `{'reprocess': 'bounded'}` of `LASVC`, one pass, s = -1, all "
        "other parameters are defaults.\nMade by `python -m benchmarks.reprocess`. *C / dual objective*: the smallest "
        "gap that the rule of the paper asks for.\n\n"
        + machine_lines(machine(), args.threads)
        + "\n\n"
        + table(header, list(lines(args.quick)))
    )
    write_stamped(args.output, "reprocess", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
