"""kill -9 at random moments of ``hingeline stream`` with a checkpoint, which is resumed each time.

No state is unreadable, no acknowledged example is lost, and the model and the predictions are those of a stream that
was not interrupted. An example is acknowledged when its line of the predictions has been written.

``python -m tests.test_cli_kill 200`` prints a line for each kill.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import hingeline
from hingeline.cli.main import main

from .test_files import bits

N, BATCH = 200, 5
#: Options of streams that drift, with the number of their examples.
DRIFT = {
    "reset": (500, ("--drift", "reset")),
    "shorten": (500, ("--drift", "shorten", "--estimator", "IncrementalSVC")),
}


def write_data(path, n):
    """Rows of a stream; with more than N of them the labels change places in the middle."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = (X[:, 0] * X[:, 1] > 0) if n == N else (X[:, 0] > 0) ^ (np.arange(n) >= n // 2)
    rows = [
        ",".join(map(repr, row)) + f",{'yes' if label else 'no'}\n" for row, label in zip(X.tolist(), y, strict=True)
    ]
    path.write_text("a,b,c,label\n" + "".join(rows))


def options(folder, run, predictions):
    data, model = folder / "data.csv", folder / "model"
    words = ["stream", data, model, "--checkpoint", run, "--predictions", predictions, "-q"]
    return list(map(str, [*words, "--save-every", 20, "--batch", BATCH, "-g", 0.5, "--classes", "no,yes"]))


def by_fork(argv, output):
    child = os.fork()
    if child == 0:
        try:
            os.dup2(output, 1)
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - that of pytest has no descriptor
            os._exit(main(argv))
        finally:
            os._exit(99)
    return child


def by_process(argv, output):
    return subprocess.Popen([sys.executable, "-m", "hingeline", *argv], stdout=output).pid


def kill_once(start, argv, choose, file, known):
    """Start the command, kill it, return its exit status and what it has printed.

    It is killed a random time after its start, or after some further lines of predictions.
    """
    with tempfile.TemporaryFile() as output:
        child = start(argv, output.fileno())
        begin, status = time.monotonic(), None
        startup = choose.random() < 0.2
        lines, rest = known + choose.choice([0, 1, 5, 20, 40, 80]), 0.04 * choose.random() ** 3
        while status is None:
            found, code = os.waitpid(child, os.WNOHANG)
            status = code if found else None
            if startup and time.monotonic() > begin + 2.5 * rest / 0.04:
                break
            if not startup and (count(file) if file else count_printed(output) + known) >= lines:
                time.sleep(rest)
                break
            time.sleep(0.0003)
        if status is None:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        output.seek(0)
        return status, output.read()


def count(file):
    return file.read_bytes().count(b"\n") if file.exists() else -1


def count_printed(output):
    size = os.fstat(output.fileno()).st_size
    return os.pread(output.fileno(), size, 0).count(b"\n")


def kill_many(folder, times, start, *, seed=0, drift="", tell=lambda *words: None):
    """Kill and resume; when the stream ends, begin again. Odd streams write predictions to standard output."""
    n, more = DRIFT.get(drift, (N, ()))
    write_data(folder / "data.csv", n)
    assert main([*options(folder, folder / "whole", folder / "whole.txt"), *more]) == 0
    whole, expected = hingeline.load(folder / "model"), (folder / "whole.txt").read_bytes()
    with hingeline.Checkpoint(folder / "whole", every=None) as kept:
        assert bits(whole) == bits(kept.model)
        assert len(kept.note["drifts"]) == bool(drift)
    choose, n_streams, kills, known = random.Random(seed), 0, 0, 0
    while kills < times:
        run, file = folder / f"run{n_streams}", folder / f"out{n_streams}.txt"
        piped = n_streams % 2 == 1
        status, printed = kill_once(
            start, [*options(folder, run, "-" if piped else file), *more], choose, None if piped else file, known
        )
        assert status in (0, signal.SIGKILL), status
        kills += status != 0
        lines = printed if piped else file.read_bytes() if file.exists() else b""
        acknowledged = lines.count(b"\n") + (known if piped else 0)
        if not list(run.glob("model-*")):
            assert acknowledged == 0
            tell(kills, "before the first generation")
            continue
        with hingeline.Checkpoint(run, every=None) as kept:
            seen = getattr(kept.model, "n_samples_seen_", 0) + (kept.note or {}).get("restarted", 0)
        tell(kills, acknowledged, seen)
        assert acknowledged <= seen <= acknowledged + BATCH if not piped else acknowledged <= seen
        assert expected.startswith(lines) or piped
        known = seen
        if status == 0:
            assert seen == n
            assert_same(hingeline.load(folder / "model"), whole)
            assert piped or lines == expected
            shutil.rmtree(run)
            n_streams, known = n_streams + 1, 0
    return n_streams


def assert_same(model, whole):
    """Equal bits; of exact models, which hold kernel values in another order after a crash, equal points and values."""
    if not hasattr(whole, "forget"):
        assert bits(model) == bits(whole)
        return
    assert model.ids_.tolist() == whole.ids_.tolist()
    X = np.random.default_rng(1).standard_normal((50, 3))
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("drift", ["", *DRIFT])
def test_kill_9(tmp_path, drift):
    kill_many(tmp_path, 5, by_fork, drift=drift)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs kill")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("start", [by_fork, by_process])
def test_kill_9_many_times(tmp_path, start):
    assert kill_many(tmp_path, 200, start) > 10


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs kill")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("drift", DRIFT)
def test_kill_9_many_times_in_streams_that_drift(tmp_path, drift):
    assert kill_many(tmp_path, 100, by_fork, drift=drift) > 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(kill_many(Path(name), int(sys.argv[1]), by_process, tell=print), "streams were completed")
