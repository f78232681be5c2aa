"""Template of all calls that learn: callbacks, slices, Ctrl-C, all-or-nothing, publishing.

An estimator prepares a :class:`Training`; :func:`run` carries it out. With callbacks of scikit-learn (SLEP023, since
1.9) the steps are made in slices, one task each: a progress bar moves, a scoring monitor sees the
current model, and a callback may stop the training. Without callbacks there is one slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from .._sklearn import CallbackSupportMixin, callbacks_of, context_of, with_callbacks
from . import params
from .duration import warn_of_long_fit
from .state import changes, lock_of, publish, snapshot, turn_of
from .warn import warn

__all__ = ["CallbackSupportMixin", "Training", "run", "with_callbacks"]

#: Slices of a fit that has callbacks.
N_SLICES = 50


class Training:
    """One call that learns. Subclasses override what they need.

    Attributes
    ----------
    X, y : array-like
        Training data as callbacks see them; y may be None.
    n_steps : int
        Upper bound or estimate of the number of steps, for the length of progress bars. The last slice makes all
        remaining steps.
    """

    X: Any = None
    y: Any = None
    n_steps: int = 1

    def advance(self, steps: int | None) -> bool:
        """Make at most `steps` steps (None: all). Returns whether steps are left."""
        raise NotImplementedError

    def attributes(self, unfinished: str) -> dict[str, Any]:
        """Fitted attributes of the current model; `unfinished` is the stop reason of machines that have steps left."""
        raise NotImplementedError

    def has_learned(self) -> bool:
        """Whether anything was learnt: Ctrl-C before that leaves the estimator as it was."""
        return True

    def snapshot(self) -> dict[str, Any]:
        """Fitted attributes for callbacks, which may keep them beyond the next step."""
        return self.attributes("stopped")

    def end(self, unfinished: str) -> None:
        """Called once after the last step and before the attributes are published.

        `unfinished` is '' if all steps were made, 'stopped' after a callback asked to stop, 'interrupted' after Ctrl-C.
        """

    def complaints(self) -> Iterable[str]:
        """Texts of the ConvergenceWarnings about the published model."""
        return ()


T = TypeVar("T", bound=Training)


def run(estimator: Any, prepare: Callable[..., T], *data: Any, callbacks: bool = True, whole: bool = False) -> T:
    """Carry out one call that learns, while other threads that want to change the estimator wait.

    A kernel function cannot change the estimator that it is called for.

    Parameters are checked first. The work is done on a draft of the estimator, so an error anywhere leaves the fitted
    attributes as they were. Ctrl-C during the steps publishes the current model and raises KeyboardInterrupt; before
    anything was learnt it changes nothing.

    Parameters
    ----------
    estimator : estimator
        Estimator whose attributes are published and whose callbacks are invoked. It has a table ``_rules``.
    prepare : callable
        Function of the draft and `data` that validates and encodes `data` and returns the training, such as a method of
        the class of the estimator.
    *data : object
        Arguments of `prepare`.
    callbacks : bool
        Whether to invoke callbacks; False for calls other than ``fit``.
    whole : bool
        Whether Ctrl-C during the steps changes nothing, because the current model is not one that was asked for.

    Returns
    -------
    Training
        The training, after its end.
    """
    with lock_of(estimator), turn_of(estimator):
        params.check(estimator, estimator._rules)
        draft = snapshot(estimator)
        before = vars(draft).copy()
        training, interrupt = prepare(draft, *data), None
        if callbacks:
            warn_of_long_fit(draft, training.X)
        try:
            watched = callbacks and callbacks_of(estimator)
            more = (
                _in_slices(estimator, training, lambda: changes(draft, before)) if watched else training.advance(None)
            )
        except KeyboardInterrupt as error:
            if whole or not training.has_learned():
                raise
            more, interrupt = True, error
        unfinished = "interrupted" if interrupt else "stopped" if more else ""
        training.end(unfinished)
        vars(draft).update(training.attributes(unfinished))
        complaints = [] if interrupt else list(training.complaints())  # reading attributes may run out of memory
        publish(estimator, draft, before)
    if interrupt is not None:
        try:
            raise interrupt
        finally:
            interrupt = None  # the traceback refers to this frame: no reference cycle
    for text in complaints:
        warn(text, ConvergenceWarning)
    return training


def _in_slices(estimator: Any, training: Training, prepared: Callable[[], dict[str, Any]]) -> bool:
    """Make the steps of a training in slices, each a task of the estimator's callbacks. True if steps are left.

    `prepared` returns the attributes that were set when the training was prepared.
    """
    slices = min(N_SLICES, max(training.n_steps, 1))
    steps = -(-training.n_steps // slices)
    context = context_of(estimator, slices)
    data = {"estimator": estimator, "X": training.X, "y": training.y}

    def current() -> dict[str, Any]:
        return {**prepared(), **training.snapshot()}

    context.call_on_fit_task_begin(**data)
    more = True
    for k in range(slices):
        task = context.subcontext(task_name="steps")
        task.call_on_fit_task_begin(**data)
        more = training.advance(steps if k + 1 < slices else None)
        stop = task.call_on_fit_task_end(**data, reconstruction_attributes=current)
        if stop or not more:
            break
    context.call_on_fit_task_end(**data, reconstruction_attributes=current)
    return more
