"""Models of ONNX from estimators."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from .._extras import optional
from .graph import Attribute, Body, Graph
from .models import outputs

with optional("hingeline.onnx"):
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper

#: Operator set, and version of the file format, of exported models: onnxruntime 1.14 and later read them.
OPSET, IR_VERSION = 18, 8
#: Type of the input.
INPUT_TYPES = {np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.float32): TensorProto.FLOAT}


def export(model: BaseEstimator, *, dtype: npt.DTypeLike = np.float64) -> ModelProto:
    """Make an ONNX model from a fitted estimator.

    It takes a matrix ``X`` and returns ``label`` (as `predict`) and ``scores`` (as `decision_function`). Estimators
    with probabilities return ``probabilities`` (as `predict_proba`) as well. NystroemMap returns ``features``. All is
    computed in double precision by general operators: the coefficients of ONNX's SVM operators are in single precision.

    Parameters
    ----------
    model : estimator
        Fitted estimator of hingeline, with any kernel except functions.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the input.

    Returns
    -------
    onnx.ModelProto
        Model; write it with ``onnx.save(result, path)``.

    See Also
    --------
    register : Teach skl2onnx the estimators, for pipelines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import hingeline.onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> made = hingeline.onnx.export(hingeline.SVC(gamma=0.5).fit(X, y))
    >>> [output.name for output in made.graph.output]
    ['label', 'scores']
    """
    dtype = np.dtype(dtype)
    if dtype not in INPUT_TYPES:
        raise ValueError(f"dtype must be float64 or float32. Got {dtype}.")
    graph = Graph()
    X = graph.add("Cast", "X", to=TensorProto.DOUBLE)
    names = outputs(graph, model, X)
    for output, name in names.items():
        graph.nodes.append(("Identity", (name,), output, {}))
    width = model.n_features_in_
    made = helper.make_graph(
        _nodes(graph),
        type(model).__name__,
        [helper.make_tensor_value_info("X", INPUT_TYPES[dtype], ["n", width])],
        [_describe(name, model) for name in names],
        _constants(graph),
    )
    result = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="hingeline",
        producer_version=version("hingeline"),
    )
    checker.check_model(result)
    return result


def attributes(given: dict[str, Attribute]) -> dict[str, Any]:
    """Attributes of an operator with bodies of loops as graphs of ONNX."""
    return {name: _subgraph(value) if isinstance(value, Body) else value for name, value in given.items()}


def _subgraph(body: Body) -> GraphProto:
    """Body of a loop: round, condition and state in; condition and state out."""
    rounds = helper.make_tensor_value_info(f"{body.prefix}round", TensorProto.INT64, [])
    condition, go_on = (
        helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in (f"{body.prefix}condition", body.go_on)
    )
    state, next_state = (
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None, *body.shape])
        for name in (body.state, body.next_state)
    )
    return helper.make_graph(_nodes(body), "body", [rounds, condition, state], [go_on, next_state], _constants(body))


def _nodes(graph: Graph) -> list[NodeProto]:
    return [helper.make_node(kind, inputs, [name], **attributes(given)) for kind, inputs, name, given in graph.nodes]


def _constants(graph: Graph) -> list[TensorProto]:
    return [_constant(name, value) for name, value in graph.constants.items()]


def _constant(name: str, value: np.ndarray) -> TensorProto:
    if value.dtype.kind == "U":
        return helper.make_tensor(
            name, TensorProto.STRING, value.shape, [one.encode() for one in value.ravel().tolist()]
        )
    return numpy_helper.from_array(value, name)


def _describe(name: str, model: BaseEstimator) -> ValueInfoProto:
    """Type and shape of an output."""
    classes = getattr(model, "classes_", np.array([1]))
    if name != "label":
        single = name == "prediction" or (name == "scores" and len(classes) <= 2)
        return helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["n"] if single else ["n", name])
    kind = TensorProto.STRING if classes.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(classes.dtype)
    if classes.dtype.kind == "f":
        kind = TensorProto.DOUBLE
    return helper.make_tensor_value_info(name, kind, ["n"])
