"""Which USPS did the paper use? SVC on several readings: digit, copy of the images, scaling, split, C."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.svm import SVC

from benchmarks.papers.files import write_whole
from hingeline import datasets

from .runs import scores
from .settings import SETS

#: Smoothing that turns the original images into those of the LIBSVM page (README of the data folder).
SMOOTHING = 0.75
#: Divisors of features in [-1, 1].
SCALINGS = {"x/16": 16, "x/8": 8, "x/32": 32}
#: Digit, images, scaling, split, C. The first is the one of all tables.
CASES = [
    *((digit, "original", "x/16", "published", 1) for digit in range(10)),
    *((digit, "smoothed", "x/16", "random", 1) for digit in range(10)),
    (0, "original", "x/16", "random", 1),
    (0, "smoothed", "x/16", "published", 1),
    *((0, "original", "x/16", "published", C) for C in (10, 1000)),
    *((0, "smoothed", "x/16", split, 1000) for split in ("published", "random")),
    *((0, "original", scaling, "published", 1) for scaling in ("x/8", "x/32")),
]


def readings(folder: Path, *, only_stored: bool = False) -> list[dict[str, Any]]:
    """Support vectors and scores of every reading, from the store if they are there; half a minute otherwise."""
    path, made_by = folder / "usps" / "readings.json", [version("scikit-learn"), *map(list, CASES)]
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["made_by"] == made_by:
            return list(kept["rows"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    if only_stored:
        return []
    rows = _compute()
    write_whole(path, json.dumps({"made_by": made_by, "rows": rows}, indent=1) + "\n")
    return rows


def _compute() -> list[dict[str, Any]]:
    usps = SETS["usps"]
    source = datasets.load(usps.source, dtype=np.float64, download_if_missing=False)
    sigma = (0, SMOOTHING, SMOOTHING)
    smooth = gaussian_filter(source.X.reshape(-1, 16, 16), sigma, mode="constant", cval=-1).reshape(source.X.shape)
    order = np.random.default_rng(2011).permutation(len(source.y))
    cut = usps.published[0]
    splits = {"published": np.split(np.arange(len(order)), [source.n_train]), "random": np.split(order, [cut])}
    rows = []
    for digit, images, scaling, split, C in CASES:
        X = (source.X if images == "original" else smooth) / SCALINGS[scaling]
        y, (train, test) = np.where(source.y == digit, 1, -1), splits[split]
        model = SVC(C=C, gamma=usps.gamma, cache_size=500).fit(X[train], y[train])
        found = {"n_support": int(model.n_support_.sum()), **scores(model, X[test], y[test])}
        rows.append({"digit": digit, "images": images, "scaling": scaling, "split": split, "C": C, **found})
    return rows
