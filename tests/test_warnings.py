"""Warnings name the line of the user's code that they are about, however the call gets to hingeline."""

import ast
import contextlib
import inspect
import linecache
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_moons
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hingeline.base.warn
from hingeline import (
    LASVC,
    SVC,
    SVR,
    Checkpoint,
    IncrementalOneClassSVM,
    IncrementalSVC,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    NystroemMap,
    OneClassSVM,
    OrdinalSVC,
    WorstViolatorSVC,
    linear_svc_path,
)
from hingeline.base import duration
from hingeline.exact.ensemble import ExactEnsemble
from hingeline.model_selection import KernelSearchCV, nested_cross_validate
from hingeline.testing import check_online_estimator

from .private import crash
from .watching import NO_CALLBACKS, Recorder

PACKAGE = Path(hingeline.__file__).parent
X, y = make_moons(120, noise=0.3, random_state=0)
WORDS = np.array(["low", "middle", "high"])[np.arange(120) % 3]
GRID = {"C": [0.1, 1.0], "gamma": [0.5]}


# ---- one function for each place that warns: the line that ends with "# warns" is the user's ------------------


def ended_early(tmp_path, monkeypatch):
    SVC(max_iter=3).fit(X, y)  # warns


def long_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(duration, "MANY_ROWS", 100)
    monkeypatch.setattr(duration, "measure_value", lambda estimator, X: 1.0)
    SVC().fit(X, y)  # warns


def equal_entries(tmp_path, monkeypatch):
    with contextlib.suppress(ValueError):
        SVC().fit(np.ones((120, 2)), y)  # warns


def lost_digits(tmp_path, monkeypatch):
    rows = np.concatenate([X, X + 1e9])
    SVC(gamma=1.0).fit(rows, np.concatenate([y, y]))  # warns


def few_first_rows(tmp_path, monkeypatch):
    LASVC().partial_fit(X[:3], y[:3], [0, 1])  # warns


def column_of_labels(tmp_path, monkeypatch):
    SVC().fit(X, y[:, np.newaxis])  # warns


def probability(tmp_path, monkeypatch):
    SVC(probability=True).fit(X, y)  # warns


def platt_attribute(tmp_path, monkeypatch):
    SVC().fit(X, y).probA_  # noqa: B018 # warns


def forgetting_with_scale(tmp_path, monkeypatch):
    model = IncrementalSVC().fit(X, y)
    model.forget(0)  # warns


def rounding_errors_of_exact_models(tmp_path, monkeypatch):
    model = IncrementalSVC(gamma=1.0).fit(X, y)
    monkeypatch.setattr(ExactEnsemble, "complaints", lambda self, *, visited=False: ["the optimum was not reached"])
    model.set_C(3.0)  # warns


def path_ended_early(tmp_path, monkeypatch):
    linear_svc_path(X, y, Cs=[1.0, 10.0], max_iter=1, tol=0.0)  # warns


def more_landmarks_than_rows(tmp_path, monkeypatch):
    NystroemMap(n_components=500).fit(X)  # warns


def words_without_order(tmp_path, monkeypatch):
    OrdinalSVC().fit(X, WORDS)  # warns


def search_ended_early(tmp_path, monkeypatch):
    KernelSearchCV(SVC(max_iter=3), GRID, cv=3, refit=False).fit(X, y)  # warns


def blocks_of_kernel_values(tmp_path, monkeypatch):
    KernelSearchCV(SVC(), GRID, cv=3, memory_limit=0.01).fit(X, y)  # warns


def damaged_journal(tmp_path, monkeypatch):
    search = KernelSearchCV(SVC(), GRID, cv=3, checkpoint=tmp_path / "journal").fit(X, y)
    lines = (tmp_path / "journal").read_bytes().splitlines(keepends=True)
    (tmp_path / "journal").write_bytes(b"".join([*lines[:2], b"damage\n", *lines[3:]]))
    search.fit(X, y)  # warns


def damaged_generation(tmp_path, monkeypatch):
    run = Checkpoint(tmp_path, LASVC(gamma=0.5), every=20)
    for k in range(4):
        run.learn(X[20 * k : 20 * k + 20], y[20 * k : 20 * k + 20], **({} if k else {"classes": [0, 1]}))
    crash(run)
    max(tmp_path.glob("model*")).write_bytes(b"")
    Checkpoint(tmp_path)  # warns


def last_record_of_another_width(tmp_path, monkeypatch):
    run = Checkpoint(tmp_path, LASVC(gamma=0.5))
    run.learn(X, y, classes=[0, 1])
    run._journal.add({"X": X[:2, :1], "y": y[:2], "keywords": {}, "note": None})
    crash(run)
    Checkpoint(tmp_path)  # warns


def full_disk(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("no space left")

    run = Checkpoint(tmp_path, LASVC(gamma=0.5), every=1)
    run.learn(X[:60], y[:60], classes=[0, 1])
    monkeypatch.setattr("hingeline.files.checkpoint.write_atomically", fail)
    run.learn(X[60:], y[60:])  # warns


def skipped_check(tmp_path, monkeypatch):
    def skip(estimator):
        raise SkipTest("not here")

    skip.name = "check_nothing"
    monkeypatch.setattr("hingeline.testing.online_checks", lambda estimator, **_: [skip])
    check_online_estimator(LASVC())  # warns


#: By place in the package: what provokes the warning, its category, and words of it.
PLACES = {
    "base/fit.py run": (ended_early, ConvergenceWarning, "max_iter=3"),
    "base/duration.py warn_of_long_fit": (long_fit, UserWarning, "SVC to 120 rows may take minutes"),
    "base/kernel.py _resolve_gamma": (equal_entries, UserWarning, "gamma=1.0 is used"),
    "base/frame.py warn_of_lost_digits": (lost_digits, UserWarning, "Rounding errors spoil"),
    "base/kernel.py _set_kernel_once": (few_first_rows, UserWarning, "from now on"),
    "base/rows.py flatten_column": (column_of_labels, DataConversionWarning, "column-vector y"),
    "batch/svc.py _prepare": (probability, FutureWarning, "CalibratedClassifierCV"),
    "batch/platt.py _read_deprecated": (platt_attribute, FutureWarning, "probA_"),
    "exact/estimator.py _warn_of_scale": (forgetting_with_scale, UserWarning, "Forgetting a row"),
    "exact/ensemble.py warn": (rounding_errors_of_exact_models, ConvergenceWarning, "not reached"),
    "linear/path.py fit_path": (path_ended_early, ConvergenceWarning, "machines"),
    "linear/nystroem_map.py _prepare_map": (more_landmarks_than_rows, UserWarning, "n_components=500"),
    "linear/ordinal.py _order": (words_without_order, UserWarning, "alphabetical order"),
    "model_selection/evaluator.py _warn": (search_ended_early, ConvergenceWarning, "warnings about 6 fits"),
    "model_selection/evaluator.py storage": (blocks_of_kernel_values, UserWarning, "memory_limit=0.01"),
    "model_selection/cells.py _read": (damaged_journal, UserWarning, "1 damaged line"),
    "files/checkpoint.py learn": (full_disk, RuntimeWarning, "no generation was written"),
    "files/checkpoint.py _load": (damaged_generation, UserWarning, "The generation before it"),
    "files/checkpoint.py _replay": (last_record_of_another_width, UserWarning, "the last record does not fit"),
    "testing/__init__.py check_online_estimator": (skipped_check, UserWarning, "check_nothing was skipped"),
}


def find_places(tree, name, function=None):
    """Yield the place of each call of `warn` below a node: the file and the innermost function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warn":
            yield f"{name} {function}"
        yield from find_places(node, name, node.name if isinstance(node, ast.FunctionDef) else function)


def test_every_place_that_warns_is_in_the_table():
    """A function has one place at most, which `test_a_warning_names_the_line_of_the_user` provokes."""
    places, others = [], []
    for path in PACKAGE.rglob("*.py"):
        tree, name = ast.parse(path.read_text()), path.relative_to(PACKAGE).as_posix()
        places += find_places(tree, name)
        if name != "base/warn.py":
            others += [f"{name}:{node.lineno}" for node in ast.walk(tree) if names_other_warn(node)]
    assert sorted(places) == sorted(PLACES)
    assert not others, "use hingeline.base.warn.warn"


def names_other_warn(node):
    """Whether a node uses a function of the module warnings that warns."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "warnings" and any(one.name.startswith("warn") for one in node.names)
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("warnings.warn", "warnings.warn_explicit")


def require_user_line(caught):
    """Require that each warning names a line of a file of tests that ends with "# warns"."""
    for warning in caught:
        line = linecache.getline(warning.filename, warning.lineno)
        assert line.endswith("# warns\n"), f"{warning.filename}:{warning.lineno}: {warning.message}"


@pytest.mark.parametrize("place", PLACES)
def test_a_warning_names_the_line_of_the_user(place, tmp_path, monkeypatch):
    provoke, category, words = PLACES[place]
    origin, find = [], hingeline.base.warn._find_user_frame

    def note_origin(frame):
        origin.append(frame.f_code)
        return find(frame)

    monkeypatch.setattr(hingeline.base.warn, "_find_user_frame", note_origin)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        provoke(tmp_path, monkeypatch)
    require_user_line(caught)
    assert any(issubclass(w.category, category) and words in str(w.message) for w in caught), list(map(str, caught))
    code = f"{Path(origin[0].co_filename).relative_to(PACKAGE).as_posix()} {origin[0].co_name}"
    assert code == place


# ---- ways to a fit ------------------------------------------------------------------------------------------


class Own(SVC):
    """Estimator of a user."""


EARLY = SVC(max_iter=3)
WAYS = {
    "callbacks": lambda: SVC(max_iter=3).set_callbacks(Recorder()).fit(X, y),  # warns
    "pipeline": lambda: make_pipeline(StandardScaler(), EARLY).fit(X, y),  # warns
    "search": lambda: GridSearchCV(EARLY, {"C": [1.0, 2.0]}).fit(X, y),  # warns
    "joblib": lambda: Parallel(backend="sequential")(delayed(EARLY.fit)(X, y) for _ in range(2)),  # warns
    "scores": lambda: cross_val_score(EARLY, X, y),  # warns
    "calibration": lambda: CalibratedClassifierCV(EARLY, ensemble=False).fit(X, y),  # warns
    "one-vs-rest": lambda: OneVsRestClassifier(EARLY).fit(X, WORDS),  # warns
    "bagging": lambda: BaggingClassifier(EARLY, 3).fit(X, y),  # warns
    "subclass": lambda: Own(max_iter=3).fit(X, y),  # warns
    "nested": lambda: nested_cross_validate(EARLY, X, y, GRID, outer=3, inner=3),  # warns
    "other families": lambda: [
        model.fit(X, y)  # warns
        for model in (LinearSVC(max_iter=1, tol=0.0), WorstViolatorSVC(cap=0.01), LASVC(tol=1e-3, max_iter=1))
    ],
    "machines": lambda: [
        model.fit(X, y)  # warns
        for model in (NuSVC(max_iter=3), SVR(max_iter=3), NuSVR(max_iter=3), OneClassSVM(max_iter=3))
    ],
    "linear machines": lambda: [
        model.fit(X, y)  # warns
        for model in (LinearSVR(max_iter=1, tol=0.0), LinearSVC(penalty="l1", max_iter=1, tol=0.0))
    ],
    "one class": lambda: IncrementalOneClassSVM().partial_fit(X[:3]),  # warns
}


@pytest.mark.parametrize("way", WAYS)
def test_the_way_to_a_fit_does_not_matter(way):
    if way == "callbacks":
        pytest.importorskip("sklearn.callback", reason=NO_CALLBACKS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = WAYS[way]()
    assert len(caught) >= (len(fitted) if way.endswith("machines") else 1)
    require_user_line(caught)


def test_threads_without_a_line_of_the_user():
    """Only lines of hingeline and of libraries are on the stack: the outermost line of hingeline is named."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=EARLY.fit, args=(X, y))
        thread.start()
        thread.join()
    (warning,) = caught
    assert warning.filename == inspect.getsourcefile(SVC)


def test_a_script_and_a_module(tmp_path):
    """The line of a script, and of a module run by `python -m`, is the user's, though both are named __main__."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            from hingeline import SVC
            from sklearn.datasets import make_moons

            SVC(max_iter=3).fit(*make_moons(50, noise=0.3, random_state=0))
            """
        )
    )
    for command in ([str(script)], ["-m", "script"]):
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stderr.splitlines()[0].startswith(f"{script}:5: ConvergenceWarning"), done.stderr
