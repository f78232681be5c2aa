"""What a child process does: a job is prepared once and measured many times.

A job is a class; its constructor prepares (untimed) and ``measure()`` returns a Sample for each row of the table that
the job fills. Each module of jobs is imported in the child only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Unavailable(Exception):
    """Something that the comparison can do without is missing: a data set or a peer."""


@dataclass
class Sample:
    """Measurements of one row: seconds by name, and facts that do not vary.

    `work` is the number of kernel values behind every time, where that makes sense.
    """

    seconds: dict[str, list[float]]
    facts: dict[str, Any] = field(default_factory=dict)
    work: int | None = None


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


class Busy:
    """Context manager: `threads` is the processor time spent inside over the wall time, that is, the threads at work.

    It shows that a program keeps to the number of threads it was given.
    """

    def __enter__(self) -> Busy:
        self._start = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        cpu, wall = self._start
        self.threads = round((time.process_time() - cpu) / (time.perf_counter() - wall), 2)


def take_turns(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each call, in turns, so that a disturbance of the machine hits all alike; results are dropped."""
    seconds: dict[str, list[float]] = {label: [] for label in calls}
    for _ in range(rounds):
        for label, call in calls.items():
            seconds[label].append(timed(call)[0])
    return seconds


class Machine:
    """No benchmark: describes the machine."""

    def measure(self) -> dict[str, Any]:
        from benchmarks.environment import machine

        return machine()
