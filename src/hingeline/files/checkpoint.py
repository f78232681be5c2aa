"""A model that learns from a stream and survives crashes.

A folder holds generations, which are model files, and journals. Journal g holds the samples learnt since generation g.
A sample is in the journal, on disk, before it is learnt. The last two generations and their journals are kept, so that
a damaged generation loses nothing: the one before and both journals give the same model. Journal g is created before
generation g, so that a generation without its journal is damage.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from operator import or_
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._registry import phrase
from ..base.receipt import Receipt, hash_file
from ..base.warn import warn
from . import layout
from .durable import PART, erase, lock_file, map_file, sync_folder, unlock, write_atomically
from .fixed import Steps, parts_of, require_stream
from .journal import Journal, Origin
from .log import Damage, line, next_line, require_owner
from .models import pack, unpack

F = TypeVar("F", bound=Callable[..., Any])

#: Names of files. Numbers have ten digits, so that names and numbers have the same order.
GENERATION, JOURNAL, LOCK, INTENT = "model-{:010d}.safetensors", "journal-{:010d}.log", "lock", "forget.json"
#: Texts of a generation: the note of the user, and the number of the oldest generation that may stay in the folder.
NOTE, OLDEST = "note", "oldest"
#: Field of the list of points to forget.
POINTS = "points"


def _in_turn(method: F) -> F:
    """Decorator of a method that only one thread runs at a time, on a checkpoint that this process has opened."""

    @wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        require_owner(self.path, self._process)  # first: a thread that has the lock does not exist in a forked process
        with self._lock:
            if self._guard is None:
                raise ValueError("the checkpoint is closed; open it again")
            return method(self, *args, **keywords)

    return call  # type: ignore[return-value]


class Checkpoint:
    """Keep a model that learns from a stream on disk.

    What :meth:`learn` and :meth:`forget` have done when they return survives a crash of the process or of the system.
    Opening the folder again gives the same model, to the bit.

    Parameters
    ----------
    path : str or path-like
        Folder, which is created if it does not exist. One process can use it at a time.
    model : estimator or Pipeline, default=None
        Estimator to begin with, or a pipeline of fitted scalers of scikit-learn and an estimator: the stream does not
        change the scalers. It is ignored, except for its class, if the folder holds a model already.
    every : int, default=1000
        Number of samples after which the whole model is written. In between, samples are appended to a journal. None:
        only when :meth:`save` is called.
    functions : dict of str to callable, default=None
        Functions by the name of their parameter, as in :func:`hingeline.load`.

    Attributes
    ----------
    note : object
        The last note given to :meth:`learn` or :meth:`save`; None if there is none.

    See Also
    --------
    hingeline.save : One file, written when you say so.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import make_moons
    >>> from hingeline import LASVC, Checkpoint
    >>> X, y = make_moons(300, random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Checkpoint(folder.name, LASVC(gamma=2.0), every=100) as run:
    ...     run.learn(X[:150], y[:150], classes=[0, 1])
    >>> with Checkpoint(folder.name) as run:  # later, perhaps after a crash
    ...     n = run.model.n_samples_seen_
    ...     run.learn(X[n:], y[n:])
    ...     run.model.n_samples_seen_
    300
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Any = None,
        *,
        every: int | None = 1000,
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        if every is not None and (isinstance(every, bool) or int(every) != every or every < 1):
            raise ValueError(f"every must be an integer >= 1 or None. Got {every!r}.")
        if model is not None:
            require_stream(Steps.split(model)[1])  # before a folder is made
        self.path, self.every, self.functions = Path(path), every, dict(functions or {})
        self._steps = Steps([], [])
        self._learner: Any = None
        self.note: Any = None
        self._lock, self._process = RLock(), os.getpid()
        self._generation = 0  # number of the last one
        self._seen: int | None = None  # samples, and points that have left, as the files describe them
        self._gone = 0
        self._since = 0  # samples in the journal
        self._length = 0  # bytes of the journal that are acknowledged
        self._wipe = False  # whether files hold points that have left the model
        self._writing = False  # whether a generation was begun and not ended
        if not self.path.exists():
            self.path.mkdir(parents=True)
            sync_folder(self.path.parent)
        message = f"{self.path} is in use by another Checkpoint. Close it first."
        self._guard: int | None = lock_file(self.path / LOCK, message)
        try:
            self._open(model)
        except BaseException:
            self._release()
            raise

    @property
    def model(self) -> Any:
        """The model. Use it for predictions; change it through this object."""
        return self._steps.join(self._learner)

    # ---- what users call -----------------------------------------------------------------------------

    @_in_turn
    def learn(self, X: Any, y: Any = None, *, note: Any = None, **keywords: Any) -> None:
        """Learn the next samples of the stream; they are on disk when this returns.

        An error leaves the model and the folder as they were. After Ctrl-C or a crash the model has learnt none, some
        or all samples of the chunk: ``model.n_samples_seen_`` says how many samples of the stream it has learnt.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), default=None
            Labels; None for one-class models.
        note : object, default=None
            Numbers, strings, lists and dicts of these, kept with the samples as `note`: for example counters of the
            caller. None keeps the last note.
        **keywords : object
            Other arguments of ``partial_fit``: ``classes``, ``sample_weight``, ``ids``.
        """
        X = self._steps.transform(X)
        data = (X,) if y is None else (X, y)
        keywords = {name: _array(value) for name, value in keywords.items()}
        note = self.note if note is None else _copy_note(note)
        if self._seen is None:  # the first samples: a generation knows the names of the features, a journal does not
            return self._begin(data, keywords, note)
        self._catch_up()
        self._journal.add({"X": _array(X), "y": _array(y), "keywords": keywords, NOTE: note})
        try:
            self._learner.partial_fit(*data, **keywords)
        except BaseException:
            if _count_seen(self._learner) == self._seen:  # nothing was learnt
                self._journal.cut(self._length)
            raise
        self._acknowledge()
        self.note = note
        if self.every is not None and self._since >= self.every:
            try:
                self._write()
            except OSError as error:  # the samples are on disk
                warn(
                    f"{self.path}: no generation was written ({error}). The next call tries again; until then the "
                    "samples are in the journal.",
                    RuntimeWarning,
                )

    def _begin(self, data: tuple[Any, ...], keywords: dict[str, Any], note: Any) -> None:
        """Learn the first samples."""
        before, before_note = dict(vars(self._learner)), self.note
        self._learner.partial_fit(*data, **keywords)
        self.note = note
        try:
            self._write()
        except (OSError, TypeError):  # TypeError: samples that a file cannot store
            vars(self._learner).clear()
            vars(self._learner).update(before)
            self.note, self._writing = before_note, False
            raise

    @_in_turn
    def forget(self, ids: Any) -> Receipt:
        """Forget points, in the model and in the folder, as ``model.forget(ids)`` does in the model.

        When this returns, no file of the folder holds their rows. A crash meanwhile does not bring them back: opening
        the folder again completes the work.

        Parameters
        ----------
        ids : int, str, uuid.UUID or iterable of these
            Ids of the points.

        Returns
        -------
        Receipt
            What was removed, which model is left, and the generations in the folder.
        """
        if not hasattr(self._learner, "forget"):
            raise TypeError(
                f"{type(self._learner).__name__} cannot forget single points. {phrase('forgets_streams')} can."
            )
        ensemble, ids = self._learner._require_model(), _array(ids)
        numbers = ensemble.find_numbers(ids)
        self._catch_up()
        write_atomically(self.path / INTENT, [line({POINTS: numbers.tolist()})])
        try:
            receipt: Receipt = self._learner.forget(ids, receipt=True)
        except BaseException:
            if np.isin(numbers, ensemble.serials()).any():  # nothing was forgotten
                self._end_intent()
            raise
        self._write()
        generations = (self._file(GENERATION, number) for number in self._numbers(GENERATION))
        receipt.files = {path.name: hash_file(path) for path in generations}
        return receipt

    @_in_turn
    def restart(self, X: Any, y: Any = None, *, note: Any = None, **keywords: Any) -> None:
        """Begin again: a new model with the same parameters learns these samples, and replaces the present one.

        For streams that drift. When this returns, no file of the folder holds the old model. A crash leaves the old or
        the new model. ``model.n_samples_seen_`` counts from here; keep a total in `note`. An error in the samples
        changes nothing; if the disk fails, the new model is written at the next call.

        Parameters
        ----------
        X, y : array-like or sparse matrix
            Samples and labels, as in :meth:`learn`.
        note : object, default=None
            As in :meth:`learn`.
        **keywords : object
            Other arguments of ``partial_fit``, as for the first samples: ``classes``, ``sample_weight``, ``ids``.
        """
        note = self.note if note is None else _copy_note(note)
        X = self._steps.transform(X)
        learner = clone(self._learner)
        learner.partial_fit(*((X,) if y is None else (X, y)), **keywords)
        self._learner, self.note = learner, note
        self._wipe = True  # generations before this one must not be read with its journal
        self._write()

    @_in_turn
    def save(self, note: Any = None) -> None:
        """Write the whole model now.

        Parameters
        ----------
        note : object, default=None
            As in :meth:`learn`.
        """
        self.note = self.note if note is None else _copy_note(note)
        self._write()

    def close(self) -> None:
        """Write the model if it has changed since the last generation, and let others use the folder.

        In a forked process this does nothing: the folder belongs to the process that has opened it.
        """
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._guard is None:
                return
            try:
                if self._since:
                    self._write()
                self._catch_up()
            finally:
                self._release()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _release(self) -> None:
        """Let others use the folder."""
        if self._guard is not None:
            unlock(self._guard, self._process)
        self._guard = None

    # ---- generations ---------------------------------------------------------------------------------

    def _write(self) -> None:
        """Write a generation, and remove those that are not needed any more.

        If points have left the model, older files may hold them. Then the generation is written twice, and all older
        files are overwritten. The text `OLDEST` says which files may stay: a crash meanwhile changes nothing.
        """
        self._writing = True
        self._wipe = wipe = self._wipe or _count_gone(self._learner) != self._gone
        texts, arrays = map(or_, pack(self._learner), self._steps.pack())
        for copy in (0, 1) if wipe else (1,):
            number = self._generation + 1
            oldest = number - copy
            own = {NOTE: json.dumps(self.note), OLDEST: json.dumps(oldest)}
            origin = Origin(number, self._length, _count_seen(self._learner))
            journal = Journal.create(self._file(JOURNAL, number), origin)
            write_atomically(self._file(GENERATION, number), layout.pieces({**texts, **own}, arrays))
            self._generation, self._journal, self._length = number, journal, journal.length
        self._since = 0
        self._remember()
        self._remove(oldest, wipe=wipe)
        self._end_intent()
        self._writing = self._wipe = False

    def _file(self, name: str, number: int) -> Path:
        return self.path / name.format(number)

    def _numbers(self, name: str) -> list[int]:
        """Numbers of the generations or journals in the folder, in ascending order."""
        head, tail = name.split("{:010d}")
        found = (path.name.removeprefix(head).removesuffix(tail) for path in self.path.glob(f"{head}*{tail}"))
        return sorted(int(number) for number in found if number.isdecimal())

    def _remove(self, oldest: int, *, wipe: bool) -> None:
        """Remove generations and journals before number `oldest`, and files that a crash has left incomplete."""
        old = [self._file(name, k) for name in (GENERATION, JOURNAL) for k in self._numbers(name) if k < oldest]
        for path in (*old, *self.path.glob(f".*{PART}")):
            erase(path) if wipe or path.suffix == PART else os.unlink(path)
        sync_folder(self.path)

    def _end_intent(self) -> None:
        """Remove the list of points to forget."""
        if (self.path / INTENT).exists():
            os.unlink(self.path / INTENT)
            sync_folder(self.path)

    def _remember(self) -> None:
        """Take down what the files of the folder describe."""
        self._seen, self._gone = _count_seen(self._learner), _count_gone(self._learner)
        self._parameters = self._learner.get_params(deep=False)

    def _catch_up(self) -> None:
        """Write a generation if the model differs from what the files describe; else remove records not learnt.

        It differs if it was changed without this object, after Ctrl-C in the middle of a chunk, and after an error
        while a generation was written.
        """
        now = self._learner.get_params(deep=False)
        same = all(now[name] is value for name, value in self._parameters.items())
        if (
            self._writing
            or not same
            or _count_seen(self._learner) != self._seen
            or _count_gone(self._learner) != self._gone
        ):
            self._write()
        self._journal.cut(self._length)

    def _acknowledge(self) -> None:
        """Take down that the model has learnt the last record of the journal."""
        self._length = self._journal.length
        before, self._seen = self._seen, _count_seen(self._learner)
        self._since += (self._seen or 0) - (before or 0)
        self._wipe = self._wipe or _count_gone(self._learner) != self._gone
        self._gone = _count_gone(self._learner)

    # ---- opening -------------------------------------------------------------------------------------

    def _open(self, model: Any) -> None:
        generations = self._numbers(GENERATION)
        self._generation = max(generations + self._numbers(JOURNAL), default=0)
        if not generations:
            if model is None:
                raise ValueError(f"{self.path} holds no model. Give one to begin with: Checkpoint(path, model).")
            self._begin_folder(model)
            return
        good, oldest = self._load(generations)
        if model is not None and [*map(type, parts_of(model))] != [*map(type, parts_of(self.model))]:
            held, given = (" of ".join(type(one).__name__ for one in parts_of(each)) for each in (self.model, model))
            raise ValueError(f"{self.path} holds a {held}. Got a {given}; use another folder.")
        self._replay_all(good)
        self._complete_forgetting()
        if good < self._generation:  # damaged ones must not count as the generation before
            self._wipe = True
            self._write()
        self._remove(oldest, wipe=True)
        self._end_intent()

    def _begin_folder(self, model: Any) -> None:
        """Write the first generation. A crash may have left its journal, without samples."""
        for number in self._numbers(JOURNAL):
            path = self._file(JOURNAL, number)
            if number > 1 or not Journal(path).is_empty():
                raise ValueError(f"{path} belongs to a generation that is missing. Restore the folder from a copy.")
        self._generation = 0
        self._steps, self._learner = Steps.split(model)
        self._gone = _count_gone(self._learner)
        self._write()

    def _load(self, generations: list[int]) -> tuple[int, int]:
        """Load the last generation that is not damaged. Returns its number and the number of the oldest to keep."""
        errors = []
        for number in reversed(generations):
            path = self._file(GENERATION, number)
            try:
                content = map_file(path)
                texts, arrays = layout.read(content)
                self._learner = unpack(texts, arrays, len(content), functions=self.functions)
                self._steps = Steps.unpack(texts, arrays, len(content), self._learner)
                self.note, oldest = (layout.parse(texts[name], len(content)) for name in (NOTE, OLDEST))
                if type(oldest) is not int or not 0 <= oldest <= number:
                    raise ValueError(f"{OLDEST} must be a number of at most {number}. Got {oldest!r}")
            except (ValueError, KeyError) as error:
                errors.append(f"{path}: {error}")
                continue
            self._remember()
            if errors:
                warn(
                    f"{errors[0]}. The generation before it and the journals are used; they give the same model, "
                    "except for changes made without learn and forget.",
                )
            return number, oldest
        raise ValueError(f"no generation can be read: {'; '.join(errors)}")

    def _replay_all(self, good: int) -> None:
        """Learn what the journals of a generation and of all later ones hold.

        The origin of a journal says what was acknowledged before it. A journal without samples whose generation is
        missing was left by a crash: its generation was never acknowledged.
        """
        numbers = range(good, self._generation + 1)
        journals = [Journal(self._file(JOURNAL, number)) for number in numbers]
        for number, journal in zip(numbers, journals, strict=True):
            if journal.origin.number != number:
                raise ValueError(f"{journal.path} is journal {journal.origin.number}. Restore the file from a copy.")
        for journal, follower in zip(journals, [*journals[1:], None], strict=True):
            self._replay(journal, None if follower is None else follower.origin.previous)
            if follower is None or _count_seen(self._learner) == follower.origin.seen:
                continue
            path = self._file(GENERATION, follower.origin.number)
            if path.exists() or follower is not journals[-1] or not follower.is_empty():
                raise ValueError(
                    f"{path} is damaged or missing. It had seen {follower.origin.seen} samples; the generation before "
                    f"it and its journal give {_count_seen(self._learner)}, because samples were learnt without learn. "
                    f"Restore the file from a copy, or remove {path.name} and {follower.path.name} to go on "
                    "without them."
                )

    def _replay(self, journal: Journal, end: int | None) -> None:
        """Learn what a journal holds before a byte; None: up to its end.

        In the latter case the last record may be of a call that has raised an error, and is removed.
        """
        self._journal, self._length = journal, journal.length
        for begin, last, record in journal.samples(end):
            if record.keys() != {"X", "y", "keywords", NOTE} or not isinstance(record["keywords"], dict):
                raise ValueError(f"{journal.path}: the record at byte {begin} has other fields than those of learn")
            data = (record["X"],) if record["y"] is None else (record["X"], record["y"])
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._learner.partial_fit(*data, **record["keywords"])
            except (ValueError, TypeError, AttributeError) as error:
                if not last or end is not None:
                    raise ValueError(f"{journal.path}: the record at byte {begin} does not fit the model") from error
                warn(
                    f"{journal.path}: the last record does not fit the model ({error}). It is removed: learn "
                    "has raised this error before a crash.",
                )
                break
            self.note = record[NOTE]
            self._acknowledge()
        if end is None:
            journal.length = self._length
            journal.settle()

    def _complete_forgetting(self) -> None:
        """Forget the points of a call that a crash has ended."""
        path = self.path / INTENT
        if not path.exists():
            return
        numbers = _points(path)
        if not hasattr(self._learner, "forget") or _count_seen(self._learner) is None:
            raise ValueError(f"{path} does not belong to this model, which cannot forget points. Remove the file.")
        ensemble = self._learner._require_model()
        ids = [ensemble.name_of[number] for number in ensemble.serials().tolist() if number in numbers]
        if ids:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._learner.forget(ids)
        self._write()


def _points(path: Path) -> set[int]:
    """Numbers of the points to forget; ValueError if the file is damaged."""
    content = path.read_bytes()
    try:
        found = next_line(content, 0, b"{")
        if found is None or found[1] != len(content):
            raise Damage("it was cut off or extended")
        numbers = found[0].get(POINTS)
        if found[0].keys() != {POINTS} or not isinstance(numbers, list) or not all(type(one) is int for one in numbers):
            raise Damage(f"it must hold {POINTS!r}, a list of integers")
    except Damage as error:
        raise ValueError(
            f"{path}: {error}. A crash has ended a call of forget. Remove the file, open the folder and forget the "
            "points again; until then their rows stay in the folder."
        ) from error
    return set(numbers)


def _count_seen(model: Any) -> int | None:
    """Number of samples that a model has seen; None if it has not begun."""
    ensemble = vars(model).get("_model")
    return None if ensemble is None else int(ensemble.core.n_seen)


def _count_gone(model: Any) -> int:
    """Number of points that have left a model."""
    ensemble = vars(model).get("_model")
    return int(ensemble.core.n_seen - ensemble.core.n_rows) if ensemble is not None and hasattr(model, "forget") else 0


def _array(values: Any) -> Any:
    """Values of an argument as a journal stores them."""
    if sp.issparse(values):
        return values.tocsr()
    if hasattr(values, "__array__"):
        return np.asarray(values)
    return list(values) if isinstance(values, Iterator | range) else values


def _copy_note(note: Any) -> Any:
    """Copy of a note; TypeError or ValueError if it is not plain data."""
    return json.loads(json.dumps(note, allow_nan=False))
