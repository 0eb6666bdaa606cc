"""Restoring in bfloat16 against float32: speed at 1280x720, and what it does to real pictures.

    python benchmarks/bfloat16.py ../shared/real

Alternating, in one run, with the threads that are there. PSNR is that of the float results, of the
real pictures that nothing was trained on. The shipped network restores in bfloat16 because it is
at least 1.4 times as fast and moves the mean PSNR by less than 0.01 dB.
"""

import sys
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from promise import Promise, report, take_turns
from real_pictures import find_pairs, read
from torch import Tensor

from idemnet import Restorer
from idemnet.imaging.metrics import psnr

ROUNDS, PICTURES = 5, 6


def run(model: torch.nn.Module, image: Tensor, *, mixed: bool) -> Tensor:
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        restored: Tensor = model(image)
    return restored.float()


def to_tensor(path: Path) -> Tensor:
    pixels = torch.from_numpy(read(path).copy()).permute(2, 0, 1)[None].float() / 255
    return pixels.contiguous(memory_format=torch.channels_last)


def to_pixels(restored: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(restored[0].permute(1, 2, 0).clamp(0, 1).numpy())


def main(real: Path) -> None:
    pairs = find_pairs("deblur", real)[1]
    chosen = list(islice(pairs, 0, None, max(1, len(pairs) // PICTURES)))
    frame = torch.rand(1, 3, 720, 1280).contiguous(memory_format=torch.channels_last)
    model = Restorer.load("deblur", device="cpu").model
    works = [partial(run, model, frame, mixed=mixed) for mixed in (False, True)]
    ratios = [full / mixed for full, mixed in take_turns(ROUNDS, *works)]
    moved = []
    for degraded, clean in chosen:
        image, sharp = to_tensor(degraded), read(clean) / np.float32(255)
        full, mixed = (
            psnr(to_pixels(run(model, image, mixed=way)), sharp, 1.0) for way in (False, True)
        )
        moved.append(mixed - full)
    change = [abs(float(np.mean(moved)))]
    what = f"… change of the mean PSNR of {len(moved)} real pictures"
    report(
        Promise("1280x720 in bfloat16, the shipped weights: speed", ratios, at_least=1.4),
        Promise(what, change, at_most=0.01, unit=" dB"),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
