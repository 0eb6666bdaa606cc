"""Validate weights on held-out sequences: PSNR of the first pass and of the third."""

import copy
import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from idemnet.imaging.image import Image
from idemnet.imaging.metrics import cap_psnr, decibels, loss
from idemnet.inference.receptive_field import find_period
from idemnet.inference.restore import settle_tiles
from idemnet.inference.tiling import restore_in_tiles
from idemnet.parameters.restore import TilingParameters
from idemnet.steps.data import Pair, Patches
from idemnet.system.device import round_to_8_bits, to_image, to_tensor
from idemnet.training.order import spread

PASSES = 3
BATCH = 8


@torch.no_grad()
def validate(model: nn.Module, patches: Patches, count: int, device: str) -> dict[str, float]:
    """Restore held-out patches in three passes.

    Returns:
        Mean PSNR in dB of the degraded patches (`psnr_input`), of the first pass (`psnr`) and of
        the third (`psnr_3`), and `gap`, the loss by repeating.
    """
    reader = patches.splits["validation"]
    chosen = spread([row.sequence for row in reader.rows], count, patches.weights)
    scores: list[list[float]] = []
    for first in range(0, len(chosen), BATCH):
        numbers = chosen[first : first + BATCH]
        pairs = [reader.read(number, 0, 0, patches.size) for number in numbers]
        degraded, clean = (to_tensor(list(images), device) for images in zip(*pairs, strict=True))
        passes = [degraded]
        for _ in range(PASSES):
            passes.append(model(passes[-1]))
        scores += np.transpose([psnr(passes[at], clean) for at in (0, 1, PASSES)]).tolist()
    psnr_input, first_pass, third_pass = (float(mean) for mean in np.mean(scores, axis=0))
    return _finite(
        {
            "psnr_input": psnr_input,
            "psnr": first_pass,
            "psnr_3": third_pass,
            "gap": loss([first_pass, third_pass]),
        }
    )


@torch.no_grad()
def validate_images(model: nn.Module, images: Sequence[Pair], device: str) -> dict[str, float]:
    """Restore whole held-out images in one pass, in tiles as for evaluation.

    These scores are only logged: weights are selected by patches.

    Returns:
        Mean PSNR in dB of the degraded images (`image_psnr_input`) and of the restored ones
        (`image_psnr`).
    """
    # A copy, as the overlap is kept for each network, and these weights change.
    how = settle_tiles(copy.deepcopy(model), TilingParameters(), device)
    tiles = {"tile": how.tile, "overlap": how.tile_overlap or 0, "period": find_period(model)}
    scores = []
    for pair in images:
        degraded, clean = (to_tensor([read()], device) for read in (pair.degraded, pair.clean))
        restored = restore_in_tiles(model, degraded, **tiles)
        scores.append([*psnr(degraded, clean), *psnr(restored, clean)])
    psnr_input, first_pass = map(float, np.mean(scores, axis=0))
    return _finite({"image_psnr_input": psnr_input, "image_psnr": first_pass})


def _finite(scores: dict[str, float]) -> dict[str, float]:
    if not all(map(math.isfinite, scores.values())):
        raise RuntimeError(f"validation is not finite: {scores}")
    return scores


def selection_score(scores: Mapping[str, float], passes: int) -> float:
    """Return the score that selects weights: the PSNR of the first pass.

    If several passes are trained, the third counts as much: right after it joins, the first pass is
    still at its best, and repeating is not learnt yet.
    """
    return scores["psnr"] if passes == 1 else (scores["psnr"] + scores["psnr_3"]) / 2


@torch.no_grad()
def show_sample(model: nn.Module, patches: Patches, device: str) -> dict[str, Image]:
    """Return one fixed held-out sample as pictures, with the magnified difference around grey."""
    reader = patches.splits["validation"]
    degraded, clean = reader.read(len(reader.rows) // 2, 0, 0, patches.size)
    restored = to_image(model(to_tensor([degraded], device))[0])
    difference = 128 + 4 * (restored.astype(int) - clean)
    return {
        "blurred": degraded,
        "restored": restored,
        "sharp": clean,
        "difference": difference.clip(0, 255).astype(np.uint8),
    }


def psnr(images: Tensor, clean: Tensor) -> list[float]:
    """Return each image's PSNR in dB, after rounding to 8 bits."""
    error = (round_to_8_bits(images.float()) - clean).square().mean(dim=(1, 2, 3))
    return [cap_psnr(decibels(value, 1.0)) for value in error.tolist()]
