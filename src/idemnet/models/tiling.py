"""Large images piece by piece: tiles that overlap and are blended into each other."""

from collections.abc import Callable

import torch
from torch import Tensor


def restore_in_tiles(
    restore: Callable[[Tensor], Tensor], image: Tensor, *, tile: int, overlap: int
) -> Tensor:
    """Restore an image that is larger than a tile; a smaller one goes through as it is.

    Args:
        restore: Maps (1, C, h, w) to (M, D, h, w), for any M and D.
        image: (1, C, H, W).
        tile: Largest height and width that `restore` is given.
        overlap: Pixels that neighbouring tiles share at least; across them one fades into the next.

    Returns:
        What `restore` gives, for the whole image.
    """
    height, width = image.shape[-2:]
    if max(height, width) <= tile:
        return restore(image)
    total = weights = torch.zeros(())
    for top in tile_starts(height, tile, overlap):
        for left in tile_starts(width, tile, overlap):
            part = image[..., top : top + tile, left : left + tile]
            restored = restore(part)
            if not total.ndim:
                total = restored.new_zeros(*restored.shape[:-2], height, width)
                weights = restored.new_zeros(height, width)
            rows, columns = (
                _fade(start, length, whole, overlap, restored)
                for start, length, whole in (
                    (top, part.shape[-2], height),
                    (left, part.shape[-1], width),
                )
            )
            weight = rows[:, None] * columns
            region = (..., slice(top, top + tile), slice(left, left + tile))
            total[region] += restored * weight
            weights[region] += weight
    return total / weights


def tile_starts(length: int, tile: int, overlap: int) -> list[int]:
    """Spread as few tiles as possible evenly; neighbours share at least `overlap`.

    Raises:
        ValueError: If tiles would not get on.
    """
    if not 0 <= overlap < tile:
        raise ValueError(f"overlap {overlap} must be at least 0 and below tile {tile}")
    if length <= tile:
        return [0]
    count = 1 + -(-(length - tile) // (tile - overlap))
    return [round(number * (length - tile) / (count - 1)) for number in range(count)]


def _fade(start: int, length: int, whole: int, overlap: int, like: Tensor) -> Tensor:
    """Weights along one axis: rising and falling across the overlap, full at the image's edge."""
    places = torch.arange(length, device=like.device, dtype=like.dtype)
    rising = (places + 1) / (overlap + 1) if start > 0 else torch.ones_like(places)
    falling = (length - places) / (overlap + 1) if start + length < whole else rising.new_ones(())
    return torch.minimum(rising, falling).clamp(max=1)
