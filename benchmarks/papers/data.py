"""Data that several papers use: stored sets, the two copies of the USPS images, folds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.model_selection import StratifiedKFold

from hingeline import datasets

#: Width of the Gaussian that turns the original USPS images into those of the LIBSVM page.
SMOOTHING = 0.75


@lru_cache(maxsize=1)
def stored(name: str) -> datasets.Dataset:
    """A stored data set in float64; FileNotFoundError if it is absent."""
    return datasets.load(name, dtype=np.float64, download_if_missing=False)


def smoothed(X: np.ndarray) -> np.ndarray:
    """Images of 16 x 16 pixels in [-1, 1], one to a row, smoothed as those of the LIBSVM page are."""
    images = gaussian_filter(X.reshape(-1, 16, 16), (0, SMOOTHING, SMOOTHING), mode="constant", cval=-1)
    return np.asarray(images.reshape(X.shape))


def fold(y: np.ndarray, count: int, seed: int, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows to test with, in one of `count` stratified random folds."""
    folds = StratifiedKFold(count, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    return list(folds)[place]
