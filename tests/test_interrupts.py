"""Ctrl-C at any moment leaves a model whose parts agree: rows, ids, labels, parameters."""

import pickle
import signal
import threading

import numpy as np
import pytest

from hingeline import LASVC, IncrementalOneClassSVM, IncrementalSVC, KernelSGDClassifier

from .interrupts import everywhere

RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 3))
Y = (X[:, 0] + 0.5 * RNG.standard_normal(24) > 0).astype(int)
Y[:2] = 0, 1
MORE = np.where(np.arange(24) % 5 == 0, 2, Y)  # a third label
NAMES = [f"row {i}" for i in range(24)]
HELD = 16

SVC = IncrementalSVC(C=2, gamma=0.3)
OUTLIERS = IncrementalOneClassSVM(nu=0.2, gamma=0.3)


def named():
    model = IncrementalSVC(C=2, gamma=0.3)
    model.add(X[:HELD], Y[:HELD], ids=NAMES[:HELD])
    return model


def check_points(model):
    """Every row has an id with which it can be forgotten, and the parameters are those of the machines."""
    if "_model" not in vars(model):
        return
    model._ready()  # raises if a parameter is not the one of the core
    assert len(model.ids_) == model.n_samples_ == len(model._model.serials())
    assert model.kkt_violation_ < 1e-9
    if isinstance(model, IncrementalSVC):
        assert model.C == model._model.core.C
        np.testing.assert_array_equal(model.classes_, model._model.classes)
        assert set(model.predict(X)) <= set(model.classes_.tolist())
    copy = pickle.loads(pickle.dumps(model))
    copy.forget(model.ids_)
    assert copy.n_samples_ == len(copy._model.name_of) == 0


EXACT = {
    "set_C": (SVC.fit, lambda m: m.set_C(20.0)),
    "set_C, one class": (OUTLIERS.fit, lambda m: m.set_C(0.2)),
    "set_nu": (OUTLIERS.fit, lambda m: m.set_nu(0.5)),
    "add": (SVC.fit, lambda m: m.add(X[HELD:], Y[HELD:])),
    "add, ids": (lambda X, y: named(), lambda m: m.add(X[HELD:], Y[HELD:], ids=NAMES[HELD:])),
    "add, new label": (SVC.fit, lambda m: m.add(X[HELD:], MORE[HELD:])),
    "add, one class": (OUTLIERS.fit, lambda m: m.add(X[HELD:])),
    "fit": (SVC.fit, lambda m: m.fit(X, MORE)),
    "fit, one class": (OUTLIERS.fit, lambda m: m.fit(X)),
    "partial_fit": (SVC.fit, lambda m: m.partial_fit(X, MORE, [0, 1, 2, 3])),
    "partial_fit, one class": (OUTLIERS.fit, lambda m: m.partial_fit(X[HELD:])),
    "forget": (SVC.fit, lambda m: m.forget([1, 2, 3])),
    "forget, ids": (lambda X, y: named(), lambda m: m.forget(NAMES[1:4])),
    "forget, one class": (OUTLIERS.fit, lambda m: m.forget([1, 2, 3])),
}


@pytest.mark.parametrize("case", EXACT)
def test_points_and_ids_agree(case):
    prepare, call = EXACT[case]
    saved = pickle.dumps(prepare(X[:HELD], Y[:HELD]))
    everywhere(lambda: pickle.loads(saved), call, check_points, step=4)


@pytest.mark.parametrize("case", ["set_C", "set_C, one class", "set_nu"])
def test_parameters_and_machines_change_together(case):
    """At every single place: the core moves the machines and sets the parameters in one call."""
    prepare, call = EXACT[case]
    saved = pickle.dumps(prepare(X[:HELD], Y[:HELD]))
    everywhere(lambda: pickle.loads(saved), call, check_points)


@pytest.mark.parametrize("first", [True, False], ids=["first chunk", "later chunk"])
@pytest.mark.parametrize("model", [LASVC(gamma=0.3), KernelSGDClassifier(gamma=0.3)], ids=["lasvc", "sgd"])
def test_labels_and_machines_agree(model, first):
    """Labels are read from the ensemble: there is no second list of them that could differ."""
    start = pickle.loads(pickle.dumps(model))
    if not first:
        start.partial_fit(X[:HELD], Y[:HELD], [0, 1])
    saved = pickle.dumps(start)

    def check(model):
        if "_model" not in vars(model):
            return
        np.testing.assert_array_equal(model.classes_, model._model.classes)
        values = pickle.loads(pickle.dumps(model)).decision_function(X)
        np.testing.assert_array_equal(model.decision_function(X), values)
        model.partial_fit(X, MORE)
        assert set(model.predict(X)) <= {0, 1, 2}

    everywhere(lambda: pickle.loads(saved), lambda m: m.partial_fit(X, MORE, [0, 1]), check, step=3)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
def test_real_signals_in_set_C():
    """The path ends long before the signal is raised, or after: C is that of the machines in both cases."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((300, 5))
    saved = pickle.dumps(IncrementalSVC(C=2, gamma=0.3).fit(rows, (rows[:, 0] + rng.standard_normal(300) > 0)))
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for trial in range(40):
            model = pickle.loads(saved)
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4 * (trial + 1))
                model.set_C(20.0)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            assert model.C == model._model.core.C
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
