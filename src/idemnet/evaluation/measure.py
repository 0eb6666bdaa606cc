"""Measure one test image: scores before and after, repeated passes, iterations, noise."""

import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from idemnet.errors import BadInputError
from idemnet.evaluation.protocols import Protocol
from idemnet.imaging.image import Image
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.steps.data import Pair
from idemnet.system.device import round_to_8_bits, to_image, to_tensor

Restore = Callable[[Tensor], Tensor]
"""Maps an image, (1, 3, H, W), to the images after each iteration, (N, 3, H, W)."""

Row = dict[str, Any]
"""Results of one image, as plain JSON."""

Scores = dict[str, float]

WHEN = ("input", "restored")
REPEATED = ("psnr", "ssim")
"""Measures of every pass; the slower ones are computed for the first pass only."""


def measure(
    pair: Pair,
    restore: Restore,
    protocol: Protocol,
    parameters: EvaluateParameters,
    device: str,
    *,
    detailed: bool,
) -> Row:
    """Restore one image and score it; `detailed` adds repeating, iterations and noise."""
    compare = protocol.against(pair.clean())
    degraded = to_tensor([pair.degraded()], device)
    first = restore(degraded)

    def score(image: Tensor, *measures: str) -> Scores:
        try:
            return compare(_to_array(image), measures)
        except BadInputError as error:
            raise BadInputError(f"{_name(pair)}: {error}") from error

    row: Row = {
        "sequence": pair.sequence,
        "frame": pair.frame,
        "level": pair.level,
        "input": score(degraded[0], *protocol.measures),
        "restored": score(first[-1], *protocol.measures),
    }
    if detailed:
        row |= _repeat_and_score(restore, degraded, first, score, parameters)
        row["noise"] = {
            str(sigma): _measure_noise(degraded, restore, score, sigma, _name(pair))
            if sigma
            else {when: {name: row[when][name] for name in REPEATED} for when in WHEN}
            for sigma in parameters.noise
        }
    return row


def _repeat_and_score(
    restore: Restore,
    degraded: Tensor,
    first: Tensor,
    score: Callable[..., Scores],
    parameters: EvaluateParameters,
) -> Row:
    scores, iterations, before = [], [], degraded
    for number, images in enumerate(repeat(restore, first, parameters)):
        scores.append(score(images[-1], *REPEATED))
        if number < 2:
            psnr = [*(score(image)["psnr"] for image in images[:-1]), scores[-1]["psnr"]]
            iterations.append({"psnr": psnr, **_measure_changes(images, before)})
        before = images[-1:]
    return {
        "repeat": {name: [one[name] for one in scores] for name in REPEATED},
        "iterations": dict(zip(("first", "second"), iterations, strict=True)),
    }


def repeat(restore: Restore, first: Tensor, parameters: EvaluateParameters) -> Iterator[Tensor]:
    """Return the iterations of every pass; each pass after `first` restores the previous result."""
    images = first
    yield images
    for _ in range(1, parameters.passes):
        image = images[-1:]
        if parameters.chain == "uint8":
            image = round_to_8_bits(image)
        images = restore(image)
        yield images


def _measure_changes(images: Tensor, before: Tensor) -> dict[str, list[float]]:
    """Return the change by each iteration, and the cumulative change (of 255)."""
    steps = torch.diff(torch.cat([before, images]), dim=0)
    return {
        "every": (255 * steps.abs().mean(dim=(1, 2, 3))).tolist(),
        "sum": (255 * (images - before).abs().mean(dim=(1, 2, 3))).tolist(),
    }


def _measure_noise(
    degraded: Tensor, restore: Restore, score: Callable[..., Scores], sigma: int, name: str
) -> dict[str, Scores]:
    noisy = add_noise(degraded, sigma, name)
    restored = restore(noisy)[-1]
    return {"input": score(noisy[0], *REPEATED), "restored": score(restored, *REPEATED)}


def add_noise(image: Tensor, sigma: int, name: str) -> Tensor:
    """Add Gaussian noise of `sigma` (of 255), seeded by the name, and clip."""
    generator = np.random.default_rng([sigma, zlib.crc32(name.encode())])
    noise = generator.standard_normal(tuple(image.shape), np.float32)
    return (image + torch.from_numpy(noise).to(image.device) * (sigma / 255)).clamp(0, 1)


def show(
    pair: Pair, restore: Restore, parameters: EvaluateParameters, device: str
) -> dict[str, Image]:
    """Return the pictures of one test image: input, each iteration, and the last pass."""
    degraded = to_tensor([pair.degraded()], device)
    first = restore(degraded)
    [last] = deque(repeat(restore, first, parameters), maxlen=1)
    pictures = {"degraded": pair.degraded(), "clean": pair.clean(), "restored": to_image(first[-1])}
    for number, image in enumerate(first[:-1], 1):
        pictures[f"iteration_{number}"] = to_image(image)
    pictures[f"pass_{parameters.passes}"] = to_image(last[-1])
    return pictures


def _to_array(image: Tensor) -> Any:
    return image.permute(1, 2, 0).cpu().numpy()


def _name(pair: Pair) -> str:
    return f"{pair.sequence}/{pair.frame}/{pair.level}"
