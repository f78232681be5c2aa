"""What the paper says in words, checked against our runs."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.writing import table

from . import curves
from .published import METRICS
from .settings import METHODS, SETS, Set
from .summary import Cell, Summary, cell_of
from .tables import MISSING

ALL = tuple(SETS)
NOISY = ("adult", "banana", "usps-n")
HINGE = ("full", "g", "lasvm-finished", "libsvm")
_METRIC = {metric.key: metric for metric in METRICS}


@dataclass(frozen=True)
class Claim:
    """Every method of `less` has less of `key` than every method of `more`. `path`: mean over the checkpoints."""

    words: str
    key: str
    less: tuple[str, ...]
    more: tuple[str, ...]
    sets: tuple[str, ...] = ALL
    path: bool = False


CLAIMS = (
    Claim("LASVM-NC and LASVM-I: fewer support vectors than FULL SVM, LASVM-G, LIBSVM", "n_support", ("nc", "i"),
          ("full", "g", "libsvm")),
    Claim("LASVM-NC: fewer support vectors than LASVM-I on the noisy sets", "n_support", ("nc",), ("i",), NOISY),
    Claim("LASVM-G: fewer kernel values than FULL SVM", "kernel_needed", ("g",), ("full",)),
    Claim("LASVM-NC: fewer kernel values than LASVM-G on the noisy sets", "kernel_needed", ("nc",), ("g",), NOISY),
    Claim("LASVM-I: fewer kernel values than LASVM-NC", "kernel_needed", ("i",), ("nc",)),
    Claim("LASVM-NC and LASVM-I: more accurate than FULL SVM on USPS-N", "accuracy", ("full",), ("nc", "i"),
          ("usps-n",)),
    Claim("LASVM-NC: highest g-means on Adult, Reuters, USPS-N", "g_mean", ("full", "g", "i", "lasvm"), ("nc",),
          ("adult", "reuters", "usps-n")),
    Claim("LASVM-NC and LASVM-I: faster than LASVM (finished) and LIBSVM", "seconds", ("nc", "i"),
          ("lasvm-finished", "libsvm")),
    Claim("LASVM-I: faster than LASVM-NC", "seconds", ("i",), ("nc",)),
    Claim("FINISHING reduces the support vectors of LASVM", "n_support", ("lasvm-expansion",), ("lasvm",)),
    Claim("LASVM-G: more accurate than LASVM over the course of training (figure 2)", "accuracy", ("lasvm",), ("g",),
          ("adult",), path=True),
    Claim("LASVM-G: fewer support vectors than LASVM over the course of training (figure 2)", "n_support", ("g",),
          ("lasvm",), ("adult",), path=True),
)  # fmt: skip


def claims(summary: Summary) -> str:
    rows = [
        [claim.words, *(_verdict(summary, claim, data) if data.name in claim.sets else "" for data in SETS.values())]
        for claim in CLAIMS
    ]
    return table(["claim", *(data.title for data in SETS.values())], rows)


def of_figures(_: Summary) -> str:
    """Claims about figures 4 to 8."""
    return curves.claims()


def of_s(_: Summary) -> str:
    """Values of s that are better than -1."""
    return curves.better()


def along_the_way(_: Summary) -> str:
    """What the claims about figure 4 are judged by."""
    return curves.details()


def _verdict(summary: Summary, claim: Claim, data: Set) -> str:
    found = set()
    for less in claim.less:
        for more in claim.more:
            low, high = (_cell(summary, claim, data, name) for name in (less, more))
            if low is None or high is None or low.seen or high.seen:  # not run, or not to its end
                return MISSING
            noise = max(low.sd or 0.0, high.sd or 0.0)
            gain = high.mean - low.mean
            found.add("yes" if gain > noise else "no" if gain < -noise else "tie")
    return next(verdict for verdict in ("no", "tie", "yes") if verdict in found)


def _cell(summary: Summary, claim: Claim, data: Set, name: str) -> Cell | None:
    method = METHODS[name]
    if not claim.path:
        return summary.cell(_METRIC[claim.key], data, method)
    curves = [result.get("curve", ()) for result in summary.runs(data, method)]
    return cell_of([sum(point[claim.key] for point in curve) / len(curve) for curve in curves if curve])
