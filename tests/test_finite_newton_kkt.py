"""kkt_tol of the finite Newton estimators: the stopping rule of section 4.7, checked by the naive violation."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from hingeline import LinearSVC, LinearSVCCV, OrdinalSVC, linear_svc_path

from .finite_newton_cases import SMOOTH, assert_certified, machine_problems, problem, weights
from .oracle import naive_finite_newton as naive
from .oracle.naive_finite_newton import LOSSES, augment, ordinal_rows

SOLVERS = ["gram", "cg", "dual", "paper", "plain"]


def violations(model, X, y, sample_weight=None):
    """Of the multipliers that the model publishes, from the definition."""
    found = []
    for k, (of, rows, t, c) in enumerate(machine_problems(model, X, y, sample_weight)):
        signed = np.zeros(len(y))
        signed[model.support_] = model.dual_coef_[k]
        found.append(naive.kkt_violation(model.loss, rows, t, c, signed[of] * t))
    return np.array(found)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_the_violation_is_within_kkt_tol(loss, solver, multi_class):
    X, y = problem(n=150, d=6, n_classes=3, seed=51)
    s = weights(150, 51)
    options = {"C": 20.0, "loss": loss, "solver": solver, "multi_class": multi_class, "tol": 1e-2}
    model = LinearSVC(kkt_tol=1e-5, **options).fit(X, y, s)
    assert set(model.stop_reason_) == {"kkt"}
    assert (model.kkt_violation_ <= 1e-5).all()
    assert (violations(model, X, y, s) <= 1.01e-5).all()
    assert_certified(model, X, y, s)
    if solver != "gram" and (solver, loss) != ("dual", "squared"):  # whose last step is exact
        assert (LinearSVC(**options).fit(X, y, s).kkt_violation_ > 1e-5).any()


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("solver", ["gram", "cg", "paper"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4])
def test_breast_cancer(C, solver, scaled):
    """Features from 1e-3 to 4e3: the gap alone leaves violations up to 100."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X) if scaled else X
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model = LinearSVC(C=C, solver=solver, kkt_tol=1e-3).fit(X, y)
    reached = model.kkt_violation_[0] <= 1e-3
    assert model.stop_reason_[0] == ("kkt" if reached else "precision")
    assert reached or (C == 1e4 and not scaled)  # rounding errors of the gradient times C |x| = 4e7
    if not scaled and solver == "cg":
        assert LinearSVC(C=C, solver=solver).fit(X, y).kkt_violation_[0] > 0.1


@pytest.mark.parametrize("loss", LOSSES)
def test_coordinate_descent_goes_on_to_the_violation(loss):
    rng = np.random.default_rng(56)
    X, y = rng.standard_normal((40, 80)) / 9, np.tile([0, 1], 20)
    options = {"loss": loss, "solver": "dual", "tol": 1e-2}
    model, rough = (LinearSVC(kkt_tol=k, **options).fit(X, y) for k in (1e-5, None))
    assert model.solver_ == "dual" and model.stop_reason_[0] == "kkt"
    assert violations(model, X, y)[0] <= 1.01e-5 < rough.kkt_violation_[0]


def test_the_duality_gap_still_counts():
    X, y = problem(n=150, d=6, seed=52)
    model = LinearSVC(C=5.0, solver="cg", tol=1e-12, kkt_tol=1e3).fit(X, y)
    assert model.stop_reason_[0] == "kkt"
    assert model.duality_gap_[0] <= 1e-12 * model.objective_[0]


@pytest.mark.parametrize("solver", ["gram", "cg", "dual"])
@pytest.mark.parametrize("loss", LOSSES)
def test_what_rounding_prevents_is_said(loss, solver):
    X, y = problem(n=100, d=5, seed=53)
    with pytest.warns(ConvergenceWarning, match=r"precision.*kkt_tol=0\."):
        model = LinearSVC(loss=loss, solver=solver, kkt_tol=0.0).fit(X, y)
    assert model.stop_reason_[0] == "precision"
    assert 0 < model.kkt_violation_[0] < 1e-4
    assert model.duality_gap_[0] <= model.tol * model.objective_[0]


def test_max_iter_ends_the_search_for_a_smaller_violation():
    X, y = problem(n=150, d=6, seed=54)
    with pytest.warns(ConvergenceWarning, match=r"Raise max_iter or tol and kkt_tol\.$"):
        model = LinearSVC(C=100.0, solver="cg", tol=1e-1, kkt_tol=1e-9, max_iter=4).fit(X, y)
    assert model.stop_reason_[0] == "max_iter"


@pytest.mark.parametrize("loss", SMOOTH)
def test_path_and_search(loss):
    X, y = problem(n=150, d=6, seed=55)
    Cs, t, rows = [0.1, 1.0, 50.0], np.where(y == 1, 1.0, -1.0), augment(X)
    for kkt_tol in (1e-6, None):
        path = linear_svc_path(X, y, Cs=Cs, loss=loss, solver="cg", tol=1e-1, kkt_tol=kkt_tol)
        worst = 0.0
        for C, model in zip(Cs, path, strict=True):
            alpha = C * naive.slope(loss, 1 - t * model.decision_function(X))
            worst = max(worst, naive.kkt_violation(loss, rows, t, np.full(len(y), C), alpha))
        assert (worst <= 1.01e-6) == (kkt_tol is not None)
    options = {"loss": loss, "solver": "cg", "tol": 1e-1, "kkt_tol": 1e-6}
    search = LinearSVCCV(Cs=Cs, **options).fit(X, y)
    direct = LinearSVC(C=search.C_, **options).fit(X, y)
    np.testing.assert_array_equal(search.coef_, direct.coef_)


@pytest.mark.parametrize("value", [-1e-3, np.nan, np.inf, "1e-3", True])
def test_values_that_are_refused(value):
    X, y = problem(n=30)
    with pytest.raises(ValueError, match="kkt_tol"):
        LinearSVC(kkt_tol=value).fit(X, y)


@pytest.mark.parametrize("solver", ["gram", "cg", "plain"])
@pytest.mark.parametrize("loss", LOSSES)
def test_ordered_classes(loss, solver):
    """The violation over all virtual rows, one for each row and threshold."""
    X, y = problem(n=150, d=6, n_classes=4, seed=56)
    s = weights(150, 56)
    options = {"C": 20.0, "loss": loss, "solver": solver, "tol": 1e-2}
    model = OrdinalSVC(kkt_tol=1e-5, **options).fit(X, y, s)
    assert model.stop_reason_ == "kkt"
    assert isinstance(model.kkt_violation_, float)
    rows, t = ordinal_rows(X, y, 4)
    c, beta = np.repeat(20.0 * s, 3), np.concatenate([model.coef_, model.thresholds_])
    if loss != "hinge":  # whose multipliers are those of a smoothed loss
        alpha = c * naive.slope(loss, 1 - t * (rows @ beta))
        found = naive.kkt_violation(loss, rows, t, c, alpha)
        np.testing.assert_allclose(model.kkt_violation_, found, rtol=1e-3, atol=1e-11)
    assert model.kkt_violation_ <= 1e-5
    rough = OrdinalSVC(**options).fit(X, y, s)
    assert not hasattr(rough, "kkt_violation_")
    assert rough.n_iter_ <= model.n_iter_
    if solver != "gram":  # whose last step is exact
        assert OrdinalSVC(kkt_tol=1e3, **options).fit(X, y, s).kkt_violation_ > 1e-5
    again = model.set_params(kkt_tol=None).fit(X, y, s)
    assert not hasattr(again, "kkt_violation_")


@pytest.mark.parametrize(
    "model, loss",
    [
        *((LinearSVC(), loss) for loss in LOSSES),
        (LinearSVC(multi_class="ovo"), "squared_hinge"),
        (OrdinalSVC(), "huber"),
        (OrdinalSVC(), "hinge"),
    ],
    ids=str,
)
def test_partitions_have_the_violation_of_the_whole(model, loss):
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    X, y = problem(n=120, d=5, n_classes=3, seed=57)
    y[:40] = np.minimum(y[:40], 1)  # a partition without one of the classes
    parts = da.from_array(X, chunks=(40, -1)), da.from_array(y, chunks=40)
    model = clone(model).set_params(C=20.0, loss=loss, solver="cg", tol=1e-2)
    with dask.config.set(scheduler="sync"):
        rough = clone(model).set_params(kkt_tol=1e3).fit(*parts)
        ours = model.set_params(kkt_tol=1e-4).fit(*parts)
    assert np.all(np.asarray(ours.stop_reason_) == "kkt")
    assert np.all(ours.kkt_violation_ <= 1e-4)
    assert np.max(rough.kkt_violation_) > 1e-4
    assert not hasattr(ours, "support_")
    if loss != "hinge" and isinstance(model, LinearSVC):  # a start at the result takes no step
        local = clone(model).fit(X, y, coef_init=ours.coef_, intercept_init=ours.intercept_)
        assert local.n_iter_ == 0
        np.testing.assert_allclose(local.kkt_violation_, ours.kkt_violation_, rtol=1e-6, atol=1e-11)
