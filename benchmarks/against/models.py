"""Jobs: train, predict, memory."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .data import load, nbytes
from .jobs import Busy, Sample, Unavailable, timed
from .memory import Growth
from .peers import LASVM, PEERS, Hingeline, Peer
from .settings import Data, Sizes

MEGABYTE = 2**20
#: Rows of the fit that warms a program up: libraries loaded, threads started.
WARM_UP_ROWS = 200
#: Largest difference of two decision functions that are the same model, relative to the largest value.
TOLERANCE = 1e-3


def installed(name: str, *args: Any, **kwargs: Any) -> Peer:
    """The peer, or Unavailable with a reason."""
    kind = (PEERS | LASVM)[name]
    try:
        return kind(*args, **kwargs)
    except ImportError as error:
        raise Unavailable(f"{kind.package} is not installed ({error})") from error


class Train:
    """Fit, then predict the test set."""

    def __init__(
        self, label: str, peer: str, form: str, data: Data, sizes: Sizes, threads: int, **parameters: Any
    ) -> None:
        self._label = label
        self._peer = installed(peer, data, threads, **parameters)
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

    def measure(self) -> dict[str, Sample]:
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
        return {self._label: Sample({"fit": [fit], "predict": [predict]}, facts)}


class Memory(Train):
    """Growth of the process in fit, beside what the law allows: data + cache_size + O(n).

    The data were there before. The model's copy of its support vectors, at most their size, is part of the growth.
    """

    def measure(self) -> dict[str, Sample]:
        (sample,) = super().measure().values()
        growth = sample.facts.pop("training memory, MB")
        cache, vectors = float(self._peer.model.cache_size), nbytes(self._peer.model.support_vectors_) / MEGABYTE
        sample.facts |= {
            "rows": self._rows,
            "data, MB": self._data_bytes / MEGABYTE,
            "cache_size, MB": cache,
            "support_vectors_, MB": vectors,
            "growth in fit, MB": growth,
            "beyond cache_size + support_vectors_, bytes a row": max(0.0, growth - cache - vectors)
            * MEGABYTE
            / self._rows,
        }
        return {self._label: sample}


class Decide:
    """decision_function of a model with about 11,000 support vectors, on the test set.

    Each peer fits its own model, kept in `cache` from run to run; hingeline takes over that of scikit-learn's SVC.
    """

    def __init__(self, label: str, peer: str, form: str, data: Data, sizes: Sizes, threads: int, cache: Path) -> None:
        self._label, self._facts = label, {}
        self._peer = installed(peer, data, threads)
        split = load(data, form, self._peer.forms[form], sizes.rows, sizes.test_rows)
        self._y = split.y_test
        self._test = self._peer.convert(split.X_test, split.y_test)
        if isinstance(self._peer, Hingeline):
            self._adopt(split.X_test[:200], form, data, sizes, cache)
        else:
            fit_or_restore(self._peer, peer, form, data, sizes, cache)
        self._peer.decide(self._peer.convert(split.X_test[:50], split.y_test[:50]))

    def _adopt(self, X: Any, form: str, data: Data, sizes: Sizes, cache: Path) -> None:
        reference = PEERS["scikit-learn"](data, 1)
        fit_or_restore(reference, "scikit-learn", "dense", data, sizes, cache)
        self._peer.adopt(reference.model, form)
        expected = reference.decide(X.toarray() if form == "csr" else X)
        difference = float(np.abs(self._peer.decide(X) - expected).max() / np.abs(expected).max())
        if not difference <= TOLERANCE:
            raise AssertionError(f"decision values differ from scikit-learn's by {difference:.2g} of the largest")
        self._facts = {"difference from SVC / largest": difference}

    def measure(self) -> dict[str, Sample]:
        with Busy() as busy:
            seconds, values = timed(lambda: self._peer.decide(self._test))
        facts = {
            "accuracy %": 100 * float(np.mean((values > 0) == (self._y > 0))),
            "support vectors": self._peer.n_support(),
            "threads busy": busy.threads,
            **self._facts,
        }
        return {self._label: Sample({"decision_function": [seconds]}, facts)}


def fit_or_restore(peer: Peer, name: str, form: str, data: Data, sizes: Sizes, cache: Path) -> None:
    """A fitted model from the cache folder, made now if it is not there."""
    from importlib.metadata import version

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
