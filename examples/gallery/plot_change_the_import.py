"""
Change the import
=================

``hingeline.SVC`` is ``sklearn.svm.SVC`` with another solver: the same parameters, the same fitted attributes and the
same optimum. We fit both to growing samples and compare time and decision values.
"""

# %%
# 12,000 rows in 20 dimensions; one label in ten is wrong.
import time

import matplotlib.pyplot as plt
import numpy as np
import sklearn.svm
from sklearn.datasets import make_classification

import hingeline

X, y = make_classification(16_000, 20, n_informative=10, n_redundant=0, flip_y=0.1, random_state=0)
X, X_test, y, y_test = X[:12_000], X[12_000:], y[:12_000], y[12_000:]
sizes = [500, 1000, 2000, 4000, 8000, 12_000]


def course(module):
    """CPU seconds of fits to growing samples, and the last model."""
    seconds = np.full(len(sizes), np.inf)
    for _ in range(3):  # the best of three
        for k, n in enumerate(sizes):
            start = time.process_time()
            model = module.SVC(C=1.0).fit(X[:n], y[:n])  # the import decides whose it is
            seconds[k] = min(seconds[k], time.process_time() - start)
    return seconds, model


theirs, sklearn_model = course(sklearn.svm)
ours, hingeline_model = course(hingeline)

# %%
# Both stop at the same tolerance of the KKT conditions (``tol=0.001``). The models agree to that tolerance:
difference = np.abs(hingeline_model.decision_function(X_test) - sklearn_model.decision_function(X_test))
print(f"accuracy           {hingeline_model.score(X_test, y_test):.4f}  {sklearn_model.score(X_test, y_test):.4f}")
print(f"support vectors    {len(hingeline_model.support_)}    {len(sklearn_model.support_)}")
print(f"largest difference of decision values: {difference.max():.1e}")

# %%
# The time of LIBSVM, which scikit-learn uses, grows faster with the number of rows.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.loglog(sizes, theirs, "s-", color="#E69F00", label="sklearn.svm.SVC")
left.loglog(sizes, ours, "o-", color="#0072B2", label="hingeline.SVC")
left.fill_between(sizes, ours, theirs, color="#0072B2", alpha=0.08)
left.annotate(f"{theirs[-1] / ours[-1]:.0f} times as fast", (sizes[-1], (ours[-1] * theirs[-1]) ** 0.5), (-100, 0),
              textcoords="offset points", va="center", weight="bold")  # fmt: skip
left.set(title="time of a fit", xlabel="rows", ylabel="CPU seconds")
left.legend(frameon=False)
right.hist(difference / 1e-3, bins=60, color="#0072B2")
right.set(
    title="the models agree within tol", xlabel="difference of decision values, in units of tol", ylabel="test rows"
)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
