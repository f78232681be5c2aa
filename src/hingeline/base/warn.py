"""Warnings that name the line of the user's code, through pipelines, searches, callbacks and decorators."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = ["warn"]

#: Packages between the user's call and a warning, and modules of the standard library that call functions for them.
PASSED = {
    *("hingeline", "sklearn", "joblib", "dask", "distributed"),
    *("concurrent", "contextlib", "functools", "multiprocessing", "runpy", "threading"),
}


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning about the innermost line on the call stack that is outside of hingeline and scikit-learn.

    Threads and processes that joblib starts have no line of the user on their stack: the warning then names the
    outermost line of hingeline.
    """
    frame = _find_user_frame(sys._getframe(1))
    names = frame.f_globals
    warnings.warn_explicit(
        text,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__", "<unknown>"),
        registry=names.setdefault("__warningregistry__", {}),
    )


def _find_user_frame(caller: FrameType) -> FrameType:
    frame: FrameType | None = caller
    while frame is not None:
        package = _package_of(frame)
        if package not in PASSED:
            return frame
        if package == "hingeline":
            caller = frame
        frame = frame.f_back
    return caller


def _package_of(frame: FrameType) -> str:
    """Top-level package of the module of a frame, also of a module that is run by ``python -m``."""
    spec = frame.f_globals.get("__spec__")
    name: str = spec.name if spec else frame.f_globals.get("__name__", "")
    return name.partition(".")[0]
