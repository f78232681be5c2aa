"""One thread for BLAS: the oracles solve many small systems, and tests run side by side. Data beside the checkout.

With the environment variable CI hypothesis draws the same examples in every run; elsewhere it draws new ones.
"""

import gc
import os
from pathlib import Path

from hypothesis import settings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

shared = Path(__file__).parents[2] / "shared" / "data"
if shared.is_dir():
    os.environ.setdefault("HINGELINE_DATA", str(shared))

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_collection_finish():
    """Let the garbage collector skip the objects of ten thousand collected tests."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """Let the garbage collector see them again: nanobind would report what they hold as leaked."""
    gc.unfreeze()
