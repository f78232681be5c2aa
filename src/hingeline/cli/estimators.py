"""Estimators from the options of the command line."""

from __future__ import annotations

import ast
from argparse import Namespace
from collections.abc import Iterable

import numpy as np
from sklearn.base import BaseEstimator, is_outlier_detector

from .. import _registry
from ..base import params
from .data.examples import convert_labels
from .errors import UsageError
from .options import suggest

#: Names that users of other libraries write, in lower case without hyphens, and the class that is meant.
ALIASES = {
    "svm": "SVC", "csvc": "SVC", "libsvm": "SVC", "kernelsvm": "SVC",
    "linearsvm": "LinearSVC", "linear": "LinearSVC", "liblinear": "LinearSVC", "linearregression": "LinearSVR",
    "regression": "SVR", "svmregression": "SVR", "epsilonsvr": "SVR", "svregressor": "SVR",
    "oneclass": "OneClassSVM", "lasvm": "LASVC", "sgdclassifier": "KernelSGDClassifier",
    "ordinal": "OrdinalSVC", "nystroem": "NystroemSVC", "nystrom": "NystroemSVC",
}  # fmt: skip


def class_of(name: str) -> type[BaseEstimator]:
    """Class of an estimator by name."""
    known = _registry.estimators("command_line")
    if name not in known:
        meant = ALIASES.get(name.lower().replace("-", "").replace("_", ""))
        hint = f" Did you mean {meant}?" if meant else suggest(name, known)
        raise UsageError(f"unknown estimator {name!r}.{hint} Known are {', '.join(known)}.")
    return _registry.class_of(name)


def value_of(text: str) -> object:
    """Value of a parameter: a literal of Python, or a string."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def build_estimator(arguments: Namespace) -> BaseEstimator:
    """Make the estimator of the options; class weights come later, when the labels are known."""
    learner = class_of(arguments.estimator)
    known = params.defaults(learner)
    prefix = "param_"
    given = {key.removeprefix(prefix): value for key, value in vars(arguments).items() if key.startswith(prefix)}
    given = {name: value for name, value in given.items() if value is not None}
    given |= {name: value_of(value) for name, value in arguments.param}
    for name in given:
        require_parameter(learner.__name__, name, known)
    if arguments.class_weight and "class_weight" not in known:
        raise UsageError(f"{learner.__name__} has no class weights.")
    return check(learner(**given))


def require_parameter(estimator: str, name: str, known: Iterable[str]) -> None:
    """UsageError for a parameter that an estimator does not have."""
    if name in known:
        return
    owners = {"nu": " nu belongs to NuSVC, NuSVR and the one-class SVMs.", "epsilon": " epsilon belongs to SVR."}
    hint = suggest(name, known) or owners.get(name, "")
    raise UsageError(f"{estimator} has no parameter {name!r}.{hint} It has {', '.join(known)}.")


def build_from_text(text: str) -> BaseEstimator:
    """Make an estimator from an expression such as ``SVC(C=10, gamma=0.1)``. Only literals are evaluated."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if isinstance(node, ast.Name):
            return class_of(node.id)()
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args):
            raise ValueError
        given = {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}
        learner = class_of(node.func.id)
        for name in given:
            require_parameter(learner.__name__, name, params.defaults(learner))
        return check(learner(**given))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UsageError(f"{text!r} is not of the form CLASS or CLASS(name=value, ...).") from None


def check(model: BaseEstimator) -> BaseEstimator:
    """Check the parameters of an estimator."""
    try:
        params.check(model, model._rules)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return model


def weigh(model: BaseEstimator, weights: list[tuple[str, str]], classes: np.ndarray) -> None:
    """Set the class weights of the options, whose labels must be among the classes."""
    if not weights:
        return
    model = learner_of(model)
    if ("balanced", "") in weights:
        model.set_params(class_weight="balanced")
        return
    known = {str(label): label for label in classes.tolist()}
    table = {}
    for text, weight in weights:
        label = known.get(text, known.get(str(convert_labels([text])[0])))
        if label is None:
            raise UsageError(f"class weight of {text!r}: there is no such label. Labels are {', '.join(known)}.")
        try:
            table[label] = float(weight)
        except ValueError:
            raise UsageError(f"class weight of {text!r} must be a number. Got {weight!r}.") from None
    model.set_params(class_weight=table)


def learner_of(model: BaseEstimator) -> BaseEstimator:
    """Last step of a pipeline, or the model itself."""
    from ..files.fixed import parts_of

    return parts_of(model)[-1]


def takes_labels(model: BaseEstimator) -> bool:
    """Whether an estimator learns from labels; one-class models do not."""
    return not is_outlier_detector(model)


def settings(model: BaseEstimator) -> dict[str, object]:
    """Parameters that differ from their defaults."""
    model = learner_of(model)
    usual = params.defaults(type(model))
    return {name: value for name, value in model.get_params().items() if not _same(value, usual[name])}


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and bool(a == b)
