"""Job: how long `import` takes in a new interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial

from .jobs import Sample, take_turns

PROGRAMS = ("import hingeline", "import sklearn.svm", "pass")


class ImportTime:
    """Wall time of whole interpreters, in turns."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        # Files into the cache of the operating system, bytecode onto the disk.
        take_turns(self._calls(), 1)

    def _calls(self) -> dict[str, Callable[[], object]]:
        return {f'python -c "{program}"': partial(_run, program) for program in PROGRAMS}

    def measure(self) -> dict[str, Sample]:
        seconds = take_turns(self._calls(), self._rounds)
        return {label: Sample({"wall": times}) for label, times in seconds.items()}


def _run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)
