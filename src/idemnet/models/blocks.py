"""Pieces that all networks are built of."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

# In place, here and where residuals are added: a large tensor that is allocated anew has to be
# fetched from the system page by page, which took a quarter of the time of restoring 512x512.
relu = partial(nn.ReLU, inplace=True)


class ResidualBlock(nn.Module):
    """Two convolutions whose result is added to what came in."""

    def __init__(self, channels: int, activation: Callable[[], nn.Module] = relu) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(channels, channels), activation(), conv(channels, channels))

    def forward(self, features: Tensor) -> Tensor:
        residual: Tensor = self.body(features)
        return residual.add_(features)


class GatedBlock(nn.Module):
    """A block that learns fast: products in place of activations, and channel attention.

    After Chen et al., "Simple Baselines for Image Restoration" (2022). Both halves start as the
    identity, because their scales start at zero. Images are (N, C, H, W); inside, channels come
    last, so that 1x1 convolutions are matrices, which optimisers for matrices can take as such.

    Args:
        channels: Of what comes in and goes out.
        window: Side of the area whose mean the channel attention takes when it restores; in
            training it takes the mean of the whole crop.
    """

    def __init__(self, channels: int, window: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.expand1 = nn.Linear(channels, 2 * channels)
        self.depthwise = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1, groups=2 * channels)
        self.attention = ChannelAttention(channels, window)
        self.project1 = nn.Linear(channels, channels)
        self.expand2 = nn.Linear(channels, 2 * channels)
        self.project2 = nn.Linear(channels, channels)
        self.scale1 = nn.Parameter(torch.zeros(channels))
        self.scale2 = nn.Parameter(torch.zeros(channels))

    def forward(self, features: Tensor) -> Tensor:
        features = features.permute(0, 2, 3, 1)
        expanded = self.expand1(self.norm1(features)).permute(0, 3, 1, 2)
        gated = self.attention(_gate(self.depthwise(expanded).permute(0, 2, 3, 1)))
        features = features + self.scale1 * self.project1(gated)
        gated = _gate(self.expand2(self.norm2(features)))
        features = features + self.scale2 * self.project2(gated)
        return features.permute(0, 3, 1, 2)


class ChannelAttention(nn.Module):
    """Factors for channels, from their means; images are (N, H, W, C).

    The mean over a large picture is none that training has seen, and over a tile it is another
    one: so restoring takes means of cells of half a window, and interpolates between them.
    """

    def __init__(self, channels: int, window: int) -> None:
        super().__init__()
        self.cell = max(1, window // 2)
        self.weigh = nn.Linear(channels, channels)

    def forward(self, features: Tensor) -> Tensor:
        if self.training:
            weighted: Tensor = features * self.weigh(features.mean((1, 2), keepdim=True))
            return weighted
        (mean_down, spread_down), (mean_across, spread_across) = (
            _cells(size, self.cell, features) for size in features.shape[1:3]
        )
        means = torch.einsum("ih,nhjc->nijc", mean_down, mean_across @ features)
        factors = torch.einsum("hi,nijc->nhjc", spread_down, self.weigh(means))
        return features * (spread_across @ factors)


def _cells(size: int, cell: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return two matrices: from pixels to means of cells, and linearly between these to pixels.

    Matrices, because pooling and interpolation depend on the size in ways that cannot be exported.
    """
    pixels = torch.arange(size, device=like.device)
    cells = torch.arange((size + cell - 1) // cell, device=like.device)
    inside = (pixels // cell == cells[:, None]).to(like.dtype)
    place = ((pixels + 0.5) / cell - 0.5).clamp(cells[0], cells[-1])
    between = (1 - (place[:, None] - cells).abs()).clamp(min=0).to(like.dtype)
    return inside / inside.sum(1, keepdim=True), between


def _gate(features: Tensor) -> Tensor:
    """Multiply one half of the channels, the last axis, by the other."""
    first, second = features.chunk(2, -1)
    return first * second


def shuffles(downscale: int) -> tuple[nn.Module, nn.Module]:
    """Return what turns squares of so many pixels into channels, and what turns them back."""
    if downscale == 1:
        return nn.Identity(), nn.Identity()
    return nn.PixelUnshuffle(downscale), nn.PixelShuffle(downscale)


def conv(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)


def deconv(inputs: int, outputs: int) -> nn.ConvTranspose2d:
    """Twice the height and width."""
    return nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1)
