"""Results of runs, each in a small JSON file that is written as soon as the run is done; archives of such results."""

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


#: What results of one session have in common: how and where they were made.
MADE = ("threads", "processes", "machine", "build")


def write_archive(path: Path, results: Sequence[tuple[Job, dict[str, Any]]]) -> None:
    """Write results to one file, one line per run, so that a later session can go on from them."""
    ways: list[dict[str, Any]] = []
    lines = []
    for job, result in results:
        way = {key: result[key] for key in MADE if key in result}
        if way not in ways:
            ways.append(way)
        own = {key: value for key, value in result.items() if key not in way}
        kept = {"fingerprint": fingerprint(job), "made": ways.index(way), "result": own}
        lines.append(f"{json.dumps(job.path)}: {json.dumps(kept)}")
    runs = ",\n".join(lines)
    write_whole(path, f'{{"made": {json.dumps(ways, indent=1)},\n"runs": {{\n{runs}\n}}}}\n')


def read_archive(path: Path) -> dict[str, dict[str, Any]]:
    """Fingerprint and result of each run, by the path of the job."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: {"fingerprint": kept["fingerprint"], "result": {**found["made"][kept["made"]], **kept["result"]}}
        for name, kept in found["runs"].items()
    }


class Store:
    """A folder with one file per run.

    Parameters
    ----------
    folder : Path
        Where results are written.
    archive : dict, default=None
        Results of `read_archive`, for runs that the folder does not have.
    """

    def __init__(self, folder: Path, archive: dict[str, dict[str, Any]] | None = None) -> None:
        self.folder, self.archive = folder, archive or {}

    def path(self, job: Job) -> Path:
        return self.folder / f"{job.path}.json"

    def get(self, job: Job) -> dict[str, Any] | None:
        """Stored result of a run with the current settings, or None."""
        for read in (self._read, self.archive.__getitem__):
            try:
                kept = read(job.path)
                result: dict[str, Any] = kept["result"]
                if kept["fingerprint"] == fingerprint(job):
                    return result
            except (OSError, ValueError, KeyError, TypeError, PackageNotFoundError):
                continue  # absent, or cut off by a crash: run again
        return None

    def _read(self, path: str) -> dict[str, Any]:
        kept: dict[str, Any] = json.loads((self.folder / f"{path}.json").read_text(encoding="utf-8"))
        return kept

    def put(self, job: Job, result: dict[str, Any]) -> None:
        kept = {"fingerprint": fingerprint(job), "settings": job.settings(), "result": result}
        write_whole(self.path(job), json.dumps(kept, indent=1) + "\n")
