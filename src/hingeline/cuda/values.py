"""Kernel values of rows in the memory of a device, in blocks of dot products."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .source import Form

#: Dot products in one block: enough for the throughput of a matrix product. With little memory fewer: this part of it.
BLOCK, FEWEST = 1 << 26, 1 << 20
BLOCK_SHARE = 1 / 16
#: Values between two looks at Ctrl-C.
BETWEEN_LOOKS = 1 << 33
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


class Kernel(NamedTuple):
    """A kernel and its parameters; 'precomputed': the rows are those of a matrix of kernel values."""

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3


class Values:
    """Kernel values of rows.

    Parameters
    ----------
    device : Device
        Where the rows are.
    X : ndarray of the device, of shape (n_rows, n_features)
        Rows; with a precomputed kernel a square matrix of kernel values.
    kernel : Kernel
        Kernel.
    """

    def __init__(self, device: Any, X: Any, kernel: Kernel) -> None:
        self.device, self.kernel, self.xp = device, kernel, device.xp
        room = int(BLOCK_SHARE * device.free_bytes()) // 8
        self.block = max(FEWEST, min(BLOCK, room))
        self.given = kernel.name == "precomputed"
        #: Rows in single precision and as they are.
        self.rows = {SINGLE: X if self.given else X.astype(np.float32, copy=False), DOUBLE: X}
        if self.given:
            self.squares = self.xp.zeros(len(X))
            self.diagonal = X.diagonal().astype(np.float64)
        else:
            self.squares = self._squared_norms(X)
            self.diagonal = self._diagonal()
        self.unit_diagonal = kernel.name == "rbf"
        self.evals = 0

    def _squared_norms(self, X: Any) -> Any:
        """Sums of squares in double, in blocks: rows in double take twice the memory of those in single precision."""
        out = self.xp.empty(len(X))
        step = max(1, self.block // max(X.shape[1], 1))
        for at in range(0, len(X), step):
            out[at : at + step] = self.xp.square(X[at : at + step].astype(np.float64)).sum(axis=1)
        return out

    def _diagonal(self) -> Any:
        k = self.kernel
        if k.name == "rbf":
            return self.xp.ones(len(self.squares))
        if k.name == "linear":
            return self.squares
        inside = k.gamma * self.squares + k.coef0
        return inside**k.degree if k.name == "poly" else self.xp.tanh(inside)

    @property
    def _parameters(self) -> tuple[float, float, int]:
        k = self.kernel
        return (k.gamma / math.log(2) if k.name == "rbf" else k.gamma), k.coef0, k.degree

    def _gather(self, rows: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        """Some rows and their squared norms in a precision."""
        taken = None if self.given else self.rows[dtype][rows].astype(dtype, copy=False)
        return taken, self.squares[rows].astype(dtype)

    def _dots(self, left: Any, rows: Any, right: Any, columns: Any, dtype: np.dtype[Any]) -> Any:
        if self.given:
            return self.rows[dtype][rows[:, None], columns[None, :]].astype(dtype, copy=False)
        return self.xp.matmul(left, right.T)

    def place(self, rows: Any, form: Form, dtype: np.dtype[Any], u: Any, stride: int) -> None:
        """Write the kernel matrix of some rows in a form to `u`.

        Parameters
        ----------
        rows : ndarray of the device
            Numbers of rows.
        form : Form
            Form of the elements.
        dtype : dtype
            Precision of the kernel values.
        u : ndarray of the device
            Memory for the matrix, with `stride` elements for a row.
        stride : int
            Elements from row to row.
        """
        n = len(rows)
        taken, squares = self._gather(rows, dtype)
        diagonal = self.working_diagonal(rows, form)
        diagonal = (diagonal if form.code == 0 else -diagonal).astype(form.element)
        launch = self.device.value_kernel("place", self.kernel.name, dtype, form)
        step = max(1, self.block // max(n, 1))
        for at in range(0, n, step):
            part = slice(at, at + step)
            left = None if taken is None else taken[part]
            dots = self._dots(left, rows[part], taken, rows, dtype)
            launch(len(dots), self._parameters, (dots, squares[part], squares, u, diagonal), (len(dots), n, stride, at))
        self.evals += n * n

    def working_diagonal(self, rows: Any, form: Form) -> Any:
        """Diagonal of the matrix in a form, up to the sign and the unit."""
        return self.xp.zeros(len(rows)) if form.code >= 2 else self.diagonal[rows]

    def matrix(self, rows: Any) -> Any:
        """Kernel matrix of some rows in double."""
        u = self.xp.empty((len(rows), len(rows)))
        self.place(rows, Form(DOUBLE, DOUBLE, 0), DOUBLE, u, len(rows))
        return u

    def sums(self, queries: Any, base: Any, coef: Any, dtype: np.dtype[Any]) -> Any:
        """Sums over `base` of coef times kernel values, for each query, added in double.

        Parameters
        ----------
        queries, base : ndarray of the device
            Numbers of rows.
        coef : ndarray of the device
            A coefficient for each row of `base`.
        dtype : dtype
            Precision of the kernel values.
        """
        out = self.xp.zeros(len(queries))
        if not len(queries) or not len(base):
            return out
        launch = self.device.value_kernel("weigh", self.kernel.name, dtype, Form(DOUBLE, DOUBLE, 0))
        wide = min(len(base), 1 << 14)  # columns; with as many rows at least
        tall = max(1, self.block // wide)
        since = 0
        for column in range(0, len(base), wide):
            of_base = base[column : column + wide]
            right, right_squares = self._gather(of_base, dtype)
            for row in range(0, len(queries), tall):
                of_queries = queries[row : row + tall]
                left, left_squares = self._gather(of_queries, dtype)
                dots = self._dots(left, of_queries, right, of_base, dtype)
                arrays = dots, left_squares, right_squares, coef[column : column + wide], out[row : row + tall]
                launch(-(-len(of_queries) // 8), self._parameters, arrays, (len(of_queries), len(of_base)))
                since += len(of_queries) * len(of_base)
                if since > BETWEEN_LOOKS:
                    self.device.wait()
                    since = 0
        self.evals += len(queries) * len(base)
        return out
