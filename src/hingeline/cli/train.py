"""``hingeline train``: fit a model to a data file, as svm-train does, or cross-validate."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from .console import Console
from .errors import INTERRUPTED, OK, CommandError, DataError, UsageError
from .options import add_common, add_data, add_estimator, form_of, positive, seed
from .preparation import add_preparation, check_preparation, form_options, is_fixed, prepare

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import KFold, StratifiedKFold

    from .data.examples import Features, Form, Labels, Rows

#: Different numbers as labels from which a regression may be meant, unless there are four rows for each.
MANY_CLASSES = 20
HELP = "fit a model to a data file, or cross-validate (svm-train)"
USAGE = "DATA [MODEL]"
EXAMPLES = (
    "hingeline train iris.csv iris.model -c 10 -g 0.5",
    "hingeline train iris.csv -v 5 --scale standard",
    "hingeline train people.csv --target income --categories auto --missing median --scale standard",
    "hingeline train data.svm --estimator LinearSVC",
)


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument("data", metavar="DATA", help="data file")
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="model file to write; default: name of the data file + .model"
    )
    add_estimator(parser, "SVC")
    add_preparation(parser)
    group = parser.add_argument_group("training")
    group.add_argument("-v", "--folds", type=positive, metavar="N", help="cross-validate with N folds; writes no model")
    group.add_argument("--seed", type=seed, default=0, help="order of the rows in cross-validation, default 0")
    group.add_argument(
        "--format", choices=("hingeline", "libsvm"), default="hingeline", help="format of the model file"
    )
    group.add_argument("--id", metavar="COLUMN", help="column of a table with ids: keep the rows, for hingeline forget")
    group.add_argument("--n-features", type=positive, metavar="N", help="number of features; default: that of the file")
    add_data(parser)
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from .data import all_rows
    from .estimators import build_estimator, learner_of, settings, takes_labels, weigh
    from .models import require_libsvm

    console = Console(arguments)
    with console.collect_warnings():
        model = build_estimator(arguments)
        check_preparation(arguments)
        path = None if arguments.folds else _model_path(arguments)
        kernel_values = getattr(model, "kernel", None) == "precomputed"
        begin = time.perf_counter()
        rows = all_rows(
            arguments.data,
            form_of(
                arguments,
                n_features=arguments.n_features,
                kernel_values=kernel_values,
                labels=takes_labels(model),
                id=arguments.id,
                **form_options(arguments),
            ),
        )
        y, classes = read_y(model, rows.labels, arguments.data)
        reading = time.perf_counter() - begin
        weigh(model, arguments.class_weight, classes)
        if len(classes) > max(MANY_CLASSES, len(rows) // 4) and classes.dtype.kind in "iu":
            console.warn(f"the labels are {len(classes):,} different numbers. For a regression give -s 3 (SVR).")
        _check_ids(model, arguments)
        if arguments.format == "libsvm" and path is not None:
            require_libsvm(model, classes)
        n, d = rows.X.shape
        model = prepare(model, arguments, rows, console, arguments.data)
        if arguments.format == "libsvm" and model is not learner_of(model):
            raise UsageError("--format libsvm: LIBSVM's models hold no scaling. Scale the data files with svm-scale.")
        console.put(
            data=arguments.data, estimator=type(learner_of(model)).__name__, scale=arguments.scale or "none",
            parameters=settings(model), rows=n, features=d,
            reading_seconds=reading,
        )  # fmt: skip
        code = OK
        if path is None:
            _cross_validate(console, model, rows.X, y, arguments)
        else:
            code = _fit(console, model, rows.X, y, rows.ids, path, arguments)
    console.end()
    return code


def _check_ids(model: BaseEstimator, arguments: Namespace) -> None:
    """Refuse --id for estimators that do not forget, and with a preparation that would remember rows."""
    if arguments.id is None:
        return
    if not hasattr(model, "forget"):
        raise UsageError(f"--id: {_explain_no_ids(model)}")
    if not is_fixed(arguments):
        raise UsageError(
            "--id: --scale, --missing and --categories learn from all rows, and would remember rows that are "
            "forgotten. Use --scale with a range file, or prepare the data before."
        )


def _explain_no_ids(model: Any) -> str:
    """Why an estimator keeps no rows."""
    try:
        model.forget  # noqa: B018
    except AttributeError as error:
        return str(error)
    return ""


def read_labelled(model: BaseEstimator, path: str, form: Form) -> tuple[Rows, np.ndarray | None, np.ndarray]:
    """Rows of a data file, and the results of :func:`read_y`."""
    from .data import all_rows

    rows = all_rows(path, form)
    return rows, *read_y(model, rows.labels, path)


def read_y(model: BaseEstimator, labels: Labels | None, name: str) -> tuple[np.ndarray | None, np.ndarray]:
    """What an estimator is trained or judged with, and the classes.

    Labels of a classifier; targets of a regressor; for a one-class model the labels if all are +1 and -1, else None.
    """
    import numpy as np
    from sklearn.base import is_regressor

    from .data.examples import convert_labels, convert_targets
    from .estimators import takes_labels

    if not takes_labels(model):
        y = None if labels is None else convert_labels(labels)
        return y if y is not None and np.isin(y, [-1, 1]).all() else None, np.empty(0)
    if labels is None:
        raise DataError(name, "the file has no labels")
    if is_regressor(model):
        return convert_targets(labels, name), np.empty(0)
    if isinstance(labels, list) and "" in labels:
        row = labels.index("") + 1
        raise DataError(
            name, f"the label of row {row:,}, without the line of names, is empty. Remove rows without a label"
        )
    y = convert_labels(labels)
    classes = np.unique(y)
    if y.dtype.kind == "f" and (y != np.trunc(y)).any():
        fraction = y[y != np.trunc(y)][0]
        raise DataError(
            name, f"labels must be classes. Got numbers such as {fraction}: for a regression give -s 3 (SVR) or "
            "--estimator LinearSVR",
        )  # fmt: skip
    if len(classes) < 2:
        raise DataError(name, f"two or more different labels are needed. All are {classes[0]}")
    return y, classes


def _model_path(arguments: Namespace) -> str:
    """Model file, checked before the work begins."""
    from .models import require_outputs

    if arguments.model is None and arguments.data == "-":
        raise UsageError("give the name of the model file: the data come from standard input.")
    path = arguments.model or f"{os.path.basename(arguments.data)}.model"
    require_outputs([arguments.data], [path])
    return str(path)


def _fit(console: Console, model: Any, X: Any, y: Any, ids: Any, path: str, arguments: Namespace) -> int:
    from .estimators import learner_of
    from .models import write

    begin, code, learner = time.perf_counter(), OK, learner_of(model)
    try:
        with console.watch(learner):
            fit(model, X, y, ids)
    except KeyboardInterrupt:
        if not hasattr(learner, "n_features_in_"):
            raise
        code = INTERRUPTED
        console.warn("interrupted: the model is usable, but training has not ended")
    training = time.perf_counter() - begin
    write(model, path, arguments.format)
    size = os.path.getsize(path)
    console.put(model=path, format=arguments.format, bytes=size, training_seconds=training, **facts(model))
    console.say(f"{type(learner).__name__}: {X.shape[0]:,} rows, {X.shape[1]:,} features{_words(model)}")
    console.say(f"read in {console.result['reading_seconds']:.2f} s, trained in {training:.2f} s")
    console.say(f"{path}: {size:,} bytes")
    return code


def fit(model: BaseEstimator, X: Features, y: np.ndarray | None, ids: list[str] | None = None) -> None:
    """Fit a model; errors of the estimator about the data end the command."""
    from .estimators import learner_of, takes_labels

    learner = learner_of(model)
    step = "" if learner is model else f"{model.steps[-1][0]}__"
    try:
        more = {} if ids is None else {f"{step}ids": ids}
        model.fit(X, y, **more) if takes_labels(model) else model.fit(X, **more)
    except (ValueError, TypeError, MemoryError) as error:
        raise CommandError(f"{type(learner).__name__}: {error}") from error


def facts(model: BaseEstimator) -> dict[str, Any]:
    """What can be said about a fitted model, for JSON."""
    from .estimators import learner_of

    model = learner_of(model)
    found: dict[str, Any] = {}
    if hasattr(model, "classes_"):
        found["classes"] = model.classes_.tolist()
    if hasattr(model, "dual_coef_"):
        found["support_vectors"] = int(model.dual_coef_.shape[1])
    if hasattr(model, "stop_reason_"):
        reasons = model.stop_reason_
        found["stop_reason"] = sorted({str(reason) for reason in getattr(reasons, "flat", [reasons])})
    return found


def _words(model: Any) -> str:
    found = facts(model)
    words = ""
    if "classes" in found:
        words += f", {len(found['classes'])} classes"
    if "support_vectors" in found:
        words += f", {found['support_vectors']:,} support vectors"
    return words


def folds_of(arguments: Namespace, model: BaseEstimator, y: np.ndarray) -> KFold | StratifiedKFold:
    """Folds of the options -v and --seed, stratified for classifiers."""
    import numpy as np
    from sklearn.base import is_classifier
    from sklearn.model_selection import KFold, StratifiedKFold

    most, what, kind = len(y), "number of rows", KFold
    if is_classifier(model):
        most, what = int(np.unique(y, return_counts=True)[1].max()), "rows of the most frequent label"
        kind = StratifiedKFold
    if most < 2:
        raise UsageError(
            f"-v {arguments.folds}: cross-validation needs two rows at least, of classes two rows of a label. Labels "
            "that are all different are targets of a regression: -s 3 (SVR) or --estimator LinearSVR."
        )
    if not 2 <= arguments.folds <= most:
        raise UsageError(f"-v must be 2 to {most}, the {what}. Got {arguments.folds}.")
    return kind(arguments.folds, shuffle=True, random_state=arguments.seed)


def _cross_validate(console: Console, model: Any, X: Any, y: Any, arguments: Namespace) -> None:
    from sklearn.base import is_regressor
    from sklearn.model_selection import cross_val_predict

    from .console import percent
    from .regression import TargetErrors

    if y is None:
        raise UsageError("-v with a one-class model needs labels that are all +1 or -1.")
    folds = folds_of(arguments, model, y)
    try:
        predicted = cross_val_predict(model, X, y, cv=folds)
    except ValueError as error:
        raise CommandError(str(error)) from error
    if is_regressor(model):
        errors = TargetErrors().add(predicted, y)
        console.put(folds=arguments.folds, **errors.result())
        for line in errors.lines("Cross Validation "):
            console.say(line)
        return
    correct = int((predicted == y).sum())
    console.put(folds=arguments.folds, correct=correct, accuracy=correct / len(y))
    console.say(f"Cross Validation Accuracy = {percent(correct, len(y))}")
