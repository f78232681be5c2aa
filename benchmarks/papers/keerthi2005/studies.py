"""Studies of sections 4.1, 4.3, 4.6 and 4.7: CGLS, proximal SVM, starting points, KKT violation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from sklearn.naive_bayes import BernoulliNB

from benchmarks.liblinear import dual, objective
from benchmarks.papers.frame import cpu_timed
from hingeline import LinearSVC
from hingeline.linear.published import MOST_STEPS, Matrix, cgls

from . import data, settings, solvers

#: Tolerance of equation 13.
EPSILON = 1e-6


# ---- CGLS (section 4.3) ------------------------------------------------------------------------------


def systems(name: str, log10_C: float, n_jobs: int) -> dict[str, Any]:
    """Preconditioned CG on the normal equations, and the paper's CGLS: how close they come."""
    X, y = data.study(name)
    C = 10.0**log10_C
    models = {
        "cg": LinearSVC(C=C / 2, solver="cg", tol=EPSILON),
        "cgls": LinearSVC(C=C / 2, solver="plain", tol=EPSILON),
        "best": LinearSVC(C=C / 2, solver="gram", tol=1e-14),
    }
    told: dict[str, Any] = {}
    exact = X.astype(np.float64)
    for key, model in models.items():
        solvers.quietly(model.fit, X, y)
        plane = model.coef_[0], float(model.intercept_[0])
        value = objective(exact, y, plane, C)
        told[key] = {"objective": value, "gap": (value - dual(exact, y, plane, C)[1]) / value}
        told[key] |= {"reason": str(model.stop_reason_[0]), "iterations": model.n_iter_}
    least = min(told[key]["objective"] for key in models)
    for key in models:
        told[key]["excess"] = told[key]["objective"] / least - 1
    return told


# ---- Table 2 -----------------------------------------------------------------------------------------


def proximal(name: str, n_jobs: int) -> dict[str, Any]:
    """Times of the proximal SVM, which factors X'X, and of LS-SVM-CG, both with SciPy's products; means over C."""
    X, y = data.study(name)
    rows = _with_threshold(X)
    seconds: dict[str, list[float]] = {"proximal": [], "cg": [], "gram": [], "plain": []}
    steps, apart = [], []
    for C in settings.PROXIMAL_CS:
        exact, by_factor = cpu_timed(partial(_proximal, rows, y, C))
        least = Matrix(rows, 0, 0.0), np.ones((len(y), 1)), y[:, np.newaxis].astype(np.float64), np.zeros(rows.shape[1])
        (found, count, _), by_steps = cpu_timed(partial(cgls, *least, 1 / C, EPSILON, MOST_STEPS))
        seconds["proximal"].append(by_factor)
        seconds["cg"].append(by_steps)
        steps.append(count)
        apart.append(float(np.linalg.norm(found - exact) / np.linalg.norm(exact)))
        for solver in ("gram", "plain"):
            fitted = solvers.fit(X, y, C, n_jobs, loss="squared", solver=solver)
            seconds[solver].append(fitted.seconds)
    means = {key: float(np.mean(values)) for key, values in seconds.items()}
    return {"seconds": means, "steps": float(np.mean(steps)), "apart": max(apart)}


def _with_threshold(X: Any) -> Any:
    """Rows with the constant feature of a threshold, in double."""
    last = np.full((X.shape[0], 1), -1.0)
    return sp.hstack([X, last], "csr") if sp.issparse(X) else np.hstack([X.astype(np.float64), last])


def _proximal(rows: Any, y: np.ndarray, C: float) -> np.ndarray:
    """The minimum of the squared loss, by a factor of the matrix of its normal equations."""
    gram = rows.T @ rows
    gram = gram.toarray() if sp.issparse(gram) else gram
    gram[np.diag_indices(len(gram))] += 1 / C
    return np.asarray(cho_solve(cho_factor(gram), rows.T @ y))


# ---- starting points (equations 8 and 9, footnote 4, heuristic 3) --------------------------------------


def starts(name: str, log10_C: float, n_jobs: int) -> dict[str, Any]:
    """`solver='cg'` from zero, from the minimum over a part of the rows, and from a guess by naive Bayes."""
    X, y = data.load(name)
    C = 10.0**log10_C
    options: dict[str, Any] = {"solver": "cg"}
    zero = solvers.fit(X, y, C, n_jobs, **options)
    told: dict[str, Any] = {"zero": _work(zero)}
    for part in settings.PARTS:
        chosen = np.sort(np.random.default_rng(settings.SEED).choice(len(y), len(y) // part, replace=False))
        first = solvers.fit(X[chosen], y[chosen], C * part, n_jobs, **options)
        then = solvers.fit(X, y, C, n_jobs, first, **options)
        told[f"part {part}"] = {
            "passes": first.passes / part + then.passes,
            "seconds": first.seconds + then.seconds,
            "above": then.first / zero.objective,
        }
    w = naive_bayes(X, y)
    everyone, optimal = np.ones(len(y), dtype=bool), y * (X @ zero.w + zero.b) < 1
    for title, active, rounds in (
        ("all rows", everyone, 1),
        ("all rows, repeated", everyone, settings.GUESS_ROUNDS),
        ("optimal set", optimal, 1),
        ("optimal set, repeated", optimal, settings.GUESS_ROUNDS),
    ):
        guess = solvers.Fitted(*scaled(X, y, w, C, active, rounds), 0.0, 0.0, 0)
        found = solvers.fit(X, y, C, n_jobs, guess, **options)
        told[title] = {**_work(found), "above": found.first / zero.objective}
    return told


def _work(found: solvers.Fitted) -> dict[str, float]:
    return {"passes": found.passes, "seconds": found.seconds}


def naive_bayes(X: Any, y: np.ndarray) -> np.ndarray:
    """Weights of the features by naive Bayes with binary features."""
    logs = BernoulliNB().fit(X, y).feature_log_prob_
    return np.diff(logs - np.log1p(-np.exp(logs)), axis=0)[0]


def scaled(X: Any, y: np.ndarray, w: np.ndarray, C: float, active: np.ndarray, rounds: int) -> tuple[np.ndarray, float]:
    """Equation 9 for a set of rows; then, as in footnote 4, for the rows that are active at the result."""
    lam, z = 1 / C, X @ w
    gamma = b = 0.0
    for _ in range(rounds):
        of, t = z[active], y[active]
        p11, p12, p22 = lam * w @ w + of @ of, of.sum(), lam + len(of)
        q1, q2, d = t @ of, t.sum(), p11 * p22 - p12**2
        gamma, b = (p22 * q1 - p12 * q2) / d, (p11 * q2 - p12 * q1) / d
        active = y * (gamma * z + b) < 1
    return gamma * w, float(b)


# ---- KKT violation (section 4.7) -----------------------------------------------------------------------


def violation(name: str, log10_C: float, solver: str, n_jobs: int) -> dict[str, Any]:
    """With `tol` alone, and with `kkt_tol`."""
    X, y = data.study(name)
    told: dict[str, Any] = {}
    for key, kkt_tol in {"gap": None, "kkt": settings.KKT_TOL}.items():
        model = LinearSVC(C=10.0**log10_C / 2, solver=solver, tol=EPSILON, kkt_tol=kkt_tol, n_jobs=n_jobs)
        _, seconds = cpu_timed(partial(solvers.quietly, model.fit, X, y))
        told[key] = {"seconds": seconds, "violation": float(model.kkt_violation_[0])}
        told[key] |= {"reason": str(model.stop_reason_[0]), "passes": float(model.n_passes_), "solver": model.solver_}
    return told
