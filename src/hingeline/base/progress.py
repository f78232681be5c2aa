"""Progress of long calls other than ``fit``: a progress bar on a terminal, or a user callback."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Estimated seconds from which a fit warns.
LONG = 120.0


def warn_of_long_fit(seconds: float, n_rows: int) -> None:
    """Warn before a fit that will take minutes, and name faster ways."""
    if seconds < LONG:
        return
    warnings.warn(
        f"A kernel fit to {n_rows:,} rows will take about {max(2, round(seconds / 60)):,} minutes (kernel values "
        "alone, if a quarter of the kernel matrix is needed). Faster: LinearSVC on features of sklearn's "
        "Nystroem or RBFSampler, fewer rows, or n_jobs. Ctrl-C leaves a usable model; callbacks such as "
        "sklearn.callback.ProgressBar show the progress.",
        UserWarning,
        stacklevel=7,
    )


@contextmanager
def progress(wanted: Any, total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Give a function that reports how much has been done.

    Parameters
    ----------
    wanted : bool, callable or None
        A callable gets (done, total). True: a progress bar of `rich`. None: the bar if stderr is a terminal and `rich`
        is installed. False: nothing.
    total : int
        Amount of work.
    label : str
        Name of the work, shown beside the bar.
    """
    if callable(wanted):
        yield lambda done: wanted(done, total)
        return
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield lambda done: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        if wanted:
            raise
        yield lambda done: None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)
