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

import numpy as np

from benchmarks.harness import Busy, Sample, Unavailable, take_turns, timed
from benchmarks.memory import Growth

from .data import load, nbytes
from .peers import EVERYBODY, Peer
from .settings import Data, Sizes

MEGABYTE = 2**20
#: Rows of the fit that warms a program up: libraries loaded, threads started.
WARM_UP_ROWS = 200
#: Programs whose import is timed.
IMPORTS = ("import hingeline", "import sklearn.svm", "pass")


def started(name: str, data: Data, threads: int, **options: Any) -> Peer:
    """The peer, or Unavailable with a reason."""
    peer = EVERYBODY[name]
    try:
        peer.start(data, threads, **options)
    except ImportError as error:
        raise Unavailable(f"{peer.package} is not installed ({error})") from error
    return peer


class Train:
    """Fit, then predict the test set."""

    def __init__(self, peer: str, form: str, data: Data, sizes: Sizes, threads: int, **options: Any) -> None:
        self._peer = started(peer, data, threads, **options)
        split = load(data, form, self._peer.forms[form], sizes.rows, sizes.test_rows)
        self._y_train, self._y_test = split.y_train, split.y_test
        self._train = self._peer.convert(split.X_train, split.y_train)
        self._test = self._peer.convert(split.X_test, split.y_test)
        self._data_bytes, self._rows = nbytes(split.X_train), len(split.y_train)
        few = slice(WARM_UP_ROWS)
        small = self._peer.convert(split.X_train[few], split.y_train[few])
        self._fit(small, split.y_train[few])
        self._peer.predict(small)

    def _fit(self, X: Any, y: Any) -> tuple[float, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seconds, _ = timed(lambda: self._peer.fit(X, y))
        return seconds, sorted({w.category.__name__ for w in caught})

    def measure(self) -> Sample:
        with Growth() as growth, Busy() as busy:
            fit, warned = self._fit(self._train, self._y_train)
        predict, labels = timed(lambda: self._peer.predict(self._test))
        facts = {
            "accuracy %": 100 * float(np.mean(labels == self._y_test)),
            "support vectors": self._peer.n_support(),
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
        cache, vectors = float(self._peer.model.cache_size), nbytes(self._peer.model.support_vectors_) / MEGABYTE
        beyond = max(0.0, growth - cache - vectors) * MEGABYTE / self._rows
        sample.facts |= {
            "rows": self._rows,
            "data, MB": self._data_bytes / MEGABYTE,
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
        self._peer = started(peer, data, threads)
        split = load(data, form, self._peer.forms[form], sizes.rows, sizes.test_rows)
        self._y = split.y_test
        self._test = self._peer.convert(split.X_test, split.y_test)
        fit_or_restore(self._peer, peer, form, data, sizes, cache)
        self._peer.decide(self._peer.convert(split.X_test[:50], split.y_test[:50]))

    def measure(self) -> Sample:
        with Busy() as busy:
            seconds, values = timed(lambda: self._peer.decide(self._test))
        facts = {
            "accuracy %": 100 * float(np.mean((values > 0) == (self._y > 0))),
            "support vectors": self._peer.n_support(),
            "threads busy": busy.threads,
            "=decision values": values.tolist(),
        }
        return Sample({"decision_function": [seconds]}, facts)


def fit_or_restore(peer: Peer, name: str, form: str, data: Data, sizes: Sizes, cache: Path) -> None:
    """A fitted model from the cache folder, made now if it is not there."""
    dtype = peer.forms[form]
    key = repr((name, version(peer.package), form, dtype, data, sizes.rows))
    path = cache / f"{name}-{data.name}-{form}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.model"
    if path.exists():
        peer.restore(path)
        return
    split = load(data, form, dtype, sizes.rows, test_rows=1)
    peer.fit(peer.convert(split.X_train, split.y_train), split.y_train)
    cache.mkdir(parents=True, exist_ok=True)
    # Under another name until complete: an interrupted run must not leave half a model.
    unfinished = path.with_suffix(".part")
    peer.save(unfinished)
    unfinished.replace(path)


class ImportTime:
    """Wall time of whole interpreters, in turns."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._calls = {
            f'python -c "{program}"': partial(subprocess.run, [sys.executable, "-c", program], check=True)
            for program in IMPORTS
        }
        # Files into the cache of the operating system, bytecode onto the disk.
        take_turns(self._calls, 1)

    def measure(self) -> dict[str, Sample]:
        seconds = take_turns(self._calls, self._rounds)
        return {label: Sample({"wall": times}) for label, times in seconds.items()}
