"""How hingeline's fit compares with one pass over the rows, and a path of C with one fit."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from benchmarks.against.data import nbytes
from benchmarks.harness import Busy, Sample, take_turns, timed
from benchmarks.liblinear import gradient_square, objective
from hingeline import LinearSVC, linear_svc_path

from .data import load
from .settings import PATH_CS, ROUNDS, Linear


class Passes:
    """Fit and X @ w of NumPy or SciPy in turns inside one process."""

    def __init__(self, data: Linear, form: str, dtype: str, threads: int) -> None:
        split = load(data, form, dtype)
        self._X, self._y = split.X_train, split.y_train
        self._w = np.random.default_rng(0).standard_normal(self._X.shape[1]).astype(dtype)
        self._model = LinearSVC(C=0.5, n_jobs=threads)
        self._model.fit(self._X[:2000], self._y[:2000])

    def measure(self) -> Sample:
        calls = {"fit": lambda: self._model.fit(self._X, self._y), "one pass": lambda: self._X @ self._w}
        with Busy() as busy:
            seconds = take_turns(calls, ROUNDS)
        ratios = [fit / one for fit, one in zip(seconds["fit"], seconds["one pass"], strict=True)]
        facts = {
            "fit / pass": statistics.median(ratios),
            "tolerance": f"{self._model.tol:g}",
            "n_passes_": float(self._model.n_passes_),
            "iterations": self._model.n_iter_,
            "solver": self._model.solver_,
            "threads busy": busy.threads,
            "pass, GB/s": nbytes(self._X) / 1e9 / statistics.median(seconds["one pass"]),
        }
        return Sample(seconds, facts)


class Path:
    """`what`: "one" fit at C = 1, the "path", or a "cold" fit for each of its values of C; LinearSVC gets C / 2."""

    def __init__(self, what: str, data: Linear, form: str, tol: float | None, threads: int) -> None:
        self._what = what
        self._options: dict[str, Any] = {"n_jobs": threads}
        if tol is not None:
            self._options["tol"] = tol
        split = load(data, form)
        self._X, self._y = split.X_train, split.y_train
        self._few = np.r_[np.flatnonzero(self._y > 0)[:500], np.flatnonzero(self._y < 0)[:500]]
        self._take(self._X[self._few], self._y[self._few])

    def _take(self, X: Any, y: np.ndarray) -> Sample:
        Cs = (1.0,) if self._what == "one" else PATH_CS
        halves = [C / 2 for C in Cs]
        if self._what == "path":
            seconds, models = timed(lambda: linear_svc_path(X, y, Cs=halves, **self._options))
        else:
            seconds, models = timed(lambda: [LinearSVC(C=C, **self._options).fit(X, y) for C in halves])
        planes = [(model.coef_[0], float(model.intercept_[0])) for model in models]
        return self._sample(X, y, seconds, Cs, planes, sum(model.n_iter_ for model in models))

    def _sample(self, X: Any, y: np.ndarray, seconds: float, Cs: Any, planes: list[Any], iterations: int) -> Sample:
        """With a bound of our own on how far any of the solutions is from the minimum."""
        above = max(
            gradient_square(X, y, plane, C) / 2 / objective(X, y, plane, C) for C, plane in zip(Cs, planes, strict=True)
        )
        facts = {"iterations": iterations, "values of C": len(Cs), "at most above the minimum, relative": above}
        return Sample({"all": [seconds]}, facts)

    def measure(self) -> Sample:
        sample = self._take(self._X, self._y)
        sample.facts["tolerance"] = f"{self._options.get('tol', LinearSVC().tol):g}"
        return sample
