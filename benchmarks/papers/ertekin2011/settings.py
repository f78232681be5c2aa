"""Every number of the reproduction, in one place, with where it comes from. Imports nothing of weight."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from benchmarks.papers.frame import Job

#: Changes when runs are made differently: results kept from before are then made again.
PROTOCOL = 2
#: Runs per data set and method, as in the paper: random orders, and random splits or flips where there are any.
RUNS = 10
#: Kernel cache in megabytes of every method, SVC too. Adult's support vectors alone need 500. Not published.
CACHE_MB = 1000
#: FULL SVM keeps every example: 4 n^2 bytes, 4.2 GB for adult and 14.4 GB for mnist if all were kept.
FULL_CACHE_MB = {"adult": 6000, "mnist": 9000}
#: Minutes of training after which FULL SVM stops on a large set, at the next checkpoint.
FULL_MINUTES = 20.0
#: Left end of the ramp in all tables and curves ("We used s = -1", caption of figure 4).
S = -1.0
#: LASVM-I with and without a warm-up: sets, with the number of runs, and values of s and of `warm_sv`.
WARM_SETS = {"adult": 5, "banana": 10, "usps-n": 10}
WARM_S = (-1.0, -0.5, -0.1)
WARM_SV = (0, 100)
#: Supplement: LASVM-NC on Adult with other values of what is not published. Defaults: 256, 100, 100.
UNPUBLISHED = {"clean_period": (64, 256, 1024), "max_non_sv": (0, 100, 1000), "warm_sv": (0, 100, 1000)}
#: Supplement: USPS with smoothed images and random splits of the published sizes: runs, and values of C.
READING_RUNS = 5
READING_CS = {"usps": (1, 10, 1000), "usps-n": (1,)}
#: Section 8.1: LASVM-G asks for the label nearest to the boundary among so many random rows (None: all; 1: random).
#: Sets, runs, and numbers of labels at which the model is tested. None of them is published.
POOLS = (1, 59, None)
POOL_SETS = ("banana", "usps")
POOL_RUNS = 5
POOL_LABELS = (50, 100, 200, 500)
#: Fraction of the rows among which the chosen one should be, with probability 0.95 for 59 rows; and the number of
#: questions between two such comparisons with all rows.
POOL_BEST, POOL_COMPARED = 0.05, 5
#: Figure 5: LASVM-NC and LASVM-I with these.
S_GRID = (-4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.3, 0.6, 0.9)
#: Curves: the model is tested after these fractions of the training examples.
CHECKPOINTS = (0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, *(round(0.3 + 0.1 * k, 1) for k in range(8)))

#: Divisors of features in [-1, 1].
USPS_SCALINGS = {"x/16": 16, "x/8": 8, "x/32": 32}
#: Which USPS did the paper use? Digit, images, scaling, split, C. The first is the one of all tables.
USPS_READINGS = [
    *((digit, "original", "x/16", "published", 1) for digit in range(10)),
    *((digit, "smoothed", "x/16", "random", 1) for digit in range(10)),
    (0, "original", "x/16", "random", 1),
    (0, "smoothed", "x/16", "published", 1),
    *((0, "original", "x/16", "published", C) for C in (10, 1000)),
    *((0, "smoothed", "x/16", split, 1000) for split in ("published", "random")),
    *((0, "original", scaling, "published", 1) for scaling in ("x/8", "x/32")),
]


@dataclass(frozen=True)
class Set:
    """A data set as the paper uses it.

    `positive`: this label against the rest; None: labels are -1 and 1. `split`: training and test rows drawn at
    random, None: the published split. `images`: of USPS, "original" or "smoothed". `flips`: fraction of the training
    labels that are changed. `dense`: whether LASVC gets dense rows. `large`: fewer runs of what is slow. `published`:
    rows of the paper's training and test part.
    """

    name: str
    title: str
    source: str
    C: float
    gamma: float
    published: tuple[int, int]
    scale: float = 1.0
    positive: int | None = None
    split: tuple[int, int] | None = None
    flips: float = 0.0
    dense: bool = True
    large: bool = False
    images: str = "original"

    @property
    def is_random(self) -> bool:
        """Whether every run has data of its own."""
        return self.split is not None or self.flips > 0


# C and gamma: Table 2 of the paper. Which scaling they belong to is not said: mnist x/255 has about the published
# number of support vectors; usps is x/16 with x in [-1, 1] (with [0, 1] every example becomes a support vector).
SETS = {
    s.name: s
    for s in (
        Set("adult", "Adult", "adult", C=100, gamma=0.005, published=(32562, 16282), large=True),
        Set("mnist", "Mnist (8)", "mnist", 100, 0.001, (60000, 10000), scale=1 / 255, positive=8, large=True),
        Set("banana", "Banana", "banana", C=10, gamma=1, published=(4000, 1300), split=(4000, 1300)),
        Set("reuters", "Reuters", "reuters", C=1, gamma=0.5, published=(7770, 3299), dense=False),
        Set("usps", "USPS", "usps", C=1, gamma=2, published=(7329, 1969), scale=1 / 16, positive=0),
        Set("usps-n", "USPS-N", "usps", 1, 2, (7329, 1969), scale=1 / 16, positive=0, flips=0.1),
    )
}


@dataclass(frozen=True)
class Method:
    """A row of the tables.

    `published`: name of the row it is compared with; `variant`: of LASVC, None: SVC; `finish`: what is optimised after
    the pass, None: nothing.
    """

    name: str
    title: str
    published: str
    variant: str | None
    finish: str | None = None

    @property
    def has_ramp(self) -> bool:
        """Whether `s` matters."""
        return self.variant in ("nc", "i")

    @property
    def has_curve(self) -> bool:
        """Whether there is a model for every number of examples."""
        return self.variant is not None and not self.finish


METHODS = {
    m.name: m
    for m in (
        Method("full", "FULL SVM", "FULL SVM", "full"),
        Method("g", "LASVM-G", "LASVM-G", "g"),
        Method("nc", "LASVM-NC", "LASVM-NC", "nc"),
        Method("i", "LASVM-I", "LASVM-I", "i"),
        Method("lasvm", "LASVM", "LASVM", "lasvm"),
        Method("lasvm-expansion", "LASVM with FINISHING", "LASVM", "lasvm", finish="expansion"),
        Method("lasvm-finished", "LASVM, finished", "LASVM", "lasvm", finish="all"),
        Method("libsvm", "LIBSVM", "LIBSVM", None),
    )
}


def runs_of(data: Set, method: Method, s: float, wanted: int) -> int:
    """Runs of a method on a set: all that are wanted, less where they are slow or would all be equal."""
    if method.name == "libsvm":
        return wanted if data.is_random else 1
    if data.large and method.name == "full":
        return min(wanted, 1)
    if data.large and (method.finish or s != S):
        return min(wanted, 3)
    return wanted


def jobs(quick: bool) -> list[Job]:
    """All runs: set after set, tables and curves first, then the other values of `s`, the slow ones last."""
    found = []
    for data in SETS.values():
        if quick and data.large:
            continue
        chosen = list(METHODS.values())
        main = [(m, S) for m in chosen] + [(m, s) for s in S_GRID if s != S for m in chosen if m.has_ramp]
        if data.large:
            main.sort(key=lambda pair: pair[0].name == "full")
        for method, s in main:
            found += [_train(data, method, s, k) for k in range(runs_of(data, method, s, 1 if quick else RUNS))]
    gaps = [Job("gap", {"name": data.name}) for data in SETS.values() if not (quick and data.large)]
    warm = [
        Job("warm", {"name": name, "s": s, "warm_sv": warm_sv, "seed": k})
        for name, runs in WARM_SETS.items()
        for s, warm_sv, k in product(WARM_S, WARM_SV, range(1 if quick else runs))
        if not (quick and SETS[name].large)
    ]
    pools = [
        Job("pool", {"name": name, "size": size, "seed": k}, more={"protocol": PROTOCOL, "labels": POOL_LABELS})
        for name, size, k in product(POOL_SETS, POOLS, range(1 if quick else POOL_RUNS))
    ]
    return [
        *found,
        *gaps,
        *warm,
        *pools,
        *_supplement(quick),
        Job("usps_readings", {}, "scikit-learn", more={"cases": USPS_READINGS}),
    ]


def _supplement(quick: bool) -> list[Job]:
    options = [dict(zip(UNPUBLISHED, values, strict=True)) for values in product(*UNPUBLISHED.values())]
    found = [] if quick else [Job("unpublished", {"name": "adult", **cell}, kept=True) for cell in options]
    return found + [
        Job("reading", {"name": name, "C": float(C), "method": method, "seed": seed}, kept=True)
        for name, Cs in READING_CS.items()
        for C in Cs
        for method in METHODS
        for seed in range(1 if quick else READING_RUNS)
    ]


def single_pass(data: Set, method: Method) -> bool:
    """Whether a second pass is too slow: the stream with its checkpoints is timed, and may end early."""
    return method.name == "full" and data.large


def cache_mb(data: Set, method: Method) -> int:
    return FULL_CACHE_MB.get(data.name, CACHE_MB) if method.name == "full" else CACHE_MB


def _train(data: Set, method: Method, s: float, seed: int) -> Job:
    more = {
        "protocol": PROTOCOL,
        "data": {k: v for k, v in vars(data).items() if k not in ("title", "published", "large", "images")},
        "options": {k: v for k, v in vars(method).items() if k not in ("title", "published")},
        "cache_mb": cache_mb(data, method),
        "checkpoints": CHECKPOINTS if method.has_curve and s == S else (),
        "minutes": FULL_MINUTES if single_pass(data, method) else None,
    }
    package = "scikit-learn" if method.variant is None else "hingeline"
    expected = (60 * FULL_MINUTES if method.name == "full" else 60.0) if data.large else 0.0
    at = {"name": data.name, "method": method.name, "s": s, "seed": seed}
    return Job("train", at, package, more=more, expected=expected)
