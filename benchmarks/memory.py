"""How much memory a piece of work needs."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from pathlib import Path

_STATUS, _REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Growth:
    """Context manager: `bytes` is the peak resident size inside less the resident size before.

    Linux keeps the peak of this very process and lets us reset it. Elsewhere the peak is ru_maxrss of the whole life
    of the process, so only the first use in a process tells something; the harness keeps that one. (On Linux ru_maxrss
    would be wrong: it starts with the size that the parent had when it created the process.)
    """

    def __enter__(self) -> Growth:
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            # Give free memory back, or it would be used again unseen.
            ctypes.CDLL(None).malloc_trim(0)
        reset_peak()
        self._before = resident("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        self.bytes = max(0, resident("VmHWM") - self._before)


def reset_peak() -> None:
    """Forget the peak resident size so far, where the system can do that (Linux)."""
    with contextlib.suppress(OSError):
        _REFS.write_text("5", encoding="ascii")


def resident(field: str) -> int:
    """Bytes of this process that are in memory: now ("VmRSS") or at most so far ("VmHWM")."""
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
