"""Claims about figures 1 and 4 to 8, judged from the files behind the figures (results/ertekin2011/figure*.csv)."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

from benchmarks.papers.frame import yes
from benchmarks.writing import table

from .settings import SETS, S
from .tables import MISSING

FOLDER = Path("benchmarks/results/ertekin2011")
NOISY = ("Adult", "Banana", "USPS-N")
ALL = tuple(data.title for data in SETS.values())
#: LASVM ends with FINISHING in the paper.
LASVM = "LASVM with FINISHING"
RAMP = ("LASVM-NC", "LASVM-I")
#: Points of PRBEP below its end at which a curve counts as having arrived.
NEAR = 1.0


@cache
def _rows(figure: int) -> list[dict[str, str]]:
    with (FOLDER / f"figure{figure}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _curve(figure: int, data: str, method: str) -> list[tuple[int, float, float]]:
    """Examples, value, standard deviation (0 of a single run)."""
    found = [row for row in _rows(figure) if (row["data set"], row["method"]) == (data, method)]
    value = "prbep" if figure == 4 else "n_support" if figure == 6 else "kernel_needed"
    return [(int(row["examples"]), float(row[value]), float(row["sd"] or 0)) for row in found]


def _judge(low: tuple[float, float], high: tuple[float, float]) -> str:
    """Whether a mean is below another: tie within the larger standard deviation."""
    gain = high[0] - low[0]
    noise = max(low[1], high[1])
    return "yes" if gain > noise else "no" if gain < -noise else "tie"


def _worst(verdicts: list[str]) -> str:
    return next(word for word in ("no", "tie", "yes") if word in verdicts)


def _seconds(data: str, method: str) -> tuple[float, float]:
    row = next(row for row in _rows(8) if (row["data set"], row["method"]) == (data, method))
    return float(row["seconds"]), float(row["sd"] or 0)


def _faster(data: str) -> str:
    others = (LASVM, "LIBSVM")
    return _worst([_judge(_seconds(data, ramp), _seconds(data, other)) for ramp in RAMP for other in others])


def _quickest(data: str) -> str:
    others = ("FULL SVM", "LASVM-G", "LASVM-NC", LASVM, "LIBSVM")
    return _worst([_judge(_seconds(data, "LASVM-I"), _seconds(data, other)) for other in others])


def _end(figure: int, data: str, method: str) -> tuple[float, float]:
    return _curve(figure, data, method)[-1][1:]


def _order(figure: int, *methods: str) -> Callable[[str], str]:
    """Whether the ends of the curves ascend in this order."""
    return lambda data: _worst([_judge(_end(figure, data, a), _end(figure, data, b)) for a, b in pairwise(methods)])


def _arrival(data: str, method: str) -> int:
    """Examples after which PRBEP stays within NEAR of the end of FULL SVM's curve."""
    goal = _end(4, data, "FULL SVM")[0] - NEAR
    below = [k for k, (_, value, _) in enumerate(_curve(4, data, method)) if value < goal]
    curve = _curve(4, data, method)
    return curve[min(max(below, default=-1) + 1, len(curve) - 1)][0]


def _earlier(data: str) -> str:
    return yes(all(_arrival(data, m) < _arrival(data, "LASVM") for m in ("LASVM-G", *RAMP)))


def _fall(data: str, method: str) -> float:
    """Sum of all falls of a PRBEP curve, in points."""
    values = [value for _, value, _ in _curve(4, data, method)]
    return sum(max(a - b, 0.0) for a, b in pairwise(values))


def _smoother(data: str) -> str:
    return yes(all(_fall(data, m) < _fall(data, "LASVM") for m in ("LASVM-G", *RAMP)))


def _by_s(data: str, method: str) -> dict[float, tuple[float, float, float]]:
    """Support vectors, test error and its standard deviation for each s."""
    found = [row for row in _rows(5) if (row["data set"], row["method"]) == (data, method) and row["s"]]
    return {
        float(r["s"]): (float(r["support vectors"]), float(r["test error %"]), float(r["sd of the error"] or 0))
        for r in found
    }


def _better(data: str, method: str) -> list[float]:
    """Values of s with a tenth fewer support vectors than s = -1, whose error is not larger by more than the noise."""
    found = _by_s(data, method)
    count, error, deviation = found[S]
    return [s for s, (n, e, d) in found.items() if n < 0.9 * count and e <= error + max(d, deviation)]


def _compromise(data: str) -> str:
    return yes(not any(_better(data, method) for method in RAMP))


def _positive(data: str) -> str:
    """Whether every s > 0 errs more than s = -1."""
    verdicts = []
    for method in RAMP:
        found = _by_s(data, method)
        verdicts += [_judge(found[S][1:], found[s][1:]) for s in found if s > 0.5]
    return _worst(verdicts)


def _falls(data: str) -> str:
    """Whether the gap of an example is smaller at the end than after a tenth of the examples."""
    found = [(int(r["examples"]), float(r["duality gap"])) for r in _rows(1) if r["data set"] == data]
    early = next(gap / n for n, gap in found if n >= 0.1 * found[-1][0])
    return yes(found[-1][1] / found[-1][0] < early)


CLAIMS: tuple[tuple[str, Callable[[str], str], tuple[str, ...]], ...] = (
    ("The duality gap of an example falls (figure 1)", _falls, ALL),
    ("LASVM-G, -NC, -I need fewer examples than LASVM (figure 4)", _earlier, ALL),
    ("LASVM-G, -NC, -I grow more homogeneously than LASVM (figure 4)", _smoother, ALL),
    ("s = -1 is the best compromise (figure 5)", _compromise, ALL),
    ("s of 0.6 and 0.9 costs accuracy (figure 5)", _positive, ALL),
    ("LASVM-NC ends with fewer support vectors than LASVM-G (figure 6)", _order(6, "LASVM-NC", "LASVM-G"), ALL),
    ("LASVM-NC ends with fewer than LASVM-I (figure 6)", _order(6, "LASVM-NC", "LASVM-I"), NOISY),
    ("Kernel values ascend: LASVM-I, -NC, -G, FULL SVM (figure 7)",
     _order(7, "LASVM-I", "LASVM-NC", "LASVM-G", "FULL SVM"), ALL),
    ("LASVM-NC and -I are faster than LASVM with FINISHING and LIBSVM (figure 8)", _faster, ALL),
    ("LASVM-I is the fastest of all (figure 8)", _quickest, ALL),
)  # fmt: skip


def claims() -> str:
    rows = [[words, *(judge(name) if name in sets else "" for name in ALL)] for words, judge, sets in CLAIMS]
    return table(["claim", *ALL], rows)


def better() -> str:
    """Values of s that dominate s = -1."""
    rows = []
    for method in RAMP:
        found = [", ".join(f"{s:g}" for s in _better(data, method)) or MISSING for data in ALL]
        rows.append([method, *found])
    return table(["s with fewer support vectors, same error", *ALL], rows)


def details() -> str:
    """Examples needed, and falls of PRBEP."""
    methods = ("FULL SVM", "LASVM-G", "LASVM-NC", "LASVM-I", "LASVM")
    rows = [[f"{m}: examples", *(f"{_arrival(data, m):,}" for data in ALL)] for m in methods]
    rows += [[f"{m}: falls, points", *(f"{_fall(data, m):.1f}" for data in ALL)] for m in methods]
    return table(["PRBEP along the way", *ALL], rows)
