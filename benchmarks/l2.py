"""MinNormSVC and NNISDAClassifier beside scikit-learn's SVC on sets of several classes, one-vs-one.

``python -m benchmarks.l2 [--quick] [--repeats N]`` writes a Markdown page. C is the same for all; gamma is chosen for
each on its own by 5-fold cross-validation on the training part, untimed. Then all fit the training part in turns.
"""

from __future__ import annotations

from benchmarks.environment import fix_threads, machine

if __name__ == "__main__":
    fix_threads(1)

import argparse
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from benchmarks import writing
from benchmarks.against.data import Split, load
from benchmarks.against.jobs import Unavailable
from benchmarks.against.settings import CACHE_MB, QUICK, SEARCH_ROWS, SETS
from benchmarks.choose_gamma import cross_validate
from hingeline import MinNormSVC, NNISDAClassifier

CHOSEN = ("letter", "usps", "satimage")
C = 16.0
MODELS: dict[str, Callable[[float], Any]] = {
    "MinNormSVC": lambda gamma: MinNormSVC(C=C, gamma=gamma, cache_size=CACHE_MB),
    "NNISDAClassifier": lambda gamma: NNISDAClassifier(C=C, gamma=gamma, cache_size=CACHE_MB),
    "SVC": lambda gamma: SVC(C=C, gamma=gamma, cache_size=CACHE_MB),
}


def widths(name: str, rows: int | None) -> dict[str, float]:
    """gamma of each model: the most accurate, of equals the one with the fewest support vectors."""
    first, last = SETS[name].exponents
    part = load(SETS[name], "dense", "float32", min(rows or SEARCH_ROWS, SEARCH_ROWS), test_rows=1)
    out = {}
    for model, make in MODELS.items():
        scores = []
        for gamma in (4.0**k for k in range(first, last + 1)):
            accuracy, _, support, _ = cross_validate(lambda make=make, gamma=gamma: make(gamma), *_rows(part))
            scores.append((accuracy, -support, gamma))
        out[model] = max(scores)[-1]
    return out


def _rows(part: Split) -> tuple[np.ndarray, np.ndarray]:
    return part.X_train, part.y_train


def measure(name: str, rows: int | None, repeats: int) -> list[list[str]]:
    gammas = widths(name, rows)
    splits = {dtype: load(SETS[name], "dense", dtype, rows) for dtype in ("float64", "float32")}
    contestants = [(m, d) for m in MODELS for d in splits if m != "SVC" or d == "float64"]
    seconds: dict[tuple[str, str], list[float]] = {key: [] for key in contestants}
    fitted = {}
    for _ in range(repeats):
        for model, dtype in contestants:
            clf = MODELS[model](gammas[model])
            start = time.perf_counter()
            fitted[model, dtype] = clf.fit(*_rows(splits[dtype]))
            seconds[model, dtype].append(time.perf_counter() - start)
    base = float(np.median(seconds["SVC", "float64"]))
    lines = []
    for key in contestants:
        model, dtype = key
        median, clf = float(np.median(seconds[key])), fitted[key]
        lines.append(
            [
                f"{model}, {dtype}",
                f"{gammas[model]:g}",
                f"{median:.3g} ({min(seconds[key]):.3g} .. {max(seconds[key]):.3g})",
                f"{base / median:.2f}",
                f"{100 * clf.score(splits[dtype].X_test, splits[dtype].y_test):.2f}",
                f"{len(clf.support_):,}",
                f"{int(np.sum(clf.n_iter_)):,}",
            ]
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.l2", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny data: shows that it runs, measures nothing")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, help="default benchmarks/results; out with --quick")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    header = ["", "gamma", "fit, s", "SVC's time / this", "accuracy %", "support vectors", "steps"]
    parts = [
        "# MinNormSVC and NNISDAClassifier against SVC, one-vs-one",
        writing.machine_lines(machine(), 1),
        f"C = {C:g} for all: of squared errors in ours, of errors in SVC. gamma: 4^k, chosen for each model by 5-fold "
        f"cross-validation on at most {SEARCH_ROWS:,} training rows. Times are medians of fits in turns, smallest and "
        "largest in brackets; accuracies are of the test rows.",
    ]
    for name in CHOSEN:
        try:
            lines = measure(name, QUICK.rows if args.quick else None, 1 if args.quick else args.repeats)
        except Unavailable as missing:
            print(f"{name}: skipped, {missing}", flush=True)
            continue
        parts.append(f"## {name}\n\n{writing.table(header, lines)}")
        print(parts[-1], end="\n\n", flush=True)
    folder = args.output or Path("out" if args.quick else "benchmarks/results")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"l2-{date.today()}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
