"""The only file of the benchmarks that uses the compiled core directly; everything else goes through the estimators."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:  # the number of threads must be fixed before numpy is imported
    import numpy as np


def instruction_set() -> str | None:
    """Instruction set that the core uses on this processor; None if the core cannot be loaded."""
    try:
        from hingeline import _core
    except ImportError:
        return None
    return str(_core.isa())


def build() -> str:
    """Hash of the compiled core. A new build does not invalidate results, but reports say when there were several."""
    from hingeline import _core

    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:12]


def rbf_columns(X: Any, gamma: float) -> Callable[..., np.ndarray]:
    """Function (queries, base) that computes K[queries][:, base] of the rows of X with one thread, uncached."""
    from hingeline import _core

    values = _core.Values(_core.Source(_core.Kernel("rbf", gamma)), _core.Matrix(X), 0)
    return cast("Callable[..., np.ndarray]", values.columns)
