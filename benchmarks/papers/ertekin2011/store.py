"""Results of runs, each in a small JSON file that is written as soon as the run is done."""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .settings import Job


def fingerprint(job: Job) -> str:
    """Of all settings of a run and the version of the package that makes it."""
    package = "scikit-learn" if job.method.variant is None else "hingeline"
    text = json.dumps({**job.settings(), package: version(package)}, sort_keys=True)
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
        return self.folder / job.set.name / f"{job.name}.json"

    def get(self, job: Job, minutes: float = 0.0) -> dict[str, Any] | None:
        """The result of a run with the settings of today; one that ended early only if it had that many minutes."""
        try:
            kept = json.loads(self.path(job).read_text(encoding="utf-8"))
            if kept["fingerprint"] != fingerprint(job):
                return None
            result: dict[str, Any] = kept["result"]
            return result if result["complete"] or result["minutes"] >= minutes else None
        except (OSError, ValueError, KeyError, TypeError):
            return None  # absent, or cut off by a crash: made again

    def put(self, job: Job, result: dict[str, Any]) -> None:
        kept = {"fingerprint": fingerprint(job), "settings": job.settings(), "result": result}
        write_whole(self.path(job), json.dumps(kept, indent=1) + "\n")

    def drop(self, job: Job) -> None:
        self.path(job).unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Either the whole file is there or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
