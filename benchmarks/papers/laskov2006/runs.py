"""One run of each kind; the functions are named by Job.kind. Seconds are CPU seconds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import lars_path_gram
from sklearn.metrics import pairwise_kernels, roc_auc_score, roc_curve
from sklearn.svm import SVC

from benchmarks.harness import timed
from benchmarks.incremental.designs import Machine, kernel_of
from benchmarks.papers.frame import cpu_timed
from hingeline import IncrementalOneClassSVM, IncrementalSVC
from hingeline.active import ActiveLearner, Rule, largest_positive, near_boundary

from . import data
from .settings import (
    CACHE_MB,
    CAPACITY_MB,
    FIRST,
    FIT,
    KERNELS,
    NU,
    ONE_BY_ONE,
    QUERIES,
    RULES,
    SIZES,
    USPS,
    USPS_READINGS,
    WAYS,
)


def warm_up() -> None:
    """Load what is loaded at first use, so that it is not part of the first time."""
    X, y = np.eye(8), np.tile([-1, 1], 4)
    IncrementalSVC().fit(X, y).decision_function(X)
    SVC().fit(X, y).decision_function(X)


# ---- mnist -------------------------------------------------------------------------------------------


def grow(kernel: str, digit: int, n: int, n_jobs: int) -> dict[str, Any]:
    """One pass; times and counts when it comes by each size. What comes later does not change what was before."""
    return path(kernel, digit, n, "auto", n_jobs)


def path(kernel: str, digit: int, n: int, solver: str, n_jobs: int) -> dict[str, Any]:
    """The same with a solver of IncrementalSVC."""
    X, y, X_test, y_test = data.mnist(digit, n)
    options = {**KERNELS[kernel].parameters, **ONE_BY_ONE, "solver": solver}
    model = IncrementalSVC(**options, cache_size=CACHE_MB, n_jobs=n_jobs)
    seconds, wall_seconds, seen, sizes = 0.0, 0.0, 0, []
    for size in (size for size in SIZES if size <= n):
        learn = partial(model.partial_fit, X[seen:size], y[seen:size], classes=[-1, 1])
        wall, (_, cpu) = timed(partial(cpu_timed, learn))
        seconds += cpu
        wall_seconds += wall
        seen = size
        sizes.append(
            {
                "n": size,
                "seconds": seconds,
                "wall_seconds": wall_seconds,  # the profile of the core is wall time
                "profile": {part: float(value) for part, value in model.profile_.items()},
                "bytes_touched": int(model.bytes_touched_),
                "steps": int(np.sum(model.n_iter_)),
                "n_support": len(model.support_),
                "n_margin": int(np.sum(model.n_margin_)),
                "rebuilds": int(np.sum(model.n_rebuilds_)),
                "memory": int(model.memory_),
                "accuracy": float(model.score(X_test, y_test)),
            }
        )
    return {"sizes": sizes, "kkt": float(np.max(model.kkt_violation_))}


def batch(kernel: str, digit: int, n: int, solver: Any, n_jobs: int) -> dict[str, Any]:
    """All rows at once, by ours or by SVC."""
    X, y, X_test, y_test = data.mnist(digit, n)
    if solver == FIT:
        model = IncrementalSVC(**KERNELS[kernel].parameters, cache_size=CACHE_MB, n_jobs=n_jobs)
    else:
        model = SVC(**KERNELS[kernel].parameters, tol=solver, cache_size=1000)
    _, seconds = cpu_timed(lambda: model.fit(X, y))
    return {"seconds": seconds, "n_support": len(model.support_), "accuracy": float(model.score(X_test, y_test))}


def design(kernel: str, digit: int, n: int, design: str, n_jobs: int) -> dict[str, Any]:
    """One pass of Algorithm 1 with one way to compute gamma; seconds when it comes by each size.

    `differ_by` is the largest difference of a coefficient from `IncrementalSVC.fit`, in units of C.
    """
    X, y, _, _ = data.mnist(digit, n)
    parameters = KERNELS[kernel].parameters
    machine = _Core(parameters, n_jobs) if design == "core" else Machine(kernel_of(parameters), 1.0, design, n)
    seen, sizes = 0, []
    for size in (size for size in SIZES if size <= n):
        machine.learn(X[seen:size], y[seen:size].astype(np.float64))
        seen = size
        times = {"seconds": machine.seconds, "gamma_seconds": machine.gamma_seconds}
        sizes.append({"n": size, **times, "steps": machine.steps, "n_margin": len(machine.S)})
    exact = IncrementalSVC(**parameters, cache_size=CACHE_MB, n_jobs=n_jobs).fit(X, y)
    alpha = np.zeros(n)
    alpha[exact.support_] = exact.dual_coef_[0]
    return {"sizes": sizes, "differ_by": float(np.abs(machine.alpha[:n] - alpha).max())}


def capacity(kernel: str, digit: int, n: int, n_jobs: int) -> dict[str, Any]:
    """Learn up to n rows one by one in the memory of the paper's program; seconds and memory on the way."""
    X, y, X_test, y_test = data.mnist(digit, n)
    model = IncrementalSVC(**KERNELS[kernel].parameters, **ONE_BY_ONE, cache_size=CAPACITY_MB, n_jobs=n_jobs)
    seconds, sizes, full = 0.0, [], False
    for at in range(0, n, 4000):
        learn = partial(model.partial_fit, X[at : at + 4000], y[at : at + 4000], classes=[-1, 1])
        try:
            seconds += cpu_timed(learn)[1]
        except MemoryError:
            full = True
            break
        counts = {"n_support": len(model.support_), "n_margin": int(model.n_margin_[0])}
        sizes.append({"n": model.n_samples_, "seconds": seconds, "memory": int(model.memory_), **counts})
    kkt, accuracy = float(np.max(model.kkt_violation_)), float(model.score(X_test, y_test))
    return {"sizes": sizes, "full": full, "kkt": kkt, "accuracy": accuracy}


class _Core:
    """IncrementalSVC, with the names of `Machine`."""

    def __init__(self, parameters: dict[str, Any], n_jobs: int) -> None:
        self.model = IncrementalSVC(**parameters, **ONE_BY_ONE, cache_size=CACHE_MB, n_jobs=n_jobs)
        self.seconds, self.gamma_seconds = 0.0, None  # the profile of the core is not CPU time

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        self.seconds += cpu_timed(lambda: self.model.partial_fit(X, y, classes=[-1, 1]))[1]

    @property
    def steps(self) -> int:
        return int(self.model.n_iter_[0])

    @property
    def S(self) -> range:
        return range(int(self.model.n_margin_[0]))

    @property
    def alpha(self) -> np.ndarray:
        found = np.zeros(self.model.n_samples_seen_)
        found[self.model.support_] = self.model.dual_coef_[0]
        return found


# ---- usps --------------------------------------------------------------------------------------------


def window(way: str, window: int | None, order: int, n_jobs: int) -> dict[str, Any]:
    X, y, X_test, y_test = data.usps(order)
    parameters = {**USPS, "window": window, "window_rule": WAYS[way], "cache_size": CACHE_MB, "n_jobs": n_jobs}
    labels = [np.where(y == digit, 1, -1) for digit in range(10)] if way == "own" else [y]
    models, seconds = cpu_timed(lambda: [IncrementalSVC(**parameters).fit(X, each) for each in labels])
    if way == "own":
        n_support = float(np.mean([len(model.support_) for model in models]))
        predicted = np.column_stack([model.decision_function(X_test) for model in models]).argmax(axis=1)
    else:
        n_support = float(np.mean(np.sum(models[0].dual_coef_ != 0, axis=1)))
        predicted = models[0].predict(X_test)
    return {"error": float(np.mean(predicted != y_test)), "seconds": seconds, "n_support": n_support}


def class_window(window: int, rule: str, order: int, n_jobs: int) -> dict[str, Any]:
    """A window for each class."""
    X, y, X_test, y_test = data.usps(order)
    options = {"window": window, "window_rule": rule, "window_scope": "class", "cache_size": CACHE_MB}
    model, seconds = cpu_timed(lambda: IncrementalSVC(**USPS, **options, n_jobs=n_jobs).fit(X, y))
    error = float(np.mean(model.predict(X_test) != y_test))
    return {"error": error, "seconds": seconds, "n_held": model.n_samples_}


def usps_readings(C: float, n_jobs: int) -> dict[str, Any]:
    """SVC, one against the rest: error and support vectors of each reading of the paper's setting."""
    rows = []
    for images, low, times in USPS_READINGS:
        X, y, X_test, y_test = data.usps(0, images)
        if low == 0:
            X, X_test = (X + 1) / 2, (X_test + 1) / 2
        models = [SVC(C=C, gamma=USPS["gamma"] / times, cache_size=500).fit(X, y == digit) for digit in range(10)]
        predicted = np.column_stack([model.decision_function(X_test) for model in models]).argmax(axis=1)
        sizes = [len(model.support_) for model in models]
        error, n_support = float(np.mean(predicted != y_test)), float(np.mean(sizes))
        rows.append({"images": images, "low": low, "times": times, "error": error, "n_support": n_support})
    return {"rows": rows}


# ---- kdd99 -------------------------------------------------------------------------------------------


def active(kernel: str, draw: int, n_jobs: int) -> dict[str, Any]:
    """Anomaly detection, active learning with both rules, the full and the reduced SVM: ROC curves."""
    X, y, X_test, y_test = data.kdd99(draw)
    parameters = {**KERNELS[kernel].parameters, "n_jobs": n_jobs}
    shape = {key: value for key, value in parameters.items() if key != "C"}
    sphere = IncrementalOneClassSVM(**shape, nu=NU, shape="sphere").fit(X)
    strange = -sphere.decision_function(X)
    by_anomaly = np.argsort(-strange, kind="stable")
    train = {"anomaly detection": _by_order(y, by_anomaly)}
    test = {"anomaly detection": _by_score(y_test, -sphere.decision_function(X_test), None)}
    for rule in RULES:
        model, asked = _ask(parameters, X, y, by_anomaly, rule)
        rest = by_anomaly[~np.isin(by_anomaly, asked)]
        rest = rest[np.argsort(-model.decision_function(X[rest]), kind="stable")]
        train[rule] = _by_order(y, np.r_[asked, rest])
        test[rule] = _by_score(y_test, model.decision_function(X_test), len(model.support_))
    full = IncrementalSVC(**parameters).fit(X, y)
    test["full SVM"] = _by_score(y_test, full.decision_function(X_test), len(full.support_))
    weights = np.zeros(len(y))
    weights[full.support_] = full.dual_coef_[0]
    different = np.unique(X, axis=0, return_index=True)[1]  # equal rows would be a tie
    kept = _reduce(_gram(shape, X, X), different, weights, test[RULES[0]]["n_support"])
    test["reduced SVM"] = _by_score(y_test, _gram(shape, X_test, X) @ kept, int(np.sum(kept != 0)))
    return {"train": train, "test": test}


def _ask(parameters: dict[str, Any], X: np.ndarray, y: np.ndarray, by_anomaly: np.ndarray, rule: str) -> Any:
    """The model after all questions, and the rows in the order in which their labels were asked for."""
    pool, labels = X[by_anomaly], y[by_anomaly]  # on ties the row with the higher anomaly score
    asks = Rule(near_boundary if rule == "near boundary" else largest_positive, ties="first")
    learner = ActiveLearner(IncrementalSVC(**parameters), asks, pool=pool, classes=[-1, 1], n_watched=0)
    learner.answer(np.arange(FIRST), labels[:FIRST])
    for _ in range(QUERIES):
        row = learner.ask()
        learner.answer(row, labels[row])
    return learner.estimator, by_anomaly[list(learner.labels)]


def _gram(shape: dict[str, Any], A: np.ndarray, B: np.ndarray) -> np.ndarray:
    more = {key: value for key, value in shape.items() if key in ("gamma", "degree", "coef0")}
    return np.asarray(pairwise_kernels(A, B, metric=shape["kernel"], **more))


def _reduce(gram: np.ndarray, rows: np.ndarray, weights: np.ndarray, wanted: int) -> np.ndarray:
    """At most `wanted` weights b, all of `rows`, that minimise |sum (weights - b)_i phi_i|^2 + lambda |b|_1."""
    goal, among = (gram @ weights)[rows], gram[np.ix_(rows, rows)]
    path = lars_path_gram(goal, among, n_samples=len(rows), method="lasso", max_iter=8 * wanted)[2]
    reduced = np.zeros(len(weights))
    reduced[rows] = path[:, np.flatnonzero(np.count_nonzero(path, axis=0) <= wanted)[-1]]
    return reduced


def _by_order(y: np.ndarray, order: np.ndarray) -> dict[str, Any]:
    rank = np.empty(len(y))
    rank[order] = np.arange(len(y))
    return {**_by_score(y, -rank, None), "found": int(np.sum(y[order[: FIRST + QUERIES]] == 1))}


def _by_score(y: np.ndarray, score: np.ndarray, n_support: int | None) -> dict[str, Any]:
    false, true, _ = roc_curve(y, score)
    return {
        "auc": float(roc_auc_score(y, score)), "n_support": n_support, "false": false.tolist(), "true": true.tolist()
    }  # fmt: skip
