"""L2SVC by each of its solvers: starting points, several classes, how a fit ends, copies, bad input."""

import contextlib
import copy
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale

from hingeline import L2SVC, WorstViolatorSVC

from .l2 import STATE, auto, each_machine, easy, imdm, nnisda, noisy, same, signs
from .oracle.l2_svm import l2_svm
from .watching import Recorder

# ---- starting from a guess -----------------------------------------------------------------------------


@each_machine
@pytest.mark.parametrize("source", [nnisda, imdm])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_starts_the_other(machine, source, n_classes):
    X, y = noisy(200, 3, seed=11, n_classes=n_classes)
    cold, guess = machine(C=5.0, gamma=0.4).fit(X, y), source(C=5.0, gamma=0.4, tol=1e-6).fit(X, y)
    warm = machine(C=5.0, gamma=0.4).fit(X, y, dual_init=guess)
    assert (warm.n_iter_ == 0).all() and (cold.n_iter_ > 50).all()
    np.testing.assert_allclose(warm.decision_function(X), guess.decision_function(X), atol=1e-5)
    assert (warm.kkt_violation_ <= 1e-3).all() and set(warm.stop_reason_) == {"tol"}


@each_machine
def test_a_path_of_penalties(machine):
    X, y = noisy(200, 3, seed=12)
    K = rbf_kernel(X, gamma=0.4)
    clf, steps = None, []
    for C in (1.0, 1.3, 1.7, 2.2):
        cold, clf = machine(C=C, gamma=0.4).fit(X, y), machine(C=C, gamma=0.4).fit(X, y, dual_init=clf)
        steps.append((clf.n_iter_[0], cold.n_iter_[0]))
        exact = l2_svm(K, signs(y), C)
        assert 0 <= exact.dual - clf.dual_objective_[0] < 3e-3 * exact.dual
    assert all(warm < 0.9 * cold for warm, cold in steps[1:]), steps


@each_machine
def test_warm_start(machine):
    X, y = noisy(150, 3, seed=13, n_classes=3)
    clf = machine(C=2.0, gamma=0.4, tol=1e-6, warm_start=True).fit(X, y)
    cold = machine(C=2.0, gamma=0.4, tol=1e-6).fit(X, y)
    same(clf, cold)
    clf.fit(X, y)
    assert (clf.n_iter_ <= 5).all()
    np.testing.assert_allclose(clf.decision_function(X), cold.decision_function(X), atol=1e-4)
    # Other samples, classes or labels: as if for the first time.
    for rows, labels in ((X[:-1], y[:-1]), (X, y + 1), (X, y[::-1])):
        clf.fit(X, y).fit(rows, labels)
        same(clf, machine(C=2.0, gamma=0.4, tol=1e-6).fit(rows, labels))


@each_machine
def test_any_guess_leads_to_the_optimum(machine):
    X, y = noisy(120, 3, seed=14)
    guess = machine(C=2.0, gamma=0.4).fit(X, y)
    exact = l2_svm(rbf_kernel(X, gamma=0.4), signs(y), 2.0)
    for values in (1e-8 * guess.dual_coef_, 1e8 * guess.dual_coef_, np.sign(guess.dual_coef_), 0 * guess.dual_coef_):
        odd = copy.deepcopy(guess)
        odd.dual_coef_ = values
        clf = machine(C=2.0, gamma=0.4, tol=1e-8).fit(X, y, dual_init=odd)
        np.testing.assert_allclose(clf.dual_objective_[0], exact.dual, rtol=1e-8)


@each_machine
def test_a_guess_that_does_not_fit(machine):
    X, y = noisy(60, 3, seed=15)
    guess = machine().fit(X, y)
    clf = machine()
    for rows, labels, match in (
        (X[1:], y[1:], "60 samples, X has 59"),
        (X, y + 1, "classes"),
        (X, 1 - y, "other labels"),
    ):
        with pytest.raises(ValueError, match=match):
            clf.fit(rows, labels, dual_init=guess)
    with pytest.raises(TypeError, match="WorstViolatorSVC"):
        clf.fit(X, y, dual_init=WorstViolatorSVC().fit(X, y))
    with pytest.raises(NotFittedError):
        clf.fit(X, y, dual_init=machine())
    assert not hasattr(clf, "dual_coef_")


# ---- several classes -----------------------------------------------------------------------------------


@each_machine
def test_pairs_are_machines_of_their_own(machine):
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X)
    clf = machine(C=4.0, gamma=0.5, decision_function_shape="ovo").fit(X, y)
    decisions = clf.decision_function(X)
    k = 0
    for i in range(3):
        for j in range(i + 1, 3):
            rows = (y == i) | (y == j)
            pair = machine(C=4.0, gamma=0.5).fit(X[rows], y[rows])
            np.testing.assert_allclose(decisions[:, k], -pair.decision_function(X), rtol=1e-10, atol=1e-12)
            for name in ("n_iter_", "dual_objective_", "duality_gap_", "stop_reason_"):
                np.testing.assert_array_equal(getattr(clf, name)[k : k + 1], getattr(pair, name))
            k += 1
    votes = np.zeros((len(X), 3))
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        votes[np.arange(len(X)), np.where(decisions[:, k] > 0, i, j)] += 1
    clear = votes.max(axis=1) == 2
    np.testing.assert_array_equal(clf.predict(X)[clear], votes.argmax(axis=1)[clear])
    np.testing.assert_array_equal(y[clf.support_], np.repeat([0, 1, 2], clf.n_support_))


@each_machine
def test_accuracy_on_real_sets(machine):
    for load, gamma, least in [(load_iris, 1.0, 0.97), (load_wine, 0.5, 0.99), (load_digits, 0.05, 0.995)]:
        X, y = load(return_X_y=True)
        assert machine(C=16, gamma=gamma).fit(minmax_scale(X), y).score(minmax_scale(X), y) >= least


# ---- ends ----------------------------------------------------------------------------------------------


@each_machine
def test_budget_of_steps(machine):
    X, y = noisy(600, 3, seed=16)
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*tol=0.001: it is .*Raise"):
        clf = machine(C=10.0, gamma=0.4, max_iter=100).fit(X, y)
    assert clf.n_iter_.tolist() == [100] and clf.stop_reason_.tolist() == ["max_iter"]
    assert clf.kkt_violation_[0] > 1e-3 and clf.duality_gap_[0] > 0
    with pytest.warns(ConvergenceWarning):
        none = machine(max_iter=0).fit(X, y)
    assert none.n_iter_.tolist() == [0] and np.isfinite(none.decision_function(X)).all()
    assert machine(C=10.0, gamma=0.4, max_iter=10**6).fit(X, y).stop_reason_.tolist() == ["tol"]


@pytest.mark.parametrize("solver", ["min_norm", "min_norm_mdm", "nnisda"])
def test_steps_of_papers_end_on_hostile_problems(solver):
    rng = np.random.default_rng(0)
    X, y = 1e3 * rng.normal(size=(12, 2)), rng.random(12) < 0.5
    machine = L2SVC(solver=solver, kernel="linear", C=1e4, tol=1e-4)
    timer = threading.Timer(60, signal.raise_signal, (signal.SIGINT,))  # training without end
    timer.start()
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*solver='auto'"), contextlib.suppress(KeyboardInterrupt):
        machine.fit(X, y)
    timer.cancel()
    assert machine.stop_reason_.tolist() == ["max_iter"] and machine.n_iter_.tolist() == [10_000_000]
    assert clone(machine).set_params(solver="auto").fit(X, y).stop_reason_.tolist() == ["tol"]


@pytest.mark.parametrize("n", [40, 700])
def test_rounding_errors_end_it(n):
    X, y = easy(n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = auto(C=1.0, gamma=0.2, tol=0.0).fit(X, y)
    exact = l2_svm(rbf_kernel(X, gamma=0.2), signs(y), 1.0)
    np.testing.assert_allclose(clf.dual_objective_[0], exact.dual, rtol=1e-12)
    assert clf.stop_reason_[0] in ("precision", "tol")
    assert any("rounding errors" in str(w.message) for w in caught) == (clf.stop_reason_[0] == "precision")


def wave(A, B):
    return np.sin(7 * A @ B.T) - 0.3


@each_machine
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e6])
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "sigmoid", "gamma": 5.0, "coef0": -2.0},
        {"kernel": "poly", "degree": 3, "coef0": -1.0},
        {"kernel": "precomputed"},
        {"kernel": lambda A, B: -(A @ B.T) - 1},
        {"kernel": lambda A, B: 1e99 * wave(A, B)},
    ],
    ids=["sigmoid", "poly", "precomputed", "negative definite", "huge"],
)
def test_kernels_that_are_not_positive(machine, parameters, C, bias, n_jobs):
    """Training ends, and the values are finite."""
    X, y = noisy(60, 3, seed=17, n_classes=3)
    X = wave(X, X) if parameters["kernel"] == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = machine(C=C, fit_intercept=bias, n_jobs=n_jobs, max_iter=200_000, **parameters).fit(X, y)
    assert set(clf.stop_reason_) <= {"tol", "indefinite", "max_iter", "precision"}
    assert np.isfinite(clf.decision_function(X)).all()


@each_machine
def test_an_indefinite_kernel_is_found_out(machine):
    X, y = noisy(60, 3, seed=17)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        clf = machine(C=10.0, kernel="precomputed", fit_intercept=False).fit(-(X @ X.T), y)
    assert clf.stop_reason_.tolist() == ["indefinite"]
    # The bound that it broke: the dual of a machine that knows nothing is at most the primal's.
    assert clf.dual_objective_[0] <= 10.0 * 60 / 2


@each_machine
def test_two_samples(machine):
    # f = v (K(1, x) - K(-1, x)) without bias, linear: Q = [[2 + 1/C, ...]] is symmetric, so v is the same for both:
    # Q = [[1 + 1, 1], [1, 1 + 1]] with C = 1, Qv = 1: v = 1/3.
    clf = machine(kernel="linear", fit_intercept=False, tol=1e-12).fit([[1.0], [-1.0]], [1, 0])
    np.testing.assert_allclose(clf.dual_coef_, [[-1 / 3, 1 / 3]], rtol=1e-11)
    np.testing.assert_allclose(clf.coef_, [[2 / 3]], rtol=1e-11)
    np.testing.assert_allclose(clf.dual_objective_, [1 / 3], rtol=1e-11)
    # With bias Q_12 = 1 - 1 = 0, Q_11 = 1 + 1 + 1: v = 1/3 and the bias is zero.
    clf = machine(kernel="linear", tol=1e-12).fit([[1.0], [-1.0]], [1, 0])
    np.testing.assert_allclose(clf.dual_coef_, [[-1 / 3, 1 / 3]], rtol=1e-11)
    np.testing.assert_allclose(clf.intercept_, [0.0], atol=1e-11)


# ---- citizenship ---------------------------------------------------------------------------------------


@each_machine
@pytest.mark.parametrize("n", [200, 900])
def test_watching_changes_nothing(machine, n):
    X, y = easy(n)
    alone = machine(C=20.0, gamma=0.2).fit(X, y)
    watched = machine(C=20.0, gamma=0.2).set_callbacks(recorder := Recorder()).fit(X, y)
    same(alone, watched)
    assert sum(event == "end steps" for event in recorder.events) > 2  # a working set is not divided
    for model in recorder.models[:-1]:
        assert np.isfinite(model.decision_function(X)).all()
    objective = [model.dual_objective_[0] for model in recorder.models]
    assert np.diff(objective).min() >= -1e-9, "it rises"
    gaps = [model.duality_gap_[0] for model in recorder.models]
    assert np.isfinite(gaps).all() and min(gaps) >= 0


@each_machine
def test_a_callback_stops(machine):
    X, y = noisy(300, 3, seed=18)
    clf = machine(C=10.0, gamma=0.4).set_callbacks(Recorder(stop_at=2)).fit(X, y)
    assert clf.stop_reason_.tolist() == ["stopped"]
    assert 0 < clf.n_iter_[0] < machine(C=10.0, gamma=0.4).fit(X, y).n_iter_[0]


@each_machine
def test_history(machine):
    X, y = noisy(600, 3, seed=19)
    clf = machine(C=10.0, gamma=0.4, tol=1e-5).fit(X, y)
    h = clf.history_
    assert set(h) == {"machine", "step", "seconds", "n_support", "kkt_violation", "dual_objective", "kernel_evals"}
    assert len({len(column) for column in h.values()}) == 1 and 3 < len(h["step"]) <= 257
    assert h["step"][-1] == clf.n_iter_[0] and h["n_support"][-1] == len(clf.support_)
    assert h["kernel_evals"][-1] == clf.n_kernel_evals_ and h["dual_objective"][-1] == clf.dual_objective_[0]
    for name in ("step", "seconds", "dual_objective", "kernel_evals"):
        assert (np.diff(h[name]) >= -1e-9).all(), name


@each_machine
def test_copies(machine):
    X, y = noisy(100, 3, seed=20, n_classes=3)
    clf = machine(gamma=0.4).fit(X, y)
    for twin in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        same(clf, twin)
        np.testing.assert_array_equal(clf.decision_function(X), twin.decision_function(X))
        assert (machine(gamma=0.4).fit(X, y, dual_init=twin).n_iter_ <= 5).all()


@each_machine
@pytest.mark.parametrize(
    "name, value",
    [
        ("C", 0.0),
        ("C", np.inf),
        ("C", "1"),
        ("tol", -1e-3),
        ("tol", None),
        ("max_iter", -2),
        ("max_iter", 1.5),
        ("fit_intercept", "yes"),
        ("kernel", "cubic"),
        ("gamma", -1.0),
        ("cache_size", 0.0),
        ("n_jobs", 0),
        ("class_weight", "even"),
        ("decision_function_shape", "all"),
        ("warm_start", 1),
    ],
)
def test_bad_parameters(machine, name, value):
    X, y = noisy(20, 2, seed=0)
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        machine(**{name: value}).fit(X, y)


@each_machine
def test_bad_data_leave_the_model_alone(machine):
    X, y = noisy(40, 2, seed=0)
    clf = machine(gamma=0.5).fit(X, y)
    before = pickle.dumps({name: getattr(clf, name) for name in STATE})
    for bad_X, bad_y, weight, match in (
        (X, np.zeros(40), None, "classes"),
        (np.full_like(X, np.nan), y, None, "NaN"),
        (X, y, np.full(40, -1.0), "[Nn]egative"),
        (X, y, np.zeros(40), "zero"),
        (X, y, np.full(40, 1e-101), "C times the weights"),
        (X[:30], y, None, "inconsistent"),
    ):
        with pytest.raises(ValueError, match=match):
            clf.fit(bad_X, bad_y, sample_weight=weight)
        assert pickle.dumps({name: getattr(clf, name) for name in STATE}) == before
    with pytest.raises(ValueError, match="C times the weights"):
        machine(C=1e90).fit(X, y, sample_weight=np.full(40, 1e50))
    with pytest.raises(ValueError, match="square"):
        machine(kernel="precomputed").fit(X, y)


@each_machine
def test_a_kernel_that_raises(machine):
    X, y = easy(700)
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(calls) > limit:
            raise ZeroDivisionError("mine")
        return A @ B.T + 1.0

    limit = 3
    clf = machine(C=10.0, kernel=kernel)
    with pytest.raises(ZeroDivisionError, match="mine"):
        clf.fit(X, y)
    assert not hasattr(clf, "dual_coef_")
    limit = 10**9
    calls.clear()
    clf.fit(X, y)
    assert max(calls) < len(X), "never the whole matrix at once"
