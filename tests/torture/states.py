"""Damaged saved states: a restored model is refused with ValueError or TypeError, or it works.

A trial takes everything that pickle saves of a model apart, damages one to three parts, restores the model, predicts,
saves it again, learns one chunk and forgets a point. Damage to the bytes of a pickle file is not tried: the pickle
module reads them, before any code of this package.
"""

import pickle
import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .subjects import FORMS, SUBJECTS, ids, problem, require_finite

TRIALS, LIMIT = 150_000, 20.0
REFUSAL = (ValueError, TypeError)
#: Errors that Python raises for attributes that are missing or of another type. They are counted apart, and they are
#: faults if the damage is in what the core restores.
OTHER_ERRORS = (AttributeError, LookupError, OverflowError)
CORE = ("state._model.state.state.", "state._model.state.rows.")
INTEGERS = (0, 1, -1, 2, 3, 7, 255, 2**31 - 1, 2**31, -(2**31), 2**40, 2**61, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 5e-324, 1e-300, 1e-30, 1e30, 1e100, -1e100, 1e154, 1.7e308)
DTYPES = ("f4", "f8", "i4", "i8", "u1", "u8", "?", "c16", ">f8", ">i8", "f2", "O", "U3", "S2", "M8[s]")
OTHERS = (None, "", "damaged", b"damaged", 0, 1.5, True, [], (), {}, [1], {"a": 1}, 10**30, 1j, ..., object)


def cases():
    return list(SUBJECTS)


# ---- a model in parts ----------------------------------------------------------------------------------


@dataclass
class Node:
    """Object as pickle saves it."""

    make: Any
    args: Any
    state: Any


def apart(value):
    """Nested dicts, lists, tuples and nodes; the leaves are arrays, numbers, strings and other objects."""
    if type(value) is dict:
        return {key: apart(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(apart, value))
    if type(value).__module__.startswith(("hingeline", "scipy.sparse")) and not isinstance(value, type):
        make, args, state = value.__reduce_ex__(4)[:3]
        return Node(make, args, apart(state))
    return value


def together(value):
    """Inverse of :func:`apart`."""
    if type(value) is dict:
        return {key: together(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(together, value))
    if type(value) is not Node:
        return value
    made, state = value.make(*value.args), together(value.state)
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        vars(made).update(state)
    return made


def inner(value):
    """Named parts of a value."""
    if type(value) is Node:
        return {"state": value.state}
    if type(value) is dict:
        return value
    return dict(enumerate(value)) if type(value) in (list, tuple) else {}


def all_parts(value, path=()):
    """Paths to all parts, with the parts."""
    for key, part in inner(value).items():
        yield (*path, key), part
        yield from all_parts(part, (*path, key))


def replaced(value, path, change):
    """A copy with the parts at `path` changed: `change` gets the dict of parts around it and the key."""
    key, *rest = path
    parts = dict(inner(value))
    if rest:
        parts[key] = replaced(parts[key], rest, change)
    else:
        change(parts, key)
    if type(value) is Node:
        return Node(value.make, value.args, parts.get("state"))
    return parts if type(value) is dict else type(value)(parts.values())


# ---- damage --------------------------------------------------------------------------------------------


def flip_bit(rng, data):
    data = bytearray(data)
    if data:
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    return bytes(data)


def nasty_value(rng, dtype):
    if dtype.kind in "iu":
        value = INTEGERS[rng.integers(len(INTEGERS))]
        return np.array(value & (2 ** (8 * dtype.itemsize) - 1), dtype="u8").astype(dtype)
    if dtype.kind in "fc":
        return dtype.type(FLOATS[rng.integers(len(FLOATS))])
    return dtype.type() if dtype.kind != "O" else OTHERS[rng.integers(len(OTHERS))]


def with_flip(rng, array):
    if array.dtype.kind == "O":
        return array[::-1]
    return np.frombuffer(flip_bit(rng, array.tobytes()), dtype=array.dtype).reshape(array.shape).copy()


def with_entries(rng, array):
    array = array.copy()
    some = rng.integers(0, array.size, rng.choice([1, 1, 1, 2, 5])) if array.size else []
    array.reshape(-1)[some] = nasty_value(rng, array.dtype)
    return array


def moved(rng, array):
    """Small changes that may go unnoticed."""
    array = array.copy()
    if array.size:
        at = rng.integers(array.size)
        if array.dtype.kind in "iu":
            array.reshape(-1)[at] += np.array(rng.choice([-1, 1])).astype(array.dtype)
        elif array.dtype.kind == "f":
            array.reshape(-1)[at] *= rng.choice([-1.0, 2.0, 1e-3, 1e6, 1e12])
    return array


ARRAY_DAMAGE = [
    with_flip,
    with_flip,
    with_entries,
    with_entries,
    moved,
    moved,
    lambda rng, a: a[:-1].copy() if a.ndim else a,
    lambda rng, a: a[: rng.integers(len(a) + 1)].copy() if a.ndim else a,
    lambda rng, a: np.concatenate([a, a[-1:]]) if a.ndim else a,
    lambda rng, a: np.concatenate([a, a]) if a.ndim else a,
    lambda rng, a: np.full_like(a, nasty_value(rng, a.dtype)),
    lambda rng, a: a.astype(DTYPES[rng.integers(len(DTYPES))]),
    lambda rng, a: rng.permutation(a) if a.ndim else a,
    lambda rng, a: a[::-1] if a.ndim else a,
    lambda rng, a: a.T,
    lambda rng, a: a.reshape(-1),
    lambda rng, a: a.reshape(-1, 1),
    lambda rng, a: a[np.newaxis],
    lambda rng, a: np.zeros(0, dtype=a.dtype),
    lambda rng, a: np.empty((0, *a.shape), dtype=a.dtype),
    lambda rng, a: np.array(a.flat[0] if a.size else 0),
    lambda rng, a: np.asfortranarray(a),
    lambda rng, a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    lambda rng, a: a.tolist(),
    lambda rng, a: a.tobytes(),
]


def damaged_number(rng, value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = [value - 1, value + 1, -value, 2 * value, float(value), value ^ (1 << int(rng.integers(0, 63)))]
        return [*near, *INTEGERS, *FLOATS][rng.integers(len(near) + len(INTEGERS) + len(FLOATS))]
    near = [-value, 2 * value, value / 3, str(value), *struct.unpack("d", flip_bit(rng, struct.pack("d", value)))]
    return [*near, *FLOATS, *INTEGERS][rng.integers(len(near) + len(FLOATS) + len(INTEGERS))]


def damaged(rng, value):
    """Another value of the same kind."""
    if isinstance(value, np.ndarray):
        try:
            return ARRAY_DAMAGE[rng.integers(len(ARRAY_DAMAGE))](rng, value)
        except (ValueError, TypeError, OverflowError):  # no such conversion
            return value.tolist()
    if isinstance(value, int | float):
        return damaged_number(rng, value)
    if isinstance(value, str):
        words = ("", value[:-1], value + "x", value.upper(), "linear", "poly", "precomputed", "ovr", "\0")
        return words[rng.integers(len(words))]
    if type(value) is dict:
        return dict(list(value.items())[: rng.integers(len(value) + 1)])
    if type(value) in (list, tuple):
        return value[: rng.integers(len(value) + 1)] if rng.random() < 0.5 else (*value, *value[:1])
    return OTHERS[rng.integers(len(OTHERS))]


def damage(rng, tree):
    """Damage one part of a tree; arrays more often than other parts."""
    places = list(all_parts(tree))
    arrays = [place for place in places if isinstance(place[1], np.ndarray)]
    some = arrays if arrays and rng.random() < 0.6 else places
    path, _ = some[rng.integers(len(some))]
    _, borrowed = places[rng.integers(len(places))]
    kind = rng.random()

    def change(parts, key):
        if kind < 0.75:
            parts[key] = damaged(rng, parts[key])
        elif kind < 0.82:
            del parts[key]
        elif kind < 0.9:
            parts[key] = borrowed
        else:
            parts[key] = OTHERS[rng.integers(len(OTHERS))]

    return replaced(tree, path, change), ".".join(map(str, path))


# ---- trials --------------------------------------------------------------------------------------------


@cache
def saved(case, form, n_classes):
    """A model in parts, pickled, and its problem."""
    task = problem(np.random.default_rng(0), n=40, n_classes=n_classes, form=form)
    return pickle.dumps(apart(SUBJECTS[case].started(task))), task


def use(subject, model, task):
    """Predict, save, learn and forget."""
    require_finite(model, task.rows())
    model.predict(task.rows())
    pickle.loads(pickle.dumps(model))
    if subject.stream:
        subject.learn(model, task, slice(task.first, None))
        require_finite(model, task.rows())
    if subject.exact:
        model.forget(ids(model)[:1])
        require_finite(model, task.rows())


def trial(case, rng, number):
    subject = SUBJECTS[case]
    pickled, task = saved(case, list(FORMS)[rng.integers(2)], int(rng.integers(2, 4)))
    tree, where = pickle.loads(pickled), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        tree, place = damage(rng, tree)
        where.append(place)
    outcome = "refused"
    try:
        model = together(tree)
        outcome = "refused later"
        use(subject, model, task)
    except REFUSAL:
        return outcome
    except MemoryError as error:
        if "Increase cache_size" not in str(error):  # a small cache_size is a valid parameter
            raise
        return outcome
    except BaseException as error:
        if isinstance(error, OTHER_ERRORS) and not all(place.startswith(CORE) for place in where):
            return "other error"
        error.add_note(f"damaged: {', '.join(where)}")
        raise
    return "works"
