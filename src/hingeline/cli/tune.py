"""``hingeline tune``: search parameters by cross-validation, and fit the best model."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from typing import Any

from .console import Console
from .errors import CommandError, OutputError, UsageError
from .options import add_common, add_data, add_estimator, form_of, pair, positive, seed, suggest
from .preparation import add_preparation, check_preparation, form_options, prepare

HELP = "search parameters by cross-validation"
USAGE = "DATA [MODEL]"
EXAMPLES = (
    "hingeline tune iris.csv best.model --scale standard",
    "hingeline tune iris.csv --grid C=1,10,100 --log2 gamma=-4,0,2 --table scores.csv",
)
#: Candidates that are printed, and candidates of a grid at most.
SHOWN, MOST = 10, 100_000


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument("data", metavar="DATA", help="data file")
    parser.add_argument("model", metavar="MODEL", nargs="?", help="file for the best model, fitted to all rows")
    add_estimator(parser, "SVC")
    add_preparation(parser)
    group = parser.add_argument_group("search")
    group.add_argument(
        "--grid", metavar="NAME=A,B,...", type=pair, action="append", default=[], help="values of a parameter"
    )
    group.add_argument(
        "--log2", metavar="NAME=FIRST,LAST,STEP", type=pair, action="append", default=[],
        help="powers of 2 as values of a parameter, as in LIBSVM's grid.py",
    )  # fmt: skip
    group.add_argument("--search", choices=("grid", "pattern", "halving"), default="grid", help="default: grid")
    group.add_argument("-v", "--folds", type=positive, default=5, metavar="N", help="folds, default 5")
    group.add_argument("--seed", type=seed, default=0, help="order of the rows in cross-validation, default 0")
    group.add_argument(
        "--scoring", metavar="NAME", help="score of scikit-learn; default: accuracy, or R2 of regressors"
    )
    group.add_argument("--checkpoint", metavar="FILE", help="keep finished cells here; go on from it")
    group.add_argument("--table", metavar="FILE", help="CSV file for the scores of all candidates")
    add_data(parser)
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from .estimators import build_estimator, weigh
    from .models import require_outputs, write
    from .train import read_labelled

    console = Console(arguments)
    require_outputs([arguments.data], [arguments.model, arguments.table, arguments.checkpoint])
    with console.collect_warnings():
        model = build_estimator(arguments)
        _check_scoring(arguments.scoring)
        check_preparation(arguments)
        rows, y, classes = read_labelled(model, arguments.data, form_of(arguments, **form_options(arguments)))
        _check_one_class(model, y, arguments)
        weigh(model, arguments.class_weight, classes)
        grid = _grid(arguments, model)
        model = prepare(model, arguments, rows, console, arguments.data)
        search = _search(console, arguments, model, y, grid)
        _fit(search, rows.X, y)
        if arguments.model is not None:
            write(search.best_estimator_, arguments.model, "hingeline")
        if arguments.table is not None:
            _write_table(search, arguments.table)
    _tell(console, arguments, search)
    console.end()
    return 0


def _check_scoring(name: str | None) -> None:
    """Refuse names that scikit-learn does not know, before the data are read."""
    from sklearn.metrics import get_scorer_names

    known = get_scorer_names()
    if name is not None and name not in known:
        hint = suggest(name, known) or " Examples are accuracy, balanced_accuracy, f1_macro."
        raise UsageError(f"--scoring: scikit-learn has no score {name!r}.{hint}")


def _check_one_class(model: Any, y: Any, arguments: Namespace) -> None:
    """One-class models have no score of their own; others compare predictions with labels."""
    from .estimators import takes_labels

    if takes_labels(model) or (y is not None and arguments.scoring is not None):
        return
    raise UsageError(
        "a one-class model needs labels that are all +1 or -1, and --scoring, for example --scoring balanced_accuracy."
    )


def _search(console: Console, arguments: Namespace, model: Any, y: Any, grid: dict[str, list[Any]] | None) -> Any:
    import sys

    from ..model_selection import KernelSearchCV
    from .train import folds_of

    step = _step(model)
    return KernelSearchCV(
        model,
        None if grid is None else {f"{step}{name}": values for name, values in grid.items()},
        search=arguments.search,
        scoring=arguments.scoring,
        n_jobs=arguments.param_n_jobs,
        refit=True,
        cv=folds_of(arguments, model, y),
        checkpoint=arguments.checkpoint,
        progress=_has_rich() and sys.stderr.isatty() and not (console.quiet or console.json),
    )


def _step(model: Any) -> str:
    """What precedes the names of parameters of the last step."""
    from .estimators import learner_of

    return "" if learner_of(model) is model else f"{model.steps[-1][0]}__"


def _has_rich() -> bool:
    from importlib.util import find_spec

    return find_spec("rich") is not None


def _grid(arguments: Namespace, model: Any) -> dict[str, list[Any]] | None:
    """Values by parameter; None for the default space."""
    from .estimators import check, require_parameter, value_of

    grid = {name: [value_of(word.strip()) for word in words.split(",")] for name, words in arguments.grid}
    grid |= {name: _powers(name, words) for name, words in arguments.log2}
    if math.prod(map(len, grid.values())) > MOST:
        raise UsageError(f"the grid has more than {MOST:,} candidates.")
    for name, values in grid.items():
        require_parameter(type(model).__name__, name, model.get_params())
        for value in values:
            check(type(model)(**{**model.get_params(), name: value}))
    return grid or None


def _powers(name: str, words: str) -> list[float]:
    try:
        first, last, step = map(float, words.split(","))
        count = math.floor((last - first) / step + 1e-9) + 1
        if not 1 <= count <= MOST or max(abs(first), abs(last)) > 300:
            raise ValueError
        return [2.0 ** (first + k * step) for k in range(count)]
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(f"--log2 {name}={words}: expected FIRST,LAST,STEP with FIRST + k STEP = LAST.") from None


def _fit(search: Any, X: Any, y: Any) -> None:
    import numpy as np

    try:
        search.fit(X, y)
    except OSError as error:
        if search.checkpoint is None:
            raise
        raise OutputError(f"cannot write {search.checkpoint}: {error.strerror or error}") from error
    except ValueError as error:
        kind = UsageError if "param_grid" in str(error) or "checkpoint" in str(error) else CommandError
        raise kind(str(error).replace("param_grid", "--grid")) from error
    if np.isnan(search.cv_results_["mean_test_score"]).all():
        raise CommandError("no candidate has a score: all are NaN. Try another --scoring or other data.")


def _write_table(search: Any, path: str) -> None:
    from .output import write_table

    results, step = search.cv_results_, _step(search.estimator)
    names = list(results["params"][0])
    columns = ["mean_test_score", "std_test_score", "rank_test_score", "mean_fit_time", "mean_score_time"]
    rows = [
        [*(point[name] for name in names), *(results[column][k] for column in columns)]
        for k, point in enumerate(results["params"])
    ]
    write_table(path, [[*(name.removeprefix(step) for name in names), *columns], *rows])


def _tell(console: Console, arguments: Namespace, search: Any) -> None:
    from .estimators import learner_of

    results, step = search.cv_results_, _step(search.estimator)

    def plain(point: dict[str, Any]) -> dict[str, Any]:
        return {name.removeprefix(step): value for name, value in point.items()}

    means = results["mean_test_score"]
    scores = [(float(mean), plain(point)) for mean, point in zip(means, results["params"], strict=True)]
    best = plain(search.best_params_)
    console.put(
        data=arguments.data, model=arguments.model, table=arguments.table,
        estimator=type(learner_of(search.best_estimator_)).__name__, scale=arguments.scale or "none",
        search=arguments.search, folds=arguments.folds, best_score=float(search.best_score_), best_parameters=best,
        candidates=[{"score": score, "parameters": point} for score, point in scores],
    )  # fmt: skip
    for score, point in sorted(scores, key=lambda one: -one[0])[:SHOWN]:
        console.say(f"{score:.6f}  {_words(point)}")
    console.say(f"best of {len(scores)}: {search.best_score_:.6f}  {_words(best)}")


def _words(point: dict[str, Any]) -> str:
    return " ".join(
        f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}" for name, value in point.items()
    )
