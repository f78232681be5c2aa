"""Ctrl-C at every moment at which CPython may raise it in our code, one after the other.

CPython looks for signals after a call, at the start of a function and at a backward jump, not between other
instructions. `everywhere` raises KeyboardInterrupt at these places of frames of `hingeline`, once at each.
"""

import dis
import sys
from functools import cache

#: Instructions after which CPython looks for signals.
CHECKED = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "RESUME", "JUMP_BACKWARD")


@cache
def _opcodes(code):
    return {i.offset: i.opname for i in dis.get_instructions(code)}


class Interrupting:
    """Raise KeyboardInterrupt at place number `at` of the calls made inside."""

    def __init__(self, at):
        self.left = at
        self.raised_in = None
        self.last = {}

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *error):
        sys.settrace(self.before)
        self.last.clear()

    def trace(self, frame, event, arg):
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("hingeline") or name == "hingeline.testing":
            return None
        if event == "call":
            frame.f_trace_opcodes = True
            return self.trace
        if event == "return":
            self.last.pop(frame, None)
        if event == "opcode":
            last = self.last.get(frame)
            self.last[frame] = _opcodes(frame.f_code).get(frame.f_lasti, "")
            if last is not None and last.startswith(CHECKED) and self.raised_in is None:
                if self.left == 0:
                    self.raised_in = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
                    raise KeyboardInterrupt
                self.left -= 1
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
