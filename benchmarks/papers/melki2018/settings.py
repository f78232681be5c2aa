"""Every number of the reproduction, in one place, with where it comes from. Imports nothing of weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.papers.frame import Job, published

#: Changes when runs are made differently: results kept from before are then made again.
PROTOCOL = 2
SEED = 2018
PUBLISHED = published(__file__)
SMALL, MEDIUM, LARGE = "small", "medium", "large"


@dataclass(frozen=True)
class Set:
    """`source`: name of the stored data set. `note`: where our copy differs from Table 1.2."""

    group: str
    source: str
    note: str = ""


def _sets(group: str, *names: str) -> dict[str, Set]:
    return {name: Set(group, name) for name in names}


#: The groups of the chapter.
SETS = {
    **_sets(SMALL, "iris", "teach", "wine", "cancer", "sonar", "glass", "vote", "heart", "dermatology", "prokaryotic"),
    "eukaryotic": Set(SMALL, "eukaryotic", "4 classes, 2 are printed (T9)"),
    **_sets(MEDIUM, "optdigits", "satimage", "usps", "pendigits", "reuters", "letter"),
    **_sets(LARGE, "adult", "w3a"),
    "shuttle": Set(LARGE, "shuttle", "9 attributes, 7 are printed"),
    "web": Set(LARGE, "w8a"),
    **_sets(LARGE, "ijcnn1"),
    "intrusion": Set(
        LARGE, "kdd99", "the 10 % file and the file of corrected labels; the chapter has all of KDD Cup 99"
    ),
}

FOLDS = INNER = 5
#: CPU seconds after which one outer fold of a paper's solver counts as unfinished: more than all five folds of OLLAWV
#: take on any large set that NNISDA or MNSVM is compared on, so that the order of the times is known.
LIMIT = 200
#: One fit to the training part of the first fold, which tells how long a search would take: the cell that is chosen
#: most often on w3a and adult.
CELL_SETS, CELL_METHODS = ("w3a", "web", "shuttle", "adult", "ijcnn1"), ("ollawv", "svc", "l2")
CELL_C, CELL_GAMMA = 16.0, 0.0625
#: Megabytes for the kernel matrix of a search.
MEMORY_MB = 3000
#: Equations 1.7a and 1.7b.
CS = tuple(4.0**k for k in range(-2, 6))
GAMMAS = tuple(4.0**k for k in range(-5, 3))
#: In place of C, which has no effect on OLLAWV: from the smallest of the authors' tests to one that is too large.
MARGINS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0)
MARGIN = 0.1
#: Most steps as a share of the samples of a pair of classes: the default of the authors' program.
HALF = 0.5


@dataclass(frozen=True)
class Method:
    """`grid`: values of each parameter. `note`: what takes the place of a program of Weka."""

    title: str
    grid: dict[str, tuple[Any, ...]] = field(hash=False)
    package: str = "hingeline"
    note: str = ""


BOTH = {"C": CS, "gamma": GAMMAS}
OLLAWV, NNISDA, MNSVM, SVC_, SEARCHED, KNN = "ollawv", "nnisda", "mnsvm", "svc", "ollawv-margin", "knn"
CAPPED, OPTIMUM = "ollawv-half", "l2"
METHODS = {
    OLLAWV: Method("OLLAWV", {"gamma": GAMMAS}),
    NNISDA: Method("NNISDA", BOTH),
    MNSVM: Method("MNSVM", BOTH),
    SVC_: Method("SVC", BOTH),
    CAPPED: Method("OLLAWV, cap 0.5", {"gamma": GAMMAS}),
    SEARCHED: Method("OLLAWV, margin searched", {"margin": MARGINS, "gamma": GAMMAS}),
    OPTIMUM: Method("L2-SVM", BOTH),
    KNN: Method(
        "KNN",
        {"n_neighbors": (1, 3, 5, 7)},
        "scikit-learn",
        note="KNeighborsClassifier; the search takes all from one list",
    ),
    "j48": Method(
        "J48",
        {"ccp_alpha": (0.0, 1e-4, 1e-3, 1e-2)},
        "scikit-learn",
        note="DecisionTreeClassifier by entropy, at least 2 rows in a leaf; cost-complexity pruning of three strengths "
        "or none takes the place of the three confidences or none",
    ),
    "jrip": Method(
        "JRip",
        {"max_leaf_nodes": (None, 32)},
        "scikit-learn",
        note="DecisionTreeClassifier with at most 32 leaves, hence 32 rules, or without limit. scikit-learn has no "
        "learner of rules: a weak stand-in",
    ),
    "bayes": Method(
        "Naïve Bayes",
        {"kernel_estimation": (False, True)},
        "scikit-learn",
        note="GaussianNB; for kernel estimation CategoricalNB on 10 bins of equal width",
    ),
    "logistic": Method(
        "Logistic",
        {"C": (5e6, 5e7, 5e8)},
        "scikit-learn",
        note="LogisticRegression with C = 1/(2 ridge), at most 200 iterations of L-BFGS",
    ),
}
#: Solvers of L2SVC.
SOLVERS = {NNISDA: "nnisda", MNSVM: "min_norm"}
#: Whether Newton's method came between the steps in the runs that are kept. New runs make the steps only, and those of
#: NNISDA take several times as long: raise PROTOCOL if they are made again.
NEWTON = {NNISDA: True, MNSVM: False}
#: Table 1.3, what we add to it, and Table 1.5.
FIRST = (OLLAWV, NNISDA, MNSVM)
MORE = (SVC_, CAPPED, SEARCHED)
SECOND = (OLLAWV, KNN, "j48", "jrip", "bayes", "logistic")

# ---- Figure 1.1 ----------------------------------------------------------------------------------------

#: Points; the chapter gives neither means nor covariances. Ours: unit circle at 0 and a wide ellipse at (2, 1).
BOUNDARY_N = (200, 2000)
MEANS = ((0.0, 0.0), (2.0, 1.0))
COVARIANCES = (((1.0, 0.0), (0.0, 1.0)), ((3.0, 1.0), (1.0, 2.0)))
PLANE = (-4.0, 7.0, -4.5, 6.0)
GRID_POINTS, TEST_POINTS = 120, 20_000
#: Fewer cells than in the study: large C takes long where classes overlap.
BOUNDARY_CS, BOUNDARY_GAMMAS = CS[:4], GAMMAS[2:6]

#: With --quick, and the first two outer folds of them.
QUICK_SETS = ("iris", "vote")


def jobs(quick: bool) -> list[Job]:
    """Figure 1.1, then set after set, methods in turns."""
    found = [_boundary(n) for n in BOUNDARY_N[: 1 if quick else None]]
    for name in QUICK_SETS if quick else SETS:
        for fold in range(2 if quick else FOLDS):
            found += [_nested(name, method, fold) for method in METHODS if _searched(name, method)]
    if not quick:
        found += [_cell(name, method) for name in CELL_SETS for method in CELL_METHODS]
        found += [_limited(name, method) for name in SETS for method in SOLVERS if SETS[name].group == LARGE]
    return found


def _searched(name: str, method: str) -> bool:
    """On large sets the optimum of NNISDA and MNSVM, which is one, is found once, by the default solver of L2SVC."""
    return method != OPTIMUM if SETS[name].group != LARGE else method not in SOLVERS


def strategy(name: str, method: str) -> str:
    """How a search goes through its cells: pattern search of the large sets, if cells do not share their training."""
    return "pattern" if SETS[name].group == LARGE and METHODS[method].grid == BOTH else "grid"


def _nested(name: str, method: str, fold: int) -> Job:
    at = {"name": name, "method": method, "fold": fold}
    more = {"protocol": PROTOCOL, "folds": FOLDS, "inner": INNER, "seed": SEED, "margin": MARGIN}
    more["grid"] = METHODS[method].grid
    more |= {"newton": NEWTON[method]} if method in NEWTON else {}
    more |= {"neighbours": "shared"} if method == KNN else {}
    more |= {"cap": HALF} if method == CAPPED else {}
    more |= {"rows": "repeats kept"} if name == "web" else {}
    more |= {"search": strategy(name, method)} if strategy(name, method) != "grid" else {}
    expected = PUBLISHED["sizes"][name][0] * (1.0 if "C" in METHODS[method].grid else 0.1)  # rows: longest first
    large = SETS[name].group == LARGE
    return Job("nested", at, METHODS[method].package, more=more, large=large, expected=expected, kept=True)


def _limited(name: str, method: str) -> Job:
    more = {**_nested(name, method, 0).more, "limit": LIMIT}
    return Job("limited", {"name": name, "method": method}, more=more, large=True, expected=LIMIT, kept=True)


def _cell(name: str, method: str) -> Job:
    more = {"protocol": PROTOCOL, "C": CELL_C, "gamma": CELL_GAMMA, "limit": LIMIT, "rows": "repeats kept"}
    return Job("cell", {"name": name, "method": method}, more=more, large=True, kept=True)


def _boundary(n: int) -> Job:
    more = {"protocol": PROTOCOL, "means": MEANS, "covariances": COVARIANCES, "plane": PLANE, "points": GRID_POINTS}
    return Job("boundary", {"n": n}, more={**more, "tested": TEST_POINTS, "Cs": BOUNDARY_CS, "gammas": BOUNDARY_GAMMAS})
