"""One run of each kind; the functions are named by Job.kind."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.liblinear import dual, objective, slacks

from . import data, settings, solvers
from .settings import SEEDING_CS
from .studies import proximal, starts, systems, violation

__all__ = ["cv", "fit", "heuristics", "proximal", "rival", "seeding", "starts", "systems", "violation", "warm_up"]


def warm_up() -> None:
    """Load what is loaded at first use, so that it is not part of the first time."""
    X, y = csr_matrix(np.eye(8)), np.tile([-1, 1], 4)
    solvers.fit(X, y, 1.0, 1)
    if find_spec("liblinear") is not None:
        solvers.Liblinear(X, y).fit(1.0, 2, 0.1)


# ---- Tables 1 and 3 ----------------------------------------------------------------------------------


def seeding(name: str, way: str, solver: str, n_jobs: int) -> dict[str, Any]:
    """Fits for all C of Table 1."""
    X, y = data.load(name)
    tries = [_along(X, y, way == "seeded", solver, n_jobs) for _ in range(settings.SEEDING_REPEATS)]
    weights, _, passes = tries[-1]
    objectives = [objective(X, y, plane, C) for plane, C in zip(weights, SEEDING_CS, strict=True)]
    times = [seconds for _, seconds, _ in tries]
    return {"seconds": min(times), "tries": times, "passes": passes, "objectives": objectives}


def _along(X: Any, y: np.ndarray, seeded: bool, solver: str, n_jobs: int) -> tuple[list[Any], float, list[float]]:
    """Weights, seconds of all C together, passes for each (none of `linear_svc_path`)."""
    options = settings.SOLVERS[solver].options
    if seeded and solver != settings.PAPER:
        coefs, intercepts, seconds = solvers.path(X, y, SEEDING_CS, n_jobs, **options)
        return list(zip(coefs, intercepts, strict=True)), seconds, []
    stages = settings.HEURISTICS["none" if seeded else "both"][1] if solver == settings.PAPER else (options,)
    found: list[solvers.Fitted] = []
    for C in SEEDING_CS:
        found.append(solvers.rounds(X, y, C, n_jobs, stages, found[-1] if seeded and found else None))
    return [one.plane for one in found], sum(one.seconds for one in found), [one.passes for one in found]


def heuristics(name: str, variant: str, n_jobs: int) -> dict[str, Any]:
    """One row of Table 3 on one set."""
    X, y = data.load(name)
    C, (_, stages) = settings.HEURISTIC_C, settings.HEURISTICS[variant]
    return _told(X, y, C, [solvers.rounds(X, y, C, n_jobs, stages) for _ in range(settings.REPEATS)], False)


# ---- Tables 4 to 6, Figure 1 -------------------------------------------------------------------------


def fit(name: str, log2_C: float, solver: str, n_jobs: int = 1) -> dict[str, Any]:
    """Training on all rows; LIBLINEAR with the first tolerance that is good enough."""
    X, y = data.load(name)
    C, chosen = 2.0**log2_C, settings.SOLVERS[solver]
    optimum = None if chosen.hinge else _optimum(name, log2_C)
    if solver in settings.OURS:
        solve = solvers.to_violation if solver == settings.PAPER else solvers.fit
        found = [solve(X, y, C, n_jobs, **chosen.options) for _ in range(settings.REPEATS)]
        return _told(X, y, C, found, chosen.hinge, optimum)
    theirs = _liblinear(name)
    for e in chosen.options["e"]:
        found = [theirs.fit(C, chosen.options["s"], e)]
        told = _told(X, y, C, found, chosen.hinge, optimum)
        if optimum is None or told["excess"] <= settings.LEVEL:
            break
    found += [theirs.fit(C, chosen.options["s"], e) for _ in range(settings.REPEATS - 1)]
    return {**_told(X, y, C, found, chosen.hinge, optimum), "e": e}


@lru_cache(maxsize=1)
def _liblinear(name: str) -> solvers.Liblinear:
    return solvers.Liblinear(*data.load(name))


@lru_cache(maxsize=1)
def _optimum(name: str, log2_C: float) -> float | None:
    """Smallest objective of the squared hinge, to rounding; None without LIBLINEAR."""
    if find_spec("liblinear") is None:
        return None
    best = _liblinear(name).fit(2.0**log2_C, 2, settings.OPTIMUM_E)
    return objective(*data.load(name), best.plane, 2.0**log2_C)


def _told(
    X: Any, y: np.ndarray, C: float, found: list[solvers.Fitted], hinge: bool, optimum: float | None = None
) -> dict[str, Any]:
    """What is kept of equal fits: the shortest time, and the quality of the last one."""
    last = found[-1]
    value = objective(X, y, last.plane, C, hinge)
    told = asdict(last)
    for key in ("w", "b", "first", "objective"):
        del told[key]
    tries = [one.seconds for one in found]
    told |= {"seconds": min(tries), "tries": tries, "objective": value, "rows": len(y)}
    told["sv_fraction"] = float(np.mean(slacks(X, y, last.plane) > 0))
    if not hinge:
        told["kkt"], lower = dual(X, y, last.plane, C)
        told["gap"] = (value - lower) / value
    elif last.dual is not None:
        told["gap"] = (value - last.dual) / value
    if optimum is not None:
        told["excess"] = value / optimum - 1
    return told


def cv(name: str, solver: str, fold: int, n_jobs: int = 1) -> dict[str, Any]:
    """Errors on one fold for all C of the grid."""
    X, y, X_test, y_test = data.fold(name, fold)
    Cs = [2.0**c for c in settings.SETS[name].grid]
    if solver in settings.OURS:
        coefs, intercepts, _ = solvers.path(X, y, Cs, n_jobs)
        planes = list(zip(coefs, intercepts, strict=True))
    else:
        machine, s, e = solvers.Liblinear(X, y), settings.SOLVERS[solver].options["s"], settings.CV_SOLVERS[solver]
        fits = [machine.fit(C, s, e) for C in Cs]
        planes = [one.plane for one in fits]
    wrong = [int(np.sum(np.where(X_test @ w + b > 0, 1, -1) != y_test)) for w, b in planes]
    return {"wrong": wrong, "rows": len(y_test)}


# ---- supplement ----------------------------------------------------------------------------------------


def rival(name: str, rival: str, log2_C: float, n_jobs: int = 1) -> dict[str, Any]:
    """Training by a method of RIVALS; fits that take seconds are made once. `gap`: relative duality gap."""
    X, y = data.load(name)
    C, hinge = 2.0**log2_C, rival in settings.RIVAL_HINGE
    if rival in settings.OURS:
        options = settings.SOLVERS[rival].options
        solve = partial(solvers.to_violation if rival == settings.PAPER else solvers.fit, X, y, C, n_jobs, **options)
    else:
        solve = partial(solvers.rival, X, y, C, rival)
    found = [solve()]
    while found[-1].seconds < 2 and len(found) < settings.REPEATS:
        found.append(solve())
    last = found[-1]
    if rival == "smo":  # the intercept is not part of its penalty
        value = objective(X, y, last.plane, C, hinge) - 0.5 * last.b**2
    else:
        value = objective(X, y, last.plane, C, hinge)
    lower = dual(X, y, last.plane, C)[1] if not hinge else last.dual
    told = {"seconds": min(one.seconds for one in found), "iterations": int(last.iterations), "objective": value}
    return {**told, "gap": None if lower is None else (value - lower) / value, "rows": len(y)}
