"""solver="paper" against Appendix A of the finite Newton paper, written line by line: every iterate."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from hingeline import LinearSVC, OrdinalSVC, linear_svc_path
from hingeline.linear import published

from .finite_newton_cases import assert_certified, parameters, problem
from .oracle.naive_finite_newton import appendix_a, augment, first_guess, ordinal_rows, width_as_printed

# Rounding of the objective may end a run before its rule is met; every iterate is compared.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def sets():
    """Rows and labels: real, random, text-like; ties, duplicates, constant columns; few rows, few features."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast_cancer", scale(X), y
    X, y = load_iris(return_X_y=True)
    yield "iris", X, y == 1
    X, y = load_wine(return_X_y=True)
    yield "wine", scale(X), y == 0
    for seed, (n, d) in enumerate(
        [(40, 3), (90, 12), (150, 6), (60, 60), (30, 80), (25, 2), (200, 4), (70, 5), (300, 20)]
    ):
        yield f"random {n} x {d}", *problem(n=n, d=d, seed=seed)
    rng = np.random.default_rng(7)
    yield "binary", (rng.random((120, 25)) < 0.2).astype(float), rng.integers(0, 2, 120)
    yield "integers", rng.integers(-2, 3, (80, 4)).astype(float), rng.integers(0, 2, 80)
    X, y = problem(n=50, d=4, seed=8)
    yield "duplicates", np.vstack([X, X, X]), np.concatenate([y, y, 1 - y])
    yield "constant column", np.column_stack([X, np.full(50, 3.0)]), y
    yield "scales", X * [1e-2, 1.0, 10.0, 1.0], y
    yield "separable", X, X[:, 0] > 0.2
    yield "one feature", X[:, :1], y
    yield "float32", X.astype(np.float32), y


SETS = {name: (X, np.asarray(y)) for name, X, y in sets()}


@pytest.fixture
def recorded(monkeypatch):
    """Weight vectors and CGLS steps of each run of the iterations."""
    runs = []

    def record(*args, **options):
        runs.append([])
        for step in iterations(*args, **options):
            runs[-1].append((step.beta * [*[1.0] * (len(step.beta) - 1), -1.0], step.cgls_steps))
            yield step

    iterations = published.iterations
    monkeypatch.setattr(published, "iterations", record)
    return runs


#: Conjugate gradients multiply rounding errors: on these sets Appendix A itself takes other numbers of CGLS steps, or
#: comes to weights that differ in the eighth digit, if its rows are in the reverse order.
TOUCHY = ("breast_cancer", "iris", "wine", "random 60 x 60", "random 30 x 80", "random 90 x 12", "binary", "scales")


def assert_same_iterates(found, printed, touchy=False):
    """The same weights and numbers of CGLS steps in each iteration; on the sets above, while rounding allows it.

    `printed` is what makes the iterates of Appendix A, given an order of the rows.
    """
    first, again = (list(printed(order)) for order in (slice(None), slice(None, None, -1)))
    if not touchy:
        assert len(found) == len(first)
        assert [count for _, count in found] == [count for _, count in first] == [count for _, count in again]
    for (beta, count), (expected, steps), (other, _) in zip(found, first, again, strict=not touchy):
        size, noise = np.abs(expected).max(), np.abs(expected - other).max()
        if touchy and (count != steps or noise > 1e-11 * size):
            break
        assert count == steps
        np.testing.assert_allclose(beta, expected, rtol=0, atol=1e-10 * size + 30 * noise)
        assert noise <= 1e-9 * size
    np.testing.assert_allclose(found[-1][0], first[-1][0], rtol=0, atol=1e-5 * np.abs(first[-1][0]).max())


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
@pytest.mark.parametrize("C", [0.1, 4.0])
@pytest.mark.parametrize("name", SETS)
def test_every_iterate_is_that_of_appendix_a(name, C, loss, recorded):
    X, y = SETS[name]
    rows, t = augment(X), np.where(y, 1.0, -1.0)
    model = LinearSVC(C=C / 2, loss=loss, solver="paper", tol=1e-6).fit(X, y)
    zero, omega = np.zeros(rows.shape[1]), 2.0 if loss == "huber" else np.inf
    (found,) = recorded
    assert_same_iterates(
        found, lambda order: appendix_a(rows[order], t[order], 1 / C, zero, omega=omega), name in TOUCHY
    )
    assert model.n_iter_ == len(found) and model.stop_reason_.tolist() == ["residual"]
    np.testing.assert_array_equal(parameters(model), found[-1][0])
    assert_certified(model, X.astype(float), y)


@pytest.mark.parametrize("name", ["random 150 x 6", "duplicates", "binary", "one feature"])
def test_plain_is_without_the_heuristics(name, recorded):
    X, y = SETS[name]
    rows, t, C = augment(X), np.where(y, 1.0, -1.0), 2.0
    LinearSVC(C=C / 2, solver="plain", tol=1e-6).fit(sp.csr_matrix(X), y)
    zero = np.zeros(rows.shape[1])
    printed = lambda order: appendix_a(rows[order], t[order], 1 / C, zero, 5000, [1e-6])  # noqa: E731
    assert_same_iterates(recorded[0], printed, name in TOUCHY)


@pytest.mark.parametrize("C", [0.2, 3.0])
@pytest.mark.parametrize("name", SETS)
def test_the_hinge_goes_by_halves(name, C, recorded):
    """The widths are 2^-j, and each run starts from the minimum before."""
    X, y = SETS[name]
    rows, t = augment(X), np.where(y, 1.0, -1.0)
    model = LinearSVC(C=C, loss="hinge", solver="paper", tol=1e-2).fit(X, y)
    assert model.stop_reason_.tolist() == ["gap"]
    assert model.duality_gap_[0] <= 1e-2 * model.objective_[0]
    assert model.n_iter_ == sum(map(len, recorded))
    beta = np.zeros(rows.shape[1])
    for j, found in enumerate(recorded):
        assert_same_iterates(
            found,
            lambda order: width_as_printed(rows[order], t[order], 1 / C, beta, j),  # noqa: B023
            name in (*TOUCHY, "random 300 x 20"),
        )
        beta = found[-1][0]


@pytest.mark.parametrize("name", ["duplicates", "random 150 x 6", "binary"])
def test_starts(name, recorded):
    """Another C begins at the last minimum without heuristics; a guess of w is scaled over its rows by equation 9."""
    X, y = SETS[name]
    rows, t, C = augment(X), np.where(y, 1.0, -1.0), 1.0

    def assert_run(found, lam, start, *more):
        assert_same_iterates(found, lambda order: appendix_a(rows[order], t[order], lam, start, *more), name in TOUCHY)

    models = linear_svc_path(X, y, Cs=[C / 2, C], solver="paper", tol=1e-6)
    assert_run(recorded[0], 1 / C, np.zeros(rows.shape[1]))
    assert_run(recorded[1], 0.5 / C, recorded[0][-1][0], 5000, [1e-6])
    del recorded[:]
    model = LinearSVC(C=C / 2, solver="paper", tol=1e-6, warm_start=True).fit(X, y).set_params(C=C).fit(X, y)
    assert_run(recorded[1], 0.5 / C, recorded[0][-1][0], 5000, [1e-6])
    np.testing.assert_allclose(model.coef_, models[1].coef_, atol=1e-7)
    guess = X[y == 1].mean(axis=0) - X[y != 1].mean(axis=0)
    for some in (np.arange(len(t)), np.arange(0, len(t), 3)):
        del recorded[:]
        more = {} if len(some) == len(t) else {"support_init": some}
        LinearSVC(C=C / 2, solver="paper", tol=1e-6).fit(X, y, coef_init=[guess], **more)
        assert_run(recorded[0], 1 / C, first_guess(guess, X[some], t[some], np.ones(len(some)), 1 / C))


def test_the_rows_of_a_guess_count_for_all_solvers():
    X, y = SETS["wine"]
    guess = np.linspace(-1, 1, X.shape[1])
    everyone, few = (
        LinearSVC(C=0.5, solver="plain").fit(X, y, coef_init=[guess], **more).history_["objective"][0]
        for more in ({}, {"support_init": np.arange(9)})
    )
    assert everyone != few
    for bad, words in (
        ([[1]], "row numbers"), ([0.5], "row numbers"), ([-1], "row numbers"), ([], "row numbers")
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            LinearSVC().fit(X, y, coef_init=[guess], support_init=bad)
    with pytest.raises(ValueError, match="coef_init"):
        LinearSVC().fit(X, y, support_init=[1])
    with pytest.raises(ValueError, match="no effect"):
        LinearSVC().fit(X, y, coef_init=[guess], intercept_init=[0.0], support_init=[1])


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_ordered_classes_are_more_rows(loss, recorded):
    """Section 7: the iterates are those over a row for each threshold."""
    for seed in range(4):
        X, y = problem(n=60, d=4, n_classes=4, seed=seed)
        rows, t = ordinal_rows(X, y, 4)
        model = OrdinalSVC(C=1.0, loss=loss, solver="paper", tol=1e-6).fit(X, y)
        omega = 2.0 if loss == "huber" else np.inf
        found = [(beta * [*[1.0] * (len(beta) - 1), -1.0], count) for beta, count in recorded.pop()]
        zero = np.zeros(rows.shape[1])
        assert_same_iterates(found, lambda order: appendix_a(rows[order], t[order], 0.5, zero, omega=omega))  # noqa: B023
        np.testing.assert_array_equal(np.concatenate([model.coef_, model.thresholds_]), found[-1][0])


def test_a_tolerance_beyond_rounding_ends():
    X, y = SETS["random 40 x 3"]
    with pytest.warns(ConvergenceWarning, match="precision"):
        model = LinearSVC(solver="paper", tol=0.0).fit(X, y)
    assert model.stop_reason_.tolist() == ["precision"]
    assert model.duality_gap_[0] <= 1e-12 * model.objective_[0]
