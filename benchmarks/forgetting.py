"""Forget rows of batch estimators: CPU seconds against a fresh fit to the remaining rows, and how far both differ.

    python -m benchmarks.forgetting [case ...] [--quick]

Both sides run in one process with one thread and get the same checked rows; they alternate, and medians of CPU seconds
count. ``forget`` includes the receipt, whose digests read the whole model twice. Data sets are those of
HINGELINE_DATA; the noisy ones are drawn. The page is benchmarks/results/forgetting.md, one table for each case.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.environment import command_line, fix_threads, machine
from benchmarks.writing import about_machine, number, table, write_whole

STORE = Path("benchmarks/results/forgetting.json")
PAGE = Path("benchmarks/results/forgetting.md")
#: Rows that are forgotten.
COUNTS = (1, 10, 1000)
#: Repeats of forgetting and of a fresh fit, in turns.
REPEATS = 3
#: Rows whose decision values are compared.
COMPARED = 5000
#: Rows of a quick run.
FEW = 3000


def ijcnn1(n: int) -> tuple[Any, Any]:
    """The first rows of a random order."""
    import numpy as np

    from hingeline import datasets

    data = datasets.load("ijcnn1", dtype=np.float64)
    order = np.random.RandomState(0).permutation(len(data.y))[:n]
    return data.X[order], data.y[order]


def noisy(n: int, d: int = 10) -> tuple[Any, Any]:
    """Two classes that overlap: a product of two features with noise."""
    import numpy as np

    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + rng.standard_normal(n) > 0).astype(int)


def wide(n: int) -> tuple[Any, Any]:
    """300 features, of which all count a little."""
    import numpy as np

    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, 300))
    return X, (X @ rng.standard_normal(300) + 10 * rng.standard_normal(n) > 0).astype(int)


def friedman(n: int) -> tuple[Any, Any]:
    from sklearn.datasets import make_friedman1

    return make_friedman1(n, 10, noise=1.0, random_state=0)


def cases() -> dict[str, tuple[Any, Any, int]]:
    """Estimator, data and number of rows by name."""
    from hingeline import L2SVC, SVC, SVR, LinearSVC, NystroemSVC

    return {
        "SVC, ijcnn1": (SVC(C=32, gamma=2.0), ijcnn1, 100_000),
        "SVC, noisy": (SVC(C=1, gamma=0.1), noisy, 100_000),
        "LinearSVC, 300 features": (LinearSVC(C=1, tol=1e-6), wide, 100_000),
        "LinearSVC, ijcnn1": (LinearSVC(C=1, tol=1e-6), ijcnn1, 100_000),
        "NystroemSVC, ijcnn1": (NystroemSVC(C=10, gamma=2.0, tol=1e-6, random_state=0), ijcnn1, 100_000),
        "L2SVC, ijcnn1": (L2SVC(C=10, gamma=2.0), ijcnn1, 20_000),
        "SVR, Friedman 1": (SVR(C=10, gamma=1.0, epsilon=0.5), friedman, 20_000),
    }


def seconds(call: Any) -> tuple[float, Any]:
    import time

    begin = time.process_time()
    result = call()
    return time.process_time() - begin, result


def fit_with_landmarks_of(model: Any, other: Any, X: Any, y: Any) -> Any:
    """Fresh fit; of NystroemSVC with the landmarks of another model, since others are another problem."""
    import hingeline.linear.nystroem_map as module

    if not hasattr(other, "map_"):
        return model.fit(X, y)
    draw = module.draw_landmarks
    module.draw_landmarks = lambda *_: other.map_.component_indices_
    try:
        return model.fit(X, y)
    finally:
        module.draw_landmarks = draw


def measure(name: str, quick: bool) -> dict[str, Any]:
    """One line for each number of rows."""
    import copy
    import warnings

    import numpy as np
    from sklearn.base import clone

    warnings.simplefilter("ignore")
    model, load, n = cases()[name]
    n = min(n, FEW) if quick else n
    X, y = load(n)
    kept, base = seconds(lambda: clone(model).fit(X, y, ids=np.arange(n)))
    plain, _ = seconds(lambda: clone(model).fit(X, y))
    lines = []
    for count in COUNTS:
        gone = np.random.RandomState(count).permutation(n)[:count]
        rest = np.delete(np.arange(n), gone)
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(1 if quick else REPEATS):
            one, other = copy.deepcopy(base), clone(model)
            taken, _ = seconds(lambda one=one, gone=gone: one.forget(gone))
            times[0].append(taken)
            taken, fresh = seconds(
                lambda one=one, other=other, rest=rest: fit_with_landmarks_of(other, one, X[rest], y[rest])
            )
            times[1].append(taken)
        few = X[:COMPARED]
        values = [(m.decision_function if hasattr(m, "decision_function") else m.predict)(few) for m in (one, fresh)]
        lines.append(
            {
                "count": count,
                "forget": median(times[0]),
                "fresh": median(times[1]),
                "difference": float(np.abs(values[0] - values[1]).max()),
                "gap": [float(np.max(m.duality_gap_)) for m in (one, fresh)],
                "violation": [float(np.max(getattr(m, "kkt_violation_", np.nan))) for m in (one, fresh)],
                "support": [len(getattr(m, "support_", [])) for m in (one, fresh)],
            }
        )
    return {"name": name, "rows": n, "tol": model.tol, "fit": plain, "fit_ids": kept, "lines": lines}


def page(results: list[dict[str, Any]], about: dict[str, Any]) -> str:
    """The results as a page."""
    parts = [
        "# Forgetting: time and agreement with fresh fits",
        "Made by `python -m benchmarks.forgetting`; one thread; medians of "
        f"{REPEATS} CPU times that alternate. `forget` includes the receipt. Differences are the largest of decision "
        f"values (of SVR: predictions) of {COMPARED:,} rows, in units of `tol`; where `tol` bounds a relative duality "
        "gap (LinearSVC, NystroemSVC), they are absolute.",
        "\n".join(about_machine(about)),
    ]
    for found in results:
        bounded = not found["name"].startswith(("Linear", "Nystroem"))
        parts.append(
            f"## {found['name']}\n\n{found['rows']:,} rows, tol = {found['tol']:g}. Fit: {number(found['fit'])} s, "
            f"with ids {number(found['fit_ids'])} s."
        )
        head = [
            "rows forgotten",
            "forget, s",
            "fresh fit, s",
            "ratio, %",
            "difference",
            "duality gap",
            "support vectors",
        ]
        parts.append(
            table(
                head,
                [
                    [
                        f"{line['count']:,}",
                        f"{line['forget']:.3f}",
                        f"{line['fresh']:.3f}",
                        f"{100 * line['forget'] / line['fresh']:.1f}",
                        f"{line['difference'] / found['tol']:.2g} tol" if bounded else f"{line['difference']:.1g}",
                        " / ".join(number(gap) for gap in line["gap"]),
                        " / ".join(f"{count:,}" for count in line["support"]),
                    ]
                    for line in found["lines"]
                ],
            )
        )
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = command_line("forgetting", __doc__)
    parser.add_argument("cases", nargs="*", help="cases to run again; default: all")
    arguments = parser.parse_args()
    fix_threads(1)
    names = arguments.cases or list(cases())
    for name in names:
        found = measure(name, arguments.quick)
        print(found, flush=True)
        if arguments.quick:
            continue
        latest = json.loads(STORE.read_text()) if STORE.exists() else {}
        latest[name] = found
        write_whole(STORE, json.dumps(latest, indent=1) + "\n")
        write_whole(PAGE, page([latest[name] for name in cases() if name in latest], machine()))


if __name__ == "__main__":
    sys.exit(main())
