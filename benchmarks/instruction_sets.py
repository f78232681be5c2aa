"""CPU time of SVC with each instruction set, and of builds by several compilers, beside scikit-learn.

    python -m benchmarks.instruction_sets NAME=PYTHON ... [--repeats 7]

Each PYTHON is the interpreter of an environment that has a build of hingeline. Every fit has a process of its own and
one thread, contestants in turns; 8,000 x 100 normal rows of two classes, RBF kernel, C = 1, float64. Printed is the
median of the CPU seconds of `fit`, with the ratio to the first contestant, accuracy on 2,000 other rows and support
vectors. HINGELINE_ISA selects the instruction set.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess

from benchmarks.writing import table

FIT = """
import json, sys, time
from sklearn.datasets import make_classification
from sklearn.svm import SVC
isa = "-"
if sys.argv[1] != "sklearn":
    from hingeline import SVC, _core
    isa = _core.isa()
X, y = make_classification(10_000, 100, n_informative=20, n_clusters_per_class=4, flip_y=0.05, random_state=0)
SVC().fit(X[:500], y[:500])
start = time.process_time()
model = SVC().fit(X[:8000], y[:8000])
seconds = time.process_time() - start
print(json.dumps([isa, seconds, model.score(X[8000:], y[8000:]), int(model.n_support_.sum())]))
"""
#: Names in HINGELINE_ISA; without it the widest.
NARROWER = ("avx512", "avx2", "baseline")


def fit(python: str, library: str, isa: str = "") -> list:
    """Instruction set, CPU seconds, accuracy and number of support vectors of one fit."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HINGELINE_ISA": isa}
    environment.pop("PYTHONPATH", None)
    command = [python, "-W", "ignore", "-P", "-c", FIT, library]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    """Run all contestants in turns and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("builds", nargs="+", metavar="NAME=PYTHON")
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    builds = dict(build.split("=", 1) for build in args.builds)
    contestants = [(name, python, "hingeline", isa) for isa in ("", *NARROWER) for name, python in builds.items()]
    contestants.append(("scikit-learn", next(iter(builds.values())), "sklearn", ""))
    results: dict[tuple, list] = {contestant: [] for contestant in contestants}
    for _ in range(args.repeats):
        for contestant in contestants:
            results[contestant].append(fit(*contestant[1:]))
    rows = []
    first = 0.0
    for (name, _, _, wish), runs in results.items():
        seconds = statistics.median(run[1] for run in runs)
        first = first or seconds
        rows.append([name, wish or "-", runs[0][0], f"{seconds:.3f}", f"{seconds / first:.2f}"])
        rows[-1] += [f"{100 * runs[0][2]:.2f}", f"{runs[0][3]:,}"]
    header = ["build", "HINGELINE_ISA", "in use", "CPU s", "ratio", "accuracy %", "support vectors"]
    print(table(header, rows))


if __name__ == "__main__":
    main()
