"""Ctrl-C at every moment at which CPython may raise it in our code, one after the other.

CPython looks for signals after a call, at the start of a function and at a backward jump, not between other
instructions. `everywhere` raises KeyboardInterrupt at these places of frames of `hingeline`, once at each.

Places are found by `sys.monitoring`, and in Python 3.11 by `sys.settrace`, which in later versions reports no
instructions in the first traced call of a function.
"""

import dis
import sys
from functools import cache

#: Instructions after which CPython looks for signals.
CHECKED = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "RESUME", "JUMP_BACKWARD")
#: A tool of sys.monitoring that CPython reserves for no purpose.
TOOL = 4


@cache
def _opcodes(code):
    return {i.offset: i.opname for i in dis.get_instructions(code)}


def _ours(frame):
    name = frame.f_globals.get("__name__", "")
    return name.startswith("hingeline") and name != "hingeline.testing"


class Interrupting:
    """Raise KeyboardInterrupt at place number `at` of the calls made inside."""

    def __init__(self, at):
        self.left = at
        self.raised_in = None
        self.last = {}

    def before(self, frame, offset):
        """Raise KeyboardInterrupt before this instruction if the last one of the frame made it place number `at`."""
        last = self.last.get(frame)
        self.last[frame] = _opcodes(frame.f_code).get(offset, "")
        if last is not None and last.startswith(CHECKED) and self.raised_in is None:
            if self.left == 0:
                self.raised_in = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
                raise KeyboardInterrupt
            self.left -= 1

    if sys.version_info >= (3, 12):

        def __enter__(self):
            monitoring, events = sys.monitoring, sys.monitoring.events
            monitoring.use_tool_id(TOOL, "interrupts")
            for event, callback in {
                events.PY_START: self.start,
                events.INSTRUCTION: lambda code, offset: self.before(sys._getframe(1), offset),
                events.PY_RETURN: self.leave,
                events.PY_YIELD: self.leave,
                events.PY_UNWIND: self.leave,
            }.items():
                monitoring.register_callback(TOOL, event, callback)
            monitoring.set_events(TOOL, events.PY_START | events.PY_UNWIND)
            return self

        def __exit__(self, *error):
            events = sys.monitoring.events
            sys.monitoring.set_events(TOOL, 0)
            for event in (events.PY_START, events.INSTRUCTION, events.PY_RETURN, events.PY_YIELD, events.PY_UNWIND):
                sys.monitoring.register_callback(TOOL, event, None)
            sys.monitoring.free_tool_id(TOOL)
            self.last.clear()

        def start(self, code, offset):
            if not _ours(sys._getframe(1)):
                return sys.monitoring.DISABLE
            events = sys.monitoring.events
            sys.monitoring.set_local_events(TOOL, code, events.INSTRUCTION | events.PY_RETURN | events.PY_YIELD)
            return None

        def leave(self, code, offset, value):
            self.last.pop(sys._getframe(1), None)

    else:

        def __enter__(self):
            self.traced = sys.gettrace()
            sys.settrace(self.trace)
            return self

        def __exit__(self, *error):
            sys.settrace(self.traced)
            self.last.clear()

        def trace(self, frame, event, arg):
            if not _ours(frame):
                return None
            if event == "call":
                frame.f_trace_opcodes = True
            elif event == "return":
                self.last.pop(frame, None)
            elif event == "opcode":
                self.before(frame, frame.f_lasti)
            return self.trace


def everywhere(prepare, call, check, *, step=1):
    """Interrupt ``call(model)`` of a new ``model = prepare()`` at every place (every `step`-th), and check(model).

    A call may hide the interrupt only if it has ended its work: `check` gets whether it was raised.
    """
    at = count = 0
    while True:
        model = prepare()
        raised = False
        with Interrupting(at) as interrupting:
            try:
                call(model)
            except KeyboardInterrupt:
                raised = True
        if interrupting.raised_in is None:
            assert count > 10, "too few places"
            return count
        try:
            check(model)
        except Exception as error:
            error.add_note(f"Ctrl-C at place {at}: {interrupting.raised_in}; raised: {raised}")
            raise
        at, count = at + step, count + 1
