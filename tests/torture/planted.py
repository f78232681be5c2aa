"""Faults on purpose, to see that the program notices them; not a campaign of its own."""

import os
import signal
import threading

from .runner import END
from .subjects import require

TRIALS, LIMIT = 21, 0.5


def cases():
    return ["fine", "crash", "endless loop", "deadlock", "wrong error", "broken promise", "noise"]


def trial(case, rng, number):
    if number == 2:
        return END
    if case == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if case == "endless loop":
        while True:
            pass
    if case == "deadlock":
        threading.Lock().acquire() and threading.Event().wait()
    if case == "wrong error":
        raise KeyError("planted")
    if case == "noise":
        os.write(1, b"a library prints\n")
        print("so does a trial")
    require(case != "broken promise", "planted")
    return "works"
