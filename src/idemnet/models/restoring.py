"""Restoring pictures of any size: whole, or in tiles that are blended."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from idemnet.models.tiling import restore_in_tiles
from idemnet.parameters import RestoreParameters

Pixels = NDArray[np.float32]
"""(height, width, 3), RGB, 0 to 1."""


@torch.inference_mode()
def restore(model: nn.Module, pixels: Pixels, how: RestoreParameters, device: str) -> Pixels:
    """Restore a picture; what comes back is clipped to 0..1 but not rounded."""
    image = torch.from_numpy(np.ascontiguousarray(pixels)).permute(2, 0, 1)[None].to(device)
    image = image.contiguous(memory_format=torch.channels_last)
    for _ in range(how.passes):
        image = restore_in_tiles(model, image, tile=how.tile, overlap=how.tile_overlap)
    restored: NDArray[Any] = image[0].clamp(0, 1).permute(1, 2, 0).float().cpu().numpy()
    return restored


@torch.inference_mode()
def iterate(model: nn.Module, pixels: Pixels, how: RestoreParameters, device: str) -> list[Pixels]:
    """Give a picture after each iteration of one pass; the last is what one pass restores."""
    image = torch.from_numpy(np.ascontiguousarray(pixels)).permute(2, 0, 1)[None].to(device)
    images = restore_in_tiles(
        lambda part: torch.cat(model.iterate(part)),  # type: ignore[operator]
        image.contiguous(memory_format=torch.channels_last),
        tile=how.tile,
        overlap=how.tile_overlap,
    )
    return [one.clamp(0, 1).permute(1, 2, 0).float().cpu().numpy() for one in images]
