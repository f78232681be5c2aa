"""OrdinalSVC: against the naive twin on virtual rows and a conic solver, and the laws of thresholds."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import scale
from sklearn.utils.class_weight import compute_class_weight

from hingeline import LinearSVC, OrdinalSVC

from .copies import COPIES
from .finite_newton_cases import SMOOTH, tight, weights, wide_indices
from .oracle import naive_finite_newton as naive
from .oracle.naive_finite_newton import LOSSES, naive_fit, ordinal_rows

ARRAYS = ["coef_", "thresholds_", "objective_", "duality_gap_", "n_iter_"]

# The smallest gaps that are worth asking for may be out of reach of doubles; the result is checked itself.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def problem(n=90, d=4, n_classes=4, seed=0, noise=0.7):
    """Classes in a row, of different sizes; a few labels are far off, for Huber's loss to show."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.3
    score = 2 * X[:, 0] - X[:, -1] + noise * rng.standard_normal(n) + 8 * (rng.random(n) < 0.05)
    return X, np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1] ** 0.7), score)


def parameters(model):
    return np.concatenate([model.coef_, model.thresholds_])


def virtual(model, X, codes, sample_weight=None):
    """(rows, t, c) of the problem with all its virtual rows, from the definitions."""
    p = len(model.classes_)
    s = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if isinstance(model.class_weight, dict):
        s = s * np.array([model.class_weight.get(label, 1.0) for label in model.classes_.tolist()])[codes]
    elif model.class_weight is not None:
        s = s * compute_class_weight("balanced", classes=np.unique(codes), y=codes)[codes]
    return *ordinal_rows(X, codes, p), np.repeat(model.C * s, p - 1)


def number(value):
    """What may be a number or an array of one."""
    return float(np.asarray(value).reshape(()) if np.ndim(value) == 0 else np.asarray(value).item())


def assert_optimal(model, X, codes, sample_weight=None, atol=1e-6):
    """The twin's parameters, and a certificate that holds."""
    rows, t, c = virtual(model, X, codes, sample_weight)
    twin = naive_fit(model.loss, rows, t, c, model.C)
    np.testing.assert_allclose(parameters(model), twin.beta, rtol=0, atol=atol)
    assert_certified(model, X, codes, sample_weight, twin)


def assert_certified(model, X, codes, sample_weight=None, twin=None):
    rows, t, c = virtual(model, X, codes, sample_weight)
    twin = naive_fit(model.loss, rows, t, c, model.C) if twin is None else twin
    value, gap = number(model.objective_), number(model.duality_gap_)
    np.testing.assert_allclose(value, naive.primal(model.loss, rows, t, c, parameters(model)), rtol=1e-10)
    assert gap >= 0
    assert value - gap <= twin.primal * (1 + 1e-11)
    assert twin.primal - twin.gap <= value * (1 + 1e-11)
    distance = np.linalg.norm(parameters(model) - twin.beta)
    assert distance <= np.sqrt(2 * gap) + np.sqrt(2 * abs(twin.gap)) + 1e-6
    assert (np.diff(model.thresholds_) >= -np.sqrt(8 * gap) - 1e-9).all()


def assert_same(a, b):
    """To the bit."""
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


# ---- coefficients and thresholds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_twin_against_the_conic_solver(loss, C):
    pytest.importorskip("clarabel")
    X, y = problem()
    rows, t = ordinal_rows(X, y, 4)
    c = C * np.repeat(weights(len(y)), 3)
    twin = naive_fit(loss, rows, t, c, C)
    np.testing.assert_allclose(twin.beta, naive.conic_optimum(loss, rows, t, c), atol=1e-6 if loss == "hinge" else 1e-9)
    assert (np.diff(twin.beta[4:]) > 0).all()


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("loss", LOSSES)
def test_twin(loss, n_classes, C, solver):
    X, y = problem(n_classes=n_classes, seed=n_classes)
    s = weights(len(y), 1)
    model = OrdinalSVC(C=C, solver=solver, **tight(loss)).fit(X, y, s)
    assert model.coef_.shape == (4,) and model.thresholds_.shape == (n_classes - 1,)
    assert model.classes_.tolist() == list(range(n_classes))
    assert_optimal(model, X, y, s)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_conic_solver(loss, C):
    pytest.importorskip("clarabel")
    X, y = problem(seed=3)
    model = OrdinalSVC(C=C, **tight(loss)).fit(X, y)
    best = naive.conic_optimum(loss, *virtual(model, X, y))
    np.testing.assert_allclose(parameters(model), best, rtol=0, atol=1e-6)


def test_three_points_by_hand():
    # x = -1, 0, 1 are classes 0, 1, 2.  By symmetry the thresholds are -h and h, and each has xi = 1 - w + h, 1 - h
    # and 1 - w - h.  So (w^2 + 2 h^2) / 2 + 2 C ((1 - w + h)^2 + (1 - h)^2 + (1 - w - h)^2) has to be
    # least: w = 4 C (2 - 2 w), h = 2 C (1 - 3 h).
    X, y, C = np.array([[-1.0], [0.0], [1.0]]), [0, 1, 2], 0.05
    model = OrdinalSVC(C=C, loss="squared", tol=1e-13).fit(X, y)
    (w, low, high), again = parameters(model), naive.smooth_optimum("squared", *virtual(model, X, np.array(y)))
    np.testing.assert_allclose([w, low, high], again, rtol=0, atol=1e-8)
    np.testing.assert_allclose(low, -high, rtol=0, atol=1e-10)
    np.testing.assert_allclose(w, 8 * C / (1 + 8 * C), rtol=1e-8)
    np.testing.assert_allclose(high, 2 * C / (1 + 6 * C), rtol=1e-8)


@pytest.mark.parametrize("loss", SMOOTH)
def test_finite_differences_vanish_at_the_solution(loss):
    X, y = problem(seed=4)
    s = weights(len(y), 4)
    model = OrdinalSVC(C=2.0, **tight(loss)).fit(X, y, s)
    rows, t, c = virtual(model, X, y, s)

    def slopes(beta, h=1e-5):
        f = [[naive.primal(loss, rows, t, c, beta + sign * h * e) for sign in (1, -1)] for e in np.eye(len(beta))]
        return np.array([(up - down) / (2 * h) for up, down in f])

    assert np.abs(slopes(parameters(model))).max() <= 1e-7 * np.abs(slopes(np.zeros(7))).max()


@pytest.mark.parametrize("loss", LOSSES)
def test_two_classes_are_the_binary_machine(loss):
    X, y = problem(n_classes=2, seed=5)
    s = weights(len(y), 5)
    ordinal = OrdinalSVC(C=2.0, **tight(loss)).fit(X, y, s)
    binary = LinearSVC(C=2.0, **tight(loss)).fit(X, y, s)
    np.testing.assert_allclose(ordinal.coef_, binary.coef_[0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(ordinal.thresholds_, -binary.intercept_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(number(ordinal.objective_), binary.objective_[0], rtol=1e-9)
    values = ordinal.decision_function(X)
    assert values.shape == (len(X),)
    np.testing.assert_allclose(values, binary.decision_function(X), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(ordinal.predict(X), binary.predict(X))


# ---- thresholds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_thresholds_ascend(loss):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((40, 3)), rng.integers(0, 5, 40)  # labels that follow no order
        model = OrdinalSVC(C=10.0 ** rng.integers(-2, 3), loss=loss, tol=1e-9).fit(X, y)
        assert (np.diff(model.thresholds_) >= 0).all()
        assert_certified(model, X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_empty_class_in_the_middle(loss):
    X, y = problem(seed=6)
    labels = np.array([0, 1, 3, 4])[y]
    model = OrdinalSVC(C=2.0, classes=[0, 1, 2, 3, 4], **tight(loss)).fit(X, labels)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert_optimal(model, X, labels)
    np.testing.assert_allclose(model.thresholds_[1], model.thresholds_[2], rtol=0, atol=1e-6)
    assert np.diff(model.thresholds_)[[0, 2]].min() > 0.1
    # The threshold that is there twice is not the problem without the class.
    without = OrdinalSVC(C=2.0, **tight(loss)).fit(X, labels)
    assert without.classes_.tolist() == [0, 1, 3, 4]
    assert np.abs(model.coef_ - without.coef_).max() > 1e-4
    assert_optimal(without, X, y)


@pytest.mark.parametrize("classes", [[0, 1, 2, 3, 4], [-1, 0, 1, 2, 3]], ids=["last", "first"])
def test_an_empty_class_at_the_end(classes):
    X, y = problem(seed=7)
    model = OrdinalSVC(classes=classes, **tight("squared_hinge")).fit(X, y)
    assert_optimal(model, X, y - classes[0])
    assert set(model.predict(X)) <= set(classes)


def test_the_order_is_the_users():
    X, y = problem(n_classes=3, seed=8)
    names = np.array(["low", "mid", "high"])
    options = {"C": 2.0, **tight("squared_hinge")}
    model = OrdinalSVC(classes=["low", "mid", "high"], **options).fit(X, names[y])
    plain = OrdinalSVC(**options).fit(X, y)
    assert model.classes_.tolist() == ["low", "mid", "high"]
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.thresholds_, plain.thresholds_)
    np.testing.assert_array_equal(model.predict(X), names[plain.predict(X)])
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    alphabet = OrdinalSVC(**options).fit(X, names[y])
    assert alphabet.classes_.tolist() == ["high", "low", "mid"]
    assert alphabet.score(X, names[y]) < model.score(X, names[y])
    assert_optimal(alphabet, X, np.array([1, 2, 0])[y])


@pytest.mark.parametrize("loss", LOSSES)
def test_backwards_is_the_other_sign(loss):
    X, y = problem(seed=9)
    model = OrdinalSVC(C=2.0, **tight(loss)).fit(X, y)
    other = OrdinalSVC(C=2.0, classes=[3, 2, 1, 0], **tight(loss)).fit(X, y)
    assert other.classes_.tolist() == [3, 2, 1, 0]
    np.testing.assert_allclose(other.coef_, -model.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(other.thresholds_, -model.thresholds_[::-1], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


# ---- predictions ---------------------------------------------------------------------------------------------------


def test_predictions_count_thresholds():
    X, y = problem(n=200, n_classes=5, seed=10)
    labels = np.array([1.0, 2.0, 5.0, 7.0, 9.0])[y]
    model = OrdinalSVC().fit(X, labels)
    score, b = X @ model.coef_, model.thresholds_
    expected = model.classes_[(score[:, None] > b).sum(axis=1)]
    np.testing.assert_array_equal(model.predict(X), expected)
    assert model.score(X, labels) == (expected == labels).mean() > 0.5
    ends = np.concatenate([[-np.inf], b, [np.inf]])
    values = model.decision_function(X)
    assert values.shape == (200, 5)
    np.testing.assert_allclose(
        values, np.minimum(score[:, None] - ends[:-1], ends[1:] - score[:, None]), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(model.classes_[values.argmax(axis=1)], expected)


def test_on_the_threshold():
    """x.w > b_s is strict."""
    X, y = np.array([[-1.0], [-1.0], [1.0], [1.0]]), [0, 0, 1, 1]
    model = OrdinalSVC(loss="squared").fit(X, y)
    model.coef_, model.thresholds_ = np.array([2.0]), np.array([1.0])
    assert model.predict([[0.5], [0.5 + 1e-9], [0.5 - 1e-9]]).tolist() == [0, 1, 0]


def test_an_order_helps():
    # A subtly wrong sign or threshold falls far below this.
    X, target = load_diabetes(return_X_y=True)
    X, y = scale(X), np.searchsorted(np.quantile(target, [0.25, 0.5, 0.75]), target)
    model = OrdinalSVC().fit(X, y)
    assert np.abs(model.predict(X) - y).mean() < 0.75
    assert np.corrcoef(X @ model.coef_, target)[0, 1] > 0.68


# ---- one problem, many guises ----------------------------------------------------------------------------------------


FORMS = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "int64 indices": wide_indices,
    "csc": sp.csc_matrix,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float32 csr": lambda X: sp.csr_matrix(X, dtype=np.float32),
}


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_any_container(loss, form, solver):
    """Numbers that float32 holds exactly: the problem is the very same."""
    X, y = problem(d=8, seed=11)
    X = (X * (np.random.default_rng(0).random(X.shape) < 0.4)).astype(np.float32).astype(float)
    X[17] = 0.0  # an empty row
    options = {"C": 2.0, "solver": solver, **tight(loss)}
    dense = OrdinalSVC(**options).fit(X, y)
    other = OrdinalSVC(**options).fit(FORMS[form](X), y)
    np.testing.assert_allclose(parameters(other), parameters(dense), rtol=0, atol=1e-6 if loss == "hinge" else 1e-8)
    np.testing.assert_array_equal(other.predict(FORMS[form](X)), dense.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_many_features(loss):
    rng = np.random.default_rng(0)
    X = sp.random(60, 3000, density=0.01, random_state=0, format="csr", data_rvs=rng.standard_normal)
    y = rng.integers(0, 3, 60)
    model = OrdinalSVC(C=0.5, **tight(loss)).fit(X, y)
    U, sigma, Vt = np.linalg.svd(X.toarray(), full_matrices=False)
    rows, t = ordinal_rows(U * sigma, y, 3)
    twin = naive_fit(loss, rows, t, np.full(len(t), 0.5), 0.5)
    np.testing.assert_allclose(model.coef_, Vt.T @ twin.beta[:-2], rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.thresholds_, twin.beta[-2:], rtol=0, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_copies(loss):
    X, y = problem(n=70, seed=12)
    times = np.random.default_rng(0).integers(0, 4, 70)
    repeated = np.repeat(np.arange(70), times)
    options = {"C": 1.5, **tight(loss)}
    weighted = OrdinalSVC(**options).fit(X, y, times)
    for other in (
        OrdinalSVC(**options).fit(X[repeated], y[repeated]),
        OrdinalSVC(**options).fit(X[times > 0], y[times > 0], times[times > 0]),
        OrdinalSVC(**options).set_params(C=0.5).fit(X, y, 3 * times),
    ):
        np.testing.assert_allclose(parameters(other), parameters(weighted), rtol=0, atol=1e-7)


@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.5}, "balanced"], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights(loss, class_weight):
    X, y = problem(seed=13)
    s = weights(len(y)) + 0.25
    model = OrdinalSVC(C=0.5, class_weight=class_weight, **tight(loss)).fit(X, y, s)
    assert_optimal(model, X, y, s)
    plain = OrdinalSVC(C=0.5, **tight(loss)).fit(X, y, s)
    assert np.abs(parameters(model) - parameters(plain)).max() > 1e-3


@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_threads_change_no_bit(solver):
    X, y = problem(n=7001, d=10, seed=14)
    one, two, three = (OrdinalSVC(solver=solver, n_jobs=k, tol=1e-4).fit(X, y) for k in (1, 2, 3))
    assert_same(one, two)
    assert_same(one, three)
    assert_same(one, clone(one).fit(X, y))


@pytest.mark.parametrize("loss", LOSSES)
def test_gram_is_cg(loss):
    X, y = problem(n=200, d=12, seed=15)
    X *= np.geomspace(0.1, 10, 12)
    gram, cg = (OrdinalSVC(C=3.0, solver=solver, **tight(loss)).fit(X, y) for solver in ("gram", "cg"))
    np.testing.assert_allclose(parameters(gram), parameters(cg), rtol=0, atol=1e-6)


def test_warm_start():
    X, y = problem(seed=16)
    model = OrdinalSVC(warm_start=True, tol=1e-9).fit(X, y)
    cold = number(model.n_iter_)
    assert_same(model, OrdinalSVC(tol=1e-9).fit(X, y))
    model.fit(X, y)
    assert number(model.n_iter_) < cold
    model.set_params(C=3.0).fit(X, y)
    assert_certified(model, X, y)
    for features, labels in ((X[:, :2], y), (X, y % 3), (X, y + 1)):
        model.fit(X, y).fit(features, labels)
        assert_same(model, OrdinalSVC(C=3.0, tol=1e-9).fit(features, labels))


# ---- promises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("loss", LOSSES)
def test_tol_is_a_promise(loss, tol):
    X, y = problem(n=120, d=6, seed=17)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = OrdinalSVC(C=5.0, loss=loss, tol=tol).fit(X, y)
    assert np.ravel(model.stop_reason_).tolist() == ["gap"]
    assert 0 <= number(model.duality_gap_) <= tol * number(model.objective_)
    assert_certified(model, X, y)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber", "hinge"])
def test_max_iter_warns(loss):
    X, y = problem(n=150, d=8, seed=18)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = OrdinalSVC(C=10.0, loss=loss, max_iter=1, tol=1e-9).fit(X, y)
    assert np.ravel(model.stop_reason_).tolist() == ["max_iter"]
    assert number(model.n_iter_) == 1
    assert_certified(model, X, y)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 14),
    st.integers(1, 3),
    st.integers(2, 5),
    st.sampled_from(LOSSES),
    st.sampled_from([1e-4, 0.1, 1.0, 100.0]),
    st.sampled_from(["gram", "cg"]),
    st.integers(0, 2**31 - 1),
)
def test_small_problems(n, d, n_classes, loss, C, solver, seed):
    """Integers: duplicates, ties, constant columns, empty classes."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(0, n_classes, n)
    y[:2] = [0, n_classes - 1]
    if rng.random() < 0.3:
        X[:, 0] = 2.0
    model = OrdinalSVC(C=C, loss=loss, solver=solver, classes=np.arange(n_classes), tol=1e-6).fit(X, y)
    assert number(model.duality_gap_) <= 1e-6 * number(model.objective_), model.stop_reason_
    assert_certified(model, X, y)


# ---- objects and bad input -------------------------------------------------------------------------------------------

OTHER = {
    "C": 2.0,
    "loss": "huber",
    "classes": [3, 2, 1, 0],
    "tol": 1e-3,
    "kkt_tol": 1e-2,
    "max_iter": 77,
    "solver": "cg",
    "class_weight": "balanced",
    "warm_start": True,
    "n_jobs": 2,
}


def test_parameters_go_round():
    model = OrdinalSVC()
    defaults = model.get_params()
    assert defaults.keys() == OTHER.keys()
    assert all(defaults[name] != value for name, value in OTHER.items())
    assert model.set_params(**OTHER).get_params() == OTHER
    model.fit(*problem())
    assert vars(clone(model)) == OTHER


@pytest.mark.parametrize("copied", COPIES)
def test_copies_are_the_same_to_the_bit(copied):
    X, y = problem()
    model = OrdinalSVC().fit(X, y)
    one = COPIES[copied](model)
    assert_same(one, model)
    np.testing.assert_array_equal(one.decision_function(X), model.decision_function(X))
    assert one.get_params() == model.get_params()


BAD_PARAMETERS = {
    "C": [0, -1.0, np.nan, "1", None, True],
    "loss": ["l2", None],
    "classes": [[0, 1, 1, 2, 3], [0], [], [[0, 1], [2, 3]], 4],
    "tol": [-1e-3, np.nan, None],
    "kkt_tol": [-1e-3, np.nan, np.inf, "1e-3", True],
    "max_iter": [-5, 1.5, True],
    "solver": ["lbfgs", None],
    "class_weight": ["heavy", {0: -1.0}],
    "warm_start": ["yes"],
    "n_jobs": [0, 1.5],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, bad in BAD_PARAMETERS.items() for value in bad])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        OrdinalSVC(**{name: value}).fit(*problem())


def test_a_label_out_of_order():
    X, y = problem()
    with pytest.raises(ValueError, match=r"\bclasses\b.*3|3.*\bclasses\b"):
        OrdinalSVC(classes=[0, 1, 2]).fit(X, y)


BAD_DATA = {
    "nan": (lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
    "lengths": (lambda X, y: (X, y[1:]), "inconsistent"),
    "one class": (lambda X, y: (X, 0 * y + 3), "class"),
    "negative weight": (lambda X, y: (X, y, np.where(y > y.min(), -1.0, 1.0)), "[Nn]egative|sample_weight"),
    "weights for others": (lambda X, y: (X, y, np.ones(3)), "sample_weight"),
    "no weight": (lambda X, y: (X, y, 0.0 * y), "weight"),
    "no labels": (lambda X, y: (X, None), "requires y"),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_leaves_the_model_as_it_was(kind):
    change, words = BAD_DATA[kind]
    X, y = problem()
    with pytest.raises(ValueError, match=words):
        OrdinalSVC().fit(*change(X, y))
    model = OrdinalSVC().fit(X, y)
    before = {name: pickle.dumps(value) for name, value in vars(model).items()}
    with pytest.raises(ValueError, match=words):  # other features and classes, to leave traces if it could
        model.fit(*change(np.hstack([X, X]), y + 5))
    assert {name: pickle.dumps(value) for name, value in vars(model).items()} == before


@pytest.mark.parametrize("method", ["predict", "decision_function", "score"])
def test_bad_queries(method):
    X, y = problem()
    rest = (y,) if method == "score" else ()
    with pytest.raises(NotFittedError):
        getattr(OrdinalSVC(), method)(X, *rest)
    model = OrdinalSVC().fit(X, y)
    for bad, words in ((X[:, :2], "features"), (X[0], "2D array"), (np.where(X > 1, np.nan, X), "NaN")):
        with pytest.raises(ValueError, match=words):
            getattr(model, method)(bad, *rest)
