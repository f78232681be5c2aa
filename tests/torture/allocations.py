"""Each allocation of the C++ code fails once, in every method of every estimator.

The library ``fail_new.cpp`` replaces operator new. Trial k of a case fails allocation k + 1 of the call; the case ends
when the call makes no more allocations. The call raises MemoryError and leaves the model as it was, to the bit, and
the same call made again does what it would have done.
"""

import ctypes
import os
import pickle
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from tests.private import grow_instance_table, read_state

from .faults import require
from .runner import END
from .signals import changes
from .subjects import SUBJECTS, problem

TRIALS, LIMIT = 1_000_000, 30.0
LIBRARY = "HINGELINE_FAIL_NEW"


def cases():
    return [
        f"{name}: {method}, {form}"
        for name, subject in SUBJECTS.items()
        for method in {**subject.methods(), **subject.questions()}
        for form in ("dense", "csr")
    ]


def environment(folder):
    """Variables for workers, with the library compiled."""
    library = Path(folder).resolve() / "fail_new.so"
    if not library.exists():
        source = str(Path(__file__).with_name("fail_new.cpp"))
        compiler = os.environ.get("CXX") or shutil.which("c++") or "g++"
        with tempfile.TemporaryDirectory(dir=library.parent) as own:  # two workers may compile at the same time
            part = Path(own) / library.name
            subprocess.run([compiler, "-std=c++20", "-O2", "-shared", "-fPIC", source, "-o", str(part)], check=True)
            part.replace(library)
    return {"LD_PRELOAD": str(library), LIBRARY: str(library)}


@cache
def library():
    grow_instance_table()
    return ctypes.CDLL(os.environ[LIBRARY])


@cache
def prepared(case):
    """A saved model, the call, its problem, and the state after the call."""
    name, _, rest = case.partition(": ")
    method, _, form = rest.rpartition(", ")
    subject = SUBJECTS[name]
    task = problem(np.random.default_rng(0), n=36, d=3, n_classes=3, form=form)
    call = {**subject.methods(), **subject.questions()}[method]
    pickled = pickle.dumps(subject.started(task))
    model = pickle.loads(pickled)
    call(model, task)
    return pickled, call, task, read_state(model), method in subject.questions()


def trial(case, rng, number):
    pickled, call, task, complete, question = prepared(case)
    model = pickle.loads(pickled)
    before = read_state(model)
    error = None
    library().fail_new_at(ctypes.c_long(number + 1))
    try:
        call(model, task)
    except Exception as raised:
        error = raised
    finally:
        failed = library().fail_new_stop()
    if not failed:
        return END
    if error is not None and not isinstance(error, MemoryError):
        raise error
    wanted = before if error is not None or question else complete
    require(not (parts := changes(wanted, read_state(model))), f"a failed allocation has changed the model: {parts}")
    if error is None:
        return "does without"
    call(model, task)
    wanted = before if question else complete
    require(not (parts := changes(wanted, read_state(model))), f"the same call made again gives another model: {parts}")
    return "MemoryError"
