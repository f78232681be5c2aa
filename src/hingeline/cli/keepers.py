"""Who keeps the model of a stream: the memory, or a checkpoint."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _registry
from .console import Console
from .errors import CommandError, OutputError, UsageError, translate_write_errors
from .preparation import prepare

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from ..base.types import Ids
    from ..files import Checkpoint
    from .data.examples import Features, Rows

#: Estimator of a new model.
DEFAULT = "LASVC"
NO_FORGETTING = f"--forget needs a checkpoint of {_registry.phrase('forgets_streams', 'or')}."


class Memory:
    """A model without a checkpoint, with the methods of one."""

    def __init__(self, model: BaseEstimator) -> None:
        from ..files.fixed import Steps

        self.steps, self.learner = Steps.split(model)
        self.note: Any = None

    @property
    def model(self) -> BaseEstimator:
        """The model: a pipeline, or the estimator."""
        joined: BaseEstimator = self.steps.join(self.learner)
        return joined

    def learn(self, X: Features, y: np.ndarray | None = None, *, note: object = None, **keywords: object) -> None:
        X = self.steps.transform(X)
        self.learner.partial_fit(*((X,) if y is None else (X, y)), **keywords)
        self.note = note

    def restart(self, X: Features, y: np.ndarray | None = None, *, note: object = None, **keywords: object) -> None:
        from sklearn.base import clone

        before, self.learner = self.learner, clone(self.learner)
        try:
            self.learn(X, y, note=note, **keywords)
        except BaseException:
            self.learner = before
            raise

    def forget(self, ids: Ids) -> None:
        self.learner.forget(ids)

    def close(self) -> None:
        """Nothing is open."""


class Beginning:
    """A new model, until the first batch: scaling is fitted to it, and the checkpoint is made then.

    Parameters
    ----------
    arguments : Namespace
        Options of the command.
    model : estimator
        Estimator that has learnt nothing.
    console : Console
        Where to tell about the features.
    """

    def __init__(self, arguments: Namespace, model: BaseEstimator, console: Console) -> None:
        self.arguments, self.model, self.console = arguments, model, console
        self.note: Any = None
        self.keeper: Memory | Checkpoint | None = None

    def settle(self, rows: Rows) -> Memory | Checkpoint:
        """Keeper of the model, behind steps that are fitted to the first batch."""
        from sklearn.pipeline import Pipeline

        from ..files import Checkpoint

        arguments = self.arguments
        model = prepare(self.model, arguments, rows, self.console, arguments.data)
        if isinstance(model, Pipeline):
            model[:-1].fit(rows.X)
        if arguments.checkpoint is None:
            self.keeper = Memory(model)
        else:
            with checkpoint_errors(arguments.checkpoint):
                self.keeper = Checkpoint(arguments.checkpoint, model, every=arguments.save_every)
        return self.keeper

    def close(self) -> None:
        """Close the checkpoint, if it was made."""
        if self.keeper is not None:
            self.keeper.close()


@contextmanager
def open_keeper(arguments: Namespace, console: Console) -> Iterator[Beginning | Checkpoint]:
    """Keeper of the model, closed at the end."""
    keeper = _keeper(arguments, console)
    try:
        yield keeper
    finally:
        with translate_checkpoint_errors(arguments.checkpoint):
            keeper.close()


def _keeper(arguments: Namespace, console: Console) -> Beginning | Checkpoint:
    """Model of the options, or that of the checkpoint."""
    from .models import has_checkpoint

    if has_checkpoint(arguments.checkpoint):
        return _resume(arguments, console)
    if arguments.forget:
        raise UsageError(NO_FORGETTING)
    if arguments.checkpoint is not None:
        with checkpoint_errors(arguments.checkpoint):
            Path(arguments.checkpoint).mkdir(parents=True, exist_ok=True)
    return Beginning(arguments, _make_model(arguments), console)


def _make_model(arguments: Namespace) -> BaseEstimator:
    """Model of the options."""
    from .estimators import build_estimator

    arguments.estimator = arguments.estimator or DEFAULT
    model = build_estimator(arguments)
    if not hasattr(model, "partial_fit"):
        raise UsageError(f"{type(model).__name__} does not learn from streams. {_registry.phrase('streams')} do.")
    if arguments.drift == "shorten" and not hasattr(model, "forget"):
        raise UsageError(
            f"--drift shorten: {type(model).__name__} cannot forget examples. Use --drift reset, or "
            f"{_registry.phrase('forgets_streams', 'or')}."
        )
    return model


def _resume(arguments: Namespace, console: Console) -> Checkpoint:
    """Checkpoint with its model; options of the estimator are compared with it."""
    from ..files import Checkpoint
    from .estimators import class_of, learner_of, settings

    with checkpoint_errors(arguments.checkpoint), ExitStack() as stack:
        keeper = stack.enter_context(closing(Checkpoint(arguments.checkpoint, every=arguments.save_every)))
        learner = learner_of(keeper.model)
        kept = type(learner)
        if arguments.estimator is not None and class_of(arguments.estimator) is not kept:
            raise UsageError(
                f"the checkpoint {arguments.checkpoint} holds a model of the class {kept.__name__}. "
                "Leave --estimator out to go on with it, or give another folder."
            )
        arguments.estimator = kept.__name__
        known = learner.get_params()
        other = [name for name, value in settings(_make_model(arguments)).items() if known[name] != value]
        if other:
            console.warn(f"the model of the checkpoint keeps its own {', '.join(other)}; options are for new models")
        stack.pop_all()
        return keeper


@contextmanager
def checkpoint_errors(folder: str) -> Iterator[None]:
    """Turn errors of opening a checkpoint into those of the command."""
    try:
        with translate_checkpoint_errors(folder):
            yield
    except (ValueError, RuntimeError) as error:
        raise CommandError(f"checkpoint {folder}: {error}") from error


@contextmanager
def translate_checkpoint_errors(folder: str | None) -> Iterator[None]:
    """Turn errors of the disk into those of the command."""
    try:
        with translate_write_errors(f"the checkpoint {folder}"):
            yield
    except OutputError as error:
        if folder is not None and Path(folder).is_file():
            raise OutputError(f"the checkpoint {folder} is a file; give a folder") from error
        raise
