"""What the chapter says, beside our numbers."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from benchmarks.papers.frame import Claim, claims_table, yes
from hingeline.compare import Comparison

from .settings import FIRST, METHODS, MNSVM, NNISDA, OLLAWV, PUBLISHED, SEARCHED, SECOND, SVC_
from .summary import Summary, recomputed

CONTROL = METHODS[OLLAWV].title
#: With fewer sets a claim about all sets is open: hardly any difference would be significant.
FEWEST = 10


def claims(summary: Summary) -> str:
    return claims_table(summary, _accuracy, _time, _support, _others, _boundary)


def _ranks(result: Comparison) -> str:
    return ", ".join(f"{name} {rank:.3f}" for name, rank in zip(result.methods, result.mean_ranks, strict=True))


def _first(result: Comparison) -> bool:
    return result.summary()[0].method == CONTROL


def _differ(result: Comparison) -> set[str]:
    return {pair.other for pair in result.bonferroni_dunn() if pair.significant and pair.difference > 0}


def _judge(result: Comparison, holds: bool) -> str:
    return yes(holds) if len(result.datasets) >= FEWEST else "open"


def _accuracy(summary: Summary) -> Iterator[Claim]:
    known, ours = recomputed("accuracy"), summary.compared("accuracy")
    if ours is None:
        return
    words = f"yes; computed again no: {_ranks(known)} (T1)"
    yield "OLLAWV has the best mean rank in accuracy", words, _judge(ours, _first(ours)), _ranks(ours)
    words = f"yes, at p = {PUBLISHED['text']['p_accuracy']}, which is not significant (T4)"
    p = ours.iman_davenport.p_value
    yield (
        "The accuracies differ significantly",
        words,
        _judge(ours, p <= ours.alpha),
        f"p = {p:.3g}, {len(ours.datasets)} sets",
    )
    apart = _accuracies(summary, OLLAWV) - mean(_accuracies(summary, m) for m in (NNISDA, MNSVM))
    yield (
        "Differences in accuracy are not very large",
        "0.1 points",
        _judge(ours, abs(apart) < 1),
        f"{apart:+.2f} points",
    )
    four = summary.compared("accuracy", (*FIRST, SVC_, SEARCHED))
    if four is not None:
        words = "Accuracies of SVC and of OLLAWV with the margin searched do not differ significantly (Holm)"
        pair = next(p for p in four.holm(all_pairs=True) if {p.method, p.other} == _titles(SVC_, SEARCHED))
        yield words, "not said", _judge(four, not pair.significant), f"p = {pair.p_value:.3g}; {_ranks(four)}"


def _titles(*methods: str) -> set[str]:
    return {METHODS[method].title for method in methods}


def _accuracies(summary: Summary, method: str) -> float:
    return mean(summary.values("accuracy", FIRST)[METHODS[method].title].values())


def _time(summary: Summary) -> Iterator[Claim]:
    ours = summary.compared("seconds")
    if ours is not None:
        yield _unlike_both("OLLAWV is significantly faster than both", ours)
        yield from _ratios(summary, "seconds", "times as fast (8 cells against 64)", "about 2")
        yield from _ratios(summary, "seconds", "times as fast (64 cells both)", "not said", SEARCHED)


def _support(summary: Summary) -> Iterator[Claim]:
    ours = summary.compared("support")
    if ours is not None:
        yield _unlike_both("OLLAWV has significantly fewer support vectors", ours)
        yield from _ratios(summary, "support", "times as many support vectors, mean over sets", "1.7")


def _unlike_both(claim: str, ours: Comparison) -> Claim:
    differ = ", ".join(sorted(_differ(ours))) or "neither"
    found = _differ(ours) == _titles(NNISDA, MNSVM)
    return claim, "yes", _judge(ours, found), f"than {differ}: {_ranks(ours)}"


def _ratios(summary: Summary, what: str, words: str, known: str, first: str = OLLAWV) -> Iterator[Claim]:
    values = summary.values(what, (*FIRST, SEARCHED))
    own = values[METHODS[first].title]
    for method in (NNISDA, MNSVM):
        other = values[METHODS[method].title]
        ratio = sum(other.values()) / sum(own.values()) if own else 0.0
        smaller = sum(own[name] < other[name] for name in own)
        told = f"{ratio:.2f}; better on {smaller} of {len(own)} sets"
        verdict = yes(ratio > 1) if len(own) >= FEWEST else "open"
        yield f"{METHODS[first].title} against {METHODS[method].title}: {words}", known, verdict, told


def _others(summary: Summary) -> Iterator[Claim]:
    ours = summary.compared("accuracy", SECOND)
    if ours is None:
        return
    yield "OLLAWV has the best mean rank among the other methods", "yes", _judge(ours, _first(ours)), _ranks(ours)
    differ = _differ(ours)
    told = (
        f"than {', '.join(sorted(differ)) or 'none'}; critical distance {ours.critical_distance('bonferroni-dunn'):.3f}"
    )
    found = differ >= _titles(*SECOND[2:])
    yield "OLLAWV is significantly better than all of them but KNN", "yes", _judge(ours, found), told


def _boundary(summary: Summary) -> Iterator[Claim]:
    unlike = {at["n"]: [r[m]["unlike_bayes"] for m in (OLLAWV, SVC_)] for at, r in summary.of("boundary")}
    if len(unlike) < 2:
        return
    few, many = (unlike[n] for n in sorted(unlike))
    told = "OLLAWV {:.2f} to {:.2f} %, SVC {:.2f} to {:.2f} %".format(
        *(100 * v for v in (few[0], many[0], few[1], many[1]))
    )
    holds = all(b < a for a, b in zip(few, many, strict=True))
    yield (
        "Boundaries approach the Bayes boundary from 200 to 2,000 points (predictions unlike it)",
        "yes",
        yes(holds),
        told,
    )
