"""Which of several classifiers is better over many data sets? Critical-difference diagrams.

Eight small classification problems, six classifiers, 10-fold cross-validation. ``rank_methods`` ranks the classifiers
on each problem and tests the mean ranks. The upper diagram compares all pairs: a bar joins classifiers that do not
differ significantly. The lower one compares all of them with one control: in the grey band no
difference is significant.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from hingeline import SVC, LinearSVC, WorstViolatorSVC
from hingeline.compare import rank_methods

CLASSIFIERS = {
    "SVC": SVC(),
    "WorstViolatorSVC": WorstViolatorSVC(),
    "LinearSVC": LinearSVC(),
    "5 neighbours": KNeighborsClassifier(),
    "naive Bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(random_state=0),
}


def problems() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Sets of scikit-learn, and drawn ones."""
    found = {name: getattr(datasets, f"load_{name}")(return_X_y=True) for name in ("iris", "wine", "breast_cancer")}
    X, y = datasets.load_digits(return_X_y=True)
    found["digits"] = X[:800], y[:800]
    found["moons"] = datasets.make_moons(400, noise=0.3, random_state=0)
    found["circles"] = datasets.make_circles(400, noise=0.15, factor=0.5, random_state=0)
    found["blobs"] = datasets.make_blobs(400, centers=5, cluster_std=2.5, random_state=0)
    drawn = {"n_samples": 400, "n_features": 20, "n_informative": 8, "n_classes": 3, "random_state": 0}
    found["clusters"] = datasets.make_classification(**drawn)
    return found


def main(path: Path) -> None:
    """Table of accuracies, tests, both diagrams."""
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    table = {
        title: {
            name: 100 * cross_val_score(make_pipeline(StandardScaler(), clf), X, y, cv=folds).mean()
            for name, (X, y) in problems().items()
        }
        for title, clf in CLASSIFIERS.items()
    }
    result = rank_methods(table, control="SVC")
    print(result)
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(9, 5.4), layout="constrained")
    result.plot("nemenyi", ax=top)
    top.set_title("all pairs (Nemenyi)", loc="left")
    result.plot("bonferroni-dunn", ax=bottom)
    bottom.set_title("against SVC (Bonferroni-Dunn)", loc="left")
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=110)
    print(f"Figure: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/compare.png"))
