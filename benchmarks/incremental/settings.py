"""Cases and all their numbers. Imports nothing of weight: the parent process must not load numpy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.harness import Case

#: Tolerances of scikit-learn.
TOLERANCES = (1e-3, 1e-6)
#: Points that are forgotten; rows that are added one at a time; steps of the stream at which OneClassSVM is fitted.
FORGOTTEN, ADDED, SAMPLED = 100, 200, 200
TEST_ROWS = 2000
CACHE_MB = 6000

#: Parameters on mnist 8 against rest, x/255. The first is near the most accurate, all its support vectors are on the
#: margin; the second is the LASVM papers', with some at the bound.
SHARP = {"kernel": "rbf", "gamma": 0.02, "C": 10.0}
FLAT = {"kernel": "rbf", "gamma": 0.001, "C": 100.0}
LINEAR = {"kernel": "linear", "C": 1.0}


def _mnist(n: int, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"data": "mnist8-all", "form": "dense", "n": n, "parameters": parameters, **more}


def _adult(C: float, **more: Any) -> dict[str, Any]:
    return {"data": "adult", "form": "csr", "n": 5000, "parameters": {"kernel": "rbf", "gamma": 0.005, "C": C}, **more}


WHO = {"any": "any rows", "support": "support vectors"}
_LOO = "exact; many times faster than a fit for every row"
_FORGET = "faster than one fit on what is left; the same model"
_GROW = "near the floor: bytes of kernel rows read over the bandwidth"
_STREAM = "every step optimal; faster than a fit at every step"


def cases(quick: bool) -> list[Case]:
    """All; with `quick`, tiny."""
    widths = {"sharp": (SHARP, "gamma = 0.02, C = 10"), "flat": (FLAT, "gamma = 0.001, C = 100")}
    found = [
        Case(f"loo-{name}", "LeaveOneOut", f"Leave-one-out, mnist 8 against rest, 1,000 rows, {text}", _LOO,
             _mnist(1000, parameters), peer_repeats=1)
        for name, (parameters, text) in widths.items()
    ]  # fmt: skip
    found += [
        Case(f"forget-mnist-{name}-{who}", "Forget", f"Forget 100 of 5,000 ({WHO[who]}), mnist 8, {text}", _FORGET,
             _mnist(5000, parameters, who=who))
        for name, (parameters, text) in widths.items() for who in WHO
    ]  # fmt: skip
    found += [
        Case(f"forget-adult-{C:g}-{who}", "Forget", f"Forget 100 of 5,000 ({WHO[who]}), adult, C = {C:g}", _FORGET,
             _adult(C, who=who))
        for C in (1.0, 100.0) for who in WHO
    ]  # fmt: skip
    found += [
        Case(f"{way}-{name}", "Grow", f"Learn 10,000 rows {text}, mnist 8, {about}", _GROW,
             _mnist(10_000, parameters, single=way == "grow"), most_repeats=3, peer_repeats=1)
        for way, text in (("grow", "one by one"), ("fit", "at once"))
        for name, (parameters, about) in {"linear": (LINEAR, "linear, C = 1"), **widths}.items()
    ]  # fmt: skip
    found += [
        Case(f"stream-{name}", "Stream", f"One-class SVM of the last 500 rows, 5,000 rows of KDD Cup 1999, {text}",
             _STREAM, {"first": first, "rows": 5000, "window": 500, "nu": 0.1, "gamma": 0.05})
        for name, text, first in (
            ("normal", "normal traffic", 0), ("flood", "from 2,600 on a flood of equal ones", 5000))
    ]  # fmt: skip
    found += [
        Case(f"add-{name}", "AddOne", f"Add one row to 5,000, {text}", "milliseconds", options, most_repeats=3)
        for name, text, options in (
            *((name, f"mnist 8, {text}", _mnist(5000, parameters)) for name, (parameters, text) in widths.items()),
            ("adult", "adult, C = 100", _adult(100.0)))
    ]  # fmt: skip
    return [_tiny(case) for case in found] if quick else found


def _tiny(case: Case) -> Case:
    small = {"n": 200} if "n" in case.options else {"rows": 300, "window": 100}
    return replace(case, options={**case.options, **small}, most_repeats=2, peer_repeats=1)
