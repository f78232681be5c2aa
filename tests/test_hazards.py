"""Cases that could take the interpreter down, in a child process that is started again after a crash."""

import json
import subprocess
import sys
from pathlib import Path

from .hazards import HAZARDS


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


def test_hazards():
    found = outcomes()
    wrong = [f"{name}: {found[name]}" for name, (_, expected) in HAZARDS.items() if found[name][0] != expected]
    assert not wrong, "\n".join(wrong)
