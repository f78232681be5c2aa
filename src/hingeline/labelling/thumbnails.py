"""Features of images: small copies of them. The only module that imports Pillow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from .._extras import optional
from .pools import ImagePool

#: Height and width of the small copies.
SIDE = 16


def thumbnails(pool: ImagePool) -> np.ndarray:
    """Small copies of the images, as rows of numbers in [0, 1].

    Parameters
    ----------
    pool : ImagePool
        Images.

    Returns
    -------
    ndarray of shape (n_images, 3 * SIDE ** 2)
        Red, green and blue values.
    """
    with optional("A folder of images"):
        import PIL.Image  # noqa: F401
    with ThreadPoolExecutor() as workers:  # Pillow releases the GIL
        return np.stack(list(workers.map(_thumbnail, (pool.path(row) for row in range(len(pool))))))


def _thumbnail(path: Path) -> np.ndarray:
    from PIL import Image

    try:
        with Image.open(path, formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            image.draft("RGB", (4 * SIDE, 4 * SIDE))  # JPEG: decode at a lower resolution
            small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} cannot be read as an image: {error}. Remove the file, or repair it.") from error
    return np.asarray(small, dtype=np.float64).ravel() / 255
