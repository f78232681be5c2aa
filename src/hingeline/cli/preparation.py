"""Preparation of the features: missing values, categories, scaling. It is saved with the model, as steps before it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from .errors import DataError, InputError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from .console import Console
    from .data.examples import Rows

SCALES = ("none", "minmax", "standard")
MISSING = ("error", "mean", "median", "most_frequent")
#: Step of the pipeline before the estimator, if there is one step only.
STEP = "prepare"
#: Largest and smallest range of the features whose ratio is worth a hint. Pixels of digits, which need no scaling, have
#: 16; data sets where scaling decides, such as wine or breast cancer, have more than 1000.
UNEVEN = 30
#: Different texts of a column of categories at most: each becomes a feature.
MOST_CATEGORIES = 1000


def add_preparation(parser: ArgumentParser) -> None:
    """Options that say how features are prepared."""
    group = parser.add_argument_group("features (saved with the model, and applied by predict)")
    group.add_argument(
        "--scale", metavar="HOW",
        help="standard (mean 0, deviation 1), minmax (0 to 1), none, or a range file of svm-scale; default: none",
    )  # fmt: skip
    group.add_argument(
        "--missing", choices=MISSING, default="error", help="value for empty cells of tables; default: error"
    )
    group.add_argument(
        "--categories", metavar="COLUMN", action="append", default=[],
        help="column of texts, which become features of 0 and 1; may be repeated; auto: all columns without numbers",
    )  # fmt: skip


def form_options(arguments: Namespace) -> dict[str, Any]:
    """What `Form` knows about these options."""
    return {
        "missing": arguments.missing != "error",
        "categories": tuple(arguments.categories),
        "dense": _is_range_file(arguments.scale),
        "prepares": True,
    }


def form_of_model(model: BaseEstimator) -> dict[str, Any]:
    """What `Form` knows about the features of a fitted model."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import MinMaxScaler

    from ..files.fixed import parts_of

    parts = parts_of(model)[1:-1]
    for table in [part for part in parts if isinstance(part, ColumnTransformer)]:
        parts += [one for _, step, _ in table.transformers_ for one in (parts_of(step)[1:] or [step])]
    tables = [part for part in parts if isinstance(part, ColumnTransformer)]
    words = [k for table in tables for name, _, columns in table.transformers_ if name == "texts" for k in columns]
    return {
        "missing": any(isinstance(part, SimpleImputer) for part in parts),
        "words": frozenset(words),
        "dense": any(getattr(part, "with_mean", isinstance(part, MinMaxScaler)) for part in parts),
    }


def _is_range_file(scale: str | None) -> bool:
    return scale not in (None, *SCALES)


def is_fixed(arguments: Namespace) -> bool:
    """Whether the preparation does not depend on the rows."""
    learns = arguments.scale in ("minmax", "standard") or arguments.missing != "error" or bool(arguments.categories)
    return not learns


def check_preparation(arguments: Namespace) -> None:
    """Refuse a range file that cannot be read, before the data are."""
    if _is_range_file(arguments.scale):
        read_ranges(arguments.scale)


def prepare(
    model: BaseEstimator, arguments: Namespace, rows: Rows, console: Console | None, data: str
) -> BaseEstimator:
    """The model behind the steps that the options ask for, not fitted; or the model alone. None tells nothing."""
    from sklearn.pipeline import Pipeline

    if getattr(model, "kernel", None) == "precomputed":
        if arguments.scale not in (None, "none"):
            raise UsageError(f"--scale {arguments.scale}: kernel values are not scaled. Leave the option out.")
        return model
    if arguments.scale is None and len(rows) > 1 and console is not None:
        _hint(console, rows, data)
    steps = _steps(arguments, rows, console)
    return Pipeline([*steps, (type(model).__name__.lower(), model)]) if steps else model


def _steps(arguments: Namespace, rows: Rows, console: Console | None) -> list[tuple[str, Any]]:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    numbers: list[tuple[str, Any]] = []
    if arguments.missing != "error":
        numbers.append(("missing", SimpleImputer(strategy=arguments.missing, keep_empty_features=True)))
    if arguments.scale not in (None, "none"):
        numbers.append(("scale", _scaler(arguments.scale, rows)))
    if not rows.words:
        return numbers
    if _is_range_file(arguments.scale):
        raise UsageError(f"--scale {arguments.scale}: a range file cannot be used with --categories.")
    _tell_categories(rows, console)
    others = [k for k in range(rows.X.shape[1]) if k not in rows.words]
    texts = OneHotEncoder(handle_unknown="ignore", dtype="float64", sparse_output=False)
    parts = [("texts", texts, list(rows.words))]
    if others:
        parts.insert(0, ("numbers", Pipeline(numbers) if numbers else "passthrough", others))
    return [(STEP, ColumnTransformer(parts, sparse_threshold=0))]


def _scaler(scale: str, rows: Rows) -> Any:
    """Scaler of the option --scale; zeros of sparse rows stay zeros."""
    import scipy.sparse as sp
    from sklearn.frozen import FrozenEstimator
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if _is_range_file(scale):
        return FrozenEstimator(_range_scaler(scale, rows.X.shape[1]))
    sparse = sp.issparse(rows.X)
    if scale == "standard":
        return StandardScaler(with_mean=not sparse)
    return MaxAbsScaler() if sparse else MinMaxScaler()


# ---- range files of svm-scale ------------------------------------------------------------------------------


def read_ranges(path: str) -> tuple[float, float, dict[int, tuple[float, float]]]:
    """Lower and upper end, and smallest and largest value by index, of a range file of svm-scale."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "it is not a text"
        raise InputError(
            f"--scale {path}: cannot read the range file: {what}. Give {', '.join(SCALES)}, or a file of svm-scale -s."
        ) from error
    if lines[:1] == ["y"]:
        raise UsageError(f"--scale {path}: the file scales the labels, too (svm-scale -y). Make one without -y.")
    if lines[:1] != ["x"]:
        raise DataError(path, "a range file of svm-scale begins with a line x", 1)
    ends, *rest = [(number, line.split()) for number, line in enumerate(lines[1:], 2) if line.strip()] or [(2, [])]
    lower, upper = _numbers(path, ends, 2)
    ranges = {}
    for line in rest:
        index, least, most = _numbers(path, line, 3)
        if not (index == int(index) >= 1 and least <= most):
            raise DataError(path, "expected: index smallest largest", line[0])
        ranges[int(index)] = (least, most)
    if not lower < upper:
        raise DataError(path, "the second line must be: lower upper", 2)
    return lower, upper, ranges


def _numbers(path: str, line: tuple[int, list[str]], count: int) -> list[float]:
    from ..base.inputs import number_of

    values = [number_of(word) for word in line[1]]
    if len(values) != count or None in values:
        raise DataError(path, f"expected {count} numbers. Got {' '.join(line[1])[:40]!r}", line[0])
    return [float(value) for value in values if value is not None]


def _range_scaler(path: str, width: int) -> Any:
    """Scaler with the ranges of a file. Features that are missing there or constant become 0, as in svm-scale."""
    import numpy as np
    from sklearn.preprocessing import MinMaxScaler

    lower, upper, ranges = read_ranges(path)
    if ranges and max(ranges) > width:
        raise UsageError(f"--scale {path}: the file has a feature {max(ranges)}, the data have {width}.")
    scaler = MinMaxScaler(feature_range=(lower, upper))
    least, most = np.zeros(width), np.zeros(width)
    for index, (a, b) in ranges.items():
        least[index - 1], most[index - 1] = a, b
    span = most - least
    scale = np.divide(upper - lower, span, out=np.zeros(width), where=span > 0)
    scaler.data_min_, scaler.data_max_, scaler.data_range_, scaler.scale_ = least, most, span, scale
    scaler.min_ = np.where(span > 0, lower - least * scale, 0.0)
    scaler.n_features_in_, scaler.n_samples_seen_ = width, 2
    return scaler


# ---- what is told ------------------------------------------------------------------------------------------


def _tell_categories(rows: Rows, console: Console | None) -> None:
    """Name the columns of texts with the number of their categories."""
    for k in rows.words:
        name = repr(rows.names[k]) if rows.names else str(k + 1)
        found = {cell for cell in rows.X[:, k].tolist() if isinstance(cell, str)}
        if len(found) > MOST_CATEGORIES:
            raise UsageError(
                f"column {name} has {len(found):,} different texts; categories have {MOST_CATEGORIES:,} at most. "
                "Leave the column out: --drop."
            )
        if console is not None:
            console.say(f"column {name}: {len(found)} categories")


def _hint(console: Console, rows: Rows, data: str) -> None:
    """Warn of features whose ranges are far apart."""
    import numpy as np

    from .data.sources import name_of

    spans = _spans(rows)
    positive = np.flatnonzero(spans > 0)
    if not len(positive):
        return
    small, large = (positive[place(spans[positive])] for place in (np.argmin, np.argmax))
    if spans[large] >= UNEVEN * spans[small]:
        console.warn(
            f"{name_of(data)}: features are not scaled: feature {_name(rows, small)} has a range of "
            f"{spans[small]:.3g}, feature {_name(rows, large)} of {spans[large]:.3g}, and large ones dominate. Try "
            "--scale standard or --scale minmax; --scale none silences this hint."
        )


def _spans(rows: Rows) -> np.ndarray:
    """Range of each feature; 0 of texts. Features of sparse rows have zeros: their largest values are their ranges."""
    import numpy as np
    import scipy.sparse as sp

    X: Any = rows.X
    if sp.issparse(X):
        largest = abs(X).max(axis=0).toarray().ravel() if X.nnz else np.zeros(1)
        return np.asarray(largest, dtype=float)
    spans = np.zeros(X.shape[1])
    for k in set(range(X.shape[1])) - {*rows.words}:
        column = X[:, k].astype(float)
        known = column[~np.isnan(column)]
        spans[k] = np.ptp(known) if len(known) else 0.0
    return spans


def _name(rows: Rows, k: int) -> str:
    return f"{k + 1} ({rows.names[k]})" if rows.names else str(k + 1)
