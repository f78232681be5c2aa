"""Train every estimator on real data, compare with scikit-learn, draw a figure. Run by ``make demo``.

The data sets come with scikit-learn. Larger ones are added if the folder named by ``HINGELINE_DATA`` holds them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from rich.console import Console
from rich.table import Table
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import LeaveOneOut, cross_val_predict, train_test_split
from sklearn.preprocessing import MinMaxScaler, scale
from sklearn.svm import SVC, OneClassSVM

from hingeline import (
    L2SVC,
    LASVC,
    IncrementalOneClassSVM,
    IncrementalSVC,
    KernelSGDClassifier,
    LinearSVC,
    OrdinalSVC,
    WorstViolatorSVC,
    datasets,
)

FIGURE = Path("out/demo.png")
#: Kernel widths for features in [0, 1].
SMALL = {"wine": (load_wine, 1.0), "breast cancer": (load_breast_cancer, 1.0), "digits": (load_digits, 0.1)}
LARGE = {"satimage": 4.0, "letter": 8.0}
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def problems() -> Iterator[tuple[str, float, Split]]:
    """Name, kernel width, and training and test part with features in [0, 1]."""
    for name, (load, gamma) in SMALL.items():
        X, y = load(return_X_y=True)
        X, X_test, y, y_test = train_test_split(X.astype(np.float32), y, test_size=0.3, random_state=0, stratify=y)
        yield name, gamma, scaled(X, y, X_test, y_test)
    for name in datasets.available():
        if name in LARGE:
            data = datasets.load(name)
            yield name, LARGE[name], scaled(data.X_train, data.y_train, data.X_test, data.y_test)


def scaled(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> Split:
    """Scale by the range of the training part."""
    scaler = MinMaxScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and milliseconds."""
    start = time.perf_counter()
    return work(), 1e3 * (time.perf_counter() - start)


def table(title: str, names: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Table:
    """Build a table; the first two columns are text."""
    out = Table(title=title, title_justify="left")
    for place, name in enumerate(names):
        out.add_column(name, justify="left" if place < 2 else "right", no_wrap=True)
    for row in rows:
        out.add_row(*row)
    return out


def kernel_rows() -> Iterator[tuple[str, ...]]:
    """Train kernel machines with C = 16 and the same kernel, SVC last."""
    for name, gamma, (X, y, X_test, y_test) in problems():
        for clf in (
            WorstViolatorSVC(gamma=gamma),
            LASVC(C=16, gamma=gamma, random_state=0),
            KernelSGDClassifier(C=16, gamma=gamma, average=True, random_state=0),
            L2SVC(C=16, gamma=gamma),
            SVC(C=16, gamma=gamma),
        ):
            _, train = timed(partial(clf.fit, X, y))
            accuracy, predict = timed(partial(clf.score, X_test, y_test))
            what = f"{name}, {X.shape[0]} x {X.shape[1]}"
            counts = f"{accuracy:.3f}", str(len(clf.support_)), f"{train:.1f}", f"{predict:.1f}"
            yield what, type(clf).__name__, *counts


def exact_rows() -> Iterator[tuple[str, ...]]:
    """Compare points that come and go with training again."""
    X, y = load_breast_cancer(return_X_y=True)
    X = MinMaxScaler().fit_transform(X)
    clf, batch = IncrementalSVC(C=16, gamma=1.0).fit(X, y), SVC(C=16, gamma=1.0)
    _, ours = timed(lambda: [clf.forget(k) for k in range(50)])
    _, theirs = timed(lambda: [batch.fit(X[k:], y[k:]) for k in range(1, 51)])
    never = IncrementalSVC(C=16, gamma=1.0).fit(X[50:], y[50:])
    difference = np.abs(clf.decision_function(X) - never.decision_function(X)).max()
    same = f"as if never seen, to {difference:.0e}"
    yield "forget 50 points, one by one", "breast cancer", f"{ours:.1f}", f"{theirs:.0f}", same

    found, ours = timed(lambda: IncrementalSVC(C=16, gamma=0.1).fit(X, y).leave_one_out(progress=False))
    again, theirs = timed(lambda: cross_val_predict(SVC(C=16, gamma=0.1), X, y, cv=LeaveOneOut()))
    errors = f"{found.n_errors} and {(again != y).sum()} errors"
    yield "leave-one-out", "breast cancer", f"{ours:.1f}", f"{theirs:.0f}", errors

    X, y = load_digits(return_X_y=True)
    X, window = X[np.argsort(y, kind="stable")] / 16, 150
    model = IncrementalOneClassSVM(nu=0.1, gamma=0.1, window=window).fit(X[:window])

    def follow(k: int) -> int:
        """Judge a point, then learn it; the oldest point of the window is forgotten."""
        verdict = model.predict(X[k : k + 1])[0]
        model.partial_fit(X[k : k + 1])
        return verdict

    def train_again(k: int) -> int:
        return OneClassSVM(nu=0.1, gamma=0.1).fit(X[k - window : k]).predict(X[k : k + 1])[0]

    verdicts, ours = timed(lambda: [follow(k) for k in range(window, len(X))])
    others, theirs = timed(lambda: [train_again(k) for k in range(window, len(X))])
    result = f"{verdicts.count(-1)} outliers, {np.sum(np.not_equal(verdicts, others))} differ"
    yield "outliers of a stream, window of 150", "digits, 0 to 9", f"{ours:.0f}", f"{theirs:.0f}", result


def linear_rows() -> Iterator[tuple[str, ...]]:
    """Train linear machines on the same problem with the same C."""
    LinearSVC().fit(np.eye(4), [0, 1, 0, 1])  # what is loaded at first use is not part of the times
    for name, load in (("breast cancer", load_breast_cancer), ("digits", load_digits)):
        X, X_test, y, y_test = train_test_split(*load(return_X_y=True), test_size=0.3, random_state=0)
        X, y, X_test, y_test = scaled(X, y, X_test, y_test)
        for clf in (LinearSVC(), svm.LinearSVC(max_iter=100_000)):
            _, train = timed(partial(clf.fit, X, y))
            what = f"{name}, {X.shape[0]} x {X.shape[1]}"
            library = type(clf).__module__.partition(".")[0]
            yield what, f"{library}.{type(clf).__name__}", f"{clf.score(X_test, y_test):.3f}", f"{train:.1f}"


def ordinal_line() -> str:
    """Compare ordered classes with one machine for each class."""
    X, progression = load_diabetes(return_X_y=True)
    grade = np.digitize(progression, [75, 125, 175, 225])
    guesses = [cross_val_predict(clf, scale(X), grade, cv=10) for clf in (OrdinalSVC(), LinearSVC())]
    ours, plain = (np.abs(guess - grade).mean() for guess in guesses)
    return f"Diabetes in five grades: mean error {ours:.2f} grades (OrdinalSVC), {plain:.2f} (LinearSVC)"


def figure(path: Path) -> None:
    """Draw decision regions and support vectors on two moons with 15 % of the labels flipped."""
    X, y = make_moons(1500, noise=0.2, random_state=0)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.15, 1 - y, y)
    fig, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
    for ax, clf in zip(axes, (LASVC(C=10, gamma=2.0, random_state=0), SVC(C=10, gamma=2.0)), strict=True):
        clf.fit(X, y)
        look = {"cmap": ListedColormap(["#dbe6f4", "#fbe6cf"]), "plot_method": "pcolormesh", "eps": 0.02}
        DecisionBoundaryDisplay.from_estimator(clf, X, response_method="predict", ax=ax, grid_resolution=300, **look)
        ax.scatter(*X.T, c=np.where(y > 0, "#e08214", "#3b6fb6"), s=5, linewidths=0)
        ax.scatter(*X[clf.support_].T, s=26, facecolors="none", edgecolors="black", linewidths=0.6)
        ax.set(title=f"{type(clf).__name__}(C=10): {len(clf.support_)} support vectors", xticks=[], yticks=[])
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=110)


def main() -> None:
    """Print the tables, draw the figure, say where it is."""
    warnings.simplefilter("ignore")
    console = Console() if Console().is_terminal else Console(width=120)
    columns: tuple[str, ...] = ("data set", "estimator", "test accuracy", "support vectors", "train ms", "predict ms")
    console.print(table("Kernel machines", columns, kernel_rows()))
    columns = ("what", "data set", "ms", "ms, refitting", "result")
    console.print(table("Exact incremental learning, beside refitting with scikit-learn", columns, exact_rows()))
    columns = ("data set", "estimator", "test accuracy", "train ms")
    console.print(table("Linear machines", columns, linear_rows()))
    console.print(ordinal_line())
    figure(FIGURE)
    console.print(f"Figure: {FIGURE}")


if __name__ == "__main__":
    main()
