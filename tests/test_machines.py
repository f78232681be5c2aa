"""NuSVC, SVR, NuSVR and OneClassSVM: LIBSVM's optimum, a QP, conditions in double, laws, weights, starts, edge cases.

`tests/hostile_machines.py` attacks them with random problems; a few of them are a test here.
"""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

import hingeline
from hingeline import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from . import hostile_machines
from .data import blobs
from .oracle import kernel_machines as oracle
from .oracle.equality_qp import equality_qp
from .oracle.equality_qp import objective as qp_objective

MACHINES = {
    "NuSVC": NuSVC(nu=0.3),
    "SVR": SVR(C=3.0),
    "NuSVR": NuSVR(C=3.0, nu=0.4),
    "OneClassSVM": OneClassSVM(nu=0.2),
}
KERNELS = {
    "rbf": {"gamma": 0.5},
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 2},
    "precomputed": {},
}


def problem(name, n=200, d=3, seed=0, dtype=np.float64):
    """Rows, and labels or targets for a machine."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, (y > 0).astype(int) if name == "NuSVC" else y


def machine(name, library=hingeline, **given):
    """Estimator of a library with the parameters of `MACHINES`."""
    known = {key: value for key, value in MACHINES[name].get_params().items() if key in ("nu", "C")}
    return getattr(library if library is hingeline else library.svm, name)(**{**known, **given})


def kernel_matrix(X, kernel):
    X = np.asarray(X, np.float64)
    return pairwise_kernels(X, metric="rbf" if kernel == "precomputed" else kernel, **(KERNELS[kernel] or {}))


def outputs(model, X):
    """Decision values, or predictions of regressors."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def fingerprint(model, X):
    dual_coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    parts = [model.support_, model.n_support_, dual_coef, model.intercept_, model.n_iter_, outputs(model, X)]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


# ---- the optimum ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MACHINES)
def test_optimum_of_scikit_learn(name, kernel, weighted):
    X, y = problem(name)
    weights = np.random.default_rng(1).choice([-1.0, 0.0, 0.5, 1.0, 2.0], 200) if weighted else np.ones(200)
    K = kernel_matrix(X, kernel)
    data = K if kernel == "precomputed" else X
    ours, theirs = (
        machine(name, library, kernel=kernel, **KERNELS[kernel]).fit(data, y, sample_weight=weights)
        for library in (hingeline, sklearn)
    )
    dual = oracle.dual_problem(ours, K, y, weights)
    beta = oracle.coefficients(ours, dual)
    other = oracle.coefficients(theirs, dual, np.flatnonzero(weights > 0))
    assert oracle.infeasibility(dual, beta) < 1e-12
    assert oracle.violation(dual, beta) <= 1e-3 * (1 + 1e-9)
    np.testing.assert_allclose(ours.kkt_violation_, oracle.violation(dual, beta), atol=1e-10)
    value = oracle.objective(dual, beta)
    assert value >= oracle.objective(dual, other) - 0.51e-3 * np.abs(beta - other).sum()
    np.testing.assert_allclose(ours.dual_objective_, value, rtol=1e-9, atol=1e-11)
    assert 0 <= oracle.least_gap(dual, beta) <= ours.duality_gap_ + 1e-9 <= 1e-3 * (dual.upper - dual.lower).sum()
    if name != "NuSVC":  # whose multipliers cannot be read from the model if the margin is smaller than tol
        gap = oracle.duality_gap(dual, beta, oracle.levels(ours, dual))
        np.testing.assert_allclose(ours.duality_gap_, gap, rtol=1e-6, atol=1e-9)
    assert np.ravel(ours.stop_reason_).tolist() == ["tol"] and ours.fit_status_ == 0


@pytest.mark.parametrize("name", MACHINES)
def test_tight_tolerances_give_equal_models(name):
    X, y = problem(name)
    if name == "NuSVC":
        X, y = blobs(200, 3)
    ours, theirs = (machine(name, library, tol=1e-9).fit(X, y) for library in (hingeline, sklearn))
    # LIBSVM keeps kernel values in single precision.
    np.testing.assert_allclose(outputs(ours, X), outputs(theirs, X), atol=1e-5)
    for attribute in ("support_", "n_support_", "support_vectors_"):
        np.testing.assert_array_equal(getattr(ours, attribute), getattr(theirs, attribute))
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert ours.shape_fit_ == theirs.shape_fit_ and type(ours.n_iter_) is type(theirs.n_iter_)
    if name == "OneClassSVM":
        np.testing.assert_allclose(ours.offset_, theirs.offset_, atol=1e-5)
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-5)


@pytest.mark.parametrize("name", ["SVR", "OneClassSVM"])
def test_optimum_of_a_quadratic_program(name):
    """Both have one equation. SVR has a positive and a negative part of each coefficient there."""
    X, y = problem(name, 60)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], 60)
    K = kernel_matrix(X, "rbf")
    model = machine(name, gamma=0.5, tol=1e-10).fit(X, y, sample_weight=weights)
    dual = oracle.dual_problem(model, K, y, weights)
    if name == "SVR":
        Q, p, bound = np.tile(K, (2, 2)), np.append(y - 0.1, y + 0.1), 3.0 * weights
        parts, b = equality_qp(Q, p, np.append(np.zeros(60), -bound), np.append(bound, np.zeros(60)), 0.0)
        alpha, value = parts[:60] + parts[60:], -qp_objective(Q, p, parts)
    else:
        alpha, b = equality_qp(K, np.zeros(60), 0.0, weights, 0.2 * weights.sum())
        value = -qp_objective(K, np.zeros(60), alpha)
    np.testing.assert_allclose(oracle.coefficients(model, dual), alpha, atol=1e-6)
    np.testing.assert_allclose(model.dual_objective_, value, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, b, atol=1e-6)


def test_nu_machines_are_the_others_with_parameters_that_nu_chooses():
    X, y = problem("SVR")
    nu = NuSVR(C=3.0, nu=0.4, tol=1e-9).fit(X, y)
    epsilon = SVR(C=3.0, epsilon=nu.epsilon_, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(nu.predict(X), epsilon.predict(X), atol=1e-6)
    X, y = problem("NuSVC")
    nu = NuSVC(nu=0.3, tol=1e-9).fit(X, y)
    C = SVC(C=np.abs(nu.dual_coef_).max(), tol=1e-9).fit(X, y)
    np.testing.assert_allclose(nu.decision_function(X), C.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("name", MACHINES)
def test_shares_that_nu_bounds(name):
    if name == "SVR":
        return
    X, y = problem(name, 400)
    model = machine(name, tol=1e-6).fit(X, y)
    if name == "NuSVR":
        outside = np.abs(y - model.predict(X)) > model.epsilon_ + 1e-5
    elif name == "NuSVC":
        outside = np.where(y == 1, 1, -1) * model.decision_function(X) < 1 - 1e-4
    else:
        outside = model.decision_function(X) < -1e-4
    assert outside.mean() <= model.nu <= model.n_support_.sum() / len(X) + 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MACHINES)
def test_blocks_meet_the_tolerance_in_double(name, dtype):
    """Kernel values in single precision at first."""
    X, y = problem(name, 4000, 4, dtype=dtype)
    model = machine(name, gamma=1.0).fit(X, y)
    K = pairwise_kernels(X.astype(np.float64), metric="rbf", gamma=1.0)
    dual = oracle.dual_problem(model, K, y, np.ones(4000))
    beta = oracle.coefficients(model, dual)
    assert oracle.infeasibility(dual, beta) < 1e-9
    assert oracle.violation(dual, beta) <= 1e-3 * (1 + 1e-2)
    np.testing.assert_allclose(model.dual_objective_, oracle.objective(dual, beta), rtol=1e-4)


@pytest.mark.parametrize("seed", [*range(50), 106, 146, 401, 446, 1888])
def test_hostile_problems(seed):
    """Some of the problems of `python -m tests.hostile_machines`; the last one ends by rounding errors, those before it
    have a margin that is smaller than tol."""
    found = hostile_machines.examine_alone(seed)
    assert not found["faults"], found


@pytest.mark.parametrize("weighted", [False, True])
def test_one_class_machines_that_begin_with_a_sample(weighted):
    """The optimum, and the same bits for any threads and cache."""
    n = 13_000  # more than four of the smallest working sets
    X, _ = problem("OneClassSVM", n, 2)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], n) if weighted else np.ones(n)
    model = OneClassSVM(nu=0.1, gamma=0.5).fit(X, sample_weight=weights)
    beta = model.dual_coef_[0]
    assert (beta > 0).all() and (beta <= weights[model.support_]).all()
    np.testing.assert_allclose(beta.sum(), 0.1 * weights.sum(), rtol=1e-9)
    v = np.zeros(n)
    v[model.support_] = beta
    slope, used = -rbf_kernel(X, X[model.support_], gamma=0.5) @ beta, weights > 0
    violation = slope[used & (v < weights)].max() - slope[used & (v > 0)].min()
    assert violation <= model.tol * (1 + 1e-2)
    known = fingerprint(model, X[:10])
    for other in ({"n_jobs": 2}, {"cache_size": 1}):
        again = OneClassSVM(nu=0.1, gamma=0.5, **other).fit(X, sample_weight=weights)
        assert fingerprint(again, X[:10]) == known


# ---- laws ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MACHINES)
def test_threads_cache_and_form_of_rows_do_not_change_a_bit(name, dtype):
    X, y = problem(name, 3000, 20, dtype=dtype)
    own = {"gamma": 0.05}
    first = fingerprint(machine(name, **own).fit(X, y), X)
    for other in ({"n_jobs": 2}, {"n_jobs": 3}, {"cache_size": 0.5}):
        assert fingerprint(machine(name, **own, **other).fit(X, y), X) == first
    assert fingerprint(machine(name, **own).fit(sp.csr_matrix(X), y), sp.csr_matrix(X)) == first
    assert fingerprint(machine(name, **own).fit(np.asfortranarray(X), y), X) == first


@pytest.mark.parametrize("name", MACHINES)
def test_units_and_offsets_of_features(name):
    X, y = problem(name)
    X = np.round(X * 2**10) / 2**10  # an offset of 1e8 loses no digit
    plain = machine(name, gamma=0.5).fit(X, y)
    scaled = machine(name, gamma=0.5 / 2**20).fit(2**10 * X, y)
    assert fingerprint(scaled, 2**10 * X) == fingerprint(plain, X)
    shifted = machine(name, gamma=0.5).fit(X + 1e8, y)
    np.testing.assert_allclose(outputs(shifted, X + 1e8), outputs(plain, X), atol=1e-6)


@pytest.mark.parametrize("name", MACHINES)
def test_equal_rows_are_a_row_with_the_sum_of_their_weights(name):
    X, y = problem(name, 150)
    weights = np.random.default_rng(0).integers(0, 4, 150)
    own = {"gamma": 0.5, "tol": 1e-9}
    weighted = machine(name, **own).fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(150), weights)
    repeated = machine(name, **own).fit(X[rows], y[rows])
    np.testing.assert_allclose(outputs(weighted, X), outputs(repeated, X), atol=1e-6)


@pytest.mark.parametrize("absent", [0.0, -1.5])
@pytest.mark.parametrize("name", MACHINES)
def test_rows_without_weight_are_left_out(name, absent):
    X, y = problem(name)
    weights = np.where(np.arange(200) % 4 == 0, absent, 1.0)
    kept = np.flatnonzero(weights > 0)
    model = machine(name, gamma=0.2).fit(X, y, sample_weight=weights)
    twin = machine(name, gamma=0.2).fit(X[kept], y[kept])
    assert outputs(model, X).tobytes() == outputs(twin, X).tobytes()
    np.testing.assert_array_equal(model.support_, kept[twin.support_])


def test_targets_in_other_units():
    X, y = problem("SVR")
    for learner, more in ((SVR, {"epsilon": 0.25}), (NuSVR, {})):
        plain = learner(C=2.0, **more).fit(X, y)
        more = {name: 1024 * value for name, value in more.items()}
        scaled = learner(C=2048.0, tol=1.024, **more).fit(X, 1024 * y)
        np.testing.assert_array_equal(scaled.predict(X), 1024 * plain.predict(X))
        shifted = learner(C=2.0, **{name: value / 1024 for name, value in more.items()}).fit(X, y + 5.0)
        np.testing.assert_allclose(shifted.predict(X), plain.predict(X) + 5.0, atol=5e-3)


@pytest.mark.parametrize("name", MACHINES)
def test_pickle_and_refit(name):
    X, y = problem(name)
    model = machine(name).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert fingerprint(again, X) == fingerprint(model, X)
    assert fingerprint(model.fit(X, y), X) == fingerprint(again, X)


# ---- degenerate data -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MACHINES)
def test_equal_rows_and_equal_targets(name):
    X, y = np.ones((20, 3)), np.arange(20) % 2 if name == "NuSVC" else np.full(20, 3.0)
    model = machine(name, gamma=1.0).fit(X, y)
    assert np.ravel(model.stop_reason_)[0] == "tol" and np.isfinite(outputs(model, X)).all()
    if name.endswith("SVR"):
        np.testing.assert_allclose(model.predict(X), 3.0, atol=0.1 + 1e-9)
    if name == "OneClassSVM":
        assert (model.predict(X) == sklearn.svm.OneClassSVM(gamma=1.0).fit(X).predict(X)).all()


@pytest.mark.parametrize("learner", [SVR, NuSVR, OneClassSVM])
def test_one_sample(learner):
    model = learner(gamma=1.0).fit([[1.0, 2.0]], [3.0])
    theirs = getattr(sklearn.svm, learner.__name__)(gamma=1.0).fit([[1.0, 2.0]], [3.0])
    np.testing.assert_allclose(outputs(model, [[1.0, 2.0]]), outputs(theirs, [[1.0, 2.0]]), atol=0.1)


def test_targets_within_epsilon_need_no_support_vector():
    X, y = problem("SVR")
    for form in (np.asarray, sp.csr_matrix):
        model = SVR(epsilon=100.0).fit(form(X), y)
        theirs = sklearn.svm.SVR(epsilon=100.0).fit(form(X), y)
        assert model.n_support_.tolist() == [0] and model.dual_coef_.shape == (1, 0)
        np.testing.assert_allclose(model.predict(form(X)), theirs.predict(form(X)), atol=1e-9)
    linear = SVR(kernel="linear", epsilon=100.0).fit(X, y)
    np.testing.assert_array_equal(linear.coef_, np.zeros((1, 3)))


def test_infinite_C():
    X, y = problem("SVR", 40)
    tube = SVR(C=np.inf, gamma=1.0, epsilon=0.2).fit(X, y)
    assert np.abs(tube.predict(X) - y).max() <= 0.2 + 1e-3
    with pytest.warns(ConvergenceWarning, match="grows without end: with C=inf a function must exist"):
        model = SVR(C=np.inf, kernel="linear", epsilon=0.01).fit(X, y)
    assert model.stop_reason_ == "unbounded" and model.fit_status_ == 1
    with pytest.raises(ValueError, match="'C' parameter of NuSVR must be a finite number"):
        NuSVR(C=np.inf).fit(X, y)


def test_infeasible_nu():
    X, y = blobs(100, 3)
    with pytest.raises(ValueError, match=r"^specified nu is infeasible: nu must be at most 0\.2\b.* Got 0\.3"):
        NuSVC(nu=0.3).fit(X, np.r_[np.zeros(90), np.ones(10)])
    NuSVC(nu=0.2).fit(X, np.r_[np.zeros(90), np.ones(10)])
    with pytest.raises(ValueError, match=r"^specified nu is infeasible"):
        NuSVC(nu=0.1).fit(X, y, sample_weight=(y > 0).astype(float))
    NuSVC(nu=1.0).fit(X[:60], np.arange(60) % 3)


@pytest.mark.parametrize("name", MACHINES)
def test_no_weight_at_all(name):
    X, y = problem(name)
    for weights in (np.zeros(200), np.full(200, -1.0)):
        with pytest.raises(ValueError, match="all samples have zero or negative weights"):
            machine(name).fit(X, y, sample_weight=weights)


# ---- starts, limits, attributes ------------------------------------------------------------------------


@pytest.mark.parametrize("name", MACHINES)
def test_starts(name):
    X, y = problem(name)
    first = machine(name).fit(X, y)
    again = machine(name).fit(X, y, dual_init=first)
    assert np.sum(again.n_iter_) <= 2  # NuSVC divides its coefficients and multiplies them again
    np.testing.assert_allclose(again.dual_coef_, first.dual_coef_, rtol=1e-9, atol=1e-3 if name == "NuSVC" else 1e-12)
    theirs = machine(name, sklearn, tol=1e-5).fit(X, y)
    assert np.sum(machine(name).fit(X, y, dual_init=theirs).n_iter_) <= 5
    warm = machine(name, warm_start=True).fit(X, y)
    steps = np.sum(warm.n_iter_)
    assert np.sum(warm.fit(X, y).n_iter_) <= min(2, steps)
    with pytest.raises(ValueError, match="dual_init must have been fitted to the same samples"):
        machine(name).fit(X[1:], y[1:], dual_init=first)
    warm.fit(X[1:], y[1:])  # a warm start that does not fit is ignored
    for wrong in MACHINES:
        if wrong != name and {wrong, name} != {"SVR", "NuSVR"}:
            with pytest.raises(TypeError, match="dual_init must be a fitted"):
                machine(name).fit(X, y, dual_init=machine(wrong).fit(*problem(wrong)))


def test_a_start_with_other_targets_and_parameters():
    X, y = problem("SVR", 500)
    first = SVR(C=3.0).fit(X, y)
    cold = SVR(C=3.0).fit(X, y + 1e-3 * X[:, 2])
    warm = SVR(C=3.0).fit(X, y + 1e-3 * X[:, 2], dual_init=first)
    assert warm.n_iter_ < cold.n_iter_ / 4
    np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=5e-3)
    nu = NuSVR(C=1.0).fit(X, y, dual_init=first)
    np.testing.assert_allclose(nu.predict(X), NuSVR(C=1.0).fit(X, y).predict(X), atol=5e-3)


@pytest.mark.parametrize("name", MACHINES)
def test_max_iter_and_verbose(name, capsys):
    X, y = problem(name)
    with pytest.warns(ConvergenceWarning, match=r"Solver terminated early \(max_iter=7\)"):
        model = machine(name, max_iter=7, verbose=True).fit(X, y)
    assert np.ravel(model.n_iter_).tolist() == [7] and model.fit_status_ == 1
    assert f"[{name}] machine 0: 7 steps, max_iter" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["SVR", "NuSVR", "OneClassSVM"])
def test_attributes_of_one_machine_are_numbers(name):
    X, y = problem(name)
    model = machine(name).fit(X, y)
    assert type(model.n_iter_) is int and type(model.stop_reason_) is str and type(model.fit_status_) is int
    for attribute in ("kkt_violation_", "dual_objective_", "duality_gap_"):
        assert type(getattr(model, attribute)) is float
    assert model.n_support_.dtype == np.int32 and model.n_support_.tolist() == [len(model.support_)]
    assert hasattr(model, "epsilon_") == (name == "NuSVR")
    assert set(model.history_) == {"machine", "step", "seconds", "n_support", "kkt_violation", "kernel_evals"}


@pytest.mark.parametrize("name", MACHINES)
def test_sparse_attributes(name):
    X, y = problem(name)
    model, dense = (machine(name, kernel="linear").fit(form(X), y) for form in (sp.csr_matrix, np.asarray))
    assert sp.issparse(model.dual_coef_) and sp.issparse(model.coef_) and sp.issparse(model.support_vectors_)
    np.testing.assert_array_equal(model.coef_.toarray(), dense.coef_)
    np.testing.assert_allclose(outputs(dense, X), X @ dense.coef_[0] + dense.intercept_, atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        dense.coef_[0, 0] = 1.0
    with pytest.raises(ValueError, match="cannot use sparse input"):
        outputs(dense, sp.csr_matrix(X))
    with pytest.raises(AttributeError, match="coef_ is only available"):
        _ = machine(name).fit(X, y).coef_


@pytest.mark.parametrize("name", MACHINES)
def test_callable_kernels_of_objects(name):
    X, y = problem(name, 60)
    words = [tuple(row) for row in X]
    sizes = []

    def kernel(A, B):
        sizes.append((len(A), len(B)))
        return rbf_kernel(A, B, gamma=0.5)

    model = machine(name, kernel=kernel, tol=1e-9).fit(words, y)
    twin = machine(name, gamma=0.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(outputs(model, words[:7]), outputs(twin, X[:7]), atol=1e-6)
    assert sizes == [(60, 60), (7, 60)] and model.X_fit_ is words


def test_outliers_are_found_as_scikit_learn_does():
    X, _ = problem("OneClassSVM", 500)
    ours, theirs = (library.OneClassSVM(nu=0.1, tol=1e-8) for library in (hingeline, sklearn.svm))
    clear = np.abs(theirs.fit(X).decision_function(X)) > 1e-5
    np.testing.assert_array_equal(ours.fit_predict(X)[clear], theirs.predict(X)[clear])
    assert ours.predict(X).dtype == np.intp and ours.offset_.shape == theirs.offset_.shape
    with pytest.raises(NotFittedError):
        OneClassSVM().predict(X)
    assert not hasattr(OneClassSVM(), "offset_")


@pytest.mark.parametrize(
    "model, name, value",
    [
        (NuSVC(), "nu", 0.0),
        (NuSVR(), "nu", 1.5),
        (OneClassSVM(), "nu", -0.1),
        (SVR(), "epsilon", -1.0),
        (SVR(), "C", 0.0),
        (OneClassSVM(), "tol", 0.0),
        (NuSVR(), "max_iter", -2),
    ],
)
def test_bad_parameters(model, name, value):
    X, y = problem(type(model).__name__, 20)
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {type(model).__name__} must be"):
        model.set_params(**{name: value}).fit(X, y)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities(n_classes):
    X, y = blobs(400, n_classes)
    ours, theirs = (kind(nu=0.1, probability=True, random_state=0).fit(X, y) for kind in (NuSVC, sklearn.svm.NuSVC))
    P, Q = ours.predict_proba(X), theirs.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
    assert np.abs(P - Q).mean() < 0.05  # other folds
    np.testing.assert_allclose(ours.probA_, theirs.probA_, rtol=0.5)


def test_class_weights_are_published_only():
    X, y = problem("NuSVC")
    plain, weighted = NuSVC().fit(X, y), NuSVC(class_weight={0: 3.0}).fit(X, y)
    assert fingerprint(plain, X) == fingerprint(weighted, X)
    np.testing.assert_array_equal(
        weighted.class_weight_, sklearn.svm.NuSVC(class_weight={0: 3.0}).fit(X, y).class_weight_
    )


@pytest.mark.parametrize("name", ["SVR", "NuSVR"])
def test_bounds_that_underflow_leave_no_coefficients(name):
    X, y = problem(name, n=10)
    model = machine(name, C=5e-324).fit(X, y, sample_weight=np.full(10, 0.3))  # LIBSVM does not end
    assert len(model.support_) == 0
    assert np.all(model.predict(X) == model.intercept_)


def test_a_margin_that_cannot_be_told_from_zero_is_announced():
    """Two machines of the same rows, up to rounding, then differ in their labels, as LIBSVM's do."""
    X, _ = problem("NuSVC", n=300)
    y = np.random.default_rng(1).integers(0, 2, len(X))
    with pytest.warns(ConvergenceWarning, match=r"have a margin of .* Raise nu, or scale the features\."):
        NuSVC(nu=0.3, kernel="linear").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NuSVC(nu=0.3).fit(X, np.sin(X[:, 0]) > 0)
