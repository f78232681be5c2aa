"""Ensembles of exact machines over points that are added and removed, each with an id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import _core
from ..base.ensemble import Ensemble
from ..base.frame import Frame
from ..base.ids import as_list, as_plain
from ..base.types import Id, Ids
from ..base.warn import warn

#: Values of the core that are not fitted attributes.
INTERNAL = ("C_", "near_", "ready_", "square_")


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
    frame : Frame or None, default=None
        Coordinates of the rows.
    """

    #: Counts of the points, and the sigmoids that were fitted to these points.
    calibration: tuple[tuple[Any, ...], Any] = ((), None)

    remedies = {name: f"call set_{name} for the exact path to it" for name in ("C", "nu")}

    def __init__(
        self, problem: str, C: float, nu: float, frozen: dict[str, Any], dense: bool, frame: Frame | None = None
    ) -> None:
        super().__init__(_core.Incremental(problem, C=C, nu=nu), frozen, frame)
        self.problem = problem
        self.dense = dense
        self.own_ids = False  # whether ids are given by the user
        self.name_of: dict[int, Any] = {}  # ids by number, of the points held and perhaps of others

    # ---- ids -----------------------------------------------------------------------------------------

    def check_ids(self, ids: Ids | None, count: int) -> list[Id] | None:
        """Checked ids of the next points; None: their numbers."""
        if self.core.n_seen and self.own_ids != (ids is not None):
            raise ValueError(
                "ids must be given for all points or for none: numbers given automatically could mean another point."
            )
        if ids is None:
            return None
        names = [as_plain(name) for name in as_list(ids)]
        if len(names) != count:
            raise ValueError(f"ids must have one entry per sample: got {len(names)} for {count} samples.")
        return names

    @property
    def id_of(self) -> dict[int, Any]:
        """Ids by number of the points held, in the order of their arrival.

        The core says which points are held, so that Ctrl-C at any moment leaves ids and points consistent.
        """
        with self.lock:
            held = np.sort(self.core.points()["serial"])
            return {number: self.name_of[number] for number in held.tolist()}

    def find_numbers(self, ids: Ids) -> np.ndarray:
        """Numbers of all points with one of the ids."""
        names = dict.fromkeys(as_plain(name) for name in as_list(ids))
        held = set(self.core.points()["serial"].tolist())
        points: dict[Id, list[Any]] = {} if self.own_ids else {name: [name] for name in names if name in held}
        for number, name in self.name_of.items() if self.own_ids else ():
            if name in names and number in held:
                points.setdefault(name, []).append(number)
        unknown = [name for name in names if name not in points]
        if unknown:
            raise KeyError(f"no point has the ids {unknown[:5]!r}" + (" ..." if len(unknown) > 5 else ""))
        return np.array([number for name in names for number in points[name]], dtype=np.int64)

    # ---- learning ------------------------------------------------------------------------------------

    def expect(self, names: list[Any], own: bool, labels: np.ndarray) -> None:
        """Take ids and labels of points that the core is about to learn; those it does not learn are ignored."""
        if len(self.name_of) > 2 * self.core.n_rows + len(names):
            self.name_of = self.id_of  # points that have left the window
        self.name_of.update(enumerate(names, self.core.n_seen))
        self.own_ids, self.labels = own, labels

    def keep_calibration(self, counts: tuple[Any, ...], sigmoids: np.ndarray) -> None:
        """Keep the sigmoids that were fitted to the points with these counts, if they are still the points held."""
        with self.lock:
            if counts == self.counts:
                self.calibration = (counts, sigmoids)

    def forget(self, source: _core.Source, numbers: np.ndarray, threads: int) -> None:
        """Remove points exactly, and their ids."""
        with self.lock:
            self.core.forget(source, numbers, threads=threads)
            for number in numbers.tolist():
                del self.name_of[number]
            self.drop_objects()
            self._read = self._all = None  # they hold support vectors
            vars(self).pop("calibration", None)

    def move(self, source: _core.Source, C: float, nu: float, threads: int, commit: Callable[[], object]) -> None:
        """Follow the exact path to another C, or to another nu if it is above 0; then call `commit`.

        No signal is handled between both if `commit` is a function of C: machines and what it stores change together,
        or not at all.
        """
        with self.lock:
            self.core.bound(source, C=C, nu=nu, threads=threads, commit=commit)

    def require_frozen(self, frozen: dict[str, Any], free: Iterable[str] = ()) -> None:
        """Raise if a parameter has changed that cannot change between calls, except those named in `free`."""
        self.frozen |= self._bounds()
        super().require_frozen({**frozen, **{name: self.frozen[name] for name in free if name in self.frozen}})

    def _bounds(self) -> dict[str, Any]:
        """Those of C and nu that are parameters, as the core has them."""
        by_share = self.core.nu > 0
        bounds = {"C": None if by_share else self.core.C, "nu": self.core.nu if by_share else None}
        return {name: value for name, value in bounds.items() if name in self.frozen}

    def complaints(self, *, visited: bool = False) -> Iterator[str]:
        """Text of a warning if the KKT violation exceeds rounding errors.

        `visited` asks for the states visited by the last leave-one-out or path call instead of the current state.
        """
        violation, limit = self.core.reached(visited=visited)
        if violation > limit:
            yield (
                f"The optimum was not reached: the largest KKT violation is {violation:.3g}, above {limit:.3g}. The "
                "kernel matrix is nearly singular: scale the features, remove equal rows, or lower C."
            )

    def warn(self, *, visited: bool = False) -> None:
        """Issue the complaints."""
        for text in self.complaints(visited=visited):
            warn(text, ConvergenceWarning)

    @property
    def counts(self) -> tuple[Any, ...]:
        """Numbers that differ whenever points, classes or C do: each point seen has a new number, and none returns."""
        return self.core.n_seen, self.core.n_rows, self.core.n_classes, self.core.C

    def serials(self) -> np.ndarray:
        """Numbers of the points held, in the order of their arrival."""
        return np.sort(self.core.points()["serial"])

    def points(self) -> dict[str, np.ndarray]:
        """Classes (indices into ``classes``), weights and rows of these points."""
        points = self.core.points()
        order = np.argsort(points["serial"])
        return {"code": points["code"][order], "weight": points["weight"][order], "row": order}

    # ---- rows and attributes -------------------------------------------------------------------------

    def take(self, rows: np.ndarray) -> Any:
        """Rows held by the core, dense or CSR as the first rows."""
        if self.dense:
            return self._restore(self.core.take_dense(np.ascontiguousarray(rows, dtype=np.int64)))
        return super().take(rows)

    def _attributes(self, *, brief: bool) -> dict[str, Any]:
        found = super()._attributes(brief=brief)
        found.update({f"_{name[:-1]}": found.pop(name) for name in INTERNAL if name in found})
        if self.problem == "classes":
            found.update(classes_=self.classes, _n_held=self.core.n_rows, _counts=self.counts)
        elif found:  # OneClassSVM has coefficients up to 1
            found["_scale"] = found["_C"] if self.problem == "plane" else 1.0
            found["_near"] = self.take(found["_near"]) if len(found["_near"]) else None
            found["_scores"] = SimpleNamespace(
                dual_coef_=found["dual_coef_"] / found["_scale"],
                support_vectors_=found["support_vectors_"],
                intercept_=np.zeros(1),
            )
        return found

    # ---- saved states --------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> ExactEnsemble:
        """Copy through arrays of the core, which are overwritten when they are released."""
        other = object.__new__(type(self))
        state = self.__getstate__()
        other.__setstate__(state)
        return other

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            state = {**super().__getstate__(), "name_of": self.id_of, "frozen": {**self.frozen, **self._bounds()}}
            if self.calibration[0] != self.counts:
                state.pop("calibration", None)
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        counts, sigmoids = self.calibration
        if counts and (np.shape(sigmoids) != (2, self.core.n_machines) or not np.isfinite(sigmoids).all()):
            raise ValueError("the saved state is damaged: sigmoids of the machines are missing")

    def _is_sound(self, saved: dict[str, Any], rows: Any) -> bool:
        n_labels, held = self.core.n_classes if self.problem == "classes" else 0, self.serials().tolist()
        names = list(self.name_of.values())
        sound_names = list(map(as_plain, names)) == names if self.own_ids else names == held
        sound_kinds = isinstance(self.dense, bool) and isinstance(self.own_ids, bool)
        return len(self.labels) == n_labels and list(self.name_of) == held and sound_names and sound_kinds

    def _new_core(self) -> Any:
        return _core.Incremental(self.problem, C=1.0, nu=0.0)
