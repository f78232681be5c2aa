"""LinearSVC: one problem in many forms, and symmetries of the solution."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from hingeline import LinearSVC

from .finite_newton_cases import (
    assert_certified,
    assert_close,
    assert_same,
    machine_problems,
    parameters,
    problem,
    tight,
    weights,
    wide_indices,
)
from .oracle import naive_finite_newton as naive
from .oracle.naive_finite_newton import LOSSES, augment, naive_fit

# The smallest gaps that are worth asking for may be out of reach of doubles; the result is checked itself.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# ---- one problem, many guises ----------------------------------------------------------------------------------


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
    dense = LinearSVC(**options).fit(X, y)
    given = FORMS[form](X)
    other = LinearSVC(**options).fit(given, y)
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
    assert_same(LinearSVC().fit(X, y, s), LinearSVC().fit(X.copy(), y.copy(), s.copy()))


@pytest.mark.parametrize("loss", LOSSES)
def test_duplicates_are_weights(loss):
    X, y = problem(n=80, seed=10)
    times = np.random.default_rng(0).integers(0, 4, 80)
    repeated = np.repeat(np.arange(80), times)
    weighted = LinearSVC(C=1.5, **tight(loss)).fit(X, y, times)
    assert_close(weighted, LinearSVC(C=1.5, **tight(loss)).fit(X[repeated], y[repeated]), atol=1e-7)
    removed = LinearSVC(C=1.5, **tight(loss)).fit(X[times > 0], y[times > 0], times[times > 0])
    assert_close(weighted, removed, atol=1e-7)
    assert (times[weighted.support_] > 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_copies_are_a_larger_C(loss):
    # k copies with lambda are one copy with lambda / k; and a common weight is the same.
    X, y = problem(n=70, seed=11)
    three = LinearSVC(C=0.7, **tight(loss)).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert_close(three, LinearSVC(C=2.1, **tight(loss)).fit(X, y), atol=1e-7)
    assert_close(three, LinearSVC(C=0.7, **tight(loss)).fit(X, y, np.full(70, 3.0)), atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_zero_rows_and_columns(loss):
    X, y = problem(n=60, d=3, seed=12)
    options = {"C": 3.0, "fit_intercept": False, **tight(loss)}
    model = LinearSVC(**options).fit(X, y)
    empty = np.vstack([np.zeros((5, 3)), X]), np.concatenate([[0, 1, 0, 1, 1], y])
    # Without an intercept a row of zeros says nothing, with one it speaks for the intercept.
    padded = LinearSVC(**options).fit(*empty)
    assert_close(model, padded, atol=1e-7)
    assert_certified(padded, *empty)
    np.testing.assert_allclose(padded.objective_ - model.objective_, 3.0 * 5, 1e-7)
    model = LinearSVC(C=3.0, **tight(loss)).fit(*empty)
    ((_, rows, t, c),) = machine_problems(model, *empty)
    np.testing.assert_allclose(parameters(model), naive_fit(loss, rows, t, c, 3.0).beta, rtol=0, atol=1e-6)
    # A column of zeros gets no coefficient and changes no other.
    wider = np.insert(X, 1, 0.0, axis=1)
    for container in (np.asarray, sp.csr_matrix):
        other = LinearSVC(**options).fit(container(wider), y)
        assert abs(other.coef_[0, 1]) <= 1e-14
        np.testing.assert_allclose(np.delete(other.coef_, 1, axis=1), LinearSVC(**options).fit(X, y).coef_, 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_but_zeros(loss):
    X, y = np.zeros((12, 3)), np.arange(12) % 3 == 0
    model = LinearSVC(C=1.0, **tight(loss)).fit(X, y)
    assert not model.coef_.any()
    assert_certified(model, X, y)
    ((_, rows, t, c),) = machine_problems(model, X, y)
    np.testing.assert_allclose(parameters(model), naive_fit(loss, rows, t, c).beta, rtol=0, atol=1e-6)
    model = LinearSVC(fit_intercept=False, loss=loss).fit(sp.csr_matrix(X), y)
    assert not model.coef_.any() and model.intercept_.tolist() == [0.0]


@pytest.mark.parametrize("loss", LOSSES)
def test_swapped_labels_are_swapped_signs(loss):
    X, y = problem(seed=13)
    one, other = (LinearSVC(C=2.0, **tight(loss)).fit(X, labels) for labels in (y, 1 - y))
    np.testing.assert_allclose(one.coef_, -other.coef_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(one.intercept_, -other.intercept_, rtol=0, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_intercept_scaling_is_a_column(loss):
    X, y = problem(d=3, seed=14)
    for scaling in (0.1, 1.0, 10.0):
        model = LinearSVC(C=2.0, intercept_scaling=scaling, **tight(loss)).fit(X, y)
        column = LinearSVC(C=2.0, fit_intercept=False, **tight(loss)).fit(augment(X, scaling), y)
        np.testing.assert_allclose(model.coef_, column.coef_[:, :-1], rtol=0, atol=1e-6)
        np.testing.assert_allclose(model.intercept_, column.coef_[:, -1] * scaling, rtol=0, atol=1e-6)
        np.testing.assert_allclose(model.objective_, column.objective_, rtol=1e-8)
        assert_certified(model, X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_rotations_and_permutations(loss):
    X, y = problem(n=90, d=5, seed=15)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    order = np.random.default_rng(1).permutation(90)
    model = LinearSVC(C=2.0, **tight(loss)).fit(X, y)
    turned = LinearSVC(C=2.0, **tight(loss)).fit(X @ Q, y)
    shuffled = LinearSVC(C=2.0, **tight(loss)).fit(X[order], y[order])
    np.testing.assert_allclose(turned.coef_, model.coef_ @ Q, rtol=0, atol=1e-6)
    assert_close(shuffled, model, atol=1e-6)
    np.testing.assert_array_equal(np.sort(order[shuffled.support_]), model.support_)


@pytest.mark.parametrize("solver", ["auto", "cg"])
@pytest.mark.parametrize("loss", LOSSES)
def test_many_features(loss, solver):
    """200 rows of 1500 columns; the twin gets them in coordinates of the 200 directions that they span."""
    rng = np.random.default_rng(0)
    X = sp.random(200, 1500, density=0.01, random_state=0, format="csr", data_rvs=rng.standard_normal)
    y = rng.integers(0, 2, 200)
    model = LinearSVC(C=0.5, solver=solver, **tight(loss)).fit(X, y)
    assert_certified(model, X, y)
    rows, t, c = augment(X), np.where(y == 1, 1.0, -1.0), np.full(200, 0.5)
    if loss == "hinge":  # where all is certified anyway
        best = naive.hinge_optimum(rows, t, c)
    else:
        U, sigma, Vt = np.linalg.svd(rows, full_matrices=False)
        best = Vt.T @ naive_fit(loss, U * sigma, t, c, 0.5).beta
        assert_close(model, LinearSVC(C=0.5, **tight(loss)).fit(X.toarray(), y), atol=1e-7)
    np.testing.assert_allclose(parameters(model), best, rtol=0, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_gram_is_cg(loss):
    X, y = problem(n=400, d=15, n_classes=3, seed=16)
    X *= np.geomspace(0.1, 10, 15)  # columns of their own size
    gram, cg = (LinearSVC(C=3.0, solver=solver, **tight(loss)).fit(X, y) for solver in ("gram", "cg"))
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
    one, two, three, most = (LinearSVC(loss=loss, solver=solver, tol=tol, n_jobs=k).fit(X, y) for k in (1, 2, 3, -1))
    for other in (two, three, most):
        assert_same(one, other)
        assert one.n_passes_ == other.n_passes_
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_twice_is_the_same(solver):
    X, y = problem(n=500, n_classes=3)
    model = LinearSVC(solver=solver).fit(X, y)
    first = clone(model).fit(X, y)
    assert_same(model, first)
    assert_same(model.fit(X, y), first)


def test_threads_of_blas_leave_no_trace():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 200))
    y = X[:, 0] + 2 * rng.standard_normal(1500) > 0
    one, two = (LinearSVC(solver="gram", n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
