"""
Critical differences
====================

Which method is better, over many data sets? ``rank_methods`` ranks the methods on each data set and tests whether the
mean ranks differ by more than chance. The diagram joins the methods that cannot be told apart.
"""

# %%
# Five machines on fourteen problems: seven pairs of digits that are easily confused, with noise on the pixels, and
# seven that are drawn.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import scale

from hingeline import LASVC, SVC, LinearSVC, NystroemSVC, WorstViolatorSVC
from hingeline.compare import rank_methods

digits, label = load_digits(return_X_y=True)
problems = {}
for a, b in ((3, 8), (1, 8), (9, 5), (9, 3), (4, 7), (1, 2), (8, 9)):
    of_pair = np.isin(label, (a, b))
    blurred = digits[of_pair] + np.random.default_rng(a).normal(0, 6, (of_pair.sum(), 64))
    problems[f"{a} or {b}"] = scale(blurred), label[of_pair]
for seed in range(4):
    drawn = make_classification(400, 12, n_informative=6, n_clusters_per_class=3, flip_y=0.1, random_state=seed)
    problems[f"clusters {seed}"] = scale(drawn[0]), drawn[1]
for seed in range(3):
    problems[f"moons {seed}"] = make_moons(400, noise=0.35, random_state=seed)

# %%
methods = {
    "SVC": SVC(C=3),
    "LASVC": LASVC(C=3, random_state=0),
    "WorstViolatorSVC": WorstViolatorSVC(),
    "NystroemSVC": NystroemSVC(C=3, n_components=50, random_state=0),
    "LinearSVC": LinearSVC(C=0.1),
}
scores = {name: [100 * cross_val_score(model, *data, cv=5).mean() for data in problems.values()]
          for name, model in methods.items()}  # fmt: skip
result = rank_methods(scores, control="SVC")
print(result)

# %%
# Left: the accuracies, one line for each problem. Right: the critical difference diagram.
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=(1, 1.5))
table = np.array(list(scores.values()))
drawn = left.imshow(table.T - table.mean(axis=0)[:, None], cmap="RdBu", vmin=-6, vmax=6, aspect="auto")
left.set_xticks(range(len(methods)), methods, rotation=30, ha="right")
left.set_yticks(range(len(problems)), problems, fontsize=8)
fig.colorbar(drawn, ax=left, label="accuracy minus the mean of the problem, points")
result.plot(ax=right)
right.set_title("mean rank: methods joined by a bar do not differ significantly")
plt.show()
