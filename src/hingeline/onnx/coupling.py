"""Coupling of the probabilities of pairs of classes, as in :func:`hingeline.base.platt.couple`."""

from __future__ import annotations

import numpy as np

from ..base.labels import pairs
from ..base.platt import N_SWEEPS, coupling_tolerance
from .graph import DOUBLE, Body, Graph


def couple_pairs(graph: Graph, first: str, n_classes: int) -> str:
    """Probabilities of the classes.

    Parameters
    ----------
    graph : Graph
        Graph to add operators to.
    first : str
        Name of the probabilities of the first class of each pair, one column per pair.
    n_classes : int
        Number of classes.

    Returns
    -------
    str
        Name of the probabilities, one column per class.
    """
    Q = _quadratic(graph, first, n_classes)
    start = graph.add("Mul", graph.add("Gather", Q, np.array([0]), axis=1), np.float64(0.0))
    start = graph.add("Add", start, np.float64(1.0 / n_classes))
    # The state has Q below the probabilities: a body that reads names of the outer graph is not safe in skl2onnx, which
    # sorts operators by their inputs only.
    state = graph.add("Concat", start, Q, axis=1)
    end = graph.loop(max(N_SWEEPS, n_classes), state, _sweep(n_classes))
    return graph.add("Gather", end, np.int64(0), axis=1)


def _quadratic(graph: Graph, first: str, n_classes: int) -> str:
    """Matrix Q of each sample: the probabilities minimise ``p'Qp / 2``."""
    i, j = pairs(n_classes)
    place = np.zeros((n_classes, n_classes), dtype=np.int64)
    place[i, j] = np.arange(len(i))
    place[j, i] = place[i, j] + len(i)
    both = graph.add("Concat", first, graph.add("Sub", np.float64(1.0), first), axis=1)
    eye = np.eye(n_classes)
    pairwise = graph.add("Mul", graph.add("Gather", both, place, axis=1), 1.0 - eye)
    transposed = graph.add("Mul", graph.add("Gather", both, place.T.copy(), axis=1), 1.0 - eye)
    squares = graph.add("ReduceSum", graph.add("Mul", transposed, transposed), np.array([2]), keepdims=1)
    return graph.add("Sub", graph.add("Mul", squares, eye), graph.add("Mul", transposed, pairwise))


def _sweep(n_classes: int) -> Body:
    """One step for each class in turn. Samples that fulfil the tolerance stay; the loop ends if all do."""
    body = Body(shape=(n_classes + 1, n_classes))
    p = body.add("Gather", body.state, np.int64(0), axis=1)
    Q = body.add("Gather", body.state, np.arange(1, n_classes + 1), axis=1)
    Qp = body.add("ReduceSum", body.add("Mul", Q, body.add("Unsqueeze", p, np.array([1]))), np.array([2]), keepdims=0)
    pQp = body.sums(body.add("Mul", p, Qp), n_classes)
    far = body.add(
        "GreaterOrEqual",
        body.add("Abs", body.add("Sub", Qp, pQp)),
        np.float64(coupling_tolerance(n_classes)),
    )
    n_far = body.sums(body.add("Cast", far, to=DOUBLE), n_classes)
    x = p
    for t, unit in enumerate(np.eye(n_classes)):
        row, at = body.add("Gather", Q, np.int64(t), axis=1), np.array([t])
        curvature, slope = body.add("Gather", row, at, axis=1), body.add("Gather", Qp, at, axis=1)
        diff = body.add("Div", body.add("Sub", pQp, slope), curvature)
        scale = body.add("Add", diff, np.float64(1.0))
        rise = body.add("Add", body.add("Mul", diff, curvature), body.add("Mul", slope, np.float64(2.0)))
        pQp = body.add("Div", body.add("Add", pQp, body.add("Mul", diff, rise)), body.add("Mul", scale, scale))
        Qp = body.add("Div", body.add("Add", Qp, body.add("Mul", diff, row)), scale)
        x = body.add("Div", body.add("Add", x, body.add("Mul", diff, unit)), scale)
    p = body.add("Where", body.add("Greater", n_far, np.float64(0.0)), x, p)
    body.next_state = body.add("Concat", body.add("Unsqueeze", p, np.array([1])), Q, axis=1)
    body.go_on = body.add("Greater", body.add("ReduceSum", n_far, keepdims=0), np.float64(0.0))
    return body
