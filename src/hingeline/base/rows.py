"""Base of all estimators: validation of rows, precision, threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import current_process
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count, effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .. import _core
from .._sklearn import DocumentationLink, check_sample_weight
from . import params
from .duration import Work
from .fit import CallbackSupportMixin
from .warn import warn

#: Largest magnitude accepted. Products of larger numbers leave the range of a double.
LARGEST = 1e100

JOBS = params.jobs()

#: Bytes of the decision values of pairs of classes that exist at a time if only their votes are wanted.
BLOCK_BYTES = 32 << 20

#: Fitted arrays that decision values and features are computed from.
COEFFICIENTS = {
    "coef_",
    "intercept_",
    "landmark_coef_",
    "thresholds_",
    "dual_coef_",
    "support_vectors_",
    "normalization_",
}


def require_finite(decisions: np.ndarray) -> np.ndarray:
    """Decision values or scores, all finite; ValueError if they are not. Winners of votes are then negative."""
    sound = np.isfinite(decisions.sum()) or np.isfinite(decisions).all()  # the sum of finite values may overflow
    if not sound or (decisions.dtype.kind == "i" and decisions.min(initial=0) < 0):
        raise ValueError("Decision values leave the range of floating-point numbers. Scale the features, or lower C.")
    return decisions


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of `n` rows whose `width` numbers each take at most `BLOCK_BYTES`, or of single rows."""
    step = max(1, BLOCK_BYTES // (8 * width))
    return (slice(at, min(at + step, n)) for at in range(0, n, step))


@contextmanager
def as_damage() -> Iterator[None]:
    """Raise ValueError for errors of Python that missing parts, and parts of another type, of a saved state cause."""
    try:
        yield
    except (AttributeError, LookupError, OverflowError, TypeError) as error:
        raise ValueError(f"the saved state is damaged: {error}") from error


def require_sound(sound: Any, what: str) -> None:
    """Raise ValueError for a saved state that is not sound."""
    if not sound:
        raise ValueError(f"the saved state is damaged: {what}")


def require_array(owner: Any, name: str, shape: tuple[int, ...], kinds: str = "f") -> None:
    """Require that a saved attribute is an array of this shape and of one of these kinds of numbers."""
    value = vars(owner).get(name)
    sound = isinstance(value, np.ndarray) and value.shape == shape and value.dtype.kind in kinds
    require_sound(sound, f"{name} must be an array of shape {shape}")


def require_labels(owner: Any) -> int:
    """Require that the saved ``classes_`` are different labels, and return their number."""
    classes = vars(owner).get("classes_")
    sound = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1
    require_sound(sound and len(set(classes.tolist())) == len(classes), "classes_ must be an array of different labels")
    return len(classes)


def blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    """Pieces of about a million entries, row after row, in double."""
    step = max(1, (1 << 20) // (values.shape[1] if values.ndim == 2 else 1))
    for at in range(0, len(values), step):
        yield np.ascontiguousarray(values[at : at + step], dtype=np.float64)


def clip_weights(weights: np.ndarray) -> np.ndarray:
    """Weights of samples, zero for those that are left out because their weight is negative; not all may be."""
    clipped: np.ndarray = np.maximum(weights, 0.0)
    if not clipped.any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return clipped


class WeightedSamples:
    """Weights of samples."""

    #: Whether weights may be negative: such samples are left out, as in LIBSVM.
    _takes_negative_weights = False

    def _sample_weights(self, sample_weight: Any, X: Any, *, all_zero: bool = False) -> np.ndarray:
        """Checked weights of the samples. `all_zero` says whether all may be zero."""
        if sample_weight is None:
            return np.ones(X.shape[0])
        negative = self._takes_negative_weights
        weights = check_sample_weight(sample_weight, X, all_zero=all_zero or negative, negative=negative)
        if weights.max(initial=0.0) > LARGEST:
            raise ValueError(f"sample_weight must not exceed {LARGEST:g}. Got {weights.max():g}; scale the weights.")
        return weights


class RowEstimator(DocumentationLink, CallbackSupportMixin, BaseEstimator):
    """Base of all estimators: takes rows, dense or CSR. A subclass has the constructor parameter ``n_jobs``."""

    #: Precisions that rows may have.
    _dtypes: Any = (np.float64, np.float32)

    #: Attributes that a prediction of a fitted estimator needs, unless it reads them from an ensemble.
    _needed: tuple[str, ...] = ()
    #: Whether fitted attributes are read from the ensemble ``_model``.
    _reads_ensemble = False

    @property
    def _work(self) -> Work | None:
        """Expected work of a fit; None: unknown, and no fit is announced."""
        return None

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are fitted attributes. Another thread may publish some meanwhile."""
        names = list(vars(self))  # one step under the GIL
        return any(name.endswith("_") and not name.startswith("_") for name in names)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Saved by an earlier version, the estimator gets the defaults of parameters that did not exist then."""
        with as_damage():
            super().__setstate__({**params.defaults(type(self)), **state})
            published = RowEstimator.__sklearn_is_fitted__(self)
            fitted = published and not (self._reads_ensemble and "_model" in vars(self))
            for name in self._needed if fitted else ():
                if name not in vars(self):
                    raise ValueError(f"the saved state is damaged: {name} is missing")
            anything = {"support_vectors_"} if callable(getattr(self, "kernel", None)) else set()
            for name in (COEFFICIENTS - anything) & vars(self).keys():
                value = vars(self)[name]
                if sp.issparse(value):
                    require_places(value, f"the saved state is damaged: {name}")
                values = value.data if sp.issparse(value) else value
                is_array = isinstance(values, np.ndarray) and values.dtype.kind in "fiu"
                require_sound(is_array and np.isfinite(values).all(), f"{name} must be an array of finite numbers")
            self._check_saved()

    def _check_saved(self) -> None:
        """Raise ValueError if fitted attributes that were saved do not fit together. Errors of Python do so, too."""
        width = vars(self).get("n_features_in_", 1)
        require_sound(type(width) is int and width > 0, "n_features_in_ must be an integer > 0")

    def _check_rows(
        self, X: Any, y: Any = "no_validation", *, reset: bool, finite: bool = True, sparse: bool = True
    ) -> Any:
        """Checked X (and y, if given). X may hold infinity and NaN unless `finite`, and may be `sparse`."""
        return validate_data(
            self,
            require_sound_rows(X),
            y if isinstance(y, str) else flatten_column(y),
            accept_sparse="csr" if sparse else False,
            accept_large_sparse=True,
            dtype=list(self._dtypes),
            ensure_all_finite=finite,
            reset=reset,
        )

    def _validate_predict(self, X: Any) -> Any:
        """Checked rows. Arrays that need no conversion skip scikit-learn's validation, which is slow for one row."""
        if self._are_checked(X):
            return X
        check_is_fitted(self)
        return self._check_rows(X, reset=False)

    def _are_checked(self, X: Any) -> bool:
        """Whether scikit-learn's validation would accept X as it is: finite rows of the right type and width."""
        fitted = vars(self)
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in self._dtypes
            and len(X) > 0
            and fitted.get("n_features_in_") == X.shape[1]
            and "feature_names_in_" not in fitted
            and bool(np.isfinite(X.sum()))
        )

    def _threads(self) -> int:
        """Number of threads for ``n_jobs``, by joblib's rules.

        joblib returns 1 inside a daemonic process because such a process cannot start children. Threads are allowed
        there.
        """
        params.check_one(self, "n_jobs", self.n_jobs, JOBS)  # predictions do not check parameters
        if self.n_jobs is None or not current_process().daemon:
            return int(effective_n_jobs(self.n_jobs))
        return int(self.n_jobs if self.n_jobs > 0 else max(1, cpu_count() + 1 + self.n_jobs))


def flatten_column(y: Any, name: str = "y") -> Any:
    """Labels in one dimension; warn if they were one column of a table, as scikit-learn does."""
    nested = isinstance(y, list) and len(y) > 0 and isinstance(y[0], list | tuple)
    if getattr(y, "ndim", 1 + nested) != 2:
        return y
    column = column_or_1d(y)
    warn(
        f"A column-vector {name} was passed when a 1d array was expected. Please change the shape of {name} to "
        "(n_samples, ), for example using ravel().",
        DataConversionWarning,
    )
    return column


def require_places(matrix: Any, name: str) -> None:
    """Reject places outside of a sparse matrix: SciPy and scikit-learn do not check them when they use them.

    Parameters
    ----------
    matrix : sparse matrix or array
        Matrix in any format.
    name : str
        Name in the error.
    """
    try:
        if len(matrix.shape) != 2:
            raise ValueError(f"two dimensions expected; got shape {matrix.shape}")
        _PLACES.get(matrix.format, _require_others)(matrix)
    except Exception as error:  # arrays of other types or lengths fail in many ways
        raise ValueError(f"{name}: {error}") from error


def require_sound_rows(X: Any, name: str = "X") -> Any:
    """X as it is; ValueError if it is a damaged sparse matrix."""
    if sp.issparse(X):
        require_places(X, name)
    return X


def _require_compressed(matrix: Any) -> None:
    """Check CSR, CSC and BSR. The arrays stay as they are, unlike after SciPy's ``check_format``."""
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    if len(indices) != len(data):
        raise ValueError(f"indices and data must have one length; got {len(indices)} and {len(data)}")
    major, minor = matrix.shape[::-1] if matrix.format == "csc" else matrix.shape
    if matrix.format == "bsr":
        (height, width), whole = data.shape[1:], matrix.shape
        if min(height, width) < 1 or whole[0] % height or whole[1] % width:
            raise ValueError(f"blocks of shape {(height, width)} do not divide the shape {whole}")
        major, minor = major // height, minor // width
    elif data.ndim != 1:
        raise ValueError(f"data must have one dimension; got {data.ndim}")
    if indptr.dtype != indices.dtype and {indptr.dtype.kind, indices.dtype.kind} <= set("iu"):
        indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    _core.require_places(np.ascontiguousarray(indptr), np.ascontiguousarray(indices), major, minor)


def _require_coordinates(matrix: Any) -> None:
    for places, size in zip((matrix.row, matrix.col), matrix.shape, strict=True):
        if places.shape != matrix.data.shape or places.ndim != 1 or places.dtype.kind not in "iu":
            raise ValueError("row, col and data must be equally long, and row and col integers")
        if len(places) and not 0 <= places.min() <= places.max() < size:
            raise ValueError(f"row and col must be in the range of the shape {matrix.shape}")


def _require_lists(matrix: Any) -> None:
    rows, data = matrix.rows, matrix.data
    if not rows.shape == data.shape == matrix.shape[:1] or list(map(len, rows)) != list(map(len, data)):
        raise ValueError("rows and data must hold equally long lists, one for each row")
    _require_others(matrix)


def _require_diagonals(matrix: Any) -> None:
    if matrix.data.ndim != 2 or matrix.offsets.shape != matrix.data.shape[:1]:
        raise ValueError("data must have one row for each of the offsets")


def _require_others(matrix: Any) -> None:
    """SciPy checks coordinates when a matrix is made from them."""
    _require_coordinates(matrix.tocoo())


#: Checks by format.
_PLACES = {
    "csr": _require_compressed,
    "csc": _require_compressed,
    "bsr": _require_compressed,
    "coo": _require_coordinates,
    "lil": _require_lists,
    "dia": _require_diagonals,
}
