"""One HTML page with all pages and figures of benchmarks/results; it needs no other file and no network.

``make report`` or ``python -m benchmarks.report`` writes out/report.html. Papers come first, then benchmarks.
"""

from __future__ import annotations

import argparse
import base64
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchmarks.papers.frame import PAPERS
from benchmarks.writing import write_whole

HERE = Path(__file__).parent
#: Name of the main page of a folder.
MAIN = "report.md"
#: Headings of the tables of claims: first column, column of the verdicts; and the verdicts.
CLAIM, HOLDS = "claim", "holds here"
VERDICTS = ("yes", "tie", "no")


@dataclass(frozen=True)
class Page:
    """One Markdown file as HTML. `verdicts` counts the claims that hold, that do not, and the ties."""

    path: Path
    key: str
    title: str
    html: str
    verdicts: Counter[str]


def sources(results: Path) -> tuple[list[Path], list[Path]]:
    """Markdown files of the papers, in the order of PAPERS, and of the benchmarks."""
    papers = [path for key in PAPERS for path in _folder(results / key)]
    others = sorted(results.glob("*.md"))
    for folder in sorted(path for path in results.iterdir() if path.is_dir() and path.name not in PAPERS):
        others += _folder(folder)
    return papers, others


def _folder(folder: Path) -> list[Path]:
    """The main page first."""
    return sorted(folder.glob("*.md"), key=lambda path: (path.name != MAIN, path.name))


def key_of(path: Path, results: Path) -> str:
    """Anchor of a page."""
    return "-".join(path.relative_to(results).with_suffix("").parts).replace(".", "-")


def render(path: Path, results: Path, keys: dict[Path, str]) -> Page:
    """Convert a page; its figures are put into it. FileNotFoundError: it shows a figure that does not exist."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("table_open", _open_table)
    parser.add_render_rule("table_close", lambda *_: "</table>\n</div>\n")
    tokens = parser.parse(path.read_text(encoding="utf-8"))
    key, title = keys[path.resolve()], path.stem
    for place, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        if token.type == "heading_open" and token.tag == "h2" and title == path.stem:
            title = _text(tokens[place + 1])
        for child in token.children or ():
            _embed(child, path, keys)
    return Page(path, key, title, parser.renderer.render(tokens, parser.options, {}), _verdicts(tokens))


def _open_table(*_: Any) -> str:
    """Wide tables scroll inside their frame, also by keyboard."""
    return '<div class="scroll" tabindex="0" role="region" aria-label="table">\n<table>\n'


def _text(token: Token) -> str:
    return "".join(child.content for child in token.children or ())


def _embed(token: Token, path: Path, keys: dict[Path, str]) -> None:
    """Put an image into the page; turn a link to another page into a link to its anchor."""
    if token.type == "image":
        picture = (path.parent / str(token.attrs["src"])).read_bytes()
        token.attrs["src"] = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    elif token.type == "link_open" and "://" not in str(token.attrs["href"]):
        target = (path.parent / str(token.attrs["href"]).partition("#")[0]).resolve()
        if target in keys:
            token.attrs["href"] = f"#{keys[target]}"
        else:  # a file of the repository: its name stays, as a tooltip
            token.attrs = {"class": "file", "title": str(token.attrs["href"])}


def _verdicts(tokens: list[Token]) -> Counter[str]:
    """Verdicts in the tables of claims: in the column HOLDS, or in one column for each data set."""
    found: Counter[str] = Counter()
    cells: list[str] = []
    columns: slice | None = None
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            cells, columns = [], None
        elif token.type in ("th_open", "td_open"):
            cells.append(_text(tokens[place + 1]))
        elif token.type == "thead_close":
            at = cells.index(HOLDS) if HOLDS in cells else -1
            columns = slice(at, at + 1) if at > 0 else slice(1, None) if cells[0] == CLAIM else None
            cells = []
        elif token.type == "tr_close" and columns is not None:
            found.update(cell for cell in cells[columns] if cell in VERDICTS)
            cells = []
    return found


def page(results: Path) -> str:
    """Return the whole document."""
    groups = dict(zip(("Papers", "Benchmarks"), sources(results), strict=True))
    keys = {path.resolve(): key_of(path, results) for paths in groups.values() for path in paths}
    pages = {name: [render(path, results, keys) for path in paths] for name, paths in groups.items()}
    style = (HERE / "report.css").read_text(encoding="utf-8")
    body = "\n".join(
        f'<article id="{one.key}">\n{one.html}<p class="up"><a href="#top">Contents</a></p>\n</article>'
        for group in pages.values()
        for one in group
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>hingeline: results</title>\n'
        f'<style>\n{style}</style>\n</head>\n<body id="top">\n{_contents(pages)}<main>\n{_overview(pages)}{body}\n'
        "</main>\n</body>\n</html>\n"
    )


def _contents(pages: dict[str, list[Page]]) -> str:
    parts = ['<nav aria-label="Contents">\n<details open>\n<summary>Contents</summary>\n']
    for name, group in pages.items():
        items = "".join(f'<li><a href="#{one.key}">{escape(_label(one, group))}</a></li>\n' for one in group)
        parts.append(f"<h2>{name}</h2>\n<ul>\n{items}</ul>\n")
    return "".join(parts) + "</details>\n</nav>\n"


def _label(one: Page, group: list[Page]) -> str:
    """Title of a page, with the name of its file if another page has the same title."""
    same = sum(other.title == one.title for other in group)
    return f"{one.title} ({one.path.stem})" if same > 1 else one.title


def _overview(pages: dict[str, list[Page]]) -> str:
    """What the page is, and how many claims of each paper hold."""
    rows = "".join(_overview_rows(pages))
    header = "<tr><th>paper</th><th>claims judged</th><th>hold here</th><th>tie</th><th>do not hold</th></tr>\n"
    return (
        "<header>\n<h1>hingeline: results</h1>\n<p>Our runs of published experiments, and benchmarks. Each part says "
        "what was run, on which machine and with which versions.</p>\n"
        f"{_open_table()}<thead>\n{header}</thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n</header>\n"
    )


def _overview_rows(pages: dict[str, list[Page]]) -> Iterator[str]:
    for one in pages["Papers"]:
        if one.verdicts:
            counts = [one.verdicts.total(), *(one.verdicts[word] for word in VERDICTS)]
            cells = "".join(f"<td>{count}</td>" for count in counts)
            yield f'<tr><td><a href="#{one.key}">{escape(one.title)}</a></td>{cells}</tr>\n'


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=HERE / "results", help="default: benchmarks/results")
    parser.add_argument("--output", type=Path, default=Path("out/report.html"), help="default: out/report.html")
    args = parser.parse_args()
    write_whole(args.output, page(args.results))
    print(f"Written: {args.output}, {args.output.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
