"""
Leave-one-out for free
======================

``IncrementalSVC.leave_one_out`` removes each row from the optimum, exactly, and asks for its decision value. This takes
about as long as one fit, where ``cross_val_predict`` takes one fit per row. So C and gamma are chosen without a split.
"""

# %%
# Exact and quick: the same decisions as a fit without each row.
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from hingeline import IncrementalSVC

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)

start = time.process_time()
found = IncrementalSVC(C=10, gamma=0.01).fit(X, y).leave_one_out()
ours = time.process_time() - start
start = time.process_time()
again = cross_val_predict(SVC(C=10, gamma=0.01), X, y, cv=LeaveOneOut())
theirs = time.process_time() - start
print(f"errors {found.n_errors} and {(again != y).sum()}, {ours * 1e3:.0f} ms and {theirs * 1e3:.0f} ms")

# %%
# A map of 13 x 13 settings: 96,161 models, each of 568 rows. ``set_C`` goes from one optimum to the next.
Cs, gammas = np.logspace(-1, 3, 13), np.logspace(-4, 0, 13)
start = time.process_time()
errors = np.zeros((len(gammas), len(Cs)))
for i, gamma in enumerate(gammas):
    model = IncrementalSVC(C=Cs[0], gamma=gamma).fit(X, y)
    for j, C in enumerate(Cs):
        errors[i, j] = 100 * model.set_C(C).leave_one_out().n_errors / len(y)
print(f"{time.process_time() - start:.1f} s, best {errors.min():.2f} %")

# %%
# Left: the leave-one-out error. Right: decision values with and without the row; support vectors move, others do not.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
levels = [1.5, 2, 2.5, 3, 4, 6, 10, 20, 40]
drawn = left.contourf(Cs, gammas, errors, levels=levels, cmap="viridis_r", extend="min", norm="log")
fig.colorbar(drawn, ax=left, label="leave-one-out error, %", ticks=levels, format="%g")
i, j = np.unravel_index(errors.argmin(), errors.shape)
left.plot(Cs[j], gammas[i], "*", color="#D55E00", markersize=14)
left.annotate(
    f"{errors.min():.2f} %", (Cs[j], gammas[i]), (10, -4), textcoords="offset points", weight="bold", color="w"
)
left.set(title="leave-one-out error of 169 settings", xscale="log", yscale="log", xlabel="C", ylabel="gamma")

model = IncrementalSVC(C=10, gamma=0.01).fit(X, y)
support = np.isin(np.arange(len(X)), model.support_)
fitted, left_out = model.decision_function(X), found.decision.ravel()
right.axline((0, 0), slope=1, color="black", linewidth=0.6)
right.scatter(fitted[~support], left_out[~support], s=8, color="#8a8f98", linewidths=0, label="other rows")
right.scatter(fitted[support], left_out[support], s=14, color="#0072B2", linewidths=0, label="support vectors")
right.set(
    title="with and without the row", xlabel="decision value of the fitted model", ylabel="of the model without the row"
)
right.spines[["top", "right"]].set_visible(False)
right.legend(frameon=False)
plt.show()
