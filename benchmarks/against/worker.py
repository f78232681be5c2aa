"""A child process with its own number of threads, which prepares a job and measures it on request."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.environment import THREAD_VARIABLES

from .jobs import Unavailable


class ChildError(Exception):
    """The job failed; `unavailable`: only because something optional is missing."""

    def __init__(self, message: str, unavailable: bool = False) -> None:
        super().__init__(message)
        self.unavailable = unavailable


class Child:
    """Context manager. The environment is set before the interpreter of the child starts, hence before numpy."""

    def __init__(self, job: str, arguments: dict[str, Any], threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        # No daemon: joblib.effective_n_jobs, which hingeline asks, grants daemons one thread only. The child ends when
        # its pipe does.
        self._process = context.Process(target=_serve, args=(theirs, job, arguments), daemon=False)
        before = dict(os.environ)
        os.environ.update({name: str(threads) for name in THREAD_VARIABLES})
        try:
            self._process.start()
        finally:
            os.environ.clear()
            os.environ.update(before)
        theirs.close()

    def prepare(self) -> None:
        """Wait until the job is ready."""
        self._answer()

    def measure(self) -> Any:
        self._pipe.send("measure")
        return self._answer()

    def _answer(self) -> Any:
        try:
            status, content = self._pipe.recv()
        except EOFError:
            self._process.join()
            raise ChildError(f"the process ended with status {self._process.exitcode}") from None
        if status == "done":
            return content
        raise ChildError(content, unavailable=status == "unavailable")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._pipe.send("end")
        self._pipe.close()
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(pipe: Connection, job: str, arguments: dict[str, Any]) -> None:
    """Main loop of the child. `job` is "module:Class", module inside this package."""
    # Ctrl-C is the parent's business; it ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, name = job.partition(":")
    try:
        ready = getattr(importlib.import_module(f".{module}", __package__), name)(**arguments)
        pipe.send(("done", None))
        while pipe.recv() == "measure":
            pipe.send(("done", ready.measure()))
    except EOFError:
        return
    except Unavailable as error:
        pipe.send(("unavailable", str(error)))
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        pipe.send(("failed", f"{type(error).__name__}: {error}"))
