"""Tiles: how far networks see, what tiles differ by from the whole image, and what memory takes.

A network sees as far as an image cut off there would change its result. Overlapping tiles must hide
that; the overlap is chosen so that it is at least twice as much. Measured on a built-in test scene
of 720 rows, with a task's own weights and with the paper's network (random weights, whose residuals
are made as small as those of trained ones).

Promises: the largest difference between tiles and the whole image is at most 0.5 of 255, and
restoring 4000x6000 takes at most 1.5 GB.
"""

import sys

import numpy as np
import torch
from memory import peak
from torch import nn

from idemnet import Restorer
from idemnet.data_parameters import SceneParameters
from idemnet.datasets.photographs import PHOTOGRAPHS
from idemnet.imaging.scenes import render_frames
from idemnet.models.idempotent import IdempotentNet
from idemnet.models.tiling import restore_in_tiles
from idemnet.parameters import TilingParameters

SEEN = 0.5 / 255
"""A difference that rounding to 8 bits hides."""
SIZES = ((1000, 1500), (4000, 6000))
LIMIT = 1500  # MB


def scene(height: int, width: int) -> torch.Tensor:
    parameters = SceneParameters(frames=15, height=height, width=width)
    photographs = [one for one in PHOTOGRAPHS if one.split == "test"]
    frames = list(render_frames(parameters, "test", 0, photographs))
    blurred = np.mean(np.stack(frames), axis=0, dtype=np.float32) / 255
    return torch.from_numpy(blurred).permute(2, 0, 1)[None]


def reach(model: nn.Module, image: torch.Tensor, cut: int) -> int:
    """Give the distance from a cut beyond which the result is that of the whole image."""
    difference = (model(image)[..., :cut] - model(image[..., :cut])).abs().amax(dim=(0, 1, 2))
    changed = torch.nonzero(difference > SEEN)
    return 0 if len(changed) == 0 else cut - int(changed[0])


@torch.inference_mode()
def main() -> None:
    tiling = TilingParameters()
    own = Restorer.load("deblur", device="cpu").model
    paper = IdempotentNet(residual_scale=0.05).eval()
    for name, model, size in (("own weights", own, (720, 1280)), ("paper's", paper, (384, 640))):
        image = scene(*size)
        seen = reach(model, image, size[1] // 2)
        tile = min(tiling.tile, size[0] // 2)
        tiled = restore_in_tiles(model, image, tile=tile, overlap=tiling.tile_overlap)
        difference = 255 * float((tiled - model(image)).abs().max())
        print(
            f"{name}: sees {seen} pixels far, overlap {tiling.tile_overlap}; tiles of {tile} and "
            f"the whole {size[1]}x{size[0]} differ by at most {difference:.2f} of 255 (bar 0.5)"
        )
        if difference > 0.5:
            raise SystemExit("tiles can be seen")
    for height, width in SIZES:
        taken = peak(__file__, str(height), str(width))
        print(f"{width}x{height}: {taken:.0f} MB (bar {LIMIT})")
        if taken > LIMIT:
            raise SystemExit("too much memory")


if __name__ == "__main__":
    if sys.argv[1:]:
        height, width = map(int, sys.argv[1:])
        Restorer.load("deblur", device="cpu")(np.zeros((height, width, 3), np.uint8))
    else:
        main()
