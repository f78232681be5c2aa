"""The finite Newton method from its specification, on dense rows in NumPy, and independent oracles.

The problem, in units of C: minimise 1/2 |beta|^2 + sum c_i L(xi_i), xi = 1 - t (rows @ beta), with c = C times the
weights.  `rows` are those of X with a constant column (`augment`), or the virtual rows of an ordinal problem
(`ordinal_rows`); the solver does not know which.
"""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from .qp import box_qp, shifted_box

#: Interval in which each loss is xi^2; beyond it the loss is a line.  The hinge is an exception: its slope jumps.
SQUARE = {"squared_hinge": (0.0, np.inf), "huber": (0.0, 2.0), "squared": (-np.inf, np.inf), "hinge": (0.0, 1.0)}
LOSSES = list(SQUARE)
#: Slope of a loss per unit of xi.
CURVATURE = {"squared_hinge": 2.0, "huber": 2.0, "squared": 2.0, "hinge": 1.0}


def augment(X, scaling=1.0):
    """Rows with the constant feature of the intercept; scaling=None: no intercept."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    return X if scaling is None else np.column_stack([X, np.full(len(X), scaling)])


def ordinal_rows(X, codes, n_classes):
    """(x_i, -e_s) and its label for every example i and threshold s; thresholds change fastest."""
    X, s = augment(X, None), np.arange(n_classes - 1)
    rows = np.hstack([np.repeat(X, n_classes - 1, axis=0), np.tile(-np.eye(n_classes - 1), (len(X), 1))])
    return rows, np.where(np.asarray(codes)[:, None] > s, 1.0, -1.0).ravel()


# ---- objective, dual, optimality conditions ----------------------------------------------------------------------


def loss_value(loss, xi):
    if loss == "hinge":
        return np.maximum(xi, 0)
    inner = np.clip(xi, *SQUARE[loss])
    return np.where(xi > inner, 2 * inner * xi - inner**2, inner**2)


def slope(loss, xi):
    """Derivative of a loss; of the hinge, one of a smooth loss between 0 and 1."""
    return CURVATURE[loss] * np.clip(xi, *SQUARE[loss])


def primal(loss, rows, t, c, beta):
    return float(beta @ beta / 2 + np.sum(c * loss_value(loss, 1 - t * (rows @ beta))))


def gradient(loss, rows, t, c, beta):
    """Gradient of `primal`; the hinge has none."""
    return beta - rows.T @ (t * c * slope(loss, 1 - t * (rows @ beta)))


def box(loss, c):
    """Bounds of alpha."""
    c = CURVATURE[loss] * c
    low, high = (np.multiply(c, end, where=c > 0, out=np.zeros(len(c))) for end in SQUARE[loss])
    return low, high


def dual(loss, rows, t, c, alpha):
    """Lower bound of `primal`; minus infinity outside the box."""
    low, high = box(loss, c)
    if (alpha < low).any() or (alpha > high * (1 + 1e-13)).any():
        return -np.inf
    beta = rows.T @ (alpha * t)
    conjugate = 0.0 if loss == "hinge" else np.sum(alpha[c > 0] ** 2 / (4 * c[c > 0]))
    return float(alpha.sum() - beta @ beta / 2 - conjugate)


def kkt_violation(loss, rows, t, c, alpha):
    """Section 3.6: g_i = t_i y_i + alpha_i / (2 c_i) - 1 at the beta of alpha."""
    rows, t, c, alpha = rows[c > 0], t[c > 0], c[c > 0], alpha[c > 0]
    low, high = box(loss, c)
    g = t * (rows @ (rows.T @ (alpha * t))) + (0.0 if loss == "hinge" else alpha / (2 * c)) - 1
    above = np.where(alpha >= high * (1 - 1e-13), np.maximum(0, g), np.abs(g))
    wrong = np.where(alpha <= low, np.maximum(0, -g), above)
    return float(np.max(wrong, initial=0.0))


# ---- the algorithm -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """0 below xi = low, xi^2 / 2 between, a line above omega, where xi = m1 - t y (section 3.2)."""

    m1: float
    omega: float
    low: float = 0.0

    @classmethod
    def of(cls, loss, tau=None):
        return cls(1 + tau, 2 * tau) if loss == "hinge" else cls(1.0, SQUARE[loss][1], SQUARE[loss][0])

    def sets(self, xi):
        """I1 and I2."""
        return (xi > self.low) & (xi < self.omega), xi >= self.omega

    def value(self, rows, t, s, lam, beta):
        xi = self.m1 - t * (rows @ beta)
        one, two = self.sets(xi)
        line = self.omega * xi[two] - self.omega**2 / 2
        return float(lam / 2 * beta @ beta + s[one] @ xi[one] ** 2 / 2 + s[two] @ line)


def line_search(family, t, s, lam, beta, y, D, dy):
    """The step to the minimum along D, by the sorted breakpoints of the slope a + b step (section 3.4)."""
    xi, du, low, omega = family.m1 - t * y, t * dy, family.low, family.omega
    one, two = family.sets(xi)
    none = ~one & ~two
    a = lam * beta @ D - np.sum((s * xi * du)[one]) - (omega * np.sum((s * du)[two]) if two.any() else 0.0)
    b = lam * D @ D + np.sum((s * du**2)[one])
    points = []

    def add(rows, level, sign):
        """Rows that enter (sign 1) or leave (-1) the quadratic part where xi comes to `level`."""
        c = s[rows] * (-xi[rows] * du[rows] + level * du[rows])
        steps = (xi[rows] - level) / du[rows]
        points.extend(zip(np.maximum(steps, 0), sign * c, sign * s[rows] * du[rows] ** 2, strict=True))

    # Stable order at equal steps: a row enters before it leaves.
    if omega < np.inf:
        add(two & (du > 0), omega, 1)
    if low > -np.inf:
        add(none & (du < 0), low, 1)
        add((one | two) & (du > 0), low, -1)
    if omega < np.inf:
        add((none | one) & (du < 0), omega, -1)
    for step, da, db in sorted(points, key=lambda point: point[0]):
        if a + b * step >= 0:
            break
        a, b = a + da, b + db
    return -a / b


def direct(rows, target, lam, seed=None):
    """Minimiser of lam/2 |beta|^2 + 1/2 |rows beta - target|^2 by an SVD, the rest of the target, and True.

    What is left is tiny for a tiny lam and yet makes the dual: it is not computed as a difference where that can be
    avoided.
    """
    U, sigma, Vt = np.linalg.svd(rows, full_matrices=False)
    part = U.T @ target
    left = U @ (lam / (sigma**2 + lam) * part)
    if U.shape[0] > U.shape[1]:
        left += target - U @ part
    return Vt.T @ (sigma / (sigma**2 + lam) * part), left, True


def cgls(rows, target, lam, beta, eps=1e-12, max_iter=5000):
    """The same by conjugate gradients (section 3.3); the last value says whether they converged."""
    z = target - rows @ beta
    r = rows.T @ z - lam * beta
    p, phi = r, r @ r
    if phi <= eps**2 * (z @ z):
        return beta, z, True
    for _ in range(max_iter):
        q = rows @ p
        a = phi / (q @ q + lam * p @ p)
        beta, z = beta + a * p, z - a * q
        r = rows.T @ z - lam * beta
        phi, before = r @ r, phi
        if phi <= eps**2 * (z @ z) or phi == 0:
            return beta, z, True
        p = r + phi / before * p
    return beta, z, False


def newton(rows, t, s, lam, family, beta, solve=direct, max_iter=200, slack=1e-10):
    """Minimise lam/2 |beta|^2 + sum s l(t y); returns beta, its xi and the value after every step (section 3.2)."""
    y, root = rows @ beta, np.sqrt(s)
    values = [family.value(rows, t, s, lam, beta)]
    slack *= min(1.0, family.omega)
    for _ in range(max_iter):
        one, two = family.sets(family.m1 - t * y)
        q = family.omega / lam * (rows[two].T @ (s * t)[two]) if two.any() else np.zeros(len(beta))
        target = family.m1 * t[one] - rows[one] @ q
        solved, left, optimal = solve(rows[one] * root[one, None], root[one] * target, lam, beta - q)
        goal = solved + q
        xi = family.m1 - t * (rows @ goal)
        xi[one] = t[one] * left / root[one]
        kept = (
            (xi[one] >= family.low - slack).all()
            and (xi[one] <= family.omega + slack).all()
            and (xi[two] >= family.omega - slack).all()
            and (xi[~one & ~two] <= family.low + slack).all()
        )
        D, dy = goal - beta, rows @ goal - y
        if (kept and optimal) or not D.any():
            return goal, xi, [*values, family.value(rows, t, s, lam, goal)]
        beta = beta + line_search(family, t, s, lam, beta, y, D, dy) * D
        y = rows @ beta
        values.append(family.value(rows, t, s, lam, beta))
        if values[-1] > values[-2] * (1 + 1e-10) + 1e-12:
            raise ArithmeticError(f"the objective rose from {values[-2]!r} to {values[-1]!r}")
        if values[-1] >= values[-2] * (1 - 1e-16):  # limit of double precision; the gap tells what is left
            return beta, family.m1 - t * y, values
    raise ArithmeticError(f"no solution after {max_iter} Newton steps")


@dataclass
class Result:
    beta: np.ndarray
    alpha: np.ndarray
    primal: float
    gap: float
    values: list = field(default_factory=list)  # of each Newton run


def naive_fit(loss, rows, t, c, C=1.0, solve=direct, tol=1e-10, beta=None):
    """Minimum of `primal`. C is only the unit of the inner problem, lambda = 1 / (2 C), or 1 / C for the hinge.

    More rows at the edge of the hinge than parameters, all of them at once, leave differences of rounding errors for
    the dual of a tiny tau.  Then the best that was reached is returned, with its gap.
    """
    if (c == 0).any():  # rows of weight 0 do not take part
        result = naive_fit(loss, rows[c > 0], t[c > 0], c[c > 0], C, solve, tol, beta)
        result.alpha = np.bincount(np.flatnonzero(c), result.alpha, len(c))
        return result
    unit = CURVATURE[loss] * C
    s, lam = c / C, 1 / unit
    beta = np.zeros(rows.shape[1]) if beta is None else beta
    values, best = [], None
    for tau in 0.5 ** np.arange(46) if loss == "hinge" else [None]:
        scale = 2 * tau if loss == "hinge" else 1.0
        try:
            beta, xi, run = newton(rows, t, s, lam * scale, Family.of(loss, tau), beta, solve)
        except ArithmeticError:
            if loss != "hinge" or tau > 1e-5:
                raise
            break
        values.append([unit / scale * value for value in run])
        alpha = c * slope(loss, xi / scale)
        value = primal(loss, rows, t, c, beta)
        gap = value - dual(loss, rows, t, c, alpha)
        if best is None or gap < best.gap:
            best = Result(beta, alpha, value, gap, values)
        if gap <= tol * value or gap > 100 * best.gap:
            break
    if best.gap > (1e-4 if loss == "hinge" else tol) * best.primal:
        raise ArithmeticError(f"a gap of {best.gap / best.primal:.1e} is left")
    return best


def first_guess(w, X, t, s, lam, scaling=1.0):
    """Section 3.5, eq. (9) of the paper: the best (gamma w, b') of the least-squares problem of all rows."""
    z, e = X @ w, np.full(len(t), scaling)
    p11, p12, p22 = lam * w @ w + s @ z**2, s @ (z * e), lam + s @ e**2
    q1, q2 = s @ (t * z), s @ (t * e)
    d = p11 * p22 - p12**2
    return np.append((p22 * q1 - p12 * q2) / d * w, (p11 * q2 - p12 * q1) / d)


def repeated_guess(w, X, t, s, lam, scaling=1.0, rounds=6):
    """Footnote 4 of the paper: equation 9 for the rows active at the last result; the best squared hinge counts."""
    rows, start, best = augment(X, scaling), first_guess(w, X, t, s, lam, scaling), None
    for _ in range(rounds):
        value = lam / 2 * start @ start + s @ np.maximum(1 - t * (rows @ start), 0) ** 2 / 2
        if best is not None and value >= best[0]:
            break
        best = value, start
        active = t * (rows @ start) < 1
        start = first_guess(w, X[active], t[active], s[active], lam, scaling)
    return best[1]


# ---- Appendix A of the paper, line by line -------------------------------------------------------------------------


def appendix_a(x, t, lam, beta, first=10, rounds=(1e-2, 1e-6), m=1.0, omega=np.inf, itermax=50):
    """The pseudocode, with its names, for one machine without weights; (beta, cgiter) after each iteration.

    x: rows with the constant feature.  With a finite omega the sets and the shift q of section 6, where the loss is
    xi^2 / 2 up to xi = m - t y = omega and a line from there (omega = 2: modified Huber).  first = 5000 and one round
    are a start from another C (ini = 1).
    """
    everyone, rounds = range(len(t)), list(rounds)

    def sets(y):
        one = [i for i in everyone if 0 < m - t[i] * y[i] < omega]
        return one, [i for i in everyone if m - t[i] * y[i] >= omega]

    def f(beta, y):
        one, two = sets(y)
        square = sum((m - t[i] * y[i]) ** 2 / 2 for i in one)
        return lam / 2 * beta @ beta + square + sum(omega * (m - t[i] * y[i]) - omega**2 / 2 for i in two)

    y = x @ beta  # step 1
    F, epsilon, cgitermax = f(beta, y), rounds.pop(0), first
    for _ in range(itermax):
        active, two = sets(y)  # step 3: I and I_2
        q = omega / lam * sum(t[i] * x[i] for i in two) if two else np.zeros(len(beta))
        X, target = x[active], np.array([m * t[i] - x[i] @ q for i in active])
        bar = beta - q
        z = target - X @ bar
        r = X.T @ z - lam * bar
        phi1, p, cgiter, optimality = r @ r, r, 0, False
        phi2 = phi1
        while phi1 > 0:  # step 4
            cgiter += 1
            if not active:  # no rows: in exact arithmetic a step leads to 0, where r = 0
                bar, phi1 = 0 * bar, 0.0
                break
            qj = X @ p
            gamma = phi1 / (qj @ qj + lam * phi2)
            bar, z = bar + gamma * p, z - gamma * qj
            r = -lam * bar + X.T @ z
            phi1, old = r @ r, phi1
            optimality = phi1 <= epsilon**2 * (z @ z)
            if optimality or cgiter >= cgitermax:
                break
            p = r + phi1 / old * p
            phi2 = p @ p
        bar, cgitermax = bar + q, 5000
        ahead = x @ bar  # step 5
        tol, zero = 1e-8 * min(1, omega), set(everyone) - set(active) - set(two)
        xi = m - t * ahead
        within = all(-tol <= xi[i] <= omega + tol for i in active)
        within &= all(xi[i] >= omega - tol for i in two) and all(xi[i] <= tol for i in zero)
        if (optimality or phi1 == 0) and within:
            if not rounds:  # step 8
                yield bar, cgiter
                return
            epsilon = rounds.pop(0)
            yield beta, cgiter
            continue
        delta = breakpoints_by_hand(
            t, m, omega, y, ahead, active, two, lam * beta @ (bar - beta), lam * bar @ (bar - beta)
        )
        beta = beta + delta * (bar - beta)  # step 7
        y = y + delta * (ahead - y)
        F, previous = f(beta, y), F
        assert F <= previous * (1 + 1e-12)
        yield beta, cgiter
    raise ArithmeticError("itermax")


def breakpoints_by_hand(t, m, omega, y, ahead, active, two, ls, rs):
    """Step 6: equations 14 to 18, row by row; every jump is (delta, change of ls, change of rs)."""
    jumps, crossed = [], []
    for i in range(len(t)):
        move = t[i] * (ahead[i] - y[i])
        xi, end = m - t[i] * y[i], m - t[i] * ahead[i]
        square, line = (-xi * move, -end * move), (-omega * move, -omega * move)
        if i in active:
            ls, rs = ls + square[0], rs + square[1]
        elif i in two:
            ls, rs = ls + line[0], rs + line[1]
        if move == 0:
            continue
        # Pieces in the order in which the row comes to them, with the step at which it leaves each.
        to_zero, to_line = xi / move, (xi - omega) / move
        if i in two and move > 0:
            crossed = [(to_line, line, square), (to_zero, square, (0, 0))]
        elif i in active and move > 0:
            crossed = [(to_zero, square, (0, 0))]
        elif i in active and omega < np.inf:
            crossed = [(to_line, square, line)]
        elif i not in active and i not in two and move < 0:
            crossed = [(to_zero, (0, 0), square)] + ([(to_line, square, line)] if omega < np.inf else [])
        else:
            crossed = []
        jumps += [(delta, new[0] - old[0], new[1] - old[1]) for delta, old, new in crossed]
    for delta, left, right in sorted(jumps, key=lambda jump: jump[0]):
        if ls + delta * (rs - ls) >= 0:
            break
        ls, rs = ls + left, rs + right
    return -ls / (rs - ls)


def width_as_printed(x, t, lam, beta, j):
    """Section 6, the L1 loss: the iterates for tau = 2^-j, which begin at the minimum for the width before."""
    tau, start = 2.0**-j, {} if j == 0 else {"first": 5000, "rounds": (1e-6,)}
    return appendix_a(x, t, 2 * tau * lam, beta, m=1 + tau, omega=2 * tau, **start)


# ---- oracles -----------------------------------------------------------------------------------------------------


def smooth_optimum(loss, rows, t, c):
    """By SciPy: L-BFGS, then a trust region with the generalised Hessian."""

    def value(beta):
        return primal(loss, rows, t, c, beta), gradient(loss, rows, t, c, beta)

    def hessian(beta):
        low, high = SQUARE[loss]
        xi = 1 - t * (rows @ beta)
        inside = (xi > low) & (xi < high)
        return np.eye(len(beta)) + rows[inside].T @ (2 * c[inside, None] * rows[inside])

    beta = minimize(value, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    return minimize(value, beta, jac=True, hess=hessian, method="trust-exact", options={"gtol": 1e-11}).x


def hinge_optimum(rows, t, c):
    """By the box QP of the dual: signed coefficients."""
    return rows.T @ box_qp(rows @ rows.T, t, *shifted_box(t, c))


def conic_optimum(loss, rows, t, c, tol=1e-12):
    """By Clarabel, an interior-point solver of conic programs.

    Variables beta, u, v with u + v >= xi: a loss is u^2 or a multiple of v, or, with the smaller of both, Huber's.
    """
    import clarabel

    rows, t, c = rows[c > 0], t[c > 0], c[c > 0]
    n, d = rows.shape
    square, line = loss != "hinge", loss in ("huber", "hinge")
    weights = [np.ones(d)] + [2 * c] * square + [np.zeros(n)] * line
    P = sp.diags(np.concatenate(weights)).tocsc()
    q = np.concatenate([np.zeros(d)] + [np.zeros(n)] * square + [(4.0 if square else 1.0) * c] * line)
    parts = [sp.eye_array(n)] * (square + line)
    A = [sp.hstack([-sp.csc_array(t[:, None] * rows)] + [-part for part in parts])]
    b, cones = [-np.ones(n)], [clarabel.ZeroConeT(n) if loss == "squared" else clarabel.NonnegativeConeT(n)]
    if loss != "squared":
        m = n * len(parts)
        A.append(sp.hstack([sp.csc_array((m, d)), -sp.eye_array(m)]))
        b.append(np.zeros(m))
        cones.append(clarabel.NonnegativeConeT(m))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = settings.reduced_tol_feas = 100 * tol
    problem = sp.csc_matrix(P), q, sp.csc_matrix(sp.vstack(A)), np.concatenate(b), cones
    solution = clarabel.DefaultSolver(*problem, settings).solve()
    if solution.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
        raise ArithmeticError(f"the conic solver says {solution.status}")
    return np.array(solution.x[:d])
