"""docs/papers.md: every item of the five texts has a line, and what the lines name exists."""

import argparse
import os
import re
from pathlib import Path

import pytest
from benchmarks.papers import frame
from benchmarks.store import Store

ROOT = Path(__file__).parents[1]
#: Words of lines without a file.
UNDONE = r"missing|cannot be reproduced|study not run yet|nothing to reproduce|remarks; not implemented"
#: Algorithms, listings, tables and figures of the five texts.
ITEMS = {
    "ertekin2011": [
        *(f"Listing {name}" for name in ("PROCESS", "REPROCESS", "CLEAN")),
        *(f"Listing {name}" for name in ("LASVM-G", "LASVM-NC", "LASVM-I", "FULL SVM")),
        *(f"Table {k}" for k in range(1, 5)), *(f"Figure {k}" for k in range(1, 9)),
    ],
    "laskov2006": [*(f"Algorithm {k}" for k in range(1, 5)), *(f"Figure {k}" for k in range(1, 11))],
    "keerthi2005": [
        "Algorithm L2-SVM-MFN", "Algorithm CGLS", "Appendix A", *(f"Table {k}" for k in range(1, 7)), "Figure 1",
    ],
    "kecman2016": [*(f"List {k}" for k in ("1", "2", "3a", "3b")), "Table I", "Table II",
                   *(f"Figure {k}" for k in range(1, 9))],
    "melki2018": ["Algorithm 1.1", *(f"Table 1.{k}" for k in range(1, 6)), *(f"Figure 1.{k}" for k in range(1, 10))],
}  # fmt: skip
FILES = [
    path.relative_to(ROOT).as_posix()
    for folder in ("benchmarks", "cpp", "docs", "examples", "src", "tests")
    for path in (ROOT / folder).rglob("*.*")
    if "__pycache__" not in path.parts
]


def paper_rows():
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    table = text.partition("| paper | item | where | test or result | found |\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]


def defines(path, symbol):
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".py"):
        return re.search(rf"^\s*(def|class) {symbol}\b|^{symbol}\b.*=", text, re.MULTILINE)
    return re.search(rf"\b(struct|class) {symbol}\b|\b[\w>&*\]]+ {symbol}\(", text)


@pytest.mark.parametrize("paper", ITEMS)
def test_every_item_of_a_paper_has_a_line(paper):
    found = [item for key, item, *_ in paper_rows() if key == paper]
    missing = [
        item for item in ITEMS[paper] if not any(re.search(rf"\b{re.escape(item)}(?![\w.-])", line) for line in found)
    ]
    assert missing == []


def test_lines_say_where_and_what():
    for row in paper_rows():
        assert len(row) == 5, row
        key, item, where, result, found = row
        assert key in ITEMS
        assert item
        assert found
        assert (where and result) or re.search(
            r"missing|cannot be|not run yet|nothing to|remarks|illustration", found
        ), row


@pytest.mark.parametrize("column", [2, 3], ids=["where", "result"])
def test_every_file_and_symbol_exists(column):
    names = [name for row in paper_rows() for name in re.findall(r"`([^`]+)`", row[column])]
    assert len(names) > 90
    for name in names:
        path, _, symbol = name.partition(":")
        found = [file for file in FILES if f"/{file}".endswith(f"/{path}")]
        assert len(found) == 1, (name, found)
        assert not symbol or defines(found[0], symbol), name


def test_labels_of_corrections_are_rows_of_the_mathematics():
    """Every label of a line is a row of one page, and every row of these pages has a line."""
    rows = [
        label
        for page in ("lasvm", "incremental", "finite_newton", "kernel_sgd", "ollawv")
        for label in re.findall(
            r"^\| ([NIMOT]\d+) \|", (ROOT / "docs" / "math" / f"{page}.md").read_text(), re.MULTILINE
        )
    ]
    assert len(rows) == len(set(rows)) == 45
    used = {label for *_, found in paper_rows() for label in re.findall(r"\b[NIMOT]\d+\b", found)}
    assert used == set(rows)


def test_unknown_symbols_are_noticed():
    assert defines("benchmarks/claims.py", "rounds_to")
    assert defines("cpp/include/hingeline/algo/lasvm/search.hpp", "clean")
    assert not defines("benchmarks/claims.py", "rounds")
    assert not defines("cpp/include/hingeline/algo/lasvm/search.hpp", "cleans")


def test_runs_are_timed_by_the_processor(monkeypatch):
    ticks = iter([3.0, 7.5])
    monkeypatch.setattr(frame.time, "process_time", lambda: next(ticks))
    assert frame.cpu_timed(lambda: "done") == ("done", 4.5)
    timers = r"perf_counter|process_time\(|thread_time|monotonic"
    found = [path for path in (ROOT / "benchmarks" / "papers").glob("*/*.py") if re.search(timers, path.read_text())]
    assert found == []


class Deadly:
    """Ends the process that receives it."""

    def __reduce__(self):
        return os._exit, (9,)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_run_that_fails_does_not_stop_the_others(processes, tmp_path, capsys):
    good = [frame.Job("errata", {"n": n}, expected=n) for n in (40, 60, 50)]
    bad, absent = frame.Job("no_such_run", {}, expected=1000), frame.Job("warm_up", {}, "no-such-package")
    deadly = [frame.Job("errata", {"n": Deadly()}, expected=100)] if processes > 1 else []
    store = Store(tmp_path / "runs.jsonl")
    args = argparse.Namespace(jobs=[], fresh=False, threads=1, processes=processes, large=False)
    failed = frame.make("kecman2016", [*good, bad, absent, *deadly], store, args)
    assert sorted(job.kind for job in failed) == sorted(job.kind for job in (bad, *deadly))
    printed = capsys.readouterr().out
    assert "has no attribute 'no_such_run'" in printed
    assert "is left out: no-such-package is not installed" in printed
    assert ("ended with exit code 9" in printed) == bool(deadly)
    results = [store.get(job) for job in good]
    assert all(result["pairs"] and result["wall"] > 0 and result["build"] for result in results)
    assert all(result["machine"][0].startswith("- Processor: ") for result in results)
    assert frame.make("kecman2016", good, store, args) == []
    assert "3 runs, 3 of them done before." in capsys.readouterr().out


def test_long_runs_start_first(tmp_path, monkeypatch):
    guesses = {"short": 0, "long": 9, "known": 0, "middle": 5}
    jobs = [frame.Job(kind, {}, expected=guess) for kind, guess in guesses.items()]
    store = Store(tmp_path / "runs.jsonl")
    store.put(jobs[2], {"wall": 7.0})
    order = []
    monkeypatch.setattr(frame, "_spread", lambda key, todo, args: order.extend(job.kind for job in todo) or [])
    args = argparse.Namespace(jobs=[], fresh=True, threads=1, processes=4, large=False)
    frame.make("kecman2016", jobs, store, args)
    assert order == ["long", "known", "middle", "short"]


def test_reports_name_the_machines_of_the_runs(tmp_path):
    """Not the machine that writes the page."""
    jobs = [frame.Job("fit", {"n": 1}), frame.Job("fit", {"n": 2}), frame.Job("cv", {})]
    store = Store(tmp_path / "runs.jsonl")
    for job, processor in zip(jobs, ("Abacus", "Abacus", "Slide rule"), strict=True):
        store.put(job, {"threads": 1, "build": "b", "machine": [f"- Processor: {processor}", "- Python 1.5"]})
    one = frame.what(frame.Summary(store, jobs[:2], False)).splitlines()
    assert one[:3] == ["- Processor: Abacus", "- Python 1.5", "- Threads: 1, unless a row says otherwise"]
    assert "Several" not in "".join(one)
    both = frame.what(frame.Summary(store, jobs, False))
    assert "Several machines made the runs.**" in both
    assert "by each: Processor: Abacus: fit; Processor: Slide rule: cv" in both
    assert "side by side" not in both
    store.put(jobs[2], {"threads": 1, "processes": 8})
    assert "- Up to 8 runs side by side" in frame.what(frame.Summary(store, jobs, False))
    assert "- Processor: not recorded" in frame.what(frame.Summary(store, jobs, False))


def test_a_study_goes_on_from_the_runs_beside_its_report(tmp_path, capsys):
    """Runs of other settings and those that the folder has are not taken from there."""
    jobs = [frame.Job("errata", {"n": n}, kept=True) for n in (40, 50, 60)]
    store = Store(tmp_path / "first.jsonl")
    for job, processor in zip(jobs, ("Abacus", "Abacus", "Slide rule"), strict=True):
        store.put(job, {"n": job.at["n"], "threads": 1, "build": "b", "machine": [f"- Processor: {processor}"]})
    archive = tmp_path / "runs.jsonl"
    Store(archive).replace([(job, store.get(job)) for job in jobs])
    assert archive.read_text(encoding="utf-8").count("Abacus") == 1
    changed = frame.Job("errata", {"n": 60}, more={"seed": 1}, kept=True)
    later = Store(tmp_path / "second.jsonl", Store(archive))
    later.put(jobs[1], {"n": "again"})
    assert [later.get(job) for job in (jobs[0], changed)] == [store.get(jobs[0]), None]
    assert later.get(jobs[1]) == {"n": "again"}
    args = argparse.Namespace(jobs=[], fresh=False, threads=1, processes=1, large=False)
    assert frame.make("kecman2016", [*jobs[:2], changed], later, args) == []
    assert "3 runs, 2 of them done before." in capsys.readouterr().out
    assert "pairs" in later.get(changed)


def test_a_store_keeps_what_is_done(tmp_path):
    """After a line that a crash has cut off, other programs' lines, and runs that are made again."""
    jobs = [frame.Job("errata", {"n": n}) for n in (40, 50, 60)]
    path = tmp_path / "folder" / "runs.jsonl"
    store, other = Store(path), Store(path)
    results = [{"wall": float(job.at["n"]), "threads": 1, "list": [1.5, None]} for job in jobs]
    for job, result in zip(jobs, results, strict=True):
        store.put(job, result)
    whole = path.read_bytes()
    for cut in range(len(whole) - len(whole.splitlines()[-1]), len(whole) - 1, 7):
        path.write_bytes(whole[:cut])
        torn = Store(path)
        assert [torn.get(job) for job in jobs] == [*results[:2], None]
        torn.put(jobs[2], {"wall": 1.0})
        assert [Store(path).get(job) for job in jobs] == [*results[:2], {"wall": 1.0}]
    other.put(jobs[0], {"wall": 2.0})
    again = Store(path)
    assert [again.get(job) for job in jobs] == [{"wall": 2.0}, results[1], {"wall": 1.0}]
    again.compact()
    assert [Store(path).get(job) for job in jobs] == [again.get(job) for job in jobs]
    assert len([line for line in path.read_text().splitlines() if '"run"' in line]) == 3


def test_committed_runs_belong_to_the_current_settings(monkeypatch):
    from benchmarks import search, store, svc
    from benchmarks.contest import folder

    monkeypatch.setattr(store, "version", lambda package: "0.1.0.dev0")  # the one that made them
    assert [name for name in search.jobs() if search.stored(name) is None] == []
    shown = (folder("svc") / "README.md").read_text(encoding="utf-8")
    assert svc.page(Store(folder("svc") / "runs.jsonl"), list(svc.jobs())) == shown
