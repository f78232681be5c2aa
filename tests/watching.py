"""A callback that keeps what it is told. Tests that set callbacks are skipped where scikit-learn has none."""

import pytest

from hingeline._sklearn import HAVE_CALLBACKS

from .conftest import NO_CALLBACKS

needs_callbacks = pytest.mark.skipif(not HAVE_CALLBACKS, reason=NO_CALLBACKS)


class Recorder:
    """Counts the ends of tasks and asks to stop at the given one."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.events = []
        self.models = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        self.models.append(fitted_estimator)
        return len(self.models) == self.stop_at
