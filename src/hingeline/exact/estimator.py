"""Base of the exact incremental estimators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._registry import DEFINITE
from ..base import params
from ..base.ensemble import ReadsEnsemble
from ..base.fit import Training
from ..base.ids import as_array, as_list, as_plain
from ..base.kernel import KERNEL_RULES, KernelEstimator
from ..base.receipt import digest, make_receipt
from ..base.state import exclusive, steady
from ..base.types import Ids
from ..base.warn import warn
from .ensemble import ExactEnsemble

#: The kernel must be positive semi-definite: no sigmoid, no polynomial with a negative constant.
INCREMENTAL_RULES = {
    "kernel": params.one_of(*DEFINITE) | params.function(),
    "gamma": KERNEL_RULES["gamma"],
    "degree": KERNEL_RULES["degree"],
    "coef0": params.real(least=0.0),
    "n_jobs": KERNEL_RULES["n_jobs"],
    "window": params.integer(least=2) | params.nothing(),
    "window_rule": params.one_of("relevance", "oldest"),
    "cache_size": KERNEL_RULES["cache_size"],
}


#: Fewer kernel values than these are computed by one thread.
MANY = 1 << 17

#: Models that have warned of gamma='scale'.
_WARNED: WeakSet[ExactEnsemble] = WeakSet()


class IncrementalEstimator(ReadsEnsemble, KernelEstimator):
    """Base of the exact incremental estimators: points held, forgetting, diagnostics."""

    _dtypes = (np.float64,)

    @exclusive
    def forget(self, ids: Ids, *, receipt: bool = False) -> Any:
        """Remove points exactly: the model becomes the optimum of the remaining points.

        Rows, kernel values and ids are removed from the model, and their memory in the core is overwritten. An error or
        Ctrl-C leaves the model as it was (Ctrl-C after the last step has no effect).

        Parameters
        ----------
        ids : int, str, uuid.UUID or iterable of these
            Ids of the points. All points with one of these ids are removed.
        receipt : bool, default=False
            Whether to return a receipt, which takes as long as to read the whole model twice.

        Returns
        -------
        object
            The estimator, or a :class:`hingeline.Receipt`.
        """
        ensemble, before = self._ready(), digest(self) if receipt else ""
        with ensemble.lock:
            numbers = ensemble.find_numbers(ids)
            self._warn_of_scale(ensemble)
            if len(numbers):
                ensemble.forget(self._points_source(ensemble), numbers, self._training_threads())
                ensemble.warn()
        names = [as_plain(name) for name in dict.fromkeys(as_list(ids))]
        return make_receipt(self, names, len(numbers), before) if receipt else self

    @property
    def kkt_violation_(self) -> float:
        """Largest KKT violation, computed from the rows at every access.

        In units of the decision function. Rounding errors of about ``1e-14 * C * max K(x, x)`` are normal. A call that
        leaves more than ``1e-8 * max(1, C * max K(x, x))`` issues a ConvergenceWarning with the number reached.
        """
        return float(self._ask("violation"))

    @property
    def condition_(self) -> np.ndarray:
        """Condition number in the 1-norm of the margin system of each machine, computed at every access."""
        return self._ask("condition")

    @steady
    def _ask(self, question: str) -> Any:
        """Value computed by the core from kernel values; AttributeError if a parameter has changed."""
        check_is_fitted(self, "_model")
        try:
            ensemble = self._ready()
        except ValueError as error:
            raise AttributeError(str(error)) from error
        return getattr(ensemble.core, question)(self._points_source(ensemble), threads=self._training_threads())

    @property
    def ids_(self) -> np.ndarray:
        """Ids of the points held, in the order of their arrival: int64, or objects if some are not integers."""
        return as_array(list(self._require_model().id_of.values()))

    @property
    def n_samples_(self) -> int:
        """Number of points held."""
        return int(self._require_model().core.n_rows)

    @property
    def n_samples_seen_(self) -> int:
        """Number of points seen so far."""
        return int(self._require_model().core.n_seen)

    @property
    def memory_(self) -> int:
        """Memory of kernel rows and inverses in bytes."""
        return int(self._require_model().core.memory)

    # ---- parts ---------------------------------------------------------------------------------------

    def _warn_of_scale(self, ensemble: ExactEnsemble) -> None:
        """Warn once per model that gamma='scale' remembers rows."""
        if not self._uses_scale() or ensemble in _WARNED:
            return
        _WARNED.add(ensemble)
        warn(
            f"gamma='scale' was computed from the rows of the first call: gamma={self._gamma:.6g}. Forgetting a row "
            f"does not change it, so the model differs from a fit to the remaining rows. Set gamma={self._gamma:.6g}, "
            "or another number that does not depend on the rows.",
        )

    def _require_model(self) -> ExactEnsemble:
        ensemble = vars(self).get("_model")
        if ensemble is None:
            raise AttributeError(f"{type(self).__name__} has not been fitted yet.")
        return ensemble

    def _ready(self, *free: str) -> ExactEnsemble:
        """Configured ensemble of a call without `run`; the parameters `free` may have changed."""
        check_is_fitted(self, "_model")
        params.check(self, {name: rule for name, rule in self._rules.items() if name not in free})
        return self._resume(*free)

    def _resume(self, *free: str) -> ExactEnsemble:
        """Configured ensemble, for checked parameters; the parameters `free` may have changed."""
        ensemble = self._model
        ensemble.require_frozen(self._frozen_parameters(), free)
        self._configure(ensemble)
        return ensemble

    @property
    def _window_by_class(self) -> bool:
        """Whether there is a window for each class."""
        return False

    @property
    def _by_path(self) -> bool:
        """Whether points follow the path of the paper instead of changing sets at a time."""
        return False

    def _configure(self, ensemble: ExactEnsemble) -> None:
        ensemble.core.configure(
            window=int(self.window or 0),
            oldest=self.window_rule == "oldest",
            by_class=self._window_by_class,
            by_path=self._by_path,
            cache_bytes=int(self.cache_size * 2**20),
        )

    def _frozen_parameters(self) -> dict[str, Any]:
        """Parameters that cannot change in a stream. A callable kernel may be replaced by a copy of itself."""
        kernel = "a function" if callable(self.kernel) else self.kernel
        return {"kernel": kernel, "gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}

    def _points_source(self, ensemble: ExactEnsemble) -> _core.Source:
        """Source of kernel values between the points held."""
        return self._source(None, ensemble.take)


class PointsTraining(Training):
    """One call that adds points in their order.

    Parameters
    ----------
    estimator : IncrementalEstimator
        Estimator that learns.
    ensemble : ExactEnsemble
        Its machines.
    X : {ndarray, sparse matrix}
        Checked rows.
    y : ndarray or None
        Labels; None for one class.
    weights : ndarray
        Weights of the samples.
    given : list or None
        Ids given by the user.
    classes : array-like or None
        Labels declared by the user.
    """

    def __init__(
        self, estimator: Any, ensemble: ExactEnsemble, X: Any, y: Any, weights: np.ndarray, given: Any, classes: Any
    ) -> None:
        self.estimator, self.ensemble, self.X, self.y = estimator, ensemble, X, y
        self.weights, self.given, self.classes = weights, given, classes
        self.rows = ensemble.encode_rows(X)
        self.source = estimator._points_source(ensemble)
        alone = len(weights) == 1 and ensemble.core.n_rows < MANY  # asking joblib takes longer than one row
        self.threads = 1 if alone else estimator._training_threads()
        self.n_steps, self.done, self.n_before = len(weights), 0, ensemble.core.n_seen
        self.ids: list[Any] = []

    def advance(self, steps: int | None) -> bool:
        at, end = self.done, self.n_steps if steps is None else min(self.n_steps, self.done + steps)
        some, rows = slice(at, end), np.arange(end - at)
        ensemble, core = self.ensemble, self.ensemble.core
        with ensemble.lock:
            numbers = core.n_seen + rows
            names = numbers.tolist() if self.given is None else self.given[some]
            labels, codes = ensemble.labels, np.zeros(len(rows), dtype=np.int64)
            arrivals: list[tuple[int, int]] = []
            if self.y is not None:
                labels, arrivals, codes = ensemble.encode(self.y[some], self.classes)
            X = self.rows if len(rows) == self.n_steps else self.rows[some]  # no copy of all rows
            weights = np.ascontiguousarray(self.weights[some])
            ensemble.expect(names, self.given is not None, labels)
            chunk = _core.Chunk(self.estimator._matrix(X), rows, numbers, codes, weights, arrivals)
            core.learn(self.source, chunk, threads=self.threads)
        self.ids += names
        self.done = end
        return end < self.n_steps

    def has_learned(self) -> bool:
        return self.ensemble.core.n_seen > self.n_before

    def complaints(self) -> Iterator[str]:
        """KKT conditions that are not met."""
        return self.ensemble.complaints()

    def attributes(self, unfinished: str) -> dict[str, Any]:
        known = {name: value for name, value in vars(self.estimator).items() if name in ("_gamma", "_frame")}
        return {"_model": self.ensemble, **known}
