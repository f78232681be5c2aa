"""LASVC on a stream: 500,000 connections of KDD Cup 1999, chunk by chunk, every chunk predicted before it is learnt.

``python -m benchmarks.stream`` writes a Markdown page, a JSON file and a figure. Linear and random-feature models of
scikit-learn run beside it on the same chunks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from benchmarks import environment, writing
from benchmarks.memory import resident
from hingeline import LASVC, datasets

#: Samples of the stream; the training part has 494,021, the test part follows it.
ROWS = 500_000
#: Samples to a chunk.
CHUNK = 1_000
#: Columns that hold codes of names; those with few names become indicators, the third (service, 66 names) is left out.
CODES = {1: 3, 3: 11}
SERVICE = 2
#: Megabytes for kernel values.
BUDGET = 5
C, GAMMA = 10.0, 0.05

Learner = tuple[Any, Callable[[np.ndarray], np.ndarray]]


def stream(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels (attack: 1) in the published order; scaled by the first chunk only, as a stream must be."""
    data = datasets.load("kdd99", dtype=np.float32)
    X, y = (np.concatenate(parts)[:rows] for parts in ((data.X_train, data.X_test), (data.y_train, data.y_test)))
    numbers = [k for k in range(X.shape[1]) if k not in (*CODES, SERVICE)]
    wide = np.log1p(X[:, numbers])
    flags = [X[:, [k]] == np.arange(count, dtype=np.float32) for k, count in CODES.items()]
    first = wide[:CHUNK]
    scaled = (wide - first.mean(axis=0)) / np.maximum(first.std(axis=0), 0.1)
    return np.hstack([np.clip(scaled, -10, 10), *flags]).astype(np.float32), (y != 0).astype(int)


def learners(features: int) -> dict[str, Learner]:
    """Name, model, and the features that the model gets."""
    sampler = RBFSampler(gamma=GAMMA, n_components=500, random_state=0).fit(np.zeros((1, features), dtype=np.float32))
    return {
        "LASVC, 'nc'": (LASVC(variant="nc", C=C, gamma=GAMMA, cache_size=BUDGET), lambda X: X),
        "SGDClassifier": (SGDClassifier(random_state=0), lambda X: X),
        "RBFSampler(500) + SGDClassifier": (SGDClassifier(random_state=0), sampler.transform),
    }


def run(learner: Learner, X: np.ndarray, y: np.ndarray) -> dict[str, list[float]]:
    """Columns by chunk: samples so far, accuracy before learning, seconds, support vectors, resident megabytes."""
    model, features = learner
    names = ("samples", "accuracy", "predict s", "learn s", "support", "resident MB")
    out: dict[str, list[float]] = {name: [] for name in names}
    for at in range(0, len(y), CHUNK):
        some, labels = X[at : at + CHUNK], y[at : at + CHUNK]
        start = time.perf_counter()
        correct = np.nan if at == 0 else float(np.mean(model.predict(features(some)) == labels))
        predicted = time.perf_counter()
        model.partial_fit(features(some), labels, classes=[0, 1])
        learnt = time.perf_counter()
        support, memory = len(getattr(model, "support_", ())), resident("VmRSS") / 2**20
        row = (at + len(labels), correct, predicted - start, learnt - predicted, support, memory)
        for column, value in zip(out.values(), row, strict=True):
            column.append(float(value))
    return out


def figure(path: Path, found: dict[str, dict[str, list[float]]], attacks: np.ndarray) -> None:
    """Prequential error, support vectors and memory along the stream."""
    from benchmarks.plots import BLACK, BLUE, RED, plt

    fig, (top, middle, bottom) = plt.subplots(3, 1, figsize=(9, 8.5), layout="constrained", sharex=True)
    for (name, columns), colour in zip(found.items(), (RED, "grey", BLUE), strict=True):
        errors = 1 - np.array(columns["accuracy"])
        so_far = np.nancumsum(errors) / np.maximum(np.cumsum(~np.isnan(errors)), 1)
        top.plot(columns["samples"], 100 * so_far, label=name, color=colour)
    top.set(yscale="log", ylim=(0.1, 10), ylabel="error so far, %")
    top.set_title("Every chunk of 1,000 is predicted before it is learnt")
    top.legend(frameon=False)
    ours = next(iter(found.values()))
    middle.plot(ours["samples"], ours["support"], color=RED)
    middle.set(ylabel="support vectors of LASVC")
    shares = middle.twinx()
    shares.fill_between(ours["samples"], 100 * attacks, color="#bbbbbb", alpha=0.4, linewidth=0)
    shares.set(ylabel="attacks in the chunk, % (grey)", ylim=(0, 100))
    bottom.plot(ours["samples"], np.array(ours["resident MB"]) - ours["resident MB"][0], color=RED)
    bottom.axhline(BUDGET, color=BLACK, linestyle=":", label=f"cache_size = {BUDGET} MB")
    bottom.set(ylabel="memory above the first chunk, MB", xlabel="samples")
    bottom.legend(frameon=False)
    fig.savefig(path)


def markdown(result: dict[str, Any], name: str) -> str:
    """The page."""
    rows = []
    for label, c in result["models"].items():
        total, memory, accuracy = c["samples"][-1], np.array(c["resident MB"]), 100 * np.array(c["accuracy"])
        rates = [f"{total / sum(c[key]):,.0f}" for key in ("learn s", "predict s")]
        more = [f"{c['support'][-1]:,.0f}", f"{memory.max() - memory[0]:.1f}"]
        rows.append([label, f"{np.nanmean(accuracy):.3f}", f"{np.nanmin(accuracy):.1f}", *rates, *more])
    header = ["", "accuracy before learning, %", "worst chunk, %", "learn, samples/s", "predict, samples/s"]
    lines = [
        "# LASVC on a stream",
        f"The first {result['rows']:,} connections of KDD Cup 1999 in their order, {CHUNK:,} at a time; normal against "
        f"attack. Every chunk is predicted, then learnt. `LASVC(variant='nc', C={C:g}, gamma={GAMMA}, "
        f"cache_size={BUDGET})`; the other models have scikit-learn's default settings.",
        writing.machine_lines(result["machine"], 1),
        f"![Error, support vectors and memory along the stream]({name}.png)",
        writing.table([*header, "support vectors", "memory above the first chunk, MB"], rows),
    ]
    return "\n\n".join(lines)


def main() -> int:
    """Run, write, say where."""
    args = environment.command_line("stream", __doc__).parse_args()
    try:
        X, y = stream(20 * CHUNK if args.quick else ROWS)
    except OSError as error:
        print(f"Nothing to do: {error}")
        return 0
    result: dict[str, Any] = {"machine": environment.machine(), "rows": len(y), "models": {}}
    for label, learner in learners(X.shape[1]).items():
        print(label, flush=True)
        result["models"][label] = run(learner, X, y)
    name = "stream-kdd99"
    writing.write(args.output, name, result, markdown(result, name))
    attacks = np.array([y[at : at + CHUNK].mean() for at in range(0, len(y), CHUNK)])
    figure(args.output / f"{name}.png", result["models"], attacks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
