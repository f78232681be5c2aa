"""Label the examples of a pool in the browser.

An active learner asks for the most useful labels first. Each answer is saved at once; the same command continues later.
"""

from __future__ import annotations

import signal
import sys
import webbrowser
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from . import stdout
from .console import Console
from .errors import CommandError, DataError, InputError, UsageError, translate_write_errors
from .options import add_common

if TYPE_CHECKING:
    from ..base.types import Gamma
    from ..labelling.pools import Pool
    from ..labelling.server import PageServer
    from ..labelling.session import Session

HELP = "label the examples of a pool in the browser"
USAGE = "POOL"
EXAMPLES = (
    "hingeline label texts.csv --classes spam,ham",
    "hingeline label photos/ --export labels.csv",
)
#: Pools from which on a question looks at random rows only, unless a rule is given.
LARGE_POOL = 2000


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    add = parser.add_argument
    add(
        "pool",
        metavar="POOL",
        type=Path,
        help="CSV file (also .tsv, .gz), Parquet file, folder of images, or folder of .txt files",
    )
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
    add("--port", type=_port, default=0, help="port on this machine (default: any that is free)")
    add("--no-browser", action="store_true", help="print the address, open no browser")
    add_common(parser)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise ArgumentTypeError(f"expected an integer from 0 to 65535. Got {text!r}")
    return int(text)


def run(arguments: Namespace) -> int:
    """Serve the page until it is finished, or until Ctrl-C. What was answered is saved, so the exit code is 0."""
    console = Console(arguments)
    with console.collect_warnings():
        session = open_session(arguments, console)
        try:
            with _server(session, arguments.port) as server:
                _serve(server, console, browser=not arguments.no_browser)
            with translate_write_errors(
                " or ".join(str(path) for path in (session.model_path, session.export_path) if path)
            ):
                written = session.finish()
        finally:
            session.journal.close()
    _tell(console, session, written)
    console.end()
    return 0


def _tell(console: Console, session: Session, written: list[Path]) -> None:
    """Print what was done."""
    learner, export = session.learner, session.export_path
    console.say(f"{learner.n_labelled} of {len(session.pool)} examples are labelled.")
    for path in (session.journal.path, *written):
        console.say(f"  {path}")
    counts = learner.counts
    console.put(
        examples=len(session.pool),
        labelled=learner.n_labelled,
        answers=str(session.journal.path),
        model=str(session.model_path) if session.model_path in written else None,
        export=None if export is None else str(export),
        classes={str(label): counts.get(label, 0) for label in session.classes},
    )


def open_session(arguments: Namespace, console: Console) -> Session:
    """Read the pool, the model and the journal.

    Parameters
    ----------
    arguments : Namespace
        Arguments of :func:`add_arguments`.
    console : Console
        Where to tell how columns are used.

    Returns
    -------
    Session
        Session that continues where the journal ends.
    """
    from ..labelling.answers import AnswerJournal
    from ..labelling.pools import read_pool

    with _translate_read_errors(arguments.pool):
        arguments.pool.stat()
    answers, model_path = _outputs(arguments)
    with _translate_read_errors(arguments.pool):
        pool = read_pool(arguments.pool, header=arguments.header, encoding=_encoding(arguments.encoding))
    pool, known = _drop_target(pool, arguments)
    model, X = _make_model(pool, arguments, console) if arguments.model is None else _load_model(pool, arguments)
    rule = arguments.rule or ("small_pool" if len(pool) >= LARGE_POOL else "margin")
    learner = _learner(model, rule, X)
    console.put(pool=str(arguments.pool), rule=rule)
    with _translate_read_errors(answers), translate_write_errors(str(answers)):
        journal = AnswerJournal(answers)
    if journal.dropped:
        console.warn(f"{journal.path}: removed an incomplete last line, which was never acknowledged.")
    try:
        return _session(arguments, pool, learner, journal, known, model_path)
    except BaseException:
        journal.close()
        raise


def _session(
    arguments: Namespace, pool: Pool, learner: Any, journal: Any, known: dict[int, str], model_path: Path
) -> Session:
    from ..labelling.errors import ContentError
    from ..labelling.session import Session

    fixed = arguments.model is not None
    classes = learner.estimator.classes_.tolist() if fixed else _class_names(arguments.classes)
    named = {str(label): label for label in classes}
    try:
        with translate_write_errors(str(journal.path)):
            return Session(
                pool,
                learner,
                journal,
                classes=classes,
                fixed=fixed,
                known={row: named.get(label, label) for row, label in known.items()},
                model_path=model_path,
                export_path=arguments.export,
            )
    except ContentError as error:
        raise DataError(str(journal.path), error.reason, error.line) from error
    except ValueError as error:  # classes that are not possible, or not with this rule
        raise (DataError(str(arguments.pool), str(error)) if known else UsageError(str(error))) from error


# ---- errors ------------------------------------------------------------------------------------------------


@contextmanager
def _translate_read_errors(path: Path) -> Iterator[None]:
    """Tell files that cannot be read from those whose content is not valid."""
    from ..labelling.errors import ContentError

    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ContentError as error:
        raise DataError(str(path), error.reason, error.line) from error
    except ValueError as error:
        raise DataError(str(path), str(error).removeprefix(f"{path}: ")) from error


def _server(session: Session, port: int) -> PageServer:
    from ..labelling.server import PageServer

    try:
        return PageServer(session, port)
    except OSError as error:
        raise CommandError(f"port {port} cannot be used: {error.strerror}. Leave out --port.") from error


# ---- arguments ---------------------------------------------------------------------------------------------


def _outputs(arguments: Namespace) -> tuple[Path, Path]:
    """Files of the answers and of the model. Files that cannot be written at the end are refused."""
    from .models import require_outputs

    answers = arguments.answers or _name_beside(arguments.pool, ".answers.jsonl")
    model_path = arguments.save_model or _name_beside(arguments.pool, ".model.safetensors")
    outputs = [str(path) for path in (answers, model_path, arguments.export) if path is not None]
    require_outputs([str(path) for path in (arguments.pool, arguments.model) if path is not None], outputs)
    return answers, model_path


def _encoding(name: str) -> str:
    try:
        "a".encode(name)
    except LookupError as error:
        raise UsageError(f"--encoding must be an encoding of texts that Python knows. Got {name!r}.") from error
    return name


def _make_model(pool: Pool, arguments: Namespace, console: Console) -> tuple[Any, Any]:
    """Model that has not learnt anything, and the features of the pool for it."""
    from ..exact.incremental import IncrementalSVC
    from ..labelling.features import features_of
    from .estimators import check

    gamma: Gamma = "scale" if arguments.gamma is None else arguments.gamma
    model = check(IncrementalSVC(C=arguments.C, gamma=gamma))
    with _translate_read_errors(arguments.pool):
        features = features_of(pool)
    for use in dict.fromkeys(features.plan.values()):
        console.say(f"  {use}: {', '.join(name for name, kind in features.plan.items() if kind == use)}")
    return model.set_params(kernel=features.kernel), features.X


def _load_model(pool: Pool, arguments: Namespace) -> tuple[Any, Any]:
    """Model of a file, and the features of the pool for it."""
    from ..labelling.features import numbers_of
    from .models import open_model

    if arguments.classes is not None:
        raise UsageError("--classes and --model exclude one another: the model has its classes.")
    model = open_model(str(arguments.model))
    if not hasattr(model, "partial_fit") or not hasattr(model, "classes_"):
        raise UsageError(f"{arguments.model}: {type(model).__name__} is no fitted classifier with partial_fit.")
    with _translate_read_errors(arguments.model):
        return model, numbers_of(pool, model, arguments.model)


def _learner(model: Any, rule: str, X: Any) -> Any:
    from ..active import ActiveLearner

    try:
        return ActiveLearner(model, rule, pool=X, random_state=0)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _drop_target(pool: Any, arguments: Namespace) -> tuple[Any, dict[int, str]]:
    """Pool without the columns that are not learnt, and the labels that are known."""
    hidden = [*arguments.ignore, *([] if arguments.target is None else [arguments.target])]
    if not hidden:
        return pool, {}
    if pool.kind != "table":
        raise UsageError(f"--target and --ignore name columns of a table. {arguments.pool} is a folder.")
    try:
        known = {} if arguments.target is None else enumerate(map(str.strip, pool.column(arguments.target)))
        return pool.drop_column(hidden), {row: label for row, label in dict(known).items() if label}
    except ValueError as error:
        raise UsageError(str(error)) from error


def _class_names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _name_beside(pool: Path, ending: str) -> Path:
    """File beside the pool, with its name and another ending."""
    name = pool.resolve().name
    for suffix in () if pool.is_dir() else (".gz", pool.resolve().suffix, ".csv", ".tsv"):
        name = name.removesuffix(suffix)
    return pool.resolve().parent / f"{name}{ending}"


# ---- the page ----------------------------------------------------------------------------------------------


def _serve(server: PageServer, console: Console, *, browser: bool) -> None:
    """Serve until the page is finished, Ctrl-C or SIGTERM."""
    link, session = server.access.link(), server.session
    console.say(f"{session.pool.name}: {len(session.pool)} examples, {session.learner.n_labelled} labelled.")
    tell = _to_stderr if console.json else stdout.write_line
    before = signal.signal(signal.SIGTERM, lambda *_: server.stop())
    try:
        tell(f"Open this link; it works once:\n  {link}\nCtrl-C saves and ends.")
        if browser:  # a text browser does not return before the page is closed
            Thread(target=webbrowser.open, args=(link,), daemon=True).start()
        if sys.stdin is not None and sys.stdin.isatty():
            Thread(target=_print_links, args=(server, tell), daemon=True).start()
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        tell("")
    finally:
        signal.signal(signal.SIGTERM, before)


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print_links(server: PageServer, tell: Callable[[str], None]) -> None:
    """Print a new link whenever the user presses Enter."""
    for _ in sys.stdin:
        tell(f"  {server.access.link()}")
