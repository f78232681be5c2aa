"""Ctrl-C in the middle of a call, in this process."""

import _thread
import signal
import threading
import time


def interrupt(call, after=0.1, learnt=lambda: True):
    """Make a long call and interrupt it after seconds of CPU time; fails if the call was done before.

    The call is repeated with twice the time until `learnt()`: the signal may come before the first step.
    """
    while True:
        _interrupt(call, after)
        if learnt():
            return
        after *= 2
        assert after < 60, "nothing was learnt in 30 seconds"


def _interrupt(call, after):
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
    done = threading.Event()
    start = time.process_time()

    def send():
        while not done.is_set() and time.process_time() < start + after:
            time.sleep(0.005)
        _thread.interrupt_main()

    try:
        threading.Thread(target=send).start()
        call()
        done.set()
        while True:  # the signal must not reach another test
            time.sleep(0.01)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, handler)
    assert not done.is_set(), f"the call took less than {after} s"
