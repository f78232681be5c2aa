"""Errors of a regression, as svm-predict and svm-train print them."""

from __future__ import annotations

import math

import numpy as np


class TargetErrors:
    """Mean squared error and squared correlation of predictions, which may come in parts.

    Attributes
    ----------
    n : int
        Number of predictions.
    """

    def __init__(self) -> None:
        self.n, self._squares = 0, 0.0
        self._mean, self._moments = np.zeros(2), np.zeros((2, 2))

    def add(self, predicted: np.ndarray, targets: np.ndarray) -> TargetErrors:
        """Count some predictions."""
        pairs = np.column_stack([predicted, targets])
        mean = pairs.mean(axis=0)
        rest, shift = pairs - mean, mean - self._mean
        self._moments += rest.T @ rest + np.outer(shift, shift) * (self.n * len(pairs) / (self.n + len(pairs)))
        self.n += len(pairs)
        self._mean += shift * len(pairs) / self.n
        self._squares += float(((predicted - targets) ** 2).sum())
        return self

    def result(self) -> dict[str, float | None]:
        """Keys of the JSON object. The correlation with a constant is NaN, as in LIBSVM."""
        if not self.n:
            return {"mean_squared_error": None, "squared_correlation": None}
        spread = float(self._moments[0, 0] * self._moments[1, 1])
        correlation = float(self._moments[0, 1]) ** 2 / spread if spread > 0 else math.nan
        return {"mean_squared_error": self._squares / self.n, "squared_correlation": correlation}

    def lines(self, before: str = "", after: str = "") -> list[str]:
        """The results in the words of LIBSVM; none without predictions."""
        found = self.result()
        names = {"mean_squared_error": "Mean squared error", "squared_correlation": "Squared correlation coefficient"}
        return [f"{before}{text} = {found[key]:g}{after}" for key, text in names.items() if self.n]
