"""What a bug report needs to know about an installation."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, requires, version

#: Package of this module; its requirements and those of its extras are listed.
PACKAGE = "hingeline"
#: Further distributions: what installs packages, and what finds thread pools.
TOOLS = ("pip", "threadpoolctl")
#: Environment variables that change results or speed.
VARIABLES = ("HINGELINE_ISA", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def show_versions() -> None:
    """Print versions, platform, instruction set and threads, for bug reports.

    It prints no names of users, computers or folders.

    See Also
    --------
    sklearn.show_versions : The same for scikit-learn.

    Examples
    --------
    >>> import hingeline
    >>> hingeline.show_versions()  # doctest: +ELLIPSIS
    <BLANKLINE>
    System:
    ... instruction set: ...
    """
    packages: dict[str, object] = {name: _version(name) for name in (PACKAGE, *_packages(), *TOOLS)}
    _print("System", _system())
    _print("Python packages", packages)
    _print("Compiled core", _core())
    for pool in _pools():
        _print("Thread pool", pool)


def _print(title: str, facts: dict[str, object]) -> None:
    width = max(map(len, facts))
    print(f"\n{title}:")
    for name, value in facts.items():
        print(f"{name:>{width}}: {value}")


def _system() -> dict[str, object]:
    import platform
    import sys

    return {
        "python": sys.version.replace("\n", " "),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "C library": " ".join(platform.libc_ver()).strip() or "unknown",
    }


def _packages() -> list[str]:
    """Distributions that hingeline requires, and those of its extras, each once."""
    import re

    names = (re.match(r"[\w.-]+", line) for line in requires(PACKAGE) or ())
    return list(dict.fromkeys(name.group() for name in names if name))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _core() -> dict[str, object]:
    import os

    from joblib import cpu_count, effective_n_jobs

    from . import _core

    variables = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    facts = {"processors": cpu_count(), "threads with n_jobs=None": effective_n_jobs(None)}
    return {"instruction set": _core.isa(), **facts, **variables}


def _pools() -> list[dict[str, object]]:
    """BLAS and OpenMP libraries that SciPy and scikit-learn have loaded."""
    import sklearn.svm  # noqa: F401
    from threadpoolctl import threadpool_info

    return [{name: value for name, value in pool.items() if name != "filepath"} for pool in threadpool_info()]
