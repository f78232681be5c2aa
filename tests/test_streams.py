"""ADWIN against a naive twin, its laws, and models that begin again in a checkpoint."""

import json
import math

import numpy as np
import pytest

import hingeline
from hingeline import LASVC, Checkpoint, IncrementalOneClassSVM
from hingeline.streams import ADWIN
from hingeline.streams.adwin import CLOCK, LEAST, MOST

from .data import noisy
from .test_files import bits

X, y = noisy(120)


def flat(buckets):
    return [value for bucket in buckets for value in bucket]


class Twin:
    """The same buckets as lists of the values themselves; everything is computed from these lists."""

    def __init__(self, delta=0.002):
        self.delta, self.n, self.buckets = delta, 0, []  # oldest first

    def update(self, value):
        self.n += 1
        self.buckets.append([value])
        size = 1
        while sum(len(bucket) == size for bucket in self.buckets) > MOST:
            k = next(k for k, bucket in enumerate(self.buckets) if len(bucket) == size)
            self.buckets[k : k + 2] = [self.buckets[k] + self.buckets[k + 1]]
            size *= 2
        risen = False
        while self.n % CLOCK == 0 and (cut := self.cut()):
            old, new = flat(self.buckets[:cut]), flat(self.buckets[cut:])
            risen |= np.mean(new) > np.mean(old)
            self.buckets = self.buckets[cut:]
        return risen

    def cut(self):
        window = flat(self.buckets)
        for k in range(1, len(self.buckets)):
            old, new = flat(self.buckets[:k]), flat(self.buckets[k:])
            if min(len(old), len(new)) < LEAST:
                continue
            log = math.log(2 * math.log(len(window)) / self.delta)
            inverse = 1 / (len(old) - LEAST + 1) + 1 / (len(new) - LEAST + 1)
            bound = math.sqrt(2 * np.var(window) * log * inverse) + 2 * log * inverse / 3
            if abs(np.mean(old) - np.mean(new)) > bound:
                return k
        return 0


@pytest.mark.parametrize("seed", range(4))
def test_alarms_and_windows_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    rates = np.repeat(rng.permutation([0.05, 0.9, 0.3, 0.6, 0.1]), 150)
    values = np.where(rng.random(750) < 0.5, rng.random(750) < rates, rates)  # errors, and other numbers
    alarm, twin, alarms = ADWIN(), Twin(), 0
    for value in values.tolist():
        risen = alarm.update([value])
        assert risen == twin.update(value)
        window = flat(twin.buckets)
        assert alarm.width == len(window) and alarm.mean == pytest.approx(np.mean(window))
        alarms += risen
    assert alarm.width < 750
    assert alarms


def test_any_division_into_chunks_gives_the_same():
    rng = np.random.default_rng(1)
    values = rng.random(3000) < np.repeat([0.1, 0.4], 1500)
    one, other = ADWIN(), ADWIN()
    found = one.update(values)
    assert found is True and [other.update(part) for part in np.array_split(values, 17)].count(True) == 1
    assert one.state() == other.state()


def test_only_a_loss_that_rises_is_an_alarm():
    rng = np.random.default_rng(0)
    falling = ADWIN()
    assert not falling.update(rng.random(4000) < np.repeat([0.5, 0.1], 2000))
    assert falling.width <= 2100 and math.isnan(falling.before)
    rising = ADWIN()
    assert not rising.update(rng.random(2000) < 0.1)
    assert rising.update(rng.random(400) < 0.5)
    assert rising.before == pytest.approx(0.1, abs=0.03) and rising.width <= 500 and rising.mean > 0.35


def test_there_are_hardly_false_alarms():
    assert sum(ADWIN().update(np.random.default_rng(k).random(3000) < 0.3) for k in range(60)) <= 1


def test_the_memory_is_logarithmic():
    alarm = ADWIN()
    alarm.update(np.tile([0, 1], 1 << 15))
    assert sum(map(len, alarm.state()["sums"])) <= MOST * 17


@pytest.mark.parametrize("scale", [1, 0.3])
def test_a_state_goes_on(scale):
    values = (np.random.default_rng(3).random(2000) < np.repeat([0.1, 0.5], 1000)) * scale
    assert len(json.dumps(ADWIN().state())) < 100
    one = ADWIN(delta=0.01)
    one.update(values[:700])
    other = ADWIN.from_state(json.loads(json.dumps(one.state())))
    assert one.update(values[700:]) == other.update(values[700:]) is True
    assert one.state() == other.state() and (one.width, one.mean, one.before) == (other.width, other.mean, other.before)


@pytest.mark.parametrize("delta", [0, 1, True, -0.1])
def test_bad_delta(delta):
    with pytest.raises(ValueError, match="delta must be a number between 0 and 1"):
        ADWIN(delta)


@pytest.mark.parametrize("values", [[2], [math.nan], [[0, 1]], [-0.5]])
def test_bad_values(values):
    alarm = ADWIN()
    with pytest.raises(ValueError, match="values must be numbers from 0 to 1"):
        alarm.update(values)
    assert alarm.n_seen == 0


# ---- Checkpoint.restart -----------------------------------------------------------------------------------


def test_restart_is_a_new_model(tmp_path):
    with Checkpoint(tmp_path, LASVC(gamma=0.5), every=30) as run:
        run.learn(X[:70], y[:70], classes=[0, 1], note={"total": 70})
        run.restart(X[70:90], y[70:90], classes=[0, 1], note={"total": 90})
        fresh = LASVC(gamma=0.5).partial_fit(X[70:90], y[70:90], classes=[0, 1])
        assert bits(run.model) == bits(fresh) and run.note == {"total": 90}
        run.learn(X[90:], y[90:])
    fresh.partial_fit(X[90:], y[90:])
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == bits(fresh) and run.note == {"total": 90}
    assert all(X[3].tobytes() not in path.read_bytes() for path in tmp_path.iterdir())


def test_an_error_in_restart_changes_nothing(tmp_path):
    with Checkpoint(tmp_path, LASVC(gamma=0.5)) as run:
        run.learn(X[:70], y[:70], classes=[0, 1])
        before = bits(run.model)
        with pytest.raises(ValueError, match="NaN"):
            run.restart([[np.nan, 1.0]], [0], classes=[0, 1])
        with pytest.raises(ValueError, match="classes"):
            run.restart(X[:5], y[:5])
        assert bits(run.model) == before
    with Checkpoint(tmp_path) as run:
        assert bits(run.model) == before


def test_a_damaged_generation_after_restart(tmp_path):
    """Both of the last two generations hold the new model, as after forget."""
    with Checkpoint(tmp_path, IncrementalOneClassSVM(gamma=0.5)) as run:
        run.learn(X[:50])
        run.restart(X[50:80])
        wanted = bits(run.model)
        newest = max(tmp_path.glob("model-*"))
    newest.write_bytes(newest.read_bytes()[:-50])
    with pytest.warns(UserWarning, match="generation before it"), Checkpoint(tmp_path) as run:
        assert bits(run.model) == wanted


def test_a_crash_in_restart_leaves_the_old_or_the_new_model(tmp_path, monkeypatch):
    """The process ends at each call that writes."""
    from hingeline.files import checkpoint

    class Crash(BaseException):
        pass

    old = LASVC(gamma=0.5).partial_fit(X[:50], y[:50], classes=[0, 1])
    new = LASVC(gamma=0.5).partial_fit(X[50:80], y[50:80], classes=[0, 1])
    seen = set()
    for place in range(12):
        calls = []

        def crash(name, calls=calls, place=place):
            original = getattr(checkpoint, name)

            def call(*given):
                calls.append(name)
                if len(calls) == place + 1:
                    raise Crash
                return original(*given)

            return call

        folder = tmp_path / str(place)
        run = Checkpoint(folder, LASVC(gamma=0.5))
        run.learn(X[:50], y[:50], classes=[0, 1])
        with monkeypatch.context() as patch:
            for name in ("write_atomically", "erase", "sync_folder"):
                patch.setattr(checkpoint, name, crash(name))
            try:
                run.restart(X[50:80], y[50:80], classes=[0, 1])
            except Crash:
                run._release()
            else:
                run.close()
                break
        with Checkpoint(folder) as again:
            found = bits(again.model)
            assert found in (bits(old), bits(new))
            seen.add(found == bits(new))
            again.learn(X[80:], y[80:])
    assert seen == {False, True} and place > 2


def test_a_missing_library_is_no_attribute(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "hingeline.onnx", raising=False)
    monkeypatch.delitem(vars(hingeline), "onnx", raising=False)
    for name in [name for name in sys.modules if name.startswith("hingeline.onnx.")]:
        monkeypatch.delitem(sys.modules, name)
    assert not hasattr(hingeline, "onnx")
    with pytest.raises(AttributeError, match=r'needs onnx, which is not installed: pip install "hingeline\[onnx\]"'):
        hingeline.onnx  # noqa: B018
    with pytest.raises(ImportError, match=r"hingeline\[onnx\]"):
        from hingeline import onnx  # noqa: F401
