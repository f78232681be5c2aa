"""What every estimator shares: validate, encode labels, one call into the core, publish."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import current_process
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count, effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from . import _core, _params
from ._callbacks import CallbackSupportMixin
from ._multiclass import one_vs_rest_shape, pair_outputs, pairs

#: Kernels that the core computes.
COMPUTED = ("linear", "poly", "rbf", "sigmoid")
#: Decision values of a kernel function are computed in blocks of about this many bytes.
CALLED_BLOCK_BYTES = 64 << 20

KERNEL_RULES = {
    "kernel": _params.one_of(*COMPUTED, "precomputed") | _params.function(),
    "gamma": _params.one_of("scale", "auto") | _params.real(least=0.0),
    "degree": _params.integer(least=0),
    "coef0": _params.real(),
    "cache_size": _params.real(above=0.0, most=1e12),
    "n_jobs": _params.jobs(),
}
#: Numbers beyond this have products that leave the range of a double.
LARGEST = 1e100


class RowEstimator(CallbackSupportMixin, BaseEstimator):
    """Base of all that takes rows, dense or CSR. A subclass has the constructor parameter ``n_jobs``."""

    #: Precisions that rows may have.
    _dtypes: Any = (np.float64, np.float32)

    @property
    def _takes_sparse(self) -> bool:
        return True

    def _check_rows(self, X: Any, y: Any = "no_validation", *, reset: bool, finite: bool = True) -> Any:
        """Checked X (and y, where given); `finite` says whether to look for infinity and NaN in X now."""
        checked = validate_data(
            self,
            X,
            y,
            accept_sparse="csr" if self._takes_sparse else False,
            accept_large_sparse=True,
            dtype=list(self._dtypes),
            ensure_all_finite=finite,
            reset=reset,
        )
        return checked

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._check_rows(X, reset=False)

    def _threads(self) -> int:
        """Number of threads behind ``n_jobs``, by joblib's rules.

        joblib would allow one only inside a daemonic process, which may not have children; threads may run there.
        """
        if self.n_jobs is None or self.n_jobs == 0 or not current_process().daemon:
            return int(effective_n_jobs(self.n_jobs))
        return int(self.n_jobs if self.n_jobs > 0 else max(1, cpu_count() + 1 + self.n_jobs))


class WeightedLabels:
    """Weights of samples and classes. A subclass has the constructor parameter ``class_weight``."""

    class_weight: Any
    classes_: np.ndarray

    def _sample_weights(self, sample_weight: Any, X: Any, *, all_zero: bool = False) -> np.ndarray:
        """Checked weights of the samples; they may be `all_zero` or not."""
        weights: np.ndarray = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, allow_all_zero_weights=all_zero
        )
        if weights.max(initial=0.0) > LARGEST:
            raise ValueError(f"sample_weight beyond {LARGEST:g} leaves the range of a double; scale the weights.")
        return weights

    def _check_class_weight(self) -> None:
        given = list(self.class_weight.values()) if isinstance(self.class_weight, Mapping) else []
        rule = _params.real(above=0.0, most=LARGEST)
        if not all(rule.accepts(weight) for weight in given):
            raise ValueError(
                f"class_weight must give every class a number > 0 and <= {LARGEST:g}. Got {given}; leave the rows of a "
                "class out to give it no weight."
            )

    def _class_weights(self, codes: np.ndarray) -> np.ndarray:
        self._check_class_weight()
        weights: np.ndarray = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_[codes]
        ).astype(np.float64)
        return weights


class KernelEstimator(RowEstimator):
    """Base of all that has a kernel: kernel values, sums of them.

    A subclass has the constructor parameters ``kernel, gamma, degree, coef0, n_jobs`` and publishes ``support_,
    support_vectors_, dual_coef_, intercept_`` in LIBSVM's layout.
    """

    @property
    def _takes_sparse(self) -> bool:
        return self.kernel != "precomputed"

    def _check_rows(self, X: Any, y: Any = "no_validation", *, reset: bool, finite: bool = True) -> Any:
        """Checked X with rows in canonical order (and y, where given)."""
        checked = super()._check_rows(X, y, reset=reset, finite=finite)
        X = checked[0] if isinstance(checked, tuple) else checked
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return (X, checked[1]) if isinstance(checked, tuple) else X

    # ---- kernels -------------------------------------------------------------------------------------

    def _resolve_gamma(self, X: Any) -> float:
        """Number behind ``gamma``; scikit-learn's definition of 'scale' and 'auto'."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.kernel == "precomputed" or callable(self.kernel):
            return 0.0
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        variance = _variance(X)
        if not np.isfinite(variance):  # such rows are refused by the core, by name
            return 1.0
        if variance == 0 and self.kernel != "linear":
            warnings.warn(
                "All entries of X are equal, so gamma='scale' has no scale to go by; gamma=1.0 is used.",
                UserWarning,
                stacklevel=4,
            )
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0

    def _kernel(self) -> _core.Kernel:
        return _core.Kernel(self.kernel, self._gamma, float(self.coef0), int(self.degree))

    def _gram(self, X: Any, copy_bytes: int) -> _core.Gram:
        return _core.Gram(self._kernel(), _core.Matrix(X), copy_bytes)

    def _kernel_function(self, X: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """The user's kernel between rows of X given by their numbers."""

        def values(queries: np.ndarray, base: np.ndarray) -> np.ndarray:
            return self._call_kernel(X[queries], X[base])

        return values

    def _call_kernel(self, A: Any, B: Any) -> np.ndarray:
        values = np.asarray(self.kernel(A, B))
        if np.iscomplexobj(values):
            raise ValueError("The kernel function must return real numbers. Got complex ones.")
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"The kernel function must return an array of shape {(A.shape[0], B.shape[0])} for inputs with "
                f"{A.shape[0]} and {B.shape[0]} rows. Got shape {values.shape}."
            )
        values = np.ascontiguousarray(values, dtype=np.float64)
        if not (np.abs(values) <= LARGEST).all():
            raise ValueError(f"The kernel function returned NaN, infinity or values beyond {LARGEST:g}.")
        return values

    def _require_moderate(self, X: Any) -> None:
        """Refuse rows that are too large for the kernel, before any work."""
        if self.kernel in COMPUTED:
            self._gram(X, copy_bytes=0)

    def _training_threads(self) -> int:
        """A kernel function has Python's lock, and one thread."""
        return 1 if callable(self.kernel) else self._threads()

    # ---- outputs -------------------------------------------------------------------------------------

    def _fitted(self) -> Any:
        """What has been learnt, as it is now: an object with the fitted attributes."""
        return self

    def _outputs(self, X: Any, weights: _core.Weights, fitted: Any) -> np.ndarray:
        """Sums of kernel values with the support vectors, one column per machine."""
        if fitted.dual_coef_.shape[1] == 0:  # nothing has been learnt yet
            return np.tile(fitted.intercept_, (X.shape[0], 1))
        if self.kernel == "precomputed":
            columns = np.ascontiguousarray(fitted.support_, dtype=np.int64)
            return _core.decide_gathered(_core.Matrix(X), columns, weights, self._threads())
        return self._sums(X, weights, fitted.support_vectors_)

    def _sums(self, X: Any, weights: _core.Weights, rows: Any) -> np.ndarray:
        """Sums of kernel values with these rows, one column per output."""
        threads = self._threads()
        if not callable(self.kernel):
            # Support vectors with many zeros are worth a compressed copy: at most their own size.
            return _core.decide(self._gram(rows, copy_bytes=2**62), weights, _core.Matrix(X), threads)
        everything = np.arange(rows.shape[0], dtype=np.int64)
        block = max(1, CALLED_BLOCK_BYTES // (8 * max(rows.shape[0], 1)))
        parts = []
        for at in range(0, X.shape[0], block):
            values = self._call_kernel(X[at : at + block], rows)
            parts.append(_core.decide_gathered(_core.Matrix(values), everything, weights, threads))
        return np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class KernelClassifier(WeightedLabels, ClassifierMixin, KernelEstimator):
    """Base of the kernel classifiers: labels and decision values.

    A subclass has the parameter ``decision_function_shape`` where it has machines for pairs of classes, and publishes
    ``n_support_, classes_, decision_scale_`` as well.
    """

    # ---- validation ----------------------------------------------------------------------------------

    def _validate_rows(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, np.ndarray]:
        """Checked X and labels."""
        precomputed = self.kernel == "precomputed"
        X, y = self._check_rows(X, y, reset=reset)
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"kernel='precomputed' needs a square matrix of kernel values, X has shape {X.shape}.")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if precomputed and np.abs(X).max() > LARGEST:
            raise ValueError(f"Precomputed kernel values beyond {LARGEST:g} leave the range of a double; scale them.")
        return X, y

    def _validate_fit(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Checked X, and labels as codes into ``classes_``."""
        X, y = self._validate_rows(X, y)
        classes, codes = np.unique(y, return_inverse=True)
        require_two(classes)
        self.classes_ = classes
        return X, np.ascontiguousarray(codes, dtype=np.int64)

    def _gram_within(self, X: Any) -> tuple[_core.Gram | None, int]:
        """Kernel values of X, if they are to be computed, and the bytes that a copy of its rows leaves of the cache."""
        cache_bytes = int(self.cache_size * 2**20)
        if self.kernel == "precomputed" or callable(self.kernel):
            return None, cache_bytes
        gram = self._gram(X, copy_bytes=cache_bytes // 2)
        return gram, cache_bytes - gram.copy_bytes

    def _advance(self, machine: Any, X: Any, gram: Any, threads: int) -> Callable[[int | None], bool]:
        """A function that lets the core's machines learn for some steps (None: all), and says whether any are left."""

        def advance(steps: int | None) -> bool:
            limit = 2**62 if steps is None else steps
            if gram is not None:
                machine.learn(gram, threads, limit)
            elif callable(self.kernel):
                machine.learn_function(self._kernel_function(X), limit)
            else:
                machine.learn(_core.Matrix(X), threads, limit)
            return bool(machine.n_running)

        return advance

    def _require_no_balance(self) -> None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all labels at once; give a stream a dict, for example from "
                "sklearn.utils.class_weight.compute_class_weight."
            )

    def _weights_of(self, y: np.ndarray) -> np.ndarray:
        """Weights of the classes of samples in a stream."""
        if self.class_weight is None:
            return np.ones(len(y))
        self._check_class_weight()
        return np.array([self.class_weight.get(label, 1.0) for label in y.tolist()], dtype=np.float64)

    # ---- decisions -----------------------------------------------------------------------------------

    @property
    def _one_vs_rest(self) -> bool:
        """Whether there is a machine per class rather than per pair."""
        return False

    def _weights(self, fitted: Any) -> _core.Weights:
        n_classes = len(self.classes_)
        n_machines = n_classes if self._one_vs_rest else len(pairs(n_classes)[0])
        if np.shape(fitted.intercept_) != (n_machines,):
            raise ValueError(f"intercept_ must have shape {(n_machines,)}. Got {np.shape(fitted.intercept_)}.")
        groups = np.ascontiguousarray(fitted.n_support_, dtype=np.int64)
        return _core.Weights(
            np.ascontiguousarray(fitted.dual_coef_),
            groups.sum(keepdims=True) if self._one_vs_rest else groups,
            np.arange(n_machines)[np.newaxis] if self._one_vs_rest else pair_outputs(n_classes),
            np.ascontiguousarray(fitted.intercept_, dtype=np.float64),
        )

    def _pair_decisions(self, X: Any) -> np.ndarray:
        """Decision values of all machines, one column each."""
        fitted = self._fitted()
        return self._outputs(X, self._weights(fitted), fitted)

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_classes * (n_classes - 1) / 2)
            Two classes: positive for ``classes_[1]``. More: with ``decision_function_shape='ovo'`` one column for
            each pair (i, j), positive for class i; with ``'ovr'`` the votes of the pairs plus a tie-breaking term
            in (-1/3, 1/3). Machines that set each class against the rest give one column per class.
        """
        X = self._validate_predict(X)
        decisions = self._pair_decisions(X)
        if len(self.classes_) == 2:
            return decisions.ravel()
        if self._one_vs_rest or self.decision_function_shape == "ovo":
            return decisions
        return one_vs_rest_shape(decisions, self.decision_scale_, len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Each pair of classes votes; a tie goes to the class with the larger sum of decision values, each scaled by
        the largest that its machine has seen in training, and then to the first class. Where each class is set
        against the rest, the largest decision value wins.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        X = self._validate_predict(X)
        decisions = self._pair_decisions(X)
        if len(self.classes_) == 2:
            return self.classes_[(decisions.ravel() > 0).astype(np.intp)]
        if self._one_vs_rest:
            return self.classes_[decisions.argmax(axis=1)]
        votes = one_vs_rest_shape(decisions, self.decision_scale_, len(self.classes_))
        return self.classes_[votes.argmax(axis=1)]

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row per machine; only with a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'")
        check_is_fitted(self)
        if self._one_vs_rest:
            return self.dual_coef_ @ self.support_vectors_
        ends = np.cumsum(self.n_support_)
        of_class = [slice(end - count, end) for end, count in zip(ends, self.n_support_, strict=True)]
        rows = []
        for i, j in zip(*pairs(len(self.classes_)), strict=True):
            one = self.dual_coef_[j - 1, of_class[i]] @ self.support_vectors_[of_class[i]]
            other = self.dual_coef_[i, of_class[j]] @ self.support_vectors_[of_class[j]]
            rows.append(one + other)
        return np.vstack(rows)


def require_two(classes: np.ndarray) -> None:
    """Refuse labels of one class only."""
    if len(classes) < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got 1 class "
            f"({classes[0]!r}). Give y at least two different labels."
        )


def require_two_weighted(codes: np.ndarray, weights: np.ndarray) -> None:
    """Refuse weights that leave samples of one class only."""
    if len(np.unique(codes[weights > 0])) < 2:
        raise ValueError("sample_weight leaves fewer than two classes; give samples of two a weight > 0.")


def _variance(X: Any) -> float:
    """Variance of all entries in double, without a copy of X and the same for every memory order."""
    size = X.shape[0] * X.shape[1]
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sum(block.sum() for block in _blocks(values)) / size
        squares = sum(np.square(block - mean).sum() for block in _blocks(values))
        return float((squares + (size - values.size) * mean**2) / size)


def _blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    """Pieces of about a million entries, row after row, in double."""
    step = max(1, (1 << 20) // (values.shape[1] if values.ndim == 2 else 1))
    for at in range(0, len(values), step):
        yield np.ascontiguousarray(values[at : at + step], dtype=np.float64)


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[Callable[[], None]]:
    """Undo changes to fitted attributes when the block fails, unless it has called what it was given."""
    before = {name: value for name, value in vars(estimator).items() if _is_fitted_attribute(name)}
    keep: list[bool] = []
    try:
        yield lambda: keep.append(True)
    except BaseException:
        if not keep:
            for name in [name for name in vars(estimator) if _is_fitted_attribute(name)]:
                delattr(estimator, name)
            vars(estimator).update(before)
        raise


def _is_fitted_attribute(name: str) -> bool:
    return name in ("_gamma", "_online") or (name.endswith("_") and not name.startswith("_"))
