"""Chooses gamma and margin for settings.py of benchmarks.against by 5-fold cross-validation on the training part.

python -m benchmarks.choose_gamma [--set NAME ...] [--quick] [--threads N] [--output DIR]
"""

from __future__ import annotations

from benchmarks.environment import fix_threads, machine, threads_in_argv

if __name__ == "__main__":
    fix_threads(threads_in_argv())

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from benchmarks import writing
from benchmarks.against.data import load
from benchmarks.against.jobs import Unavailable
from benchmarks.against.settings import CACHE_MB, MARGINS, QUICK, SEARCH_C, SEARCH_ROWS, SETS, Data
from hingeline import WorstViolatorSVC

FOLDS = 5
#: Sets that are trained on in benchmarks.against.
SEARCHED = ("adult", "letter", "pendigits", "satimage", "usps")


@dataclass(frozen=True)
class Score:
    """Means over the folds; `spread` is the standard deviation of the accuracy."""

    model: str
    gamma: float
    margin: float | None
    accuracy: float
    spread: float
    support: float
    seconds: float


def cross_validate(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> tuple[float, float, float, float]:
    accuracy, support, seconds = [], [], []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        model = make()
        start = time.perf_counter()
        model.fit(X[train], y[train])
        seconds.append(time.perf_counter() - start)
        accuracy.append(100 * model.score(X[test], y[test]))
        support.append(len(model.support_))
    return tuple(float(v) for v in (np.mean(accuracy), np.std(accuracy), np.mean(support), np.mean(seconds)))


def search(data: Data, rows: int | None, threads: int) -> Iterator[Score]:
    first, last = data.exponents
    gammas = [4.0**k for k in range(first, last + 1)]
    ours = load(data, "dense", "float32", rows, test_rows=1)
    for gamma, margin in itertools.product(gammas, MARGINS):

        def make(gamma: float = gamma, margin: float = margin) -> WorstViolatorSVC:
            return WorstViolatorSVC(gamma=gamma, margin=margin, cache_size=CACHE_MB, n_jobs=threads)

        yield Score("WorstViolatorSVC", gamma, margin, *cross_validate(make, ours.X_train, ours.y_train))
    del ours
    theirs = load(data, "dense", "float64", min(rows or SEARCH_ROWS, SEARCH_ROWS), test_rows=1)
    for gamma in gammas:

        def make_svc(gamma: float = gamma) -> SVC:
            return SVC(C=SEARCH_C, gamma=gamma, cache_size=CACHE_MB)

        yield Score("SVC", gamma, None, *cross_validate(make_svc, theirs.X_train, theirs.y_train))


def best(scores: list[Score], model: str) -> Score:
    """Most accurate; of equals the one with the fewest support vectors."""
    return max((s for s in scores if s.model == model), key=lambda s: (s.accuracy, -s.support))


def section(name: str, scores: list[Score], rows: int) -> str:
    header = ["model", "gamma", "margin", "accuracy %", "std", "support vectors", "fit, s"]
    lines = [
        [
            s.model,
            writing.number(s.gamma, 6),
            writing.number(s.margin),
            f"{s.accuracy:.2f}",
            f"{s.spread:.2f}",
            f"{s.support:.0f}",
            writing.number(s.seconds),
        ]
        for s in scores
    ]
    ours, theirs = best(scores, "WorstViolatorSVC"), best(scores, "SVC")
    chosen = (
        f"Best: `Ours(gamma={ours.gamma:g}, margin={ours.margin:g})`, {ours.accuracy:.2f} %; "
        f"SVC with C={SEARCH_C:g} on {min(rows, SEARCH_ROWS)} rows: gamma={theirs.gamma:g}, {theirs.accuracy:.2f} %."
    )
    return f"## {name}\n\n{writing.table(header, lines)}\n\n{chosen}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choose_gamma", description=__doc__.splitlines()[0])
    parser.add_argument("--set", nargs="+", choices=list(SETS), default=list(SEARCHED))
    parser.add_argument("--quick", action="store_true", help="tiny data: shows that it runs, finds nothing")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("results"))
    args = parser.parse_args()
    # Hopeless values of gamma use up every row; that is no news here.
    warnings.simplefilter("ignore", ConvergenceWarning)
    result: dict[str, Any] = {"machine": machine(), "quick": args.quick, "sets": {}}
    parts = ["# Choice of gamma", f"{FOLDS}-fold cross-validation on the training part; means over the folds."]
    name = f"gamma-{'quick-' if args.quick else ''}{writing.stamp()}"
    for chosen in args.set:
        try:
            rows = QUICK.rows if args.quick else None
            scores = list(search(SETS[chosen], rows, args.threads))
        except Unavailable as missing:
            print(f"{chosen}: skipped, {missing}\n", flush=True)
            continue
        n = len(load(SETS[chosen], "csr", "float32", rows, test_rows=1).y_train)
        parts.append(section(chosen, scores, n))
        print(parts[-1], end="\n\n", flush=True)
        result["sets"][chosen] = {"rows": n, "scores": [asdict(s) for s in scores]}
        writing.write(args.output, name, result, "\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
