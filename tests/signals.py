"""Ctrl-C in the middle of a call, in this process."""

import _thread
import signal
import threading
import time


def interrupt(call, after=0.1):
    """Make a long call and interrupt it after some seconds; fails if the call was done before."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
    done = False
    try:
        threading.Timer(after, _thread.interrupt_main).start()
        call()
        done = True
        while True:  # the signal must not reach another test
            time.sleep(0.01)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, handler)
    assert not done, f"the call took less than {after} s"
