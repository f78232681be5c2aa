"""Several threads on one model: calls are atomic, no row is lost, a prediction or a copy is that of one state."""

import copy
import pickle
import sys
import threading
import time

import numpy as np

from tests.private import at_once

from .faults import require
from .forks import in_child, require_prediction
from .signals import new_task, require_sound
from .subjects import EXACT, STREAMS, SUBJECTS, ids, values

TRIALS, LIMIT = 6_000, 30.0
SWITCH_INTERVAL = 1e-5
N_CHUNKS, CHUNK = 4, 6


def cases():
    return [f"{name}: {attack}" for attack, (_, subjects) in ATTACKS.items() for name in subjects]


def trial(case, rng, number):
    name, _, attack = case.partition(": ")
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        ATTACKS[attack][0](SUBJECTS[name], rng)
    finally:
        sys.setswitchinterval(before)
    return "works"


# ---- several threads learn -----------------------------------------------------------------------------


def chunks(task, label=None):
    """Chunks of the second part of a problem, with other labels if one is given."""
    y = task.y if label is None else np.full(len(task.y), label)
    cuts = range(task.first, task.first + N_CHUNKS * CHUNK, CHUNK)
    return [(task.rows(slice(at, at + CHUNK)), task.X[at : at + CHUNK], y[at : at + CHUNK]) for at in cuts]


def learn(subject, model, task, label=None, given=None, first=False):
    """Learn chunks; with `given`, note the row and the label of each id."""
    for rows, entries, y in chunks(task, label):
        if given is not None:
            names = np.asarray(model.add(rows, *subject.labels(y))).tolist()
            given.update(zip(names, zip(entries, y, strict=True), strict=True))
        else:
            classes = {"classes": [0, 1]} if first and subject.labelled else {}
            model.partial_fit(rows, *subject.labels(y), **classes)


def learn_together(subject, rng, first=False):
    """Known and new labels by three threads."""
    start = new_task(rng, 2, "dense")
    model = subject.new(**({"window": None} if subject.exact else {}))
    given = {k: (row, label) for k, (row, label) in enumerate(zip(start.X, start.y, strict=True))} if not first else {}
    if not first:
        subject.learn(model, start, slice(None))
    notes = [{} if subject.exact and not first else None for _ in range(3)]
    labels = [None, None, 7] if subject.labelled else [None] * 3
    tasks = [new_task(rng, 2, "dense") for _ in labels]
    jobs = [
        lambda k=k: learn(subject, model, tasks[k], labels[k], notes[k], first) for k in rng.permutation(len(labels))
    ]
    at_once(*jobs)
    total = len(jobs) * N_CHUNKS * CHUNK + (0 if first else len(start.y))
    require(model.n_samples_seen_ == total, f"{model.n_samples_seen_} rows seen of {total}")
    if subject.labelled:
        require(model.classes_.tolist() == [0, 1, 7], f"classes_ {model.classes_}")
    if subject.exact:
        require(len(ids(model)) == total, f"{len(ids(model))} ids for {total} rows")
        for note in notes:
            given.update(note or {})
    if not first:
        require_sound(subject, model, start, given)


def first_together(subject, rng):
    """The first calls of three threads."""
    learn_together(subject, rng, first=True)


def forget_together(subject, rng):
    """Two threads add points and forget some of them again, a third one moves along the path."""
    start = new_task(rng, 2, "dense")
    model = subject.learn(subject.new(window=None), start, slice(None))
    given = dict(enumerate(zip(start.X, start.y, strict=True)))
    notes = [{}, {}]
    tasks = [new_task(rng, 2, "dense") for _ in notes]

    def add_and_forget(k):
        learn(subject, model, tasks[k], given=notes[k])
        gone = list(notes[k])[::2]
        model.forget(gone)
        for name in gone:
            del notes[k][name]

    def move():
        for factor in (1.5, 0.5, 2.0):
            model.set_C(factor * (model.C or 0.4))

    at_once(lambda: add_and_forget(0), lambda: add_and_forget(1), move)
    given.update(notes[0])
    given.update(notes[1])
    require(set(ids(model)) == set(given), f"ids {set(ids(model)) ^ set(given)} are missing or should be gone")
    require_sound(subject, model, start, given)


# ---- one thread learns, others look --------------------------------------------------------------------


def steps(subject, rng, start):
    """Calls that change a model, the same for each model."""
    tasks = [new_task(rng, 2, start.form) for _ in range(5)]
    names = list(subject.methods())
    return [(subject.methods()[names[rng.integers(len(names))]], task) for task in tasks]


def look_while_learning(subject, rng, look):
    """What other threads see is the state between two calls."""
    start = new_task(rng, 2, ("dense", "csr")[rng.integers(2)])
    model = subject.learn(subject.new(), start, slice(None))
    calls, alone = steps(subject, rng, start), copy.deepcopy(model)
    expected = [look(alone, start)]
    for call, task in calls:
        call(alone, task)
        expected.append(look(alone, start))
    done, seen = threading.Event(), []

    def read():
        while not done.is_set():
            seen.append(look(model, start))

    def write():
        try:
            for call, task in calls:
                call(model, task)
                time.sleep(1e-3)
        finally:
            done.set()

    at_once(read, read, write)
    strange = sum(one not in expected for one in seen)
    require(not strange, f"{strange} of {len(seen)} results belong to no state")
    require(look(model, start) == expected[-1], "the last state is another one")


def predictions(model, task):
    return values(model, task.rows()).tobytes()


def labels(model, task):
    return model.predict(task.rows()).tobytes()


def copies(model, task):
    return predictions(pickle.loads(pickle.dumps(model)), task)


# ---- fork ----------------------------------------------------------------------------------------------


def fork_while_learning(subject, rng):
    """A child process predicts, or refuses with RuntimeError, while a thread of its parent learns."""
    start = new_task(rng, 2, "dense")
    model = subject.learn(subject.new(), start, slice(None))
    done = threading.Event()

    def write():
        while not done.is_set():
            subject.learn(model, start, slice(start.first, None))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            time.sleep(rng.uniform(0.0, 5e-3))
            in_child(lambda: require_prediction(model, start.X))
    finally:
        done.set()
        writer.join()


ATTACKS = {
    "learn together": (learn_together, STREAMS),
    "first calls together": (first_together, STREAMS),
    "add and forget together": (forget_together, EXACT),
    "predict while learning": (lambda subject, rng: look_while_learning(subject, rng, predictions), SUBJECTS),
    "labels while learning": (lambda subject, rng: look_while_learning(subject, rng, labels), SUBJECTS),
    "copy while learning": (lambda subject, rng: look_while_learning(subject, rng, copies), STREAMS),
    "fork while learning": (fork_while_learning, STREAMS),
}
