"""The result of a run as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.writing import machine_lines, number, table

from .settings import TIE

_EXPLANATION = f"""Times are medians of all repeats in seconds, smallest and largest in brackets; repeats are taken in
turns. A ratio is the time of the row over the time of the first row: above 1, the first row is faster. Between
1/{TIE} and {TIE} it is a tie."""


def markdown(result: dict[str, Any]) -> str:
    parts = ["# hingeline against its peers", machine_lines(result["machine"], result["threads"]), _EXPLANATION]
    if result["quick"]:
        parts.append("**Quick run on tiny data: it shows that everything works, its times mean nothing.**")
    parts += [case_section(case) for case in result["cases"]]
    return "\n\n".join(parts) + "\n"


def case_section(case: dict[str, Any]) -> str:
    parts = [f"## {case['title']}", f"`{case['name']}`, repeats: {case['repeats']}. Goal: {case['goal']}."]
    if case["rows"]:
        parts.append(_table(case))
    if case["notes"]:
        parts.append("\n".join(f"- {'; '.join(note['labels'])}: {note['text']}" for note in case["notes"]))
    return "\n\n".join(parts)


def _table(case: dict[str, Any]) -> str:
    rows = case["rows"]
    names = list(rows[0]["times"])
    with_rate = "values_per_second" in rows[0]["times"][names[0]]
    # The rows of the memory case are different problems: their times have no ratio.
    with_ratio = case["kind"] != "memory"
    facts = list(dict.fromkeys(key for row in rows for key in row["facts"]))
    header = [""]
    for name in names:
        header += [f"{name}, s", *(["ratio"] if with_ratio else []), *(["1e9 values/s"] if with_rate else [])]
    lines = []
    for i, row in enumerate(rows):
        line = [row["label"]]
        for name in names:
            time = row["times"][name]
            line.append(f"{number(time['median'])} ({number(time['min'])} .. {number(time['max'])})")
            if with_ratio:
                line.append("1" if i == 0 else _ratio(time["ratio"]))
            if with_rate:
                line.append(number(time["values_per_second"] / 1e9))
        lines.append(line + [_fact(key, row["facts"].get(key)) for key in facts])
    return table(header + facts, lines)


def _fact(key: str, value: Any) -> str:
    return f"{value:.2f}" if key.startswith("accuracy") and value is not None else number(value)


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{number(ratio)}{' (tie)' if 1 / TIE < ratio < TIE else ''}"
