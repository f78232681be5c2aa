"""Rows that an estimator keeps after a fit, so that it can forget some of them and add others.

``fit(X, y, ids=...)`` keeps the rows, labels or targets, and weights, and an id for each row. ``forget`` and ``add``
make another set of rows and solve its problem to the tolerance, as a fit does, but from the present solution. What a
fit computes from all rows (``gamma='scale'``, balanced weights of classes, folds, landmarks) is computed again.

Kept rows are never changed: each call makes new arrays, and those of before are overwritten when the last reference
to them is gone (:mod:`hingeline.base.wiped`). So an error or Ctrl-C leaves the estimator as it was, and threads see one
state.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._registry import row_of
from . import wiped
from .fit import Training, run
from .ids import as_array, as_list, as_plain
from .receipt import Receipt, digest, feed, make_receipt
from .rows import require_places, require_sound
from .state import lock_of
from .types import Id, Ids, Rows

__all__ = ["RefusesToForget", "Retained", "RetainsRows", "read_ids", "retain", "rows_of"]

#: The id of each row is its label in the index of a DataFrame.
INDEX = "index"


class Retained:
    """Rows of a fit, in their order.

    Parameters
    ----------
    X : {ndarray, CSR matrix}
        Checked rows.
    y : ndarray
        Labels, targets, or zeros.
    weight : ndarray or None
        Weights given to ``fit``.
    names : ndarray
        Id of each row, integers or objects; several rows may have one.
    slopes : ndarray of shape (n_machines, n_rows) or None
        A value of each row for each machine that the next solution starts from, if the estimator has one.
    """

    def __init__(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, names: np.ndarray, slopes: np.ndarray | None = None
    ) -> None:
        self.X, self.y, self.weight, self.names, self.slopes = read_only(X), read_only(y), weight, names, slopes
        self._fingerprint = b""  # once it is known

    def __len__(self) -> int:
        return len(self.names)

    def find(self, ids: Ids) -> tuple[np.ndarray, list[Id]]:
        """Numbers of all rows with one of the ids, and the ids; KeyError if one is not held."""
        wanted = dict.fromkeys(as_plain(name) for name in as_list(ids))
        if self.names.dtype == np.int64:
            numbers = [name for name in wanted if isinstance(name, int) and -(2**63) <= name < 2**63]
            rows = np.flatnonzero(np.isin(self.names, np.array(numbers, dtype=np.int64)))
        else:
            rows = np.flatnonzero([name in wanted for name in self.names.tolist()])
        missing = wanted.keys() - set(self.names[rows].tolist())
        if missing:
            unknown = [name for name in wanted if name in missing]
            raise KeyError(f"no row has the ids {unknown[:5]!r}" + (" ..." if len(unknown) > 5 else ""))
        return rows, list(wanted)

    def take(self, rows: np.ndarray) -> Retained:
        """These rows only, without slopes."""
        weight = None if self.weight is None else self.weight[rows]
        return Retained(wiped.take(self.X, rows), wiped.take(self.y, rows), weight, wiped.take(self.names, rows))

    def extend(self, X: Any, y: np.ndarray, weight: np.ndarray | None, names: list[Id]) -> Retained:
        """These rows and others behind them."""
        if (weight is None) != (self.weight is None):
            raise ValueError(
                "sample_weight must be given for all rows or for none. "
                + ("fit had none; leave it out." if self.weight is None else "fit had some; give it.")
            )
        weights = None if weight is None or self.weight is None else np.concatenate([self.weight, weight])
        y = y if y.dtype == self.y.dtype else np.asarray(y, dtype=np.result_type(self.y, y))
        own = self.y if y.dtype == self.y.dtype else self.y.astype(y.dtype)
        every = as_array([*self.names.tolist(), *names])
        return Retained(wiped.stack(self.X, X), wiped.stack(own, y), weights, every)

    def fingerprint(self) -> bytes:
        """SHA-256 of all fields."""
        if not self._fingerprint:
            sums = hashlib.sha256()
            feed(sums, self.__getstate__())
            self._fingerprint = sums.digest()
        return self._fingerprint

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_fingerprint"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        require_sound(state.keys() == {"X", "y", "weight", "names", "slopes"}, "kept rows lack a field")
        X, names, slopes = state["X"], state["names"], state["slopes"]
        sound = isinstance(X, np.ndarray) or (sp.issparse(X) and X.format == "csr")
        sound = sound and X.ndim == 2 and isinstance(names, np.ndarray) and names.ndim == 1
        require_sound(sound and names.dtype in (np.int64, object), "kept rows must be a table with an array of ids")
        plain = names.tolist() if names.dtype == object else []
        require_sound(list(map(as_plain, plain)) == plain, "ids must be integers, strings or UUIDs")
        n = X.shape[0]
        for name, optional in (("y", False), ("weight", True)):
            value = state[name]
            absent = optional and value is None
            sound = absent or (isinstance(value, np.ndarray) and value.shape == (n,))
            require_sound(sound and len(names) == n, "kept rows, labels, weights and ids differ in number")
        sound = slopes is None or (isinstance(slopes, np.ndarray) and slopes.ndim == 2 and slopes.shape[1] == n)
        require_sound(
            sound and (slopes is None or np.isfinite(slopes).all()), "slopes must be finite, one for each row"
        )
        values = X.data if sp.issparse(X) else X
        if sp.issparse(X):
            require_places(X, "the saved state is damaged: kept rows")
        require_sound(values.dtype.kind == "f" and np.isfinite(values).all(), "kept rows must be finite numbers")
        vars(self).update(state, X=read_only(wiped.copy(X)), y=read_only(wiped.copy(state["y"])), _fingerprint=b"")


def read_only(values: Any) -> Any:
    """Make an array or sparse matrix read-only: threads share it."""
    for part in (values.data, values.indices, values.indptr) if sp.issparse(values) else (values,):
        part.flags.writeable = False
    return values


def rows_of(fitted: Any) -> Retained | None:
    """Rows that an estimator keeps."""
    kept: Retained | None = vars(fitted).get("_kept")
    return kept


def read_ids(X: Any, ids: Any) -> tuple[Any, list[Id] | None]:
    """Rows without a column of ids, and the id of each row; None: no ids were given.

    Parameters
    ----------
    X : array-like
        Rows, as the user gives them.
    ids : array-like, str or None
        One id for each row; 'index' for the index of a DataFrame; or the name of one of its columns.
    """
    if ids is None:
        return X, None
    if isinstance(ids, str):
        if not hasattr(X, "columns"):
            raise ValueError(f"ids must be one id for each row; a name needs a DataFrame. Got ids={ids!r}.")
        if ids in X.columns:
            X, values = X.drop(columns=ids), X[ids]
        elif ids == INDEX:
            values = X.index
        else:
            raise ValueError(f"ids must be 'index' or a column of X. Got {ids!r}; the columns are {list(X.columns)}.")
        return X, [as_plain(name) for name in values.tolist()]
    return X, [as_plain(name) for name in as_list(ids)]


class RetainsRows:
    """Mixin of the batch estimators that forget and add rows.

    A subclass calls :func:`retain` when it has checked the rows of a fit, and has ``_resume``.
    """

    _kept: Retained | None = None

    @property
    def ids_(self: Any) -> np.ndarray:
        """Ids of the rows that the model holds, in the order of the rows."""
        kept = rows_of(self)
        if kept is None:
            raise AttributeError("ids_ exists after fit(..., ids=...) only")
        return kept.names.copy()

    def forget(self: Any, ids: Ids) -> Receipt:
        """Remove rows: the model becomes that of the remaining rows, to ``tol``.

        Needs ``fit(X, y, ids=...)``. The solution is computed from the present one, and proves itself as after ``fit``.
        Rows, ids, and all that was computed from them are removed from the model; their memory is overwritten. An error
        or Ctrl-C leaves the model as it was.

        Parameters
        ----------
        ids : int, str, uuid.UUID or iterable of these
            Ids of the rows. All rows with one of these ids are removed.

        Returns
        -------
        Receipt
            What was removed, and which model is left; see :class:`hingeline.Receipt`.
        """
        with lock_of(self):
            kept = self._require_kept("forget")
            gone, names = kept.find(ids)
            before = digest(self)
            rows = np.delete(np.arange(len(kept), dtype=np.int64), gone)
            if not len(rows):
                raise ValueError("forget would leave no row. Delete the model and the files it was saved to.")
            run(self, type(self)._prepare_change, kept.take(rows), rows, callbacks=False, whole=True)
            return make_receipt(self, names, len(gone), before)

    def add(
        self: Any,
        X: Rows,
        y: npt.ArrayLike | None = None,
        ids: Ids | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Any:
        """Add rows: the model becomes that of all rows, to ``tol``.

        Needs ``fit(X, y, ids=...)``. The solution is computed from the present one, and proves itself as after ``fit``.
        An error or Ctrl-C leaves the model as it was.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), default=None
            Labels or targets; None for one-class models.
        ids : sequence of int, str or uuid.UUID
            Id of each sample, or as in ``fit``. An id may be held already.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, if ``fit`` had some.

        Returns
        -------
        object
            The estimator.
        """
        with lock_of(self):
            kept = self._require_kept("add")
            X, names = read_ids(X, ids)
            if names is None:
                raise ValueError("add needs ids, one id for each row of X.")
            X, labels = self._validate_more(X, y)
            _require_ids(names, X)
            weight = None if sample_weight is None else self._sample_weights(sample_weight, X)
            if (kept.y.dtype.kind in "OU") != (labels.dtype.kind in "OU"):
                raise ValueError(
                    f"y has dtype {labels.dtype} but the labels of fit have dtype {kept.y.dtype}. Convert y to "
                    "one type."
                )
            X = X.toarray() if sp.issparse(X) and not sp.issparse(kept.X) else X
            rows = np.concatenate([np.arange(len(kept)), np.full(len(names), -1)])
            more = kept.extend(X, labels, weight, names)
            run(self, type(self)._prepare_change, more, rows, callbacks=False, whole=True)
        return self

    def __setstate__(self: Any, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        if rows_of(self) is not None and "support_vectors_" in vars(self):
            self.support_vectors_ = read_only(wiped.copy(self.support_vectors_))

    def _check_saved(self: Any) -> None:
        super()._check_saved()  # type: ignore[misc]
        kept = rows_of(self)
        sound = kept is None or (isinstance(kept, Retained) and kept.X.shape[1] == self.n_features_in_)
        require_sound(sound, "_kept must be rows with the features of the model")

    # ---- what subclasses say --------------------------------------------------------------------------

    def _resume(self, before: Retained, kept: Retained, rows: np.ndarray) -> Training:
        """Training to the rows `kept` now, from the solution for those of `before`.

        `rows` has the number in `before` of each row kept now, or -1 for rows that were added. Called on a draft, whose
        fitted attributes are those of `before`.
        """
        raise NotImplementedError

    def _validate_more(self: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Checked rows, and labels or targets, for a fitted estimator."""
        raise NotImplementedError

    # ---- rows ----------------------------------------------------------------------------------------

    def _require_kept(self, method: str) -> Retained:
        kept = rows_of(self)
        if kept is None:
            raise ValueError(
                f"{method} needs the rows of fit, which are kept only if it gets ids. Call fit(X, y, ids=...), for "
                "example with ids=range(len(X))."
            )
        return kept

    def _prepare_change(self, kept: Retained, rows: np.ndarray) -> Training:
        """Training to other rows, for :func:`hingeline.base.fit.run`."""
        before, self._kept = self._require_kept("forget"), kept
        return self._resume(before, kept, rows)


def retain(estimator: Any, X: Any, y: np.ndarray, sample_weight: Any, names: list[Id] | None) -> Any:
    """Keep a copy of the checked rows of a fit, if ids were given. Returns X, or the copy to train on."""
    estimator._kept = None
    if names is None:
        return X
    if getattr(estimator, "kernel", None) == "precomputed":
        raise ValueError("ids need rows: with kernel='precomputed' there are none to forget. Leave out ids.")
    if not (isinstance(X, np.ndarray) and X.ndim == 2) and not sp.issparse(X):
        raise ValueError(f"ids need X as an array or a sparse matrix. Got {type(X).__name__}.")
    _require_ids(names, X)
    weight = None if sample_weight is None else estimator._sample_weights(sample_weight, X)
    X = wiped.copy(X.tocsr() if sp.issparse(X) else X)
    estimator._kept = Retained(X, wiped.copy(y), weight, as_array(names))
    return X


class RefusesToForget:
    """Mixin of the estimators that cannot forget: ``hasattr(model, "forget")`` is False, and a call says why."""

    @property
    def forget(self) -> Any:
        """Not available; AttributeError says why, and which estimators forget."""
        row = next(row for kind in type(self).__mro__ if (row := row_of(kind)) is not None)
        raise AttributeError(f"{row.name} cannot forget rows: {row.no_forgetting}")

    @property
    def add(self) -> Any:
        """Not available either."""
        return self.forget


def _require_ids(names: list[Id], X: Any) -> None:
    if len(names) != X.shape[0]:
        raise ValueError(f"ids must have one entry per sample: got {len(names)} for {X.shape[0]} samples.")
