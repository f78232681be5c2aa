"""Versions, addresses, dependencies and commands agree wherever they are written down."""

import re
import shutil
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest
from tools import metadata as copies

import hingeline

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGE = Path(hingeline.__file__).parent
#: Lower bounds by dependency.
BOUNDS = dict(line.split(">=") for line in PROJECT["dependencies"])
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_that_of_pyproject():
    assert hingeline.__version__ == PROJECT["version"], "install the package again"
    assert metadata("hingeline")["License-Expression"] == PROJECT["license"]


def test_copies_are_current():
    assert not copies.outdated(), "run `make metadata`"
    assert f"version: {PROJECT['version']}\n" in read("CITATION.cff")
    assert f'version: "{PROJECT["version"]}"\n' in read("recipe/recipe.yaml")
    latest = re.search(r"^## (.*)$", read("CHANGELOG.md"), re.MULTILINE).group(1)
    assert latest.startswith("Unreleased" if "dev" in PROJECT["version"] else PROJECT["version"])


def test_the_address_of_the_repository_is_in_one_place():
    address = PROJECT.get("urls", {}).get("Repository", "")
    for name in ("CITATION.cff", "recipe/recipe.yaml"):
        told = re.findall(r"^ *repository(?:-code)?: (.*)$", read(name), re.MULTILINE)
        assert told == ([address] if address else []), name


# ---- publishing -----------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    """Copy of the files that a release changes, ready to publish 1.2.3."""
    for name in ("pyproject.toml", "CHANGELOG.md", *copies.COPIES):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    edit(tmp_path / "pyproject.toml", r'^version = ".*?"', 'version = "1.2.3"')
    edit(
        tmp_path / "pyproject.toml",
        r"^\[project\.urls\]\n(Repository.*\n)?",
        '[project.urls]\nRepository = "https://x"\n',
    )
    edit(tmp_path / "CHANGELOG.md", r"^## .*$", "## 1.2.3 (2030-04-05)")
    for path, text in copies.outdated(tmp_path).items():
        path.write_text(text, encoding="utf-8")
    return tmp_path


def edit(path, pattern, text):
    before = path.read_text(encoding="utf-8")
    after, count = re.subn(pattern, text, before, count=1, flags=re.MULTILINE)
    assert count, pattern
    path.write_text(after, encoding="utf-8")


def test_copies_have_version_date_and_address(tree):
    citation, recipe = (tree / name for name in copies.COPIES)
    assert re.findall(r"^(?:version|date-released|repository-code): (.*)$", citation.read_text(), re.MULTILINE) == [
        "1.2.3",
        "2030-04-05",
        "https://x",
    ]
    assert '  version: "1.2.3"\n' in recipe.read_text() and "about:\n  repository: https://x\n" in recipe.read_text()
    assert not copies.outdated(tree)
    edit(tree / "pyproject.toml", r'^version = ".*?"', 'version = "1.2.4.dev0"')  # no date, and twice is as once
    for _ in range(2):
        for path, text in copies.outdated(tree).items():
            path.write_text(text, encoding="utf-8")
    assert "date-released" not in citation.read_text() and citation.read_text().count("repository-code") == 1


def test_a_release_that_is_ready(tree):
    assert copies.obstacles("v1.2.3", tree) == []


@pytest.mark.parametrize(
    ("name", "pattern", "text", "words"),
    [
        ("pyproject.toml", r'^version = ".*?"', 'version = "1.2.3.dev0"', "must be that of a release"),
        ("pyproject.toml", r'^version = ".*?"', 'version = "1.2.4"', "the tag must be v1.2.4"),
        ("pyproject.toml", "^Repository.*$", "", "has no Repository"),
        ("CHANGELOG.md", r"^## 1.2.3.*$", "## Unreleased", "has no heading"),
        ("CITATION.cff", "^version:.*$", "version: 1.2.2", "CITATION.cff differs"),
        ("recipe/recipe.yaml", "^  version:.*$", '  version: "1.2.2"', "recipe.yaml differs"),
    ],
)
def test_what_stands_against_a_release(tree, name, pattern, text, words):
    edit(tree / name, pattern, text)
    assert any(words in line for line in copies.obstacles("v1.2.3", tree))


def test_another_tag_is_refused(tree):
    assert copies.obstacles("1.2.3", tree) == ["the tag must be v1.2.3, after pyproject.toml; it is 1.2.3"]


# ---- dependencies and platforms -------------------------------------------------------------------------


def pythons():
    return [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]


def test_dependencies_are_the_same_everywhere():
    oldest, *_, newest = pythons()
    assert PROJECT["requires-python"] == f">={oldest}"
    page = read("docs/develop/support.md")
    assert f"| Python (CPython, with the GIL) | {oldest} | {newest} |" in page
    recipe = read("recipe/recipe.yaml")
    assert f'skip: match(python, "<{oldest}")' in recipe
    for name, bound in BOUNDS.items():
        assert f"| {name} | {bound} | newest" in page
        assert f"    - {name} >={bound}\n" in recipe
    build = tomllib.loads(read("pyproject.toml"))["build-system"]["requires"]
    for line in build:
        assert f"    - {line.replace('>=', ' >=')}\n" in recipe


def test_workflows_test_every_python():
    tested = set(re.findall(r'python(?:-version)?: "(3\.\d+)"', read(".github/workflows/tests.yml")))
    assert tested == set(pythons())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_exists(path):
    text, makefile = path.read_text(encoding="utf-8"), read("Makefile")
    for target in re.findall(r"run: make (?:[A-Z]+=\S+ )?([\w-]+)$", text, re.MULTILINE):
        assert re.search(rf"^(?!\.PHONY)[\w .-]*\b{target}\b[\w .-]*:", makefile, re.MULTILINE), target
    for script in re.findall(r"python ([\w/]+\.py)", text):
        assert (ROOT / script).is_file(), script
    assert "permissions:\n  contents: read\n" in text
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_only_publishing_gets_a_token():
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    assert "secrets." not in text
    assert text.count("id-token: write") == 1 and "environment: pypi\n    permissions:\n      id-token: write" in text


def test_the_bug_form_asks_for_versions():
    assert "hingeline.show_versions()" in read(".github/ISSUE_TEMPLATE/bug.yml")
    template = read(".github/pull_request_template.md")
    for link in re.findall(r"\]\(([^)]+)\)", template):
        assert (ROOT / ".github" / link).resolve().is_file(), link


def test_public_modules_are_listed():
    page = read("docs/develop/api_stability.md")
    listed = re.search(r"those in `__all__` of (.*?);", page, re.DOTALL).group(1)
    for name in re.findall(r"`([\w.]+)`", listed):
        path = PACKAGE / name.removeprefix("hingeline.").replace(".", "/")
        path = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
        assert "\n__all__ = " in path.read_text(encoding="utf-8"), name
    assert all(f"`{name}`" in listed.replace("hingeline.", "") for name in hingeline.__all__ if is_module(name))


def is_module(name):
    return (PACKAGE / f"{name}.py").is_file() or (PACKAGE / name).is_dir()
