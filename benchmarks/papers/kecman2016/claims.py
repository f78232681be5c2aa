"""What the paper says, beside our numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.papers.frame import Claim, claims_table, faster, yes

from .settings import CS, DEGREE_CS, FASTER, METHODS, OL, PUBLISHED, READINGS, SETS, SIGMAS, SVC_, WAYS, WITHIN
from .summary import Summary, average, best, error, spread, total
from .tables import mean_error

#: Errors, points, that count as equal, and ratios of times that count as not depending on C and sigma.
SAME_ERROR, SAME_TIME = 0.5, 2.0
#: Points within which errors are similar.
ALIKE = 2.0
#: Coefficients, parts of the largest, that count as equal.
ROUNDING = 1e-9


def claims(summary: Summary) -> str:
    return claims_table(summary, _errors, _speed, _times, _online, _equal, _large)


def reading_claims(summary: Summary) -> str:
    return claims_table(summary, _readings, _narrow, _degrees)


def _readings(summary: Summary) -> Iterator[Claim]:
    for name in READINGS:
        svc, ol = ([r for _, r in summary.of("reading", name=name, method=m)] for m in (SVC_, OL))
        if svc and len(svc) == len(ol):
            theirs, ours = mean_error(svc), mean_error(ol)
            smo, online, _ = PUBLISHED["results"][name]
            known, told = f"{online:.2f} and {smo:.2f} %", f"{ours:.2f} and {theirs:.2f} %"
            yield (
                f"Average error of OL SVM is lower than that of SMO: {SETS[name].title}",
                known,
                _less(ours, theirs),
                told,
            )
            times = [cell["seconds"] for result in ol for cell in result["cells"]]
            words = f"Time of OL SVM does not depend on C and sigma: {SETS[name].title}"
            yield (
                words,
                "yes",
                yes(max(times) / min(times) <= SAME_TIME),
                f"largest / smallest {max(times) / min(times):.1f}",
            )


def _narrow(summary: Summary) -> Iterator[Claim]:
    for way, methods in WAYS.items():
        ol = summary.one("narrow", way=way, method=OL)
        for method in methods[1:]:
            other = summary.one("narrow", way=way, method=method)
            if ol and other and method in PUBLISHED["online"]:
                ratio = sum(c["seconds"] for c in other["cells"]) / sum(c["seconds"] for c in ol["cells"])
                title, words = METHODS[method].title, "original lists" if way == "listed" else "outputs kept"
                known = f"{PUBLISHED['online'][method]:g} times" if way == "listed" else "yes"
                yield f"OL SVM is faster, {words}: {title}", known, faster(ratio), f"{ratio:.2f} times"
                ours, theirs = mean_error([ol]), mean_error([other])
                told = f"average {ours:.2f} and {theirs:.2f} %"
                if way == "listed" and method != "pegaz":
                    yield f"OL SVM and {title} err alike, {words}", "similar", yes(abs(ours - theirs) <= ALIKE), told
                else:
                    yield f"OL SVM errs less, {words}: {title}", "yes", _less(ours, theirs), told


def _degrees(summary: Summary) -> Iterator[Claim]:
    found = [result["cells"] for _, result in summary.of("degree")]
    for place, C in enumerate(DEGREE_CS if found else ()):
        times = [cells[place]["seconds"] for cells in found]
        told = f"largest / smallest {max(times) / min(times):.1f}"
        yield (
            f"Time does not depend on the order of the polynomial: C = {C:g}",
            "yes",
            yes(max(times) / min(times) <= SAME_TIME),
            told,
        )


def _less(ours: float, theirs: float) -> str:
    """Of errors."""
    return "tie" if abs(ours - theirs) <= SAME_ERROR else yes(ours < theirs)


def _errors(summary: Summary) -> Iterator[Claim]:
    for name, (svc, ol, _) in summary.whole():
        smo, online, _ = PUBLISHED["results"][name]
        theirs, ours = average(svc), average(ol)
        told, known = f"{ours:.2f} and {theirs:.2f} %", f"{online:.2f} and {smo:.2f} %"
        yield f"Average error of OL SVM is lower than that of SMO: {SETS[name].title}", known, _less(ours, theirs), told
    for name, (svc, ol, _) in summary.whole():
        ours, theirs = error(ol[best(ol)]), error(svc[best(svc)])
        told = f"{ours:.2f} and {theirs:.2f} %"
        yield f"The same of the lowest error: {SETS[name].title}", "not said", _less(ours, theirs), told


def _speed(summary: Summary) -> Iterator[Claim]:
    ratios = {}
    for name, (svc, ol, _) in summary.whole():
        ratios[name] = total(svc, "seconds") / total(ol, "seconds")
        known = f"{PUBLISHED['results'][name][2]:g} times"
        yield f"Grid faster than with SMO: {SETS[name].title}", known, faster(ratios[name]), f"{ratios[name]:.2f} times"
    if len(ratios) > 3:
        sizes = [PUBLISHED["sizes"][name][0] for name in ratios]
        theirs = _rank(sizes, [PUBLISHED["results"][name][2] for name in ratios])
        ours = _rank(sizes, list(ratios.values()))
        words = "The speedup grows with the number of samples (rank correlation)"
        yield words, f"{theirs:.2f}", yes(ours > 0.5), f"{ours:.2f}"


def _rank(x: list[int], y: list[float]) -> float:
    return float(np.corrcoef(np.argsort(np.argsort(x)), np.argsort(np.argsort(y)))[0, 1])


def _times(summary: Summary) -> Iterator[Claim]:
    for name, (_, ol, _) in summary.whole():
        apart = spread(ol)
        told = f"largest / smallest {apart:.1f}; violations {spread(ol, 'violations'):.1f}"
        yield f"Time of OL SVM does not depend on C and sigma: {SETS[name].title}", "yes", yes(apart <= SAME_TIME), told
    for name, (svc, _, _) in summary.whole():
        last = svc.get((CS[-1], SIGMAS[-1]))
        slowest = max(svc, key=lambda place: svc[place]["seconds"])
        if last:
            share = last["seconds"] / svc[slowest]["seconds"]
            told = f"{100 * share:.0f} % of the longest, which is at {slowest[0]:g}, {slowest[1]:g}"
            yield f"SMO takes longest at the largest C and sigma: {SETS[name].title}", "yes", yes(share > 0.9), told


def _online(summary: Summary) -> Iterator[Claim]:
    for way, words in (("listed", "original lists"), ("ours", "outputs kept")):
        ol = summary.online(way, OL)
        for method in ("norma-literal", "pegaz"):
            other = summary.online(way, method)
            if ol and other:
                ratio, title = total(other, "seconds") / total(ol, "seconds"), METHODS[method].title
                known = f"{PUBLISHED['online'][method]:g} times" if way == "listed" else "yes"
                yield f"OL SVM is faster, {words}: {title}", known, faster(ratio), f"{ratio:.2f} times"
                told = f"average {average(ol):.2f} and {average(other):.2f} %"
                if way == "listed" and method != "pegaz":
                    same = yes(abs(average(ol) - average(other)) <= ALIKE)
                    yield f"OL SVM and {title} err alike, {words}", "similar", same, told
                else:
                    yield f"OL SVM errs less, {words}: {title}", "yes", _less(average(ol), average(other)), told


def _equal(summary: Summary) -> Iterator[Claim]:
    for _, result in summary.of("errata"):
        for rate, first, words in (
            ("sqrt", False, "as printed"), ("inverse", False, "η = C/t"), ("inverse", True, "η = C/t, shrinks first")
        ):  # fmt: skip
            for epochs in (1, 3):
                found = [
                    p for p in result["pairs"]
                    if (p["rate"], p["decay_first"], p["epochs"]) == (rate, first, epochs)
                ]  # fmt: skip
                apart = max(p["apart"] for p in found)
                told = f"coefficients differ by up to {apart:.1e} of the largest"
                number = "one epoch" if epochs == 1 else f"{epochs} epochs"
                if rate == "sqrt" and epochs > 1:
                    yield f"NORMA and Pegaz differ, {number}, {words}", "yes", yes(apart > ROUNDING), told
                else:
                    known = "yes" if rate == "sqrt" else "not said"
                    yield f"NORMA and Pegaz are the same, {number}, {words}", known, yes(apart <= ROUNDING), told


def _large(summary: Summary) -> Iterator[Claim]:
    for at, result in summary.of("large"):
        svc = next(row for row in result["rows"] if row["method"] == SVC_)
        online = [row for row in result["rows"] if row["method"].startswith("olsvm")]
        good = [row for row in online if error(row) - min(error(svc), error(row)) <= WITHIN]
        if good:
            fastest = min(good, key=lambda row: row["seconds"])
            ratio = svc["seconds"] / fastest["seconds"]
            told = f"{ratio:.1f} times, {error(fastest):.2f} and {error(svc):.2f} % ({METHODS[fastest['method']].title}"
            yield _target(at), "not said", yes(ratio >= FASTER), f"{told}, {fastest['precision']})"
        else:
            lowest = min(online, key=error)
            ratio = svc["seconds"] / lowest["seconds"]
            told = f"lowest error {error(lowest):.2f} and {error(svc):.2f} %, {ratio:.1f} times"
            yield _target(at), "not said", "no", told


def _target(at: dict) -> str:
    words = f"{FASTER:g} times as fast as SVC at an error within {WITHIN} points"
    return f"{words}, C = 10⁴ (ours): {SETS[at['name']].title}"
