"""One run: train, test, count. Seconds are CPU seconds."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from benchmarks.papers.data import smoothed, stored
from benchmarks.papers.frame import cpu_timed
from hingeline import LASVC
from hingeline.active import ActiveLearner, Rule, near_boundary
from hingeline.metrics import g_mean_score, prbep_score

from .data import Split, split
from .settings import (
    CACHE_MB,
    CHECKPOINTS,
    FULL_MINUTES,
    METHODS,
    POOL_BEST,
    POOL_COMPARED,
    POOL_LABELS,
    SETS,
    USPS_READINGS,
    USPS_SCALINGS,
    Method,
    S,
    Set,
    cache_mb,
    single_pass,
)


def warm_up() -> None:
    """Load what is loaded at first use, so that it is not part of the first time."""
    X, y = np.eye(8, dtype=np.float32), np.tile([-1, 1], 4)
    LASVC(gamma=1.0).fit(X, y).decision_function(X)
    SVC(gamma=1.0).fit(X, y).decision_function(X)


def train(name: str, method: str, s: float, seed: int, n_jobs: int) -> dict[str, Any]:
    """One run of a method on a data set."""
    known, chosen = SETS[name], METHODS[method]
    data = split(known, seed if known.is_random else 0)
    about = {"n_train": len(data.y), "n_test": len(data.y_test), "complete": True}
    if chosen.variant is None:
        return {**about, **_libsvm(known, data)}
    model = _model(known, chosen, s, seed, n_jobs)
    if single_pass(known, chosen):
        return {**about, **_stream(model, known, data, FULL_MINUTES)}
    result = _fit(clone(model), known, data)
    if chosen.has_curve and s == S:
        stream = _stream(model, known, data, minutes=float("inf"))
        result["curve"] = stream["curve"]
        result["seconds_stream"] = stream["seconds"]
        result["stream_agrees"] = _alike(stream, result)
    return {**about, **result}


def _published(**more: Any) -> dict[str, Any]:
    """Options of LASVC for the steps of the paper."""
    return {"reprocess": "paper", **more}


def _model(known: Set, chosen: Method, s: float, seed: int, n_jobs: int) -> LASVC:
    return LASVC(
        variant=chosen.variant,
        C=known.C,
        gamma=known.gamma,
        s=s,
        tol=None if chosen.finish is None else 1e-3,
        solver_options=_published(finish=chosen.finish or "all"),
        cache_size=min(cache_mb(known, chosen), 0.6 * _memory_mb()),  # changes the time only
        random_state=seed,
        n_jobs=n_jobs,
    )


def gap(name: str, n_jobs: int) -> dict[str, Any]:
    """Duality gap of LASVM-G, and its target, after so many examples."""
    known = SETS[name]
    data = split(known, 0)
    history = _model(known, METHODS["g"], S, 0, n_jobs).fit(data.as_ours(known.dense)[0], data.y).history_
    return {key: history[key].tolist() for key in ("step", "duality_gap", "duality_gap_target")}


def warm(name: str, s: float, warm_sv: int, seed: int, n_jobs: int) -> dict[str, Any]:
    """LASVM-I that ignores nothing before it has more than `warm_sv` support vectors."""
    known = SETS[name]
    data = split(known, seed if known.is_random else 0)
    model = _model(known, METHODS["i"], s, seed, n_jobs).set_params(solver_options=_published(warm_sv=warm_sv))
    return _fit(model, known, data)


def unpublished(name: str, n_jobs: int, **options: int) -> dict[str, Any]:
    """LASVM-NC with these solver options."""
    known = SETS[name]
    model = _model(known, METHODS["nc"], S, 0, n_jobs).set_params(solver_options=_published(**options))
    return _fit(model, known, split(known, 0))


def reading(name: str, C: float, method: str, seed: int, n_jobs: int) -> dict[str, Any]:
    """A method on USPS with smoothed images, a random split of the published sizes, and this C."""
    known = replace(SETS[name], C=C, split=SETS[name].published, images="smoothed")
    data = split(known, seed)
    if METHODS[method].variant is None:
        return _libsvm(known, data)
    return _fit(_model(known, METHODS[method], S, seed, n_jobs), known, data)


def pool(name: str, size: int | None, seed: int, n_jobs: int) -> dict[str, Any]:
    """LASVM-G with the labels that it asks for: near the boundary, among `size` random rows or all.

    `among_best`: share of the questions, among those compared, whose row was among the best `POOL_BEST` of all rows.
    """
    known = SETS[name]
    data = split(known, seed if known.is_random else 0)
    X, X_test = data.as_ours(known.dense)
    rule, model = Rule(near_boundary, candidates=size), _model(known, METHODS["g"], S, seed, n_jobs)
    how = {"classes": [-1, 1], "n_snapshots": 0, "n_watched": 0, "random_state": seed}
    learner = ActiveLearner(model, rule, pool=X, **how)
    curve, ranks, seconds = [], [], 0.0
    while learner.n_labelled < POOL_LABELS[-1]:
        rows, took = cpu_timed(learner.ask)
        seconds += took
        if learner.is_ready and learner.n_labelled % POOL_COMPARED == 0:
            everything = near_boundary(learner.scores(learner.open_rows))
            ranks.append(np.mean(everything > near_boundary(learner.scores(rows))[0]))
        learner.answer(rows, data.y[rows])
        if learner.n_labelled in POOL_LABELS:
            curve.append({"labels": learner.n_labelled, **scores(model, X_test, data.y_test)})
    best = float(np.mean(np.array(ranks) < POOL_BEST))
    return {"curve": curve, "among_best": best, "seconds_question": seconds / learner.n_labelled}


def _memory_mb() -> float:
    """Physical memory of the machine; 8 GB where the system does not tell."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20 if hasattr(os, "sysconf") else 8000


def _fit(model: LASVC, known: Set, data: Split) -> dict[str, Any]:
    """One epoch by `fit`, which ends with a cleaning."""
    X, X_test = data.as_ours(known.dense)
    _, seconds = cpu_timed(lambda: model.fit(X, data.y))
    return {"seconds": seconds, **_counts(model), **scores(model, X_test, data.y_test)}


def _stream(model: LASVC, known: Set, data: Split, minutes: float) -> dict[str, Any]:
    """The same epoch by `partial_fit`, with a test after each chunk; the clock runs while training only."""
    X, X_test = data.as_ours(known.dense)
    order = np.random.RandomState(model.random_state).permutation(len(data.y))  # that of fit
    seconds, seen, curve = 0.0, 0, []
    for fraction in CHECKPOINTS:
        part = order[seen : round(fraction * len(order))]
        rows, labels = X[part], data.y[part]
        seconds += cpu_timed(partial(model.partial_fit, rows, labels, classes=[-1, 1]))[1]
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


def _libsvm(known: Set, data: Split) -> dict[str, Any]:
    """LIBSVM in scikit-learn: float64, rows as stored."""
    model = SVC(C=known.C, gamma=known.gamma, cache_size=CACHE_MB)
    _, seconds = cpu_timed(lambda: model.fit(data.X, data.y))
    n_support = int(model.n_support_.sum())
    return {"seconds": seconds, "n_support": n_support, **scores(model, data.X_test, data.y_test)}


def scores(model: Any, X: Any, y: np.ndarray) -> dict[str, float]:
    """The paper's scores, and the seconds that the decision values took."""
    values, seconds = cpu_timed(lambda: model.decision_function(X))
    predicted = np.where(values > 0, 1, -1)
    return {
        "accuracy": float(np.mean(predicted == y)),
        "prbep": prbep_score(y, values),
        "auc": float(roc_auc_score(y, values)),
        "g_mean": g_mean_score(y, predicted),
        "seconds_test": seconds,
    }


def usps_readings(n_jobs: int) -> dict[str, Any]:
    """Support vectors and scores of SVC for every reading of the data set."""
    usps = SETS["usps"]
    source = stored(usps.source)
    smooth = smoothed(source.X)
    order = np.random.default_rng(2011).permutation(len(source.y))
    cut, n_train = usps.published[0], source.n_train or 0
    splits = {"published": np.split(np.arange(len(order)), [n_train]), "random": np.split(order, [cut])}
    rows = []
    for digit, images, scaling, part, C in USPS_READINGS:
        X = (source.X if images == "original" else smooth) / USPS_SCALINGS[scaling]
        y, (train, test) = np.where(source.y == digit, 1, -1), splits[part]
        model = SVC(C=C, gamma=usps.gamma, cache_size=500).fit(X[train], y[train])
        found = {"n_support": int(model.n_support_.sum()), **scores(model, X[test], y[test])}
        rows.append({"digit": digit, "images": images, "scaling": scaling, "split": part, "C": C, **found})
    return {"rows": rows}
