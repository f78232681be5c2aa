"""Number of threads, and what there is to know about the machine. Imports no numpy: threads must be fixed first."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.core_access import instruction_set

#: Libraries read these once, when they are loaded.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
PACKAGES = ("hingeline", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex")


def fix_threads(threads: int) -> None:
    """Limit every thread pool of this process and of its children; call it before numpy is imported."""
    if "numpy" in sys.modules:
        raise RuntimeError("the number of threads must be fixed before numpy is imported")
    os.environ.update({name: str(threads) for name in THREAD_VARIABLES})


def command_line(name: str, doc: str) -> argparse.ArgumentParser:
    """Options that all programs of one file have; `name` is that of the module, the first line of `doc` its purpose."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny data: shows that it runs, measures nothing")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("results"), help="default: results")
    return parser


def resumable(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the options of programs that keep their results job by job, added to those of command_line."""
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="names, patterns ('train-*') or kinds; default all")
    parser.add_argument("--list", action="store_true", help="list the jobs")
    parser.add_argument("--only-report", action="store_true", help="write the page from the stored results")
    parser.add_argument("--fresh", action="store_true", help="make the chosen jobs again")
    parser.set_defaults(output=None)
    args = parser.parse_intermixed_args()
    if args.threads < 1:
        parser.error("--threads must be at least 1")
    return args


def threads_in_argv() -> int:
    """Value of --threads, before the real parser of the program runs."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--threads", type=int, default=1)
    return int(parser.parse_known_args()[0].threads)


def machine(*more: str) -> dict[str, Any]:
    """Processor, versions (of `more` packages too) and thread pools, without anything that identifies the computer."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in (*PACKAGES, *more)},
        "blas": _blas(),
        "isa": instruction_set(),
    }


def _cpu_model() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _blas() -> list[str]:
    try:
        import numpy  # noqa: F401  (loads its BLAS)
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    return [
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}, {pool['num_threads']} threads"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    ]
