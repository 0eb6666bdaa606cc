"""Building blocks shared by the networks."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

# In place, here and where residuals are added: page faults of newly allocated large tensors took a
# quarter of the time of restoring 512x512.
relu = partial(nn.ReLU, inplace=True)


class ResidualBlock(nn.Module):
    """Two convolutions with a residual connection."""

    def __init__(self, channels: int, activation: Callable[[], nn.Module] = relu) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(channels, channels), activation(), conv(channels, channels))

    def forward(self, features: Tensor) -> Tensor:
        residual: Tensor = self.body(features)
        return residual.add_(features)


class GatedBlock(nn.Module):
    """A block with gates instead of activations, and channel attention; learns fast.

    After Chen et al., "Simple Baselines for Image Restoration" (2022). Both halves start as the
    identity, because their scales start at zero. Images are (N, C, H, W); inside, channels come
    last, so that 1x1 convolutions are matrices, as matrix optimisers expect.

    Args:
        channels: Input and output channels.
        cell: Side of the cells over which channel attention averages when restoring; in
            training it averages over the whole crop. None: no attention.
    """

    def __init__(self, channels: int, cell: int | None = None) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.expand1 = nn.Linear(channels, 2 * channels)
        self.depthwise = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1, groups=2 * channels)
        self.attention = ChannelAttention(channels, cell) if cell else nn.Identity()
        self.project1 = nn.Linear(channels, channels)
        self.expand2 = nn.Linear(channels, 2 * channels)
        self.project2 = nn.Linear(channels, channels)
        self.scale1 = nn.Parameter(torch.zeros(channels))
        self.scale2 = nn.Parameter(torch.zeros(channels))

    def forward(self, features: Tensor) -> Tensor:
        features = features.permute(0, 2, 3, 1)
        expanded = self.expand1(self.norm1(features)).permute(0, 3, 1, 2)
        gated = self.attention(_gate(self.depthwise(expanded).permute(0, 2, 3, 1)))
        features = features + _scaled(self.project1, self.scale1, gated)
        gated = _gate(self.expand2(self.norm2(features)))
        features = features + _scaled(self.project2, self.scale2, gated)
        return features.permute(0, 3, 1, 2)


class ChannelAttention(nn.Module):
    """Channel attention from local means; images are (N, H, W, C).

    Training averages over a crop. The mean over a whole picture would be out of distribution, and
    that over a tile different again, so restoring averages over square cells and interpolates.
    """

    def __init__(self, channels: int, cell: int) -> None:
        super().__init__()
        self.cell = cell
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
    """Return two matrices: one averages pixels over cells, one interpolates cells to pixels.

    Matrices, because size-dependent pooling and interpolation cannot be exported. One extra, empty
    cell: an exporter would treat a size of 1 as constant, and the program would reject pictures
    with any other number of cells.
    """
    pixels = torch.arange(size, device=like.device)
    cells = torch.arange((size + cell - 1) // cell + 1, device=like.device)
    inside = (pixels // cell == cells[:, None]).to(like.dtype)
    place = ((pixels + 0.5) / cell - 0.5).clamp(cells[0], cells[-2])
    between = (1 - (place[:, None] - cells).abs()).clamp(min=0).to(like.dtype)
    return inside / inside.sum(1, keepdim=True).clamp(min=1), between


def _gate(features: Tensor) -> Tensor:
    """Multiply one half of the channels, the last axis, by the other."""
    first, second = features.chunk(2, -1)
    return first * second


def _scaled(layer: nn.Linear, scale: Tensor, features: Tensor) -> Tensor:
    """Scale a layer's outputs by scaling its weights, which is less to multiply."""
    return linear(features, scale[:, None] * layer.weight, scale * layer.bias)


def shuffles(downscale: int) -> tuple[nn.Module, nn.Module]:
    """Return a pixel-unshuffle layer for squares of this side, and its inverse."""
    if downscale == 1:
        return nn.Identity(), nn.Identity()
    return nn.PixelUnshuffle(downscale), nn.PixelShuffle(downscale)


def conv(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)


def deconv(inputs: int, outputs: int) -> nn.ConvTranspose2d:
    """Return a deconvolution that doubles height and width."""
    return nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1)
