"""A linear machine on a Nystroem map of an RBF kernel: seconds of the map and of the fit, accuracy."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import svm
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

from benchmarks.against.data import load
from benchmarks.against.settings import Data
from benchmarks.harness import Busy, Sample, timed
from benchmarks.writing import write_whole
from hingeline import LinearSVC

from .settings import CHOICE_ROWS, EPOCHS, PENALTIES


def machine(method: str, C: float, n: int, threads: int) -> Any:
    """C multiplies half of the squared losses; SGD divides the same objective (with hinge loss) by C n."""
    if method.startswith("hingeline"):
        option: dict[str, Any] = {"tol": float(method.split("=")[1])} if "=" in method else {}
        return LinearSVC(C=C / 2, n_jobs=threads, **option)
    if method.startswith("SGDClassifier"):
        return SGDClassifier(
            alpha=1 / (C * n), max_iter=EPOCHS, tol=None, average=method.endswith("averaged"), random_state=0
        )
    return svm.LinearSVC(C=C / 2, random_state=0)


class Mapped:
    """One method on one map; its C is chosen on a held-out part of the training rows, untimed and once only."""

    def __init__(self, method: str, data: Data, components: int, dtype: str, threads: int, path: Path) -> None:
        self._method, self._threads = method, threads
        self._split = load(data, "dense", dtype)
        self._n = len(self._split.y_train)
        components = min(components, self._n // 2)
        self._map = Nystroem(gamma=data.theirs.gamma, n_components=components, random_state=0)
        self._C = self._kept(path)
        few = self._split.X_train[: 4 * components], self._split.y_train[: 4 * components]
        self._fit(self._map.fit_transform(few[0]), few[1], self._C)

    def _kept(self, path: Path) -> float:
        if path.exists():
            return float(json.loads(path.read_text(encoding="utf-8"))["C"])
        accuracies = self._accuracies()
        C = max(accuracies, key=lambda C: (accuracies[C], -C))
        write_whole(path, json.dumps({"C": C, "accuracy": {f"{k:g}": v for k, v in accuracies.items()}}) + "\n")
        return C

    def _accuracies(self) -> dict[float, float]:
        rows = np.random.default_rng(1).permutation(self._n)[:CHOICE_ROWS]
        part = train_test_split(self._split.X_train[rows], self._split.y_train[rows], test_size=0.25, random_state=0)
        X, X_held, y, y_held = self._map.fit_transform(part[0]), self._map.transform(part[1]), part[2], part[3]
        found: dict[float, float] = {}
        for C in PENALTIES:
            found[C] = float(np.mean(self._fit(X, y, C)[1].predict(X_held) == y_held))
            if all(value < max(found.values()) for value in list(found.values())[-2:]):
                break  # two in a row below the best: larger values only take longer
        return found

    def _fit(self, X: Any, y: np.ndarray, C: float) -> tuple[float, Any, str]:
        model = machine(self._method, C, len(y), self._threads)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seconds, _ = timed(lambda: model.fit(X, y))
        return seconds, model, ", ".join(sorted({w.category.__name__ for w in caught}))

    def measure(self) -> Sample:
        split = self._split
        mapping, X = timed(lambda: self._map.fit_transform(split.X_train))
        with Busy() as busy:
            fit, model, warned = self._fit(X, split.y_train, self._C)
        guess = model.predict(self._map.transform(split.X_test))
        facts: dict[str, Any] = {
            "accuracy, %": 100 * float(np.mean(guess == split.y_test)),
            "C": f"{self._C:g}",
            "threads busy in fit": busy.threads,
        }
        if warned:
            facts["warnings"] = warned
        return Sample({"map and fit": [mapping + fit], "map": [mapping], "fit": [fit]}, facts)
