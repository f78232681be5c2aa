"""The programs that are compared. To add one: a class with the methods of Peer, and an entry in PEERS.

Each gets the data in the form and precision it works in, converted before the clock starts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from .settings import CACHE_MB, Data


class Peer:
    """One trainer; `fit` and `decide` and `predict` are timed, all else is not.

    `forms` maps the forms of data that the program takes to the precision it works in, the preferred form first.
    """

    title: ClassVar[str]
    package: ClassVar[str]
    forms: ClassVar[dict[str, str]]

    def __init__(self, data: Data, threads: int, cache_mb: float = CACHE_MB) -> None:
        """Import the program; ImportError where it is not installed."""
        raise NotImplementedError

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


class Hingeline(Peer):
    title = "hingeline"
    package = "hingeline"
    forms = {"dense": "float32", "csr": "float32"}

    def __init__(self, data: Data, threads: int, cache_mb: float = CACHE_MB) -> None:
        from hingeline import WorstViolatorSVC

        self.model = WorstViolatorSVC(
            gamma=data.ours.gamma, margin=data.ours.margin, cache_size=cache_mb, n_jobs=threads
        )

    def adopt(self, svc: Any, form: str) -> None:
        """Become the decision function of a fitted SVC with two classes."""
        import numpy as np
        import scipy.sparse as sp

        dtype = self.forms[form]
        vectors = svc.support_vectors_
        self.model.set_params(gamma=svc.gamma)
        fitted = {
            "_gamma": float(svc.gamma),
            "classes_": svc.classes_,
            "class_weight_": np.ones(len(svc.classes_)),
            "n_features_in_": svc.n_features_in_,
            "support_": svc.support_,
            "support_vectors_": sp.csr_matrix(vectors, dtype=dtype) if form == "csr" else vectors.astype(dtype),
            "n_support_": svc.n_support_,
            "dual_coef_": svc.dual_coef_,
            "intercept_": svc.intercept_,
            "decision_scale_": np.ones(len(svc.intercept_)),
        }
        for name, value in fitted.items():
            setattr(self.model, name, value)


class Lasvc(Peer):
    """LASVC at the settings of the C-SVMs, one pass in one random order."""

    package = "hingeline"
    forms = {"dense": "float32", "csr": "float32"}
    variant: ClassVar[str]

    def __init__(self, data: Data, threads: int, cache_mb: float = CACHE_MB) -> None:
        from hingeline import LASVC

        self.model = LASVC(
            variant=self.variant,
            C=data.theirs.C,
            gamma=data.theirs.gamma,
            cache_size=cache_mb,
            n_jobs=threads,
            random_state=0,
        )


class LasvcNC(Lasvc):
    title = "LASVC, 'nc'"
    variant = "nc"


class LasvcI(Lasvc):
    title = "LASVC, 'i'"
    variant = "i"


class LasvcG(Lasvc):
    title = "LASVC, 'g'"
    variant = "g"


class ScikitLearn(Peer):
    title = "scikit-learn SVC"
    package = "scikit-learn"
    forms = {"dense": "float64", "csr": "float64"}

    def __init__(self, data: Data, threads: int, cache_mb: float = CACHE_MB) -> None:
        from sklearn.svm import SVC

        # One thread, always.
        self.model = SVC(C=data.theirs.C, gamma=data.theirs.gamma, cache_size=cache_mb)


class Intelex(Peer):
    title = "scikit-learn-intelex SVC"
    package = "scikit-learn-intelex"
    forms = {"dense": "float32", "csr": "float32"}

    def __init__(self, data: Data, threads: int, cache_mb: float = CACHE_MB) -> None:
        from sklearnex.svm import SVC

        # Its threads obey n_jobs, not the environment.
        self.model = SVC(C=data.theirs.C, gamma=data.theirs.gamma, cache_size=cache_mb, n_jobs=threads)


class Libsvm(Peer):
    """LIBSVM through its own interface; conversion to its nodes is left out of all times."""

    title = "libsvm-official"
    package = "libsvm-official"
    forms = {"csr": "float64"}

    def __init__(self, data: Data, threads: int, cache_mb: float = CACHE_MB) -> None:
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


#: Members of the LASVM family, each in the place of "hingeline" in a case of its own.
LASVM: dict[str, type[Peer]] = {"lasvm-nc": LasvcNC, "lasvm-i": LasvcI, "lasvm-g": LasvcG}
#: By the names that --peer takes. hingeline is the first, and the one that the others are compared with.
PEERS: dict[str, type[Peer]] = {
    "hingeline": Hingeline,
    "scikit-learn": ScikitLearn,
    "scikit-learn-intelex": Intelex,
    "libsvm": Libsvm,
}
