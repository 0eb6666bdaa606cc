"""Restoring pictures of any size: whole, or in tiles that are blended."""

from bisect import bisect_left
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import psutil
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from idemnet.errors import BadInputError
from idemnet.inference.memory import restoring_memory
from idemnet.inference.oom import oom_hint
from idemnet.inference.receptive_field import find_overlap
from idemnet.inference.tiling import (
    Restore,
    TileDone,
    fits,
    ignore_tiles,
    restored_bands,
    tile_shape,
)
from idemnet.models import iterate
from idemnet.parameters.restore import RestoreParameters, TilingParameters

Pixels = NDArray[Any]
"""(height, width, 3), RGB: uint8, uint16, or floats of which 1 is white."""

TILE_STEP = 32
"""Tiles are made smaller by so many pixels until they fit into memory."""
_FITTING: WeakKeyDictionary[nn.Module, dict[Any, RestoreParameters]] = WeakKeyDictionary()
"""What was found to fit, by network and size: frames of a video are all cut alike."""


def restore(
    model: nn.Module,
    pixels: Pixels,
    how: RestoreParameters,
    device: str,
    tile_done: TileDone = ignore_tiles,
) -> Pixels:
    """Restore a picture; what comes back is of the type that was given.

    `tile_done` is told of the tiles of all passes.

    Raises:
        BadInputError: If it cannot be done in the memory that is allowed, or what is given or comes
            out is not finite.
    """
    between = 4 * pixels.size if how.passes > 1 else 0
    how = _fit(model, pixels, how, device, pixels.nbytes + between)
    restored = pixels
    for number in range(how.passes):

        def done(tiles: int, count: int, before: int = number) -> None:
            tile_done(before * count + tiles, how.passes * count)

        last = number == how.passes - 1
        kind = pixels.dtype if last else np.dtype(np.float32)
        [restored] = _run(model, restored, kind, how, device, tile_done=done)
    return restored if pixels.dtype.kind == "u" else restored.clip(0, 1)


def restore_stepwise(
    model: Any,
    pixels: Pixels,
    how: RestoreParameters,
    device: str,
    tile_done: TileDone = ignore_tiles,
) -> list[Pixels]:
    """Return the picture after each iteration of one restoration; the last one is the restored one.

    Raises:
        BadInputError: If it cannot be done in the memory that is allowed.
    """

    def stacked(image: Tensor) -> Tensor:
        return torch.cat(iterate(model, image))

    how = _fit(model, pixels, how, device, getattr(model, "iterations", 1) * pixels.nbytes)
    return _run(stacked, pixels, pixels.dtype, how, device, tile_done=tile_done)


@torch.inference_mode()
def _run(
    network: Restore,
    pixels: Pixels,
    kind: np.dtype[Any],
    how: RestoreParameters,
    device: str,
    *,
    tile_done: TileDone,
) -> list[Pixels]:
    """Return the pictures that a network makes of one; no more than a band of tiles is computed."""
    height, width = pixels.shape[:2]
    scale = _white(pixels.dtype)
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        raise BadInputError("the picture has values that are not finite numbers")

    def read(rows: slice, columns: slice) -> Tensor:
        part = np.divide(pixels[rows, columns], scale, dtype=np.float32, casting="unsafe")
        return torch.from_numpy(part).permute(2, 0, 1)[None].to(device)

    results: list[Pixels] = []
    top = 0
    tiling = {"tile": how.tile, "overlap": how.tile_overlap or 0}
    hint = f"a smaller tile than {how.tile} takes less; memory = 2GB, say, chooses one that fits"
    with oom_hint(hint):
        for band in restored_bands(network, read, height, width, **tiling, tile_done=tile_done):
            results = results or [np.empty(pixels.shape, kind) for _ in band]
            bottom = top + band.shape[-2]
            if not all(end.isfinite() for end in band.aminmax()):
                raise BadInputError("the network gives values that are not finite numbers")
            for result, image in zip(results, band, strict=True):
                if kind.kind == "u":
                    image.clamp_(0, 1).mul_(_white(kind)).round_()
                result[top:bottom] = image.permute(1, 2, 0).cpu().numpy()
            top = bottom
            del band, image  # the next one needs the room
    return results


def _white(kind: np.dtype[Any]) -> float:
    """Return the value that white has in this type."""
    return float(np.iinfo(kind).max) if kind.kind == "u" else 1.0


def _fit(
    model: nn.Module, pixels: Pixels, how: RestoreParameters, device: str, results: int
) -> RestoreParameters:
    """Settle how tiles overlap, and make them small enough for all that is, or will be, in memory.

    Without a limit and for pictures that are no larger than a tile there is nothing to settle.
    """
    height, width = pixels.shape[:2]
    if how.memory is None and fits(height, width, how.tile):
        return how
    overlap = tile_overlap(model, how, device)
    how = how.model_copy(update={"tile_overlap": overlap})
    if how.memory is None:
        return how
    fitting = _FITTING.setdefault(model, {})
    size = (pixels.shape, results, how)
    if size not in fitting:
        fitting[size] = _find_tile(model, pixels, how, device, results)
    return fitting[size]


def _find_tile(
    model: nn.Module, pixels: Pixels, how: RestoreParameters, device: str, results: int
) -> RestoreParameters:
    used = psutil.Process().memory_info().rss if device == "cpu" else 0
    height, width = pixels.shape[:2]
    overlap = how.tile_overlap or 0

    def needed(tile: int) -> int:
        tall, wide = tile_shape(height, width, tile, overlap)
        band = 2 * 4 * 3 * tall * width
        return int(used + results + band + restoring_memory(model, tall, wide))

    allowed = int(how.memory or 0)
    tiles = range(how.tile, overlap, -TILE_STEP)
    place = bisect_left(tiles, True, key=lambda tile: needed(tile) <= allowed)
    if place == len(tiles):
        raise BadInputError(
            f"restoring {width}x{height} takes {needed(tiles[-1]) / 1e6:.0f} MB of memory, and "
            f"{allowed / 1e6:.0f} are allowed"
        )
    return how.model_copy(update={"tile": tiles[place]})


def tile_overlap(model: nn.Module, how: TilingParameters, device: str) -> int:
    """Return what tiles share: as asked, or as far as the network was found to see."""
    if how.tile_overlap is not None:
        return how.tile_overlap
    return min(find_overlap(model, device), how.tile // 2)
