"""The documentation has every page, name and example, and its checks find what they look for; it is not built here."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from tools import check_docs

from hingeline._registry import ESTIMATORS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "site" / "reference.py")
    sys.modules["reference"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["reference"]


def test_every_guide_and_its_mathematics_are_in_the_site(reference):
    assert {row.guide for row in ESTIMATORS.values()} == reference.MATH.keys()
    pages = {page for guides in reference.MATH.values() for page in guides}
    assert pages == {path.stem for path in (DOCS / "math").glob("*.md")} == reference.HOME.keys()
    listed = set(re.findall(r"^(\w+)$", (DOCS / "guide" / "index.md").read_text(), re.MULTILINE))
    assert {path.stem for path in (DOCS / "guide").glob("*.md")} - {"index"} <= listed


def test_the_reference_has_every_public_name(reference):
    for library in ("dask", "distributed", "onnx", "river", "skactiveml"):
        pytest.importorskip(library)
    pages = dict(reference.pages())
    modules = re.search(r"`__all__` of (.*?);", (DOCS / "develop" / "api_stability.md").read_text(), re.DOTALL)[1]
    assert {name.removeprefix("hingeline.") for name in re.findall(r"`([\w.]+)`", modules)} == reference.MODULES.keys()
    for module, names in reference.public_names().items():
        for name in names:
            page = (
                pages[name]
                if name in ESTIMATORS
                else pages[module.removeprefix("hingeline.")]
                if "." in module
                else pages["functions"]
            )
            assert re.search(rf"(:: {name}$|``{name}``)", page, re.MULTILINE), name
            assert name in ESTIMATORS or module in page


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_short(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") < 80 and text.count("plt.show()") == 1 and re.match(r'"""\n[^\n]+\n=+\n\n', text)


def test_eight_examples_have_an_order():
    names = (ROOT / "examples" / "gallery" / "order.txt").read_text().split()
    assert sorted(names) == [path.name for path in EXAMPLES] and len(names) == 8


def test_dead_links_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(check_docs, "SITE", tmp_path)
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="b.html#y">b</a> <img src="c.png?v=1"> <a href="https://e.org">e</a>'
    )
    (tmp_path / "b.html").write_text('<a href="a.html#x">a</a><script src="https://e.org/e.js"></script>')
    assert sorted(check_docs.dead_links()) == [
        "a.html: b.html#y has no such place",
        "a.html: c.png?v=1 does not exist",
        "b.html: loads https://e.org/e.js",
    ]
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html">b</a>')
    (tmp_path / "b.html").write_text("")
    assert list(check_docs.dead_links()) == []


def test_words_of_prose():
    text = (
        "The word's `kode` and $f_x$, [a link](lnik.md), https://adress.org, name_of and `x`\n\n```\nkode\n```\n\nRows."
    )
    assert list(check_docs.prose_words(text, python=False)) == ["the", "word", "and", "link", "and", "rows"]
    text = '"""\nTitle\n"""\n\n# %%\n# One coment.\nx = 1  # nothing\n'
    assert list(check_docs.prose_words(text, python=True)) == ["title", "one", "coment"]


def test_british_words_are_in_the_dictionary():
    words = ("behaviour", "minimises", "optimisations", "vector", "our", "size")
    assert [check_docs.american(word) for word in words] == [
        "behavior", "minimizes", "optimizations", "vector", "or", "size"
    ]  # fmt: skip
