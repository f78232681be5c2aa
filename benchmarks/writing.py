"""Markdown tables and pages, CSV and JSON files."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown table: first column to the left, the others to the right, padded so that it reads well as text."""
    if not rows:
        return "Not run."
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(header), line(rule), *map(line, rows)])


def number(value: Any, digits: int = 3) -> str:
    """Short text of a number: `digits` significant digits, integers in full."""
    if value is None:
        return "-"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}" if "e+" in text else text


def about_machine(machine: dict[str, Any]) -> list[str]:
    """Items of a Markdown list: the processor, the versions of the packages, BLAS."""
    versions = ", ".join(f"{name} {v or 'not installed'}" for name, v in machine["versions"].items())
    return [
        f"- Processor: {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"core of hingeline: {machine['isa']}",
        f"- Python {machine['python']}, {versions}",
        *(f"- BLAS: {blas}" for blas in machine["blas"]),
    ]


def machine_lines(machine: dict[str, Any], threads: int) -> str:
    """The processor, the number of threads and the versions of the packages, as a Markdown list."""
    processor, *others = about_machine(machine)
    return "\n".join([processor, f"- Threads: {threads}, unless a row says otherwise", *others])


_PLACE = re.compile(r"\{\{ (\w+)\.(\w+)(?:\(([^)]*)\))?(?::([^ }]*))? \}\}")


def fill(template: str, modules: dict[str, ModuleType], *context: Any) -> str:
    """Fill the places of a template.

    ``{{ module.name }}`` is a constant of the module, or the text that its function returns for `context`.
    ``{{ module.name(word) }}`` gives the function one more argument, ``{{ module.name:format }}`` formats a number.
    Blank lines around what is empty are dropped.
    """

    def value(place: re.Match[str]) -> str:
        module, name, argument, form = place.groups()
        found = getattr(modules[module], name)
        if callable(found):
            found = found(*context, *([argument] if argument else []))
        return format(found, form or "")

    return re.sub(r"\n{3,}", "\n\n", _PLACE.sub(value, template)).rstrip() + "\n"


def stamp() -> str:
    return datetime.now().strftime("%Y%m%d-%H%M%S")


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: after an interruption it has the new or the old content, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


def write_stamped(folder: Path, name: str, text: str) -> None:
    """Write a page with the date in its name; print it and where it is."""
    path = folder / f"{name}-{stamp()}.md"
    write_whole(path, text + "\n")
    print(text + f"\n\nWritten: {path}")


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Numbers with up to 8 significant digits; an empty cell for None."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for row in rows:
            writer.writerow(["" if v is None else f"{v:.8g}" if isinstance(v, float) else v for v in row])


def write(folder: Path, name: str, result: dict[str, Any], markdown: str | None = None) -> None:
    """Write NAME.json and, if given, NAME.md; print where they are."""
    write_whole(folder / f"{name}.json", json.dumps(result, indent=1) + "\n")
    if markdown is not None:
        write_whole(folder / f"{name}.md", markdown.rstrip() + "\n")
    print(f"Written: {folder / name}.{'json' if markdown is None else 'md and .json'}")
