"""Markdown tables, and results as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown table: first column to the left, the others to the right, padded so that it reads well as text."""
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


def machine_lines(machine: dict[str, Any], threads: int) -> str:
    versions = ", ".join(f"{name} {v or 'not installed'}" for name, v in machine["versions"].items())
    return "\n".join(
        [
            f"- Processor: {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
            f"core of hingeline: {machine['isa']}",
            f"- Threads: {threads}, unless a row says otherwise",
            f"- Python {machine['python']}, {versions}",
            *(f"- BLAS: {blas}" for blas in machine["blas"]),
        ]
    )


def stamp() -> str:
    return datetime.now().strftime("%Y%m%d-%H%M%S")


def write(folder: Path, name: str, result: dict[str, Any], markdown: str | None = None) -> None:
    """NAME.json and, where given, NAME.md."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if markdown is not None:
        (folder / f"{name}.md").write_text(markdown, encoding="utf-8")
