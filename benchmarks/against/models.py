"""Jobs: train, predict, memory, import."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import warnings
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from benchmarks.core_access import build
from benchmarks.harness import Busy, Sample, Unavailable, take_turns, timed
from benchmarks.memory import Growth

from .data import load, nbytes
from .peers import EVERYBODY
from .settings import CACHE_MB, Data, Sizes

MEGABYTE = 2**20
#: Rows of the fit that warms a program up: libraries loaded, threads started.
WARM_UP_ROWS = 200
#: Programs whose import is timed.
IMPORTS = ("from hingeline import *", "import sklearn.svm", "pass")


def started(name: str, data: Data, threads: int, cache_mb: float = CACHE_MB) -> Any:
    """An estimator of the peer, or Unavailable with a reason."""
    peer = EVERYBODY[name]
    try:
        return peer.make(data, threads, cache_mb)
    except ImportError as error:
        raise Unavailable(f"{peer.package} is not installed ({error})") from error


class Train:
    """Fit, then predict the test set."""

    def __init__(self, peer: str, form: str, data: Data, sizes: Sizes, threads: int, **options: Any) -> None:
        self._model = started(peer, data, threads, **options)
        self._split = load(data, form, EVERYBODY[peer].forms[form], sizes.rows, sizes.test_rows)
        few = slice(WARM_UP_ROWS)
        self._fit(self._split.X_train[few], self._split.y_train[few])
        self._model.predict(self._split.X_test[few])

    def _fit(self, X: Any, y: Any) -> tuple[float, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seconds, _ = timed(lambda: self._model.fit(X, y))
        return seconds, sorted({w.category.__name__ for w in caught})

    def measure(self) -> Sample:
        with Growth() as growth, Busy() as busy:
            fit, warned = self._fit(self._split.X_train, self._split.y_train)
        predict, labels = timed(lambda: self._model.predict(self._split.X_test))
        facts: dict[str, Any] = {
            "accuracy %": 100 * float(np.mean(labels == self._split.y_test)),
            "support vectors": len(self._model.support_),
            "threads busy in fit": busy.threads,
            "training memory, MB": growth.bytes / MEGABYTE,
        }
        if warned:
            facts["warnings"] = ", ".join(warned)
        return Sample({"fit": [fit], "predict": [predict]}, facts)


class Memory(Train):
    """Growth of the process in fit, beside what the law allows: data + cache_size + O(n).

    The data were there before. The model's copy of its support vectors, at most their size, is part of the growth.
    """

    def measure(self) -> Sample:
        sample = super().measure()
        growth = sample.facts.pop("training memory, MB")
        cache, vectors = float(self._model.cache_size), nbytes(self._model.support_vectors_) / MEGABYTE
        rows = len(self._split.y_train)
        beyond = max(0.0, growth - cache - vectors) * MEGABYTE / rows
        sample.facts |= {
            "rows": rows,
            "data, MB": nbytes(self._split.X_train) / MEGABYTE,
            "cache_size, MB": cache,
            "support_vectors_, MB": vectors,
            "growth in fit, MB": growth,
            "beyond cache_size + support_vectors_, bytes a row": beyond,
        }
        return sample


class Decide:
    """decision_function of a model with about 11,000 support vectors, on the test set.

    Each peer fits its own model of the same problem, kept in `cache` from run to run.
    """

    def __init__(self, peer: str, form: str, data: Data, sizes: Sizes, threads: int, cache: Path) -> None:
        known, model = EVERYBODY[peer], started(peer, data, threads)
        split = load(data, form, known.forms[form], sizes.rows, sizes.test_rows)
        self._X, self._y = split.X_test, split.y_test
        made_by = build() if known.package == "hingeline" else version(known.package)
        key = repr((peer, made_by, form, known.forms, data, sizes.rows))
        path = cache / f"{peer}-{data.name}-{form}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.model"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Under another name until complete: an interrupted run must not leave half a model.
            joblib.dump(model.fit(split.X_train, split.y_train), path.with_suffix(".part"))
            path.with_suffix(".part").replace(path)
        self._model = joblib.load(path).set_params(**({} if peer == "scikit-learn" else {"n_jobs": threads}))
        self._model.decision_function(self._X[:50])

    def measure(self) -> Sample:
        with Busy() as busy:
            seconds, values = timed(lambda: self._model.decision_function(self._X))
        facts = {
            "accuracy %": 100 * float(np.mean((values > 0) == (self._y > 0))),
            "support vectors": len(self._model.support_),
            "threads busy": busy.threads,
            "=decision values": values.tolist(),
        }
        return Sample({"decision_function": [seconds]}, facts)


class ImportTime:
    """Wall time of whole interpreters, in turns."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._calls: dict[str, Any] = {
            f'python -c "{program}"': partial(subprocess.run, [sys.executable, "-c", program], check=True)
            for program in IMPORTS
        }
        # Files into the cache of the operating system, bytecode onto the disk.
        take_turns(self._calls, 1)

    def measure(self) -> dict[str, Sample]:
        seconds = take_turns(self._calls, self._rounds)
        return {label: Sample({"wall": times}) for label, times in seconds.items()}
