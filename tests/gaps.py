"""Hostile problems, and what every estimator publishes about the distance from its optimum beside the recomputed value.

:func:`disagreements` fits one random problem and compares; the recomputation is :mod:`tests.oracle.published`.
"""

import warnings
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from hingeline import (
    L2SVC,
    LASVC,
    SVC,
    SVR,
    IncrementalOneClassSVM,
    IncrementalSVC,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    NuSVC,
    NuSVR,
    NystroemSVC,
    OneClassSVM,
    OrdinalSVC,
    linear_svc_path,
)
from hingeline.model_selection import KernelSearchCV
from hingeline.online.lasvm import SOLVER_OPTIONS

from .hostile_machines import hostile_targets
from .oracle import kernel_machines, published

#: Allowed difference: relative to the recomputed value, or so much of `tol` (of gaps: of `tol` times an objective
#: below 1).
SHARE, OF_TOL = 0.1, 1e-3


# ---- problems ------------------------------------------------------------------------------------------


@dataclass
class Problem:
    """Rows, labels 0, 1, ... or targets, weights of the rows (None: ones) and the parameters of the estimator."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    form: str
    parameters: dict = field(default_factory=dict)

    @property
    def given(self):
        """X as the estimator gets it."""
        return sp.csr_array(self.X) if self.form == "csr" else self.X

    @property
    def rows(self):
        return self.X.astype(np.float64)

    @property
    def eps(self):
        """Precision of kernel values that are computed in the precision of X."""
        return published.SINGLE if self.form == "single" else published.EPS

    def factors(self, classes):
        """Weight of each row times the weight of its class."""
        factors = np.ones(len(self.y)) if self.weight is None else self.weight.astype(np.float64)
        chosen = self.parameters.get("class_weight")
        if chosen == "balanced":
            counts = np.array([(self.y == k).sum() for k in classes])
            chosen = dict(zip(classes.tolist(), len(self.y) / (len(classes) * counts), strict=True))
        return factors * np.array([(chosen or {}).get(k, 1.0) for k in self.y.tolist()])


def draw(rng, most_rows, n_classes=None, wide=False):
    """Rows with noise, duplicates, contradictions, constant columns, several scales; labels; weights."""
    n = int(np.exp(rng.uniform(np.log(10), np.log(most_rows))))
    d = int(rng.choice([1, 2, 5, 20])) if not wide else int(rng.integers(n, 3 * n + 2))
    X = rng.standard_normal((n, d))
    n_classes = n_classes or int(rng.choice([2, 2, 2, 3, 4]))
    noisy = X[:, 0] + rng.choice([0.1, 1.0, 10.0]) * rng.standard_normal(n)
    y = np.digitize(noisy, np.sort(rng.standard_normal(n_classes - 1)))
    y[rng.random(n) < rng.choice([0.0, 0.1, 0.4])] = rng.integers(n_classes)
    y[:n_classes] = np.arange(n_classes)
    X *= 10.0 ** rng.choice([-3, -1, 0, 0, 0, 1, 3]) if rng.random() < 0.7 else 10.0 ** rng.uniform(-3, 3, d)
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0, 3.0])
    if rng.random() < 0.3:  # equal rows, most of them with other labels
        X = X[rng.integers(0, max(2, n // 4), n)]
    if rng.random() < 0.2:
        X[rng.random((n, d)) < 0.8] = 0.0
    weight = _weights(rng, n) if rng.random() < 0.5 else None
    if weight is not None:
        weight[:n_classes] = np.maximum(weight[:n_classes], 0.5)  # every class keeps a row
    form = str(rng.choice(["double", "single", "csr"]))
    return Problem(X.astype(np.float32 if form == "single" else np.float64), y, weight, form)


def _weights(rng, n):
    some = [[0.0, 0.5, 1.0, 2.0], [1e-6, 1.0, 1e3], [1e-3, 1e-2], [0.0, 1e4, 1.0]][rng.integers(4)]
    return rng.choice(some, n)


def _class_weight(rng, problem):
    if rng.random() < 0.3:
        weights = "balanced" if rng.random() < 0.5 else {k: 10.0 ** rng.uniform(-2, 2) for k in range(4)}
        if isinstance(weights, dict):
            weights = {k: weights[k] for k in np.unique(problem.y).tolist()}
        problem.parameters["class_weight"] = weights


def _penalty(rng):
    return 10.0 ** (rng.uniform(-5, 6) if rng.random() < 0.3 else rng.uniform(-2, 2))


def _kernel(rng, problem, kernels):
    scale = max(float(np.var(problem.rows)) * problem.X.shape[1], 1e-12)
    problem.parameters |= {
        "kernel": str(rng.choice(kernels)),
        "gamma": float(10.0 ** rng.uniform(-1, 1) / scale),
        "degree": int(rng.integers(1, 4)),
        "coef0": float(rng.choice([0.0, 1.0])),
    }


def _gram(problem, rows, others=None):
    names = ("kernel", "gamma", "degree", "coef0")
    chosen = {name: problem.parameters[name] for name in names if name in problem.parameters}
    precomputed = chosen["kernel"] == "precomputed"
    if precomputed:
        chosen["kernel"] = "rbf"
    values = published.kernel_matrix(rows, rows if others is None else others, **chosen)
    return values.astype(problem.X.dtype).astype(np.float64) if precomputed else values  # as the estimator gets them


def _fit(estimator, problem, *more, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if estimator.get_params().get("kernel") == "precomputed":
            X = _gram(problem, problem.rows).astype(problem.X.dtype)
        else:
            X = problem.given
        weight = {} if problem.weight is None else {"sample_weight": problem.weight}
        return estimator.fit(X, problem.y, *more, **weight, **options)


# ---- comparison ----------------------------------------------------------------------------------------


class Comparison:
    """Published values that differ from the recomputed ones, and how many were compared."""

    def __init__(self, model, tol):
        self.model, self.tol = model, tol
        self.wrong, self.compared = [], 0
        #: Comparisons in which rounding errors exceed the difference allowed without them.
        self.blunt = 0

    def violation(self, value, found, name="kkt_violation_"):
        wanted = [found.violation] if found.beside_bounds is None else [found.violation, found.beside_bounds]
        nearest = min(wanted, key=lambda one: abs(one - value))
        self._add(name, value, nearest, OF_TOL * self.tol, found.rounding)

    def gap(self, value, found, name="duality_gap_"):
        self._add(name, value, found.gap, OF_TOL * self.tol * min(1.0, abs(found.objective)), found.gap_rounding)

    def bound(self, value, least, most, slack, name="duality_gap_"):
        """A value that must lie between two."""
        self.compared += 1
        if not (least - SHARE * abs(least) - slack <= value <= most + SHARE * abs(most) + slack):
            self.wrong.append(f"{name} {value:.3g} is not between {least:.3g} and {most:.3g}")

    def history(self, column, k, value, name):
        """The last row of a machine in ``history_`` is what the attribute says."""
        history = self.model.history_
        rows = np.flatnonzero(history["machine"] == k)
        if len(rows):
            last = history[column][rows[-1]]
            self._add(f"history_['{column}'] beside {name}", last, value, OF_TOL * self.tol)

    def _add(self, name, value, found, slack, rounding=0.0):
        self.compared += 1
        allowed = max(SHARE * abs(found), slack)
        self.blunt += int(rounding > allowed)
        if not abs(value - found) <= allowed + rounding:
            self.wrong.append(f"{name} is {value:.3g}, recomputed {found:.3g}, allowed {allowed + rounding:.1g}")


def _dense(values):
    return np.asarray(values.todense() if sp.issparse(values) else values, dtype=np.float64)


def _pairs(model, problem):
    """Machines of pairs in LIBSVM's layout: rows, labels and coefficients of each."""
    codes = np.searchsorted(model.classes_, problem.y)
    coef = np.zeros((len(_dense(model.dual_coef_)), len(problem.y)))
    coef[:, model.support_] = _dense(model.dual_coef_)
    for k, (i, j) in enumerate(combinations(range(len(model.classes_)), 2)):
        rows = np.flatnonzero((codes == i) | (codes == j))
        first = codes[rows] == i
        beta = np.where(first, coef[j - 1][rows], coef[i][rows])
        t = np.where(first, 1.0, -1.0) if len(model.classes_) > 2 else np.where(first, -1.0, 1.0)
        yield k, rows, t, beta


# ---- estimators ----------------------------------------------------------------------------------------


def _batch_parameters(rng, problem, kernels):
    _kernel(rng, problem, kernels)
    _class_weight(rng, problem)
    problem.parameters |= {"C": _penalty(rng), "tol": 10.0 ** rng.uniform(-8, -1)}
    if rng.random() < 0.2:
        problem.parameters["max_iter"] = int(rng.choice([1, 10, 100, 1000]))


KERNELS = ["linear", "poly", "rbf", "rbf", "sigmoid", "precomputed"]


def svc(rng, most_rows):
    problem = draw(rng, most_rows)
    _batch_parameters(rng, problem, KERNELS)
    return compare_svc(_fit(SVC(**problem.parameters), problem), problem)


def compare_svc(model, problem):
    """Violations and gaps of SVC, and the last rows of its history."""
    out = Comparison(model, model.tol)
    factors = model.C * problem.factors(model.classes_)
    for k, rows, t, beta in _pairs(model, problem):
        own = factors[rows] > 0
        K = _gram(problem, problem.rows[rows][own])
        found = published.hinge(K, t[own], factors[rows][own], beta[own], model.intercept_[k])
        out.violation(model.kkt_violation_[k], found)
        out.gap(model.duality_gap_[k], found)
        out.history("kkt_violation", k, model.kkt_violation_[k], "kkt_violation_")
    return out


# ---- other machines of the block solver ----------------------------------------------------------------


def machine(learner, rng, most_rows):
    """NuSVC, SVR, NuSVR or OneClassSVM."""
    problem = draw(rng, most_rows)
    _kernel(rng, problem, KERNELS)
    problem.parameters["tol"] = 10.0 ** rng.uniform(-8, -1)
    if rng.random() < 0.2:
        problem.parameters["max_iter"] = int(rng.choice([1, 10, 100, 1000]))
    if learner in (SVR, NuSVR):
        problem.y = hostile_targets(rng, problem.rows)[1]
        problem.parameters["C"] = _penalty(rng)
    if learner is SVR:
        problem.parameters["epsilon"] = float(rng.choice([0.0, 0.01, 0.1, 1.0]) * max(problem.y.std(), 1e-9))
    else:
        problem.parameters["nu"] = float(rng.choice([rng.uniform(0.01, 1.0), 1.0], p=[0.9, 0.1]))
    if learner is NuSVC:  # up to the largest feasible one
        sums = np.bincount(problem.y, problem.weight)
        problem.parameters["nu"] *= (1 - 1e-9) * 2 * float(sums.min() / (sums.min() + sums.max()))
    return compare_machine(_fit(learner(**problem.parameters), problem), problem)


def compare_machine(model, problem):
    """Violations and gaps of a machine of the block solver, and the last rows of its history."""
    out = Comparison(model, model.tol)
    weights = np.ones(len(problem.rows)) if problem.weight is None else problem.weight.astype(np.float64)
    every = np.arange(len(weights))
    machines = list(_pairs(model, problem)) if isinstance(model, NuSVC) else [(0, every, None, None)]
    for k, rows, t, beta in machines:
        own = rows[weights[rows] > 0]
        K = _gram(problem, problem.rows[own])
        if t is None:
            dual = kernel_machines.dual_problem(model, K, problem.y[own], weights[own])
            coef = np.zeros(len(every))
            coef[model.support_] = _dense(model.dual_coef_)[0]
            beta = kernel_machines.take_parts(dual, coef[own])
            levels = kernel_machines.levels(model, dual)
        else:
            kept = weights[rows] > 0
            dual = kernel_machines.nu_problem(K, t[kept], weights[own], model.nu)
            beta, levels = kernel_machines.undo_margin(dual, beta[kept], model.intercept_[k])
        _compare_dual(out, k, dual, beta, levels)
    return out


def _compare_dual(out, k, dual, beta, levels):
    violation, gap = (np.ravel(getattr(out.model, name))[k] for name in ("kkt_violation_", "duality_gap_"))
    found = published.kernel_machine(dual, beta, levels)
    if not isinstance(out.model, NuSVR) or kernel_machines.cancelled(dual, beta) <= 1e-9 * dual.total.max():
        out.violation(violation, found)  # no row has a positive and a negative part
    # NuSVC: a margin that is too small for `tol` is replaced, and the levels cannot be read from the model. What
    # replaces it has the errors of the objective, of slopes in single precision if training was cut short.
    margin = 0.5 * (levels[1] - levels[0]) if isinstance(out.model, NuSVC) else np.inf
    least = -2 * kernel_machines.objective(dual, beta) / max(np.abs(dual.total).sum(), 1e-300)
    if margin > least * (1 + 1e-4) + found.rounding and abs(margin - 1) > 1e-9:
        out.gap(gap, found)
    else:
        slack = OF_TOL * out.tol * min(1.0, abs(found.objective)) + found.gap_rounding
        out.bound(gap, kernel_machines.least_gap(dual, beta), np.inf, slack)
    out.history("kkt_violation", k, violation, "kkt_violation_")


def l2_svc(rng, most_rows):
    """L2SVC by each of its solvers."""
    problem = draw(rng, most_rows)
    _batch_parameters(rng, problem, ["linear", "poly", "rbf", "rbf", "precomputed"])
    problem.parameters["fit_intercept"] = bool(rng.random() < 0.7)
    solver = str(rng.choice(["auto", "auto", "min_norm", "min_norm_mdm", "nnisda"]))
    problem.parameters["solver"] = solver
    if solver != "nnisda" and rng.random() < 0.3:
        problem.parameters["multi_class"] = "all"
    return compare_l2(_fit(L2SVC(**problem.parameters), problem), problem)


def compare_l2(model, problem):
    """Violations and gaps of the L2-SVM, and the last rows of its history."""
    out = Comparison(model, model.tol)
    factors = model.C * problem.factors(model.classes_)
    sided = model.solver != "nnisda"
    if len(model.classes_) > 2 and model.multi_class == "all":
        codes = np.searchsorted(model.classes_, problem.y)
        v = np.zeros(len(codes))
        v[model.support_] = _dense(model.dual_coef_).max(axis=0)
        same = np.where(np.equal.outer(codes, codes), 1.0, -1 / (len(model.classes_) - 1))
        machines = [(0, np.arange(len(codes)), same, v)]
    else:
        machines = [(k, rows, np.outer(t, t), t * beta) for k, rows, t, beta in _pairs(model, problem)]
    for k, rows, same, v in machines:
        own = factors[rows] > 0
        K = _gram(problem, problem.rows[rows][own])
        given = same[np.ix_(own, own)], factors[rows][own], v[own], model.fit_intercept
        found = published.squared_hinge(K, *given, sided, problem.eps)
        out.violation(model.kkt_violation_[k], found)
        out.gap(model.duality_gap_[k], found)
        out.history("kkt_violation", k, model.kkt_violation_[k], "kkt_violation_")
    return out


def lasvc(rng, most_rows):
    problem = draw(rng, most_rows)
    _kernel(rng, problem, ["linear", "poly", "rbf", "rbf"])
    _class_weight(rng, problem)
    problem.parameters |= {
        "C": _penalty(rng),
        "tol": 10.0 ** rng.uniform(-8, -1),
        "variant": str(rng.choice(["nc", "g", "i", "full", "lasvm"])),
        "multi_class": str(rng.choice(["ovo", "ovr"])),
        "random_state": 0,
    }
    finish = [None, "all", "expansion"][rng.integers(3)]
    options = {"clean_period": [16, 256][rng.integers(2)], "warm_sv": int(rng.choice([0, 10, 100]))}
    problem.parameters["solver_options"] = {**options, "finish": finish or "all"}
    problem.parameters["tol"] = problem.parameters["tol"] if finish else None
    problem.parameters["max_iter"] = int(rng.choice([0, 10, 1000, 100_000]))
    return compare_lasvc(_fit(LASVC(**problem.parameters), problem), problem)


def _is_whole(model):
    """Whether `tol` of LASVM is about all rows."""
    return model.tol is not None and (model.solver_options or {}).get("finish", "all") == "all"


def compare_lasvc(model, problem):
    """Gaps of LASVC: over the expansion, which is that of the support vectors or all rows, or between the two."""
    out = Comparison(model, SOLVER_OPTIONS["tau"] if model.tol is None else model.tol)
    factors = problem.factors(model.classes_)
    if model.multi_class == "ovr" and len(model.classes_) > 2:
        coef = np.zeros((len(model.classes_), len(problem.y)))
        coef[:, model.support_] = _dense(model.dual_coef_)
        every = np.arange(len(problem.y))
        machines = [(k, every, np.where(problem.y == c, 1.0, -1.0), coef[k]) for k, c in enumerate(model.classes_)]
    else:
        machines = list(_pairs(model, problem))
    for k, rows, t, beta in machines:
        value = model.duality_gap_[k]
        whole, only = (_lasvc_gap(model, problem, factors, k, rows, t, beta, some) for some in (True, False))
        if model.variant == "full" or (model.variant == "lasvm" and _is_whole(model)):
            out.gap(value, whole)
        elif model.variant == "lasvm":
            out.bound(value, only.gap, whole.gap, OF_TOL * out.tol * min(1.0, whole.objective) + whole.gap_rounding)
        else:
            out.gap(value, only)
    return out


def _lasvc_gap(model, problem, factors, k, rows, t, beta, whole):
    own = (factors[rows] > 0) & (whole | (beta != 0))
    t, beta, c = t[own], beta[own], model.effective_C_[k] * factors[rows][own]
    low, high = np.where(t > 0, 0.0, -c), np.where(t > 0, c, 0.0)
    if model.variant == "nc":  # an outlier has a coefficient against its label
        low, high = np.where(t * beta < 0, low - t * c, low), np.where(t * beta < 0, high - t * c, high)
    b = model.intercept_[k]
    return published.box(_gram(problem, problem.rows[rows][own]), t, low, high, beta, b, problem.eps)


def incremental(rng, most_rows):
    problem = draw(rng, min(most_rows, 300))
    _kernel(rng, problem, ["linear", "poly", "rbf", "rbf"])
    problem.parameters["C"] = _penalty(rng)
    _class_weight(rng, problem)
    model = _fit(IncrementalSVC(**problem.parameters), problem)
    out = Comparison(model, 1e-5)  # 1e-3 of it are the 1e-8 that the class promises
    factors = model.C * problem.factors(model.classes_)
    lines = _dense(model.dual_coef_)
    coef = np.zeros((len(lines), len(problem.y)))
    coef[:, model.support_] = lines
    own = factors > 0
    K = _gram(problem, problem.rows[own])
    worst = []
    for k, line in enumerate(coef):
        t = np.where(problem.y == model.classes_[1 if len(coef) == 1 else k], 1.0, -1.0)[own]
        low, high = np.where(t > 0, 0.0, -factors[own]), np.where(t > 0, factors[own], 0.0)
        worst.append(published.conditions(K, t, low, high, line[own], model.intercept_[k], 0.0))
    out.violation(model.kkt_violation_, max(worst, key=lambda found: found.violation))
    return out


def one_class(rng, most_rows):
    problem = draw(rng, min(most_rows, 300), n_classes=2)
    problem.weight = None
    _kernel(rng, problem, ["linear", "poly", "rbf", "rbf"])
    problem.parameters |= {"nu": float(rng.uniform(0.05, 1.0)), "shape": str(rng.choice(["plane", "sphere"]))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = IncrementalOneClassSVM(**problem.parameters).fit(problem.given)
    out = Comparison(model, 1e-5)
    n, sphere = len(problem.y), model.shape == "sphere"
    K = _gram(problem, problem.rows)
    share = 1.0 / (model.nu * n)
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0] * (1.0 if sphere else share)
    # Sphere: half of K(x, x) is the target; the threshold follows from the radius.
    target = np.diag(K) / 2 if sphere else np.zeros(n)
    b = float(model.intercept_[0]) / 2 if sphere else float(model.intercept_[0]) * share
    out.violation(model.kkt_violation_, published.conditions(K, target, np.zeros(n), np.full(n, share), beta, b, 1.0))
    return out


# ---- linear machines -----------------------------------------------------------------------------------


def _linear_parameters(rng, problem, solvers=("auto", "gram", "cg", "dual", "paper", "plain")):
    _class_weight(rng, problem)
    problem.parameters |= {
        "C": _penalty(rng),
        "tol": 10.0 ** rng.uniform(-8, -1),
        "loss": str(rng.choice(list(published.SLOPES))),
        "solver": str(rng.choice(solvers)),
    }
    slow = problem.parameters["solver"] in ("paper", "plain")
    if slow or rng.random() < 0.3:
        problem.parameters["max_iter"] = int(rng.choice([0, 1, 3, 30]))


def _with_intercept(rng, problem):
    problem.parameters |= {
        "fit_intercept": bool(rng.random() < 0.7),
        "intercept_scaling": float(rng.choice([1.0, 10.0])),
        "multi_class": str(rng.choice(["ovr", "ovo"])),
    }


def _extended(X, model, weights, intercept):
    """Rows with the constant feature, and weights with its weight."""
    if not model.fit_intercept:
        return X, weights
    constant = np.full((len(X), 1), model.intercept_scaling)
    return np.hstack([X, constant]), np.append(weights, intercept / model.intercept_scaling)


def _linear_machines(model, problem, classes):
    """Rows and labels of the machines, in the order of ``coef_``."""
    codes = np.searchsorted(classes, problem.y)
    every = np.arange(len(codes))
    if len(classes) == 2:
        return [(every, np.where(codes == 1, 1.0, -1.0))]
    if model.multi_class == "ovr":
        return [(every, np.where(codes == k, 1.0, -1.0)) for k in range(len(classes))]
    pairs = combinations(range(len(classes)), 2)
    chosen = [(np.flatnonzero((codes == i) | (codes == j)), i) for i, j in pairs]
    return [(rows, np.where(codes[rows] == i, 1.0, -1.0)) for rows, i in chosen]


def finite_newton(rng, most_rows):
    wide = rng.random() < 0.3
    problem = draw(rng, min(most_rows, 300) if wide else most_rows, wide=wide)
    _linear_parameters(rng, problem)
    _with_intercept(rng, problem)
    if rng.random() < 0.2:
        problem.parameters["kkt_tol"] = 10.0 ** rng.uniform(-4, -1)
    return compare_finite_newton(_fit(LinearSVC(**problem.parameters), problem), problem)


def compare_finite_newton(model, problem):
    """Gaps and violations from the published weights and multipliers, and the last rows of the history."""
    out = Comparison(model, model.tol)
    factors = model.C * problem.factors(model.classes_)
    for k, (rows, t) in enumerate(_linear_machines(model, problem, model.classes_)):
        multipliers = np.zeros(len(problem.y))
        multipliers[model.support_] = model.dual_coef_[k]
        own = factors[rows] > 0
        X, weights = _extended(problem.rows[rows][own], model, model.coef_[k], model.intercept_[k])
        found = published.linear(X, t[own], factors[rows][own], weights, model.loss, multipliers[rows][own])
        out.gap(model.duality_gap_[k], found)
        out.violation(model.kkt_violation_[k], found)
        slack = OF_TOL * model.tol * min(1.0, found.objective) + found.gap_rounding
        history = model.history_
        last = history["duality_gap"][np.flatnonzero(history["machine"] == k)[-1:]]
        for value in last:
            out.bound(value, found.gap, found.gap, slack, "history_['duality_gap']")
    return out


def sparse_linear(rng, most_rows):
    """LinearSVC with the L1 penalty."""
    wide = rng.random() < 0.3
    problem = draw(rng, min(most_rows, 200) if wide else most_rows, wide=wide)
    _linear_parameters(rng, problem, ("auto", "gram", "columns"))
    _with_intercept(rng, problem)
    problem.parameters |= {"penalty": "l1", "loss": "squared_hinge"}
    model = _fit(LinearSVC(**problem.parameters), problem)
    out = Comparison(model, model.tol)
    factors = model.C * problem.factors(model.classes_)
    for k, (rows, t) in enumerate(_linear_machines(model, problem, model.classes_)):
        multipliers = np.zeros(len(problem.y))
        multipliers[model.support_] = model.dual_coef_[k]
        own = factors[rows] > 0
        X, weights = _extended(problem.rows[rows][own], model, model.coef_[k], model.intercept_[k])
        found = published.sparse_linear(X, t[own], factors[rows][own], weights, multipliers[rows][own])
        out.gap(model.duality_gap_[k], found)
        out.violation(model.kkt_violation_[k], found)
    return out


def linear_svr(rng, most_rows):
    wide = rng.random() < 0.3
    problem = draw(rng, min(most_rows, 300) if wide else most_rows, wide=wide)
    _linear_parameters(rng, problem, ("auto", "gram", "cg", "dual"))
    problem.y = hostile_targets(rng, problem.rows)[1]
    _with_intercept(rng, problem)
    for name in ("multi_class", "class_weight"):
        problem.parameters.pop(name, None)
    problem.parameters["loss"] = str(rng.choice(["epsilon_insensitive", "squared_epsilon_insensitive"]))
    problem.parameters["epsilon"] = float(rng.choice([0.0, 0.01, 0.1, 1.0]) * problem.y.std())
    model = _fit(LinearSVR(**problem.parameters), problem)
    out = Comparison(model, model.tol)
    c = model.C * (np.ones(len(problem.y)) if problem.weight is None else problem.weight.astype(np.float64))
    multipliers = np.zeros(len(problem.y))
    multipliers[model.support_] = model.dual_coef_[0]
    own = c > 0
    X, weights = _extended(problem.rows[own], model, model.coef_, model.intercept_)
    given = weights, model.loss, model.epsilon, multipliers[own]
    found = published.linear_regression(X, problem.y[own], c[own], *given)
    out.gap(model.duality_gap_, found)
    out.violation(model.kkt_violation_, found)
    return out


def _weights_alone(out, value, X, t, c, weights, loss, better):
    """Gap of a machine without published multipliers; for the hinge at least what `better` weights gain."""
    found = published.linear(X, t, c, weights, loss)
    if np.isnan(found.gap):
        gain = found.objective - published.linear(X, t, c, better(), loss).objective
        out.bound(value, gain, np.inf, OF_TOL * out.tol * found.objective)
    else:
        out.gap(value, found)


def path(rng, most_rows):
    problem = draw(rng, min(most_rows, 500))
    _linear_parameters(rng, problem, ("auto", "gram", "cg"))
    _with_intercept(rng, problem)
    parameters = dict(problem.parameters)
    C = parameters.pop("C")
    Cs = C * np.array([0.1, 1.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = linear_svc_path(problem.given, problem.y, Cs=Cs, sample_weight=problem.weight, **parameters)
    out = Comparison(found[0], found[0].tol)
    _compare_paths(out, problem, found, Cs)
    return out


def _compare_paths(out, problem, models, Cs):
    classes = np.unique(problem.y)
    factors = problem.factors(classes)
    for k, (rows, t) in enumerate(_linear_machines(models[0], problem, classes)):
        own = factors[rows] > 0
        for C, model in zip(Cs, models, strict=True):
            X, weights = _extended(problem.rows[rows][own], model, model.coef_[k], model.intercept_[k])

            def better(C=C, k=k, model=model):
                parameters = {**problem.parameters, "C": C, "tol": 1e-9, "max_iter": 1000}
                fine = _fit(LinearSVC(**parameters), problem)
                return _extended(problem.rows[:1], model, fine.coef_[k], fine.intercept_[k])[1]

            _weights_alone(out, model.duality_gap_[k], X, t[own], C * factors[rows][own], weights, model.loss, better)


def cross_validated(rng, most_rows):
    problem = draw(rng, min(most_rows, 200), n_classes=2)
    while np.bincount(problem.y).min() < 4:
        problem = draw(rng, min(most_rows, 200), n_classes=2)
    _linear_parameters(rng, problem, ("auto", "gram", "cg"))
    _with_intercept(rng, problem)
    parameters = dict(problem.parameters)
    C = parameters.pop("C")
    model = _fit(LinearSVCCV(Cs=[C, 10 * C], cv=2, **parameters), problem)
    out = Comparison(model, model.tol)
    problem.parameters["C"] = model.C_
    _compare_paths(out, problem, [model], [model.C_])
    return out


def ordinal(rng, most_rows):
    wide = rng.random() < 0.2
    problem = draw(rng, min(most_rows, 100 if wide else 500), wide=wide)
    _linear_parameters(rng, problem, ("auto", "gram", "cg", "paper", "plain"))
    problem.parameters["kkt_tol"] = 10.0 ** rng.uniform(-3, 0)
    model = _fit(OrdinalSVC(**problem.parameters), problem)
    out = Comparison(model, model.tol)
    factors = model.C * problem.factors(model.classes_)
    own = factors > 0
    X, t, c = _virtual_rows(problem.rows[own], problem.y[own], factors[own], len(model.classes_))
    weights = np.append(model.coef_, model.thresholds_)

    def better():
        fine = _fit(OrdinalSVC(**{**problem.parameters, "tol": 1e-9, "max_iter": 1000}), problem)
        return np.append(fine.coef_, fine.thresholds_)

    _weights_alone(out, model.duality_gap_, X, t, c, weights, model.loss, better)
    if model.loss != "hinge":
        out.violation(model.kkt_violation_, published.linear(X, t, c, weights, model.loss))
    return out


def _virtual_rows(X, y, c, n_classes):
    """A row, a label and a weight for each sample and threshold."""
    blocks, labels = [], []
    for r in range(n_classes - 1):
        thresholds = np.zeros((len(X), n_classes - 1))
        thresholds[:, r] = -1.0
        blocks.append(np.hstack([X, thresholds]))
        labels.append(np.where(y > r, 1.0, -1.0))
    return np.vstack(blocks), np.concatenate(labels), np.tile(c, n_classes - 1)


def nystroem(rng, most_rows):
    problem = draw(rng, min(most_rows, 500))
    _kernel(rng, problem, ["poly", "rbf", "rbf"])
    problem.parameters["gamma"] *= 10.0 if problem.parameters["kernel"] == "rbf" else 1.0
    _class_weight(rng, problem)
    problem.parameters |= {
        "C": _penalty(rng),
        "tol": 10.0 ** rng.uniform(-4, -1),  # smaller ones are below the errors of single precision
        "n_components": int(rng.integers(2, 9)),  # more are nearly dependent, and rounding errors are all that is left
        "random_state": 0,
    }
    problem.parameters["loss"] = str(rng.choice(["squared_hinge", "huber", "squared"]))
    model = _fit(NystroemSVC(**problem.parameters), problem)
    return compare_nystroem(model, problem)


def compare_nystroem(model, problem):
    """Gaps of NystroemSVC from the weights of the features of its map."""
    out = Comparison(model, model.tol)
    factors = model.C * problem.factors(model.classes_)
    own = factors > 0
    landmarks = model.map_.components_
    landmarks = landmarks.toarray() if sp.issparse(landmarks) else landmarks
    values, normalization = _gram(problem, problem.rows[own], landmarks), model.map_.normalization_
    Z = np.hstack([values @ normalization, np.ones((len(values), 1))])
    # Kernel values are sums in single precision, and the normalization amplifies their errors.
    single = published.SINGLE * sum(landmarks.shape)
    errors = np.abs(values).max() * single * np.tile(np.abs(normalization).sum(axis=0), (len(values), 1))
    errors = np.hstack([errors, np.zeros((len(values), 1))])
    codes = np.searchsorted(model.classes_, problem.y[own])
    for k in range(len(model.coef_)):
        t = np.where(codes == (1 if len(model.classes_) == 2 else k), 1.0, -1.0)
        weights = np.append(model.coef_[k], model.intercept_[k])
        out.gap(model.duality_gap_[k], published.linear(Z, t, factors[own], weights, model.loss, None, errors))
    return out


def search(rng, most_rows):
    """The best estimator of a search: the shared kernel matrix must publish what a fit does."""
    problem = draw(rng, min(most_rows, 150), n_classes=2)
    while np.bincount(problem.y).min() < 4:
        problem = draw(rng, min(most_rows, 150), n_classes=2)
    problem.weight = None
    estimator = (SVC, L2SVC)[rng.integers(2)]
    _kernel(rng, problem, ["rbf", "poly"])
    problem.parameters |= {"C": _penalty(rng), "tol": 10.0 ** rng.uniform(-6, -1)}
    C = problem.parameters["C"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = KernelSearchCV(estimator(**problem.parameters), {"C": [C, 10 * C]}, cv=2).fit(problem.given, problem.y)
    model = found.best_estimator_
    problem.parameters["C"] = model.C
    return (compare_svc if estimator is SVC else compare_l2)(model, problem)


FAMILIES = {
    "SVC": svc,
    "NuSVC": partial(machine, NuSVC),
    "SVR": partial(machine, SVR),
    "NuSVR": partial(machine, NuSVR),
    "OneClassSVM": partial(machine, OneClassSVM),
    "L2SVC": l2_svc,
    "LASVC": lasvc,
    "IncrementalSVC": incremental,
    "IncrementalOneClassSVM": one_class,
    "LinearSVC": finite_newton,
    "LinearSVC-l1": sparse_linear,
    "LinearSVR": linear_svr,
    "linear_svc_path": path,
    "LinearSVCCV": cross_validated,
    "OrdinalSVC": ordinal,
    "NystroemSVC": nystroem,
    "KernelSearchCV": search,
}


def disagreements(family, rng, most_rows=1500):
    """Fit a random problem of a family; the :class:`Comparison` of what was published."""
    return FAMILIES[family](rng, most_rows)
