"""Test modules of scikit-learn that see classes of ours in place of its own."""

import importlib
import sys
from types import ModuleType


def module_with(name, place, ours):
    """Return a fresh copy of the module `name`, for which the attributes `ours` of the module `place` are our own."""
    seen = ModuleType(place.__name__)
    vars(seen).update(vars(place) | ours)
    kept = {key: sys.modules.pop(key, None) for key in (name, place.__name__)}
    package, _, last = place.__name__.rpartition(".")
    sys.modules[place.__name__] = seen
    setattr(sys.modules[package], last, seen)
    try:
        return importlib.import_module(name)
    finally:
        setattr(sys.modules[package], last, place)
        sys.modules.pop(name, None)
        sys.modules.update({key: module for key, module in kept.items() if module is not None})
