"""Restore large images in overlapping tiles that are blended."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

Restore = Callable[[Tensor], Tensor]
"""Maps (1, C, h, w) to (M, D, h, w), for any M and D."""

Read = Callable[[slice, slice], Tensor]
"""Reads rows and columns of an image, (1, C, h, w)."""

TileDone = Callable[[int, int], None]
"""Called after each tile with the number of finished tiles and the total."""


def ignore_tiles(_done: int, _count: int) -> None:
    """Report no progress."""


SQUARE = 32
"""Pixels: a multiple of the total stride of every network here."""
FADE = 8
"""Pixels in the middle of an overlap across which tiles are blended. Pixels nearer to a tile's edge
lack context and are left to the neighbour; at the start of the blend the tile has hardly any
weight, so the overlap needs no extra margin."""


def restore_in_tiles(
    restore: Restore, image: Tensor, *, tile: int, overlap: int, period: int = SQUARE
) -> Tensor:
    """Restore an image, (1, C, H, W); in one piece if it is no larger than a tile."""
    height, width = image.shape[-2:]
    if fits(height, width, tile):
        return restore(image)

    def read(rows: slice, columns: slice) -> Tensor:
        return image[..., rows, columns]

    bands = restored_bands(restore, read, height, width, tile=tile, overlap=overlap, period=period)
    return torch.cat(list(bands), dim=-2)


def restored_bands(
    restore: Restore,
    read: Read,
    height: int,
    width: int,
    *,
    tile: int,
    overlap: int,
    period: int = SQUARE,
    tile_done: TileDone = ignore_tiles,
) -> Iterator[Tensor]:
    """Restore from top to bottom; yield rows as soon as no further tile covers them.

    So no more than the height of a tile is in memory, however large the image.

    Args:
        restore: The network.
        read: Reads a tile of the image.
        height: Height of the image.
        width: Width of the image.
        tile: A tile has no more pixels than a square of this side.
        overlap: Minimum overlap of neighbouring tiles in pixels.
        period: Tiles start at multiples of this many pixels.
        tile_done: Called after each tile.
    """
    tall, wide = tile_shape(height, width, tile, overlap, period)
    columns = _fades(width, wide, overlap, period)
    rows = _fades(height, tall, overlap, period)
    ends = [start for start, _ in rows[1:]] + [height]
    shared: Tensor | None = None
    for row, ((top, row_weights), end) in enumerate(zip(rows, ends, strict=True)):
        band: Tensor | None = None
        for column, (left, column_weights) in enumerate(columns):
            restored = restore(read(slice(top, top + tall), slice(left, left + wide)))
            if band is None:
                band = restored.new_zeros(*restored.shape[:-1], width)
            weights = (row_weights[:, None] * column_weights).to(restored)
            band[..., left : left + wide] += restored * weights
            tile_done(row * len(columns) + column + 1, len(rows) * len(columns))
        assert band is not None
        if shared is not None:
            band[..., : shared.shape[-2], :] += shared
        yield band[..., : end - top, :]
        shared = band[..., end - top :, :].clone()


def fits(height: int, width: int, tile: int) -> bool:
    """Return whether an image is no larger than a tile."""
    return height * width <= tile**2


def tile_shape(
    height: int, width: int, tile: int, overlap: int, period: int = SQUARE
) -> tuple[int, int]:
    """Return the shape of tiles, nearly square, of at most `tile` squared pixels."""
    if fits(height, width, tile):
        return height, width
    tall, wide = (_tile_length(length, tile, overlap, period) for length in (height, width))
    rows_first = tall, _tile_length(width, tile**2 // tall, overlap, period)
    columns_first = _tile_length(height, tile**2 // wide, overlap, period), wide

    def restored(shape: tuple[int, int]) -> int:
        covered = 1
        for length, side in zip((height, width), shape, strict=True):
            starts = _starts(length, side, overlap, period)
            covered *= sum(min(side, length - start) for start in starts)
        return covered

    return min(rows_first, columns_first, key=restored)


def _tile_length(length: int, most: int, overlap: int, period: int) -> int:
    """Return the shortest tile that covers an axis with as few tiles as one of length `most`.

    Tiles start at multiples of the period, so others would overlap more than needed.
    """
    if length <= most or most < overlap + period:
        return min(length, most)
    steps = (most - overlap) // period
    count = math.ceil((length - overlap) / (steps * period))
    return math.ceil((length - overlap) / (count * period)) * period + overlap


def tile_starts(length: int, tile: int, overlap: int, period: int = SQUARE) -> list[int]:
    """Return the starts of tiles, which overlap by at least `overlap`; the last may be shorter.

    Networks downsample: a tile gives the same result as the whole image only if it starts on the
    grid of their strides and attention cells.

    Raises:
        ValueError: If the overlap is not below the tile.
    """
    if not 0 <= overlap < tile:
        raise ValueError(f"overlap {overlap} must be at least 0 and below tile {tile}")
    step = (tile - overlap) // period * period or tile - overlap
    return [0, *range(step, length - tile + step, step)] if length > tile else [0]


def _starts(length: int, tile: int, overlap: int, period: int) -> list[int]:
    """Return the starts of tiles; a single tile needs no overlap."""
    return tile_starts(length, tile, overlap, period) if length > tile else [0]


def _fades(length: int, tile: int, overlap: int, period: int) -> list[tuple[int, Tensor]]:
    """Return each tile's start along one axis and its blending weights, which add up to 1."""
    fading = min(FADE, overlap)
    unseen = (overlap - fading) // 2
    fades = []
    total = torch.zeros(length, dtype=torch.float64)
    for start in _starts(length, tile, overlap, period):
        size = min(tile, length - start)
        places = torch.arange(size, dtype=torch.float64)
        rising = (places + 1 - unseen) / (fading + 1) if start > 0 else torch.ones_like(places)
        falling = (size - places - unseen) / (fading + 1)
        if start + size == length:
            falling = torch.ones_like(places)
        fade = torch.minimum(rising, falling).clamp(0, 1)
        total[start : start + size] += fade
        fades.append((start, fade))
    return [(start, (fade / total[start : start + len(fade)]).float()) for start, fade in fades]
