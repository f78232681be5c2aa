"""One thread for BLAS: the oracles solve many small systems, and tests run side by side. Data beside the checkout.

With the environment variable CI hypothesis draws the same examples in every run; elsewhere it draws new ones.
"""

import gc
import os
from inspect import getsource
from pathlib import Path

import pytest
from hypothesis import settings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

shared = Path(__file__).parents[2] / "shared" / "data"
if shared.is_dir():
    os.environ.setdefault("HINGELINE_DATA", str(shared))

from hingeline._sklearn import HAVE_CALLBACKS  # noqa: E402 : imports BLAS

#: Reason of skipped tests.
NO_CALLBACKS = "scikit-learn has callbacks since 1.9"

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_collection_modifyitems(items):
    """Skip tests that set callbacks where scikit-learn has none."""
    for item in [] if HAVE_CALLBACKS else items:
        if "set_callbacks(" in getsource(getattr(item, "function", pytest_unconfigure)):
            item.add_marker(pytest.mark.skip(reason=NO_CALLBACKS))


def pytest_collection_finish():
    """Let the garbage collector skip the objects of ten thousand collected tests."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """Let the garbage collector see them again: nanobind would report what they hold as leaked."""
    gc.unfreeze()
