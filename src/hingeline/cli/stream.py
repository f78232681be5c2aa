"""``hingeline stream``: learn from a stream line by line; each batch is predicted before it is learnt."""

from __future__ import annotations

import copy
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from .console import Console, count_words
from .errors import CommandError, DataError, UsageError
from .keepers import DEFAULT, NO_FORGETTING, Beginning, open_keeper, translate_checkpoint_errors
from .options import add_common, add_data, add_estimator, form_of, positive, split_words
from .preparation import add_preparation, check_preparation, form_of_model, form_options
from .signals import Signals

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from ..files import Checkpoint
    from .data.examples import Rows

HELP = "learn from a stream: predict, learn, save, resume"
USAGE = "[DATA] [MODEL]"
EXAMPLES = (
    "hingeline stream events.csv -g 0.5 --classes ok,fraud --checkpoint run --predictions seen.txt",
    "tail -n +1 -f events.csv | hingeline stream - --classes ok,fraud -g 0.5 --every 1000",
    "hingeline stream events.csv --estimator IncrementalSVC -g 0.5 --drift shorten",
)
#: What is done when the loss rises.
DRIFT = ("off", "alarm", "reset", "shorten")


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    what = "data file, read in order; may be left out with --forget"
    parser.add_argument("data", metavar="DATA", nargs="?", help=what)
    parser.add_argument("model", metavar="MODEL", nargs="?", help="model file to write at the end")
    add_estimator(parser, DEFAULT, streams=True)
    add_preparation(parser)
    group = parser.add_argument_group("stream")
    group.add_argument(
        "--batch", type=positive, default=100, metavar="N", help="examples learnt at a time, default 100"
    )
    group.add_argument(
        "--classes", type=split_words, metavar="A,B,...", help="labels; default: those of the first batch"
    )
    group.add_argument("--n-features", type=positive, metavar="N", help="number of features; needed for LIBSVM files")
    group.add_argument("--predictions", metavar="FILE", help="file for the predicted labels; - is standard output")
    group.add_argument(
        "--every", type=positive, metavar="N",
        help="print a line after every N predictions, with the loss of these N; default: after 1, 2, 4, 8, ...",
    )  # fmt: skip
    group.add_argument(
        "--drift", choices=DRIFT, default="alarm",
        help="when the loss rises: alarm (default) prints a line; reset goes on with a new model; shorten forgets the "
        "examples before the change (incremental estimators); off does nothing",
    )  # fmt: skip
    group.add_argument("--checkpoint", metavar="FOLDER", help="keep the model here, safe from crashes; go on from it")
    group.add_argument(
        "--save-every",
        type=positive,
        default=1000,
        metavar="N",
        help="examples between whole models there, default 1000",
    )
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
    check_preparation(arguments)
    console = Console(arguments, arguments.predictions, "--predictions")
    require_other([arguments.data], [arguments.model, arguments.predictions])
    if arguments.model is not None:
        require_file(arguments.model)
    with console.collect_warnings(), Signals() as signals, open_keeper(arguments, console) as keeper:
        learner = Learner(arguments, console, keeper)
        learner.forget(arguments.forget)
        try:
            if arguments.data is not None:
                learner.learn(signals)
                learner.require_examples(signals)
        finally:  # also after an error in the data: what was learnt is kept
            if arguments.model is not None and count_examples(learner.learner):
                write(learner.keeper.model, arguments.model, "hingeline")
    learner.tell(signals)
    console.end()
    return signals.code


class Learner:
    """Loop of the stream: predict, learn, count, report.

    Counters are kept in the note of the checkpoint, with the samples they belong to.
    """

    def __init__(self, arguments: Namespace, console: Console, keeper: Beginning | Checkpoint) -> None:
        from .estimators import learner_of, takes_labels
        from .losses import NEW, Losses

        self.arguments, self.console = arguments, console
        self.keeper: Any = keeper
        learner = learner_of(keeper.model)
        if arguments.id is not None and not hasattr(learner, "forget"):
            raise UsageError(f"--id: {type(learner).__name__} has no ids. The incremental estimators have.")
        self.supervised = takes_labels(keeper.model)
        self.note: dict[str, Any] = copy.deepcopy(NEW) | (keeper.note or {})
        watch = arguments.drift != "off"
        self.losses = Losses(self.note, arguments.every, watch, "loss" if self.supervised else "outliers")
        self.begin = self.total
        self._shorten()  # a crash may have left it undone

    @property
    def learner(self) -> BaseEstimator:
        """The estimator, which may be the last step of a pipeline."""
        from .estimators import learner_of

        return learner_of(self.keeper.model)

    @property
    def total(self) -> int:
        """Number of examples that this model and those before it have learnt."""
        return int(self.note["restarted"]) + count_examples(self.learner)

    def forget(self, names: list[str]) -> None:
        """Forget examples by their ids."""
        names = list(dict.fromkeys(names))
        if not names:
            return
        if self.begin == 0 or not hasattr(self.learner, "forget"):
            raise UsageError(NO_FORGETTING)
        known = {str(one): one for one in self.learner.ids_.tolist()}
        missing = [name for name in names if name not in known]
        if missing:
            raise UsageError(f"--forget: the model holds no example with the id {', '.join(missing)}.")
        with translate_checkpoint_errors(self.arguments.checkpoint):
            self.keeper.forget([known[name] for name in names])
        self.console.put(forgotten=names)
        self.console.say(f"forgot {count_words(len(names), 'example')}")

    def learn(self, signals: Signals) -> None:
        """Learn what the data file holds."""
        from .data import blocks_of
        from .data.examples import batches, skip_rows
        from .data.sources import name_of

        arguments, model = self.arguments, self.keeper.model
        known = form_of_model(model) if self.begin else form_options(arguments)
        width = int(model.n_features_in_) if self.begin else arguments.n_features
        form = form_of(
            arguments, n_features=width, labels=self.supervised, id=arguments.id, most_rows=arguments.batch, **known
        )
        if arguments.no_skip:
            self.note["before"] = self.begin
        skip, name = self.begin - self.note["before"], name_of(arguments.data)
        if self.begin:
            self.console.say(f"resuming after {count_words(self.begin, 'example')}")
        with closing(blocks_of(arguments.data, form)) as blocks:
            parts = signals.until_stopped(batches(skip_rows(blocks, skip, name), arguments.batch))
            first = list(islice(parts, 1))
            if not (first or self.begin):  # an older file of --predictions stays as it was
                return
            with self._predictions() as write:
                if self.begin:
                    self.console.say(self.losses.head())
                for rows in chain(first, parts):
                    self._batch(rows, write)

    def require_examples(self, signals: Signals) -> None:
        """DataError if the data have ended and nothing was ever learnt."""
        from .data.sources import name_of

        if not self.total and signals.number is None:
            raise DataError(name_of(self.arguments.data), "the file has no rows: 0 examples, no model written")

    def _batch(self, rows: Rows, write: Callable[[list[str]], None]) -> None:
        """Predict a batch, learn it, acknowledge it."""
        first = count_examples(self.learner) == 0
        labels = self._labels(rows, first)
        if first:
            self.keeper = self.keeper.settle(rows) if isinstance(self.keeper, Beginning) else self.keeper
            self.console.say(self.losses.head())
        lines, drift = self._predict(rows, labels, first)
        end = self.total + len(rows)
        self.note["examples"] = end
        given = {} if rows.ids is None else {"ids": rows.ids}
        try:
            with translate_checkpoint_errors(self.arguments.checkpoint):
                self._learn(rows, labels, given, first=first, drift=drift)
        except (ValueError, TypeError) as error:
            at = self.total
            raise CommandError(f"examples {at + 1} to {at + len(rows)}: {error}") from error
        write(self.note["last"])
        for line in lines:
            self.console.say(line)
        if drift:
            self._shorten()

    def _predict(self, rows: Rows, labels: np.ndarray | None, first: bool) -> tuple[list[str], bool]:
        """Predict a batch and count. Returns what to say, and whether the loss has risen."""
        from .console import one_line

        begin = self.total
        if first:
            self.note["last"] = ["?"] * len(rows)
            return [], False
        predicted = self.keeper.model.predict(rows.X)
        lines = self.losses.add(labels, predicted)
        if labels is not None:
            lines += self.losses.find_new(map(one_line, labels.tolist()), map(one_line, self.classes), begin + 1)
        drift = self.losses.find_drift(labels, predicted, begin + len(rows))
        if drift is None:
            return lines, False
        action = {"reset": "; a new model begins with this batch", "shorten": "; forgetting the examples before"}
        return [*lines, drift + action.get(self.arguments.drift, "")], True

    def _learn(self, rows: Rows, labels: np.ndarray | None, given: dict[str, Any], *, first: bool, drift: bool) -> None:
        """Learn a batch, or begin a new model with it after drift."""
        action = self.arguments.drift if drift else ""
        reset = action == "reset"
        y = labels if self.supervised else None
        if (first or reset) and self.supervised:
            given["classes"] = self.classes
        before = self.note["restarted"]
        if action == "shorten":
            self.note["shorten"] = max(self.losses.window.width, len(rows))
        if reset:
            self.note["restarted"] = self.total
        if action in ("reset", "shorten"):
            self.losses.forget_window()
        try:
            learn = self.keeper.restart if reset else self.keeper.learn
            learn(rows.X, y, note=self.note, **given)
        except BaseException:
            self.note["restarted"] = before
            raise

    def _shorten(self) -> None:
        """Forget all but the last examples, as many as the alarm has found to be alike."""
        keep, self.note["shorten"] = self.note["shorten"], 0
        if not keep:
            return
        ids = self.learner.ids_.tolist()
        kept = set(ids[-keep:])
        old = [one for one in dict.fromkeys(ids[:-keep]) if one not in kept]
        if old:
            with translate_checkpoint_errors(self.arguments.checkpoint):
                self.keeper.forget(old)

    # ---- labels ----------------------------------------------------------------------------------------

    def _labels(self, rows: Rows, first: bool) -> np.ndarray | None:
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
            self.classes = self.learner.classes_
        return match_classes(rows.labels, self.classes, name)

    # ---- result ----------------------------------------------------------------------------------------

    def tell(self, signals: Signals) -> None:
        """Print the result."""
        from .train import facts

        total = self.total
        self.console.put(
            data=self.arguments.data, checkpoint=self.arguments.checkpoint, model=self.arguments.model,
            estimator=type(self.learner).__name__, examples=total, resumed_at=self.begin, learnt=total - self.begin,
            signal=signals.number, **self.losses.result(), **facts(self.learner),
        )  # fmt: skip
        if summary := self.losses.summary(total):
            self.console.say(summary)

    @contextmanager
    def _predictions(self) -> Iterator[Callable[[list[str]], None]]:
        from .predictions import Predictions

        path = self.arguments.predictions
        if path is None:
            yield lambda lines: None
            return
        last = self.note["last"] if self.note["examples"] == self.begin else []  # else: ended in the middle of a batch
        with Predictions(path, self.begin, last, self.console) as file:
            yield file.write


def count_examples(learner: BaseEstimator) -> int:
    """Number of examples that a model has learnt."""
    return int(getattr(learner, "n_samples_seen_", 0))
