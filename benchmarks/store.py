"""Results of a study: one file, to which each run adds a line of JSON as soon as it is done."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, TypeVar

from benchmarks.writing import write_whole


class Job(Protocol):
    """One run: what is stored as one line."""

    @property
    def kind(self) -> str:
        """Kind of job, for choosing among them."""

    @property
    def path(self) -> str:
        """Its name in the store."""

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


#: What results of one session have in common: how and where they were made. It is stored once for all of them.
MADE = ("threads", "processes", "machine", "build")


class Store:
    """The file of a study.

    A run adds a line with its result. If it is made again, the last line counts. Lines that a crash has cut off count
    as absent, and so do results of other settings.

    Parameters
    ----------
    path : Path
        File with the results; it need not exist.
    before : Store, default=None
        Results for runs that the file does not have.
    """

    def __init__(self, path: Path, before: Store | None = None) -> None:
        self.path, self.before = path, before
        self._made: dict[str, dict[str, Any]] = {}
        self._runs: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._add(line)

    def get(self, job: Job) -> dict[str, Any] | None:
        """Stored result of a run with the current settings, or None."""
        kept = self._runs.get(job.path)
        with suppress(PackageNotFoundError):
            if kept is not None and kept["fingerprint"] == fingerprint(job):
                return {**self._made[kept["made"]], **kept["result"]}
        return None if self.before is None else self.before.get(job)

    def put(self, job: Job, result: dict[str, Any]) -> None:
        """Add the result of a run to the file."""
        lines = self._lines(job, result)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            torn = file.read(1) not in (b"", b"\n")
            file.write(("\n" * torn + "".join(lines)).encode())
        for line in lines:
            self._add(line)

    def replace(self, results: Sequence[tuple[Job, dict[str, Any]]]) -> None:
        """Write the file again with these results only."""
        self._made, self._runs = {}, {}
        for job, result in results:
            for line in self._lines(job, result):
                self._add(line)
        self.compact()

    def compact(self) -> None:
        """Write the file again with the lines that count."""
        made = [{"made": name, "by": by} for name, by in self._made.items()]
        write_whole(self.path, "".join(f"{json.dumps(line)}\n" for line in [*made, *self._runs.values()]))

    def _lines(self, job: Job, result: dict[str, Any]) -> list[str]:
        made = {key: result[key] for key in MADE if key in result}
        name = hashlib.sha256(json.dumps(made).encode()).hexdigest()[:8]
        own = {key: value for key, value in result.items() if key not in made}
        kept = {"run": job.path, "fingerprint": fingerprint(job), "made": name, "result": own}
        lines = [kept] if name in self._made else [{"made": name, "by": made}, kept]
        return [f"{json.dumps(line)}\n" for line in lines]

    def _add(self, line: str) -> None:
        with suppress(ValueError, KeyError, TypeError):
            kept = json.loads(line)
            if "by" in kept:
                self._made[kept["made"]] = kept["by"]
            elif kept["made"] in self._made and {"fingerprint", "result"} <= kept.keys():
                self._runs[kept["run"]] = kept
