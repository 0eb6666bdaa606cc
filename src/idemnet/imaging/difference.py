"""Visualise the difference between two images."""

import numpy as np

from idemnet.imaging.image import Image

MAGNIFICATIONS = (64, 32, 16, 8, 4, 2, 1)


def difference(before: Image, after: Image) -> tuple[Image, int]:
    """Return the difference around mid-grey, and its magnification."""
    change = after.astype(np.float32) - before
    reach = float(np.quantile(np.abs(change), 0.995))
    times = next((one for one in MAGNIFICATIONS if one * reach <= 127), 1)
    return np.clip(np.rint(128 + times * change), 0, 255).astype(np.uint8), times
