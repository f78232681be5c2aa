"""
Delete a person from a pipeline, with a receipt
===============================================

A person asks you to delete their data. Models have learnt from it. We remove the person from a pipeline, prove that the
model is the one that never saw them, and keep a receipt that holds no personal data.
"""

# %%
# Digits written by "people", 20 rows each. The scaler divides by a constant: it has learnt nothing about anybody.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from hingeline import IncrementalSVC, Receipt, load, save

X, y = load_digits(return_X_y=True)
X, y = X[:1200], y[:1200]
people = np.array([f"person {k // 20}" for k in range(len(X))])
scaler = FunctionTransformer(lambda pixels: pixels / 16)
pipe = make_pipeline(scaler, IncrementalSVC(C=10, gamma=0.05))
pipe.fit(X, y, incrementalsvc__ids=people)
before = pipe[-1].decision_function(X / 16)

# %%
# Forget three people. The certificate of the receipt is the largest violation of the optimality conditions.
gone = ["person 7", "person 21", "person 42"]
receipt = pipe[-1].forget(gone, receipt=True)
print(receipt.rows, "rows,", receipt.certificate)

# %%
# Proof 1: the model equals one that never saw them.
rest = ~np.isin(people, gone)
never = IncrementalSVC(C=10, gamma=0.05).fit(X[rest] / 16, y[rest])
after, truth = pipe[-1].decision_function(X / 16), never.decision_function(X / 16)
print(f"largest difference before {np.abs(before - truth).max():.1g}, after {np.abs(after - truth).max():.1g}")

# %%
# Proof 2: the receipt belongs to the model in this file, and covers the people. It holds hashes, no names.
with tempfile.TemporaryDirectory() as folder:
    save(pipe[-1], Path(folder) / "model")
    receipt.save(Path(folder) / "receipt")
    Receipt.load(Path(folder) / "receipt").verify(load(Path(folder) / "model"))
    print("verified;", all(receipt.covers(name) for name in gone), receipt.covers("person 8"))

# %%
# Each point is a decision value: with the people (grey) and after they were forgotten (blue), against the model that
# never saw them.
fig, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for ax, values, colour, name in zip(axes, (before, after), ("#8a8f98", "#0072B2"), ("before", "after"), strict=True):
    shown = np.isin(people, gone)
    ax.axline((0, 0), slope=1, color="black", linewidth=0.6)
    ax.scatter(truth[~shown], values[~shown], s=4, color=colour, alpha=0.4, linewidths=0, label="rows of others")
    ax.scatter(truth[shown], values[shown], s=12, color="#D55E00", linewidths=0, label="rows of the three")
    ax.set(xlabel="model that never saw them", ylabel=f"model {name} they were forgotten")
    ax.set_title(f"largest difference {np.abs(values - truth).max():.1g}")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False, loc="upper left")
plt.show()
