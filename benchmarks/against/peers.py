"""The programs that are compared. To add one: an entry in PEERS.

Each gets the data in the form and precision it works in, converted before the clock starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .settings import Data

_FLOAT32 = {"dense": "float32", "csr": "float32"}
_FLOAT64 = {"dense": "float64", "csr": "float64"}


@dataclass(frozen=True)
class Peer:
    """A trainer with scikit-learn's interface; `fit`, `predict` and `decision_function` are timed, all else is not.

    `forms` maps the forms of data that the program takes to the precision it works in, the preferred form first.
    `make` imports the program (ImportError if it is not installed) and returns an estimator for a data set, a number of
    threads and a cache size in megabytes.
    """

    title: str
    package: str
    forms: dict[str, str]
    make: Callable[[Data, int, float], Any]


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


#: Members of the LASVM family, one pass in one random order, each in the place of "hingeline" in a case of its own.
_lasvc = partial(_ours, kind="LASVC", random_state=0)
LASVM = {
    f"lasvm-{variant}": Peer(f"LASVC, '{variant}'", "hingeline", _FLOAT32, partial(_lasvc, variant=variant))
    for variant in ("nc", "i", "g")
}
#: Solves the problem of the C-SVMs, so that its decision function has as many support vectors as theirs.
_finished = partial(_lasvc, variant="lasvm", tol=1e-3)
FINISHED = {"lasvm-finished": Peer("LASVC, finished", "hingeline", _FLOAT32, _finished)}
#: Exact solvers of the problem with squared errors, in both precisions.
L2 = {
    f"{name}-{dtype}": Peer(name, "hingeline", {"dense": dtype}, partial(_ours, kind="L2SVC", solver=solver))
    for name, solver in (("L2SVC", "auto"), ("L2SVC, nnisda", "nnisda"))
    for dtype in ("float64", "float32")
}
#: hingeline is the first, and the one that the others are compared with.
PEERS = {
    "hingeline": Peer("hingeline", "hingeline", _FLOAT32, _worst_violator),
    "scikit-learn": Peer("scikit-learn SVC", "scikit-learn", _FLOAT64, _svc),
    "scikit-learn-intelex": Peer("scikit-learn-intelex SVC", "scikit-learn-intelex", _FLOAT32, _intelex),
}
EVERYBODY: dict[str, Peer] = PEERS | LASVM | FINISHED | L2
