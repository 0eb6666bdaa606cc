"""Measure a network's receptive field, which determines the tile overlap."""

from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

from idemnet.inference.tiling import SQUARE

SEEN = 0.1 / 255
"""Largest difference that a cut may cause; far below the promised 0.5 of 255, because only a few
images are tested, and others differ more."""
FARTHEST = 128
"""Largest distance from a cut that is searched, in pixels, or four attention cells."""
CELL = 8
"""Side of the random colour squares in the test images: more edges than photographs have."""
BLURS = 9, 33
"""Pixels over which they are blurred: networks change most what looks like their task, and look
farther in long blur."""

_overlaps: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


def find_overlap(model: nn.Module, device: str) -> int:
    """Return the tile overlap in pixels: remembered from the card, or measured once."""
    if model not in _overlaps:
        _overlaps[model] = measure_overlap(model, device)
    return _overlaps[model]


def remember_overlap(model: nn.Module, pixels: int) -> None:
    """Use the tile overlap that was measured when the weights were written."""
    _overlaps[model] = pixels


def measure_overlap(model: nn.Module, device: str) -> int:
    """Measure the tile overlap in pixels.

    Rounded up to whole attention cells: the effect of cutting one depends on where it is cut.
    """
    return 2 * _round_up(measure_receptive_field(model, device), _attention_cell(model))


def find_period(model: nn.Module) -> int:
    """Return the grid, in pixels, on which tiles start, so that the network's cells line up."""
    return _round_up(SQUARE, _attention_cell(model))


def _attention_cell(model: nn.Module) -> int:
    return int(getattr(model, "attention_cell", 1))


def _round_up(pixels: int, multiple: int) -> int:
    return -(-pixels // multiple) * multiple


@torch.inference_mode()
def measure_receptive_field(model: nn.Module, device: str) -> int:
    """Return the distance from a cut beyond which the result equals that of the whole image."""
    farthest = max(FARTHEST, 4 * _attention_cell(model))
    images = _images(2 * farthest).to(device)
    parts = torch.cat([model(part) for part in images.chunk(2, -1)], -1)
    changed = torch.nonzero((model(images) - parts).abs().amax(dim=(0, 1, 2)) > SEEN)
    return max(farthest - int(changed[0]), int(changed[-1]) + 1 - farthest) if len(changed) else 0


def _images(width: int) -> Tensor:
    """Return random colours: blurred vertically, horizontally, as behind haze, and combined."""
    cells = torch.rand(1, 3, 8, width // CELL, generator=torch.Generator().manual_seed(0))
    sharp = cells.repeat_interleave(CELL, -2).repeat_interleave(CELL, -1)
    images = [0.7 + 0.25 * sharp]
    for blur in BLURS:
        down, across = (
            avg_pool2d(sharp, size, 1, [side // 2 for side in size], count_include_pad=False)
            for size in ([blur, 1], [1, blur])
        )
        images += [down, across, 0.7 + 0.25 * across]
    return torch.cat(images)
