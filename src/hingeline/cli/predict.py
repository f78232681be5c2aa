"""``hingeline predict``: labels, probabilities or decision values of the rows of a data file, as svm-predict does."""

from __future__ import annotations

import os
import stat
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .console import Console, percent
from .options import add_common, add_data, form_of

HELP = "predict the rows of a data file (svm-predict)"


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument("data", help="data file; it is read in blocks, so it may be larger than the memory")
    parser.add_argument("model", help="model file of hingeline or LIBSVM, or folder of a checkpoint")
    parser.add_argument("output", nargs="?", help="file to write, one line for each row; default: standard output")
    group = parser.add_argument_group("prediction")
    what = group.add_mutually_exclusive_group()
    what.add_argument("-b", "--probability", choices=("0", "1"), default="0", help="1: write probabilities too")
    what.add_argument("--scores", action="store_true", help="write decision values too")
    group.add_argument(
        "--extra-features", choices=("error", "ignore"), default="error",
        help="features of a LIBSVM file that the model does not know; default: error",
    )  # fmt: skip
    group.add_argument("-j", "--jobs", type=int, metavar="N", help="number of threads, -1 for all processors")
    add_data(parser)
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from .data import blocks_of, size_of

    console = Console(arguments)
    console.busy = arguments.output in (None, "-")
    with console.collecting():
        task = Task(arguments)
        with _output(arguments) as write, console.bar(size_of(arguments.data), "predicting") as done:
            write(task.head())
            for rows in blocks_of(arguments.data, task.form, done):
                write(task.lines(rows))
    console.put(data=arguments.data, model=arguments.model, output=arguments.output, **task.result())
    if task.n_labelled:
        console.say(f"Accuracy = {percent(task.n_correct, task.n_labelled)} (classification)")
    console.end()
    return 0


class Task:
    """Prediction of blocks of rows."""

    def __init__(self, arguments: Namespace) -> None:
        import scipy.sparse as sp

        from .errors import UsageError
        from .models import opened

        self.model = model = opened(arguments.model)
        if arguments.jobs is not None and "n_jobs" in model.get_params():
            model.set_params(n_jobs=arguments.jobs)
        self.probability, self.scores = arguments.probability == "1", arguments.scores
        if self.probability and not hasattr(model, "predict_proba"):
            raise UsageError(f"-b 1: {arguments.model} has no probabilities. Train it with -b 1.")
        self.classes = getattr(model, "classes_", None)
        self.n_features = int(model.n_features_in_)
        self.dense = not sp.issparse(getattr(model, "support_vectors_", None))
        self.form = form_of(
            arguments,
            n_features=self.n_features,
            ignore_extra=arguments.extra_features == "ignore",
            labels=False,
            kernel_values=getattr(model, "kernel", None) == "precomputed",
        )
        self.n_rows = self.n_labelled = self.n_correct = 0

    def head(self) -> bytes:
        """First line of the output, as svm-predict writes it with probabilities."""
        if not self.probability:
            return b""
        return " ".join(["labels", *map(str, self.model.classes_.tolist())]).encode() + b"\n"

    def lines(self, rows: Any) -> bytes:
        """Lines of the output for some rows; counts those that are right."""
        X = self._fitting(rows.X)
        labels = self.model.predict(X)
        self.n_rows += len(rows)
        if rows.labels is not None:
            self._count(labels, rows.labels)
        texts = list(map(str, labels.tolist()))
        if self.probability or self.scores:
            values = self.model.predict_proba(X) if self.probability else self.model.decision_function(X)
            table = values.reshape(len(texts), -1).tolist()
            texts = [" ".join([text, *map(repr, row)]) for text, row in zip(texts, table, strict=True)]
        return ("\n".join(texts) + "\n").encode() if texts else b""

    def _fitting(self, X: Any) -> Any:
        """Rows with the number of features, and in the layout, of the model."""
        import scipy.sparse as sp

        if sp.issparse(X):
            X.resize((X.shape[0], self.n_features))
            return X.toarray() if self.dense else X
        return X

    def _count(self, predicted: Any, labels: Any) -> None:
        import numpy as np

        from .data.rows import like

        known = np.array([-1, 1]) if self.classes is None else self.classes
        self.n_labelled += len(predicted)
        self.n_correct += int((like(labels, known) == like(predicted, known)).sum())

    def result(self) -> dict[str, Any]:
        """Keys of the JSON object."""
        share = self.n_correct / self.n_labelled if self.n_labelled else None
        return {"rows": self.n_rows, "labelled": self.n_labelled, "correct": self.n_correct, "accuracy": share}


@contextmanager
def _output(arguments: Namespace) -> Iterator[Callable[[bytes], None]]:
    """Give a function that writes: to a file that appears when it is complete, or to standard output.

    With --json and without a file nothing is written.
    """
    from ..files.durable import replacement, write_all
    from .errors import OutputError, UsageError

    path = arguments.output
    if arguments.json and path == "-":
        raise UsageError("--json prints to standard output; give another file for the predictions.")
    if arguments.json and path is None:
        yield lambda text: None
    elif path in (None, "-"):
        yield _write_to_stdout
    elif os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):  # a pipe or a device cannot be replaced
        with open(path, "wb", buffering=0) as file:
            yield lambda text: write_all(file.fileno(), [text])
    else:
        try:
            with replacement(Path(path)) as descriptor:
                yield lambda text: write_all(descriptor, [text])
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}") from error


def _write_to_stdout(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
