"""SVC against scikit-learn's SVC and scikit-learn-intelex: CPU seconds, objective and violation in double.

    python -m benchmarks.svc [names of cases] [--repeats 3] [--peers sklearn intelex] [--dtype float32]

Every fit runs in a process of its own with one thread, contestants in turns. CPU seconds of `fit` are reported, since
they do not depend on other programs of the machine; the median of the repeats is printed. Objective and violation are
computed from the model in double; with several classes they are the sum and the maximum over the pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np

from benchmarks.environment import THREAD_VARIABLES

#: Data, C, gamma.
CASES = {
    "adult, C = 1": ("adult", 1.0, 0.005),
    "adult, C = 100": ("adult", 100.0, 0.005),
    "adult, C = 1000": ("adult", 1000.0, 0.005),
    "mnist, 8 against rest": ("mnist8", 100.0, 0.001),
    "ijcnn1": ("ijcnn1", 32.0, 2.0),
    "letter": ("letter", 10.0, 0.1),
    "usps": ("usps", 10.0, 0.01),
    "pendigits": ("pendigits", 10.0, 0.1),
    "satimage": ("satimage", 10.0, 0.05),
    "forest-like, 10,000": ("forest10", 10.0, 0.05),
    "forest-like, 20,000": ("forest20", 10.0, 0.05),
    "forest-like, 80,000": ("forest80", 10.0, 0.05),
}
CACHE_MB = 2000
BLOCK = 1024


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
    from hingeline import datasets

    if name.startswith("forest"):
        return forest_like(1000 * int(name[6:]))
    data = datasets.load("mnist" if name == "mnist8" else name)
    n = data.n_train or len(data.y)
    X, y = data.X[:n], data.y[:n]
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if name == "mnist8":
        return X / 255, (y == 8).astype(int)
    if name in ("letter", "pendigits", "satimage"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, y


def contestant(name):
    if name == "hingeline":
        from hingeline import SVC
    elif name == "intelex":
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
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


def measure(who, data, C, gamma, dtype, check):
    X, y = load(data)
    X = np.ascontiguousarray(X, dtype=dtype)
    warnings.simplefilter("ignore")
    model = contestant(who)(C=C, gamma=gamma, cache_size=CACHE_MB)
    start, wall = time.process_time(), time.perf_counter()
    model.fit(X, y)
    out = {"cpu": time.process_time() - start, "wall": time.perf_counter() - wall, "support": len(model.support_)}
    if check:
        out["dual"], out["violation"] = optimality(model, X, y, C, gamma)
    return out


def in_child(*job):
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    command = [sys.executable, "-m", "benchmarks.svc", "--child", json.dumps(job)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(case, results):
    ours = statistics.median(r["cpu"] for r in results["hingeline"])
    for who, runs in results.items():
        cpu = statistics.median(r["cpu"] for r in runs)
        last = runs[0]
        print(
            f"| {case} | {who} | {cpu:.3g} | {cpu / ours:.1f} | {last['support']} | {last.get('dual', np.nan):.10g} "
            f"| {last.get('violation', np.nan):.2g} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="parts of the names of cases; all if none is given")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", nargs="*", default=["intelex"])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(*json.loads(given.child))))
        return
    print("| case | contestant | CPU seconds | ratio | support vectors | dual objective | violation |")
    print("|---|---|---|---|---|---|---|")
    for case, setting in CASES.items():
        if given.cases and not any(part in case for part in given.cases):
            continue
        results = {who: [] for who in ["hingeline", *given.peers]}
        for repeat in range(given.repeats):
            for who, runs in results.items():
                runs.append(in_child(who, *setting, given.dtype, repeat == 0))
        report(case, results)


if __name__ == "__main__":
    main()
