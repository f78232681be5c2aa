"""Labels as CSV and JSON files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..active import ActiveLearner, margin
from ..files.durable import write_atomically
from .pools import Pool, is_number

#: First characters with which spreadsheets take a text for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(path: Path, pool: Pool, learner: ActiveLearner) -> None:
    """Write the labels to a file; the ending of its name says in which form."""
    form = "labels.json" if path.suffix.lower() == ".json" else "labels.csv"
    write_atomically(path, [FORMS[form](pool, learner)])


def _labels_csv(pool: Pool, learner: ActiveLearner) -> bytes:
    name = "label" if "label" not in pool.columns else "given label"
    labels = sorted(learner.labels.items())
    lines = ([row, *pool.cells(row), label] for row, label in labels)
    return _csv(["row", *pool.columns, name], lines)


def _labels_json(pool: Pool, learner: ActiveLearner) -> bytes:
    labels = learner.labels
    answered = sorted({row for event in learner.history for row in event.rows} - set(learner.open_rows.tolist()))
    examples = [
        {
            "row": row,
            "status": learner.status_of(row),
            "label": labels.get(row),
            "content": dict(zip(pool.columns, pool.cells(row), strict=True)),
        }
        for row in answered
    ]
    content = {"pool": pool.name, "n_rows": len(pool), "examples": examples}
    return json.dumps(content, ensure_ascii=False, indent=1).encode()


def _predictions_csv(pool: Pool, learner: ActiveLearner) -> bytes:
    if not learner.is_ready:
        raise ValueError("There is no model yet: it needs answers of two classes.")
    labels, status = learner.labels, ["open"] * len(pool)
    predicted = learner.estimator.predict(learner.pool)
    margins = -margin(learner.scores())
    for event in learner.history:
        for row in event.rows:
            status[row] = learner.status_of(row)
    names = [] if pool.kind == "table" else ["name"]
    lines = (
        [row, *pool.cells(row)[: len(names)], status[row], labels.get(row, ""), guess, f"{size:.6g}"]
        for row, (guess, size) in enumerate(zip(predicted.tolist(), np.asarray(margins).tolist(), strict=True))
    )
    return _csv(["row", *names, "status", "label", "predicted", "margin"], lines)


def _csv(names: Iterable[Any], lines: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for line in (names, *lines):
        writer.writerow([_disarm(cell) for cell in line])
    return text.getvalue().encode()


def _disarm(cell: Any) -> Any:
    """Cell with an apostrophe before it if a spreadsheet would take it for a formula; numbers stay as they are."""
    if isinstance(cell, str) and cell.startswith(FORMULA) and not is_number(cell):
        return f"'{cell}"
    return cell


#: Functions that make the content of an export, by its name.
FORMS = {"labels.csv": _labels_csv, "labels.json": _labels_json, "predictions.csv": _predictions_csv}
