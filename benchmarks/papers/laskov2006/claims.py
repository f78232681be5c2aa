"""What the paper says in words, beside our numbers."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.papers.frame import Claim, claims_table, yes

from .figures import shares
from .settings import ACTIVE_KERNELS, DESIGN_RUNS, DESIGNS, KERNELS, PROFILE_KERNELS, PROFILED, RULES, SIZES
from .summary import Summary

#: False positive rates up to which the paper's curve of "near boundary" is above that of anomaly detection (training
#: rows), and at least at that of the reduced SVM (test rows).
ABOVE = {"linear": (0.3, 0.4), "rbf": (0.9, 1.0), "narrow": (0.9, 1.0)}
#: Curves closer than this count as equal.
LEVEL = 0.01
NEAR, LARGEST = RULES


def claims(summary: Summary) -> str:
    return claims_table(summary, _mnist, _usps, _kdd, known=False)


def design_claims(summary: Summary) -> str:
    return claims_table(summary, _designs, _capacity, known=False)


def path_claims(summary: Summary) -> str:
    return claims_table(summary, _paths, known=False)


def _paths(summary: Summary) -> Iterator[Claim]:
    for kernel in PROFILE_KERNELS:
        result = summary.one("path", kernel=kernel, solver="path")
        if result is not None:
            yield from _profile(KERNELS[kernel].title, result["sizes"][0], result["sizes"][-1])


def _profile(title: str, small: dict[str, Any], large: dict[str, Any]) -> Iterator[Claim]:
    """Figure 3. Shares are compared as printed: those that round to the same number do not differ."""
    first, last = ({part: round(share) for part, share in shares(end).items()} for end in (small, large))
    text = f"{first['kernel']} % at {SIZES[0]:,}, {last['kernel']} % at {SIZES[-1]:,}"
    yield f"Share of kernel rows falls with n: {title}", yes(last["kernel"] < first["kernel"]), text
    top = [max(share, key=lambda part: share[part]) for share in (first, last)]
    holds = top == ["kernel", "gradient"]
    yield f"Kernel rows weigh most at small n, gamma at large: {title}", yes(holds), ", ".join(top)


def _designs(summary: Summary) -> Iterator[Claim]:
    for kernel, digit in DESIGN_RUNS:
        at = {n: summary.designs(kernel, digit, n) for n in SIZES}
        gains = {n: _gain(found, 1, 0) for n, found in at.items() if set(found) == set(DESIGNS)}
        if not gains:
            continue
        least, most, title = min(gains.values()), max(gains.values()), KERNELS[kernel].title
        text = f"{least:.1f} to {most:.1f} times, n = {min(gains):,} to {max(gains):,}"
        alone = [_gain(at[n], 1, 0, "gamma_seconds") for n in gains]
        yield f"New design 5 to 20 times as fast as Algorithm 4: {title}", yes(least >= 5 and most <= 20), text
        words = f"The same of gamma alone: {title}"
        yield words, yes(min(alone) >= 5 and max(alone) <= 20), f"{min(alone):.1f} to {max(alone):.1f} times"
        rises = gains[max(gains)] > gains[min(gains)]
        yield f"Its gain is larger at large n: {title}", yes(rises), f"{gains[min(gains)]:.1f}, {gains[max(gains)]:.1f}"
        core = {n: _gain(at[n], 1, 2) for n in gains}
        text = f"{min(core.values()):.1f} to {max(core.values()):.1f} times"
        yield f"Our core at least 5 times as fast as Algorithm 4 in NumPy: {title}", yes(min(core.values()) >= 5), text


def _gain(found: dict[str, dict[str, float]], slow: int, fast: int, part: str = "seconds") -> float:
    """Ratio of the times of two designs, as printed."""
    return round(found[DESIGNS[slow]][part] / found[DESIGNS[fast]][part], 1)


def _capacity(summary: Summary) -> Iterator[Claim]:
    for at, result in summary.of("capacity"):
        last = result["sizes"][-1]
        end = "memory ended it" if result["full"] else "not the limit"
        text = f"{last['n']:,} rows, {end}, {last['seconds']:.0f} CPU s"
        words = f"28,000 rows in 3 GB, run to {at['n']:,}: {KERNELS[at['kernel']].title}"
        yield words, yes(last["n"] >= 28_000), text


def _mnist(summary: Summary) -> Iterator[Claim]:
    small, large = SIZES[0], SIZES[-1]
    for kernel in PROFILE_KERNELS:
        ends = [summary.grown(kernel, n).get(PROFILED) for n in (small, large)]
        if all(ends):
            yield from _profile(KERNELS[kernel].title, *ends)
    for kernel, published in (("linear", 5), ("rbf", 15), ("narrow", 15)):
        sizes = [100 * s["n_support"] / large for s in summary.grown(kernel, large).values()]
        if sizes:
            words = f"{published} % support vectors at {large:,}, mean of the digits: {KERNELS[kernel].title} (†)"
            share = round(mean(sizes), 1)
            yield words, yes(abs(share - published) <= 0.3 * published), f"{share:.1f} % ({len(sizes)} digits)"
    linear = dict(summary.middle("linear", None)).get(large)
    for kernel in ("rbf", "narrow"):
        other = dict(summary.middle(kernel, None)).get(large)
        if linear and other:
            words = f"RBF takes longer than linear: {KERNELS[kernel].title}"
            yield words, yes(other > linear), f"{other:.3g} s, {linear:.3g} s"


def _usps(summary: Summary) -> Iterator[Claim]:
    full, at_150 = summary.errors("own", None), summary.errors("own", 150)
    if not full or not at_150:
        return
    worse = 100 * (mean(at_150) / mean(full) - 1)
    n_support = mean(r["n_support"] for _, r in summary.of("window", way="own", window=None))
    text = f"{mean(full):.2f} % to {mean(at_150):.2f} %: {worse:+.0f} %"
    yield "Error grows by about 10 % (of itself) with a window of 150", yes(worse < 20), text
    yield "274 support vectors per machine, no limit (†)", yes(abs(n_support / 274 - 1) < 0.15), f"{n_support:.0f}"


def _kdd(summary: Summary) -> Iterator[Claim]:
    for kernel in ACTIVE_KERNELS:
        train = {method: summary.curves(kernel, "train", method) for method in ("anomaly detection", *RULES)}
        test = {method: summary.curves(kernel, "test", method) for method in (NEAR, "reduced SVM")}
        if not train[NEAR]:
            continue
        title, draws = KERNELS[kernel].title, len(train[NEAR])
        attacks = {method: mean(curve["found"] for curve in curves) for method, curves in train.items()}
        text = ", ".join(f"{method} {value:.1f}" for method, value in attacks.items())
        holds = attacks[LARGEST] > max(attacks[NEAR], attacks["anomaly detection"])
        yield f"Largest positive finds most attacks in the learning phase: {title}", yes(holds), text
        grid = np.linspace(0.02, 1, 99)
        detection, reduced = train["anomaly detection"], test["reduced SVM"]
        for words, limit, ours, other in (
            ("Near boundary above anomaly detection (training)", ABOVE[kernel][0], train[NEAR], detection),
            ("Near boundary at least at the reduced SVM (test)", ABOVE[kernel][1], test[NEAR], reduced),
        ):
            gaps = [
                np.interp(grid, a["false"], a["true"]) - np.interp(grid, b["false"], b["true"])
                for a, b in zip(ours, other, strict=True)
            ]
            above = sum(bool(np.all(gap[grid <= limit] >= -LEVEL)) for gap in gaps)
            gap = 100 * float(np.mean([g[grid <= limit].mean() for g in gaps]))
            text = f"{above} of {draws} draws; mean difference {gap:+.1f} points"
            yield f"{words} up to FP = {limit:g}: {title}", yes(above > draws / 2), text
