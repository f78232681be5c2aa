"""Nested values of a saved state as JSON and arrays.

Numbers, strings, lists and None are written as they are. Everything else is a dictionary with one key that names its
kind. Only the kinds of :data:`READERS` are read: a file cannot name a class or a function to be called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

import numpy as np
import scipy.sparse as sp

from ..base.rows import require_places
from .layout import NAMES, TYPES, sizes

#: Classes of sparse matrices that may occur.
SPARSE = {kind.__name__: kind for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)}
#: Levels of nested values that are read.
DEEPEST = 60
#: Lists of at least this many integers are stored as an array.
MANY = 16
#: Parts of the state of an object that it copies when it is restored; they may be views of the file.
COPIED = ("rows", "state")
#: Words of the state of the generator MT19937.
N_WORDS = 624


class Encoder:
    """Values to JSON; arrays are collected.

    Parameters
    ----------
    objects : mapping of type to str
        Classes whose objects may occur, with their names.

    Attributes
    ----------
    arrays : dict of str to ndarray
        Arrays found so far, by name.
    """

    def __init__(self, objects: Mapping[type, str]) -> None:
        self.objects = objects
        self.arrays: dict[str, np.ndarray] = {}
        self.depth = 0

    def __call__(self, value: Any, path: str) -> Any:
        """Node of a value. `path` is its place in the state, for names of arrays and for errors."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if self.depth == DEEPEST // 2:  # a value and its kind are two levels
            return self.refuse("is nested too deeply", path[:80])
        self.depth += 1
        try:
            return self.node(value, path)
        finally:
            self.depth -= 1

    def node(self, value: Any, path: str) -> Any:
        """Node of a value that is neither a number nor a string of Python."""
        if type(value) in self.objects:
            state = self.dictionary(value.__getstate__(), path)
            return {"object": {"class": self.objects[type(value)], "state": state}}
        for kinds, write in WRITERS:
            if isinstance(value, kinds):
                return write(self, value, path)
        if callable(value):
            return {"function": path.rpartition(".")[2]}
        return self.refuse(f"has type {type(value).__module__}.{type(value).__qualname__}", path)

    @staticmethod
    def refuse(what: str, path: str) -> Any:
        """Raise the error for a value that cannot be stored."""
        raise TypeError(
            f"{path} {what}, which a model file cannot store. Use numbers, strings, arrays, lists or dicts, or pickle."
        )

    def keep(self, array: np.ndarray, path: str) -> str:
        """Store an array and return its name."""
        dtype = array.dtype.newbyteorder("<")
        if dtype not in NAMES:
            self.refuse(f"has dtype {array.dtype}", path)
        name, k = path, 1
        while name in self.arrays:
            name, k = f"{path}~{k}", k + 1
        self.arrays[name] = np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
        return name

    def sequence(self, values: Any, path: str) -> Any:
        """Node of a list: integers as an array if they are many."""
        if len(values) >= MANY and all(type(one) is int and -(2**63) <= one < 2**63 for one in values):
            return {"integers": self.keep(np.array(list(values), dtype=np.int64), path)}
        return [self(one, f"{path}.{k}") for k, one in enumerate(values)]

    def array(self, array: np.ndarray, path: str) -> Any:
        shape = list(array.shape)
        if array.dtype.kind == "U":
            return {"strings": {"shape": shape, "width": array.dtype.itemsize // 4, "items": array.ravel().tolist()}}
        if array.dtype.kind == "O":
            return {"objects": {"shape": shape, "items": self.sequence(array.ravel().tolist(), path)}}
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            return {"transposed": self.keep(array.T, path)}
        return {"array": self.keep(array, path)}

    def dictionary(self, value: Mapping[Any, Any], path: str) -> Any:
        if all(type(key) is str for key in value):
            return {"dict": {key: self(one, f"{path}.{key}" if path else key) for key, one in value.items()}}
        return {"pairs": [self.sequence(part, f"{path}.{k}") for k, part in enumerate((value.keys(), value.values()))]}

    def sparse(self, value: Any, path: str) -> Any:
        name = type(value).__name__
        if SPARSE.get(name) is not type(value):
            self.refuse(f"is a {name}", path)
        parts = {part: self.keep(getattr(value, part), f"{path}.{part}") for part in ("data", "indices", "indptr")}
        return {"sparse": {"class": name, "shape": list(value.shape), **parts}}

    def random(self, value: np.random.RandomState, path: str) -> Any:
        name, keys, position, has_gauss, gauss = value.get_state(legacy=True)
        return {"random_state": [name, self.keep(np.asarray(keys), path), position, has_gauss, gauss]}


#: Types and how their values are written; the first that fits.
WRITERS: list[tuple[Any, Callable[[Encoder, Any, str], Any]]] = [
    (np.ndarray, Encoder.array),
    (np.str_, lambda encoder, value, path: str(value)),
    (np.generic, lambda encoder, value, path: {"scalar": encoder.keep(np.asarray(value), path)}),
    (tuple, lambda encoder, value, path: {"tuple": encoder.sequence(value, path)}),
    (list, Encoder.sequence),
    (Mapping, Encoder.dictionary),
    (tuple(SPARSE.values()), Encoder.sparse),
    (np.dtype, lambda encoder, value, path: {"dtype": NAMES[value]}),
    (UUID, lambda encoder, value, path: {"uuid": value.hex}),
    (slice, lambda encoder, value, path: {"slice": [value.start, value.stop]}),
    (np.random.RandomState, Encoder.random),
]


class Decoder:
    """JSON to values; ValueError, which names the field, for anything that no encoder writes.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Arrays by name.
    objects : mapping of str to type
        Classes whose objects may occur.
    functions : mapping of str to callable
        Functions by the name of their parameter.
    mapped : bool
        Whether arrays of the result may be views of the file.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        objects: Mapping[str, type],
        functions: Mapping[str, Any],
        mapped: bool,
    ) -> None:
        self.arrays, self.objects, self.functions, self.mapped = arrays, objects, functions, mapped
        self.depth = 0

    def __call__(self, node: Any, path: str) -> Any:
        """Value of a node."""
        if not isinstance(node, list | dict):
            return node
        self.require(self.depth < DEEPEST, path[:80], "nested too deeply")
        self.depth += 1
        try:
            if isinstance(node, list):
                return [self(one, f"{path}.{k}") for k, one in enumerate(node)]
            if len(node) != 1 or next(iter(node)) not in READERS:
                raise ValueError(f"field {path!r}: unknown kind {', '.join(node)[:80]!r}")
            ((kind, content),) = node.items()
            return READERS[kind](self, content, path)
        finally:
            self.depth -= 1

    @staticmethod
    def require(sound: bool, path: str, what: str) -> None:
        """Raise ValueError for a field that is not sound."""
        if not sound:
            raise ValueError(f"field {path!r}: {what}")

    def read_stored(self, name: Any, path: str) -> np.ndarray:
        """View of an array of the file."""
        self.require(isinstance(name, str) and name in self.arrays, path, f"there is no array {name!r}")
        return self.arrays[name]

    def array(self, name: Any, path: str) -> np.ndarray:
        stored = self.read_stored(name, path)
        return stored if self.mapped and stored.flags.aligned else stored.copy()

    def integers(self, name: Any, path: str) -> list[int]:
        stored = self.read_stored(name, path)
        self.require(stored.dtype == np.int64 and stored.ndim == 1, path, "integers must be 64-bit, in one dimension")
        return stored.tolist()

    def scalar(self, name: Any, path: str) -> Any:
        stored = self.read_stored(name, path)
        self.require(stored.ndim == 0, path, "a scalar must have no dimension")
        return stored[()]

    def parts(self, node: Any, names: tuple[str, ...], path: str) -> tuple[Any, ...]:
        """Values of a dictionary with just these names."""
        self.require(isinstance(node, dict) and set(node) == set(names), path, f"expected {', '.join(names)}")
        return tuple(node[name] for name in names)

    def strings(self, node: Any, path: str) -> np.ndarray:
        shape, width, items = self.parts(node, ("shape", "width", "items"), path)
        sound = isinstance(items, list) and all(isinstance(one, str) for one in items) and type(width) is int
        self.require(sound and 0 < width, path, "expected strings")
        self.require(all(len(one) <= width for one in items), path, f"a string is longer than {width}")
        length = sum(map(len, items)) + len(items)
        self.require(width * len(items) <= 4 * length + 1024, path, f"the strings are much shorter than {width}")
        return self.read_shape(np.array(items, dtype=f"<U{width}"), shape, path)

    def read_shape(self, flat: np.ndarray, shape: Any, path: str) -> np.ndarray:
        self.require(sizes(shape) and math.prod(shape) == len(flat), path, "shape and number of items differ")
        return flat.reshape(shape)

    def object_array(self, node: Any, path: str) -> np.ndarray:
        shape, items = self.parts(node, ("shape", "items"), path)
        values = self(items, path)
        self.require(isinstance(values, list), path, "expected a list")
        flat = np.empty(len(values), dtype=object)
        flat[:] = values
        return self.read_shape(flat, shape, path)

    def read_list(self, node: Any, path: str) -> list[Any]:
        values = self(node, path)
        self.require(isinstance(values, list), path, "expected a list")
        return values

    def dictionary(self, node: Any, path: str) -> dict[str, Any]:
        self.require(isinstance(node, dict), path, "expected a dictionary")
        return {key: self(one, f"{path}.{key}" if path else key) for key, one in node.items()}

    def pairs(self, node: Any, path: str) -> dict[Any, Any]:
        self.require(isinstance(node, list) and len(node) == 2, path, "expected keys and values")
        keys, values = (self.read_list(one, f"{path}.{k}") for k, one in enumerate(node))
        self.require(len(keys) == len(values), path, "numbers of keys and values differ")
        found = None
        with suppress(TypeError):  # a key that is a list or a dictionary
            found = dict(zip(keys, values, strict=True))
        self.require(found is not None and len(found) == len(keys), path, "keys must be different numbers or strings")
        return found  # type: ignore[return-value]

    def sparse(self, node: Any, path: str) -> Any:
        name, shape, *parts = self.parts(node, ("class", "shape", "data", "indices", "indptr"), path)
        self.require(isinstance(name, str) and name in SPARSE and sizes(shape, 2), path, "class or shape is damaged")
        data, indices, indptr = (self.array(part, path) for part in parts)
        try:
            matrix = SPARSE[name]((data, indices, indptr), shape=tuple(shape))
        except Exception as error:  # arrays of other types or lengths fail in many ways
            raise ValueError(f"field {path!r}: {error}") from error
        require_places(matrix, f"field {path!r}")
        return matrix

    def random(self, node: Any, path: str) -> np.random.RandomState:
        self.require(isinstance(node, list) and len(node) == 5 and node[0] == "MT19937", path, "expected MT19937")
        _, keys, position, *rest = node
        words = self.array(keys, path)
        sound = words.shape == (N_WORDS,) and words.dtype.kind == "u"
        sound = sound and type(position) is int and 0 <= position <= N_WORDS  # NumPy reads at this place, unchecked
        self.require(sound, path, f"expected {N_WORDS} words, and a place among them")
        state = np.random.RandomState(0)
        try:
            state.set_state(("MT19937", words, position, *rest))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"field {path!r}: {error}") from error
        return state

    def instance(self, node: Any, path: str) -> Any:
        name, state = self.parts(node, ("class", "state"), path)
        self.require(isinstance(name, str) and name in self.objects, path, f"unknown class {name!r}")
        (content,) = self.parts(state, ("dict",), path)
        self.require(isinstance(content, dict), path, "expected a dictionary")
        views = Decoder(self.arrays, self.objects, self.functions, True)
        views.depth = self.depth
        found = {}
        for key, one in content.items():
            self.require_attribute(self.objects[name], key, f"{path}.{key}")
            found[key] = (views if key in COPIED else self)(one, f"{path}.{key}")
        value: Any = object.__new__(self.objects[name])
        value.__setstate__(found)
        return value

    def require_attribute(self, owner: type, name: str, path: str) -> None:
        """Refuse names that would hide a method, a property or a table of a class."""
        kind = getattr(owner, name, None)
        hides = callable(kind) or isinstance(kind, property | Mapping)
        self.require(name.isidentifier() and not hides, path, f"no attribute of a saved {owner.__name__}")

    def function(self, node: Any, path: str) -> Any:
        self.require(isinstance(node, str), path, "expected a name")
        if node not in self.functions:
            raise ValueError(
                f"field {path!r}: the parameter {node!r} of the model is a function, and files hold no code. Give the "
                f"function again: load(path, functions={{{node!r}: ...}})."
            )
        return self.functions[node]

    def dtype(self, node: Any, path: str) -> np.dtype:
        self.require(isinstance(node, str) and node in TYPES, path, f"unknown type {node!r}")
        return np.dtype(TYPES[node])

    def uuid(self, node: Any, path: str) -> UUID:
        try:
            return UUID(hex=node)
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(f"field {path!r}: {error}") from error

    def slice(self, node: Any, path: str) -> slice:
        sound = isinstance(node, list) and len(node) == 2 and all(type(end) is int and end >= 0 for end in node)
        self.require(sound, path, "expected the ends of a slice")
        return slice(*node)

    def real(self, node: Any, path: str) -> float:
        self.require(node in ("inf", "-inf", "nan"), path, f"unknown number {node!r}")
        return float(node)


#: Kinds of nodes and how they are read.
READERS: dict[str, Callable[[Decoder, Any, str], Any]] = {
    "array": Decoder.array,
    "transposed": lambda decoder, name, path: decoder.array(name, path).T,
    "integers": Decoder.integers,
    "scalar": Decoder.scalar,
    "strings": Decoder.strings,
    "objects": Decoder.object_array,
    "tuple": lambda decoder, node, path: tuple(decoder.read_list(node, path)),
    "dict": Decoder.dictionary,
    "pairs": Decoder.pairs,
    "sparse": Decoder.sparse,
    "dtype": Decoder.dtype,
    "uuid": Decoder.uuid,
    "slice": Decoder.slice,
    "float": Decoder.real,
    "random_state": Decoder.random,
    "object": Decoder.instance,
    "function": Decoder.function,
}
