"""LASVC over C, and streams sorted by class: accuracy, time, warnings; the rule of the paper and SVC beside it.

    python -m benchmarks.large_c [--quick]

Everything but the times is the same on every machine.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from benchmarks.environment import command_line, fix_threads, machine
from benchmarks.writing import machine_lines, number, table, write_stamped

VARIANTS = ("nc", "g", "i", "lasvm", "full")
CS = (1.0, 1e2, 1e4, 1e6)
SEEDS = 5
#: The paper's rule makes 10,000 steps for an example at C = 1e4: one seed, and none beyond.
PAPER_CS, PAPER_SEEDS = CS[:3], 1
ROWS = 4000
CHUNK = 1000


@dataclass(frozen=True)
class Set:
    """A stored set: gamma of the RBF kernel, factor on the features, labels of the positive class, share of flips."""

    source: str
    gamma: float
    scale: float = 1.0
    positive: tuple[int, ...] = (1,)
    flips: float = 0.0


SETS = {
    "adult": Set("adult", 0.005),
    "banana": Set("banana", 1),
    "ijcnn1": Set("ijcnn1", 2),
    "letter, A to M": Set("letter", 4, 1 / 15, tuple(range(13))),
    "mnist, 8": Set("mnist", 0.02, 1 / 255, (8,)),
    "reuters": Set("reuters", 1),
    "satimage, 1 to 3": Set("satimage", 4, 1 / 255, (1, 2, 3)),
    "usps, 0, 10 % flips": Set("usps", 1 / 64, 1, (0,), 0.1),
}
#: Sorted streams: C, and rows to learn from (None: all).
SORTED = {"adult": (100.0, None), "mnist, 8": (10.0, 10_000), "letter, 26 classes": (10.0, 8000)}


def data(name: str, rows: int | None) -> tuple[Any, ...]:
    """Training rows and labels, test rows and labels, gamma; `rows` of each part at random, in random order."""
    import numpy as np
    import scipy.sparse as sp

    from benchmarks.papers.data import stored

    several = name == "letter, 26 classes"
    known = SETS["letter, A to M" if several else name]
    source = stored(known.source)
    random = np.random.default_rng(0)
    n_train = source.n_train or 3 * len(source.y) // 4
    order = random.permutation(len(source.y)) if source.n_train is None else np.arange(len(source.y))
    parts = []
    for at in (order[:n_train], order[n_train:]):
        chosen = random.permutation(at)[:rows]
        X = source.X[chosen] * known.scale
        X = X.toarray() if sp.issparse(X) and known.source == "adult" else X
        y = source.y[chosen] if several else np.where(np.isin(source.y[chosen], known.positive), 1, -1)
        parts += [X.astype(np.float32) if sp.issparse(X) else np.ascontiguousarray(X, dtype=np.float32), y]
    wrong = random.permutation(len(parts[1]))[: round(known.flips * len(parts[1]))]
    parts[1][wrong] = -parts[1][wrong]
    return *parts, known.gamma


def fit(model: Any, X: Any, y: Any) -> tuple[float, bool]:
    """CPU seconds of a fit, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(X, y)
        return time.process_time() - start, bool(caught)


def over_C(name: str, quick: bool) -> Iterator[list[str]]:
    """Lines of one set: for each variant accuracy and time at each C."""
    from hingeline import LASVC, SVC

    X, y, X_test, y_test, gamma = data(name, 200 if quick else ROWS)
    exact = [100 * SVC(C=C, gamma=gamma).fit(X, y).score(X_test, y_test) for C in CS]
    yield [f"{name}: SVC", *(f"{accuracy:.1f}" for accuracy in exact), "", ""]
    for variant in VARIANTS:
        cells, seconds, warned = [], [], 0
        for C in CS:
            accuracies, times, effective = [], [], []
            for seed in range(1 if quick else SEEDS):
                model = LASVC(variant=variant, C=C, gamma=gamma, random_state=seed)
                took, complained = fit(model, X, y)
                accuracies.append(100 * model.score(X_test, y_test))
                times.append(took)
                effective.append(model.effective_C_[0] if complained else C)
                warned += complained
            lower = f" (C {min(effective):.2g})" if min(effective) < C else ""
            cells.append(f"{mean(accuracies):.1f}, least {min(accuracies):.1f}{lower}")
            seconds.append(median(times))
        slowest = max(seconds) / seconds[0]
        yield [f"{name}: {variant}", *cells, f"{1000 * seconds[0]:.0f}", f"{slowest:.1f}"]
        if variant in ("nc", "g"):
            yield [f"{name}: {variant}, paper", *paper(variant, gamma, (X, y, X_test, y_test), quick)]


def paper(variant: str, gamma: float, parts: tuple[Any, ...], quick: bool) -> list[str]:
    """Accuracy and time of the rule of the paper."""
    from hingeline import LASVC

    X, y, X_test, y_test = parts
    cells, seconds = [], []
    for C in PAPER_CS:
        accuracies, times = [], []
        for seed in range(1 if quick else PAPER_SEEDS):
            model = LASVC(variant=variant, C=C, gamma=gamma, random_state=seed)
            times.append(fit(model.set_params(solver_options={"reprocess": "paper"}), X, y)[0])
            accuracies.append(100 * model.score(X_test, y_test))
        cells.append(f"{mean(accuracies):.1f}")
        seconds.append(median(times))
    return [*cells, "", f"{1000 * seconds[0]:.0f}", f"{max(seconds) / seconds[0]:.1f}"]


def learn_stream(model: Any, X: Any, y: Any) -> Any:
    """The model after a stream of chunks."""
    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for at in range(0, len(y), CHUNK):
            model.partial_fit(X[at : at + CHUNK], y[at : at + CHUNK], classes=np.unique(y) if at == 0 else None)
    return model


def sorted_streams(name: str, quick: bool) -> Iterator[list[str]]:
    """Accuracy of shuffled streams and of streams sorted by class, upwards and downwards."""
    import numpy as np
    from sklearn.base import clone

    from hingeline import LASVC, KernelSGDClassifier

    C, rows = SORTED[name]
    X, y, X_test, y_test, gamma = data(name, 200 if quick else rows)
    by_class = np.argsort(y, kind="stable")
    models = {variant: LASVC(variant=variant, C=C, gamma=gamma) for variant in ("nc", "g", "i", "lasvm")}
    models["nc, paper"] = LASVC(C=C, gamma=gamma, solver_options={"reprocess": "paper"})
    models["KernelSGDClassifier"] = KernelSGDClassifier(C=C, gamma=gamma)
    for title, model in models.items():
        cells, seconds = [], []
        for order in (slice(None), by_class, by_class[::-1]):
            start = time.process_time()
            learnt = learn_stream(clone(model), X[order], y[order])
            seconds.append(time.process_time() - start)
            cells.append(f"{100 * learnt.score(X_test, y_test):.1f}")
        yield [f"{name}, C = {C:g}: {title}", *cells, *map(number, seconds)]


def adult(quick: bool) -> Iterator[list[str]]:
    """Adult at C = 100: both rules, SVC, and SVC of scikit-learn-intelex if it is installed."""
    from hingeline import LASVC, SVC

    X, y, X_test, y_test, gamma = data("adult", 200 if quick else None)
    options: dict[str, dict[str, Any]] = {
        "LASVC": {},
        "LASVC, paper": {"solver_options": {"reprocess": "paper"}},
        "LASVC, n_epochs=2": {"n_epochs": 2},
    }
    models: dict[str, list[Any]] = {
        title: [LASVC(C=100, gamma=gamma, random_state=seed, **more) for seed in range(SEEDS)]
        for title, more in options.items()
    }
    models["SVC"] = [SVC(C=100, gamma=gamma)]
    try:
        from sklearnex.svm import SVC as Intelex

        models["SVC of scikit-learn-intelex"] = [Intelex(C=100, gamma=gamma)]
    except ImportError:
        pass
    for title, repeats in models.items():
        seconds = [fit(model, X, y)[0] for model in repeats]
        accuracies = [100 * model.score(X_test, y_test) for model in repeats]
        support = mean(len(model.support_) for model in repeats)
        least = f"{min(accuracies):.2f}"
        yield [title, f"{mean(accuracies):.2f}", least, f"{support:,.0f}", number(median(seconds))]


def kept(lines: Any, name: str, quick: bool) -> list[list[str]]:
    """The lines of a set, or none if its file is absent."""
    try:
        return list(lines(name, quick))
    except FileNotFoundError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return []


def main() -> int:
    args = command_line("large_c", __doc__ or "").parse_args()
    fix_threads(args.threads)
    by_C = [line for name in SETS for line in kept(over_C, name, args.quick)]
    by_order = [line for name in SORTED for line in kept(sorted_streams, name, args.quick)]
    whole = kept(lambda _, quick: adult(quick), "adult", args.quick)
    head = ["", *(f"C = {C:g}" for C in CS), "ms at C = 1", "slowest C / C = 1"]
    text = (
        "# LASVC over C, and streams sorted by class\n\n"
        "Made by `python -m benchmarks.large_c`, default parameters except `variant`, C and gamma; CPU times.\n\n"
        + machine_lines(machine(), args.threads)
        + f"\n\n## C\n\nTest accuracy in %, mean and least of {SEEDS} orders of {ROWS:,} training rows, up to {ROWS:,} "
        f"test rows; of the rule of the paper, `{{'reprocess': 'paper'}}`, of {PAPER_SEEDS}. In brackets: the "
        "smallest `effective_C_` where a fit warned that C was out of reach.\n\n"
        + table(head, by_C)
        + f"\n\n## Sorted streams\n\n`partial_fit` in chunks of {CHUNK:,} rows. Test accuracy in %, and seconds.\n\n"
        + table(["", "shuffled", "sorted", "reversed", "s, shuffled", "s, sorted", "s, reversed"], by_order)
        + f"\n\n## Adult, C = 100, gamma = 0.005\n\nAll 32,561 rows; means of {SEEDS} orders, median times.\n\n"
        + table(["", "accuracy %", "least", "support vectors", "fit, CPU s"], whole)
    )
    write_stamped(args.output, "large_c", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
