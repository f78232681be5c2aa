"""Which estimator when: hingeline's classifiers beside boosting and Nystroem features, by size, noise and memory.

    python -m benchmarks.which [parts or patterns] [--list] [--fresh] [--only-report] [--repeats 1]

Parts: `small`, `clean`, `noisy`. Every fit has one thread and a process of its own. Kernel width and penalty (margin of
WorstViolatorSVC) are those of GRIDS with the best accuracy on some training rows after a fit to others; this choice is
not part of the time. Gradient boosting has its defaults. Methods that learn from a stream get the rows in chunks by
`partial_fit`, once. A fit that has not ended after LIMIT CPU seconds is stopped. Each job is stored in
`benchmarks/results/which/runs.jsonl` when it is done.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.contest import Job, Results, main, median, write_page
from benchmarks.memory import Growth
from benchmarks.store import Store
from benchmarks.svc import FLIPPED
from benchmarks.svc import load as load_classes
from benchmarks.writing import number, table

#: Sets of each part: name, and kernel widths and penalties around which GRIDS searches.
PARTS = {
    "small": {"normal2000": (0.05, 1.0), "noisy2000": (0.02, 1.0)},
    "clean": {"letter": (0.0625, 10.0), "ijcnn1": (2.0, 10.0), "kdd99": (0.05, 10.0)},
    "noisy": {"adult": (0.01, 10.0), "noisy20000": (0.02, 1.0), "noisy200000": (0.02, 1.0)},
}
#: Factors of the kernel width and of the penalty.
WIDTHS, PENALTIES = (0.25, 1.0, 4.0), (0.1, 1.0, 10.0)
MARGINS = (0.01, 0.1)
#: Training rows by which parameters are chosen: to fit, and to score.
CHOSEN = 4000
#: CPU seconds of a fit, and of the calls whose mean is taken.
LIMIT, LONGEST = 150, 0.5
#: Rows of a chunk of a stream, rows of kdd99 for training and for the test, landmarks.
CHUNK, CONNECTIONS, LANDMARKS = 1000, (200_000, 50_000), 500
#: Points of accuracy that do not count in the summary.
NEAR = 0.5
STREAMS = ("LASVC", "KernelSGDClassifier")
CONTESTANTS = (
    "SVC", "L2SVC", "WorstViolatorSVC", "LASVC", "KernelSGDClassifier", "NystroemSVC", "LinearSVC", "Nystroem + SGD",
    "HistGradientBoosting",
)  # fmt: skip


def load(name: str) -> Any:
    """Rows and labels for training, then for the test."""
    if name != "kdd99":
        return load_classes(name)
    from benchmarks.stream import stream

    X, y = stream(494_021)  # the training part of the set, in the published order: rows are drawn from it
    order = np.random.default_rng(0).permutation(len(y))[: sum(CONNECTIONS)]
    train, test = np.split(order, [CONNECTIONS[0]])
    return X[train], y[train], X[test], y[test]


def jobs() -> Iterator[Job]:
    for part, sets in PARTS.items():
        for name, around in sets.items():
            yield Job(part, name, CONTESTANTS, {"data": name, "around": list(around), "limit": LIMIT, "kept": CHOSEN})


def quick(job: Job) -> Job:
    """The same on tiny data."""
    return Job(job.kind, job.name, job.contestants, job.task | {"data": "normal500"})


# ---- one fit, in a process of its own -----------------------------------------------------------------


def make(who: str, gamma: float, C: float, rows: int, margin: float = 0.1) -> Any:
    """Estimator for so many training rows."""
    import hingeline

    if who == "WorstViolatorSVC":
        return hingeline.WorstViolatorSVC(gamma=gamma, margin=margin)
    if who == "LinearSVC":
        return hingeline.LinearSVC(C=C)
    if who == "NystroemSVC":
        return hingeline.NystroemSVC(C=C, gamma=gamma, n_components=LANDMARKS, random_state=0)
    if who == "HistGradientBoosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=0)
    if who == "Nystroem + SGD":
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import SGDClassifier
        from sklearn.pipeline import make_pipeline

        # alpha = 1/(C n) is SVC's penalty.
        sgd = SGDClassifier(alpha=1 / (C * rows), average=True, random_state=0)
        return make_pipeline(Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0), sgd)
    return getattr(hingeline, who)(C=C, gamma=gamma, **({} if who in ("SVC", "L2SVC") else {"random_state": 0}))


def cells(who: str, gamma: float, C: float) -> list[dict[str, float]]:
    """Values that are tried."""
    widths = [gamma * factor for factor in WIDTHS]
    penalties = [C * factor for factor in PENALTIES]
    if who == "HistGradientBoosting":
        return [{"gamma": gamma, "C": C}]
    if who == "LinearSVC":
        return [{"gamma": gamma, "C": value} for value in penalties]
    if who == "WorstViolatorSVC":
        return [{"gamma": w, "C": C, "margin": m} for w, m in itertools.product(widths, MARGINS)]
    return [{"gamma": w, "C": p} for w, p in itertools.product(widths, penalties)]


def choose(who: str, X: np.ndarray, y: np.ndarray, around: list[float]) -> dict[str, float]:
    """Cell with the best accuracy on CHOSEN rows (of small sets: a third of the rows) after a fit to as many others."""
    tried = cells(who, *around)
    if len(tried) == 1:
        return tried[0]
    count = min(CHOSEN, len(y) // 3)
    order = np.random.default_rng(1).permutation(len(y))
    few, others = order[:count], order[count : 2 * count]
    scores = [make(who, rows=count, **cell).fit(X[few], y[few]).score(X[others], y[others]) for cell in tried]
    return tried[int(np.argmax(scores))]


def learn(who: str, model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Fit; those of STREAMS chunk after chunk."""
    if who not in STREAMS:
        return model.fit(X, y)
    classes = np.unique(y)
    for at in range(0, len(y), CHUNK):
        model.partial_fit(X[at : at + CHUNK], y[at : at + CHUNK], classes=classes)
    return model


def seconds(call: Callable[[], Any]) -> float:
    """CPU seconds of a call, the mean of as many as fill LONGEST; some systems count in steps of 10 ms."""
    start, calls = time.process_time(), 0
    while (taken := time.process_time() - start) < LONGEST:
        call()
        calls += 1
    return taken / calls


def measure(who: str, task: dict[str, Any], core: int | None) -> dict[str, Any]:
    if core is not None:
        os.sched_setaffinity(0, {core})
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = load(task["data"])
    X, X_test = (np.ascontiguousarray(part, dtype=np.float32) for part in (X, X_test))
    cell = choose(who, X, y, task["around"])
    model = make(who, rows=len(y), **cell)
    out: dict[str, Any] = {"rows": X.shape[0], "features": X.shape[1], "cell": cell}

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, task["limit"])
    try:
        with Growth() as growth:
            start = time.process_time()
            learn(who, model, X, y)
            out["cpu"] = time.process_time() - start
        if out["cpu"] < LONGEST:
            out["cpu"] = seconds(lambda: learn(who, clone(model), X, y))
    except TimeoutError:
        return out | {"cpu": None}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    out["accuracy"] = 100 * float(model.score(X_test, y_test))
    out["predicted"] = len(y_test) / seconds(lambda: model.predict(X_test))
    return out | {
        "support": len(model.support_) if hasattr(model, "support_vectors_") else None,
        "mb": growth.bytes / 2**20,
    }


# ---- the page -----------------------------------------------------------------------------------------


def section(done: Results) -> str:
    """A table for each set: the most accurate first."""
    parts = []
    for job, results in done:
        ended = [who for who in job.contestants if results[who][0]["cpu"] is not None]
        ended.sort(key=lambda who: -results[who][0]["accuracy"])
        rows = []
        for who in ended:
            first = results[who][0]
            row = [_title(who), f"{first['accuracy']:.2f}", number(median(results[who]))]
            row += [f"{median(results[who], 'predicted'):,.0f}", number(first["support"]), f"{first['mb']:.0f}"]
            rows.append([*row, "yes" if who in STREAMS else "-"])
        left = [_title(who) for who in job.contestants if who not in ended]
        rows += [[title, "-", f"> {job.task['limit']}", "-", "-", "-", "-"] for title in left]
        first = results[job.contestants[0]][0]
        head = ["method", "accuracy %", "fit, CPU s", "predict, rows/s", "support vectors", "memory, MB", "stream"]
        parts.append(f"### {job.name}\n\n{first['rows']:,} x {first['features']}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


ABOUT = f"""One thread, one run of each, float32 rows. Kernel width, penalty and margin of each method are the best of a
grid on {CHOSEN:,} training rows (of small sets a third) after a fit to as many others; with 200,000 rows other values
may be better. Gradient boosting has its defaults. `noisy`: products of features decide, {FLIPPED:.0%} of the labels are
flipped. `normal`: two classes with a curved border. *Stream*: the method gets the rows in chunks of {CHUNK:,}, once.
Memory: growth of the process during the fit."""


def _title(who: str) -> str:
    ours = who not in ("Nystroem + SGD", "HistGradientBoosting")
    return who if ours else f"scikit-learn {who}"


SECTIONS = {
    "small": ("Few rows", section),
    "clean": ("Many rows, few errors", section),
    "noisy": ("Many rows, noisy labels", section),
}


def summary(store: Store, all_jobs: list[Job]) -> str:
    """For each set the most accurate method, the fastest one nearly as accurate, and SVC beside others."""
    rows = []
    for job in all_jobs:
        found = store.get(job)
        if found is None:
            continue
        ended = {who: found[who][0] for who in job.contestants if found[who][0]["cpu"] is not None}
        best = max(ended, key=lambda who: ended[who]["accuracy"])
        near = [who for who in ended if ended[who]["accuracy"] >= ended[best]["accuracy"] - NEAR]
        fast = min(near, key=lambda who: ended[who]["cpu"])
        row = [f"{job.name}, {ended[best]['rows']:,} x {ended[best]['features']}", _title(best)]
        row += [f"{ended[best]['accuracy']:.2f}", number(ended[best]["cpu"]), _title(fast)]
        row += [f"{ended[fast]['accuracy']:.2f}", number(ended[fast]["cpu"])]
        rows.append(row)
    head = [
        "set",
        "most accurate",
        "accuracy %",
        "fit, CPU s",
        f"fastest within {NEAR} points",
        "accuracy, %",
        "fit, s",
    ]
    return table(head, rows)


def against_svc(store: Store, all_jobs: list[Job]) -> str:
    """On how many sets SVC takes less time, and on how many it is more accurate. A fit that was stopped took longer."""
    done = [found for job in all_jobs if (found := store.get(job))]
    rows = []
    for who in CONTESTANTS[1:]:
        quicker = [(f[who][0]["cpu"] or LIMIT) > f["SVC"][0]["cpu"] for f in done]
        ended = [f for f in done if f[who][0]["cpu"] is not None]
        better = [f["SVC"][0]["accuracy"] > f[who][0]["accuracy"] for f in ended]
        rows.append([_title(who), str(sum(quicker)), str(len(done)), str(sum(better)), str(len(ended))])
    return table(
        ["SVC against", "SVC takes less time on", "of", "SVC is more accurate on", "of those that ended"], rows
    )


def page(store: Store, all_jobs: list[Job]) -> str:
    text = write_page("Which estimator when", "which", SECTIONS, store, all_jobs)
    return text.replace(
        "\n\n## ",
        f"\n\n{ABOUT}\n\n## In short\n\n{summary(store, all_jobs)}\n\n{against_svc(store, all_jobs)}\n\n## ",
        1,
    )


if __name__ == "__main__":
    main("which", (__doc__ or "").splitlines()[0], jobs(), quick, measure, page)
