"""One fit of linear machines: minimisers, iterated slice by slice, and their results as attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import assert_all_finite
from threadpoolctl import ThreadpoolController

from ..base.fit import Training
from ..base.progress import progress
from .minimiser import Minima, Minimiser
from .newton import Newton

if TYPE_CHECKING:
    from .estimator import LinearEstimator

#: Newton iterations assumed for the length of progress bars.
BAR_STEPS = 20


def in_partitions(X: Any) -> bool:
    """Whether X is a Dask collection. Does not import Dask."""
    return callable(getattr(X, "__dask_graph__", None))


@cache
def _controller() -> Any:
    """Controller of the loaded libraries: to find them takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: more would sum in another order, and idle BLAS threads slow down ours."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def guard_sums(X: Any, name: str) -> Iterator[None]:
    """Limit BLAS to one thread, and turn numbers that leave the range of a double into a ValueError about X."""
    try:
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            yield
    except FloatingPointError:
        if not in_partitions(X):  # partitions were checked in the first pass
            assert_all_finite(X, input_name="X", estimator_name=name)
        raise ValueError(
            "X, sample_weight and C together leave the range of a double; scale the features (for example with "
            "sklearn.preprocessing.StandardScaler)."
        ) from None


def explain_gaps(estimator: LinearEstimator, models: list[Any]) -> Iterator[str]:
    """Texts of warnings about machines of fitted models, with the parameters of `estimator`, that stopped early."""
    names = ("stop_reason_", "duality_gap_", "objective_")
    reasons, gaps, objectives = (np.hstack([getattr(model, name) for model in models]) for name in names)
    late = (reasons == "max_iter") | (reasons == "precision")
    if not late.any():
        return
    tol, kkt_tol = estimator.tol, estimator.kkt_tol
    other = "" if kkt_tol is None else f" and the KKT violation at most kkt_tol={kkt_tol:g}"
    parameters = "tol" if kkt_tol is None else "tol and kkt_tol"
    advice = "Raise max_iter or" if (reasons == "max_iter").any() else "Scale the features, or raise"
    largest = (gaps[late] / objectives[late]).max()
    yield (
        f"{late.sum()} of {len(reasons)} machines stopped ({', '.join(sorted(set(reasons[late])))}) before the "
        f"duality gap was below tol={tol:g} of the objective (largest {largest:.3g}){other}. "
        f"{advice} {parameters}."
    )


class LinearTraining(Training):
    """Minimisers, one after the other, as one call that learns (see :mod:`hingeline.base.fit`).

    Parameters
    ----------
    estimator : LinearEstimator
        The estimator.
    X, y : array-like
        Checked training data, for callbacks.
    minimisers : list of Minimiser
        One per problem.
    show_progress : bool or None
        Whether to show a bar; None: on a terminal.
    """

    def __init__(
        self, estimator: LinearEstimator, X: Any, y: Any, minimisers: list[Minimiser], show_progress: bool | None
    ) -> None:
        self.estimator = estimator
        self.X, self.y = X, y
        self.minimisers = minimisers
        self.show_progress = show_progress
        self.n_steps = BAR_STEPS * len(minimisers)
        self.stages: Iterator[Newton] = chain.from_iterable(minimiser.stages() for minimiser in minimisers)
        self.stage: Newton | None = None
        self.farthest = 0.0  # largest gap shown, as in _show
        self.dual: dict[str, Any] = {}
        self.violation: np.ndarray | None = None

    def advance(self, steps: int | None) -> bool:
        """Make at most `steps` Newton iterations (None: all). True if iterations are left."""
        with guard_sums(self.X, type(self.estimator).__name__), progress(self.show_progress, 100, "fit") as tell:
            done = 0
            while steps is None or done < steps:
                if self.stage is not None and self.stage.iterate():
                    done += 1
                    self._show(tell)
                    continue
                self.stage = next(self.stages, None)
                if self.stage is None:
                    self._find_dual()
                    return False
            return True

    def _show(self, tell: Callable[[int], None]) -> None:
        """Show the progress of the largest gap, on a logarithmic scale, once it is known."""
        if self.show_progress is False:
            return
        gap = np.concatenate([m.gap() / np.maximum(m.tol * m.objective(), 1e-300) for m in self.minimisers])
        if np.isfinite(gap).all():
            now = float(np.log(max(gap.max(), 1.0)))
            self.farthest = max(self.farthest, now)
            tell(int(100 * (1 - now / self.farthest)) if self.farthest > 0 else 100)

    def end(self, unfinished: str) -> None:
        """Multipliers after a stop by a callback; attributes of an earlier fit that this one may lack are removed."""
        if unfinished == "stopped":
            with guard_sums(self.X, type(self.estimator).__name__):
                for minimiser in self.minimisers:
                    minimiser.settle()
                self._find_dual()
        for name in ("support_", "dual_coef_", "kkt_violation_", "decision_scale_"):
            self.estimator.__dict__.pop(name, None)

    def attributes(self, unfinished: str) -> dict[str, Any]:
        """Fitted attributes; `unfinished` is the stop reason of machines that could go on."""
        with np.errstate(over="ignore", invalid="ignore"):  # the gap of large numbers may be infinite
            minima = Minima.join(minimiser.read(self.estimator._by_pairs) for minimiser in self.minimisers)
        attributes = minima.attributes(self.estimator._loss_weight, unfinished)
        if self.violation is not None:
            attributes["kkt_violation_"] = self.violation
        return self.estimator._fitted_attributes(minima.points, attributes, minima.largest) | {
            "solver_": self.minimisers[0].solver_name,
            "n_passes_": float(sum(m.n_passes for m in self.minimisers)),
            "history_": self._history(),
            **self.dual,
        }

    def complaints(self) -> Iterator[str]:
        """Machines that stopped early."""
        return explain_gaps(self.estimator, [self.estimator])

    def _history(self) -> dict[str, np.ndarray]:
        """Columns of the record of iterations, in order of time within a problem."""
        rows, first = [], 0
        for minimiser in self.minimisers:
            rows += [(first + row[0], *row[1:]) for row in minimiser.newton.history]
            first += minimiser.problem.n_machines
        table = np.array(rows, dtype=np.float64).reshape(-1, 6).T
        table[3:5] *= self.estimator._loss_weight
        columns = dict(zip(("machine", "step", "seconds", "objective", "duality_gap", "n_active"), table, strict=True))
        return columns | {name: columns[name].astype(np.int64) for name in ("machine", "step", "n_active")}

    def _find_dual(self) -> None:
        """Multipliers of the rows and their violation of the optimality conditions, where they are published."""
        published = self.estimator._publishes_multipliers and all(m.problem.in_memory for m in self.minimisers)
        if published:
            self.dual = self._multipliers()
        if published or self.estimator.kkt_tol is not None:
            self.violation = np.concatenate([m.violation() for m in self.minimisers])

    def _multipliers(self) -> dict[str, np.ndarray]:
        lines, places = [], []
        for minimiser in self.minimisers:
            for machine in range(minimiser.problem.n_machines):
                pulls = minimiser.multipliers(machine)
                chosen = np.flatnonzero(pulls)
                rows = minimiser.problem.rows.numbers
                lines.append(self.estimator._loss_weight * pulls[chosen])
                places.append(chosen if rows is None else rows[chosen])
        if len(lines) == 1:
            support, dual_coef = places[0], lines[0][np.newaxis]
        else:
            support = np.unique(np.concatenate(places))
            dual_coef = np.zeros((len(lines), len(support)))
            for line, values, rows in zip(dual_coef, lines, places, strict=True):
                line[np.searchsorted(support, rows)] = values
        return {"support_": support, "dual_coef_": dual_coef}
