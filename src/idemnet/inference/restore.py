"""Restore pictures of any size: whole, or in blended tiles."""

from bisect import bisect_left
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import psutil
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from idemnet.errors import BadInputError
from idemnet.inference.memory import restoring_memory
from idemnet.inference.oom import oom_hint
from idemnet.inference.receptive_field import find_overlap, find_period
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
from idemnet.system.device import Precision

Tiling = TypeVar("Tiling", bound=TilingParameters)
Pixels = NDArray[Any]
"""(height, width, 3), RGB: uint8, uint16, or floats with 1 as white."""

TILE_STEP = 32
"""Pixels by which tiles are made smaller until they fit into memory."""
_FITTING: WeakKeyDictionary[nn.Module, dict[Any, RestoreParameters]] = WeakKeyDictionary()
"""Cache of fitting tiles by network and size, for the frames of a video."""


def restore(
    model: nn.Module,
    pixels: Pixels,
    how: RestoreParameters,
    device: str,
    tile_done: TileDone = ignore_tiles,
    *,
    precision: Precision = "float32",
) -> Pixels:
    """Restore a picture; the result has the type of the input.

    `tile_done` counts the tiles of all passes.

    Raises:
        BadInputError: If it does not fit into the allowed memory, or input or output is not
            finite.
    """
    between = 4 * pixels.size if how.passes > 1 else 0
    how = _fit(model, pixels, how, device, pixels.nbytes + between)
    restored, period = pixels, find_period(model)
    for number in range(how.passes):

        def done(tiles: int, count: int, before: int = number) -> None:
            tile_done(before * count + tiles, how.passes * count)

        last = number == how.passes - 1
        kind = pixels.dtype if last else np.dtype(np.float32)
        with _autocast(device, precision):
            [restored] = _run(model, restored, kind, how, device, period=period, tile_done=done)
    return restored if pixels.dtype.kind == "u" else restored.clip(0, 1)


def restore_stepwise(
    model: Any,
    pixels: Pixels,
    how: RestoreParameters,
    device: str,
    tile_done: TileDone = ignore_tiles,
    *,
    precision: Precision = "float32",
) -> list[Pixels]:
    """Return the picture after each iteration of one restoration; the last one is the result.

    Raises:
        BadInputError: If it does not fit into the allowed memory.
    """

    def stacked(image: Tensor) -> Tensor:
        return torch.cat(iterate(model, image))

    how = _fit(model, pixels, how, device, getattr(model, "iterations", 1) * pixels.nbytes)
    period = find_period(model)
    with _autocast(device, precision):
        return _run(stacked, pixels, pixels.dtype, how, device, period=period, tile_done=tile_done)


def _autocast(device: str, precision: Precision) -> torch.autocast:
    return torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16")


@torch.inference_mode()
def _run(
    network: Restore,
    pixels: Pixels,
    kind: np.dtype[Any],
    how: RestoreParameters,
    device: str,
    *,
    period: int,
    tile_done: TileDone,
) -> list[Pixels]:
    """Return the pictures that a network computes, one band of tiles at a time."""
    height, width = pixels.shape[:2]
    scale = _white(pixels.dtype)
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        raise BadInputError("the picture has non-finite values")

    def read(rows: slice, columns: slice) -> Tensor:
        part = np.divide(pixels[rows, columns], scale, dtype=np.float32, casting="unsafe")
        return torch.from_numpy(part).permute(2, 0, 1)[None].to(device)

    results: list[Pixels] = []
    top = 0
    tiling = {"tile": how.tile, "overlap": how.tile_overlap or 0, "period": period}
    hint = f"a smaller tile than {how.tile} takes less; memory = 2GB, say, chooses one that fits"
    with oom_hint(hint):
        for band in restored_bands(network, read, height, width, **tiling, tile_done=tile_done):
            results = results or [np.empty(pixels.shape, kind) for _ in band]
            bottom = top + band.shape[-2]
            if not all(end.isfinite() for end in band.aminmax()):
                raise BadInputError("the network returned non-finite values")
            for result, image in zip(results, band, strict=True):
                if kind.kind == "u":
                    image.clamp_(0, 1).mul_(_white(kind)).round_()
                result[top:bottom] = image.permute(1, 2, 0).cpu().numpy()
            top = bottom
            del band, image  # free memory for the next pass
    return results


def _white(kind: np.dtype[Any]) -> float:
    """Return the value of white in this type."""
    return float(np.iinfo(kind).max) if kind.kind == "u" else 1.0


def _fit(
    model: nn.Module, pixels: Pixels, how: RestoreParameters, device: str, results: int
) -> RestoreParameters:
    """Determine the tile overlap, and make tiles small enough for the memory limit.

    Nothing to do without a limit if the picture is no larger than a tile.
    """
    height, width = pixels.shape[:2]
    if how.memory is None and fits(height, width, how.tile):
        return how
    how = settle_tiles(model, how, device)
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
    overlap, period = how.tile_overlap or 0, find_period(model)

    def needed(tile: int) -> int:
        tall, wide = tile_shape(height, width, tile, overlap, period)
        band = 2 * 4 * 3 * tall * width
        return int(used + results + band + restoring_memory(model, tall, wide))

    allowed = int(how.memory or 0)
    tiles = range(how.tile, overlap + period - 1, -TILE_STEP)
    place = bisect_left(tiles, True, key=lambda tile: needed(tile) <= allowed)
    if place == len(tiles):
        raise BadInputError(
            f"restoring {width}x{height} needs {needed(tiles[-1]) / 1e6:.0f} MB of memory, but "
            f"only {allowed / 1e6:.0f} MB are allowed"
        )
    return how.model_copy(update={"tile": tiles[place]})


def settle_tiles(model: nn.Module, how: Tiling, device: str) -> Tiling:
    """Set the overlap that was requested, or that of the measured receptive field.

    Tiles that are too small for it are enlarged.
    """
    asked = how.tile_overlap
    overlap = find_overlap(model, device) if asked is None else asked
    tile = max(how.tile, overlap + find_period(model))
    return how.model_copy(update={"tile": tile, "tile_overlap": overlap})
