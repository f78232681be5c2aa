"""
A stream that drifts
====================

A model of all that was ever seen believes old rows as much as new ones. ``IncrementalSVC(window=...)`` removes the
oldest row, exactly, when a new one arrives: it is the optimum of the last rows after every call.
"""

# %%
# Two moons that turn by a third of a full turn in the middle of the stream.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from hingeline import IncrementalSVC

n, chunk = 3000, 10
X, y = make_moons(n, noise=0.2, random_state=0)
angle = 2 * np.pi / 3 * np.clip(3 * np.arange(n) / n - 1, 0, 1)
turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
X = np.einsum("ijn,nj->ni", turn, X - X.mean(axis=0))

# %%
# Each chunk is predicted before it is learnt: the error is that on rows which the model has not seen.
models = {
    "all rows so far": (IncrementalSVC(C=10, gamma=1.0), "#8a8f98"),
    "the last 200 rows": (IncrementalSVC(C=10, gamma=1.0, window=200), "#0072B2"),
}
errors = {}
for name, (model, _) in models.items():
    wrong = np.zeros(n)
    model.partial_fit(X[:chunk], y[:chunk], classes=[0, 1])
    for start in range(chunk, n, chunk):
        now = slice(start, start + chunk)
        wrong[now] = model.predict(X[now]) != y[now]
        model.partial_fit(X[now], y[now])
    errors[name] = wrong
    print(f"{name}: error {100 * wrong.mean():.1f} %, {model.n_samples_} rows, violation {model.kkt_violation_:.0e}")

# %%
# Below: both models at the end, on the last 300 rows.
fig, axes = plt.subplot_mosaic([["error", "error"], list(models)], figsize=(10, 8), layout="constrained")
axes["error"].axvspan(n / 3, 2 * n / 3, color="#eef1f5", linewidth=0)
axes["error"].text(n / 2, 57, "the moons turn by 120°", ha="center", color="#555555")
for name, (model, colour) in models.items():
    mean = 100 * np.convolve(errors[name], np.full(100, 0.01), "valid")
    axes["error"].plot(np.arange(99, n), mean, color=colour, label=name)
    ax, late = axes[name], slice(n - 300, n)
    DecisionBoundaryDisplay.from_estimator(
        model, X[late], ax=ax, eps=0.3, response_method="predict", alpha=0.25, cmap="RdBu", grid_resolution=300
    )
    ax.scatter(*X[late].T, c=np.where(y[late] > 0, "#2166ac", "#b2182b"), s=6, linewidths=0)
    ax.set(title=f"{name}: {len(model.support_)} support vectors", xticks=[], yticks=[], aspect="equal")
axes["error"].set(xlabel="rows seen", ylabel="error over the last 100 rows, %", xlim=(0, n), ylim=(0, 62))
axes["error"].spines[["top", "right"]].set_visible(False)
axes["error"].legend(frameon=False, loc="upper left")
plt.show()
