"""Copy the version and the address of the repository to the files that repeat them, or check that they agree.

``python tools/metadata.py`` writes CITATION.cff and recipe/recipe.yaml; ``--check`` only compares. ``--release v0.1.0``
checks that everything is ready to publish the tag. The version and the address are those of pyproject.toml, the date of
a release is that of its heading in CHANGELOG.md: ``## 0.1.0 (2027-01-31)``. Needs the standard library only.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Facts(NamedTuple):
    """What other files repeat; an empty date or address is not known yet."""

    version: str
    date: str
    address: str


def read_facts(root: Path = ROOT) -> Facts:
    """Version and address from pyproject.toml, date of that version from CHANGELOG.md."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$", changes, re.MULTILINE)
    return Facts(version, heading.group(1) if heading else "", project.get("urls", {}).get("Repository", ""))


def citation(text: str, facts: Facts) -> str:
    """CITATION.cff with these facts."""
    lines = [line for line in text.splitlines() if not line.startswith(("date-released:", "repository-code:"))]
    at = next(k for k, line in enumerate(lines) if line.startswith("version:"))
    optional = (("date-released", facts.date), ("repository-code", facts.address))
    lines[at : at + 1] = [f"version: {facts.version}", *(f"{key}: {value}" for key, value in optional if value)]
    return "\n".join(lines) + "\n"


def recipe(text: str, facts: Facts) -> str:
    """Recipe of conda-forge with these facts."""
    text = re.sub(r'^  version: ".*"$', f'  version: "{facts.version}"', text, count=1, flags=re.MULTILINE)
    text = re.sub(r"^  repository: .*\n", "", text, flags=re.MULTILINE)
    return text.replace("about:\n", f"about:\n  repository: {facts.address}\n") if facts.address else text


#: Files that repeat the facts, and how.
COPIES = {"CITATION.cff": citation, "recipe/recipe.yaml": recipe}


def outdated(root: Path = ROOT) -> dict[Path, str]:
    """Files that differ from pyproject.toml, with what they should contain."""
    facts = read_facts(root)
    wanted = {root / name: copy((root / name).read_text(encoding="utf-8"), facts) for name, copy in COPIES.items()}
    return {path: text for path, text in wanted.items() if path.read_text(encoding="utf-8") != text}


def obstacles(tag: str, root: Path = ROOT) -> list[str]:
    """What stands against publishing a tag."""
    facts = read_facts(root)
    found = [f"{path.relative_to(root)} differs from pyproject.toml: run `make metadata`" for path in outdated(root)]
    if not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", facts.version):
        found.append(f"the version in pyproject.toml must be that of a release; it is {facts.version}")
    if tag != f"v{facts.version}":
        found.append(f"the tag must be v{facts.version}, after pyproject.toml; it is {tag}")
    if not facts.date:
        found.append(f"CHANGELOG.md has no heading `## {facts.version} (YYYY-MM-DD)`")
    if not facts.address:
        found.append("[project.urls] in pyproject.toml has no Repository")
    return found


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is outdated")
    what.add_argument("--release", metavar="TAG", help="exit with 1 if something stands against publishing this tag")
    arguments = parser.parse_args()
    if arguments.release is not None:
        found = obstacles(arguments.release)
        print("\n".join(found), file=sys.stderr, end="\n" if found else "")
        return bool(found)
    late = outdated()
    for path, text in late.items():
        print(path.relative_to(ROOT))
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
    return bool(late) and arguments.check


if __name__ == "__main__":
    sys.exit(main())
