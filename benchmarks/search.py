"""KernelSearchCV and nested_cross_validate against scikit-learn's GridSearchCV: CPU seconds, scores, memory.

    python -m benchmarks.search [jobs] [--fresh] [--list] [--only-report]

Each job runs in a process of its own and is stored when it is done, so the program can be interrupted. Times are CPU
seconds of one process with one thread (``n_jobs=None``) for both sides, which depend little on other programs of the
machine; wall seconds with ``n_jobs=2`` are given beside them. Features are scaled to [0, 1], rows are shuffled, the
grid is C = 4^-2 ... 4^5, gamma = 4^-5 ... 4^2, as in Melki's chapter on OLLAWV.

Results: benchmarks/results/search/runs.jsonl, page: benchmarks/results/search-2026-11-16.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.environment import THREAD_VARIABLES, machine
from benchmarks.store import Store, chosen
from benchmarks.writing import about_machine, table, write_whole

STORE = Store(Path("benchmarks/results/search/runs.jsonl"))
PAGE = Path("benchmarks/results/search-2026-11-16.md")
SMALL = ("iris", "wine", "sonar", "glass", "vote", "heart", "dermatology")
#: Seconds of OLLAWV in Table 1.3 of the chapter, on two Xeon X5680.
LARGE = {"optdigits": 411, "pendigits": 723, "letter": 5259, "usps": 10214}
#: Sets for L2SVC, whose time is mostly that of the solver.
L2_SETS = ("iris", "sonar", "dermatology")
#: Limits of memory in MB, and what is searched: large machines of reuters, which is sparse, and the pairs of usps.
LIMITS = (250, 500, 1000, 3000)
MEMORY = {
    "WorstViolatorSVC": ("usps", "WorstViolatorSVC", {"gamma": [4.0**k for k in range(-4, 0)]}),
    "L2SVC": ("reuters", "L2SVC", {"C": [64.0], "gamma": [0.0625, 0.25]}),
}
SPACE = (*SMALL, "cancer", "teach", "vote435", "prokaryotic", "eukaryotic")


def load(name):
    import numpy as np
    import scipy.sparse as sp
    from sklearn.preprocessing import maxabs_scale, minmax_scale

    from hingeline import datasets

    data = datasets.load(name, dtype=np.float64)
    order = np.random.RandomState(0).permutation(len(data.y))
    scale = maxabs_scale if sp.issparse(data.X) else minmax_scale
    return scale(data.X)[order], data.y[order]


def grid():
    import numpy as np

    return {"C": 4.0 ** np.arange(-2, 6), "gamma": 4.0 ** np.arange(-5, 3)}


def estimator(name):
    import sklearn.svm

    import hingeline

    return sklearn.svm.SVC() if name == "sklearn" else getattr(hingeline, name)()


def timed(call):
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    return result, {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


# ---- jobs: what runs in the child --------------------------------------------------------------------


def peer(name, jobs=None):
    """Measure cross_validate(GridSearchCV(sklearn.svm.SVC)); satimage: a sample of the grid, scaled."""
    from sklearn.model_selection import GridSearchCV, cross_validate

    X, y = load(name)
    values = grid()
    part = 1
    if name in ("satimage", "eukaryotic"):  # one inner search of the five, every second value of C and gamma
        values, part = {key: some[::2] for key, some in values.items()}, 20
        search = GridSearchCV(estimator("sklearn"), values, cv=5, n_jobs=jobs, refit=False)
        keep = slice(0, len(y) * 4 // 5)
        found, times = timed(lambda: search.fit(X[keep], y[keep]))
        scores = [float(found.cv_results_["mean_test_score"].max())]
    else:
        search = GridSearchCV(estimator("sklearn"), values, cv=5, n_jobs=jobs)
        if jobs:
            cross_validate(search, X[:60], y[:60], cv=2, error_score=0.0)  # start the workers
        found, times = timed(lambda: cross_validate(search, X, y, cv=5))
        scores = found["test_score"].tolist()
    return {**{key: value * part for key, value in times.items()}, "scores": scores, "part": part}


def ours(name, kind, jobs=None, search="grid", limit=1000.0):
    from hingeline.model_selection import nested_cross_validate

    X, y = load(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found, times = timed(
        lambda: nested_cross_validate(
            estimator(kind), X, y, grid(), n_jobs=jobs, search=search, memory_limit=limit, error_score="raise"
        )
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**times, "scores": found.test_score.tolist(), "extra_mb": (peak - before) / 1024, "rows": len(y)}


def separately(name, kind):
    """Measure cross_validate(GridSearchCV) with an estimator of ours: each candidate is fitted by itself."""
    from sklearn.model_selection import GridSearchCV, cross_validate

    X, y = load(name)
    found, times = timed(lambda: cross_validate(GridSearchCV(estimator(kind), grid(), cv=5), X, y, cv=5))
    return {**times, "scores": found["test_score"].tolist()}


def leave_one_out(side):
    """Measure leave-one-out over the grid on 1,000 rows of banana; the peer fits every 100th sample."""
    from sklearn.model_selection import GridSearchCV

    from hingeline.model_selection import KernelSearchCV

    X, y = load("banana")
    X, y = X[:1000], y[:1000]
    if side == "ours":
        found, times = timed(lambda: KernelSearchCV(estimator("SVC"), grid(), cv="loo", refit=False).fit(X, y))
        rights = {
            f"split{i}_test_score": found.cv_results_[f"split{i}_test_score"].tolist() for i in range(0, 1000, 100)
        }
        return {**times, "part": 1, "rights": list(rights.values())}
    splits = [([k for k in range(1000) if k != i], [i]) for i in range(0, 1000, 100)]
    found, times = timed(lambda: GridSearchCV(estimator("sklearn"), grid(), cv=splits, refit=False).fit(X, y))
    rights = [found.cv_results_[f"split{i}_test_score"].tolist() for i in range(10)]
    return {**{key: 100 * value for key, value in times.items()}, "part": 100, "rights": rights}


def space(name, side):
    """Score the search without arguments, and the full grid of SVC, by 5 outer folds; 3 shuffles of small sets."""
    import numpy as np
    from sklearn.model_selection import StratifiedKFold

    from hingeline.model_selection import nested_cross_validate

    X, y = load(name)
    scores, total = [], {"cpu": 0.0, "wall": 0.0}
    shuffles = 3 if len(y) < 1000 else 1
    for seed in range(shuffles):
        splits = {
            "outer": StratifiedKFold(5, shuffle=True, random_state=seed),
            "inner": StratifiedKFold(5, shuffle=True, random_state=100 + seed),
        }
        own = ("SVC", grid()) if side == "full" else (side, None)
        call = partial(nested_cross_validate, estimator(own[0]), X, y, own[1], **splits)
        found, times = timed(call)
        scores.append(float(np.mean(found.test_score)))
        total = {key: total[key] + times[key] for key in total}
    return {**{key: value / shuffles for key, value in total.items()}, "scores": scores}


def memory(limit, name, kind, values):
    """Measure the peak of a search above that before it."""
    from hingeline.model_selection import KernelSearchCV

    X, y = load(name)
    X = X.copy()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    search = KernelSearchCV(estimator(kind), values, cv=5, refit=False, n_jobs=2)
    found, times = timed(lambda: search.set_params(memory_limit=float(limit)).fit(X, y))
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {**times, "limit": limit, "extra_mb": extra, "storage": found.kernel_storage_}


KINDS = {"peer": peer, "ours": ours, "separately": separately, "loo": leave_one_out, "space": space, "memory": memory}


@dataclass(frozen=True)
class Job:
    """One search: a function of KINDS and its arguments."""

    path: str
    kind: str
    args: tuple[Any, ...]
    package: str = "hingeline"

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "args": self.args}


def jobs():
    """Return all jobs by their names."""
    found = []
    for name in (*SMALL, "satimage"):
        found.append(Job(f"nested-{name}-peer", "peer", (name,)))
        kinds = ("sklearn", "SVC", "WorstViolatorSVC")
        found += [Job(f"nested-{name}-{kind}", "ours", (name, kind)) for kind in kinds]
    for name in (*SMALL, "satimage"):
        found.append(Job(f"wall-{name}-peer", "peer", (name, 2)))
        found += [Job(f"wall-{name}-{kind}", "ours", (name, kind, 2)) for kind in ("SVC", "WorstViolatorSVC")]
    for name in L2_SETS:
        found.append(Job(f"l2-{name}-separately", "separately", (name, "L2SVC")))
        found.append(Job(f"l2-{name}", "ours", (name, "L2SVC")))
    found += [Job(f"loo-{side}", "loo", (side,)) for side in ("ours", "peer")]
    for name in SPACE:
        for side in ("WorstViolatorSVC", "SVC", "full"):
            found.append(Job(f"space-{name}-{side}", "space", (name, side)))
        if name not in SMALL:
            found.append(Job(f"space-{name}-peer", "peer", (name,)))
    for limit in LIMITS:
        found += [Job(f"memory-{limit}-{kind}", "memory", (limit, *what)) for kind, what in MEMORY.items()]
    found += [Job(f"large-{name}", "ours", (name, "WorstViolatorSVC", 2, "grid", 3000.0)) for name in LARGE]
    return {job.path: job for job in found}


def child(name):
    warnings.simplefilter("ignore")
    job = jobs()[name]
    load = os.getloadavg()[0]
    print(json.dumps({**KINDS[job.kind](*job.args), "load": load, "machine": about_machine(machine())}))


# ---- parent ------------------------------------------------------------------------------------------


def stored(name):
    job = jobs().get(name)
    return None if job is None else STORE.get(job)


def run(job):
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    command = [sys.executable, "-m", "benchmarks.search", "--child", job.path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-2000:])
        return
    STORE.put(job, json.loads(done.stdout.splitlines()[-1]))


def mean(values):
    return sum(values) / len(values)


def ratio(peer, own, key="cpu"):
    return f"{peer[key] / own[key]:.1f}" if peer and own else ""


def nested_rows(names, prefix, key):
    rows = []
    for name in names:
        theirs = stored(f"{prefix}-{name}-peer")
        kinds = ("sklearn", "SVC", "WorstViolatorSVC") if prefix == "nested" else ("SVC", "WorstViolatorSVC")
        own = [stored(f"{prefix}-{name}-{kind}") for kind in kinds]
        if theirs is None or None in own[1:]:
            continue
        row = [name, f"{theirs[key]:.2f}"]
        for one in own:
            row += [f"{one[key]:.2f}", ratio(theirs, one, key)] if one else ["", ""]
        if prefix == "nested":
            same = "-" if theirs["part"] > 1 or not own[0] else str(theirs["scores"] == own[0]["scores"])
            row += [same, *(f"{100 * mean(one['scores']):.2f}" for one in own[1:])]
        else:
            row += [" ".join(f"{one['load']:.0f}" for one in (theirs, *own) if "load" in one)]
        rows.append(row)
    return rows


def l2_rows():
    rows = []
    for name in L2_SETS:
        theirs, own = stored(f"l2-{name}-separately"), stored(f"l2-{name}")
        if theirs and own:
            cells = (f"{theirs['cpu']:.2f}", f"{own['cpu']:.2f}", ratio(theirs, own))
            rows.append([f"{name}, `L2SVC`", *cells, str(theirs["scores"] == own["scores"])])
    return rows


def report():
    lines = [
        "# Searches: KernelSearchCV against GridSearchCV",
        "",
        "`python -m benchmarks.search`",
        "",
        *dict.fromkeys(line for name in sorted(jobs()) for line in (stored(name) or {}).get("machine", ())),
        "- Threads: 1, unless a row says otherwise",
    ]
    older = [name for name in jobs() if "machine" not in (stored(name) or {"machine": None})]
    lines += [f"- Made by an earlier build on such a machine: {', '.join(older)}"] if older else []
    lines += ["", "## Nested 5 x 5 cross-validation, 8 x 8 grid, CPU seconds of one process", ""]
    lines += [
        "Peer: `cross_validate(GridSearchCV(sklearn.svm.SVC()))`, on satimage a quarter of the grid in one of five"
        ' outer folds, times 20. "Equal": the outer scores with `sklearn.svm.SVC` inside are those of the peer.',
        "",
    ]
    head = ["data", "peer"]
    for kind in ("`sklearn.svm.SVC` inside", "`SVC`", "`WorstViolatorSVC`"):
        head += [kind, "ratio"]
    lines += [table([*head, "equal", "SVC %", "WorstViolator %"], nested_rows((*SMALL, "satimage"), "nested", "cpu"))]
    lines += ["", "## The same, wall seconds, n_jobs=2 on both sides", ""]
    lines += ["Load: load average of the minute before a search.", ""]
    head = ["data", "peer", "`SVC`", "ratio", "`WorstViolatorSVC`", "ratio", "load (peer, SVC, WorstViolatorSVC)"]
    lines += [table(head, nested_rows((*SMALL, "satimage"), "wall", "wall"))]
    lines += ["", "## L2-SVMs: one kernel matrix against a fit for each candidate, CPU seconds", ""]
    lines += ["`cross_validate(GridSearchCV(...))` with the same estimator. Equal: all outer scores are.", ""]
    lines += [table(["data, estimator", "a fit for each", "`nested_cross_validate`", "ratio", "equal"], l2_rows())]
    lines += ["", "## The whole nested search, larger sets, `WorstViolatorSVC`, n_jobs=2", ""]
    large = [(name, stored(f"large-{name}")) for name in LARGE]
    lines += [
        table(
            ["data", "rows", "CPU s", "wall s", "chapter, s", "accuracy %"],
            [
                [
                    n,
                    f"{r['rows']:,}",
                    f"{r['cpu']:.0f}",
                    f"{r['wall']:.0f}",
                    f"{LARGE[n]:,}",
                    f"{100 * mean(r['scores']):.2f}",
                ]
                for n, r in large
                if r
            ],
        )
    ]
    lines += ["", "## Leave-one-out over the grid, 1,000 rows of banana", ""]
    own, theirs = stored("loo-ours"), stored("loo-peer")
    if own and theirs:
        wrong = sum(
            a != b for x, y in zip(own["rights"], theirs["rights"], strict=True) for a, b in zip(x, y, strict=True)
        )
        lines += [
            f"`cv='loo'`: {own['cpu']:.1f} CPU s. `GridSearchCV(SVC, cv=LeaveOneOut())`: {theirs['cpu']:.0f} CPU s (10"
            f" of 1,000 splits, times 100): ratio {ratio(theirs, own)}. Of the 640 scores of these {wrong} differ.",
        ]
    lines += ["", "## Search without arguments, 12 sets, nested 5 x 5, mean of 3 shuffles (one from 1,000 rows)", ""]
    lines += space_lines()
    lines += [
        "",
        "## Memory",
        "",
        "Two threads, peak above that before the search. `WorstViolatorSVC`: usps, 9,298 rows, 10 classes (kernel"
        " matrix: 660 MB). L2-SVMs: reuters, 11,069 rows, 2 classes (935 MB).",
        "",
    ]
    rows = [
        [f"`{kind}`", str(found["limit"]), f"{found['extra_mb']:.0f}", found["storage"]]
        for kind in MEMORY
        for limit in LIMITS
        if (found := stored(f"memory-{limit}-{kind}"))
    ]
    lines += [table(["estimator", "memory_limit, MB", "peak, MB", "storage"], rows)]
    write_whole(PAGE, "\n".join(lines) + "\n")


def space_lines():
    rows, sums = [], []
    for name in SPACE:
        found = [stored(f"space-{name}-{side}") for side in ("full", "WorstViolatorSVC", "SVC")]
        if None in found:
            continue
        theirs = stored(f"nested-{name}-peer") or stored(f"space-{name}-peer")
        own = [100 * mean(one["scores"]) for one in found]
        sums.append(own)
        share = [f"{one['cpu'] / theirs['cpu']:.3f}" if theirs else "" for one in found[1:]]
        rows.append([name, *(f"{value:.2f}" for value in own), *share])
    if sums:
        rows.append(["mean", *(f"{mean(column):.2f}" for column in zip(*sums, strict=True)), "", ""])
    head = ["data", "`SVC`, 8 x 8 grid, %", "`WorstViolatorSVC` %", "`SVC` %", "time / peer's", "time / peer's"]
    return [table(head, rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", help="names or patterns; default all")
    parser.add_argument("--fresh", action="store_true", help="make the chosen jobs again")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only-report", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.child)
    todo = chosen(list(jobs().values()), args.jobs)
    for job in todo:
        if args.list:
            print(job.path)
        elif not args.only_report and (args.fresh or STORE.get(job) is None):
            run(job)
            print(job.path, STORE.get(job), flush=True)
    if not args.list:
        STORE.compact()
        report()


if __name__ == "__main__":
    main()
