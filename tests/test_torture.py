"""A minute of the torture program with fixed seeds, and faults on purpose that it must notice."""

import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hingeline import LASVC, SVC, IncrementalSVC
from hingeline.base import kernel
from hingeline.files import checkpoint, journal
from hingeline.files.log import Damage
from hingeline.labelling import answers
from hingeline.model_selection import cells
from tests.torture import allocations, bitrot, forks, gaps, kernels, numbers, scale, signals, states, threads
from tests.torture.faults import Fault
from tests.torture.runner import Campaign, campaign_module
from tests.torture.subjects import SUBJECTS
from tests.torture.worker import outcome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and signals as Linux has them")

#: Trials of each case in the short version.
SHORT = {
    "states": 10,
    "signals": 3,
    "numbers": 3,
    "threads": 1,
    "kernels": 4,
    "allocations": 1,
    "scale": 4,
    "bitrot": 24,
    "forks": 4,
    "gaps": 2,
}


@pytest.mark.parametrize("name", SHORT)
def test_short_version(name, tmp_path):
    cases = campaign_module(name).cases()
    campaign = Campaign(name, seed=1, folder=tmp_path, cases=cases).run(SHORT[name] * len(cases), limit=10.0)
    assert all(tally.ended or tally.done == SHORT[name] for tally in campaign.tallies.values())
    wrong = [f"{fault['fault']}: {fault['message'][:600]}\n{fault['repeat']}" for fault in campaign.faults()]
    assert not wrong, f"{len(wrong)} faults\n" + "\n\n".join(wrong[:5])


# ---- the program notices -------------------------------------------------------------------------------


def test_the_runner_records_every_kind_of_fault_and_goes_on(tmp_path):
    campaign = Campaign("planted", folder=tmp_path).run(jobs=2)
    found = {(fault["case"], fault["trial"], fault["fault"]) for fault in campaign.faults()}
    kinds = {
        "crash": "crash",
        "endless loop": "hang",
        "deadlock": "hang",
        "wrong error": "KeyError",
        "broken promise": "broken promise",
    }
    assert found == {(case, number, kind) for case, kind in kinds.items() for number in (0, 1)}
    assert campaign.outcomes() == {"works": 5, "faults": 10}
    assert campaign.tallies["short"].ended and campaign.tallies["short"].done == 1
    crash = next(fault for fault in campaign.faults() if fault["case"] == "crash")
    assert "Segmentation fault" in crash["message"] and "planted.py" in crash["message"]
    assert crash["repeat"] == "python -m tests.torture planted --seed 0 --case 'crash' --trial 0"


def test_two_workers_may_compile_the_library_at_the_same_time(tmp_path, monkeypatch):
    both = threading.Barrier(2)

    def compile_library(command, check):
        Path(command[-1]).write_text("library")
        both.wait(timeout=60)

    monkeypatch.setattr(allocations.subprocess, "run", compile_library)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(allocations.environment, [tmp_path, tmp_path])
    assert first == second
    assert [path.name for path in tmp_path.iterdir()] == ["fail_new.so"]


def test_a_campaign_goes_on_where_it_was_interrupted(tmp_path):
    options = {"folder": tmp_path, "cases": ["fine", "noise"]}
    first = Campaign("planted", **options).run(40)
    text = first.file.read_text()
    first.file.write_text(text + '{"campaign": "plan')  # killed while it wrote
    Campaign("planted", **options).run(40)
    assert first.file.read_text() == text, "trials are repeated"
    Campaign("planted", **options).run(60)
    again = Campaign("planted", **options)
    assert again.tallies["fine"].done == 30 and again.outcomes() == {"works": 60}


def faults(module, name, case, trials):
    """Messages of the faults that trials in this process find."""
    found = (outcome(module, name, 0, case, number) for number in range(trials))
    return [one["message"].splitlines()[0] for one in found if "fault" in one]


def test_states_notice_values_that_are_not_finite(monkeypatch):
    monkeypatch.setattr(LASVC, "decision_function", lambda model, X: np.full(X.shape[0], np.nan))
    assert "decision values are not finite" in faults(states, "states", "LASVC", 5)


def test_numbers_notice_a_silent_violation(monkeypatch):
    monkeypatch.setattr(IncrementalSVC, "kkt_violation_", property(lambda model: 1e300))
    assert any("and no warning" in fault for fault in faults(numbers, "numbers", "IncrementalSVC", 10))


def test_scale_notices_a_model_without_a_frame(monkeypatch):
    monkeypatch.setattr(kernel, "choose_frame", lambda X, *parameters: None)
    assert any("of the values differ" in fault for fault in faults(scale, "scale", "WorstViolatorSVC", 20))


def test_gaps_notice_the_gap_of_another_point(monkeypatch):
    honest = SVC.fit

    def fit(model, *given, **more):
        honest(model, *given, **more)
        model.duality_gap_ = 1.5 * model.duality_gap_ + 1e-3
        return model

    monkeypatch.setattr(SVC, "fit", fit)
    assert any("duality_gap_ is" in fault for fault in faults(gaps, "gaps", "SVC", 5))


@pytest.fixture
def keep_signal():
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.signal(signal.SIGALRM, before)
    signals.timer.cache_clear()


def test_signals_notice_a_parameter_that_does_not_follow(monkeypatch, keep_signal):
    honest = IncrementalSVC.set_C

    def set_C(model, C):
        before = model.C
        honest(model, C)
        model.C = before  # as after Ctrl-C between the two steps
        model._model.frozen["C"] = before
        raise KeyboardInterrupt

    monkeypatch.setattr(IncrementalSVC, "set_C", set_C)
    monkeypatch.setattr(signals.Timer, "during", _interrupted_by_itself)
    monkeypatch.setattr(signals, "_some_method", lambda *_: "set_C")
    monkeypatch.setattr(signals, "duration", lambda *_: 1.0)
    found = faults(signals, "signals", "IncrementalSVC", 4)
    assert any("a new model of the points held differs" in fault for fault in found), found


def _interrupted_by_itself(timer, call, after, error, again):
    try:
        call()
    except KeyboardInterrupt:
        return 1
    return 0


def test_rows_that_nobody_can_forget_are_found():
    subject = SUBJECTS["IncrementalSVC"]
    task = signals.new_task(np.random.default_rng(0), 2, "dense")
    model = subject.learn(subject.new(), task, slice(None))
    given = dict(enumerate(zip(task.X, task.y, strict=True)))
    model.kept_ = task.X[3].copy()
    with pytest.raises(Fault, match="rows left"):
        signals.require_nothing_left(model, given)


def test_threads_notice_a_mixed_state(monkeypatch):
    honest, calls = LASVC.decision_function, iter(range(10**9))
    monkeypatch.setattr(LASVC, "decision_function", lambda model, X: honest(model, X) + (next(calls) % 7 == 6))
    found = faults(threads, "threads", "LASVC: predict while learning", 2)
    assert any("belong to no state" in fault or "another one" in fault for fault in found), found


def test_kernels_notice_a_half_done_call(monkeypatch):
    honest = LASVC.partial_fit

    def partial_fit(model, *given, **more):
        try:
            return honest(model, *given, **more)
        except Exception:
            model.admission_margin_ = np.zeros(1)
            raise

    monkeypatch.setattr(LASVC, "partial_fit", partial_fit)
    found = faults(kernels, "kernels", "LASVC", 60)
    assert any("a failed call has changed the model" in fault for fault in found), found


@pytest.mark.parametrize(
    ("case", "module", "function", "message"),
    [
        ("checkpoint: LASVC", journal, "next_frame", "samples of 40"),
        ("search", cells, "next_line", "lost without a word"),
        ("labelling", answers, "next_line", "answers"),
    ],
)
def test_bitrot_notices_a_damaged_record_taken_for_torn(case, module, function, message, monkeypatch):
    bitrot.prepared(case)  # written by the honest version
    honest = getattr(module, function)

    def lenient(*given):
        try:
            return honest(*given)
        except Damage:
            return None

    monkeypatch.setattr(module, function, lenient)
    found = faults(bitrot, "bitrot", case, 60)
    assert any(message in fault for fault in found), found


def test_bitrot_notices_errors_of_another_type(monkeypatch):
    def strict(*given):
        raise KeyError("planted")

    bitrot.prepared("checkpoint: forgetting")
    monkeypatch.setattr(checkpoint, "_points", strict)
    assert "'planted'" in faults(bitrot, "bitrot", "checkpoint: forgetting", 5)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("case", ["checkpoint: LASVC", "labelling"])
def test_forks_notice_writes_of_a_child(case, monkeypatch):
    monkeypatch.setattr("hingeline.files.log.require_owner", lambda *_: None)
    monkeypatch.setattr(checkpoint, "require_owner", lambda *_: None)
    monkeypatch.setattr(forks, "CHILD_LIMIT", 2.0)  # a lock of a thread that does not exist in the child
    found = faults(forks, "forks", case, 3)
    assert found and all("child process" in fault for fault in found), found
