"""Images of any size for networks that halve them: padded first, cropped back at the end.

Rows and columns are picked by number, without a branch or a view that depends on the size: so an
exported program takes images of any size, whether it had to be padded in the export or not.
"""

import torch
from torch import Tensor


def pad_to_multiple(image: Tensor, height: int, width: int | None = None) -> Tensor:
    """Extend an image to the right and below by its reflection.

    Where the image is smaller than what is missing, its first row or column is repeated on.

    Args:
        image: (..., H, W).
        height: What the padded height divides by.
        width: What the padded width divides by; the same if not given.
    """
    for axis, multiple in ((-2, height), (-1, width or height)):
        size = image.shape[axis]
        padded = (size + multiple - 1) // multiple * multiple
        picked = torch.arange(padded, device=image.device)
        picked = torch.where(picked < size, picked, 2 * (size - 1) - picked).clamp(min=0)
        image = image.index_select(axis, picked)
    return image


def crop(image: Tensor, height: int, width: int) -> Tensor:
    """Keep the upper left part of an image."""
    rows, columns = (torch.arange(size, device=image.device) for size in (height, width))
    return image.index_select(-2, rows).index_select(-1, columns)
