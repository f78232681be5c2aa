"""Build the sdist and wheels on a Linux x86-64 computer, also of other platforms, and check them.

The compiler is that of the PyPI package ``ziglang`` (Clang with the headers of every libc): it compiles for an old
glibc, for musl, for aarch64 and for macOS. Wheels are built from the sdist, so that nothing is missing in it. Checked
are the tag (auditwheel), the stable ABI (abi3audit), the size and the metadata (twine).

``make wheels`` runs it; ``python tools/wheels.py --targets manylinux_2_28_x86_64 --pythons python3.12`` builds one
wheel. A Python of 3.12 or later builds the abi3 wheel, which serves all of these.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
MOST_BYTES = 3_000_000  # of a wheel: the budget of the project


class Target(NamedTuple):
    """One platform: the name that Zig gives it, CMake's system and processor, the suffix of an extension of CPython."""

    zig: str
    system: str
    processor: str
    suffix: str


#: Platform tags of wheels.
TARGETS = {
    "manylinux_2_28_x86_64": Target("x86_64-linux-gnu.2.28", "Linux", "x86_64", "x86_64-linux-gnu"),
    "manylinux_2_28_aarch64": Target("aarch64-linux-gnu.2.28", "Linux", "aarch64", "aarch64-linux-gnu"),
    "musllinux_1_2_x86_64": Target("x86_64-linux-musl", "Linux", "x86_64", "x86_64-linux-musl"),
    "musllinux_1_2_aarch64": Target("aarch64-linux-musl", "Linux", "aarch64", "aarch64-linux-musl"),
    "macosx_11_0_arm64": Target("aarch64-macos.11.0", "Darwin", "arm64", "darwin"),
}
#: The target whose extension runs here: it writes the type stub, which is the same for all.
NATIVE = "manylinux_2_28_x86_64"


def run(*command: object, **environment: str) -> str:
    """Standard output of a command; a failure ends the script with the command's own output."""
    result = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if result.returncode:
        sys.exit(f"{result.stdout}\n{' '.join(map(str, command))}: exit status {result.returncode}")
    return result.stdout


def write_tool(path: Path, *command: object) -> Path:
    """A program that runs the command with further arguments: CMake wants one file for each tool."""
    path.write_text(f'#!/bin/sh\nexec {" ".join(map(str, command))} "$@"\n')
    path.chmod(0o755)
    return path


def write_toolchain(tag: str) -> Path:
    """CMake toolchain file of the target."""
    import ziglang

    target = TARGETS[tag]
    zig = Path(ziglang.__file__).parent / "zig"
    folder = WORK / "tools" / tag
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f"set(CMAKE_CXX_COMPILER {write_tool(folder / 'c++', zig, 'c++', '-target', target.zig)})",
        f"set(CMAKE_AR {write_tool(folder / 'ar', zig, 'ar')})",
        f"set(CMAKE_RANLIB {write_tool(folder / 'ranlib', zig, 'ranlib')})",
        "set(CMAKE_SKIP_RPATH ON)",
        'set(CMAKE_CXX_FLAGS_INIT "-include cstdio")',  # headers of nanobind 3.1 use stderr without it
    ]
    if tag != NATIVE:  # with a system name CMake does not run what it compiles
        lines += [f"set(CMAKE_SYSTEM_NAME {target.system})", f"set(CMAKE_SYSTEM_PROCESSOR {target.processor})"]
        lines += [f"set(HINGELINE_STUB {WORK / '_core.pyi'})"]
    if target.system == "Darwin":  # names of Python are resolved when the extension is loaded
        lines += ["set(CMAKE_OSX_DEPLOYMENT_TARGET 11.0)", 'set(CMAKE_OSX_SYSROOT "")']
        lines += ['set(CMAKE_MODULE_LINKER_FLAGS_INIT "-Wl,-undefined,dynamic_lookup")']
        lines += ["set(CMAKE_INSTALL_NAME_TOOL /bin/true)"]
    path = folder / "toolchain.cmake"
    path.write_text("\n".join(lines) + "\n")
    return path


def make_builder(python: str) -> Path:
    """Python of an environment with the build requirements of pyproject.toml."""
    folder = WORK / f"builder-{Path(python).name}"
    builder = folder / "bin" / "python"
    if not builder.exists():
        run(python, "-m", "venv", folder)
        run(builder, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    run(builder, "-m", "pip", "install", "--quiet", "--group", f"{ROOT / 'pyproject.toml'}:build")
    return builder


def unpack_sdist() -> Path:
    """Folder of the sources, as the sdist has them."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    sdist = max(DIST.glob("hingeline-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    folder = WORK / "source"
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


def build_wheel(source: Path, builder: Path, tag: str) -> Path:
    """Wheel of one target for the Python of the builder."""
    folder = WORK / "build" / f"{builder.parents[1].name}-{tag}"
    shutil.rmtree(folder, ignore_errors=True)
    wheels = folder / "wheel"
    version = run(builder, "-c", "import sys; print('%d%d' % sys.version_info[:2])").strip()
    run(
        *(builder, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", wheels, source),
        *("-C", f"build-dir={folder / 'cmake'}", "-C", "install.strip=false"),  # the linker has done it
        *("-C", f"cmake.define.CMAKE_TOOLCHAIN_FILE={write_toolchain(tag)}"),
        SETUPTOOLS_EXT_SUFFIX=f".cpython-{version}-{TARGETS[tag].suffix}.so",
        ZIG_GLOBAL_CACHE_DIR=str(WORK / "zig"),
        PATH=f"{builder.parent}{os.pathsep}{os.environ['PATH']}",
    )
    (wheel,) = wheels.glob("*.whl")
    run(sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, wheel)
    (wheel,) = wheels.glob("*.whl")
    if tag == NATIVE:
        with zipfile.ZipFile(wheel) as archive:
            (WORK / "_core.pyi").write_bytes(archive.read("hingeline/_core.pyi"))
    return Path(shutil.move(wheel, DIST / wheel.name))


def check_wheel(wheel: Path) -> str:
    """What the tools say about a wheel, in one line; a fault ends the script."""
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{wheel.name} has {size:,} bytes; at most {MOST_BYTES:,} are allowed")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if "/_core." in name and name.endswith(".so"))
        if b".debug_info" in archive.read(name):
            sys.exit(f"{wheel.name}: {name} has debugging information. Link with -s.")
    notes = [f"{size / 1e6:.2f} MB"]
    if "linux" in wheel.name:
        shown = re.sub(r"\s+", " ", run(sys.executable, "-m", "auditwheel", "show", wheel))
        found = re.search(r'platform tag: "(\S+)"', shown)
        if found is None or not is_older(found.group(1), wheel.stem.rsplit("-", 1)[-1]):
            sys.exit(f"{wheel.name}: auditwheel disagrees with the tag. {shown}")
        notes.append(f"auditwheel: {found.group(1)}")
    if "-abi3-" in wheel.name:
        run(sys.executable, "-m", "abi3audit", "--strict", wheel)
        notes.append("abi3audit passes")
    return f"{wheel.name}: {', '.join(notes)}"


def is_older(found: str, allowed: str) -> bool:
    """Whether the libc that the tag `found` asks for is at most that of `allowed`, of one kind and processor."""
    pattern = r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)"
    first, second = re.fullmatch(pattern, found), re.fullmatch(pattern, allowed)
    if first is None or second is None or first.group(1, 4) != second.group(1, 4):
        return False
    return tuple(map(int, first.group(2, 3))) <= tuple(map(int, second.group(2, 3)))


def main() -> None:
    """Build, then check everything in dist."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=[NATIVE], help="platform tags")
    parser.add_argument("--pythons", nargs="+", default=["python3.11", "python3.12"], help="one wheel for each")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    source = unpack_sdist()
    tags = sorted(args.targets, key=lambda tag: tag != NATIVE)  # the others need its stub
    if tags[0] != NATIVE and not (WORK / "_core.pyi").exists():
        sys.exit(f"{tags[0]} needs the type stub of {NATIVE}. Build that first.")
    for python in args.pythons:
        builder = make_builder(python)
        for tag in tags:
            print(check_wheel(build_wheel(source, builder, tag)), flush=True)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.glob("hingeline-*"))


if __name__ == "__main__":
    main()
