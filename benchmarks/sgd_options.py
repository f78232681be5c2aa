"""Options of KernelSGDClassifier and WorstViolatorSVC: intercept, averages, learning rate; accuracy, support vectors.

    python -m benchmarks.sgd_options [--quick]

Nothing is timed: the numbers are the same on every machine.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean
from typing import Any

from benchmarks.environment import command_line, fix_threads
from benchmarks.writing import table, write_stamped

#: Random splits; rows to train and to test at most.
SPLITS, TRAIN, TEST = 3, 4000, 10_000
SETS = ("adult", "ijcnn1", "banana", "satimage")
VARIANTS = (("olsvm", "sqrt"), ("olsvm_reg", "sqrt"), ("norma", "sqrt"), ("pegaz", "sqrt"), ("pegaz", "inverse"))
#: Variants with C/n in their objective: C is the number of training rows, for the others 10.
PENALISED = ("norma", "pegaz")
AVERAGES = {"last": False, "last half": True, "all": "all"}
LINEAR_SETS = ("adult", "ijcnn1", "satimage")
MARGINS = (0.001, 0.01, 0.1)


def data(name: str, split: int, quick: bool) -> tuple[Any, ...]:
    """Standardised rows of a random split, the same for all models."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    from hingeline import datasets

    found = datasets.load(name)
    X = found.X.toarray() if hasattr(found.X, "toarray") else found.X
    n = min(200 if quick else TRAIN, 2 * len(X) // 3)
    n_test = min(200 if quick else TEST, len(X) - n)
    parts = train_test_split(X, found.y, train_size=n, test_size=n_test, random_state=split, stratify=found.y)
    scaler = StandardScaler().fit(parts[0])
    return scaler.transform(parts[0]), parts[2], scaler.transform(parts[1]), parts[3]


def fitted(make: Callable[[int], Any], name: str, quick: bool) -> tuple[float, float, float]:
    """Means over the splits: accuracy in %, support vectors in % of the rows, class pairs in % that reached the margin.

    `make` returns a model for a number of training rows.
    """
    found = []
    for split in range(1 if quick else SPLITS):
        X, y, X_test, y_test = data(name, split, quick)
        with warnings.catch_warnings(action="ignore"):
            model = make(len(y)).fit(X, y)
        reached = 100 * (model.stop_reason_ == "margin").mean()
        found.append((100 * model.score(X_test, y_test), 100 * len(model.support_) / len(y), reached))
    accuracy, support, reached = map(mean, zip(*found, strict=True))
    return accuracy, support, reached


def sgd(kind: Any, options: dict[str, Any], n: int) -> Any:
    """Model for n training rows."""
    return kind(C=float(n) if options["variant"] in PENALISED else 10.0, random_state=0, **options)


def sgd_lines(quick: bool) -> Iterator[list[str]]:
    """Accuracy by intercept and average, and support vectors without and with an intercept."""
    from hingeline import KernelSGDClassifier

    for name in SETS:
        for variant, rate in VARIANTS:
            accuracies, support = [], []
            for bias in (False, True):
                for average in AVERAGES.values():
                    options = {"variant": variant, "learning_rate": rate, "fit_intercept": bias, "average": average}
                    accuracy, share, _ = fitted(partial(sgd, KernelSGDClassifier, options), name, quick)
                    accuracies.append(f"{accuracy:.2f}")
                    if not average:
                        support.append(f"{share:.1f}")
            yield [f"{name}, {variant}, {rate}", *accuracies, *support]


def linear_lines(quick: bool) -> Iterator[list[str]]:
    """Accuracy with a linear kernel and the mean over the last half of the steps, without and with an intercept."""
    from hingeline import KernelSGDClassifier

    for name in LINEAR_SETS:
        for variant, rate in VARIANTS:
            options = {"variant": variant, "learning_rate": rate, "kernel": "linear", "average": True}
            models = [partial(sgd, KernelSGDClassifier, {**options, "fit_intercept": bias}) for bias in (False, True)]
            yield [f"{name}, {variant}, {rate}", *(f"{fitted(model, name, quick)[0]:.2f}" for model in models)]


def ollawv_lines(quick: bool) -> Iterator[list[str]]:
    """Accuracy and support vectors by learning rate."""
    from hingeline import WorstViolatorSVC

    for name in SETS:
        for margin in MARGINS:
            cells = [
                fitted(lambda _, r=rate, m=margin: WorstViolatorSVC(learning_rate=r, margin=m), name, quick)
                for rate in ("sqrt", "inverse")
            ]
            shown = [f"{cell[0]:.2f}" for cell in cells] + [f"{cell[1]:.1f}" for cell in cells]
            yield [f"{name}, margin {margin:g}", *shown, *(f"{cell[2]:.0f}" for cell in cells)]


def main() -> int:
    args = command_line("sgd_options", __doc__ or "").parse_args()
    fix_threads(args.threads)
    averages = [f"{words}, {name}" for words in ("no intercept", "intercept") for name in AVERAGES]
    rates = ("2/√t", "1/t")
    text = (
        "# Options of KernelSGDClassifier and WorstViolatorSVC\n\n"
        f"Made by `python -m benchmarks.sgd_options`. Means over {SPLITS} random splits with {TRAIN:,} training rows "
        f"(at most two thirds of the\nset) and at most {TEST:,} test rows; standardised features, RBF kernel, "
        "`gamma='scale'`, all other parameters are defaults.\nNothing is timed: the numbers do not depend on the "
        "machine.\n\n"
        "## KernelSGDClassifier: intercept and averages\n\n"
        "Accuracy in % with the last coefficients, their mean over the last half of the steps, and over all steps.\n"
        "Support vectors in % of the training rows, with the last coefficients. Five epochs; C = 10, for NORMA and "
        "Pegaz\nthe number of training rows.\n\n"
        + table(["", *averages, "SVs, no intercept", "SVs, intercept"], list(sgd_lines(args.quick)))
        + "\n\n## KernelSGDClassifier: intercept with a linear kernel\n\n"
        "Accuracy in % with the mean over the last half of the steps; the rest as above.\n\n"
        + table(["", "no intercept", "intercept"], list(linear_lines(args.quick)))
        + "\n\n## WorstViolatorSVC: learning rate\n\n"
        "Accuracy in %, support vectors in % of the training rows, and class pairs in % whose samples all reached the "
        "margin.\n\n"
        + table(
            ["", *(f"{what}, {rate}" for what in ("accuracy", "SVs", "pairs at the margin") for rate in rates)],
            list(ollawv_lines(args.quick)),
        )
    )
    write_stamped(args.output, "sgd_options", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
