"""``hingeline report``: what a model file holds; with a data file also accuracy and confusion matrix."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import Any

from .._registry import KERNELS
from .console import Console
from .options import add_common, add_data

HELP = "describe a model file, and its predictions on a data file"
USAGE = "MODEL [DATA]"
EXAMPLES = (
    "hingeline report iris.model",
    "hingeline report iris.model test.csv",
)


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument("model", metavar="MODEL", help="model file of hingeline or LIBSVM, or folder of a checkpoint")
    parser.add_argument("data", metavar="DATA", nargs="?", help="data file with labels")
    add_data(parser)
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from .data import blocks_of

    console = Console(arguments)
    with console.collect_warnings():
        model = _describe(console, arguments.model)
        if arguments.data is not None:
            from .predict import Task

            task = Task(arguments, model)
            for rows in blocks_of(arguments.data, task.form):
                task.lines(rows)
            _assess(console, task, model)
    console.end()
    return 0


def _describe(console: Console, path: str) -> Any:
    """Print what is known about a model."""
    from .estimators import learner_of
    from .models import kind_of, open_model
    from .train import facts

    kind, model = kind_of(path), open_model(path)
    learner, steps = learner_of(model), _preparation(model)
    size = 0 if os.path.isdir(path) else os.path.getsize(path)
    header = _header(path) if kind == "hingeline" else {}
    known = _read_parameters(learner, kind)
    console.put(
        model=path, format=kind, bytes=size, estimator=type(learner).__name__, parameters=known,
        preparation=steps, features=getattr(model, "n_features_in_", None),
        examples=getattr(learner, "n_samples_seen_", None), **header, **facts(model),
    )  # fmt: skip
    result = console.result
    console.say(f"{path}: {result['estimator']}, format {kind}{f', {size:,} bytes' if size else ''}")
    if header:
        console.say(f"written by hingeline {header['hingeline_version']}; checksums are right")
    console.say("parameters: " + ", ".join(f"{name}={value!r}" for name, value in known.items()))
    for step in steps:
        console.say(f"preparation: {step}")
    for key in ("features", "examples", "classes", "support_vectors", "stop_reason"):
        if result.get(key) is not None:
            console.say(f"{key.replace('_', ' ')}: {_words(result[key])}")
    for name, (dtype, shape) in header.get("arrays", {}).items():
        console.say(f"array {name}: {dtype}, {' x '.join(map(str, shape)) or 'scalar'}")
    return model


def _preparation(model: Any) -> list[str]:
    """What is done to the features before the estimator gets them, in scikit-learn's words."""
    from ..files.fixed import parts_of

    return [" ".join(repr(step).split()) for step in parts_of(model)[1:-1]]


def _read_parameters(model: Any, kind: str | None) -> dict[str, Any]:
    """Parameters of a model that its file holds. LIBSVM's text has those of the kernel only."""
    known: dict[str, Any] = model.get_params()
    if kind != "libsvm":
        return known
    return {name: known[name] for name in ("kernel", *KERNELS[known["kernel"]].parameters)}


def _header(path: str) -> dict[str, Any]:
    """Version and arrays of a model file, whose checksums are verified."""
    from ..files import layout
    from ..files.durable import map_file

    texts, arrays = layout.read(map_file(path))
    return {
        "hingeline_version": texts["hingeline_version"],
        "arrays": {name: [str(array.dtype), list(array.shape)] for name, array in arrays.items()},
    }


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value[:20])) + (", ..." if len(value) > 20 else "")
    return f"{value:,}" if isinstance(value, int) else str(value)


def _assess(console: Console, task: Any, model: Any) -> None:
    """Print accuracy and confusion matrix, or the errors of a regressor."""
    console.put(**task.result())
    if not task.n_labelled:
        console.say(f"{task.n_rows:,} rows without labels{' +1 and -1' if task.confusion else ''}")
        return
    for line in task.summary():
        console.say(line)
    if task.errors is not None:
        return
    known = list(map(str, getattr(model, "classes_", [])))
    found = {label for pair in task.confusion for label in pair}
    labels = [*known, *sorted(found - set(known))]
    matrix = [[task.confusion[one, other] for other in labels] for one in labels]
    console.put(labels=labels, confusion=matrix)
    width = max(8, *(len(label) + 1 for label in labels))
    console.say("rows: labels, columns: predictions")
    console.say(" " * width + "".join(f"{label:>{width}}" for label in labels) + f"{'recall':>{width}}")
    for label, row in zip(labels, matrix, strict=True):
        total = sum(row)
        recall = f"{row[labels.index(label)] / total:.4f}" if total else "-"
        console.say(f"{label:>{width}}" + "".join(f"{count:>{width}}" for count in row) + f"{recall:>{width}}")
