"""Which labels to ask for.

Two moons without labels. The learner asks for one label at a time: near its boundary, or at random. Then one label is
found to be wrong; the model forgets it exactly.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from hingeline import IncrementalSVC
from hingeline.active import ActiveLearner

LABELS, SEEDS = 40, range(10)
RULES = {"random": "#7f8c8d", "small_pool": "#c0392b", "margin": "#2e6da4"}
X, Y = make_moons(1000, noise=0.15, random_state=0)
X_TEST, Y_TEST = make_moons(2000, noise=0.15, random_state=1)


def asked(rule: str, seed: int) -> tuple[ActiveLearner, list[float]]:
    """Learner after all questions, and its test error after each answer."""
    learner = ActiveLearner(IncrementalSVC(C=10, gamma=2.0), rule, pool=X, classes=[0, 1], random_state=seed)
    errors = []
    for _ in range(LABELS):
        rows = learner.ask()
        learner.answer(rows, Y[rows])
        errors.append(100 * (1 - learner.estimator.score(X_TEST, Y_TEST)))
    return learner, errors


def show(axis: plt.Axes, learner: ActiveLearner, title: str) -> None:
    """Boundary, pool and the rows that were asked."""
    a, b = np.meshgrid(np.linspace(-1.6, 2.6, 150), np.linspace(-1.1, 1.6, 100))
    values = learner.estimator.decision_function(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
    axis.contourf(a, b, values, levels=[-np.inf, 0, np.inf], colors=["#b2182b", "#2166ac"], alpha=0.15)
    axis.contour(a, b, values, levels=[-1, 0, 1], colors="black", linewidths=[0.4, 1.2, 0.4])
    axis.scatter(*X.T, color="#bbbbbb", s=3, linewidths=0)
    rows, labels = list(learner.labels), list(learner.labels.values())
    axis.scatter(*X[rows].T, c=np.where(labels, "#2166ac", "#b2182b"), s=26, edgecolors="black", linewidths=0.5)
    axis.set(xticks=[], yticks=[])
    axis.set_title(title, fontsize=10)


def main(path: Path) -> None:
    """Rows that two rules ask for, and learning curves."""
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for rule, colour in RULES.items():
        runs = [asked(rule, seed) for seed in SEEDS]
        errors = np.array([error for _, error in runs])
        steps, mean, sd = np.arange(1, LABELS + 1), errors.mean(axis=0), errors.std(axis=0)
        axes[2].plot(steps, mean, color=colour, label=rule)
        axes[2].fill_between(steps, mean - sd, mean + sd, color=colour, alpha=0.15, linewidth=0)
        if rule != "small_pool":
            show(axes[int(rule == "margin")], runs[0][0], f"'{rule}': {LABELS} labels, error {errors[0, -1]:.1f} %")
    axes[2].set(xlabel="labels", ylabel="test error, % (mean ± sd of 10 runs)", ylim=(0, 30))
    axes[2].legend(frameon=False)
    learner = runs[0][0]  # one label was wrong: forget it, and check against a model that never saw it
    learner.reopen(list(learner.labels)[7])
    other = IncrementalSVC(C=10, gamma=2.0).fit(X[list(learner.labels)], list(learner.labels.values()))
    gap = np.abs(learner.estimator.decision_function(X_TEST) - other.decision_function(X_TEST)).max()
    print(f"Difference to a model that never saw the label: {gap:.1e}")
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=110)
    print(f"Figure: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/active.png"))
