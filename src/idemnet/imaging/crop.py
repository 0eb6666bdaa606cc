"""Overlapping patches that cover an image to its edges."""

import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.image import Image


def patch_positions(length: int, size: int, stride: int) -> list[int]:
    """Return the starts of patches along one axis; the last patch ends at the edge."""
    last = length - size
    return [*range(0, last, stride), last]


def patch_grid(height: int, width: int, size: int, stride: int) -> list[tuple[int, int]]:
    """Return the (top, left) of every patch, row by row."""
    return [
        (top, left)
        for top in patch_positions(height, size, stride)
        for left in patch_positions(width, size, stride)
    ]


def cut_patches(image: Image, grid: list[tuple[int, int]], size: int) -> NDArray[np.uint8]:
    """Cut (n, size, size, 3) patches."""
    return np.stack([image[top : top + size, left : left + size] for top, left in grid])


def contrast(patches: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return each patch's standard deviation of grey values, 0-255."""
    deviation: NDArray[np.float64] = patches.mean(axis=3).std(axis=(1, 2))
    return deviation
