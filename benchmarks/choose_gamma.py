"""Chooses gamma and margin for settings.py of benchmarks.against by 5-fold cross-validation on the training part.

python -m benchmarks.choose_gamma [--set NAME ...] [--model NAME ...] [--quick] [--threads N] [--output DIR]
"""

from __future__ import annotations

from benchmarks.environment import command_line, fix_threads, machine, threads_in_argv

if __name__ == "__main__":
    fix_threads(threads_in_argv())

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.svm import SVC

from benchmarks import writing
from benchmarks.against.data import load
from benchmarks.against.settings import CACHE_MB, MARGINS, QUICK, SEARCH_C, SEARCH_ROWS, SETS, Data
from benchmarks.harness import Unavailable
from hingeline import L2SVC, WorstViolatorSVC

FOLDS = 5
#: Sets that are trained on in benchmarks.against.
SEARCHED = ("adult", "letter", "pendigits", "satimage", "usps")
MODELS = {kind.__name__: kind for kind in (WorstViolatorSVC, L2SVC, SVC)}


def search(name: str, data: Data, rows: int | None, threads: int) -> Iterator[dict[str, Any]]:
    """WorstViolatorSVC on all rows with several margins; the others, which have a C, on a sample. Means over folds."""
    ours, svc = name == "WorstViolatorSVC", name == "SVC"
    limit = rows if ours else min(rows or SEARCH_ROWS, SEARCH_ROWS)
    part = load(data, "dense", "float64" if svc else "float32", limit, test_rows=1)
    first, last = data.exponents
    for gamma in (4.0**k for k in range(first, last + 1)):
        for margin in MARGINS if ours else (None,):
            options: dict[str, Any] = {"gamma": gamma} | ({"margin": margin} if ours else {"C": SEARCH_C})
            if not svc:
                options["n_jobs"] = threads
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
            model = MODELS[name](**options, cache_size=CACHE_MB)
            found = cross_validate(model, part.X_train, part.y_train, cv=folds, return_estimator=True)
            support = float(np.mean([len(fitted.support_) for fitted in found["estimator"]]))
            score = {"model": name, "gamma": gamma, "margin": margin, "support": support}
            score |= {"accuracy": 100 * float(np.mean(found["test_score"])), "fit": float(np.mean(found["fit_time"]))}
            yield {**score, "spread": 100 * float(np.std(found["test_score"]))}


def section(name: str, scores: list[dict[str, Any]]) -> str:
    """All scores, and the best of each model: the most accurate, of equals the one with the fewest support vectors."""
    header = ["model", "gamma", "margin", "accuracy %", "std", "support vectors", "fit, s"]
    lines: list[list[str]] = []
    best: dict[str, dict[str, Any]] = {}
    for s in scores:
        line = [s["model"], writing.number(s["gamma"], 6), writing.number(s["margin"]), f"{s['accuracy']:.2f}"]
        lines.append([*line, f"{s['spread']:.2f}", f"{s['support']:.0f}", writing.number(s["fit"])])
        best[s["model"]] = max(best.get(s["model"], s), s, key=lambda s: (s["accuracy"], -s["support"]))
    chosen = [
        f"- Best: `{s['model']}(gamma={s['gamma']:g}" + (f", margin={s['margin']:g}" if s["margin"] else "") + ")`, "
        f"{s['accuracy']:.2f} %"
        for s in best.values()
    ]
    return f"## {name}\n\n{writing.table(header, lines)}\n\n" + "\n".join(chosen)


def main() -> None:
    parser = command_line("choose_gamma", __doc__)
    parser.add_argument("--set", nargs="+", choices=list(SETS), default=list(SEARCHED))
    parser.add_argument("--model", nargs="+", choices=list(MODELS), default=["WorstViolatorSVC", "SVC"])
    args = parser.parse_args()
    # Values of gamma that are far too large use every row as a support vector; the warnings tell nothing here.
    warnings.simplefilter("ignore", ConvergenceWarning)
    result: dict[str, Any] = {"machine": machine(), "quick": args.quick, "sets": {}}
    words = f"{FOLDS}-fold cross-validation on the training part (models with C: C = {SEARCH_C:g}, at most "
    parts = ["# Choice of gamma", f"{words}{SEARCH_ROWS:,} rows); means over the folds."]
    name, rows = f"gamma-{'quick-' if args.quick else ''}{writing.stamp()}", QUICK.rows if args.quick else None
    for chosen in args.set:
        try:
            scores = [s for model in args.model for s in search(model, SETS[chosen], rows, args.threads)]
        except Unavailable as missing:
            print(f"{chosen}: skipped, {missing}\n", flush=True)
            continue
        parts.append(section(chosen, scores))
        print(parts[-1], end="\n\n", flush=True)
        result["sets"][chosen] = scores
        writing.write(args.output, name, result, "\n\n".join(parts))


if __name__ == "__main__":
    main()
