"""Benchmarks of hingeline; see README.md in this folder."""

import os
from pathlib import Path

# Data sets beside the repository are used unless HINGELINE_DATA names another folder.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("HINGELINE_DATA", str(_BESIDE))
