"""LinearSVR: certificates of optimality from the definitions, LIBLINEAR, laws, edge cases."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

import hingeline
from hingeline import LinearSVR

LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive"]
SOLVERS = ["gram", "cg", "dual"]
#: Every array that makes a model.
ARRAYS = ["coef_", "intercept_", "dual_coef_", "support_", "objective_", "duality_gap_", "kkt_violation_", "n_iter_"]


def problem(n=120, d=5, seed=0, kind="normal"):
    """Rows and targets with outliers."""
    rng = np.random.default_rng(seed)
    X = {
        "normal": lambda: rng.standard_normal((n, d)) + 0.5,
        "integers": lambda: rng.integers(-1, 2, (n, d)).astype(float),
        "constant": lambda: np.ones((n, d)),
        "scales": lambda: rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d),
        "sparse": lambda: rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.2),
        "repeated": lambda: np.repeat(rng.standard_normal((-(-n // 3), d)), 3, axis=0)[:n],
    }[kind]()
    y = X @ rng.standard_normal(d) + rng.standard_normal(n) + 5 * (rng.random(n) < 0.05)
    return X, np.round(y) if kind == "integers" else y


def augmented(model, X):
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    return np.column_stack([X, np.full(len(X), float(model.intercept_scaling))]) if model.fit_intercept else X


def point(model):
    return np.append(model.coef_, model.intercept_ / model.intercept_scaling if model.fit_intercept else [])


def primal(model, rows, y, c, beta):
    """Objective from its definition; c: C times the weights."""
    excess = np.maximum(np.abs(y - rows @ beta) - model.epsilon, 0.0)
    return beta @ beta / 2 + c @ (excess if model.loss == LOSSES[0] else excess**2)


def dual(model, rows, y, c, alpha):
    """Dual objective; minus infinity outside of the box."""
    squares = 0.0
    if model.loss == LOSSES[0]:
        if (np.abs(alpha) > c * (1 + 1e-12)).any():
            return -np.inf
    else:
        some = c > 0
        squares = (alpha[some] ** 2 / (4 * c[some])).sum()
    made = alpha @ rows
    return alpha @ y - model.epsilon * np.abs(alpha).sum() - squares - made @ made / 2


def violation(model, rows, y, c, alpha):
    """Largest violation of the optimality conditions of the dual, in units of y."""
    some = c > 0
    alpha, c, y = alpha[some], c[some], y[some]
    g = rows[some] @ (alpha @ rows[some]) - y
    if model.loss == LOSSES[1]:
        g = g + alpha / (2 * c)
    at = g + model.epsilon * np.sign(alpha)
    worst = np.where(alpha == 0, np.maximum(np.abs(g) - model.epsilon, 0.0), np.abs(at))
    if model.loss == LOSSES[0]:
        bound = np.abs(alpha) >= c * (1 - 1e-12)
        worst = np.where(bound, np.maximum(np.sign(alpha) * at, 0.0), worst)
    return worst.max(initial=0.0)


def assert_certified(model, X, y, sample_weight=None):
    """Everything that a model says about its optimality is true."""
    rows, beta = augmented(model, X), point(model)
    c = model.C * (np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float))
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    above, below = primal(model, rows, y, c, beta), dual(model, rows, y, c, alpha)
    size = above + np.abs(alpha) @ np.abs(y)
    np.testing.assert_allclose(model.objective_, above, rtol=1e-9, atol=1e-13 * size)
    np.testing.assert_allclose(model.duality_gap_, above - below, rtol=1e-6, atol=1e-10 * size)
    if model.stop_reason_ in ("gap", "kkt"):
        assert model.duality_gap_ <= model.tol * model.objective_
    np.testing.assert_allclose(
        model.kkt_violation_, violation(model, rows, y, c, alpha), rtol=1e-5, atol=1e-8 * (1 + np.abs(y).max())
    )


def close(a, b, atol=1e-6):
    np.testing.assert_allclose(point(a), point(b), rtol=1e-6, atol=atol)


# ---- optimality ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["normal", "integers", "constant", "scales", "sparse", "repeated"])
def test_certificates(kind, loss, solver):
    for seed, (n, d) in enumerate([(120, 5), (12, 20), (1, 3), (40, 1)]):
        X, y = problem(n, d, seed, kind)
        weights = np.random.default_rng(seed).integers(0, 4, n) / 2
        weights[0] = 1.0
        for epsilon in (0.0, 0.3):
            for C in (1e-4, 1.0, 100.0):
                model = LinearSVR(loss=loss, epsilon=epsilon, C=C, solver=solver, intercept_scaling=2.0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    assert_certified(model.fit(X, y, weights), X, y, weights)
                assert model.stop_reason_ == "gap" or model.duality_gap_ <= 1e-3 * model.objective_


@pytest.mark.parametrize("loss", LOSSES)
def test_liblinear_has_the_same_minimum(loss):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = problem(int(rng.integers(2, 80)), int(rng.integers(1, 12)), seed, "normal")
        weights = rng.integers(0, 4, len(y)) / 2
        weights[0] = 1.0
        options = {
            "C": float(rng.choice([1e-3, 0.1, 1.0, 10.0])),
            "epsilon": float(rng.choice([0.0, 0.1, 1.0])),
            "fit_intercept": bool(rng.random() < 0.7),
            "intercept_scaling": float(rng.choice([1.0, 3.0])),
            "loss": loss,
        }
        form = sp.csr_matrix(X) if seed % 2 else X
        ours = LinearSVR(tol=1e-7, **options).fit(form, y, weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = svm.LinearSVR(tol=1e-8, max_iter=20_000, **options).fit(form, y, weights)
        rows, c = augmented(ours, X), ours.C * weights
        mine, other = (primal(ours, rows, y, c, point(model)) for model in (ours, theirs))
        # Their stopping rule does not bound the objective: it may be the larger one.
        assert mine <= other * (1 + 1e-6) + 1e-12, seed
        assert other <= mine * (1 + 1e-2) + 1e-9, seed
        assert ours.predict(form).shape == theirs.predict(form).shape
        assert ours.coef_.shape == theirs.coef_.shape and ours.intercept_.shape == (1,)
        assert np.shape(theirs.intercept_) in ((), (1,)) and isinstance(ours.n_iter_, int)


def test_the_squared_loss_without_epsilon_is_ridge_regression():
    X, y = problem()
    model = LinearSVR(loss="squared_epsilon_insensitive", C=0.3, tol=1e-12).fit(X, y)
    rows = augmented(model, X)
    exact = np.linalg.solve(rows.T @ rows + np.eye(6) / 0.6, rows.T @ y)
    np.testing.assert_allclose(point(model), exact, rtol=1e-9)
    assert model.n_iter_ == 1


def test_the_absolute_loss_at_large_C_is_the_median():
    y = np.array([1.0, 2.0, 3.0, 50.0, 1000.0])
    model = LinearSVR(C=1e4, tol=1e-9).fit(np.zeros((5, 1)), y)
    np.testing.assert_allclose(model.intercept_, 3.0, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_kkt_tol(loss, solver):
    X, y = problem(seed=3)
    model = LinearSVR(loss=loss, epsilon=0.2, solver=solver, tol=1e-2, kkt_tol=1e-4).fit(X, y)
    assert model.stop_reason_ == "kkt" and model.kkt_violation_ <= 1e-4
    assert_certified(model, X, y)


# ---- laws ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
class TestLaws:
    def fit(self, loss, X, y, weights=None, **options):
        return LinearSVR(**{"loss": loss, "epsilon": 0.2, "C": 2.0, "tol": 1e-10, **options}).fit(X, y, weights)

    def test_a_weight_is_a_number_of_rows(self, loss):
        X, y = problem()
        weights = np.random.default_rng(1).integers(0, 3, len(y))
        repeated = np.repeat(np.arange(len(y)), weights)
        close(self.fit(loss, X, y, weights), self.fit(loss, X[repeated], y[repeated]))

    def test_forms_of_rows(self, loss):
        X, y = problem(kind="sparse")
        dense = self.fit(loss, X, y)
        for form in (sp.csr_matrix(X), sp.csc_array(X), np.asfortranarray(X), X.tolist()):
            close(self.fit(loss, form, y), dense)
        close(self.fit(loss, X.astype(np.float32), y), self.fit(loss, X.astype(np.float32).astype(float), y))

    def test_units_of_the_targets(self, loss):
        X, y = problem()
        one = self.fit(loss, X, y)
        for unit in (1e-6, 1e6):
            # The squared penalty of w grows by the square of the unit, the absolute loss by the unit.
            C = 2.0 * (unit if loss == LOSSES[0] else 1.0)
            other = self.fit(loss, X, unit * y, epsilon=0.2 * unit, C=C)
            np.testing.assert_allclose(point(other) / unit, point(one), rtol=1e-5, atol=1e-6)
            assert other.n_iter_ <= one.n_iter_ + 3

    def test_signs_of_the_targets(self, loss):
        X, y = problem()
        np.testing.assert_array_equal(point(self.fit(loss, X, -y)), -point(self.fit(loss, X, y)))

    def test_threads_do_not_change_a_bit(self, loss):
        X, y = problem(9000, 20)
        one, two = (self.fit(loss, X, y, tol=1e-5, n_jobs=n) for n in (1, 2))
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))

    def test_solvers_agree(self, loss):
        X, y = problem(60, 80)
        models = [self.fit(loss, X, y, solver=solver, max_iter=20_000, tol=1e-8) for solver in SOLVERS]
        close(models[0], models[1], 1e-3)
        close(models[0], models[2], 1e-3)
        wide = self.fit(loss, *problem(30, 3000), tol=1e-4)
        assert wide.solver_ == "dual" and wide.stop_reason_ == "gap"

    def test_warm_start(self, loss):
        X, y = problem(seed=5)
        model = self.fit(loss, X, y, warm_start=True, tol=1e-6)
        assert model.fit(X, y).n_iter_ <= LinearSVR(**{**model.get_params(), "warm_start": False}).fit(X, y).n_iter_
        assert_certified(model, X, y)
        assert_certified(model.fit(X[:, :3], y), X[:, :3], y)

    def test_save_and_load(self, loss, tmp_path):
        X, y = problem()
        model = self.fit(loss, X, y)
        hingeline.save(model, tmp_path / "model")
        np.testing.assert_array_equal(hingeline.load(tmp_path / "model").predict(X), model.predict(X))

    def test_dask(self, loss):
        da = pytest.importorskip("dask.array")
        X, y = problem(500, 4)
        weights = np.random.default_rng(0).integers(0, 3, 500) / 1.0
        one = self.fit(loss, X, y, weights, tol=1e-7)
        for solver in ("gram", "cg"):
            parts = da.from_array(X, chunks=(120, 4)), da.from_array(y, chunks=120), da.from_array(weights, chunks=120)
            many = self.fit(loss, *parts, tol=1e-7, solver=solver, kkt_tol=1e-3)
            assert abs(many.objective_ / one.objective_ - 1) <= 1e-6 and many.kkt_violation_ <= 1e-3
            np.testing.assert_allclose(many.predict(parts[0]).compute(), many.predict(X), rtol=1e-12)
            np.testing.assert_allclose(many.score(*parts), r2_score(y, many.predict(X), sample_weight=weights))
            assert np.isclose(many.score(*parts[:2]), many.score(X, y))


# ---- edge cases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_tube_around_all_targets(loss):
    X, y = problem()
    model = LinearSVR(loss=loss, epsilon=100.0).fit(X, y)
    assert not point(model).any() and model.objective_ == model.duality_gap_ == 0 and model.stop_reason_ == "gap"
    assert model.support_.shape == (0,) and model.dual_coef_.shape == (1, 0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("y", [np.zeros(20), np.full(20, 7.0)])
def test_constant_targets(loss, y):
    X = np.random.default_rng(0).standard_normal((20, 3))
    assert_certified(LinearSVR(loss=loss, C=10.0).fit(X, y), X, y)


def test_parameters_of_scikit_learn_are_taken():
    theirs = svm.LinearSVR().get_params()
    ours = LinearSVR().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    X, y = problem()
    first = LinearSVR().fit(X, y)
    for options in ({"dual": True}, {"dual": False}, {"random_state": 3}):
        np.testing.assert_array_equal(LinearSVR(**options).fit(X, y).coef_, first.coef_)


def test_verbose_shows_a_bar(capfd):
    LinearSVR(verbose=1).fit(*problem())
    assert capfd.readouterr().err
    LinearSVR().fit(*problem())
    assert not capfd.readouterr().err


def test_max_iter_is_a_limit_and_causes_a_warning():
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model = LinearSVR(max_iter=2).fit(X, y)
    assert model.n_iter_ <= 2 and model.stop_reason_ == "max_iter"
    assert_certified(model, X, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": -0.1}, "'epsilon' parameter of LinearSVR must be a finite number >= 0"),
        ({"loss": "huber"}, "must be one of 'epsilon_insensitive'"),
        ({"C": 0.0}, "'C' parameter"),
        ({"dual": "yes"}, "'dual' parameter"),
        ({"intercept_scaling": 0.0}, "'intercept_scaling' parameter"),
        ({"solver": "paper"}, "'solver' parameter"),
    ],
)
def test_bad_parameters(options, words):
    with pytest.raises(ValueError, match=words):
        LinearSVR(**options).fit(*problem())


def test_bad_data():
    X, y = problem()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        LinearSVR().fit(np.where(np.arange(5) == 2, np.nan, X), y)
    with pytest.raises(ValueError, match="y must hold numbers"):
        LinearSVR().fit(X, np.full(len(y), "a"))
    with pytest.warns(ConvergenceWarning, match="Scale the features"):
        LinearSVR(loss=LOSSES[1]).fit(1e90 * X, 1e90 * y)
