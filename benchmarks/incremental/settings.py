"""Cases and all their numbers. Imports nothing of weight: the parent process must not load numpy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

#: Changes when cases are measured differently: results kept from before are then made again.
PROTOCOL = 1
REPEATS = 5
#: Points that are forgotten; rows that are added one at a time; steps of the stream at which OneClassSVM is fitted.
FORGOTTEN, ADDED, SAMPLED = 100, 200, 200
TEST_ROWS = 2000
MEMORY_MB = 6000

#: Parameters on mnist 8 against rest, x/255. The first is near the most accurate, all its support vectors are on the
#: margin; the second is the LASVM papers', with some at the bound.
SHARP = {"kernel": "rbf", "gamma": 0.02, "C": 10.0}
FLAT = {"kernel": "rbf", "gamma": 0.001, "C": 100.0}
LINEAR = {"kernel": "linear", "C": 1.0}


def adult(C: float) -> dict[str, Any]:
    return {"kernel": "rbf", "gamma": 0.005, "C": C}


@dataclass(frozen=True)
class Case:
    """One table. `kind` is a module-level name of jobs.py; `data` one of benchmarks.against, or rows of a stream.

    `most`: repeats at most, `theirs`: repeats of scikit-learn at most. `minutes`: about what it takes, one after the
    other on 2 cores. `limits`: tolerances of scikit-learn.
    """

    name: str
    kind: str
    title: str
    goal: str
    options: dict[str, Any]
    most: int = REPEATS
    theirs: int = REPEATS
    limits: tuple[float, ...] = (1e-3, 1e-6)
    minutes: float = 1.0

    @property
    def path(self) -> str:
        """Of its file in the store."""
        return self.name

    @property
    def package(self) -> str:
        """Whose version the result depends on."""
        return "hingeline"

    def settings(self) -> dict[str, Any]:
        """What the result depends on."""
        kept = {key: value for key, value in asdict(self).items() if key not in ("title", "goal", "minutes")}
        return {"protocol": PROTOCOL, **kept}


def _mnist(n: int, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"data": "mnist8-all", "form": "dense", "n": n, "parameters": parameters, **more}


def _adult(C: float, **more: Any) -> dict[str, Any]:
    return {"data": "adult", "form": "csr", "n": 5000, "parameters": adult(C), **more}


WHO = {"any": "any rows", "support": "support vectors"}
_LOO = "exact; many times faster than a fit for every row"
_FORGET = "faster than one fit on what is left; the same model"
_GROW = "near the floor: bytes of kernel rows read over the bandwidth"
_STREAM = "every step optimal; faster than a fit at every step"
_ADD = "milliseconds"


def cases(quick: bool) -> list[Case]:
    """All; with `quick`, tiny."""
    found = [
        Case("loo-sharp", "LeaveOneOut", "Leave-one-out, mnist 8 against rest, 1,000 rows, gamma = 0.02, C = 10", _LOO,
             _mnist(1000, SHARP), theirs=1, minutes=3),
        Case("loo-flat", "LeaveOneOut", "Leave-one-out, mnist 8 against rest, 1,000 rows, gamma = 0.001, C = 100", _LOO,
             _mnist(1000, FLAT), theirs=1, minutes=1.5),
        *(
            Case(f"forget-mnist-{name}-{who}", "Forget", f"Forget 100 of 5,000 ({WHO[who]}), mnist 8, {text}", _FORGET,
                 _mnist(5000, parameters, who=who))
            for name, text, parameters in (
                ("sharp", "gamma = 0.02, C = 10", SHARP), ("flat", "gamma = 0.001, C = 100", FLAT))
            for who in WHO
        ),
        *(
            Case(f"forget-adult-{C:g}-{who}", "Forget", f"Forget 100 of 5,000 ({WHO[who]}), adult, C = {C:g}", _FORGET,
                 _adult(C, who=who))
            for C in (1.0, 100.0) for who in WHO
        ),
        *(
            Case(f"{way}-{name}", "Grow", f"Learn 10,000 rows {text}, mnist 8, {about}", _GROW,
                 _mnist(10_000, parameters, single=way == "grow"), most=3, theirs=1, minutes=8 if way == "grow" else 2)
            for way, text in (("grow", "one by one"), ("fit", "at once"))
            for name, about, parameters in (
                ("linear", "linear, C = 1", LINEAR), ("sharp", "gamma = 0.02, C = 10", SHARP),
                ("flat", "gamma = 0.001, C = 100", FLAT))
        ),
        *(
            Case(f"stream-{name}", "Stream", f"One-class SVM of the last 500 rows, 5,000 rows of KDD Cup 1999, {text}",
                 _STREAM, {"first": first, "rows": 5000, "window": 500, "nu": 0.1, "gamma": 0.05})
            for name, text, first in (
                ("normal", "normal traffic", 0), ("flood", "from 2,600 on a flood of equal ones", 5000))
        ),
        Case("add-sharp", "AddOne", "Add one row to 5,000, mnist 8, gamma = 0.02, C = 10", _ADD, _mnist(5000, SHARP),
             most=3, theirs=3),
        Case("add-flat", "AddOne", "Add one row to 5,000, mnist 8, gamma = 0.001, C = 100", _ADD, _mnist(5000, FLAT),
             most=3, theirs=3),
        Case("add-adult", "AddOne", "Add one row to 5,000, adult, C = 100", _ADD, _adult(100.0), most=3, theirs=3),
    ]  # fmt: skip
    return [_tiny(case) for case in found] if quick else found


def _tiny(case: Case) -> Case:
    small = {"n": 200} if "n" in case.options else {"rows": 300, "window": 100}
    return Case(**{**vars(case), "options": {**case.options, **small}, "most": 2, "theirs": 1})
