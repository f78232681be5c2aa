"""Faults on purpose, to see that the program notices them; not a campaign of its own."""

import os
import signal
import threading

from .faults import require
from .runner import END

TRIALS, LIMIT = 16, 0.5


def cases():
    return ["fine", "crash", "endless loop", "deadlock", "wrong error", "broken promise", "noise", "short"]


def trial(case, rng, number):
    if case == "short" and number == 1:
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
