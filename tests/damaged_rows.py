"""Damaged sparse matrices for every method that takes rows. As a program, it runs the cases of subjects.

SciPy does not check places when it uses them, so a case that is not refused may end the process. The program therefore
names each case before it begins.
"""

import copy
import sys
import warnings
from inspect import signature

import numpy as np
import scipy.sparse as sp

import hingeline
from hingeline import NystroemMap
from hingeline.active import ActiveLearner
from hingeline.base.retained import RetainsRows
from hingeline.model_selection import KernelSearchCV, default_param_grid, nested_cross_validate
from tests.data import blobs
from tests.estimators import ESTIMATORS, MODELS, needs_y

N, D = 60, 6


# ---- damage --------------------------------------------------------------------------------------------


def written(part, at, value):
    """Write into an array of a matrix behind SciPy's back."""

    def damage(X):
        getattr(X, part)[at] = value

    return damage


def replaced(part, change):
    """Replace an array of a matrix."""

    def damage(X):
        setattr(X, part, change(getattr(X, part)))

    return damage


COMPRESSED = {
    "indptr far beyond": written("indptr", 5, 10**6),
    "indptr descends": written("indptr", 5, 1),
    "indptr negative": written("indptr", 4, -(10**6)),
    "indptr starts late": written("indptr", 0, 2),
    "indptr past the end": written("indptr", -1, 10**9),
    "indptr ends at 0": written("indptr", -1, 0),
    "indptr short": replaced("indptr", lambda a: a[:-1]),
    "indptr long": replaced("indptr", lambda a: np.append(a, a[-1])),
    "indptr of floats": replaced("indptr", lambda a: a.astype(float)),
    "indices beyond": written("indices", 3, 10**6),
    "indices just beyond": written("indices", -1, N),
    "indices negative": written("indices", 0, -1),
    "indices short": replaced("indices", lambda a: a[:-7]),
    "indices in a table": replaced("indices", lambda a: a[:, np.newaxis]),
    "data short": replaced("data", lambda a: a[:-7]),
}
COORDINATES = {
    "row beyond": lambda X: X.row.__setitem__(3, 10**6),
    "row negative": lambda X: X.row.__setitem__(3, -5),
    "column beyond": lambda X: X.col.__setitem__(-1, 10**6),
    "data short": replaced("data", lambda a: a[:-7]),
}
LISTS = {
    "column beyond": lambda X: X.rows[2].__setitem__(0, 10**6),
    "column negative": lambda X: X.rows[2].__setitem__(0, -9),
    "values missing": lambda X: X.data[3].clear(),
    "columns missing": lambda X: X.rows[3].clear(),
}
DIAGONALS = {
    "offsets short": replaced("offsets", lambda a: a[:-1]),
    "offsets long": replaced("offsets", lambda a: np.append(a, 5000)),
}


def wide(X):
    """CSR with indices of 64 bits."""
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


FORMS = {
    "csr": (sp.csr_matrix, COMPRESSED),
    "csr, int64": (wide, COMPRESSED),
    "csr_array": (sp.csr_array, COMPRESSED),
    "csc": (sp.csc_matrix, COMPRESSED),
    "bsr": (lambda X: sp.bsr_matrix(X, blocksize=(2, 2)), COMPRESSED),
    "coo": (sp.coo_matrix, COORDINATES),
    "lil": (sp.lil_matrix, LISTS),
    "dia": (sp.dia_matrix, DIAGONALS),
}


def damaged(form, damage):
    """A damaged matrix of which SciPy has looked at nothing yet."""
    make, damages = FORMS[form]
    X = make(problem()[0])
    damages[damage](X)
    return X


def problem():
    return blobs(N, d=D)


# ---- subjects ------------------------------------------------------------------------------------------

#: Methods that take rows, and those that take labels, too.
METHODS = ["predict", "decision_function", "predict_proba", "transform", "score_samples", "c_path"]
LABELLED = ["fit", "partial_fit", "add", "score"]


def takes_ids(model):
    """Whether a fit needs ids to keep rows, so that others can be added."""
    return isinstance(model, RetainsRows) and "ids" in signature(model.fit).parameters


def calls_of(model, fitted):
    """Functions of X by name."""
    y = problem()[1]
    takes_labels = needs_y(model)
    found = {}
    for name in LABELLED:
        if hasattr(fitted, name):
            labels = (y,) if takes_labels else ()
            start = model if name == "fit" else fitted
            ids = {"ids": range(N)} if name == "add" and takes_ids(model) else {}
            found[name] = lambda X, n=name, m=start, more=labels, i=ids: getattr(copy.deepcopy(m), n)(X, *more, **i)
    if hasattr(model, "partial_fit") and takes_labels:
        found["first partial_fit"] = lambda X: copy.deepcopy(model).partial_fit(X, y, classes=[0, 1, 2])
    for name in METHODS:
        if hasattr(fitted, name):
            before = ([0.5, 1.0],) if name == "c_path" else ()
            found[name] = lambda X, n=name, more=before: getattr(copy.deepcopy(fitted), n)(*more, X)
    return found


def estimator_calls(model):
    """Calls of an estimator that was fitted to sparse rows, as SVC demands for sparse queries."""
    X, y = problem()
    if "probability" in model.get_params():
        model.set_params(probability=True)
    ids = {"ids": range(N)} if takes_ids(model) else {}
    fitted = copy.deepcopy(model).fit(sp.csr_matrix(X), y, **ids)
    return calls_of(model, fitted)


def function_calls():
    y = problem()[1]
    svc = hingeline.SVC()
    return {
        "linear_svc_path": lambda X: hingeline.linear_svc_path(X, y, Cs=[1.0]),
        "nystroem_svc_path": lambda X: hingeline.nystroem_svc_path(X, y, Cs=[1.0]),
        "KernelSearchCV.fit": lambda X: KernelSearchCV(svc, {"C": [1.0]}, cv=2).fit(X, y),
        "nested_cross_validate": lambda X: nested_cross_validate(svc, X, y, {"C": [1.0]}),
        "default_param_grid": lambda X: default_param_grid(svc, X),
        "ActiveLearner": lambda X: ActiveLearner(hingeline.IncrementalSVC(), pool=X),
    }


SUBJECTS = {name: lambda m=model: estimator_calls(copy.deepcopy(m)) for name, model in MODELS.items()}
SUBJECTS["NystroemMap"] = lambda: estimator_calls(NystroemMap(n_components=20))
SUBJECTS["functions"] = function_calls
assert {type(model) for model in MODELS.values()} == set(ESTIMATORS)


def main(subject):
    calls = SUBJECTS[subject]()
    for form, (make, damages) in FORMS.items():
        for name, call in calls.items():
            print(f"{subject}: {name}, sound {form}", flush=True)
            call(make(problem()[0]))
            for damage in damages:
                case = f"{subject}: {name}, {form}, {damage}"
                print(case, flush=True)
                try:
                    call(damaged(form, damage))
                except ValueError as error:
                    assert "X" in str(error) or "pool" in str(error), (case, error)
                else:
                    raise AssertionError(f"{case} is accepted")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for one in sys.argv[1:]:
        main(one)
    print("done")
