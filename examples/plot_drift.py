"""A stream that drifts, and what a window is good for.

Two moons turn by a third of a full turn in the middle of a stream. Without a window an exact SVM believes the old
points as much as the new. A window that lets the oldest point go follows; one that keeps the points with the largest
coefficients does as well as no window at all while nothing changes, and clings to what it has when it does.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from hingeline import IncrementalSVC

N, CHUNK, WINDOW, SEEDS = 3000, 10, 200, range(5)
MODELS = {
    "no window": ({}, "#7f8c8d"),
    "window_rule='relevance'": ({"window": WINDOW, "window_rule": "relevance"}, "#e08214"),
    "window_rule='oldest'": ({"window": WINDOW, "window_rule": "oldest"}, "#2e6da4"),
}


def stream(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two moons at rest, turning, and at rest again."""
    X, y = make_moons(N, noise=0.2, random_state=seed)
    angle = 2 * np.pi / 3 * np.clip(3 * np.arange(N) / N - 1, 0, 1)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.einsum("ijn,nj->ni", turn, X - X.mean(axis=0)), y


def follow(options: dict, X: np.ndarray, y: np.ndarray) -> tuple[IncrementalSVC, np.ndarray]:
    """Each chunk is predicted before it is learnt; whether each prediction was wrong."""
    clf = IncrementalSVC(C=10, gamma=1.0, **options).partial_fit(X[:CHUNK], y[:CHUNK], classes=[0, 1])
    wrong = np.zeros(N)
    for at in range(CHUNK, N, CHUNK):
        now = slice(at, at + CHUNK)
        wrong[now] = clf.predict(X[now]) != y[now]
        clf.partial_fit(X[now], y[now])
    return clf, wrong


def main(path: Path) -> None:
    """Error over time, and what each model holds at the end."""
    fig, axes = plt.subplot_mosaic([["error"] * 3, list(MODELS)], figsize=(10, 7.4), layout="constrained")
    top = axes["error"]
    top.axvspan(N / 3, 2 * N / 3, color="#f0f0f0", linewidth=0)
    top.text(N / 2, 63, "the moons turn by 120°", ha="center", va="top", color="#555555")
    for name, (options, colour) in MODELS.items():
        found = [follow(options, *stream(seed)) for seed in SEEDS]
        error = 100 * np.mean([wrong for _, wrong in found], axis=0)
        top.plot(np.arange(100, N), np.convolve(error, np.full(100, 0.01), "valid")[:-1], color=colour, label=name)
        clf, (X, y), ax = found[0][0], stream(SEEDS[0]), axes[name]
        late = slice(N - 500, N)
        DecisionBoundaryDisplay.from_estimator(
            clf, X[late], response_method="predict", ax=ax, eps=0.3, alpha=0.25, cmap="RdBu", grid_resolution=400
        )
        ax.scatter(*X[late].T, c=np.where(y[late] > 0, "#2166ac", "#b2182b"), s=4, linewidths=0)
        ax.set_title(f"{name}\n{clf.n_samples_} points, {len(clf.support_)} support vectors", fontsize=10)
        ax.set(xticks=[], yticks=[], aspect="equal")
    top.set(xlabel="points seen", ylabel="error over the last 100 points, %", xlim=(0, N), ylim=(0, 65))
    top.spines[["top", "right"]].set_visible(False)
    top.legend(frameon=False, loc="upper left")
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=110)
    print(f"Figure: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/drift.png"))
