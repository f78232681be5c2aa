"""KKT violations and duality gaps of fitted models, recomputed from the rows in double.

Only NumPy: kernel values are summed directly, decision values come from the published coefficients and intercepts.
Arguments are those of one machine: `t` are labels -1 and 1, `c` is C times the weight of each row (rows without weight
are left out by the caller), `beta` are the signed coefficients of the rows, zero for those that are not support
vectors.

Every function returns a :class:`Found`. `rounding` is the size of the rounding errors of one evaluation of the decision
values with kernel values of precision `eps`; `objective` is the primal objective.
"""

from dataclasses import dataclass

import numpy as np

from . import kernel_machines

EPS = float(np.finfo(np.float64).eps)
SINGLE = float(np.finfo(np.float32).eps)
#: Rounding errors of sums that are kept up to date over many steps, in units of those of their terms.
ROUNDINGS = 64
#: Lowest and highest slope of half the losses of linear machines; of the hinge itself.
SLOPES = {"squared_hinge": (0.0, np.inf), "huber": (0.0, 2.0), "squared": (-np.inf, np.inf), "hinge": (0.0, 1.0)}


@dataclass
class Found:
    violation: float
    gap: float
    objective: float
    rounding: float
    #: Rounding error of the gap: that of the decision values, times the coefficients and bounds it is multiplied by.
    gap_rounding: float
    #: Violation if coefficients within rounding errors of their bounds count as free.
    beside_bounds: float | None = None


def kernel_matrix(A, B, kernel, gamma=1.0, degree=3, coef0=0.0):
    """Kernel values in double. Squared distances are sums of squared differences, without cancellation."""
    A, B = (np.asarray(M, dtype=np.float64) for M in (A, B))
    if kernel == "rbf":
        squares = np.zeros((len(A), len(B)))
        for a, b in zip(A.T, B.T, strict=True):
            squares += np.subtract.outer(a, b) ** 2
        return np.exp(-gamma * squares)
    products = A @ B.T
    if kernel == "linear":
        return products
    inside = gamma * products + coef0
    return inside**degree if kernel == "poly" else np.tanh(inside)


def _outputs(K, beta, eps):
    """Sums of kernel values times coefficients in extended precision, and their errors with kernel values of `eps`."""
    used = np.flatnonzero(beta)
    terms = K[:, used] * beta[used].astype(np.longdouble)
    # Errors of kernel values are relative to the lengths of the two rows, not to the value.
    length = np.sqrt(np.abs(np.diag(K)))
    size = float(np.abs(terms).sum(axis=1).max(initial=0.0))
    size = max(size, float(length.max(initial=0.0) * (length @ np.abs(beta))))
    return terms.sum(axis=1), ROUNDINGS * eps * size


def hinge(K, t, c, beta, b, eps=EPS):
    """Machine of SVC: hinge loss, an intercept that is not penalised, and the violation of LIBSVM's stopping rule."""
    outputs, rounding = _outputs(K, beta, eps)
    v = t - outputs
    violation = _violation(v, t, beta, c * (1 - 4 * EPS))
    square = float(beta @ outputs)
    slack = np.maximum(t * (v - b), 0.0)
    primal, dual = 0.5 * square + float(c @ slack), float(beta @ t) - 0.5 * square
    scale = np.abs(beta).sum() + c[t * (v - b) > -rounding].sum()
    gap_rounding = (rounding + EPS) * scale + 8 * EPS * abs(primal)
    found = Found(violation, primal - dual, primal, rounding + EPS, gap_rounding)
    found.beside_bounds = _violation(v, t, beta, c)
    return found


def _violation(v, t, beta, bound):
    """m - M of LIBSVM's stopping rule; coefficients of at least `bound` are at their bounds."""
    up = np.where(t > 0, beta < bound, beta < 0)
    low = np.where(t > 0, beta > 0, -beta < bound)
    return max(float(v[up].max(initial=-np.inf) - v[low].min(initial=np.inf)), 0.0)


def squared_hinge(K, same, c, v, intercept, sided, eps=EPS):
    """L2-SVM with a penalised intercept: `same` are products of the labels of two rows, `v` unsigned coefficients.

    `sided`: only margins that are too small count as violations (stopping rule of L2SVC, except with solver='nnisda').
    """
    margins, rounding = _outputs(same * (K + float(intercept)), v, eps)
    r = 1 - margins - v / c
    violation = float(r.max()) if sided else float(max(r.max(), -r[v > 0].min(initial=0.0), 0.0))
    square = float(v @ margins)
    loss = np.maximum(1 - margins, 0.0)
    primal = 0.5 * (square + float(c @ loss**2))
    dual = float(v.sum()) - 0.5 * (square + float(v @ (v / c)))
    scale = v.sum() + (c * (loss + rounding)).sum()
    return Found(violation, primal - dual, primal, rounding + EPS, (rounding + EPS) * scale)


def box(K, t, low, high, beta, b, eps=EPS):
    """Problem of LASVC over some rows: coefficients between `low` and `high`; the gap for the intercept b.

    Gradients 1 - f are held in the precision of the rows, so their errors do not fall with f.
    """
    outputs, rounding = _outputs(K, beta, eps)
    rounding += eps * (1 + abs(b))
    g = t - outputs - b
    gap = float((np.maximum(low * g, high * g) - beta * g).sum())
    dual = float(beta @ t) - 0.5 * float(beta @ outputs)
    return Found(np.nan, gap, dual + gap, rounding, rounding * (high - low).sum())


def conditions(K, target, low, high, beta, b, total):
    """Largest KKT violation of min 1/2 beta'K beta - target'beta with low <= beta <= high and a given sum of beta."""
    outputs, rounding = _outputs(K, beta, EPS)
    g = outputs + b - target
    bound = 4 * EPS * np.maximum(np.abs(low), np.abs(high))
    worst = max(
        float(g[beta > low + bound].max(initial=0.0)),
        float(-g[beta < high - bound].min(initial=0.0)),
        abs(float(beta.astype(np.longdouble).sum() - total)),
    )
    return Found(worst, np.nan, np.nan, rounding + ROUNDINGS * EPS * (1 + abs(b)), np.nan)


def linear(X, t, c, weights, loss, dual=None, errors=None):
    """Linear machine: rows X with the constant columns of the thresholds, `weights` with the thresholds.

    `dual` are multipliers times labels. None: the slopes of the loss at the weights (not for the hinge, whose gap is
    then NaN). `errors`: rounding errors of the entries of X, where these were computed.
    """
    low, high = SLOPES[loss]
    curved = loss != "hinge"
    c = 2 * np.asarray(c) if curved else c  # below, losses are xi^2 / 2
    X, t, c, weights = (np.asarray(values, dtype=np.longdouble) for values in (X, t, c, weights))
    outputs = t * (X @ weights)
    size = float((np.abs(X) @ np.abs(weights)).max(initial=0.0)) + 1
    xi = 1 - outputs
    slope = np.clip(xi, low, high)
    square = float(weights @ weights)
    losses = slope * (xi - slope / 2) if curved else np.maximum(xi, 0.0)
    primal = 0.5 * square + float(c @ losses)
    if dual is None and not curved:
        return Found(np.nan, np.nan, primal, EPS * size, np.nan)
    pulls = c * slope * t if dual is None else dual
    a = pulls * t / c
    made = pulls @ X
    # Rounding errors of `made`, times a row; slopes computed here have those of the outputs.
    terms = np.abs(pulls) + (c * size if dual is None and curved else 0.0)
    spread = float(terms @ np.abs(X) @ np.abs(X).max(axis=0))
    # P(w) - D(a) as a sum of terms that are not negative: the slack of each row, and the distance of w from `made`.
    slack = losses - a * xi + (a * a / 2 if curved else 0.0)
    gap = float(c @ np.maximum(slack, 0.0)) + 0.5 * float(((weights - made) ** 2).sum())
    gradient = t * (X @ made) + (a if curved else 0.0) - 1
    inside_low, inside_high = a > low, a < high * (1 - 8 * EPS)
    violation = np.where(inside_low & inside_high, np.abs(gradient), 0.0)
    violation = np.maximum(violation, np.where(inside_low, gradient, 0.0))
    violation = np.maximum(violation, np.where(inside_high, -gradient, 0.0))
    pulled = np.abs(pulls) @ (EPS * np.abs(X) if errors is None else errors)
    moved = c * (EPS * size if errors is None else errors @ np.abs(weights))  # errors of the pulls
    error = float(np.linalg.norm(pulled) + np.linalg.norm(moved @ np.abs(X)) * (dual is None) + EPS * np.sqrt(square))
    error *= ROUNDINGS
    size *= ROUNDINGS * EPS
    gap_rounding = error * (error + np.sqrt(2 * gap)) + size * float(c @ (np.abs(slope - a) + size))
    return Found(float(violation.max(initial=0.0)), gap, primal, size + ROUNDINGS * EPS * spread, gap_rounding)


def kernel_machine(dual, beta, multipliers, eps=EPS):
    """Machine of the block solver: `dual` is its problem by position (:mod:`.kernel_machines`), `beta` its point."""
    by_row = np.bincount(dual.row, beta, minlength=len(dual.K))
    outputs, rounding = _outputs(dual.K, by_row, eps)
    # Coefficients have the rounding errors of the larger ones that they were exchanged with.
    lost = ROUNDINGS * kernel_machines.cancelled(dual, beta) + float(np.abs(beta).max(initial=0.0))
    rounding += EPS * float(np.abs(np.diag(dual.K)).max(initial=0.0)) * lost
    rounding += ROUNDINGS * EPS * float(np.abs(dual.p).max(initial=0.0))
    gap = kernel_machines.duality_gap(dual, beta, multipliers)
    u = dual.p - outputs[dual.row].astype(float) - multipliers[dual.group]
    # Errors of the slopes count as often as a coefficient may still move or has moved.
    width = np.abs(beta).sum() + dual.upper[u > dual.e - rounding].sum() - dual.lower[u < rounding - dual.e].sum()
    primal = kernel_machines.objective(dual, beta) + gap
    gap_rounding = rounding * width + 8 * EPS * (abs(primal) + np.abs(dual.p) @ np.abs(beta))
    violation, beside = (max(kernel_machines.violation(dual, beta, slack), 0.0) for slack in (1e-13, 0.0))
    return Found(violation, gap, primal, rounding + EPS, gap_rounding, beside)


def linear_regression(X, y, c, weights, loss, epsilon, dual):
    """Linear regressor: rows X with the constant column, `weights` with the intercept, `dual` the multipliers."""
    X, y, c, weights, dual = (np.asarray(values, dtype=np.longdouble) for values in (X, y, c, weights, dual))
    squared = loss == "squared_epsilon_insensitive"
    residuals = y - X @ weights
    excess = np.maximum(np.abs(residuals) - epsilon, 0.0)
    made = dual @ X
    losses, curve = (c * excess**2, dual**2 / (4 * c)) if squared else (c * excess, 0.0)
    square = float(weights @ weights)
    # P(w) - D(a) as a sum of terms that are not negative.
    slack = losses + epsilon * np.abs(dual) + curve - dual * residuals
    gap = float(np.maximum(slack, 0.0).sum()) + 0.5 * float(((weights - made) ** 2).sum())
    g = X @ made - y + (dual / (2 * c) if squared else 0.0)
    at = g + epsilon * np.sign(dual)
    worst = np.where(dual == 0, np.maximum(np.abs(g) - epsilon, 0.0), np.abs(at))
    if not squared:
        at_bound = np.abs(dual) >= c * (1 - 8 * EPS)
        worst = np.where(at_bound, np.maximum(np.sign(dual) * at, 0.0), worst)
    size = ROUNDINGS * EPS * (float((np.abs(X) @ np.abs(weights)).max(initial=0.0)) + float(np.abs(y).max()))
    spread = ROUNDINGS * EPS * float(np.abs(dual) @ np.abs(X) @ np.abs(X).max(axis=0))
    error = ROUNDINGS * EPS * (float(np.linalg.norm(np.abs(dual) @ np.abs(X))) + np.sqrt(square))
    pulls = 2 * c * excess if squared else c * (np.abs(residuals) >= epsilon - size)
    gap_rounding = error * (error + np.sqrt(2 * gap)) + size * float(
        np.abs(pulls - np.abs(dual)).sum() + c.sum() * size
    )
    objective = 0.5 * square + float(losses.sum())
    gap_rounding += 8 * float(np.finfo(np.longdouble).eps * (losses.sum() + np.abs(dual) @ np.abs(y)))
    # In the published gap, in double, terms of the size of the objective cancel.
    return Found(float(worst.max(initial=0.0)), gap, objective, size + spread, gap_rounding + EPS * objective)


def sparse_linear(X, t, c, weights, dual):
    """Linear machine with the L1 penalty and the squared hinge; arguments as those of :func:`linear`."""
    X, t, c, weights, dual = (np.asarray(values, dtype=np.longdouble) for values in (X, t, c, weights, dual))
    xi, a, made = 1 - t * (X @ weights), t * dual, dual @ X
    excess = np.maximum(xi, 0.0)
    primal = float(np.abs(weights).sum() + c @ excess**2)
    terms = np.maximum(c * excess**2 + a**2 / (4 * c) - a * xi, 0.0)
    gap = float(terms.sum() + np.maximum(np.abs(weights) - weights * made, 0.0).sum())
    gradient = -2 * X.T @ (c * t * excess)
    at_zero = np.maximum(np.abs(gradient) - 1, 0.0)
    worst = np.where(weights != 0, np.abs(gradient + np.sign(weights)), at_zero).max(initial=0.0)
    size = ROUNDINGS * EPS * (float((np.abs(X) @ np.abs(weights)).max(initial=0.0)) + 1)
    spread = size * float((2 * c @ np.abs(X)).max(initial=0.0)) + ROUNDINGS * EPS
    pulled = ROUNDINGS * EPS * (np.abs(dual) @ np.abs(X))
    gap_rounding = float(np.abs(weights) @ pulled) + size * float(np.abs(2 * c * excess - a).sum() + c.sum() * size)
    return Found(float(worst), gap, primal, spread, gap_rounding + 8 * EPS * primal)
