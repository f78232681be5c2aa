"""Time and memory of SVC by the number of classes, beside scikit-learn's SVC.

    python -m benchmarks.classes [numbers of classes] [--rows 3.5 10] [--repeats 5] [--output PAGE]

Normal rows around a normal centre for each class, 10 features, default parameters. Each measurement has a process of
its own and one thread; contestants take turns. CPU seconds, medians; memory is the largest growth of the resident size
in `fit` and in `predict`. Limits: twice scikit-learn's memory and 50 MB, and no more time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.environment import THREAD_VARIABLES, machine
from benchmarks.memory import Growth
from benchmarks.writing import machine_lines, number, table, write_whole

PAGE = Path("benchmarks/results/classes-2026-11-19.md")
CLASSES = (2, 3, 10, 30, 100, 300, 600, 1000)
#: Rows in all, at least; rows to predict.
FEWEST, TESTED = 500, 1000
#: Short calls are repeated for as many seconds.
SPAN = 0.3
#: Megabytes beside twice those of scikit-learn.
ROOM = 50


def measure(package, classes, per_class):
    """CPU seconds and megabytes of `fit` and of `predict`, and the accuracy, in this process."""
    import numpy as np

    if package == "hingeline":
        from hingeline import SVC
    else:
        from sklearn.svm import SVC
    warnings.simplefilter("ignore")  # scikit-learn warns of few rows per class
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(classes, 10))
    y = np.arange(max(FEWEST, round(per_class * classes)) + TESTED) % classes
    X = centres[y] + rng.normal(size=(len(y), 10))
    SVC().fit(X[:50], y[:50] % 2).predict(X[:50])  # libraries are loaded
    model, found = SVC(), {}
    for name, call in (
        ("fit", lambda: model.fit(X[:-TESTED], y[:-TESTED])),
        ("predict", lambda: model.predict(X[-TESTED:])),
    ):
        with Growth() as memory:
            call()
        found[f"{name} MB"] = memory.bytes / 1e6
        times, begin = [], time.process_time()
        while not times or time.process_time() - begin < SPAN:
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        found[name] = statistics.median(times)
    return {**found, "accuracy": model.score(X[-TESTED:], y[-TESTED:])}


def compare(classes, per_class, repeats):
    """Medians of both packages, in turns, each time in a new process."""
    runs = {"hingeline": [], "sklearn": []}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
        for repeat in range(repeats):
            for package in sorted(runs, reverse=repeat % 2 == 1):
                runs[package].append(pool.submit(measure, package, classes, per_class).result())
    return [{key: statistics.median(run[key] for run in some) for key in some[0]} for some in runs.values()]


def line(classes, per_class, ours, theirs):
    """Cells of a row; what is beyond a limit is bold."""
    cells = [f"{classes:,}", f"{max(FEWEST, round(per_class * classes)):,}"]
    for name in ("fit", "predict"):
        ratio = ours[name] / theirs[name]
        slower = "**" * (ratio > 1)
        cells += [f"{number(ours[name])} / {number(theirs[name])}", f"{slower}{ratio:.2f}{slower}"]
        limit = 2 * theirs[f"{name} MB"] + ROOM
        beyond = "**" * (ours[f"{name} MB"] > limit)
        cells.append(f"{beyond}{ours[f'{name} MB']:.0f}{beyond} / {theirs[f'{name} MB']:.0f}")
    return [*cells, f"{100 * ours['accuracy']:.1f} / {100 * theirs['accuracy']:.1f}"]


def page(lines):
    header = [
        "classes",
        "rows",
        "fit, CPU s",
        "ratio",
        "fit, MB",
        "predict, CPU s",
        "ratio",
        "predict, MB",
        "correct, %",
    ]
    about = (
        "Program: `python -m benchmarks.classes`. Each cell has hingeline's and then scikit-learn's number; the ratio "
        "is hingeline's time over scikit-learn's. Rows are normal around a normal centre for each class, 10 features, "
        f"float64; {TESTED:,} other rows are predicted. Default parameters. Each measurement has a process of its own; "
        "medians over runs in turns, other programs shared the machine. Memory is the largest growth of the resident "
        f"size. Bold: more time, or more than twice the memory and {ROOM} MB."
    )
    return "\n".join(
        ["# SVC with 2 to 1,000 classes", "", machine_lines(machine(), 1), "", about, "", table(header, lines), ""]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("classes", type=int, nargs="*", default=CLASSES)
    parser.add_argument("--rows", type=float, nargs="+", default=[3.5, 10], help="for each class")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))  # for the processes
    lines = []
    for per_class in options.rows:
        for classes in options.classes:
            if per_class == options.rows[0] or per_class * classes > FEWEST:
                lines.append(line(classes, per_class, *compare(classes, per_class, options.repeats)))
                print(*lines[-1], flush=True)
    write_whole(options.output, page(lines))


if __name__ == "__main__":
    main()
