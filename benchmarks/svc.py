"""SVC against scikit-learn's SVC and scikit-learn-intelex; growth, small problems and memory. Threads: threads.py.

    python -m benchmarks.svc [parts or patterns] [--list] [--fresh] [--only-report] [--repeats 3] [--at-once 1]

Parts: `import` (scikit-learn, float64: what changing the import gains), `peers` (intelex, float32), `multi` and `small`
(scikit-learn, both precisions), `growth` (10,000 to 160,000 rows), `noisy` (50,000 to 400,000 rows with 20 % wrong
labels, two values of `cache_size`), `memory`, `l2` (L2SVC against scikit-learn's SVC). Every fit has one thread and a
process of its own, contestants in turns. CPU seconds of `fit` are reported, since they depend little on other programs
of the machine; the median of the repeats counts, for `small` the best. Objective and violation are computed from the
model in double; with several classes they are the sum and the maximum over the pairs. Each job is stored in
`benchmarks/results/svc/runs.jsonl` when it is done, and is not run again. The page there is written at the end. With
`--at-once N` N jobs run side by side, each on a core of its own.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.contest import Job, best, main, median, resident_mb, write_page
from benchmarks.store import Store
from benchmarks.writing import number, table

#: Data, C, gamma.
CASES = {
    "adult-1": ("adult", 1.0, 0.005),
    "adult-100": ("adult", 100.0, 0.005),
    "adult-1000": ("adult", 1000.0, 0.005),
    "mnist8": ("mnist8", 100.0, 0.001),
    "ijcnn1": ("ijcnn1", 32.0, 2.0),
    "letter": ("letter", 10.0, 0.1),
    "usps": ("usps", 10.0, 0.01),
    "pendigits": ("pendigits", 10.0, 0.1),
    "satimage": ("satimage", 10.0, 0.05),
    "forest-20000": ("forest20000", 10.0, 0.05),
    "forest-80000": ("forest80000", 10.0, 0.05),
    "forest-80000-hard": ("forest80000", 100.0, 0.25),
}
MULTI = ("letter", "usps", "pendigits", "satimage")
IMPORT = ("adult-1", "adult-100", "ijcnn1", "forest-20000", *MULTI)
GROWTH = (10_000, 20_000, 40_000, 80_000, 160_000)
NOISY = (50_000, 100_000, 200_000, 400_000)
SMALL = (100, 300, 1000, 3000, 10_000, 20_000)
#: Of L2SVC against scikit-learn's SVC; letter has 16,000 rows, adult and ijcnn1 32,561 and 49,990.
L2_CASES = ("forest", "adult-1", "mnist8", "ijcnn1", "letter")
L2_SIZES = (5000, 10_000, 20_000, 40_000)
CACHE_MB = 2000
BLOCK = 1024
#: Part of the labels of `noisy` that is wrong.
FLIPPED = 0.2
#: Drawn rows for testing.
TESTED = 5000


def forest_like(n, seed=0):
    """Return rows like the forest cover types: 10 measurements, 4 areas and 40 soils as indicators, standardised."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 6))
    values = z @ rng.normal(size=(6, 10)) * 0.6 + rng.normal(size=(n, 10)) * 0.5
    area = np.argmax(z @ rng.normal(size=(6, 4)) + rng.gumbel(size=(n, 4)), axis=1)
    soil = np.argmax(z @ rng.normal(size=(6, 40)) * 1.2 + rng.gumbel(size=(n, 40)), axis=1)
    X = np.c_[values, np.eye(4)[area], np.eye(40)[soil]]
    f = np.sin(2 * values[:, 0]) + 0.7 * values[:, 1] * values[:, 2] + np.sin(1.5 * values[:, 3] + area)
    f += 0.5 * np.cos(soil) + 0.8 * values[:, 4]
    y = f + 0.8 * rng.normal(size=n) > np.median(f)
    return (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12), y.astype(int)


def load(name):
    """Return rows and labels for training, then for testing."""
    from hingeline import datasets

    if name.startswith("normal"):  # two classes with a curved border
        rng = np.random.default_rng(0)
        n = int(name[6:])
        X = rng.normal(size=(n + TESTED, 20))
        y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    elif name.startswith("noisy"):  # most rows become support vectors, and more than a tenth of these are free
        rng = np.random.default_rng(0)
        n = int(name[5:])
        X = rng.standard_normal((n + TESTED, 50), dtype=np.float32)
        y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4] > 0
        y = (y ^ (rng.random(len(y)) < FLIPPED)).astype(int)
    elif name.startswith("forest"):
        n = int(name[6:])
        X, y = forest_like(n + TESTED)
    else:
        data = datasets.load("mnist" if name == "mnist8" else name)
        n, y = data.n_train or len(data.y), data.y
        X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=np.float64)
    if name == "mnist8":
        X, y = X / 255, (y == 8).astype(int)
    if name in ("letter", "pendigits", "satimage"):
        X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    return X[:n], y[:n], X[n:], y[n:]


def contestant(name):
    if name == "intelex":
        from sklearnex.svm import SVC
    elif name == "sklearn":
        from sklearn.svm import SVC
    else:
        import hingeline

        return getattr(hingeline, "SVC" if name == "hingeline" else name)
    return SVC


def optimality(model, X, y, C, gamma):
    """Sum of the dual objectives and largest violation of all pairs, in double, from the coefficients."""
    from sklearn.metrics.pairwise import rbf_kernel

    classes, codes = np.unique(y, return_inverse=True)
    support, coef = model.support_, np.asarray(model.dual_coef_)
    code, X = codes[support], X.astype(np.float64)
    machines = [(i, j) for i in range(len(classes)) for j in range(i + 1, len(classes))]
    beta = np.zeros((len(machines), len(support)))
    for k, (i, j) in enumerate(machines):
        beta[k, code == i] = coef[j - 1, code == i]
        beta[k, code == j] = coef[i, code == j]
    outputs = np.empty((len(X), len(machines)))
    for at in range(0, len(X), BLOCK):
        outputs[at : at + BLOCK] = rbf_kernel(X[at : at + BLOCK], X[support], gamma=gamma) @ beta.T
    dual, worst = 0.0, 0.0
    for k, (i, j) in enumerate(machines):
        mine = (codes == i) | (codes == j)
        sign = np.where(codes[mine] == (j if len(classes) == 2 else i), 1.0, -1.0)
        full = np.zeros(len(X))
        full[support] = beta[k]
        b, v = full[mine], sign - outputs[mine, k]
        dual += 0.5 * b @ (sign + v)
        up, low = b < np.where(sign > 0, C, 0), b > np.where(sign > 0, 0, -C)
        worst = max(worst, v[up].max(initial=-np.inf) - v[low].min(initial=np.inf))
    return dual, worst


def jobs() -> Iterator[Job]:
    for name in IMPORT:
        data, C, gamma = CASES[name]
        yield Job("import", name, ("hingeline", "sklearn"), task(data, C, gamma, "float64", check=True))
    for name, (data, C, gamma) in CASES.items():
        yield Job("peers", name, ("hingeline", "intelex"), task(data, C, gamma, check=True))
    for name in MULTI:
        for dtype in ("float64", "float32"):
            data, C, gamma = CASES[name]
            yield Job("multi", f"{name}-{dtype}", ("hingeline", "sklearn"), task(data, C, gamma, dtype))
    for n in SMALL:
        for dtype in ("float64", "float32"):
            many = {"fits": max(1, 3000 // n)}
            yield Job("small", f"{n}-{dtype}", ("hingeline", "sklearn"), task(f"normal{n}", 1.0, 0.05, dtype) | many)
    for n in GROWTH:
        yield Job("growth", str(n), ("hingeline",), task(f"forest{n}", 10.0, 0.05))
    for case in L2_CASES:
        data, C, gamma = CASES["forest-20000" if case == "forest" else case]
        for n in L2_SIZES:
            if n > {"adult": 32_561, "letter": 16_000}.get(data, n):
                continue
            own = {"data": f"forest{n}" if case == "forest" else data, "dtype": "float64", "rows": n, "score": True}
            yield Job("l2", f"{case}-{n}", ("L2SVC", "sklearn"), own | {"own": {"C": C, "gamma": gamma}})
    for n in NOISY:
        for cache in (200, CACHE_MB):
            own = {"C": 1.0, "gamma": 0.02, "cache_size": cache}
            yield Job("noisy", f"{n}-{cache}", ("hingeline",), {"data": f"noisy{n}", "dtype": "float32", "own": own})
    for cache in (50, 200, 1000):
        own = {"C": 10.0, "gamma": 0.05, "cache_size": cache}
        yield Job("memory", str(cache), ("hingeline",), {"data": "forest80000", "dtype": "float32", "own": own})


def task(data: str, C: float, gamma: float, dtype: str = "float32", check: bool = False) -> dict[str, Any]:
    own = {"C": C, "gamma": gamma, "cache_size": CACHE_MB}
    return {"data": data, "dtype": dtype, "own": own, "check": check}


def quick(job: Job) -> Job:
    """The same on tiny data."""
    return Job(job.kind, job.name, job.contestants, job.task | {"data": "normal500"})


# ---- one fit, in a process of its own -----------------------------------------------------------------


def measure(who: str, task: dict[str, Any], core: int | None) -> dict[str, Any]:
    if core is not None:
        os.sched_setaffinity(0, {core})
    X, y, X_test, y_test = load(task["data"])
    if "rows" in task:
        drawn = np.random.default_rng(0).permutation(len(y))[: task["rows"]]
        X, y = X[drawn], y[drawn]
    X, X_test = (np.ascontiguousarray(rows, dtype=task["dtype"]) for rows in (X, X_test))
    warnings.simplefilter("ignore")
    own = task["own"]
    before = resident_mb()
    runs = []
    for _ in range(task.get("fits", 1)):
        model = contestant(who)(**own)
        start, wall = time.process_time(), time.perf_counter()
        model.fit(X, y)
        runs.append((time.process_time() - start, time.perf_counter() - wall))
    cpu, wall = min(runs)
    out = {"cpu": cpu, "wall": wall, "rows": len(y), "support": len(model.support_), "peak_mb": resident_mb() - before}
    if hasattr(model, "n_kernel_evals_"):
        out["kernel_evals"] = int(model.n_kernel_evals_)
    if who == "hingeline":
        out["outer"] = int(np.max(model.history_["step"]))
        out["free"] = int(np.sum(np.abs(model.dual_coef_) < own["C"]))
        out["reached"] = float(model.kkt_violation_.max())
    if task.get("check"):
        out["dual"], out["violation"] = optimality(model, X, y, own["C"], own["gamma"])
    if (task.get("check") or task.get("score")) and len(y_test):
        out["accuracy"] = 100 * float(model.score(X_test, y_test))
    return out


# ---- the page -----------------------------------------------------------------------------------------


def compared(done: list[tuple[Job, dict[str, Any]]]) -> str:
    rows = []
    for job, results in done:
        ours = median(results["hingeline"])
        for who in job.contestants:
            runs = results[who]
            cpu, first = median(runs), runs[0]
            columns = (("accuracy", 4), ("dual", 10), ("violation", 2))
            rest = [number(first.get(key), digits) for key, digits in columns]
            rows.append([f"{job.name}, {who}", number(cpu), number(cpu / ours, 2), number(first["support"]), *rest])
    return table(
        ["case, contestant", "CPU s", "ratio", "support vectors", "accuracy %", "dual objective", "violation"], rows
    )


def against_l2(done: list[tuple[Job, dict[str, Any]]]) -> str:
    rows = []
    for job, results in done:
        ours, theirs = (median(results[who]) for who in ("L2SVC", "sklearn"))
        rest = [results[who][0][key] for key in ("support", "accuracy") for who in ("L2SVC", "sklearn")]
        rows.append([job.name, number(ours), number(theirs), number(ours / theirs, 2), *(number(x, 4) for x in rest)])
    header = ["case, rows", "L2SVC, s", "SVC, s", "ratio", "support vectors", "SVC", "accuracy %", "SVC"]
    return table(header, rows)


def smallest(done: list[tuple[Job, dict[str, Any]]]) -> str:
    rows = []
    for job, results in done:
        ours, theirs = (1000 * best(results[who], "cpu") for who in ("hingeline", "sklearn"))
        rows.append([job.name, number(ours), number(theirs), number(theirs / ours, 2), number(ours - theirs, 2)])
    return table(["rows, type", "SVC, ms", "scikit-learn, ms", "ratio", "difference, ms"], rows)


def growing(done: list[tuple[Job, dict[str, Any]]]) -> str:
    rows, last = [], None
    for job, results in done:
        runs = results["hingeline"]
        cpu, n, first = median(runs), runs[0]["rows"], runs[0]
        exponent = math.log(cpu / last[0]) / math.log(n / last[1]) if last and n != last[1] else None
        evals, floor = first["kernel_evals"], first["support"] * n
        rows.append([job.name, number(cpu), number(exponent, 2), number(first["support"]), number(evals / floor, 2)])
        last = cpu, n
    return table(["rows", "CPU s", "exponent", "support vectors", "kernel values / (SVs x n)"], rows)


def noisy(done: list[tuple[Job, dict[str, Any]]]) -> str:
    rows = []
    last: dict[int, tuple[float, int]] = {}  # by cache
    for job, results in done:
        runs = results["hingeline"]
        first, cache = runs[0], job.task["own"]["cache_size"]
        cpu, n = median(runs), first["rows"]
        before = last.get(cache)
        exponent = math.log(cpu / before[0]) / math.log(n / before[1]) if before and n != before[1] else None
        last[cache] = cpu, n
        ratio = first["kernel_evals"] / (first["support"] * n)
        counts = [number(first[key]) for key in ("outer", "support", "free")]
        rows.append(
            [job.name, number(cpu), number(exponent, 2), *counts, number(ratio, 2), number(first["reached"], 2)]
        )
    return table(
        [
            "rows, cache_size",
            "CPU s",
            "exponent",
            "outer steps",
            "support vectors",
            "free",
            "kernel values / (SVs x n)",
            "violation",
        ],
        rows,
    )


def memory(done: list[tuple[Job, dict[str, Any]]]) -> str:
    rows = [[job.name, number(best(results["hingeline"], "peak_mb"))] for job, results in done]
    return table(["cache_size, MB", "peak beyond the data, MB"], rows)


SECTIONS = {
    "import": ("Changing the import: SVC against scikit-learn's SVC, float64, one thread", compared),
    "peers": ("SVC against scikit-learn-intelex, float32, one thread", compared),
    "multi": ("Several classes, against scikit-learn, one thread", compared),
    "small": ("Small problems, against scikit-learn, one thread (20 normal features, C = 1)", smallest),
    "growth": ("Growth (forest-like, C = 10)", growing),
    "l2": ("L2SVC against scikit-learn's SVC with the same C and gamma, float64, one thread, CPU seconds", against_l2),
    "noisy": ("Noisy labels: 50 normal features, 20 % wrong labels, C = 1, gamma = 0.02", noisy),
    "memory": ("Memory at 80,000 forest-like rows (17 MB)", memory),
}


def page(store: Store, all_jobs: list[Job]) -> str:
    return write_page("SVC: times, growth, memory", "svc", SECTIONS, store, all_jobs)


if __name__ == "__main__":
    main("svc", (__doc__ or "").splitlines()[0], jobs(), quick, measure, page)
