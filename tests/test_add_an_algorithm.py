"""docs/develop/add_an_algorithm.md is true: in a copy of the tree it gives an estimator and a kernel that work."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "develop" / "add_an_algorithm.md").read_text()
#: Files to write, and what they start from.
WRITTEN = dict(re.findall(r"^\| `([\w/.]+foo\w*[.]\w+)` \|.*\| `([\w/.]+)` \|$", PAGE, re.MULTILINE))
#: Files to change for an estimator.
CHANGED = re.findall(r"^\d[.] `([\w/.]+)`:", PAGE, re.MULTILINE)
KERNELS = "cpp/include/hingeline/vector/kernels.hpp"
NEEDED = ("cpp", "docs", "src", "tests", "CMakeLists.txt", "README.md", "LICENSE", "pyproject.toml")

USE = """
import numpy as np, hingeline
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import euclidean_distances
X, y = load_iris(return_X_y=True)
model = hingeline.FooSVC(gamma=0.5).fit(X, y)
assert model.score(X, y) > 0.8 and len(model.support_) == 150
hingeline.save(model, "foo.model")
assert (hingeline.load("foo.model").predict(X) == model.predict(X)).all()
model = hingeline.SVC(kernel="cauchy", gamma=0.5, tol=1e-6).fit(X, y > 0)
values = 1 / (1 + 0.5 * euclidean_distances(X, model.support_vectors_, squared=True))
np.testing.assert_allclose(model.decision_function(X), values @ model.dual_coef_[0] + model.intercept_, atol=1e-10)
"""


def blocks(language):
    """Code of the page in a language, without indentation."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", code, flags=re.MULTILINE) for indent, code in found]


def insert(path, before, text):
    """Insert a text before the first place where another one stands."""
    content = path.read_text()
    assert before in content, f"{path}: there is no {before!r}"
    path.write_text(content.replace(before, text + before, 1))


def test_files_and_examples_exist():
    assert len(CHANGED) <= 6 and all((ROOT / name).is_file() for name in CHANGED)
    assert len(WRITTEN) == 9
    for path, start in WRITTEN.items():
        start = ROOT / ("docs/develop" if start.startswith("skeleton") else "") / start
        assert start.is_file() and not (ROOT / path).exists() and (ROOT / path).parent.is_dir()
    assert {path.name for path in (ROOT / "docs/develop/skeleton").iterdir() if path.is_file()} == {
        Path(start).name for start in WRITTEN.values() if start.startswith("skeleton")
    }
    stem = re.search(r"git ls-files \| grep (\w+)", PAGE)[1]
    for path in WRITTEN:
        if "bindings" not in path:  # the page says which one it shares
            assert any(ROOT.glob(path.replace("foo", stem).replace("/batch/", "/*/"))), path
    for name in re.findall(r"`((?:base|batch|model|kernel|data|run|vector|online)/\w+[.][a-z]+)`", PAGE):
        places = (ROOT / "src/hingeline", ROOT / "cpp/include/hingeline")
        assert any((place / name).is_file() for place in places), name


@pytest.mark.slow
def test_the_page_makes_an_estimator_and_a_kernel(tmp_path):
    for name in NEEDED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    for path, start in WRITTEN.items():
        if "cpp/tests" not in path:
            folder = "docs/develop" if start.startswith("skeleton") else ""
            (tmp_path / path).write_text((ROOT / folder / start).read_text())
    row, public, model, kernel = blocks("python")
    line, kernel_map = blocks("cpp")
    registry = tmp_path / "src/hingeline/_registry.py"
    insert(registry, '        Estimator(\n            "LASVC"', f"{row.rstrip()},\n")
    insert(registry, '        Kernel("precomputed"', f"{kernel.rstrip()},\n")
    insert(registry, '"precomputed"]', '"cauchy", ')
    insert(registry, '"chi2", "cosine"', '"cauchy", ')
    runpy.run_path(str(registry))  # the tables are sound: the build takes minutes
    insert(tmp_path / "src/hingeline/__init__.py", "    from .batch.svc import", "    " + public)
    with open(tmp_path / "tests/estimators.py", "a") as estimators:
        estimators.write(model)
    insert(tmp_path / KERNELS, "    X(sigmoid, Sigmoid)", line.rstrip() + " \\\n")
    insert(tmp_path / KERNELS, "/// Call f with the map of a kernel.", kernel_map)
    content = (tmp_path / KERNELS).read_text()
    rbf = "return kernel.kind == KernelKind::rbf"
    (tmp_path / KERNELS).write_text(content.replace(rbf, f"{rbf} || kernel.kind == KernelKind::cauchy"))

    site = tmp_path / "site"
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{tmp_path}"}
    environment.pop("MAKEFLAGS", None)

    def call(*words):
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    build = ("--no-build-isolation", "--no-deps", "--target", str(site), f"-Cbuild-dir={tmp_path / 'build'}")
    call("-m", "pip", "install", "--quiet", *build, ".")
    call("-c", USE)
    call("-m", "tests.golden.make", "FooSVC")
    shown = "import hingeline._registry as r; x = r.ESTIMATORS['FooSVC']; "
    shown += "print(f'| {x.task} | [`{x.name}`]({x.guide}.md) | {x.gives} |')"
    line = subprocess.check_output([sys.executable, "-c", shown], cwd=tmp_path, env=environment, text=True)
    insert(tmp_path / "docs/guide/which.md", "| stream, or noisy labels, kernel |", line)
    tests = ("test_foo.py", "test_registry.py", "test_architecture.py", "test_golden.py", "test_onnx.py")
    call("-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/{name}" for name in tests))
