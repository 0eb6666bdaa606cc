"""Validate weights on held-out sequences: PSNR of the first pass and of the third."""

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from idemnet.imaging.image import Image
from idemnet.imaging.metrics import cap_psnr, decibels, loss
from idemnet.steps.data import Patches, PatchReader
from idemnet.steps.mix import source_of
from idemnet.system.device import round_to_8_bits, to_image, to_tensor

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
    chosen = choose(reader, count, patches.weights)
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
    if not all(map(math.isfinite, (psnr_input, first_pass, third_pass))):
        raise RuntimeError(f"validation is not finite: {first_pass} dB, then {third_pass} dB")
    return {
        "psnr_input": psnr_input,
        "psnr": first_pass,
        "psnr_3": third_pass,
        "gap": loss([first_pass, third_pass]),
    }


def choose(reader: PatchReader, count: int, weights: Mapping[str, float]) -> list[int]:
    """Choose patches spread over the held-out sequences; of several sources, by their weights."""
    rows: dict[str, list[int]] = {}
    for number, row in enumerate(reader.rows):
        rows.setdefault(source_of(row.sequence) if weights else "", []).append(number)
    unit = count / sum(weights.get(name, 1.0) for name in rows)
    chosen = []
    for name, numbers in rows.items():
        wanted = min(max(1, round(unit * weights.get(name, 1.0))), len(numbers))
        chosen += [numbers[at] for at in np.linspace(0, len(numbers) - 1, wanted).astype(int)]
    return chosen


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
