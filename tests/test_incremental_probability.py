"""IncrementalSVC: probabilities from leave-one-out values."""

import copy
import pickle
import threading

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import _sigmoid_calibration
from sklearn.exceptions import NotFittedError

from hingeline import IncrementalSVC

from .exact import KERNELS, batch, blobs, noisy
from .private import read_state, saved_state, with_saved_state


def model_of(X, y, **options):
    return IncrementalSVC(C=2.0, probability=True, **KERNELS["rbf"], **options).fit(X, y)


def column(X, sides, queries, weights=None):
    """Probability of the positive side: LIBSVM without each point in turn, then scikit-learn's sigmoid."""
    n = len(X)
    weights = np.ones(n) if weights is None else weights
    left_out = np.empty(n)
    for k in range(n):
        rest = np.arange(n) != k
        model = batch(X[rest], sides[rest], C=2.0, weights=weights[rest])
        left_out[k] = model.decision_function(X[k : k + 1])[0]
    kept = weights > 0
    A, B = _sigmoid_calibration(left_out[kept], sides[kept])
    whole = batch(X, sides, C=2.0, weights=weights).decision_function(queries)
    return expit(-(A * whole + B))


def test_two_classes_equal_naive_leave_one_out():
    X, y = noisy(60)
    queries = noisy(40, seed=1)[0]
    positive = column(X, y == 1, queries)
    expected = np.stack([1 - positive, positive], axis=1)
    model = model_of(X, y)
    np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(model.predict_log_proba(queries), np.log(expected), rtol=0, atol=1e-4)


def test_several_classes_equal_naive_leave_one_out():
    X, y = blobs(50)
    queries = blobs(40, seed=1)[0]
    positive = np.stack([column(X, y == c, queries) for c in range(3)], axis=1)
    expected = positive / positive.sum(axis=1, keepdims=True)
    found = model_of(X, y).predict_proba(queries)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_points_of_weight_zero_do_not_count():
    X, y = noisy(50)
    weights = np.where(np.arange(50) % 5 == 4, 0.0, 1.0)
    model = IncrementalSVC(C=2.0, probability=True, **KERNELS["rbf"]).fit(X, y, sample_weight=weights)
    few = model_of(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(model.predict_proba(X), few.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_follow_the_model(n_classes):
    """After each change they are those of a model that was fitted to the points held."""
    X, y = noisy(60) if n_classes == 2 else blobs(60)
    model, C = model_of(X[:40], y[:40]), 2.0
    seen = [model.predict_proba(X)]

    def check(held):
        fresh = IncrementalSVC(C=C, probability=True, **KERNELS["rbf"]).fit(X[held], y[held])
        seen.append(model.predict_proba(X))
        np.testing.assert_allclose(seen[-1], fresh.predict_proba(X), rtol=0, atol=1e-7)
        assert np.abs(seen[-1] - seen[-2]).max() > 1e-5

    model.add(X[40:], y[40:])
    check(np.arange(60))
    model.forget(range(10))
    check(np.arange(10, 60))
    C = 5.0
    model.set_C(C)
    check(np.arange(10, 60))
    model.set_params(window=30).partial_fit(X[:1], y[:1])
    check([*range(31, 60), 0])


def test_a_point_without_influence_on_the_machine_changes_probabilities():
    X, y = noisy(60)
    model = model_of(X, y)
    before = model.predict_proba(X)
    far = model.decision_function(X).argmax()
    coef = model.dual_coef_
    model.add(X[[far]], [1])
    assert model.dual_coef_.tobytes() == coef.tobytes()
    assert (model.predict_proba(X) != before).any()


def test_a_new_label_is_calibrated():
    X, y = blobs(60)
    two = y < 2
    model = model_of(X[two], y[two])
    assert model.predict_proba(X).shape == (60, 2)
    model.partial_fit(X[~two], y[~two])
    found = model.predict_proba(X)
    assert found.shape == (60, 3)
    assert np.mean(found.argmax(axis=1) == y) > 0.7


@pytest.fixture
def counted(monkeypatch):
    """Numbers of leave-one-out runs."""
    runs = []
    original = IncrementalSVC.leave_one_out

    def count(self, progress=None):
        runs.append(self.n_samples_)
        return original(self, progress)

    monkeypatch.setattr(IncrementalSVC, "leave_one_out", count)
    return runs


def test_sigmoids_are_fitted_once_per_state(counted):
    X, y = noisy(40)
    model = model_of(X, y)
    assert counted == []
    expected = model.predict_proba(X)
    model.c_path([1.0, 3.0])
    assert model.kkt_violation_ < 1e-9
    for other in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert other.predict_proba(X).tobytes() == expected.tobytes()
    with pytest.raises(KeyError):
        model.forget(99)
    model.predict_proba(X)
    assert counted == [40]
    model.forget(0)
    model.predict_proba(X)
    model.fit(X, y).predict_proba(X)
    assert counted == [40, 39, 40]


def test_old_sigmoids_are_not_saved():
    X, y = noisy(40)
    model = model_of(X, y)
    model.predict_proba(X)
    assert "calibration" in saved_state(model)
    model.forget(3)
    assert "calibration" not in saved_state(model)
    model.predict_proba(X)
    model.add(X[:1], y[:1])
    assert "calibration" not in saved_state(model)


@pytest.mark.parametrize("sigmoids", [None, np.zeros((2, 2)), np.full((2, 1), np.nan)])
def test_damaged_sigmoids_are_refused(sigmoids):
    X, y = noisy(40)
    model = model_of(X, y)
    model.predict_proba(X)
    state = saved_state(model)
    with pytest.raises(ValueError, match="damaged: sigmoids"):
        with_saved_state(model, {**state, "calibration": (state["calibration"][0], sigmoids)})


def test_probability_is_asked_for():
    X, y = noisy(40)
    model = IncrementalSVC(gamma=0.5).fit(X, y)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError) as error:
        model.predict_proba(X)
    assert "probability=False" in str(error.value.__cause__)
    model.set_params(probability=True)
    assert model.predict_proba(X).shape == (40, 2)
    assert hasattr(clone(model), "predict_proba")
    with pytest.raises(ValueError, match="The 'probability' parameter of IncrementalSVC must be"):
        IncrementalSVC(probability="yes").fit(X, y)


def test_models_without_probabilities_raise():
    X, y = noisy(40)
    model = IncrementalSVC(gamma=0.5, probability=True)
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    model.partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    assert (model.predict_proba(X)[:, 1] > 0.9).all()
    model.partial_fit(X, y).set_params(C=3.0)
    with pytest.raises(ValueError, match="call set_C"):
        model.predict_proba(X)
    model.set_C(3.0).forget(model.ids_)
    with pytest.raises(NotFittedError, match="holds no points"):
        model.predict_proba(X)


def test_ctrl_c_leaves_the_model(monkeypatch):
    X, y = noisy(40)
    model = model_of(X, y)

    def interrupted(self, progress=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(IncrementalSVC, "leave_one_out", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), model_of(X, y).predict_proba(X))


def test_a_change_waits_for_the_sigmoids(monkeypatch):
    """Sigmoids and machines belong to one state, even if another thread adds points meanwhile."""
    X, y = noisy(60)
    model, twin = model_of(X[:30], y[:30]), model_of(X[:30], y[:30])
    other = threading.Thread(target=lambda: model.add(X[30:], y[30:]))
    original = IncrementalSVC.leave_one_out

    def while_another_adds(self, progress=None):
        other.start()
        other.join(timeout=0.2)  # it must wait, so this takes the whole time
        return original(self, progress)

    with monkeypatch.context() as patch:
        patch.setattr(IncrementalSVC, "leave_one_out", while_another_adds)
        found = model.predict_proba(X)
    other.join()
    np.testing.assert_array_equal(found, twin.predict_proba(X))
    twin.add(X[30:], y[30:])
    np.testing.assert_array_equal(model.predict_proba(X), twin.predict_proba(X))


def refusing_kernel(A, B):
    if (np.asarray(A) == 7).any():
        raise RuntimeError("no value for 7")
    return np.asarray(A) @ np.asarray(B).T


def test_a_failed_call_keeps_no_sigmoids():
    X, y = noisy(40)
    model = IncrementalSVC(kernel=refusing_kernel, probability=True).fit(X, y)
    before = read_state(model)
    with pytest.raises(RuntimeError, match="no value for 7"):
        model.predict_proba(np.full((1, X.shape[1]), 7.0))  # the sigmoids are fitted before
    assert read_state(model) == before
