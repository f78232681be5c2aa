"""scikit-learn's callbacks (SLEP023, experimental in 1.9), behind a guard.

A learner runs in slices. `run_in_slices` opens one task per slice, so that a progress bar moves, a scoring
monitor sees the model as it is, and any callback may ask to stop. Without callbacks there is one slice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAVE_CALLBACKS = True
except ImportError:  # the interface may change without a deprecation cycle
    HAVE_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin where it does not exist."""

    def with_callbacks(method: Any) -> Any:
        """Stand in for scikit-learn's decorator."""
        return method


__all__ = ["CallbackSupportMixin", "run_in_slices", "with_callbacks"]

#: Slices that a fit is cut into when somebody watches.
N_SLICES = 50


def run_in_slices(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    advance: Callable[[int | None], bool],
    most_steps: int,
    attributes: Callable[[], dict[str, Any]],
) -> None:
    """Run ``advance(steps)`` until it returns False or a callback asks to stop.

    Parameters
    ----------
    estimator : estimator
        Its callbacks are told.
    X, y : array-like
        Training data as the callbacks see them.
    advance : callable
        Does at most the given number of steps (None: all) and says whether any are left.
    most_steps : int
        Upper bound of the steps, or a guess, for the length of the progress bar; the last slice does what is left.
    attributes : callable
        Fitted attributes of the model as it is now.
    """
    if not HAVE_CALLBACKS:
        advance(None)
        return
    watched = bool(getattr(estimator, "_skl_callbacks", None))
    slices = min(N_SLICES, max(most_steps, 1)) if watched else 0
    context = estimator._init_callback_context(max_subtasks=slices)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    if watched:
        steps = -(-most_steps // slices)
        more = True
        for last in range(1 - slices, 1):
            task = context.subcontext(task_name="steps")
            task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
            more = advance(steps if last < 0 else None)
            stop = task.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=attributes)
            if stop or not more:
                break
    else:
        advance(None)
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=attributes)
