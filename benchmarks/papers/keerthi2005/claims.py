"""What the paper says, beside our numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from benchmarks.papers.frame import Claim, claims_table, faster, yes

from . import data, published
from .settings import FAMILIES, HEURISTICS, LARGE, PAPER, RIVALS, SETS, SOLVERS
from .summary import Summary
from .tables import ours_against, published_against

#: CV errors, points, and fractions that count as equal.
SAME_ERROR, SAME_FRACTION = 0.1, 0.005
#: What is compared: the paper's way and what a user gets, with the dual methods.
MINE, DUAL = (PAPER, "auto"), ("s1", "s3")
#: "Far fewer": a share.
FAR = 0.1


def claims(summary: Summary) -> str:
    return claims_table(summary, _seeding, _heuristics, _work, _speed, _errors, _scaling)


def rival_claims(summary: Summary) -> str:
    return claims_table(summary, _rivals, known=False)


def _rivals(summary: Summary) -> Iterator[Claim]:
    """The paper's main claim, over all sizes of a family."""
    for words, rival, least in (
        ("Over 4 times as fast as LIBSVM's SMO", "smo", 4.0),
        ("Faster than LIBLINEAR's dual method, squared hinge, to the end", "dual-squared", 1.0),
        ("Faster than LIBLINEAR's dual method, hinge, to the end", "dual-hinge", 1.0),
    ):
        for family, names in FAMILIES.items():
            for who in MINE:
                pairs = [[summary.one("rival", name=name, rival=one) for one in (who, rival)] for name in names]
                ratios = [other["seconds"] / ours["seconds"] for ours, other in pairs if ours and other]
                if ratios:
                    text = ", ".join(f"{ratio:.2f}" for ratio in ratios)
                    yield f"{words}: {family}, {RIVALS[who]}", yes(min(ratios) > least), f"{text} times"


def _seeding(summary: Summary) -> Iterator[Claim]:
    for name in summary.names("seeding", LARGE):
        none, seeded = (summary.one("seeding", name=name, way=way, solver=PAPER) for way in ("none", "seeded"))
        if none and seeded:
            known = published.SEEDING["none"][name] / published.SEEDING["seeded"][name]
            seconds, passes = none["seconds"] / seeded["seconds"], sum(none["passes"]) / sum(seeded["passes"])
            words = f"β-seeding is faster (Table 1): {SETS[name].title}"
            yield words, f"{known:.2f} times", faster(seconds, passes), f"{seconds:.2f} times, passes {passes:.2f}"


def _heuristics(summary: Summary) -> Iterator[Claim]:
    gains, theirs, shares = {}, {}, {}
    for name in summary.names("heuristics", LARGE):
        runs = {variant: summary.one("heuristics", name=name, variant=variant) for variant in HEURISTICS}
        if not all(runs.values()):
            continue
        seconds = {variant: found["seconds"] for variant, found in runs.items() if found}
        passes = {variant: found["passes"] for variant, found in runs.items() if found}
        known = {variant: published.HEURISTICS[variant][name] for variant in HEURISTICS}
        for variant in ("first", "second"):
            words = f"{HEURISTICS[variant][0].capitalize()} alone is faster than none (Table 3): {SETS[name].title}"
            ratios = seconds["none"] / seconds[variant], passes["none"] / passes[variant]
            told = f"{ratios[0]:.2f} times, passes {ratios[1]:.2f}"
            yield words, f"{known['none'] / known[variant]:.2f} times", faster(*ratios), told
        gains[name] = passes["none"] / passes["both"]
        theirs[name], shares[name] = known["none"] / known["both"], runs["both"]["sv_fraction"] if runs["both"] else 0.0
        gain = seconds["none"] / seconds["both"]
        words = f"Both heuristics: at least twice as fast: {SETS[name].title}"
        told = f"{gain:.2f} times, passes {gains[name]:.2f}"
        yield words, f"{theirs[name]:.2f} times", yes(min(gain, gains[name]) >= 2), told
    if len(gains) > 1:
        order = sorted(gains, key=lambda name: shares[name])
        falling = all(gains[a] >= gains[b] for a, b in pairwise(order))
        words = "Both gain more where fewer rows are support vectors"
        known_order = sorted(theirs, key=lambda name: published.SV_FRACTION[name])
        yield words, _listed(theirs, known_order), yes(falling), "passes: " + _listed(gains, order)
    for name in shares:
        known_share = published.SV_FRACTION[name]
        other = " (other features)" if name == "news20" else ""
        same = yes(abs(shares[name] - known_share) <= SAME_FRACTION)
        yield f"Fraction of support vectors: {SETS[name].title}{other}", f"{known_share}", same, f"{shares[name]:.3f}"


def _listed(values: dict[str, float], order: list[str]) -> str:
    return ", ".join(f"{SETS[name].title} {values[name]:.2f}" for name in order)


def _work(summary: Summary) -> Iterator[Claim]:
    for name in summary.names("fit", LARGE):
        found = [r for _, r in summary.of("fit", name=name, solver=PAPER)]
        if found:
            iterations = [r["iterations"] for r in found]
            most = max(iterations)
            words = f"Few Newton iterations (section 4.5): {SETS[name].title}"
            yield words, "5 to 20", yes(most <= 20), f"{min(iterations)} to {most}"
            smaller = min(data.load(name)[0].shape)
            steps = sum(r["passes"] for r in found) / sum(iterations)
            words = f"Passes to an iteration are far fewer than min(m, n): {SETS[name].title}"
            yield words, "102 of 198,788 (Financial)", yes(steps < FAR * smaller), f"{steps:.1f} of {smaller:,}"
            worst = max(r["kkt"] for r in found)
            words = f"KKT violation of 0.001 can be had (section 4.7): {SETS[name].title}"
            yield words, "yes", yes(worst <= 1e-3), f"largest {worst:.1e}"


def _speed(summary: Summary) -> Iterator[Claim]:
    for name in summary.names("fit", LARGE):
        known = {method: published_against(name, method) for method in ("light", "bsvm")}
        told = ", ".join(f"{published.METHODS[method]} {s.optimal:.1f}" for method, s in known.items() if s)
        for ours in MINE:
            found = {theirs: ours_against(summary, name, ours, theirs) for theirs in DUAL}
            ratios = {SOLVERS[theirs].title: s.optimal for theirs, s in found.items() if s}
            if len(ratios) == len(DUAL):
                words = f"Over 4 times as fast as dual methods, each at its best C: {SETS[name].title}"
                text = ", ".join(f"{title} {x:.2f}" for title, x in ratios.items())
                yield f"{words}, {SOLVERS[ours].title}", told, yes(min(ratios.values()) >= 4), text
    for name in summary.names("fit", LARGE):
        growth = {s: _growth(summary.fits(name, s)) for s in (PAPER, "s1", "s3")}
        if all(growth.values()):
            theirs_growth = {m: _growth(published.seconds(name, m)) for m in ("mfn", "light", "bsvm")}
            own, dual = growth[PAPER] or 0, min(growth["s1"] or 0, growth["s3"] or 0)
            words = f"Time grows less with C than that of dual methods: {SETS[name].title}"
            names = (SOLVERS[PAPER].title, SOLVERS["s1"].title, SOLVERS["s3"].title)
            text = ", ".join(f"{title} {g:.1f}" for title, g in zip(names, growth.values(), strict=True))
            shown = ", ".join(f"{published.METHODS[m]} {g:.1f}" for m, g in theirs_growth.items())
            yield words, shown, faster(dual / own), text


def _growth(values: list[float | None]) -> float | None:
    """Last over first."""
    return values[-1] / values[0] if values and values[0] and values[-1] else None


def _errors(summary: Summary) -> Iterator[Claim]:
    for name in summary.names("cv", LARGE):
        squared, hinge = summary.errors(name, "auto"), summary.errors(name, "s3")
        if squared:
            known = min(published.errors(name, "mfn"))
            other = " (other features)" if name == "news20" else ""
            words = f"Lowest CV error, squared hinge: {SETS[name].title}{other}"
            yield words, f"{known:.2f} %", yes(abs(min(squared) - known) <= SAME_ERROR), f"{min(squared):.2f} %"
        if squared and hinge:
            known_pair = [min(published.errors(name, method)) for method in ("mfn", "light")]
            words = f"Squared hinge and hinge err alike: {SETS[name].title}"
            text = f"{min(squared):.2f} and {min(hinge):.2f} %"
            alike = yes(abs(min(squared) - min(hinge)) <= SAME_ERROR)
            yield words, "{:.2f} and {:.2f} %".format(*known_pair), alike, text


def _scaling(summary: Summary) -> Iterator[Claim]:
    for family, names in FAMILIES.items():
        for ours in MINE:
            pairs = {d: [(summary.best(name, ours), summary.best(name, d)) for name in names] for d in DUAL}
            ratios = {d: [b / a for a, b in pair if a and b] for d, pair in pairs.items()}
            slope, slopes = summary.slope(family, ours), {d: summary.slope(family, d) for d in DUAL}
            if slope is None or any(len(found) < len(names) for found in ratios.values()):
                continue
            where = f"{family}, {SOLVERS[ours].title}"
            text = "; ".join(
                f"{SOLVERS[d].title} {', '.join(f'{x:.2f}' for x in found)}" for d, found in ratios.items()
            )
            holds = faster(*(x for found in ratios.values() for x in found))
            yield f"Faster than dual methods at every m (Figure 1): {where}", "yes", holds, text
            text = f"exponent {slope:.2f}; " + ", ".join(f"{SOLVERS[d].title} {x:.2f}" for d, x in slopes.items() if x)
            better = all(x is not None and slope < x for x in slopes.values())
            yield f"Scales better with m (Figure 1): {where}", "yes", yes(better), text
