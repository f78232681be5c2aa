"""Allocations of the core that fail: MemoryError, and the model is as before.

The C++ test ``test_allocations`` fails every allocation of every operation of the core. Here some of them fail under
Python, in a process of its own: operator new is replaced by ``tests/torture/fail_new.cpp``.
"""

import copy
import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hingeline import LASVC, IncrementalOneClassSVM, IncrementalSVC, KernelSGDClassifier, WorstViolatorSVC
from hingeline.online.lasvm import LasvmTraining

from .private import grow_instance_table, read_state
from .torture.allocations import environment

HERE = Path(__file__).parent


def problem(sparse):
    random = np.random.RandomState(5)
    X, y = random.randn(60, 3), random.randint(0, 3, 60)
    X[:, 0] += y
    X[random.rand(60, 3) < 0.4] = 0
    return (sp.csr_array(X) if sparse else X), y


def learn(model, X, y, count):
    if isinstance(model, IncrementalOneClassSVM):
        return model.partial_fit(X[:count])
    return model.partial_fit(X[:count], y[:count], classes=[0, 1])


def calls(X, y):
    """By name: a model, and a call that changes it or not."""
    first = np.flatnonzero(y < 2)[:25]
    A, b, B, c = X[first], y[first], X[40:], y[40:]
    for name, model in {
        "LASVC": LASVC(gamma=0.5, C=2.0, random_state=0),
        "KernelSGDClassifier": KernelSGDClassifier(gamma=0.5, random_state=0),
        "IncrementalSVC": IncrementalSVC(gamma=0.5, C=2.0),
        "window": IncrementalSVC(gamma=0.5, C=2.0, window=20),
    }.items():
        model = learn(model, A, b, 25)
        yield f"{name}.partial_fit", model, lambda m: m.partial_fit(B, c)
        yield f"{name}.fit", model, lambda m: m.fit(X, y)
        yield f"{name}.predict", model, lambda m: m.predict(X)
        yield f"{name}.save", model, read_state
    exact = learn(IncrementalSVC(gamma=0.5, C=2.0), A, b, 25)
    yield "forget", exact, lambda m: m.forget([3, 7, 24])
    yield "set_C", exact, lambda m: m.set_C(9.0)
    yield "leave_one_out", exact, lambda m: m.leave_one_out()
    yield "c_path", exact, lambda m: m.c_path([1.0, 5.0])
    one_class = IncrementalOneClassSVM(gamma=0.5, nu=0.3).fit(A)
    yield "one-class add", one_class, lambda m: m.add(B)
    yield "set_nu", one_class, lambda m: m.set_nu(0.5)
    yield "one-class predict", one_class, lambda m: m.predict(X)
    yield "WorstViolatorSVC.fit", WorstViolatorSVC(gamma=0.5).fit(A, b), lambda m: m.fit(X, y)


def sweep(name, model, call, library, report):
    """Fail allocation after allocation of one call; returns how many."""
    before = read_state(model)
    undisturbed = copy.deepcopy(model)
    call(undisturbed)
    failures, at = 0, 0
    while True:
        at += 1 + at // 4  # every one of the first, then fewer; the C++ test fails each
        tried = copy.deepcopy(model)
        error = None
        library.fail_new_at(ctypes.c_long(at))
        try:
            call(tried)
        except BaseException as raised:
            error = raised
        if not library.fail_new_stop():
            return failures
        if error is None:  # done without the memory
            continue
        failures += 1
        if type(error) is not MemoryError:
            report(f"{name}: allocation {at}: {error!r}")
        if read_state(tried) != before:
            report(f"{name}: allocation {at}: the model has changed")
        call(tried)
        if not same_attributes(tried, undisturbed):
            report(f"{name}: allocation {at}: the next call has another result")


def same_attributes(a, b):
    names = ("dual_coef_", "intercept_", "support_")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def main():
    grow_instance_table()
    library, faults, totals = ctypes.CDLL(None), [], {"dense": 0, "csr": 0}
    for form in totals:
        for name, model, call in calls(*problem(sparse=form == "csr")):
            totals[form] += sweep(f"{name}, {form}", model, call, library, faults.append)
    print(*faults, sep="\n")
    print(f"failures: {totals}")
    return 1 if faults or not all(totals.values()) else 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD")
def test_failed_allocations_leave_the_model_as_it_was(tmp_path):
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler")
    library = environment(tmp_path)["LD_PRELOAD"]
    preload = " ".join(filter(None, [library, os.environ.get("LD_PRELOAD")]))  # before a sanitizer
    code = "import sys; from tests.test_allocations import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=HERE.parent,
        env={**os.environ, "LD_PRELOAD": preload},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_memory_that_ends_while_warnings_are_written_changes_nothing(monkeypatch):
    """Warnings read attributes of the new model, which allocates: they are written before it is published."""
    X, y = problem(False)[:2]
    model = LASVC(gamma=0.3).fit(X, y)
    before = read_state(model)

    def fail(training):
        raise MemoryError

    monkeypatch.setattr(LasvmTraining, "complaints", fail)
    with pytest.raises(MemoryError):
        model.fit(X[:20], y[:20])
    assert read_state(model) == before
