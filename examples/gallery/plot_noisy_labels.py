"""
Wrong labels and the ramp loss
==============================

The hinge loss makes a support vector of every training row with a wrong label: the model grows with the noise. The ramp
loss of ``LASVC`` gives no influence to a row that is far on the wrong side. So the model stays small.
"""

# %%
# Two moons; a growing share of the labels is flipped.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from hingeline import LASVC, SVC

X, truth = make_moons(2000, noise=0.2, random_state=0)
X_test, y_test = make_moons(5000, noise=0.2, random_state=1)
order = np.random.default_rng(0).permutation(len(X))
shares = np.array([0, 5, 10, 15, 20, 25, 30])


def flipped(share):
    """Labels of which this percentage is wrong."""
    wrong = order[: len(order) * share // 100]
    y = truth.copy()
    y[wrong] = 1 - y[wrong]
    return y, wrong


models = {
    "SVC: hinge loss": (lambda: SVC(C=10, gamma=2), "#E69F00", "s-"),
    "LASVC: ramp loss": (lambda: LASVC(C=10, gamma=2, random_state=0), "#0072B2", "o-"),
}
found = {name: [make().fit(X, flipped(share)[0]) for share in shares] for name, (make, *_) in models.items()}

# %%
# Above: support vectors and test error against the noise. Below: the models at 20 %, with wrong labels as crosses and
# support vectors as circles. The crosses in the wrong region have no circle in the model of ``LASVC``.
fig, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
for name, (_, colour, style) in models.items():
    axes[0, 0].plot(shares, [len(model.support_) for model in found[name]], style, color=colour, label=name)
    errors = [100 * (1 - model.score(X_test, y_test)) for model in found[name]]
    axes[0, 1].plot(shares, errors, style, color=colour)
axes[0, 0].set(xlabel="wrong labels, %", ylabel="support vectors", ylim=(0, None))
axes[0, 1].set(xlabel="wrong labels, %", ylabel="test error, %", ylim=(0, 8))
axes[0, 0].legend(frameon=False)

y, wrong = flipped(20)
right = np.setdiff1d(order, wrong)
for ax, name in zip(axes[1], models, strict=True):
    model = found[name][list(shares).index(20)]
    DecisionBoundaryDisplay.from_estimator(model, X, ax=ax, eps=0.2, response_method="predict", alpha=0.25, cmap="RdBu")
    colours = np.where(y > 0, "#2166ac", "#b2182b")
    ax.scatter(*X[right].T, c=colours[right], s=4, linewidths=0)
    ax.scatter(*X[wrong].T, c=colours[wrong], s=14, marker="x", linewidths=0.8)
    ax.scatter(*model.support_vectors_.T, s=30, facecolors="none", edgecolors="black", linewidths=0.4)
    ax.set(title=f"{name.replace(':', ',')}: {len(model.support_)} support vectors", xticks=[], yticks=[])
for ax in axes[0]:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
