"""Long searches: checkpoints, progress, Ctrl-C, other processes, leave-one-out."""

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn.svm
from sklearn.model_selection import GridSearchCV, LeaveOneOut

from hingeline import LASVC, SVC, IncrementalSVC, WorstViolatorSVC
from hingeline.files.durable import lock_file
from hingeline.files.log import line
from hingeline.model_selection import KernelSearchCV, nested_cross_validate
from tests.test_search import GRIDS, SCORES, assert_same, samples

from .watching import needs_callbacks

GRID = GRIDS[SVC]


# ---- checkpoints -------------------------------------------------------------------------------------


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("estimator", [SVC(), LASVC()], ids=["shared", "fitted"])
def test_finished_cells_are_not_computed_again(estimator, tmp_path):
    X, y = samples(60)
    grid, file = {"C": [0.5, 5.0], "gamma": [0.1, 1.0]}, tmp_path / "journal"
    expected = KernelSearchCV(estimator, grid, cv=3, return_train_score=True).fit(X, y)
    first = KernelSearchCV(estimator, grid, cv=3, return_train_score=True, checkpoint=file).fit(X, y)
    assert_same(first, expected)
    whole = lines_of(file)
    assert len(whole) == 1 + 12
    file.write_bytes(b"".join(whole[:6]) + whole[6][:-9] + b"x" * 10_000)  # killed within a line
    again = KernelSearchCV(estimator, grid, cv=3, return_train_score=True, checkpoint=file).fit(X, y)
    assert_same(again, expected)
    assert lines_of(file)[:6] == whole[:6]
    assert len(lines_of(file)) == 13
    for name in ("mean_fit_time", "mean_score_time"):  # those of the first computation
        np.testing.assert_array_equal(
            KernelSearchCV(estimator, grid, cv=3, return_train_score=True, checkpoint=file).fit(X, y).cv_results_[name],
            again.cv_results_[name],
        )
    wider = KernelSearchCV(estimator, {**grid, "C": [0.5, 5.0, 50.0]}, cv=3, return_train_score=True, checkpoint=file)
    wider.fit(X, y)
    assert len(lines_of(file)) == 1 + 18  # only the new cells were added


def test_a_journal_belongs_to_its_data(tmp_path):
    X, y = samples(60)
    file = tmp_path / "journal"
    KernelSearchCV(SVC(), GRID, checkpoint=file).fit(X, y)
    for other, data in (
        (KernelSearchCV(SVC(), GRID, checkpoint=file), X + 1e-9),
        (KernelSearchCV(SVC(tol=1e-4), GRID, checkpoint=file), X),
        (KernelSearchCV(SVC(), GRID, checkpoint=file, scoring="f1_macro"), X),
    ):
        with pytest.raises(ValueError, match="for other data, another estimator or another scoring"):
            other.fit(data, y)
    header = json.loads(lines_of(file)[0])
    assert set(header["versions"]) == {"hingeline", "scikit-learn", "numpy", "scipy"}
    file.write_text("something else\nentirely\n")
    with pytest.raises(ValueError, match="not a journal of a search"):
        KernelSearchCV(SVC(), GRID, checkpoint=file).fit(X, y)
    assert file.read_text() == "something else\nentirely\n"


def test_files_that_are_no_journals_stay(tmp_path):
    X, y = samples(60)
    file = tmp_path / "thesis"
    for text in (b"one line without an end", b'{"format": 1}', b"0" * 40, b"\n"):
        file.write_bytes(text)
        with pytest.raises(ValueError, match="not a journal of a search"):
            KernelSearchCV(SVC(), GRID, checkpoint=file).fit(X, y)
        assert file.read_bytes() == text


def test_a_first_line_that_a_crash_left_incomplete(tmp_path):
    X, y = samples(60)
    file = tmp_path / "journal"
    KernelSearchCV(SVC(), GRID, checkpoint=file).fit(X, y)
    whole = file.read_bytes()
    for rest in (b"", whole[:30], b"\0" * 50):
        file.write_bytes(rest)
        KernelSearchCV(SVC(), GRID, checkpoint=file).fit(X, y)
        assert len(lines_of(file)) == whole.count(b"\n")


def test_damaged_lines_are_computed_again(tmp_path):
    X, y = samples(60)
    file = tmp_path / "journal"
    search = KernelSearchCV(SVC(), GRID, cv=3, checkpoint=file)
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    lines = lines_of(file)
    damaged = [lines[0], lines[1], re.sub(rb"\d", lambda m: b"%d" % (9 - int(m[0])), lines[2]), *lines[3:]]
    file.write_bytes(b"".join(damaged))
    with pytest.warns(UserWarning, match="1 damaged line"):
        np.testing.assert_array_equal(search.fit(X, y).cv_results_["mean_test_score"], expected)
    assert lines_of(file)[: len(lines)] == damaged  # nothing else was computed again
    assert len(lines_of(file)) == len(lines) + 1


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("out"),
        lambda record: record.pop("cell"),
        lambda record: record.update(cell=[1]),
        lambda record: record.update(more=1),
        lambda record: record.update(out=[1]),
        lambda record: record["out"].pop("test_scores"),
        lambda record: record["out"].pop("train_scores"),
        lambda record: record["out"].pop("fit_error"),
        lambda record: record["out"].pop("n_test_samples"),
        lambda record: record["out"].update(fit_time="1"),
        lambda record: record["out"].update(fit_time=10**400),
        lambda record: record["out"].update(test_scores=-(10**400)),
        lambda record: record["out"].update(test_scores=None),
        lambda record: record["out"].update(test_scores=[0.5]),
        lambda record: record["out"].update(test_scores={}),
        lambda record: record["out"].update(train_scores={"a": 0.5}),
        lambda record: record["out"].update(test_scores={"a": 0.5}, train_scores={"a": 0.5}),
    ],
)
@pytest.mark.parametrize("number", [1, -1])
def test_lines_with_a_right_checksum_and_wrong_fields(change, number, tmp_path):
    X, y = samples(60)
    file = tmp_path / "journal"
    search = KernelSearchCV(SVC(), {"C": [0.5, 5.0]}, cv=2, return_train_score=True, checkpoint=file).fit(X, y)
    lines = lines_of(file)
    record = json.loads(lines[number])
    del record["crc"]
    change(record)
    lines[number] = line(record)
    file.write_bytes(b"".join(lines))
    with pytest.raises(ValueError, match=r"the line at byte .* is not the result of a cell"):
        search.fit(X, y)
    assert lines_of(file) == lines


def hits(estimator, X, y):
    return float((estimator.predict(X) == y).mean())


@pytest.mark.parametrize(
    ("scoring", "scores"),
    [
        (None, {"a": 0.5}),
        ("f1_macro", {"f1_macro": 0.5}),
        (["f1_macro", "accuracy"], 0.5),
        (["f1_macro", "accuracy"], {"accuracy": 0.5}),
        (["f1_macro", "accuracy"], {"accuracy": 0.5, "f1_macro": 0.5, "a": 0.5}),
    ],
)
def test_scores_of_another_scorer(scoring, scores, tmp_path):
    """Also if all cells have them."""
    X, y = samples(60)
    file = tmp_path / "journal"
    search = KernelSearchCV(SVC(), {"C": [0.5, 5.0]}, cv=2, scoring=scoring, refit=False, checkpoint=file).fit(X, y)
    lines = lines_of(file)
    for number in range(1, len(lines)):
        record = json.loads(lines[number])
        del record["crc"]
        record["out"]["test_scores"] = scores
        lines[number] = line(record)
    file.write_bytes(b"".join(lines))
    with pytest.raises(ValueError, match="is not the result of a cell"):
        search.fit(X, y)


def test_scores_of_another_search(tmp_path):
    """The names of the scores of a function are those of the first cell."""
    X, y = samples(60)
    file = tmp_path / "journal"
    search = KernelSearchCV(SVC(), {"C": [0.5, 5.0]}, cv=2, scoring=hits, checkpoint=file).fit(X, y)
    header, first, *_ = lines_of(file)
    record = json.loads(first)
    del record["crc"]
    record["out"]["test_scores"] = {"a": 0.5}
    file.write_bytes(header + line(record))
    with pytest.raises(ValueError, match="has other scores than this search"):
        search.fit(X, y)


def test_one_search_at_a_time(tmp_path):
    X, y = samples(60)
    file = tmp_path / "journal"
    search = KernelSearchCV(SVC(), GRID, checkpoint=file).fit(X, y)
    other = lock_file(file, "")
    try:
        with pytest.raises(RuntimeError, match="in use by another search"):
            search.fit(X, y)
    finally:
        os.close(other)
    search.fit(X, y)


def test_cells_that_failed_are_not_stored(tmp_path):
    X, y = samples(60, 2)
    y = np.array(["a", "b"])[y]
    file = tmp_path / "journal"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed = KernelSearchCV(SVC(), GRID, scoring="f1", checkpoint=file).fit(X, y)  # pos_label is 1
    assert np.isnan(failed.cv_results_["mean_test_score"]).all()
    assert len(lines_of(file)) == 1
    with pytest.raises(ValueError, match="pos_label"):
        KernelSearchCV(SVC(), GRID, scoring="f1", error_score="raise", checkpoint=file).fit(X, y)


def test_functions_without_a_name(tmp_path):
    X, y = samples(60)
    search = KernelSearchCV(SVC(), GRID, scoring=lambda e, X, y: e.score(X, y), checkpoint=tmp_path / "journal")
    with pytest.raises(ValueError, match="instead of lambdas"):
        search.fit(X, y)


PROGRAM = """
import os, signal, sys
from hingeline import SVC
from hingeline.model_selection import nested_cross_validate
from tests.test_search import GRIDS, samples
X, y = samples(400)
def kill(done, total):
    if done > 20:
        os.kill(os.getpid(), signal.SIGKILL)
nested_cross_validate(SVC(), X, y, GRIDS[SVC], outer=3, inner=3, checkpoint=sys.argv[1], progress=kill)
"""


def test_kill_9_in_the_middle(tmp_path):
    file = tmp_path / "journal"
    root = Path(__file__).parent.parent
    package = Path(sys.modules["hingeline"].__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{root}"}
    command = [sys.executable, "-c", PROGRAM, str(file)]
    assert subprocess.run(command, env=environment, cwd=root).returncode == -signal.SIGKILL
    kept = [line for line in lines_of(file) if line.endswith(b"\n")]
    assert 20 < len(kept) < 1 + 6 * 9
    X, y = samples(400)
    resumed = nested_cross_validate(SVC(), X, y, GRID, outer=3, inner=3, checkpoint=file)
    expected = nested_cross_validate(SVC(), X, y, GRID, outer=3, inner=3)
    assert lines_of(file)[: len(kept)] == kept
    cells = [json.loads(line)["cell"] for line in lines_of(file)[1:]]
    assert len(cells) == len(set(cells)) == 6 * 9 + 3  # none was computed twice
    np.testing.assert_array_equal(resumed.test_score, expected.test_score)
    assert resumed.best_params == expected.best_params


# ---- progress and Ctrl-C -----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [SVC(), LASVC()], ids=["shared", "fitted"])
def test_progress(estimator):
    X, y = samples(60)
    seen = []
    KernelSearchCV(estimator, {"C": [1.0, 2.0]}, cv=2, progress=lambda *numbers: seen.append(numbers)).fit(X, y)
    assert seen == [(k, 4) for k in range(1, 5)]


class Watcher:
    """Callback of scikit-learn that notes the tasks it sees."""

    def __init__(self):
        self.tasks = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.tasks.append(context.task_name)


@needs_callbacks
def test_callbacks_see_every_cell():
    X, y = samples(60)
    seen = []
    for search in (KernelSearchCV, GridSearchCV):
        watcher = Watcher()
        search(SVC(), GRID, cv=2).set_callbacks(watcher).fit(X, y)
        seen.append(watcher.tasks)
    assert seen[0].count("candidate-split-evaluation") == 12
    assert set(seen[0]) == set(seen[1])


def test_ctrl_c_ends_the_search(tmp_path):
    X, y = samples(60)

    def stop(done, total):
        if done == 5:
            raise KeyboardInterrupt

    search = KernelSearchCV(SVC(), GRID, checkpoint=tmp_path / "journal", progress=stop)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")
    assert len(lines_of(tmp_path / "journal")) == 1 + 5


# ---- processes ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_give_the_same_results():
    X, y = samples()
    for estimator in (SVC(), WorstViolatorSVC()):
        search = KernelSearchCV(estimator, GRIDS[type(estimator)], scoring=SCORES, refit="accuracy")
        with joblib.parallel_config(backend="loky", n_jobs=2):
            there = search.fit(X, y)
        here = KernelSearchCV(estimator, GRIDS[type(estimator)], scoring=SCORES, refit="accuracy").fit(X, y)
        assert_same(there, here)


def test_dask_cluster():
    distributed = pytest.importorskip("distributed")
    X, y = samples()
    client = distributed.Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
    with client, joblib.parallel_config(backend="dask"):
        there = KernelSearchCV(SVC(), GRID).fit(X, y)
        nested = nested_cross_validate(WorstViolatorSVC(), X, y, GRIDS[WorstViolatorSVC], outer=2, inner=2)
    assert_same(there, KernelSearchCV(SVC(), GRID).fit(X, y))
    expected = nested_cross_validate(WorstViolatorSVC(), X, y, GRIDS[WorstViolatorSVC], outer=2, inner=2)
    np.testing.assert_array_equal(nested.test_score, expected.test_score)


# ---- leave-one-out -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_exact_leave_one_out(n_classes, weighted):
    X, y = samples(30, n_classes)
    fit = {"sample_weight": 1.0 + np.arange(30) % 3} if weighted else {}
    tight = sklearn.svm.SVC(tol=1e-10, class_weight={0: 2.0})
    ours = KernelSearchCV(tight, {"C": [0.3, 5.0], "gamma": [0.3]}, cv="loo").fit(X, y, **fit)
    theirs = GridSearchCV(tight, {"C": [0.3, 5.0], "gamma": [0.3]}, cv=LeaveOneOut()).fit(X, y, **fit)
    assert_same(ours, theirs)
    assert ours.n_splits_ == 30
    if not weighted:
        train = KernelSearchCV(tight, {"gamma": [0.3]}, cv="loo", return_train_score=True).fit(X, y)
        assert train.cv_results_["mean_train_score"][0] > 0.5


def test_leave_one_out_that_is_not_exact():
    """Weights that depend on the training rows, a class with one sample, other estimators: by training."""
    X, y = samples(16, 2)
    for estimator, labels in (
        (SVC(gamma=0.3, class_weight="balanced"), y),
        (SVC(), y),  # gamma='scale'
        (SVC(gamma=0.3), np.where(np.arange(16) == 7, 2, y)),
        (WorstViolatorSVC(gamma=0.3), y),
    ):
        path = "C" if isinstance(estimator, SVC) else "margin"
        ours = KernelSearchCV(estimator, {path: [0.3, 1.0]}, cv="loo").fit(X, labels)
        assert_same(ours, GridSearchCV(estimator, {path: [0.3, 1.0]}, cv=LeaveOneOut()).fit(X, labels))


def test_leave_one_out_trains_one_model(monkeypatch):
    X, y = samples(60, 2)
    calls = []
    original = IncrementalSVC.fit
    monkeypatch.setattr(IncrementalSVC, "fit", lambda *a, **k: calls.append(1) or original(*a, **k))
    KernelSearchCV(SVC(), {"C": [0.3, 1.0, 3.0], "gamma": [0.1, 1.0]}, cv="loo", refit=False).fit(X, y)
    assert len(calls) == 2  # one for each gamma


def test_ctrl_c_in_threads_ends_the_search_soon(tmp_path):
    X, y = samples(400)

    def stop(done, total):
        if done == 14:  # in the second run, which is in a thread
            raise KeyboardInterrupt

    grid = {"C": [10.0 * k for k in range(1, 13)], "gamma": np.linspace(0.1, 5.0, 12)}
    search = KernelSearchCV(SVC(), grid, cv=2, n_jobs=2, checkpoint=tmp_path / "journal", progress=stop)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert 14 <= len(lines_of(tmp_path / "journal")) < 100  # of 288


def test_errors_of_the_caller_are_not_taken_for_failed_fits():
    X, y = samples(60)

    def complain(done, total):
        raise OSError("no space left")

    for n_jobs in (1, 2):
        with pytest.raises(OSError, match="no space left"):
            KernelSearchCV(SVC(), GRID, n_jobs=n_jobs, progress=complain).fit(X, y)
