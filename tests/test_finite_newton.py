"""LinearSVC against sklearn LinearSVC, the naive twin, SciPy, a QP and a conic solver; certificates; classes."""

from itertools import combinations

import numpy as np
import pytest
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import Ridge
from sklearn.preprocessing import scale
from sklearn.utils.class_weight import compute_class_weight

from hingeline import LinearSVC
from hingeline.linear.sums import MemorySource, Source

from .finite_newton_cases import (
    ARRAYS,
    SMOOTH,
    assert_certified,
    assert_close,
    assert_same,
    machine_problems,
    optimum,
    parameters,
    problem,
    tight,
    weights,
)
from .oracle import naive_finite_newton as naive
from .oracle.naive_finite_newton import LOSSES, augment, naive_fit

# The smallest gaps that are worth asking for may be out of reach of doubles; the result is checked itself.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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
    X, y = REAL[name]
    model = LinearSVC(C=C, solver=solver, **tight("squared_hinge"), **options).fit(X, y)
    reference = svm.LinearSVC(C=C, loss="squared_hinge", dual=False, tol=1e-10, max_iter=100_000, **options).fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, reference.intercept_ + 0 * model.intercept_, rtol=0, atol=1e-6)
    assert model.solver_ == solver


@pytest.mark.parametrize("options", [{}, {"intercept_scaling": 2.0}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("name, C", [("few", 1.0), ("few", 0.05), ("wide", 1.0), ("wine", 0.1)])
def test_hinge_is_that_of_linear_svc(name, C, options):
    X, y = REAL[name]
    model = LinearSVC(C=C, **tight("hinge"), **options).fit(X, y)
    reference = svm.LinearSVC(C=C, loss="hinge", dual=True, tol=1e-10, max_iter=1_000_000, random_state=0, **options)
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
    model = LinearSVC(C=C, solver=solver, **tight(loss), **options).fit(X, y, s)
    ((_, rows, t, c),) = machine_problems(model, X, y, s)
    twin = naive_fit(loss, rows, t, c, C)
    np.testing.assert_allclose(parameters(model), twin.beta, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.objective_, [twin.primal], rtol=1e-9, atol=twin.gap)
    assert_certified(model, X, y, s)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_other_oracles(loss, C):
    X, y = problem(n=90, d=5, seed=7)
    model = LinearSVC(C=C, **tight(loss)).fit(X, y)
    ((_, rows, t, c),) = machine_problems(model, X, y)
    np.testing.assert_allclose(parameters(model), optimum(loss, rows, t, c), rtol=0, atol=1e-6)
    pytest.importorskip("clarabel")
    np.testing.assert_allclose(parameters(model), naive.conic_optimum(loss, rows, t, c), rtol=0, atol=1e-6)


def test_losses_differ():
    # Otherwise the tests of one loss would not test another.
    X, y = problem()
    models = [LinearSVC(C=1.0, **tight(loss)).fit(X, y) for loss in LOSSES]
    for a, b in combinations(models, 2):
        assert np.abs(a.coef_ - b.coef_).max() > 1e-3


@pytest.mark.parametrize("loss", SMOOTH)
def test_finite_differences_vanish_at_the_solution(loss):
    X, y = problem(d=5, seed=2)
    s = weights(len(y), 2)
    model = LinearSVC(C=2.0, intercept_scaling=1.5, **tight(loss)).fit(X, y, s)
    ((_, rows, t, c),) = machine_problems(model, X, y, s)

    def f(beta):
        return naive.primal(loss, rows, t, c, beta)

    steepest = np.abs(finite_differences(f, np.zeros(6))).max()
    assert np.abs(finite_differences(f, parameters(model))).max() <= 1e-7 * steepest


def test_four_points_by_hand():
    # Points 2, 1, -1, -2 on a line, labels of their sign, no intercept: y f = w |x|.  With 2 C = 1 and all of them
    # inside the margin w + sum |x| (w |x| - 1) = 0, w = 6 / 11: but 2 w > 1.  With the inner two alone w = 2 / 3.
    X, y = np.array([[2.0], [1.0], [-1.0], [-2.0]]), [1, 1, 0, 0]
    model = LinearSVC(C=0.5, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[2 / 3]], rtol=1e-6)
    assert model.support_.tolist() == [1, 2]
    np.testing.assert_allclose(model.dual_coef_, [[1 / 3, -1 / 3]], rtol=1e-5)
    np.testing.assert_allclose(model.objective_, [2 / 9 + 1 / 9], rtol=1e-6)
    # The squared loss keeps all four; those beyond the margin pull back.
    model = LinearSVC(C=0.5, fit_intercept=False, loss="squared").fit(X, y)
    np.testing.assert_allclose(model.coef_, [[6 / 11]], rtol=1e-6)
    np.testing.assert_allclose(model.dual_coef_, [[-1 / 11, 5 / 11, -5 / 11, 1 / 11]], rtol=1e-5)
    # The hinge: w = 1 is where the inner two reach the margin, alpha = 1 / 2 each holds it there.
    model = LinearSVC(fit_intercept=False, loss="hinge", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[1.0]], rtol=1e-5)
    np.testing.assert_allclose(model.objective_, [0.5], rtol=1e-8)
    # Huber: a label that is wrong by 1 - 3 w x pulls with 4 C x at most.
    X, y = np.array([[1.0], [1.0], [1.0], [5.0], [-1.0]]), [1, 1, 1, 0, 0]
    model = LinearSVC(C=0.05, fit_intercept=False, loss="huber", tol=1e-12).fit(X, y)
    # w + 0.4 (w - 1) + 0.5 (5 w + 1) = 0 has its root at -0.1 / 3.9, where 1 + 5 w < 2: the square.
    np.testing.assert_allclose(model.coef_, [[-0.1 / 3.9]], rtol=1e-9)
    X[3] = 2.0  # w + 0.4 (w - 1) + 0.2 (2 w + 1) = 0: w = 1 / 9, 1 + 2 w < 2
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, [[1 / 9]], rtol=1e-9)
    model.set_params(C=0.5).fit(np.vstack([X, X[:3]]), [*y, 1, 1, 1])
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
    model = LinearSVC(C=C, solver=solver, **tight("squared"), **options).fit(X, y, s)
    rows = augment(X, scaling)
    normal = np.linalg.solve(np.eye(rows.shape[1]) / (2 * C) + rows.T @ (s[:, None] * rows), rows.T @ (s * t))
    exact = 1e-9 + (np.sqrt(2 * model.duality_gap_[0]) if solver == "cg" else 0.0)
    np.testing.assert_allclose(parameters(model), normal, rtol=0, atol=exact)
    if scaling is None:
        ridge = Ridge(alpha=1 / (2 * C), fit_intercept=False).fit(X, t, s)
        np.testing.assert_allclose(model.coef_[0], ridge.coef_, rtol=0, atol=exact)
    assert len(model.support_) == 60
    np.testing.assert_allclose(model.dual_coef_[0], 2 * C * s * (t - rows @ normal), rtol=1e-6, atol=1e-9)


# ---- certificates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("loss", LOSSES)
def test_tol_is_a_promise(loss, tol):
    X, y = problem(n=150, d=8, seed=5)
    s = weights(len(y), 5)
    model = LinearSVC(C=5.0, loss=loss, tol=tol).fit(X, y, s)
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
    loose, strict = (LinearSVC(loss="hinge", tol=tol).fit(X, y) for tol in (1e-1, 1e-8))
    assert loose.n_iter_ < strict.n_iter_
    assert loose.n_passes_ < strict.n_passes_
    assert loose.duality_gap_[0] > strict.duality_gap_[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_dual_coefficients_are_slopes_of_the_loss(loss):
    X, y = problem(n=150, seed=6)
    s, C = weights(150, 6), 2.0
    model = LinearSVC(C=C, **tight(loss)).fit(X, y, s)
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
        np.testing.assert_allclose(signed * t, C * s * naive.slope(loss, xi), rtol=0, atol=1e-6)
    if loss == "huber":
        assert np.isclose(signed * t, 4 * C * s, rtol=1e-12, atol=0)[s > 0].any()
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
    model = LinearSVC(C=10.0, loss=loss, multi_class=multi_class, solver=solver, tol=1e-9).fit(X, y)
    history = model.history_
    assert set(history) == {"machine", "step", "seconds", "objective", "duality_gap", "n_active"}
    assert len({len(column) for column in history.values()}) == 1
    assert set(np.asarray(history["machine"]).tolist()) == {0, 1, 2}
    assert type(model.n_iter_) is int and model.n_iter_ == history["step"].max()
    for k, (_, rows, t, c) in enumerate(machine_problems(model, X, y)):
        one = {name: np.asarray(column)[np.asarray(history["machine"]) == k] for name, column in history.items()}
        # A narrower hinge begins where the last one has ended.
        assert (np.diff(one["step"]) >= (0 if loss == "hinge" else 1)).all()
        assert one["step"][-1] == one["step"].max()
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
        model = LinearSVC(multi_class=multi_class).fit(X, y)
        n_support = len(model.support_)
        shapes = {name: np.shape(getattr(model, name)) for name in [*ARRAYS, "stop_reason_"]}
        assert shapes.pop("coef_") == (n_machines, 4)
        assert shapes.pop("dual_coef_") == (n_machines, n_support)
        assert shapes.pop("support_") == (n_support,)
        assert shapes.pop("n_iter_") == ()
        assert set(shapes.values()) == {(n_machines,)}
        assert type(model.n_passes_) is float and model.n_passes_ > 0
        assert model.n_features_in_ == 4
        assert model.solver_ in ("gram", "cg")
    model = LinearSVC().fit(X, y > 1)
    assert model.coef_.shape == (1, 4) and model.intercept_.shape == (1,)
    assert LinearSVC(fit_intercept=False).fit(X, y).intercept_.tolist() == [0.0] * 4


# ---- classes and weights -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [{0: 0.5, 1: 4.0}, {1: 3.0}, "balanced"], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_are_sample_weights(loss, class_weight):
    X, y = problem(n=100, seed=18)
    s = weights(100) + 0.25
    model = LinearSVC(C=0.3, class_weight=class_weight, **tight(loss)).fit(X, y, s)
    factor = (
        compute_class_weight("balanced", classes=np.array([0, 1]), y=y)
        if class_weight == "balanced"
        else [class_weight.get(0, 1.0), class_weight[1]]
    )
    assert_close(model, LinearSVC(C=0.3, **tight(loss)).fit(X, y, s * np.asarray(factor)[y]), atol=1e-7)
    assert np.abs(model.coef_ - LinearSVC(C=0.3, loss=loss).fit(X, y, s).coef_).max() > 1e-3
    assert_certified(model, X, y, s)


@pytest.mark.parametrize("class_weight", [None, {0: 2.0, 2: 0.5}, "balanced"], ids=str)
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("loss", LOSSES)
def test_several_classes_are_several_machines(loss, multi_class, class_weight):
    X, y = problem(n=150, n_classes=4, seed=19)
    s = weights(150) + 0.5
    options = {"C": 1.5, **tight(loss)}
    model = LinearSVC(multi_class=multi_class, class_weight=class_weight, **options).fit(X, y, s)
    assert_certified(model, X, y, s)
    for k, (of, _, t, c) in enumerate(machine_problems(model, X, y, s)):
        alone = LinearSVC(**options).fit(X[of], t, c / 1.5)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=0, atol=1e-7)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_[0], rtol=0, atol=1e-7)
        np.testing.assert_allclose(model.objective_[k], alone.objective_[0], rtol=1e-8 if loss == "hinge" else 1e-9)


def test_decisions_of_classes():
    X, y = problem(n=150, n_classes=3, seed=20)
    labels = np.array(["low", "mid", "top"])[y]
    model = LinearSVC().fit(X, labels)
    values = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), values, rtol=0, atol=1e-12)
    assert model.classes_.tolist() == ["low", "mid", "top"]
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])
    assert model.score(X, labels) == (model.predict(X) == labels).mean() > 0.5
    pairs = LinearSVC(multi_class="ovo", decision_function_shape="ovo").fit(X, labels)
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
    binary = LinearSVC().fit(X, y > 1)
    values = binary.decision_function(X)
    np.testing.assert_allclose(values, X @ binary.coef_[0] + binary.intercept_[0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(binary.predict(X), values > 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_class_without_weight(loss):
    X, y = problem(n=50, seed=21)
    s = np.where(y == 1, 1.0, 0.0)
    model = LinearSVC(**tight(loss)).fit(X, y, s)
    assert model.classes_.tolist() == [0, 1]
    assert_certified(model, X, y, s)
    ((_, rows, t, c),) = machine_problems(model, X, y, s)
    np.testing.assert_allclose(parameters(model), naive_fit(loss, rows, t, c).beta, rtol=0, atol=1e-6)


# ---- the published method --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["paper", "plain"])
@pytest.mark.parametrize("loss", LOSSES)
def test_published_method(loss, solver):
    X, y = problem(n=200, d=8, n_classes=3, seed=41)
    model = LinearSVC(C=5.0, loss=loss, solver=solver, tol=1e-7).fit(X, y)
    best = LinearSVC(C=5.0, **tight(loss)).fit(X, y)
    assert model.solver_ == solver
    np.testing.assert_allclose(model.coef_, best.coef_, rtol=0, atol=1e-3 if loss == "hinge" else 1e-5)
    assert set(model.stop_reason_) == {"gap" if loss == "hinge" else "residual"}
    assert_certified(model, X, y)
    if loss == "hinge":
        return
    for k, (_, rows, t, c) in enumerate(machine_problems(model, X, y)):  # equation 13
        beta = parameters(model, k)
        xi = 1 - t * (rows @ beta)
        low, high = naive.SQUARE[loss]
        curved = (xi > low) & (xi < high)
        gradient = naive.gradient(loss, rows, t, c, beta) / (2 * 5.0)
        assert np.linalg.norm(gradient) <= 1e-7 * np.sqrt((c / 5.0 * xi**2)[curved].sum()) * (1 + 1e-6)


def test_heuristics_of_the_paper():
    """Ten steps for the first system, and a first round to 1e-2, save passes; a warm start needs neither."""
    X, y = problem(n=2000, d=40, seed=42)
    X *= np.geomspace(0.1, 10, 40)
    paper, plain = (LinearSVC(C=5.0, solver=solver, tol=1e-6).fit(X, y) for solver in ("paper", "plain"))
    assert paper.n_passes_ < plain.n_passes_
    again = [LinearSVC(C=6.0, solver=s, tol=1e-6, warm_start=True) for s in ("paper", "plain")]
    for model in again:
        model.set_params(C=5.0).fit(X, y)
        model.coef_, model.intercept_ = plain.coef_, plain.intercept_
        model.set_params(C=6.0).fit(X, y)
    assert_same(*again)


# ---- the contract of the rows ----------------------------------------------------------------------------------------


def test_rows_in_memory_are_a_source():
    for name in dir(Source):
        if not name.startswith("_"):
            assert hasattr(MemorySource, name), name
