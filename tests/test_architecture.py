"""Dependencies point down: #include lines of the C++ core and import statements of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEADERS = ROOT / "cpp" / "include" / "hingeline"
PACKAGE = ROOT / "src" / "hingeline"

# Folders of cpp/include/hingeline and what their headers may include besides headers of their own folder.
INCLUDES = {
    "core": set(),
    "vector": {"core"},
    "data": {"core", "vector"},
    "run": {"core"},
    "kernel": {"core", "vector", "data", "run"},
    "algo": {"core", "vector", "data", "run", "kernel"},
    "model": {"core", "vector", "data", "run", "kernel", "algo"},
}

# Sub-packages and the modules of hingeline that they may import besides their own. Families do not import one another.
#: What every sub-package may import.
BELOW = {"_extras", "_registry", "_sklearn"}
SHARED = {"_core", "base"}
FAMILIES = ("batch", "online", "exact", "linear")
IMPORTS = {
    "base": {"_core"},
    "active": {"base"},
    "compare": set(),
    "cuda": set(),
    "files": {"base", *FAMILIES},
    "labelling": {"active", "base", "files", *FAMILIES},
    "model_selection": {"files", *SHARED, *FAMILIES},
    "onnx": {"base", "files", *FAMILIES},
    "streams": {"base", "online"},
    "cli": {
        "active",
        "base",
        "compare",
        "datasets",
        "files",
        "labelling",
        "model_selection",
        "onnx",
        "streams",
        *FAMILIES,
    },
} | dict.fromkeys(FAMILIES, SHARED)
IMPORTS["batch"] = {*SHARED, "cuda"}
#: Optional libraries, and the only folder or module that imports each.
OPTIONAL = {
    "cupy": "cuda/card.py",
    "cupyx": "cuda/card.py",
    "dask": "linear/dask",
    "distributed": "linear/dask",
    "onnx": "onnx",
    "skl2onnx": "onnx",
    "matplotlib": "compare/diagram.py",
    "PIL": "labelling/thumbnails.py",
    "rich": "base/progress.py",
    "river": "streams/river.py",
    "skactiveml": "active/scikit_activeml.py",
    "onnxruntime": None,
    "safetensors": None,
    "skops": None,
}


def includes(path: Path) -> list[str]:
    """Return the headers of the core that a C++ file includes, relative to cpp/include."""
    return re.findall(r'^#include "(hingeline/[^"]+)"', path.read_text(), flags=re.MULTILINE)


@cache
def imports(path: Path) -> list[tuple[str, ...]]:
    """Return the dotted names that a Python file imports, relative ones made absolute."""
    return [*imported(path)]


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    package = ("hingeline", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = (*start, *node.module.split(".")) if node.module else start
            yield from ((*base, alias.name) for alias in node.names)


def test_headers_include_only_what_lies_below():
    wrong = []
    for path in HEADERS.rglob("*.hpp"):
        folder = path.relative_to(HEADERS).parts[0]
        allowed = INCLUDES[folder] | {folder}
        wrong += [
            f"{path.relative_to(HEADERS)}: {name}" for name in includes(path) if name.split("/")[1] not in allowed
        ]
    assert not wrong, "\n".join(wrong)


def test_includes_have_no_cycles():
    graph = {f"hingeline/{path.relative_to(HEADERS)}": includes(path) for path in HEADERS.rglob("*.hpp")}
    open_, done = [], set()

    def visit(name: str) -> None:
        if name in done:
            return
        assert name not in open_, " -> ".join([*open_, name])
        assert name in graph, f"{open_[-1] if open_ else '?'} includes {name}, which does not exist"
        open_.append(name)
        for below in graph[name]:
            visit(below)
        done.add(open_.pop())

    for name in graph:
        visit(name)


def test_the_core_knows_no_python():
    for path in HEADERS.rglob("*.hpp"):
        assert not re.search(r"#include <(Python\.h|nanobind/)", path.read_text()), path


@pytest.mark.parametrize("folder", sorted(IMPORTS))
def test_sub_packages_import_only_what_lies_below(folder):
    wrong = []
    for path in (PACKAGE / folder).rglob("*.py"):
        ours = (name for name in imports(path) if name[0] == "hingeline")
        others = (name for name in ours if len(name) < 2 or name[1] not in IMPORTS[folder] | BELOW | {folder})
        wrong += [f"{path.relative_to(PACKAGE)}: {'.'.join(name)}" for name in others]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("library", OPTIONAL)
def test_an_optional_library_is_imported_in_one_place(library):
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if OPTIONAL[library] is None or not path.is_relative_to(PACKAGE / OPTIONAL[library]):
            wrong += [str(path.relative_to(PACKAGE)) for name in imports(path) if name[0] == library]
    assert not wrong, "\n".join(wrong)


#: Folders whose public functions have types.
TYPED = ("cli", "compare", "datasets", "onnx", "testing")


def find_public(node: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Yield the public functions of a module or class, and those of its public classes."""
    for one in node.body:
        if isinstance(one, ast.ClassDef) and not one.name.startswith("_"):
            yield from find_public(one)
        elif isinstance(one, ast.FunctionDef) and (one.name == "__init__" or not one.name.startswith("_")):
            yield one


@pytest.mark.parametrize("folder", TYPED)
def test_arguments_and_results_have_types(folder):
    wrong = []
    for path in (PACKAGE / folder).rglob("*.py"):
        for function in find_public(ast.parse(path.read_text())):
            arguments = function.args
            given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            types = [one.annotation for one in given if one.annotation is not None] + [function.returns]
            if "Any" in [ast.unparse(one) for one in types if one is not None]:
                wrong.append(f"{path.relative_to(PACKAGE)}: {function.name}")
    assert not wrong, "\n".join(wrong)


DOOR = PACKAGE / "_sklearn.py"


def used_names(path: Path) -> set[str]:
    """Return the private attributes, keywords and texts of a Python file, except those of its own."""
    tree = ast.parse(path.read_text())
    found = {getattr(node, "attr", getattr(node, "arg", getattr(node, "value", None))) for node in ast.walk(tree)}
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return {name for name in found - own if isinstance(name, str) and re.fullmatch(r"_[a-zA-Z]\w*", name)}


def is_inside(name: tuple[str, ...]) -> bool:
    """Whether a name of scikit-learn is private or experimental."""
    return name[0] == "sklearn" and any(re.match(r"_(?!_)|callback$|experimental$", part) for part in name[1:])


def test_private_names_of_scikit_learn_are_in_one_file():
    assert ("sklearn", "utils", "_safe_indexing") in imports(DOOR) and "_probA" in used_names(DOOR)
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if path != DOOR:
            names = [".".join(name) for name in imports(path) if is_inside(name)]
            names += sorted(used_names(path) & used_names(DOOR)) + sorted(used_names(path) & {"_is_owned"})
            wrong += [f"{path.relative_to(PACKAGE)}: {name}" for name in names]
    assert not wrong, "\n".join(wrong)


def test_the_table_of_hops_names_functions_that_exist():
    """Each function stands in the file named after it, and the numbers of functions and files are right."""
    page = (ROOT / "docs" / "develop" / "architecture.md").read_text()
    rows = re.findall(r"^\| (`[^|]+) \| ([^|]+) \| (\d+) in (\d+) \| ([^|]+) \|$", page, re.MULTILINE)
    places = (PACKAGE, HEADERS, ROOT / "cpp", ROOT / "cpp" / "bindings")
    called = set()
    for calls, between, functions, files, _ in rows:
        groups = re.findall(r"((?:`[^`]+`(?:, )?)+) \(([^)]+)\)", between)
        names = [name for group, _ in groups for name in re.findall(r"`([^`]+)`", group)]
        assert (len(names), len({file for _, file in groups})) == (int(functions), int(files)), calls
        for group, file in groups:
            (path,) = (folder / file for folder in places if (folder / file).is_file())
            for name in re.findall(r"`([^`]+)`", group):
                for word in filter(None, re.split(r"::|[.]", name)):
                    assert re.search(rf"\b{word}\b", path.read_text()), f"{name} is not in {file}"
        called |= set(re.findall(r"`(\w+)[.](?:fit|partial_fit|add)`", calls))
    assert {"SVC", "SVR", "OneClassSVM", "LinearSVC", "LASVC"} <= called
