"""Train on real data, compare with scikit-learn's SVC and LinearSVC, draw a figure.

Run by ``make demo``. Data sets that scikit-learn carries come first; larger ones join where the folder named by
``HINGELINE_DATA`` holds them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from rich.console import Console
from rich.table import Table
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import LeaveOneOut, cross_val_predict, train_test_split
from sklearn.preprocessing import MinMaxScaler, scale
from sklearn.svm import SVC, LinearSVC, OneClassSVM

from hingeline import (
    LASVC,
    FiniteNewtonOrdinal,
    FiniteNewtonSVC,
    IncrementalOneClassSVM,
    IncrementalSVC,
    KernelSGDClassifier,
    MinNormSVC,
    NNISDAClassifier,
    WorstViolatorSVC,
    datasets,
)

OUT = Path("out")
SMALL = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
#: Larger sets and a kernel width for each, on features scaled to [0, 1].
LARGE = {"satimage": 4.0, "pendigits": 4.0, "letter": 8.0, "adult": 0.05}
#: SVC needs most of a minute for all of adult.
MOST_ROWS = 12_000


@dataclass
class Problem:
    """A split data set."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    gamma: float


def problems() -> Iterator[Problem]:
    """Small sets, then the large ones that are there."""
    for name, load in SMALL.items():
        X, y = load(return_X_y=True)
        X = X.astype(np.float32)
        yield scaled(name, *split(X, y), gamma=1.0 if X.shape[1] < 64 else 0.1)
    there = set(datasets.available())
    for name, gamma in LARGE.items():
        if name in there:
            data = datasets.load(name)
            train, test = (np.asarray(X.todense() if hasattr(X, "todense") else X) for X in (data.X_train, data.X_test))
            yield scaled(name, train[:MOST_ROWS], data.y_train[:MOST_ROWS], test, data.y_test, gamma)


def split(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows and labels to train on, rows and labels to test with."""
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    return train, y_train, test, y_test


def scaled(name: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, gamma: float) -> Problem:
    """Features to [0, 1] by the range of the training part."""
    scaler = MinMaxScaler().fit(X)
    return Problem(name, scaler.transform(X), y, scaler.transform(X_test), y_test, gamma)


def measure(clf: ClassifierMixin, p: Problem) -> tuple[float, float, float]:
    """Seconds to train and to predict, accuracy."""
    start = time.perf_counter()
    clf.fit(p.X, p.y)
    trained = time.perf_counter()
    accuracy = clf.score(p.X_test, p.y_test)
    return trained - start, time.perf_counter() - trained, accuracy


def table(title: str, models_for: Callable[[float], tuple[Any, ...]], without: str = "") -> Table:
    """Train all models on every problem but one; they are made for its kernel width."""
    out = Table(title=title, title_justify="left")
    out.add_column("data set", no_wrap=True)
    for column in ("rows", "features", "test accuracy", "support vectors", "train ms", "predict ms"):
        out.add_column(column, justify="right", no_wrap=True)
    for p in problems():
        if p.name == without:
            continue
        models = models_for(p.gamma)
        train, predict, accuracy = zip(*(measure(clf, p) for clf in models), strict=True)
        out.add_row(
            p.name,
            *map(str, p.X.shape),
            " / ".join(f"{value:.3f}" for value in accuracy),
            " / ".join(str(len(clf.support_)) for clf in models),
            " / ".join(milliseconds(value) for value in train),
            " / ".join(milliseconds(value) for value in predict),
        )
    return out


def milliseconds(seconds: float) -> str:
    """Two or three digits, or whole numbers."""
    return f"{1e3 * seconds:.1f}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def online(gamma: float) -> tuple[Any, ...]:
    """Solvers that see samples one by one, the optimum beside them."""
    return (
        WorstViolatorSVC(gamma=gamma),
        LASVC(C=16, gamma=gamma, random_state=0),
        KernelSGDClassifier(C=16, gamma=gamma, average=True, random_state=0),
        SVC(C=16, gamma=gamma),
    )


def squared(gamma: float) -> tuple[Any, ...]:
    """Solvers of the problem with squared errors, SVC beside them."""
    return MinNormSVC(C=16, gamma=gamma), NNISDAClassifier(C=16, gamma=gamma), SVC(C=16, gamma=gamma)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and milliseconds."""
    start = time.perf_counter()
    return work(), 1e3 * (time.perf_counter() - start)


def exact_table() -> Table:
    """Points that come and go, beside training again."""
    out = Table(
        title="IncrementalSVC and IncrementalOneClassSVM / training again with scikit-learn", title_justify="left"
    )
    for column in ("what", "data set"):
        out.add_column(column, no_wrap=True)
    for column in ("points", "ms", "result"):
        out.add_column(column, justify="right", no_wrap=True)
    X, y = load_breast_cancer(return_X_y=True)
    X = MinMaxScaler().fit_transform(X)
    out.add_row("50 points forgotten, one after another", "breast cancer", str(len(X)), *forgetting(X, y, 50))
    out.add_row("leave-one-out", "breast cancer", str(len(X)), *leave_one_out(X, y))
    X, y = load_digits(return_X_y=True)
    pair = np.isin(y, (3, 8))
    out.add_row("leave-one-out", "digits, 3 against 8", str(pair.sum()), *leave_one_out(X[pair] / 16, y[pair]))
    out.add_row("outliers of a stream, window of 150", "digits, 0 to 9", str(len(X)), *outliers(X / 16, y, 150))
    return out


def forgetting(X: np.ndarray, y: np.ndarray, count: int) -> tuple[str, str]:
    """The model without points, beside one that never saw them."""
    clf, batch = IncrementalSVC(C=16, gamma=1.0).fit(X, y), SVC(C=16, gamma=1.0)
    _, ours = timed(lambda: [clf.forget(k) for k in range(count)])
    _, theirs = timed(lambda: [batch.fit(X[k:], y[k:]) for k in range(1, count + 1)])
    never = IncrementalSVC(C=16, gamma=1.0).fit(X[count:], y[count:])
    difference = np.abs(clf.decision_function(X) - never.decision_function(X)).max()
    return f"{ours:.1f} / {theirs:.1f}", f"as if never seen, to {difference:.0e}"


def leave_one_out(X: np.ndarray, y: np.ndarray) -> tuple[str, str]:
    """Exact leave-one-out errors, both ways."""
    found, ours = timed(lambda: IncrementalSVC(C=16, gamma=0.1).fit(X, y).leave_one_out(progress=False))
    batch, theirs = timed(lambda: cross_val_predict(SVC(C=16, gamma=0.1), X, y, cv=LeaveOneOut()))
    same = "the same" if (found.prediction == batch).all() else "others"
    return f"{ours:.1f} / {theirs:.1f}", f"{found.n_errors} / {(batch != y).sum()} errors, {same}"


def outliers(X: np.ndarray, y: np.ndarray, window: int) -> tuple[str, str]:
    """Digit after digit, each point judged before it is learnt; the peer is trained on the window each time."""
    X = X[np.argsort(y, kind="stable")]
    model = IncrementalOneClassSVM(nu=0.1, gamma=0.1, window=window).fit(X[:window])

    def judge(k: int) -> int:
        verdict = model.predict(X[k : k + 1])[0]
        model.partial_fit(X[k : k + 1])
        return verdict

    def judge_again(k: int) -> int:
        return OneClassSVM(nu=0.1, gamma=0.1).fit(X[k - window : k]).predict(X[k : k + 1])[0]

    found, ours = timed(lambda: [judge(k) for k in range(window, len(X))])
    again, theirs = timed(lambda: [judge_again(k) for k in range(window, len(X))])
    return f"{ours:.0f} / {theirs:.0f}", f"{found.count(-1)} outliers, {np.sum(np.not_equal(found, again))} differ"


def linear_problems() -> Iterator[Problem]:
    """Small sets, and all of a large one where it is there."""
    for name, load in (("breast cancer", load_breast_cancer), ("digits", load_digits)):
        yield scaled(name, *split(*load(return_X_y=True)), gamma=0.0)
    if "adult" in datasets.available():
        data = datasets.load("adult")
        yield Problem("adult, sparse", data.X_train, data.y_train, data.X_test, data.y_test, gamma=0.0)


def linear_table() -> Table:
    """Linear machines, and how far from the minimum they end."""
    out = Table(title="FiniteNewtonSVC(C=1) / sklearn.svm.LinearSVC, the same problem", title_justify="left")
    out.add_column("data set", no_wrap=True)
    for column in ("loss", "rows", "features", "test accuracy", "train ms", "above the minimum"):
        out.add_column(column, justify="right", no_wrap=True)
    for p in linear_problems():
        for loss, C in (("squared_hinge", 0.5), ("hinge", 1.0)):  # squared losses carry a half here
            best = FiniteNewtonSVC(C=1.0, loss=loss, tol=1e-8).fit(p.X, p.y)
            models = FiniteNewtonSVC(C=1.0, loss=loss), LinearSVC(C=C, loss=loss, max_iter=100_000)
            train, _, accuracy = zip(*(measure(clf, p) for clf in models), strict=True)
            above = [objective(clf, p, loss, C) / objective(best, p, loss, C) - 1 for clf in models]
            out.add_row(
                p.name,
                loss,
                *map(str, p.X.shape),
                " / ".join(f"{value:.3f}" for value in accuracy),
                " / ".join(f"{1e3 * value:.1f}" for value in train),
                " / ".join(f"{value:.0e}" if value > 1e-8 else "<1e-08" for value in above),
            )
    return out


def objective(clf: FiniteNewtonSVC | LinearSVC, p: Problem, loss: str, C: float) -> float:
    """LinearSVC's objective, of all machines together."""
    target = np.where(p.y[:, None] == clf.classes_, 1.0, -1.0)[:, -len(clf.coef_) :]
    slack = np.maximum(0, 1 - target * (p.X @ clf.coef_.T + clf.intercept_))
    losses = slack**2 if loss == "squared_hinge" else slack
    return ((clf.coef_**2).sum() + (clf.intercept_**2).sum()) / 2 + C * losses.sum()


def ordinal_line() -> str:
    """Ordered classes, beside one machine for each class."""
    X, progression = load_diabetes(return_X_y=True)
    grade = np.digitize(progression, [75, 125, 175, 225])
    guesses = [cross_val_predict(clf, scale(X), grade, cv=10) for clf in (FiniteNewtonOrdinal(), FiniteNewtonSVC())]
    by = " / ".join(f"{np.abs(guess - grade).mean():.2f}" for guess in guesses)
    return f"Diabetes in five grades, FiniteNewtonOrdinal / FiniteNewtonSVC: wrong by {by} grades on the average"


def noisy_moons() -> tuple[np.ndarray, np.ndarray]:
    """Two moons, 15 % of the labels flipped."""
    X, y = make_moons(1500, noise=0.2, random_state=0)
    wrong = np.random.default_rng(0).random(len(y)) < 0.15
    return X, np.where(wrong, 1 - y, y)


def figure(path: Path) -> None:
    """Decision boundaries, support vectors marked: a chessboard, and two moons with flipped labels."""
    fig, axes = plt.subplots(2, 2, figsize=(11, 10.4), layout="constrained")
    pictures = {
        "WorstViolatorSVC": (WorstViolatorSVC(gamma=30.0), datasets.make_chessboard(1500, random_state=0)),
        "SVC(C=16)": (SVC(C=16, gamma=30.0), datasets.make_chessboard(1500, random_state=0)),
        "LASVC(C=10), flipped labels": (LASVC(C=10, gamma=2.0, random_state=0), noisy_moons()),
        "SVC(C=10), flipped labels": (SVC(C=10, gamma=2.0), noisy_moons()),
    }
    blue, orange = "#3b6fb6", "#e08214"
    for ax, (title, (clf, (X, y))) in zip(axes.flat, pictures.items(), strict=True):
        clf.fit(X, y)
        regions = ListedColormap(["#dbe6f4", "#fbe6cf"])
        DecisionBoundaryDisplay.from_estimator(
            clf,
            X,
            response_method="predict",
            ax=ax,
            grid_resolution=300,
            eps=0.02,
            cmap=regions,
            plot_method="pcolormesh",
        )
        ax.scatter(*X.T, c=np.where(y > 0, orange, blue), s=5, linewidths=0)
        ax.scatter(*X[clf.support_].T, s=26, facecolors="none", edgecolors="black", linewidths=0.6)
        ax.set_title(f"{title}: {len(clf.support_)} support vectors (circles)", fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=110)


def main() -> None:
    """Print the tables, draw the figure, say where it is."""
    warnings.simplefilter("ignore")
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(table("WorstViolatorSVC / LASVC(C=16) / KernelSGDClassifier(C=16) / sklearn.svm.SVC(C=16)", online))
    console.print(table("MinNormSVC(C=16) / NNISDAClassifier(C=16) / sklearn.svm.SVC(C=16)", squared, without="adult"))
    console.print(exact_table())
    console.print(linear_table())
    console.print(ordinal_line())
    figure(OUT / "demo.png")
    console.print(f"Figure: {OUT / 'demo.png'}")


if __name__ == "__main__":
    main()
