"""Machines of the block solver: the drop-ins for the kernel estimators of :mod:`sklearn.svm`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._sklearn import n_samples
from ..base import params
from ..base.kernel import FeatureWeights
from ..base.labels import read_only
from ..base.retained import rows_of
from ..base.rows import LARGEST, WeightedSamples, require_sound
from .training import BatchTraining

#: Fewer rows are solved in double precision from the start: there is nothing to gain.
SINGLE_ROWS = 1000
#: Smaller tolerances are beyond single precision.
SINGLE_TOL = 1e-6
#: Working sets assumed for the length of progress bars.
N_WORKING_SETS = 50

#: C; infinity forbids errors.
PENALTY = params.real(above=0.0, most=LARGEST) | params.Rule(lambda v: v == math.inf, "infinity", Real)
#: Share of the samples.
NU = params.real(above=0.0, most=1.0)
ENGINE_RULES = {
    "shrinking": params.boolean(),
    "tol": params.real(above=0.0),
    "verbose": params.boolean() | params.integer(least=0),
    "max_iter": params.integer(least=-1),
    "warm_start": params.boolean(),
    "device": params.one_of("cpu", "cuda", "auto"),
}
#: Attributes of machines that `verbose` prints.
PRINTED = ("n_iter", "stop_reason", "kkt_violation", "dual_objective")


class EngineEstimator(WeightedSamples, FeatureWeights):
    """Base of the estimators that the block solver trains, with the conventions of scikit-learn.

    Rows without weight are left out, callable kernels get whole sets of samples of any form, and attributes are sparse
    if X is.
    """

    _takes_negative_weights = True
    #: A callable kernel computes all values before training, which therefore may use several threads.
    _training_threads = FeatureWeights._threads

    def _print_machines(self) -> None:
        """Print a line for each machine."""
        columns = [np.atleast_1d(vars(self)[f"{name}_"]) for name in PRINTED]
        for k, (steps, reason, violation, dual) in enumerate(zip(*columns, strict=True)):
            print(
                f"[{type(self).__name__}] machine {k}: {steps} steps, {reason}, violation {violation:.3g}, dual "
                f"objective {dual:.10g}"
            )

    @staticmethod
    def _as_objects(X: Any, *, always: bool) -> Any:
        """Samples of any form are passed to a callable kernel as they are, as scikit-learn does."""
        return X

    def _check_saved(self) -> None:
        super()._check_saved()
        if "dual_coef_" in vars(self):
            params.check_one(self, "kernel", self.kernel, self._rules["kernel"])
            require_sound(not callable(self.kernel) or "X_fit_" in vars(self), "X_fit_ is missing")

    # ---- decisions -----------------------------------------------------------------------------------

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        if not callable(self.kernel) and sp.issparse(X) and not sp.issparse(self.support_vectors_):
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        return super()._validate_predict(X)

    def _decide_in_blocks(
        self, X: Any, lines: _core.Lines, support: Any, votes: _core.Votes | None = None
    ) -> np.ndarray:
        """Decision values or votes by one call of the kernel function, for all training samples."""
        columns = np.ascontiguousarray(self.support_, dtype=np.int64)
        matrix = _core.Matrix(self._call_kernel(X, self.X_fit_))
        return _core.decide_gathered(lines, matrix, columns, self._threads(), votes=votes)

    @property
    def coef_(self) -> Any:
        """Weights of the features with a linear kernel, one row per machine; read-only, sparse if X was sparse."""
        dense = super().coef_
        if not sp.issparse(self.support_vectors_):
            return dense
        return read_only(type(self.support_vectors_)(dense))


def bound_coefficients(C: float, weights: np.ndarray) -> np.ndarray:
    """C times the weights of the samples; C may be infinite."""
    return np.multiply(C, weights, out=np.zeros(len(weights)), where=weights > 0)


def remedies(*advice: str) -> str:
    """A sentence of the pieces of advice that are not empty."""
    *first, last = filter(None, advice)
    return f"{', '.join(first)}, or {last}."


class EngineTraining(BatchTraining):
    """One fit by the block solver. A subclass sets `core`, with the `bounds` and the `limits`.

    Parameters
    ----------
    estimator : EngineEstimator
        Estimator that is being fitted.
    X : object
        Checked rows, a matrix of kernel values, or samples for a callable kernel.
    y : ndarray or None
        Labels or targets, as callbacks see them.
    weights : ndarray
        Weight of each row; rows of weight zero are left out.
    factor : float
        Factor on the weights, which makes them bounds of the coefficients.
    rows : ndarray, default=None
        X is a matrix of kernel values, and these are its rows that are trained on; None: all.
    """

    n_steps = N_WORKING_SETS
    calls_once = True
    #: Whether published coefficients are those of the slopes.
    keeps_slopes = True
    #: What an infinite C requires, and that it is not so.
    requirement = ""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: np.ndarray | None,
        weights: np.ndarray,
        factor: float,
        rows: np.ndarray | None = None,
    ) -> None:
        super().__init__(estimator, X, y, rows)
        #: Fitted attributes that the machines do not have.
        self.more: dict[str, Any] = {}
        #: Least number of samples for kernel values in single precision.
        self.single_rows = SINGLE_ROWS if self.values.single and estimator.tol >= SINGLE_TOL else 2**62
        #: Whether kernel values are in single precision at first.
        self.single = len(weights) >= self.single_rows
        self.weights, self.bounds = weights, bound_coefficients(factor, weights)
        #: Parameters of the solver.
        self.limits: dict[str, Any] = {
            "tol": float(estimator.tol),
            "max_iter": min(int(estimator.max_iter), 2**62),
            "shrinking": bool(estimator.shrinking),
            "cache_bytes": self.cache_bytes,
        }

    @property
    def largest(self) -> int:
        """Rows of the largest machine."""
        return int((self.weights > 0).sum())

    def follow(self, value: float) -> None:
        self.bounds = bound_coefficients(value, self.weights)
        self.core.raise_bounds(self.bounds, self.single)
        if self.card is not None:
            self.card.begin()

    def _make_values(self) -> Any:
        est = self.estimator
        called = self.given and callable(est.kernel)
        matrix = _core.Matrix(est._call_kernel(self.X, self.X)) if called else est._matrix(self.X)
        given = self.given or self.rows is not None
        return _core.RowValues(_core.Source(matrix, self.rows) if given else _core.Source(est._kernel()), matrix)

    def solution(self) -> dict[str, Any]:
        found = self.core.solution()
        return super().solution() if found["unfinished"] else found

    def attributes(self, unfinished: str) -> dict[str, Any]:
        est, X = self.estimator, self.X
        found = super().attributes(unfinished)
        found["fit_status_"] = int((found["stop_reason_"] != "tol").any())
        found["shape_fit_"] = X.shape if hasattr(X, "shape") else (n_samples(X),)
        if callable(est.kernel):
            found["X_fit_"] = X
        elif sp.issparse(X):
            found["dual_coef_"] = read_only(type(X)(found["dual_coef_"]))
        return {**found, **self.more}

    def complaints(self) -> Iterator[str]:
        """Machines that did not reach the tolerance."""
        est = self.estimator
        easier = "lower C" if hasattr(est, "C") else ""
        reasons, steps, violations = map(np.atleast_1d, (est.stop_reason_, est.n_iter_, est.kkt_violation_))
        limited = reasons == "max_iter"
        if limited.any() and est.max_iter < 0:
            yield (
                f"{limited.sum()} of {len(limited)} machines stopped after {steps[limited].max()} steps with a "
                f"violation of {violations[limited].max():.3g}, tol={est.tol:g}: the problem is badly scaled. "
                f"{remedies('Scale the features', easier, 'set max_iter to a larger limit')}"
            )
        elif limited.any():
            yield (
                f"Solver terminated early (max_iter={est.max_iter}).  Consider pre-processing your data with "
                "StandardScaler or MinMaxScaler."
            )
        endless = reasons == "unbounded"
        if endless.any():
            yield (
                f"{endless.sum()} of {len(endless)} machines stopped because their objective grows without end: with "
                f"C={est.C:g} {self.requirement}, or by a tiny margin only. Lower C."
            )
        late = reasons == "precision"
        if late.any():
            yield (
                f"{late.sum()} of {len(late)} machines stopped because rounding errors ended the progress before the "
                f"violation reached tol={est.tol:g}: it is {violations[late].max():.3g}. "
                f"{remedies('Raise tol', 'scale the features', easier)}"
            )


def keep_slopes(training: EngineTraining, unfinished: str) -> None:
    """Keep the slopes with the rows at the end of a fit, so that the next solution need not compute them.

    Not if they take more memory than the rows.
    """
    kept = rows_of(training.estimator)
    if kept is None or unfinished or not training.keeps_slopes:
        return
    if training.core.n_machines <= max(1, training.X.shape[1]):
        slopes = training.core.slopes(training.values, training.threads)
        kept.slopes = slopes.reshape(training.core.n_machines, -1) if len(slopes) else None
