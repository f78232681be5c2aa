"""Every optional library that is missing is named, with the extra that installs it; so is what a bug report needs."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import hingeline
from hingeline import _core
from hingeline._extras import DISTRIBUTIONS, EXTRAS, optional

ROOT = Path(__file__).parents[1]
PACKAGE = Path(hingeline.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Libraries that scikit-learn or the standard library brings.
PRESENT = {"joblib", "numpy", "scipy", "sklearn", "threadpoolctl", *sys.stdlib_module_names}

# What provokes the error, by the library that is missing.
USES = {
    "PIL": [
        "from pathlib import Path; from hingeline.labelling.thumbnails import thumbnails; "
        "from hingeline.labelling.pools import ImagePool; thumbnails(ImagePool(Path(), []))"
    ],
    "cupy": ["from hingeline import SVC; SVC(device='cuda').fit([[0.0], [1.0]], [0, 1])"],
    "dask": ["import hingeline.linear.dask.partitions", "import hingeline.linear.dask.reader"],
    "matplotlib": [
        "from hingeline.compare import rank_methods; rank_methods([[1, 2], [3, 4]]).plot()",
        "from hingeline.compare.diagram import file_formats; file_formats()",
    ],
    "onnx": ["import hingeline.onnx"],
    "pyarrow": [
        "from pathlib import Path; from hingeline.labelling.pools import _read_parquet; _read_parquet(Path('x'))",
        "from hingeline.cli.data.arrays import pyarrow; pyarrow('pyarrow.parquet')",
    ],
    "rich": ["from hingeline.base.progress import progress\nwith progress(True, 1, 'x'): pass"],
    "river": ["import hingeline.streams.river"],
    "skactiveml": ["import hingeline.active.scikit_activeml"],
    "skl2onnx": ["import hingeline.onnx; hingeline.onnx.register()"],
}


def run(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)


def test_every_optional_library_is_known():
    """Found by the import statements of the package, not by the table."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition(".")[0])
    assert found - PRESENT - {"hingeline", "fcntl", "pytest", "cupyx"} == EXTRAS.keys() == USES.keys()  # CuPy has both


def test_extras_install_the_libraries():
    extras = PROJECT["optional-dependencies"]
    for library, extra in EXTRAS.items():
        names = {re.match(r"[\w-]+", line).group().lower() for line in extras[extra]}
        assert DISTRIBUTIONS.get(library, library).lower() in names, library
    assert extras.keys() == set(EXTRAS.values())


@pytest.fixture(scope="module")
def errors():
    """Errors by the code that raises them, in one new process, which has not imported these libraries."""
    code = f"""
import json, sys
errors = {{}}
for library, codes in {USES!r}.items():
    for code in codes:
        hidden = {{name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] == library}}
        sys.modules[library] = None
        try:
            exec(code)
        except Exception as error:
            errors[code] = f"{{type(error).__name__}}: {{error}}"
        del sys.modules[library]
        sys.modules.update(hidden)
print(json.dumps(errors))
"""
    done = run(code)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("library", "code"), [(name, code) for name, codes in USES.items() for code in codes])
def test_a_missing_library_names_its_extra(errors, library, code):
    if library == "skl2onnx" and importlib.util.find_spec("onnx") is None:
        pytest.skip("onnx is not installed")
    name = DISTRIBUTIONS.get(library, library)
    message = rf'ImportError: .+ needs {name}, which is not installed: pip install "hingeline\[{EXTRAS[library]}\]"'
    assert re.fullmatch(message, errors[code])


def test_other_missing_modules_are_not_renamed():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_module'$"), optional("A test"):
        import no_such_module  # noqa: F401


def test_progress_without_rich_is_silent_unless_asked_for():
    code = "import sys; sys.modules['rich'] = None\nfrom hingeline.base.progress import progress\n"
    done = run(code + "with progress(None, 1, 'x') as tell: tell(1)")
    assert (done.returncode, done.stderr) == (0, "")


# ---- show_versions --------------------------------------------------------------------------------------


def test_show_versions(capsys, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    hingeline.show_versions()
    text = capsys.readouterr().out
    facts = dict(re.findall(r"^ *([^\n:]+): (.*)$", text, re.MULTILINE))
    assert facts["hingeline"] == hingeline.__version__ and facts["OMP_NUM_THREADS"] == "3"
    required = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    names = {re.match(r"[\w-]+", line).group() for line in required}
    assert names <= facts.keys()
    for module, name in {"numpy": "numpy", "sklearn": "scikit-learn", "scipy": "scipy"}.items():
        assert facts[name] == sys.modules[module].__version__
    assert facts["instruction set"] in {"baseline", "avx2", "avx512"} and "internal_api" in facts
    for private in (str(Path.home()), os.uname().nodename if hasattr(os, "uname") else "", str(PACKAGE)):
        assert not private or private not in text


def test_show_versions_tells_the_instruction_set_that_is_used():
    code = "import hingeline; hingeline.show_versions()"
    done = run(code, env={**os.environ, "HINGELINE_ISA": "baseline"})
    assert "instruction set: baseline\n" in done.stdout and "HINGELINE_ISA: baseline\n" in done.stdout


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists() or "HINGELINE_ISA" in os.environ, reason="nothing to compare")
def test_the_widest_instruction_set_of_the_processor_is_used():
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    known = set(flags.group(1).split()) if flags else set()  # another family of processors: the baseline
    if known >= {"avx2", "fma", "popcnt", "avx512f", "avx512dq", "avx512bw", "avx512vl"}:
        assert _core.isa() == "avx512"
    else:
        assert _core.isa() == ("avx2" if known >= {"avx2", "fma", "popcnt"} else "baseline")
