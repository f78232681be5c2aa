"""Kernel functions that misbehave: they call their own model, raise, return nonsense, start threads.

The call that uses the kernel succeeds or raises an exception, and then the model is as it was, unless the kernel itself
has changed it. Later calls work.
"""

import copy
import pickle
import threading

import numpy as np
import scipy.sparse as sp

from tests.private import read_state

from .faults import require
from .signals import changes, new_task
from .subjects import SUBJECTS, ids, require_finite

TRIALS, LIMIT = 12_000, 30.0


def cases():
    return [name for name, subject in SUBJECTS.items() if subject.kernel]


class Kernel:
    """Polynomial kernel. At one of its calls it does something else first, and changes what it returns."""

    def __init__(self):
        self.rest()

    def rest(self):
        """Behave."""
        self.act, self.spoil, self.left, self.changed = None, None, -1, False

    def misbehave(self, act, spoil, after):
        self.act, self.spoil, self.left, self.changed = act, spoil, after, False

    def __call__(self, A, B):
        self.left -= 1
        values = (0.1 * _dense(A) @ _dense(B).T + 1.0) ** 2
        if self.left == -1:
            if self.act is not None:
                self.act(self)
            if self.spoil is not None:
                return self.spoil(values, A, B)
        return values

    def __reduce__(self):
        return Kernel, ()


def _dense(rows):
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


# ---- misbehaviour --------------------------------------------------------------------------------------


def reentrant(subject, model, task, name):
    """A method of the model that uses the kernel, called by the kernel."""
    call = {**subject.methods(), **subject.questions()}[name]

    def act(kernel):
        kernel.changed = True  # until the inner call has been refused
        try:
            call(model, task)
        except (RuntimeError, ValueError, TypeError, AttributeError):
            kernel.changed = False
            raise
        kernel.changed = name in subject.methods()

    return act


def refused_quietly(act):
    """The kernel catches what the inner call raises."""

    def quiet(kernel):
        try:
            act(kernel)
        except Exception:
            kernel.changed = False

    return quiet


def in_thread(act, wait):
    """Another thread makes the inner call; the kernel waits for it for a while, or not at all."""

    def start(kernel):
        thread = threading.Thread(target=refused_quietly(act), args=(kernel,))
        kernel.thread = thread
        thread.start()
        thread.join(wait)
        kernel.changed = True  # it may run later

    return start


def wreck(model):
    """Drop the reference to the machines."""

    def act(kernel):
        kernel.changed = True
        vars(model).pop("_model", None)

    return act


def _scribble(values, A, B):
    for rows in (A, B):
        part = rows.data if sp.issparse(rows) else rows
        if part.flags.writeable:
            part[...] = np.nan
    return values


def _raise(error):
    def spoil(values, A, B):
        raise error

    return spoil


NONSENSE = {
    "NaN": lambda values, A, B: values * np.nan,
    "infinity": lambda values, A, B: values + np.inf,
    "shape": lambda values, A, B: values[:, :-1],
    "transposed": lambda values, A, B: values.T,
    "flat": lambda values, A, B: values.ravel(),
    "none": lambda values, A, B: None,
    "text": lambda values, A, B: np.full(values.shape, "x"),
    "complex": lambda values, A, B: values + 1j,
    "object": lambda values, A, B: np.full(values.shape, None),
    "sparse": lambda values, A, B: sp.csr_array(values),
    "lists": lambda values, A, B: values.tolist(),
    "ragged": lambda values, A, B: [[1.0], [1.0, 2.0]],
    "float32": lambda values, A, B: values.astype(np.float32),
    "view": lambda values, A, B: np.repeat(values, 2, axis=1)[:, ::2],
    "negative": lambda values, A, B: -values,
    "huge": lambda values, A, B: values * 1e200,
    "zero": lambda values, A, B: values * 0.0,
    "random": lambda values, A, B: np.random.default_rng(0).standard_normal(values.shape),
    "scribble": _scribble,
    "error": _raise(ZeroDivisionError("raised by the kernel")),
    "memory": _raise(MemoryError("raised by the kernel")),
    "exit": _raise(SystemExit("raised by the kernel")),
    "stop": _raise(StopIteration("raised by the kernel")),
    "recursion": _raise(RecursionError("raised by the kernel")),
}


def misbehaviour(subject, model, task, rng):
    """Name of a random misbehaviour, what the kernel does and what it returns."""
    names = [*subject.methods(), *subject.questions()]
    if rng.random() < 0.45:
        kind = str(rng.choice(list(NONSENSE)))
        return kind, None, NONSENSE[kind]
    if rng.random() < 0.1:
        return "delete", wreck(model), None
    name = str(rng.choice(names))
    act, how = reentrant(subject, model, task, name), rng.random()
    if how < 0.4:
        return name, act, None
    if how < 0.7:
        return f"{name}, quietly", refused_quietly(act), None
    return f"{name}, in a thread", in_thread(act, float(rng.choice([0.0, 0.01]))), None


# ---- trials --------------------------------------------------------------------------------------------


def trial(case, rng, number):
    subject = SUBJECTS[case]
    task = new_task(rng, int(rng.integers(2, 4)), ("dense", "csr")[rng.integers(2)])
    kernel = Kernel()
    model = subject.new(kernel=kernel)
    if rng.random() < 0.8:
        subject.learn(model, task, slice(0, task.first))
    fitted = hasattr(model, "n_features_in_")
    outer = str(rng.choice([*subject.methods(), *subject.questions()])) if fitted else "fit"
    story, act, spoil = misbehaviour(subject, model, task, rng)
    before = read_state(model)
    kernel.misbehave(act, spoil, int(rng.choice([0, 0, 0, 1, 2, 5])))
    try:
        return _misbehaved(subject, model, kernel, task, outer, before)
    except BaseException as error:
        error.add_note(f"{outer}: {story}")
        raise


def _misbehaved(subject, model, kernel, task, outer, before):
    outcome = "works"
    try:
        {**subject.methods(), **subject.questions()}[outer](model, task)
    except (Exception, SystemExit):
        outcome = "raises"
    if thread := vars(kernel).pop("thread", None):
        thread.join()
    changed, reached = kernel.changed, kernel.left < 0
    kernel.rest()
    if outcome == "raises" and not changed:
        parts = changes(before, read_state(model))
        require(not parts, f"a failed call has changed the model: {parts}")
    _go_on(subject, model, task)
    return outcome if reached else "not reached"


def _go_on(subject, model, task):
    """The model can be saved, forgets all points after any values of the kernel, and learns."""
    if not hasattr(model, "n_features_in_") or (subject.stream and "_model" not in vars(model)):
        subject.fit(model, task)
    pickle.loads(pickle.dumps(copy.deepcopy(model)))
    if subject.exact:
        require(len(ids(model)) == model.n_samples_, f"{len(ids(model))} ids, {model.n_samples_} points")
        model.forget(ids(model))
        require(model.n_samples_ == 0, f"{model.n_samples_} points are held")
    subject.learn(model, task, slice(None))
    require_finite(model, task.rows())
