"""scikit-learn's callbacks in batch and online classifiers."""

import hashlib
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from hingeline import LASVC, KernelSGDClassifier, WorstViolatorSVC

from .citizens import MODELS, fingerprint, problem
from .watching import NO_CALLBACKS, Recorder


class Breaker(Recorder):
    def on_fit_task_end(self, estimator, context):
        raise LookupError("the callback's own")


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_watching_changes_nothing(n_classes, kind):
    """Slices end at other moments, and yet every bit of the model is the same."""
    make, parameters = MODELS[kind]
    X, y = problem(n_classes=n_classes)
    X = make(X)
    alone = WorstViolatorSVC(**parameters).fit(X, y)
    watched = WorstViolatorSVC(**parameters).set_callbacks(Recorder()).fit(X, y)
    if kind == "function":  # a function of the user's may round differently in blocks of another shape
        np.testing.assert_array_equal(watched.support_, alone.support_)
        np.testing.assert_allclose(watched.decision_scale_, alone.decision_scale_, rtol=1e-12)
    else:
        assert watched.decision_scale_.tolist() == alone.decision_scale_.tolist()
        assert fingerprint(watched, X) == fingerprint(alone, X)
    assert watched.stop_reason_.tolist() == alone.stop_reason_.tolist()
    assert watched.n_iter_.tolist() == alone.n_iter_.tolist()


def test_order_of_events():
    recorder = Recorder()
    X, y = problem(n=300, n_classes=2)
    model = WorstViolatorSVC().set_callbacks(recorder).fit(X, y)
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    inner = recorder.events[2:-2]
    assert 3 < len(inner) // 2 <= 50
    assert inner == ["begin steps", "end steps"] * (len(inner) // 2)
    steps = [int(seen.n_iter_[0]) for seen in recorder.models]
    assert steps == sorted(steps)
    assert all(a < b for a, b in pairwise(steps[:-1]))
    assert steps[-1] == model.n_iter_[0]
    assert [seen.predict(X).shape for seen in recorder.models] == [y.shape] * len(steps)


def test_scoring_monitor():
    callback = pytest.importorskip("sklearn.callback", reason=NO_CALLBACKS)
    X, y = problem(n=300)
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = WorstViolatorSVC().set_callbacks(monitor).fit(X, y)
    log = monitor.get_logs().data
    steps = [row["accuracy"] for row in log if row["task_name"] == "steps"]
    whole = [row["accuracy"] for row in log if row["task_name"] == "fit"]
    assert len(steps) > 3
    assert len(set(steps)) > 1
    assert whole == [model.score(X, y)]
    assert steps[-1] == whole[0]


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    callback = pytest.importorskip("sklearn.callback", reason=NO_CALLBACKS)
    X, y = problem()
    model = WorstViolatorSVC().set_callbacks(callback.ProgressBar()).fit(X, y)
    shown = capsys.readouterr().out
    assert "WorstViolatorSVC - fit" in shown
    assert "100%" in shown
    assert model.dual_coef_.tobytes() == WorstViolatorSVC().fit(X, y).dual_coef_.tobytes()


@pytest.mark.parametrize("finish", [None, "all", "expansion"])
@pytest.mark.parametrize("variant", ["nc", "lasvm"])
def test_callbacks_of_lasvc(variant, finish):
    X, y = problem(n=400, n_classes=2)
    options = {"variant": variant, "n_epochs": 2, "random_state": 0}
    if finish:
        options |= {"tol": 1e-3, "solver_options": {"finish": finish}}
    alone = LASVC(**options).fit(X, y)
    model = LASVC(**options).set_callbacks(recorder := Recorder()).fit(X, y)
    assert fingerprint(model, X) == fingerprint(alone, X)
    assert model.stop_reason_.tolist() == alone.stop_reason_.tolist()
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    inner = recorder.events[2:-2]
    assert inner == ["begin steps", "end steps"] * 50
    assert [seen.predict(X).shape for seen in recorder.models] == [y.shape] * 51
    steps = [int(seen.n_iter_[0]) for seen in recorder.models]
    assert steps == sorted(steps)
    assert steps[-1] == model.n_iter_[0]
    stopped = LASVC(**options).set_callbacks(recorder := Recorder(stop_at=3)).fit(X, y)
    assert stopped.stop_reason_.tolist() == ["stopped"]
    assert recorder.events.count("end steps") == 3
    assert (np.isfinite(stopped.admission_margin_).sum(), stopped.n_samples_seen_) == (3 * 16, 3 * 16)
    assert set(stopped.predict(X)) <= {0, 1}
    assert fingerprint(stopped.set_callbacks().fit(X, y), X) == fingerprint(alone, X)
    with pytest.raises(LookupError, match="the callback's own"):
        LASVC(**options).set_callbacks(Breaker()).fit(X, y)


@pytest.mark.parametrize("variant", ["olsvm", "norma"])
@pytest.mark.parametrize("n_epochs", [1, 2])
def test_callbacks_of_kernel_sgd(n_epochs, variant):
    X, y = problem(n=400, n_classes=2)
    options = {"variant": variant, "n_epochs": n_epochs, "random_state": 0}
    alone = KernelSGDClassifier(**options).fit(X, y)
    model = KernelSGDClassifier(**options).set_callbacks(recorder := Recorder()).fit(X, y)
    assert fingerprint(model, X) == fingerprint(alone, X)
    assert model.stop_reason_.tolist() == ["pass"]
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert recorder.events[2:-2] == ["begin steps", "end steps"] * 50
    assert [seen.predict(X).shape for seen in recorder.models] == [y.shape] * 51
    each = 8 * n_epochs
    assert [int(seen.n_iter_[0]) for seen in recorder.models] == [*range(each, 50 * each + 1, each), 50 * each]
    stopped = KernelSGDClassifier(**options).set_callbacks(recorder := Recorder(stop_at=3)).fit(X, y)
    assert stopped.stop_reason_.tolist() == ["stopped"]
    assert recorder.events.count("end steps") == 3
    assert (np.isfinite(stopped.admission_margin_).sum(), stopped.n_samples_seen_) == (3 * each, 3 * each)
    assert set(stopped.predict(X)) <= {0, 1}
    assert fingerprint(stopped.set_callbacks().fit(X, y), X) == fingerprint(alone, X)
    with pytest.raises(LookupError, match="the callback's own"):
        KernelSGDClassifier(**options).set_callbacks(Breaker()).fit(X, y)


@pytest.mark.parametrize("model", [LASVC(tol=1e-3), KernelSGDClassifier()], ids=["lasvc", "kernel sgd"])
def test_progress_bar_of_streams(model, capsys):
    pytest.importorskip("rich")
    callback = pytest.importorskip("sklearn.callback", reason=NO_CALLBACKS)
    clone(model).set_callbacks(callback.ProgressBar()).fit(*problem())
    shown = capsys.readouterr().out
    assert f"{type(model).__name__} - fit" in shown
    assert "100%" in shown


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callback_stops(n_jobs):
    X, y = problem(n=600, n_classes=2)
    recorder = Recorder(stop_at=3)
    whole = WorstViolatorSVC().fit(X, y)
    model = WorstViolatorSVC(n_jobs=n_jobs).set_callbacks(recorder).fit(X, y)
    assert model.stop_reason_ == ["stopped"]
    assert model.n_iter_ == [3 * 12]
    assert recorder.events.count("end steps") == 3
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert set(model.support_) < set(whole.support_)
    assert fingerprint(model, X) == fingerprint(recorder.models[2], X)
    assert np.unique(model.predict(X)).tolist() == [0, 1]


def test_callback_that_raises():
    X, y = problem()
    model = WorstViolatorSVC().set_callbacks(breaker := Breaker())
    with pytest.raises(LookupError, match="the callback's own"):
        model.fit(X, y)
    assert breaker.events[-1] == "teardown"
    model.set_callbacks()
    assert fingerprint(model.fit(X, y), X) == fingerprint(WorstViolatorSVC().fit(X, y), X)


def test_callbacks_reach_through_a_search():
    callback = pytest.importorskip("sklearn.callback", reason=NO_CALLBACKS)
    X, y = problem()
    monitor = callback.ScoringMonitor(scoring="accuracy")
    GridSearchCV(WorstViolatorSVC().set_callbacks(monitor), {"margin": [0.1, 0.5]}, cv=2).fit(X, y)
    fits = [
        row for log in monitor.get_logs(select="all") for row in log.data if row["estimator_name"] != "GridSearchCV"
    ]
    assert len({row["parent_task_id_path"] for row in fits if row["task_name"] == "steps"}) == 5


def script(text, *options):
    """Standard output of a new interpreter."""
    child = subprocess.run(
        [sys.executable, *options, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


WITHOUT_CALLBACKS = """
import hashlib, sys
sys.modules["sklearn.callback"] = None
from hingeline import WorstViolatorSVC
del sys.modules["sklearn.callback"]  # scikit-learn itself needs it
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
model = WorstViolatorSVC().fit(X, y)
assert not hasattr(model, "set_callbacks")
print(hashlib.sha256(model.decision_function(X).tobytes()).hexdigest())
"""


def test_without_callbacks_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    expected = hashlib.sha256(WorstViolatorSVC().fit(X, y).decision_function(X).tobytes()).hexdigest()
    assert script(WITHOUT_CALLBACKS, "-W", "error").strip() == expected
