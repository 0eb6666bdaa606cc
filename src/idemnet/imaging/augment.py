"""Augmentation: the same change to a degraded image and its clean one."""

import numpy as np
from numpy.typing import NDArray

from idemnet.recipes import Image

FloatImage = NDArray[np.float32]
"""(height, width, 3), RGB, 0-1."""

GREY_OF_RGB = np.array([0.299, 0.587, 0.114], np.float32)


def turn(image: Image, quarter_turns: int, *, flip: bool) -> Image:
    """Rotate by quarter turns, then mirror."""
    turned = np.rot90(image, quarter_turns)
    return turned[:, ::-1] if flip else turned


def to_float(image: Image) -> FloatImage:
    return np.ascontiguousarray(image).astype(np.float32) / np.float32(255)


def change_saturation(image: FloatImage, factor: float) -> FloatImage:
    """Move colours away from grey, or towards it; the range stays 0-1."""
    grey = (image @ GREY_OF_RGB)[:, :, None]
    changed: FloatImage = np.clip(grey + np.float32(factor) * (image - grey), 0, 1)
    return changed
