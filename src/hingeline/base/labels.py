"""Several classes: order of the class pairs, LIBSVM's layout of coefficients, votes; weights of samples and classes.

Pairs have the order (0, 1), (0, 2), ..., (c-2, c-1). A positive value of machine (i, j) is a vote for class i. With two
classes, as in all of scikit-learn, a positive value is a vote for ``classes_[1]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .. import _core
from . import params
from .rows import LARGEST, WeightedSamples, clip_weights, flatten_column, require_finite


def n_pairs(n_classes: int) -> int:
    """Number of pairs of classes."""
    return n_classes * (n_classes - 1) // 2


@lru_cache(maxsize=4)
def pairs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """First and second class of every pair."""
    first, second = np.triu_indices(n_classes, k=1)
    return read_only(first), read_only(second)


def pair_outputs(n_classes: int) -> np.ndarray:
    """Machine that line m of ``dual_coef_`` belongs to for the support vectors of class i, as an array [i, m].

    LIBSVM's layout: the support vectors of class i have one coefficient for each other class, in order.
    """
    number = np.zeros((n_classes, n_classes), dtype=np.int64)
    first, second = pairs(n_classes)
    number[first, second] = number[second, first] = np.arange(len(first))
    off_diagonal = ~np.eye(n_classes, dtype=bool)
    return number[off_diagonal].reshape(n_classes, n_classes - 1)


def is_one_vs_rest(fitted: Any) -> bool:
    """Whether there is a machine and a line of coefficients per class rather than per pair of classes."""
    n_classes = len(fitted.classes_)
    return bool(n_classes > 2 and fitted.dual_coef_.shape[0] == n_classes)


def is_by_pairs(fitted: Any) -> bool:
    """Whether pairs of more than two classes vote."""
    return len(fitted.classes_) > 2 and not is_one_vs_rest(fitted)


def libsvm_layout(found: dict[str, Any]) -> dict[str, Any]:
    """Attributes of the core with the integer types of LIBSVM, and nested tables as dictionaries."""
    for name in ("support", "n_support"):
        if name in found and found[name].max(initial=0) < 2**31:
            found[name] = found[name].astype(np.int32)
    for name in ("history", "ramp_counts", "profile"):
        if name in found:
            found[name] = found[name][0]
    for name, value in found.items():
        if isinstance(value, np.ndarray) and value.dtype.char == "q":
            found[name] = value.view(np.int64)  # NumPy has two 64-bit integers; the core gives the other one
    if "stop_reason" in found:
        found["stop_reason"] = np.array(found["stop_reason"])
    if "dual_coef" in found:
        read_only(found["dual_coef"])
    return found


def read_only(values: Any) -> Any:
    """Make an array or sparse matrix read-only: predictions use a packed copy, which would not follow changes."""
    (values if isinstance(values, np.ndarray) else values.data).flags.writeable = False
    return values


def vote_scale(scale: np.ndarray) -> np.ndarray:
    """Divisors of the decision values in sums that break ties: 1 for machines that have seen no value but zero."""
    return np.where(scale > 0, scale, 1.0)


def choose_classes(decisions: np.ndarray, votes: _core.Votes | None) -> np.ndarray:
    """Index of the class of each row: by votes of the pairs, or by the largest value (of one column: the sign)."""
    if votes is not None:
        return require_finite(votes.count(decisions))
    return (decisions.ravel() > 0).astype(np.intp) if decisions.shape[1] == 1 else decisions.argmax(axis=1)


class WeightedLabels(WeightedSamples):
    """Weights of samples and classes. A subclass has the constructor parameter ``class_weight``."""

    class_weight: Any
    classes_: np.ndarray

    def _check_class_weight(self) -> None:
        given = list(self.class_weight.values()) if isinstance(self.class_weight, Mapping) else []
        rule = params.real(above=None if self._takes_negative_weights else 0.0, most=LARGEST)
        if not all(rule.accepts(weight) for weight in given):
            raise ValueError(
                f"class_weight must give every class a number > 0 and <= {LARGEST:g}. Got {given}. To ignore a class, "
                "leave out its rows."
            )

    def _class_weights(self, classes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Weight of each class from its number of samples. With `class_weight`, 0 for classes without samples."""
        weights = np.ones(len(counts))
        if self.class_weight is None:
            return weights
        self._check_class_weight()
        present = counts > 0
        weights[~present] = 0.0
        if isinstance(self.class_weight, str):  # 'balanced'
            weights[present] = counts.sum() / (present.sum() * counts[present])
        else:
            found = classes[present]
            weights[present] = compute_class_weight(self.class_weight, classes=found, y=found)
        return weights


def multiply_weights(codes: np.ndarray, class_weight: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """Weights of samples times those of their classes; zero for samples that are left out.

    Parameters
    ----------
    codes : ndarray
        Class of each sample.
    class_weight : ndarray
        Weight of each class.
    sample_weight : ndarray
        Weight of each sample.

    Returns
    -------
    ndarray
        The products, or zero where they are negative. Samples of two classes have a weight > 0.
    """
    weights = clip_weights(class_weight[codes] * sample_weight)
    kept = weights > 0
    if len(np.unique(codes[kept])) < 2:
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class: sample_weight leaves fewer "
            "than two classes. Give samples of two a weight > 0."
        )
    if weights.max() > LARGEST:
        raise ValueError(
            f"sample_weight times class_weight must not exceed {LARGEST:g}. Got {weights.max():g}. Lower the weights."
        )
    return weights


def label_column(y: Any, name: str = "y") -> np.ndarray:
    """Labels in one dimension that can be sorted; ValueError for objects that are not all strings.

    Arrays of objects, the only ones that can hold None or labels of several types, are checked before they are sorted:
    the error of a comparison names no argument.
    """
    column: np.ndarray = column_or_1d(flatten_column(y, name))
    kinds = {type(label) for label in column} if column.dtype.kind == "O" else set()
    if not all(issubclass(kind, str) for kind in kinds):
        raise ValueError(
            f"Unknown label type: {name} must hold numbers, or strings. Got objects of type "
            f"{' and '.join(sorted(kind.__name__ for kind in kinds))}. Remove rows "
            f"without a label and convert {name} to one type, for example with numpy.asarray({name}, dtype=str)."
        )
    return column


def check_labels(y: Any) -> np.ndarray:
    """Labels of a classifier, in one dimension."""
    column = label_column(y)
    check_classification_targets(column)
    return column


def require_two(classes: np.ndarray) -> None:
    """Reject labels of one class only."""
    if len(classes) < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got 1 class "
            f"({classes[0]!r}). Give y at least two different labels."
        )
