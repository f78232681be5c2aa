"""Cases that could take the interpreter down, in a child process that is started again after a crash."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .hazards import HAZARDS

pytestmark = pytest.mark.xdist_group("hazards")  # one child process for all cases


@pytest.fixture(scope="module")
def outcomes():
    """Outcome and message of every hazard; the outcome of a crash is the exit code of the child."""
    found, waiting = {}, list(HAZARDS)
    while waiting:
        child = subprocess.run(
            [sys.executable, "-m", "tests.hazards", *waiting],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        for name, *outcome in map(json.loads, child.stdout.splitlines()):
            found[name] = outcome
            waiting.remove(name)
        if waiting:
            found[waiting.pop(0)] = [f"exit code {child.returncode}", child.stderr]
    return found


@pytest.mark.parametrize("name", HAZARDS)
def test_hazard(name, outcomes):
    outcome, message = outcomes[name]
    assert outcome in HAZARDS[name][1], f"{outcome}: {message}"
