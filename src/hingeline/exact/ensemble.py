"""Ensembles of exact machines over points that are added and removed, each with an id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import _core
from ..base.ensemble import Ensemble

#: Values of the core that are not fitted attributes.
INTERNAL = ("C_", "ready_", "square_")


class ExactEnsemble(Ensemble):
    """Ensemble of exact machines over points that are added and removed.

    Points are numbered in the order of their arrival. The id of a point is its number, or the id given by the user.

    Parameters
    ----------
    problem : {'classes', 'sphere', 'plane'}
        Classification, or one-class SVM with a sphere or a plane.
    C, nu : float
        Upper bound of the coefficients: C, or ``1 / (nu n)`` if nu is above 0.
    frozen : dict
        Parameters that cannot change between calls.
    dense : bool
        Whether rows are returned as arrays.
    """

    remedies = {name: f"call set_{name} for the exact path to it" for name in ("C", "nu")}

    def __init__(self, problem: str, C: float, nu: float, frozen: dict[str, Any], dense: bool) -> None:
        super().__init__(_core.Incremental(problem, C=C, nu=nu), frozen)
        self.problem = problem
        self.dense = dense
        self.n_seen = 0
        self.own_ids: bool | None = None  # whether ids are given by the user; None before the first point
        self.id_of: dict[int, Any] = {}  # of the points held, in the order of their arrival
        self.points_of: dict[Any, list[int]] = {}

    # ---- ids -----------------------------------------------------------------------------------------

    def named(self, ids: Any, count: int) -> list[Any] | None:
        """Checked ids of the next points; None if they are numbered."""
        if self.own_ids is not None and self.own_ids != (ids is not None):
            raise ValueError(
                "ids must be given for all points of a model or for none: an id could equal the number of a point."
            )
        if ids is None:
            return None
        names = [_plain(name) for name in _listed(ids)]
        if len(names) != count:
            raise ValueError(f"ids must have one entry per sample. Got {len(names)} ids for {count} samples.")
        return names

    def numbers(self, ids: Any) -> np.ndarray:
        """Numbers of all points with one of the ids."""
        names = dict.fromkeys(_plain(name) for name in _listed(ids))
        unknown = [name for name in names if name not in self.points_of]
        if unknown:
            raise KeyError(f"no point has the ids {unknown[:5]!r}" + (" ..." if len(unknown) > 5 else ""))
        return np.array([number for name in names for number in self.points_of[name]], dtype=np.int64)

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            name = self.id_of.pop(number)
            self.points_of[name].remove(number)
            if not self.points_of[name]:
                del self.points_of[name]

    # ---- learning ------------------------------------------------------------------------------------

    @contextmanager
    def recording(self, numbers: list[int], names: list[Any], own: bool, labels: np.ndarray) -> Iterator[None]:
        """Record the ids of points that the core learns in this block.

        After Ctrl-C the points learnt so far are recorded, after an error none. `own` tells whether the user gave the
        ids.
        """
        before, self.labels = self.labels, labels
        try:
            yield
        except KeyboardInterrupt:
            names = names[: max(0, self.core.last_serial + 1 - self.n_seen)]
            raise
        except BaseException:
            names, self.labels = [], before
            raise
        finally:
            self.changed()
            if names:
                self.own_ids = own
            for number, name in zip(numbers, names, strict=False):
                self.id_of[number] = name
                self.points_of.setdefault(name, []).append(number)
            self.n_seen += len(names)
            self._drop(self.core.evicted().tolist())

    def forget(self, source: Any, numbers: np.ndarray, threads: int) -> None:
        """Remove points exactly."""
        with self.lock:
            try:
                self.core.forget(source, numbers, threads=threads)
            finally:
                self.changed()
                self._drop(self.core.evicted().tolist())

    def bound(self, source: Any, C: float, nu: float, threads: int) -> None:
        """Follow the exact path to another C, or to another nu if it is above 0."""
        with self.lock:
            try:
                self.core.bound(source, C=C, nu=nu, threads=threads)
            finally:
                self.changed()

    def numbers_held(self) -> np.ndarray:
        """Numbers of the points held, in the order of their arrival."""
        return np.array(list(self.id_of), dtype=np.int64)

    def points_held(self) -> dict[str, np.ndarray]:
        """Classes (indices into ``classes``), weights and rows of these points."""
        points = self.core.points()
        order = np.argsort(points["serial"])
        return {"code": points["code"][order], "weight": points["weight"][order], "row": order}

    # ---- rows and attributes -------------------------------------------------------------------------

    def take(self, rows: np.ndarray) -> Any:
        """Rows held by the core, dense or CSR as the first rows."""
        if self.dense:
            return self.core.take_dense(np.ascontiguousarray(rows, dtype=np.int64))
        return super().take(rows)

    def attributes(self) -> dict[str, Any]:
        with self.lock:
            if self._read is None:
                found = super().attributes()
                found.update({f"_{name[:-1]}": found.pop(name) for name in INTERNAL if name in found})
                if self.problem == "classes":
                    found["classes_"] = self.classes
                elif found:  # coefficients of sklearn.svm.OneClassSVM go up to 1
                    found["_scale"] = found["_C"] if self.problem == "plane" else 1.0
                    found["_scores"] = SimpleNamespace(
                        dual_coef_=found["dual_coef_"] / found["_scale"],
                        support_vectors_=found["support_vectors_"],
                        intercept_=np.zeros(1),
                    )
            return self._read or {}

    # ---- saved states --------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> ExactEnsemble:
        """Copy through arrays of the core, whose memory is overwritten when released."""
        other = object.__new__(type(self))
        state = self.__getstate__()
        for name in ("frozen", "id_of"):
            state[name] = state[name].copy()
        state["points_of"] = {name: numbers.copy() for name, numbers in self.points_of.items()}
        other.__setstate__(state)
        return other

    def _is_sound(self, saved: dict[str, Any], rows: Any) -> bool:
        n_labels = self.core.n_classes if self.problem == "classes" else 0
        return len(self.labels) == n_labels and sorted(self.core.points()["serial"].tolist()) == list(self.id_of)

    def _new_core(self) -> Any:
        return _core.Incremental(self.problem, C=1.0, nu=0.0)


def _listed(ids: Any) -> list[Any]:
    if isinstance(ids, np.ndarray) and ids.ndim == 0:
        ids = ids.item()
    single = isinstance(ids, str | bytes | bytearray | Integral) or not isinstance(ids, Iterable)
    return [ids] if single else list(ids)


def _plain(name: Any) -> Any:
    """Id as a Python int or str."""
    if isinstance(name, bool | np.bool_) or not isinstance(name, str | Integral):
        raise TypeError(f"ids must be integers or strings. Got {name!r}.")
    return str(name) if isinstance(name, str) else int(name)
