"""Operators of a model, independent of the library that writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

#: Numbers of types in ONNX.
INT64, DOUBLE = 7, 11
#: Value of an attribute of an operator.
Attribute: TypeAlias = "int | float | str | list[int] | Body"


@dataclass
class Graph:
    """Operators in the order of their execution, and constants.

    All operators exist, with the same inputs and attributes, in the operator sets from 13 on.
    """

    #: Start of all names.
    prefix: ClassVar[str] = ""

    nodes: list[tuple[str, tuple[str, ...], str, dict[str, Attribute]]] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)

    def constant(self, value: npt.ArrayLike) -> str:
        """Name of a constant array: numbers that are not integers are doubles."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
        name = f"{self.prefix}constant_{len(self.constants)}"
        self.constants[name] = array
        return name

    def add(self, operator: str, *inputs: npt.ArrayLike, **attributes: Attribute) -> str:
        """Add an operator and return the name of its output. Inputs that are not names become constants."""
        names = tuple(one if isinstance(one, str) else self.constant(one) for one in inputs)
        output = f"{self.prefix}{operator.lower()}_{len(self.nodes)}"
        self.nodes.append((operator, names, output, attributes))
        return output

    def sums(self, rows: str, width: int, factor: float = 1.0) -> str:
        """Sums of the rows of a matrix times a factor, as a column."""
        return self.add("MatMul", rows, np.full((width, 1), float(factor)))

    def loop(self, rounds: int, state: str, body: Body) -> str:
        """Name of the state after at most `rounds` rounds of a loop."""
        return self.add("Loop", np.int64(rounds), np.bool_(True), state, body=body)


@dataclass
class Body(Graph):
    """Operators of one round of a loop: they make `next_state` and `go_on` from `state`.

    The state is a tensor of doubles. It has an entry of the shape `shape` for each row of the input.
    """

    prefix: ClassVar[str] = "body_"
    state: ClassVar[str] = "body_state"

    shape: tuple[int, ...] = field(kw_only=True)
    next_state: str = field(default="", kw_only=True)
    go_on: str = field(default="", kw_only=True)
