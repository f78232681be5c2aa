"""Tables of scores as the user gives them: data frames, mappings, arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Names = tuple[str, ...]
#: Scores by method: a data frame, a mapping of columns, or rows.
Table: TypeAlias = Mapping[str, Sequence[float] | Mapping[str, float]] | npt.ArrayLike


def read_table(
    given: Table, methods: Sequence[str] | None, datasets: Sequence[str] | None
) -> tuple[npt.NDArray[np.float64], Names, Names]:
    """Scores of shape (n_datasets, n_methods), names of the methods, names of the data sets."""
    table: Any = given
    if hasattr(table, "columns"):
        _refuse_names(methods, "methods", "the columns of the data frame")
        methods = list(table.columns)
        if datasets is None and hasattr(table, "index"):
            datasets = list(table.index)
        table = table.to_numpy()
    elif isinstance(table, Mapping):
        _refuse_names(methods, "methods", "the keys of the mapping")
        methods = list(table)
        table, datasets = _columns(table, datasets)
    if isinstance(table, np.ma.MaskedArray):
        table = np.ma.filled(table.astype(float), np.nan)
    scores = _numbers(table)
    n, k = scores.shape
    names, places = _names(methods, k, "methods", "method"), _names(datasets, n, "datasets", "data set")
    if k < 2:
        raise ValueError(f"table must have at least two methods (columns); got {k}.")
    if n < 2:
        raise ValueError(f"table must have at least two data sets (rows); got {n}.")
    missing = [f"{names[j]} on {places[i]}" for i, j in np.argwhere(np.isnan(scores))]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise ValueError(
            f"table must have a score in every cell; missing: {', '.join(missing[:3])}{more}. Leave out the data set "
            "or the method."
        )
    return scores, names, places


def _numbers(table: Any) -> npt.NDArray[np.float64]:
    try:
        cells = np.asarray(table)
        if cells.dtype == object:  # None and pandas.NA are missing cells
            cells = np.array([[np.nan if _is_missing(cell) else cell for cell in row] for row in cells])
        if cells.dtype.kind not in "fiu":
            raise TypeError(f"dtype {cells.dtype}")
        scores = cells.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"table must hold numbers, as many in every row; got {error}.") from error
    if scores.ndim != 2:
        raise ValueError(f"table must have two dimensions, data sets and methods; got shape {scores.shape}.")
    return scores


def _is_missing(cell: object) -> bool:
    return cell is None or type(cell).__name__ == "NAType"


def _columns(table: Mapping[Any, Any], datasets: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    """Rows of a mapping, and the names of the data sets."""
    columns = list(table.values())
    if columns and all(isinstance(column, Mapping) for column in columns):
        _refuse_names(datasets, "datasets", "the keys of the inner mappings")
        datasets = list(dict.fromkeys(name for column in columns for name in column))
        return [[column.get(name) for column in columns] for name in datasets], datasets
    columns = [np.asarray(column, dtype=object) for column in columns]
    lengths = {str(name): len(column) for name, column in zip(table, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"table must have as many scores for every method; got {lengths}.")
    return np.column_stack(columns) if columns else np.empty((0, 0)), datasets


def _refuse_names(names: Sequence[str] | None, argument: str, source: str) -> None:
    if names is not None:
        raise ValueError(f"{argument} must be None if the table has names; got {list(names)}. The names are {source}.")


def _names(names: Sequence[str] | None, count: int, argument: str, word: str) -> Names:
    if names is None:
        return tuple(f"{word} {place}" for place in range(1, count + 1))
    found = tuple(map(str, names))
    if len(found) != count:
        raise ValueError(f"{argument} must have {count} names, one for each {word}; got {len(found)}.")
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise ValueError(f"{argument} must be different names; more than once: {', '.join(twice)}.")
    return found
