"""Real signals at random moments of every method.

A timer of the system interrupts calls; the handler raises KeyboardInterrupt, as Ctrl-C does, or another exception.
Some signals come twice. After KeyboardInterrupt a model is one that has learnt a part of the rows: ids, rows, labels
and parameters agree, it predicts, is saved, learns on, and forgetting all ids leaves no row in it. After another
exception the model is as it was, or the call was complete.
"""

import contextlib
import pickle
import signal
import time
from functools import cache

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.private import read_state

from .faults import require
from .subjects import FORMS, SUBJECTS, Problem, ids, problem, require_finite, values

TRIALS, LIMIT = 12_000, 30.0
N_ROWS, N_FEATURES = 60, 4
#: Calls of one trial, one signal each.
CALLS = 3
#: Decision values of two ways to the same optimum, relative to the largest.
TOL = 1e-6
#: Fields of saved states that count time and work.
WORK = ("['paused_at']", "['kernel_recomputed']", "['bytes']", "['steps']")


def cases():
    return list(SUBJECTS)


# ---- signals -------------------------------------------------------------------------------------------


class Alarm(BaseException):
    """Raised by a signal handler that is not Ctrl-C's. SciPy's constructors turn an Exception into another one."""


class Timer:
    """Interrupts a call by one or two signals."""

    def __init__(self):
        self.armed = 0
        signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, number, frame):
        if self.armed:
            self.armed -= 1
            self.delivered += 1
            signal.setitimer(signal.ITIMER_REAL, self.again)
            raise self.error("signal")

    def during(self, call, after, error=KeyboardInterrupt, again=0.0):
        """Signals delivered during a call: the first one after some seconds, and perhaps a second one."""
        self.error, self.delivered, self.again = error, 0, again
        try:
            self._call(call, after)
        except error:  # a second signal may come here
            with contextlib.suppress(error):
                self.armed = 0
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        return self.delivered

    def _call(self, call, after):
        try:
            self.armed = 2 if self.again else 1
            signal.setitimer(signal.ITIMER_REAL, max(after, 1e-6))
            call()
        finally:
            self.armed = 0


@cache
def timer():
    return Timer()


@cache
def duration(case, name, form, n_classes):
    """Seconds of a call."""
    subject = SUBJECTS[case]
    task = problem(np.random.default_rng(0), N_ROWS, N_FEATURES, n_classes, form=form)
    call = {**subject.methods(), **subject.questions()}[name]
    found = []
    for _ in range(3):
        model = subject.started(task)
        start = time.perf_counter()
        call(model, task)
        found.append(time.perf_counter() - start)
    return min(found)


# ---- what must hold ------------------------------------------------------------------------------------


def require_sound(subject, model, task, given):
    """A model after an interrupted call predicts known labels, and its copy is the same."""
    if not _is_defined(model, task):
        return
    found = require_finite(model, task.rows())
    if subject.labelled:
        classes = model.classes_
        require(np.array_equal(classes, np.unique(classes)), f"classes_ {classes} are not sorted")
        require(set(model.predict(task.rows())) <= set(classes.tolist()), "unknown labels are predicted")
        columns = found.shape[1] if found.ndim == 2 else 2
        require(found.dtype.kind == "i" or columns == len(classes), f"{columns} columns for {len(classes)} classes")
    again = pickle.loads(pickle.dumps(model))
    require(values(again, task.rows()).tobytes() == found.tobytes(), "a copy predicts otherwise")
    if subject.exact:
        _require_agreement(subject, model, task, given, found)


def _is_defined(model, task):
    try:
        model.predict(task.rows())
    except NotFittedError:
        return False
    except ValueError as error:  # exact machines without a second class
        if "only one class" in str(error):
            return False
        raise
    return True


def _require_agreement(subject, model, task, given, found):
    """The points behind the ids, learnt by a new model with the same parameters, give the same decisions."""
    held = ids(model)
    if not held:
        return
    require(len(held) == len(set(held)) == model.n_samples_, f"{len(held)} ids, {model.n_samples_} points")
    unknown = [name for name in held if name not in given]
    require(not unknown, f"ids of no row: {unknown[:5]}")
    X = task.form_of(np.array([given[name][0] for name in held]))
    expected = clone(model)
    if subject.labelled:
        labels = np.array([given[name][1] for name in held])
        expected.partial_fit(X, labels, classes=model.classes_)
    else:
        expected.partial_fit(X)
    wanted = values(expected, task.rows())
    difference = np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max())
    require(difference < TOL, f"a new model of the points held differs by {difference:.1e}")
    require(model.kkt_violation_ < TOL, f"KKT violation {model.kkt_violation_:.1e}")


def require_nothing_left(model, given):
    """Forgetting all ids leaves no entry of any row that was given."""
    model.forget(ids(model))
    require(model.n_samples_ == 0 and not ids(model), f"{model.n_samples_} points are held")
    dump = pickle.dumps(model)
    left = [name for name, (row, _) in given.items() if any(entry.tobytes() in dump for entry in row)]
    require(not left, f"rows left after forgetting: {left[:5]}")


# ---- trials --------------------------------------------------------------------------------------------


class Task(Problem):
    """Problem of one call."""

    def form_of(self, X):
        return FORMS[self.form](X)

    def given_labels(self, name):
        """Labels that a method gives to the model."""
        y = self.y.copy()
        if name.endswith("new label"):
            y[self.first + (len(y) - self.first) // 3 :: 4] = 7
        return y


def new_task(rng, n_classes, form):
    task = problem(rng, N_ROWS, N_FEATURES, n_classes, form=form)
    return Task(task.X, task.y, task.first, form)


def trial(case, rng, number):
    subject, outcomes, story = SUBJECTS[case], {}, []
    form, n_classes = list(FORMS)[rng.integers(2)], int(rng.integers(2, 4))
    task = new_task(rng, n_classes, form)
    model = subject.new()
    given = {k: (row, label) for k, (row, label) in enumerate(zip(task.X, task.y, strict=True))}
    if rng.random() < 0.8:
        subject.learn(model, task, slice(0, task.first))
    try:
        for k in range(CALLS):
            kind = _interrupted(subject, model, rng, task, given, story, first=k == 0)
            outcomes[kind] = outcomes.get(kind, 0) + 1
        if hasattr(model, "n_features_in_"):
            _go_on(subject, model, rng, task, given)
    except BaseException as error:
        error.add_note(f"calls: {story}")
        raise
    return outcomes


def _interrupted(subject, model, rng, start, given, story, first):
    """One call with signals, and what must hold after it."""
    fitted = hasattr(model, "n_features_in_")
    name = _some_method(subject, rng, first, fitted)
    call = {**subject.methods(), **subject.questions()}[name]
    task = start if first else new_task(rng, int(start.y.max()) + 1, start.form)
    if subject.exact and (not fitted or name.startswith(("partial_fit", "add"))):
        some = slice(None) if name == "fit" else slice(task.first, None)
        rows = zip(task.X[some], task.given_labels(name)[some], strict=True)
        given.update(enumerate(rows, model.n_samples_seen_ if fitted else 0))
    error = Alarm if rng.random() < 0.3 else KeyboardInterrupt
    again = rng.uniform(2e-6, 2e-4) if rng.random() < 0.1 else 0.0
    before, victims = read_state(model), set(ids(model)[::3]) if name == "forget" else set()
    after = rng.uniform(0.0, 1.1) * duration(subject.name, name, start.form, int(start.y.max()) + 1)
    complete = pickle.loads(pickle.dumps(model)) if error is Alarm else None
    delivered = timer().during(lambda: call(model, task), after, error, again)
    story.append(f"{name}, {delivered} x {error.__name__}")
    kind = ("not interrupted", "interrupted", "interrupted twice")[delivered]
    if not delivered:
        return kind
    if name in subject.questions():
        require(not (changed := changes(before, read_state(model))), f"{name} has changed the model: {changed}")
    elif error is Alarm and changes(before, read_state(model)):
        call(complete, task)
        changed = changes(read_state(complete), read_state(model))
        require(not changed, f"after an exception the model is neither as before nor complete: {changed}")
    if hasattr(model, "n_features_in_"):
        require_sound(subject, model, start, given)
        require(not victims or victims <= set(ids(model)) or not victims & set(ids(model)), "forget did a part")
    return kind


def _some_method(subject, rng, first, fitted):
    if not fitted:
        return "fit" if first or not subject.stream or rng.random() < 0.5 else "partial_fit"
    changes = [name for name in subject.methods() if name != "fit" or first or not subject.exact]
    some = changes if rng.random() < 0.75 else list(subject.questions())
    return some[rng.integers(len(some))]


def changes(before, after):
    """Parts of two saved states that differ, counters of time and work aside."""
    names = [name for name in before.keys() | after.keys() if not name.endswith(WORK)]
    return sorted(name for name in names if before.get(name) != after.get(name))[:6]


def _go_on(subject, model, rng, start, given):
    """Learn on, then forget all points and begin again."""
    task = new_task(rng, int(start.y.max()) + 1, start.form)
    if subject.exact:
        rows = zip(task.X[task.first :], task.y[task.first :], strict=True)
        given.update(enumerate(rows, model.n_samples_seen_))
    subject.learn(model, task, slice(task.first, None))
    require_sound(subject, model, start, given)
    if subject.exact:
        require_nothing_left(model, given)
        seen = model.n_samples_seen_
        given.update(enumerate(zip(task.X, task.y, strict=True), seen))
        subject.learn(model, task, slice(None))
        require_sound(subject, model, start, given)
