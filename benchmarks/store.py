"""Results of runs, each in a small JSON file that is written as soon as the run is done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, TypeVar

from benchmarks.writing import write_whole


class Job(Protocol):
    """One run: what is stored as one file."""

    @property
    def kind(self) -> str:
        """Kind of job, for choosing among them."""

    @property
    def path(self) -> str:
        """Path of its file in the store, without the suffix."""

    @property
    def package(self) -> str:
        """Package whose version the result depends on."""

    def settings(self) -> dict[str, Any]:
        """What the result depends on."""


J = TypeVar("J", bound=Job)


def chosen(jobs: Sequence[J], patterns: Sequence[str]) -> list[J]:
    """Jobs whose kind or path is one of the patterns; without patterns all."""
    return [job for job in jobs if not patterns or any(job.kind == p or fnmatch(job.path, p) for p in patterns)]


def fingerprint(job: Job) -> str:
    """Hash of all settings of a run and the version of the package that makes it."""
    text = json.dumps({**job.settings(), job.package: version(job.package)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Store:
    """A folder with one file per run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, job: Job) -> Path:
        return self.folder / f"{job.path}.json"

    def get(self, job: Job) -> dict[str, Any] | None:
        """Stored result of a run with the current settings, or None."""
        try:
            kept = json.loads(self.path(job).read_text(encoding="utf-8"))
            result: dict[str, Any] = kept["result"]
            return result if kept["fingerprint"] == fingerprint(job) else None
        except (OSError, ValueError, KeyError, TypeError, PackageNotFoundError):
            return None  # absent, or cut off by a crash: run again

    def put(self, job: Job, result: dict[str, Any]) -> None:
        kept = {"fingerprint": fingerprint(job), "settings": job.settings(), "result": result}
        write_whole(self.path(job), json.dumps(kept, indent=1) + "\n")
