"""The only place where tests reach into the package: saved states, kernel values as the core computes them, machines
of the core step by step. Everything else goes through public names.
"""

import copy

import numpy as np
from sklearn.base import clone

from hingeline import _core
from hingeline.testing import _at_once as at_once
from hingeline.testing import _saved as saved

__all__ = ["at_once", "saved"]


def kernel_matrix(model, X):
    """The very values that the core computes."""
    model = clone(model)
    model._gamma = model._resolve_gamma(X)
    everything = np.arange(len(X), dtype=np.int64)
    return model._gram(X, 0).columns(everything, everything).astype(np.float64)


# ---- saved states --------------------------------------------------------------------------------------


#: Parts of a saved state that go to the core.
CORE = ("states", "held", "rows")


def saved_state(model):
    """What is saved of the machines of an online estimator: nested dicts and lists of arrays and numbers."""
    return model._online.__getstate__()


def with_saved_state(model, state):
    """A model that goes on from a saved state, which is checked on the way."""
    model = copy.copy(model)
    online = object.__new__(type(model._online))
    online.__setstate__(state)
    model._online = online
    return model


def machine_state(model):
    """Saved arrays of the only machine of LASVC: ids, dead or alive, zones, coefficients, gradients, bounds."""
    (state,) = saved_state(model)["states"]
    return {
        "id": state["id"],
        "dead": state["dead"] != 0,
        "zone": state["zone"].astype(int),
        **dict(zip(("alpha", "g", "lo", "hi"), state["lines"], strict=False)),
    }


def kernel_bytes(model):
    """Memory that an online model uses for kernel values."""
    return model._online.model.kernel_bytes


# ---- machines of the core, step by step ----------------------------------------------------------------


def ollawv_sequences(clf, X, y):
    """Chosen rows and coefficients of every pair."""
    classes, codes = np.unique(y, return_inverse=True)
    clf.fit(X, y)
    machine = _core.Ollawv(
        codes.astype(np.int64),
        clf.class_weight_,
        -1.0 if len(classes) == 2 else 1.0,
        clf._first_rows(codes, len(classes)),
        C=float(clf.C),
        margin=clf.margin,
        cap=clf.cap,
        bias=clf.bias,
        cache_bytes=1 << 24,
    )
    machine.learn(clf._gram(X, 1 << 24), 1, 2**62)
    return [machine.result(k) for k in range(machine.n_pairs)]


def nnisda_walk(K, y, *, C=1.0, bias=True, tol=1e-3, weight=None, most=None):
    """Coefficients after every step."""
    penalties = C * (np.ones(len(y)) if weight is None else weight)
    machine = _core.Nnisda(y.astype(np.int64), penalties, 2, bias=bias, tol=tol, max_iter=2**62, cache_bytes=1 << 24)
    matrix = _core.Matrix(K)
    path = []
    while machine.n_running and (most is None or len(path) < most):
        machine.learn(matrix, 1, 1)
        result = machine.result(0)
        v = np.zeros(len(y))
        v[result["chosen"]] = result["v"]
        if result["steps"] > len(path):
            path.append(v)
    return path, machine.result(0)


def min_norm_walk(K, codes, *, C=1.0, bias=True, tol=1e-3, weight=None, step="imdm", most=None):
    """Points u of the hull after every step, the first of all included."""
    penalties = C * (np.ones(len(codes)) if weight is None else weight)
    classes = int(codes.max()) + 1
    machine = _core.MinNorm(
        codes.astype(np.int64),
        penalties,
        classes,
        bias=bias,
        tol=tol,
        max_iter=2**62,
        cache_bytes=1 << 24,
        improved=step == "imdm",
        all_at_once=classes > 2,
    )
    matrix = _core.Matrix(K)

    def point():
        result = machine.result(0)
        u = np.zeros(len(codes))
        u[result["chosen"]] = result["v"] / result["v"].sum()
        return u

    machine.learn(matrix, 1, 0)
    path = [point()]
    while machine.n_running and (most is None or len(path) <= most):
        machine.learn(matrix, 1, 1)
        if machine.result(0)["steps"] == len(path):
            path.append(point())
    return path, machine.result(0)
