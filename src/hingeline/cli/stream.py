"""``hingeline stream``: learn from a stream line by line; each batch is predicted before it is learnt."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _registry
from .console import Console, one_line
from .errors import INTERRUPTED, TERMINATED, CommandError, DataError, OutputError, UsageError, translate_write_errors
from .options import add_common, add_data, add_estimator, form_of, positive, split_words

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from ..base.types import Ids
    from ..files import Checkpoint
    from .data.examples import Features, Rows

HELP = "learn from a stream: predict, learn, save, resume"
#: Estimator of a new model.
DEFAULT = "LASVC"
NO_FORGETTING = f"--forget needs a checkpoint of {_registry.phrase('forgets_streams', 'or')}."


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument("data", nargs="?", help="data file, read in order; may be left out with --forget")
    parser.add_argument("model", nargs="?", help="model file to write at the end")
    add_estimator(parser, DEFAULT, streams=True)
    group = parser.add_argument_group("stream")
    group.add_argument(
        "--batch", type=positive, default=100, metavar="N", help="examples learnt at a time, default 100"
    )
    group.add_argument(
        "--classes", type=split_words, metavar="A,B,...", help="labels; default: those of the first batch"
    )
    group.add_argument("--n-features", type=positive, metavar="N", help="number of features; needed for LIBSVM files")
    group.add_argument("--predictions", metavar="FILE", help="file for the predicted labels; - is standard output")
    group.add_argument("--checkpoint", metavar="FOLDER", help="keep the model here, safe from crashes; go on from it")
    group.add_argument("--every", type=positive, default=1000, metavar="N", help="examples between whole models there")
    group.add_argument(
        "--no-skip", action="store_true", help="the data begin behind what the model has learnt: skip nothing"
    )
    group.add_argument("--id", metavar="COLUMN", help="column of a table with ids, to forget examples by")
    group.add_argument("--forget", type=split_words, default=[], metavar="ID,...", help="forget these examples first")
    add_data(parser)
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from .models import require_file, require_other, write

    if arguments.data is None and not arguments.forget:
        raise UsageError("give a data file, or - for standard input.")
    console = Console(arguments, arguments.predictions, "--predictions")
    require_other([arguments.data], [arguments.model, arguments.predictions])
    if arguments.model is not None:
        require_file(arguments.model)
    with console.collect_warnings(), Signals() as signals, _open_keeper(arguments, console) as keeper:
        learner = Learner(arguments, console, keeper)
        learner.forget(arguments.forget)
        try:
            if arguments.data is not None:
                learner.learn(signals)
                learner.require_examples(signals)
        finally:  # also after an error in the data: what was learnt is kept
            if arguments.model is not None and _examples(keeper.model):
                write(keeper.model, arguments.model, "hingeline")
    learner.tell(signals)
    console.end()
    return signals.code


class Memory:
    """A model without a checkpoint."""

    def __init__(self, model: BaseEstimator) -> None:
        self.model = model
        self.note: Any = None

    def learn(self, X: Features, y: np.ndarray | None = None, *, note: object = None, **keywords: object) -> None:
        self.model.partial_fit(*((X,) if y is None else (X, y)), **keywords)
        self.note = note

    def forget(self, ids: Ids) -> None:
        self.model.forget(ids)

    def close(self) -> None:
        """Nothing is open."""


@contextmanager
def _open_keeper(arguments: Namespace, console: Console) -> Iterator[Any]:
    """Keeper of the model, closed at the end."""
    keeper = _keeper(arguments, console)
    try:
        yield keeper
    finally:
        with _translate_write_errors(arguments.checkpoint):
            keeper.close()


def _keeper(arguments: Namespace, console: Console) -> Any:
    """Model of the options, or that of the checkpoint."""
    from ..files import Checkpoint
    from .models import has_checkpoint

    if has_checkpoint(arguments.checkpoint):
        return _resume(arguments, console)
    if arguments.forget:
        raise UsageError(NO_FORGETTING)
    model = _make_model(arguments)
    if arguments.checkpoint is None:
        return Memory(model)
    with _checkpoint_errors(arguments.checkpoint):
        return Checkpoint(arguments.checkpoint, model, every=arguments.every)


def _make_model(arguments: Namespace) -> Any:
    """Model of the options."""
    from .estimators import build_estimator

    arguments.estimator = arguments.estimator or DEFAULT
    model = build_estimator(arguments)
    if not hasattr(model, "partial_fit"):
        raise UsageError(f"{type(model).__name__} does not learn from streams. {_registry.phrase('streams')} do.")
    return model


def _resume(arguments: Namespace, console: Console) -> Any:
    """Checkpoint with its model; options of the estimator are compared with it."""
    from ..files import Checkpoint
    from .estimators import class_of, settings

    with _checkpoint_errors(arguments.checkpoint), ExitStack() as stack:
        keeper = stack.enter_context(closing(Checkpoint(arguments.checkpoint, every=arguments.every)))
        kept = type(keeper.model)
        if arguments.estimator is not None and class_of(arguments.estimator) is not kept:
            raise UsageError(
                f"the checkpoint {arguments.checkpoint} holds a model of the class {kept.__name__}. "
                "Leave --estimator out to go on with it, or give another folder."
            )
        arguments.estimator = kept.__name__
        known = keeper.model.get_params()
        other = [name for name, value in settings(_make_model(arguments)).items() if known[name] != value]
        if other:
            console.warn(f"the model of the checkpoint keeps its own {', '.join(other)}; options are for new models")
        stack.pop_all()
        return keeper


@contextmanager
def _checkpoint_errors(folder: str) -> Iterator[None]:
    """Turn errors of opening a checkpoint into those of the command."""
    try:
        with _translate_write_errors(folder):
            yield
    except (ValueError, RuntimeError) as error:
        raise CommandError(f"checkpoint {folder}: {error}") from error


@contextmanager
def _translate_write_errors(folder: str | None) -> Iterator[None]:
    """Turn errors of the disk into those of the command."""
    try:
        with translate_write_errors(f"the checkpoint {folder}"):
            yield
    except OutputError as error:
        if folder is not None and Path(folder).is_file():
            raise OutputError(f"the checkpoint {folder} is a file; give a folder") from error
        raise


class Signals:
    """Ctrl-C and SIGTERM end the stream between two batches; a second one ends it at once.

    A signal that comes just before a read blocks, or in another thread, does not interrupt the read. Therefore a timer
    interrupts it from time to time, and Python runs the handlers of the signals that have come.
    """

    #: Seconds between two interruptions of a read.
    pulse = 0.5

    class Stop(Exception):
        """Raised while the command waits for data."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.waiting = False

    @property
    def code(self) -> int:
        """Exit code."""
        return 0 if self.number is None else INTERRUPTED if self.number == signal.SIGINT else TERMINATED

    def __enter__(self) -> Signals:
        self.before = {}
        if threading.current_thread() is threading.main_thread():
            self.before = {one: signal.signal(one, self._handle) for one in (signal.SIGINT, signal.SIGTERM)}
            if hasattr(signal, "setitimer"):
                self.before[signal.SIGALRM] = signal.signal(signal.SIGALRM, lambda *_: None)
        return self

    def __exit__(self, *error: Any) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: Any) -> None:
        if self.number is not None:
            raise KeyboardInterrupt
        self.number = number
        if self.waiting:
            raise Signals.Stop

    def _interrupt_reads(self, seconds: float) -> None:
        """Interrupt reads in intervals of so many seconds; 0: no more."""
        if self.before and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

    def until_stopped(self, parts: Iterator[Rows]) -> Iterator[Rows]:
        """Yield the parts until a signal comes."""
        while True:
            try:
                self.waiting = True
                if self.number is not None:
                    return
                self._interrupt_reads(self.pulse)
                part = next(parts, None)
                self.waiting = False
            except Signals.Stop:
                return
            finally:
                self.waiting = False
                self._interrupt_reads(0)
            if part is None:
                return
            yield part


class Learner:
    """Loop of the stream: predict, learn, count, report.

    Counters are kept in the note of the checkpoint, with the samples they belong to.
    """

    def __init__(self, arguments: Namespace, console: Console, keeper: Checkpoint | Memory) -> None:
        from .estimators import takes_labels

        self.arguments, self.console, self.keeper = arguments, console, keeper
        if arguments.id is not None and not hasattr(keeper.model, "forget"):
            raise UsageError(f"--id: {type(keeper.model).__name__} has no ids. The incremental estimators have.")
        self.supervised = takes_labels(keeper.model)
        self.begin = _examples(keeper.model)
        new = {
            "examples": 0,
            "predicted": 0,
            "errors": 0,
            "line_at": 1,
            "line_predicted": 0,
            "line_errors": 0,
            "last": [],
            "before": 0,  # examples of earlier data
        }
        self.note: dict[str, Any] = new | (keeper.note or {})

    def forget(self, names: list[str]) -> None:
        """Forget examples by their ids."""
        names = list(dict.fromkeys(names))
        if not names:
            return
        if self.begin == 0 or not hasattr(self.keeper.model, "forget"):
            raise UsageError(NO_FORGETTING)
        known = {str(one): one for one in self.keeper.model.ids_.tolist()}
        missing = [name for name in names if name not in known]
        if missing:
            raise UsageError(f"--forget: the model holds no example with the id {', '.join(missing)}.")
        with _translate_write_errors(self.arguments.checkpoint):
            self.keeper.forget([known[name] for name in names])
        self.console.put(forgotten=names)
        self.console.say(f"forgot {len(names)} examples")

    def learn(self, signals: Signals) -> None:
        """Learn what the data file holds."""
        from .data import blocks_of
        from .data.examples import batches, skip_rows
        from .data.sources import name_of

        arguments, model = self.arguments, self.keeper.model
        width = int(model.n_features_in_) if self.begin else arguments.n_features
        form = form_of(arguments, n_features=width, labels=self.supervised, id=arguments.id, most_rows=arguments.batch)
        if arguments.no_skip:
            self.note["before"] = self.begin
        skip, name = self.begin - self.note["before"], name_of(arguments.data)
        if self.begin:
            self.console.say(f"resuming after {self.begin:,} examples")
        with closing(blocks_of(arguments.data, form)) as blocks:
            parts = signals.until_stopped(batches(skip_rows(blocks, skip, name), arguments.batch))
            first = list(islice(parts, 1))
            if not (first or self.begin):  # an older file of --predictions stays as it was
                return
            with self._predictions() as write:
                self._head()
                for rows in chain(first, parts):
                    self._batch(rows, write)

    def require_examples(self, signals: Signals) -> None:
        """DataError if the data have ended and nothing was ever learnt."""
        from .data.sources import name_of

        if not _examples(self.keeper.model) and signals.number is None:
            raise DataError(name_of(self.arguments.data), "the file has no rows: 0 examples, no model written")

    def _batch(self, rows: Any, write: Any) -> None:
        """Predict a batch, learn it, acknowledge it."""
        model = self.keeper.model
        first = _examples(model) == 0
        labels = self._labels(rows, first)
        predicted = None if first else model.predict(rows.X)
        lines = self._count(labels, predicted, len(rows))
        self.note["examples"] = _examples(model) + len(rows)
        keywords = {} if rows.ids is None else {"ids": rows.ids}
        if first and self.supervised:
            keywords["classes"] = self.classes
        try:
            with _translate_write_errors(self.arguments.checkpoint):
                self.keeper.learn(rows.X, labels if self.supervised else None, note=self.note, **keywords)
        except (ValueError, TypeError) as error:
            at = _examples(model)
            raise CommandError(f"examples {at + 1} to {at + len(rows)}: {error}") from error
        write(self.note["last"])
        for line in lines:
            self.console.say(line)

    # ---- labels ----------------------------------------------------------------------------------------

    def _labels(self, rows: Any, first: bool) -> Any:
        """Labels of a batch in the type of the classes, which the first batch or the options settle."""
        import numpy as np
        import scipy.sparse as sp

        from .data.examples import convert_labels, match_classes
        from .data.sources import name_of
        from .estimators import weigh

        if first and sp.issparse(rows.X) and self.arguments.n_features is None:
            raise UsageError("LIBSVM's format does not say how many features there are: give --n-features.")
        if not self.supervised:
            return None
        name = name_of(self.arguments.data)
        if rows.labels is None:
            raise DataError(name, "the file has no labels")
        if first:
            given = self.arguments.classes
            self.classes = np.unique(convert_labels(rows.labels if given is None else given))
            if len(self.classes) < 2:
                raise UsageError(f"the first batch has one label only, {self.classes[0]}. Give --classes or --batch.")
            weigh(self.keeper.model, self.arguments.class_weight, self.classes)
        else:
            self.classes = self.keeper.model.classes_
        return match_classes(rows.labels, self.classes, name)

    # ---- counting and reporting ------------------------------------------------------------------------

    def _count(self, labels: Any, predicted: Any, n: int) -> list[str]:
        """Add a batch to the counters; returns the lines that the schedule asks for."""
        note = self.note
        if predicted is None:
            note["last"] = ["?"] * n
            return []
        note["last"] = list(map(one_line, predicted.tolist()))
        wrong = predicted == -1 if labels is None else predicted != labels
        lines = []
        for k, error in enumerate(wrong.tolist()):
            note["predicted"] += 1
            note["errors"] += error
            if note["predicted"] == note["line_at"]:
                lines.append(self._line("" if labels is None else labels[k], predicted[k]))
                note["line_at"] *= 2
                note["line_predicted"], note["line_errors"] = note["predicted"], note["errors"]
        return lines

    def _head(self) -> None:
        what = "loss" if self.supervised else "outliers"
        self.console.say(f"{what:>9} {'since last':>10} {'predicted':>12} {'label':>10} {'prediction':>10}")

    def _line(self, label: Any, predicted: Any) -> str:
        note = self.note
        since = note["predicted"] - note["line_predicted"]
        recent = (note["errors"] - note["line_errors"]) / max(since, 1)
        loss = note["errors"] / note["predicted"]
        return f"{loss:9.6f} {recent:10.6f} {note['predicted']:12,} {label!s:>10} {predicted!s:>10}"

    def tell(self, signals: Signals) -> None:
        """Print the result."""
        from .train import facts

        note, model = self.note, self.keeper.model
        loss = note["errors"] / note["predicted"] if note["predicted"] else None
        total = _examples(model)
        self.console.put(
            data=self.arguments.data, checkpoint=self.arguments.checkpoint, model=self.arguments.model,
            estimator=type(model).__name__, examples=total, resumed_at=self.begin, learnt=total - self.begin,
            predicted=note["predicted"], errors=note["errors"], loss=loss, signal=signals.number, **facts(model),
        )  # fmt: skip
        if loss is not None:
            self.console.say(f"{total:,} examples, loss {loss:.6f} of {note['predicted']:,} predictions")

    @contextmanager
    def _predictions(self) -> Iterator[Any]:
        from .predictions import Predictions

        path = self.arguments.predictions
        if path is None:
            yield lambda lines: None
            return
        last = self.note["last"] if self.note["examples"] == self.begin else []  # else: ended in the middle of a batch
        with Predictions(path, self.begin, last, self.console) as file:
            yield file.write


def _examples(model: Any) -> int:
    """Number of examples that a model has learnt."""
    return int(getattr(model, "n_samples_seen_", 0))
