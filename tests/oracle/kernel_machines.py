"""The dual problem of a fitted kernel machine, and its objective, duality gap and violation, from scratch in double.

maximise D(beta) = p'beta - 1/2 beta'K beta - e sum |beta|  subject to  lower <= beta <= upper  and a fixed sum of beta
in each group of positions. NuSVR has two positions for each row: the positive and the negative part of its coefficient.

Works with the estimators of hingeline and of scikit-learn: SVC and NuSVC with two classes, SVR, NuSVR, OneClassSVM.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass
class Dual:
    """A problem by position."""

    K: np.ndarray  # by row
    row: np.ndarray
    p: np.ndarray
    e: float
    lower: np.ndarray
    upper: np.ndarray
    group: np.ndarray
    total: np.ndarray  # by group


def dual_problem(model, K, y, weights):
    """Problem of a model with its parameters; the data are not read from the model."""
    kind, n = type(model).__name__, len(K)
    weights = np.maximum(weights, 0.0)
    row, group, p, e = np.arange(n), np.zeros(n, dtype=int), np.zeros(n), 0.0
    bound = weights * getattr(model, "C", 1.0) if kind in ("SVC", "SVR", "NuSVR") else weights
    lower, upper, total = -bound, bound, np.zeros(1)
    if kind in ("SVC", "NuSVC"):
        sign = np.where(y == model.classes_[1], 1.0, -1.0)
        lower, upper = np.minimum(0.0, sign * bound), np.maximum(0.0, sign * bound)
        if kind == "NuSVC":
            return nu_problem(K, sign, weights, model.nu)
        p = sign
    elif kind == "OneClassSVM":
        lower, total = np.zeros(n), np.array([model.nu * weights.sum()])
    elif kind == "SVR":
        p, e = y, model.epsilon
    else:
        half = 0.5 * model.nu * bound.sum()
        row, group, p = np.tile(row, 2), np.repeat([0, 1], n), np.tile(y, 2)
        lower, upper = np.append(np.zeros(n), -bound), np.append(bound, np.zeros(n))
        total = np.array([half, -half])
    return Dual(K, row, p, e, lower, upper, group, total)


def nu_problem(K, sign, weights, nu):
    """Problem of NuSVC for rows with labels 1 and -1."""
    half = 0.5 * nu * weights.sum()
    lower, upper = np.minimum(0.0, sign * weights), np.maximum(0.0, sign * weights)
    group, n = (sign < 0).astype(int), len(K)
    return Dual(K, np.arange(n), np.zeros(n), 0.0, lower, upper, group, np.array([half, -half]))


def coefficients(model, problem, kept=None):
    """Coefficients of a model by position. `kept`: the rows that ``support_`` counts; None: all."""
    n, kind = len(problem.K), type(model).__name__
    given = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else np.asarray(model.dual_coef_)
    support = model.support_ if kept is None else kept[model.support_]
    beta = np.zeros(n)
    beta[support] = given[0]
    if kind == "NuSVC":
        return undo_margin(problem, beta, 0.0)[0]
    return take_parts(problem, beta)


def take_parts(problem, beta):
    """Coefficients by position from those by row: with two positions, the positive and the negative part."""
    two = len(problem.row) > len(problem.K)
    return np.append(np.maximum(beta, 0.0), np.minimum(beta, 0.0)) if two else beta


def cancelled(problem, beta):
    """NuSVR: what positive and negative parts of the coefficients of the same rows have lost in their sum."""
    return float(np.abs(problem.total - np.bincount(problem.group, beta, minlength=len(problem.total))).max())


def undo_margin(problem, beta, b):
    """Coefficients of NuSVC, and multipliers of the fixed sums, before they were divided by the margin."""
    r = np.abs(problem.total).sum() / np.abs(beta).sum()
    r = 1.0 if abs(r - 1) < 1e-9 else r  # no margin, no division
    return beta * r, np.array([b * r - r, b * r + r])


def levels(model, problem):
    """Multipliers of the fixed sums."""
    b = model.intercept_[0]
    if type(model).__name__ == "NuSVC":
        return undo_margin(problem, model.dual_coef_, b)[1]
    if type(model).__name__ == "NuSVR":
        return np.array([b + model.epsilon_, b - model.epsilon_])
    return np.array([b])


def slopes(problem, beta):
    """v = p - K beta by position, and the size of its rounding errors."""
    by_row = np.zeros(len(problem.K))
    np.add.at(by_row, problem.row, beta)
    v = problem.p - (problem.K @ by_row)[problem.row]
    size = np.abs(problem.p).max() + (np.abs(problem.K) @ np.abs(by_row)).max()
    return v, 64 * np.finfo(float).eps * size


def objective(problem, beta):
    v = slopes(problem, beta)[0]
    return float(0.5 * beta @ (problem.p + v) - problem.e * np.abs(beta).sum())


def violation(problem, beta, slack=1e-13):
    """Largest slope upwards minus smallest slope downwards in a group.

    A coefficient within `slack` times the width of its box counts as being at the bound.
    """
    v, _ = slopes(problem, beta)
    rise = np.where(beta < 0, v + problem.e, v - problem.e)
    fall = np.where(beta > 0, v - problem.e, v + problem.e)
    near = slack * (problem.upper - problem.lower)
    up, low = beta < problem.upper - near, beta > problem.lower + near
    return max(
        np.max(rise[up & (problem.group == g)], initial=-np.inf)
        - np.min(fall[low & (problem.group == g)], initial=np.inf)
        for g in range(len(problem.total))
    )


def gaps(problem, beta, group, values):
    """Part of the duality gap that a group has, for several values of its multiplier."""
    own = problem.group == group
    v, b = slopes(problem, beta)[0][own], beta[own]
    u = v[:, np.newaxis] - values
    lower, upper = problem.lower[own, np.newaxis], problem.upper[own, np.newaxis]
    loss = np.maximum(0.0, np.maximum(upper * (u - problem.e), lower * (u + problem.e)))
    missing = problem.total[group] - b.sum()  # of NuSVR: in the positive and the negative part of a row
    return np.sum(loss - b[:, np.newaxis] * u, axis=0) + problem.e * np.abs(b).sum() + values * missing


def duality_gap(problem, beta, multipliers):
    """Primal objective for these multipliers minus D."""
    return float(sum(gaps(problem, beta, g, multipliers[[g]])[0] for g in range(len(problem.total))))


def least_gap(problem, beta):
    """Duality gap for the best multipliers: it is piecewise linear in each, with corners at the slopes."""
    v, _ = slopes(problem, beta)
    corners = [np.append(v[problem.group == g] - problem.e, v[problem.group == g] + problem.e) for g in (0, 1)]
    return float(sum(gaps(problem, beta, g, np.unique(corners[g])).min() for g in range(len(problem.total))))


def infeasibility(problem, beta):
    """Largest violation of the box and of the sums, relative to the size of the coefficients.

    The sums of NuSVR may be smaller: a row may have a positive and a negative part.
    """
    outside = np.max(np.maximum(problem.lower - beta, beta - problem.upper), initial=0.0)
    missing = problem.total - np.bincount(problem.group, beta, minlength=len(problem.total))
    if len(problem.row) > len(problem.K):
        missing = np.array([missing.sum(), max(-missing[0], 0.0)])
    off = np.abs(missing).max()
    return float((outside + off) / max(np.abs(beta).sum(), np.abs(problem.total).sum(), 1e-300))
