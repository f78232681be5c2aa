"""Search over C and gamma: all points of the grid, and the path of a pattern search.

``KernelSearchCV`` scores 256 points of a grid of SVC, each in 5 folds, from one matrix of dot products. The pattern
search tries neighbours of the best point so far and needs a fraction of them. ``WorstViolatorSVC`` needs no C; its
margins are points of one sequence of steps, so they cost nothing.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from hingeline import SVC, WorstViolatorSVC
from hingeline.model_selection import KernelSearchCV

CS, GAMMAS = 2.0 ** np.arange(-4, 12), 2.0 ** np.arange(-10, 6)
MARGINS = (0.01, 0.1, 0.3, 1.0)
COLOURS = ("#c6dbef", "#6baed6", "#2e6da4", "#08306b")


def main(path: Path) -> None:
    """Scores over the grid of SVC, and against gamma for WorstViolatorSVC."""
    X, y = load_breast_cancer(return_X_y=True)
    X = minmax_scale(X)
    begin = time.perf_counter()
    full = KernelSearchCV(SVC(), {"C": CS, "gamma": GAMMAS}).fit(X, y)
    seconds = time.perf_counter() - begin
    some = KernelSearchCV(SVC(), {"C": CS, "gamma": GAMMAS}, search="pattern").fit(X, y)
    fast = KernelSearchCV(WorstViolatorSVC(), {"gamma": GAMMAS, "margin": MARGINS}).fit(X, y)

    fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    scores = 100 * full.cv_results_["mean_test_score"].reshape(len(CS), len(GAMMAS))
    mesh = left.pcolormesh(GAMMAS, CS, scores, cmap="viridis", vmin=np.percentile(scores, 30), shading="nearest")
    fig.colorbar(mesh, ax=left, label="accuracy, % (5 folds)", extend="min")
    tried = [(p["gamma"], p["C"]) for p in some.cv_results_["params"]]
    left.plot(*zip(*tried, strict=True), "o", color="white", markersize=4, label=f"pattern search: {len(tried)} points")
    left.plot(some.best_params_["gamma"], some.best_params_["C"], "o", markersize=11, mfc="none", mec="#e6550d", mew=2)
    left.set(xscale="log", yscale="log", xlabel="gamma", ylabel="C")
    left.set_title(
        f"SVC: {scores.max():.2f} % of {scores.size} points in {seconds:.1f} s, pattern {100 * some.best_score_:.2f} %",
        fontsize=10,
    )
    left.legend(loc="lower left", facecolor="#444444", labelcolor="white", fontsize=8)

    table = 100 * fast.cv_results_["mean_test_score"].reshape(len(GAMMAS), len(MARGINS))
    for margin, colour, column in zip(MARGINS, COLOURS, table.T, strict=True):
        right.plot(GAMMAS, column, color=colour, label=f"margin {margin:g}")
    right.set(xscale="log", xlabel="gamma", ylabel="accuracy, % (5 folds)", ylim=(85, 99))
    right.set_title(f"WorstViolatorSVC: {table.max():.2f} %", fontsize=10)
    right.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False, loc="lower center")
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=110)
    print(f"Figure: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/search.png"))
