"""device='cuda' against all cores of the same machine: python -m benchmarks.gpu OUTPUT [CASE ...].

Each case is fitted twice on the card, the second time counts: the first one compiles kernels. Times are those of `fit`,
with the rows in the memory of the host. The violation is computed here, in double, from the published coefficients, for
all rows or for a sample of them with all free support vectors. OUTPUT is a folder: `results.jsonl` has a line for each
case, `README.md` is made from all lines of it (also with no cases named: --page OUTPUT).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import svc
from benchmarks.writing import number, table

#: Values in one block when decisions are computed in double.
BLOCK = 1 << 26
#: Rows for which the violation is computed if there are more; the free support vectors come in addition.
SAMPLE = 50_000


class Case(NamedTuple):
    """Estimator, its parameters, and a function that returns X and y."""

    estimator: str
    own: dict[str, Any]
    load: Callable[[], tuple[Any, Any]]
    #: Whether the processor takes part; large cases are measured on it once.
    processor: bool = True


def classes(name: str) -> Callable[[], tuple[Any, Any]]:
    def load() -> tuple[Any, Any]:
        X, y, _, _ = svc.load(name)
        return np.ascontiguousarray(X, dtype=np.float32), y

    return load


def noisy(n: int) -> Callable[[], tuple[Any, Any]]:
    """Return rows of which most become support vectors, a sixth of these free: 10 % of the labels are wrong."""

    def load() -> tuple[Any, Any]:
        rng = np.random.default_rng(7)
        X = rng.standard_normal((n, 50)).astype(np.float32)
        y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4] > 0
        return X, (y ^ (rng.random(n) < 0.1)).astype(int)

    return load


def friedman(n: int) -> Callable[[], tuple[Any, Any]]:
    def load() -> tuple[Any, Any]:
        from sklearn.datasets import make_friedman1

        X, y = make_friedman1(n, n_features=10, noise=1.0, random_state=0)
        return X.astype(np.float32), (y - y.mean()) / y.std()

    return load


def kdd99() -> tuple[Any, Any]:
    from hingeline import datasets

    X = datasets.load("kdd99").X
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    return np.ascontiguousarray((X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12), dtype=np.float32), None


def mnist() -> tuple[Any, Any]:
    X, y, _, _ = svc.load("mnist")
    return np.ascontiguousarray(X / 255, dtype=np.float32), y


def rbf(C: float, gamma: float) -> dict[str, Any]:
    return {"C": C, "gamma": gamma}


CASES = {
    "adult, C=100": Case("SVC", rbf(100.0, 0.005), classes("adult")),
    "adult, C=1000": Case("SVC", rbf(1000.0, 0.005), classes("adult")),
    "ijcnn1": Case("SVC", rbf(32.0, 2.0), classes("ijcnn1")),
    "mnist8": Case("SVC", rbf(100.0, 0.001), classes("mnist8")),
    "forest-like 80,000": Case("SVC", rbf(10.0, 0.05), classes("forest80000")),
    "forest-like 80,000, C=100, gamma=.25": Case("SVC", rbf(100.0, 0.25), classes("forest80000")),
    "noisy 100,000": Case("SVC", rbf(1.0, 0.02), noisy(100_000)),
    "noisy 400,000": Case("SVC", rbf(1.0, 0.02), noisy(400_000)),
    "noisy 1,000,000": Case("SVC", rbf(1.0, 0.02), noisy(1_000_000), processor=False),
    "SVR, friedman1 400,000": Case("SVR", {"C": 1.0, "epsilon": 0.1, "gamma": 1.0}, friedman(400_000)),
    "OneClassSVM, kdd99": Case("OneClassSVM", {"nu": 0.01, "gamma": 0.01}, kdd99),
    "letter, 26 classes": Case("SVC", rbf(10.0, 0.1), classes("letter")),
    "usps, 10 classes": Case("SVC", rbf(10.0, 0.01), classes("usps")),
    "mnist, 10 classes": Case("SVC", rbf(10.0, 0.02), mnist),
} | {f"growth {n:,}": Case("SVC", rbf(1.0, 0.02), noisy(n)) for n in (5000, 10_000, 20_000, 50_000)}


def fit(case: Case, X: Any, y: Any, **more: Any) -> tuple[Any, float]:
    """Return a fitted model and the seconds of the fit."""
    import hingeline

    model = getattr(hingeline, case.estimator)(cache_size=2000, **case.own, **more)
    begin = time.perf_counter()
    model.fit(X) if y is None else model.fit(X, y)
    return model, time.perf_counter() - begin


def violation(case: Case, model: Any, X: Any, y: Any) -> float | None:
    """Return the violation in double, from the published model; None for several classes."""
    import cupy as cp

    if model.dual_coef_.shape[0] != 1:
        return None
    beta = np.zeros(len(X))
    beta[model.support_] = np.asarray(model.dual_coef_)[0]
    p = (
        np.zeros(len(X))
        if y is None
        else np.where(y == model.classes_[1], 1.0, -1.0)
        if hasattr(model, "classes_")
        else y
    )
    C, e = case.own.get("C", 1.0), case.own.get("epsilon", 0.0)
    lower = np.where(p > 0, 0.0, -C) if hasattr(model, "classes_") else np.full(len(X), 0.0 if y is None else -C)
    upper = np.where(p > 0, C, 0.0) if hasattr(model, "classes_") else np.full(len(X), C)
    free = np.flatnonzero((beta > lower) & (beta < upper) & (beta != 0))
    rows = np.arange(len(X))
    if len(X) > SAMPLE:
        rows = np.union1d(free, np.random.default_rng(1).choice(len(X), SAMPLE, replace=False))
    S, coef = cp.asarray(X[model.support_], dtype=cp.float64), cp.asarray(beta[model.support_])
    norms, out = (S * S).sum(axis=1), np.empty(len(rows))
    step = max(1, BLOCK // len(S))
    for at in range(0, len(rows), step):
        Q = cp.asarray(X[rows[at : at + step]], dtype=cp.float64)
        d = (Q * Q).sum(axis=1)[:, None] + norms[None, :] - 2 * (Q @ S.T)
        out[at : at + step] = (cp.exp(-case.own["gamma"] * cp.maximum(d, 0)) @ coef).get()
    b, v = beta[rows], p[rows] - out
    rise, fall = np.where(b < 0, v + e, v - e), np.where(b > 0, v - e, v + e)
    return float(rise[b < upper[rows]].max() - fall[b > lower[rows]].min())


def measure(name: str, *, processor: bool = True) -> dict[str, Any]:
    import cupy as cp

    case = CASES[name]
    X, y = case.load()
    fit(case, X, y, device="cuda")
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    model, seconds = fit(case, X, y, device="cuda")
    found = {
        "case": name,
        "rows": len(X),
        "card": seconds,
        "steps": int(np.sum(model.n_iter_)),
        "outer": int(model.history_["step"][-1]),
        "support": len(model.support_),
        "dual": float(np.sum(model.dual_objective_)),
        "stated": float(np.max(model.kkt_violation_)),
        "violation": violation(case, model, X, y),
        "reason": sorted({*np.atleast_1d(model.stop_reason_).tolist()}),
    }
    if case.processor and processor:
        other, found["processor"] = fit(case, X, y, n_jobs=-1)
        found["dual_processor"] = float(np.sum(other.dual_objective_))
        found["violation_processor"] = violation(case, other, X, y)
    return found


def write_page(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {line["case"]: line for line in lines}
    header = [
        "case",
        "rows",
        "support vectors",
        "card, s",
        "processor, s",
        "ratio",
        "violation, card",
        "processor",
        "dual, relative difference",
        "steps",
        "outer",
    ]
    rows = []
    for name in [name for name in CASES if name in found]:
        one = found[name]
        cpu = one.get("processor")
        difference = None if cpu is None else (one["dual"] - one["dual_processor"]) / abs(one["dual_processor"])
        rows.append(
            [
                name,
                f"{one['rows']:,}",
                f"{one['support']:,}",
                number(one["card"]),
                "" if cpu is None else number(cpu),
                "" if cpu is None else number(cpu / one["card"]),
                *("" if x is None else f"{x:.5f}" for x in (one["violation"], one.get("violation_processor"))),
                "" if difference is None else f"{difference:+.1e}",
                f"{one['steps']:,}",
                f"{one['outer']:,}",
            ]
        )
    text = f"# device='cuda'\n\n{__doc__.split(chr(10), 2)[2]}\n{table(header, rows)}\n"
    (folder / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("cases", nargs="*", default=[])
    parser.add_argument("--card-only", action="store_true", help="do not measure the processor")
    parser.add_argument("--page", action="store_true", help="write the page only")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for one in [] if arguments.page else arguments.cases or CASES:
        line = json.dumps(measure(one, processor=not arguments.card_only))
        print(line, flush=True)
        with (arguments.output / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    write_page(arguments.output)
