"""One run: train, test, count."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from benchmarks.papers.store import build
from hingeline import LASVC
from hingeline.metrics import g_mean_score, prbep_score

from .data import Split, split
from .settings import CACHE_MB, CHECKPOINTS, Job, S


@cache
def _warm_up() -> None:
    """What is loaded at first use is not part of the first time."""
    X, y = np.eye(8, dtype=np.float32), np.tile([-1, 1], 4)
    LASVC(gamma=1.0).fit(X, y).decision_function(X)
    SVC(gamma=1.0).fit(X, y).decision_function(X)


def run(job: Job, threads: int, minutes: float) -> dict[str, Any]:
    """Make a run. FileNotFoundError: the data set is not there."""
    _warm_up()
    data = split(job.set, job.seed if job.set.is_random else 0)
    about = {"threads": threads, "n_train": len(data.y), "n_test": len(data.y_test), "complete": True}
    if job.method.variant is None:
        return {**about, **_libsvm(job, data)}
    about["build"] = build()
    if job.single_pass:
        return {**about, **_stream(job, data, threads, minutes)}
    result = _fit(job, data, threads)
    if job.method.has_curve and job.s == S:
        stream = _stream(job, data, threads, minutes=float("inf"))
        result["curve"] = stream["curve"]
        result["seconds_stream"] = stream["seconds"]
        result["stream_agrees"] = _alike(stream, result)
    return {**about, **result}


def _model(job: Job, threads: int) -> LASVC:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20 if hasattr(os, "sysconf") else 8000
    return LASVC(
        variant=job.method.variant,
        C=job.set.C,
        gamma=job.set.gamma,
        s=job.s,
        finish=job.method.finish,
        cache_size=min(job.cache_mb, 0.6 * memory),  # changes the time only
        random_state=job.seed,
        n_jobs=threads,
    )


def _fit(job: Job, data: Split, threads: int) -> dict[str, Any]:
    """One epoch by `fit`, which ends with a cleaning."""
    X, X_test = data.as_ours(job.set.dense)
    model = _model(job, threads)
    start = time.perf_counter()
    model.fit(X, data.y)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, **_counts(model), **scores(model, X_test, data.y_test)}


def _stream(job: Job, data: Split, threads: int, minutes: float) -> dict[str, Any]:
    """The same epoch by `partial_fit`, with a test after each chunk; the clock runs while training only."""
    X, X_test = data.as_ours(job.set.dense)
    order = np.random.RandomState(job.seed).permutation(len(data.y))  # that of fit
    model, seconds, seen, curve = _model(job, threads), 0.0, 0, []
    for fraction in CHECKPOINTS:
        part = order[seen : round(fraction * len(order))]
        rows, labels = X[part], data.y[part]
        start = time.perf_counter()
        model.partial_fit(rows, labels, classes=[-1, 1])
        seconds += time.perf_counter() - start
        seen += len(part)
        counts = {key: value for key, value in _counts(model).items() if not isinstance(value, dict)}
        curve.append({"examples": seen, "seconds": seconds, **counts, **scores(model, X_test, data.y_test)})
        if seconds > 60 * minutes:
            break
    last = {key: value for key, value in curve[-1].items() if key != "examples"}
    ended = {"complete": seen == len(order), "n_seen": seen, "minutes": minutes if np.isfinite(minutes) else 0.0}
    return {**last, **_counts(model), **ended, "curve": curve}


def _alike(stream: dict[str, Any], fit: dict[str, Any]) -> bool:
    """Whether the stream ended with the model of `fit`, as far as counts and scores tell."""
    keys = ("n_support", "steps", "kernel_evals", "accuracy")
    return all(stream[key] == fit[key] for key in keys)


def _counts(model: LASVC) -> dict[str, Any]:
    return {
        "n_support": int(model.n_support_.sum()),
        "n_expansion": int(model.n_expansion_[0]),
        "steps": int(model.n_iter_[0]),
        "kernel_needed": model.n_kernel_needed_,
        "kernel_evals": model.n_kernel_evals_,
        "kernel_recomputed": model.n_kernel_recomputed_,
        "ramp": {key: counts[0].tolist() for key, counts in model.ramp_counts_.items()},
    }


def _libsvm(job: Job, data: Split) -> dict[str, Any]:
    """LIBSVM in scikit-learn: float64, rows as stored."""
    model = SVC(C=job.set.C, gamma=job.set.gamma, cache_size=CACHE_MB)
    start = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - start
    n_support = int(model.n_support_.sum())
    return {"seconds": seconds, "n_support": n_support, **scores(model, data.X_test, data.y_test)}


def scores(model: Any, X: Any, y: np.ndarray) -> dict[str, float]:
    """The paper's scores, and the seconds that the decision values took."""
    start = time.perf_counter()
    values = model.decision_function(X)
    seconds = time.perf_counter() - start
    predicted = np.where(values > 0, 1, -1)
    return {
        "accuracy": float(np.mean(predicted == y)),
        "prbep": prbep_score(y, values),
        "auc": float(roc_auc_score(y, values)),
        "g_mean": g_mean_score(y, predicted),
        "seconds_test": seconds,
    }
