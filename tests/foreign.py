"""Test modules of scikit-learn that see a class of ours in place of its own."""

import importlib
import sys


def module_with(name, place, replaced, ours):
    """Return a fresh copy of the module `name`, imported while the attribute `replaced` of `place` is `ours`."""
    original, kept = getattr(place, replaced), sys.modules.pop(name, None)
    setattr(place, replaced, ours)
    try:
        return importlib.import_module(name)
    finally:
        setattr(place, replaced, original)
        sys.modules.pop(name, None)
        if kept is not None:
            sys.modules[name] = kept
