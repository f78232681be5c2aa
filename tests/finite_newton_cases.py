"""Problems and checks shared by the tests of the finite Newton estimators."""

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight

from .oracle import naive_finite_newton as naive
from .oracle.naive_finite_newton import augment

SMOOTH = ["squared_hinge", "huber", "squared"]
#: Every array that makes a model.
ARRAYS = ["coef_", "intercept_", "dual_coef_", "support_", "objective_", "duality_gap_", "kkt_violation_", "n_iter_"]


def tight(loss):
    """A gap that leaves no doubt about the sixth digit of a coefficient."""
    return {"loss": loss, "tol": 1e-10 if loss == "hinge" else 1e-14}


def problem(n=120, d=4, n_classes=2, seed=0, noise=1.0):
    """Classes that overlap, of different sizes; a few rows far on the wrong side, for Huber's loss to show."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.3
    score = X[:, 0] - 0.5 * X[:, -1] + noise * rng.standard_normal(n) + 3 * (rng.random(n) < 0.04)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1] ** 0.8), score)
    return X, y


def weights(n, seed=0):
    """Some are zero."""
    return np.random.default_rng(seed).integers(0, 5, n) / 2


def parameters(model, k=0):
    """beta of a machine: coefficients and what is penalised of the intercept."""
    return np.append(model.coef_[k], model.intercept_[k] / model.intercept_scaling if model.fit_intercept else [])


def machine_problems(model, X, y, sample_weight=None):
    """(rows of X, augmented rows, t, c) of each machine, from the definitions."""
    classes, codes = np.unique(y, return_inverse=True)
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if isinstance(model.class_weight, dict):
        s = s * np.array([model.class_weight.get(label, 1.0) for label in classes.tolist()])[codes]
    elif model.class_weight is not None:
        s = s * compute_class_weight("balanced", classes=classes, y=y)[codes]
    rows = augment(X, model.intercept_scaling if model.fit_intercept else None)
    everything = np.arange(len(y))
    if len(classes) == 2:
        yield everything, rows, np.where(codes == 1, 1.0, -1.0), model.C * s
    elif model.multi_class == "ovr":
        for k in range(len(classes)):
            yield everything, rows, np.where(codes == k, 1.0, -1.0), model.C * s
    else:
        for i, j in combinations(range(len(classes)), 2):
            of = np.flatnonzero((codes == i) | (codes == j))
            yield of, rows[of], np.where(codes[of] == i, 1.0, -1.0), model.C * s[of]


def assert_certified(model, X, y, sample_weight=None):
    """Everything that a model says about its optimality is true, and proves what it has to prove."""
    n, machines = len(y), list(machine_problems(model, X, y, sample_weight))
    assert len(model.coef_) == len(machines)
    for k, (of, rows, t, c) in enumerate(machines):
        beta = parameters(model, k)
        signed = np.zeros(n)
        signed[model.support_] = model.dual_coef_[k]
        assert not np.delete(signed, of).any(), "a row that is not of this machine"
        alpha = signed[of] * t
        above, gap = naive.primal(model.loss, rows, t, c, beta), model.duality_gap_[k]
        below = naive.dual(model.loss, rows, t, c, alpha)
        assert below > -np.inf, "coefficients outside of the box"
        np.testing.assert_allclose(model.objective_[k], above, rtol=1e-10)
        rounding = 4e-15 * c.sum()  # of a primal value
        np.testing.assert_allclose(gap, above - below, rtol=1e-6, atol=1e-11 * above + rounding)
        assert gap >= 0
        if model.stop_reason_[k] in ("gap", "kkt") and model.solver_ not in ("paper", "plain"):
            assert gap <= model.tol * model.objective_[k]
        violation = naive.kkt_violation(model.loss, rows, t, c, alpha)
        np.testing.assert_allclose(model.kkt_violation_[k], violation, rtol=1e-5, atol=1e-9 * (1 + np.abs(alpha).max()))
        # P(beta) - D(alpha) >= |beta - beta(alpha)|^2 / 2
        slack = 1e-10 * (1 + np.abs(rows.T @ np.abs(alpha)).max())
        distance = np.linalg.norm(beta - rows.T @ (alpha * t))
        assert distance <= np.sqrt(2 * max(gap, above - below) + 1e-14 * above + rounding) + slack


def optimum(loss, rows, t, c):
    """beta, from somewhere else than Newton's method."""
    return naive.hinge_optimum(rows, t, c) if loss == "hinge" else naive.smooth_optimum(loss, rows, t, c)


def assert_same(a, b, names=ARRAYS):
    """To the bit."""
    for name in names:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def assert_close(a, b, atol=1e-8):
    """The same function."""
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-7, atol=atol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-7, atol=atol)


def wide_indices(X):
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@st.composite
def small_problems(draw):
    """Integers with duplicates, ties and constant columns; few rows; one feature; weights."""
    n, d = draw(st.integers(2, 14)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**31 - 1)))
    kind = draw(st.sampled_from(["integers", "binary", "constant", "normal", "scales"]))
    X = {
        "integers": lambda: rng.integers(-2, 3, (n, d)).astype(float),
        "binary": lambda: rng.integers(0, 2, (n, d)).astype(float),
        "constant": lambda: np.column_stack([np.full(n, 3.0), rng.integers(-1, 2, (n, d - 1))]),
        "normal": lambda: rng.standard_normal((n, d)),
        "scales": lambda: rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d),
    }[kind]()
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    s = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else None
    return X, y, s
