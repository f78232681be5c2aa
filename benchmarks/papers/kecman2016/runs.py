"""One run of each kind; the functions are named by Job.kind. Seconds are CPU seconds."""

from __future__ import annotations

import warnings
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from benchmarks.papers.frame import cpu_timed
from hingeline import KernelSGDClassifier

from . import data, settings
from .lists import LISTS


def warm_up() -> None:
    """What is loaded at first use is not part of the first time."""
    X, y = np.eye(8), np.tile([-1, 1], 4)
    KernelSGDClassifier().fit(X, y).predict(X)
    SVC().fit(X, y).predict(X)


def _gamma(sigma: float) -> float:
    return 1 / (2 * sigma**2)


def _model(method: str, C: float, sigma: float, n_jobs: int, limit: int = -1) -> Any:
    options = settings.METHODS[method].options
    if options is None:
        return SVC(C=C, gamma=_gamma(sigma), cache_size=settings.CACHE_MB, max_iter=limit)
    more: dict[str, Any] = {"cache_size": settings.CACHE_MB, "random_state": settings.SEED, "n_jobs": n_jobs}
    return KernelSGDClassifier(C=C, gamma=_gamma(sigma), **more, **options)


def _fitted(model: Any, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> dict[str, Any]:
    """Fit and predict once."""
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        _, seconds = cpu_timed(lambda: model.fit(X, y))
    predicted, more = cpu_timed(lambda: model.predict(X_test))
    steps = int(np.sum(model.n_iter_))
    told = {"seconds": seconds, "predicting": more, "wrong": int(np.sum(predicted != y_test)), "steps": steps}
    told |= {"rows": len(y_test), "n_support": len(model.support_), "ended": bool(getattr(model, "fit_status_", 0))}
    if isinstance(model, KernelSGDClassifier):
        told["violations"] = int(model.n_violations_[0])
    return told


# ---- Table II, Figures 1 to 4 ------------------------------------------------------------------------


def cv(name: str, n: int | None, C: float, fold: int, method: str, sigmas: list[float], n_jobs: int) -> dict[str, Any]:
    """One C with all sigmas on one fold."""
    split = data.fold(name, n, fold)
    return {"cells": [{"sigma": s, **_fitted(_model(method, C, s, n_jobs, settings.LIMIT), *split)} for s in sigmas]}


# ---- Figures 5 to 8 ----------------------------------------------------------------------------------


def online(n: int, way: str, fold: int, method: str, n_jobs: int) -> dict[str, Any]:
    """The grid on one fold of the chessboard. The lists get a kernel matrix, whose time is told apart."""
    return _online(data.fold("chessboard", n, fold), way, method, settings.SIGMAS, n_jobs)


def _online(split: data.Split, way: str, method: str, sigmas: tuple[float, ...], n_jobs: int) -> dict[str, Any]:
    X, y, X_test, y_test = split
    cells = []
    if way == "ours":
        for C in settings.CS:
            cells += [{"C": C, "sigma": s, **_fitted(_model(method, C, s, n_jobs), *split)} for s in sigmas]
        return {"cells": cells}
    order = np.random.RandomState(settings.SEED).permutation(len(y))  # that of the estimator
    X, y = X[order], y[order]
    kernels = {s: cpu_timed(partial(rbf_kernel, X, gamma=_gamma(s))) for s in sigmas}
    seen = {s: rbf_kernel(X_test, X, gamma=_gamma(s)) for s in sigmas}
    for C in settings.CS:
        for s in sigmas:
            alpha, seconds = cpu_timed(partial(LISTS[method], kernels[s][0], y, C, settings.EPOCHS))
            wrong = int(np.sum(np.where(seen[s] @ alpha > 0, 1, -1) != y_test))
            told = {"C": C, "sigma": s, "seconds": seconds, "kernel": kernels[s][1], "wrong": wrong}
            cells.append({**told, "rows": len(y_test), "n_support": int(np.sum(alpha != 0))})
    return {"cells": cells}


# ---- supplement ----------------------------------------------------------------------------------------


def reading(name: str, fold: int, method: str, n_jobs: int) -> dict[str, Any]:
    """The grid on one fold of a set as the supplement draws it, with its widths."""
    n, sigmas, drawn, _ = settings.READINGS[name]
    split = data.fold(name, n, fold, **drawn)
    cells = [
        {"C": C, "sigma": s, **_fitted(_model(method, C, s, n_jobs, settings.LIMIT), *split)}
        for C in settings.CS
        for s in sigmas
    ]
    return {"cells": cells}


def narrow(way: str, method: str, n_jobs: int) -> dict[str, Any]:
    """Figures 5 to 8 with small widths, on the first fold."""
    split = data.fold("chessboard", settings.ONLINE_N, 0)
    return _online(split, way, method, settings.READINGS["chessboard"][1], n_jobs)


def degree(degree: int, n_jobs: int) -> dict[str, Any]:
    """OL SVM with a polynomial kernel on the chessboard, centred."""
    X, y, X_test, y_test = data.fold("chessboard", settings.ONLINE_N, 0)
    options = {"kernel": "poly", "degree": degree, "gamma": 4.0, "coef0": 1.0, "n_epochs": settings.EPOCHS}
    options |= {"cache_size": settings.CACHE_MB, "random_state": settings.SEED, "n_jobs": n_jobs}
    split = X - 0.5, y, X_test - 0.5, y_test
    return {"cells": [{"C": C, **_fitted(KernelSGDClassifier(C=C, **options), *split)} for C in settings.DEGREE_CS]}


# ---- one fit at a large C ----------------------------------------------------------------------------


def large(name: str, n: int, sigmas: dict[str, float], n_jobs: int) -> dict[str, Any]:
    """Every method with its own sigma: fits in turns, error on new points; ours in both precisions."""
    X, y = data.load(name, n)
    X_test, y_test = data.load(name, n, settings.SEED + 1)
    tries: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for place in range(settings.REPEATS):
        turn = [
            (m, t)
            for m in settings.LARGE_METHODS
            for t in ("float64", "float32")
            if t == "float64" or settings.METHODS[m].options
        ]
        for method, kind in turn if place % 2 == 0 else reversed(turn):
            parts = X.astype(kind), y, X_test.astype(kind), y_test
            model = _model(method, settings.LARGE_C, sigmas[method], n_jobs)
            tries.setdefault((method, kind), []).append(_fitted(model, *parts))
    rows = []
    for (method, kind), found in tries.items():
        seconds = [one["seconds"] for one in found]
        told = {"method": method, "precision": kind, "sigma": sigmas[method]}
        rows.append({**found[-1], **told, "seconds": median(seconds), "tries": seconds})
    return {"rows": rows}


# ---- errata ------------------------------------------------------------------------------------------


def errata(n: int, n_jobs: int) -> dict[str, Any]:
    """NORMA beside Pegaz with the same order and step sizes, and the first two steps of NORMA."""
    X, y = data.load("chessboard", n)
    pairs = []
    for rate, first in (("sqrt", False), ("sqrt", True), ("inverse", False), ("inverse", True)):
        for epochs in (1, 3):
            for C in settings.ERRATA_CS:
                common: dict[str, Any] = {
                    "C": C,
                    "gamma": _gamma(settings.ERRATA_SIGMA),
                    "learning_rate": rate,
                    "n_epochs": epochs,
                }
                common |= {"truncate": 0.0, "random_state": settings.SEED, "n_jobs": n_jobs}
                norma = KernelSGDClassifier(variant="norma", decay_first=first, **common).fit(X, y)
                pegaz = KernelSGDClassifier(variant="pegaz", **common).fit(X, y)
                a, b = _coefficients(norma, n), _coefficients(pegaz, n)
                told = {"rate": rate, "decay_first": first, "epochs": epochs, "C": C}
                told |= {"apart": float(np.max(np.abs(a - b)) / np.max(np.abs(b)))}
                told |= {"unlike": float(np.mean(norma.predict(X) != pegaz.predict(X)))}
                told |= {"n_support": [int(np.sum(np.abs(v) > 1e-12 * C)) for v in (a, b)]}
                pairs.append(told)
    model = KernelSGDClassifier(variant="norma_literal", C=1.0, gamma=_gamma(settings.ERRATA_SIGMA), truncate=0.0)
    steps = []
    for t in (1, 2):  # the two rows are of one class each, far apart: both violate the margin
        model.partial_fit(np.array([[0.1 * t, 0.1 * t]]), [(-1) ** t], classes=[-1, 1])
        steps.append(_coefficients(model, 2).tolist())
    return {"pairs": pairs, "first": steps}


def _coefficients(model: Any, n: int) -> np.ndarray:
    whole = np.zeros(n)
    whole[model.support_] = model.dual_coef_[0]
    return whole
