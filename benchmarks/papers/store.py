"""Results of runs, each in a small JSON file that is written as soon as the run is done."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from .files import write_whole


class Job(Protocol):
    """One run: what is stored as one file."""

    @property
    def path(self) -> str:
        """Of its file in the store, without the suffix."""

    @property
    def package(self) -> str:
        """The one whose version matters."""

    def settings(self) -> dict[str, Any]:
        """What the result depends on."""


def fingerprint(job: Job) -> str:
    """Of all settings of a run and the version of the package that makes it."""
    text = json.dumps({**job.settings(), job.package: version(job.package)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def build() -> str:
    """Of the compiled core. A new build does not make results void, but the report says that there were several."""
    from hingeline import _core

    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:12]


class Store:
    """A folder with one file per run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, job: Job) -> Path:
        return self.folder / f"{job.path}.json"

    def get(self, job: Job, minutes: float = 0.0) -> dict[str, Any] | None:
        """The result of a run with the settings of today; one that ended early only if it had that many minutes."""
        try:
            kept = json.loads(self.path(job).read_text(encoding="utf-8"))
            if kept["fingerprint"] != fingerprint(job):
                return None
            result: dict[str, Any] = kept["result"]
            return result if result.get("complete", True) or result["minutes"] >= minutes else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # absent, or cut off by a crash: made again

    def put(self, job: Job, result: dict[str, Any]) -> None:
        kept = {"fingerprint": fingerprint(job), "settings": job.settings(), "result": result}
        write_whole(self.path(job), json.dumps(kept, indent=1) + "\n")

    def drop(self, job: Job) -> None:
        self.path(job).unlink(missing_ok=True)
