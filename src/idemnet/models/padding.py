"""Pad images for networks that downsample, and crop the results.

Rows and columns are selected by index, without size-dependent branches or views, so that exported
programs accept images of any size.
"""

import torch
from torch import Tensor


def pad_to_multiple(image: Tensor, height: int, width: int | None = None) -> Tensor:
    """Pad an image by reflection on the right and bottom.

    If the image is smaller than the padding, its first row or column is repeated.

    Args:
        image: (..., H, W).
        height: The padded height is a multiple of this.
        width: The padded width is a multiple of this; by default as `height`.
    """
    for axis, multiple in ((-2, height), (-1, width or height)):
        size = image.shape[axis]
        padded = (size + multiple - 1) // multiple * multiple
        picked = torch.arange(padded, device=image.device)
        picked = torch.where(picked < size, picked, 2 * (size - 1) - picked).clamp(min=0)
        image = image.index_select(axis, picked)
    return image


def crop(image: Tensor, height: int, width: int) -> Tensor:
    """Return the top left part of an image."""
    rows, columns = (torch.arange(size, device=image.device) for size in (height, width))
    return image.index_select(-2, rows).index_select(-1, columns)
