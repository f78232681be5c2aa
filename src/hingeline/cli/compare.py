"""``hingeline compare``: rank methods over data sets, from a table of scores or by cross-validation.

FILE is a CSV table of scores: the first line has the names of the methods, each other line the name of a data set and
its scores. With --method files are data files, and the scores are those of cross-validation: accuracies, or R2.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from ..base.inputs import number_of
from .console import Console
from .errors import CommandError, DataError, UsageError
from .options import add_common, add_data, form_of, positive, seed
from .preparation import add_preparation, check_preparation, form_options, is_fixed, prepare

#: What to do if the file is no table of scores.
DATA = "To compare methods on data files give two files and --method CLASS twice"
HELP = "rank methods over several data sets"
USAGE = "FILE [FILE ...]"
EXAMPLES = (
    "hingeline compare scores.csv --figure ranks.png",
    "hingeline compare iris.csv wine.csv --method 'SVC(C=10)' --method LinearSVC --scale standard",
)


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="table of scores; with --method: data files")
    group = parser.add_argument_group("comparison")
    group.add_argument("--lower-is-better", action="store_true", help="scores are errors or times")
    group.add_argument("--control", metavar="METHOD", help="method that others are compared with; default: the best")
    group.add_argument("--alpha", type=float, default=0.05, help="level of significance, default 0.05")
    group.add_argument("--tie-correction", action="store_true", help="correct the Friedman statistic for ties")
    group.add_argument("--figure", metavar="FILE", help="critical-difference diagram (png, svg, pdf)")
    group.add_argument("--table", metavar="FILE", help="CSV file for the scores")
    group.add_argument(
        "--method", metavar="CLASS(...)", action="append", default=[],
        help="estimator to cross-validate, such as 'SVC(C=10, gamma=0.1)'; may be repeated",
    )  # fmt: skip
    group.add_argument("-v", "--folds", type=positive, default=5, metavar="N", help="folds, default 5")
    group.add_argument("--seed", type=seed, default=0, help="order of the rows in cross-validation, default 0")
    add_preparation(parser)
    add_data(parser)
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from ..compare import rank_methods
    from .models import require_outputs

    console = Console(arguments)
    require_outputs(arguments.files, [arguments.figure, arguments.table])
    models = _check_table(arguments)
    with console.collect_warnings():
        scores: Any
        datasets: list[str] | None
        if models:
            scores, methods, datasets = _cross_validate(console, arguments, models)
        else:
            scores, methods, datasets = _read_table(arguments.files[0])
        try:
            result = rank_methods(
                scores, methods=methods, datasets=datasets, higher_is_better=not arguments.lower_is_better,
                control=arguments.control, alpha=arguments.alpha, tie_correction=arguments.tie_correction,
            )  # fmt: skip
        except ValueError as error:
            if str(error).startswith(("control", "alpha")):
                raise UsageError(str(error)) from error
            raise DataError(arguments.files[0], str(error)) from error
        if arguments.table is not None:
            _write_table(result, arguments.table)
        if arguments.figure is not None:
            _write_figure(result, arguments.figure)
    _tell(console, arguments, result)
    console.end()
    return 0


def _check_table(arguments: Namespace) -> dict[str, Any]:
    """Models of --method. Options that do not fit are refused before data are read."""
    from sklearn.base import is_classifier, is_regressor

    from .estimators import build_from_text

    files, methods = arguments.files, arguments.method
    if not 0 < arguments.alpha < 1:
        raise UsageError(f"--alpha must be between 0 and 1. Got {arguments.alpha}.")
    if arguments.figure is not None:
        _figure_format(arguments.figure)
    if not methods:
        if arguments.scale is not None or not is_fixed(arguments):
            raise UsageError("--scale, --missing and --categories are for data files: give --method, too.")
        if len(files) > 1:
            raise UsageError(
                "one table of scores is compared at a time. To cross-validate on data files give --method."
            )
        return {}
    check_preparation(arguments)
    models = {text: build_from_text(text) for text in methods}
    if not any(all(map(judge, models.values())) for judge in (is_classifier, is_regressor)):
        raise UsageError("--method: give classifiers only, or regressors only.")
    for option, words in (("--method ", methods), ("", list(map(os.path.normpath, files)))):
        twice = next((word for k, word in enumerate(words) if word in words[:k]), None)
        if twice is not None:
            raise UsageError(f"{option}{twice} is given twice.")
    if len(methods) < 2 or len(files) < 2:
        raise UsageError(
            f"a comparison needs at least two methods and at least two data files. Got {len(methods)} and {len(files)}."
        )
    if arguments.control not in (None, *methods):
        raise UsageError(f"--control must be one of the methods {', '.join(methods)}. Got {arguments.control}.")
    return models


def _read_table(path: str) -> tuple[list[list[float | None]], list[str], list[str]]:
    """Scores, methods and data sets of a CSV file, whose first column holds the names of the data sets."""
    from .data.sources import lines, name_of, open_source
    from .data.tables import DELIMITERS, number_columns

    name = name_of(path)
    with open_source(path) as stream:
        text = list(lines(stream, name))
    first = next((line for line in text if line.strip("\r\n")), "")
    rows = list(number_columns(text, max(DELIMITERS, key=first.count), name))
    if len(rows) < 2:
        raise DataError(name, "a table needs a line with the names of the methods, and a line for each data set")
    head = rows[0][1]
    _require_names(name, head, rows[1:])
    scores = []
    for line, row in rows[1:]:
        if len(row) != len(head):
            raise DataError(name, f"expected {len(head)} cells, as in the first line. Got {len(row)}", line)
        cells = [(column, cell.strip()) for column, cell in enumerate(row, 1)][1:]
        for column, cell in cells:
            if cell and number_of(cell) is None:
                raise DataError(name, f"a score must be a number. Got {cell[:40]!r}. {DATA}", line, column)
        scores.append([number_of(cell) for _, cell in cells])
    return scores, head[1:], [row[0] for _, row in rows[1:]]


def _require_names(name: str, head: list[str], rows: list[tuple[int, list[str]]]) -> None:
    """Refuse a table whose first column has no names of data sets: the rows of a data file are not data sets."""
    if len(head) < 3:
        raise DataError(
            name, f"a table needs a column of names and two methods at least. Got {len(head)} columns. {DATA}", 1
        )
    seen: set[str] = set()
    for line, row in rows:
        cell = row[0].strip()
        if not cell or number_of(cell) is not None:
            message = f"the first column must have the names of the data sets. Got {cell[:40]!r}. {DATA}"
            raise DataError(name, message, line, 1)
        if cell in seen:
            raise DataError(name, f"the data set {cell[:40]!r} has two lines. {DATA}", line, 1)
        seen.add(cell)


def _cross_validate(
    console: Console, arguments: Namespace, models: dict[str, Any]
) -> tuple[list[list[float]], list[str], list[str]]:
    """Scores of the methods on the data files."""
    from sklearn.model_selection import cross_val_score

    from .train import folds_of, read_labelled

    scores: list[list[float]] = []
    first = next(iter(models.values()))
    with console.bar(len(arguments.files) * len(models), "cross-validating") as done:
        for path in arguments.files:
            rows, y, _ = read_labelled(first, path, form_of(arguments, **form_options(arguments)))
            assert y is not None  # of classifiers and regressors
            folds, row = folds_of(arguments, first, y), []
            for number, (text, model) in enumerate(models.items()):
                ready = prepare(model, arguments, rows, None if number else console, path)
                try:
                    row.append(float(cross_val_score(ready, rows.X, y, cv=folds, error_score="raise").mean()))
                except ValueError as error:
                    raise CommandError(f"{text} on {path}: {error}") from error
                done(len(scores) * len(models) + len(row))
            scores.append(row)
    names = [Path(path).name for path in arguments.files]
    return scores, list(models), names if len(set(names)) == len(names) else arguments.files


def _write_table(result: Any, path: str) -> None:
    from .output import write_table

    rows = [[name, *row] for name, row in zip(result.datasets, result.scores.tolist(), strict=True)]
    write_table(path, [["data set", *result.methods], *rows])


def _figure_format(path: str) -> str:
    """Format of a figure, by the ending of its file."""
    from ..compare.diagram import file_formats

    known, found = file_formats(), Path(path).suffix[1:].lower() or "png"
    if found not in known:
        raise UsageError(f"--figure {path}: the ending must be one of {', '.join(known)}.")
    return found


def _write_figure(result: Any, path: str) -> None:
    import io

    from .output import write_file

    content = io.BytesIO()
    result.plot().savefig(content, format=_figure_format(path), bbox_inches="tight")
    write_file(Path(path), content.getvalue())


def _tell(console: Console, arguments: Namespace, result: Any) -> None:
    tests = {"friedman": result.friedman, "iman_davenport": result.iman_davenport}
    console.put(
        files=arguments.files, methods=list(result.methods), datasets=list(result.datasets),
        scores=result.scores.tolist(), ranking=[row._asdict() for row in result.summary()], control=result.control,
        alpha=result.alpha, critical_distance=result.critical_distance(),
        **{name: {"statistic": test.statistic, "p_value": test.p_value} for name, test in tests.items()},
        holm=[pair._asdict() for pair in result.holm()], nemenyi=[pair._asdict() for pair in result.nemenyi()],
        figure=arguments.figure, table=arguments.table,
    )  # fmt: skip
    console.say(repr(result))
