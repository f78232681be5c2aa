"""Progress of long calls other than ``fit``: a progress bar on a terminal, or a user callback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._extras import optional


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
        with optional("progress=True"):
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
