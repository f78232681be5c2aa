"""SVC: the optimum of scikit-learn's, conditions in double, laws of bits, starts, weights, probabilities."""

import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels

import hingeline
from hingeline import SVC
from hingeline.batch.svc import SvcTraining

from .data import blobs, noise, noisy

KERNELS = {
    "rbf": {"gamma": 0.5},
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 2},
    "precomputed": {},
}


def kernel_matrix(A, B, kernel, **params):
    return pairwise_kernels(np.asarray(A, np.float64), np.asarray(B, np.float64), metric=kernel, **params)


def optimality(model, K, y, bounds):
    """Dual objective, duality gap and KKT violation of a model of two classes, in double, from scratch."""
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    beta = np.zeros(len(y))
    beta[model.support_] = np.asarray(model.dual_coef_).ravel()
    v = sign - K @ beta
    up = beta < np.where(sign > 0, bounds, 0)
    low = beta > np.where(sign > 0, 0, -bounds)
    dual = beta @ sign - beta @ K @ beta / 2
    slack = np.maximum(0, sign * (v - model.intercept_[0]))
    primal = beta @ K @ beta / 2 + np.sum(bounds * slack)
    violation = np.max(v[up], initial=-np.inf) - np.min(v[low], initial=np.inf)
    assert abs(beta.sum()) <= 1e-9 * (1 + np.abs(beta).sum())
    assert (np.abs(beta) <= bounds * (1 + 1e-12)).all() and (beta * sign >= 0).all()
    return dual, primal - dual, violation


def fingerprint(model, X):
    dual_coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    parts = [model.support_, model.n_support_, dual_coef, model.intercept_, model.n_iter_, model.decision_function(X)]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


# ---- the optimum ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-6, 0.1, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("kernel", KERNELS)
def test_optimum_of_scikit_learn(kernel, C):
    X, y = noisy(200, 3)
    own = KERNELS[kernel]
    K = kernel_matrix(X, X, "rbf" if kernel == "precomputed" else kernel, **own)
    data = K if kernel == "precomputed" else X
    if kernel != "rbf" and C > 1e3:
        C = 1e3  # LIBSVM needs minutes
    ours = SVC(kernel=kernel, C=C, **own).fit(data, y)
    theirs = sklearn.svm.SVC(kernel=kernel, C=C, **own).fit(data, y)
    bounds = np.full(len(y), C)
    dual, gap, violation = optimality(ours, K, y, bounds)
    reference = optimality(theirs, K, y, bounds)[0]
    assert violation <= 1e-3 * (1 + 1e-6)
    assert dual >= reference - 1e-3 * C  # both stop at tol; no coefficient differs by more than its bound
    np.testing.assert_allclose(ours.dual_objective_, dual, rtol=1e-9)
    np.testing.assert_allclose(ours.duality_gap_, gap, rtol=1e-5, atol=1e-7 * dual)
    np.testing.assert_allclose(ours.kkt_violation_, violation, atol=1e-9 * (1 + C))
    assert ours.stop_reason_.tolist() == ["tol"] and ours.fit_status_ == 0


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_tight_tolerances_give_equal_models(n_classes):
    X, y = blobs(200, n_classes)
    for shape in ("ovr", "ovo"):
        own = {"tol": 1e-9, "C": 2.0, "decision_function_shape": shape}
        ours, theirs = SVC(**own).fit(X, y), sklearn.svm.SVC(**own).fit(X, y)
        # LIBSVM keeps kernel values in single precision.
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
        np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [0.3, 300.0])
def test_blocks_meet_the_tolerance_in_double(dtype, C):
    """More rows than a working set, kernel values in single precision."""
    X, y = noisy(5000, 4, dtype=dtype)
    model = SVC(gamma=1.0, C=C).fit(X, y)
    assert model.history_["step"].max() > 1
    dual, gap, violation = optimality(model, kernel_matrix(X, X, "rbf", gamma=1.0), y, np.full(len(y), C))
    assert violation <= 1e-3 * (1 + 1e-3)
    assert abs(violation - model.kkt_violation_[0]) <= 1e-5
    assert 0 <= gap <= 1e-3 * C * len(y)
    np.testing.assert_allclose(model.dual_objective_, dual, rtol=2e-5)  # bounded points are not refined


def test_small_tolerances_use_double():
    X, y = noisy(1500, 4)
    model = SVC(gamma=1.0, C=10.0, tol=1e-8).fit(X, y)
    K = kernel_matrix(X, X, "rbf", gamma=1.0)
    assert optimality(model, K, y, np.full(len(y), 10.0))[2] <= 1.1e-8
    loose = SVC(gamma=1.0, C=10.0, tol=1e-6).fit(X, y)  # single precision, refined
    assert optimality(loose, K, y, np.full(len(y), 10.0))[2] <= 1.1e-6


def test_hard_margin_and_contradictions():
    X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), [0, 0, 1, 1]
    model = SVC(C=np.inf, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.coef_, [[1.0]], rtol=1e-3)
    assert model.support_.tolist() == [1, 2]
    X, y = np.repeat(X, 2, axis=0), [0, 1] * 4  # every row with both labels
    model = SVC(C=5.0).fit(X, y)
    assert model.stop_reason_.tolist() == ["tol"] and np.isfinite(model.decision_function(X)).all()
    equal = SVC().fit(np.ones((10, 3)), [0, 1] * 5)
    assert equal.stop_reason_.tolist() == ["tol"]


@pytest.mark.parametrize("twins", [False, True])
def test_hard_margin_of_samples_that_no_function_separates_ends(twins):
    """LIBSVM does not end: the objective grows for ever. Rows with both labels double their coefficients."""
    X, y = noisy(40, 2)
    if twins:
        X, y = np.repeat(X, 2, axis=0), np.tile([0, 1], 40)
    with pytest.warns(ConvergenceWarning, match="1 of 1 machines .* grows without end: with C=inf"):
        model = SVC(C=np.inf, kernel="rbf" if twins else "linear").fit(X, y)
    assert model.stop_reason_.tolist() == ["unbounded"] and model.fit_status_ == 1
    assert np.isfinite(model.decision_function(X)).all()


def test_objective_that_grows_without_end():
    """Rounding errors do not exceed the violation here: the growth of the objective ends training."""
    X, y = noisy(300, 2)
    with pytest.warns(ConvergenceWarning, match="1 of 1 machines .* grows without end: with C=inf"):
        model = SVC(C=np.inf, gamma=0.1).fit(X, y)
    # The rule is checked when the steps have doubled. Rounding decides which check ends training: for seeds 0 to 4 and
    # each instruction set at 2**19 to 2**21 steps.
    assert model.stop_reason_.tolist() == ["unbounded"] and model.n_iter_[0] <= 2**22


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("n, C", [(200, 1e6), (1000, 1e5)])
def test_few_steps_with_a_large_C(kernel, n, C):
    """Free points of a kernel of low rank are ill-conditioned: pairs of coefficients need steps in proportion to C."""
    X, y = noisy(n, 3)
    model = SVC(kernel=kernel, C=C, **KERNELS[kernel]).fit(X, y)
    K = kernel_matrix(X, X, kernel, **KERNELS[kernel])
    dual, gap, violation = optimality(model, K, y, np.full(n, C))
    assert model.stop_reason_.tolist() == ["tol"] and violation <= 1e-3 * (1 + 1e-3)
    assert abs(gap) <= 1e-6 * dual and model.n_iter_[0] < 1000 * n
    np.testing.assert_allclose(model.kkt_violation_, violation, atol=1e-4)
    if n == 200:  # Newton steps read rows that a small cache drops
        for other in ({"n_jobs": 2}, {"cache_size": 0.05}):
            twin = SVC(kernel=kernel, C=C, **KERNELS[kernel], **other).fit(X, y)
            assert fingerprint(twin, X) == fingerprint(model, X)
    with pytest.warns(ConvergenceWarning, match="max_iter=3000"):  # in the middle of Newton steps
        assert SVC(kernel=kernel, C=C, **KERNELS[kernel], max_iter=3000).fit(X, y).n_iter_.tolist() == [3000]


@pytest.mark.parametrize("C", [1e4, 1e99])
def test_badly_scaled_rows_end(C):
    """Rows of size 1e-8 to 1e8: the optimum is beyond double precision."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) * 10.0 ** rng.uniform(-8, 8, (40, 1))
    y = rng.integers(0, 2, 40)
    with pytest.warns(ConvergenceWarning, match="1 of 1 machines stopped because rounding errors ended the progress"):
        model = SVC(kernel="linear", C=C).fit(X, y)
    assert model.stop_reason_.tolist() == ["precision"] and model.fit_status_ == 1
    assert model.n_iter_[0] < 10_000_000 and np.isfinite(model.decision_function(X)).all()


def test_twins_with_a_huge_C():
    """The objective is linear in the coefficients of two equal rows: they go to their bounds in one step."""
    model = SVC(C=1e30, gamma=1.0).fit(np.repeat(noise(10)[0], 2, axis=0), [0, 1] * 10)
    assert model.n_iter_[0] <= 100 and np.abs(model.dual_coef_).max() == 1e30


@pytest.mark.parametrize("kernel", ["sigmoid", lambda A, B: np.tanh(A @ B.T - 1), lambda A, B: -(A @ B.T)])
def test_indefinite_kernels_end_in_the_box(kernel):
    X, y = noisy(150, 3)
    model = SVC(kernel=kernel, gamma=1.0, C=3.0).fit(X, y)
    assert model.stop_reason_.tolist() == ["tol"]
    assert np.abs(model.dual_coef_).max() <= 3.0
    theirs = sklearn.svm.SVC(kernel=kernel, gamma=1.0, C=3.0).fit(X, y)
    assert abs(model.score(X, y) - theirs.score(X, y)) < 0.1


# ---- laws of bits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_cache_and_form_of_rows_do_not_change_a_bit(n_classes, dtype):
    X, y = blobs(4000, n_classes, 20, dtype=dtype)
    own = {"gamma": 0.05, "C": 3.0}
    first = fingerprint(SVC(**own).fit(X, y), X)
    assert fingerprint(SVC(**own, n_jobs=2).fit(X, y), X) == first
    assert fingerprint(SVC(**own, n_jobs=3).fit(X, y), X) == first
    assert fingerprint(SVC(**own, cache_size=0.5).fit(X, y), X) == first
    assert fingerprint(SVC(**own).fit(sp.csr_matrix(X), y), sp.csr_matrix(X)) == first
    assert fingerprint(SVC(**own).fit(np.asfortranarray(X), y), X) == first


def counts(n, dtype):
    """Small integers times a unit, mostly zero: rows of bytes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.poisson(0.6 + 0.5 * y[:, None] * (np.arange(40) % 3 == 0), (n, 40))
    return (X / 255).astype(dtype), y


def indicators(n, dtype):
    """Two measurements and standardised indicators: columns with a value that is more frequent than all others."""
    rng = np.random.default_rng(0)
    soil = rng.integers(0, 20, n)
    X = np.c_[rng.standard_normal((n, 2)), np.eye(20)[soil]]
    y = (np.sin(2 * X[:, 0]) + X[:, 1] + np.cos(soil) + 0.5 * rng.standard_normal(n) > 0).astype(int)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(dtype), y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make, gamma", [(counts, 1000.0), (indicators, 0.02)])
def test_cheap_forms_of_rows_solve_the_same_problem(make, gamma, dtype):
    """Bytes and shifted columns: the violation in double from the rows as they are, and the same bits everywhere."""
    X, y = make(3500, dtype)
    own = {"gamma": gamma, "C": 2.0}
    model = SVC(**own).fit(X, y)
    dual, _, violation = optimality(model, kernel_matrix(X, X, "rbf", gamma=gamma), y, np.full(len(y), 2.0))
    assert violation <= 1e-3 * (1 + 1e-3) and model.history_["step"].max() > 1
    assert abs(violation - model.kkt_violation_[0]) <= 1e-5
    np.testing.assert_allclose(model.dual_objective_, dual, rtol=2e-5)
    first = fingerprint(model, X)
    for other in ({"n_jobs": 2}, {"n_jobs": 3}, {"cache_size": 0.5}):
        assert fingerprint(SVC(**own, **other).fit(X, y), X) == first
    assert fingerprint(SVC(**own).fit(sp.csr_matrix(X), y), sp.csr_matrix(X)) == first


def test_swapped_labels_swap_signs():
    X, y = noisy(300, 3)
    a, b = SVC().fit(X, y), SVC().fit(X, 1 - y)
    np.testing.assert_allclose(a.decision_function(X), -b.decision_function(X), atol=2e-3)


def test_pickle_and_refit():
    X, y = blobs(120, 3)
    model = SVC().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert fingerprint(again, X) == fingerprint(model, X)
    assert fingerprint(model.fit(X, y), X) == fingerprint(again, X)


# ---- weights -------------------------------------------------------------------------------------------


def test_weights_are_factors_on_C():
    X, y = noisy(150, 3)
    rng = np.random.default_rng(0)
    weights = rng.choice([0.5, 1.0, 2.0], len(y))
    ours = SVC(tol=1e-8, class_weight={0: 0.7}).fit(X, y, sample_weight=weights)
    theirs = sklearn.svm.SVC(tol=1e-8, class_weight={0: 0.7}).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    doubled = np.repeat(np.arange(len(y)), (weights * 2).astype(int))
    twin = SVC(tol=1e-8, gamma=ours._gamma, C=0.5, class_weight={0: 0.7}).fit(X[doubled], y[doubled])
    np.testing.assert_allclose(ours.decision_function(X), twin.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("absent", [0.0, -1.5])
def test_rows_without_weight_are_left_out(absent):
    X, y = blobs(150, 3)
    weights = np.where(np.arange(150) % 4 == 0, absent, 1.0)
    model = SVC(gamma=0.2).fit(X, y, sample_weight=weights)
    kept = np.flatnonzero(weights > 0)
    twin = SVC(gamma=0.2).fit(X[kept], y[kept])
    assert model.decision_function(X).tobytes() == twin.decision_function(X).tobytes()
    np.testing.assert_array_equal(model.support_, kept[twin.support_])


# ---- starts, limits, attributes ------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_starts(n_classes):
    X, y = blobs(300, n_classes)
    first = SVC(C=2.0, gamma=0.3).fit(X, y)
    again = SVC(C=2.0, gamma=0.3).fit(X, y, dual_init=first)
    assert (again.n_iter_ == 0).all()
    np.testing.assert_array_equal(again.dual_coef_, first.dual_coef_)
    theirs = sklearn.svm.SVC(C=2.0, gamma=0.3, tol=1e-5).fit(X, y)
    assert (SVC(C=2.0, gamma=0.3).fit(X, y, dual_init=theirs).n_iter_ <= 2).all()
    other = SVC(C=1.0, gamma=0.3, warm_start=True).fit(X, y)
    other.set_params(C=1.1).fit(X, y)
    cold = SVC(C=1.1, gamma=0.3).fit(X, y)
    assert other.n_iter_.sum() < cold.n_iter_.sum()
    np.testing.assert_allclose(other.decision_function(X), cold.decision_function(X), atol=1e-2)
    with pytest.raises(ValueError, match="dual_init must have been fitted to the same samples"):
        SVC().fit(X[1:], y[1:], dual_init=first)
    other.fit(X[1:], y[1:])  # a warm start that does not fit is ignored


#: Methods of this package that a fit to dense rows of two classes calls, from the constructor on.
MOST_METHODS = 28


def test_a_fit_calls_few_methods():
    X, y = blobs(60, 2)
    called = set()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and Path(code.co_filename).is_relative_to(Path(hingeline.__file__).parent):
            called.add(code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        SVC().fit(X, y)
    finally:
        sys.setprofile(before)
    methods = sorted(name for name in called if "." in name and "<locals>" not in name)
    assert {"PairsEstimator.fit", "KernelClassifier._validate_fit", "BatchTraining.advance"} <= set(methods)
    assert len(methods) <= MOST_METHODS, methods


def test_max_iter_and_verbose(capsys):
    X, y = noisy(200, 3)
    with pytest.warns(ConvergenceWarning, match="max_iter=7"):
        model = SVC(max_iter=7, verbose=True).fit(X, y)
    assert model.n_iter_.tolist() == [7] and model.fit_status_ == 1
    assert "[SVC] machine 0: 7 steps, max_iter" in capsys.readouterr().out


def test_limit_of_steps_without_max_iter():
    """No known problem takes so many steps in less than seconds."""
    found = {"stop_reason_": np.array(["max_iter", "tol"]), "n_iter_": np.array([10**7, 5])}
    stopped = SimpleNamespace(max_iter=-1, tol=1e-3, kkt_violation_=np.array([0.25, 1e-4]), **found)
    (text,) = SvcTraining.complaints(SimpleNamespace(estimator=stopped))
    assert text.startswith("1 of 2 machines stopped after 10000000 steps with a violation of 0.25, tol=0.001")


def test_sparse_attributes():
    X, y = blobs(100, 3)
    model = SVC(kernel="linear").fit(sp.csr_matrix(X), y)
    assert sp.issparse(model.dual_coef_) and sp.issparse(model.coef_) and sp.issparse(model.support_vectors_)
    dense = SVC(kernel="linear").fit(X, y)
    np.testing.assert_array_equal(model.coef_.toarray(), dense.coef_)
    with pytest.raises(ValueError):
        dense.coef_[0, 0] = 1.0


def test_callable_kernels_see_all_samples_at_once():
    X, y = noise(60)
    shapes = []

    def kernel(A, B):
        shapes.append((len(A), len(B)))
        return A @ B.T

    model = SVC(kernel=kernel, tol=1e-9).fit(X, y)
    twin = SVC(kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X[:7]), twin.decision_function(X[:7]), atol=1e-7)
    assert shapes == [(60, 60), (7, 60)]


def test_scale_does_not_depend_on_weights():
    X, y = noise(60)
    weights = np.linspace(0.1, 3.0, 60)
    by_name, by_number = SVC(), SVC(gamma=1 / (X.shape[1] * X.var()))
    for model in (by_name, by_number):
        model.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(by_name.decision_function(X), by_number.decision_function(X))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities(n_classes):
    X, y = blobs(400, n_classes)
    ours = SVC(probability=True, random_state=0).fit(X, y)
    theirs = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y)
    P, Q = ours.predict_proba(X), theirs.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
    assert np.abs(P - Q).mean() < 0.02  # other folds
    assert np.mean(P.argmax(axis=1) == Q.argmax(axis=1)) > 0.95


def left_out_decisions(X, y, weights, rng):
    """Decision values of two-class samples by models of the samples outside their fold, positive for the first."""
    kept = np.flatnonzero(weights > 0)
    values = np.zeros(len(kept))
    for test in np.array_split(rng.permutation(len(kept)), 5):
        train = kept[np.setdiff1d(np.arange(len(kept)), test)]
        sides = np.unique(y[train])
        if len(sides) == 1:
            values[test] = 1.0 if sides[0] == y.min() else -1.0
        else:
            model = SVC(C=2.0, gamma=0.5, tol=1e-8).fit(X[train], y[train], sample_weight=weights[train])
            values[test] = -model.decision_function(X[kept[test]])
    return values, y[kept] == y.min()


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_first", [40, 1])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_sigmoids_minimise_the_cross_entropy_of_samples_left_out(kernel, n_first, n_jobs):
    X, y = noisy(120)
    rows = np.r_[np.flatnonzero(y == 0)[:n_first], np.flatnonzero(y == 1)]
    X, y, weights = X[rows], y[rows], np.where(np.arange(len(rows)) % 7 == 3, 0.0, 1.5)
    given = X if kernel == "rbf" else kernel_matrix(X, X, "rbf", gamma=0.5)
    model = SVC(C=2.0, gamma=0.5, kernel=kernel, tol=1e-8, probability=True, random_state=3, n_jobs=n_jobs)
    model.fit(given, y, sample_weight=weights)
    f, positive = left_out_decisions(X, y, weights, np.random.RandomState(3))
    target = np.where(positive, (positive.sum() + 1) / (positive.sum() + 2), 1 / ((~positive).sum() + 2))
    A, B = model.sigmoids_[:, 0]
    rest = target - 1 / (1 + np.exp(A * f + B))
    assert max(abs(rest @ f), abs(rest.sum())) < 2e-5


def test_whole_problems_compute_few_kernel_values_ahead():
    X = np.random.default_rng(0).normal(size=(2000, 8))
    model = SVC(C=10.0, gamma=0.1).fit(X, X[:, 0] + X[:, 1] ** 2 > 1)
    assert len(model.support_) > 100
    assert model.n_kernel_evals_ < 0.6 * len(X) ** 2


@pytest.mark.parametrize("name, value", [("C", 0.0), ("C", -1.0), ("tol", 0.0), ("max_iter", -2), ("verbose", -1)])
def test_bad_parameters(name, value):
    X, y = noise(20)
    with pytest.raises(ValueError, match=f"The '{name}' parameter of SVC must be"):
        SVC(**{name: value}).fit(X, y)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [50, 300, 1500])
def test_intercept_is_the_middle_where_all_coefficients_are_at_their_bounds(seed, n):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, 5))
    y = X[:, 0] + 0.3 * r.normal(size=n) > 1
    clf = SVC(C=1e-4 * 50 / n, kernel="linear", class_weight="balanced").fit(X, y)
    bounds = clf.C * clf.class_weight_[y[clf.support_].astype(int)]
    np.testing.assert_allclose(np.abs(clf.dual_coef_[0]), bounds, rtol=1e-9)
    v = np.where(y, 1, -1) - X @ (clf.dual_coef_ @ X[clf.support_])[0]
    assert clf.intercept_[0] == pytest.approx((v[y].min() + v[~y].max()) / 2, abs=1e-9)
