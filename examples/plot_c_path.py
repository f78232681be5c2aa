"""Effect of C on a linear machine: weights, training error and cross-validation error.

``linear_svc_path`` fits increasing values of C, each starting from the last minimum; ``LinearSVCCV`` does so
for all folds at once. With small C the weights are near zero and have one sign for nearly all features. With large C
they grow and take opposite signs, which lowers the training error and raises the error on other rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from hingeline import LinearSVCCV, linear_svc_path

CS, SEEDS, NAMED = np.logspace(-5, 3, 33), range(5), 6
COLOURS = ["#c0392b", "#2e6da4", "#e08214", "#16a085", "#8e44ad", "#7f6000"]


def main(path: Path) -> None:
    """Weights against C, and errors against C."""
    data = load_breast_cancer()
    X, y = scale(data.data), data.target
    found = linear_svc_path(X, y, Cs=CS, tol=1e-6)
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(9, 7.6), sharex=True, layout="constrained")
    weights = np.vstack([model.coef_ for model in found])
    largest = np.argsort(-np.abs(weights[-1]))
    top.plot(CS, weights[:, largest[NAMED:]], color="#c8c8c8", linewidth=0.8)
    for colour, j in zip(COLOURS, largest[:NAMED], strict=True):
        top.plot(CS, weights[:, j], color=colour, label=data.feature_names[j])
    top.axhline(0, color="black", linewidth=0.5)
    top.set_yscale("symlog", linthresh=0.01, linscale=0.5)
    top.set(ylabel="weights (linear below 0.01)")
    top.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), title="largest at the end", alignment="left")

    training = [100 * (1 - model.score(X, y)) for model in found]
    bottom.plot(CS, training, color="#7f8c8d", label="training error")
    folds = [StratifiedKFold(10, shuffle=True, random_state=seed) for seed in SEEDS]
    searches = [LinearSVCCV(Cs=CS, cv=cv, refit=False).fit(X, y) for cv in folds]
    errors = np.array([100 * (1 - search.scores_.mean(axis=0)) for search in searches])
    mean, sd = errors.mean(axis=0), errors.std(axis=0)
    bottom.plot(CS, mean, color="#2e6da4", label="10-fold cross-validation, 5 shuffles")
    bottom.fill_between(CS, mean - sd, mean + sd, color="#2e6da4", alpha=0.2, linewidth=0)
    best = CS[mean.argmin()]
    for ax in (top, bottom):
        ax.axvline(best, color="black", linewidth=0.8, linestyle=":")
        ax.spines[["top", "right"]].set_visible(False)
    bottom.annotate(f"best: C = {best:.2g}, {mean.min():.2f} %", (best, mean.min()), (best * 1.3, mean.min() + 1.2))
    bottom.set(xscale="log", xlabel="C", ylabel="error, %", xlim=(CS[0], CS[-1]), ylim=(0, None))
    bottom.legend(frameon=False)
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=110)
    print(f"Figure: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/c_path.png"))
