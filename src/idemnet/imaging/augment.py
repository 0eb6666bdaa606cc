"""Augmentation: the same change to a degraded image and its clean image."""

import cv2
import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.image import Image

FloatImage = NDArray[np.float32]
"""(height, width, 3), RGB, 0-1."""

HARD = 0.2
"""Sigma of a Gaussian, in pixels, below which it has no effect."""
GREY_OF_RGB = np.array([0.299, 0.587, 0.114], np.float32)


def turn(image: Image, quarter_turns: int, *, flip: bool) -> Image:
    """Rotate by quarter turns, then mirror."""
    turned = np.rot90(image, quarter_turns)
    return turned[:, ::-1] if flip else turned


def to_float(image: Image) -> FloatImage:
    return np.ascontiguousarray(image).astype(np.float32) / np.float32(255)


def soften(image: FloatImage, sigma: float) -> FloatImage:
    """Blur slightly, as a lens does; linear, so it commutes with averaging frames."""
    if sigma < HARD:
        return image
    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma), np.float32)


def change_saturation(image: FloatImage, factor: float) -> FloatImage:
    """Scale saturation; the range stays 0-1."""
    grey = (image @ GREY_OF_RGB)[:, :, None]
    changed: FloatImage = np.clip(grey + np.float32(factor) * (image - grey), 0, 1)
    return changed
