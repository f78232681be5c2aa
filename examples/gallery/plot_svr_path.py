"""
Support vector regression along C
=================================

``SVR(warm_start=True)`` starts from its last solution. A path over C then costs few steps, and shows how a
curve bends to the data while the number of support vectors outside of the tube falls.
"""

# %%
# A noisy signal whose frequency grows.
import time

import matplotlib.pyplot as plt
import numpy as np

from hingeline import SVR

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 1, 600))
signal = np.sin(12 * x**2) * np.exp(-x)
y = signal + rng.normal(0, 0.1, len(x))
X = x[:, None]
x_test = rng.uniform(0, 1, 2000)
Cs = np.logspace(-3, 4, 29)


def path(warm):
    """Models along C, and the CPU seconds."""
    start, models = time.process_time(), []
    model = SVR(gamma=30.0, epsilon=0.15, warm_start=warm)
    for C in Cs:
        model.set_params(C=C).fit(X, y)
        models.append(
            (model.predict(X), model.predict(x_test[:, None]), len(model.support_), int(np.sum(model.n_iter_)))
        )
    return models, time.process_time() - start


models, seconds = path(warm=True)
cold, cold_seconds = path(warm=False)
steps, cold_steps = (sum(row[-1] for row in rows) for rows in (models, cold))
print(f"warm {seconds:.2f} s, {steps} steps; cold {cold_seconds:.2f} s, {cold_steps} steps")

# %%
# Left: curves along C; the tube of the best one is shaded, and rows inside of it have no influence. Right: the error on
# new rows, and the share of support vectors.
errors = [np.sqrt(np.mean((new - np.sin(12 * x_test**2) * np.exp(-x_test)) ** 2)) for _, new, *_ in models]
best = int(np.argmin(errors))
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", width_ratios=(1.4, 1))
left.scatter(x, y, s=5, color="#8a8f98", linewidths=0)
for k in (0, 6, 10, 14):
    left.plot(x, models[k][0], color=plt.cm.viridis(k / len(Cs)), linewidth=1.4, label=f"C = {Cs[k]:.2g}")
left.plot(x, models[best][0], color="#D55E00", linewidth=2.2, label=f"C = {Cs[best]:.2g}, the best")
left.fill_between(x, models[best][0] - 0.15, models[best][0] + 0.15, color="#D55E00", alpha=0.12, linewidth=0)
left.set(title="the curve along C", xlabel="x", ylabel="y", xlim=(0, 1))
left.legend(frameon=False, ncols=2, fontsize=8)
right.semilogx(Cs, errors, color="#D55E00")
right.plot(Cs[best], errors[best], "o", color="#D55E00")
right.set(
    title="error and support vectors along C", xlabel="C", ylabel="root mean square error on new rows", ylim=(0, None)
)
right.yaxis.label.set_color("#D55E00")
share = right.twinx()
share.semilogx(Cs, [100 * count / len(x) for _, _, count, _ in models], color="#0072B2", linestyle="--")
share.set(ylabel="support vectors, % of the rows", ylim=(0, 100))
share.yaxis.label.set_color("#0072B2")
left.spines[["top", "right"]].set_visible(False)
plt.show()
