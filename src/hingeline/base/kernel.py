"""Kernel values: parameters, the source in training, sums for prediction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite, check_consistent_length, check_is_fitted, column_or_1d

from .. import _core
from .._registry import COMPUTED, KERNELS, kernel_parameters
from .._sklearn import n_samples
from . import params
from .frame import Frame, choose_frame, largest_entry, warn_of_lost_digits
from .labels import read_only
from .objects import as_objects, is_objects
from .rows import LARGEST, RowEstimator, blocks, flatten_column, require_array, require_finite, require_sound
from .state import snapshot
from .warn import warn

#: Bytes of kernel values that a callable kernel computes at a time for decision values.
CALLED_BLOCK_BYTES = 64 << 20
#: Rows from which a stream may take gamma='scale' without a warning: the variance is then known to about 20 %.
FEWEST_ROWS = 50

KERNEL_RULES = {
    "kernel": params.one_of(*COMPUTED, "precomputed") | params.function(),
    "gamma": params.one_of("scale", "auto") | params.real(least=0.0),
    "degree": params.integer(least=0),
    "coef0": params.real(),
    "cache_size": params.real(above=0.0, most=1e12),
    "n_jobs": params.jobs(),
}


class KernelEstimator(RowEstimator):
    """Base of all estimators with a kernel: the source of kernel values, and sums of them.

    A subclass has the constructor parameters ``kernel, gamma, degree, coef0, n_jobs`` and publishes ``support_,
    support_vectors_, dual_coef_, intercept_`` in LIBSVM's layout.
    """

    _needed: tuple[str, ...] = ("dual_coef_", "support_vectors_", "intercept_", "_gamma")
    #: Coordinates of rows in the core; None: those of the user.
    _frame: Frame | None = None

    def _check_rows(
        self, X: Any, y: Any = "no_validation", *, reset: bool, finite: bool = True, sparse: bool = True
    ) -> Any:
        """Checked X, CSR in canonical format (and y, if given). A callable kernel may get objects; see `as_objects`."""
        if callable(self.kernel):
            holds_objects = not reset and "n_features_in_" not in vars(self)
            objects = self._as_objects(X, always=holds_objects)
            if objects is not None or holds_objects:
                return self._check_objects(X, objects, y, reset=reset)
        precomputed = self.kernel == "precomputed"
        if precomputed and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported.")
        checked = super()._check_rows(X, y, reset=reset, finite=finite, sparse=sparse and not precomputed)
        X = checked[0] if isinstance(checked, tuple) else checked
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return (X, checked[1]) if isinstance(checked, tuple) else X

    @staticmethod
    def _as_objects(X: Any, *, always: bool) -> Any:
        """Samples that are passed to a callable kernel without validation; None: X is validated as rows."""
        return as_objects(X, always=always)

    def _check_objects(self, X: Any, objects: Any, y: Any, *, reset: bool) -> Any:
        """Checked samples that are no rows of numbers (and y, if given)."""
        if objects is None or (not reset and "n_features_in_" in vars(self)):
            known = "a table of numbers" if objects is not None else "a sequence of objects"
            raise ValueError(f"X must be {known}, as in the first call. Got {type(X).__name__}.")
        if not n_samples(objects):
            raise ValueError("X must have at least one sample. Got 0 samples.")
        if reset:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        if isinstance(y, str):
            return objects
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(flatten_column(y))
        assert_all_finite(y, input_name="y")
        check_consistent_length(objects, y)
        return objects, y

    def _require_kernel_matrix(self, X: Any) -> None:
        """Reject training data that are no matrix of moderate kernel values."""
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square matrix of kernel values with kernel='precomputed'. Got shape {X.shape}."
            )
        if np.abs(X).max() > min(LARGEST, float(np.finfo(X.dtype).max)):
            raise ValueError(f"Precomputed kernel values must not exceed {LARGEST:g} in magnitude; scale them.")

    # ---- kernel values -------------------------------------------------------------------------------

    def _resolve_gamma(self, X: Any, sample_weight: np.ndarray | None = None) -> float:
        """Value of ``gamma`` by scikit-learn's rules; 'scale' uses the weighted variance if there are weights."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.kernel == "precomputed" or callable(self.kernel):
            return 0.0
        if self.gamma == "auto":
            return 1.0 / int(X.shape[1])
        variance = entry_variance(X, sample_weight)
        if not np.isfinite(variance):  # the core rejects such rows and names them
            return 1.0
        if variance == 0 and self.kernel != "linear":
            warn("gamma='scale' needs entries of X that differ; all are equal, so gamma=1.0 is used.")
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0

    def _uses_scale(self) -> bool:
        """Whether kernel values depend on the rows that gamma='scale' was computed from."""
        return isinstance(self.gamma, str) and self.gamma == "scale" and "gamma" in kernel_parameters(self.kernel)

    def _set_kernel(self, X: Any, sample_weight: np.ndarray | None = None) -> None:
        """Set gamma and the frame of the core from the rows of a fit, or from the first rows of a stream."""
        self._gamma = self._resolve_gamma(X, sample_weight)
        self._set_frame(X)

    def _set_frame(self, X: Any) -> None:
        """Set the frame in which the core computes kernel values. Warn if rounding errors spoil them in any frame."""
        largest = largest_entry(X) if self.kernel in COMPUTED else None
        self._frame = choose_frame(X, self.kernel, self._gamma, float(self.coef0), int(self.degree), largest)
        if self.kernel == "rbf":
            warn_of_lost_digits(X, self._frame, self._gamma, largest=largest)

    def _matrix(self, X: Any) -> _core.Matrix:
        """Rows as the core takes them; for objects as many rows, whose entries have no meaning."""
        if is_objects(X):
            return _core.Matrix(np.zeros((len(X), 1)))
        return _core.Matrix(X if self._frame is None else self._frame.apply(X))

    def _row_dtype(self, X: Any) -> np.dtype[Any]:
        """Precision of rows in the core."""
        if X.dtype == object:
            return np.dtype(np.float64)
        return X.dtype if self._frame is None else self._frame.dtype(X)

    def _set_kernel_once(self, X: Any, sample_weight: np.ndarray | None, *, first: bool) -> None:
        """Set gamma and the frame from the first rows of a stream, and warn if they are few; check later rows."""
        if not first:
            if self.kernel == "rbf" and X.shape[0] > 1:  # a check of single rows would take longer than learning them
                warn_of_lost_digits(X, self._frame, self._gamma)
            return
        self._set_kernel(X, sample_weight)
        if self._uses_scale() and X.shape[0] < FEWEST_ROWS:
            warn(
                f"gamma='scale' is computed from the first call only, which has {X.shape[0]} rows: "
                f"gamma={self._gamma:.6g} from now on. Set gamma to a number, or give the first call {FEWEST_ROWS} "
                "rows or more.",
            )

    def _kernel(self) -> _core.Kernel:
        """Kernel in the frame of the core."""
        gamma = self._gamma if self._frame is None else self._frame.gamma(self._gamma)
        return _core.Kernel(self.kernel, gamma, float(self.coef0), int(self.degree))

    def _source(
        self, matrix: _core.Matrix | None, take: Callable[[np.ndarray], Any], rows: np.ndarray | None = None
    ) -> _core.Source:
        """Source of kernel values in training: computed, precomputed (in `matrix`), or a function of rows.

        `take` returns the rows with given numbers. `rows` are the rows and columns of a matrix of kernel values that
        take part, whatever the kernel is; None: all rows of a precomputed matrix.
        """
        if self.kernel == "precomputed" or rows is not None:
            return _core.Source(matrix, rows)
        if callable(self.kernel):
            return _core.Source(lambda queries, base: self._call_kernel(take(queries), take(base)))
        return _core.Source(self._kernel())

    def _is_definite(self) -> bool:
        """Whether the kernel is known to be positive semi-definite."""
        row = KERNELS.get(self.kernel) if isinstance(self.kernel, str) else None
        return row is not None and row.definite_from is not None and self.coef0 >= row.definite_from

    def _call_kernel(self, A: Any, B: Any) -> np.ndarray:
        values = self.kernel(A, B)
        values = values.toarray() if sp.issparse(values) else np.asarray(values)
        if np.iscomplexobj(values):
            raise ValueError("The kernel function must return real numbers. Got complex ones.")
        wanted = n_samples(A), n_samples(B)
        if values.shape != wanted:
            raise ValueError(
                f"The kernel function must return an array of shape {wanted} for {wanted[0]} and {wanted[1]} samples. "
                f"Got shape {values.shape}."
            )
        values = np.ascontiguousarray(values, dtype=np.float64)
        if not (np.abs(values) <= LARGEST).all():
            raise ValueError(f"The kernel function returned NaN, infinity or values beyond {LARGEST:g}.")
        return values

    def _require_moderate(self, X: Any) -> None:
        """Reject rows that are too large for the kernel, before any work."""
        if self.kernel in COMPUTED:
            _core.Values(_core.Source(self._kernel()), self._matrix(X), 0)

    def _training_threads(self) -> int:
        """Callable kernels hold the GIL, so training uses one thread."""
        return 1 if callable(self.kernel) else self._threads()

    # ---- sums of kernel values -----------------------------------------------------------------------

    def _snapshot(self) -> Self:
        """The estimator at one moment, for predictions while another thread learns."""
        self.__dict__.setdefault("_cache", {})
        return snapshot(self)

    def _read_fitted(self) -> Any:
        """Object with the fitted attributes of one state."""
        return self

    def _decide(self, X: Any, fitted: Any, votes: _core.Votes | None = None) -> np.ndarray:
        """Decision values of the machines for checked rows, one column each, or their votes; all are finite.

        Votes are counted in blocks of rows: there may be half a million pairs of classes.
        """
        return require_finite(self._sums(X, fitted, votes))

    def _sums(self, X: Any, fitted: Any, votes: _core.Votes | None = None) -> np.ndarray:
        lines, packed = self._pack(fitted)
        if packed is not None:
            threads = 1 if X.shape[0] == 1 else self._threads()  # asking joblib takes longer than one row
            return packed.decide(lines, self._matrix(X), threads, votes)
        if fitted.dual_coef_.shape[1] == 0:  # no support vector yet
            alike = _bias(fitted)[np.newaxis]
            return np.repeat(alike if votes is None else votes.count(alike), n_samples(X), axis=0)
        if self.kernel == "precomputed":
            columns = np.ascontiguousarray(fitted.support_, dtype=np.int64)
            return _core.decide_gathered(lines, _core.Matrix(X), columns, self._threads(), votes=votes)
        return self._decide_in_blocks(X, lines, fitted.support_vectors_, votes)

    def _decide_in_blocks(
        self, X: Any, lines: _core.Lines, support: Any, votes: _core.Votes | None = None
    ) -> np.ndarray:
        """Decision values or votes by a kernel function, in blocks of rows."""
        everything = np.arange(support.shape[0], dtype=np.int64)
        block = max(1, CALLED_BLOCK_BYTES // (8 * max(support.shape[0], 1)))
        parts = []
        for at in range(0, X.shape[0], block):
            values = self._call_kernel(X[at : at + block], support)
            parts.append(_core.decide_gathered(lines, _core.Matrix(values), everything, self._threads(), votes=votes))
        return np.concatenate(parts)

    def _pack(self, fitted: Any) -> tuple[_core.Lines, _core.Packed | None]:
        """Coefficients and packed support vectors, built once and kept with `fitted` until the model changes.

        With a linear kernel the weights of the features are packed instead of the support vectors.
        """
        parts = (fitted.dual_coef_, fitted.support_vectors_)
        kernel = (self.kernel, vars(self).get("_gamma"), self.coef0, self.degree, self._frame)
        values = (fitted.intercept_.tobytes(), *kernel)
        cache = vars(fitted).setdefault("_cache", {})
        kept = cache.get("expansion")
        if kept is not None and all(a is b for a, b in zip(kept[0], parts, strict=True)) and kept[1] == values:
            found: tuple[_core.Lines, _core.Packed | None] = kept[2]
            return found
        lines, packed = self._lines(fitted), None
        if self.kernel in COMPUTED and fitted.dual_coef_.shape[1]:
            rows, n = fitted.support_vectors_, len(fitted.intercept_)
            if self.kernel == "linear" and n * rows.shape[1] <= max(_entries(rows), 1 << 20):
                rows = _core.feature_weights(lines, _core.Matrix(rows))
                ones = np.ones(n, dtype=np.int64)
                lines = _core.Lines(ones[np.newaxis].astype(float), ones, np.arange(n)[:, np.newaxis], _bias(fitted))
            packed = _core.Packed(self._kernel(), self._matrix(rows))
        cache["expansion"] = (parts, values, (lines, packed))
        return lines, packed

    def _lines(self, fitted: Any) -> _core.Lines:
        """Coefficients of the support vectors as the core takes them."""
        coef = fitted.dual_coef_.toarray() if sp.issparse(fitted.dual_coef_) else fitted.dual_coef_
        return _core.Lines(np.ascontiguousarray(coef), *self._layout(fitted), _bias(fitted))

    def _layout(self, fitted: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Sizes of the groups of support vectors, and the machine that each line of a group belongs to.

        None: a group for each class, a machine for each pair of classes (see `pair_outputs`).
        """
        if np.shape(fitted.intercept_) != (1,):
            raise ValueError(f"intercept_ must have shape (1,). Got {np.shape(fitted.intercept_)}.")
        return np.array([fitted.dual_coef_.shape[1]], dtype=np.int64), np.zeros((1, 1), dtype=np.int64)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_cache", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name in ("dual_coef_", "support_vectors_"):
            if name in vars(self):
                read_only(vars(self)[name])

    def _check_saved(self) -> None:
        super()._check_saved()
        own = vars(self)
        require_sound(isinstance(self._frame, Frame | None), "_frame must be a frame or None")
        if "_gamma" in own and self.kernel in COMPUTED:
            self._kernel()  # raises for other types
            origin = None if self._frame is None else self._frame.origin
            sound = origin is None or len(origin) == own.get("n_features_in_")
            require_sound(sound, "the origin of the frame has another number of features")
        if "dual_coef_" not in own:
            return
        n_support = own["dual_coef_"].shape[1]
        if self.kernel in COMPUTED:
            rows = own["support_vectors_"]
            _core.Matrix(rows)  # raises for other types
            require_sound(rows.shape == (n_support, own["n_features_in_"]), "support_vectors_ has another shape")
        require_array(self, "support_", (n_support,), "iu")
        self._lines(self)  # raises if coefficients and intercepts do not fit together

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


class FeatureWeights(KernelEstimator):
    """Kernel estimator with weights of the features, if its kernel is linear."""

    @property
    def coef_(self) -> Any:
        """Weights of the features with a linear kernel, one row per machine; read-only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'")
        self = self._snapshot()
        check_is_fitted(self)
        fitted = self._read_fitted()
        return read_only(_core.feature_weights(self._lines(fitted), _core.Matrix(fitted.support_vectors_)))


def _bias(fitted: Any) -> np.ndarray:
    return np.ascontiguousarray(fitted.intercept_, dtype=np.float64)


def _entries(X: Any) -> int:
    """Number of stored entries."""
    return int(X.nnz if sp.issparse(X) else X.size)


def entry_variance(X: Any, weights: np.ndarray | None) -> float:
    """Variance of all entries, with row i counted `weights[i]` times if there are weights."""
    return _variance(X) if weights is None else _weighted_variance(X, weights)


def _variance(X: Any) -> float:
    """Variance of all entries in double, block by block; the same bits for every memory order."""
    size = X.shape[0] * X.shape[1]
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sum(block.sum() for block in blocks(values)) / size
        squares = sum(_square_differences(block, mean).sum() for block in blocks(values))
        return float((squares + (size - values.size) * mean**2) / size)


def _square_differences(block: np.ndarray, mean: float) -> np.ndarray:
    """Squares of the differences of all entries from their mean, computed in pieces that the processor's cache holds.

    Half as much memory as `np.square(block - mean)`, and two to three times as fast for a million entries.
    """
    out = np.empty_like(block)
    step = max(1, (1 << 15) // (block.shape[1] if block.ndim == 2 else 1))  # 256 KB
    for at in range(0, len(block), step):
        piece = np.subtract(block[at : at + step], mean, out=out[at : at + step])
        np.square(piece, out=piece)
    return out


def _weighted_variance(X: Any, weights: np.ndarray) -> float:
    """Variance of all entries, with row i counted `weights[i]` times."""
    total = weights.sum() * X.shape[1]
    values = X.data if sp.issparse(X) else X
    each = np.repeat(weights, np.diff(X.indptr)) if sp.issparse(X) else weights[:, np.newaxis]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = (each * values).sum() / total
        squares = (each * np.square(values - mean)).sum()
        absent = total - each.sum() if sp.issparse(X) else 0.0
        return float((squares + absent * mean**2) / total)
