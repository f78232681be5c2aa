"""SVR, NuSVR, NuSVC and OneClassSVM against scikit-learn and scikit-learn-intelex.

    python -m benchmarks.machines [parts or patterns] [--list] [--fresh] [--only-report] [--repeats 3] [--at-once 1]

Parts: `svr`, `nu_svr`, `nu_svc`, `one_class`, `small`, `search`. Every fit has one thread and a process of its own,
contestants in turns; float64. CPU seconds of `fit` are reported, the median of the repeats, for `small` the best. The
dual objective and the violation are computed from the coefficients in double, up to 20,000 rows. `search` is
KernelSearchCV(SVR) against GridSearchCV(sklearn.svm.SVR), 5 folds; scikit-learn has every seventh candidate. Each job
is stored in `benchmarks/results/machines/runs.jsonl` when it is done, and is not run again. The page is written at the
end.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.contest import Job, Results, best, main, median, resident_mb, write_page
from benchmarks.store import Store
from benchmarks.svc import BLOCK, CACHE_MB
from benchmarks.svc import load as load_classes
from benchmarks.writing import number, table

#: Class of each part.
CLASSES = {"svr": "SVR", "nu_svr": "NuSVR", "nu_svc": "NuSVC", "one_class": "OneClassSVM"}
REGRESSION = ("abalone", "winequality", "cpu_act", "friedman10000", "friedman40000", "friedman80000")
#: Largest problems for the slower contestants and for the check.
MOST_ROWS = {"sklearn": 40_000, "intelex": 40_000}
MOST_CHECKED = 20_000
SMALL = (100, 300, 1000, 3000)
#: Values by parameter of the search; targets have a standard deviation of 1, and 1 / n_features is 2**-4.4.
GRID = {"C": (0.25, 1, 4, 16, 64), "epsilon": (0.02, 0.1, 0.3), "gamma": (2**-8, 2**-6, 2**-4, 2**-2)}
FOLDS, EVERY = 5, 7


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised rows, and targets or labels. A number at the end is that of the rows."""
    from hingeline import datasets

    stem = name.rstrip("0123456789")
    n, stem = int(name[len(stem) :] or 0), stem.removesuffix("_")
    if stem == "friedman":
        from sklearn.datasets import make_friedman1

        X, y = make_friedman1(n, n_features=10, noise=1.0, random_state=0)
    elif stem in ("normal", "forest", "adult", "letter") and name not in REGRESSION:
        X, y, _, _ = load_classes(name)
        return X, y
    elif stem == "winequality":
        parts = [datasets.load(f"winequality_{colour}") for colour in ("red", "white")]
        X, y = np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts])
    else:
        data = datasets.load(stem)
        X, y = data.X, data.y
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if 0 < n < len(X):
        rows = np.random.default_rng(0).choice(len(X), n, replace=False)
        X, y = X[rows], y[rows]
    X = (X / 255) if stem == "mnist" else (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    return X, (y - y.mean()) / (y.std() or 1)


def jobs() -> Iterator[Job]:
    for C, epsilon in ((1.0, 0.1), (10.0, 0.25)):
        for data in REGRESSION:
            yield job("svr", data, {"C": C, "epsilon": epsilon}, intelex=True)
    for C, nu in ((1.0, 0.5), (10.0, 0.1)):
        for data in REGRESSION[2:5]:
            yield job("nu_svr", data, {"C": C, "nu": nu}, intelex=True)
    for nu in (0.3, 0.5):
        for data in ("normal10000", "forest20000", "adult", "letter"):
            if not (data == "adult" and nu == 0.5):  # infeasible: the rarer class is too small
                yield job("nu_svc", data, {"nu": nu / 10 if data == "letter" else nu}, intelex=True)
    for nu in (0.01, 0.1, 0.5):
        for data in ("mnist5000", "shuttle20000", "kdd5000", "kdd20000", "kdd50000", "kdd200000"):
            yield job("one_class", data.replace("kdd", "kdd99_"), {"nu": nu})
    for part, name in CLASSES.items():
        for n in SMALL:
            own = {"C": 1.0, "epsilon": 0.1} if part == "svr" else {"nu": 0.3}
            data = f"normal{n}" if part == "nu_svc" else f"friedman{n}"
            yield Job("small", f"{name}-{n}", ("hingeline", "sklearn"), task(part, data, own) | {"fits": 3000 // n})
    for every, who in ((EVERY, ("hingeline", "sklearn")), (1, ("hingeline",))):
        words = "all candidates" if every == 1 else f"every {every}th candidate"
        grid = {"grid": {key: list(values) for key, values in GRID.items()}, "folds": FOLDS, "every": every}
        yield Job("search", f"cpu_act, {words}", who, {"part": "search", "data": "cpu_act", **grid})


def job(part: str, data: str, own: dict[str, float], intelex: bool = False) -> Job:
    rows = int("".join(c for c in data[5:] if c.isdigit()) or 0)
    others = ("sklearn", "intelex") if intelex else ("sklearn",)
    who = ("hingeline", *(other for other in others if rows <= MOST_ROWS[other]))
    words = ", ".join(f"{key}={value:g}" for key, value in own.items())
    return Job(part, f"{data}, {words}", who, task(part, data, own) | {"check": rows <= MOST_CHECKED})


def task(part: str, data: str, own: dict[str, float]) -> dict[str, Any]:
    return {"part": part, "data": data, "own": own | {"cache_size": CACHE_MB}}


def quick(job: Job) -> Job:
    """The same on tiny data."""
    data = "normal500" if job.task["part"] == "nu_svc" else "friedman500"
    return Job(job.kind, job.name, tuple(who for who in job.contestants if who != "intelex"), job.task | {"data": data})


# ---- one fit, in a process of its own -----------------------------------------------------------------


def contestant(who: str, name: str) -> Any:
    if who == "intelex":
        import sklearnex.svm as module
    elif who == "sklearn":
        import sklearn.svm as module
    else:
        import hingeline.svm as module
    return getattr(module, name)


def gap(v: np.ndarray, b: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> float:
    """Largest v of points that may rise minus the smallest of those that may fall."""
    almost = 1e-9 * np.max(np.abs(high) + np.abs(low))
    up, down = b < high - almost, b > low + almost
    return float(v[up].max(initial=-np.inf) - v[down].min(initial=np.inf))


def optimality(part: str, model: Any, X: np.ndarray, y: np.ndarray, own: dict[str, float]) -> tuple[float, float]:
    """Dual objective and violation of a machine for two classes or none, in double, from the coefficients."""
    from sklearn.metrics.pairwise import rbf_kernel

    n, C = len(X), own.get("C", 1.0)
    support, beta = model.support_, np.zeros(len(X))
    beta[support] = model.dual_coef_[0]
    if part == "nu_svc":
        beta *= own["nu"] * n / np.abs(beta).sum()
    p = y if part in ("svr", "nu_svr") else np.zeros(n)
    gamma = 1 / (X.shape[1] * X.var())
    rows = [rbf_kernel(X[at : at + BLOCK], X[support], gamma=gamma) @ beta[support] for at in range(0, n, BLOCK)]
    v = p - np.concatenate(rows)
    e = own.get("epsilon", 0.0)
    dual = float(0.5 * beta @ (p + v) - e * np.abs(beta).sum())
    if part == "svr":
        rise, fall = np.where(beta < 0, v + e, v - e), np.where(beta > 0, v - e, v + e)
        return dual, float(rise[beta < C].max() - fall[beta > -C].min())
    if part == "one_class":
        return dual, gap(v, beta, 0.0, 1.0)
    if part == "nu_svr":
        return dual, max(gap(v, np.maximum(beta, 0), 0.0, C), gap(v, np.minimum(beta, 0), -C, 0.0))
    first = y == np.unique(y)[0]
    sign = 1.0 if beta[~first].sum() > 0 else -1.0
    return dual, max(gap(v[at], beta[at], min(s, 0), max(s, 0)) for at, s in ((first, -sign), (~first, sign)))


def measure(who: str, task: dict[str, Any], core: int | None) -> dict[str, Any]:
    if core is not None:
        os.sched_setaffinity(0, {core})
    warnings.simplefilter("ignore")
    part = task["part"]
    X, y = load(task["data"])
    if part == "search":
        return search(who, task, X, y)
    own = task["own"]
    before, runs = resident_mb(), []
    for _ in range(task.get("fits", 1)):
        model = contestant(who, CLASSES[part])(**own)
        start = time.process_time()
        model.fit(X) if part == "one_class" else model.fit(X, y)
        runs.append(time.process_time() - start)
    out = {"cpu": min(runs), "rows": len(X), "support": len(model.support_), "peak_mb": resident_mb() - before}
    if hasattr(model, "n_kernel_evals_"):
        out |= {"kernel_evals": int(model.n_kernel_evals_), "violation": float(np.max(model.kkt_violation_))}
    out["steps"] = int(np.sum(model.n_iter_))
    if task.get("check") and len(X) <= MOST_CHECKED and not (part == "nu_svc" and len(model.classes_) > 2):
        out["dual"], out["violation"] = optimality(part, model, X, y, own)
    return out


def search(who: str, task: dict[str, Any], X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """CPU seconds of a search without the fit of the best candidate, and the mean scores of the candidates."""
    from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid

    from hingeline.model_selection import KernelSearchCV

    points = [{key: [value] for key, value in point.items()} for point in ParameterGrid(task["grid"])][:: task["every"]]
    kind = GridSearchCV if who == "sklearn" else KernelSearchCV
    folds = KFold(task["folds"], shuffle=True, random_state=0)
    searching = kind(contestant(who, "SVR")(), points, cv=folds, refit=False, error_score="raise")
    start = time.process_time()
    searching.fit(X, y)
    seconds = time.process_time() - start
    scores = searching.cv_results_["mean_test_score"]
    fits = len(points) * task["folds"]
    return {"cpu": seconds, "rows": len(X), "fits": fits, "scores": [float(score) for score in scores]}


# ---- the page -----------------------------------------------------------------------------------------


def compared(done: Results) -> str:
    rows = []
    for job, results in done:
        ours = median(results["hingeline"])
        for who in job.contestants:
            cpu, first = median(results[who]), results[who][0]
            columns = (("support", 6), ("steps", 7), ("dual", 9), ("violation", 2))
            rest = [number(first.get(key), digits) for key, digits in columns]
            rows.append([f"{job.name}, {who}", number(first["rows"]), number(cpu), number(cpu / ours, 3), *rest])
    head = ["case, contestant", "rows", "CPU s", "ratio", "support vectors", "steps", "dual objective", "violation"]
    return table(head, rows)


def smallest(done: Results) -> str:
    rows = []
    for job, results in done:
        ours, theirs = (1000 * best(results[who], "cpu") for who in ("hingeline", "sklearn"))
        rows.append([job.name, number(ours), number(theirs), number(theirs / ours, 2)])
    return table(["class, rows", "ours, ms", "scikit-learn, ms", "ratio"], rows)


def searches(done: Results) -> str:
    rows = []
    for job, results in done:
        usual, ours = results["hingeline"][0]["scores"], median(results["hingeline"])
        for who in job.contestants:
            first, cpu = results[who][0], median(results[who])
            apart = max(abs(a - b) for a, b in zip(first["scores"], usual, strict=True))
            rows.append([f"{job.name}, {who}", number(first["fits"]), number(cpu), number(cpu / ours, 3)])
            rows[-1] += [number(max(first["scores"]), 6), number(apart, 2)]
    head = ["search, contestant", "fits", "CPU s", "ratio", "best mean R2", "largest difference of a mean R2"]
    return table(head, rows)


SECTIONS = {
    **{part: (f"{name}, one thread", compared) for part, name in CLASSES.items()},
    "search": ("Search over C, epsilon and gamma of SVR, one thread", searches),
    "small": ("Small problems, against scikit-learn, one thread", smallest),
}


def page(store: Store, all_jobs: list[Job]) -> str:
    return write_page("SVR, NuSVR, NuSVC, OneClassSVM: times", "machines", SECTIONS, store, all_jobs)


if __name__ == "__main__":
    main("machines", (__doc__ or "").splitlines()[0], jobs(), quick, measure, page)
