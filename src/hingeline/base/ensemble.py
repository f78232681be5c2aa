"""Two-class machines over one store of rows: the labels they know, and what they publish.

What the machines compute is the core's business; here is what they share, whatever they learn with.
"""

from __future__ import annotations

from threading import RLock
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from .. import _core
from .labels import assemble

#: scikit-learn asks whether these exist in every call; the machines do not have them.
ASKED_ALWAYS = ("n_features_in_", "feature_names_in_")


class ReadsMachines:
    """An estimator whose fitted attributes are read from its machines when somebody asks."""

    def _fitted(self) -> Any:
        """All attributes of one moment: another thread may be learning."""
        machines = vars(self).get("_online")
        return self if machines is None else SimpleNamespace(**machines.attributes())

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)  # raises again what brought us here
        machines = vars(self).get("_online")
        if machines is not None and name.endswith("_") and not name.startswith("_") and name not in ASKED_ALWAYS:
            attributes = machines.attributes()
            if name in attributes:
                return attributes[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Machines:
    """One-vs-one or one-vs-rest machines over one store of rows.

    Labels have codes in the order in which they became known. The positive class of a machine is the label that sorts
    last of its two, or the one that is set against the rest.

    Parameters
    ----------
    model : object
        The core's machines.
    frozen : dict
        Parameters that cannot change from one call to the next.
    multi_class : {'ovo', 'ovr'}
        Machines for each pair of classes, or for each class against the rest.
    """

    #: What to do about a parameter that cannot change, where there is something.
    remedies: dict[str, str] = {}

    def __init__(self, model: Any, frozen: dict[str, Any], multi_class: str) -> None:
        self.model = model
        self.frozen = frozen
        self.multi_class = multi_class
        self.labels: np.ndarray = np.array([])  # in the order in which they became known
        self.machines: list[tuple[int, int]] = []
        self.n_seen = 0
        self.lock = RLock()  # of what is kept here beside the core
        self._read: dict[str, Any] = {}

    # ---- labels --------------------------------------------------------------------------------------

    @property
    def classes(self) -> np.ndarray:
        """Labels, sorted."""
        return np.unique(self.labels)

    def know(self, labels: np.ndarray) -> None:
        """Labels that may come from now on, and the machines they need."""
        for k in range(len(labels)):
            self._know(labels[k : k + 1])

    def _know(self, label: np.ndarray) -> None:
        new = len(self.labels)
        self._read = {}
        self.labels = np.concatenate([self.labels, label]) if new else label
        if self.multi_class == "ovo" or new < 2:
            for old in range(new):
                larger = new if self.labels[new] > self.labels[old] else old
                smaller = new + old - larger
                self._add(larger, smaller if self.multi_class == "ovo" else -1)
            return
        if new == 2:  # so far one machine told two classes apart; the other class gets its own now
            self.model.add_mirrored(0, 1 - self.machines[0][0])
            self.machines.append((1 - self.machines[0][0], -1))
        self._add(new, -1)

    def _add(self, positive: int, negative: int) -> None:
        self.model.add(positive, negative)
        self.machines.append((positive, negative))

    def codes(self, y: np.ndarray) -> np.ndarray:
        """Codes of labels, all of them known."""
        order = np.argsort(self.labels)
        return np.ascontiguousarray(order[np.searchsorted(self.labels, y, sorter=order)], dtype=np.int64)

    def unknown(self, labels: Any) -> np.ndarray:
        """Those of the labels that are not known, sorted."""
        if labels is None:
            return self.labels[:0]
        values = np.unique(column_or_1d(labels))
        assert_all_finite(values, input_name="classes")
        check_classification_targets(values)
        self._require_kin(values)
        return values[~np.isin(values, self.labels)] if len(self.labels) else values

    def parts(self, y: np.ndarray, declared: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
        """Stretches of y, each with the label that becomes known at its start (the first: none).

        A label that nobody has declared is not known before its first sample, wherever a stream is cut into chunks.
        """
        labels, first = np.unique(y, return_index=True)
        self._require_kin(labels, declared)
        fresh = np.flatnonzero(~np.isin(labels, self.labels) & ~np.isin(labels, declared))
        fresh = fresh[np.argsort(first[fresh])]
        cuts = first[fresh].tolist()
        news = [labels[:0], *(labels[k : k + 1] for k in fresh)]
        return list(zip([0, *cuts], [*cuts, len(y)], news, strict=True))

    def require_weights(self, weights: Any, y: np.ndarray) -> None:
        """Keys of class_weight must be such as labels are."""
        keys = np.asarray(list(weights or {}))
        if len(keys) and _kind(keys) != _kind(y):
            raise ValueError(f"The keys of class_weight are of type {keys.dtype}, the labels of type {y.dtype}.")

    def _require_kin(self, labels: np.ndarray, declared: Any = ()) -> None:
        """Numbers and words have no common order."""
        known = self.labels if len(self.labels) else np.asarray(declared)
        if len(known) and _kind(known) != _kind(labels):
            raise ValueError(
                f"Labels of type {labels.dtype} cannot join labels of type {known.dtype}; give y and classes one type."
            )

    def require_frozen(self, frozen: dict[str, Any]) -> None:
        """Refuse other values of parameters that cannot change."""
        for name, value in self.frozen.items():
            if frozen[name] != value:
                raise ValueError(
                    f"{name} cannot change between calls of partial_fit (it was {value!r}, now it is "
                    f"{frozen[name]!r}); {self.remedies.get(name, 'use a new estimator')}."
                )

    # ---- rows ----------------------------------------------------------------------------------------

    def _source(self, source: Any) -> Any:
        """A function gets rows rather than their numbers in the store."""
        if isinstance(source, _core.Kernel | _core.Matrix):
            return source
        return lambda queries, base: source(self.take(queries), self.take(base))

    def take(self, rows: np.ndarray) -> Any:
        """Rows of the store."""
        taken = self.model.take(np.ascontiguousarray(rows, dtype=np.int64))
        if not isinstance(taken, tuple):
            return taken
        return sp.csr_array(taken, shape=(len(rows), self.model.n_features))

    # ---- results -------------------------------------------------------------------------------------

    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the model as it is now, read from the core once."""
        with self.lock:
            if not self._read:
                self._read = self._attributes()
            return self._read

    def _attributes(self) -> dict[str, Any]:
        raise NotImplementedError

    def sorted_machines(self) -> list[int]:
        """Numbers of the machines in the order of their classes, as scikit-learn has them."""
        place = np.searchsorted(self.classes, self.labels)

        def key(m: int) -> tuple[int, ...]:
            positive, negative = self.machines[m]
            return (place[positive],) if negative < 0 else (place[negative], place[positive])

        return sorted(range(len(self.machines)), key=key)

    def _results(self) -> tuple[list[dict[str, Any]], dict[str, np.ndarray], np.ndarray]:
        """Machines in the order of the classes, their joint expansion, and where its rows are stored.

        With two classes positive values speak for the second; one-vs-one with more: machine (i, j) speaks for i.
        """
        classes = self.classes
        place = np.searchsorted(classes, self.labels)
        several = len(classes) > 2
        found = [self.model.result(m) for m in range(len(self.machines))]
        for result, (_, negative) in zip(found, self.machines, strict=True):
            result["code"] = place[result["code"]]
            if several and negative >= 0:
                result["coef"], result["intercept"] = -result["coef"], -result["intercept"]
        found = [found[m] for m in self.sorted_machines()]
        union = assemble(found, len(classes), one_vs_rest=several and self.multi_class == "ovr")
        return found, union, np.concatenate([result["row"] for result in found])[union["pick"]]


def _kind(labels: np.ndarray) -> str:
    return {"b": "number", "i": "number", "u": "number", "f": "number", "O": "word", "U": "word"}.get(
        labels.dtype.kind, labels.dtype.kind
    )
