"""Cases and all their numbers. Imports nothing of weight: the parent process must not load numpy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.against.settings import SETS as AGAINST
from benchmarks.against.settings import Data, Ours, Theirs
from benchmarks.harness import Case

PROTOCOL = 4

#: All solvers must come to (1 + EXCESS) times the smallest objective known, each at the loosest of TOLERANCES that
#: does. The search ends after a fit that took longer than PATIENCE seconds.
EXCESS = 1e-6
TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
REFERENCE_TOLERANCES = (1e-5, 1e-6, 1e-7, 1e-8)
PATIENCE = 100.0
#: News groups comp.*, sci.*, misc.forsale, against the ten others.
POSITIVE_GROUPS = (1, 2, 3, 4, 5, 6, 11, 12, 13, 14)


@dataclass(frozen=True)
class Drawn:
    """Artificial rows: values are there with probability `density`; noise of the teacher, relative to its answers."""

    rows: int
    features: int
    density: float
    noise: float


#: Noise such that about 70 % of the rows are support vectors at C = 1.
DRAWN = Drawn(rows=1_000_000, features=80, density=0.1, noise=0.6)


@dataclass(frozen=True)
class Linear:
    """Rows for a linear machine; `forms`: those in which hingeline gets them, the natural one first."""

    source: str
    title: str
    forms: tuple[str, ...]
    scaling: str = "none"
    positive: int | None = None
    rows: int | None = None
    few_features: bool = True


SETS = {
    "adult": Linear("adult", "adult", ("csr", "dense")),
    "w8a": Linear("w8a", "w8a", ("csr", "dense")),
    "ijcnn1": Linear("ijcnn1", "ijcnn1", ("dense", "csr")),
    "mnist8": Linear("mnist", "mnist 8 against rest", ("dense", "csr"), scaling="255", positive=8),
    "news20": Linear("news20", "news20, two halves, tf-idf", ("csr",), few_features=False),
    "drawn": Linear("drawn", "1,000,000 x 80, density 0.1", ("csr", "dense")),
}

#: Part `nystroem`. C (of half the squared losses) is chosen among PENALTIES with that many of the training rows, a
#: quarter held out.
COMPONENTS = (300, 1000)
PENALTIES = tuple(10.0**k for k in range(-1, 7))
CHOICE_ROWS = 20_000
EPOCHS = 5
#: adult and mnist: benchmarks.against. ijcnn1: C = 32 and gamma = 2 as SVC was measured before; gamma and margin of
#: WorstViolatorSVC by `search` of benchmarks.choose_gamma on 10,000 rows (96.57 %).
KERNEL_SETS = {
    "adult": AGAINST["adult"],
    "ijcnn1": Data("ijcnn1", "none", Ours(gamma=4.0, margin=0.01), Theirs(C=32.0, gamma=2.0)),
    "mnist8": AGAINST["mnist8-all"],
}

#: Part `passes`: fits and passes in turns.
ROUNDS = 5
#: Part `path`; tolerance None: the default, at which some values of C need no iteration after the one before.
PATH_CS = tuple(2 ** (k / 2) for k in range(-10, 11))
PATH_TOLERANCES: dict[str, float | None] = {"path": None, "path-tight": 1e-6}

#: Part `ordinal`: data set, and into how many classes a number is cut.
ORDERED: dict[str, int | None] = {
    "winequality_red": None,
    "winequality_white": None,
    "abalone": 8,
    "lev": None,
    "esl": None,
    "swd": None,
    "era": None,
}
FOLDS, INNER_FOLDS = 10, 3
ORDINAL_PENALTIES = tuple(10.0**k for k in range(-3, 4))
#: Of SLOW_METHODS: larger values take minutes.
SLOW_PENALTIES = ORDINAL_PENALTIES[:5]
ORDINAL_METHODS = (
    "hingeline",
    "hingeline, huber",
    "hingeline, hinge",
    "mord, LogisticAT",
    "mord, LogisticIT",
    "mord, OrdinalRidge",
    "skordinal, LogisticAT",
    "skordinal, POM",
)
#: Only on SLOW_SETS, and with C chosen in the first fold only.
SLOW_METHODS = ("skordinal, SVOR linear", "skordinal, REDSVM linear")
SLOW_SETS = ("winequality_red", "lev", "esl", "swd", "era")


_OBJECTIVE = "faster than the best LIBLINEAR solver"
_FRONT = "faster than SGD and sklearn LinearSVC on the same map at equal or better accuracy"


def cases(quick: bool) -> list[Case]:
    """All; with `quick`, tiny."""
    goals = {"news20": "no slower than -s 2", "drawn": "at least 5 x the best LIBLINEAR solver"}
    sets, kernels = SETS, KERNEL_SETS
    if quick:
        sets = {name: replace(data, rows=2000) for name, data in SETS.items()}
        kernels = {name: replace(data, rows=1200) for name, data in KERNEL_SETS.items()}
    found = [
        Case(f"objective-{name}", "objective", f"Time to the same objective, {data.title}, C = 1",
             goals.get(name, _OBJECTIVE), {"data": data, "C": 1.0})
        for name, data in sets.items()
    ]  # fmt: skip
    found.append(
        Case("passes", "passes", "A fit in passes over the rows, 1,000,000 x 80", "at most 15 passes",
             {"data": sets["drawn"]}, most_repeats=1)
    )  # fmt: skip
    found += [
        Case(f"{kind}-{name}", "path", f"{len(PATH_CS)} values of C, {data.title}, tol = {tol or 'default'}",
             f"at most {2.5 if data.few_features else 5:g} x one fit", {"data": data, "tol": tol}, most_repeats=3)
        for kind, tol in PATH_TOLERANCES.items() for name, data in sets.items()
    ]  # fmt: skip
    for name, data in kernels.items():
        title = SETS[name].title
        found += [
            Case(f"nystroem-{name}-{components}", "nystroem", f"Nystroem({components}), {title}", _FRONT,
                 {"data": data, "components": components}, most_repeats=3)
            for components in COMPONENTS
        ]  # fmt: skip
        found.append(
            Case(f"exact-{name}", "exact", f"Kernel machines, {title}", "none; points of the figure", {"data": data},
                 most_repeats=1)
        )  # fmt: skip
    found += [
        Case(f"ordinal-{source}", "ordinal", f"Ordinal regression, {source}", "MAE no worse, faster",
             {"source": source, "classes": classes, "rows": 200 if quick else None}, most_repeats=3)
        for source, classes in ORDERED.items()
    ]  # fmt: skip
    return [replace(case, protocol=PROTOCOL) for case in found]
