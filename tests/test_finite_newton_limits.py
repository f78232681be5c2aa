"""LinearSVC: limits of iterations and of rounding, random small problems."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from hingeline import LinearSVC

from .finite_newton_cases import (
    assert_certified,
    machine_problems,
    parameters,
    problem,
    small_problems,
    tight,
    wide_indices,
)
from .oracle import naive_finite_newton as naive
from .oracle.naive_finite_newton import LOSSES, naive_fit
from .watching import Recorder

# The smallest gaps that are worth asking for may be out of reach of doubles; the result is checked itself.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# ---- stops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("loss", ["squared_hinge", "huber", "hinge"])
def test_max_iter_warns(loss, solver):
    X, y = problem(n=200, d=10, seed=30)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LinearSVC(C=10.0, loss=loss, solver=solver, max_iter=1, tol=1e-9).fit(X, y)
    assert model.stop_reason_.tolist() == ["max_iter"]
    assert model.n_iter_ == 1
    assert model.duality_gap_[0] > 1e-9 * model.objective_[0]
    assert_certified(model, X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_warning_without_need(loss):
    X, y = problem(n=200, d=10, seed=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearSVC(C=10.0, loss=loss).fit(X, y)
    assert set(model.stop_reason_) == {"gap"}


# ---- random cases --------------------------------------------------------------------------------------------------


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
    model = LinearSVC(C=C, loss=loss, solver=solver, fit_intercept=intercept, tol=1e-6).fit(X, y, s)
    assert_certified(model, X, y, s)
    # With a hinge this steep the multipliers, differences of margins times C / tau, run out of digits: a width below
    # 1e-13 is lost in the rounding of margins, and costs C times itself for each row; at C = 1e6 the gap that is left
    # has been seen at 1.9e-3 of the objective (four rows, solver='cg', stop reason 'precision').
    most = 1e-6 * model.objective_
    if loss == "hinge":
        most = (1e-4 if C <= 1e2 else 4e-3) * model.objective_ + 1e-13 * C * len(y)
    assert (model.duality_gap_ <= most).all(), model.stop_reason_


@settings(max_examples=60, deadline=None)
@given(
    small_problems(), st.sampled_from(LOSSES), st.sampled_from([1e-3, 0.1, 1.0, 30.0]), st.sampled_from(["gram", "cg"])
)
def test_small_problems_have_the_coefficients_of_the_twin(data, loss, C, solver):
    X, y, s = data
    model = LinearSVC(C=C, solver=solver, **tight(loss)).fit(X, y, s)
    ((_, rows, t, c),) = machine_problems(model, X, y, s)
    twin = naive_fit(loss, rows, t, c, C)
    # Both gaps bound the distance; for smooth losses it is far below this bound.
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
    dense = LinearSVC(solver=solver, **tight(loss)).fit(X, y, s)
    sparse = LinearSVC(solver=solver, **tight(loss)).fit(wide_indices(X), y, s)
    unknown = (dense.duality_gap_ + sparse.duality_gap_)[0] if loss == "hinge" else 0.0
    np.testing.assert_allclose(dense.objective_, sparse.objective_, rtol=1e-8, atol=unknown)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-6, atol=1e-6 + np.sqrt(2 * unknown))
    assert unknown <= 2e-4 * dense.objective_[0]  # see test_hinge_on_long_rows


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_hinge_on_long_rows(solver, container):
    """The smallest width of the smoothed hinge is limited by rounding, and the result says so.

    A width tau leaves a gap of about 2 tau times the objective. The multipliers are differences of margins divided by
    2 tau: a rounding error of e = 1e-16 in a margin costs the dual up to |x|^2 (C e / 2 tau)^2 / 2. With rows of length
    100 and an objective of 2e-4 the sum of both is 1e-8 of the objective at best, at tau = 4e-9. Widths decrease by
    factors of up to 64, so that a larger gap may be left.
    """
    X, y = np.array([[-69.34090098, 76.54764685], [-101.41674893, -12.14038653]]), np.array([0, 1])
    model = LinearSVC(solver=solver, **tight("hinge")).fit(container(X), y)
    assert model.stop_reason_.tolist() == ["precision"]
    assert 0 < model.duality_gap_[0] <= 1e-4 * model.objective_[0]
    # All points are on the margin: w is that of the maximal margin, from equations for alpha.
    rows, t = np.column_stack([X, np.ones(2)]), np.array([-1.0, 1.0])
    best = (rows * t[:, None]).T @ np.linalg.solve((rows * t[:, None]) @ (rows * t[:, None]).T, np.ones(2))
    assert model.objective_[0] - model.duality_gap_[0] <= best @ best / 2 <= model.objective_[0]
    assert np.linalg.norm(parameters(model) - best) <= np.sqrt(2 * model.duality_gap_[0])


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
    model = LinearSVC(C=C, loss="hinge", solver=solver, tol=1e-6).fit(X, y)
    assert model.stop_reason_.tolist() == ["gap"]
    assert_certified(model, X, y)


def test_steps_that_are_nearly_right_do_not_go_to_and_fro():
    """A step to the end of the line where its minimum is a little before or behind never got anywhere here."""
    rows = "-8.02 -13.24 -2.48  4.2 11.36 1.1  -5.53 -7.85 7.49  16.35 2.73 -12.33  -9.58 16. 2.03  -17.32 -.84 -11.63"
    X, y = np.array(rows.split(), dtype=float).reshape(6, 3), [0, 1, 1, 1, 0, 0]
    model = LinearSVC(C=1e6, fit_intercept=False, solver="cg", tol=1e-6, max_iter=30).fit(X, y)
    assert model.stop_reason_.tolist() == ["gap"]


def test_single_precision_rows_far_from_the_origin():
    """Products in single precision leave no positive definite Hessian here."""
    X = (10_000 + np.random.default_rng(0).standard_normal((500, 10))).astype(np.float32)
    model = LinearSVC(solver="gram").fit(X, X[:, 0] > 10_000)
    assert model.stop_reason_.tolist() == ["gap"]
    assert_certified(model, X.astype(np.float64), X[:, 0] > 10_000)


@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_what_is_said_is_true_where_rounding_has_the_last_word(solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = X[:, 0] + rng.standard_normal(60) > 0
    model = LinearSVC(C=100, tol=0, solver=solver).fit(X, y)
    ((_, rows, t, c),) = machine_problems(model, X, y)
    np.testing.assert_allclose(
        model.objective_[0], naive.primal("squared_hinge", rows, t, c, parameters(model)), rtol=1e-12
    )
    assert model.duality_gap_[0] <= 1e-12 * model.objective_[0]


def test_a_watched_fit_goes_to_the_end():
    X, y = problem(n=300, d=6)
    model = LinearSVC(loss="hinge", tol=1e-8)
    model.set_callbacks(Recorder())
    model.fit(X, y)
    assert model.stop_reason_.tolist() == ["gap"]
    np.testing.assert_array_equal(model.coef_, LinearSVC(loss="hinge", tol=1e-8).fit(X, y).coef_)


def test_what_has_not_begun_is_at_zero():
    X, y = problem(n=90, n_classes=3)
    model = LinearSVC(multi_class="ovo")
    model.set_callbacks(Recorder(stop_at=1))
    model.fit(X, y)
    assert "stopped" in model.stop_reason_
    assert not model.coef_[-1].any()
    assert model.objective_[-1] == model.C * np.isin(y, model.classes_[1:]).sum()
    assert 0 < model.duality_gap_[-1] < np.inf and model.kkt_violation_[-1] > 0


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_two_or_three_rows(loss, n):
    X, y = np.array([[1.0], [3.0], [2.0]])[:n], ["b", "a", "b"][:n]
    model = LinearSVC(C=1e3, **tight(loss)).fit(X, y)
    assert_certified(model, X, np.array(y))
    if n == 2:
        assert model.predict(X).tolist() == y


@pytest.mark.parametrize("scale", [1.0, 1e25, 1e-25])
@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_many_products_in_single_precision_lead_to_the_same_minimum(loss, scale):
    """Dense Hessians are sums of products in single precision, where there are many: sparse ones are not."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((4000, 60)) * scale
    y = (X @ rng.standard_normal(60) + 3 * scale * rng.standard_normal(4000) > 0).astype(int)
    options = {"loss": loss, "C": scale**-2, "fit_intercept": False, "tol": 1e-13}
    dense, sparse = (LinearSVC(**options).fit(rows, y) for rows in (X, sp.csr_array(X)))
    assert dense.solver_ == sparse.solver_ == "gram"
    assert (dense.duality_gap_ <= 1e-13 * dense.objective_).all()
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=0, atol=1e-7 * np.abs(sparse.coef_).max())


def test_few_rows_of_very_different_columns_take_few_steps():
    # Without rounding errors, conjugate gradients end after as many steps as there are rows. Here the errors are large.
    rng = np.random.RandomState(49)
    n = rng.randint(3, 11)
    X = rng.randn(n, rng.choice([5, 60])) * 10.0 ** rng.uniform(-8, 8, (1, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(solver="cg").fit(X, np.arange(n) < 1)
    assert model.n_passes_ <= 250 * model.n_iter_
