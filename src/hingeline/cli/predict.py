"""``hingeline predict``: labels, probabilities or decision values of the rows of a data file, as svm-predict does."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import stdout
from .console import Console, one_line, percent
from .errors import UsageError
from .options import add_common, add_data, form_of, positive

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from .data.examples import Features, Rows

HELP = "predict the rows of a data file (svm-predict)"
USAGE = "DATA MODEL [OUTPUT]"
EXAMPLES = (
    "hingeline predict new.csv iris.model labels.txt",
    "hingeline predict new.csv iris.model --scores",
)
#: Cells of sparse rows that become dense at a time.
CELLS = 1 << 20


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument(
        "data", metavar="DATA", help="data file; it is read in blocks, so it may be larger than the memory"
    )
    parser.add_argument("model", metavar="MODEL", help="model file of hingeline or LIBSVM, or folder of a checkpoint")
    parser.add_argument(
        "output", metavar="OUTPUT", nargs="?", help="file to write, one line for each row; default: standard output"
    )
    group = parser.add_argument_group("prediction")
    what = group.add_mutually_exclusive_group()
    what.add_argument("-b", "--probability", choices=("0", "1"), default="0", help="1: write probabilities too")
    what.add_argument("--scores", action="store_true", help="write decision values too")
    group.add_argument(
        "--extra-features", choices=("error", "ignore"), default="error",
        help="features of a LIBSVM file that the model does not know; default: error",
    )  # fmt: skip
    group.add_argument(
        "--n-features", type=positive, metavar="N",
        help="number of features of a LIBSVM model; default: largest index of its support vectors",
    )  # fmt: skip
    group.add_argument("-j", "--jobs", type=int, metavar="N", help="number of threads, -1 for all processors")
    add_data(parser)
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from .data import blocks_of, size_of
    from .estimators import check, learner_of
    from .models import open_model, require_other

    console = Console(arguments, arguments.output or (None if arguments.json else "-"), "the predictions")
    require_other([arguments.data, arguments.model], [arguments.output])
    with console.collect_warnings():
        what = "probability" if arguments.probability == "1" else "scores" if arguments.scores else ""
        task = Task(
            arguments,
            open_model(arguments.model, arguments.n_features, ". The data come first, then the model"),
            what,
            ignore_extra=arguments.extra_features == "ignore",
        )
        learner = learner_of(task.model)
        if arguments.jobs is not None and "n_jobs" in learner.get_params():
            check(learner.set_params(n_jobs=arguments.jobs))
        with _output(arguments) as write, console.bar(size_of(arguments.data), "predicting") as done:
            write(task.head())
            for rows in blocks_of(arguments.data, task.form, done):
                write(task.lines(rows))
    console.put(data=arguments.data, model=arguments.model, output=arguments.output, **task.result())
    for line in task.summary():
        console.say(line)
    console.end()
    return 0


class Task:
    """Prediction of blocks of rows by a model file.

    Parameters
    ----------
    arguments : Namespace
        With `model` and the options of data files.
    model : estimator
        Fitted model.
    what : {'', 'probability', 'scores'}, default=''
        What lines have besides the label.
    ignore_extra : bool, default=False
        Whether features that the model does not know are ignored.

    Attributes
    ----------
    confusion : Counter
        Number of rows by true and predicted label, both as text.
    errors : TargetErrors or None
        Errors of a regressor.
    """

    def __init__(self, arguments: Namespace, model: BaseEstimator, what: str = "", ignore_extra: bool = False) -> None:
        import scipy.sparse as sp
        from sklearn.base import is_regressor

        from .estimators import learner_of
        from .preparation import form_of_model
        from .regression import TargetErrors

        learner = learner_of(model)
        self.model, self.what, self.data = model, what, arguments.data
        _require_answers(model, what, arguments.model)
        known = form_of_model(model)
        self.dense = known.pop("dense") or not sp.issparse(getattr(learner, "support_vectors_", None))
        self.form = form_of(
            arguments,
            n_features=int(model.n_features_in_),
            ignore_extra=ignore_extra,
            labels=False,
            kernel_values=getattr(learner, "kernel", None) == "precomputed",
            **known,
        )
        self.n_rows = 0
        self.confusion: Counter[tuple[str, str]] = Counter()
        self.errors = TargetErrors() if is_regressor(model) else None

    def head(self) -> bytes:
        """First line of the output, as svm-predict writes it with probabilities."""
        if self.what != "probability":
            return b""
        return " ".join(["labels", *map(str, self.model.classes_.tolist())]).encode() + b"\n"

    def lines(self, rows: Rows) -> bytes:
        """Lines of the output for some rows, which are counted. Sparse rows become dense a part at a time."""
        import scipy.sparse as sp

        from .data.examples import make_dense

        dense = self.dense and sp.issparse(rows.X)
        step = max(1, CELLS // rows.X.shape[1] if dense else len(rows))
        parts = (rows.part(begin, begin + step) for begin in range(0, len(rows), step))
        return b"".join(self._lines(part, make_dense(part.X) if dense else part.X) for part in parts)

    def _lines(self, rows: Rows, X: Features) -> bytes:
        labels = self.model.predict(X)
        self._count(labels, rows.labels)
        texts = list(map(one_line, labels.tolist()))
        if self.what:
            values = self.model.predict_proba(X) if self.what == "probability" else self.model.decision_function(X)
            table = values.reshape(len(texts), -1).tolist()
            texts = [" ".join([text, *map(repr, row)]) for text, row in zip(texts, table, strict=True)]
        return ("\n".join(texts) + "\n").encode()

    def _count(self, predicted: Any, labels: Any) -> None:
        from .data.examples import convert_targets, texts_like

        self.n_rows += len(predicted)
        if labels is None:
            return
        if self.errors is not None:
            self.errors.add(predicted, convert_targets(labels, self.data))
        else:
            self.confusion.update(zip(texts_like(labels, predicted), map(str, predicted.tolist()), strict=True))

    @property
    def n_labelled(self) -> int:
        """Number of rows with labels that can be compared: those of one-class models are +1 and -1."""
        if self.errors is not None:
            return self.errors.n
        return self.confusion.total() if self._comparable else 0

    @property
    def n_correct(self) -> int:
        """Number of rows whose label was predicted."""
        if not self._comparable:
            return 0
        return sum(count for (label, predicted), count in self.confusion.items() if label == predicted)

    @property
    def _comparable(self) -> bool:
        from .estimators import takes_labels

        return takes_labels(self.model) or all(label in ("1", "-1") for label, _ in self.confusion)

    def result(self) -> dict[str, float | None]:
        """Keys of the JSON object."""
        if self.errors is not None:
            return {"rows": self.n_rows, "labelled": self.n_labelled, **self.errors.result()}
        share = self.n_correct / self.n_labelled if self.n_labelled else None
        return {"rows": self.n_rows, "labelled": self.n_labelled, "correct": self.n_correct, "accuracy": share}

    def summary(self) -> list[str]:
        """Lines about the predictions, as svm-predict prints them; none without labels."""
        if self.errors is not None:
            return self.errors.lines(after=" (regression)")
        counts = percent(self.n_correct, self.n_labelled) if self.n_labelled else ""
        return [f"Accuracy = {counts} (classification)"] if counts else []


def _require_answers(model: BaseEstimator, what: str, path: str) -> None:
    """Refuse models that cannot predict, or not what is asked for."""
    from .estimators import learner_of

    learner = learner_of(model)
    name = type(learner).__name__
    if not hasattr(model, "predict") or not hasattr(model, "n_features_in_"):
        raise UsageError(f"{path} holds a {name} that cannot predict.")
    if what == "probability" and not hasattr(model, "predict_proba"):
        remedy = " Train it with -b 1." if "probability" in learner.get_params() else f" {name} does not fit them."
        raise UsageError(f"-b 1: {path} has no probabilities.{remedy}")
    if what == "scores" and not hasattr(model, "decision_function"):
        raise UsageError(
            f"--scores: {name} has no decision values. Leave the option out: the output has the predictions."
        )


@contextmanager
def _output(arguments: Namespace) -> Iterator[Callable[[bytes], Any]]:
    """Give a function that writes to a file or to standard output. With --json alone nothing is written."""
    from .output import file_writer

    if arguments.output not in (None, "-"):
        with file_writer(arguments.output) as write:
            yield write
    elif arguments.json:
        yield lambda text: None
    else:
        yield stdout.write
