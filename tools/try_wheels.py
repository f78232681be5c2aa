"""Install the wheels of dist into empty environments and check them there; ``make try-wheels`` runs it.

For each Python: an environment without anything, ``pip install --only-binary :all:`` with no program but those of the
environment on the PATH, once with the newest dependencies and once with the oldest that pyproject.toml allows and that
have wheels for that Python. Then ``tools/smoke.py``, the program ``hingeline``, and what the import takes from where.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SMOKE = ROOT / "tools" / "smoke.py"


def oldest(version: str, folder: Path) -> Path:
    """Constraints with the oldest direct dependencies that have wheels for this version of Python."""
    needed = folder / "needed.txt"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed.write_text("\n".join(project["dependencies"]) + "\n")
    constraints = folder / "oldest.txt"
    command = ["uv", "pip", "compile", "--quiet", "--no-annotate", "--no-header", "--only-binary", ":all:"]
    command += ["--resolution", "lowest-direct", "--python-version", version, "--output-file", constraints, needed]
    subprocess.run([sys.executable, "-m", *command], check=True)
    return constraints


def wheel_for(python: str, folder: Path) -> Path:
    """The wheel of dist that pip chooses for this Python."""
    command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-index", "--only-binary", ":all:"]
    command += ["--pre", "--find-links", ROOT / "dist", "--dest", folder, "hingeline"]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("hingeline-*.whl")
    return wheel


def try_wheel(python: str, newest: bool) -> None:
    """One environment: install, check, remove."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([python, "-m", "venv", folder / "env"], check=True)
        programs = folder / "env" / "bin"
        version = subprocess.run(
            [programs / "python", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        wheel = wheel_for(str(programs / "python"), folder)
        options = [] if newest else ["--constraint", oldest(version, folder)]
        alone = {"PATH": str(programs), "HOME": name}  # no compiler, no other settings of pip
        command = [programs / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        subprocess.run([*command, *options, wheel], check=True, env=alone)
        copy = shutil.copy(SMOKE, folder)
        print(f"{wheel.name}, {'newest' if newest else 'oldest'} dependencies: ", end="", flush=True)
        subprocess.run([programs / "python", "-W", "ignore", copy], check=True, env=alone, cwd=folder)
        subprocess.run([programs / "hingeline", "--version"], check=True, env=alone, stdout=subprocess.DEVNULL)


def main() -> None:
    """Try every Python with the newest and the oldest dependencies."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pythons", nargs="*", default=["python3.11", "python3.12"], help="interpreters")
    for python in parser.parse_args().pythons:
        for newest in (True, False):
            try_wheel(python, newest)


if __name__ == "__main__":
    main()
