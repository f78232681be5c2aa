"""The labelling page with a pool of 100,000 rows: time to the next question, page weight, time to open.

    python -m benchmarks.labelling [--quick]

Needs playwright and Chromium for the times in the browser; without them only those of the server are measured.
"""

from __future__ import annotations

from benchmarks.environment import command_line, fix_threads, machine, threads_in_argv

if __name__ == "__main__":
    fix_threads(threads_in_argv())

import argparse
import http.client
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.writing import machine_lines, number, table, write_stamped
from hingeline.cli import label as command
from hingeline.cli.console import Console
from hingeline.labelling.server import PAGE, PageServer

ROWS, COLUMNS, ANSWERS = 100_000, 20, 300
#: Title: arguments of the command, number of classes.
CASES = {
    "small_pool, 2 classes": (("--rule", "small_pool"), 2),
    "small_pool, 10 classes": (("--rule", "small_pool"), 10),
    "margin, 2 classes": (("--rule", "margin"), 2),
}
#: In the page: milliseconds from a key to the frame that shows the next question.
PRESS = """key => new Promise(done => {
  const start = performance.now(), title = document.getElementById("title");
  const seen = new MutationObserver(() => {
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  });
  seen.observe(title, {childList: true, characterData: true, subtree: true});
  document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
})"""


def make_pool(path: Path, rows: int) -> None:
    X = np.random.default_rng(0).normal(size=(rows, COLUMNS))
    np.savetxt(path, X, fmt="%.4f", delimiter=",", header=",".join(f"feature {k}" for k in range(COLUMNS)), comments="")


def label(example: dict[str, Any], n_classes: int) -> int:
    """Class of a row: part of the range of a sum of features."""
    total = sum(float(value) for _, value in example["fields"][:4]) / 2
    return int(np.clip((total + 1.5) / 3 * n_classes, 0, n_classes - 1))


@contextmanager
def served(pool: Path, words: tuple[str, ...], n_classes: int) -> Iterator[tuple[PageServer, float]]:
    """A server, and the seconds that opening the pool took."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    parser.set_defaults(command="label")
    classes = ",".join(f"class {k}" for k in range(n_classes))
    start = time.perf_counter()
    arguments = parser.parse_args([str(pool), "--classes", classes, *words])
    session = command.open_session(arguments, Console(arguments))
    took = time.perf_counter() - start
    try:
        with PageServer(session) as server:
            thread = Thread(target=server.serve_forever)
            thread.start()
            try:
                yield server, took
            finally:
                server.shutdown()
                thread.join()
    finally:
        session.journal.close()


def by_requests(server: PageServer, n_classes: int, answers: int) -> tuple[list[float], float]:
    """Milliseconds from sending an answer to having the next question, and CPU milliseconds of all, per answer."""
    address = urlsplit(server.access.link())
    connection = http.client.HTTPConnection(address.netloc)
    connection.request("GET", f"{address.path}?{address.query}")
    entered = connection.getresponse()
    entered.read()
    headers = {"Cookie": entered.headers["Set-Cookie"].partition(";")[0], "Content-Type": "application/json"}
    connection.request("GET", address.path + "state", headers=headers)
    state, times, cpu = json.loads(connection.getresponse().read()), [], time.process_time()
    for _ in range(answers):
        question = state["question"]
        place = label(question, n_classes)
        content = {"action": "label", "turn": state["turn"], "row": question["row"], "class": place}
        start = time.perf_counter()
        connection.request(
            "POST", address.path + "act", json.dumps(content), headers | {"Origin": f"http://{address.netloc}"}
        )
        state = json.loads(connection.getresponse().read())
        times.append(1e3 * (time.perf_counter() - start))
    cpu = 1e3 * (time.process_time() - cpu) / answers
    connection.close()
    return times, cpu


def by_browser(server: PageServer, n_classes: int, answers: int) -> list[float]:
    """Milliseconds from a key to the next question on the screen; empty without a browser."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        return []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program)
        page = browser.new_page()
        page.goto(server.access.link())
        page.wait_for_selector(".choice")
        times = []
        for _ in range(answers):
            row = int(page.inner_text("#title").split()[1])
            place = label(server.session.pool.shown(row), n_classes)
            times.append(page.evaluate(PRESS, "1234567890"[place]))
        browser.close()
    return times


def percentiles(times: list[float]) -> list[str]:
    return [number(float(np.percentile(times, q))) if times else "-" for q in (50, 95, 100)]


def measure(pool: Path, title: str, answers: int) -> list[str]:
    """A line of the table. The browser goes on where the requests have ended."""
    words, n_classes = CASES[title]
    journal = pool.with_suffix(f".{len(title)}.jsonl")
    with served(pool, (*words, "--answers", str(journal)), n_classes) as (server, opening):
        times, cpu = by_requests(server, n_classes, answers)
        shown = by_browser(server, n_classes, answers // 3)
    with served(pool, (*words, "--answers", str(journal)), n_classes) as (server, reopening):
        kept = server.session.learner.n_labelled
    assert kept == len(times) + len(shown)
    return [title, *percentiles(times), number(cpu), *percentiles(shown), number(opening), number(reopening), str(kept)]


def weight() -> str:
    """Bytes of the files of the page, as they are sent."""
    folder = files("hingeline.labelling") / "page"
    sizes = {file: len((folder / file).read_bytes()) for file, _ in PAGE.values()}
    rows = [[file, f"{size:,}"] for file, size in sizes.items()]
    return table(["file", "bytes"], [*rows, ["all", f"{sum(sizes.values()):,}"]])


def main() -> int:
    args = command_line("labelling", __doc__ or "").parse_args()
    rows, answers = (2000, 30) if args.quick else (ROWS, ANSWERS)
    header = ["", "p50, ms", "p95, ms", "largest, ms", "CPU, ms"]
    header += ["browser p50, ms", "browser p95, ms", "browser largest, ms", "open, s", "reopen, s", "labels"]
    with tempfile.TemporaryDirectory() as folder:
        pool = Path(folder) / "pool.csv"
        make_pool(pool, rows)
        found = [measure(pool, title, answers) for title in CASES]
    text = "\n\n".join(
        [
            "# The labelling page",
            machine_lines(machine(), args.threads),
            "Program: `python -m benchmarks.labelling`. Elapsed time. Other programs shared the machine: load average "
            f"{os.getloadavg()[0]:.1f}.",
            "## Time to the next question",
            f"Pool of {rows:,} rows and {COLUMNS} columns (CSV). {answers} answers by requests to the server: *p50* "
            "and *p95* are percentiles of the time from sending an answer to having the next question; the answer "
            f"is on disk by then. *CPU*: of client and server together. Then {answers // 3} answers in headless "
            "Chromium: time from the key to the frame that shows the next question. *open*: reading the pool and "
            "starting; *reopen*: the same with all answers in the journal.",
            table(header, found),
            "## Page weight",
            weight(),
        ]
    )
    write_stamped(args.output, "labelling", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
