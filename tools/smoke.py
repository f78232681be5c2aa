"""Check an installed hingeline in less than a minute: estimators, files, command line. Needs its dependencies only.

``python tools/smoke.py`` tests what the Python that runs it imports; run it in an empty environment, away from the
sources. Predictions are compared with those of scikit-learn, where it has the estimator.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse
import sklearn.svm
from sklearn.datasets import load_diabetes, load_digits

import hingeline
from hingeline.cli.main import main

digits, labels = load_digits(return_X_y=True)
digits = digits / 16
train, test = np.arange(1200), np.arange(1200, 1797)


def check_drop_in() -> None:
    """The estimators of sklearn.svm predict as scikit-learn does, up to the tolerance of the solvers."""
    for name in ("SVC", "NuSVC", "OneClassSVM"):
        options = {"nu": 0.1} if name != "SVC" else {"C": 10.0}
        ours, theirs = (
            getattr(module, name)(gamma=0.05, **options).fit(digits[train], labels[train]).predict(digits[test])
            for module in (hingeline, sklearn.svm)
        )
        assert np.mean(ours == theirs) > 0.99, name
    X, y = load_diabetes(return_X_y=True, scaled=True)
    for name in ("SVR", "NuSVR"):
        ours, theirs = (
            getattr(module, name)(C=100.0, gamma=2.0).fit(X, y).predict(X) for module in (hingeline, sklearn.svm)
        )
        assert np.abs(ours - theirs).max() < 0.01 * np.ptp(y), name


def check_accuracy() -> None:
    """Every other classifier learns the digits, in float64 and float32, dense and sparse."""
    names = ("L2SVC", "LASVC", "KernelSGDClassifier", "WorstViolatorSVC", "NystroemSVC", "IncrementalSVC", "LinearSVC")
    for name in names:
        options = {} if name == "LinearSVC" else {"gamma": 0.05}
        for rows in (digits, digits.astype(np.float32), scipy.sparse.csr_array(digits)):
            if name == "IncrementalSVC":  # exact, so slower: fewer rows
                model = hingeline.IncrementalSVC(C=10.0, **options).fit(rows[:300], labels[:300])
            else:
                model = getattr(hingeline, name)(**options).fit(rows[train], labels[train])
            score = model.score(rows[test], labels[test])
            assert score > 0.8, f"{name} of {type(rows).__name__}: {score:.3f} correct"


def check_forgetting() -> None:
    """Rows that are added and forgotten leave the model of the others."""
    model = hingeline.IncrementalSVC(C=10.0, gamma=0.05).fit(digits[:200], labels[:200])
    before = model.decision_function(digits[test])
    model.partial_fit(digits[200:220], labels[200:220])
    model.forget(range(200, 220))
    assert np.abs(model.decision_function(digits[test]) - before).max() < 1e-8


def check_threads() -> None:
    """The number of threads does not change a bit."""
    one, two = (hingeline.SVC(n_jobs=n).fit(digits[train], labels[train]) for n in (1, 2))
    assert np.array_equal(one.dual_coef_, two.dual_coef_)


def check_files(folder: Path) -> None:
    """A saved model predicts the same bits."""
    model = hingeline.SVC(C=10.0, gamma=0.05).fit(digits[train], labels[train])
    hingeline.save(model, folder / "digits.model")
    copy = hingeline.load(folder / "digits.model")
    assert np.array_equal(copy.decision_function(digits[test]), model.decision_function(digits[test]))


def check_command_line(folder: Path) -> None:
    """Train and predict from files."""
    table = np.column_stack([digits[:600], labels[:600]])
    np.savetxt(folder / "digits.csv", table, delimiter=",")
    for command in ("train digits.csv cli.model -c 10 -g 0.05", "predict digits.csv cli.model cli.txt"):
        words = [str(folder / word) if "." in word and not word[0].isdigit() else word for word in command.split()]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = main(words)
        assert not status, output.getvalue()
    assert np.mean(np.loadtxt(folder / "cli.txt") == labels[:600]) > 0.98


if __name__ == "__main__":
    check_drop_in()
    check_accuracy()
    check_forgetting()
    check_threads()
    with tempfile.TemporaryDirectory() as name:
        check_files(Path(name))
        check_command_line(Path(name))
    versions = " ".join(f"{module.__name__} {module.__version__}" for module in (np, sklearn, hingeline))
    print(f"ok: Python {sys.version.split()[0]}, {versions}, {hingeline._core.isa()}")
