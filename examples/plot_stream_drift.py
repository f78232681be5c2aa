"""A stream with a sudden and a gradual drift, as ``hingeline stream`` shows it.

Two moons jump by 90 degrees, and later turn by 90 degrees more, example by example. The loss of the last examples shows
both; the loss since the beginning hardly shows the second one. Each line of the figure is one run of the command.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from hingeline.cli.main import main as hingeline

N, SUDDEN, GRADUAL, END, EVERY = 12_000, 4000, 8000, 9000, 200
RUNS = {
    "LASVC": ("LASVC", "alarm", "#7f8c8d"),
    "LASVC, --drift reset": ("LASVC", "reset", "#2e6da4"),
    "IncrementalSVC, --drift shorten": ("IncrementalSVC", "shorten", "#e08214"),
}


def stream(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two moons that jump, and later turn while old and new examples mix."""
    X, y = make_moons(N, noise=0.2, random_state=seed)
    k, rng = np.arange(N), np.random.default_rng(seed)
    turned = rng.random(N) < (k - GRADUAL) / (END - GRADUAL)
    angle = np.where(k < SUDDEN, 0, np.where(turned, np.pi, np.pi / 2))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.einsum("ijn,nj->ni", turn, X - X.mean(axis=0)), y


def follow(path: Path, estimator: str, action: str) -> tuple[np.ndarray, list[int]]:
    """Loss since the beginning, recent loss and number of predictions of each line; examples with an alarm."""
    words = ["stream", str(path), "--estimator", estimator, "--drift", action]
    words += ["-g", "1", "-c", "10", "--batch", "10", "--every", str(EVERY)]
    output = io.TextIOWrapper(io.BytesIO(), write_through=True)
    with contextlib.redirect_stdout(output):
        hingeline(words)
    lines = output.buffer.getvalue().decode().replace(",", "").splitlines()
    alarms = [int(found[1]) for line in lines if (found := re.match(r"drift at example (\d+)", line))]
    return np.array([line.split()[:3] for line in lines if re.match(r" *[\d.]+ +[\d.]+ +\d+ ", line)], float), alarms


def main(path: Path) -> None:
    """Recent loss of each run, and the loss since the beginning of the first."""
    fig, ax = plt.subplots(figsize=(10, 4.2), layout="constrained")
    ax.axvline(SUDDEN, color="#cccccc")
    ax.axvspan(GRADUAL, END, color="#f0f0f0", linewidth=0)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "moons.csv")
        X, y = stream(0)
        np.savetxt(data, np.column_stack([X, y]), delimiter=",", fmt=["%.6f", "%.6f", "%d"])
        for row, (name, (estimator, action, colour)) in enumerate(RUNS.items()):
            lines, alarms = follow(data, estimator, action)
            ax.plot(lines[:, 2], 100 * lines[:, 1], color=colour, label=f"{name}: last {EVERY}")
            if row == 0:
                ax.plot(
                    lines[:, 2], 100 * lines[:, 0], color=colour, linestyle=":", label=f"{name}: since the beginning"
                )
            ax.plot(alarms, np.full(len(alarms), -2.0 - 2.5 * row), "^", color=colour, markersize=7, clip_on=False)
            print(f"{name}: alarms at {alarms}, loss {lines[-1, 0]:.4f}")
    ax.text(SUDDEN - 60, 64, "sudden", ha="right", va="top", color="#555555")
    ax.text((GRADUAL + END) / 2, 64, "gradual", ha="center", va="top", color="#555555")
    ax.text(60, -2.0 - 2.5 * (len(RUNS) - 1), "alarms", va="center", color="#555555")
    ax.set(xlim=(0, N), ylim=(-9, 66), xlabel="examples", ylabel="wrong predictions, %", yticks=range(0, 61, 10))
    ax.legend(loc="upper left", frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/stream_drift.png"))
