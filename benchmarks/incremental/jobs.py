"""What one process does: a constructor that prepares, and `measure`, which returns a Sample.

Facts named "=..." are lists of numbers that the parent compares with those of the first contestant and then drops.
"""

from __future__ import annotations

import statistics
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import LeaveOneOut as EachOut
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC, OneClassSVM

from benchmarks.against.data import load
from benchmarks.against.settings import SETS
from benchmarks.ceilings import FULL, bandwidth
from benchmarks.harness import Sample, Unavailable, timed
from benchmarks.stream import stream
from hingeline import IncrementalOneClassSVM, IncrementalSVC

from .settings import ADDED, CACHE_MB, FORGOTTEN, SAMPLED, TEST_ROWS


class Fitted:
    """Rows, and a model of ours (tol is None) or of scikit-learn; the k-th measurement of all contestants is alike."""

    def __init__(
        self, data: str, form: str, n: int, parameters: dict[str, Any], threads: int, tol: float | None
    ) -> None:
        extra = ADDED if isinstance(self, AddOne) else 0
        split = load(SETS[data], form, "float64", rows=n + extra, test_rows=TEST_ROWS)
        order = np.random.default_rng(1).permutation(n + extra)
        self.X, self.y = split.X_train[order], split.y_train[order]
        self.X_test, self.y_test = split.X_test, split.y_test
        self.n, self.tol, self.threads, self.parameters, self.repeat = n, tol, threads, parameters, 0
        self.ours = tol is None
        # Equal rows share their coefficients in any way: only the sum is unique.
        plain = self.X.toarray() if sp.issparse(self.X) else self.X
        self.equal = np.ravel(np.unique(plain, axis=0, return_inverse=True)[1])
        few = np.r_[np.flatnonzero(self.y > 0)[:50], np.flatnonzero(self.y < 0)[:50]]
        warm = self.ours_new() if self.ours else self.svc()
        warm.fit(self.X[few], self.y[few]).decision_function(self.X_test)

    def ours_new(self) -> Any:
        return IncrementalSVC(**self.parameters, cache_size=CACHE_MB, n_jobs=self.threads)

    def ours_named(self) -> Any:
        """Learnt, with the places of the rows as ids."""
        model = self.ours_new()
        model.add(self.X[: self.n], self.y[: self.n], ids=range(self.n))
        return model

    def svc(self) -> Any:
        return SVC(**self.parameters, tol=self.tol or 1e-6, cache_size=1000)

    def facts(self, model: Any, rows: np.ndarray) -> dict[str, Any]:
        """Of a model; `rows` are the places of its training rows by number."""
        weights = model.dual_coef_  # of SVC a sparse matrix if the rows are
        weights = np.ravel(weights.toarray() if sp.issparse(weights) else weights)
        coefficients = np.bincount(self.equal[rows[model.support_]], weights, minlength=self.equal.max() + 1)
        values = model.decision_function(self.X_test)
        found = {
            "accuracy, %": 100 * float(np.mean(np.where(values > 0, 1, -1) == self.y_test)),
            "support vectors": len(model.support_),
            "=decision values": values.tolist(),
            "=coefficients": coefficients.tolist(),
        }
        if self.ours:
            violation = float(np.max(model.kkt_violation_))
            return found | {"on the margin": int(model.n_margin_[0]), "KKT violation": violation}
        own = np.zeros(len(rows))
        own[model.support_] = np.abs(weights)
        slack = self.y[rows] * model.decision_function(self.X[rows]) - 1
        wrong = np.where(own > 0, slack, 0), np.where(own < self.parameters["C"] * (1 - 1e-12), -slack, 0)
        margin = int(np.sum((own > 0) & (own < self.parameters["C"] * (1 - 1e-12))))
        return found | {"on the margin": margin, "KKT violation": float(np.max(wrong))}

    def measure(self) -> Sample:
        self.repeat += 1
        return self.take_ours() if self.ours else self.take_theirs()

    def take_ours(self) -> Sample:
        raise NotImplementedError

    def take_theirs(self) -> Sample:
        raise NotImplementedError


def plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts without the lists that are compared."""
    return {key: value for key, value in facts.items() if key[0] != "="}


class LeaveOneOut(Fitted):
    def take_ours(self) -> Sample:
        fit, model = timed(lambda: self.ours_new().fit(self.X, self.y))
        out, found = timed(model.leave_one_out)
        return self.sample(fit + out, fit, model, np.ravel(found.decision))

    def take_theirs(self) -> Sample:
        model = self.svc()
        left_out = partial(cross_val_predict, model, self.X, self.y, cv=EachOut(), method="decision_function")
        every, values = timed(left_out)
        fit, _ = timed(lambda: model.fit(self.X, self.y))
        return self.sample(every, fit, model, values)

    def sample(self, seconds: float, fit: float, model: Any, values: np.ndarray) -> Sample:
        """`values`: decision values of the rows left out."""
        errors = int(np.sum(np.where(values > 0, 1, -1) != self.y))
        facts = {**plain(self.facts(model, np.arange(self.n))), "of it fit, s": fit, "errors": errors}
        return Sample({"all": [seconds]}, {**facts, "=decision values": values.tolist()})


class Forget(Fitted):
    """100 rows at random, or 100 support vectors. Afterwards they are added again, untimed."""

    def __init__(self, who: str, **more: Any) -> None:
        super().__init__(**more)
        self.among = np.arange(self.n)
        if who != "any":
            # Of a fit of scikit-learn, so that all contestants forget the same.
            full = SVC(**self.parameters, tol=1e-6, cache_size=1000).fit(self.X, self.y)
            self.among = full.support_
        self.places = np.arange(self.n)  # by arrival
        if self.ours:
            self.model = self.ours_named()

    def chosen(self) -> np.ndarray:
        count = min(FORGOTTEN, len(self.among) // 2)
        return np.random.default_rng(self.repeat).choice(self.among, count, replace=False)

    def take_ours(self) -> Sample:
        rows = self.chosen()
        ids = rows.tolist()
        before = int(self.model.n_iter_[0])
        seconds, _ = timed(lambda: self.model.forget(ids))
        facts = {**self.facts(self.model, self.places), "minor steps": int(self.model.n_iter_[0]) - before}
        again, _ = timed(lambda: self.model.add(self.X[rows], self.y[rows], ids=ids))
        self.places = np.r_[self.places, rows]
        return Sample({"forget": [seconds]}, {**facts, "add them again, s": again})

    def take_theirs(self) -> Sample:
        rest = np.setdiff1d(np.arange(self.n), self.chosen())
        seconds, model = timed(lambda: self.svc().fit(self.X[rest], self.y[rest]))
        return Sample({"forget": [seconds]}, self.facts(model, rest))


class Grow(Fitted):
    """`single`: rows are learnt one at a time, by a window that never fills; else as `fit` does it."""

    def __init__(self, single: bool, **more: Any) -> None:
        super().__init__(**more)
        self.single = {"window": 1_000_000} if single else {}
        if self.ours:
            with ThreadPoolExecutor(self.threads) as pool:
                found = [c for c in bandwidth(FULL, pool, self.threads) if "read" in c.what]
            self.rate = found[0].median

    def take_ours(self) -> Sample:
        seconds, model = timed(lambda: self.ours_new().set_params(**self.single).fit(self.X, self.y))
        floor = model.bytes_touched_ / 1e9 / self.rate
        total = sum(model.profile_.values())
        facts = {
            **self.facts(model, np.arange(self.n)),
            "minor steps": int(model.n_iter_[0]),
            "kernel rows read, GB": model.bytes_touched_ / 1e9,
            "reads, GB/s": self.rate,
            "floor, s": floor,
            "time / floor": seconds / floor,
            "memory, MB": model.memory_ / 2**20,
            "parts, %": ", ".join(f"{k} {100 * v / seconds:.0f}" for k, v in model.profile_.items())
            + f", other {100 * (1 - total / seconds):.0f}",
        }
        return Sample({"learn": [seconds]}, facts)

    def take_theirs(self) -> Sample:
        seconds, model = timed(lambda: self.svc().fit(self.X, self.y))
        return Sample({"learn": [seconds]}, self.facts(model, np.arange(self.n)))


class AddOne(Fitted):
    """Add 200 rows one by one, timing each; then forget them one by one. SVC: a fit with one row more."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        if self.ours:
            self.model = self.ours_named()

    def take_ours(self) -> Sample:
        new = range(self.n, self.n + ADDED)
        first = self.model.n_samples_seen_
        added = [timed(partial(self.model.add, self.X[i : i + 1], self.y[i : i + 1], ids=[i]))[0] for i in new]
        places = np.r_[np.arange(self.n), np.full(first - self.n, -1), np.arange(self.n, self.n + ADDED)]
        found = plain(self.facts(self.model, places))
        forgotten = [timed(partial(self.model.forget, i))[0] for i in new]
        times = {
            "slowest of 200": max(added),
            "mean": statistics.mean(added),
            "forget one": statistics.median(forgotten),
        }
        facts = found | {f"{name}, ms": 1000 * seconds for name, seconds in times.items()}
        return Sample({"add": [statistics.median(added)]}, facts)

    def take_theirs(self) -> Sample:
        end = self.n + self.repeat
        seconds, model = timed(lambda: self.svc().fit(self.X[:end], self.y[:end]))
        return Sample({"add": [seconds]}, plain(self.facts(model, np.arange(end))))


class Stream:
    """Rows one at a time into a window; scikit-learn fits at a sample of the steps. Before the first timing ours
    goes over the stream once with a check of the optimum after every row."""

    def __init__(
        self, first: int, rows: int, window: int, nu: float, gamma: float, threads: int, tol: float | None
    ) -> None:
        try:
            self.X = stream(first + rows)[0][first:].astype(np.float64)
        except OSError as error:
            raise Unavailable("data set kdd99 is not there") from error
        self.window, self.tol = window, tol
        self.parameters: dict[str, Any] = {"kernel": "rbf", "nu": nu, "gamma": gamma}
        self.more: dict[str, Any] = {"window": window, "window_rule": "oldest"}
        self.more |= {"cache_size": CACHE_MB, "n_jobs": threads}
        self.steps = np.unique(np.linspace(window, rows - 20, min(SAMPLED, rows - window - 20)).astype(int))
        self.checked = self.check() if tol is None and threads == 1 else {}

    def check(self) -> dict[str, Any]:
        model, values, worst, sampled = self.new(), [], 0.0, set(self.steps.tolist())
        for i in range(len(self.X)):
            model.partial_fit(self.X[i : i + 1])
            worst = max(worst, float(np.max(model.kkt_violation_)))
            if i + 1 in sampled:
                values += model.decision_function(self.X[i + 1 : i + 21]).tolist()
        counts = {"restarts": int(np.sum(model.n_restarts_)), "rebuilds": int(np.sum(model.n_rebuilds_))}
        return {"KKT violation, all steps": worst, **counts, "=decision values": values}

    def new(self) -> Any:
        return IncrementalOneClassSVM(**self.parameters, **self.more)

    def measure(self) -> Sample:
        return self.take_ours() if self.tol is None else self.take_theirs()

    def take_ours(self) -> Sample:
        model = self.new()

        def one_by_one() -> None:
            for i in range(len(self.X)):
                model.partial_fit(self.X[i : i + 1])

        seconds, _ = timed(one_by_one)
        at_once, _ = timed(lambda: self.new().partial_fit(self.X))
        each = seconds / len(self.X)
        facts = {"rows/s": 1 / each, "rows/s, one call": len(self.X) / at_once, "support vectors": len(model.support_)}
        return Sample({"row": [each]}, {**facts, **self.checked})

    def take_theirs(self) -> Sample:
        seconds, values = [], []
        for step in self.steps:
            part = self.X[step - self.window : step]
            model = OneClassSVM(**self.parameters, tol=self.tol)
            seconds.append(timed(partial(model.fit, part))[0])
            values += model.decision_function(self.X[step : step + 20]).tolist()
        each = statistics.mean(seconds)
        facts = {"rows/s": 1 / each, "support vectors": len(model.support_), "=decision values": values}
        return Sample({"row": [each]}, facts)
