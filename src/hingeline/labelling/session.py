"""Questions and answers of a pool: an active learner, the journal of its answers, and what the page shows of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from threading import Lock, RLock, Thread
from typing import Any

import numpy as np

from ..active import ActiveLearner, Event, largest_positive, near_boundary
from ..files.models import save
from . import exports
from .answers import AnswerJournal
from .errors import ContentError
from .pools import FilePool, Pool, TablePool
from .search import Finder

__all__ = ["Outdated", "Session"]

#: Version of the journal.
VERSION = 1
#: Answers over which the curves are averaged.
WINDOW = 20
#: Answers that are not drawn, because an average over fewer says little.
FEWEST = 4
#: Points of a curve that the page draws.
POINTS = 150
#: Answers after which the model is saved.
SAVE_EVERY = 25
#: Largest number of classes, and longest name of a class in characters.
MOST_CLASSES, LONGEST_NAME = 200, 100


class Outdated(Exception):
    """The request belongs to an earlier state: another window was faster, or the request came twice."""


class Session:
    """Labelling of one pool.

    Each answer is in the journal, on disk, when the call that gives it returns. Calls from several threads wait for one
    another.

    Parameters
    ----------
    pool : Pool
        Examples.
    learner : ActiveLearner
        Learner that has not been asked yet. Its pool has one row for each example.
    journal : AnswerJournal
        Journal; answers in it are replayed.
    classes : sequence, default=()
        Labels to choose from, besides those in the journal.
    fixed : bool, default=False
        Whether no other labels may be added.
    known : mapping of int to label, default=None
        Labels that are known before the first question. They are ignored if the journal is not empty.
    model_path, export_path : Path, default=None
        Files to which the model and the labels are written by :meth:`finish`.
    """

    def __init__(
        self,
        pool: Pool,
        learner: ActiveLearner,
        journal: AnswerJournal,
        *,
        classes: Sequence[Any] = (),
        fixed: bool = False,
        known: Mapping[int, Any] | None = None,
        model_path: Path | None = None,
        export_path: Path | None = None,
    ) -> None:
        self.pool, self.learner, self.journal, self.fixed = pool, learner, journal, fixed
        self.model_path, self.export_path = model_path, export_path
        self.classes: list[Any] = list(classes) if fixed else []
        self.turn = 0
        self._n_known = 0  # events that cannot be undone: labels that were known at the start
        self._row_of: dict[str, int] = {}
        self._lock, self._saving = RLock(), Lock()
        self._finder = Finder(pool)
        self._replay()
        if known and all(record["kind"] in ("pool", "classes") for record in journal.records):
            self._extend([*classes, *known.values()])
            self._note({**asdict(learner.answer(list(known), list(known.values()))), "known": True})
        self._extend([*classes, *learner.labels.values()])

    # ---- what happened before ------------------------------------------------------------------------

    def _replay(self) -> None:
        """Apply the records of the journal, and note the pool if it is new or has grown."""
        seen = 0
        for number, record in enumerate(self.journal.records, 1):
            try:
                seen = self._replay_one(record, seen)
            except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
                reason = f"{error} is missing" if isinstance(error, KeyError) else error
                raise ContentError(self.journal.path, number, str(reason)) from error
        if seen < len(self.pool):
            self._note(
                {
                    "kind": "pool",
                    "version": VERSION,
                    "hingeline": version("hingeline"),
                    "pool": self.pool.kind,
                    "name": self.pool.name,
                    "n_rows": len(self.pool),
                    "identity": self._identity(len(self.pool)),
                }
            )

    def _identity(self, n_rows: int) -> str | None:
        """Hash of the first rows of a table. Files are told apart by their names, which are in the journal."""
        return self.pool.identity(n_rows) if isinstance(self.pool, TablePool) else None

    def _replay_one(self, record: Mapping[str, Any], seen: int) -> int:
        """Apply a record. Returns the number of rows of the pool that the journal knows."""
        self.turn += 1
        if record["kind"] == "pool":
            self._check_pool(record)
            return int(record["n_rows"])
        if record["kind"] == "classes":
            self.classes += self._check_classes(record["classes"])
        else:
            rows = {"rows": self._rows(record["names"])} if "names" in record else {}
            self.learner.replay([{**record, **rows}])
            self._n_known += bool(record.get("known"))
        return seen

    def _check_pool(self, record: Mapping[str, Any]) -> None:
        if record["version"] != VERSION:
            raise ValueError(f"version {record['version']!r} of the journal is not known; this is version {VERSION}.")
        n_rows, is_table = record["n_rows"], self.pool.kind == "table"
        same = record["pool"] == self.pool.kind and not (is_table and n_rows > len(self.pool))
        if not same or self._identity(n_rows) != record["identity"]:
            raise ValueError(
                f"the answers belong to another pool ({record['name']}, {n_rows} examples), or its first rows have "
                "changed. Rows may be added at the end only. Give another file with --answers."
            )

    def _rows(self, names: Sequence[str]) -> list[int]:
        """Rows of files, which may have changed if files were added."""
        if not isinstance(self.pool, FilePool):
            raise ValueError("names belong to files, and the pool is a table.")
        if not self._row_of:
            self._row_of = {name: row for row, name in enumerate(self.pool.names)}
        for name in names:
            if name not in self._row_of:
                raise ValueError(f"there is no file {name!r} in {self.pool.folder}. Put it back.")
        return [self._row_of[name] for name in names]

    # ---- answers -------------------------------------------------------------------------------------

    def act(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do what the page asks for.

        Parameters
        ----------
        request : dict
            'action': 'label', 'skip', 'unsure', 'reopen', 'undo' or 'classes'; 'turn': the state that the page shows;
            'row' and 'class': numbers of an example and of a class; 'names': new classes.

        Returns
        -------
        dict
            The new state, as :meth:`state` gives it. ValueError if the request is wrong, Outdated if its turn is over,
            RuntimeError in a forked process.
        """
        self.journal.require_owner()  # first: a thread that has the lock does not exist in a forked process
        actions: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "label": self._label,
            "skip": lambda given: self._keep(self.learner.skip(_number(given, "row"))),
            "unsure": lambda given: self._keep(self.learner.unsure(_number(given, "row"))),
            "reopen": lambda given: self._keep(self.learner.reopen(_number(given, "row"))),
            "undo": self._undo,
            "classes": self._add_classes,
        }
        action = actions.get(str(request.get("action")))
        if action is None:
            raise ValueError(f"action must be one of {', '.join(map(repr, actions))}. Got {request.get('action')!r}.")
        with self._lock:
            if _number(request, "turn") != self.turn:
                raise Outdated
            action(request)
            self._save_sometimes()
            return self.state()

    def _label(self, given: Mapping[str, Any]) -> None:
        row, place = _number(given, "row"), _number(given, "class")
        if not 0 <= place < len(self.classes):
            raise ValueError(f"class must be at least 0 and below {len(self.classes)}. Got {place}.")
        has_label = self.learner.status_of(row) == "labelled"
        self._keep((self.learner.relabel if has_label else self.learner.answer)(row, self.classes[place]))

    def _keep(self, event: Event) -> None:
        """Write an event to the journal; if that fails, take it back."""
        names = {"names": [self.pool.names[row] for row in event.rows]} if isinstance(self.pool, FilePool) else {}
        try:
            self._note({**asdict(event), **names})
        except BaseException:
            self.learner.undo()
            raise

    def _undo(self, given: Mapping[str, Any]) -> None:
        if not self.can_undo:
            raise ValueError("There is nothing to undo.")
        event = self.learner.undo()
        try:
            self._note({"kind": "undo"})
        except BaseException:
            self.learner.replay([asdict(event)])
            raise

    def _note(self, record: Mapping[str, Any]) -> None:
        self.journal.append(record)
        self.turn += 1
        self._n_known += bool(record.get("known"))

    def _add_classes(self, given: Mapping[str, Any]) -> None:
        names = given.get("names")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("names must be a list of strings.")
        self._extend([name.strip() for name in names])

    def _extend(self, labels: Sequence[Any]) -> None:
        """Add labels to the classes, also in the journal."""
        fresh = self._check_classes(labels)
        if fresh:
            self._note({"kind": "classes", "classes": fresh})
            self.classes += fresh

    def _check_classes(self, labels: Sequence[Any]) -> list[Any]:
        """Labels that are no classes yet, and may become some."""
        fresh = [label for label in dict.fromkeys(labels) if label not in self.classes]
        if fresh and self.fixed:
            raise ValueError(f"The model knows the classes {self.classes!r} only. Got {fresh[0]!r}.")
        for name in fresh:
            if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
                raise ValueError(f"Names of classes must have 1 to {LONGEST_NAME} printable characters. Got {name!r}.")
        most = 2 if getattr(self.learner.rule, "utility", None) in (near_boundary, largest_positive) else MOST_CLASSES
        if len(self.classes) + len(fresh) > most:
            advice = " The rule asks about two classes; use --rule margin." if most == 2 else ""
            raise ValueError(f"There may be {most} classes. Got {len(self.classes) + len(fresh)}.{advice}")
        return fresh

    @property
    def can_undo(self) -> bool:
        """Whether there is an answer that can be taken back."""
        return len(self.learner.history) > self._n_known

    # ---- what the page shows -------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What the page shows, of plain objects that JSON can hold."""
        with self._lock:
            learner, history = self.learner, self.learner.history
            asked: Sequence[int] = learner.ask().tolist() if len(self.classes) > 1 else []
            counts = learner.counts
            return {
                "turn": self.turn,
                "pool": {"name": self.pool.name, "kind": self.pool.kind, "n_rows": len(self.pool)},
                "classes": [{"name": str(label), "count": counts.get(label, 0)} for label in self.classes],
                "fixed": self.fixed,
                "n_labelled": learner.n_labelled,
                "n_open": learner.n_open,
                "n_passed": len(self.pool) - learner.n_labelled - learner.n_open,
                "question": self.example(asked[0]) if asked else None,
                "last": self._last(history) if self.can_undo else None,
                "curves": _curves(history),
                "advice": {name: _simplify(value) for name, value in asdict(learner.advice()).items()},
            }

    def example(self, row: int) -> dict[str, Any]:
        """Content of an example, its status, and what the model guesses."""
        with self._lock:
            status = self.learner.status_of(row)
            guess = self.learner.estimator.predict(self.learner.pool[[row]])[0] if self.learner.is_ready else None
            return {
                "row": row,
                "title": self.pool.title(row),
                "status": status,
                "label": self._place(self.learner.labels.get(row)),
                "guess": self._place(guess),
                **self.pool.show(row),
            }

    def _place(self, label: Any) -> int | None:
        return self.classes.index(label) if label is not None and label in self.classes else None

    def _last(self, history: Sequence[Event]) -> dict[str, Any]:
        event = history[-1]
        label = str(event.labels[0]) if event.labels else None
        return {"kind": event.kind, "row": event.rows[0], "title": self.pool.title(event.rows[0]), "label": label}

    def find(self, text: str, scope: str, label: int | None, start: int, most: int) -> dict[str, Any]:
        """Examples whose text contains some words.

        Parameters
        ----------
        text : str
            Words, all of which must occur, in upper or lower case.
        scope : {'answered', 'passed', 'open', 'all'}
            Examples with a label, those that were skipped or left as unsure, those without answer, or all. The first
            two are ordered by the last answer, newest first.
        label : int or None
            Number of the class, None: any.
        start, most : int
            Number of matches that are left out, and largest number that is returned.

        Returns
        -------
        dict
            'total', and 'items' with row, title, snippet, status and label.
        """
        with self._lock:
            history, labels, open_rows = self.learner.history, self.learner.labels, self.learner.open_rows
        rows: Sequence[int] | Iterator[int]
        if scope == "all":
            rows = range(len(self.pool))
        elif scope == "open":
            rows = open_rows.tolist()
        elif scope in ("answered", "passed"):
            newest = dict.fromkeys(row for event in reversed(history) for row in reversed(event.rows))
            free = set(open_rows.tolist())
            rows = [row for row in newest if row not in free and (row in labels) == (scope == "answered")]
        else:
            raise ValueError(f"scope must be 'answered', 'passed', 'open' or 'all'. Got {scope!r}.")
        if label is not None:
            wanted = self.classes[label] if 0 <= label < len(self.classes) else None
            rows = [row for row in rows if row in labels and labels[row] == wanted]
        found = self._finder.matches(text, rows)
        return {"total": len(found), "items": [self._item(row) for row in found[start : start + most]]}

    def _item(self, row: int) -> dict[str, Any]:
        with self._lock:
            status, label = self.learner.status_of(row), self._place(self.learner.labels.get(row))
        return {
            "row": row,
            "title": self.pool.title(row),
            "snippet": self.pool.snippet(row),
            "status": status,
            "label": label,
        }

    # ---- files ---------------------------------------------------------------------------------------

    def export(self, form: str) -> bytes:
        """Labels as a file.

        Parameters
        ----------
        form : {'labels.csv', 'labels.json', 'predictions.csv'}
            Labelled rows; the same with all that is known; all rows with the predictions of the model.

        Returns
        -------
        bytes
            Content.
        """
        with self._lock:
            return exports.FORMS[form](self.pool, self.learner)

    def finish(self) -> list[Path]:
        """Write the labels and the model to their files. Returns these files."""
        self.journal.require_owner()
        with self._lock:
            written = []
            if self.export_path is not None:
                exports.write(self.export_path, self.pool, self.learner)
                written.append(self.export_path)
            if self.model_path is not None and self.learner.n_labelled:
                self._save_model()
                written.append(self.model_path)
            return written

    def _save_sometimes(self) -> None:
        if self.model_path is not None and self.turn % SAVE_EVERY == 0 and self.learner.n_labelled:
            Thread(target=self._try_to_save_model, daemon=True).start()

    def _try_to_save_model(self) -> None:
        with suppress(OSError):  # finish tries again, and reports it
            self._save_model()

    def _save_model(self) -> None:
        assert self.model_path is not None
        with self._saving:
            save(self.learner.estimator, self.model_path)


def _number(given: Mapping[str, Any], name: str) -> int:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} must be an integer. Got {value!r}.")
    return value


def _simplify(value: Any) -> Any:
    """Value that JSON can hold: None instead of NaN."""
    return None if isinstance(value, float) and np.isnan(value) else value


def _curves(history: Sequence[Event]) -> dict[str, list[float]]:
    """Learning curves over the last answers, against the number of labels.

    'guessed' is the share of answers that the model had predicted, 'kept' the share of its predictions that they left
    as they were.
    """
    answers = [event for event in history if event.kind == "answer" and event.predicted and event.changed is not None]
    hits = np.array([event.predicted == event.labels for event in answers], dtype=np.float64)
    changes = np.array([event.changed for event in answers], dtype=np.float64)
    sizes = np.minimum(np.arange(1, len(answers) + 1), WINDOW)
    guessed, changed = _last_sums(hits) / sizes, _last_sums(changes) * WINDOW / sizes
    kept = 1 - np.minimum(changed, 1)
    shown = np.arange(FEWEST, len(answers))
    points = shown[np.unique(np.linspace(0, len(shown) - 1, POINTS).astype(int))] if len(shown) else shown
    return {
        "n_labelled": [answers[k].n_labelled for k in points],
        "guessed": guessed[points].round(4).tolist(),
        "kept": kept[points].round(4).tolist(),
    }


def _last_sums(values: np.ndarray) -> np.ndarray:
    """Sums of each value and those before it, WINDOW values at most."""
    sums = np.concatenate([np.zeros(WINDOW), np.cumsum(values)])
    return sums[WINDOW:] - sums[: len(values)]
