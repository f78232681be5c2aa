"""Exact machines on kernel matrices that are singular up to rounding.

No operation raises, and after each the KKT violation is at most ``1e-8 * max(1, C * max K)``, or a warning names the
number reached.
"""

import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC

from hingeline import IncrementalOneClassSVM, IncrementalSVC

from .data import plus_minus
from .exact import coefficients, fingerprint, noisy

# ---- data ----------------------------------------------------------------------------------------------

RBF, LINEAR = {"kernel": "rbf"}, {"kernel": "linear"}


def scales(rng):
    return 10.0 ** rng.uniform(-6, 6, (1, 4))


#: gamma makes zeros and ones of rounding errors: the computed matrix has an eigenvalue near -1.
INDEFINITE = "distances of rounding errors"
PROBLEMS = {
    "kernel values near 1": (lambda r, n: r.randn(n, 3), {**RBF, "gamma": 1e-6}),
    "kernel values nearer to 1": (lambda r, n: r.randn(n, 3), {**RBF, "gamma": 1e-9}),
    "kernel values near 0": (lambda r, n: 1e-6 * r.randn(n, 3), LINEAR),
    INDEFINITE: (lambda r, n: 1 + 1e-15 * r.randn(n, 5), {**RBF, "gamma": 1e150}),
    "few different rows, rbf": (lambda r, n: r.randn(5, 3)[r.randint(0, 5, n)], {**RBF, "gamma": 0.5}),
    "few different rows, linear": (lambda r, n: r.randn(5, 3)[r.randint(0, 5, n)], LINEAR),
    "nearly equal rows": (lambda r, n: r.randn(5, 3)[r.randint(0, 5, n)] + 1e-7 * r.randn(n, 3), {**RBF, "gamma": 0.5}),
    "constant rows, rbf": (lambda r, n: np.ones((n, 3)), {**RBF, "gamma": 1.0}),
    "constant rows, linear": (lambda r, n: np.ones((n, 3)), LINEAR),
    "zeros": (lambda r, n: np.zeros((n, 3)), LINEAR),
    "rank 1": (lambda r, n: r.randn(n, 1) * r.randn(1, 4), LINEAR),
    "far from the origin": (lambda r, n: 1e4 + r.randn(n, 2), LINEAR),
    "scaled columns, linear": (lambda r, n: r.randn(n, 4) * scales(r), LINEAR),
    "scaled columns, rbf": (lambda r, n: r.randn(n, 4) * scales(r), {**RBF, "gamma": 1e-3}),
    "high degree": (lambda r, n: r.randn(n, 2), {"kernel": "poly", "degree": 5, "gamma": 0.1, "coef0": 1.0}),
}


def kernel_matrix(X, kernel, gamma=1.0, degree=3, coef0=0.0):
    if kernel == "rbf":
        return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    return X @ X.T if kernel == "linear" else (gamma * X @ X.T + coef0) ** degree


def largest_kernel_value(X, options):
    return max(np.diagonal(kernel_matrix(X[k : k + 1], **options))[0] for k in range(len(X)))


# ---- operations ------------------------------------------------------------------------------------------


def classifier_run(rng, X, options, seed):
    """A model and operations on it, with weights, several classes and windows in turn."""
    n, half = len(X), len(X) // 2
    y = rng.randint(0, 3 if seed % 3 == 0 else 2, n)
    y[:3] = 0, 1, 0
    weights = rng.choice([0.1, 1.0, 7.0], n) if seed % 2 else np.ones(n)
    C, other = 10.0 ** rng.uniform(-3, 6, 2)
    window, rule = half if seed % 5 == 0 else None, "oldest" if seed % 10 else "relevance"
    model = IncrementalSVC(C=C, window=window, window_rule=rule, **options)

    def add(some):
        model.add(X[some], y[some], sample_weight=weights[some])

    return model, [
        lambda: model.fit(X[:half], y[:half], weights[:half]),
        lambda: [add([k]) for k in range(half, n)],
        lambda: model.forget(model.ids_[::3]),
        lambda: model.set_C(other),
        lambda: model.forget(model.ids_[1]),
        lambda: model.leave_one_out(),
        lambda: model.set_C(C),
        lambda: add(np.arange(half)),
        lambda: model.c_path([0.01, 1.0, 1000.0]),
        lambda: pickle.loads(pickle.dumps(model)),
    ]


def one_class_run(rng, X, options, seed):
    n, half = len(X), len(X) // 2
    bound = (
        {"nu": rng.choice([0.05, 0.1, 0.3, 0.5, 1.0])} if seed % 2 else {"C": rng.choice([0.05, 0.1, 0.5, 1.0, 100])}
    )
    window = half if seed % 5 == 0 and half * bound.get("C", 1.0) >= 1 else None
    model = IncrementalOneClassSVM(shape=("plane", "sphere")[seed // 2 % 2], window=window, **bound, **options)
    return model, [
        lambda: model.fit(X[:half]),
        lambda: [model.partial_fit(X[k : k + 1]) for k in range(half, n)],
        lambda: model.forget(model.ids_[::3]),
        lambda: model.set_nu(0.2),
        lambda: model.set_C(0.3),
        lambda: model.forget(model.ids_[1]),
        lambda: model.add(X[:half]),
    ]


def warned(caught):
    """Number that a ConvergenceWarning names, or 0."""
    texts = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    return max((float(re.search(r"KKT violation is (\S+),", text).group(1)) for text in texts), default=0.0)


def battery(name, seed, n, make):
    rows, options = PROBLEMS[name]
    rng = np.random.RandomState(seed)
    X = rows(rng, n)
    largest = largest_kernel_value(X, options)
    model, operations = make(rng, X, options, seed)
    for k, operation in enumerate(operations):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            operation()
        violation, limit = model.kkt_violation_, 1e-8 * max(1.0, model._model.core.C * largest)
        assert violation <= max(limit, 1.001 * warned(caught)), (name, seed, k, violation, limit)


@pytest.mark.parametrize("make", [classifier_run, one_class_run])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_operation_ends_at_the_optimum_or_warns(name, make):
    for seed in range(6):
        battery(name, seed, 30, make)


@pytest.mark.slow
@pytest.mark.parametrize("make", [classifier_run, one_class_run])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_operation_ends_at_the_optimum_or_warns_at_length(name, make):
    for seed in range(6, 60):
        battery(name, seed, 60, make)


@pytest.mark.parametrize("scale, options", [(1.0, {"gamma": 1e-6}), (1e-6, LINEAR)])
def test_random_labels(scale, options):
    for seed in range(40):
        rng = np.random.RandomState(seed)
        X, y = scale * rng.randn(100, 3), rng.randint(0, 2, 100)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model = IncrementalSVC(**options).fit(X, y)
        assert model.kkt_violation_ < 1e-9


def test_features_of_very_different_scale():
    rng = np.random.RandomState(713)
    X, y = rng.randn(400, 4) * scales(rng), rng.randint(0, 3, 400)
    restarts = []
    for some in (
        [187, 345, 45, 348, 267, 115, 20, 115, 394, 344],
        [172, 47, 117, 192, 323, 251, 195, 359, 9, 211],
    ):
        model = IncrementalSVC(kernel="linear", C=10.0).fit(X[some], y[some])
        assert model.kkt_violation_ < 1e-4  # rounding errors of sums of 1e10
        restarts.append(model.n_restarts_.sum())
    assert max(restarts) > 0


# ---- the optimum is that of others -----------------------------------------------------------------------


def objectives(alpha, constant, K, sign, C):
    """Dual and primal objective."""
    outputs = K @ alpha
    loss = np.maximum(0.0, 1.0 - sign * (outputs + constant)).sum()
    return sign @ alpha - alpha @ outputs / 2, alpha @ outputs / 2 + C * loss


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != INDEFINITE])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_objectives(name, C):
    """No duality gap, and a dual objective not below that of LIBSVM, which need not converge here."""
    rows, options = PROBLEMS[name]
    for seed in range(3):
        rng = np.random.RandomState(seed)
        X, y = rows(rng, 50), rng.randint(0, 2, 50)
        y[:2] = 0, 1
        K, sign = kernel_matrix(X, **options), plus_minus(y, 1)
        model = IncrementalSVC(C=C, **options).fit(X[:30], y[:30])
        model.add(X[30:], y[30:])
        alpha = coefficients(model, np.arange(50))[0]
        dual, primal = objectives(alpha, model.intercept_[0], K, sign, C)
        noise = 1e-14 * np.abs(K).max() * np.abs(alpha).sum()  # of one decision value
        allowed = 1e-8 * max(1.0, primal) + 50 * C * min(noise, max(1e-6, 0.1 * noise))
        assert primal - dual <= allowed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            batch = SVC(C=C, tol=1e-9, max_iter=100_000, **options).fit(X, y)
        theirs = np.zeros(50)
        theirs[batch.support_] = batch.dual_coef_[0]
        assert dual >= objectives(theirs, 0.0, K, sign, C)[0] - allowed


def test_a_problem_becomes_regular_again():
    X, y = noisy(60)
    expected = IncrementalSVC(C=2.0, gamma=0.7).fit(X, y)
    model = IncrementalSVC(C=2.0, gamma=0.7).fit(X, y)
    twins = model.add(np.repeat(X[:5], 8, axis=0) + 1e-9, 1 - np.repeat(y[:5], 8))
    model.set_C(1e5).set_C(2.0).forget(twins)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), rtol=0, atol=1e-8)
    assert np.isfinite(model.condition_).all()


def test_rounding_errors_of_distances():
    rows, options = PROBLEMS[INDEFINITE]
    for seed in range(8):
        X, y = rows(np.random.RandomState(seed), 8), np.arange(8) % 2
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = IncrementalSVC(C=1e4, **options).fit(X, y)
            for C in (1e-310, 1.0, 1e6):
                violation = model.set_C(C).kkt_violation_
                assert violation <= max(1e-8 * max(1.0, C), 1.01 * warned(caught)), (seed, C)


# ---- errors ------------------------------------------------------------------------------------------


def test_only_indefinite_kernels_are_refused():
    X, y = noisy(40)

    def indefinite(A, B):
        return -A @ B.T

    def rounded(A, B):  # a valid kernel in single precision has eigenvalues of -1e-7
        return np.exp(-1e-3 * ((A[:, None] - B) ** 2).sum(axis=2)).astype(np.float32).astype(np.float64)

    model = IncrementalSVC(C=100.0, kernel=indefinite).fit(X[:2], [0, 1])
    with pytest.raises(RuntimeError, match="not positive semi-definite"):
        model.add(X, y)
    model.forget(model.ids_)  # points can be removed from any model
    model = IncrementalSVC(C=100.0, kernel=rounded).fit(X, y)
    model.forget(model.ids_[::2]).set_C(1.0)
    assert model.kkt_violation_ < 1e-6


class Counted:
    """RBF kernel with values near 1 that raises after some calls."""

    def __init__(self):
        self.left = 10**9

    def __call__(self, A, B):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return np.exp(-1e-6 * ((A[:, None] - B) ** 2).sum(axis=2))


@pytest.mark.parametrize("operation", ["forget", "set_C"])
def test_an_interrupted_operation_is_undone(operation):
    rng = np.random.RandomState(0)
    X, y = rng.randn(60, 3), rng.randint(0, 2, 60)
    interrupted = 0
    for left in range(8):
        model = IncrementalSVC(C=1.0, kernel=Counted(), cache_size=0.05).fit(X, y)
        before = fingerprint(model)
        model.kernel.left = left
        try:
            model.forget(model.ids_[::2]) if operation == "forget" else model.set_C(1e3)
        except KeyboardInterrupt:
            interrupted += 1
            assert fingerprint(model) == before
        model.kernel.left = 10**9
        assert model.kkt_violation_ < 1e-8
    assert interrupted


# ---- forgetting everything, points on the boundary -----------------------------------------------------------


def test_a_bound_far_away():
    """Beyond the C at which no coefficient is at a bound the optimum does not change."""
    X = np.random.default_rng(0).standard_normal((10, 3))
    model = IncrementalOneClassSVM(nu=1.0, gamma=0.5).fit(X).set_nu(1e-3)
    near = model.score_samples(X) * model._model.core.C
    model.set_nu(1e-30)
    assert model.kkt_violation_ < 1e-12
    np.testing.assert_allclose(model.score_samples(X) * model._model.core.C, near, rtol=1e-10)
    X, y = noisy(40)
    model = IncrementalSVC(C=1.0, gamma=20.0).fit(X, y).set_C(1e6)
    near = model.decision_function(X)
    np.testing.assert_array_equal(model.set_C(1e99).decision_function(X), near)


def test_forget_everything():
    X, y = noisy(40)
    model = IncrementalSVC(C=2.0, gamma=0.5).fit(X, y)
    model.forget(np.flatnonzero(y == 0))
    assert (model.predict(X) == 1).all()
    model.forget(np.flatnonzero(y == 1))
    assert model.n_samples_ == 0 and model.intercept_.tolist() == [0.0]
    for call in (model.predict, model.decision_function):
        with pytest.raises(NotFittedError, match="no points"):
            call(X)
    model.add(X, y)
    fresh = IncrementalSVC(C=2.0, gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("shape", ["plane", "sphere"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "callable"])
def test_at_most_nu_outside(shape, kernel):
    options = {"gamma": 0.3, "coef0": 1.0, "degree": 2}
    options["kernel"] = kernel if kernel != "callable" else lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(axis=2))
    for seed in range(8):
        rng = np.random.RandomState(seed)
        X = rng.randn(100, 3) + (3.0 if kernel == "linear" else 0.0)
        if seed % 4 == 0:
            X = X[rng.randint(0, 50, 100)]  # equal rows
        for nu in (0.05, 0.1, 0.3):
            model = IncrementalOneClassSVM(nu=nu, shape=shape, **options).fit(X)
            values = model.decision_function(X)
            assert (values < 0).sum() <= nu * 100 + 1e-9
            assert np.array_equal(model.predict(X), np.where(values >= 0, 1, -1))
            assert [model.predict(X[k : k + 1])[0] for k in range(0, 100, 9)] == model.predict(X)[::9].tolist()
            np.testing.assert_allclose(values, model.score_samples(X) - model.offset_, rtol=0, atol=0)
