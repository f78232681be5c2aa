"""LASVC with C beyond the reach of its steps: lower bounds, in solutions, warnings and saved models."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from hingeline import LASVC

from .data import blobs, noisy
from .online import VARIANTS, same, stream
from .private import machine_state


def halves(n, seed=0):
    """Training and test part of two classes that overlap in two dimensions."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, 2 * n)
    X = random.normal(size=(2 * n, 2)) + 1.5 * y[:, None]
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_accuracy_does_not_break_with_C(variant, how):
    X, y, X_test, y_test = halves(1200)
    wanted = SVC(C=1.0, gamma=1.0).fit(X, y).score(X_test, y_test)
    for C in (1e4, 1e6):
        model = LASVC(variant=variant, C=C, gamma=1.0, random_state=0)
        with pytest.warns(ConvergenceWarning, match=r"smaller C.*effective_C_") as caught:
            model.fit(X, y) if how == "fit" else model.partial_fit(X, y, [0, 1])
        assert caught[0].filename == __file__ and len(caught) == 1
        assert model.score(X_test, y_test) > wanted - (0.03 if how == "fit" else 0.06)
        assert model.effective_C_[0] < C / 8 and np.log2(C / model.effective_C_[0]) % 1 == 0
        assert np.abs(model.dual_coef_).max() == model.effective_C_[0]
        if how == "fit":
            assert model.duality_gap_[0] <= 0.5 * model.dual_objective_[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_bounds_are_those_of_C_where_steps_keep_up(variant):
    X, y, _, _ = halves(600)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LASVC(variant=variant, C=0.5, gamma=1.0).fit(X, y).effective_C_ == 0.5
        # Coefficients below their bounds: there is nothing to tell about a C that is never reached.
        X, y = blobs(600, 2, d=10)
        X = X + 4.0 * y[:, None]
        model = LASVC(variant=variant, C=1e6, gamma=0.05, random_state=0).fit(X, y)
    assert model.score(X, y) == 1 and np.abs(model.dual_coef_).max() < model.effective_C_[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_rule_of_the_paper_and_tol_know_one_C(variant):
    X, y = noisy(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paper = LASVC(variant=variant, C=1e3, gamma=1.0, solver_options={"reprocess": "paper"}).fit(X, y)
    assert paper.effective_C_ == 1e3 and machine_state(paper)["share"] == 1
    optimum = LASVC(variant=variant, C=1e3, gamma=1.0, tol=1e-2, solver_options={"clean_period": 50}).fit(X, y)
    assert optimum.effective_C_ == 1e3
    assert optimum.duality_gap_ <= 1e-2 * (optimum.dual_objective_ + optimum.duality_gap_)
    assert np.abs(optimum.dual_coef_).max() == 1e3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", VARIANTS)
def test_lower_bounds_do_not_depend_on_chunks(variant, dtype):
    X, y, _, _ = halves(700)
    X = X.astype(dtype)
    options = {"variant": variant, "C": 1e5, "gamma": 1.0, "solver_options": {"clean_period": 64}}
    one = stream(LASVC(**options), X, y)
    assert one.effective_C_[0] < 1e5
    cut = stream(LASVC(**options, cache_size=0.01), X[:500], y[:500], [1, 63, 64, 65, 300])
    cut = pickle.loads(pickle.dumps(cut))
    cut.partial_fit(X[500:], y[500:])
    same(one, cut)
    assert one.effective_C_ == cut.effective_C_


def test_few_coefficients_at_lower_bounds_are_no_reason_to_warn():
    X, y = load_digits(return_X_y=True)
    model = LASVC(C=10, gamma=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream(model, X / 16, y, range(100, len(y), 100))
    assert model.effective_C_.min() < 10
    assert model.score(X / 16, y) > 0.99


def test_a_stream_warns_when_bounds_are_lowered_not_after_each_chunk():
    X, y, _, _ = halves(1500)
    model = LASVC(C=1e5, gamma=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stream(model, X, y, range(100, 1500, 100))
    assert 1 <= len(caught) <= 3 and all(w.category is ConvergenceWarning for w in caught)
