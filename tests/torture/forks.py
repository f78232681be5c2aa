"""Processes forked while a checkpoint or a labelling session is open: the child reads, and its writes are refused.

A trial opens a folder. A thread learns or answers while the main thread forks at random moments. The children try
everything that writes. At the end the folder is opened again: it holds all that was acknowledged to the parent.
"""

import os
import signal
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from sklearn.base import clone

from hingeline import LASVC, Checkpoint, IncrementalSVC
from hingeline.labelling.answers import AnswerJournal
from tests.labelling import session, small_table, truth
from tests.private import bits, crash

from .faults import Fault, require
from .subjects import problem

TRIALS, LIMIT = 3_000, 30.0
N_FORKS, N_CHUNKS, CHUNK = 4, 6, 5
#: Seconds until a child process counts as hanging.
CHILD_LIMIT = 8.0
MODELS = {"LASVC": LASVC(gamma=0.3), "IncrementalSVC": IncrementalSVC(gamma=0.3)}


def cases():
    return [*(f"checkpoint: {name}" for name in MODELS), "labelling"]


def trial(case, rng, number):
    kind, _, name = case.partition(": ")
    with tempfile.TemporaryDirectory() as folder:
        if kind == "checkpoint":
            return checkpoint(Path(folder), clone(MODELS[name]), rng)
        return labelling(Path(folder), rng)


# ---- children ------------------------------------------------------------------------------------------


def started(call):
    """Number of a new process that makes a call. A timer ends it, also if this process has ended before."""
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, CHILD_LIMIT)
        call()
        code = 0
    except Fault:
        code = 1
    except BaseException:
        code = 2
    finally:
        os._exit(code)


def ended(child):
    """Wait for a process. Its call must have succeeded."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    faults = {1: "a promise is broken in", 2: "an error in", -signal.SIGALRM: "a lock is never given back in"}
    require(code == 0, f"{faults.get(code, f'exit code {code} of')} a child process")


def in_child(call):
    """Make a call in a forked process, where it must succeed."""
    ended(started(call))


def require_refused(*calls):
    """Each call must raise RuntimeError."""
    for call in calls:
        try:
            call()
        except RuntimeError:
            continue
        raise Fault("a forked process may write")


def require_prediction(model, X):
    """A model that a thread of the parent was changing may refuse to answer."""
    with suppress(RuntimeError):
        require(len(model.predict(X)) == len(X), "predictions are missing")


def forked(rng, write, attempt):
    """Run `write` in a thread and call `attempt` in processes forked meanwhile; some wait for the end of the thread."""
    errors, late = [], []

    def work():
        try:
            write()
        except BaseException as error:
            errors.append(error)

    writer = threading.Thread(target=work)
    writer.start()
    try:
        for _ in range(N_FORKS):
            time.sleep(rng.uniform(0.0, 4e-3))
            late.append(later(attempt)) if rng.random() < 0.5 else in_child(attempt)
    finally:
        writer.join()
        for _, pipe in late:
            os.close(pipe)
        with ExitStack() as stack:  # waits for all of them, also after a fault
            for child, _ in late:
                stack.callback(ended, child)
    if errors:
        raise errors[0]


def later(attempt):
    """A process that waits until a pipe is closed, and the end of the pipe to close."""
    receive, send = os.pipe()

    def wait():
        os.close(send)
        os.read(receive, 1)
        signal.setitimer(signal.ITIMER_REAL, CHILD_LIMIT)
        attempt()

    child = started(wait)
    os.close(receive)
    return child, send


# ---- what is open --------------------------------------------------------------------------------------


def checkpoint(folder, model, rng):
    task = problem(rng, n=CHUNK * (N_CHUNKS + 1))
    run = Checkpoint(folder, model, every=int(rng.integers(5, 25)))
    parts = [slice(at, at + CHUNK) for at in range(0, len(task.y), CHUNK)]
    run.learn(task.X[parts[0]], task.y[parts[0]], classes=[0, 1])

    def write():
        for part in parts[1:]:
            run.learn(task.X[part], task.y[part])
            time.sleep(rng.uniform(0.0, 2e-3))

    def attempt():
        require_prediction(run.model, task.X)
        require_refused(lambda: run.learn(task.X[:3], task.y[:3]), run.save, lambda: run.forget([1]))
        run.close()
        require_refused(lambda: run.learn(task.X[:3], task.y[:3]), lambda: Checkpoint(folder))

    forked(rng, write, attempt)
    expected = bits(run.model)
    crash(run) if rng.random() < 0.5 else run.close()
    with Checkpoint(folder) as again:
        require(again.model.n_samples_seen_ == len(task.y), f"{again.model.n_samples_seen_} of {len(task.y)} samples")
        require(bits(again.model) == expected, "the model differs after opening the folder again")
    return "works"


def labelling(folder, rng):
    pool = small_table(folder, 30)
    words = (pool, "--classes", "no,yes", "--export", folder / "labels.csv")

    def answer(opened):
        state = opened.state()
        row = state["question"]["row"]
        opened.act({"action": "label", "turn": state["turn"], "row": row, "class": truth(state["question"])})

    with session(*words) as opened:

        def write():
            for _ in range(12):
                answer(opened)
                time.sleep(rng.uniform(0.0, 1e-3))

        def attempt():
            request = {"action": "label", "turn": opened.turn, "row": 0, "class": 0}
            undo = {"kind": "undo"}
            require_refused(lambda: opened.act(request), opened.finish, lambda: opened.journal.append(undo))
            opened.journal.close()
            require_refused(lambda: opened.journal.append(undo), lambda: AnswerJournal(opened.journal.path))

        forked(rng, write, attempt)
        require(not (folder / "labels.csv").exists(), "a forked process has written the labels")
        expected = opened.learner.labels
    with session(*words) as opened:
        require(len(expected) == 12, f"{len(expected)} of 12 labels")
        require(opened.learner.labels == expected, "the labels differ after opening the folder again")
    return "works"
