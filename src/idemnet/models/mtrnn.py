"""The multi-temporal recurrent network, MT-RNN (Park et al., ECCV 2020).

One encoder-decoder, its weights shared by all iterations, sees the degraded image beside the last
estimate. Its residual is always added to the degraded image itself, never to the estimate, so that
iterations do not pile up each other's errors; they remember two feature maps of the decoder.
"""

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from idemnet.models.blocks import ResidualBlock, conv, deconv, shuffles
from idemnet.models.padding import crop, pad_to_multiple

MEAN = (0.4488, 0.4371, 0.4040)
"""Of red, green and blue, as MT-RNN subtracts it; its images are in 0-255."""

leaky = partial(nn.LeakyReLU, 0.1, inplace=True)


class Memory(NamedTuple):
    """What an iteration leaves to the next one."""

    features1: Tensor
    """At half resolution."""
    features2: Tensor
    """At a quarter of it."""


class MTRNN(nn.Module):
    """MT-RNN: 2,635,523 parameters with its authors' settings, which are the defaults.

    Images are (N, 3, H, W) in [0, 1] of any size; results are not clamped. Nothing is remembered
    from one call to the next, and the images of a batch do not see each other.

    Args:
        width: Channels at full resolution; twice and four times as many at half and a quarter.
        iterations: How often the shared unit improves the estimate in one restoration.
        downscale: Work on squares of this many pixels as one, with as many more image channels; 2
            costs about a quarter, for machines without a GPU.
        residual_scale: Factor on the last convolution's initial weights and bias; 0.01 starts near
            the identity, from where small networks learn more steadily.
        checkpoint_iterations: In training, keep only the images and memories between iterations
            and compute the rest again when the gradient needs it.
    """

    mean: Tensor

    def __init__(
        self,
        width: int = 32,
        iterations: int = 6,
        *,
        downscale: int = 1,
        residual_scale: float = 1.0,
        checkpoint_iterations: bool = False,
    ) -> None:
        super().__init__()
        if min(width, iterations, downscale) < 1:
            raise ValueError("width, iterations and downscale must be at least 1")
        self.iterations = iterations
        self.downscale = downscale
        self.checkpoint_iterations = checkpoint_iterations
        self.register_buffer("mean", torch.tensor(MEAN).view(3, 1, 1), persistent=False)
        self.unshuffle, self.shuffle = shuffles(downscale)
        channels, w = 3 * downscale**2, width

        self.encode1 = nn.Sequential(conv(2 * channels, w), _residual_blocks(w))
        self.down1 = nn.Sequential(conv(w, 2 * w, stride=2), leaky())
        self.recall1 = nn.Conv2d(4 * w, 2 * w, 1)
        self.encode2 = _residual_blocks(2 * w)
        self.down2 = nn.Sequential(conv(2 * w, 4 * w, stride=2), leaky())
        self.recall2 = nn.Conv2d(8 * w, 4 * w, 1)
        self.encode3 = _residual_blocks(4 * w)

        self.decode3 = _residual_blocks(4 * w)
        self.up2 = nn.Sequential(deconv(4 * w, 2 * w), leaky())
        self.fuse2 = nn.Conv2d(4 * w, 2 * w, 1)
        self.decode2 = _residual_blocks(2 * w)
        self.up1 = nn.Sequential(deconv(2 * w, w), leaky())
        self.fuse1 = nn.Conv2d(2 * w, w, 1)
        self.decode1 = _residual_blocks(w)
        self.to_image = conv(w, channels)
        with torch.no_grad():
            for tensor in self.to_image.parameters():
                tensor.mul_(residual_scale)

    def forward(self, image: Tensor) -> Tensor:
        """Restore images."""
        return self.iterate(image)[-1]

    def iterate(self, image: Tensor) -> list[Tensor]:
        """Return the images after each iteration; the last one is the restored image."""
        height, width = image.shape[-2:]
        padded = pad_to_multiple(image, 4 * self.downscale)
        degraded = self.unshuffle(255 * (padded - self.mean))
        estimate, memory = degraded, None
        images = []
        for _ in range(self.iterations):
            if self.checkpoint_iterations and torch.is_grad_enabled():
                residual, memory = checkpoint(
                    self._step, degraded, estimate, memory,
                    use_reentrant=False, preserve_rng_state=False,
                )  # fmt: skip
            else:
                residual, memory = self._step(degraded, estimate, memory)
            estimate = degraded + residual
            images.append(crop(padded + self.shuffle(residual) / 255, height, width))
        return images

    def _step(
        self, degraded: Tensor, estimate: Tensor, memory: Memory | None
    ) -> tuple[Tensor, Memory]:
        """One iteration: the residual to the degraded image, and the new memory."""
        encoded1 = self.encode1(torch.cat([degraded, estimate], 1))
        # The first iteration has nothing to remember: as with its authors, what the feature maps
        # are joined to stands in for them.
        halved = self.down1(encoded1)
        recalled = halved if memory is None else memory.features1
        encoded2 = self.encode2(self.recall1(torch.cat([halved, recalled], 1)))
        halved = self.down2(encoded2)
        recalled = halved if memory is None else memory.features2
        encoded3 = self.encode3(self.recall2(torch.cat([halved, recalled], 1)))

        decoded3 = self.decode3(encoded3)
        decoded2 = self.decode2(self.fuse2(torch.cat([self.up2(decoded3), encoded2], 1)))
        decoded1 = self.decode1(self.fuse1(torch.cat([self.up1(decoded2), encoded1], 1)))
        return self.to_image(decoded1), Memory(decoded2, decoded3)


def _residual_blocks(channels: int) -> nn.Sequential:
    return nn.Sequential(*(ResidualBlock(channels, leaky) for _ in range(3)))
