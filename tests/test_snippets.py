"""Python code in README.md and in the guides runs, page by page, in one namespace; so do commands of `hingeline`.

A page may use X, y, X_new and `stream`, an iterable of chunks, without saying where they come from. Blocks with prompts
are doctests: their output is compared. In blocks of the kind `console` lines with the prompt `$` are commands.
"""

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import warnings
from pathlib import Path

import joblib
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from hingeline.cli.main import main
from hingeline.cuda import is_usable

from .watching import NO_CALLBACKS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


def blocks(page):
    """Line number and text of fenced blocks of Python code and of commands."""
    text = page.read_text()
    for block in re.finditer(r"^```(?:python|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, block.start()) + 1, block.group(1)


def missing(code):
    """What a block needs and this machine does not have."""
    if "dask" in code and importlib.util.find_spec("distributed") is None:
        return "needs dask"
    if 'device="cuda"' in code and not is_usable():
        return "needs a CUDA device"
    for library in ("onnx", "onnxruntime", "skl2onnx", "skops", "skactiveml", "river"):
        if library in code and importlib.util.find_spec(library) is None:
            return f"needs {library}"
    if "sklearn.callback" in code and importlib.util.find_spec("sklearn.callback") is None:
        return NO_CALLBACKS
    if "sklearn.callback" in code and importlib.util.find_spec("rich") is None:
        return "needs rich"
    if "datasets.load(" in code and not Path(os.environ.get("HINGELINE_DATA", "")).joinpath("adult.npz").exists():
        return "needs the data of the benchmarks; set HINGELINE_DATA"
    return None


def small_problem():
    X, y = make_moons(300, noise=0.2, random_state=0)
    return {"X": X[:200], "y": y[:200], "X_new": X[200:], "stream": [(X[:100], y[:100]), (X[100:], y[100:])]}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = small_problem()
    for line, code in blocks(page):
        if reason := missing(code):
            pytest.skip(f"{page.name}, line {line}: {reason}")
        with warnings.catch_warnings(), joblib.parallel_config("threading"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            if code.lstrip().startswith(">>>"):
                check_doctest(code, namespace, page, line)
            elif code.startswith("$ "):
                check_commands(code, page, line)
            else:  # empty lines before it: errors have the line numbers of the page
                exec(compile("\n" * line + code, str(page), "exec"), namespace)


def check_doctest(code, namespace, page, line):
    report = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(code, namespace, page.name, str(page), line)
    doctest.DocTestRunner(optionflags=flags).run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)
    namespace.update(test.globs)


def check_commands(code, page, line):
    """Run the commands of a block and compare what they print, where the page shows it."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for command in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        words, _, expected = command.replace("\\\n", " ").partition("\n")
        program, *argv = shlex.split(words, comments=True)
        assert program == "hingeline", f"{page.name}, line {line}: {program}"
        if argv[0] == "label":  # serves a page until it is ended
            continue
        output = io.TextIOWrapper(io.BytesIO(), write_through=True)
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            main(argv)
        printed = output.buffer.getvalue().decode()
        same = not expected or doctest.OutputChecker().check_output(expected, printed, flags)
        assert same, f"{page.name}, line {line}: {words}\n{printed}"


def test_pages_have_snippets():
    assert sum(1 for page in PAGES for _ in blocks(page)) > 20
