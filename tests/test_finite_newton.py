"""FiniteNewtonSVC, its path and its search: against LinearSVC, the naive twin, SciPy, a QP and a conic solver.

What sends signals runs in a child process (this file as a script).
"""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight

from hingeline import FiniteNewtonOrdinal, FiniteNewtonSVC, FiniteNewtonSVCCV, finite_newton_path

from .copies import COPIES
from .oracle import naive_finite_newton as naive
from .oracle.naive_finite_newton import LOSSES, augment, naive_fit
from .watching import Recorder

SMOOTH = ["squared_hinge", "huber", "squared"]
#: Every array that makes a model.
ARRAYS = ["coef_", "intercept_", "dual_coef_", "support_", "objective_", "duality_gap_", "kkt_violation_", "n_iter_"]

# The smallest gaps that are worth asking for may be out of reach of doubles; what was reached is checked itself.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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
        if model.stop_reason_[k] == "gap":
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


# ---- the twin itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_twin_against_oracles(loss, C):
    X, y = problem(d=5)
    rows, t, c = augment(X, 2.0), np.where(y == 1, 1.0, -1.0), C * weights(len(y))
    twin = naive_fit(loss, rows, t, c, C)
    for run in twin.values:
        assert (np.diff(run) <= 1e-12 * run[0]).all()
    assert abs(twin.gap) <= 1e-10 * twin.primal
    np.testing.assert_allclose(twin.beta, optimum(loss, rows, t, c), atol=1e-6)
    if loss != "hinge":
        np.testing.assert_allclose(twin.beta, naive_fit(loss, rows, t, c, C, solve=naive.cgls).beta, atol=1e-9)
    pytest.importorskip("clarabel")
    np.testing.assert_allclose(twin.beta, naive.conic_optimum(loss, rows, t, c), atol=1e-6 if loss == "hinge" else 1e-9)


@pytest.mark.parametrize("loss", [*SMOOTH, "hinge"])
def test_twin_line_search(loss):
    """No slope is left at the step, on random rays with ties and rows that do not move."""
    rng = np.random.default_rng(3)
    family = naive.Family.of(loss, tau=0.25)
    for _ in range(30):
        rows = rng.integers(-2, 3, (25, 3)).astype(float)
        t, s = rng.choice([-1.0, 1.0], 25), rng.integers(0, 3, 25) * 1.0
        beta, D = rng.standard_normal(3), rng.standard_normal(3)
        slope = lambda at: (  # noqa: E731
            0.7 * at @ D - s * np.clip(family.m1 - t * (rows @ at), family.low, family.omega) * t @ (rows @ D)  # noqa: B023
        )
        D *= -np.sign(slope(beta))
        step = naive.line_search(family, t, s, 0.7, beta, rows @ beta, D, rows @ D)
        assert step > 0
        assert abs(slope(beta + step * D)) <= 1e-12 * abs(slope(beta))


def test_twin_gradient():
    rng = np.random.default_rng(5)
    X, y = problem()
    rows, t, c = augment(X), np.where(y == 1, 1.0, -1.0), weights(len(y))
    for loss in SMOOTH:
        beta = rng.standard_normal(5)
        expected = finite_differences(lambda b: naive.primal(loss, rows, t, c, b), beta)  # noqa: B023
        np.testing.assert_allclose(naive.gradient(loss, rows, t, c, beta), expected, rtol=1e-7, atol=1e-6)


def finite_differences(f, beta, h=1e-5):
    return np.array([(f(beta + h * e) - f(beta - h * e)) / (2 * h) for e in np.eye(len(beta))])


# ---- coefficients ------------------------------------------------------------------------------------------------


def real_sets():
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast_cancer", scale(X), y
    X, y = load_iris(return_X_y=True)
    yield "iris", X, y
    X, y = load_wine(return_X_y=True)
    yield "wine", scale(X), y
    yield "few", *problem(n=30, d=2, seed=1)
    yield "wide", *problem(n=40, d=90, seed=2)


REAL = {name: (X, y) for name, X, y in real_sets()}


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("options", [{}, {"intercept_scaling": 3.0}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("C", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("name", REAL)
def test_squared_hinge_is_that_of_linear_svc(name, C, options, solver):
    # LinearSVC's loss is xi^2, ours xi^2 / 2.
    X, y = REAL[name]
    model = FiniteNewtonSVC(C=C, solver=solver, **tight("squared_hinge"), **options).fit(X, y)
    reference = LinearSVC(C=C / 2, loss="squared_hinge", dual=False, tol=1e-10, max_iter=100_000, **options).fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, reference.intercept_ + 0 * model.intercept_, rtol=0, atol=1e-6)
    assert model.solver_ == solver


@pytest.mark.parametrize("options", [{}, {"intercept_scaling": 2.0}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("name, C", [("few", 1.0), ("few", 0.05), ("wide", 1.0), ("wine", 0.1)])
def test_hinge_is_that_of_linear_svc(name, C, options):
    X, y = REAL[name]
    model = FiniteNewtonSVC(C=C, **tight("hinge"), **options).fit(X, y)
    reference = LinearSVC(C=C, loss="hinge", dual=True, tol=1e-10, max_iter=1_000_000, random_state=0, **options)
    reference.fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, reference.intercept_ + 0 * model.intercept_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("options", [{}, {"intercept_scaling": 0.5}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_twin(loss, C, options, solver):
    X, y = problem(d=6)
    s = weights(len(y))
    model = FiniteNewtonSVC(C=C, solver=solver, **tight(loss), **options).fit(X, y, s)
    ((_, rows, t, c),) = machine_problems(model, X, y, s)
    twin = naive_fit(loss, rows, t, c, C)
    np.testing.assert_allclose(parameters(model), twin.beta, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.objective_, [twin.primal], rtol=1e-9, atol=twin.gap)
    assert_certified(model, X, y, s)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_other_oracles(loss, C):
    X, y = problem(n=90, d=5, seed=7)
    model = FiniteNewtonSVC(C=C, **tight(loss)).fit(X, y)
    ((_, rows, t, c),) = machine_problems(model, X, y)
    np.testing.assert_allclose(parameters(model), optimum(loss, rows, t, c), rtol=0, atol=1e-6)
    pytest.importorskip("clarabel")
    np.testing.assert_allclose(parameters(model), naive.conic_optimum(loss, rows, t, c), rtol=0, atol=1e-6)


def test_losses_differ():
    # Otherwise the tests of one loss would say nothing about another.
    X, y = problem()
    models = [FiniteNewtonSVC(C=1.0, **tight(loss)).fit(X, y) for loss in LOSSES]
    for a, b in combinations(models, 2):
        assert np.abs(a.coef_ - b.coef_).max() > 1e-3


@pytest.mark.parametrize("loss", SMOOTH)
def test_finite_differences_vanish_at_the_solution(loss):
    X, y = problem(d=5, seed=2)
    s = weights(len(y), 2)
    model = FiniteNewtonSVC(C=2.0, intercept_scaling=1.5, **tight(loss)).fit(X, y, s)
    ((_, rows, t, c),) = machine_problems(model, X, y, s)

    def f(beta):
        return naive.primal(loss, rows, t, c, beta)

    steepest = np.abs(finite_differences(f, np.zeros(6))).max()
    assert np.abs(finite_differences(f, parameters(model))).max() <= 1e-7 * steepest


def test_four_points_by_hand():
    # Points 2, 1, -1, -2 on a line, labels of their sign, no intercept: y f = w |x|.  With C = 1 and all of them
    # inside the margin w + sum |x| (w |x| - 1) = 0, w = 6 / 11: but 2 w > 1.  With the inner two alone w = 2 / 3.
    X, y = np.array([[2.0], [1.0], [-1.0], [-2.0]]), [1, 1, 0, 0]
    model = FiniteNewtonSVC(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[2 / 3]], rtol=1e-6)
    assert model.support_.tolist() == [1, 2]
    np.testing.assert_allclose(model.dual_coef_, [[1 / 3, -1 / 3]], rtol=1e-5)
    np.testing.assert_allclose(model.objective_, [2 / 9 + 1 / 9], rtol=1e-6)
    # The squared loss keeps all four; those beyond the margin pull back.
    model = FiniteNewtonSVC(fit_intercept=False, loss="squared").fit(X, y)
    np.testing.assert_allclose(model.coef_, [[6 / 11]], rtol=1e-6)
    np.testing.assert_allclose(model.dual_coef_, [[-1 / 11, 5 / 11, -5 / 11, 1 / 11]], rtol=1e-5)
    # The hinge: w = 1 is where the inner two reach the margin, alpha = 1 / 2 each holds it there.
    model = FiniteNewtonSVC(fit_intercept=False, loss="hinge", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[1.0]], rtol=1e-5)
    np.testing.assert_allclose(model.objective_, [0.5], rtol=1e-8)
    # Huber: a label that is wrong by 1 - 3 w x pulls with 2 C x at most.
    X, y = np.array([[1.0], [1.0], [1.0], [5.0], [-1.0]]), [1, 1, 1, 0, 0]
    model = FiniteNewtonSVC(C=0.1, fit_intercept=False, loss="huber", tol=1e-12).fit(X, y)
    # w + 0.4 (w - 1) + 0.5 (5 w + 1) = 0 has its root at -0.1 / 3.9, where 1 + 5 w < 2: the square.
    np.testing.assert_allclose(model.coef_, [[-0.1 / 3.9]], rtol=1e-9)
    X[3] = 2.0  # w + 0.4 (w - 1) + 0.2 (2 w + 1) = 0: w = 1 / 9, 1 + 2 w < 2
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, [[1 / 9]], rtol=1e-9)
    model.set_params(C=1.0).fit(np.vstack([X, X[:3]]), [*y, 1, 1, 1])
    # Line: w + 7 (w - 1) + 2 * 2 = 0 would be w = 3 / 8, 1 + 2 w < 2.  Square: w + 7 (w - 1) + 2 (2 w + 1) = 0.
    np.testing.assert_allclose(model.coef_, [[5 / 12]], rtol=1e-9)
    model.fit(np.vstack([X] + [X[:3]] * 4), [*y, *[1] * 12])  # w + 16 (w - 1) + 4 = 0: 1 + 2 w > 2
    np.testing.assert_allclose(model.coef_, [[12 / 17]], rtol=1e-9)
    np.testing.assert_allclose(model.dual_coef_[0][3], -2.0, rtol=1e-12)


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("scaling", [None, 1.0, 4.0])
def test_squared_loss_is_ridge(scaling, solver):
    X, y = problem(n=60, d=7, seed=4)
    s, t, C = weights(60, 4) + 0.5, np.where(y == 1, 1.0, -1.0), 3.0
    options = {"fit_intercept": False} if scaling is None else {"intercept_scaling": scaling}
    model = FiniteNewtonSVC(C=C, solver=solver, **tight("squared"), **options).fit(X, y, s)
    rows = augment(X, scaling)
    normal = np.linalg.solve(np.eye(rows.shape[1]) / C + rows.T @ (s[:, None] * rows), rows.T @ (s * t))
    exact = 1e-9 + (np.sqrt(2 * model.duality_gap_[0]) if solver == "cg" else 0.0)
    np.testing.assert_allclose(parameters(model), normal, rtol=0, atol=exact)
    if scaling is None:
        ridge = Ridge(alpha=1 / C, fit_intercept=False).fit(X, t, s)
        np.testing.assert_allclose(model.coef_[0], ridge.coef_, rtol=0, atol=exact)
    assert len(model.support_) == 60
    np.testing.assert_allclose(model.dual_coef_[0], C * s * (t - rows @ normal), rtol=1e-6, atol=1e-9)


# ---- certificates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("loss", LOSSES)
def test_tol_is_a_promise(loss, tol):
    X, y = problem(n=150, d=8, seed=5)
    s = weights(len(y), 5)
    model = FiniteNewtonSVC(C=5.0, loss=loss, tol=tol).fit(X, y, s)
    assert model.stop_reason_.tolist() == ["gap"]
    assert 0 <= model.duality_gap_[0] <= tol * model.objective_[0]
    assert_certified(model, X, y, s)
    ((_, rows, t, c),) = machine_problems(model, X, y, s)
    best = naive_fit(loss, rows, t, c, 5.0)
    assert model.objective_[0] - model.duality_gap_[0] <= best.primal * (1 + 1e-12)
    assert best.primal - best.gap <= model.objective_[0] * (1 + 1e-12)
    distance = np.linalg.norm(parameters(model) - best.beta)
    assert distance <= np.sqrt(2 * model.duality_gap_[0]) + np.sqrt(2 * abs(best.gap)) + 1e-7


def test_a_looser_tol_is_less_work():
    X, y = problem(n=300, d=20, seed=5)
    loose, strict = (FiniteNewtonSVC(loss="hinge", tol=tol).fit(X, y) for tol in (1e-1, 1e-8))
    assert loose.n_iter_[0] < strict.n_iter_[0]
    assert loose.n_passes_ < strict.n_passes_
    assert loose.duality_gap_[0] > strict.duality_gap_[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_dual_coefficients_are_slopes_of_the_loss(loss):
    X, y = problem(n=150, seed=6)
    s, C = weights(150, 6), 2.0
    model = FiniteNewtonSVC(C=C, **tight(loss)).fit(X, y, s)
    t = np.where(y == 1, 1.0, -1.0)
    xi = 1 - t * model.decision_function(X)
    signed = np.zeros(150)
    signed[model.support_] = model.dual_coef_[0]
    assert (np.diff(model.support_) > 0).all()
    assert model.dual_coef_.all(axis=None)
    if loss == "hinge":
        np.testing.assert_array_equal((signed * t)[xi < -1e-4], 0.0)
        np.testing.assert_allclose((signed * t)[xi > 1e-4], (C * s)[xi > 1e-4], rtol=1e-12)
        assert (signed * t >= 0).all() and (signed * t <= C * s * (1 + 1e-12)).all()
    else:
        np.testing.assert_allclose(signed * t, C * s * np.clip(xi, *naive.SLOPES[loss]), rtol=0, atol=1e-6)
    if loss == "huber":
        assert np.isclose(signed * t, 2 * C * s, rtol=1e-12, atol=0)[s > 0].any()
    assert 0 < len(model.support_) <= (s > 0).sum()
    if loss != "squared":
        assert len(model.support_) < (s > 0).sum()
    distance = np.linalg.norm(model.coef_ - model.dual_coef_ @ X[model.support_])
    assert distance <= 1e-6 + (np.sqrt(2 * model.duality_gap_[0]) if loss == "hinge" else 0.0)


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("loss", LOSSES)
def test_history(loss, multi_class, solver):
    X, y = problem(n=200, d=10, n_classes=3, seed=8)
    model = FiniteNewtonSVC(C=10.0, loss=loss, multi_class=multi_class, solver=solver, tol=1e-9).fit(X, y)
    history = model.history_
    assert set(history) == {"machine", "step", "seconds", "objective", "duality_gap", "n_active"}
    assert len({len(column) for column in history.values()}) == 1
    assert set(np.asarray(history["machine"]).tolist()) == {0, 1, 2}
    for k, (_, rows, t, c) in enumerate(machine_problems(model, X, y)):
        one = {name: np.asarray(column)[np.asarray(history["machine"]) == k] for name, column in history.items()}
        # A narrower hinge begins where the last one has ended.
        assert (np.diff(one["step"]) >= (0 if loss == "hinge" else 1)).all()
        assert one["step"][-1] == model.n_iter_[k]
        assert (np.diff(one["seconds"]) >= 0).all()
        if loss != "hinge":
            assert (np.diff(one["objective"]) <= 1e-12 * one["objective"][0]).all(), "F has risen"
        np.testing.assert_allclose(one["objective"][-1], model.objective_[k], rtol=1e-12)
        np.testing.assert_allclose(one["duality_gap"][-1], model.duality_gap_[k], rtol=1e-9, atol=1e-12)
        best = naive_fit(loss, rows, t, c, 10.0)
        assert (one["objective"] >= (best.primal - best.gap) * (1 - 1e-12)).all()
        assert (one["duality_gap"] >= 0).all()
        known = np.isfinite(one["duality_gap"])
        assert (one["objective"] - one["duality_gap"] <= best.primal * (1 + 1e-10))[known].all(), "no certificate"
        assert (one["n_active"] <= len(t)).all() and (one["n_active"] >= 0).all()


def test_shapes():
    X, y = problem(n=100, d=4, n_classes=4)
    for multi_class, n_machines in (("ovr", 4), ("ovo", 6)):
        model = FiniteNewtonSVC(multi_class=multi_class).fit(X, y)
        n_support = len(model.support_)
        shapes = {name: np.shape(getattr(model, name)) for name in [*ARRAYS, "stop_reason_"]}
        assert shapes.pop("coef_") == (n_machines, 4)
        assert shapes.pop("dual_coef_") == (n_machines, n_support)
        assert shapes.pop("support_") == (n_support,)
        assert set(shapes.values()) == {(n_machines,)}
        assert type(model.n_passes_) is float and model.n_passes_ > 0
        assert model.n_features_in_ == 4
        assert model.solver_ in ("gram", "cg")
    model = FiniteNewtonSVC().fit(X, y > 1)
    assert model.coef_.shape == (1, 4) and model.intercept_.shape == (1,)
    assert FiniteNewtonSVC(fit_intercept=False).fit(X, y).intercept_.tolist() == [0.0] * 4


# ---- one problem, many guises ----------------------------------------------------------------------------------


def wide_indices(X):
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X):
    X = sp.csr_matrix(X)
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[begin:end] = X.indices[begin:end][::-1].copy()
        X.data[begin:end] = X.data[begin:end][::-1].copy()
    X.has_sorted_indices = False
    return X


def halves(X):
    """Every entry as two halves, which add up exactly."""
    X = sp.csr_matrix(X)
    return sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)


FORMS = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "int64 indices": wide_indices,
    "unsorted": unsorted,
    "duplicates": halves,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "fortran": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "float32": lambda X: X.astype(np.float32),
    "float32 csr": lambda X: sp.csr_matrix(X, dtype=np.float32),
    "list": lambda X: X.tolist(),
}


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_any_container(loss, form, solver):
    """Numbers that float32 holds exactly: the problem is the very same."""
    X, y = problem(n=100, d=9, n_classes=3, seed=9)
    X = (X * (np.random.default_rng(0).random(X.shape) < 0.4)).astype(np.float32).astype(float)
    X[17] = 0.0  # an empty row
    before = X.copy()
    options = {"C": 2.0, "solver": solver, **tight(loss)}
    dense = FiniteNewtonSVC(**options).fit(X, y)
    given = FORMS[form](X)
    other = FiniteNewtonSVC(**options).fit(given, y)
    assert_close(dense, other, atol=1e-6 if loss == "hinge" else 1e-8)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_allclose(other.decision_function(given), dense.decision_function(X), rtol=0, atol=1e-5)
    np.testing.assert_allclose(dense.decision_function(given), dense.decision_function(X), rtol=0, atol=1e-5)
    if "float32" not in form:
        np.testing.assert_allclose(dense.decision_function(given), dense.decision_function(X), rtol=0, atol=1e-12)


def test_read_only_input_is_left_alone():
    X, y = problem()
    s = weights(len(y))
    for array in (X, y, s):
        array.setflags(write=False)
    assert_same(FiniteNewtonSVC().fit(X, y, s), FiniteNewtonSVC().fit(X.copy(), y.copy(), s.copy()))


@pytest.mark.parametrize("loss", LOSSES)
def test_duplicates_are_weights(loss):
    X, y = problem(n=80, seed=10)
    times = np.random.default_rng(0).integers(0, 4, 80)
    repeated = np.repeat(np.arange(80), times)
    weighted = FiniteNewtonSVC(C=1.5, **tight(loss)).fit(X, y, times)
    assert_close(weighted, FiniteNewtonSVC(C=1.5, **tight(loss)).fit(X[repeated], y[repeated]), atol=1e-7)
    removed = FiniteNewtonSVC(C=1.5, **tight(loss)).fit(X[times > 0], y[times > 0], times[times > 0])
    assert_close(weighted, removed, atol=1e-7)
    assert (times[weighted.support_] > 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_copies_are_a_larger_C(loss):
    # k copies with lambda are one copy with lambda / k; and a common weight is the same.
    X, y = problem(n=70, seed=11)
    three = FiniteNewtonSVC(C=0.7, **tight(loss)).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert_close(three, FiniteNewtonSVC(C=2.1, **tight(loss)).fit(X, y), atol=1e-7)
    assert_close(three, FiniteNewtonSVC(C=0.7, **tight(loss)).fit(X, y, np.full(70, 3.0)), atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_zero_rows_and_columns(loss):
    X, y = problem(n=60, d=3, seed=12)
    options = {"C": 3.0, "fit_intercept": False, **tight(loss)}
    model = FiniteNewtonSVC(**options).fit(X, y)
    empty = np.vstack([np.zeros((5, 3)), X]), np.concatenate([[0, 1, 0, 1, 1], y])
    # Without an intercept a row of zeros says nothing, with one it speaks for the intercept.
    padded = FiniteNewtonSVC(**options).fit(*empty)
    assert_close(model, padded, atol=1e-7)
    assert_certified(padded, *empty)
    np.testing.assert_allclose(padded.objective_ - model.objective_, 3.0 * 5 * (1 if loss == "hinge" else 0.5), 1e-7)
    model = FiniteNewtonSVC(C=3.0, **tight(loss)).fit(*empty)
    ((_, rows, t, c),) = machine_problems(model, *empty)
    np.testing.assert_allclose(parameters(model), naive_fit(loss, rows, t, c, 3.0).beta, rtol=0, atol=1e-6)
    # A column of zeros gets no coefficient and changes no other.
    wider = np.insert(X, 1, 0.0, axis=1)
    for container in (np.asarray, sp.csr_matrix):
        other = FiniteNewtonSVC(**options).fit(container(wider), y)
        assert abs(other.coef_[0, 1]) <= 1e-14
        np.testing.assert_allclose(np.delete(other.coef_, 1, axis=1), FiniteNewtonSVC(**options).fit(X, y).coef_, 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_but_zeros(loss):
    X, y = np.zeros((12, 3)), np.arange(12) % 3 == 0
    model = FiniteNewtonSVC(C=1.0, **tight(loss)).fit(X, y)
    assert not model.coef_.any()
    assert_certified(model, X, y)
    ((_, rows, t, c),) = machine_problems(model, X, y)
    np.testing.assert_allclose(parameters(model), naive_fit(loss, rows, t, c).beta, rtol=0, atol=1e-6)
    model = FiniteNewtonSVC(fit_intercept=False, loss=loss).fit(sp.csr_matrix(X), y)
    assert not model.coef_.any() and model.intercept_.tolist() == [0.0]


@pytest.mark.parametrize("loss", LOSSES)
def test_swapped_labels_are_swapped_signs(loss):
    X, y = problem(seed=13)
    one, other = (FiniteNewtonSVC(C=2.0, **tight(loss)).fit(X, labels) for labels in (y, 1 - y))
    np.testing.assert_allclose(one.coef_, -other.coef_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(one.intercept_, -other.intercept_, rtol=0, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_intercept_scaling_is_a_column(loss):
    X, y = problem(d=3, seed=14)
    for scaling in (0.1, 1.0, 10.0):
        model = FiniteNewtonSVC(C=2.0, intercept_scaling=scaling, **tight(loss)).fit(X, y)
        column = FiniteNewtonSVC(C=2.0, fit_intercept=False, **tight(loss)).fit(augment(X, scaling), y)
        np.testing.assert_allclose(model.coef_, column.coef_[:, :-1], rtol=0, atol=1e-6)
        np.testing.assert_allclose(model.intercept_, column.coef_[:, -1] * scaling, rtol=0, atol=1e-6)
        np.testing.assert_allclose(model.objective_, column.objective_, rtol=1e-8)
        assert_certified(model, X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_rotations_and_permutations(loss):
    X, y = problem(n=90, d=5, seed=15)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    order = np.random.default_rng(1).permutation(90)
    model = FiniteNewtonSVC(C=2.0, **tight(loss)).fit(X, y)
    turned = FiniteNewtonSVC(C=2.0, **tight(loss)).fit(X @ Q, y)
    shuffled = FiniteNewtonSVC(C=2.0, **tight(loss)).fit(X[order], y[order])
    np.testing.assert_allclose(turned.coef_, model.coef_ @ Q, rtol=0, atol=1e-6)
    assert_close(shuffled, model, atol=1e-6)
    np.testing.assert_array_equal(np.sort(order[shuffled.support_]), model.support_)


@pytest.mark.parametrize("solver", ["auto", "cg"])
@pytest.mark.parametrize("loss", LOSSES)
def test_many_features(loss, solver):
    """200 rows of 5000 columns; the twin gets them turned into the 200 directions that they span."""
    rng = np.random.default_rng(0)
    X = sp.random(200, 5000, density=0.01, random_state=0, format="csr", data_rvs=rng.standard_normal)
    y = rng.integers(0, 2, 200)
    model = FiniteNewtonSVC(C=0.5, solver=solver, **tight(loss)).fit(X, y)
    assert_certified(model, X, y)
    rows, t, c = augment(X), np.where(y == 1, 1.0, -1.0), np.full(200, 0.5)
    if loss == "hinge":  # where all is certified anyway
        best = naive.hinge_optimum(rows, t, c)
    else:
        U, sigma, Vt = np.linalg.svd(rows, full_matrices=False)
        best = Vt.T @ naive_fit(loss, U * sigma, t, c, 0.5).beta
        assert_close(model, FiniteNewtonSVC(C=0.5, **tight(loss)).fit(X.toarray(), y), atol=1e-7)
    np.testing.assert_allclose(parameters(model), best, rtol=0, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_gram_is_cg(loss):
    X, y = problem(n=400, d=15, n_classes=3, seed=16)
    X *= np.geomspace(0.1, 10, 15)  # columns of their own size
    gram, cg = (FiniteNewtonSVC(C=3.0, solver=solver, **tight(loss)).fit(X, y) for solver in ("gram", "cg"))
    assert (gram.solver_, cg.solver_) == ("gram", "cg")
    np.testing.assert_allclose(gram.coef_, cg.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(gram.intercept_, cg.intercept_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_threads_change_no_bit(loss, solver, container):
    # Enough rows for three threads to get a share each.
    X, y = problem(n=7001, d=12, n_classes=3, seed=17)
    X, tol = container(X), 1e-4
    one, two, three, most = (
        FiniteNewtonSVC(loss=loss, solver=solver, tol=tol, n_jobs=k).fit(X, y) for k in (1, 2, 3, -1)
    )
    for other in (two, three, most):
        assert_same(one, other)
        assert one.n_passes_ == other.n_passes_
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_twice_is_the_same(solver):
    X, y = problem(n=500, n_classes=3)
    model = FiniteNewtonSVC(solver=solver).fit(X, y)
    first = clone(model).fit(X, y)
    assert_same(model, first)
    assert_same(model.fit(X, y), first)


# ---- classes and weights -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [{0: 0.5, 1: 4.0}, {1: 3.0}, "balanced"], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_are_sample_weights(loss, class_weight):
    X, y = problem(n=100, seed=18)
    s = weights(100) + 0.25
    model = FiniteNewtonSVC(C=0.3, class_weight=class_weight, **tight(loss)).fit(X, y, s)
    factor = (
        compute_class_weight("balanced", classes=np.array([0, 1]), y=y)
        if class_weight == "balanced"
        else [class_weight.get(0, 1.0), class_weight[1]]
    )
    assert_close(model, FiniteNewtonSVC(C=0.3, **tight(loss)).fit(X, y, s * np.asarray(factor)[y]), atol=1e-7)
    assert np.abs(model.coef_ - FiniteNewtonSVC(C=0.3, loss=loss).fit(X, y, s).coef_).max() > 1e-3
    assert_certified(model, X, y, s)


@pytest.mark.parametrize("class_weight", [None, {0: 2.0, 2: 0.5}, "balanced"], ids=str)
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("loss", LOSSES)
def test_several_classes_are_several_machines(loss, multi_class, class_weight):
    X, y = problem(n=150, n_classes=4, seed=19)
    s = weights(150) + 0.5
    options = {"C": 1.5, **tight(loss)}
    model = FiniteNewtonSVC(multi_class=multi_class, class_weight=class_weight, **options).fit(X, y, s)
    assert_certified(model, X, y, s)
    for k, (of, _, t, c) in enumerate(machine_problems(model, X, y, s)):
        alone = FiniteNewtonSVC(**options).fit(X[of], t, c / 1.5)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=0, atol=1e-7)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_[0], rtol=0, atol=1e-7)
        np.testing.assert_allclose(model.objective_[k], alone.objective_[0], rtol=1e-8 if loss == "hinge" else 1e-9)


def test_decisions_of_classes():
    X, y = problem(n=150, n_classes=3, seed=20)
    labels = np.array(["low", "mid", "top"])[y]
    model = FiniteNewtonSVC().fit(X, labels)
    values = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), values, rtol=0, atol=1e-12)
    assert model.classes_.tolist() == ["low", "mid", "top"]
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])
    assert model.score(X, labels) == (model.predict(X) == labels).mean() > 0.5
    pairs = FiniteNewtonSVC(multi_class="ovo", decision_function_shape="ovo").fit(X, labels)
    values = X @ pairs.coef_.T + pairs.intercept_
    np.testing.assert_allclose(pairs.decision_function(X), values, rtol=0, atol=1e-12)
    votes = np.zeros((150, 3))
    for k, (i, j) in enumerate(combinations(range(3), 2)):
        votes[np.arange(150), np.where(values[:, k] > 0, i, j)] += 1
    folded = clone(pairs).set_params(decision_function_shape="ovr").fit(X, labels)
    assert_same(folded, pairs)
    assert (np.abs(folded.decision_function(X) - votes) < 1 / 3).all()
    np.testing.assert_array_equal(folded.predict(X), pairs.predict(X))
    np.testing.assert_array_equal(folded.predict(X), folded.classes_[folded.decision_function(X).argmax(axis=1)])
    binary = FiniteNewtonSVC().fit(X, y > 1)
    values = binary.decision_function(X)
    np.testing.assert_allclose(values, X @ binary.coef_[0] + binary.intercept_[0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(binary.predict(X), values > 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_class_without_weight(loss):
    X, y = problem(n=50, seed=21)
    s = np.where(y == 1, 1.0, 0.0)
    model = FiniteNewtonSVC(**tight(loss)).fit(X, y, s)
    assert model.classes_.tolist() == [0, 1]
    assert_certified(model, X, y, s)
    ((_, rows, t, c),) = machine_problems(model, X, y, s)
    np.testing.assert_allclose(parameters(model), naive_fit(loss, rows, t, c).beta, rtol=0, atol=1e-6)


# ---- starts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("loss", LOSSES)
def test_any_start_comes_to_the_same_end(loss, solver):
    X, y = problem(n=150, d=5, n_classes=3, seed=22)
    options = {"C": 4.0, "solver": solver, **tight(loss)}
    cold = FiniteNewtonSVC(**options).fit(X, y)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e3):
        guess, b = size * rng.standard_normal((3, 5)), size * rng.standard_normal(3)
        assert_close(cold, FiniteNewtonSVC(**options).fit(X, y, coef_init=guess), atol=1e-6)
        assert_close(cold, FiniteNewtonSVC(**options).fit(X, y, coef_init=guess, intercept_init=b), atol=1e-6)
    assert_close(cold, FiniteNewtonSVC(**options).fit(X, y, coef_init=np.zeros((3, 5))), atol=1e-6)


def first_objective(model):
    return np.asarray(model.history_["objective"])[0]


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_a_start_that_is_given_is_taken(loss):
    X, y = problem(n=150, d=8, seed=23)
    options = {"C": 4.0, "loss": loss, "tol": 1e-6}
    cold = FiniteNewtonSVC(**options).fit(X, y)
    there = FiniteNewtonSVC(**options).fit(X, y, coef_init=cold.coef_, intercept_init=cold.intercept_)
    assert first_objective(there) <= cold.objective_[0] * (1 + 1e-3) < first_objective(cold)
    assert there.n_iter_[0] < cold.n_iter_[0]


@pytest.mark.parametrize("scaling", [1.0, 3.0])
def test_a_guess_is_scaled_by_equation_9(scaling):
    X, y = problem(n=120, d=6, seed=24)
    s, t, C = weights(120), np.where(y == 1, 1.0, -1.0), 2.0
    guess = np.linalg.lstsq(X[:40], t[:40], rcond=None)[0] + 0.1
    start = naive.first_guess(guess, X, t, s, 1 / C, scaling)
    rows = augment(X, scaling)
    best = naive.primal("squared", rows, t, C * s, start)
    # Equation 9 is the best of all (gamma w, b') for the squared loss.
    for change in (np.append(guess, 0), np.append(0 * guess, 1)):
        for step in (-1e-3, 1e-3):
            assert naive.primal("squared", rows, t, C * s, start + step * change) > best
    model = FiniteNewtonSVC(C=C, loss="squared", intercept_scaling=scaling)
    objectives = [first_objective(model.fit(X, y, s, coef_init=[size * guess])) for size in (1.0, 2.0**12, -(2.0**-9))]
    assert max(objectives) <= best * (1 + 1e-9)
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-9)
    # Scale and sign of the guess say nothing, for any loss: the whole run is the same.
    for loss in ("squared_hinge", "huber"):
        runs = [
            FiniteNewtonSVC(C=C, loss=loss, intercept_scaling=scaling).fit(X, y, s, coef_init=[size * guess])
            for size in (1.0, 2.0**12, -(2.0**-9))
        ]
        for run in runs[1:]:
            np.testing.assert_allclose(run.history_["objective"], runs[0].history_["objective"], rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start(loss):
    X, y = problem(n=200, d=8, n_classes=3, seed=25)
    options = {"loss": loss, "tol": 1e-8}
    model = FiniteNewtonSVC(C=1.0, warm_start=True, **options).fit(X, y)
    cold = model.n_iter_.copy(), first_objective(model)
    assert_same(model, FiniteNewtonSVC(C=1.0, **options).fit(X, y))
    objective = model.objective_[0]
    model.fit(X, y)
    if loss in ("squared_hinge", "huber"):  # the hinge comes from far, the squared loss is there at once
        assert first_objective(model) <= objective * (1 + 1e-3) < cold[1]
        assert (model.n_iter_ < cold[0]).all()
    model.set_params(C=1.5).fit(X, y)
    np.testing.assert_allclose(model.objective_, FiniteNewtonSVC(C=1.5, **options).fit(X, y).objective_, rtol=2e-8)
    # Nothing to start from: other features, other classes.
    for features, labels in ((X[:, :5], y), (X, y + 1), (X, y > 0)):
        model.fit(X, y).fit(features, labels)
        assert_same(model, FiniteNewtonSVC(C=1.5, **options).fit(features, labels))
    # Without it a fit forgets.
    model = FiniteNewtonSVC(**options).fit(X, y)
    once = model.n_iter_.copy()
    assert model.fit(X, y).n_iter_.tolist() == once.tolist()


# ---- path and search ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Cs", [np.geomspace(1e-3, 100, 6), [5.0, 0.01, 1.0], [2.0]], ids=len)
@pytest.mark.parametrize("loss", LOSSES)
def test_path_is_separate_fits(loss, Cs):
    X, y = problem(n=120, d=5, n_classes=3, seed=26)
    s = weights(120) + 0.5
    for options in ({}, {"multi_class": "ovo", "class_weight": "balanced", "intercept_scaling": 2.0, "solver": "cg"}):
        path = finite_newton_path(X, y, Cs=Cs, sample_weight=s, **tight(loss), **options)
        assert path._fields == ("Cs", "coefs", "intercepts", "n_iter", "duality_gap")
        np.testing.assert_array_equal(path.Cs, Cs)
        assert path.coefs.shape == (len(Cs), 3, 5)
        assert path.intercepts.shape == path.n_iter.shape == path.duality_gap.shape == (len(Cs), 3)
        for k, C in enumerate(Cs):
            model = FiniteNewtonSVC(C=C, **tight(loss), **options).fit(X, y, s)
            atol = 1e-5 if loss == "hinge" else 1e-6  # a gap of 1e-10 of an objective of 1e4
            np.testing.assert_allclose(path.coefs[k], model.coef_, rtol=0, atol=atol)
            np.testing.assert_allclose(path.intercepts[k], model.intercept_, rtol=0, atol=atol)
            assert (path.duality_gap[k] >= 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_path_keeps_its_promise(loss):
    X, y = problem(n=150, d=6, seed=27)
    X, Cs, tol = sp.csr_matrix(X), np.geomspace(1e-2, 1e2, 9), 1e-4
    path = finite_newton_path(X, y, Cs=Cs, loss=loss, tol=tol, fit_intercept=False)
    assert not path.intercepts.any()
    rows, t = augment(X, None), np.where(y == 1, 1.0, -1.0)
    for C, coef, gap in zip(Cs, path.coefs[:, 0], path.duality_gap[:, 0], strict=True):
        value, best = naive.primal(loss, rows, t, np.full(150, C), coef), naive_fit(loss, rows, t, np.full(150, C), C)
        assert 0 <= gap <= tol * value * (1 + 1e-9)
        assert value - gap <= best.primal * (1 + 1e-10)
        assert best.primal - best.gap <= value * (1 + 1e-12)


@pytest.mark.parametrize("cv", [None, 3, KFold(4)], ids=str)
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced", "loss": "huber", "multi_class": "ovo"}], ids=str)
def test_search_is_the_manual_loop(options, cv):
    X, y = problem(n=160, d=5, n_classes=3, seed=28, noise=2.0)
    Cs = [1e-4, 1e-2, 1.0, 100.0]
    model = FiniteNewtonSVCCV(Cs=Cs, cv=cv, tol=1e-12, **options).fit(X, y)
    folds = cv if isinstance(cv, KFold) else StratifiedKFold(cv or 5)
    if "class_weight" in options:  # weights of all labels, as in LogisticRegressionCV
        balance = compute_class_weight("balanced", classes=np.arange(3), y=y)
        options = {**options, "class_weight": dict(enumerate(balance.tolist()))}
    scores = np.array(
        [
            [FiniteNewtonSVC(C=C, tol=1e-12, **options).fit(X[train], y[train]).score(X[test], y[test]) for C in Cs]
            for train, test in folds.split(X, y)
        ]
    )
    np.testing.assert_allclose(model.scores_, scores, rtol=1e-12)
    assert np.ptp(scores.mean(axis=0)) > 0
    np.testing.assert_array_equal(model.Cs_, Cs)
    assert model.best_score_ == pytest.approx(scores.mean(axis=0).max())
    assert isinstance(model.C_, float)
    assert scores.mean(axis=0)[Cs.index(model.C_)] == pytest.approx(model.best_score_)
    best = FiniteNewtonSVC(C=model.C_, tol=1e-12, **options).fit(X, y)
    assert_close(model, best, atol=1e-7)
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(model.predict(X), best.predict(X))
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), rtol=0, atol=1e-6)


def test_search_with_another_score():
    X, y = problem(n=120, d=4, seed=29, noise=2.0)
    y = np.where(np.arange(120) % 3 == 0, y, 0)  # few of class 1
    Cs = [1e-3, 0.1, 10.0]
    model = FiniteNewtonSVCCV(Cs=Cs, cv=3, scoring="balanced_accuracy", tol=1e-12).fit(sp.csr_matrix(X), y)
    for f, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for k, C in enumerate(Cs):
            fitted = FiniteNewtonSVC(C=C, tol=1e-12).fit(X[train], y[train])
            assert model.scores_[f, k] == pytest.approx(balanced_accuracy_score(y[test], fitted.predict(X[test])))


def test_search_has_ten_values_of_C():
    X, y = problem(n=60)
    model = FiniteNewtonSVCCV().fit(X, y)
    np.testing.assert_allclose(model.Cs_, np.logspace(-4, 4, 10))
    assert model.scores_.shape == (5, 10)
    np.testing.assert_allclose(FiniteNewtonSVCCV(Cs=3).fit(X, y).Cs_, [1e-4, 1.0, 1e4])


# ---- stops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("loss", ["squared_hinge", "huber", "hinge"])
def test_max_iter_warns(loss, solver):
    X, y = problem(n=200, d=10, seed=30)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = FiniteNewtonSVC(C=10.0, loss=loss, solver=solver, max_iter=1, tol=1e-9).fit(X, y)
    assert model.stop_reason_.tolist() == ["max_iter"]
    assert model.n_iter_.tolist() == [1]
    assert model.duality_gap_[0] > 1e-9 * model.objective_[0]
    assert_certified(model, X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_warning_without_need(loss):
    X, y = problem(n=200, d=10, seed=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FiniteNewtonSVC(C=10.0, loss=loss).fit(X, y)
    assert set(model.stop_reason_) == {"gap"}


# ---- random cases --------------------------------------------------------------------------------------------------


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


@settings(max_examples=100, deadline=None)
@given(
    small_problems(),
    st.sampled_from(LOSSES),
    st.sampled_from([1e-6, 1e-2, 1.0, 1e2, 1e6]),
    st.sampled_from(["gram", "cg"]),
    st.booleans(),
)
def test_small_problems(data, loss, C, solver, intercept):
    X, y, s = data
    model = FiniteNewtonSVC(C=C, loss=loss, solver=solver, fit_intercept=intercept, tol=1e-6).fit(X, y, s)
    assert_certified(model, X, y, s)
    # With a hinge this steep the multipliers, differences of margins times C / tau, run out of digits: a width below
    # 1e-13 is lost in the rounding of margins, and costs C times itself for each row; at C = 1e6 the gap that is left
    # has been seen at 1.2e-4 of the objective.
    most = 1e-6 * model.objective_
    if loss == "hinge":
        most = (1e-4 if C <= 1e2 else 1e-3) * model.objective_ + 1e-13 * C * len(y)
    assert (model.duality_gap_ <= most).all(), model.stop_reason_


@settings(max_examples=60, deadline=None)
@given(
    small_problems(), st.sampled_from(LOSSES), st.sampled_from([1e-3, 0.1, 1.0, 30.0]), st.sampled_from(["gram", "cg"])
)
def test_small_problems_have_the_coefficients_of_the_twin(data, loss, C, solver):
    X, y, s = data
    model = FiniteNewtonSVC(C=C, solver=solver, **tight(loss)).fit(X, y, s)
    ((_, rows, t, c),) = machine_problems(model, X, y, s)
    twin = naive_fit(loss, rows, t, c, C)
    # Both gaps bound the distance; for smooth losses it is far below what they say.
    slack = np.sqrt(2 * model.duality_gap_[0]) + np.sqrt(2 * abs(twin.gap)) if loss == "hinge" else 0.0
    np.testing.assert_allclose(parameters(model), twin.beta, rtol=0, atol=1e-6 + slack)
    # Rows of very different sizes cost a steep hinge digits as well.
    assert model.duality_gap_[0] <= (1e-4 if loss == "hinge" else 1e-6) * model.objective_[0]
    unknown = model.duality_gap_[0] + twin.gap if loss == "hinge" else 0.0
    np.testing.assert_allclose(model.objective_[0], twin.primal, rtol=1e-8, atol=unknown)


@settings(max_examples=40, deadline=None)
@given(small_problems(), st.sampled_from(LOSSES), st.sampled_from(["gram", "cg"]))
def test_small_problems_dense_and_sparse(data, loss, solver):
    X, y, s = data
    dense = FiniteNewtonSVC(solver=solver, **tight(loss)).fit(X, y, s)
    sparse = FiniteNewtonSVC(solver=solver, **tight(loss)).fit(wide_indices(X), y, s)
    unknown = (dense.duality_gap_ + sparse.duality_gap_)[0] if loss == "hinge" else 0.0
    np.testing.assert_allclose(dense.objective_, sparse.objective_, rtol=1e-8, atol=unknown)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-6, atol=1e-6 + np.sqrt(2 * unknown))
    assert unknown <= 1e-6 * dense.objective_[0]


#: Few points, some of them with both labels: rows, labels and C.
TIED = {
    "corners": (
        [[1, 0], [1, 0], [0, 1], [1, 0], [0, 1], [0, 0], [1, 1], [1, 1], [1, 1]],
        [0, 1, 1, 1, 0, 1, 0, 1, 1],
        1,
    ),
    "grid": (
        [
            [3, -1, 1, 1],
            [3, 0, 0, 0],
            [3, 0, 1, 1],
            [3, -1, -1, -1],
            [3, 0, -1, 0],
            [3, -1, 1, 0],
            [3, -1, -1, -1],
            [3, -1, 0, 0],
            [3, -1, 1, 1],
            [3, -1, 1, -1],
        ],
        [0, 1, 0, 1, 1, 1, 0, 0, 1, 0],
        100,
    ),
}


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("case", TIED)
def test_hinge_does_not_give_up_on_ties(case, solver):
    """A narrower hinge may begin with a larger gap than the one before has ended with, by luck; it has to go on."""
    rows, labels, C = TIED[case]
    X, y = np.array(rows, dtype=float), np.array(labels)
    model = FiniteNewtonSVC(C=C, loss="hinge", solver=solver, tol=1e-6).fit(X, y)
    assert model.stop_reason_.tolist() == ["gap"]
    assert_certified(model, X, y)


def test_steps_that_are_nearly_right_do_not_go_to_and_fro():
    """A step to the end of the line where its minimum is a little before or behind never got anywhere here."""
    rows = "-8.02 -13.24 -2.48  4.2 11.36 1.1  -5.53 -7.85 7.49  16.35 2.73 -12.33  -9.58 16. 2.03  -17.32 -.84 -11.63"
    X, y = np.array(rows.split(), dtype=float).reshape(6, 3), [0, 1, 1, 1, 0, 0]
    model = FiniteNewtonSVC(C=1e6, fit_intercept=False, solver="cg", tol=1e-6, max_iter=30).fit(X, y)
    assert model.stop_reason_.tolist() == ["gap"]


def test_single_precision_rows_far_from_the_origin():
    """Products in single precision leave no positive definite Hessian here."""
    X = (10_000 + np.random.default_rng(0).standard_normal((500, 10))).astype(np.float32)
    model = FiniteNewtonSVC(solver="gram").fit(X, X[:, 0] > 10_000)
    assert model.stop_reason_.tolist() == ["gap"]
    assert_certified(model, X.astype(np.float64), X[:, 0] > 10_000)


@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_what_is_said_is_true_where_rounding_has_the_last_word(solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = X[:, 0] + rng.standard_normal(60) > 0
    model = FiniteNewtonSVC(C=100, tol=0, solver=solver).fit(X, y)
    ((_, rows, t, c),) = machine_problems(model, X, y)
    np.testing.assert_allclose(
        model.objective_[0], naive.primal("squared_hinge", rows, t, c, parameters(model)), rtol=1e-12
    )
    assert model.duality_gap_[0] <= 1e-12 * model.objective_[0]


def test_threads_of_blas_leave_no_trace():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 200))
    y = X[:, 0] + 2 * rng.standard_normal(1500) > 0
    one, two = (FiniteNewtonSVC(solver="gram", n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_a_search_without_refit_has_no_certificate_of_an_earlier_one():
    X, y = problem()
    model = FiniteNewtonSVCCV(Cs=3).fit(X, y)
    assert model.duality_gap_.shape == (1,)
    assert not hasattr(model.set_params(refit=False).fit(X, y), "duality_gap_")


def test_a_penalty_may_come_twice_on_a_path():
    X, y = problem()
    path = finite_newton_path(X, y, Cs=[1.0, 1.0, 2.0, 1.0], solver="cg")
    assert np.array_equal(path.coefs[0], path.coefs[1]) and np.array_equal(path.coefs[0], path.coefs[3])


def test_a_watched_fit_goes_to_the_end():
    X, y = problem(n=300, d=6)
    model = FiniteNewtonSVC(loss="hinge", tol=1e-8)
    model.set_callbacks(Recorder())
    model.fit(X, y)
    assert model.stop_reason_.tolist() == ["gap"]
    np.testing.assert_array_equal(model.coef_, FiniteNewtonSVC(loss="hinge", tol=1e-8).fit(X, y).coef_)


def test_what_has_not_begun_claims_nothing():
    X, y = problem(n=90, n_classes=3)
    model = FiniteNewtonSVC(multi_class="ovo")
    model.set_callbacks(Recorder(stop_at=1))
    model.fit(X, y)
    assert "stopped" in model.stop_reason_
    assert np.isinf(model.duality_gap_[model.stop_reason_ == "stopped"]).any()


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_two_or_three_rows(loss, n):
    X, y = np.array([[1.0], [3.0], [2.0]])[:n], ["b", "a", "b"][:n]
    model = FiniteNewtonSVC(C=1e3, **tight(loss)).fit(X, y)
    assert_certified(model, X, np.array(y))
    if n == 2:
        assert model.predict(X).tolist() == y


# ---- objects -------------------------------------------------------------------------------------------------------

OTHER = {
    "C": 2.0,
    "loss": "huber",
    "fit_intercept": False,
    "intercept_scaling": 2.0,
    "tol": 1e-3,
    "max_iter": 77,
    "class_weight": "balanced",
    "multi_class": "ovo",
    "solver": "cg",
    "warm_start": True,
    "decision_function_shape": "ovo",
    "n_jobs": 2,
}
DEFAULTS = {
    "C": 1.0,
    "loss": "squared_hinge",
    "fit_intercept": True,
    "intercept_scaling": 1.0,
    "tol": 1e-4,
    "max_iter": 1000,
    "class_weight": None,
    "multi_class": "ovr",
    "solver": "auto",
    "warm_start": False,
    "decision_function_shape": "ovr",
    "n_jobs": None,
}


def test_parameters_go_round():
    model = FiniteNewtonSVC()
    assert model.get_params() == DEFAULTS
    assert model.set_params(**OTHER).get_params() == OTHER
    model.fit(*problem(n_classes=3))
    assert vars(clone(model)) == OTHER
    search = FiniteNewtonSVCCV()
    expected = {"Cs": 10, "cv": None, "scoring": None, "refit": True}
    assert {name: search.get_params()[name] for name in expected} == expected
    assert set(search.get_params()) >= set(DEFAULTS) - {"C", "warm_start"}
    assert "C" not in search.get_params()


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_copies_are_the_same_to_the_bit(container, copied):
    X, y = problem(n_classes=3)
    X = container(X)
    model = FiniteNewtonSVC().fit(X, y)
    one = COPIES[copied](model)
    assert_same(one, model)
    assert one.get_params() == model.get_params()
    expected = model.decision_function(X)
    model.coef_[:] = 0.0
    np.testing.assert_array_equal(one.decision_function(X), expected)
    assert {name: np.asarray(column).tolist() for name, column in one.history_.items()} == {
        name: np.asarray(column).tolist() for name, column in model.history_.items()
    }


def test_feature_names():
    pd = pytest.importorskip("pandas")
    X, y = problem()
    model = FiniteNewtonSVC().fit(pd.DataFrame(X, columns=[*"abcd"]), y)
    assert model.feature_names_in_.tolist() == [*"abcd"]
    assert_same(model, FiniteNewtonSVC().fit(X, y))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=[*"bacd"]))
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


def test_no_partial_fit():
    assert not hasattr(FiniteNewtonSVC(), "partial_fit")


# ---- bad input ---------------------------------------------------------------------------------------------------

BAD_PARAMETERS = {
    "C": [0, -1.0, np.nan, np.inf, "1", None, True],
    "loss": ["l2", "log", None, 2],
    "fit_intercept": ["yes", None],
    "intercept_scaling": [0, -1.0, np.nan, np.inf, "1"],
    "tol": [-1e-3, np.nan, np.inf, "small", None],
    "max_iter": [-5, 1.5, "1", None, True],
    "class_weight": ["heavy", {0: -1.0}, {0: np.nan}, {0: "x"}],
    "multi_class": ["crammer_singer", None],
    "solver": ["lbfgs", None],
    "warm_start": ["yes", None],
    "decision_function_shape": ["auto", None],
    "n_jobs": [0, 1.5, "2"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, bad in BAD_PARAMETERS.items() for value in bad])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        FiniteNewtonSVC(**{name: value}).fit(*problem())
    if name not in ("warm_start", "decision_function_shape", "C"):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            finite_newton_path(*problem(), Cs=[1.0], **{name: value})


@pytest.mark.parametrize("Cs", [[], [1.0, -1.0], [0.0], [np.nan], [np.inf], "ten", [[1.0, 2.0]], None], ids=str)
def test_bad_Cs(Cs):
    with pytest.raises(ValueError, match=r"\bCs\b"):
        finite_newton_path(*problem(), Cs=Cs)
    with pytest.raises(ValueError, match=r"\bCs\b"):
        FiniteNewtonSVCCV(Cs=Cs).fit(*problem())


@pytest.mark.parametrize("Cs", [0, -3, 2.5, True], ids=str)
def test_bad_number_of_Cs(Cs):
    with pytest.raises(ValueError, match=r"\bCs\b"):
        FiniteNewtonSVCCV(Cs=Cs).fit(*problem())


BAD_DATA = {
    "nan": (lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
    "infinity": (lambda X, y: (np.where(X > 1, np.inf, X), y), "infinity"),
    "sparse nan": (lambda X, y: (sp.csr_matrix(np.where(X > 1, np.nan, X)), y), "NaN"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), "0 feature"),
    "one dimension": (lambda X, y: (X[0], y), "2D array"),
    "no labels": (lambda X, y: (X, None), "requires y"),
    "lengths": (lambda X, y: (X, y[1:]), "inconsistent"),
    "numbers for labels": (lambda X, y: (X, y + 0.25 * X[:, 0]), "continuous"),
    "one class": (lambda X, y: (X, 0 * y + 3), "class"),
    "complex": (lambda X, y: (X * 1j, y), "[Cc]omplex"),
    "negative weight": (lambda X, y: (X, y, np.where(y > y.min(), -1.0, 1.0)), "[Nn]egative|sample_weight"),
    "weight nan": (lambda X, y: (X, y, np.where(y > y.min(), np.nan, 1.0)), "NaN"),
    "weights for others": (lambda X, y: (X, y, np.ones(len(y) - 1)), "sample_weight"),
    "no weight": (lambda X, y: (X, y, 0.0 * y), "weight"),
    "coef_init shape": (lambda X, y: (X, y, None, np.ones((1, X.shape[1] - 1))), "coef_init"),
    "coef_init machines": (lambda X, y: (X, y, None, np.ones((2, X.shape[1]))), "coef_init"),
    "coef_init nan": (lambda X, y: (X, y, None, np.full((1, X.shape[1]), np.nan)), "coef_init"),
    "coef_init words": (lambda X, y: (X, y, None, "zero"), "coef_init|could not convert"),
    "intercept_init shape": (lambda X, y: (X, y, None, np.ones((1, X.shape[1])), np.ones(2)), "intercept_init"),
    "intercept_init nan": (lambda X, y: (X, y, None, np.ones((1, X.shape[1])), [np.nan]), "intercept_init"),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_leaves_the_model_as_it_was(kind):
    change, words = BAD_DATA[kind]
    X, y = problem()
    with pytest.raises(ValueError, match=words):
        FiniteNewtonSVC().fit(*change(X, y))
    model = FiniteNewtonSVC().fit(X, y)
    before = {name: pickle.dumps(value) for name, value in vars(model).items()}
    expected = model.decision_function(X)
    with pytest.raises(ValueError, match=words):  # other features and classes, to leave traces if it could
        model.fit(*change(np.hstack([X, X]), y + 5))
    assert {name: pickle.dumps(value) for name, value in vars(model).items()} == before
    np.testing.assert_array_equal(model.decision_function(X), expected)


def test_bad_parameter_leaves_the_model_as_it_was():
    X, y = problem()
    model = FiniteNewtonSVC().fit(X, y)
    before = {name: pickle.dumps(value) for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(ValueError, match="loss"):
        model.set_params(loss="none").fit(X[:, :2], y + 5)
    assert {name: pickle.dumps(value) for name, value in vars(model).items() if name.endswith("_")} == before


@pytest.mark.parametrize("value", [1e200, -1e300])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_numbers_beyond_doubles(container, value):
    """Squares that overflow: an error, or a model of finite numbers that are true."""
    X, y = problem()
    X[3, 2] = value
    try:
        model = FiniteNewtonSVC().fit(container(X), y)
    except ValueError as e:
        assert re.search("scale|large|range|overflow|beyond", str(e))
    else:
        assert np.isfinite(model.coef_).all() and np.isfinite(model.duality_gap_).all()


@pytest.mark.parametrize("method", ["predict", "decision_function", "score"])
def test_bad_queries(method):
    X, y = problem()
    rest = (y,) if method == "score" else ()
    with pytest.raises(NotFittedError):
        getattr(FiniteNewtonSVC(), method)(X, *rest)
    model = FiniteNewtonSVC().fit(X, y)
    for bad, words in ((X[:, :2], "features"), (X[0], "2D array"), (np.where(X > 1, np.nan, X), "NaN")):
        with pytest.raises(ValueError, match=words):
            getattr(model, method)(bad, *rest)


# ---- Ctrl-C --------------------------------------------------------------------------------------------------------
#
# In a child process: a timer sends a signal into a call that would take long, the child says what came of it.


def slow_problem(n=50_000, d=250, n_classes=10):
    """Noise, with columns of very different size."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X *= np.geomspace(1e-2, 1e2, d)
    return X, rng.integers(0, n_classes, n)


def interrupted(call, after=0.4):
    """Send SIGINT `after` seconds into call(); the name of the exception."""
    timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        call()
    except BaseException as e:
        return type(e).__name__
    timer.cancel()
    return None


def interrupted_fits():
    X, y = slow_problem()
    models = {
        "gram": FiniteNewtonSVC(loss="huber", solver="gram", tol=1e-12, C=100.0),
        "cg": FiniteNewtonSVC(solver="cg", tol=1e-12, C=100.0),
        "hinge": FiniteNewtonSVC(loss="hinge", tol=1e-10, C=100.0, multi_class="ovo"),
        "threads": FiniteNewtonSVC(n_jobs=2, loss="huber", tol=1e-12, C=100.0),
        "again": FiniteNewtonSVC(solver="cg", tol=1e-12, C=100.0).fit(X[:500, :3], y[:500]),
        "ordinal": FiniteNewtonOrdinal(loss="huber", tol=1e-12, C=100.0),
    }
    for name, model in models.items():
        before = {attribute: value for attribute, value in vars(model).items() if attribute in ARRAYS}
        report = {"raised": interrupted(lambda: model.fit(X, y))}  # noqa: B023
        try:
            report["stale"] = [attribute for attribute in before if getattr(model, attribute, 0) is before[attribute]]
            report["usable"] = bool(np.isfinite(model.decision_function(X[:50])).all())
            report["strangers"] = sorted(set(model.predict(X[:50]).tolist()) - set(y.tolist()))
            report["reasons"] = sorted(set(np.ravel(model.stop_reason_).tolist()))
            twin = pickle.loads(pickle.dumps(model))
            report["copied"] = bool((twin.decision_function(X[:50]) == model.decision_function(X[:50])).all())
            report["gap"] = bool((np.ravel(model.duality_gap_) >= 0).all())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                again = clone(model).fit(X[:300, :5], y[:300])
                model.fit(X[:300, :5], y[:300])
            report["goes on"] = bool((model.coef_ == again.coef_).all())
        except Exception as e:
            report["error"] = repr(e)
        print(json.dumps({name: report}), flush=True)


@pytest.fixture(scope="module")
def signals():
    child = subprocess.run(
        [sys.executable, "-m", "tests.test_finite_newton"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    reports = {}
    for line in child.stdout.splitlines():
        reports.update(json.loads(line))
    return reports


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send")
@pytest.mark.parametrize("case", ["gram", "cg", "hinge", "threads", "again", "ordinal"])
def test_interrupt_leaves_a_model(case, signals):
    report = signals[case]
    print(case, report)
    if report["raised"] is None:
        pytest.skip("this machine was done before the signal came")
    assert report["raised"] == "KeyboardInterrupt"
    assert "error" not in report
    assert report["usable"]
    assert report["strangers"] == []
    assert "interrupted" in report["reasons"], "the signal was not heard before the end"
    assert "stopped" not in report["reasons"], "no callback has stopped anything"
    assert report["stale"] == [], "attributes of an earlier fit in this one"
    assert report["copied"]
    assert report["gap"]
    assert report["goes on"]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored for what runs behind
    interrupted_fits()


@pytest.mark.parametrize("scale", [1.0, 1e25, 1e-25])
@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_many_products_in_single_precision_lead_to_the_same_minimum(loss, scale):
    """Dense Hessians are sums of products in single precision, where there are many: sparse ones are not."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((4000, 60)) * scale
    y = (X @ rng.standard_normal(60) + 3 * scale * rng.standard_normal(4000) > 0).astype(int)
    options = {"loss": loss, "C": scale**-2, "fit_intercept": False, "tol": 1e-13}
    dense, sparse = (FiniteNewtonSVC(**options).fit(rows, y) for rows in (X, sp.csr_array(X)))
    assert dense.solver_ == sparse.solver_ == "gram"
    assert (dense.duality_gap_ <= 1e-13 * dense.objective_).all()
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=0, atol=1e-7 * np.abs(sparse.coef_).max())


def test_a_path_that_stops_early_says_so():
    X, y = problem(n=200, seed=3)
    with pytest.warns(ConvergenceWarning, match=r"3 of 3 machines stopped \(max_iter\)"):
        path = finite_newton_path(X, y, Cs=[1.0, 10.0, 100.0], max_iter=1, tol=0.0, loss="huber")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        better = finite_newton_path(X, y, Cs=[1.0, 10.0, 100.0], loss="huber")
    assert (better.duality_gap < path.duality_gap).any()
