"""One thread for BLAS: the oracles solve many small systems, and tests run side by side. Data beside the checkout."""

import os
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

shared = Path(__file__).parents[2] / "shared" / "data"
if shared.is_dir():
    os.environ.setdefault("HINGELINE_DATA", str(shared))
