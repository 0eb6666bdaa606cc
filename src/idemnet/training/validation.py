"""How good the weights are on held-out sequences, and how much repeating changes."""

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from idemnet.imaging.image import Image
from idemnet.steps.data import Patches
from idemnet.system.device import to_image, to_tensor

PASSES = 3
BATCH = 8


@torch.no_grad()
def validate(model: nn.Module, patches: Patches, count: int, device: str) -> dict[str, float]:
    """Restore held-out patches once, and twice again.

    Returns:
        Mean PSNR in dB of the degraded patches (`psnr_input`), of the first pass (`psnr`) and of
        the third (`psnr_3`), and `gap`, what repeating lost.
    """
    reader = patches.splits["validation"]
    chosen = np.linspace(0, len(reader.rows) - 1, min(count, len(reader.rows))).astype(int)
    scores: list[list[float]] = []
    for first in range(0, len(chosen), BATCH):
        numbers = chosen[first : first + BATCH]
        pairs = [reader.read(int(number), 0, 0, patches.size) for number in numbers]
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
        "gap": first_pass - third_pass,
    }


def selection_score(scores: Mapping[str, float], times: int) -> float:
    """Return what weights are chosen by: the PSNR of the first pass.

    Where networks are trained to repeat, the third pass counts as much: right after it joins, the
    first is still at its best, and repeating is not learnt yet.
    """
    return scores["psnr"] if times == 1 else (scores["psnr"] + scores["psnr_3"]) / 2


@torch.no_grad()
def show_sample(model: nn.Module, patches: Patches, device: str) -> dict[str, Image]:
    """Return one fixed held-out sample as pictures; the difference is enlarged around grey."""
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
    rounded = (images.float().clamp(0, 1) * 255).round() / 255
    error = (rounded - clean).square().mean(dim=(1, 2, 3))
    return [10 * math.log10(1 / max(value, 1e-10)) for value in error.tolist()]
