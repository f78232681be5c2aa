"""NystroemSVC against scikit-learn's kernel approximations followed by a linear model: time and test accuracy.

    python -m benchmarks.nystroem [names of data sets] [--repeats 3] [--large] [--only-report]

Contestants: Nystroem and RBFSampler, each with SGDClassifier (hinge), LinearSVC and LogisticRegression, for several
numbers of components. All have the same gamma and C; SGDClassifier has alpha = 1 / (C n). One thread, contestants in
turns, medians of the repeats, which have different seeds. CPU seconds of the map and the fit together are compared,
since they do not depend on other programs of the machine; wall seconds are in the results file. Data sets that are not
named keep their results. ``--large`` also fits 1,000,000 x 50 rows with 1,000 components on two threads.

Results and figure: benchmarks/results/nystroem/.
"""

from __future__ import annotations

import os

from benchmarks.environment import THREAD_VARIABLES

os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.against.data import REPEATED, apart
from benchmarks.environment import machine
from benchmarks.writing import about_machine, table, write

FOLDER = Path("benchmarks/results/nystroem")
#: Data: C, gamma.
SETTINGS = {
    "adult": (1.0, 0.02),
    "ijcnn1": (32.0, 2.0),
    "mnist8": (10.0, 0.02),
    "w8a": (10.0, 0.05),
    "letter": (10.0, 0.1),
}
OURS = "hingeline.NystroemSVC"
OUR_SIZES, NYSTROEM_SIZES, FOURIER_SIZES = (
    (25, 50, 100, 200, 300, 400, 500, 800),
    (50, 100, 200, 400),
    (100, 200, 400, 800),
)
LEARNERS = ("SGDClassifier", "sklearn LinearSVC", "LogisticRegression")


def load(name):
    """Return training rows, labels, test rows, labels; float32, CSR where the set is sparse.

    The training part of a set whose test rows occur in it is split in two without common rows.
    """
    from hingeline import datasets

    data = datasets.load("mnist" if name == "mnist8" else name)
    n, X, y = data.n_train, data.X, data.y
    if name == "mnist8":
        X, y = X / 255, (y == 8).astype(int)
    if name == "letter":
        X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    X = X.astype(np.float32)
    train, test = apart(X[:n]) if name in REPEATED else (slice(n), slice(n, None))
    return X[train], y[train], X[test], y[test]


def learner(name, C, n, seed):
    from sklearn import svm
    from sklearn.linear_model import LogisticRegression, SGDClassifier

    if name == "SGDClassifier":
        return SGDClassifier(alpha=1 / (C * n), random_state=seed)
    return (
        svm.LinearSVC(C=C / 2, max_iter=200, random_state=seed)
        if name == "sklearn LinearSVC"
        else LogisticRegression(C=C, max_iter=300)
    )


def clock(call):
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    return np.array([time.process_time() - cpu, time.perf_counter() - wall]), result


def one_round(data, C, gamma, seed, say):
    """Measure every contestant once: say(label, components, seconds, accuracy)."""
    from sklearn.kernel_approximation import Nystroem, RBFSampler

    from hingeline import NystroemSVC

    X, y, X_test, y_test = data
    for m in OUR_SIZES:
        seconds, model = clock(
            lambda m=m: NystroemSVC(C=C / 2, gamma=gamma, n_components=m, random_state=seed).fit(X, y)
        )
        say(OURS, m, seconds, model.score(X_test, y_test))
        for kind, sizes in ((Nystroem, NYSTROEM_SIZES), (RBFSampler, FOURIER_SIZES)):
            if m not in sizes:
                continue
            mapping = kind(gamma=gamma, n_components=m, random_state=seed)
            mapped, Z = clock(lambda mapping=mapping: mapping.fit_transform(X))
            Z_test = mapping.transform(X_test)
            for name in LEARNERS:
                if name == "sklearn LinearSVC" and len(np.unique(y)) > 10:  # takes minutes
                    continue
                peer = learner(name, C, X.shape[0], seed)
                seconds, _ = clock(lambda peer=peer, Z=Z: peer.fit(Z, y))
                say(f"{kind.__name__} + {name}", m, mapped + seconds, peer.score(Z_test, y_test))


def compare(name, repeats):
    C, gamma = SETTINGS[name]
    data, runs = load(name), {}
    for repeat in range(repeats):
        print(name, "round", repeat + 1, flush=True)
        one_round(data, C, gamma, repeat, lambda who, m, s, a: runs.setdefault((who, m), []).append((*s, a)))
    points = []
    for (who, m), measured in runs.items():
        cpu, wall, accuracy = (statistics.median(column) for column in zip(*measured, strict=True))
        points.append({"who": who, "components": m, "cpu": cpu, "wall": wall, "accuracy": accuracy})
    return points


def front(points):
    """Points that no other point beats in both time and accuracy."""
    return [
        p
        for p in points
        if not any(q is not p and q["cpu"] <= p["cpu"] and q["accuracy"] >= p["accuracy"] for q in points)
    ]


def large(n=1_000_000, d=50, threads=2):
    """Fit many rows with a nonlinear boundary; seconds, accuracy on fresh rows, duality gap."""
    from hingeline import NystroemSVC

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + 20_000, d), dtype=np.float32)
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + np.cos(X[:, 4] * X[:, 5]) - 0.6
    y = f + 0.5 * rng.standard_normal(len(f)) > 0
    model = NystroemSVC(C=0.5, gamma=0.02, n_components=1000, n_jobs=threads)
    seconds, _ = clock(lambda: model.fit(X[:n], y[:n]))
    return {
        "rows": n,
        "features": d,
        "components": 1000,
        "threads": threads,
        "cpu": seconds[0],
        "wall": seconds[1],
        "accuracy": model.score(X[n:], y[n:]),
        "passes": model.n_passes_,
        "relative_gap": float((model.duality_gap_ / model.objective_)[0]),
    }


def draw(results):
    from matplotlib.ticker import NullFormatter

    from benchmarks import plots
    from benchmarks.plots import plt

    looks = {
        OURS: (plots.BLACK, "o-"),
        "Nystroem + SGDClassifier": (plots.BLUE, "s--"),
        "Nystroem + sklearn LinearSVC": (plots.GREEN, "^--"),
        "Nystroem + LogisticRegression": (plots.RED, "v--"),
        "RBFSampler + SGDClassifier": (plots.SKY, "s:"),
        "RBFSampler + sklearn LinearSVC": (plots.ORANGE, "^:"),
        "RBFSampler + LogisticRegression": (plots.PINK, "v:"),
    }
    figure, axes = plt.subplots(1, len(results), figsize=(3.1 * len(results), 3.6), layout="constrained", squeeze=False)
    for axis, (name, points) in zip(axes[0], results.items(), strict=True):
        for who, (colour, style) in looks.items():
            own = sorted((p["cpu"], 100 * p["accuracy"]) for p in points if p["who"] == who) or [(np.nan, np.nan)]
            axis.semilogx(*zip(*own, strict=True), style, color=colour, label=who, markersize=4, linewidth=1)
        axis.xaxis.set_minor_formatter(NullFormatter())
        ours = [100 * p["accuracy"] for p in points if p["who"] == OURS]
        axis.set_ylim(min(ours) - 0.15 * (max(ours) - min(ours)) - 0.1)
        axis.set(
            title=name,
            xlabel="CPU seconds, map and fit",
            ylabel="test accuracy, %" if name == next(iter(results)) else "",
        )
    plots.legend(figure, *axes[0][0].get_legend_handles_labels(), columns=4)
    plots.save([("front", figure)], FOLDER)


#: Runs made before the training part of a set was split; see `load`.
SEEN = {
    "published": "All rows of the published test part occur in the training part with the same label: accuracies are "
    "those of rows seen in training.",
    "apart": "All rows of the published test part occur in the training part. Here the test part is a quarter of the "
    "distinct rows of the training part, and equal rows are on one side.",
}


def page(results, million, about):
    """Write the page; `about`: for each set 'machine', lines about it, and 'split', a key of SEEN."""
    parts = [
        "# NystroemSVC beside kernel approximations of scikit-learn",
        "",
        "One thread, unless a row says otherwise. C multiplies half of the squared hinge: NystroemSVC and "
        "sklearn LinearSVC get C / 2.",
    ]
    machines = dict.fromkeys(tuple(one["machine"]) for one in about.values())
    for lines in machines:
        names = [name for name, one in about.items() if tuple(one["machine"]) == lines]
        parts += ["", *([f"{', '.join(names)}:", ""] if len(machines) > 1 else []), *lines]
    parts += [""]
    parts += [
        "Medians of three seeds; CPU seconds of map and fit, one thread. Bold: no other row is both faster and better.",
        "",
    ]
    for name, points in results.items():
        best = front(points)
        rows = []
        for p in sorted(points, key=lambda p: p["cpu"]):
            mark = "**" if p in best else ""
            cells = (f"{p['cpu']:.3g}", f"{p['wall']:.3g}", f"{100 * p['accuracy']:.2f}")
            rows.append([f"{mark}{p['who']}{mark}", str(p["components"]), *cells])
        C, gamma = SETTINGS[name]
        parts += [f"## {name}, C = {C:g}, gamma = {gamma:g}", ""]
        parts += [SEEN[about[name]["split"]], ""] if about[name].get("split") else []
        parts += [table(["", "components", "CPU s", "wall s", "accuracy %"], rows), ""]
    if million:
        parts += ["## A million rows", "", table(list(million), [[f"{v:.4g}" for v in million.values()]]), ""]
    return "\n".join([*parts, "![Time and accuracy](front.png)", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="data sets; all if none is given")
    parser.add_argument("--only-report", action="store_true", help="write the page from the stored points")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also fit a million rows on two threads")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    before = json.loads((FOLDER / "report.json").read_text()) if (FOLDER / "report.json").exists() else {}
    known, about = before.get("points", {}), before.get("about", {})
    for name in SETTINGS:
        if not given.only_report and (not given.names or name in given.names):
            known[name] = compare(name, given.repeats)
            about[name] = {"machine": about_machine(machine())} | ({"split": "apart"} if name in REPEATED else {})
    results = {name: known[name] for name in SETTINGS if name in known}
    million = before.get("large")
    if given.large:
        million, about["a million rows"] = large(), {"machine": about_machine(machine())}
    write(FOLDER, "report", {"about": about, "points": results, "large": million}, page(results, million, about))
    draw(results)
    for name, points in results.items():
        for p in front(points):
            print(f"{name}: {p['who']} {p['components']}: {p['cpu']:.3g} s, {100 * p['accuracy']:.2f} %")


if __name__ == "__main__":
    main()
