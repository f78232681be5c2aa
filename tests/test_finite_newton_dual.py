"""Linear machines with fewer rows than weights: coordinate descent on the dual."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm

from hingeline import LinearSVC, LinearSVR
from hingeline.linear import dual

from .watching import Recorder

LOSSES = ["squared_hinge", "huber", "hinge", "squared"]
FORMS = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "strided": np.asfortranarray,
    "csr": sp.csr_array,
}


def wide(n=60, d=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    scores = X[:, :n_classes] + rng.normal(size=(n, n_classes))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_minimum_is_that_of_newton(loss, weighted, form):
    X, y = wide()
    weights = np.random.default_rng(1).integers(0, 3, len(y)) / 2.0 if weighted else None
    models = [
        LinearSVC(C=0.01, loss=loss, tol=1e-8, solver=solver).fit(FORMS[form](X), y, sample_weight=weights)
        for solver in ("dual", "cg")
    ]
    descent, newton = models
    assert descent.solver_ == "dual" and descent.stop_reason_.tolist() == ["gap"]
    np.testing.assert_allclose(descent.objective_, newton.objective_, rtol=3e-8)
    np.testing.assert_allclose(descent.coef_, newton.coef_, atol=2e-4 * np.abs(newton.coef_).max())
    assert 0 <= descent.duality_gap_[0] <= 1e-8 * descent.objective_[0]
    made = descent.dual_coef_ @ X[descent.support_]
    np.testing.assert_allclose(made, descent.coef_, atol=1e-5 * np.abs(descent.coef_).max())
    np.testing.assert_allclose(descent.dual_coef_.sum(), descent.intercept_[0], atol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_minimum_is_that_of_liblinear(loss, fit_intercept):
    X, y = wide()
    ours = LinearSVC(C=0.1, loss=loss, tol=1e-9, fit_intercept=fit_intercept).fit(X, y)
    theirs = svm.LinearSVC(C=0.1, loss=loss, tol=1e-8, max_iter=100_000, fit_intercept=fit_intercept).fit(X, y)
    assert ours.solver_ == "dual"
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_classes_and_threads(multi_class):
    X, y = wide(90, n_classes=3)
    models = [LinearSVC(C=0.1, multi_class=multi_class, n_jobs=jobs).fit(X, y) for jobs in (1, 3)]
    assert {model.solver_ for model in models} == {"dual"}
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[0].score(X, y) == 1.0
    assert (models[0].duality_gap_ <= 1e-4 * models[0].objective_).all()
    assert models[0].history_["step"].max() == models[0].n_iter_


def counts(n=150, d=400, seed=0):
    """Rows of very different lengths, as counts of words are, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.1, (n, d)) * np.round(np.exp(rng.normal(0, 1.5, (n, 1))))
    return np.asarray(X, dtype=float), np.arange(n) % 3


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_slow_descents_make_newton_steps(loss, form, monkeypatch):
    """With weights, and none of some rows; the number of machines side by side does not matter."""
    X, y = counts()
    weights = np.random.default_rng(1).integers(0, 3, len(y)) / 2.0
    for name, value in (("SLICE", 1), ("FEW_PASSES", 2), ("MOST_PASSES", 3)):
        monkeypatch.setattr(dual, name, value)
    settings = {"C": 1.0, "loss": loss, "tol": 1e-9}
    model = LinearSVC(**settings).fit(FORMS[form](X), y, sample_weight=weights)
    assert model.solver_ == "dual" and set(model.stop_reason_) == {"gap"}
    assert (model.duality_gap_ <= 1e-9 * model.objective_).all()
    slices = np.bincount(model.history_["machine"])
    threads = LinearSVC(n_jobs=3, **settings).fit(FORMS[form](X), y, sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, threads.coef_)
    newton = LinearSVC(solver="cg", **settings | {"tol": 1e-7}).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.objective_, newton.objective_, rtol=1e-7)
    for name in ("FEW_PASSES", "FEW_EPOCHS"):  # the descent alone
        monkeypatch.setattr(dual, name, 10**6)
    alone = LinearSVC(**settings).fit(FORMS[form](X), y, sample_weight=weights)
    assert (slices <= np.bincount(alone.history_["machine"])).all() and slices.sum() < len(alone.history_["machine"])


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_slow_descents_of_regressors_make_newton_steps(loss, monkeypatch):
    X, y = counts(60)
    y = X @ np.random.default_rng(2).normal(size=X.shape[1]) / 10 + y
    for name, value in (("SLICE", 1), ("FEW_PASSES", 2), ("MOST_PASSES", 3)):
        monkeypatch.setattr(dual, name, value)
    settings = {"C": 1.0, "epsilon": 0.3, "loss": loss, "tol": 1e-9}
    model, newton = LinearSVR(**settings).fit(X, y), LinearSVR(solver="cg", **settings).fit(X, y)
    assert model.solver_ == "dual" and model.stop_reason_ == "gap"
    assert model.duality_gap_ <= 1e-9 * model.objective_
    np.testing.assert_allclose(model.objective_, newton.objective_, rtol=1e-8)


@pytest.mark.parametrize("limit", ["MOST_FREE", "MOST_JUMPS"])
def test_newton_continues_where_the_descent_is_slow(limit, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 100)) + 30 * rng.normal(size=100)  # nearly parallel rows
    y = rng.integers(0, 2, 80)
    monkeypatch.setattr(dual, limit, 0)
    model = LinearSVC(C=100.0, solver="dual").fit(X, y)
    assert model.solver_ == "cg"
    assert model.stop_reason_.tolist() == ["gap"]
    assert model.duality_gap_[0] <= 1e-4 * model.objective_[0]


def test_max_iter_counts_epochs():
    X, y = wide()
    with pytest.warns(match="max_iter"):
        model = LinearSVC(C=10.0, tol=1e-12, max_iter=3).fit(X, y)
    assert model.stop_reason_.tolist() == ["max_iter"]
    assert model.n_iter_ == 3


def test_callbacks_change_nothing():
    X, y = wide()
    alone = LinearSVC(C=1.0, loss="hinge").fit(X, y)
    watched = LinearSVC(C=1.0, loss="hinge").set_callbacks(Recorder()).fit(X, y)
    np.testing.assert_array_equal(alone.coef_, watched.coef_)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite(value):
    X, y = wide()
    X[3, 5] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        LinearSVC().fit(X, y)


def test_a_warm_start_is_used():
    X, y = wide()
    model = LinearSVC(C=0.1, warm_start=True).fit(X, y)
    assert model.fit(X, y).solver_ == "cg"
    assert model.n_iter_ <= 3


def test_weights_that_do_not_fit_are_refused():
    X = sp.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 7, 2**31 - 2, 5])), shape=(4, 2**31 - 1))
    with pytest.raises(ValueError, match=r"coef_ has 1 x 2147483647 weights and needs 17179869184 bytes.*Drop the col"):
        LinearSVC().fit(X, [0, 1, 0, 1])
