"""Label the examples of a pool in the browser.

An active learner asks for the most useful labels first. Each answer is saved at once; the same command continues later.
"""

from __future__ import annotations

import argparse
import signal
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .server import PageServer
    from .session import Session

HELP = "label the examples of a pool in the browser"
#: Pools from which on a question looks at random rows only, unless a rule is given.
LARGE_POOL = 2000
#: Exit codes, as those of the other commands.
USAGE, DATA, NO_INPUT, NO_OUTPUT = 2, 65, 66, 73


class Refused(ValueError):
    """An error that ends the command with an exit code of its own.

    Parameters
    ----------
    exit_code : int
        Exit code.
    message : str
        What is wrong.
    """

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Tell files that cannot be read from those whose content is not valid."""
    try:
        yield
    except OSError as error:
        raise Refused(NO_INPUT, f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise Refused(DATA, str(error)) from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("pool", type=Path, help="CSV file (also .tsv, .gz), Parquet file, folder of images, or folder of .txt files")
    add("--classes", metavar="A,B,...", help="names of the classes; the page asks for them if they are not given")
    add("--answers", type=Path, metavar="FILE", help="journal of the answers (default: POOL.answers.jsonl)")
    add("--export", type=Path, metavar="FILE", help="file for the labels at the end, .csv or .json")
    add("--model", type=Path, metavar="FILE", help="fitted model to start from; it is read only")
    add("--save-model", type=Path, metavar="FILE", help="file for the model (default: POOL.model.safetensors)")
    rules = "margin, small_pool, near_boundary, largest_positive or random"
    add("--rule", help=f"which examples are asked: {rules} (default: margin, from {LARGE_POOL} examples on small_pool)")
    add("--target", metavar="COLUMN", help="column that holds known labels; empty cells are to be labelled")
    add("--ignore", action="append", default=[], metavar="COLUMN", help="column that is not shown and not learnt")
    add("--C", type=float, default=10.0, help="weight of the loss of the model (default: 10)")
    add("--gamma", type=float, help="width of the RBF kernel (default: from the pool)")
    add("--header", choices=("auto", "yes", "no"), default="auto", help="whether a CSV file has names of columns")
    add("--encoding", default="utf-8", help="encoding of CSV files and texts (default: utf-8)")
    add("--port", type=int, default=0, help="port on this machine (default: any that is free)")
    add("--no-browser", action="store_true", help="print the address, open no browser")


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until it is finished, or until Ctrl-C.

    Parameters
    ----------
    arguments : Namespace
        Arguments of :func:`add_arguments`.

    Returns
    -------
    int
        Exit code, 0, also after Ctrl-C and SIGTERM: what was answered is saved.
    """
    from .server import PageServer

    session = open_session(arguments)
    try:
        with PageServer(session, arguments.port) as server:
            _serve(server, not arguments.no_browser)
        written = session.finish()
    finally:
        session.journal.close()
    learner = session.learner
    print(f"{learner.n_labelled} of {len(session.pool)} examples are labelled.")
    for path in (session.journal.path, *written):
        print(f"  {path}")
    return 0


def open_session(arguments: argparse.Namespace) -> Session:
    """Read the pool, the model and the journal.

    Parameters
    ----------
    arguments : Namespace
        Arguments of :func:`add_arguments`.

    Returns
    -------
    Session
        Session that continues where the journal ends.
    """
    from ..active import ActiveLearner
    from .journal import AnswerJournal
    from .pools import read_pool
    from .session import Session

    _check_folders(arguments)
    with _reading(arguments.pool):
        pool = read_pool(arguments.pool, header=arguments.header, encoding=arguments.encoding)
    pool, known = _without_target(pool, arguments)
    model, X = _new_model(pool, arguments) if arguments.model is None else _given_model(pool, arguments)
    classes = _class_names(arguments.classes) if arguments.model is None else model.classes_.tolist()
    named = {str(label): label for label in classes}
    rule = arguments.rule or ("small_pool" if len(pool) >= LARGE_POOL else "margin")
    answers = arguments.answers or _beside(arguments.pool, ".answers.jsonl")
    with _reading(answers):
        journal = AnswerJournal(answers)
    if journal.dropped:
        print(f"{journal.path}: removed an incomplete last line, which was never acknowledged.", file=sys.stderr)
    try:
        return Session(
            pool,
            ActiveLearner(model, rule, pool=X, random_state=0),
            journal,
            classes=classes,
            fixed=arguments.model is not None,
            known={row: named.get(label, label) for row, label in known.items()},
            model_path=arguments.save_model or _beside(arguments.pool, ".model.safetensors"),
            export_path=arguments.export,
        )
    except BaseException:
        journal.close()
        raise


def _check_folders(arguments: argparse.Namespace) -> None:
    """Refuse files that cannot be written at the end."""
    for option in ("answers", "export", "save_model"):
        path, name = getattr(arguments, option), f"--{option.replace('_', '-')}"
        if path is None:
            continue
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise Refused(NO_OUTPUT, f"{name} must name a file in a folder that exists. Got {path}.")
        for read in filter(None, (arguments.pool, arguments.model)):
            if path.exists() and read.exists() and path.samefile(read):
                raise Refused(USAGE, f"{name} {path} would replace a file that is read. Give another name.")


def _print_plan(plan: dict[str, str]) -> None:
    """Tell how the columns are used."""
    for use in dict.fromkeys(plan.values()):
        print(f"  {use}: {', '.join(name for name, kind in plan.items() if kind == use)}")


def _new_model(pool: Any, arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Model that has not learnt anything, and the features of the pool for it."""
    from ..base import params
    from ..exact.incremental import IncrementalSVC
    from .features import features_of

    features = features_of(pool)
    _print_plan(features.plan)
    gamma = "scale" if arguments.gamma is None else arguments.gamma
    model = IncrementalSVC(C=arguments.C, kernel=features.kernel, gamma=gamma)
    params.check(model, model._rules)
    return model, features.X


def _given_model(pool: Any, arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Model of a file, and the features of the pool for it."""
    from ..files.models import load
    from .features import numbers_of

    if arguments.classes is not None:
        raise ValueError("--classes and --model exclude one another: the model has its classes.")
    with _reading(arguments.model):
        model = load(arguments.model)
    if not hasattr(model, "partial_fit") or not hasattr(model, "classes_"):
        raise ValueError(f"{arguments.model}: {type(model).__name__} is no fitted classifier with partial_fit.")
    return model, numbers_of(pool, model, arguments.model)


def _without_target(pool: Any, arguments: argparse.Namespace) -> tuple[Any, dict[int, str]]:
    """Pool without the columns that are not learnt, and the labels that are known."""
    hidden = [*arguments.ignore, *([] if arguments.target is None else [arguments.target])]
    if not hidden:
        return pool, {}
    if pool.kind != "table":
        raise ValueError(f"--target and --ignore name columns of a table. {arguments.pool} is a folder.")
    known = {} if arguments.target is None else enumerate(map(str.strip, pool.column(arguments.target)))
    return pool.without(hidden), {row: label for row, label in dict(known).items() if label}


def _class_names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _beside(pool: Path, ending: str) -> Path:
    """File beside the pool, with its name and another ending."""
    name = pool.resolve().name
    for suffix in () if pool.is_dir() else (".gz", pool.resolve().suffix, ".csv", ".tsv"):
        name = name.removesuffix(suffix)
    return pool.resolve().parent / f"{name}{ending}"


def _serve(server: PageServer, browser: bool) -> None:
    """Serve until the page is finished, Ctrl-C or SIGTERM."""
    link, session = server.access.link(), server.session
    print(f"{session.pool.name}: {len(session.pool)} examples, {session.learner.n_labelled} labelled.")
    print(f"Open this link; it works once:\n  {link}\nCtrl-C saves and ends.", flush=True)
    if browser:
        webbrowser.open(link)
    if sys.stdin is not None and sys.stdin.isatty():
        Thread(target=_print_links, args=(server,), daemon=True).start()
    before = signal.signal(signal.SIGTERM, lambda *_: server.stop())
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        print()
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_links(server: PageServer) -> None:
    """Print a new link whenever the user presses Enter."""
    for _ in sys.stdin:
        print(f"  {server.access.link()}", flush=True)
