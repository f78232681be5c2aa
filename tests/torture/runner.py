"""Run campaigns in worker processes: a crash or a hang ends the worker, is recorded, and the campaign goes on.

Results are lines of JSON in ``out/torture/<build>/<campaign>-<seed>.jsonl``: one line per fault and one per batch of
trials. A campaign that was interrupted goes on after the batches found there. `build` names the code under test, so
results of other code are not mixed in.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import queue
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

CAMPAIGNS = ("states", "signals", "numbers", "threads", "kernels", "allocations", "scale", "bitrot", "forks", "gaps")
ROOT = Path(__file__).parents[2]
#: Trials of one line of results.
BATCH = 50
#: Outcome of a trial beyond the last one of its case.
END = "end"


def build():
    """Name of the code under test."""
    digest = hashlib.sha1(usedforsecurity=False)
    for path in sorted(Path(importlib.util.find_spec("hingeline").origin).parent.rglob("*")):
        if path.suffix in (".py", ".so", ".pyd"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def campaign_module(name):
    return importlib.import_module(f"tests.torture.{name}")


@dataclass
class Tally:
    """Results of one case."""

    done: int = 0
    ended: bool = False
    outcomes: Counter = field(default_factory=Counter)
    faults: dict = field(default_factory=dict)

    def add(self, line):
        if "fault" in line:
            self.faults[line["trial"]] = line
            return
        self.done = max(self.done, line["first"] + line["count"])
        self.ended |= line["ended"]
        self.outcomes.update(line["outcomes"])


class Campaign:
    """One campaign with one seed, and its file of results.

    Parameters
    ----------
    name : str
        Module of this package: ``cases()``, ``trial(case, rng, number)``, ``TRIALS``, ``LIMIT`` and, if workers need
        one, ``environment(folder)``.
    seed : int
        Seed of all trials.
    folder : Path
        Where results go.
    """

    def __init__(self, name, seed=0, folder=None, cases=None):
        self.name, self.seed = name, seed
        self.module = campaign_module(name)
        self.folder = Path(folder or ROOT / "out" / "torture") / build()
        self.file = self.folder / f"{name}-{seed}.jsonl"
        self.tallies = {case: Tally() for case in self.module.cases() if not cases or case in cases}
        self.lock = threading.Lock()
        self.folder.mkdir(parents=True, exist_ok=True)
        text = self.file.read_text() if self.file.exists() else ""
        if text and not text.endswith("\n"):  # the program was killed while it wrote
            text = text[: text.rfind("\n") + 1]
            self.file.write_text(text)
        for line in map(json.loads, text.splitlines()):
            if line["case"] in self.tallies:
                self.tallies[line["case"]].add(line)

    def run(self, trials=None, seconds=None, jobs=1, limit=None):
        """Run trials until there are `trials` in all or the time is over. Ctrl-C ends it; results are kept."""
        per_case = -(-(trials or self.module.TRIALS) // len(self.tallies))
        self.end = time.monotonic() + seconds if seconds else float("inf")
        waiting = queue.SimpleQueue()
        for case in self.tallies:
            waiting.put(case)
        arguments = (waiting, per_case, limit or self.module.LIMIT)
        work = [threading.Thread(target=self._work, args=arguments) for _ in range(jobs)]
        for one in work:
            one.start()
        try:
            for one in work:
                one.join()
        finally:
            self.end = 0.0
            for one in work:
                one.join()
        return self

    def time_is_over(self):
        return time.monotonic() >= self.end

    def _work(self, waiting, per_case, limit):
        """Cases take turns, one batch each."""
        with Worker(self, limit) as worker:
            while not self.time_is_over():
                try:
                    case = waiting.get_nowait()
                except queue.Empty:
                    return
                tally = self.tallies[case]
                count = min(BATCH, per_case - tally.done)
                if count > 0 and not tally.ended:
                    worker.batch(case, tally.done, count)
                    waiting.put(case)

    def record(self, case, **line):
        line = {"campaign": self.name, "seed": self.seed, "case": case, **line}
        with self.lock:
            self.tallies[case].add(line)
            with self.file.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def faults(self):
        return [fault for tally in self.tallies.values() for fault in tally.faults.values()]

    def outcomes(self):
        return sum((tally.outcomes for tally in self.tallies.values()), Counter())


class Worker:
    """A process that runs trials; it is started again after a crash or a hang."""

    def __init__(self, campaign, limit):
        self.campaign, self.limit = campaign, limit
        self.process = None

    def __enter__(self):
        self.files = contextlib.ExitStack()
        self.errors = self.files.enter_context(tempfile.TemporaryFile())
        return self

    def __exit__(self, *_):
        self._stop()
        self.files.close()

    def batch(self, case, first, count):
        """Run trials of a case; the time may be over before all are done."""
        outcomes, ended, at, start = Counter(), False, first, time.monotonic()
        self._send(case, first, count)
        while at < first + count and not ended and not self.campaign.time_is_over():
            line = self._line()
            if line is None and self.campaign.time_is_over():
                break
            if line is None:
                self._record(case, at, *self._death())
                if left := first + count - at - 1:
                    self._send(case, at + 1, left)
            elif "fault" in line:
                self._record(case, at, line["fault"], line["message"])
            found = {"faults": 1} if line is None or "fault" in line else line["outcomes"]
            ended = END in found
            if not ended:
                outcomes.update(found)
                at += 1
        if at < first + count and not ended:
            self._stop()  # in the middle of a trial
        seconds = time.monotonic() - start
        self.campaign.record(case, first=first, count=at - first, ended=ended, outcomes=outcomes, seconds=seconds)

    def _record(self, case, trial, kind, message):
        name, seed = self.campaign.name, self.campaign.seed
        repeat = f"python -m tests.torture {name} --seed {seed} --case '{case}' --trial {trial}"
        self.campaign.record(case, trial=trial, fault=kind, message=message, repeat=repeat)

    # ---- the process ---------------------------------------------------------------------------------

    def _send(self, *request):
        if self.process is None:
            self._start()
        self.errors.seek(0)
        self.errors.truncate()  # words of earlier trials
        line = json.dumps([self.campaign.seed, *request]) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def _start(self):
        self.rest = b""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        if hasattr(self.campaign.module, "environment"):
            environment.update(self.campaign.module.environment(self.campaign.folder))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.worker", self.campaign.name, str(self.limit)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is for this process
        )

    def _line(self):
        """Next line of the worker, or None when it has ended, does not end itself after a hang, or the time is over."""
        last = time.monotonic() + 10 * self.limit + 60
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], 1.0)
            part = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            self.rest += part
            waited = not ready and (self.process.poll() is not None or time.monotonic() > last)
            if waited or self.campaign.time_is_over() or (ready and not part):
                return None
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def _death(self):
        """Kind of fault and last words of a worker that has ended or does not answer."""
        try:
            code = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = None
        self._stop()
        self.errors.seek(0)
        words = self.errors.read().decode(errors="replace").partition("\nExtension modules:")[0][-4000:]
        hung = code in (None, -signal.SIGXCPU) or "Timeout (" in words
        return ("hang", f"more than {self.limit:g} s\n{words}") if hung else ("crash", f"exit code {code}\n{words}")

    def _stop(self):
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # children that it has forked, too
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None
