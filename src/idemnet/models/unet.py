"""A U-shape of gated blocks, which learns fast on CPUs; the starter weights' network.

After Chen et al., "Simple Baselines for Image Restoration" (2022), without channel attention: its
global means differ between crops, tiles and whole pictures, so a network of convolutions alone
restores the same picture from tiles.
"""

import torch
from torch import Tensor, nn

from idemnet.models.blocks import GatedBlock, conv, shuffles
from idemnet.models.padding import crop, pad_to_multiple
from idemnet.parameters.network import UNetParameters


class UNet(nn.Module):
    """Adds a residual to the image, once; idempotent only if it is trained to be.

    Images are (N, 3, H, W) in [0, 1] of any size; results are not clamped.
    """

    restores_in_bfloat16 = True
    """Only the residual is computed in bfloat16, and it is small: PSNR stays within 0.01 dB
    (benchmarks/bfloat16.py). Haze needs residuals that bfloat16 is too coarse for."""

    def __init__(self, arguments: UNetParameters) -> None:
        super().__init__()
        width, levels = arguments.width, range(len(arguments.encoder_blocks))
        self.multiple = arguments.downscale << len(levels)
        self.unshuffle, self.shuffle = shuffles(arguments.downscale)
        channels = 3 * arguments.downscale**2
        self.from_image = conv(channels, width)
        self.encoder = nn.ModuleList(
            _blocks(width << level, arguments.encoder_blocks[level]) for level in levels
        )
        self.down = nn.ModuleList(
            nn.Conv2d(width << level, width << level + 1, 2, stride=2) for level in levels
        )
        self.middle = _blocks(width << len(levels), arguments.middle_blocks)
        self.up = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width << level + 1, width << level + 2, 1), nn.PixelShuffle(2))
            for level in levels
        )
        self.decoder = nn.ModuleList(
            _blocks(width << level, arguments.decoder_blocks) for level in levels
        )
        self.to_image = conv(width, channels)
        with torch.no_grad():
            for parameter in self.to_image.parameters():
                parameter.mul_(arguments.residual_scale)

    def forward(self, image: Tensor) -> Tensor:
        """Restore images."""
        height, width = image.shape[-2:]
        image = self.unshuffle(pad_to_multiple(image, self.multiple))
        features, skipped = self.from_image(image - 0.5), []
        for blocks, down in zip(self.encoder, self.down, strict=True):
            skipped.append(blocks(features))
            features = down(skipped[-1])
        features = self.middle(features)
        for up, blocks in zip(reversed(self.up), reversed(self.decoder), strict=True):
            features = blocks(up(features) + skipped.pop())
        return crop(self.shuffle(image + self.to_image(features)), height, width)


def _blocks(channels: int, count: int) -> nn.Sequential:
    return nn.Sequential(*(GatedBlock(channels) for _ in range(count)))
