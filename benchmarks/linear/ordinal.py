"""Ordinal regression: mean absolute error of cross-validation, seconds of its fits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import Sample, Unavailable, timed
from hingeline import OrdinalSVC

from .data import ordered
from .settings import FOLDS, INNER_FOLDS, ORDINAL_PENALTIES, SLOW_PENALTIES

Maker = Callable[[float], Any]


def maker(method: str, threads: int) -> Maker:
    """A model of C, which multiplies half of squared losses; those with alpha instead get 1 / C."""
    kind, _, option = method.partition(", ")
    if kind == "hingeline":
        more: dict[str, Any] = {"loss": option} if option else {}
        share = 1.0 if option == "hinge" else 0.5
        return lambda C: OrdinalSVC(C=share * C, n_jobs=threads, **more)
    try:
        if kind == "mord":
            import mord

            return lambda C: getattr(mord, option)(alpha=1 / C)
        from skordinal import classifiers
    except ImportError as error:
        raise Unavailable(f"{kind} is not installed ({error})") from error
    if option.endswith(" linear"):
        return lambda C: getattr(classifiers, option.removesuffix(" linear"))(C=C, kernel="linear")
    return lambda C: getattr(classifiers, option)(alpha=1 / C)


class Part:
    """A training and a test part, features scaled by the training part, classes numbered as they occur in it."""

    def __init__(self, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> None:
        scaler = StandardScaler().fit(X[train])
        self.X, self.X_test, self.y_test = scaler.transform(X[train]), scaler.transform(X[test]), y[test]
        self.classes, self.y = np.unique(y[train], return_inverse=True)

    def fit(self, make: Maker, C: float) -> tuple[float, np.ndarray]:
        """Seconds, and errors on the test part in classes."""
        model = make(C)
        seconds, _ = timed(lambda: model.fit(self.X, self.y))
        return seconds, np.abs(self.classes[model.predict(self.X_test).astype(int)] - self.y_test)


def parts(X: np.ndarray, y: np.ndarray, folds: int) -> list[Part]:
    split = StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y)
    return [Part(X, y, train, test) for train, test in split]


class Ordinal:
    """`once`: C is chosen in the first fold only, among fewer values, and kept for the others (slow programs)."""

    def __init__(
        self, method: str, source: str, classes: int | None, rows: int | None, once: bool, threads: int
    ) -> None:
        # Classes with fewer rows than folds, solvers that stop at their limit.
        warnings.simplefilter("ignore")
        self._make = maker(method, threads)
        X, y = ordered(source, classes, rows)
        self._parts = parts(X, y, FOLDS)
        self._penalties = SLOW_PENALTIES if once else ORDINAL_PENALTIES
        self._C = [self._chosen(part) for part in self._parts[: 1 if once else None]]
        self._C *= FOLDS // len(self._C)

    def _chosen(self, part: Part) -> float:
        inner = parts(part.X, part.y, INNER_FOLDS)
        errors = {
            C: float(np.mean(np.concatenate([some.fit(self._make, C)[1] for some in inner]))) for C in self._penalties
        }
        return min(errors, key=lambda C: (errors[C], C))

    def measure(self) -> Sample:
        found = [part.fit(self._make, C) for part, C in zip(self._parts, self._C, strict=True)]
        means = [float(np.mean(errors)) for _, errors in found]
        facts = {
            "MAE": f"{np.mean(np.concatenate([errors for _, errors in found])):.4f}",
            "standard error": f"{np.std(means, ddof=1) / np.sqrt(len(means)):.4f}",
            "accuracy, %": 100 * float(np.mean(np.concatenate([errors == 0 for _, errors in found]))),
            "median C": f"{np.median(self._C):g}",
        }
        return Sample({"fit": [seconds for seconds, _ in found]}, facts)
