"""Noisy labels, and which SVM stays small on them.

Two moons, a growing share of training labels flipped at random. An SVM with hinge loss has to keep every flipped
example as a support vector. LASVM-NC and LASVM-I do not: an example far on the wrong side gets no vote.
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
from sklearn.svm import SVC

from hingeline import LASVC

C, GAMMA, SEEDS = 10.0, 2.0, range(5)
MODELS = {
    "SVC": (lambda: SVC(C=C, gamma=GAMMA), "#7f8c8d"),
    "LASVC('g')": (lambda: LASVC(variant="g", C=C, gamma=GAMMA, random_state=0), "#2e6da4"),
    "LASVC('i')": (lambda: LASVC(variant="i", C=C, gamma=GAMMA, random_state=0), "#e08214"),
    "LASVC('nc')": (lambda: LASVC(variant="nc", C=C, gamma=GAMMA, random_state=0), "#c0392b"),
}


def flipped(share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two moons with some of the labels turned round."""
    X, y = make_moons(3000, noise=0.2, random_state=seed)
    wrong = np.random.default_rng(seed).random(len(y)) < share
    return X, np.where(wrong, 1 - y, y)


def main(path: Path) -> None:
    """Support vectors and error against noise, and what two models see."""
    fig, axes = plt.subplots(2, 2, figsize=(10, 8.6), layout="constrained")
    shares = np.array([0.0, 0.05, 0.1, 0.15, 0.2, 0.25])
    X_test, y_test = make_moons(5000, noise=0.2, random_state=99)
    for name, (make, colour) in MODELS.items():
        found = np.array([[result(make(), *flipped(share, s), X_test, y_test) for s in SEEDS] for share in shares])
        for ax, values in zip(axes[0], np.moveaxis(found, 2, 0), strict=True):
            mean, sd = values.mean(axis=1), values.std(axis=1)
            ax.plot(100 * shares, mean, marker="o", ms=4, color=colour, label=name)
            ax.fill_between(100 * shares, mean - sd, mean + sd, color=colour, alpha=0.15, linewidth=0)
    axes[0, 0].set(xlabel="labels flipped, %", ylabel="support vectors", ylim=(0, None))
    axes[0, 1].set(xlabel="labels flipped, %", ylabel="test error, %", ylim=(0, 5))
    axes[0, 0].legend(frameon=False)
    X, y = flipped(0.15, 0)
    for ax, name in zip(axes[1], ("LASVC('g')", "LASVC('nc')"), strict=True):
        clf = MODELS[name][0]().fit(X, y)
        DecisionBoundaryDisplay.from_estimator(
            clf, X, response_method="predict", ax=ax, eps=0.2, alpha=0.25, cmap="RdBu"
        )
        ax.scatter(*X.T, c=np.where(y > 0, "#2166ac", "#b2182b"), s=3, linewidths=0)
        ax.scatter(*clf.support_vectors_.T, s=18, facecolors="none", edgecolors="black", linewidths=0.4)
        ax.set_title(f"{name}, 15 % flipped: {len(clf.support_)} support vectors (circles)", fontsize=10)
        ax.set(xticks=[], yticks=[])
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=110)
    print(f"Figure: {path}")


def result(clf: SVC | LASVC, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> list[float]:
    """Support vectors and test error."""
    clf.fit(X, y)
    return [len(clf.support_), 100 * (1 - clf.score(X_test, y_test))]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/noisy_labels.png"))
