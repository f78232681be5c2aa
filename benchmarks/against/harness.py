"""Runs a case: one process per contestant, repeats in turns."""

from __future__ import annotations

import statistics
import sys
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from .cases import Contestant, Run, contestants
from .jobs import Sample
from .settings import Case
from .worker import Child, ChildError


def run_case(case: Case, run: Run, repeats: int) -> dict[str, Any]:
    """Result of a case as plain data: rows in the order of the contestants, and notes on what is missing."""
    repeats = min(repeats, case.most_repeats or repeats)
    result: dict[str, Any] = {**asdict(case), "repeats": repeats, "rows": [], "notes": [], "failed": False}
    samples: dict[str, list[Sample]] = {}
    with ExitStack() as stack:
        running: dict[str, Child] = {}
        everyone = contestants(case, run)
        for contestant in everyone:
            _say(f"{case.name}: prepare {contestant.label}")
            child = _prepare(contestant, stack, result)
            if child is not None:
                running[contestant.label] = child
        for repeat in range(repeats):
            # Every second time backwards: none is always the one that comes after the slowest.
            for label in list(running)[:: -1 if repeat % 2 else 1]:
                _say(f"{case.name}: repeat {repeat + 1} of {repeats}, {label}")
                try:
                    for row, sample in running[label].measure().items():
                        samples.setdefault(row, []).append(sample)
                except ChildError as error:
                    _note(result, label, error)
                    del running[label]
    result["rows"] = [_row(label, taken) for label, taken in samples.items()]
    if everyone[0].label in running:
        _compare(result["rows"])
    return result


def _prepare(contestant: Contestant, stack: ExitStack, result: dict[str, Any]) -> Child | None:
    child = stack.enter_context(Child(contestant.job, contestant.arguments, contestant.threads))
    try:
        child.prepare()
    except ChildError as error:
        _note(result, contestant.label, error)
        return None
    return child


def _note(result: dict[str, Any], label: str, error: ChildError) -> None:
    result["failed"] |= not error.unavailable
    text = f"{'skipped' if error.unavailable else 'FAILED'}: {error}"
    _say(f"{result['name']}: {label}, {text}")
    for note in result["notes"]:
        if note["text"] == text:
            note["labels"].append(label)
            return
    result["notes"].append({"labels": [label], "text": text})


def _row(label: str, samples: list[Sample]) -> dict[str, Any]:
    times: dict[str, Any] = {}
    for name in samples[0].seconds:
        all_of_it = [second for sample in samples for second in sample.seconds[name]]
        median = statistics.median(all_of_it)
        times[name] = {"median": median, "min": min(all_of_it), "max": max(all_of_it), "ratio": None, "all": all_of_it}
        if samples[0].work is not None:
            times[name]["values_per_second"] = samples[0].work / median
    # Facts of the first repeat: memory is measured in a fresh process.
    return {"label": label, "times": times, "facts": samples[0].facts}


def _compare(rows: list[dict[str, Any]]) -> None:
    """Adds the ratio to the first row: above 1, the first row is the faster one."""
    for row in rows:
        for name, time in row["times"].items():
            time["ratio"] = time["median"] / rows[0]["times"][name]["median"]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
