"""What a command prints: lines for people, or one JSON object; warnings; progress on a terminal."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from . import stdout
from .errors import UsageError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


class Console:
    """Output of one command.

    Parameters
    ----------
    arguments : Namespace
        With `command`, `json` and `quiet`.
    output : str, default=None
        File for data of the command; ``-`` is standard output, then lines for people go to the other one.
    what : str, default='the output'
        Words for that file.
    """

    def __init__(self, arguments: Namespace, output: str | None = None, what: str = "the output") -> None:
        if arguments.json and output == "-":
            raise UsageError(f"--json prints to standard output; give another file for {what}.")
        self.json, self.quiet = arguments.json, arguments.quiet
        self.result: dict[str, Any] = {"command": arguments.command, "warnings": []}
        self.begin = time.perf_counter()
        self.busy = output == "-"

    def say(self, text: str) -> None:
        """Print a line for people."""
        if not (self.json or self.quiet):
            if self.busy:
                print(text, file=sys.stderr, flush=True)
            else:
                stdout.write_line(text)

    def put(self, **values: object) -> None:
        """Add keys to the JSON object."""
        self.result.update(values)

    def warn(self, text: str) -> None:
        """Print a warning, or add it to the JSON object."""
        if self.json:
            self.result["warnings"].append(text)
        elif not self.quiet:
            print(f"hingeline: warning: {text}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Print the JSON object."""
        if self.json:
            self.result["seconds"] = round(time.perf_counter() - self.begin, 6)
            stdout.write_line(json.dumps(_simplify(self.result), allow_nan=False))

    @contextmanager
    def collect_warnings(self) -> Iterator[None]:
        """Turn warnings of Python into lines of this console."""
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", message=".*probability.*", category=FutureWarning)
            warnings.showwarning = lambda message, *rest, **more: self.warn(str(message))
            yield

    @contextmanager
    def watch(self, model: BaseEstimator) -> Iterator[None]:
        """Show the progress of a fit on a terminal."""
        from .._sklearn import HAVE_CALLBACKS
        from ..base.fit import N_SLICES

        if self.quiet or self.json or not HAVE_CALLBACKS or not sys.stderr.isatty():
            yield
            return
        with self.bar(N_SLICES, "training") as done:
            model.set_callbacks(_Ticks(done))
            try:
                yield
            finally:
                model.set_callbacks()

    def bar(self, total: int, label: str) -> AbstractContextManager[Callable[[int], None]]:
        """Progress bar on standard error if that is a terminal."""
        from ..base.progress import progress

        return progress(False if self.quiet or self.json else None, total, label)


class _Ticks:
    """Callback of scikit-learn that moves a progress bar."""

    def __init__(self, done: Callable[[int], None]) -> None:
        self.done, self.count = done, 0

    def setup(self, estimator: BaseEstimator, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: BaseEstimator, context: Any) -> None:
        """Nothing to end."""

    def on_fit_task_begin(self, estimator: BaseEstimator, context: Any) -> None:
        """Only ends are counted."""

    def on_fit_task_end(self, estimator: BaseEstimator, context: Any) -> None:
        """Count a slice of the training."""
        self.count += context.task_name == "steps"
        self.done(self.count)


def _simplify(value: Any) -> Any:
    """Value for JSON: numbers and arrays of NumPy as lists, infinity and NaN as None, other objects as text."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {str(key): _simplify(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_simplify(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def percent(part: int, whole: int) -> str:
    """Share in the words of LIBSVM."""
    return f"{100 * part / whole:.6g}% ({part}/{whole})"


def one_line(label: object) -> str:
    """Label without line breaks."""
    return " ".join(str(label).splitlines())


def count_words(n: int, noun: str) -> str:
    """Number and noun: 1 example, 2 examples."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
