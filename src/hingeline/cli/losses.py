"""Counters of a stream: losses, drift, new labels, and the lines about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..streams import ADWIN
from .console import one_line

#: Note of a stream that begins.
NEW: dict[str, Any] = {
    "examples": 0,  # learnt, with those of earlier models
    "predicted": 0,
    "errors": 0,
    "line_at": 1,  # predictions before the next line
    "line_predicted": 0,  # predictions and errors before the last line
    "line_errors": 0,
    "last": [],  # predictions of the last batch
    "before": 0,  # examples of earlier data
    "restarted": 0,  # examples that earlier models have learnt
    "labels": {},  # label as a text: example where it was new
    "window": None,  # state of the drift alarm
    "drifts": [],
    "shorten": 0,  # examples to keep, while the others are to be forgotten
}


class Losses:
    """What is known about the predictions of a stream. All of it is in `note`, which the checkpoint keeps.

    Parameters
    ----------
    note : dict
        Note of the checkpoint; it is changed.
    every : int or None
        Predictions between two lines; None: twice as many each time.
    watch : bool
        Whether drift is looked for.
    what : str
        Word for the errors.
    """

    def __init__(self, note: dict[str, Any], every: int | None, watch: bool, what: str) -> None:
        self.note, self.every, self.watch, self.what = note, every, watch, what
        self.window = ADWIN() if note["window"] is None else ADWIN.from_state(note["window"])

    def head(self) -> str:
        """Names of the columns."""
        since = "since last" if self.every is None else f"last {self.every:,}"
        return f"{self.what:>9} {since:>10} {'predicted':>12} {'label':>10} {'prediction':>10}"

    def add(self, labels: np.ndarray | None, predicted: np.ndarray) -> list[str]:
        """Count a batch; returns the lines that the schedule asks for. Outliers count where there are no labels."""
        note = self.note
        note["last"] = list(map(one_line, predicted.tolist()))
        wrong = predicted == -1 if labels is None else predicted != labels
        lines = []
        for k, error in enumerate(wrong.tolist()):
            note["predicted"] += 1
            note["errors"] += error
            if self._is_due():
                lines.append(self._line("" if labels is None else labels[k], predicted[k]))
                note["line_predicted"], note["line_errors"] = note["predicted"], note["errors"]
                while note["line_at"] <= note["predicted"]:
                    note["line_at"] *= 2
        return lines

    def _is_due(self) -> bool:
        n = self.note["predicted"]
        return bool(n == self.note["line_at"] if self.every is None else n % self.every == 0)

    def _line(self, label: object, predicted: object) -> str:
        note = self.note
        since = note["predicted"] - note["line_predicted"]
        recent = (note["errors"] - note["line_errors"]) / max(since, 1)
        loss = note["errors"] / note["predicted"]
        return f"{loss:9.6f} {recent:10.6f} {note['predicted']:12,} {label!s:>10} {predicted!s:>10}"

    def find_drift(self, labels: np.ndarray | None, predicted: np.ndarray, example: int) -> str | None:
        """Look for drift in a batch that ends with this example. Returns what to say about it, or None."""
        if not self.watch:
            return None
        risen = self.window.update(predicted == -1 if labels is None else predicted != labels)
        self.note["window"] = self.window.state()
        if not risen:
            return None
        before, mean, width = self.window.before, self.window.mean, self.window.width
        self.note["drifts"].append({"example": example, "before": before, "after": mean, "predictions": width})
        word = "loss" if self.what == "loss" else "share of outliers"
        rise = f"the {word} rose from {before:.3f} to {mean:.3f}"
        return f"drift at example {example:,}: {rise} (last {width:,} predictions)"

    def forget_window(self) -> None:
        """Begin a new window: the model is another one."""
        self.window = ADWIN()
        self.note["window"] = None

    def find_new(self, labels: Iterable[object], known: Iterable[object], first: int) -> list[str]:
        """Lines about labels that are new, of a batch that begins with example number `first`."""
        seen = {str(label) for label in known} | self.note["labels"].keys()
        lines = []
        for k, label in enumerate(map(str, labels), first):
            if label not in seen:
                seen.add(label)
                self.note["labels"][label] = k
                lines.append(f"new label {one_line(label)} at example {k:,}")
        return lines

    def result(self) -> dict[str, Any]:
        """Keys of the JSON object."""
        note = self.note
        counted = self.watch and self.window.width > 0
        return {
            "predicted": note["predicted"],
            "errors": note["errors"],
            "loss": note["errors"] / note["predicted"] if note["predicted"] else None,
            "recent_loss": self.window.mean if counted else None,
            "recent_predictions": self.window.width if counted else None,
            "drifts": note["drifts"],
            "new_labels": note["labels"],
        }

    def summary(self, examples: int) -> str:
        """Last line; empty without predictions."""
        found = self.result()
        if found["loss"] is None:
            return ""
        text = f"{examples:,} examples, {self.what} {found['loss']:.6f} of {found['predicted']:,} predictions"
        if (found["recent_predictions"] or found["predicted"]) < found["predicted"]:
            text += f", {found['recent_loss']:.6f} of the last {found['recent_predictions']:,}"
        return text
