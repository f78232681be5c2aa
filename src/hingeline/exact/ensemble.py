"""What exact incremental estimators share: points with ids, machines over them, and the calls that change them."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from numbers import Integral
from threading import RLock
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..base import params
from ..base.ensemble import Machines, ReadsMachines
from ..base.fit import run_in_slices
from ..base.kernel import KERNEL_RULES, KernelEstimator

#: A matrix of kernel values must be positive semi-definite: no sigmoid, no polynomial with a negative constant.
INCREMENTAL_RULES = {
    "kernel": params.one_of("linear", "poly", "rbf") | params.function(),
    "gamma": KERNEL_RULES["gamma"],
    "degree": KERNEL_RULES["degree"],
    "coef0": params.real(least=0.0),
    "n_jobs": KERNEL_RULES["n_jobs"],
    "window": params.integer(least=2) | params.nothing(),
    "window_rule": params.one_of("relevance", "oldest"),
    "memory_limit": params.real(above=0.0, most=1e12),
}


class IncrementalMachines(Machines):
    """Exact machines over points that come and go.

    Points are numbered as they come. Each has an id: its number, or what the caller gave.

    Parameters
    ----------
    problem : {'classes', 'sphere', 'plane'}
        What is solved.
    C, nu : float
        Bound of the coefficients; nu above 0 makes it ``1 / (nu n)``.
    frozen : dict
        Parameters that cannot change from one call to the next.
    dense : bool
        Whether rows are given back as arrays.
    """

    remedies = {name: f"call set_{name} for the exact path to it" for name in ("C", "nu")}

    def __init__(self, problem: str, C: float, nu: float, frozen: dict[str, Any], dense: bool) -> None:
        super().__init__(_core.Incremental(problem, C=C, nu=nu), frozen, "ovr")
        self.problem = problem
        self.dense = dense
        self.own_ids: bool | None = None  # whether the caller gives them; None: no point has come
        self.id_of: dict[int, Any] = {}  # of the points held, in the order in which they came
        self.points_of: dict[Any, list[int]] = {}
        if problem != "classes":
            self._add(0, -1)

    # ---- ids -----------------------------------------------------------------------------------------

    def named(self, ids: Any, count: int) -> list[Any] | None:
        """Ids that the caller gives to the next points; None: their numbers."""
        if self.own_ids is not None and self.own_ids != (ids is not None):
            raise ValueError(
                "ids must be given for all points or for none: numbers given automatically could mean another point."
            )
        if ids is None:
            return None
        names = [_plain(name) for name in _listed(ids)]
        if len(names) != count:
            raise ValueError(f"ids must have one entry per sample: got {len(names)} for {count} samples.")
        return names

    def numbers(self, ids: Any) -> np.ndarray:
        """Numbers of all points that carry one of the ids."""
        names = dict.fromkeys(_plain(name) for name in _listed(ids))
        unknown = [name for name in names if name not in self.points_of]
        if unknown:
            raise KeyError(f"no point is held under the ids {unknown[:5]!r}" + (" ..." if len(unknown) > 5 else ""))
        return np.array([number for name in names for number in self.points_of[name]], dtype=np.int64)

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            name = self.id_of.pop(number)
            self.points_of[name].remove(number)
            if not self.points_of[name]:
                del self.points_of[name]

    # ---- learning ------------------------------------------------------------------------------------

    def learn(
        self, source: Any, X: Any, codes: np.ndarray, weights: np.ndarray, names: list[Any] | None, threads: int
    ) -> list[Any]:
        """Learn from rows in their order; their ids. After Ctrl-C those that were learnt are held."""
        with self.lock:
            return self._learn(source, X, codes, weights, names, threads)

    def _learn(
        self, source: Any, X: Any, codes: np.ndarray, weights: np.ndarray, given: list[Any] | None, threads: int
    ) -> list[Any]:
        rows = np.arange(len(codes))
        numbers = self.n_seen + rows
        names = numbers.tolist() if given is None else given
        try:
            self.model.learn(self._source(source), _core.Matrix(X), rows, numbers, codes, weights, threads=threads)
        except KeyboardInterrupt:
            last = self.model.last_serial
            names = names[: max(0, last + 1 - self.n_seen)]
            raise
        except BaseException:
            names = []
            raise
        finally:
            self._read = {}
            if names:
                self.own_ids = given is not None
            for number, name in zip(numbers.tolist(), names, strict=False):
                self.id_of[number] = name
                self.points_of.setdefault(name, []).append(number)
            self.n_seen += len(names)
            self._drop(self.model.evicted().tolist())
        return names

    def forget(self, source: Any, numbers: np.ndarray, threads: int) -> None:
        """Let points go, exactly."""
        with self.lock:
            try:
                self.model.forget(self._source(source), numbers, threads=threads)
            finally:
                self._read = {}
                self._drop(self.model.evicted().tolist())

    def bound(self, source: Any, C: float, nu: float, threads: int) -> None:
        """Another C, or another nu where it is above 0, along the exact path."""
        try:
            self.model.bound(self._source(source), C=C, nu=nu, threads=threads)
        finally:
            self._read = {}

    def numbers_held(self) -> np.ndarray:
        """Numbers of the points held, in the order in which they came."""
        return np.array(list(self.id_of), dtype=np.int64)

    def codes_held(self) -> np.ndarray:
        """Classes of these points, as places in ``classes``."""
        held = self.model.held()
        place = np.searchsorted(self.classes, self.labels)
        return place[held["code"][np.argsort(held["serial"])]]

    def take(self, rows: np.ndarray) -> Any:
        """Rows of the store, in the form in which they came."""
        if self.dense:
            return self.model.take_dense(np.ascontiguousarray(rows, dtype=np.int64))
        return super().take(rows)

    # ---- results -------------------------------------------------------------------------------------

    def _attributes(self) -> dict[str, Any]:
        if not self.machines:  # one class has come so far
            return {}
        machines, union, rows = self._results()

        def each(key: str) -> np.ndarray:
            return np.array([machine[key] for machine in machines])

        seconds = {key: sum(m["seconds"][key] for m in machines) for key in machines[0]["seconds"]}
        seconds["kernel"] += self.model.kernel_seconds
        return {
            "support_": union["support"],
            "n_support_": union["n_support"],
            "dual_coef_": union["dual_coef"],
            "support_vectors_": self.take(rows),
            "intercept_": each("intercept") + 0.0,
            "n_iter_": each("steps"),
            "n_margin_": each("margin"),
            "n_rebuilds_": each("rebuilds"),
            "n_corrections_": each("corrections"),
            "n_refinements_": each("refinements"),
            "n_restarts_": each("restarts"),
            "profile_": seconds,
            "bytes_touched_": float(each("bytes").sum()),
            "_square": each("square"),
            "_C": float(self.model.C),
            "_ready": bool(each("ready").all()),
        }

    def sorted_machines(self) -> list[int]:
        return super().sorted_machines() if self.problem == "classes" else [0]

    def _results(self) -> tuple[list[dict[str, Any]], dict[str, np.ndarray], np.ndarray]:
        if self.problem == "classes":
            return super()._results()
        found = self.model.result(0)
        order = np.argsort(found["chosen"])
        fits = len(order) == 0 or found["chosen"].max() < 2**31
        support = found["chosen"][order]
        union = {
            "support": support.astype(np.int32) if fits else support,
            "n_support": np.array([len(order)], dtype=np.int32),
            "dual_coef": found["coef"][order][np.newaxis],
        }
        return [found], union, found["row"][order]

    # ---- files ---------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> IncrementalMachines:
        """A copy through arrays of the core's, which are overwritten when they go."""
        other = object.__new__(type(self))
        state = self.__getstate__()
        for name in ("frozen", "machines", "id_of"):
            state[name] = state[name].copy()
        state["points_of"] = {name: numbers.copy() for name, numbers in self.points_of.items()}
        other.__setstate__(state)
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in ("model", "lock", "_read")}
        rows = Machines.take(self, np.arange(self.model.n_stored)) if self.model.has_rows else None
        return {**state, "states": self.model.states(), "held": self.model.held(), "rows": rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows, states, held = (state.pop(name) for name in ("rows", "states", "held"))
        vars(self).update(state, _read={}, lock=RLock())
        if len(states) != len(self.machines) or sorted(held["serial"].tolist()) != list(self.id_of):
            raise ValueError("the saved state of a machine is damaged")
        self.model = _core.Incremental(self.problem, C=1.0, nu=0.0)
        self.model.restore(states, held, None if rows is None else _core.Matrix(rows), len(self.labels))


class IncrementalEstimator(ReadsMachines, KernelEstimator):
    """Base of the exact incremental estimators: what they do with points that they hold."""

    _dtypes = (np.float64,)

    def forget(self, ids: Any) -> Any:
        """Remove points exactly: the model becomes the optimum of what is left.

        Rows and kernel values leave memory, and memory that was used for them is overwritten; the ids leave the model.
        An error or Ctrl-C leaves the model as it was (Ctrl-C after the last step comes too late).

        Parameters
        ----------
        ids : int, str or iterable of these
            All points that carry one of them go.

        Returns
        -------
        object
            The estimator.
        """
        machines = self._ready_machines()
        with machines.lock:
            numbers = machines.numbers(ids)
            if len(numbers):
                machines.forget(self._source(), numbers, self._training_threads())
        return self

    def kkt_violation(self) -> float:
        """Largest violation of the optimality conditions, from kernel values computed anew.

        Returns
        -------
        float
            In units of the decision function; rounding errors of about ``1e-14 * C * max K(x, x)`` are normal.
        """
        machines = self._ready_machines()
        return float(machines.model.violation(machines._source(self._source()), threads=self._training_threads()))

    @property
    def condition_(self) -> np.ndarray:
        """Condition number, in the 1-norm, of each machine's margin system."""
        machines = vars(self).get("_online")
        if machines is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'condition_'")
        try:
            machines.require_frozen(self._frozen())
        except ValueError as error:  # of an attribute this means that there is none
            raise AttributeError(str(error)) from error
        self._configure(machines)
        source, threads = machines._source(self._source()), self._training_threads()
        return np.array([machines.model.condition(source, m, threads=threads) for m in machines.sorted_machines()])

    @property
    def ids_(self) -> list[Any]:
        """Ids of the points held, in the order in which they came."""
        return list(self._held().id_of.values())

    @property
    def n_samples_(self) -> int:
        """Number of points held."""
        return len(self._held().id_of)

    @property
    def n_samples_seen_(self) -> int:
        """Number of points that have come so far."""
        return self._held().n_seen

    @property
    def memory_(self) -> int:
        """Bytes of kernel rows and inverses."""
        return int(self._held().model.memory)

    # ---- learning ------------------------------------------------------------------------------------

    def _fit_rows(
        self, machines: IncrementalMachines, X: Any, y: Any, codes: np.ndarray, weights: np.ndarray, keep: Any
    ) -> None:
        """Learn from all rows, in slices where somebody watches, and publish."""

        def advance(steps: int | None) -> bool:
            at = machines.n_seen
            end = len(codes) if steps is None else min(len(codes), at + steps)
            self._learn(machines, X[at:end], codes[at:end], weights[at:end])
            return end < len(codes)

        known = {name: vars(self)[name] for name in ("classes_", "_gamma") if name in vars(self)}
        try:
            run_in_slices(
                self,
                X,
                y,
                advance=advance,
                most_steps=len(codes),
                attributes=lambda: {"_online": machines, **known},
            )
        except KeyboardInterrupt:
            self._online = machines
            keep()
            raise
        self._online = machines

    def _add_rows(
        self, machines: IncrementalMachines, X: Any, codes: np.ndarray, weights: np.ndarray, names: Any, keep: Any
    ) -> list[Any]:
        """Learn from rows and publish; their ids."""
        try:
            ids = self._learn(machines, X, codes, weights, names)
        except KeyboardInterrupt:
            self._publish(machines)
            keep()
            raise
        self._publish(machines)
        return ids

    def _publish(self, machines: IncrementalMachines) -> None:
        self._online = machines
        if machines.problem == "classes":
            self.classes_ = machines.classes

    # ---- parts ---------------------------------------------------------------------------------------

    def _held(self) -> IncrementalMachines:
        machines = vars(self).get("_online")
        if machines is None:
            raise AttributeError(f"{type(self).__name__} has not been fitted yet.")
        return machines

    def __copy__(self) -> Any:
        """A copy that goes its own way: what one forgets, the other one keeps."""
        other = object.__new__(type(self))
        other.__dict__.update(vars(self))
        if "_online" in vars(self):
            other._online = deepcopy(self._online)
        return other

    def _ready_machines(self, *free: str) -> IncrementalMachines:
        """The machines, for a call that may find the parameters `free` changed."""
        check_is_fitted(self, "_online")
        params.check(self, {name: rule for name, rule in self._rules.items() if name not in free})
        machines = self._online
        machines.require_frozen({**self._frozen(), **{name: machines.frozen[name] for name in free}})
        self._configure(machines)
        return machines

    def _configure(self, machines: IncrementalMachines) -> None:
        machines.model.configure(
            window=int(self.window or 0),
            oldest=self.window_rule == "oldest",
            memory=int(self.memory_limit * 2**20),
        )

    def _frozen(self) -> dict[str, Any]:
        """Parameters that a stream cannot change; a kernel function may be replaced by its copy."""
        kernel = "a function" if callable(self.kernel) else self.kernel
        return {"kernel": kernel, "gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}

    def _source(self) -> Any:
        """Where kernel values come from."""
        return self._call_kernel if callable(self.kernel) else self._kernel()

    def _learn(
        self,
        machines: IncrementalMachines,
        X: Any,
        codes: np.ndarray,
        weights: np.ndarray,
        names: list[Any] | None = None,
    ) -> list[Any]:
        """Learn from checked rows; their ids."""
        codes = np.ascontiguousarray(codes)
        return machines.learn(self._source(), X, codes, weights, names, self._training_threads())


def _listed(ids: Any) -> list[Any]:
    if isinstance(ids, np.ndarray) and ids.ndim == 0:
        ids = ids.item()
    single = isinstance(ids, str | bytes | bytearray | Integral) or not isinstance(ids, Iterable)
    return [ids] if single else list(ids)


def _plain(name: Any) -> Any:
    """An id as it is kept: a Python int or str."""
    if isinstance(name, bool | np.bool_) or not isinstance(name, str | Integral):
        raise TypeError(f"ids must be integers or strings. Got {name!r}.")
    return str(name) if isinstance(name, str) else int(name)
