"""Every estimator with one and with more threads: wall seconds of `fit`, the best of some runs.

    python -m benchmarks.threads [names] [--threads 1 2 4 16] [--repeats 3]

More threads must not take longer than one (5 % are allowed for noise), and large fits should gain. Prints a table.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import hingeline
from benchmarks.svc import load
from benchmarks.writing import table

#: Name: estimator, data, parameters.
CASES = {
    "SVC": ("SVC", "forest80000", {"C": 10.0, "gamma": 0.05, "cache_size": 2000}),
    "SVC-adult": ("SVC", "adult", {"C": 100.0, "gamma": 0.005}),
    "SVC-noisy": ("SVC", "noisy100000", {"gamma": 0.02, "cache_size": 2000}),
    "SVC-classes": ("SVC", "classes6000", {"C": 10.0, "gamma": 0.05}),
    "SVC-small": ("SVC", "forest1000", {"C": 10.0, "gamma": 0.05}),
    "WorstViolatorSVC": ("WorstViolatorSVC", "adult", {"gamma": 0.005}),
    "LASVC": ("LASVC", "adult", {"C": 100.0, "gamma": 0.005}),
    "LASVC-classes": ("LASVC", "classes6000", {"C": 10.0, "gamma": 0.05}),
    "KernelSGDClassifier": ("KernelSGDClassifier", "adult", {"gamma": 0.005}),
    "IncrementalSVC": ("IncrementalSVC", "forest2000", {"C": 10.0, "gamma": 0.05}),
    "LinearSVC": ("LinearSVC", "forest80000", {"C": 0.5}),
    "NystroemSVC": ("NystroemSVC", "forest80000", {"C": 5.0, "gamma": 0.05, "n_components": 1000}),
    "NystroemSVC-adult": ("NystroemSVC", "adult", {"C": 0.5, "gamma": 0.02, "n_components": 300}),
    "L2SVC": ("L2SVC", "forest20000", {"gamma": 0.05}),
}


def data(name):
    """Return rows in single precision and labels; 'classesN' are N rows of 12 classes."""
    if name.startswith("classes"):
        X = np.random.default_rng(0).normal(size=(int(name[7:]), 16)).astype(np.float32)
        return X, np.abs(X[:, :4]).argmax(axis=1) * 3 + np.abs(X[:, 4:7]).argmax(axis=1)
    X, y, *_ = load(name)
    return X.astype(np.float32), y


def seconds(case, n_jobs, repeats):
    name, source, parameters = CASES[case]
    X, y = data(source)
    model = getattr(hingeline, name)(n_jobs=n_jobs, **parameters)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for case in options.names:
        times = [seconds(case, n, options.repeats) for n in options.threads]
        lines.append([case, *(f"{t:.3g} s ({times[0] / t:.2f})" for t in times)])
        print(*lines[-1], flush=True)
    print(table(["estimator and data", *(f"{n} threads" for n in options.threads)], lines))


if __name__ == "__main__":
    main()
