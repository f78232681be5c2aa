"""Training time of every kernel estimator against `sklearn.svm.SVC` on a grid of synthetic problems: no cliffs.

``python -m benchmarks.cliffs`` prints the worst ratio of CPU times of each estimator, and the problem where it occurs.
Every fit runs in a process of its own, which ends at a limit of CPU time. ``--quick`` takes a small part of the grid,
``--second`` another grid, by which no threshold of a solver was chosen.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.writing import number, table
from hingeline import L2SVC, LASVC, KernelSGDClassifier, WorstViolatorSVC
from hingeline import SVC as OurSVC

ESTIMATORS: dict[str, Callable[..., Any]] = {
    "LASVC": lambda **options: LASVC(random_state=0, **options),
    "WorstViolatorSVC": lambda C, **options: WorstViolatorSVC(random_state=0, **options),  # it has no C
    "KernelSGDClassifier": lambda **options: KernelSGDClassifier(random_state=0, **options),
    "L2SVC": L2SVC,
    "hingeline.SVC": OurSVC,
}
#: Times below this are as good as zero: validation and memory dominate them.
NEGLIGIBLE = 0.02
#: A fit of ours may take so many times the time of SVC, and a little, before it is stopped.
PATIENCE, LITTLE = 10, 2


@dataclass(frozen=True)
class Case:
    """One problem: how rows and labels are drawn, their number, C and gamma as a multiple of 'scale'."""

    data: str
    n: int
    C: float
    gamma: float | None  # None: linear kernel

    def __str__(self) -> str:
        kernel = "linear" if self.gamma is None else f"gamma={self.gamma:g} * scale"
        return f"{self.data}, n={self.n:,}, C={self.C:g}, {kernel}"

    def draw(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels."""
        rng = np.random.default_rng(0)
        return DATA[self.data](rng, self.n)

    def options(self, X: np.ndarray) -> dict[str, Any]:
        """Kernel and C."""
        if self.gamma is None:
            return {"C": self.C, "kernel": "linear"}
        return {"C": self.C, "gamma": self.gamma / (X.shape[1] * X.var())}


def _plane(noise: float, features: int, scale: float = 1.0) -> Callable[[np.random.Generator, int], Any]:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, features))
        return scale * X, X[:, 0] + noise * rng.normal(size=n) > 0

    return draw


def _flipped(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 10))
    return X, ((X**2).sum(axis=1) > 10) ^ (rng.random(n) < 0.1)


def _uneven(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 10))
    return X * 10.0 ** np.linspace(-1, 1, 10), X.sum(axis=1) + rng.normal(size=n) > 0


def _repeated(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = _plane(0.1, 3)(rng, n)
    X[: n // 5 : 2] = X[1 : n // 5 : 2]
    y[: n // 5 : 2] = ~y[1 : n // 5 : 2]
    return X, y


DATA: dict[str, Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]] = {
    "overlap, 30 features": _plane(0.5, 30),
    "overlap, 2 features": _plane(1.0, 2),
    "clean, 20 features": _plane(0.0, 20),
    "10 % flipped labels": _flipped,
    "uneven scales": _uneven,
    "large scale": _plane(0.5, 20, scale=5.0),
    "repeated rows, both labels": _repeated,
}


def _quadrants(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(-1, 1, size=(n, 4))
    return X, (X[:, 0] * X[:, 1] > 0) ^ (rng.random(n) < 0.05)


def _seeded(seed: int, draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, n: draw(np.random.default_rng(seed), n)


SECOND = {
    "second: overlap, 6 features": _seeded(1, _plane(0.7, 6)),
    "second: clean, 10 features": _seeded(2, _plane(0.0, 10)),
    "second: quadrants, 5 % flipped": _seeded(3, _quadrants),
    "second: repeated rows": _seeded(4, _repeated),
}
DATA.update(SECOND)


def second_grid() -> Iterator[Case]:
    """Other data, seeds, C and gamma."""
    for n, data, C in itertools.product((3000, 6000, 12000), SECOND, (0.3, 30.0, 300.0)):
        yield from (Case(data, n, C, gamma) for gamma in (0.1, 1.0, 10.0))


def grid(quick: bool) -> Iterator[Case]:
    """All problems, the small ones first."""
    sizes = (1000,) if quick else (2000, 4000, 8000, 16000)
    penalties = (0.1, 10.0, 1000.0) if quick else (0.1, 1.0, 10.0, 100.0, 1000.0)
    gammas = (0.1, 1.0, 10.0) if quick else (0.03, 0.3, 3.0, 30.0)
    first = [name for name in DATA if name not in SECOND]
    for n, data, C in itertools.product(sizes, first, penalties):
        yield from (Case(data, n, C, gamma) for gamma in gammas)
        if (data in ("uneven scales", "large scale") and C == 1.0) or (quick and data == "large scale" and C == 0.1):
            yield Case(data, n, C, None)


def _fit(name: str, case: Case, to: Any) -> None:
    """In a child: CPU seconds of one fit."""
    X, y = case.draw()
    model = SVC(**case.options(X)) if name == "SVC" else ESTIMATORS[name](**case.options(X))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    to.send((time.process_time() - start, float(model.score(X, y))))


def seconds(name: str, case: Case, limit: float, repeats: int) -> tuple[float, float]:
    """Shortest CPU time of several fits and the training accuracy; the limit and NaN if a fit takes longer."""
    found = []
    for _ in range(repeats):
        here, there = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=_limited, args=(name, case, there, limit))
        child.start()
        there.close()
        try:
            found.append(here.recv())
        except EOFError:
            child.join()
            if child.exitcode is not None and child.exitcode > 0:  # an exception; the limit ends it by a signal
                raise RuntimeError(f"{name} failed: {case}") from None
            return limit, float("nan")
        child.join()
        if found[-1][0] > 1:
            break  # long enough to be trusted
    return min(time for time, _ in found), found[0][1]


def _limited(name: str, case: Case, to: Any, limit: float) -> None:
    most = int(time.process_time() + limit + 1.5)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    _fit(name, case, to)


def main() -> None:
    """Run the grid and print the worst ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small part of the grid")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="CPU seconds of SVC after which a problem is left out"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, nargs="+", help="only problems with these numbers of rows")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only one problem in K")
    parser.add_argument("--second", action="store_true", help="the second grid")
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS)
    given = parser.parse_args()
    rows: dict[str, list[tuple[float, Case, float, float, float]]] = {
        name: [] for name in given.estimators or ESTIMATORS
    }
    cases = [
        case for case in (second_grid() if given.second else grid(given.quick)) if case.n in (given.rows or [case.n])
    ]
    for case in cases[:: given.every]:
        theirs, accuracy = seconds("SVC", case, given.limit, given.repeats)
        if np.isnan(accuracy):
            print(f"{case}: SVC took more than {given.limit:g} s, left out", flush=True)
            continue
        for name, found in rows.items():
            ours, reached = seconds(name, case, PATIENCE * theirs + LITTLE, given.repeats)
            ratio = ours / max(theirs, NEGLIGIBLE)
            found.append((ratio, case, ours, theirs, reached - accuracy))
            if ratio > 2:
                print(f"{ratio:6.1f}  {name}: {case}: {ours:.2f} s, SVC {theirs:.2f} s", flush=True)
    header = ["estimator", "problems", "worst ratio", "above 2", "median", "seconds", "SVC", "worst problem"]
    lines = []
    for name, found in rows.items():
        ratios = [ratio for ratio, *_ in found]
        worst = max(found, key=lambda row: row[0])
        above = sum(ratio > 2 for ratio in ratios)
        cells = [len(found), worst[0], above, float(np.median(ratios)), worst[2], worst[3]]
        lines.append([name, *(number(cell) for cell in cells), str(worst[1])])
    print(table(header, lines))


if __name__ == "__main__":
    main()
