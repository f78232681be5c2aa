"""Labels, decision values and probabilities of the estimators as operators.

Each function takes the graph, the estimator and the name of the input in double, and returns the names of its results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._registry import KERNELS, row_of
from ..base.kernel import KernelEstimator
from ..base.labels import is_one_vs_rest, n_pairs, pair_outputs, pairs
from ..base.platt import PlattClassifier, wants_probability
from ..base.rows import LARGEST
from ..batch.svc import PairsEstimator
from ..exact.incremental import IncrementalSVC
from ..exact.one_class import IncrementalOneClassSVM
from ..linear.nystroem import NystroemSVC
from ..linear.nystroem_map import NystroemMap
from ..linear.ordinal import OrdinalSVC
from .coupling import couple_pairs
from .graph import DOUBLE, INT64, Graph
from .kernels import kernel_values

#: Relative rounding error of scores of one-class models: points on the boundary count as inside.
ROUNDING = 1e-12


def outputs(graph: Graph, model: BaseEstimator, X: str) -> dict[str, str]:
    """Names of the outputs.

    'label', 'scores' (decision_function) and perhaps 'probabilities'; 'prediction' of a regressor; or 'features'.
    """
    check_is_fitted(model)
    if hasattr(model, "_snapshot"):  # one state, while another thread learns
        model = model._snapshot()
    row = next(filter(None, map(row_of, type(model).__mro__)), None)
    if row is None:
        raise TypeError(f"{type(model).__name__} cannot be exported. Give an estimator of hingeline.")
    return BUILDERS[row.onnx](graph, model, X)


# ---- machines ----------------------------------------------------------------------------------------


def _make_dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


def _expansion(graph: Graph, model: KernelEstimator, fitted: Any, X: str, coef: np.ndarray, bias: np.ndarray) -> str:
    """Sums of kernel values with the coefficients of each machine, one column each, plus intercepts."""
    if not coef.shape[1]:  # no support vector yet
        return graph.add("Add", graph.add("MatMul", X, np.zeros((model.n_features_in_, len(coef)))), bias)
    if model.kernel == "linear":  # the weights of the features, as in predictions
        return graph.add("Add", graph.add("MatMul", X, (coef @ _make_dense(fitted.support_vectors_)).T.copy()), bias)
    return graph.add("Add", graph.add("MatMul", _kernel_values(graph, model, fitted, X), coef.T.copy()), bias)


def _kernel_values(graph: Graph, model: KernelEstimator, fitted: Any, X: str) -> str:
    """Kernel values of the rows, one column per support vector."""
    if callable(model.kernel):
        raise ValueError("kernel is a function, which ONNX cannot call. Use a named kernel.")
    if model.kernel == "precomputed":
        return graph.add("Gather", X, np.asarray(fitted.support_, dtype=np.int64), axis=1)
    own = {"gamma": model._gamma, "coef0": model.coef0, "degree": model.degree}
    return kernel_values(graph, X, _make_dense(fitted.support_vectors_), model.kernel, own)


def _pair_decisions(graph: Graph, model: Any, fitted: Any, X: str, bias: np.ndarray) -> str:
    """Decision values of pairs of classes: sums over the support vectors of one class, then of the other.

    A matrix of coefficients with a row for each pair would consist of zeros but for a few.
    """
    lines, n_classes = _make_dense(fitted.dual_coef_), len(fitted.classes_)
    if model.kernel == "linear" or not lines.shape[1]:
        weights = model.coef_ if lines.shape[1] else np.zeros((len(bias), model.n_features_in_))
        return graph.add("Add", graph.add("MatMul", X, weights.T.copy()), bias)
    values = _kernel_values(graph, model, fitted, X)
    ends = np.cumsum(fitted.n_support_)
    sums = []
    for begin, end in zip(ends - fitted.n_support_, ends, strict=True):
        own = graph.add("Gather", values, np.arange(begin, end), axis=1)
        sums.append(graph.add("MatMul", own, lines[:, begin:end].T.copy()))
    joined = graph.add("Concat", *sums, axis=1)
    i, j = pairs(n_classes)
    first = graph.add("Gather", joined, i * (n_classes - 1) + j - 1, axis=1)
    second = graph.add("Gather", joined, j * (n_classes - 1) + i, axis=1)
    return graph.add("Add", graph.add("Add", first, second), bias)


# ---- labels ------------------------------------------------------------------------------------------


def _label(graph: Graph, classes: np.ndarray, index: str) -> str:
    return graph.add("Gather", classes.astype(str) if classes.dtype.kind == "O" else classes, index, axis=0)


def _two(graph: Graph, classes: np.ndarray, column: str, *, zero_is_positive: bool) -> dict[str, str]:
    """Label and score of two classes from a column of decision values."""
    score = graph.add("Reshape", column, np.array([-1], dtype=np.int64))
    zero = np.float64(0.0)
    positive = graph.add("GreaterOrEqual" if zero_is_positive else "Greater", score, zero)
    return {"label": _label(graph, classes, graph.add("Cast", positive, to=INT64)), "scores": score}


def _largest(graph: Graph, classes: np.ndarray, scores: str) -> str:
    return _label(graph, classes, graph.add("ArgMax", scores, axis=1, keepdims=0))


def _class_sums(graph: Graph, first: str, second: str, n_classes: int) -> str:
    """Sums over the pairs of each class: of `first` for pairs that begin with it, of `second` for the others."""
    machines = pair_outputs(n_classes)
    ends = np.arange(n_classes)[:, np.newaxis] > np.arange(n_classes - 1)  # pairs that end with the class
    own = graph.add("Gather", graph.add("Concat", first, second, axis=1), machines + ends * n_pairs(n_classes), axis=1)
    return graph.add("ReduceSum", own, np.array([2]), keepdims=0)


def _votes(graph: Graph, decisions: str, operator: str, n_classes: int) -> str:
    """Number of votes for each class; the first class of a pair wins where `operator` holds against zero."""
    wins = graph.add("Cast", graph.add(operator, decisions, np.float64(0.0)), to=DOUBLE)
    return _class_sums(graph, wins, graph.add("Sub", np.float64(1.0), wins), n_classes)


def _shape_sums(graph: Graph, votes: str, decisions: str, n_classes: int) -> str:
    """Votes plus the sum of signed decision values, mapped to (-1/3, 1/3)."""
    sums = _class_sums(graph, decisions, graph.add("Neg", decisions), n_classes)
    divisor = graph.add("Mul", graph.add("Add", graph.add("Abs", sums), np.float64(1.0)), np.float64(3.0))
    return graph.add("Add", votes, graph.add("Div", sums, divisor))


def _by_pairs(graph: Graph, decisions: str, scale: np.ndarray, n_classes: int) -> str:
    """Votes of pairs; ties are broken by decision values that are divided by `scale`."""
    scaled = graph.add("Div", decisions, np.where(scale > 0, scale, 1.0))
    scaled = graph.add("Clip", scaled, np.float64(-LARGEST), np.float64(LARGEST))
    return _shape_sums(graph, _votes(graph, decisions, "Greater", n_classes), scaled, n_classes)


# ---- estimators --------------------------------------------------------------------------------------


def _kernel_classifier(graph: Graph, model: Any, X: str) -> dict[str, str]:
    fitted = model._read_fitted()
    classes, n_classes = fitted.classes_, len(fitted.classes_)
    bias = np.asarray(fitted.intercept_, dtype=np.float64)
    if n_classes > 2 and not is_one_vs_rest(fitted):
        decisions = _pair_decisions(graph, model, fitted, X, bias)
    else:
        decisions = _expansion(graph, model, fitted, X, _make_dense(fitted.dual_coef_), bias)
    if n_classes == 2:
        found = _two(graph, classes, decisions, zero_is_positive=isinstance(model, PairsEstimator))
    elif is_one_vs_rest(fitted):
        found = {"label": _largest(graph, classes, decisions), "scores": decisions}
    else:
        found = _pairwise(graph, model, fitted, decisions)
    if isinstance(model, PlattClassifier) and wants_probability(model):
        found |= _probabilities(graph, model, decisions, n_classes)
    return found


def _pairwise(graph: Graph, model: Any, fitted: Any, decisions: str) -> dict[str, str]:
    """Label and scores from a machine for each pair of classes."""
    n_classes = len(fitted.classes_)
    if isinstance(model, PairsEstimator):  # as in scikit-learn
        shaped = _shape_sums(graph, _votes(graph, decisions, "GreaterOrEqual", n_classes), decisions, n_classes)
        chosen = shaped if model.break_ties else _votes(graph, decisions, "Greater", n_classes)
    else:
        shaped = chosen = _by_pairs(graph, decisions, fitted.decision_scale_, n_classes)
    scores = decisions if model.decision_function_shape == "ovo" else shaped
    return {"label": _largest(graph, fitted.classes_, chosen), "scores": scores}


def _probabilities(graph: Graph, model: Any, decisions: str, n_classes: int) -> dict[str, str]:
    """Probabilities from sigmoids; none if SVC or NuSVC was fitted with ``probability=False``."""
    by_pairs = isinstance(model, PairsEstimator)
    if by_pairs and not model.sigmoids_.size:
        return {}
    slopes, offsets = model.sigmoids_ if by_pairs else _sigmoids(model)
    if by_pairs and n_classes == 2:
        offsets = -offsets  # of the second class
    exponent = graph.add("Add", graph.add("Mul", decisions, np.asarray(slopes)), np.asarray(offsets))
    positive = graph.add(
        "Clip", graph.add("Sigmoid", graph.add("Neg", exponent)), np.float64(1e-7), np.float64(1 - 1e-7)
    )
    if n_classes == 2:
        negative = graph.add("Sub", np.float64(1.0), positive)
        return {"probabilities": graph.add("Concat", negative, positive, axis=1)}
    if by_pairs:
        return {"probabilities": couple_pairs(graph, positive, n_classes)}
    return {"probabilities": graph.add("Div", positive, graph.sums(positive, n_classes))}


def _single_column(graph: Graph, model: Any, X: str) -> str:
    """Decision values or predictions of an estimator with one machine."""
    bias = np.asarray(model.intercept_, dtype=np.float64)
    column = _expansion(graph, model, model, X, _make_dense(model.dual_coef_), bias)
    return graph.add("Reshape", column, np.array([-1], dtype=np.int64))


def _kernel_regressor(graph: Graph, model: Any, X: str) -> dict[str, str]:
    return {"prediction": _single_column(graph, model, X)}


def _outlier_detector(graph: Graph, model: Any, X: str) -> dict[str, str]:
    score = _single_column(graph, model, X)
    inside = graph.add("Cast", graph.add("Greater", score, np.float64(0.0)), to=INT64)
    return {"label": _label(graph, np.array([-1, 1], dtype=np.int64), inside), "scores": score}


def _sigmoids(model: IncrementalSVC) -> np.ndarray:
    fitted = model._sigmoids()
    return model._fit_sigmoids() if fitted is None else fitted


def _one_class(graph: Graph, model: IncrementalOneClassSVM, X: str) -> dict[str, str]:
    fitted = model._read_fitted()
    scores, offset = fitted._scores, float(model.offset_)
    sphere = model._require_model().problem == "sphere"
    factor, bias = (2.0, -float(fitted._square[0]) - offset) if sphere else (1.0, -offset)
    column = _expansion(graph, model, scores, X, factor * _make_dense(scores.dual_coef_), np.array([bias]))
    if sphere:
        column = graph.add("Sub", column, _diagonal(graph, model, X))
    score = graph.add("Reshape", column, np.array([-1], dtype=np.int64))
    size = abs(offset) + (abs(float(fitted._square[0])) if sphere else 0.0)
    inside = graph.add("GreaterOrEqual", score, np.float64(-ROUNDING * size))
    label = _label(graph, np.array([-1, 1], dtype=np.int64), graph.add("Cast", inside, to=INT64))
    return {"label": label, "scores": score}


def _diagonal(graph: Graph, model: IncrementalOneClassSVM, X: str) -> str:
    """K(x, x) of the rows of X, as a column."""
    known = KERNELS[model.kernel].diagonal
    if not callable(known):
        return graph.constant(np.float64(known))
    factor = 1.0 if model.kernel == "linear" else model._gamma
    products = graph.sums(graph.add("Mul", X, X), model.n_features_in_, factor)
    if model.kernel == "linear":
        return products
    return graph.add("Pow", graph.add("Add", products, np.float64(model.coef0)), np.float64(model.degree))


def _linear_classifier(graph: Graph, model: Any, X: str) -> dict[str, str]:
    coef, bias = (np.asarray(value, dtype=np.float64) for value in (_make_dense(model.coef_), model.intercept_))
    if isinstance(model, NystroemSVC):
        X, coef = _landmark_values(graph, model.map_, X), model.landmark_coef_
    decisions = graph.add("Add", graph.add("MatMul", X, coef.T.copy()), bias)
    n_classes = len(model.classes_)
    if n_classes == 2:
        return _two(graph, model.classes_, decisions, zero_is_positive=False)
    if not model._by_pairs:
        return {"label": _largest(graph, model.classes_, decisions), "scores": decisions}
    shaped = _by_pairs(graph, decisions, model.decision_scale_, n_classes)
    scores = shaped if model.decision_function_shape == "ovr" else decisions
    return {"label": _largest(graph, model.classes_, shaped), "scores": scores}


def _linear_regressor(graph: Graph, model: Any, X: str) -> dict[str, str]:
    column = graph.add("MatMul", X, np.asarray(model.coef_, dtype=np.float64)[:, np.newaxis])
    column = graph.add("Add", column, np.asarray(model.intercept_, dtype=np.float64))
    return {"prediction": graph.add("Reshape", column, np.array([-1], dtype=np.int64))}


def _landmark_values(graph: Graph, model: NystroemMap, X: str) -> str:
    kernel = model._kernel()
    usual = KERNELS[kernel.metric].gamma if kernel.metric in KERNELS else None
    own = {"gamma": 1.0 / model.n_features_in_ if usual is None else usual, "coef0": 1.0, "degree": 3}
    own |= {name: value for name, value in kernel.params.items() if value is not None}
    return kernel_values(graph, X, _make_dense(model.components_), kernel.metric, own)


def _map(graph: Graph, model: NystroemMap, X: str) -> dict[str, str]:
    weights = np.asarray(model.normalization_, dtype=np.float64).T.copy()
    return {"features": graph.add("MatMul", _landmark_values(graph, model, X), weights)}


def _ordinal(graph: Graph, model: OrdinalSVC, X: str) -> dict[str, str]:
    column = graph.add("MatMul", X, np.asarray(model.coef_, dtype=np.float64)[:, np.newaxis])
    above = graph.add("Sub", column, np.asarray(model.thresholds_, dtype=np.float64))
    passed = graph.add("Cast", graph.add("Greater", above, np.float64(0.0)), to=DOUBLE)
    count = graph.add("Cast", graph.sums(passed, len(model.thresholds_)), to=INT64)
    index = graph.add("Reshape", count, np.array([-1], dtype=np.int64))
    label = _label(graph, model.classes_, index)
    if len(model.classes_) == 2:
        return {"label": label, "scores": graph.add("Reshape", above, np.array([-1], dtype=np.int64))}
    ends = graph.add("Add", graph.add("Mul", column, np.float64(0.0)), np.float64(np.inf))
    left, right = (
        graph.add("Concat", ends, above, axis=1),
        graph.add("Concat", graph.add("Neg", above), ends, axis=1),
    )
    return {"label": label, "scores": graph.add("Min", left, right)}


#: How estimators are built, by the names in the registry.
BUILDERS: dict[str, Callable[[Graph, Any, str], dict[str, str]]] = {
    build.__name__[1:]: build
    for build in (
        _kernel_classifier,
        _kernel_regressor,
        _linear_classifier,
        _linear_regressor,
        _map,
        _one_class,
        _ordinal,
        _outlier_detector,
    )
}
