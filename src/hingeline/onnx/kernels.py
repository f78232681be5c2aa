"""Kernel values between the rows of the input and fixed rows, in double precision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._registry import KERNELS
from .graph import Graph


def kernel_values(graph: Graph, X: str, rows: np.ndarray, kernel: str, parameters: dict[str, float]) -> str:
    """Name of the matrix of kernel values between X and `rows`."""
    known = {row.name: row.onnx for row in KERNELS.values() if row.onnx}
    if not isinstance(kernel, str) or kernel not in known:
        raise ValueError(f"kernel={kernel!r} cannot be exported. Use one of {', '.join(known)}.")
    return BUILDERS[known[kernel]](graph, X, np.asarray(rows, dtype=np.float64), **parameters)


def _linear(graph: Graph, X: str, rows: np.ndarray, **_: float) -> str:
    return graph.add("MatMul", X, rows.T.copy())


def _products(graph: Graph, X: str, rows: np.ndarray, gamma: float, coef0: float) -> str:
    """Values of ``gamma x.s + coef0``.

    gamma is part of the constant: onnxruntime would turn a factor on the product into an attribute in single precision.
    """
    return graph.add("Add", _linear(graph, X, gamma * rows), np.float64(coef0))


def _poly(graph: Graph, X: str, rows: np.ndarray, gamma: float, coef0: float, degree: float, **_: float) -> str:
    return graph.add("Pow", _products(graph, X, rows, gamma, coef0), np.float64(degree))


def _sigmoid(graph: Graph, X: str, rows: np.ndarray, gamma: float, coef0: float, **_: float) -> str:
    return graph.add("Tanh", _products(graph, X, rows, gamma, coef0))


def _rbf(graph: Graph, X: str, rows: np.ndarray, gamma: float, **_: float) -> str:
    """Distances come from inner products, of rows that are shifted to their mean: less cancellation."""
    centre = rows.mean(axis=0)
    shifted, rows = graph.add("Sub", X, centre), rows - centre
    squares = graph.sums(graph.add("Mul", shifted, shifted), rows.shape[1])
    products = graph.add("MatMul", shifted, -2.0 * rows.T)
    distances = graph.add("Add", graph.add("Add", products, squares), np.square(rows).sum(axis=1))
    return graph.add("Exp", graph.add("Mul", graph.add("Relu", distances), np.float64(-gamma)))


def _cosine(graph: Graph, X: str, rows: np.ndarray, **_: float) -> str:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    norms = graph.add("Sqrt", graph.sums(graph.add("Mul", X, X), rows.shape[1]))
    norms = graph.add("Where", graph.add("Equal", norms, np.float64(0.0)), np.float64(1.0), norms)
    return _linear(graph, graph.add("Div", X, norms), rows / np.where(lengths > 0, lengths, 1.0))


def _over_entries(graph: Graph, X: str, rows: np.ndarray, term: Callable[[str], str]) -> str:
    """Sums of a term over the features, for each pair of rows; `term` gets X with an axis for `rows`."""
    spread = graph.add("Unsqueeze", X, np.array([1], dtype=np.int64))
    values = graph.add("MatMul", term(spread), np.ones((rows.shape[1], 1)))
    return graph.add("Reshape", values, np.array([-1, len(rows)], dtype=np.int64))


def _laplacian(graph: Graph, X: str, rows: np.ndarray, gamma: float, **_: float) -> str:
    distances = _over_entries(graph, X, rows, lambda x: graph.add("Abs", graph.add("Sub", x, rows)))
    return graph.add("Exp", graph.add("Mul", distances, np.float64(-gamma)))


def _additive_chi2(graph: Graph, X: str, rows: np.ndarray, **_: float) -> str:
    def term(x: str) -> str:
        difference, total = graph.add("Sub", x, rows), graph.add("Add", x, rows)
        none = graph.add("Equal", total, np.float64(0.0))
        divisor = graph.add("Where", none, np.float64(1.0), total)  # then the difference is 0, too
        return graph.add("Div", graph.add("Mul", difference, difference), divisor)

    return graph.add("Neg", _over_entries(graph, X, rows, term))


def _chi2(graph: Graph, X: str, rows: np.ndarray, gamma: float, **_: float) -> str:
    return graph.add("Exp", graph.add("Mul", _additive_chi2(graph, X, rows), np.float64(gamma)))


#: The functions above by the names in the registry.
BUILDERS: dict[str, Callable[..., str]] = {
    build.__name__[1:]: build for build in (_linear, _poly, _sigmoid, _rbf, _cosine, _laplacian, _additive_chi2, _chi2)
}
