"""Every number of the reproduction, in one place, with where it comes from. Imports nothing of weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.papers.frame import Job

#: Changes when runs are made differently: results kept from before are then made again.
PROTOCOL = 1
#: The same for the runs by the rules of the paper alone.
DRIVER = 3
SEED = 2005


@dataclass(frozen=True)
class Set:
    """`rows`: as many as the paper has; None: all there are. `grid`: log2 C of its table."""

    title: str
    source: str
    rows: int | None
    grid: tuple[float, ...]


def _grid(low: float) -> tuple[float, ...]:
    return tuple(low + k / 2 for k in range(12))


#: Adult-1 is the training part of a1a, Adult-9 and Web-8 are all training rows of adult and w8a. The rows of the others
#: are not known to us: they are random ones, each subset within the next (see data.py).
SETS = {
    "adult-1": Set("Adult-1", "a1a", 1605, _grid(-4.5)),
    "adult-4": Set("Adult-4", "adult", 4781, _grid(-4.5)),
    "adult-7": Set("Adult-7", "adult", 16100, _grid(-4.5)),
    "adult-9": Set("Adult-9", "adult", 32561, _grid(-4.5)),
    "web-1": Set("Web-1", "w8a", 2477, _grid(-0.5)),
    "web-4": Set("Web-4", "w8a", 7366, _grid(-0.5)),
    "web-7": Set("Web-7", "w8a", 24692, _grid(-0.5)),
    "web-8": Set("Web-8", "w8a", 49749, _grid(-0.5)),
    "news20": Set("News20", "news20", None, _grid(0.0)),
}
#: Those of the tables, with the number of the table; and the families of Figure 1.
LARGE = {"adult-9": 4, "web-8": 5, "news20": 6}
FAMILIES = {
    "Adult": ("adult-1", "adult-4", "adult-7", "adult-9"),
    "Web": ("web-1", "web-4", "web-7", "web-8"),
}
QUICK_SETS = ("adult-1", "web-1")

# ---- Table 1 -----------------------------------------------------------------------------------------

SEEDING_CS = tuple(2.0 ** (k / 2) for k in range(-10, 11))
#: Each is the sum of 21 fits.
SEEDING_REPEATS = 1
SEEDINGS = {"none": "no seeding", "seeded": "β-seeding"}

# ---- Table 3 -----------------------------------------------------------------------------------------

HEURISTIC_C = 1.0
_FINAL = 1e-6
#: Title, and options of `LinearSVC` in one call after the other, each from the solution before it. 'paper' has
#: both heuristics, 'plain' none; one iteration of 'paper' is heuristic 1 alone (few CG steps in the first Newton
#: system), and a call with a large tolerance before the final one is heuristic 2.
HEURISTICS: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "none": ("no heuristics", ({"solver": "plain", "tol": _FINAL},)),
    "first": ("heuristic 1", ({"solver": "paper", "max_iter": 1}, {"solver": "plain", "tol": _FINAL})),
    "second": ("heuristic 2", ({"solver": "plain", "tol": 1e-2}, {"solver": "plain", "tol": _FINAL})),
    "both": ("both heuristics", ({"solver": "paper", "tol": _FINAL},)),
}

# ---- Tables 4 to 6 and Figure 1 ----------------------------------------------------------------------


@dataclass(frozen=True)
class Solver:
    """`hinge`: the loss of SVM-light and BSVM, else the squared hinge. `options`: of the estimator or of LIBLINEAR."""

    title: str
    package: str
    options: dict[str, Any] = field(hash=False)
    hinge: bool = False


#: paper: the method as published, then smaller tolerances until the KKT violation is at most `kkt` (its tau). cg, auto:
#: the estimator. e: LIBLINEAR's tolerance; of several, the first one whose objective is within LEVEL of the optimum.
SOLVERS = {
    "paper": Solver("the paper's, τ = 0.001", "hingeline", {"tol": 1e-3, "kkt": 1e-3}),
    "cg": Solver("ours, CG", "hingeline", {"solver": "cg"}),
    "auto": Solver("ours, defaults", "hingeline", {}),
    "s2": Solver("LIBLINEAR -s 2", "liblinear-official", {"s": 2, "e": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)}),
    "s1": Solver("LIBLINEAR -s 1", "liblinear-official", {"s": 1, "e": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)}),
    "s3": Solver("LIBLINEAR -s 3", "liblinear-official", {"s": 3, "e": (1e-3,)}, hinge=True),
}
LEVEL = 1e-6
#: Of LIBLINEAR -s 2, for the value of the optimum.
OPTIMUM_E = 1e-10
REPEATS = 3
FOLDS = 10
#: Solvers of the cross-validation and LIBLINEAR's tolerances there. Ours goes along the grid of C with β-seeding.
CV_SOLVERS: dict[str, float | None] = {"auto": None, "s2": 1e-4, "s1": 1e-3, "s3": 1e-3}
#: One of each problem. The other two must agree with the first, which is seen on the sets of the tables.
CV_NEEDED = ("auto", "s3")


# ---- Table 2 and studies -------------------------------------------------------------------------------

#: Web-7 as the first rows of w8a, and a small dense set in place of Australian, which is not at hand.
PROXIMAL_SETS = ("cancer-scaled", "web-7-first")
PROXIMAL_CS = tuple(2.0**k for k in range(-5, 6))
#: CG against CGLS: sets (a second time with float32 rows) and log10 C.
SYSTEM_SETS = ("cancer-raw", "cancer-scaled", "columns", "singular values")
SYSTEM_CS = (-2.0, 0.0, 2.0, 4.0, 6.0, 8.0)
#: Starting points: log10 C, parts of the rows for heuristic 3, repetitions of equation 9.
START_CS = (-1.0, 0.0, 1.0)
PARTS = (16, 4)
GUESS_ROUNDS = 6
#: KKT violation: the paper's tau, sets with their solvers, log10 C.
KKT_TOL = 1e-3
KKT_SETS = {
    "cancer-raw": ("gram", "cg", "paper"),
    "cancer-scaled": ("gram", "cg", "paper"),
    "adult-9": ("gram", "cg", "paper"),
    "news20": ("auto", "cg"),
}
KKT_CS = (-2.0, 0.0, 2.0, 4.0)


# ---- supplement: decomposition -------------------------------------------------------------------------

#: SMO, as in SVM-light's and BSVM's place, and dual coordinate descent without a limit of iterations. log2 C: that with
#: the lowest CV error of the report on the whole set, of the squared hinge and of the hinge.
RIVALS = {
    "paper": "the paper's, τ = 0.001",
    "auto": "ours, defaults",
    "smo": "LIBSVM, linear kernel (SMO)",
    "dual-hinge": "LIBLINEAR, dual, hinge",
    "dual-squared": "LIBLINEAR, dual, squared hinge",
}
RIVAL_CS = {"Adult": {"squared": -2.5, "hinge": -2.0}, "Web": {"squared": 2.5, "hinge": 2.5}}
RIVAL_HINGE = ("smo", "dual-hinge")
#: Tolerance of the three rivals, and epochs of LIBLINEAR that no problem here reaches.
RIVAL_TOL, RIVAL_EPOCHS = 1e-3, 10_000_000

PAPER = "paper"
#: Solvers that are ours: the paper's method, and the estimator.
OURS = tuple(name for name, solver in SOLVERS.items() if solver.package == "hingeline")


def jobs(quick: bool) -> list[Job]:
    """All runs, set after set."""
    found = []
    for name in QUICK_SETS if quick else SETS:
        found += [_job("seeding", name, way=way, solver=s, Cs=SEEDING_CS) for way in SEEDINGS for s in OURS]
        found += [_job("heuristics", name, variant=v, C=HEURISTIC_C, how=HEURISTICS[v][1]) for v in HEURISTICS]
        grid = SETS[name].grid
        for c in (grid[0], grid[5], grid[-1]) if quick else grid:
            found += [
                _job("fit", name, log2_C=c, solver=s, options=known.options, level=LEVEL, repeats=REPEATS)
                for s, known in SOLVERS.items()
            ]
        for solver in CV_SOLVERS if name in LARGE or quick else CV_NEEDED:
            more = {"grid": grid, "folds": FOLDS, "e": CV_SOLVERS[solver]}
            found += [_job("cv", name, solver=solver, fold=k, **more) for k in range(2 if quick else FOLDS)]
    for family, names in FAMILIES.items():
        for name in names[: 1 if quick else None]:
            for rival in RIVALS:
                loss = "hinge" if rival in RIVAL_HINGE else "squared"
                more = {"log2_C": RIVAL_CS[family][loss], "tol": RIVAL_TOL, "repeats": REPEATS, "rows": SETS[name].rows}
                package = "hingeline" if rival in ("paper", "auto") else "scikit-learn"
                at = {"name": name, "rival": rival}
                found.append(Job("rival", at, package, how={"log2_C": more["log2_C"]}, more=more, kept=True))
    return found + _studies(quick)


def _studies(quick: bool) -> list[Job]:
    """Table 2 and the runs beyond the paper's tables."""
    found = [_job("proximal", name, Cs=PROXIMAL_CS) for name in PROXIMAL_SETS[: 1 if quick else None]]
    sets = [*SYSTEM_SETS, *(f"{name}, float32" for name in SYSTEM_SETS)]
    found += [_job("systems", name, log10_C=c) for name in sets for c in (SYSTEM_CS[::5] if quick else SYSTEM_CS)]
    names = QUICK_SETS if quick else tuple(LARGE)
    found += [_job("starts", name, log10_C=c, parts=PARTS, rounds=GUESS_ROUNDS) for name in names for c in START_CS]
    for name, solvers in KKT_SETS.items():
        if not (quick and name in SETS):
            found += [_job("violation", name, log10_C=c, solver=s, kkt=KKT_TOL) for s in solvers for c in KKT_CS]
    return found


def _job(kind: str, name: str, **settings: Any) -> Job:
    """Settings that a function of runs.py takes are its arguments, the others only identify the result."""
    arguments = ("way", "variant", "log2_C", "log10_C", "solver", "fold")
    at = {"name": name} | {key: settings.pop(key) for key in arguments if key in settings}
    more = {"protocol": PROTOCOL, "rows": SETS[name].rows if name in SETS else None, **settings}
    if kind == "heuristics" or (kind != "violation" and at.get("solver") == PAPER):
        more["driver"] = DRIVER
    package = SOLVERS[at["solver"]].package if kind in ("fit", "cv") else "hingeline"
    return Job(kind, at, package, more=more, expected=60.0 if name == "news20" else 0.0)
