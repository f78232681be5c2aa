"""The programs that are compared. To add one: an entry in PEERS, or a class if it has no scikit-learn interface.

Each gets the data in the form and precision it works in, converted before the clock starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .settings import CACHE_MB, Data

_FLOAT32 = {"dense": "float32", "csr": "float32"}
_FLOAT64 = {"dense": "float64", "csr": "float64"}


@dataclass
class Peer:
    """One trainer; `fit`, `decide` and `predict` are timed, all else is not.

    `forms` maps the forms of data that the program takes to the precision it works in, the preferred form first.
    `make` imports the program (ImportError if it is not installed) and returns an estimator for a data set, a number of
    threads and a cache size in megabytes.
    """

    title: str
    package: str
    forms: dict[str, str]
    make: Callable[[Data, int, float], Any]
    model: Any = field(default=None, init=False)

    def start(self, data: Data, threads: int, cache_mb: float = CACHE_MB) -> None:
        self.model = self.make(data, threads, cache_mb)

    def convert(self, X: Any, y: Any) -> Any:
        """What `fit`, `predict` and `decide` take."""
        return X

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X, y)

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)

    def decide(self, X: Any) -> Any:
        """Decision values; two classes: positive for the larger label."""
        return self.model.decision_function(X)

    def n_support(self) -> int:
        return len(self.model.support_)

    def save(self, path: Path) -> None:
        import joblib

        joblib.dump(self.model, path)

    def restore(self, path: Path) -> None:
        import joblib

        self.model = joblib.load(path)


def _worst_violator(data: Data, threads: int, cache_mb: float) -> Any:
    from hingeline import WorstViolatorSVC

    return WorstViolatorSVC(gamma=data.ours.gamma, margin=data.ours.margin, cache_size=cache_mb, n_jobs=threads)


def _ours(data: Data, threads: int, cache_mb: float, kind: str, **options: Any) -> Any:
    """An estimator of hingeline at the settings of the C-SVMs."""
    import hingeline

    common = {"C": data.theirs.C, "gamma": data.theirs.gamma, "cache_size": cache_mb, "n_jobs": threads}
    return getattr(hingeline, kind)(**common, **options)


def _svc(data: Data, threads: int, cache_mb: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=data.theirs.C, gamma=data.theirs.gamma, cache_size=cache_mb)  # one thread, always


def _intelex(data: Data, threads: int, cache_mb: float) -> Any:
    from sklearnex.svm import SVC

    # Its threads obey n_jobs, not the environment.
    return SVC(C=data.theirs.C, gamma=data.theirs.gamma, cache_size=cache_mb, n_jobs=threads)


class Libsvm(Peer):
    """LIBSVM through its own interface; conversion to its nodes is left out of all times."""

    def start(self, data: Data, threads: int, cache_mb: float = CACHE_MB) -> None:
        from libsvm import svm, svmutil

        self._svm, self._util = svm, svmutil
        # Its threads (OpenMP) obey the environment.
        self._options = f"-s 0 -t 2 -c {data.theirs.C!r} -g {data.theirs.gamma!r} -m {cache_mb} -q"

    def convert(self, X: Any, y: Any) -> Any:
        return self._svm.svm_problem(y, X)

    def fit(self, X: Any, y: Any) -> None:
        self.model = self._util.svm_train(X, self._svm.svm_parameter(self._options))

    def predict(self, X: Any) -> Any:
        import numpy as np

        predict = self._svm.libsvm.svm_predict
        return np.array([predict(self.model, X.x[i]) for i in range(X.l)])

    def decide(self, X: Any) -> Any:
        import ctypes

        import numpy as np

        first, second = self.model.get_labels()
        decide = self._svm.libsvm.svm_predict_values
        values = np.empty(X.l)
        value = (ctypes.c_double * 1)()
        for i in range(X.l):
            decide(self.model, X.x[i], value)
            values[i] = value[0]
        # Positive for the label that LIBSVM met first.
        return values if first > second else -values

    def n_support(self) -> int:
        return int(self.model.l)

    def save(self, path: Path) -> None:
        self._util.svm_save_model(str(path), self.model)

    def restore(self, path: Path) -> None:
        self.model = self._util.svm_load_model(str(path))


#: Members of the LASVM family, one pass in one random order, each in the place of "hingeline" in a case of its own.
_lasvc = partial(_ours, kind="LASVC", random_state=0)
LASVM = {
    f"lasvm-{variant}": Peer(f"LASVC, '{variant}'", "hingeline", _FLOAT32, partial(_lasvc, variant=variant))
    for variant in ("nc", "i", "g")
}
#: Solves the problem of the C-SVMs, so that its decision function has as many support vectors as theirs.
_finished = partial(_lasvc, variant="lasvm", finish=True)
FINISHED = {"lasvm-finished": Peer("LASVC, finished", "hingeline", _FLOAT32, _finished)}
#: Exact solvers of the problem with squared errors, in both precisions.
L2 = {
    f"{kind}-{dtype}": Peer(kind, "hingeline", {"dense": dtype}, partial(_ours, kind=kind))
    for kind in ("MinNormSVC", "NNISDAClassifier")
    for dtype in ("float64", "float32")
}
#: hingeline is the first, and the one that the others are compared with.
PEERS = {
    "hingeline": Peer("hingeline", "hingeline", _FLOAT32, _worst_violator),
    "scikit-learn": Peer("scikit-learn SVC", "scikit-learn", _FLOAT64, _svc),
    "scikit-learn-intelex": Peer("scikit-learn-intelex SVC", "scikit-learn-intelex", _FLOAT32, _intelex),
    "libsvm": Libsvm("libsvm-official", "libsvm-official", {"csr": "float64"}, _svc),
}
EVERYBODY: dict[str, Peer] = PEERS | LASVM | FINISHED | L2
