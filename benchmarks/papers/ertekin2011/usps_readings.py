"""Which USPS did the paper use? SVC on several readings: digits, splits, and the smoothed copy of the LIBSVM page."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.svm import SVC

from hingeline import datasets

from .runs import scores
from .settings import SETS
from .store import write_whole

#: Smoothing that turns the original images into those of the LIBSVM page (data/README.md).
SMOOTHING = 0.75


def readings(folder: Path, *, only_stored: bool = False) -> list[dict[str, Any]]:
    """Support vectors and scores of every reading, from the store if they are there; about ten seconds otherwise."""
    path, made_by = folder / "usps" / "readings.json", version("scikit-learn")
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["scikit-learn"] == made_by:
            return list(kept["rows"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    if only_stored:
        return []
    rows = _compute()
    write_whole(path, json.dumps({"scikit-learn": made_by, "rows": rows}, indent=1) + "\n")
    return rows


def _compute() -> list[dict[str, Any]]:
    usps = SETS["usps"]
    source = datasets.load(usps.source, dtype=np.float64, download_if_missing=False)
    n, images = source.n_train, source.X.reshape(-1, 16, 16)
    smooth = gaussian_filter(images, (0, SMOOTHING, SMOOTHING), mode="constant", cval=-1).reshape(len(images), -1)
    published, order = np.arange(len(source.y)), np.random.default_rng(2011).permutation(len(source.y))
    m = usps.published[0]
    cases = [(digit, "published", published, n, "original", source.X) for digit in range(10)]
    cases += [
        (0, f"random {m}/{len(order) - m}", order, m, "original", source.X),
        (0, "published", published, n, "smoothed", smooth),
        (0, f"random {m}/{len(order) - m}", order, m, "smoothed", smooth),
    ]
    rows = []
    for digit, split, rows_of, cut, copy, X in cases:
        y = np.where(source.y == digit, 1, -1)
        train, test = rows_of[:cut], rows_of[cut:]
        model = SVC(C=usps.C, gamma=usps.gamma, cache_size=500).fit(X[train] * usps.scale, y[train])
        found = scores(model, X[test] * usps.scale, y[test])
        rows.append({"digit": digit, "split": split, "images": copy, "n_support": int(model.n_support_.sum()), **found})
    return rows
