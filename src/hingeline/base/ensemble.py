"""Label bookkeeping and fitted attributes shared by all ensembles of machines that learn online.

The core holds rows, machines and counters; Python holds the values of the labels. A label's code is its position in the
order in which labels became known. The positive class of a machine is the larger of its two labels, or the class that
it separates from the rest.
"""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from .. import _core
from .frame import Frame
from .labels import label_column, libsvm_layout, read_only
from .objects import is_objects
from .rows import as_damage, require_sound
from .state import lock_of, snapshot

#: Attributes that scikit-learn reads in every call and ensembles do not have: no reason to read the core.
ASKED_ALWAYS = ("n_features_in_", "feature_names_in_")


class ReadsEnsemble:
    """Estimator whose fitted attributes are read from its ensemble on demand."""

    _reads_ensemble = True

    def _snapshot(self) -> Self:
        """The estimator at one moment, for predictions while another thread learns."""
        copy = snapshot(self)
        if "_model" in vars(copy):
            vars(copy).setdefault("_pinned", copy._model.read_fitted())
        return copy

    def _read_fitted(self) -> Any:
        """Attributes of one state."""
        own = vars(self)
        return own["_pinned"] if "_pinned" in own else own["_model"].read_fitted() if "_model" in own else self

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        if "_model" in vars(self):
            with as_damage():
                sound = isinstance(self._model, Ensemble) and "_gamma" in vars(self)
                require_sound(sound, "_model or _gamma is missing")
                require_sound(self._model.frozen.keys() <= self._frozen_parameters().keys(), "frozen has other names")

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self) or super().__sklearn_is_fitted__()  # type: ignore[misc]

    def __copy__(self) -> Any:
        """Independent copy: forgetting a point in one does not affect the other."""
        other = object.__new__(type(self))
        other.__dict__.update(vars(self))
        if "_model" in vars(self):
            vars(other)["_model"] = deepcopy(vars(self)["_model"])
        return other

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)  # raises the original error of a property
        ensemble = vars(self).get("_model")
        if ensemble is not None and name.endswith("_") and not name.startswith("_") and name not in ASKED_ALWAYS:
            brief = vars(self._read_fitted())
            attributes = brief if name in brief else ensemble.attributes()
            if name in attributes:
                return attributes[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Ensemble:
    """Machines of the core and their labels.

    Parameters
    ----------
    core : object
        Machines of the core.
    frozen : dict
        Parameters that cannot change between calls.
    frame : Frame or None, default=None
        Coordinates of the rows that the core holds; None: those of the user.
    """

    frame: Frame | None = None
    #: Objects that the rows of the core stand for, by the number in the row; None: rows of numbers.
    objects: dict[int, Any] | None = None
    #: Objects seen so far.
    n_objects = 0
    #: By name of a parameter that cannot change: what to do instead.
    remedies: dict[str, str] = {}

    def __init__(self, core: Any, frozen: dict[str, Any], frame: Frame | None = None) -> None:
        self.core = core
        self.frozen = frozen
        self.frame = frame
        self.labels: np.ndarray = np.array([])  # by code; the first core.n_classes are known
        self._read: tuple[int, SimpleNamespace] | None = None  # version of the core, and its state then
        self._all: tuple[int, dict[str, Any]] | None = None  # version of the core, and all attributes then

    @property
    def lock(self) -> Any:
        """Held while labels, ids and machines change together."""
        return lock_of(self)

    # ---- labels --------------------------------------------------------------------------------------

    @property
    def classes(self) -> np.ndarray:
        """Labels, sorted."""
        return np.sort(self.labels[: self.core.n_classes])

    def arrivals(self, y: np.ndarray, classes: Any = None) -> tuple[np.ndarray, list[tuple[int, int]]]:
        """Labels by code after a chunk, and when each new one becomes known.

        Declared labels become known at the start of the chunk, others at their first sample. Therefore results do not
        depend on how a stream is divided into chunks.

        Returns
        -------
        labels : ndarray
            Known labels, then new ones.
        arrivals : list of (int, int)
            For each new label: index of its first sample, and its rank among the labels known at that point.
        """
        known = self.labels[: self.core.n_classes]
        declared = self.find_unknown(classes)
        values, first = np.unique(y, return_index=True)
        self._require_same_kind(values, known if len(known) else declared)
        fresh = np.flatnonzero(~np.isin(values, known) & ~np.isin(values, declared))
        fresh = fresh[np.argsort(first[fresh])]
        parts = [part for part in (known, declared, values[fresh]) if len(part)]
        labels = np.concatenate(parts) if parts else values
        times = [0] * len(declared) + first[fresh].tolist()
        n_known = len(known)
        return labels, [(at, int((labels[: n_known + k] < labels[n_known + k]).sum())) for k, at in enumerate(times)]

    def encode(self, y: np.ndarray, classes: Any) -> tuple[np.ndarray, list[tuple[int, int]], np.ndarray]:
        """Labels by code after a chunk, when new ones become known (see :meth:`arrivals`), and codes of the samples."""
        known = self.labels[: self.core.n_classes]
        if classes is None and len(y) == 1 and known.dtype == y.dtype:  # a label that is known: no sorting
            same = known == y
            if same.any():
                return known, [], same.argmax(keepdims=True)
        labels, arrivals = self.arrivals(y, classes)
        order = np.argsort(labels)
        codes = order[np.searchsorted(labels, y, sorter=order)]
        return labels, arrivals, np.ascontiguousarray(codes, dtype=np.int64)

    def find_unknown(self, classes: Any) -> np.ndarray:
        """Declared labels that are not known yet, sorted."""
        known = self.labels[: self.core.n_classes]
        if classes is None:
            return known[:0]
        values = np.unique(label_column(classes, "classes"))
        assert_all_finite(values, input_name="classes")
        check_classification_targets(values)
        self._require_same_kind(values, known)
        return values[~np.isin(values, known)] if len(known) else values

    def know(self, classes: np.ndarray) -> None:
        """Declare sorted labels to an ensemble that has none."""
        self.labels = classes
        for place in range(len(classes)):
            self.core.add_class(place)

    @staticmethod
    def require_weights(weights: Any, y: np.ndarray) -> None:
        """Require numeric keys of class_weight for numeric labels, strings for strings."""
        keys = np.asarray(list(weights)) if weights else None
        if keys is not None and _kind(keys) != _kind(y):
            raise ValueError(f"The keys of class_weight have dtype {keys.dtype} but y has dtype {y.dtype}.")

    @staticmethod
    def _require_same_kind(labels: np.ndarray, known: np.ndarray) -> None:
        """Reject a mix of numeric and string labels."""
        if len(known) and len(labels) and _kind(known) != _kind(labels):
            raise ValueError(
                f"y has dtype {labels.dtype} but the labels seen so far have dtype {known.dtype}. Convert y to one "
                "type."
            )

    def require_frozen(self, frozen: dict[str, Any]) -> None:
        """Raise if a parameter has changed that cannot change between calls."""
        for name, value in self.frozen.items():
            if frozen[name] != value:
                raise ValueError(
                    f"{name} cannot change between calls of partial_fit (it was {value!r}, now it is "
                    f"{frozen[name]!r}); {self.remedies.get(name, 'use a new estimator')}."
                )

    # ---- rows and attributes -------------------------------------------------------------------------

    def encode_rows(self, X: Any) -> Any:
        """Rows for the core: X, or numbers in place of objects, which are kept as long as the core holds the numbers.

        Objects that are not learnt are dropped by a later call.
        """
        if not is_objects(X):
            return X
        with self.lock:
            if len(self.objects or ()) > 2 * self.core.n_rows + len(X):
                self.drop_objects()
            if self.objects is None:
                self.objects = {}
            first, self.n_objects = self.n_objects, self.n_objects + len(X)
            self.objects.update(enumerate(X, first))
            return np.arange(first, self.n_objects, dtype=np.float64)[:, np.newaxis]

    def drop_objects(self) -> None:
        """Drop the objects that the core does not hold."""
        if self.objects is not None:
            self.objects = self._select_objects(self._take_all())

    def _select_objects(self, rows: Any) -> dict[int, Any] | None:
        """Objects that rows of the core stand for."""
        if self.objects is None:
            return None
        numbers = [] if rows is None else rows[:, 0].astype(np.int64).tolist()
        return {number: self.objects[number] for number in numbers}

    def take(self, rows: np.ndarray) -> Any:
        """Rows held by the core, in the coordinates of the user, or the objects that they stand for."""
        return self._restore(self._take(rows))

    def _restore(self, rows: Any) -> Any:
        if self.objects is None:
            return rows if self.frame is None else self.frame.restore(rows)
        found = np.empty(len(rows), dtype=object)
        for k, number in enumerate(rows[:, 0].astype(np.int64).tolist()):
            found[k] = self.objects[number]
        return found

    def _take(self, rows: np.ndarray) -> Any:
        """Rows as the core holds them."""
        taken = self.core.take(np.ascontiguousarray(rows, dtype=np.int64))
        if not isinstance(taken, tuple):
            return taken
        return sp.csr_array(taken, shape=(len(rows), self.core.n_features))

    def read_fitted(self) -> SimpleNamespace:
        """Object with what decision values need of the current state; the same one until the core changes.

        A state that was read before is returned while another thread is changing the core.
        """
        read = self._read
        if read is None or read[0] != self.core.version:
            with self.lock:
                read = (self.core.version, SimpleNamespace(**self._attributes(brief=True)))
                self._read, self._all = read, None  # rows that have left a window are kept nowhere
        return read[1]

    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the current state by name."""
        with self.lock:
            if self._all is None or self._all[0] != self.core.version:
                self._all = self.core.version, self._attributes(brief=False)
            return self._all[1]

    def _attributes(self, *, brief: bool) -> dict[str, Any]:
        """Fitted attributes, read from the core; `brief`: only those that decision values need."""
        found = self.core.attributes(brief)
        rows = found.pop("row", None)
        attributes = {f"{name}_": value for name, value in libsvm_layout(found).items()}
        if rows is not None:
            support = self.take(rows) if self.core.has_rows else np.empty((0, 0))
            attributes["support_vectors_"] = read_only(support)
        return attributes

    # ---- saved states --------------------------------------------------------------------------------

    def _take_all(self) -> Any:
        """All rows that the core holds, or None."""
        return self._take(np.arange(self.core.n_rows)) if self.core.has_rows else None

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            left_out = ("core", "_read", "_all")
            state = {name: value for name, value in vars(self).items() if name not in left_out}
            state["labels"] = self.labels[: self.core.n_classes]
            rows = self._take_all()
            if self.objects is not None:
                state["objects"] = self._select_objects(rows)
            return {**state, "state": self.core.save(), "rows": rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with as_damage():
            rows, saved = state.pop("rows"), state.pop("state")
            vars(self).update(state, _read=None, _all=None)
            require_sound(isinstance(self.frozen, dict), "frozen must be a dictionary")
            require_sound(isinstance(self.frame, Frame | None), "frame must be a frame or None")
            require_sound(isinstance(self.labels, np.ndarray) and self.labels.ndim == 1, "labels must be an array")
            self.core = self._new_core()
            self.core.restore(saved, None if rows is None else _core.Matrix(rows))
            require_sound(self._is_sound(saved, rows), "labels or rows are missing")
            held = self._select_objects(rows)  # raises if one is missing
            require_sound(type(self.n_objects) is int and self.n_objects > max(held or [-1]), "n_objects is too small")
            self._configure_saved()

    def _is_sound(self, saved: dict[str, Any], rows: Any) -> bool:
        """Whether all labels and rows that the machines refer to are present."""
        needs_rows = self.frozen["kernel"] != "precomputed" and any(len(m["row"]) for m in saved["machines"])
        return len(self.labels) == self.core.n_classes and (rows is not None or not needs_rows)

    def _configure_saved(self) -> None:
        """Set the options of the core after it was restored."""

    def _new_core(self) -> Any:
        """Empty machines of the core, for a saved state."""
        raise NotImplementedError


def _kind(labels: np.ndarray) -> str:
    return {"b": "number", "i": "number", "u": "number", "f": "number", "O": "word", "U": "word"}.get(
        labels.dtype.kind, labels.dtype.kind
    )
