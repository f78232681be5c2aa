"""Entry point of the command ``hingeline``."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .errors import BROKEN_PIPE, FAILURE, INTERRUPTED, OK, TERMINATED, USAGE, CommandError
from .options import normalised

#: Modules of the commands. Each has HELP, add_arguments(parser) and run(arguments).
COMMANDS = {
    "train": "hingeline.cli.train",
    "predict": "hingeline.cli.predict",
    "stream": "hingeline.cli.stream",
    "tune": "hingeline.cli.tune",
    "compare": "hingeline.cli.compare",
    "convert": "hingeline.cli.convert",
    "label": "hingeline.labelling.command",
    "report": "hingeline.cli.report",
    "datasets": "hingeline.cli.datasets",
}
#: Seconds after which the exception for SIGTERM is raised again.
AGAIN = 0.5


class Terminated(BaseException):
    """SIGTERM: temporary files are removed on the way out."""


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None: those of the process.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv[1:] == ["-h"]:
        argv[1:] = ["--help"]
    parser = _parser(argv)
    try:
        arguments = parser.parse_args(normalised(argv))
    except SystemExit as end:
        return int(end.code or OK)
    if arguments.version:
        from importlib.metadata import version

        print(f"hingeline {version('hingeline')}")
        return OK
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    return _guarded(arguments)


def _parser(argv: list[str]) -> ArgumentParser:
    """Make the parser. If a command is named, only its arguments are defined."""
    parser = ArgumentParser(
        prog="hingeline",
        description="Support vector machines: train, predict, learn from streams, search parameters, compare methods.",
        epilog="hingeline COMMAND --help lists the options of a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in argv[:1] if argv[:1] and argv[0] in COMMANDS else COMMANDS:
        module = import_module(COMMANDS[name])
        one = parsers.add_parser(
            name,
            help=module.HELP,
            description=module.__doc__,
            add_help=False,
            allow_abbrev=False,
            formatter_class=RawDescriptionHelpFormatter,
        )
        one.add_argument("--help", action="help", help="print this help")
        one.set_defaults(run=module.run, json=False, debug=False)
        module.add_arguments(one)
    return parser


def _guarded(arguments: Namespace) -> int:
    """Run a command; errors become messages and exit codes."""
    try:
        with _handling_sigterm():
            code = arguments.run(arguments)
            sys.stdout.flush()
            return int(code)
    except CommandError as error:
        return _told(arguments, str(error), error.code, error.details())
    except BrokenPipeError:  # the reader of our output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # no further error when Python ends
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return _told(arguments, "interrupted", INTERRUPTED)
    except Terminated:
        return _told(arguments, "terminated", TERMINATED)
    except Exception as error:
        plain = isinstance(error, ValueError | OSError | ImportError | RuntimeError) and str(error)
        words = str(error) if plain else f"{type(error).__name__}: {error}"
        return _told(arguments, words, FAILURE)


def _told(arguments: Namespace, message: str, code: int, details: dict[str, Any] | None = None) -> int:
    """Print an error and return the exit code."""
    if arguments.debug:
        traceback.print_exc()
    print(f"hingeline {arguments.command}: {message}", file=sys.stderr, flush=True)
    if arguments.json:
        error = details or {"kind": "failure", "message": message}
        print(json.dumps({"command": arguments.command, "error": {**error, "code": code}}), flush=True)
    return code


@contextmanager
def _handling_sigterm() -> Iterator[None]:
    """Turn SIGTERM into an exception.

    Python ignores exceptions in some places, such as callbacks of weak references. Therefore it is raised again until
    it is noticed.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise Terminated

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
