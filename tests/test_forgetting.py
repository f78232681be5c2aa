"""Nothing is left of what was forgotten, neither in memory nor in saved models."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from hingeline import IncrementalSVC

from .data import FORMS
from .exact import COMPUTED, KERNELS, noisy
from .memory_search import CASES

pytestmark = pytest.mark.xdist_group("memory")  # one child process for all cases


@pytest.fixture(scope="module")
def memory():
    child = subprocess.run(
        [sys.executable, "-m", "tests.memory_search"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    reports = {}
    for line in child.stdout.splitlines():
        reports.update(json.loads(line))
    return reports


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no way to read this process's memory")
@pytest.mark.parametrize("case", CASES)
def test_no_bytes_of_what_is_forgotten_are_left_in_memory(case, memory):
    report = memory[case]
    assert report["before"]["entries"] == 6 and report["before"]["products"] > 0, "the search must find what is there"
    nothing = {"entries": 0, "products": 0}
    assert report["after"] == nothing and report["later"] == nothing


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_bytes_of_what_is_forgotten_are_pickled(kernel, form):
    X, y = noisy(40, 6)
    K = COMPUTED[kernel](X, X)
    secret = 11
    names = [f"person {k}" for k in range(40)]
    names[secret] = "a name to be forgotten"
    model = IncrementalSVC(C=2.0, **KERNELS[kernel])
    model.add(FORMS[form](X), y, ids=names)
    patterns = [value.tobytes() for value in X[secret]]
    dumped = pickle.dumps(model)
    assert all(pattern in dumped for pattern in patterns) and b"a name to be forgotten" in dumped
    model.forget("a name to be forgotten")
    dumped = pickle.dumps(model)
    assert not any(pattern in dumped for pattern in patterns) and b"a name to be forgotten" not in dumped
    assert not any(value.tobytes() in dumped for k, value in enumerate(K[secret]) if k != secret)
    assert X[12].tobytes()[:8] in dumped
