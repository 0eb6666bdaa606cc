"""How far networks see, and how much tiles must share so that nobody can tell."""

from weakref import WeakKeyDictionary

import torch
from torch import nn

from idemnet.models.tiling import FADE

SEEN = 0.25 / 255
"""Largest difference that a cut may leave: where two meet it is half a grey level."""
FARTHEST = 128
"""Pixels from a cut beyond which no difference is looked for."""
CELL = 8
"""Pixels of the squares of random colours that are looked at: more edges than photographs have."""

_overlaps: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


def find_overlap(model: nn.Module, device: str) -> int:
    """Give the pixels that tiles must share; measured once for each network."""
    if model not in _overlaps:
        _overlaps[model] = 2 * measure_reach(model, device) + FADE
    return _overlaps[model]


@torch.inference_mode()
def measure_reach(model: nn.Module, device: str) -> int:
    """Give the distance from a cut beyond which the result is that of the whole image."""
    cells = torch.rand(1, 3, 8, 2 * FARTHEST // CELL, generator=torch.Generator().manual_seed(0))
    image = cells.repeat_interleave(CELL, -2).repeat_interleave(CELL, -1).to(device)
    whole, part = model(image)[..., :FARTHEST], model(image[..., :FARTHEST])
    changed = torch.nonzero((whole - part).abs().amax(dim=(0, 1, 2)) > SEEN)
    return FARTHEST - int(changed[0]) if len(changed) else 0
