"""
A million rows
==============

The time of an exact kernel machine grows faster than the number of rows. ``NystroemSVC`` approximates the kernel from a
few hundred landmarks, and its time grows with the rows. ``LinearSVC`` is quicker still, if a plane divides the classes.
"""

# %%
# Classes divided by a curved surface in five dimensions. One training label in five is wrong; the test labels are true.
# An exact machine keeps every row with a wrong label.
import time

import matplotlib.pyplot as plt
import numpy as np

from hingeline import SVC, LinearSVC, NystroemSVC


def draw(n, seed, noise):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5), dtype=np.float32)
    side = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0
    return X, (side ^ (rng.random(n) < noise)).astype(int)


X, y = draw(1_000_000, seed=0, noise=0.2)
X_test, y_test = draw(10_000, seed=1, noise=0)

# %%
# Growing samples, up to what takes about two seconds.
contestants = {
    "SVC": (lambda: SVC(gamma=0.1), [2_000, 5_000, 10_000, 20_000, 40_000], "#E69F00", "s-"),
    "NystroemSVC, 100 landmarks": (lambda: NystroemSVC(gamma=0.1, n_components=100),
                                   [5_000, 20_000, 100_000, 1_000_000], "#56B4E9", "o-"),
    "NystroemSVC, 300 landmarks": (lambda: NystroemSVC(gamma=0.1, n_components=300),
                                   [5_000, 20_000, 100_000, 1_000_000], "#0072B2", "o-"),
    "LinearSVC": (LinearSVC, [5_000, 20_000, 100_000, 1_000_000], "#8a8f98", "^-"),
}  # fmt: skip
found = {}
for name, (make, sizes, *_) in contestants.items():
    rows = []
    for n in sizes:
        start = time.process_time()
        model = make().fit(X[:n], y[:n])
        rows.append((time.process_time() - start, 100 * model.score(X_test, y_test)))
    found[name] = np.array(rows)
    print(f"{name}: {sizes[-1]:,} rows in {rows[-1][0]:.2f} s, {rows[-1][1]:.1f} % correct")

# %%
# Left: time against rows. Right: what the time buys. With 300 landmarks the approximate machine of a million rows is
# more accurate than the exact one of 40,000. With 100 landmarks the kernel is too coarse, and more rows do not help.
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for name, (_, sizes, colour, style) in contestants.items():
    seconds, accuracy = found[name].T
    left.loglog(sizes, seconds, style, color=colour, label=name)
    right.semilogx(seconds, accuracy, style, color=colour)
    right.annotate(
        f"{sizes[-1]:,}", (seconds[-1], accuracy[-1]), (0, 7), textcoords="offset points", ha="center", fontsize=8
    )
left.set(title="time against rows", xlabel="rows", ylabel="fit, CPU seconds")
right.set(
    title="accuracy against time, and most rows",
    xlabel="fit, CPU seconds",
    ylabel="accuracy on new rows, %",
    ylim=(70, 100),
)
left.legend(frameon=False, fontsize=8)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
