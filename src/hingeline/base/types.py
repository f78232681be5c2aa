"""Types of arguments."""

from __future__ import annotations

from typing import TypeAlias

import numpy.typing as npt
import scipy.sparse as sp

#: Rows of numbers: anything that NumPy makes an array of, or a sparse matrix or array.
MatrixLike: TypeAlias = npt.ArrayLike | sp.sparray | sp.spmatrix
