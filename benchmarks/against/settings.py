"""Every number of the comparison, in one place, with where it comes from.

Data sets, scaling, kernel widths, penalties, cases and the sizes of a quick run. Nothing is imported here, so that the
harness stays small and can fix the number of threads of its children.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: Below this ratio two times are called a tie: runs of one program on one machine differ by about 15 %.
TIE = 1.3
#: Kernel cache of every trainer in megabytes; scikit-learn's default (LIBSVM's own is 100).
CACHE_MB = 200


@dataclass(frozen=True)
class Ours:
    """Setting of WorstViolatorSVC. C has no influence on it."""

    gamma: float
    margin: float = 0.1


@dataclass(frozen=True)
class Theirs:
    """Setting of every C-SVM."""

    C: float
    gamma: float


@dataclass(frozen=True)
class Data:
    """A data set as the comparison uses it: published split, scaled.

    `scaling`: "none", "unit" (to [0, 1] with the range of the training part) or "255" (divided by 255).
    `positive`: this label against the rest. `rows`: at most so many training rows, drawn at random with a fixed seed.
    `exponents`: gamma = 4**k with first <= k <= last is what benchmarks.choose_gamma tries.
    """

    name: str
    scaling: str
    ours: Ours
    theirs: Theirs
    positive: int | None = None
    rows: int | None = None
    exponents: tuple[int, int] = (-5, 2)


#: Margins that benchmarks.choose_gamma tries.
MARGINS = (0.01, 0.1, 0.3)
#: Penalty with which benchmarks.choose_gamma searches gamma for SVC, and its largest sample.
SEARCH_C, SEARCH_ROWS = 16.0, 5000

# Ours: the best of `python -m benchmarks.choose_gamma` (5-fold cross-validation on the training part over gamma = 4**k
# and three margins; accuracy there: adult 85.02 %, letter 96.48 %, pendigits 99.56 %, satimage 91.54 %, usps 98.00 %).
# Theirs: adult is the setting of the LASVM and OLLAWV papers. The multi-class sets have C=16 and the width with which
# SVC was measured before: 1 on features in [0, 1]; usps 2 on x/16, which is 2/256 on x in [-1, 1]. mnist 8 against
# rest is the LASVM paper's, C=100 and gamma=.001 on x/255.
SETS = {
    "adult": Data("adult", "none", Ours(gamma=0.0625, margin=0.01), Theirs(C=100.0, gamma=0.005), exponents=(-8, 0)),
    "letter": Data("letter", "unit", Ours(gamma=16.0), Theirs(C=16.0, gamma=1.0)),
    "pendigits": Data("pendigits", "unit", Ours(gamma=4.0, margin=0.3), Theirs(C=16.0, gamma=1.0)),
    "satimage": Data("satimage", "unit", Ours(gamma=16.0), Theirs(C=16.0, gamma=1.0)),
    # Stored in [-1, 1] already.
    "usps": Data("usps", "none", Ours(gamma=0.015625), Theirs(C=16.0, gamma=2 / 256), exponents=(-8, 0)),
    # Memory only; gamma of ours is a guess, and any value serves.
    "mnist8": Data(
        "mnist", "255", Ours(gamma=0.02), Theirs(C=100.0, gamma=0.001), positive=8, rows=20_000, exponents=(-8, 0)
    ),
    # The LASVM paper's, all 60,000 rows.
    "mnist8-all": Data("mnist", "255", Ours(gamma=0.02), Theirs(C=100.0, gamma=0.001), positive=8),
    # Blocks only; rows have unit length, so gamma=1 gives values between exp(-2) and 1.
    "reuters": Data("reuters", "none", Ours(gamma=1.0), Theirs(C=1.0, gamma=1.0)),
}


@dataclass(frozen=True)
class Case:
    """One table of the report.

    `kind` says which code measures it (cases.py), `options` go there. `most_repeats` bounds --repeats where one
    repeat takes minutes, or where there is nothing to repeat.
    """

    name: str
    kind: str
    title: str
    goal: str
    options: dict[str, Any] = field(default_factory=dict)
    most_repeats: int | None = None


#: Queries of a kernel block, base rows of a dense one, calls per repeat.
QUERIES, BASE, CALLS = 64, 20_000, 20

_BLOCK_GOAL = "at least 75 % of the rate of sgemm 64 x d @ d x n (ratio 0.75)"
_TRAIN_GOAL = "faster than every peer; at least 3 x scikit-learn's SVC"
_THREADS_GOAL = "ratio at least 1.7"

CASES = (
    # d = 784 (mnist), 123 (adult), 16 (letter, pendigits).
    Case("block-784", "block", "RBF block 64 x 20,000, d = 784, float32", _BLOCK_GOAL, {"features": 784}),
    Case("block-123", "block", "RBF block 64 x 20,000, d = 123, float32", _BLOCK_GOAL, {"features": 123}),
    Case(
        "block-16",
        "block",
        "RBF block 64 x 20,000, d = 16, float32",
        f"{_BLOCK_GOAL}; at least 1e9 values/s with AVX-512",
        {"features": 16},
    ),
    Case("csr-block-adult", "csr-block", "RBF block, CSR, adult", "ratio at least 3", {"data": "adult"}),
    Case("csr-block-reuters", "csr-block", "RBF block, CSR, reuters", "ratio at least 3", {"data": "reuters"}),
    # The model is SVC's at its paper's setting: about 11,000 support vectors.
    Case(
        "predict-dense",
        "predict",
        "decision_function, adult test set, dense",
        "at least 25 x scikit-learn's SVC, 2 x scikit-learn-intelex",
        {"data": "adult", "form": "dense"},
    ),
    Case(
        "predict-csr",
        "predict",
        "decision_function, adult test set, CSR",
        "at least 10 x scikit-learn's SVC",
        {"data": "adult", "form": "csr"},
    ),
    Case(
        "train-adult",
        "train",
        "Training, adult",
        "at least 20 x scikit-learn's SVC, 3 x scikit-learn-intelex",
        {"data": "adult", "forms": ("dense", "csr")},
        most_repeats=3,
    ),
    *(
        Case(f"train-{name}", "train", f"Training, {name} one-vs-one", _TRAIN_GOAL, {"data": name, "forms": ("dense",)})
        for name in ("letter", "pendigits", "satimage", "usps")
    ),
    *(
        Case(
            f"lasvm-{name}",
            "lasvm",
            f"LASVM family, {title}",
            goal,
            {"data": name, "forms": ("dense", "csr")},
            most_repeats=3,
        )
        for name, title, goal in (
            ("adult", "adult", "NC and I: at least 20 x scikit-learn's SVC, 3 x scikit-learn-intelex; G: 4 x SVC"),
            ("mnist8-all", "mnist 8 against rest", "NC and I: at least 10 x SVC, 2 x the fastest exact peer"),
        )
    ),
    Case("threads-fit-adult", "threads", "Two threads, fit, adult", _THREADS_GOAL, {"data": "adult", "task": "fit"}),
    Case("threads-fit-letter", "threads", "Two threads, fit, letter", _THREADS_GOAL, {"data": "letter", "task": "fit"}),
    Case(
        "threads-predict-adult",
        "threads",
        "Two threads, decision_function, adult",
        _THREADS_GOAL,
        {"data": "adult", "task": "decide"},
    ),
    Case(
        "memory",
        "memory",
        "Memory of training",
        "growth at most data + cache_size + O(n)",
        {"data": (("mnist8", "dense"), ("adult", "dense"), ("adult", "csr")), "cache_sizes": (50, 200)},
        most_repeats=1,
    ),
    Case("import", "import", "Import time", "at most 1.3 x import sklearn.svm (ratio 0.77)", {"rounds": 2}),
)


@dataclass(frozen=True)
class Sizes:
    """Limits of a run; None: as the case says."""

    rows: int | None = None
    test_rows: int | None = None
    base: int = BASE
    calls: int = CALLS


FULL = Sizes()
#: Shows that everything runs; measures nothing.
QUICK = Sizes(rows=600, test_rows=200, base=500, calls=2)
QUICK_REPEATS = 2
