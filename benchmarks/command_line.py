"""The commands ``hingeline train`` and ``predict`` against LIBSVM's ``svm-train`` and ``svm-predict``, as processes.

    python -m benchmarks.command_line [--repeats 3] [--gigabytes 1] [--output PAGE]

CPU seconds (user and system) and the largest resident size are those of the whole process: starting Python, reading the
file, the work, writing. Contestants take turns. The programs of LIBSVM must be on the PATH (Debian: libsvm-tools).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.environment import THREAD_VARIABLES, machine
from benchmarks.writing import machine_lines, table, write_whole

PAGE = Path("benchmarks/results/command_line-2026-11-16.md")
HINGELINE = (sys.executable, "-m", "hingeline")
#: Settings of the problem; LIBSVM's defaults, and a larger C.
CASES = {"C = 1, gamma = 1/123": ("-c", "1"), "C = 100, gamma = 0.005": ("-c", "100", "-g", "0.005")}


def measure(*words):
    """Run a program; returns CPU seconds, wall seconds, megabytes and what it has printed."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    begin = time.perf_counter()
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, env=environment)
    printed = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words} ended with {process.returncode}")
    wall = time.perf_counter() - begin
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": wall, "mb": usage.ru_maxrss / 1024, "text": printed}


def middle(runs, key):
    return statistics.median(run[key] for run in runs)


def accuracy(run):
    """Accuracy in the last line of svm-predict and of hingeline predict."""
    return run["text"].split("Accuracy = ")[1].split("%")[0]


def support_vectors(path):
    """Number of support vectors of a model in LIBSVM's format."""
    with open(path, encoding="ascii") as file:
        return next(line.split()[1] for line in file if line.startswith("total_sv"))


def compare(folder, repeats):
    """Rows of the tables of training and of prediction."""
    train, predict = [], []
    for title, options in CASES.items():
        ours, theirs = folder / "ours.model", folder / "theirs.model"
        gamma = () if "-g" in options else ("-g", "auto")
        runs = {"hingeline": [], "svm": []}
        for _ in range(repeats):
            runs["hingeline"].append(
                measure(*HINGELINE, "train", "-q", "--format", "libsvm", *options, *gamma, folder / "a9a", ours)
            )
            runs["svm"].append(measure("svm-train", "-q", *options, folder / "a9a", theirs))
        by = {name: {"hingeline": [], "svm": []} for name in ("ours", "theirs")}
        for _ in range(repeats):
            for name, model in (("ours", ours), ("theirs", theirs)):
                words = (folder / "a9a.t", model, folder / f"{name}.txt")
                by[name]["hingeline"].append(measure(*HINGELINE, "predict", *words))
                by[name]["svm"].append(measure("svm-predict", *words))
        for name, model, key in (("hingeline train", ours, "hingeline"), ("svm-train", theirs, "svm")):
            own = by["ours" if key == "hingeline" else "theirs"]
            ratio = middle(runs[key], "cpu") / middle(runs["hingeline"], "cpu")
            train.append(
                [f"{name}, {title}", *times(runs[key]), f"{ratio:.3g}", accuracy(own["svm"][0]), support_vectors(model)]
            )
        for name, key in (("hingeline predict", "hingeline"), ("svm-predict", "svm")):
            ratio = middle(by["theirs"][key], "cpu") / middle(by["theirs"]["hingeline"], "cpu")
            predict.append(
                [f"{name}, {title}", *times(by["theirs"][key]), f"{ratio:.3g}", accuracy(by["theirs"][key][0])]
            )
    return train, predict


def times(runs):
    return [f"{middle(runs, 'cpu'):.2f}", f"{middle(runs, 'wall'):.2f}", f"{max(run['mb'] for run in runs):.0f}"]


def large(folder, gigabytes):
    """Predict files of a tenth of the size and of the whole size."""
    rows = []
    block = (folder / "a9a").read_bytes() + (folder / "a9a.t").read_bytes()
    for kernel, options in (("linear", ("-t", "0")), ("RBF", ("-g", "auto"))):
        model = folder / "large.model"
        measure(*HINGELINE, "train", "-q", *options, folder / "a9a", model)
        for share in (0.01, 0.1, 1.0):
            data, size = folder / "large", int(share * gigabytes * 1e9)
            with open(data, "wb") as file:
                while file.tell() < size:
                    file.write(block)
            run = measure(*HINGELINE, "predict", data, model, folder / "large.txt")
            with open(folder / "large.txt", "rb") as file:
                lines = sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))
            size = data.stat().st_size
            cells = [f"{size / 1e6:,.0f}", f"{lines:,}", f"{run['cpu']:.1f}", f"{run['wall']:.1f}"]
            rows.append([f"{kernel} kernel", *cells, f"{size / 1e6 / run['cpu']:.2f}", f"{run['mb']:.0f}"])
            print(rows[-1], flush=True)
    return rows


def write_data(folder):
    """The published training and test part of adult as LIBSVM files."""
    for part, name in (("train", "a9a"), ("test", "a9a.t")):
        measure(*HINGELINE, "datasets", "adult", folder / name, "--to", "libsvm", "--part", part)


def page(train, predict, rows):
    return "\n".join(
        [
            "# The command line against LIBSVM's programs",
            "",
            machine_lines(machine(), 1),
            "- LIBSVM: svm-train and svm-predict of Debian's libsvm-tools (3.24)",
            "",
            "Program: `python -m benchmarks.command_line`. CPU seconds and memory are those of the whole process, with "
            "the start of Python and the reading and writing of files. Median over runs in turns; other programs "
            "shared the machine, so wall seconds are longer than on an idle one.",
            "",
            "## Training",
            "",
            "adult (a9a, 32,561 x 123) from a LIBSVM file, model written as LIBSVM text, accuracy by `svm-predict` on "
            "the 16,281 rows of the test file. C = 1 and gamma = 1/123 are LIBSVM's defaults.",
            "",
            table(["", "CPU s", "wall s", "memory, MB", "CPU ratio", "accuracy %", "support vectors"], train),
            "",
            "## Prediction",
            "",
            "The test file (a9a.t) by the model of `svm-train`.",
            "",
            table(["", "CPU s", "wall s", "memory, MB", "CPU ratio", "accuracy %"], predict),
            "",
            "## A file larger than the memory that is used",
            "",
            "Rows of adult, repeated; `hingeline predict` with models of adult, C = 1. Memory is the largest resident "
            "size.",
            "",
            table(["", "file, MB", "rows", "CPU s", "wall s", "MB / CPU s", "memory, MB"], rows),
            "",
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--output", type=Path, default=PAGE)
    arguments = parser.parse_args()
    if shutil.which("svm-train") is None:
        parser.error("svm-train is not on the PATH (Debian: libsvm-tools)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder)
        train, predict = compare(folder, arguments.repeats)
        write_whole(arguments.output, page(train, predict, large(folder, arguments.gigabytes)))


if __name__ == "__main__":
    main()
