"""How good a solution is, from its weights alone: the same for every solver. C is the paper's."""

from __future__ import annotations

from typing import Any

import numpy as np


def slacks(X: Any, y: np.ndarray, w: np.ndarray, b: float) -> np.ndarray:
    return np.maximum(0.0, 1.0 - y * (X @ w + b))


def objective(X: Any, y: np.ndarray, w: np.ndarray, b: float, C: float, hinge: bool) -> float:
    xi = slacks(X, y, w, b)
    return float(0.5 * (w @ w + b * b) + C * (xi.sum() if hinge else 0.5 * xi @ xi))


def dual(X: Any, y: np.ndarray, w: np.ndarray, b: float, C: float) -> tuple[float, float]:
    """Of the multipliers that belong to the weights (section 4.7): largest KKT violation, value of the dual."""
    xi = slacks(X, y, w, b)
    alpha = C * xi
    v, c = X.T @ (alpha * y), float(alpha @ y)
    g = y * (X @ v + c) + xi - 1.0
    violation = np.where(alpha > 0, np.abs(g), np.maximum(0.0, -g)).max()
    return float(violation), float(alpha.sum() - 0.5 * (v @ v + c * c) - 0.5 * C * xi @ xi)
