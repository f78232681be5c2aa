"""Types of arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._registry import KernelName

#: Rows of numbers: anything that NumPy makes an array of, or a sparse matrix or array.
MatrixLike: TypeAlias = "npt.ArrayLike | sp.sparray | sp.spmatrix"  # SciPy has sparray since 1.11
#: Samples: rows of numbers, or with a callable kernel a sequence of anything.
Rows: TypeAlias = "MatrixLike | Sequence[Any]"
#: Function of two sets of rows that returns the matrix of kernel values between them.
KernelFunction: TypeAlias = Callable[[Any, Any], npt.ArrayLike]
#: Kernel of an estimator.
Kernel: TypeAlias = KernelName | KernelFunction
Gamma: TypeAlias = float | Literal["scale", "auto"]
#: Where a model is trained.
Device: TypeAlias = Literal["cpu", "cuda", "auto"]
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
RandomState: TypeAlias = int | np.random.RandomState | None
#: Progress bar, or a function of (done, total); None: a bar if stderr is a terminal.
Progress: TypeAlias = bool | Callable[[int, int], object] | None
Id: TypeAlias = int | str | UUID
Ids: TypeAlias = Id | Iterable[Id]
#: Ids of rows: one for each, or the name of a column of a DataFrame.
RowIds: TypeAlias = npt.ArrayLike | Sequence[Id] | str | None
