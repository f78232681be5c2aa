"""The only place where tests reach into the package: saved states, kernel values as the core computes them, machines
of the core step by step. Everything else goes through public names.
"""

import copy
import os

import numpy as np
from sklearn.base import clone

from hingeline import _core
from hingeline.testing.behaviour import at_once
from hingeline.testing.subject import read_state

__all__ = ["at_once", "read_state"]


def grow_instance_table(n=20_000):
    """Make nanobind's table of instances large: the program ends if it must grow when there is no memory."""
    return len([_core.Kernel("rbf", 1.0, 0.0, 3) for _ in range(n)])


def kernel_values(X, name="rbf", copy_bytes=0, **parameters):
    """Kernel values between the rows of X, with a method ``columns(queries, base)``."""
    return _core.Values(_core.Source(_core.Kernel(name, **parameters)), _core.Matrix(X), copy_bytes)


def kernel_matrix(model, X):
    """The very values that the core computes."""
    model = clone(model)
    model._gamma = model._resolve_gamma(X)
    everything = np.arange(len(X), dtype=np.int64)
    values = _core.Values(_core.Source(model._kernel()), _core.Matrix(X), 0)
    return values.columns(everything, everything).astype(np.float64)


# ---- saved states --------------------------------------------------------------------------------------


def bits(model):
    """Everything that is saved, except times and the count of kernel values that were no longer in the cache."""
    left_out = ("kernel_recomputed']", "paused_at']")
    return {path: part for path, part in read_state(model).items() if not path.endswith(left_out)}


def crash(checkpoint):
    """End a checkpoint as a crash does: nothing is written."""
    os.close(checkpoint._guard)
    checkpoint._guard = None


#: Parts of a saved state that go to the core.
CORE = ("state", "rows")


def saved_state(model):
    """What is saved of the machines of an online estimator: nested dicts and lists of arrays and numbers."""
    return model._model.__getstate__()


def with_saved_state(model, state):
    """A model that goes on from a saved state, which is checked on the way."""
    model = copy.copy(model)
    ensemble = object.__new__(type(model._model))
    ensemble.__setstate__(state)
    model._model = ensemble
    return model


def machine_state(model):
    """Saved arrays of the only machine of LASVC: ids, dead or alive, zones, coefficients, gradients, bounds, and
    those of C; the share of the bounds in force, and the bounds of examples removed, by label."""
    (state,) = saved_state(model)["state"]["machines"]
    return {
        "id": state["id"],
        "dead": state["dead"] != 0,
        "zone": state["zone"].astype(int),
        "alpha": state["alpha"],
        "g": state["gradient"],
        "lo": state["lower"],
        "hi": state["upper"],
        "box": state["box"],
        "share": state["share"],
        "lag": state["lag"],
        "removed": state["removed"],
    }


def kernel_bytes(model):
    """Memory that an online model uses for kernel values."""
    return model._model.core.kernel_bytes


# ---- machines of the core, step by step ----------------------------------------------------------------


def _pair_coefficients(found, codes, i, j):
    """Coefficients of pair (i, j) by training row."""
    out = np.zeros(len(codes))
    code = codes[found["support"]]
    for own, line in ((i, j - 1), (j, i)):
        out[found["support"][code == own]] = found["dual_coef"][line, code == own]
    return out


def ollawv_sequences(clf, X, y):
    """Chosen rows, in the order of choice, and their coefficients, of every pair."""
    clf.fit(X, y)
    training = clf._prepare(X, y, None)
    classes, codes = np.unique(y, return_inverse=True)
    pairs = [(i, j) for i in range(len(classes)) for j in range(i + 1, len(classes))]
    results = [{"chosen": [], "coef": []} for _ in pairs]
    more = True
    while more:
        more = training.advance(1)
        found = training.core.attributes("running")
        for k, (i, j) in enumerate(pairs):
            coef = _pair_coefficients(found, codes, i, j)
            fresh = np.setdiff1d(np.flatnonzero(coef), results[k]["chosen"])
            results[k]["chosen"] += fresh.tolist()
            results[k]["coef"] += coef[fresh].tolist()
            results[k].update(intercept=found["intercept"][k], reason=found["stop_reason"][k])
    return [{**r, "chosen": np.array(r["chosen"], dtype=int), "coef": np.array(r["coef"])} for r in results]


class _Walk:
    """An L2-SVM over a kernel matrix, step by step."""

    def __init__(self, K, codes, solver, C, fit_intercept, tol, weight):
        self.codes, classes = np.asarray(codes, dtype=np.int64), int(np.max(codes)) + 1
        penalties = C * (np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float))
        options = {"fit_intercept": fit_intercept, "tol": tol, "max_iter": 2**62, "cache_bytes": 1 << 24}
        self.core = _core.L2Machines(solver, classes > 2, self.codes, penalties, classes, **options)
        matrix = _core.Matrix(K)
        self.values = _core.Values(_core.Source(matrix), matrix, 0)
        self.more = True

    def step(self, most):
        self.more = self.core.learn(self.values, 1, most)

    def result(self):
        found = self.core.attributes("running")
        line = self.codes[found["support"]] if len(found["dual_coef"]) > 1 else 0
        by_row = np.argsort(found["support"])
        return {
            "chosen": found["support"][by_row],
            "v": np.abs(found["dual_coef"][line, np.arange(len(found["support"]))])[by_row],
            "steps": int(found["n_iter"][0]),
            "dual": found["dual_objective"][0],
            "reason": found["stop_reason"][0],
        }

    def point(self):
        result = self.result()
        v = np.zeros(len(self.codes))
        v[result["chosen"]] = result["v"]
        return v


def nnisda_walk(K, y, *, C=1.0, fit_intercept=True, tol=1e-3, weight=None, most=None):
    """Coefficients after every step."""
    walk, path = _Walk(K, y, "nnisda", C, fit_intercept, tol, weight), []
    while walk.more and (most is None or len(path) < most):
        walk.step(1)
        if walk.result()["steps"] > len(path):
            path.append(walk.point())
    return path, walk.result()


def min_norm_walk(K, codes, *, C=1.0, fit_intercept=True, tol=1e-3, weight=None, solver="min_norm", most=None):
    """Points u of the hull after every step, the first of all included."""
    walk = _Walk(K, codes, solver, C, fit_intercept, tol, weight)
    walk.step(0)
    path = [walk.point() / walk.point().sum()]
    while walk.more and (most is None or len(path) <= most):
        walk.step(1)
        if walk.result()["steps"] == len(path):
            path.append(walk.point() / walk.point().sum())
    return path, walk.result()
