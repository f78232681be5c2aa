"""Converters for skl2onnx, which exports pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._extras import optional
from .._registry import ESTIMATORS, class_of
from .export import attributes
from .graph import DOUBLE, INT64, Graph
from .models import outputs

#: Oldest operator set that has all operators with the inputs used here.
OLDEST_OPSET = 13


def register() -> None:
    """Teach skl2onnx all estimators of hingeline, so that it converts pipelines with them.

    A classifier or one-class model gives ``label`` and ``scores`` (as `decision_function`, in double), and
    ``probabilities`` if :func:`export` does. There is no dictionary of probabilities: the option ``zipmap`` has no
    effect. Calling this twice does no harm.

    See Also
    --------
    export : One estimator, without skl2onnx.

    Examples
    --------
    >>> import hingeline.onnx
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> hingeline.onnx.register()
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), hingeline.SVC()).fit(X, y)
    >>> [output.name for output in to_onnx(model, X[:1]).graph.output]
    ['label', 'scores']
    """
    with optional("register"):
        from skl2onnx import update_registered_converter

    ignored = {"zipmap": [True, False, "columns"], "raw_scores": [True, False], "output_class_labels": [False, True]}
    for name in ESTIMATORS:
        learner = class_of(name)
        options = ignored if hasattr(learner, "predict") else {}
        update_registered_converter(learner, f"Hingeline{name}", _shape, _convert, parser=_parse, options=options)


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs of an estimator."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    operator = scope.declare_local_operator(f"Hingeline{type(model).__name__}", model)
    operator.inputs = inputs
    for name in outputs(Graph(), model, "X"):
        words = name == "label" and getattr(model, "classes_", np.array([0])).dtype.kind in "OU"
        kind = DoubleTensorType if name != "label" else StringTensorType if words else Int64TensorType
        operator.outputs.append(scope.declare_local_variable(name, kind()))
    return operator.outputs


def _shape(operator: Any) -> None:
    """Set the shapes of the outputs."""
    rows, model = operator.inputs[0].get_first_dimension(), operator.raw_operator
    for output in operator.outputs:
        single = output.raw_name in ("label", "prediction") or (
            output.raw_name == "scores" and len(getattr(model, "classes_", "")) <= 2
        )
        output.type.shape = [rows] if single else [rows, None]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the operators of an estimator to a container of skl2onnx."""
    from skl2onnx.common.data_types import Int64TensorType

    if container.target_opset < OLDEST_OPSET:
        raise ValueError(f"target_opset must be at least {OLDEST_OPSET}. Got {container.target_opset}.")
    graph = Graph()
    X = graph.add("Cast", _join(graph, operator.inputs), to=DOUBLE)
    found = outputs(graph, operator.raw_operator, X)
    for output in operator.outputs:
        if output.raw_name == "label" and isinstance(output.type, Int64TensorType):
            found["label"] = graph.add("Cast", found["label"], to=INT64)
    own = [*graph.constants, *(name for _, _, name, _ in graph.nodes)]
    names = {name: scope.get_unique_variable_name(name) for name in own}
    for name, value in graph.constants.items():
        container.add_initializer(names[name], _type(value), list(value.shape), value.ravel())
    for kind, inputs, output, given in graph.nodes:
        container.add_node(
            kind,
            [names.get(name, name) for name in inputs],
            [names[output]],
            name=scope.get_unique_operator_name(kind),
            **attributes(given),
        )
    for output in operator.outputs:
        container.add_node(
            "Identity", [names[found[output.raw_name]]], [output.full_name], name=scope.get_unique_operator_name("out")
        )


def _join(graph: Graph, inputs: Any) -> str:
    """Name of the matrix of all inputs: a table has one for each column."""
    if len(inputs) == 1:
        return str(inputs[0].full_name)
    columns = [graph.add("Cast", one.full_name, to=DOUBLE) for one in inputs]
    return graph.add("Concat", *columns, axis=1)


def _type(value: np.ndarray) -> int:
    """Number of the type of a constant."""
    from onnx import TensorProto, helper

    return TensorProto.STRING if value.dtype.kind == "U" else helper.np_dtype_to_tensor_dtype(value.dtype)
