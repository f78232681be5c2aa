"""The two copies of the USPS images that papers use."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

#: Width of the Gaussian that turns the original images into those of the LIBSVM page.
SMOOTHING = 0.75


def smoothed(X: np.ndarray) -> np.ndarray:
    """Images of 16 x 16 pixels in [-1, 1], one to a row, smoothed as those of the LIBSVM page are."""
    images = gaussian_filter(X.reshape(-1, 16, 16), (0, SMOOTHING, SMOOTHING), mode="constant", cval=-1)
    return np.asarray(images.reshape(X.shape))
