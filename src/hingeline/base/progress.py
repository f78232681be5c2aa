"""Progress of long work that is not a fit: a bar where a terminal looks on, or a function of the caller's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress(wanted: Any, total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Something to tell how much has been done.

    Parameters
    ----------
    wanted : bool, callable or None
        A callable gets (done, total). True: a bar of `rich`. None: a bar if a terminal looks on and `rich` is there.
    total : int
        All there is to do.
    label : str
        What is being done.
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
