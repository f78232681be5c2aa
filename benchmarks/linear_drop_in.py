"""LinearSVC and LinearSVR against LIBLINEAR: time to the same objective.

    python -m benchmarks.linear_drop_in [parts or patterns] [--list] [--fresh] [--only-report] [--repeats 3]

Parts: `svc` (squared hinge), `hinge`, `l1` (squared hinge), `svr`, `squared_svr`. C = 1, epsilon = 0.1, targets with a
standard deviation of 1; one thread, each contestant in a process of its own, in turns. A contestant makes a fit for
each tolerance of TOLERANCES, until one takes longer than PATIENCE. The best objective of a case is the smallest that
any contestant reached; the time of a contestant is that of its fastest fit within EXCESS of it. LIBLINEAR gets rows in
its own form, and its solvers of the dual end after 300 epochs. If it does not get there, its best fit is shown. The
objective is recomputed in double. Results are
stored in `benchmarks/results/linear_drop_in/runs.jsonl`.
"""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.contest import Job, Results, main, write_page
from benchmarks.linear.settings import POSITIVE_GROUPS
from benchmarks.store import Store
from benchmarks.writing import number, table

EXCESS = 1e-4
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 3e-5, 1e-5)
PATIENCE = 30.0
EPSILON = 0.1
#: LIBLINEAR's solvers of each part; the last ones solve the primal.
SOLVERS = {"svc": (1, 2), "hinge": (3,), "l1": (5,), "svr": (13,), "squared_svr": (12, 11)}
#: Loss of our estimators of each part.
LOSSES = {
    "svc": "squared_hinge",
    "hinge": "hinge",
    "l1": "squared_hinge",
    "svr": "epsilon_insensitive",
    "squared_svr": "squared_epsilon_insensitive",
}
CLASSES = ("adult", "w8a", "ijcnn1", "mnist8", "tall", "news20-tfidf", "news20-counts", "news20-20-tfidf",
           "news20-20-counts")  # fmt: skip
TARGETS = ("abalone", "winequality", "cpu_act", "tall", "adult", "w8a", "reuters", "news20-tfidf")
CASES = {
    "svc": CLASSES,
    "hinge": ("adult", "ijcnn1", "tall", "news20-tfidf", "news20-counts"),
    "l1": ("adult", "w8a", "ijcnn1", "tall", "reuters", "news20-tfidf"),
    "svr": TARGETS,
    "squared_svr": TARGETS,
}
TALL = (200_000, 50)


# ---- data ---------------------------------------------------------------------------------------------


def load(name: str, part: str) -> tuple[Any, np.ndarray]:
    """Training rows and labels, or targets with a mean of 0 and a standard deviation of 1."""
    from hingeline import datasets

    regression = part.endswith("svr")
    if name == "tall":
        rng = np.random.default_rng(0)
        X = rng.standard_normal(TALL)
        y = X @ rng.standard_normal(TALL[1]) + 4 * rng.standard_normal(len(X))
        y = y if regression else np.sign(y)
    elif name.startswith("news20"):
        X, y = newsgroups(name)
    elif name == "winequality":
        parts = [datasets.load(f"winequality_{colour}") for colour in ("red", "white")]
        X, y = np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts])
    else:
        data = datasets.load("mnist" if name == "mnist8" else name)
        n = data.n_train or len(data.y)
        X, y = data.X[:n], data.y[:n]
        X, y = (X / 255, np.where(y == 8, 1, -1)) if name == "mnist8" else (X, y)
    X = sp.csr_matrix(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if name in ("abalone", "winequality", "cpu_act"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.asarray(y, dtype=np.float64)
    return X, (y - y.mean()) / y.std() if regression else y


def newsgroups(name: str) -> tuple[Any, np.ndarray]:
    """Counts of words or tf-idf; 20 classes or two halves."""
    from sklearn.feature_extraction.text import TfidfTransformer

    from hingeline import datasets

    data = datasets.load("news20")
    X, y = sp.csr_matrix(data.X[: data.n_train], dtype=np.float64), data.y[: data.n_train]
    X = X if name.endswith("counts") else sp.csr_matrix(TfidfTransformer().fit_transform(X))
    return X, y if "-20-" in name else np.where(np.isin(y, POSITIVE_GROUPS), 1, -1)


# ---- contestants ---------------------------------------------------------------------------------------

Fit = Callable[[float], tuple[float, np.ndarray, str]]


def ours(part: str, X: Any, y: np.ndarray) -> Fit:
    """Fits of our estimator: seconds, weights with the intercept, remarks."""
    from hingeline import LinearSVC, LinearSVR

    more: dict[str, Any] = {"loss": LOSSES[part]}
    more |= {"epsilon": EPSILON} if part.endswith("svr") else {"penalty": "l1" if part == "l1" else "l2"}
    more |= {"dual": False} if part == "l1" else {}

    def fit(tol: float) -> tuple[float, np.ndarray, str]:
        model = (LinearSVR if part.endswith("svr") else LinearSVC)(C=1.0, tol=tol, **more)
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        weights = np.column_stack([np.atleast_2d(model.coef_), model.intercept_])
        return seconds, weights, f"{model.solver_}, {np.max(model.n_iter_)}"

    return fit


def theirs(part: str, X: Any, y: np.ndarray, solver: int) -> Fit:
    """Fits of LIBLINEAR: seconds, weights with the intercept, remarks."""
    from liblinear import liblinear as library

    problem = library.problem(y, sp.csr_matrix(X), 1.0)
    printed: list[bytes] = []
    show = library.PRINT_STRING_FUN(printed.append)

    def fit(tol: float) -> tuple[float, np.ndarray, str]:
        library.liblinear.set_print_string_function(show)
        printed.clear()
        parameter = library.parameter(f"-s {solver} -c 1 -p {EPSILON} -B 1 -e {tol!r}")
        library.liblinear.set_print_string_function(show)
        start = time.process_time()
        trained = library.liblinear.train(problem, parameter)
        seconds = time.process_time() - start
        model = library.toPyModel(trained)
        machines = model.nr_class if model.nr_class > 2 else 1
        weights = np.ctypeslib.as_array(model.w, ((X.shape[1] + 1) * machines,)).reshape(-1, machines).T.copy()
        if not part.endswith("svr"):  # columns in the order of the labels seen
            labels = model.label[: model.nr_class]
            weights = weights * labels[0] if machines == 1 else weights[np.argsort(labels)]
        return seconds, weights, "at its limit" if b"max" in b"".join(printed) else ""

    return fit


def objectives(part: str, X: Any, y: np.ndarray, weights: np.ndarray) -> list[float]:
    """Primal objective of each machine."""
    found = []
    for k, line in enumerate(weights):
        f = X @ line[:-1] + line[-1]
        if part.endswith("svr"):
            loss = np.maximum(np.abs(f - y) - EPSILON, 0)
        else:
            t = y if len(weights) == 1 else np.where(y == k, 1.0, -1.0)
            loss = np.maximum(1 - t * f, 0)
        penalty = np.abs(line).sum() if part == "l1" else 0.5 * line @ line
        found.append(float(penalty + (loss.sum() if part in ("hinge", "svr") else loss @ loss)))
    return found


def measure(who: str, task: dict[str, Any], core: int | None) -> dict[str, Any]:
    if core is not None:
        os.sched_setaffinity(0, {core})
    warnings.simplefilter("ignore")
    part = task["part"]
    X, y = load(task["data"], part)
    X, y = X[: task.get("rows")], y[: task.get("rows")]
    fit = ours(part, X, y) if who == "hingeline" else theirs(part, X, y, int(who.split()[-1]))
    fits: list[dict[str, Any]] = []
    for tol in TOLERANCES:
        seconds, weights, remarks = fit(tol)
        values = objectives(part, X, y, weights)
        fits.append({"tol": tol, "seconds": seconds, "objectives": values, "remarks": remarks})
        if seconds > PATIENCE or (remarks == "at its limit" and tol < TOLERANCES[2]):
            break
    return {"fits": fits, "rows": len(y), "features": X.shape[1]}


# ---- jobs and page -------------------------------------------------------------------------------------


def jobs() -> Iterator[Job]:
    for part, names in CASES.items():
        for data in names:
            who = ("hingeline", *(f"LIBLINEAR -s {number}" for number in SOLVERS[part]))
            yield Job(part, data, who, {"part": part, "data": data})


def quick(job: Job) -> Job:
    """The same on few rows."""
    return Job(job.kind, job.name, job.contestants, job.task | {"data": "abalone", "part": "svr", "rows": 300})


def reached(runs: list[dict[str, Any]], best: np.ndarray) -> tuple[float, dict[str, Any]] | None:
    """Median seconds of the repeats, and a fit, at the tolerance of the fastest fit that is good enough."""
    enough = [
        (statistics.median(run["fits"][k]["seconds"] for run in runs if k < len(run["fits"])), fit)
        for k, fit in enumerate(runs[0]["fits"])
        if excess(fit, best) <= EXCESS
    ]
    return min(enough, key=lambda pair: pair[0], default=None)


def excess(fit: dict[str, Any], best: np.ndarray) -> float:
    """Largest relative distance of a machine from the best objective."""
    return float(np.max(np.array(fit["objectives"]) / best - 1))


def compared(done: Results) -> str:
    rows = []
    for job, results in done:
        every = [fit["objectives"] for who in job.contestants for fit in results[who][0]["fits"]]
        best = np.min(every, axis=0)
        found = {who: reached(results[who], best) for who in job.contestants}
        mine = found["hingeline"]
        for who in job.contestants:
            first = results[who][0]
            row = [f"{job.name}, {who}", f"{first['rows']:,} x {first['features']:,}"]
            own = found[who]
            if own is None:
                last = min(first["fits"], key=lambda fit: excess(fit, best))
                more = f"> {number(last['seconds'] / mine[0], 3)}" if mine and last["seconds"] > mine[0] else ""
                row += ["not reached", more, number(last["tol"]), number(excess(last, best), 2)]
                row += [f"{last['remarks']}; {number(last['seconds'])} s"]
            else:
                ratio = "" if mine is None else number(own[0] / mine[0], 3)
                row += [number(own[0]), ratio, number(own[1]["tol"]), number(excess(own[1], best), 2)]
                row += [own[1]["remarks"]]
            rows.append(row)
    head = ["data, contestant", "rows x features", "CPU s", "ratio", "tolerance", "above the best", "remarks"]
    return table(head, rows)


SECTIONS = {
    "svc": ("LinearSVC, squared hinge", compared),
    "hinge": ("LinearSVC, hinge", compared),
    "l1": ("LinearSVC, penalty='l1'", compared),
    "svr": ("LinearSVR, epsilon-insensitive", compared),
    "squared_svr": ("LinearSVR, squared epsilon-insensitive", compared),
}


def page(store: Store, all_jobs: list[Job]) -> str:
    return write_page(
        "LinearSVC and LinearSVR to the objective of LIBLINEAR", "linear_drop_in", SECTIONS, store, all_jobs
    )


if __name__ == "__main__":
    main("linear_drop_in", (__doc__ or "").splitlines()[0], jobs(), quick, measure, page)
