"""Pieces that all networks are built of."""

from collections.abc import Callable
from functools import partial

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


def shuffles(downscale: int) -> tuple[nn.Module, nn.Module]:
    """Give what turns squares of so many pixels into channels, and what turns them back."""
    if downscale == 1:
        return nn.Identity(), nn.Identity()
    return nn.PixelUnshuffle(downscale), nn.PixelShuffle(downscale)


def conv(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)


def deconv(inputs: int, outputs: int) -> nn.ConvTranspose2d:
    """Twice the height and width."""
    return nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1)
