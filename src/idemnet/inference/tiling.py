"""Large images piece by piece: tiles that overlap and are blended into each other."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

Restore = Callable[[Tensor], Tensor]
"""Maps (1, C, h, w) to (M, D, h, w), for any M and D."""

Read = Callable[[slice, slice], Tensor]
"""Gives rows and columns of an image, (1, C, h, w)."""

TileDone = Callable[[int, int], None]
"""Told after each tile how many are done, and how many there are."""


def ignore_tiles(_done: int, _count: int) -> None:
    """Report no progress."""


SQUARE = 32
"""Pixels: more than any network here takes together as one (DMPHN has 4 x 8 rows)."""
BAND = 4
"""Tiles' worth of pixels that a band of them has at most."""
FADE = 8
"""Pixels in the middle of an overlap across which one tile fades into the next; what lies nearer to
a tile's edge has not seen enough, and is left to the neighbour. Where it is just not enough, the
tile has hardly any weight left, so the overlap needs nothing more for it."""


def restore_in_tiles(restore: Restore, image: Tensor, *, tile: int, overlap: int) -> Tensor:
    """Restore an image, (1, C, H, W); one that is no larger than a tile goes through as it is."""
    height, width = image.shape[-2:]
    if fits(height, width, tile):
        return restore(image)

    def read(rows: slice, columns: slice) -> Tensor:
        return image[..., rows, columns]

    bands = restored_bands(restore, read, height, width, tile=tile, overlap=overlap)
    return torch.cat(list(bands), dim=-2)


def restored_bands(
    restore: Restore,
    read: Read,
    height: int,
    width: int,
    *,
    tile: int,
    overlap: int,
    tile_done: TileDone = ignore_tiles,
) -> Iterator[Tensor]:
    """Restore from top to bottom; rows are given as soon as no tile below reaches them.

    So that no more than the height of a tile is in memory, however large the image.

    Args:
        restore: The network.
        read: Where tiles come from.
        height: Of the image.
        width: Of the image.
        tile: `restore` is given no more pixels than a square of this side has.
        overlap: Pixels that neighbouring tiles share at least.
        tile_done: Told of each tile.
    """
    tall, wide = tile_shape(height, width, tile, overlap)
    columns = _fades(width, wide, overlap)
    rows = _fades(height, tall, overlap)
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


def tile_shape(height: int, width: int, tile: int, overlap: int) -> tuple[int, int]:
    """Return the height and width, of no more than `tile` squared pixels, that share the least.

    Where that hardly differs, the smallest, which take the least memory.

    Six tiles of 488x424 cover 1280x720 with less work than six of 512x512 do. Of wide images they
    are flat: a band of them is in memory at a time, which must not grow with the image.
    """
    if fits(height, width, tile):
        return height, width
    best, least = (min(tile, height), min(tile, width)), (math.inf, 0)
    tallest = max(BAND * tile**2 // width, overlap + SQUARE)
    for rows in range(1, height // SQUARE + 2):
        for tall in _even(height, rows, overlap):
            widest = tile**2 // tall
            if tall > tallest or widest < min(width, overlap + SQUARE):
                continue
            columns = 1 if width <= widest else len(tile_starts(width, widest, overlap))
            for wide in _even(width, columns, overlap):
                if wide > widest:
                    continue
                restored = _covered(height, tall, overlap) * _covered(width, wide, overlap)
                cost = round(restored / (height * width), 2), tall * wide
                if cost < least:
                    best, least = (tall, wide), cost
    return best


def _even(length: int, count: int, overlap: int) -> list[int]:
    """Return the least lengths with which so many tiles cover everything: the last as long, or not.

    Tiles start at squares, so equal ones would often share more than they must.
    """
    if count == 1:
        return [length]
    squares = max(1, (length - overlap) // (count * SQUARE))
    steps = (squares * SQUARE, (squares + 1) * SQUARE)
    return [max(step + overlap, length - (count - 1) * step) for step in steps]


def _covered(length: int, tile: int, overlap: int) -> int:
    """Add up the lengths of all tiles."""
    if length <= tile:
        return length
    return sum(min(tile, length - start) for start in tile_starts(length, tile, overlap))


def tile_starts(length: int, tile: int, overlap: int) -> list[int]:
    """Return where tiles start; neighbours share at least `overlap`, and the last may be shorter.

    Networks halve images: they see the same in a tile as in the whole image only if it starts where
    all their squares of pixels start.

    Raises:
        ValueError: If tiles would not get on.
    """
    if not 0 <= overlap < tile:
        raise ValueError(f"overlap {overlap} must be at least 0 and below tile {tile}")
    step = (tile - overlap) // SQUARE * SQUARE or tile - overlap
    return [0, *range(step, length - tile + step, step)] if length > tile else [0]


def _fades(length: int, tile: int, overlap: int) -> list[tuple[int, Tensor]]:
    """Return each tile's start along one axis and its weights, which add up to 1 everywhere."""
    fading = min(FADE, overlap)
    unseen = (overlap - fading) // 2
    fades = []
    total = torch.zeros(length, dtype=torch.float64)
    for start in tile_starts(length, tile, overlap) if length > tile else [0]:
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
