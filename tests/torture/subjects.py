"""The estimators under attack, their methods, and problems for them: one table for all campaigns."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from hingeline import LASVC, IncrementalOneClassSVM, IncrementalSVC, KernelSGDClassifier
from hingeline.base.kernel import KernelEstimator
from tests.data import wide_indices
from tests.estimators import MODELS, needs_y
from tests.online import SOON

from .faults import require

ESTIMATORS = {
    **MODELS,
    "LASVC": LASVC(gamma=0.3, solver_options=SOON, random_state=0),
    "LASVC-lasvm": LASVC(gamma=0.3, variant="lasvm", tol=1e-3, random_state=0),
    "LASVC-ovr": LASVC(gamma=0.3, variant="full", multi_class="ovr", tol=1e-3, random_state=0),
    "KernelSGDClassifier-olsvm": KernelSGDClassifier(gamma=0.3, C=10.0, variant="olsvm", random_state=0),
    "IncrementalSVC": IncrementalSVC(gamma=0.3, C=2.0, probability=True),
    "IncrementalSVC-window": IncrementalSVC(gamma=0.3, C=3.0, window=30),
    "IncrementalOneClassSVM-sphere": IncrementalOneClassSVM(gamma=0.3, C=0.2, shape="sphere"),
}
FORMS = {"dense": np.array, "csr": sp.csr_array, "wide csr": wide_indices}


@dataclass
class Problem:
    """Rows and labels in two parts, one learnt first and one later. No two entries of the rows are equal."""

    X: np.ndarray
    y: np.ndarray
    first: int
    form: str = "dense"

    def rows(self, some=slice(None)):
        return FORMS[self.form](self.X[some])


def problem(rng, n=60, d=4, n_classes=2, first=None, form="dense"):
    """Overlapping classes; every class occurs in both parts."""
    first = n // 2 if first is None else first
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = y[first : first + n_classes] = np.arange(n_classes)
    return Problem(1.2 * rng.standard_normal((n_classes, d))[y] + rng.standard_normal((n, d)), y, first, form)


class Subject:
    """Estimator of the table and what it offers."""

    def __init__(self, name):
        self.name = name
        self.estimator = ESTIMATORS[name]
        self.labelled = is_classifier(self.estimator)
        self.needs_y = needs_y(self.estimator)
        self.stream = hasattr(self.estimator, "partial_fit")
        self.exact = self.stream and hasattr(self.estimator, "forget")
        self.kernel = isinstance(self.estimator, KernelEstimator)

    def new(self, **parameters):
        return copy.deepcopy(self.estimator).set_params(**parameters)

    def labels(self, y):
        """Labels, or targets with the same values, as arguments."""
        return (y,) if self.needs_y else ()

    def fit(self, model, task, some=slice(None)):
        return model.fit(task.rows(some), *self.labels(task.y[some]))

    def learn(self, model, task, some):
        """Learn some rows with ``partial_fit``, or with ``fit`` if there is no such method."""
        if not self.stream:
            return self.fit(model, task, some)
        first = {"classes": np.unique(task.y)} if self.labelled and not hasattr(model, "n_features_in_") else {}
        return model.partial_fit(task.rows(some), *self.labels(task.y[some]), **first)

    def started(self, task, **parameters):
        """A model of the first part."""
        return self.learn(self.new(**parameters), task, slice(0, task.first))

    # ---- methods -------------------------------------------------------------------------------------

    def methods(self):
        """Methods that change what is saved of the model, by name: functions of a model and a problem."""
        found = {"fit": self.fit}
        if self.stream:
            found["partial_fit"] = lambda model, task: self.learn(model, task, slice(task.first, None))
        if self.stream and self.labelled:
            found["partial_fit, new label"] = self._learn_new_label
        if self.exact:
            found["add"] = lambda model, task: model.add(
                task.rows(slice(task.first, None)), *self.labels(task.y[task.first :])
            )
            found["forget"] = lambda model, task: model.forget(ids(model)[::3])
            if hasattr(self.estimator, "predict_proba"):
                found["predict_proba"] = lambda model, task: model.predict_proba(task.rows())
            found["set_C"] = lambda model, task: model.set_C(1.7 * (getattr(model, "C", None) or 0.3))
            if not self.labelled:
                found["set_nu"] = lambda model, task: model.set_nu(0.6 if model.nu < 0.5 else 0.3)
        return found

    def questions(self):
        """Methods that do not change the model."""
        found = {"predict": lambda model, task: model.predict(task.rows())}
        if hasattr(self.estimator, "decision_function"):
            found["decision_function"] = lambda model, task: model.decision_function(task.rows())
        found["pickle"] = lambda model, task: pickle.dumps(model)
        found["unpickle"] = lambda model, task: pickle.loads(pickle.dumps(model))
        found["deepcopy"] = lambda model, task: copy.deepcopy(model)
        if self.exact:
            found["kkt_violation_"] = lambda model, task: model.kkt_violation_
            found["attributes"] = lambda model, task: (model.ids_, model.support_vectors_, model.dual_coef_)
        if hasattr(self.estimator, "leave_one_out"):
            found["leave_one_out"] = lambda model, task: model.leave_one_out(progress=False)
            found["c_path"] = lambda model, task: model.c_path([0.1, 1.0, 5.0], task.rows())
        return found

    def _learn_new_label(self, model, task):
        y = task.y[task.first :].copy()
        y[len(y) // 3 :: 4] = 7
        return model.partial_fit(task.rows(slice(task.first, None)), y)


SUBJECTS = {name: Subject(name) for name in ESTIMATORS}
STREAMS = {name: subject for name, subject in SUBJECTS.items() if subject.stream}
EXACT = {name: subject for name, subject in SUBJECTS.items() if subject.exact}


# ---- models --------------------------------------------------------------------------------------------


def ids(model):
    """Ids of the points held, as a list."""
    return np.asarray(model.ids_, dtype=object).tolist()


def values(model, X):
    """Decision values, or predictions where there are none."""
    return np.asarray(model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X))


def require_finite(model, X):
    found = values(model, X)
    require(found.dtype.kind != "f" or np.isfinite(found).all(), "decision values are not finite")
    return found
