"""Signals that end a stream between two batches."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .errors import INTERRUPTED, TERMINATED

if TYPE_CHECKING:
    from .data.examples import Rows


class Signals:
    """Ctrl-C and SIGTERM end the stream between two batches; a second one ends it at once.

    A signal that comes just before a read blocks, or in another thread, does not interrupt the read. Therefore a timer
    interrupts it from time to time, and Python runs the handlers of the signals that have come.
    """

    #: Seconds between two interruptions of a read.
    pulse = 0.5

    class Stop(Exception):
        """Raised while the command waits for data."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.waiting = False

    @property
    def code(self) -> int:
        """Exit code."""
        return 0 if self.number is None else INTERRUPTED if self.number == signal.SIGINT else TERMINATED

    def __enter__(self) -> Signals:
        self.before = {}
        if threading.current_thread() is threading.main_thread():
            self.before = {one: signal.signal(one, self._handle) for one in (signal.SIGINT, signal.SIGTERM)}
            if hasattr(signal, "setitimer"):
                self.before[signal.SIGALRM] = signal.signal(signal.SIGALRM, lambda *_: None)
        return self

    def __exit__(self, *error: Any) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: Any) -> None:
        if self.number is not None:
            raise KeyboardInterrupt
        self.number = number
        if self.waiting:
            raise Signals.Stop

    def _interrupt_reads(self, seconds: float) -> None:
        """Interrupt reads in intervals of so many seconds; 0: no more."""
        if self.before and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

    def until_stopped(self, parts: Iterator[Rows]) -> Iterator[Rows]:
        """Yield the parts until a signal comes."""
        while True:
            try:
                self.waiting = True
                if self.number is not None:
                    return
                self._interrupt_reads(self.pulse)
                part = next(parts, None)
                self.waiting = False
            except Signals.Stop:
                return
            finally:
                self.waiting = False
                self._interrupt_reads(0)
            if part is None:
                return
            yield part
