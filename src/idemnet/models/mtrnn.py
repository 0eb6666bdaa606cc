"""The multi-temporal recurrent network, MT-RNN (Park et al., ECCV 2020).

One encoder-decoder, its weights shared by all iterations, takes the degraded image and the last
estimate. Its residual is always added to the degraded image, never to the estimate, so that errors
do not accumulate; iterations pass on two feature maps of the decoder.
"""

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from idemnet.models.blocks import ResidualBlock, conv, deconv, shuffles
from idemnet.models.padding import crop, pad_to_multiple
from idemnet.parameters.network import MTRNNParameters

MEAN = (0.4488, 0.4371, 0.4040)
"""Mean of red, green and blue that MT-RNN subtracts, for images in 0-255."""

leaky = partial(nn.LeakyReLU, 0.1, inplace=True)


class Memory(NamedTuple):
    """State that an iteration passes to the next."""

    features1: Tensor
    """At half resolution."""
    features2: Tensor
    """At a quarter of it."""


class MTRNN(nn.Module):
    """MT-RNN: 2,635,523 parameters with its authors' settings, which are the defaults.

    Images are (N, 3, H, W) in [0, 1] of any size; results are not clamped. Calls keep
    no state, and the images of a batch are independent.
    """

    mean: Tensor
    checkpoint_iterations = False
    """In training, keep only images and memories between iterations and recompute the rest in the
    backward pass."""

    def __init__(self, arguments: MTRNNParameters) -> None:
        super().__init__()
        self.iterations = arguments.iterations
        self.downscale = arguments.downscale
        self.register_buffer("mean", torch.tensor(MEAN).view(3, 1, 1), persistent=False)
        self.unshuffle, self.shuffle = shuffles(self.downscale)
        channels, w = 3 * self.downscale**2, arguments.width

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
                tensor.mul_(arguments.residual_scale)

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
        """Run one iteration; return the residual to the degraded image and the new memory."""
        encoded1 = self.encode1(torch.cat([degraded, estimate], 1))
        # The first iteration has no memory: as in the authors' code, the tensor that feature maps
        # are concatenated with replaces them.
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
