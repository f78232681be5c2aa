"""Random hostile problems for the kernel machines, against LIBSVM and against the conditions of the optimum.

``python -m tests.hostile_machines --count 2000`` fits each problem in a process of its own, which ends after a limit
of CPU time. Rows that are equal, huge, tiny or far from zero; targets of one value; weights of zero and of many sizes;
every kernel; C from 1e-4 to 1e6; nu up to 1; tolerances to 1e-6; float32, CSR, a small cache, two threads. Everything
is recomputed in double from the coefficients:

- the coefficients are in the box and have the fixed sums;
- the violation is the published one, and at most tol;
- the duality gap is the published one, and at most tol times the size of the box;
- the dual objective is at least that of LIBSVM, minus tol times the coefficients that move from one to the other: more
  is impossible with such a violation.

``--seed K --count 1`` repeats problem K and prints it.
"""

import argparse
import json
import os
import signal
import sys
import time
import warnings
from collections import Counter

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from scipy.spatial.distance import cdist

from hingeline import svm
from tests.oracle import kernel_machines as oracle

SECONDS = 180  # 10 million steps, the limit, with a cache of 1 MB
MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


# ---- problems ------------------------------------------------------------------------------------------


def hostile_rows(rng, n, d):
    """Rows by one of several recipes."""
    X = rng.standard_normal((n, d))
    recipe = rng.choice(
        ["normal", "levels", "equal", "twins", "scaled rows", "scaled columns", "offset", "tiny", "heavy", "sparse"]
    )
    if recipe == "levels":
        X = rng.integers(0, 3, (n, d)).astype(float)
    elif recipe == "equal":
        X[:] = X[0]
    elif recipe == "twins":
        X = X[rng.integers(0, max(n // 4, 1), n)]
    elif recipe == "scaled rows":
        X *= 10.0 ** rng.uniform(-4, 4, (n, 1))
    elif recipe == "scaled columns":
        X *= 10.0 ** rng.uniform(-6, 6, d)
    elif recipe == "offset":
        X += 10.0 ** rng.uniform(1, 6)
    elif recipe == "tiny":
        X *= 1e-8
    elif recipe == "heavy":
        X = rng.standard_cauchy((n, d))
    elif recipe == "sparse":
        X *= rng.random((n, d)) < 0.1
    return recipe, X


def hostile_targets(rng, X):
    """Targets by one of several recipes."""
    n = len(X)
    recipe = rng.choice(["noise", "function", "linear", "constant", "levels", "huge", "tiny", "outliers"])
    y = rng.standard_normal(n)
    if recipe == "function":
        y = np.sin(X[:, 0]) + 0.1 * y
    elif recipe == "linear":
        y = X @ rng.standard_normal(X.shape[1])
        y /= max(np.abs(y).max(), 1e-300)
    elif recipe == "constant":
        y[:] = 3.0
    elif recipe == "levels":
        y = np.round(y)
    elif recipe == "huge":
        y *= 1e6
    elif recipe == "tiny":
        y *= 1e-9
    elif recipe == "outliers":
        y[rng.random(n) < 0.1] *= 1e4
    return recipe, y


def hostile_weights(rng, n):
    recipe = rng.choice(["none", "none", "uniform", "zeros", "negative", "sizes"])
    weights = np.ones(n)
    if recipe == "uniform":
        weights = rng.uniform(0.1, 2.0, n)
    elif recipe == "zeros":
        weights = rng.choice([0.0, 1.0, 2.0], n)
    elif recipe == "negative":
        weights = rng.uniform(-0.5, 1.5, n)
    elif recipe == "sizes":
        weights = 10.0 ** rng.uniform(-4, 3, n)
    return recipe, weights


def kernel_values(X, kernel, own):
    """The kernel matrix in double; distances from differences."""
    if kernel == "linear":
        return X @ X.T
    if kernel == "rbf":
        return np.exp(-own["gamma"] * cdist(X, X, "sqeuclidean"))
    products = own["gamma"] * (X @ X.T) + own["coef0"]
    return products ** own["degree"] if kernel == "poly" else np.tanh(products)


def hostile_problem(seed):
    """Estimator, data in the form in which they are given, kernel matrix, targets, weights and words."""
    rng = np.random.default_rng(seed)
    kind = MACHINES[seed % len(MACHINES)]
    n = int(rng.choice([2, 3, 5, 10, 30, 100, 300, 1200], p=[0.05, 0.05, 0.1, 0.15, 0.25, 0.2, 0.15, 0.05]))
    (rows, X), (what, y) = hostile_rows(rng, n, int(rng.choice([1, 2, 5, 20]))), ("", np.zeros(n))
    weighted, weights = hostile_weights(rng, n)
    if kind in ("SVC", "NuSVC"):
        y = np.where(rng.random(n) < rng.choice([0.5, 0.2]), 1, 0) if rng.random() < 0.5 else (X[:, 0] > np.median(X))
        y = np.asarray(y, dtype=int)
    elif kind != "OneClassSVM":
        what, y = hostile_targets(rng, X)
    single = rng.random() < 0.1
    X = (X.astype(np.float32) if single else X).astype(np.float64)
    kernel = str(rng.choice(["linear", "rbf", "rbf", "rbf", "poly", "sigmoid", "precomputed"]))
    spread = X.var() * X.shape[1]
    own = {"gamma": float(10.0 ** rng.uniform(-2, 2) / (spread if spread > 0 else 1.0)), "coef0": 0.0, "degree": 3}
    if kernel == "poly":
        own |= {"coef0": float(rng.choice([0.0, 1.0])), "degree": int(rng.choice([2, 3]))}
    K = kernel_values(X, "rbf" if kernel == "precomputed" else kernel, own)
    given = {"kernel": kernel, "tol": float(rng.choice([1e-3, 1e-3, 1e-2, 1e-4, 1e-6])), **own}
    if kind in ("SVC", "SVR", "NuSVR"):
        given["C"] = float(10.0 ** rng.uniform(-4, 4 if rng.random() < 0.8 else 6))
    if kind == "SVR":
        given["epsilon"] = float(rng.choice([0.0, 0.1, 1.0, 100.0]))
    if kind.startswith("Nu") or kind == "OneClassSVM":
        given["nu"] = float(rng.choice([1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0]))
    ours = {"shrinking": bool(rng.random() < 0.7), "n_jobs": int(rng.choice([1, 1, 2])),
            "cache_size": float(rng.choice([200, 200, 1]))}  # fmt: skip
    form = rng.choice(["dense", "dense", "csr"])
    data = K if kernel == "precomputed" else X.astype(np.float32) if single else X
    data = sp.csr_matrix(data) if form == "csr" and kernel != "precomputed" else data
    words = f"{seed} {kind} n={n} {rows} rows, {what} targets, {weighted} weights, {form}{' float32' * single}, {given}"
    return kind, given, ours, data, K, y, weights, words


# ---- checks --------------------------------------------------------------------------------------------


def examine(seed):
    """Result of one problem: a word, what is wrong, and numbers."""
    kind, given, ours, data, K, y, weights, words = hostile_problem(seed)
    start = time.process_time()
    try:
        model = getattr(svm, kind)(**given, **ours).fit(data, y, sample_weight=weights)
    except ValueError as error:
        return {
            "result": "refused",
            "text": str(error),
            "words": words,
            **refused_by_libsvm(kind, given, data, y, weights),
        }
    seconds = time.process_time() - start
    problem = oracle.dual_problem(model, K, y, weights)
    beta = oracle.coefficients(model, problem)
    tol, faults = model.tol, []
    rounding = oracle.slopes(problem, beta)[1] * (1e8 if data.dtype == np.float32 else 1.0)
    if given["kernel"] == "rbf":  # of distances from dot products
        rounding *= 1.0 + given["gamma"] * float(abs(data).max()) ** 2
    found, published = oracle.violation(problem, beta), np.ravel(model.kkt_violation_)[0]
    reason = np.ravel(model.stop_reason_)[0]
    if oracle.infeasibility(problem, beta) > 1e-10:
        faults.append(f"infeasible: {oracle.infeasibility(problem, beta):.3g}")
    if reason == "tol" and found > tol * 1.01 + rounding:
        faults.append(f"violation {found:.3g} exceeds tol (published {published:.3g})")
    value, size = oracle.objective(problem, beta), max(np.abs(beta).sum(), np.abs(problem.total).sum())
    single = rounding * 2.0**22  # the slopes of points far from the margin have kernel values in single precision
    if abs(value - np.ravel(model.dual_objective_)[0]) > 1e-3 * abs(value) + single * size:
        faults.append(f"dual objective {value:.9g}, published {np.ravel(model.dual_objective_)[0]:.9g}")
    width, published = (problem.upper - problem.lower).sum(), np.ravel(model.duality_gap_)[0]
    near = 1e-3 * abs(published) + 0.01 * tol * size + rounding * width + 1e-6 * abs(value)
    gap, least = oracle.duality_gap(problem, beta, oracle.levels(model, problem)), oracle.least_gap(problem, beta)
    # A margin that is smaller than tol is an estimate: the multipliers of NuSVC cannot be read from the model.
    if least > published + near or (kind != "NuSVC" and abs(gap - published) > near):
        faults.append(f"duality gap {gap:.6g}, at least {least:.6g}, published {published:.6g}")
    if reason == "tol" and published > tol * width + near:
        faults.append(f"duality gap {published:.6g} is too large for tol and coefficients of {width:.6g}")
    out = {"result": reason, "words": words, "seconds": seconds, "steps": int(np.ravel(model.n_iter_)[0]), "n": len(K)}
    if given["kernel"] != "sigmoid":
        out |= compare(kind, given, data, y, weights, problem, beta, tol, rounding, faults)
    return out | {"faults": faults}


def refused_by_libsvm(kind, given, data, y, weights):
    try:
        reference(kind, given, data, y, weights)
    except ValueError:
        return {"faults": []}
    return {"faults": ["LIBSVM accepts this problem"]}


def reference(kind, given, data, y, weights):
    """LIBSVM's model in double; float32 rows are converted, as scikit-learn does."""
    if kind == "OneClassSVM" and given["nu"] == 1.0:  # rounding errors let LIBSVM write behind its coefficients
        weights = None if (weights == 1.0).all() else np.where(weights > 0, 1.0, 0.0)
    return getattr(sklearn.svm, kind)(**given, max_iter=200_000).fit(data, y, sample_weight=weights)


def compare(kind, given, data, y, weights, problem, beta, tol, rounding, faults):
    """Compare the objective with LIBSVM's."""
    try:
        theirs = reference(kind, given, data, y, weights)
    except ValueError as error:
        return {"libsvm": f"refused: {error}"}
    kept = np.flatnonzero(weights > 0) if (weights <= 0).any() else None
    other = oracle.coefficients(theirs, problem, kept)
    if oracle.infeasibility(problem, other) > 1e-6:
        return {"libsvm": "infeasible"}
    ahead = oracle.objective(problem, other) - oracle.objective(problem, beta)
    moved = np.abs(other - beta).sum() if kind != "NuSVR" else 2 * np.abs(problem.total).sum()
    allowed = 0.51 * tol * moved + rounding * (np.abs(beta).sum() + np.abs(other).sum())
    if ahead > allowed:
        faults.append(f"LIBSVM's objective is larger by {ahead:.6g}, at most {allowed:.3g} is possible")
    return {
        "libsvm": "converged" if theirs.fit_status_ == 0 else "max_iter",
        "their_steps": int(np.ravel(theirs.n_iter_)[0]),
    }


def examine_alone(seed, seconds=SECONDS):
    """`examine` in a child process that ends after a limit of CPU seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its default action ends the process
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        try:
            found = examine(seed)
        except BaseException as error:
            found = {"result": "exception", "faults": [repr(error)], "words": hostile_problem(seed)[-1]}
        with os.fdopen(writing, "w") as file:
            file.write(json.dumps(found))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    status = os.waitpid(child, 0)[1]
    if status or not text:
        return {"result": "ended", "faults": [f"no result within {seconds} CPU seconds, status {status}"],
                "words": hostile_problem(seed)[-1]}  # fmt: skip
    return json.loads(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="CPU seconds that a problem may take")
    options = parser.parse_args()
    results, references, faulty, slow = Counter(), Counter(), 0, []
    for seed in range(options.seed, options.seed + options.count):
        found = examine_alone(seed, options.seconds)
        results[found["result"]] += 1
        references[found.get("libsvm", "not compared").partition(":")[0]] += 1
        slow.append((found.get("seconds", 0.0), found["words"]))
        if found["faults"] or options.count == 1:
            faulty += bool(found["faults"])
            print(f"{found['words']}\n    {found['result']}: {'; '.join(found['faults'])}", flush=True)
    print(f"{options.count} problems, {faulty} with faults; ours: {dict(results)}; LIBSVM: {dict(references)}")
    for seconds, words in sorted(slow, reverse=True)[:5]:
        print(f"{seconds:8.3f} s  {words}")
    return faulty > 0


if __name__ == "__main__":
    sys.exit(main())
