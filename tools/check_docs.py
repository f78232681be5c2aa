"""Find dead links, undocumented public names, failing doctests and misspelt words. Run by ``make check-docs``.

    python tools/check_docs.py [links] [names] [doctests] [spelling]     # all of them without arguments

Links are those of the built site, inside of it: pages, files and places in pages. Addresses of other sites are not
opened: the check needs no network. ``docs/site/words.txt`` has words that the dictionary lacks.
"""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "docs" / "html"
WORDS = ROOT / "docs" / "site" / "words.txt"
#: Pages whose words are checked: what users read. Results and decisions have too many names of variables.
PROSE = ("README.md", "docs/*.md", "docs/guide/*.md", "examples/gallery/*.py", "CONTRIBUTING.md", "CHANGELOG.md")


class Page(HTMLParser):
    """Targets of links and places that links may lead to, in a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.places |= {value for name in ("id", "name") if (value := found.get(name))}
        self.targets |= {value for name in ("href", "src") if (value := found.get(name))}


def dead_links() -> Iterator[str]:
    """Links inside the site that lead nowhere, and files that the site loads from elsewhere."""
    pages = {path: Page(path) for path in SITE.rglob("*.html") if "_static" not in path.parts}
    if not pages:
        yield f"{SITE} is empty: run make docs"
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:|//", target):
                continue
            name, place = urldefrag(re.sub(r"\?[^#]*", "", unquote(target)))
            aim = (path.parent / name).resolve() if name else path
            if not aim.is_file():
                yield f"{path.relative_to(SITE)}: {target} does not exist"
            elif place and aim in pages and place not in pages[aim].places:
                yield f"{path.relative_to(SITE)}: {target} has no such place"
        for source in re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="(https?:[^"]+)"', path.read_text("utf-8")):
            if 'rel="canonical"' not in source:
                yield f"{path.relative_to(SITE)}: loads {source}"


def undocumented_names() -> Iterator[str]:
    """Public names without docstring or place in the reference, and parameters that a docstring does not explain."""
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    reference = importlib.import_module("reference")
    known = (SITE / "genindex.html").read_text(encoding="utf-8")
    for module, names in reference.public_names().items():
        for name in names:
            found = getattr(importlib.import_module(module), name)
            if getattr(found, "__module__", "").startswith("sklearn"):
                continue
            if (
                f"{module}.{name}" not in known
                and f"{module}.{name}".replace("hingeline.svm.", "hingeline.") not in known
            ):
                yield f"{module}.{name} is not in the reference"
            yield from (f"{module}.{name}: {lack}" for lack in _lacks(found, reference))


def _lacks(found: object, reference: object) -> Iterator[str]:
    """What a docstring lacks; data and types need none of their own."""
    if not callable(found):
        return
    parts = [("", found)]
    if inspect.isclass(found):
        parts += [(f"{name}: ", getattr(found, name)) for name in reference.members(found)[0]]
        parts = [(name, part) for name, part in parts if not isinstance(part, property)]
    for name, part in parts:
        text = inspect.getdoc(part) or ""
        if not text:
            yield f"{name}no docstring"
        elif callable(part) and "Parameters\n---" in text:
            wanted = {p for p in inspect.signature(part).parameters if p != "self" and not p.startswith("_")}
            documented = set(re.findall(r"\b\w+\b", " ".join(re.findall(r"^\*{0,2}(\w[\w, *]*)(?: :|$)", text, re.M))))
            yield from (f"{name}parameter {one} is not explained" for one in sorted(wanted - documented - {"kwargs"}))


def doctest_failures() -> Iterator[str]:
    """Doctests of the package, and code in README and guides."""
    tests = ["-q", "-x", "--no-header", "--pyargs", "hingeline", "tests/test_snippets.py"]
    done = subprocess.run([sys.executable, "-m", "pytest", *tests], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        yield done.stdout[-3000:]


def misspelt_words() -> Iterator[str]:
    """Known misspellings everywhere, and unknown words in prose."""
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "--skip=*.json,*.jsonl,*.csv,words.txt,*/gallery/*,*/reference/*",
         "--ignore-words-list=strack,coo,fo", "README.md", "CHANGELOG.md",
         "CONTRIBUTING.md", "docs", "src", "examples", "benchmarks/README.md", "cpp/README.md"],
        cwd=ROOT, capture_output=True, text=True)  # fmt: skip
    yield from done.stdout.splitlines()
    from spellchecker import SpellChecker

    counts: Counter[str] = Counter()
    for path in sorted(path for pattern in PROSE for path in ROOT.glob(pattern)):
        counts.update(prose_words(path.read_text(encoding="utf-8"), python=path.suffix == ".py"))
    in_order = set(WORDS.read_text(encoding="utf-8").split())
    dictionary = SpellChecker()  # of American spelling
    unknown = {word for word in dictionary.unknown(counts) - in_order if not dictionary.known([american(word)])}
    yield from (f"unknown word: {word} ({counts[word]} times)" for word in sorted(unknown))


def american(word: str) -> str:
    """The American spelling of a word in British spelling."""
    word = re.sub(r"is(e[drs]?|ers|ing|ations?)$", r"iz\1", word)
    return re.sub(r"our(?=s?$|ed|ing|ite|able|hood|ly)", "or", word)


def prose_words(text: str, *, python: bool) -> Iterator[str]:
    """Words of a page without code, formulas, links and names; of an example, those of its comments."""
    if python:
        text = "\n".join([text.split('"""')[1], *re.findall(r"^# (?!%%)(.*)", text, re.M)])
    for noise in (
        r"^```.*?^```",
        r"``.*?``",
        r"`[^`]*`",
        r"\$\$.*?\$\$",
        r"\$[^$]*\$",
        r"\]\([^)]*\)",
        r"https?://\S+",
        r"^:.*$",
    ):
        text = re.sub(noise, " ", text, flags=re.DOTALL | re.MULTILINE if noise.startswith(("^```", r"\$\$")) else re.M)
    for word in re.findall(r"(?<![\w./@-])[A-Za-z][a-zà-ÿ']+(?![\w/@(])", text):
        word = re.sub(r"'s?$", "", word)
        if len(word) > 2:
            yield word.lower()


CHECKS = {"links": dead_links, "names": undocumented_names, "doctests": doctest_failures, "spelling": misspelt_words}


def main(names: list[str]) -> int:
    """Print what each check finds; the exit status says whether anything was found."""
    total = 0
    for name in names or CHECKS:
        found = list(CHECKS[name]())
        print(*found, f"{name}: {len(found)} found", sep="\n")
        total += len(found)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
