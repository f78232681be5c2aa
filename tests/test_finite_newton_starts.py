"""LinearSVC from given starts, linear_svc_path and LinearSVCCV."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.class_weight import compute_class_weight

from hingeline import LinearSVC, LinearSVCCV, linear_svc_path

from .finite_newton_cases import assert_close, assert_same, problem, tight, weights
from .oracle import naive_finite_newton as naive
from .oracle.naive_finite_newton import LOSSES, augment, naive_fit

# The smallest gaps that are worth asking for may be out of reach of doubles; the result is checked itself.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# ---- starts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("loss", LOSSES)
def test_any_start_comes_to_the_same_end(loss, solver):
    X, y = problem(n=150, d=5, n_classes=3, seed=22)
    options = {"C": 4.0, "solver": solver, **tight(loss)}
    cold = LinearSVC(**options).fit(X, y)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e3):
        guess, b = size * rng.standard_normal((3, 5)), size * rng.standard_normal(3)
        assert_close(cold, LinearSVC(**options).fit(X, y, coef_init=guess), atol=1e-6)
        assert_close(cold, LinearSVC(**options).fit(X, y, coef_init=guess, intercept_init=b), atol=1e-6)
    assert_close(cold, LinearSVC(**options).fit(X, y, coef_init=np.zeros((3, 5))), atol=1e-6)


def first_objective(model):
    return np.asarray(model.history_["objective"])[0]


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_a_start_that_is_given_is_taken(loss):
    X, y = problem(n=150, d=8, seed=23)
    options = {"C": 4.0, "loss": loss, "tol": 1e-6}
    cold = LinearSVC(**options).fit(X, y)
    there = LinearSVC(**options).fit(X, y, coef_init=cold.coef_, intercept_init=cold.intercept_)
    assert first_objective(there) <= cold.objective_[0] * (1 + 1e-3) < first_objective(cold)
    assert there.n_iter_ < cold.n_iter_


@pytest.mark.parametrize("scaling", [1.0, 3.0])
def test_a_guess_is_scaled_by_equation_9(scaling):
    X, y = problem(n=120, d=6, seed=24)
    s, t, C = weights(120), np.where(y == 1, 1.0, -1.0), 2.0
    guess = np.linalg.lstsq(X[:40], t[:40], rcond=None)[0] + 0.1
    start = naive.first_guess(guess, X, t, s, 1 / (2 * C), scaling)
    rows = augment(X, scaling)
    best = naive.primal("squared", rows, t, C * s, start)
    # Equation 9 is the best of all (gamma w, b') for the squared loss.
    for change in (np.append(guess, 0), np.append(0 * guess, 1)):
        for step in (-1e-3, 1e-3):
            assert naive.primal("squared", rows, t, C * s, start + step * change) > best
    model = LinearSVC(C=C, loss="squared", intercept_scaling=scaling)
    objectives = [first_objective(model.fit(X, y, s, coef_init=[size * guess])) for size in (1.0, 2.0**12, -(2.0**-9))]
    assert max(objectives) <= best * (1 + 1e-9)
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-9)
    # Footnote 4: repeated with the active rows.
    again = naive.repeated_guess(guess, X, t, s, 1 / (2 * C), scaling)
    value = naive.primal("squared_hinge", rows, t, C * s, again)
    assert value < 0.999 * naive.primal("squared_hinge", rows, t, C * s, start)
    found = LinearSVC(C=C, intercept_scaling=scaling).fit(X, y, s, coef_init=[guess])
    np.testing.assert_allclose(first_objective(found), value, rtol=1e-9)
    # Scale and sign of the guess do not matter for any loss: the whole run is the same.
    for loss in ("squared_hinge", "huber"):
        runs = [
            LinearSVC(C=C, loss=loss, intercept_scaling=scaling).fit(X, y, s, coef_init=[size * guess])
            for size in (1.0, 2.0**12, -(2.0**-9))
        ]
        for run in runs[1:]:
            np.testing.assert_allclose(run.history_["objective"], runs[0].history_["objective"], rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start(loss):
    X, y = problem(n=200, d=8, n_classes=3, seed=25)
    options = {"loss": loss, "tol": 1e-8}
    model = LinearSVC(C=1.0, warm_start=True, **options).fit(X, y)
    cold = model.n_iter_, first_objective(model)
    assert_same(model, LinearSVC(C=1.0, **options).fit(X, y))
    objective = model.objective_[0]
    model.fit(X, y)
    if loss in ("squared_hinge", "huber"):  # the hinge comes from far, the squared loss is there at once
        assert first_objective(model) <= objective * (1 + 1e-3) < cold[1]
        assert model.n_iter_ < cold[0]
    model.set_params(C=1.5).fit(X, y)
    np.testing.assert_allclose(model.objective_, LinearSVC(C=1.5, **options).fit(X, y).objective_, rtol=2e-8)
    # Nothing to start from: other features, other classes.
    for features, labels in ((X[:, :5], y), (X, y + 1), (X, y > 0)):
        model.fit(X, y).fit(features, labels)
        assert_same(model, LinearSVC(C=1.5, **options).fit(features, labels))
    # Without it a fit forgets.
    model = LinearSVC(**options).fit(X, y)
    once = model.n_iter_
    assert model.fit(X, y).n_iter_ == once


# ---- path and search ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Cs", [np.geomspace(1e-3, 100, 6), [5.0, 0.01, 1.0], [2.0]], ids=len)
@pytest.mark.parametrize("loss", LOSSES)
def test_path_is_separate_fits(loss, Cs):
    X, y = problem(n=120, d=5, n_classes=3, seed=26)
    s = weights(120) + 0.5
    for options in ({}, {"multi_class": "ovo", "class_weight": "balanced", "intercept_scaling": 2.0, "solver": "cg"}):
        path = linear_svc_path(X, y, Cs=Cs, sample_weight=s, **tight(loss), **options)
        assert [found.C for found in path] == list(Cs)
        for C, found in zip(Cs, path, strict=True):
            model = LinearSVC(C=C, **tight(loss), **options).fit(X, y, s)
            assert found.get_params() == model.get_params()
            assert found.intercept_.shape == found.duality_gap_.shape == (3,)
            atol = 1e-5 if loss == "hinge" else 1e-6  # a gap of 1e-10 of an objective of 1e4
            np.testing.assert_allclose(found.coef_, model.coef_, rtol=0, atol=atol)
            np.testing.assert_allclose(found.intercept_, model.intercept_, rtol=0, atol=atol)
            np.testing.assert_array_equal(found.predict(X), model.predict(X))
            assert (found.duality_gap_ >= 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_path_keeps_its_promise(loss):
    X, y = problem(n=150, d=6, seed=27)
    X, Cs, tol = sp.csr_matrix(X), np.geomspace(1e-2, 1e2, 9), 1e-4
    path = linear_svc_path(X, y, Cs=Cs, loss=loss, tol=tol, fit_intercept=False)
    rows, t = augment(X, None), np.where(y == 1, 1.0, -1.0)
    for C, model in zip(Cs, path, strict=True):
        assert not model.intercept_.any()
        coef, gap = model.coef_[0], model.duality_gap_[0]
        value, best = naive.primal(loss, rows, t, np.full(150, C), coef), naive_fit(loss, rows, t, np.full(150, C), C)
        assert 0 <= gap <= tol * value * (1 + 1e-9)
        assert value - gap <= best.primal * (1 + 1e-10)
        assert best.primal - best.gap <= value * (1 + 1e-12)


@pytest.mark.parametrize("cv", [None, 3, KFold(4)], ids=str)
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced", "loss": "huber", "multi_class": "ovo"}], ids=str)
def test_search_is_the_manual_loop(options, cv):
    X, y = problem(n=160, d=5, n_classes=3, seed=28, noise=2.0)
    Cs = [1e-4, 1e-2, 1.0, 100.0]
    model = LinearSVCCV(Cs=Cs, cv=cv, tol=1e-12, **options).fit(X, y)
    folds = cv if isinstance(cv, KFold) else StratifiedKFold(cv or 5)
    if "class_weight" in options:  # weights of all labels, as in LogisticRegressionCV
        balance = compute_class_weight("balanced", classes=np.arange(3), y=y)
        options = {**options, "class_weight": dict(enumerate(balance.tolist()))}
    scores = np.array(
        [
            [LinearSVC(C=C, tol=1e-12, **options).fit(X[train], y[train]).score(X[test], y[test]) for C in Cs]
            for train, test in folds.split(X, y)
        ]
    )
    np.testing.assert_allclose(model.scores_, scores, rtol=1e-12)
    assert np.ptp(scores.mean(axis=0)) > 0
    np.testing.assert_array_equal(model.Cs_, Cs)
    assert model.best_score_ == pytest.approx(scores.mean(axis=0).max())
    assert isinstance(model.C_, float)
    assert scores.mean(axis=0)[Cs.index(model.C_)] == pytest.approx(model.best_score_)
    best = LinearSVC(C=model.C_, tol=1e-12, **options).fit(X, y)
    assert_close(model, best, atol=1e-7)
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(model.predict(X), best.predict(X))
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), rtol=0, atol=1e-6)


def test_search_with_another_score():
    X, y = problem(n=120, d=4, seed=29, noise=2.0)
    y = np.where(np.arange(120) % 3 == 0, y, 0)  # few of class 1
    Cs = [1e-3, 0.1, 10.0]
    model = LinearSVCCV(Cs=Cs, cv=3, scoring="balanced_accuracy", tol=1e-12).fit(sp.csr_matrix(X), y)
    for f, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for k, C in enumerate(Cs):
            fitted = LinearSVC(C=C, tol=1e-12).fit(X[train], y[train])
            assert model.scores_[f, k] == pytest.approx(balanced_accuracy_score(y[test], fitted.predict(X[test])))


def test_search_has_ten_values_of_C():
    X, y = problem(n=60)
    model = LinearSVCCV().fit(X, y)
    np.testing.assert_allclose(model.Cs_, np.logspace(-4, 4, 10))
    assert model.scores_.shape == (5, 10)
    np.testing.assert_allclose(LinearSVCCV(Cs=3).fit(X, y).Cs_, [1e-4, 1.0, 1e4])


def test_a_search_without_refit_has_no_certificate_of_an_earlier_one():
    X, y = problem()
    model = LinearSVCCV(Cs=3).fit(X, y)
    assert model.duality_gap_.shape == (1,)
    assert not hasattr(model.set_params(refit=False).fit(X, y), "duality_gap_")


def test_a_penalty_may_come_twice_on_a_path():
    X, y = problem()
    one, two, _, four = linear_svc_path(X, y, Cs=[1.0, 1.0, 2.0, 1.0], solver="cg")
    assert np.array_equal(one.coef_, two.coef_) and np.array_equal(one.coef_, four.coef_)


def test_a_path_that_stops_early_says_so():
    X, y = problem(n=200, seed=3)
    with pytest.warns(ConvergenceWarning, match=r"3 of 3 machines stopped \(max_iter\)"):
        path = linear_svc_path(X, y, Cs=[1.0, 10.0, 100.0], max_iter=1, tol=0.0, loss="huber")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        better = linear_svc_path(X, y, Cs=[1.0, 10.0, 100.0], loss="huber")
    assert any(good.duality_gap_[0] < bad.duality_gap_[0] for good, bad in zip(better, path, strict=True))
    assert [model.n_iter_ for model in path] == [1] * 3
    assert max(model.n_iter_ for model in better) > 1
    with pytest.warns(ConvergenceWarning, match=r"and the KKT violation at most kkt_tol=1e-09"):
        linear_svc_path(X, y, Cs=[1.0], max_iter=1, kkt_tol=1e-9)
