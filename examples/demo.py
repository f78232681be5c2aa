"""Four acts beside scikit-learn, one table each, and one figure. Run by ``make demo``.

1. Change the import: the same models of 10,000 rows and more.
2. Learn from a stream with wrong labels that drifts.
3. Forget a person exactly, and prove it.
4. A million rows.

All data are drawn here, so nothing is downloaded. Both libraries use one thread; times are CPU seconds.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from rich.console import Console
from rich.table import Table
from sklearn import svm
from sklearn.datasets import make_blobs, make_classification, make_friedman1, make_moons
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

import hingeline
from hingeline import SVC, SVR, IncrementalSVC, LinearSVC, NystroemSVC, OneClassSVM, Receipt, load, save

FIGURE = Path("out/demo.png")
OURS, THEIRS, GREY = "#0072B2", "#E69F00", "#8a8f98"
#: Rows that are not used for training.
TEST = 4000
Rows = list[tuple[str, ...]]


def timed(work: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Return the result of a call and its CPU seconds."""
    start = time.process_time()
    return work(*args), time.process_time() - start


def fitted(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    """Return a fitted model and its CPU seconds; short fits are made three times, and the shortest counts."""
    model, seconds = timed(make().fit, X, y)
    if seconds < 0.3:
        seconds = min(seconds, *(timed(make().fit, X, y)[1] for _ in range(2)))
    return model, seconds


def table(title: str, columns: tuple[str, ...], rows: Rows) -> Table:
    """Build a table; the first column is text."""
    found = Table(title=title, title_justify="left", title_style="bold")
    for place, name in enumerate(columns):
        found.add_column(name, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        found.add_row(*row)
    return found


# ---- act 1 -----------------------------------------------------------------------------------------------


def drop_in_problems() -> dict[str, tuple[type, type, dict[str, Any], np.ndarray, np.ndarray]]:
    """Class of each library, parameters and data by name of the task."""
    X, y = make_classification(20_000 + TEST, 20, n_informative=10, n_redundant=0, flip_y=0.1, random_state=0)
    groups, group = make_blobs(12_000 + TEST, 10, centers=12, cluster_std=6, random_state=0)
    points, kind = make_blobs(20_000 + TEST, 10, centers=3, random_state=0)
    inputs, values = make_friedman1(10_000 + TEST, noise=1, random_state=0)
    return {
        "two classes, 20,000 x 20": (SVC, svm.SVC, {}, X, y),
        "12 classes, 12,000 x 10": (SVC, svm.SVC, {}, scale(groups), group),
        "regression, 10,000 x 10": (SVR, svm.SVR, {}, scale(inputs), values),
        "outliers, 20,000 x 10": (OneClassSVM, svm.OneClassSVM, {"nu": 0.1}, scale(points), kind),
    }


def change_the_import(ax: Axes) -> Table:
    """Fit the same estimator of both libraries; draw the times."""
    rows: Rows = []
    times = []
    for name, (ours, theirs, parameters, X, y) in drop_in_problems().items():
        seconds = []
        for library, learner in (("scikit-learn", theirs), ("hingeline", ours)):
            model, fit = fitted(partial(learner, **parameters), X[:-TEST], y[:-TEST])
            found, predict = timed(model.predict, X[-TEST:])
            quality = f"{100 * np.mean(found < 0):.1f} % out"
            if ours is not OneClassSVM:
                score = r2_score if ours is SVR else accuracy_score
                quality = f"{score(y[-TEST:], found):.4f}"
            seconds.append(fit)
            counts = quality, f"{len(model.support_):,}", f"{fit:.2f}", f"{predict:.2f}"
            rows.append(
                (name, f"{library} {learner.__name__}", *counts, f"{seconds[0] / fit:.0f} x" * (learner is ours))
            )
        times.append(seconds)
    draw_bars(ax, list(drop_in_problems()), np.array(times))
    columns = ("task", "estimator", "score", "vectors", "fit, s", "predict, s", "speed")
    return table("1. Change the import", columns, rows)


def draw_bars(ax: Axes, names: list[str], times: np.ndarray) -> None:
    """Two bars per task, with the ratio beside ours."""
    places = np.arange(len(names))[::-1]
    ax.barh(places + 0.19, times[:, 0], 0.34, color=THEIRS, label="scikit-learn")
    ax.barh(places - 0.19, times[:, 1], 0.34, color=OURS, label="hingeline")
    for place, (theirs, ours) in zip(places, times, strict=True):
        ax.text(theirs, place + 0.19, f" {theirs:.1f} s", va="center", color="#555555")
        ax.text(ours, place - 0.19, f" {ours:.2f} s: {theirs / ours:.0f} times", va="center", color=OURS, weight="bold")
    ax.set(yticks=places, yticklabels=[name.replace(", ", "\n") for name in names], xlabel="fit, CPU seconds")
    ax.set_xlim(0, 1.15 * times.max())
    ax.legend(loc="lower right")
    ax.set_title("Change the import: the same model, sooner")


# ---- act 2 -----------------------------------------------------------------------------------------------

POINTS, CHUNK, WINDOW = 7500, 10, 500


def drifting_stream() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two moons that turn by 120° in the middle third: rows, labels of which a tenth is wrong, and true labels."""
    X, truth = make_moons(POINTS, noise=0.2, random_state=0)
    angle = 2 * np.pi / 3 * np.clip(3 * np.arange(POINTS) / POINTS - 1, 0, 1)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    wrong = np.random.default_rng(0).random(POINTS) < 0.1
    return np.einsum("ijn,nj->ni", turn, X - X.mean(axis=0)), np.where(wrong, 1 - truth, truth), truth


@dataclass
class Follower:
    """A model, how it learns the points [start, stop) of the stream, and its colour."""

    model: Any
    learn: Callable[[Any, np.ndarray, np.ndarray, int, int], Any]
    colour: str

    def follow(self, X: np.ndarray, y: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Predict each chunk before it is learnt; return where the predictions were wrong."""
        self.learn(self.model, X, y, 0, WINDOW)
        wrong = np.zeros(POINTS)
        for start in range(WINDOW, POINTS, CHUNK):
            stop = start + CHUNK
            wrong[start:stop] = self.model.predict(X[start:stop]) != truth[start:stop]
            self.learn(self.model, X, y, start, stop)
        return wrong


def followers() -> dict[str, Follower]:
    """Contestants by name."""

    def refit(model: Any, X: np.ndarray, y: np.ndarray, start: int, stop: int) -> None:
        model.fit(X[max(0, stop - WINDOW) : stop], y[max(0, stop - WINDOW) : stop])

    def keep(model: Any, X: np.ndarray, y: np.ndarray, start: int, stop: int) -> None:
        if start == 0:
            model.fit(X[:stop], y[:stop])

    def update(model: Any, X: np.ndarray, y: np.ndarray, start: int, stop: int) -> None:
        model.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])

    return {
        "scikit-learn SVC, trained once": Follower(svm.SVC(gamma=1.0), keep, GREY),
        f"scikit-learn SVC, refitted to the last {WINDOW}": Follower(svm.SVC(gamma=1.0), refit, THEIRS),
        f"IncrementalSVC(window={WINDOW})": Follower(IncrementalSVC(gamma=1.0, window=WINDOW), update, OURS),
    }


def follow_a_stream(ax: Axes) -> Table:
    """Learn while the data drift; draw the error over time."""
    data, rows = drifting_stream(), []
    thirds = np.split(np.arange(POINTS), [WINDOW, POINTS // 3, 2 * POINTS // 3])[1:]
    ax.axvspan(POINTS / 3, 2 * POINTS / 3, color="#eef1f5", linewidth=0)
    for name, follower in followers().items():
        wrong, seconds = timed(follower.follow, *data)
        errors = (f"{100 * wrong[part].mean():.1f} %" for part in thirds)
        rows.append((name, *errors, f"{len(follower.model.support_)}", f"{seconds:.1f}"))
        course = 100 * np.convolve(wrong[WINDOW:], np.full(300, 1 / 300), "valid")
        width = 3.5 if follower.colour == THEIRS else 1.6
        ax.plot(
            np.arange(WINDOW + 299, POINTS),
            course,
            color=follower.colour,
            linewidth=width,
            label=f"{name}: {seconds:.1f} s",
        )
    ax.text(POINTS / 3 + 80, 55, "the moons\nturn by 120°", color="#555555")
    ax.set(xlabel="points seen, one label in ten is wrong", ylabel="error against true labels, %")
    ax.set(xlim=(WINDOW, POINTS), ylim=(0, 118), yticks=range(0, 101, 20))
    ax.legend(loc="upper left")
    ax.set_title("A noisy stream that drifts: the optimum after every chunk")
    columns = ("model", "error before", "while turning", "after", "support vectors", "seconds")
    return table(f"2. A stream that drifts, {POINTS:,} points in chunks of {CHUNK}", columns, rows)


# ---- act 3 -----------------------------------------------------------------------------------------------

PEOPLE = 10


def forget_people(ax: Axes) -> Table:
    """Forget one person after another; compare each time with a model that was never given their rows."""
    X, y = make_classification(3000, 10, n_informative=8, n_redundant=0, flip_y=0.05, random_state=0)
    person = np.random.default_rng(0).permutation(np.arange(3000) // 10)
    ids = [f"person {k}" for k in person]
    options = {"C": 1.0, "gamma": 0.1}
    stale = IncrementalSVC(**options).fit(X, y)
    models = {"IncrementalSVC": IncrementalSVC(**options), "SVC with ids, tol=1e-6": SVC(**options, tol=1e-6)}
    for model in models.values():
        model.fit(X, y, ids=ids)
    differences = {name: np.zeros(PEOPLE) for name in ("not deleted", *models)}
    seconds = {name: np.zeros(PEOPLE) for name in ("training again", *models)}
    for k in range(PEOPLE):
        rest = person > k
        never = IncrementalSVC(**options).fit(X[rest], y[rest]).decision_function(X)
        again = svm.SVC(**options, tol=1e-6)
        seconds["training again"][k] = timed(again.fit, X[rest], y[rest])[1]
        differences["not deleted"][k] = np.abs(stale.decision_function(X) - never).max()
        for name, model in models.items():
            seconds[name][k] = timed(model.forget, f"person {k}")[1]
            differences[name][k] = np.abs(model.decision_function(X) - never).max()
    draw_differences(ax, differences)
    rows = [
        (name, f"{np.median(seconds[name]) * 1e3:.0f}", f"{differences[name].max():.0e}", *evidence(model, X, person))
        for name, model in models.items()
    ]
    again_ms = f"{np.median(seconds['training again']) * 1e3:.0f}"
    rows.append(("scikit-learn SVC, fitted again", again_ms, "", "", ""))
    columns = ("model", "ms per person", "difference", "rows left in the pickle", "receipt")
    return table(f"3. Forget {PEOPLE} people, 10 rows each of 3,000, one after another", columns, rows)


def evidence(model: Any, X: np.ndarray, person: np.ndarray) -> tuple[str, str]:
    """Forget one more person: search the saved model for their rows, and verify the receipt after a round trip."""
    name = f"person {PEOPLE}"
    receipt = model.forget(name, receipt=True) if isinstance(model, IncrementalSVC) else model.forget(name)
    state = pickle.dumps(model)
    left = sum(row.tobytes() in state for row in X[person <= PEOPLE])
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model")
        receipt.save(Path(folder) / "receipt")
        receipt = Receipt.load(Path(folder) / "receipt")
        receipt.verify(load(Path(folder) / "model"))
    return f"{left} of {np.sum(person <= PEOPLE)}", "verified" if receipt.covers(name) else "wrong person"


def draw_differences(ax: Axes, differences: dict[str, np.ndarray]) -> None:
    """Difference to a model that never saw the rows, on a logarithmic scale."""
    looks = {"not deleted": (GREY, "s"), "SVC with ids, tol=1e-6": ("#56B4E9", "^"), "IncrementalSVC": (OURS, "o")}
    for name, (colour, marker) in looks.items():
        values = differences[name]
        ax.semilogy(np.arange(1, PEOPLE + 1), values, marker, linestyle="-", linewidth=0.8, color=colour)
        label = {"not deleted": "not deleted"}.get(name, f"{name.split(' ')[0]}.forget")
        ax.text(PEOPLE + 0.35, values[-1], label, color=colour, va="center", weight="bold")
    ax.axhspan(1e-16, 1e-10, color="#e9f3ee", linewidth=0)
    ax.text(1, 2e-11, "rounding errors", color="#3a7a5a", va="top")
    ax.set(xlabel="people forgotten, one after another", ylabel="largest difference of decision values")
    ax.set(xlim=(0.5, PEOPLE + 4), ylim=(1e-16, 10), xticks=range(2, PEOPLE + 1, 2))
    ax.set_title("Forget a person: equal to never having seen them")


# ---- act 4 -----------------------------------------------------------------------------------------------

SIZES = (2_000, 5_000, 10_000, 20_000, 50_000, 200_000, 1_000_000)
#: Parameters of the kernel models of act 4.
CURVED = {"C": 1.0, "gamma": 0.1}


@dataclass
class Course:
    """An estimator of act 4: how to make one, most rows, colour, line style, and where its name is written."""

    make: Callable[[], Any]
    most: int
    colour: str
    style: str
    offset: tuple[int, int]
    align: str = "left"
    #: Point beside which the name is written.
    at: int = -1


def scalable() -> dict[str, Course]:
    """Estimators of act 4 by name."""

    def features() -> Any:
        return make_pipeline(Nystroem(gamma=0.1, n_components=300, random_state=0), SGDClassifier(random_state=0))

    return {
        "scikit-learn SVC": Course(lambda: svm.SVC(**CURVED), 20_000, THEIRS, "o-", (-8, 2), "right"),
        "hingeline SVC": Course(lambda: SVC(**CURVED), 50_000, OURS, "o-", (10, -8), at=0),
        "scikit-learn Nystroem + SGD": Course(features, 50_000, THEIRS, "s--", (-4, 40)),
        "hingeline NystroemSVC": Course(
            lambda: NystroemSVC(**CURVED, n_components=300), 1_000_000, OURS, "s--", (8, 0)
        ),
        "hingeline LinearSVC": Course(LinearSVC, 1_000_000, GREY, "^:", (8, 0)),
    }


def curved(n: int, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Classes divided by a curved surface in five dimensions; this share of the labels is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5), dtype=np.float32)
    side = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0
    return X, (side ^ (rng.random(n) < noise)).astype(int)


def million_rows(ax: Axes) -> Table:
    """Fit growing samples; draw the time against the number of rows."""
    X, y = curved(SIZES[-1], 0, noise=0.2)
    X_test, y_test = curved(TEST, 1, noise=0)
    rows: Rows = []
    for name, course in scalable().items():
        sizes, times = [n for n in SIZES if n <= course.most], []
        for n in sizes:
            model, seconds = fitted(course.make, X[:n], y[:n])
            times.append(seconds)
        accuracy = f"{100 * model.score(X_test, y_test):.1f} %"
        rows.append((name, f"{course.most:,}", f"{times[-1]:.2f}", accuracy))
        ax.loglog(sizes, times, course.style, color=course.colour, markersize=5)
        place = {"xytext": course.offset, "textcoords": "offset points", "ha": course.align, "va": "center"}
        ax.annotate(f"{name}\n{accuracy}", (sizes[course.at], times[course.at]), **place, color=course.colour)
    ax.set(xlabel="rows", ylabel="fit, CPU seconds", xlim=(SIZES[0] / 1.2, SIZES[-1] * 14), ylim=(1e-3, 20))
    ax.set_xticks([10**k for k in (4, 5, 6)], ["10,000", "100,000", "1 million"])
    ax.set_title("A million rows, one label in five wrong: accuracy on true ones")
    return table("4. A million rows", ("estimator", "rows", "fit, s", "accuracy"), rows)


def main(path: Path) -> None:
    """Print the tables, draw the figure, say where it is."""
    warnings.simplefilter("ignore")
    plt.rcParams.update({"font.size": 9, "axes.titleweight": "bold", "legend.frameon": False})
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11})
    console = Console() if Console().is_terminal else Console(width=120)
    console.print(f"hingeline {hingeline.__version__}, one thread for both libraries")
    figure, axes = plt.subplots(2, 2, figsize=(13.3, 7.5), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1, wspace=0.04, hspace=0.04)
    LinearSVC().fit(np.eye(4), [0, 1, 0, 1])  # what is loaded at first use is not part of the times
    with threadpool_limits(1):
        for act, ax in zip((change_the_import, follow_a_stream, forget_people, million_rows), axes.flat, strict=True):
            console.print(act(ax))
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    console.print(f"Figure: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURE)
