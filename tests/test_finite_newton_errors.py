"""LinearSVC and its relatives: parameters, copies, bad input, interrupts."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from hingeline import LinearSVC, LinearSVCCV, OrdinalSVC, linear_svc_path
from hingeline.linear.problem import MemoryRows

from .copies import COPIES
from .finite_newton_cases import ARRAYS, assert_same, problem

# The smallest gaps that are worth asking for may be out of reach of doubles; the result is checked itself.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# ---- objects -------------------------------------------------------------------------------------------------------

OTHER = {
    "penalty": "l2",
    "dual": True,
    "verbose": 1,
    "random_state": 3,
    "C": 2.0,
    "loss": "huber",
    "fit_intercept": False,
    "intercept_scaling": 2.0,
    "tol": 1e-3,
    "kkt_tol": 1e-2,
    "max_iter": 77,
    "class_weight": "balanced",
    "multi_class": "ovo",
    "solver": "cg",
    "warm_start": True,
    "decision_function_shape": "ovo",
    "n_jobs": 2,
}
DEFAULTS = {
    "penalty": "l2",
    "dual": "auto",
    "verbose": 0,
    "random_state": None,
    "C": 1.0,
    "loss": "squared_hinge",
    "fit_intercept": True,
    "intercept_scaling": 1.0,
    "tol": 1e-4,
    "kkt_tol": None,
    "max_iter": 1000,
    "class_weight": None,
    "multi_class": "ovr",
    "solver": "auto",
    "warm_start": False,
    "decision_function_shape": "ovr",
    "n_jobs": None,
}


def test_parameters_go_round():
    model = LinearSVC()
    assert model.get_params() == DEFAULTS
    assert model.set_params(**OTHER).get_params() == OTHER
    model.fit(*problem(n_classes=3))
    assert vars(clone(model)) == OTHER
    search = LinearSVCCV()
    expected = {"Cs": 10, "cv": None, "scoring": None, "refit": True}
    assert {name: search.get_params()[name] for name in expected} == expected
    assert set(search.get_params()) >= set(DEFAULTS) - {"C", "warm_start", "penalty", "dual", "verbose", "random_state"}
    assert "C" not in search.get_params()


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_copies_are_the_same_to_the_bit(container, copied):
    X, y = problem(n_classes=3)
    X = container(X)
    model = LinearSVC().fit(X, y)
    one = COPIES[copied](model)
    assert_same(one, model)
    assert one.get_params() == model.get_params()
    assert {name: np.asarray(column).tolist() for name, column in one.history_.items()} == {
        name: np.asarray(column).tolist() for name, column in model.history_.items()
    }
    expected = model.decision_function(X)
    model.fit(X, y[::-1])
    np.testing.assert_array_equal(one.decision_function(X), expected)


def test_feature_names():
    pd = pytest.importorskip("pandas")
    X, y = problem()
    model = LinearSVC().fit(pd.DataFrame(X, columns=[*"abcd"]), y)
    assert model.feature_names_in_.tolist() == [*"abcd"]
    assert_same(model, LinearSVC().fit(X, y))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=[*"bacd"]))
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


def test_no_partial_fit():
    assert not hasattr(LinearSVC(), "partial_fit")


# ---- bad input ---------------------------------------------------------------------------------------------------

BAD_PARAMETERS = {
    "C": [0, -1.0, np.nan, np.inf, "1", None, True],
    "loss": ["l2", "log", None, 2],
    "fit_intercept": ["yes", None],
    "intercept_scaling": [0, -1.0, np.nan, np.inf, "1"],
    "tol": [-1e-3, np.nan, np.inf, "small", None],
    "max_iter": [-5, 1.5, "1", None, True],
    "class_weight": ["heavy", {0: -1.0}, {0: np.nan}, {0: "x"}],
    "multi_class": ["crammer_singer", None],
    "solver": ["lbfgs", None],
    "warm_start": ["yes", None],
    "decision_function_shape": ["auto", None],
    "n_jobs": [0, 1.5, "2"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, bad in BAD_PARAMETERS.items() for value in bad])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        LinearSVC(**{name: value}).fit(*problem())
    if name not in ("warm_start", "decision_function_shape", "C"):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            linear_svc_path(*problem(), Cs=[1.0], **{name: value})


@pytest.mark.parametrize("Cs", [[], [1.0, -1.0], [0.0], [np.nan], [np.inf], "ten", [[1.0, 2.0]], None], ids=str)
def test_bad_Cs(Cs):
    with pytest.raises(ValueError, match=r"\bCs\b"):
        linear_svc_path(*problem(), Cs=Cs)
    with pytest.raises(ValueError, match=r"\bCs\b"):
        LinearSVCCV(Cs=Cs).fit(*problem())


@pytest.mark.parametrize("Cs", [0, -3, 2.5, True], ids=str)
def test_bad_number_of_Cs(Cs):
    with pytest.raises(ValueError, match=r"\bCs\b"):
        LinearSVCCV(Cs=Cs).fit(*problem())


BAD_DATA = {
    "nan": (lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
    "infinity": (lambda X, y: (np.where(X > 1, np.inf, X), y), "infinity"),
    "sparse nan": (lambda X, y: (sp.csr_matrix(np.where(X > 1, np.nan, X)), y), "NaN"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), "0 feature"),
    "one dimension": (lambda X, y: (X[0], y), "2D array"),
    "no labels": (lambda X, y: (X, None), "requires y"),
    "lengths": (lambda X, y: (X, y[1:]), "inconsistent"),
    "numbers for labels": (lambda X, y: (X, y + 0.25 * X[:, 0]), "continuous"),
    "one class": (lambda X, y: (X, 0 * y + 3), "class"),
    "complex": (lambda X, y: (X * 1j, y), "[Cc]omplex"),
    "negative weight": (lambda X, y: (X, y, np.where(y > y.min(), -1.0, 1.0)), "[Nn]egative|sample_weight"),
    "weight nan": (lambda X, y: (X, y, np.where(y > y.min(), np.nan, 1.0)), "NaN"),
    "weights for others": (lambda X, y: (X, y, np.ones(len(y) - 1)), "sample_weight"),
    "no weight": (lambda X, y: (X, y, 0.0 * y), "weight"),
    "coef_init shape": (lambda X, y: (X, y, None, np.ones((1, X.shape[1] - 1))), "coef_init"),
    "coef_init machines": (lambda X, y: (X, y, None, np.ones((2, X.shape[1]))), "coef_init"),
    "coef_init nan": (lambda X, y: (X, y, None, np.full((1, X.shape[1]), np.nan)), "coef_init"),
    "coef_init words": (lambda X, y: (X, y, None, "zero"), "coef_init|could not convert"),
    "intercept_init shape": (lambda X, y: (X, y, None, np.ones((1, X.shape[1])), np.ones(2)), "intercept_init"),
    "intercept_init nan": (lambda X, y: (X, y, None, np.ones((1, X.shape[1])), [np.nan]), "intercept_init"),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_leaves_the_model_as_it_was(kind):
    change, words = BAD_DATA[kind]
    X, y = problem()
    with pytest.raises(ValueError, match=words):
        LinearSVC().fit(*change(X, y))
    model = LinearSVC().fit(X, y)
    before = {name: pickle.dumps(value) for name, value in vars(model).items()}
    expected = model.decision_function(X)
    with pytest.raises(ValueError, match=words):  # other features and classes, to leave traces if it could
        model.fit(*change(np.hstack([X, X]), y + 5))
    assert {name: pickle.dumps(value) for name, value in vars(model).items()} == before
    np.testing.assert_array_equal(model.decision_function(X), expected)


def test_bad_parameter_leaves_the_model_as_it_was():
    X, y = problem()
    model = LinearSVC().fit(X, y)
    before = {name: pickle.dumps(value) for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(ValueError, match="loss"):
        model.set_params(loss="none").fit(X[:, :2], y + 5)
    assert {name: pickle.dumps(value) for name, value in vars(model).items() if name.endswith("_")} == before


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_numbers_beyond_doubles(container, solver):
    X, y = problem()
    for value in (1e200, -1e300):  # the square overflows
        X[3, 2] = value
        with pytest.raises(ValueError, match="leave the range of a double; scale the features"):
            LinearSVC(solver=solver).fit(container(X), y)
    X[3, 2] = 1e120  # the square does not, but all other numbers are lost beside it
    model = LinearSVC(solver=solver)
    with pytest.warns(ConvergenceWarning, match="precision"):
        model.fit(container(X), y)
    assert model.stop_reason_.tolist() == ["precision"]
    assert np.isfinite(model.coef_).all() and np.isfinite(model.duality_gap_).all()


@pytest.mark.parametrize("method", ["predict", "decision_function", "score"])
def test_bad_queries(method):
    X, y = problem()
    rest = (y,) if method == "score" else ()
    with pytest.raises(NotFittedError):
        getattr(LinearSVC(), method)(X, *rest)
    model = LinearSVC().fit(X, y)
    for bad, words in ((X[:, :2], "features"), (X[0], "2D array"), (np.where(X > 1, np.nan, X), "NaN")):
        with pytest.raises(ValueError, match=words):
            getattr(model, method)(bad, *rest)


# ---- Ctrl-C --------------------------------------------------------------------------------------------------------


class Interrupting:
    """A source whose n-th call, counted over all sources, raises KeyboardInterrupt."""

    def __init__(self, source, calls, at):
        self.source, self.calls, self.at = source, calls, at

    def __getattr__(self, name):
        value = getattr(self.source, name)
        if not callable(value):
            return value

        def call(*args):
            self.calls.append(name)
            if len(self.calls) == self.at:
                raise KeyboardInterrupt
            return value(*args)

        return call


INTERRUPTED = {
    "gram": LinearSVC(loss="huber", solver="gram", tol=1e-12, C=100.0),
    "cg": LinearSVC(solver="cg", tol=1e-12, C=100.0),
    "hinge": LinearSVC(loss="hinge", tol=1e-8, C=10.0, multi_class="ovo"),
    "ordinal": OrdinalSVC(loss="huber", tol=1e-12, C=100.0),
}


def calls_of_a_fit(monkeypatch, model, X, y, at=None):
    """Names of the calls of the source; the call number `at` is interrupted."""
    calls, source = [], MemoryRows.source
    with monkeypatch.context() as patch:
        patch.setattr(MemoryRows, "source", lambda self, clip: Interrupting(source(self, clip), calls, at))
        if at is None:
            model.fit(X, y)
        else:
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, y)
    return calls


@pytest.mark.parametrize("case", INTERRUPTED)
def test_interrupt_leaves_a_model(case, monkeypatch):
    X, y = problem(n=90, d=5, n_classes=3, seed=31)
    whole = clone(INTERRUPTED[case])
    total = len(calls_of_a_fit(monkeypatch, whole, X, y))
    begun = 1 if case == "gram" or case == "ordinal" else 0  # Hessians are announced first
    for at in sorted({begun + 1, begun + 2, *range(begun + 3, total - 4, max(1, total // 12))}):
        model = clone(INTERRUPTED[case]).fit(X[:50, :3], y[:50])
        stale = {name: value for name, value in vars(model).items() if name in ARRAYS and name != "n_iter_"}
        calls_of_a_fit(monkeypatch, model, X, y, at)
        assert "interrupted" in np.atleast_1d(model.stop_reason_)
        assert not {"stopped", "running"} & set(np.atleast_1d(model.stop_reason_))
        assert not [name for name, value in stale.items() if getattr(model, name, None) is value]
        assert np.isfinite(model.decision_function(X)).all()
        assert set(model.predict(X)) <= set(y)
        assert (np.ravel(model.duality_gap_) >= 0).all()
        assert (np.ravel(model.objective_) >= np.ravel(whole.objective_) * (1 - 1e-9)).all()
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X)
        )
        np.testing.assert_array_equal(model.fit(X, y).coef_, whole.coef_)


def test_interrupted_search_and_path_leave_nothing(monkeypatch):
    X, y = problem(n=60)
    search = LinearSVCCV(Cs=3).fit(X, y)
    before = {name: pickle.dumps(value) for name, value in vars(search).items()}
    for at in (1, 5, 20):
        calls_of_a_fit(monkeypatch, search, np.hstack([X, X]), y + 1, at)
        assert {name: pickle.dumps(value) for name, value in vars(search).items()} == before


SIGNALLED = """
import os, signal, sys, threading
import numpy as np
from hingeline import LinearSVC
from hingeline.linear.newton import Newton

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
rng = np.random.default_rng(0)
X, y = rng.standard_normal((20_000, 100)), rng.integers(0, 10, 20_000)
calls, iterate = [], Newton.iterate


def watched(self):
    calls.append(1)
    if len(calls) == 3:  # of hundreds
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
    return iterate(self)


Newton.iterate = watched
model = LinearSVC(loss="hinge", multi_class="ovo", tol=1e-9, solver=sys.argv[1], n_jobs=2)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print(sorted(set(model.stop_reason_.tolist()) - {"gap", "precision"}), len(model.predict(X[:5])))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to send")
@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_signal_interrupts_training(solver):
    command = [sys.executable, "-c", SIGNALLED, solver]
    child = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    assert child.stdout.split("\n")[0] == "['interrupted'] 5", child.stderr
