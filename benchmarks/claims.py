"""Compare the numbers in README.md and the pages of docs with the result files that they come from.

    python -m benchmarks.claims            # exit status 1, and a line for each number that differs

claims.txt ties the numbers of a section, from its heading to the next one, to their sources:

    [docs/guide/lasvm.md # Streams]
    @ lasvm-2026-11-15 # lasvm-adult
    LASVC, 'nc' | fit, s -> 1.37 | support vectors -> 4,864
    SVC, tol = 1e-06 | KKT violation -> 6e-7 to 2.5e-4 | errors -> < 30
    "took 7.6 s (three seeds" -> 7.6
    from python -m benchmarks.svc

- ``@ FILE # SECTION``: file in benchmarks/results, and a section by the name in backticks below its heading or by the
  beginning of its heading; ``*`` matches several.
- ``ROW | COLUMN -> VALUE``: the cell rounds to the value, and if there are several, all do. A row may be given by its
  beginning; the second column of a name is ``NAME (2)``. ``A to B``: the smallest and the largest cell. ``< A``: all
  cells are less.
- ``"WORDS" -> VALUE``: these words are in the file, and their first number rounds to the value; ``"WORDS"``: they are.
- ``= ITEM <- ROW | COLUMN; ROW | COLUMN``: the verdict on an item of a paper, computed from cells that say yes, tie or
  no: "agrees" if all say yes, else "differs". The last cell of the line with this item must begin with it (after
  "corrected ...:"). A column ``*`` is all columns.
- ``from SOURCE``: numbers of no result file, and the file or module that makes them.

Every value must be in the section. In STRICT pages every measured number must be tied: cells of tables (except the
first column) and numbers with a unit. Elsewhere a section with such numbers that links to a result file must be tied.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
TIES = ROOT / "benchmarks" / "claims.txt"
#: Pages in which all measured numbers are tied, and the heading at which this ends.
STRICT = {"README.md": "Which estimator when", "benchmarks/README.md": "How to run them"}

_HEADING = re.compile(r"^#+ (.*)\n", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.,])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w]|,\d)")
_UNIT = re.compile(r"\*{0,2}(?: ?%| (?:s|ms|times|rows/s|per second|a second|support vectors)\b)")
_LINK = re.compile(r"results/[\w./-]+\.md")


def pages() -> list[Path]:
    """Pages whose numbers are compared."""
    named = ("README.md", "benchmarks/README.md", "docs/papers.md")
    return [*(ROOT / name for name in named), *sorted((ROOT / "docs").glob("[gm]*/*.md"))]


class Mistake(ValueError):
    """A number that differs from its source, or has none."""


# ---- result files --------------------------------------------------------------------------------------


@dataclass
class Section:
    """Heading, name in backticks, and cells (row, column, text) of all tables of one section."""

    heading: str
    name: str = ""
    cells: list[tuple[str, str, str]] = field(default_factory=list)


def sections(text: str) -> list[Section]:
    """Sections of a Markdown page; the text before the first heading is one too."""
    found, header = [Section("")], None
    for line in text.splitlines():
        if line.startswith("#"):
            found.append(Section(line.lstrip("# ")))
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if header is None:
                header = _distinct(cells)
            elif not set(line) <= set("|-: "):
                found[-1].cells += [(cells[0], column, cell) for column, cell in zip(header, cells, strict=True)]
            continue
        elif line.startswith("`") and not found[-1].name:
            found[-1].name = line.split("`")[1]
        header = None
    return found


def _distinct(columns: list[str]) -> list[str]:
    """The second column of a name becomes 'name (2)'."""
    return [name if (k := columns[:at].count(name)) == 0 else f"{name} ({k + 1})" for at, name in enumerate(columns)]


def cells(page: list[Section], section: str, row: str, column: str) -> list[float]:
    """Numbers of all cells that a line names."""
    chosen = [s for s in page if fnmatchcase(s.name, section) or fnmatchcase(s.heading, section)]
    chosen = chosen or [s for s in page if s.heading.startswith(section)]
    found = [cell for s in chosen for cell in _of_row(s, row) if cell[1] == column and _NUMBER.search(cell[2])]
    if not found:
        raise Mistake(f"no cell: section {section!r}, row {row!r}, column {column!r}")
    return [first_number(text) for _, _, text in found]


def verdict(page: list[Section], section: str, cells_named: str) -> str:
    """'agrees' if all cells named say yes, else 'differs'."""
    words: list[str] = []
    for part in cells_named.split("; "):
        row, _, column = part.rpartition(" | ")
        chosen = [s for s in page if s.heading.startswith(section)]
        found = [
            text
            for s in chosen
            for _, name, text in _of_row(s, row)
            if (column in (name, "*")) and text in ("yes", "tie", "no")
        ]
        if not found:
            raise Mistake(f"no verdict: section {section!r}, row {row!r}, column {column!r}")
        words += found
    return "agrees" if set(words) == {"yes"} else "differs"


def _of_row(section: Section, row: str) -> list[tuple[str, str, str]]:
    exact = [cell for cell in section.cells if cell[0] == row]
    return exact or [cell for cell in section.cells if cell[0].startswith(row)]


def first_number(text: str) -> float:
    number = _NUMBER.search(text)
    if number is None:
        raise Mistake(f"no number in {text!r}")
    return float(number.group().replace(",", ""))


# ---- comparison ----------------------------------------------------------------------------------------


def rounds_to(source: float, shown: str) -> bool:
    """Whether `source`, rounded like `shown`, gives that text; in 260,000 the zeros at the end count as rounded."""
    digits, _, exponent = shown.replace(",", "").partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    if "," in shown and "." not in digits:
        unit = 10.0 ** (len(digits) - len(digits.rstrip("0")))
    return abs(float(digits + ("e" + exponent if exponent else "")) - source) <= unit * (0.5 + 1e-9)


def compare(found: list[float], value: str) -> list[str]:
    """Raise Mistake unless the numbers agree with the value; return the numbers as the page must show them."""
    if value.startswith("< "):
        shown, good = [value[2:]], max(found) < first_number(value[2:])
    elif " to " in value:
        shown = value.split(" to ")
        good = rounds_to(min(found), shown[0]) and rounds_to(max(found), shown[1])
    else:
        shown, good = [value], all(rounds_to(number, value) for number in found)
    if not good:
        raise Mistake(f"{value} here, {', '.join(f'{number:g}' for number in found)} in the result file")
    return shown


def tied(lines: list[str]) -> Iterator[tuple[str, str | Mistake]]:
    """Each line of a section with each value that it ties, or with what is wrong; '' for sources without numbers."""
    text, page, section = "", [], ""
    for line in lines:
        try:
            if line.startswith("@ "):
                name, _, section = line[2:].partition(" # ")
                text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
                page = sections(text)
            elif line.startswith("= "):
                item, _, named = line[2:].partition(" <- ")
                yield line, f"= {item}: {verdict(page, section, named)}"
            elif line.startswith("from "):
                _check_source(line[5:])
                yield line, ""
            else:
                for value in _line(line, text, page, section):
                    yield line, value
        except (Mistake, OSError) as error:
            yield line, Mistake(str(error))


def _line(line: str, text: str, page: list[Section], section: str) -> Iterator[str]:
    if line.startswith('"'):
        words, _, value = line[1:].rpartition('"')
        if words not in " ".join(text.split()):
            raise Mistake("these words are not in the result file")
        if value:
            yield from compare([first_number(words)], value.removeprefix(" -> "))
        return
    row, *parts = line.split(" | ")
    for part in parts:
        column, arrow, value = part.rpartition(" -> ")
        if not arrow:
            raise Mistake(f"no arrow in {part!r}")
        yield from compare(cells(page, section, row, column), value)


def _check_source(source: str) -> None:
    words = source.split()
    module = words[2] if words[:2] == ["python", "-m"] else ""
    if not (ROOT / words[0].rstrip(",")).exists() and not (module and importlib.util.find_spec(module)):
        raise Mistake(f"{source!r} is neither a file nor a module")


# ---- pages ---------------------------------------------------------------------------------------------


def read_ties(text: str) -> dict[str, dict[str, list[str]]]:
    """Lines of claims.txt by page and heading."""
    found: dict[str, dict[str, list[str]]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("["):
            page, _, heading = line.removeprefix("[").removesuffix("]").partition(" # ")
            lines = found.setdefault(page, {}).setdefault(heading, [])
        elif line:
            lines.append(line)
    return found


def mistakes(text: str, ties: dict[str, list[str]], strict: str | None = None) -> Iterator[str]:
    """Errors of a page; `strict`: all measured numbers before this heading must be tied."""
    _, *parts = _HEADING.split(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    headings = parts[::2]
    for heading in ties:
        if headings.count(heading) != 1:
            yield f"{headings.count(heading)} sections have the heading {heading!r}"
    all_tied = headings[: headings.index(strict)] if strict else []
    for heading, part in zip(headings, parts[1::2], strict=True):
        shown, values = _plain(part), []
        for line, value in tied(ties.get(heading, [])):
            if isinstance(value, Mistake):
                yield f"{line}: {value}"
            elif value.startswith("= "):
                if not _judged(part, *value[2:].rsplit(": ", 1)):
                    yield f"{line}: the item must say {value.rsplit(': ', 1)[1]!r}"
            elif value and not _shown(value, shown):
                yield f"{line}: {value} is not in the section {heading!r}"
            else:
                values.append(value)
        link = _LINK.search(part)
        if heading in all_tied and "" not in values:
            yield from _loose(shown, values)
        elif link and heading not in ties and (number := _measured(shown)):
            yield f"numbers of {link.group()} are not tied: {number}"


def _plain(text: str) -> str:
    """Without code, bold marks and targets of links."""
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "`", text).replace("**", "")


def _shown(value: str, text: str) -> bool:
    return any(match.group() == value for match in _NUMBER.finditer(text))


def _judged(text: str, item: str, word: str) -> bool:
    """Whether the last cell of the line with this item begins with the verdict, or has it after what is corrected."""
    lines = [line for line in text.splitlines() if f"| {item}" in line]
    found = [line.strip("| ").rsplit(" | ", 1)[-1] for line in lines]
    return len(found) == 1 and re.match(rf"(corrected.*?[:;] )?{word}\b", found[0]) is not None


def _loose(text: str, values: list[str]) -> Iterator[str]:
    """Measured numbers that no line ties; each value ties one of them."""
    lines, left = text.splitlines(), list(values)
    for at, line in enumerate(lines):
        if line.startswith("|"):
            header = re.fullmatch(r"[|: -]+", "".join(lines[at + 1 : at + 2]))
            measured = [] if header else _NUMBER.findall(line.strip("|").partition("|")[2])
        else:
            measured = [n.group() for n in _NUMBER.finditer(line) if _UNIT.match(line, n.end())]
        for number in measured:
            if number in left:
                left.remove(number)
            else:
                yield f"{number} has no source: {line.strip()}"


def _measured(text: str) -> str | None:
    """A number with a unit, or one of several cells of tables that are just numbers."""
    cells = re.findall(rf"\|\s*({_NUMBER.pattern})(?: ?%| m?s)?\s*(?=\|)", text)
    numbers = [n.group() for n in _NUMBER.finditer(text) if _UNIT.match(text, n.end())]
    return next(iter(numbers + (cells if len(cells) > 1 else [])), None)


def all_mistakes() -> Iterator[str]:
    """Errors of all pages and of claims.txt."""
    ties = read_ties(TIES.read_text(encoding="utf-8"))
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        for mistake in mistakes(page.read_text(encoding="utf-8"), ties.pop(name, {}), STRICT.get(name)):
            yield f"{name}: {mistake}"
    for name in ties:
        yield f"{name}: not a page whose numbers are compared"


def main() -> int:
    found = list(all_mistakes())
    print(*found, sep="\n", end="\n" * bool(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
