"""Estimators from the options of the command line."""

from __future__ import annotations

import ast
import difflib
from argparse import Namespace

import numpy as np
from sklearn.base import BaseEstimator, is_outlier_detector

from .. import _registry
from ..base import params
from .data.examples import convert_labels
from .errors import UsageError


def class_of(name: str) -> type[BaseEstimator]:
    """Class of an estimator by name."""
    known = _registry.estimators("command_line")
    if name not in known:
        close = difflib.get_close_matches(name.lower(), {one.lower(): one for one in known}, 1)
        hint = " Did you mean " + next(one for one in known if one.lower() == close[0]) + "?" if close else ""
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
        if name not in known:
            raise UsageError(f"{learner.__name__} has no parameter {name!r}. It has {', '.join(known)}.")
    if arguments.class_weight and "class_weight" not in known:
        raise UsageError(f"{learner.__name__} has no class weights.")
    return check(learner(**given))


def build_from_text(text: str) -> BaseEstimator:
    """Make an estimator from an expression such as ``SVC(C=10, gamma=0.1)``. Only literals are evaluated."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if isinstance(node, ast.Name):
            return class_of(node.id)()
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args):
            raise ValueError
        given = {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}
        return check(class_of(node.func.id)(**given))
    except TypeError as error:
        raise UsageError(f"{text}: {error}") from error
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
