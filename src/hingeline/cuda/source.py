"""The kernels of this package as source, and the definitions of their variants; see `steps.cu` and `values.cu`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

#: Fields of `Task` in steps.cu.
TASK = np.dtype(
    [(name, np.uint64) for name in ("u", "diagonal", "lower", "upper", "beta", "v", "result")]
    + [(name, np.int64) for name in ("size", "stride", "split", "most")]
    + [(name, np.float64) for name in ("tol", "e")]
)
#: Names of types in C++.
TYPES = {np.dtype(np.uint16): "unsigned short", np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
#: KIND in values.cu by name of the kernel.
KINDS = {"rbf": 0, "linear": 1, "precomputed": 1, "poly": 2, "sigmoid": 3}


class Form(NamedTuple):
    """How the matrix of a working set is stored: the type of its elements, and of the slopes in a step."""

    element: np.dtype[Any]
    real: np.dtype[Any]
    #: FORM in values.cu.
    code: int

    @property
    def unit(self) -> float:
        return 2.0**-16 if self.code == 3 else 1.0

    @property
    def least(self) -> float:
        """Least curvature of a pair: what rounding leaves of two equal rows."""
        return 2.0**-16 if self.code == 3 else 1e-7 if self.element == np.float32 else 1e-15


def step_source(form: Form, points: int, threads: int, cluster: int) -> str:
    """Source of the steps for one shape of a launch.

    Parameters
    ----------
    form : Form
        Form of the matrix.
    points, threads, cluster : int
        Points of a thread, threads of a block, blocks of a cluster.
    """
    defined = {
        "Element": TYPES[form.element],
        "Real": TYPES[form.real],
        "UNIT": repr(form.unit),
        "LEAST": repr(form.least),
        "FLAT": int(form.code >= 2),
        "POINTS": points,
        "THREADS": threads,
        "CLUSTER": cluster,
    }
    return _define(defined) + _text("steps.cu")


def value_source(kind: str, value: np.dtype[Any], element: np.dtype[Any], form: int) -> str:
    """Source of the kernel values for one type and one form of the matrix.

    Parameters
    ----------
    kind : str
        Name of the kernel.
    value, element : dtype
        Types of the dot products and of the elements of the matrix.
    form : int
        FORM in values.cu.
    """
    defined = {"Value": TYPES[value], "Element": TYPES[element], "KIND": KINDS[kind], "FORM": form}
    return _define(defined) + _text("values.cu")


def _define(values: dict[str, Any]) -> str:
    return "".join(f"#define {name} {value}\n" for name, value in values.items())


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
