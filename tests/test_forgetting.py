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
from .memory_search import BATCH, CASES


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no way to read this process's memory")
def test_no_bytes_of_what_is_forgotten_are_left_in_memory():
    child = subprocess.run(
        [sys.executable, "-m", "tests.memory_search"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    reports = dict(json.loads(line) for line in child.stdout.splitlines())
    assert list(reports) == CASES
    nothing = {"entries": 0, "products": 0}
    for case, report in reports.items():
        before = report["before"]
        kept = case.split(",")[0] in BATCH  # these keep rows, and kernel values in training only
        assert before["entries"] == 6 and (kept or before["products"] > 0), (
            f"{case}: the search must find what is there"
        )
        assert report["after"] == nothing and report["later"] == nothing, case


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
