"""Entry point of the command ``hingeline``."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
import traceback
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

from . import stdout
from .errors import (
    BROKEN_PIPE,
    FAILURE,
    INTERRUPTED,
    OK,
    TERMINATED,
    USAGE,
    CommandError,
    OutputError,
    UsageError,
)
from .options import normalise, suggest

#: Modules of the commands. Each has HELP, USAGE (files), EXAMPLES, add_arguments(parser) and run(arguments).
COMMANDS = {
    "train": "hingeline.cli.train",
    "predict": "hingeline.cli.predict",
    "stream": "hingeline.cli.stream",
    "tune": "hingeline.cli.tune",
    "compare": "hingeline.cli.compare",
    "convert": "hingeline.cli.convert",
    "label": "hingeline.cli.label",
    "forget": "hingeline.cli.forget",
    "verify": "hingeline.cli.verify",
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
    try:
        with stdout.buffer():
            arguments = _parse(argv)
            return OK if arguments is None else _guard(arguments)
    except SystemExit as end:
        return int(end.code or OK)
    except OutputError as error:  # of the help or the version
        print(f"hingeline: {error}", file=sys.stderr)
        return error.code
    except BrokenPipeError:
        return BROKEN_PIPE


class Parser(ArgumentParser):
    """Parser whose errors are those of the command line."""

    def error(self, message: str) -> NoReturn:
        """Print a line about the usage and raise UsageError; names of options are corrected."""
        self.print_usage(sys.stderr)
        print(f"{self.prog} --help lists the options.", file=sys.stderr)
        unknown = re.match(r"unrecognized arguments: (-[^\s=]+)", message)
        hint = suggest(unknown[1], self.options()) if unknown else ""
        raise UsageError(f"{message}.{hint}" if hint else message)

    def options(self) -> list[str]:
        """Names of all options, as the help lists them."""
        return sorted(set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", self.format_help())))


def _parse(argv: list[str]) -> Namespace | None:
    """Arguments of a command; None if there is nothing more to do. SystemExit after help and after errors."""
    name = argv[0] if argv and argv[0] in COMMANDS else None
    try:
        if name is not None:
            parser, words = _command_parser(name), normalise(argv[1:])
            return parser.parse_args(words) if "--" in words else parser.parse_intermixed_args(words)
        parser = _parser()
        if argv and not argv[0].startswith("-"):
            hint = suggest(argv[0], COMMANDS)
            parser.error(f"unknown command {argv[0]!r}.{hint or ' Commands are ' + ', '.join(COMMANDS) + '.'}")
        arguments = parser.parse_args(argv)
    except UsageError as error:
        given = Namespace(command=name, json="--json" in argv, debug="--debug" in argv)
        sys.exit(_tell(given, str(error), error.code, error.details()))
    if not arguments.version:
        parser.print_help(sys.stderr)
        sys.exit(USAGE)
    from importlib.metadata import version

    stdout.write_line(f"hingeline {version('hingeline')}")
    return None


def _parser() -> Parser:
    """Parser that lists the commands."""
    parser = Parser(
        prog="hingeline",
        description="Support vector machines: train, predict, learn from streams, search parameters, compare methods.",
        epilog="hingeline COMMAND --help lists the options of a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in COMMANDS:
        parsers.add_parser(name, help=import_module(COMMANDS[name]).HELP)
    return parser


def _command_parser(name: str) -> Parser:
    """Parser of a command."""
    module = import_module(COMMANDS[name])
    parser = Parser(
        prog=f"hingeline {name}",
        usage=f"hingeline {name} {module.USAGE} [OPTION ...]",
        description=_plain(module.__doc__ or ""),
        epilog="\n  ".join(["examples:", *module.EXAMPLES]),
        add_help=False,
        allow_abbrev=False,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--help", action="help", help="print this help")
    parser.set_defaults(command=name, run=module.run, json=False, debug=False)
    module.add_arguments(parser)
    return parser


def _plain(doc: str) -> str:
    """Docstring of a command as text for its help."""
    text = re.sub(r"^``hingeline \w+``: ", "", doc).replace("``", "").strip()
    return text[:1].upper() + text[1:]


def _guard(arguments: Namespace) -> int:
    """Run a command; errors become messages and exit codes."""
    try:
        with _handle_sigterm():
            code = arguments.run(arguments)
            stdout.flush()
            return int(code)
    except CommandError as error:
        return _tell(arguments, str(error), error.code, error.details())
    except BrokenPipeError:  # the reader of our output has ended
        stdout.discard()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return _tell(arguments, "interrupted", INTERRUPTED)
    except Terminated:
        return _tell(arguments, "terminated", TERMINATED)
    except Exception as error:
        plain = isinstance(error, ValueError | OSError | ImportError | RuntimeError) and str(error)
        words = str(error) if plain else f"{type(error).__name__}: {error}"
        return _tell(arguments, words, FAILURE)


def _tell(arguments: Namespace, message: str, code: int, details: dict[str, Any] | None = None) -> int:
    """Print an error and return the exit code."""
    if arguments.debug:
        traceback.print_exc()
    print(f"{' '.join(filter(None, ('hingeline', arguments.command)))}: {message}", file=sys.stderr, flush=True)
    if arguments.json:
        error = {**(details or {"kind": "failure", "message": message}), "code": code}
        with suppress(OutputError, BrokenPipeError):
            stdout.write_line(json.dumps({"command": arguments.command, "error": error}))
    return code


@contextmanager
def _handle_sigterm() -> Iterator[None]:
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
