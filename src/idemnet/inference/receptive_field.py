"""How far networks see, and how much tiles must share so that nobody can tell."""

from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

SEEN = 0.2 / 255
"""Largest difference that a cut may leave; below half a grey level, which is promised, for only a
few images are looked at, and others differ up to twice as much."""
FARTHEST = 128
"""Pixels from a cut beyond which no difference is looked for."""
CELL = 8
"""Pixels of the squares of random colours that are looked at: more edges than photographs have."""
BLUR = 9
"""Pixels over which they are blurred: networks do most to what looks like their task."""

_overlaps: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


def find_overlap(model: nn.Module, device: str) -> int:
    """Return the pixels that tiles must share; measured once for each network."""
    if model not in _overlaps:
        _overlaps[model] = 2 * measure_reach(model, device)
    return _overlaps[model]


@torch.inference_mode()
def measure_reach(model: nn.Module, device: str) -> int:
    """Return the distance from a cut beyond which the result is that of the whole image."""
    images = _images().to(device)
    whole, part = model(images)[..., :FARTHEST], model(images[..., :FARTHEST])
    changed = torch.nonzero((whole - part).abs().amax(dim=(0, 1, 2)) > SEEN)
    return FARTHEST - int(changed[0]) if len(changed) else 0


def _images() -> Tensor:
    """Random colours: blurred down, blurred across, as behind haze, and both of these."""
    cells = torch.rand(1, 3, 8, 2 * FARTHEST // CELL, generator=torch.Generator().manual_seed(0))
    sharp = cells.repeat_interleave(CELL, -2).repeat_interleave(CELL, -1)
    edge = BLUR // 2
    down = avg_pool2d(sharp, (BLUR, 1), 1, (edge, 0), count_include_pad=False)
    across = avg_pool2d(sharp, (1, BLUR), 1, (0, edge), count_include_pad=False)
    return torch.cat([down, across, 0.7 + 0.25 * sharp, 0.7 + 0.25 * across])
