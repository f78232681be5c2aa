"""Algorithm 1 of Laskov et al. 2006 in NumPy, with the two ways to compute gamma that Figures 6 and 7 compare.

Both ways share all other code: one kernel matrix in row-major order with reserved rows and columns, kernel rows
computed by matrix products for blocks of arriving rows, in-place rank-one updates of the inverse by BLAS, vectorised
searches for the next event. What differs is `gamma`:

- "gaxpy", Algorithm 3 (the new design): whole kernel rows of the set S are added up, one daxpy call for each;
- "selection", Algorithm 4 (the design before): the matrix Z = [1; K_sr] is created by selecting the rows of S and the
  columns outside S, then one matrix product with beta.

Coefficients carry their sign, so the border of the system is 1 instead of y. CPU time is measured: `seconds` for all,
`gamma_seconds` for gamma alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.blas import daxpy

#: Places of a point.
LOW, HIGH, MARGIN, OUT = range(4)
#: Smaller slopes count as zero; gradients of this size count as reached.
SLOPE, REACHED = 1e-10, 1e-10
#: A point with a smaller pivot, relative to the largest K(x, x), depends linearly on the set S.
DEPENDENT = 1e-11
#: Rows whose kernel values are computed together.
BLOCK = 256

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


def kernel_of(parameters: dict[str, Any]) -> Kernel:
    """Function of two sets of rows for the kernel parameters of an SVM."""
    gamma = parameters.get("gamma", 1.0)

    def compute(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        values = A @ B.T
        if parameters["kernel"] == "linear":
            return values
        if parameters["kernel"] == "poly":
            return (gamma * values + parameters["coef0"]) ** parameters["degree"]
        values *= -2.0
        values += np.einsum("ij,ij->i", A, A)[:, np.newaxis]
        values += np.einsum("ij,ij->i", B, B)
        return np.exp(-gamma * values)

    return compute


class Machine:
    """Exact incremental SVM for labels -1 and 1.

    Parameters
    ----------
    kernel : callable
        Kernel of two sets of rows.
    C : float
        Upper bound of the coefficients.
    design : {'gaxpy', 'selection'}
        How gamma is computed.
    room : int
        Largest number of rows.
    """

    def __init__(self, kernel: Kernel, C: float, design: str, room: int) -> None:
        self.kernel, self.C = kernel, C
        self.gamma = {"gaxpy": self._gaxpy, "selection": self._selection}[design]
        self.K = np.empty((room, room))
        self.X = np.empty((0, 0))
        self.y, self.alpha, self.g = (np.zeros(room) for _ in range(3))
        self.place = np.full(room, OUT)
        self.mu, self.n, self.steps = 0.0, 0, 0
        self.S: list[int] = []
        self.rows: list[np.ndarray] = []  # kernel rows of S
        self.Q = np.zeros((1, 1), order="F")  # inverse of the system of S, in the leading part
        self.seconds = self.gamma_seconds = 0.0

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        """Add rows one by one; the machine is optimal after each."""
        start = time.process_time()
        for at in range(0, len(X), BLOCK):
            self._append(X[at : at + BLOCK], y[at : at + BLOCK])
            for _ in range(len(X[at : at + BLOCK])):
                self._take_in(self.n)
                self.n += 1
        self.seconds += time.process_time() - start

    # ---- the two designs -----------------------------------------------------------------------------

    def _gaxpy(self, beta: np.ndarray, c: int, n: int) -> np.ndarray:
        """Algorithm 3: sums of whole rows; the values of S are not needed and not left out."""
        z = self.K[c, :n].copy()
        z += beta[0]
        for weight, row in zip(beta[1:].tolist(), self.rows, strict=True):
            daxpy(row, z, n=n, a=weight)
        return z

    def _selection(self, beta: np.ndarray, c: int, n: int) -> np.ndarray:
        """Algorithm 4: a matrix of the selected rows and columns, then a product."""
        r = np.flatnonzero(self.place[:n] != MARGIN)
        Z = np.empty((len(beta), len(r)))
        Z[0] = 1.0
        Z[1:] = self.K[np.ix_(self.S, r)]
        gamma = np.zeros(n)
        gamma[r] = beta @ Z + self.K[c, r]
        return gamma

    # ---- Algorithm 1 ---------------------------------------------------------------------------------

    def _append(self, X: np.ndarray, y: np.ndarray) -> None:
        """Kernel rows and columns of rows that are about to be added."""
        first, end = self.n, self.n + len(X)
        self.X = np.vstack([self.X, X]) if first else X.copy()
        self.K[first:end, :end] = self.kernel(X, self.X)
        self.K[:first, first:end] = self.K[first:end, :first].T
        self.y[first:end] = y

    def _take_in(self, c: int) -> None:
        n, K, y, alpha, g = c + 1, self.K, self.y, self.alpha, self.g
        low, high = np.minimum(self.C * y[:n], 0.0), np.maximum(self.C * y[:n], 0.0)
        g[c] = K[c, :c] @ alpha[:c] + self.mu - y[c]
        sign = 1.0 if g[c] < 0 else -1.0
        if sign == y[c]:  # it violates its condition
            self._drive(c, sign, low, high)
        if self.place[c] != MARGIN:
            self.place[c] = HIGH if alpha[c] >= high[c] else LOW

    def _drive(self, c: int, sign: float, low: np.ndarray, high: np.ndarray) -> None:
        """Move the coefficient of c until its gradient is zero or it reaches its bound."""
        n, alpha, g = c + 1, self.alpha, self.g
        while sign * g[c] < -REACHED:
            self.steps += 1
            if self.steps > 1000 * n + 1000:
                raise ArithmeticError("the path is cycling")
            if not self.S:
                k = self._move_mu(c, sign)
                if k == c:
                    return
                self._enter(k, n)
                continue
            beta = self._solve(c)
            start = time.process_time()
            gamma = self.gamma(beta, c, n)
            self.gamma_seconds += time.process_time() - start
            step, k, where = self._event(beta, gamma, sign, low, high)
            room = high[c] - alpha[c] if sign > 0 else alpha[c] - low[c]
            own = -sign * g[c] / gamma[c] if gamma[c] > SLOPE else np.inf
            step = min(step, own, room)
            self.mu += sign * step * beta[0]
            alpha[self.S] += sign * step * beta[1:]
            g[:n] += sign * step * gamma
            g[self.S] = 0.0
            alpha[c] += sign * step
            if step == own:
                g[c] = 0.0
                self._enter(c, n)
                return
            if step == room:
                alpha[c] = high[c] if sign > 0 else low[c]
                return
            if where == MARGIN:
                self._enter(k, n)
            else:
                self._leave(k)
                self.place[k], alpha[k] = where, high[k] if where == HIGH else low[k]

    def _event(
        self, beta: np.ndarray, gamma: np.ndarray, sign: float, low: np.ndarray, high: np.ndarray
    ) -> tuple[float, int, int]:
        """Length, point and new place of the first event, without those of the point that moves."""
        S, slope = np.array(self.S), sign * beta[1:]
        found = []
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(slope > SLOPE, (high[S] - self.alpha[S]) / slope, np.inf)
            down = np.where(slope < -SLOPE, (low[S] - self.alpha[S]) / slope, np.inf)
            slope, place = sign * gamma, self.place[: len(gamma)]
            nears = ((place == LOW) & (slope < -SLOPE)) | ((place == HIGH) & (slope > SLOPE))
            zero = np.where(nears, -self.g[: len(gamma)] / slope, np.inf)
        for lengths, numbers, where in ((up, S, HIGH), (down, S, LOW), (zero, None, MARGIN)):
            at = int(np.argmin(lengths))
            found.append((max(float(lengths[at]), 0.0), at if numbers is None else int(numbers[at]), where))
        return min(found)

    def _move_mu(self, c: int, sign: float) -> int:
        """S is empty: move mu until a gradient is zero; its point, which may be c."""
        able = np.flatnonzero(self.place[:c] == (HIGH if sign > 0 else LOW))
        lengths = np.maximum(-sign * self.g[able], 0.0)
        step, k = abs(self.g[c]), c
        if len(able) and lengths.min() < step:
            step, k = float(lengths.min()), int(able[lengths.argmin()])
        self.mu += sign * step
        self.g[: c + 1] += sign * step
        self.g[k] = 0.0
        return k

    # ---- the inverse ---------------------------------------------------------------------------------

    def _solve(self, k: int) -> np.ndarray:
        """beta = -Q (1, K_Sk)."""
        size = len(self.S) + 1
        eta = np.concatenate([[1.0], self.K[k, self.S]])
        return np.asarray(-(self.Q[:size, :size] @ eta))

    def _enter(self, k: int, n: int) -> None:
        """Point k enters S: expansion of the inverse (equation 16)."""
        size = len(self.S) + 1
        if size + 1 > len(self.Q):
            larger = np.zeros((2 * size + 64, 2 * size + 64), order="F")
            larger[:size, :size] = self.Q[:size, :size]
            self.Q = larger
        if not self.S:
            self.Q[:2, :2] = [[-self.K[k, k], 1.0], [1.0, 0.0]]
        else:
            b = self._solve(k)
            kappa = self.K[k, k] + b[0] + self.K[k, self.S] @ b[1:]
            if kappa <= DEPENDENT * self.K[k, k]:
                raise ArithmeticError("linearly dependent rows: this baseline has no remedy")
            column = np.append(b, 1.0)
            self.Q[size, : size + 1] = self.Q[: size + 1, size] = 0.0
            self._add_rank_one(column, 1.0 / kappa)
        self.S.append(k)
        self.rows.append(self.K[k])
        self.place[k] = MARGIN

    def _leave(self, k: int) -> None:
        """Point k leaves S: reduction of the inverse (equation 22)."""
        at, last = self.S.index(k) + 1, len(self.S)
        Q = self.Q
        if at != last:
            Q[: last + 1, [at, last]] = Q[: last + 1, [last, at]]
            Q[[at, last], : last + 1] = Q[[last, at], : last + 1]
            self.S[at - 1], self.rows[at - 1] = self.S[-1], self.rows[-1]
        self.S.pop()
        self.rows.pop()
        if not self.S:
            return
        self._add_rank_one(Q[:last, last].copy(), -1.0 / Q[last, last])

    def _add_rank_one(self, column: np.ndarray, factor: float) -> None:
        """Add factor * column column' to the leading part of Q, line by line (equation 31)."""
        for j, weight in enumerate((factor * column).tolist()):
            daxpy(column, self.Q[:, j], n=len(column), a=weight)
