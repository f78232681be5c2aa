"""Damage to saved models. As a program, this file damages every field of the states of models in every way, loads it
and goes on; it prints one line of JSON for each case.
"""

import copy
import json
import sys

import numpy as np
import scipy.sparse as sp

from hingeline import LASVC, IncrementalOneClassSVM, IncrementalSVC, KernelSGDClassifier
from tests.data import blobs
from tests.online import SOON
from tests.private import CORE, saved_state, with_saved_state

MODELS = {
    "lasvc": LASVC(gamma=0.3, solver_options=SOON),
    "lasvm": LASVC(gamma=0.3, variant="lasvm"),
    "sgd": KernelSGDClassifier(gamma=0.3, C=10.0, variant="norma", average=True),
    "window": IncrementalSVC(gamma=0.3, C=3.0, window=40),
    "sphere": IncrementalOneClassSVM(gamma=0.3, shape="sphere"),
}
#: Damage that must be refused in every field, and values that may happen to be harmless.
REFUSED = ("missing", "nothing", "text", "shorter", "longer")
NUMBERS = {"f": (np.nan, -np.inf, 0.0, 1e100, -1e100), "i": (-1, 2**61)}


def model_and_rows(name):
    X, y = blobs(60, 2)
    model = copy.deepcopy(MODELS[name])
    return (model.partial_fit(X, y, [0, 1]) if name != "sphere" else model.partial_fit(X)), X, y


def fields(value, path=()):
    """Paths to the arrays and numbers of a nested state."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, part in items:
        if not isinstance(part, dict | list | tuple):
            yield (*path, key)
        yield from fields(part, (*path, key))


def replaced(value, path, change):
    """A copy of a nested state with one part replaced by change(part), or left out if that is None."""
    if not path:
        return change(value)
    key, *rest = path
    parts = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    parts[key] = replaced(parts[key], rest, change)
    if parts[key] is MISSING:
        del parts[key]
    return parts if isinstance(value, dict) else type(value)(parts.values())


MISSING = object()


def values(dtype):
    """Values that hardly any field allows."""
    if dtype.itemsize < 8 and dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return NUMBERS.get(dtype.kind, ())


def with_value(array, at, value):
    array = array.copy()
    array.reshape(-1)[at] = value
    return array


def damages(part):
    """Kinds of damage to a part of a state: name, function."""
    yield "missing", lambda _: MISSING
    yield "nothing", lambda _: None
    yield "text", lambda _: "damaged"
    if isinstance(part, np.ndarray) and part.ndim:
        yield "shorter", lambda a: a[:-1].copy() if len(a) else "damaged"
        yield "longer", lambda a: np.concatenate([a, a[-1:]]) if len(a) else "damaged"
        if part.ndim == 2:
            yield "narrower", lambda a: np.ascontiguousarray(a[:, :-1])
        places = range(part.size) if part.size <= 32 else (0, part.size // 2, part.size - 1)
        for at in places:
            for value in values(part.dtype):
                yield f"{value} at {at}", lambda a, at=at, value=value: with_value(a, at, value)
    elif sp.issparse(part):
        yield "shorter", lambda rows: rows[:-1]
    elif isinstance(part, bool):
        return
    elif isinstance(part, int | float):
        for value in NUMBERS["i" if isinstance(part, int) else "f"]:
            yield f"{value}", lambda _, value=value: value


def outcome(name, path, change):
    """Whether the state was refused, at once or later, or accepted, and whether decision values are finite."""
    model, X, y = model_and_rows(name)
    try:
        model = with_saved_state(model, replaced(saved_state(model), path, change))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError) as error:
        return f"refused: {type(error).__name__}: {error}"
    try:
        finite = np.isfinite(model.decision_function(X)).all()
        model.partial_fit(X, y) if name != "sphere" else model.partial_fit(X)
        finite &= np.isfinite(model.decision_function(X)).all()
    except ValueError as error:
        return f"refused later: {error}"
    return "accepted" if finite else "not finite"


def cases(name):
    """Model, field, and every kind of damage to it."""
    model, _, _ = model_and_rows(name)
    state = saved_state(model)
    for path in fields({key: state[key] for key in CORE if key in state}):
        yield from ((name, path, kind, change) for kind, change in damages(get(state, path)))


def main(done, *names):
    """Damage everything in the models; the cases that were `done` before a crash are left out."""
    every = [case for name in names for case in cases(name)]
    for name, path, kind, change in every[done:]:
        print(json.dumps([name, "/".join(map(str, path)), kind]), flush=True)
        print(json.dumps(outcome(name, path, change)), flush=True)


def get(value, path):
    for key in path:
        value = value[key]
    return value


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
