"""The L1 penalty of LinearSVC: certificates from the definitions, LIBLINEAR, laws, edge cases."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

import hingeline
from hingeline import LinearSVC, linear_svc_path

from .finite_newton_cases import assert_same, machine_problems, parameters
from .watching import Recorder

SOLVERS = ["gram", "columns"]


def problem(n=90, d=30, n_classes=2, seed=0, kind="normal"):
    """Rows whose labels depend on three features."""
    rng = np.random.default_rng(seed)
    X = {
        "normal": lambda: rng.standard_normal((n, d)) + 0.3,
        "integers": lambda: rng.integers(-1, 2, (n, d)).astype(float),
        "constant": lambda: np.ones((n, d)),
        "scales": lambda: rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d),
        "sparse": lambda: rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.2),
        "repeated": lambda: np.repeat(rng.standard_normal((n, -(-d // 3))), 3, axis=1)[:, :d],
    }[kind]()
    score = X[:, :3].sum(axis=1) + rng.standard_normal(n)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    y[:n_classes] = range(n_classes)
    return X, y


def primal(rows, t, c, beta):
    return np.abs(beta).sum() + c @ np.maximum(1 - t * (rows @ beta), 0) ** 2


def violation(rows, t, c, beta):
    """Largest distance of the gradient of the losses from the subdifferential of the penalty."""
    gradient = -2 * rows.T @ (c * t * np.maximum(1 - t * (rows @ beta), 0))
    inside = np.maximum(np.abs(gradient) - 1, 0)
    return np.where(beta != 0, np.abs(gradient + np.sign(beta)), inside).max(initial=0.0)


def assert_certified(model, X, y, sample_weight=None):
    """Everything that a model says about its optimality is true, and proves what it has to prove."""
    for k, (of, rows, t, c) in enumerate(machine_problems(model, X, y, sample_weight)):
        beta = parameters(model, k)
        signed = np.zeros(len(y))
        signed[model.support_] = model.dual_coef_[k]
        alpha, some = signed[of] * t, c > 0
        above = primal(rows, t, c, beta)
        below = alpha.sum() - (alpha[some] ** 2 / (4 * c[some])).sum()
        assert (alpha >= 0).all() and not alpha[~some].any(), "coefficients outside of the box"
        assert np.abs(rows.T @ (alpha * t)).max(initial=0.0) <= 1 + 1e-9, "coefficients are not feasible"
        np.testing.assert_allclose(model.objective_[k], above, rtol=1e-10)
        np.testing.assert_allclose(model.duality_gap_[k], above - below, rtol=1e-5, atol=1e-10 * above)
        found = violation(rows, t, c, beta)
        np.testing.assert_allclose(model.kkt_violation_[k], found, rtol=1e-5, atol=1e-8 * (1 + c.max() * len(c)))
        if model.stop_reason_[k] in ("gap", "kkt"):
            assert model.duality_gap_[k] <= model.tol * model.objective_[k]


# ---- optimality ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["normal", "integers", "constant", "scales", "sparse", "repeated"])
def test_certificates(kind, solver):
    for seed, (n, d, n_classes) in enumerate([(120, 5, 2), (30, 40, 2), (2, 3, 2), (60, 8, 4), (40, 1, 2)]):
        X, y = problem(n, d, n_classes, seed, kind)
        weights = np.random.default_rng(seed).integers(0, 4, n) / 2
        weights[:n_classes] = 1.0
        for C in (1e-3, 0.1, 1.0, 10.0):
            model = LinearSVC("l1", C=C, solver=solver, intercept_scaling=2.0, tol=1e-6).fit(X, y, weights)
            assert set(model.stop_reason_) == {"gap"} and model.solver_ == solver
            assert_certified(model, X, y, weights)


def test_liblinear_has_the_same_minimum():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 100)), int(rng.integers(1, 40))
        X, y = problem(n, d, 2, seed, ["normal", "sparse", "integers"][seed % 3])
        weights = rng.integers(0, 4, n) / 2
        weights[:2] = 1.0
        options = {
            "C": float(rng.choice([1e-2, 0.1, 1.0, 10.0])),
            "fit_intercept": bool(rng.random() < 0.7),
            "intercept_scaling": float(rng.choice([1.0, 3.0])),
        }
        form = sp.csr_matrix(X) if seed % 2 else X
        ours = LinearSVC("l1", tol=1e-8, solver=SOLVERS[seed // 2 % 2], **options).fit(form, y, weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = svm.LinearSVC("l1", dual=False, tol=1e-8, max_iter=20_000, **options).fit(form, y, weights)
        ((_, rows, t, c),) = machine_problems(ours, X, y, weights)
        beta = np.append(theirs.coef_, np.ravel(theirs.intercept_) / ours.intercept_scaling)
        other = primal(rows, t, c, beta[: rows.shape[1]])
        # Coordinate descent may stop at its limit: it may have the larger objective.
        assert ours.objective_[0] <= other * (1 + 1e-7) + 1e-12, seed
        assert other <= ours.objective_[0] * (1 + 1e-2) + 1e-9, seed


def test_weights_that_lose_all_their_rows_become_zero():
    """A feature whose rows all have no loss has neither slope nor curvature, and still a penalty."""
    X, y = problem(60, 20, seed=4, kind="sparse")
    for solver in SOLVERS:
        model = LinearSVC("l1", C=100.0, solver=solver, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(model.kkt_violation_, 0.0, atol=1e-3)
        assert model.n_iter_ < 200


def test_more_features_than_rows():
    X, y = problem(60, 3000, seed=2, kind="sparse")
    model = LinearSVC("l1", C=1.0).fit(sp.csr_matrix(X), y)
    assert model.solver_ == "columns" and np.count_nonzero(model.coef_) <= 60
    assert_certified(model, X, y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_kkt_tol(solver):
    X, y = problem(seed=3)
    model = LinearSVC("l1", solver=solver, tol=0.5, kkt_tol=1e-5).fit(X, y)
    assert model.stop_reason_[0] == "kkt" and model.kkt_violation_[0] <= 1e-5
    assert_certified(model, X, y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_least_C_with_a_weight(solver):
    X, y = problem(seed=5)
    C = svm.l1_min_c(X, y, loss="squared_hinge")
    assert not LinearSVC("l1", C=C * (1 - 1e-9), solver=solver).fit(X, y).coef_.any()
    more = LinearSVC("l1", C=C * 1.001, solver=solver).fit(X, y)
    assert more.coef_.any() or more.intercept_.any()


# ---- laws ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
class TestLaws:
    def fit(self, solver, X, y, weights=None, **options):
        return LinearSVC(**{"penalty": "l1", "C": 0.5, "tol": 1e-9, "solver": solver, **options}).fit(X, y, weights)

    def close(self, a, b):
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-4)
        np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-8)

    def test_a_weight_is_a_number_of_rows(self, solver):
        X, y = problem()
        weights = np.random.default_rng(1).integers(0, 3, len(y))
        repeated = np.repeat(np.arange(len(y)), weights)
        self.close(self.fit(solver, X, y, weights), self.fit(solver, X[repeated], y[repeated]))

    def test_forms_of_rows(self, solver):
        X, y = problem(kind="sparse")
        dense = self.fit(solver, X, y)
        for form in (sp.csr_matrix(X), sp.csc_array(X), np.asfortranarray(X), X.tolist()):
            self.close(self.fit(solver, form, y), dense)
        single = X.astype(np.float32)
        self.close(self.fit(solver, single, y), self.fit(solver, single.astype(float), y))

    def test_threads_do_not_change_a_bit(self, solver):
        X, y = problem(9000, 12, 3)
        assert_same(*(self.fit(solver, X, y, n_jobs=n, tol=1e-5) for n in (1, 2)))

    def test_pairs_of_classes(self, solver):
        X, y = problem(150, 10, 3)
        assert_certified(self.fit(solver, X, y, multi_class="ovo"), X, y)

    def test_callbacks_change_nothing(self, solver):
        X, y = problem(120, 20, 3)
        watched = LinearSVC("l1", solver=solver).set_callbacks(Recorder()).fit(X, y)
        np.testing.assert_array_equal(watched.coef_, LinearSVC("l1", solver=solver).fit(X, y).coef_)

    def test_a_warm_start_is_used(self, solver):
        X, y = problem(seed=6)
        model = self.fit(solver, X, y, warm_start=True, tol=1e-5)
        first = model.n_iter_
        assert model.fit(X, y).n_iter_ <= max(1, first // 2)
        assert_certified(model, X, y)

    def test_a_path_is_separate_fits(self, solver):
        X, y = problem(120, 15, 3)
        Cs = [1.0, 0.01, 0.1]
        for found in linear_svc_path(X, y, Cs=Cs, penalty="l1", tol=1e-9, solver=solver):
            self.close(found, self.fit(solver, X, y, C=found.C))


def test_dask():
    da = pytest.importorskip("dask.array")
    X, y = problem(500, 12, 3)
    parts = da.from_array(X, chunks=(120, 12)), da.from_array(y, chunks=120)
    many = LinearSVC("l1", C=0.2, tol=1e-7).fit(*parts)
    np.testing.assert_allclose(many.objective_, LinearSVC("l1", C=0.2, tol=1e-7).fit(X, y).objective_, rtol=1e-6)
    with pytest.raises(ValueError, match="solver='columns' needs X in memory"):
        LinearSVC("l1", solver="columns").fit(*parts)


# ---- edge cases ----------------------------------------------------------------------------------------


def test_sparsify(tmp_path):
    X, y = problem(n_classes=3)
    model = LinearSVC("l1", C=0.05).fit(X, y)
    before, dense = model.decision_function(X), model.coef_.copy()
    assert model.sparsify() is model and sp.issparse(model.coef_) and model.coef_.nnz < dense.size
    hingeline.save(model, tmp_path / "model")
    for sparse in (model, hingeline.load(tmp_path / "model")):
        np.testing.assert_allclose(sparse.decision_function(X), before, rtol=1e-12)
        np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), before, rtol=1e-12)
    np.testing.assert_array_equal(model.densify().coef_, dense)
    model.sparsify().set_params(warm_start=True)
    assert model.fit(X, y).n_iter_ <= 2


def test_max_iter():
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model = LinearSVC("l1", max_iter=1, C=10.0).fit(X, y)
    assert model.stop_reason_.tolist() == ["max_iter"] and model.n_iter_ == 1
    assert_certified(model, X, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": "l0"}, "'penalty' parameter"),
        ({"penalty": "l1", "loss": "hinge"}, "Unsupported set of arguments: penalty='l1', loss='hinge'.*squared_hinge"),
        ({"penalty": "l1", "loss": "huber"}, "Unsupported set of arguments"),
        ({"penalty": "l1", "dual": True}, "dual=True. Set loss='squared_hinge' and dual='auto'"),
        ({"loss": "hinge", "dual": False}, "loss='hinge', dual=False. Set dual='auto'"),
        ({"penalty": "l1", "solver": "cg"}, "solver='cg' has no penalty='l1'. Use 'auto', 'gram' or 'columns'"),
        ({"solver": "columns"}, "solver='columns' needs penalty='l1'"),
        ({"multi_class": "crammer_singer"}, "use sklearn.svm.LinearSVC"),
    ],
)
def test_bad_parameters(options, words):
    with pytest.raises(ValueError, match=words):
        LinearSVC(**options).fit(*problem())
